/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checkpoints in memory, and the public functions that show them. checkpoint.h says what a checkpoint has,
 * checkpoint_bytes.c how it is encoded.
 *
 * Two checkpoints are of the same run if their run keys are equal:
 *
 *     run key = FNV-1 of | name of each input, in order | for both outputs: form, path |
 *
 * Options are not in the key. So a run that is continued with other options is found, and refused with the
 * name of the option (tamis__checkpoint_fail_form). A checkpoint that leaves out inputs stores its key, since
 * it can no longer be computed from the names.
 *
 * A checkpoint owns its names, paths and arrays. It is moved by a copy of the struct, whose source is then
 * cleared (tamis__checkpoint_move): two copies would free the same memory.
 */
#include "stream/durable/checkpoint.h"

#include <string.h>

#include <tamis/experimental/state.h>

#include "base/versioned.h"
#include "hash/fnv.h"
#include "store/file/file_error.h"
#include "stream/durable/known_input.h"

tamis_status tamis__checkpoint_init(tamis__checkpoint *checkpoint, size_t inputs,
                                    const tamis_allocator *memory, tamis_error *err) {
    checkpoint->memory = *memory;
    checkpoint->positions.memory = *memory;
    checkpoint->stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    checkpoint->inputs =
        tamis__alloc(memory, (inputs ? inputs : 1) * sizeof *checkpoint->inputs, TAMIS__LINE);
    if (!checkpoint->inputs)
        return tamis__fail_nomem(err, "checkpoint of a run", inputs * sizeof *checkpoint->inputs);
    checkpoint->input_count = inputs;
    for (size_t i = 0; i < inputs; i++)
        checkpoint->inputs[i].stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    return TAMIS_OK;
}

char *tamis__checkpoint_copy_text(const tamis__checkpoint *checkpoint, const char *text) {
    char *copy = tamis__alloc(&checkpoint->memory, strlen(text) + 1, 1);
    if (copy)
        memcpy(copy, text, strlen(text) + 1);
    return copy;
}

static void free_text(const tamis__checkpoint *checkpoint, char *text) {
    if (text)
        tamis__free(&checkpoint->memory, text, strlen(text) + 1);
}

void tamis__checkpoint_rename(const tamis__checkpoint *checkpoint, char **text, const char *to) {
    char *copy = tamis__checkpoint_copy_text(checkpoint, to);
    if (!copy)
        return;
    free_text(checkpoint, *text);
    *text = copy;
}

void tamis__checkpoint_release(tamis__checkpoint *checkpoint) {
    const size_t count = checkpoint->input_count;
    for (size_t i = 0; checkpoint->inputs && i < count; i++)
        free_text(checkpoint, checkpoint->inputs[i].name);
    for (int i = 0; checkpoint->inputs && i < 2; i++)
        free_text(checkpoint, checkpoint->outputs[i].path);
    free_text(checkpoint, checkpoint->command);
    tamis__source_positions_release(&checkpoint->positions);
    if (checkpoint->inputs)
        tamis__free(&checkpoint->memory, checkpoint->inputs,
                    (count ? count : 1) * sizeof *checkpoint->inputs);
    *checkpoint = (tamis__checkpoint){.inputs = NULL};
}

uint64_t tamis__checkpoint_run_key(const tamis__checkpoint *checkpoint) {
    uint64_t key = TAMIS__FNV_BASIS;
    if (checkpoint->run_key != 0)
        return checkpoint->run_key;
    for (size_t i = 0; i < checkpoint->input_count; i++)
        key = tamis__fnv1_64_on(key, checkpoint->inputs[i].name, 0, strlen(checkpoint->inputs[i].name) + 1);
    for (int i = 0; i < 2; i++) {
        const char *path = checkpoint->outputs[i].path ? checkpoint->outputs[i].path : "";
        const unsigned char form = (unsigned char)checkpoint->outputs[i].form;
        key = tamis__fnv1_64_on(key, &form, 0, 1);
        key = tamis__fnv1_64_on(key, path, 0, strlen(path) + 1);
    }
    return key;
}

bool tamis__checkpoint_is_open(const tamis__checkpoint *checkpoint) {
    for (size_t i = (size_t)checkpoint->input; i < checkpoint->input_count; i++)
        if (checkpoint->inputs[i].regular)
            return !checkpoint->finished && !checkpoint->closed;
    return false;
}

tamis_status tamis__checkpoint_fail_form(const char *name, int form, tamis_error *err) {
    static const char *const names[] = {[TAMIS__FORM_TERMINATOR] = "end of records",
                                        [TAMIS__FORM_HEADER] = "header",
                                        [TAMIS__FORM_MARKING] = "mark of records",
                                        [TAMIS__FORM_MARK] = "name of marks",
                                        [TAMIS__FORMS] = "compression"};
    return tamis__fail(
        err, TAMIS_E_MISMATCH, 0,
        "%s: was begun with another %s; give the options that it was begun with, or another output",
        tamis__show(name).text, names[form]);
}

/* ---- public access to a checkpoint ---- */

struct tamis_stream_checkpoint {
    tamis__checkpoint checkpoint;
};

tamis_status tamis__checkpoint_move(tamis_stream_checkpoint **checkpoint, tamis__checkpoint *from,
                                    tamis_error *err) {
    tamis_stream_checkpoint *made =
        tamis__alloc(&from->memory, sizeof *made, _Alignof(tamis_stream_checkpoint));
    if (!made)
        return tamis__fail_nomem(err, "checkpoint of a run", sizeof *made);
    made->checkpoint = *from;
    *from = (tamis__checkpoint){.inputs = NULL};
    *checkpoint = made;
    return TAMIS_OK;
}

tamis_status tamis_stream_checkpoint_decode(tamis_stream_checkpoint **checkpoint, const void *bytes,
                                            size_t size, tamis_error *err) {
    TAMIS__NEED(checkpoint, err);
    TAMIS__NEED_IF(size, bytes, err);
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    tamis_stream_checkpoint *made = tamis__alloc(&memory, sizeof *made, _Alignof(tamis_stream_checkpoint));
    if (!made)
        return tamis__fail_nomem(err, "checkpoint of a run", sizeof *made);
    const tamis_status status = tamis__checkpoint_decode(&made->checkpoint, bytes, size, &memory, err);
    if (status == TAMIS_OK)
        *checkpoint = made;
    else
        tamis__free(&memory, made, sizeof *made);
    return status;
}

void tamis_stream_checkpoint_free(tamis_stream_checkpoint *checkpoint) {
    if (!checkpoint)
        return;
    const tamis_allocator memory = checkpoint->checkpoint.memory;
    tamis__checkpoint_release(&checkpoint->checkpoint);
    tamis__free(&memory, checkpoint, sizeof *checkpoint);
}

bool tamis_stream_checkpoint_get(const tamis_stream_checkpoint *checkpoint, tamis_stream_stats *stats) {
    tamis__write_struct(stats, &checkpoint->checkpoint.stats, sizeof checkpoint->checkpoint.stats);
    return checkpoint->checkpoint.finished;
}

const char *tamis_stream_checkpoint_command(const tamis_stream_checkpoint *checkpoint) {
    const char *command = checkpoint->checkpoint.command;
    return command && command[0] ? command : NULL;
}

const char *tamis_stream_checkpoint_input(const tamis_stream_checkpoint *checkpoint, size_t i,
                                          uint64_t *read) {
    if (i >= checkpoint->checkpoint.input_count)
        return NULL;
    if (read)
        *read = checkpoint->checkpoint.inputs[i].position.offset;
    return checkpoint->checkpoint.inputs[i].name;
}

bool tamis_stream_checkpoint_is_input(const tamis_stream_checkpoint *checkpoint, size_t i, const char *path) {
    const tamis__checkpoint *run = &checkpoint->checkpoint;
    return i < run->input_count && (!run->inputs[i].regular || tamis__input_is_file(&run->inputs[i], path));
}

const void *tamis__checkpoint_walk_next(tamis__checkpoint_walk *walk, size_t *size) {
    const void *bytes;
    walk->is_last = !walk->has_begun;
    walk->has_begun = true;
    if (!walk->is_last)
        return walk->notes > 0 ? tamis_state_note_at(walk->state, --walk->notes, size) : NULL;
    while (tamis_state_note_at(walk->state, walk->notes, size))
        walk->notes++;
    tamis_state_committed(walk->state, &bytes, size);
    return bytes;
}

tamis_key tamis_stream_checkpoint_source(const tamis_stream_checkpoint *checkpoint, size_t i,
                                         uint64_t *position) {
    const tamis__source_positions *positions = &checkpoint->checkpoint.positions;
    if (i >= positions->written_count)
        return (tamis_key){NULL, 0};
    if (position)
        *position = positions->sources[i].written.position;
    return (tamis_key){positions->sources[i].name, positions->sources[i].size};
}

const char *tamis_stream_checkpoint_output(const tamis_stream_checkpoint *checkpoint, size_t i,
                                           uint64_t *written) {
    if (i >= 2 || checkpoint->checkpoint.outputs[i].form != TAMIS__OUTPUT_FILE)
        return NULL;
    if (written)
        *written = checkpoint->checkpoint.outputs[i].fingerprint.length;
    return checkpoint->checkpoint.outputs[i].path;
}
