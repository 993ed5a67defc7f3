/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hash/hash_functions.h"
#include "hash/positions.h"
#include "support/scratch.h"

enum { MAX = 100 };

typedef struct digest {
    uint64_t word[2];
} digest;

/* Guava's loop as in BloomFilterStrategies.java: c += h2, a signed number that wraps. */
static void guava64_is_guavas_loop(void **state) {
    (void)state;
    static const uint64_t sizes[] = {64, 128, 192, 960, 6848, UINT64_C(1) << 40, (UINT64_C(1) << 62) + 64};
    uint64_t random = test_seed(11);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int round = 0; round < 1000; round++) {
            digest hash = {{test_random(&random), test_random(&random)}};
            uint64_t positions[40], combined = hash.word[0];
            tamis__positions(TAMIS_SCHEME_GUAVA64, hash.word, sizes[i], 40, positions);
            for (int k = 0; k < 40; k++, combined += hash.word[1])
                assert_true(positions[k] == (combined & UINT64_C(0x7fffffffffffffff)) % sizes[i]);
        }
    }
}

/* Guava 31.1, n = 10, p = 0.01, 7 probes in 128 bits: the words of the filter with "foo" and "bar", for
 * each strategy. */
static void foo_and_bar(tamis_scheme scheme, uint64_t low, uint64_t high) {
    static const char *const keys[] = {"foo", "bar"};
    uint64_t words[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        uint64_t word[2], positions[7];
        tamis__murmur3_x64_128(keys[i], 3, 0, word);
        tamis__positions(scheme, word, 128, 7, positions);
        for (int k = 0; k < 7; k++)
            words[positions[k] >> 6] |= UINT64_C(1) << (positions[k] & 63);
    }
    assert_true(words[0] == low && words[1] == high);
}

static void guava_filters_of_foo_and_bar(void **state) {
    (void)state;
    foo_and_bar(TAMIS_SCHEME_GUAVA64, UINT64_C(0x0810), UINT64_C(0x2040810200000010));
    foo_and_bar(TAMIS_SCHEME_GUAVA32, UINT64_C(0x0410004102100000), UINT64_C(0x40010c0000000084));
}

static void positions_are_below_m(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 2, 63, 64, 1000, UINT64_C(1) << 33, UINT64_MAX};
    static const uint64_t words[] = {0, 1, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int j = 0; j < 25; j++) {
            digest hash = {{words[j % 5], words[j / 5]}};
            uint64_t positions[MAX];
            for (int scheme = TAMIS_SCHEME_XXH3; scheme <= TAMIS_SCHEME_REDISSON; scheme++) {
                if (!tamis_scheme_digest_bits((tamis_scheme)scheme))
                    continue;
                tamis__positions((tamis_scheme)scheme, hash.word, sizes[i], MAX, positions);
                for (int k = 0; k < MAX; k++)
                    assert_true(positions[k] < sizes[i]);
            }
        }
}

/* positions.c divides by multiplying. Compares it with the operator, near the numbers where an error would
 * show first. */
static void remainders_are_exact(void **state) {
    (void)state;
    uint64_t random = test_seed(12);
    for (int round = 0; round < 200000; round++) {
        uint64_t m = test_random(&random) >> test_random(&random) % 64, position;
        m = round % 3 == 0 ? UINT64_C(1) << round % 64 : m + (m == 0);
        uint64_t x = test_random(&random), near = x / m * m; /* a multiple, and the number below it */
        digest words[] = {
            {{x, 0}}, {{near, 0}}, {{near - 1, 0}}, {{UINT64_MAX, 0}}, {{UINT64_MAX / m * m, 0}}};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            tamis__positions(TAMIS_SCHEME_REDISBLOOM, words[i].word, m, 1, &position);
            assert_true(position == words[i].word[0] % m);
        }
    }
}

/* Makes a digest whose kth product wraps to one of the 59 numbers from the modulus on, which are reduced. */
static uint64_t dcso_reduced_at(int k, uint64_t above) {
    const uint64_t generator = UINT64_MAX - 1468;
    uint64_t inverse = 1, x = UINT64_MAX - above;
    for (int i = 0; i < 6; i++) /* each step doubles the number of right bits */
        inverse *= 2 - generator * inverse;
    for (; k >= 0; k--)
        x *= inverse;
    return x;
}

/* Compares with the loop of DCSO's program, which uses the operator. */
static void dcso_equals_its_loop(void **state) {
    (void)state;
    const uint64_t modulus = UINT64_MAX - 58, generator = UINT64_MAX - 1468;
    uint64_t random = test_seed(13);
    for (int round = 0; round < 10000; round++) {
        uint64_t m = (test_random(&random) >> test_random(&random) % 64) | 1, positions[20];
        uint64_t x = round < 100 ? UINT64_MAX - (uint64_t)round : test_random(&random);
        if (round % 2)
            x = dcso_reduced_at(round / 2 % 20, (uint64_t)round / 40 % 59);
        digest hash = {{x, 0}};
        uint32_t probes = 1 + (uint32_t)round % 20;
        tamis__positions(TAMIS_SCHEME_FNV_DCSO, hash.word, m, probes, positions);
        x %= modulus;
        for (uint32_t k = 0; k < probes; k++) {
            x = x * generator % modulus;
            assert_true(positions[k] == x % m);
        }
    }
}

static void assert_positions(tamis_scheme scheme, const char *key, uint64_t m, const uint64_t *expected,
                             uint32_t count) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    tamis_hasher *hasher;
    tamis_key view = {key, strlen(key)};
    uint64_t positions[MAX];
    options.scheme = scheme;
    assert_int_equal(tamis_hasher_create(&hasher, &options, NULL), TAMIS_OK);
    assert_int_equal(tamis_hash_positions(hasher, &view, 1, &(tamis_bloom_shape){.bits = m, .probes = count},
                                          positions, NULL),
                     TAMIS_OK);
    assert_memory_equal(positions, expected, count * sizeof *expected);
    tamis_hasher_free(hasher);
}

/* Positions of these keys from RedisBloom's BF.DEBUG, from DCSO's program, and from Redisson's loop in
 * Java. */
static void positions_of_other_programs(void **state) {
    (void)state;
    assert_positions(TAMIS_SCHEME_REDISBLOOM, "foo", 1152, (uint64_t[]){269, 847, 145, 723, 21, 599, 25, 475},
                     8);
    assert_positions(TAMIS_SCHEME_FNV_DCSO, "foo", 95, (uint64_t[]){29, 15, 29, 66, 70, 8, 72}, 7);
    assert_positions(TAMIS_SCHEME_REDISSON, "foo", 9585,
                     (uint64_t[]){5367, 4316, 7335, 6284, 9303, 8252, 1686}, 7);
    assert_positions(TAMIS_SCHEME_REDISSON, "", 9585, (uint64_t[]){6677, 3567, 7896, 4786, 9115, 6005, 3097},
                     7);
    assert_positions(TAMIS_SCHEME_REDISSON, "0123456789abcdef0123456789abcdef", 9585,
                     (uint64_t[]){5026, 1393, 6419, 2786, 5464, 4179, 6857}, 7);
}

/* Checks the chi square of `cells` counts that should be equal. Its mean is cells - 1, its deviation
 * sqrt(2 (cells - 1)). */
static void assert_even(const uint32_t *counts, int cells, double total, const char *what, int which) {
    double expected = total / cells, sum = 0;
    for (int i = 0; i < cells; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    if (fabs(sum - (cells - 1)) > 5 * sqrt(2.0 * (cells - 1)))
        fail_msg("%s %d: chi square %g over %d cells", what, which, sum, cells);
}

enum { CELLS = 96, KEYS = 400000, PROBES = 12 };

static void each_probe_is_even(void **state) {
    (void)state;
    static uint32_t counts[PROBES][CELLS];
    uint64_t random = test_seed(12);
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < KEYS; i++) {
        digest hash = {{test_random(&random), test_random(&random)}};
        uint64_t positions[PROBES];
        tamis__positions(TAMIS_SCHEME_XXH3, hash.word, CELLS, PROBES, positions);
        for (int k = 0; k < PROBES; k++)
            counts[k][positions[k]]++;
    }
    for (int k = 0; k < PROBES; k++)
        assert_even(counts[k], CELLS, KEYS, "probe", k);
}

/* Three probes of a key are independent: all 12^3 triples are equally frequent. In a progression (x, x +
 * y, x + 2y, ...) the first two would determine the third. */
static void probes_are_independent(void **state) {
    (void)state;
    enum { M = 12, TRIPLES = M * M * M };
    static uint32_t counts[TRIPLES];
    uint64_t random = test_seed(13);
    for (int first = 0; first < 8; first++) {
        memset(counts, 0, sizeof counts);
        for (int i = 0; i < KEYS; i++) {
            digest hash = {{test_random(&random), test_random(&random)}};
            uint64_t positions[PROBES];
            tamis__positions(TAMIS_SCHEME_XXH3, hash.word, M, PROBES, positions);
            counts[(positions[first] * M + positions[first + 1]) * M + positions[first + 2 + first % 2]]++;
        }
        assert_even(counts, TRIPLES, KEYS, "triple from probe", first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guava64_is_guavas_loop),      cmocka_unit_test(guava_filters_of_foo_and_bar),
        cmocka_unit_test(positions_of_other_programs), cmocka_unit_test(positions_are_below_m),
        cmocka_unit_test(remainders_are_exact),        cmocka_unit_test(dcso_equals_its_loop),
        cmocka_unit_test(each_probe_is_even),          cmocka_unit_test(probes_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
