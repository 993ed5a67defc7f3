/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_DEDUP_DEDUP_LOG_H
#define TAMIS_SERVICE_DEDUP_DEDUP_LOG_H

#include <pthread.h>
#include <stddef.h>

#include <tamis/experimental/state.h>
#include <tamis/key.h>

#include "base/failure.h"
#include "base/memory.h"
#include "filter/window/window.h"
#include "store/state/state_stats.h"

/*
 * Queue of new keys between a session's answers and the log of its state.
 *
 *     answered -->  | batch | batch | batch |  --> logged, once the records of the batch are written
 *
 * A run queries batches in one thread before it writes earlier ones in another. A commit may cover only
 * written records, so a batch waits here until the run says that its records are written.
 */
typedef struct tamis__dedup_log {
    tamis_state *state; /* borrowed; NULL: no log, and all other fields are unset */
    tamis_allocator memory;
    pthread_mutex_t mutex; /* guards the fields below */
    tamis_hash *hashes;    /* logged hashes, not yet removed, then those of the waiting batches */
    size_t logged, count, capacity;
    /* of a window's keys, for each hash: the newest time when it was counted, and its change; else NULL */
    int64_t *newest;
    uint8_t *changes;
    size_t newest_capacity, changes_capacity;
    struct tamis__dedup_batch {
        size_t hashes;             /* new keys in the batch */
        tamis__filter_stats stats; /* statistics of the filter after the batch */
    } * batches;                   /* waiting batches, the oldest first */
    size_t waiting, batch_capacity;
    tamis_hash *spare; /* many threads: buffer that replaces `hashes` at the next cut */
    size_t spare_capacity;
    tamis_status status; /* error of a batch that could not be stored; the log accepts nothing more */
    tamis_error err;
} tamis__dedup_log;

/* Sets up a zeroed log for the state. Allocates nothing yet. */
void tamis__dedup_log_init(tamis__dedup_log *log, tamis_state *state, const tamis_allocator *memory);
/* Accepts a zeroed log. */
void tamis__dedup_log_release(tamis__dedup_log *log);

/* Appends a batch: the hashes answered TAMIS_ABSENT, and the filter's statistics after it. An error is
 * reported by the next call of tamis__dedup_log_written. */
void tamis__dedup_log_append(tamis__dedup_log *log, const tamis_hash *hashes, const tamis_answer *answers,
                             size_t count, const tamis__filter_stats *stats);

/*
 * The same for a window: appends the hashes that have a change (filter/window/window.h). `newest` is the
 * newest time of the window before the batch.
 */
void tamis__dedup_log_append_window(tamis__dedup_log *log, const tamis__window_batch *batch, int64_t newest,
                                    const tamis__filter_stats *stats);

/* TAMIS_E_INVALID: the filter has `added` keys, but the session added `own`. */
tamis_status tamis__dedup_fail_foreign_keys(uint64_t added, uint64_t own, tamis_error *err);
/* Returns the error of a batch for which memory ran out, else TAMIS_OK. */
tamis_status tamis__dedup_log_check(tamis__dedup_log *log, tamis_error *err);

/*
 * For many threads over a concurrent filter: the filter passes each new key to the log. There are no batches,
 * and a cut takes all pending keys.
 */
void tamis__dedup_log_listen(tamis__dedup_log *log, tamis_filter *filter);
/* Logs all pending keys. TAMIS_E_INVALID if the filter has keys that the session did not add. */
tamis_status tamis__dedup_log_cut(tamis__dedup_log *log, tamis_filter *filter, tamis_error *err);

/* Logs the oldest waiting batches, at most `batches`. TAMIS_E_NOMEM if a batch could not be stored; errors of
 * tamis_state_log. */
tamis_status tamis__dedup_log_written(tamis__dedup_log *log, size_t batches, tamis_error *err);

/* Drops all waiting keys, for an abort. */
void tamis__dedup_log_forget(tamis__dedup_log *log);

#endif
