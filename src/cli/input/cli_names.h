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

/* Names of inputs: operands, and those that files list. */
typedef struct cli_names {
    const char **paths; /* malloc; NULL: there is no list, and the operands are all */
    size_t count;
    cli_names_list *lists; /* malloc */
    size_t list_count;
} cli_names;

/* The operands, then the names in the files `lists` ("-": standard input): one a line or, in a file with a zero byte, each
 * ended by one. Empty names in a list are ignored. Refuses a list without names, and a - beside a list that is standard
 * input. Release either way. CLI_DONE or CLI_FAILED. */
int cli_names_read(cli_names *names, const char *const *lists, size_t list_count, char **operands,
                   size_t count, tamis_error *err);
void cli_names_release(cli_names *names);

/* True if one of the lists is that file ("-": standard output): output written there would overwrite the list. */
bool cli_names_are_in(const cli_names *names, const char *path);

#endif
