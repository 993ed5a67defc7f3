/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_MEASURE_H
#define TAMIS_CLI_CMD_PLAN_PLAN_MEASURE_H

#include <stdbool.h>

#include <tamis/plan.h>

#include "cli/cli.h"

/*
 * Builds filters of a million keys and prints promised beside measured rates. `plan`: one filter, that of
 * the plan, made for a million keys if it is for more or grows; NULL: a list of all kinds and schemes.
 * CLI_NEGATIVE if a promise is broken beyond chance (the BKDR schemes promise nothing), CLI_FAILED with *err
 * filled.
 */
int plan_measure(const tamis_plan *plan, bool json, tamis_error *err);

#endif
