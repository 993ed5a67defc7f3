/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_FILTER_CLI_METADATA_H
#define TAMIS_CLI_FILTER_CLI_METADATA_H

#include <tamis/file.h>

#include "cli/cli.h"

/* Labels and version that the user gives for a written filter. If the format stores none, given values are
 * refused, and values that the filter had are named in a remark. */
typedef struct cli_metadata {
    tamis_label *labels; /* labels sorted by name, malloc; their text follows in the same memory */
    size_t label_count;
    bool has_version; /* true: a version was given */
    uint64_t version;
} cli_metadata;

/* Parses --label and --data-version. The caller releases *metadata, also after an error. */
tamis_status cli_metadata_read(cli_metadata *metadata, const cli_value *values, tamis_error *err);
void cli_metadata_release(cli_metadata *metadata);

/* Refuses labels and version for a format that stores none. */
tamis_status cli_metadata_check(const cli_metadata *metadata, tamis_format format, tamis_error *err);

/* Returns the format to write the filter in: `format`, or for AUTO the format that it was read in. */
tamis_format cli_metadata_format(const tamis_filter *filter, tamis_format format);

/* Sets labels and version of the filter. A label replaces that of the same name; other labels stay. */
tamis_status cli_metadata_apply(const cli_metadata *metadata, tamis_filter *filter, tamis_error *err);

/* Conflicts between labels, and between user data (of DCSO), of several filters. */
typedef struct cli_metadata_conflict {
    const cli_metadata *given; /* what the user gave: its labels are in no conflict; NULL: nothing */
    size_t count;              /* number of labels in conflict */
    char first[400];           /* message about the first label */
    size_t data_count;         /* number of filters whose user data is lost */
    char data_first[400];      /* message about the first user data */
} cli_metadata_conflict;

/*
 * Adds the labels of `from`, the filter in `path`, to those of `into`.
 *
 * - If both have a label, the value of `into` stays. If the values differ and the user gave none
 *   (conflict->given), *conflict counts the label.
 * - The user data of `into` stays. If `from` has other user data, *conflict counts it.
 * - The key type is not changed: the union of the filters has joined or refused it before.
 */
tamis_status cli_metadata_merge(tamis_filter *into, const tamis_filter *from, const char *path,
                                cli_metadata_conflict *conflict, tamis_error *err);

/* Prints one remark about all labels, and one about all user data. */
void cli_metadata_report_conflict(const cli_metadata_conflict *conflict);

/* Prints remarks about labels, version and the rule for keys that the format or layout of `output` does not
 * store. */
void cli_metadata_report_lost(const tamis_filter *filter, const char *output, tamis_format format);

#endif
