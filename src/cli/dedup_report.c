/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/dedup_report.h"

#include <inttypes.h>

#include "cli/cli_json.h"
#include "cli/cli_text.h"

/* With fewer keys than this the bits of each are those of a filter that has hardly begun. */
enum { KEYS_TO_AVERAGE = 1024 };

/* As precise as the clock; keeps a run of no time from having an infinite rate. */
static double seconds_of(const dedup_report *report) {
    return report->seconds > 1e-6 ? report->seconds : 1e-6;
}

/* Bits of the filter's peak a key that was put into it; 0 where none was. */
static double bits_per_key(const dedup_report *report) {
    return report->info.added > 0 ? 8.0 * (double)report->info.memory_peak / (double)report->info.added : 0.0;
}

static void print_share(FILE *out, const char *name, uint64_t count, uint64_t records) {
    char text[CLI_TEXT_NUMBER];

    fprintf(out, "%-22s %15s", name, cli_text_count(text, sizeof text, count));
    if (records > 0)
        fprintf(out, "  %6.2f %%", 100.0 * (double)count / (double)records);
    fputc('\n', out);
}

static void print_speed(FILE *out, const dedup_report *report) {
    char text[CLI_TEXT_NUMBER], more[CLI_TEXT_NUMBER];
    double seconds = seconds_of(report);

    fprintf(out, "%-22s %15s", "bytes", cli_text_count(text, sizeof text, report->stats.bytes_in));
    if (report->stats.bytes_in >= 1000) /* else it would say the same again */
        fprintf(out, "  %s", cli_text_volume(more, sizeof more, (double)report->stats.bytes_in));
    fputc('\n', out);
    fprintf(out, "%-22s %15.3f\n", "seconds", report->seconds);
    cli_text_metric(text, sizeof text, (double)report->stats.records / seconds);
    cli_text_volume(more, sizeof more, (double)report->stats.bytes_in / seconds);
    fprintf(out, "%-22s %15s  records/s, %s/s\n", "rate", text, more);
}

static void print_filter(FILE *out, const dedup_report *report) {
    char text[CLI_TEXT_NUMBER], peak[CLI_TEXT_NUMBER];

    cli_text_bytes(text, sizeof text, report->info.memory);
    cli_text_bytes(peak, sizeof peak, report->info.memory_peak);
    fprintf(out, "%-22s %15s  peak %s", "memory", text, peak);
    if (report->info.added >= KEYS_TO_AVERAGE)
        fprintf(out, ", %.1f bits a key", bits_per_key(report));
    fprintf(out, "\n%-22s %15s  scheme %s, rate %s now\n", "kind", tamis_kind_name(report->info.kind),
            tamis_scheme_name(report->scheme), cli_text_real(text, sizeof text, report->info.fpr_live));
    fprintf(out, "%-22s %15s  records taken for duplicates wrongly\n", "estimated false drops",
            cli_text_expected(text, sizeof text, report->info.false_fresh));
}

void dedup_report_text(FILE *out, const dedup_report *report) {
    const tamis_stream_stats *stats = &report->stats;

    print_share(out, "records", stats->records, 0);
    print_share(out, "unique", stats->unique, stats->records);
    print_share(out, "duplicates", stats->duplicates, stats->records);
    if (stats->unknown > 0)
        print_share(out, "passed on unasked", stats->unknown, stats->records);
    print_speed(out, report);
    print_filter(out, report);
    if (report->interrupted || report->failed)
        fprintf(out, "%-22s %15s  what is above was answered until then\n",
                report->failed ? "failed" : "interrupted", "yes");
}

void dedup_report_json(FILE *out, const dedup_report *report) {
    const tamis_stream_stats *stats = &report->stats;
    const tamis_filter_info *info = &report->info;
    json_t *object = json_object();

    cli_json_count(object, "records", stats->records);
    cli_json_count(object, "unique", stats->unique);
    cli_json_count(object, "duplicates", stats->duplicates);
    cli_json_count(object, "unknown", stats->unknown);
    cli_json_count(object, "bytes_in", stats->bytes_in);
    cli_json_count(object, "bytes_out", stats->bytes_out);
    cli_json_real(object, "seconds", report->seconds);
    cli_json_real(object, "records_per_second", (double)stats->records / seconds_of(report));
    cli_json_real(object, "bytes_per_second", (double)stats->bytes_in / seconds_of(report));
    cli_json_count(object, "memory", info->memory);
    cli_json_count(object, "memory_peak", info->memory_peak);
    cli_json_real(object, "bits_per_key", bits_per_key(report));
    cli_json_text(object, "kind", tamis_kind_name(info->kind));
    cli_json_text(object, "scheme", tamis_scheme_name(report->scheme));
    cli_json_count(object, "capacity", info->capacity);
    cli_json_real(object, "fpr", report->plan->fpr);
    cli_json_real(object, "fpr_live", info->fpr_live);
    cli_json_real(object, "false_drops", info->false_fresh);
    cli_json_bool(object, "saturated", info->saturated);
    cli_json_bool(object, "interrupted", report->interrupted);
    cli_json_bool(object, "failed", report->failed);
    if (!cli_json_write(object, 21, out, 0))
        fputs("{}\n", out);
}
