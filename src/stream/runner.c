/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A run: joins reader, service and writers.
 *
 *     inputs --> reader --batches--> keys --> service --answers--> route -+--> writer: first occurrences
 *                  ^                                                      +--> writer: duplicates
 *                  +---- idle: flush, then wait
 *
 * These are the stages of a pipeline (pipeline.h), which work on several batches at once if there are
 * threads. A batch that was read ahead has no effect before the batches in front of it are written. If one of
 * those ends the run, the later batches have no effect at all. So outputs, counts and errors are the same for
 * any number of threads. The caller's thread does everything but extracting keys and querying.
 *
 * The phases: check (nothing is created), open, pump, finish. Finishing gives temporary files their names.
 * After an error in any phase, answered records are flushed to outputs that are written directly, and
 * temporary files are removed.
 */
#include "stream/runner.h"

#include <inttypes.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "base/versioned.h"
#include "stream/clock.h"
#include "stream/ends.h"
#include "stream/find.h"
#include "stream/run.h"
#include "stream/taken.h"

enum { FIRSTS = TAMIS__FIRSTS, REPEATS = TAMIS__REPEATS, OUTPUTS = TAMIS__OUTPUTS };

enum { PARTS_A_THREAD = 2 };

typedef tamis__run run;

static size_t threads_of(const tamis_stream_options *options) {
    if (options->threads > 0)
        return options->threads;
    const uint32_t processors = tamis__thread_processors();
    return processors < TAMIS_STREAM_THREADS_MAX ? processors : TAMIS_STREAM_THREADS_MAX;
}

static void set_up(run *r, const tamis_stream_service *service, const tamis_stream_options *options,
                   const tamis__stream_tuning *tuning) {
    r->service = *service;
    r->options = *options;
    r->tuning = *tuning;
    r->threads = threads_of(options);
    r->stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    r->watch = (tamis__watch){options->stop_fd,
                              options->progress,
                              options->progress_context,
                              &r->stats,
                              &r->read,
                              tamis__now_ns() + TAMIS__REPORT_MS * UINT64_C(1000000),
                              0};
    r->reader.fd = -1;
    for (int i = 0; i < OUTPUTS; i++) {
        r->writers[i].memory = r->memory;
        r->writers[i].terminator = options->terminator;
        r->writers[i].durable = options->durable;
    }
    r->first_malformed = (tamis__first_malformed){options->first_malformed, false};
    r->err = r->read_err = (tamis_error)TAMIS_ERROR_INIT;
    r->router = (tamis__router){.writers = r->writers,
                                .service = &r->service,
                                .missing = options->missing,
                                .malformed = options->malformed,
                                .marking = options->marking,
                                .name = options->mark_name ? options->mark_name : "fresh",
                                .memory = r->memory};
    r->header = (tamis__header){
        .wanted = options->header || (options->extractor && tamis_extractor_wants_header(options->extractor)),
        .terminator = options->terminator,
        .extractor = options->extractor,
        .memory = r->memory};
    r->earlier = r->stats;
    r->timed = options->profile != NULL;
    if (r->timed)
        r->begin = tamis__now_ns();
    for (int i = 0; i < OUTPUTS && r->timed; i++)
        r->writers[i].time = &r->profile.write;
}

static tamis_status set_packings(run *r, tamis_error *err) {
    const tamis_stream_options *o = &r->options;
    const char *const names[OUTPUTS] = {[FIRSTS] = o->output, [REPEATS] = o->duplicates};
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        status = tamis__writer_set_packing(&r->writers[i], o->packing, o->packing_level, names[i], err);
    return status;
}

static tamis_status check(run *r, tamis_error *err) {
    static const char *const standard_input[] = {"-"};
    const char *const *inputs = r->options.input_count ? r->options.inputs : standard_input;
    size_t count = r->options.input_count ? r->options.input_count : 1;
    uint64_t total = 0;
    tamis_status status = set_packings(r, err);
    if (status == TAMIS_OK)
        status = tamis__place_find(&r->places[FIRSTS], r->options.output, err);
    if (status == TAMIS_OK)
        status = tamis__place_find(&r->places[REPEATS], r->options.duplicates, err);
    if (status == TAMIS_OK)
        status = tamis__place_differ(&r->places[FIRSTS], &r->places[REPEATS], err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        status = tamis__input_check(inputs[i], r->places, OUTPUTS, &total, err);
    r->stats.bytes_total = total == UINT64_MAX || r->options.follow ? 0 : total;
    return status;
}

/* Flushes the outputs that others can see before the end. */
static tamis_status flush_direct(run *r, bool idle, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        if (tamis__writer_direct(&r->writers[i]))
            status = idle ? tamis__writer_flush(&r->writers[i], err)
                          : tamis__writer_flush_due(&r->writers[i], err);
    return status;
}

/* Counts the first `done` records of the item. */
static void count_lot(run *r, const tamis__lot *lot, size_t done) {
    const tamis__batch *batch = &lot->batch;
    const unsigned char *end = done < batch->count ? batch->keys[done].data : batch->end;
    const uint8_t *fates = lot->keys.fates;
    uint64_t of[TAMIS__FATE_MALFORMED + 1] = {0};
    for (uint8_t fate = 0; fate <= TAMIS__FATE_MALFORMED; fate++)
        for (size_t i = 0; i < done; i++)
            of[fate] += fates[i] == fate;
    r->stats.records += done;
    r->stats.unique += of[TAMIS_FRESH];
    r->stats.duplicates += of[TAMIS_SEEN];
    r->stats.unknown += of[TAMIS_UNKNOWN];
    r->stats.missing += of[TAMIS__FATE_MISSING];
    r->stats.malformed += of[TAMIS__FATE_MALFORMED];
    r->stats.bytes_in += done > 0 ? (uint64_t)(end - batch->begin) : 0;
}

static void count_written(run *r) {
    r->stats.bytes_out = r->writers[FIRSTS].written + r->writers[REPEATS].written - r->before;
}

/* Handles what is before the records of an input, at its first batch: byte order mark and header. */
static tamis_status begin(run *r, tamis__batch *batch, tamis_error *err) {
    tamis_status status = batch->marked && !r->begun ? tamis__route_mark(&r->router, err) : TAMIS_OK;
    r->begun = true;
    if (status == TAMIS_OK && r->header.wanted)
        status = tamis__header_take(&r->header, batch, &r->router, err);
    if (status == TAMIS_OK)
        status = tamis__run_headed(r, batch->input, err);
    return status;
}

/* Reports the statistics of the inputs before `next`, which have ended. */
static void end_inputs(run *r, size_t next) {
    for (; r->input < next; r->input++) {
        tamis_stream_stats of_it = r->stats;
        of_it.records -= r->earlier.records;
        of_it.unique -= r->earlier.unique;
        of_it.duplicates -= r->earlier.duplicates;
        of_it.unknown -= r->earlier.unknown;
        of_it.missing -= r->earlier.missing;
        of_it.malformed -= r->earlier.malformed;
        of_it.bytes_in -= r->earlier.bytes_in;
        of_it.bytes_out = of_it.bytes_read = of_it.bytes_total = 0;
        r->earlier = r->stats;
        if (r->options.input_end)
            r->options.input_end(r->options.input_end_context, r->input, &of_it);
    }
}

/* The last input opened may still be followed under its name, or none may have been opened. */
static void end_all(run *r) {
    if (r->opened > 0 || r->stats.records > 0)
        end_inputs(r, r->opened > r->input ? r->opened : r->input + 1);
}

/* ---- the stages ---- */

/* Reads the next records. False if there are none now; r->event and r->read_status say why. */
static bool read_lot(void *context, size_t which) {
    run *r = context;
    tamis__lot *lot = &r->lots[which];
    tamis__batch *batch = &lot->batch;
    r->event = TAMIS__READER_RECORDS;
    if (tamis__reader_is_full(&r->reader))
        return false;
    do {
        r->read_status = tamis__reader_next(&r->reader, lot->records, batch, &r->event, &r->read_err);
        if (r->read_status != TAMIS_OK || r->event != TAMIS__READER_RECORDS)
            return false;
        if (batch->first == 1)
            r->read_status = begin(r, batch, &r->read_err);
        if (r->read_status == TAMIS_OK)
            tamis__run_fronted(r, batch);
        if (r->read_status != TAMIS_OK || batch->count == 0)
            tamis__reader_give_back(&r->reader, batch);
    } while (r->read_status == TAMIS_OK && batch->count == 0);
    lot->input = tamis__reader_input(&r->reader);
    lot->opened = r->reader.next_input;
    lot->bytes_read = r->stats.bytes_read;
    lot->bytes_done = lot->bytes_read - tamis__reader_ahead(&r->reader);
    r->read += batch->count;
    return r->read_status == TAMIS_OK;
}

static void key_lot(void *context, size_t which) {
    run *r = context;
    tamis__lot_key(&r->lots[which], &r->service);
}

/* Estimates how many records follow those of the item, and announces them to the service. */
static void foresee(run *r, const tamis__lot *lot) {
    const uint64_t read = lot->bytes_read, total = r->stats.bytes_total;
    const bool first = r->asked == 0;
    r->asked += lot->batch.count;
    if (read == 0 || read > total)
        return;
    const double each = (double)r->asked / (double)read;
    if (r->service.expect)
        r->service.expect(r->service.context, (uint64_t)(each * (double)(total - read)));
    if (first)
        tamis__run_expect(r, lot, (uint64_t)(each * (double)total));
}

static size_t divide_lot(void *context, size_t which) {
    run *r = context;
    foresee(r, &r->lots[which]);
    return tamis__lot_divide(&r->lots[which], &r->service);
}

static void ask_part(void *context, size_t which, size_t part) {
    run *r = context;
    tamis__lot_ask_part(&r->lots[which], &r->service, part);
}

static bool ask_lot(void *context, size_t which) {
    run *r = context;
    return tamis__lot_ask(&r->lots[which], &r->service);
}

/* Writes the records of an item to their outputs, including those answered before an error. Sets *err unless
 * it is NULL. */
static tamis_status route_lot(run *r, tamis__lot *lot, tamis_error *err) {
    uint64_t *routing = r->timed ? &r->profile.route : NULL;
    const uint64_t written = r->profile.write, begun = tamis__clock_begin(routing);
    const size_t done = tamis__lot_settle(lot);
    count_lot(r, lot, done);
    tamis_status status = tamis__route(&r->router, &lot->batch, lot->keys.fates, done, err);
    if (status == TAMIS_OK && lot->status == TAMIS_OK)
        status = flush_direct(r, false, err);
    count_written(r);
    tamis__clock_end(routing, begun);
    r->profile.route -= r->profile.write - written;
    return status;
}

/* Returns false if the run ends after this item, whatever was read ahead. */
static bool write_lot(void *context, size_t which) {
    run *r = context;
    tamis__lot *lot = &r->lots[which];
    end_inputs(r, lot->input);
    const bool fails = lot->status != TAMIS_OK; /* its error is reported then */
    tamis_status status = route_lot(r, lot, fails ? NULL : &r->err);
    if (!fails && status == TAMIS_OK)
        status = tamis__run_written(r, lot, &r->err);
    tamis__reader_give_back(&r->reader, &lot->batch);
    /* If the service has enough, a bad record after these ends nothing: the size of batches must not
     * matter. */
    const bool ends = lot->ends != TAMIS_OK && !lot->enough;
    if (!fails && status == TAMIS_OK && !ends && !lot->enough)
        return true;
    r->over = true;
    r->opened = lot->opened;
    r->stats.bytes_read = lot->bytes_read;
    r->status = fails ? lot->status : status != TAMIS_OK ? status : ends ? lot->ends : TAMIS_OK;
    if (fails)
        r->err = lot->err;
    else if (status == TAMIS_OK && ends)
        r->err = lot->why;
    return false;
}

/* For a service that marks records: it can mark only the batch of its last query, so the query waits for the
 * write. */
static bool ask_later(void *context, size_t which) {
    (void)context;
    (void)which;
    return true;
}

static bool ask_and_write_lot(void *context, size_t which) {
    (void)ask_lot(context, which);
    return write_lot(context, which);
}

static tamis_status make_stages(run *r, tamis_error *err) {
    const bool marks = r->service.mark != NULL;
    const tamis__stages stages = {.context = r,
                                  .read = read_lot,
                                  .key = key_lot,
                                  .divide = marks ? NULL : divide_lot,
                                  .ask_part = ask_part,
                                  .ask = marks ? ask_later : ask_lot,
                                  .write = marks ? ask_and_write_lot : write_lot};
    return tamis__pipeline_create(&r->pipeline, &stages, r->threads, r->timed ? &r->waits : NULL, &r->memory,
                                  err);
}

/* ---- set-up ---- */

/* True if a byte order mark is no part of such records. */
static bool has_syntax(const tamis_extractor *extractor) {
    return tamis_extractor_is_csv(extractor) || tamis_extractor_is_json(extractor);
}

/* A power of two, several for each thread, so that a thread that also reads and writes still finds a part. */
static uint32_t parts_for(const run *r) {
    uint32_t parts = 1;
    if (!r->service.parts || r->threads == 1)
        return 1;
    while (parts < PARTS_A_THREAD * r->threads && parts < TAMIS_STREAM_PARTS_MAX)
        parts *= 2;
    return parts;
}

/* If memory suffices for one item only, the run uses one thread. */
static tamis_status make_lots(run *r, tamis_error *err) {
    const tamis_stream_options *o = &r->options;
    const tamis__lot_setup setup = {.keys = {.extractor = o->extractor,
                                             .missing = o->missing,
                                             .malformed = o->malformed,
                                             .first = &r->first_malformed,
                                             .terminator = o->terminator,
                                             .objects = o->marking == TAMIS_STREAM_MEMBER,
                                             .memory = r->memory},
                                    .room = r->tuning.batch_size,
                                    .hashed = r->service.hasher != NULL,
                                    .timed = r->timed,
                                    .most_parts = parts_for(r)};
    size_t made = 0;
    r->lot_count = tamis__pipeline_lots(r->threads);
    tamis_status status = tamis__lots_make(&r->lots, r->lot_count, &setup, &made, err);
    if (made == 1)
        r->threads = 1;
    return status;
}

static void pass_mark(void *context, size_t input, uint64_t bytes) {
    tamis__run_marked(context, input, bytes);
}

static void pass_partial(void *context, size_t input) {
    tamis__run_partial(context, input);
}

static tamis_status take_input(void *context, size_t input, int fd, const struct stat *about,
                               tamis_error *err) {
    return tamis__run_opened(context, input, fd, about, err);
}

static tamis_status open_all(run *r, tamis_error *err) {
    const tamis_extractor *extractor = r->options.extractor;
    tamis__reader_setup setup = {.inputs = r->options.inputs,
                                 .input_count = r->options.input_count,
                                 .max_record = r->options.max_record,
                                 .read_size = r->tuning.read_size,
                                 .batch_size = r->tuning.batch_size,
                                 .batches = tamis__pipeline_lots(r->threads),
                                 .terminator = r->options.terminator,
                                 .follow = r->options.follow,
                                 .header = r->header.wanted,
                                 .passes_mark = r->header.wanted || (extractor && has_syntax(extractor)),
                                 .csv = extractor && tamis_extractor_is_csv(extractor),
                                 .delimiter = extractor ? tamis__extractor_delimiter(extractor) : 0,
                                 .leaves_partial = r->options.commits && r->options.commits->leave_partial,
                                 .opened = take_input,
                                 .marked = pass_mark,
                                 .partial = pass_partial,
                                 .context = r,
                                 .bytes_read = &r->stats.bytes_read,
                                 .read_time = r->timed ? &r->profile.read : NULL,
                                 .split_time = r->timed ? &r->profile.split : NULL};
    tamis_status status = tamis__run_from(r, &setup.from, err);
    if (status == TAMIS_OK)
        status = make_lots(r, err);
    if (status == TAMIS_OK)
        status = make_stages(r, err);
    if (status == TAMIS_OK)
        status = tamis__router_init(&r->router, err);
    if (status == TAMIS_OK)
        status = tamis__reader_init(&r->reader, &setup, &r->watch, &r->memory, err);
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        status = tamis__writer_open(&r->writers[i], &r->places[i], r->tuning.write_size, &r->watch, err);
    return status;
}

/* Sums the profile up. Called after the threads have ended. */
static void give_profile(run *r) {
    tamis_stream_profile *p = &r->profile;
    if (!r->timed)
        return;
    p->struct_size = sizeof *p;
    for (size_t i = 0; i < r->lot_count; i++) {
        const tamis__lot_times times = tamis__lot_times_of(&r->lots[i]);
        p->extract += times.extracting;
        p->hash += times.hashing;
        p->ask += times.asking;
    }
    p->caller = r->waits.caller;
    p->others = r->waits.others;
    p->wall = tamis__now_ns() - r->begin;
    tamis__give_struct(r->options.profile, p, sizeof *p);
}

/* ---- the run ---- */

static bool has_enough(const run *r) {
    return r->service.enough && r->service.enough(r->service.context);
}

/* Everything read is written, and input would block. */
static tamis_status idle(run *r, tamis_error *err) {
    uint64_t *waiting = r->timed ? &r->profile.input : NULL;
    tamis_status status = flush_direct(r, true, err);
    count_written(r);
    if (status == TAMIS_OK)
        status = tamis__run_idle(r, err);
    const uint64_t begun = tamis__clock_begin(waiting);
    if (status == TAMIS_OK)
        status = tamis__reader_wait(&r->reader, err);
    tamis__clock_end(waiting, begun);
    return status;
}

static tamis_status pump(run *r, tamis_error *err) {
    for (;;) {
        tamis__pipeline_run(r->pipeline);
        if (r->over && r->status != TAMIS_OK && err)
            *err = r->err;
        if (r->over)
            return r->status;
        r->opened = r->reader.next_input;
        end_inputs(r, tamis__reader_input(&r->reader));
        if (r->read_status != TAMIS_OK && err)
            *err = r->read_err;
        tamis_status status = r->read_status;
        if (status == TAMIS_OK && r->event == TAMIS__READER_IDLE)
            status = idle(r, err);
        if (status != TAMIS_OK || r->event == TAMIS__READER_END || has_enough(r))
            return status;
    }
}

static tamis_status finish(run *r, tamis_error *err) {
    tamis_status status = tamis__run_drain(r, err);
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        status = tamis__writer_finish(&r->writers[i], err);
    if (status == TAMIS_OK)
        status = tamis__run_finish(r, err);
    return status == TAMIS_OK
               ? tamis__aside_publish_both(&r->writers[FIRSTS].aside, &r->writers[REPEATS].aside, err)
               : status;
}

/* After an error: writes what was answered to outputs that are written directly. */
static void flush_rest(run *r, tamis_status status, tamis_error *err) {
    bool stopped = status == TAMIS_E_INTERRUPTED;
    for (int i = 0; i < OUTPUTS; i++) {
        if (stopped)
            r->writers[i].stopping = true;
        /* A stop itself is no error, so an error that loses the last records is reported instead. */
        if (tamis__writer_direct(&r->writers[i]))
            (void)tamis__writer_end(&r->writers[i], stopped ? err : NULL);
    }
    r->stats.settled = stopped;
    for (int i = 0; i < OUTPUTS && r->stats.settled; i++)
        r->stats.settled = tamis__writer_settled(&r->writers[i], err);
    if (stopped && err)
        err->status = status;
}

/* Commits after a stop. *err keeps the message about the stop, unless the commit fails. */
static tamis_status commit_stopped(run *r, tamis_error *err) {
    tamis_error failed = TAMIS_ERROR_INIT;
    const tamis_status status = tamis__run_commit(r, &failed);
    if (status == TAMIS_OK)
        return TAMIS_E_INTERRUPTED;
    return tamis__fail(err, status, failed.sys_errno, "%s", failed.text);
}

/* Input from a pipe cannot be read again, so a run that commits with pipes keeps everything. */
static tamis_status fail_keyless(run *r, tamis_error *err) {
    const tamis_stream_commits *commits = r->options.commits;
    const tamis_status status = commits && commits->inexact ? finish(r, err) : TAMIS_OK;
    return status == TAMIS_OK ? tamis__fail(err, TAMIS_E_KEYLESS, 0,
                                            "stream: none of %" PRIu64 " records has a key", r->stats.records)
                              : status;
}

static tamis_status run_through(run *r, tamis_error *err) {
    tamis_status status = open_all(r, err);
    if (status == TAMIS_OK)
        status = pump(r, err);
    if (status == TAMIS_OK && tamis__run_lacks_keys(r))
        return fail_keyless(r, err);
    if (status == TAMIS_OK)
        return finish(r, err);
    return status == TAMIS_E_INTERRUPTED ? commit_stopped(r, err) : status;
}

static tamis_status go(run *r, tamis_error *err) {
    tamis_status status = check(r, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__run_begin(r, err);
    if (status == TAMIS_OK && !r->durable.finished)
        status = run_through(r, err);
    r->stats.settled = status == TAMIS_OK;
    if (status != TAMIS_OK)
        flush_rest(r, status, err);
    count_written(r);
    if (r->writers[FIRSTS].place && (status == TAMIS_OK || tamis__writer_direct(&r->writers[FIRSTS])))
        r->stats.printed = tamis__writer_taken(&r->writers[FIRSTS]);
    for (int i = 0; i < OUTPUTS; i++)
        tamis__writer_abandon(&r->writers[i], status == TAMIS_OK ? NULL : err);
    if (status == TAMIS_E_KEYLESS || status == TAMIS_E_INTERRUPTED)
        tamis__run_undo(r);
    end_all(r);
    if (r->pipeline)
        r->stats.threads = (uint32_t)tamis__pipeline_threads(r->pipeline);
    tamis__pipeline_free(r->pipeline);
    give_profile(r);
    tamis__reader_release(&r->reader);
    tamis__header_release(&r->header);
    tamis__router_release(&r->router);
    tamis__lots_free(r->lots, r->lot_count, &r->memory);
    tamis__run_end(r, status);
    return status;
}

tamis_status tamis__stream_run_tuned(const tamis_stream_service *service, const tamis_stream_options *options,
                                     const tamis__stream_tuning *tuning, tamis_stream_stats *stats,
                                     tamis_error *err) {
    tamis_stream_options taken;
    tamis_stream_service asked;
    tamis_status status = tamis__stream_take_options(&taken, options, stats, err);
    if (status == TAMIS_OK)
        status = tamis__stream_take_service(&asked, service, err);
    if (status != TAMIS_OK)
        return status;
    tamis_allocator memory = tamis__allocator_resolve(taken.allocator);
    run *r = tamis__alloc(&memory, sizeof *r, _Alignof(run));
    if (!r)
        return tamis__fail_nomem(err, "stream", sizeof *r);
    r->memory = memory;
    set_up(r, &asked, &taken, tuning);
    status = go(r, err);
    tamis__give_struct(stats, &r->stats, sizeof r->stats);
    tamis__free(&memory, r, sizeof *r);
    return status;
}

tamis_status tamis_stream_run(const tamis_stream_service *service, const tamis_stream_options *options,
                              tamis_stream_stats *stats, tamis_error *err) {
    const tamis__stream_tuning tuned = TAMIS__STREAM_TUNING_INIT;
    return tamis__stream_run_tuned(service, options, &tuned, stats, err);
}
