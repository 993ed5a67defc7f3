/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis merge: the union of filters.
 *
 *     first file --> memory <-- union with each further file --> output
 *                               (mapped, and unmapped before the next one)
 *
 * Bad labels are refused before the first union. At the end, remarks say if the promised rate rises, which
 * labels conflict, and what the format cannot store. Another one says if the union has too many keys.
 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/core/cli_rows.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_file.h"
#include "cli/filter/cli_filter.h"
#include "cli/filter/cli_metadata.h"
#include "cli/input/cli_key.h"
#include "cli/process/cli_signal.h"
#include "cli/server/cli_server.h"

static const cli_option options[] = {
    CLI_ROW_WRITE_OUTPUT, CLI_ROW_WRITE_FORMAT(" named first"),
    CLI_ROW_GZIP,         CLI_ROW_LABEL,
    CLI_ROW_DATA_VERSION, CLI_ROW_LOCK_WAIT,
    CLI_ROW_WRITE_QUIET,  {.name = NULL},
};

typedef struct merge_run {
    const char *output, *first;
    const char *key_type_file; /* file from which `key_type` comes */
    uint32_t key_type;         /* key type of the merged filter so far */
    tamis_format format;
    tamis_compression compression;
    bool remarks;
    cli_lock_wait lock_wait;
    cli_metadata metadata;
    cli_metadata_conflict conflict;
    tamis_filter *merged;
    double fpr; /* promised rate of the first filter */
} merge_run;

/* True if a union failed because the key types differ. The library compares them last, so it is true if
 * nothing else differs. */
static bool keys_differ(const merge_run *run, const tamis_filter *from, const tamis_error *err) {
    tamis_difference difference = TAMIS_DIFFERENCE_INIT;

    return err->status == TAMIS_E_MISMATCH &&
           tamis_filter_compare(&difference, run->merged, from, NULL) == TAMIS_OK && difference.same_hash &&
           difference.same_shape;
}

static tamis_status refuse_keys(const merge_run *run, const tamis_filter *from, const char *path,
                                tamis_error *err) {
    char rule[CLI_KEY_RULE], before[CLI_KEY_RULE], shown[CLI_SERVER_SHOWN], key_type_file[CLI_SERVER_SHOWN];
    uint32_t key_type = TAMIS_KEYS_UNSPECIFIED;

    if (cli_key_type_stored(from, &key_type, err) != TAMIS_OK)
        return err->status;
    return cli_fail(err,
                    "%.100s: not merged with %.100s: its keys were made with %s, and those before it with "
                    "%s, so that some would be missed; build both with the same options",
                    cli_server_show(path, shown), cli_server_show(run->key_type_file, key_type_file),
                    cli_key_rule(rule, key_type), cli_key_rule(before, run->key_type));
}

/* Adds the names of both files to the error of a failed union. Other errors name their file already. */
static tamis_status refuse(const merge_run *run, const tamis_filter *from, const char *path,
                           tamis_error *err) {
    char shown[CLI_SERVER_SHOWN], other[CLI_SERVER_SHOWN];
    const bool have_unions =
        tamis_filter_can(from, TAMIS_CAN_UNION) && tamis_filter_can(run->merged, TAMIS_CAN_UNION);
    const bool is_frozen = err->status == TAMIS_E_UNSUPPORTED && have_unions; /* the first filter is frozen */

    if (keys_differ(run, from, err))
        return refuse_keys(run, from, path, err);
    if (err->status == TAMIS_E_FULL)
        cli_remedy(err, "build the first one with more --memory");
    if (is_frozen)
        cli_remedy(err, "name one first that was not built with --frozen");
    if (err->status == TAMIS_E_FULL || err->status == TAMIS_E_MISMATCH || err->status == TAMIS_E_UNSUPPORTED)
        cli_subject(err, "%.100s: not merged with %.100s",
                    cli_server_show(is_frozen ? run->first : path, shown),
                    cli_server_show(is_frozen ? path : run->first, other));
    return err->status;
}

/* Adds the keys of the filter in `path`. The file is mapped, and unmapped before the next one, so any number
 * of filters takes the memory of one. A compressed file, or one of Guava or DCSO, is decoded, so the merge
 * then takes the memory of two. */
static tamis_status merge_filter(merge_run *run, const char *path, tamis_error *err) {
    tamis_filter *from = NULL;
    const uint32_t key_type = run->key_type;
    tamis_status status = cli_signals_look(err);

    if (status == TAMIS_OK)
        status = cli_file_fetch(&from, path, err);

    if (status == TAMIS_OK && tamis_filter_union(run->merged, from, err) != TAMIS_OK)
        status = refuse(run, from, path, err);
    if (status == TAMIS_OK)
        status = cli_metadata_merge(run->merged, from, path, &run->conflict, err);
    tamis_filter_free(from);
    if (status == TAMIS_OK)
        status = cli_key_type_stored(run->merged, &run->key_type, err);
    if (run->key_type != key_type)
        run->key_type_file = path;
    return status;
}

/* Removes the time of creation, so that saving sets the present time. */
static tamis_status forget_time(tamis_filter *filter, tamis_error *err) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    tamis_status status = tamis_filter_metadata_get(filter, &metadata, err);

    metadata.created = 0;
    if (status == TAMIS_OK)
        status = tamis_filter_metadata_set(filter, &metadata, err);
    return status;
}

/* Replaces the filter by a copy that can be changed. A key of the Redis module is only read, and others are
 * left as they are. */
static tamis_status make_writable(tamis_filter **merged, tamis_error *err) {
    tamis_filter *copy = NULL;

    if (tamis_filter_can(*merged, TAMIS_CAN_ADD) || cli_filter_is_redisbloom(*merged))
        return TAMIS_OK;
    if (tamis_filter_copy(&copy, *merged, err) != TAMIS_OK)
        return err->status;
    tamis_filter_free(*merged);
    *merged = copy;
    return TAMIS_OK;
}

/* Reads the first filter into memory, or pulls it from its server. */
static tamis_status load_first(tamis_filter **merged, const char *path, tamis_error *err) {
    tamis_status status =
        cli_file_open(merged, &(cli_filter_file){.path = path, .access = CLI_CHANGE}, NULL, err);

    if (status == TAMIS_OK)
        status = cli_server_pull(merged, err);
    return status == TAMIS_OK ? make_writable(merged, err) : status;
}

/* Loads the first filter and applies the given labels and version to it. So bad ones are refused before the
 * other filters are read. */
static tamis_status prepare_merge(merge_run *run, tamis_error *err) {
    tamis_status status = load_first(&run->merged, run->first, err);

    if (status == TAMIS_OK)
        run->fpr = tamis_filter_plan(run->merged)->fpr;
    if (status == TAMIS_OK)
        status = cli_metadata_check(&run->metadata, cli_metadata_format(run->merged, run->format), err);
    if (status == TAMIS_OK)
        status = cli_key_type_stored(run->merged, &run->key_type, err);
    return status == TAMIS_OK ? cli_metadata_apply(&run->metadata, run->merged, err) : status;
}

/* Reports if the union of tables promises a higher rate than the first filter did. */
static void report_rate(const merge_run *run) {
    const double now = tamis_filter_plan(run->merged)->fpr;
    char message[400], rate[CLI_TEXT_NUMBER], was[CLI_TEXT_NUMBER], shown[CLI_SERVER_SHOWN];

    if (tamis_kind_is_bloom(tamis_filter_plan(run->merged)->kind) || now <= run->fpr)
        return;
    snprintf(message, sizeof message,
             "%.200s: promises a rate of %s, which is at most the sum of its filters' rates, and not %s; "
             "build them with a smaller --fpr",
             cli_server_show(run->output, shown), cli_text_real(rate, sizeof rate, now),
             cli_text_real(was, sizeof was, run->fpr));
    cli_report(message);
}

static tamis_status merge(merge_run *run, const cli_args *args, tamis_error *err) {
    tamis_status status = prepare_merge(run, err);

    run->conflict.given = &run->metadata;
    for (size_t i = 1; i < args->operand_count && status == TAMIS_OK; i++)
        status = merge_filter(run, args->operands[i], err);
    if (status == TAMIS_OK)
        status = forget_time(run->merged, err);
    if (status == TAMIS_OK)
        status = cli_file_save_until_signal(
            run->merged, &(cli_file_target){run->output, run->format, run->compression}, run->lock_wait, err);
    if (status != TAMIS_OK || !run->remarks)
        return status;
    report_rate(run);
    cli_metadata_report_conflict(&run->conflict);
    cli_metadata_report_lost(run->merged, run->output, run->format);
    cli_filter_report_overfull(run->merged, run->output,
                               "build filters that will be merged with the --expect of all of them");
    return status;
}

static tamis_status merge_locked(merge_run *run, const cli_args *args, tamis_error *err) {
    tamis_lock *lock = NULL;
    tamis_status status = cli_file_lock(&lock, run->output, run->lock_wait, err);

    if (status == TAMIS_OK)
        status = merge(run, args, err);
    tamis_filter_free(run->merged);
    tamis_file_unlock(lock);
    return status;
}

static tamis_status run_merge(const cli_args *args, bool *negative, tamis_error *err) {
    const cli_value *values = args->values;
    merge_run run = {.output = values[CLI_OPT_OUTPUT].text,
                     .format = (tamis_format)values[CLI_OPT_FORMAT].number,
                     .compression = cli_file_compression(values[CLI_OPT_GZIP].given),
                     .lock_wait = cli_lock_wait_of(&values[CLI_OPT_LOCK_WAIT]),
                     .remarks = !values[CLI_OPT_QUIET].given};
    int stop_fd;

    (void)negative;
    if (!run.output)
        return cli_fail(err, "merge: --output is missing; name the file to write as -o FILE");
    if (args->operand_count == 0)
        return cli_fail(err, "merge: no filter is named; name the filters to merge");
    run.first = run.key_type_file = args->operands[0];
    tamis_status status = cli_metadata_read(&run.metadata, values, err);
    if (status == TAMIS_OK)
        status = cli_signals_begin(&stop_fd, err);
    if (status == TAMIS_OK)
        status = merge_locked(&run, args, err);
    cli_metadata_release(&run.metadata);
    return status;
}

const cli_command cmd_merge = {
    .name = "merge",
    .summary = "write one filter with the keys of several",
    .operands = "FILTER...",
    .manual = &cli_manual_merge,
    .options = options,
    .run = run_merge,
};
