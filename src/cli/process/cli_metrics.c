/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Statistics of a run for Prometheus (--metrics), in a file or at an address.
 *
 *     run --> cli_metrics_update, _observe --> copies under a lock --> write_metrics --> file, once a second
 *                                                                                    --> answer of the server
 *
 * The server has a thread of its own (cli_metrics_server.c), hence the copies. A file is replaced as a whole,
 * so a reader never sees half of it.
 */
#include "cli/process/cli_metrics.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/experimental/window.h>

#include "cli/cli.h"
#include "cli/process/cli_progress.h"
#include "cli/process/cli_save.h"

static const double file_every = 1.0; /* seconds between two writes of the file */

struct cli_metrics {
    const char *path; /* NULL: served at an address */
    cli_metrics_server *server;
    pthread_mutex_t lock; /* guards the statistics */
    tamis_stream_stats stats;
    const tamis_filter *filter; /* borrowed; NULL: none yet */
    tamis_filter_info info;
    cli_metric others[CLI_METRICS_OTHERS];
    size_t other_count;
    int64_t newest; /* newest time in a window, ms since 1970; negative: none */
    double written; /* time of the last write of the file, as cli_progress_now */
    bool failed;    /* the last write failed */
};

bool cli_metrics_is_address(const char *target) {
    if (strchr(target, '/'))
        return false;
    return strchr(target, ':') || (*target != '\0' && strspn(target, "0123456789") == strlen(target));
}

tamis_status cli_metrics_check(const char *target, tamis_error *err) {
    if (strcmp(target, "-") == 0)
        return cli_fail(
            err, "--metrics '-': cannot be standard output; give a file, or an address as 127.0.0.1:9100");
    if (!cli_metrics_is_address(target) &&
        (strcmp(target, "localhost") == 0 ||
         (strspn(target, "0123456789") > 0 && strspn(target, "0123456789.") == strlen(target))))
        return cli_fail(err, "--metrics '%.200s': has no port; give %.200s:PORT, or ./%.200s for a file",
                        target, target, target);
    return TAMIS_OK;
}

/* ---- the text ---- */

static void write_head(FILE *out, const char *name, const char *type, const char *help) {
    fprintf(out, "# HELP tamis_%s %s\n# TYPE tamis_%s %s\n", name, help, name, type);
}

static void write_count(FILE *out, const char *name, const char *type, const char *help, uint64_t count) {
    write_head(out, name, type, help);
    fprintf(out, "tamis_%s %" PRIu64 "\n", name, count);
}

static void write_real(FILE *out, const char *name, const char *help, double number) {
    write_head(out, name, "gauge", help);
    fprintf(out, "tamis_%s %.15g\n", name, number);
}

static void write_records(FILE *out, const tamis_stream_stats *stats) {
    const struct {
        const char *result;
        uint64_t count;
    } results[] = {{"unique", stats->unique},          {"duplicate", stats->duplicates},
                   {"unknown", stats->unknown},        {"missing", stats->missing},
                   {"malformed", stats->malformed},    {"late", stats->late},
                   {"redelivered", stats->redelivered}};

    write_head(out, "records_total", "counter", "Records, by what became of them.");
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        fprintf(out, "tamis_records_total{result=\"%s\"} %" PRIu64 "\n", results[i].result, results[i].count);
}

static void write_stream(FILE *out, const tamis_stream_stats *stats) {
    if (stats->records != UINT64_MAX)
        write_records(out, stats);
    if (stats->bytes_read != UINT64_MAX) {
        write_count(out, "read_bytes_total", "counter", "Bytes read from the inputs, compressed if they are.",
                    stats->bytes_read);
        write_count(out, "written_bytes_total", "counter",
                    "Bytes written to the outputs, compressed if they are.", stats->bytes_out);
    }
    if (stats->bytes_left != UINT64_MAX)
        write_count(out, "lag_bytes", "gauge", "Bytes of the inputs that are not read yet.",
                    stats->bytes_left);
    if (stats->committed_at > 0)
        write_real(out, "last_commit_timestamp_seconds", "Time of the last commit.",
                   (double)stats->committed_at / 1000);
}

static void write_filter(FILE *out, const cli_metrics *metrics) {
    const tamis_filter_info *info = &metrics->info;

    write_count(out, "filter_keys", "gauge", "Keys in the filter.", info->added);
    if (info->capacity > 0)
        write_count(out, "filter_capacity_keys", "gauge", "Keys at which the filter is full.",
                    info->capacity);
    write_count(out, "filter_full", "gauge", "1: a new key was refused because the filter was full.",
                info->saturated);
    write_count(out, "filter_memory_bytes", "gauge", "Memory of the filter.", info->memory);
    write_real(out, "filter_false_positive_rate", "Probability, now, that a new key counts as seen before.",
               info->fpr_live);
    write_real(out, "filter_false_positive_rate_promised", "The rate that the filter was made for.",
               tamis_filter_plan(metrics->filter)->fpr);
    if (metrics->newest >= 0)
        write_real(out, "window_newest_timestamp_seconds", "Newest time of a record in the window.",
                   (double)metrics->newest / 1000);
}

static void write_metrics(void *context, FILE *out) {
    cli_metrics *metrics = context;

    pthread_mutex_lock(&metrics->lock);
    write_stream(out, &metrics->stats);
    if (metrics->filter)
        write_filter(out, metrics);
    for (size_t i = 0; i < metrics->other_count; i++) {
        const cli_metric *other = &metrics->others[i];
        write_count(out, other->name, other->type, other->help, other->value);
    }
    pthread_mutex_unlock(&metrics->lock);
}

/* ---- the file ---- */

static tamis_status write_file(cli_metrics *metrics, tamis_error *err) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out)
        write_metrics(metrics, out);
    const tamis_status status = out && fclose(out) == 0 ? cli_save(metrics->path, text, size, false, err)
                                                        : cli_fail_nomem(metrics->path, err);
    free(text);
    metrics->written = cli_progress_now();
    return status;
}

/* Reports only the first of several failures. */
static void rewrite_file(cli_metrics *metrics) {
    tamis_error err = TAMIS_ERROR_INIT;
    const bool failed = write_file(metrics, &err) != TAMIS_OK;

    if (failed && !metrics->failed)
        cli_report(err.text);
    metrics->failed = failed;
}

/* ---- the run ---- */

tamis_status cli_metrics_open(cli_metrics **metrics, const char *target, bool quiet, tamis_error *err) {
    cli_metrics *made = calloc(1, sizeof *made);
    char message[400];

    *metrics = made;
    if (!made)
        return cli_fail_nomem("--metrics", err);
    pthread_mutex_init(&made->lock, NULL);
    made->stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    made->stats.bytes_left = UINT64_MAX;
    made->info = (tamis_filter_info)TAMIS_FILTER_INFO_INIT;
    if (!cli_metrics_is_address(target)) {
        made->path = target;
        if (write_file(made, err) == TAMIS_OK)
            return TAMIS_OK;
        made->path = NULL;
        return err->status;
    }
    if (cli_metrics_server_open(&made->server, target, write_metrics, made, err) != TAMIS_OK)
        return err->status;
    snprintf(message, sizeof message, "metrics at http://%s/metrics",
             cli_metrics_server_address(made->server));
    if (!quiet)
        cli_report(message);
    return TAMIS_OK;
}

void cli_metrics_set_filter(cli_metrics *metrics, const tamis_filter *filter) {
    metrics->filter = filter;
    cli_metrics_observe(metrics);
}

void cli_metrics_observe(cli_metrics *metrics) {
    pthread_mutex_lock(&metrics->lock);
    /* Fails only for filters in a server. */
    (void)tamis_filter_info_get(metrics->filter, &metrics->info, NULL);
    metrics->newest = tamis_window_newest(metrics->filter);
    pthread_mutex_unlock(&metrics->lock);
}

void cli_metrics_set_others(cli_metrics *metrics, const cli_metric *others, size_t count) {
    pthread_mutex_lock(&metrics->lock);
    memcpy(metrics->others, others, count * sizeof *others);
    metrics->other_count = count;
    pthread_mutex_unlock(&metrics->lock);
}

void cli_metrics_update(cli_metrics *metrics, const tamis_stream_stats *now) {
    pthread_mutex_lock(&metrics->lock);
    metrics->stats = *now;
    pthread_mutex_unlock(&metrics->lock);
    if (metrics->path && cli_progress_now() - metrics->written >= file_every)
        rewrite_file(metrics);
}

void cli_metrics_close(cli_metrics *metrics) {
    if (!metrics)
        return;
    if (metrics->path)
        rewrite_file(metrics);
    cli_metrics_server_close(metrics->server);
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}
