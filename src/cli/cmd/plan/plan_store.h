/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_STORE_H
#define TAMIS_CLI_CMD_PLAN_PLAN_STORE_H

#include <stdio.h>

#include <tamis/plan.h>

/* The plan of a filter in a Redis, of layout tamis, beside that of the fewest bits. */
typedef struct plan_store {
    tamis_plan smallest, chosen;
} plan_store;

tamis_status plan_store_make(plan_store *store, const tamis_plan_options *plan_options, tamis_error *err);
void plan_store_text(FILE *out, const plan_store *store);
/* As one JSON object; false if there was no memory for it. */
bool plan_store_json(FILE *out, const plan_store *store);

#endif
