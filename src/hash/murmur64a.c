/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MurmurHash64A, the hash of RedisBloom.
 *
 * Source: Austin Appleby, SMHasher, MurmurHash2.cpp (public domain).
 *
 *     data    | 8 bytes | 8 bytes | ... | 1 to 7 bytes, then zeros |
 *
 *     each word:   w *= M;  w ^= w >> 47;  h = (h ^ w * M) * M
 *     the rest:    h = (h ^ w) * M, skipped if nothing is left
 *
 * RedisBloom hashes a key twice. The first hash has a fixed seed, and the result seeds the second hash.
 *
 * The fixed seed is the multiplier M. So h starts as 0 for keys of one byte, and a key of a single zero byte
 * has the first hash 0.
 *
 *     "foo"    first 822b4f99b121f10d, second 9d63d52a557f61c2
 *
 * MurmurHash64B of the same source, for machines of 32 bits, gives other results.
 */
#include "hash/hash_functions.h"

#include <string.h>

#include "base/bytes.h"

#define MULTIPLIER UINT64_C(0xc6a4a7935bd1e995)
#define SHIFT      47

uint64_t tamis__murmur64a(const void *data, size_t size, uint64_t seed) {
    const uint8_t *next = data;
    uint64_t h = seed ^ (uint64_t)size * MULTIPLIER;
    size_t left = size;
    for (; left >= 8; left -= 8, next += 8) {
        uint64_t word = tamis__load64le(next) * MULTIPLIER;
        word ^= word >> SHIFT;
        h = (h ^ word * MULTIPLIER) * MULTIPLIER;
    }
    if (left) {
        uint8_t tail[8] = {0};
        memcpy(tail, next, left);
        h = (h ^ tamis__load64le(tail)) * MULTIPLIER;
    }
    h ^= h >> SHIFT;
    h *= MULTIPLIER;
    return h ^ h >> SHIFT;
}
