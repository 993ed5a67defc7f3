/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "cli/cli.h"
#include "cli/core/cli_help.h"

static const cli_option options[] = {{.name = NULL}};

/* True if `word` is an action of the command: its help has all of them. */
static bool is_action(const cli_command *command, const char *word) {
    for (const char *const *known = command->operand_words; known && *known; known++)
        if (strcmp(*known, word) == 0)
            return true;
    return false;
}

static tamis_status run_help(const cli_args *args, bool *negative, tamis_error *err) {
    (void)negative;
    if (args->operand_count == 0) {
        cli_help_all(stdout);
        return TAMIS_OK;
    }
    const cli_command *command = cli_command_find(args->operands[0]);
    if (!command)
        return cli_command_unknown(err, args->operands[0], "help ");
    if (args->operand_count > 2 || (args->operand_count == 2 && !is_action(command, args->operands[1])))
        return cli_fail(err, "help %s: takes no '%.60s'; leave it out", command->name,
                        args->operands[args->operand_count - 1]);
    cli_help_command(stdout, command);
    return TAMIS_OK;
}

const cli_command cmd_help = {
    .name = "help",
    .summary = "what a command does, and its options",
    .operands = CLI_OPERAND_COMMAND,
    .options = options,
    .manual = &cli_manual_help,
    .run = run_help,
};
