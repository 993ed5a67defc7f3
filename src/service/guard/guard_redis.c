/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The Redis thread: level 3 for all lookups of a guard, in batches. Lookups that come while Redis works on
 * one batch are the next batch, so that one connection is enough. docs/GUARD-PROTOCOL.md has the steps G1 to
 * G4.
 *
 *     queue                     call to Redis             then
 *     redis                     G1 filter in Redis, if    answer, or G2
 *                               the guard has one
 *                               G2 entry or lease         answer, load, or pause
 *     store, after the answer   G4 entry                  done
 *     release, after an error   lease is deleted          done
 *     load, loading             lease is renewed          a third of its life later again
 *
 * Invariants:
 *
 * 1. A lookup gets a lease before it is queued for the source, or never. So its query is later than its lease
 *    (G3 after G2).
 * 2. No lookup waits for a Redis that does not answer. After a failure, and after call_max without an answer,
 *    lookups go to the source without a lease. Their answers are not stored. With a filter in Redis and
 *    TAMIS_GUARD_CLOSED, those that the filter has not answered get an error instead.
 * 3. A lease that comes too late is released. If that fails too, it expires.
 *
 * After a failure Redis is not used for 100 ms, then 200 ms, and so on up to 2 s while it fails.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "service/guard/guard_entries.h"
#include "service/guard/guard_int.h"
#include "service/guard/guard_lookups.h"

enum {
    OUT_MIN_MS = 100, /* time for which Redis is not used after a failure */
    OUT_MAX_MS = 2000,
    PAUSE_MIN_MS = 5, /* from *leased* to the next G2 */
    PAUSE_MAX_MS = 100,
    REFUSED_MS = 60000,   /* from one try of a filter in Redis that is refused to the next */
    BATCH_BYTES = 4 << 20 /* of values in a batch, unless one is larger */
};

/* Lookups in one call, with a reference to each. */
typedef struct redis_batch {
    guard_entry entries[GUARD_BATCH];
    guard_lookup *lookups[GUARD_BATCH];
    size_t count;
} redis_batch;

typedef enum redis_call { CALL_GET, CALL_STORE, CALL_RENEW, CALL_RELEASE } redis_call;

/* ---- failures of Redis ---- */

bool tamis__guard_redis_works(const guard_lookups *lookups, uint64_t now) {
    if (!lookups->guard->entries || now < lookups->redis_at)
        return false;
    return !lookups->call_since || now <= lookups->call_since + lookups->call_max;
}

void tamis__guard_redis_skip(guard_lookups *lookups, guard_lookup *lookup) {
    tamis_error why = TAMIS_ERROR_INIT;
    const tamis_guard *guard = lookups->guard;
    if (lookup->is_in_filter || !guard_needs_redis_filter(guard)) {
        tamis__guard_lookups_move(lookups, lookup, GUARD_STAGE_LOAD);
        return;
    }
    const tamis_status status = tamis__guard_fail_filter(guard, &why);
    tamis__guard_lookups_finish(lookups, lookup, status, &why);
}

static void skip_all(guard_lookups *lookups, guard_stage from) {
    guard_lookup *lookup;
    while ((lookup = tamis__guard_lookups_first(lookups, from)))
        tamis__guard_redis_skip(lookups, lookup);
}

void tamis__guard_redis_leave_out(guard_lookups *lookups, uint64_t now, const tamis_error *why) {
    const uint32_t doubled = 2 * lookups->redis_pause;
    lookups->redis_pause = doubled < OUT_MIN_MS ? OUT_MIN_MS : doubled > OUT_MAX_MS ? OUT_MAX_MS : doubled;
    lookups->redis_at = now + lookups->redis_pause * GUARD_NS_OF_MS;
    lookups->why_redis = *why;
    skip_all(lookups, GUARD_STAGE_REDIS);
}

void tamis__guard_redis_forget(guard_lookups *lookups, const tamis_key *keys, size_t count) {
    tamis_error why = TAMIS_ERROR_INIT;
    guard_entry entries[GUARD_BATCH];
    if (!lookups->guard->entries)
        return;
    for (size_t i = 0; i < count; i++)
        entries[i] = (guard_entry){.key = keys[i]};
    if (tamis__guard_entries_forget(lookups->guard->entries, entries, count, &why) == TAMIS_OK)
        return;
    count_up(&lookups->guard->counters.redis_errors, 1);
    if (why.status != TAMIS_E_IO && why.status != TAMIS_E_TIMEOUT)
        return;
    pthread_mutex_lock(&lookups->mutex);
    tamis__guard_redis_leave_out(lookups, tamis__now_ns(), &why);
    pthread_mutex_unlock(&lookups->mutex);
}

/* Lookups of a queue that are too old no longer wait for Redis. They are in the order of their times. */
static bool give_up_queue(guard_lookups *lookups, guard_stage stage, uint64_t now) {
    guard_lookup *lookup;
    bool found = false;
    while ((lookup = tamis__guard_lookups_first(lookups, stage)) && lookup->time + lookups->call_max <= now) {
        tamis__guard_redis_skip(lookups, lookup);
        found = true;
    }
    return found;
}

void tamis__guard_redis_give_up(guard_lookups *lookups, uint64_t now) {
    const bool in_batch = give_up_queue(lookups, GUARD_STAGE_BATCHED, now),
               in_queue = give_up_queue(lookups, GUARD_STAGE_REDIS, now);
    tamis_error why = TAMIS_ERROR_INIT;
    if (!in_batch && !in_queue)
        return;
    (void)tamis__fail(&why, TAMIS_E_TIMEOUT, 0, "%s: Redis has not answered for %u ms", lookups->guard->name,
                      (unsigned)(lookups->call_max / GUARD_NS_OF_MS));
    tamis__guard_redis_leave_out(lookups, now, &why);
}

/* ---- calls ---- */

static tamis_status send_batch(guard_entries *entries, redis_call call, redis_batch *batch,
                               tamis_error *err) {
    switch (call) {
    case CALL_GET:
        return tamis__guard_entries_get(entries, batch->entries, batch->count, err);
    case CALL_STORE:
        return tamis__guard_entries_store(entries, batch->entries, batch->count, err);
    case CALL_RENEW:
        return tamis__guard_entries_renew(entries, batch->entries, batch->count, err);
    default:
        return tamis__guard_entries_release(entries, batch->entries, batch->count, err);
    }
}

/* True if no key of a batch got a reply. */
static bool is_unanswered(const redis_batch *batch) {
    for (size_t i = 0; i < batch->count; i++)
        if (batch->entries[i].state != GUARD_ENTRY_UNKNOWN)
            return false;
    return true;
}

/* Sends a batch to Redis and waits for the replies. Unlocks meanwhile. */
static void call_redis(guard_lookups *lookups, redis_call call, redis_batch *batch) {
    tamis_error why = TAMIS_ERROR_INIT;
    lookups->call_since = tamis__now_ns();
    pthread_mutex_unlock(&lookups->mutex);
    const tamis_status status = send_batch(lookups->guard->entries, call, batch, &why);
    pthread_mutex_lock(&lookups->mutex);
    lookups->call_since = 0;
    if (status == TAMIS_OK) {
        lookups->redis_pause = 0;
        return;
    }
    count_up(&lookups->guard->counters.redis_errors, 1);
    const bool is_lost = status == TAMIS_E_IO || status == TAMIS_E_TIMEOUT;
    if (call == CALL_GET ? is_unanswered(batch) && status != TAMIS_E_MISMATCH : is_lost)
        tamis__guard_redis_leave_out(lookups, tamis__now_ns(), &why);
}

/* ---- batches ---- */

static void add_to_batch(redis_batch *batch, guard_lookup *lookup) {
    guard_entry *entry = &batch->entries[batch->count];
    *entry = (guard_entry){.key = {lookup->key, lookup->key_size}};
    memcpy(entry->token, lookup->token, sizeof entry->token);
    entry->blob = lookup->blob;
    lookup->references++;
    batch->lookups[batch->count++] = lookup;
}

static void release_batch(guard_lookups *lookups, redis_batch *batch) {
    for (size_t i = 0; i < batch->count; i++)
        tamis__guard_lookup_release(lookups, batch->lookups[i]);
    batch->count = 0;
}

/* Fills an empty batch from a queue, and moves its lookups to the next stage. */
static void fill_batch(guard_lookups *lookups, redis_batch *batch, guard_stage from, guard_stage to) {
    guard_lookup *lookup;
    size_t bytes = 0;
    batch->count = 0;
    while (batch->count < GUARD_BATCH && bytes < BATCH_BYTES &&
           (lookup = tamis__guard_lookups_first(lookups, from))) {
        bytes += lookup->blob ? tamis__guard_blob_bytes(lookup->blob).size : 0;
        add_to_batch(batch, lookup);
        tamis__guard_lookups_move(lookups, lookup, to);
    }
}

/* Stores entries, or releases leases. If Redis does not work, the leases expire. */
static bool end_leases(guard_lookups *lookups, redis_batch *batch, guard_stage from, redis_call call) {
    fill_batch(lookups, batch, from, GUARD_STAGE_DONE);
    if (batch->count == 0)
        return false;
    if (tamis__guard_redis_works(lookups, tamis__now_ns()))
        call_redis(lookups, call, batch);
    release_batch(lookups, batch);
    return true;
}

/* ---- G2 ---- */

/* Doubles the pause of a lookup, and varies it by half, so that processes do not poll together. */
static void pause_lookup(guard_lookups *lookups, guard_lookup *lookup) {
    const uint64_t now = tamis__now_ns();
    lookup->pause_ms = guard_next_pause(lookup->pause_ms, PAUSE_MIN_MS, PAUSE_MAX_MS);
    const uint64_t pause = lookup->pause_ms * GUARD_NS_OF_MS;
    lookup->time = now + pause / 2 + pause * ((lookup->hash.high ^ now) % 1024) / 1024;
    tamis__guard_lookups_move(lookups, lookup, GUARD_STAGE_PAUSED);
}

static void accept_lease(guard_lookups *lookups, guard_lookup *lookup, const guard_entry *entry,
                         uint64_t sent) {
    lookup->has_lease = true;
    memcpy(lookup->token, entry->token, sizeof lookup->token);
    lookup->time = sent + lookups->guard->options.lease_ms * GUARD_NS_OF_MS / 3;
    tamis__guard_lookups_move(lookups, lookup, GUARD_STAGE_LOAD);
}

/* Applies a reply to a lookup that waited for it. */
static void apply_reply(guard_lookups *lookups, guard_lookup *lookup, const guard_entry *entry,
                        uint64_t sent) {
    const bool is_needed = !guard_ring_is_empty(&lookup->waiters);
    if (entry->state == GUARD_ENTRY_FOUND) {
        lookup->blob = entry->blob;
        count_up(&lookups->guard->counters.redis_hits, 1);
        tamis__guard_lookups_finish(lookups, lookup, TAMIS_OK, NULL);
        return;
    }
    if (entry->state == GUARD_ENTRY_GRANTED)
        accept_lease(lookups, lookup, entry, sent);
    if (!is_needed) {
        tamis__guard_lookups_drop(lookups, lookup);
        return;
    }
    if (entry->state == GUARD_ENTRY_LEASED)
        pause_lookup(lookups, lookup);
    else if (entry->state != GUARD_ENTRY_GRANTED)
        tamis__guard_lookups_move(lookups, lookup, GUARD_STAGE_LOAD);
    if (entry->state == GUARD_ENTRY_MARKED)
        lookup->is_cacheable = false;
}

/* Applies all replies. Leases that came too late remain in the batch. */
static void apply_replies(guard_lookups *lookups, redis_batch *batch, uint64_t sent) {
    size_t left = 0;
    for (size_t i = 0; i < batch->count; i++) {
        guard_lookup *lookup = batch->lookups[i];
        guard_entry *entry = &batch->entries[i];
        const bool has_waited = lookup->stage == GUARD_STAGE_BATCHED;
        if (has_waited)
            apply_reply(lookups, lookup, entry, sent);
        else
            tamis__guard_blob_release(entry->blob);
        entry->blob = NULL;
        if (has_waited || entry->state != GUARD_ENTRY_GRANTED) {
            tamis__guard_lookup_release(lookups, lookup);
            continue;
        }
        batch->lookups[left] = lookup;
        batch->entries[left++] = *entry;
    }
    batch->count = left;
}

/* ---- the filter in Redis ---- */

/* Answers a lookup whose key is absent. False: memory is short. It is not cached, so that a key that is added
 * now is found at once. */
static bool answer_absent(guard_lookups *lookups, guard_lookup *lookup) {
    lookup->blob = tamis__guard_blob_create(&lookups->guard->memory, NULL, 0);
    if (!lookup->blob)
        return false;
    lookup->is_cacheable = false;
    count_up(&lookups->guard->counters.absent, 1);
    tamis__guard_lookups_finish(lookups, lookup, TAMIS_OK, NULL);
    return true;
}

/* Returns the pause after an error of the filter itself. A filter of RedisBloom is read whole to be refused. */
static uint64_t filter_pause(const guard_lookups *lookups, tamis_status status) {
    const uint32_t pause = lookups->guard->options.scan_new_ms;
    return status == TAMIS_E_UNSUPPORTED && pause < REFUSED_MS ? REFUSED_MS : pause;
}

/* True if the filter answers, or is to be tried again. */
static bool may_query_filter(const guard_lookups *lookups) {
    return tamis__guard_redis_filter_works(lookups->guard->redis_filter) ||
           tamis__now_ns() >= lookups->filter_at;
}

/* Queries the filter. Unlocks meanwhile. */
static tamis_status query_filter(guard_lookups *lookups, const tamis_key *keys, size_t count,
                                 tamis_answer *answers) {
    tamis_error why = TAMIS_ERROR_INIT;
    lookups->call_since = tamis__now_ns();
    pthread_mutex_unlock(&lookups->mutex);
    const tamis_status status =
        tamis__guard_redis_filter_find(lookups->guard->redis_filter, keys, count, answers, &why);
    pthread_mutex_lock(&lookups->mutex);
    lookups->call_since = 0;
    if (status == TAMIS_OK) {
        lookups->redis_pause = 0;
        return TAMIS_OK;
    }
    if (status != TAMIS_E_IO && status != TAMIS_E_TIMEOUT) {
        lookups->filter_at = tamis__now_ns() + filter_pause(lookups, status) * GUARD_NS_OF_MS;
        return status;
    }
    count_up(&lookups->guard->counters.redis_errors, 1);
    tamis__guard_redis_leave_out(lookups, tamis__now_ns(), &why);
    return status;
}

/* Applies the answer of the filter to a lookup. NULL: there was none. True: the lookup goes on to G2. */
static bool apply_filter_answer(guard_lookups *lookups, guard_lookup *lookup, const tamis_answer *answer) {
    if (lookup->stage != GUARD_STAGE_BATCHED)
        return false;
    if (answer && *answer == TAMIS_ABSENT)
        return !answer_absent(lookups, lookup);
    if (answer)
        lookup->is_in_filter = true;
    if (tamis__guard_redis_works(lookups, tamis__now_ns()) &&
        (lookup->is_in_filter || !guard_needs_redis_filter(lookups->guard)))
        return true;
    tamis__guard_redis_skip(lookups, lookup);
    return false;
}

/* Answers lookups of a batch whose key the filter does not have. Those that need an entry remain in it. */
static void filter_batch(guard_lookups *lookups, redis_batch *batch) {
    tamis_answer answers[GUARD_BATCH];
    tamis_key keys[GUARD_BATCH];
    size_t left = 0;
    for (size_t i = 0; i < batch->count; i++)
        keys[i] = batch->entries[i].key;
    const bool is_answered =
        may_query_filter(lookups) && query_filter(lookups, keys, batch->count, answers) == TAMIS_OK;
    for (size_t i = 0; i < batch->count; i++) {
        guard_lookup *lookup = batch->lookups[i];
        if (apply_filter_answer(lookups, lookup, is_answered ? &answers[i] : NULL)) {
            batch->lookups[left] = lookup;
            batch->entries[left++] = batch->entries[i];
        } else {
            tamis__guard_lookup_release(lookups, lookup);
        }
    }
    batch->count = left;
}

/* While the filter does not answer, queries it again. Returns when to try again, or `next` if that
 * is earlier. */
static uint64_t retry_filter(guard_lookups *lookups, uint64_t next) {
    const tamis_guard *guard = lookups->guard;
    const tamis_key key = {"", 0};
    const uint64_t now = tamis__now_ns();
    tamis_answer answer;
    if (!guard->redis_filter || tamis__guard_redis_filter_works(guard->redis_filter))
        return next;
    if (now >= lookups->filter_at && tamis__guard_redis_works(lookups, now) &&
        query_filter(lookups, &key, 1, &answer) == TAMIS_OK)
        return next;
    const uint64_t retry = lookups->filter_at > lookups->redis_at ? lookups->filter_at : lookups->redis_at;
    return retry < next ? retry : next;
}

static bool get_entries(guard_lookups *lookups, redis_batch *batch) {
    const uint64_t now = tamis__now_ns();
    if (!tamis__guard_redis_works(lookups, now))
        skip_all(lookups, GUARD_STAGE_REDIS);
    fill_batch(lookups, batch, GUARD_STAGE_REDIS, GUARD_STAGE_BATCHED);
    if (batch->count == 0)
        return false;
    if (lookups->guard->redis_filter)
        filter_batch(lookups, batch);
    if (batch->count > 0) {
        call_redis(lookups, CALL_GET, batch);
        apply_replies(lookups, batch, now);
    }
    if (batch->count > 0)
        call_redis(lookups, CALL_RELEASE, batch);
    release_batch(lookups, batch);
    return true;
}

/* ---- times: pauses and renewals ---- */

/* Queues lookups whose pause is over. Returns the end of the next pause, or `next` if that is earlier. */
static uint64_t end_pauses(guard_lookups *lookups, uint64_t now, uint64_t next) {
    guard_node *queue = &lookups->queues[GUARD_STAGE_PAUSED];
    for (guard_node *node = queue->next, *after; node != queue; node = after) {
        guard_lookup *lookup = GUARD_OWNER(node, guard_lookup, queue);
        after = node->next;
        if (lookup->time > now) {
            next = lookup->time < next ? lookup->time : next;
            continue;
        }
        lookup->time = now;
        tamis__guard_lookups_move(lookups, lookup, GUARD_STAGE_REDIS);
    }
    return next;
}

/* Adds lookups to the batch whose lease is to be renewed. Returns when the next one is. */
static uint64_t fill_renewals(guard_lookups *lookups, redis_batch *batch, guard_stage stage, uint64_t next) {
    const uint64_t now = tamis__now_ns(), third = lookups->guard->options.lease_ms * GUARD_NS_OF_MS / 3;
    guard_node *queue = &lookups->queues[stage];
    for (guard_node *node = queue->next; node != queue; node = node->next) {
        guard_lookup *lookup = GUARD_OWNER(node, guard_lookup, queue);
        if (!lookup->has_lease)
            continue;
        if (lookup->time <= now && batch->count < GUARD_BATCH) {
            lookup->time = now + third;
            add_to_batch(batch, lookup);
        }
        next = lookup->time < next ? lookup->time : next;
    }
    return next;
}

static uint64_t renew_leases(guard_lookups *lookups, redis_batch *batch, uint64_t next) {
    batch->count = 0;
    next = fill_renewals(lookups, batch, GUARD_STAGE_LOADING, next);
    next = fill_renewals(lookups, batch, GUARD_STAGE_LOAD, next);
    if (batch->count > 0 && tamis__guard_redis_works(lookups, tamis__now_ns()))
        call_redis(lookups, CALL_RENEW, batch);
    release_batch(lookups, batch);
    return next;
}

/* ---- the thread ---- */

/* Returns how often leases are checked. */
static uint64_t renewal_interval(const guard_lookups *lookups) {
    return lookups->guard->options.lease_ms * GUARD_NS_OF_MS / 6;
}

/* True if there is something to do. It may have come while the mutex was unlocked. */
static bool has_queued(guard_lookups *lookups) {
    return tamis__guard_lookups_first(lookups, GUARD_STAGE_REDIS) ||
           tamis__guard_lookups_first(lookups, GUARD_STAGE_STORE) ||
           tamis__guard_lookups_first(lookups, GUARD_STAGE_RELEASE);
}

void *tamis__guard_redis_run(void *context) {
    guard_lookups *lookups = context;
    redis_batch batch;
    uint64_t renew_at = 0;
    batch.count = 0;
    pthread_mutex_lock(&lookups->mutex);
    while (!lookups->is_redis_thread_over) {
        const uint64_t now = tamis__now_ns();
        if (now >= renew_at)
            renew_at = renew_leases(lookups, &batch, now + renewal_interval(lookups));
        const uint64_t next = retry_filter(lookups, end_pauses(lookups, now, renew_at));
        bool has_worked = end_leases(lookups, &batch, GUARD_STAGE_STORE, CALL_STORE);
        has_worked |= end_leases(lookups, &batch, GUARD_STAGE_RELEASE, CALL_RELEASE);
        has_worked |= get_entries(lookups, &batch);
        if (!has_worked && !has_queued(lookups) && !lookups->is_redis_thread_over)
            (void)tamis__cond_wait(&lookups->redis_cond, &lookups->mutex, next);
    }
    pthread_mutex_unlock(&lookups->mutex);
    return NULL;
}

void tamis__guard_redis_finish(guard_lookups *lookups) {
    redis_batch batch;
    bool is_left = true;
    pthread_mutex_lock(&lookups->mutex);
    while (is_left) {
        is_left = end_leases(lookups, &batch, GUARD_STAGE_STORE, CALL_STORE);
        is_left |= end_leases(lookups, &batch, GUARD_STAGE_RELEASE, CALL_RELEASE);
    }
    pthread_mutex_unlock(&lookups->mutex);
}
