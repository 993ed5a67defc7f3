/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_NAMES_H
#define TAMIS_CLI_NAMES_H

#include <stdbool.h>
#include <sys/stat.h>

#include "cli/cli.h"

/* Names of inputs: operands, and those that a file lists. */
typedef struct cli_names {
    const char **all; /* malloc; NULL: there is no list, and the operands are all */
    size_t count;
    char *bytes;       /* of the list */
    struct stat about; /* of its file; st_mode 0: there is none */
} cli_names;

/* The operands, then the names in the file `list` ("-": standard input): one a line or, where it has a zero byte, each
 * ended by one. Refuses empty names, a list without names, and a - in a list that is standard input. Release either way.
 * CLI_DONE or CLI_FAILED. */
int cli_names_read(cli_names *names, const char *list, char **operands, size_t count, tamis_error *err);
void cli_names_release(cli_names *names);

/* Whether the list is in that file, "-" standard output: what is written there would take its place. */
bool cli_names_are_in(const cli_names *names, const char *path);

#endif
