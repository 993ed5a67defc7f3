/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/plan/plan_expiring.h"

#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"
#include "cli/filter/cli_window.h"

void plan_expiring_text(FILE *out, const tamis_plan *plan) {
    char text[CLI_WINDOW_TEXT], number[CLI_TEXT_NUMBER];

    fprintf(out, "window    %s\n", cli_window_text(text, plan));
    if (plan->capacity > 0)
        fprintf(out, "records   %s distinct in a window\n",
                cli_text_count(number, sizeof number, plan->capacity));
    else
        fputs("records   number not given: the filter grows\n", out);
    fprintf(out, "rate      %s\n", cli_text_rate(number, sizeof number, plan->fpr));
    if (plan->capacity > 0)
        fprintf(out, "memory    %s, ", cli_text_bytes(number, sizeof number, plan->memory));
    else
        fputs("memory    at least ", out);
    fprintf(out, "%.1f bits per record of a window\n", plan->bits_per_key);
    fputs("lines     2 cache lines of 64 bytes that a lookup reads\n", out);
}

tamis_status plan_expiring_json(FILE *out, const tamis_plan *plan, tamis_error *err) {
    json_t *object = json_object();

    cli_json_count(object, "expect", plan->capacity);
    cli_json_real(object, "fpr", plan->fpr);
    cli_json_count(object, "window", plan->window);
    cli_json_count(object, "step", plan->step);
    cli_json_count(object, "lateness", plan->lateness);
    cli_json_real(object, "bits_per_key", plan->bits_per_key);
    if (plan->capacity > 0)
        cli_json_count(object, "memory", plan->memory);
    else
        cli_json_null(object, "memory");
    cli_json_real(object, "lines_touched", plan->lines_touched);
    cli_json_real(object, "fpr_predicted", plan->fpr_predicted);
    return cli_json_write(object, out, 0, "plan", err);
}
