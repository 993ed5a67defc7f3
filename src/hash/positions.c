/* SPDX-License-Identifier: BSD-2-Clause */
#include "hash/positions.h"

#define DCSO_MODULUS   UINT64_C(18446744073709551557)
#define DCSO_GENERATOR UINT64_C(18446744073709550147)

static void shift_positions(const uint64_t word[2], uint64_t bits, uint32_t probes, uint64_t *positions) {
    uint64_t x = word[0], y = word[1] | 1;
    for (uint32_t i = 0; i < probes; i++, x += y)
        positions[i] = tamis__mulhi((x ^ x >> 32) * TAMIS__MIX, bits);
}

/* guava64 and redisbloom, which differ in what they keep of x. */
static void modulo_positions(const uint64_t word[2], uint64_t mask, uint64_t bits, uint32_t probes,
                             uint64_t *positions) {
    uint64_t x = word[0];
    for (uint32_t i = 0; i < probes; i++, x += word[1])
        positions[i] = (x & mask) % bits;
}

static void guava32_positions(uint64_t x, uint64_t bits, uint32_t probes, uint64_t *positions) {
    uint32_t c = (uint32_t)x, step = (uint32_t)(x >> 32);
    for (uint32_t i = 0; i < probes; i++) {
        c += step;
        positions[i] = (c >> 31 ? ~c : c) % bits;
    }
}

static void dcso_positions(uint64_t x, uint64_t bits, uint32_t probes, uint64_t *positions) {
    x %= DCSO_MODULUS;
    for (uint32_t i = 0; i < probes; i++) {
        x = x * DCSO_GENERATOR % DCSO_MODULUS; /* the product wraps at 64 bits first: so does theirs */
        positions[i] = x % bits;
    }
}

static void redisson_positions(const uint64_t word[2], uint64_t bits, uint32_t probes, uint64_t *positions) {
    uint64_t x = word[0];
    for (uint32_t i = 0; i < probes; i++) {
        positions[i] = (x & INT64_MAX) % bits;
        x += word[i % 2 == 0];
    }
}

void tamis__positions(tamis_scheme scheme, const uint64_t word[2], uint64_t bits, uint32_t probes,
                      uint64_t *positions) {
    switch (scheme) {
    case TAMIS_SCHEME_GUAVA64:
        modulo_positions(word, INT64_MAX, bits, probes, positions);
        break;
    case TAMIS_SCHEME_GUAVA32:
        guava32_positions(word[0], bits, probes, positions);
        break;
    case TAMIS_SCHEME_REDISBLOOM:
        modulo_positions(word, UINT64_MAX, bits, probes, positions);
        break;
    case TAMIS_SCHEME_FNV_DCSO:
        dcso_positions(word[0], bits, probes, positions);
        break;
    case TAMIS_SCHEME_REDISSON:
        redisson_positions(word, bits, probes, positions);
        break;
    default:
        shift_positions(word, bits, probes, positions);
    }
}
