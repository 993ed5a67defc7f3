/* SPDX-License-Identifier: BSD-2-Clause */
#include "service/guard/guard_sql.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/memory.h"
#include "base/versioned.h"

/* ---- options ---- */

static tamis_status check_options(const tamis_guard_sql *options, tamis_error *err) {
    TAMIS__NEED(options->database, err);
    TAMIS__NEED(options->row, err);
    if (options->new_keys && !options->keys)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "new_keys: needs `keys`, the query for the keys of all rows; give both, or none");
    if (options->channel && !options->keys)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "channel: needs `keys`, the query for the keys of all rows; give both, or none");
    if (!(options->overlap >= 0 && isfinite(options->overlap)))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "overlap: %g; expected the length of the longest transaction, at least 0",
                           options->overlap);
    return TAMIS_OK;
}

/* Moves the strings of the options into memory of their own. */
static tamis_status copy_strings(guard_sql *sql, tamis_error *err) {
    const char **strings[] = {&sql->options.database, &sql->options.row,  &sql->options.keys,
                              &sql->options.new_keys, &sql->options.init, &sql->options.channel};
    const size_t count = sizeof strings / sizeof *strings;

    for (size_t i = 0; i < count; i++)
        sql->text_size += *strings[i] ? strlen(*strings[i]) + 1 : 0;
    sql->text = tamis__alloc(&sql->allocator, sql->text_size, 1);
    if (!sql->text)
        return tamis__fail_nomem(err, "SQL of a source", sql->text_size);
    char *to = sql->text;
    for (size_t i = 0; i < count; i++) {
        if (!*strings[i])
            continue;
        const size_t size = strlen(*strings[i]) + 1;
        *strings[i] = memcpy(to, *strings[i], size);
        to += size;
    }
    return TAMIS_OK;
}

tamis_status tamis__guard_sql_create(void **context, size_t size, const tamis_guard_source *source,
                                     const tamis_guard_sql *options, tamis_error *err) {
    guard_sql head = {
        .size = size, .allocator = tamis__allocator_resolve(NULL), .options = TAMIS_GUARD_SQL_INIT};
    tamis_status status = tamis__check_struct(source, "TAMIS_GUARD_SOURCE_INIT", err);

    if (status == TAMIS_OK)
        status = tamis__read_struct(&head.options, sizeof head.options, options, "TAMIS_GUARD_SQL_INIT", err);
    if (status == TAMIS_OK)
        status = check_options(&head.options, err);
    if (status != TAMIS_OK)
        return status;
    guard_sql *made = tamis__alloc(&head.allocator, size, _Alignof(max_align_t));
    if (!made)
        return tamis__fail_nomem(err, "source of a database", size);
    *made = head;
    status = copy_strings(made, err);
    if (status != TAMIS_OK) {
        tamis__free(&head.allocator, made, size);
        return status;
    }
    *context = made;
    return TAMIS_OK;
}

void tamis__guard_sql_free(void *context) {
    guard_sql *sql = context;
    const tamis_allocator allocator = sql->allocator;

    tamis__free(&allocator, sql->text, sql->text_size);
    tamis__free(&allocator, sql, sql->size);
}

void tamis__guard_sql_fill(tamis_guard_source *source, void *context, void (*free_context)(void *context),
                           const tamis_guard_source *functions) {
    guard_sql *sql = context;
    tamis_guard_source filled = *functions;

    sql->free_context = free_context;
    filled.struct_size = sizeof filled;
    filled.context = context;
    if (!sql->options.keys)
        filled.scan = NULL;
    if (!sql->options.new_keys)
        filled.scan_new = NULL;
    if (!sql->options.channel)
        filled.listen = NULL;
    tamis__write_struct(source, &filled, sizeof filled);
}

void tamis_guard_source_free(tamis_guard_source *source) {
    if (!source || !source->context)
        return;
    const guard_sql *sql = source->context;

    sql->free_context(source->context);
    *source = (tamis_guard_source)TAMIS_GUARD_SOURCE_INIT;
}

char *tamis__guard_sql_wrap(const char *before, const char *query, const char *after) {
    const size_t before_size = strlen(before), after_size = strlen(after);
    size_t size = strlen(query);

    while (size && strchr(" \t\r\n;", query[size - 1]))
        size--;
    char *text = malloc(before_size + size + after_size + 3);
    if (!text)
        return NULL;
    char *to = text;
    memcpy(to, before, before_size);
    to += before_size;
    *to++ = '\n';
    memcpy(to, query, size);
    to += size;
    *to++ = '\n'; /* ends a comment */
    memcpy(to, after, after_size + 1);
    return text;
}

/* ---- keys of a scan ---- */

enum { BATCH_KEYS = 256 };

struct guard_key_batch {
    tamis_allocator allocator;
    tamis_guard_scan *scan;
    size_t count;
    size_t used; /* of `bytes` */
    tamis_key keys[BATCH_KEYS];
    unsigned char bytes[TAMIS_GUARD_KEY_MAX];
};

tamis_status tamis__guard_key_batch_create(guard_key_batch **batch, tamis_guard_scan *scan,
                                           tamis_error *err) {
    const tamis_allocator allocator = tamis__allocator_resolve(NULL);
    guard_key_batch *made = tamis__alloc(&allocator, sizeof *made, _Alignof(guard_key_batch));

    if (!made)
        return tamis__fail_nomem(err, "keys of a scan", sizeof *made);
    made->allocator = allocator;
    made->scan = scan;
    *batch = made;
    return TAMIS_OK;
}

void tamis__guard_key_batch_free(guard_key_batch *batch) {
    if (!batch)
        return;
    const tamis_allocator allocator = batch->allocator;
    tamis__free(&allocator, batch, sizeof *batch);
}

tamis_status tamis__guard_key_batch_flush(guard_key_batch *batch, tamis_error *err) {
    const size_t count = batch->count;

    batch->count = batch->used = 0;
    return tamis_guard_scan_add(batch->scan, batch->keys, count, err);
}

tamis_status tamis__guard_key_batch_add(guard_key_batch *batch, const void *data, size_t size,
                                        tamis_error *err) {
    if (size == 0 || size > TAMIS_GUARD_KEY_MAX)
        return TAMIS_OK;
    if (batch->count == BATCH_KEYS || size > sizeof batch->bytes - batch->used) {
        const tamis_status flushed = tamis__guard_key_batch_flush(batch, err);
        if (flushed != TAMIS_OK)
            return flushed;
    }
    unsigned char *to = batch->bytes + batch->used;
    memcpy(to, data, size);
    batch->keys[batch->count++] = (tamis_key){to, size};
    batch->used += size;
    return TAMIS_OK;
}
