/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_FILTER_CLI_PLAN_H
#define TAMIS_CLI_FILTER_CLI_PLAN_H

#include "cli/cli.h"

/* What the commands that plan a filter have in common. */

/* Refuses a rate beside --kind exact, which accepts none. */
int cli_plan_check_rate(const cli_value *kind, const cli_value *fpr, tamis_error *err);

/* The library's sentence about memory that is too little names the option as typed. Any other is left as it is. */
void cli_plan_name_memory(const cli_value *memory, tamis_error *err);

#endif
