/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_REDIS_REDIS_LS_H
#define TAMIS_CLI_CMD_REDIS_REDIS_LS_H

#include <stdbool.h>

#include "cli/cli.h"

/* Prints the filters of a server, a line or JSON object each. `uri` names the server and may end with a
 * pattern of names. */
tamis_status redis_ls(const char *uri, bool json, tamis_error *err);

/* Prints leftovers of killed builds, resizes and drops; with `removes` also removes them. `uri` is as
 * above. */
tamis_status redis_leftovers(const char *uri, bool removes, bool json, tamis_error *err);

#endif
