/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The stages of a run: what its pipeline (pipeline.h) does with each item.
 *
 *     inputs --> read_item --batches--> extract_item --> divide_item, query_part, query_item --answers--+
 *                                                                                                       |
 *     outputs <-- tamis__route <-- write_item <---------------------------------------------------------+
 *
 * With threads, the stages work on several batches at once. A batch that was read ahead has no effect before
 * the batches in front of it are written. If one of those ends the run, the later batches have no effect at
 * all. So outputs, counts and errors are the same for any number of threads. The caller's thread does
 * everything but extracting keys and querying.
 */
#include "stream/run/run.h"

#include "base/system.h"
#include "stream/run/clock.h"

enum { OUTPUT = TAMIS__OUTPUT, DUPLICATES = TAMIS__DUPLICATES, OUTPUTS = TAMIS__OUTPUTS };

enum { PARTS_PER_THREAD = 2 };

/* The pause between two calls of options.observe: at least OBSERVE_NS, and OBSERVE_RATIO times as long as the
 * last call took. */
static const uint64_t OBSERVE_NS = 1000000000, OBSERVE_RATIO = 50;

typedef tamis__run run;

void tamis__run_observe(run *r) {
    if (!r->options.observe || !r->options.progress || !r->unobserved)
        return;
    const uint64_t begun = tamis__now_ns();
    if (begun < r->observe_at)
        return;
    r->options.observe(r->options.progress_context);
    r->unobserved = false;
    const uint64_t ended = tamis__now_ns(), pause = (ended - begun) * OBSERVE_RATIO;
    r->observe_at = ended + (pause > OBSERVE_NS ? pause : OBSERVE_NS);
}

tamis_status tamis__run_flush(run *r, bool idle, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        if (tamis__writer_is_direct(&r->writers[i]))
            status = idle ? tamis__writer_flush(&r->writers[i], err)
                          : tamis__writer_flush_due(&r->writers[i], err);
    return status;
}

/* Counts the first `done` records of the item. */
static void count_item(run *r, const tamis__item *item, size_t done) {
    const tamis__record_batch *batch = &item->batch;
    const unsigned char *end = done < batch->count ? batch->records[done].data : batch->end;
    const uint8_t *outcomes = item->keys.outcomes;
    uint64_t by_outcome[TAMIS__OUTCOMES] = {0};
    for (uint8_t outcome = 0; outcome < TAMIS__OUTCOMES; outcome++)
        for (size_t i = 0; i < done; i++)
            by_outcome[outcome] += outcomes[i] == outcome;
    r->stats.records += done;
    r->stats.unique += by_outcome[TAMIS_ABSENT];
    r->stats.duplicates += by_outcome[TAMIS_PRESENT];
    r->stats.unknown += by_outcome[TAMIS_UNKNOWN];
    r->stats.late += by_outcome[TAMIS_LATE];
    r->stats.missing += by_outcome[TAMIS__OUTCOME_MISSING];
    r->stats.malformed += by_outcome[TAMIS__OUTCOME_MALFORMED];
    r->stats.redelivered += by_outcome[TAMIS_REDELIVERED];
    r->stats.bytes_in += done > 0 ? (uint64_t)(end - batch->begin) : 0;
    r->has_found = r->has_found || item->keys.has_found;
}

void tamis__run_count_written(run *r) {
    r->stats.bytes_out = r->writers[OUTPUT].written + r->writers[DUPLICATES].written - r->bytes_before;
}

/* At the first batch of an input: writes the byte order mark and removes the header. */
static tamis_status begin_input(run *r, tamis__record_batch *batch, tamis_error *err) {
    tamis_status status = batch->has_bom && !r->has_data ? tamis__route_bom(&r->router, err) : TAMIS_OK;
    r->has_data = true;
    if (status == TAMIS_OK && r->header.wanted)
        status = tamis__header_read(&r->header, batch, &r->router, err);
    if (status == TAMIS_OK && r->hooks.input_begun)
        status = r->hooks.input_begun(r->hooks.context, batch, err);
    return status;
}

/* Reports the statistics of the inputs before `next`, unless that was done. */
static void report_inputs(run *r, size_t next) {
    for (; r->input < next; r->input++)
        if (r->options.input_end && r->input_stats)
            r->options.input_end(r->options.input_end_context, r->input, &r->input_stats[r->input]);
}

void tamis__run_end_inputs(run *r, size_t next) {
    if (r->readers.count <= 1)
        report_inputs(r, next);
}

/* Adds what was counted since `before` to an input. */
static void add_to_input(run *r, size_t input, const tamis_stream_stats *before) {
    tamis_stream_stats more = r->stats;
    if (!r->input_stats)
        return;
    tamis__stats_subtract(&more, before);
    tamis__stats_add(&r->input_stats[input], &more);
}

void tamis__run_end_last_input(run *r) {
    if (r->readers.count > 1)
        report_inputs(r, r->options.input_count);
    else if (r->opened > 0 || r->stats.records > 0)
        tamis__run_end_inputs(r, r->opened > r->input ? r->opened : r->input + 1);
}

/* ---- the stages ---- */

/* Reads the next records. False if there are none now; r->event and r->read_status say why. */
static bool read_item(void *context, size_t which) {
    run *r = context;
    tamis__item *item = &r->items[which];
    tamis__record_batch *batch = &item->batch;
    r->event = TAMIS__READER_RECORDS;
    if (tamis__reader_set_is_full(&r->readers))
        return false;
    do {
        batch->records = item->records;
        r->read_status = tamis__reader_set_next(&r->readers, batch, &r->event, &r->read_err);
        if (r->read_status != TAMIS_OK || r->event != TAMIS__READER_RECORDS)
            return false;
        if (batch->first == 1)
            r->read_status = begin_input(r, batch, &r->read_err);
        if (r->read_status != TAMIS_OK || batch->count == 0)
            tamis__reader_set_give_back(batch);
    } while (r->read_status == TAMIS_OK && batch->count == 0);
    item->input = tamis__reader_input(batch->reader);
    item->opened = item->input + 1;
    item->bytes_read = r->stats.bytes_read;
    item->bytes_done = item->bytes_read - tamis__reader_set_ahead(&r->readers);
    r->read += batch->count;
    r->caught_up = false;
    return r->read_status == TAMIS_OK;
}

static void extract_item(void *context, size_t which) {
    run *r = context;
    tamis__item_extract(&r->items[which], &r->service);
}

/* Estimates how many records follow those of the item, and announces them to the service. */
static void estimate_remaining(run *r, const tamis__item *item) {
    const uint64_t read = item->bytes_read, total = r->stats.bytes_total;
    const bool first = r->queried == 0;
    r->queried += item->batch.count;
    if (read == 0 || read > total)
        return;
    const double each = (double)r->queried / (double)read;
    if (r->service.expect)
        r->service.expect(r->service.context, (uint64_t)(each * (double)(total - read)));
    if (first && r->hooks.first_query)
        r->hooks.first_query(r->hooks.context, item, (uint64_t)(each * (double)total));
}

static size_t divide_item(void *context, size_t which) {
    run *r = context;
    if (r->positions)
        tamis__item_leave_out_redelivered(&r->items[which], r->positions);
    estimate_remaining(r, &r->items[which]);
    return tamis__item_divide(&r->items[which], &r->service);
}

static void query_part(void *context, size_t which, size_t part) {
    run *r = context;
    tamis__item_query_part(&r->items[which], &r->service, part);
}

static bool query_item(void *context, size_t which) {
    run *r = context;
    const bool go_on = tamis__item_query(&r->items[which], &r->service);
    r->unobserved = true;
    tamis__run_observe(r);
    return go_on;
}

/* Writes the records of an item to their outputs, including those answered before an error. Sets *err unless
 * it is NULL. */
static tamis_status route_item(run *r, tamis__item *item, tamis_error *err) {
    uint64_t *routing = r->timed ? &r->profile.route : NULL;
    const uint64_t written = r->profile.write, start = tamis__clock_begin(routing);
    const size_t done = tamis__item_finish(item);
    count_item(r, item, done);
    tamis_status status = tamis__route(&r->router, &item->batch, item->keys.outcomes, done, err);
    if (status == TAMIS_OK && item->status == TAMIS_OK)
        status = tamis__run_flush(r, false, err);
    tamis__run_count_written(r);
    tamis__clock_end(routing, start);
    r->profile.route -= r->profile.write - written;
    return status;
}

/* Returns false if the run ends after this item, whatever was read ahead. */
static bool write_item(void *context, size_t which) {
    run *r = context;
    tamis__item *item = &r->items[which];
    tamis__run_end_inputs(r, item->input);
    const bool fails = item->status != TAMIS_OK; /* the error of the item is reported, not one of the write */
    const tamis_stream_stats before = r->stats;
    tamis_status status = route_item(r, item, fails ? NULL : &r->err);
    add_to_input(r, item->input, &before);
    if (!fails && status == TAMIS_OK && r->hooks.item_written)
        status = r->hooks.item_written(r->hooks.context, item, &r->err);
    tamis__reader_set_give_back(&item->batch);
    /* If the service has enough, a later bad record of the same batch is ignored. Otherwise the result would
     * depend on the batch size. */
    const bool is_last = item->query.end_status != TAMIS_OK && !item->enough;
    if (!fails && status == TAMIS_OK && !is_last && !item->enough)
        return true;
    r->stopped_early = true;
    r->opened = item->opened;
    r->stats.bytes_read = item->bytes_read;
    r->status = fails                ? item->status
                : status != TAMIS_OK ? status
                : is_last            ? item->query.end_status
                                     : TAMIS_OK;
    if (fails)
        r->err = item->err;
    else if (status == TAMIS_OK && is_last)
        r->err = item->query.end_error;
    return false;
}

/* For a service that marks records: it can mark only the batch of its last query, so the query waits for the
 * write. */
static bool query_later(void *context, size_t which) {
    (void)context;
    (void)which;
    return true;
}

static bool query_and_write_item(void *context, size_t which) {
    (void)query_item(context, which);
    return write_item(context, which);
}

static tamis_status create_pipeline(run *r, tamis_error *err) {
    const bool is_marking = r->service.mark != NULL;
    const tamis__pipeline_stages stages = {.context = r,
                                           .read = read_item,
                                           .extract = extract_item,
                                           .divide = is_marking ? NULL : divide_item,
                                           .query_part = query_part,
                                           .query = is_marking ? query_later : query_item,
                                           .write = is_marking ? query_and_write_item : write_item,
                                           .waits = r->timed ? &r->waits : NULL};
    return tamis__pipeline_create(&r->pipeline, &stages, r->threads, &r->memory, err);
}

/* ---- set-up ---- */

/* A power of two, several for each thread, so that a thread that also reads and writes still finds a part. */
static uint32_t choose_parts(const run *r) {
    uint32_t parts = 1;
    if (!r->service.parts || r->threads == 1)
        return 1;
    while (parts < PARTS_PER_THREAD * r->threads && parts < TAMIS_STREAM_PARTS_MAX)
        parts *= 2;
    return parts;
}

/* If memory suffices for one item only, the run uses one thread. */
static tamis_status create_items(run *r, tamis_error *err) {
    const tamis_stream_options *o = &r->options;
    const tamis__item_setup setup = {.keys = {.extractor = o->extractor,
                                              .missing = o->missing,
                                              .malformed = o->malformed,
                                              .first = &r->first_malformed,
                                              .terminator = o->terminator,
                                              .objects = o->marking == TAMIS_STREAM_MEMBER,
                                              .timed = o->extractor && tamis_extractor_has_time(o->extractor),
                                              .positioned = r->positions != NULL,
                                              .memory = r->memory},
                                     .capacity = r->sizes.batch_size,
                                     .hashed = r->service.hasher != NULL,
                                     .timed = r->timed,
                                     .max_parts = choose_parts(r)};
    size_t made = 0;
    r->item_count = tamis__pipeline_item_count(r->threads);
    const tamis_status status = tamis__items_create(&r->items, r->item_count, &setup, &made, err);
    if (made == 1)
        r->threads = 1;
    return status;
}

tamis_status tamis__run_open_pipeline(run *r, tamis_error *err) {
    const tamis_status status = create_items(r, err);
    return status == TAMIS_OK ? create_pipeline(r, err) : status;
}
