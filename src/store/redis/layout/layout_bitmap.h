/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_LAYOUT_LAYOUT_BITMAP_H
#define TAMIS_STORE_REDIS_LAYOUT_LAYOUT_BITMAP_H

#include "store/redis/filter/redis_filter.h"

/* Layouts of other programs: java, redisson, php1, php2 and php3. Their Redis keys with bits are bitmaps
 * without footers. */

/* State of such a layout. */
typedef struct tamis__bitmap_state {
    bool is_measured; /* the length of the Redis keys was checked: tamis__redis_check_length */
} tamis__bitmap_state;

/* State of layout php3, which divides a filter over Redis keys: see layout_php.c. */
typedef struct tamis__php3_state {
    tamis__bitmap_state bitmap; /* first member */
    uint64_t share;             /* bits on each server */
    uint64_t key_bits;          /* bits of each Redis key */
} tamis__php3_state;

static inline tamis__php3_state *tamis__php3_of(const tamis__redis_filter *rf) {
    return rf->state;
}

/* bytes_in of a layout that keeps the bits of a filter in one Redis key, in the order of memory. */
static inline uint64_t tamis__redis_bytes_in(const tamis_filter *filter, uint32_t key) {
    (void)key;
    return filter->plan.memory;
}
/* locate of a layout with one Redis key: positions by the scheme, below plan.bits. */
void tamis__redis_locate(const tamis_filter *filter, const tamis__key_batch *key_batch, size_t i,
                         tamis__element_positions *positions);
/* How the bits of a filter are spread: as `filters` equal filters of `bits` bits each, over Redis keys of
 * up to `key_bits` bits. */
typedef struct tamis__bit_spread {
    double filters, bits;
    uint64_t key_bits;
} tamis__bit_spread;

/* Estimates a filter from the bits that are set in all Redis keys. */
tamis_status tamis__redis_estimate(const tamis_filter *filter, const tamis__bit_spread *spread,
                                   tamis_filter_info *info, tamis_error *err);
/* refresh of a layout, done once. TAMIS_E_MISMATCH: a Redis key is longer than the bits of the plan. It
 * was made with other parameters, and lookups would answer wrongly that keys are absent. */
tamis_status tamis__redis_check_length(const tamis_filter *filter, tamis_error *err);
/* clear of a layout that has no Redis keys but those with bits. */
tamis_status tamis__redis_delete_all(tamis_filter *filter, tamis_error *err);

/* Reads the config hash of a filter of layout redisson: the command, and the plan from its reply.
 * *is_there is false if the hash is missing. TAMIS_E_DAMAGED: it is not a config of Redisson. */
void tamis__redisson_put_query(tamis__connection *conn, const char *name, size_t size);
tamis_status tamis__redisson_read_plan(const tamis__redis_filter *rf, const tamis__reply *reply,
                                       tamis_plan *plan, bool *is_there, tamis_error *err);

#endif
