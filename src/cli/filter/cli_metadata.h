/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_FILTER_CLI_METADATA_H
#define TAMIS_CLI_FILTER_CLI_METADATA_H

#include <tamis/file.h>

#include "cli/cli.h"

/* Labels and version of a filter that is written: what the user gives, and what it has. What a format has no place for is
 * refused where the user gave it, and named in a remark where the filter had it. */
typedef struct cli_metadata {
    tamis_label *labels; /* by name; malloc, their text behind them */
    size_t label_count;
    bool has_version;
    uint64_t version;
} cli_metadata;

/* From the block CLI_METADATA of cli_rows.h. CLI_DONE or CLI_FAILED; release either way. */
int cli_metadata_read(cli_metadata *metadata, const cli_value *given, tamis_error *err);
void cli_metadata_release(cli_metadata *metadata);

/* Refuses labels and version for a format that has none. */
int cli_metadata_check(const cli_metadata *metadata, tamis_format format, tamis_error *err);

/* The format that `filter` is written in where `format` is asked for: AUTO is the one it was read in. */
tamis_format cli_metadata_format(const tamis_filter *filter, tamis_format format);

/* Gives them to the filter: a label in place of one of its name, a version in place of another. */
int cli_metadata_apply(const cli_metadata *metadata, tamis_filter *filter, tamis_error *err);

/* Labels, and user data (of DCSO), of several filters that contradict each other. */
typedef struct cli_metadata_conflict {
    size_t count;      /* of labels */
    char first[400];   /* a sentence on the first one */
    size_t data_count; /* of filters whose user data is lost */
    char data_first[400];
} cli_metadata_conflict;

/* Adds the labels of `from`, the filter in `path`, to those of `into`. Of a name in both the value of `into` stays; where
 * they differ, and the user has given none, that is counted in *clash. The user data of `into` stays, and other that
 * `from` has is counted too. How keys are made the union of the filters has joined, or refused. */
int cli_metadata_merge(tamis_filter *into, const tamis_filter *from, const char *path,
                       const cli_metadata *given, cli_metadata_conflict *conflict, tamis_error *err);

/* One remark on all labels, and one on all user data. */
void cli_metadata_report_conflict(const cli_metadata_conflict *conflict);

/* Says what of them is not in the file `output`, its format having no place for it, and by which rule keys are made
 * where that is not either. */
void cli_metadata_report_lost(const tamis_filter *filter, const char *output, tamis_format format);

#endif
