/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_DOCS_DOCS_INT_H
#define TAMIS_CLI_DOCS_DOCS_INT_H

#include <stdio.h>

#include "cli/cli.h"
#include "cli/core/cli_option.h"

/* Generators of documents from the command tables. Those for all commands are called with NULL, so that all
 * have one type. */
void docs_manual_main(FILE *out, const cli_command *none);
void docs_manual_command(FILE *out, const cli_command *command);
void docs_completion_bash(FILE *out, const cli_command *none);
void docs_completion_fish(FILE *out, const cli_command *none);
void docs_completion_zsh(FILE *out, const cli_command *none);

/* Returns the option that the i-th conflict of the command forbids beside `option`, or NULL. */
static inline const cli_option *docs_contradicting(const cli_command *command, const cli_option *option,
                                                   size_t i) {
    const cli_option *first = cli_option_of(command->options, command->conflicts[i].first);
    const cli_option *second = cli_option_of(command->options, command->conflicts[i].second);

    return option == first ? second : option == second ? first : NULL;
}

#endif
