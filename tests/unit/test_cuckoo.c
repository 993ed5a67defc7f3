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
    options.fpr = 1e-16;
    assert_int_equal(make_plan(&plan, &options, &err), TAMIS_E_RANGE);
    says(&err, TAMIS_E_RANGE, "the lowest of kind cuckoo that grows");
    options.fpr = 0;
    options.memory = 5000;
    assert_int_equal(make_plan(&plan, &options, &err), TAMIS_E_MEMORY_LIMIT);
    options.memory = 0;
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

static void plans_without_a_number_of_keys_grow(void **state) {
    (void)state;
    static const double rates[] = {0.5, 1e-2, 1e-4, 1e-9, 2e-15};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
        tamis_plan plan, made_for;
        tamis_filter *filter = NULL;
        options.kind = TAMIS_KIND_CUCKOO;
        options.fpr = rates[i];
        assert_int_equal(make_plan(&plan, &options, NULL), TAMIS_OK);
        options.expect = 1000000;
        assert_int_equal(make_plan(&made_for, &options, NULL), TAMIS_OK);
        assert_true(plan.capacity == 0 && plan.bits == 0 && plan.fpr == rates[i]);
        assert_true(plan.fpr_predicted <= plan.fpr && plan.memory < 65536);
        assert_true(plan.slot_bits >= 8 && plan.slot_bits <= made_for.slot_bits + 5);
        assert_true(plan.bits_per_key < 1.6 * (made_for.slot_bits + 5));
        assert_int_equal(tamis_filter_create(&filter, &plan, NULL, NULL), TAMIS_OK);
        assert_int_equal(filter_info(filter).memory, plan.memory);
        assert_int_equal(filter_info(filter).capacity, 0);
        assert_true(tamis_filter_can(filter, TAMIS_CAN_GROW) && tamis_filter_can(filter, TAMIS_CAN_REMOVE));
        tamis_filter_free(filter);
    }
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
    says(&err, TAMIS_E_FULL, "leave the number out of the plan, and it grows");
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
    static const filter_case of_redisbloom = {"redisbloom", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_REDISBLOOM, false,
                                              0};
    const filter_case cases[] = {
        wide, {"cuckoo", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_XXH3, true, 0.05}, of_redisbloom};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tamis_plan plan = case_plan(&cases[i], 100, 0);
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

/* ---- growth ---- */

static const filter_case growing = {"cuckoo", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_XXH3, true, 0.05};

static tamis_filter *grown_filter(uint64_t keys) {
    tamis_filter *filter = case_filter(&growing, 0);
    model_add_range(filter, 0, keys, 0, NULL);
    return filter;
}

/* Two keys are alike in the first table only, and lie in different tables. The removal of one must not take the
 * entry of the other, whichever was first. */
static void a_removal_keeps_keys_of_older_tables(void **state) {
    (void)state;
    for (int first = 0; first < 2; first++) {
        tamis_filter *filter = case_filter(&growing, 0);
        const uint64_t id = filter_hasher_id(filter);
        const tamis_hash pair[2] = {{{1000, 0}, id}, {{1000, UINT64_C(1) << 54}, id}};
        tamis_answer answer = TAMIS_UNKNOWN;
        assert_int_equal(tamis_filter_add_hashes(filter, &pair[first], 1, NULL, NULL, NULL), TAMIS_OK);
        for (uint64_t key = 0; filter_info(filter).subfilters == 1; key++)
            assert_int_equal(tamis_filter_add(filter, &key, sizeof key, NULL, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_add_hashes(filter, &pair[!first], 1, &answer, NULL, NULL), TAMIS_OK);
        assert_int_equal(answer, TAMIS_PRESENT); /* alike in the first table */
        assert_int_equal(tamis_filter_remove_hashes(filter, &pair[!first], 1, NULL, NULL, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_contains_hashes(filter, &pair[first], 1, &answer, NULL, NULL),
                         TAMIS_OK);
        assert_int_equal(answer, TAMIS_PRESENT);
        tamis_filter_free(filter);
    }
}

/* Copies of a key may be in several tables. Only four in one table stay for ever. */
static void copies_in_several_tables_are_counted(void **state) {
    (void)state;
    tamis_filter *filter = case_filter(&growing, 0);
    uint64_t key = 1;
    for (int i = 0; i < 3; i++)
        add(filter, "a");
    for (; filter_info(filter).subfilters == 1; key++)
        assert_int_equal(tamis_filter_add(filter, &key, sizeof key, NULL, NULL), TAMIS_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(add(filter, "a"), TAMIS_PRESENT);
    assert_int_equal(copies_of(filter, "a", 1), 5);
    for (int i = 5; i-- > 0;) {
        assert_int_equal(remove_key(filter, "a"), TAMIS_PRESENT);
        assert_int_equal(copies_of(filter, "a", 1), i);
    }
    for (int i = 0; i < 9; i++)
        add(filter, "a");
    assert_int_equal(copies_of(filter, "a", 1), 4);
    for (int i = 0; i < 9; i++)
        assert_int_equal(remove_key(filter, "a"), TAMIS_PRESENT);
    assert_int_equal(copies_of(filter, "a", 1), 4);
    tamis_filter_free(filter);
}

/* Slots that removals freed are used before a table is added. */
static void freed_slots_are_used_again(void **state) {
    (void)state;
    tamis_filter *filter = grown_filter(11000);
    const tamis_filter_info before = filter_info(filter);
    for (uint64_t round = 0; round < 20; round++) {
        const uint64_t from = round * 5000;
        for (uint64_t key = from; key < from + 5000; key++) {
            model_batch b = {.count = 0};
            batch_put(&b, key, 0);
            assert_int_equal(tamis_filter_remove_many(filter, b.key, 1, NULL, NULL, NULL), TAMIS_OK);
        }
        model_add_range(filter, from + 11000, 5000, 0, NULL);
        assert_int_equal(model_count_present(filter, from + 5000, 11000, 0), 11000);
    }
    assert_int_equal(filter_info(filter).memory, before.memory);
    assert_int_equal(filter_info(filter).added, 11000);
    assert_int_equal(tamis_filter_clear(filter, NULL), TAMIS_OK);
    assert_int_equal(filter_info(filter).memory, before.memory);
    assert_int_equal(model_count_present(filter, 0, 200000, 0), 0);
    tamis_filter_free(filter);
}

static void growth_keeps_the_memory_limit(void **state) {
    (void)state;
    const uint64_t limit = 200000;
    const tamis_plan plan = case_plan(&growing, 0, limit);
    tamis_filter *filter = plan_filter(&plan, NULL);
    tamis_error err = TAMIS_ERROR_INIT;
    uint64_t key = 0;
    tamis_filter_expect(filter, 10000000); /* a hint beyond the limit does no harm */
    while (tamis_filter_add(filter, &key, sizeof key, NULL, &err) == TAMIS_OK)
        key++;
    says(&err, TAMIS_E_FULL, "allow more memory");
    const tamis_filter_info info = filter_info(filter);
    assert_true(info.full == TAMIS_FULL_MEMORY && info.saturated && info.added == key);
    assert_true(info.memory <= limit && info.memory_peak <= limit && info.memory > limit / 2);
    for (uint64_t i = 0; i < key; i++)
        assert_true(contains_key(filter, &i, sizeof i));
    tamis_filter_free(filter);
}

static void a_size_hint_makes_few_tables(void **state) {
    (void)state;
    enum { KEYS = 100000 };
    tamis_filter *filter = case_filter(&growing, 0), *without = case_filter(&growing, 0);
    tamis_filter_expect(filter, KEYS);
    model_add_range(filter, 0, KEYS, 0, NULL);
    model_add_range(without, 0, KEYS, 0, NULL);
    assert_int_equal(filter_info(filter).subfilters, 2);
    assert_int_equal(filter_info(without).subfilters, 5);
    assert_true(filter_info(filter).fpr_live < filter_info(without).fpr_live);
    assert_true(filter_info(filter).memory < 2 * filter_info(without).memory);
    assert_int_equal(model_count_present(filter, 0, KEYS, 0), KEYS);
    tamis_filter_free(filter);
    tamis_filter_free(without);
}

/* Keys that were chosen for two buckets do not make a filter grow without end. When the table is half full,
 * it may grow for them. */
static void crowded_tables_do_not_grow(void **state) {
    (void)state;
    tamis_filter *filter = case_filter(&growing, 0);
    const uint64_t max = (UINT64_C(1) << tamis_filter_plan(filter)->slot_bits) - 1, step = UINT64_MAX / max;
    tamis_hash hash = {{0, 0}, filter_hasher_id(filter)};
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_status status = TAMIS_OK;
    for (uint64_t fingerprint = 1; fingerprint <= max && status == TAMIS_OK; fingerprint++) {
        const uint64_t u = fingerprint * TAMIS__GOLDEN;
        const uint64_t v = (u ^ u >> 32) * UINT64_C(0xff51afd7ed558ccd);
        hash.word[0] = (fingerprint - 1) * step + step / 2;
        if (v >> 55 == 7) /* the other bucket of bucket 0 is number 15 of 1024 */
            status = tamis_filter_add_hashes(filter, &hash, 1, NULL, NULL, &err);
    }
    says(&err, TAMIS_E_FULL, "crowd");
    assert_true(filter_info(filter).full == TAMIS_FULL_CROWDED && filter_info(filter).subfilters == 1);
    assert_int_equal(filter_info(filter).added, 8);
    model_add_range(filter, 0, 1000, 0, NULL);
    assert_int_equal(tamis_filter_add_hashes(filter, &hash, 1, NULL, NULL, NULL), TAMIS_E_FULL);
    model_add_range(filter, 1000, 1000, 0, NULL);
    assert_int_equal(tamis_filter_add_hashes(filter, &hash, 1, NULL, NULL, NULL), TAMIS_OK);
    assert_int_equal(filter_info(filter).subfilters, 2);
    tamis_filter_free(filter);
}

static void grown_filters_are_stored_and_copied(void **state) {
    (void)state;
    enum { KEYS = 20000 };
    tamis_filter *filter = grown_filter(KEYS), *copy = NULL;
    tamis_difference difference = TAMIS_DIFFERENCE_INIT;
    assert_int_equal(filter_info(filter).subfilters, 3);
    for (int writable = 0; writable < 2; writable++) {
        tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
        tamis_filter *opened = NULL;
        scratch_make();
        options.writable = writable;
        assert_int_equal(tamis_filter_save(filter, scratch("f"), NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_open(&opened, scratch("f"), &options, NULL), TAMIS_OK);
        assert_int_equal(model_count_present(opened, 0, KEYS, 0), KEYS);
        assert_int_equal(tamis_filter_compare(&difference, opened, filter, NULL), TAMIS_OK);
        assert_true(difference.same_hash && difference.same_shape && difference.same_body);
        assert_true(filter_info(opened).fpr_live == filter_info(filter).fpr_live);
        assert_int_equal(filter_info(opened).subfilters, 3);
        if (writable) {
            model_add_range(opened, KEYS, 2 * KEYS, 0, NULL);
            assert_int_equal(filter_info(opened).subfilters, 5);
            assert_int_equal(model_count_present(opened, 0, 3 * KEYS, 0), 3 * KEYS);
        }
        tamis_filter_free(opened);
        scratch_remove();
    }
    assert_int_equal(tamis_filter_copy(&copy, filter, NULL), TAMIS_OK);
    assert_true(tamis_filter_is_equal(copy, filter));
    assert_int_equal(filter_info(copy).memory, filter_info(filter).memory);
    assert_int_equal(add(copy, "more"), TAMIS_ABSENT);
    assert_false(tamis_filter_is_equal(copy, filter));
    tamis_filter_free(copy);
    tamis_filter_free(filter);
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

static void forged_tables_are_refused(void **state) {
    (void)state;
    enum { CAPACITY = 88, BITS = 104, ADDED = 136, SECTION = 256, ROW = SECTION + 8, BODY = 4096 };
    tamis_filter *filter = grown_filter(20000);
    const uint64_t first = 4 * tamis_filter_plan(filter)->slot_bits * 1024 / 8; /* bytes of its slots */
    const uint64_t type = NATIVE_SECTION_TABLES, size = 3 * NATIVE_TABLE_BYTES;
    size_t bytes_size;
    uint8_t *bytes = encoded(filter, &bytes_size);
    const uint64_t entries = tamis__load64le(bytes + ROW + 8);
    assert_int_equal(tamis__load64le(bytes + SECTION), type | size << 32);
    assert_int_equal(tamis__load64le(bytes + ROW), 1024);
    check_forged(bytes, bytes_size, CAPACITY, 20000, "section");
    check_forged(bytes, bytes_size, BITS, 8 * 1024, "bits");
    check_forged(bytes, bytes_size, ADDED, 19999, "added");
    check_forged(bytes, bytes_size, SECTION, type | (size - 16) << 32, "body_size");
    check_forged(bytes, bytes_size, SECTION, type | (size - 8) << 32, "section");
    check_forged(bytes, bytes_size, SECTION, 77 | size << 32, "tables");
    check_forged(bytes, bytes_size, ROW, 0, "buckets");
    check_forged(bytes, bytes_size, ROW, 1023, "buckets");
    check_forged(bytes, bytes_size, ROW, 1022, "buckets");
    check_forged(bytes, bytes_size, ROW, 512, "entries");
    check_forged(bytes, bytes_size, ROW, UINT64_C(1) << 63, "buckets");
    check_forged(bytes, bytes_size, ROW, UINT64_C(1) << 57, "buckets");
    check_forged(bytes, bytes_size, ROW + 16, 1024, "entries");
    check_forged(bytes, bytes_size, ROW + 16, 1536, "buckets");
    check_forged(bytes, bytes_size, ROW + 32, 8192, "buckets");
    check_forged(bytes, bytes_size, ROW + 8, 4097, "entries");
    check_forged(bytes, bytes_size, ROW + 8, entries - 1, "added");
    check_forged(bytes, bytes_size, BODY + first, 1, "block 0");
    free(bytes);
    tamis_filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_keep_the_rate_with_the_narrowest_slots),
        cmocka_unit_test(refused_plans_say_why),
        cmocka_unit_test(plans_without_a_number_of_keys_grow),
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
        cmocka_unit_test(a_removal_keeps_keys_of_older_tables),
        cmocka_unit_test(copies_in_several_tables_are_counted),
        cmocka_unit_test(freed_slots_are_used_again),
        cmocka_unit_test(growth_keeps_the_memory_limit),
        cmocka_unit_test(a_size_hint_makes_few_tables),
        cmocka_unit_test(crowded_tables_do_not_grow),
        cmocka_unit_test(grown_filters_are_stored_and_copied),
        cmocka_unit_test(forged_tables_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
