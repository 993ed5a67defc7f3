/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_REDIS_REDIS_LS_H
#define TAMIS_CLI_CMD_REDIS_REDIS_LS_H

#include <stdbool.h>

#include "cli/cli.h"

/* Prints the filters that a URI of a server and a pattern of names come to. */
int redis_ls(const char *uri, bool json, tamis_error *err);

/* The fields of each. */
extern const cli_entry redis_ls_json[];

/* Prints leftovers of killed builds, resizes and drops; with `removes` also removes them. */
int redis_leftovers(const char *uri, bool removes, bool json, tamis_error *err);

#endif
