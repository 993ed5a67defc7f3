/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A run: joins reader, service and writers.
 *
 *     inputs --> reader --batches--> keys --> service --answers--> route -+--> writer: output
 *                  ^                                                      +--> writer: duplicates
 *                  +---- idle: flush, then wait
 *
 * run_stages.c has the stages of this pipeline. The steps of a run: check (nothing is created), open, pump,
 * finish, close. Finishing gives temporary files their names. After an error in any step, closing flushes
 * answered records to outputs that are written directly, and removes temporary files. run_plain takes these
 * steps. resumable.c has the driver of runs with commits, which adds its own steps and hooks.
 */
#include "stream/run/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/thread.h"
#include "base/versioned.h"
#include "store/file/file_error.h"
#include "stream/extract/find.h"
#include "stream/io/io_open.h"
#include "stream/run/clock.h"
#include "stream/run/run.h"

enum { OUTPUT = TAMIS__OUTPUT, DUPLICATES = TAMIS__DUPLICATES, OUTPUTS = TAMIS__OUTPUTS };

typedef tamis__run run;

static size_t choose_threads(const tamis_stream_options *options) {
    if (options->threads > 0)
        return options->threads;
    const uint32_t processors = tamis__thread_processors();
    return processors < TAMIS_STREAM_THREADS_MAX ? processors : TAMIS_STREAM_THREADS_MAX;
}

static void count_left(run *r) {
    tamis_stream_stats *stats = &r->stats;
    stats->bytes_left = r->options.follow                         ? tamis__reader_set_bytes_left(&r->readers)
                        : stats->bytes_total >= stats->bytes_read ? stats->bytes_total - stats->bytes_read
                                                                  : UINT64_MAX; /* the total is not known */
}

/* The poll loop reports progress through this function. */
static void report_progress(void *context, const tamis_stream_stats *now) {
    run *r = context;
    if (r->waiting)
        tamis__run_observe(r);
    count_left(r);
    r->options.progress(r->options.progress_context, now);
}

static void init_run(run *r, const tamis__run_arguments *arguments) {
    const tamis_stream_options *options = &arguments->options;
    r->service = arguments->service;
    r->options = *options;
    r->sizes = arguments->sizes;
    r->threads = choose_threads(options);
    r->stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    r->loop = (tamis__poll_loop){.stop_fd = options->stop_fd,
                                 .progress = options->progress ? report_progress : NULL,
                                 .progress_context = r,
                                 .stats = &r->stats,
                                 .records = &r->read,
                                 .reported_at = tamis__now_ns(),
                                 .follows = options->follow};
    for (int i = 0; i < OUTPUTS; i++) {
        r->writers[i].memory = r->memory;
        r->writers[i].terminator = options->terminator;
        r->writers[i].durable = options->durable;
    }
    r->first_malformed = (tamis__first_malformed){options->first_malformed, false};
    r->err = r->read_err = (tamis_error)TAMIS_ERROR_INIT;
    if (options->files) /* they have no index */
        r->options.input_end = NULL;
    r->router = (tamis__router){.writers = r->writers,
                                .service = &r->service,
                                .missing = options->missing,
                                .malformed = options->malformed,
                                .late = options->late,
                                .marking = options->marking,
                                .name = options->mark_name ? options->mark_name : "fresh",
                                .memory = r->memory};
    r->header = (tamis__header){
        .wanted = options->header || (options->extractor && tamis_extractor_wants_header(options->extractor)),
        .terminator = options->terminator,
        .extractor = options->extractor,
        .memory = r->memory};
    r->timed = options->profile != NULL;
    if (r->timed)
        r->begin = tamis__now_ns();
    for (int i = 0; i < OUTPUTS && r->timed; i++)
        r->writers[i].time = &r->profile.write;
}

static tamis_status set_compressions(run *r, tamis_error *err) {
    const tamis_stream_options *o = &r->options;
    const char *const names[OUTPUTS] = {[OUTPUT] = o->output, [DUPLICATES] = o->duplicates};
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        status = tamis__writer_set_compression(&r->writers[i], o->compression, o->compression_level, names[i],
                                               err);
    return status;
}

/* Standard input counts as an input. */
static size_t input_total(const run *r) {
    return r->options.input_count > 0 ? r->options.input_count : 1;
}

tamis_status tamis__run_check(run *r, tamis_error *err) {
    static const char *const standard_input[] = {"-"};
    const char *const *inputs = r->options.input_count ? r->options.inputs : standard_input;
    const size_t count = r->options.files ? 0 : input_total(r);
    uint64_t total = 0;
    if (r->service.mark && r->options.extractor && tamis_extractor_has_position(r->options.extractor))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "stream: a service with `mark` cannot have records with positions");
    tamis_status status = set_compressions(r, err);
    if (status == TAMIS_OK)
        status = tamis__target_find(&r->targets[OUTPUT], r->options.output, err);
    if (status == TAMIS_OK)
        status = tamis__target_find(&r->targets[DUPLICATES], r->options.duplicates, err);
    if (status == TAMIS_OK)
        status = tamis__outputs_check_distinct(&r->targets[OUTPUT], &r->targets[DUPLICATES], err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        status = tamis__input_check(inputs[i], r->targets, OUTPUTS, &total, err);
    r->stats.bytes_total = total == UINT64_MAX || r->options.follow ? 0 : total;
    return status;
}

/* ---- set-up ---- */

/* True if records have a syntax, in which a byte order mark is not a part of the first record. */
static bool has_syntax(const tamis_extractor *extractor) {
    return tamis_extractor_is_csv(extractor) || tamis_extractor_is_json(extractor);
}

static void send_remark(void *context, const char *message) {
    const run *r = context;
    r->options.remark(r->options.remark_context, message);
}

tamis__reader_setup tamis__run_reader_setup(run *r) {
    const tamis_extractor *extractor = r->options.extractor;
    return (tamis__reader_setup){.inputs = r->options.inputs,
                                 .input_count = r->options.input_count,
                                 .max_record = r->options.max_record,
                                 .read_size = r->sizes.read_size,
                                 .batch_size = r->sizes.batch_size,
                                 .batches = tamis__pipeline_item_count(r->threads),
                                 .terminator = r->options.terminator,
                                 .follow = r->options.follow,
                                 .remark = r->options.remark ? send_remark : NULL,
                                 .context = r,
                                 .header = r->header.wanted,
                                 .skips_bom = r->header.wanted || (extractor && has_syntax(extractor)),
                                 .csv = extractor && tamis_extractor_is_csv(extractor),
                                 .delimiter = extractor ? tamis__extractor_delimiter(extractor) : 0,
                                 .bytes_read = &r->stats.bytes_read,
                                 .read_time = r->timed ? &r->profile.read : NULL,
                                 .split_time = r->timed ? &r->profile.split : NULL};
}

/* Returns the time of a record; INT64_MIN: it has none. */
static int64_t find_time(void *context, tamis_key record) {
    run *r = context;
    tamis_extraction found;
    const tamis_status status = tamis_extractor_extract(r->time_extractor, &record, 1, &found, NULL);
    return status == TAMIS_OK && found.outcome == TAMIS_KEY_FOUND ? found.time : INT64_MIN;
}

static tamis_status open_readers(run *r, const tamis__reader_setup *reader, tamis_error *err) {
    const tamis_stream_options *o = &r->options;
    const bool is_merged =
        o->merge_within > 0 && o->follow && o->extractor && tamis_extractor_has_time(o->extractor);
    const tamis__reader_set_setup setup = {.reader = *reader,
                                           .pattern = o->files,
                                           .watched = r->followed ? r->followed->pattern : NULL,
                                           .outputs = r->targets,
                                           .output_count = OUTPUTS,
                                           .time_of = is_merged ? find_time : NULL,
                                           .time_context = r,
                                           .merge_within = (int64_t)o->merge_within};
    const tamis_status status =
        is_merged ? tamis__extractor_copy(&r->time_extractor, o->extractor, err) : TAMIS_OK;
    if (status != TAMIS_OK)
        return status;
    return tamis__reader_set_init(&r->readers, &setup, &r->loop, &r->memory, err);
}

static tamis_status create_input_stats(run *r, tamis_error *err) {
    const size_t count = input_total(r), size = count * sizeof *r->input_stats;
    if (r->options.files)
        return TAMIS_OK;
    r->input_stats = tamis__alloc(&r->memory, size, _Alignof(tamis_stream_stats));
    if (!r->input_stats)
        return tamis__fail_nomem(err, "statistics of inputs", size);
    for (size_t i = 0; i < count; i++)
        r->input_stats[i] = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    return TAMIS_OK;
}

tamis_status tamis__run_open(run *r, const tamis__reader_setup *setup, tamis_error *err) {
    tamis_status status = tamis__run_open_pipeline(r, err);
    if (status == TAMIS_OK)
        status = tamis__router_init(&r->router, err);
    if (status == TAMIS_OK)
        status = create_input_stats(r, err);
    if (status == TAMIS_OK)
        status = open_readers(r, setup, err);
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        status = tamis__writer_open(&r->writers[i], &r->targets[i], r->sizes.write_size, &r->loop, err);
    return status;
}

/* Sums the profile up. Called after the threads have ended. */
static void store_profile(run *r) {
    tamis_stream_profile *p = &r->profile;
    if (!r->timed)
        return;
    p->struct_size = sizeof *p;
    for (size_t i = 0; i < r->item_count; i++) {
        const tamis__item_times times = tamis__item_times_get(&r->items[i]);
        p->extract += times.extracting;
        p->hash += times.hashing;
        p->query += times.querying;
    }
    p->caller = r->waits.caller;
    p->others = r->waits.others;
    p->wall = tamis__now_ns() - r->begin;
    tamis__write_struct(r->options.profile, p, sizeof *p);
}

/* ---- the run ---- */

static bool has_enough(const run *r) {
    return r->service.enough && r->service.enough(r->service.context);
}

/* Everything read is written, and input would block. */
static tamis_status wait_for_input(run *r, tamis_error *err) {
    uint64_t *waiting = r->timed ? &r->profile.input : NULL;
    tamis_status status = tamis__run_flush(r, true, err);
    tamis__run_count_written(r);
    if (status == TAMIS_OK && r->hooks.idle)
        status = r->hooks.idle(r->hooks.context, err);
    const uint64_t start = tamis__clock_begin(waiting);
    r->waiting = r->caught_up = true;
    if (status == TAMIS_OK)
        status = tamis__reader_set_wait(&r->readers, err);
    r->waiting = false;
    tamis__clock_end(waiting, start);
    return status;
}

/* The reader has nothing more for now. */
static void end_inputs_read(run *r) {
    const tamis__reader *reader = tamis__reader_set_current(&r->readers);
    if (!reader)
        return;
    r->opened = tamis__reader_input(reader) + (reader->next_input > 0);
    tamis__run_end_inputs(r, tamis__reader_input(reader));
}

tamis_status tamis__run_pump(run *r, tamis_error *err) {
    for (;;) {
        tamis__pipeline_run(r->pipeline);
        if (r->stopped_early && r->status != TAMIS_OK && err)
            *err = r->err;
        if (r->stopped_early)
            return r->status;
        end_inputs_read(r);
        if (r->read_status != TAMIS_OK && err)
            *err = r->read_err;
        tamis_status status = r->read_status;
        if (status == TAMIS_OK && r->event == TAMIS__READER_IDLE)
            status = wait_for_input(r, err);
        if (status != TAMIS_OK || r->event == TAMIS__READER_END || has_enough(r))
            return status;
    }
}

tamis_status tamis__run_finish(run *r, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < OUTPUTS && status == TAMIS_OK; i++)
        status = tamis__writer_finish(&r->writers[i], err);
    return status == TAMIS_OK ? tamis__temp_file_commit_both(&r->writers[OUTPUT].temp_file,
                                                             &r->writers[DUPLICATES].temp_file, err)
                              : status;
}

bool tamis__run_lacks_keys(const run *r) {
    const tamis_stream_stats *stats = &r->stats;
    const tamis_extractor *x = r->options.extractor;
    const bool needs_more = x && (tamis_extractor_has_time(x) || tamis_extractor_has_position(x));
    return r->options.require_keys && !r->has_found && stats->missing + stats->malformed == stats->records &&
           (stats->missing > 0 || (needs_more && stats->malformed > 0));
}

tamis_status tamis__run_check_keys(const run *r, tamis_error *err) {
    if (!tamis__run_lacks_keys(r))
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_NO_KEY, 0, "stream: none of %" PRIu64 " records has %s", r->stats.records,
                       r->stats.missing > 0 ? "a key" : "a key and all that the options look for");
}

/* After an error: writes what was answered to outputs that are written directly. */
static void flush_rest(run *r, tamis_status status, tamis_error *err) {
    const bool stopped = status == TAMIS_E_INTERRUPTED;
    for (int i = 0; i < OUTPUTS; i++) {
        if (stopped)
            r->writers[i].stopping = true;
        /* A stop itself is not an error, so an error that loses the last records is reported instead. */
        if (tamis__writer_is_direct(&r->writers[i]))
            (void)tamis__writer_end(&r->writers[i], stopped ? err : NULL);
    }
    r->stats.complete = stopped;
    for (int i = 0; i < OUTPUTS && r->stats.complete; i++)
        r->stats.complete = tamis__writer_is_complete(&r->writers[i], err);
    if (stopped && err)
        err->status = status;
}

void tamis__run_close(run *r, tamis_status status, tamis_error *err) {
    r->stats.complete = status == TAMIS_OK;
    if (status != TAMIS_OK)
        flush_rest(r, status, err);
    tamis__run_count_written(r);
    if (r->writers[OUTPUT].target && (status == TAMIS_OK || tamis__writer_is_direct(&r->writers[OUTPUT])))
        r->stats.printed = tamis__writer_records_written(&r->writers[OUTPUT]);
    for (int i = 0; i < OUTPUTS; i++)
        tamis__writer_abandon(&r->writers[i], status == TAMIS_OK ? NULL : err);
    tamis__run_end_last_input(r);
    count_left(r);
    if (r->pipeline)
        r->stats.threads = (uint32_t)tamis__pipeline_threads(r->pipeline);
    tamis__pipeline_free(r->pipeline);
    store_profile(r);
    tamis__reader_set_release(&r->readers);
    tamis_extractor_free(r->time_extractor);
    tamis__free(&r->memory, r->input_stats, input_total(r) * sizeof *r->input_stats);
    tamis__header_release(&r->header);
    tamis__router_release(&r->router);
    tamis__items_free(r->items, r->item_count, &r->memory);
}

/* A follower was stopped while it waited: reports inputs whose last record has no end yet. */
static void report_unterminated(run *r) {
    char message[400];
    if (!r->options.follow || !r->options.remark || !r->caught_up)
        return;
    for (size_t i = 0; i < r->readers.count; i++) {
        const tamis__reader *reader = &r->readers.readers[i]->reader;
        if (tamis__reader_ahead(reader) == 0)
            continue;
        snprintf(message, sizeof message, "%s: its last record has no end yet, so it was not answered",
                 tamis__show(reader->name).text);
        r->options.remark(r->options.remark_context, message);
    }
}

static tamis_status run_plain(run *r, tamis_error *err) {
    tamis_status status = tamis__run_check(r, err);
    if (status == TAMIS_OK) {
        const tamis__reader_setup setup = tamis__run_reader_setup(r);
        status = tamis__run_open(r, &setup, err);
    }
    if (status == TAMIS_OK)
        status = tamis__run_pump(r, err);
    if (status == TAMIS_E_INTERRUPTED)
        report_unterminated(r);
    if (status == TAMIS_OK)
        status = tamis__run_check_keys(r, err);
    if (status == TAMIS_OK)
        status = tamis__run_finish(r, err);
    tamis__run_close(r, status, err);
    return status;
}

tamis_status tamis__run_once(const tamis__run_arguments *arguments, tamis__followed_names *followed,
                             tamis_stream_stats *stats, tamis_stream_result *result, tamis_error *err) {
    const tamis_allocator memory = tamis__allocator_resolve(arguments->options.allocator);
    run *r = tamis__alloc(&memory, sizeof *r, _Alignof(run));
    if (!r)
        return tamis__fail_nomem(err, "stream", sizeof *r);
    r->memory = memory;
    r->followed = followed;
    init_run(r, arguments);
    const tamis_status status = r->options.commits ? tamis__run_resumable(r, result, err) : run_plain(r, err);
    tamis__write_struct(stats, &r->stats, sizeof r->stats);
    tamis__free(&memory, r, sizeof *r);
    return status;
}

tamis_status tamis__stream_run_tuned(const tamis_stream_service *service, const tamis_stream_options *options,
                                     const tamis__stream_buffer_sizes *sizes, tamis_stream_stats *stats,
                                     tamis_stream_result *result, tamis_error *err) {
    tamis__run_arguments arguments = {.sizes = *sizes};
    tamis_status status = tamis__stream_check_options(&arguments.options, options, stats, result, err);
    if (status == TAMIS_OK)
        status = tamis__stream_check_service(&arguments.service, service, err);
    if (status != TAMIS_OK)
        return status;
    return arguments.options.follow && arguments.options.commits
               ? tamis__run_follow(&arguments, stats, result, err)
               : tamis__run_once(&arguments, NULL, stats, result, err);
}

tamis_status tamis_stream_run(const tamis_stream_service *service, const tamis_stream_options *options,
                              tamis_stream_stats *stats, tamis_stream_result *result, tamis_error *err) {
    const tamis__stream_buffer_sizes tuned = TAMIS__STREAM_BUFFER_SIZES_INIT;
    return tamis__stream_run_tuned(service, options, &tuned, stats, result, err);
}
