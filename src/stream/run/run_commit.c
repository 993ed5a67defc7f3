/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Commits of a run: steps B, W, K and E of docs/DURABILITY.md, between the stages of runner.c and the state
 * (durable.c).
 *
 *     run_begin             B    where to begin; positions, headers and statistics of the last commit
 *     run_written           W4   an item is written: log its keys; commit if due
 *     run_commit            K    flush and sync the outputs, then commit positions and statistics
 *     run_drain, run_finish E    wait for pipe readers, then commit that all inputs have ended
 *
 * A commit covers only records that are written. Positions therefore move in tamis__run_item_written, not when a
 * batch is read. If the reader of a pipe has not read everything, no commit is made: what is left in the pipe
 * would be lost with its reader.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/system.h"
#include "hash/fnv.h"
#include "service/dedup/dedup_commits.h"
#include "store/file/file_error.h"
#include "stream/run/run.h"
#include "stream/split/find.h"
#include "stream/split/split.h"

enum { OUTPUTS = TAMIS__OUTPUTS, DEFAULT_MS = 1000 };
static const uint64_t DEFAULT_BYTES = (uint64_t)64 << 20;

static bool is_durable(const tamis__run *r) {
    return r->options.commits != NULL;
}

static void schedule_commit(tamis__run *r) {
    const tamis_stream_commits *commits = r->options.commits;
    const uint64_t ms = commits->milliseconds ? commits->milliseconds : DEFAULT_MS;
    r->committed_bytes = r->stats.bytes_in;
    r->commit_at = tamis__now_ns() + ms * UINT64_C(1000000);
    r->uncommitted = false;
    r->loop.wake_at = 0;
}

static bool commit_is_due(const tamis__run *r) {
    const uint64_t bytes = r->options.commits->bytes ? r->options.commits->bytes : DEFAULT_BYTES;
    return r->stats.bytes_in - r->committed_bytes >= bytes || tamis__now_ns() >= r->commit_at;
}

/* ---- beginning ---- */

/* Reads the header of an input again, which an earlier run has already written to the outputs. */
static tamis_status read_header_of(tamis__run *r, size_t input, tamis_error *err) {
    tamis_key key;
    tamis__batch batch = {.keys = &key};
    tamis__reader_event event;
    tamis__reader reader;
    const tamis_extractor *x = r->options.extractor;
    const tamis__reader_setup setup = {.inputs = &r->durable.names[input],
                                       .input_count = 1,
                                       .max_record = r->options.max_record,
                                       .read_size = r->tuning.read_size,
                                       .batch_size = 1,
                                       .batches = 1,
                                       .terminator = r->options.terminator,
                                       .header = true,
                                       .passes_mark = true,
                                       .csv = x && tamis_extractor_is_csv(x),
                                       .delimiter = x ? tamis__extractor_delimiter(x) : 0};
    tamis_status status = tamis__reader_init(&reader, &setup, &r->loop, &r->memory, err);
    if (status == TAMIS_OK)
        status = tamis__reader_next(&reader, &key, &batch, &event, err);
    if (status == TAMIS_OK && event == TAMIS__READER_RECORDS)
        status = tamis__header_read(&r->header, &batch, NULL, err);
    if (reader.borrowed && reader.fd >= 0 && tamis__sys.seek(reader.fd, r->durable.base, SEEK_SET) < 0)
        status = tamis__fail(err, TAMIS_E_IO, errno,
                             "standard input: cannot go back to its beginning; give the file by name");
    tamis__reader_release(&reader);
    return status;
}

static tamis_status read_header(tamis__run *r, tamis_error *err) {
    const tamis__checkpoint *live = &r->durable.live;
    tamis_status status = TAMIS_OK;
    if (!r->header.wanted || !live->begun)
        return TAMIS_OK;
    for (size_t i = 0; i < live->input_count && !r->header.bytes && status == TAMIS_OK; i++)
        if (live->inputs[i].regular && live->inputs[i].position.records > 0)
            status = read_header_of(r, i, err);
    return status;
}

tamis_status tamis__run_begin(tamis__run *r, tamis_error *err) {
    if (!is_durable(r))
        return TAMIS_OK;
    tamis__durable *d = &r->durable;
    const int compressions[OUTPUTS] = {(int)r->writers[0].codec_options.compression,
                                       (int)r->writers[1].codec_options.compression};
    tamis_status status = tamis__durable_begin(d, &r->options, compressions, r->targets, &r->memory, err);
    if (status != TAMIS_OK)
        return status;
    const uint64_t total = r->stats.bytes_total;
    r->stats = d->live.stats;
    r->stats.bytes_total = total > d->passed_bytes ? total - d->passed_bytes : 0;
    r->bytes_done = r->stats.bytes_read;
    r->stats_before = r->stats;
    r->begun = d->live.begun;
    r->input = (size_t)d->live.input;
    for (int i = 0; i < OUTPUTS; i++) {
        r->writers[i].durable = true;
        r->writers[i].written = r->writers[i].sent = d->live.outputs[i].fingerprint.length;
        r->writers[i].owes_terminator = d->live.outputs[i].owes_terminator;
        r->writers[i].has_header = d->live.outputs[i].begun;
        r->bytes_before += r->writers[i].written;
        if (d->outputs[i].tail.fd >= 0)
            r->writers[i].tail = &d->outputs[i].tail;
        if (r->writers[i].written == 0)
            r->writers[i].prefix = &d->outputs[i].prefix;
    }
    schedule_commit(r);
    return d->finished ? TAMIS_OK : read_header(r, err);
}

tamis_status tamis__run_starts(tamis__run *r, const struct tamis__reader_start **from, tamis_error *err) {
    const tamis__checkpoint *live = &r->durable.live;
    const size_t size = live->input_count * sizeof *r->from;
    *from = NULL;
    if (!is_durable(r))
        return TAMIS_OK;
    r->from = tamis__alloc(&r->memory, size, TAMIS__LINE);
    if (!r->from)
        return tamis__fail_nomem(err, "stream", size);
    for (size_t i = 0; i < live->input_count; i++) {
        const struct tamis__input_position *position = &live->inputs[i].position;
        r->from[i] = (struct tamis__reader_start){live->inputs[i].passed, position->offset, position->records,
                                                  position->lines};
    }
    *from = r->from;
    return TAMIS_OK;
}

void tamis__run_expect(tamis__run *r, const tamis__item *item, uint64_t more) {
    const tamis__batch *batch = &item->batch;
    const double each = (double)batch->count / (double)(batch->end - batch->begin + 1);
    /* Announced once, so the exact size of the first records is better than the estimate. Compressed inputs
     * keep the estimate: their decompressed size is unknown. */
    if (is_durable(r) && !r->durable.live.inputs[item->input].compressed)
        more = (uint64_t)(each * (double)r->stats.bytes_total);
    if (is_durable(r))
        (void)tamis__durable_expect(&r->durable, more, NULL); /* a failed state reports the error again */
}

/* ---- during the run ---- */

tamis_status tamis__run_check_header(tamis__run *r, const char *input, tamis_error *err) {
    if (!is_durable(r) || !r->header.bytes)
        return TAMIS_OK;
    const uint64_t sum = tamis__fnv1_64(r->header.bytes, r->header.size - 1);
    for (int i = 0; i < OUTPUTS; i++) {
        tamis__checkpoint_output *out = &r->durable.live.outputs[i];
        if (out->header == 0)
            out->header = sum;
        if (out->header != sum)
            return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                               "%s: its header is not the one that %s was begun with; give another output",
                               tamis__show(input).text, tamis__show(r->targets[i].name).text);
    }
    return TAMIS_OK;
}

tamis_status tamis__run_input_opened(tamis__run *r, size_t input, int fd, const struct stat *st,
                                     tamis_error *err) {
    return is_durable(r) ? tamis__durable_opened(&r->durable, input, fd, st, err) : TAMIS_OK;
}

void tamis__run_prefix_read(tamis__run *r, const tamis__batch *batch) {
    if (is_durable(r) && batch->count == 0)
        r->durable.live.inputs[tamis__reader_input(&r->reader)].prefix = (struct tamis__input_position){
            batch->offset, batch->first - 1, batch->line - 1, batch->unterminated};
}

void tamis__run_bom_skipped(tamis__run *r, size_t input, uint64_t bytes) {
    if (is_durable(r))
        r->durable.live.inputs[input].prefix.offset = bytes;
}

void tamis__run_defer_unterminated(tamis__run *r, size_t input) {
    struct tamis__input_position *prefix = &r->durable.live.inputs[input].prefix;
    if (r->unterminated_count++ == 0)
        r->unterminated = tamis__input_name(r->durable.names[input]);
    if (prefix->records == 0)
        *prefix = (struct tamis__input_position){0}; /* a byte order mark belongs to the first record */
}

/* Marks inputs up to this one that had no records as read to their end. */
static void pass_prefixes(tamis__checkpoint *live, size_t to) {
    for (size_t i = (size_t)live->input; i <= to && i < live->input_count; i++)
        if (live->inputs[i].position.offset < live->inputs[i].prefix.offset)
            live->inputs[i].position = live->inputs[i].prefix;
}

static void advance_positions(tamis__run *r, const tamis__item *item) {
    tamis__checkpoint *live = &r->durable.live;
    const tamis__batch *batch = &item->batch;
    if (item->input > live->input)
        pass_prefixes(live, item->input - 1);
    live->input = item->input;
    live->inputs[item->input].position = (struct tamis__input_position){
        batch->offset + (uint64_t)(batch->end - batch->begin), batch->first - 1 + batch->count,
        batch->line - 1 + tamis__count_byte(batch->begin, batch->end, '\n'), batch->unterminated};
    r->bytes_done = item->bytes_done;
    r->uncommitted = true;
}

tamis_status tamis__run_item_written(tamis__run *r, const tamis__item *item, tamis_error *err) {
    if (!is_durable(r))
        return TAMIS_OK;
    advance_positions(r, item);
    tamis_status status = TAMIS_OK;
    if (item->query.count > 0)
        status = tamis__dedup_written(r->durable.session, err); /* W4 */
    if (status == TAMIS_OK && item->end_status == TAMIS_OK && commit_is_due(r))
        status = tamis__run_commit(r, err);
    return status;
}

tamis_status tamis__run_idle(tamis__run *r, tamis_error *err) {
    if (!is_durable(r) || !r->uncommitted)
        return TAMIS_OK;
    if (commit_is_due(r))
        return tamis__run_commit(r, err);
    r->loop.wake_at = r->commit_at;
    return TAMIS_OK;
}

static tamis_status write_commit(tamis__run *r, tamis_error *err) {
    tamis__checkpoint *live = &r->durable.live;
    live->begun = r->begun;
    live->stats = r->stats;
    live->stats.bytes_read = live->finished ? r->stats.bytes_read : r->bytes_done;
    for (int i = 0; i < OUTPUTS; i++) {
        live->outputs[i].fingerprint.length = r->writers[i].written;
        live->outputs[i].owes_terminator = r->writers[i].owes_terminator;
        live->outputs[i].begun = live->outputs[i].begun || r->begun;
    }
    const tamis_status status = tamis__durable_commit(&r->durable, err);
    if (status == TAMIS_OK)
        schedule_commit(r);
    return status;
}

bool tamis__run_lacks_keys(const tamis__run *r) {
    const tamis_stream_stats *stats = &r->stats;
    return r->options.require_keys && stats->missing > 0 &&
           stats->missing + stats->malformed == stats->records;
}

/* A run in which no record has a key fails at its end. It commits nothing, so that the corrected command
 * finds every record. Input from a pipe cannot be read again, so such a run commits as usual. */
static bool withholds(const tamis__run *r) {
    return is_durable(r) && !r->durable.result.inexact && tamis__run_lacks_keys(r);
}

tamis_status tamis__run_commit(tamis__run *r, tamis_error *err) {
    if (!is_durable(r))
        return TAMIS_OK;
    if (withholds(r)) {
        schedule_commit(r);
        return TAMIS_OK;
    }
    bool all_written = true;
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK && all_written; i++)
        status = tamis__writer_commit(&r->writers[i], &all_written, err); /* K1, K2 */
    if (status == TAMIS_OK && all_written)
        return write_commit(r, err);
    /* What the reader has not read may be lost with it. Try again later. */
    r->commit_at = tamis__now_ns() + DEFAULT_MS * UINT64_C(1000000);
    return status;
}

void tamis__run_undo(tamis__run *r) {
    if (!withholds(r))
        return;
    for (int i = 0; i < OUTPUTS; i++)
        tamis__appended_output_cut_back(&r->durable.outputs[i], &r->durable.live.outputs[i],
                                        r->writers[i].written);
}

/* TAMIS_E_PIPE if the reader of an output has gone: what it left unread is lost and must not be committed. */
static tamis_status check_readers(const tamis__run *r, tamis_error *err) {
    for (int i = 0; i < OUTPUTS; i++) {
        struct pollfd output = {.fd = r->writers[i].target ? r->writers[i].fd : -1};
        if (tamis__sys.poll(&output, 1, 0) > 0 && output.revents & (POLLERR | POLLHUP))
            return tamis__fail_file(err, r->targets[i].name, EPIPE);
    }
    return TAMIS_OK;
}

/* A reader may take any time. The run waits until it has read everything, has gone, or the run is stopped. */
tamis_status tamis__run_drain(tamis__run *r, tamis_error *err) {
    enum { STEP_MS = 20 };
    if (!is_durable(r) || !r->durable.result.inexact)
        return TAMIS_OK;
    tamis_status status = tamis__run_commit(r, err);
    while (status == TAMIS_OK && r->uncommitted) {
        status = check_readers(r, err);
        if (status == TAMIS_OK)
            status = tamis__poll_loop_pause(&r->loop, STEP_MS, r->durable.result.inexact, err);
        if (status == TAMIS_OK)
            status = tamis__run_commit(r, err);
    }
    return status;
}

tamis_status tamis__run_finish(tamis__run *r, tamis_error *err) {
    tamis__checkpoint *live = &r->durable.live;
    if (!is_durable(r) || (r->durable.result.inexact && r->uncommitted))
        return TAMIS_OK;
    pass_prefixes(live, live->input_count - 1);
    live->input = live->input_count - 1;
    live->finished = true;
    r->durable.result.unterminated = r->unterminated;
    r->durable.result.unterminated_count = r->unterminated_count;
    return write_commit(r, err);
}

void tamis__run_end(tamis__run *r, tamis_status status) {
    if (!is_durable(r))
        return;
    if (status != TAMIS_OK && status != TAMIS_E_INTERRUPTED && !r->uncommitted)
        tamis__durable_failed(&r->durable);
    tamis__free(&r->memory, r->from, r->durable.live.input_count * sizeof *r->from);
    tamis__durable_end(&r->durable);
}
