/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * From the five numbers of `tamis plan` to the options of the library.
 *
 * Records n, rate f, memory M, bits a record b and probes k depend on each other. The user gives some of
 * them, in any combination. The library takes n, f, M and k, and finds the best filter in two ways.
 * tamis_plan_make is for a given rate, and tamis_plan_fit for a given memory.
 *
 *     given       n           f             M           library
 *     ---------   ---------   -----------   ---------   -----------------------------
 *     nothing     unknown     1e-9                      make: a filter that grows
 *     f           unknown     given                     make: a filter that grows
 *     n           given       1e-9                      make
 *     n f         given       given                     make
 *     n k         given       2^-k                      make
 *     n M         given       lowest        given       fit
 *     n f M       given       given         limit       make
 *     M           most        1e-9          given       fit
 *     f M         most        given         given       fit
 *     k M         most        2^-k          given       fit
 *     b M         8 M / b     lowest        given       fit
 *     f b M       8 M / b     given         given       make
 *     n b         given       lowest        n b / 8     fit
 *     n f b       given       given         n b / 8     make
 *     n M b       given       lowest        n b / 8     fit; an error if M is less
 *     n f M b     given       given         the less    make
 *
 * With half of the bits set, an absent key passes k probes with probability 2^-k. In other combinations k is
 * passed on and decides nothing else. With neither n nor M, but with b or with f and k, plan_record.c plans
 * for one record of many. k alone is an error.
 *
 * The steps of plan_request_solve: check, turn b into n or M (derive_expect, derive_memory), choose the rate
 * and the function (derive_rate). So b never reaches the library.
 *
 * Messages. If the library finds too little memory, its message names a limit that the user may not have
 * given: M came from b. plan_request_name_limit then names --bits-per-key, and how many bits would do.
 *
 * Invariants:
 * 1. plan_options.memory is the lower of the given limit and the derived one, so one check covers both.
 * 2. `sources` tells for each number whether it was given, derived or the default. The output shows it.
 * 3. The plan keeps all numbers that were given, M and b as upper limits. A contradiction is an error.
 */
#include "cli/cmd/plan/plan_request.h"

#include <inttypes.h>
#include <math.h>

#include "cli/core/cli_text.h"
#include "cli/filter/cli_filter.h"

const char *const plan_number_names[PLAN_NUMBERS] = {[PLAN_EXPECT] = "expect",
                                                     [PLAN_FPR] = "fpr",
                                                     [PLAN_MEMORY] = "memory",
                                                     [PLAN_BITS] = "bits-per-key",
                                                     [PLAN_PROBES] = "probes"};

static tamis_status check_probes(const plan_request *request, const cli_value *probes, tamis_error *err) {
    if (!probes->given || request->plan_options.kind == TAMIS_KIND_AUTO ||
        tamis_kind_is_bloom(request->plan_options.kind))
        return TAMIS_OK;
    return cli_fail(err, "--probes: contradicts --kind %s, which has none; leave one of them out",
                    tamis_kind_name(request->plan_options.kind));
}

/* Refuses --probes alone, with which any rate is possible. Bits without records go to plan_record.c. */
static tamis_status check_enough(const plan_request *request, tamis_error *err) {
    if (request->sources[PLAN_EXPECT] || request->sources[PLAN_MEMORY] ||
        request->sources[PLAN_PROBES] != PLAN_GIVEN)
        return TAMIS_OK;
    return cli_fail(
        err, "--probes: not enough for a plan, since any rate can be had with them; give --fpr RATE or "
             "--bits-per-key BITS, or --expect N for the rate with half of the bits set");
}

/* Derives the number of records from --memory and --bits-per-key. */
static tamis_status derive_expect(plan_request *request, const cli_value *memory, const cli_value *bits,
                                  tamis_error *err) {
    const double count = floor(8 * (double)memory->number / bits->rate);
    char made[CLI_TEXT_NUMBER], max[CLI_TEXT_NUMBER];

    if (count < 1)
        return cli_fail(err,
                        "--memory '%.60s': less than the --bits-per-key '%.60s' of one record; give more",
                        memory->text, bits->text);
    if (count > (double)TAMIS_EXPECT_MAX)
        return cli_fail(err,
                        "--memory '%.60s': makes %s records of --bits-per-key '%.60s', more than %s; give "
                        "less memory or more bits",
                        memory->text, cli_text_real(made, sizeof made, count), bits->text,
                        cli_text_real(max, sizeof max, (double)TAMIS_EXPECT_MAX));
    request->plan_options.expect = (uint64_t)count;
    request->sources[PLAN_EXPECT] = PLAN_DERIVED;
    request->bits_decide = true;
    return TAMIS_OK;
}

/* Derives a memory limit from --expect and --bits-per-key. If --memory is lower, it stays the limit with
 * --fpr, and is a contradiction without it. */
static tamis_status derive_memory(plan_request *request, const cli_value *const values[PLAN_NUMBERS],
                                  tamis_error *err) {
    /* Below 2^60. */
    uint64_t bytes = (uint64_t)fmax(1, floor((double)request->plan_options.expect * request->bits / 8));
    char made[CLI_TEXT_NUMBER];

    if (!values[PLAN_MEMORY]->given) {
        request->sources[PLAN_MEMORY] = PLAN_DERIVED;
    } else if (bytes > request->plan_options.memory) {
        if (values[PLAN_FPR]->given)
            return TAMIS_OK;
        return cli_fail(err,
                        "--bits-per-key '%.60s': contradicts --memory '%.60s': so many bits for each of "
                        "--expect '%.60s' are %s; leave one of the three out",
                        values[PLAN_BITS]->text, values[PLAN_MEMORY]->text, values[PLAN_EXPECT]->text,
                        cli_text_bytes(made, sizeof made, bytes));
    }
    request->plan_options.memory = bytes;
    request->bits_decide = true;
    return TAMIS_OK;
}

/* RedisBloom's cuckoo filter has the rate of its fingerprints, whatever is requested. False: it is not that
 * filter, or cannot be planned. */
static bool derive_fixed_rate(plan_request *request) {
    tamis_plan plan = TAMIS_PLAN_INIT;

    if (request->plan_options.kind != TAMIS_KIND_CUCKOO ||
        request->plan_options.scheme != TAMIS_SCHEME_REDISBLOOM ||
        tamis_plan_make(&plan, &request->plan_options, NULL) != TAMIS_OK)
        return false;
    request->plan_options.fpr = plan.fpr_predicted;
    request->sources[PLAN_FPR] = PLAN_DEFAULT;
    return true;
}

/* Finds the rate: as given, else the lowest that fits into the memory. Else it is the rate of the probes
 * with half of the bits set, else the default. */
static tamis_status derive_rate(plan_request *request, const cli_value *const values[PLAN_NUMBERS],
                                tamis_error *err) {
    bool counted = request->plan_options.expect > 0, limited = request->plan_options.memory > 0;
    char min[CLI_TEXT_NUMBER];

    request->fit = limited && !(counted && values[PLAN_FPR]->given);
    if (limited && !counted)
        request->sources[PLAN_EXPECT] = PLAN_DERIVED;
    if (values[PLAN_FPR]->given)
        return TAMIS_OK;
    if (counted && limited) {
        request->sources[PLAN_FPR] = PLAN_DERIVED;
        return TAMIS_OK;
    }
    if (derive_fixed_rate(request))
        return TAMIS_OK;
    if (!values[PLAN_PROBES]->given) {
        request->plan_options.fpr = PLAN_FPR_DEFAULT;
        request->sources[PLAN_FPR] = PLAN_DEFAULT;
        return TAMIS_OK;
    }
    request->plan_options.fpr = ldexp(1, -(int)request->plan_options.probes);
    request->sources[PLAN_FPR] = PLAN_DERIVED;
    if (request->plan_options.fpr >= TAMIS_FPR_MIN)
        return TAMIS_OK;
    return cli_fail(err,
                    "--probes '%.60s': with half of the bits set their rate is below %s; give the rate "
                    "(--fpr), or fewer probes",
                    values[PLAN_PROBES]->text, cli_text_real(min, sizeof min, TAMIS_FPR_MIN));
}

tamis_status plan_request_solve(plan_request *request, const cli_value *const values[PLAN_NUMBERS],
                                tamis_error *err) {
    const cli_value *memory = values[PLAN_MEMORY], *bits = values[PLAN_BITS];
    tamis_status status = TAMIS_OK;

    for (int i = 0; i < PLAN_NUMBERS; i++)
        request->sources[i] = values[i]->given ? PLAN_GIVEN : PLAN_UNKNOWN;
    request->plan_options.expect = values[PLAN_EXPECT]->number;
    request->plan_options.fpr = values[PLAN_FPR]->rate;
    request->plan_options.memory = memory->number;
    request->plan_options.probes = (uint32_t)values[PLAN_PROBES]->number;
    request->bits = bits->rate;
    if (check_probes(request, values[PLAN_PROBES], err) != TAMIS_OK || check_enough(request, err) != TAMIS_OK)
        return err->status;
    if (bits->given)
        status = values[PLAN_EXPECT]->given ? derive_memory(request, values, err)
                                            : derive_expect(request, memory, bits, err);
    return status == TAMIS_OK ? derive_rate(request, values, err) : status;
}

tamis_status plan_request_plan(tamis_plan *plan, const plan_request *request, tamis_kind kind,
                               tamis_error *err) {
    tamis_plan_options plan_options = request->plan_options;

    plan_options.kind = kind;
    return request->fit ? tamis_plan_fit(plan, &plan_options, err)
                        : tamis_plan_make(plan, &plan_options, err);
}

/* Fewest bits a key of any possible kind, at the given rate, or at the highest rate if `fit` is set; 0: no
 * kind is possible. *lightest is that kind. */
static double min_bits(const plan_request *request, tamis_kind *lightest) {
    double min = 0;

    for (int kind = TAMIS_KIND_CLASSIC; kind <= TAMIS_KIND_CUCKOO; kind++) {
        tamis_plan_options plan_options = request->plan_options;
        tamis_plan plan = TAMIS_PLAN_INIT;
        bool candidate =
            plan_options.kind == TAMIS_KIND_AUTO ? kind < TAMIS_KIND_EXACT : (int)plan_options.kind == kind;
        plan_options.kind = (tamis_kind)kind;
        plan_options.memory = 0;
        if (request->fit)
            plan_options.fpr = TAMIS_FPR_MAX;
        if (!candidate || tamis_plan_make(&plan, &plan_options, NULL) != TAMIS_OK)
            continue;
        if (min > 0 && plan.bits_per_key >= min)
            continue;
        min = plan.bits_per_key;
        *lightest = plan.kind;
    }
    return min;
}

void plan_request_name_limit(const plan_request *request, const cli_value *const values[PLAN_NUMBERS],
                             tamis_error *err) {
    tamis_kind lightest = TAMIS_KIND_AUTO;

    if (err->status != TAMIS_E_MEMORY_LIMIT)
        return;
    if (!request->bits_decide) {
        cli_plan_name_memory(values[PLAN_MEMORY], err);
        return;
    }
    const double min = min_bits(request, &lightest);
    if (request->fit)
        cli_fail(err, "--bits-per-key '%.60s': too few at any rate, kind %s needs %.3g; give that many",
                 values[PLAN_BITS]->text, tamis_kind_name(lightest), ceil(10 * min) / 10);
    else
        cli_fail(err,
                 "--bits-per-key '%.60s': contradicts --fpr '%.60s': too few, kind %s needs %.4g; give that "
                 "many%s",
                 values[PLAN_BITS]->text, values[PLAN_FPR]->text, tamis_kind_name(lightest),
                 ceil(10 * min) / 10, request->plan_options.fpr < TAMIS_FPR_MAX ? ", or a larger rate" : "");
}
