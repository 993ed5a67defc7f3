/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * tamis plan --measure: makes full filters, looks up keys that were never added, and compares the rates.
 *
 *     a given plan, or standard_case of each kind and scheme --> plan_trial --> hits --> interval, verdict
 *
 * A plan for more than a million keys is scaled down, with the same bits a key. docs/MATH.md, "Measured
 * rates", has the statistics.
 */
#include "cli/cmd/plan/plan_modes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd/plan/plan_fields.h"
#include "cli/cmd/plan/plan_trial.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"

enum { KEYS = 1000000, WIDTH = 100 };

/* A case of the list that is measured without a plan. */
typedef struct standard_case {
    tamis_kind kind;
    tamis_scheme scheme;
    double fpr;                    /* promised or published rate */
    uint32_t bits_per_key, probes; /* 0: planned for the rate */
    uint32_t fold;                 /* keys added, as a multiple of the keys planned */
    trial_keys keys;               /* TRIAL_NUMBERS unless given */
    const char *title;             /* heading above this case; NULL: none */
} standard_case;

static const standard_case standard[] = {
    {.kind = TAMIS_KIND_CLASSIC,
     .scheme = TAMIS_SCHEME_XXH3,
     .fpr = 1e-2,
     .fold = 1,
     .title = "Kinds; the keys are numbers"},
    {.kind = TAMIS_KIND_CLASSIC, .scheme = TAMIS_SCHEME_XXH3, .fpr = 1e-3, .fold = 1},
    {.kind = TAMIS_KIND_CLASSIC, .scheme = TAMIS_SCHEME_XXH3, .fpr = 1e-4, .fold = 1},
    {.kind = TAMIS_KIND_BLOCKED, .scheme = TAMIS_SCHEME_XXH3, .fpr = 1e-2, .fold = 1},
    {.kind = TAMIS_KIND_BLOCKED, .scheme = TAMIS_SCHEME_XXH3, .fpr = 1e-3, .fold = 1},
    {.kind = TAMIS_KIND_BLOCKED, .scheme = TAMIS_SCHEME_XXH3, .fpr = 1e-4, .fold = 1},
    {.kind = TAMIS_KIND_FINGERPRINT, .scheme = TAMIS_SCHEME_XXH3, .fpr = 1e-4, .fold = 1},
    {.kind = TAMIS_KIND_FINGERPRINT, .scheme = TAMIS_SCHEME_XXH3, .fpr = 1e-6, .fold = 1},
    {.kind = TAMIS_KIND_EXACT, .scheme = TAMIS_SCHEME_XXH3, .fold = 1},
    {.kind = TAMIS_KIND_CLASSIC, .scheme = TAMIS_SCHEME_SIP, .fpr = 1e-3, .fold = 1, .title = "Schemes"},
    {.kind = TAMIS_KIND_CLASSIC, .scheme = TAMIS_SCHEME_GUAVA64, .fpr = 1e-3, .fold = 1},
    {.kind = TAMIS_KIND_CLASSIC, .scheme = TAMIS_SCHEME_GUAVA32, .fpr = 1e-3, .fold = 1},
    {.kind = TAMIS_KIND_CLASSIC, .scheme = TAMIS_SCHEME_REDISBLOOM, .fpr = 1e-3, .fold = 1},
    {.kind = TAMIS_KIND_CLASSIC, .scheme = TAMIS_SCHEME_FNV_DCSO, .fpr = 1e-3, .fold = 1},
    {.kind = TAMIS_KIND_CLASSIC,
     .scheme = TAMIS_SCHEME_XXH3,
     .fpr = 0.1,
     .fold = 2,
     .title = "Twice the keys planned"},
    {.kind = TAMIS_KIND_CLASSIC, .scheme = TAMIS_SCHEME_XXH3, .fpr = 1e-2, .fold = 2},
    {.kind = TAMIS_KIND_CLASSIC, .scheme = TAMIS_SCHEME_XXH3, .fpr = 1e-3, .fold = 2},
    {.kind = TAMIS_KIND_BLOCKED, .scheme = TAMIS_SCHEME_XXH3, .fpr = 1e-2, .fold = 2},
    {.kind = TAMIS_KIND_CLASSIC,
     .scheme = TAMIS_SCHEME_BKDR31,
     .fpr = 1e-9,
     .bits_per_key = 50,
     .probes = 16,
     .fold = 1,
     .keys = TRIAL_WORDS,
     .title = "As published, with BKDR hashes; the keys are words of 4 to 12 letters"},
    {.kind = TAMIS_KIND_CLASSIC,
     .scheme = TAMIS_SCHEME_BKDR31,
     .fpr = 9.01e-6,
     .bits_per_key = 30,
     .probes = 8,
     .fold = 1,
     .keys = TRIAL_WORDS},
    {.kind = TAMIS_KIND_CLASSIC,
     .scheme = TAMIS_SCHEME_BKDR63,
     .fpr = 1e-9,
     .bits_per_key = 50,
     .probes = 16,
     .fold = 1,
     .keys = TRIAL_WORDS},
    {.kind = TAMIS_KIND_CLASSIC,
     .scheme = TAMIS_SCHEME_BKDR63,
     .fpr = 9.01e-6,
     .bits_per_key = 30,
     .probes = 8,
     .fold = 1,
     .keys = TRIAL_WORDS},
    {.kind = TAMIS_KIND_CLASSIC,
     .scheme = TAMIS_SCHEME_BKDR63,
     .fpr = 1e-9,
     .bits_per_key = 50,
     .probes = 16,
     .fold = 1,
     .keys = TRIAL_URLS,
     .title = "The same for a tenth of the keys, which are addresses of 60 to 100 bytes"},
};

enum { STANDARD = sizeof standard / sizeof *standard };

static tamis_status plan_standard(plan_trial *trial, const standard_case *from, tamis_error *err) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan *plan = &trial->plan;

    const uint64_t keys = from->keys == TRIAL_URLS ? KEYS / 10 : KEYS; /* BKDR is slow on long keys */

    *trial = (plan_trial){0};
    *plan = (tamis_plan)TAMIS_PLAN_INIT;
    trial->added = keys * from->fold;
    trial->keys = from->keys;
    plan_options.kind = plan->kind = from->kind;
    plan_options.scheme = plan->scheme = from->scheme;
    plan_options.expect = plan->capacity = keys;
    plan_options.fpr = plan->fpr = from->fpr;
    if (from->bits_per_key == 0)
        return tamis_plan_make(plan, &plan_options, err);
    plan->bits = keys * from->bits_per_key;
    plan->probes = from->probes;
    plan->memory = plan->bits / 8;
    plan->bits_per_key = from->bits_per_key;
    return TAMIS_OK;
}

/* Prepares the trial of a given plan. A plan for more than a million keys becomes one for a million, with the
 * same bits a key, probes and rate. */
static tamis_status plan_scaled(plan_trial *trial, const tamis_plan *given, tamis_error *err) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan *plan = &trial->plan;
    const uint64_t unit = given->kind == TAMIS_KIND_CLASSIC ? 64 : 512;

    *trial = (plan_trial){0};
    *plan = *given;
    trial->added = given->capacity > 0 && given->capacity < KEYS ? given->capacity : KEYS;
    trial->keys = plan_trial_is_claim(trial) ? TRIAL_WORDS : TRIAL_NUMBERS;
    plan->memory_limit = 0;
    if (given->capacity <= KEYS)
        return TAMIS_OK;
    plan->capacity = KEYS;
    if (tamis_kind_is_bloom(given->kind)) {
        const double bits = (double)given->bits / (double)given->capacity * KEYS;
        plan->bits = (uint64_t)ceil(bits / (double)unit) * unit;
        plan->memory = plan->bits / 8;
        plan->fpr_predicted = 0; /* it was that of the larger filter */
        return TAMIS_OK;
    }
    plan_options.kind = given->kind;
    plan_options.scheme = given->scheme;
    plan_options.expect = KEYS;
    plan_options.fpr = given->kind == TAMIS_KIND_EXACT ? 0 : given->fpr;
    return tamis_plan_make(plan, &plan_options, err);
}

/* Writes the interval as text: "9.67e-3..0.0103", or "below 3e-7" without a hit. */
static const char *interval_text(char *text, size_t size, const plan_trial *trial) {
    char low[CLI_TEXT_NUMBER], high[CLI_TEXT_NUMBER];

    cli_text_rate(low, sizeof low, trial->low);
    cli_text_rate(high, sizeof high, trial->high);
    if (trial->hits == 0)
        snprintf(text, size, "below %s", high);
    else
        snprintf(text, size, "%s..%s", low, high);
    return text;
}

static tamis_scheme scheme_of(const plan_trial *trial) {
    return trial->plan.scheme == TAMIS_SCHEME_AUTO ? TAMIS_SCHEME_XXH3 : trial->plan.scheme;
}

static void print_head(void) {
    printf("%-11s  %-10s  %5s  %8s  %8s  %8s  %-16s  %7s  %s\n", "kind", "scheme", "bits", "promised",
           "computed", "measured", "95 % interval", "queries", "verdict");
}

static void print_row(const plan_trial *trial) {
    const tamis_plan *plan = &trial->plan;
    char promised[CLI_TEXT_NUMBER], computed[CLI_TEXT_NUMBER], measured[CLI_TEXT_NUMBER];
    char interval[2 * CLI_TEXT_NUMBER + 8], queries[CLI_TEXT_NUMBER];

    cli_text_rate(promised, sizeof promised, plan->fpr);
    cli_text_rate(computed, sizeof computed, trial->computed);
    cli_text_rate(measured, sizeof measured, (double)trial->hits / (double)trial->queries);
    printf("%-11s  %-10s  %5.1f  %8s  %8s  %8s  %-16s  %7s  %s\n", tamis_kind_name(plan->kind),
           tamis_scheme_name(scheme_of(trial)), plan->bits_per_key,
           plan_trial_is_over_capacity(trial) ? "-" : promised, computed, measured,
           interval_text(interval, sizeof interval, trial),
           cli_text_metric(queries, sizeof queries, (double)trial->queries), trial->verdict);
}

static void print_note(const char *text) {
    cli_text_wrap(stdout, text, 0, 0, WIDTH);
}

/* Prints the notes below the rows. `plan`: the only plan; NULL: the list. */
static void print_foot(const tamis_plan *plan) {
    const bool claims = !plan || plan->scheme == TAMIS_SCHEME_BKDR31 || plan->scheme == TAMIS_SCHEME_BKDR63;

    putchar('\n');
    print_note(
        "bits: of memory a key. promised: by the plan. computed: by the formulas, for the keys that are in. "
        "queries: lookups of keys that were never added; measured: the share of them answered \"present\".");
    print_note(
        "kept: not above the promise, or not beyond chance. as computed: above what was requested, or with "
        "more keys than planned, and not beyond chance above what was computed. too rare: fewer than 3 hits "
        "are to be expected of so many. broken: above both beyond chance, less than 1e-9.");
    if (claims)
        print_note(
            "missed: a published rate that the BKDR hashes do not keep. By how much depends on the keys: the "
            "products of bkdr63 are rounded to 53 bits, which leaves of a long key little but its end.");
    if (plan && plan->capacity > KEYS)
        print_note(
            "Scaled down to 1,000,000 keys: what only larger filters show, above all that positions of 31 "
            "bits (guava32, bkdr31) are uneven near 2^31 bits, is not measured; tamis plan computes it.");
}

/* Shows progress on one line of a terminal. An empty text clears the line. */
static void show_progress(const char *text) {
    char line[64];
    const int length = snprintf(line, sizeof line, "\r%-24s\r%s", "", text);

    if (isatty(STDERR_FILENO) && write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* the run continues without progress messages */
}

static json_t *row_object(const plan_trial *trial) {
    json_t *object = json_object();

    cli_json_string(object, &plan_fields.kind, tamis_kind_name(trial->plan.kind));
    cli_json_string(object, &plan_fields.scheme, tamis_scheme_name(scheme_of(trial)));
    cli_json_string(object, &plan_fields.keys, trial_keys_name(trial->keys));
    cli_json_integer(object, &plan_fields.capacity, trial->plan.capacity);
    cli_json_integer(object, &plan_fields.added, trial->added);
    cli_json_number(object, &plan_fields.bits_per_key, trial->plan.bits_per_key);
    cli_json_number(object, &plan_fields.fpr, plan_trial_is_over_capacity(trial) ? NAN : trial->plan.fpr);
    cli_json_number(object, &plan_fields.fpr_predicted, trial->computed);
    cli_json_integer(object, &plan_fields.queries, trial->queries);
    cli_json_integer(object, &plan_fields.hits, trial->hits);
    cli_json_number(object, &plan_fields.fpr_measured, (double)trial->hits / (double)trial->queries);
    cli_json_number(object, &plan_fields.fpr_low, trial->low);
    cli_json_number(object, &plan_fields.fpr_high, trial->high);
    cli_json_string(object, &plan_fields.verdict, trial->verdict);
    return object;
}

static tamis_status finish_json(json_t *list, tamis_error *err) {
    json_t *object = json_object();

    cli_json_set(object, &plan_fields.measured, list);
    return cli_json_write(object, stdout, 2, "plan", err);
}

/* Prepares and measures case `i`, and appends it to `list` or, if that is NULL, prints it. */
static tamis_status measure_one(plan_trial *trial, const tamis_plan *plan, int i, json_t *list,
                                tamis_error *err) {
    const char *title = !plan ? standard[i].title : NULL;
    tamis_status status = !plan ? plan_standard(trial, &standard[i], err) : plan_scaled(trial, plan, err);

    if (status == TAMIS_OK)
        status = plan_trial_run(trial, err);
    if (status != TAMIS_OK)
        return err->status;
    show_progress("");
    if (list) {
        cli_json_append(list, row_object(trial));
        return TAMIS_OK;
    }
    if (i == 0)
        print_head();
    if (title)
        printf("\n%s\n", title);
    print_row(trial);
    if (isatty(STDOUT_FILENO))
        fflush(stdout); /* a case takes a while: show each row at once */
    return TAMIS_OK;
}

tamis_status plan_measure(bool *broken, const tamis_plan *plan, bool json, tamis_error *err) {
    const int count = !plan ? STANDARD : 1;
    tamis_status status = TAMIS_OK;
    json_t *list = json ? json_array() : NULL;
    char text[40];
    plan_trial trial;

    if (json && !list)
        return cli_fail_nomem("plan", err);
    for (int i = 0; i < count && status == TAMIS_OK; i++) {
        snprintf(text, sizeof text, "measuring %d of %d", i + 1, count);
        show_progress(text);
        status = measure_one(&trial, plan, i, list, err);
        *broken = *broken || trial.broken;
    }
    show_progress("");
    if (status != TAMIS_OK)
        json_decref(list);
    else if (json)
        status = finish_json(list, err);
    else
        print_foot(plan);
    return status;
}
