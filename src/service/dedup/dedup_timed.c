/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Dedup sessions over a window, whose keys have times: those of the caller, or those of the clock.
 *
 *     keys, times --> up to a time too far ahead --> window --answers, changes--> counts
 *                                                                     +--> log of the state, if there is one
 *
 * One wrong time far in the future would make all keys expire. So a time of the caller may be at most `ahead`
 * beyond the newest one before it. Times of the clock are not checked: after a pause they are far ahead, and
 * right. If the clock was set back, the newest time counts.
 *
 * A call ends before the first key that is too far ahead. If that is the first key, the call returns the
 * error.
 */
#include <tamis/experimental/window.h>

#include "base/memory.h"
#include "base/system.h"
#include "filter/filter_int.h"
#include "filter/window/window.h"
#include "service/dedup/dedup_int.h"

void tamis__dedup_release_times(tamis_dedup *session) {
    tamis__free(&session->memory, session->times, session->changes_capacity * sizeof *session->times);
    tamis__free(&session->memory, session->changes, session->changes_capacity);
    session->times = NULL;
    session->changes = NULL;
    session->changes_capacity = 0;
}

/* Returns how many of the keys come before the first one that is too far ahead of those before it. */
static size_t count_until_ahead(const tamis_dedup *session, const int64_t *times, size_t count) {
    int64_t newest = tamis_window_newest(session->filter);
    for (size_t i = 0; i < count; i++) {
        if (newest >= 0 && times[i] > newest && (uint64_t)(times[i] - newest) > session->ahead)
            return i;
        newest = times[i] > newest ? times[i] : newest;
    }
    return count;
}

static tamis_status fail_ahead(const tamis_dedup *session, int64_t time, tamis_error *err) {
    const int64_t newest = tamis_window_newest(session->filter);
    return tamis__fail(err, TAMIS_E_RANGE, 0,
                       "its time is %.10g s after the newest one before it, and %.10g s are allowed",
                       (double)(time - newest) / 1000, (double)session->ahead / 1000);
}

/* Adds the keys from `pos` on, before the first one that is too far ahead. If that is the first, fails. Times
 * of the clock may be ahead of the newest time by any pause. */
static tamis_status add_until_ahead(tamis_dedup *session, const tamis__window_batch *batch, size_t pos,
                                    size_t *added, tamis_error *err) {
    const size_t rest = batch->count - pos;
    const bool by_clock = batch->times == session->times;
    const size_t end = by_clock ? rest : count_until_ahead(session, batch->times + pos, rest);
    *added = 0;
    if (end == 0)
        return fail_ahead(session, batch->times[pos], err);
    const tamis__window_batch slice = tamis__window_batch_slice(batch, pos, end);
    return tamis__window_add(session->filter, &slice, added, err);
}

/* Adds the keys. With on_full TAMIS_ON_FULL_PASS, continues behind keys that the full window refuses. */
static tamis_status add_times(tamis_dedup *session, const tamis__window_batch *batch, size_t *done,
                              tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT; /* a full window sets it, which may not be an error here */
    tamis_status status = TAMIS_OK;
    for (*done = 0; *done < batch->count && status == TAMIS_OK;) {
        size_t added;
        status = add_until_ahead(session, batch, *done, &added, &why);
        *done += added;
        if (status != TAMIS_E_FULL || session->on_full != TAMIS_ON_FULL_PASS)
            continue;
        ++*done; /* answered, but not counted */
        status = TAMIS_OK;
    }
    return status == TAMIS_OK ? TAMIS_OK : tamis__fail(err, status, why.sys_errno, "%s", why.text);
}

/* Ensures capacity for times and changes of `count` keys. */
static tamis_status reserve_changes(tamis_dedup *session, size_t count, tamis_error *err) {
    if (count <= session->changes_capacity)
        return TAMIS_OK;
    tamis__dedup_release_times(session);
    session->times = tamis__alloc(&session->memory, count * sizeof *session->times, TAMIS__LINE);
    session->changes = tamis__alloc(&session->memory, count, TAMIS__LINE);
    session->changes_capacity = count;
    if (session->times && session->changes)
        return TAMIS_OK;
    tamis__dedup_release_times(session);
    return tamis__fail_nomem(err, "dedup session", count * sizeof *session->times);
}

/* Returns the time of the clock for `count` keys. If the clock was set back, the newest time counts. */
static const int64_t *clock_times(tamis_dedup *session, size_t count) {
    const int64_t now = tamis__sys.now_unix_ms(), newest = tamis_window_newest(session->filter);
    for (size_t i = 0; i < count; i++)
        session->times[i] = now > newest ? now : newest;
    return session->times;
}

/* Counts answers, and queues the counted keys for the log. `newest` is the newest time before the batch. */
static void count_timed(tamis_dedup *session, const tamis__window_batch *batch, int64_t newest) {
    (void)tamis__dedup_sum_answers(session, batch->answers, batch->count);
    if (!session->log.state)
        return;
    for (size_t i = 0; i < batch->count; i++)
        session->renewed += (batch->changes[i] & TAMIS__WINDOW_RENEWED) != 0;
    const tamis__filter_stats stats = tamis__filter_stats_get(session->filter);
    tamis__dedup_log_append_window(&session->log, batch, newest, &stats);
}

tamis_status tamis_dedup_add_timed(tamis_dedup *session, const tamis_timed_hashes *batch,
                                   tamis_answer *answers, size_t *done, tamis_error *err) {
    TAMIS__NEED(session, err);
    TAMIS__NEED(batch, err);
    TAMIS__NEED_IF(batch->count, batch->hashes, err);
    TAMIS__NEED_IF(batch->count, answers, err);
    tamis__window_batch keys = {
        .hashes = batch->hashes, .times = batch->times, .count = batch->count, .answers = answers};
    size_t answered = 0;
    if (done)
        *done = 0;
    tamis_status status = tamis__dedup_check_log(session, err);
    if (status == TAMIS_OK && (!batch->times || session->log.state))
        status = reserve_changes(session, batch->count, err);
    if (status != TAMIS_OK)
        return status;
    if (!batch->times)
        keys.times = clock_times(session, batch->count);
    if (session->log.state)
        keys.changes = session->changes;
    const int64_t newest = tamis_window_newest(session->filter);
    status = add_times(session, &keys, &answered, err);
    keys.count = answered;
    count_timed(session, &keys, newest);
    if (done)
        *done = answered;
    return status;
}
