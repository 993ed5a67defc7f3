/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_FILTER_CLI_PLAN_H
#define TAMIS_CLI_FILTER_CLI_PLAN_H

#include "cli/cli.h"

/* Functions shared by the commands that plan a filter. */

/* Refuses --fpr beside --kind exact, which has no rate. */
tamis_status cli_plan_check_rate(const cli_value *kind, const cli_value *fpr, tamis_error *err);

/* Puts --memory, as typed, into the library's message about the memory limit. Leaves other errors as they
 * are. */
void cli_plan_name_memory(const cli_value *memory, tamis_error *err);

#endif
