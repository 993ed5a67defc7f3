/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_DEDUP_DEDUP_INT_H
#define TAMIS_SERVICE_DEDUP_DEDUP_INT_H

#include <pthread.h>

#include <tamis/dedup.h>

#include "service/dedup/dedup_log.h"
#include "service/dedup/source_positions.h"

/* The session, for dedup.c, dedup_timed.c and dedup_deliveries.c. */

/* Recent answers. tamis_dedup_expect estimates from them which share of the next keys will be new. */
typedef struct recent_answers {
    uint64_t absent_before, present_before; /* counts at the last call */
    double absent;                          /* recent answers that were absent */
    double known;                           /* recent answers that were absent or present */
} recent_answers;

struct tamis_dedup {
    tamis_filter *filter; /* borrowed, or the state's */
    tamis__dedup_log log;
    uint64_t added_before;      /* keys of the filter that are not in `counts.absent`; used with a log */
    const tamis_hash *in_parts; /* the batch that is queried by parts; used with a log */
    tamis_hash *hashes;         /* buffer for the hashes of a batch of keys; used with a log */
    size_t hashes_capacity;     /* capacity of `hashes` */
    int64_t *times;             /* buffer for the clock's times of a batch; NULL without a window */
    uint8_t *changes;           /* buffer for the changes of a batch; NULL without a window or a log */
    size_t changes_capacity;    /* capacity of `times` and of `changes` */
    uint64_t renewed;           /* present keys that a window has counted again */
    bool is_concurrent;         /* the filter is concurrent: any thread may query */
    pthread_mutex_t commits;    /* held by the thread that commits or aborts, if `is_concurrent` */
    tamis_on_full on_full;
    uint64_t ahead;            /* how far beyond the newest time of a window a key may be */
    tamis_dedup_counts counts; /* answers so far; atomic */
    recent_answers recent;
    tamis__source_positions positions; /* used with a log */
    tamis_allocator memory;
};

/* ---- dedup.c ---- */

/* Fails if the log has failed, because new keys could not be committed, or if others added keys to
 * the filter of the state. */
tamis_status tamis__dedup_check_log(tamis_dedup *session, tamis_error *err);
/* TAMIS_E_UNSUPPORTED if the session has no state. */
tamis_status tamis__dedup_check_state(const tamis_dedup *session, tamis_error *err);
/* Adds the answers to the counts. Returns how many are TAMIS_ABSENT. */
uint64_t tamis__dedup_sum_answers(tamis_dedup *session, const tamis_answer *answers, size_t count);

/* ---- dedup_timed.c ---- */

/* Frees the buffers for times and changes. */
void tamis__dedup_release_times(tamis_dedup *session);

/* ---- dedup_deliveries.c ---- */

/*
 * Positions of a session: tamis_dedup_add_delivered. They are part of its commits:
 *
 *     without positions    checkpoint of the caller
 *     with positions       MAGIC | size of the checkpoint | checkpoint | positions (source_positions.c)
 */

/* Returns the caller's part of a committed checkpoint, and sets *size to its size. *encoded (may be NULL)
 * receives the positions behind it; NULL: there are none. */
const void *tamis__dedup_deliveries_split(const void *committed, size_t *size, tamis_key *encoded);

/* Loads the positions from a committed checkpoint, which may have none. TAMIS_E_FORMAT, TAMIS_E_NOMEM. */
tamis_status tamis__dedup_deliveries_load(tamis__source_positions *positions, const void *committed,
                                          size_t size, tamis_error *err);

/* Encodes the caller's checkpoint and all positions that were queried into *joined, which the caller frees
 * with the allocator of the positions. joined->bytes is NULL if the checkpoint can be stored as it is.
 * TAMIS_E_NOMEM. */
typedef struct tamis__joined_checkpoint {
    unsigned char *bytes;
    size_t size;
} tamis__joined_checkpoint;
tamis_status tamis__dedup_deliveries_join(const tamis__source_positions *positions, const void *checkpoint,
                                          size_t size, tamis__joined_checkpoint *joined, tamis_error *err);
/* Marks all positions that were queried as committed. */
void tamis__dedup_deliveries_committed(tamis__source_positions *positions);

#endif
