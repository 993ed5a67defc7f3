/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan_int.h"
#include "support/scratch.h"

static const double rates[] = {0.5, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12, 1e-20, 1e-30};
enum { RATES = sizeof rates / sizeof *rates };

static void assert_near(double got, double want, double relative) {
    if (!(fabs(got - want) <= relative * fabs(want)))
        fail_msg("%.17g instead of %.17g", got, want);
}

static void known_values(void **state) {
    (void)state;
    assert_near(tamis_bloom_bits(1e9, 1e-9), 43.132762698153e9, 1e-12); /* 1.44 log2(1/p) bits a key */
    assert_near(tamis_bloom_bits(1, 0.5), 1.442695040888963, 1e-14);    /* 1 / ln 2 */
    assert_near(tamis_bloom_fpr(1, 2, 1), 0.5, 1e-15);
    assert_near(tamis_bloom_fpr(2, 2, 1), 0.75, 1e-15);
    assert_near(tamis_bloom_fpr(1, 4, 2), (7.0 / 16) * (7.0 / 16), 1e-14);
    assert_near(tamis_bloom_cardinality(50, 100, 1), 69.31471805599453, 1e-12);
    assert_near(tamis_bloom_capacity(100, 1, 0.5), log(0.5) / log(0.99), 1e-12);
    assert_int_equal(tamis_bloom_probes(10, 95), 7); /* 6.58 */
    assert_int_equal(tamis_bloom_probes(1, 9), 6);   /* 6.24: Guava's 6 at n = 1, p = 0.01 */
    assert_int_equal(tamis_bloom_probes(3000, 21895), 5);
    assert_int_equal(tamis_bloom_probes(1e9, 2147483647), 1);
    assert_int_equal(tamis_bloom_probes(1e9, 1), 1);
    assert_int_equal(tamis_bloom_probes(1, 1e300), UINT32_MAX);
}

static void bad_arguments_are_not_numbers(void **state) {
    (void)state;
    assert_true(isnan(tamis_bloom_fpr(-1, 100, 3)));
    assert_true(isnan(tamis_bloom_fpr(10, 0, 3)));
    assert_true(isnan(tamis_bloom_fpr(10, 100, 0)));
    assert_true(isnan(tamis_bloom_fpr(NAN, 100, 3)));
    assert_true(isnan(tamis_blocked_fpr(-1, 512, 3)));
    assert_true(isnan(tamis_blocked_fpr(10, 0, 3)));
    assert_true(isnan(tamis_blocked_fpr(10, 512, NAN)));
    assert_true(tamis_bloom_fpr(0, 100, 3) == 0);
    assert_true(tamis_blocked_fpr(0, 512, 3) == 0);
    assert_true(tamis_bloom_fpr(1, 1, 3) == 1 && tamis_bloom_fpr(0, 1, 3) == 0);
    assert_true(isinf(tamis_bloom_cardinality(100, 100, 3)));
    assert_true(isinf(tamis_bloom_cardinality(101, 100, 3)));
    assert_true(tamis_bloom_cardinality(0, 100, 3) == 0);
}

/* (1 - (1 - 1/m)^(kn))^k as it stands, in long double, where that has the digits for it. */
static void fpr_is_the_plain_formula(void **state) {
    (void)state;
    static const double counts[] = {1, 10, 1000, 1e5};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int k = 1; k < 30; k += 4)
            for (double bits = 2; bits < 60; bits *= 2) {
                long double m = bits * counts[i], zero = powl(1 - 1 / m, k * (long double)counts[i]);
                assert_near(tamis_bloom_fpr(counts[i], (double)m, k), (double)powl(1 - zero, k), 1e-9);
            }
}

/* Each inverse undoes the formula, for n from 1 to 1e12. */
static void inverses_come_back(void **state) {
    (void)state;
    for (double n = 1; n <= 1e12; n *= 10) {
        for (int i = 0; i < RATES; i++) {
            double p = rates[i], k = tamis_bloom_probes(n, tamis_bloom_bits(n, p));
            double m = tamis_bloom_bits_for_probes(n, p, k);
            assert_near(tamis_bloom_fpr(n, m, k), p, 1e-6);
            assert_near(tamis_bloom_capacity(m, k, p), n, 1e-6);
            double ones = m * pow(p, 1 / k); /* of the bits, when n keys are in */
            /* -m/k ln(1 - ones/m) is the limit for large m of what the exact inverse would be */
            assert_near(tamis_bloom_cardinality(ones, m, k), n, 1e-6 + 1.0 / m);
            assert_true(m >= tamis_bloom_bits(n, p) * (1 - 1e-6) || n < 10);
            assert_true(tamis_bloom_fpr(n, m * 1.01 + 1, k) < p);
        }
    }
}

/* ---- blocked ---- */

/* Ideal blocks by brute force: keys thrown into random blocks, k random bits each; the rate of the result
 * is the mean over blocks of share^k, whose spread over trials is seen. */
static double simulate_blocked(uint64_t n, uint64_t blocks, uint32_t k, uint64_t *random) {
    uint64_t *bits = calloc(blocks * 8, 8);
    assert_non_null(bits);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t *line = bits + 8 * test_below(random, blocks);
        for (uint32_t j = 0; j < k; j++) {
            uint64_t position = test_below(random, 512);
            line[position >> 6] |= UINT64_C(1) << (position & 63);
        }
    }
    double sum = 0;
    for (uint64_t i = 0; i < blocks; i++) {
        int ones = 0;
        for (int j = 0; j < 8; j++)
            ones += __builtin_popcountll(bits[8 * i + (uint64_t)j]);
        sum += pow(ones / 512.0, k);
    }
    free(bits);
    return sum / (double)blocks;
}

static void blocked_fpr_is_what_a_simulation_gives(void **state) {
    (void)state;
    enum { TRIALS = 12 };
    static const struct {
        double load; /* keys a block */
        uint32_t k;
    } rows[] = {{100, 3}, {70, 5},  {53, 6},  {40, 8},  {30, 11},
                {20, 14}, {12, 16}, {200, 2}, {512, 1}, {1, 4}};
    uint64_t random = test_seed(14), blocks = test_scale(20000, 3000, 20000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t n = (uint64_t)(rows[i].load * (double)blocks);
        double sum = 0, squares = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            double p = simulate_blocked(n, blocks, rows[i].k, &random);
            sum += p;
            squares += p * p;
        }
        double mean = sum / TRIALS, sigma = sqrt(fmax(squares / TRIALS - mean * mean, 0) / (TRIALS - 1));
        double want = tamis_blocked_fpr((double)n, 512.0 * (double)blocks, rows[i].k);
        /* 1 %: what two terms of an expansion leave out */
        if (fabs(mean - want) > 5 * sigma + 0.01 * mean)
            fail_msg("load %g, k %u: simulated %g (sigma %g), computed %g", rows[i].load, rows[i].k, mean,
                     sigma, want);
    }
}

static void blocked_size_keeps_the_rate_and_no_more(void **state) {
    (void)state;
    for (double n = 1000; n <= 1e12; n *= 1000) {
        for (int i = 0; i < RATES; i++) {
            double m = 0;
            uint32_t k = 0;
            if (!tamis__blocked_size(n, rates[i], &m, &k)) {
                assert_true(rates[i] < 1e-7);
                assert_true(m == 0 && k == 0);
                continue;
            }
            assert_true(fmod(m, 512) == 0);
            assert_true(tamis_blocked_fpr(n, m, k) <= rates[i]);
            /* Another number of probes would not do it in 2 % less. */
            for (uint32_t probes = 1; probes <= 32; probes += n > 1000 ? 2 : 1)
                assert_true(tamis_blocked_fpr(n, 0.98 * m - 512, probes) > rates[i]);
            assert_true(m > tamis_bloom_bits(n, rates[i]) * 0.999);
        }
    }
}

static void tiny_rates_are_out_of_a_blocks_reach(void **state) {
    (void)state;
    double m = 7;
    uint32_t k = 7;
    assert_false(tamis__blocked_size(1e6, 1e-30, &m, &k));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(bad_arguments_are_not_numbers),
        cmocka_unit_test(fpr_is_the_plain_formula),
        cmocka_unit_test(inverses_come_back),
        cmocka_unit_test(blocked_fpr_is_what_a_simulation_gives),
        cmocka_unit_test(blocked_size_keeps_the_rate_and_no_more),
        cmocka_unit_test(tiny_rates_are_out_of_a_blocks_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
