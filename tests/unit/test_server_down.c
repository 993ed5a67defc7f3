/* SPDX-License-Identifier: BSD-2-Clause */

/* A server that starts while Redis or its database is down, and configurations that no later start repairs. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/redis.h>
#include <tamis/experimental/server.h>
#include <tamis/filter.h>

#include "support/postgres.h"
#include "support/redis_server.h"
#include "support/scratch.h"
#include "support/server_calls.h"

static postgres_server database;
static redis_server redis;

#define NEED_SERVERS()                                                                                       \
    if (!database.pid || !redis.pid)                                                                         \
    skip()

/* A configuration with this database, this Redis and these keyspaces. */
static const char *config_of(const char *postgres, const char *uri, const char *keyspaces) {
    static char text[2000];

    snprintf(text, sizeof text,
             "listen: 127.0.0.1:0\nredis: %s\ndatabase: {postgres: '%s'}\nkeyspaces:\n  - {%s}\n", uri,
             postgres, keyspaces);
    return text;
}

#define ITEMS "keys: 'item:*', row: SELECT value FROM items WHERE id = $1, all_keys: SELECT id FROM items"
/* A busy machine does not look like servers that cannot be reached. */
#define PATIENT ", timeout: 20s"

static int count_lines(running *run, const char *text) {
    int count = 0;

    pthread_mutex_lock(&run->lock);
    for (const char *found = run->log; (found = strstr(found, text)) != NULL; found++)
        count++;
    pthread_mutex_unlock(&run->lock);
    return count;
}

/* Sends a command until its reply is this one. Each reply is read up to that of ECHO. */
static void wait_for_reply(int fd, const char *command, const char *expected) {
    static const char end[] = "$3\r\nend\r\n";
    const size_t end_size = sizeof end - 1;
    char reply[600] = "";

    for (int i = 0; i < 2000 && strcmp(reply, expected) != 0; i++) {
        size_t size = 0;
        pause_ms(10);
        send_text(fd, command);
        send_text(fd, "ECHO end\r\n");
        do {
            assert_int_equal(receive(fd, reply + size, 1), 1);
            reply[++size] = '\0';
        } while (size < end_size || strcmp(reply + size - end_size, end) != 0);
        reply[size - end_size] = '\0';
    }
    assert_string_equal(reply, expected);
}

static void test_a_start_without_servers(void **state) {
    (void)state;
    NEED_SERVERS();
    running run;

    postgres_kill(&database);
    redis_server_kill(&redis);
    start(&run, config_of(database.uri, redis.uri, ITEMS ", sessions: 2"));
    const int fd = connect_to(&run);
    query(fd, "PING\r\nGET item:1\r\n", "+PONG\r\n-IOERR PostgreSQL: connect: ");
    close(fd);
    pause_ms(2500); /* some attempts, and no further line */
    assert_int_equal(
        count_lines(&run, "keyspace 'item:*': the database does not answer: PostgreSQL: connect: "), 1);
    assert_int_equal(count_lines(&run, "keyspace 'item:*': Redis does not answer: redis 127.0.0.1:"), 1);
    assert_int_equal(count_lines(&run, "\n"), 2);

    postgres_restart(&database);
    wait_for_log(&run, "keyspace 'item:*': the database answers again\n");
    const int again = connect_to(&run);
    wait_for_reply(again, "GET item:1\r\n", "$3\r\none\r\n"); /* Redis is down: from the database */
    query(again, "GUARD.ADD item:9\r\n", "-IOERR redis ");
    close(again);

    redis_server_restart(&redis);
    wait_for_log(&run, "keyspace 'item:*': Redis answers again\n");
    wait_for_log(&run, "keyspace 'item:*': the filter has 2 keys\n");
    const int last = connect_to(&run);
    wait_for_reply(last, "GET item:9\r\n", "$-1\r\n");
    wait_for_reply(last, "GUARD.ADD item:9\r\n", "+OK\r\n");
    close(last);
    finish(&run);
    assert_true(count_lines(&run, "does not answer") >= 2); /* a busy Redis may be silent for two seconds */
    assert_true(count_lines(&run, "answers again") >= 2);
}

/* `puts: none`: no news tell whether Redis answers. */
static void test_a_start_without_redis_and_puts(void **state) {
    (void)state;
    NEED_SERVERS();
    running run;

    redis_server_kill(&redis);
    start(&run, config_of(database.uri, redis.uri, ITEMS ", puts: none, without_filter: closed, cache: 0"));
    wait_for_log(&run, "keyspace 'item:*': the filter has 2 keys\n"); /* which needs no Redis */
    const int fd = connect_to(&run);
    query(fd, "GET item:1\r\nGET item:9\r\n", "$3\r\none\r\n$-1\r\n");
    redis_server_restart(&redis);
    for (int i = 0; count_lines(&run, "Redis answers again") == 0 && i < 2000; i++) {
        query(fd, "GET item:2\r\n", "$3\r\ntwo\r\n");
        pause_ms(10);
    }
    close(fd);
    finish(&run);
    assert_true(count_lines(&run, "Redis does not answer") >= count_lines(&run, "Redis answers again"));
    assert_true(count_lines(&run, "Redis answers again") >= 1);
}

static void test_a_closed_keyspace_without_its_filter(void **state) {
    (void)state;
    NEED_SERVERS();
    running run;

    postgres_kill(&database);
    start(&run, config_of(database.uri, redis.uri, ITEMS ", without_filter: closed"));
    const int fd = connect_to(&run);
    query(fd, "GET item:1\r\n", "-LOADING item:*: its filter cannot answer now; ask again later\r\n");
    postgres_restart(&database);
    wait_for_reply(fd, "GET item:1\r\n", "$3\r\none\r\n");
    close(fd);
    finish(&run);
}

static void assert_opens_not(const char *config, const char *why) {
    tamis_server *server = NULL;
    tamis_server_summary summary = TAMIS_SERVER_SUMMARY_INIT;
    tamis_error err = TAMIS_ERROR_INIT;

    write_config(config);
    assert_int_equal(tamis_server_open(&server, scratch("config.yaml"), NULL, &err), TAMIS_E_REFUSED);
    if (!strstr(err.text, why))
        fail_msg("%s", err.text);
    assert_non_null(strstr(err.text, "config.yaml: line 5: keyspace 'item:*': "));
    assert_int_equal(tamis_server_check(scratch("config.yaml"), NULL, &summary, &err), TAMIS_E_REFUSED);
    if (!strstr(err.text, why))
        fail_msg("check: %s", err.text);
}

static void test_a_wrong_configuration_ends_the_start(void **state) {
    (void)state;
    NEED_SERVERS();
    char wrong[160], missing[160];

    snprintf(wrong, sizeof wrong, "postgresql://reader:wrong@127.0.0.1:%d/postgres", database.port);
    snprintf(missing, sizeof missing, "postgresql://reader:secret@127.0.0.1:%d/nowhere", database.port);
    assert_opens_not(config_of(wrong, redis.uri, ITEMS PATIENT),
                     "(SQLSTATE 28P01); correct the connection string");
    assert_opens_not(config_of(missing, redis.uri, ITEMS PATIENT),
                     "(SQLSTATE 3D000); correct the connection string");
    snprintf(wrong, sizeof wrong, "host=127.0.0.1 port=%d user=reader dbname=postgres", database.port);
    assert_opens_not(config_of(wrong, redis.uri, ITEMS PATIENT), "the server needs a password; add it");
    assert_opens_not(config_of(database.uri, redis.uri,
                               "keys: 'item:*', row: SELECT valeu FROM items WHERE id = $1" PATIENT),
                     "row: column \"valeu\" does not exist (SQLSTATE 42703); correct the SQL, or the tables");
    assert_opens_not(config_of(database.uri, redis.uri,
                               ITEMS PATIENT ", new_keys: 'SELECT id, id FROM item WHERE id >= $1'"),
                     "new_keys: relation \"item\" does not exist (SQLSTATE 42P01); correct the SQL");

    assert_string_equal(redis_server_command(&redis, "CONFIG SET requirepass secret"), "OK");
    redis.password = "secret";
    assert_opens_not(config_of(database.uri, redis.uri, ITEMS PATIENT), "give user and password in the URI");
    snprintf(wrong, sizeof wrong, "redis://:other@127.0.0.1:%d", redis.port);
    assert_opens_not(config_of(database.uri, wrong, ITEMS PATIENT), "WRONGPASS");
    assert_string_equal(redis_server_command(&redis, "ACL SETUSER few on >few ~* +ping"), "OK");
    snprintf(wrong, sizeof wrong, "redis://few:few@127.0.0.1:%d", redis.port);
    assert_opens_not(config_of(database.uri, wrong, ITEMS PATIENT), "grant +eval with ACL SETUSER");
    assert_string_equal(redis_server_command(&redis, "CONFIG SET requirepass %s", ""), "OK");
    redis.password = NULL;
}

/* Repeats a reload that fails: a busy Redis may be silent for a moment. */
static void reload_until_accepted(running *run) {
    static const char accepted[] = "config.yaml: read again\n",
                      refused[] = "; the former configuration stays\n";

    for (int tries = 0; count_lines(run, accepted) == 0; tries++) {
        const int before = count_lines(run, refused);
        assert_true(tries < 10);
        tamis_server_reload(run->server);
        for (int i = 0; i < 2000 && count_lines(run, accepted) == 0 && count_lines(run, refused) == before;
             i++)
            pause_ms(10);
    }
}

/* A reload is a moment at which somebody looks: it does not replace a guard that works by one that does not. */
static void test_a_reload_needs_its_servers(void **state) {
    (void)state;
    NEED_SERVERS();
    running run;

    start(&run, config_of(database.uri, redis.uri, ITEMS PATIENT));
    wait_for_log(&run, "the filter has 2 keys\n");
    const int fd = connect_to(&run);
    wait_for_reply(fd, "GET item:9\r\n", "$-1\r\n");
    postgres_kill(&database);
    write_config(config_of(database.uri, redis.uri, ITEMS PATIENT ", fpr: 0.01"));
    tamis_server_reload(run.server);
    wait_for_log(&run, "; the former configuration stays\n");
    wait_for_reply(fd, "GET item:9\r\n", "$-1\r\n"); /* by the filter */
    postgres_restart(&database);
    reload_until_accepted(&run);
    close(fd);
    finish(&run);
}

#define LISTED "keys: 'item:*', row: SELECT value FROM items WHERE id = ?1, keys_file: list.txt, timeout: 20s"
#define MEMORY "listen: 127.0.0.1:0\ndatabase: {sqlite: memory, init: rows.sql}\n"

/* DEL waits for Redis with its first key, while a reload replaces the guard of both. */
static void test_a_reload_during_a_finish(void **state) {
    (void)state;
    NEED_SERVERS();
    running run;
    char config[600];

    file_write(scratch("list.txt"), "1\n", 2);
    snprintf(config, sizeof config, MEMORY "redis: %s\nkeyspaces: [{" LISTED ", keep_news: 1h}]\n",
             redis.uri);
    start(&run, config);
    wait_for_log(&run, "the filter has 1 keys\n");
    const int fd = connect_to(&run), other = connect_to(&run);
    wait_for_reply(fd, "GET item:2\r\n", "$-1\r\n"); /* the list lacks it */
    assert_int_equal(kill(redis.pid, SIGSTOP), 0);
    send_text(fd, "DEL item:3 item:2\r\n");
    query(other, "PING\r\n", "+PONG\r\n");
    pause_ms(100); /* else the reload might be first, and nothing would be tested */
    write_config(MEMORY "keyspaces: [{" LISTED "}]\n");
    tamis_server_reload(run.server);
    wait_for_log(&run, "config.yaml: read again\n");
    for (int i = 0; count_lines(&run, "the filter has ") < 2 && i < 2000; i++)
        pause_ms(10);
    assert_int_equal(kill(redis.pid, SIGCONT), 0);
    expect(fd, ":2\r\n");
    query(fd, "GET item:2\r\nGET item:9\r\n", "$3\r\ntwo\r\n$-1\r\n");
    close(other);
    close(fd);
    finish(&run);
}

/* ---- a filter in Redis ---- */

static tamis_filter *make_filter(void) {
    tamis_redis_filter_options options = TAMIS_REDIS_FILTER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter;
    char uri[200];

    snprintf(uri, sizeof uri, "%s/items?expect=1000", redis.uri);
    options.create = true;
    if (tamis_redis_filter_open(&filter, NULL, uri, &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

#define FILTERED                                                                                             \
    "keys: 'item:*', row: SELECT value FROM items WHERE id = $1, redis_filter: items, without_filter: "      \
    "closed, timeout: 20s, rescan_new: 10ms"

static void test_a_filter_in_redis(void **state) {
    (void)state;
    NEED_SERVERS();
    static const tamis_key first = {"1", 1};
    running run;
    tamis_answer answer;

    start(&run, config_of(database.uri, redis.uri, FILTERED));
    wait_for_log(&run, "keyspace 'item:*': redis_filter cannot be used; redis 127.0.0.1:");
    const int fd = connect_to(&run);
    query(fd, "GET item:1\r\n", "-LOADING item:*: its filter cannot answer now; ask again later\r\n");
    tamis_filter *filter = make_filter();
    wait_for_log(&run, "keyspace 'item:*': the filter in Redis answers\n");
    query(fd, "GET item:1\r\n", "$-1\r\n");
    assert_int_equal(tamis_filter_add_many(filter, &first, 1, &answer, NULL, NULL), TAMIS_OK);
    query(fd, "GET item:1\r\nEXISTS item:2\r\n", "$3\r\none\r\n:0\r\n");
    query(fd, "GUARD.ADD item:2\r\nGET item:2\r\nDEL item:2\r\n", "+OK\r\n$3\r\ntwo\r\n:1\r\n");
    close(fd);
    finish(&run);
    assert_int_equal(count_lines(&run, "cannot be used"), 1);
    tamis_filter_free(filter);
    assert_string_equal(redis_server_command(&redis, "FLUSHALL"), "OK");
}

/* A put of the guard before a reload is in the filter of the guard after it. */
static void test_a_reload_to_a_filter_in_redis(void **state) {
    (void)state;
    NEED_SERVERS();
    running run;
    tamis_filter *filter = make_filter();

    start(&run, config_of(database.uri, redis.uri, ITEMS ", timeout: 20s"));
    wait_for_log(&run, "the filter has 2 keys\n");
    const int fd = connect_to(&run);
    wait_for_reply(fd, "GUARD.ADD item:2\r\n", "+OK\r\n");
    write_config(config_of(database.uri, redis.uri, FILTERED));
    tamis_server_reload(run.server);
    wait_for_log(&run, "config.yaml: read again\n");
    wait_for_log(&run, "the filter in Redis answers\n");
    query(fd, "GET item:2\r\nGET item:1\r\nDEL item:2\r\n", "$3\r\ntwo\r\n$-1\r\n:1\r\n");
    close(fd);
    finish(&run);
    tamis_filter_free(filter);
    assert_string_equal(redis_server_command(&redis, "FLUSHALL"), "OK");
}

/* ---- checks ---- */

static tamis_server_summary check(const char *config, running *run) {
    tamis_server_summary summary = TAMIS_SERVER_SUMMARY_INIT;
    tamis_server_options options = TAMIS_SERVER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;

    *run = (running){.lock = PTHREAD_MUTEX_INITIALIZER};
    options.log = keep_line;
    options.context = run;
    write_config(config);
    if (tamis_server_check(scratch("config.yaml"), &options, &summary, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return summary;
}

/* What a database had before a check is what it has after it. */
static void test_a_check_changes_nothing(void **state) {
    (void)state;
    NEED_SERVERS();
    static const char path[] = "SET search_path = elsewhere", table[] = "CREATE TABLE made(id int)";
    running run;
    char config[1000];
    PGconn *writer = postgres_reach(&database);

    file_write(scratch("path.sql"), path, sizeof path - 1);
    file_write(scratch("table.sql"), table, sizeof table - 1);
    snprintf(
        config, sizeof config,
        "keyspaces:\n"
        "  - {keys: a, row: SELECT v FROM there WHERE $1 = k, database: {postgres: '%s', init: path.sql}}\n"
        "  - {keys: b, row: SELECT id FROM made WHERE id = $1, database: {postgres: '%s', init: table.sql}}\n"
        "  - {keys: c, row: SELECT id FROM made WHERE id = ?1, database: {sqlite: made.db, init: "
        "table.sql}}\n",
        database.uri, database.database);
    postgres_run(writer, "CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.there(k text, v text);"
                         "GRANT ALL ON SCHEMA elsewhere TO PUBLIC; GRANT ALL ON elsewhere.there TO PUBLIC");
    const tamis_server_summary summary = check(config, &run);
    assert_int_equal(summary.keyspaces, 3);
    assert_int_equal(summary.unchecked, 2);
    assert_int_equal(count_lines(&run, "line 3: keyspace 'b': not checked without init: PostgreSQL: init: "),
                     1);
    assert_int_equal(count_lines(&run, "line 4: keyspace 'c': not checked without init: SQLite "), 1);
    assert_string_equal(postgres_value(writer, "SELECT count(*) FROM pg_tables WHERE tablename = 'made'"),
                        "0");
    assert_int_not_equal(access(scratch("made.db"), F_OK), 0);
    PQfinish(writer);
}

static void test_a_check_reports_what_it_cannot_reach(void **state) {
    (void)state;
    NEED_SERVERS();
    running run;

    assert_int_equal(check(config_of(database.uri, redis.uri, ITEMS PATIENT), &run).unchecked, 0);
    assert_string_equal(run.log, "");
    redis_server_kill(&redis);
    assert_int_equal(check(config_of(database.uri, redis.uri, ITEMS), &run).unchecked, 1);
    assert_int_equal(count_lines(&run, "line 5: keyspace 'item:*': not checked: redis 127.0.0.1:"), 1);
    redis_server_restart(&redis);
    postgres_kill(&database);
    assert_int_equal(check(config_of(database.uri, redis.uri, ITEMS), &run).unchecked, 1);
    assert_int_equal(count_lines(&run, "line 5: keyspace 'item:*': not checked: PostgreSQL: connect: "), 1);
    postgres_restart(&database);
}

static void test_a_check_tries_filters(void **state) {
    (void)state;
    NEED_SERVERS();
    running run;

    file_write(scratch("list.txt"), "1\n2", 3);
    assert_int_equal(check(MEMORY "keyspaces: [{" LISTED "}]\n", &run).unchecked, 1);
    assert_int_equal(count_lines(&run, "line 3: keyspace 'item:*': the filter cannot be used: "), 1);
    assert_int_equal(count_lines(&run, "list.txt: its last line has no end"), 1);
    file_write(scratch("list.txt"), "1\n2\n", 4);
    assert_int_equal(check(MEMORY "keyspaces: [{" LISTED "}]\n", &run).unchecked, 0);
    assert_int_equal(check(config_of(database.uri, redis.uri, FILTERED), &run).unchecked, 1);
    assert_int_equal(count_lines(&run, "line 5: keyspace 'item:*': the filter cannot be used: redis "), 1);
    tamis_filter *filter = make_filter();
    assert_int_equal(check(config_of(database.uri, redis.uri, FILTERED), &run).unchecked, 0);
    assert_string_equal(run.log, "");
    tamis_filter_free(filter);
    assert_string_equal(redis_server_command(&redis, "FLUSHALL"), "OK");
}

static int start_servers(void **state) {
    if (scratch_set_up(state) != 0)
        return -1;
    if (!postgres_installed() || !redis_server_installed())
        return 0;
    postgres_start(&database);
    redis_server_start(&redis, NULL);
    PGconn *writer = postgres_reach(&database);
    postgres_run(writer, "CREATE TABLE items(id int PRIMARY KEY, value text);"
                         "INSERT INTO items VALUES(1, 'one'), (2, 'two'); GRANT SELECT ON items TO PUBLIC");
    PQfinish(writer);
    return 0;
}

static int stop_servers(void **state) {
    postgres_stop(&database);
    redis_server_stop(&redis);
    return scratch_tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_start_without_servers),
        cmocka_unit_test(test_a_start_without_redis_and_puts),
        cmocka_unit_test(test_a_closed_keyspace_without_its_filter),
        cmocka_unit_test(test_a_wrong_configuration_ends_the_start),
        cmocka_unit_test(test_a_reload_needs_its_servers),
        cmocka_unit_test(test_a_reload_during_a_finish),
        cmocka_unit_test(test_a_filter_in_redis),
        cmocka_unit_test(test_a_reload_to_a_filter_in_redis),
        cmocka_unit_test(test_a_check_changes_nothing),
        cmocka_unit_test(test_a_check_reports_what_it_cannot_reach),
        cmocka_unit_test(test_a_check_tries_filters),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, start_servers, stop_servers);
}
