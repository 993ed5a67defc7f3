/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The table of `tamis plan`: what each kind of filter would cost, and which one is chosen.
 *
 *     records   1,000,000 distinct                        print_head: the numbers that make the plan,
 *     rate      ...                                       and the choice with its reason
 *     choice    blocked: ...
 *
 *       kind   bits/key   memory   per key   lines   rate
 *     * ...                                     chosen    print_row, one for each kind but auto
 *       ...                                     note      why the kind is impossible or does not fit
 *
 *     memory: of the filter, at its peak; ...             print_notes: columns and alternatives
 *
 * The table is computed first (plan_table_make) and then printed as text or as JSON. Both show the same
 * numbers, and printing computes no plan.
 *
 * A row is a plan for its kind. The chosen plan is made apart, with the kind of the request, by the library:
 * this file has no rule for choosing. It only marks the row of the chosen kind.
 *
 * Memory limits. For a given rate, a row is planned without the limit and then compared with it. So the user
 * sees by how much a kind exceeds the limit. With `fit` the limit is what the plan is made from, and all rows
 * get the same memory. They differ in rate or, without --expect, in the number of records.
 *
 * "Nearly". With `fit` the library prefers a kind that reads fewer cache lines, if it is only a little worse.
 * Another row then has a lower rate or more records, and the head says "nearly the least" (is_nearly).
 *
 * Alternatives below the table: a growing filter in the same memory, and a plain hash set for few records.
 * A hash set has no wrong answers, and with few records its size does not matter.
 *
 * Invariants:
 * 1. `plan` of a row is valid if the row is possible. `note` says why a row is impossible or does not fit.
 * 2. `chosen` is valid if `decided` is set, and its kind is never auto.
 * 3. The rows are valid even if no kind can be chosen: the table then shows why, and the command fails.
 */
#include "cli/cmd/plan/plan_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/cmd/plan/plan_fields.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"

/* With fewer records a plain hash set does as well, and its bytes a record (docs/MATH.md). */
#define HASH_SET_RECORDS 1e6
#define HASH_SET_BYTES   80.0

static bool grows(const plan_request *request) {
    return request->plan_options.expect == 0 && !request->fit;
}

/* Notes why the kind is impossible, in few words: the first reason in the message of the library. */
static void explain(plan_row *row, const plan_request *request, const tamis_error *err) {
    int length;
    const char *why = cli_why(err, &length);

    if (tamis_kind_is_bloom(row->kind) && grows(request)) {
        snprintf(row->note, sizeof row->note, "cannot grow: needs --expect");
        return;
    }
    if (request->fit && err->status == TAMIS_E_MEMORY_LIMIT) {
        snprintf(row->note, sizeof row->note, "too little memory, at any rate");
        return;
    }
    snprintf(row->note, sizeof row->note, "%.*s", length, why);
}

static void make_row(plan_row *row, tamis_kind kind, const plan_request *request) {
    plan_request own = *request;
    tamis_error err = TAMIS_ERROR_INIT;

    row->kind = kind;
    row->plan = (tamis_plan)TAMIS_PLAN_INIT;
    row->note[0] = '\0';
    if (!request->fit)
        own.plan_options.memory = 0; /* show the memory even if it exceeds the limit */
    row->possible = plan_request_plan(&row->plan, &own, kind, &err) == TAMIS_OK;
    if (!row->possible)
        explain(row, request, &err);
    row->fits = row->possible &&
                (request->plan_options.memory == 0 || row->plan.memory <= request->plan_options.memory);
    if (row->possible && !row->fits)
        snprintf(row->note, sizeof row->note, "more than --%s",
                 plan_number_names[request->bits_decide ? PLAN_BITS : PLAN_MEMORY]);
}

/* Estimates how many records a growing filter holds in the given memory. 0: no memory was given, the
 * number of records was, or the filter cannot grow. */
static double growth_within(const plan_request *request) {
    tamis_plan_options plan_options = request->plan_options;
    tamis_plan plan = TAMIS_PLAN_INIT;

    if (!request->fit || plan_options.expect > 0 || plan_options.probes > 0 ||
        tamis_kind_is_bloom(plan_options.kind))
        return 0;
    if (tamis_plan_make(&plan, &plan_options, NULL) != TAMIS_OK || plan.capacity != 0)
        return 0;
    return 8 * (double)plan_options.memory / plan.bits_per_key;
}

/* Bytes of a plain hash set of the records; 0 if there are too many records, or if it does not fit into the
 * memory. Also 0 for a scheme of another program, which has to read the filter. */
static double hash_set_bytes(const plan_table *table) {
    double records = table->decided ? (double)table->chosen.capacity : 0, bytes = HASH_SET_BYTES * records;
    const tamis_scheme scheme = table->request.plan_options.scheme;
    const bool ours =
        scheme == TAMIS_SCHEME_AUTO || scheme == TAMIS_SCHEME_XXH3 || scheme == TAMIS_SCHEME_SIP;
    bool fits =
        table->request.plan_options.memory == 0 || bytes <= (double)table->request.plan_options.memory;

    return ours && fits && records > 0 && records < HASH_SET_RECORDS ? bytes : 0;
}

tamis_status plan_table_make(plan_table *table, const plan_request *request, tamis_error *err) {
    memset(table, 0, sizeof *table);
    table->request = *request;
    table->chosen = (tamis_plan)TAMIS_PLAN_INIT;
    for (; table->row_count < PLAN_ROWS; table->row_count++)
        make_row(&table->rows[table->row_count], (tamis_kind)(TAMIS_KIND_CLASSIC + table->row_count),
                 request);
    if (request->plan_options.kind > TAMIS_KIND_EXACT)
        make_row(&table->rows[table->row_count++], request->plan_options.kind, request);
    const tamis_status status = plan_request_plan(&table->chosen, request, request->plan_options.kind, err);
    table->decided = status == TAMIS_OK;
    table->grows_to = growth_within(request);
    table->hash_set = hash_set_bytes(table);
    return status;
}

static bool is_chosen(const plan_table *table, const plan_row *row) {
    return table->decided && table->chosen.kind == row->kind;
}

/* The given rate, or the one found for the memory; 0: none was found. */
static double rate_of(const plan_table *table) {
    bool requested =
        table->request.plan_options.fpr > 0 && table->request.plan_options.kind != TAMIS_KIND_EXACT;

    return requested ? table->request.plan_options.fpr : table->decided ? table->chosen.fpr : 0;
}

/* True if another kind has a lower rate, or holds more records, in the same memory than the chosen kind. The
 * chosen kind then reads fewer cache lines. */
static bool is_nearly(const plan_table *table) {
    if (table->request.plan_options.kind != TAMIS_KIND_AUTO || !table->decided || !table->request.fit)
        return false;
    for (int i = 0; i < table->row_count; i++) {
        const tamis_plan *plan = &table->rows[i].plan;
        if (!table->rows[i].possible || plan->kind == TAMIS_KIND_EXACT)
            continue;
        if (table->request.plan_options.expect > 0 ? plan->fpr_predicted < table->chosen.fpr_predicted
                                                   : plan->capacity > table->chosen.capacity)
            return true;
    }
    return false;
}

static void print_records(FILE *out, const plan_table *table) {
    const plan_request *request = &table->request;
    char count[CLI_TEXT_NUMBER];

    if (grows(request))
        fprintf(out, "%-9s number not given: the filter must grow\n", plan_fields.expect.label);
    else if (request->plan_options.expect > 0)
        fprintf(out, "%-9s %s distinct%s\n", plan_fields.expect.label,
                cli_text_count(count, sizeof count, request->plan_options.expect),
                request->sources[PLAN_EXPECT] == PLAN_DERIVED ? ", from --memory and --bits-per-key" : "");
    else if (table->decided)
        fprintf(out, "%-9s %s distinct, %sthe most that fit\n", plan_fields.expect.label,
                cli_text_count(count, sizeof count, table->chosen.capacity),
                is_nearly(table) ? "nearly " : "");
    else
        fprintf(out, "%-9s none fit\n", plan_fields.expect.label);
}

static void print_rate(FILE *out, const plan_table *table) {
    const plan_request *request = &table->request;
    char count[CLI_TEXT_NUMBER], rate[CLI_TEXT_NUMBER];
    const double fpr = rate_of(table);
    const char *from = request->plan_options.kind == TAMIS_KIND_EXACT ? ", that of 128-bit hashes"
                       : request->sources[PLAN_FPR] != PLAN_DERIVED   ? ""
                       : request->plan_options.fpr > 0 ? ", of these probes with half of the bits set"
                       : is_nearly(table)              ? ", nearly the least that fits"
                                                       : ", the least that fits";

    if (fpr == 0) {
        fprintf(out, "%-9s none fits\n", plan_fields.fpr.label);
        return;
    }
    cli_text_real(rate, sizeof rate, fpr);
    if (fpr < 1e-6)
        cli_text_real(count, sizeof count, 1 / fpr);
    else if (fpr < 1e-2)
        cli_text_count(count, sizeof count, (uint64_t)llround(1 / fpr));
    else
        snprintf(count, sizeof count, "%.3g", 1 / fpr);
    fprintf(out, "%-9s %s%s: 1 of %s new records is reported as seen\n", plan_fields.fpr.label, rate, from,
            count);
}

static void print_head(FILE *out, const plan_table *table) {
    const plan_request *request = &table->request;
    char memory[CLI_TEXT_NUMBER];

    print_records(out, table);
    print_rate(out, table);
    if (request->plan_options.memory > 0)
        fprintf(out, "%-9s at most %s for the filter%s\n", plan_fields.memory_limit.label,
                cli_text_bytes(memory, sizeof memory, request->plan_options.memory),
                request->bits_decide && request->sources[PLAN_EXPECT] == PLAN_GIVEN ? ", from --bits-per-key"
                                                                                    : "");
    if (request->plan_options.probes > 0)
        fprintf(out, "%-9s %" PRIu32 "\n", plan_fields.probes_given.label, request->plan_options.probes);
    if (table->decided)
        fprintf(out, "%-9s %s: %s\n", plan_fields.chosen.label, tamis_kind_name(table->chosen.kind),
                table->chosen.reason);
    else
        fprintf(out, "%-9s none\n", plan_fields.chosen.label);
}

/* True if the column of sizes lists records instead of memory: all kinds get the same memory. */
static bool lists_records(const plan_table *table) {
    return table->request.fit && table->request.plan_options.expect == 0;
}

static void print_row(FILE *out, const plan_table *table, const plan_row *row) {
    char size[CLI_TEXT_NUMBER], shape[CLI_TEXT_NUMBER], rate[CLI_TEXT_NUMBER];
    const tamis_plan *plan = &row->plan;
    const char *note = is_chosen(table, row) ? "chosen" : row->note;

    fprintf(out, "%c %-12s", is_chosen(table, row) ? '*' : ' ', tamis_kind_name(row->kind));
    if (!row->possible) {
        fprintf(out, " %8s  %10s  %-13s %6s  %9s  %s\n", "-", "-", "-", "-", "-", note);
        return;
    }
    if (tamis_kind_is_bloom(row->kind))
        snprintf(shape, sizeof shape, "%3" PRIu32 " probe%s", plan->probes, plan->probes == 1 ? "" : "s");
    else
        snprintf(shape, sizeof shape, "%3" PRIu32 "-bit slot", plan->slot_bits);
    if (lists_records(table))
        cli_text_metric(size, sizeof size, (double)plan->capacity);
    else
        cli_text_bytes(size, sizeof size, plan->memory);
    fprintf(out, " %8.1f  %10s  %-13s %6.2f  %9s%s%s\n", plan->bits_per_key, size, shape, plan->lines_touched,
            cli_text_real(rate, sizeof rate, plan->fpr_predicted), *note ? "  " : "", note);
}

/* Prints the notes below the table: its columns, and alternatives. */
static void print_notes(FILE *out, const plan_table *table) {
    char number[CLI_TEXT_NUMBER];

    if (grows(&table->request))
        fputs("\nbits/key is the average while it grows; at first: memory of the filter from some thousand "
              "records on;\nrate is predicted for 2^40 records.\n"
              "lines: cache lines of 64 bytes that a lookup reads.\n",
              out);
    else
        fprintf(out,
                "\n%s; lines: cache lines of 64 bytes that a lookup reads; rate: "
                "predicted when full.\n",
                lists_records(table) ? "records: how many fit the memory"
                                     : "memory: of the filter, at its peak");
    if (table->grows_to >= 1)
        fprintf(out, "A filter that grows (dedup without --expect) holds about %s records in that memory.\n",
                cli_text_metric(number, sizeof number, table->grows_to));
    if (table->hash_set > 0)
        fprintf(out,
                "Below about a million records a plain hash set does as well, without wrong answers: some %s "
                "here.\n",
                cli_text_bytes(number, sizeof number, (uint64_t)table->hash_set));
    if (!tamis_scheme_is_uniform(table->request.plan_options.scheme))
        fprintf(out,
                "The hashes of scheme %s are poor: the promised rate does not hold; --measure shows what "
                "does.\n",
                tamis_scheme_name(table->request.plan_options.scheme));
}

void plan_table_text(FILE *out, const plan_table *table) {
    const char *size = grows(&table->request) ? "at first" : lists_records(table) ? "records" : "memory";

    print_head(out, table);
    fprintf(out, "\n  %-12s %8s  %10s  %-13s %6s  %9s\n", "kind", "bits/key", size, "  per key", "lines",
            "rate");
    for (int i = 0; i < table->row_count; i++)
        print_row(out, table, &table->rows[i]);
    print_notes(out, table);
}

static json_t *row_object(const plan_table *table, const plan_row *row) {
    const tamis_plan *plan = &row->plan;
    json_t *object = json_object();

    cli_json_string(object, &plan_fields.kind, tamis_kind_name(row->kind));
    cli_json_boolean(object, &plan_fields.is_chosen, is_chosen(table, row));
    cli_json_boolean(object, &plan_fields.possible, row->possible);
    cli_json_boolean(object, &plan_fields.fits, row->fits);
    if (*row->note)
        cli_json_string(object, &plan_fields.why_not, row->note);
    if (!row->possible)
        return object;
    cli_json_integer(object, &plan_fields.capacity, plan->capacity);
    cli_json_number(object, &plan_fields.bits_per_key, plan->bits_per_key);
    cli_json_integer(object, &plan_fields.memory, plan->memory);
    if (tamis_kind_is_bloom(row->kind)) {
        cli_json_integer(object, &plan_fields.bits, plan->bits);
        cli_json_integer(object, &plan_fields.probes, plan->probes);
    } else {
        cli_json_integer(object, &plan_fields.slot_bits, plan->slot_bits);
        cli_json_integer(object, &plan_fields.lines, plan->lines);
    }
    cli_json_number(object, &plan_fields.lines_touched, plan->lines_touched);
    cli_json_number(object, &plan_fields.fpr_predicted, plan->fpr_predicted);
    return object;
}

/* Names of the numbers with this source. */
static json_t *numbers_from(const plan_table *table, plan_source source) {
    json_t *names = json_array();

    for (int i = 0; i < PLAN_NUMBERS; i++)
        if (table->request.sources[i] == source)
            cli_json_append(names, json_string(plan_number_names[i]));
    return names;
}

static void add_numbers(json_t *object, const plan_table *table) {
    const plan_request *request = &table->request;
    const uint64_t capacity = table->decided ? table->chosen.capacity : 0;

    cli_json_set(object, &plan_fields.given, numbers_from(table, PLAN_GIVEN));
    cli_json_set(object, &plan_fields.derived, numbers_from(table, PLAN_DERIVED));
    cli_json_integer(object, &plan_fields.expect,
                     request->plan_options.expect > 0 ? request->plan_options.expect : capacity);
    cli_json_number(object, &plan_fields.fpr,
                    table->decided || request->plan_options.fpr > 0 ? rate_of(table) : NAN);
    cli_json_integer(object, &plan_fields.memory_limit, request->plan_options.memory);
    cli_json_number(object, &plan_fields.bits_per_key_limit, request->bits);
    cli_json_integer(object, &plan_fields.probes_given, request->plan_options.probes);
}

tamis_status plan_table_json(FILE *out, const plan_table *table, tamis_error *err) {
    json_t *object = json_object(), *kinds = json_array();

    add_numbers(object, table);
    cli_json_string(object, &plan_fields.chosen, table->decided ? tamis_kind_name(table->chosen.kind) : NULL);
    cli_json_string(object, &plan_fields.reason, table->decided ? table->chosen.reason : NULL);
    cli_json_integer(object, &plan_fields.grows_to, (uint64_t)table->grows_to);
    cli_json_string(object, &plan_fields.hint,
                    table->hash_set > 0 ? "a plain hash set does as well for so few" : NULL);
    for (int i = 0; i < table->row_count; i++)
        cli_json_append(kinds, row_object(table, &table->rows[i]));
    cli_json_set(object, &plan_fields.kinds, kinds);
    return cli_json_write(object, out, 2, "plan", err);
}
