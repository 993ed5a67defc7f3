/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_SPLIT_SPLIT_INT_H
#define TAMIS_STREAM_SPLIT_SPLIT_INT_H

#include "stream/split/split.h"

typedef struct tamis__cutting {
    const unsigned char *start; /* start of the current record */
    tamis_key *records;
    size_t count, capacity;
    uint64_t max_record;
} tamis__cutting;

/* Adds the record that ends at `hit`. False if cutting stops: the record is too long, or `records` is
 * full. */
static inline bool tamis__cut(tamis__cutting *c, const unsigned char *hit) {
    size_t size = (size_t)(hit - c->start);
    if (size > c->max_record)
        return false;
    c->records[c->count++] = (tamis_key){c->start, size};
    c->start = hit + 1;
    return c->count < c->capacity;
}

/* Adds the records that end at `from` + ends[i]. False if cutting stops. */
bool tamis__cut_all(tamis__cutting *c, const unsigned char *from, const uint32_t *ends, size_t count);

#endif
