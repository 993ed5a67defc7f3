/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Forgetting keys: steps G1 to G4 of docs/DURABILITY.md. The filter without the keys becomes a snapshot,
 * and a new log begins behind it.
 *
 *     before    snapshot 3 + log 7 8 | 9 live      N keys
 *     after     snapshot 10 | 11 live              N - n keys, the same commit and checkpoint
 *
 * The manifest is the switch, as in state_roll.c. The old files still have the hashes of the keys, so none of
 * them is kept. They are replaced even if no key was in the filter: the bytes after the last commit of a
 * killed run may have hashes too.
 *
 * The new snapshot is read before the manifest names it, since afterwards nothing is left to go back to.
 * Once the filter has lost a key, it differs from the files until the new manifest is written, so any error
 * fails the state.
 */
#include "base/system.h"
#include "hash/hasher.h"
#include "store/file/file_error.h"
#include "store/state/state_int.h"

static tamis_status check_request(tamis_state *state, const tamis_hash *hashes, size_t count,
                                  tamis_error *err) {
    const tamis_kind kind = state->manifest.plan.kind;
    if (state->read_only)
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "%s: the state was opened read-only; open it without read_only",
                           tamis__show(state->directory.path).text);
    if (kind != TAMIS_KIND_EXACT)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "%s: kind %s cannot forget a key: what it stores of the key may belong to others too; "
            "begin a new state with the keys that are kept",
            tamis__show(state->directory.path).text, tamis_kind_name(kind));
    if (state->concurrent)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "%s: its filter was opened as concurrent, and other threads may look keys up; open "
            "the state without that option",
            tamis__show(state->directory.path).text);
    tamis_status status = tamis__state_check_logged(state, err);
    if (status == TAMIS_OK && !tamis__state_is_committed(state))
        status = tamis__fail(err, TAMIS_E_INVALID, 0,
                             "state: something was logged since the last commit; commit or abort first");
    return status == TAMIS_OK ? tamis__hasher_check(state->hasher, hashes, count, err) : status;
}

/* Makes the next manifest: the snapshot, and a live segment behind it. */
static tamis_status next_manifest(tamis_state *state, const state_commit *last, state_manifest *next,
                                  tamis_error *err) {
    uint64_t seed;
    tamis_status status = tamis__state_check_numbers(state, 2, err);
    if (status == TAMIS_OK)
        status = tamis__random(&seed, sizeof seed, "state", err);
    if (status == TAMIS_OK)
        status = tamis__state_manifest_copy(next, &state->memory, &state->manifest,
                                            state->manifest.segment_count, err);
    if (status != TAMIS_OK)
        return status;
    tamis__state_bytes_free(&state->memory, &next->snapshot.false_present);
    next->snapshot = (state_snapshot){.number = next->next++, .covers = *last};
    next->segments[0] =
        (state_segment){.number = next->next++, .epoch = next->epoch, .seed = seed, .first_key = last->keys};
    next->segment_count = 1;
    return TAMIS_OK;
}

/* Steps G2 to G4. */
static tamis_status write_files(tamis_state *state, state_manifest *next, state_log *log,
                                const state_commit *last, tamis_error *err) {
    const state_rebuild source = {.directory = &state->directory,
                                  .memory = &state->memory,
                                  .manifest = next,
                                  .hasher = state->hasher,
                                  .last = last,
                                  .threads = 1};
    tamis_filter *rebuilt = NULL;
    uint64_t replayed;
    bool fatal; /* every error is */
    tamis_status status = tamis__state_snapshot_save(&source, state->filter, &next->snapshot, err);
    if (status == TAMIS_OK) /* the snapshot can be read, and has the keys that are left */
        status = tamis__state_build(&source, &rebuilt, &replayed, err);
    tamis_filter_free(rebuilt);
    if (status == TAMIS_OK)
        status = tamis__state_log_create(log, state, next, last, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__state_directory_sync(&state->directory, err);
    if (status == TAMIS_OK)
        status = tamis__state_manifest_write(state, next, last->notes, &fatal, err);
    if (status != TAMIS_OK)
        tamis__state_log_close(log);
    return status;
}

static tamis_status replace_files(tamis_state *state, uint64_t forgotten, tamis_error *err) {
    state_manifest next;
    state_log log;
    state_commit last = state->last;
    last.keys -= forgotten;
    tamis_status status = next_manifest(state, &last, &next, err);
    if (status != TAMIS_OK)
        return status;
    status = write_files(state, &next, &log, &last, err);
    if (status != TAMIS_OK) {
        tamis__state_manifest_release(&next, &state->memory);
        return status;
    }
    next.note_count = last.notes;
    tamis__state_log_close(&state->log);
    tamis__state_manifest_release(&state->manifest, &state->memory);
    state->log = log;
    state->manifest = next;
    state->last = last;
    state->keys = last.keys;
    state->snapshot_status = TAMIS_OK; /* this snapshot replaces one that failed */
    state->snapshot_again = 0;
    status = tamis__state_sweep(state, err);
    return status == TAMIS_OK ? tamis__state_directory_sync(&state->directory, err) : status;
}

tamis_status tamis_state_forget(tamis_state *state, const tamis_hash *hashes, size_t count,
                                uint64_t *forgotten, tamis_error *err) {
    TAMIS__NEED(state, err);
    TAMIS__NEED(forgotten, err);
    TAMIS__NEED_IF(count, hashes, err);
    tamis_error why = TAMIS_ERROR_INIT;
    uint64_t removed = 0;
    tamis_status status = check_request(state, hashes, count, err);
    if (status == TAMIS_OK)
        status = tamis__state_snapshot_finish(state, true, err);
    if (status != TAMIS_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        removed += tamis__fingerprint_remove(state->filter, &hashes[i]); /* G1 */
    if (count > 0)
        status = replace_files(state, removed, &why);
    if (status != TAMIS_OK)
        return tamis__state_report(&why, tamis__state_fail(state, status, &why), err);
    *forgotten = removed;
    return TAMIS_OK;
}
