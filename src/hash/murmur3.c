/* SPDX-License-Identifier: BSD-2-Clause */
#include "hash/murmur3.h"

#include <string.h>

#include "base/bytes.h"

#define C1 0x87c37b91114253d5u
#define C2 0x4cf5ad432745937fu

static uint64_t rotate_left(uint64_t x, int by) {
    return (x << by) | (x >> (64 - by));
}

static uint64_t mix_low(uint64_t word) {
    return rotate_left(word * C1, 31) * C2;
}
static uint64_t mix_high(uint64_t word) {
    return rotate_left(word * C2, 33) * C1;
}

static uint64_t finish(uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
}

void tamis__murmur3_x64_128(const void *data, size_t size, uint32_t seed, uint64_t digest[2]) {
    const uint8_t *at = data;
    uint64_t h1 = seed, h2 = seed;
    size_t left = size;
    for (; left >= 16; left -= 16, at += 16) {
        h1 ^= mix_low(tamis__load64le(at));
        h1 = (rotate_left(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= mix_high(tamis__load64le(at + 8));
        h2 = (rotate_left(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    /* The 0 to 15 bytes left count as if zeros followed: mixing a zero word changes nothing, so the
     * tail needs no case of its own for each length. */
    uint8_t tail[16] = {0};
    if (left)
        memcpy(tail, at, left);
    h2 ^= mix_high(tamis__load64le(tail + 8));
    h1 ^= mix_low(tamis__load64le(tail));

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
