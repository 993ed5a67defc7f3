/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_CMD_PLAN_PLAN_PUBLISHED_H
#define TAMIS_CLI_CMD_PLAN_PLAN_PUBLISHED_H

#include <stdbool.h>
#include <stdio.h>

/*
 * The tables that were published for filters over Redis bitmaps, and the rules of thumb that go with them,
 * beside what exact arithmetic gives.
 */
void plan_published_text(FILE *out);
/* As one JSON object; false if there was no memory for it. */
bool plan_published_json(FILE *out);

#endif
