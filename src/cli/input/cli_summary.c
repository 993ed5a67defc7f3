/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The summary of a run: text for --stats, an object for --json, and the closing remarks.
 *
 *     statistics of the stream + filter --> rows of cli_summary_fields --> text, JSON, list of the manual
 *
 * A command leaves rows out that its runs never have. Without a summary, remarks count the records that had
 * no key or were malformed.
 */
#include "cli/input/cli_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_file.h"
#include "cli/filter/cli_filter.h"
#include "cli/process/cli_profile.h"
#include "cli/process/cli_signal.h"

/* fewest keys for bits a key: with fewer, the figure shows mostly the initial size of the filter */
enum { KEYS_TO_AVERAGE = 1024 };

/* At least a microsecond, so that a very short run has no infinite rate. */
static double seconds_of(const cli_summary *summary) {
    return summary->seconds > 1e-6 ? summary->seconds : 1e-6;
}

static double bits_per_key(const cli_summary *summary) {
    return summary->info.added > 0 ? 8.0 * (double)summary->info.memory_peak / (double)summary->info.added
                                   : 0.0;
}

static const char *start_name(const tamis_stream_result *result) {
    static const char *const names[] = {[TAMIS_STREAM_NEW] = "new",
                                        [TAMIS_STREAM_RESUMED] = "resumed",
                                        [TAMIS_STREAM_GROWN] = "grown",
                                        [TAMIS_STREAM_FINISHED] = "finished"};

    return names[result->start];
}

static double per_second(const cli_summary *summary, uint64_t now, uint64_t before) {
    return (double)(now - before) / seconds_of(summary);
}

/* A number of records. */
typedef struct counter {
    const cli_field *field;
    uint64_t count;
    bool is_possible; /* false: this run cannot have such records, and prints none */
} counter;

enum { RECORDS, ABSENT, PRESENT, UNKNOWN, LATE, REDELIVERED, MISSING, MALFORMED, COUNTERS };

/* Lists the counters of the whole run, or of one input, in the order of JSON and text. */
static void list_counters(counter list[COUNTERS], const cli_summary *summary, const tamis_stream_stats *stats,
                          bool is_whole_run) {
    const cli_summary_fields *fields = summary->fields;
    const counter counters[COUNTERS] = {
        [RECORDS] = {&fields->records, stats->records, true},
        [ABSENT] = {&fields->absent, stats->unique, true},
        [PRESENT] = {&fields->present, stats->duplicates, true},
        [UNKNOWN] = {&fields->unknown, stats->unknown,
                     summary->drops || summary->on_server || summary->keeps},
        [LATE] = {&fields->late, stats->late, summary->drops},
        [REDELIVERED] = {&fields->redelivered, stats->redelivered, is_whole_run && summary->result},
        [MISSING] = {&fields->missing, stats->missing, true},
        [MALFORMED] = {&fields->malformed, stats->malformed, true},
    };

    memcpy(list, counters, sizeof counters);
}

static void print_share(FILE *out, const cli_field *field, uint64_t count, uint64_t records) {
    char text[CLI_TEXT_NUMBER];

    fprintf(out, "%-22s %15s", field->label, cli_text_count(text, sizeof text, count));
    if (records > 0)
        fprintf(out, "  %6.2f %%", 100.0 * (double)count / (double)records);
    fputc('\n', out);
}

/* A run that read no records used only the caller's thread. */
static uint32_t threads_of(const cli_summary *summary) {
    return summary->stats.threads > 0 ? summary->stats.threads : 1;
}

static void print_speed(FILE *out, const cli_summary *summary) {
    char text[CLI_TEXT_NUMBER], more[CLI_TEXT_NUMBER];
    const uint32_t threads = threads_of(summary);

    fprintf(out, "%-22s %15s", summary->fields->bytes_in.label,
            cli_text_count(text, sizeof text, summary->stats.bytes_in));
    if (summary->stats.bytes_in >= 1000) /* else both numbers are equal */
        fprintf(out, "  %s", cli_text_volume(more, sizeof more, (double)summary->stats.bytes_in));
    fputc('\n', out);
    fprintf(out, "%-22s %15.3f\n", summary->fields->seconds.label, summary->seconds);
    cli_text_metric(text, sizeof text, per_second(summary, summary->stats.records, summary->before.records));
    cli_text_volume(more, sizeof more,
                    per_second(summary, summary->stats.bytes_in, summary->before.bytes_in));
    fprintf(out, "%-22s %15s  records/s, %s/s, %" PRIu32 " thread%s\n",
            summary->fields->records_per_second.label, text, more, threads, threads == 1 ? "" : "s");
}

static void print_filter(FILE *out, const cli_summary *summary) {
    char text[CLI_TEXT_NUMBER], peak[CLI_TEXT_NUMBER];

    fprintf(out, "%-22s %15s", summary->on_server ? "server memory" : summary->fields->memory.label,
            cli_text_bytes(text, sizeof text, summary->info.memory));
    if (!summary->on_server) /* a server reports neither peak nor bits a key */
        fprintf(out, "  peak %s", cli_text_bytes(peak, sizeof peak, summary->info.memory_peak));
    if (!summary->on_server && summary->info.added >= KEYS_TO_AVERAGE)
        fprintf(out, ", %.1f bits a key", bits_per_key(summary));
    fprintf(out, "\n%-22s %15s  scheme %s, rate %s now\n", summary->fields->kind.label,
            tamis_kind_name(summary->info.kind), tamis_scheme_name(summary->scheme),
            cli_text_real(text, sizeof text, summary->info.fpr_live));
    if (summary->drops)
        fprintf(out, "%-22s %15s  records taken for duplicates wrongly\n", summary->fields->false_drops.label,
                cli_text_expected(text, sizeof text, summary->info.false_present));
}

static void print_cell(FILE *out, int width, uint64_t count) {
    char text[CLI_TEXT_NUMBER];

    fprintf(out, " %*s", width, cli_text_count(text, sizeof text, count));
}

/* Prints a table with a line for each input that was started. */
static void print_each(FILE *out, const cli_summary *summary, const cli_stream *stream) {
    const cli_summary_fields *fields = summary->fields;
    const bool unknown = summary->stats.unknown > 0;

    if (!stream->input_stats || stream->input_count < 2)
        return;
    fprintf(out, "%-22s %15s %12s %12s", fields->file.label, fields->records.label, fields->absent.label,
            fields->present.label);
    if (unknown)
        fprintf(out, " %9s", summary->on_server ? "unknown" : summary->keeps ? "kept" : "unchecked");
    fprintf(out, " %9s %9s %15s\n", fields->missing.label, fields->malformed.label, fields->bytes_in.label);
    for (size_t i = 0; i < stream->input_count; i++) {
        const tamis_stream_stats *file_stats = &stream->input_stats[i];
        const size_t size = strlen(stream->inputs[i]);
        if (file_stats->struct_size == 0)
            continue;
        cli_text_print(out, stream->inputs[i]);
        fprintf(out, "%*s", size < 22 ? (int)(22 - size) : 0, "");
        print_cell(out, 15, file_stats->records);
        print_cell(out, 12, file_stats->unique);
        print_cell(out, 12, file_stats->duplicates);
        if (unknown)
            print_cell(out, 9, file_stats->unknown);
        print_cell(out, 9, file_stats->missing);
        print_cell(out, 9, file_stats->malformed);
        print_cell(out, 15, file_stats->bytes_in);
        fputc('\n', out);
    }
}

static void print_text(FILE *out, const cli_summary *summary, const cli_stream *stream) {
    counter counters[COUNTERS];

    list_counters(counters, summary, &summary->stats, true);
    for (int i = 0; i < COUNTERS; i++)
        if (i <= PRESENT || (counters[i].is_possible && counters[i].count > 0))
            print_share(out, counters[i].field, counters[i].count,
                        i == RECORDS ? 0 : counters[RECORDS].count);
    print_speed(out, summary);
    if (summary->plan)
        print_filter(out, summary);
    if (summary->result)
        fprintf(out, "%-22s %15s%s%s\n", summary->fields->run.label, start_name(summary->result),
                summary->result->inexact ? "  records may come twice after a crash: " : "",
                summary->result->inexact ? summary->result->inexact : "");
    print_each(out, summary, stream);
    if (summary->interrupted || summary->failed)
        fprintf(out, "%-22s %15s  what is above was answered until then\n",
                summary->failed ? summary->fields->failed.label : summary->fields->interrupted.label, "yes");
}

static void put_filter(json_t *object, const cli_summary *summary) {
    const cli_summary_fields *fields = summary->fields;
    const tamis_filter_info *info = &summary->info;

    if (!summary->plan)
        return;
    cli_json_integer(object, &fields->memory, info->memory);
    cli_json_integer_or_null(object, &fields->memory_peak, !summary->on_server, info->memory_peak);
    cli_json_number(object, &fields->bits_per_key, summary->on_server ? NAN : bits_per_key(summary));
    cli_json_string(object, &fields->kind, tamis_kind_name(info->kind));
    cli_json_string(object, &fields->scheme, tamis_scheme_name(summary->scheme));
    cli_json_integer(object, &fields->capacity, cli_filter_promises(summary->plan) ? info->capacity : 0);
    cli_json_number(object, &fields->fpr, summary->plan->fpr);
    cli_json_number(object, &fields->fpr_live, info->fpr_live);
    if (summary->drops)
        cli_json_number(object, &fields->false_drops, info->false_present);
    cli_json_boolean(object, &fields->saturated, info->saturated);
}

static void put_counters(json_t *object, const counter counters[COUNTERS]) {
    for (int i = 0; i < COUNTERS; i++)
        if (counters[i].is_possible)
            cli_json_integer(object, counters[i].field, counters[i].count);
}

static void put_each(json_t *object, const cli_summary *summary, const cli_stream *stream) {
    const cli_summary_fields *fields = summary->fields;
    json_t *files = json_array();
    counter counters[COUNTERS];

    for (size_t i = 0; i < cli_stream_inputs(stream); i++) {
        const tamis_stream_stats *file_stats = &stream->input_stats[i];
        if (file_stats->struct_size == 0)
            continue;
        json_t *file = json_object();
        cli_json_string(file, &fields->file, stream->input_count > 0 ? stream->inputs[i] : "-");
        list_counters(counters, summary, file_stats, false);
        put_counters(file, counters);
        cli_json_integer(file, &fields->bytes_in, file_stats->bytes_in);
        cli_json_append(files, file);
    }
    cli_json_set(object, &fields->files, files);
}

static void print_json(FILE *out, const cli_summary *summary, const cli_stream *stream) {
    const cli_summary_fields *fields = summary->fields;
    const tamis_stream_stats *stats = &summary->stats;
    tamis_error unused = TAMIS_ERROR_INIT; /* cli_summary_print reports a failed write */
    json_t *object = json_object();
    counter counters[COUNTERS];

    list_counters(counters, summary, stats, true);
    put_counters(object, counters);
    cli_json_integer(object, &fields->bytes_in, stats->bytes_in);
    if (fields->bytes_out.name) /* the command can print records */
        cli_json_integer(object, &fields->bytes_out, stats->bytes_out);
    cli_json_number(object, &fields->seconds, summary->seconds);
    cli_json_number(object, &fields->records_per_second,
                    per_second(summary, stats->records, summary->before.records));
    cli_json_number(object, &fields->bytes_per_second,
                    per_second(summary, stats->bytes_in, summary->before.bytes_in));
    cli_json_integer(object, &fields->threads, threads_of(summary));
    put_filter(object, summary);
    if (stream->input_stats)
        put_each(object, summary, stream);
    if (summary->result) {
        cli_json_string(object, &fields->run, start_name(summary->result));
        cli_json_string(object, &fields->inexact, summary->result->inexact);
        cli_json_integer(object, &fields->partial, summary->result->unterminated_count);
    }
    if (summary->profile)
        cli_profile_put(object, &fields->times, summary->profile);
    cli_json_boolean(object, &fields->interrupted, summary->interrupted);
    cli_json_boolean(object, &fields->failed, summary->failed);
    if (cli_json_write(object, out, 0, "--json", &unused) == TAMIS_E_NOMEM)
        fputs("{}\n", out);
}

tamis_status cli_summary_set_filter(cli_summary *summary, const tamis_filter *filter, tamis_error *err) {
    const tamis_status status = tamis_filter_info_get(filter, &summary->info, err); /* err may be NULL */

    if (status != TAMIS_OK)
        return status;
    summary->plan = tamis_filter_plan(filter);
    summary->scheme = tamis_hasher_scheme(tamis_filter_hasher(filter));
    return TAMIS_OK;
}

tamis_status cli_summary_print(const cli_summary *summary, const cli_stream *stream, tamis_error *err) {
    char why[80];

    errno = 0;
    if (stream->json)
        print_json(stderr, summary, stream);
    else if (stream->stats)
        print_text(stderr, summary, stream);
    if (summary->profile && !stream->json)
        cli_profile_print(stderr, &summary->fields->times, summary->profile, summary->stats.records);
    if (fflush(stderr) == 0 && !ferror(stderr))
        return TAMIS_OK;
    if (!summary->failed)
        cli_fail(err, "standard error: the summary cannot be written: %s; redirect it to a file",
                 errno != 0 ? cli_errno_text(why, sizeof why, errno) : "not all was taken");
    return err->status;
}

/* True if no record has a key. Malformed records do not count. */
static bool has_no_keys(const tamis_stream_stats *stats) {
    return stats->missing > 0 && stats->missing + stats->malformed == stats->records;
}

static void report_malformed(const cli_summary *summary, const cli_stream *stream) {
    const uint64_t malformed = summary->stats.malformed;
    char count[CLI_TEXT_NUMBER], message[100];

    if (malformed == 0)
        return;
    /* TAMIS_OK: the malformed records were in an earlier part of a run with --state. */
    if (summary->first_malformed.status != TAMIS_OK)
        cli_report(summary->first_malformed.text);
    if (stream->stats)
        return;
    snprintf(message, sizeof message, "%s malformed record%s %s",
             cli_text_count(count, sizeof count, malformed), malformed == 1 ? "" : "s",
             stream->malformed == TAMIS_STREAM_PASS && summary->passes ? "passed on" : "skipped");
    cli_report(message);
}

/* Records without a key are counted in a warning, unless --missing was given and some record has a key. */
static void report_missing(const cli_summary *summary, const cli_stream *stream) {
    const tamis_stream_stats *stats = &summary->stats;
    const bool passed = stream->missing == TAMIS_STREAM_PASS;
    const bool is_single = stats->missing == 1;
    char count[CLI_TEXT_NUMBER], records[CLI_TEXT_NUMBER], outcome[300], message[400];

    if (stats->missing == 0 || (stream->missing_given && !has_no_keys(stats)))
        return;
    if (passed && summary->passes)
        snprintf(outcome, sizeof outcome, "%s passed on", is_single ? "was" : "were");
    else if (summary->into)
        snprintf(outcome, sizeof outcome, "%s not in %.200s", is_single ? "is" : "are", summary->into);
    else
        snprintf(outcome, sizeof outcome, "%s left out", is_single ? "was" : "were");
    snprintf(message, sizeof message, "%s of %s had no key and %s; see --missing, --key",
             cli_text_count(count, sizeof count, stats->missing),
             cli_text_records(records, sizeof records, stats->records), outcome);
    cli_report(message);
}

void cli_summary_report_skipped(const cli_summary *summary, const cli_stream *stream) {
    if (stream->json || stream->quiet)
        return;
    report_malformed(summary, stream);
    if (!stream->stats && !summary->failed && !(summary->interrupted && summary->into))
        report_missing(summary, stream);
}

tamis_status cli_summary_conclude(cli_summary *summary, const cli_stream *stream, const tamis_filter *filter,
                                  tamis_status status, tamis_error *err) {
    tamis_status code = TAMIS_OK;

    if (status == TAMIS_E_PIPE)
        return status;
    summary->interrupted = status == TAMIS_E_INTERRUPTED;
    summary->failed = status != TAMIS_OK && !summary->interrupted;
    cli_stream_advise(status, err);
    if (summary->failed && summary->stats.records == 0)
        return err->status; /* the run has not started */
    cli_summary_report_skipped(summary, stream);
    if (stream->stats) {
        tamis_error *first = summary->failed ? NULL : err;
        if (filter)
            code = cli_summary_set_filter(summary, filter, first);
        /* After a failure, perhaps of the server, the summary is printed without what only the filter
         * knows. */
        if (code == TAMIS_OK || summary->failed)
            code = cli_summary_print(summary, stream, err);
    }
    if (summary->failed || code != TAMIS_OK)
        return err->status;
    if (!summary->interrupted)
        return TAMIS_OK;
    if (err->sys_errno != 0)
        cli_report(err->text); /* the last records could not be written */
    return status;
}
