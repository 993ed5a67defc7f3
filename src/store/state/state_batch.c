/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Adding a replay batch to the filter, with several threads.
 *
 *     batch     k0 k1 k2 k3 k4 k5 ...       in log order
 *     part 0    k0       k3                 each part has its own lines of the filter
 *     part 1       k1       k4 k5
 *     part 2          k2
 *
 * Adding the log's keys takes most of the time of a start. If the filter can be divided into parts, each
 * thread takes the next part and adds that part's keys in order. filter/parts.h explains why the filter
 * becomes the same.
 *
 * Threads are started for each batch. That costs little compared to the batch's STATE_BATCH keys.
 *
 * Every logged key was absent when it was logged, so each must be absent again. A key that is present shows
 * that the files do not belong together.
 */
#include <pthread.h>
#include <string.h>

#include "base/thread.h"
#include "filter/parts.h"
#include "store/state/state_int.h"

enum { PARTS_PER_THREAD = 2 };

typedef struct work {
    state_batch *batch;
    tamis__divided_batch divided;
    uint32_t next;         /* the next part to take (atomic) */
    pthread_mutex_t mutex; /* guards the fields below */
    size_t done;           /* smallest number of keys that any part completed */
    tamis_status status;   /* status of that part */
    tamis_error err;
} work;

static void note_part(work *w, size_t done, tamis_status status, const tamis_error *err) {
    pthread_mutex_lock(&w->mutex);
    if (done < w->done) {
        w->done = done;
        w->status = status;
        w->err = *err;
    }
    pthread_mutex_unlock(&w->mutex);
}

static void *add_parts(void *context) {
    work *w = context;
    for (;;) {
        const uint32_t part = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED);
        if (part >= w->divided.parts)
            return NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        size_t done = 0;
        const tamis_status status = tamis__filter_add_part(w->batch->filter, &w->divided, part, &done, &err);
        if (status != TAMIS_OK)
            note_part(w, done, status, &err);
    }
}

static size_t count_absent(const state_batch *batch, size_t done) {
    size_t absent = 0;
    while (absent < done && batch->answers[absent] == TAMIS_ABSENT)
        absent++;
    return absent;
}

static void add_side_by_side(work *w) {
    pthread_t threads[STATE_THREADS_MAX];
    uint32_t created = 0;
    while (created + 1 < w->batch->threads && tamis__thread_create(&threads[created], add_parts, w) == 0)
        created++;
    (void)add_parts(w);
    while (created > 0)
        pthread_join(threads[--created], NULL);
}

tamis_status tamis__state_batch_add(state_batch *batch, size_t *absent, tamis_error *err) {
    const uint32_t max = batch->threads > 1 ? PARTS_PER_THREAD * batch->threads : 1;
    const uint32_t parts = tamis__filter_parts(batch->filter, batch->count, max);
    work w = {.batch = batch,
              .divided = {.hashes = batch->hashes,
                          .count = batch->count,
                          .answers = batch->answers,
                          .parts = parts},
              .done = batch->count,
              .err = TAMIS_ERROR_INIT};
    if (parts > 1) {
        (void)pthread_mutex_init(&w.mutex, NULL); /* cannot fail without attributes */
        add_side_by_side(&w);
        pthread_mutex_destroy(&w.mutex);
        *absent = count_absent(batch, w.done);
        tamis__filter_added_parts(batch->filter, *absent, w.status, &w.err);
    } else {
        w.status = tamis_filter_add_hashes(batch->filter, batch->hashes, batch->count, batch->answers,
                                           &w.done, &w.err);
        *absent = count_absent(batch, w.done);
    }
    if (w.status == TAMIS_OK || w.status == TAMIS_E_FULL)
        return TAMIS_OK;
    return tamis__state_report(&w.err, w.status, err);
}
