/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CENSUS_H
#define TAMIS_CENSUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Summaries of a stream of keys, in memory of a fixed size. They say how many distinct keys there are, which
 * keys come most often, and what they look like. All memory is allocated at creation, so adding keys cannot
 * fail.
 *
 * Threads: any number may read a summary at once; while a thread changes it, no other may use it.
 *
 * This interface may change with every release.
 */

/* ---- the number of distinct keys ---- */

/* A HyperLogLog sketch: estimates the number of distinct keys in 64 KiB of memory. */
typedef struct tamis_cardinality tamis_cardinality;

typedef struct tamis_cardinality_options {
    uint32_t struct_size;
    /* Secret of a keyed hash, so that nobody can choose keys that spoil the estimate; only a hash of it is
     * kept. NULL: none */
    const void *secret;
    size_t secret_size;               /* TAMIS_SECRET_MIN..TAMIS_SECRET_MAX; 0: no secret */
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_cardinality_options;

#define TAMIS_CARDINALITY_OPTIONS_INIT TAMIS__INIT(tamis_cardinality_options, )

/* Creates an empty sketch. The caller owns *sketch until tamis_cardinality_free. options: NULL for the
 * defaults. Errors of tamis_hasher_create, and TAMIS_E_NOMEM. */
TAMIS_API tamis_status tamis_cardinality_create(tamis_cardinality **sketch,
                                                const tamis_cardinality_options *options, tamis_error *err);
TAMIS_API void tamis_cardinality_free(tamis_cardinality *sketch);

/* Counts keys. A key that came before changes nothing. Cost: O(total key bytes). */
TAMIS_API void tamis_cardinality_add_many(tamis_cardinality *sketch, const tamis_key *keys, size_t count);

/* Returns the estimated number of distinct keys, 0 if there are none. The estimate has no bias up to 2^48
 * keys and more, and a standard error of 0.41 %. Cost: a pass over 64 KiB. */
TAMIS_API double tamis_cardinality_estimate(const tamis_cardinality *sketch);
/* Returns an upper bound of the number of distinct keys, at least 1, for tamis_plan_options.expect. It is
 * five standard errors above the estimate: some 2 % too high, and too low with a chance of less than one
 * in a million. */
TAMIS_API uint64_t tamis_cardinality_upper_bound(const tamis_cardinality *sketch);

/* ---- the keys that come most often ---- */

/*
 * Finds heavy hitters: keys with a large share of all adds.
 *
 * - A hash gives each key one of `slots` slots. A key with more than half of the adds of its slot is
 *   always found.
 * - So a key with share s of all adds is lost only if the other keys of its slot have share s together. On
 *   average they have (1 - s) / slots. A key that is far above 1 / slots is hardly ever lost.
 * - Not every key that is found is a heavy hitter. `count` is never above the true number of adds; below
 *   it by at most the adds of the other keys of the slot.
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

/* Counts keys. Keeps copies of them. Cost: a hash and a comparison for each key. */
TAMIS_API void tamis_heavy_hitters_add_many(tamis_heavy_hitters *hitters, const tamis_key *keys,
                                            size_t count);

/* A key that comes often. */
typedef struct tamis_heavy_hitter {
    tamis_key key;  /* owned by the summary, valid until keys are added */
    uint64_t count; /* lower bound of the number of adds */
} tamis_heavy_hitter;

/* Fills `list` with the keys of the highest counts, highest first, and returns their number: at most
 * `capacity`. Cost: O(slots * capacity). */
TAMIS_API size_t tamis_heavy_hitters_list(const tamis_heavy_hitters *hitters, tamis_heavy_hitter *list,
                                          size_t capacity);

/* ---- random keys that look like given ones ---- */

/*
 * Makes random keys that look like the keys of a stream. A poor hash may do well on some keys and badly on
 * others. So random words would not measure the rate that the user of a filter gets.
 *
 * A reservoir keeps a sample of the keys; every key is in it with the same probability. Each random key is
 * made from one sample. Its shape says how:
 */
typedef enum tamis_key_shape {
    /* Text in UTF-8, or any bytes: letters, digits and continuation bytes of UTF-8 become random bytes of
     * their range, all others stay. So the length stays, and UTF-8 remains UTF-8 */
    TAMIS_KEY_SHAPE_TEXT = 0,
    TAMIS_KEY_SHAPE_BYTES = 1, /* any bytes: the same number of random bytes */
    TAMIS_KEY_SHAPE_UTF16 = 2, /* text in UTF-16LE, which is treated as its UTF-8 */
    /* Numbers, little-endian in two's complement: random ones of the same sign, with as many bits or fewer */
    TAMIS_KEY_SHAPE_INT32 = 3,
    TAMIS_KEY_SHAPE_INT64 = 4
} tamis_key_shape;

/* A sample of keys. Keeps copies of 1024 of them, in 2 MiB. */
typedef struct tamis_key_sampler tamis_key_sampler;

typedef struct tamis_key_sampler_options {
    uint32_t struct_size;
    tamis_key_shape shape;            /* shape of the keys */
    uint64_t seed;                    /* the same seed, shape and keys give the same random keys */
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_key_sampler_options;

#define TAMIS_KEY_SAMPLER_OPTIONS_INIT TAMIS__INIT(tamis_key_sampler_options, )

/* Creates a sampler without samples. The caller owns *sampler until tamis_key_sampler_free. options: NULL
 * for the defaults. TAMIS_E_INVALID: no such shape. TAMIS_E_NOMEM. */
TAMIS_API tamis_status tamis_key_sampler_create(tamis_key_sampler **sampler,
                                                const tamis_key_sampler_options *options, tamis_error *err);
TAMIS_API void tamis_key_sampler_free(tamis_key_sampler *sampler);

/* Samples keys. Only the first 2048 bytes of a key count (of its UTF-8 with shape UTF16). Cost: a random
 * number for each key. */
TAMIS_API void tamis_key_sampler_add_many(tamis_key_sampler *sampler, const tamis_key *keys, size_t count);

enum { TAMIS_KEY_SAMPLER_SIZE_MAX = 4160 }; /* maximum size of a random key, in bytes */

/* Writes a random key into `key`, which has TAMIS_KEY_SAMPLER_SIZE_MAX bytes, and returns its size.
 * Without samples it is a word of 24 letters, 16 bytes, or any number. Random keys repeat if their shape
 * has few keys. */
TAMIS_API size_t tamis_key_sampler_make(tamis_key_sampler *sampler, void *key);

/* Makes all further random keys a byte longer, or lets numbers have two more bits, so that they repeat
 * less often. Returns false without a change if that was done 32 times. Then any number may come. */
TAMIS_API bool tamis_key_sampler_widen(tamis_key_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif
