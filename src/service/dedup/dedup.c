/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The dedup session: a filter that answers "absent" or "present" for each key, with counts and, over a state,
 * a log.
 *
 *     caller --keys--> filter --answers--> count_answers --answers--> caller
 *                                                |
 *                                                +--> counts
 *                                                +--> new keys --> queue (dedup_log.h) --> log of the state
 *
 * Every answer passes count_answers exactly once. With one thread they pass it in order, so the log has the
 * new keys in the filter's order and replays to the same filter.
 *
 * Many threads may use a session if its filter is concurrent (filter/concurrent.h). Their answers pass
 * count_answers in any order and are only counted there. The filter itself passes each new key to the log
 * while it holds the lock of the key's part. Keys of different parts have no line in common, and keys of one
 * part are logged in the order in which they were added. So this log too replays to the same filter.
 *
 * Keys of a window have times: dedup_timed.c.
 *
 * A batch may be divided among threads by parts of the filter (dedup_parts.h). count_answers then runs
 * once, after all parts have returned.
 */
#include <inttypes.h>
#include <math.h>

#include <tamis/dedup.h>
#include <tamis/experimental/state.h>

#include "base/memory.h"
#include "base/versioned.h"
#include "filter/concurrent.h"
#include "filter/filter_int.h"
#include "filter/parts.h"
#include "service/dedup/dedup_commits.h"
#include "service/dedup/dedup_int.h"
#include "service/dedup/dedup_parts.h"

/* Calls of tamis_dedup_expect that the share of new keys is averaged over; older calls count less and
 * less. */
enum { SMOOTHING = 16 };

/* A false "present" loses a record, so the promised rate must be possible. n keys with digests of b bits
 * collide at a rate of at least n/2^b. */
static tamis_status check_filter(const tamis_filter *filter, tamis_error *err) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    const tamis_scheme scheme = tamis_hasher_scheme(tamis_filter_hasher(filter));
    const uint32_t bits = tamis_scheme_digest_bits(scheme);
    if (tamis__filter_can_count(filter))
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "dedup session: kind %s counts a key again each time it comes; use kind fingerprint "
            "or exact",
            tamis_kind_name(plan->kind));
    if (bits >= 128 ||
        (bits > 0 && plan->capacity > 0 && plan->fpr >= ldexp((double)plan->capacity, -(int)bits)))
        return TAMIS_OK;
    if (bits == 0)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "scheme %s: has no digest to know a record by, only a poor hash for each probe; use another "
            "scheme, such as xxh3",
            tamis_scheme_name(scheme));
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "scheme %s: its digest has %" PRIu32
                       " bits, too few for the rate that is promised; use another scheme, such as xxh3",
                       tamis_scheme_name(scheme), bits);
}

/* Sets the statistics of the state before any batch: a run may commit records without keys while another
 * thread already queries later ones. */
static void set_first_stats(const tamis_dedup *session) {
    const tamis__filter_stats stats = tamis__filter_stats_get(session->filter);
    if (session->log.state && !session->is_concurrent)
        tamis__state_stats_set(session->log.state, &stats);
}

/* The positions become those of the last commit. */
static tamis_status load_positions(tamis_dedup *session, tamis_error *err) {
    const void *committed;
    size_t size;
    tamis_state_committed(session->log.state, &committed, &size);
    return tamis__dedup_deliveries_load(&session->positions, committed, size, err);
}

tamis_status tamis_dedup_open(tamis_dedup **session, tamis_filter *filter, const tamis_dedup_options *options,
                              tamis_error *err) {
    TAMIS__NEED(session, err);
    tamis_dedup_options checked = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&checked, sizeof checked, options, "TAMIS_DEDUP_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (session && checked.state && !filter)
        filter = tamis_state_filter(checked.state);
    if (!session || !filter)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "dedup session: no filter, or no pointer for the session; give both");
    if (checked.state && filter != tamis_state_filter(checked.state))
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "dedup session: its filter is not that of its state; give no filter beside a state");
    status = check_filter(filter, err);
    if (status == TAMIS_OK && checked.state)
        status = tamis__state_check_logged(checked.state, err);
    if (status != TAMIS_OK)
        return status;
    if (checked.on_full != TAMIS_ON_FULL_FAIL && checked.on_full != TAMIS_ON_FULL_PASS)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "dedup session: on_full is %d; use TAMIS_ON_FULL_FAIL or TAMIS_ON_FULL_PASS",
                           (int)checked.on_full);
    tamis_allocator memory = tamis__allocator_resolve(checked.allocator);
    tamis_dedup *made = tamis__alloc(&memory, sizeof *made, _Alignof(tamis_dedup));
    if (!made)
        return tamis__fail_nomem(err, "dedup session", sizeof *made);
    made->filter = filter;
    made->on_full = checked.on_full;
    made->ahead = checked.ahead ? checked.ahead : tamis_filter_plan(filter)->step;
    made->memory = memory;
    made->is_concurrent = filter->concurrent != NULL;
    (void)pthread_mutex_init(&made->commits, NULL); /* cannot fail without attributes */
    if (checked.state)
        tamis__dedup_log_init(&made->log, checked.state, &memory);
    if (made->is_concurrent && checked.state)
        tamis__dedup_log_listen(&made->log, filter);
    made->added_before = filter->added;
    made->positions.memory = memory;
    set_first_stats(made);
    status = checked.state ? load_positions(made, err) : TAMIS_OK;
    if (status == TAMIS_OK)
        *session = made;
    else
        tamis_dedup_close(made);
    return status;
}

void tamis_dedup_close(tamis_dedup *session) {
    if (!session)
        return;
    tamis_allocator memory = session->memory;
    if (session->is_concurrent && session->filter && session->log.state &&
        tamis_state_filter(session->log.state) == session->filter)
        tamis__concurrent_listen(session->filter, NULL);
    pthread_mutex_destroy(&session->commits);
    tamis__dedup_log_release(&session->log);
    tamis__free(&memory, session->hashes, session->hashes_capacity * sizeof *session->hashes);
    tamis__dedup_release_times(session);
    tamis__source_positions_release(&session->positions);
    tamis__free(&memory, session, sizeof *session);
}

/* Keys that the filter has if nobody but the session put keys in. May wrap on the way. */
static uint64_t count_own(const tamis_dedup *session) {
    return session->added_before + session->counts.absent + session->renewed;
}

/* The filter's own count does not include a batch in parts yet, so the keys are counted here. */
static void log_batch(tamis_dedup *session, const tamis_hash *hashes, const tamis_answer *answers,
                      size_t count) {
    tamis__filter_stats stats = tamis__filter_stats_get(session->filter);
    stats.added = count_own(session);
    tamis__dedup_log_append(&session->log, hashes, answers, count, &stats);
}

uint64_t tamis__dedup_sum_answers(tamis_dedup *session, const tamis_answer *answers, size_t count) {
    uint64_t present = 0, unknown = 0, late = 0;
    for (size_t i = 0; i < count; i++) {
        present += answers[i] == TAMIS_PRESENT;
        unknown += answers[i] == TAMIS_UNKNOWN;
        late += answers[i] == TAMIS_LATE;
    }
    const uint64_t absent = count - present - unknown - late;
    __atomic_fetch_add(&session->counts.present, present, __ATOMIC_RELAXED);
    __atomic_fetch_add(&session->counts.unknown, unknown, __ATOMIC_RELAXED);
    __atomic_fetch_add(&session->counts.late, late, __ATOMIC_RELAXED);
    __atomic_fetch_add(&session->counts.absent, absent, __ATOMIC_RELAXED);
    return absent;
}

/* Passes `count` final answers on: counts them, and queues the new keys for the log. Returns how many are
 * new. `hashes` may be NULL if there is no log. */
static uint64_t count_answers(tamis_dedup *session, const tamis_hash *hashes, const tamis_answer *answers,
                              size_t count) {
    const uint64_t absent = tamis__dedup_sum_answers(session, answers, count);
    if (session->log.state && !session->is_concurrent)
        log_batch(session, hashes, answers, count);
    return absent;
}

/* A query: hashes, or keys if `hashes` is NULL; of one part if `parts` > 1. */
typedef struct key_batch {
    const tamis_key *keys;
    const tamis_hash *hashes;
    size_t count;
    tamis_answer *answers;
    uint32_t part, parts;
} key_batch;

/* Returns `count` keys of the batch from key `from` on. */
static key_batch slice_of(const key_batch *batch, size_t from, size_t count) {
    key_batch slice = *batch;
    slice.keys = batch->keys ? batch->keys + from : NULL;
    slice.hashes = batch->hashes ? batch->hashes + from : NULL;
    slice.count = count;
    slice.answers = batch->answers + from;
    return slice;
}

static tamis_status add(tamis_filter *filter, const key_batch *batch, size_t *done, tamis_error *err) {
    if (batch->count == 0) { /* `keys` and `answers` may be NULL */
        *done = 0;
        return TAMIS_OK;
    }
    if (!batch->hashes)
        return tamis_filter_add_many(filter, batch->keys, batch->count, batch->answers, done, err);
    const tamis__divided_batch divided = {
        .hashes = batch->hashes, .count = batch->count, .answers = batch->answers, .parts = batch->parts};
    return tamis__filter_add_part(filter, &divided, batch->part, done, err);
}

/*
 * Queries a batch and continues after keys that the full filter refuses. The filter stops at such a key, and
 * its work on the rest of the batch was wasted. So after a stop it gets one key, then two, then four. The
 * wasted work stays below the number of keys answered since the last stop.
 */
static tamis_status add_passing(tamis_dedup *session, const key_batch *batch, size_t *done,
                                tamis_error *err) {
    tamis_error full_err = TAMIS_ERROR_INIT; /* a full filter sets it, which is not an error here */
    const size_t count = batch->count;
    size_t chunk = count;
    size_t pos = 0;
    while (pos < count) {
        const key_batch given = slice_of(batch, pos, chunk < count - pos ? chunk : count - pos);
        size_t answered = 0;
        const tamis_status status = add(session->filter, &given, &answered, &full_err);
        pos += answered;
        if (status == TAMIS_E_FULL) {
            batch->answers[pos++] = TAMIS_UNKNOWN;
            chunk = 1;
        } else if (status != TAMIS_OK) {
            *done = pos;
            return tamis__fail(err, status, full_err.sys_errno, "%s", full_err.text);
        } else if (chunk < count) {
            chunk *= 2;
        }
    }
    *done = pos;
    return TAMIS_OK;
}

/*
 * The same for a concurrent filter. It may have added keys after the one that it refused. Those have their
 * answers and must not be queried again, since they would now be present. All `answers` are TAMIS_UNKNOWN at
 * first.
 */
static tamis_status add_passing_concurrent(tamis_dedup *session, const key_batch *batch, size_t *done,
                                           tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT; /* a full filter sets it, which is not an error here */
    size_t max = batch->count;
    for (*done = 0; *done < batch->count;) {
        size_t end = *done, answered = 0;
        while (end < batch->count && end - *done < max && batch->answers[end] == TAMIS_UNKNOWN)
            end++;
        if (end == *done) { /* already answered by an earlier call */
            ++*done;
            continue;
        }
        const key_batch unanswered = slice_of(batch, *done, end - *done);
        const tamis_status status = add(session->filter, &unanswered, &answered, &why);
        *done += answered;
        if (status == TAMIS_E_FULL) {
            ++*done;
            max = 1;
        } else if (status != TAMIS_OK) {
            return tamis__fail(err, status, why.sys_errno, "%s", why.text);
        } else if (max < batch->count) {
            max *= 2;
        }
    }
    return TAMIS_OK;
}

static tamis_status add_to_filter(tamis_dedup *session, const key_batch *batch, size_t *done,
                                  tamis_error *err) {
    return session->on_full == TAMIS_ON_FULL_PASS ? add_passing(session, batch, done, err)
                                                  : add(session->filter, batch, done, err);
}

/* The log needs hashes, so keys are hashed here. */
static tamis_status hash_for_log(tamis_dedup *session, key_batch *batch, tamis_error *err) {
    const size_t size = batch->count * sizeof *session->hashes;
    if (!session->log.state || batch->hashes || batch->count == 0)
        return TAMIS_OK;
    if (batch->count > session->hashes_capacity) {
        tamis_hash *hashes = tamis__alloc(&session->memory, size, TAMIS__LINE);
        if (!hashes)
            return tamis__fail_nomem(err, "dedup session", size);
        tamis__free(&session->memory, session->hashes, session->hashes_capacity * sizeof *session->hashes);
        session->hashes = hashes;
        session->hashes_capacity = batch->count;
    }
    batch->hashes = session->hashes;
    return tamis_hash_many(tamis_filter_hasher(session->filter), batch->keys, batch->count, session->hashes,
                           err);
}

/* Fails if keys were added to the state's filter outside the session. They are in no log, so the session
 * accepts nothing more until an abort. Must be called in the session's thread. */
static tamis_status check_added(tamis_dedup *session, tamis_error *err) {
    const uint64_t own = count_own(session), added = session->filter->added;
    if (added == own)
        return TAMIS_OK;
    return tamis__dedup_fail_foreign_keys(added, own, err);
}

tamis_status tamis__dedup_check_log(tamis_dedup *session, tamis_error *err) {
    if (!session->log.state)
        return TAMIS_OK;
    tamis_status status = tamis__state_check_alive(session->log.state, err);
    if (status == TAMIS_OK)
        status = tamis__dedup_log_check(&session->log, err);
    return status == TAMIS_OK && !session->is_concurrent ? check_added(session, err) : status;
}

/* For any thread. After an error, answers beyond *done may be final too. */
static tamis_status add_concurrent(tamis_dedup *session, const key_batch *batch, size_t *done,
                                   tamis_error *err) {
    tamis_answer *answers = batch->answers;
    size_t answered = 0;
    tamis_status status = tamis__dedup_check_log(session, err);
    if (status != TAMIS_OK)
        return status;
    for (size_t i = 0; i < batch->count; i++)
        answers[i] = TAMIS_UNKNOWN;
    status = session->on_full == TAMIS_ON_FULL_PASS ? add_passing_concurrent(session, batch, &answered, err)
                                                    : add(session->filter, batch, &answered, err);
    count_answers(session, NULL, answers, answered);
    for (size_t i = answered; i < batch->count; i++)
        if (answers[i] != TAMIS_UNKNOWN)
            count_answers(session, NULL, answers + i, 1);
    if (done)
        *done = answered;
    return status;
}

static tamis_status add_batch(tamis_dedup *session, key_batch *batch, size_t *done, tamis_error *err) {
    size_t answered = 0;
    if (done)
        *done = 0;
    if (session->is_concurrent)
        return add_concurrent(session, batch, done, err);
    tamis_status status = tamis__dedup_check_log(session, err);
    if (status == TAMIS_OK)
        status = hash_for_log(session, batch, err);
    if (status != TAMIS_OK)
        return status;
    status = add_to_filter(session, batch, &answered, err);
    count_answers(session, batch->hashes, batch->answers, answered);
    if (done)
        *done = answered;
    return status;
}

tamis_status tamis_dedup_add_many(tamis_dedup *session, const tamis_key *keys, size_t count,
                                  tamis_answer *answers, size_t *done, tamis_error *err) {
    TAMIS__NEED(session, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED_IF(count, answers, err);
    key_batch batch = {.keys = keys, .count = count, .answers = answers, .parts = 1};
    return add_batch(session, &batch, done, err);
}

tamis_status tamis_dedup_add_hashes(tamis_dedup *session, const tamis_hash *hashes, size_t count,
                                    tamis_answer *answers, size_t *done, tamis_error *err) {
    TAMIS__NEED(session, err);
    TAMIS__NEED_IF(count, hashes, err);
    TAMIS__NEED_IF(count, answers, err);
    key_batch batch = {.hashes = hashes, .count = count, .answers = answers, .parts = 1};
    return add_batch(session, &batch, done, err);
}

/* ---- by parts ---- */

uint32_t tamis__dedup_parts(const tamis_dedup *session, size_t count, uint32_t max) {
    return tamis__filter_parts(session->filter, count, max);
}

tamis_status tamis__dedup_add_part(tamis_dedup *session, const tamis__divided_batch *batch, uint32_t part,
                                   size_t *done, tamis_error *err) {
    *done = 0;
    const tamis_status status = tamis__dedup_check_log(session, err);
    if (status != TAMIS_OK)
        return status;
    /* All parts store the same pointer. */
    __atomic_store_n(&session->in_parts, batch->hashes, __ATOMIC_RELAXED);
    const key_batch query = {.hashes = batch->hashes,
                             .count = batch->count,
                             .answers = batch->answers,
                             .part = part,
                             .parts = batch->parts};
    return add_to_filter(session, &query, done, err);
}

void tamis__dedup_finish_parts(tamis_dedup *session, const tamis_answer *answers, size_t done,
                               tamis_status status, tamis_error *err) {
    tamis__filter_added_parts(session->filter, count_answers(session, session->in_parts, answers, done),
                              status, err);
}

static void load_counts(const tamis_dedup *session, tamis_dedup_counts *counts) {
    counts->absent = __atomic_load_n(&session->counts.absent, __ATOMIC_RELAXED);
    counts->present = __atomic_load_n(&session->counts.present, __ATOMIC_RELAXED);
    counts->unknown = __atomic_load_n(&session->counts.unknown, __ATOMIC_RELAXED);
    counts->late = __atomic_load_n(&session->counts.late, __ATOMIC_RELAXED);
}

void tamis_dedup_expect(tamis_dedup *session, uint64_t more) {
    recent_answers *recent = &session->recent;
    tamis_dedup_counts now = TAMIS_DEDUP_COUNTS_INIT;
    if (session->log.state)
        return;
    pthread_mutex_lock(&session->commits); /* guards `recent` too */
    load_counts(session, &now);
    const uint64_t absent = now.absent - recent->absent_before,
                   present = now.present - recent->present_before;
    recent->absent_before = now.absent;
    recent->present_before = now.present;
    recent->absent += (double)absent - recent->absent / SMOOTHING;
    recent->known += (double)(absent + present) - recent->known / SMOOTHING;
    const double share = recent->known > 0 ? recent->absent / recent->known : 1;
    const double absent_more = (double)more * share;
    pthread_mutex_unlock(&session->commits);
    tamis_filter_expect(session->filter, absent_more < 0x1p64 ? (uint64_t)absent_more : UINT64_MAX);
}

/* ---- with a state ---- */

tamis_state *tamis__dedup_state(const tamis_dedup *session) {
    return session->log.state;
}

bool tamis__dedup_is_concurrent(const tamis_dedup *session) {
    return session->is_concurrent;
}

bool tamis__dedup_is_committed(const tamis_dedup *session) {
    return session->filter && session->log.waiting == 0 && session->log.status == TAMIS_OK &&
           tamis__state_is_committed(session->log.state);
}

tamis_status tamis__dedup_written(tamis_dedup *session, size_t calls, tamis_error *err) {
    return tamis__dedup_log_written(&session->log, calls, err);
}

tamis_status tamis__dedup_check_state(const tamis_dedup *session, tamis_error *err) {
    return session->log.state ? TAMIS_OK
                              : tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                                            "dedup session: has no state to commit to; open it with one");
}

/* Commits the checkpoint, with the positions if there are any. */
static tamis_status commit_checkpoint(tamis_dedup *session, const void *checkpoint, size_t size,
                                      tamis_error *err) {
    tamis__joined_checkpoint joined;
    tamis_status status = tamis__dedup_deliveries_join(&session->positions, checkpoint, size, &joined, err);
    if (status != TAMIS_OK || !joined.bytes)
        return status == TAMIS_OK ? tamis__state_commit(session->log.state, checkpoint, size, err) : status;
    status = tamis__state_commit(session->log.state, joined.bytes, joined.size, err);
    if (status == TAMIS_OK)
        tamis__dedup_deliveries_committed(&session->positions);
    tamis__free(&session->memory, joined.bytes, joined.size);
    return status;
}

tamis_status tamis_dedup_commit(tamis_dedup *session, const void *checkpoint, size_t size, tamis_error *err) {
    TAMIS__NEED(session, err);
    TAMIS__NEED_IF(size, checkpoint, err);
    tamis_status status = tamis__dedup_check_state(session, err);
    if (status != TAMIS_OK)
        return status;
    pthread_mutex_lock(&session->commits);
    status = tamis__dedup_check_log(session, err);
    if (status == TAMIS_OK)
        status = session->is_concurrent ? tamis__dedup_log_cut(&session->log, session->filter, err)
                                        : tamis__dedup_log_written(&session->log, SIZE_MAX, err);
    if (status == TAMIS_OK)
        status = commit_checkpoint(session, checkpoint, size, err);
    pthread_mutex_unlock(&session->commits);
    return status;
}

tamis_status tamis_dedup_abort(tamis_dedup *session, tamis_error *err) {
    TAMIS__NEED(session, err);
    tamis_status status = tamis__dedup_check_state(session, err);
    if (status != TAMIS_OK)
        return status;
    tamis__dedup_log_forget(&session->log);
    status = tamis_state_abort(session->log.state, err);
    session->filter = tamis_state_filter(session->log.state);
    if (status == TAMIS_OK && session->is_concurrent)
        tamis__dedup_log_listen(&session->log, session->filter);
    if (status == TAMIS_OK)
        session->added_before = session->filter->added - session->counts.absent - session->renewed;
    if (status == TAMIS_OK)
        set_first_stats(session);
    if (status != TAMIS_OK)
        return status;
    /* Without its positions the session would commit that there are none. */
    session->log.status = load_positions(session, &session->log.err);
    return session->log.status == TAMIS_OK ? TAMIS_OK : tamis__dedup_log_check(&session->log, err);
}

void tamis_dedup_committed(const tamis_dedup *session, const void **checkpoint, size_t *size) {
    *checkpoint = NULL;
    *size = 0;
    if (session->log.state)
        tamis_state_committed(session->log.state, checkpoint, size);
    *checkpoint = tamis__dedup_deliveries_split(*checkpoint, size, NULL);
}

void tamis_dedup_count(const tamis_dedup *session, tamis_dedup_counts *counts) {
    tamis_dedup_counts now = TAMIS_DEDUP_COUNTS_INIT;
    load_counts(session, &now);
    tamis__write_struct(counts, &now, sizeof now);
}

const tamis_filter *tamis_dedup_filter(const tamis_dedup *session) {
    return session->filter;
}
