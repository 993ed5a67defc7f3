/* SPDX-License-Identifier: BSD-2-Clause */
#include "guard_scans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 64 << 10 };

static tamis_status add(void *context, const tamis_key *keys, size_t count, tamis_error *err) {
    scan_result *result = context;
    const struct mallinfo2 memory = mallinfo2();
    (void)err;
    if (memory.uordblks + memory.hblkhd > result->peak_bytes)
        result->peak_bytes = memory.uordblks + memory.hblkhd;
    for (size_t i = 0; i < count; i++) {
        if (result->fail_at && result->count >= result->fail_at)
            return result->status;
        result->count++;
        if (result->text.size + keys[i].size > KEPT)
            continue;
        bytes_add(&result->text, keys[i].data, keys[i].size);
        bytes_add(&result->text, "\n", 1);
    }
    return TAMIS_OK;
}

tamis_guard_scan scan_into(scan_result *result) {
    return (tamis_guard_scan){add, result};
}

static int compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

const char *scan_keys(const tamis_guard_source *source, void *session, bool is_new) {
    static char text[KEPT];
    char *keys[1024];
    size_t count = 0;
    scan_result result = {0};
    tamis_guard_scan scan = scan_into(&result);
    tamis_error err = TAMIS_ERROR_INIT;
    const tamis_status status = (is_new ? source->scan_new : source->scan)(session, &scan, &err);

    if (status != TAMIS_OK) {
        fprintf(stderr, "scan: %s\n", err.text);
        abort();
    }
    bytes_add(&result.text, "", 1);
    char *next = NULL;
    for (char *key = strtok_r((char *)result.text.data, "\n", &next); key && count < 1024;
         key = strtok_r(NULL, "\n", &next))
        keys[count++] = key;
    qsort(keys, count, sizeof *keys, compare);
    text[0] = 0;
    for (size_t i = 0, used = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, i ? " %s" : "%s", keys[i]);
    bytes_clear(&result.text);
    return text;
}

const char *load_bytes(const tamis_guard_source *source, void *session, tamis_key key, uint32_t timeout_ms,
                       tamis_error *err) {
    static char text[KEPT];
    tamis_guard_row row = {0};
    const tamis_status status = source->load(session, key, timeout_ms, &row, err);

    if (status != TAMIS_OK) {
        tamis__guard_blob_release(row.blob);
        return tamis_status_name(status);
    }
    if (!row.blob)
        return "(none)";
    const tamis_key value = tamis__guard_blob_bytes(row.blob);
    const size_t size = value.size < sizeof text ? value.size : sizeof text - 1;
    memcpy(text, value.data, size);
    text[size] = 0;
    tamis__guard_blob_release(row.blob);
    return text;
}

const char *load_text(const tamis_guard_source *source, void *session, const char *key) {
    return load_bytes(source, session, (tamis_key){key, strlen(key)}, 10000, NULL);
}

/* ---- sources of SQL ---- */

void assert_contains(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

void *open_source(source_create *create, tamis_guard_source *source, const tamis_guard_sql *sql) {
    void *session = NULL;
    tamis_error err = TAMIS_ERROR_INIT;

    *source = (tamis_guard_source)TAMIS_GUARD_SOURCE_INIT;
    if (create(source, sql, &err) != TAMIS_OK ||
        source->connect(source->context, 10000, &session, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return session;
}

void close_source(tamis_guard_source *source, void *session) {
    source->disconnect(session);
    tamis_guard_source_free(source);
    tamis_guard_source_free(source);
}

void assert_open_fails(source_create *create, const tamis_guard_sql *sql, tamis_status status,
                       const char *message) {
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    void *session = NULL;
    tamis_error err = TAMIS_ERROR_INIT;

    assert_int_equal(create(&source, sql, &err), TAMIS_OK);
    const tamis_status got = source.connect(source.context, 10000, &session, &err);
    assert_contains(err.text, message);
    assert_int_equal(got, status);
    assert_null(session);
    tamis_guard_source_free(&source);
}

void assert_load_fails(const tamis_guard_source *source, void *session, const char *key, uint32_t timeout_ms,
                       const char *status, const char *message) {
    tamis_error err = TAMIS_ERROR_INIT;
    const char *got = load_bytes(source, session, (tamis_key){key, strlen(key)}, timeout_ms, &err);

    assert_string_equal(got, status);
    assert_contains(err.text, message);
}

void assert_queries_refused(source_create *create, const tamis_guard_sql *right, const wrong_query *queries,
                            size_t count) {
    for (size_t i = 0; i < count; i++) {
        tamis_guard_sql sql = *right;
        sql.row = queries[i].row ? queries[i].row : right->row;
        sql.keys = queries[i].keys ? queries[i].keys : right->keys;
        sql.new_keys = queries[i].new_keys ? queries[i].new_keys : right->new_keys;
        sql.init = queries[i].init ? queries[i].init : right->init;
        assert_open_fails(create, &sql, TAMIS_E_REFUSED, queries[i].error);
    }
}

test_bytes assert_scan_streams(const tamis_guard_source *source, void *session, size_t count) {
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    scan_result result = {0}, failed = {.fail_at = 1000, .status = TAMIS_E_FULL}, again = {0};
    tamis_guard_scan scan = scan_into(&result), fails = scan_into(&failed), repeats = scan_into(&again);

    assert_int_equal(source->scan(session, &scan, NULL), TAMIS_OK);
    assert_int_equal(result.count, count);
    assert_true(result.peak_bytes < before + (3 << 20));
    assert_int_equal(source->scan(session, &fails, NULL), TAMIS_E_FULL);
    assert_int_equal(failed.count, 1000);
    assert_int_equal(source->scan(session, &repeats, NULL), TAMIS_OK);
    assert_int_equal(again.count, count);
    bytes_clear(&failed.text);
    bytes_clear(&again.text);
    return result.text;
}
