/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sqlite3.h>

#include <tamis/experimental/guard.h>

#include "base/system.h"
#include "support/guard_scans.h"
#include "support/scratch.h"

/* ---- a writer beside the source ---- */

static sqlite3 *writer;

static void run_sql(const char *format, ...) {
    char text[2000];
    char *message = NULL;
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (sqlite3_exec(writer, text, NULL, NULL, &message) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", text, message);
        abort();
    }
}

static int set_up(void **state) {
    scratch_set_up(state);
    return sqlite3_open(scratch("db"), &writer);
}

static int tear_down(void **state) {
    sqlite3_close(writer);
    return scratch_tear_down(state);
}

/* ---- a source with one session ---- */

static tamis_guard_sql sql_of(const char *row) {
    tamis_guard_sql sql = TAMIS_GUARD_SQL_INIT;
    sql.database = scratch("db");
    sql.row = row;
    return sql;
}

static void *connect_to(tamis_guard_source *source, const tamis_guard_sql *sql) {
    return open_source(tamis_guard_sqlite_create, source, sql);
}

static void assert_connect_fails(const tamis_guard_sql *sql, tamis_status status, const char *message) {
    assert_open_fails(tamis_guard_sqlite_create, sql, status, message);
}

/* ---- values ---- */

static void test_values_of_each_type(void **state) {
    (void)state;
    run_sql("CREATE TABLE t(id TEXT PRIMARY KEY, v);"
            "INSERT INTO t VALUES('text', 'grün'), ('integer', -17), ('real', 0.1), ('blob', x'00ff0a'),"
            "('null', NULL), ('empty', ''), ('o''clock', 'quoted')");
    const tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = ?1;");
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);

    assert_null(source.scan);
    assert_null(source.scan_new);
    assert_string_equal(load_text(&source, session, "text"), "grün");
    assert_string_equal(load_text(&source, session, "integer"), "-17");
    assert_string_equal(load_text(&source, session, "real"), "0.1");
    assert_memory_equal(load_text(&source, session, "blob"), "\0\xff\n", 4);
    assert_string_equal(load_text(&source, session, "null"), "");
    assert_string_equal(load_text(&source, session, "empty"), "");
    assert_string_equal(load_text(&source, session, "absent"), "(none)");
    assert_string_equal(load_text(&source, session, "o'clock"), "quoted");
    assert_string_equal(load_text(&source, session, "x' OR '1'='1"), "(none)");
    close_source(&source, session);
}

static void test_keys_of_any_bytes(void **state) {
    (void)state;
    run_sql("CREATE TABLE t(id TEXT, n INTEGER, b BLOB, v); INSERT INTO t VALUES('ab', 17, x'00ff', 'row')");
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = ?1");
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);

    assert_string_equal(load_bytes(&source, session, (tamis_key){"ab", 2}, 1000, NULL), "row");
    assert_string_equal(load_bytes(&source, session, (tamis_key){"ab\0c", 4}, 1000, NULL), "(none)");
    assert_string_equal(load_bytes(&source, session, (tamis_key){"ab\0", 3}, 1000, NULL), "(none)");
    assert_string_equal(load_bytes(&source, session, (tamis_key){"\xff\xfe", 2}, 1000, NULL), "(none)");
    assert_string_equal(load_bytes(&source, session, (tamis_key){NULL, 0}, 1000, NULL), "(none)");
    close_source(&source, session);
    sql.row = "SELECT v FROM t WHERE n = ?1";
    session = connect_to(&source, &sql);
    assert_string_equal(load_bytes(&source, session, (tamis_key){"17", 2}, 1000, NULL), "row");
    assert_string_equal(load_bytes(&source, session, (tamis_key){"17\0", 3}, 1000, NULL), "(none)");
    close_source(&source, session);
    sql.row = "SELECT v FROM t WHERE b = CAST(?1 AS BLOB)";
    session = connect_to(&source, &sql);
    assert_string_equal(load_bytes(&source, session, (tamis_key){"\0\xff", 2}, 1000, NULL), "row");
    close_source(&source, session);
}

static void test_row_as_json(void **state) {
    (void)state;
    run_sql("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, price REAL, data BLOB, note);"
            "INSERT INTO t VALUES(1, 'a \"b\"', 0.1, x'00ff', NULL), (2, CAST(x'ff' AS TEXT), 1, x'', 1)");
    tamis_guard_sql sql = sql_of("SELECT * FROM t WHERE id = ?1");
    tamis_guard_source source;
    tamis_error err = TAMIS_ERROR_INIT;

    sql.as_json = true;
    void *session = connect_to(&source, &sql);
    assert_string_equal(
        load_text(&source, session, "1"),
        "{\"id\":1,\"name\":\"a \\\"b\\\"\",\"price\":0.1,\"data\":\"\\\\x00ff\",\"note\":null}");
    assert_string_equal(load_text(&source, session, "3"), "(none)");
    assert_string_equal(load_bytes(&source, session, (tamis_key){"2", 1}, 1000, &err), "TAMIS_E_REFUSED");
    assert_non_null(strstr(err.text, "name"));
    close_source(&source, session);
    sql.row = "SELECT id, id FROM t WHERE id = ?1";
    assert_connect_fails(&sql, TAMIS_E_REFUSED, "two columns");
}

/* Texts with a NUL, other bytes than UTF-8, and a database in UTF-16. */
static void test_texts_of_any_encoding(void **state) {
    (void)state;
    run_sql("PRAGMA encoding = 'UTF-16'; CREATE TABLE t(id TEXT PRIMARY KEY, v);"
            "INSERT INTO t VALUES('gr\u00fcn', '\u20ac'), ('nul', 'a' || char(0) || 'b'), ('blob', x'ff00')");
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = ?1");
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);

    assert_string_equal(load_text(&source, session, "gr\u00fcn"), "\u20ac");
    assert_memory_equal(load_text(&source, session, "nul"), "a\0b", 4);
    assert_memory_equal(load_text(&source, session, "blob"), "\xff\0", 3);
    assert_string_equal(load_text(&source, session, "gr\xfcn"), "(none)");
    close_source(&source, session);
    sql.as_json = true;
    session = connect_to(&source, &sql);
    assert_string_equal(load_text(&source, session, "nul"), "{\"v\":\"a\\u0000b\"}");
    assert_string_equal(load_text(&source, session, "blob"), "{\"v\":\"\\\\xff00\"}");
    close_source(&source, session);
}

/* ---- one spelling of a key ---- */

static void test_number_has_one_spelling(void **state) {
    (void)state;
    run_sql(
        "CREATE TABLE t(id INTEGER, v); INSERT INTO t VALUES(17, 'seventeen'), (10, 'ten'), (-4, 'minus'),"
        "('012ab', 'text'), ('1e', 'e'), ('-', 'dash'), (2.5, 'fraction'), (1e30, 'large'), "
        "(9223372036854775807, 'max')");
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = ?1");
    tamis_guard_source source;
    sql.keys = "SELECT id FROM t";
    void *session = connect_to(&source, &sql);
    static const char *const absent[] = {"017", " 17", "17 ",   "17.0", "+17", "1e1", "1E1", "1.0e1",
                                         "-04", "-4.", ".25e1", "02.5", "",    ".",   "e1"};

    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (strcmp(load_text(&source, session, absent[i]), "(none)") != 0)
            fail_msg("'%s' finds a row", absent[i]);
    assert_string_equal(load_text(&source, session, "17"), "seventeen");
    assert_string_equal(load_text(&source, session, "-4"), "minus");
    assert_string_equal(load_text(&source, session, "012ab"), "text");
    assert_string_equal(load_text(&source, session, "1e"), "e");
    assert_string_equal(load_text(&source, session, "-"), "dash");
    assert_string_equal(load_text(&source, session, "9223372036854775807"), "max");
    assert_string_equal(scan_keys(&source, session, false),
                        "- -4 012ab 1.0e+30 10 17 1e 2.5 9223372036854775807");
    assert_string_equal(load_text(&source, session, "1.0e+30"), "large");
    assert_string_equal(load_text(&source, session, "2.5"), "fraction");
    close_source(&source, session);
}

static void test_text_keeps_its_zeros(void **state) {
    (void)state;
    run_sql("CREATE TABLE t(id VARCHAR(9), v); INSERT INTO t VALUES('017', 'a'), ('17', 'b'), (' 17', 'c')");
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = ?1");
    tamis_guard_source source;
    sql.keys = "SELECT id FROM t";
    void *session = connect_to(&source, &sql);

    assert_string_equal(load_text(&source, session, "017"), "a");
    assert_string_equal(load_text(&source, session, "17"), "b");
    assert_string_equal(load_text(&source, session, " 17"), "c");
    assert_string_equal(load_text(&source, session, "17.0"), "(none)");
    close_source(&source, session);
}

/* ---- scans ---- */

static void test_scan_streams_all_keys(void **state) {
    (void)state;
    const unsigned keys = (unsigned)test_scale(100000, 20000, 20000);
    run_sql("CREATE TABLE t(id); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %u)"
            " INSERT INTO t SELECT 'item:' || i FROM n; INSERT INTO t VALUES(NULL), (''), (zeroblob(65537)),"
            "(zeroblob(65536)), (zeroblob(65535))",
            keys);
    tamis_guard_sql sql = sql_of("SELECT 1 FROM t WHERE id = ?1");
    tamis_guard_source source;
    sql.keys = "SELECT id FROM t";
    void *session = connect_to(&source, &sql);
    test_bytes first = assert_scan_streams(&source, session, keys + 2);

    assert_memory_equal(first.data, "item:1\nitem:2\n", 14);
    bytes_clear(&first);
    assert_string_equal(load_text(&source, session, "item:7"), "1");
    close_source(&source, session);
}

static void test_new_keys_by_number(void **state) {
    (void)state;
    run_sql("PRAGMA journal_mode = WAL; CREATE TABLE t(id TEXT, seq INTEGER);"
            "INSERT INTO t VALUES('a', 4611686018427387905), ('b', 4611686018427387920)");
    tamis_guard_sql sql = sql_of("SELECT 1 FROM t WHERE id = ?1");
    tamis_guard_source source;
    sql.keys = "SELECT id FROM t";
    sql.new_keys = "SELECT id, seq FROM t WHERE seq >= ?1 -- new ones";
    sql.overlap = 10;
    void *session = connect_to(&source, &sql);

    assert_string_equal(scan_keys(&source, session, false), "a b");
    assert_string_equal(scan_keys(&source, session, true), "b");
    run_sql("INSERT INTO t VALUES('c', 4611686018427387922)");
    assert_string_equal(scan_keys(&source, session, true), "b c");
    /* A late commit with a lower number: found within the overlap. */
    run_sql("INSERT INTO t VALUES('late', 4611686018427387912), ('too late', 4611686018427387911)");
    assert_string_equal(scan_keys(&source, session, true), "b c late");
    run_sql("DELETE FROM t");
    assert_string_equal(scan_keys(&source, session, true), "");
    run_sql("INSERT INTO t VALUES('d', 4611686018427387930)");
    assert_string_equal(scan_keys(&source, session, true), "d");
    close_source(&source, session);
    /* A session without a scan knows no bound. */
    run_sql("INSERT INTO t VALUES('old', -5), ('none', NULL)");
    session = connect_to(&source, &sql);
    assert_string_equal(scan_keys(&source, session, true), "d old");
    assert_string_equal(scan_keys(&source, session, true), "d");
    close_source(&source, session);
}

static void test_new_keys_by_time(void **state) {
    (void)state;
    run_sql("CREATE TABLE t(id TEXT, at DATETIME);"
            "INSERT INTO t VALUES('a', '2016-11-29 01:00:00'), ('b', '2016-11-30 00:00:05.250')");
    tamis_guard_sql sql = sql_of("SELECT 1 FROM t WHERE id = ?1");
    tamis_guard_source source;
    sql.keys = "SELECT id FROM t";
    sql.new_keys = "WITH x AS (SELECT id, at FROM t WHERE at >= ?1) SELECT * FROM x ORDER BY at";
    sql.overlap = 60;
    void *session = connect_to(&source, &sql);

    assert_string_equal(scan_keys(&source, session, false), "a b");
    run_sql("INSERT INTO t VALUES('c', '2016-11-29 23:59:06'), ('d', '2016-11-29 23:59:04')");
    assert_string_equal(scan_keys(&source, session, true), "b c");
    /* A clock that is wrong hides no later row. */
    run_sql("INSERT INTO t VALUES('future', '2126-01-01 00:00:00')");
    assert_string_equal(scan_keys(&source, session, true), "b c future");
    run_sql("INSERT INTO t VALUES('now', datetime('now'))");
    assert_string_equal(scan_keys(&source, session, true), "future now");
    close_source(&source, session);

    run_sql("INSERT INTO t VALUES('e', 'yesterday')");
    session = connect_to(&source, &sql);
    scan_result result = {0};
    tamis_guard_scan scan = scan_into(&result);
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(source.scan_new(session, &scan, &err), TAMIS_E_REFUSED);
    assert_non_null(strstr(err.text, "neither a number nor a UTC time"));
    run_sql("UPDATE t SET at = 9e999 WHERE id = 'e'; DELETE FROM t WHERE typeof(at) = 'text'");
    assert_int_equal(source.scan_new(session, &scan, &err), TAMIS_E_REFUSED);
    close_source(&source, session);
}

/* ---- a database in memory ---- */

static void test_memory_database_lives_with_the_source(void **state) {
    (void)state;
    tamis_guard_sql sql = sql_of("SELECT name FROM item WHERE id = ?1");
    tamis_guard_source source;
    sql.database = "file:demo?mode=memory&cache=shared";
    sql.init = "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES(1, 'one');";
    void *first = connect_to(&source, &sql);
    void *second = NULL;

    assert_int_equal(source.connect(source.context, 1000, &second, NULL), TAMIS_OK);
    assert_string_equal(load_text(&source, first, "1"), "one");
    assert_string_equal(load_text(&source, second, "1"), "one");
    source.disconnect(first);
    source.disconnect(second);
    assert_int_equal(source.connect(source.context, 1000, &first, NULL), TAMIS_OK);
    assert_string_equal(load_text(&source, first, "1"), "one");

    /* A writer of the same process has the table: wait, then give up. */
    sqlite3 *other = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(sqlite3_open_v2(sql.database, &other, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN; UPDATE item SET name = 'two'", NULL, NULL, NULL), SQLITE_OK);
    const uint64_t start = tamis__now_ns();
    assert_string_equal(load_bytes(&source, first, (tamis_key){"1", 1}, 50, &err), "TAMIS_E_TIMEOUT");
    assert_true(tamis__now_ns() - start >= 50000000);
    assert_non_null(strstr(err.text, "lock"));
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_string_equal(load_text(&source, first, "1"), "two");
    sqlite3_close(other);
    close_source(&source, first);
}

static void test_init_fills_a_file_once(void **state) {
    (void)state;
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = ?1");
    tamis_guard_source source;
    sql.init = "CREATE TABLE t(id, v); INSERT INTO t VALUES('a', 'A')";
    void *session = connect_to(&source, &sql);
    void *second = NULL;

    assert_int_equal(source.connect(source.context, 1000, &second, NULL), TAMIS_OK);
    assert_string_equal(load_text(&source, second, "a"), "A");
    source.disconnect(second);
    close_source(&source, session);
    assert_connect_fails(&sql, TAMIS_E_REFUSED, "init: table t already exists");
}

/* ---- a guard over SQLite ---- */

static tamis_guard_outcome outcome_of(tamis_guard *guard, const char *key) {
    const tamis_key keys[] = {{key, strlen(key)}};
    tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;
    tamis_error err = TAMIS_ERROR_INIT;

    if (tamis_guard_get_many(guard, keys, 1, &value, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    const tamis_guard_outcome outcome = value.outcome;
    tamis_guard_value_release(&value);
    return outcome;
}

static void test_guard_finds_rows_of_other_writers(void **state) {
    (void)state;
    run_sql(
        "PRAGMA journal_mode = WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1, 'a')");
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = ?1");
    sql.keys = "SELECT id FROM t";
    sql.new_keys = "SELECT id, id FROM t WHERE id >= ?1";
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_guard *guard = NULL;
    tamis_error err = TAMIS_ERROR_INIT;

    assert_int_equal(tamis_guard_sqlite_create(&source, &sql, &err), TAMIS_OK);
    options.source = &source;
    options.scan_new_ms = 20;
    options.timeout_ms = 10000;
    if (tamis_guard_open(&guard, &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(tamis_guard_wait_for_filter(guard, 10000, &err), TAMIS_OK);
    assert_int_equal(outcome_of(guard, "1"), TAMIS_GUARD_FOUND);
    assert_int_equal(outcome_of(guard, "2"), TAMIS_GUARD_MISSING);
    run_sql("INSERT INTO t VALUES(2, 'b')");
    for (int tries = 0; outcome_of(guard, "2") != TAMIS_GUARD_FOUND; tries++) {
        assert_true(tries < 1000);
        pause_ms(10);
    }
    tamis_guard_close(guard);
    tamis_guard_source_free(&source);
}

/* ---- errors ---- */

static void test_queries_are_checked(void **state) {
    (void)state;
    run_sql("CREATE TABLE t(id, v)");
    tamis_guard_sql right = sql_of("SELECT v FROM t WHERE id = ?1;; -- the end");
    right.keys = "SELECT id FROM t";
    right.new_keys = "SELECT id, v FROM t WHERE v >= ?1";
    static const wrong_query queries[] = {
        {.row = "SELECT v FROM t",
         .error = "row: has 0 parameters and 1 columns; expected one parameter, ?1"},
        {.row = "SELECT v FROM t WHERE id = ?2", .error = "has 2 parameters"},
        {.row = "SELECT v FROM t WHERE id = ? OR id = ?", .error = "has 2 parameters"},
        {.row = "SELECT v FROM t WHERE id = ?1; DELETE FROM t", .error = "exactly one statement"},
        {.row = "SELECT v FROM t WHERE id = ?1; nonsense", .error = "exactly one statement"},
        {.row = " -- none", .error = "exactly one statement"},
        {.row = ";", .error = "exactly one statement"},
        {.row = "DELETE FROM t WHERE id = ?1", .error = "row: writes; expected a SELECT"},
        {.row = "DELETE FROM t WHERE id = ?1 RETURNING v", .error = "row: writes; expected a SELECT"},
        {.row = "ATTACH ?1 AS other", .error = "row: has 1 parameters and 0 columns"},
        {.row = "SELECT v FROM missing WHERE id = ?1", .error = "row: no such table: missing"},
        {.row = "SELECT 'v", .error = "row: unrecognized token"},
        {.keys = "SELECT id FROM t WHERE id > ?1", .error = "keys: has 1 parameters"},
        {.keys = "SELECT id FROM t; SELECT 1", .error = "all_keys: expected exactly one statement"},
        {.new_keys = "SELECT id FROM t WHERE v >= ?1", .error = "new_keys: has 1 parameters and 1 columns"},
        {.new_keys = "SELECT id, v FROM t", .error = "new_keys: has 0 parameters and 2 columns"},
        {.new_keys = "SELECT id, v, v FROM t WHERE v >= ?1", .error = "3 values for 2 columns"},
    };
    tamis_guard_source source;

    close_source(&source, connect_to(&source, &right));
    assert_queries_refused(tamis_guard_sqlite_create, &right, queries, sizeof queries / sizeof *queries);
}

static void test_options_are_checked(void **state) {
    (void)state;
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard_sql sql = sql_of(NULL);

    assert_int_equal(tamis_guard_sqlite_create(&source, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_guard_sqlite_create(&source, &sql, NULL), TAMIS_E_INVALID);
    sql.row = "SELECT ?1";
    sql.new_keys = "SELECT 1, 2 WHERE ?1";
    assert_int_equal(tamis_guard_sqlite_create(&source, &sql, NULL), TAMIS_E_INVALID);
    sql.new_keys = NULL;
    sql.overlap = -1;
    assert_int_equal(tamis_guard_sqlite_create(&source, &sql, NULL), TAMIS_E_INVALID);
    assert_null(source.context);
    tamis_guard_source_free(&source);
    tamis_guard_source_free(NULL);
}

static void test_database_that_cannot_be_read(void **state) {
    (void)state;
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = ?1");
    char uri[300];

    snprintf(uri, sizeof uri, "file:%s?key=secret", scratch("missing/db"));
    sql.database = uri;
    assert_connect_fails(&sql, TAMIS_E_REFUSED,
                         "connect: unable to open the file; give a database that exists");
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    void *session = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_guard_sqlite_create(&source, &sql, &err), TAMIS_OK);
    assert_int_equal(source.connect(source.context, 1000, &session, &err), TAMIS_E_REFUSED);
    assert_null(strstr(err.text, "secret"));
    tamis_guard_source_free(&source);
    sql.database = scratch("garbage");
    file_write(sql.database, "this is a text and certainly not a database of SQLite", 50);
    assert_connect_fails(&sql, TAMIS_E_REFUSED, "not a database");
}

/* Copies the database and its rollback journal, as a crash leaves them, and opens the copy. */
static void test_database_of_a_killed_writer(void **state) {
    (void)state;
    run_sql("PRAGMA cache_size = 1; CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)"
            " INSERT INTO t SELECT i, zeroblob(1000) FROM n; BEGIN; UPDATE t SET v = 'new'");
    test_bytes file = {0};
    char copy[300];
    snprintf(copy, sizeof copy, "%s", scratch("copy"));
    file_read(scratch("db"), &file);
    file_write(copy, file.data, file.size);
    bytes_clear(&file);
    file_read(scratch("db-journal"), &file);
    file_write(scratch("copy-journal"), file.data, file.size);
    bytes_clear(&file);
    run_sql("ROLLBACK");
    tamis_guard_sql sql = sql_of("SELECT length(v) FROM t WHERE id = ?1");
    sql.database = copy;
    assert_connect_fails(&sql, TAMIS_E_IO, "row: the database needs a recovery");
    sql.init = "SELECT count(*) FROM t";
    tamis_guard_source source;
    void *session = connect_to(&source, &sql);
    assert_string_equal(load_text(&source, session, "7"), "1000");
    close_source(&source, session);
}

static void test_damaged_database(void **state) {
    (void)state;
    run_sql("CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)"
            " INSERT INTO t SELECT i, zeroblob(1000) FROM n");
    test_bytes file = {0};
    file_read(scratch("db"), &file);
    memset(file.data + 4096, 0xa5, file.size - 4096);
    char copy[300];
    snprintf(copy, sizeof copy, "%s", scratch("copy"));
    file_write(copy, file.data, file.size);
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = ?1");
    sql.database = copy;
    sql.keys = "SELECT id FROM t";
    tamis_guard_source source;
    scan_result result = {0};
    tamis_guard_scan scan = scan_into(&result);
    tamis_error err = TAMIS_ERROR_INIT;
    void *session = connect_to(&source, &sql);
    assert_load_fails(&source, session, "7", 1000, "TAMIS_E_IO", "row: database disk image is malformed");
    assert_int_equal(source.scan(session, &scan, &err), TAMIS_E_IO);
    assert_contains(err.text, "all_keys: database disk image is malformed");
    close_source(&source, session);
    bytes_clear(&result.text);
    bytes_clear(&file);
    file_write(copy, "", 0); /* an empty file is a database without tables */
    assert_connect_fails(&sql, TAMIS_E_REFUSED, "row: no such table: t");
}

static void test_init_waits_for_a_lock(void **state) {
    (void)state;
    run_sql("CREATE TABLE t(id, v); BEGIN EXCLUSIVE");
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = ?1");
    sql.init = "CREATE TABLE IF NOT EXISTS u(a)";
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    void *session = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_guard_sqlite_create(&source, &sql, &err), TAMIS_OK);
    const uint64_t start = tamis__now_ns();
    assert_int_equal(source.connect(source.context, 50, &session, &err), TAMIS_E_TIMEOUT);
    assert_true(tamis__now_ns() - start >= 50000000);
    assert_contains(err.text, "init: another program has the lock within 50 ms");
    run_sql("COMMIT");
    assert_int_equal(source.connect(source.context, 1000, &session, &err), TAMIS_OK);
    close_source(&source, session);
}

static void test_time_limit_ends_a_query(void **state) {
    (void)state;
    const tamis_guard_sql sql = sql_of("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
                                       " SELECT i FROM n WHERE i = -?1");
    tamis_guard_source source;
    tamis_error err = TAMIS_ERROR_INIT;
    void *session = connect_to(&source, &sql);
    const uint64_t start = tamis__now_ns();

    assert_string_equal(load_bytes(&source, session, (tamis_key){"1", 1}, 100, &err), "TAMIS_E_TIMEOUT");
    const uint64_t took = (tamis__now_ns() - start) / 1000000;
    assert_true(took >= 100 && took < 5000);
    assert_non_null(strstr(err.text, "row: no answer within 100 ms"));
    close_source(&source, session);
}

static void test_time_limit_ends_a_wait_for_a_lock(void **state) {
    (void)state;
    run_sql("CREATE TABLE t(id, v); INSERT INTO t VALUES('a', 'A')");
    tamis_guard_sql sql = sql_of("SELECT v FROM t WHERE id = ?1");
    tamis_guard_source source;
    tamis_error err = TAMIS_ERROR_INIT;
    void *session = connect_to(&source, &sql);

    run_sql("BEGIN EXCLUSIVE");
    const uint64_t start = tamis__now_ns();
    assert_string_equal(load_bytes(&source, session, (tamis_key){"a", 1}, 50, &err), "TAMIS_E_TIMEOUT");
    assert_true(tamis__now_ns() - start >= 50000000);
    assert_non_null(strstr(err.text, "another program has the lock within 50 ms"));
    run_sql("COMMIT");
    assert_string_equal(load_text(&source, session, "a"), "A");
    close_source(&source, session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_values_of_each_type),
        TEST(test_keys_of_any_bytes),
        TEST(test_row_as_json),
        TEST(test_texts_of_any_encoding),
        TEST(test_number_has_one_spelling),
        TEST(test_text_keeps_its_zeros),
        TEST(test_scan_streams_all_keys),
        TEST(test_new_keys_by_number),
        TEST(test_new_keys_by_time),
        TEST(test_memory_database_lives_with_the_source),
        TEST(test_init_fills_a_file_once),
        TEST(test_guard_finds_rows_of_other_writers),
        TEST(test_queries_are_checked),
        TEST(test_options_are_checked),
        TEST(test_database_that_cannot_be_read),
        TEST(test_database_of_a_killed_writer),
        TEST(test_damaged_database),
        TEST(test_init_waits_for_a_lock),
        TEST(test_time_limit_ends_a_query),
        TEST(test_time_limit_ends_a_wait_for_a_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
