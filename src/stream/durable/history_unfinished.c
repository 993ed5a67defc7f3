/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unfinished runs, when another run begins. A new run that writes to an output of an unfinished run cuts that
 * output back to its last commit. Then the rest of the old run's inputs is never read. So the new run is
 * refused, unless
 *
 *   - it has the same outputs, and the unread inputs among its own: then it reads the rest. An input of the
 *     same name is not enough: log rotation leaves the name to a new file;
 *   - the caller gives the rest up (commits.abandon): a remark says how much that is.
 *
 * In both cases the commit that begins the new run keeps the checkpoint of the old one as a note, marked
 * `closed`. So after a crash either the old run is still unfinished, or the new one has begun. A checkpoint
 * no longer counts if a newer one has the same names of inputs and outputs: that run was repeated.
 *
 *     unfinished run                              the new run
 *     no unread bytes                             begins
 *     shared output, only pipes are unread        begins, closes the old run, says what is unread of the pipe
 *     other outputs                               begins; `beside` says that the other one is unfinished
 *     other outputs; both follow the input        begins where the old run stopped, and closes it
 *     shared output; the new run reads the rest   begins, and closes the old run
 *     shared output; commits.abandon              begins, closes the old run, says what is given up
 *     shared output                               is refused (`blocking`)
 *
 * The new run reads the rest only if all outputs are the same, or if it reads its inputs from the beginning
 * (commits.reread). For messages, the file of an input is also searched under other names in its directory.
 *
 * A pipe is never the same again. No run can finish it, not even the same command, and nobody knows how much
 * was left in it. So a pipe alone does not block. The remark says from where to feed it again. With
 * positions, a consumer feeds the pipe, and delivers all records after its last acknowledged position again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/system.h"
#include "store/file/file_error.h"
#include "store/file/target.h"
#include "stream/durable/history_int.h"
#include "stream/extract/find.h"
#include "stream/io/reader.h"

/* ---- what is unread ---- */

/* Unread rest of one input of an unfinished run. */
typedef struct rest {
    tamis__present_input file;
    bool known;     /* true if `bytes` is known; never for compressed files and pipes */
    uint64_t bytes; /* number of unread bytes */
} rest;

static rest input_rest(const tamis__checkpoint_input *in) {
    rest left = {.known = false};
    tamis__input_find(in, &left.file);
    left.known = left.file.found && !in->compressed && left.file.size >= in->position.offset;
    left.bytes = left.known ? left.file.size - in->position.offset : 0;
    return left;
}

/* Unread rest of all inputs of an unfinished run. */
typedef struct total_rest {
    const tamis__checkpoint_input *first; /* the first input with a rest; NULL: nothing is unread */
    rest of_first;
    size_t others; /* number of further inputs with a rest */
    size_t pipes;  /* those of all these inputs that are not regular files */
} total_rest;

static total_rest total_rest_of_run(const tamis__checkpoint *checkpoint) {
    total_rest total = {.first = NULL};
    for (size_t i = (size_t)checkpoint->input; i < checkpoint->input_count; i++) {
        const tamis__checkpoint_input *in = &checkpoint->inputs[i];
        if (in->ended)
            continue;
        const rest left = in->regular ? input_rest(in) : (rest){.known = false};
        if (left.known && left.bytes == 0)
            continue;
        total.pipes += !in->regular;
        total.others += total.first != NULL;
        if (total.first)
            continue;
        total.first = in;
        total.of_first = left;
    }
    return total;
}

/* "1234 bytes of a.log and the rest of 2 more inputs" */
static void describe_rest(char *to, size_t capacity, const total_rest *total) {
    const tamis__checkpoint_input *first = total->first;
    const char *name = first->regular ? total->of_first.file.name : first->name;
    const tamis__shown shown = tamis__show(tamis__input_name(name));
    char others[60] = "";
    if (total->others > 0)
        snprintf(others, sizeof others, " and the rest of %zu more input%s", total->others,
                 total->others > 1 ? "s" : "");
    if (total->of_first.known)
        snprintf(to, capacity, "%" PRIu64 " bytes of %s%s", total->of_first.bytes, shown.text, others);
    else
        snprintf(to, capacity, "%s from byte %" PRIu64 "%s on%s", shown.text, first->position.offset,
                 first->compressed ? " of its decompressed data" : "", others);
}

/* Describes the loss if another run begins before an unfinished run has read a pipe to its end. "": none. */
static void describe_pipe(const tamis__search *s, const tamis__checkpoint *checkpoint,
                          char remark_text[500]) {
    const tamis__shown output = tamis__show(tamis__checkpoint_output_name(checkpoint));
    const bool knows_positions = checkpoint->positions.written_count > 0;
    char from[60] = "its beginning";
    size_t i = (size_t)checkpoint->input;
    while (i < checkpoint->input_count && checkpoint->inputs[i].regular)
        i++;
    remark_text[0] = '\0';
    if (i == checkpoint->input_count || (s->run->positioned && knows_positions))
        return; /* the consumer delivers what is missing */
    if (s->run->positioned || knows_positions) {
        snprintf(remark_text, 500,
                 "%.180s: an earlier run to it did not finish; let the consumer go on after its last "
                 "acknowledged position",
                 output.text);
        return;
    }
    if (checkpoint->inputs[i].position.offset > 0)
        snprintf(from, sizeof from, "byte %" PRIu64 " on", checkpoint->inputs[i].position.offset);
    snprintf(remark_text, 500, "%.180s: an earlier run to it did not finish; feed %.180s again from %s",
             output.text, tamis__show(tamis__input_name(checkpoint->inputs[i].name)).text, from);
}

/* ---- records that are given up ---- */

/* Adds the number of unread records of an input to *records, reading them as a run would. False if they
 * cannot be read, or if the file is not found. */
static bool count_input(const tamis__search *s, const tamis__checkpoint *checkpoint, size_t i,
                        uint64_t *records) {
    enum { RECORDS = 1024, READ_SIZE = 256 << 10 };
    const tamis_stream_options *o = s->options;
    const tamis_extractor *x = o->extractor;
    const tamis__checkpoint_input *in = &checkpoint->inputs[i];
    const rest left = input_rest(in);
    const char *name = left.file.name;
    const bool header = o->header || (x && tamis_extractor_wants_header(x));
    const struct tamis__reader_start from = {.skipped = false,
                                             .offset = in->position.offset,
                                             .records = in->position.records,
                                             .lines = in->position.lines};
    const tamis__reader_setup setup = {.inputs = &name,
                                       .input_count = 1,
                                       .max_record = o->max_record,
                                       .read_size = READ_SIZE,
                                       .batch_size = RECORDS,
                                       .batches = 1,
                                       .terminator = (unsigned char)checkpoint->form[TAMIS__FORM_TERMINATOR],
                                       .csv = x && tamis_extractor_is_csv(x),
                                       .delimiter = x ? tamis__extractor_delimiter(x) : 0,
                                       .from = &from};
    tamis__poll_loop loop = {.stop_fd = o->stop_fd};
    tamis_key views[RECORDS];
    tamis__record_batch batch = {.records = views};
    tamis__reader_event event = TAMIS__READER_RECORDS;
    tamis__reader reader;
    if (!left.file.found || tamis__descriptor_named(name, 0) >= 0)
        return false; /* reading a descriptor would move the caller's */
    tamis_status status = tamis__reader_init(&reader, &setup, &loop, &s->run->memory, NULL);
    uint64_t count = 0;
    while (status == TAMIS_OK && event == TAMIS__READER_RECORDS) {
        status = tamis__reader_next(&reader, &batch, &event, NULL);
        if (status != TAMIS_OK || event != TAMIS__READER_RECORDS)
            break;
        count += batch.count;
        tamis__reader_give_back(&reader, &batch);
    }
    tamis__reader_release(&reader);
    *records += count - (header && in->position.records == 0 && count > 0);
    return status == TAMIS_OK && event == TAMIS__READER_END;
}

static void describe_given_up(const tamis__search *s, const tamis__checkpoint *checkpoint,
                              const total_rest *total, char remark_text[500]) {
    char what[330], counted[40] = "", unknown[80] = "";
    uint64_t records = 0;
    size_t uncounted = 0;
    for (size_t i = (size_t)checkpoint->input; i < checkpoint->input_count; i++)
        if (checkpoint->inputs[i].regular)
            uncounted += !count_input(s, checkpoint, i, &records);
    describe_rest(what, sizeof what, total);
    if (uncounted > 0)
        snprintf(unknown, sizeof unknown, "%san unknown number of records of %zu input%s",
                 records > 0 ? " and " : "", uncounted, uncounted > 1 ? "s" : "");
    if (records > 0 || uncounted == 0)
        snprintf(counted, sizeof counted, "%" PRIu64 " record%s", records, records == 1 ? "" : "s");
    snprintf(remark_text, 500, "gave up the rest of an unfinished run: %s: %s%s", what, counted, unknown);
}

/* ---- decision about an unfinished run ---- */

/* *superseded: a newer checkpoint has that key. Remembers the key for older checkpoints. */
static tamis_status is_superseded(tamis__search *s, uint64_t key, bool *superseded, tamis_error *err) {
    *superseded = false;
    for (size_t i = 0; i < s->key_count; i++)
        if (s->keys[i] == key) {
            *superseded = true;
            return TAMIS_OK;
        }
    uint64_t *keys =
        tamis__array_reserve(&s->run->memory, s->keys, sizeof *keys, s->key_count + 1, &s->key_capacity);
    if (!keys)
        return tamis__fail_nomem(err, "checkpoints of runs", (s->key_count + 1) * sizeof *keys);
    s->keys = keys;
    s->keys[s->key_count++] = key;
    return TAMIS_OK;
}

/* True if the new run would cut back an output of the unfinished run, or has the same pipes as outputs. */
static bool is_in_the_way(tamis__search *s, const tamis__checkpoint *checkpoint, bool to_same) {
    bool copied;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const tamis__checkpoint_output *known = &checkpoint->outputs[j];
            if (s->run->outputs[i].form == TAMIS__OUTPUT_FILE && known->form == TAMIS__OUTPUT_FILE &&
                tamis__outputs_match_one(s, i, known, false, &copied) && (!copied || i == j))
                return true;
        }
    return to_same;
}

/* *reads: the new run reads that input too, from its beginning or from where the unfinished run stopped.
 * An input of which nothing was read is known by its name, or by its inode if it was renamed to `now`. A
 * compressed one is known by its content, too. */
static tamis_status reads_on(tamis__search *s, const tamis__checkpoint_input *in, const char *now,
                             bool *reads, tamis_error *err) {
    const bool renamed = strcmp(now, in->name) != 0;
    size_t found = SIZE_MAX, changed;
    *reads = false;
    if (in->position.offset > 0) {
        const tamis_status status = tamis__candidates_find(s, in, &found, &changed, err);
        *reads = found != SIZE_MAX;
        return status;
    }
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < s->run->input_count && !*reads && status == TAMIS_OK; i++) {
        const tamis__candidate *candidate = &s->candidates.inputs[i];
        tamis__file_match match = TAMIS__FILE_OTHER;
        if (renamed ? tamis__candidate_has_inode(candidate, in)
                    : strcmp(candidate->input->name, in->name) == 0)
            status = tamis__candidate_compare(candidate, in, true, &match, err);
        *reads = match == TAMIS__FILE_SAME;
    }
    return status;
}

static tamis_status covers_rest(tamis__search *s, const tamis__checkpoint *checkpoint, bool *covered,
                                tamis_error *err) {
    tamis_status status = TAMIS_OK;
    *covered = true;
    for (size_t i = (size_t)checkpoint->input; i < checkpoint->input_count && *covered && status == TAMIS_OK;
         i++) {
        const tamis__checkpoint_input *in = &checkpoint->inputs[i];
        if (!in->regular || in->ended) /* no later run reads its rest */
            continue;
        const rest left = input_rest(in);
        if (!left.known || left.bytes > 0)
            status = reads_on(s, in, left.file.name, covered, err);
    }
    return status;
}

static tamis_status close_run(tamis__search *s, tamis__checkpoint *checkpoint, bool last,
                              const char *remark_text, tamis_error *err) {
    tamis__closed_run *left = tamis__alloc(&s->run->memory, sizeof *left, _Alignof(tamis__closed_run));
    if (!left)
        return tamis__fail_nomem(err, "checkpoint of a run", sizeof *left);
    checkpoint->closed = true;
    const tamis_status status = tamis__checkpoint_encode(checkpoint, &left->bytes, &left->size, err);
    checkpoint->closed = false;
    if (status != TAMIS_OK) {
        tamis__free(&s->run->memory, left, sizeof *left);
        return status;
    }
    left->last = last;
    snprintf(left->remark_text, sizeof left->remark_text, "%s", remark_text);
    left->next = s->history->closed_runs;
    s->history->closed_runs = left;
    return TAMIS_OK;
}

/* `covered`: the run reads the rest, but not all outputs are the same. */
static tamis_status fail_blocked(tamis__search *s, tamis__checkpoint *checkpoint, const total_rest *total,
                                 bool covered, tamis_error *err) {
    char what[330];
    describe_rest(what, sizeof what, total);
    tamis__candidates_rename(s, checkpoint);
    const tamis_status status = tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%s: its last run did not finish (not read: %s); finish that run first, or allow that it is given up",
        tamis__show(tamis__checkpoint_output_name(checkpoint)).text, what);
    s->was_read = false;
    s->history->was_read = covered;
    s->history->blocking = *checkpoint;
    *checkpoint = (tamis__checkpoint){.inputs = NULL};
    return status;
}

/* Names the unfinished run by its output, or by its inputs if it wrote to no file. */
static void describe_beside(char *to, size_t size, const tamis__checkpoint *checkpoint) {
    char more[40] = "";
    if (checkpoint->outputs[0].form == TAMIS__OUTPUT_FILE ||
        checkpoint->outputs[1].form == TAMIS__OUTPUT_FILE) {
        snprintf(to, size, "%s: its run has not finished; give that run again to finish it",
                 tamis__show(tamis__checkpoint_output_name(checkpoint)).text);
        return;
    }
    if (checkpoint->input_count > 1)
        snprintf(more, sizeof more, " and %zu more input%s", checkpoint->input_count - 1,
                 checkpoint->input_count > 2 ? "s" : "");
    snprintf(
        to, size,
        "the run of %s%s to standard output or a pipe has not finished; give that run again to finish it",
        tamis__show(tamis__input_name(checkpoint->inputs[0].name)).text, more);
}

tamis_status tamis__history_check_unfinished(tamis__search *s, tamis__checkpoint *checkpoint, bool is_run,
                                             bool last, tamis_error *err) {
    const uint64_t key = tamis__checkpoint_run_key(checkpoint);
    char remark_text[500] = "";
    bool superseded, covered = false;
    tamis_status status = is_superseded(s, key, &superseded, err);
    s->unfinished = !superseded && tamis__checkpoint_is_open(checkpoint);
    if (status != TAMIS_OK || superseded || checkpoint->finished || checkpoint->closed)
        return status;
    if (is_run) /* with other names, the old checkpoint would stay unfinished: close it */
        return last || key == tamis__checkpoint_run_key(s->run) ? TAMIS_OK
                                                                : close_run(s, checkpoint, last, "", err);
    const bool to_same = tamis__outputs_match_both(s, checkpoint);
    const total_rest total = total_rest_of_run(checkpoint);
    if (!total.first)
        return TAMIS_OK;
    const bool only_pipes = total.pipes == total.others + 1;
    if (!is_in_the_way(s, checkpoint, to_same)) {
        status = tamis__history_may_read_rest(s, checkpoint) ? covers_rest(s, checkpoint, &covered, err)
                                                             : TAMIS_OK;
        if (status != TAMIS_OK)
            return status;
        if (covered)
            return close_run(s, checkpoint, last, "", err);
        if (s->history->beside[0] == '\0' && !only_pipes)
            describe_beside(s->history->beside, sizeof s->history->beside, checkpoint);
        return TAMIS_OK;
    }
    status = covers_rest(s, checkpoint, &covered, err);
    if (status != TAMIS_OK)
        return status;
    if (only_pipes || (covered && (to_same || s->reread))) {
        describe_pipe(s, checkpoint, remark_text);
        return close_run(s, checkpoint, last, remark_text, err);
    }
    if (!s->abandon)
        return fail_blocked(s, checkpoint, &total, covered, err);
    s->abandoned = true;
    describe_given_up(s, checkpoint, &total, remark_text);
    return close_run(s, checkpoint, last, remark_text, err);
}
