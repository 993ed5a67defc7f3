/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_SUMMARY_H
#define TAMIS_CLI_INPUT_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/stream.h>

#include "cli/input/cli_stream.h"

/* What a run has come to. */
typedef struct cli_summary {
    tamis_stream_stats stats;
    const char *absent_name,
        *present_name; /* what its records are called that were answered so: "unique", "duplicates" */
    bool drops;        /* a wrong answer lost a record: how many is estimated */
    bool on_server;    /* an answer may be lost: how many records were answered unknown is told */
    bool passes;       /* what is passed on goes somewhere, or is counted there */
    const char *into;  /* the filter that keys go into; NULL: none */
    tamis_error first_malformed; /* for the options of the run; status TAMIS_OK: there was none */
    tamis_filter_info info;
    const tamis_plan *plan;              /* borrowed from the filter; NULL: nothing is said of a filter */
    tamis_scheme scheme;                 /* in use: never AUTO */
    const tamis_stream_profile *profile; /* NULL: nobody asks */
    const tamis_stream_commits *commits; /* NULL: the run has none */
    tamis_stream_stats before;           /* what of `stats` was answered by earlier processes */
    double seconds;
    bool interrupted;
    bool failed;
} cli_summary;

/* clang-format off */
#define CLI_SUMMARY_INIT {TAMIS_STREAM_STATS_INIT, "unique", "duplicates", false, false, false, NULL, TAMIS_ERROR_INIT, \
                          TAMIS_FILTER_INFO_INIT, NULL, TAMIS_SCHEME_AUTO, NULL, NULL, \
                          TAMIS_STREAM_STATS_INIT, 0, false, false}
/* clang-format on */

/* Takes from the filter what is said of it. */
int cli_summary_set_filter(cli_summary *summary, const tamis_filter *filter, tamis_error *err);
/*
 * What a run that came to `status` exits with: takes the filter (may be NULL), prints the summary if it was asked for,
 * and names the option that helps. CLI_DONE, CLI_FAILED, CLI_PIPE_GONE or the status of a signal.
 */
int cli_summary_conclude(cli_summary *summary, const cli_stream *stream, const tamis_filter *filter,
                         tamis_status status, tamis_error *err);
/* Says where the first malformed record is and, unless a summary will, how many there were, and how many had no key where
 * nobody would notice. */
void cli_summary_report_skipped(const cli_summary *summary, const cli_stream *stream);
/* Writes it on standard error, as lines that align or, with --json, one object. A first error in *err is kept. */
int cli_summary_print(const cli_summary *summary, const cli_stream *stream, tamis_error *err);

#endif
