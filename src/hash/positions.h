/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_POSITIONS_H
#define TAMIS_HASH_POSITIONS_H

#include "base/bytes.h"

#include <tamis/hash.h>

/*
 * Probe positions of a digest in m bits, one call a probe: tamis__probe_first, then _next.
 *
 * guava64 (Guava BloomFilterStrategies.MURMUR128_MITZ_64):
 *     c = h1; position = (c & (2^63 - 1)) % m; c += h2
 * the others:
 *     x = word[0], y = word[1] | 1; position = floor(mix(x) * m / 2^64); x += y
 *     mix(x) = (x ^ x >> 32) * c mod 2^64
 * Without mix, two keys would share all positions whenever both x and both y agree in their first log2(m)
 * bits or so, which sets a floor of about n / (k m^2) to the rate: many times 1e-6 in a filter of a hundred
 * keys. Mixed, positions depend on all bits, and keys share them all only where 127 bits agree.
 */
typedef struct tamis__probe {
    uint64_t x, y;
} tamis__probe;

#define TAMIS__GOLDEN UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio, odd */
#define TAMIS__MIX    UINT64_C(0xff51afd7ed558ccd) /* a multiplier of murmur3's finish */

static inline tamis__probe tamis__probe_first(const tamis_hash *hash) {
    return (tamis__probe){hash->word[0], hash->word[1]};
}

static inline uint64_t tamis__probe_guava64(tamis__probe *probe, uint64_t m) {
    uint64_t position = (probe->x & INT64_MAX) % m;
    probe->x += probe->y;
    return position;
}

static inline uint64_t tamis__probe_shift(tamis__probe *probe, uint64_t m) {
    uint64_t mixed = (probe->x ^ probe->x >> 32) * TAMIS__MIX;
    probe->x += probe->y | 1;
    return tamis__mulhi(mixed, m);
}

#endif
