/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_KERNELS_HASH_KERNELS_H
#define TAMIS_HASH_KERNELS_HASH_KERNELS_H

#include <tamis/hash.h>
#include <tamis/key.h>

#include "base/isa.h"
#include "hash/xxh3.h"

/*
 * Kernels that hash whole batches, one file for each instruction set.
 *
 *     hash_scalar.c    sorted by size class, one key at a time      always built, the reference
 *     hash_avx2.c      four keys of 4..8 or 9..16 bytes at a time   the rest as scalar
 *     hash_avx512.c    eight keys of 0..16 bytes at a time          longer keys: by class, or as AVX2
 *
 * Every set must return the results of the scalar set, and that set those of libxxhash and murmur3.c for a
 * single key. tests/kernel asserts both for each set. A kernel also stores `hasher_id` in each hash.
 *
 * A further set needs a constant in base/isa.h, compiler options in cmake/TamisLibraries.cmake, a file here
 * and a case in tamis__hash_kernels_of().
 *
 * There is no NEON file: measured by instruction counts it was no faster than scalar (docs/PERFORMANCE.md,
 * "Tried").
 */
struct tamis__hash_kernels {
    const char *name;
    void (*xxh3)(const tamis__xxh3 *x, uint64_t hasher_id, const tamis_key *keys, size_t count,
                 tamis_hash *hashes);
    /* With seed 0. */
    void (*murmur3)(uint64_t hasher_id, const tamis_key *keys, size_t count, tamis_hash *hashes);
};

/* Returns the kernels for an instruction set. Returns the scalar kernels if a set has none of its own. */
const struct tamis__hash_kernels *tamis__hash_kernels_of(tamis__isa isa);

extern const struct tamis__hash_kernels tamis__hash_kernels_scalar;
#ifdef TAMIS__HAVE_AVX2
extern const struct tamis__hash_kernels tamis__hash_kernels_avx2;
#endif
#ifdef TAMIS__HAVE_AVX512
extern const struct tamis__hash_kernels tamis__hash_kernels_avx512;
#endif

#endif
