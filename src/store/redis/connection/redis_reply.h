/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_CONNECTION_REDIS_REPLY_H
#define TAMIS_STORE_REDIS_CONNECTION_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>

#include "base/failure.h"

/*
 * Replies of a server, read with hiredis' parser into memory that is used again for the next one: a pipeline of a
 * hundred thousand small replies takes no allocation.
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
    const struct tamis__reply *items; /* ARRAY: `size` of them */
} tamis__reply;

typedef struct tamis__replies tamis__replies;

/* NULL: out of memory. `allocator` outlives it. */
tamis__replies *tamis__replies_create(const tamis_allocator *allocator);
void tamis__replies_free(tamis__replies *replies);

/* Bytes that the server sent. */
tamis_status tamis__replies_feed(tamis__replies *replies, const char *bytes, size_t size, tamis_error *err);
/* Whether no byte is left of those that were fed. */
bool tamis__replies_is_drained(const tamis__replies *replies);
/* The next whole reply, valid until the next call; *reply is NULL where more bytes are needed. TAMIS_E_IO: what the
 * server sent is no reply. TAMIS_E_NOMEM. After a failure the replies are of no more use. */
tamis_status tamis__replies_next(tamis__replies *replies, const tamis__reply **reply, tamis_error *err);

#endif
