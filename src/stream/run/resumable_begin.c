/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * How a resumable run begins: step B of docs/DURABILITY.md, on the side of the run. durable_begin.c has that
 * of the state.
 *
 *     last commit --> positions of the inputs --> starts of the reader
 *                     lengths of the outputs  --> writers
 *                     statistics              --> r->stats
 *
 * Headers are not in a commit. So the header of an input that was begun is read again, and not written.
 */
#include "stream/run/resumable.h"

#include <errno.h>
#include <unistd.h>

#include "base/system.h"
#include "store/file/file_error.h"

enum { OUTPUTS = TAMIS__OUTPUTS };

typedef tamis__run run;
typedef tamis__resumable resumable;

/* Reads the header of an input again, which an earlier run has already written to the outputs. */
static tamis_status read_header_of(resumable *c, size_t input, tamis_error *err) {
    run *r = c->run;
    tamis_key record;
    tamis__record_batch batch = {.records = &record};
    tamis__reader_event event;
    tamis__reader reader;
    tamis__reader_setup setup = tamis__run_reader_setup(r);
    setup.inputs = &c->durable.names[input];
    setup.input_count = setup.batch_size = setup.batches = 1;
    setup.bytes_read = NULL;
    setup.follow = false;
    tamis_status status = tamis__reader_init(&reader, &setup, &r->loop, &r->memory, err);
    if (status == TAMIS_OK)
        status = tamis__reader_next(&reader, &batch, &event, err);
    if (status == TAMIS_OK && event == TAMIS__READER_RECORDS)
        status = tamis__header_read(&r->header, &batch, NULL, err);
    if (reader.borrowed && reader.fd >= 0 &&
        tamis__sys.seek(reader.fd, c->durable.input.file.base, SEEK_SET) < 0)
        status = tamis__fail(err, TAMIS_E_IO, errno,
                             "standard input: cannot go back to its beginning; give the file by name");
    tamis__reader_release(&reader);
    return status;
}

static tamis_status read_header(resumable *c, tamis_error *err) {
    const tamis__checkpoint *live = &c->durable.live;
    tamis_status status = TAMIS_OK;
    if (!c->run->header.wanted || !live->has_data)
        return TAMIS_OK;
    for (size_t i = 0; i < live->input_count && !c->run->header.bytes && status == TAMIS_OK; i++)
        if (live->inputs[i].regular && live->inputs[i].position.records > 0)
            status = read_header_of(c, i, err);
    return status;
}

tamis_status tamis__resumable_begin(resumable *c, tamis_error *err) {
    run *r = c->run;
    tamis__durable *d = &c->durable;
    const int compressions[OUTPUTS] = {(int)r->writers[0].codec_options.compression,
                                       (int)r->writers[1].codec_options.compression};
    d->followed = r->followed;
    tamis_status status = tamis__durable_begin(d, &r->options, compressions, r->targets, err);
    if (status != TAMIS_OK)
        return status;
    const uint64_t total = r->stats.bytes_total;
    r->stats = d->live.stats;
    r->stats.bytes_total = total > d->skipped_bytes ? total - d->skipped_bytes : 0;
    c->bytes_done = r->stats.bytes_read;
    for (size_t i = 0; i < d->live.input_count; i++)
        d->live.inputs[i].committed = d->live.inputs[i].position;
    r->has_data = d->live.has_data;
    r->has_found = d->live.stats.records > 0; /* a run commits no records before */
    r->input = (size_t)d->live.input;
    for (int i = 0; i < OUTPUTS; i++) {
        r->writers[i].durable = true;
        r->writers[i].written = r->writers[i].sent = d->live.outputs[i].fingerprint.length;
        r->writers[i].owes_terminator = d->live.outputs[i].owes_terminator;
        r->writers[i].header_done = d->live.outputs[i].header_done;
        r->bytes_before += r->writers[i].written;
        if (d->outputs[i].uncommitted.fd >= 0)
            r->writers[i].uncommitted = &d->outputs[i].uncommitted;
        if (r->writers[i].written == 0)
            r->writers[i].prefix = &d->outputs[i].prefix;
    }
    r->positions = d->live.positioned ? &d->live.positions : NULL;
    status = r->positions ? tamis__durable_report_positions(d, err) : TAMIS_OK; /* Q6 */
    return status == TAMIS_OK && !d->finished ? read_header(c, err) : status;
}

/* ---- hooks of the reader ---- */

static tamis_status on_input_opened(void *context, size_t input, int fd, const struct stat *st,
                                    tamis_error *err) {
    resumable *c = context;
    return tamis__durable_opened(&c->durable, input, fd, st, err);
}

static void on_bom_skipped(void *context, size_t input, uint64_t bytes) {
    resumable *c = context;
    c->durable.live.inputs[input].prefix.offset = bytes;
}

static void on_unterminated_left(void *context, size_t input) {
    resumable *c = context;
    struct tamis__input_position *prefix = &c->durable.live.inputs[input].prefix;
    if (c->unterminated_count++ == 0)
        c->unterminated = tamis__input_name(c->durable.names[input]);
    if (prefix->records == 0)
        *prefix = (struct tamis__input_position){0}; /* a byte order mark belongs to the first record */
}

static void on_remark(void *context, const char *message) {
    const resumable *c = context;
    c->run->options.remark(c->run->options.remark_context, message);
}

tamis_status tamis__resumable_open(resumable *c, tamis_error *err) {
    run *r = c->run;
    const tamis__checkpoint *live = &c->durable.live;
    const size_t size = live->input_count * sizeof *c->from;
    tamis__reader_setup setup = tamis__run_reader_setup(r);
    setup.from = c->from = tamis__alloc(&r->memory, size, TAMIS__LINE);
    if (!c->from)
        return tamis__fail_nomem(err, "stream", size);
    for (size_t i = 0; i < live->input_count; i++) {
        const struct tamis__input_position *position = &live->inputs[i].position;
        c->from[i] = (struct tamis__reader_start){.skipped = live->inputs[i].skipped,
                                                  .offset = position->offset,
                                                  .records = position->records,
                                                  .lines = position->lines};
    }
    setup.defers_unterminated = c->commits.defer_unterminated;
    setup.defers_cut = live->positioned; /* Q1: the whole record comes again, for it is not acknowledged */
    setup.opened = on_input_opened;
    setup.bom_skipped = on_bom_skipped;
    setup.deferred = on_unterminated_left;
    setup.remark = r->options.remark ? on_remark : NULL;
    setup.context = c;
    setup.stops_when_left = r->followed != NULL;
    const tamis_status status = tamis__run_open(r, &setup, err);
    for (size_t i = 0; r->input_stats && i < live->input_count; i++)
        r->input_stats[i] = live->inputs[i].stats;
    for (size_t i = 0; r->followed && i < r->readers.count; i++) {
        tamis__followed *followed = &r->followed->names[i];
        tamis__reader_set_followed(&r->readers.readers[i]->reader, tamis__input_name(followed->name),
                                   followed->previous);
        followed->previous.open = false;
        r->readers.readers[i]->reader.has_local_writers = followed->has_local_writers;
    }
    /* If an input is another file than expected, the caller begins again: nothing may have been read then. */
    return status == TAMIS_OK && r->followed ? tamis__reader_set_open(&r->readers, err) : status;
}
