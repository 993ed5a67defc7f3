/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Removes records from a filter in a file, under the lock of the file:
 *
 *     lock -> read filter -> remove all records in memory -> save -> unlock
 *
 * An error leaves the file unchanged.
 */
#include <inttypes.h>
#include <stdio.h>

#include <tamis/tamis.h>

#include "cli/core/cli_rows.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_file.h"
#include "cli/filter/cli_filter.h"
#include "cli/input/cli_stream.h"
#include "cli/input/cli_summary.h"
#include "cli/process/cli_progress.h"
#include "cli/process/cli_signal.h"
#include "cli/server/cli_server.h"

static const cli_summary_fields fields = {
    .records = {"records", "records", CLI_INTEGER, "Records read."},
    .absent = {"absent", "absent", CLI_INTEGER, "Records that were not in the filter: nothing was done."},
    .present = {"removed", "removed", CLI_INTEGER,
                "Records found in the filter, from which a copy was removed."},
    .unknown =
        {"kept", "kept", CLI_INTEGER,
         "Records that stay, because they were added 15 times (counting) or 4 times (cuckoo) or more."},
    .bytes_in = {"bytes_in", "bytes", CLI_INTEGER, "Bytes of the records, terminators included."},
    .seconds = {"seconds", "seconds", CLI_NUMBER, "Duration of the run, in seconds."},
    .memory = {"memory", "filter memory", CLI_INTEGER, "Bytes of the filter at the end."},
    .memory_peak = {"memory_peak", NULL, CLI_INTEGER, "Largest size of the filter in bytes."},
    .bits_per_key = {"bits_per_key", NULL, CLI_NUMBER,
                     "Bits of memory_peak per key in the filter; 0 = no keys."},
    .kind = {"kind", "kind", CLI_STRING, "Kind of the filter: exact, counting or cuckoo."},
    .scheme = {"scheme", NULL, CLI_STRING, "Hash in use."},
    .capacity = {"capacity", NULL, CLI_INTEGER, "Keys that the filter was made for; 0 = no limit, it grows."},
    .fpr = {"fpr", NULL, CLI_NUMBER, "Promised probability of a wrong answer, 0 to 1."},
    .fpr_live = {"fpr_live", NULL, CLI_NUMBER,
                 "The same probability with the keys in the filter; 0 = the filter is empty."},
    .saturated = {"saturated", NULL, CLI_BOOLEAN, "true: a record did not fit into the filter at some time."},
    .files =
        {"files", NULL, CLI_ARRAY_OF_OBJECTS,
         "One for each input that was opened, with file, records, absent, removed, kept, missing, malformed "
         "and bytes_in."},
    CLI_SUMMARY_ROWS("read"),
};

static const cli_option options[] = {
    CLI_ROW_LOCK_WAIT,   CLI_ROW_ITS_SECRET, CLI_ROW_FILES_FROM, CLI_ROWS_RECORDS("key", "Keys"),
    CLI_ROW_THREADS,     CLI_ROW_STATS,      CLI_ROW_JSON,       CLI_ROW_PROGRESS,
    CLI_ROW_NO_PROGRESS, CLI_ROW_QUIET,      {.name = NULL},
};

static const cli_conflict conflicts[] = {
    {CLI_OPT_PROGRESS, CLI_OPT_NO_PROGRESS, "one shows what the other hides"},
    {CLI_OPT_PROGRESS, CLI_OPT_QUIET, "one shows what the other hides"},
    {.why = NULL},
};

enum { KEYS_AT_ONCE = 256 };

typedef struct remove_run {
    const char *path;
    const char *secret_file; /* NULL: none */
    cli_stream stream;
    int stop_fd;
    tamis_lock *lock;
    tamis_filter *filter;
    tamis_compression compression; /* compression of the file */
    cli_summary summary;
} remove_run;

static tamis_status configure(remove_run *run, const cli_args *args, tamis_error *err) {
    const cli_stream_given given = {.values = args->values,
                                    .threads = true,
                                    .reports = true,
                                    .inputs = args->operands + 1,
                                    .input_count = args->operand_count > 0 ? args->operand_count - 1 : 0};

    if (args->operand_count == 0)
        return cli_fail(err, "filter: missing; give its file first, as in tamis remove FILTER FILE");
    run->path = args->operands[0];
    run->secret_file = args->values[CLI_OPT_SECRET_FILE].text;
    if (cli_server_is_uri(run->path))
        return cli_fail(err, "filter: is on a server, where no kind can remove records; give a file");
    if (cli_stream_configure(&run->stream, &given, err) != TAMIS_OK ||
        cli_stream_keep_apart(&run->stream, run->path, "the filter", err) != TAMIS_OK)
        return err->status;
    return cli_filter_check_secret(run->secret_file, err);
}

/* Locks and opens the filter, and checks that its kind can remove keys. */
static tamis_status open_locked(remove_run *run, const cli_args *args, tamis_error *err) {
    cli_secret secret;
    const cli_filter_file file = {.path = run->path,
                                  .secret = run->secret_file ? &secret : NULL,
                                  .access = CLI_CHANGE,
                                  .lock_wait = cli_lock_wait_of(&args->values[CLI_OPT_LOCK_WAIT]),
                                  .form = run->stream.form};

    if (run->secret_file && cli_secret_read(&secret, run->secret_file, run->stop_fd, err) != TAMIS_OK)
        return err->status;
    tamis_status status = cli_filter_lock_and_open(&run->lock, &run->filter, &file, &run->compression, err);
    if (run->secret_file)
        cli_secret_forget(&secret);
    if (status == TAMIS_OK && !tamis_filter_can(run->filter, TAMIS_CAN_REMOVE))
        status =
            cli_fail(err,
                     "%.300s: kind %s cannot remove records; build it again from the others, with --kind "
                     "exact, counting or cuckoo",
                     run->path, tamis_kind_name(tamis_filter_plan(run->filter)->kind));
    return status;
}

static uint64_t count_copies(const tamis_filter *filter, const tamis_key *key) {
    uint64_t copies = 0;

    (void)tamis_filter_count_key(filter, key->data, key->size, &copies, NULL);
    return copies;
}

/* Removes some keys. Keys whose copies are kept for ever are answered TAMIS_UNKNOWN: after the removal there
 * are as many as before. */
static tamis_status remove_some(tamis_filter *filter, const tamis_key *keys, size_t count,
                                tamis_answer *answers, size_t *done, tamis_error *err) {
    uint64_t before[KEYS_AT_ONCE];
    const bool counts = tamis_filter_can(filter, TAMIS_CAN_COUNT);

    for (size_t i = 0; counts && i < count; i++)
        before[i] = count_copies(filter, &keys[i]);
    const tamis_status status = tamis_filter_remove_many(filter, keys, count, answers, done, err);
    for (size_t i = 0; counts && i < *done; i++)
        if (answers[i] == TAMIS_PRESENT && count_copies(filter, &keys[i]) == before[i])
            answers[i] = TAMIS_UNKNOWN;
    return status;
}

/* Removes keys. The summary counts those that are answered TAMIS_UNKNOWN as kept. */
static tamis_status remove_batch(void *filter, const tamis_stream_batch *b, size_t *done, tamis_error *err) {
    tamis_status status = TAMIS_OK;

    for (*done = 0; *done < b->count && status == TAMIS_OK;) {
        const size_t left = b->count - *done, count = left < KEYS_AT_ONCE ? left : KEYS_AT_ONCE;
        size_t removed = 0;

        status = remove_some(filter, b->keys + *done, count, b->answers + *done, &removed, err);
        *done += removed;
    }
    return status;
}

static void report_kept(const remove_run *run) {
    const uint64_t kept = run->summary.stats.unknown;
    char message[400], count[CLI_TEXT_NUMBER];

    if (kept == 0 || run->stream.quiet || run->stream.json)
        return;
    snprintf(message, sizeof message,
             "%.200s: %s of the records stay%s, since %s added %" PRIu32
             " times or more; build the filter again without them",
             run->path, cli_text_count(count, sizeof count, kept), kept == 1 ? "s" : "",
             kept == 1 ? "it was" : "they were", tamis_kind_copies_max(tamis_filter_plan(run->filter)->kind));
    cli_report(message);
}

static tamis_status remove_records(remove_run *run, tamis_error *err) {
    const double start = cli_progress_now();
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options stream_options = TAMIS_STREAM_OPTIONS_INIT;

    service.context = run->filter;
    service.query = remove_batch;
    cli_key_fit(&run->stream.form, tamis_hasher_scheme(tamis_filter_hasher(run->filter)),
                cli_stream_line_end(&run->stream));
    stream_options.stop_fd = run->stop_fd;
    stream_options.first_malformed = &run->summary.first_malformed;
    tamis_status status = cli_stream_run(&run->stream, &service, &stream_options, &run->summary.stats, err);
    if (status == TAMIS_OK)
        status = cli_file_save(run->filter, run->path, TAMIS_FORMAT_AUTO, run->compression, err);
    if (status == TAMIS_OK)
        report_kept(run);
    else if (run->summary.stats.records > 0 && !run->stream.quiet && !run->stream.json)
        cli_filter_report_kept(run->path);
    run->summary.seconds = cli_progress_now() - start;
    return cli_summary_conclude(&run->summary, &run->stream, run->filter, status, err);
}

static tamis_status run_remove(const cli_args *args, bool *negative, tamis_error *err) {
    remove_run run = {.stop_fd = -1, .summary = CLI_SUMMARY_INIT};

    (void)negative;
    run.summary.fields = &fields;
    run.summary.keeps = true;
    tamis_status status = configure(&run, args, err);
    if (status == TAMIS_OK)
        status = cli_signals_begin(&run.stop_fd, err);
    if (status == TAMIS_OK)
        status = open_locked(&run, args, err);
    if (status == TAMIS_OK)
        status = cli_stream_apply_filter(&run.stream, run.filter, run.path, true, err);
    if (status == TAMIS_OK)
        status = remove_records(&run, err);
    tamis_filter_free(run.filter);
    tamis_file_unlock(run.lock);
    cli_stream_release(&run.stream);
    return status;
}

const cli_command cmd_remove = {
    .name = "remove",
    .summary = "remove records from a filter in a file",
    .operands = "FILTER [FILE...]",
    .manual = &cli_manual_remove,
    .options = options,
    .conflicts = conflicts,
    .fields = CLI_FIELDS(fields),
    .run = run_remove,
};
