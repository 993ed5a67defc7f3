/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_REDIS_LS_H
#define TAMIS_CLI_REDIS_LS_H

#include <stdbool.h>

#include "cli/cli.h"

/* Prints the filters that a URI of a server and a pattern of names come to. */
int redis_ls(const char *uri, bool json, tamis_error *err);

/* The fields of each. */
extern const cli_entry redis_ls_json[];

/* Prints what killed builds and drops left there, and with `removes` removes it. */
int redis_leftovers(const char *uri, bool removes, bool json, tamis_error *err);

#endif
