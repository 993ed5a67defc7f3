/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_EXPIRING_H
#define TAMIS_CLI_CMD_PLAN_PLAN_EXPIRING_H

#include <stdio.h>

#include <tamis/plan.h>

#include "cli/cli.h"

/* Output of tamis plan --window: the plan of a window. With capacity 0 the number of keys is not known. */
void plan_expiring_text(FILE *out, const tamis_plan *plan);
/* Writes one JSON object. */
tamis_status plan_expiring_json(FILE *out, const tamis_plan *plan, tamis_error *err);

#endif
