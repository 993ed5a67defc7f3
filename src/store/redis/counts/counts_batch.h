/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_COUNTS_COUNTS_BATCH_H
#define TAMIS_STORE_REDIS_COUNTS_COUNTS_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>

#include "base/failure.h"

/* The increments of a batch: a hash table of counter names. */
typedef struct counts_entry {
    uint64_t hash;
    uint64_t count;
    size_t name; /* where the name begins in `names` */
    uint32_t size;
    uint32_t slot;
} counts_entry;

typedef struct counts_batch {
    counts_entry *entries; /* in the order in which they came, until they are sorted */
    size_t count, capacity;
    uint32_t *table; /* index of an entry + 1, or 0; open addressing */
    size_t table_size;
    char *names;
    size_t name_bytes, name_capacity;
} counts_batch;

/* Adds `count` to the counter `name`. */
tamis_status tamis__counts_batch_add(counts_batch *batch, const tamis_allocator *allocator, tamis_key name,
                                     uint32_t slot, uint64_t count, tamis_error *err);
/* Sorts the entries by slot. Nothing may be added from then on until the batch is cleared. */
void tamis__counts_batch_sort(counts_batch *batch);
void tamis__counts_batch_clear(counts_batch *batch);
void tamis__counts_batch_release(counts_batch *batch, const tamis_allocator *allocator);

#endif
