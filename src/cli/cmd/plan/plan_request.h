/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_REQUEST_H
#define TAMIS_CLI_CMD_PLAN_PLAN_REQUEST_H

#include <tamis/plan.h>

#include "cli/cli.h"

/* The numbers given to `tamis plan`, and the plan options of the library that follow from them. */

#define PLAN_FPR_DEFAULT 1e-9

/* Source of a number. */
typedef enum plan_source {
    PLAN_UNKNOWN = 0, /* neither given nor derived */
    PLAN_GIVEN,       /* given by the user */
    PLAN_DERIVED,     /* derived from given numbers; with `fit`, found by the library */
    PLAN_DEFAULT
} plan_source;

/* The five numbers that make a plan. */
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
    tamis_plan_options plan_options; /* options for the library; memory is the lowest of the given limits */
    bool fit;         /* call tamis_plan_fit: for the lowest rate, or (expect 0) for the most keys */
    double bits;      /* --bits-per-key; 0: not given */
    bool bits_decide; /* --bits-per-key is the tighter limit, or gave the number of keys in --memory */
    plan_source sources[PLAN_NUMBERS];
} plan_request;

/* Fills *request from `values`, which are indexed by plan_number. The caller sets kind and scheme of
 * request->plan_options before. Error: the numbers contradict each other, or are too few for a plan. */
tamis_status plan_request_solve(plan_request *request, const cli_value *const values[PLAN_NUMBERS],
                                tamis_error *err);

/* Makes the plan for `kind`, by tamis_plan_make or, with `fit`, by tamis_plan_fit. */
tamis_status plan_request_plan(tamis_plan *plan, const plan_request *request, tamis_kind kind,
                               tamis_error *err);

/* If the plan failed for lack of memory: replaces the message in *err by one that names the option and the
 * memory needed. */
void plan_request_name_limit(const plan_request *request, const cli_value *const values[PLAN_NUMBERS],
                             tamis_error *err);

#endif
