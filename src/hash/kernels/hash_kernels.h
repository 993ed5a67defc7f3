/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_KERNELS_HASH_KERNELS_H
#define TAMIS_HASH_KERNELS_HASH_KERNELS_H

#include <tamis/hash.h>
#include <tamis/key.h>

#include "base/isa.h"
#include "hash/xxh3.h"

/* Hashes of whole batches, one file for each instruction set. All sets give what scalar gives, which gives what libxxhash
 * and murmur3.c give for one key. Each hash gets its `origin` too. */
struct tamis__hash_kernels {
    const char *name;
    void (*xxh3)(const tamis__xxh3 *x, uint64_t origin, const tamis_key *keys, size_t count,
                 tamis_hash *hashes);
    void (*murmur3)(uint64_t origin, const tamis_key *keys, size_t count, tamis_hash *hashes); /* seed 0 */
};

/* The set of an isa: scalar's where one of its own measured no faster. */
const struct tamis__hash_kernels *tamis__hash_kernels_of(tamis__isa isa);

extern const struct tamis__hash_kernels tamis__hash_kernels_scalar;
#ifdef TAMIS__HAVE_AVX2
extern const struct tamis__hash_kernels tamis__hash_kernels_avx2;
#endif
#ifdef TAMIS__HAVE_AVX512
extern const struct tamis__hash_kernels tamis__hash_kernels_avx512;
#endif

#endif
