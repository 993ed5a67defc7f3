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

static void assert_near(double got, double expected, double relative) {
    if (!(fabs(got - expected) <= relative * fabs(expected)))
        fail_msg("%.17g instead of %.17g", got, expected);
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

static void bad_arguments_of_inverses_are_not_numbers(void **state) {
    (void)state;
    static const double no_rates[] = {0, 1, -0.1, 2, NAN, INFINITY};
    for (size_t i = 0; i < sizeof no_rates / sizeof *no_rates; i++) {
        assert_true(isnan(tamis_bloom_best_capacity(100, no_rates[i])));
        assert_int_equal(tamis_bloom_probes_for_fpr(no_rates[i]), 0);
        assert_int_equal(tamis_bloom_fewest_probes(10, 100, no_rates[i]), 0);
    }
    assert_true(isnan(tamis_bloom_best_fpr(-1, 100)));
    assert_true(isnan(tamis_bloom_best_fpr(10, 0)));
    assert_true(isnan(tamis_bloom_best_fpr(NAN, 100)));
    assert_true(tamis_bloom_best_fpr(0, 100) == 0);
    assert_true(isnan(tamis_bloom_best_capacity(0, 0.1)));
    assert_int_equal(tamis_bloom_fewest_probes(-1, 100, 0.1), 0);
    assert_int_equal(tamis_bloom_fewest_probes(10, 0, 0.1), 0);
    assert_int_equal(tamis_bloom_fewest_probes(10, 10, 0.1), 0); /* none reaches it */
    assert_int_equal(tamis_bloom_fewest_probes(0, 100, 0.1), 1);
    assert_true(isnan(tamis_bloom_half_full_keys(0, 3)));
    assert_true(isnan(tamis_bloom_half_full_keys(100, 0)));
    assert_true(isnan(tamis_bloom_half_full_bits(-1, 3)));
    assert_true(isnan(tamis_bloom_half_full_bits(10, NAN)));
    assert_true(isnan(tamis_bloom_over_capacity_fpr(-1, 3)));
    assert_true(isnan(tamis_bloom_over_capacity_fpr(1, 0)));
    assert_true(tamis_bloom_over_capacity_fpr(0, 3) == 0);
}

/* Compares with (1 - (1 - 1/m)^(kn))^k in long double, where that is precise enough. */
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

/* Values from other publications. */
static void published_values(void **state) {
    (void)state;
    assert_near(tamis_bloom_best_fpr(1, 8), 0.0214, 2e-3); /* "about 2 % at 8 bits a key" */
    assert_near(tamis_bloom_bits(1, 0.1), 4.792, 2e-4);    /* cut, not rounded */
    assert_near(tamis_bloom_bits(1, 0.01), 9.585, 1e-4);
    assert_near(tamis_bloom_bits(1, 0.001), 14.377, 1e-4);
    /* 7e6 and 1e9 keys, m/n 30 and 50, 8 and 16 probes */
    static const double counts[] = {7e6, 1e9};
    for (size_t i = 0; i < 2; i++) {
        assert_near(tamis_bloom_fpr(counts[i], 30 * counts[i], 8), 9.01e-6, 1e-3);
        assert_near(tamis_bloom_fpr(counts[i], 30 * counts[i], 16), 7.26e-7, 1e-3);
        assert_near(tamis_bloom_fpr(counts[i], 50 * counts[i], 8), 2.28e-7, 2e-3);
        assert_near(tamis_bloom_fpr(counts[i], 50 * counts[i], 16), 1e-9, 0.06);
    }
    /* Twice the capacity at 10, 1, 0.1 %: published as 40, 15, 5 %; (1 - 1/4)^log2(1/p) */
    assert_near(tamis_bloom_over_capacity_fpr(2, -log2(0.1)), 0.3845, 1e-3);
    assert_near(tamis_bloom_over_capacity_fpr(2, -log2(0.01)), 0.1479, 1e-3);
    assert_near(tamis_bloom_over_capacity_fpr(2, -log2(0.001)), 0.0569, 1e-3);
    /* Guava's two rules differ at n = 1 */
    assert_int_equal(tamis_bloom_probes_for_fpr(0.01), 7);
    assert_int_equal(tamis_bloom_probes(1, 9), 6);
    assert_int_equal(tamis_bloom_probes_for_fpr(1e-6), 20);
    assert_int_equal(tamis_bloom_probes(1, 28), 19);
    assert_int_equal(tamis_bloom_probes_for_fpr(0.03), 5);
    assert_int_equal(tamis_bloom_probes_for_fpr(0.999), 1);
    assert_int_equal(tamis_bloom_probes_for_fpr(1e-30), 100);
}

/* Each inverse gives back the argument of the formula, for n from 1 to 1e12. */
static void inverses_come_back(void **state) {
    (void)state;
    for (double n = 1; n <= 1e12; n *= 10) {
        for (int i = 0; i < RATES; i++) {
            double p = rates[i], k = tamis_bloom_probes(n, tamis_bloom_bits(n, p));
            double m = tamis_bloom_bits_for_probes(n, p, k);
            assert_near(tamis_bloom_fpr(n, m, k), p, 1e-6);
            assert_near(tamis_bloom_capacity(m, k, p), n, 1e-6);
            double ones = m * pow(p, 1 / k); /* set bits with n keys */
            /* -m/k ln(1 - ones/m) is the limit of the exact inverse for large m */
            assert_near(tamis_bloom_cardinality(ones, m, k), n, 1e-6 + 1.0 / m);
            assert_true(m >= tamis_bloom_bits(n, p) * (1 - 1e-6) || n < 10);
            assert_true(tamis_bloom_fpr(n, m * 1.01 + 1, k) < p);
        }
    }
}

/* The same for the inverses that use the best k, a half-full filter, or a number of probes. */
static void best_and_half_full_come_back(void **state) {
    (void)state;
    for (double n = 1; n <= 1e12; n *= 10) {
        for (int i = 0; i < RATES; i++) {
            double p = rates[i], m = tamis_bloom_bits(n, p);
            assert_near(tamis_bloom_best_fpr(n, m), p, 1e-12);
            assert_near(tamis_bloom_best_capacity(m, p), n, 1e-12);
        }
        for (uint32_t k = 1; k <= TAMIS_PROBES_MAX; k += 3) {
            double m = tamis_bloom_half_full_bits(n, k);
            assert_near(tamis_bloom_half_full_keys(m, k), n, 1e-12);
            /* Half of the bits are set: 2^-k, to within 1/m for each of k probes */
            assert_near(tamis_bloom_fpr(n, m, k), ldexp(1, -(int)k), 1e-9 + k / m);
            assert_near(tamis_bloom_best_fpr(n, m), ldexp(1, -(int)k), 1e-9);
            assert_near(tamis_bloom_over_capacity_fpr(1, k), ldexp(1, -(int)k), 1e-12);
            /* beyond the capacity both formulas agree, from 1000 keys on */
            if (n >= 1000)
                assert_near(tamis_bloom_over_capacity_fpr(3, k), tamis_bloom_fpr(3 * n, m, k), 1e-2);
        }
    }
}

static void fewest_probes_are_enough_and_one_less_is_not(void **state) {
    (void)state;
    for (double n = 1; n <= 1e12; n *= 100)
        for (double bits = 2; bits <= 200; bits *= 1.3)
            for (int i = 0; i < RATES; i++) {
                uint32_t k = tamis_bloom_fewest_probes(n, bits * n, rates[i]);
                if (k == 0) {
                    double best = fmax(1, round(bits * log(2)));
                    assert_true(tamis_bloom_fpr(n, bits * n, best) > rates[i]);
                    continue;
                }
                assert_true(tamis_bloom_fpr(n, bits * n, k) <= rates[i]);
                assert_true(k == 1 || tamis_bloom_fpr(n, bits * n, k - 1) > rates[i]);
            }
}

/* Counts the share of 31-bit values that hit a set position. Each position is set at random, with a chance
 * that follows from the number of its values. */
static void uneven_positions_are_counted(void **state) {
    (void)state;
    enum { VALUES = 1 << 12, TRIALS = 400 };
    static const double sizes[] = {4096, 4095, 4000, 3000, 2049, 2048, 1500, 700};
    uint64_t random = test_seed(31);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t m = (uint64_t)sizes[i], throws = m * 7 / 10;
        double sum = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            uint8_t set[VALUES] = {0};
            for (uint64_t t = 0; t < throws; t++)
                set[test_below(&random, VALUES) % m] = 1;
            for (uint64_t v = 0; v < VALUES; v++)
                sum += set[v % m];
        }
        double share = sum / VALUES / TRIALS;
        assert_near(tamis__uneven_fpr(VALUES, sizes[i], (double)throws, 1), share, 5e-3);
    }
    assert_near(tamis__uneven_fpr(0x1p31, 1e6, 7e5, 10), tamis__bits_fpr(1e6, 7e5, 10), 1e-5);
    assert_true(tamis__uneven_fpr(0x1p31, 1.5 * 0x1p30, 0x1p30, 10) >
                1.3 * tamis__bits_fpr(1.5 * 0x1p30, 0x1p30, 10));
    assert_true(tamis__uneven_fpr(0x1p31, 1000, 0, 10) == 0);
}

/* ---- blocked ---- */

/* Simulates ideal blocks: puts keys into random blocks and sets k random bits each. The rate is the mean
 * over blocks of share^k; several trials give its deviation. */
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
        double load; /* keys per block */
        uint32_t k;
    } rows[] = {{100, 3}, {70, 5},  {53, 6},  {40, 8},  {30, 11},
                {20, 14}, {12, 16}, {200, 2}, {512, 1}, {1, 4}};
    uint64_t random = test_seed(14), blocks = test_scale(20000, 3000, 3000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t n = (uint64_t)(rows[i].load * (double)blocks);
        double sum = 0, squares = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            double p = simulate_blocked(n, blocks, rows[i].k, &random);
            sum += p;
            squares += p * p;
        }
        double mean = sum / TRIALS, sigma = sqrt(fmax(squares / TRIALS - mean * mean, 0) / (TRIALS - 1));
        double expected = tamis_blocked_fpr((double)n, 512.0 * (double)blocks, rows[i].k);
        /* 1 %: the error of an expansion with two terms */
        if (fabs(mean - expected) > 5 * sigma + 0.01 * mean)
            fail_msg("load %g, k %u: simulated %g (sigma %g), computed %g", rows[i].load, rows[i].k, mean,
                     sigma, expected);
    }
}

/* Sums over Poisson-distributed loads, with the exact distribution of the set bits of a block. */
static double exact_blocked_fpr(int bits, double load, uint32_t k) {
    double share[TAMIS__BLOCK_BITS + 1] = {1}, rate = 0, max = load + 12 * sqrt(load) + 40;
    for (double keys = 0; keys <= max; keys++) {
        double present = 0;
        for (int x = 0; x <= bits; x++)
            present += share[x] * pow((double)x / bits, k);
        rate += exp(keys * log(load) - load - lgamma(keys + 1)) * present;
        for (uint32_t i = 0; i < k; i++) {
            for (int x = bits; x > 0; x--)
                share[x] = share[x] * x / bits + share[x - 1] * (bits - x + 1) / bits;
            share[0] = 0;
        }
    }
    return rate;
}

static void blocked_fpr_is_exact_down_to_tiny_rates(void **state) {
    (void)state;
    static const struct {
        double bits;
        uint32_t k;
    } rows[] = {{9.9, 6}, {22, 12}, {38.8, 16}, {80.1, 22}, {150, 26}, {300, 30}}; /* 1e-2 to 1e-15 */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double exact = exact_blocked_fpr(512, 512 / rows[i].bits, rows[i].k);
        double got = tamis_blocked_fpr(1e6, 1e6 * rows[i].bits, rows[i].k);
        if (!(got >= exact * (1 - 1e-6) && got <= 1.004 * exact))
            fail_msg("%g bits a key: exact %g, computed %g", rows[i].bits, exact, got);
    }
    assert_true(tamis_blocked_fpr(1e12, 512, 7) == 1); /* must not sum 1e6 terms per standard deviation */
    assert_true(tamis_blocked_fpr(1e300, 512, 1) == 1);
}

/* The expansion is less accurate in blocks of 128 counters: by 0.9 % at 1e-7. */
static void counting_fpr_is_exact_down_to_its_smallest_rates(void **state) {
    (void)state;
    for (double bits = 8; bits <= 512; bits *= 2) {
        for (uint32_t k = 1; k <= 20; k++) {
            const double exact = exact_blocked_fpr(TAMIS__BLOCK_COUNTERS, 512 / bits, k);
            const double got = tamis_counting_fpr(1e6, 1e6 * bits, k);
            if (!(got >= exact * (1 - 1e-6) && got <= 1.009 * exact))
                fail_msg("%g bits a key, k %u: exact %g, computed %g", bits, k, exact, got);
        }
    }
    assert_true(isnan(tamis_counting_fpr(-1, 512, 3)) && tamis_counting_fpr(0, 512, 3) == 0);
    assert_true(tamis_counting_fpr(1e300, 512, 1) == 1);
}

static void counting_size_keeps_the_rate_and_no_more(void **state) {
    (void)state;
    for (int i = 0; i < RATES; i++) {
        double m = 0;
        uint32_t k = 0; /* the best number of probes */
        if (!tamis__blocked_size(TAMIS__BLOCK_COUNTERS, 1e6, rates[i], &m, &k)) {
            assert_true(rates[i] < 1e-7);
            continue;
        }
        assert_true(fmod(m, 512) == 0 && tamis_counting_fpr(1e6, m, k) <= rates[i]);
        for (uint32_t probes = 1; probes <= 32; probes++)
            assert_true(tamis_counting_fpr(1e6, 0.98 * m - 512, probes) > rates[i]);
        uint32_t best = 0;
        assert_true(tamis__blocked_best_fpr(TAMIS__BLOCK_COUNTERS, 1e6, m, &best) <= rates[i]);
    }
}

static void blocked_size_keeps_the_rate_and_no_more(void **state) {
    (void)state;
    for (double n = 1000; n <= 1e12; n *= 1000) {
        for (int i = 0; i < RATES; i++) {
            double m = 0;
            uint32_t k = 0; /* the best number of probes */
            if (!tamis__blocked_size(TAMIS__BLOCK_BITS, n, rates[i], &m, &k)) {
                assert_true(rates[i] < 1e-7);
                assert_true(m == 0 && k == 0);
                continue;
            }
            assert_true(fmod(m, 512) == 0);
            assert_true(tamis_blocked_fpr(n, m, k) <= rates[i]);
            /* No other number of probes keeps the rate in 2 % less memory. */
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
    assert_false(tamis__blocked_size(TAMIS__BLOCK_BITS, 1e6, 1e-30, &m, &k));
}

/* A given number of probes needs at least the memory of the best one, and keeps the rate. */
static void blocked_takes_the_probes_given(void **state) {
    (void)state;
    double best = 0;
    uint32_t k = 0;
    assert_true(tamis__blocked_size(TAMIS__BLOCK_BITS, 1e6, 1e-3, &best, &k));
    for (uint32_t probes = 3; probes <= 40; probes++) {
        double m = 0;
        uint32_t given = probes;
        assert_true(tamis__blocked_size(TAMIS__BLOCK_BITS, 1e6, 1e-3, &m, &given));
        assert_int_equal(given, probes);
        assert_true(m >= best && tamis_blocked_fpr(1e6, m, probes) <= 1e-3);
        given = 0;
        assert_true(tamis__blocked_best_fpr(TAMIS__BLOCK_BITS, 1e6, m, &given) <=
                    tamis_blocked_fpr(1e6, m, probes));
        assert_true(given >= 1 && given <= TAMIS__BLOCKED_PROBES_MAX);
    }
}

/* The sum and the search of docs/MATH.md, without any optimization. */

static double plain_fpr_at(double load, double k) {
    double reach = 12 * sqrt(load) + 40, p = 0;
    double first = floor(load - reach > 0 ? load - reach : 0);
    int sign;
    double weight = exp(first * log(load) - load - lgamma_r(first + 1, &sign));
    for (double i = first; i <= load + reach; i++) {
        p += weight * tamis__bits_fpr(512, i * k, k);
        weight *= load / (i + 1);
    }
    return p;
}

static double plain_load(double p, double k) {
    double low = 1, high = 512;
    if (plain_fpr_at(low, k) > p)
        return 0;
    for (int step = 0; step < 40 && high - low > 1e-6 * low; step++) {
        double middle = (low + high) / 2;
        if (plain_fpr_at(middle, k) <= p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Plans are stored in files, so the fast search must give exactly the result of the plain one. */
static void reg_22_a_fast_search_has_every_bit_of_the_plain_one(void **state) {
    (void)state;
    uint64_t random = test_seed(22);
    for (int i = 0; i < 40; i++) {
        double p = i == 0 ? 0.5 : 0.5 * exp(-(double)test_below(&random, 45000) / 1000), best = 0;
        uint32_t expected_k = 0;
        for (uint32_t k = 1; k <= TAMIS__BLOCKED_PROBES_MAX; k++) {
            double load = plain_load(p, k);
            uint32_t given = k;
            if (tamis__blocked_load(TAMIS__BLOCK_BITS, p, &given) != load)
                fail_msg("p = %.17g, k = %u: another load than %.17g", p, k, load);
            expected_k = load > best ? k : expected_k;
            best = fmax(best, load);
            if (load > 0 && load < best)
                break;
        }
        uint32_t k = 0;
        double load = tamis__blocked_load(TAMIS__BLOCK_BITS, p, &k),
               keys = 1 + (double)test_below(&random, 1000);
        if (load != best || k != expected_k)
            fail_msg("p = %.17g: load %.17g of %u probes, not %.17g of %u", p, load, k, best, expected_k);
        assert_true(tamis_blocked_fpr(keys, 512, 1 + i % 9) == plain_fpr_at(keys, 1 + i % 9));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),
        cmocka_unit_test(bad_arguments_are_not_numbers),
        cmocka_unit_test(bad_arguments_of_inverses_are_not_numbers),
        cmocka_unit_test(published_values),
        cmocka_unit_test(fpr_is_the_plain_formula),
        cmocka_unit_test(inverses_come_back),
        cmocka_unit_test(best_and_half_full_come_back),
        cmocka_unit_test(fewest_probes_are_enough_and_one_less_is_not),
        cmocka_unit_test(uneven_positions_are_counted),
        cmocka_unit_test(blocked_fpr_is_what_a_simulation_gives),
        cmocka_unit_test(blocked_fpr_is_exact_down_to_tiny_rates),
        cmocka_unit_test(counting_fpr_is_exact_down_to_its_smallest_rates),
        cmocka_unit_test(counting_size_keeps_the_rate_and_no_more),
        cmocka_unit_test(blocked_size_keeps_the_rate_and_no_more),
        cmocka_unit_test(blocked_takes_the_probes_given),
        cmocka_unit_test(tiny_rates_are_out_of_a_blocks_reach),
        cmocka_unit_test(reg_22_a_fast_search_has_every_bit_of_the_plain_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
