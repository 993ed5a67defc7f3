/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CORE_CLI_OPTION_H
#define TAMIS_CLI_CORE_CLI_OPTION_H

#include "cli/cli.h"

/*
 * Parses argv with the table of the command. argv[0] is the command's name. Options and operands may come
 * in any order; "--" ends the options. Permutes argv and keeps its strings. The caller releases *args,
 * also after an error.
 */
tamis_status cli_parse(cli_args *args, const cli_command *command, int argc, char **argv, tamis_error *err);

/* Reads the value of one option. `what` is the name in the error, such as "--expect". */
tamis_status cli_option_read(const cli_option *option, const char *what, const char *text, cli_value *value,
                             tamis_error *err);

/* Frees the lists of values. */
void cli_args_release(cli_args *args);

/* The row of -h, --help, which every command has and no table lists. */
extern const cli_option cli_option_help;

/* Returns the option with this id in the table; NULL: it has none. */
const cli_option *cli_option_of(const cli_option *options, int id);

#endif
