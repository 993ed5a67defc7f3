/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_TRIAL_H
#define TAMIS_CLI_CMD_PLAN_PLAN_TRIAL_H

#include <stdbool.h>

#include <tamis/plan.h>

/* What the keys of a trial look like: they matter to poor hashes. All are the same on every machine. */
typedef enum trial_keys {
    TRIAL_NUMBERS, /* 1, 2, 3, ... in decimal */
    TRIAL_WORDS,   /* distinct ones of `tamis gen words` */
    TRIAL_URLS     /* of `tamis gen urls` */
} trial_keys;

/* "numbers", "words", "urls" */
const char *trial_keys_name(trial_keys keys);

/* A filter to be built, filled, and asked for keys that were never added. The first three fields are given;
 * plan.fpr_predicted is 0 where a plan was made by hand. */
typedef struct plan_trial {
    tamis_plan plan;
    uint64_t added; /* keys to add; past plan.capacity they overfill it */
    trial_keys keys;
    double computed;  /* the rate that the formulas give for the keys added */
    uint64_t queries; /* keys asked: as many as the rate needs, up to what is quick */
    uint64_t hits;    /* of these, answered "seen" */
    double low, high; /* the interval of 95 % of the rate, as plan_chance_interval has it */
    /* static: "kept", "as computed" (overfilled, or above the promise as the plan says), "too rare", "missed" (a
     * claim) or "broken" */
    const char *verdict;
    bool broken;
} plan_trial;

/* Runs and judges it. On failure nothing is to be read. */
tamis_status plan_trial_run(plan_trial *trial, tamis_error *err);
/* Fills what comes after `hits`. */
void plan_trial_judge(plan_trial *trial);

/* Whether it adds more keys than planned. */
bool plan_trial_overfills(const plan_trial *trial);
/* Whether the hashes are the published poor ones (BKDR): the rate is then their claim and not our promise. */
bool plan_trial_is_claim(const plan_trial *trial);

/* Questions to put to a filter of that plan for its rate to be seen, up to what is quick. It is fixed before the first is
 * asked: to stop at a number of hits would bend what they say. */
uint64_t plan_trial_questions(const tamis_plan *plan, double rate);
/* What a promise allows one filter with so many keys: it holds for filters on average, and six standard deviations of
 * what one differs from another are no breach. */
double plan_trial_allowed(const tamis_plan *plan, double rate, double keys);

#endif
