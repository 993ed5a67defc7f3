/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_HASH_FUNCTIONS_H
#define TAMIS_HASH_HASH_FUNCTIONS_H

/* Hash functions of other programs' filters, each in the file of its name. xxh3.h and fnv.h have inline
 * ones. */

#include <stddef.h>
#include <stdint.h>

/* ---- murmur3.c ---- */

/* Constants of MurmurHash3: C1 and C2 mix words, F1 and F2 finish. */
#define TAMIS__MURMUR3_C1 UINT64_C(0x87c37b91114253d5)
#define TAMIS__MURMUR3_C2 UINT64_C(0x4cf5ad432745937f)
#define TAMIS__MURMUR3_F1 UINT64_C(0xff51afd7ed558ccd)
#define TAMIS__MURMUR3_F2 UINT64_C(0xc4ceb9fe1a85ec53)

/* Computes MurmurHash3_x64_128 with a 32-bit seed (Austin Appleby, SMHasher, MurmurHash3.cpp, public
 * domain). digest[0] and digest[1] are h1 and h2. Little-endian on every machine. */
void tamis__murmur3_x64_128(const void *data, size_t size, uint32_t seed, uint64_t digest[2]);

/* ---- murmur64a.c ---- */

/* Computes MurmurHash64A with a 64-bit seed (Austin Appleby, SMHasher, MurmurHash2.cpp, public domain).
 * Little-endian on every machine. */
uint64_t tamis__murmur64a(const void *data, size_t size, uint64_t seed);

/* Seed of the first of RedisBloom's two hashes. The first hash seeds the second (deps/bloom/bloom.c). */
#define TAMIS__REDISBLOOM_SEED UINT64_C(0xc6a4a7935bd1e995)

/* ---- bkdr.c ---- */

#define TAMIS__BKDR31_MASK UINT64_C(0x7fffffff)
#define TAMIS__BKDR63_MASK UINT64_C(0x7fffffffffffffff)

/*
 * Computes the hashes of a published PHP class over Redis bitmaps, in the arithmetic of 64-bit PHP 7 and 8.
 * For each n below `probes`, values[n] is the hash with seed n. Seed 0 is 31. Seed n has n + 2 digits,
 * alternately 1 and 3: 131, 1313, 13131, ...
 *
 *     h = 0; for each byte c: h = ((int(float(h * seed)) & mask) + c) & mask
 *
 * A product that exceeds 63 bits is computed with floats, and so is every product with a seed of more than 19
 * digits. The rounding to 53 bits is part of the result. Cost: O(probes * size).
 */
void tamis__bkdr(const void *data, size_t size, uint64_t mask, uint32_t probes, uint64_t *values);

/* ---- highwayhash.c ---- */

/* Computes the 128-bit HighwayHash of `data` under a key (J. Alakuijala, B. Cox, J. Wassenberg: Fast keyed
 * hash/pseudo-random function using SIMD multiply and permute, arXiv 1612.06257). Little-endian on every
 * machine. */
void tamis__highwayhash_128(const void *data, size_t size, const uint64_t key[4], uint64_t word[2]);

/* The key that Redisson's Bloom filters use (org.redisson.misc.Hash). */
#define TAMIS__REDISSON_KEY                                                                                  \
    {                                                                                                        \
        UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xf39cc0605cedc834), UINT64_C(0x1082276bf3a27251),            \
            UINT64_C(0xf86c6a11d0c18e95)                                                                     \
    }

#endif
