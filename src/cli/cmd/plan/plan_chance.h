/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_CHANCE_H
#define TAMIS_CLI_CMD_PLAN_PLAN_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

/* Statistics of `hits` among `trials` independent lookups, for any rate, however small. docs/MATH.md,
 * "Measured rates". */

/* The confidence interval of the rate (Clopper and Pearson). With confidence 0.95, so few hits or fewer have
 * a chance of 0.025 at rate *high, and so many or more at rate *low. Without a hit, *low is 0, and *high is
 * the rate at which no hit has a chance of 0.05, about 3 / trials. `trials` must not be 0. */
void plan_chance_interval(uint64_t hits, uint64_t trials, double confidence, double *low, double *high);

/* True if so many hits are beyond chance for the rate: their chance is less than 1e-9. The chance is
 * Chernoff's bound of it, which is never too small, so false alarms are rarer still. */
bool plan_chance_exceeds(uint64_t hits, uint64_t trials, double rate);

#endif
