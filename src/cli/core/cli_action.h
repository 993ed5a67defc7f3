/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_ACTION_H
#define TAMIS_CLI_CORE_CLI_ACTION_H

#include "cli/cli.h"

/* Commands whose first operand says what to do, and whose second is the URI of what it is done to. */

typedef struct cli_action {
    const char *name;
    size_t min_operands, max_operands; /* operands behind the URI */
    const char *takes;                 /* all its operands, for who gives others */
    uint64_t options;                  /* 1 << number of each that goes with it */
} cli_action;

typedef struct cli_actions {
    const char *command;
    const char *uri; /* one of those it takes */
    const cli_action *all;
    size_t count;
} cli_actions;

/* *found is the number of the action that the operands ask for, when their count, the URI and the options are as it
 * takes them; else CLI_FAILED. `options` are those of the command. */
int cli_action_find(size_t *found, const cli_actions *actions, const cli_args *args,
                    const cli_option *options, tamis_error *err);

#endif
