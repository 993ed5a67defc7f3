/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"
#include "cli/core/cli_help.h"

static const cli_option options[] = {{.name = NULL}};

static tamis_status run_help(const cli_args *args, bool *negative, tamis_error *err) {
    (void)negative;
    if (args->operand_count == 0) {
        cli_help_all(stdout);
        return TAMIS_OK;
    }
    if (args->operand_count > 1)
        return cli_fail(err, "help: takes one command; leave out what follows it");
    const cli_command *command = cli_command_find(args->operands[0]);
    if (!command)
        return cli_command_unknown(err, args->operands[0], "help ");
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
