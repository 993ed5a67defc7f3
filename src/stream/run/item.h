/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_ITEM_H
#define TAMIS_STREAM_RUN_ITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/experimental/stream.h>

#include "stream/io/reader.h"
#include "stream/run/keys.h"

/* Outcome of one part of a query. */
typedef struct tamis__item_part {
    size_t done; /* all keys of the part with a smaller index are answered */
    tamis_status status;
    tamis_error err;
    uint64_t querying;
} tamis__item_part;

/*
 * A pipeline item: a batch of records, with everything that the stages of a run add to it.
 *
 *     stage     sets
 *     read      batch
 *     extract   keys, query, hashes
 *     query     answered, enough
 *     write     the outcome of each record
 *
 * Each item belongs to one stage at a time, so it has no lock.
 */
typedef struct tamis__item {
    tamis_key *records; /* buffer for the views of a batch */
    tamis__record_batch batch;
    size_t input;        /* index of the batch's input */
    size_t opened;       /* inputs opened when the batch was read */
    uint64_t bytes_read; /* bytes of the inputs read by then */
    uint64_t bytes_done; /* bytes of the inputs up to the end of the batch */
    tamis__keys keys;
    tamis__query query;
    tamis_hash *hashes;        /* hashes of the query's keys; NULL: the service needs none */
    tamis__item_part *part;    /* array of max_parts, if that is more than 1 */
    uint32_t max_parts, parts; /* largest and present number of parts; 1: not divided */
    size_t answered;           /* keys of the query that are answered */
    size_t calls;              /* calls of the service that the query took; all parts count as one */
    bool enough;               /* the service needs no more batches after this one */
    tamis_status status;       /* error of the item itself */
    tamis_error err;           /* its message */
    bool copied;               /* the item owns its extractor */
    bool timed;                /* measure the times below */
    uint64_t extracting, hashing, querying; /* nanoseconds, summed over all batches */
} tamis__item;

/* How to make pipeline items. */
typedef struct tamis__item_setup {
    tamis__keys keys; /* copied into each item; the first item uses its extractor, others a copy of it */
    size_t capacity;  /* records of a batch, at most */
    bool hashed, timed;
    uint32_t max_parts; /* largest number of parts of a query */
} tamis__item_setup;

/* Makes `count` items. If memory suffices only for one, *made is 1. TAMIS_E_NOMEM. */
tamis_status tamis__items_create(tamis__item **items, size_t count, const tamis__item_setup *setup,
                                 size_t *made, tamis_error *err);
/* Frees an array of `count` items; NULL does nothing. */
void tamis__items_free(tamis__item *items, size_t count, const tamis_allocator *memory);

/* Extracts the keys of the batch and hashes them. */
void tamis__item_extract(tamis__item *item, const tamis_stream_service *service);

/* Leaves the records out of the query that were delivered before. Called in the order of the batches. */
void tamis__item_leave_out_redelivered(tamis__item *item, tamis__source_positions *positions);

/* Returns the number of parts into which the query is divided. If it is more than 1,
 * tamis__item_query_part must be called for each part, from any thread, before tamis__item_query. */
size_t tamis__item_divide(tamis__item *item, const tamis_stream_service *service);
void tamis__item_query_part(tamis__item *item, const tamis_stream_service *service, size_t part);

/* Sends the query to the service, or completes a divided query. False: no later item may be queried. */
bool tamis__item_query(tamis__item *item, const tamis_stream_service *service);

/* Nanoseconds spent on all batches of an item, if it is timed. */
typedef struct tamis__item_times {
    uint64_t extracting, hashing, querying;
} tamis__item_times;
tamis__item_times tamis__item_times_get(const tamis__item *item);

/* Sets the outcome of each record. Returns the number of records with a final outcome. */
size_t tamis__item_finish(tamis__item *item);

#endif
