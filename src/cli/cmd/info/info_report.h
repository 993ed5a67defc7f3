/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_INFO_INFO_REPORT_H
#define TAMIS_CLI_CMD_INFO_INFO_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/experimental/compressed.h>
#include <tamis/file.h>

/* Everything that `tamis info` prints about a filter. */
typedef struct info_report {
    const char *path;
    const tamis_filter *filter;
    tamis_compression compression; /* compression of the file */
    tamis_metadata metadata;
    tamis_filter_info info;
    bool whole; /* the file passed verification; otherwise statistics from the bits are left out */
} info_report;

void info_report_text(FILE *out, const info_report *report);
/* Writes one JSON object on a line. False: out of memory. */
tamis_status info_report_json(FILE *out, const info_report *report, tamis_error *err);

#endif
