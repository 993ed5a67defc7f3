/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Lookups: keys that wait for levels 3 and 4.
 *
 *     request --> table of lookups, by hash          by_deadline: all waiters
 *                   |                                  |
 *                   +--> lookup: waiter, waiter, ...  <+
 *                          |
 *                          +--> queue of its stage: load --> loading --> done
 *
 * A request joins the lookup of its key, so that one query answers all requests for a key. All requests have
 * the same time limit, so the ring of waiters is in the order of their deadlines.
 *
 * Invariants:
 *
 * 1. Each accepted request is answered once: whoever answers a waiter first removes it from both rings.
 * 2. A put detaches the lookup of its key: the lookup leaves the table, and still answers its waiters. A
 *    request that comes after the put begins another lookup, whose query is later than the put.
 * 3. An answer is cached only if no put was in progress from before its query until now. Puts in progress
 *    are marks, and the check and the caching are one step under the mutex.
 * 4. While the mutex is locked nobody waits: functions of the source and of the caller are called without
 *    it.
 *
 * The clock thread answers requests at their deadlines. No new request needs to wake it. It sleeps at most
 * the time limit of a request, and the deadline of a new request is later than that.
 */
#include "service/guard/guard_lookups.h"

#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "service/guard/guard_int.h"

static const uint64_t NS_OF_MS = 1000000;

/* ---- rings ---- */

static void ring_init(guard_node *ring) {
    ring->next = ring->previous = ring;
}

static void ring_append(guard_node *ring, guard_node *node) {
    node->next = ring;
    node->previous = ring->previous;
    ring->previous->next = node;
    ring->previous = node;
}

static void ring_remove(guard_node *node) {
    node->previous->next = node->next;
    node->next->previous = node->previous;
    ring_init(node);
}

#define OWNER(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* ---- the table ---- */

static guard_lookup **find_lookup(guard_lookups *lookups, guard_hash hash) {
    guard_lookup **slot = &lookups->buckets[hash.low & (lookups->bucket_count - 1)];
    while (*slot && ((*slot)->hash.low != hash.low || (*slot)->hash.high != hash.high))
        slot = &(*slot)->in_chain;
    return slot;
}

/* Later requests for the key begin another lookup. */
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
    return guard_ring_is_empty(queue) ? NULL : OWNER(queue->next, guard_lookup, queue);
}

void tamis__guard_lookups_move(guard_lookups *lookups, guard_lookup *lookup, guard_stage stage) {
    ring_remove(&lookup->queue);
    if (lookup->stage != GUARD_STAGE_DONE && stage == GUARD_STAGE_DONE)
        lookups->count--;
    lookup->stage = stage;
    if (stage != GUARD_STAGE_DONE)
        ring_append(&lookups->queues[stage], &lookup->queue);
    if (stage == GUARD_STAGE_LOAD)
        pthread_cond_signal(lookups->is_down ? &lookups->down_cond : &lookups->load_cond);
    if (stage == GUARD_STAGE_READY)
        pthread_cond_signal(&lookups->clock_cond);
}

/* ---- marks ---- */

static guard_mark **mark_chain(guard_lookups *lookups, guard_hash hash) {
    return &lookups->mark_buckets[hash.low & (lookups->bucket_count - 1)];
}

static void remove_mark(guard_lookups *lookups, guard_mark **slot) {
    guard_mark *mark = *slot;
    *slot = mark->in_chain;
    tamis__free(&lookups->guard->memory, mark, sizeof *mark);
}

/* True if a put of the key is in progress. Removes marks of the chain that have expired. */
static bool has_mark(guard_lookups *lookups, guard_hash hash, uint64_t now) {
    bool found = false;
    for (guard_mark **slot = mark_chain(lookups, hash); *slot;) {
        if ((*slot)->deadline <= now) {
            remove_mark(lookups, slot);
            continue;
        }
        found |= (*slot)->hash.low == hash.low && (*slot)->hash.high == hash.high;
        slot = &(*slot)->in_chain;
    }
    return found;
}

static void expire_all_puts(guard_lookups *lookups, uint64_t now) {
    for (size_t i = 0; i < lookups->bucket_count; i++)
        if (lookups->mark_buckets[i])
            (void)has_mark(lookups, (guard_hash){i, 0}, now);
}

/* Nothing that was read before now is cached, or answers a later request. */
static void forget_answers(guard_lookups *lookups, guard_hash hash) {
    guard_lookup *lookup = *find_lookup(lookups, hash);
    if (lookup) {
        lookup->is_cacheable = false;
        detach_lookup(lookups, lookup);
    }
    if (lookups->guard->cache)
        tamis__guard_cache_remove(lookups->guard->cache, hash);
}

guard_mark *tamis__guard_lookups_mark(guard_lookups *lookups, guard_hash hash) {
    guard_mark *mark = tamis__alloc(&lookups->guard->memory, sizeof *mark, _Alignof(guard_mark));
    if (!mark)
        return NULL;
    mark->hash = hash;
    mark->deadline = UINT64_MAX;
    pthread_mutex_lock(&lookups->mutex);
    guard_mark **chain = mark_chain(lookups, hash);
    mark->in_chain = *chain;
    *chain = mark;
    forget_answers(lookups, hash);
    pthread_mutex_unlock(&lookups->mutex);
    return mark;
}

void tamis__guard_lookups_name_mark(guard_lookups *lookups, guard_mark *mark,
                                    const uint8_t token[TAMIS_GUARD_TOKEN]) {
    pthread_mutex_lock(&lookups->mutex);
    if (token) {
        memcpy(mark->token, token, TAMIS_GUARD_TOKEN);
        mark->deadline = tamis__now_ns() + lookups->guard->options.mark_ms * NS_OF_MS;
    } else {
        guard_mark **slot = mark_chain(lookups, mark->hash);
        while (*slot != mark)
            slot = &(*slot)->in_chain;
        remove_mark(lookups, slot);
    }
    pthread_mutex_unlock(&lookups->mutex);
}

void tamis__guard_lookups_unmark(guard_lookups *lookups, guard_hash hash,
                                 const uint8_t token[TAMIS_GUARD_TOKEN]) {
    pthread_mutex_lock(&lookups->mutex);
    guard_mark **slot = mark_chain(lookups, hash);
    while (token && *slot &&
           ((*slot)->deadline == UINT64_MAX || memcmp((*slot)->token, token, TAMIS_GUARD_TOKEN)))
        slot = &(*slot)->in_chain;
    if (token && *slot)
        remove_mark(lookups, slot);
    forget_answers(lookups, hash);
    pthread_mutex_unlock(&lookups->mutex);
}

void tamis__guard_lookups_each_mark(guard_lookups *lookups, void (*visit)(void *context, guard_hash hash),
                                    void *context) {
    pthread_mutex_lock(&lookups->mutex);
    for (size_t i = 0; i < lookups->bucket_count; i++)
        for (const guard_mark *mark = lookups->mark_buckets[i]; mark; mark = mark->in_chain)
            visit(context, mark->hash);
    pthread_mutex_unlock(&lookups->mutex);
}

/* ---- answers ---- */

/* Moves all waiters of a lookup to `answered`, so that no other thread answers them. */
static void collect_waiters(guard_lookup *lookup, guard_node *answered) {
    while (!guard_ring_is_empty(&lookup->waiters)) {
        guard_waiter *waiter = OWNER(lookup->waiters.next, guard_waiter, in_lookup);
        ring_remove(&waiter->by_deadline);
        ring_remove(&waiter->in_lookup);
        ring_append(answered, &waiter->in_lookup);
    }
}

/* Calls the callers' functions, and frees the waiters. The mutex is not locked. */
static void answer_waiters(guard_lookups *lookups, guard_node *answered, tamis_status status,
                           guard_blob *blob, const tamis_error *why) {
    while (!guard_ring_is_empty(answered)) {
        guard_waiter *waiter = OWNER(answered->next, guard_waiter, in_lookup);
        tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;
        ring_remove(&waiter->in_lookup);
        if (status == TAMIS_OK)
            tamis__guard_blob_move(tamis__guard_blob_share(blob), &value);
        waiter->done(waiter->context, status, &value, status == TAMIS_OK ? NULL : why);
        tamis_guard_value_release(&value);
        tamis__free(&lookups->guard->memory, waiter, sizeof *waiter);
    }
}

/* Entries do not all expire at once: lives differ by up to a tenth. */
static uint64_t cache_life(const tamis_guard *guard, guard_hash hash, uint64_t now) {
    const uint64_t life = guard->options.cache_life_ms * NS_OF_MS;
    return life - life / 10 * ((hash.high ^ now) % 1024) / 1024;
}

static void cache_answer(guard_lookups *lookups, guard_lookup *lookup) {
    const tamis_guard *guard = lookups->guard;
    const uint64_t now = tamis__now_ns();
    if (guard->cache && lookup->is_cacheable)
        tamis__guard_cache_put(guard->cache, lookup->hash, lookup->blob,
                               now + cache_life(guard, lookup->hash, now));
}

void tamis__guard_lookups_finish(guard_lookups *lookups, guard_lookup *lookup, tamis_status status,
                                 const tamis_error *why) {
    guard_node answered;
    ring_init(&answered);
    if (status == TAMIS_OK)
        cache_answer(lookups, lookup);
    detach_lookup(lookups, lookup);
    collect_waiters(lookup, &answered);
    tamis__guard_lookups_move(lookups, lookup, GUARD_STAGE_DONE);
    pthread_mutex_unlock(&lookups->mutex);
    answer_waiters(lookups, &answered, status, lookup->blob, why);
    pthread_mutex_lock(&lookups->mutex);
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
    lookup->stage = GUARD_STAGE_DONE;
    ring_init(&lookup->queue);
    ring_init(&lookup->waiters);
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
    ring_append(&lookup->waiters, &waiter->in_lookup);
    ring_append(&lookups->by_deadline, &waiter->by_deadline);
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
    tamis__guard_lookups_move(lookups, lookup, stage);
    return lookup;
}

/* Joins or begins a lookup. Does not own the waiter if it fails, or if *ready is set. */
static tamis_status add_waiter(guard_lookups *lookups, const guard_request *request, guard_waiter *waiter,
                               guard_blob **ready, tamis_error *err) {
    guard_cache *cache = lookups->guard->cache;
    guard_lookup **slot = find_lookup(lookups, request->hash), *lookup = *slot;
    const uint64_t now = tamis__now_ns();
    if (lookup) {
        count_up(&lookups->guard->counters.joined, 1);
        append_waiter(lookups, lookup, waiter, now);
        return TAMIS_OK;
    }
    *ready = cache ? tamis__guard_cache_find(cache, request->hash, now) : NULL;
    if (*ready)
        return TAMIS_OK;
    if (lookups->count >= lookups->count_max)
        return refuse_request(lookups, err);
    lookup = begin_lookup(lookups, request, GUARD_STAGE_LOAD);
    if (!lookup)
        return tamis__fail_nomem(err, lookups->guard->name, sizeof *lookup + request->key.size);
    lookup->is_cacheable = !has_mark(lookups, request->hash, now);
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

/* ---- the clock thread ---- */

static void answer_ready(guard_lookups *lookups) {
    guard_lookup *lookup;
    while ((lookup = tamis__guard_lookups_first(lookups, GUARD_STAGE_READY))) {
        tamis__guard_lookups_finish(lookups, lookup, TAMIS_OK, NULL);
        tamis__guard_lookup_release(lookups, lookup);
    }
}

/* A queued lookup that nobody waits for is not carried out. */
static void drop_unneeded(guard_lookups *lookups, guard_lookup *lookup) {
    if (lookup->stage != GUARD_STAGE_LOAD || !guard_ring_is_empty(&lookup->waiters))
        return;
    detach_lookup(lookups, lookup);
    tamis__guard_lookups_move(lookups, lookup, GUARD_STAGE_DONE);
    tamis__guard_lookup_release(lookups, lookup);
}

static void answer_late(guard_lookups *lookups, uint64_t now) {
    tamis_error why = TAMIS_ERROR_INIT;
    guard_node late;
    uint64_t count = 0;
    ring_init(&late);
    while (!guard_ring_is_empty(&lookups->by_deadline)) {
        guard_waiter *waiter = OWNER(lookups->by_deadline.next, guard_waiter, by_deadline);
        if (waiter->deadline > now)
            break;
        ring_remove(&waiter->by_deadline);
        ring_remove(&waiter->in_lookup);
        ring_append(&late, &waiter->in_lookup);
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
                    "again later, or raise timeout_ms or sessions",
                    lookups->guard->name, (unsigned)lookups->guard->options.timeout_ms);
    answer_waiters(lookups, &late, status, NULL, &why);
    pthread_mutex_lock(&lookups->mutex);
}

/* Returns the time at which the clock thread has something to do, unless it is woken before. */
static uint64_t next_tick(const guard_lookups *lookups, uint64_t now) {
    const uint64_t second = 1000 * NS_OF_MS;
    uint64_t next = now + (lookups->timeout < second ? lookups->timeout : second);
    if (!guard_ring_is_empty(&lookups->by_deadline)) {
        const uint64_t first = OWNER(lookups->by_deadline.next, guard_waiter, by_deadline)->deadline;
        next = first < next ? first : next;
    }
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
        if (now - swept >= 1000 * NS_OF_MS) {
            expire_all_puts(lookups, now);
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

tamis_status tamis__guard_lookups_create(tamis_guard *guard, void *session, tamis_error *err) {
    const tamis_guard_options *options = &guard->options;
    guard_lookups *lookups = tamis__alloc(&guard->memory, sizeof *lookups, _Alignof(guard_lookups));
    if (!lookups) {
        guard->source.disconnect(session);
        return tamis__fail_nomem(err, guard->name, sizeof *lookups);
    }
    guard->lookups = lookups;
    lookups->guard = guard;
    lookups->first_session = session;
    lookups->connected = 1;
    lookups->count_max = options->keys_max;
    lookups->timeout = options->timeout_ms * NS_OF_MS;
    lookups->bucket_count = buckets_for(options->keys_max);
    (void)pthread_mutex_init(&lookups->mutex, NULL); /* cannot fail without attributes */
    tamis__cond_init(&lookups->load_cond);
    tamis__cond_init(&lookups->down_cond);
    tamis__cond_init(&lookups->clock_cond);
    ring_init(&lookups->by_deadline);
    for (size_t i = 0; i < GUARD_STAGES; i++)
        ring_init(&lookups->queues[i]);
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
}

/* Answers all requests that are left. No thread runs any more. */
static void interrupt_requests(guard_lookups *lookups) {
    tamis_error why = TAMIS_ERROR_INIT;
    (void)tamis__fail(&why, TAMIS_E_INTERRUPTED, 0, "%s: is being closed; open it again",
                      lookups->guard->name);
    pthread_mutex_lock(&lookups->mutex);
    answer_ready(lookups);
    for (size_t stage = 0; stage < GUARD_STAGES; stage++) {
        guard_lookup *lookup;
        while ((lookup = tamis__guard_lookups_first(lookups, (guard_stage)stage))) {
            tamis__guard_lookups_finish(lookups, lookup, TAMIS_E_INTERRUPTED, &why);
            tamis__guard_lookup_release(lookups, lookup);
        }
    }
    pthread_mutex_unlock(&lookups->mutex);
}

static void free_tables(guard_lookups *lookups) {
    const tamis_allocator *memory = &lookups->guard->memory;
    const size_t size = lookups->bucket_count * sizeof(void *);
    for (size_t i = 0; lookups->mark_buckets && i < lookups->bucket_count; i++)
        while (lookups->mark_buckets[i])
            remove_mark(lookups, &lookups->mark_buckets[i]);
    tamis__free(memory, lookups->buckets, size);
    tamis__free(memory, lookups->mark_buckets, size);
    tamis__free(memory, lookups->threads, lookups->guard->options.sessions * sizeof *lookups->threads);
}

void tamis__guard_lookups_free(guard_lookups *lookups) {
    if (!lookups)
        return;
    join_threads(lookups);
    interrupt_requests(lookups);
    free_tables(lookups);
    if (lookups->first_session)
        lookups->guard->source.disconnect(lookups->first_session);
    pthread_cond_destroy(&lookups->clock_cond);
    pthread_cond_destroy(&lookups->down_cond);
    pthread_cond_destroy(&lookups->load_cond);
    pthread_mutex_destroy(&lookups->mutex);
    tamis__free(&lookups->guard->memory, lookups, sizeof *lookups);
}
