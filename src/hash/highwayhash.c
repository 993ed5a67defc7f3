/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HighwayHash with a 128-bit result, in portable C. Redisson's Bloom filters use it with a fixed key.
 *
 * Source: J. Alakuijala, B. Cox, J. Wassenberg, "Fast keyed hash/pseudo-random function using SIMD multiply
 * and permute", arXiv 1612.06257.
 *
 * The state has 16 words of 64 bits in four rows. It is designed for four SIMD lanes, one column each:
 *
 *     lane      0       1       2       3
 *     v0        .       .       .       .       accumulator; starts as mul0 ^ key
 *     v1        .       .       .       .       accumulator; starts as mul1 ^ key with its halves swapped
 *     mul0      .       .       .       .       multiplier; starts as a constant
 *     mul1      .       .       .       .       multiplier; starts as a constant
 *
 * The data goes in as packets of 32 bytes, one word per lane:
 *
 * 1. update: each lane adds its word, and multiplies 32-bit halves of v0 and v1 into mul0 and mul1.
 * 2. zip_add: adds bytes of v1 to v0, and then of v0 to v1. The order of the bytes spreads the well-mixed
 *    middle of each product over both lanes of a pair.
 * 3. A rest of 1 to 31 bytes is padded to one packet. Its size goes into v0 and v1.
 * 4. At the end, six updates take v0 itself as the packet, with halves and lanes swapped, and so mix all
 *    lanes.
 * 5. The digest adds up one column of the four rows per word: v0 + mul0 of lanes 0 and 1, v1 + mul1 of lanes
 *    2 and 3.
 *
 * Words are loaded little-endian on every machine, so digests can be stored in files.
 */
#include "hash/hash_functions.h"

#include <string.h>

#include "base/bytes.h"

enum { PACKET = 32, ROUNDS_128 = 6 };

/* The state: two accumulators and two multipliers in each of four lanes. */
typedef struct lanes {
    uint64_t v0[4], v1[4], mul0[4], mul1[4];
} lanes;

static uint64_t swap_halves(uint64_t x) {
    return x >> 32 | x << 32;
}

/* Returns bytes 3 12 2 5 14 1 15 0 of the 16 bytes low, high; byte 3 becomes the lowest. */
static uint64_t zip_low(uint64_t low, uint64_t high) {
    return ((low & 0xff000000) | (high & 0xff00000000)) >> 24 |
           ((low & 0xff0000000000) | (high & 0xff000000000000)) >> 16 | (low & 0xff0000) |
           (low & 0xff00) << 32 | (high & 0xff00000000000000) >> 8 | low << 56;
}

/* Returns bytes 11 4 10 13 9 6 8 7 in the same way. */
static uint64_t zip_high(uint64_t low, uint64_t high) {
    return ((high & 0xff000000) | (low & 0xff00000000)) >> 24 | (high & 0xff0000) |
           (high & 0xff0000000000) >> 16 | (high & 0xff00) << 24 | (low & 0xff000000000000) >> 8 |
           (high & 0xff) << 48 | (low & 0xff00000000000000);
}

static void zip_add(uint64_t to[4], const uint64_t from[4]) {
    for (int i = 0; i < 4; i += 2) {
        to[i] += zip_low(from[i], from[i + 1]);
        to[i + 1] += zip_high(from[i], from[i + 1]);
    }
}

static void update(lanes *state, const uint64_t packet[4]) {
    for (int i = 0; i < 4; i++) {
        state->v1[i] += state->mul0[i] + packet[i];
        state->mul0[i] ^= (state->v1[i] & UINT32_MAX) * (state->v0[i] >> 32);
        state->v0[i] += state->mul1[i];
        state->mul1[i] ^= (state->v0[i] & UINT32_MAX) * (state->v1[i] >> 32);
    }
    zip_add(state->v0, state->v1);
    zip_add(state->v1, state->v0);
}

static void update_bytes(lanes *state, const uint8_t bytes[PACKET]) {
    uint64_t packet[4];
    for (int i = 0; i < 4; i++)
        packet[i] = tamis__load64le(bytes + 8 * i);
    update(state, packet);
}

static void init_state(lanes *state, const uint64_t key[4]) {
    static const uint64_t mul0[4] = {UINT64_C(0xdbe6d5d5fe4cce2f), UINT64_C(0xa4093822299f31d0),
                                     UINT64_C(0x13198a2e03707344), UINT64_C(0x243f6a8885a308d3)};
    static const uint64_t mul1[4] = {UINT64_C(0x3bd39e10cb0ef593), UINT64_C(0xc0acf169b5f18a8c),
                                     UINT64_C(0xbe5466cf34e90c6c), UINT64_C(0x452821e638d01377)};
    for (int i = 0; i < 4; i++) {
        state->mul0[i] = mul0[i];
        state->mul1[i] = mul1[i];
        state->v0[i] = mul0[i] ^ key[i];
        state->v1[i] = mul1[i] ^ swap_halves(key[i]);
    }
}

/* Rotates each 32-bit half left by `count`, 1 to 31 bits. */
static uint64_t turn_halves(uint64_t x, size_t count) {
    uint32_t low = (uint32_t)x, high = (uint32_t)(x >> 32);
    low = low << count | low >> (32 - count);
    high = high << count | high >> (32 - count);
    return (uint64_t)high << 32 | low;
}

/*
 * Adds the last 1 to 31 bytes as one packet:
 *
 *     size of the rest   packet
 *     1 to 15            | whole words of 4 bytes | 0 ... | at 16: three of the 1 to 3 odd bytes | 0 |
 *     16 to 31           | whole words of 4 bytes | 0 ... | at 28: the last four bytes of the data |
 *
 * The second case repeats bytes of the whole words, so that it needs no test of the odd bytes.
 */
static void update_rest(lanes *state, const uint8_t *bytes, size_t size) {
    const size_t whole = size & ~(size_t)3, odd = size & 3;
    uint8_t packet[PACKET] = {0};
    for (int i = 0; i < 4; i++) {
        state->v0[i] += ((uint64_t)size << 32) + size;
        state->v1[i] = turn_halves(state->v1[i], size);
    }
    memcpy(packet, bytes, whole);
    if (size & 16) {
        memcpy(packet + PACKET - 4, bytes + size - 4, 4);
    } else if (odd) {
        packet[16] = bytes[whole];
        packet[17] = bytes[whole + odd / 2];
        packet[18] = bytes[size - 1];
    }
    update_bytes(state, packet);
}

void tamis__highwayhash_128(const void *data, size_t size, const uint64_t key[4], uint64_t word[2]) {
    const uint8_t *next = data;
    lanes state;
    init_state(&state, key);
    for (; size >= PACKET; size -= PACKET, next += PACKET)
        update_bytes(&state, next);
    if (size > 0)
        update_rest(&state, next, size);
    for (int round = 0; round < ROUNDS_128; round++) {
        const uint64_t turned[4] = {swap_halves(state.v0[2]), swap_halves(state.v0[3]),
                                    swap_halves(state.v0[0]), swap_halves(state.v0[1])};
        update(&state, turned);
    }
    word[0] = state.v0[0] + state.mul0[0] + state.v1[2] + state.mul1[2];
    word[1] = state.v0[1] + state.mul0[1] + state.v1[3] + state.mul1[3];
}
