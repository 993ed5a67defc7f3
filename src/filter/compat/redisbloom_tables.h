/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_REDISBLOOM_TABLES_H
#define TAMIS_FILTER_REDISBLOOM_TABLES_H

/* The tables of RedisBloom's cuckoo filter, for the files that put keys into them and that make the filter
 * from bytes. redisbloom_cuckoo.c has the picture. */
#include <tamis/compat/redisbloom_cuckoo.h>

#include "base/memory.h"

enum {
    TAMIS__RBC_TABLES_MAX = 65536,
    TAMIS__RBC_BUCKET_MAX = 255,
    TAMIS__RBC_ITERATIONS_MAX = 65535,
    TAMIS__RBC_EXPANSION_MAX = 32768
};

typedef struct tamis__rbc_table {
    uint64_t buckets; /* a power of two */
    uint8_t *slots;   /* bucket after bucket; 0: free; NULL: nothing is loaded yet */
} tamis__rbc_table;

struct tamis_redisbloom_cuckoo {
    tamis_allocator allocator;
    uint64_t keys;    /* fingerprints that are stored */
    uint64_t removed; /* removals since the last compaction */
    uint64_t buckets; /* of the first table, a power of two */
    uint32_t bucket_size;
    uint32_t max_iterations;
    uint32_t expansion;       /* a power of two, or 0 */
    tamis__rbc_table *tables; /* oldest first */
    size_t count;             /* number of tables */
    size_t allocated;         /* tables that the array holds */
    uint64_t bytes;           /* bytes of all tables */
    uint64_t loaded;          /* bytes that are loaded, from the oldest table on */
};

/* Makes a filter without tables. */
tamis_status tamis__rbc_create_empty(tamis_redisbloom_cuckoo **filter, const tamis_allocator *allocator,
                                     tamis_error *err);
/* Checks the numbers of a filter from outside, and appends `count` tables of its sizes without slots. */
tamis_status tamis__rbc_append_checked(tamis_redisbloom_cuckoo *filter, uint64_t count, tamis_error *err);
/* Allocates the slots of a table, all free. */
tamis_status tamis__rbc_allocate_slots(tamis_redisbloom_cuckoo *filter, size_t index, tamis_error *err);

/* Appends an empty table, larger by the expansion. On failure the filter is unchanged. TAMIS_E_FULL: no
 * further table is possible. */
tamis_status tamis__rbc_grow(tamis_redisbloom_cuckoo *filter, tamis_error *err);
/* Frees the newest table. */
void tamis__rbc_drop_newest(tamis_redisbloom_cuckoo *filter);

static inline uint64_t tamis__rbc_table_bytes(const tamis_redisbloom_cuckoo *filter, size_t index) {
    return filter->tables[index].buckets * filter->bucket_size;
}

/* TAMIS_E_DAMAGED if the filter is incomplete. */
tamis_status tamis__rbc_check_complete(const tamis_redisbloom_cuckoo *filter, tamis_error *err);

#endif
