/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_COUNTS_REDIS_COUNTS_H
#define TAMIS_STORE_REDIS_COUNTS_REDIS_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>

#include "base/failure.h"

/*
 * Counters in a Redis that have each record of a partitioned source exactly once.
 * docs/KAFKA-COUNT-PROTOCOL.md has the protocol, its words and its steps: A1, C4 and so on. One thread uses
 * an object at a time.
 */
typedef struct tamis__counts tamis__counts;

#define TAMIS__NO_POSITION UINT64_MAX

typedef struct tamis__counts_options {
    const char *uri;         /* of the servers, see tamis/experimental/redis.h */
    const char *name;        /* of the position keys: letters, digits and ._- */
    const char *description; /* what is counted, as text; another one is refused */
    size_t partition_count;  /* partitions are numbered from 0 */
    /* NULL, or called once for each request that has waited five seconds for the server and goes on. `why` is
     * the last error; empty: none */
    void (*on_wait)(void *context, const char *why);
    void *context; /* of `on_wait` */
    const tamis_allocator *allocator;
} tamis__counts_options;

/* Connects. The strings of *options stay until tamis__counts_close. TAMIS_E_UNSUPPORTED: a Codis.
 * TAMIS_E_REFUSED: the server of the home slot has fewer replicas than replicas= in the URI says. */
TAMIS_PRIVATE_API tamis_status tamis__counts_open(tamis__counts **counts,
                                                  const tamis__counts_options *options, tamis_error *err);
TAMIS_PRIVATE_API void tamis__counts_close(tamis__counts *counts);

/*
 * A1: forgets the batch and all positions, and reads those of the home slot into `positions`, one for each
 * partition, or TAMIS__NO_POSITION. TAMIS_E_MISMATCH: another description. TAMIS_E_CHANGED: there are
 * positions of more partitions.
 */
TAMIS_PRIVATE_API tamis_status tamis__counts_begin(tamis__counts *counts, uint64_t *positions,
                                                   tamis_error *err);

/* A contribution: what a record adds to a counter, which is a number or a HyperLogLog. */
typedef struct tamis__contribution {
    tamis_key counter; /* name of the counter, without braces; it is always of the same kind */
    int64_t count;     /* to add to a number */
    tamis_key element; /* to add to a HyperLogLog; `data` is NULL: the counter is a number */
    /* When Redis removes the counter, in unix milliseconds; 0: never. The name decides it. */
    uint64_t expires;
    uint32_t partition;
    uint64_t offset; /* of the record in its partition */
} tamis__contribution;

/* C2, C3: adds a contribution to the batch. *is_counted: the counter has it already, so nothing was added.
 * TAMIS_E_MISMATCH: the sum of the batch would exceed 64 bits. */
TAMIS_PRIVATE_API tamis_status tamis__counts_add(tamis__counts *counts, const tamis__contribution *added,
                                                 bool *is_counted, tamis_error *err);
/* True if the batch has so much that its script would hold up other clients of the server. */
TAMIS_PRIVATE_API bool tamis__counts_batch_is_large(const tamis__counts *counts);

/*
 * C4, C5: counts the batch and moves the positions to `next`, one for each partition, or TAMIS__NO_POSITION
 * for one that this member does not read.
 *
 * C7: *is_conflict is true if a position in Redis is another one than the known one; begin again then. If it
 * is lower, lower[partition] is lowered to it.
 *
 * TAMIS_E_MISMATCH: a counter has another type or would exceed 64 bits, or another member has another
 * description. Nothing was counted in its slot.
 */
TAMIS_PRIVATE_API tamis_status tamis__counts_apply(tamis__counts *counts, const uint64_t *next,
                                                   uint64_t *lower, bool *is_conflict, tamis_error *err);

#endif
