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
 * A set of keys in few bits a key: may say "present" wrongly, at its rate; never "absent" wrongly.
 * One handle for every kind. Calls that take a const handle may run from many threads at once while
 * no thread is in one that takes a plain handle; those need the handle to themselves. Builds with assertions
 * (without NDEBUG) detect a second thread and return TAMIS_E_INVALID to it; other builds do not check.
 *
 * A filter made with options.concurrent allows all calls at once, except tamis_filter_free and tamis_filter_about_set,
 * which still need the handle to themselves.
 * - Batches of keys run side by side. A lookup finds every key that was added before the lookup began, by any thread.
 * - Other calls wait for the batches under way. They see each key either added or not, never in between.
 * - Batches wait for those other calls in turn. Encoding, pushing, comparing and other calls that read the whole memory
 *   block batches until they end; tamis_filter_expect blocks them for a moment.
 * - Saving and copying run beside batches. A batch waits while about a MiB is copied (in a growing table: a partition).
 *   Both need as much memory again as the filter has (TAMIS_E_NOMEM). The copy or file has every key whose add returned
 *   before the call, and may have any of the keys added meanwhile. If a table grows as a whole meanwhile, its
 *   copy starts again. tamis_filter_clear, and a union into the filter, wait until they end.
 */
typedef struct tamis_filter tamis_filter;

typedef struct tamis_filter_options {
    uint32_t struct_size;
    uint64_t seed;                    /* for scheme xxh3 */
    const void *secret;               /* for scheme sip: copied in hashed form only */
    size_t secret_size;               /* TAMIS_SECRET_MIN..TAMIS_SECRET_MAX, or 0 */
    const tamis_allocator *allocator; /* NULL: the default */
    bool
        overfill; /* classic, blocked: take keys past the capacity too, while the rate rises and info.saturated
                      says so, instead of TAMIS_E_FULL. No key is forgotten either way. A .tamis file keeps this;
                      tamis_open_options has one for files made without it */
    /* Many threads may add and ask at once, see above. If they add equal keys, exactly one gets TAMIS_FRESH. A single
     * thread is somewhat slower. Copies are concurrent too; a file does not keep this (see tamis_open_options).
     * Several threads may call the allocator at once. TAMIS_E_UNSUPPORTED with bkdr31 and bkdr63, which have no digest
     * of a key. */
    bool concurrent;
    /* Fingerprint and exact, planned for a number of keys: refuse keys past that number (TAMIS_E_FULL) and never grow.
     * A .tamis file keeps this. */
    bool frozen;
} tamis_filter_options;

/* clang-format off */
#define TAMIS_FILTER_OPTIONS_INIT {sizeof(tamis_filter_options), 0, NULL, 0, NULL, false, false, false}
/* clang-format on */

/*
 * An empty filter of that plan. options NULL: no seed, no secret, default allocator.
 * TAMIS_E_INVALID names a field of the plan with which no filter can be made.
 * *filter is owned by the caller until tamis_filter_free (NULL is fine there).
 * TAMIS_E_NOMEM, TAMIS_E_UNSUPPORTED (see tamis_kernel_name) and the errors of tamis_hasher_create.
 */
TAMIS_API tamis_status tamis_filter_create(tamis_filter **filter, const tamis_plan *plan,
                                           const tamis_filter_options *options, tamis_error *err);
TAMIS_API void tamis_filter_free(tamis_filter *filter);

/*
 * Adds `count` keys in order; answers[i] says whether key i was there before: TAMIS_FRESH certainly
 * not, TAMIS_SEEN yes (or a false positive). Equal keys in one batch behave as if they came one after
 * the other. answers and done may be NULL.
 *
 * On failure the first *done keys are in and answered and the rest untouched:
 * TAMIS_E_FULL:  key *done is fresh and there is no place for it at the promised rate (keys already
 *                present are still answered); TAMIS_E_NOMEM: growth found no memory, or would pass
 *                plan.memory_limit (then TAMIS_E_FULL). Nothing is lost: the call may be repeated.
 * Kinds fingerprint and exact grow without their keys, opened files too: a filter that was planned for a number of keys
 * doubles its lines when it is full, and info.capacity rises. While it grows, old and new lines are both in memory, and
 * plan.memory_limit must allow that. Frozen filters, and kinds classic and blocked, are full at their capacity.
 * A concurrent table that has a number of keys (info.capacity) grows as a whole: all threads that add or ask wait until it
 * has doubled, in O(memory). One without a number grows a partition at a time.
 * A concurrent filter answers on failure TAMIS_UNKNOWN for keys that are not in, from *done on. Keys behind that one may be
 * in, where the reason was another than capacity, rate or memory_limit: other threads may have been told so, and their
 * answers stand in answers[i]. Who repeats the call does so for the unknown ones alone.
 */
TAMIS_API tamis_status tamis_filter_add_many(tamis_filter *filter, const tamis_key *keys, size_t count,
                                             tamis_answer *answers, size_t *done, tamis_error *err);
/* Asks `count` keys. answers[i] is TAMIS_FRESH (certainly absent) or TAMIS_SEEN. On failure the first *done keys are
 * answered and the rest untouched; a filter in memory does not fail. done may be NULL. */
TAMIS_API tamis_status tamis_filter_contains_many(const tamis_filter *filter, const tamis_key *keys,
                                                  size_t count, tamis_answer *answers, size_t *done,
                                                  tamis_error *err);

/* The same for keys hashed before. TAMIS_E_MISMATCH names the first hash of another scheme, seed or
 * secret; nothing is done then (*done is 0). */
TAMIS_API tamis_status tamis_filter_add_hashes(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                               tamis_answer *answers, size_t *done, tamis_error *err);
TAMIS_API tamis_status tamis_filter_contains_hashes(const tamis_filter *filter, const tamis_hash *hashes,
                                                    size_t count, tamis_answer *answers, size_t *done,
                                                    tamis_error *err);

/* One key: the convenience over a batch of one. *answer is untouched on failure. */
TAMIS_API tamis_status tamis_filter_add(tamis_filter *filter, const void *key, size_t size,
                                        tamis_answer *answer, tamis_error *err);
TAMIS_API tamis_status tamis_filter_contains(const tamis_filter *filter, const void *key, size_t size,
                                             tamis_answer *answer, tamis_error *err);

/* What makes the hashes of this filter; lives as long as the filter. */
TAMIS_API const tamis_hasher *tamis_filter_hasher(const tamis_filter *filter);

/*
 * Says that about `more` fresh keys are still to come, as far as the caller can tell; it may say so as often as it likes, the
 * last time counts. A filter that grows then takes the memory for them in a few large steps instead of many small ones,
 * which is several times less work; never more than four times what it has, or 64 MiB in all, and within
 * plan.memory_limit. A wrong number costs memory or time and no answer. Of no effect on filters of other kinds. O(1).
 */
TAMIS_API void tamis_filter_expect(tamis_filter *filter, uint64_t more);

/* Forgets every key; keeps plan and memory. A filter in memory does not fail. O(memory). */
TAMIS_API tamis_status tamis_filter_clear(tamis_filter *filter, tamis_error *err);

/*
 * Adds all keys of `from` to `into`. Scheme, seed and secret must be equal; for classic and blocked also kind, bits and
 * probes. TAMIS_E_MISMATCH names the difference.
 *
 * TAMIS_E_MISMATCH also if both filters say how their keys were made (tamis_about.key_type) and differ: a lookup by one
 * rule would miss keys made by the other. Bytes and utf8 count as equal. If only one filter has a rule, `into` gets it.
 * Other metadata is not merged.
 *
 * Kinds fingerprint and exact may have any sizes and rates. If the kinds differ, `into` becomes fingerprint. It grows to
 * the lines and slots that both filters together need.
 * - The rate of a union is the sum of both rates, or more. If neither number of lines is the other times a power of two,
 *   the entries of the filter with fewer keys cover twice as much on average (docs/MATH.md).
 * - info.fpr_live is the true rate. plan.fpr of `into` stays while the union keeps it, and else becomes the sum of both.
 * - TAMIS_E_MISMATCH: one filter is far smaller, and its rate far too large for the size of the other.
 * - TAMIS_E_UNSUPPORTED: `into` is frozen, or it is concurrent and would need lines of another shape. Nothing has changed.
 * - TAMIS_E_FULL (plan.memory_limit of `into`), TAMIS_E_NOMEM: `into` is valid and may have some of the keys of `from`.
 * O(memory).
 */
TAMIS_API tamis_status tamis_filter_union(tamis_filter *into, const tamis_filter *from, tamis_error *err);

/* Another filter that holds what `filter` holds, with its plan, options and allocator; then each goes its own way.
 * *copy is owned by the caller. TAMIS_E_NOMEM. O(memory). */
TAMIS_API tamis_status tamis_filter_copy(tamis_filter **copy, const tamis_filter *filter, tamis_error *err);

/* True if the filters may be united: scheme, seed and secret are the same, for classic and blocked also kind, bits and
 * probes, their rules for keys do not differ, and `one` is not frozen. */
TAMIS_API bool tamis_filter_is_compatible(const tamis_filter *one, const tamis_filter *other);

/* True if two filters, frozen or not, are otherwise compatible and have the same bits: both then answer alike for every key. */
TAMIS_API bool tamis_filter_is_equal(const tamis_filter *one, const tamis_filter *other);

/* How two filters differ. */
typedef struct tamis_difference {
    uint32_t struct_size;
    bool same_hash;  /* scheme, seed and secret are the same: a hash made for one can be asked of the other */
    bool same_shape; /* kind, bits and probes, or slots and lines, are the same */
    /* The above, and every byte: they answer alike for every key, which is bytes; of what these were made
     * (tamis_about.key_type) is not compared. */
    bool same_body;
    uint64_t
        one; /* classic, blocked of the same hash and shape, else 0: bits that are set in the one alone, */
    uint64_t other; /* in the other alone */
    uint64_t both;  /* and in both */
} tamis_difference;

/* clang-format off */
#define TAMIS_DIFFERENCE_INIT {sizeof(tamis_difference), false, false, false, 0, 0, 0}
/* clang-format on */

/* Fills *difference, which starts from TAMIS_DIFFERENCE_INIT. Filters of any kinds may be compared. TAMIS_E_DAMAGED
 * where one is an opened file and a block of it is damaged. O(memory). */
TAMIS_API tamis_status tamis_filter_compare(const tamis_filter *one, const tamis_filter *other,
                                            tamis_difference *difference, tamis_error *err);

/* What a kind can do, asked beforehand. */
typedef enum tamis_ability { TAMIS_CAN_UNION = 1, TAMIS_CAN_GROW = 3 } tamis_ability;
TAMIS_API bool tamis_filter_can(const tamis_filter *filter, tamis_ability ability);

/* Why a fresh key found no place (TAMIS_E_FULL). */
typedef enum tamis_full {
    TAMIS_FULL_NOT = 0,      /* none was refused */
    TAMIS_FULL_CAPACITY = 1, /* it holds as many keys as it was made for */
    TAMIS_FULL_MEMORY = 2,   /* growing would pass plan.memory_limit */
    TAMIS_FULL_RATE = 3,     /* one more would pass plan.fpr */
    TAMIS_FULL_LINES = 4,    /* its slots are too narrow for more lines: a smaller rate takes wider ones */
    TAMIS_FULL_CROWDED = 5   /* the keys crowd in one place as if chosen to: scheme sip spreads them */
} tamis_full;

/*
 * Two limits of the estimates are of classic under schemes of other programs (docs/MATH.md):
 * (1) Positions are taken to be even. Those of guava32 and bkdr31 are not in filters of more than about 2^28 bits: the
 *     rate is up to a few times fpr_live near 2^31.
 * (2) Positions of guava64, guava32, redisbloom and redisson repeat. fpr_live counts that; false_fresh, and the number
 *     of keys at which the filter is full, leave it out.
 * And one of classic and blocked under any scheme:
 * (3) It follows from `added`, which for a Guava file follows from the bits: what other programs put in is counted as if
 *     it had been added here. Far past the capacity nearly every key is taken for seen and `added` hardly rises: then it
 *     is the least there were, and can be a small part of them.
 * And one of tables that grow:
 * (4) Of filters that were told what is to come (tamis_filter_expect), with the default allocator and from about 32 MiB on,
 *     2 MiB of it are the rest of a huge page that is held to grow into. They are given up before plan.memory_limit would
 *     be passed.
 */
typedef struct tamis_filter_info {
    uint32_t struct_size;
    tamis_kind kind;
    tamis_scheme scheme;
    uint64_t added;     /* adds that were answered TAMIS_FRESH; after a union, estimated for both */
    double cardinality; /* distinct keys added, estimated; (1) */
    double
        fpr_live; /* rate of a lookup now, from what is in the filter: about plan.fpr_predicted when full; (1) */
    double
        false_fresh; /* adds expected to have been answered TAMIS_SEEN though fresh, since it was made; (1), (2), (3) */
    uint64_t memory;      /* bytes held now; (4) */
    uint64_t memory_peak; /* the most held at any moment, growth included */
    uint64_t capacity;    /* keys until the filter grows or is full; 0: no such number */
    bool
        saturated; /* a fresh key was refused (TAMIS_E_FULL), or overfill or a union put in more than the capacity */
    uint64_t ones;   /* classic, blocked: bits that are set; 0 for the others */
    tamis_full full; /* why the last fresh key that was refused found no place */
    bool concurrent; /* many threads may add and ask at once: options.concurrent of this handle */
} tamis_filter_info;

/* clang-format off */
#define TAMIS_FILTER_INFO_INIT \
    {sizeof(tamis_filter_info), TAMIS_KIND_AUTO, TAMIS_SCHEME_AUTO, 0, 0, 0, 0, 0, 0, 0, false, 0, \
     TAMIS_FULL_NOT, false}
/* clang-format on */

/* Fills *info, which starts from TAMIS_FILTER_INFO_INIT (TAMIS_E_INVALID without struct_size). O(bits) for classic
 * and blocked (they count ones), O(1) for the others. */
TAMIS_API tamis_status tamis_filter_info_get(const tamis_filter *filter, tamis_filter_info *info,
                                             tamis_error *err);
/* The plan, owned by the filter. Growth past the number of keys and unions change it: read the plan of a concurrent filter
 * only while no thread adds. */
TAMIS_API const tamis_plan *tamis_filter_plan(const tamis_filter *filter);

#ifdef __cplusplus
}
#endif
#endif
