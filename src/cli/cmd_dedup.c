/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cli_progress.h"
#include "cli/cli_secret.h"
#include "cli/cli_signal.h"
#include "cli/cli_text.h"
#include "cli/dedup_config.h"
#include "cli/dedup_report.h"

typedef struct dedup_run {
    tamis_filter *filter;
    tamis_dedup *session;
    dedup_report report;
} dedup_run;

static int create_filter(dedup_run *run, const dedup_config *config, tamis_error *err) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
    cli_secret secret;
    tamis_status status;

    if (tamis_plan_make(&plan, &config->want, err) != TAMIS_OK)
        return CLI_FAILED;
    filter_options.seed = config->seed;
    if (config->secret_file != NULL) {
        if (cli_secret_read(&secret, config->secret_file, err) != CLI_DONE)
            return CLI_FAILED;
        filter_options.secret = secret.bytes;
        filter_options.secret_size = secret.size;
    }
    status = tamis_filter_create(&run->filter, &plan, &filter_options, err);
    if (config->secret_file != NULL)
        cli_secret_forget(&secret);
    return status == TAMIS_OK ? CLI_DONE : CLI_FAILED;
}

static int open_run(dedup_run *run, const dedup_config *config, tamis_error *err) {
    tamis_dedup_options session_options = TAMIS_DEDUP_OPTIONS_INIT;

    if (create_filter(run, config, err) != CLI_DONE)
        return CLI_FAILED;
    session_options.when_full = config->when_full;
    return tamis_dedup_open(&run->session, run->filter, &session_options, err) == TAMIS_OK ? CLI_DONE
                                                                                           : CLI_FAILED;
}

static tamis_status stream(dedup_run *run, const dedup_config *config, int stop_fd, tamis_error *err) {
    tamis_stream_options stream_options = TAMIS_STREAM_OPTIONS_INIT;
    cli_progress progress;
    tamis_status status;

    stream_options.terminator = config->terminator;
    stream_options.inputs = config->inputs;
    stream_options.input_count = config->input_count;
    stream_options.output = config->output;
    stream_options.duplicates = config->duplicates;
    stream_options.max_record = config->max_record;
    stream_options.stop_fd = stop_fd;
    cli_progress_begin(&progress, STDERR_FILENO, config->progress_bar);
    if (config->progress) {
        stream_options.progress = cli_progress_step;
        stream_options.progress_context = &progress;
    }
    status = tamis_stream_dedup(run->session, &stream_options, &run->report.stats, err);
    cli_progress_end(&progress);
    return status;
}

/* The library knows that it is full; which option helps is known here. */
static int fail_full(const dedup_run *run, const dedup_config *config, tamis_error *err) {
    char record[CLI_TEXT_NUMBER], size[CLI_TEXT_NUMBER];
    uint64_t capacity = tamis_filter_plan(run->filter)->capacity;

    cli_text_count(record, sizeof record, run->report.stats.records + 1);
    if (capacity > 0)
        return cli_fail(
            err,
            "filter: full with the %s records it was made for, and record %s is another; give a larger "
            "--expect, or --when-full pass to print what finds no room",
            cli_text_count(size, sizeof size, capacity), record);
    if (config->want.memory > 0)
        return cli_fail(
            err,
            "filter: full, record %s would make it grow beyond --memory %s; give more --memory, a larger "
            "--fpr, or --when-full pass to print what finds no room",
            record, cli_text_bytes(size, sizeof size, config->want.memory));
    return cli_fail(
        err,
        "filter: full at record %s; give a larger --fpr, --exact, or --when-full pass to print what "
        "finds no room",
        record);
}

static void summarize(dedup_run *run, const dedup_config *config) {
    char count[CLI_TEXT_NUMBER], sentence[200];
    dedup_report *report = &run->report;

    if (report->stats.unknown > 0 && !config->quiet && !config->json) {
        snprintf(sentence, sizeof sentence,
                 "filter: full, so %s records were passed on without being remembered; give a "
                 "larger --expect or more --memory",
                 cli_text_count(count, sizeof count, report->stats.unknown));
        cli_report(sentence);
    }
    if (!config->stats)
        return;
    tamis_filter_info_get(run->filter, &report->info);
    report->plan = tamis_filter_plan(run->filter);
    report->scheme = tamis_hasher_scheme(tamis_filter_hasher(run->filter));
    if (config->json)
        dedup_report_json(stderr, report);
    else
        dedup_report_text(stderr, report);
}

/* The stream has removed what it wrote beside a regular file: that deserves a word. */
static void tell_removed(const char *path) {
    struct stat file;
    char sentence[400];

    if (path == NULL || strcmp(path, "-") == 0)
        return;
    if (stat(path, &file) == 0 && !S_ISREG(file.st_mode))
        return;
    snprintf(sentence, sizeof sentence, "%.300s: interrupted, so nothing was written there; run again", path);
    cli_report(sentence);
}

static int conclude(dedup_run *run, const dedup_config *config, tamis_status status, tamis_error *err) {
    if (status == TAMIS_E_PIPE)
        return CLI_PIPE_GONE;
    if (status == TAMIS_E_FULL)
        return fail_full(run, config, err);
    if (status == TAMIS_E_TOO_LONG)
        cli_remedy(err, "give a larger --max-record, or check which byte ends the records");
    if (status != TAMIS_OK && status != TAMIS_E_INTERRUPTED)
        return CLI_FAILED;
    run->report.interrupted = status == TAMIS_E_INTERRUPTED;
    if (config->count)
        printf("%" PRIu64 "\n", run->report.stats.unique);
    summarize(run, config);
    if (status == TAMIS_OK)
        return CLI_DONE;
    tell_removed(config->output);
    tell_removed(config->duplicates);
    return 128 + (cli_signals_caught() != 0 ? cli_signals_caught() : SIGTERM);
}

static int run_dedup(const cli_args *args, tamis_error *err) {
    dedup_config config;
    dedup_run run = {
        NULL, NULL, {TAMIS_STREAM_STATS_INIT, TAMIS_FILTER_INFO_INIT, NULL, TAMIS_SCHEME_AUTO, 0, false}};
    double begun = cli_progress_now();
    int code, stop_fd = -1;

    if (dedup_configure(&config, args, err) != CLI_DONE)
        return CLI_FAILED;
    if (cli_signals_begin(&stop_fd, err) != CLI_DONE)
        return CLI_FAILED;
    code = open_run(&run, &config, err);
    if (code == CLI_DONE) {
        tamis_status status = stream(&run, &config, stop_fd, err);
        run.report.seconds = cli_progress_now() - begun;
        code = conclude(&run, &config, status, err);
    }
    tamis_dedup_close(run.session);
    tamis_filter_free(run.filter);
    return code;
}

static const char *const description[] = {
    "Print each record the first time it is seen, in input order, in a few bytes of memory a record.",
    "Records are the lines of the FILEs, read in order, or of standard input where no FILE or - is given. A "
    "record is "
    "its bytes without the terminator (a carriage return before the newline is part of it), of any length up "
    "to "
    "--max-record. A last line without a newline is a record too, and is written as it is unless another "
    "follows it.",
    "Nothing but fingerprints of the records is kept, so a new record may be taken for one seen before and "
    "dropped, "
    "with the chance that --fpr states: by default one in 1e9. A record that was seen is never printed "
    "again, unless "
    "--when-full pass is given and the filter is full. With --exact the chance is n/2^128.",
    "A record leaves as soon as it arrived: when input pauses, what was read is written, so tamis serves in "
    "the "
    "middle of a pipe. SIGINT, SIGTERM and SIGHUP end a run in order: the records in hand are written to "
    "standard "
    "output and the summary is printed; a file given to --output stays as it was.",
    "Sizes: K, M, G, T, P and E, alone or as KiB, are powers of 1024; KB and so on are powers of 1000. "
    "Counts: k, M, G "
    "and T are powers of 1000. Both may be written as 1e9 or 1.5G.",
    NULL};

static const char *const exits[] = {
    "0",   "All records were read and answered.",
    "2",   "Error: a bad option, a file that cannot be read or written, a full filter.",
    "130", "Ended in order on SIGINT (143 on SIGTERM, 129 on SIGHUP).",
    NULL};

static const cli_example examples[] = {
    {"tamis dedup clicks.log > unique.log", "Each line of clicks.log once."},
    {"cat a.log b.log | tamis dedup -o once.log --duplicates again.log --stats",
     "First occurrences in one file, the others in another, and a summary on standard error."},
    {"tamis dedup --expect 1e7 --fpr 1e-12 clicks.log > unique.log",
     "Room for ten million distinct lines from the start, and one wrong drop in 1e12."},
    {"find . -print0 | tamis dedup -z --count",
     "How many distinct records, each ended by a zero byte, there are."},
    {"head -c 32 /dev/urandom > secret; tamis dedup --secret-file secret clicks.log > unique.log",
     "With a keyed hash, for records that someone hostile may have written."},
    {NULL, NULL}};

const cli_command cmd_dedup = {
    .name = "dedup",
    .summary = "print each record the first time it is seen",
    .operands = "[FILE...]",
    .description = description,
    .options = dedup_options,
    .option_count = DEDUP_OPTIONS,
    .conflicts = dedup_conflicts,
    .conflict_count = DEDUP_CONFLICTS,
    .exits = exits,
    .examples = examples,
    .run = run_dedup,
};
