/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_STORE_H
#define TAMIS_CLI_CMD_PLAN_PLAN_STORE_H

#include <stdio.h>

#include <tamis/plan.h>

/* Two plans of a filter of layout tamis in a Redis: `smallest` has the fewest bits; `chosen` comes from
 * tamis_redis_plan_make, which also saves time of the server. */
typedef struct plan_store {
    tamis_plan smallest, chosen;
} plan_store;

tamis_status plan_store_make(plan_store *store, const tamis_plan_options *plan_options, tamis_error *err);
void plan_store_text(FILE *out, const plan_store *store);
/* Writes one JSON object. */
tamis_status plan_store_json(FILE *out, const plan_store *store, tamis_error *err);

#endif
