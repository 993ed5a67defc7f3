/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */
/* Size hints for a growing filter (tamis_filter_expect): they lead to fewer growth steps and the same
 * final sizes, and change nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "filter/table/fingerprint_table.h"
#include "support/scratch.h"

enum { KEYS = 1500000, BATCH = 1000 };

static tamis_filter *make(bool exact, uint64_t memory_limit) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    plan_options.kind = exact ? TAMIS_KIND_EXACT : TAMIS_KIND_FINGERPRINT;
    plan_options.fpr = exact ? 0 : 1e-9;
    plan_options.memory = memory_limit;
    if (tamis_plan_make(&plan, &plan_options, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

static void name_keys(tamis_key *keys, uint64_t *numbers, uint64_t from) {
    for (size_t i = 0; i < BATCH; i++) {
        numbers[i] = from + i;
        keys[i] = (tamis_key){&numbers[i], sizeof *numbers};
    }
}

/* Adds numbers, with a size hint before each batch, until `count` of them are in or the filter is full.
 * Checks that all are present, and returns their number. */
static uint64_t fill_filter(tamis_filter *filter, uint64_t count, uint64_t size_hint) {
    uint64_t numbers[BATCH], in = 0;
    tamis_key keys[BATCH];
    tamis_answer answers[BATCH];
    tamis_status status = TAMIS_OK;
    size_t done;
    for (; in < count && status == TAMIS_OK; in += done) {
        name_keys(keys, numbers, in);
        if (size_hint)
            tamis_filter_expect(filter, size_hint > in ? size_hint - in : 0);
        status = tamis_filter_add_many(filter, keys, BATCH, answers, &done, NULL);
        for (size_t i = 0; i < done; i++)
            assert_int_equal(answers[i], TAMIS_ABSENT);
    }
    for (uint64_t from = 0; from < in; from += BATCH) {
        const uint64_t size = in - from < BATCH ? in - from : BATCH;
        name_keys(keys, numbers, from);
        assert_int_equal(tamis_filter_contains_many(filter, keys, size, answers, NULL, NULL), TAMIS_OK);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(answers[i], TAMIS_PRESENT);
    }
    return in;
}

typedef struct outcome {
    uint64_t in, memory, peak, growths;
} outcome;

static outcome run(bool exact, uint64_t memory_limit, uint64_t count, uint64_t size_hint) {
    tamis_filter *filter = make(exact, memory_limit);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    outcome result = {.in = fill_filter(filter, count, size_hint)};
    assert_int_equal(tamis_filter_info_get(filter, &info, NULL), TAMIS_OK);
    assert_int_equal(info.added, result.in);
    result.memory = info.memory;
    result.peak = info.memory_peak;
    result.growths = ((const table *)filter->body)->growths;
    tamis_filter_free(filter);
    return result;
}

static void a_size_hint_leads_to_few_steps(void **state) {
    (void)state;
    for (int exact = 0; exact < 2; exact++) {
        const outcome without = run(exact, 0, KEYS, 0), with = run(exact, 0, KEYS, KEYS);
        assert_true(with.growths * 2 < without.growths);
        /* The sizes are equal, except for partitions with a few keys more or less than their share, and
         * the rest of a huge page. */
        assert_true(with.memory <= without.memory / 20 * 21 + TAMIS__PAGE);
        assert_true(with.peak <= without.peak / 20 * 21 + TAMIS__PAGE);
    }
}

static void a_word_too_large_costs_memory_within_bounds(void **state) {
    (void)state;
    enum { FEW = 64 << 20 };
    const outcome few = run(false, 0, KEYS, UINT64_MAX);
    assert_true(few.memory > FEW / 2 &&
                few.memory <= FEW + FEW / 20); /* small with any hint, and allocated at once */
    const uint64_t more = test_scale_torture((uint64_t)12 * KEYS, (uint64_t)4 * KEYS, 0, 0);
    if (more > 0)
        assert_true(run(false, 0, more, UINT64_MAX).memory <= 4 * run(false, 0, more, 0).memory);
}

static void a_word_too_small_is_grown_past(void **state) {
    (void)state;
    const outcome without = run(false, 0, KEYS, 0), with = run(false, 0, KEYS, KEYS / 3);
    assert_true(with.memory <= without.memory / 20 * 21);
    assert_int_equal(run(false, 0, KEYS, 1).memory, without.memory);
}

/* With any hint the memory limit holds, and about as many keys fit as without a hint. */
static void a_limit_of_memory_holds_as_many_keys(void **state) {
    (void)state;
    const uint64_t limit = 12 << 20;
    const outcome without = run(false, limit, UINT64_MAX, 0);
    assert_true(without.in > KEYS && without.in < UINT32_MAX);
    const uint64_t words[] = {without.in, without.in * 2, UINT64_MAX};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const outcome with = run(false, limit, UINT64_MAX, words[i]);
        assert_true(with.peak <= limit);
        assert_true(with.in >= without.in / 20 * 19);
    }
}

static void other_kinds_take_no_note(void **state) {
    (void)state;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    plan_options.expect = 1000;
    plan_options.fpr = 1e-9;
    plan_options.kind = TAMIS_KIND_BLOCKED;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_create(&filter, &plan, NULL, NULL), TAMIS_OK);
    tamis_filter_expect(filter, 1000000);
    assert_int_equal(fill_filter(filter, 1000, 1000), 1000);
    tamis_filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_hint_leads_to_few_steps),
        cmocka_unit_test(a_word_too_large_costs_memory_within_bounds),
        cmocka_unit_test(a_word_too_small_is_grown_past),
        cmocka_unit_test(a_limit_of_memory_holds_as_many_keys),
        cmocka_unit_test(other_kinds_take_no_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
