/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_DEDUP_REPORT_H
#define TAMIS_CLI_DEDUP_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/stream.h>

/* What a run of dedup has come to. */
typedef struct dedup_report {
    tamis_stream_stats stats;
    tamis_filter_info info;
    const tamis_plan *plan; /* borrowed from the filter */
    tamis_scheme scheme;    /* in use: never AUTO */
    double seconds;
    bool interrupted;
    bool failed;
} dedup_report;

/* The summary for a person: aligned lines. */
void dedup_report_text(FILE *out, const dedup_report *report);
/* The same numbers as one JSON object on a line. */
void dedup_report_json(FILE *out, const dedup_report *report);

#endif
