/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_TRIAL_H
#define TAMIS_CLI_CMD_PLAN_PLAN_TRIAL_H

#include <stdbool.h>

#include <tamis/plan.h>

/* Form of the keys of a trial, which matters for poor hashes. The keys are the same on every machine. */
typedef enum trial_keys {
    TRIAL_NUMBERS, /* 1, 2, 3, ... in decimal */
    TRIAL_WORDS,   /* distinct words of `tamis gen words` */
    TRIAL_URLS     /* addresses of `tamis gen urls` */
} trial_keys;

/* "numbers", "words", "urls" */
const char *trial_keys_name(trial_keys keys);

/* A filter that is built, filled, and looked up with keys that were never added. The caller sets the first
 * three fields. plan.fpr_predicted is 0 if the plan was made by hand. */
typedef struct plan_trial {
    tamis_plan plan;
    uint64_t added;      /* keys to add; may be more than plan.capacity */
    trial_keys keys;     /* form of the keys */
    double computed;     /* computed rate with the keys added */
    uint64_t queries;    /* lookups of absent keys: tamis_audit_queries */
    uint64_t hits;       /* lookups answered "present" */
    double low, high;    /* 95 % interval of the rate: tamis_rate_interval */
    const char *verdict; /* static text: plan_trial_judge */
    bool broken;         /* a promise is broken beyond chance */
} plan_trial;

/* Builds, fills, queries and judges the filter. After a failure the results are undefined. */
tamis_status plan_trial_run(plan_trial *trial, tamis_error *err);

/*
 * Fills the fields after `hits`. Errors of tamis_audit_judge. The verdicts:
 *
 *     kept           not above the promise, or not beyond chance
 *     as computed    over capacity, or planned above the promised rate; not beyond chance above that rate
 *     too rare       fewer than 3 hits were to be expected
 *     missed         the claimed rate of a published scheme does not hold
 *     broken         the promise does not hold
 */
tamis_status plan_trial_judge(plan_trial *trial, tamis_error *err);

/* True if the trial adds more keys than planned. */
bool plan_trial_is_over_capacity(const plan_trial *trial);
/* True if the hashes are the published poor ones (BKDR). The rate is then a claim of their authors, not a
 * promise. */
bool plan_trial_is_claim(const plan_trial *trial);

#endif
