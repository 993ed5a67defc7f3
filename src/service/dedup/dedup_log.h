/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_DEDUP_DEDUP_LOG_H
#define TAMIS_SERVICE_DEDUP_DEDUP_LOG_H

#include <pthread.h>
#include <stddef.h>

#include <tamis/key.h>
#include <tamis/state.h>

#include "base/failure.h"
#include "base/memory.h"
#include "store/state/state_figures.h"

/*
 * Keys that a session answered fresh, on their way to the log of its state:
 *
 *     asked -->  | batch | batch | batch |  --> logged, when the records of the batch are written
 *
 * A run asks batches ahead of those it writes, from another thread, and what it commits may tell of none but those that are
 * written: so the log gets a batch when it is told so.
 */
typedef struct tamis__dedup_log {
    tamis_state *state; /* borrowed; NULL: there is no log, and nothing else here is set */
    tamis_allocator memory;
    pthread_mutex_t turn; /* of all that follows */
    tamis_hash *hashes;   /* from `logged` on those of the batches that wait */
    size_t logged, count, room;
    struct tamis__dedup_batch {
        size_t hashes;                /* how many it has */
        tamis__state_figures figures; /* of the filter, behind it */
    } * batches;                      /* those that wait */
    size_t waiting, batch_room;
    tamis_hash *spare; /* many threads: memory for `hashes` after the next cut */
    size_t spare_room;
    tamis_status status; /* what a batch met that found no place here: the log is at an end then */
    tamis_error err;
} tamis__dedup_log;

/* Set up a zeroed one for the state. Nothing is taken yet. */
void tamis__dedup_log_init(tamis__dedup_log *log, tamis_state *state, const tamis_allocator *memory);
/* Fine for a zeroed one. */
void tamis__dedup_log_release(tamis__dedup_log *log);

/* Appends a batch: those of `count` hashes whose answer is TAMIS_FRESH, and what the filter is behind it. A failure is told by
 * the next call of written. */
void tamis__dedup_log_take(tamis__dedup_log *log, const tamis_hash *hashes, const tamis_answer *answers,
                           size_t count, const tamis__state_figures *figures);

/* TAMIS_E_INVALID: the filter has `added` keys, and the session put in `own`. */
tamis_status tamis__dedup_fail_beside(uint64_t added, uint64_t own, tamis_error *err);
/* Returns the failure of a batch for which memory ran out. */
tamis_status tamis__dedup_log_check(tamis__dedup_log *log, tamis_error *err);

/*
 * For many threads over a concurrent filter: the filter passes each fresh key to the log. There are no batches, and a cut takes
 * all pending keys.
 */
void tamis__dedup_log_listen(tamis__dedup_log *log, tamis_filter *filter);
/* Logs all pending keys. TAMIS_E_INVALID if the filter has keys that the session did not add. */
tamis_status tamis__dedup_log_cut(tamis__dedup_log *log, tamis_filter *filter, tamis_error *err);

/* Logs the oldest `batches` that wait, at most those there are. TAMIS_E_NOMEM of one that found no place; errors of
 * tamis_state_log. */
tamis_status tamis__dedup_log_written(tamis__dedup_log *log, size_t batches, tamis_error *err);

/* Forgets all that wait. */
void tamis__dedup_log_forget(tamis__dedup_log *log);

#endif
