/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_ACTION_H
#define TAMIS_CLI_CORE_CLI_ACTION_H

#include "cli/cli.h"

/* Commands with several actions: the first operand names the action, the second is a URI. */

typedef struct cli_action {
    const char *name;
    size_t min_operands, max_operands; /* number of operands after the URI */
    const char *operands_text;         /* all operands, for the error message */
    uint64_t options;                  /* bit 1 << id for each option that the action allows */
} cli_action;

typedef struct cli_actions {
    const char *command; /* name of the command */
    const char *uri;     /* example of a URI, for the error message */
    const cli_action *list;
    size_t count;
} cli_actions;

/* Finds the action that the operands name, and checks the number of operands, the URI and the options.
 * *found is the index of the action. `options` is the table of the command. */
tamis_status cli_action_find(size_t *found, const cli_actions *actions, const cli_args *args,
                             const cli_option *options, tamis_error *err);

#endif
