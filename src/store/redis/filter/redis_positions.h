/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_POSITIONS_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_POSITIONS_H

#include "store/redis/filter/redis_filter.h"

/* A part of an element: its bits in one Redis key. The probes of an element may fall into several Redis keys; parts are
 * numbered from 0, in the order in which the probes first reach their keys. */
typedef struct tamis__element_part {
    uint32_t key;   /* the Redis key */
    uint32_t first; /* first probe in that key */
    uint32_t count; /* number of probes in that key */
} tamis__element_part;

/* True if the probe falls into `key`, one of the element's Redis keys. */
static inline bool tamis__element_is_in(const tamis_filter *filter, const tamis__element_positions *positions,
                                        uint32_t probe, uint32_t key) {
    return tamis__redis_of(filter)->parts == 1 || positions->keys[probe] == key;
}

/* Finds part `number`; false if the element has fewer parts. */
bool tamis__element_find_part(const tamis_filter *filter, const tamis__element_positions *positions,
                              uint32_t number, tamis__element_part *part);

/* The bit of a probe, read from the element's block. Bits past the end of a short block are not set. */
bool tamis__element_is_set(const tamis__element_positions *positions, uint32_t probe,
                           const tamis__reply *block);

#endif
