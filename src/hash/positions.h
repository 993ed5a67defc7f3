/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_POSITIONS_H
#define TAMIS_HASH_POSITIONS_H

#include "base/bytes.h"
#include "base/failure.h"

#include <tamis/hash.h>

/*
 * Positions: from a digest to k probe positions in m bits.
 *
 * Idea (A. Kirsch, M. Mitzenmacher, "Less Hashing, Same Performance", ESA 2006): two hash words x and y are
 * enough, because the progression x, x + y, x + 2y, ... behaves nearly like k independent hashes.
 *
 *     digest  | x: 64 bits | y: 64 bits |
 *                  x, x + y, x + 2y, ..., x + (k-1)y      modulo 2^64
 *                  each reduced to 0..m-1                 a multiplication or a remainder
 *
 * Example without mix: x = 7, y = 4, k = 3 and m = 10 give the positions 7, 11 mod 10 = 1 and 15 mod 10 = 5.
 *
 * Every scheme keeps a fixed order of positions. Arithmetic is modulo 2^64 unless stated otherwise:
 *
 *     xxh3, sip     y |= 1; k times: floor(mix(x) m / 2^64); x += y;  mix(x) = (x ^ x >> 32) c
 *     guava64       k times: (x & (2^63 - 1)) mod m; x += y
 *     guava32       a, b = low and high half of x; for i = 1..k: c = a + i b modulo 2^32;
 *                   c = ~c if its highest bit is set; c mod m
 *     redisbloom    k times: x mod m; x += y
 *     fnv-dcso      x mod= P; k times: x = x G mod P; x mod m;  P = 2^64 - 59, G = 2^64 - 1469
 *     redisson      z = x; for i = 0..k-1: (z & (2^63 - 1)) mod m; z += y if i is even, x if it is odd
 *
 * Sources: Guava BloomFilterStrategies.java (MURMUR128_MITZ_64 and _32), RedisBloom deps/bloom/bloom.c, DCSO
 * bloom.go, Redisson RedissonBloomFilter.java.
 *
 * Why our own schemes mix: a progression without mix has two weaknesses.
 *
 * 1. If y is near a multiple of 2^64 / q, the positions repeat after q steps. The key then has only q
 *    positions instead of k.
 * 2. If two keys agree in about the first log2(m) bits of both x and y, they share all positions.
 *
 * guava64, guava32 and redisbloom have the first weakness modulo m, and redisson has it nearly. It adds about
 * 5 / (k m) to the false-positive rate. In a filter of a hundred keys that is many times 1e-6 (docs/MATH.md,
 * "Positions that repeat"). With mix, a position depends on all bits of x, and two keys share all positions
 * only if 127 bits of their digests agree.
 *
 * Why a multiplication for our own schemes: floor(x m / 2^64) costs one multiplication. The other schemes
 * require x mod m. tamis__modulus replaces that division by two multiplications.
 */
#define TAMIS__MIX UINT64_C(0xff51afd7ed558ccd) /* the constant c of mix, from the finish of murmur3 */

/* A number of bits with its precomputed inverse, for fast remainders. A division would cost as much as
 * fetching a line from a near cache. */
typedef struct tamis__modulus {
    uint64_t bits, inverse;
} tamis__modulus;

static inline tamis__modulus tamis__modulus_of(uint64_t bits) {
    return (tamis__modulus){bits, UINT64_MAX / bits};
}

/* Returns x mod m.bits. The computed quotient is correct or one too small (positions.c has the proof), and
 * one subtraction corrects the remainder. */
static inline uint64_t tamis__remainder(uint64_t x, tamis__modulus m) {
    const uint64_t rest = x - tamis__mulhi(x, m.inverse) * m.bits;
    return rest >= m.bits ? rest - m.bits : rest;
}

/* Computes the positions of one digest. `scheme` is a scheme with a digest. */
void tamis__positions_in(tamis_scheme scheme, const uint64_t word[2], tamis__modulus m, uint32_t probes,
                         uint64_t *positions);
/* Like tamis__positions_in, for a single call: computes the modulus itself. */
TAMIS_PRIVATE_API void tamis__positions(tamis_scheme scheme, const uint64_t word[2], uint64_t bits,
                                        uint32_t probes, uint64_t *positions);

#endif
