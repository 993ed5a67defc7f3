/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_INFO_INFO_REPORT_H
#define TAMIS_CLI_CMD_INFO_INFO_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/compressed.h>
#include <tamis/file.h>

/* What `tamis info` says of a filter. */
typedef struct info_report {
    const char *path;
    const tamis_filter *filter;
    tamis_compression compression; /* of its file */
    tamis_metadata metadata;
    tamis_filter_info info;
    bool whole; /* else what `info` tells from the bits is left out */
} info_report;

void info_report_text(FILE *out, const info_report *report);
/* One object on a line. False if there was no memory for it. */
bool info_report_json(FILE *out, const info_report *report);

#endif
