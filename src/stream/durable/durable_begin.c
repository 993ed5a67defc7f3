/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a durable run begins: steps B2 to B6 of docs/DURABILITY.md.
 *
 *     tamis__durable_begin
 *         describe_run                     names and fingerprints of all files, and the options that count
 *         tamis__durable_find_start   B2   where the run begins; nothing changes (durable_start.c)
 *         open_outputs                B3 to B5
 *         note_other_runs             B6   checkpoints of other runs become notes, with the first commit
 *         report_start                     callbacks
 *
 * Invariant: the notes of B6 and the first checkpoint are in one commit. After a crash either the old run is
 * still unfinished, or the new one has begun.
 */
#include "stream/durable/durable_int.h"

#include <stdio.h>
#include <string.h>

#include "hash/fnv.h"
#include "service/dedup/dedup_commits.h"
#include "store/file/file_error.h"

enum { OUTPUTS = TAMIS__DURABLE_OUTPUTS };

/* ---- inputs and outputs of the run ---- */

static tamis_status detect_compression(const tamis__open_file *file, bool *compressed, tamis_error *err) {
    uint8_t head[TAMIS_COMPRESSION_MAGIC_MAX];
    size_t size;
    const tamis_status status = tamis__file_read(file, (tamis__file_span){0, sizeof head}, head, &size, err);
    *compressed = status == TAMIS_OK && tamis_compression_of_bytes(head, size) != TAMIS_COMPRESSION_NONE;
    return status;
}

/* The head identifies a file that is renamed before it is read. A compressed input is fingerprinted whole: a
 * position in the decompressed stream has no position in the file. */
tamis_status tamis__durable_examine_input(tamis__durable *d, size_t i, tamis_error *err) {
    tamis__checkpoint_input *in = &d->live.inputs[i];
    tamis_status status = tamis__durable_open_input(d, i, err);
    if (status != TAMIS_OK)
        return status;
    in->regular = d->input.file.fd >= 0;
    if (!in->regular && !d->live.positioned && !d->result.inexact) {
        d->result.inexact = tamis__input_name(d->names[i]);
        d->result.inexact_input = true;
    }
    if (!in->regular)
        return TAMIS_OK;
    status = detect_compression(&d->input.file, &in->compressed, err);
    const uint64_t size = d->input.size;
    const uint64_t length =
        in->compressed || size < TAMIS__FILE_FINGERPRINT_BYTES ? size : TAMIS__FILE_FINGERPRINT_BYTES;
    if (status == TAMIS_OK)
        status = tamis__file_fingerprint_compute(&in->fingerprint, &d->input.file, length, err);
    /* Others may write to an input until it is opened. */
    in->observed = in->compressed ? in->fingerprint : (tamis__file_fingerprint){.length = 0};
    return status;
}

static tamis_status find_input(tamis__durable *d, size_t i, tamis_error *err) {
    tamis__checkpoint_input *in = &d->live.inputs[i];
    in->name = tamis__checkpoint_copy_text(&d->live, d->names[i]);
    in->match_by_inode = d->followed && d->followed->names[i].match_by_inode;
    in->from_start = d->followed && d->followed->names[i].truncated;
    in->rotated = d->followed && strcmp(d->followed->names[i].name, d->names[i]) != 0;
    if (!in->name)
        return tamis__fail_nomem(err, "checkpoint of a run", strlen(d->names[i]));
    return tamis__durable_examine_input(d, i, err);
}

static tamis_status copy_command(tamis__durable *d, tamis_error *err) {
    enum { COMMAND_MAX = 60000 };
    const char *command = d->commits->command ? d->commits->command : "";
    if (strlen(command) > COMMAND_MAX)
        return tamis__fail(
            err, TAMIS_E_RANGE, 0,
            "stream: commits.command: %zu bytes, but a state keeps at most %d; give a shorter text",
            strlen(command), COMMAND_MAX);
    d->live.command = tamis__checkpoint_copy_text(&d->live, command);
    return d->live.command ? TAMIS_OK : tamis__fail_nomem(err, "checkpoint of a run", strlen(command));
}

static tamis_status find_outputs(tamis__durable *d, const tamis_stream_options *options, tamis_error *err) {
    const char *const paths[OUTPUTS] = {options->output, options->duplicates};
    for (int i = 0; i < OUTPUTS; i++) {
        const tamis_status status =
            tamis__appended_output_find(&d->outputs[i], &d->live, &d->result.inexact, err);
        if (status == TAMIS_E_UNSUPPORTED)
            d->result.open_output = paths[i];
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}

static tamis_status find_inputs_and_outputs(tamis__durable *d, const tamis_stream_options *options,
                                            tamis_error *err) {
    const size_t inputs = options->input_count ? options->input_count : 1;
    tamis_status status = tamis__checkpoint_init(&d->live, inputs, &d->memory, err);
    if (status == TAMIS_OK)
        status = copy_command(d, err);
    for (size_t i = 0; i < inputs && status == TAMIS_OK; i++)
        status = find_input(d, i, err);
    if (status == TAMIS_OK)
        status = find_outputs(d, options, err);
    if (status != TAMIS_OK || !d->result.inexact || !d->commits->exactly_once)
        return status;
    return tamis__fail(
        err, TAMIS_E_UNSUPPORTED, 0,
        "%s: not a regular file, so a crash may repeat records; give a regular file, or allow that",
        tamis__show(d->result.inexact).text);
}

static void set_form(tamis__durable *d, const tamis_stream_options *o, const int *compressions) {
    uint64_t *form = d->live.form;
    const char *mark = o->marking && o->mark_name ? o->mark_name : "";
    form[TAMIS__FORM_TERMINATOR] = o->terminator;
    form[TAMIS__FORM_HEADER] = o->header;
    form[TAMIS__FORM_MARKING] = (uint64_t)o->marking;
    form[TAMIS__FORM_MARK] = tamis__fnv1_64(mark, strlen(mark));
    for (int i = 0; i < OUTPUTS; i++)
        d->live.outputs[i].compression = compressions[i];
}

static tamis_status check_session(const tamis__durable *d, tamis_error *err) {
    if (!d->session || !tamis__dedup_state(d->session))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: commits without a session over a state; give that in commits.session");
    if (tamis__dedup_is_concurrent(d->session)) /* its log has no batches, but a run commits batch by batch */
        return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                           "stream: the filter of its session is concurrent, and a run that commits has "
                           "threads of its own; open the state without that option");
    if (!tamis__dedup_is_committed(d->session))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: its session has adds that are not committed; commit or abort them first");
    return TAMIS_OK;
}

/* Q6: takes the positions from the last commit, whichever run made it: they belong to the state. */
static tamis_status load_positions(tamis__durable *d, tamis_error *err) {
    tamis__checkpoint last = {.inputs = NULL};
    const void *bytes;
    size_t size;
    tamis_state_committed(tamis__dedup_state(d->session), &bytes, &size);
    if (size == 0)
        return TAMIS_OK;
    const tamis_status status = tamis__checkpoint_decode(&last, bytes, size, &d->memory, err);
    if (status != TAMIS_OK)
        return status;
    d->live.positions = last.positions;
    last.positions = (tamis__source_positions){.memory = d->memory};
    tamis__checkpoint_release(&last);
    return TAMIS_OK;
}

static tamis_status describe_run(tamis__durable *d, const tamis_stream_options *options,
                                 const int *compressions, tamis_error *err) {
    tamis_status status = check_session(d, err);
    d->live.positioned = options->extractor && tamis_extractor_has_position(options->extractor);
    if (status == TAMIS_OK)
        status = find_inputs_and_outputs(d, options, err);
    if (status == TAMIS_OK)
        status = load_positions(d, err);
    if (status == TAMIS_OK)
        set_form(d, options, compressions);
    return status;
}

/* ---- outputs, notes and the first commit ---- */

static tamis_status open_outputs(tamis__durable *d, const tamis__history *h, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        status =
            tamis__appended_output_open(&d->outputs[i], &d->live, &h->outputs[i], &d->result.unlocked, err);
    return status;
}

/* True if the run reads the file of an input of an earlier run. */
static bool reads_file(const tamis__durable *d, const tamis__checkpoint_input *in) {
    for (size_t i = 0; i < d->live.input_count && in->regular; i++) {
        const tamis__file_fingerprint *own = &d->live.inputs[i].fingerprint;
        if (d->live.inputs[i].regular && own->inode == in->fingerprint.inode &&
            own->device == in->fingerprint.device)
            return true;
    }
    return false;
}

static bool has_same_outputs(const tamis__durable *d, const tamis__checkpoint *checkpoint) {
    for (int i = 0; i < OUTPUTS; i++) {
        const tamis__checkpoint_output *own = &d->live.outputs[i], *other = &checkpoint->outputs[i];
        if (own->form != other->form || strcmp(own->path ? own->path : "", other->path) != 0)
            return false;
    }
    return true;
}

/* A run of followed files ends when one of them is rotated, and the next run reads the others on. The
 * checkpoints of that run have their positions. So the note of the ended run has the rotated file alone:
 * notes are kept for good, and there may be thousands of logs. */
static void leave_out_inputs(const tamis__durable *d, tamis__checkpoint *ended) {
    const uint64_t key = tamis__checkpoint_run_key(ended);
    size_t left_out = 0;
    if (!d->followed || !ended->finished || !has_same_outputs(d, ended))
        return;
    for (size_t i = 0; i < ended->input_count; i++) {
        tamis__checkpoint_input *in = &ended->inputs[i];
        in->left_out = left_out + 1 < ended->input_count && reads_file(d, in);
        left_out += in->left_out;
    }
    ended->run_key = left_out > 0 ? key : ended->run_key;
}

/* Makes a checkpoint a note. The note lacks what the checkpoints of this run repeat: the positions of the
 * state, and the inputs that this run reads on. */
static tamis_status add_note(const tamis__durable *d, const void *bytes, size_t size, tamis_error *err) {
    tamis_state *state = tamis__dedup_state(d->session);
    tamis__checkpoint checkpoint = {.inputs = NULL};
    unsigned char *without;
    /* Another program may have made the commit. */
    if (tamis__checkpoint_decode(&checkpoint, bytes, size, &d->memory, NULL) != TAMIS_OK) {
        tamis__checkpoint_release(&checkpoint);
        return tamis_state_note(state, bytes, size, err);
    }
    leave_out_inputs(d, &checkpoint);
    tamis__source_positions_release(&checkpoint.positions);
    tamis_status status = tamis__checkpoint_encode(&checkpoint, &without, &size, err);
    tamis__checkpoint_release(&checkpoint);
    if (status != TAMIS_OK)
        return status;
    status = tamis_state_note(state, without, size, err);
    tamis__free(&d->memory, without, size);
    return status;
}

/* B6: keeps the checkpoint of the last commit as a note if it is of another run, which may be repeated
 * later. Also keeps the checkpoints of unfinished runs that end when this one begins. */
static tamis_status note_other_runs(const tamis__durable *d, const tamis__history *h, tamis_error *err) {
    tamis_state *state = tamis__dedup_state(d->session);
    tamis_status status = TAMIS_OK;
    const void *checkpoint;
    size_t size;
    bool kept = h->last;
    for (const tamis__closed_run *left = h->closed_runs; left && status == TAMIS_OK; left = left->next) {
        status = add_note(d, left->bytes, left->size, err);
        kept = kept || left->last;
    }
    tamis_state_committed(state, &checkpoint, &size);
    if (status != TAMIS_OK || kept || size == 0)
        return status;
    return add_note(d, checkpoint, size, err);
}

static void report_unread(const tamis__durable *d, const tamis__unread_report *unread) {
    char message[600], others[60] = "";
    if (unread->others > 0)
        snprintf(others, sizeof others, "; the same holds for %zu more input%s", unread->others,
                 unread->others > 1 ? "s" : "");
    snprintf(message, sizeof message, "%s%s", unread->text, others);
    tamis__durable_remark(d, message, true);
}

/* True if the state knows files that had a followed name. */
static bool knows_names(const tamis__durable *d) {
    for (size_t i = 0; d->followed && i < d->followed->count; i++)
        if (d->followed->names[i].has_history)
            return true;
    return false;
}

/* Says how the run begins, and remarks about other runs. */
static void report_start(const tamis__durable *d, const tamis__history *h) {
    char message[500];
    if (d->followed)
        d->followed->before = d->live.stats;
    if (d->commits->on_start && !(d->followed && d->followed->started))
        d->commits->on_start(d->commits->callback_context, &d->result, &d->live.stats);
    if (d->followed)
        d->followed->started = true;
    tamis__durable_remark(d, h->read_on_text, false);
    tamis__durable_remark(d, h->beside, false);
    if (!knows_names(d)) /* tamis__followed_find reports rotated files */
        report_unread(d, h->found ? &h->unread : &h->rotated);
    for (const tamis__closed_run *left = h->closed_runs; left; left = left->next)
        tamis__durable_remark(d, left->remark_text, true);
    if (d->skipped == 0 || d->finished)
        return;
    const tamis__shown name = tamis__show(tamis__input_name(d->first_skipped));
    if (d->skipped == 1)
        snprintf(message, sizeof message, "%s: processed by an earlier run; skipped", name.text);
    else
        snprintf(message, sizeof message, "%s and %zu more input%s: processed by an earlier run; skipped",
                 name.text, d->skipped - 1, d->skipped > 2 ? "s" : "");
    tamis__durable_remark(d, message, false);
}

tamis_status tamis__durable_begin(tamis__durable *d, const tamis_stream_options *options,
                                  const int *compressions, tamis__target *targets, tamis_error *err) {
    static const char *const standard_input[] = {"-"};
    tamis__history h = {.found = false};
    d->commits = options->commits;
    d->session = d->commits->session;
    d->memory = tamis__allocator_resolve(options->allocator);
    d->names = options->input_count ? options->inputs : standard_input;
    d->input.file.fd = -1;
    d->result = (tamis_stream_result)TAMIS_STREAM_RESULT_INIT;
    for (int i = 0; i < OUTPUTS; i++)
        tamis__appended_output_init(&d->outputs[i], i, &targets[i]);
    tamis_status status = describe_run(d, options, compressions, err);
    if (status == TAMIS_OK)
        status = tamis__durable_find_start(d, &h, options, err); /* B2 */
    const tamis_status named = tamis__durable_check_named(d, err);
    if (named != TAMIS_OK)
        status = named;
    if (status == TAMIS_OK)
        status = open_outputs(d, &h, err);  /* B3 to B5 */
    if (status == TAMIS_OK && !d->finished) /* first: if a followed file was renamed, another run begins */
        status = tamis__durable_fingerprint(d, err);
    if (status == TAMIS_OK && !d->finished)
        status = note_other_runs(d, &h, err); /* B6 */
    if (status == TAMIS_OK && !d->finished)
        status = tamis__durable_commit_live(d, err);
    if (status == TAMIS_OK)
        report_start(d, &h);
    d->closed_others = h.closed_runs != NULL;
    tamis__history_release(&h);
    return status;
}
