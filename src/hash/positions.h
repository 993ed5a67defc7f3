/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_POSITIONS_H
#define TAMIS_HASH_POSITIONS_H

#include "base/bytes.h"
#include "base/failure.h"

#include <tamis/hash.h>

/*
 * Probe positions of a digest in m bits, in the order in which the schemes make them. x and y are the two words of the
 * digest, arithmetic is modulo 2^64 where nothing else is said:
 *
 *   xxh3, sip     y |= 1; k times: floor(mix(x) m / 2^64); x += y;  mix(x) = (x ^ x >> 32) c
 *   guava64       k times: (x & (2^63 - 1)) mod m; x += y       (Guava BloomFilterStrategies.MURMUR128_MITZ_64)
 *   guava32       a, b = low and high half of x; for i = 1..k: c = a + i b modulo 2^32; c = ~c if its highest bit is
 *                 set; c mod m                                  (the same, MURMUR128_MITZ_32)
 *   redisbloom    k times: x mod m; x += y                      (RedisBloom deps/bloom/bloom.c)
 *   fnv-dcso      x mod= P; k times: x = x G mod P; x mod m;  P = 2^64 - 59, G = 2^64 - 1469
 *                 (DCSO bloom.go)
 *   redisson      z = x; for i = 0..k-1: (z & (2^63 - 1)) mod m; z += y where i is even, x where it is odd
 *                 (Redisson RedissonBloomFilter.java)
 *
 * Without mix, a key whose y is near a multiple of 2^64 / q comes back to its positions after q steps, and two keys
 * share all of theirs where both x and both y agree in their first log2(m) bits or so. The first is what guava64,
 * guava32 and redisbloom have, and nearly redisson, modulo m: it adds about 5 / (k m) to the rate, many times 1e-6 in a filter of a hundred
 * keys (docs/MATH.md). Mixed, positions depend on all bits, and keys share them all only where 127 bits agree.
 */
#define TAMIS__GOLDEN UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, odd */
#define TAMIS__MIX    UINT64_C(0xff51afd7ed558ccd) /* a multiplier of murmur3's finish */

/* Bits to find positions among, with what dividing by their number many times takes: a division costs as much as fetching
 * a line from a near cache. */
typedef struct tamis__span {
    uint64_t bits, inverse;
} tamis__span;

static inline tamis__span tamis__span_of(uint64_t bits) {
    return (tamis__span){bits, UINT64_MAX / bits};
}

/* Positions of one digest; `scheme` is one that has digests. */
void tamis__positions_in(tamis_scheme scheme, const uint64_t word[2], tamis__span span, uint32_t probes,
                         uint64_t *positions);
/* The same for who asks once. */
TAMIS_PRIVATE_API void tamis__positions(tamis_scheme scheme, const uint64_t word[2], uint64_t bits,
                                        uint32_t probes, uint64_t *positions);

#endif
