/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_INPUT_CLI_NAMES_H
#define TAMIS_CLI_INPUT_CLI_NAMES_H

#include <stdbool.h>
#include <sys/stat.h>

#include "cli/cli.h"

/* One file with names of inputs. */
typedef struct cli_names_list {
    char *bytes;    /* content, malloc */
    struct stat st; /* stat of the file; st_mode 0: unknown */
} cli_names_list;

/* Names of inputs: operands and names from lists. */
typedef struct cli_names {
    const char **paths; /* all names, malloc; NULL: no list was read, so the operands are all names */
    size_t count;
    cli_names_list *lists; /* lists that were read, malloc */
    size_t list_count;
} cli_names;

/*
 * Reads names: first the operands, then the names in the files `lists` ("-": standard input). The caller
 * releases *names, also after an error.
 *
 * - A list has one name per line. If it contains a zero byte, each name ends with a zero byte instead.
 * - Empty names in a list are ignored. A list without names is refused.
 * - If a list is standard input, the name "-" is refused.
 */
tamis_status cli_names_read(cli_names *names, const char *const *lists, size_t list_count, char **operands,
                            size_t count, tamis_error *err);
void cli_names_release(cli_names *names);

/* True if one of the lists is that file ("-": standard output): output written there would overwrite the
 * list. */
bool cli_names_are_in(const cli_names *names, const char *path);

#endif
