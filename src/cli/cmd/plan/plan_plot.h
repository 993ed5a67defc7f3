/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_PLOT_H
#define TAMIS_CLI_CMD_PLAN_PLAN_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/cli.h"

/*
 * How the rate of a Bloom filter rises when it gets more keys than it was planned for: the overfill curve
 * f = (1 - 0.5^t)^k of filters planned for 10 %, 1 % and 0.1 %, against t, the keys in it by those planned.
 * The rate has a logarithmic axis, so that each curve is seen to pass its planned rate at t = 1.
 */
typedef struct plan_curve {
    double rate;      /* at t = 1 */
    const char *name; /* the rate as people write it */
} plan_curve;

enum { PLAN_CURVES = 3, PLAN_TIMES = 4, PLAN_DECADES = 4 }; /* t from 0 to 4, rates from 1e-4 to 1 */

extern const plan_curve plan_curves[PLAN_CURVES];

double plan_curve_rate(const plan_curve *curve, double t);
/* Where the curve has that rate. */
double plan_curve_time(const plan_curve *curve, double rate);
/* 0.0569 -> "5.7 %": two digits */
const char *plan_percent(char *text, size_t size, double rate);

/* Draws in characters, `columns` wide. */
void plan_plot_text(FILE *out, size_t columns, bool colour);
/* The same as a picture in SVG. */
void plan_plot_svg(FILE *out);

/* What `tamis plan --plot` does: draws on standard output, or writes the picture to the file of `output`. */
int plan_plot(const cli_value *output, tamis_error *err);

#endif
