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
 * no thread is in one that takes a plain handle; those need the handle to themselves. Builds with assertions (without NDEBUG)
 * see two threads meet and answer TAMIS_E_INVALID to the second; other builds do not look. Of a filter made with
 * options.concurrent all calls may run at once, but for tamis_filter_free and tamis_filter_about_set, which need it to
 * themselves still: batches of keys run side by side; other calls wait for those under way and see each key added or not,
 * none in between. A key added when a question begins is found by it, whichever threads they are of. Those other calls keep
 * all that add and ask waiting in turn: encoding, pushing, comparing and what else goes through all of the memory for as long
 * as they last, tamis_filter_expect for a moment.
 * Saving and copying a concurrent filter go on beside batches, which wait for about a MiB of memory to be copied at a time
 * (a partition, of tables that grow). They take as much memory as the filter once more (TAMIS_E_NOMEM). The copy, or file, has
 * every key whose add returned before the call, and any of those that are added meanwhile; tamis_filter_clear and a union
 * into the filter wait for them. A table that outgrows its number of keys meanwhile is copied from the beginning again.
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
    bool
        concurrent; /* many threads may add and ask at once, see above: of equal keys that they add one alone is
                        TAMIS_FRESH. A single thread is somewhat slower. Copies are so too; a file does not keep it, so
                        tamis_open_options has one as well. The allocator is called by any of the threads, of several at once. TAMIS_E_UNSUPPORTED under bkdr31
                        and bkdr63, which have no digest of a key */
    bool
        frozen; /* fingerprint, exact with a number of keys: refuse keys past it (TAMIS_E_FULL) and never grow. A
                    .tamis file keeps this */
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
 * takes twice the lines when it is full, and info.capacity rises. While that lasts, old and new lines are in memory, for
 * which plan.memory_limit must have room. Frozen filters, and kinds classic and blocked, are full at their capacity.
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
 * Makes `into` hold what either holds. Scheme, seed and secret must be equal; of classic and blocked, kind, bits and probes
 * too. TAMIS_E_MISMATCH names the difference. It does so too if what they say of their keys (tamis_about.key_type) differs:
 * looked up by the rule of the one, keys of the other would be absent. A filter that says nothing contradicts none, bytes
 * and utf8 are bytes, and what either says `into` then says. What else they say of themselves is not united.
 *
 * Kinds fingerprint and exact may have any sizes and rates; `into` becomes fingerprint if they differ in kind, and takes
 * the lines and the slots that both together need.
 * - The rate of a union is the sum of both rates, or more: if the lines of the one are not those of the other times a power
 *   of two, entries of the one with fewer keys cover twice as much on average (docs/MATH.md). info.fpr_live is the true rate.
 *   plan.fpr stays the one of `into` as long as that holds, and else becomes the sum of both.
 * - TAMIS_E_MISMATCH too if one is far smaller and its rate far too large for the size of the other.
 * - TAMIS_E_UNSUPPORTED: `into` is frozen; or it is concurrent, and has to take lines of another shape. Nothing has changed.
 * - TAMIS_E_FULL: plan.memory_limit of `into`; TAMIS_E_NOMEM. `into` may then have some of the keys of `from`, and is whole.
 * O(memory).
 */
TAMIS_API tamis_status tamis_filter_union(tamis_filter *into, const tamis_filter *from, tamis_error *err);

/* Another filter that holds what `filter` holds, with its plan, options and allocator; then each goes its own way.
 * *copy is owned by the caller. TAMIS_E_NOMEM. O(memory). */
TAMIS_API tamis_status tamis_filter_copy(tamis_filter **copy, const tamis_filter *filter, tamis_error *err);

/* Whether one may be united with the other: scheme, seed and secret are the same, of classic and blocked also kind, bits and
 * probes, what they say of their keys does not differ, and `one` is not frozen. */
TAMIS_API bool tamis_filter_is_compatible(const tamis_filter *one, const tamis_filter *other);

/* Whether two filters are compatible, frozen ones too, and every bit is the same: they then answer alike for every key. */
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
    uint64_t capacity; /* keys that it has room for before it grows, or is full; 0: it has no such number */
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
/* The plan of the filter, which owns it. A table that grows past its number of keys, or takes a union, changes it: of a
 * concurrent one read it only while no thread adds. */
TAMIS_API const tamis_plan *tamis_filter_plan(const tamis_filter *filter);

#ifdef __cplusplus
}
#endif
#endif
