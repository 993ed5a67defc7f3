/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_CHANCE_H
#define TAMIS_CLI_CMD_PLAN_PLAN_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

/* What `hits` of `trials` independent questions say about the rate behind them. Any rate, however small. */

/* The rates that such an outcome is no surprise for: with a confidence of 0.95 it or less has a chance of 2.5 % at *high,
 * it or more at *low (Clopper and Pearson's interval). Without a hit *low is 0 and *high the rate at which that has a
 * chance of 5 %, about 3 / asked. asked must not be 0. */
void plan_chance_interval(uint64_t hits, uint64_t trials, double confidence, double *low, double *high);

/* Whether so many hits are beyond chance for a rate: have one of less than 1e-9. (Chernoff's bound, which is never
 * too small: false alarms are rarer still.) */
bool plan_chance_exceeds(uint64_t hits, uint64_t trials, double rate);

#endif
