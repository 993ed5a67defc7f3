/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_DOCS_INT_H
#define TAMIS_CLI_DOCS_INT_H

#include <stdio.h>

#include "cli/cli.h"

/* What is made of the command tables; each takes a command, or NULL where it is about all of them. */
void docs_manual_main(FILE *out, const cli_command *none);
void docs_manual_command(FILE *out, const cli_command *command);
void docs_completion_bash(FILE *out, const cli_command *none);
void docs_completion_fish(FILE *out, const cli_command *none);
void docs_completion_zsh(FILE *out, const cli_command *none);

#endif
