/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The command is not a library, so the tested files are compiled in. */
#include "cli/cmd/gen/gen_record.c"
#include "cli/cmd/plan/plan_chance.c"
#include "cli/cmd/plan/plan_trial.c"
#include "cli/core/cli_error.c"

static void assert_near(double value, double expected, double part) {
    if (!(fabs(value - expected) <= part * expected))
        fail_msg("%.10g, expected %.10g", value, expected);
}

/* The expected bounds are where the sums of the binomial distribution, computed term by term, are 0.025. */
static void intervals(void **state) {
    static const struct {
        uint64_t hits, queries;
        double low, high;
    } cases[] = {
        {10, 100, 0.0490046892, 0.1762225900}, {1, 10000000, 2.5317808e-9, 5.5716421e-7},
        {50, 100, 0.3983211295, 0.6016788705}, {99, 100, 0.9455406060, 0.9997468507},
        {1, 2, 0.0125791168, 0.9874208832},
    };
    double low, high;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        plan_chance_interval(cases[i].hits, cases[i].queries, 0.95, &low, &high);
        assert_near(low, cases[i].low, 1e-6);
        assert_near(high, cases[i].high, 1e-6);
    }
    plan_chance_interval(0, 10000000, 0.95, &low, &high);
    assert_true(low == 0);
    assert_near(high, 2.9957318e-7, 1e-6);
    plan_chance_interval(100, 100, 0.95, &low, &high);
    assert_near(low, 0.9637833074, 1e-6); /* 0.025^(1/100) */
    assert_true(high == 1);
    /* Many hits: the normal approximation is right to a thousandth of the width. */
    plan_chance_interval(1000000, 10000000, 0.95, &low, &high);
    assert_near(0.1 - low, 1.959964 * sqrt(0.1 * 0.9 / 1e7), 2e-3);
    assert_near(high - 0.1, 1.959964 * sqrt(0.1 * 0.9 / 1e7), 2e-3);
    plan_chance_interval(1000000, 10000000, 0.99, &low, &high);
    assert_near(0.1 - low, 2.575829 * sqrt(0.1 * 0.9 / 1e7), 2e-3);
    assert_near(high - 0.1, 2.575829 * sqrt(0.1 * 0.9 / 1e7), 2e-3);
    plan_chance_interval(0, 10000000, 0.99, &low, &high);
    assert_near(high, 4.6051691e-7, 1e-6); /* -ln 0.01 / n */
}

/* With 10,000 lookups at 1 %, the number of hits has a standard deviation of 10. */
static void beyond_chance(void **state) {
    (void)state;
    assert_false(plan_chance_exceeds(0, 10000, 0.01));
    assert_false(plan_chance_exceeds(100, 10000, 0.01));
    assert_false(plan_chance_exceeds(150, 10000, 0.01)); /* five standard deviations: 3e-7 */
    assert_true(plan_chance_exceeds(180, 10000, 0.01));  /* eight standard deviations */
    assert_true(plan_chance_exceeds(10000, 10000, 0.01));
    assert_false(plan_chance_exceeds(1, 1000000, 1e-9)); /* a chance of 1e-3 */
    assert_true(plan_chance_exceeds(4, 1000000, 1e-9));  /* 1e-12 / 24 */
    assert_true(plan_chance_exceeds(1, 1000000, 1e-30));
    assert_false(plan_chance_exceeds(10, 10, 1));
}

static plan_trial trial_of(tamis_kind kind, tamis_scheme scheme, uint64_t keys, double fpr) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_trial trial = {0};

    plan_options.kind = kind;
    plan_options.scheme = scheme;
    plan_options.expect = keys;
    plan_options.fpr = fpr;
    trial.plan = (tamis_plan)TAMIS_PLAN_INIT;
    assert_int_equal(tamis_plan_make(&trial.plan, &plan_options, NULL), TAMIS_OK);
    trial.added = keys;
    return trial;
}

static void judge_hits(plan_trial *trial, uint64_t hits) {
    trial->computed = compute(trial);
    trial->queries = 1000000;
    trial->hits = hits;
    plan_trial_judge(trial);
}

static void verdicts(void **state) {
    plan_trial trial = trial_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 1000000, 1e-3);

    (void)state;
    judge_hits(&trial, 0);
    assert_string_equal(trial.verdict, "kept");
    judge_hits(&trial, 1100); /* three standard deviations */
    assert_string_equal(trial.verdict, "kept");
    assert_false(trial.broken);
    judge_hits(&trial, 1500);
    assert_string_equal(trial.verdict, "broken");
    assert_true(trial.broken);
    /* Filters with few keys vary more. */
    trial = trial_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 1000, 1e-3);
    judge_hits(&trial, 1500);
    assert_string_equal(trial.verdict, "kept");
    judge_hits(&trial, 2500);
    assert_string_equal(trial.verdict, "broken");
    /* Above the promised rate, as the plan predicts. */
    trial = trial_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, 1000, 1e-5);
    judge_hits(&trial, 0);
    assert_true(trial.computed == trial.plan.fpr_predicted && trial.computed > 2e-5);
    assert_string_equal(trial.verdict, "kept");
    judge_hits(&trial, 24);
    assert_string_equal(trial.verdict, "as computed");
    assert_false(trial.broken);
    judge_hits(&trial, 200);
    assert_string_equal(trial.verdict, "broken");
    trial = trial_of(TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 1000000, 1e-9);
    judge_hits(&trial, 0);
    assert_string_equal(trial.verdict, "too rare");
    judge_hits(&trial, 10);
    assert_string_equal(trial.verdict, "broken");
    trial = trial_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR63, 1000000, 1e-9);
    judge_hits(&trial, 2500);
    assert_string_equal(trial.verdict, "missed");
    assert_false(trial.broken);
}

/* With twice the keys, the predicted curve counts, not the promised rate, which was for half of them. */
static void overfilled(void **state) {
    plan_trial trial = trial_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 20000, 0.01);
    tamis_error err = TAMIS_ERROR_INIT;

    (void)state;
    trial.added = 40000;
    assert_int_equal(plan_trial_run(&trial, &err), TAMIS_OK);
    assert_near(trial.computed, 0.157, 0.01);
    assert_near((double)trial.hits / (double)trial.queries, trial.computed, 0.03);
    assert_string_equal(trial.verdict, "as computed");
    judge_hits(&trial, 200000);
    assert_string_equal(trial.verdict, "broken");
}

/* No added key is looked up, although words repeat: there are 456,976 words of four letters. */
static void keys_are_new(void **state) {
    enum { ADDED = 50000 };
    static key_stream stream;
    tamis_error err = TAMIS_ERROR_INIT;

    (void)state;
    for (int form = TRIAL_NUMBERS; form <= TRIAL_URLS; form++) {
        plan_trial trial = trial_of(TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, ADDED, 0);
        tamis_filter *filter;
        uint64_t hits = 0;
        trial.keys = (trial_keys)form;
        assert_int_equal(open_stream(&stream, &trial, &err), TAMIS_OK);
        assert_int_equal(tamis_filter_create(&filter, &trial.plan, NULL, &err), TAMIS_OK);
        assert_int_equal(fill_filter(filter, &stream, ADDED, &err), TAMIS_OK);
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        assert_int_equal(tamis_filter_info_get(filter, &info, &err), TAMIS_OK);
        assert_int_equal(info.added, ADDED);
        assert_int_equal(query_keys(filter, &stream, ADDED, &hits, &err), TAMIS_OK);
        assert_int_equal(hits, 0);
        assert_true(form == TRIAL_WORDS || stream.next == 2 * ADDED);
        assert_true(form != TRIAL_WORDS || stream.next > 2 * ADDED);
        tamis_filter_free(stream.known);
        tamis_filter_free(filter);
    }
}

static void allows_a_filter_its_spread(void **state) {
    plan_trial trial = trial_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 1000000, 1e-3);
    (void)state;
    assert_near(plan_trial_allowed(&trial.plan, 1e-3, 1e6), 1e-3 * (1 + 6 * sqrt(log2(1000)) / 1000), 1e-12);
    assert_true(plan_trial_allowed(&trial.plan, 1e-3, 10) > plan_trial_allowed(&trial.plan, 1e-3, 100));
    assert_true(plan_trial_allowed(&trial.plan, 0.5, 0) == 1);
    assert_true(plan_trial_allowed(&trial.plan, 0, 1000) == 0); /* not NaN */
    assert_int_equal(plan_trial_questions(&trial.plan, 1e-3), 2500000);
    assert_int_equal(plan_trial_questions(&trial.plan, 0.5), 100000);
    assert_int_equal(plan_trial_questions(&trial.plan, 0), 10000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals),    cmocka_unit_test(beyond_chance),
        cmocka_unit_test(verdicts),     cmocka_unit_test(overfilled),
        cmocka_unit_test(keys_are_new), cmocka_unit_test(allows_a_filter_its_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
