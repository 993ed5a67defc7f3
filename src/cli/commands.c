/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of commands: here and not in main.c, because the documentation is made from it too. */
#include <string.h>

#include "cli/cli.h"
#include "cli/cli_text.h"

const cli_command *const cli_commands[] = {&cmd_dedup, &cmd_gen, &cmd_plan, &cmd_help, NULL};

const cli_command *cli_command_find(const char *name) {
    for (size_t i = 0; cli_commands[i] != NULL; i++)
        if (strcmp(cli_commands[i]->name, name) == 0)
            return cli_commands[i];
    return NULL;
}

const cli_command *cli_command_closest(const char *typed) {
    const cli_command *closest = cli_commands[0];

    for (size_t i = 1; cli_commands[i] != NULL; i++)
        if (cli_text_distance(typed, cli_commands[i]->name) < cli_text_distance(typed, closest->name))
            closest = cli_commands[i];
    return closest;
}
