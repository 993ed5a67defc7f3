/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Step B2 of docs/DURABILITY.md: what a state knows of a run that begins, and of its files.
 *
 * A state keeps one checkpoint of each run: which inputs and outputs the run had, and how far it came. The
 * newest one is that of the last commit; each earlier run left a note. The search visits all, newest first:
 *
 *     tamis__history_search
 *       tamis__candidates_open      opens the files of the new run, keeps their first bytes
 *       search_checkpoints          last commit -> note n-1 -> note n-2 -> ... -> note 0
 *         process_checkpoint        for each of them:
 *           note_outputs                       1. what does it know of the new run's outputs?
 *           compare_run                        2. is it a checkpoint of the new run?
 *           tamis__history_check_unfinished    3. is its run unfinished, and would the new one cut it off?
 *           check_inputs                       4. if not: which inputs of the new run did its run read?
 *
 * An example. A state has two runs: one from a to x has finished, one from b and c to y was killed at byte
 * 500 of c. Then the new run
 *
 *     b c -> y    is the killed one: it continues at byte 500 (step 2)
 *     d -> y      is refused: it would cut y back, and the rest of c would never be read (step 3)
 *     c -> z      is refused: another run has read c in part, and its rest belongs to y (step 4)
 *     a d -> z    begins; a was read whole, to its present end (step 4)
 *
 * A checkpoint is of this run if it has the same outputs, and its inputs are, one by one, those of the run.
 * Files are compared by content, since names and inodes are used again. If no checkpoint is of this run,
 * `inputs` has what the newest checkpoint of each input says: how much of it was read.
 *
 * A new run is refused (was_read) if an input
 * - was shortened or changed where it was read;
 * - was read in part by a run with other outputs (durable_start.c refuses inputs that were all read whole).
 *
 * The search continues after such a refusal. If an older checkpoint is of this run, the run had already
 * begun, and it is continued. Only a changed input ends the search. All other errors are final. With
 * commits.reread such inputs are read again, and step 4 only notes which files were rotated away.
 *
 * The search reads all checkpoints, even after it has found the run. An older checkpoint may know an
 * output that newer ones do not.
 */
#include "stream/durable/history_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/target.h"

/* ---- outputs ---- */

/* Notes what a checkpoint knows of the run's output `i` by its own output `j`, unless a newer one knew it. */
static void note_output(tamis__search *s, const tamis__checkpoint *checkpoint, int i, int j) {
    tamis__known_output *known = &s->history->outputs[i];
    const tamis__checkpoint_output *own = &s->run->outputs[i], *theirs = &checkpoint->outputs[j];
    bool copied;
    if ((known->found && !known->copied) || own->form != TAMIS__OUTPUT_FILE ||
        theirs->form != TAMIS__OUTPUT_FILE ||
        !tamis__outputs_match_one(s, i, theirs, checkpoint->finished, &copied) || (copied && i != j) ||
        (known->found && strcmp(own->path, theirs->path) != 0))
        return; /* a known path counts more than a known content */
    *known = (tamis__known_output){.found = true,
                                   .copied = copied,
                                   .is_copy = copied || theirs->is_copy,
                                   .swapped = i != j,
                                   .unfinished = !checkpoint->finished,
                                   .owes_terminator = theirs->owes_terminator,
                                   .header_done = theirs->header_done,
                                   .fingerprint = theirs->fingerprint,
                                   .header = theirs->header,
                                   .compression = theirs->compression,
                                   .uncommitted_offset = theirs->uncommitted_offset,
                                   .uncommitted_size = theirs->uncommitted_size};
    memcpy(known->form, checkpoint->form, sizeof known->form);
}

static void note_outputs(tamis__search *s, const tamis__checkpoint *checkpoint) {
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            note_output(s, checkpoint, i, j);
}

/* ---- runs ---- */

const char *tamis__checkpoint_output_name(const tamis__checkpoint *checkpoint) {
    bool stream = false;
    for (int i = 0; i < 2; i++) {
        if (checkpoint->outputs[i].form == TAMIS__OUTPUT_FILE)
            return checkpoint->outputs[i].path;
        stream = stream || checkpoint->outputs[i].form == TAMIS__OUTPUT_STREAM;
    }
    return stream ? "a pipe" : "no file";
}

static tamis_status fail_changed(tamis__search *s, size_t i, const tamis__checkpoint_input *known,
                                 tamis_error *err) {
    s->was_read = true;
    const tamis__shown name = tamis__show(tamis__input_name(s->run->inputs[i].name));
    if (known->compressed)
        return tamis__fail(
            err, TAMIS_E_CHANGED, 0,
            "%s: changed since it was read (a compressed input must not grow either); restore it, or "
            "allow that it is read again",
            name.text);
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "%s: shortened or changed in the first %" PRIu64
                       " bytes, which were already read; restore it, or allow that it is read again",
                       name.text, known->position.offset);
}

static tamis_status fail_read(tamis__search *s, const tamis__checkpoint *before, size_t i, tamis_error *err) {
    s->was_read = true;
    if (s->unfinished) {
        const tamis_status status = tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "%s: already processed (output %s), but its run has not finished; finish that run, or "
            "allow that it is read again",
            tamis__show(tamis__input_name(s->run->inputs[i].name)).text,
            tamis__show(tamis__checkpoint_output_name(before)).text);
        if (!s->history->other_run.inputs && err) {
            s->keep_as_other_run = true;
            snprintf(s->history->other_run_text, sizeof s->history->other_run_text, "%s", err->text);
        }
        return status;
    }
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%s: already processed (output %s); list only new inputs, give the inputs and outputs of that run to "
        "continue it, or allow that it is read again",
        tamis__show(tamis__input_name(s->run->inputs[i].name)).text,
        tamis__show(tamis__checkpoint_output_name(before)).text);
}

/* A checkpoint, compared with the run. */
typedef struct comparison {
    const tamis__checkpoint *checkpoint;
    bool is_run, to_same; /* it belongs to this run; it has the same outputs */
    size_t changed;       /* the first input that has changed; SIZE_MAX: none */
} comparison;

/* Compares the inputs of the run with those of the checkpoint, one by one. c->is_run becomes false if one
 * differs. Names and inodes are used again, so only the newest checkpoint with a name decides whether that
 * file has changed. */
static tamis_status compare_all_inputs(tamis__search *s, comparison *c, tamis_error *err) {
    const tamis__checkpoint *checkpoint = c->checkpoint;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < checkpoint->input_count && status == TAMIS_OK; i++) {
        tamis__candidate *kept = &s->candidates.inputs[i];
        const bool named = strcmp(s->run->inputs[i].name, checkpoint->inputs[i].name) == 0;
        tamis__file_match match;
        status =
            tamis__candidate_compare(kept, &checkpoint->inputs[i],
                                     named ? !kept->compared_by_name : !s->compared_in_order, &match, err);
        kept->compared_by_name = kept->compared_by_name || named;
        c->is_run = c->is_run && match == TAMIS__FILE_SAME;
        if (match == TAMIS__FILE_CHANGED && c->changed == SIZE_MAX)
            c->changed = i;
    }
    s->compared_in_order = true;
    return status;
}

/* False if an input that no run has begun to read was renamed: the run's input of that name is another file
 * then. */
static bool unread_inputs_are_there(const tamis__search *s, const tamis__checkpoint *checkpoint) {
    for (size_t i = 0; i < checkpoint->input_count; i++) {
        const tamis__checkpoint_input *known = &checkpoint->inputs[i];
        tamis__present_input present;
        if (!tamis__input_is_unread(known) || tamis__candidate_has_inode(&s->candidates.inputs[i], known))
            continue;
        tamis__input_find(known, &present);
        if (present.found && present.size > 0 && strcmp(present.name, known->name) != 0)
            return false;
    }
    return true;
}

/* For a run that is continued: reports inputs that were replaced before it began to read them. A finished run
 * commits nothing until there are bytes, so it does not report an empty file that replaced an empty one. */
static void note_unread(tamis__search *s, const tamis__checkpoint *checkpoint) {
    for (size_t i = 0; i < checkpoint->input_count; i++) {
        const tamis__checkpoint_input *known = &checkpoint->inputs[i];
        const bool still_empty =
            checkpoint->finished && known->fingerprint.length == 0 && s->candidates.inputs[i].head.size == 0;
        if (tamis__input_is_unread(known) && !still_empty)
            tamis__candidates_note_rotation(s, known, false, &s->history->unread);
    }
}

bool tamis__history_may_read_rest(const tamis__search *s, const tamis__checkpoint *checkpoint) {
    if (!s->options->follow || checkpoint->form[TAMIS__FORM_HEADER])
        return false; /* another output would lack the header, which is not read again */
    for (int i = 0; i < 2; i++) {
        const tamis__checkpoint_output *out = &checkpoint->outputs[i];
        struct stat st;
        if (out->form == TAMIS__OUTPUT_STREAM)
            return false; /* it is not known what a pipe or device has received */
        if (out->form == TAMIS__OUTPUT_FILE &&
            (tamis__sys.stat(out->path, &st) != 0 || (uint64_t)st.st_size != out->fingerprint.length))
            return false;
    }
    return true;
}

/* Notes how far the run of the checkpoint has read its input `n`, which is input `i` of this run. Fails if
 * the input has unread bytes and the outputs differ, unless this run may read on from there. */
static tamis_status note_input(tamis__search *s, const comparison *c, size_t n, size_t i, tamis_error *err) {
    const tamis__checkpoint *checkpoint = c->checkpoint;
    const bool to_same = c->to_same;
    const tamis__checkpoint_input *in = &checkpoint->inputs[n];
    tamis__earlier_read *before = &s->history->inputs[i];
    const bool whole = in->compressed ? checkpoint->finished || n < checkpoint->input
                                      : s->candidates.inputs[i].head.size <= in->position.offset;
    if (before->found)
        return TAMIS_OK;
    if (!to_same && !whole && !tamis__history_may_read_rest(s, checkpoint))
        return fail_read(s, checkpoint, i, err);
    *before = (tamis__earlier_read){.found = true,
                                    .to_same = to_same,
                                    .whole = whole,
                                    .position = in->position,
                                    .fingerprint = in->fingerprint};
    memcpy(before->form, checkpoint->form, sizeof before->form);
    if (!to_same && !whole)
        snprintf(s->history->read_on_text, sizeof s->history->read_on_text,
                 "%.250s: read on from byte %" PRIu64 ", where the run to %.250s stopped",
                 tamis__show(tamis__input_name(s->run->inputs[i].name)).text, in->position.offset,
                 tamis__show(tamis__checkpoint_output_name(checkpoint)).text);
    if (!to_same && s->history->read_by.text[0] == '\0')
        (void)fail_read(s, checkpoint, i, &s->history->read_by);
    s->history->any_before = true;
    s->was_read = false;
    return TAMIS_OK;
}

static tamis_status note_inputs(tamis__search *s, const comparison *c, tamis_error *err) {
    const tamis__checkpoint *checkpoint = c->checkpoint;
    tamis_error refused = TAMIS_ERROR_INIT, why = TAMIS_ERROR_INIT;
    size_t first = SIZE_MAX, first_changed = SIZE_MAX, changed_input = 0;
    tamis_status status = TAMIS_OK;
    for (size_t n = 0; n < checkpoint->input_count && status == TAMIS_OK; n++) {
        size_t found, changed;
        status = tamis__candidates_find(s, &checkpoint->inputs[n], &found, &changed, err);
        if (status == TAMIS_OK)
            tamis__candidates_note_rotation(s, &checkpoint->inputs[n],
                                            found != SIZE_MAX || (s->abandoned && n >= checkpoint->input),
                                            &s->history->rotated);
        if (status != TAMIS_OK || s->reread) /* all inputs are read from their beginning */
            continue;
        if (found != SIZE_MAX && note_input(s, c, n, found, &why) != TAMIS_OK && found < first) {
            first = found;
            refused = why;
        }
        if (changed < first_changed) {
            first_changed = changed;
            changed_input = n;
        }
    }
    if (status == TAMIS_OK && first != SIZE_MAX) {
        s->was_read = true;
        return tamis__fail(err, refused.status, 0, "%s", refused.text);
    }
    return status == TAMIS_OK && first_changed != SIZE_MAX
               ? fail_changed(s, first_changed, &checkpoint->inputs[changed_input], err)
               : status;
}

static tamis_status compare_run(tamis__search *s, comparison *c, tamis_error *err) {
    const tamis__checkpoint *checkpoint = c->checkpoint;
    /* A note that lacks inputs is of another run, even if the other inputs are equal. */
    const bool has_all = checkpoint->run_key == 0;
    c->to_same = tamis__outputs_match_both(s, checkpoint);
    c->is_run = c->to_same && has_all && s->run->input_count == checkpoint->input_count;
    c->changed = SIZE_MAX;
    if (!c->is_run)
        return TAMIS_OK;
    const tamis_status status = compare_all_inputs(s, c, err);
    c->is_run = c->is_run && (status != TAMIS_OK || unread_inputs_are_there(s, checkpoint));
    return status;
}

/* Fails if, by the checkpoint of another run, a new run must be refused. */
static tamis_status check_inputs(tamis__search *s, const comparison *c, tamis_error *err) {
    if (c->changed == SIZE_MAX || s->reread)
        return note_inputs(s, c, err);
    s->changed = true;
    return fail_changed(s, c->changed, &c->checkpoint->inputs[c->changed], err);
}

static tamis_status process_checkpoint(tamis__search *s, const void *bytes, size_t size, bool last,
                                       tamis_error *err) {
    tamis__checkpoint checkpoint = {.inputs = NULL};
    tamis_error refused = TAMIS_ERROR_INIT;
    const bool found = s->history->found;
    comparison c = {.checkpoint = &checkpoint};
    tamis_status status = tamis__checkpoint_decode(&checkpoint, bytes, size, &s->run->memory, err);
    if (status != TAMIS_OK)
        return status;
    note_outputs(s, &checkpoint);
    s->keep_as_other_run = s->abandoned = false;
    if (!found)
        status = compare_run(s, &c, &refused);
    if (status == TAMIS_OK)
        status = tamis__history_check_unfinished(s, &checkpoint, c.is_run, last, &refused);
    if (status == TAMIS_OK && !found && !c.is_run)
        status = check_inputs(s, &c, &refused);
    if (c.is_run && status == TAMIS_OK) {
        note_unread(s, &checkpoint);
        s->history->found = true;
        s->history->last = last;
        s->was_read = false;
        s->history->before = checkpoint;
        return TAMIS_OK;
    }
    if (s->keep_as_other_run && checkpoint.inputs) {
        tamis__candidates_rename(s, &checkpoint);
        s->history->other_run = checkpoint;
    } else {
        tamis__checkpoint_release(&checkpoint);
    }
    return status == TAMIS_OK ? TAMIS_OK : tamis__fail(err, status, refused.sys_errno, "%s", refused.text);
}

static tamis_status search_checkpoints(tamis__search *s, const tamis_state *state, tamis_error *err) {
    tamis_error against = TAMIS_ERROR_INIT;
    tamis_status first = TAMIS_OK;
    tamis__checkpoint_walk walk = {.state = state};
    const void *bytes;
    size_t size;
    while (!s->changed && (bytes = tamis__checkpoint_walk_next(&walk, &size)) != NULL) {
        tamis_error why = TAMIS_ERROR_INIT;
        s->was_read = false;
        const tamis_status status =
            size > 0 ? process_checkpoint(s, bytes, size, walk.is_last, &why) : TAMIS_OK;
        if (status != TAMIS_OK && !s->was_read) /* no checkpoint may be skipped */
            return tamis__fail(err, status, why.sys_errno, "%s", why.text);
        if (status != TAMIS_OK && first == TAMIS_OK) {
            first = status;
            against = why;
        }
    }
    s->history->was_read = !s->history->found && first != TAMIS_OK;
    return s->history->was_read ? tamis__fail(err, first, against.sys_errno, "%s", against.text) : TAMIS_OK;
}

tamis_status tamis__history_search(tamis__history *h, const tamis__checkpoint *run,
                                   const tamis_stream_options *options, const tamis_state *state,
                                   tamis_error *err) {
    tamis__search s = {.run = run,
                       .options = options,
                       .reread = options->commits->reread,
                       .abandon = options->commits->abandon,
                       .history = h};
    h->memory = run->memory;
    h->read_by = (tamis_error)TAMIS_ERROR_INIT;
    h->input_count = run->input_count;
    h->inputs = tamis__alloc(&h->memory, h->input_count * sizeof *h->inputs, TAMIS__LINE);
    if (!h->inputs)
        return tamis__fail_nomem(err, "inputs of a run", h->input_count * sizeof *h->inputs);
    tamis_status status = tamis__candidates_open(&s.candidates, run, err);
    if (status == TAMIS_OK)
        status = search_checkpoints(&s, state, err);
    tamis__candidates_close(&s.candidates, &h->memory);
    tamis__free(&h->memory, s.keys, s.key_capacity * sizeof *s.keys);
    return status;
}

void tamis__history_release(tamis__history *h) {
    tamis__free(&h->memory, h->inputs, h->input_count * sizeof *h->inputs);
    while (h->closed_runs) {
        tamis__closed_run *left = h->closed_runs;
        h->closed_runs = left->next;
        tamis__free(&h->memory, left->bytes, left->size);
        tamis__free(&h->memory, left, sizeof *left);
    }
    tamis__checkpoint_release(&h->before);
    tamis__checkpoint_release(&h->blocking);
    tamis__checkpoint_release(&h->other_run);
}
