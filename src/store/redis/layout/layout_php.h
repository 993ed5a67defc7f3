/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_LAYOUT_LAYOUT_PHP_H
#define TAMIS_STORE_REDIS_LAYOUT_LAYOUT_PHP_H

#include "store/redis/filter/redis_filter.h"

/* State of layout php3, which divides a filter over Redis keys: see layout_php.c. */
typedef struct tamis__php3_state {
    uint64_t share;    /* bits on each server */
    uint64_t key_bits; /* bits of each Redis key */
} tamis__php3_state;

static inline tamis__php3_state *tamis__php3_of(const tamis__redis_filter *rf) {
    return rf->state;
}

#endif
