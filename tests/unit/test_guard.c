/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/guard.h>

#include "support/guard_calls.h"
#include "support/guard_table.h"
#include "support/scratch.h"

/* The contract of a guard, over a table in this process. */

static void test_values_and_nulls_are_cached(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    guard_table_put(&table, "a", "1");
    options.cache_bytes = 1 << 20;
    options.cache_life_ms = 60000;
    tamis_guard *guard = open_guard(&table, &options);
    for (int i = 0; i < 3; i++) {
        assert_row(guard, "a", "1");
        assert_row(guard, "b", "");
    }
    assert_int_equal(guard_table_loads(&table), 2);
    const tamis_guard_stats stats = stats_of(guard);
    assert_int_equal(stats.loads, 2);
    assert_int_equal(stats.missing_loads, 1);
    assert_int_equal(stats.cache_hits, 4);
    assert_int_equal(stats.cache_entries, 2);
    assert_int_equal(stats.waiting, 0);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_entries_expire(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    options.cache_bytes = 1 << 20;
    options.cache_life_ms = 20;
    tamis_guard *guard = open_guard(&table, &options);
    assert_row(guard, "a", "");
    guard_table_put(&table, "a", "1"); /* behind the back of the guard */
    pause_ms(21);
    assert_row(guard, "a", "1");
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* A batch of several hundred keys, half of them twice. */
static void test_a_batch_is_answered_in_order(void **state) {
    (void)state;
    enum { KEYS = 600 };
    static char names[KEYS][16];
    static tamis_key keys[KEYS];
    static tamis_guard_value values[KEYS];
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    for (int i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i % 400);
        keys[i] = key_of(names[i]);
        if (i % 400 % 3 == 0)
            guard_table_put(&table, names[i], names[i]);
    }
    options.cache_bytes = 1 << 20;
    options.cache_life_ms = 60000;
    tamis_guard *guard = open_guard(&table, &options);
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_guard_get_many(guard, keys, KEYS, values, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    for (int i = 0; i < KEYS; i++) {
        assert_int_equal(values[i].outcome, i % 400 % 3 == 0 ? TAMIS_GUARD_FOUND : TAMIS_GUARD_MISSING);
        if (values[i].outcome == TAMIS_GUARD_FOUND)
            assert_memory_equal(values[i].data, names[i], keys[i].size);
        tamis_guard_value_release(&values[i]);
    }
    assert_int_equal(guard_table_loads(&table), 400);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* ---- many requests for one key ---- */

enum { READERS = 32 };

static void *read_cold(void *guard) {
    assert_row(guard, "cold", "value");
    return NULL;
}

typedef struct answer_count {
    pthread_mutex_t mutex;
    uint64_t found, interrupted, late, failed;
} answer_count;

static void count_answer(void *context, tamis_status status, tamis_guard_value *value,
                         const tamis_error *why) {
    answer_count *count = context;
    (void)why;
    pthread_mutex_lock(&count->mutex);
    count->found += status == TAMIS_OK && value->outcome == TAMIS_GUARD_FOUND;
    count->interrupted += status == TAMIS_E_INTERRUPTED;
    count->late += status == TAMIS_E_TIMEOUT;
    count->failed += status == TAMIS_E_IO;
    pthread_mutex_unlock(&count->mutex);
}

static void test_one_query_for_all_requests_for_a_key(void **state) {
    (void)state;
    enum { REQUESTS = 500 };
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    answer_count count = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[READERS];
    guard_table_init(&table);
    guard_table_put(&table, "cold", "value");
    table.delay_ms = 100;
    options.cache_bytes = 1 << 20;
    options.cache_life_ms = 60000;
    options.timeout_ms = 30000;
    tamis_guard *guard = open_guard(&table, &options);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_cold, guard), 0);
    for (int i = 0; i < REQUESTS; i++)
        assert_int_equal(tamis_guard_request(guard, key_of("cold"), count_answer, &count, NULL), TAMIS_OK);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    tamis_guard_close(guard); /* the answers of the last requests may still be delivered */
    assert_int_equal(guard_table_loads(&table), 1);
    assert_int_equal(count.found, REQUESTS);
    guard_table_release(&table);
}

/* ---- bounds ---- */

static void test_deadlines_hold(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    table.delay_ms = 1000;
    options.sessions = 1;
    options.timeout_ms = 50;
    tamis_guard *guard = open_guard(&table, &options);
    assert_null(get_row(guard, "slow", &err));
    assert_int_equal(err.status, TAMIS_E_TIMEOUT);
    assert_null(get_row(guard, "queued", &err)); /* the only session is in use: it is never loaded */
    assert_int_equal(err.status, TAMIS_E_TIMEOUT);
    assert_int_equal(stats_of(guard).timeouts, 2);
    tamis_guard_close(guard);
    assert_true(guard_table_loads(&table) <= 1); /* a busy machine may not have begun the first one in time */
    guard_table_release(&table);
}

static void test_too_many_keys_are_refused(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    answer_count count = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    table.delay_ms = 1000; /* the first query goes on when the last request comes */
    options.sessions = 1;
    options.keys_max = 2;
    options.timeout_ms = 30000;
    tamis_guard *guard = open_guard(&table, &options);
    assert_int_equal(tamis_guard_request(guard, key_of("a"), count_answer, &count, &err), TAMIS_OK);
    assert_int_equal(tamis_guard_request(guard, key_of("b"), count_answer, &count, &err), TAMIS_OK);
    assert_int_equal(tamis_guard_request(guard, key_of("c"), count_answer, &count, &err), TAMIS_E_BUSY);
    assert_int_equal(tamis_guard_request(guard, key_of("a"), count_answer, &count, &err), TAMIS_OK);
    assert_int_equal(stats_of(guard).refused, 1);
    assert_int_equal(stats_of(guard).joined, 1);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* No request is lost, and none is answered twice. */
static void test_close_answers_all_requests(void **state) {
    (void)state;
    enum { KEYS = 100 };
    char name[16];
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    answer_count count = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    guard_table_init(&table);
    table.delay_ms = 200; /* all queries together take longer than the requests */
    options.timeout_ms = 30000;
    tamis_guard *guard = open_guard(&table, &options);
    for (int i = 0; i < KEYS; i++) {
        snprintf(name, sizeof name, "k%d", i);
        guard_table_put(&table, name, "row");
        assert_int_equal(tamis_guard_request(guard, key_of(name), count_answer, &count, NULL), TAMIS_OK);
    }
    tamis_guard_close(guard);
    assert_int_equal(count.found + count.interrupted, KEYS);
    assert_int_equal(count.found, guard_table_loads(&table));
    assert_true(count.interrupted > 0);
    guard_table_release(&table);
}

/* A guard is opened although its source is down. */
static void test_a_source_that_comes_later(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    guard_table_put(&table, "a", "1");
    guard_table_stop(&table);
    tamis_guard *guard = open_scanned(&table, &options);
    assert_int_equal(tamis_guard_health(guard, TAMIS_GUARD_SOURCE, &err), TAMIS_E_IO);
    assert_non_null(strstr(err.text, "connection refused"));
    assert_int_equal(tamis_guard_health(guard, TAMIS_GUARD_REDIS, NULL), TAMIS_OK); /* there is none */
    assert_true(stats_of(guard).is_down);
    assert_null(get_row(guard, "a", &err));
    assert_int_equal(err.status, TAMIS_E_IO);
    assert_int_equal(tamis_guard_wait_for_filter(guard, 30000, &err), TAMIS_E_IO);
    guard_table_start(&table); /* nobody asks for a row now */
    while (tamis_guard_health(guard, TAMIS_GUARD_SOURCE, NULL) != TAMIS_OK)
        pause_ms(5);
    assert_false(stats_of(guard).is_down);
    assert_row(guard, "a", "1");
    while (!stats_of(guard).has_filter)
        pause_ms(5);
    assert_row(guard, "b", "");
    assert_int_equal(stats_of(guard).absent, 1);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_bad_arguments(void **state) {
    (void)state;
    static const char long_key[TAMIS_GUARD_KEY_MAX + 1];
    guard_table table;
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_guard *guard = NULL;
    tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;
    uint8_t token[TAMIS_GUARD_TOKEN];
    guard_table_init(&table);
    assert_int_equal(tamis_guard_open(&guard, &options, NULL), TAMIS_E_INVALID);
    options.source = &source; /* without functions */
    assert_int_equal(tamis_guard_open(&guard, &options, NULL), TAMIS_E_INVALID);
    guard_table_source(&table, &source);
    options.prefix = "a{b";
    assert_int_equal(tamis_guard_open(&guard, &options, NULL), TAMIS_E_INVALID);
    options.prefix = NULL;
    options.mark_ms = UINT32_MAX; /* its sum with other times would be short */
    assert_int_equal(tamis_guard_open(&guard, &options, NULL), TAMIS_E_INVALID);
    options.mark_ms = 0;
    options.fpr = 2;
    assert_int_equal(tamis_guard_open(&guard, &options, NULL), TAMIS_E_INVALID);
    options.fpr = 0;
    assert_null(guard);
    guard = open_guard(&table, &options);
    const tamis_key empty = {"", 0}, long_one = {long_key, sizeof long_key};
    assert_int_equal(tamis_guard_find_many(guard, &empty, 1, &value, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_guard_get_many(guard, &long_one, 1, &value, NULL), TAMIS_E_TOO_LONG);
    assert_int_equal(tamis_guard_put_begin(guard, long_one, token, NULL), TAMIS_E_TOO_LONG);
    assert_int_equal(tamis_guard_put_end(guard, empty, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_guard_find_many(guard, NULL, 0, NULL, NULL), TAMIS_OK);
    tamis_guard_close(guard);
    tamis_guard_close(NULL);
    guard_table_release(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_nulls_are_cached),
        cmocka_unit_test(test_entries_expire),
        cmocka_unit_test(test_a_batch_is_answered_in_order),
        cmocka_unit_test(test_one_query_for_all_requests_for_a_key),
        cmocka_unit_test(test_deadlines_hold),
        cmocka_unit_test(test_too_many_keys_are_refused),
        cmocka_unit_test(test_close_answers_all_requests),
        cmocka_unit_test(test_a_source_that_comes_later),
        cmocka_unit_test(test_bad_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
