/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/plan_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/cli_json.h"
#include "cli/cli_text.h"

static bool is_bloom(tamis_kind kind) {
    return kind == TAMIS_KIND_CLASSIC || kind == TAMIS_KIND_BLOCKED;
}

/* The library's sentence is for one kind alone; in a table the first reason is enough. */
static void explain(plan_row *row, const tamis_want *want, const tamis_error *err) {
    size_t length = strcspn(err->text, ";");
    const char *why = strchr(err->text, ':');

    if (is_bloom(row->kind) && want->expect == 0) {
        snprintf(row->note, sizeof row->note, "cannot grow: needs --expect");
        return;
    }
    why = why == NULL || why[1] == '\0' ? err->text : why + 2;
    length -= (size_t)(why - err->text) < length ? (size_t)(why - err->text) : 0;
    snprintf(row->note, sizeof row->note, "%.*s",
             (int)(length < sizeof row->note ? length : sizeof row->note - 1), why);
}

static void make_row(plan_row *row, tamis_kind kind, const tamis_want *want) {
    tamis_want mine = *want;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan limited = TAMIS_PLAN_INIT;

    row->kind = kind;
    row->plan = (tamis_plan)TAMIS_PLAN_INIT;
    row->note[0] = '\0';
    mine.kind = kind;
    mine.memory = 0; /* what it would take is worth knowing even if it is too much */
    row->possible = tamis_plan_make(&row->plan, &mine, &err) == TAMIS_OK;
    if (!row->possible)
        explain(row, want, &err);
    mine.memory = want->memory;
    row->fits = row->possible && tamis_plan_make(&limited, &mine, NULL) == TAMIS_OK;
    if (row->possible && !row->fits)
        snprintf(row->note, sizeof row->note, "more than --memory");
}

tamis_status plan_table_make(plan_table *table, const tamis_want *want, tamis_error *err) {
    tamis_status status;

    memset(table, 0, sizeof *table);
    table->want = *want;
    table->chosen = (tamis_plan)TAMIS_PLAN_INIT;
    for (int i = 0; i < PLAN_ROWS; i++)
        make_row(&table->rows[i], (tamis_kind)(TAMIS_KIND_CLASSIC + i), want);
    status = tamis_plan_make(&table->chosen, want, err);
    table->decided = status == TAMIS_OK;
    return status;
}

static bool is_chosen(const plan_table *table, const plan_row *row) {
    return table->decided && table->chosen.kind == row->kind;
}

static void print_head(FILE *out, const plan_table *table) {
    char count[CLI_TEXT_NUMBER], memory[CLI_TEXT_NUMBER], rate[CLI_TEXT_NUMBER];
    double fpr = table->want.fpr > 0 ? table->want.fpr : table->decided ? table->chosen.fpr : 1e-9;

    if (table->want.expect > 0)
        fprintf(out, "records   %s distinct\n", cli_text_count(count, sizeof count, table->want.expect));
    else
        fputs("records   number not given: the filter must grow\n", out);
    cli_text_real(rate, sizeof rate, fpr);
    if (fpr < 1e-6)
        cli_text_real(count, sizeof count, 1 / fpr);
    else if (fpr < 1e-2)
        cli_text_count(count, sizeof count, (uint64_t)llround(1 / fpr));
    else
        snprintf(count, sizeof count, "%.3g", 1 / fpr);
    fprintf(out, "rate      %s: of %s records that are new, one is taken for seen\n", rate, count);
    if (table->want.memory > 0)
        fprintf(out, "memory    at most %s\n", cli_text_bytes(memory, sizeof memory, table->want.memory));
    if (table->decided)
        fprintf(out, "choice    %s: %s\n", tamis_kind_name(table->chosen.kind), table->chosen.reason);
    else
        fputs("choice    none\n", out);
}

static void print_row(FILE *out, const plan_table *table, const plan_row *row) {
    char memory[CLI_TEXT_NUMBER], shape[CLI_TEXT_NUMBER], rate[CLI_TEXT_NUMBER];
    const tamis_plan *plan = &row->plan;
    const char *note = is_chosen(table, row) ? "chosen" : row->note;

    fprintf(out, "%c %-12s", is_chosen(table, row) ? '*' : ' ', tamis_kind_name(row->kind));
    if (!row->possible) {
        fprintf(out, " %8s  %10s  %-13s %6s  %9s  %s\n", "-", "-", "-", "-", "-", note);
        return;
    }
    if (is_bloom(row->kind))
        snprintf(shape, sizeof shape, "%3" PRIu32 " probe%s", plan->probes, plan->probes == 1 ? "" : "s");
    else
        snprintf(shape, sizeof shape, "%3" PRIu32 "-bit slot", plan->slot_bits);
    cli_text_bytes(memory, sizeof memory, plan->memory);
    fprintf(out, " %8.1f  %10s  %-13s %6.2f  %9s%s%s\n", plan->bits_per_key, memory, shape,
            plan->lines_touched, cli_text_real(rate, sizeof rate, plan->fpr_predicted), *note ? "  " : "",
            note);
}

void plan_table_text(FILE *out, const plan_table *table) {
    bool grows = table->want.expect == 0;

    print_head(out, table);
    fprintf(out, "\n  %-12s %8s  %10s  %-13s %6s  %9s\n", "kind", "bits/key", grows ? "at start" : "memory",
            "  per key", "lines", "rate");
    for (int i = 0; i < PLAN_ROWS; i++)
        print_row(out, table, &table->rows[i]);
    fprintf(out, "\n%s\n",
            grows ? "bits/key is the average while it grows; rate is predicted for 2^40 records.\n"
                    "lines: cache lines of 64 bytes that a lookup reads."
                  : "memory is the peak; lines: cache lines of 64 bytes that a lookup reads; rate: "
                    "predicted when full.");
}

static json_t *row_object(const plan_table *table, const plan_row *row) {
    const tamis_plan *plan = &row->plan;
    json_t *object = json_object();

    cli_json_text(object, "kind", tamis_kind_name(row->kind));
    cli_json_bool(object, "chosen", is_chosen(table, row));
    cli_json_bool(object, "possible", row->possible);
    cli_json_bool(object, "fits", row->fits);
    if (*row->note)
        cli_json_text(object, "why_not", row->note);
    if (!row->possible)
        return object;
    cli_json_count(object, "capacity", plan->capacity);
    cli_json_real(object, "bits_per_key", plan->bits_per_key);
    cli_json_count(object, "memory", plan->memory);
    if (is_bloom(row->kind)) {
        cli_json_count(object, "bits", plan->bits);
        cli_json_count(object, "probes", plan->probes);
    } else {
        cli_json_count(object, "slot_bits", plan->slot_bits);
        cli_json_count(object, "lines", plan->lines);
    }
    cli_json_real(object, "lines_touched", plan->lines_touched);
    cli_json_real(object, "fpr_predicted", plan->fpr_predicted);
    return object;
}

bool plan_table_json(FILE *out, const plan_table *table) {
    json_t *object = json_object(), *kinds = json_array();
    double fpr = table->want.fpr > 0 ? table->want.fpr : table->decided ? table->chosen.fpr : 1e-9;

    cli_json_count(object, "expect", table->want.expect);
    cli_json_real(object, "fpr", fpr);
    cli_json_count(object, "memory_limit", table->want.memory);
    if (table->decided) {
        cli_json_text(object, "chosen", tamis_kind_name(table->chosen.kind));
        cli_json_text(object, "reason", table->chosen.reason);
    } else {
        cli_json_null(object, "chosen");
        cli_json_null(object, "reason");
    }
    for (int i = 0; i < PLAN_ROWS; i++)
        json_array_append_new(kinds, row_object(table, &table->rows[i]));
    /* Without all of its rows the member is left out, and the object is seen not to be whole. */
    if (json_array_size(kinds) == PLAN_ROWS)
        json_object_set_new(object, "kinds", kinds);
    else
        json_decref(kinds);
    return cli_json_write(object, 6, out, 2);
}
