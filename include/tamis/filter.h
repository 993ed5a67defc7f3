/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_H
#define TAMIS_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/hash.h>
#include <tamis/key.h>
#include <tamis/plan.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A filter: a set of keys in few bits per key. It may answer "present" for an absent key, at its
 * false-positive rate. It never answers "absent" for a key that was added. One handle type serves all kinds.
 *
 * Threads: calls that take a const handle may run at the same time in many threads. A call that takes a
 * non-const handle needs the handle to itself. Builds with assertions (without NDEBUG) detect a second thread
 * and return TAMIS_E_INVALID to it. Other builds do not check.
 *
 * With options.concurrent all calls may run at the same time, except tamis_filter_free and
 * tamis_filter_metadata_set:
 *
 * - Batches of keys run side by side. A lookup finds every key that any thread added before the lookup began.
 * - Other calls wait for running batches. They see each key either added or not, never half added.
 * - Batches wait for those other calls in turn. Calls that read the whole memory, such as encoding, pushing
 *   and comparing, block batches until they end. tamis_filter_expect blocks them for a moment.
 * - Saving and copying run beside batches. A batch waits only while about one MiB (in a growing table: one
 *   partition) is copied. Both need as much memory again as the filter has (TAMIS_E_NOMEM). The copy or file
 *   has every key whose add returned before the call. It may have keys that were added during the call. If a
 *   table grows as a whole during the copy, the copy starts again. tamis_filter_clear and a union into the
 *   filter wait until saving or copying ends.
 */
typedef struct tamis_filter tamis_filter;

typedef struct tamis_filter_options {
    uint32_t struct_size;
    uint64_t seed; /* for scheme xxh3 */
    /* for scheme sip; only a hash of it is kept */
    const void *secret;
    size_t secret_size;               /* TAMIS_SECRET_MIN..TAMIS_SECRET_MAX, or 0 */
    const tamis_allocator *allocator; /* NULL: the default */
    /* Allow over capacity (classic, blocked, counting): accept keys above the capacity too instead of
     * returning TAMIS_E_FULL. The rate then rises, and info.saturated is true. No key is lost in either
     * mode. A .tamis file stores this option; for other files see tamis_open_options. */
    bool allow_over_capacity;
    /* Allow many threads to add and look up at once, see above. If several threads add equal keys, exactly
     * one gets TAMIS_ABSENT. A single thread is somewhat slower. Copies are concurrent too. A file does not
     * store this option (see tamis_open_options). The allocator is called by several threads at once.
     * TAMIS_E_UNSUPPORTED with bkdr31 and bkdr63, which have no digest. */
    bool concurrent;
    /* Never grow (fingerprint, exact, planned for a number of keys): refuse keys above that number with
     * TAMIS_E_FULL. A .tamis file stores this option. */
    bool frozen;
} tamis_filter_options;

#define TAMIS_FILTER_OPTIONS_INIT TAMIS__INIT(tamis_filter_options, )

/*
 * Creates an empty filter with the given plan. The caller owns *filter until tamis_filter_free.
 *
 * - options: NULL for no seed, no secret and the default allocator.
 * - TAMIS_E_INVALID: no filter can be made with the plan; the message names the field.
 * - TAMIS_E_NOMEM; TAMIS_E_UNSUPPORTED (see tamis_kernel_name); errors of tamis_hasher_create.
 */
TAMIS_API tamis_status tamis_filter_create(tamis_filter **filter, const tamis_plan *plan,
                                           const tamis_filter_options *options, tamis_error *err);
TAMIS_API void tamis_filter_free(tamis_filter *filter);

/*
 * Adds `count` keys in order. answers[i] says whether key i was there before: TAMIS_ABSENT if it was
 * certainly absent, TAMIS_PRESENT if it was present or is a false positive. Equal keys in a batch are
 * answered as if they were added one after the other. `answers` and `done` may be NULL.
 *
 * On failure the first *done keys are added and answered, and the others are unchanged. No key is lost: call
 * again.
 *
 * - TAMIS_E_FULL: key *done is absent and does not fit. The filter is at its capacity, or would exceed the
 *   promised rate or plan.memory_limit. Keys that are already present are still answered.
 * - TAMIS_E_NOMEM: the filter could not get the memory to grow.
 *
 * Growth: fingerprint and exact grow without their keys, opened files too. A filter planned for a number of
 * keys doubles its lines when it is full, and info.capacity rises. Meanwhile the old and the new lines are
 * both in memory, and plan.memory_limit must allow that. Kind cuckoo grows if it was planned without a number
 * of keys. It then adds a sub-filter, larger than the newest if the memory limit allows that, and all of them
 * together keep the rate. Frozen filters, the kinds classic, blocked and counting, and other cuckoo filters
 * are full at their capacity.
 *
 * Kinds counting and cuckoo count each add, also of a key that is answered present. Two keys may have equal
 * fingerprints or counters, and the removal of one must not remove the other. So a key that was added twice
 * has to be removed twice. After 15 adds (counting) or 4 (cuckoo) no more are counted, and none is
 * removed, since their number is not known any more. In kind cuckoo each copy counts towards the capacity,
 * and a full filter refuses present keys too. Many keys with 4 copies can fill it earlier: keep duplicates
 * out of it. If it grows, 4 copies in one of its sub-filters count so, and duplicates make it grow.
 *
 * In a concurrent filter:
 *
 * - A table with a number of keys (info.capacity) grows as a whole. All threads wait until it has doubled,
 *   O(memory). A table without one grows a partition at a time.
 * - On failure, from *done on, keys that are not in the filter are answered TAMIS_UNKNOWN. If the reason was
 *   not capacity, rate or memory limit, later keys may be in the filter. Other threads may already have got
 *   answers that depend on them. Their answers are in answers[i]. Repeat the call for the unknown keys only.
 */
TAMIS_API tamis_status tamis_filter_add_many(tamis_filter *filter, const tamis_key *keys, size_t count,
                                             tamis_answer *answers, size_t *done, tamis_error *err);
/*
 * Looks up `count` keys. answers[i] is TAMIS_ABSENT (certainly absent) or TAMIS_PRESENT (present or a false
 * positive). On failure the first *done keys are answered and the others unchanged. A filter in memory does
 * not fail. `done` may be NULL.
 */
TAMIS_API tamis_status tamis_filter_contains_many(const tamis_filter *filter, const tamis_key *keys,
                                                  size_t count, tamis_answer *answers, size_t *done,
                                                  tamis_error *err);

/* Like the two functions above, for keys that are already hashed. TAMIS_E_MISMATCH: a hash was made with
 * another scheme, seed or secret; the message names the first one. Nothing is done then, and *done is 0. */
TAMIS_API tamis_status tamis_filter_add_hashes(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                               tamis_answer *answers, size_t *done, tamis_error *err);
TAMIS_API tamis_status tamis_filter_contains_hashes(const tamis_filter *filter, const tamis_hash *hashes,
                                                    size_t count, tamis_answer *answers, size_t *done,
                                                    tamis_error *err);

/* Adds or looks up a single key. *answer is unchanged on failure. */
TAMIS_API tamis_status tamis_filter_add(tamis_filter *filter, const void *key, size_t size,
                                        tamis_answer *answer, tamis_error *err);
TAMIS_API tamis_status tamis_filter_contains(const tamis_filter *filter, const void *key, size_t size,
                                             tamis_answer *answer, tamis_error *err);

/*
 * Removes `count` keys in order. answers[i] is TAMIS_PRESENT if key i was found: one copy of it was
 * removed, unless its copies are kept for ever (see tamis_filter_add_many). It is TAMIS_ABSENT if key i was
 * not there and nothing was done. `answers` and `done` may be NULL.
 *
 * Remove only keys that were added. A false positive looks like a key that is there. So removing a key that
 * was never added can remove another key with the same fingerprint, which is then a false negative. So a
 * program keeps an exact store of its keys, and removes what that store says was added. For kind exact the
 * risk is n / 2^128 a key: there a key may be removed without such a store.
 *
 * Kinds counting and cuckoo remove one copy of a key. A key with 15 (counting) or 4 copies (cuckoo) keeps all
 * of them: see tamis_filter_add_many. A key whose adds exceed its removals is never absent.
 *
 * - TAMIS_E_UNSUPPORTED: the kind cannot remove keys (tamis_filter_can). Or the filter is an opened file that
 *   is only read, belongs to a state (see tamis_state_forget), or is on a server. Nothing is done then.
 *
 * info.saturated and info.full stay as they were. In a concurrent filter all other threads wait. Usually O(1)
 * a key; kind exact may search 64 KiB, and a cuckoo filter that grows reads all its sub-filters.
 */
TAMIS_API tamis_status tamis_filter_remove_many(tamis_filter *filter, const tamis_key *keys, size_t count,
                                                tamis_answer *answers, size_t *done, tamis_error *err);
/* Like tamis_filter_remove_many, for keys that are already hashed. TAMIS_E_MISMATCH as for
 * tamis_filter_add_hashes. */
TAMIS_API tamis_status tamis_filter_remove_hashes(tamis_filter *filter, const tamis_hash *hashes,
                                                  size_t count, tamis_answer *answers, size_t *done,
                                                  tamis_error *err);
/* Removes a single key. `answer` may be NULL; *answer is unchanged on failure. */
TAMIS_API tamis_status tamis_filter_remove(tamis_filter *filter, const void *key, size_t size,
                                           tamis_answer *answer, tamis_error *err);

/* Counts the copies of a key: in kind counting at most 15, in kind cuckoo at most 4 in each sub-filter. Copies
 * of other keys with the same fingerprint and bucket count too. So the number may be too large, and is never
 * too small.
 * TAMIS_E_UNSUPPORTED: another kind. Other errors as for a lookup; *copies is unchanged then. */
TAMIS_API tamis_status tamis_filter_count_key(const tamis_filter *filter, const void *key, size_t size,
                                              uint64_t *copies, tamis_error *err);

/* Returns the number of copies that are kept for ever: 15 for kind counting, 4 for cuckoo, in one sub-filter.
 * 0: the kind does not count copies. */
TAMIS_API uint32_t tamis_kind_copies_max(tamis_kind kind);

/* Returns the hasher of the filter. It is valid as long as the filter. */
TAMIS_API const tamis_hasher *tamis_filter_hasher(const tamis_filter *filter);

/*
 * Gives a size hint: about `more` absent keys are still to come. The caller may repeat it at any time; the
 * last hint counts.
 *
 * A growing filter then allocates a few large pieces of memory instead of many small ones, which is several
 * times less work. A piece is at most four times the present memory, or 64 MiB in total, and never exceeds
 * plan.memory_limit. A wrong hint costs memory or time but never changes an answer. Other kinds ignore it.
 * O(1).
 */
TAMIS_API void tamis_filter_expect(tamis_filter *filter, uint64_t more);

/* Removes all keys. Keeps plan and memory. O(memory). A filter in memory does not fail, except the filter of
 * a state: TAMIS_E_UNSUPPORTED, because the log of a state has added keys only. */
TAMIS_API tamis_status tamis_filter_clear(tamis_filter *filter, tamis_error *err);

/*
 * Adds all keys of `from` to `into`. Scheme, seed and secret must be equal. For classic, blocked and
 * counting, kind, bits and probes must be equal too. A counting filter counts the keys of both.
 *
 * Key types: TAMIS_E_MISMATCH if both filters store a key type (tamis_metadata.key_type) and these differ. A
 * lookup by one rule would miss keys made by the other. Bytes and utf8 count as equal. If only one filter has
 * a key type, `into` gets it. Other metadata is not merged.
 *
 * Fingerprint and exact may differ in size and rate. If the kinds differ, `into` becomes fingerprint. It
 * grows to the lines and slots that both filters together need. The rate of a union is at least the sum of
 * both rates. If neither number of lines is the other times a power of two, entries of the smaller filter
 * cover twice as much on average (docs/MATH.md). The smaller filter is the one with fewer keys. info.fpr_live
 * is the true rate. plan.fpr of `into` stays while the union keeps it, and becomes the sum of both otherwise.
 *
 * - TAMIS_E_MISMATCH: the filters differ; the message names the difference. Or one filter is far smaller, and
 *   its rate far too large for the size of the other.
 * - TAMIS_E_UNSUPPORTED: `into` is frozen, or belongs to a state, or it is concurrent and would need another
 *   shape of lines. Nothing has changed.
 * - TAMIS_E_FULL (plan.memory_limit of `into`), TAMIS_E_NOMEM: `into` is valid and may have some of the keys
 *   of `from`.
 *
 * O(memory).
 */
TAMIS_API tamis_status tamis_filter_union(tamis_filter *into, const tamis_filter *from, tamis_error *err);

/* Copies a filter with its keys, plan, options and allocator. The copy is independent. The caller owns
 * *copy. TAMIS_E_NOMEM. O(memory). */
TAMIS_API tamis_status tamis_filter_copy(tamis_filter **copy, const tamis_filter *filter, tamis_error *err);

/*
 * True if tamis_filter_union(a, b) is possible:
 *
 * - Scheme, seed and secret are equal.
 * - For Bloom filters, kind, bits and probes are equal too.
 * - The key types do not differ.
 * - `a` is not frozen and does not belong to a state.
 */
TAMIS_API bool tamis_filter_is_compatible(const tamis_filter *a, const tamis_filter *b);

/* True if two filters are compatible, frozen or not, and have the same bits. Both then give the same
 * answer for every key. */
TAMIS_API bool tamis_filter_is_equal(const tamis_filter *a, const tamis_filter *b);

/* The result of comparing two filters. */
typedef struct tamis_difference {
    uint32_t struct_size;
    /* Scheme, seed and secret are equal, so a hash made for one filter can be looked up in the other */
    bool same_hash;
    bool same_shape; /* kind, bits and probes, or slots and lines, are equal */
    /* Both of the above, and all bytes are equal. The filters then give the same answer for every key,
     * taken as bytes. How keys were made (tamis_metadata.key_type) is not compared. */
    bool same_body;
    /* Bits set in `a` only. The three counts are for Bloom filters with the same hash and shape, else 0. In
     * kind counting they count counters that are not 0. */
    uint64_t only_a;
    uint64_t only_b;  /* bits set in `b` only */
    uint64_t in_both; /* bits set in both */
} tamis_difference;

#define TAMIS_DIFFERENCE_INIT TAMIS__INIT(tamis_difference, )

/* Compares two filters of any kinds. Start *difference from TAMIS_DIFFERENCE_INIT. TAMIS_E_DAMAGED: one
 * filter is an opened file, and one of its blocks is damaged. O(memory). */
TAMIS_API tamis_status tamis_filter_compare(tamis_difference *difference, const tamis_filter *a,
                                            const tamis_filter *b, tamis_error *err);

/* Abilities that depend on the kind, and on where the filter is from. They are numbers, not flags. */
typedef enum tamis_ability {
    TAMIS_CAN_UNION = 1,
    TAMIS_CAN_REMOVE = 2,
    TAMIS_CAN_GROW = 3,
    TAMIS_CAN_COUNT = 4, /* each add of a key counts, see tamis_filter_count_key */
    /* The filter can be changed. Files that were opened for lookups cannot, nor filters of RedisBloom, nor
     * copies of keys of the Redis module. */
    TAMIS_CAN_ADD = 5
} tamis_ability;
/* True if the filter has the ability. */
TAMIS_API bool tamis_filter_can(const tamis_filter *filter, tamis_ability ability);

/* Reasons why an absent key was refused (TAMIS_E_FULL). */
typedef enum tamis_full {
    TAMIS_FULL_NOT = 0,      /* no key was refused */
    TAMIS_FULL_CAPACITY = 1, /* the filter holds as many keys as it was planned for */
    TAMIS_FULL_MEMORY = 2,   /* growing would exceed plan.memory_limit */
    TAMIS_FULL_RATE = 3,     /* another key would exceed plan.fpr */
    /* The slots are too narrow for more lines; plan a smaller rate to get wider slots */
    TAMIS_FULL_LINES = 4,
    /* Too many keys fall into the same few lines, as if chosen to; scheme sip prevents that */
    TAMIS_FULL_CROWDED = 5
} tamis_full;

/*
 * Statistics of a filter. Some have limits, numbered (1) to (4); a field names the ones that apply to it.
 *
 * Classic under schemes of other programs (docs/MATH.md):
 *
 * - (1) The estimates assume even positions. Those of guava32 and bkdr31 are uneven in filters of more than
 *   about 2^28 bits. Near 2^31 bits the real rate is up to a few times fpr_live.
 * - (2) Positions of guava64, guava32, redisbloom and redisson repeat. fpr_live includes that. false_present
 *   and the number of keys at which the filter is full do not.
 *
 * Classic and blocked under any scheme:
 *
 * - (3) The estimate follows from `added`. For a Guava file, `added` follows from the bits, so keys of other
 *   programs count as if they were added here. Far above the capacity nearly every key looks present, and
 *   `added` hardly rises. It is then a lower bound that may be far too small.
 *
 * Growing tables:
 *
 * - (4) From about 32 MiB on, `memory` includes 2 MiB for the unused part of a huge page, kept for growth.
 *   This needs a size hint (tamis_filter_expect) and the default allocator. The filter releases them before
 *   it would exceed plan.memory_limit.
 */
typedef struct tamis_filter_info {
    uint32_t struct_size;
    tamis_kind kind;
    tamis_scheme scheme;
    /* adds answered TAMIS_ABSENT, less removed keys; after a union an estimate for both filters. Window: with
     * refresh, also adds of present keys that were counted again. Cuckoo: copies in the filter */
    uint64_t added;
    /* estimate of the distinct keys added; (1). Kind window: entries that may still be needed */
    double cardinality;
    /* False-positive rate of a lookup now, computed from the contents: about plan.fpr_predicted when full;
     * (1) */
    double fpr_live;
    /* Expected number of adds since creation that were answered TAMIS_PRESENT although the key was absent;
     * (1), (2), (3) */
    double false_present;
    uint64_t memory;      /* bytes in use; (4) */
    uint64_t memory_peak; /* largest number of bytes ever in use, growth included */
    uint64_t capacity;    /* keys (cuckoo: copies) at which the filter grows or is full; 0: no such number */
    /* True if an absent key was refused (TAMIS_E_FULL), or if the filter got more keys than its capacity
     * by options.allow_over_capacity or a union */
    bool saturated;
    uint64_t ones;   /* classic, blocked: set bits; counting: counters above 0; 0 for other kinds */
    tamis_full full; /* reason why the last refused key was refused */
    /* options.concurrent of this handle: many threads may add and look up at once */
    bool concurrent;
    /* counting: counters that have reached 15 and stay there, so that the keys that they count are present
     * for ever; 0 for other kinds */
    uint64_t counters_saturated;
    /* cuckoo planned without a number of keys: sub-filters, all of which a lookup reads; 0 for other
     * filters */
    uint32_t subfilters;
} tamis_filter_info;

#define TAMIS_FILTER_INFO_INIT TAMIS__INIT(tamis_filter_info, )

/* Reports statistics of a filter. Start *info from TAMIS_FILTER_INFO_INIT (TAMIS_E_INVALID without
 * struct_size). O(bits) for Bloom filters, which count their set bits; O(1) for other kinds. */
TAMIS_API tamis_status tamis_filter_info_get(const tamis_filter *filter, tamis_filter_info *info,
                                             tamis_error *err);
/* Returns the plan, which the filter owns. Growth above the number of keys and unions change it. Read the
 * plan of a concurrent filter only while no thread adds. */
TAMIS_API const tamis_plan *tamis_filter_plan(const tamis_filter *filter);

#ifdef __cplusplus
}
#endif
#endif
