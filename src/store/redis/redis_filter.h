/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REDIS_FILTER_H
#define TAMIS_STORE_REDIS_REDIS_FILTER_H

#include "filter/filter_int.h"
#include "store/redis/redis_int.h"

/*
 * A layout says which bits of which Redis keys an element has. All else is the same for every layout: elements are
 * commands in a pipeline, an add is one BITFIELD of SETs for each Redis key that the element's bits are in, whose
 * answers are the old bits, all at one instant.
 */
typedef struct tamis__bit {
    uint32_t key;    /* number of the Redis key */
    uint64_t offset; /* in it, as SETBIT counts: bit i is 0x80 >> (i & 7) of byte i >> 3 */
} tamis__bit;

typedef struct tamis__redis_filter tamis__redis_filter;

typedef struct tamis__layout {
    const char *name;
    /* Reads the layout's parameters and fills plan and hasher's scheme; the filter is zeroed but for uri and redis. */
    tamis_status (*configure)(tamis__redis_filter *filter, tamis_plan *plan, tamis_error *err);
    /* The name of a Redis key: at most TAMIS__REDIS_KEY bytes into `to`. */
    size_t (*key_name)(const tamis__redis_filter *filter, uint32_t key, char *to);
} tamis__layout;

enum { TAMIS__REDIS_NAME = 512, TAMIS__REDIS_KEY = TAMIS__REDIS_NAME + 64 };

struct tamis__redis_filter {
    tamis_redis *redis;
    const tamis__layout *layout;
    tamis__redis_uri uri; /* the name and its parameters */
    uint32_t keys;        /* Redis keys that hold bits */
    uint64_t ttl_ms;      /* 0: none */
    bool renewed;         /* by each add */
};

extern const tamis__layout tamis__layout_java;

#endif
