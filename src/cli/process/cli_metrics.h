/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PROCESS_CLI_METRICS_H
#define TAMIS_CLI_PROCESS_CLI_METRICS_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/experimental/stream.h>

/*
 * Live statistics of a run, in the text format of Prometheus
 * (https://prometheus.io/docs/instrumenting/exposition_formats/). They go to a file, which is replaced
 * atomically about each second, or are served at http://ADDRESS/metrics.
 */
typedef struct cli_metrics cli_metrics;

/* True if `target` is an address, [HOST:]PORT, and not the name of a file: it has no slash, and has a colon
 * or only digits. The host or the port may be wrong. */
bool cli_metrics_is_address(const char *target);

/* Refuses a target that can only be a mistake: "-", or a host without a port. */
tamis_status cli_metrics_check(const char *target, tamis_error *err);

/* Writes the file for the first time, or opens the address (without HOST: 127.0.0.1) and reports it unless
 * `quiet`. The caller closes *metrics, also after an error. */
tamis_status cli_metrics_open(cli_metrics **metrics, const char *target, bool quiet, tamis_error *err);

/* Sets the filter, which is borrowed until close, and observes it. */
void cli_metrics_set_filter(cli_metrics *metrics, const tamis_filter *filter);
/* Copies the statistics of the filter. Any thread may call it, while nothing changes the filter. */
void cli_metrics_observe(cli_metrics *metrics);

/* Replaces the metrics that only this sort of run has, up to CLI_METRICS_OTHERS. Their names, such as
 * "lag_records", and helps are static. */
typedef struct cli_metric {
    const char *name, *type, *help; /* type: "counter" or "gauge" */
    uint64_t value;
} cli_metric;
enum { CLI_METRICS_OTHERS = 16 };
void cli_metrics_set_others(cli_metrics *metrics, const cli_metric *others, size_t count);

/* Copies the statistics, and writes the file if that is due. With bytes_read UINT64_MAX there are no
 * bytes, with records UINT64_MAX no answers. A write that fails is reported and tried again; the run goes
 * on. */
void cli_metrics_update(cli_metrics *metrics, const tamis_stream_stats *now);

/* Writes the file for the last time, or closes the address. `metrics` may be NULL. */
void cli_metrics_close(cli_metrics *metrics);

/* ---- cli_metrics_server.c, for cli_metrics.c ---- */

/* An HTTP server in a thread of its own. It answers GET /metrics only. */
typedef struct cli_metrics_server cli_metrics_server;

/* Serves what `write_metrics` writes, at [HOST:]PORT; without HOST at 127.0.0.1. The thread of the server
 * calls it for each request. */
tamis_status cli_metrics_server_open(cli_metrics_server **server, const char *target,
                                     void (*write_metrics)(void *context, FILE *out), void *context,
                                     tamis_error *err);
/* Returns the text HOST:PORT, valid until the server is closed. */
const char *cli_metrics_server_address(const cli_metrics_server *server);
/* `server` may be NULL. */
void cli_metrics_server_close(cli_metrics_server *server);

#endif
