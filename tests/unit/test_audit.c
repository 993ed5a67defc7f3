/* SPDX-License-Identifier: BSD-2-Clause */
/* Audits: false negatives and the measured rate of a filter, beside what is known about it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/audit.h>

#include "support/fault.h"

enum { KEYS = 20000, TEXT = 16 };

static char texts[KEYS][TEXT];
static tamis_key keys[KEYS];
static tamis_answer answers[KEYS];

static void assert_near(double value, double expected, double part) {
    if (!(fabs(value - expected) <= part * expected))
        fail_msg("%.10g, expected %.10g", value, expected);
}

static int make_keys(void **state) {
    (void)state;
    for (int i = 0; i < KEYS; i++)
        keys[i] = (tamis_key){texts[i], (size_t)snprintf(texts[i], TEXT, "key-%06d", i)};
    return 0;
}

static tamis_plan plan_of(tamis_kind kind, tamis_scheme scheme, uint64_t expect, double fpr) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    options.kind = kind;
    options.scheme = scheme;
    options.expect = expect;
    options.fpr = fpr;
    assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_OK);
    return plan;
}

/* Makes a filter with the first `count` keys. */
static tamis_filter *filter_of(const tamis_plan *plan, size_t count) {
    tamis_filter *filter = NULL;
    assert_int_equal(tamis_filter_create(&filter, plan, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_add_many(filter, keys, count, NULL, NULL, NULL), TAMIS_OK);
    return filter;
}

static tamis_audit *create(const tamis_filter *filter, tamis_key_shape shape, uint64_t seed) {
    tamis_audit_options options = TAMIS_AUDIT_OPTIONS_INIT;
    tamis_audit *audit = NULL;
    options.shape = shape;
    options.seed = seed;
    assert_int_equal(tamis_audit_create(&audit, filter, &options, NULL), TAMIS_OK);
    return audit;
}

/* Looks up random keys until there are `queries`, and returns the result. */
static tamis_audit_result query(tamis_audit *audit, uint64_t queries) {
    tamis_audit_result result = TAMIS_AUDIT_RESULT_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    while (tamis_audit_result_get(audit, &result), result.queries < queries) {
        uint64_t before = result.queries;
        if (tamis_audit_query_random(audit, queries - result.queries, &err) != TAMIS_OK)
            fail_msg("%s", err.text);
        tamis_audit_result_get(audit, &result);
        assert_true(result.queries > before);
    }
    assert_true(result.queries == queries);
    return result;
}

static void measures_the_rate(void **state) {
    static const struct {
        tamis_kind kind;
        tamis_scheme scheme;
    } cases[] = {{TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3},
                 {TAMIS_KIND_BLOCKED, TAMIS_SCHEME_XXH3},
                 {TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64},
                 {TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_plan plan = plan_of(cases[i].kind, cases[i].scheme, KEYS, 0.01);
        tamis_filter *filter = filter_of(&plan, KEYS);
        tamis_audit *audit = create(filter, TAMIS_KEY_SHAPE_TEXT, 1);
        assert_int_equal(tamis_audit_check_keys(audit, keys, KEYS, answers, NULL), TAMIS_OK);
        assert_int_equal(tamis_audit_check_keys(audit, keys, 100, answers, NULL), TAMIS_OK);
        tamis_audit_result result = query(audit, 100000);
        assert_int_equal(result.keys, KEYS + 100);
        assert_int_equal(result.distinct, KEYS);
        assert_int_equal(result.missing, 0);
        double allowed = tamis_audit_max_rate(&plan, fmax(plan.fpr, plan.fpr_predicted), KEYS), low, high;
        assert_true(tamis_rate_p_value(result.hits, result.queries, allowed) > TAMIS_RATE_SIGNIFICANCE);
        tamis_rate_interval(&low, &high, result.hits, result.queries, 1 - 1e-6);
        assert_true(high > 0.9 * plan.fpr_predicted || cases[i].kind == TAMIS_KIND_FINGERPRINT);
        tamis_audit_free(audit);
        tamis_filter_free(filter);
    }
}

/* An exact filter answers no random key wrongly. So a hit would be a random key that was checked. */
static void random_keys_are_new(void **state) {
    tamis_plan plan = plan_of(TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, KEYS, 0);
    tamis_filter *filter = filter_of(&plan, KEYS);
    tamis_audit *audit = create(filter, TAMIS_KEY_SHAPE_TEXT, 2);
    (void)state;
    assert_int_equal(tamis_audit_check_keys(audit, keys, KEYS, answers, NULL), TAMIS_OK);
    assert_int_equal(query(audit, 50000).hits, 0);
    tamis_audit_free(audit);
    /* One checked key of one digit: the shape has ten keys, and is widened. */
    audit = create(filter, TAMIS_KEY_SHAPE_TEXT, 2);
    assert_int_equal(tamis_audit_check_keys(audit, &(tamis_key){"7", 1}, 1, answers, NULL), TAMIS_OK);
    assert_int_equal(answers[0], TAMIS_ABSENT);
    tamis_audit_result result = query(audit, 5000);
    assert_int_equal(result.missing, 1);
    assert_int_equal(result.hits, 0);
    tamis_audit_free(audit);
    tamis_filter_free(filter);
}

static void missing_keys_are_counted(void **state) {
    tamis_plan plan = plan_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, KEYS, 1e-9);
    tamis_filter *filter = filter_of(&plan, KEYS - 10);
    tamis_audit *audit = create(filter, TAMIS_KEY_SHAPE_TEXT, 3);
    tamis_audit_result result = TAMIS_AUDIT_RESULT_INIT;
    (void)state;
    assert_int_equal(tamis_audit_check_keys(audit, keys, KEYS, answers, NULL), TAMIS_OK);
    tamis_audit_result_get(audit, &result);
    assert_int_equal(result.missing, 10);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(answers[i], i < KEYS - 10 ? TAMIS_PRESENT : TAMIS_ABSENT);
    tamis_audit_free(audit);
    tamis_filter_free(filter);
}

/* With twice the keys that it was made for, a filter has the rate (1 - 2^-2)^k, 0.157, instead of 0.01.
 * The same seed gives the same hits. */
static void finds_a_broken_promise(void **state) {
    tamis_plan plan = plan_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, KEYS / 2, 0.01);
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_audit_result result[2];
    tamis_filter *filter = NULL;
    (void)state;
    options.allow_over_capacity = true;
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_add_many(filter, keys, KEYS, NULL, NULL, NULL), TAMIS_OK);
    for (int i = 0; i < 2; i++) {
        tamis_audit *audit = create(filter, TAMIS_KEY_SHAPE_TEXT, 4);
        assert_int_equal(tamis_audit_check_keys(audit, keys, KEYS, answers, NULL), TAMIS_OK);
        result[i] = query(audit, 100000);
        tamis_audit_free(audit);
    }
    assert_int_equal(result[0].hits, result[1].hits);
    assert_near((double)result[0].hits / 100000, 0.157, 0.03);
    double allowed = tamis_audit_max_rate(&plan, plan.fpr, KEYS);
    assert_true(tamis_rate_p_value(result[0].hits, 100000, allowed) < TAMIS_RATE_SIGNIFICANCE);
    tamis_filter_free(filter);
}

static void int32_has_a_limited_supply(void **state) {
    static const int32_t number = 5;
    tamis_plan plan = plan_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, KEYS, 0.01);
    tamis_filter *filter = filter_of(&plan, 0);
    tamis_audit *audit = create(filter, TAMIS_KEY_SHAPE_INT32, 5),
                *text = create(filter, TAMIS_KEY_SHAPE_TEXT, 5);
    tamis_error err = TAMIS_ERROR_INIT;
    (void)state;
    assert_true(tamis_audit_queries_left(text) == UINT64_MAX);
    assert_true(tamis_audit_queries_left(audit) == UINT64_C(1) << 31);
    assert_int_equal(tamis_audit_check_keys(audit, &(tamis_key){&number, 4}, 1, answers, &err), TAMIS_OK);
    (void)query(audit, 1000);
    assert_true(tamis_audit_queries_left(audit) == (UINT64_C(1) << 31) - 1001);
    assert_int_equal(tamis_audit_query_random(audit, (UINT64_C(1) << 31) - 1000, &err), TAMIS_E_RANGE);
    assert_int_equal(tamis_audit_query_random(audit, 0, &err), TAMIS_E_RANGE);
    tamis_audit_free(audit);
    tamis_audit_free(text);
    tamis_filter_free(filter);
}

static void allows_a_filter_its_spread(void **state) {
    tamis_plan plan = plan_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 1000000, 1e-3);
    (void)state;
    assert_near(tamis_audit_max_rate(&plan, 1e-3, 1e6), 1e-3 * (1 + 6 * sqrt(log2(1000)) / 1000), 1e-12);
    assert_true(tamis_audit_max_rate(&plan, 1e-3, 10) > tamis_audit_max_rate(&plan, 1e-3, 100));
    assert_true(tamis_audit_max_rate(&plan, 0.5, 0) == 1);
    assert_true(tamis_audit_max_rate(&plan, 0, 1000) == 0); /* not NaN */
    assert_int_equal(tamis_audit_queries(&plan, 1e-3), 2500000);
    assert_int_equal(tamis_audit_queries(&plan, 0.5), 100000);
    assert_int_equal(tamis_audit_queries(&plan, 0), 10000000);
}

/* ---- verdicts ---- */

/* A million lookups in a filter of which everything is known; the rule is PROMISED. */
static tamis_audit_evidence evidence_of(const tamis_plan *plan, uint64_t hits) {
    tamis_audit_evidence evidence = TAMIS_AUDIT_EVIDENCE_INIT;
    double high;
    evidence.queries = 1000000;
    evidence.hits = hits;
    evidence.keys = (double)plan->capacity;
    evidence.computed = plan->fpr_predicted;
    tamis_rate_interval(&evidence.low, &high, hits, evidence.queries, 0.99);
    return evidence;
}

static tamis_audit_verdict verdict_of(const tamis_plan *plan, const tamis_audit_evidence *evidence) {
    tamis_audit_verdict verdict = TAMIS_AUDIT_NO_PROMISE;
    assert_int_equal(tamis_audit_judge(&verdict, plan, evidence, NULL), TAMIS_OK);
    return verdict;
}

static tamis_audit_verdict judge(const tamis_plan *plan, tamis_audit_rule rule, uint64_t hits) {
    tamis_audit_evidence evidence = evidence_of(plan, hits);
    evidence.rule = rule;
    return verdict_of(plan, &evidence);
}

static void judges_a_promise(void **state) {
    const tamis_audit_rule rule = TAMIS_AUDIT_RULE_PROMISED;
    tamis_plan plan = plan_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 1000000, 1e-3);
    (void)state;
    assert_int_equal(judge(&plan, rule, 0), TAMIS_AUDIT_KEPT);
    assert_int_equal(judge(&plan, rule, 1000), TAMIS_AUDIT_KEPT);
    assert_int_equal(judge(&plan, rule, 1130), TAMIS_AUDIT_DOUBTFUL); /* four standard deviations */
    assert_int_equal(judge(&plan, rule, 1500), TAMIS_AUDIT_BROKEN);
    plan.fpr = 1;
    assert_int_equal(judge(&plan, rule, 1000000), TAMIS_AUDIT_NO_PROMISE);
    plan = plan_of(TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 1000000, 1e-9);
    assert_int_equal(judge(&plan, rule, 0), TAMIS_AUDIT_TOO_RARE);
    /* One hit is doubtful here, and not too rare: its interval begins at 5e-9. */
    assert_int_equal(judge(&plan, rule, 1), TAMIS_AUDIT_DOUBTFUL);
}

/* A few per cent come from rounding; more than a tenth is a rate that was not promised. */
static void allows_a_promise_its_rounding(void **state) {
    tamis_plan plan = plan_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 100000000, 1e-3);
    (void)state;
    plan.fpr_predicted = 1.09e-3;
    assert_int_equal(judge(&plan, TAMIS_AUDIT_RULE_PROMISED, 1130), TAMIS_AUDIT_KEPT);
    plan.fpr_predicted = 1.11e-3;
    assert_int_equal(judge(&plan, TAMIS_AUDIT_RULE_PROMISED, 1130), TAMIS_AUDIT_DOUBTFUL);
    plan.fpr_predicted = 2e-3;
    assert_int_equal(judge(&plan, TAMIS_AUDIT_RULE_PROMISED, 2000), TAMIS_AUDIT_BROKEN);
}

static void is_undecided_if_keys_are_missing(void **state) {
    tamis_plan plan = plan_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 10000, 1e-3);
    tamis_audit_evidence evidence = evidence_of(&plan, 5000);
    (void)state;
    assert_int_equal(verdict_of(&plan, &evidence), TAMIS_AUDIT_BROKEN);
    evidence.has_checked = true;
    evidence.checked = 9400; /* six standard deviations below */
    assert_int_equal(verdict_of(&plan, &evidence), TAMIS_AUDIT_UNDECIDED);
    evidence.checked = 9600; /* four */
    assert_int_equal(verdict_of(&plan, &evidence), TAMIS_AUDIT_BROKEN);
    evidence.checked = 100;
    evidence.computed = 5e-3; /* the filter is over capacity, which explains the hits */
    assert_int_equal(verdict_of(&plan, &evidence), TAMIS_AUDIT_BROKEN);
    evidence.computed = 1e-3;
    evidence.keys = INFINITY; /* unknown, as in a filter of which all bits are set */
    evidence.hits = 50000;
    assert_int_equal(verdict_of(&plan, &evidence), TAMIS_AUDIT_BROKEN);
}

/* The same hits as in judges_a_promise: a trial is never doubtful, and its computed rate may be above. */
static void judges_a_trial(void **state) {
    const tamis_audit_rule rule = TAMIS_AUDIT_RULE_COMPUTED;
    tamis_plan plan = plan_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 1000000, 1e-3);
    (void)state;
    assert_int_equal(judge(&plan, rule, 1130), TAMIS_AUDIT_KEPT);
    assert_int_equal(judge(&plan, rule, 1500), TAMIS_AUDIT_BROKEN);
    plan.fpr_predicted = 2e-3;
    assert_int_equal(judge(&plan, rule, 1000), TAMIS_AUDIT_KEPT);
    assert_int_equal(judge(&plan, rule, 2000), TAMIS_AUDIT_AS_COMPUTED);
    assert_int_equal(judge(&plan, rule, 3000), TAMIS_AUDIT_BROKEN);
    tamis_audit_evidence evidence = evidence_of(&plan, 200000);
    evidence.rule = rule;
    evidence.keys = 2e6; /* over capacity: the promise was for half of the keys */
    evidence.computed = 0.2;
    assert_int_equal(verdict_of(&plan, &evidence), TAMIS_AUDIT_AS_COMPUTED);
    plan = plan_of(TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 1000000, 1e-9);
    assert_int_equal(judge(&plan, rule, 1), TAMIS_AUDIT_TOO_RARE);
    assert_int_equal(judge(&plan, rule, 10), TAMIS_AUDIT_BROKEN);
}

static void refuses_impossible_evidence(void **state) {
    tamis_plan plan = plan_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, 1000, 1e-3);
    tamis_audit_evidence evidence = evidence_of(&plan, 1000);
    tamis_audit_verdict verdict = TAMIS_AUDIT_DOUBTFUL;
    tamis_error err = TAMIS_ERROR_INIT;
    (void)state;
    evidence.hits = evidence.queries + 1;
    assert_int_equal(tamis_audit_judge(&verdict, &plan, &evidence, &err), TAMIS_E_RANGE);
    evidence.hits = 1000;
    evidence.rule = (tamis_audit_rule)7;
    assert_int_equal(tamis_audit_judge(&verdict, &plan, &evidence, &err), TAMIS_E_INVALID);
    evidence.struct_size = 0;
    assert_int_equal(tamis_audit_judge(&verdict, &plan, &evidence, &err), TAMIS_E_INVALID);
    assert_int_equal(tamis_audit_judge(&verdict, &plan, NULL, &err), TAMIS_E_INVALID);
    assert_int_equal(verdict, TAMIS_AUDIT_DOUBTFUL);
}

/* Each allocation fails once: nothing leaks, and a call may be repeated. */
static void without_memory(void **state) {
    tamis_plan plan = plan_of(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, KEYS, 0.01);
    tamis_filter *filter = filter_of(&plan, KEYS);
    bool reached = true;
    (void)state;
    for (uint64_t n = 1; reached; n++) {
        fault_memory memory = {.fail_at = n};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_audit_options options = TAMIS_AUDIT_OPTIONS_INIT;
        tamis_audit_result result = TAMIS_AUDIT_RESULT_INIT;
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_audit *audit = NULL;
        options.allocator = &allocator;
        tamis_status status = tamis_audit_create(&audit, filter, &options, &err);
        if (status != TAMIS_OK) {
            assert_int_equal(status, TAMIS_E_NOMEM);
            assert_null(audit);
        } else {
            for (int tries = 0; tries < 2; tries++)
                if ((status = tamis_audit_check_keys(audit, keys, 5000, answers, &err)) == TAMIS_OK)
                    break;
            assert_int_equal(status, TAMIS_OK);
            tamis_audit_result_get(audit, &result);
            assert_int_equal(result.keys, 5000);
            assert_int_equal(result.distinct, 5000);
            assert_int_equal(result.missing, 0);
        }
        reached = memory.refused > 0;
        tamis_audit_free(audit);
        assert_int_equal(memory.live_blocks, 0);
    }
    tamis_filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_the_rate),
        cmocka_unit_test(random_keys_are_new),
        cmocka_unit_test(missing_keys_are_counted),
        cmocka_unit_test(finds_a_broken_promise),
        cmocka_unit_test(int32_has_a_limited_supply),
        cmocka_unit_test(allows_a_filter_its_spread),
        cmocka_unit_test(judges_a_promise),
        cmocka_unit_test(allows_a_promise_its_rounding),
        cmocka_unit_test(is_undecided_if_keys_are_missing),
        cmocka_unit_test(judges_a_trial),
        cmocka_unit_test(refuses_impossible_evidence),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, make_keys, NULL);
}
