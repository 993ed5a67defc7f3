/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_POSITIONS_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_POSITIONS_H

#include "store/redis/filter/redis_filter.h"

/* The parts of an element: part `number` is its bits in the Redis key that is the so many-th among those of its probes. */
typedef struct tamis__element_part {
    uint32_t key;
    uint32_t first; /* of the probes that come to it */
    uint32_t count;
} tamis__element_part;

/* Whether that probe comes to the Redis key, which is one of the element's. */
static inline bool tamis__element_is_in(const tamis_filter *filter, const tamis__element_positions *positions,
                                        uint32_t probe, uint32_t key) {
    return tamis__redis_of(filter)->parts == 1 || positions->keys[probe] == key;
}

/* False: it has no part of that number. */
bool tamis__element_find_part(const tamis_filter *filter, const tamis__element_positions *positions,
                              uint32_t number, tamis__element_part *part);

/* The probe's bit, of the element's block, which may be cut short: what is missing is not set. */
bool tamis__element_is_set(const tamis__element_positions *positions, uint32_t probe,
                           const tamis__reply *block);

#endif
