/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_EXCHANGE_REDIS_SCAN_H
#define TAMIS_STORE_REDIS_EXCHANGE_REDIS_SCAN_H

#include "store/redis/topology/redis_int.h"

/* Which Redis keys. */
typedef struct tamis__scan {
    const char *pattern; /* a glob of the server's */
    size_t size;
    const char *type; /* "hash" */
    /* Takes a key, perhaps more than once. */
    tamis_status (*add_key)(void *context, const char *key, size_t size, tamis_error *err);
    void *context;
} tamis__scan;

/* SCAN of every server, one after the other. Keys that come, go or change their server meanwhile may be missed.
 * TAMIS_E_REFUSED: it is not let. */
tamis_status tamis__redis_scan(tamis_redis *redis, const tamis__scan *scan, tamis_error *err);

/* Grows *block, of *room items of which `used` are kept, to hold `wanted` items of `size` bytes each. */
tamis_status tamis__scan_reserve(const tamis_redis *redis, void **block, size_t used, size_t wanted,
                                 size_t *capacity, size_t size, tamis_error *err);

#endif
