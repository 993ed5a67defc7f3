/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_SUMMARY_H
#define TAMIS_CLI_INPUT_CLI_SUMMARY_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/experimental/stream.h>

#include "cli/cli.h"
#include "cli/input/cli_stream.h"
#include "cli/process/cli_profile.h"

/* Fields of a summary. A command leaves out the rows of what its runs never have. */
typedef struct cli_summary_fields {
    cli_field records, absent, present, unknown, late, redelivered, missing, malformed, bytes_in, bytes_out,
        seconds, records_per_second, bytes_per_second, threads, memory, memory_peak, bits_per_key, kind,
        scheme, capacity, fpr, fpr_live, false_drops, saturated, files, file, run, inexact, partial;
    cli_profile_fields times;
    cli_field interrupted, failed;
} cli_summary_fields;

/* Rows that all commands with a summary have; DONE says what happens to a record. */
#define CLI_SUMMARY_ROWS(DONE)                                                                               \
    .missing = {"missing", "missing", CLI_INTEGER,                                                           \
                "Records without a key, counted only here; see --missing."},                                 \
    .malformed = {"malformed", "malformed", CLI_INTEGER,                                                     \
                  "Records that --key cannot read, counted only here; see --on-error."},                     \
    .records_per_second = {"records_per_second", "rate", CLI_NUMBER, "Records read per second."},            \
    .bytes_per_second = {"bytes_per_second", NULL, CLI_NUMBER, "Bytes read per second."},                    \
    .threads =                                                                                               \
        {"threads", NULL, CLI_INTEGER,                                                                       \
         "Threads used. Lower than --threads if the input was small or the system refused to start one."},   \
    .file = {"file", "file", CLI_STRING, "Name of the input; - is standard input."},                         \
    .interrupted = {"interrupted", "interrupted", CLI_BOOLEAN,                                               \
                    "true: a signal ended the run; all numbers count what was " DONE " until then."},        \
    .failed = {"failed", "failed", CLI_BOOLEAN,                                                              \
               "true: an error ended the run; all numbers count what was " DONE " until then. The line of "  \
               "the error follows."}

/* Rows about a filter that was made by the run. */
#define CLI_SUMMARY_ROWS_FILTER                                                                              \
    .memory = {"memory", "filter memory", CLI_INTEGER, "Bytes of the filter at the end."},                   \
    .memory_peak = {"memory_peak", NULL, CLI_INTEGER,                                                        \
                    "Largest size of the filter in bytes, growth included."},                                \
    .bits_per_key = {"bits_per_key", NULL, CLI_NUMBER,                                                       \
                     "Bits of memory_peak per key in the filter; 0 = no keys."},                             \
    .kind = {"kind", "kind", CLI_STRING,                                                                     \
             "Kind of the filter: classic, blocked, fingerprint, exact, counting or cuckoo."},               \
    .scheme = {"scheme", NULL, CLI_STRING, "Hash in use, with its name in --scheme."},                       \
    .capacity = {"capacity", NULL, CLI_INTEGER,                                                              \
                 "Keys that the filter was made for; 0 = no limit, it grows."}

/* Result of a run, and how to report it. */
typedef struct cli_summary {
    tamis_stream_stats stats;
    const cli_summary_fields *fields; /* NULL: the command has no summary */
    bool drops;                  /* true: a false positive drops a record; the summary estimates how many */
    bool keeps;                  /* true: answers TAMIS_UNKNOWN are records that could not be removed */
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
        .stats = TAMIS_STREAM_STATS_INIT, .first_malformed = TAMIS_ERROR_INIT,                               \
        .info = TAMIS_FILTER_INFO_INIT, .before = TAMIS_STREAM_STATS_INIT                                    \
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
