/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MurmurHash3_x64_128, the hash of Guava's Bloom filters.
 *
 * Source: Austin Appleby, SMHasher, MurmurHash3.cpp (public domain).
 *
 *     data    | 16 bytes    | 16 bytes    | ... | 0 to 15 bytes, then zeros |
 *               low   high    low   high          low          high
 *
 *     each block:   h1 ^= mix_low(low);    h1 = (rotl(h1, 27) + h2) * 5 + constant
 *                   h2 ^= mix_high(high);  h2 = (rotl(h2, 31) + h1) * 5 + constant
 *     the rest:     h1 ^= mix_low(low);  h2 ^= mix_high(high)
 *     at the end:   both ^= size, are added to each other, finished, and added again
 *
 * The original reads the rest through a switch with one case for each size. This version pads it with zeros
 * instead, which gives the same result: the mix of a zero word is zero, and h ^= 0 changes nothing.
 * kernels/hash_avx512.c uses the same fact to hash eight keys of up to 15 bytes side by side.
 *
 * Words are loaded little-endian on every machine. Guava prints a digest byte by byte, so "foo" is
 * 6145f501578671e2877dba2be487af7e there and h1 = e271865701f54561, h2 = 7eaf87e42bba7d87 here. With seed 0
 * the empty key has h1 = h2 = 0.
 *
 * Measured: ./dev bench memory (guava64), with the positions that follow.
 */
#include "hash/hash_functions.h"

#include "base/bytes.h"

static uint64_t rotate_left(uint64_t x, int by) {
    return (x << by) | (x >> (64 - by));
}

static uint64_t mix_low(uint64_t word) {
    return rotate_left(word * TAMIS__MURMUR3_C1, 31) * TAMIS__MURMUR3_C2;
}
static uint64_t mix_high(uint64_t word) {
    return rotate_left(word * TAMIS__MURMUR3_C2, 33) * TAMIS__MURMUR3_C1;
}

static uint64_t finish(uint64_t h) {
    h ^= h >> 33;
    h *= TAMIS__MURMUR3_F1;
    h ^= h >> 33;
    h *= TAMIS__MURMUR3_F2;
    return h ^ (h >> 33);
}

/* Loads 0 to 15 bytes, padded with zeros, without reading past the key. Two overlapping loads replace a
 * loop over single bytes; bits that are read twice stay the same. */
static void load_tail(const uint8_t *next, size_t left, uint64_t *low, uint64_t *high) {
    *low = *high = 0;
    if (left >= 8) {
        *low = tamis__load64le(next);
        /* If left is 8, the two shifts add up to 64. A single shift by 64 would be undefined. */
        *high = tamis__load64le(next + left - 8) >> 1 >> (127 - 8 * left);
    } else if (left >= 4) {
        *low = tamis__load32le(next) | (uint64_t)tamis__load32le(next + left - 4) << 8 * (left - 4);
    } else if (left > 0) {
        *low =
            next[0] | (uint64_t)next[left / 2] << 8 * (left / 2) | (uint64_t)next[left - 1] << 8 * (left - 1);
    }
}

void tamis__murmur3_x64_128(const void *data, size_t size, uint32_t seed, uint64_t digest[2]) {
    const uint8_t *next = data;
    uint64_t h1 = seed, h2 = seed;
    size_t left = size;
    for (; left >= 16; left -= 16, next += 16) {
        h1 ^= mix_low(tamis__load64le(next));
        h1 = (rotate_left(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= mix_high(tamis__load64le(next + 8));
        h2 = (rotate_left(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    uint64_t low, high;
    load_tail(next, left, &low, &high);
    h2 ^= mix_high(high);
    h1 ^= mix_low(low);

    h1 ^= (uint64_t)size;
    h2 ^= (uint64_t)size;
    h1 += h2;
    h2 += h1;
    h1 = finish(h1);
    h2 = finish(h2);
    h1 += h2;
    h2 += h1;
    digest[0] = h1;
    digest[1] = h2;
}
