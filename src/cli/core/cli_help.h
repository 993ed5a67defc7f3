/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_HELP_H
#define TAMIS_CLI_CORE_CLI_HELP_H

#include <stdio.h>

#include "cli/cli.h"

/* Prints `tamis --help`: one line for each command. */
void cli_help_all(FILE *out);
/* Prints `tamis COMMAND --help`: usage, options, schemes, files, examples. */
void cli_help_command(FILE *out, const cli_command *command);
/* Prints `tamis --version`: version, kernels in use, policy for huge pages, libraries. */
void cli_help_version(FILE *out);

#endif
