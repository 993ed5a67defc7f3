/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_HELP_H
#define TAMIS_CLI_CORE_CLI_HELP_H

#include <stdio.h>

#include "cli/cli.h"

/* `tamis --help`: every command in a line. */
void cli_help_all(FILE *out);
/* `tamis VERB --help`: usage, options, examples. */
void cli_help_command(FILE *out, const cli_command *command);
/* `tamis --version`: version, kernels in use, libraries. */
void cli_help_version(FILE *out);

#endif
