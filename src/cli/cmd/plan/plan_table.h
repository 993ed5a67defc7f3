/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_TABLE_H
#define TAMIS_CLI_CMD_PLAN_PLAN_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/plan.h>

#include "cli/cmd/plan/plan_request.h"

enum { PLAN_ROWS = 4 }; /* every kind but auto */

/* What one kind would cost. */
typedef struct plan_row {
    tamis_kind kind;
    bool possible; /* plan is filled */
    bool fits;     /* and within the memory asked for */
    tamis_plan plan;
    char note[80]; /* why not, in few words; else empty */
} plan_row;

typedef struct plan_table {
    plan_request request;
    bool decided; /* chosen is filled */
    tamis_plan chosen;
    double grows_to; /* records that a growing filter holds in the memory given; 0: not asked for, or none */
    double hash_set; /* bytes of a plain hash set, where it would do as well; 0: where not */
    plan_row rows[PLAN_ROWS];
} plan_table;

/* Fills the table. The status of the choice: not TAMIS_OK leaves `decided` false and *err filled. */
tamis_status plan_table_make(plan_table *table, const plan_request *request, tamis_error *err);
void plan_table_text(FILE *out, const plan_table *table);
/* As one JSON object; false if there was no memory for it. */
bool plan_table_json(FILE *out, const plan_table *table);

#endif
