/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include <tamis/experimental/guard.h>

#include "base/system.h"
#include "support/guard_scans.h"
#include "support/postgres.h"
#include "support/proxy.h"
#include "support/scratch.h"

static postgres_server server;
static PGconn *writer;

static int start_server(void **state) {
    (void)state;
    if (postgres_installed())
        postgres_start(&server);
    return 0;
}

static int stop_server(void **state) {
    (void)state;
    postgres_stop(&server);
    return 0;
}

static int set_up(void **state) {
    (void)state;
    if (!postgres_installed())
        return 0;
    writer = postgres_reach(&server);
    postgres_run(writer, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    if (postgres_installed())
        PQfinish(writer);
    writer = NULL;
    return 0;
}

#define NEED_SERVER()                                                                                        \
    do {                                                                                                     \
        (void)state;                                                                                         \
        if (!postgres_installed())                                                                           \
            skip();                                                                                          \
    } while (0)

/* ---- a source with one session ---- */

static tamis_guard_sql sql_of(const char *row) {
    tamis_guard_sql sql = TAMIS_GUARD_SQL_INIT;
    sql.database = server.database;
    sql.row = row;
    return sql;
}

static void *connect_to(tamis_guard_source *source, const tamis_guard_sql *sql) {
    return open_source(tamis_guard_postgres_create, source, sql);
}

/* ---- values ---- */

static void test_values_of_each_type(void **state) {
    NEED_SERVER();
    static const struct {
        const char *value, *text;
    } values[] = {
        {"'gr\u00fcn'::text", "gr\u00fcn"},
        {"-17::int8", "-17"},
        {"0.1::float8", "0.1"},
        {"12345678901234567890.50::numeric", "12345678901234567890.50"},
        {"'{\"a\": [1]}'::json", "{\"a\": [1]}"},
        {"'{\"a\":   [1]}'::jsonb", "{\"a\": [1]}"},
        {"true", "t"},
        {"'2026-11-29 02:00:00+02'::timestamptz AT TIME ZONE 'UTC'", "2026-11-29 00:00:00"},
        {"NULL::text", ""},
        {"''::text", ""},
    };
    char row[200];

    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        snprintf(row, sizeof row, "SELECT %s WHERE $1 = 'a';\n", values[i].value);
        const tamis_guard_sql sql = sql_of(row);
        tamis_guard_source source;
        void *session = connect_to(&source, &sql);
        assert_null(source.scan);
        assert_null(source.scan_new);
        assert_string_equal(load_text(&source, session, "a"), values[i].text);
        assert_string_equal(load_text(&source, session, "b"), "(none)");
        close_source(&source, session);
    }
}

static void test_bytes_come_as_bytes(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(id bytea PRIMARY KEY, v bytea);"
                         "INSERT INTO t VALUES('\\x00ff', '\\x000aff27'), ('\\x', '\\x61'), ('\\x62', '')");
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = $1");
    sql.keys = "SELECT id FROM t WHERE id <> '\\x00ff'";
    sql.init = "SET bytea_output = 'escape'";
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);

    assert_memory_equal(load_bytes(&source, session, (tamis_key){"\0\xff", 2}, 1000, NULL), "\0\n\xff'", 5);
    assert_string_equal(load_bytes(&source, session, (tamis_key){"\0", 1}, 1000, NULL), "(none)");
    assert_string_equal(load_text(&source, session, "b"), "");
    assert_string_equal(scan_keys(&source, session, false), "b");
    close_source(&source, session);
}

static void test_row_as_json(void **state) {
    NEED_SERVER();
    postgres_run(writer,
                 "CREATE TABLE t(id int PRIMARY KEY, tamis text, price numeric, data bytea, note text,"
                 " tags int[], more jsonb);"
                 "INSERT INTO t VALUES(1, 'a \"b\"', 0.10, '\\x00ff', NULL, '{1,2}', '{\"x\": 1}')");
    tamis_guard_sql sql = sql_of("SELECT * FROM t WHERE id = $1 -- all of it");
    sql.as_json = true;
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);

    assert_string_equal(
        load_text(&source, session, "1"),
        "{\"id\":1,\"tamis\":\"a \\\"b\\\"\",\"price\":0.10,\"data\":\"\\\\x00ff\",\"note\":null,"
        "\"tags\":[1,2],\"more\":{\"x\": 1}}");
    assert_string_equal(load_text(&source, session, "2"), "(none)");
    close_source(&source, session);
}

/* Of a server in another encoding, keys and values are UTF-8. A key that it cannot have is that of no row. */
static void test_encodings_of_the_server(void **state) {
    NEED_SERVER();
    static const char *const encodings[] = {"LATIN1", "WIN1252", "EUC_JP", "SQL_ASCII"};
    char database[200];

    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        postgres_run(writer,
                     "CREATE DATABASE other ENCODING '%s' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
                     encodings[i]);
        snprintf(database, sizeof database, "%s dbname=other", server.database);
        PGconn *other = PQconnectdb(database);
        assert_int_equal(PQstatus(other), CONNECTION_OK);
        PQsetClientEncoding(other, "UTF8");
        const bool is_japanese = strcmp(encodings[i], "EUC_JP") == 0;
        const char *word = is_japanese ? "\u65e5\u672c" : "gr\u00fcn";
        postgres_run(other, "CREATE TABLE t(id text, v text); INSERT INTO t VALUES('%s', '<%s>')", word,
                     word);
        tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = $1");
        sql.database = database;
        sql.keys = "SELECT id FROM t";
        sql.as_json = true;
        tamis_guard_source source;
        void *session = connect_to(&source, &sql);
        char json[100];
        snprintf(json, sizeof json, "{\"v\":\"<%s>\"}", word);
        assert_string_equal(load_text(&source, session, word), json);
        assert_string_equal(load_text(&source, session, "\u0e01"), "(none)"); /* in none of the first three */
        assert_string_equal(load_text(&source, session, "gr\xfcn"), "(none)");
        assert_string_equal(scan_keys(&source, session, false), word);
        close_source(&source, session);
        PQfinish(other);
        postgres_run(writer, "DROP DATABASE other WITH (FORCE)");
    }
}

/* ---- keys ---- */

static void test_text_keys_of_any_bytes(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(id text PRIMARY KEY, v text);"
                         "INSERT INTO t VALUES('ab', 'row'), ('o''clock', 'quoted'), ('gr\u00fcn', 'green')");
    const tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = $1");
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);
    static const tamis_key absent[] = {{"ab\0", 3},   {"ab\0c", 4}, {"\0", 1}, {"\xff\xfe", 2},
                                       {"ab\xc3", 3}, {NULL, 0},    {"ab", 1}, {"\xed\xa0\x80", 3}};

    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        assert_string_equal(load_bytes(&source, session, absent[i], 1000, NULL), "(none)");
    assert_string_equal(load_text(&source, session, "ab"), "row");
    assert_string_equal(load_text(&source, session, "o'clock"), "quoted");
    assert_string_equal(load_text(&source, session, "gr\u00fcn"), "green");
    assert_string_equal(load_text(&source, session, "'; DROP TABLE t; --"), "(none)");
    assert_string_equal(load_text(&source, session, "x' OR '1'='1"), "(none)");
    char *large = malloc(TAMIS_GUARD_KEY_MAX + 1);
    memset(large, 'x', TAMIS_GUARD_KEY_MAX + 1);
    assert_string_equal(load_bytes(&source, session, (tamis_key){large, TAMIS_GUARD_KEY_MAX}, 1000, NULL),
                        "(none)");
    assert_string_equal(load_bytes(&source, session, (tamis_key){large, TAMIS_GUARD_KEY_MAX + 1}, 1000, NULL),
                        "(none)");
    free(large);
    assert_string_equal(postgres_value(writer, "SELECT count(*) FROM t"), "3");
    close_source(&source, session);
}

static void test_key_has_one_spelling(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(id bigint PRIMARY KEY, v text, u uuid);"
                         "INSERT INTO t VALUES(17, 'row', 'aaaaaaaa-0000-0000-0000-000000000001')");
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = $1");
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);
    static const char *const absent[] = {
        "017", " 17", "17 ", "+17", "abc", "", "17.0", "1e1", "18", "99999999999999999999", "'17'", "\xff"};

    assert_string_equal(load_text(&source, session, "17"), "row");
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (strcmp(load_text(&source, session, absent[i]), "(none)") != 0)
            fail_msg("'%s' finds a row", absent[i]);
    close_source(&source, session);
    sql.row = "SELECT v FROM t WHERE u = $1";
    session = connect_to(&source, &sql);
    assert_string_equal(load_text(&source, session, "aaaaaaaa-0000-0000-0000-000000000001"), "row");
    assert_string_equal(load_text(&source, session, "AAAAAAAA-0000-0000-0000-000000000001"), "(none)");
    assert_string_equal(load_text(&source, session, "17"), "(none)");
    close_source(&source, session);
}

/* A value that cannot be converted is an error of the query, not a missing row. */
static void test_error_of_data_is_no_missing_row(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(id int, v text); INSERT INTO t VALUES(1, 'x'), (2, '2')");
    const tamis_guard_sql sql = sql_of("SELECT v::int FROM t WHERE id = $1");
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);

    assert_load_fails(&source, session, "1", 1000, "TAMIS_E_REFUSED", "row: invalid input syntax");
    assert_load_fails(&source, session, "1", 1000, "TAMIS_E_REFUSED", "SQLSTATE 22P02");
    assert_string_equal(load_text(&source, session, "2"), "2");
    close_source(&source, session);
}

/* ---- scans ---- */

static void test_scan_streams_all_keys(void **state) {
    NEED_SERVER();
    const unsigned keys = (unsigned)test_scale(100000, 20000, 20000);
    postgres_run(writer,
                 "CREATE TABLE t(id text); INSERT INTO t SELECT 'item:' || n || repeat('.', 100)"
                 " FROM generate_series(1, %u) AS n; INSERT INTO t VALUES(NULL), (''),"
                 "(repeat('x', 65537)), (repeat('x', 65536))",
                 keys);
    tamis_guard_sql sql = sql_of("SELECT 'v' FROM t WHERE id = $1");
    sql.keys = "SELECT id FROM t;";
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);
    test_bytes first = assert_scan_streams(&source, session, keys + 1);

    assert_memory_equal(first.data, "item:1....", 10);
    bytes_clear(&first);
    assert_string_equal(load_text(&source, session, "item:1"), "(none)");
    close_source(&source, session);
}

static void test_scan_outlasts_the_limit_of_a_row(void **state) {
    NEED_SERVER();
    tamis_guard_sql sql = sql_of("SELECT 'v'::text WHERE $1 = 'a'");
    sql.keys = "SELECT 'a' FROM pg_sleep(1.5)";
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    void *session = NULL;

    assert_int_equal(tamis_guard_postgres_create(&source, &sql, NULL), TAMIS_OK);
    assert_int_equal(source.connect(source.context, 1000, &session, NULL), TAMIS_OK);
    assert_string_equal(scan_keys(&source, session, false), "a");
    close_source(&source, session);
}

static void test_scan_that_fails_leaves_the_session(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(id int); INSERT INTO t SELECT generate_series(0, 5000)");
    tamis_guard_sql sql = sql_of("SELECT 'v'::text WHERE $1 = 'a'");
    sql.keys = "SELECT 100 / (4000 - id) FROM t";
    tamis_guard_source source;
    scan_result result = {0};
    tamis_guard_scan scan = scan_into(&result);
    tamis_error err = TAMIS_ERROR_INIT;
    void *session = connect_to(&source, &sql);

    assert_int_equal(source.scan(session, &scan, &err), TAMIS_E_REFUSED);
    assert_contains(err.text, "keys: division by zero (SQLSTATE 22012)");
    assert_string_equal(load_text(&source, session, "a"), "v");
    bytes_clear(&result.text);
    close_source(&source, session);
}

static void test_late_commit_is_found_within_the_overlap(void **state) {
    NEED_SERVER();
    PGconn *late = postgres_reach(&server);
    postgres_run(writer, "CREATE TABLE t(id bigserial PRIMARY KEY, k text);"
                         "INSERT INTO t(k) VALUES('a'), ('b'), ('c')");
    tamis_guard_sql sql = sql_of("SELECT k FROM t WHERE id = $1");
    sql.keys = "SELECT k FROM t";
    sql.new_keys = "SELECT k, id FROM t WHERE id >= $1;";
    sql.overlap = 2;
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);

    assert_string_equal(scan_keys(&source, session, false), "a b c");
    postgres_run(late, "BEGIN; INSERT INTO t(k) VALUES('late')");
    postgres_run(writer, "INSERT INTO t(k) VALUES('later')");
    assert_string_equal(scan_keys(&source, session, true), "a b c later");
    postgres_run(late, "COMMIT");
    assert_string_equal(scan_keys(&source, session, true), "c late later");
    postgres_run(writer, "DELETE FROM t");
    assert_string_equal(scan_keys(&source, session, true), "");
    postgres_run(writer, "INSERT INTO t(k) VALUES('end')");
    assert_string_equal(scan_keys(&source, session, true), "end");
    PQfinish(late);
    close_source(&source, session);
    /* A session without a scan knows no bound. */
    postgres_run(writer, "INSERT INTO t(id, k) VALUES(-9223372036854775808, 'min')");
    session = connect_to(&source, &sql);
    assert_string_equal(scan_keys(&source, session, true), "end min");
    assert_string_equal(scan_keys(&source, session, true), "end");
    /* No bound is below the lowest number. */
    postgres_run(writer, "DELETE FROM t WHERE id > 0");
    source.disconnect(session);
    assert_int_equal(source.connect(source.context, 10000, &session, NULL), TAMIS_OK);
    assert_string_equal(scan_keys(&source, session, true), "min");
    assert_string_equal(scan_keys(&source, session, true), "min");
    close_source(&source, session);
}

/* A row of the future hides no later one; above an infinite number there is none. */
static void test_new_keys_after_a_high_value(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(k text, at timestamptz, n float8);"
                         "INSERT INTO t VALUES('a', now() - interval '1 day', 1), ('future', 'infinity', 2)");
    tamis_guard_sql sql = sql_of("SELECT k FROM t WHERE k = $1");
    sql.keys = "SELECT k FROM t";
    sql.new_keys = "SELECT k, at FROM t WHERE at >= $1";
    sql.overlap = 600;
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);

    assert_string_equal(scan_keys(&source, session, false), "a future");
    postgres_run(writer, "INSERT INTO t VALUES('b', now(), 3), ('old', now() - interval '1 hour', 'NaN')");
    assert_string_equal(scan_keys(&source, session, true), "b future");
    close_source(&source, session);
    sql.new_keys = "SELECT k, n FROM t WHERE n >= $1";
    session = connect_to(&source, &sql);
    scan_result result = {0};
    tamis_guard_scan scan = scan_into(&result);
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(source.scan_new(session, &scan, &err), TAMIS_E_REFUSED);
    assert_contains(err.text, "Infinity or NaN");
    assert_string_equal(load_text(&source, session, "a"), "a");
    close_source(&source, session);
}

/* The texts of keys do not depend on settings of the server. */
static void test_times_as_keys(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(at timestamp); INSERT INTO t VALUES('2026-11-29 02:20:00');"
                         "ALTER ROLE tamis SET datestyle = 'German'");
    tamis_guard_sql sql = sql_of("SELECT 'row' FROM t WHERE at = $1");
    sql.keys = "SELECT at FROM t";
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);

    assert_string_equal(scan_keys(&source, session, false), "2026-11-29 02:20:00");
    assert_string_equal(load_text(&source, session, "2026-11-29 02:20:00"), "row");
    assert_string_equal(load_text(&source, session, "2026-11-29T02:20:00"), "(none)");
    postgres_run(writer, "ALTER ROLE tamis RESET datestyle");
    close_source(&source, session);
}

/* A column of each type, with rows at 10 (a), 20 (b) and then 15 (c) and 14 (d); overlap 5. */
static void test_new_keys_by_each_type(void **state) {
    NEED_SERVER();
    static const char *const times = "'2016-03-27 00:30:00+00'::timestamptz + make_interval(secs => %d)";
    static const struct {
        const char *type, *value;
    } types[] = {{"int2", "%d"},           {"int4", "%d"},      {"int8", "%d + 9007199254740993"},
                 {"numeric", "%d + 1e30"}, {"float4", "%d"},    {"float8", "%d"},
                 {"timestamptz", NULL},    {"timestamp", NULL}, {"date", "'2016-03-01'::date + %d"}};
    char values[4][200];

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *type = types[i].type, *value = types[i].value ? types[i].value : times;
        for (int j = 0; j < 4; j++)
            sprintf(values[j], value, (int[]){10, 20, 15, 14}[j]);
        postgres_run(writer,
                     "DROP TABLE IF EXISTS t; CREATE TABLE t(k text, v %s);"
                     "INSERT INTO t VALUES('a', %s), ('b', %s), ('null', NULL)",
                     type, values[0], values[1]);
        tamis_guard_sql sql = sql_of("SELECT k FROM t WHERE k = $1");
        sql.keys = "SELECT k FROM t";
        sql.new_keys = "SELECT k, v FROM t WHERE v >= $1";
        sql.overlap = strcmp(type, "date") == 0 ? 5 * 86400 : strncmp(type, "int", 3) == 0 ? 4.5 : 5;
        sql.init = "SET datestyle = 'SQL, DMY'; SET timezone = 'Europe/Berlin'";
        tamis_guard_source source;
        void *session = connect_to(&source, &sql);
        assert_string_equal(scan_keys(&source, session, false), "a b null");
        postgres_run(writer, "INSERT INTO t VALUES('c', %s), ('d', %s)", values[2], values[3]);
        if (strcmp(scan_keys(&source, session, true), "b c") != 0)
            fail_msg("%s: other keys than b and c", type);
        close_source(&source, session);
    }
}

/* ---- notifications ---- */

/* Returns the keys that arrive within a second, sorted. */
static const char *listen_keys(const tamis_guard_source *source, void *session, size_t count) {
    static char text[400];
    scan_result result = {0};
    tamis_guard_scan scan = scan_into(&result);
    tamis_error err = TAMIS_ERROR_INIT;

    for (int tries = 0; tries < 200 && result.count < count; tries++)
        if (source->listen(session, 100, &scan, &err) != TAMIS_OK)
            fail_msg("%s", err.text);
    snprintf(text, sizeof text, "%.*s", (int)result.text.size, (const char *)result.text.data);
    bytes_clear(&result.text);
    return text;
}

static void test_notified_keys(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(id text PRIMARY KEY);"
                         "CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                         " PERFORM pg_notify('New \"rows\"', NEW.id::text); RETURN NULL; END $$;"
                         "CREATE TRIGGER announce AFTER INSERT OR UPDATE OF id ON t FOR EACH ROW"
                         " EXECUTE FUNCTION announce()");
    tamis_guard_sql sql = sql_of("SELECT id FROM t WHERE id = $1");
    sql.keys = "SELECT id FROM t";
    sql.channel = "New \"rows\""; /* quoted as an identifier */
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);
    scan_result none = {0};
    tamis_guard_scan scan = scan_into(&none);

    postgres_run(writer, "INSERT INTO t VALUES('before')");
    assert_int_equal(source.listen(session, 10000, &scan, NULL), TAMIS_OK);
    assert_int_equal(none.count, 0);
    const uint64_t start = tamis__now_ns();
    assert_int_equal(source.listen(session, 50, &scan, NULL), TAMIS_OK); /* nothing comes */
    assert_in_range((tamis__now_ns() - start) / 1000000, 49, 5000);
    assert_int_equal(none.count, 0);
    postgres_run(writer, "INSERT INTO t VALUES('a')");
    assert_string_equal(listen_keys(&source, session, 1), "a\n");
    postgres_run(writer, "BEGIN; INSERT INTO t VALUES('gone'); ROLLBACK; NOTIFY other, 'x';"
                         "NOTIFY \"New \"\"rows\"\"\";"
                         "INSERT INTO t VALUES('gr\u00fcn'), ('c'); UPDATE t SET id = 'd' WHERE id = 'c'");
    assert_string_equal(listen_keys(&source, session, 3), "gr\u00fcn\nc\nd\n");
    postgres_run(writer, "INSERT INTO t SELECT 'row' || n FROM generate_series(1, 5000) AS n");
    (void)listen_keys(&source, session, 5000);
    /* the server ends the session */
    postgres_run(writer,
                 "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%%'");
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_status status = TAMIS_OK;
    for (int tries = 0; tries < 200 && status == TAMIS_OK; tries++)
        status = source.listen(session, 100, &scan, &err);
    assert_int_equal(status, TAMIS_E_IO);
    assert_contains(err.text, "PostgreSQL: notify: ");
    close_source(&source, session);
    sql.keys = NULL;
    assert_int_equal(tamis_guard_postgres_create(&source, &sql, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text,
                        "channel: needs `keys`, the query for the keys of all rows; give both, or none");
}

/* A guard over a table with a trigger. No scan finds the rows, except after a lost connection. */
static void test_a_guard_that_is_notified(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(id bigint PRIMARY KEY);"
                         "CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                         " PERFORM pg_notify('rows', NEW.id::text); RETURN NULL; END $$;"
                         "CREATE TRIGGER announce AFTER INSERT ON t FOR EACH ROW"
                         " EXECUTE FUNCTION announce(); INSERT INTO t VALUES(1)");
    tamis_guard_sql sql = sql_of("SELECT 'row ' || id FROM t WHERE id = $1");
    sql.keys = "SELECT id FROM t";
    sql.channel = "rows";
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_guard *guard = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    options.source = &source;
    options.timeout_ms = 10000;
    if (tamis_guard_postgres_create(&source, &sql, &err) != TAMIS_OK ||
        tamis_guard_open(&guard, &options, &err) != TAMIS_OK ||
        tamis_guard_wait_for_filter(guard, 20000, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    for (int i = 2; i < 12; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        const tamis_key key = {text, strlen(text)};
        tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;
        assert_int_equal(tamis_guard_get_many(guard, &key, 1, &value, &err), TAMIS_OK);
        assert_int_equal(value.outcome, TAMIS_GUARD_MISSING);
        if (i == 5 || i == 9) /* the key is lost, and the next scan finds the row */
            postgres_run(writer, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                                 " WHERE query LIKE 'LISTEN%%'");
        postgres_run(writer, "INSERT INTO t VALUES(%d)", i);
        for (int waited = 0; value.outcome != TAMIS_GUARD_FOUND; waited++) {
            assert_true(waited < 20000);
            pause_ms(1);
            tamis_guard_value_release(&value);
            assert_int_equal(tamis_guard_get_many(guard, &key, 1, &value, &err), TAMIS_OK);
        }
        assert_int_equal(value.size, strlen(text) + 4);
        assert_memory_equal((const char *)value.data + 4, text, strlen(text));
        tamis_guard_value_release(&value);
        tamis_guard_stats stats = TAMIS_GUARD_STATS_INIT;
        for (int waited = 0; !stats.is_listening; waited++) {
            assert_true(waited < 20000);
            pause_ms(1);
            assert_int_equal(tamis_guard_stats_get(guard, &stats, NULL), TAMIS_OK);
        }
        assert_in_range(stats.scans, 1, 1 + (i >= 5) + (i >= 9));
    }
    tamis_guard_close(guard);
    tamis_guard_source_free(&source);
}

/* ---- errors ---- */

static void test_queries_are_checked(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(id int, v text); CREATE TABLE \"none\"()");
    tamis_guard_sql right = sql_of("SELECT v FROM t WHERE id = $1;; ");
    right.keys = "SELECT id FROM t";
    right.new_keys = "SELECT id, id FROM t WHERE id >= $1";
    static const wrong_query queries[] = {
        {.row = "SELECT v FROM t",
         .error = "row: has 0 parameters and 1 columns; expected one parameter, $1"},
        {.row = "SELECT v FROM t WHERE id = $1 AND v = $2", .error = "has 2 parameters"},
        {.row = "SELECT v FROM t WHERE id = $2",
         .error = "row: could not determine data type of parameter $1"},
        {.row = "SELECT v FROM t WHERE id = $1; DELETE FROM t", .error = "multiple commands"},
        {.row = "DELETE FROM t WHERE id = $1", .error = "row: has 1 parameters and 0 columns"},
        {.row = "SELECT FROM t WHERE id = $1", .error = "row: has 1 parameters and 0 columns"},
        {.row = "DELETE FROM t WHERE id = $1 RETURNING v", .error = "row: syntax error"},
        {.row = "-- none", .error = "row: has 0 parameters and 0 columns"},
        {.row = ";", .error = "row: has 0 parameters and 0 columns"},
        {.row = "SELECT v FROM missing WHERE id = $1",
         .error = "row: relation \"missing\" does not exist (SQLSTATE 42P01)"},
        {.keys = "SELECT id FROM t WHERE id > $1", .error = "keys: has 1 parameters"},
        {.keys = "SELECT id FROM t; SELECT 1", .error = "multiple commands"},
        {.new_keys = "SELECT id FROM t WHERE id >= $1", .error = "new_keys: has 1 parameters and 1 columns"},
        {.new_keys = "SELECT id, v FROM t WHERE v >= $1", .error = "expected WHERE column >= $1"},
        {.init = "SELECT 1/0", .error = "init: division by zero"},
        {.init = "COPY t FROM STDIN", .error = "init: COPY"},
        {.init = "SET search_path = public; BEGIN", .error = "init: leaves a transaction open"},
        {.init = "BEGIN; SELECT 1/0", .error = "init: division by zero"},
    };
    tamis_guard_source source;

    close_source(&source, connect_to(&source, &right));
    assert_queries_refused(tamis_guard_postgres_create, &right, queries, sizeof queries / sizeof *queries);
    right.as_json = true;
    static const wrong_query twice = {.row = "SELECT v, id, v FROM t WHERE id = $1",
                                      .error = "row: two columns have the name v; name one by AS"};
    assert_queries_refused(tamis_guard_postgres_create, &right, &twice, 1);
}

/* A pooler may give a session the connection of another one. Its statements must not run there. */
static void test_statements_have_names_of_their_session(void **state) {
    NEED_SERVER();
    const tamis_guard_sql sql =
        sql_of("SELECT string_agg(name, ' ' ORDER BY name) FROM pg_prepared_statements WHERE $1 = 'a'");
    tamis_guard_source source;
    void *session = connect_to(&source, &sql), *other = NULL;
    char names[300];

    snprintf(names, sizeof names, "%s", load_text(&source, session, "a"));
    assert_contains(names, "tamis_row_");
    assert_int_equal(source.connect(source.context, 10000, &other, NULL), TAMIS_OK);
    assert_string_not_equal(load_text(&source, other, "a"), names);
    source.disconnect(other);
    close_source(&source, session);
}

static void test_session_only_reads(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(id int, v text);"
                         "CREATE FUNCTION f(int) RETURNS text LANGUAGE sql AS"
                         " 'INSERT INTO t VALUES($1, ''v'') RETURNING v'");
    const tamis_guard_sql sql = sql_of("SELECT f($1)");
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);

    assert_load_fails(&source, session, "1", 1000, "TAMIS_E_REFUSED", "SQLSTATE 25006");
    close_source(&source, session);
}

/* A table that is altered makes prepared statements useless: the next session prepares them again. */
static void test_altered_table_needs_a_new_session(void **state) {
    NEED_SERVER();
    postgres_run(writer, "CREATE TABLE t(id int, v text); INSERT INTO t VALUES(1, 'v')");
    const tamis_guard_sql sql = sql_of("SELECT * FROM t WHERE id = $1");
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);

    assert_string_equal(load_text(&source, session, "1"), "1");
    postgres_run(writer, "ALTER TABLE t ALTER v TYPE bytea USING v::bytea");
    assert_load_fails(&source, session, "1", 1000, "TAMIS_E_IO", "cached plan");
    source.disconnect(session);
    assert_int_equal(source.connect(source.context, 10000, &session, NULL), TAMIS_OK);
    assert_string_equal(load_text(&source, session, "1"), "1");
    close_source(&source, session);
}

/* ---- time limits and lost connections ---- */

static uint64_t ms_since(uint64_t start) {
    return (tamis__now_ns() - start) / 1000000;
}

static void test_server_ends_a_slow_query(void **state) {
    NEED_SERVER();
    const tamis_guard_sql sql = sql_of("SELECT pg_sleep(10)::text WHERE $1 = 'a'");
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    void *session = NULL;

    assert_int_equal(tamis_guard_postgres_create(&source, &sql, NULL), TAMIS_OK);
    assert_int_equal(source.connect(source.context, 1000, &session, NULL), TAMIS_OK);
    const uint64_t start = tamis__now_ns();
    assert_load_fails(&source, session, "a", 1000, "TAMIS_E_TIMEOUT", "row: ");
    assert_in_range(ms_since(start), 999, 5000);
    close_source(&source, session);
}

/* The limit of this side is shorter than that of the server: the query is cancelled. */
static void test_shorter_limit_cancels_the_query(void **state) {
    NEED_SERVER();
    const tamis_guard_sql sql = sql_of("SELECT pg_sleep(30)::text WHERE $1 = 'a'");
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);
    const uint64_t start = tamis__now_ns();

    assert_load_fails(&source, session, "a", 100, "TAMIS_E_TIMEOUT", "no answer within 100 ms");
    assert_in_range(ms_since(start), 100, 5000);
    int tries = 0;
    while (strcmp(postgres_value(writer, "SELECT count(*) FROM pg_stat_activity"
                                         " WHERE state = 'active' AND application_name = 'tamis'"),
                  "0") != 0) {
        assert_true(tries++ < 1000);
        pause_ms(5);
    }
    /* The session is of no further use. */
    assert_load_fails(&source, session, "b", 100, "TAMIS_E_IO", "row: ");
    close_source(&source, session);
}

static void test_connection_that_is_killed(void **state) {
    NEED_SERVER();
    tamis_guard_sql sql = sql_of("SELECT 'v'::text WHERE $1 = 'a'");
    sql.keys = "SELECT generate_series(1, 100000), pg_sleep(0.001)";
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);
    static const char kill_all[] = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                                   " WHERE application_name = 'tamis'";
    scan_result result = {0};
    tamis_guard_scan scan = scan_into(&result);
    tamis_error err = TAMIS_ERROR_INIT;

    assert_string_equal(load_text(&source, session, "a"), "v");
    /* a session of the test before may not have ended yet */
    assert_string_not_equal(postgres_value(writer, "%s", kill_all), "0");
    assert_load_fails(&source, session, "a", 5000, "TAMIS_E_IO", "row: ");
    assert_int_equal(source.scan(session, &scan, &err), TAMIS_E_IO);
    source.disconnect(session);
    assert_int_equal(source.connect(source.context, 10000, &session, NULL), TAMIS_OK);
    assert_string_equal(load_text(&source, session, "a"), "v");
    close_source(&source, session);
}

static void test_server_that_stops_and_starts(void **state) {
    NEED_SERVER();
    tamis_guard_sql sql = sql_of("SELECT 'v'::text WHERE $1 = 'a'");
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);
    void *none = NULL;
    tamis_error err = TAMIS_ERROR_INIT;

    postgres_kill(&server);
    assert_load_fails(&source, session, "a", 5000, "TAMIS_E_IO", "row: ");
    source.disconnect(session);
    assert_int_equal(source.connect(source.context, 1000, &none, &err), TAMIS_E_IO);
    assert_contains(err.text, "PostgreSQL: connect: ");
    assert_null(none);
    postgres_restart(&server);
    assert_int_equal(source.connect(source.context, 10000, &session, NULL), TAMIS_OK);
    assert_string_equal(load_text(&source, session, "a"), "v");
    close_source(&source, session);
    PQfinish(writer);
    writer = postgres_reach(&server);
}

/* The network is cut in the middle of replies: no wrong value, and no scan that lacks keys. */
static void test_cut_replies_are_errors(void **state) {
    NEED_SERVER();
    enum { KEYS = 300 };
    char socket_path[140], database[100];
    snprintf(socket_path, sizeof socket_path, "%s/.s.PGSQL.%d", server.directory, server.port);
    proxy *network = proxy_start(socket_path);
    snprintf(database, sizeof database, "host=127.0.0.1 port=%d user=tamis dbname=postgres sslmode=disable",
             proxy_port(network));
    postgres_run(writer,
                 "CREATE TABLE t(id int, v text); INSERT INTO t SELECT n, 'value of ' || n"
                 " FROM generate_series(1, %d) AS n",
                 KEYS);
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = $1");
    sql.database = database;
    sql.keys = "SELECT id FROM t";
    sql.new_keys = "SELECT id, id FROM t WHERE id >= $1";
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);
    unsigned cuts = 0;

    for (uint64_t position = 0;; position += position < 200 ? 1 : 197) {
        const bool is_load = position < 200;
        scan_result result = {0};
        tamis_guard_scan scan = scan_into(&result);
        const char *got = "";
        tamis_status status = TAMIS_OK;
        proxy_arm(network, PROXY_REPLIES, PROXY_CUT, is_load ? position : position - 200);
        if (is_load)
            got = load_bytes(&source, session, (tamis_key){"17", 2}, 5000, NULL);
        else
            status = source.scan(session, &scan, NULL);
        const bool was_cut = proxy_harmed(network) > 0;
        proxy_disarm(network);
        bytes_clear(&result.text);
        cuts += was_cut;
        if (is_load)
            assert_string_equal(got, strcmp(got, "TAMIS_E_IO") == 0 && was_cut ? got : "value of 17");
        else if (status != TAMIS_OK || result.count != KEYS)
            assert_true(was_cut && status == TAMIS_E_IO);
        if (!is_load && !was_cut)
            break;
        if (!was_cut) { /* behind the reply: go on with scans */
            position = 199;
            continue;
        }
        source.disconnect(session);
        assert_int_equal(source.connect(source.context, 10000, &session, NULL), TAMIS_OK);
    }
    assert_true(cuts > 60);
    /* A network that is silent from some byte on. */
    proxy_arm(network, PROXY_REPLIES, PROXY_HOLD, 20);
    assert_load_fails(&source, session, "17", 100, "TAMIS_E_TIMEOUT", "no answer within 100 ms");
    close_source(&source, session);
    proxy_stop(network);
}

/* A server that accepts connections and says nothing. */
static void test_time_limit_ends_connecting(void **state) {
    (void)state;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_storage address = {.ss_family = AF_INET};
    socklen_t size = sizeof address;
    char database[100];

    assert_int_equal(listen(listener, 1), 0); /* on a free port */
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    const unsigned char *bytes = (const unsigned char *)&address;
    snprintf(database, sizeof database, "host=127.0.0.1 port=%d user=u password=secret",
             bytes[2] << 8 | bytes[3]);
    tamis_guard_sql sql = sql_of("SELECT $1");
    sql.database = database;
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    void *session = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    const uint64_t start = tamis__now_ns();
    assert_int_equal(tamis_guard_postgres_create(&source, &sql, NULL), TAMIS_OK);
    assert_int_equal(source.connect(source.context, 100, &session, &err), TAMIS_E_TIMEOUT);
    assert_in_range(ms_since(start), 100, 5000);
    assert_contains(err.text, "connect: no answer within 100 ms");
    tamis_guard_source_free(&source);
    close(listener);
}

/* ---- connection strings ---- */

static void test_password_in_no_message(void **state) {
    NEED_SERVER();
    char wrong[120], missing[120];
    snprintf(wrong, sizeof wrong, "postgresql://reader:not-Secret-1@127.0.0.1:%d/postgres", server.port);
    snprintf(missing, sizeof missing, "postgresql://reader:not-Secret-1@127.0.0.1:%d/none", server.port + 1);
    const char *const databases[] = {wrong,
                                     missing,
                                     "postgresql://reader:pa/not-Secret-1@localhost",
                                     "postgresql://reader:x@not-Secret-1@h",
                                     "host=localhost passwrod=not-Secret-1",
                                     "host=localhost password='not-Secret-1",
                                     "not-Secret-1",
                                     "postgresql://reader:%zznot-Secret-1@h",
                                     "host=localhost port=not-Secret-1"};

    for (size_t i = 0; i < sizeof databases / sizeof *databases; i++) {
        tamis_guard_sql sql = sql_of("SELECT $1");
        tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
        tamis_error err = TAMIS_ERROR_INIT;
        void *session = NULL;
        sql.database = databases[i];
        tamis_status status = tamis_guard_postgres_create(&source, &sql, &err);
        assert_int_equal(status, i < 2 ? TAMIS_OK : TAMIS_E_INVALID);
        if (status == TAMIS_OK)
            assert_int_equal(source.connect(source.context, 5000, &session, &err),
                             i == 0 ? TAMIS_E_REFUSED : TAMIS_E_IO);
        if (strstr(err.text, "ecret"))
            fail_msg("a password in: %s", err.text);
        tamis_guard_source_free(&source);
    }
    postgres_run(writer, "CREATE TABLE t(id int, v text); INSERT INTO t VALUES(1, 'v')");
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = $1");
    sql.database = server.uri;
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);
    assert_string_equal(load_text(&source, session, "1"), "v");
    close_source(&source, session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_values_of_each_type),
        TEST(test_bytes_come_as_bytes),
        TEST(test_row_as_json),
        TEST(test_encodings_of_the_server),
        TEST(test_text_keys_of_any_bytes),
        TEST(test_key_has_one_spelling),
        TEST(test_error_of_data_is_no_missing_row),
        TEST(test_scan_streams_all_keys),
        TEST(test_scan_outlasts_the_limit_of_a_row),
        TEST(test_scan_that_fails_leaves_the_session),
        TEST(test_late_commit_is_found_within_the_overlap),
        TEST(test_new_keys_after_a_high_value),
        TEST(test_times_as_keys),
        TEST(test_new_keys_by_each_type),
        TEST(test_notified_keys),
        TEST(test_a_guard_that_is_notified),
        TEST(test_queries_are_checked),
        TEST(test_statements_have_names_of_their_session),
        TEST(test_session_only_reads),
        TEST(test_altered_table_needs_a_new_session),
        TEST(test_server_ends_a_slow_query),
        TEST(test_shorter_limit_cancels_the_query),
        TEST(test_connection_that_is_killed),
        TEST(test_server_that_stops_and_starts),
        TEST(test_cut_replies_are_errors),
        TEST(test_time_limit_ends_connecting),
        TEST(test_password_in_no_message),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
