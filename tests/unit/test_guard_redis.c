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

#include "base/system.h"
#include "support/guard_calls.h"
#include "support/guard_table.h"
#include "support/redis_server.h"
#include "support/scratch.h"

/* Level 3: guards that share a Redis. */

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

/* Options of a guard with the server and without a cache, so that level 3 is asked each time. */
static tamis_guard_options shared_options(void) {
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    options.redis = server.uri;
    options.timeout_ms = 60000;
    return options;
}

#define NEED_SERVER                                                                                          \
    do {                                                                                                     \
        if (!server.pid)                                                                                     \
            skip();                                                                                          \
        redis_server_command(&server, "FLUSHALL");                                                           \
    } while (0)

static uint64_t now_ms(void) {
    return tamis__now_ns() / 1000000;
}

static void test_answers_are_shared(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = shared_options();
    guard_table_init(&table);
    guard_table_put(&table, "a", "1");
    tamis_guard *first = open_guard(&table, &options), *second = open_guard(&table, &options);
    assert_row(first, "a", "1");
    assert_row(first, "none", "");
    while (redis_server_number(&server, "EXISTS tamis:{a}:entry tamis:{none}:entry") < 2)
        pause_ms(1);
    assert_row(second, "a", "1");
    assert_row(second, "none", "");
    assert_int_equal(guard_table_loads(&table), 2);
    assert_int_equal(stats_of(second).redis_hits, 2);
    assert_int_equal(stats_of(second).loads, 0);
    options.prefix = "other:";
    tamis_guard *other = open_guard(&table, &options);
    assert_row(other, "a", "1");
    assert_int_equal(guard_table_loads(&table), 3);
    tamis_guard_close(other);
    tamis_guard_close(second);
    tamis_guard_close(first);
    guard_table_release(&table);
}

static void count_found(void *context, tamis_status status, tamis_guard_value *value,
                        const tamis_error *why) {
    atomic_int *found = context;
    (void)why;
    atomic_fetch_add(found, status == TAMIS_OK && value->outcome == TAMIS_GUARD_FOUND);
}

/* The query takes several times the life of a lease, which its holder renews. */
static void test_one_query_over_all_processes(void **state) {
    (void)state;
    enum { REQUESTS = 250 };
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = shared_options();
    atomic_int found = 0;
    guard_table_init(&table);
    guard_table_put(&table, "cold", "value");
    table.delay_ms = 3500;
    options.lease_ms = 1500; /* renewed after 750 ms at the latest */
    tamis_guard *first = open_guard(&table, &options), *second = open_guard(&table, &options);
    for (int i = 0; i < REQUESTS; i++) {
        assert_int_equal(tamis_guard_request(first, key_of("cold"), count_found, &found, NULL), TAMIS_OK);
        assert_int_equal(tamis_guard_request(second, key_of("cold"), count_found, &found, NULL), TAMIS_OK);
    }
    assert_row(first, "cold", "value");
    assert_row(second, "cold", "value");
    while (atomic_load(&found) < 2 * REQUESTS)
        pause_ms(1);
    assert_int_equal(guard_table_queries(&table), 1);
    tamis_guard_close(second);
    tamis_guard_close(first);
    guard_table_release(&table);
}

static void test_lease_of_a_lost_process_expires(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = shared_options();
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    guard_table_put(&table, "a", "1");
    const uint64_t start = now_ms();
    redis_server_command(&server, "SET tamis:{a}:lease 0123456789abcdef PX 400");
    tamis_guard *guard = open_guard(&table, &options);
    assert_row(guard, "a", "1");
    assert_true(now_ms() - start >= 350);
    assert_int_equal(guard_table_loads(&table), 1);
    tamis_guard_close(guard);
    redis_server_command(&server, "SET tamis:{b}:lease 0123456789abcdef PX 60000");
    options.timeout_ms = 3000; /* Redis has a part of it */
    guard = open_guard(&table, &options);
    assert_null(get_row(guard, "b", &err));
    assert_int_equal(err.status, TAMIS_E_TIMEOUT);
    for (int i = 0; i < 2000 && stats_of(guard).waiting > 0; i++)
        pause_ms(5); /* it may be in a call to Redis */
    assert_int_equal(stats_of(guard).waiting, 0);
    tamis_guard_close(guard);
    guard_table_release(&table);
}

static void test_failed_query_releases_its_lease(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = shared_options();
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    guard_table_put(&table, "a", "1");
    options.lease_ms = 60000;
    tamis_guard *first = open_guard(&table, &options), *second = open_guard(&table, &options);
    guard_table_stop(&table);
    assert_null(get_row(first, "a", &err));
    assert_int_equal(err.status, TAMIS_E_IO);
    guard_table_start(&table);
    const uint64_t start = now_ms();
    assert_row(second, "a", "1");
    assert_true(now_ms() - start < 30000);
    tamis_guard_close(second);
    tamis_guard_close(first);
    guard_table_release(&table);
}

static void test_close_releases_leases_and_stores_answers(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = shared_options();
    atomic_int found = 0;
    char name[16];
    guard_table_init(&table);
    table.delay_ms = 100;
    options.sessions = 1;
    options.lease_ms = 60000;
    tamis_guard *guard = open_guard(&table, &options);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(tamis_guard_request(guard, key_of(name), count_found, &found, NULL), TAMIS_OK);
    }
    while (guard_table_queries(&table) == 0)
        pause_ms(1);
    tamis_guard_close(guard);
    assert_int_equal(redis_server_number(&server, "DBSIZE"), guard_table_loads(&table));
    guard_table_release(&table);
}

static void test_puts_reach_other_processes(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = shared_options();
    uint8_t token[TAMIS_GUARD_TOKEN];
    guard_table_init(&table);
    tamis_guard *first = open_guard(&table, &options), *second = open_guard(&table, &options);
    assert_row(second, "a", "");
    put_row(first, &table, "a", "1");
    assert_row(second, "a", "1");
    assert_int_equal(tamis_guard_put_begin(first, key_of("a"), token, NULL), TAMIS_OK);
    assert_row(second, "a", "1");
    assert_row(second, "a", "1"); /* nothing is stored during the put */
    assert_int_equal(guard_table_loads(&table), 4);
    guard_table_put(&table, "a", "2");
    assert_int_equal(tamis_guard_put_end(first, key_of("a"), token, NULL), TAMIS_OK);
    assert_row(second, "a", "2");
    tamis_guard_close(second);
    tamis_guard_close(first);
    guard_table_release(&table);
}

/* ---- Redis fails ---- */

static void test_open_without_redis(void **state) {
    (void)state;
    guard_table table;
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_guard *guard = NULL;
    uint8_t token[TAMIS_GUARD_TOKEN];
    tamis_error err = TAMIS_ERROR_INIT;
    guard_table_init(&table);
    guard_table_put(&table, "a", "1");
    guard_table_source(&table, &source);
    options.source = &source;
    options.redis = "redis://127.0.0.1:1";
    for (int i = 0; i < 2; i++) {
        options.without_puts = i == 1;
        assert_int_equal(tamis_guard_open(&guard, &options, NULL), TAMIS_OK);
        assert_int_equal(tamis_guard_health(guard, TAMIS_GUARD_REDIS, &err), TAMIS_E_IO);
        assert_non_null(strstr(err.text, "redis 127.0.0.1:1: "));
        assert_int_equal(tamis_guard_health(guard, TAMIS_GUARD_SOURCE, NULL), TAMIS_OK);
        assert_row(guard, "a", "1");
        assert_int_not_equal(tamis_guard_put_begin(guard, key_of("b"), token, NULL), TAMIS_OK);
        tamis_guard_close(guard);
    }
    guard = NULL;
    options.redis = "nonsense";
    assert_int_equal(tamis_guard_open(&guard, &options, NULL), TAMIS_E_INVALID);
    assert_null(guard);
    guard_table_release(&table);
}

/* A Redis that hangs delays a request by a part of its time. */
static void test_hanging_redis_is_left_out(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = shared_options();
    uint8_t token[TAMIS_GUARD_TOKEN];
    char name[16];
    guard_table_init(&table);
    options.timeout_ms = 2000;
    tamis_guard *guard = open_guard(&table, &options);
    assert_row(guard, "before", "");
    kill(server.pid, SIGSTOP);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "k%d", i);
        assert_row(guard, name, "");
    }
    assert_int_not_equal(tamis_guard_put_begin(guard, key_of("a"), token, NULL), TAMIS_OK);
    kill(server.pid, SIGCONT);
    assert_true(stats_of(guard).redis_errors > 0);
    assert_int_equal(stats_of(guard).timeouts, 0);
    for (int i = 0; redis_server_number(&server, "EXISTS tamis:{k%d}:entry", i) == 0; i++) {
        snprintf(name, sizeof name, "k%d", i + 1);
        assert_row(guard, name, "");
        pause_ms(20);
    }
    tamis_guard_close(guard);
    guard_table_release(&table);
}

/* The URI allows Redis more time than a request has. */
static void test_requests_wait_no_longer_than_their_time(void **state) {
    (void)state;
    NEED_SERVER;
    guard_table table;
    tamis_guard_options options = shared_options();
    char uri[128], name[16];
    guard_table_init(&table);
    snprintf(uri, sizeof uri, "%s?patience=60s&read_timeout=60s", server.uri);
    options.redis = uri;
    options.timeout_ms = 3000;
    tamis_guard *guard = open_guard(&table, &options);
    kill(server.pid, SIGSTOP);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "k%d", i);
        assert_row(guard, name, "");
    }
    kill(server.pid, SIGCONT);
    assert_int_equal(stats_of(guard).timeouts, 0);
    tamis_guard_close(guard);
    assert_int_equal(redis_server_number(&server, "EXISTS tamis:{k0}:lease"), 0);
    guard_table_release(&table);
}

/* ---- a race of writers and readers in two processes ---- */

enum { KEYS = 6, SIDES = 2, READERS_MAX = 4 };

/*
 * A reader must not get a version from before the last put that has ended:
 *
 * - in its own process, always;
 * - in any process, if it is the only reader there. Otherwise it may join a query that began before the put.
 */
typedef struct race {
    guard_table table;
    tamis_guard *guards[SIDES];
    int readers;          /* of each side */
    pthread_mutex_t turn; /* of the writers */
    int last[KEYS];
    atomic_int version[SIDES][KEYS]; /* its tamis_guard_put_end has returned on this side */
    atomic_bool is_over;
    atomic_ulong reads, failed_reads, puts, failed_puts;
} race;

typedef struct racer {
    race *game;
    int side;
    uint64_t seed;
} racer;

/* One put of the next version. A put that cannot begin writes no row. */
static void put_version(racer *self, int key) {
    race *game = self->game;
    tamis_guard *guard = game->guards[self->side];
    char name[16], value[16];
    uint8_t token[TAMIS_GUARD_TOKEN];
    snprintf(name, sizeof name, "k%d", key);
    pthread_mutex_lock(&game->turn);
    bool is_written = tamis_guard_put_begin(guard, key_of(name), token, NULL) == TAMIS_OK;
    if (is_written) {
        snprintf(value, sizeof value, "%d", ++game->last[key]);
        guard_table_put(&game->table, name, value);
        is_written = tamis_guard_put_end(guard, key_of(name), token, NULL) == TAMIS_OK;
    }
    if (is_written)
        atomic_store(&game->version[self->side][key], game->last[key]);
    atomic_fetch_add(is_written ? &game->puts : &game->failed_puts, 1);
    pthread_mutex_unlock(&game->turn);
}

static void *write_versions(void *context) {
    racer *self = context;
    while (!atomic_load(&self->game->is_over)) {
        put_version(self, (int)test_below(&self->seed, KEYS));
        pause_ms(test_below(&self->seed, 3));
    }
    return NULL;
}

/* The lowest version that a reader may get from now on. */
static int lowest_version(race *game, int side, int key) {
    const int own = atomic_load(&game->version[side][key]),
              other = atomic_load(&game->version[1 - side][key]);
    return game->readers == 1 && other > own ? other : own;
}

static void *read_versions(void *context) {
    racer *self = context;
    race *game = self->game;
    char name[16];
    tamis_error err = TAMIS_ERROR_INIT;
    while (!atomic_load(&game->is_over)) {
        const int key = (int)test_below(&self->seed, KEYS);
        const int lowest = lowest_version(game, self->side, key);
        snprintf(name, sizeof name, "k%d", key);
        const char *value = get_row(game->guards[self->side], name, &err);
        if (value && atoi(value) < lowest) {
            fprintf(stderr, "%s: version %d after %d\n", name, atoi(value), lowest);
            abort();
        }
        atomic_fetch_add(value ? &game->reads : &game->failed_reads, 1);
    }
    return NULL;
}

/* Kills and restarts the server several times, if `is_broken`. */
static void disturb_server(uint64_t *seed, bool is_broken) {
    const uint64_t rounds = test_scale(6, 2, 2);
    for (uint64_t i = 0; i < rounds; i++) {
        pause_ms(200 + test_below(seed, 200));
        if (!is_broken)
            continue;
        redis_server_kill(&server);
        pause_ms(test_below(seed, 800));
        redis_server_restart(&server);
    }
    pause_ms(300);
}

static void open_race(race *game, bool is_broken) {
    tamis_guard_options options = shared_options();
    pthread_mutex_init(&game->turn, NULL);
    guard_table_init(&game->table);
    game->table.delay_ms = 1;
    if (is_broken)
        options.timeout_ms = 1200; /* a quarter of it for Redis */
    options.lease_ms = 300;
    options.mark_ms = 2000;
    for (int i = 0; i < SIDES; i++)
        game->guards[i] = open_guard(&game->table, &options);
}

static void close_race(race *game) {
    for (int i = 0; i < SIDES; i++)
        tamis_guard_close(game->guards[i]);
    guard_table_release(&game->table);
    pthread_mutex_destroy(&game->turn);
}

static void run_race(int readers, bool is_broken) {
    static race game;
    racer racers[SIDES * (READERS_MAX + 1)];
    pthread_t threads[SIDES * (READERS_MAX + 1)];
    uint64_t seed = test_seed(27);
    const int count = SIDES * (readers + 1);
    memset(&game, 0, sizeof game);
    game.readers = readers;
    open_race(&game, is_broken);
    for (int i = 0; i < count; i++) {
        racers[i] = (racer){&game, i % SIDES, seed + (uint64_t)i};
        assert_int_equal(
            pthread_create(&threads[i], NULL, i < SIDES ? write_versions : read_versions, &racers[i]), 0);
    }
    disturb_server(&seed, is_broken);
    atomic_store(&game.is_over, true);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("%lu reads, %lu failed; %lu puts, %lu failed; %llu queries\n", atomic_load(&game.reads),
           atomic_load(&game.failed_reads), atomic_load(&game.puts), atomic_load(&game.failed_puts),
           (unsigned long long)guard_table_loads(&game.table));
    /* a lease whose reply was lost may make a reader wait for too long */
    assert_true(atomic_load(&game.failed_reads) <= (is_broken ? atomic_load(&game.reads) / 100 : 0));
    assert_true(is_broken || atomic_load(&game.failed_puts) == 0);
    assert_true(!is_broken || stats_of(game.guards[0]).redis_errors > 0);
    assert_true(atomic_load(&game.puts) > 0);
    assert_true(guard_table_running_max(&game.table) <= SIDES * 4);
    close_race(&game);
}

static void test_no_reader_gets_an_old_version(void **state) {
    (void)state;
    NEED_SERVER;
    run_race(READERS_MAX, false);
    run_race(1, false);
}

static void test_no_old_version_while_redis_breaks(void **state) {
    (void)state;
    NEED_SERVER;
    run_race(READERS_MAX, true);
    run_race(1, true);
}

/* A guard without a filter has stored a null. Other programs write the rows, and nothing expires. */
static void test_reported_keys_are_forgotten(void **state) {
    (void)state;
    NEED_SERVER;
    enum { GUARDS = 2 };
    guard_table table;
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard_options options = shared_options();
    tamis_guard *guards[GUARDS];
    guard_table_init(&table);
    guard_table_put(&table, "a", "0");
    options.cache_bytes = 1 << 20;
    options.cache_life_ms = options.life_ms = options.null_life_ms = 3600000;
    tamis_guard *unfiltered = open_guard(&table, &options);
    assert_row(unfiltered, "late", "");
    while (redis_server_number(&server, "EXISTS tamis:{late}:entry") == 0)
        pause_ms(1);
    guard_table_source_listened(&table, &source);
    options.source = &source;
    for (int i = 0; i < GUARDS; i++) {
        guards[i] = open_guard(&table, &options);
        while (!stats_of(guards[i]).has_filter)
            pause_ms(1);
    }
    for (int round = 1; round < 20; round++) {
        char value[16];
        snprintf(value, sizeof value, "%d", round);
        guard_table_put(&table, "late", value);
        guard_table_put(&table, "a", value);
        for (int i = 0; i < GUARDS; i++)
            for (int j = 0; j < 2000 && strcmp(get_row(guards[i], "late", NULL), value) != 0; j++)
                pause_ms(10);
        for (int i = 0; i < GUARDS; i++) {
            assert_row(guards[i], "late", value);
            for (int j = 0; j < 2000 && strcmp(get_row(guards[i], "a", NULL), value) != 0; j++)
                pause_ms(10);
            assert_row(guards[i], "a", value);
        }
    }
    tamis_guard_close(guards[1]);
    tamis_guard_close(guards[0]);
    tamis_guard_close(unfiltered);
    guard_table_release(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_are_shared),
        cmocka_unit_test(test_reported_keys_are_forgotten),
        cmocka_unit_test(test_one_query_over_all_processes),
        cmocka_unit_test(test_lease_of_a_lost_process_expires),
        cmocka_unit_test(test_failed_query_releases_its_lease),
        cmocka_unit_test(test_close_releases_leases_and_stores_answers),
        cmocka_unit_test(test_puts_reach_other_processes),
        cmocka_unit_test(test_open_without_redis),
        cmocka_unit_test(test_hanging_redis_is_left_out),
        cmocka_unit_test(test_requests_wait_no_longer_than_their_time),
        cmocka_unit_test(test_no_reader_gets_an_old_version),
        cmocka_unit_test(test_no_old_version_while_redis_breaks),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
