/* SPDX-License-Identifier: BSD-2-Clause */
/* The estimated number of distinct keys, and the bound by which filters are sized. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/census.h>
#include <tamis/hash.h>

#include "support/fault.h"
#include "support/scratch.h"

enum { AT_ONCE = 1000, REGISTERS = 65536 };

static const double standard_error = 1.04 / 256; /* 1.04 / sqrt(registers) */

static tamis_cardinality *create(void) {
    tamis_cardinality *sketch = NULL;
    assert_int_equal(tamis_cardinality_create(&sketch, NULL, NULL), TAMIS_OK);
    return sketch;
}

/* Makes the keys from .. of a seed, at most AT_ONCE and before `to`. */
static size_t make_keys(uint64_t seed, uint64_t from, uint64_t to, tamis_key *keys) {
    static uint64_t words[AT_ONCE][2];
    size_t count = 0;
    for (; count < AT_ONCE && from < to; count++, from++) {
        words[count][0] = seed;
        words[count][1] = from;
        keys[count] = (tamis_key){words[count], sizeof words[count]};
    }
    return count;
}

/* Adds the keys from .. to - 1 of a seed. */
static void add(tamis_cardinality *sketch, uint64_t seed, uint64_t from, uint64_t to) {
    tamis_key keys[AT_ONCE];
    size_t count;
    for (; (count = make_keys(seed, from, to, keys)) > 0; from += count)
        tamis_cardinality_add_many(sketch, keys, count);
}

static void the_bound_holds_and_is_near(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2, 10, 100, 1000, 10000, 65536, 150000, 330000, 1000000, 4000000};
    uint64_t max = test_scale(4000000, 330000, 330000), seed = test_seed(7);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= max; i++) {
        tamis_cardinality *sketch = create();
        add(sketch, seed, 0, sizes[i]);
        uint64_t bound = tamis_cardinality_upper_bound(sketch);
        /* repeated keys count once */
        add(sketch, seed, 0, sizes[i] < 5000 ? sizes[i] : 5000);
        assert_int_equal(tamis_cardinality_upper_bound(sketch), bound);
        if (bound < sizes[i] || (double)bound > 1.0417 * (double)sizes[i] + 2)
            fprintf(stderr, "%llu keys, bound %llu\n", (unsigned long long)sizes[i],
                    (unsigned long long)bound);
        assert_true(bound >= sizes[i] && bound >= 1);
        assert_true((double)bound <= 1.0417 * (double)sizes[i] + 2); /* ten standard errors */
        tamis_cardinality_free(sketch);
    }
}

/* Over many sketches the errors have mean 0 and the standard deviation of HyperLogLog: 1.04 /
 * sqrt(registers). */
static void errors_are_those_of_hyperloglog(void **state) {
    (void)state;
    const uint64_t keys =
        200000; /* three per register: beyond the range where counting empty registers does */
    const int sketches = (int)test_scale(200, 20, 50);
    double sum = 0, squares = 0;
    uint64_t seed = test_seed(100);
    for (int i = 0; i < sketches; i++) {
        tamis_cardinality *sketch = create();
        add(sketch, seed + (uint64_t)i, 0, keys);
        double error = tamis_cardinality_estimate(sketch) / (double)keys - 1;
        sum += error;
        squares += error * error;
        tamis_cardinality_free(sketch);
    }
    double deviation = sqrt(squares / sketches), spread = 5 / sqrt(2.0 * sketches);
    if (deviation < standard_error * (1 - spread) || deviation > standard_error * (1 + spread) ||
        fabs(sum / sketches) > 5 * standard_error / sqrt(sketches))
        fail_msg("%d sketches: mean error %g, deviation %g", sketches, sum / sketches, deviation);
}

/* With few keys the estimate is near that of linear counting, -m ln(share of empty registers), counted
 * here from the hashes: XXH3 without a seed, whose first 16 bits choose the register. */
static void few_keys_agree_with_linear_counting(void **state) {
    (void)state;
    static bool used[REGISTERS];
    tamis_hash hashes[AT_ONCE];
    tamis_key keys[AT_ONCE];
    tamis_hasher *hasher = NULL;
    tamis_cardinality *sketch = create();
    uint64_t seed = test_seed(3), from = 0;
    double empty = REGISTERS;
    assert_int_equal(tamis_hasher_create(&hasher, NULL, NULL), TAMIS_OK);
    memset(used, 0, sizeof used);
    assert_true(tamis_cardinality_estimate(sketch) == 0);
    for (size_t count; (count = make_keys(seed, from, 20000, keys)) > 0; from += count) {
        tamis_cardinality_add_many(sketch, keys, count);
        assert_int_equal(tamis_hash_many(hasher, keys, count, hashes, NULL), TAMIS_OK);
        for (size_t i = 0; i < count; i++) {
            size_t index = (size_t)(hashes[i].word[0] >> 48);
            empty -= !used[index];
            used[index] = true;
        }
        double linear = REGISTERS * log(REGISTERS / empty), estimate = tamis_cardinality_estimate(sketch);
        if (fabs(estimate / linear - 1) > 0.005)
            fail_msg("%g, by linear counting %g", estimate, linear);
    }
    tamis_hasher_free(hasher);
    tamis_cardinality_free(sketch);
}

static void a_secret_makes_other_hashes(void **state) {
    (void)state;
    static const char secret[] = "a secret for tests only, 32 bytes";
    tamis_cardinality_options options = TAMIS_CARDINALITY_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_cardinality *plain = create(), *keyed = NULL;
    options.secret = secret;
    options.secret_size = sizeof secret - 1;
    assert_int_equal(tamis_cardinality_create(&keyed, &options, &err), TAMIS_OK);
    add(plain, 1, 0, 1000);
    add(keyed, 1, 0, 1000);
    assert_true(tamis_cardinality_estimate(plain) != tamis_cardinality_estimate(keyed));
    tamis_cardinality_free(plain);
    tamis_cardinality_free(keyed);
    tamis_cardinality_free(NULL);
    options.secret_size = 1;
    keyed = NULL;
    assert_int_equal(tamis_cardinality_create(&keyed, &options, &err), TAMIS_E_INVALID);
    assert_null(keyed);
}

static void refuses_what_it_cannot_use(void **state) {
    (void)state;
    tamis_cardinality_options options = TAMIS_CARDINALITY_OPTIONS_INIT;
    tamis_cardinality *sketch = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_cardinality_create(NULL, NULL, &err), TAMIS_E_INVALID);
    for (uint64_t n = 1; n <= 2; n++) {
        fault_memory memory = {.fail_at = n};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        options.allocator = &allocator;
        assert_int_equal(tamis_cardinality_create(&sketch, &options, &err), TAMIS_E_NOMEM);
        assert_null(sketch);
        assert_int_equal(memory.live_blocks, 0);
    }
    options.struct_size = 0;
    assert_int_equal(tamis_cardinality_create(&sketch, &options, &err), TAMIS_E_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_holds_and_is_near),
        cmocka_unit_test(errors_are_those_of_hyperloglog),
        cmocka_unit_test(few_keys_agree_with_linear_counting),
        cmocka_unit_test(a_secret_makes_other_hashes),
        cmocka_unit_test(refuses_what_it_cannot_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
