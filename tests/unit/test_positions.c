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

#include "hash/murmur3.h"
#include "hash/positions.h"
#include "support/scratch.h"

static tamis_hash hash_of(uint64_t low, uint64_t high) {
    return (tamis_hash){{low, high}, 0};
}

/* Guava's loop, written as in BloomFilterStrategies.java: c += h2 as a signed number that wraps. */
static void guava64_is_guavas_loop(void **state) {
    (void)state;
    static const uint64_t sizes[] = {64, 128, 192, 960, 6848, UINT64_C(1) << 40, (UINT64_C(1) << 62) + 64};
    uint64_t random = test_seed(11);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int round = 0; round < 1000; round++) {
            tamis_hash hash = hash_of(test_random(&random), test_random(&random));
            tamis__probe probe = tamis__probe_first(&hash);
            uint64_t combined = hash.word[0];
            for (int k = 0; k < 40; k++, combined += hash.word[1]) {
                uint64_t want = (combined & UINT64_C(0x7fffffffffffffff)) % sizes[i];
                assert_true(tamis__probe_guava64(&probe, sizes[i]) == want);
            }
        }
    }
}

/* Guava 31.1, n = 10, p = 0.01, 7 probes in 128 bits: the words of the filter that holds "foo" and "bar". */
static void guava64_of_foo_and_bar(void **state) {
    (void)state;
    static const char *const keys[] = {"foo", "bar"};
    uint64_t words[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        tamis_hash hash = hash_of(0, 0);
        tamis__murmur3_x64_128(keys[i], 3, 0, hash.word);
        tamis__probe probe = tamis__probe_first(&hash);
        for (int k = 0; k < 7; k++) {
            uint64_t position = tamis__probe_guava64(&probe, 128);
            words[position >> 6] |= UINT64_C(1) << (position & 63);
        }
    }
    assert_true(words[0] == UINT64_C(0x0810) && words[1] == UINT64_C(0x2040810200000010));
}

static void positions_are_below_m(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 2, 63, 64, 1000, UINT64_C(1) << 33, UINT64_MAX};
    static const uint64_t words[] = {0, 1, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int j = 0; j < 25; j++) {
            tamis_hash hash = hash_of(words[j % 5], words[j / 5]);
            tamis__probe probe = tamis__probe_first(&hash);
            for (int k = 0; k < 100; k++)
                assert_true(tamis__probe_shift(&probe, sizes[i]) < sizes[i]);
        }
}

/* chi square of `cells` counts that should be equal: its mean is cells - 1, its deviation sqrt(2 (cells - 1)) */
static void assert_even(const uint32_t *counts, int cells, double total, const char *what, int which) {
    double want = total / cells, sum = 0;
    for (int i = 0; i < cells; i++)
        sum += (counts[i] - want) * (counts[i] - want) / want;
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
        tamis_hash hash = hash_of(test_random(&random), test_random(&random));
        tamis__probe probe = tamis__probe_first(&hash);
        for (int k = 0; k < PROBES; k++)
            counts[k][tamis__probe_shift(&probe, CELLS)]++;
    }
    for (int k = 0; k < PROBES; k++)
        assert_even(counts[k], CELLS, KEYS, "probe", k);
}

/* Three probes of a key tell nothing of each other: all 12^3 triples come equally often. In a progression
 * (x, x + y, x + 2y, ...) the first two would fix the third. */
static void probes_are_independent(void **state) {
    (void)state;
    enum { M = 12, TRIPLES = M * M * M };
    static uint32_t counts[TRIPLES];
    uint64_t random = test_seed(13);
    for (int first = 0; first < 8; first++) {
        memset(counts, 0, sizeof counts);
        for (int i = 0; i < KEYS; i++) {
            tamis_hash hash = hash_of(test_random(&random), test_random(&random));
            tamis__probe probe = tamis__probe_first(&hash);
            uint64_t at[PROBES];
            for (int k = 0; k < PROBES; k++)
                at[k] = tamis__probe_shift(&probe, M);
            counts[(at[first] * M + at[first + 1]) * M + at[first + 2 + first % 2]]++;
        }
        assert_even(counts, TRIPLES, KEYS, "triple from probe", first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guava64_is_guavas_loop), cmocka_unit_test(guava64_of_foo_and_bar),
        cmocka_unit_test(positions_are_below_m),  cmocka_unit_test(each_probe_is_even),
        cmocka_unit_test(probes_are_independent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
