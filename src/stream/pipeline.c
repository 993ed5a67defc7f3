/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The pipeline: a ring of items, with counters that show how far the items have come.
 *
 *          written      asked        taken        read
 *             |           |            |            |         item numbers from 0; item n is in slot n % lots
 *      -------+-----------+------------+------------+-----
 *       free  | to write  | some keyed | to key     | free
 *
 * Invariants:
 * 1. written <= asked <= taken <= read <= written + lots.
 * 2. An item is queried when it is keyed and all items before it have been queried. `asking` is set
 *    meanwhile. Then `parts` is its number of parts (0 until it is divided). A free thread takes part number
 *    `part` next. The thread that ends the last of the `left` parts completes the item.
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
#include "stream/pipeline.h"

#include <stdint.h>

#include "base/thread.h"
#include "stream/clock.h"

enum {
    AHEAD = 4,   /* items beside one for each thread */
    BACKLOG = 2, /* items to be keyed for which it is worth waking a thread */
};

struct tamis__pipeline {
    tamis__stages stages;
    tamis_allocator memory;
    size_t size;                  /* bytes of this block, with its arrays */
    tamis__pipeline_waits *waits; /* NULL: not measured */
    size_t lots;
    size_t threads; /* largest number of threads besides the caller's */
    size_t made;    /* threads started */
    pthread_t *thread;
    pthread_mutex_t lock;
    pthread_cond_t work;  /* signals work to the other threads */
    pthread_cond_t ended; /* signals the end of a task to the caller */
    uint64_t read, taken, asked, written;
    bool *keyed; /* for each slot: its item is keyed and not queried */
    bool asking; /* an item is being queried */
    size_t parts, part, left;
    bool cut;           /* no further item is queried */
    bool closing;       /* the other threads are to end */
    bool caller_sleeps; /* the caller's thread waits for `ended` */
    size_t sleeping;    /* other threads that wait for `work` */
    size_t busy;        /* other threads at work */
};

size_t tamis__pipeline_lots(size_t threads) {
    return threads > 1 ? threads + AHEAD : 1;
}

tamis_status tamis__pipeline_create(tamis__pipeline **pipeline, const tamis__stages *stages, size_t threads,
                                    tamis__pipeline_waits *waits, const tamis_allocator *memory,
                                    tamis_error *err) {
    const size_t lots = tamis__pipeline_lots(threads), others = threads - 1;
    const size_t size = sizeof **pipeline + others * sizeof(pthread_t) + lots * sizeof(bool);
    tamis__pipeline *made = tamis__alloc(memory, size, TAMIS__LINE);
    if (!made)
        return tamis__fail_nomem(err, "threads", size);
    made->stages = *stages;
    made->memory = *memory;
    made->waits = waits;
    made->size = size;
    made->lots = lots;
    made->threads = others;
    made->thread = (pthread_t *)(made + 1);
    made->keyed = (bool *)(made->thread + others);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->work, NULL);
    pthread_cond_init(&made->ended, NULL);
    *pipeline = made;
    return TAMIS_OK;
}

size_t tamis__pipeline_threads(const tamis__pipeline *pipeline) {
    return pipeline->made + 1;
}

/* ---- the ring, with the lock held ---- */

/* A divided item is queried to its end, also after `cut`. */
static bool may_ask(const tamis__pipeline *p) {
    if (p->asking)
        return p->part < p->parts;
    return !p->cut && p->asked < p->taken && p->keyed[p->asked % p->lots];
}

static bool may_key(const tamis__pipeline *p) {
    return !p->cut && p->taken < p->read;
}

/* Spurious wakes do no harm: the waiting thread checks again. */
static void await(tamis__pipeline *p, pthread_cond_t *cond, uint64_t *waited) {
    const uint64_t begun = tamis__clock_begin(waited);
    pthread_cond_wait(cond, &p->lock);
    tamis__clock_end(waited, begun);
}

static void await_others(tamis__pipeline *p) {
    p->caller_sleeps = true;
    await(p, &p->ended, p->waits ? &p->waits->caller : NULL);
    p->caller_sleeps = false;
}

static void wake_caller(tamis__pipeline *p) {
    if (p->caller_sleeps)
        pthread_cond_signal(&p->ended);
}

/* ---- tasks: called with the lock held, and they release it while they work ---- */

static void do_key(tamis__pipeline *p) {
    const size_t lot = p->taken++ % p->lots;
    pthread_mutex_unlock(&p->lock);
    p->stages.key(p->stages.context, lot);
    pthread_mutex_lock(&p->lock);
    p->keyed[lot] = true;
}

static void do_divide(tamis__pipeline *p, size_t lot) {
    p->asking = true;
    p->keyed[lot] = false;
    pthread_mutex_unlock(&p->lock);
    const size_t parts = p->stages.divide ? p->stages.divide(p->stages.context, lot) : 1;
    pthread_mutex_lock(&p->lock);
    p->parts = p->left = parts;
    p->part = 0;
    for (size_t i = 1; i < parts && i <= p->sleeping; i++)
        pthread_cond_signal(&p->work);
    if (parts > 1)
        wake_caller(p);
}

static void do_part(tamis__pipeline *p, size_t lot) {
    const size_t part = p->part++;
    if (p->parts == 1)
        return;
    pthread_mutex_unlock(&p->lock);
    p->stages.ask_part(p->stages.context, lot, part);
    pthread_mutex_lock(&p->lock);
}

/* Runs one part of the item, and completes the item with its last part. */
static void do_ask(tamis__pipeline *p) {
    const size_t lot = p->asked % p->lots;
    if (!p->asking)
        do_divide(p, lot);
    do_part(p, lot);
    if (--p->left > 0)
        return;
    pthread_mutex_unlock(&p->lock);
    const bool on = p->stages.ask(p->stages.context, lot);
    pthread_mutex_lock(&p->lock);
    p->asking = false;
    p->parts = 0;
    p->cut = p->cut || !on;
    p->asked++;
}

static bool do_write(tamis__pipeline *p) {
    const size_t lot = p->written % p->lots;
    pthread_mutex_unlock(&p->lock);
    const bool on = p->stages.write(p->stages.context, lot);
    pthread_mutex_lock(&p->lock);
    p->written++;
    return on;
}

static bool do_read(tamis__pipeline *p) {
    const size_t lot = p->read % p->lots;
    pthread_mutex_unlock(&p->lock);
    const bool filled = p->stages.read(p->stages.context, lot);
    pthread_mutex_lock(&p->lock);
    if (filled)
        p->read++;
    return filled;
}

/* ---- the other threads ---- */

static void *work(void *context) {
    tamis__pipeline *p = context;
    pthread_mutex_lock(&p->lock);
    p->busy++;
    while (!p->closing) {
        if (may_ask(p)) {
            do_ask(p);
            wake_caller(p);
        } else if (may_key(p)) {
            do_key(p);
        } else {
            p->busy--;
            p->sleeping++;
            wake_caller(p);
            await(p, &p->work, p->waits ? &p->waits->others : NULL);
            p->sleeping--;
            p->busy++;
        }
    }
    p->busy--;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Wakes or starts a thread. If the system refuses to start one, no more are tried. */
static void call_help(tamis__pipeline *p) {
    if (p->sleeping > 0)
        pthread_cond_signal(&p->work);
    else if (p->made < p->threads && tamis__thread_make(&p->thread[p->made], work, p) == 0)
        p->made++;
    else
        p->threads = p->made;
}

/* ---- the caller's thread ---- */

static bool has_room(const tamis__pipeline *p) {
    return p->read - p->written < p->lots;
}

/* Makes one step. False: nothing to do but wait. */
static bool step(tamis__pipeline *p, bool *reading, bool *writing) {
    if (p->written < p->asked) {
        *writing = do_write(p);
    } else if (*reading && !p->cut && has_room(p)) {
        *reading = do_read(p);
        if (*reading && p->read - p->taken >= BACKLOG)
            call_help(p);
    } else if (may_key(p)) {
        do_key(p);
    } else if (may_ask(p)) {
        do_ask(p);
    } else {
        return false;
    }
    return true;
}

static void run_many(tamis__pipeline *p) {
    bool reading = true, writing = true;
    pthread_mutex_lock(&p->lock);
    while (writing) {
        if (step(p, &reading, &writing))
            continue;
        if (p->written == (p->cut ? p->asked : p->read))
            break;
        await_others(p);
    }
    p->cut = true; /* drop items that were read and not written */
    while (p->busy > 0 || may_ask(p)) {
        if (may_ask(p))
            do_ask(p);
        else
            await_others(p);
    }
    p->read = p->taken = p->asked = p->written = 0;
    for (size_t i = 0; i < p->lots; i++)
        p->keyed[i] = false;
    p->cut = false;
    pthread_mutex_unlock(&p->lock);
}

static void run_alone(const tamis__pipeline *p) {
    const tamis__stages *s = &p->stages;
    while (s->read(s->context, 0)) {
        s->key(s->context, 0);
        const size_t parts = s->divide ? s->divide(s->context, 0) : 1;
        for (size_t part = 0; parts > 1 && part < parts; part++)
            s->ask_part(s->context, 0, part);
        const bool on = s->ask(s->context, 0);
        if (!s->write(s->context, 0) || !on)
            break;
    }
}

void tamis__pipeline_run(tamis__pipeline *pipeline) {
    if (pipeline->lots == 1)
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
    pthread_cond_broadcast(&pipeline->work);
    pthread_mutex_unlock(&pipeline->lock);
    for (size_t i = 0; i < pipeline->made; i++)
        pthread_join(pipeline->thread[i], NULL);
    pthread_cond_destroy(&pipeline->ended);
    pthread_cond_destroy(&pipeline->work);
    pthread_mutex_destroy(&pipeline->lock);
    tamis__free(&memory, pipeline, pipeline->size);
}
