/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The driver of resumable runs: steps B, W, K and E of docs/DURABILITY.md, around and between the steps of
 * runner.c. durable.c has the state's side.
 *
 *     tamis__run_resumable
 *         tamis__resumable_begin     B   where to begin; positions, headers and statistics of the last commit
 *         run_steps
 *             tamis__resumable_open      the reader begins at these positions
 *             tamis__run_pump        W   hooks: W4 and Q3 when an item is written, and K when a commit is due
 *             finish_run             E   wait for pipe readers, then commit that all inputs have ended
 *             commit_stopped         E   after a stop: K, without waiting for pipe readers
 *
 *     commit_written                 K   flush and sync the outputs, then commit positions and statistics
 *
 * A commit covers only records that are written. So positions move in on_item_written, not when a batch is
 * read. If the reader of a pipe has not read everything, no commit is made. What is left in the pipe would be
 * lost with its reader.
 */
#include "stream/run/resumable.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "base/system.h"
#include "base/versioned.h"
#include "hash/fnv.h"
#include "service/dedup/dedup_commits.h"
#include "store/file/file_error.h"
#include "stream/split/split.h"

enum { OUTPUTS = TAMIS__OUTPUTS, DEFAULT_MS = 1000 };
static const uint64_t DEFAULT_BYTES = (uint64_t)64 << 20;

typedef tamis__run run;

typedef tamis__resumable resumable;

/* ---- commits ---- */

static void schedule_commit(resumable *c) {
    const uint64_t ms = c->commits.milliseconds ? c->commits.milliseconds : DEFAULT_MS;
    c->committed_bytes = c->run->stats.bytes_in;
    c->commit_at = tamis__now_ns() + ms * UINT64_C(1000000);
    c->uncommitted = false;
    c->run->loop.wake_at = 0;
}

static bool commit_is_due(const resumable *c) {
    const uint64_t bytes = c->commits.bytes ? c->commits.bytes : DEFAULT_BYTES;
    return c->run->stats.bytes_in - c->committed_bytes >= bytes || tamis__now_ns() >= c->commit_at;
}

/* Notes which followed files were left, with all their records written. */
static void note_ended(resumable *c) {
    for (size_t i = 0; c->run->followed && i < c->run->readers.count; i++) {
        const tamis__reader *reader = &c->run->readers.readers[i]->reader;
        tamis__checkpoint_input *in = &c->durable.live.inputs[i];
        in->ended = tamis__reader_has_left(reader) && (uint64_t)reader->previous.size == in->position.offset;
    }
}

static void note_input_stats(resumable *c) {
    for (size_t i = 0; c->run->input_stats && i < c->durable.live.input_count; i++)
        c->durable.live.inputs[i].stats = c->run->input_stats[i];
}

static tamis_status write_commit(resumable *c, tamis_error *err) {
    const run *r = c->run;
    tamis__checkpoint *live = &c->durable.live;
    note_ended(c);
    note_input_stats(c);
    live->has_data = r->has_data;
    live->stats = r->stats;
    live->stats.bytes_read = live->finished && !r->followed ? r->stats.bytes_read : c->bytes_done;
    for (int i = 0; i < OUTPUTS; i++) {
        live->outputs[i].fingerprint.length = r->writers[i].written;
        live->outputs[i].owes_terminator = r->writers[i].owes_terminator;
        live->outputs[i].header_done = live->outputs[i].header_done || r->has_data;
    }
    tamis_status status = tamis__durable_commit(&c->durable, err);
    if (status == TAMIS_OK) {
        for (size_t i = 0; i < live->input_count; i++)
            live->inputs[i].committed = live->inputs[i].position;
        c->run->stats.committed_at = tamis__sys.now_unix_ms();
    }
    if (status == TAMIS_OK)
        status = tamis__durable_report_positions(&c->durable, err); /* Q5 */
    if (status == TAMIS_OK)
        schedule_commit(c);
    return status;
}

/* A run in which no record has a key fails at its end. It commits nothing, so that the corrected command
 * finds every record. Input from a pipe cannot be read again, so such a run commits as usual. */
static bool withholds_commit(const resumable *c) {
    return !c->durable.result.inexact && tamis__run_lacks_keys(c->run);
}

/* Commits everything written, unless the reader of a pipe has not read it. */
static tamis_status commit_written(resumable *c, tamis_error *err) {
    if (withholds_commit(c)) {
        schedule_commit(c);
        return TAMIS_OK;
    }
    bool all_read = true;
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK && all_read; i++)
        status = tamis__writer_commit(&c->run->writers[i], &all_read, err); /* K1, K2 */
    if (status == TAMIS_OK && all_read)
        return write_commit(c, err);
    /* Bytes that the reader of the pipe has not read may be lost with it. Try again later. */
    c->commit_at = tamis__now_ns() + DEFAULT_MS * UINT64_C(1000000);
    return status;
}

/* Commits after a stop. *err keeps the message about the stop, unless the commit fails. */
static tamis_status commit_stopped(resumable *c, tamis_error *err) {
    tamis_error failed = TAMIS_ERROR_INIT;
    const tamis_status status = commit_written(c, &failed);
    if (status == TAMIS_OK)
        return TAMIS_E_INTERRUPTED;
    return tamis__fail(err, status, failed.sys_errno, "%s", failed.text);
}

/* True if the followed file has fewer bytes than were read: it may have been truncated together with another
 * one. */
static bool is_shorter(const tamis__reader *reader, const tamis__checkpoint_input *in) {
    struct stat st;
    return reader->fd >= 0 && in->regular && tamis__sys.fstat(reader->fd, &st) == 0 &&
           (uint64_t)st.st_size < in->position.offset;
}

/* Marks the followed inputs that were truncated, and returns their number. The bytes that were read since the
 * last commit cannot be fingerprinted any more, so their positions go back to that commit. */
static size_t mark_truncated(resumable *c) {
    const tamis__reader_set *set = &c->run->readers;
    size_t count = 0;
    for (size_t i = 0; c->run->followed && i < set->count; i++) {
        tamis__checkpoint_input *in = &c->durable.live.inputs[i];
        const tamis__reader *reader = &set->readers[i]->reader;
        in->truncated = in->truncated || reader->truncated || is_shorter(reader, in);
        if (!in->truncated)
            continue;
        in->position = in->committed;
        count++;
    }
    return count;
}

/* Reports the truncated inputs that no reader has reported. */
static void report_truncated(const resumable *c) {
    char message[400];
    for (size_t i = 0; c->commits.remark && i < c->run->readers.count; i++) {
        const tamis__checkpoint_input *in = &c->durable.live.inputs[i];
        if (!in->truncated || c->run->readers.readers[i]->reader.truncated)
            continue;
        snprintf(
            message, sizeof message,
            "%s: was truncated or overwritten, and is read again from its start; bytes written before that "
            "may be lost",
            tamis__show(tamis__input_name(in->name)).text);
        c->commits.remark(c->commits.callback_context, message, true);
    }
}

/* Followed files were truncated. Commits the written records, so that they stay in the outputs, and closes
 * the run. The rest of these files is gone, and a new run reads the rest of the others. *err keeps the
 * message of the reader that has noticed it, unless the commit fails. */
static tamis_status commit_truncated(resumable *c, tamis_error *err) {
    const tamis__reader *reader = tamis__reader_set_current(&c->run->readers);
    tamis_error failed = TAMIS_ERROR_INIT;
    size_t marked, more = mark_truncated(c);
    tamis_status status;
    c->durable.result.was_read = true;
    c->durable.live.closed = true;
    do { /* a commit may find that another file was truncated */
        marked = more;
        status = commit_written(c, &failed);
        more = mark_truncated(c);
    } while (status == TAMIS_E_CHANGED && more > marked);
    c->run->followed->truncated = status == TAMIS_OK;
    if (status != TAMIS_OK)
        return tamis__fail(err, status, failed.sys_errno, "%s", failed.text);
    report_truncated(c);
    if (!reader->truncated && err) /* reported already */
        err->text[0] = '\0';
    return TAMIS_E_CHANGED;
}

/* ---- hooks: between the steps of the run ---- */

static tamis_status check_header(resumable *c, const char *input, tamis_error *err) {
    const tamis__header *header = &c->run->header;
    if (!header->bytes)
        return TAMIS_OK;
    const uint64_t hash = tamis__fnv1_64(header->bytes, header->size - 1);
    for (int i = 0; i < OUTPUTS; i++) {
        tamis__checkpoint_output *out = &c->durable.live.outputs[i];
        if (out->header == 0)
            out->header = hash;
        if (out->header != hash)
            return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                               "%s: its header differs from the header of %s; give another output",
                               tamis__show(input).text, tamis__show(c->run->targets[i].name).text);
    }
    return TAMIS_OK;
}

static tamis_status on_input_begun(void *context, const tamis__record_batch *batch, tamis_error *err) {
    resumable *c = context;
    if (batch->count == 0) /* the batch had only the header */
        c->durable.live.inputs[tamis__reader_input(batch->reader)].prefix =
            (struct tamis__input_position){.offset = batch->offset,
                                           .records = batch->first - 1,
                                           .lines = batch->line - 1,
                                           .unterminated = batch->unterminated};
    return check_header(c, batch->input, err);
}

static void on_first_query(void *context, const tamis__item *item, uint64_t count) {
    resumable *c = context;
    const tamis__record_batch *batch = &item->batch;
    const double each = (double)batch->count / (double)(batch->end - batch->begin + 1);
    /* Announced once, so it is computed from the exact size of the first records. Compressed inputs keep the
     * estimate: their decompressed size is unknown. */
    if (!c->durable.live.inputs[item->input].compressed)
        count = (uint64_t)(each * (double)c->run->stats.bytes_total);
    (void)tamis__durable_expect(&c->durable, count, NULL); /* a failed state reports the error again */
}

/* Marks the inputs up to `to` that had no records as read to their end. */
static void finish_empty_inputs(tamis__checkpoint *live, size_t to) {
    for (size_t i = (size_t)live->input; i <= to && i < live->input_count; i++)
        if (live->inputs[i].position.offset < live->inputs[i].prefix.offset)
            live->inputs[i].position = live->inputs[i].prefix;
}

static void advance_positions(resumable *c, const tamis__item *item) {
    tamis__checkpoint *live = &c->durable.live;
    const tamis__record_batch *batch = &item->batch;
    if (!c->run->followed && item->input > live->input)
        finish_empty_inputs(live, item->input - 1);
    if (!c->run->followed) /* followed inputs are read by turns: each has unread bytes, or may have */
        live->input = item->input;
    live->inputs[item->input].position = (struct tamis__input_position){
        .offset = batch->offset + (uint64_t)(batch->end - batch->begin),
        .records = batch->first - 1 + batch->count,
        .lines = batch->line - 1 + tamis__count_byte(batch->begin, batch->end, '\n'),
        .unterminated = batch->unterminated};
    c->bytes_done = item->bytes_done;
    c->uncommitted = true;
}

static tamis_status on_item_written(void *context, const tamis__item *item, tamis_error *err) {
    resumable *c = context;
    tamis_status status = TAMIS_OK;
    advance_positions(c, item);
    if (c->run->positions)
        tamis__keys_note_written(&item->keys, c->run->positions); /* Q3 */
    if (item->calls > 0)
        status = tamis__dedup_written(c->durable.session, item->calls, err); /* W4 */
    return status == TAMIS_OK && item->query.end_status == TAMIS_OK && commit_is_due(c)
               ? commit_written(c, err)
               : status;
}

/* Commits if a commit is due, else ends the wait when it is. */
static tamis_status on_idle(void *context, tamis_error *err) {
    resumable *c = context;
    if (c->uncommitted && commit_is_due(c))
        return commit_written(c, err);
    if (c->uncommitted)
        c->run->loop.wake_at = c->commit_at;
    return TAMIS_OK;
}

/* ---- the end ---- */

/* TAMIS_E_PIPE if the reader of an output has gone: its unread bytes are lost and must not be committed. */
static tamis_status check_readers(const run *r, tamis_error *err) {
    for (int i = 0; i < OUTPUTS; i++) {
        struct pollfd output = {.fd = r->writers[i].target ? r->writers[i].fd : -1};
        if (tamis__sys.poll(&output, 1, 0) > 0 && output.revents & (POLLERR | POLLHUP))
            return tamis__fail_file(err, r->targets[i].name, EPIPE);
    }
    return TAMIS_OK;
}

/* Waits, as long as it takes, until the reader of a pipe has read everything, has gone, or the run is
 * stopped. */
static tamis_status drain_pipes(resumable *c, tamis_error *err) {
    enum { STEP_MS = 20 };
    if (!c->durable.result.inexact)
        return TAMIS_OK;
    tamis_status status = commit_written(c, err);
    while (status == TAMIS_OK && c->uncommitted) {
        status = check_readers(c->run, err);
        if (status == TAMIS_OK)
            status = tamis__poll_loop_pause(&c->run->loop, STEP_MS, c->durable.result.inexact, err);
        if (status == TAMIS_OK)
            status = commit_written(c, err);
    }
    return status;
}

/* E: commits that the inputs have ended. */
static tamis_status finish_run(resumable *c, tamis_error *err) {
    tamis__checkpoint *live = &c->durable.live;
    tamis_status status = drain_pipes(c, err);
    if (status == TAMIS_OK)
        status = tamis__run_finish(c->run, err);
    if (status != TAMIS_OK || (c->durable.result.inexact && c->uncommitted))
        return status;
    finish_empty_inputs(live, live->input_count - 1);
    live->input = live->input_count - 1;
    live->finished = true;
    c->durable.result.unterminated = c->unterminated;
    c->durable.result.unterminated_count = c->unterminated_count;
    return write_commit(c, err);
}

/* After a run of followed files: decides whether another run comes, and gives it the files that were left. */
static void hand_over(const resumable *c, tamis_status status) {
    tamis__followed_names *followed = c->run->followed;
    const tamis__reader_set *set = &c->run->readers;
    const bool has_ended = status == TAMIS_OK && c->run->event == TAMIS__READER_END;
    followed->goes_on = has_ended && set->has_grown;
    for (size_t i = 0; i < set->count; i++) {
        tamis__reader *reader = &set->readers[i]->reader;
        followed->goes_on = followed->goes_on || (has_ended && tamis__reader_has_left(reader));
        followed->names[i].has_local_writers = reader->has_local_writers;
        if (status == TAMIS_OK || followed->is_other)
            followed->names[i].previous = tamis__reader_hand_over_previous(reader);
    }
}

/* Takes the steps of a run that has something to do. */
static tamis_status run_steps(resumable *c, tamis_error *err) {
    c->run->hooks = (tamis__run_hooks){.context = c,
                                       .input_begun = on_input_begun,
                                       .first_query = on_first_query,
                                       .item_written = on_item_written,
                                       .idle = on_idle};
    schedule_commit(c);
    tamis_status status = tamis__resumable_open(c, err);
    if (status == TAMIS_OK)
        status = tamis__run_pump(c->run, err);
    /* A file that was opened is not the expected one. */
    const bool is_other = c->run->followed && c->run->followed->is_other;
    if (status == TAMIS_E_CHANGED && !is_other && mark_truncated(c) > 0)
        return commit_truncated(c, err);
    if (status == TAMIS_E_INTERRUPTED)
        return commit_stopped(c, err);
    if (status == TAMIS_OK && !withholds_commit(c))
        status = finish_run(c, err);
    if (c->run->followed)
        hand_over(c, status);
    return status == TAMIS_OK ? tamis__run_check_keys(c->run, err) : status;
}

/* Cuts the output files back to the last commit. */
static void undo_uncommitted(const resumable *c) {
    for (int i = 0; i < OUTPUTS; i++)
        tamis__appended_output_cut_back(&c->durable.outputs[i], &c->durable.live.outputs[i],
                                        c->run->writers[i].written);
}

/* Reports the statistics of each input that was begun, by this process or an earlier one. */
static void report_inputs(resumable *c, const tamis_stream_options *options) {
    const tamis__checkpoint *live = &c->durable.live;
    for (size_t i = 0; i < live->input_count; i++)
        if (c->run->followed || i <= live->input || live->inputs[i].stats.records > 0)
            options->input_end(options->input_end_context, i, &live->inputs[i].stats);
}

static void report_result(const resumable *c, tamis_stream_result *result) {
    if (result)
        tamis__write_struct(result, &c->durable.result, sizeof c->durable.result);
    else
        tamis_stream_checkpoint_free(c->durable.result.unfinished);
}

tamis_status tamis__run_resumable(run *r, tamis_stream_result *result, tamis_error *err) {
    resumable c = {.run = r, .commits = TAMIS_STREAM_COMMITS_INIT};
    tamis_status status = tamis__read_struct(&c.commits, sizeof c.commits, r->options.commits,
                                             "TAMIS_STREAM_COMMITS_INIT", err);
    r->options.commits = &c.commits;
    const tamis_stream_options given = r->options;
    r->options.input_end = NULL; /* the runner knows nothing of earlier processes */
    const bool continues = r->followed && r->followed->started;
    if (status == TAMIS_OK)
        status = tamis__run_check(r, err);
    if (status == TAMIS_OK)
        status = tamis__resumable_begin(&c, err);
    const bool has_begun = status == TAMIS_OK;
    /* Earlier runs of this process have reported their counts of these files. */
    for (size_t i = 0; has_begun && continues && i < r->followed->count; i++)
        tamis__stats_subtract(&r->followed->names[i].stats, &c.durable.live.inputs[i].stats);
    if (status == TAMIS_OK && !c.durable.finished)
        status = run_steps(&c, err);
    note_input_stats(&c);
    tamis__run_close(r, status, err);
    if (has_begun && given.input_end)
        report_inputs(&c, &given);
    if ((status == TAMIS_E_NO_KEY || status == TAMIS_E_INTERRUPTED) && withholds_commit(&c))
        undo_uncommitted(&c);
    if (status != TAMIS_OK && status != TAMIS_E_INTERRUPTED && !c.uncommitted)
        tamis__durable_failed(&c.durable);
    tamis__free(&r->memory, c.from, c.durable.live.input_count * sizeof *c.from);
    tamis__durable_end(&c.durable);
    report_result(&c, result);
    return status;
}
