/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds records to a filter. A file and a server differ in what an error leaves behind:
 *
 *     file      lock -> read filter -> add all records in memory -> save -> unlock
 *     server    add batch by batch
 *
 * File: an error leaves the file unchanged. The lock is held throughout, so adds of other programs are not
 * lost.
 *
 * Server: an error leaves the keys of the batches before it on the server. With --print fresh some of their
 * records may not be printed yet, and no later run prints them. So add_to_server counts the keys on the
 * server, and report_unprinted compares their number with that of the printed records.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tamis/experimental/redis.h>

#include "cli/core/cli_rows.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_file.h"
#include "cli/filter/cli_filter.h"
#include "cli/input/cli_stream.h"
#include "cli/input/cli_summary.h"
#include "cli/process/cli_progress.h"
#include "cli/process/cli_signal.h"
#include "cli/server/cli_family.h"
#include "cli/server/cli_server.h"
#include "cli/server/cli_trace.h"

/* The options of add, in the order of the help. */
enum { ADD_PRINT = CLI_OPT_OWN, ADD_OVER_CAPACITY };

/* Records that --print prints. */
typedef enum add_print { ADD_PRINT_NONE, ADD_PRINT_FRESH, ADD_PRINT_SEEN } add_print;

static const char *const prints[] = {
    [ADD_PRINT_NONE] = "none", [ADD_PRINT_FRESH] = "fresh", [ADD_PRINT_SEEN] = "seen", NULL};

static const cli_option options[] = {
    {.id = ADD_PRINT,
     .name = "print",
     .type = CLI_CHOICE,
     .value = "WHICH",
     .fallback = "none",
     .choices = prints,
     .help = "Print the records that were not in the filter (fresh), or those that were (seen).",
     .more = "They are printed as they are read, before the filter is saved."},
    {.id = ADD_OVER_CAPACITY,
     .name = "allow-over-capacity",
     .type = CLI_FLAG,
     .help = "Also add records past the number that the filter was made for.",
     .more = "For kinds classic and blocked, which files of other programs have. No record is lost, but "
             "the rate of wrong answers rises with each one; a remark at the end gives the new rate. "
             "Without this option, the first new record past that number is an error, and the file stays "
             "as it was. For a filter on a server, the number of its records is estimated once, at the "
             "start. Records that others add during the run are not counted, and records added before "
             "the error stay. A family of filters, and layouts php1 to php3, have no such limit. A "
             "remark at the end names the filter if it holds more records than it is good for; for a "
             "family, this is checked for the members that got most of the records."},
    CLI_ROW_LOCK_WAIT,
    CLI_ROW_ITS_SECRET,
    CLI_ROW_TRACE,
    CLI_ROW_FILES_FROM,
    CLI_ROW_COMPRESS,
    CLI_ROWS_RECORDS("key", "Keys"),
    CLI_ROW_THREADS,
    CLI_ROW_STATS,
    CLI_ROW_JSON,
    CLI_ROW_PROGRESS,
    CLI_ROW_NO_PROGRESS,
    CLI_ROW_QUIET,
    {.name = NULL},
};

static const cli_conflict conflicts[] = {
    {CLI_OPT_TRACE, CLI_OPT_PROGRESS, "both write to standard error"},
    {CLI_OPT_PROGRESS, CLI_OPT_NO_PROGRESS, "one shows what the other hides"},
    {CLI_OPT_PROGRESS, CLI_OPT_QUIET, "one shows what the other hides"},
    {.why = NULL},
};

static const cli_summary_fields fields = {
    .records = {"records", "records", CLI_INTEGER, "Records read."},
    .absent = {"added", "added", CLI_INTEGER, "Records that were not in the filter."},
    .present = {"present", "present", CLI_INTEGER, "Records that were in the filter, or taken for one."},
    .unknown = {"unknown", "unknown", CLI_INTEGER,
                "For a filter on a server: records whose reply was lost, and which were in the filter when "
                "looked up again."},
    .bytes_in = {"bytes_in", "bytes", CLI_INTEGER, "Bytes of the records, terminators included."},
    .bytes_out = {"bytes_out", NULL, CLI_INTEGER, "Bytes that --print wrote."},
    .seconds = {"seconds", "seconds", CLI_NUMBER, "Duration of the run, in seconds."},
    .memory = {"memory", "filter memory", CLI_INTEGER, "Bytes of the filter at the end."},
    .memory_peak = {"memory_peak", NULL, CLI_INTEGER | CLI_NULL,
                    "Largest size of the filter in bytes, growth included; null = on a server."},
    .bits_per_key = {"bits_per_key", NULL, CLI_NUMBER | CLI_NULL,
                     "Bits of memory_peak per key in the filter; 0 = no keys, null = on a server."},
    .kind = {"kind", "kind", CLI_STRING,
             "Kind of the filter: classic, blocked, fingerprint, exact, counting or cuckoo."},
    .scheme = {"scheme", NULL, CLI_STRING, "Hash in use."},
    .capacity = {"capacity", NULL, CLI_INTEGER,
                 "Keys that the filter was made for; 0 = no limit, it grows, or not known."},
    .fpr = {"fpr", NULL, CLI_NUMBER,
            "Promised probability of a wrong answer, 0 to 1; 1 = none was promised."},
    .fpr_live = {"fpr_live", NULL, CLI_NUMBER,
                 "The same probability with the keys in the filter; 0 = the filter is empty."},
    .saturated = {"saturated", NULL, CLI_BOOLEAN,
                  "true: a record did not fit into the filter, or it holds more keys than it was made for."},
    .files = {"files", NULL, CLI_ARRAY_OF_OBJECTS,
              "One for each input that was opened, with file, records, added, present, unknown (for a filter "
              "on a server), missing, malformed and bytes_in."},
    CLI_SUMMARY_ROWS("read"),
};

/* Validated options of a run. Strings belong to argv. */
typedef struct add_config {
    cli_stream stream;
    const char *filter;
    const char *secret_file; /* NULL: none */
    add_print print;
    bool over_capacity;
    cli_lock_wait lock_wait;
    bool trace;
    bool is_family; /* `filter` is the URI of a family (cli_family.h) */
} add_config;

typedef struct add_run {
    add_config config;
    int stop_fd;
    tamis_lock *lock;
    tamis_filter *filter;
    cli_family *family;            /* family of filters; NULL: use `filter` */
    tamis_compression compression; /* compression of the file */
    cli_summary summary;
    uint64_t added;       /* server: records answered new or unknown */
    uint64_t unconfirmed; /* records of a failed batch that the server may have added */
} add_run;

/* Validates the parsed arguments and fills *config. The caller releases config->stream, also after an
 * error. */
static tamis_status configure(add_config *config, const cli_args *args, tamis_error *err) {
    const cli_value *values = args->values;
    cli_stream_given given = {.values = values, .threads = true, .reports = true};

    if (args->operand_count == 0)
        return cli_fail(err, "filter: missing; give its file first, as in tamis add FILTER FILE");
    config->filter = args->operands[0];
    config->secret_file = values[CLI_OPT_SECRET_FILE].text;
    config->print = (add_print)values[ADD_PRINT].number;
    config->over_capacity = values[ADD_OVER_CAPACITY].given;
    config->lock_wait = cli_lock_wait_of(&values[CLI_OPT_LOCK_WAIT]);
    config->is_family = cli_server_is_family(config->filter);
    given.inputs = args->operands + 1;
    given.input_count = args->operand_count - 1;
    given.prints = config->print != ADD_PRINT_NONE;
    given.others.fields = config->is_family;
    if (cli_stream_configure(&config->stream, &given, err) != TAMIS_OK ||
        cli_stream_keep_apart(&config->stream, config->filter, "the filter", err) != TAMIS_OK)
        return err->status;
    if (config->print == ADD_PRINT_NONE && values[CLI_OPT_COMPRESS].given)
        return cli_fail(
            err, "--compress: nothing is printed that it could compress; give --print too, or leave it out");
    if (config->print != ADD_PRINT_NONE && cli_output_check(err) != TAMIS_OK)
        return err->status;
    /* A server keeps what was added. With one thread, adding is not far ahead of printing if printing
     * fails. */
    if (config->print == ADD_PRINT_FRESH && cli_server_is_uri(config->filter) &&
        !values[CLI_OPT_THREADS].given)
        config->stream.threads = 1;
    config->trace = values[CLI_OPT_TRACE].given;
    if (config->trace) {
        config->stream.progress = false;
        if (cli_trace_check(config->filter, err) != TAMIS_OK)
            return err->status;
    }
    return cli_filter_check_secret(config->secret_file, err);
}

/* The number of keys of a failed batch that may be on the server, `max` at most. */
static uint64_t count_unconfirmed(const add_run *run, uint64_t max) {
    uint64_t count =
        run->family ? cli_family_unconfirmed(run->family) : tamis_redis_filter_unconfirmed(run->filter);

    return count < max ? count : max;
}

/* Adds keys, and counts the keys that the server has, whether or not their records get printed. */
static tamis_status add_to_server(void *context, const tamis_stream_batch *b, size_t *done,
                                  tamis_error *err) {
    add_run *run = context;
    const tamis_status status =
        run->family ? cli_family_query(run->family, b, done, err)
                    : tamis_filter_add_many(run->filter, b->keys, b->count, b->answers, done, err);

    for (size_t i = 0; i < *done; i++)
        run->added += b->answers[i] != TAMIS_PRESENT;
    if (status != TAMIS_OK)
        run->unconfirmed = count_unconfirmed(run, b->count - *done);
    return status;
}

static void set_family_source(void *context, const tamis_stream_source *source) {
    const add_run *run = context;

    cli_family_set_source(run->family, source);
}

static tamis_status stream_records(add_run *run, tamis_error *err) {
    const add_config *config = &run->config;
    cli_stream records = config->stream;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options stream_options = TAMIS_STREAM_OPTIONS_INIT;

    if (cli_server_is_uri(config->filter)) {
        service.context = run;
        service.query = add_to_server;
    } else {
        cli_filter_set_service(&service, run->filter);
    }
    if (run->family) {
        service.set_source = set_family_source;
        cli_family_prepare_stream(&records);
    } else {
        cli_key_fit(&records.form, tamis_hasher_scheme(tamis_filter_hasher(run->filter)),
                    cli_stream_line_end(&records));
    }
    stream_options.output = config->print == ADD_PRINT_FRESH ? "-" : NULL;
    stream_options.duplicates = config->print == ADD_PRINT_SEEN ? "-" : NULL;
    stream_options.durable = true; /* a saved filter must not know records that are missing from the output */
    stream_options.stop_fd = run->stop_fd;
    stream_options.first_malformed = &run->summary.first_malformed;
    return cli_stream_run(&records, &service, &stream_options, &run->summary.stats, err);
}

/* Locks and opens the filter. The lock is held until the filter is saved. */
static tamis_status open_locked(add_run *run, tamis_error *err) {
    const add_config *config = &run->config;
    cli_secret secret;
    const cli_secret *given = config->secret_file ? &secret : NULL;
    tamis_status status;

    if (config->secret_file) {
        status = cli_secret_read(&secret, config->secret_file, run->stop_fd, err);
        if (status != TAMIS_OK)
            return status;
    }
    const cli_filter_file file = {.path = config->filter,
                                  .secret = given,
                                  .access = config->over_capacity ? CLI_OVER_CAPACITY : CLI_CHANGE,
                                  .lock_wait = config->lock_wait,
                                  .form = config->stream.form};
    if (config->is_family)
        status = cli_family_open(&run->family,
                                 &(cli_family_setup){.uri = config->filter,
                                                     .extract = &config->stream.extract,
                                                     .adds = true,
                                                     .trace = config->trace,
                                                     .form = config->stream.form,
                                                     .secret = given},
                                 err);
    else
        status = cli_filter_lock_and_open(&run->lock, &run->filter, &file, &run->compression, err);
    if (config->secret_file)
        cli_secret_forget(&secret);
    return status;
}

/* Adds the remedy for a full filter to *err. */
static void fail_full(const add_run *run, tamis_error *err) {
    const tamis_plan *plan = tamis_filter_plan(run->filter);
    const char *remedy = "build a larger one";

    if (tamis_kind_is_bloom(plan->kind))
        remedy = CLI_FILTER_LARGER ", or give --allow-over-capacity and let its rate rise";
    else if (plan->capacity > 0)
        remedy = CLI_FILTER_LARGER;
    cli_filter_full(run->filter, run->config.filter, run->summary.stats.records + 1, remedy, err);
}

/* Reports new keys that the server has, or may have, although their records were not printed. Reports them
 * even with --quiet, since no later run prints them. True if there were any. */
static bool report_unprinted(const add_run *run) {
    const uint64_t printed = run->summary.stats.printed;
    const uint64_t lost = run->added > printed ? run->added - printed : 0;
    char shown[CLI_SERVER_SHOWN], number[CLI_TEXT_NUMBER], doubtful[CLI_TEXT_NUMBER], what[200],
        message[CLI_SERVER_SHOWN + 300];

    if (run->config.print != ADD_PRINT_FRESH || lost + run->unconfirmed == 0)
        return false;
    cli_text_count(number, sizeof number, lost);
    cli_text_count(doubtful, sizeof doubtful, run->unconfirmed);
    if (lost == 0)
        snprintf(what, sizeof what, "up to %s new key%s may be in it", doubtful,
                 run->unconfirmed == 1 ? "" : "s");
    else if (run->unconfirmed == 0)
        snprintf(what, sizeof what, "%s new key%s in it", number, lost == 1 ? " is" : "s are");
    else
        snprintf(what, sizeof what, "%s new key%s in it, and up to %s more may be", number,
                 lost == 1 ? " is" : "s are", doubtful);
    snprintf(message, sizeof message,
             "%.300s: %s, without their records being printed; no later run prints those: find them in the "
             "input, behind the last one printed",
             cli_server_show(run->config.filter, shown), what);
    cli_report(message);
    return true;
}

/* Prints remarks about the filter after a run that returned `status`. */
static void report_filter(const add_run *run, tamis_status status) {
    const char *path = run->config.filter;
    const bool remarks = !run->config.stream.quiet && !run->config.stream.json;
    const bool on_server = cli_server_is_uri(path);
    char shown[CLI_SERVER_SHOWN];

    if (status == TAMIS_E_NOT_FOUND)
        return; /* the filter is gone: no key is in it, and a later run prints all records */
    if (status != TAMIS_OK) {
        const bool is_reported = report_unprinted(run);
        if (!is_reported && status != TAMIS_E_PIPE && !run->family && run->summary.stats.records > 0 &&
            remarks)
            cli_filter_report_kept(path);
        return;
    }
    if (!remarks)
        return;
    if (run->family) {
        cli_family_report_overfull(run->family, path);
        return;
    }
    /* Not for every filter on a server: the server would count all bits for it. */
    if (run->config.over_capacity || !on_server)
        cli_filter_report_overfull(run->filter, cli_server_show(path, shown), CLI_FILTER_LARGER);
    if (on_server)
        cli_server_report_dense(run->filter, path);
}

static tamis_status add_records(add_run *run, tamis_error *err) {
    const double start = cli_progress_now();
    tamis_status status = stream_records(run, err);

    if (status == TAMIS_OK && !run->family)
        status = cli_file_save(run->filter, run->config.filter, TAMIS_FORMAT_AUTO, run->compression, err);
    else if (status == TAMIS_E_FULL && !run->family)
        fail_full(run, err);
    else if (status == TAMIS_E_UNSUPPORTED && tamis_filter_plan(run->filter)->kind == TAMIS_KIND_WINDOW)
        cli_remedy(err, "use tamis dedup --window --filter");
    run->summary.seconds = cli_progress_now() - start;
    report_filter(run, status);
    return cli_summary_conclude(&run->summary, &run->config.stream, run->filter, status, err);
}

static tamis_status run_add(const cli_args *args, bool *negative, tamis_error *err) {
    add_run run = {.stop_fd = -1, .summary = CLI_SUMMARY_INIT};

    (void)negative;
    run.summary.fields = &fields;
    tamis_status status = configure(&run.config, args, err);
    run.summary.into = run.config.filter;
    run.summary.passes = run.config.print == ADD_PRINT_FRESH;
    if (status == TAMIS_OK)
        status = cli_signals_begin(&run.stop_fd, err);
    run.summary.on_server = status == TAMIS_OK && cli_server_is_uri(run.config.filter);
    if (status == TAMIS_OK)
        status = open_locked(&run, err);
    if (status == TAMIS_OK && !run.family)
        status = cli_stream_apply_filter(&run.config.stream, run.filter, run.config.filter, true, err);
    if (status == TAMIS_OK && run.config.trace && !run.family)
        status = cli_trace_filter(run.filter, err);
    if (status == TAMIS_OK && !run.family && !run.config.over_capacity)
        status = cli_server_enforce_capacity(run.filter, err);
    if (status == TAMIS_OK)
        status = add_records(&run, err);
    tamis_filter_free(run.filter);
    cli_family_close(run.family);
    tamis_file_unlock(run.lock);
    cli_stream_release(&run.config.stream);
    return status;
}

const cli_command cmd_add = {
    .name = "add",
    .summary = "add records to a filter in a file",
    .operands = "FILTER [FILE...]",
    .manual = &cli_manual_add,
    .options = options,
    .conflicts = conflicts,
    .fields = CLI_FIELDS(fields),
    .run = run_add,
};
