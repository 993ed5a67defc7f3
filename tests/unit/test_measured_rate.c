/* SPDX-License-Identifier: BSD-2-Clause */
/* What hits among lookups say about a rate. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tamis/plan.h>

static void assert_near(double value, double expected, double part) {
    if (!(fabs(value - expected) <= part * expected))
        fail_msg("%.10g, expected %.10g", value, expected);
}

/* The expected bounds are where the sums of the binomial distribution, computed term by term with fifty
 * digits, are half of 1 - confidence. */
static void intervals(void **state) {
    static const struct {
        uint64_t hits, queries;
        double confidence, low, high;
    } cases[] = {
        {10, 100, 0.95, 0.0490046892, 0.1762225900},      {1, 10000000, 0.95, 2.5317808e-9, 5.5716421e-7},
        {50, 100, 0.95, 0.3983211295, 0.6016788705},      {99, 100, 0.95, 0.9455406060, 0.9997468507},
        {1, 2, 0.95, 0.0125791168, 0.9874208832},         {1, 10, 0.95, 0.0025285785, 0.4450161170},
        {5, 10, 0.95, 0.1870860284, 0.8129139716},        {4, 20, 0.95, 0.0573339971, 0.4366140030},
        {3, 1000, 0.99, 0.0003381445132, 0.010933777427}, {2, 5, 0.9, 0.0764403914, 0.8107446226},
    };
    double low, high;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_rate_interval(&low, &high, cases[i].hits, cases[i].queries, cases[i].confidence);
        assert_near(low, cases[i].low, 1e-6);
        assert_near(high, cases[i].high, 1e-6);
    }
    /* Many hits: the normal approximation is right to a thousandth of the width. */
    tamis_rate_interval(&low, &high, 1000000, 10000000, 0.95);
    assert_near(0.1 - low, 1.959964 * sqrt(0.1 * 0.9 / 1e7), 2e-3);
    assert_near(high - 0.1, 1.959964 * sqrt(0.1 * 0.9 / 1e7), 2e-3);
    tamis_rate_interval(&low, &high, 1000000, 10000000, 0.99);
    assert_near(0.1 - low, 2.575829 * sqrt(0.1 * 0.9 / 1e7), 2e-3);
    assert_near(high - 0.1, 2.575829 * sqrt(0.1 * 0.9 / 1e7), 2e-3);
}

static void intervals_at_the_ends(void **state) {
    double low, high;
    (void)state;
    tamis_rate_interval(&low, &high, 0, 10000000, 0.95);
    assert_true(low == 0);
    assert_near(high, 2.9957318e-7, 1e-6); /* -ln 0.05 / n */
    tamis_rate_interval(&low, &high, 0, 10000000, 0.99);
    assert_near(high, 4.6051691e-7, 1e-6); /* -ln 0.01 / n */
    tamis_rate_interval(&low, &high, 100, 100, 0.95);
    assert_near(low, 0.9637833074, 1e-6); /* 0.025^(1/100) */
    assert_true(high == 1);
    tamis_rate_interval(&low, &high, 0, 0, 0.95);
    assert_true(low == 0 && high == 1);
    tamis_rate_interval(&low, &high, 2, 1, 0.95);
    assert_true(isnan(low) && isnan(high));
    tamis_rate_interval(&low, &high, 1, 2, 1);
    assert_true(isnan(low) && isnan(high));
    tamis_rate_interval(&low, &high, 1, 2, NAN);
    assert_true(isnan(low) && isnan(high));
}

/* Returns the chance of x hits or more among n lookups, as the plain sum of its terms. */
static double chance_of(unsigned x, unsigned n, double p) {
    double term = pow(1 - p, n), sum = 0;
    for (unsigned i = 0; i <= n; i++) {
        if (i >= x)
            sum += term;
        term *= (n - i) * p / ((i + 1) * (1 - p));
    }
    return sum;
}

/* The bound is never below the chance, and above it by a factor of less than the deviation in hits. */
static void p_values_bound_the_chance(void **state) {
    static const double rates[] = {0.001, 0.01, 0.1, 0.3};
    (void)state;
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++)
        for (unsigned n = 10; n <= 1000; n *= 10)
            for (unsigned x = 0; x <= n; x++) {
                double exact = chance_of(x, n, rates[r]), bound = tamis_rate_p_value(x, n, rates[r]);
                if (x <= n * rates[r])
                    assert_true(bound == 1);
                else if (exact > 1e-290 && !(bound >= exact * (1 - 1e-9) && bound <= 4 * sqrt(x) * exact))
                    fail_msg("%u of %u at %g: %g, exact %g", x, n, rates[r], bound, exact);
            }
}

/* With 10,000 lookups at 1 %, the number of hits has a standard deviation of 10. */
static void p_values_beyond_chance(void **state) {
    (void)state;
    assert_true(tamis_rate_p_value(0, 10000, 0.01) == 1);
    assert_true(tamis_rate_p_value(100, 10000, 0.01) == 1);
    assert_true(tamis_rate_p_value(150, 10000, 0.01) > TAMIS_RATE_SIGNIFICANCE); /* exactly 1.66e-6 */
    assert_true(tamis_rate_p_value(180, 10000, 0.01) < TAMIS_RATE_SIGNIFICANCE); /* exactly 2.97e-13 */
    assert_true(tamis_rate_p_value(10000, 10000, 0.01) < TAMIS_RATE_SIGNIFICANCE);
    assert_true(tamis_rate_p_value(1, 1000000, 1e-9) > TAMIS_RATE_SIGNIFICANCE); /* a chance of 1e-3 */
    assert_true(tamis_rate_p_value(4, 1000000, 1e-9) < TAMIS_RATE_SIGNIFICANCE); /* 1e-12 / 24 */
    assert_true(tamis_rate_p_value(1, 1000000, 1e-30) < TAMIS_RATE_SIGNIFICANCE);
    assert_true(tamis_rate_p_value(1, 10, 0) == 0);
    assert_true(tamis_rate_p_value(10, 10, 1) == 1);
    assert_true(tamis_rate_p_value(0, 0, 0.5) == 1);
    assert_true(isnan(tamis_rate_p_value(2, 1, 0.5)));
    assert_true(isnan(tamis_rate_p_value(1, 2, -1)));
    assert_true(isnan(tamis_rate_p_value(1, 2, NAN)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals),
        cmocka_unit_test(intervals_at_the_ends),
        cmocka_unit_test(p_values_bound_the_chance),
        cmocka_unit_test(p_values_beyond_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
