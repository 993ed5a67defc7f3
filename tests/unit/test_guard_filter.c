/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <tamis/experimental/guard.h>

#include "base/system.h"
#include "service/guard/guard_scan_time.h"
#include "support/guard_calls.h"
#include "support/guard_table.h"
#include "support/scratch.h"

/* Level 1: the filter of a guard, from the first scan to the loss of the filter. */

static void fill_table(guard_table *table, int count) {
    char name[16];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "row%d", i);
        guard_table_put(table, name, name);
    }
}

static void wait_for_filter(tamis_guard *guard) {
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_guard_wait_for_filter(guard, 30000, &err) != TAMIS_OK)
        fail_msg("wait_for_filter: %s", err.text);
}

static void test_absent_keys_reach_no_database(void **state) {
    (void)state;
    enum { ROWS = 2000, ABSENT = 20000 };
    char name[16];
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    fill_table(&table, ROWS);
    tamis_guard *guard = open_scanned(&table, &options);
    wait_for_filter(guard);
    for (int i = 0; i < ROWS; i++) {
        snprintf(name, sizeof name, "row%d", i);
        assert_row(guard, name, name);
    }
    for (int i = 0; i < ABSENT; i++) {
        snprintf(name, sizeof name, "none%d", i);
        assert_row(guard, name, "");
    }
    const tamis_guard_stats stats = stats_of(guard);
    const double expected = ABSENT * 0.001, deviation = sqrt(expected);
    assert_true((double)stats.missing_loads <= expected + 5 * deviation);
    assert_int_equal(guard_table_loads(&table), ROWS + stats.missing_loads);
    assert_int_equal(stats.absent, ABSENT - stats.missing_loads);
    assert_true(stats.has_filter);
    assert_int_equal(stats.filter_keys, ROWS);
    assert_true(stats.filter_bytes > 0);
    assert_int_equal(stats.scans, 1);
    assert_true(stats.scanned_at > 0);
    assert_true(fabs(stats.live_fpr - (double)stats.missing_loads / ABSENT) < 1e-9);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_without_scan_there_is_no_filter(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    options.without_filter = TAMIS_GUARD_CLOSED; /* has no meaning then */
    tamis_guard *guard = open_guard(&table, &options);
    wait_for_filter(guard);
    assert_row(guard, "a", "");
    assert_false(stats_of(guard).has_filter);
    assert_true(isnan(stats_of(guard).live_fpr));
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_modes_until_the_first_filter(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    fill_table(&table, 200);
    table.scan_delay_ms = 300;
    tamis_guard *open = open_scanned(&table, &options);
    options.without_filter = TAMIS_GUARD_CLOSED;
    tamis_guard *closed = open_scanned(&table, &options);
    assert_row(open, "none", "");
    assert_row(open, "row1", "row1");
    assert_null(get_row(closed, "row1", &err));
    assert_int_equal(err.status, TAMIS_E_BUSY);
    assert_int_equal(tamis_guard_wait_for_filter(closed, 10, &err), TAMIS_E_TIMEOUT);
    wait_for_filter(closed);
    assert_row(closed, "row1", "row1");
    tamis_guard_close(closed);
    tamis_guard_close(open); /* perhaps within its scan */
    guard_table_release(&table);
}

static void test_rows_of_other_writers_are_found(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_guard_value value;
    const tamis_key key = key_of("late");
    guard_table_init(&table);
    options.scan_new_ms = 20;
    tamis_guard *guard = open_scanned(&table, &options);
    wait_for_filter(guard);
    assert_row(guard, "late", "");
    guard_table_put(&table, "late", "1");
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(tamis_guard_find_many(guard, &key, 1, &value, NULL), TAMIS_OK);
        if (value.outcome != TAMIS_GUARD_MISSING)
            break;
        pause_ms(5);
    }
    assert_row(guard, "late", "1");
    assert_int_equal(guard_table_scans(&table), 1);
    assert_true(stats_of(guard).updated_at >= stats_of(guard).scanned_at);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_failed_scans_are_repeated(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    guard_table_fail_scans(&table, true);
    fill_table(&table, 10);
    tamis_guard *guard = open_scanned(&table, &options);
    assert_int_equal(tamis_guard_wait_for_filter(guard, 30000, &err), TAMIS_E_REFUSED);
    assert_string_equal(err.text, "table: no scan; allow it");
    assert_row(guard, "none", "");
    assert_true(stats_of(guard).failed_scans >= 1);
    guard_table_fail_scans(&table, false);
    while (!stats_of(guard).has_filter)
        pause_ms(10);
    wait_for_filter(guard);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* A source that finds new rows by full scans alone. */
static void test_scans_without_scan_new(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    fill_table(&table, 200);
    guard_table_source_scanned(&table, &source);
    source.scan_new = NULL;
    options.source = &source;
    options.scan_ms = options.scan_new_ms = 1;
    tamis_guard *guard = open_guard(&table, &options);
    wait_for_filter(guard);
    guard_table_put(&table, "late", "1");
    const uint64_t scans = stats_of(guard).scans;
    while (stats_of(guard).scans < scans + 3)
        pause_ms(1);
    assert_row(guard, "late", "1");
    assert_int_equal(guard_table_new_scans(&table), 0);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* ---- a time of day ---- */

static atomic_llong day_time; /* milliseconds since 1970 UTC */

static int64_t now_of_day(void) {
    return atomic_load(&day_time);
}

static void test_times_of_day(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "3:30", "24:00", "03:60", "03:30 ", "0330", "a3:30", "03.30"};
    const int64_t minute = 60000, day = 1440 * minute, winter = 20000 * day; /* 2024-10-04 */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(tamis__guard_scan_minute(wrong[i]), -1);
    assert_int_equal(tamis__guard_scan_minute("00:00"), 0);
    assert_int_equal(tamis__guard_scan_minute("23:59"), 1439);
    setenv("TZ", "UTC", 1);
    tzset();
    assert_int_equal(tamis__guard_next_scan(210, winter), winter + 210 * minute);
    assert_int_equal(tamis__guard_next_scan(210, winter + 210 * minute - 1), winter + 210 * minute);
    assert_int_equal(tamis__guard_next_scan(210, winter + 210 * minute), winter + day + 210 * minute);
    assert_int_equal(tamis__guard_next_scan(0, winter), winter + day);
    /* Clocks of this zone go from 2 to 3 o'clock on 2024-03-31, and from 3 to 2 on 2024-10-27. */
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    const int64_t march = 19813 * day, october = 20023 * day;
    assert_int_equal(tamis__guard_next_scan(210, march), march + 90 * minute);      /* 3:30 is 1:30 UTC */
    assert_int_equal(tamis__guard_next_scan(210, october), october + 150 * minute); /* 2:30 UTC */
    assert_true(llabs(tamis__guard_next_scan(150, march) - (march + 60 * minute)) <= 60 * minute);
    unsetenv("TZ");
    tzset();
}

static void test_scan_at_a_time_of_day(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    int64_t (*const now_unix_ms)(void) = tamis__sys.now_unix_ms;
    const int64_t minute = 60000, day = 1440 * minute;
    setenv("TZ", "UTC", 1);
    tzset();
    atomic_store(&day_time, 20000 * day + 209 * minute);
    tamis__sys.now_unix_ms = now_of_day;
    guard_table_init(&table);
    fill_table(&table, 10);
    guard_table_source_scanned(&table, &source);
    options.source = &source;
    options.scan_at = "03:30";
    tamis_guard *guard = open_guard(&table, &options);
    wait_for_filter(guard);
    for (uint64_t scans = 2; scans < 4; scans++) {
        pause_ms(1200); /* time for another scan */
        assert_int_equal(stats_of(guard).scans, scans - 1);
        atomic_fetch_add(&day_time, scans == 2 ? minute : day);
        while (stats_of(guard).scans < scans)
            pause_ms(1);
    }
    tamis_guard_close(guard);
    tamis__sys.now_unix_ms = now_unix_ms;
    unsetenv("TZ");
    tzset();
    guard_table_release(&table);
}

/* After the loss of the session only a full scan finds what was written meanwhile. */
static void test_lost_session_scans_again(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    fill_table(&table, 10);
    options.scan_new_ms = 10;
    tamis_guard *guard = open_scanned(&table, &options);
    wait_for_filter(guard);
    guard_table_stop(&table);
    pause_ms(50);
    assert_row(guard, "none", ""); /* the old filter stays */
    guard_table_put(&table, "meanwhile", "1");
    guard_table_start(&table);
    while (stats_of(guard).scans < 2)
        pause_ms(10);
    assert_row(guard, "meanwhile", "1");
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* ---- memory runs out ---- */

static atomic_bool is_memory_short;

static void *alloc_block(void *context, size_t size, size_t align) {
    (void)context;
    if (atomic_load(&is_memory_short))
        return NULL;
    void *block = aligned_alloc(align, (size + align - 1) / align * align);
    return block ? memset(block, 0, size) : NULL;
}

static void free_block(void *context, void *block, size_t size) {
    (void)context;
    (void)size;
    free(block);
}

/* A filter that cannot take a key that it was given answers nothing any more. */
static void test_filter_that_lacks_a_key_is_dropped(void **state) {
    (void)state;
    static const tamis_allocator allocator = {alloc_block, free_block, NULL};
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    fill_table(&table, 10);
    options.scan_new_ms = 10;
    options.allocator = &allocator;
    options.without_filter = TAMIS_GUARD_CLOSED;
    tamis_guard *guard = open_scanned(&table, &options);
    wait_for_filter(guard);
    atomic_store(&is_memory_short, true);
    fill_table(&table, 20000);
    while (stats_of(guard).has_filter)
        pause_ms(5);
    assert_int_equal(tamis_guard_wait_for_filter(guard, 30000, &err), TAMIS_E_NOMEM);
    assert_null(get_row(guard, "row19999", &err));
    assert_int_equal(err.status, TAMIS_E_BUSY);
    atomic_store(&is_memory_short, false);
    while (!stats_of(guard).has_filter)
        pause_ms(10);
    assert_row(guard, "row19999", "row19999");
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* ---- filters are built again while rows are written ---- */

enum { WRITERS = 3 };

typedef struct writer {
    guard_table *table;
    tamis_guard *guard;
    int number;
    atomic_int written; /* rows that exist */
    int rows;
    uint64_t seed;
} writer;

/* Writes rows through the guard. Each must be found at once, and each older one at any time. */
static void *write_rows(void *context) {
    writer *self = context;
    char name[32];
    uint8_t token[TAMIS_GUARD_TOKEN];
    for (int i = 0; i < self->rows; i++) {
        snprintf(name, sizeof name, "w%d-%d", self->number, i);
        assert_int_equal(tamis_guard_put_begin(self->guard, key_of(name), token, NULL), TAMIS_OK);
        if (test_below(&self->seed, 4) == 0)
            pause_ms(test_below(&self->seed, 8));
        guard_table_put(self->table, name, name);
        assert_int_equal(tamis_guard_put_end(self->guard, key_of(name), token, NULL), TAMIS_OK);
        assert_row(self->guard, name, name);
        atomic_store(&self->written, i + 1);
    }
    return NULL;
}

static void test_no_row_is_lost_while_filters_change(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    writer writers[WRITERS];
    pthread_t threads[WRITERS];
    uint64_t seed = test_seed(27);
    char name[32];
    const int rows = (int)test_scale(1500, 200, 300);
    guard_table_init(&table);
    fill_table(&table, 500);
    table.scan_delay_ms = 1;
    options.scan_ms = 1; /* one scan after another */
    options.scan_new_ms = 3600000;
    options.cache_bytes = 1 << 20;
    options.timeout_ms = 60000;
    tamis_guard *guard = open_scanned(&table, &options);
    wait_for_filter(guard);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){&table, guard, i, 0, rows, seed + (uint64_t)i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_rows, &writers[i]), 0);
    }
    for (bool is_running = true; is_running;) {
        is_running = stats_of(guard).scans <= 3;
        for (int i = 0; i < WRITERS; i++) {
            const int written = atomic_load(&writers[i].written);
            is_running |= written < rows;
            if (written == 0)
                continue;
            snprintf(name, sizeof name, "w%d-%d", i, (int)test_below(&seed, (uint64_t)written));
            assert_row(guard, name, name);
        }
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_true(stats_of(guard).scans > 3);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* Another program has written a row, and says so afterwards. */
static void test_put_end_without_begin_adds_the_key(void **state) {
    (void)state;
    guard_table table;
    const tamis_key key = key_of("new");
    tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    options.scan_new_ms = 3600000;
    tamis_guard *guard = open_scanned(&table, &options);
    wait_for_filter(guard);
    guard_table_put(&table, "new", "1");
    assert_int_equal(tamis_guard_find_many(guard, &key, 1, &value, NULL), TAMIS_OK);
    assert_int_equal(value.outcome, TAMIS_GUARD_MISSING);
    assert_int_equal(tamis_guard_put_end(guard, key, NULL, NULL), TAMIS_OK);
    assert_row(guard, "new", "1");
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* ---- the database reports keys ---- */

static tamis_guard *open_listened(guard_table *table, tamis_guard_options *options) {
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    guard_table_source_listened(table, &source);
    options->source = &source;
    tamis_guard *guard = open_guard(table, options);
    options->source = NULL;
    return guard;
}

/* Waits until the filter has the key. */
static void wait_for_key(tamis_guard *guard, const char *name) {
    const tamis_key key = key_of(name);
    tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;
    for (int waited = 0;; waited++) {
        assert_int_equal(tamis_guard_find_many(guard, &key, 1, &value, NULL), TAMIS_OK);
        const tamis_guard_outcome outcome = value.outcome;
        tamis_guard_value_release(&value);
        if (outcome != TAMIS_GUARD_MISSING)
            return;
        assert_true(waited < 20000);
        pause_ms(1);
    }
}

/* Waits until so many keys were reported. They are counted after the filter has them. */
static void wait_for_reports(const tamis_guard *guard, uint64_t count) {
    for (int waited = 0; stats_of(guard).reported_keys < count; waited++) {
        assert_true(waited < 20000);
        pause_ms(1);
    }
    assert_int_equal(stats_of(guard).reported_keys, count);
}

static void test_reported_keys_are_found_without_scans(void **state) {
    (void)state;
    char name[16];
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    fill_table(&table, 100);
    options.cache_bytes = 1 << 20;
    options.cache_life_ms = 3600000;
    tamis_guard *guard = open_listened(&table, &options);
    wait_for_filter(guard);
    assert_true(stats_of(guard).is_listening);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "late%d", i);
        assert_row(guard, name, "");
        guard_table_put(&table, name, name);
        wait_for_key(guard, name);
        assert_row(guard, name, name);
    }
    assert_int_equal(guard_table_scans(&table), 1);
    wait_for_reports(guard, 300);
    guard_table_put(&table, "late1", "changed"); /* a cached answer is dropped */
    wait_for_reports(guard, 301);
    assert_row(guard, "late1", "changed");
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* Keys that come while a scan reads rows are in its filter. */
static void test_keys_reported_during_a_scan(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    fill_table(&table, 500);
    table.scan_delay_ms = 20;
    tamis_guard *guard = open_listened(&table, &options);
    while (guard_table_scans(&table) == 0)
        pause_ms(1);
    guard_table_put(&table, "during", "1");
    wait_for_filter(guard);
    wait_for_key(guard, "during");
    assert_row(guard, "during", "1");
    assert_int_equal(guard_table_scans(&table), 1);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* Nobody reports what was written without a session: the next scan finds it. */
static void test_a_lost_listener_scans_again(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    guard_table_init(&table);
    fill_table(&table, 10);
    tamis_guard *guard = open_listened(&table, &options);
    wait_for_filter(guard);
    for (uint64_t round = 1; round < 4; round++) {
        char name[16];
        guard_table_stop(&table);
        while (stats_of(guard).is_listening)
            pause_ms(1);
        assert_row(guard, "none", ""); /* the old filter stays */
        snprintf(name, sizeof name, "meanwhile%d", (int)round);
        guard_table_put(&table, name, "1");
        guard_table_start(&table);
        wait_for_key(guard, name);
        while (stats_of(guard).scans < round + 1)
            pause_ms(1);
        assert_row(guard, name, "1");
        assert_int_equal(tamis_guard_filter_error(guard, NULL), TAMIS_OK);
    }
    assert_int_equal(guard_table_listens(&table), 4);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_no_listener_at_the_start(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    fill_table(&table, 10);
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    guard_table_source_listened(&table, &source);
    tamis_guard *guard = open_listened(&table, &options);
    guard_table_stop(&table);
    guard_table_start(&table); /* before or after the first session */
    for (int tries = 0; tries < 30000 && tamis_guard_wait_for_filter(guard, 30000, NULL) != TAMIS_OK; tries++)
        pause_ms(1); /* the first session may have failed */
    wait_for_filter(guard);
    assert_row(guard, "row9", "row9");
    tamis_guard_close(guard);
    source.scan = NULL;
    options.source = &source;
    assert_int_equal(tamis_guard_open(&guard, &options, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text, "guard: the source has `listen` without `scan`; set both, or none");
    guard_table_release(&table);
}

/* A filter that lacks a reported key answers nothing until the next scan. */
static void test_a_reported_key_that_does_not_fit(void **state) {
    (void)state;
    static const tamis_allocator allocator = {alloc_block, free_block, NULL};
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    fill_table(&table, 10);
    options.allocator = &allocator;
    options.without_filter = TAMIS_GUARD_CLOSED;
    tamis_guard *guard = open_listened(&table, &options);
    wait_for_filter(guard);
    atomic_store(&is_memory_short, true);
    fill_table(&table, 20000);
    while (stats_of(guard).has_filter)
        pause_ms(5);
    assert_null(get_row(guard, "row19999", &err));
    atomic_store(&is_memory_short, false);
    while (!stats_of(guard).has_filter)
        pause_ms(10);
    assert_row(guard, "row19999", "row19999");
    tamis_guard_close(guard);
    guard_table_release(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_end_without_begin_adds_the_key),
        cmocka_unit_test(test_absent_keys_reach_no_database),
        cmocka_unit_test(test_without_scan_there_is_no_filter),
        cmocka_unit_test(test_modes_until_the_first_filter),
        cmocka_unit_test(test_rows_of_other_writers_are_found),
        cmocka_unit_test(test_failed_scans_are_repeated),
        cmocka_unit_test(test_scans_without_scan_new),
        cmocka_unit_test(test_times_of_day),
        cmocka_unit_test(test_scan_at_a_time_of_day),
        cmocka_unit_test(test_lost_session_scans_again),
        cmocka_unit_test(test_filter_that_lacks_a_key_is_dropped),
        cmocka_unit_test(test_no_row_is_lost_while_filters_change),
        cmocka_unit_test(test_reported_keys_are_found_without_scans),
        cmocka_unit_test(test_keys_reported_during_a_scan),
        cmocka_unit_test(test_a_lost_listener_scans_again),
        cmocka_unit_test(test_no_listener_at_the_start),
        cmocka_unit_test(test_a_reported_key_that_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
