/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_SQL_H
#define TAMIS_SERVICE_GUARD_GUARD_SQL_H

#include <stdbool.h>
#include <stddef.h>

#include <tamis/alloc.h>
#include <tamis/experimental/guard.h>
#include <tamis/key.h>
#include <tamis/status.h>

/* What the sources of SQL databases share: their options, and keys on their way into a filter. */

/* First member of the context of each such source. */
typedef struct guard_sql {
    void (*free_context)(void *context);
    size_t size;               /* of the context */
    tamis_allocator allocator; /* the default */
    tamis_guard_sql options;   /* its strings are in `text` */
    char *text;
    size_t text_size;
} guard_sql;

/* Begins a source: checks both structs, and makes a context of `size` bytes with zeros behind its guard_sql. It
 * has a copy of the options. The caller owns *context until tamis__guard_sql_free. TAMIS_E_INVALID,
 * TAMIS_E_NOMEM. */
tamis_status tamis__guard_sql_create(void **context, size_t size, const tamis_guard_source *source,
                                     const tamis_guard_sql *options, tamis_error *err);
void tamis__guard_sql_free(void *context);
/* Completes a source: fills *source with the functions of *functions and the context. Without a query for
 * keys, there is no scan. */
void tamis__guard_sql_fill(tamis_guard_source *source, void *context, void (*free_context)(void *context),
                           const tamis_guard_source *functions);

/* Returns before + query + after in a string that the caller frees with free(), or NULL if memory is short.
 * The query gets lines of its own, and loses the semicolon at its end. */
char *tamis__guard_sql_wrap(const char *before, const char *query, const char *after);

/* Keys that are buffered for tamis_guard_scan_add. */
typedef struct guard_key_batch guard_key_batch;

/* The caller owns *batch until tamis__guard_key_batch_free. TAMIS_E_NOMEM. */
tamis_status tamis__guard_key_batch_create(guard_key_batch **batch, tamis_guard_scan *scan, tamis_error *err);
void tamis__guard_key_batch_free(guard_key_batch *batch);
/* Copies a key. Leaves out keys that no lookup can have: those without bytes, and those of more than
 * TAMIS_GUARD_KEY_MAX. Errors of tamis_guard_scan_add. */
tamis_status tamis__guard_key_batch_add(guard_key_batch *batch, const void *data, size_t size,
                                        tamis_error *err);
/* Passes on what is buffered. */
tamis_status tamis__guard_key_batch_flush(guard_key_batch *batch, tamis_error *err);

#endif
