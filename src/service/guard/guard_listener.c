/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys that the database reports.
 *
 *     listener   connect, listen | keys ... | lost   pause   connect, listen | keys ...
 *     filter                     scan                                        scan
 *
 * A row is committed before the session listens, or is reported. So a scan that begins after that, and the
 * reports, together have all keys. After a lost session the same holds from the next scan on; until then the
 * filter may lack rows of that time. Reported keys also lose their cached answers.
 */
#include "service/guard/guard_listener.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "service/guard/guard_filter.h"
#include "service/guard/guard_int.h"
#include "service/guard/guard_lookups.h"
#include "service/guard/guard_source.h"

enum {
    WAIT_MS = 100, /* of one call of `listen`. tamis_guard_close waits for it, and for a call to Redis */
    PAUSE_MIN_MS = 100,
    PAUSE_MAX_MS = 60000,
    CONNECT_PAUSE_MAX_MS = 2000 /* a database that is back is used soon */
};

struct guard_listener {
    tamis_guard *guard;
    void *session;     /* NULL: none */
    uint32_t pause_ms; /* after a failure, doubled each time; 0: none */
    atomic_bool is_listening;
    atomic_uint_fast64_t keys;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex; /* protects all fields below */
    pthread_cond_t cond;
    bool is_closing;
};

/* Adds up to GUARD_BATCH keys to the filter, and deletes their cached answers, also if the filter cannot take
 * them. The cache is last: a lookup that read the old entry before its deletion may have cached it by then. */
static tamis_status add_batch(tamis_guard *guard, const tamis_key *keys, size_t count, tamis_error *err) {
    tamis_hash hashes[GUARD_BATCH];
    tamis_status status = tamis_hash_many(guard->hasher, keys, count, hashes, err);
    if (status != TAMIS_OK)
        return status;
    for (size_t i = 0; status == TAMIS_OK && i < count; i++)
        status = tamis__guard_filter_add(guard->filter, keys[i], &hashes[i], err);
    tamis__guard_redis_forget(guard->lookups, keys, count);
    for (size_t i = 0; i < count; i++)
        tamis__guard_lookups_unmark(guard->lookups, guard_hash_of(&hashes[i]), NULL);
    return status;
}

static tamis_status add_keys(void *context, const tamis_key *keys, size_t count, tamis_error *err) {
    guard_listener *listener = context;
    tamis_status status = TAMIS_OK;
    for (size_t pos = 0; pos < count; pos += GUARD_BATCH) {
        const size_t batch = count - pos < GUARD_BATCH ? count - pos : GUARD_BATCH;
        const tamis_status added =
            add_batch(listener->guard, keys + pos, batch, status == TAMIS_OK ? err : NULL);
        status = status == TAMIS_OK ? added : status;
    }
    if (status != TAMIS_OK)
        tamis__guard_filter_drop(listener->guard->filter, err);
    atomic_fetch_add(&listener->keys, count);
    return status;
}

static tamis_status listen_once(guard_listener *listener, uint32_t timeout_ms, tamis_error *err) {
    tamis_guard_scan scan = {add_keys, listener};
    return listener->guard->source.listen(listener->session, timeout_ms, &scan, err);
}

/* Opens a session that listens, and has the filter scan after that. */
static tamis_status begin_listening(guard_listener *listener, tamis_error *err) {
    const tamis_guard *guard = listener->guard;
    tamis_status status =
        guard->source.connect(guard->source.context, guard->options.timeout_ms, &listener->session, err);
    if (status == TAMIS_OK)
        status = listen_once(listener, guard->options.timeout_ms, err);
    if (status != TAMIS_OK)
        return status;
    atomic_store(&listener->is_listening, true);
    tamis__guard_filter_request_scan(guard->filter);
    return TAMIS_OK;
}

static void end_listening(guard_listener *listener) {
    atomic_store(&listener->is_listening, false);
    if (listener->session)
        listener->guard->source.disconnect(listener->session);
    listener->session = NULL;
}

/* Returns false when the guard is being closed. */
static bool wait_for_turn(guard_listener *listener) {
    const uint64_t time = tamis__now_ns() + listener->pause_ms * GUARD_NS_OF_MS;
    pthread_mutex_lock(&listener->mutex);
    while (!listener->is_closing && tamis__now_ns() < time)
        (void)tamis__cond_wait(&listener->cond, &listener->mutex, time);
    const bool goes_on = !listener->is_closing;
    pthread_mutex_unlock(&listener->mutex);
    return goes_on;
}

static void *listen_to_source(void *context) {
    guard_listener *listener = context;
    while (wait_for_turn(listener)) {
        tamis_error why = TAMIS_ERROR_INIT;
        why.status =
            listener->session ? listen_once(listener, WAIT_MS, &why) : begin_listening(listener, &why);
        if (why.status == TAMIS_OK) {
            listener->pause_ms = 0;
            continue;
        }
        const uint32_t max = listener->session ? PAUSE_MAX_MS : CONNECT_PAUSE_MAX_MS;
        end_listening(listener);
        tamis__guard_filter_note_failure(listener->guard->filter, &why);
        listener->pause_ms = guard_next_pause(listener->pause_ms, PAUSE_MIN_MS, max);
    }
    end_listening(listener);
    return NULL;
}

tamis_status tamis__guard_listener_create(guard_listener **listener, tamis_guard *guard, tamis_error *err) {
    guard_listener *made = tamis__alloc(&guard->memory, sizeof *made, _Alignof(guard_listener));
    if (!made)
        return tamis__fail_nomem(err, guard->name, sizeof *made);
    made->guard = guard;
    (void)pthread_mutex_init(&made->mutex, NULL);
    tamis__cond_init(&made->cond);
    *listener = made;
    const int failed = tamis__thread_create(&made->thread, listen_to_source, made);
    made->has_thread = !failed;
    if (failed)
        return tamis__fail(err, TAMIS_E_SYSTEM, failed,
                           "%s: cannot start a thread: %s; raise the limit of threads", guard->name,
                           strerror(failed));
    return TAMIS_OK;
}

void tamis__guard_listener_stop(guard_listener *listener) {
    if (!listener || !listener->has_thread)
        return;
    pthread_mutex_lock(&listener->mutex);
    listener->is_closing = true;
    pthread_cond_broadcast(&listener->cond);
    pthread_mutex_unlock(&listener->mutex);
    pthread_join(listener->thread, NULL);
    listener->has_thread = false;
}

void tamis__guard_listener_free(guard_listener *listener) {
    if (!listener)
        return;
    tamis__guard_listener_stop(listener);
    pthread_cond_destroy(&listener->cond);
    pthread_mutex_destroy(&listener->mutex);
    tamis__free(&listener->guard->memory, listener, sizeof *listener);
}

void tamis__guard_listener_stats(const guard_listener *listener, tamis_guard_stats *stats) {
    stats->is_listening = atomic_load(&listener->is_listening);
    stats->reported_keys = atomic_load(&listener->keys);
}
