/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_ADD_ADD_CONFIG_H
#define TAMIS_CLI_CMD_ADD_ADD_CONFIG_H

#include "cli/core/cli_rows.h"
#include "cli/filter/cli_filter.h"
#include "cli/input/cli_stream.h"

/* The options of add, in the order of the help. */
enum { ADD_PRINT = CLI_OPT_OWN, ADD_OVERFILL };

/* Records that --print prints. */
typedef enum add_print { ADD_PRINT_NONE, ADD_PRINT_FRESH, ADD_PRINT_SEEN } add_print;

extern const cli_option add_options[];
extern const cli_conflict add_conflicts[];
/* Validated options of a run. Strings belong to argv. */
typedef struct add_config {
    cli_stream stream;
    const char *filter;
    const char *secret_file; /* NULL: none */
    add_print print;
    bool over_capacity;
    cli_lock_wait lock_wait;
    bool trace;
    bool is_family; /* `filter` is the URI of a family (cli_family.h) */
} add_config;

/* Validates the parsed arguments and fills *config.
 * The caller releases config->stream in both cases. */
tamis_status add_configure(add_config *config, const cli_args *args, tamis_error *err);

#endif
