/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Bloom filters: estimates of the number of keys and of the rate (docs/MATH.md).
 *
 * There are two sources, and they answer different questions:
 *
 *     source                   gives                                            cost
 *     -----------------------  -----------------------------------------------  -------------------------
 *     the count of keys added  expected number of new keys answered present     O(1)
 *     the bits that are set    rate of a lookup now, number of different keys   reads the whole array
 *
 * By the count. A filter answers a new key present by mistake with the probability f(n), the rate at n keys.
 * Over n keys this happens as often as the area under f from 0 to n. The filter counts only the keys that it
 * answered absent. So the number of keys offered, n, is found by repetition: n = added + area(n).
 *
 * By the bits. With a share of ones s of m bits, the rate is s^k, and n = -m/k ln(1 - s). A blocked filter is
 * many small Bloom filters: its rate is the mean of their rates, and its number of keys the sum. So it
 * suffices to count how many blocks have how many ones (line_count.h). In a counting filter the ones are the
 * counters that are not 0.
 *
 * Why both: the count is exact and free. But it is unknown after a union, and for bits from elsewhere (a
 * bitmap of a server, a file of Guava). The bits are always there, but counting them reads the whole filter.
 * An estimate of n from them has the standard deviation of estimate_deviation: about 250 for 10^6 keys at k =
 * 7 and half of the bits set.
 *
 * Unions. After a union the count is unknown: keys in both filters were counted twice. It is estimated
 * from the bits, and the expected errors until then are stored (union_added, union_false_present) as a
 * start for the count.
 *
 * Filters in a Redis (src/module) are merged by the primary and by each replica. They must count alike,
 * whatever their C libraries. So the count of a union is computed from + - * / and roots, whose results IEEE
 * 754 defines to the last bit (exact_log, exact_exp, power).
 *
 * Invariants:
 * 1. A union marks a filter saturated only if one of both was, or if the estimate exceeds the capacity by
 *    five standard deviations.
 * 2. After a union `added` is at least the larger of both counts, and at most their sum.
 */
#include <math.h>

#include "filter/bloom/bloom_int.h"
#include "filter/line_count.h"
#include "plan/plan_int.h"

#define LN2       0.693147180559945309417
#define ROOT_HALF 0.707106781186547524401

/* ---- the same on every machine ---- */

/* ln(1 - s) for 0 <= s < 1. With 1 - s = z 2^e it is e ln 2 + 2 artanh t, where t = (z - 1) / (z + 1), and
 * |t| is at most 0.18. */
static double exact_log(double s) {
    int e = 0;
    double t = -s / (2 - s), sum = 0;
    if (s > 0.25) {
        double z = frexp(1 - s, &e);
        if (z < ROOT_HALF) {
            z *= 2;
            e--;
        }
        t = (z - 1) / (z + 1);
    }
    for (int i = 23; i > 0; i -= 2)
        sum = sum * t * t + 1.0 / i;
    return e * LN2 + 2 * t * sum;
}

/* e^x. With x = n ln 2 + r it is e^r 2^n, where |r| is at most 0.35. */
static double exact_exp(double x) {
    const double n = floor(fmax(fmin(x, 700), -700) / LN2 + 0.5), r = fmax(fmin(x, 700), -700) - n * LN2;
    double sum = 1;
    for (int i = 15; i > 0; i--)
        sum = 1 + sum * r / i;
    return ldexp(sum, (int)n);
}

/* x^k */
static double power(double x, uint32_t k) {
    double result = 1;
    for (; k > 0; k /= 2, x *= x)
        if (k % 2)
            result *= x;
    return result;
}

/* Number of keys in a Bloom filter of m bits, a share s of which is set. If all are set, counts as if one
 * were left. */
static double keys_of_share(double s, double m, uint32_t k) {
    return 0 - m / k * exact_log(fmin(s, (m - 1) / m)); /* 0 and not -0 for no bits */
}

/* Mean rate while a Bloom filter was filled, until the share s of its bits was set. It is the area under the
 * rate's curve, by Simpson's rule. When a part f of the keys was in it, (1 - s)^f of the bits were unset. */
static double mean_rate_until(double s, uint32_t k) {
    enum { STEPS = 32 };
    double unset = 1, step = 1 - s, sum = 0;
    for (int i = 1; i < STEPS; i *= 2)
        step = sqrt(step);
    for (int i = 1; i <= STEPS; i++) {
        const double weight = i == STEPS ? 1 : i % 2 ? 4 : 2;
        unset *= step;
        sum += weight * power(1 - unset, k);
    }
    return sum / (3 * STEPS);
}

/* ---- by the number of keys added ---- */

/* The sum of the rates at 0, 1, ... keys offered: the area under the rate's curve, by Simpson's rule. */
static double rate_area(const bloom *b, double offered) {
    enum { STEPS = 32 };
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        const double weight = i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        sum += weight * b->rate(offered * i / STEPS, (double)b->bits, b->probes);
    }
    return sum * offered / (3 * STEPS);
}

/* Expected number of new keys answered present, in a filter without a union, when `added` keys were
 * answered absent. The bits of these keys are set too, so the rate follows the number of keys offered:
 * added + this result. Found by repetition: the error of each step is smaller than that of the step before
 * by the factor of the rate. */
static double false_present_at(const bloom *b, uint64_t added) {
    double mistaken = 0, before = -1;
    for (int step = 0; step < 20 && mistaken - before > 1e-3; step++) {
        before = mistaken;
        mistaken = rate_area(b, (double)added + mistaken);
    }
    return mistaken;
}

double tamis__bloom_false_present(const tamis_filter *filter) {
    const bloom *b = filter->body;
    return b->union_false_present + false_present_at(b, filter->added) - false_present_at(b, b->union_added);
}

uint64_t tamis__bloom_max_absent(const bloom *b, uint64_t capacity) {
    const double mistaken = rate_area(b, (double)capacity);
    const double max = ceil((double)capacity - mistaken + 5 * sqrt(mistaken));
    return max < (double)capacity ? (uint64_t)max : capacity;
}

/* ---- by the bits ---- */

static void classic_estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const bloom *b = filter->body;
    double m = (double)b->bits, k = b->probes, ones = (double)info->ones;
    const double repeats = tamis__scheme_repeats(filter->plan.scheme, ones / m, m, k);
    info->fpr_live = fmin(pow(ones / m, k) + repeats, 1);
    info->cardinality = ones < m ? keys_of_share(ones / m, m, b->probes) : INFINITY;
}

/* Sums the estimates of the blocks, each a Bloom filter of its own. A block with all bits set gives no
 * number and counts as one with one bit left. */
static void blocked_estimate(const tamis_filter *filter, const tamis__line_counts *counts,
                             tamis_filter_info *info) {
    const bloom *b = filter->body;
    const double m = b->block, k = b->probes;
    double blocks = (double)(b->bits / (64 * BLOCK_WORDS));
    for (uint32_t ones = 1; ones <= b->block; ones++) {
        double line_count = (double)counts->lines[ones];
        info->fpr_live += line_count * pow(ones / m, k) / blocks;
        info->cardinality += line_count * keys_of_share(ones / m, m, b->probes);
    }
}

/* In blocks of 128 counters the estimate of a block is too large by half a per cent. The total of all
 * blocks has no such error. The expected share of counters that are 0 is e^(-L u). A block has L keys on
 * average, and a key has a given counter with the probability u. */
static double counting_cardinality(const bloom *b, uint64_t ones) {
    const double share = 1 / (double)b->block, blocks = (double)b->positions * share;
    const double used = (double)(ones < b->positions ? ones : b->positions - 1) / (double)b->positions;
    return blocks * exact_log(used) / (power(1 - share, b->probes) - 1);
}

static void estimate_counted(const tamis_filter *filter, const tamis__line_counts *counts,
                             tamis_filter_info *info) {
    for (uint64_t ones = 1; ones <= 64 * BLOCK_WORDS; ones++)
        info->ones += counts->lines[ones] * ones;
    if (filter->plan.kind == TAMIS_KIND_CLASSIC)
        classic_estimate(filter, info);
    else
        blocked_estimate(filter, counts, info);
    if (filter->plan.kind == TAMIS_KIND_COUNTING)
        info->cardinality = counting_cardinality(filter->body, info->ones);
    info->false_present = tamis__bloom_false_present(filter);
}

void tamis__bloom_estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const bloom *b = filter->body;
    tamis__line_counts counts = {{0}};
    if (filter->plan.kind == TAMIS_KIND_COUNTING)
        info->counters_saturated = tamis__counting_lines(b, &counts);
    else
        tamis__count_lines(b->words, b->bytes / 8, &counts);
    estimate_counted(filter, &counts, info);
}

/* ---- counts for bits from elsewhere ---- */

/* Estimates from the bits how many keys were answered absent: the keys offered, less those answered
 * present by mistake. If all bits are set, counts as if one were left. */
static uint64_t absent_by_bits(const tamis_filter *filter) {
    const bloom *b = filter->body;
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis__bloom_estimate(filter, &info);
    const double max = tamis_bloom_cardinality((double)(b->positions - 1), (double)b->positions, b->probes);
    const double offered = fmin(info.cardinality, max);
    return (uint64_t)fmax(round(offered - rate_area(b, offered)), info.ones > 0);
}

/*
 * Standard deviation of the estimated number of keys, for n keys in the filter.
 *
 * Classic, with load x = n k / m: sqrt(m (e^x - 1 - x)) / k. This is the deviation of the number of zero
 * bits, divided by the derivative of its mean.
 *
 * Blocked, with B blocks of S bits, and counting, with S counters: a block gets L = n / B keys on average. A
 * key leaves one given bit of its block unset with probability 1 - u, and two given bits with 1 - v. For the
 * number Z of zero bits,
 *
 *     Var Z = B S (e^(-L u) + (S - 1) e^(-L v) - S e^(-2 L u) (1 + L u^2)),   dZ/dn = -S u e^(-L u)
 */
static double estimate_deviation(const tamis_filter *filter, double n) {
    const bloom *b = filter->body;
    const double m = (double)b->positions, k = b->probes, s = b->block;
    if (filter->plan.kind == TAMIS_KIND_CLASSIC)
        return sqrt(fmax(m * (exact_exp(n * k / m) - 1 - n * k / m), 0)) / k;
    const double load = n * s / m, u = 1 - power(1 - 1 / s, b->probes), v = 1 - power(1 - 2 / s, b->probes);
    const double unset_one = exact_exp(-load * u), unset_two = exact_exp(-load * v);
    return sqrt(fmax(m * (unset_one + (s - 1) * unset_two - s * unset_one * unset_one * (1 + load * u * u)),
                     0)) /
           (s * u * unset_one);
}

void tamis__bloom_filled(tamis_filter *filter, uint64_t added) {
    const bloom *b = filter->body;
    filter->added = added == TAMIS__ADDED_BY_BITS ? absent_by_bits(filter) : added;
    filter->saturated = filter->added > b->max_absent;
}

/* True if the estimate exceeds the capacity beyond doubt: by five standard deviations. */
static bool is_over_capacity(const tamis_filter *filter) {
    const bloom *b = filter->body;
    const double off = estimate_deviation(filter, (double)filter->plan.capacity);
    return (double)filter->added > (double)b->max_absent + 5 * off;
}

void tamis__bloom_filled_estimate(tamis_filter *filter) {
    tamis__bloom_filled(filter, TAMIS__ADDED_BY_BITS);
    filter->saturated = is_over_capacity(filter);
}

/* Expected share of the keys that were answered present by mistake while they were added. */
static double mistaken_share(const bloom *b, const tamis__line_counts *counts, uint64_t ones) {
    const double s = b->block, blocks = (double)(b->bits / (64 * BLOCK_WORDS));
    double sum = 0;
    if (!b->block)
        return mean_rate_until((double)ones / (double)b->bits, b->probes);
    for (uint32_t i = 1; i <= b->block; i++)
        if (counts->lines[i])
            sum += (double)counts->lines[i] * mean_rate_until(i / s, b->probes);
    return sum / blocks;
}

tamis_status tamis__bloom_union(tamis_filter *into, const tamis_filter *from, tamis_error *err) {
    (void)err;
    bloom *to = into->body;
    const bloom *other = from->body;
    const double mistaken = tamis__bloom_false_present(into) + tamis__bloom_false_present(from);
    tamis__line_counts counts = {{0}};
    if (into->plan.kind == TAMIS_KIND_COUNTING) {
        tamis__counting_sum(to->words, other->words, to->bytes / 8);
        tamis__counting_lines(to, &counts);
    } else {
        into->kernels->or_words(to->words, other->words, to->bytes / 8, &counts);
    }
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    estimate_counted(into, &counts, &info);
    /* A key in both filters counts once. The bits say how many keys were offered. Subtract those that one
     * filter would have answered present by mistake. The result is at least the larger of both counts, and at
     * most their sum. */
    const uint64_t max = into->added > from->added ? into->added : from->added;
    const double sum = (double)into->added + (double)from->added;
    const double offered = fmin(info.cardinality, 2 * sum);
    const double absent = offered * (1 - mistaken_share(to, &counts, info.ones));
    into->added = (uint64_t)round(fmin(fmax(absent, (double)max), sum));
    const bool is_over = max > to->max_absent || is_over_capacity(into);
    into->saturated = into->saturated || from->saturated || is_over;
    if (!is_over && into->added > to->max_absent) /* above the limit only by the error of the estimate */
        into->added = to->max_absent;
    to->union_added = into->added;
    to->union_false_present = mistaken;
    return TAMIS_OK;
}
