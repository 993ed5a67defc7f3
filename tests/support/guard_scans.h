/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_GUARD_SCANS_H
#define TAMIS_TEST_GUARD_SCANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/guard/guard_source.h"
#include "support/scratch.h"

/* Keys that a scan of a source returned, each with a line feed, and their number. Only the first 64 KiB are
 * kept. Initialise with zeros. */
typedef struct scan_result {
    test_bytes text;
    size_t count;
    tamis_status status; /* what the scan gets after `fail_at` keys */
    size_t fail_at;      /* 0: never */
    size_t peak_bytes;   /* of memory of the C library, while keys came */
} scan_result;

tamis_guard_scan scan_into(scan_result *result);
/* Runs scan or scan_new, which must succeed, and returns the keys, sorted and with a space in between.
 * Static storage. */
const char *scan_keys(const tamis_guard_source *source, void *session, bool is_new);

/* Returns the value of a row as a string, "(none)" without a row, or the name of the status. Static storage,
 * until the next call. */
const char *load_text(const tamis_guard_source *source, void *session, const char *key);
/* The same for any bytes and any time limit. */
const char *load_bytes(const tamis_guard_source *source, void *session, tamis_key key, uint32_t timeout_ms,
                       tamis_error *err);

/* ---- sources of SQL: what is true of each database ---- */

/* tamis_guard_sqlite_create, or tamis_guard_postgres_create. */
typedef tamis_status source_create(tamis_guard_source *source, const tamis_guard_sql *sql, tamis_error *err);

/* Fails unless `part` is in the text. */
void assert_contains(const char *text, const char *part);
/* Makes a source and returns a session, which must succeed. close_source frees both. */
void *open_source(source_create *create, tamis_guard_source *source, const tamis_guard_sql *sql);
void close_source(tamis_guard_source *source, void *session);
/* Makes a source, whose session must fail. */
void assert_open_fails(source_create *create, const tamis_guard_sql *sql, tamis_status status,
                       const char *message);
/* `status` is a name, as load_bytes returns it. */
void assert_load_fails(const tamis_guard_source *source, void *session, const char *key, uint32_t timeout_ms,
                       const char *status, const char *message);

/* A query with a mistake, and a part of its error. NULL: as in the table before `queries`. */
typedef struct wrong_query {
    const char *row, *keys, *new_keys, *init, *error;
} wrong_query;
/* Replaces queries of `right` by those of each line, which must be TAMIS_E_REFUSED. */
void assert_queries_refused(source_create *create, const tamis_guard_sql *right, const wrong_query *queries,
                            size_t count);
/* Keys on their way: a scan has `count` keys, and at most 3 MiB of memory at a time. One that fails ends, and the
 * session goes on. Returns the first keys, which the caller clears. */
test_bytes assert_scan_streams(const tamis_guard_source *source, void *session, size_t count);

#endif
