/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Planning: from what a user knows (keys, rate, memory) to a kind of filter and its size.
 *
 *     plan options ---> check ---> choose a kind (this file) ---> size it (plan_kind.c) ---> plan
 *
 *     tamis_plan_fit, where the memory is given and the rest follows, is in plan_fit.c.
 *
 * The choice for kind AUTO:
 *
 *     given                      chosen                  unless
 *     a digest below 128 bits    classic                 (other kinds need 128 bits)
 *     a number of probes         classic                 blocked fits and takes at most 1.25 times its memory
 *     the number of keys         fingerprint             the same for blocked, or only classic fits
 *     nothing                    fingerprint             (no other kind grows without its keys)
 *
 * Why this way: at equal memory the kind that touches fewer cache lines is faster. blocked touches 1 line per
 * key, fingerprint 1 to 2, classic up to k. So a kind with fewer lines may take a quarter more memory
 * (TAMIS__FEWER_LINES_ALLOWANCE). As p falls, blocked needs ever more bits, and fingerprint wins.
 *
 * Invariants:
 *
 * 1. A plan that is returned keeps the memory limit. Otherwise the call fails and names the memory that it
 *    needs.
 * 2. plan.fpr_predicted is computed for the chosen kind and scheme, uneven and repeated positions included.
 *    If it exceeds plan.fpr by more than a tenth, plan.caution and plan.reason say so.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/versioned.h"
#include "plan/plan_int.h"

#define FPR_DEFAULT 1e-9
#define ABOVE       1.1 /* plan.caution is set if fpr_predicted exceeds fpr by this factor */

static const char *const kind_names[] = {
    [TAMIS_KIND_AUTO] = "auto",         [TAMIS_KIND_CLASSIC] = "classic",
    [TAMIS_KIND_BLOCKED] = "blocked",   [TAMIS_KIND_FINGERPRINT] = "fingerprint",
    [TAMIS_KIND_EXACT] = "exact",       [TAMIS_KIND_WINDOW] = "window",
    [TAMIS_KIND_COUNTING] = "counting", [TAMIS_KIND_CUCKOO] = "cuckoo",
};
enum { KIND_COUNT = sizeof kind_names / sizeof *kind_names };

const char *tamis_kind_name(tamis_kind kind) {
    return (unsigned)kind < KIND_COUNT ? kind_names[kind] : NULL;
}

tamis_status tamis_kind_parse(tamis_kind *kind, const char *name, tamis_error *err) {
    TAMIS__NEED(name, err);
    TAMIS__NEED(kind, err);
    for (int i = 0; i < KIND_COUNT; i++) {
        if (kind_names[i] && strcmp(name, kind_names[i]) == 0) {
            *kind = (tamis_kind)i;
            return TAMIS_OK;
        }
    }
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%.100s: no such kind; use auto, classic, blocked, fingerprint, exact, window, counting or cuckoo",
        name);
}

bool tamis_kind_is_bloom(tamis_kind kind) {
    return kind == TAMIS_KIND_CLASSIC || kind == TAMIS_KIND_BLOCKED || kind == TAMIS_KIND_COUNTING;
}

bool tamis__kind_grows(tamis_kind kind) {
    return !tamis_kind_is_bloom(kind) && kind != TAMIS_KIND_CUCKOO;
}

bool tamis__plan_grows(const tamis_plan *plan) {
    return tamis__kind_grows(plan->kind) || (plan->kind == TAMIS_KIND_CUCKOO && plan->capacity == 0);
}

/* ---- the choice ---- */

const char *tamis__plan_number(char text[TAMIS__PLAN_NUMBER], double number) {
    snprintf(text, TAMIS__PLAN_NUMBER, "%.4g", number);
    char *exponent = strchr(text, 'e');
    if (!exponent)
        return text;
    /* printf writes a sign and at least two digits: 1e+09 */
    char *digits = exponent + 1 + strspn(exponent + 1, "+-0");
    exponent += exponent[1] == '-' ? 2 : 1;
    memmove(exponent, digits, strlen(digits) + 1);
    return text;
}

const char *tamis__plan_bytes(char text[TAMIS__PLAN_BYTES], uint64_t bytes) {
    const char *unit = "KMGTPE";
    double number = (double)bytes / 1024;
    const int used = snprintf(text, TAMIS__PLAN_BYTES, "%" PRIu64 " bytes", bytes);
    for (; number >= 1023.5; number /= 1024)
        unit++;
    if (bytes >= 1024)
        snprintf(text + used, TAMIS__PLAN_BYTES - (size_t)used, " (%.*f %ciB)",
                 number >= 99.95   ? 0
                 : number >= 9.995 ? 1
                                   : 2,
                 number, *unit);
    return text;
}

bool tamis__plan_fits(const tamis_plan *plan) {
    return !plan->memory_limit || plan->memory <= plan->memory_limit;
}

/* NONE if the filter keeps the requested rate. */
static tamis_plan_caution caution_of(const tamis_plan *plan) {
    if (!tamis_scheme_is_uniform(plan->scheme))
        return TAMIS_CAUTION_POOR_HASHES;
    if (plan->kind != TAMIS_KIND_CLASSIC || plan->fpr_predicted <= ABOVE * plan->fpr)
        return TAMIS_CAUTION_NONE;
    double n = (double)plan->capacity, m = (double)plan->bits, k = plan->probes;
    const double repeats = tamis__scheme_repeats(plan->scheme, -expm1(k * n * log1p(-1 / m)), m, k);
    return repeats > (plan->fpr_predicted - plan->fpr) / 2 ? TAMIS_CAUTION_REPEATED_POSITIONS
                                                           : TAMIS_CAUTION_SIZES;
}

const char *tamis_plan_caution_text(tamis_plan_caution caution) {
    switch (caution) {
    case TAMIS_CAUTION_NONE:
        return "";
    case TAMIS_CAUTION_POOR_HASHES:
        return "the hashes are poor: the real rate is higher than the promised one";
    case TAMIS_CAUTION_REPEATED_POSITIONS:
        return "positions of this scheme repeat: the rate is the one predicted, above the requested one";
    case TAMIS_CAUTION_SIZES:
        return "by its sizes and positions the rate is the one predicted, above the requested one";
    }
    return NULL;
}

void tamis__plan_explain(tamis_plan *plan, const char *reason) {
    plan->caution = caution_of(plan);
    snprintf(plan->reason, sizeof plan->reason, "%s%s%s", reason, plan->caution ? "; " : "",
             tamis_plan_caution_text(plan->caution));
}

static tamis_status refuse_memory(const tamis_plan *plan, tamis_error *err) {
    char needs[TAMIS__PLAN_BYTES];
    tamis__plan_bytes(needs, plan->memory);
    const bool larger_would_do = plan->kind != TAMIS_KIND_EXACT && plan->fpr < TAMIS_FPR_MAX;
    if (plan->capacity)
        return tamis__fail(err, TAMIS_E_MEMORY_LIMIT, 0,
                           "memory %" PRIu64 " bytes: too little, kind %s needs %s; allow that much%s",
                           plan->memory_limit, tamis_kind_name(plan->kind), needs,
                           larger_would_do ? ", expect fewer keys or choose a larger rate"
                                           : ", or expect fewer keys");
    /* It begins with less, and has this much once it has some thousand keys. */
    return tamis__fail(err, TAMIS_E_MEMORY_LIMIT, 0,
                       "memory %" PRIu64 " bytes: too little, kind %s needs %s; allow that much, or give "
                       "the number of keys to expect",
                       plan->memory_limit, tamis_kind_name(plan->kind), needs);
}

/* True if `plan` takes at most 1.25 times the memory of `other`. */
static bool is_light(const tamis_plan *plan, const tamis_plan *other) {
    return (double)plan->memory <= TAMIS__FEWER_LINES_ALLOWANCE * (double)other->memory;
}

/* Chooses a kind for a given number of keys. */
static tamis_status choose_sized(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    tamis_plan table, blocked, classic;
    const bool has_classic = tamis__plan_kind(&classic, options, TAMIS_KIND_CLASSIC, NULL) == TAMIS_OK;
    const bool has_blocked = tamis__plan_kind(&blocked, options, TAMIS_KIND_BLOCKED, NULL) == TAMIS_OK;
    const tamis_status status = tamis__plan_kind(&table, options, TAMIS_KIND_FINGERPRINT, err);
    if (status != TAMIS_OK)
        return status;
    const char *reason = "one or two cache lines a key, and the smallest kind that touches so few";
    *plan = table;
    if (has_blocked && tamis__plan_fits(&blocked) && is_light(&blocked, &table)) {
        reason = blocked.memory <= table.memory
                     ? "one cache line a key, and at this rate smaller than fingerprints"
                     : "one cache line a key, and hardly larger than fingerprints";
        *plan = blocked;
    } else if (has_classic && !tamis__plan_fits(&table) && classic.memory < table.memory) {
        reason = "the only kind that fits the memory given";
        *plan = classic;
    }
    tamis__plan_explain(plan, reason);
    return tamis__plan_fits(plan) ? TAMIS_OK : refuse_memory(plan, err);
}

/* Chooses a kind for a given number of probes, that is, a Bloom filter. */
static tamis_status choose_bloom(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    tamis_plan blocked;
    const tamis_status status = tamis__plan_kind(plan, options, TAMIS_KIND_CLASSIC, err);
    if (status != TAMIS_OK)
        return status;
    const char *reason = "of the kinds with probes the one of least memory";
    if (tamis__plan_kind(&blocked, options, TAMIS_KIND_BLOCKED, NULL) == TAMIS_OK &&
        tamis__plan_fits(&blocked) && is_light(&blocked, plan)) {
        reason = "one cache line a key, and hardly larger than classic";
        *plan = blocked;
    }
    tamis__plan_explain(plan, reason);
    return tamis__plan_fits(plan) ? TAMIS_OK : refuse_memory(plan, err);
}

static tamis_status choose(tamis_plan *plan, const tamis_plan_options *options, tamis_error *err) {
    const bool is_auto = options->kind == TAMIS_KIND_AUTO;
    bool classic_only = tamis__plan_digest_bits(options->scheme) < 128;
    if (is_auto && !classic_only && options->probes)
        return choose_bloom(plan, options, err);
    if (is_auto && !classic_only && options->expect)
        return choose_sized(plan, options, err);
    tamis_kind kind = options->kind;
    const char *reason = "requested by name";
    if (is_auto && classic_only) {
        kind = TAMIS_KIND_CLASSIC;
        reason = TAMIS__REASON_CLASSIC_ONLY;
    } else if (is_auto) {
        kind = TAMIS_KIND_FINGERPRINT;
        reason = "the number of keys is not known, and fingerprints can grow without the keys";
    }
    const tamis_status status = tamis__plan_kind(plan, options, kind, err);
    if (status != TAMIS_OK)
        return status;
    tamis__plan_explain(plan, reason);
    return tamis__plan_fits(plan) ? TAMIS_OK : refuse_memory(plan, err);
}

tamis_status tamis__plan_check(const tamis_plan_options *options, tamis_error *err) {
    char rate[TAMIS__PLAN_NUMBER], min[TAMIS__PLAN_NUMBER];
    if (options->expect > TAMIS_EXPECT_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "expected keys %" PRIu64 ": more than %" PRIu64 "; choose fewer", options->expect,
                           TAMIS_EXPECT_MAX);
    if (!(options->fpr >= TAMIS_FPR_MIN && options->fpr <= TAMIS_FPR_MAX))
        return tamis__fail(
            err, TAMIS_E_RANGE, 0, "false-positive rate %s: not between %s and %g; choose one within%s",
            tamis__plan_number(rate, options->fpr), tamis__plan_number(min, TAMIS_FPR_MIN), TAMIS_FPR_MAX,
            !options->probes && options->fpr < TAMIS_FPR_MIN ? ", or kind exact" : "");
    if (!tamis_kind_name(options->kind))
        return tamis__fail(err, TAMIS_E_INVALID, 0, "kind %d: no such kind; see tamis/plan.h",
                           (int)options->kind);
    if (!tamis_scheme_name(options->scheme))
        return tamis__fail(err, TAMIS_E_INVALID, 0, "scheme %d: no such scheme; see tamis/hash.h",
                           (int)options->scheme);
    if (options->probes > TAMIS_PROBES_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "probes %" PRIu32 ": more than %d; choose fewer",
                           options->probes, TAMIS_PROBES_MAX);
    return TAMIS_OK;
}

tamis_status tamis__plan_read_options(tamis_plan_options *options, const tamis_plan_options *given,
                                      const tamis_plan *plan, tamis_error *err) {
    tamis_status status = tamis__check_struct(plan, "TAMIS_PLAN_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__read_struct(options, sizeof *options, given, "TAMIS_PLAN_OPTIONS_INIT", err);
    return status;
}

tamis_status tamis_plan_make(tamis_plan *plan, const tamis_plan_options *given, tamis_error *err) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan created;
    tamis_status status = tamis__plan_read_options(&options, given, plan, err);
    if (options.fpr == 0)
        options.fpr = tamis__is_redisbloom_cuckoo(options.kind, options.scheme) ? TAMIS_FPR_MAX : FPR_DEFAULT;
    if (status == TAMIS_OK)
        status = tamis__plan_check(&options, err);
    if (status == TAMIS_OK)
        status = choose(&created, &options, err);
    if (status == TAMIS_OK)
        tamis__write_struct(plan, &created, sizeof created);
    return status;
}
