/* SPDX-License-Identifier: BSD-2-Clause */

/* With every set of kernels that TAMIS_KERNEL can force: the same hashes, answers and bytes of filters. Uses
 * public calls only, so that the kernels of all layers take part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/tamis.h>

#include "support/isa.h"
#include "support/scratch.h"

enum { KEYS = 6000, KEY_BYTES = 300, CAPACITY = 64 << 20 };

/* Keys of every length up to KEY_BYTES, mostly short ones. Every fifth key repeats an earlier one. Batches
 * have uneven sizes. */
static void make_keys(tamis_key *keys, uint8_t *bytes, uint64_t seed) {
    size_t used = 0;
    for (size_t i = 0; i < KEYS; i++) {
        uint64_t max = test_random(&seed) % 4 ? 33 : KEY_BYTES;
        keys[i] = (tamis_key){bytes + used, (size_t)test_below(&seed, max)};
        if (i % 5 == 4)
            keys[i] = keys[test_below(&seed, i)];
        for (size_t j = 0; i % 5 != 4 && j < keys[i].size; j++)
            bytes[used++] = (uint8_t)test_random(&seed);
    }
}

static size_t some_of(size_t start) {
    static const size_t sizes[] = {1, 7, 8, 64, 3, 300, 1024, 17, 2000};
    size_t count = sizes[start % (sizeof sizes / sizeof *sizes)];
    return KEYS - start < count ? KEYS - start : count;
}

typedef struct written {
    uint8_t *to;
    size_t size, capacity;
} written;

static void write_bytes(written *out, const void *bytes, size_t size) {
    if (size > out->capacity - out->size)
        abort();
    memcpy(out->to + out->size, bytes, size);
    out->size += size;
}

static void must(tamis_status status, const tamis_error *err) {
    if (status != TAMIS_OK) {
        fprintf(stderr, "%s\n", err->text);
        abort();
    }
}

static void write_hashes(written *out, tamis_scheme scheme, const tamis_key *keys) {
    static tamis_hash hashes[KEYS];
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_hasher *hasher;
    options.scheme = scheme;
    options.seed = scheme == TAMIS_SCHEME_XXH3 ? 77 : 0;
    must(tamis_hasher_create(&hasher, &options, &err), &err);
    for (size_t start = 0, count; start < KEYS; start += count) {
        count = some_of(start);
        must(tamis_hash_many(hasher, keys + start, count, hashes + start, &err), &err);
    }
    write_bytes(out, hashes, sizeof hashes);
    tamis_hasher_free(hasher);
}

/* Adds the first half of the keys, looks up all, and appends the answers and the bytes of the filter. */
static void write_filter(written *out, tamis_kind kind, tamis_scheme scheme, double fpr, uint64_t expect,
                         const tamis_key *keys) {
    static tamis_answer answers[KEYS];
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis_filter *filter;
    uint64_t size;
    plan_options.kind = kind;
    plan_options.scheme = scheme;
    plan_options.fpr = fpr;
    plan_options.expect = expect;
    must(tamis_plan_make(&plan, &plan_options, &err), &err);
    must(tamis_filter_create(&filter, &plan, NULL, &err), &err);
    for (size_t start = 0, count; start < KEYS / 2; start += count) {
        count = some_of(start) < KEYS / 2 - start ? some_of(start) : KEYS / 2 - start;
        must(tamis_filter_add_many(filter, keys + start, count, answers + start, NULL, &err), &err);
    }
    write_bytes(out, answers, KEYS / 2 * sizeof *answers);
    for (size_t start = 0, count; start < KEYS; start += count) {
        count = some_of(start);
        must(tamis_filter_contains_many(filter, keys + start, count, answers + start, NULL, &err), &err);
    }
    write_bytes(out, answers, sizeof answers);
    metadata.created = 1;
    must(tamis_filter_metadata_set(filter, &metadata, &err), &err);
    must(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, &err), &err);
    if (size > out->capacity - out->size)
        abort();
    must(tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, out->to + out->size, size, &err), &err);
    out->size += (size_t)size;
    tamis_filter_free(filter);
}

static size_t write_all(uint8_t *to, size_t capacity) {
    static tamis_key keys[KEYS];
    static uint8_t bytes[KEYS * KEY_BYTES];
    static const tamis_scheme schemes[] = {TAMIS_SCHEME_XXH3, TAMIS_SCHEME_GUAVA64, TAMIS_SCHEME_REDISBLOOM,
                                           TAMIS_SCHEME_FNV_DCSO, TAMIS_SCHEME_REDISSON};
    written out = {to, 0, capacity};
    make_keys(keys, bytes, 61);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        write_hashes(&out, schemes[i], keys);
        for (double fpr = 0.3; fpr > 1e-9; fpr /= 100)
            write_filter(&out, TAMIS_KIND_CLASSIC, schemes[i], fpr, KEYS, keys);
    }
    for (double fpr = 0.3; fpr > 1e-9; fpr /= 10)
        write_filter(&out, TAMIS_KIND_BLOCKED, TAMIS_SCHEME_XXH3, fpr, KEYS, keys);
    for (double fpr = 0.01; fpr > 1e-12; fpr /= 1000) {
        write_filter(&out, TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, fpr, KEYS, keys);
        write_filter(&out, TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, fpr, 0, keys);
    }
    write_filter(&out, TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, 0, KEYS, keys);
    write_filter(&out, TAMIS_KIND_EXACT, TAMIS_SCHEME_GUAVA64, 0, 0, keys);
    return out.size;
}

static void every_set_gives_the_bytes_of_scalar(void **state) {
    (void)state;
    isa_each_forced(write_all, CAPACITY);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_set_gives_the_bytes_of_scalar)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
