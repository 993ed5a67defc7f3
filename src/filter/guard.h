/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_GUARD_H
#define TAMIS_FILTER_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/status.h>

/*
 * The blocks of a mapped body and which of them are verified. A file of many GiB is opened without being read; each
 * block is hashed when it is first used, so that damage is an error and never an answer. Any number of threads at once:
 * two that verify the same block do it twice, to the same end.
 */
typedef struct tamis__guard tamis__guard;

#define TAMIS__BLOCK 65536u /* bytes of a block; the last of a body may be shorter */

typedef struct tamis__guarded {
    const uint8_t *body;
    uint64_t size;
    const uint8_t *sums; /* XXH3-64 of each block, little-endian, one after the other */
    uint64_t at;         /* of the body in its file, for sentences */
    uint64_t zeros_at;   /* where the zeros begin that are in front of the body, up to `at` */
    const char *name;    /* of the file; copied */
    bool mapped;         /* from that file, for random access */
    /* Whether bytes that are what was written also make sense; NULL: any do. Given the size of a block at most. */
    bool (*valid)(const void *context, const uint8_t *bytes, uint64_t size);
    const void *context;
} tamis__guarded;

static inline uint64_t tamis__block_count(uint64_t size) {
    return size / TAMIS__BLOCK + (size % TAMIS__BLOCK != 0);
}

/* What `what` points to outlives the guard. NULL: out of memory. */
tamis__guard *tamis__guard_create(const tamis__guarded *what, const tamis_allocator *allocator);
void tamis__guard_free(tamis__guard *guard);

/* Of the file, for sentences. */
const char *tamis__guard_name(const tamis__guard *guard);

/* True if every block is verified: lookups need no more checks. */
bool tamis__guard_done(const tamis__guard *guard);

/* Verifies the block of that address unless it is. TAMIS_E_DAMAGED names it. */
tamis_status tamis__guard_touch(tamis__guard *guard, const void *address, tamis_error *err);
/* Verifies all blocks, and that the bytes before the body are zeros. TAMIS_E_DAMAGED names the first bad block and the number
 * of bad blocks, or the first byte that is not zero. */
tamis_status tamis__guard_touch_all(tamis__guard *guard, tamis_error *err);

#endif
