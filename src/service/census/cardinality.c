/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A HyperLogLog sketch with 2^16 registers. The first bits of a key's hash select a register. The rest of the
 * hash has a rank: the number of its leading zeros, plus one. A register keeps the highest rank of its keys.
 *
 *     hash   | 16 bits: register | 48 bits: rank 1 to 49 |
 *
 * Rank r has a chance of 2^-r, so a high rank shows that many distinct keys came. Duplicates change nothing.
 *
 * The estimate is Ertl's (O. Ertl, New cardinality estimation algorithms for HyperLogLog sketches, 2017,
 * algorithm 6). It has no bias from one key to 2^48 keys and more, and a standard error of
 * 1.04/sqrt(registers) = 0.41 %. With C[r] registers of rank r, m registers, and q = 48:
 *
 *     z = m tau(1 - C[q+1]/m);  for r = q..1: z = (z + C[r]) / 2;  z = z + m sigma(C[0]/m)
 *     estimate = m^2 / (2 ln 2 z)
 *
 * tamis_cardinality_upper_bound is five standard errors above the estimate. A filter made for that number is
 * 2 % too large, and hardly ever too small.
 *
 * Why this estimator: the original one is biased below some 2.5 m keys. It needs a second formula there and a
 * table of corrections between the two.
 */
#include <math.h>

#include <tamis/experimental/census.h>
#include <tamis/hash.h>

#include "base/memory.h"
#include "base/versioned.h"

enum { INDEX_BITS = 16, REGISTERS = 1 << INDEX_BITS, REST_BITS = 64 - INDEX_BITS, BATCH = 256 };

struct tamis_cardinality {
    tamis_hasher *hasher;
    tamis_allocator memory;
    uint8_t registers[REGISTERS];
};

tamis_status tamis_cardinality_create(tamis_cardinality **sketch, const tamis_cardinality_options *options,
                                      tamis_error *err) {
    TAMIS__NEED(sketch, err);
    tamis_cardinality_options given = TAMIS_CARDINALITY_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&given, sizeof given, options, "TAMIS_CARDINALITY_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    tamis_hasher_options hasher_options = TAMIS_HASHER_OPTIONS_INIT;
    hasher_options.secret = given.secret;
    hasher_options.secret_size = given.secret_size;
    hasher_options.allocator = given.allocator;
    tamis_hasher *hasher;
    status = tamis_hasher_create(&hasher, &hasher_options, err);
    if (status != TAMIS_OK)
        return status;
    tamis_allocator memory = tamis__allocator_resolve(given.allocator);
    tamis_cardinality *made = tamis__alloc(&memory, sizeof *made, _Alignof(tamis_cardinality));
    if (!made) {
        tamis_hasher_free(hasher);
        return tamis__fail_nomem(err, "cardinality sketch", sizeof *made);
    }
    made->hasher = hasher;
    made->memory = memory;
    *sketch = made;
    return TAMIS_OK;
}

void tamis_cardinality_free(tamis_cardinality *sketch) {
    if (!sketch)
        return;
    tamis_allocator memory = sketch->memory;
    tamis_hasher_free(sketch->hasher);
    tamis__free(&memory, sketch, sizeof *sketch);
}

static void count_hash(tamis_cardinality *sketch, uint64_t hash) {
    const uint64_t rest = hash << INDEX_BITS;
    const uint8_t rank = (uint8_t)(rest == 0 ? REST_BITS + 1 : __builtin_clzll(rest) + 1);
    uint8_t *rank_max = &sketch->registers[hash >> REST_BITS];
    if (rank > *rank_max)
        *rank_max = rank;
}

void tamis_cardinality_add_many(tamis_cardinality *sketch, const tamis_key *keys, size_t count) {
    tamis_hash hashes[BATCH];
    while (count > 0) {
        const size_t batch_size = count < BATCH ? count : BATCH;
        (void)tamis_hash_many(sketch->hasher, keys, batch_size, hashes, NULL); /* xxh3 and sip cannot fail */
        for (size_t i = 0; i < batch_size; i++)
            count_hash(sketch, hashes[i].word[0]);
        keys += batch_size;
        count -= batch_size;
    }
}

/* The two series of the paper, summed until a term no longer changes the sum. */
static double sigma(double x) {
    double sum = x, before, y = 1;
    if (x == 1)
        return INFINITY;
    do {
        x *= x;
        before = sum;
        sum += x * y;
        y += y;
    } while (sum != before);
    return sum;
}

static double tau(double x) {
    double sum = 1 - x, before, y = 1;
    if (x == 0 || x == 1)
        return 0;
    do {
        x = sqrt(x);
        before = sum;
        y /= 2;
        sum -= (1 - x) * (1 - x) * y;
    } while (sum != before);
    return sum / 3;
}

double tamis_cardinality_estimate(const tamis_cardinality *sketch) {
    double counts[REST_BITS + 2] = {0}, sum;
    const double m = REGISTERS;
    for (size_t i = 0; i < REGISTERS; i++)
        counts[sketch->registers[i]]++;
    sum = m * tau(1 - counts[REST_BITS + 1] / m);
    for (int rank = REST_BITS; rank > 0; rank--)
        sum = (sum + counts[rank]) / 2;
    sum += m * sigma(counts[0] / m);
    return m * m / (2 * log(2) * sum);
}

uint64_t tamis_cardinality_upper_bound(const tamis_cardinality *sketch) {
    return (uint64_t)ceil(tamis_cardinality_estimate(sketch) * (1 + 5 * 1.04 / sqrt(REGISTERS))) + 1;
}
