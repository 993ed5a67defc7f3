/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_PLAN_TABLE_H
#define TAMIS_CLI_PLAN_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/plan.h>

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
    tamis_want want; /* as asked */
    bool decided;    /* chosen is filled */
    tamis_plan chosen;
    plan_row rows[PLAN_ROWS];
} plan_table;

/* Fills the table. The status of the choice: not TAMIS_OK leaves `decided` false and *err filled. */
tamis_status plan_table_make(plan_table *table, const tamis_want *want, tamis_error *err);
void plan_table_text(FILE *out, const plan_table *table);
/* As one JSON object; false if there was no memory for it. */
bool plan_table_json(FILE *out, const plan_table *table);

#endif
