/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_RECORD_H
#define TAMIS_CLI_CMD_PLAN_PLAN_RECORD_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/plan.h>

#include "cli/cli.h"
#include "cli/cmd/plan/plan_request.h"

/*
 * A plan of a classic filter without a number of records, for one record of many. Of rate, bits a record and
 * probes, two determine the third. Bits alone determine the lowest rate and its number of probes.
 */
typedef struct plan_record {
    double fpr, bits, fill; /* rate when full, bits a record, share of bits that are set when full */
    uint32_t probes;
    bool given[PLAN_NUMBERS]; /* numbers that the user gave */
} plan_record;

/* True if the options ask for such a plan: neither --expect nor --memory, but --bits-per-key, or both --fpr
 * and --probes. */
bool plan_record_is_requested(const cli_value *const values[PLAN_NUMBERS]);
/* Fills *record from the options. Error: they contradict each other. */
tamis_status plan_record_solve(plan_record *record, const cli_value *const values[PLAN_NUMBERS],
                               tamis_kind kind, tamis_error *err);
void plan_record_text(FILE *out, const plan_record *record);
/* Writes one JSON object. */
tamis_status plan_record_json(FILE *out, const plan_record *record, tamis_error *err);

#endif
