/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_BITMAP_BITMAP_QUERY_H
#define TAMIS_STORE_REDIS_BITMAP_BITMAP_QUERY_H

#include <tamis/experimental/redis_bitmap.h>

#include "store/redis/request/redis_requests.h"

/* Handle of a plain bitmap. */
struct tamis_redis_bitmap {
    tamis_allocator allocator;
    tamis_redis *redis;
    bool owns_redis;
    const tamis__redis_uri *uri; /* URI with the name of the Redis key: &redis->uri or &named */
    tamis__redis_uri named;      /* parsed name; empty if owns_redis */
};

/* Returns the slot of the bitmap's Redis key. */
uint32_t tamis__bitmap_slot(const tamis_redis_bitmap *bitmap);
/* Returns TAMIS_E_IO with the message for a reply that this command cannot have. */
tamis_status tamis__bitmap_bad_reply(const tamis_redis_bitmap *bitmap, tamis_error *err);

/* A read-only command: its name, the Redis key, then numbers. */
typedef struct tamis__bitmap_query {
    const char *command;
    int64_t numbers[3];
    size_t count;
    uint8_t *bytes; /* buffer for a string reply; NULL: the reply is an integer */
    size_t buffer_size;
    size_t size;     /* size of the string reply */
    int64_t integer; /* integer reply */
} tamis__bitmap_query;

/* Runs queries in one pipeline. They are not carried out at one instant, so other clients may write in
 * between. */
tamis_status tamis__bitmap_run_queries(const tamis_redis_bitmap *bitmap, tamis__bitmap_query *queries,
                                       size_t count, tamis_error *err);

#endif
