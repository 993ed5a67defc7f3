/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The command is not a library, so the tested files are compiled in. */
#include "cli/cmd/gen/gen_record.c"
#include "cli/cmd/plan/plan_trial.c"
#include "cli/core/cli_error.c"

static void assert_near(double value, double expected, double part) {
    if (!(fabs(value - expected) <= part * expected))
        fail_msg("%.10g, expected %.10g", value, expected);
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
    assert_int_equal(plan_trial_judge(trial, NULL), TAMIS_OK);
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
static void over_capacity(void **state) {
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts),
        cmocka_unit_test(over_capacity),
        cmocka_unit_test(keys_are_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
