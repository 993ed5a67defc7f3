/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_DOCS_DOCS_INT_H
#define TAMIS_CLI_DOCS_DOCS_INT_H

#include <stdio.h>

#include "cli/cli.h"

/* What is made of the command tables; each takes a command, or NULL where it is about all of them. */
void docs_manual_main(FILE *out, const cli_command *none);
void docs_manual_command(FILE *out, const cli_command *command);
void docs_completion_bash(FILE *out, const cli_command *none);
void docs_completion_fish(FILE *out, const cli_command *none);
void docs_completion_zsh(FILE *out, const cli_command *none);

/* What the i-th conflict of its command keeps from standing beside the option; NULL: nothing. */
static inline const cli_option *docs_contradicting(const cli_command *command, const cli_option *option,
                                                   size_t i) {
    const cli_option *first = &command->options[command->conflicts[i].first];
    const cli_option *second = &command->options[command->conflicts[i].second];

    return option == first ? second : option == second ? first : NULL;
}

#endif
