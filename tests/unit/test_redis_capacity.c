/* SPDX-License-Identifier: BSD-2-Clause */

/* Filters on a server whose handle enforces their capacity. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/redis.h>

#include "support/redis_filters.h"

enum { CAPACITY = 1000, COUNT = 3000, LARGE = 30000, UNTOUCHED = 9 };

static tamis_answer answers[NUMBERS];

static tamis_filter *open_enforced(const char *name) {
    tamis_filter *filter = open_filter(name);
    OK(tamis_redis_filter_enforce_capacity(filter, &err));
    return filter;
}

static tamis_filter_info info_of(const tamis_filter *filter) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    OK(tamis_filter_info_get(filter, &info, &err));
    return info;
}

/* Adds keys from .. from + count - 1 until the filter is full. Returns the number of keys that were
 * answered. */
static size_t add_until_full(tamis_filter *filter, size_t from, size_t count) {
    size_t done = 0;
    memset(answers, UNTOUCHED, count);
    FAILS(tamis_filter_add_many(filter, keys + from, count, answers, &done, &err), TAMIS_E_FULL, "full");
    for (size_t i = 0; i < count; i++)
        assert_true(i < done ? answers[i] <= TAMIS_UNKNOWN : answers[i] == UNTOUCHED);
    return done;
}

static const char *const names[] = {"a?expect=1000&fpr=1e-6", "b?layout=java&expect=1000&fpr=1e-6",
                                    "c?layout=redisson&expect=1000&fpr=1e-6"};

static void absent_keys_above_the_capacity_are_refused(void **state) {
    (void)state;
    begin_test();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tamis_filter *filter = open_enforced(names[i]);
        size_t done = 0;
        assert_int_equal(info_of(filter).full, TAMIS_FULL_NOT);
        assert_int_equal(add_until_full(filter, 0, COUNT), CAPACITY);
        assert_int_equal(info_of(filter).full, TAMIS_FULL_CAPACITY);
        assert_true(info_of(filter).saturated);
        assert_int_equal(count_present(filter, 0, CAPACITY), CAPACITY);
        assert_int_equal(count_present(filter, CAPACITY, COUNT - CAPACITY), 0);
        /* Keys that are present are still answered. */
        OK(tamis_filter_add_many(filter, keys, CAPACITY, answers, &done, &err));
        assert_null(memchr(answers, TAMIS_ABSENT, CAPACITY));
        assert_int_equal(add_until_full(filter, CAPACITY - 10, 20), 10);
        tamis_filter_free(filter);
    }
}

static void batches_of_equal_keys_use_one_slot(void **state) {
    (void)state;
    static tamis_key same[CAPACITY];
    begin_test();
    tamis_filter *filter = open_enforced(names[0]);
    size_t done = 0;
    for (size_t i = 0; i < CAPACITY; i++)
        same[i] = keys[CAPACITY - 2 + i / 500];
    assert_int_equal(tamis_filter_add_many(filter, keys, CAPACITY - 2, NULL, &done, &err), TAMIS_OK);
    OK(tamis_filter_add_many(filter, same, CAPACITY, answers, &done, &err));
    assert_int_equal(done, CAPACITY);
    for (size_t i = 0; i < CAPACITY; i++)
        assert_int_equal(answers[i], i % 500 == 0 ? TAMIS_ABSENT : TAMIS_PRESENT);
    assert_int_equal(add_until_full(filter, CAPACITY, 1), 0);
    tamis_filter_free(filter);
}

static void hashes_and_batches_without_answers(void **state) {
    (void)state;
    static tamis_hash hashes[COUNT];
    size_t done = 0;
    begin_test();
    tamis_filter *filter = open_enforced("large?expect=30000&fpr=1e-9");
    FAILS(tamis_filter_add_many(filter, keys, 2 * LARGE, NULL, &done, &err), TAMIS_E_FULL, "large");
    assert_int_equal(done, LARGE);
    assert_all_in(filter, LARGE);
    tamis_filter_free(filter);
    filter = open_enforced(names[0]);
    OK(tamis_hash_many(tamis_filter_hasher(filter), keys, COUNT, hashes, &err));
    FAILS(tamis_filter_add_hashes(filter, hashes, COUNT, answers, &done, &err), TAMIS_E_FULL, "full");
    assert_int_equal(done, CAPACITY);
    tamis_filter_free(filter);
}

/* The estimate may be too low by its error: a filter that is opened again takes some keys more, but not
 * many. */
static void a_filter_is_estimated_at_the_beginning(void **state) {
    (void)state;
    begin_test();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tamis_filter *filter = open_enforced(names[i]);
        size_t done = 0;
        OK(tamis_filter_add_many(filter, keys, CAPACITY / 2, answers, &done, &err));
        tamis_filter_free(filter);
        filter = open_enforced(names[i]);
        assert_in_range(add_until_full(filter, 0, COUNT), CAPACITY * 9 / 10, CAPACITY * 11 / 10);
        tamis_filter_free(filter);
        filter = open_enforced(names[i]);
        assert_in_range(add_until_full(filter, 0, COUNT), CAPACITY * 9 / 10, CAPACITY * 12 / 10);
        tamis_filter_free(filter);
    }
}

static void other_handles_have_no_limit(void **state) {
    (void)state;
    size_t done = 0;
    begin_test();
    tamis_filter *filter = open_filter(names[0]);
    OK(tamis_filter_add_many(filter, keys, COUNT, answers, &done, &err));
    assert_int_equal(done, COUNT);
    tamis_filter_free(filter);
    /* Far above its capacity from the beginning. */
    filter = open_enforced(names[0]);
    assert_int_equal(add_until_full(filter, COUNT, 10), 0);
    tamis_filter_free(filter);
}

static void filters_without_a_capacity(void **state) {
    (void)state;
    begin_test();
    tamis_filter *filter = open_filter("p?layout=php2&bits=10000&probes=7");
    FAILS(tamis_redis_filter_enforce_capacity(filter, &err), TAMIS_E_UNSUPPORTED, "php2");
    OK(tamis_filter_add_many(filter, keys, COUNT, answers, NULL, &err));
    tamis_filter_free(filter);
    filter = make_filter(COUNT, 0, 0);
    FAILS(tamis_redis_filter_enforce_capacity(filter, &err), TAMIS_E_UNSUPPORTED, "not on a server");
    tamis_filter_free(filter);
}

static void a_larger_filter_in_its_place_takes_more(void **state) {
    (void)state;
    size_t done = 0;
    begin_test();
    tamis_filter_free(open_filter("a?expect=1000&fpr=1e-3"));
    tamis_filter *filter = open_enforced("a"), *larger = make_filter(2 * CAPACITY, 0, 500);
    assert_in_range(add_until_full(filter, 0, COUNT), CAPACITY, CAPACITY * 11 / 10);
    OK(tamis_redis_push(larger, redis, "a", NULL, &err));
    assert_in_range(add_until_full(filter, 0, COUNT), CAPACITY * 19 / 10, CAPACITY * 21 / 10);
    OK(tamis_filter_clear(filter, &err));
    assert_int_equal(info_of(filter).full, TAMIS_FULL_NOT);
    OK(tamis_filter_add_many(filter, keys, CAPACITY, answers, &done, &err));
    tamis_filter_free(larger);
    tamis_filter_free(filter);
}

static void count_trace(void *context, const tamis_redis_traced *traced) {
    size_t *adds = context;
    assert_true(traced->adds);
    ++*adds;
}

static void only_adds_are_traced(void **state) {
    (void)state;
    size_t adds = 0;
    begin_test();
    tamis_filter *filter = open_enforced(names[0]);
    OK(tamis_redis_filter_trace(filter, count_trace, &adds, &err));
    assert_int_equal(add_until_full(filter, 0, COUNT), CAPACITY);
    assert_int_equal(adds, CAPACITY);
    tamis_filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(absent_keys_above_the_capacity_are_refused),
                                       cmocka_unit_test(batches_of_equal_keys_use_one_slot),
                                       cmocka_unit_test(hashes_and_batches_without_answers),
                                       cmocka_unit_test(a_filter_is_estimated_at_the_beginning),
                                       cmocka_unit_test(other_handles_have_no_limit),
                                       cmocka_unit_test(filters_without_a_capacity),
                                       cmocka_unit_test(a_larger_filter_in_its_place_takes_more),
                                       cmocka_unit_test(only_adds_are_traced)};
    return cmocka_run_group_tests(tests, redis_filters_set_up, redis_filters_tear_down);
}
