/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Servers in front of a real PostgreSQL and a real Redis: an attack, one cold key, a killed server, outages, new
 * filters, and networks that cut connections. The database's log counts its queries.
 *
 *     readers, writers --> [proxy] --> servers --> [proxy] --> PostgreSQL
 *                                          '-----> [proxy] --> Redis
 *
 * ctest: timeout=600
 * ctest: torture
 * ctest: long
 */
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

#include <cmocka.h>

#include "base/system.h"
#include "support/guard_load.h"
#include "support/guard_serve.h"
#include "support/postgres.h"
#include "support/proxy.h"
#include "support/redis_server.h"
#include "support/scratch.h"

enum { LEASE_MS = 2000, SLOW_MS = 2800 };

static postgres_server database;
static redis_server cache;
static serve_process servers[2];
static guard_load load;

static int set_up(void **state) {
    (void)state;
    if (!postgres_installed() || !redis_server_installed())
        return 0;
    scratch_make();
    postgres_start(&database);
    guard_load_tables(&database);
    redis_server_start(&cache, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    if (!database.pid)
        return 0;
    redis_server_stop(&cache);
    postgres_stop(&database);
    scratch_remove();
    return 0;
}

/* How the servers of a test differ. */
typedef struct arrangement {
    int database_port, redis_port; /* of proxies; 0: the servers themselves */
    const char *without_filter;    /* NULL: closed */
    const char *timeout;           /* of items and live rows; NULL: 8s. Redis may take half of it */
    bool keeps_redis;              /* with what it has */
    const char *rescan;            /* of live:*; NULL: never. Each scan then takes 0.3 s more, or longer */
} arrangement;

static void start_server(size_t number, const arrangement *how) {
    static const char pause[] =
        " UNION ALL SELECT -1000000000000000 - n FROM (SELECT n, pg_sleep(0.0002) FROM "
        "generate_series(1, 1000) AS n OFFSET 0) AS late";
    const char *timeout = how->timeout ? how->timeout : "8s";
    const char *mode = how->without_filter ? how->without_filter : "closed";
    char text[3000];

    snprintf(
        text, sizeof text,
        "redis: redis://127.0.0.1:%d\n"
        "database: {postgres: 'host=127.0.0.1 port=%d user=reader password=secret dbname=postgres "
        "sslmode=disable'}\n"
        "keyspaces:\n"
        "  - {keys: 'item:*', row: SELECT value FROM items WHERE id = $1, all_keys: SELECT id FROM items,\n"
        "     fpr: 0.01, life: 1h, null_life: 1h, cache_life: 1h, timeout: %s, without_filter: %s}\n"
        "  - {keys: 'live:*', row: SELECT * FROM late_row($1), sessions: 6, timeout: %s, without_filter: "
        "%s,\n"
        "     all_keys: 'SELECT id FROM live%s', rescan: %s,\n"
        "     new_keys: 'SELECT id, place FROM live WHERE place >= $1', overlap: 100, rescan_new: 100ms}\n"
        "  - {keys: 'slow:*', sessions: 1, timeout: 20s, lease: %dms,\n"
        "     row: SELECT value FROM items AS slow WHERE id = $1 AND pg_sleep(%g) IS NOT NULL}\n",
        how->redis_port ? how->redis_port : cache.port,
        how->database_port ? how->database_port : database.port, timeout, mode, timeout, mode,
        how->rescan ? pause : "", how->rescan ? how->rescan : "24h", LEASE_MS, SLOW_MS / 1000.0);
    serve_start(&servers[number], number ? "second" : "first", text);
}

static void wait_for_reply(size_t number, const char *command, serve_kind kind, const char *text) {
    serve_client *client = calloc(1, sizeof *client);
    serve_reply reply;

    assert_non_null(client);
    assert_true(serve_connect(client, servers[number].socket));
    for (int tries = 0; tries < 3000; tries++) {
        assert_true(serve_query(client, &reply, "%s", command));
        if (serve_is(&reply, kind, text)) {
            serve_disconnect(client);
            free(client);
            return;
        }
        pause_ms(10);
    }
    fail_msg("%s: '%.*s' after 30 s", command, (int)reply.size, reply.text);
}

/* Starts servers, with an empty Redis unless keeps_redis, and waits until their filters answer. */
static void start_servers(size_t count, const arrangement *how) {
    PGconn *writer = postgres_reach(&database);

    postgres_run(writer, "TRUNCATE live");
    PQfinish(writer);
    if (!how->keeps_redis)
        redis_server_command(&cache, "FLUSHALL");
    guard_load_init(&load);
    load.seed = test_seed(27);
    for (size_t i = 0; i < count; i++)
        start_server(i, how);
    for (size_t i = 0; i < count; i++) {
        load.sockets[i] = servers[i].socket;
        wait_for_reply(i, "GET item:0", SERVE_NULL, "");
        wait_for_reply(i, "GET live:0", SERVE_NULL, "");
    }
}

/* After a test that failed. */
static int kill_servers(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++)
        serve_kill(&servers[i]);
    guard_load_abandon(&load);
    return 0;
}

static void stop_servers(void) {
    for (size_t i = 0; i < 2; i++)
        serve_stop(&servers[i]);
    load.sockets[0] = load.sockets[1] = NULL;
}

#define NEED_SERVERS                                                                                         \
    do {                                                                                                     \
        (void)state;                                                                                         \
        if (!database.pid)                                                                                   \
            skip();                                                                                          \
    } while (0)

/* The most queries for items: the first of each row, false positives of the filter, and `more`. The rate is that
 * of many keys, so a few keys may exceed it by chance: five standard deviations. Returns the queries. */
static uint64_t check_queries(uint64_t position, uint64_t more) {
    const uint64_t queries = guard_load_queries(&database, position, "tamis_row", "FROM items WHERE");
    const uint64_t known = guard_load_known(&load);
    const double expected = 0.01 * (double)load.absent;
    const double passed = fmax(1.2 * expected, expected + 5 * sqrt(expected));

    printf("%llu queries: %llu rows, at most %.0f false positives, %llu more\n", (unsigned long long)queries,
           (unsigned long long)known, passed, (unsigned long long)more);
    assert_true((double)queries <= (double)known + passed + (double)more);
    return queries;
}

/* ---- the database gets few queries ---- */

static void test_attack(void **state) {
    NEED_SERVERS;
    start_servers(2, &(arrangement){0});
    const uint64_t position = guard_load_position(&database);
    load.requests = test_scale(12800, 1600, 1600);
    guard_load_start(&load);
    guard_load_finish(&load);
    assert_true(check_queries(position, 0) + load.loading >= guard_load_known(&load)); /* all are counted */
    stop_servers();
}

static uint64_t slow_queries(uint64_t position) {
    return guard_load_queries(&database, position, "tamis_row", "FROM items AS slow");
}

/* The query takes longer than a lease lives. */
static void test_one_query_for_500_clients(void **state) {
    enum { CLIENTS = 500 };
    NEED_SERVERS;
    serve_client *clients = calloc(CLIENTS, sizeof *clients);
    serve_reply reply;

    assert_non_null(clients);
    start_servers(2, &(arrangement){0});
    const uint64_t position = guard_load_position(&database);
    for (size_t i = 0; i < CLIENTS; i++) {
        assert_true(serve_connect(&clients[i], servers[i % 2].socket));
        assert_true(serve_send(&clients[i], "GET slow:7\r\n", 12));
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        assert_true(serve_read(&clients[i], &reply));
        assert_true(serve_is(&reply, SERVE_VALUE, "item 7 ...................."));
        serve_disconnect(&clients[i]);
    }
    assert_int_equal(slow_queries(position), 1);
    free(clients);
    stop_servers();
}

static uint64_t now_ms(void) {
    return tamis__now_ns() / 1000000;
}

static void wait_for_slow_queries(uint64_t position, uint64_t count) {
    for (int tries = 0; slow_queries(position) < count; tries++) {
        assert_true(tries < 3000);
        pause_ms(10);
    }
}

/* The first server is killed during its query. The second one waits for the lease, and queries. */
static void test_killed_holder_of_a_lease(void **state) {
    NEED_SERVERS;
    static serve_client first, second;
    serve_reply reply;

    start_servers(2, &(arrangement){0});
    const uint64_t position = guard_load_position(&database);
    assert_true(serve_connect(&first, servers[0].socket) && serve_send(&first, "GET slow:8\r\n", 12));
    wait_for_slow_queries(position, 1);
    assert_true(serve_connect(&second, servers[1].socket) && serve_send(&second, "GET slow:8\r\n", 12));
    pause_ms(200);
    assert_int_equal(slow_queries(position), 1);
    serve_kill(&servers[0]);
    const uint64_t killed = now_ms();
    assert_false(serve_read(&first, &reply));
    wait_for_slow_queries(position, 2);
    assert_true(now_ms() - killed <= LEASE_MS + 5000);
    assert_true(serve_read(&second, &reply) && serve_is(&reply, SERVE_VALUE, "item 8 ....................."));
    serve_disconnect(&first);
    serve_disconnect(&second);
    start_server(0, &(arrangement){0});
    wait_for_reply(0, "GET slow:8", SERVE_VALUE, "item 8 .....................");
    assert_int_equal(slow_queries(position), 2);
    stop_servers();
}

/* ---- outages ---- */

/* Waits for 200 ms with rows and without an error, or until a reply is wrong. A busy machine may need several
 * attempts. */
static void wait_for_good_times(void) {
    for (int tries = 0; tries < 150; tries++) {
        const uint64_t errors = load.errors, values = load.values;
        pause_ms(200);
        if ((load.errors == errors && load.values > values) || atomic_load(&load.is_over))
            return;
    }
    fail_msg("no end of errors: %llu values, %llu errors, the last one: %s", (unsigned long long)load.values,
             (unsigned long long)load.errors, load.error);
}

/* Nobody writes when the servers of this test stop. docs/GUARD-PROTOCOL.md says what a loss of marks may cause. */
static void break_down(const arrangement *how, void (*stop)(void), void (*start)(void)) {
    start_servers(1, how);
    const uint64_t position = guard_load_position(&database);
    load.live_percent = 5;
    load.database = &database;
    guard_load_start(&load);
    pause_ms(500);
    guard_load_hold_writes(&load);
    stop();
    const uint64_t errors = load.errors, absent = load.absent, values = load.values;
    pause_ms(test_scale_torture(10000, 2000, 1500, 1500));
    print_message("while it is down: %llu values, %llu absent, %llu errors\n",
                  (unsigned long long)(load.values - values), (unsigned long long)(load.absent - absent),
                  (unsigned long long)(load.errors - errors));
    assert_true(load.values > values && load.absent > absent);
    start();
    guard_load_allow_writes(&load);
    wait_for_good_times();
    const uint64_t writes = load.writes;
    pause_ms(1000);
    for (int waited = 0; load.writes == writes && !atomic_load(&load.is_over) && waited < 30000; waited += 10)
        pause_ms(10);
    guard_load_finish(&load);
    assert_true(load.writes > writes);
    if (!how->without_filter)
        check_queries(position, load.errors);
    stop_servers();
}

static void stop_database(void) {
    postgres_kill(&database);
}

static void start_database(void) {
    postgres_restart(&database);
}

static void test_database_stops(void **state) {
    NEED_SERVERS;
    break_down(&(arrangement){0}, stop_database, start_database);
}

static void stop_redis(void) {
    redis_server_kill(&cache);
}

static void start_redis(void) {
    redis_server_restart(&cache);
}

static void test_redis_stops(void **state) {
    NEED_SERVERS;
    break_down(&(arrangement){.without_filter = "open", .timeout = "3s"}, stop_redis, start_redis);
}

/* ---- new filters ---- */

/* Inserts a row without GUARD.ADD, and waits until the server has it. Then readers must find it. */
static void insert_foreign_row(PGconn *writer, uint64_t id) {
    char command[40], value[40];

    snprintf(command, sizeof command, "GET live:%llu", (unsigned long long)id);
    snprintf(value, sizeof value, "live %llu 1", (unsigned long long)id);
    postgres_run(writer, "INSERT INTO live VALUES (%llu, '%s')", (unsigned long long)id, value);
    wait_for_reply(0, command, SERVE_VALUE, value);
    atomic_fetch_add(&load.foreign, 1);
}

static uint64_t live_scans(uint64_t position) {
    return guard_load_queries(&database, position, "tamis_keys", "FROM live");
}

/* Full scans follow each other, and end long after they have read the rows. */
static void test_new_filters_under_load(void **state) {
    NEED_SERVERS;
    PGconn *writer = postgres_reach(&database);

    start_servers(1, &(arrangement){.rescan = "100ms"});
    const uint64_t position = guard_load_position(&database);
    load.live_percent = 70;
    load.database = &database;
    guard_load_start(&load);
    const uint64_t start = now_ms(), min_ms = test_scale_torture(60000, 3000, 3000, 2000);
    while (!atomic_load(&load.is_over) && now_ms() < start + 120000 &&
           (now_ms() < start + min_ms || live_scans(position) < 4))
        insert_foreign_row(writer, LOAD_FOREIGN + load.foreign);
    guard_load_finish(&load);
    printf("%u rows of others, %llu scans\n", load.foreign, (unsigned long long)live_scans(position));
    assert_true(load.foreign > 0 && load.writes > 0 && live_scans(position) >= 4);
    PQfinish(writer);
    stop_servers();
}

/* ---- networks that cut connections ---- */

/* Cuts connections at random, after `mean` bytes on average. Each cut may waste a query. */
static void cut_connections(proxy *network, const arrangement *how, bool of_clients, uint64_t mean) {
    start_servers(1, how);
    const uint64_t position = guard_load_position(&database);
    load.port = of_clients ? proxy_port(network) : 0;
    load.live_percent = 5;
    load.database = &database;
    proxy_arm_random(network, mean, load.seed);
    guard_load_start(&load);
    const uint64_t wanted = test_scale_torture(1000, 8, 6, 6), end = now_ms() + 200000;
    while ((proxy_harmed(network) < wanted || load.values < 500) && now_ms() < end &&
           !atomic_load(&load.is_over))
        pause_ms(20);
    const uint64_t harmed = proxy_harmed(network);
    proxy_disarm(network);
    wait_for_good_times();
    guard_load_finish(&load);
    printf("%llu cuts\n", (unsigned long long)harmed);
    assert_true(harmed >= wanted);
    assert_true(of_clients == (load.lost > 0));
    check_queries(position, load.errors + harmed);
    stop_servers();
}

static void test_cuts_of_the_database(void **state) {
    NEED_SERVERS;
    char path[140];
    snprintf(path, sizeof path, "%s/.s.PGSQL.%d", database.directory, database.port);
    proxy *network = proxy_start(path);

    cut_connections(network, &(arrangement){.database_port = proxy_port(network)}, false, 15000);
    proxy_stop(network);
}

/* Some entries are there already: replies with rows are cut too. */
static void test_cuts_of_redis(void **state) {
    NEED_SERVERS;
    proxy *network = proxy_start(cache.socket);
    const arrangement how = {.redis_port = proxy_port(network), .keeps_redis = true};

    start_servers(1, &(arrangement){0});
    load.requests = 1600;
    guard_load_start(&load);
    guard_load_finish(&load);
    stop_servers();
    cut_connections(network, &how, false, 10000);
    proxy_stop(network);
}

static void test_cuts_of_clients(void **state) {
    NEED_SERVERS;
    proxy *network = proxy_start(scratch("first"));

    cut_connections(network, &(arrangement){0}, true, 60000);
    proxy_stop(network);
}

/* ---- notifications ---- */

static void wait_for_user(int id, const char *name) {
    char command[40], value[80];

    snprintf(command, sizeof command, "GET user:%d", id);
    snprintf(value, sizeof value, "{\"id\":%d,\"name\":\"%s\"}", id, name);
    wait_for_reply(0, command, SERVE_VALUE, value);
}

/* The trigger of docs/guide/serve.md. No scan but those of new connections finds a row. No answer expires. */
static void test_rows_that_are_notified(void **state) {
    NEED_SERVERS;
    PGconn *writer = postgres_reach(&database);
    char config[800], command[40];

    postgres_run(writer,
                 "CREATE TABLE users(id bigint PRIMARY KEY, name text DEFAULT 'new');"
                 "CREATE FUNCTION tamis_announce() RETURNS trigger LANGUAGE plpgsql AS $$"
                 " BEGIN PERFORM pg_notify('users', id::text)"
                 " FROM (VALUES (NEW.id), (OLD.id)) keys(id) WHERE id IS NOT NULL; RETURN NULL; END $$;"
                 "CREATE TRIGGER tamis_announce AFTER INSERT OR UPDATE OR DELETE ON users"
                 " FOR EACH ROW EXECUTE FUNCTION tamis_announce()");
    snprintf(config, sizeof config,
             "redis: %s\n"
             "database: {postgres: 'host=127.0.0.1 port=%d user=reader password=secret dbname=postgres "
             "sslmode=disable'}\n"
             "keyspaces:\n"
             "  - {keys: 'user:*', row: 'SELECT id, name FROM users WHERE id = $1', value: json,\n"
             "     all_keys: SELECT id FROM users, notify: users, without_filter: closed, timeout: 20s,\n"
             "     life: 1h, null_life: 1h, cache_life: 1h}\n",
             cache.uri, database.port);
    serve_start(&servers[0], "first", config);
    wait_for_reply(0, "GET user:0", SERVE_NULL, "");
    for (int id = 1; id <= 20; id++) {
        snprintf(command, sizeof command, "GET user:%d", id);
        wait_for_reply(0, command, SERVE_NULL, "");
        if (id % 8 == 0) /* the key is lost, and the next scan finds the row */
            postgres_run(
                writer, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%%'");
        postgres_run(writer, "INSERT INTO users VALUES(%d)", id);
        wait_for_user(id, "new");
    }
    for (int round = 0; round < 5; round++) {
        char name[16];
        snprintf(name, sizeof name, "name%d", round);
        postgres_run(writer, "UPDATE users SET name = '%s' WHERE id < 4", name);
        for (int id = 1; id < 4; id++)
            wait_for_user(id, name);
        postgres_run(writer, "UPDATE users SET id = 100 WHERE id = 4");
        wait_for_user(100, "new");
        wait_for_reply(0, "GET user:4", SERVE_NULL, "");
        postgres_run(writer, "UPDATE users SET id = 4 WHERE id = 100");
        wait_for_user(4, "new");
        wait_for_reply(0, "GET user:100", SERVE_NULL, "");
        postgres_run(writer, "DELETE FROM users WHERE id = 5");
        wait_for_reply(0, "GET user:5", SERVE_NULL, "");
        postgres_run(writer, "INSERT INTO users VALUES(5)"); /* its null is in Redis */
        wait_for_user(5, "new");
    }
    serve_stop(&servers[0]);
    postgres_run(writer, "DROP TABLE users; DROP FUNCTION tamis_announce()");
    PQfinish(writer);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_attack, kill_servers),
        cmocka_unit_test_teardown(test_one_query_for_500_clients, kill_servers),
        cmocka_unit_test_teardown(test_killed_holder_of_a_lease, kill_servers),
        cmocka_unit_test_teardown(test_database_stops, kill_servers),
        cmocka_unit_test_teardown(test_redis_stops, kill_servers),
        cmocka_unit_test_teardown(test_new_filters_under_load, kill_servers),
        cmocka_unit_test_teardown(test_cuts_of_the_database, kill_servers),
        cmocka_unit_test_teardown(test_cuts_of_redis, kill_servers),
        cmocka_unit_test_teardown(test_cuts_of_clients, kill_servers),
        cmocka_unit_test_teardown(test_rows_that_are_notified, kill_servers),
    };

    if (serve_is_child(argc, argv))
        return serve_child(argv);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
