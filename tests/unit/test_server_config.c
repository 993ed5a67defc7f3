/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "server/server_config.h"
#include "support/fault.h"
#include "support/scratch.h"

static char directory[300], path[400]; /* of the scratch directory and the file in it */

static void write_file(const char *name, const char *text) {
    file_write(scratch(name), text, strlen(text));
}

static tamis_status read_text(server_config **config, const char *text, tamis_error *err) {
    write_file("config.yaml", text);
    return tamis__server_config_read(config, path, NULL, err);
}

#define SPACE "keyspaces:\n  - {keys: 'a:*', row: SELECT 1, database: {sqlite: memory}}\n"

static void test_all_fields(void **state) {
    (void)state;
    server_config *config = NULL;
    tamis_error err = TAMIS_ERROR_INIT;

    write_file("init.sql", "CREATE TABLE t(a);");
    write_file("password", "secret\n");
    write_file("secret", "0123456789abcde\n");
    const tamis_status status = read_text(
        &config,
        "listen: '[::1]:1234'\nmetrics: 127.0.0.1:9390\npassword_file: password\n"
        "tls: {cert: c.pem, key: /k.pem}\nclients: 5\nidle: 2m\nwrite_timeout: 500ms\n"
        "command_max: 64KiB\nredis: redis://localhost\ndatabase: {sqlite: a.db, init: init.sql}\n"
        "keyspaces:\n  - keys: 'item:*'\n    row: SELECT value FROM items WHERE id = ?1\n"
        "    all_keys: SELECT id FROM items\n    new_keys: SELECT id, n FROM items WHERE n >= ?1\n"
        "    overlap: 2.5\n    value: json\n    life: 10m\n    cache: 0\n    without_filter: closed\n"
        "    fpr: 1e-4\n    sessions: 2\n    rescan_at: 03:30\n"
        "  - keys: config\n    row: SELECT 1\n    database: {postgres: dbname=x}\n    prefix: p\n"
        "    filter_file: f.tamis\n    secret_file: secret\n    keep_news: 2d\n"
        "  - {keys: 'b*', row: SELECT 1, prefix: b, redis_filter: 'rows?layout=redisson'}\n",
        &err);

    if (status != TAMIS_OK)
        print_error("%s\n", err.text);
    assert_int_equal(status, TAMIS_OK);
    assert_string_equal(config->listen.host, "::1");
    assert_int_equal(config->listen.port, 1234);
    assert_string_equal(config->listen.text, "[::1]:1234");
    assert_string_equal(config->password, "secret");
    assert_string_equal(config->tls.key, "/k.pem");
    assert_string_equal(config->tls.cert + strlen(directory), "/c.pem");
    assert_int_equal(config->idle_ms, 120000);
    assert_int_equal(config->write_timeout_ms, 500);
    assert_int_equal(config->command_max, 65536);
    assert_int_equal(config->keyspace_count, 3);
    const server_keyspace *item = &config->keyspaces[0], *other = &config->keyspaces[1];
    assert_string_equal(item->prefix, "item:");
    assert_false(item->is_exact);
    assert_string_equal(item->redis_prefix, "tamis:item:");
    assert_string_equal(item->database.sqlite + strlen(directory), "/a.db");
    assert_string_equal(item->database.init, "CREATE TABLE t(a);");
    assert_int_equal(item->value, 1);
    assert_int_equal(item->without_filter, TAMIS_GUARD_CLOSED);
    assert_int_equal(item->cache_bytes, 0);
    assert_true(item->fpr > 0.99e-4 && item->fpr < 1.01e-4);
    assert_string_equal(item->scan_at, "03:30");
    assert_true(other->is_exact);
    assert_string_equal(other->redis_prefix, "p");
    assert_string_equal(other->filter_file + strlen(directory), "/f.tamis");
    assert_int_equal(other->secret_size, 16);
    assert_memory_equal(other->secret, "0123456789abcde\n", 16);
    assert_int_equal(other->news_ms, 172800000);
    server_keyspace copy = *other;
    copy.secret = "0123456789abcdef";
    assert_true(tamis__server_keyspaces_equal(other, other));
    assert_false(tamis__server_keyspaces_equal(other, &copy));
    assert_null(other->database.sqlite);
    assert_string_equal(config->keyspaces[2].redis_filter, "rows?layout=redisson");
    assert_true(tamis__server_keyspaces_equal(item, item));
    assert_false(tamis__server_keyspaces_equal(item, other));
    tamis__server_config_free(config);
}

static void test_defaults(void **state) {
    (void)state;
    server_config *config = NULL;

    assert_int_equal(read_text(&config, SPACE, NULL), TAMIS_OK);
    assert_string_equal(config->listen.text, "127.0.0.1:6390");
    assert_null(config->metrics.host);
    assert_int_equal(config->clients, 10000);
    assert_string_equal(config->keyspaces[0].database.sqlite, ":memory:");
    assert_int_equal(config->keyspaces[0].cache_bytes, 64 << 20);
    assert_int_equal(config->keyspaces[0].life_ms, 0);
    assert_null(config->filters.directory);
    tamis__server_config_free(config);
}

static void test_filters(void **state) {
    (void)state;
    server_config *config = NULL;

    assert_int_equal(read_text(&config, "filters: {directory: d}\n", NULL), TAMIS_OK);
    assert_int_equal(config->keyspace_count, 0);
    assert_string_equal(config->filters.directory + strlen(directory), "/d");
    assert_true(config->filters.fpr > 0.0099 && config->filters.fpr < 0.0101);
    assert_int_equal(config->filters.capacity, 100);
    assert_int_equal(config->filters.max, 100);
    assert_int_equal(config->filters.memory, 1 << 30);
    tamis__server_config_free(config);
    assert_int_equal(
        read_text(&config, SPACE "filters: {directory: /d, fpr: 1e-4, capacity: 5, max: 6, memory: 2GiB}\n",
                  NULL),
        TAMIS_OK);
    assert_int_equal(config->keyspace_count, 1);
    assert_string_equal(config->filters.directory, "/d");
    assert_true(config->filters.fpr > 0.99e-4 && config->filters.fpr < 1.01e-4);
    assert_int_equal(config->filters.capacity, 5);
    assert_int_equal(config->filters.max, 6);
    assert_int_equal(config->filters.memory, (uint64_t)2 << 30);
    assert_true(tamis__server_filters_equal(&config->filters, &config->filters));
    server_filters other = config->filters;
    other.max++;
    assert_false(tamis__server_filters_equal(&config->filters, &other));
    tamis__server_config_free(config);
}

/* Content of a file, and its error behind the name of the file. */
static const struct {
    const char *text, *error;
} mistakes[] = {
    {"", ": is empty; begin with keyspaces:"},
    {"a: [", ": line 2: not YAML: did not find expected node content; correct it"},
    {"- a\n", ": line 1: configuration: expected fields; give them as NAME: VALUE, each on its line"},
    {"listen: 127.0.0.1:1\n", ": line 1: configuration: needs keyspaces, or filters; add it"},
    {"\nlisten: [1]\n", ": line 2: listen: expected one value, not a list or fields; give one value"},
    {"listne: x\n" SPACE, ": line 1: unknown field 'listne'; did you mean listen?"},
    {"colour: x\n" SPACE, ": line 1: unknown field 'colour'; leave it out"},
    {"listen: 127.0.0.1:1\nlisten: 127.0.0.1:1\n" SPACE, ": line 2: listen: given twice; remove one"},
    {"listen: 6390\n" SPACE,
     ": line 1: listen: not an address; give HOST:PORT, as 127.0.0.1:6390, or unix:PATH"},
    {"listen: 0.0.0.0:1\n" SPACE,
     ": line 1: listen: other machines reach 0.0.0.0:1 and need no password; add "
     "password_file, or listen at 127.0.0.1"},
    {"metrics: unix:/x\n" SPACE, ": line 1: metrics: a Unix socket cannot be scraped; give HOST:PORT"},
    {"password:\n" SPACE, ": line 1: password: has no value; give one, or leave password out"},
    {"password: \"a\\0b\"\n" SPACE, ": line 1: password: has a byte 0; leave it out"},
    {"password: x\npassword_file: empty2\n" SPACE,
     ": line 1: password: given beside password_file; remove one"},
    {"idle: 5\n" SPACE, ": line 1: idle: '5' is not a time; give one such as 500ms, 2s or 10m"},
    {"clients: many\n" SPACE, ": line 1: clients: 'many' is not a number; give one"},
    {"clients: 0\n" SPACE, ": line 1: clients: '0' is not between 1 and 1000000; give a value between them"},
    {"command_max: 1TiB\n" SPACE,
     ": line 1: command_max: '1TiB' is not between 1KiB and 512MiB; give a value between them"},
    {"command_max: 1 MB\n" SPACE, ": line 1: command_max: '1 MB' is not a size; give one such as 64MiB"},
    {"redis: localhost:6379\n" SPACE,
     ": line 1: redis: not a URI of a server; give redis://HOST:PORT, or rediss:// for TLS"},
    {"redis: redis://localhost/cache\n" SPACE,
     ": line 1: redis: not a URI of a server; give redis://HOST:PORT, or rediss:// for TLS"},
    {SPACE "---\n" SPACE, ": line 3: a second document begins; remove the line ---"},
    {SPACE "---\n\t[\n", ": line 4: not YAML: found character that cannot start any token; correct it"},
    {"filters: {max: 5}\n", ": line 1: filters: needs directory; add it"},
    {"filters: {directory: a, fpr: 0.5}\n",
     ": line 1: fpr: '0.5' is not between 1e-12 and 0.25; give a value between them"},
    {"filters: {directory: a, memory: 1KiB}\n",
     ": line 1: memory: '1KiB' is not between 1MiB and 1024TiB; give a value between them"},
    {"tls: {cert: a}\n" SPACE, ": line 1: tls: needs key; add it"},
    {"database: {sqlite: a, postgres: b}\n" SPACE,
     ": line 1: database: needs either sqlite or postgres; give one of the two"},
    {"keyspaces: []\n", ": line 1: keyspaces: expected a list; begin each keyspace with '- keys: PATTERN'"},
    {"keyspaces:\n  - keys: 'a*'\n", ": line 2: keyspace: needs row; add it"},
    {"keyspaces:\n  - keys: 'a*'\n    row: S\n",
     ": line 1: keyspace 'a*' has no database; add one to the keyspace, or to the file"},
    {"keyspaces:\n  - keys: 'a*b'\n    row: S\n",
     ": line 2: keys: 'a*b' has * before its end; end the pattern with the only *"},
    {"keyspaces:\n  - keys: 'a{*'\n    row: S\n",
     ": line 2: prefix: 'tamis:a{' has braces; give a prefix without them"},
    {"database: {sqlite: memory}\nkeyspaces:\n  - {keys: 'a*', row: S}\n  - {keys: 'a*', row: T}\n",
     ": line 4: keys: a second keyspace has the pattern 'a*'; remove one"},
    {"keyspaces:\n  - {keys: 'a*', row: S, new_keys: N}\n",
     ": line 2: new_keys: needs all_keys, the keys of all rows; add it"},
    {"keyspaces:\n  - {keys: 'a*', row: S, notify: c}\n",
     ": line 2: notify: needs all_keys, which finds rows of times without a connection; add it"},
    {"database: {sqlite: memory}\nkeyspaces:\n  - {keys: 'a*', row: S, all_keys: A, notify: c}\n",
     ": line 3: notify: is for PostgreSQL; give new_keys for SQLite"},
    {"keyspaces:\n  - {keys: 'a*', row: S, rescan_at: 03:30}\n",
     ": line 2: rescan_at: needs all_keys, which runs then; add it"},
    {"keyspaces:\n  - {keys: 'a*', row: S, all_keys: A, rescan_at: 24:00}\n",
     ": line 2: rescan_at: '24:00' is not a time of day; give one such as 03:30"},
    {"keyspaces:\n  - {keys: 'a*', row: S, filter_file: f, keys_file: k}\n",
     ": line 2: keys_file: given beside filter_file; remove one"},
    {"keyspaces:\n  - {keys: 'a*', row: S, filter_file: f, all_keys: A}\n",
     ": line 2: filter_file: given beside all_keys, another source of keys; remove one"},
    {"keyspaces:\n  - {keys: 'a*', row: S, keys_file: f, new_keys: A}\n",
     ": line 2: keys_file: given beside new_keys, another source of keys; remove one"},
    {"keyspaces:\n  - {keys: 'a*', row: S, keys_file: f, secret_file: s}\n",
     ": line 2: secret_file: is that of filter_file or redis_filter; add one of them, or remove secret_file"},
    {"keyspaces:\n  - {keys: 'a*', row: S, filter_file: f, redis_filter: r}\n",
     ": line 2: redis_filter: given beside filter_file; remove one"},
    {"keyspaces:\n  - {keys: 'a*', row: S, redis_filter: r, all_keys: A}\n",
     ": line 2: redis_filter: given beside all_keys, another source of keys; remove one"},
    {"keyspaces:\n  - {keys: 'a*', row: S, redis_filter: r, notify: c}\n",
     ": line 2: notify: is for all_keys, and redis_filter is given; remove one"},
    {"database: {sqlite: memory}\nkeyspaces:\n  - {keys: 'a*', row: S, redis_filter: r}\n",
     ": line 3: redis_filter: needs redis, the server that has the filter; add redis"},
    {"keyspaces:\n  - {keys: 'a*', row: S, filter_file: f, secret_file: empty2}\n",
     ": line 2: secret_file: has 2 bytes; give a file of 16 to 4096 bytes"},
    {"keyspaces:\n  - {keys: 'a*', row: S, keep_news: 1d}\n",
     ": line 2: keep_news: is for filter_file and keys_file; remove it"},
    {"redis: redis://h\ndatabase: {sqlite: memory}\nkeyspaces:\n  - {keys: 'a*', row: S, filter_file: f}\n",
     ": line 4: keyspace 'a*' has a file and shares a Redis; add keep_news, longer than a file is in use, or "
     "puts: none if no client uses GUARD.ADD"},
    {"keyspaces:\n  - {keys: 'a*', row: S, cache: 1KiB}\n",
     ": line 2: cache: less than 64KiB; give more, or 0 for no cache"},
    {"keyspaces:\n  - {keys: 'a*', row: S, value: xml}\n",
     ": line 2: value: 'xml' is not known; give text or json"},
    /* Numbers and times. */
    {"idle: 60d\n" SPACE, ": line 1: idle: '60d' is not between 0ms and 49d; give a value between them"},
    {"idle: 1e999d\n" SPACE,
     ": line 1: idle: '1e999d' is not between 0ms and 49d; give a value between them"},
    {"clients: 1e999\n" SPACE,
     ": line 1: clients: '1e999' is not between 1 and 1000000; give a value between them"},
    {"clients: -5\n" SPACE,
     ": line 1: clients: '-5' is not between 1 and 1000000; give a value between them"},
    {"clients: ' 5'\n" SPACE, ": line 1: clients: ' 5' is not a number; give one"},
    {"clients: nan\n" SPACE, ": line 1: clients: 'nan' is not a number; give one"},
    {"clients: 1.5\n" SPACE, ": line 1: clients: '1.5' is not a number; give one"},
    {"command_max: 1e30\n" SPACE,
     ": line 1: command_max: '1e30' is not between 1KiB and 512MiB; give a value between them"},
    /* Scalars, tags, aliases and keys of YAML. */
    {"\npassword: ~\n" SPACE, ": line 2: password: has no value; give one, or leave password out"},
    {"password: null\n" SPACE, ": line 1: password: has no value; give one, or leave password out"},
    {"password: ''\n" SPACE, ": line 1: password: has no value; give one, or leave password out"},
    {"password: !env SECRET\n" SPACE, ": line 1: password: the tag !env is not supported; leave it out"},
    {"password: !!binary c2VjcmV0\n" SPACE,
     ": line 1: password: the tag tag:yaml.org,2002:binary is not supported; leave it out"},
    {"tls: !include x.yaml\n" SPACE, ": line 1: tls: the tag !include is not supported; leave it out"},
    {"base: &a {sqlite: memory}\n", ": line 1: unknown field 'base'; leave it out"},
    {"database: &a {sqlite: memory}\nkeyspaces:\n  - {keys: a, row: S, <<: *a}\n",
     ": line 3: unknown field '<<'; leave it out"},
    {"tls: &a {cert: *a}\n" SPACE,
     ": line 1: cert: expected one value, not a list or fields; give one value"},
    {"tls: {cert: *b}\n", ": line 1: not YAML: found undefined alias; correct it"},
    {"? [a]\n: 1\n", ": line 1: configuration: a field has no name; give fields as NAME: VALUE"},
    {"'': 1\n", ": line 1: configuration: a field has no name; give fields as NAME: VALUE"},
    {"~: 1\n", ": line 1: configuration: a field has no name; give fields as NAME: VALUE"},
    {"\"a\\nb\": 1\n", ": line 1: unknown field 'a?b'; leave it out"},
    {"keyspaces:\n  - {keys: \"a\\nb\", row: S}\n",
     ": line 2: keys: 'a?b' has a control character; leave it out"},
    {"keyspaces:\n\t- keys: a\n",
     ": line 2: not YAML: found character that cannot start any token; correct it"},
    {"keyspaces:\n  - a\n",
     ": line 2: keyspace: expected fields; give them as NAME: VALUE, each on its line"},
    {"listen: 127.0.0.1:1\npassword: gr\xfcn\n" SPACE,
     ": line 2: not a text in UTF-8: invalid leading UTF-8 octet; correct it"},
    {"listen: 127.0.0.1:1\n\npassword: \x01\n" SPACE,
     ": line 3: not a text in UTF-8: control characters are not allowed; correct it"},
    {"# nothing\n", ": is empty; begin with keyspaces:"},
    {"--- \n...\n", ": line 2: configuration: expected fields; give them as NAME: VALUE, each on its line"},
    /* What fields require of each other. */
    {"listen: 127.example.com:1\n" SPACE,
     ": line 1: listen: other machines reach 127.example.com:1 and need no password; add "
     "password_file, or listen at 127.0.0.1"},
    {"redis: redis://h\ndatabase: {sqlite: memory}\nkeyspaces:\n  - {keys: 'a:*', row: S, prefix: p}\n"
     "  - {keys: 'b:*', row: T, prefix: p}\n",
     ": line 1: prefix: keyspaces 'a:*' and 'b:*' have the same in Redis, 'p'; give one of them another "
     "prefix"},
    {"redis: redis://h\ndatabase: {sqlite: memory}\nkeyspaces:\n  - {keys: c, row: S}\n"
     "  - {keys: 'c*', row: T}\n",
     ": line 1: prefix: keyspaces 'c' and 'c*' have the same in Redis, 'tamis:c'; give one of them another "
     "prefix"},
};

static void test_mistakes_have_line_and_remedy(void **state) {
    (void)state;
    write_file("empty2", "x\n");
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        server_config *config = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        assert_int_equal(read_text(&config, mistakes[i].text, &err), TAMIS_E_INVALID);
        assert_null(config);
        assert_memory_equal(err.text, path, strlen(path));
        assert_string_equal(err.text + strlen(path), mistakes[i].error);
    }
}

static void test_missing_files(void **state) {
    (void)state;
    server_config *config = NULL;
    tamis_error err = TAMIS_ERROR_INIT;

    assert_int_equal(tamis__server_config_read(&config, "/nowhere/x", NULL, &err), TAMIS_E_IO);
    assert_string_equal(err.text, "/nowhere/x: No such file or directory; give a file that can be read");
    assert_int_equal(read_text(&config, "password_file: nofile\n" SPACE, &err), TAMIS_E_IO);
    assert_non_null(strstr(err.text, ": line 1: password_file: "));
    assert_non_null(strstr(err.text, "/nofile: No such file or directory; give a file that can be read"));
    write_file("empty", "\n");
    assert_int_equal(read_text(&config, "password_file: empty\n" SPACE, &err), TAMIS_E_INVALID);
    assert_int_equal(read_text(&config, "password_file: .\n" SPACE, NULL), TAMIS_E_IO);
    assert_int_equal(tamis__server_config_read(&config, directory, NULL, &err), TAMIS_E_IO);
    assert_non_null(strstr(err.text, ": Is a directory; give a file that can be read"));
    file_write(scratch("zero"), "CREATE TABLE t(a);\0INSERT", 25);
    assert_int_equal(read_text(&config, "database: {sqlite: memory, init: zero}\n" SPACE, &err),
                     TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "/zero has a byte 0; give a text in UTF-8"));
    assert_int_equal(read_text(&config, "password_file: /dev/zero\n" SPACE, &err), TAMIS_E_IO);
    assert_non_null(strstr(err.text, ": line 1: password_file: /dev/zero: File too large; give a file that"));
    assert_null(config);
}

static void test_times_and_sizes(void **state) {
    (void)state;
    double ms, bytes;

    assert_true(tamis__config_parse_time("500ms", &ms) && (uint32_t)ms == 500);
    assert_true(tamis__config_parse_time("1.5s", &ms) && (uint32_t)ms == 1500);
    assert_true(tamis__config_parse_time("7d", &ms) && (uint32_t)ms == 604800000);
    assert_true(tamis__config_parse_time("1e999d", &ms) && isinf(ms));
    assert_false(tamis__config_parse_time("", &ms));
    assert_false(tamis__config_parse_time("1.5ms", &ms));
    assert_false(tamis__config_parse_time("-1s", &ms));
    assert_false(tamis__config_parse_time("1", &ms));
    assert_true(tamis__config_parse_size("64MiB", &bytes) && (uint64_t)bytes == 64 << 20);
    assert_true(tamis__config_parse_size("1.5KB", &bytes) && (uint64_t)bytes == 1500);
    assert_true(tamis__config_parse_size("7", &bytes) && (uint64_t)bytes == 7);
    assert_false(tamis__config_parse_size("7x", &bytes));
    assert_false(tamis__config_parse_size("inf", &bytes));
}

/* A file with a NUL, and one whose lists are nested a million times. */
static void test_files_that_no_editor_writes(void **state) {
    (void)state;
    enum { DEPTH = 1000000 };
    static const char with_nul[] = "listen: 127.0.0.1:1\n\0\n" SPACE;
    server_config *config = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    char *text = malloc(DEPTH);

    file_write(path, with_nul, sizeof with_nul - 1);
    assert_int_equal(tamis__server_config_read(&config, path, NULL, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text + strlen(path),
                        ": line 2: not a text in UTF-8: control characters are not allowed; correct it");
    memset(text, '[', DEPTH);
    file_write(path, text, DEPTH);
    assert_int_equal(tamis__server_config_read(&config, path, NULL, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text + strlen(path),
                        ": line 1: nested too deeply; take an example as the pattern");
    memset(text, '\n', DEPTH);
    for (size_t i = 0; i < 1000; i++) /* lists in lists */
        memset(text + i * 1000, ' ', i), text[i * 1000 + i] = '-';
    file_write(path, text, DEPTH);
    assert_int_equal(tamis__server_config_read(&config, path, NULL, &err), TAMIS_E_INVALID);
    assert_null(config);
    free(text);
}

/* null in quotes is a text. A file may be UTF-16. */
static void test_texts_of_yaml(void **state) {
    (void)state;
    static const char ascii[] = "password: 'null'\n" SPACE;
    char utf16[2 * sizeof ascii] = "\xff\xfe";
    server_config *config = NULL;

    assert_int_equal(read_text(&config, "\xef\xbb\xbfpassword: \"~\"\r\nclients: !!int 5\r\n" SPACE, NULL),
                     TAMIS_OK);
    assert_string_equal(config->password, "~");
    assert_int_equal(config->clients, 5);
    tamis__server_config_free(config);
    for (size_t i = 0; i + 1 < sizeof ascii; i++)
        utf16[2 + 2 * i] = ascii[i];
    file_write(path, utf16, sizeof utf16);
    assert_int_equal(tamis__server_config_read(&config, path, NULL, NULL), TAMIS_OK);
    assert_string_equal(config->password, "null");
    tamis__server_config_free(config);
    assert_int_equal(
        read_text(&config,
                  "database: &db {sqlite: memory}\nkeyspaces:\n  - {keys: a, row: S, database: *db}\n", NULL),
        TAMIS_OK);
    assert_string_equal(config->keyspaces[0].database.sqlite, ":memory:");
    tamis__server_config_free(config);
}

/* Every allocation is refused once. libyaml has its own memory. */
static void test_memory_may_be_short(void **state) {
    (void)state;
    fault_memory memory = {0};
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    server_config *config = NULL;
    tamis_status status;

    write_file("config.yaml", "listen: 127.0.0.1:1\n" SPACE);
    do {
        memory.fail_at++;
        memory.requests = 0;
        status = tamis__server_config_read(&config, path, &allocator, NULL);
        assert_true(status == TAMIS_OK || status == TAMIS_E_NOMEM);
        assert_true(status == TAMIS_OK || memory.live_blocks == 0);
    } while (status != TAMIS_OK);
    assert_true(memory.fail_at > 10);
    tamis__server_config_free(config);
    assert_int_equal(memory.live_blocks, 0);
}

static int set_up(void **state) {
    scratch_set_up(state);
    snprintf(path, sizeof path, "%s", scratch("config.yaml"));
    snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(path, '/') - path), path);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_fields),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_mistakes_have_line_and_remedy),
        cmocka_unit_test(test_missing_files),
        cmocka_unit_test(test_files_that_no_editor_writes),
        cmocka_unit_test(test_texts_of_yaml),
        cmocka_unit_test(test_times_and_sizes),
        cmocka_unit_test(test_memory_may_be_short),
    };

    return cmocka_run_group_tests(tests, set_up, scratch_tear_down);
}
