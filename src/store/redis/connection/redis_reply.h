/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_CONNECTION_REDIS_REPLY_H
#define TAMIS_STORE_REDIS_CONNECTION_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>

#include "base/failure.h"

/*
 * Replies of a server, parsed by hiredis into memory that the next reply reuses. So a pipeline of a
 * hundred thousand small replies needs no further allocation.
 */
typedef enum tamis__reply_type {
    TAMIS__REPLY_NIL,
    TAMIS__REPLY_INTEGER,
    TAMIS__REPLY_STRING,
    TAMIS__REPLY_STATUS,
    TAMIS__REPLY_ERROR,
    TAMIS__REPLY_ARRAY
} tamis__reply_type;

typedef struct tamis__reply {
    tamis__reply_type type;
    int64_t integer;
    const char *text; /* STRING, STATUS, ERROR: `size` bytes and a NUL */
    size_t size;
    const struct tamis__reply *items; /* ARRAY: `size` items */
} tamis__reply;

typedef struct tamis__replies tamis__replies;

/* Returns NULL if out of memory. `allocator` is copied; its context outlives the replies. */
tamis__replies *tamis__replies_create(const tamis_allocator *allocator);
void tamis__replies_free(tamis__replies *replies);

/* Passes bytes that the server sent to the parser. */
tamis_status tamis__replies_feed(tamis__replies *replies, const char *bytes, size_t size, tamis_error *err);
/* True if every byte that was fed belongs to a reply that was returned. */
bool tamis__replies_is_drained(const tamis__replies *replies);
/* Returns the next whole reply, valid until the next call. *reply is NULL if more bytes are needed.
 * TAMIS_E_IO: the bytes are not a Redis reply. TAMIS_E_NOMEM. After a failure, only free the replies. */
tamis_status tamis__replies_next(tamis__replies *replies, const tamis__reply **reply, tamis_error *err);

#endif
