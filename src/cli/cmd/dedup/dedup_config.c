/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * From the options of tamis dedup to its configuration, with every check that needs no file to be open.
 *
 *     dedup_configure --> check_outputs, check_kind, check_filter_file, check_state, check_follow, ...
 *
 * Each check refuses one sort of contradiction, with a message that names the options.
 */
#include "cli/cmd/dedup/dedup_config.h"

#include <ctype.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tamis/experimental/window.h>

#include "cli/cmd/dedup/dedup_state.h"
#include "cli/core/cli_option.h"
#include "cli/core/cli_text.h"
#include "cli/server/cli_server.h"

/* Writes the directory of `path` to `parent`, and returns the name behind it. */
static const char *split_path(const char *path, char parent[PATH_MAX]) {
    const char *slash = strrchr(path, '/');

    if (!slash)
        snprintf(parent, PATH_MAX, ".");
    else if (slash == path)
        snprintf(parent, PATH_MAX, "/");
    else
        snprintf(parent, PATH_MAX, "%.*s", (int)(slash - path), path);
    return slash ? slash + 1 : path;
}

bool dedup_is_same_target(const char *a, const char *b) {
    struct stat at_a, at_b;
    const bool found_a = stat(a, &at_a) == 0, found_b = stat(b, &at_b) == 0;
    char parent_a[PATH_MAX], parent_b[PATH_MAX];

    if (found_a != found_b)
        return false;
    if (found_a)
        return at_a.st_dev == at_b.st_dev && at_a.st_ino == at_b.st_ino;
    if (strcmp(split_path(a, parent_a), split_path(b, parent_b)) != 0)
        return false;
    return stat(parent_a, &at_a) == 0 && stat(parent_b, &at_b) == 0 && at_a.st_dev == at_b.st_dev &&
           at_a.st_ino == at_b.st_ino;
}

bool dedup_is_in_directory(const char *path, const char *directory) {
    char parent[PATH_MAX];

    split_path(path, parent);
    return dedup_is_same_target(parent, directory);
}

static bool is_standard(const char *path) {
    return path && strcmp(path, "-") == 0;
}

/* If records or a number go to standard output: fails now, not after hours, if it cannot be written. */
static tamis_status check_standard_output(const dedup_config *config, tamis_error *err) {
    if (config->count || is_standard(config->output) || is_standard(config->duplicates))
        return cli_output_check(err);
    return TAMIS_OK;
}

static tamis_status check_outputs(const dedup_config *config, tamis_error *err) {
    const char *const paths[] = {config->output, config->duplicates, config->count ? "-" : NULL};

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (paths[i] && cli_stream_keep_list(&config->stream, paths[i], err) != TAMIS_OK)
            return err->status;
    if (!config->duplicates)
        return check_standard_output(config, err);
    if (is_standard(config->duplicates) && config->count)
        return cli_fail(err, "--duplicates '-': contradicts --count: the number goes to standard output; "
                             "give --duplicates a file, or leave one of them out");
    if (!config->output || strcmp(config->output, config->duplicates) != 0)
        return check_standard_output(config, err);
    if (is_standard(config->output))
        return cli_fail(err, "--duplicates '-': the first occurrences go to standard output already; "
                             "send them elsewhere with --output FILE");
    return cli_fail(err, "--duplicates '%.300s': is the file of --output too; give two files",
                    config->duplicates);
}

static tamis_status check_kind(const dedup_config *config, const cli_args *args, tamis_error *err) {
    const tamis_plan_options *plan_options = &config->filter.plan_options;
    const char *kept = config->state ? config->state : config->filter_file;

    /* An existing filter has its size already; only its kind is compared later. */
    if ((!kept || access(kept, F_OK) != 0) && tamis_kind_is_bloom(plan_options->kind) &&
        plan_options->expect == 0)
        return cli_fail(err,
                        "--kind '%s': cannot grow, so the number of records must be known; give --expect N, "
                        "or --kind fingerprint",
                        args->values[CLI_OPT_KIND].text);
    if (tamis_scheme_digest_bits(plan_options->scheme) == 0)
        return cli_fail(err,
                        "--scheme '%s': has no digest to know a record by, only a poor hash for each probe; "
                        "give another, such as xxh3",
                        args->values[CLI_OPT_SCHEME].text);
    return TAMIS_OK;
}

/* The --filter file is replaced at the end of the run, so it must be no output, no input, and not on a
 * server. */
static tamis_status check_filter_file(const dedup_config *config, tamis_error *err) {
    const char *path = config->filter_file;
    const char *const outputs[] = {config->output, config->duplicates};
    struct stat filter, output;

    if (!path)
        return TAMIS_OK;
    if (cli_server_refuse(path, "--filter",
                          "name a file: records cannot be lost there only where filter and output "
                          "are saved together",
                          err) != TAMIS_OK)
        return err->status;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        if (!outputs[i] || is_standard(outputs[i]))
            continue;
        if (strcmp(path, outputs[i]) == 0 ||
            (stat(path, &filter) == 0 && stat(outputs[i], &output) == 0 && filter.st_dev == output.st_dev &&
             filter.st_ino == output.st_ino))
            return cli_fail(err, "%.300s: is the file of --filter and an output; give two files", path);
    }
    return cli_stream_keep_apart(&config->stream, path, "the file of --filter", err);
}

/* Refuses options that apply to --state if it is missing, and parses --commit-every. */
static tamis_status check_state(dedup_config *config, const cli_value *values, tamis_error *err) {
    static const int needing[] = {
        DEDUP_REREAD,       DEDUP_ABANDON, DEDUP_EXACTLY_ONCE, DEDUP_DEFER_UNTERMINATED,
        DEDUP_COMMIT_EVERY, DEDUP_SOURCE,  DEDUP_POSITION};

    for (size_t i = 0; i < sizeof needing / sizeof *needing && !config->state; i++) {
        const char *name = cli_option_of(dedup_options, needing[i])->name;
        if (values[needing[i]].given)
            return cli_fail(err, "--%s needs --state DIR; give it, or leave --%s out", name, name);
    }
    if (!config->state)
        return TAMIS_OK;
    if (cli_server_refuse(config->state, "--state",
                          "name a directory: no server commits together with output", err) != TAMIS_OK)
        return err->status;
    return values[DEDUP_COMMIT_EVERY].given
               ? dedup_state_read_commit_every(values[DEDUP_COMMIT_EVERY].text, &config->commit_bytes,
                                               &config->commit_ms, err)
               : TAMIS_OK;
}

/* Returns the first input that cannot be followed; NULL: there is none. With `every`, all inputs must be
 * followed. Without, one is enough, and the others are read to their end. */
static const char *find_unfollowed(const cli_stream *stream, bool every) {
    const char *found = NULL;
    struct stat st;

    for (size_t i = 0; i < stream->input_count; i++) {
        const char *input = stream->inputs[i];
        if (!is_standard(input) && stat(input, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
            found = found ? found : input;
        else if (!every)
            return NULL;
    }
    return found;
}

/* A run with --follow-input has no end, so it writes only to outputs that are complete without one. With
 * --state, each commit completes them. */
static tamis_status check_follow(const dedup_config *config, tamis_error *err) {
    const char *const outputs[] = {config->output, config->duplicates};
    struct stat st;

    if (config->files && !config->follow)
        return cli_fail(err, "--files needs --follow-input; give it, or let the shell expand the pattern");
    if (config->files && config->stream.input_count > 0)
        return cli_fail(err, "--files '%.200s': contradicts FILE operands; leave one of them out",
                        config->files);
    if (!config->follow)
        return TAMIS_OK;
    const char *unfollowed = find_unfollowed(&config->stream, config->state != NULL);
    if (unfollowed)
        return cli_fail(err,
                        "%.300s: is not a regular file, so it cannot be followed; leave --follow-input out",
                        unfollowed);
    if (config->state)
        return TAMIS_OK;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
        if (outputs[i] && !is_standard(outputs[i]) && (stat(outputs[i], &st) != 0 || S_ISREG(st.st_mode)))
            return cli_fail(err,
                            "%.300s: would get its records at the end of the run, and --follow-input has no "
                            "end; write to standard output, or add --state",
                            outputs[i]);
    return TAMIS_OK;
}

/* Refuses options that apply to --window or --time if these are missing, and sets the plan of a window. */
static tamis_status check_window(dedup_config *config, const cli_value *values, tamis_error *err) {
    static const struct {
        int option, needed;
    } needs[] = {{DEDUP_STEP, DEDUP_WINDOW},   {DEDUP_TIME, DEDUP_WINDOW}, {DEDUP_REFRESH, DEDUP_WINDOW},
                 {DEDUP_LATENESS, DEDUP_TIME}, {DEDUP_LATE, DEDUP_TIME},   {DEDUP_AHEAD, DEDUP_TIME}};
    tamis_plan_options *plan = &config->filter.plan_options;

    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const char *name = cli_option_of(dedup_options, needs[i].option)->name;
        const cli_option *needed = cli_option_of(dedup_options, needs[i].needed);
        if (values[needs[i].option].given && !values[needs[i].needed].given)
            return cli_fail(err, "--%s needs --%s %s; give it, or leave --%s out", name, needed->name,
                            needed->value, name);
    }
    if (!values[DEDUP_WINDOW].given)
        return TAMIS_OK;
    plan->kind = TAMIS_KIND_WINDOW;
    plan->window = values[DEDUP_WINDOW].number;
    plan->step = values[DEDUP_STEP].number;
    plan->lateness = values[DEDUP_LATENESS].number;
    plan->refresh = values[DEDUP_REFRESH].given;
    config->ahead = values[DEDUP_AHEAD].number;
    config->late = (tamis_stream_policy)values[DEDUP_LATE].number;
    return TAMIS_OK;
}

/* --mark adds a member to JSON records, and a column to others. Its name must be UTF-8 without control
 * characters. */
static tamis_status check_mark(dedup_config *config, const cli_value *mark, tamis_error *err) {
    const tamis_extractor *extractor = config->stream.extract.extractor;
    bool is_json = extractor && tamis_extractor_is_json(extractor), is_text;

    if (!mark->given)
        return TAMIS_OK;
    config->marking = is_json ? TAMIS_STREAM_MEMBER : TAMIS_STREAM_COLUMN;
    config->mark_name = mark->text;
    if (!mark->text)
        return TAMIS_OK;
    json_t *text = json_string(mark->text);
    is_text = text;
    json_decref(text);
    for (const char *pos = mark->text; *pos != '\0'; pos++)
        is_text = is_text && !iscntrl((unsigned char)*pos);
    return is_text ? TAMIS_OK
                   : cli_fail(err,
                              "--mark '%.60s': is not a name; give one in UTF-8, without tabs or other "
                              "control characters",
                              mark->text);
}

static tamis_status check_positions(const cli_value *values, tamis_error *err) {
    if (values[DEDUP_SOURCE].given != values[DEDUP_POSITION].given)
        return cli_fail(err, "--source and --position belong together; give both, or neither");
    if (values[DEDUP_COMMITS].given && !values[DEDUP_SOURCE].given)
        return cli_fail(err, "--commits needs --source and --position; give them, or leave --commits out");
    return TAMIS_OK;
}

/* The file of --metrics is replaced while the run reads and writes the others. */
static tamis_status check_metrics(const dedup_config *config, tamis_error *err) {
    const char *path = config->metrics;
    const char *const others[] = {config->output, config->duplicates, config->filter_file, config->commits};
    struct stat st;

    if (!path || cli_metrics_is_address(path))
        return TAMIS_OK;
    if (cli_metrics_check(path, err) != TAMIS_OK)
        return err->status;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return TAMIS_OK;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] && dedup_is_same_target(path, others[i]))
            return cli_fail(err, "--metrics '%.200s': is another file of the run too; name another one",
                            path);
    if (config->state && dedup_is_in_directory(path, config->state))
        return cli_fail(err, "--metrics '%.200s': is in the directory of --state; name another file", path);
    return cli_stream_keep_apart(&config->stream, path, "the file of --metrics", err);
}

tamis_status dedup_configure(dedup_config *config, const cli_args *args, tamis_error *err) {
    const cli_value *values = args->values;
    cli_stream_given given = {.values = values,
                              .threads = true,
                              .reports = true,
                              .others = {.time = values[DEDUP_TIME].text,
                                         .source = values[DEDUP_SOURCE].text,
                                         .position = values[DEDUP_POSITION].text},
                              .inputs = args->operands,
                              .input_count = args->operand_count};

    memset(config, 0, sizeof *config);
    config->count = values[DEDUP_COUNT].given;
    config->profile = values[DEDUP_PROFILE].given;
    config->output = values[CLI_OPT_OUTPUT].given ? values[CLI_OPT_OUTPUT].text : config->count ? NULL : "-";
    config->duplicates = values[DEDUP_DUPLICATES].text;
    config->filter_file = values[DEDUP_FILTER].text;
    config->lock_wait = cli_lock_wait_of(&values[CLI_OPT_LOCK_WAIT]);
    config->state = values[DEDUP_STATE].text;
    config->commits = values[DEDUP_COMMITS].text;
    config->metrics = values[DEDUP_METRICS].text;
    config->reread = values[DEDUP_REREAD].given;
    config->abandon = values[DEDUP_ABANDON].given;
    config->exactly_once = values[DEDUP_EXACTLY_ONCE].given;
    config->defer_unterminated = values[DEDUP_DEFER_UNTERMINATED].given;
    config->follow = values[DEDUP_FOLLOW_INPUT].given;
    config->files = values[DEDUP_FILES].text;
    config->values = values;
    config->on_full = (tamis_on_full)values[DEDUP_ON_FULL].number;
    given.prints = is_standard(config->output) || is_standard(config->duplicates);
    if (check_positions(values, err) != TAMIS_OK ||
        cli_stream_configure(&config->stream, &given, err) != TAMIS_OK ||
        check_mark(config, &values[DEDUP_MARK], err) != TAMIS_OK || check_outputs(config, err) != TAMIS_OK ||
        check_filter_file(config, err) != TAMIS_OK || check_state(config, values, err) != TAMIS_OK ||
        dedup_positions_check(config, err) != TAMIS_OK || check_metrics(config, err) != TAMIS_OK ||
        check_follow(config, err) != TAMIS_OK ||
        cli_filter_configure(&config->filter, values, 0, err) != TAMIS_OK ||
        check_window(config, values, err) != TAMIS_OK)
        return err->status;
    return check_kind(config, args, err);
}

/* Reports a window by the clock whose newest time is in the future: until then, no key expires. */
static void report_future(const tamis_filter *filter, const char *path, const dedup_config *config) {
    const int64_t newest = tamis_window_newest(filter);
    char message[400], ahead[CLI_TEXT_NUMBER];
    struct timespec now;

    if (newest < 0 || config->values[DEDUP_TIME].given || config->stream.quiet || config->stream.json ||
        clock_gettime(CLOCK_REALTIME, &now) != 0)
        return;
    const int64_t difference = newest - ((int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    if (difference < 1000 || difference <= (int64_t)tamis_filter_plan(filter)->step)
        return;
    static const int64_t units[] = {86400000, 3600000, 60000, 1000}; /* days, hours, minutes, seconds */
    size_t unit = 0;
    while (unit < 3 && difference < 2 * units[unit])
        unit++;
    snprintf(message, sizeof message,
             "%.200s: its newest time is %s ahead of the clock, and no key expires until then; correct the "
             "clock, or name another %s",
             path, cli_text_time(ahead, sizeof ahead, (uint64_t)(difference - difference % units[unit])),
             config->state ? "state" : "file");
    cli_report(message);
}

tamis_status dedup_window_check(const tamis_filter *filter, const char *path, const dedup_config *config,
                                tamis_error *err) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    const tamis_plan_options *options = &config->filter.plan_options;
    const struct {
        const char *option;
        uint64_t given, stored;
    } times[] = {{"window", options->window, plan->window},
                 {"step", options->step, plan->step},
                 {"lateness", options->lateness, plan->lateness}};
    const char *what = config->state ? "state" : "file";
    char text[CLI_TEXT_NUMBER];

    if (plan->kind != TAMIS_KIND_WINDOW)
        return TAMIS_OK; /* cli_same_check has refused a window for it */
    if (options->kind != TAMIS_KIND_WINDOW)
        return cli_fail(err, "%.200s: is a window of %s; give --window %s", path,
                        cli_text_time(text, sizeof text, plan->window), text);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i].given && times[i].given != times[i].stored)
            return cli_fail(err, "%.200s: its %s is %s; give --%s %s, or name another %s", path,
                            times[i].option, cli_text_time(text, sizeof text, times[i].stored),
                            times[i].option, text, what);
    if (options->refresh != plan->refresh)
        return cli_fail(err, "%.200s: was made %s --refresh; %s, or name another %s", path,
                        plan->refresh ? "with" : "without", plan->refresh ? "give it" : "leave it out", what);
    report_future(filter, path, config);
    return TAMIS_OK;
}
