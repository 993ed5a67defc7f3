/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_BITMAP_BITMAP_QUERY_H
#define TAMIS_STORE_REDIS_BITMAP_BITMAP_QUERY_H

#include <tamis/redis_bitmap.h>

#include "store/redis/topology/redis_int.h"

/* Plain bitmaps from within. */
struct tamis_redis_bitmap {
    tamis_allocator allocator;
    tamis_redis *redis;
    bool owns_redis;
    const tamis__redis_uri *uri; /* the key's name: of the server, or */
    tamis__redis_uri named;      /* its own */
};

/* The slot of its key. */
uint32_t tamis__bitmap_slot(const tamis_redis_bitmap *bitmap);
/* TAMIS_E_IO: a reply that a Redis does not give to what was asked. */
tamis_status tamis__bitmap_bad_reply(const tamis_redis_bitmap *bitmap, tamis_error *err);

/* A command that changes nothing: its name, the key, some numbers. */
typedef struct tamis__bitmap_query {
    const char *command;
    int64_t numbers[3];
    size_t count;
    uint8_t *bytes; /* where the answer is a string: `buffer_size` bytes for it; else NULL */
    size_t buffer_size;
    size_t size;     /* of the string, after it was asked, */
    int64_t integer; /* or the number */
} tamis__bitmap_query;

/* In one pipeline, which is not one instant. */
tamis_status tamis__bitmap_run_queries(const tamis_redis_bitmap *bitmap, tamis__bitmap_query *queries,
                                       size_t count, tamis_error *err);

#endif
