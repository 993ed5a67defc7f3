/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Streams of records for all commands that read some.
 *
 *     options --> cli_stream_configure --> cli_stream --> cli_stream_run --> tamis_stream_run of the library
 *
 * This file checks what options mean together, names inputs in messages, and shows progress. How records are
 * read, and their order, is the library's (tamis/experimental/stream.h).
 */
#include "cli/input/cli_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/core/cli_number.h"
#include "cli/core/cli_rows.h"
#include "cli/core/cli_text.h"
#include "cli/input/cli_typed.h"
#include "cli/process/cli_progress.h"

enum { LEVEL_MAX = 22 }; /* highest level of zstd; the library refuses levels that a format does not have */

static tamis_status check_names(char **inputs, size_t count, tamis_error *err) {
    for (size_t i = 0; i < count; i++)
        if (*inputs[i] == '\0')
            return cli_fail(err, "'': an empty name; name a file, or give - for standard input");
    return TAMIS_OK;
}

static tamis_status configure_inputs(cli_stream *stream, const cli_stream_given *given, tamis_error *err) {
    const cli_value *list = &given->values[CLI_OPT_FILES_FROM];

    if (check_names(given->inputs, given->input_count, err) != TAMIS_OK)
        return err->status;
    stream->inputs = (const char *const *)given->inputs;
    stream->input_count = given->input_count;
    if (list->given) {
        if (cli_names_read(&stream->names, list, given->inputs, given->input_count, err) != TAMIS_OK)
            return err->status;
        stream->inputs = stream->names.paths;
        stream->input_count = stream->names.count;
        if (given->prints && cli_stream_keep_list(stream, "-", err) != TAMIS_OK)
            return err->status;
    }
    if (!stream->stats)
        return TAMIS_OK;
    stream->input_stats = calloc(cli_stream_inputs(stream), sizeof *stream->input_stats);
    return stream->input_stats ? TAMIS_OK : cli_fail_nomem("--stats", err);
}

/* Finds the compression that `text` names before a colon; -1 if there is none. *level is the text after the
 * colon, or NULL. */
static int find_compression(const char *text, const char **level) {
    const char *colon = strchr(text, ':');
    const size_t size = colon ? (size_t)(colon - text) : strlen(text);

    *level = colon ? colon + 1 : NULL;
    for (int i = 0; cli_compressions[i]; i++)
        if (strlen(cli_compressions[i]) == size && memcmp(text, cli_compressions[i], size) == 0)
            return i;
    return -1;
}

/* Refuses --missing and --on-error without --key: then every record has a key and none is malformed. A record
 * whose time is needed (`timed`) may be malformed. */
static tamis_status check_policies(const cli_value *values, bool timed, tamis_error *err) {
    const char *needless = values[CLI_OPT_MISSING].given              ? "missing"
                           : values[CLI_OPT_ON_ERROR].given && !timed ? "on-error"
                                                                      : NULL;

    if (!needless || values[CLI_OPT_KEY].given)
        return TAMIS_OK;
    return cli_fail(err, "--%s: every line has a key; give --key PART, or leave it out", needless);
}

static tamis_status configure_compression(cli_stream *stream, const cli_stream_given *given,
                                          tamis_error *err) {
    const cli_value *compress = &given->values[CLI_OPT_COMPRESS];
    const char *level;
    uint64_t number = 0;

    stream->compression = -1;
    if (!compress->given)
        return TAMIS_OK;
    stream->compression = find_compression(compress->text, &level);
    if (stream->compression < 0)
        return cli_fail(err,
                        "--compress '%.60s': not one of its values; give gzip, zstd, lz4, xz, bzip2 or none",
                        compress->text);
    if (!tamis_compression_is_built((tamis_compression)stream->compression))
        return cli_fail(err, "--compress '%.60s': this tamis was built without it; give another",
                        compress->text);
    if (given->prints && stream->compression != TAMIS_COMPRESSION_NONE && isatty(STDOUT_FILENO) == 1)
        return cli_fail(err,
                        "--compress '%.60s': standard output is a terminal, which shows no compressed bytes; "
                        "redirect it, or leave --compress out",
                        compress->text);
    if (!level)
        return TAMIS_OK;
    if (stream->compression == TAMIS_COMPRESSION_NONE || cli_number_count(level, &number) != CLI_NUMBER_OK ||
        number > LEVEL_MAX)
        return cli_fail(
            err,
            "--compress '%.60s': has no such level; give one, as zstd:19, of gzip and bzip2 1 to 9, "
            "of zstd 1 to 22, of lz4 1 to 12, of xz 0 to 9, or leave it out",
            compress->text);
    stream->compression_level = number == 0 ? TAMIS_COMPRESSION_LEVEL_0 : (int)number;
    return TAMIS_OK;
}

static void configure_report(cli_stream *stream, const cli_value *values, bool prints) {
    const bool terminal = isatty(STDERR_FILENO) == 1;

    stream->json = values[CLI_OPT_JSON].given;
    stream->stats = values[CLI_OPT_STATS].given || stream->json;
    stream->quiet = values[CLI_OPT_QUIET].given;
    /* By default progress is shown on a terminal, unless records are printed on the same terminal. */
    stream->progress_bar = terminal;
    stream->progress = terminal && !stream->quiet && !(prints && isatty(STDOUT_FILENO) == 1);
    if (values[CLI_OPT_PROGRESS].given)
        stream->progress = true;
    if (values[CLI_OPT_NO_PROGRESS].given)
        stream->progress = false;
}

static bool is_bytes(cli_key_form form) {
    return form.type == CLI_KEY_BYTES && !form.hex;
}

static bool joins_parts(const cli_stream *stream) {
    return stream->extract.extractor && tamis_extractor_joins(stream->extract.extractor);
}

/* True if records have a syntax (CSV, JSON). They may then be malformed whatever the key type, and --on-error
 * applies. */
static bool has_syntax(const cli_stream *stream) {
    const tamis_extractor *extractor = stream->extract.extractor;

    return extractor && (tamis_extractor_is_csv(extractor) || tamis_extractor_is_json(extractor));
}

tamis_status cli_stream_check_form(const cli_stream *stream, tamis_error *err) {
    char option[40] = "--hex";

    if (is_bytes(stream->form))
        return TAMIS_OK;
    if (!stream->form.hex)
        snprintf(option, sizeof option, "--type %s", cli_key_types[stream->form.type]);
    if (joins_parts(stream))
        return cli_fail(err,
                        "%s: contradicts --key of several parts, which are joined as bytes; give one part, "
                        "or leave it out",
                        option);
    if (stream->malformed != TAMIS_STREAM_FAIL && !has_syntax(stream))
        return cli_fail(
            err,
            "--on-error %s: contradicts %s: a text that is not such a key ends the run; leave one "
            "of them out",
            stream->malformed == TAMIS_STREAM_DROP ? "skip" : "pass", option);
    return TAMIS_OK;
}

/* Checks the key type again before a run, because a filter may have set it. */
static tamis_status check_key_type(const cli_stream *stream, tamis_error *err) {
    if (is_bytes(stream->form) || !joins_parts(stream))
        return TAMIS_OK;
    cli_fail(err,
             "--key: several parts are joined as bytes, and the keys of the filter are of type %s; give one "
             "part, or name another filter",
             cli_key_types[stream->form.type]);
    return err->status;
}

tamis_status cli_stream_configure(cli_stream *stream, const cli_stream_given *given, tamis_error *err) {
    static const tamis_stream_policy malformed[] = {[CLI_ON_ERROR_FAIL] = TAMIS_STREAM_FAIL,
                                                    [CLI_ON_ERROR_SKIP] = TAMIS_STREAM_DROP,
                                                    [CLI_ON_ERROR_PASS] = TAMIS_STREAM_PASS};
    const cli_value *values = given->values;

    memset(stream, 0, sizeof *stream);
    stream->terminator = values[CLI_OPT_ZERO_TERMINATED].given ? 0 : '\n';
    stream->max_record = values[CLI_OPT_MAX_RECORD].number;
    stream->threads = given->threads ? (uint32_t)values[CLI_OPT_THREADS].number : 1;
    stream->header = values[CLI_OPT_HEADER].given;
    stream->missing = (tamis_stream_policy)values[CLI_OPT_MISSING].number;
    stream->missing_given = values[CLI_OPT_MISSING].given;
    stream->malformed = malformed[values[CLI_OPT_ON_ERROR].number];
    if (given->reports)
        configure_report(stream, values, given->prints);
    if (check_policies(values, given->others.time || given->others.source, err) != TAMIS_OK ||
        configure_inputs(stream, given, err) != TAMIS_OK ||
        configure_compression(stream, given, err) != TAMIS_OK ||
        cli_extract_configure(&stream->extract, values, &given->others, stream->terminator, err) != TAMIS_OK)
        return err->status;
    if (cli_key_configure(&stream->form, &values[CLI_OPT_TYPE], &values[CLI_OPT_HEX], err) != TAMIS_OK)
        return err->status;
    stream->form.normalization = stream->form.normalization_given =
        cli_extract_normalization(&stream->extract);
    return cli_stream_check_form(stream, err);
}

tamis_status cli_stream_apply_filter(cli_stream *stream, const tamis_filter *filter, const char *path,
                                     bool grows, tamis_error *err) {
    if (cli_key_apply_filter(&stream->form, filter, path, grows, err) != TAMIS_OK)
        return err->status;
    return cli_extract_apply_normalization(&stream->extract, stream->form.normalization, err);
}

void cli_stream_release(cli_stream *stream) {
    cli_extract_release(&stream->extract);
    cli_names_release(&stream->names);
    free(stream->input_stats);
    stream->input_stats = NULL;
}

int cli_stream_line_end(const cli_stream *stream) {
    return stream->extract.has_parts ? -1 : stream->terminator;
}

static void store_input_stats(void *context, size_t index, const tamis_stream_stats *stats) {
    ((tamis_stream_stats *)context)[index] = *stats;
}

/* True if the output cannot be taken back: standard output, a FIFO or a device. */
static bool is_direct(const char *output) {
    struct stat file;

    return strcmp(output, "-") == 0 || (stat(output, &file) == 0 && !S_ISREG(file.st_mode));
}

/* What a record lacks if it lacks what the options look for. */
static const char *options_to_correct(const tamis_error *first) {
    const char *text = first ? first->text : "";

    if (strstr(text, "time"))
        return "--time";
    if (strstr(text, "source") || strstr(text, "position"))
        return "--source, --position";
    return "the records, or the options that say what they are";
}

static tamis_status fail_no_keys(const cli_stream *stream, const tamis_stream_options *options,
                                 const tamis_stream_stats *stats, tamis_error *err) {
    const tamis_extractor_options *key = &stream->extract.options;
    const bool passed = options->output && is_direct(options->output);
    char records[CLI_TEXT_NUMBER], others[40] = "";

    if (stats->missing == 0) {
        cli_fail(err, "none of %s could be used; the first one: %.300s; correct %s%s",
                 cli_text_records(records, sizeof records, stats->records),
                 options->first_malformed ? options->first_malformed->text : "",
                 options_to_correct(options->first_malformed),
                 passed && stream->malformed == TAMIS_STREAM_PASS ? ". They were passed on" : "");
        return err->status;
    }
    if (key->part_count > 1)
        snprintf(others, sizeof others, " and %zu more", key->part_count - 1);
    cli_fail(err,
             "--key '%.200s'%s: none of %s has a key%s; correct --key, or allow that by --missing pass or "
             "drop",
             key->parts[0], others, cli_text_records(records, sizeof records, stats->records),
             passed ? ", and they were passed on" : "");
    return err->status;
}

/* A run whose progress is reported, and the receivers of the reports. */
typedef struct reported_run {
    const cli_stream *stream;
    const tamis_stream_options *options;
    cli_progress *progress;                 /* NULL: not shown */
    cli_metrics *metrics;                   /* NULL: not wanted */
    bool reported_malformed, reported_late; /* a record of that sort was reported */
} reported_run;

/* A follower may run for months, so it reports the first record that it leaves out, or passes on without a
 * lookup, when it comes. The others are counted. */
static void report_first(reported_run *run, const tamis_stream_stats *now) {
    static const char *const done[] = {[TAMIS_STREAM_PASS] = "passed on", [TAMIS_STREAM_DROP] = "skipped"};
    const tamis_stream_stats *before = run->stream->before;
    const tamis_error *first = run->options->first_malformed;
    char message[700];

    if (now->malformed > 0 && first && first->status != TAMIS_OK && !run->reported_malformed) {
        run->reported_malformed = true;
        snprintf(message, sizeof message, "%.500s; it was %s, and so are later malformed ones", first->text,
                 done[run->stream->malformed]);
        cli_report(message);
    }
    if (now->late > (before ? before->late : 0) && !run->reported_late) {
        run->reported_late = true;
        snprintf(message, sizeof message,
                 "a record is older than --lateness allows; it was %s, and so are later ones; see "
                 "--lateness, --late",
                 run->options->late == TAMIS_STREAM_PASS ? "passed on" : "dropped");
        cli_report(message);
    }
}

static void report_progress(void *context, const tamis_stream_stats *now) {
    reported_run *run = context;

    if (run->options->follow && !run->stream->quiet && !run->stream->json)
        report_first(run, now);
    if (run->progress)
        cli_progress_step(run->progress, now);
    if (run->metrics)
        cli_metrics_update(run->metrics, now);
}

static void observe(void *context) {
    const reported_run *run = context;

    cli_metrics_observe(run->metrics);
}

tamis_status cli_stream_run(const cli_stream *stream, const tamis_stream_service *service,
                            tamis_stream_options *options, tamis_stream_stats *stats, tamis_error *err) {
    cli_progress progress;
    reported_run run = {.stream = stream,
                        .options = options,
                        .progress = stream->progress ? &progress : NULL,
                        .metrics = stream->metrics};
    cli_typed typed;

    options->terminator = stream->terminator;
    options->inputs = stream->inputs;
    options->input_count = stream->input_count;
    options->max_record = stream->max_record;
    options->extractor = stream->extract.extractor;
    options->header = stream->header;
    options->missing = stream->missing;
    options->malformed = stream->malformed;
    options->compression = stream->compression;
    options->compression_level = stream->compression_level;
    options->threads = stream->threads;
    if (stream->input_stats) {
        memset(stream->input_stats, 0, cli_stream_inputs(stream) * sizeof *stream->input_stats);
        options->input_end = store_input_stats;
        options->input_end_context = stream->input_stats;
    }
    tamis_status status = check_key_type(stream, err);
    if (status != TAMIS_OK)
        return status;
    if (cli_typed_begin(&typed, stream->form, service, err) != TAMIS_OK)
        return err->status;
    cli_progress_begin(&progress, STDERR_FILENO, stream->progress_bar);
    if (run.progress || run.metrics || options->follow)
        options->progress = report_progress;
    if (run.metrics)
        options->observe = observe;
    options->progress_context = &run;
    options->require_keys =
        stream->extract.has_parts && !stream->missing_given && stream->missing != TAMIS_STREAM_FAIL;
    status = tamis_stream_run(&typed.service, options, stats, stream->result, err);
    cli_progress_end(&progress);
    cli_typed_end(&typed);
    return status == TAMIS_E_NO_KEY && options->require_keys ? fail_no_keys(stream, options, stats, err)
                                                             : status;
}

void cli_stream_advise(tamis_status status, tamis_error *err) {
    const size_t used = strlen(err->text);

    if (status == TAMIS_E_TOO_LONG)
        cli_remedy(err, "give a larger --max-record, or check what ends the records");
    if (status == TAMIS_E_NO_KEY || status == TAMIS_E_RECORD)
        snprintf(err->text + used, sizeof err->text - used, "; correct it, or give %s",
                 status == TAMIS_E_NO_KEY ? "--missing pass or drop" : "--on-error skip or pass");
}

uint64_t cli_stream_passed(const cli_stream *stream, const tamis_stream_stats *stats) {
    return (stream->missing == TAMIS_STREAM_PASS ? stats->missing : 0) +
           (stream->malformed == TAMIS_STREAM_PASS ? stats->malformed : 0);
}

/* True if `input` ("-": standard input) is the regular file of `st`. */
static bool is_file(const char *input, const struct stat *st) {
    struct stat file;

    if ((strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &file) : stat(input, &file)) != 0)
        return false; /* opening it later reports the error */
    return S_ISREG(file.st_mode) && file.st_dev == st->st_dev && file.st_ino == st->st_ino;
}

tamis_status cli_stream_keep_list(const cli_stream *stream, const char *path, tamis_error *err) {
    const bool prints = strcmp(path, "-") == 0;

    if (!cli_names_are_in(&stream->names, path))
        return TAMIS_OK;
    return cli_fail(err, "%.300s: is the list of --files-from and an output; write to another file",
                    prints ? "standard output" : path);
}

tamis_status cli_stream_keep_apart(const cli_stream *stream, const char *path, const char *what,
                                   tamis_error *err) {
    struct stat st;

    if (stat(path, &st) != 0)
        return TAMIS_OK; /* the file does not exist yet */
    if (cli_names_are_in(&stream->names, path))
        return cli_fail(err, "%.300s: is %s and the list of --files-from; name another file", path, what);
    bool same = stream->input_count == 0 && is_file("-", &st);
    for (size_t i = 0; i < stream->input_count; i++)
        same = same || is_file(stream->inputs[i], &st);
    if (!same)
        return TAMIS_OK;
    return cli_fail(err, "%.300s: is %s and an input; name another file", path, what);
}
