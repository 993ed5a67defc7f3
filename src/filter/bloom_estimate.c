/* SPDX-License-Identifier: BSD-2-Clause */

/* Kinds classic and blocked: how many keys there are and how often they are mistaken, by what is counted and by what is set
 * (docs/MATH.md). */
#include <math.h>

#include "filter/bloom_int.h"
#include "filter/line_count.h"
#include "plan/plan_int.h"

/* ---- by the keys that were added ---- */

/* The sum of the rates at 0, 1, ... keys offered, which is the area under the rate's curve (Simpson's rule). */
static double rate_area(const bloom *b, double offered) {
    enum { STEPS = 32 };
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        sum += weight * b->rate(offered * i / STEPS, (double)b->bits, b->probes);
    }
    return sum * offered / (3 * STEPS);
}

/* Adds of a filter never united that were answered "seen" though fresh, when so many were answered "fresh". Their
 * bits are set too, so the rate follows the number of keys offered, which is that of the added and these: found by
 * repetition, each step of which is off by less than the rate times the one before. */
static double false_fresh_at(const bloom *b, uint64_t added) {
    double mistaken = 0, before = -1;
    for (int step = 0; step < 20 && mistaken - before > 1e-3; step++) {
        before = mistaken;
        mistaken = rate_area(b, (double)added + mistaken);
    }
    return mistaken;
}

double tamis__bloom_false_fresh(const tamis_filter *filter) {
    const bloom *b = filter->body;
    return b->united_false + false_fresh_at(b, filter->added) - false_fresh_at(b, b->united_added);
}

uint64_t tamis__bloom_most_fresh(const bloom *b, uint64_t capacity) {
    double mistaken = rate_area(b, (double)capacity);
    double most = ceil((double)capacity - mistaken + 5 * sqrt(mistaken));
    return most < (double)capacity ? (uint64_t)most : capacity;
}

/* ---- by the bits ---- */

static void classic_estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const bloom *b = filter->body;
    double m = (double)b->bits, k = b->probes, ones = (double)info->ones;
    double repeats = tamis__scheme_repeats(filter->plan.scheme, ones / m, m, k);
    info->fpr_live = fmin(pow(ones / m, k) + repeats, 1);
    info->cardinality = tamis_bloom_cardinality(ones, m, k);
}

/* A block is a Bloom filter of its own, so its rate and keys are, and the filter's are their mean and sum.
 * A block whose bits are all set tells no number; it counts as one with one bit left. */
static void blocked_estimate(const tamis_filter *filter, const tamis__line_counts *counts,
                             tamis_filter_info *info) {
    const bloom *b = filter->body;
    const double m = 64 * BLOCK_WORDS, k = b->probes;
    double blocks = (double)(b->bits / (64 * BLOCK_WORDS));
    for (int ones = 1; ones <= 64 * BLOCK_WORDS; ones++) {
        double some = (double)counts->lines[ones];
        info->fpr_live += some * pow(ones / m, k) / blocks;
        info->cardinality += some * tamis_bloom_cardinality(fmin(ones, m - 1), m, k);
    }
}

static void estimate_counted(const tamis_filter *filter, const tamis__line_counts *counts,
                             tamis_filter_info *info) {
    for (uint64_t ones = 1; ones <= 64 * BLOCK_WORDS; ones++)
        info->ones += counts->lines[ones] * ones;
    if (filter->plan.kind == TAMIS_KIND_CLASSIC)
        classic_estimate(filter, info);
    else
        blocked_estimate(filter, counts, info);
    info->false_fresh = tamis__bloom_false_fresh(filter);
}

void tamis__bloom_estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const bloom *b = filter->body;
    tamis__line_counts counts = {{0}};
    tamis__count_lines(b->words, b->bytes / 8, &counts);
    estimate_counted(filter, &counts, info);
}

/* ---- what was added, of bits from elsewhere ---- */

/* Keys that were answered fresh, by what is set: those offered but for the ones taken for seen. All bits set tell no
 * number; that counts as one bit left. */
static uint64_t fresh_by_bits(const tamis_filter *filter) {
    const bloom *b = filter->body;
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis__bloom_estimate(filter, &info);
    double most = tamis_bloom_cardinality((double)(b->bits - 1), (double)b->bits, b->probes);
    double offered = fmin(info.cardinality, most);
    return (uint64_t)fmax(round(offered - rate_area(b, offered)), info.ones > 0);
}

/*
 * Standard deviation of the number of keys that the bits tell of n. With load x = n k / m it is sqrt(m (e^x - 1 - x)) / k for
 * classic: that of the bits left unset, by their derivative. Blocks of S bits, of which there are B, get L = n / B keys on
 * the mean; a key leaves one bit of its block unset with chance 1 - u, two of them with 1 - v, and so of all bits unset, Z,
 *
 *     Var Z = B S (e^(-L u) + (S - 1) e^(-L v) - S e^(-2 L u) (1 + L u^2)),   dZ/dn = -S u e^(-L u)
 */
static double estimate_deviation(const tamis_filter *filter, double n) {
    const double m = (double)filter->plan.bits, k = filter->plan.probes, s = 64 * BLOCK_WORDS;
    if (filter->plan.kind == TAMIS_KIND_CLASSIC)
        return sqrt(m * (expm1(n * k / m) - n * k / m)) / k;
    const double load = n * s / m, u = 1 - pow(1 - 1 / s, k), v = 1 - pow(1 - 2 / s, k);
    const double one = exp(-load * u), two = exp(-load * v);
    return sqrt(fmax(m * (one + (s - 1) * two - s * one * one * (1 + load * u * u)), 0)) / (s * u * one);
}

void tamis__bloom_filled(tamis_filter *filter, uint64_t added) {
    const bloom *b = filter->body;
    filter->added = added == TAMIS__ADDED_BY_BITS ? fresh_by_bits(filter) : added;
    filter->saturated = filter->added > b->most_fresh;
}

/* Whether bits that tell of so many keys leave no doubt that the capacity is passed. */
static bool is_past_doubt(const tamis_filter *filter) {
    const bloom *b = filter->body;
    const double off = estimate_deviation(filter, (double)filter->plan.capacity);
    return (double)filter->added > (double)b->most_fresh + 5 * off;
}

void tamis__bloom_filled_about(tamis_filter *filter) {
    tamis__bloom_filled(filter, TAMIS__ADDED_BY_BITS);
    filter->saturated = is_past_doubt(filter);
}

tamis_status tamis__bloom_unite(tamis_filter *into, const tamis_filter *from, tamis_error *err) {
    (void)err;
    bloom *to = into->body;
    const bloom *other = from->body;
    double mistaken = tamis__bloom_false_fresh(into) + tamis__bloom_false_fresh(from);
    tamis__line_counts counts = {{0}};
    into->kernels->unite(to->words, other->words, to->bytes / 8, &counts);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    estimate_counted(into, &counts, &info);
    /* Keys in both are counted once: the bits say how many were offered, at most all; less those of them that one
     * filter would have taken for seen, and at least what either held. */
    uint64_t most = into->added > from->added ? into->added : from->added;
    double sum = (double)into->added + (double)from->added;
    double offered = fmin(info.cardinality, sum + mistaken);
    into->added = (uint64_t)fmin(fmax(offered - rate_area(to, offered), (double)most), sum);
    into->saturated = into->saturated || from->saturated || is_past_doubt(into);
    if (!into->saturated && into->added > to->most_fresh) /* by the error of the estimate: it is full */
        into->added = to->most_fresh;
    to->united_added = into->added;
    to->united_false = mistaken;
    return TAMIS_OK;
}
