/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_OPTION_H
#define TAMIS_CLI_CORE_CLI_OPTION_H

#include "cli/cli.h"

/*
 * Parses argv (argv[0] is the verb) by the command's table, options and operands in any order, "--"
 * ends the options. CLI_DONE, or CLI_FAILED with *err filled. argv is permuted, its strings are kept.
 */
int cli_parse(const cli_command *command, int argc, char **argv, cli_args *args, tamis_error *err);

/* Reads the value of one option. `what` names it in the error: "--expect". */
int cli_option_read(const cli_option *option, const char *what, const char *text, cli_value *value,
                    tamis_error *err);

/* Frees what parsing took, also after it failed. */
void cli_args_release(cli_args *args);

/* Whether -h, --help stands in every table: it does, and this is its row for help and manual. */
extern const cli_option cli_option_help;

#endif
