/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_RUN_KEYS_H
#define TAMIS_STREAM_RUN_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/experimental/stream.h>

#include "base/failure.h"
#include "base/memory.h"
#include "service/dedup/source_positions.h"
#include "stream/io/reader.h"

/* The keys of a batch of records, and the outcome of each record. keys.c explains the arrays. */

/* Outcome of a record: a tamis_answer, or one of these for a record without a query. */
enum { TAMIS__OUTCOME_MISSING = TAMIS_REDELIVERED + 1, TAMIS__OUTCOME_MALFORMED, TAMIS__OUTCOMES };

/* The malformed record to be reported at the end of a run that continues. */
typedef struct tamis__first_malformed {
    tamis_error *error; /* where to store its message; NULL: nobody wants it, or the final one is stored */
    bool filled;        /* a message is stored; only one about an open quote may replace it */
} tamis__first_malformed;

typedef struct tamis__keys {
    const tamis__record_batch *batch; /* the present batch, borrowed */
    /* Borrowed; NULL: a record is its own key, and `outcomes` is the only array. */
    tamis_extractor *extractor;
    tamis_stream_policy missing, malformed;
    tamis__first_malformed *first; /* shared by the run */
    uint8_t terminator;            /* '\n': messages count lines, else records */
    bool objects;                  /* records that are not JSON objects are malformed */
    tamis_allocator memory;
    size_t capacity; /* capacity of each array */
    tamis_extraction *found;
    tamis_key *keys;
    uint32_t *record_index;
    tamis_answer *answers;
    uint8_t *outcomes;
    bool timed;      /* the extractor finds times */
    bool has_found;  /* it found all that it looks for in a record of the batch; set with the outcomes */
    int64_t *times;  /* time of each key, if `timed` */
    bool positioned; /* the extractor finds positions */
    /* If `positioned`: the spans of consecutive new records with one source. */
    struct tamis__source_span {
        tamis__known_position last; /* of the last record of the span */
        uint32_t source;            /* index in the source positions */
    } * spans;
    size_t span_count;
} tamis__keys;

/* The query for a batch. */
typedef struct tamis__query {
    const tamis_key *keys;
    const uint32_t *record_index; /* record index of each key, as in tamis_stream_source */
    size_t count;
    size_t records; /* records of the batch that the query covers, including those without a key */
    tamis_answer *answers;
    const int64_t *times; /* NULL: the extractor finds none */
    /* Error of the record after those of the query. It ends the run once they are answered. TAMIS_OK:
     * none. */
    tamis_status end_status;
    tamis_error end_error; /* its message */
} tamis__query;

/* Allocates the arrays. Extractor, policies, terminator and memory are set before. After an error, call
 * release. */
tamis_status tamis__keys_init(tamis__keys *keys, size_t capacity, tamis_error *err);
void tamis__keys_release(tamis__keys *keys);

/*
 * Extracts the keys of a batch into *query. If a record without a key ends the run, query->end_status is
 * TAMIS_E_RECORD or TAMIS_E_NO_KEY, and the query covers the records before it. Errors of
 * tamis_extractor_extract.
 */
tamis_status tamis__keys_extract(tamis__keys *keys, const tamis__record_batch *batch, tamis__query *query,
                                 tamis_error *err);

/*
 * Leaves the records out of the query that were delivered before (service/dedup/source_positions.c).
 * `hashes` are the hashes of the query's keys; NULL: there are none. A record that shows that its source was
 * created again ends the run as a malformed record does. Called in the order of the batches. TAMIS_E_NOMEM.
 */
tamis_status tamis__keys_leave_out_redelivered(tamis__keys *keys, tamis__query *query,
                                               tamis__source_positions *positions, tamis_hash *hashes,
                                               tamis_error *err);
/* Q3: sets the written position of each source to its last record in the batch. */
void tamis__keys_note_written(const tamis__keys *keys, tamis__source_positions *positions);

/* Handles key `i` of the query, which the service refused with the message `refused`. If malformed records
 * end the run, sets *why to the error and returns TAMIS_E_RANGE. Else marks the record as malformed and
 * returns TAMIS_OK. */
tamis_status tamis__keys_refuse(tamis__keys *keys, const tamis__query *query, size_t i, const char *refused,
                                tamis_error *why);

/* Sets the outcome of each record that is decided once the first `done` keys are answered. Returns their
 * number. */
size_t tamis__keys_store_outcomes(tamis__keys *keys, const tamis__query *query, size_t done);

#endif
