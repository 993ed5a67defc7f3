/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: timeout=120 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/guard.h>
#include <tamis/experimental/redis.h>

#include "support/guard_calls.h"
#include "support/guard_table.h"
#include "support/redis_server.h"
#include "support/scratch.h"

/* A filter that lies in the Redis of a guard, and that other programs fill. */

static redis_server server;

static int start_server(void **state) {
    (void)state;
    if (redis_server_installed())
        redis_server_start(&server, NULL);
    return 0;
}

static int stop_server(void **state) {
    (void)state;
    redis_server_stop(&server);
    return 0;
}

#define NEED_SERVER                                                                                          \
    do {                                                                                                     \
        if (!server.pid)                                                                                     \
            skip();                                                                                          \
        redis_server_command(&server, "FLUSHALL");                                                           \
    } while (0)

static tamis_guard_options options_with(const char *filter) {
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.redis = server.uri;
    options.redis_filter = filter;
    options.timeout_ms = 60000;
    options.scan_new_ms = 10;
    return options;
}

static const unsigned char secret[32] = "a secret of thirty-two bytes...";

/* Another program's handle of a filter on the server, which it makes. */
static tamis_filter *make_filter(const char *name) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter;
    tamis_error err = TAMIS_ERROR_INIT;
    char uri[200];
    snprintf(uri, sizeof uri, "%s/%s", server.uri, name);
    options.create = true;
    options.secret = strstr(name, "sip") ? secret : NULL;
    options.secret_size = options.secret ? sizeof secret : 0;
    if (tamis_redis_filter_open(&filter, NULL, uri, &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

static bool add_key(tamis_filter *filter, const char *name) {
    const tamis_key key = key_of(name);
    tamis_answer answer;
    return tamis_filter_add_many(filter, &key, 1, &answer, NULL, NULL) == TAMIS_OK;
}

static bool has_key(tamis_filter *filter, const char *name) {
    const tamis_key key = key_of(name);
    tamis_answer answer;
    assert_int_equal(tamis_filter_contains_many(filter, &key, 1, &answer, NULL, NULL), TAMIS_OK);
    return answer == TAMIS_PRESENT;
}

/* Expects an answer from the database, and nothing from the filter. */
static void assert_unfiltered(tamis_guard *guard, guard_table *table, const char *key, const char *expected) {
    const uint64_t loads = guard_table_loads(table), absent = stats_of(guard).absent;
    assert_row(guard, key, expected);
    assert_int_equal(guard_table_loads(table), loads + 1);
    assert_int_equal(stats_of(guard).absent, absent);
}

static void assert_refused(tamis_guard *guard, const char *key) {
    tamis_error err = TAMIS_ERROR_INIT;
    assert_null(get_row(guard, key, &err));
    assert_int_equal(err.status, TAMIS_E_BUSY);
    assert_non_null(strstr(err.text, "its filter cannot answer now"));
}

static void wait_for_error(tamis_guard *guard, tamis_status status, const char *text) {
    tamis_error err = TAMIS_ERROR_INIT;
    while (tamis_guard_filter_error(guard, &err) != status)
        pause_ms(1);
    if (status != TAMIS_OK && !strstr(err.text, text))
        fail_msg("%s", err.text);
}

static void test_keys_of_other_programs(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = options_with("rows");
    tamis_filter *filter = make_filter("rows?expect=10000");
    guard_table_init(&table);
    guard_table_put(&table, "a", "1");
    guard_table_put(&table, "unknown", "2");
    assert_true(add_key(filter, "a"));
    options.cache_bytes = 1 << 20;
    options.cache_life_ms = 3600000;
    tamis_guard *guard = open_guard(&table, &options);
    assert_int_equal(tamis_guard_wait_for_filter(guard, 60000, NULL), TAMIS_OK);
    assert_true(stats_of(guard).has_filter);
    assert_row(guard, "a", "1");
    assert_row(guard, "none", "");
    assert_row(guard, "unknown", ""); /* nobody has told the filter */
    assert_int_equal(guard_table_loads(&table), 1);
    assert_int_equal(stats_of(guard).absent, 2);
    assert_int_equal(redis_server_number(&server, "EXISTS tamis:{none}:entry tamis:{none}:lease"), 0);
    assert_true(add_key(filter, "unknown"));
    assert_row(guard, "unknown", "2"); /* though it was absent before */
    put_row(guard, &table, "put", "3");
    assert_true(has_key(filter, "put"));
    assert_row(guard, "put", "3");
    assert_int_equal(tamis_guard_put_end(guard, key_of("late"), NULL, NULL), TAMIS_OK);
    assert_false(has_key(filter, "late")); /* its writer adds it, if it has a row */
    tamis_guard_close(guard);
    tamis_filter_free(filter);
    guard_table_release(&table);
}

/* A filter that is gone says of no row that it is absent. */
static void test_a_lost_filter(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = options_with("rows");
    tamis_filter *filter = make_filter("rows?expect=10000");
    uint8_t token[TAMIS_GUARD_TOKEN];
    guard_table_init(&table);
    guard_table_put(&table, "a", "1");
    assert_true(add_key(filter, "a"));
    tamis_guard *open = open_guard(&table, &options);
    options.without_filter = TAMIS_GUARD_CLOSED;
    options.prefix = "closed:";
    tamis_guard *closed = open_guard(&table, &options);
    assert_int_equal(tamis_guard_wait_for_filter(closed, 60000, NULL), TAMIS_OK);
    assert_row(open, "a", "1");
    assert_row(closed, "a", "1");
    assert_string_equal(redis_server_command(&server, "FLUSHALL"), "OK");
    assert_unfiltered(open, &table, "a", "1");
    assert_unfiltered(open, &table, "none", "");
    wait_for_error(open, TAMIS_E_NOT_FOUND, "rows");
    assert_refused(closed, "a");
    assert_refused(closed, "none");
    assert_refused(closed, "a"); /* by its state */
    assert_false(stats_of(closed).has_filter);
    assert_int_equal(tamis_guard_put_begin(closed, key_of("b"), token, NULL), TAMIS_E_NOT_FOUND);
    tamis_filter_free(filter);
    filter = make_filter("rows?expect=10000");
    assert_true(add_key(filter, "a"));
    wait_for_error(closed, TAMIS_OK, NULL);
    assert_row(closed, "none", "");
    assert_row(closed, "a", "1");
    wait_for_error(open, TAMIS_OK, NULL);
    assert_true(stats_of(open).scans >= 2);
    tamis_filter_free(filter);
    tamis_guard_close(closed);
    tamis_guard_close(open);
    guard_table_release(&table);
}

static void test_lost_bits(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = options_with("rows");
    tamis_filter *filter = make_filter("rows?expect=10000");
    guard_table_init(&table);
    guard_table_put(&table, "a", "1");
    assert_true(add_key(filter, "a"));
    tamis_guard *guard = open_guard(&table, &options);
    assert_row(guard, "none", "");
    assert_int_equal(guard_table_loads(&table), 0);
    assert_true(redis_server_number(&server, "EVAL %s 0",
                                    "local lost = 0 for _, key in ipairs(redis.call('KEYS', '*')) do "
                                    "if redis.call('TYPE', key).ok == 'string' then "
                                    "lost = lost + redis.call('DEL', key) end end return lost") > 0);
    assert_unfiltered(guard, &table, "a", "1");
    wait_for_error(guard, TAMIS_E_DAMAGED, "rows");
    tamis_guard_close(guard);
    tamis_filter_free(filter);
    guard_table_release(&table);
}

/* One of many parts is lost. Keys of the others have no answer either, as no part tells for the others. */
static void test_a_lost_part(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = options_with("rows");
    tamis_filter *filter = make_filter("rows?expect=10000&partition=8KiB");
    guard_table_init(&table);
    options.without_filter = TAMIS_GUARD_CLOSED;
    tamis_guard *guard = open_guard(&table, &options);
    assert_int_equal(tamis_guard_wait_for_filter(guard, 60000, NULL), TAMIS_OK);
    assert_int_equal(redis_server_number(&server, "EVAL %s 0",
                                         "for _, key in ipairs(redis.call('KEYS', '*bits')) do "
                                         "return redis.call('DEL', key) end"),
                     1);
    char name[16];
    for (int i = 0; tamis_guard_filter_error(guard, NULL) == TAMIS_OK; i++) {
        snprintf(name, sizeof name, "%d", i);
        (void)get_row(guard, name, NULL);
    }
    for (int i = 0; i < 100; i++) {
        assert_refused(guard, "any");
        pause_ms(1);
    }
    assert_int_equal(stats_of(guard).scans, 1);
    tamis_guard_close(guard);
    tamis_filter_free(filter);
    guard_table_release(&table);
}

static void test_redis_is_down(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = options_with("rows");
    uint8_t token[TAMIS_GUARD_TOKEN];
    tamis_filter_free(make_filter("rows?expect=10000"));
    guard_table_init(&table);
    guard_table_put(&table, "a", "1");
    options.timeout_ms = 8000; /* a quarter for a call to Redis */
    tamis_guard *open = open_guard(&table, &options);
    options.without_filter = TAMIS_GUARD_CLOSED;
    tamis_guard *closed = open_guard(&table, &options);
    assert_int_equal(tamis_guard_wait_for_filter(closed, 60000, NULL), TAMIS_OK);
    assert_row(closed, "none", "");
    redis_server_kill(&server);
    assert_unfiltered(open, &table, "a", "1");
    assert_unfiltered(open, &table, "none", "");
    assert_refused(closed, "a");
    assert_refused(closed, "none");
    assert_int_not_equal(tamis_guard_put_begin(open, key_of("a"), token, NULL), TAMIS_OK);
    tamis_guard *late = open_guard(&table, &options); /* opened while Redis is down */
    assert_refused(late, "a");
    redis_server_restart(&server); /* it has forgotten everything */
    wait_for_error(closed, TAMIS_E_NOT_FOUND, "rows");
    assert_refused(closed, "none");
    wait_for_error(late, TAMIS_E_NOT_FOUND, "rows");
    tamis_filter *filter = make_filter("rows?expect=10000");
    assert_true(add_key(filter, "a"));
    wait_for_error(closed, TAMIS_OK, NULL);
    wait_for_error(late, TAMIS_OK, NULL);
    assert_row(closed, "none", "");
    assert_row(late, "a", "1");
    tamis_filter_free(filter);
    tamis_guard_close(late);
    tamis_guard_close(closed);
    tamis_guard_close(open);
    guard_table_release(&table);
}

static void assert_filter_error(const char *name, tamis_status status, const char *text) {
    guard_table table;
    tamis_guard_options options = options_with(name);
    guard_table_init(&table);
    tamis_guard *guard = open_guard(&table, &options);
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_guard_wait_for_filter(guard, 60000, &err), status);
    if (!strstr(err.text, text))
        fail_msg("%s", err.text);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void assert_opens_not(const char *name, tamis_status status, const char *text) {
    guard_table table;
    tamis_guard_options options = options_with(name);
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard *guard;
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    guard_table_source(&table, &source);
    options.source = &source;
    assert_int_equal(tamis_guard_open(&guard, &options, &err), status);
    if (!strstr(err.text, text))
        fail_msg("%s", err.text);
    guard_table_release(&table);
}

/* A put may not raise the rate of a filter that is full. */
static void test_a_full_filter(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = options_with("rows");
    tamis_filter *filter = make_filter("rows?expect=1000");
    uint8_t token[TAMIS_GUARD_TOKEN];
    char name[16];
    guard_table_init(&table);
    options.timeout_ms = 20000;
    tamis_guard *guard = open_guard(&table, &options);
    assert_int_equal(tamis_guard_put_begin(guard, key_of("first"), token, NULL), TAMIS_OK);
    tamis_guard_close(guard);
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "%d", i);
        assert_true(add_key(filter, name));
    }
    guard = open_guard(&table, &options);
    assert_int_equal(tamis_guard_put_begin(guard, key_of("new"), token, NULL), TAMIS_E_FULL);
    assert_int_equal(tamis_guard_put_begin(guard, key_of("first"), token, NULL), TAMIS_OK);
    tamis_guard_close(guard);
    tamis_filter_free(filter);
    guard_table_release(&table);
}

static void test_filters_that_are_refused(void **state) {
    (void)state;
    NEED_SERVER;
    assert_filter_error("none", TAMIS_E_NOT_FOUND, "none");
    tamis_filter_free(make_filter("keyed?expect=1000&scheme=sip"));
    assert_filter_error("keyed", TAMIS_E_SECRET, "keyed");
    assert_opens_not(
        "bits?layout=java&expect=1000&fpr=0.01", TAMIS_E_UNSUPPORTED,
        "bits?layout=java&expect=1000&fpr=0.01: layout java does not notice that its bits are lost; "
        "use layout tamis, or copy it with tamis copy, and set filter_file to that file");
    assert_opens_not("rows?layout=redisson", TAMIS_E_UNSUPPORTED, "layout redisson does not notice");
    assert_filter_error("rows?layuot=tamis", TAMIS_E_INVALID, "layuot");
}

/* ---- writers and readers at once ---- */

enum { WRITERS = 3 };

typedef struct row_writer {
    guard_table *table;
    tamis_guard *guard;
    tamis_filter *filter;
    int number, rows;
    atomic_int wrong;
    pthread_t thread;
} row_writer;

/* Asks for a key, adds it to the filter, writes its row, and asks again. */
static void *write_rows(void *context) {
    row_writer *me = context;
    for (int i = 0; i < me->rows; i++) {
        char name[32];
        snprintf(name, sizeof name, "row%d.%d", me->number, i);
        const char *before = get_row(me->guard, name, NULL);
        bool is_right = before && !*before && add_key(me->filter, name);
        guard_table_put(me->table, name, "x");
        const char *after = get_row(me->guard, name, NULL);
        is_right = is_right && after && strcmp(after, "x") == 0;
        atomic_fetch_add(&me->wrong, !is_right);
    }
    return NULL;
}

static void test_rows_are_found_after_their_add(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = options_with("rows");
    row_writer writers[WRITERS];
    const int rows = (int)test_scale(3000, 300, 300);
    guard_table_init(&table);
    options.cache_bytes = 1 << 20;
    options.cache_life_ms = 3600000;
    tamis_filter_free(make_filter("rows?expect=1000000"));
    tamis_guard *guard = open_guard(&table, &options);
    assert_int_equal(tamis_guard_wait_for_filter(guard, 60000, NULL), TAMIS_OK);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (row_writer){&table, guard, make_filter("rows?expect=1000000"), i, rows, 0, 0};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_rows, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        assert_int_equal(atomic_load(&writers[i].wrong), 0);
        tamis_filter_free(writers[i].filter);
    }
    assert_int_equal(stats_of(guard).absent, WRITERS * rows);
    assert_int_equal(guard_table_loads(&table), WRITERS * rows);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_of_other_programs),
        cmocka_unit_test(test_a_lost_filter),
        cmocka_unit_test(test_lost_bits),
        cmocka_unit_test(test_a_lost_part),
        cmocka_unit_test(test_redis_is_down),
        cmocka_unit_test(test_a_full_filter),
        cmocka_unit_test(test_filters_that_are_refused),
        cmocka_unit_test(test_rows_are_found_after_their_add),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
