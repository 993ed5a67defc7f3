/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The count of a union of Bloom filters is the same whatever the C library computes: a primary and its replicas
 * may have different ones. This program has the functions of libm whose last digit differs between libraries.
 * They return results that are wrong by a millionth while a union is made.
 */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "property/filter_model.h"

static double wrong_by; /* relative error of the functions below */
static int calls;       /* of functions with an error */

static double wrong(double result) {
    calls += wrong_by > 0;
    return result * (1 + wrong_by);
}

/* The function of libm. */
#define REAL(name, type, ...)                                                                                \
    void *found = dlsym(RTLD_NEXT, name);                                                                    \
    double(*real) type;                                                                                      \
    memcpy(&real, &found, sizeof real);                                                                      \
    return wrong(real(__VA_ARGS__))

double exp(double x) {
    REAL("exp", (double), x);
}
double expm1(double x) {
    REAL("expm1", (double), x);
}
double log(double x) {
    REAL("log", (double), x);
}
double log1p(double x) {
    REAL("log1p", (double), x);
}
double pow(double x, double y) {
    REAL("pow", (double, double), x, y);
}

static tamis_filter *make(tamis_kind kind, double fpr, uint64_t capacity, uint64_t first, uint64_t count) {
    filter_case c = {"", kind, TAMIS_SCHEME_XXH3, false, fpr};
    tamis_plan plan = case_plan(&c, capacity, 0);
    tamis_filter *filter = plan_filter(&plan, NULL);
    model_add_range(filter, first, count, 1, NULL);
    return filter;
}

/* The statistics after a union of keys 0 to count - 1 and keys count / 2 to count / 2 + count - 1. */
static tamis_filter_info count_union(tamis_kind kind, double fpr, uint64_t capacity, uint64_t count,
                                     double error) {
    tamis_filter *filter = make(kind, fpr, capacity, 0, count);
    tamis_filter *other = make(kind, fpr, capacity, count / 2, count);
    wrong_by = error;
    assert_int_equal(tamis_filter_union(filter, other, NULL), TAMIS_OK);
    wrong_by = 0;
    const tamis_filter_info info = filter_info(filter);
    tamis_filter_free(filter);
    tamis_filter_free(other);
    return info;
}

static void a_count_does_not_depend_on_libm(void **state) {
    (void)state;
    static const tamis_kind kinds[] = {TAMIS_KIND_CLASSIC, TAMIS_KIND_BLOCKED, TAMIS_KIND_COUNTING};
    static const double rates[] = {0.2, 0.01, 1e-6};
    static const uint64_t counts[] = {1,     40,    3000, 30000,
                                      33300, 33400, 45000}; /* of two filters: 1.5 times */
    enum { CAPACITY = 50000, COUNTS = sizeof counts / sizeof *counts };
    for (int i = 0; i < 9; i++) {
        for (int c = 0; c < COUNTS; c++) {
            const uint64_t count = counts[c];
            const tamis_filter_info right = count_union(kinds[i / 3], rates[i % 3], CAPACITY, count, 0);
            const tamis_filter_info got = count_union(kinds[i / 3], rates[i % 3], CAPACITY, count, 1e-6);
            assert_int_equal(got.added, right.added);
            assert_int_equal(got.saturated, right.saturated);
            const double keys = (double)(count + count / 2);
            assert_true(fabs((double)right.added - keys) <=
                        0.01 * keys + 5 * sqrt(keys) + rates[i % 3] * keys);
        }
    }
    assert_true(calls > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_count_does_not_depend_on_libm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
