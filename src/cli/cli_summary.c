/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/cli_file.h"
#include "cli/cli_filter.h"
#include "cli/cli_json.h"
#include "cli/cli_signal.h"
#include "cli/cli_text.h"

/* With fewer keys than this the bits of each are those of a filter that has hardly begun. */
enum { KEYS_TO_AVERAGE = 1024 };

/* As precise as the clock; keeps a run of no time from having an infinite rate. */
static double seconds_of(const cli_summary *summary) {
    return summary->seconds > 1e-6 ? summary->seconds : 1e-6;
}

/* Bits of the filter's peak a key that was put into it; 0 where none was. */
static double bits_per_key(const cli_summary *summary) {
    return summary->info.added > 0 ? 8.0 * (double)summary->info.memory_peak / (double)summary->info.added
                                   : 0.0;
}

static void print_share(FILE *out, const char *name, uint64_t count, uint64_t records) {
    char text[CLI_TEXT_NUMBER];

    fprintf(out, "%-22s %15s", name, cli_text_count(text, sizeof text, count));
    if (records > 0)
        fprintf(out, "  %6.2f %%", 100.0 * (double)count / (double)records);
    fputc('\n', out);
}

static void print_speed(FILE *out, const cli_summary *summary) {
    char text[CLI_TEXT_NUMBER], more[CLI_TEXT_NUMBER];
    double seconds = seconds_of(summary);

    fprintf(out, "%-22s %15s", "bytes", cli_text_count(text, sizeof text, summary->stats.bytes_in));
    if (summary->stats.bytes_in >= 1000) /* else it would say the same again */
        fprintf(out, "  %s", cli_text_volume(more, sizeof more, (double)summary->stats.bytes_in));
    fputc('\n', out);
    fprintf(out, "%-22s %15.3f\n", "seconds", summary->seconds);
    cli_text_metric(text, sizeof text, (double)summary->stats.records / seconds);
    cli_text_volume(more, sizeof more, (double)summary->stats.bytes_in / seconds);
    fprintf(out, "%-22s %15s  records/s, %s/s\n", "rate", text, more);
}

static void print_filter(FILE *out, const cli_summary *summary) {
    char text[CLI_TEXT_NUMBER], peak[CLI_TEXT_NUMBER];

    cli_text_bytes(text, sizeof text, summary->info.memory);
    cli_text_bytes(peak, sizeof peak, summary->info.memory_peak);
    fprintf(out, "%-22s %15s  peak %s", "memory", text, peak);
    if (summary->info.added >= KEYS_TO_AVERAGE)
        fprintf(out, ", %.1f bits a key", bits_per_key(summary));
    fprintf(out, "\n%-22s %15s  scheme %s, rate %s now\n", "kind", tamis_kind_name(summary->info.kind),
            tamis_scheme_name(summary->scheme), cli_text_real(text, sizeof text, summary->info.fpr_live));
    if (summary->drops)
        fprintf(out, "%-22s %15s  records taken for duplicates wrongly\n", "estimated false drops",
                cli_text_expected(text, sizeof text, summary->info.false_fresh));
}

/* A line for each input that was begun, under the names of its columns. */
static void print_each(FILE *out, const cli_summary *summary, const cli_stream *stream) {
    char text[CLI_TEXT_NUMBER];

    if (stream->each == NULL)
        return;
    fprintf(out, "%-22s %15s %12s %12s %9s %9s %15s\n", "file", "records", summary->fresh, summary->seen,
            "missing", "malformed", "bytes");
    for (size_t i = 0; i < stream->input_count; i++) {
        const tamis_stream_stats *of = &stream->each[i];
        const uint64_t rest[] = {of->unique, of->duplicates, of->missing, of->malformed, of->bytes_in};
        static const int widths[] = {12, 12, 9, 9, 15};
        size_t size = strlen(stream->inputs[i]);
        if (of->struct_size == 0)
            continue;
        cli_file_print(out, stream->inputs[i]);
        fprintf(out, "%*s %15s", size < 22 ? (int)(22 - size) : 0, "",
                cli_text_count(text, sizeof text, of->records));
        for (size_t j = 0; j < sizeof rest / sizeof rest[0]; j++)
            fprintf(out, " %*s", widths[j], cli_text_count(text, sizeof text, rest[j]));
        fputc('\n', out);
    }
}

static void print_text(FILE *out, const cli_summary *summary, const cli_stream *stream) {
    const tamis_stream_stats *stats = &summary->stats;

    print_share(out, "records", stats->records, 0);
    print_share(out, summary->fresh, stats->unique, stats->records);
    print_share(out, summary->seen, stats->duplicates, stats->records);
    if (stats->unknown > 0)
        print_share(out, summary->on_server ? "unknown" : "passed on unasked", stats->unknown,
                    stats->records);
    if (stats->missing > 0)
        print_share(out, "missing", stats->missing, stats->records);
    if (stats->malformed > 0)
        print_share(out, "malformed", stats->malformed, stats->records);
    print_speed(out, summary);
    if (summary->plan != NULL)
        print_filter(out, summary);
    print_each(out, summary, stream);
    if (summary->interrupted || summary->failed)
        fprintf(out, "%-22s %15s  what is above was answered until then\n",
                summary->failed ? "failed" : "interrupted", "yes");
}

/* Answers how many members it has put in. */
static size_t put_filter(json_t *object, const cli_summary *summary) {
    const tamis_filter_info *info = &summary->info;

    if (summary->plan == NULL)
        return 0;
    cli_json_count(object, "memory", info->memory);
    cli_json_count(object, "memory_peak", info->memory_peak);
    cli_json_real(object, "bits_per_key", bits_per_key(summary));
    cli_json_text(object, "kind", tamis_kind_name(info->kind));
    cli_json_text(object, "scheme", tamis_scheme_name(summary->scheme));
    cli_json_count(object, "capacity", cli_filter_promises(summary->plan) ? info->capacity : 0);
    cli_json_real(object, "fpr", summary->plan->fpr);
    cli_json_real(object, "fpr_live", info->fpr_live);
    if (summary->drops)
        cli_json_real(object, "false_drops", info->false_fresh);
    cli_json_bool(object, "saturated", info->saturated);
    return summary->drops ? 10 : 9;
}

static void put_each(json_t *object, const cli_summary *summary, const cli_stream *stream) {
    json_t *files = json_array();

    for (size_t i = 0; i < stream->input_count; i++) {
        const tamis_stream_stats *of = &stream->each[i];
        json_t *file = of->struct_size > 0 ? json_object() : NULL;
        if (file == NULL)
            continue;
        cli_file_json_text(file, "file", stream->inputs[i]);
        cli_json_count(file, "records", of->records);
        cli_json_count(file, summary->fresh, of->unique);
        cli_json_count(file, summary->seen, of->duplicates);
        cli_json_count(file, "missing", of->missing);
        cli_json_count(file, "malformed", of->malformed);
        cli_json_count(file, "bytes_in", of->bytes_in);
        json_array_append_new(files, file);
    }
    json_object_set_new(object, "files", files);
}

static void print_json(FILE *out, const cli_summary *summary, const cli_stream *stream) {
    const tamis_stream_stats *stats = &summary->stats;
    json_t *object = json_object();
    size_t members = 12;

    cli_json_count(object, "records", stats->records);
    cli_json_count(object, summary->fresh, stats->unique);
    cli_json_count(object, summary->seen, stats->duplicates);
    if (summary->drops || summary->on_server)
        cli_json_count(object, "unknown", stats->unknown);
    else
        members--;
    cli_json_count(object, "missing", stats->missing);
    cli_json_count(object, "malformed", stats->malformed);
    cli_json_count(object, "bytes_in", stats->bytes_in);
    cli_json_count(object, "bytes_out", stats->bytes_out);
    cli_json_real(object, "seconds", summary->seconds);
    cli_json_real(object, "records_per_second", (double)stats->records / seconds_of(summary));
    cli_json_real(object, "bytes_per_second", (double)stats->bytes_in / seconds_of(summary));
    members += put_filter(object, summary);
    if (stream->each != NULL) {
        put_each(object, summary, stream);
        members++;
    }
    cli_json_bool(object, "interrupted", summary->interrupted);
    cli_json_bool(object, "failed", summary->failed);
    if (!cli_json_write(object, members + 1, out, 0))
        fputs("{}\n", out);
}

int cli_summary_take(cli_summary *summary, const tamis_filter *filter, tamis_error *err) {
    if (tamis_filter_info_get(filter, &summary->info, err) != TAMIS_OK)
        return CLI_FAILED;
    summary->plan = tamis_filter_plan(filter);
    summary->scheme = tamis_hasher_scheme(tamis_filter_hasher(filter));
    return CLI_DONE;
}

int cli_summary_print(const cli_summary *summary, const cli_stream *stream, tamis_error *err) {
    char why[80];

    errno = 0;
    if (stream->json)
        print_json(stderr, summary, stream);
    else
        print_text(stderr, summary, stream);
    if (fflush(stderr) == 0 && !ferror(stderr))
        return CLI_DONE;
    if (!summary->failed)
        cli_fail(err, "standard error: the summary cannot be written: %s; redirect it to a file",
                 errno != 0 ? cli_errno_text(why, sizeof why, errno) : "not all was taken");
    return CLI_FAILED;
}

void cli_summary_tell(const cli_summary *summary, const cli_stream *stream) {
    const tamis_stream_stats *stats = &summary->stats;
    char malformed[CLI_TEXT_NUMBER], missing[CLI_TEXT_NUMBER], also[80] = "", sentence[400];

    if (stats->malformed == 0 || stream->stats || stream->quiet)
        return;
    if (stats->missing > 0)
        snprintf(also, sizeof also, ", and %s had no key",
                 cli_text_count(missing, sizeof missing, stats->missing));
    snprintf(sentence, sizeof sentence,
             "%s: malformed and %s%s; give --on-error fail to be told where the first one is",
             cli_text_records(malformed, sizeof malformed, stats->malformed),
             stream->malformed == TAMIS_STREAM_DROP ? "skipped" : "not asked", also);
    cli_report(sentence);
}

int cli_summary_conclude(cli_summary *summary, const cli_stream *stream, const tamis_filter *filter,
                         tamis_status status, tamis_error *err) {
    int code = CLI_DONE;

    if (status == TAMIS_E_PIPE)
        return CLI_PIPE_GONE;
    summary->interrupted = status == TAMIS_E_INTERRUPTED;
    summary->failed = status != TAMIS_OK && !summary->interrupted;
    cli_stream_advise(status, err);
    if (summary->failed && summary->stats.records == 0)
        return CLI_FAILED; /* it has not begun */
    cli_summary_tell(summary, stream);
    if (stream->stats) {
        tamis_error *first = summary->failed ? NULL : err;
        if (filter != NULL && cli_summary_take(summary, filter, first) != CLI_DONE)
            code = CLI_FAILED;
        else
            code = cli_summary_print(summary, stream, err);
    }
    if (summary->failed || code != CLI_DONE)
        return CLI_FAILED;
    if (!summary->interrupted)
        return CLI_DONE;
    if (err->sys_errno != 0)
        cli_report(err->text); /* the last records found no reader */
    return cli_signals_code();
}
