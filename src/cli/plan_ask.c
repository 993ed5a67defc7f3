/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/plan_ask.h"

#include <inttypes.h>
#include <math.h>

#include "cli/cli_text.h"
#include "cli/cli_want.h"

const char *const plan_number_names[PLAN_NUMBERS] = {"expect", "fpr", "memory", "bits-per-key", "probes"};

static int check_probes(const plan_ask *ask, const cli_value *probes, tamis_error *err) {
    if (!probes->given || ask->want.kind == TAMIS_KIND_AUTO || tamis_kind_is_bloom(ask->want.kind))
        return CLI_DONE;
    return cli_fail(err, "--probes: contradicts --kind %s, which has none; leave one of them out",
                    tamis_kind_name(ask->want.kind));
}

/* Probes alone decide on nothing; bits without records are plan_record's. */
static int check_enough(const plan_ask *ask, tamis_error *err) {
    if (ask->sources[PLAN_EXPECT] || ask->sources[PLAN_MEMORY] || ask->sources[PLAN_PROBES] != PLAN_GIVEN)
        return CLI_DONE;
    return cli_fail(
        err, "--probes: not enough for a plan, since any rate can be had with them; give --fpr RATE or "
             "--bits-per-key BITS, or --expect N for the rate with half of the bits set");
}

/* --memory and --bits-per-key make the number of records. */
static int derive_expect(plan_ask *ask, const cli_value *memory, const cli_value *bits, tamis_error *err) {
    double count = floor(8 * (double)memory->number / bits->rate);
    char made[CLI_TEXT_NUMBER], most[CLI_TEXT_NUMBER];

    if (count < 1)
        return cli_fail(err,
                        "--memory '%.60s': less than the --bits-per-key '%.60s' of one record; give more",
                        memory->text, bits->text);
    if (count > (double)TAMIS_EXPECT_MAX)
        return cli_fail(err,
                        "--memory '%.60s': makes %s records of --bits-per-key '%.60s', more than %s; give "
                        "less memory or more bits",
                        memory->text, cli_text_real(made, sizeof made, count), bits->text,
                        cli_text_real(most, sizeof most, (double)TAMIS_EXPECT_MAX));
    ask->want.expect = (uint64_t)count;
    ask->sources[PLAN_EXPECT] = PLAN_DERIVED;
    ask->bits_decide = true;
    return CLI_DONE;
}

/* --expect and --bits-per-key make an amount of memory: the limit, unless --memory is a tighter one. */
static int derive_memory(plan_ask *ask, const cli_value *const values[PLAN_NUMBERS], tamis_error *err) {
    uint64_t bytes = (uint64_t)fmax(1, floor((double)ask->want.expect * ask->bits / 8)); /* below 2^60 */
    char made[CLI_TEXT_NUMBER];

    if (!values[PLAN_MEMORY]->given) {
        ask->sources[PLAN_MEMORY] = PLAN_DERIVED;
    } else if (bytes > ask->want.memory) {
        if (values[PLAN_FPR]->given)
            return CLI_DONE;
        return cli_fail(err,
                        "--bits-per-key '%.60s': contradicts --memory '%.60s': so many bits for each of "
                        "--expect '%.60s' are %s; leave one of the three out",
                        values[PLAN_BITS]->text, values[PLAN_MEMORY]->text, values[PLAN_EXPECT]->text,
                        cli_text_bytes(made, sizeof made, bytes));
    }
    ask->want.memory = bytes;
    ask->bits_decide = true;
    return CLI_DONE;
}

/* The rate: given; what fits the memory; that of the probes with half of the bits set; or the default. */
static int derive_rate(plan_ask *ask, const cli_value *const values[PLAN_NUMBERS], tamis_error *err) {
    bool counted = ask->want.expect > 0, limited = ask->want.memory > 0;
    char least[CLI_TEXT_NUMBER];

    ask->fit = limited && !(counted && values[PLAN_FPR]->given);
    if (limited && !counted)
        ask->sources[PLAN_EXPECT] = PLAN_DERIVED;
    if (values[PLAN_FPR]->given)
        return CLI_DONE;
    if (counted && limited) {
        ask->sources[PLAN_FPR] = PLAN_DERIVED;
        return CLI_DONE;
    }
    if (!values[PLAN_PROBES]->given) {
        ask->want.fpr = PLAN_FPR_DEFAULT;
        ask->sources[PLAN_FPR] = PLAN_DEFAULT;
        return CLI_DONE;
    }
    ask->want.fpr = ldexp(1, -(int)ask->want.probes);
    ask->sources[PLAN_FPR] = PLAN_DERIVED;
    if (ask->want.fpr >= TAMIS_FPR_MIN)
        return CLI_DONE;
    return cli_fail(err,
                    "--probes '%.60s': with half of the bits set their rate is below %s; give the rate "
                    "(--fpr), or fewer probes",
                    values[PLAN_PROBES]->text, cli_text_real(least, sizeof least, TAMIS_FPR_MIN));
}

int plan_ask_solve(plan_ask *ask, const cli_value *const values[PLAN_NUMBERS], tamis_error *err) {
    const cli_value *memory = values[PLAN_MEMORY], *bits = values[PLAN_BITS];
    int status = CLI_DONE;

    for (int i = 0; i < PLAN_NUMBERS; i++)
        ask->sources[i] = values[i]->given ? PLAN_GIVEN : PLAN_UNKNOWN;
    ask->want.expect = values[PLAN_EXPECT]->number;
    ask->want.fpr = values[PLAN_FPR]->rate;
    ask->want.memory = memory->number;
    ask->want.probes = (uint32_t)values[PLAN_PROBES]->number;
    ask->bits = bits->rate;
    if (check_probes(ask, values[PLAN_PROBES], err) != CLI_DONE || check_enough(ask, err) != CLI_DONE)
        return CLI_FAILED;
    if (bits->given)
        status = values[PLAN_EXPECT]->given ? derive_memory(ask, values, err)
                                            : derive_expect(ask, memory, bits, err);
    return status == CLI_DONE ? derive_rate(ask, values, err) : status;
}

tamis_status plan_ask_plan(tamis_plan *plan, const plan_ask *ask, tamis_kind kind, tamis_error *err) {
    tamis_want want = ask->want;

    want.kind = kind;
    return ask->fit ? tamis_plan_fit(plan, &want, err) : tamis_plan_make(plan, &want, err);
}

/* Bits a key of the lightest kind that may be chosen, at the rate asked for or, where none is, at any; 0: none can. */
static double least_bits(const plan_ask *ask, tamis_kind *lightest) {
    double least = 0;

    for (int kind = TAMIS_KIND_CLASSIC; kind <= TAMIS_KIND_EXACT; kind++) {
        tamis_want want = ask->want;
        tamis_plan plan = TAMIS_PLAN_INIT;
        bool candidate = want.kind == TAMIS_KIND_AUTO ? kind != TAMIS_KIND_EXACT : (int)want.kind == kind;
        want.kind = (tamis_kind)kind;
        want.memory = 0;
        if (ask->fit)
            want.fpr = TAMIS_FPR_MAX;
        if (!candidate || tamis_plan_make(&plan, &want, NULL) != TAMIS_OK)
            continue;
        if (least > 0 && plan.bits_per_key >= least)
            continue;
        least = plan.bits_per_key;
        *lightest = plan.kind;
    }
    return least;
}

void plan_ask_name_limit(const plan_ask *ask, const cli_value *const values[PLAN_NUMBERS], tamis_error *err) {
    tamis_kind lightest = TAMIS_KIND_AUTO;

    if (err->status != TAMIS_E_NO_ROOM)
        return;
    if (!ask->bits_decide) {
        cli_want_name_memory(values[PLAN_MEMORY], err);
        return;
    }
    double least = least_bits(ask, &lightest);
    if (ask->fit)
        cli_fail(err, "--bits-per-key '%.60s': too few at any rate, kind %s needs %.3g; give that many",
                 values[PLAN_BITS]->text, tamis_kind_name(lightest), ceil(10 * least) / 10);
    else
        cli_fail(err,
                 "--bits-per-key '%.60s': contradicts --fpr '%.60s': too few, kind %s needs %.4g; give that "
                 "many%s",
                 values[PLAN_BITS]->text, values[PLAN_FPR]->text, tamis_kind_name(lightest),
                 ceil(10 * least) / 10, ask->want.fpr < TAMIS_FPR_MAX ? ", or a larger rate" : "");
}
