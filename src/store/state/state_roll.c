/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Starting a new log segment after the last commit: steps R1 to R6 of docs/DURABILITY.md.
 *
 *     before    segment 7: header LAST KEYS CMIT KEYS CMIT keys without commit
 *     after     segment 7: header LAST KEYS CMIT KEYS |         sealed before its last commit's frame (I4)
 *               segment 8: header LAST                          LAST repeats that commit
 *
 * A new segment is started:
 * - at each start, so that bytes after the last commit never come back, whatever the disk still has of them;
 * - before a snapshot, which covers whole segments;
 * - for the first commit of a new state.
 *
 * The manifest is the switch. Until it is replaced, the old segment is the live one and every error is
 * undone. After an error during the replacement (*fatal), the disk may have either manifest, so the state
 * fails.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/state/state_int.h"

/* The number of the live segment if it has no keys, else 0. It is left out of the next manifest, since the
 * new segment repeats its commit. */
static uint64_t unneeded_segment(const tamis_state *state) {
    const state_manifest *manifest = &state->manifest;
    const size_t count = manifest->segment_count;
    const bool is_unneeded = count > 0 && manifest->segments[count - 1].first_key == state->last.keys;
    return is_unneeded ? manifest->segments[count - 1].number : 0;
}

/* Makes the next manifest: the live segment sealed or left out, and a new one after it. */
static tamis_status next_manifest(const tamis_state *state, uint64_t epoch, uint64_t seed,
                                  state_manifest *next, tamis_error *err) {
    const tamis_status status = tamis__state_manifest_copy(next, &state->memory, &state->manifest, 0, err);
    if (status != TAMIS_OK)
        return status;
    size_t count = next->segment_count;
    if (unneeded_segment(state)) {
        count--;
    } else if (count > 0) {
        next->segments[count - 1].bytes = state->log.synced_end;
        next->segments[count - 1].check = state->log.synced_check;
    }
    next->segments[count] =
        (state_segment){.number = next->next++, .epoch = epoch, .seed = seed, .first_key = state->last.keys};
    next->segment_count = count + 1;
    next->epoch = epoch;
    return TAMIS_OK;
}

tamis_status tamis__state_check_numbers(const tamis_state *state, uint64_t count, tamis_error *err) {
    if (STATE_NUMBER_MAX - state->manifest.next >= count)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_RANGE, 0, "%s: has used all %" PRIu64 " file numbers; begin a new state",
                       tamis__show(state->directory.path).text, STATE_NUMBER_MAX);
}

tamis_status tamis__state_roll(tamis_state *state, uint64_t epoch, bool *fatal, tamis_error *err) {
    state_manifest next;
    state_log log;
    const uint64_t left_out = unneeded_segment(state);
    uint64_t seed;
    *fatal = false;
    tamis_status status = tamis__state_check_numbers(state, 1, err);
    if (status == TAMIS_OK)
        status = tamis__random(&seed, sizeof seed, "state", err);
    if (status == TAMIS_OK)
        status = next_manifest(state, epoch, seed, &next, err);
    if (status != TAMIS_OK)
        return status;
    state->manifest.next++; /* never used again, even if this attempt fails */
    status = tamis__state_log_create(&log, state, &next, &state->last, err);
    if (status != TAMIS_OK) {
        tamis__state_manifest_release(&next, &state->memory);
        return status;
    }
    status = tamis__state_directory_sync(&state->directory, err); /* R3 */
    if (status == TAMIS_OK)                                       /* R4, R5 */
        status = tamis__state_manifest_write(state, &next, state->last.notes, fatal, err);
    if (status != TAMIS_OK) {
        tamis__state_log_close(&log);
        if (!*fatal)
            (void)tamis__sys.unlink(log.path.text);
        tamis__state_manifest_release(&next, &state->memory);
        return status;
    }
    *fatal = false;
    next.note_count = state->last.notes;
    tamis__state_log_close(&state->log);
    tamis__state_manifest_release(&state->manifest, &state->memory);
    state->log = log;
    state->manifest = next;
    if (left_out) /* R6 */
        (void)tamis__sys.unlink(tamis__state_log_path(&state->directory, left_out).text);
    return TAMIS_OK;
}

tamis_status tamis__state_seal(tamis_state *state, tamis_error *err) {
    tamis_error why = TAMIS_ERROR_INIT;
    bool fatal;
    if (state->log.commit_end == state->log.synced_end) /* the segment has no commit of its own */
        return TAMIS_OK;
    const tamis_status status = tamis__state_roll(state, state->manifest.epoch, &fatal, &why);
    if (status == TAMIS_OK)
        return TAMIS_OK;
    return tamis__state_report(&why, fatal ? tamis__state_fail(state, status, &why) : status, err);
}

/* ---- files left over ---- */

static bool is_named(const state_manifest *manifest, const state_found *found) {
    if (found->snapshot)
        return found->snapshot == manifest->snapshot.number;
    for (size_t i = 0; i < manifest->segment_count; i++)
        if (manifest->segments[i].number == found->log)
            return true;
    return false;
}

typedef struct sweep {
    const tamis_state *state;
    tamis_status status; /* first error; TAMIS_OK: none */
    tamis_error err;
} sweep;

/* An error does not stop the sweep: the other files are unlinked too. */
static tamis_status sweep_file(void *context, const state_found *found, tamis_error *err) {
    sweep *s = context;
    const tamis_state *state = s->state;
    (void)err;
    const bool is_temporary =
        strcmp(found->name, "manifest.new") == 0 || strncmp(found->name, ".snapshot-", 10) == 0;
    if (!is_temporary && ((!found->log && !found->snapshot) || is_named(&state->manifest, found)))
        return TAMIS_OK;
    const state_path path = tamis__state_path(&state->directory, found->name);
    if (tamis__sys.unlink(path.text) < 0 && s->status == TAMIS_OK)
        s->status = tamis__fail_file(&s->err, path.text, errno);
    return TAMIS_OK;
}

tamis_status tamis__state_sweep(const tamis_state *state, tamis_error *err) {
    sweep s = {.state = state, .status = TAMIS_OK, .err = TAMIS_ERROR_INIT};
    const tamis_status status = tamis__state_directory_list(&state->directory, sweep_file, &s, err);
    return status != TAMIS_OK || s.status == TAMIS_OK ? status : tamis__state_report(&s.err, s.status, err);
}
