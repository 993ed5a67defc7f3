/* SPDX-License-Identifier: BSD-2-Clause */

/* Kind cuckoo: its plans, its copies of keys, full filters and its files. tests/property/prop_cuckoo.c compares it
 * with a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tamis/experimental/state.h>

#include "fuzz/forge_native.h"
#include "property/filter_model.h"
#include "support/contains.h"

static const filter_case wide = {"cuckoo", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_XXH3, false, 1e-9};
static const filter_case narrow = {"cuckoo", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_XXH3, false, 0.05};

static void says(const tamis_error *err, tamis_status status, const char *what) {
    assert_int_equal(err->status, status);
    if (!strstr(err->text, what))
        fail_msg("\"%s\" does not say \"%s\"", err->text, what);
}

static uint64_t copies_of(const tamis_filter *filter, const void *key, size_t size) {
    uint64_t copies = UINT64_MAX;
    assert_int_equal(tamis_filter_count_key(filter, key, size, &copies, NULL), TAMIS_OK);
    return copies;
}

static tamis_answer add(tamis_filter *filter, const char *key) {
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_int_equal(tamis_filter_add(filter, key, strlen(key), &answer, NULL), TAMIS_OK);
    return answer;
}

static tamis_answer remove_key(tamis_filter *filter, const char *key) {
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_int_equal(tamis_filter_remove(filter, key, strlen(key), &answer, NULL), TAMIS_OK);
    return answer;
}

/* ---- plans ---- */

static tamis_status make_plan(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    *plan = (tamis_plan)TAMIS_PLAN_INIT;
    return tamis_plan_make(plan, options, err);
}

static void plans_keep_the_rate_with_the_narrowest_slots(void **state) {
    (void)state;
    static const double rates[] = {0.5, 0.03, 0.029, 1e-2, 1e-4, 1e-6, 1e-9, 1e-12, 6e-17};
    static const uint64_t sizes[] = {1, 8, 9, 100, 1000000, TAMIS_EXPECT_MAX};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
            tamis_plan plan;
            options.kind = TAMIS_KIND_CUCKOO;
            options.expect = sizes[j];
            options.fpr = rates[i];
            assert_int_equal(make_plan(&plan, &options, NULL), TAMIS_OK);
            assert_true(plan.fpr == rates[i] && plan.fpr_predicted <= plan.fpr);
            assert_true(plan.slot_bits >= 8 && plan.slot_bits <= 57);
            const double entries = 8.0 * (double)plan.capacity * plan.slot_bits / (double)plan.bits;
            assert_true(plan.slot_bits == 8 || 2.01 * entries / exp2(plan.slot_bits) > plan.fpr);
            assert_int_equal(plan.bits % (8 * plan.slot_bits), 0);
            assert_true(plan.bits / plan.slot_bits >= plan.capacity);
            if (sizes[j] >= 1000000)
                assert_true(plan.bits_per_key < plan.slot_bits / 0.94);
        }
}

static void refused_plans_say_why(void **state) {
    (void)state;
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan;
    tamis_error err = TAMIS_ERROR_INIT;
    options.kind = TAMIS_KIND_CUCKOO;
    assert_int_equal(make_plan(&plan, &options, &err), TAMIS_E_INVALID);
    says(&err, TAMIS_E_INVALID, "kind cuckoo: cannot grow");
    options.expect = 1000;
    options.fpr = 1e-17;
    assert_int_equal(make_plan(&plan, &options, &err), TAMIS_E_RANGE);
    says(&err, TAMIS_E_RANGE, "or kind exact");
    options.fpr = 1e-3;
    options.probes = 3;
    assert_int_equal(make_plan(&plan, &options, &err), TAMIS_E_INVALID);
    options.probes = 0;
    options.memory = 1000;
    assert_int_equal(make_plan(&plan, &options, &err), TAMIS_E_MEMORY_LIMIT);
    options.memory = 0;
    options.scheme = TAMIS_SCHEME_FNV_DCSO;
    assert_int_equal(make_plan(&plan, &options, &err), TAMIS_E_UNSUPPORTED);
    options.scheme = TAMIS_SCHEME_AUTO;
}

/* A number of keys that was requested for this kind is kept, since it cannot grow. */
static void guesses_are_kept(void **state) {
    (void)state;
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan;
    options.kind = TAMIS_KIND_CUCKOO;
    options.expect = 1000000000;
    tamis_plan_options_limit(&options, 1000);
    assert_int_equal(options.expect, 1000000000);
    assert_int_equal(options.kind, TAMIS_KIND_CUCKOO);
    assert_int_equal(make_plan(&plan, &options, NULL), TAMIS_OK);
    const tamis_plan before = plan;
    tamis_plan_start_small(&plan);
    assert_memory_equal(&plan, &before, sizeof plan);
}

static void fitted_plans_use_the_memory(void **state) {
    (void)state;
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    options.kind = TAMIS_KIND_CUCKOO;
    options.memory = 1 << 20;
    options.expect = 100000;
    assert_int_equal(tamis_plan_fit(&plan, &options, NULL), TAMIS_OK);
    assert_int_equal(plan.slot_bits, 57); /* more would not help */
    assert_true(plan.memory <= options.memory);
    options.expect = 400000;
    assert_int_equal(tamis_plan_fit(&plan, &options, NULL), TAMIS_OK);
    assert_true(plan.memory <= options.memory && plan.memory > options.memory * 9 / 10);
    assert_true(plan.fpr_predicted <= plan.fpr && plan.fpr < 1e-4);
    options.expect = 0;
    options.fpr = 1e-3;
    assert_int_equal(tamis_plan_fit(&plan, &options, NULL), TAMIS_OK);
    assert_true(plan.memory <= options.memory && plan.memory > options.memory - 64);
    options.expect = plan.capacity + 200;
    assert_int_equal(make_plan(&plan, &options, NULL), TAMIS_E_MEMORY_LIMIT);
}

/* ---- copies ---- */

/* Two keys that look alike: the second one is answered present, and survives the removal of the first one. */
static void a_key_with_the_slots_of_another_survives_its_removal(void **state) {
    (void)state;
    tamis_filter *filter = case_filter(&narrow, 1000);
    const uint64_t id = filter_hasher_id(filter);
    const tamis_hash pair[2] = {{{1000, UINT64_C(1) << 63}, id}, {{1001, (UINT64_C(1) << 63) + 1}, id}};
    tamis_answer answers[2];
    assert_int_equal(tamis_filter_add_hashes(filter, pair, 2, answers, NULL, NULL), TAMIS_OK);
    assert_int_equal(answers[0], TAMIS_ABSENT);
    assert_int_equal(answers[1], TAMIS_PRESENT);
    assert_int_equal(tamis_filter_remove_hashes(filter, &pair[0], 1, answers, NULL, NULL), TAMIS_OK);
    assert_int_equal(answers[0], TAMIS_PRESENT);
    assert_int_equal(tamis_filter_contains_hashes(filter, &pair[1], 1, answers, NULL, NULL), TAMIS_OK);
    assert_int_equal(answers[0], TAMIS_PRESENT);
    assert_int_equal(tamis_filter_remove_hashes(filter, &pair[1], 1, answers, NULL, NULL), TAMIS_OK);
    assert_int_equal(answers[0], TAMIS_PRESENT);
    assert_int_equal(tamis_filter_contains_hashes(filter, pair, 2, answers, NULL, NULL), TAMIS_OK);
    assert_true(answers[0] == TAMIS_ABSENT && answers[1] == TAMIS_ABSENT);
    assert_int_equal(filter_info(filter).added, 0);
    tamis_filter_free(filter);
}

static void each_add_needs_a_removal(void **state) {
    (void)state;
    tamis_filter *filter = case_filter(&wide, 100);
    assert_int_equal(copies_of(filter, "a", 1), 0);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(add(filter, "a"), i == 1 ? TAMIS_ABSENT : TAMIS_PRESENT);
        assert_int_equal(copies_of(filter, "a", 1), i);
        assert_int_equal(filter_info(filter).added, i);
    }
    for (int i = 3; i-- > 0;) {
        assert_int_equal(remove_key(filter, "a"), TAMIS_PRESENT);
        assert_int_equal(contains_key(filter, "a", 1), i > 0);
    }
    assert_int_equal(remove_key(filter, "a"), TAMIS_ABSENT);
    tamis_filter_free(filter);
}

/* The number of adds is not known after four copies, so none of them may go. */
static void four_copies_stay_for_ever(void **state) {
    (void)state;
    tamis_filter *filter = case_filter(&wide, 100);
    add(filter, "b");
    for (int i = 0; i < 20; i++)
        add(filter, "a");
    assert_int_equal(copies_of(filter, "a", 1), 4);
    assert_int_equal(filter_info(filter).added, 5);
    for (int i = 0; i < 30; i++)
        assert_int_equal(remove_key(filter, "a"), TAMIS_PRESENT);
    assert_int_equal(copies_of(filter, "a", 1), 4);
    assert_int_equal(remove_key(filter, "b"), TAMIS_PRESENT);
    assert_false(contains_key(filter, "b", 1));
    assert_int_equal(tamis_filter_clear(filter, NULL), TAMIS_OK);
    assert_int_equal(copies_of(filter, "a", 1), 0);
    tamis_filter_free(filter);
}

/* Keys that are added often leave slots for others. */
static void keys_added_often_do_not_fill_a_filter(void **state) {
    (void)state;
    enum { KEYS = 200 };
    tamis_filter *filter = case_filter(&wide, 100 * KEYS);
    for (int i = 0; i < 10; i++)
        model_add_range(filter, 0, KEYS, 0, NULL);
    assert_int_equal(filter_info(filter).added, 4 * KEYS);
    assert_int_equal(model_count_present(filter, 0, KEYS, 0), KEYS);
    tamis_filter_free(filter);
}

static void other_kinds_do_not_count(void **state) {
    (void)state;
    const filter_case exact = {"exact", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, false, 0};
    tamis_filter *filter = case_filter(&exact, 100);
    tamis_error err = TAMIS_ERROR_INIT;
    uint64_t copies = 7;
    assert_int_equal(tamis_filter_count_key(filter, "a", 1, &copies, &err), TAMIS_E_UNSUPPORTED);
    says(&err, TAMIS_E_UNSUPPORTED, "kind exact does not count");
    assert_int_equal(copies, 7);
    tamis_filter_free(filter);
}

/* ---- full filters ---- */

static void a_full_filter_has_lost_nothing(void **state) {
    (void)state;
    enum { KEYS = 5000 };
    tamis_filter *filter = case_filter(&wide, KEYS);
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_answer answer = TAMIS_UNKNOWN;
    model_add_range(filter, 0, KEYS, 0, NULL);
    assert_int_equal(tamis_filter_add(filter, "more", 4, &answer, &err), TAMIS_E_FULL);
    says(&err, TAMIS_E_FULL, "kind exact, which grows");
    assert_int_equal(answer, TAMIS_UNKNOWN);
    const tamis_filter_info info = filter_info(filter);
    assert_true(info.saturated && info.full == TAMIS_FULL_CAPACITY && info.added == KEYS);
    assert_int_equal(model_count_present(filter, 0, KEYS, 0), KEYS);
    uint64_t first[2] = {0, 0}; /* the bytes of key 0 are 8 zeros */
    assert_int_equal(tamis_filter_add(filter, first, 8, NULL, &err), TAMIS_E_FULL);
    assert_int_equal(tamis_filter_remove(filter, first, 8, &answer, NULL), TAMIS_OK);
    assert_int_equal(answer, TAMIS_PRESENT);
    assert_int_equal(add(filter, "more"), TAMIS_ABSENT);
    assert_true(contains_key(filter, "more", 4));
    assert_int_equal(model_count_present(filter, 1, KEYS - 1, 0), KEYS - 1);
    tamis_filter_free(filter);
}

static uint8_t *encoded(const tamis_filter *filter, size_t *size) {
    uint64_t bytes;
    assert_int_equal(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &bytes, NULL), TAMIS_OK);
    uint8_t *to = malloc((size_t)bytes);
    assert_non_null(to);
    assert_int_equal(tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, to, (size_t)bytes, NULL), TAMIS_OK);
    *size = (size_t)bytes;
    return to;
}

/* A table without a limit but its slots refuses a key when no entry can move. The bytes are then as before, but
 * for the flag that it is full. */
static void a_search_without_result_changes_nothing(void **state) {
    (void)state;
    tamis_plan plan = case_plan(&narrow, 2000, 0);
    plan.capacity = plan.bits / plan.slot_bits;
    tamis_filter *filter = plan_filter(&plan, NULL);
    tamis_error err = TAMIS_ERROR_INIT;
    uint64_t refused = 0;
    size_t size, after_size;
    for (uint64_t key = 0; key < 2 * plan.capacity && refused < 50; key++) {
        uint8_t *before = encoded(filter, &size);
        const tamis_status status = tamis_filter_add(filter, &key, sizeof key, NULL, &err);
        if (status != TAMIS_OK) {
            says(&err, TAMIS_E_FULL, "crowd");
            assert_int_equal(filter_info(filter).full, TAMIS_FULL_CROWDED);
            uint8_t *after = encoded(filter, &after_size);
            assert_int_equal(size, after_size);
            assert_memory_equal(after + 4096, before + 4096, size - 4096);
            free(after);
            refused++;
        }
        free(before);
    }
    assert_int_equal(refused, 50);
    assert_true((double)filter_info(filter).added > 0.95 * (double)plan.capacity);
    tamis_filter_free(filter);
}

/* ---- options, copies of filters, files ---- */

static void options_that_cannot_be_had_are_refused(void **state) {
    (void)state;
    const tamis_plan plan = case_plan(&wide, 100, 0);
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter = NULL, *other = case_filter(&wide, 100);
    tamis_error err = TAMIS_ERROR_INIT;
    options.concurrent = true;
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, &err), TAMIS_E_UNSUPPORTED);
    options.concurrent = false;
    options.frozen = true;
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, &err), TAMIS_E_INVALID);
    options.frozen = false;
    options.allow_over_capacity = true;
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, &err), TAMIS_E_UNSUPPORTED);
    options.allow_over_capacity = false;
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, &err), TAMIS_OK);
    assert_true(tamis_filter_can(filter, TAMIS_CAN_REMOVE) && tamis_filter_can(filter, TAMIS_CAN_COUNT));
    assert_int_equal(tamis_kind_copies_max(TAMIS_KIND_CUCKOO), 4);
    assert_int_equal(tamis_kind_copies_max(TAMIS_KIND_COUNTING), 15);
    assert_int_equal(tamis_kind_copies_max(TAMIS_KIND_EXACT), 0);
    assert_false(tamis_filter_can(filter, TAMIS_CAN_UNION));
    assert_false(tamis_filter_can(filter, TAMIS_CAN_GROW));
    assert_int_equal(tamis_filter_union(filter, other, &err), TAMIS_E_UNSUPPORTED);
    says(&err, TAMIS_E_UNSUPPORTED, "kind cuckoo has no unions");
    tamis_filter_free(filter);
    tamis_filter_free(other);
}

/* Each duplicate would be stored, until the filter is full of them. */
static void sessions_and_states_refuse_the_kind(void **state) {
    (void)state;
    const tamis_plan plan = case_plan(&wide, 100, 0);
    tamis_filter *filter = plan_filter(&plan, NULL);
    tamis_dedup *session = NULL;
    tamis_state *opened = NULL;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_dedup_open(&session, filter, NULL, &err), TAMIS_E_UNSUPPORTED);
    says(&err, TAMIS_E_UNSUPPORTED, "kind cuckoo");
    scratch_make();
    options.plan = &plan;
    assert_int_equal(tamis_state_open(&opened, scratch("."), &options, &err), TAMIS_E_UNSUPPORTED);
    says(&err, TAMIS_E_UNSUPPORTED, "kind cuckoo");
    scratch_remove();
    tamis_filter_free(filter);
}

static void impossible_plans_are_refused(void **state) {
    (void)state;
    tamis_plan plan = case_plan(&wide, 100, 0), wrong = plan;
    tamis_filter *filter = NULL;
    wrong.slot_bits = 58;
    assert_int_equal(tamis_filter_create(&filter, &wrong, NULL, NULL), TAMIS_E_INVALID);
    wrong = plan;
    wrong.bits -= 4 * plan.slot_bits; /* an odd number of buckets */
    assert_int_equal(tamis_filter_create(&filter, &wrong, NULL, NULL), TAMIS_E_INVALID);
    wrong = plan;
    wrong.capacity = plan.bits / plan.slot_bits + 1;
    assert_int_equal(tamis_filter_create(&filter, &wrong, NULL, NULL), TAMIS_E_INVALID);
}

static void files_and_copies_are_equal(void **state) {
    (void)state;
    enum { KEYS = 3000 };
    static const double rates[] = {0.05, 0.01, 1e-4, 1e-9, 1e-16};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        filter_case c = wide;
        c.fpr = rates[i];
        tamis_filter *filter = case_filter(&c, 2 * KEYS), *copy = NULL;
        tamis_difference difference = TAMIS_DIFFERENCE_INIT;
        model_add_range(filter, 0, KEYS, 0, NULL);
        for (int writable = 0; writable < 2; writable++) {
            tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
            tamis_filter *opened = NULL;
            scratch_make();
            options.writable = writable;
            assert_int_equal(tamis_filter_save(filter, scratch("f"), NULL), TAMIS_OK);
            assert_int_equal(tamis_filter_open(&opened, scratch("f"), &options, NULL), TAMIS_OK);
            assert_int_equal(model_count_present(opened, 0, KEYS, 0), KEYS);
            assert_int_equal(copies_of(opened, "\0\0\0\0\0\0\0", 8), copies_of(filter, "\0\0\0\0\0\0\0", 8));
            assert_int_equal(tamis_filter_compare(&difference, opened, filter, NULL), TAMIS_OK);
            assert_true(difference.same_hash && difference.same_shape && difference.same_body);
            assert_true(filter_info(opened).false_present == filter_info(filter).false_present);
            if (writable) {
                model_add_range(opened, KEYS, KEYS, 0, NULL);
                assert_int_equal(filter_info(opened).added, 2 * KEYS);
            }
            tamis_filter_free(opened);
            scratch_remove();
        }
        assert_int_equal(tamis_filter_copy(&copy, filter, NULL), TAMIS_OK);
        assert_true(tamis_filter_is_equal(copy, filter));
        assert_int_equal(add(copy, "more"), TAMIS_ABSENT);
        assert_false(tamis_filter_is_equal(copy, filter));
        tamis_filter_free(copy);
        tamis_filter_free(filter);
    }
}

/* Writes a number to a field of the file, corrects its checksums, and opens it. */
static void check_forged(const uint8_t *bytes, size_t size, size_t field, uint64_t value, const char *why) {
    uint8_t *forged = forge_pages(size);
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    memcpy(forged, bytes, size);
    tamis__store64le(forged + field, value);
    forge_checksums(forged, size);
    assert_int_equal(tamis_filter_decode(&filter, forged, size, NULL, &err), TAMIS_E_DAMAGED);
    says(&err, TAMIS_E_DAMAGED, why);
    assert_null(filter);
    free(forged);
}

static void forged_files_are_refused(void **state) {
    (void)state;
    enum { CAPACITY = 88, BITS = 104, SLOT_BITS = 116, HOME_BITS = 120, ADDED = 136, BODY = 4096 };
    tamis_filter *filter = case_filter(&wide, 100);
    const tamis_plan *plan = tamis_filter_plan(filter);
    size_t size;
    model_add_range(filter, 0, 50, 0, NULL);
    uint8_t *bytes = encoded(filter, &size);
    check_forged(bytes, size, CAPACITY, 0, "capacity");
    check_forged(bytes, size, CAPACITY, plan->bits / plan->slot_bits + 1, "capacity");
    check_forged(bytes, size, BITS, 0, "bits");
    check_forged(bytes, size, BITS, plan->bits - 4 * plan->slot_bits, "bits");
    check_forged(bytes, size, BITS, plan->bits + UINT64_C(1000) * 8 * plan->slot_bits, "body_size");
    check_forged(bytes, size, SLOT_BITS, 7, "slot_bits");
    check_forged(bytes, size, SLOT_BITS, 58, "slot_bits");
    check_forged(bytes, size, HOME_BITS, 4, "home_bits");
    check_forged(bytes, size, HOME_BITS, UINT64_C(1) << 32, "partitions");
    check_forged(bytes, size, ADDED, 101, "added");
    check_forged(bytes, size, ADDED, 49, "added is 49, but the filter has 50 entries");
    check_forged(bytes, size, BODY + plan->bits / 8 - 7, UINT64_MAX, "block 0");
    free(bytes);
    tamis_filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_keep_the_rate_with_the_narrowest_slots),
        cmocka_unit_test(refused_plans_say_why),
        cmocka_unit_test(guesses_are_kept),
        cmocka_unit_test(fitted_plans_use_the_memory),
        cmocka_unit_test(a_key_with_the_slots_of_another_survives_its_removal),
        cmocka_unit_test(each_add_needs_a_removal),
        cmocka_unit_test(four_copies_stay_for_ever),
        cmocka_unit_test(keys_added_often_do_not_fill_a_filter),
        cmocka_unit_test(other_kinds_do_not_count),
        cmocka_unit_test(a_full_filter_has_lost_nothing),
        cmocka_unit_test(a_search_without_result_changes_nothing),
        cmocka_unit_test(options_that_cannot_be_had_are_refused),
        cmocka_unit_test(sessions_and_states_refuse_the_kind),
        cmocka_unit_test(impossible_plans_are_refused),
        cmocka_unit_test(files_and_copies_are_equal),
        cmocka_unit_test(forged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
