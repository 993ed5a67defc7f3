/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_DEDUP_DEDUP_INT_H
#define TAMIS_SERVICE_DEDUP_DEDUP_INT_H

#include <pthread.h>

#include <tamis/dedup.h>

#include "service/dedup/dedup_log.h"
#include "service/dedup/source_positions.h"

/* The session, for dedup.c, dedup_timed.c and dedup_deliveries.c. */

/* From which tamis_dedup_expect estimates the share of new keys. */
typedef struct outlook {
    uint64_t absent_before, present_before; /* counts at the last call */
    double absent, known;                   /* recent answers: absent; absent or present */
} outlook;

struct tamis_dedup {
    tamis_filter *filter; /* borrowed, or the state's */
    tamis__dedup_log log;
    uint64_t added_before;      /* with a log: keys of the filter that are not in `counts.absent` */
    const tamis_hash *in_parts; /* with a log: the batch that is queried by parts */
    tamis_hash *hashes;         /* with a log: buffer for the hashes of a batch of keys */
    size_t hashes_capacity;     /* capacity of `hashes` */
    int64_t *times;             /* of a window: buffer for the clock's times of a batch */
    uint8_t *changes;           /* of a window, with a log: buffer for the changes of a batch */
    size_t changes_capacity;    /* capacity of `times` and of `changes` */
    uint64_t renewed;           /* of a window: present keys that were counted again */
    bool is_concurrent;         /* the filter is concurrent: any thread may query */
    pthread_mutex_t commits;    /* held by the thread that commits or aborts, if `is_concurrent` */
    tamis_on_full on_full;
    uint64_t ahead;            /* of a window: how far beyond the newest time a key may be */
    tamis_dedup_counts counts; /* answers so far; atomic */
    outlook outlook;
    tamis__source_positions positions; /* with a log */
    tamis_allocator memory;
};

/* dedup.c: fails if the log has failed, because new keys could not be committed, or if others added keys to
 * the filter of the state. */
tamis_status tamis__dedup_check_log(tamis_dedup *session, tamis_error *err);
/* dedup.c: TAMIS_E_UNSUPPORTED if the session has no state. */
tamis_status tamis__dedup_check_state(const tamis_dedup *session, tamis_error *err);
/* dedup.c: adds the answers to the counts. Returns how many are TAMIS_ABSENT. */
uint64_t tamis__dedup_sum_answers(tamis_dedup *session, const tamis_answer *answers, size_t count);

/* dedup_timed.c: frees the buffers for times and changes. */
void tamis__dedup_release_times(tamis_dedup *session);

#endif
