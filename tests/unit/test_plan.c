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

#include "filter/table/fingerprint_line.h"
#include "plan/plan_int.h"
#include "support/scratch.h"

static const tamis_kind kinds[] = {TAMIS_KIND_CLASSIC, TAMIS_KIND_BLOCKED, TAMIS_KIND_FINGERPRINT,
                                   TAMIS_KIND_EXACT};
static const double rates[] = {0.5,  0.1,  0.03,  0.01,  1e-3,  1e-4, 1e-5,
                               1e-6, 1e-9, 1e-12, 1e-17, 1e-20, 1e-26};
enum { RATES = sizeof rates / sizeof *rates };

static tamis_plan_options plan_options_of(tamis_kind kind, uint64_t expect, double fpr, uint64_t memory) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_options.kind = kind;
    plan_options.expect = expect;
    plan_options.fpr = fpr;
    plan_options.memory = memory;
    return plan_options;
}

static tamis_plan made(tamis_plan_options plan_options) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_plan_make(&plan, &plan_options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return plan;
}

typedef tamis_status planner(tamis_plan *plan, const tamis_plan_options *plan_options, tamis_error *err);

static void refused_by(planner *make, tamis_plan_options plan_options, tamis_status status,
                       const char *says) {
    tamis_plan plan, untouched;
    tamis_error err = TAMIS_ERROR_INIT;
    memset(&plan, 0x5a, sizeof plan);
    untouched = plan;
    assert_int_equal(make(&plan, &plan_options, &err), status);
    assert_memory_equal(&plan, &untouched, sizeof plan);
    assert_int_equal(err.status, status);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_not_equal(err.text[strlen(err.text) - 1], '.');
    assert_true(strlen(err.text) < sizeof err.text - 1); /* not cut */
    assert_int_equal(make(&plan, &plan_options, NULL), status);
}

static void refused(tamis_plan_options plan_options, tamis_status status, const char *says) {
    refused_by(tamis_plan_make, plan_options, status, says);
}

static void fit_refused(tamis_plan_options plan_options, tamis_status status, const char *says) {
    refused_by(tamis_plan_fit, plan_options, status, says);
}

static void kinds_have_names(void **state) {
    (void)state;
    static const char *const names[] = {"auto",  "classic", "blocked",  "fingerprint",
                                        "exact", "window",  "counting", "cuckoo"};
    for (int i = 0; i <= TAMIS_KIND_CUCKOO; i++) {
        tamis_kind kind = (tamis_kind)99;
        assert_string_equal(tamis_kind_name((tamis_kind)i), names[i]);
        assert_int_equal(tamis_kind_parse(&kind, names[i], NULL), TAMIS_OK);
        assert_int_equal(kind, i);
        assert_int_equal(tamis_kind_is_bloom(kind), kind == TAMIS_KIND_CLASSIC ||
                                                        kind == TAMIS_KIND_BLOCKED ||
                                                        kind == TAMIS_KIND_COUNTING);
    }
    assert_null(tamis_kind_name((tamis_kind)8));
    assert_null(tamis_kind_name((tamis_kind)-1));
    static const char *const wrong[] = {"", "Classic", "bloom", "exact "};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tamis_kind kind = (tamis_kind)99;
        tamis_error err = TAMIS_ERROR_INIT;
        assert_int_equal(tamis_kind_parse(&kind, wrong[i], &err), TAMIS_E_INVALID);
        assert_int_equal(kind, 99);
        for (int j = 0; j < 5; j++)
            assert_non_null(strstr(err.text, names[j]));
    }
}

static void numbers_out_of_range_are_refused(void **state) {
    (void)state;
    refused(plan_options_of(TAMIS_KIND_AUTO, TAMIS_EXPECT_MAX + 1, 0, 0), TAMIS_E_RANGE, "1000000000001");
    refused(plan_options_of(TAMIS_KIND_AUTO, UINT64_MAX, 0, 0), TAMIS_E_RANGE, "18446744073709551615");
    static const double wrong[] = {0.51, 1, 2, -0.1, 0.9e-30, DBL_MIN, INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(plan_options_of(TAMIS_KIND_AUTO, 10, wrong[i], 0), TAMIS_E_RANGE, "false-positive rate");
    refused(plan_options_of((tamis_kind)8, 10, 0, 0), TAMIS_E_INVALID, "kind 8");
    refused(plan_options_of((tamis_kind)-1, 10, 0, 0), TAMIS_E_INVALID, "kind -1");
    tamis_plan_options plan_options = plan_options_of(TAMIS_KIND_AUTO, 10, 0, 0);
    plan_options.scheme = (tamis_scheme)10;
    refused(plan_options, TAMIS_E_INVALID, "scheme 10");
}

static void kinds_that_cannot_are_refused(void **state) {
    (void)state;
    refused(plan_options_of(TAMIS_KIND_CLASSIC, 0, 0.01, 0), TAMIS_E_INVALID, "cannot grow");
    refused(plan_options_of(TAMIS_KIND_BLOCKED, 0, 0.01, 0), TAMIS_E_INVALID, "(expect)");
    refused(plan_options_of(TAMIS_KIND_BLOCKED, 1000, 1e-30, 0), TAMIS_E_RANGE, "kind fingerprint");
}

/* The message has the number of bytes needed. With exactly these the plan succeeds. */
static void too_little_memory_is_refused_with_the_number(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        uint64_t needs = made(plan_options_of(kinds[i], 100000, 0.001, 0)).memory;
        char number[32];
        snprintf(number, sizeof number, " %" PRIu64 " bytes (", needs);
        refused(plan_options_of(kinds[i], 100000, 0.001, needs - 1), TAMIS_E_MEMORY_LIMIT, number);
        refused(plan_options_of(kinds[i], 100000, 0.001, 1), TAMIS_E_MEMORY_LIMIT, number);
        assert_int_equal(made(plan_options_of(kinds[i], 100000, 0.001, needs)).memory, needs);
        if (kinds[i] < TAMIS_KIND_FINGERPRINT)
            continue;
        needs = made(plan_options_of(kinds[i], 0, 0.001, 0)).memory;
        snprintf(number, sizeof number, " %" PRIu64 " bytes (", needs);
        refused(plan_options_of(kinds[i], 0, 0.001, needs - 1), TAMIS_E_MEMORY_LIMIT, number);
        assert_int_equal(made(plan_options_of(kinds[i], 0, 0.001, needs)).memory_limit, needs);
    }
}

static void bytes_are_shown_in_a_larger_unit_too(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0 bytes"},
        {1023, "1023 bytes"},
        {1024, "1024 bytes (1.00 KiB)"},
        {901688, "901688 bytes (881 KiB)"},
        {1048063, "1048063 bytes (1023 KiB)"},
        {1048064, "1048064 bytes (1.00 MiB)"},
        {19551360, "19551360 bytes (18.6 MiB)"},
        {UINT64_MAX, "18446744073709551615 bytes (16.0 EiB)"},
    };
    char text[TAMIS__PLAN_BYTES];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(tamis__plan_bytes(text, rows[i].bytes), rows[i].text);
}

static void defaults(void **state) {
    (void)state;
    tamis_plan plan = made(plan_options_of(TAMIS_KIND_AUTO, 0, 0, 0));
    assert_true(plan.fpr == 1e-9);
    assert_int_equal(plan.struct_size, sizeof plan);
    assert_int_equal(plan.kind, TAMIS_KIND_FINGERPRINT);
    assert_int_equal(plan.capacity, 0);
    assert_int_equal(plan.lines, 0);
    assert_int_equal(plan.scheme, TAMIS_SCHEME_AUTO);
    assert_true(plan.reason[0] != 0 && plan.reason[strlen(plan.reason) - 1] != '.');
}

/* Checks a plan, up to 1e12 keys at 1e-26: consistent numbers, no overflow, the rate kept. */
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
        assert_int_equal(plan->partitions, 0);
        assert_int_equal(plan->bits % (plan->kind == TAMIS_KIND_CLASSIC ? 64 : 512), 0);
        assert_true(plan->probes >= 1 && plan->probes <= 255);
        assert_true((double)plan->bits >= 0.999 * tamis_bloom_bits((double)n, p) - 64);
    } else {
        assert_true(plan->slot_bits >= 16 && plan->home_bits >= 1);
        assert_int_equal(plan->memory >= 64 * plan->lines, true);
        assert_true((plan->lines == 0) == (n == 0));
        assert_int_equal(plan->partitions & (plan->partitions - 1), 0);
        if (n == 0)
            assert_int_equal(plan->partitions, 256);
        else
            assert_true(plan->partitions >= 1 && plan->partitions <= 64);
        assert_int_equal(plan->lines % plan->partitions, 0);
        /* As many partitions as leave each at least 4096 lines. */
        assert_true(n == 0 || plan->partitions == 1 || plan->lines / plan->partitions >= 4096);
        assert_true(n == 0 || plan->partitions == 64 || plan->lines / plan->partitions <= 2 * 4096);
    }
    if (plan->kind != TAMIS_KIND_EXACT) {
        assert_true(plan->fpr == p);
        bool is_hash_itself = plan->slot_bits == 120; /* n/2^128: the limit of the hash */
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
                    continue; /* kind blocked may not reach the rate */
                tamis_plan plan = made(plan_options_of(kinds[j], n, rates[i], 0));
                assert_int_equal(plan.kind, kinds[j]);
                check_plan(&plan, n, rates[i]);
            }
    for (int i = 0; i < RATES; i++) {
        tamis_plan plan = made(plan_options_of(TAMIS_KIND_FINGERPRINT, 0, rates[i], 0));
        check_plan(&plan, 0, rates[i]);
    }
}

/* More keys or a lower rate never take less memory. */
static void memory_is_monotonic(void **state) {
    (void)state;
    for (size_t j = 0; j < 4; j++) {
        uint64_t before = 0;
        for (uint64_t n = 1000; n <= TAMIS_EXPECT_MAX; n *= 10) {
            uint64_t memory = made(plan_options_of(kinds[j], n, 0.001, 0)).memory;
            assert_true(memory > before);
            before = memory;
        }
        before = 0;
        for (int i = 0; i < RATES && rates[i] >= 1e-6; i++) {
            uint64_t memory = made(plan_options_of(kinds[j], 1000000, rates[i], 0)).memory;
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
        tamis_plan_options plan_options = plan_options_of(TAMIS_KIND_CLASSIC, rows[i].n, rows[i].p, 0);
        plan_options.scheme = TAMIS_SCHEME_GUAVA64;
        tamis_plan plan = made(plan_options);
        assert_int_equal(plan.bits, rows[i].bits);
        assert_int_equal(plan.probes, rows[i].probes);
        assert_int_equal(plan.scheme, TAMIS_SCHEME_GUAVA64);
    }
}

static void check_choice(uint64_t n, double p, uint64_t memory, tamis_kind kind) {
    tamis_plan plan = made(plan_options_of(TAMIS_KIND_AUTO, n, p, memory));
    if (plan.kind != kind)
        fail_msg("n = %" PRIu64 ", p = %g: %s (%s)", n, p, tamis_kind_name(plan.kind), plan.reason);
    assert_true(plan.reason[0] != 0 && strlen(plan.reason) < sizeof plan.reason - 1);
    assert_int_not_equal(plan.reason[strlen(plan.reason) - 1], '.');
    assert_true(strcmp(plan.reason, made(plan_options_of(kind, n, p, memory)).reason) !=
                0); /* not the reason "by name" */
    assert_true(!memory || plan.memory <= memory);
}

static void auto_chooses_the_fewest_lines_at_the_lowest_memory(void **state) {
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

/* With a memory limit between the memory of classic and that of the other kinds. */
static void auto_obeys_the_memory(void **state) {
    (void)state;
    int forced = 0;
    for (int i = 0; i < RATES; i++) {
        uint64_t n = 1000000, min = UINT64_MAX;
        for (size_t j = 0; j < 4; j++) {
            tamis_plan_options plan_options = plan_options_of(kinds[j], n, rates[i], 0);
            tamis_plan plan = TAMIS_PLAN_INIT;
            if (kinds[j] != TAMIS_KIND_EXACT && tamis_plan_make(&plan, &plan_options, NULL) == TAMIS_OK &&
                plan.memory < min)
                min = plan.memory;
        }
        tamis_plan plan = made(plan_options_of(TAMIS_KIND_AUTO, n, rates[i], min));
        assert_int_equal(plan.memory, min);
        forced += plan.kind == TAMIS_KIND_CLASSIC;
        refused(plan_options_of(TAMIS_KIND_AUTO, n, rates[i], min - 1), TAMIS_E_MEMORY_LIMIT, "memory");
    }
    assert_true(forced > 0);
}

/* The tables of plan.c agree with the capacity of a line. */
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

static tamis_plan_options plan_scheme(tamis_kind kind, tamis_scheme scheme, uint64_t expect, double fpr) {
    tamis_plan_options plan_options = plan_options_of(kind, expect, fpr, 0);
    plan_options.scheme = scheme;
    return plan_options;
}

/* Sizes of RedisBloom and DCSO (from live filters), of Redisson, and of Guava with the 32-bit strategy. */
static void sizes_of_other_programs_are_kept(void **state) {
    (void)state;
    static const struct {
        tamis_scheme scheme;
        uint64_t n;
        double p;
        uint64_t bits;
        uint32_t probes;
        uint64_t memory;
    } rows[] = {
        {TAMIS_SCHEME_REDISBLOOM, 100, 0.005, 1152, 8, 144}, /* BF.ADD's default: the first of 1 % */
        {TAMIS_SCHEME_REDISBLOOM, 3, 0.01, 64, 7, 8},
        {TAMIS_SCHEME_FNV_DCSO, 10, 0.01, 95, 7, 16},
        {TAMIS_SCHEME_FNV_DCSO, 1, 0.5, 1, 1, 8},
        {TAMIS_SCHEME_REDISSON, 1000, 0.01, 9585, 7, 1200},
        {TAMIS_SCHEME_REDISSON, 1, 0.5, 1, 1, 8},
        {TAMIS_SCHEME_GUAVA32, 10, 0.01, 128, 7, 16},
        {TAMIS_SCHEME_GUAVA32, 1, 1e-6, 64, 19, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_plan plan = made(plan_scheme(TAMIS_KIND_CLASSIC, rows[i].scheme, rows[i].n, rows[i].p));
        assert_int_equal(plan.bits, rows[i].bits);
        assert_int_equal(plan.probes, rows[i].probes);
        assert_int_equal(plan.memory, rows[i].memory);
        assert_true(isfinite(plan.lines_touched) && plan.lines_touched >= 1);
    }
}

static void schemes_without_digest_are_for_classic(void **state) {
    (void)state;
    static const tamis_scheme poor[] = {TAMIS_SCHEME_BKDR31, TAMIS_SCHEME_BKDR63, TAMIS_SCHEME_FNV_DCSO};
    for (size_t i = 0; i < 3; i++) {
        const char *has = poor[i] == TAMIS_SCHEME_FNV_DCSO ? "has 64; use kind classic" : "has none; use";
        for (size_t j = 1; j < 4; j++)
            refused(plan_scheme(kinds[j], poor[i], 1000, 0.01), TAMIS_E_UNSUPPORTED, has);
        tamis_plan plan = made(plan_scheme(TAMIS_KIND_AUTO, poor[i], 1000, 0.01));
        assert_int_equal(plan.kind, TAMIS_KIND_CLASSIC);
        assert_non_null(strstr(plan.reason, "128 bits"));
        assert_int_equal(strstr(plan.reason, "real rate is higher") != NULL, i < 2);
        assert_int_equal(plan.caution, i < 2 ? TAMIS_CAUTION_POOR_HASHES : TAMIS_CAUTION_NONE);
        assert_true(strlen(plan.reason) < sizeof plan.reason - 1);
        refused(plan_scheme(TAMIS_KIND_AUTO, poor[i], 0, 0.01), TAMIS_E_INVALID, "cannot grow");
    }
}

static void rates_below_that_of_the_hash_are_refused(void **state) {
    (void)state;
    refused(plan_options_of(TAMIS_KIND_AUTO, 1000000000000, 1e-27, 0), TAMIS_E_RANGE, "128-bit hashes");
    refused(plan_scheme(TAMIS_KIND_AUTO, TAMIS_SCHEME_FNV_DCSO, 1000000, 1e-14), TAMIS_E_RANGE,
            "64-bit hashes");
    refused(plan_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA32, 1000000, 1e-13), TAMIS_E_RANGE,
            "63-bit hashes");
    made(plan_scheme(TAMIS_KIND_AUTO, TAMIS_SCHEME_FNV_DCSO, 1000000, 1e-13));
    made(plan_scheme(TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_GUAVA32, 1000000, 1e-13));
    made(plan_scheme(TAMIS_KIND_AUTO, TAMIS_SCHEME_BKDR63, 1000000, 1e-30)); /* no digest: k hashes */
}

/* With positions of 31 bits, more than 2^31 bits are useless, and with nearly as many, some bits are hit
 * twice as often. */
static void positions_of_31_bits_are_accounted_for(void **state) {
    (void)state;
    refused(plan_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA32, 300000000, 0.01), TAMIS_E_RANGE,
            "use scheme guava64");
    refused(plan_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR31, 300000000, 0.01), TAMIS_E_RANGE,
            "use scheme bkdr63");
    tamis_plan even = made(plan_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, 170000000, 0.01));
    tamis_plan plan = made(plan_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA32, 170000000, 0.01));
    assert_int_equal(plan.bits, even.bits); /* 1.5 * 2^30: half of the positions are hit by two values */
    assert_true(plan.fpr_predicted > 1.3 * even.fpr_predicted && plan.fpr_predicted < 3 * even.fpr_predicted);
    plan = made(plan_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR31, 100000, 0.01));
    even = made(plan_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR63, 100000, 0.01));
    assert_true(fabs(plan.fpr_predicted - even.fpr_predicted) < 1e-5 * even.fpr_predicted);
}

/* Compares with rates counted over a hundred million random digests with unmixed progressions
 * (docs/MATH.md). */
static void repeated_positions_are_accounted_for(void **state) {
    (void)state;
    static const struct {
        tamis_scheme scheme;
        uint64_t n;
        double p, rate;
    } rows[] = {
        {TAMIS_SCHEME_GUAVA64, 10, 1e-5, 5.4e-3},    {TAMIS_SCHEME_GUAVA64, 10, 1e-9, 8.8e-4},
        {TAMIS_SCHEME_GUAVA64, 100, 1e-3, 1.25e-3},  {TAMIS_SCHEME_GUAVA64, 100, 1e-6, 8.4e-5},
        {TAMIS_SCHEME_REDISBLOOM, 100, 1e-9, 4e-5},  {TAMIS_SCHEME_GUAVA64, 1000, 1e-9, 3.5e-6},
        {TAMIS_SCHEME_GUAVA32, 10, 1e-5, 1.42e-3},   {TAMIS_SCHEME_GUAVA32, 100, 1e-6, 4.6e-5},
        {TAMIS_SCHEME_GUAVA32, 1000, 1e-9, 1.75e-6}, {TAMIS_SCHEME_GUAVA64, 1000000, 0.01, 0.01},
        {TAMIS_SCHEME_FNV_DCSO, 100, 1e-6, 1e-6},    {TAMIS_SCHEME_REDISSON, 10, 1e-6, 2.8e-4},
        {TAMIS_SCHEME_REDISSON, 10, 1e-3, 2.97e-3},  {TAMIS_SCHEME_REDISSON, 1000, 1e-3, 1.46e-3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_plan plan = made(plan_scheme(TAMIS_KIND_CLASSIC, rows[i].scheme, rows[i].n, rows[i].p));
        double times = plan.fpr_predicted / rows[i].rate;
        if (!(times > 1 / 1.5 && times < 1.5))
            fail_msg("row %zu: predicted %g, counted %g", i, plan.fpr_predicted, rows[i].rate);
        bool above = rows[i].rate > 1.1 * rows[i].p;
        assert_int_equal(strstr(plan.reason, "positions of this scheme repeat") != NULL, above);
        assert_int_equal(plan.caution, above ? TAMIS_CAUTION_REPEATED_POSITIONS : TAMIS_CAUTION_NONE);
    }
    /* One probe cannot repeat, and a nearly full filter answers TAMIS_PRESENT anyway. */
    assert_true(tamis__repeats_fpr(0.5, 256, 1, 1) == 0);
    for (double fill = 0; fill <= 1; fill += 1.0 / 64)
        for (double k = 1; k < 256; k *= 2) {
            double more = tamis__repeats_fpr(fill, 192, k, 1);
            assert_true(more >= 0 && more <= 1 - pow(fill, k));
        }
}

/* ---- probes given ---- */

static void given_probes_are_kept(void **state) {
    (void)state;
    for (uint32_t probes = 1; probes <= TAMIS_PROBES_MAX; probes = probes * 2 + 1)
        for (uint64_t n = 10; n <= TAMIS_EXPECT_MAX; n *= 1000)
            for (int scheme = TAMIS_SCHEME_XXH3; scheme <= TAMIS_SCHEME_GUAVA64; scheme += 2) {
                tamis_plan_options plan_options =
                    plan_scheme(TAMIS_KIND_CLASSIC, (tamis_scheme)scheme, n, 0.001);
                tamis_plan free = made(plan_options);
                plan_options.probes = probes;
                tamis_plan plan = made(plan_options);
                assert_int_equal(plan.probes, probes);
                assert_true(plan.fpr_predicted <= 0.001);
                assert_true((double)plan.bits >= 0.97 * (double)free.bits);
                plan_options.kind = TAMIS_KIND_BLOCKED;
                tamis_plan blocked = TAMIS_PLAN_INIT;
                if (tamis_plan_make(&blocked, &plan_options, NULL) != TAMIS_OK)
                    continue;
                assert_int_equal(blocked.probes, probes);
                assert_true(blocked.fpr_predicted <= 0.001);
            }
}

/* Also where the largest numbers of probes have no bits left for a word, and where positions are uneven or
 * repeat. */
static void given_probes_keep_the_rate_everywhere(void **state) {
    (void)state;
    static const struct {
        tamis_scheme scheme;
        uint64_t n;
        double p;
        uint32_t probes;
    } rows[] = {
        {TAMIS_SCHEME_XXH3, 1, 8.1069826167076832e-19, 1}, {TAMIS_SCHEME_XXH3, 47, 3.2455253888852892e-17, 1},
        {TAMIS_SCHEME_GUAVA32, 100000000, 1e-4, 13},       {TAMIS_SCHEME_BKDR31, 100000000, 1e-4, 13},
        {TAMIS_SCHEME_REDISBLOOM, 1000, 1e-9, 30},         {TAMIS_SCHEME_GUAVA64, 10, 1e-5, 200},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_plan_options plan_options =
            plan_scheme(TAMIS_KIND_CLASSIC, rows[i].scheme, rows[i].n, rows[i].p);
        plan_options.probes = rows[i].probes;
        tamis_plan plan = made(plan_options);
        if (plan.fpr_predicted > rows[i].p)
            fail_msg("row %zu: predicted %g of %g", i, plan.fpr_predicted, rows[i].p);
        if (plan.bits < UINT64_C(1) << 36)
            assert_true(tamis__classic_fpr(plan.scheme, (double)plan.capacity, (double)plan.bits - 64,
                                           plan.probes) > rows[i].p);
    }
    tamis_plan_options plan_options =
        plan_options_of(TAMIS_KIND_AUTO, 0, 3.3e-30, UINT64_C(400000000000000000));
    plan_options.probes = 2;
    tamis_plan plan = TAMIS_PLAN_INIT;
    assert_int_equal(tamis_plan_fit(&plan, &plan_options, NULL), TAMIS_OK);
    plan_options = plan_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR31, 130000000, 1e-6);
    plan_options.probes = 13;
    refused(plan_options, TAMIS_E_RANGE, "more than 2^31 bits");
}

static void given_probes_choose_a_bloom_filter(void **state) {
    (void)state;
    tamis_plan_options plan_options = plan_options_of(TAMIS_KIND_AUTO, 1000000, 0.01, 0);
    plan_options.probes = 6;
    assert_int_equal(made(plan_options).kind, TAMIS_KIND_BLOCKED);
    plan_options.fpr = 1e-6;
    plan_options.probes = 20;
    assert_int_equal(made(plan_options).kind, TAMIS_KIND_CLASSIC);
    plan_options.kind = TAMIS_KIND_FINGERPRINT;
    refused(plan_options, TAMIS_E_INVALID, "has no probes");
    plan_options.kind = TAMIS_KIND_EXACT;
    refused(plan_options, TAMIS_E_INVALID, "has no probes");
    plan_options = plan_options_of(TAMIS_KIND_AUTO, 0, 0.01, 0);
    plan_options.probes = 6;
    refused(plan_options, TAMIS_E_INVALID, "cannot grow");
    plan_options = plan_options_of(TAMIS_KIND_AUTO, 1000, 0.01, 0);
    plan_options.probes = TAMIS_PROBES_MAX + 1;
    refused(plan_options, TAMIS_E_RANGE, "probes 256");
    plan_options = plan_options_of(TAMIS_KIND_CLASSIC, 1000000000000, 1e-26, 0);
    plan_options.probes = 1;
    refused(plan_options, TAMIS_E_RANGE, "other probes");
    plan_options = plan_options_of(TAMIS_KIND_BLOCKED, 1000, 1e-6, 0);
    plan_options.probes = 1;
    refused(plan_options, TAMIS_E_RANGE, "with the probes given");
}

/* ---- plans that fit a memory size ---- */

static tamis_plan fitted(tamis_plan_options plan_options) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_plan_fit(&plan, &plan_options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    assert_true(plan.memory <= plan_options.memory);
    assert_true(plan.memory_limit == plan_options.memory);
    assert_true(plan.reason[0] != 0 && strlen(plan.reason) < sizeof plan.reason - 1);
    return plan;
}

static void fit_wants_memory_and_one_of_two(void **state) {
    (void)state;
    fit_refused(plan_options_of(TAMIS_KIND_AUTO, 10, 0, 0), TAMIS_E_INVALID, "memory");
    fit_refused(plan_options_of(TAMIS_KIND_AUTO, 10, 0.01, 1000), TAMIS_E_INVALID, "both given");
    fit_refused(plan_options_of(TAMIS_KIND_AUTO, 0, 0, 1000), TAMIS_E_INVALID, "neither given");
    fit_refused(plan_options_of(TAMIS_KIND_AUTO, 0, 0.7, 1000), TAMIS_E_RANGE, "false-positive rate");
    fit_refused(plan_options_of(TAMIS_KIND_AUTO, TAMIS_EXPECT_MAX + 1, 0, 1000), TAMIS_E_RANGE,
                "1000000000001");
    tamis_plan_options plan_options = plan_options_of(TAMIS_KIND_AUTO, 10, 0, 1000);
    plan_options.struct_size = 0;
    fit_refused(plan_options, TAMIS_E_INVALID, "TAMIS_PLAN_OPTIONS_INIT");
    for (size_t j = 0; j < 4; j++) {
        fit_refused(plan_options_of(kinds[j], 1000000, 0, 10), TAMIS_E_MEMORY_LIMIT,
                    "too little for 1000000 keys");
        fit_refused(plan_options_of(kinds[j], 0, 0.01, 7), TAMIS_E_MEMORY_LIMIT, "too little for 1 key ");
    }
    plan_options = plan_options_of(TAMIS_KIND_EXACT, 10, 0, 1000);
    plan_options.probes = 3;
    fit_refused(plan_options, TAMIS_E_INVALID, "has no probes");
}

/* A plan for one more key does not fit. */
static void fit_finds_the_maximum_of_keys(void **state) {
    (void)state;
    static const uint64_t sizes[] = {100000, 1 << 20, UINT64_C(1) << 30, UINT64_C(1000000000000)};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int r = 0; r < RATES && rates[r] >= 1e-6; r++)
            for (int j = 0; j < 4; j++) {
                tamis_plan plan = fitted(plan_options_of(kinds[j], 0, rates[r], sizes[i]));
                assert_int_equal(plan.kind, kinds[j]);
                if (plan.capacity == TAMIS_EXPECT_MAX)
                    continue;
                tamis_plan more = made(plan_options_of(kinds[j], plan.capacity + 1, rates[r], 0));
                assert_true(more.memory > sizes[i]);
                tamis_plan same = made(plan_options_of(kinds[j], plan.capacity, rates[r], sizes[i]));
                assert_int_equal(same.memory, plan.memory);
                assert_true(same.fpr_predicted == plan.fpr_predicted);
            }
}

/* A plan for the rate found keeps it within that memory (tables: in exactly that). No plan for a slightly
 * lower rate fits, except for tables, which have only certain rates. */
static void fit_finds_the_lowest_rate(void **state) {
    (void)state;
    static const double bits[] = {3, 8, 10.5, 20, 29, 40, 70, 150, 500};
    for (uint64_t n = 1000; n <= TAMIS_EXPECT_MAX; n *= 1000)
        for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
            for (int j = 0; j < 4; j++) {
                uint64_t memory = (uint64_t)(bits[i] * (double)n / 8);
                tamis_plan_options plan_options = plan_options_of(kinds[j], n, 0, memory);
                tamis_plan plan = TAMIS_PLAN_INIT;
                if (tamis_plan_fit(&plan, &plan_options, NULL) != TAMIS_OK) {
                    assert_true(bits[i] < 30 || (kinds[j] == TAMIS_KIND_EXACT && bits[i] < 200));
                    continue;
                }
                assert_true(plan.memory <= memory && plan.capacity == n);
                assert_true(plan.fpr_predicted <= TAMIS_FPR_MAX);
                if (kinds[j] == TAMIS_KIND_EXACT)
                    continue;
                double p = plan.fpr;
                bool is_min = p <= fmax(TAMIS_FPR_MIN, ldexp((double)n, -128));
                assert_true(is_min || plan.fpr_predicted == p);
                if (kinds[j] == TAMIS_KIND_BLOCKED && p < 1e-7)
                    continue; /* a plan for a given rate does not reach it */
                /* a plan rounds the probes from other bits, and may take the second best number */
                uint64_t again = made(plan_options_of(kinds[j], n, p, 0)).memory;
                if ((double)again > 1.005 * (double)memory + 64)
                    fail_msg("%s, n = %" PRIu64 ", p = %g: %" PRIu64 " and not %" PRIu64 " bytes",
                             tamis_kind_name(plan.kind), n, p, again, memory);
                if (!is_min && kinds[j] != TAMIS_KIND_FINGERPRINT)
                    assert_true((double)made(plan_options_of(kinds[j], n, p * 0.95, 0)).memory >
                                0.98 * (double)memory);
                if (kinds[j] == TAMIS_KIND_FINGERPRINT && p > 1e-15)
                    assert_true(made(plan_options_of(kinds[j], n, p * 0.99, 0)).memory > memory);
            }
}

/* Another program, given the rate found, chooses these bits by its own rule. */
static void fit_finds_rates_for_other_kinds(void **state) {
    (void)state;
    static const tamis_scheme schemes[] = {TAMIS_SCHEME_GUAVA64, TAMIS_SCHEME_GUAVA32,
                                           TAMIS_SCHEME_REDISBLOOM, TAMIS_SCHEME_FNV_DCSO,
                                           TAMIS_SCHEME_REDISSON};
    for (size_t i = 0; i < 5; i++)
        for (uint64_t n = 1; n <= 100000000; n *= 10)
            for (double bits = 2.5; bits < 20; bits *= 1.7) {
                tamis_plan_options plan_options = plan_scheme(TAMIS_KIND_CLASSIC, schemes[i], n, 0);
                plan_options.memory = 8 + (uint64_t)(bits * (double)n / 8);
                tamis_plan plan = fitted(plan_options);
                tamis_plan again = made(plan_scheme(TAMIS_KIND_CLASSIC, schemes[i], n, plan.fpr));
                assert_int_equal(again.bits, plan.bits);
                assert_int_equal(again.probes, plan.probes);
                assert_true(plan.memory + 16 > plan_options.memory);
            }
    tamis_plan_options plan_options = plan_scheme(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR31, 100000000, 0);
    plan_options.memory = UINT64_C(1) << 40;
    assert_int_equal(fitted(plan_options).bits, UINT64_C(1) << 31); /* more cannot be used */
}

static void fit_keeps_the_probes_given(void **state) {
    (void)state;
    for (int j = 0; j < 2; j++)
        for (uint32_t probes = 1; probes <= 31; probes += 6) {
            tamis_plan_options plan_options = plan_options_of(kinds[j], 1000000, 0, 2000000);
            plan_options.probes = probes;
            tamis_plan rate = fitted(plan_options);
            assert_int_equal(rate.probes, probes);
            plan_options.expect = 0;
            plan_options.fpr = rate.fpr * 1.000001;
            tamis_plan keys = fitted(plan_options);
            assert_int_equal(keys.probes, probes);
            assert_true(keys.capacity > 999000 && keys.capacity < 1001000);
        }
}

/* Slots as wide as the memory allows. */
static void reg_26_fit_finds_the_rate_of_a_window(void **state) {
    (void)state;
    tamis_plan_options plan_options = plan_options_of(TAMIS_KIND_WINDOW, 1000000, TAMIS_FPR_MAX, 0);
    plan_options.window = 3600000;
    const uint64_t min_memory = made(plan_options).memory;
    uint32_t bits = 0;
    plan_options.fpr = 0;
    for (int i = 0; i < 8; i++) {
        plan_options.memory = min_memory + min_memory * (uint64_t)i / 4;
        const tamis_plan plan = fitted(plan_options);
        assert_int_equal(plan.kind, TAMIS_KIND_WINDOW);
        assert_int_equal(plan.capacity, 1000000);
        assert_int_equal(plan.window, 3600000);
        assert_true(plan.slot_bits >= bits && plan.fpr <= TAMIS_FPR_MAX && plan.fpr_predicted <= plan.fpr);
        bits = plan.slot_bits;
        tamis_plan_options same = plan_options, lower = plan_options;
        tamis_plan next = TAMIS_PLAN_INIT;
        same.fpr = plan.fpr;
        assert_int_equal(made(same).slot_bits, plan.slot_bits);
        assert_int_equal(made(same).memory, plan.memory);
        lower.fpr = plan.fpr / 2;
        lower.memory = 0;
        assert_true(tamis_plan_make(&next, &lower, NULL) != TAMIS_OK || next.memory > plan_options.memory);
    }
    assert_int_equal(bits, 64); /* no wider ones exist */
    plan_options.memory = min_memory - 1;
    fit_refused(plan_options, TAMIS_E_MEMORY_LIMIT, "too little for 1000000 keys");
}

static double test_real(uint64_t *random) {
    return (double)test_below(random, UINT64_C(1) << 53) / 0x1p53;
}

/* Any request, of every size, kind and scheme, gives a plan with finite numbers, or a message. */
static void every_request_gives_a_plan_or_an_error(void **state) {
    (void)state;
    uint64_t random = test_seed(4), runs = test_scale(10000, 1000, 1000);
    uint64_t answered = 0;
    for (uint64_t i = 0; i < runs; i++) {
        tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
        plan_options.kind = (tamis_kind)test_below(&random, 5);
        plan_options.scheme = (tamis_scheme)test_below(&random, 10);
        plan_options.expect = test_below(&random, 3) ? (uint64_t)exp2(40 * test_real(&random)) : 0;
        plan_options.fpr = test_below(&random, 3) ? exp2(-1 - 98 * test_real(&random)) : 0;
        plan_options.memory = test_below(&random, 3) ? (uint64_t)exp2(63.9 * test_real(&random)) : 0;
        plan_options.probes =
            test_below(&random, 2) ? 0 : (uint32_t)test_below(&random, TAMIS_PROBES_MAX + 1);
        bool fit = test_below(&random, 2);
        tamis_plan plan = TAMIS_PLAN_INIT;
        tamis_error err = TAMIS_ERROR_INIT;
        if ((fit ? tamis_plan_fit : tamis_plan_make)(&plan, &plan_options, &err) != TAMIS_OK) {
            assert_true(strchr(err.text, ':') && strchr(err.text, ';'));
            assert_true(strlen(err.text) < sizeof err.text - 1);
            continue;
        }
        answered++;
        assert_true(plan.memory > 0 && (plan_options.memory == 0 || plan.memory <= plan_options.memory));
        assert_true(plan.fpr_predicted >= 0 && plan.fpr_predicted <= 1 && plan.fpr > 0);
        assert_true(isfinite(plan.bits_per_key) && plan.bits_per_key > 0);
        assert_true(isfinite(plan.lines_touched) && plan.lines_touched >= 1 - 1e-9);
        assert_true(plan_options.expect == 0 || plan.capacity == plan_options.expect);
        assert_true(!fit || plan.capacity > 0);
        assert_true(plan_options.probes == 0 || plan.probes == plan_options.probes);
        assert_true(plan.reason[0] != 0 && strlen(plan.reason) < sizeof plan.reason - 1);
        assert_int_equal((plan.bits + 63) / 64 * 8 == plan.memory, plan.bits > 0);
    }
    assert_true(answered > runs / 5);
}

static void fit_chooses_few_lines(void **state) {
    (void)state;
    static const struct {
        uint64_t expect;
        double fpr;
        uint64_t memory;
        tamis_kind kind;
    } rows[] = {
        {0, 0.01, 1 << 20, TAMIS_KIND_BLOCKED},           {0, 1e-9, 1 << 20, TAMIS_KIND_FINGERPRINT},
        {1000000, 0, 1250000, TAMIS_KIND_BLOCKED},        {1000000, 0, 5000000, TAMIS_KIND_FINGERPRINT},
        {1000000, 0, 50000000, TAMIS_KIND_FINGERPRINT},   {1000000, 0, 400000, TAMIS_KIND_BLOCKED},
        {0, 3e-5, UINT64_C(1) << 34, TAMIS_KIND_BLOCKED}, {0, 1e-30, 1 << 20, TAMIS_KIND_FINGERPRINT},
    };
    /* The best of the three kinds, or close to it. */
    for (double bits = 2; bits < 100; bits *= 1.1)
        for (uint64_t n = 0; n <= 5000000; n += 5000000) {
            uint64_t memory = (uint64_t)(bits * 5e6 / 8);
            tamis_plan plan = fitted(plan_options_of(TAMIS_KIND_AUTO, n, n ? 0 : exp2(-bits / 2), memory));
            for (int j = 0; j < 3; j++) {
                tamis_plan other = TAMIS_PLAN_INIT;
                tamis_plan_options plan_options =
                    plan_options_of(kinds[j], n, n ? 0 : exp2(-bits / 2), memory);
                if (tamis_plan_fit(&other, &plan_options, NULL) != TAMIS_OK)
                    continue;
                assert_true(plan.fpr_predicted <= 1.25 * other.fpr_predicted || n == 0);
                assert_true((double)plan.capacity >= (double)other.capacity / 1.2500001);
            }
        }
    assert_int_equal(fitted(plan_options_of(TAMIS_KIND_AUTO, 5000000, 0, 15000000)).kind,
                     TAMIS_KIND_FINGERPRINT);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_plan plan =
            fitted(plan_options_of(TAMIS_KIND_AUTO, rows[i].expect, rows[i].fpr, rows[i].memory));
        if (plan.kind != rows[i].kind)
            fail_msg("row %zu: %s (%s)", i, tamis_kind_name(plan.kind), plan.reason);
    }
    tamis_plan_options plan_options = plan_scheme(TAMIS_KIND_AUTO, TAMIS_SCHEME_BKDR63, 1000000, 0);
    plan_options.memory = 1000000;
    assert_int_equal(fitted(plan_options).kind, TAMIS_KIND_CLASSIC);
    fit_refused(plan_options_of(TAMIS_KIND_AUTO, 1000000, 0, 10), TAMIS_E_MEMORY_LIMIT, "kind classic needs");
}

/* ---- guessed numbers of keys ---- */

static void growth_is_preferred(void **unused) {
    (void)unused;
    tamis_plan_options plan_options = plan_options_of(TAMIS_KIND_AUTO, 1000000, 1e-3, 0);
    assert_true(tamis_plan_options_prefer_growth(&plan_options));
    assert_int_equal(plan_options.kind, TAMIS_KIND_FINGERPRINT);
    plan_options = plan_options_of(TAMIS_KIND_BLOCKED, 1000000, 1e-3, 0); /* a kind given by the caller */
    assert_true(tamis_plan_options_prefer_growth(&plan_options));
    assert_int_equal(plan_options.kind, TAMIS_KIND_BLOCKED);
    plan_options = plan_options_of(TAMIS_KIND_AUTO, 1000000, 1e-3, 0);
    plan_options.probes = 7;
    assert_true(tamis_plan_options_prefer_growth(&plan_options));
    assert_int_equal(plan_options.kind, TAMIS_KIND_AUTO);
    plan_options =
        plan_options_of(TAMIS_KIND_AUTO, 1000000, 1e-3, 2000000); /* memory for a Bloom filter only */
    assert_false(tamis_plan_options_prefer_growth(&plan_options));
    assert_int_equal(plan_options.kind, TAMIS_KIND_AUTO);
    plan_options = plan_options_of(TAMIS_KIND_AUTO, 1000000, 2, 0); /* no plan possible */
    assert_true(tamis_plan_options_prefer_growth(&plan_options));
    assert_int_equal(plan_options.kind, TAMIS_KIND_AUTO);
}

static void assert_limited(tamis_plan_options plan_options, uint64_t max, tamis_kind kind, uint64_t expect) {
    tamis_plan_options_limit(&plan_options, max);
    assert_int_equal(plan_options.kind, kind);
    assert_int_equal(plan_options.expect, expect);
}

static void a_number_too_large_is_limited(void **unused) {
    (void)unused;
    const uint64_t many = 2000000000, few = 1000;
    /* A small filter, and one that is not too large, are not limited. */
    assert_limited(plan_options_of(TAMIS_KIND_AUTO, 1000000, 1e-3, 0), few, TAMIS_KIND_AUTO, 1000000);
    assert_limited(plan_options_of(TAMIS_KIND_FINGERPRINT, many, 1e-9, 0), UINT64_MAX, TAMIS_KIND_FINGERPRINT,
                   many);
    /* A table is limited, or grows. A Bloom filter that the caller did not ask for becomes a table. */
    assert_limited(plan_options_of(TAMIS_KIND_FINGERPRINT, many, 1e-9, 0), few, TAMIS_KIND_FINGERPRINT, few);
    assert_limited(plan_options_of(TAMIS_KIND_EXACT, many, 0, 0), 0, TAMIS_KIND_EXACT, 0);
    assert_limited(plan_options_of(TAMIS_KIND_AUTO, many, 1e-2, 0), few, TAMIS_KIND_FINGERPRINT, few);
    /* A Bloom filter that the caller asked for stays. */
    assert_limited(plan_options_of(TAMIS_KIND_BLOCKED, many, 1e-2, 0), few, TAMIS_KIND_BLOCKED, many);
    assert_limited(plan_options_of(TAMIS_KIND_CLASSIC, many, 1e-2, 0), 0, TAMIS_KIND_CLASSIC, many);
    /* Without a number there is nothing to limit. */
    assert_limited(plan_options_of(TAMIS_KIND_AUTO, 0, 1e-9, 0), few, TAMIS_KIND_AUTO, 0);
}

/* ---- beginning small ---- */

static void assert_starts_as_planned(tamis_plan_options plan_options) {
    const tamis_plan plan = made(plan_options);
    tamis_plan small = plan;
    tamis_plan_start_small(&small);
    assert_memory_equal(&small, &plan, sizeof plan);
}

static void a_large_table_starts_small(void **unused) {
    (void)unused;
    const uint64_t mib = 1 << 20, many = 2000000000;
    static const double small_rates[] = {1e-2, 1e-4, 1e-9, 1e-15, 1e-25};
    for (size_t i = 0; i < 2 * sizeof small_rates / sizeof *small_rates; i++) {
        const tamis_plan plan = made(plan_options_of(i % 2 ? TAMIS_KIND_EXACT : TAMIS_KIND_FINGERPRINT, many,
                                                     i % 2 ? 0 : small_rates[i / 2], 0));
        tamis_plan now = plan, next;
        tamis_plan_start_small(&now);
        assert_int_equal(now.target, plan.capacity);
        assert_in_range(now.memory, 4 * mib - mib / 2, 64 * mib + mib / 2);
        while (tamis__plan_next_size(&now, &next)) {
            assert_int_equal(next.lines, 16 * now.lines);
            assert_true(next.capacity > now.capacity && next.fpr_predicted <= plan.fpr * 1.001);
            now = next;
        }
        assert_int_equal(now.target, 0);
        assert_true(now.capacity >= plan.capacity && now.memory - plan.memory < plan.memory / 1000);
        assert_int_equal(now.slot_bits, plan.slot_bits);
    }
    assert_starts_as_planned(
        plan_options_of(TAMIS_KIND_FINGERPRINT, 10000000, 1e-9, 0)); /* less than 64 MiB */
    assert_starts_as_planned(plan_options_of(TAMIS_KIND_FINGERPRINT, many, 1e-9, 20000 * mib));
    assert_starts_as_planned(plan_options_of(TAMIS_KIND_FINGERPRINT, 0, 1e-9, 0));
    assert_starts_as_planned(plan_options_of(TAMIS_KIND_BLOCKED, many, 1e-2, 0));
    assert_starts_as_planned(plan_options_of(TAMIS_KIND_CLASSIC, many, 1e-2, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_have_names),
        cmocka_unit_test(a_large_table_starts_small),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(kinds_that_cannot_are_refused),
        cmocka_unit_test(too_little_memory_is_refused_with_the_number),
        cmocka_unit_test(bytes_are_shown_in_a_larger_unit_too),
        cmocka_unit_test(defaults),
        cmocka_unit_test(every_plan_is_consistent),
        cmocka_unit_test(memory_is_monotonic),
        cmocka_unit_test(guava64_sizes_are_guavas),
        cmocka_unit_test(sizes_of_other_programs_are_kept),
        cmocka_unit_test(schemes_without_digest_are_for_classic),
        cmocka_unit_test(rates_below_that_of_the_hash_are_refused),
        cmocka_unit_test(positions_of_31_bits_are_accounted_for),
        cmocka_unit_test(repeated_positions_are_accounted_for),
        cmocka_unit_test(given_probes_are_kept),
        cmocka_unit_test(given_probes_keep_the_rate_everywhere),
        cmocka_unit_test(given_probes_choose_a_bloom_filter),
        cmocka_unit_test(fit_wants_memory_and_one_of_two),
        cmocka_unit_test(fit_finds_the_maximum_of_keys),
        cmocka_unit_test(fit_finds_the_lowest_rate),
        cmocka_unit_test(fit_finds_rates_for_other_kinds),
        cmocka_unit_test(fit_keeps_the_probes_given),
        cmocka_unit_test(reg_26_fit_finds_the_rate_of_a_window),
        cmocka_unit_test(fit_chooses_few_lines),
        cmocka_unit_test(every_request_gives_a_plan_or_an_error),
        cmocka_unit_test(auto_chooses_the_fewest_lines_at_the_lowest_memory),
        cmocka_unit_test(auto_obeys_the_memory),
        cmocka_unit_test(shapes_are_those_of_the_lines),
        cmocka_unit_test(growth_is_preferred),
        cmocka_unit_test(a_number_too_large_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
