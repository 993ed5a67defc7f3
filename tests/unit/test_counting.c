/* SPDX-License-Identifier: BSD-2-Clause */

/* Kind counting: what adds, removals, saturated counters and unions do to the count of a key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "filter/bloom/bloom_int.h"
#include "property/filter_model.h"

enum { KEYS = 3000 };

static tamis_filter *make(uint64_t expect, double fpr) {
    filter_case c = {"counting", TAMIS_KIND_COUNTING, TAMIS_SCHEME_XXH3, false, fpr};
    return case_filter(&c, expect);
}

static tamis_answer add(tamis_filter *filter, uint64_t key) {
    tamis_answer answer = TAMIS_UNKNOWN;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_filter_add(filter, &key, sizeof key, &answer, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return answer;
}

static tamis_answer remove_key(tamis_filter *filter, uint64_t key) {
    tamis_answer answer = TAMIS_UNKNOWN;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_filter_remove(filter, &key, sizeof key, &answer, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return answer;
}

static bool has(const tamis_filter *filter, uint64_t key) {
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_int_equal(tamis_filter_contains(filter, &key, sizeof key, &answer, NULL), TAMIS_OK);
    return answer == TAMIS_PRESENT;
}

static uint64_t count_of(const tamis_filter *filter, uint64_t key) {
    uint64_t count = UINT64_MAX;
    assert_int_equal(tamis_filter_count_key(filter, &key, sizeof key, &count, NULL), TAMIS_OK);
    return count;
}

static bool is_zero(const tamis_filter *filter) {
    size_t count;
    const uint64_t *words = tamis__bloom_words(filter, &count);
    for (size_t i = 0; i < count; i++)
        if (words[i])
            return false;
    return true;
}

static void a_key_is_removed_as_often_as_it_was_added(void **state) {
    (void)state;
    tamis_filter *filter = make(100, 0.01);
    assert_true(tamis_filter_can(filter, TAMIS_CAN_REMOVE) && tamis_filter_can(filter, TAMIS_CAN_UNION));
    assert_false(tamis_filter_can(filter, TAMIS_CAN_GROW));
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(count_of(filter, 7), i);
        assert_int_equal(add(filter, 7), i ? TAMIS_PRESENT : TAMIS_ABSENT);
    }
    assert_int_equal(filter_info(filter).added, 1);
    for (uint64_t i = 5; i > 0; i--) {
        assert_int_equal(count_of(filter, 7), i);
        assert_int_equal(remove_key(filter, 7), TAMIS_PRESENT);
        assert_int_equal(filter_info(filter).added, i > 1);
    }
    assert_false(has(filter, 7));
    assert_int_equal(remove_key(filter, 7), TAMIS_ABSENT);
    assert_true(is_zero(filter));
    tamis_filter_free(filter);
}

/* Even if probes of a key share counters, which 40 probes in 128 counters do. */
static void removals_restore_every_counter(void **state) {
    (void)state;
    static const uint32_t probes[] = {1, 2, 7, 8, 14, 40, 255};
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
        tamis_plan plan = TAMIS_PLAN_INIT;
        options.kind = TAMIS_KIND_COUNTING;
        options.expect = 100;
        options.fpr = 0.5;
        assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_OK);
        plan.probes = probes[i];
        plan.bits = 512 * 50;
        tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
        filter_options.allow_over_capacity = true;
        tamis_filter *filter = create_filter(&plan, &filter_options), *before = NULL;
        model_add_range(filter, 0, 50, 1, NULL);
        assert_int_equal(tamis_filter_copy(&before, filter, NULL), TAMIS_OK);
        for (uint64_t key = 1000; key < 1040; key++)
            add(filter, key);
        assert_false(tamis_filter_is_equal(filter, before));
        for (uint64_t key = 1000; key < 1040; key++)
            assert_int_equal(remove_key(filter, key), TAMIS_PRESENT);
        if (filter_info(filter).counters_saturated == 0)
            assert_true(tamis_filter_is_equal(filter, before));
        else
            assert_true(probes[i] >= 40);
        assert_int_equal(model_count_present(filter, 0, 50, 1), 50);
        tamis_filter_free(filter);
        tamis_filter_free(before);
    }
}

static void a_removal_of_an_absent_key_changes_nothing(void **state) {
    (void)state;
    tamis_filter *filter = make(KEYS, 0.01), *before = NULL;
    model_add_range(filter, 0, KEYS / 2, 1, NULL);
    assert_int_equal(tamis_filter_copy(&before, filter, NULL), TAMIS_OK);
    uint64_t absent = 0;
    for (uint64_t key = 0; key < 100; key++)
        if (!has(filter, key)) {
            assert_int_equal(remove_key(filter, key), TAMIS_ABSENT);
            absent++;
        }
    assert_true(absent > 80);
    assert_true(tamis_filter_is_equal(filter, before));
    assert_int_equal(filter_info(filter).added, filter_info(before).added);
    tamis_filter_free(before);
    tamis_filter_free(filter);
}

static void a_counter_of_15_stays(void **state) {
    (void)state;
    tamis_filter *filter = make(100, 0.01);
    const uint32_t probes = tamis_filter_plan(filter)->probes;
    for (int i = 0; i < 14; i++)
        add(filter, 1);
    assert_int_equal(filter_info(filter).counters_saturated, 0);
    assert_int_equal(remove_key(filter, 1), TAMIS_PRESENT);
    assert_int_equal(count_of(filter, 1), 13);
    for (int i = 0; i < 20; i++)
        add(filter, 1);
    const uint64_t saturated = filter_info(filter).counters_saturated;
    assert_true(saturated > 1 && saturated <= probes);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(remove_key(filter, 1), TAMIS_PRESENT);
        assert_int_equal(count_of(filter, 1), 15);
    }
    assert_int_equal(filter_info(filter).added, 1);
    assert_int_equal(filter_info(filter).ones, saturated);
    assert_int_equal(tamis_filter_clear(filter, NULL), TAMIS_OK);
    assert_int_equal(filter_info(filter).counters_saturated, 0);
    assert_false(has(filter, 1));
    tamis_filter_free(filter);
}

/* A key that shares saturated counters with another one can still be removed: by its other counters. */
static void keys_beside_saturated_counters_can_be_removed(void **state) {
    (void)state;
    tamis_filter *filter = make(1000, 1e-3);
    for (int i = 0; i < 20; i++)
        add(filter, 1);
    uint64_t removed = 0;
    for (uint64_t key = 2; key < 1000; key++)
        removed += add(filter, key) == TAMIS_ABSENT;
    for (uint64_t key = 2; key < 1000; key++)
        assert_int_equal(remove_key(filter, key), TAMIS_PRESENT);
    assert_true(has(filter, 1));
    for (uint64_t key = 2; key < 1000; key++)
        removed -= !has(filter, key);
    assert_true(removed < 20);
    assert_int_equal(filter_info(filter).ones, filter_info(filter).counters_saturated);
    tamis_filter_free(filter);
}

static void a_full_filter_takes_keys_for_removed_ones(void **state) {
    (void)state;
    tamis_filter *filter = make(200, 0.01);
    const uint64_t present = 3;
    uint64_t next = 0;
    size_t done = 7;
    tamis_answer answers[2] = {TAMIS_UNKNOWN, TAMIS_UNKNOWN};
    while (filter_info(filter).added < 200)
        add(filter, next++);
    while (has(filter, next))
        next++;
    const tamis_key keys[] = {{&present, sizeof present}, {&next, sizeof next}};
    assert_int_equal(tamis_filter_add_many(filter, keys, 2, answers, &done, NULL), TAMIS_E_FULL);
    assert_int_equal(done, 1);
    assert_int_equal(answers[0], TAMIS_PRESENT);
    assert_int_equal(answers[1], TAMIS_UNKNOWN);
    assert_int_equal(count_of(filter, present), 2); /* present keys are counted in a full filter too */
    assert_int_equal(filter_info(filter).full, TAMIS_FULL_CAPACITY);
    remove_key(filter, present);
    remove_key(filter, present);
    while (has(filter, present)) /* others have its counters */
        remove_key(filter, (next += 1000) % 200);
    assert_int_equal(add(filter, 100000), TAMIS_ABSENT);
    tamis_filter_free(filter);
}

static void a_union_adds_counters(void **state) {
    (void)state;
    tamis_filter *a = make(KEYS, 0.01), *b = make(KEYS, 0.01), *larger = make(2 * KEYS, 0.01);
    for (uint64_t key = 0; key < 2; key++)
        for (int i = 0; i < 8; i++) {
            add(a, key);
            if (i < (key ? 8 : 6))
                add(b, key);
        }
    model_add_range(b, 0, KEYS / 2, 1, NULL);
    assert_true(tamis_filter_is_compatible(a, b));
    assert_int_equal(tamis_filter_union(a, b, NULL), TAMIS_OK);
    assert_int_equal(count_of(a, 0), 14);
    assert_int_equal(count_of(a, 1), 15);
    assert_int_equal(model_count_present(a, 0, KEYS / 2, 1), KEYS / 2);
    const double added = (double)filter_info(a).added;
    assert_true(added >= (double)filter_info(b).added && added <= (double)filter_info(b).added + 2);
    for (int i = 0; i < 14; i++)
        assert_int_equal(remove_key(a, 0), TAMIS_PRESENT);
    assert_int_equal(tamis_filter_union(larger, a, NULL), TAMIS_E_MISMATCH);
    assert_int_equal(tamis_filter_union(larger, larger, NULL), TAMIS_OK);
    tamis_filter_free(a);
    tamis_filter_free(b);
    tamis_filter_free(larger);
}

static void files_keep_counters(void **state) {
    (void)state;
    scratch_make();
    const char *path = scratch("counting.tamis");
    tamis_filter *filter = make(KEYS, 0.01), *other = make(KEYS, 0.01), *opened = NULL;
    tamis_open_options writable = TAMIS_OPEN_OPTIONS_INIT;
    tamis_answer answer;
    tamis_error err = TAMIS_ERROR_INIT;
    writable.writable = true;
    for (int i = 0; i < 20; i++)
        add(filter, i < 16 ? 1 : 2);
    model_add_range(filter, 0, KEYS / 2, 1, NULL);
    model_add_range(other, KEYS / 2, KEYS / 4, 1, NULL);
    assert_int_equal(tamis_filter_union(filter, other, NULL), TAMIS_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(tamis_filter_save(filter, path, NULL), TAMIS_OK);
        if (tamis_filter_open(&opened, path, NULL, &err) != TAMIS_OK)
            fail_msg("%s", err.text);
        const uint64_t key = 2;
        assert_int_equal(tamis_filter_remove(opened, &key, 8, &answer, &err), TAMIS_E_UNSUPPORTED);
        assert_true(tamis_filter_is_equal(opened, filter));
        assert_int_equal(count_of(opened, 2), count_of(filter, 2));
        assert_int_equal(filter_info(opened).counters_saturated, filter_info(filter).counters_saturated);
        assert_true(filter_info(opened).false_present >= 0);
        tamis_filter_free(opened);
        opened = NULL;
        assert_int_equal(tamis_filter_open(&opened, path, &writable, NULL), TAMIS_OK);
        tamis_filter_free(filter);
        filter = opened;
        opened = NULL;
        /* Fewer keys are left than the union had: the file of the next round must store that. */
        static model_batch batch;
        for (uint64_t from = 0; from < KEYS / 2; from += batch.count) {
            batch.count = 0;
            while (batch.count < MODEL_BATCH && from + batch.count < KEYS / 2)
                batch_put(&batch, from + batch.count, 1);
            if (round == 0)
                assert_int_equal(tamis_filter_remove_many(filter, batch.key, batch.count, NULL, NULL, NULL),
                                 TAMIS_OK);
        }
    }
    assert_int_equal(model_count_present(filter, KEYS / 2, KEYS / 4, 1), KEYS / 4);
    assert_true(model_count_present(filter, 0, KEYS / 2, 1) < KEYS / 50);
    tamis_filter_free(filter);
    tamis_filter_free(other);
    scratch_remove();
}

static void a_comparison_sees_counters(void **state) {
    (void)state;
    tamis_filter *a = make(100, 0.01), *b = make(100, 0.01);
    tamis_difference difference = TAMIS_DIFFERENCE_INIT;
    add(a, 1);
    add(b, 1);
    assert_int_equal(tamis_filter_compare(&difference, a, b, NULL), TAMIS_OK);
    assert_true(difference.same_body);
    add(b, 1);
    assert_int_equal(tamis_filter_compare(&difference, a, b, NULL), TAMIS_OK);
    assert_false(difference.same_body || tamis_filter_is_equal(a, b));
    assert_int_equal(difference.only_a + difference.only_b, 0);
    add(b, 2);
    assert_int_equal(tamis_filter_compare(&difference, a, b, NULL), TAMIS_OK);
    assert_int_equal(difference.in_both, filter_info(a).ones);
    assert_int_equal(difference.in_both + difference.only_b, filter_info(b).ones);
    tamis_filter_free(a);
    tamis_filter_free(b);
}

/* A session adds a key each time it comes, so counters would be saturated by duplicates. */
static void dedup_refuses_it(void **state) {
    (void)state;
    tamis_filter *filter = make(100, 0.01);
    tamis_dedup *session = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_dedup_open(&session, filter, NULL, &err), TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "kind counting counts a key again"));
    tamis_filter_free(filter);
}

static void plans_are_for_a_given_number_of_keys(void **state) {
    (void)state;
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    options.kind = TAMIS_KIND_COUNTING;
    options.fpr = 0.01;
    assert_int_equal(tamis_plan_make(&plan, &options, &err), TAMIS_E_INVALID);
    options.expect = 1000000;
    assert_int_equal(tamis_plan_make(&plan, &options, &err), TAMIS_OK);
    assert_true(plan.bits % 512 == 0 && plan.memory == plan.bits / 8 && plan.lines_touched == 1);
    assert_true(plan.fpr_predicted <= 0.01 && plan.fpr_predicted > 0.00999);
    assert_true(plan.bits_per_key > 43 && plan.bits_per_key < 44);
    options.fpr = 1e-9;
    assert_int_equal(tamis_plan_make(&plan, &options, &err), TAMIS_E_RANGE);
    assert_non_null(strstr(err.text, "cannot reach a rate of 1e-9 in its 128-counter blocks"));
    options.fpr = 0;
    options.memory = 8 << 20;
    assert_int_equal(tamis_plan_fit(&plan, &options, &err), TAMIS_OK);
    assert_int_equal(plan.memory, 8 << 20);
    assert_true(plan.fpr > 1e-3 && plan.fpr < 2e-3);
    options.expect = 0;
    options.fpr = 0.01;
    assert_int_equal(tamis_plan_fit(&plan, &options, &err), TAMIS_OK);
    assert_true(plan.memory <= 8 << 20 && plan.capacity > 1500000 && plan.capacity < 1600000);
    options.scheme = TAMIS_SCHEME_BKDR63;
    assert_int_equal(tamis_plan_fit(&plan, &options, &err), TAMIS_E_UNSUPPORTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_removed_as_often_as_it_was_added),
        cmocka_unit_test(removals_restore_every_counter),
        cmocka_unit_test(a_removal_of_an_absent_key_changes_nothing),
        cmocka_unit_test(a_counter_of_15_stays),
        cmocka_unit_test(keys_beside_saturated_counters_can_be_removed),
        cmocka_unit_test(a_full_filter_takes_keys_for_removed_ones),
        cmocka_unit_test(a_union_adds_counters),
        cmocka_unit_test(files_keep_counters),
        cmocka_unit_test(a_comparison_sees_counters),
        cmocka_unit_test(dedup_refuses_it),
        cmocka_unit_test(plans_are_for_a_given_number_of_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
