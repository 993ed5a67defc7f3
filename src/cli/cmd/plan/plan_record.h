/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_RECORD_H
#define TAMIS_CLI_CMD_PLAN_PLAN_RECORD_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/plan.h>

#include "cli/cli.h"
#include "cli/cmd/plan/plan_request.h"

/*
 * What follows for one record of a classic filter, however many there are: of rate, bits a record and probes two decide
 * on the third, and bits alone on the best of both.
 */
typedef struct plan_record {
    double fpr, bits, fill; /* fill: share of the bits that are set */
    uint32_t probes;
    bool given[PLAN_NUMBERS];
} plan_record;

/* Whether that is what was asked: neither records nor memory, and more than the rate or the probes alone. */
bool plan_record_is_requested(const cli_value *const values[PLAN_NUMBERS]);
/* Refuses what contradicts itself. */
int plan_record_solve(plan_record *record, const cli_value *const values[PLAN_NUMBERS], tamis_kind kind,
                      tamis_error *err);
void plan_record_text(FILE *out, const plan_record *record);
/* As one JSON object; false if there was no memory for it. */
bool plan_record_json(FILE *out, const plan_record *record);

#endif
