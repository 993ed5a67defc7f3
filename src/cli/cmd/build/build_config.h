/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_BUILD_BUILD_CONFIG_H
#define TAMIS_CLI_CMD_BUILD_BUILD_CONFIG_H

#include "cli/core/cli_rows.h"
#include "cli/filter/cli_filter.h"
#include "cli/filter/cli_metadata.h"
#include "cli/input/cli_stream.h"

/* The options of build, in the order of the help. */
enum { BUILD_RESIZE = CLI_OPT_OWN, BUILD_FROZEN };

extern const cli_option build_options[];
extern const cli_conflict build_conflicts[];

enum { BUILD_PARAMETERS = 5 };
/* A parameter in the URI of --output, decoded. */
typedef struct build_parameter {
    char text[40];
} build_parameter;

/* Validated options of a run, with defaults. Strings belong to argv. */
typedef struct build_config {
    cli_stream stream;
    cli_filter_spec filter;
    const char *output;
    tamis_format format;
    tamis_compression compression;
    bool resizes; /* --resize: replace a filter on a server while others add to it */
    cli_metadata metadata;
    cli_value values[CLI_OPTIONS_MAX]; /* options as typed, or from the URI (cli_server_parameter) */
    cli_value probes;                  /* probes= of the URI, if given */
    build_parameter parameters[BUILD_PARAMETERS]; /* texts of the values that come from the URI */
} build_config;

/* Validates the parsed arguments and fills *config.
 * The caller calls build_config_release in both cases. */
tamis_status build_configure(build_config *config, const cli_args *args, tamis_error *err);
void build_config_release(build_config *config);

#endif
