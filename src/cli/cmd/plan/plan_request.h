/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_REQUEST_H
#define TAMIS_CLI_CMD_PLAN_PLAN_REQUEST_H

#include <tamis/plan.h>

#include "cli/cli.h"

/* What `tamis plan` was asked, solved for what is to be asked of the library. */

#define PLAN_FPR_DEFAULT 1e-9

/* Where a number comes from. */
typedef enum plan_source {
    PLAN_UNKNOWN = 0, /* nowhere: not given, and nothing it follows from */
    PLAN_GIVEN,
    PLAN_DERIVED, /* from others that are given; with `fit`, what the library finds */
    PLAN_DEFAULT
} plan_source;

/* The five numbers that make a plan, in the order of the options. */
typedef enum plan_number {
    PLAN_EXPECT,
    PLAN_FPR,
    PLAN_MEMORY,
    PLAN_BITS, /* bits a key */
    PLAN_PROBES,
    PLAN_NUMBERS
} plan_number;

/* Their names, as options without dashes. */
extern const char *const plan_number_names[PLAN_NUMBERS];

typedef struct plan_request {
    tamis_plan_options plan_options; /* for the library; memory is the least of the limits given */
    bool fit;         /* tamis_plan_fit is to be asked: for the least rate, or (expect 0) for the most keys */
    double bits;      /* --bits-per-key; 0: not given */
    bool bits_decide; /* it is the tighter limit, or made the number of keys of --memory */
    plan_source sources[PLAN_NUMBERS];
} plan_request;

/* Solves what was given; `values` by plan_number. Refuses what contradicts itself and what is not enough. kind and
 * scheme of request->plan_options are the caller's to fill before. */
int plan_request_solve(plan_request *request, const cli_value *const values[PLAN_NUMBERS], tamis_error *err);

/* The library's plan: tamis_plan_make or, with `fit`, tamis_plan_fit. */
tamis_status plan_request_plan(tamis_plan *plan, const plan_request *request, tamis_kind kind,
                               tamis_error *err);

/* Says of a plan refused for want of memory which option is at fault and how much it would take. */
void plan_request_name_limit(const plan_request *request, const cli_value *const values[PLAN_NUMBERS],
                             tamis_error *err);

#endif
