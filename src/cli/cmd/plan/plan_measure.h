/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_MEASURE_H
#define TAMIS_CLI_CMD_PLAN_PLAN_MEASURE_H

#include <stdbool.h>

#include <tamis/plan.h>

#include "cli/cli.h"

/*
 * Builds filters and prints the promised rates beside the measured ones.
 *
 * - plan: measures one filter of this plan, made for a million keys if the plan is for more. A growing filter
 *   gets a million keys.
 * - plan NULL: measures a list of all kinds and schemes, most with a million keys.
 *
 * Sets *broken, which starts as false, if a promise is broken beyond chance. The BKDR schemes promise
 * nothing.
 */
tamis_status plan_measure(bool *broken, const tamis_plan *plan, bool json, tamis_error *err);

#endif
