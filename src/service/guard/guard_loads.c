/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Source threads: each has one session with the source, and runs one query at a time. So the number of
 * queries at once is bounded by the number of threads.
 *
 *     no session --> connect --> session --> query, query, ... --TAMIS_E_IO, TAMIS_E_TIMEOUT--> no session
 *         ^             |
 *         +-- pause <---+ fails: 50 ms, doubled up to 1 s
 *
 * A thread connects when there is something to load. The database may have closed a session that was used
 * before, so a query that fails on such a session is repeated. Each repetition costs such a session, so there
 * are at most as many as threads.
 *
 * The source is down if no session is open and the last attempt failed. Then waiting for it does not help:
 * every queued lookup gets the error of that attempt at once, and the threads keep trying.
 */
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "service/guard/guard_int.h"
#include "service/guard/guard_lookups.h"
#include "service/guard/guard_source.h"

enum { PAUSE_MIN_MS = 50, PAUSE_MAX_MS = 1000 };

/* The session of a source thread. */
typedef struct load_session {
    void *handle;      /* NULL: none */
    bool is_idle;      /* used before, or waited for a query: the database may have closed it since */
    uint32_t pause_ms; /* after the last failure; 0: none */
    uint64_t retry_at;
} load_session;

tamis_error tamis__guard_no_message(const tamis_guard *guard) {
    tamis_error why = TAMIS_ERROR_INIT;
    (void)tamis__fail(&why, TAMIS_E_IO, 0, "%s: the source failed, and gave no reason", guard->name);
    return why;
}

/* ---- connecting; the mutex is locked, and unlocked meanwhile ---- */

static void answer_queued(guard_lookups *lookups, const tamis_error *why) {
    guard_lookup *lookup;
    while ((lookup = tamis__guard_lookups_first(lookups, GUARD_STAGE_LOAD)))
        tamis__guard_lookups_finish(lookups, lookup, why->status, why);
}

static void note_failure(guard_lookups *lookups, load_session *session, const tamis_error *why) {
    session->pause_ms = guard_next_pause(session->pause_ms, PAUSE_MIN_MS, PAUSE_MAX_MS);
    session->retry_at = tamis__now_ns() + session->pause_ms * (uint64_t)1000000;
    if (lookups->connected == 0) {
        lookups->is_down = true;
        lookups->why_down = *why;
    }
    /* An idle thread with a session takes over the lookup for which this one was woken. If the source is down,
     * idle threads pause and wait for down_cond. */
    pthread_cond_broadcast(&lookups->load_cond);
}

static void connect_session(guard_lookups *lookups, load_session *session) {
    const tamis_guard *guard = lookups->guard;
    tamis_error why = tamis__guard_no_message(guard);
    void *handle = NULL;
    pthread_mutex_unlock(&lookups->mutex);
    const tamis_status status =
        guard->source.connect(guard->source.context, guard->options.timeout_ms, &handle, &why);
    pthread_mutex_lock(&lookups->mutex);
    if (status != TAMIS_OK) {
        why.status = status;
        note_failure(lookups, session, &why);
        return;
    }
    session->handle = handle;
    session->is_idle = false;
    lookups->connected++;
    if (lookups->is_down) { /* wakes the threads that pause */
        lookups->is_down = false;
        pthread_cond_broadcast(&lookups->down_cond);
    }
}

static void close_session(guard_lookups *lookups, load_session *session) {
    void *handle = session->handle;
    session->handle = NULL;
    lookups->connected--;
    pthread_mutex_unlock(&lookups->mutex);
    lookups->guard->source.disconnect(handle);
    pthread_mutex_lock(&lookups->mutex);
}

/* Waits until the next attempt. While the source is down, queued lookups get its error. */
static void wait_to_retry(guard_lookups *lookups, const load_session *session) {
    while (!lookups->is_closing && tamis__now_ns() < session->retry_at) {
        if (lookups->is_down) {
            const tamis_error why = lookups->why_down;
            answer_queued(lookups, &why);
        }
        if (!lookups->is_closing)
            (void)tamis__cond_wait(&lookups->down_cond, &lookups->mutex, session->retry_at);
    }
}

/* ---- loading ---- */

static void count_load(guard_counters *counters, tamis_status status, bool is_missing, uint64_t us) {
    uint32_t step = 0;
    while (step < TAMIS_GUARD_LATENCY_STEPS - 1 && us >= (uint64_t)250 << step)
        step++;
    count_up(&counters->load_us, us);
    count_up(&counters->load_steps[step], 1);
    count_up(status == TAMIS_OK ? &counters->loads : &counters->failed_loads, 1);
    if (status == TAMIS_OK && is_missing)
        count_up(&counters->missing_loads, 1);
}

/* Runs the query of a lookup. The mutex is not locked. */
static tamis_status load_row(tamis_guard *guard, void *session, const guard_lookup *lookup, guard_blob **blob,
                             tamis_error *why) {
    tamis_guard_row row = {.allocator = &guard->memory};
    const uint64_t start = tamis__now_ns();
    tamis_status status = guard->source.load(session, (tamis_key){lookup->key, lookup->key_size},
                                             guard->options.timeout_ms, &row, why);
    count_load(&guard->counters, status, !row.blob, (tamis__now_ns() - start) / 1000);
    if (status == TAMIS_OK && !row.blob) {
        row.blob = tamis__guard_blob_create(&guard->memory, NULL, 0);
        if (!row.blob)
            status = tamis__fail_nomem(why, guard->name, 1);
    }
    if (status != TAMIS_OK) {
        tamis__guard_blob_release(row.blob);
        return status;
    }
    *blob = row.blob;
    return TAMIS_OK;
}

/* After a query that failed. True if the lookup is queued again. */
static bool recover_session(guard_lookups *lookups, load_session *session, guard_lookup *lookup,
                            const tamis_error *why) {
    if (why->status != TAMIS_E_IO && why->status != TAMIS_E_TIMEOUT)
        return false;
    close_session(lookups, session);
    if (!session->is_idle) {
        note_failure(lookups, session, why);
        return false;
    }
    if (why->status != TAMIS_E_IO || lookup->repeats == lookups->guard->options.sessions)
        return false;
    lookup->repeats++;
    tamis__guard_lookups_move(lookups, lookup, GUARD_STAGE_LOAD);
    return true;
}

static void load_next(guard_lookups *lookups, load_session *session) {
    tamis_error why = tamis__guard_no_message(lookups->guard);
    guard_lookup *lookup = tamis__guard_lookups_first(lookups, GUARD_STAGE_LOAD);
    if (!lookup)
        return;
    tamis__guard_lookups_move(lookups, lookup, GUARD_STAGE_LOADING);
    guard_blob *blob = NULL;
    pthread_mutex_unlock(&lookups->mutex);
    why.status = load_row(lookups->guard, session->handle, lookup, &blob, &why);
    pthread_mutex_lock(&lookups->mutex);
    lookup->blob = blob;
    if (why.status == TAMIS_OK) {
        session->is_idle = true;
        session->pause_ms = 0;
    } else {
        lookups->why_query = why;
        if (recover_session(lookups, session, lookup, &why))
            return;
    }
    tamis__guard_lookups_finish(lookups, lookup, why.status, &why);
}

void *tamis__guard_load_rows(void *context) {
    guard_lookups *lookups = context;
    load_session session = {0};
    pthread_mutex_lock(&lookups->mutex);
    session.handle = lookups->first_session;
    session.is_idle = true;
    lookups->first_session = NULL;
    while (!lookups->is_closing) {
        if (session.handle && tamis__guard_lookups_first(lookups, GUARD_STAGE_LOAD))
            load_next(lookups, &session);
        else if (!session.handle && tamis__now_ns() < session.retry_at)
            wait_to_retry(lookups, &session);
        else if (!session.handle &&
                 (lookups->is_down || tamis__guard_lookups_first(lookups, GUARD_STAGE_LOAD)))
            connect_session(lookups, &session);
        else {
            pthread_cond_wait(&lookups->load_cond, &lookups->mutex);
            session.is_idle = true;
        }
    }
    if (session.handle)
        close_session(lookups, &session);
    pthread_mutex_unlock(&lookups->mutex);
    return NULL;
}
