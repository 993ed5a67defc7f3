/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CENSUS_H
#define TAMIS_CENSUS_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Summaries of a stream of keys, in memory of a fixed size: how many distinct keys there are, and which keys come
 * most often. All memory is allocated at creation, so adding keys cannot fail.
 *
 * Threads: one at a time for each summary; many may read one that no thread changes.
 *
 * This interface may change with every release.
 */

/* ---- the number of distinct keys ---- */

/* A HyperLogLog sketch: estimates the number of distinct keys in 64 KiB of memory. */
typedef struct tamis_cardinality tamis_cardinality;

typedef struct tamis_cardinality_options {
    uint32_t struct_size;
    /* Secret of a keyed hash, so that nobody can choose keys that spoil the estimate; only a hash of it is kept.
     * NULL: none */
    const void *secret;
    size_t secret_size;               /* TAMIS_SECRET_MIN..TAMIS_SECRET_MAX; 0: no secret */
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_cardinality_options;

#define TAMIS_CARDINALITY_OPTIONS_INIT TAMIS__INIT(tamis_cardinality_options, )

/* Creates an empty sketch. The caller owns *sketch until tamis_cardinality_free. options: NULL for the defaults.
 * Errors of tamis_hasher_create, and TAMIS_E_NOMEM. */
TAMIS_API tamis_status tamis_cardinality_create(tamis_cardinality **sketch,
                                                const tamis_cardinality_options *options, tamis_error *err);
TAMIS_API void tamis_cardinality_free(tamis_cardinality *sketch);

/* Counts keys. A key that came before changes nothing. Cost: O(total key bytes). */
TAMIS_API void tamis_cardinality_add_many(tamis_cardinality *sketch, const tamis_key *keys, size_t count);

/* Returns the estimated number of distinct keys, 0 if there are none. The estimate has no bias up to 2^48 keys
 * and more, and a standard error of 0.41 %. Cost: a pass over 64 KiB. */
TAMIS_API double tamis_cardinality_estimate(const tamis_cardinality *sketch);
/* Returns an upper bound of the number of distinct keys, at least 1, for tamis_plan_options.expect. It is five
 * standard errors above the estimate: some 2 % too high, and too low with a chance of less than one in a million. */
TAMIS_API uint64_t tamis_cardinality_upper_bound(const tamis_cardinality *sketch);

/* ---- the keys that come most often ---- */

/*
 * Finds heavy hitters: keys with a large share of all adds.
 *
 * - A hash gives each key one of `slots` slots. A key with more than half of the adds of its slot is always found.
 * - So a key with share s of all adds is lost only if the other keys of its slot have share s together. On average
 *   they have (1 - s) / slots. A key that is far above 1 / slots is hardly ever lost.
 * - Not every key that is found is a heavy hitter. `count` is never above the true number of adds; below it by at
 *   most the adds of the other keys of the slot.
 */
typedef struct tamis_heavy_hitters tamis_heavy_hitters;

enum { TAMIS_HEAVY_HITTER_SIZE_MAX = 512 }; /* maximum size of a key, in bytes; longer keys are not counted */

typedef struct tamis_heavy_hitters_options {
    uint32_t struct_size;
    uint32_t slots;                   /* number of slots, of 528 bytes each; 0: 1024 */
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_heavy_hitters_options;

#define TAMIS_HEAVY_HITTERS_OPTIONS_INIT TAMIS__INIT(tamis_heavy_hitters_options, )

/* Creates an empty summary. The caller owns *hitters until tamis_heavy_hitters_free. options: NULL for the
 * defaults. TAMIS_E_NOMEM. */
TAMIS_API tamis_status tamis_heavy_hitters_create(tamis_heavy_hitters **hitters,
                                                  const tamis_heavy_hitters_options *options,
                                                  tamis_error *err);
TAMIS_API void tamis_heavy_hitters_free(tamis_heavy_hitters *hitters);

/* Counts keys, of which it keeps copies. Cost: a hash and a comparison for each key. */
TAMIS_API void tamis_heavy_hitters_add_many(tamis_heavy_hitters *hitters, const tamis_key *keys,
                                            size_t count);

/* A key that comes often. */
typedef struct tamis_heavy_hitter {
    tamis_key key;  /* owned by the summary, valid until keys are added */
    uint64_t count; /* lower bound of the number of adds */
} tamis_heavy_hitter;

/* Fills `list` with the keys of the highest counts, highest first, and returns their number: at most `capacity`.
 * Cost: O(slots * capacity). */
TAMIS_API size_t tamis_heavy_hitters_list(const tamis_heavy_hitters *hitters, tamis_heavy_hitter *list,
                                          size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
