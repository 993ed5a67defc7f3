/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a durable run begins: step B2 of docs/DURABILITY.md.
 *
 *     tamis__durable_find_start
 *         tamis__history_search    this run in the checkpoints of the state; what others have read
 *         continue_run             positions: those of its last commit,
 *         skip_inputs              those that other runs have reached,
 *         begin_new                or the beginning of all inputs, although they were read
 *
 *     The state knows                      result.start      the run
 *     this run, unfinished                 RESUMED           goes on after its last commit
 *     this run, finished; an input grew    GROWN             reads the new bytes
 *     this run, finished; nothing new      FINISHED          reads nothing
 *     other runs that read some inputs     NEW               skips what these have read
 *     nothing of the inputs                NEW               reads everything
 *
 * Invariant: a run that is refused here has changed nothing.
 */
#include <string.h>

#include "service/dedup/dedup_commits.h"
#include "store/file/file_error.h"
#include "stream/durable/durable_int.h"

static tamis_status fail_unterminated(tamis__durable *d, size_t i, tamis_error *err) {
    d->result.was_read = true;
    d->result.unterminated = tamis__input_name(d->names[i]);
    return tamis__fail(
        err, TAMIS_E_CHANGED, 0,
        "%s: its last record had no end when it was read, and has got longer since; allow that the input is "
        "read again",
        tamis__show(tamis__input_name(d->names[i])).text);
}

/* For a followed input: the next bytes may be the terminator, or more of the record. */
static tamis_status fail_without_end(tamis__durable *d, size_t i, tamis_error *err) {
    const char *name = tamis__input_name(d->names[i]);
    d->result.was_read = true;
    d->result.unterminated = name;
    return tamis__fail(err, TAMIS_E_CHANGED, 0,
                       "%s: its last record was answered without its end, which is still missing; follow it "
                       "when the record is complete, or allow that the input is read again",
                       tamis__show(name).text);
}

/* Skips the terminator that a record has got after it was read without one. Fails if the record has got
 * longer instead. */
static tamis_status skip_terminator(tamis__durable *d, size_t i, unsigned char terminator, tamis_error *err) {
    struct tamis__input_position *position = &d->live.inputs[i].position;
    unsigned char next = (unsigned char)~terminator;
    size_t got;
    if (d->followed && d->input.size == position->offset)
        return fail_without_end(d, i, err);
    const tamis_status status =
        tamis__file_read(&d->input.file, (tamis__file_span){position->offset, 1}, &next, &got, err);
    if (status != TAMIS_OK)
        return status;
    if (next != terminator)
        return fail_unterminated(d, i, err);
    position->offset++;
    position->lines += terminator == '\n';
    position->unterminated = false;
    return TAMIS_OK;
}

/* Opens an input whose earlier bytes are known and unchanged. *more: it has unread bytes. */
static tamis_status examine_read_input(tamis__durable *d, size_t i, unsigned char terminator, bool *more,
                                       tamis_error *err) {
    tamis__checkpoint_input *in = &d->live.inputs[i];
    tamis_status status = tamis__durable_open_input(d, i, err);
    if (status != TAMIS_OK)
        return status;
    if (d->followed)
        *more = true;
    else if (d->input.file.fd < 0 || in->position.offset == 0)
        *more = d->input.file.fd < 0 || d->input.size > 0;
    else if (in->compressed) /* inputs after live.input may have been read in part, before that one grew */
        *more = !d->live.finished && i >= d->live.input;
    else
        *more = d->input.size > in->position.offset;
    if (*more && in->position.unterminated && !in->compressed)
        status = skip_terminator(d, i, terminator, err);
    return status;
}

/* Fails if the options of form (terminator, header, marks) are not those of the earlier run. */
static tamis_status check_form(const tamis__durable *d, const uint64_t *form, size_t input,
                               tamis_error *err) {
    for (int n = 0; n < TAMIS__FORMS; n++)
        if (d->live.form[n] != form[n])
            return tamis__checkpoint_fail_form(tamis__input_name(d->names[input]), n, err);
    return TAMIS_OK;
}

/* Takes positions and statistics from the earlier checkpoint of this run. live.input becomes the first
 * input with unread bytes. */
static tamis_status continue_run(tamis__durable *d, const tamis__history *h, unsigned char terminator,
                                 tamis_error *err) {
    tamis__checkpoint *live = &d->live;
    const tamis__checkpoint *before = &h->before;
    size_t first = SIZE_MAX;
    live->finished = before->finished;
    live->has_data = before->has_data;
    live->stats = before->stats;
    live->input = before->input;
    d->continued = before->stats.records > 0;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < live->input_count && status == TAMIS_OK; i++) {
        bool more = false;
        /* A later run, with other inputs too, may have read more. */
        const tamis__earlier_read *newer = &h->inputs[i];
        const bool read_on = newer->found && (newer->to_same || d->followed) &&
                             newer->position.offset > before->inputs[i].position.offset;
        live->inputs[i].position = read_on ? newer->position : before->inputs[i].position;
        live->inputs[i].stats = before->inputs[i].stats;
        if (live->inputs[i].position.offset > 0)
            live->inputs[i].fingerprint = live->inputs[i].observed =
                read_on ? newer->fingerprint : before->inputs[i].fingerprint;
        status = examine_read_input(d, i, terminator, &more, err);
        live->inputs[i].skipped = !more;
        if (more && first == SIZE_MAX)
            first = i;
    }
    d->finished = (before->finished || h->any_before) && first == SIZE_MAX;
    d->result.start = d->finished                        ? TAMIS_STREAM_FINISHED
                      : before->finished && !d->followed ? TAMIS_STREAM_GROWN
                                                         : TAMIS_STREAM_RESUMED;
    live->finished = d->finished;
    if (first != SIZE_MAX)
        live->input = first;
    return status == TAMIS_OK ? check_form(d, before->form, (size_t)live->input, err) : status;
}

/* For one input of a new run: skips what an earlier run has read. */
static tamis_status skip_input(tamis__durable *d, const tamis__earlier_read *before, size_t i,
                               unsigned char terminator, tamis_error *err) {
    tamis__checkpoint_input *in = &d->live.inputs[i];
    bool more = false;
    in->position = before->position;
    in->fingerprint = in->observed = before->fingerprint;
    const tamis_status status = examine_read_input(d, i, terminator, &more, err);
    in->skipped = in->compressed ? before->whole : !more;
    d->live.has_data = d->live.has_data || before->to_same;
    d->skipped_bytes += in->compressed ? 0 : in->position.offset;
    return status == TAMIS_OK && !in->skipped ? check_form(d, before->form, i, err) : status;
}

/* For a new run with known inputs: skips these, or reads them on from where an earlier run stopped. */
static tamis_status skip_inputs(tamis__durable *d, const tamis__history *h, unsigned char terminator,
                                tamis_error *err) {
    tamis__checkpoint *live = &d->live;
    size_t first = SIZE_MAX;
    bool to_same = true;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < live->input_count && status == TAMIS_OK; i++) {
        if (h->inputs[i].found)
            status = skip_input(d, &h->inputs[i], i, terminator, err);
        to_same = to_same && h->inputs[i].to_same;
        d->skipped += live->inputs[i].skipped;
        if (live->inputs[i].skipped && !d->first_skipped)
            d->first_skipped = d->names[i];
        if (!live->inputs[i].skipped && first == SIZE_MAX)
            first = i;
    }
    if (status != TAMIS_OK)
        return status;
    if (first != SIZE_MAX) {
        live->input = first;
        return TAMIS_OK;
    }
    if (!to_same) {
        d->result.was_read = true;
        return tamis__fail(err, h->read_by.status, 0, "%s", h->read_by.text);
    }
    d->finished = live->finished = true;
    d->result.start = TAMIS_STREAM_FINISHED;
    return TAMIS_OK;
}

/* Resets the run to the beginning of all inputs, although the state knows it or its inputs
 * (commits.reread). */
static tamis_status begin_new(tamis__durable *d, tamis_error *err) {
    tamis__checkpoint *live = &d->live;
    tamis_status status = TAMIS_OK;
    d->finished = d->continued = false;
    d->result.start = TAMIS_STREAM_NEW;
    d->result.was_read = false;
    d->result.unterminated = NULL;
    live->finished = live->has_data = false;
    live->input = 0;
    live->stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    for (size_t i = 0; i < live->input_count && status == TAMIS_OK; i++) {
        live->inputs[i].position = (struct tamis__input_position){0};
        live->inputs[i].skipped = false;
        status = tamis__durable_examine_input(d, i, err);
    }
    return status;
}

/* Gives the caller the unfinished run that made this one fail. Without memory for it, the message must
 * suffice. */
static void give_unfinished(tamis_stream_result *result, tamis__history *h, const tamis_error *err) {
    if (h->blocking.inputs)
        (void)tamis__checkpoint_move(&result->unfinished, &h->blocking, NULL);
    else if (h->other_run.inputs && err && strcmp(err->text, h->other_run_text) == 0)
        (void)tamis__checkpoint_move(&result->unfinished, &h->other_run, NULL);
}

tamis_status tamis__durable_find_start(tamis__durable *d, tamis__history *h,
                                       const tamis_stream_options *options, tamis_error *err) {
    tamis_status status = tamis__history_search(h, &d->live, options, tamis__dedup_state(d->session), err);
    d->result.was_read = h->was_read;
    if (status == TAMIS_OK && h->found)
        status = continue_run(d, h, options->terminator, err);
    else if (status == TAMIS_OK && h->any_before)
        status = skip_inputs(d, h, options->terminator, err);
    if (status != TAMIS_OK && d->result.was_read && d->commits->reread) {
        h->found = h->last = false;
        status = begin_new(d, err);
    }
    if (status != TAMIS_OK)
        give_unfinished(&d->result, h, err);
    tamis__input_close(&d->input);
    d->fingerprinted = (size_t)d->live.input;
    return status;
}
