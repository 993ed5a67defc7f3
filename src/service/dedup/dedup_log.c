/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The queue of new keys between the answers of a session and the log of its state (dedup_log.h).
 *
 * Why a queue. A commit may cover only records that are written, but a run queries ahead. While one thread
 * writes the records of a batch, others already query later ones. So the new keys of each batch wait here
 * until the run says that the batch is written.
 *
 *     hashes      | logged, not yet removed | batch 0 | batch 1 | batch 2 |   one array, in order of answers
 *     newest      | ...                     | ...     | ...     | ...     |   of a window: two more arrays,
 *     changes     | ...                     | ...     | ...     | ...     |   an element for each hash
 *                 0                     logged                          count
 *     batches                               | 3 keys  | 0 keys  | 5 keys  |     waiting = 3
 *
 *     append     adds a batch at the end, also one without new keys: batches and calls must stay in step
 *     written    logs the hashes of the oldest batches, and moves `logged` behind them
 *     forget     an abort: drops all; the filter is made again from the last commit
 *
 * Logged hashes are removed by the next append, which moves the waiting ones to the front. These are few: a
 * run queries only some batches ahead of the writer.
 *
 * Statistics. A commit also has the statistics of the filter, and they must be those after the last batch
 * that it covers. The filter is ahead by then, so each batch keeps its own (`stats`).
 *
 * Many threads (tamis__dedup_log_listen). There are no batches then: the filter passes each new key to the
 * queue while it holds the lock of the key's part. A cut stops the filter for a moment, and takes the whole
 * array and the filter's number of keys. It lets the threads go on before it writes. Two arrays take turns,
 * so a cut allocates nothing:
 *
 *     threads --> hashes          cut --> log
 *                   ^ swapped ^-- spare
 *
 * Why a failed append is an error later. The answers are final when a batch is appended: the filter has the
 * keys. If memory runs out, the log lacks them, and a commit would forget them. So the queue remembers the
 * error (`status`), and refuses all that follows until an abort.
 *
 * Invariants:
 * 1. The log gets new keys in the order of their answers; with many threads, those of each part of the
 *    filter.
 * 2. A commit covers a batch whole, or not at all.
 * 3. Keys of the filter = keys of the state + keys in the queue. A cut compares, and refuses keys that
 *    somebody added past the session.
 */
#include "service/dedup/dedup_log.h"

#include <inttypes.h>
#include <string.h>

#include "filter/concurrent.h"

void tamis__dedup_log_init(tamis__dedup_log *log, tamis_state *state, const tamis_allocator *memory) {
    log->state = state;
    log->memory = *memory;
    log->err = (tamis_error)TAMIS_ERROR_INIT;
    (void)pthread_mutex_init(&log->mutex, NULL); /* cannot fail without attributes */
}

void tamis__dedup_log_release(tamis__dedup_log *log) {
    if (!log->state)
        return;
    tamis__free(&log->memory, log->hashes, log->capacity * sizeof *log->hashes);
    tamis__free(&log->memory, log->newest, log->newest_capacity * sizeof *log->newest);
    tamis__free(&log->memory, log->changes, log->changes_capacity);
    tamis__free(&log->memory, log->spare, log->spare_capacity * sizeof *log->spare);
    tamis__free(&log->memory, log->batches, log->batch_capacity * sizeof *log->batches);
    pthread_mutex_destroy(&log->mutex);
    tamis__state_stats_set(log->state, NULL);
    *log = (tamis__dedup_log){.state = NULL};
}

/* Ensures capacity for `wanted` elements of `size` bytes. False, and nothing has changed, if memory ran
 * out. */
static bool reserve_array(const tamis_allocator *memory, void **array, size_t *capacity, size_t wanted,
                          size_t size) {
    if (wanted <= *capacity)
        return true;
    const size_t larger = wanted > 2 * *capacity ? wanted : 2 * *capacity;
    void *grown = tamis__alloc(memory, larger * size, TAMIS__LINE);
    if (!grown)
        return false;
    if (*capacity > 0)
        memcpy(grown, *array, *capacity * size);
    tamis__free(memory, *array, *capacity * size);
    *array = grown;
    *capacity = larger;
    return true;
}

/* Moves the waiting hashes to the front. */
static void drop_logged(tamis__dedup_log *log) {
    const size_t left = log->count - log->logged;
    if (log->logged == 0)
        return;
    if (left > 0)
        memmove(log->hashes, log->hashes + log->logged, left * sizeof *log->hashes);
    if (left > 0 && log->changes) {
        memmove(log->newest, log->newest + log->logged, left * sizeof *log->newest);
        memmove(log->changes, log->changes + log->logged, left);
    }
    log->logged = 0;
    log->count = left;
}

/* Appends the hashes of new keys; the capacity is checked. Uses no branch, since it would be mispredicted. */
static void append_absent(tamis__dedup_log *log, const tamis_hash *hashes, const tamis_answer *answers,
                          size_t count) {
    size_t to = log->count;
    for (size_t i = 0; i < count; i++) {
        log->hashes[to] = hashes[i];
        to += answers[i] == TAMIS_ABSENT;
    }
    log->count = to;
}

/* Ensures capacity for a batch of `count` keys. */
static bool reserve_batch(tamis__dedup_log *log, size_t count) {
    void *hashes = log->hashes, *batches = log->batches;
    drop_logged(log);
    const bool is_reserved =
        reserve_array(&log->memory, &hashes, &log->capacity, log->count + count, sizeof *log->hashes) &&
        reserve_array(&log->memory, &batches, &log->batch_capacity, log->waiting + 1, sizeof *log->batches);
    log->hashes = hashes;
    log->batches = batches;
    return is_reserved;
}

/* Ensures capacity for times and changes of `count` keys. */
static bool reserve_changes(tamis__dedup_log *log, size_t count) {
    void *newest = log->newest, *changes = log->changes;
    const size_t wanted = log->count + count;
    const bool is_reserved =
        reserve_array(&log->memory, &newest, &log->newest_capacity, wanted, sizeof *log->newest) &&
        reserve_array(&log->memory, &changes, &log->changes_capacity, wanted, sizeof *log->changes);
    log->newest = newest;
    log->changes = changes;
    return is_reserved;
}

/* Makes the hashes after the first `before` a batch. */
static void end_batch(tamis__dedup_log *log, size_t before, const tamis__filter_stats *stats) {
    log->batches[log->waiting++] = (struct tamis__dedup_batch){log->count - before, *stats};
}

static void fail_append(tamis__dedup_log *log, size_t count) {
    log->status = tamis__fail_nomem(&log->err, "log of absent keys", count * sizeof *log->hashes);
}

void tamis__dedup_log_append(tamis__dedup_log *log, const tamis_hash *hashes, const tamis_answer *answers,
                             size_t count, const tamis__filter_stats *stats) {
    pthread_mutex_lock(&log->mutex);
    if (log->status == TAMIS_OK && reserve_batch(log, count)) {
        const size_t before = log->count;
        append_absent(log, hashes, answers, count);
        end_batch(log, before, stats);
    } else if (log->status == TAMIS_OK) {
        fail_append(log, count);
    }
    pthread_mutex_unlock(&log->mutex);
}

static void append_changes(tamis__dedup_log *log, const tamis__window_batch *batch, int64_t newest) {
    for (size_t i = 0; i < batch->count; i++) {
        newest = batch->times[i] > newest ? batch->times[i] : newest;
        if (!batch->changes[i])
            continue;
        log->hashes[log->count] = batch->hashes[i];
        log->newest[log->count] = newest;
        log->changes[log->count++] = batch->changes[i];
    }
}

void tamis__dedup_log_append_window(tamis__dedup_log *log, const tamis__window_batch *batch, int64_t newest,
                                    const tamis__filter_stats *stats) {
    pthread_mutex_lock(&log->mutex);
    if (log->status == TAMIS_OK && reserve_batch(log, batch->count) && reserve_changes(log, batch->count)) {
        const size_t before = log->count;
        append_changes(log, batch, newest);
        end_batch(log, before, stats);
    } else if (log->status == TAMIS_OK) {
        fail_append(log, batch->count);
    }
    pthread_mutex_unlock(&log->mutex);
}

tamis_status tamis__dedup_fail_foreign_keys(uint64_t added, uint64_t own, tamis_error *err) {
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "dedup session: the filter of its state has %" PRIu64
                       " keys, and the session put in %" PRIu64
                       "; put keys in by the session alone, and abort before you go on",
                       added, own);
}

tamis_status tamis__dedup_log_check(tamis__dedup_log *log, tamis_error *err) {
    pthread_mutex_lock(&log->mutex);
    const tamis_status status = log->status;
    if (status != TAMIS_OK)
        tamis__fail(err, status, log->err.sys_errno, "%s", log->err.text);
    pthread_mutex_unlock(&log->mutex);
    return status;
}

/* Writes the oldest `count` hashes to the log of the state. */
static tamis_status write_oldest(tamis__dedup_log *log, size_t count, tamis_error *err) {
    const tamis_hash *hashes = log->hashes + log->logged;
    if (!log->changes)
        return tamis_state_log(log->state, hashes, count, err);
    const tamis__counted_keys keys = {.hashes = hashes,
                                      .newest = log->newest + log->logged,
                                      .changes = log->changes + log->logged,
                                      .count = count};
    return tamis__state_log_window(log->state, &keys, err);
}

tamis_status tamis__dedup_log_written(tamis__dedup_log *log, size_t batches, tamis_error *err) {
    pthread_mutex_lock(&log->mutex);
    size_t hashes = 0;
    if (batches > log->waiting)
        batches = log->waiting;
    for (size_t i = 0; i < batches; i++)
        hashes += log->batches[i].hashes;
    if (batches > 0)
        tamis__state_stats_set(log->state, &log->batches[batches - 1].stats);
    tamis_status status = log->status;
    if (status != TAMIS_OK)
        tamis__fail(err, status, log->err.sys_errno, "%s", log->err.text);
    else if (hashes > 0)
        status = write_oldest(log, hashes, err);
    if (status == TAMIS_OK && batches > 0) {
        log->logged += hashes;
        log->waiting -= batches;
        memmove(log->batches, log->batches + batches, log->waiting * sizeof *log->batches);
    }
    pthread_mutex_unlock(&log->mutex);
    return status;
}

/* ---- many threads ---- */

/* Called by the filter while it holds the locks of the keys' parts, so the log's order is the filter's
 * order. */
static void append_added(void *context, const tamis_hash *hashes, const tamis_answer *answers, size_t count) {
    tamis__dedup_log *log = context;
    pthread_mutex_lock(&log->mutex);
    void *queued = log->hashes;
    if (log->status == TAMIS_OK) {
        if (reserve_array(&log->memory, &queued, &log->capacity, log->count + count, sizeof *log->hashes)) {
            log->hashes = queued;
            append_absent(log, hashes, answers, count);
        } else {
            log->status = tamis__fail_nomem(&log->err, "log of absent keys", count * sizeof *hashes);
        }
    }
    pthread_mutex_unlock(&log->mutex);
}

void tamis__dedup_log_listen(tamis__dedup_log *log, tamis_filter *filter) {
    tamis__concurrent_listen(filter, &(tamis__listener){append_added, log});
}

/* Takes the waiting keys and the filter's key count at the same instant, so that no key is in only one of
 * them. */
static size_t detach(tamis__dedup_log *log, const tamis_filter *filter, tamis_hash **hashes, size_t *capacity,
                     tamis__filter_stats *stats) {
    tamis__concurrent_pause_batches(filter);
    *stats = tamis__filter_stats_get(filter);
    pthread_mutex_lock(&log->mutex);
    const size_t count = log->count;
    *hashes = log->hashes;
    *capacity = log->capacity;
    log->hashes = log->spare;
    log->capacity = log->spare_capacity;
    log->count = 0;
    log->spare = NULL;
    log->spare_capacity = 0;
    pthread_mutex_unlock(&log->mutex);
    tamis__concurrent_resume_batches(filter);
    return count;
}

/* Makes the session refuse answers and commits until an abort. */
static tamis_status fail_foreign_keys(tamis__dedup_log *log, uint64_t added, uint64_t own, tamis_error *err) {
    pthread_mutex_lock(&log->mutex);
    log->status = tamis__dedup_fail_foreign_keys(added, own, &log->err);
    pthread_mutex_unlock(&log->mutex);
    return tamis__dedup_log_check(log, err);
}

tamis_status tamis__dedup_log_cut(tamis__dedup_log *log, tamis_filter *filter, tamis_error *err) {
    tamis__filter_stats stats;
    tamis_hash *hashes;
    size_t capacity;
    tamis_status status = tamis__dedup_log_check(log, err);
    if (status != TAMIS_OK)
        return status;
    const size_t count = detach(log, filter, &hashes, &capacity, &stats);
    const uint64_t own = tamis__state_keys(log->state) + count;
    status = tamis__dedup_log_check(log, err); /* memory for a key may have run out meanwhile */
    if (status == TAMIS_OK && stats.added != own)
        status = fail_foreign_keys(log, stats.added, own, err);
    if (status == TAMIS_OK) {
        tamis__state_stats_set(log->state, &stats);
        status = tamis_state_log(log->state, hashes, count, err);
    }
    log->spare = hashes; /* used only by the one thread that commits */
    log->spare_capacity = capacity;
    return status;
}

void tamis__dedup_log_forget(tamis__dedup_log *log) {
    log->logged = log->count = log->waiting = 0;
    log->status = TAMIS_OK;
}
