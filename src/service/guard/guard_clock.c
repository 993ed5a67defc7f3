/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The life of the lookups of a guard, and the clock thread, which answers requests at their deadlines.
 *
 * A guard has two clocks. Their times must not be compared with each other.
 *
 *     tamis__guard_now   runs in suspend     what others rely on: age of the news, life of a mark in Redis,
 *                                            life of a cached answer
 *     tamis__now_ns      stops in suspend    waits and pauses, whose conditions need this clock. Also local
 *                                            marks and recent keys, which may live longer
 *
 * No new request needs to wake the clock thread. It sleeps less than the time limit of a request, and the
 * deadline of a new request is later than that.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "service/guard/guard_int.h"
#include "service/guard/guard_lookups.h"

uint64_t tamis__guard_now(void) {
    return tamis__sys.now_boot_ns();
}

/* ---- the clock thread ---- */

static void answer_ready(guard_lookups *lookups) {
    guard_lookup *lookup;
    while ((lookup = tamis__guard_lookups_first(lookups, GUARD_STAGE_READY)))
        tamis__guard_lookups_finish(lookups, lookup, TAMIS_OK, NULL);
}

/* Ends a queued lookup if no request waits for it. */
static void drop_unneeded(guard_lookups *lookups, guard_lookup *lookup) {
    const bool is_queued = lookup->stage == GUARD_STAGE_REDIS || lookup->stage == GUARD_STAGE_PAUSED ||
                           lookup->stage == GUARD_STAGE_LOAD;
    if (is_queued && guard_ring_is_empty(&lookup->waiters))
        tamis__guard_lookups_drop(lookups, lookup);
}

static void answer_late(guard_lookups *lookups, uint64_t now) {
    tamis_error why = TAMIS_ERROR_INIT;
    guard_node late;
    uint64_t count = 0;
    guard_ring_init(&late);
    while (!guard_ring_is_empty(&lookups->by_deadline)) {
        guard_waiter *waiter = GUARD_OWNER(lookups->by_deadline.next, guard_waiter, by_deadline);
        if (waiter->deadline > now)
            break;
        guard_ring_remove(&waiter->by_deadline);
        guard_ring_remove(&waiter->in_lookup);
        guard_ring_append(&late, &waiter->in_lookup);
        drop_unneeded(lookups, waiter->lookup);
        count++;
    }
    if (count == 0)
        return;
    count_up(&lookups->guard->counters.timeouts, count);
    pthread_mutex_unlock(&lookups->mutex);
    const tamis_status status =
        tamis__fail(&why, TAMIS_E_TIMEOUT, 0,
                    "%s: no answer within %u ms: the database is slow, or too many keys wait for it; ask "
                    "again later, or raise sessions or the time limit",
                    lookups->guard->name, (unsigned)lookups->guard->options.timeout_ms);
    tamis__guard_lookups_answer_ring(lookups, &late, status, NULL, &why);
    pthread_mutex_lock(&lookups->mutex);
}

static uint64_t earlier(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Returns when the first lookup of a queue has waited too long for Redis, or `next` if that is earlier. */
static uint64_t next_give_up(guard_lookups *lookups, guard_stage stage, uint64_t next) {
    const guard_lookup *first = tamis__guard_lookups_first(lookups, stage);
    return first ? earlier(first->time + lookups->call_max, next) : next;
}

/* Returns the time at which the clock thread has something to do, unless it is woken before. */
static uint64_t next_tick(guard_lookups *lookups, uint64_t now) {
    uint64_t next = now + earlier(lookups->call_max, 1000 * GUARD_NS_OF_MS);
    next = next_give_up(lookups, GUARD_STAGE_REDIS, next);
    next = next_give_up(lookups, GUARD_STAGE_BATCHED, next);
    if (!guard_ring_is_empty(&lookups->by_deadline))
        next = earlier(GUARD_OWNER(lookups->by_deadline.next, guard_waiter, by_deadline)->deadline, next);
    return next;
}

static void *run_clock(void *context) {
    guard_lookups *lookups = context;
    uint64_t swept = 0;
    pthread_mutex_lock(&lookups->mutex);
    while (!lookups->is_closing) {
        const uint64_t now = tamis__now_ns();
        answer_ready(lookups);
        answer_late(lookups, now);
        tamis__guard_redis_give_up(lookups, now);
        if (now - swept >= 1000 * GUARD_NS_OF_MS) {
            tamis__guard_lookups_expire(lookups, now);
            swept = now;
        }
        if (!lookups->is_closing && !tamis__guard_lookups_first(lookups, GUARD_STAGE_READY))
            (void)tamis__cond_wait(&lookups->clock_cond, &lookups->mutex, next_tick(lookups, now));
    }
    pthread_mutex_unlock(&lookups->mutex);
    return NULL;
}

/* ---- life ---- */

static size_t buckets_for(uint64_t count) {
    size_t buckets = 1024;
    while (buckets < count && buckets < (size_t)1 << 24)
        buckets *= 2;
    return buckets;
}

static bool alloc_tables(guard_lookups *lookups, const tamis_guard_options *options) {
    const tamis_allocator *memory = &lookups->guard->memory;
    const size_t size = lookups->bucket_count * sizeof(void *);
    lookups->buckets = tamis__alloc(memory, size, TAMIS__LINE);
    lookups->mark_buckets = tamis__alloc(memory, size, TAMIS__LINE);
    lookups->threads =
        tamis__alloc(memory, options->sessions * sizeof *lookups->threads, _Alignof(pthread_t));
    return lookups->buckets && lookups->mark_buckets && lookups->threads;
}

static tamis_status start_threads(guard_lookups *lookups, tamis_error *err) {
    int failed = tamis__thread_create(&lookups->clock, run_clock, lookups);
    lookups->has_clock = !failed;
    if (!failed && lookups->guard->entries) {
        failed = tamis__thread_create(&lookups->redis_thread, tamis__guard_redis_run, lookups);
        lookups->has_redis_thread = !failed;
    }
    for (uint32_t i = 0; !failed && i < lookups->guard->options.sessions; i++) {
        failed = tamis__thread_create(&lookups->threads[i], tamis__guard_load_rows, lookups);
        lookups->thread_count += !failed;
    }
    if (failed)
        return tamis__fail(err, TAMIS_E_SYSTEM, failed,
                           "%s: cannot start a thread: %s; lower sessions, or raise the limit of threads",
                           lookups->guard->name, strerror(failed));
    return TAMIS_OK;
}

/* A source or Redis that could not be reached counts as an attempt that failed. */
static void set_reached(guard_lookups *lookups, const guard_reached *reached) {
    lookups->first_session = reached->session;
    lookups->connected = reached->session != NULL;
    lookups->is_down = !reached->session;
    lookups->why_down = reached->source;
    if (reached->redis.status != TAMIS_OK)
        tamis__guard_redis_leave_out(lookups, tamis__now_ns(), &reached->redis);
}

tamis_status tamis__guard_lookups_create(tamis_guard *guard, const guard_reached *reached, tamis_error *err) {
    const tamis_guard_options *options = &guard->options;
    guard_lookups *lookups = tamis__alloc(&guard->memory, sizeof *lookups, _Alignof(guard_lookups));
    if (!lookups) {
        if (reached->session)
            guard->source.disconnect(reached->session);
        return tamis__fail_nomem(err, guard->name, sizeof *lookups);
    }
    guard->lookups = lookups;
    lookups->guard = guard;
    lookups->count_max = options->keys_max;
    lookups->timeout = options->timeout_ms * GUARD_NS_OF_MS;
    lookups->call_max = lookups->timeout / 2;
    lookups->bucket_count = buckets_for(options->keys_max);
    (void)pthread_mutex_init(&lookups->mutex, NULL); /* cannot fail without attributes */
    tamis__cond_init(&lookups->load_cond);
    tamis__cond_init(&lookups->down_cond);
    tamis__cond_init(&lookups->clock_cond);
    tamis__cond_init(&lookups->redis_cond);
    guard_ring_init(&lookups->by_deadline);
    for (size_t i = 0; i < GUARD_STAGES; i++)
        guard_ring_init(&lookups->queues[i]);
    set_reached(lookups, reached);
    if (!alloc_tables(lookups, options))
        return tamis__fail_nomem(err, guard->name, 2 * lookups->bucket_count * sizeof(void *));
    return start_threads(lookups, err);
}

static void join_threads(guard_lookups *lookups) {
    pthread_mutex_lock(&lookups->mutex);
    lookups->is_closing = true;
    pthread_cond_broadcast(&lookups->load_cond);
    pthread_cond_broadcast(&lookups->down_cond);
    pthread_cond_broadcast(&lookups->clock_cond);
    pthread_mutex_unlock(&lookups->mutex);
    for (uint32_t i = 0; i < lookups->thread_count; i++)
        pthread_join(lookups->threads[i], NULL);
    if (lookups->has_clock)
        pthread_join(lookups->clock, NULL);
    pthread_mutex_lock(&lookups->mutex);
    lookups->is_redis_thread_over = true;
    pthread_cond_broadcast(&lookups->redis_cond);
    pthread_mutex_unlock(&lookups->mutex);
    if (lookups->has_redis_thread)
        pthread_join(lookups->redis_thread, NULL);
}

/* Answers all requests that are left. No thread runs any more. */
static void interrupt_requests(guard_lookups *lookups) {
    tamis_error why = TAMIS_ERROR_INIT;
    (void)tamis__fail(&why, TAMIS_E_INTERRUPTED, 0, "%s: is being closed; open it again",
                      lookups->guard->name);
    pthread_mutex_lock(&lookups->mutex);
    answer_ready(lookups);
    for (size_t stage = 0; stage < GUARD_STAGE_STORE; stage++) {
        guard_lookup *lookup;
        while ((lookup = tamis__guard_lookups_first(lookups, (guard_stage)stage)))
            tamis__guard_lookups_finish(lookups, lookup, TAMIS_E_INTERRUPTED, &why);
    }
    pthread_mutex_unlock(&lookups->mutex);
}

static void free_tables(guard_lookups *lookups) {
    const tamis_allocator *memory = &lookups->guard->memory;
    const size_t size = lookups->bucket_count * sizeof(void *);
    if (lookups->mark_buckets)
        tamis__guard_lookups_expire(lookups, UINT64_MAX);
    tamis__free(memory, lookups->buckets, size);
    tamis__free(memory, lookups->mark_buckets, size);
    tamis__free(memory, lookups->threads, lookups->guard->options.sessions * sizeof *lookups->threads);
}

void tamis__guard_lookups_free(guard_lookups *lookups) {
    if (!lookups)
        return;
    join_threads(lookups);
    interrupt_requests(lookups);
    tamis__guard_redis_finish(lookups);
    free_tables(lookups);
    if (lookups->first_session)
        lookups->guard->source.disconnect(lookups->first_session);
    pthread_cond_destroy(&lookups->redis_cond);
    pthread_cond_destroy(&lookups->clock_cond);
    pthread_cond_destroy(&lookups->down_cond);
    pthread_cond_destroy(&lookups->load_cond);
    pthread_mutex_destroy(&lookups->mutex);
    tamis__free(&lookups->guard->memory, lookups, sizeof *lookups);
}
