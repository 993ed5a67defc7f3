/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening the state of --state. A state has one filter and keys of one form. Both are fixed when it is made,
 * and every later run must agree:
 *
 *     filter    kind, scheme, seed, rate, secret    compared by the library and cli_same_check
 *     keys      --key, --delimiter, --trim, ...     stored as text in the metadata of the state
 *
 * The text of the key options is compared byte for byte. A state that still has no keys accepts other key
 * options, unless its runs have read records. These were passed on, and would not be read again.
 *
 * The state is opened with a plan made from the options, for the case that it is new. If an existing state
 * differs from the plan, it is opened as it is, and cli_same_check names the option that contradicts it.
 * Options that are not enough for a plan can only open an existing state.
 */
#include "cli/cmd/dedup/dedup_state.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd/dedup/dedup_command.h"
#include "cli/core/cli_number.h"
#include "cli/core/cli_option.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_filter.h"

static const char *show_keys(const char *options) {
    return options[0] != '\0' ? options : "no option (whole lines)";
}

/* Number of records that the runs of a state have read, with a key or without. UINT64_MAX: unknown, because
 * another program made a run. */
static uint64_t count_records(const tamis_state *state) {
    uint64_t records = 0;
    tamis_status status = TAMIS_OK;

    for (size_t i = 0; status == TAMIS_OK; i++) {
        tamis_stream_checkpoint *run = NULL;
        tamis_stream_run_status run_status;
        tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
        status = tamis_stream_run_at(&run, &run_status, state, i, NULL);
        if (status == TAMIS_OK)
            (void)tamis_stream_checkpoint_get(run, &stats);
        tamis_stream_checkpoint_free(run);
        records += stats.records;
    }
    return status == TAMIS_E_NOT_FOUND ? records : UINT64_MAX;
}

/* Replaces the key options of a state without keys, if its runs have read no records. */
static tamis_status correct_keys(tamis_state *state, const dedup_config *config, const char *has,
                                 const char *keys, tamis_error *err) {
    const uint64_t records = count_records(state);
    char message[600], count[CLI_TEXT_NUMBER];

    if (records > 0)
        return cli_fail(err,
                        "%.200s: has no keys yet, but its runs read %s with %.200s, not with %.200s; give "
                        "those options, or another state and output",
                        config->state,
                        records == UINT64_MAX ? "records" : cli_text_records(count, sizeof count, records),
                        show_keys(has), show_keys(keys));
    snprintf(message, sizeof message,
             "%.200s: has no keys yet; they are made with %.150s now, not with %.150s", config->state,
             show_keys(keys), show_keys(has));
    if (tamis_state_set_metadata(state, keys, err) != TAMIS_OK)
        return err->status;
    if (!config->stream.quiet && !config->stream.json)
        cli_report(message);
    return TAMIS_OK;
}

static tamis_status check_keys(tamis_state *state, const dedup_config *config, const char *keys,
                               tamis_error *err) {
    const char *has = tamis_state_metadata(state);
    tamis_state_info info = TAMIS_STATE_INFO_INIT;

    if (strcmp(has, keys) == 0)
        return TAMIS_OK;
    tamis_state_info_get(state, &info);
    if (info.keys == 0)
        return correct_keys(state, config, has, keys, err);
    return cli_fail(
        err, "%.200s: its keys were made with %.200s, not with %.200s; give those options, or another state",
        config->state, show_keys(has), show_keys(keys));
}

/* Refuses outputs in the directory of the state, where they could be taken for its files. */
static tamis_status check_outside(const dedup_config *config, tamis_error *err) {
    const char *const outputs[] = {config->output, config->duplicates};

    if (access(config->state, F_OK) != 0)
        return TAMIS_OK; /* the state does not exist yet */
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
        if (outputs[i] && strcmp(outputs[i], "-") != 0 && dedup_is_in_directory(outputs[i], config->state))
            return cli_fail(
                err,
                "%.300s: is in the directory of --state, which may contain no other files; write elsewhere",
                outputs[i]);
    return TAMIS_OK;
}

/* True if the directory does not exist, or has no files but a lock. */
static bool is_empty(const char *directory) {
    DIR *opened = opendir(directory);
    const struct dirent *entry;
    bool empty = true;

    if (!opened)
        return errno == ENOENT;
    while (empty && (entry = readdir(opened)) != NULL)
        empty = entry->d_name[0] == '.' || strcmp(entry->d_name, "lock") == 0;
    closedir(opened);
    return empty;
}

static void advise_full(tamis_error *err) {
    if (err->sys_errno == ENOSPC || err->sys_errno == EDQUOT)
        cli_remedy(err, "free space there, and give the same command again");
}

tamis_status dedup_state_open(tamis_state **state, const dedup_config *config, const cli_secret *secret,
                              tamis_error *err) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    tamis_error unplanned = TAMIS_ERROR_INIT;
    cli_filter_spec spec = config->filter;
    cli_lock_wait wait = config->lock_wait;
    tamis_status status;
    char keys[4096];
    const bool remarks = !config->stream.quiet && !config->stream.json;

    if (check_outside(config, err) != TAMIS_OK)
        return err->status;
    if (!dedup_command_keys(keys, sizeof keys, config->values))
        return cli_fail(err, "--key: too long for a state to keep; give a shorter one");
    cli_filter_prefer_growth(&spec);
    spec.start_small = true; /* more inputs may come later, or not */
    const bool planned = cli_filter_plan(&plan, &filter_options, &spec, secret, &unplanned) == TAMIS_OK;
    options.plan = planned ? &plan : NULL; /* NULL: opens an existing state only */
    options.filter = &filter_options;
    options.metadata = keys;
    if (secret) {
        options.secret = secret->bytes;
        options.secret_size = secret->size;
    }
    while ((status = tamis_state_open(state, config->state, &options, err)) == TAMIS_E_BUSY) {
        const tamis_status code = cli_lock_again(&wait, err);
        if (code != TAMIS_OK)
            return code;
    }
    if (status == TAMIS_E_MISMATCH && planned) { /* open it anyway: cli_same_check names the option */
        options.plan = NULL;
        status = tamis_state_open(state, config->state, &options, err);
    }
    if (status != TAMIS_OK) {
        if (!planned && is_empty(config->state))
            *err = unplanned;
        advise_full(err);
        return err->status;
    }
    if (check_outside(config, err) != TAMIS_OK) /* again, now that the directory exists */
        return err->status;
    if (cli_same_check(tamis_state_filter(*state), config->state, &config->filter, remarks, err) != TAMIS_OK)
        return err->status;
    status = dedup_window_check(tamis_state_filter(*state), config->state, config, err);
    return status == TAMIS_OK ? check_keys(*state, config, keys, err) : status;
}

/* Parses one limit: a time if it ends in a unit of time, else a size. False: it is malformed, 0, too long, or
 * the second of its kind. */
static bool read_commit_limit(const char *text, uint64_t *bytes, uint64_t *milliseconds) {
    uint64_t value;
    const size_t size = strlen(text);
    const bool is_time = size > 0 && strchr("smhd", text[size - 1]);

    if (*(is_time ? milliseconds : bytes) != 0)
        return false; /* given twice */
    if (is_time ? cli_number_time(text, &value) != CLI_NUMBER_OK
                : cli_number_size(text, &value) != CLI_NUMBER_OK)
        return false;
    if (value == 0 || (is_time && value > UINT32_MAX))
        return false;
    *(is_time ? milliseconds : bytes) = value;
    return true;
}

tamis_status dedup_state_read_commit_every(const char *text, uint64_t *bytes, uint64_t *milliseconds,
                                           tamis_error *err) {
    char part[64];
    const char *pos = text;

    *bytes = *milliseconds = 0;
    for (;;) {
        const size_t size = strcspn(pos, ",|");
        if (size == 0 || size >= sizeof part)
            break;
        memcpy(part, pos, size);
        part[size] = '\0';
        if (!read_commit_limit(part, bytes, milliseconds))
            break;
        if (pos[size] == '\0')
            return TAMIS_OK;
        pos += size + 1;
    }
    return cli_fail(err, "--commit-every '%.60s': expected a size (64MiB), a time (500ms) or both (64MiB,1s)",
                    text);
}

void dedup_state_on_start(void *context, const tamis_stream_result *result,
                          const tamis_stream_stats *before) {
    const dedup_state_reporter *reporter = context;
    const dedup_config *config = reporter->config;
    char message[600], count[CLI_TEXT_NUMBER];

    *reporter->before = *before;
    if (config->stream.quiet || config->stream.json)
        return;
    if (result->start == TAMIS_STREAM_RESUMED || result->start == TAMIS_STREAM_GROWN) {
        snprintf(message, sizeof message, "%.200s: continues after %s%s", config->state,
                 cli_text_records(count, sizeof count, before->records),
                 result->start == TAMIS_STREAM_RESUMED ? "" : ", with new data in the files");
        cli_report(message);
    } else if (result->start == TAMIS_STREAM_FINISHED) {
        if (before->records > 0)
            snprintf(message, sizeof message, "%.200s: already finished: %s; nothing to do", config->state,
                     cli_text_records(count, sizeof count, before->records));
        else
            snprintf(message, sizeof message, "%.200s: nothing new in these files; nothing to do",
                     config->state);
        cli_report(message);
    }
    if (result->inexact && result->start != TAMIS_STREAM_FINISHED) {
        snprintf(message, sizeof message,
                 "%.200s: is not a regular file, so after a crash %sa record may come twice", result->inexact,
                 result->inexact_input ? "feed it again, and " : "");
        cli_report(message);
    }
    if (result->unlocked) {
        snprintf(message, sizeof message,
                 "%.200s: its file system has no locks; make sure that nothing else writes to it",
                 result->unlocked);
        cli_report(message);
    }
}

void dedup_state_remark(void *context, const char *text, bool loss) {
    const dedup_state_reporter *reporter = context;

    if (loss || (!reporter->config->stream.quiet && !reporter->config->stream.json))
        cli_report(text);
}

tamis_status dedup_state_on_position(void *context, tamis_key source, uint64_t position, tamis_error *err) {
    dedup_state_reporter *reporter = context;

    return dedup_positions_print(reporter->positions, source, position, err);
}

void dedup_state_ended(const dedup_config *config, const tamis_stream_result *result) {
    char message[400], others[60] = "";

    if (!result->unterminated || config->stream.quiet || config->stream.json)
        return;
    if (result->unterminated_count > 1)
        snprintf(others, sizeof others, ", as %" PRIu64 " more of other files are",
                 result->unterminated_count - 1);
    snprintf(message, sizeof message, "%.200s: its last record has no end yet; it is left for the next run%s",
             result->unterminated, others);
    cli_report(message);
}

/* True if the run, with this command, may have ended because no record had a key. Then it has committed no
 * record, has --key, and may still choose by --missing. The same command would then fail again. */
static bool may_lack_keys(const tamis_stream_checkpoint *run, const char *command) {
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;

    (void)tamis_stream_checkpoint_get(run, &stats);
    return stats.records == 0 && strstr(command, " --key ") && !strstr(command, " --missing ");
}

/* Adds the command that finishes the unfinished run to the error. If the whole command does not fit into the
 * message, names `tamis state show` instead. */
static void advise_unfinished(const tamis_stream_result *result, const dedup_config *config,
                              tamis_error *err) {
    char command[sizeof err->text], missing[400] = "", remedy[sizeof command + sizeof missing + 120];
    const char *end = strrchr(err->text, ';');
    const char *otherwise = result->was_read ? "add --reread to read it again"
                            : config->follow ? "give it up with --reread and --abandon"
                                             : "give it up with --abandon";
    const char *keys = "";
    const size_t used = end ? (size_t)(end - err->text) : strlen(err->text);
    dedup_finish finish;

    if (!dedup_command_of(command, sizeof command, result->unfinished, config->state, &finish))
        command[0] = '\0';
    if (command[0] != '\0')
        dedup_command_missing_names(missing, sizeof missing, &finish);
    if (may_lack_keys(result->unfinished, command))
        keys = " (with --missing pass or drop if no record has a key)";
    if (command[0] != '\0' && used + strlen(command) + strlen(missing) + strlen(keys) + 60 < sizeof err->text)
        snprintf(remedy, sizeof remedy, "finish it by: %s%s%s, or %s", command, missing, keys, otherwise);
    else
        snprintf(remedy, sizeof remedy, "finish it by the command that tamis state show %.100s prints, or %s",
                 config->state, otherwise);
    cli_remedy(err, remedy);
}

void dedup_state_advise(const tamis_stream_result *result, const dedup_config *config, tamis_status status,
                        tamis_error *err) {
    if (result->unfinished)
        advise_unfinished(result, config, err);
    else if (result->was_read && result->unterminated)
        cli_remedy(err, config->defer_unterminated
                            ? "give --reread to read it again"
                            : "give --reread to read it again, and --defer-unterminated from now on");
    else if (result->was_read && config->follow)
        cli_remedy(err, "add --reread and --abandon to go on with what it has now");
    else if (result->was_read)
        cli_remedy(err, status == TAMIS_E_INVALID
                            ? "list only new files, repeat that run's files and --output "
                              "to continue it, or add --reread to read it again"
                            : "give it as it was, or add --reread to read it again");
    else if (status == TAMIS_E_UNSUPPORTED && result->inexact && config->exactly_once)
        cli_remedy(err, "give a file, or leave --exactly-once out");
    else if (result->open_output && strcmp(result->open_output, "-") == 0)
        cli_remedy(err, "give -o FILE instead of redirecting");
    else
        advise_full(err);
}
