/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_COUNTS_COUNTS_INT_H
#define TAMIS_STORE_REDIS_COUNTS_COUNTS_INT_H

#include "store/redis/counts/redis_counts.h"
#include "store/redis/request/redis_requests.h"

/* ---- counts_batch.c ---- */

/* What a batch adds to a number, or an element that it adds to a HyperLogLog. */
typedef struct counts_entry {
    uint64_t hash;      /* of name and element */
    uint64_t name_hash; /* of the name alone */
    int64_t count;
    uint64_t expires; /* as in tamis__contribution */
    size_t name;      /* where the name begins in `bytes`; the element is behind it */
    uint32_t size;    /* of the name */
    uint32_t element_size;
    uint32_t slot;
    bool is_element;
} counts_entry;

typedef struct counts_batch {
    counts_entry *entries; /* in the order in which they came, until they are sorted */
    size_t count, capacity;
    uint32_t *table; /* index of an entry + 1, or 0; open addressing */
    size_t table_size;
    char *bytes; /* names and elements */
    size_t byte_count, byte_capacity;
} counts_batch;

/* Adds a contribution to a counter in `slot`. */
tamis_status tamis__counts_batch_add(counts_batch *batch, const tamis_allocator *allocator,
                                     const tamis__contribution *added, uint32_t slot, tamis_error *err);
/* Sorts the entries by slot; those of a slot are numbers, then elements by the name of their counter. Nothing
 * may be added from then on until the batch is cleared. */
void tamis__counts_batch_sort(counts_batch *batch);
void tamis__counts_batch_clear(counts_batch *batch);
void tamis__counts_batch_release(counts_batch *batch, const tamis_allocator *allocator);

/* ---- redis_counts.c, counts_script.c ---- */

enum { COUNTS_KEY = 600 /* bytes of the name of a position key */ };

struct tamis__counts {
    tamis__counts_options options;
    tamis_allocator allocator;
    tamis_redis *redis;
    uint32_t *tags;   /* N of each slot's position key */
    uint64_t **known; /* positions of each slot; NULL: not read in this assignment */
    uint32_t home;    /* the slot with N = 0 */
    counts_batch batch;
};

/* Writes the name of the position key with this number to `key`. Returns its size. */
size_t tamis__counts_key(const tamis__counts *counts, uint32_t tag, char key[COUNTS_KEY]);
/* TAMIS_E_MISMATCH: the counters have another description. */
tamis_status tamis__counts_fail_template(const tamis__counts *counts, const tamis__reply *text,
                                         tamis_error *err);
/* tamis__requests.on_wait. `context` begins with a pointer to the counts. */
void tamis__counts_on_wait(void *context, const char *why);

#endif
