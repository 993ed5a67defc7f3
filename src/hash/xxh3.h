/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_XXH3_H
#define TAMIS_HASH_XXH3_H

/*
 * XXH3 with a 128-bit result and a seed, inline, for batches of short keys.
 *
 * Source: doc/xxhash_spec.md of Cyan4973/xxHash. The results equal those of libxxhash.
 *
 * XXH3 has a separate formula for each class of sizes:
 *
 *     bytes       0          1..3        4..8           9..16          17..128           129..
 *     formula     constant   one word    one product    two products   1 to 4 rounds     that of libxxhash
 *                                                                      of 2 x 16 bytes
 *     function    -          tiny        narrow         wide           rounds            any
 *
 * Why not libxxhash for all: it branches on the size of every key. In a batch of mixed sizes these branches
 * are often mispredicted. With each class as an inline function, the kernels sort a batch by class first.
 * Each class then has a loop of its own, without a branch on the size (kernels/hash_classes.h).
 *
 * Everything that depends on the seed alone is computed once, by tamis__xxh3_init(): the formulas xor or add
 * parts of a default secret and the seed.
 *
 * No function reads a byte outside the key. A key of 4..16 bytes is covered by two loads that may overlap,
 * one from its start and one from its end:
 *
 *     | load from the start |
 *               | load from the end |
 *     | b0 | b1 | ...         | bn-1 |
 */
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* PRIME32_2, PRIME64_1 to PRIME64_4, PRIME_MX1 and PRIME_MX2 of the specification. */
#define TAMIS__XXH_P32_2 UINT64_C(0x85ebca77)
#define TAMIS__XXH_P1    UINT64_C(0x9e3779b185ebca87)
#define TAMIS__XXH_P2    UINT64_C(0xc2b2ae3d27d4eb4f)
#define TAMIS__XXH_P3    UINT64_C(0x165667b19e3779f9)
#define TAMIS__XXH_P4    UINT64_C(0x85ebca77c2b2ae63)
#define TAMIS__XXH_MX1   UINT64_C(0x165667919e3779f9)
#define TAMIS__XXH_MX2   UINT64_C(0x9fb21c651e98df25)

enum { TAMIS__XXH3_ROUNDS_MAX = 128 }; /* largest size hashed here, in bytes */

/* Constants derived from the seed and the default secret. */
typedef struct tamis__xxh3 {
    uint64_t seed;
    uint64_t empty[2];     /* digest of the empty key */
    uint64_t flip_tiny[2]; /* for 1..3 bytes: low and high word */
    uint64_t flip_narrow;  /* for 4..8 bytes */
    uint64_t flip_wide[2]; /* for 9..16 bytes: first ^ last word, last word */
    uint64_t words[16];    /* for 17..128 bytes: word + seed, word - seed, alternately */
} tamis__xxh3;

/* Computes the constants for a seed. */
void tamis__xxh3_init(tamis__xxh3 *x, uint64_t seed);

/* Hashes a key of any size with libxxhash. */
void tamis__xxh3_any(const void *bytes, size_t size, uint64_t seed, uint64_t word[2]);

static inline uint64_t tamis__xxh3_avalanche(uint64_t x) {
    x = (x ^ x >> 37) * TAMIS__XXH_MX1;
    return x ^ x >> 32;
}

static inline uint64_t tamis__xxh64_avalanche(uint64_t x) {
    x = (x ^ x >> 33) * TAMIS__XXH_P2;
    x = (x ^ x >> 29) * TAMIS__XXH_P3;
    return x ^ x >> 32;
}

/* Hashes 1..3 bytes, packed into 32 bits: the last byte, the size, the first and the middle byte. The high
 * word uses the same value with its bytes reversed. */
static inline void tamis__xxh3_tiny(const tamis__xxh3 *x, const uint8_t *data, size_t size,
                                    uint64_t word[2]) {
    uint32_t value =
        data[size - 1] | (uint32_t)size << 8 | (uint32_t)data[0] << 16 | (uint32_t)data[size >> 1] << 24;
    uint32_t turned = __builtin_bswap32(value);
    word[0] = tamis__xxh64_avalanche(x->flip_tiny[0] ^ value);
    word[1] = tamis__xxh64_avalanche(x->flip_tiny[1] ^ (turned << 13 | turned >> 19));
}

/* Hashes 4..8 bytes: the first and the last four bytes form one word. */
static inline void tamis__xxh3_narrow(const tamis__xxh3 *x, const uint8_t *data, size_t size,
                                      uint64_t word[2]) {
    uint64_t value = tamis__load32le(data) | (uint64_t)tamis__load32le(data + size - 4) << 32;
    tamis__u128 product = (tamis__u128)(value ^ x->flip_narrow) * (TAMIS__XXH_P1 + (size << 2));
    uint64_t low = (uint64_t)product, high = (uint64_t)(product >> 64) + (low << 1);
    low ^= high >> 3;
    low = (low ^ low >> 35) * TAMIS__XXH_MX2;
    word[0] = low ^ low >> 28;
    word[1] = tamis__xxh3_avalanche(high);
}

/* Hashes 9..16 bytes: the first and the last eight bytes form two words. */
static inline void tamis__xxh3_wide(const tamis__xxh3 *x, const uint8_t *data, size_t size,
                                    uint64_t word[2]) {
    uint64_t first = tamis__load64le(data), last = tamis__load64le(data + size - 8);
    tamis__u128 product = (tamis__u128)(first ^ last ^ x->flip_wide[0]) * TAMIS__XXH_P1;
    last ^= x->flip_wide[1];
    uint64_t low = (uint64_t)product + ((uint64_t)(size - 1) << 54);
    uint64_t high = (uint64_t)(product >> 64) + last + (uint32_t)last * (TAMIS__XXH_P32_2 - 1);
    product = (tamis__u128)(low ^ __builtin_bswap64(high)) * TAMIS__XXH_P2;
    word[0] = tamis__xxh3_avalanche((uint64_t)product);
    word[1] = tamis__xxh3_avalanche((uint64_t)(product >> 64) + high * TAMIS__XXH_P2);
}

/* Returns both halves, xored, of the product of two data words, each xored with a constant. */
static inline uint64_t tamis__xxh3_mix(const uint8_t *data, const uint64_t words[2]) {
    tamis__u128 product =
        (tamis__u128)(tamis__load64le(data) ^ words[0]) * (tamis__load64le(data + 8) ^ words[1]);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hashes 17..128 bytes in size / 32 rounds, rounded up. Each round takes 16 bytes from the front and 16
 * from the end, outermost last. */
static inline __attribute__((always_inline)) void
tamis__xxh3_rounds(const tamis__xxh3 *x, const uint8_t *data, size_t size, int rounds, uint64_t word[2]) {
    uint64_t low = size * TAMIS__XXH_P1, high = 0;
    for (int i = rounds - 1; i >= 0; i--) {
        const uint8_t *front = data + 16 * i, *back = data + size - 16 * (i + 1);
        low += tamis__xxh3_mix(front, x->words + 4 * i);
        high += tamis__xxh3_mix(back, x->words + 4 * i + 2);
        low ^= tamis__load64le(back) + tamis__load64le(back + 8);
        high ^= tamis__load64le(front) + tamis__load64le(front + 8);
    }
    word[0] = tamis__xxh3_avalanche(low + high);
    word[1] =
        -tamis__xxh3_avalanche(low * TAMIS__XXH_P1 + high * TAMIS__XXH_P4 + (size - x->seed) * TAMIS__XXH_P2);
}

#endif
