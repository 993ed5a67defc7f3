/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runs of a state, for programs that show or change them:
 *
 *     note 0   note 1   ...   note n-1   last commit
 *     run 0    run 1          run n-1    run n
 *
 * To close a run that is a note, a closed copy becomes a new note. Its names are those of the old note,
 * which so no longer counts (history_unfinished.c).
 */
#include <string.h>

#include "base/failure.h"
#include "stream/durable/checkpoint.h"

/* Returns the bytes of a run; *count receives the number of notes. NULL: there is no such run. */
static const void *run_bytes(const tamis_state *state, size_t number, size_t *size, size_t *count) {
    const void *bytes = NULL;
    *count = 0;
    while (tamis_state_note_at(state, *count, size))
        (*count)++;
    if (number < *count)
        return tamis_state_note_at(state, number, size);
    tamis_state_committed(state, &bytes, size);
    return number == *count && *size > 0 ? bytes : NULL;
}

/* Decodes a run into a zeroed checkpoint. */
static tamis_status decode_run(tamis__checkpoint *checkpoint, const tamis_state *state, size_t number,
                               size_t *count, tamis_error *err) {
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    size_t size;
    const void *bytes = run_bytes(state, number, &size, count);
    if (!bytes)
        return tamis__fail(err, TAMIS_E_NOT_FOUND, 0, "state: has no run %zu", number);
    return tamis__checkpoint_decode(checkpoint, bytes, size, &memory, err);
}

/* *repeated: a run after `number` has the same names. */
static tamis_status was_repeated(const tamis__checkpoint *checkpoint, const tamis_state *state, size_t number,
                                 bool *repeated, tamis_error *err) {
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    const uint64_t key = tamis__checkpoint_run_key(checkpoint);
    tamis__checkpoint_walk walk = {.state = state};
    tamis_status status = TAMIS_OK;
    const void *bytes;
    size_t size;
    *repeated = false;
    while (status == TAMIS_OK && !*repeated && (bytes = tamis__checkpoint_walk_next(&walk, &size)) != NULL &&
           walk.notes > number) {
        tamis__checkpoint later = {.inputs = NULL};
        if (size > 0)
            status = tamis__checkpoint_decode(&later, bytes, size, &memory, err);
        *repeated = size > 0 && status == TAMIS_OK && tamis__checkpoint_run_key(&later) == key;
        tamis__checkpoint_release(&later);
        if (status == TAMIS_E_FORMAT) /* of another program */
            status = TAMIS_OK;
    }
    return status;
}

static tamis_status find_status(const tamis__checkpoint *checkpoint, const tamis_state *state, size_t number,
                                tamis_stream_run_status *run_status, tamis_error *err) {
    bool repeated = false;
    tamis_status status = TAMIS_OK;
    if (!checkpoint->finished)
        status = was_repeated(checkpoint, state, number, &repeated, err);
    *run_status = checkpoint->finished                    ? TAMIS_STREAM_RUN_ENDED
                  : repeated                              ? TAMIS_STREAM_RUN_REPEATED
                  : tamis__checkpoint_is_open(checkpoint) ? TAMIS_STREAM_RUN_OPEN
                  : checkpoint->closed                    ? TAMIS_STREAM_RUN_CLOSED
                                                          : TAMIS_STREAM_RUN_PIPE;
    return status;
}

tamis_status tamis_stream_run_at(tamis_stream_checkpoint **checkpoint, tamis_stream_run_status *run_status,
                                 const tamis_state *state, size_t number, tamis_error *err) {
    TAMIS__NEED(checkpoint, err);
    TAMIS__NEED(run_status, err);
    TAMIS__NEED(state, err);
    tamis__checkpoint decoded = {.inputs = NULL};
    size_t count;
    tamis_status status = decode_run(&decoded, state, number, &count, err);
    if (status != TAMIS_OK)
        return status;
    status = find_status(&decoded, state, number, run_status, err);
    if (status == TAMIS_OK)
        status = tamis__checkpoint_move(checkpoint, &decoded, err);
    tamis__checkpoint_release(&decoded);
    return status;
}

/* Adds a note, and commits it with the last checkpoint as it was. */
static tamis_status commit_note(tamis_state *state, const void *note, size_t size, tamis_error *err) {
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    const void *last = NULL;
    size_t last_size;
    tamis_state_committed(state, &last, &last_size);
    /* The commit replaces the bytes that it is given here. */
    void *copy = tamis__alloc(&memory, last_size > 0 ? last_size : 1, 1);
    if (!copy)
        return tamis__fail_nomem(err, "checkpoint of a run", last_size);
    if (last_size > 0)
        memcpy(copy, last, last_size);
    tamis_status status = tamis_state_note(state, note, size, err);
    if (status == TAMIS_OK)
        status = tamis_state_commit(state, copy, last_size, err);
    tamis__free(&memory, copy, last_size > 0 ? last_size : 1);
    return status;
}

tamis_status tamis_stream_run_close(tamis_state *state, size_t number, tamis_error *err) {
    TAMIS__NEED(state, err);
    tamis__checkpoint checkpoint = {.inputs = NULL};
    tamis_stream_run_status run_status;
    unsigned char *bytes = NULL;
    size_t size = 0, count;
    tamis_status status = decode_run(&checkpoint, state, number, &count, err);
    if (status != TAMIS_OK)
        return status;
    status = find_status(&checkpoint, state, number, &run_status, err);
    if (status == TAMIS_OK && run_status == TAMIS_STREAM_RUN_OPEN) {
        checkpoint.closed = true;
        status = tamis__checkpoint_encode(&checkpoint, &bytes, &size, err);
        if (status == TAMIS_OK)
            status = number == count ? tamis_state_commit(state, bytes, size, err)
                                     : commit_note(state, bytes, size, err);
        if (bytes)
            tamis__free(&checkpoint.memory, bytes, size);
    }
    tamis__checkpoint_release(&checkpoint);
    return status;
}
