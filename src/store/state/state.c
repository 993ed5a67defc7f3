/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The calls on an open state.
 *
 *     caller                      state
 *     adds keys to the filter     -
 *     tamis_state_log             appends the new keys' hashes to the live segment (buffered)
 *     tamis_state_note            appends a note
 *     tamis_state_commit          makes keys, notes and the caller's checkpoint durable together
 *     tamis_state_abort           drops everything after the last commit and rebuilds the filter
 *     tamis_state_snapshot          waits for snapshots and closes the live segment
 *
 * Invariants:
 * 1. At each commit the log has exactly the keys of the filter. A key in the filter alone would be answered
 *    "present" now and be unknown after the next start.
 * 2. After an error that leaves the log's end unknown, the state has failed: all later calls return the same
 *    error. The next start decides what is valid (docs/DURABILITY.md).
 */
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/system.h"
#include "base/versioned.h"
#include "filter/window/window.h"
#include "hash/hasher.h"
#include "store/file/file_error.h"
#include "store/state/state_int.h"

tamis_status tamis__state_report(const tamis_error *why, tamis_status status, tamis_error *err) {
    return tamis__fail(err, status, why->sys_errno, "%s", why->text);
}

tamis_status tamis__state_fail(tamis_state *state, tamis_status status, const tamis_error *why) {
    state->failed_err = *why;
    __atomic_store_n(&state->failed, status, __ATOMIC_RELEASE); /* other threads read it */
    return status;
}

tamis_status tamis__state_check_alive(const tamis_state *state, tamis_error *err) {
    const tamis_status failed = __atomic_load_n(&state->failed, __ATOMIC_ACQUIRE);
    return failed == TAMIS_OK ? TAMIS_OK : tamis__state_report(&state->failed_err, failed, err);
}

static tamis_status check_writable(const tamis_state *state, tamis_error *err) {
    if (state->read_only)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: the state was opened read-only; open it without read_only",
                           tamis__show(state->directory.path).text);
    return tamis__state_check_alive(state, err);
}

/* Fails the state on an error: the log's end is unknown, so nothing may be appended. */
static tamis_status record_failure(tamis_state *state, tamis_status status, const tamis_error *why,
                                   tamis_error *err) {
    return status == TAMIS_OK ? TAMIS_OK
                              : tamis__state_report(why, tamis__state_fail(state, status, why), err);
}

/* True if nothing was logged since the last commit. */
static bool is_clean(const tamis_state *state) {
    return state->log.keys == 0 && state->log.segment.bytes == state->log.commit_end;
}

tamis__filter_stats tamis__filter_stats_get(const tamis_filter *filter) {
    return (tamis__filter_stats){.added = filter->added,
                                 .memory = filter->tally.memory,
                                 .newest = tamis_window_newest(filter),
                                 .saturated = filter->saturated,
                                 .full = filter->full};
}

void tamis__state_stats_set(tamis_state *state, const tamis__filter_stats *stats) {
    state->has_stats = stats != NULL;
    if (stats)
        state->stats = *stats;
}

tamis__filter_stats tamis__state_stats_get(const tamis_state *state) {
    if (state->has_stats)
        return state->stats;
    tamis__filter_lock_content(state->filter);
    const tamis__filter_stats stats = tamis__filter_stats_get(state->filter);
    tamis__filter_unlock_content(state->filter);
    return stats;
}

/* Returns the number of keys in the filter itself, which may differ from the statistics. */
static uint64_t count_added(const tamis_state *state) {
    tamis__filter_lock_content(state->filter);
    const uint64_t added = state->filter->added;
    tamis__filter_unlock_content(state->filter);
    return added;
}

bool tamis__state_is_committed(const tamis_state *state) {
    return state->failed == TAMIS_OK && is_clean(state) && count_added(state) == state->keys;
}

static bool is_window(const tamis_state *state) {
    return state->manifest.plan.kind == TAMIS_KIND_WINDOW;
}

void tamis__state_set_hint(tamis_state *state) {
    state->hint = state->last.hint;
    if (is_window(state))
        state->steps_end = tamis__window_steps_end(state->filter, (int64_t)state->hint - 1);
}

/* ---- queries ---- */

uint64_t tamis__state_keys(const tamis_state *state) {
    return state->keys;
}

tamis_filter *tamis_state_filter(tamis_state *state) {
    return state->filter;
}

const char *tamis_state_metadata(const tamis_state *state) {
    return (const char *)state->manifest.metadata.data;
}

void tamis_state_committed(const tamis_state *state, const void **checkpoint, size_t *size) {
    *checkpoint = state->checkpoint.data;
    *size = state->checkpoint.size;
}

const void *tamis_state_note_at(const tamis_state *state, size_t number, size_t *size) {
    if (number >= state->notes.count)
        return NULL;
    *size = state->notes.list[number].size;
    return state->notes.list[number].bytes;
}

void tamis_state_info_get(const tamis_state *state, tamis_state_info *info) {
    tamis_state_info now = TAMIS_STATE_INFO_INIT;
    now.keys = state->last.keys;
    now.commits = state->last.number;
    now.epoch = state->manifest.epoch;
    now.log_bytes = tamis__state_log_bytes(state);
    now.snapshot_bytes = state->manifest.snapshot.bytes;
    now.replayed = state->replayed;
    now.notes = state->notes.count;
    tamis__write_struct(info, &now, sizeof now);
}

/* ---- metadata ---- */

/* A state without keys has nothing that a new description could contradict. */
static tamis_status check_empty(const tamis_state *state, size_t size, tamis_error *err) {
    if (state->keys > 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "%s: has keys, so its metadata cannot change; begin a new state",
                           tamis__show(state->directory.path).text);
    if (!tamis__state_is_committed(state))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "state: something was logged since the last commit; commit or abort first");
    return tamis__state_check_metadata_size(size, err);
}

/* The description is in the manifest, which the steps R1 to R6 replace as a whole. */
tamis_status tamis_state_set_metadata(tamis_state *state, const char *text, tamis_error *err) {
    TAMIS__NEED(state, err);
    tamis_error why = TAMIS_ERROR_INIT;
    state_bytes new_metadata = {NULL, 0, 0}, old_metadata = state->manifest.metadata;
    bool fatal;
    if (!text)
        text = "";
    tamis_status status = check_writable(state, err);
    if (status == TAMIS_OK)
        status = check_empty(state, strlen(text), err);
    if (status != TAMIS_OK)
        return status;
    if (!tamis__state_bytes_add(&state->memory, &new_metadata, text, strlen(text) + 1))
        return tamis__fail_nomem(err, "state", strlen(text) + 1);
    state->manifest.metadata = new_metadata;
    status = tamis__state_roll(state, state->manifest.epoch, &fatal, &why);
    if (status == TAMIS_OK) { /* the roll made its own copy of the new metadata and freed `new_metadata` */
        tamis__state_bytes_free(&state->memory, &old_metadata);
        return TAMIS_OK;
    }
    state->manifest.metadata = old_metadata;
    tamis__state_bytes_free(&state->memory, &new_metadata);
    return tamis__state_report(&why, fatal ? tamis__state_fail(state, status, &why) : status, err);
}

/* ---- logging ---- */

/* Invariant 1. */
static tamis_status check_added(const tamis_state *state, uint64_t added, tamis_error *err) {
    if (added == state->keys)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "state: its filter has %" PRIu64 " keys, and %" PRIu64
                       " are logged; log the others first, or abort",
                       added, state->keys);
}

tamis_status tamis__state_check_logged(const tamis_state *state, tamis_error *err) {
    const tamis_status status = check_writable(state, err);
    return status == TAMIS_OK ? check_added(state, count_added(state), err) : status;
}

tamis_status tamis_state_expect(tamis_state *state, uint64_t more, tamis_error *err) {
    TAMIS__NEED(state, err);
    tamis_error why = TAMIS_ERROR_INIT;
    uint8_t payload[8];
    tamis_status status = check_writable(state, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__state_check_logged(state, err);
    if (status != TAMIS_OK)
        return status;
    if (is_window(state)) /* its memory follows its keys */
        return TAMIS_OK;
    tamis_filter_expect(state->filter, more);
    state->hint = state->filter->size_hint;
    tamis__store64le(payload, state->hint);
    status = tamis__state_log_frame(&state->log, STATE_SIZE_HINT, payload, sizeof payload, &why);
    return record_failure(state, status, &why, err);
}

/* Checks keys before they are logged. */
static tamis_status check_keys(const tamis_state *state, const tamis_hash *hashes, size_t count,
                               tamis_error *err) {
    tamis_status status = check_writable(state, err);
    if (status == TAMIS_OK)
        status = tamis__hasher_check(state->hasher, hashes, count, err);
    if (status != TAMIS_OK)
        return status;
    const uint64_t added = tamis__state_stats_get(state).added;
    if (count <= added - state->keys)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "state: %zu keys are to be logged, but its filter has %" PRIu64
                       " that are not logged; log each key that was absent, once",
                       count, added - state->keys);
}

tamis_status tamis_state_log(tamis_state *state, const tamis_hash *hashes, size_t count, tamis_error *err) {
    TAMIS__NEED(state, err);
    TAMIS__NEED_IF(count, hashes, err);
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = check_keys(state, hashes, count, err);
    if (status == TAMIS_OK && is_window(state))
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "state: its filter is a window, whose keys need times in the log; add them by a "
                           "dedup session");
    if (status != TAMIS_OK)
        return status;
    state->keys += count;
    status = tamis__state_log_keys(&state->log, hashes, NULL, count, &why);
    return record_failure(state, status, &why, err);
}

static tamis_status log_time(tamis_state *state, int64_t newest, tamis_error *err) {
    uint8_t payload[8];
    tamis__store64le(payload, (uint64_t)newest + 1);
    state->steps_end = tamis__window_steps_end(state->filter, newest);
    return tamis__state_log_frame(&state->log, STATE_TIME, payload, sizeof payload, err);
}

tamis_status tamis__state_log_window(tamis_state *state, const tamis__counted_keys *keys, tamis_error *err) {
    const int64_t *newest = keys->newest;
    const size_t count = keys->count;
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = check_keys(state, keys->hashes, count, err);
    if (status != TAMIS_OK)
        return status;
    state->keys += count;
    for (size_t from = 0, end; from < count && status == TAMIS_OK; from = end) {
        if (newest[from] >= state->steps_end)
            status = log_time(state, newest[from], &why);
        for (end = from; end < count && newest[end] < state->steps_end;)
            end++;
        if (status == TAMIS_OK)
            status = tamis__state_log_keys(&state->log, keys->hashes + from, keys->changes + from, end - from,
                                           &why);
    }
    return record_failure(state, status, &why, err);
}

tamis_status tamis_state_note(tamis_state *state, const void *note, size_t size, tamis_error *err) {
    TAMIS__NEED(state, err);
    TAMIS__NEED_IF(size, note, err);
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = check_writable(state, err);
    if (status != TAMIS_OK)
        return status;
    if (size < 1 || size > TAMIS_STATE_CHECKPOINT_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "state: a note has 1 to %d bytes, not %zu; change its size",
                           TAMIS_STATE_CHECKPOINT_MAX, size);
    if (state->notes.bytes + size + STATE_NOTE_SIZE > STATE_NOTES_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "state: its notes take %" PRIu64
                           " bytes, and at most %d are kept; begin a new state",
                           state->notes.bytes, (int)STATE_NOTES_MAX);
    status = tamis__state_note_add(&state->notes, &state->memory, note, size, &why);
    if (status == TAMIS_OK)
        status = tamis__state_log_frame(&state->log, STATE_NOTE, note, size, &why);
    return record_failure(state, status, &why, err);
}

/* ---- commits ---- */

/* Growth depends on the size hint, so the log must have it. */
static tamis_status check_filter(const tamis_state *state, tamis_error *err) {
    if (is_window(state) || state->filter->size_hint == state->hint)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "state: its filter has a size hint that the log does not have; call tamis_state_expect "
        "instead of tamis_filter_expect");
}

static tamis_status commit(tamis_state *state, const void *checkpoint, size_t size, tamis_error *err) {
    const tamis__filter_stats filter = tamis__state_stats_get(state);
    const state_commit next_commit = {.number = state->last.number + 1,
                                      .keys = state->keys,
                                      .hint = is_window(state) ? (uint64_t)filter.newest + 1 : state->hint,
                                      .notes = state->notes.count,
                                      .flags = filter.saturated ? STATE_SATURATED : 0u,
                                      .full = (uint32_t)filter.full};
    state_bytes new_checkpoint = {NULL, 0, 0};
    struct stat st;
    /* After the state's directory was removed, the commit would be written to an unlinked file. */
    if (tamis__sys.fstat(state->log.fd, &st) < 0 || st.st_nlink == 0)
        return tamis__fail(err, TAMIS_E_IO, 0,
                           "%s: was removed while it was open; restore it, and start again",
                           tamis__show(state->log.path.text).text);
    /* Allocation first: its failure changes nothing. */
    if (!tamis__state_bytes_add(&state->memory, &new_checkpoint, checkpoint, size))
        return tamis__fail_nomem(err, "checkpoint", size);
    const tamis_status status = tamis__state_log_commit(&state->log, &next_commit, checkpoint, size, err);
    if (status != TAMIS_OK) {
        tamis__state_bytes_free(&state->memory, &new_checkpoint);
        return status;
    }
    tamis__state_bytes_free(&state->memory, &state->checkpoint);
    state->checkpoint = new_checkpoint;
    state->last = next_commit;
    tamis__state_set_hint(state);
    return TAMIS_OK;
}

static uint64_t count_in_stats(const tamis_state *state) {
    return tamis__state_stats_get(state).added;
}

/* A state that has failed may have no filter: so the keys are counted last. */
static tamis_status check_commit(const tamis_state *state, uint64_t (*count)(const tamis_state *),
                                 tamis_error *err) {
    tamis_status status = check_writable(state, err);
    if (status == TAMIS_OK)
        status = check_filter(state, err);
    return status == TAMIS_OK ? check_added(state, count(state), err) : status;
}

tamis_status tamis_state_commit(tamis_state *state, const void *checkpoint, size_t size, tamis_error *err) {
    TAMIS__NEED(state, err);
    TAMIS__NEED_IF(size, checkpoint, err);
    /* Keys that were not added by the open session are missing in its statistics. */
    const tamis_status status = check_commit(state, count_added, err);
    return status == TAMIS_OK ? tamis__state_commit(state, checkpoint, size, err) : status;
}

tamis_status tamis__state_commit(tamis_state *state, const void *checkpoint, size_t size, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    tamis_status status = check_commit(state, count_in_stats, err);
    if (status != TAMIS_OK)
        return status;
    if (size > TAMIS_STATE_CHECKPOINT_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "state: a checkpoint of %zu bytes exceeds the limit of %d; make it shorter", size,
                           TAMIS_STATE_CHECKPOINT_MAX);
    status = record_failure(state, commit(state, checkpoint, size, &why), &why, err);
    if (status == TAMIS_OK)
        status = tamis__state_snapshot_finish(state, false, err);
    if (status == TAMIS_OK && tamis__state_snapshot_is_due(state))
        status = tamis__state_snapshot_start(state, true);
    return status == TAMIS_OK ? status : check_writable(state, err);
}

tamis_status tamis_state_abort(tamis_state *state, tamis_error *err) {
    TAMIS__NEED(state, err);
    tamis_error why = TAMIS_ERROR_INIT;
    bool fatal;
    tamis_status status = check_writable(state, err);
    if (status != TAMIS_OK)
        return status;
    tamis_filter_free(state->filter);
    state->filter = NULL;
    tamis__state_stats_set(state, NULL);
    tamis__state_log_close(&state->log);
    status = tamis__state_find_commit(state, &why);
    if (status == TAMIS_OK)
        status = tamis__state_load(state, &why);
    if (status == TAMIS_OK)
        status = tamis__state_roll(state, state->manifest.epoch, &fatal, &why);
    return record_failure(state, status, &why, err);
}

tamis_status tamis_state_snapshot(tamis_state *state, uint64_t bytes, tamis_error *err) {
    TAMIS__NEED(state, err);
    tamis_status status = check_writable(state, err);
    if (status != TAMIS_OK)
        return status;
    if (!is_clean(state))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "state: something was logged since the last commit; commit or abort first");
    status = tamis__state_snapshot_finish(state, true, err);
    /* While the snapshot was made, the log may have grown beyond the limit again. */
    if (status == TAMIS_OK &&
        (tamis__state_log_bytes(state) > bytes || tamis__state_snapshot_is_due(state))) {
        status = tamis__state_snapshot_start(state, false);
        if (status == TAMIS_OK)
            status = tamis__state_snapshot_finish(state, true, err);
    }
    if (status != TAMIS_OK)
        return check_writable(state, err);
    status = tamis__state_seal(state, err);
    if (status != TAMIS_OK)
        return status;
    if (state->snapshot_status != TAMIS_OK) {
        status = state->snapshot_status;
        state->snapshot_status = TAMIS_OK;
        return tamis__state_report(&state->snapshot_err, status, err);
    }
    return TAMIS_OK;
}
