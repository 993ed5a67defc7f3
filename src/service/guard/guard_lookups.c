/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Lookups: keys that wait for levels 3 and 4.
 *
 *     request --> table of lookups, by hash          by_deadline: all waiters
 *                   |                                  |
 *                   +--> lookup: waiter, waiter, ...  <+
 *                          |
 *                          +--> queue of its stage
 *
 *     with Redis        redis --> batched --> load --> loading --> store --> done
 *     lease elsewhere    ^           |
 *                        +-- paused <+
 *     without Redis                            load --> loading --> done
 *
 * A request joins the lookup of its key, so that one query answers all requests for a key. All requests have
 * the same time limit, so the ring of waiters is in the order of their deadlines.
 *
 * Invariants:
 *
 * 1. Each accepted request is answered once: a thread that answers a waiter removes it from both rings first.
 * 2. A put detaches the lookup of its key: the lookup leaves the table, and still answers its waiters. A
 *    request that comes after the put begins another lookup, whose query is later than the put.
 * 3. An answer is cached only if no put of its key was in progress from before its query until now. Each put
 *    in progress has a local mark. The check and the caching are one step under the mutex.
 * 4. No thread waits while it has the mutex locked: functions of the source and of the caller are called
 *    without it.
 *
 * guard_redis.c has the Redis thread, guard_loads.c the source threads, guard_clock.c the clock thread, which
 * answers requests at their deadlines.
 */
#include "service/guard/guard_lookups.h"

#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "service/guard/guard_int.h"

/* ---- the table ---- */

static guard_lookup **find_lookup(guard_lookups *lookups, guard_hash hash) {
    guard_lookup **slot = &lookups->buckets[hash.low & (lookups->bucket_count - 1)];
    while (*slot && ((*slot)->hash.low != hash.low || (*slot)->hash.high != hash.high))
        slot = &(*slot)->in_chain;
    return slot;
}

/* Removes a lookup from the table, so that later requests for the key begin another one. */
static void detach_lookup(guard_lookups *lookups, guard_lookup *lookup) {
    if (!lookup->is_joinable)
        return;
    *find_lookup(lookups, lookup->hash) = lookup->in_chain;
    lookup->is_joinable = false;
}

static size_t lookup_size(const guard_lookup *lookup) {
    return sizeof *lookup + lookup->key_size;
}

void tamis__guard_lookup_release(guard_lookups *lookups, guard_lookup *lookup) {
    if (--lookup->references)
        return;
    tamis__guard_blob_release(lookup->blob);
    tamis__free(&lookups->guard->memory, lookup, lookup_size(lookup));
}

guard_lookup *tamis__guard_lookups_first(guard_lookups *lookups, guard_stage stage) {
    guard_node *queue = &lookups->queues[stage];
    return guard_ring_is_empty(queue) ? NULL : GUARD_OWNER(queue->next, guard_lookup, queue);
}

static void wake_thread(guard_lookups *lookups, guard_stage stage) {
    if (stage == GUARD_STAGE_LOAD)
        pthread_cond_signal(lookups->is_down ? &lookups->down_cond : &lookups->load_cond);
    else if (stage == GUARD_STAGE_READY)
        pthread_cond_signal(&lookups->clock_cond);
    else if (stage == GUARD_STAGE_REDIS || stage == GUARD_STAGE_STORE || stage == GUARD_STAGE_RELEASE)
        pthread_cond_signal(&lookups->redis_cond);
}

void tamis__guard_lookups_move(guard_lookups *lookups, guard_lookup *lookup, guard_stage stage) {
    guard_ring_remove(&lookup->queue);
    lookup->stage = stage;
    if (stage == GUARD_STAGE_DONE) {
        lookups->count--;
        tamis__guard_lookup_release(lookups, lookup);
        return;
    }
    guard_ring_append(&lookups->queues[stage], &lookup->queue);
    wake_thread(lookups, stage);
}

static void forget_lookup(guard_lookups *lookups, guard_lookup *lookup) {
    lookup->is_cacheable = false;
    detach_lookup(lookups, lookup);
}

void tamis__guard_lookups_forget(guard_lookups *lookups, guard_hash hash) {
    guard_lookup *lookup = *find_lookup(lookups, hash);
    if (lookup)
        forget_lookup(lookups, lookup);
    if (lookups->guard->cache)
        tamis__guard_cache_remove(lookups->guard->cache, hash);
}

void tamis__guard_lookups_forget_all(guard_lookups *lookups) {
    for (size_t i = 0; i < lookups->bucket_count; i++)
        while (lookups->buckets[i])
            forget_lookup(lookups, lookups->buckets[i]);
    if (lookups->guard->cache)
        tamis__guard_cache_clear(lookups->guard->cache);
}

/* ---- answers ---- */

/* Moves all waiters of a lookup to `answered`, so that no other thread answers them. */
static void collect_waiters(guard_lookup *lookup, guard_node *answered) {
    while (!guard_ring_is_empty(&lookup->waiters)) {
        guard_waiter *waiter = GUARD_OWNER(lookup->waiters.next, guard_waiter, in_lookup);
        guard_ring_remove(&waiter->by_deadline);
        guard_ring_remove(&waiter->in_lookup);
        guard_ring_append(answered, &waiter->in_lookup);
    }
}

void tamis__guard_lookups_answer_ring(guard_lookups *lookups, guard_node *answered, tamis_status status,
                                      guard_blob *blob, const tamis_error *why) {
    while (!guard_ring_is_empty(answered)) {
        guard_waiter *waiter = GUARD_OWNER(answered->next, guard_waiter, in_lookup);
        tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;
        guard_ring_remove(&waiter->in_lookup);
        if (status == TAMIS_OK)
            tamis__guard_blob_move(tamis__guard_blob_share(blob), &value);
        waiter->done(waiter->context, status, &value, status == TAMIS_OK ? NULL : why);
        tamis_guard_value_release(&value);
        tamis__free(&lookups->guard->memory, waiter, sizeof *waiter);
    }
}

/* Entries do not all expire at once: lives differ by up to a tenth. */
static uint64_t cache_life(const tamis_guard *guard, guard_hash hash, uint64_t now) {
    const uint64_t life = guard->options.cache_life_ms * GUARD_NS_OF_MS;
    return life - life / 10 * ((hash.high ^ now) % 1024) / 1024;
}

static void cache_answer(guard_lookups *lookups, guard_lookup *lookup) {
    const tamis_guard *guard = lookups->guard;
    const uint64_t now = tamis__guard_now();
    if (guard->cache && lookup->is_cacheable)
        tamis__guard_cache_put(guard->cache, lookup->hash, lookup->blob,
                               now + cache_life(guard, lookup->hash, now));
}

/* Ends a lookup. If it has a lease, the Redis thread stores the entry or releases the lease. */
static void leave_stage(guard_lookups *lookups, guard_lookup *lookup) {
    detach_lookup(lookups, lookup);
    tamis__guard_lookups_move(lookups, lookup,
                              !lookup->has_lease ? GUARD_STAGE_DONE
                              : lookup->blob     ? GUARD_STAGE_STORE
                                                 : GUARD_STAGE_RELEASE);
}

void tamis__guard_lookups_finish(guard_lookups *lookups, guard_lookup *lookup, tamis_status status,
                                 const tamis_error *why) {
    guard_node answered;
    guard_ring_init(&answered);
    if (status == TAMIS_OK)
        cache_answer(lookups, lookup);
    collect_waiters(lookup, &answered);
    lookup->references++; /* its answer is used below */
    leave_stage(lookups, lookup);
    pthread_mutex_unlock(&lookups->mutex);
    tamis__guard_lookups_answer_ring(lookups, &answered, status, lookup->blob, why);
    pthread_mutex_lock(&lookups->mutex);
    tamis__guard_lookup_release(lookups, lookup);
}

void tamis__guard_lookups_drop(guard_lookups *lookups, guard_lookup *lookup) {
    leave_stage(lookups, lookup);
}

/* ---- requests ---- */

static guard_lookup *create_lookup(guard_lookups *lookups, const guard_request *request) {
    const size_t size = sizeof(guard_lookup) + request->key.size;
    guard_lookup *lookup = tamis__alloc(&lookups->guard->memory, size, _Alignof(guard_lookup));
    if (!lookup)
        return NULL;
    memcpy(lookup->key, request->key.data, request->key.size);
    lookup->key_size = request->key.size;
    lookup->hash = request->hash;
    lookup->references = 1;
    guard_ring_init(&lookup->queue);
    guard_ring_init(&lookup->waiters);
    return lookup;
}

static guard_waiter *create_waiter(guard_lookups *lookups, const guard_request *request) {
    guard_waiter *waiter = tamis__alloc(&lookups->guard->memory, sizeof *waiter, _Alignof(guard_waiter));
    if (!waiter)
        return NULL;
    waiter->done = request->done;
    waiter->context = request->context;
    return waiter;
}

static void append_waiter(guard_lookups *lookups, guard_lookup *lookup, guard_waiter *waiter, uint64_t now) {
    waiter->lookup = lookup;
    waiter->deadline = now + lookups->timeout;
    guard_ring_append(&lookup->waiters, &waiter->in_lookup);
    guard_ring_append(&lookups->by_deadline, &waiter->by_deadline);
}

static tamis_status refuse_request(guard_lookups *lookups, tamis_error *err) {
    count_up(&lookups->guard->counters.refused, 1);
    return tamis__fail(err, TAMIS_E_BUSY, 0,
                       "%s: %llu keys wait for an answer already; ask again later, or raise keys_max",
                       lookups->guard->name, (unsigned long long)lookups->count_max);
}

/* Begins a lookup at a stage. NULL: memory is short. */
static guard_lookup *begin_lookup(guard_lookups *lookups, const guard_request *request, guard_stage stage) {
    guard_lookup *lookup = create_lookup(lookups, request);
    if (!lookup)
        return NULL;
    lookups->count++;
    lookup->time = tamis__now_ns();
    tamis__guard_lookups_move(lookups, lookup, stage);
    return lookup;
}

/* Joins or begins a lookup. Does not own the waiter if it fails, or if *ready is set. */
static tamis_status add_waiter(guard_lookups *lookups, const guard_request *request, guard_waiter *waiter,
                               guard_blob **ready, tamis_error *err) {
    guard_lookup **slot = find_lookup(lookups, request->hash), *lookup = *slot;
    const uint64_t now = tamis__now_ns();
    if (lookup) {
        count_up(&lookups->guard->counters.joined, 1);
        append_waiter(lookups, lookup, waiter, now);
        return TAMIS_OK;
    }
    *ready = tamis__guard_find_cached(lookups->guard, request->hash, tamis__guard_now());
    if (*ready)
        return TAMIS_OK;
    if (lookups->count >= lookups->count_max)
        return refuse_request(lookups, err);
    const bool has_redis = tamis__guard_redis_works(lookups, now);
    if (!has_redis && guard_needs_redis_filter(lookups->guard))
        return tamis__guard_fail_filter(lookups->guard, err);
    lookup = begin_lookup(lookups, request, has_redis ? GUARD_STAGE_REDIS : GUARD_STAGE_LOAD);
    if (!lookup)
        return tamis__fail_nomem(err, lookups->guard->name, sizeof *lookup + request->key.size);
    lookup->is_cacheable = !tamis__guard_lookups_has_mark(lookups, request->hash, now);
    lookup->is_joinable = true;
    *slot = lookup;
    append_waiter(lookups, lookup, waiter, now);
    return TAMIS_OK;
}

tamis_status tamis__guard_lookups_add(guard_lookups *lookups, const guard_request *request,
                                      guard_blob **ready, tamis_error *err) {
    guard_waiter *waiter = create_waiter(lookups, request);
    *ready = NULL;
    if (!waiter)
        return tamis__fail_nomem(err, lookups->guard->name, sizeof *waiter);
    pthread_mutex_lock(&lookups->mutex);
    const tamis_status status = add_waiter(lookups, request, waiter, ready, err);
    pthread_mutex_unlock(&lookups->mutex);
    if (status != TAMIS_OK || *ready)
        tamis__free(&lookups->guard->memory, waiter, sizeof *waiter);
    return status;
}

tamis_status tamis__guard_lookups_answer(guard_lookups *lookups, const guard_request *request,
                                         guard_blob *blob, tamis_error *err) {
    guard_waiter *waiter = create_waiter(lookups, request);
    guard_lookup *lookup = NULL;
    pthread_mutex_lock(&lookups->mutex);
    if (waiter)
        lookup = begin_lookup(lookups, request, GUARD_STAGE_READY);
    if (lookup) {
        lookup->blob = blob;
        append_waiter(lookups, lookup, waiter, tamis__now_ns());
    }
    pthread_mutex_unlock(&lookups->mutex);
    if (lookup)
        return TAMIS_OK;
    tamis__guard_blob_release(blob);
    tamis__free(&lookups->guard->memory, waiter, sizeof *waiter);
    return tamis__fail_nomem(err, lookups->guard->name, sizeof *lookup + request->key.size);
}

uint64_t tamis__guard_lookups_count(guard_lookups *lookups) {
    pthread_mutex_lock(&lookups->mutex);
    const uint64_t count = lookups->count;
    pthread_mutex_unlock(&lookups->mutex);
    return count;
}

tamis_status tamis__guard_lookups_check_source(guard_lookups *lookups, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    pthread_mutex_lock(&lookups->mutex);
    if (lookups->is_down)
        why = lookups->why_down;
    pthread_mutex_unlock(&lookups->mutex);
    return guard_report_error(&why, err);
}

tamis_status tamis__guard_lookups_check_query(guard_lookups *lookups, tamis_error *err) {
    pthread_mutex_lock(&lookups->mutex);
    const tamis_error why = lookups->why_query;
    pthread_mutex_unlock(&lookups->mutex);
    return guard_report_error(&why, err);
}

tamis_status tamis__guard_lookups_check_redis(guard_lookups *lookups, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    pthread_mutex_lock(&lookups->mutex);
    if (lookups->redis_pause)
        why = lookups->why_redis;
    pthread_mutex_unlock(&lookups->mutex);
    return guard_report_error(&why, err);
}
