/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/versioned.h"
#include "plan/plan_int.h"

#define FPR_DEFAULT 1e-9
#define EXACT_BITS  128.0

static const char *const kind_names[] = {"auto", "classic", "blocked", "fingerprint", "exact"};
enum { KIND_COUNT = sizeof kind_names / sizeof *kind_names };

const char *tamis_kind_name(tamis_kind kind) {
    return (unsigned)kind < KIND_COUNT ? kind_names[kind] : NULL;
}

tamis_status tamis_kind_parse(const char *name, tamis_kind *kind, tamis_error *err) {
    for (int i = 0; i < KIND_COUNT; i++) {
        if (strcmp(name, kind_names[i]) == 0) {
            *kind = (tamis_kind)i;
            return TAMIS_OK;
        }
    }
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "%.100s: no such kind; use auto, classic, blocked, fingerprint or exact", name);
}

/* ---- shapes of a line ---- */

/* Fewest bits first. The last row of each holds all of the hash: its rate is that of the hash. */
/* clang-format off */
static const tamis__line_shape fixed_shapes[] = {
    { 16, 4, 29, 0.930, 3.13, 0.54},
    { 20, 4, 23, 0.930, 2.73, 0.58},
    { 24, 4, 19, 0.930, 2.44, 0.61},
    { 32, 4, 15, 0.925, 2.08, 0.63},
    { 40, 4, 12, 0.920, 1.80, 0.65},
    { 48, 4, 10, 0.910, 1.57, 0.65},
    { 64, 4,  7, 0.880, 1.17, 0.62},
    {120, 4,  4, 0.820, 0.74, 0.58},
};
/* Rates grow by about a constant a doubling: 5.1, 5.3, 3.7, 2.8 (times 2^(1 - slot_bits)), measured from
 * 2^20 to 2^24 keys and continued to 2^40. */
static const tamis__line_shape growing_shapes[] = {
    { 32, 4, 15, 0.95, 115, 0.42},
    { 38, 2, 13, 0.94, 130, 0.42},
    { 48, 4, 10, 0.94,  90, 0.47},
    { 64, 4,  7, 0.92,  70, 0.50},
    {120, 4,  4, 0.90,  70, 0.57},
};
/* clang-format on */

static const tamis__line_shape *shape_find(double p, uint32_t slot_bits, bool grows) {
    const tamis__line_shape *row = grows ? growing_shapes : fixed_shapes;
    for (; row->slot_bits != 120; row++)
        if (slot_bits ? row->slot_bits == slot_bits : ldexp(row->rate, 1 - row->slot_bits) <= p)
            break;
    return row;
}

const tamis__line_shape *tamis__line_shape_for(double p, bool grows) {
    return shape_find(p, 0, grows);
}

const tamis__line_shape *tamis__line_shape_of(uint32_t slot_bits, bool grows) {
    return shape_find(0, slot_bits, grows);
}

/* Bits a key of a growing table, averaged over the sizes a partition goes through. Each is a quarter
 * larger than the one before, so at load L when it grows and with the keys spread evenly over the
 * logarithm of a step, the average of 1/load is (1.25 - 1) / ln(1.25) / L. */
static double growing_bits(const tamis__line_shape *shape) {
    return 8.0 * TAMIS__LINE / shape->slots * (0.25 / log(1.25)) / shape->load;
}

/* ---- one kind ---- */

static tamis_status plan_classic(tamis_plan *plan, const tamis_want *want, tamis_error *err) {
    double n = (double)want->expect, p = want->fpr;
    double m = floor(tamis_bloom_bits(n, p));
    uint32_t k = tamis_bloom_probes(n, m > 0 ? m : 1);
    /* Guava keeps these m and k, and a rate up to a few per cent above the one asked for where k was
     * rounded far; the other schemes take the bits that just this k needs. */
    bool guava = want->scheme == TAMIS_SCHEME_GUAVA64;
    if (!guava)
        m = fmax(m, ceil(tamis_bloom_bits_for_probes(n, p, k)));
    m = 64 * fmax(1, ceil(m / 64));
    while (!guava && tamis__bits_fpr(m, k * n, k) > p)
        m += 64;
    if (m / 8 > (double)(INT64_MAX / 2) || k > 255)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "kind classic: %g bits and %" PRIu32
                           " probes are past what it can do (255 probes); ask "
                           "for a larger rate or another kind",
                           m, k);
    plan->bits = (uint64_t)m;
    plan->probes = k;
    plan->memory = plan->bits / 8;
    plan->fpr_predicted = tamis__bits_fpr(m, k * n, k);
    /* An absent key is found out at the first zero bit; half of them are set at capacity. */
    double fill = pow(plan->fpr_predicted, 1.0 / k);
    plan->lines_touched = (1 - pow(fill, k)) / (1 - fill);
    return TAMIS_OK;
}

static tamis_status plan_blocked(tamis_plan *plan, const tamis_want *want, tamis_error *err) {
    double m;
    if (!tamis__blocked_size((double)want->expect, want->fpr, &m, &plan->probes))
        return tamis__fail(
            err, TAMIS_E_RANGE, 0,
            "kind blocked: cannot reach a rate of %g in its 512-bit blocks; ask for a larger rate "
            "or kind fingerprint",
            want->fpr);
    plan->bits = (uint64_t)m;
    plan->memory = plan->bits / 8;
    plan->fpr_predicted = tamis_blocked_fpr((double)want->expect, m, plan->probes);
    plan->lines_touched = 1;
    return TAMIS_OK;
}

static void plan_growing(tamis_plan *plan, const tamis__line_shape *shape) {
    uint64_t lines = 0;
    for (uint32_t i = 0; i < 1u << TAMIS__FINGERPRINT_PARTITION_BITS; i++)
        lines += tamis__fingerprint_first_lines(i);
    plan->memory =
        lines * TAMIS__LINE + ((uint64_t)TAMIS__FINGERPRINT_ROW << TAMIS__FINGERPRINT_PARTITION_BITS);
    plan->bits_per_key = growing_bits(shape);
}

static void plan_table(tamis_plan *plan, const tamis_want *want, bool exact) {
    bool grows = want->expect == 0;
    const tamis__line_shape *shape = tamis__line_shape_for(exact ? 0 : want->fpr, grows);
    plan->slot_bits = shape->slot_bits;
    plan->home_bits = shape->home_bits;
    double keys = grows ? ldexp(1, TAMIS__FINGERPRINT_GROWN_LOG2) : (double)want->expect;
    bool whole_hash = shape->slot_bits == 120;
    plan->fpr_predicted =
        whole_hash ? ldexp(keys, -(int)EXACT_BITS) : ldexp(shape->rate, 1 - shape->slot_bits);
    plan->lines_touched = 1 + shape->second;
    if (exact)
        plan->fpr = plan->fpr_predicted;
    if (grows) {
        plan_growing(plan, shape);
        return;
    }
    double lines = ceil(keys / (shape->load * shape->slots));
    /* The share of guests, and with it the rate, varies most in small tables. */
    lines = ceil(lines * (1 + 2 / sqrt(keys)));
    plan->lines =
        (uint64_t)fmax(lines, whole_hash ? TAMIS__EXACT_LEAST_LINES : TAMIS__FINGERPRINT_LEAST_LINES);
    plan->memory = plan->lines * TAMIS__LINE + TAMIS__FINGERPRINT_ROW;
}

static tamis_status plan_kind(tamis_plan *plan, const tamis_want *want, tamis_kind kind, tamis_error *err) {
    *plan = (tamis_plan)TAMIS_PLAN_INIT;
    plan->kind = kind;
    plan->scheme = want->scheme;
    plan->capacity = want->expect;
    plan->fpr = want->fpr;
    plan->memory_limit = want->memory;
    bool bloom = kind == TAMIS_KIND_CLASSIC || kind == TAMIS_KIND_BLOCKED;
    if (bloom && !want->expect)
        return tamis__fail(
            err, TAMIS_E_INVALID, 0,
            "kind %s: cannot grow, and the number of keys was not given; give it (--expect), or use "
            "kind fingerprint",
            tamis_kind_name(kind));
    tamis_status status = TAMIS_OK;
    if (kind == TAMIS_KIND_CLASSIC)
        status = plan_classic(plan, want, err);
    else if (kind == TAMIS_KIND_BLOCKED)
        status = plan_blocked(plan, want, err);
    else
        plan_table(plan, want, kind == TAMIS_KIND_EXACT);
    if (status == TAMIS_OK && want->expect)
        plan->bits_per_key = 8 * (double)plan->memory / (double)want->expect;
    return status;
}

/* ---- the choice ---- */

static bool fits(const tamis_plan *plan) {
    return !plan->memory_limit || plan->memory <= plan->memory_limit;
}

static tamis_status refuse_memory(const tamis_plan *plan, tamis_error *err) {
    if (plan->capacity)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "memory %" PRIu64 " bytes: too little, kind %s needs %" PRIu64
                           " bytes; allow that much, expect fewer keys or ask for a larger rate",
                           plan->memory_limit, tamis_kind_name(plan->kind), plan->memory);
    return tamis__fail(err, TAMIS_E_INVALID, 0,
                       "memory %" PRIu64 " bytes: too little, kind %s starts with %" PRIu64
                       " bytes; allow that much, or give the number of keys to expect",
                       plan->memory_limit, tamis_kind_name(plan->kind), plan->memory);
}

/* What blocked may weigh more than fingerprints and still be chosen for touching fewer lines. */
#define BLOCKED_ALLOWANCE 1.25

/* The number of keys is given. */
static tamis_status choose_fixed(tamis_plan *plan, const tamis_want *want, tamis_error *err) {
    tamis_plan table, blocked, classic;
    bool has_classic = plan_kind(&classic, want, TAMIS_KIND_CLASSIC, NULL) == TAMIS_OK;
    bool has_blocked = plan_kind(&blocked, want, TAMIS_KIND_BLOCKED, NULL) == TAMIS_OK;
    tamis_status status = plan_kind(&table, want, TAMIS_KIND_FINGERPRINT, err);
    if (status != TAMIS_OK)
        return status;
    const char *reason = "one or two cache lines a key, and the smallest kind that touches so few";
    *plan = table;
    if (has_blocked && fits(&blocked) && (double)blocked.memory <= BLOCKED_ALLOWANCE * (double)table.memory) {
        reason = blocked.memory <= table.memory
                     ? "one cache line a key, and at this rate smaller than fingerprints"
                     : "one cache line a key, and hardly larger than fingerprints";
        *plan = blocked;
    } else if (has_classic && !fits(&table) && classic.memory < table.memory) {
        reason = "the only kind that fits the memory given";
        *plan = classic;
    }
    snprintf(plan->reason, sizeof plan->reason, "%s", reason);
    return fits(plan) ? TAMIS_OK : refuse_memory(plan, err);
}

static tamis_status choose(tamis_plan *plan, const tamis_want *want, tamis_error *err) {
    if (want->kind == TAMIS_KIND_AUTO && want->expect)
        return choose_fixed(plan, want, err);
    tamis_kind kind = want->kind == TAMIS_KIND_AUTO ? TAMIS_KIND_FINGERPRINT : want->kind;
    tamis_status status = plan_kind(plan, want, kind, err);
    if (status != TAMIS_OK)
        return status;
    snprintf(plan->reason, sizeof plan->reason, "%s",
             want->kind == TAMIS_KIND_AUTO
                 ? "the number of keys is not known, and fingerprints can grow without the keys"
                 : "asked for by name");
    return fits(plan) ? TAMIS_OK : refuse_memory(plan, err);
}

/* Two keys with one 128-bit hash are one to every kind: for n keys no rate below n/2^128 can be had. */
static tamis_status check_hash(const tamis_want *want, tamis_error *err) {
    double keys = want->expect ? (double)want->expect : ldexp(1, TAMIS__FINGERPRINT_GROWN_LOG2);
    double least = ldexp(keys, -(int)EXACT_BITS);
    if (want->kind == TAMIS_KIND_EXACT || want->fpr >= least)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_RANGE, 0,
        "false-positive rate %g: below %.2g, the rate of 128-bit hashes with %g keys; ask for that or "
        "more, or for kind exact",
        want->fpr, least, keys);
}

static tamis_status check_want(const tamis_want *want, tamis_error *err) {
    if (want->expect > TAMIS_EXPECT_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "expected keys %" PRIu64 ": more than %" PRIu64 "; ask for fewer", want->expect,
                           TAMIS_EXPECT_MAX);
    if (!(want->fpr >= TAMIS_FPR_MIN && want->fpr <= TAMIS_FPR_MAX))
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "false-positive rate %g: not between %g and %g; choose one within, or kind exact",
                           want->fpr, TAMIS_FPR_MIN, TAMIS_FPR_MAX);
    if ((unsigned)want->kind >= KIND_COUNT)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "kind %d: no such kind; see tamis/plan.h",
                           (int)want->kind);
    if (!tamis_scheme_name(want->scheme))
        return tamis__fail(err, TAMIS_E_INVALID, 0, "scheme %d: no such scheme; see tamis/hash.h",
                           (int)want->scheme);
    return check_hash(want, err);
}

tamis_status tamis_plan_make(tamis_plan *plan, const tamis_want *given, tamis_error *err) {
    tamis_want want = TAMIS_WANT_INIT;
    tamis_plan made = TAMIS_PLAN_INIT;
    /* Taken to be refused where it has no struct_size and could not be filled. */
    tamis_status status = tamis__take_struct(&made, sizeof made, plan, "TAMIS_PLAN_INIT", err);
    if (status == TAMIS_OK)
        status = tamis__take_struct(&want, sizeof want, given, "TAMIS_WANT_INIT", err);
    if (want.fpr == 0)
        want.fpr = FPR_DEFAULT;
    if (status == TAMIS_OK)
        status = check_want(&want, err);
    if (status == TAMIS_OK)
        status = choose(&made, &want, err);
    if (status == TAMIS_OK)
        tamis__give_struct(plan, &made, sizeof made);
    return status;
}
