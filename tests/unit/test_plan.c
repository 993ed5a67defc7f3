/* SPDX-License-Identifier: BSD-2-Clause */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "filter/fingerprint_line.h"
#include "plan/plan_int.h"

static const tamis_kind kinds[] = {TAMIS_KIND_CLASSIC, TAMIS_KIND_BLOCKED, TAMIS_KIND_FINGERPRINT,
                                   TAMIS_KIND_EXACT};
static const double rates[] = {0.5,  0.1,  0.03,  0.01,  1e-3,  1e-4, 1e-5,
                               1e-6, 1e-9, 1e-12, 1e-17, 1e-20, 1e-26};
enum { RATES = sizeof rates / sizeof *rates };

static tamis_want want_of(tamis_kind kind, uint64_t expect, double fpr, uint64_t memory) {
    tamis_want want = TAMIS_WANT_INIT;
    want.kind = kind;
    want.expect = expect;
    want.fpr = fpr;
    want.memory = memory;
    return want;
}

static tamis_plan made(tamis_want want) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_plan_make(&plan, &want, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return plan;
}

static void refused(tamis_want want, tamis_status status, const char *says) {
    tamis_plan plan, untouched;
    tamis_error err = TAMIS_ERROR_INIT;
    memset(&plan, 0x5a, sizeof plan);
    untouched = plan;
    assert_int_equal(tamis_plan_make(&plan, &want, &err), status);
    assert_memory_equal(&plan, &untouched, sizeof plan);
    assert_int_equal(err.status, status);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_not_equal(err.text[strlen(err.text) - 1], '.');
    assert_true(strlen(err.text) < sizeof err.text - 1); /* not cut */
    assert_int_equal(tamis_plan_make(&plan, &want, NULL), status);
}

static void kinds_have_names(void **state) {
    (void)state;
    static const char *const names[] = {"auto", "classic", "blocked", "fingerprint", "exact"};
    for (int i = 0; i < 5; i++) {
        tamis_kind kind = (tamis_kind)99;
        assert_string_equal(tamis_kind_name((tamis_kind)i), names[i]);
        assert_int_equal(tamis_kind_parse(names[i], &kind, NULL), TAMIS_OK);
        assert_int_equal(kind, i);
    }
    assert_null(tamis_kind_name((tamis_kind)5));
    assert_null(tamis_kind_name((tamis_kind)-1));
    static const char *const wrong[] = {"", "Classic", "bloom", "exact "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tamis_kind kind = (tamis_kind)99;
        tamis_error err = TAMIS_ERROR_INIT;
        assert_int_equal(tamis_kind_parse(wrong[i], &kind, &err), TAMIS_E_INVALID);
        assert_int_equal(kind, 99);
        for (int j = 0; j < 5; j++)
            assert_non_null(strstr(err.text, names[j]));
    }
}

static void numbers_out_of_range_are_refused(void **state) {
    (void)state;
    refused(want_of(TAMIS_KIND_AUTO, TAMIS_EXPECT_MAX + 1, 0, 0), TAMIS_E_RANGE, "1000000000001");
    refused(want_of(TAMIS_KIND_AUTO, UINT64_MAX, 0, 0), TAMIS_E_RANGE, "18446744073709551615");
    static const double wrong[] = {0.51, 1, 2, -0.1, 0.9e-30, DBL_MIN, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(want_of(TAMIS_KIND_AUTO, 10, wrong[i], 0), TAMIS_E_RANGE, "false-positive rate");
    refused(want_of((tamis_kind)5, 10, 0, 0), TAMIS_E_INVALID, "kind 5");
    refused(want_of((tamis_kind)-1, 10, 0, 0), TAMIS_E_INVALID, "kind -1");
    tamis_want want = want_of(TAMIS_KIND_AUTO, 10, 0, 0);
    want.scheme = (tamis_scheme)9;
    refused(want, TAMIS_E_INVALID, "scheme 9");
}

static void kinds_that_cannot_are_refused(void **state) {
    (void)state;
    refused(want_of(TAMIS_KIND_CLASSIC, 0, 0.01, 0), TAMIS_E_INVALID, "cannot grow");
    refused(want_of(TAMIS_KIND_BLOCKED, 0, 0.01, 0), TAMIS_E_INVALID, "--expect");
    refused(want_of(TAMIS_KIND_BLOCKED, 1000, 1e-30, 0), TAMIS_E_RANGE, "kind fingerprint");
}

/* The sentence names the bytes that are needed; with just these it works. */
static void too_little_memory_is_refused_with_the_number(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        uint64_t needs = made(want_of(kinds[i], 100000, 0.001, 0)).memory;
        char number[32];
        snprintf(number, sizeof number, " %" PRIu64 " bytes;", needs);
        refused(want_of(kinds[i], 100000, 0.001, needs - 1), TAMIS_E_INVALID, number);
        refused(want_of(kinds[i], 100000, 0.001, 1), TAMIS_E_INVALID, number);
        assert_int_equal(made(want_of(kinds[i], 100000, 0.001, needs)).memory, needs);
        if (kinds[i] < TAMIS_KIND_FINGERPRINT)
            continue;
        needs = made(want_of(kinds[i], 0, 0.001, 0)).memory;
        snprintf(number, sizeof number, " %" PRIu64 " bytes;", needs);
        refused(want_of(kinds[i], 0, 0.001, needs - 1), TAMIS_E_INVALID, number);
        assert_int_equal(made(want_of(kinds[i], 0, 0.001, needs)).memory_limit, needs);
    }
}

static void defaults(void **state) {
    (void)state;
    tamis_plan plan = made(want_of(TAMIS_KIND_AUTO, 0, 0, 0));
    assert_true(plan.fpr == 1e-9);
    assert_int_equal(plan.struct_size, sizeof plan);
    assert_int_equal(plan.kind, TAMIS_KIND_FINGERPRINT);
    assert_int_equal(plan.capacity, 0);
    assert_int_equal(plan.lines, 0);
    assert_int_equal(plan.scheme, TAMIS_SCHEME_AUTO);
    assert_true(plan.reason[0] != 0 && plan.reason[strlen(plan.reason) - 1] != '.');
}

/* Every kind, size and rate, up to 1e12 keys at 1e-26: consistent numbers, no overflow, the rate kept. */
static void check_plan(const tamis_plan *plan, uint64_t n, double p) {
    assert_int_equal(plan->capacity, n);
    assert_true(plan->memory >= 8 && plan->memory < UINT64_C(1) << 50);
    assert_true(plan->lines_touched >= 1);
    bool bloom = plan->kind == TAMIS_KIND_CLASSIC || plan->kind == TAMIS_KIND_BLOCKED;
    if (n)
        assert_true(fabs(plan->bits_per_key - 8 * (double)plan->memory / (double)n) <
                    1e-9 * plan->bits_per_key);
    if (bloom) {
        assert_int_equal(plan->memory, plan->bits / 8);
        assert_int_equal(plan->bits % (plan->kind == TAMIS_KIND_CLASSIC ? 64 : 512), 0);
        assert_true(plan->probes >= 1 && plan->probes <= 255);
        assert_true((double)plan->bits >= 0.999 * tamis_bloom_bits((double)n, p) - 64);
    } else {
        assert_true(plan->slot_bits >= 16 && plan->home_bits >= 1);
        assert_int_equal(plan->memory >= 64 * plan->lines, true);
        assert_true((plan->lines == 0) == (n == 0));
    }
    if (plan->kind != TAMIS_KIND_EXACT) {
        assert_true(plan->fpr == p);
        bool is_hash_itself = plan->slot_bits == 120; /* n/2^128: no more than the hash can do */
        if (plan->fpr_predicted > p && !is_hash_itself)
            fail_msg("%s, n = %" PRIu64 ", p = %g: predicted %g", tamis_kind_name(plan->kind), n, p,
                     plan->fpr_predicted);
    }
}

static void every_plan_is_consistent(void **state) {
    (void)state;
    for (uint64_t n = 1; n <= TAMIS_EXPECT_MAX; n *= 10)
        for (int i = 0; i < RATES; i++)
            for (size_t j = 0; j < 4; j++) {
                if (kinds[j] == TAMIS_KIND_BLOCKED && rates[i] < 1e-6)
                    continue; /* may be out of its reach */
                tamis_plan plan = made(want_of(kinds[j], n, rates[i], 0));
                assert_int_equal(plan.kind, kinds[j]);
                check_plan(&plan, n, rates[i]);
            }
    for (int i = 0; i < RATES; i++) {
        tamis_plan plan = made(want_of(TAMIS_KIND_FINGERPRINT, 0, rates[i], 0));
        check_plan(&plan, 0, rates[i]);
    }
}

/* More keys or a smaller rate never take less. */
static void memory_is_monotonic(void **state) {
    (void)state;
    for (size_t j = 0; j < 4; j++) {
        uint64_t before = 0;
        for (uint64_t n = 1000; n <= TAMIS_EXPECT_MAX; n *= 10) {
            uint64_t memory = made(want_of(kinds[j], n, 0.001, 0)).memory;
            assert_true(memory > before);
            before = memory;
        }
        before = 0;
        for (int i = 0; i < RATES && rates[i] >= 1e-6; i++) {
            uint64_t memory = made(want_of(kinds[j], 1000000, rates[i], 0)).memory;
            assert_true(memory >= before);
            before = memory;
        }
    }
}

/* Guava's m and k (tests/golden, and FORMATS): m truncated, rounded up to 64; k = max(1, round(m/n ln 2)). */
static void guava64_sizes_are_guavas(void **state) {
    (void)state;
    static const struct {
        uint64_t n;
        double p;
        uint64_t bits;
        uint32_t probes;
    } rows[] = {{1, 0.03, 64, 5},    {1, 0.01, 64, 6},       {1, 1e-6, 64, 19},          {10, 0.01, 128, 7},
                {100, 0.03, 768, 5}, {3000, 0.03, 21952, 5}, {1000000, 0.01, 9585088, 7}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_want want = want_of(TAMIS_KIND_CLASSIC, rows[i].n, rows[i].p, 0);
        want.scheme = TAMIS_SCHEME_GUAVA64;
        tamis_plan plan = made(want);
        assert_int_equal(plan.bits, rows[i].bits);
        assert_int_equal(plan.probes, rows[i].probes);
        assert_int_equal(plan.scheme, TAMIS_SCHEME_GUAVA64);
    }
}

static void check_choice(uint64_t n, double p, uint64_t memory, tamis_kind kind) {
    tamis_plan plan = made(want_of(TAMIS_KIND_AUTO, n, p, memory));
    if (plan.kind != kind)
        fail_msg("n = %" PRIu64 ", p = %g: %s (%s)", n, p, tamis_kind_name(plan.kind), plan.reason);
    assert_true(plan.reason[0] != 0 && strlen(plan.reason) < sizeof plan.reason - 1);
    assert_int_not_equal(plan.reason[strlen(plan.reason) - 1], '.');
    assert_true(strcmp(plan.reason, made(want_of(kind, n, p, memory)).reason) != 0); /* not "by name" */
    assert_true(!memory || plan.memory <= memory);
}

static void auto_takes_the_fewest_lines_at_the_least_memory(void **state) {
    (void)state;
    check_choice(0, 0.01, 0, TAMIS_KIND_FINGERPRINT); /* only it grows */
    check_choice(0, 1e-9, 0, TAMIS_KIND_FINGERPRINT);
    check_choice(1000000, 0.1, 0, TAMIS_KIND_BLOCKED);
    check_choice(1000000, 0.01, 0, TAMIS_KIND_BLOCKED);
    check_choice(1000000, 0.001, 0, TAMIS_KIND_BLOCKED);
    check_choice(1000000, 1e-6, 0, TAMIS_KIND_FINGERPRINT);
    check_choice(1000000, 1e-9, 0, TAMIS_KIND_FINGERPRINT);
    check_choice(1000000, 1e-30, 0, TAMIS_KIND_FINGERPRINT);
}

/* Memory between what classic takes and what the others do. */
static void auto_obeys_the_memory(void **state) {
    (void)state;
    int forced = 0;
    for (int i = 0; i < RATES; i++) {
        uint64_t n = 1000000, least = UINT64_MAX;
        for (size_t j = 0; j < 4; j++) {
            tamis_want want = want_of(kinds[j], n, rates[i], 0);
            tamis_plan plan = TAMIS_PLAN_INIT;
            if (kinds[j] != TAMIS_KIND_EXACT && tamis_plan_make(&plan, &want, NULL) == TAMIS_OK &&
                plan.memory < least)
                least = plan.memory;
        }
        tamis_plan plan = made(want_of(TAMIS_KIND_AUTO, n, rates[i], least));
        assert_int_equal(plan.memory, least);
        forced += plan.kind == TAMIS_KIND_CLASSIC;
        refused(want_of(TAMIS_KIND_AUTO, n, rates[i], least - 1), TAMIS_E_INVALID, "memory");
    }
    assert_true(forced > 0);
}

/* The tables of plan.c and what a line can hold agree. */
static void shapes_are_those_of_the_lines(void **state) {
    (void)state;
    for (int grows = 0; grows < 2; grows++)
        for (double p = 0.5; p > 1e-40; p /= 1.3) {
            const tamis__line_shape *shape = tamis__line_shape_for(p, grows);
            line_geometry g = line_geometry_of(shape->slot_bits, shape->home_bits);
            assert_int_equal(g.slots, shape->slots);
            assert_ptr_equal(tamis__line_shape_of(shape->slot_bits, grows), shape);
            assert_true(shape->load > 0.5 && shape->load < 1);
            assert_true(shape->slot_bits == 120 || ldexp(shape->rate, 1 - shape->slot_bits) <= p);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(kinds_that_cannot_are_refused),
        cmocka_unit_test(too_little_memory_is_refused_with_the_number),
        cmocka_unit_test(defaults),
        cmocka_unit_test(every_plan_is_consistent),
        cmocka_unit_test(memory_is_monotonic),
        cmocka_unit_test(guava64_sizes_are_guavas),
        cmocka_unit_test(auto_takes_the_fewest_lines_at_the_least_memory),
        cmocka_unit_test(auto_obeys_the_memory),
        cmocka_unit_test(shapes_are_those_of_the_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
