/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_CHECK_CHECK_CONFIG_H
#define TAMIS_CLI_CMD_CHECK_CHECK_CONFIG_H

#include "cli/core/cli_rows.h"
#include "cli/input/cli_stream.h"

/* The options of check, in the order of the help. */
enum { CHECK_FILTER = CLI_OPT_OWN, CHECK_LOOKUP, CHECK_INVERT, CHECK_COUNT, CHECK_FOLLOW };

extern const cli_option check_options[];
extern const cli_conflict check_conflicts[];

/* Validated options of a run. Strings belong to argv, lists to the parsed arguments. */
typedef struct check_config {
    cli_stream stream;
    const char *const *filters;
    size_t filter_count;
    const char *const *keys;
    size_t key_count; /* number of keys on the command line (--lookup); 0: read records */
    const char *const *secret_files;
    size_t secret_count;
    bool invert;
    bool count;
    bool follow;
    bool trace;
    bool is_family;    /* the only filter is the URI of a family (cli_family.h) */
    bool prints_names; /* print records with the names of the filters that have them */
} check_config;

/* Validates the parsed arguments and fills *config.
 * The caller releases config->stream in both cases. */
tamis_status check_configure(check_config *config, const cli_args *args, tamis_error *err);

#endif
