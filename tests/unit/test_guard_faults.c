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

#include "base/system.h"
#include "support/guard_calls.h"
#include "support/guard_table.h"
#include "support/scratch.h"

/* A guard whose database fails, and one without memory. */

/* ---- the database is down for a while ---- */

enum { CLIENTS = 8, KEYS = 50 };

typedef struct outage {
    guard_table table;
    tamis_guard *guard;
    atomic_bool is_over;
    atomic_ulong answers, errors;
} outage;

/* Every answer is right, and no call lasts longer than its time limit and a little. */
static void *query_always(void *context) {
    outage *self = context;
    char name[16];
    tamis_error err = TAMIS_ERROR_INIT;
    for (int i = 0; !atomic_load(&self->is_over); i = (i + 1) % (2 * KEYS)) {
        snprintf(name, sizeof name, "k%d", i);
        const uint64_t start = tamis__now_ns();
        const char *value = get_row(self->guard, name, &err);
        const uint64_t ms = (tamis__now_ns() - start) / 1000000;
        assert_true(ms < 500 + 10000);
        if (value)
            assert_string_equal(value, i < KEYS ? name : "");
        else
            assert_true(err.status == TAMIS_E_IO || err.status == TAMIS_E_TIMEOUT);
        atomic_fetch_add(value ? &self->answers : &self->errors, 1);
        if (!value)
            pause_ms(1);
    }
    return NULL;
}

static void wait_until_positive(const atomic_ulong *count) {
    for (int waited = 0; atomic_load(count) == 0; waited++) {
        assert_true(waited < 20000);
        pause_ms(1);
    }
}

/* Waits for 300 ms with answers and without an error. A busy machine may need several attempts. */
static void wait_for_good_times(outage *self) {
    for (int tries = 0; tries < 60; tries++) {
        const unsigned long errors = atomic_load(&self->errors), answers = atomic_load(&self->answers);
        pause_ms(300);
        if (atomic_load(&self->errors) == errors && atomic_load(&self->answers) > answers)
            return;
    }
    fail_msg("no end of errors");
}

static void test_an_outage_of_the_database(void **state) {
    (void)state;
    static outage self;
    pthread_t threads[CLIENTS];
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    char name[16];
    const uint64_t start = tamis__now_ns();
    guard_table_init(&self.table);
    for (int i = 0; i < KEYS; i++) {
        snprintf(name, sizeof name, "k%d", i);
        guard_table_put(&self.table, name, name);
    }
    self.table.delay_ms = 1;
    options.timeout_ms = 500;
    options.sessions = 3;
    self.guard = open_guard(&self.table, &options);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, query_always, &self), 0);
    pause_ms(200);
    wait_until_positive(&self.answers);
    guard_table_stop(&self.table);
    pause_ms(test_scale(3000, 500, 500));
    wait_until_positive(&self.errors);
    guard_table_start(&self.table);
    wait_for_good_times(&self);
    atomic_store(&self.is_over, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    assert_true(guard_table_running_max(&self.table) <= options.sessions);
    /* three threads, at most twenty attempts a second each, and four sessions before and after */
    assert_true(guard_table_connects(&self.table) <=
                8 + 3 * 20 * ((tamis__now_ns() - start) / 1000000000 + 1));
    tamis_guard_close(self.guard);
    guard_table_release(&self.table);
}

/* The thread that is woken for a request has no session, and gets none. One with a session, which does not know
 * yet that it is broken, takes over. */
static void test_an_outage_after_idleness_is_an_error(void **state) {
    (void)state;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    options.timeout_ms = 20000;
    for (int i = 0; i < 20; i++) {
        guard_table table;
        guard_table_init(&table);
        guard_table_put(&table, "a", "1");
        tamis_guard *guard = open_guard(&table, &options);
        pause_ms(5);
        assert_row(guard, "a", "1"); /* its thread is the last one to be woken again */
        pause_ms((uint64_t)(i % 4) * 5);
        guard_table_stop(&table);
        assert_null(get_row(guard, "a", &err));
        assert_int_equal(err.status, TAMIS_E_IO);
        tamis_guard_close(guard);
        guard_table_release(&table);
    }
}

/* The database was restarted while the guard was idle: no request sees it. */
static void test_lost_sessions_are_replaced(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    char name[16];
    guard_table_init(&table);
    tamis_guard *guard = open_guard(&table, &options);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20; i++) {
            snprintf(name, sizeof name, "k%d", i);
            assert_row(guard, name, "");
        }
        pause_ms(50); /* no thread is connecting */
        guard_table_stop(&table);
        guard_table_start(&table);
    }
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* ---- memory ---- */

typedef struct memory {
    atomic_uint_fast64_t requests, fail_at; /* number of the request that fails, with all later ones */
    atomic_int_fast64_t live;
} memory;

static void *alloc_block(void *context, size_t size, size_t align) {
    memory *self = context;
    const uint64_t number = atomic_fetch_add(&self->requests, 1) + 1, fail_at = atomic_load(&self->fail_at);
    if (fail_at && number >= fail_at)
        return NULL;
    void *block = aligned_alloc(align, (size + align - 1) / align * align);
    if (!block)
        return NULL;
    atomic_fetch_add(&self->live, (int64_t)size);
    return memset(block, 0, size);
}

static void free_block(void *context, void *block, size_t size) {
    memory *self = context;
    atomic_fetch_sub(&self->live, (int64_t)size);
    free(block);
}

/* Uses a guard. Calls may fail with TAMIS_E_NOMEM, and with TAMIS_E_BUSY before there is a filter. No answer is
 * wrong. */
static void use_guard(tamis_guard *guard, guard_table *table) {
    uint8_t token[TAMIS_GUARD_TOKEN];
    tamis_error err = TAMIS_ERROR_INIT;
    (void)tamis_guard_wait_for_filter(guard, 30000, NULL);
    const char *value = get_row(guard, "a", &err);
    if (value)
        assert_string_equal(value, "1");
    else
        assert_int_equal(err.status, TAMIS_E_NOMEM);
    const tamis_status status = tamis_guard_put_begin(guard, key_of("b"), token, &err);
    if (status == TAMIS_OK) {
        guard_table_put(table, "b", "2");
        assert_int_equal(tamis_guard_put_end(guard, key_of("b"), token, &err), TAMIS_OK);
        value = get_row(guard, "b", &err);
        if (value)
            assert_string_equal(value, "2");
    } else {
        assert_int_equal(status, TAMIS_E_NOMEM);
    }
}

static void test_every_allocation_fails_once(void **state) {
    (void)state;
    bool is_reached = true;
    for (uint64_t n = 1; is_reached; n++) {
        guard_table table;
        tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
        tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_guard *guard = NULL;
        memory self;
        atomic_init(&self.requests, 0);
        atomic_init(&self.fail_at, n);
        atomic_init(&self.live, 0);
        const tamis_allocator allocator = {alloc_block, free_block, &self};
        guard_table_init(&table);
        guard_table_put(&table, "a", "1");
        guard_table_source_scanned(&table, &source);
        options.source = &source;
        options.allocator = &allocator;
        options.cache_bytes = 1 << 17;
        options.sessions = 1;
        const tamis_status status = tamis_guard_open(&guard, &options, &err);
        assert_true(status == TAMIS_OK || status == TAMIS_E_NOMEM);
        if (status == TAMIS_OK) {
            use_guard(guard, &table);
            tamis_guard_close(guard);
        }
        is_reached = atomic_load(&self.requests) >= n;
        assert_int_equal(atomic_load(&self.live), 0);
        guard_table_release(&table);
    }
}

/* ---- an attack ---- */

/* 80 % absent keys, 15 % hot ones, 5 % cold ones: the database sees first loads and false positives only. */
static void test_queries_under_attack_are_bounded(void **state) {
    (void)state;
    enum { ROWS = 3000, HOT = 20 };
    guard_table table;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    uint64_t seed = test_seed(2027), absent = 0, first = 0;
    static bool is_known[ROWS];
    char name[32];
    const uint64_t count = test_scale(300000, 30000, 50000);
    guard_table_init(&table);
    for (int i = 0; i < ROWS; i++) {
        snprintf(name, sizeof name, "row%d", i);
        guard_table_put(&table, name, name);
    }
    options.cache_bytes = 8 << 20;
    options.cache_life_ms = 3600000;
    options.scan_new_ms = 3600000;
    tamis_guard *guard = open_scanned(&table, &options);
    assert_int_equal(tamis_guard_wait_for_filter(guard, 30000, NULL), TAMIS_OK);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t kind = test_below(&seed, 100);
        const uint64_t row = test_below(&seed, kind < 95 ? HOT : ROWS);
        if (kind < 80)
            snprintf(name, sizeof name, "none%llu", (unsigned long long)i);
        else
            snprintf(name, sizeof name, "row%llu", (unsigned long long)row);
        assert_row(guard, name, kind < 80 ? "" : name);
        absent += kind < 80;
        first += kind >= 80 && !is_known[row];
        is_known[row] |= kind >= 80;
    }
    const double bound = (double)first + (double)absent * 0.001 * 1.2 + 5;
    printf("%llu queries, bound %.0f\n", (unsigned long long)guard_table_loads(&table), bound);
    assert_true((double)guard_table_loads(&table) <= bound);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_outage_of_the_database),
        cmocka_unit_test(test_an_outage_after_idleness_is_an_error),
        cmocka_unit_test(test_lost_sessions_are_replaced),
        cmocka_unit_test(test_every_allocation_fails_once),
        cmocka_unit_test(test_queries_under_attack_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
