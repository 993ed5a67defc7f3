/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cli_progress.h"
#include "cli/cli_secret.h"
#include "cli/cli_signal.h"
#include "cli/cli_text.h"
#include "cli/cli_want.h"
#include "cli/dedup_config.h"
#include "cli/dedup_report.h"

typedef struct dedup_run {
    tamis_filter *filter;
    tamis_dedup *session;
    dedup_report report;
} dedup_run;

/* Refused before anything is created: who overwrites the secret loses it. */
static int check_secret_kept(const cli_secret *secret, const dedup_config *config, tamis_error *err) {
    const struct {
        const char *path, *name; /* NULL: nowhere */
    } outputs[] = {{config->output, "the file of --output"},
                   {config->duplicates, "the file of --duplicates"},
                   {config->count ? "-" : NULL, ""}};

    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        const char *path = outputs[i].path;
        if (path == NULL || !cli_secret_is_in(secret, path))
            continue;
        return cli_fail(err, "--secret-file '%.300s': is %s too; write to another file", config->secret_file,
                        strcmp(path, "-") == 0 ? "standard output" : outputs[i].name);
    }
    return CLI_DONE;
}

/* CLI_DONE, CLI_FAILED or the status of a run that a signal ended. */
static int create_filter(dedup_run *run, const dedup_config *config, int stop_fd, tamis_error *err) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
    cli_secret secret;
    int code = CLI_DONE;

    if (tamis_plan_make(&plan, &config->want, err) != TAMIS_OK) {
        cli_want_name_memory(&config->memory, err);
        return CLI_FAILED;
    }
    filter_options.seed = config->seed;
    if (config->secret_file != NULL) {
        code = cli_secret_read(&secret, config->secret_file, stop_fd, err);
        if (code != CLI_DONE)
            return code;
        code = check_secret_kept(&secret, config, err);
        filter_options.secret = secret.bytes;
        filter_options.secret_size = secret.size;
    }
    if (code == CLI_DONE && tamis_filter_create(&run->filter, &plan, &filter_options, err) != TAMIS_OK)
        code = CLI_FAILED;
    if (config->secret_file != NULL)
        cli_secret_forget(&secret);
    return code;
}

static int open_run(dedup_run *run, const dedup_config *config, int stop_fd, tamis_error *err) {
    tamis_dedup_options session_options = TAMIS_DEDUP_OPTIONS_INIT;
    int code = create_filter(run, config, stop_fd, err);

    if (code != CLI_DONE)
        return code;
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

/* The library knows why it is full; which option helps is known here. */
static int fail_full(const dedup_run *run, const dedup_config *config, tamis_error *err) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    char record[CLI_TEXT_NUMBER], size[CLI_TEXT_NUMBER];

    if (tamis_filter_info_get(run->filter, &info, NULL) != TAMIS_OK)
        return CLI_FAILED; /* the library's own sentence stands in *err */
    cli_text_count(record, sizeof record, run->report.stats.records + 1);
    switch (info.full) {
    case TAMIS_FULL_CAPACITY:
        return cli_fail(err,
                        "filter: full with the %s it was made for, and record %s is another; give a larger "
                        "--expect, or --when-full pass to print what finds no room",
                        cli_text_records(size, sizeof size, info.capacity), record);
    case TAMIS_FULL_MEMORY:
        return cli_fail(
            err,
            "filter: full, record %s would make it grow beyond --memory %s; give more --memory, a larger "
            "--fpr, or --when-full pass to print what finds no room",
            record, cli_text_bytes(size, sizeof size, config->want.memory));
    /* Any other reason is rare and the library's sentence the best there is: it needs the option only. */
    case TAMIS_FULL_CROWDED:
        cli_remedy(err, "give --secret-file, so that nobody can choose hashes, or --when-full pass");
        return CLI_FAILED;
    default:
        cli_remedy(err, "give another --fpr, --exact, or --when-full pass");
        return CLI_FAILED;
    }
}

/* What was passed on is no secret, but --json promises nothing but an object. */
static void tell_unknown(const dedup_run *run, const dedup_config *config) {
    uint64_t unknown = run->report.stats.unknown;
    char count[CLI_TEXT_NUMBER], sentence[200];

    if (unknown == 0 || config->quiet || config->json)
        return;
    snprintf(sentence, sizeof sentence,
             "filter: full, so %s %s passed on without being remembered%s; give a larger --expect or more "
             "--memory",
             cli_text_records(count, sizeof count, unknown), unknown == 1 ? "was" : "were",
             config->count ? ", and counted each time" : "");
    cli_report(sentence);
}

/* The summary, if one was asked for. A first error in *err is kept. */
static int summarize(dedup_run *run, const dedup_config *config, tamis_error *err) {
    dedup_report *report = &run->report;
    char why[80];

    if (!config->stats)
        return CLI_DONE;
    if (tamis_filter_info_get(run->filter, &report->info, report->failed ? NULL : err) != TAMIS_OK)
        return CLI_FAILED;
    report->plan = tamis_filter_plan(run->filter);
    report->scheme = tamis_hasher_scheme(tamis_filter_hasher(run->filter));
    errno = 0;
    if (config->json)
        dedup_report_json(stderr, report);
    else
        dedup_report_text(stderr, report);
    if (fflush(stderr) == 0 && !ferror(stderr))
        return CLI_DONE;
    if (!report->failed)
        cli_fail(err, "standard error: the summary cannot be written: %s; redirect it to a file",
                 errno != 0 ? cli_errno_text(why, sizeof why, errno) : "not all was taken");
    return CLI_FAILED;
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

/* Says in *err what the library knows, with what helps here. */
static int fail(const dedup_run *run, const dedup_config *config, tamis_status status, tamis_error *err) {
    if (status == TAMIS_E_FULL)
        return fail_full(run, config, err);
    if (status == TAMIS_E_TOO_LONG)
        cli_remedy(err, "give a larger --max-record, or check which byte ends the records");
    return CLI_FAILED;
}

static int conclude(dedup_run *run, const dedup_config *config, tamis_status status, tamis_error *err) {
    dedup_report *report = &run->report;
    int code = CLI_DONE;

    if (status == TAMIS_E_PIPE)
        return CLI_PIPE_GONE;
    report->interrupted = status == TAMIS_E_INTERRUPTED;
    report->failed = status != TAMIS_OK && !report->interrupted;
    if (report->failed) {
        code = fail(run, config, status, err);
        if (report->stats.records == 0)
            return code; /* it has not begun */
    } else {
        if (config->count)
            printf("%" PRIu64 "\n", report->stats.unique + report->stats.unknown);
        tell_unknown(run, config);
    }
    if (summarize(run, config, err) != CLI_DONE)
        code = CLI_FAILED;
    if (!report->interrupted)
        return code;
    if (err->sys_errno != 0 && code == CLI_DONE)
        cli_report(err->text); /* the last records found no reader */
    tell_removed(config->output);
    tell_removed(config->duplicates);
    return code == CLI_DONE ? cli_signals_code() : code;
}

static int run_dedup(const cli_args *args, tamis_error *err) {
    dedup_config config;
    dedup_run run = {
        NULL,
        NULL,
        {TAMIS_STREAM_STATS_INIT, TAMIS_FILTER_INFO_INIT, NULL, TAMIS_SCHEME_AUTO, 0, false, false}};
    double begun = cli_progress_now();
    int code, stop_fd = -1;

    if (dedup_configure(&config, args, err) != CLI_DONE)
        return CLI_FAILED;
    if (cli_signals_begin(&stop_fd, err) != CLI_DONE)
        return CLI_FAILED;
    code = open_run(&run, &config, stop_fd, err);
    if (code == CLI_DONE) {
        tamis_status status = stream(&run, &config, stop_fd, err);
        run.report.seconds = cli_progress_now() - begun;
        code = conclude(&run, &config, status, err);
    }
    tamis_dedup_close(run.session);
    tamis_filter_free(run.filter);
    return code;
}

const cli_command cmd_dedup = {
    .name = "dedup",
    .summary = "print each record the first time it is seen",
    .operands = "[FILE...]",
    .description = dedup_description,
    .options = dedup_options,
    .option_count = DEDUP_OPTIONS,
    .conflicts = dedup_conflicts,
    .conflict_count = DEDUP_CONFLICTS,
    .exits = dedup_exits,
    .examples = dedup_examples,
    .json_about = "The summary of --json is one object on a line of standard error:",
    .json = dedup_json,
    .files = dedup_files,
    .notes = dedup_notes,
    .run = run_dedup,
};
