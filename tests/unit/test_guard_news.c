/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
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
#include <sys/stat.h>

#include <cmocka.h>

#include <tamis/experimental/guard.h>

#include "base/system.h"
#include "service/guard/guard_put.h"
#include "support/guard_calls.h"
#include "support/guard_table.h"
#include "support/redis_server.h"
#include "support/scratch.h"

/* News: a guard's filter hears of the keys of other guards before their rows are there. */

static redis_server server;

enum { SOME_TIME = 20000 /* ms, longer than anything here takes */ };

/* Opens a guard with a filter and without a cache, and waits until its filter answers. */
static tamis_guard *open_listening(guard_table *table, tamis_guard_options *options) {
    options->redis = server.uri;
    tamis_guard *guard = open_scanned(table, options);
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_guard_wait_for_filter(guard, SOME_TIME, &err) != TAMIS_OK)
        fail_msg("wait_for_filter: %s", err.text);
    return guard;
}

/* What the filter says: TAMIS_GUARD_PENDING if it has the key, or does not answer. */
static tamis_guard_outcome find_outcome(tamis_guard *guard, const char *name) {
    const tamis_key key = key_of(name);
    tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;
    assert_int_equal(tamis_guard_find_many(guard, &key, 1, &value, NULL), TAMIS_OK);
    const tamis_guard_outcome outcome = value.outcome;
    tamis_guard_value_release(&value);
    return outcome;
}

static void wait_for_outcome(tamis_guard *guard, const char *name, tamis_guard_outcome expected) {
    int waited = 0;
    while (find_outcome(guard, name) != expected) {
        assert_true(waited < SOME_TIME);
        pause_ms(5);
        waited += 5;
    }
}

/* Like assert_row. A request to a guard with a short timeout_ms may end with TAMIS_E_TIMEOUT on a busy machine:
 * it is repeated. */
static void wait_for_row(tamis_guard *guard, const char *key, const char *expected) {
    tamis_error err = TAMIS_ERROR_INIT;
    const char *value = get_row(guard, key, &err);
    for (int tries = 1; !value && err.status == TAMIS_E_TIMEOUT && tries < 50; tries++)
        value = get_row(guard, key, &err);
    if (!value)
        fail_msg("%s: %s", key, err.text);
    assert_string_equal(value, expected);
}

static void test_other_guards_hear_of_a_put(void **state) {
    (void)state;
    guard_table table;
    uint8_t token[TAMIS_GUARD_TOKEN];
    if (!server.pid)
        skip();
    guard_table_init(&table);
    guard_table_put(&table, "old", "1");
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.prefix = "hear:";
    tamis_guard *writer = open_listening(&table, &options), *reader = open_listening(&table, &options);
    wait_for_outcome(reader, "new", TAMIS_GUARD_MISSING);
    const uint64_t start = tamis__now_ns();
    begin_put(writer, "new", token);
    assert_true(tamis__now_ns() - start >= 200000000); /* the wait of N1 */
    assert_int_equal(find_outcome(reader, "new"), TAMIS_GUARD_PENDING);
    guard_table_put(&table, "new", "2");
    end_put(writer, "new", token);
    wait_for_outcome(reader, "other", TAMIS_GUARD_MISSING);
    assert_int_equal(find_outcome(reader, "new"), TAMIS_GUARD_PENDING);
    wait_for_row(reader, "new", "2");
    /* a guard that begins later scans the row */
    tamis_guard *late = open_listening(&table, &options);
    wait_for_outcome(late, "other", TAMIS_GUARD_MISSING);
    wait_for_row(late, "new", "2");
    tamis_guard_close(late);
    tamis_guard_close(reader);
    tamis_guard_close(writer);
    guard_table_release(&table);
}

/* A guard that begins between N1 and P3 scans no row, and still has the key. */
static void test_a_new_guard_has_recent_keys(void **state) {
    (void)state;
    guard_table table;
    uint8_t token[TAMIS_GUARD_TOKEN];
    if (!server.pid)
        skip();
    guard_table_init(&table);
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.prefix = "recent:";
    tamis_guard *writer = open_listening(&table, &options);
    begin_put(writer, "new", token);
    tamis_guard *late = open_listening(&table, &options);
    wait_for_outcome(late, "other", TAMIS_GUARD_MISSING);
    assert_int_equal(find_outcome(late, "new"), TAMIS_GUARD_PENDING);
    guard_table_put(&table, "new", "1");
    end_put(writer, "new", token);
    wait_for_row(late, "new", "1");
    tamis_guard_close(late);
    tamis_guard_close(writer);
    guard_table_release(&table);
}

static void test_a_silent_guard_does_not_answer(void **state) {
    (void)state;
    guard_table table;
    if (!server.pid)
        skip();
    guard_table_init(&table);
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.prefix = "silent:";
    tamis_guard *guard = open_listening(&table, &options);
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    pause_ms(250);
    assert_int_equal(find_outcome(guard, "none"), TAMIS_GUARD_PENDING);
    assert_int_equal(kill(server.pid, SIGCONT), 0);
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    assert_int_equal(guard_table_scans(&table), 1); /* the filter was good */
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* A replica may not have the latest news. */
static void test_a_replica_has_no_news(void **state) {
    (void)state;
    guard_table table;
    if (!server.pid)
        skip();
    guard_table_init(&table);
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.prefix = "replica:";
    tamis_guard *guard = open_listening(&table, &options);
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    assert_string_equal(redis_server_command(&server, "REPLICAOF 127.0.0.1 1"), "OK");
    pause_ms(300);
    assert_int_equal(find_outcome(guard, "none"), TAMIS_GUARD_PENDING);
    assert_string_equal(redis_server_command(&server, "REPLICAOF NO ONE"), "OK");
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* A guard that was away for the life of a mark, or whose Redis has lost news, builds a new filter. */
static void test_a_gap_needs_a_new_filter(void **state) {
    (void)state;
    guard_table table;
    if (!server.pid)
        skip();
    guard_table_init(&table);
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.prefix = "gap:";
    options.mark_ms = 400;
    options.timeout_ms = 400;
    tamis_guard *guard = open_listening(&table, &options);
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    guard_table_put(&table, "row", "1"); /* by somebody whose news this guard has missed */
    pause_ms(1200);
    assert_int_equal(kill(server.pid, SIGCONT), 0);
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    assert_true(guard_table_scans(&table) >= 2); /* a busy machine may have another gap */
    wait_for_row(guard, "row", "1");

    uint8_t token[TAMIS_GUARD_TOKEN];
    begin_put(guard, "a", token);
    pause_ms(1000); /* the guard has read its own news */
    const uint64_t scans = guard_table_scans(&table);
    guard_table_put(&table, "lost", "1");
    (void)redis_server_command(&server, "FLUSHALL"); /* its news are lost */
    for (int waited = 0; guard_table_scans(&table) == scans; waited += 5) {
        assert_true(waited < SOME_TIME);
        pause_ms(5);
    }
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    wait_for_row(guard, "lost", "1");
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* ---- the machine is suspended ---- */

static uint64_t (*clock_of_system)(void);
static atomic_uint_fast64_t suspended; /* ns, by which only the clock of tamis__sys.now_boot_ns advances */

static uint64_t now_after_suspend(void) {
    return clock_of_system() + atomic_load(&suspended);
}

static void suspend_ms(uint64_t ms) {
    atomic_fetch_add(&suspended, ms * 1000000);
}

/* The first lookup after the wake-up comes before any request to Redis. */
static void test_a_guard_that_wakes_up_is_silent(void **state) {
    (void)state;
    guard_table table;
    if (!server.pid)
        skip();
    guard_table_init(&table);
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.prefix = "wake:";
    tamis_guard *guard = open_listening(&table, &options);
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    const uint64_t scans = guard_table_scans(&table);
    assert_int_equal(kill(server.pid, SIGSTOP), 0); /* else the listener may be faster than the lookup */
    suspend_ms(1000);
    assert_int_equal(find_outcome(guard, "none"), TAMIS_GUARD_PENDING);
    assert_int_equal(kill(server.pid, SIGCONT), 0);
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    assert_int_equal(guard_table_scans(&table), scans); /* all news of a second are still there */
    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    suspend_ms(3600000);
    assert_int_equal(find_outcome(guard, "none"), TAMIS_GUARD_PENDING);
    assert_int_equal(kill(server.pid, SIGCONT), 0);
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    assert_true(guard_table_scans(&table) > scans); /* news of an hour are not */
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* The mark in Redis has expired meanwhile. */
static void test_a_put_does_not_outlive_a_suspend(void **state) {
    (void)state;
    guard_table table;
    guard_put put;
    tamis_error err = TAMIS_ERROR_INIT;
    if (!server.pid)
        skip();
    guard_table_init(&table);
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.prefix = "put:";
    tamis_guard *guard = open_listening(&table, &options);
    for (int tries = 1; tamis__guard_put_begin(guard, key_of("a"), &put, &err) != TAMIS_OK ||
                        tamis__guard_put_confirm(guard, key_of("a"), &put, &err) != TAMIS_OK;
         tries++) {
        if (tries == PUT_TRIES)
            fail_msg("put: %s", err.text);
        pause_ms(PUT_PAUSE_MS);
    }
    suspend_ms(1000); /* less than mark_ms is left */
    assert_int_equal(tamis__guard_put_confirm(guard, key_of("a"), &put, &err), TAMIS_E_TIMEOUT);
    assert_non_null(strstr(err.text, "longer than the mark in Redis may live; try again"));
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING); /* Redis was heard since */
    put_row(guard, &table, "a", "1");
    wait_for_row(guard, "a", "1");
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_cached_answers_expire_in_a_suspend(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    guard_table_put(&table, "a", "1");
    options.cache_bytes = 1 << 17;
    options.cache_life_ms = 3600000;
    tamis_guard *guard = open_guard(&table, &options);
    assert_row(guard, "a", "1");
    guard_table_put(&table, "a", "2"); /* by somebody else */
    assert_row(guard, "a", "1");
    suspend_ms(3600000);
    assert_row(guard, "a", "2");
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_no_news_no_put(void **state) {
    (void)state;
    guard_table table;
    uint8_t token[TAMIS_GUARD_TOKEN];
    tamis_error err = TAMIS_ERROR_INIT;
    if (!server.pid)
        skip();
    guard_table_init(&table);
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.prefix = "none:";
    options.timeout_ms = 400;
    tamis_guard *guard = open_listening(&table, &options);
    redis_server_kill(&server);
    assert_int_not_equal(tamis_guard_put_begin(guard, key_of("a"), token, &err), TAMIS_OK);
    assert_true(err.text[0] != '\0');
    redis_server_restart(&server);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* ---- writers and readers in any order, while filters are built and Redis stops ---- */

enum { WRITERS = 8, READERS = 2 };

typedef struct race {
    guard_table *table;
    tamis_guard *guards[2];
    atomic_int next, written[WRITERS]; /* a number of a key; the last row that each writer has written */
    atomic_bool is_over;
    atomic_uint_fast64_t lookups, wrong;
    int rows;
} race;

typedef struct race_thread {
    race *race;
    int number;
    pthread_t thread;
} race_thread;

static void *write_rows(void *context) {
    race_thread *me = context;
    race *shared = me->race;
    char name[16];
    for (int key = atomic_fetch_add(&shared->next, 1); key < shared->rows;
         key = atomic_fetch_add(&shared->next, 1)) {
        uint8_t token[TAMIS_GUARD_TOKEN];
        snprintf(name, sizeof name, "k%d", key);
        tamis_guard *guard = shared->guards[me->number % 2];
        while (tamis_guard_put_begin(guard, key_of(name), token, NULL) != TAMIS_OK)
            pause_ms(5);
        guard_table_put(shared->table, name, name);
        atomic_store(&shared->written[me->number], key);
        (void)tamis_guard_put_end(guard, key_of(name), token, NULL);
    }
    return NULL;
}

static void *read_rows(void *context) {
    race_thread *me = context;
    race *shared = me->race;
    char name[16];
    for (unsigned i = 0; !atomic_load(&shared->is_over); i++) {
        const int key = atomic_load(&shared->written[i % WRITERS]);
        if (key < 0)
            continue;
        snprintf(name, sizeof name, "k%d", key);
        atomic_fetch_add(&shared->lookups, 1);
        if (find_outcome(shared->guards[me->number], name) == TAMIS_GUARD_MISSING)
            atomic_fetch_add(&shared->wrong, 1);
    }
    return NULL;
}

static void test_no_wrong_absent_in_any_order(void **state) {
    (void)state;
    guard_table table;
    race shared = {.table = &table, .rows = (int)test_scale(120, 30, 40)};
    race_thread writers[WRITERS], readers[READERS];
    if (!server.pid)
        skip();
    guard_table_init(&table);
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.prefix = "race:";
    options.scan_ms = 30;
    for (int i = 0; i < 2; i++)
        shared.guards[i] = open_listening(&table, &options);
    for (int i = 0; i < WRITERS; i++) {
        atomic_init(&shared.written[i], -1);
        writers[i] = (race_thread){.race = &shared, .number = i};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, write_rows, &writers[i]), 0);
    }
    for (int i = 0; i < READERS; i++) {
        readers[i] = (race_thread){.race = &shared, .number = i};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_rows, &readers[i]), 0);
    }
    while (atomic_load(&shared.next) < shared.rows) {
        pause_ms(150);
        assert_int_equal(kill(server.pid, SIGSTOP), 0);
        pause_ms((uint64_t)(rand() % 400));
        assert_int_equal(kill(server.pid, SIGCONT), 0);
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    atomic_store(&shared.is_over, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i].thread, NULL);
    print_message("%llu lookups, %llu scans\n", (unsigned long long)shared.lookups,
                  (unsigned long long)guard_table_scans(&table));
    assert_int_equal(shared.wrong, 0);
    assert_true(guard_table_scans(&table) > 4);
    for (int i = 0; i < 2; i++)
        tamis_guard_close(shared.guards[i]);
    guard_table_release(&table);
}

/* ---- the filter comes from a file ---- */

static tamis_guard *open_over_list(guard_table *table, tamis_guard_options *options) {
    options->redis = server.uri;
    options->prefix = "list:";
    options->mark_ms = 100;
    options->timeout_ms = 400;
    options->scan_new_ms = 5;
    options->news_ms = 60000;
    options->keys_file = scratch("keys");
    return open_guard(table, options);
}

static void replace_list(const char *text) {
    file_write(scratch("new"), text, strlen(text));
    assert_int_equal(rename(scratch("new"), scratch("keys")), 0);
}

/* A guard that starts long after a put reads its key in the news that Redis keeps. So does one after a gap. */
static void test_old_news_for_a_file(void **state) {
    (void)state;
    guard_table table;
    if (!server.pid)
        skip();
    scratch_make();
    guard_table_init(&table);
    guard_table_put(&table, "old", "1");
    replace_list("old\n");
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_guard *guard = open_over_list(&table, &options);
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    wait_for_row(guard, "old", "1");
    put_row(guard, &table, "put", "2");
    pause_ms(2000); /* the life of a mark is below 600 ms */
    tamis_guard *late = open_over_list(&table, &options);
    wait_for_outcome(late, "none", TAMIS_GUARD_MISSING);
    wait_for_row(late, "put", "2");
    wait_for_row(late, "old", "1");

    assert_int_equal(kill(server.pid, SIGSTOP), 0);
    pause_ms(1500);
    assert_int_equal(find_outcome(late, "none"), TAMIS_GUARD_PENDING);
    assert_int_equal(kill(server.pid, SIGCONT), 0);
    wait_for_outcome(late, "none", TAMIS_GUARD_MISSING);
    wait_for_row(late, "put", "2");
    const uint64_t scans = stats_of(late).scans;
    replace_list("old\nother\n");
    guard_table_put(&table, "other", "3");
    for (int waited = 0; stats_of(late).scans == scans || find_outcome(late, "other") == TAMIS_GUARD_MISSING;
         waited += 5) {
        assert_true(waited < SOME_TIME);
        pause_ms(5);
    }
    wait_for_row(late, "put", "2");
    wait_for_row(late, "other", "3");
    tamis_guard_close(late);
    tamis_guard_close(guard);
    guard_table_release(&table);
    scratch_remove();
}

/* News of that time are gone, so the file may lack keys that nobody knows. */
static void test_a_file_that_is_older_than_the_news(void **state) {
    (void)state;
    static const struct timespec old[2] = {{1000000, 0}, {1000000, 0}};
    guard_table table;
    tamis_error err = TAMIS_ERROR_INIT;
    if (!server.pid)
        skip();
    scratch_make();
    guard_table_init(&table);
    replace_list("old\n");
    assert_int_equal(utimensat(AT_FDCWD, scratch("keys"), old, 0), 0);
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_guard *guard = open_over_list(&table, &options);
    while (tamis_guard_wait_for_filter(guard, SOME_TIME, &err) == TAMIS_E_TIMEOUT)
        pause_ms(5);
    assert_int_equal(err.status, TAMIS_E_CHANGED);
    assert_non_null(
        strstr(err.text, "older than the keys of puts in Redis, which are of the last 60 s; make it again"));
    assert_int_equal(find_outcome(guard, "none"), TAMIS_GUARD_PENDING);
    replace_list("old\n");
    wait_for_outcome(guard, "none", TAMIS_GUARD_MISSING);
    tamis_guard_close(guard);
    guard_table_release(&table);
    scratch_remove();
}

static int set_up(void **state) {
    (void)state;
    clock_of_system = tamis__sys.now_boot_ns;
    tamis__sys.now_boot_ns = now_after_suspend;
    if (redis_server_installed())
        redis_server_start(&server, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    redis_server_stop(&server);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_guards_hear_of_a_put),
        cmocka_unit_test(test_a_new_guard_has_recent_keys),
        cmocka_unit_test(test_a_silent_guard_does_not_answer),
        cmocka_unit_test(test_a_replica_has_no_news),
        cmocka_unit_test(test_a_gap_needs_a_new_filter),
        cmocka_unit_test(test_a_guard_that_wakes_up_is_silent),
        cmocka_unit_test(test_a_put_does_not_outlive_a_suspend),
        cmocka_unit_test(test_cached_answers_expire_in_a_suspend),
        cmocka_unit_test(test_no_news_no_put),
        cmocka_unit_test(test_no_wrong_absent_in_any_order),
        cmocka_unit_test(test_old_news_for_a_file),
        cmocka_unit_test(test_a_file_that_is_older_than_the_news),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
