/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_TABLE_H
#define TAMIS_CLI_CMD_PLAN_PLAN_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/plan.h>

#include "cli/cmd/plan/plan_request.h"

enum {
    PLAN_ROWS = 4,    /* the kinds that are always listed: classic to exact */
    PLAN_ROWS_MAX = 5 /* and another one that was requested */
};

/* Cost of one kind. */
typedef struct plan_row {
    tamis_kind kind;
    bool possible; /* `plan` is filled */
    bool fits;     /* `plan` is within the given memory */
    tamis_plan plan;
    char note[80]; /* reason if the kind is impossible or does not fit; else "" */
} plan_row;

typedef struct plan_table {
    plan_request request;
    bool decided; /* `chosen` is filled */
    tamis_plan chosen;
    double grows_to; /* records that a growing filter holds in the given memory; 0: not applicable */
    double hash_set; /* bytes of a plain hash set that would do as well; 0: it would not */
    int row_count;
    plan_row rows[PLAN_ROWS_MAX];
} plan_table;

/* Fills the table and returns the status of the choice. If it is not TAMIS_OK, `decided` is false and *err is
 * filled; the rows are valid anyway. */
tamis_status plan_table_make(plan_table *table, const plan_request *request, tamis_error *err);
void plan_table_text(FILE *out, const plan_table *table);
/* Writes one JSON object. */
tamis_status plan_table_json(FILE *out, const plan_table *table, tamis_error *err);

#endif
