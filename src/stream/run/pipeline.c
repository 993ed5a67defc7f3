/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The pipeline: a ring of items, with counters that show how far the items have come.
 *
 *          written       queried        started         read
 *             |             |              |              |       item numbers from 0; item n is in slot
 *      -------+-------------+--------------+--------------+-----  n % items
 *       free  | to write    | to query     | to extract   | free
 *
 * An item between `queried` and `started` is being extracted, or is extracted and waits for its query.
 *
 * Invariants:
 * 1. written <= queried <= started <= read <= written + items.
 * 2. An item is queried when it is extracted and all items before it have been queried. `querying` is set
 *    meanwhile. Then `parts` is its number of parts (0 until it is divided). A free thread takes part number
 *    `part` next. The thread that ends the last of the `parts_left` parts completes the item.
 * 3. One mutex guards everything. A task is a whole item, tens of microseconds or more, so the lock is cheap.
 * 4. The caller sleeps only while another thread works, and a thread that ends a task looks for the next one.
 *    So no task waits for ever.
 *
 * Priorities:
 * - Only the caller's thread reads and writes: first writes, which free items, then reads. If neither is
 *   possible, it helps the others.
 * - The other threads prefer to query, because every later item waits for that.
 * - A single item wakes nobody. If no other follows at once, the caller takes it through all stages, faster
 *   than a thread wakes. This suits records that arrive one by one.
 * - A thread is started when there is more work than the present threads take.
 */
#include "stream/run/pipeline.h"

#include <stdint.h>

#include "base/thread.h"
#include "stream/run/clock.h"

enum {
    AHEAD = 4,   /* items beside one for each thread */
    BACKLOG = 2, /* items to be extracted for which it is worth waking a thread */
};

struct tamis__pipeline {
    tamis__pipeline_stages stages;
    tamis_allocator memory;
    size_t size; /* bytes of this block, with its arrays */
    size_t items;
    size_t threads; /* largest number of threads besides the caller's */
    size_t made;    /* threads started */
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t work_ready; /* signals work to the other threads */
    pthread_cond_t task_done;  /* signals the end of a task to the caller */
    uint64_t read, started, queried, written;
    bool *extracted; /* for each slot: its item is extracted and not queried */
    bool querying;   /* an item is being queried */
    size_t parts, part, parts_left;
    bool stopped;       /* no further item is queried */
    bool closing;       /* the other threads must end */
    bool caller_sleeps; /* the caller's thread waits for `task_done` */
    size_t sleeping;    /* other threads that wait for `work_ready` */
    size_t busy;        /* other threads at work */
};

size_t tamis__pipeline_item_count(size_t threads) {
    return threads > 1 ? threads + AHEAD : 1;
}

tamis_status tamis__pipeline_create(tamis__pipeline **pipeline, const tamis__pipeline_stages *stages,
                                    size_t threads, const tamis_allocator *memory, tamis_error *err) {
    const size_t items = tamis__pipeline_item_count(threads), others = threads - 1;
    const size_t size = sizeof **pipeline + others * sizeof(pthread_t) + items * sizeof(bool);
    tamis__pipeline *made = tamis__alloc(memory, size, TAMIS__LINE);
    if (!made)
        return tamis__fail_nomem(err, "threads", size);
    made->stages = *stages;
    made->memory = *memory;
    made->size = size;
    made->items = items;
    made->threads = others;
    made->thread = (pthread_t *)(made + 1);
    made->extracted = (bool *)(made->thread + others);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->work_ready, NULL);
    pthread_cond_init(&made->task_done, NULL);
    *pipeline = made;
    return TAMIS_OK;
}

size_t tamis__pipeline_threads(const tamis__pipeline *pipeline) {
    return pipeline->made + 1;
}

/* ---- the ring, with the lock held ---- */

/* A divided item is queried to its end, also after `stopped`. */
static bool can_query(const tamis__pipeline *p) {
    if (p->querying)
        return p->part < p->parts;
    return !p->stopped && p->queried < p->started && p->extracted[p->queried % p->items];
}

static bool can_extract(const tamis__pipeline *p) {
    return !p->stopped && p->started < p->read;
}

/* Spurious wakes do no harm: the waiting thread checks again. */
static void wait_on(tamis__pipeline *p, pthread_cond_t *cond, uint64_t *waited) {
    const uint64_t begun = tamis__clock_begin(waited);
    pthread_cond_wait(cond, &p->lock);
    tamis__clock_end(waited, begun);
}

static void wait_for_workers(tamis__pipeline *p) {
    p->caller_sleeps = true;
    wait_on(p, &p->task_done, p->stages.waits ? &p->stages.waits->caller : NULL);
    p->caller_sleeps = false;
}

static void wake_caller(tamis__pipeline *p) {
    if (p->caller_sleeps)
        pthread_cond_signal(&p->task_done);
}

/* ---- tasks: called with the lock held, and they release it while they work ---- */

static void extract_item(tamis__pipeline *p) {
    const size_t item = p->started++ % p->items;
    pthread_mutex_unlock(&p->lock);
    p->stages.extract(p->stages.context, item);
    pthread_mutex_lock(&p->lock);
    p->extracted[item] = true;
}

static void divide_item(tamis__pipeline *p, size_t item) {
    p->querying = true;
    p->extracted[item] = false;
    pthread_mutex_unlock(&p->lock);
    const size_t parts = p->stages.divide ? p->stages.divide(p->stages.context, item) : 1;
    pthread_mutex_lock(&p->lock);
    p->parts = p->parts_left = parts;
    p->part = 0;
    for (size_t i = 1; i < parts && i <= p->sleeping; i++)
        pthread_cond_signal(&p->work_ready);
    if (parts > 1)
        wake_caller(p);
}

static void query_part_of_item(tamis__pipeline *p, size_t item) {
    const size_t part = p->part++;
    if (p->parts == 1)
        return;
    pthread_mutex_unlock(&p->lock);
    p->stages.query_part(p->stages.context, item, part);
    pthread_mutex_lock(&p->lock);
}

/* Runs one part of the item, and completes the item with its last part. */
static void query_item(tamis__pipeline *p) {
    const size_t item = p->queried % p->items;
    if (!p->querying)
        divide_item(p, item);
    query_part_of_item(p, item);
    if (--p->parts_left > 0)
        return;
    pthread_mutex_unlock(&p->lock);
    const bool go_on = p->stages.query(p->stages.context, item);
    pthread_mutex_lock(&p->lock);
    p->querying = false;
    p->parts = 0;
    p->stopped = p->stopped || !go_on;
    p->queried++;
}

static bool write_item(tamis__pipeline *p) {
    const size_t item = p->written % p->items;
    pthread_mutex_unlock(&p->lock);
    const bool go_on = p->stages.write(p->stages.context, item);
    pthread_mutex_lock(&p->lock);
    p->written++;
    return go_on;
}

static bool read_item(tamis__pipeline *p) {
    const size_t item = p->read % p->items;
    pthread_mutex_unlock(&p->lock);
    const bool filled = p->stages.read(p->stages.context, item);
    pthread_mutex_lock(&p->lock);
    if (filled)
        p->read++;
    return filled;
}

/* ---- the other threads ---- */

static void *run_worker(void *context) {
    tamis__pipeline *p = context;
    pthread_mutex_lock(&p->lock);
    p->busy++;
    while (!p->closing) {
        if (can_query(p)) {
            query_item(p);
            wake_caller(p);
        } else if (can_extract(p)) {
            extract_item(p);
        } else {
            p->busy--;
            p->sleeping++;
            wake_caller(p);
            wait_on(p, &p->work_ready, p->stages.waits ? &p->stages.waits->others : NULL);
            p->sleeping--;
            p->busy++;
        }
    }
    p->busy--;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Wakes or starts a thread. If the system refuses to start one, no more are tried. */
static void start_worker(tamis__pipeline *p) {
    if (p->sleeping > 0)
        pthread_cond_signal(&p->work_ready);
    else if (p->made < p->threads && tamis__thread_create(&p->thread[p->made], run_worker, p) == 0)
        p->made++;
    else
        p->threads = p->made;
}

/* ---- the caller's thread ---- */

static bool has_free_item(const tamis__pipeline *p) {
    return p->read - p->written < p->items;
}

/* Makes one step. False: nothing to do but wait. */
static bool run_step(tamis__pipeline *p, bool *reading, bool *writing) {
    if (p->written < p->queried) {
        *writing = write_item(p);
    } else if (*reading && !p->stopped && has_free_item(p)) {
        *reading = read_item(p);
        if (*reading && p->read - p->started >= BACKLOG)
            start_worker(p);
    } else if (can_extract(p)) {
        extract_item(p);
    } else if (can_query(p)) {
        query_item(p);
    } else {
        return false;
    }
    return true;
}

static void run_many(tamis__pipeline *p) {
    bool reading = true, writing = true;
    pthread_mutex_lock(&p->lock);
    while (writing) {
        if (run_step(p, &reading, &writing))
            continue;
        if (p->written == (p->stopped ? p->queried : p->read))
            break;
        wait_for_workers(p);
    }
    p->stopped = true; /* drop items that were read and not written */
    while (p->busy > 0 || can_query(p)) {
        if (can_query(p))
            query_item(p);
        else
            wait_for_workers(p);
    }
    p->read = p->started = p->queried = p->written = 0;
    for (size_t i = 0; i < p->items; i++)
        p->extracted[i] = false;
    p->stopped = false;
    pthread_mutex_unlock(&p->lock);
}

static void run_alone(const tamis__pipeline *p) {
    const tamis__pipeline_stages *s = &p->stages;
    while (s->read(s->context, 0)) {
        s->extract(s->context, 0);
        const size_t parts = s->divide ? s->divide(s->context, 0) : 1;
        for (size_t part = 0; parts > 1 && part < parts; part++)
            s->query_part(s->context, 0, part);
        const bool go_on = s->query(s->context, 0);
        if (!s->write(s->context, 0) || !go_on)
            break;
    }
}

void tamis__pipeline_run(tamis__pipeline *pipeline) {
    if (pipeline->items == 1)
        run_alone(pipeline);
    else
        run_many(pipeline);
}

void tamis__pipeline_free(tamis__pipeline *pipeline) {
    if (!pipeline)
        return;
    const tamis_allocator memory = pipeline->memory;
    pthread_mutex_lock(&pipeline->lock);
    pipeline->closing = true;
    pthread_cond_broadcast(&pipeline->work_ready);
    pthread_mutex_unlock(&pipeline->lock);
    for (size_t i = 0; i < pipeline->made; i++)
        pthread_join(pipeline->thread[i], NULL);
    pthread_cond_destroy(&pipeline->task_done);
    pthread_cond_destroy(&pipeline->work_ready);
    pthread_mutex_destroy(&pipeline->lock);
    tamis__free(&memory, pipeline, pipeline->size);
}
