/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis_keys.h"

#include <stdlib.h>

#include "support/scratch.h"

tamis_error err = TAMIS_ERROR_INIT;
static uint64_t numbers[NUMBERS];
tamis_key keys[NUMBERS];

void make_numbers(void) {
    uint64_t seed = 6;
    for (size_t i = 0; i < NUMBERS; i++) {
        numbers[i] = test_random(&seed);
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
}

tamis_filter *open_on(tamis_redis *servers, const char *name) {
    tamis_filter *filter = NULL;
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    options.create = true;
    OK(tamis_redis_filter_open(&filter, servers, name, &options, &err));
    return filter;
}

tamis_filter *make_filter(uint64_t expect, size_t from, size_t count) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    plan_options.expect = expect;
    plan_options.fpr = 1e-3;
    plan_options.kind = TAMIS_KIND_BLOCKED;
    OK(tamis_plan_make(&plan, &plan_options, &err));
    OK(tamis_filter_create(&filter, &plan, NULL, &err));
    OK(tamis_filter_add_many(filter, keys + from, count, NULL, NULL, &err));
    return filter;
}

void add_keys(tamis_filter *filter, size_t from, size_t count) {
    size_t done = 0;
    OK(tamis_filter_add_many(filter, keys + from, count, NULL, &done, &err));
    assert_int_equal(done, count);
}

size_t count_present(const tamis_filter *filter, size_t from, size_t count) {
    tamis_answer *answers = calloc(count, sizeof *answers);
    size_t done = 0, present = 0;
    OK(tamis_filter_contains_many(filter, keys + from, count, answers, &done, &err));
    assert_int_equal(done, count);
    for (size_t i = 0; i < count; i++)
        present += answers[i] == TAMIS_PRESENT;
    free(answers);
    return present;
}

void assert_all_in(const tamis_filter *filter, size_t count) {
    const size_t present = count > 0 ? count_present(filter, 0, count) : 0;
    if (present != count)
        fail_msg("%zu of %zu keys are answered and not in", count - present, count);
}
