/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Planning backwards: the memory is given, and the plan gets the best that fits it.
 *
 *     given              result
 *     memory, keys       the lowest rate          fit_rate
 *     memory, rate       the most keys            fit_keys
 *
 * The lowest rate. First the plan at the largest rate, 1/2, must fit, else the memory is too small. If even
 * the plan at the lowest possible rate fits, that is the result: more memory would be of no use. Between the
 * two, each kind uses the memory directly:
 *
 * - classic: all memory as bits; k is the better of the two integers next to m/n ln 2. If another program
 *   defines the sizes, its rule is solved for the rate instead.
 * - blocked, counting: all memory as blocks; k is the one with the lowest rate.
 * - fingerprint: the widest slots that fit. There are eight widths, so the rate is one of eight.
 * - cuckoo: the widest slots that fit, of any width.
 *
 * The most keys. Memory grows with n but is rounded up to words, blocks or lines. Rounding has no inverse, so
 * n is found by bisection over plans. Plans of kind blocked are slow, so for them the bisection starts from
 * an interval of three candidates.
 *
 *     plan_kind:   n, p  ------------------> memory      exact, but rounded up
 *     fit_rate:    n, memory --------------> p           direct, kind by kind
 *     fit_keys:    p, memory --------------> n           bisection over plan_kind, at most 40 plans
 *
 * Why fit_rate does not bisect too: one plan of kind blocked takes up to 45 microseconds, and the rate of a
 * table has only eight values. The direct way also uses the last word of the memory.
 *
 * The choice for kind AUTO is the kind with the lowest rate or the most keys. One that touches fewer lines is
 * chosen if it is within a factor of 1.25 of it.
 *
 * docs/MATH.md, "The most that fits", has the formulas.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/versioned.h"
#include "plan/plan_int.h"

static tamis_status refuse_memory(const tamis_plan *min, tamis_error *err) {
    char needs[TAMIS__PLAN_BYTES];
    return tamis__fail(err, TAMIS_E_MEMORY_LIMIT, 0,
                       "memory %" PRIu64 " bytes: too little for %" PRIu64
                       " key%s at any rate, kind %s needs %s; allow that much%s",
                       min->memory_limit, min->capacity, min->capacity == 1 ? "" : "s",
                       tamis_kind_name(min->kind), tamis__plan_bytes(needs, min->memory),
                       min->capacity == 1 ? "" : ", or expect fewer keys");
}

/* ---- the lowest rate ---- */

/* For our own schemes: all memory as whole words, and the better of the two k next to m/n ln 2. */
static void fit_classic(tamis_plan *plan, uint32_t probes, uint64_t bits) {
    const double best = (double)bits * log(2) / (double)plan->capacity;
    const uint32_t low = (uint32_t)fmin(fmax(floor(best), 1), TAMIS_PROBES_MAX);
    const uint32_t high = (uint32_t)fmin(low + 1, TAMIS_PROBES_MAX);
    tamis__plan_set_bits(plan, bits, probes ? probes : high);
    tamis_plan b = *plan;
    tamis__plan_set_bits(&b, bits, probes ? probes : low);
    if (b.fpr_predicted <= plan->fpr_predicted)
        *plan = b;
}

static tamis_status fit_classic_rate(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    uint64_t max = tamis__scheme_bits_max(options->scheme) / 64, words = options->memory / 8;
    uint64_t bits = 64 * (words < max ? words : max);
    if (options->probes || !tamis__scheme_has_own_sizes(options->scheme)) {
        fit_classic(plan, options->probes, bits);
        plan->fpr = plan->fpr_predicted;
        return TAMIS_OK;
    }
    /* Find the rate for which the rule of the other program gives these bits. Its rounding may add one
     * word, which may not fit. Then try with one word less. */
    tamis_plan_options mine = *options;
    tamis_status status = TAMIS_OK;
    for (int spare = 0; spare < 2; spare++) {
        mine.fpr = tamis_bloom_best_fpr((double)options->expect, (double)bits - 64 * spare);
        status = tamis__plan_kind(plan, &mine, TAMIS_KIND_CLASSIC, err);
        if (status != TAMIS_OK || tamis__plan_fits(plan))
            break;
    }
    return status;
}

static void fit_blocked_rate(tamis_plan *plan, const tamis_plan_options *options) {
    uint64_t max = TAMIS_BITS_MAX / TAMIS__BLOCK_BITS, blocks = options->memory / TAMIS__LINE;
    const uint64_t bits = TAMIS__BLOCK_BITS * (blocks < max ? blocks : max);
    uint32_t probes = options->probes;
    tamis__blocked_best_fpr(tamis__block_positions_of(plan->kind), (double)options->expect, (double)bits,
                            &probes);
    tamis__plan_set_bits(plan, bits, probes);
    plan->fpr = plan->fpr_predicted;
}

/* Finds the widest slots that fit. The caller knows that the narrowest fit. */
static void fit_table_rate(tamis_plan *plan, const tamis_plan_options *options, double min) {
    const tamis__line_shape *shape = tamis__line_shape_for(min, false);
    tamis_plan_options mine = *options;
    do {
        shape--;
        mine.fpr = ldexp(shape->rate, 1 - shape->slot_bits);
        tamis__plan_kind(plan, &mine, TAMIS_KIND_FINGERPRINT, NULL);
    } while (!tamis__plan_fits(plan) && shape != tamis__line_shape_for(1, false));
}

/* Finds the widest slots that fit. The caller knows that the narrowest fit. */
static void fit_cuckoo_rate(tamis_plan *plan, const tamis_plan_options *options) {
    tamis_plan_options mine = *options;
    for (uint32_t bits = TAMIS__CUCKOO_BITS_MAX; bits >= TAMIS__CUCKOO_BITS_MIN; bits--) {
        mine.fpr = tamis__cuckoo_rate(bits);
        if (tamis__plan_kind(plan, &mine, TAMIS_KIND_CUCKOO, NULL) == TAMIS_OK && tamis__plan_fits(plan))
            return;
    }
    mine.fpr = TAMIS_FPR_MAX; /* up to 8 keys fill two buckets, whose rate is above that of larger tables */
    tamis__plan_kind(plan, &mine, TAMIS_KIND_CUCKOO, NULL);
}

/* Finds the widest slots that fit. Half of the rate of a width needs the next one. The caller knows that
 * `plan` fits, which has the narrowest. */
static void fit_window_rate(tamis_plan *plan, const tamis_plan_options *options) {
    tamis_plan_options mine = *options;
    tamis_plan wider = *plan;
    while (tamis__plan_fits(&wider)) {
        *plan = wider;
        plan->fpr = tamis__window_max_rate(plan);
        mine.fpr = plan->fpr / 2;
        if (tamis__plan_kind(&wider, &mine, TAMIS_KIND_WINDOW, NULL) != TAMIS_OK)
            return;
    }
}

static tamis_status fit_rate(tamis_plan *plan, const tamis_plan_options *options, tamis_kind kind,
                             tamis_error *err) {
    tamis_plan_options mine = *options;
    mine.fpr = TAMIS_FPR_MAX;
    tamis_status status = tamis__plan_kind(plan, &mine, kind, err);
    if (status != TAMIS_OK)
        return status;
    if (!tamis__plan_fits(plan))
        return refuse_memory(plan, err);
    /* More memory than for the lowest rate would be of no use. */
    tamis_plan best;
    mine.fpr = tamis__plan_min_fpr(options, kind);
    if (tamis__plan_kind(&best, &mine, kind, NULL) == TAMIS_OK && tamis__plan_fits(&best)) {
        *plan = best;
        return TAMIS_OK;
    }
    if (kind == TAMIS_KIND_CLASSIC)
        return fit_classic_rate(plan, options, err);
    if (tamis_kind_is_bloom(kind))
        fit_blocked_rate(plan, options);
    else if (kind == TAMIS_KIND_CUCKOO)
        fit_cuckoo_rate(plan, options);
    else if (kind == TAMIS_KIND_WINDOW)
        fit_window_rate(plan, options);
    else
        fit_table_rate(plan, options, mine.fpr);
    return TAMIS_OK;
}

/* ---- the most keys ---- */

static tamis_status fit_keys(tamis_plan *plan, const tamis_plan_options *options, tamis_kind kind,
                             tamis_error *err) {
    tamis_plan_options mine = *options;
    mine.expect = 1;
    tamis_status status = tamis__plan_kind(plan, &mine, kind, err);
    if (status != TAMIS_OK)
        return status;
    if (!tamis__plan_fits(plan))
        return refuse_memory(plan, err);
    uint64_t low = 1, high = TAMIS_EXPECT_MAX; /* low fits; above high nothing can be planned */
    if (tamis_kind_is_bloom(kind) && kind != TAMIS_KIND_CLASSIC) {
        /* A plan is slow here, but its formula has an inverse up to rounding. */
        uint32_t probes = options->probes;
        double load = tamis__blocked_load(tamis__block_positions_of(kind), options->fpr, &probes);
        double keys = floor(load * (double)(options->memory / TAMIS__LINE));
        high = (uint64_t)fmin(fmax(keys + 1, 1), (double)TAMIS_EXPECT_MAX);
        low = high > 3 ? high - 2 : 1;
    }
    while (low < high) {
        tamis_plan more;
        mine.expect = low + (high - low + 1) / 2;
        /* A plan that exceeds the limits of the kind or the hash does not fit either. */
        if (tamis__plan_kind(&more, &mine, kind, NULL) == TAMIS_OK && tamis__plan_fits(&more))
            low = mine.expect;
        else
            high = mine.expect - 1;
    }
    mine.expect = low;
    return tamis__plan_kind(plan, &mine, kind, err);
}

/* ---- the choice ---- */

static tamis_status fit_kind(tamis_plan *plan, const tamis_plan_options *options, tamis_kind kind,
                             tamis_error *err) {
    return options->expect ? fit_rate(plan, options, kind, err) : fit_keys(plan, options, kind, err);
}

/* Returns how much better `a` uses the memory: 2 means half of the rate, or twice the keys, of `b`. */
static double memory_gain(const tamis_plan_options *options, const tamis_plan *a, const tamis_plan *b) {
    return options->expect ? b->fpr_predicted / a->fpr_predicted : (double)a->capacity / (double)b->capacity;
}

/* Chooses the kind that uses the memory best, or one that is nearly as good and touches fewer lines. */
static tamis_status fit_auto(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    static const struct {
        tamis_kind kind;
        const char *lines;
    } rows[] = {
        {TAMIS_KIND_BLOCKED, "one cache line a key, and "},
        {TAMIS_KIND_FINGERPRINT, "one or two cache lines a key, and "},
        {TAMIS_KIND_CLASSIC, ""},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    tamis_plan plans[ROWS];
    bool fits[ROWS];
    tamis_status status = TAMIS_OK;
    int best = -1, chosen = 0;
    for (int i = 0; i < ROWS; i++) {
        status = fit_kind(&plans[i], options, rows[i].kind, err);
        fits[i] = status == TAMIS_OK;
        if (fits[i] && (best < 0 || memory_gain(options, &plans[i], &plans[best]) > 1))
            best = i;
    }
    if (best < 0)
        return status; /* the error of classic, which needs the least memory */
    while (!fits[chosen] || memory_gain(options, &plans[best], &plans[chosen]) > TAMIS__FEWER_LINES_ALLOWANCE)
        chosen++;
    *plan = plans[chosen];
    char reason[sizeof plan->reason];
    snprintf(reason, sizeof reason, "%s%s the %s that fit%s", rows[chosen].lines,
             chosen == best ? "of all kinds" : "within a quarter of",
             options->expect ? "least rate" : "most keys", options->expect ? "s" : "");
    tamis__plan_explain(plan, reason);
    return TAMIS_OK;
}

static tamis_status fit(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    const bool classic_only = tamis__plan_digest_bits(options->scheme) < 128;
    if (options->kind == TAMIS_KIND_AUTO && !classic_only)
        return fit_auto(plan, options, err);
    tamis_kind kind = options->kind == TAMIS_KIND_AUTO ? TAMIS_KIND_CLASSIC : options->kind;
    const tamis_status status = fit_kind(plan, options, kind, err);
    if (status == TAMIS_OK)
        tamis__plan_explain(plan, options->kind == TAMIS_KIND_AUTO ? TAMIS__REASON_CLASSIC_ONLY
                                                                   : "requested by name");
    return status;
}

tamis_status tamis_plan_fit(tamis_plan *plan, const tamis_plan_options *given, tamis_error *err) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan created;
    tamis_status status = tamis__plan_read_options(&options, given, plan, err);
    if (status != TAMIS_OK)
        return status;
    if (options.memory == 0)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "memory: not given, and nothing to fit; give it");
    if ((options.expect != 0) == (options.fpr != 0))
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "expected keys and false-positive rate: %s; give one of them, and the other follows "
            "from the memory",
            options.expect ? "both given" : "neither given");
    if (options.expect)
        options.fpr = TAMIS_FPR_MAX; /* any valid rate passes tamis__plan_check */
    status = tamis__plan_check(&options, err);
    if (status == TAMIS_OK)
        status = fit(&created, &options, err);
    if (status == TAMIS_OK)
        tamis__write_struct(plan, &created, sizeof created);
    return status;
}
