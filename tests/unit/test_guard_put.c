/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/guard.h>

#include "service/guard/guard_put.h"
#include "support/guard_calls.h"
#include "support/guard_table.h"
#include "support/scratch.h"

/* Puts: a reader that begins after tamis_guard_put_end gets the new row. */

static tamis_guard *open_cached(guard_table *table) {
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.cache_bytes = 1 << 20;
    options.cache_life_ms = 3600000;
    options.timeout_ms = 60000;
    return open_guard(table, &options);
}

static void test_a_put_replaces_cached_answers(void **state) {
    (void)state;
    guard_table table;
    guard_table_init(&table);
    tamis_guard *guard = open_cached(&table);
    assert_row(guard, "a", "");
    put_row(guard, &table, "a", "1");
    assert_row(guard, "a", "1");
    put_row(guard, &table, "a", "2");
    assert_row(guard, "a", "2");
    assert_row(guard, "a", "2");
    assert_int_equal(guard_table_loads(&table), 3);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_nothing_is_cached_during_a_put(void **state) {
    (void)state;
    guard_table table;
    uint8_t token[TAMIS_GUARD_TOKEN], other[TAMIS_GUARD_TOKEN];
    guard_table_init(&table);
    tamis_guard *guard = open_cached(&table);
    assert_int_equal(tamis_guard_put_begin(guard, key_of("a"), token, NULL), TAMIS_OK);
    assert_int_equal(tamis_guard_put_begin(guard, key_of("a"), other, NULL), TAMIS_OK);
    assert_row(guard, "a", "");
    assert_row(guard, "a", "");
    assert_int_equal(guard_table_loads(&table), 2);
    assert_int_equal(tamis_guard_put_end(guard, key_of("a"), token, NULL), TAMIS_OK);
    assert_row(guard, "a", "");
    assert_row(guard, "a", "");
    assert_int_equal(guard_table_loads(&table), 4); /* the other put goes on */
    assert_int_equal(tamis_guard_put_end(guard, key_of("a"), other, NULL), TAMIS_OK);
    assert_row(guard, "a", "");
    assert_row(guard, "a", "");
    assert_int_equal(guard_table_loads(&table), 5);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_mark_of_a_lost_writer_expires(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    uint8_t token[TAMIS_GUARD_TOKEN];
    guard_table_init(&table);
    options.cache_bytes = 1 << 20;
    options.cache_life_ms = 3600000;
    options.mark_ms = 300;
    tamis_guard *guard = open_guard(&table, &options);
    assert_int_equal(tamis_guard_put_begin(guard, key_of("a"), token, NULL), TAMIS_OK);
    pause_ms(400); /* a tenth more, and the clock */
    assert_row(guard, "a", "");
    assert_row(guard, "a", "");
    assert_int_equal(guard_table_loads(&table), 1);
    assert_int_equal(tamis_guard_put_end(guard, key_of("a"), token, NULL), TAMIS_OK); /* late */
    assert_row(guard, "a", "");
    assert_int_equal(guard_table_loads(&table), 2);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* A row that another program has changed. */
static void test_put_end_without_begin_removes_the_answer(void **state) {
    (void)state;
    guard_table table;
    guard_table_init(&table);
    tamis_guard *guard = open_cached(&table);
    assert_row(guard, "a", "");
    guard_table_put(&table, "a", "1");
    assert_row(guard, "a", "");
    assert_int_equal(tamis_guard_put_end(guard, key_of("a"), NULL, NULL), TAMIS_OK);
    assert_row(guard, "a", "1");
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* ---- a query in progress ---- */

static void *read_slowly(void *context) {
    tamis_guard *guard = context;
    assert_row(guard, "a", "old"); /* it began before the put */
    return NULL;
}

/* The query has read the old row when the put begins, and answers after it has ended. */
static void test_a_query_from_before_is_not_shared_or_cached(void **state) {
    (void)state;
    guard_table table;
    pthread_t reader;
    guard_table_init(&table);
    guard_table_put(&table, "a", "old");
    table.delay_ms = 200;
    tamis_guard *guard = open_cached(&table);
    assert_int_equal(pthread_create(&reader, NULL, read_slowly, guard), 0);
    while (guard_table_queries(&table) == 0)
        pause_ms(1);
    put_row(guard, &table, "a", "new");
    assert_row(guard, "a", "new"); /* does not join */
    pthread_join(reader, NULL);
    assert_row(guard, "a", "new");
    assert_int_equal(guard_table_loads(&table), 2);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* ---- writers and readers race ---- */

enum { KEYS = 8, RACERS = 4 };

typedef struct race {
    guard_table table;
    tamis_guard *guard;
    atomic_int version[KEYS]; /* its tamis_guard_put_end has returned */
    atomic_bool is_over;
    atomic_ulong reads;
} race;

static void *write_versions(void *context) {
    race *game = context;
    char name[16], value[16];
    for (int version = 1; !atomic_load(&game->is_over); version++)
        for (int key = 0; key < KEYS; key++) {
            snprintf(name, sizeof name, "k%d", key);
            snprintf(value, sizeof value, "%d", version);
            put_row(game->guard, &game->table, name, value);
            atomic_store(&game->version[key], version);
        }
    return NULL;
}

static void *read_versions(void *context) {
    race *game = context;
    char name[16];
    tamis_error err = TAMIS_ERROR_INIT;
    for (int key = 0; !atomic_load(&game->is_over); key = (key + 1) % KEYS) {
        const int version = atomic_load(&game->version[key]);
        snprintf(name, sizeof name, "k%d", key);
        const char *value = get_row(game->guard, name, &err);
        if (!value)
            fail_msg("%s", err.text);
        assert_true(atoi(value) >= version);
        atomic_fetch_add(&game->reads, 1);
    }
    return NULL;
}

static void test_no_reader_gets_an_old_version(void **state) {
    (void)state;
    static race game;
    pthread_t writer, readers[RACERS];
    guard_table_init(&game.table);
    game.guard = open_cached(&game.table);
    assert_int_equal(pthread_create(&writer, NULL, write_versions, &game), 0);
    for (int i = 0; i < RACERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_versions, &game), 0);
    pause_ms(test_scale(2000, 1000, 500));
    atomic_store(&game.is_over, true);
    pthread_join(writer, NULL);
    for (int i = 0; i < RACERS; i++)
        pthread_join(readers[i], NULL);
    const tamis_guard_stats stats = stats_of(game.guard);
    printf("%lu reads, %llu queries, %d versions\n", atomic_load(&game.reads),
           (unsigned long long)stats.loads, atomic_load(&game.version[0]));
    assert_true(stats.cache_hits > 0);
    tamis_guard_close(game.guard);
    guard_table_release(&game.table);
}

/* ---- a guard that replaces another one ---- */

static tamis_guard *open_held(guard_table *table) {
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_guard *guard = NULL;
    guard_table_source_scanned(table, &source);
    options.source = &source;
    options.scan_new_ms = 3600000;
    assert_int_equal(tamis__guard_open_held(&guard, &options, NULL), TAMIS_OK);
    return guard;
}

static void adopt_put(void *context, tamis_key key, const uint8_t token[TAMIS_GUARD_TOKEN]) {
    tamis_guard *to = *(tamis_guard **)context;
    assert_int_equal(tamis__guard_put_adopt(to, key, token, NULL), TAMIS_OK);
    assert_int_equal(tamis__guard_put_adopt(to, key, token, NULL), TAMIS_OK); /* once is enough */
}

static void count_put(void *context, tamis_key key, const uint8_t token[TAMIS_GUARD_TOKEN]) {
    (void)key;
    (void)token;
    ++*(int *)context;
}

/* The row of a put that has ended is found by the scan, that of a put in progress by its mark. */
static void test_a_guard_takes_over_puts(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    uint8_t token[TAMIS_GUARD_TOKEN];
    int count = 0;
    guard_table_init(&table);
    tamis_guard *old = open_scanned(&table, &options);
    assert_int_equal(tamis_guard_put_begin(old, key_of("begun"), token, NULL), TAMIS_OK);
    tamis_guard *guard = open_held(&table);
    put_row(old, &table, "ended", "1");
    pause_ms(100);
    assert_false(stats_of(guard).has_filter);
    tamis__guard_each_put(old, adopt_put, &guard);
    tamis__guard_begin_scans(guard);
    assert_int_equal(tamis_guard_wait_for_filter(guard, 30000, NULL), TAMIS_OK);
    guard_table_put(&table, "begun", "2");
    assert_row(guard, "begun", "2");
    assert_row(guard, "ended", "1");
    assert_row(guard, "none", "");
    assert_int_equal(stats_of(guard).absent, 1);
    assert_int_equal(tamis_guard_put_end(guard, key_of("begun"), token, NULL), TAMIS_OK);
    tamis__guard_each_put(guard, count_put, &count);
    assert_int_equal(count, 0);
    tamis_guard_close(old);
    tamis_guard_close(guard);
    tamis_guard_close(open_held(&table)); /* its thread waits */
    guard_table_release(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_put_replaces_cached_answers),
        cmocka_unit_test(test_nothing_is_cached_during_a_put),
        cmocka_unit_test(test_mark_of_a_lost_writer_expires),
        cmocka_unit_test(test_put_end_without_begin_removes_the_answer),
        cmocka_unit_test(test_a_query_from_before_is_not_shared_or_cached),
        cmocka_unit_test(test_no_reader_gets_an_old_version),
        cmocka_unit_test(test_a_guard_takes_over_puts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
