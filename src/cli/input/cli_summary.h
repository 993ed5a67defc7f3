/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_SUMMARY_H
#define TAMIS_CLI_INPUT_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/experimental/stream.h>

#include "cli/input/cli_stream.h"

/* Result of a run, and how to report it. */
typedef struct cli_summary {
    tamis_stream_stats stats;
    const char *absent_name,
        *present_name;           /* names of records with absent and present keys: "unique", "duplicates" */
    bool drops;                  /* true: a false positive drops a record; the summary estimates how many */
    bool on_server;              /* true: answers may be TAMIS_UNKNOWN; the summary counts them */
    bool passes;                 /* true: records that are passed on are printed or counted; false: skipped */
    const char *into;            /* filter that keys are added to; NULL: none */
    tamis_error first_malformed; /* first malformed record, set by the run; status TAMIS_OK: none */
    tamis_filter_info info;
    const tamis_plan *plan;              /* plan, borrowed from the filter; NULL: no filter in the summary */
    tamis_scheme scheme;                 /* scheme in use, never AUTO */
    const tamis_stream_profile *profile; /* profile to print; NULL: none */
    const tamis_stream_result *result;   /* result of a resumable run; NULL: not resumable */
    tamis_stream_stats before;           /* the part of `stats` from earlier processes */
    double seconds;                      /* duration of the run */
    bool interrupted;                    /* true: a signal ended the run */
    bool failed;                         /* true: an error ended the run */
} cli_summary;

#define CLI_SUMMARY_INIT                                                                                     \
    {                                                                                                        \
        .stats = TAMIS_STREAM_STATS_INIT, .absent_name = "unique", .present_name = "duplicates",             \
        .first_malformed = TAMIS_ERROR_INIT, .info = TAMIS_FILTER_INFO_INIT,                                 \
        .before = TAMIS_STREAM_STATS_INIT                                                                    \
    }

/* Copies the facts about the filter into the summary. The plan stays the filter's. */
tamis_status cli_summary_set_filter(cli_summary *summary, const tamis_filter *filter, tamis_error *err);
/*
 * Ends a run that returned `status`: adds the option that helps to its error, and prints remarks and the
 * summary if they are wanted. `filter` may be NULL. Returns `status`, or the error of the summary.
 */
tamis_status cli_summary_conclude(cli_summary *summary, const cli_stream *stream, const tamis_filter *filter,
                                  tamis_status status, tamis_error *err);
/* Prints remarks: the position of the first malformed record and, unless a summary follows, the number of
 * malformed records and of records without a key. */
void cli_summary_report_skipped(const cli_summary *summary, const cli_stream *stream);
/* Prints the summary on standard error: as text or, with --json, as one object. Keeps the error of a failed
 * run in *err. */
tamis_status cli_summary_print(const cli_summary *summary, const cli_stream *stream, tamis_error *err);

#endif
