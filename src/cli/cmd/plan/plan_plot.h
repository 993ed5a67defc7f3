/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_PLOT_H
#define TAMIS_CLI_CMD_PLAN_PLAN_PLOT_H

#include <stdio.h>

#include "cli/cli.h"

/*
 * The rate of a Bloom filter that holds more keys than it was planned for. Each curve is f = (1 - 0.5^t)^k
 * for a filter planned for 10 %, 1 % or 0.1 %; t is the number of keys in it, divided by the number planned.
 * The axis of the rate is logarithmic, so the plot shows that each curve has its planned rate at t = 1.
 */
typedef struct plan_curve {
    double rate;      /* planned rate, at t = 1 */
    const char *name; /* planned rate as text, "1 %" */
} plan_curve;

enum { PLAN_CURVES = 3, PLAN_TIMES = 4, PLAN_DECADES = 4 }; /* t from 0 to 4, rates from 1e-4 to 1 */

extern const plan_curve plan_curves[PLAN_CURVES];

double plan_curve_rate(const plan_curve *curve, double t);
/* The t at which the curve has that rate. */
double plan_curve_time(const plan_curve *curve, double rate);
/* Writes a rate as a percentage with two digits: 0.0569 becomes "5.7 %". Returns `text`. */
const char *plan_percent(char *text, size_t size, double rate);

/* Draws the curves as an SVG picture. */
void plan_plot_svg(FILE *out);

/* Runs `tamis plan --plot`: draws on standard output, or writes the picture to the file named by `output`. */
tamis_status plan_plot(const cli_value *output, tamis_error *err);

#endif
