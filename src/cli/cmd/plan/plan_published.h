/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_PUBLISHED_H
#define TAMIS_CLI_CMD_PLAN_PLAN_PUBLISHED_H

#include <stdbool.h>
#include <stdio.h>

#include <tamis/status.h>

/*
 * Prints the tables and rules of thumb that were published for filters over Redis bitmaps, beside the exact
 * values.
 */
void plan_published_text(FILE *out);
/* The same as one JSON object. */
tamis_status plan_published_json(FILE *out, tamis_error *err);

#endif
