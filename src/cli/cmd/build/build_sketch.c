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
 * The bound is five standard errors above the estimate. So a filter becomes 2 % too large, and hardly ever
 * too small.
 */
#include "cli/cmd/build/build_sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { INDEX_BITS = 16, REGISTERS = 1 << INDEX_BITS, REST_BITS = 64 - INDEX_BITS, BATCH = 256 };

struct build_sketch {
    tamis_hasher *hasher;
    uint8_t registers[REGISTERS];
};

tamis_status build_sketch_create(build_sketch **sketch, const cli_secret *secret, tamis_error *err) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    build_sketch *made = calloc(1, sizeof *made);

    if (made == NULL)
        return cli_fail(err, "sketch of keys: out of memory; free some, or give --expect");
    if (secret != NULL) {
        options.secret = secret->bytes;
        options.secret_size = secret->size;
    }
    if (tamis_hasher_create(&made->hasher, &options, err) != TAMIS_OK) {
        free(made);
        return err->status;
    }
    *sketch = made;
    return TAMIS_OK;
}

void build_sketch_free(build_sketch *sketch) {
    if (sketch == NULL)
        return;
    tamis_hasher_free(sketch->hasher);
    free(sketch);
}

static void count_hash(build_sketch *sketch, uint64_t hash) {
    uint64_t rest = hash << INDEX_BITS;
    uint8_t rank = (uint8_t)(rest == 0 ? REST_BITS + 1 : __builtin_clzll(rest) + 1);
    uint8_t *at = &sketch->registers[hash >> REST_BITS];

    if (rank > *at)
        *at = rank;
}

tamis_status build_sketch_add(void *context, const tamis_key *keys, size_t count, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    build_sketch *sketch = context;
    tamis_hash hashes[BATCH];

    for (*done = 0; *done < count;) {
        size_t batch_size = count - *done < BATCH ? count - *done : BATCH;
        tamis_status status = tamis_hash_many(sketch->hasher, keys + *done, batch_size, hashes, err);
        if (status != TAMIS_OK)
            return status;
        for (size_t i = 0; i < batch_size; i++)
            count_hash(sketch, hashes[i].word[0]);
        memset(answers + *done, TAMIS_ABSENT, batch_size);
        *done += batch_size;
    }
    return TAMIS_OK;
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

static double estimate(const build_sketch *sketch) {
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

uint64_t build_sketch_bound(const build_sketch *sketch) {
    return (uint64_t)ceil(estimate(sketch) * (1 + 5 * 1.04 / sqrt(REGISTERS))) + 1;
}
