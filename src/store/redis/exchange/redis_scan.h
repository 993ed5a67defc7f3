/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_EXCHANGE_REDIS_SCAN_H
#define TAMIS_STORE_REDIS_EXCHANGE_REDIS_SCAN_H

#include "store/redis/topology/redis_int.h"

/* A selection of Redis keys, and the function that takes them. */
typedef struct tamis__scan {
    const char *pattern; /* glob pattern of SCAN MATCH */
    size_t size;
    const char *type; /* type of SCAN TYPE, such as "hash" */
    /* Takes a key. May be called more than once with the same key. */
    tamis_status (*add_key)(void *context, const char *key, size_t size, tamis_error *err);
    void *context;
} tamis__scan;

/* Scans every server, one after the other. May miss keys that are created, deleted or moved to another server
 * meanwhile. TAMIS_E_REFUSED: the user may not run SCAN. */
tamis_status tamis__redis_scan(tamis_redis *redis, const tamis__scan *scan, tamis_error *err);

/* Grows the array *block to hold `wanted` items of `size` bytes, and keeps the first `used` items. *capacity is its number of
 * items before and after. */
tamis_status tamis__scan_reserve(const tamis_redis *redis, void **block, size_t used, size_t wanted,
                                 size_t *capacity, size_t size, tamis_error *err);

#endif
