/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_CLI_FILTER_CLI_WINDOW_H
#define TAMIS_CLI_FILTER_CLI_WINDOW_H

#include <tamis/tamis.h>

#include "cli/core/cli_json.h"

/* Output of tamis info and tamis state about a filter of kind window. */

enum { CLI_WINDOW_TEXT = 200 };

/* Writes "1h in steps of 5m, keys up to 5m late". Returns `text`. */
const char *cli_window_text(char text[CLI_WINDOW_TEXT], const tamis_plan *plan);

/* Fields of a window: times in milliseconds, and refresh. */
typedef struct cli_window_fields {
    cli_field window, step, lateness, newest, refresh;
} cli_window_fields;

/* Sets the fields. They are null for other kinds. */
void cli_window_json(json_t *object, const cli_window_fields *fields, const tamis_filter *filter);

#endif
