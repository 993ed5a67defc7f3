/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A filter gets its size when it is made. Without --expect, build therefore counts the keys first. How it
 * counts depends on the inputs.
 *
 *     regular files:   first reading -> cardinality sketch -> number of keys
 *                      second reading -> filter
 *                         ^          |full
 *                         '----------' twice the capacity
 *
 *     pipes, devices:  only reading -> buffer of hashes (build_buffer.c) -> filter of the right size
 *                                         |full
 *                                         v
 *                                      growing filter
 *
 * Regular files are read twice. That takes no memory for the input, however large it is, and every kind is
 * possible. There may be more keys than counted: the sketch is too low by chance, or a file has grown. Then
 * the filter reports that it is full, and the second reading starts again with twice the capacity. A file
 * that was replaced, cut short or edited between the readings is an error (build_inputs.c).
 *
 * Pipes and devices cannot be read twice. As long as their keys fit into the buffer, every kind is possible.
 * More keys go into a growing filter, which is somewhat larger than one of the right size. Kinds that cannot
 * grow need --expect then. Spooling the records to a disk would take space that the user did not offer.
 *
 * Unless --frozen is given, a kind that can grow is preferred, so keys can be added later.
 *
 * Invariants:
 * 1. A wrong count never loses a key and never raises the rate.
 * 2. Bad options, labels, secrets and outputs are refused before the input is read, which may take hours.
 * 3. The lock of the output is held from before the first reading until after the save.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tamis/experimental/census.h>

#include "cli/cmd/build/build.h"
#include "cli/filter/cli_file.h"
#include "cli/input/cli_summary.h"
#include "cli/process/cli_progress.h"
#include "cli/process/cli_signal.h"
#include "cli/server/cli_server.h"

static const cli_summary_fields fields = {
    .records = {"records", "records", CLI_INTEGER, "Records read."},
    .absent = {"unique", "unique", CLI_INTEGER, "Records that were added."},
    .present = {"duplicates", "duplicates", CLI_INTEGER,
                "Records that were in the filter already, or taken for one."},
    .bytes_in = {"bytes_in", "bytes", CLI_INTEGER, "Bytes of the records, terminators included."},
    .bytes_out = {"bytes_out", NULL, CLI_INTEGER, "Always 0: no records are written."},
    .seconds = {"seconds", "seconds", CLI_NUMBER, "Duration of the run in seconds, counting included."},
    .fpr = {"fpr", NULL, CLI_NUMBER, "Promised probability of a wrong answer, 0 to 1."},
    .fpr_live = {"fpr_live", NULL, CLI_NUMBER,
                 "The same probability with the keys in the filter; 0 = the filter is empty."},
    .saturated = {"saturated", NULL, CLI_BOOLEAN, "true: the filter was full when a record came."},
    .files = {"files", NULL, CLI_ARRAY_OF_OBJECTS,
              "One for each input that was opened, with file, records, unique, duplicates, missing, "
              "malformed and bytes_in."},
    CLI_SUMMARY_ROWS("read"),
    CLI_SUMMARY_ROWS_FILTER,
};

typedef struct build_run {
    build_config config;
    cli_secret secret;
    bool keyed;         /* a secret was given */
    bool is_read_twice; /* the inputs are read twice and must not change meanwhile */
    bool is_fixed;      /* --memory is too small for a growing table */
    int stop_fd;
    uint64_t expected;    /* size hint of a filter that grows: --expect or the counted keys; 0: none */
    off_t start;          /* initial offset of standard input; -1: it is not a file */
    build_buffer *buffer; /* buffered hashes; NULL: the filter is filled from the input */
    tamis_filter *filter;
    tamis_redis_resize *resize; /* resize in progress, or NULL */
    cli_summary summary;
} build_run;

/* ---- reading twice ---- */

/* One reading of the whole input. */
static tamis_status read_all(build_run *run, const tamis_stream_service *service, tamis_error *err) {
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;

    if (run->start >= 0)
        (void)lseek(STDIN_FILENO, run->start, SEEK_SET);
    run->summary.stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    options.stop_fd = run->stop_fd;
    options.first_malformed = &run->summary.first_malformed;
    return cli_stream_run(&run->config.stream, service, &options, &run->summary.stats, err);
}

static tamis_status count_batch(void *sketch, const tamis_stream_batch *batch, size_t *done,
                                tamis_error *err) {
    (void)err;
    tamis_cardinality_add_many(sketch, batch->keys, batch->count);
    memset(batch->answers, TAMIS_ABSENT, batch->count);
    *done = batch->count;
    return TAMIS_OK;
}

/* Plans for the keys that were counted. A cuckoo filter grows without --expect: the number is its size hint. */
static void set_counted(build_run *run, uint64_t keys) {
    if (cli_filter_grows_by_parts(&run->config.filter))
        run->expected = keys;
    else
        run->config.filter.plan_options.expect = keys;
}

/* Reads the inputs to count their keys, and sets the expected number. With a secret the hashes are keyed,
 * so that nobody can choose keys that spoil the estimate. */
static tamis_status count_keys(build_run *run, tamis_error *err) {
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_cardinality_options options = TAMIS_CARDINALITY_OPTIONS_INIT;
    tamis_cardinality *sketch = NULL;

    if (run->keyed) {
        options.secret = run->secret.bytes;
        options.secret_size = run->secret.size;
    }
    tamis_status status = tamis_cardinality_create(&sketch, &options, err);
    if (status == TAMIS_E_NOMEM)
        cli_remedy(err, "free some, or give --expect");
    if (status != TAMIS_OK)
        return status;
    service.context = sketch;
    service.query = count_batch;
    status = read_all(run, &service, err);
    if (status == TAMIS_OK)
        set_counted(run, tamis_cardinality_upper_bound(sketch));
    tamis_cardinality_free(sketch);
    return status;
}

/* ---- filling ---- */

static tamis_status create(build_run *run, tamis_error *err) {
    const cli_secret *secret = run->keyed ? &run->secret : NULL;

    tamis_filter_free(run->filter);
    run->filter = NULL;
    if (cli_filter_create(&run->filter, &run->config.filter, secret, err) != TAMIS_OK)
        return err->status;
    if (run->config.filter.plan_options.expect == 0)
        tamis_filter_expect(run->filter, run->expected);
    return TAMIS_OK;
}

static tamis_status begin_resize(build_run *run, tamis_error *err) {
    const char *output = run->config.output;
    const cli_lock_wait wait = cli_lock_wait_of(&run->config.values[CLI_OPT_LOCK_WAIT]);
    char shown[CLI_SERVER_SHOWN], message[CLI_SERVER_SHOWN + 120];

    if (!run->config.resizes)
        return TAMIS_OK;
    if (cli_key_store_form(run->config.stream.form, run->filter, err) != TAMIS_OK ||
        cli_server_resize_begin(&run->resize, run->filter, output, wait, err) != TAMIS_OK)
        return err->status;
    if (run->config.stream.quiet)
        return TAMIS_OK;
    snprintf(message, sizeof message,
             "%s: keys of adds that begin from now on are kept; the input must contain the keys of all adds "
             "before",
             cli_server_show(output, shown));
    cli_report(message);
    return TAMIS_OK;
}

static tamis_status fill_filter(build_run *run, tamis_error *err) {
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;

    if (run->buffer)
        return build_buffer_flush(run->buffer, run->filter, err);
    cli_filter_set_service(&service, run->filter);
    return read_all(run, &service, err);
}

/* True if a larger filter would take the record that did not fit. In kind cuckoo the copies of records that
 * come often crowd their buckets, and a larger one spreads them. */
static bool is_too_small(const tamis_filter_info *info) {
    return info->full == TAMIS_FULL_CAPACITY ||
           (info->full == TAMIS_FULL_CROWDED && info->kind == TAMIS_KIND_CUCKOO);
}

/* Makes the filter and fills it, again if it was too small. If its keys were counted (`counted`), the next
 * one is larger. Otherwise, if the user chose no kind and this one cannot grow, the next one grows. */
static tamis_status create_and_fill(build_run *run, bool counted, tamis_error *err) {
    tamis_plan_options *plan_options = &run->config.filter.plan_options;

    for (;;) {
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        tamis_status status = create(run, err);
        if (status == TAMIS_OK)
            status = begin_resize(run, err);
        if (status == TAMIS_OK)
            status = fill_filter(run, err);
        if (status != TAMIS_E_FULL || cli_filter_grows_by_parts(&run->config.filter) ||
            plan_options->expect > TAMIS_EXPECT_MAX / 2 ||
            tamis_filter_info_get(run->filter, &info, NULL) != TAMIS_OK || !is_too_small(&info))
            return status;
        if (counted)
            plan_options->expect *= 2;
        else if (plan_options->kind == TAMIS_KIND_AUTO && build_inputs_are_files(&run->config.stream))
            (void)cli_filter_prefer_growth(&run->config.filter);
        if (!counted && (plan_options->kind != TAMIS_KIND_FINGERPRINT || info.kind == TAMIS_KIND_FINGERPRINT))
            return status;
        run->is_read_twice = true;
    }
}

/* ---- reading once ---- */

static tamis_status buffer_and_fill(build_run *run, tamis_error *err) {
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    cli_filter_spec *spec = &run->config.filter;

    if (build_buffer_create(&run->buffer, spec, run->keyed ? &run->secret : NULL, err) != TAMIS_OK)
        return err->status;
    service.context = run->buffer;
    service.query = build_buffer_add;
    const tamis_status status = read_all(run, &service, err);
    run->filter = build_buffer_detach_filter(run->buffer);
    if (status != TAMIS_OK || run->filter)
        return status;
    set_counted(run, build_buffer_count(run->buffer) + 1); /* 0 would mean unknown */
    run->is_fixed = !cli_filter_prefer_growth(spec);
    return create_and_fill(run, true, err);
}

static tamis_status count_and_fill(build_run *run, tamis_error *err) {
    const cli_stream *stream = &run->config.stream;
    cli_filter_spec *filter = &run->config.filter;
    const bool counted = filter->plan_options.expect == 0, are_files = build_inputs_are_files(stream);
    struct stat *before = NULL;
    tamis_status status = TAMIS_OK;

    run->expected = cli_filter_fit_inputs(filter, stream, true);
    if (!are_files)
        (void)cli_filter_prefer_growth(filter);
    if (counted && !are_files)
        return buffer_and_fill(run, err);
    if (are_files && build_inputs_note(&before, stream, err) != TAMIS_OK)
        return err->status;
    run->is_read_twice = counted;
    if (counted)
        status = count_keys(run, err);
    if (status == TAMIS_OK && counted)
        run->is_fixed = !cli_filter_prefer_growth(filter);
    if (status == TAMIS_OK)
        status = create_and_fill(run, counted, err);
    if (status == TAMIS_E_MEMORY_LIMIT && counted)
        cli_remedy(err, "allow that much, or give a larger --fpr: the records were counted");
    if (status == TAMIS_OK && run->is_read_twice && build_inputs_check(before, stream, err) != TAMIS_OK)
        status = err->status;
    free(before);
    return status;
}

/* ---- the run ---- */

/* Applies the labels to a filter of one key, so that the library refuses bad ones before the input is
 * read. */
static tamis_status try_labels(const build_config *config, tamis_error *err) {
    cli_filter_spec single = {.plan_options = TAMIS_PLAN_OPTIONS_INIT};
    tamis_filter *filter = NULL;

    single.plan_options.expect = 1;
    if (cli_filter_create(&filter, &single, NULL, err) != TAMIS_OK)
        return err->status;
    const tamis_status status = cli_metadata_apply(&config->metadata, filter, err);
    tamis_filter_free(filter);
    return status;
}

static tamis_status end_resize(build_run *run, const tamis_filter *filter, tamis_error *err) {
    tamis_redis_resize *resize = run->resize;

    run->resize = NULL;
    return tamis_redis_resize_end(resize, filter, err);
}

static tamis_status save(build_run *run, tamis_error *err) {
    const build_config *config = &run->config;

    if (cli_metadata_apply(&config->metadata, run->filter, err) != TAMIS_OK ||
        cli_key_store_form(config->stream.form, run->filter, err) != TAMIS_OK)
        return err->status;
    if (run->resize)
        return end_resize(run, run->filter, err);
    if (cli_server_is_uri(config->output))
        return cli_server_push(run->filter, config->output,
                               cli_lock_wait_of(&config->values[CLI_OPT_LOCK_WAIT]), err);
    return cli_file_save(run->filter, config->output, config->format, config->compression, err);
}

static void report_fixed(const build_run *run) {
    const tamis_kind kind = tamis_filter_plan(run->filter)->kind;
    char message[400];

    if (!run->is_fixed || !tamis_kind_is_bloom(kind))
        return;
    snprintf(
        message, sizeof message,
        "%.200s: kind %s, which takes no more records: --memory is too little for kind fingerprint, which "
        "grows; allow more, or give a larger --fpr",
        run->config.output, tamis_kind_name(kind));
    cli_report(message);
}

static tamis_status build(build_run *run, tamis_error *err) {
    const double start = cli_progress_now();
    char shown[CLI_SERVER_SHOWN];

    run->summary.into = run->config.output;
    tamis_status status = count_and_fill(run, err);
    if (status == TAMIS_OK)
        status = save(run, err);
    else if (status == TAMIS_E_FULL)
        cli_filter_full(run->filter, run->config.output, run->summary.stats.records + 1,
                        "give a larger --expect, or more --memory", err);
    run->summary.seconds = cli_progress_now() - start;
    if (status == TAMIS_OK && !run->config.stream.quiet && !run->config.stream.json) {
        cli_filter_report_rate(run->filter);
        report_fixed(run);
        cli_metadata_report_lost(run->filter, run->config.output, run->config.format);
    }
    if (status == TAMIS_OK && !run->config.stream.quiet && run->config.filter.server)
        cli_filter_report_overfull(run->filter, cli_server_show(run->config.output, shown),
                                   "give a larger expect in the URI");
    return cli_summary_conclude(&run->summary, &run->config.stream, run->filter, status, err);
}

/* Reads the secret. Refuses an output that would overwrite the file of the secret. */
static tamis_status read_secret(build_run *run, tamis_error *err) {
    const char *secret_file = run->config.filter.secret_file;

    if (!secret_file)
        return TAMIS_OK;
    const tamis_status status = cli_secret_read(&run->secret, secret_file, run->stop_fd, err);
    if (status != TAMIS_OK)
        return status;
    run->keyed = true;
    if (!cli_secret_is_in(&run->secret, run->config.output))
        return TAMIS_OK;
    return cli_fail(err, "--secret-file '%.300s': is the file of --output too; write to another file",
                    secret_file);
}

/* Locks the output before the input is read, so that an output that cannot be written fails at once. */
static tamis_status build_locked(build_run *run, tamis_error *err) {
    tamis_lock *lock = NULL;

    tamis_status status = cli_file_lock(&lock, run->config.output,
                                        cli_lock_wait_of(&run->config.values[CLI_OPT_LOCK_WAIT]), err);
    if (status != TAMIS_OK)
        return status;
    status = build(run, err);
    tamis_file_unlock(lock);
    return status;
}

static tamis_status run_build(const cli_args *args, bool *negative, tamis_error *err) {
    build_run *run = calloc(1, sizeof *run);

    (void)negative;
    if (!run)
        return cli_fail_nomem("build", err);
    run->summary = (cli_summary)CLI_SUMMARY_INIT;
    run->summary.fields = &fields;
    run->start = lseek(STDIN_FILENO, 0, SEEK_CUR);
    tamis_status status = build_configure(&run->config, args, err);
    if (status == TAMIS_OK)
        status = try_labels(&run->config, err);
    if (status == TAMIS_OK)
        status = cli_signals_begin(&run->stop_fd, err);
    if (status == TAMIS_OK)
        status = read_secret(run, err);
    if (status == TAMIS_OK)
        status = build_locked(run, err);
    (void)end_resize(run, NULL, NULL);
    build_buffer_free(run->buffer);
    tamis_filter_free(run->filter);
    cli_secret_forget(&run->secret);
    build_config_release(&run->config);
    free(run);
    return status;
}

const cli_command cmd_build = {
    .name = "build",
    .summary = "build a filter from records and save it in a file",
    .operands = "[FILE...]",
    .manual = &cli_manual_build,
    .options = build_options,
    .conflicts = build_conflicts,
    .fields = CLI_FIELDS(fields),
    .run = run_build,
};
