/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints each record the first time its key is seen. The library filters the stream
 * (tamis/experimental/stream.h). This file opens what remembers the keys, saves it, and reports. There are
 * three cases:
 *
 *     neither option    a filter in memory, forgotten at the end
 *     --filter FILE     lock FILE -> read or make the filter -> stream -> outputs complete -> save -> unlock
 *     --state DIR       open or make the state -> stream with commits -> finish its snapshot -> close
 *
 * Rules for --filter:
 * 1. The lock comes first. Otherwise another run could create FILE after this run found none, and its keys
 *    would be lost.
 * 2. The filter is saved only when all outputs are complete and on the disk. After a crash before the save,
 *    records are printed twice. That is better than losing them: a saved filter must not know records that
 *    are missing from the outputs.
 * 3. After a signal the same holds for all records answered until then.
 *
 * With --state, filter and outputs are committed together, so the next run continues after the last commit
 * (tamis/experimental/state.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd/dedup/dedup_command.h"
#include "cli/cmd/dedup/dedup_config.h"
#include "cli/cmd/dedup/dedup_state.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_file.h"
#include "cli/filter/cli_filter.h"
#include "cli/input/cli_summary.h"
#include "cli/process/cli_progress.h"
#include "cli/process/cli_secret.h"
#include "cli/process/cli_signal.h"

typedef struct dedup_run {
    tamis_lock *lock;              /* lock of the --filter file */
    dedup_positions positions;     /* target of --commits */
    tamis_state *state;            /* NULL: no --state */
    tamis_stream_result result;    /* of a run with --state */
    tamis_filter *filter;          /* filter in use; owned by `state` if there is one */
    tamis_compression compression; /* compression of the --filter file */
    bool opened;                   /* the --filter file existed before */
    bool saved;                    /* the --filter file was written */
    tamis_dedup *session;
    cli_metrics *metrics; /* target of --metrics; NULL: none */
    cli_summary summary;
    tamis_stream_profile profile;
} dedup_run;

/* Refuses an output that would overwrite the file of the secret. Nothing has been created yet. */
static tamis_status check_secret_kept(const cli_secret *secret, const dedup_config *config,
                                      tamis_error *err) {
    const struct {
        const char *path, *name; /* path NULL: not written */
    } outputs[] = {{config->output, "the file of --output"},
                   {config->duplicates, "the file of --duplicates"},
                   {config->filter_file, "the file of --filter"},
                   {config->count ? "-" : NULL, ""}};

    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        const char *path = outputs[i].path;
        if (!path || !cli_secret_is_in(secret, path))
            continue;
        return cli_fail(err, "--secret-file '%.300s': is %s too; write to another file",
                        config->filter.secret_file,
                        strcmp(path, "-") == 0 ? "standard output" : outputs[i].name);
    }
    return TAMIS_OK;
}

/* Opens the state, or the existing filter of --filter, or makes an empty filter. A --filter file stays locked
 * until it is saved. */
static tamis_status find_filter(dedup_run *run, const dedup_config *config, const cli_secret *secret,
                                tamis_error *err) {
    const char *path = config->filter_file;
    const bool remarks = !config->stream.quiet && !config->stream.json;
    cli_filter_spec spec = config->filter;
    tamis_status status = TAMIS_OK;

    if (config->state) {
        status = dedup_state_open(&run->state, config, secret, err);
        if (status != TAMIS_OK)
            return status;
        run->filter = tamis_state_filter(run->state);
        return TAMIS_OK;
    }
    if (path)
        status = cli_file_lock(&run->lock, path, config->lock_wait, err);
    if (status != TAMIS_OK)
        return status;
    run->opened = path && access(path, F_OK) == 0;
    if (run->opened) {
        const cli_filter_file file = {.path = path, .secret = secret, .access = CLI_CHANGE};
        if (cli_filter_open_locked(&run->filter, &file, &run->compression, err) != TAMIS_OK)
            return err->status;
        if (cli_same_check(run->filter, path, &config->filter, remarks, err) != TAMIS_OK)
            return err->status;
        return dedup_window_check(run->filter, path, config, err);
    }
    cli_filter_prefer_growth(&spec);
    if (!path ||
        spec.plan_options.kind != TAMIS_KIND_WINDOW) /* a window is for the inputs of later runs, too */
        (void)cli_filter_fit_inputs(&spec, &config->stream, false);
    if (cli_filter_create(&run->filter, &spec, secret, err) != TAMIS_OK)
        return err->status;
    if (remarks)
        cli_filter_report_rate(run->filter);
    return TAMIS_OK;
}

/* Reads the secret and finds the filter. */
static tamis_status create_filter(dedup_run *run, const dedup_config *config, int stop_fd, tamis_error *err) {
    const char *secret_file = config->filter.secret_file;
    cli_secret secret;

    if (!secret_file)
        return find_filter(run, config, NULL, err);
    tamis_status status = cli_secret_read(&secret, secret_file, stop_fd, err);
    if (status != TAMIS_OK)
        return status;
    status = check_secret_kept(&secret, config, err);
    if (status == TAMIS_OK)
        status = find_filter(run, config, &secret, err);
    cli_secret_forget(&secret);
    return status;
}

static tamis_status open_run(dedup_run *run, const dedup_config *config, int stop_fd, tamis_error *err) {
    tamis_dedup_options session_options = TAMIS_DEDUP_OPTIONS_INIT;
    const tamis_status status = create_filter(run, config, stop_fd, err);

    if (status != TAMIS_OK)
        return status;
    session_options.on_full = config->on_full;
    session_options.state = run->state;
    session_options.ahead = config->ahead;
    if (tamis_dedup_open(&run->session, run->filter, &session_options, err) == TAMIS_OK)
        return TAMIS_OK;
    if (run->opened && tamis_filter_can(run->filter, TAMIS_CAN_COUNT))
        cli_subject(err, "%.200s", config->filter_file);
    else if (run->opened && err->status == TAMIS_E_UNSUPPORTED)
        cli_subject(err, "%.200s: scheme %s", config->filter_file,
                    tamis_scheme_name(tamis_hasher_scheme(tamis_filter_hasher(run->filter))));
    return err->status;
}

/* Reports that records of the followed file may be lost. */
static void report_follow(void *context, const char *message) {
    (void)context;
    cli_report(message);
}

static tamis_status stream_records(dedup_run *run, const dedup_config *config, int stop_fd,
                                   tamis_error *err) {
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options stream_options = TAMIS_STREAM_OPTIONS_INIT;
    cli_stream records = config->stream;
    tamis_stream_commits commits = TAMIS_STREAM_COMMITS_INIT;
    dedup_state_reporter reporter = {
        .config = config, .before = &run->summary.before, .positions = &run->positions};
    char command[DEDUP_COMMAND];

    tamis_stream_service_dedup(&service, run->session);
    stream_options.output = config->output;
    stream_options.duplicates = config->duplicates;
    stream_options.durable = config->filter_file; /* rule 2 */
    stream_options.stop_fd = stop_fd;
    stream_options.follow = config->follow;
    stream_options.files = config->files;
    stream_options.remark = report_follow;
    stream_options.first_malformed = &run->summary.first_malformed;
    stream_options.marking = config->marking;
    stream_options.late = config->late;
    /* Merged logs use half of the lateness; the records of each of them may be late too. */
    stream_options.merge_within = tamis_filter_plan(run->filter)->lateness / 2 + 1;
    stream_options.mark_name = config->mark_name;
    stream_options.profile = config->profile ? &run->profile : NULL;
    run->summary.profile = stream_options.profile;
    if (run->state) {
        commits.session = run->session;
        commits.bytes = config->commit_bytes;
        commits.milliseconds = (uint32_t)config->commit_ms;
        commits.reread = config->reread;
        commits.exactly_once = config->exactly_once;
        commits.defer_unterminated = config->defer_unterminated;
        commits.abandon = config->abandon;
        commits.command = dedup_command_keep(command, config->values) ? command : NULL;
        commits.remark = dedup_state_remark;
        commits.on_start = dedup_state_on_start;
        commits.on_position = config->commits ? dedup_state_on_position : NULL;
        commits.callback_context = &reporter;
        run->summary.result = &run->result;
        records.result = &run->result;
        records.before = &run->summary.before;
        stream_options.commits = &commits;
    }
    cli_key_fit(&records.form, tamis_hasher_scheme(tamis_filter_hasher(run->filter)),
                cli_stream_line_end(&records));
    return cli_stream_run(&records, &service, &stream_options, &run->summary.stats, err);
}

/* Adds the option that helps to the error of a full filter. The library only knows why it is full. */
static tamis_status fail_full(const dedup_run *run, const dedup_config *config, tamis_error *err) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    char record[CLI_TEXT_NUMBER], size[CLI_TEXT_NUMBER];

    if (tamis_filter_info_get(run->filter, &info, NULL) != TAMIS_OK)
        return err->status; /* *err has the message of the library */
    cli_text_count(record, sizeof record, run->summary.stats.records + 1);
    if (run->state) {
        cli_remedy(err, "begin a new state with a larger --expect or more --memory, or give --on-full pass");
        return err->status;
    }
    switch (info.full) {
    case TAMIS_FULL_CAPACITY:
        return cli_fail(
            err,
            "filter: full at record %s: made for %s; give a larger --expect, or --on-full pass to "
            "print what does not fit",
            record, cli_text_records(size, sizeof size, info.capacity));
    case TAMIS_FULL_MEMORY:
        return cli_fail(
            err,
            "filter: full at record %s: it would grow beyond --memory %s; give more --memory, a larger "
            "--fpr, or --on-full pass to print what does not fit",
            record, cli_text_bytes(size, sizeof size, config->filter.plan_options.memory));
    /* The other reasons are rare: keep the message of the library, and add the option. */
    case TAMIS_FULL_CROWDED:
        cli_remedy(err, "give --secret-file, so that nobody can choose hashes, or --on-full pass");
        return err->status;
    default:
        cli_remedy(err, "give another --fpr, --exact, or --on-full pass");
        return err->status;
    }
}

/* Reports records that a full filter could not remember. With --json only the object reports them. */
static void report_unknown(const dedup_run *run, const dedup_config *config) {
    const uint64_t unknown = run->summary.stats.unknown;
    char count[CLI_TEXT_NUMBER], message[500];

    if (unknown == 0 || config->stream.quiet || config->stream.json)
        return;
    snprintf(message, sizeof message, "%.200s: full, so %s %s passed on without being remembered%s; %s",
             config->filter_file ? config->filter_file : "filter",
             cli_text_records(count, sizeof count, unknown), unknown == 1 ? "was" : "were",
             config->count ? ", and counted each time" : "",
             run->opened ? CLI_FILTER_LARGER : "give a larger --expect or more --memory");
    cli_report(message);
}

/* Reports records that were too old for the window. */
static void report_late(const dedup_run *run, const dedup_config *config) {
    const uint64_t late = run->summary.stats.late;
    char count[CLI_TEXT_NUMBER], message[300];

    if (late == 0 || config->stream.quiet || config->stream.json)
        return;
    snprintf(message, sizeof message, "%s %s older than --lateness allows, and %s; see --lateness, --late",
             cli_text_records(count, sizeof count, late), late == 1 ? "was" : "were",
             config->late == TAMIS_STREAM_PASS ? "passed on" : "dropped");
    cli_report(message);
}

/* Reports records that came before. */
static void report_redelivered(const dedup_run *run, const dedup_config *config) {
    const uint64_t count = run->summary.stats.redelivered - run->summary.before.redelivered;
    char text[CLI_TEXT_NUMBER], message[200];

    if (count == 0 || config->stream.quiet || config->stream.json)
        return;
    snprintf(message, sizeof message, "%s delivered again, and dropped",
             cli_text_records(text, sizeof text, count));
    cli_report(message);
}

/* Prints the summary, if an option requests it. Keeps the first error in *err. */
static tamis_status summarize(dedup_run *run, const dedup_config *config, tamis_error *err) {
    if (!config->stream.stats && !run->summary.profile)
        return TAMIS_OK;
    const tamis_status status =
        cli_summary_set_filter(&run->summary, run->filter, run->summary.failed ? NULL : err);
    if (status != TAMIS_OK)
        return status;
    return cli_summary_print(&run->summary, &config->stream, err);
}

/* Reports that an interrupted run left a regular file unchanged: the stream has removed its temporary
 * file. */
static void report_removed(const char *path) {
    struct stat file;
    char message[400];

    if (!path || strcmp(path, "-") == 0)
        return;
    if (stat(path, &file) == 0 && !S_ISREG(file.st_mode))
        return;
    snprintf(message, sizeof message, "%.300s: interrupted, so nothing was written there; run again", path);
    cli_report(message);
}

/* Adds the remedy to the error of the library in *err. */
static tamis_status fail(const dedup_run *run, const dedup_config *config, tamis_status status,
                         tamis_error *err) {
    if (run->state)
        dedup_state_advise(&run->result, config, status, err);
    if (status == TAMIS_E_FULL && run->opened)
        return cli_filter_full(run->filter, config->filter_file, run->summary.stats.records + 1,
                               tamis_filter_plan(run->filter)->capacity > 0
                                   ? CLI_FILTER_LARGER ", or give --on-full pass to print what does not fit"
                                   : "build a larger one, or give --on-full pass to print what does not fit",
                               err);
    if (status == TAMIS_E_FULL)
        return fail_full(run, config, err);
    if (status == TAMIS_E_RANGE && config->filter.plan_options.window > 0) {
        const size_t used = strlen(err->text);
        snprintf(err->text + used, sizeof err->text - used,
                 "; give a larger --ahead if the stream paused, or --on-error skip or pass if that clock is "
                 "wrong");
    }
    cli_stream_advise(status, err);
    return err->status;
}

/* If there was no file, saves a new one and refuses to replace a file that appeared meanwhile: its keys
 * belong to another process. */
static tamis_status save_filter(const dedup_run *run, const char *path, tamis_error *err) {
    return run->opened ? cli_file_save(run->filter, path, TAMIS_FORMAT_AUTO, run->compression, err)
                       : cli_file_save_new(run->filter, path, err);
}

/* Saves the filter if all outputs are complete (rules 2 and 3). */
static tamis_status save(dedup_run *run, const dedup_config *config, tamis_status status, tamis_error *err) {
    const bool good = status == TAMIS_OK || (status == TAMIS_E_INTERRUPTED && run->summary.stats.records > 0);

    if (!config->filter_file || !good || !run->summary.stats.complete)
        return status;
    run->saved = save_filter(run, config->filter_file, err) == TAMIS_OK;
    return run->saved ? status : err->status;
}

/* Reports whether a failed or interrupted run has saved the --filter file. */
static void report_saved(const dedup_run *run, const dedup_config *config) {
    char message[400];

    if (!config->filter_file || run->summary.stats.records == 0 || config->stream.quiet ||
        config->stream.json)
        return;
    if (!run->saved) {
        cli_filter_report_kept(config->filter_file);
        return;
    }
    snprintf(message, sizeof message, "%.300s: saved, with the records that were answered until then",
             config->filter_file);
    cli_report(message);
}

static tamis_status conclude(dedup_run *run, const dedup_config *config, tamis_status status,
                             tamis_error *err) {
    cli_summary *summary = &run->summary;
    tamis_status code = TAMIS_OK;

    if (status == TAMIS_E_PIPE)
        return status;
    summary->interrupted = status == TAMIS_E_INTERRUPTED;
    summary->failed = status != TAMIS_OK && !summary->interrupted;
    if (status != TAMIS_OK)
        report_saved(run, config);
    if (summary->failed) {
        code = fail(run, config, status, err);
        if (summary->stats.records == 0)
            return code; /* no record was answered: there is nothing to summarise */
    } else {
        if (config->count)
            printf("%" PRIu64 "\n", summary->stats.unique + summary->stats.unknown +
                                        (config->late == TAMIS_STREAM_PASS ? summary->stats.late : 0) +
                                        cli_stream_passed(&config->stream, &summary->stats));
        report_unknown(run, config);
        report_late(run, config);
        report_redelivered(run, config);
        dedup_state_ended(config, &run->result);
        if (!run->state || run->result.start != TAMIS_STREAM_FINISHED)
            cli_summary_report_skipped(summary, &config->stream);
        if (status == TAMIS_OK && run->opened && summary->stats.unknown == 0 && !config->stream.quiet &&
            !config->stream.json)
            cli_filter_report_overfull(run->filter, config->filter_file, CLI_FILTER_LARGER);
    }
    if (summarize(run, config, err) != TAMIS_OK)
        code = err->status;
    if (!summary->interrupted)
        return code;
    if (err->sys_errno != 0 && code == TAMIS_OK)
        cli_report(err->text); /* the last records could not be written */
    if (!run->state) {
        report_removed(config->output);
        report_removed(config->duplicates);
    }
    return code == TAMIS_OK ? status : code;
}

/* Waits for a snapshot in progress, which is part of the run. If the reader of a pipe did not read
 * everything, the library leaves out the last commit, so that its records come again. TAMIS_E_INVALID reports
 * that, and is not an error. */
static tamis_status finish_state(const dedup_run *run, tamis_error *err) {
    tamis_error refused = TAMIS_ERROR_INIT;
    const tamis_status status = tamis_state_snapshot(run->state, UINT64_MAX, &refused);

    if (status == TAMIS_OK || (status == TAMIS_E_INVALID && run->result.inexact))
        return TAMIS_OK;
    *err = refused;
    return status;
}

static tamis_status run_dedup(const cli_args *args, bool *negative, tamis_error *err) {
    dedup_config config;
    dedup_run run = {.summary = CLI_SUMMARY_INIT,
                     .profile = TAMIS_STREAM_PROFILE_INIT,
                     .result = TAMIS_STREAM_RESULT_INIT};
    const double begun = cli_progress_now();
    int stop_fd = -1;

    (void)negative;
    run.summary.fields = &dedup_fields;
    run.summary.drops = true;
    run.summary.passes = true;
    tamis_status status = dedup_configure(&config, args, err);
    /* First: a closed descriptor would become one of the files that are opened next. */
    if (status == TAMIS_OK)
        status = dedup_positions_open(&run.positions, config.commits, err);
    if (status == TAMIS_OK)
        status = cli_signals_begin(&stop_fd, err);
    if (status == TAMIS_OK && config.metrics)
        status = cli_metrics_open(&run.metrics, config.metrics, config.stream.quiet, err);
    if (status == TAMIS_OK)
        status = open_run(&run, &config, stop_fd, err);
    if (status == TAMIS_OK && config.filter_file)
        status = run.opened
                     ? cli_stream_apply_filter(&config.stream, run.filter, config.filter_file, true, err)
                     : cli_key_store_form(config.stream.form, run.filter, err);
    if (status == TAMIS_OK) {
        config.stream.metrics = run.metrics;
        if (run.metrics)
            cli_metrics_set_filter(run.metrics, run.filter);
        status = stream_records(&run, &config, stop_fd, err);
        if (run.metrics) {
            cli_metrics_observe(run.metrics);
            cli_metrics_update(run.metrics, &run.summary.stats);
        }
        status = save(&run, &config, status, err);
        if (status == TAMIS_OK && run.state)
            status = finish_state(&run, err);
        run.summary.seconds = cli_progress_now() - begun;
        status = conclude(&run, &config, status, err);
    }
    cli_metrics_close(run.metrics);
    dedup_positions_close(&run.positions);
    tamis_stream_checkpoint_free(run.result.unfinished);
    tamis_dedup_close(run.session);
    if (!run.state)
        tamis_filter_free(run.filter);
    tamis_state_close(run.state);
    tamis_file_unlock(run.lock);
    cli_stream_release(&config.stream);
    return status;
}

const cli_command cmd_dedup = {
    .name = "dedup",
    .summary = "print each record the first time it is seen",
    .operands = "[FILE...]",
    .manual = &cli_manual_dedup,
    .options = dedup_options,
    .conflicts = dedup_conflicts,
    .fields = CLI_FIELDS(dedup_fields),
    .run = run_dedup,
};
