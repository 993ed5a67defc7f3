/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/filter/cli_window.h"

#include <stdio.h>

#include <tamis/experimental/window.h>

#include "cli/core/cli_text.h"

const char *cli_window_text(char text[CLI_WINDOW_TEXT], const tamis_plan *plan) {
    char window[CLI_TEXT_NUMBER], step[CLI_TEXT_NUMBER], lateness[CLI_TEXT_NUMBER];

    snprintf(text, CLI_WINDOW_TEXT, "%s in steps of %s, keys up to %s late%s",
             cli_text_time(window, sizeof window, plan->window), cli_text_time(step, sizeof step, plan->step),
             cli_text_time(lateness, sizeof lateness, plan->lateness), plan->refresh ? ", refreshed" : "");
    return text;
}

void cli_window_json(json_t *object, const cli_window_fields *fields, const tamis_filter *filter) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    const bool is_window = plan->kind == TAMIS_KIND_WINDOW;
    const int64_t newest = tamis_window_newest(filter);

    cli_json_integer_or_null(object, &fields->window, is_window, plan->window);
    cli_json_integer_or_null(object, &fields->step, is_window, plan->step);
    cli_json_integer_or_null(object, &fields->lateness, is_window, plan->lateness);
    cli_json_integer_or_null(object, &fields->newest, newest >= 0, (uint64_t)newest);
    cli_json_boolean_or_null(object, &fields->refresh, is_window, plan->refresh);
}
