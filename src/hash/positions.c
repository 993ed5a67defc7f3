/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The positions of each scheme. positions.h gives the formulas, their sources and the reasons for them. This
 * file says how they are computed fast, and where the other programs differ from what a reader expects.
 *
 * Remainders. x mod m by a multiplication, with inverse = floor((2^64 - 1) / m), which tamis__modulus keeps:
 *
 *     quotient  = floor(x * inverse / 2^64)      is floor(x / m), or one less
 *     remainder = x - quotient * m               is below 2 m: one subtraction corrects it
 *
 * Proof: inverse = (2^64 - 1 - r) / m with r < m. So x * inverse / 2^64 is x / m less x (1 + r) / (m 2^64),
 * and that is below 1, because 1 + r <= m and x < 2^64.
 *
 * What the other programs do:
 *
 * - Guava's modulus is the number of bits in the file, 64 * words, not the m of the formula. With the other
 *   modulus nearly all positions are wrong.
 * - guava64 clears the sign bit, guava32 complements a negative value. So -1 becomes 0 in guava32. The
 *   first position of guava32 is already one step past the start; in guava64 it is the start.
 * - The murmur3 digest of the empty key is 0, so under Guava's schemes its positions are all 0.
 * - DCSO's first position is x G, not x. The product wraps at 2^64 before it is reduced modulo P.
 * - Redisson adds the second word first, and then the first and the second in turn.
 * - If m is a power of two, the step y modulo m may be 0 or m/2, and few positions remain. docs/MATH.md,
 *   "Positions that repeat", has the rate that follows.
 *
 *     guava64, m = 128, k = 7     positions
 *     "foo"                       97 104 111 118 125 4 11
 *     "bar"                       4 68 4 68 4 68 4               the step is m/2: two positions
 *     42 as a Java long           120 120 120 120 120 120 120    the step is 0: one position
 *
 * "foo" under other schemes, as the programs themselves compute it:
 *
 *     redisbloom   m = 1152, k = 8   269 847 145 723 21 599 25 475
 *     fnv-dcso     m = 95, k = 7     29 15 29 66 70 8 72
 *     redisson     m = 9585, k = 7   5367 4316 7335 6284 9303 8252 1686
 *
 * Invariants:
 *
 * 1. Positions are below m, and their order is that of the scheme. Files and servers keep bits, not their
 *    order, but lookups end at the first zero bit, so the order decides what they cost.
 * 2. No scheme skips a position that comes twice: a key may set fewer than k bits.
 *
 * Measured: ./dev bench memory (classic, guava64); ./dev bench repeats has the rates that follow from
 * positions that repeat.
 */
#include "hash/positions.h"

#include <stdbool.h>

#define DCSO_MODULUS   UINT64_C(18446744073709551557)
#define DCSO_GENERATOR UINT64_C(18446744073709550147)

/* One subtraction suffices, because twice the modulus exceeds 2^64. */
static inline uint64_t dcso_reduce(uint64_t x) {
    return x >= DCSO_MODULUS ? x - DCSO_MODULUS : x;
}

/* Our own schemes. An odd y keeps the progression from repeating before 2^64 steps. */
static void shift_positions(const uint64_t word[2], uint64_t bits, uint32_t probes, uint64_t *positions) {
    uint64_t x = word[0], y = word[1] | 1;
    for (uint32_t i = 0; i < probes; i++, x += y)
        positions[i] = tamis__mulhi((x ^ x >> 32) * TAMIS__MIX, bits);
}

/* The schemes guava64 and redisbloom, which differ in the bits of x that `mask` keeps. */
static void modulo_positions(const uint64_t word[2], uint64_t mask, tamis__modulus m, uint32_t probes,
                             uint64_t *positions) {
    uint64_t x = word[0];
    for (uint32_t i = 0; i < probes; i++, x += word[1])
        positions[i] = tamis__remainder(x & mask, m);
}

/* Start and step are the halves of one word. A value that is negative in Java is complemented. */
static void guava32_positions(uint64_t x, tamis__modulus m, uint32_t probes, uint64_t *positions) {
    uint32_t c = (uint32_t)x, step = (uint32_t)(x >> 32);
    for (uint32_t i = 0; i < probes; i++) {
        c += step;
        positions[i] = tamis__remainder(c >> 31 ? ~c : c, m);
    }
}

/*
 * Computes the positions of fnv-dcso without its reductions modulo P, as x G^i, so that no position waits for
 * the one before it. Four multiplications then run side by side.
 *
 * Returns false if a reduction would have changed a value; the caller then repeats the work with reductions.
 * A 64-bit value is affected with probability 59 / 2^64, so that practically never happens.
 */
__attribute__((noinline)) static bool dcso_unreduced(uint64_t x, tamis__modulus m, uint32_t probes,
                                                     uint64_t *positions) {
    const uint64_t g = DCSO_GENERATOR;
    uint64_t power_1 = x * g, power_2 = x * (g * g), power_3 = x * (g * g * g), power_4 = x * (g * g * g * g);
    bool reduced = false;
    uint32_t i = 0;
    for (; i + 4 <= probes; i += 4) {
        positions[i] = tamis__remainder(power_1, m);
        positions[i + 1] = tamis__remainder(power_2, m);
        positions[i + 2] = tamis__remainder(power_3, m);
        positions[i + 3] = tamis__remainder(power_4, m);
        reduced |= power_1 >= DCSO_MODULUS || power_2 >= DCSO_MODULUS || power_3 >= DCSO_MODULUS ||
                   power_4 >= DCSO_MODULUS;
        power_1 *= g * g * g * g;
        power_2 *= g * g * g * g;
        power_3 *= g * g * g * g;
        power_4 *= g * g * g * g;
    }
    for (; i < probes; i++, power_1 *= g) {
        positions[i] = tamis__remainder(power_1, m);
        reduced |= power_1 >= DCSO_MODULUS;
    }
    return !reduced;
}

/* Tries the way without reductions first, from four probes on. */
static void dcso_positions(uint64_t x, tamis__modulus m, uint32_t probes, uint64_t *positions) {
    x = dcso_reduce(x);
    if (probes >= 4 && dcso_unreduced(x, m, probes, positions))
        return;
    for (uint32_t i = 0; i < probes; i++) {
        x = dcso_reduce(x * DCSO_GENERATOR); /* as in DCSO's code, the product wraps at 64 bits first */
        positions[i] = tamis__remainder(x, m);
    }
}

/* Adds y and x in turn. */
static void redisson_positions(const uint64_t word[2], tamis__modulus m, uint32_t probes,
                               uint64_t *positions) {
    uint64_t x = word[0];
    for (uint32_t i = 0; i < probes; i++) {
        positions[i] = tamis__remainder(x & INT64_MAX, m);
        x += word[i % 2 == 0];
    }
}

void tamis__positions_in(tamis_scheme scheme, const uint64_t word[2], tamis__modulus m, uint32_t probes,
                         uint64_t *positions) {
    switch (scheme) {
    case TAMIS_SCHEME_GUAVA64:
        modulo_positions(word, INT64_MAX, m, probes, positions);
        break;
    case TAMIS_SCHEME_GUAVA32:
        guava32_positions(word[0], m, probes, positions);
        break;
    case TAMIS_SCHEME_REDISBLOOM:
        modulo_positions(word, UINT64_MAX, m, probes, positions);
        break;
    case TAMIS_SCHEME_FNV_DCSO:
        dcso_positions(word[0], m, probes, positions);
        break;
    case TAMIS_SCHEME_REDISSON:
        redisson_positions(word, m, probes, positions);
        break;
    default:
        shift_positions(word, m.bits, probes, positions);
    }
}

void tamis__positions(tamis_scheme scheme, const uint64_t word[2], uint64_t bits, uint32_t probes,
                      uint64_t *positions) {
    tamis__positions_in(scheme, word, tamis__modulus_of(bits), probes, positions);
}
