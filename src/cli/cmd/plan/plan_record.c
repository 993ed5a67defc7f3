/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cmd/plan/plan_modes.h"

#include <inttypes.h>
#include <math.h>

#include "cli/cmd/plan/plan_fields.h"
#include "cli/core/cli_json.h"
#include "cli/core/cli_text.h"

/* A number of records so large that the formulas have reached their limits for many records. */
#define MANY 1e12

static double rate_of(double bits, uint32_t probes) {
    return tamis_bloom_fpr(MANY, MANY * bits, probes);
}

/* Number of probes with the lowest rate: one of the two integers next to bits * ln 2. */
static uint32_t best_probes(double bits) {
    const uint32_t low = (uint32_t)fmin(fmax(floor(bits * log(2)), 1), TAMIS_PROBES_MAX - 1);

    return rate_of(bits, low + 1) < rate_of(bits, low) ? low + 1 : low;
}

bool plan_record_is_requested(const cli_value *const values[PLAN_NUMBERS]) {
    if (values[PLAN_EXPECT]->given || values[PLAN_MEMORY]->given)
        return false;
    return values[PLAN_BITS]->given || (values[PLAN_FPR]->given && values[PLAN_PROBES]->given);
}

/* Fewest bits a record that keep the rate with this number of probes, or with the best one if `probes` is
 * 0. */
static double min_bits(double fpr, uint32_t probes) {
    const uint32_t low = probes ? probes : (uint32_t)fmax(tamis_bloom_probes_for_fpr(fpr) - 1.0, 1);
    double min = INFINITY;

    for (uint32_t k = low; k <= (probes ? low : low + 2); k++)
        min = fmin(min, tamis_bloom_bits_for_probes(MANY, fpr, k) / MANY);
    return min;
}

static tamis_status refuse_bits(const plan_record *record, const cli_value *const values[PLAN_NUMBERS],
                                double fpr, tamis_error *err) {
    const double needs = min_bits(fpr, record->given[PLAN_PROBES] ? record->probes : 0);

    return cli_fail(
        err,
        "--bits-per-key '%.60s': contradicts --fpr '%.60s': too few, kind classic needs %.4g%s; give "
        "that many, or leave one of them out",
        values[PLAN_BITS]->text, values[PLAN_FPR]->text, ceil(10 * needs) / 10,
        record->given[PLAN_PROBES] ? " with these probes" : "");
}

tamis_status plan_record_solve(plan_record *record, const cli_value *const values[PLAN_NUMBERS],
                               tamis_kind kind, tamis_error *err) {
    const double fpr = values[PLAN_FPR]->rate;

    if (kind != TAMIS_KIND_AUTO && kind != TAMIS_KIND_CLASSIC)
        return cli_fail(
            err,
            "--kind %s: the number of records is missing, and only classic is planned without; give "
            "--expect N, or --memory SIZE for as many as fit",
            tamis_kind_name(kind));
    for (int i = 0; i < PLAN_NUMBERS; i++)
        record->given[i] = values[i]->given;
    record->bits = values[PLAN_BITS]->rate;
    record->probes = (uint32_t)values[PLAN_PROBES]->number;
    if (!record->given[PLAN_BITS])
        record->bits = min_bits(fpr, record->probes);
    else if (!record->given[PLAN_PROBES])
        record->probes = record->given[PLAN_FPR] ? tamis_bloom_fewest_probes(MANY, MANY * record->bits, fpr)
                                                 : best_probes(record->bits);
    if (record->probes == 0)
        return refuse_bits(record, values, fpr, err);
    record->fpr = record->given[PLAN_BITS] ? rate_of(record->bits, record->probes) : fpr;
    if (record->given[PLAN_FPR] && record->fpr > fpr)
        return refuse_bits(record, values, fpr, err);
    record->fill = -expm1(-(double)record->probes / record->bits);
    return TAMIS_OK;
}

void plan_record_text(FILE *out, const plan_record *record) {
    char rate[CLI_TEXT_NUMBER];

    fprintf(out, "%-9s number not given: what follows is for each of many, in a classic filter\n",
            plan_fields.expect.label);
    fprintf(out, "\n  %-12s %8s  %6s  %4s  %9s\n", "kind", "bits/key", "probes", "fill", "rate");
    fprintf(out, "  %-12s %8.*f  %6" PRIu32 "  %4.2f  %9s\n", "classic", record->bits < 10 ? 2 : 1,
            record->bits, record->probes, record->fill, cli_text_real(rate, sizeof rate, record->fpr));
    fputs("\nfill: share of the bits that are set when full; rate: predicted then. Give the records "
          "(--expect N,\n"
          "or --memory SIZE for as many as fit) for the other kinds, and for what few records cost.\n",
          out);
}

tamis_status plan_record_json(FILE *out, const plan_record *record, tamis_error *err) {
    static const plan_number numbers[] = {PLAN_FPR, PLAN_BITS, PLAN_PROBES};
    json_t *object = json_object(), *given = json_array(), *derived = json_array();

    for (int i = 0; i < 3; i++)
        cli_json_append(record->given[numbers[i]] ? given : derived,
                        json_string(plan_number_names[numbers[i]]));
    cli_json_set(object, &plan_fields.given, given);
    cli_json_set(object, &plan_fields.derived, derived);
    cli_json_integer(object, &plan_fields.expect, 0);
    cli_json_number(object, &plan_fields.fpr, record->fpr);
    cli_json_number(object, &plan_fields.bits_per_key, record->bits);
    cli_json_integer(object, &plan_fields.probes, record->probes);
    cli_json_number(object, &plan_fields.fill, record->fill);
    return cli_json_write(object, out, 2, "plan", err);
}
