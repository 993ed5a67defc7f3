/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The mathematics of Bloom filters: classic, blocked and counting. docs/MATH.md derives each formula and uses
 * the same names: n keys, m bits, k probes, false-positive rate p.
 *
 *     classic   | m bits                                                      |   p = (1 - (1 - 1/m)^(kn))^k
 *                  ^      ^           ^                   ^      k probes
 *
 *     blocked   | 512 bits | 512 bits | 512 bits | 512 bits | ...             |   p = mean over the blocks
 *                            ^ ^^   ^                            k probes in one block
 *
 * In short:
 *
 * 1. Classic: each formula is the first one above, solved for another variable.
 * 2. Few bits: the share of set bits varies, and the rate is convex in it. tamis__bits_fpr() adds the
 *    variance, so that a plan keeps its promise for few keys too.
 * 3. Blocked: some blocks get more keys than others, and they cost more than the empty ones save.
 *    tamis_blocked_fpr() sums over the Poisson distribution of keys per block.
 * 4. Counting: the same blocks, with 128 counters of 4 bits in the place of 512 bits.
 * 5. Schemes of other programs: their positions are uneven (tamis__uneven_fpr) or repeat (tamis__repeats_fpr,
 *    tamis__multiples_fpr), which raises the rate.
 *
 * What blocks of 512 bits cost, in bits per key (docs/MATH.md):
 *
 *     p       classic   blocked   k of blocked
 *     1e-2        9.6       9.9        6
 *     1e-4       19.2      22.0       12
 *     1e-6       28.8      38.8       16
 *     1e-9       43.1      80.1       22
 *
 * Numerical rule: never compute 1 - x for x near 1. Terms like (1 - 1/m)^(kn) are computed as exp(kn
 * log1p(-1/m)). At n = 1e12, 1 - 1/m differs from 1 by a few units in the last place, and only the second
 * form keeps its digits.
 *
 * The public functions are total: bad arguments give NaN or 0.
 */
#include <math.h>

#include "plan/plan_int.h"

#define LN2        0.693147180559945309417
#define BLOCK_BITS ((double)TAMIS__BLOCK_BITS)

/* Returns the share of m bits that are set after `throws` throws at random positions. */
static double fill_after(double throws, double m) {
    return -expm1(throws * log1p(-1.0 / m));
}

double tamis_bloom_fpr(double n, double m, double k) {
    if (!(n >= 0) || !(m >= 1) || !(k >= 1))
        return NAN;
    return m == 1 ? (n > 0 ? 1.0 : 0.0) : pow(fill_after(k * n, m), k);
}

static bool is_rate(double p) {
    return p > 0 && p < 1;
}

double tamis_bloom_bits(double n, double p) {
    if (!(n >= 0) || !is_rate(p))
        return NAN;
    return -n * log(p) / (LN2 * LN2);
}

double tamis_bloom_bits_for_probes(double n, double p, double k) {
    if (!(n > 0) || !is_rate(p) || !(k >= 1))
        return NAN;
    /* The formula is m = 1 / (1 - (1 - p^(1/k))^(1/(kn))). The denominator is computed with expm1. */
    const double log_zero = log1p(-pow(p, 1.0 / k));
    return -1.0 / expm1(log_zero / (k * n));
}

uint32_t tamis_bloom_probes(double n, double m) {
    if (!(n > 0) || !(m > 0))
        return 0;
    const double k = floor(m / n * LN2 + 0.5); /* Java's Math.round */
    return k >= 1 ? (k <= UINT32_MAX ? (uint32_t)k : UINT32_MAX) : 1;
}

double tamis_bloom_capacity(double m, double k, double p) {
    if (!(m > 1) || !(k >= 1) || !is_rate(p))
        return NAN;
    return log1p(-pow(p, 1.0 / k)) / (k * log1p(-1.0 / m));
}

double tamis_bloom_best_fpr(double n, double m) {
    if (!(n >= 0) || !(m > 0))
        return NAN;
    return exp(-m / n * (LN2 * LN2));
}

double tamis_bloom_best_capacity(double m, double p) {
    if (!(m > 0) || !is_rate(p))
        return NAN;
    return -m * (LN2 * LN2) / log(p);
}

uint32_t tamis_bloom_probes_for_fpr(double p) {
    if (!is_rate(p))
        return 0;
    return (uint32_t)fmax(1, floor(-log(p) / LN2 + 0.5)); /* at most 1074: the smallest double is 2^-1074 */
}

uint32_t tamis_bloom_fewest_probes(double n, double m, double p) {
    if (!is_rate(p))
        return 0;
    /* The rate falls with k up to m/n ln 2 and rises after that. So the first k that keeps p is the
     * smallest. */
    for (uint32_t k = 1; k <= TAMIS_PROBES_MAX; k++)
        if (tamis_bloom_fpr(n, m, k) <= p)
            return k;
    return 0;
}

double tamis_bloom_half_full_keys(double m, double k) {
    if (!(m > 0) || !(k >= 1))
        return NAN;
    return m / k * LN2;
}

double tamis_bloom_half_full_bits(double n, double k) {
    if (!(n >= 0) || !(k >= 1))
        return NAN;
    return n * k / LN2;
}

double tamis_bloom_over_capacity_fpr(double t, double k) {
    if (!(t >= 0) || !(k > 0))
        return NAN;
    return pow(-expm1(-t * LN2), k);
}

double tamis_bloom_cardinality(double ones, double m, double k) {
    if (!(ones >= 0) || !(m >= 1) || !(k >= 1))
        return NAN;
    if (ones >= m)
        return INFINITY;
    return -m / k * log1p(-ones / m);
}

/*
 * Returns E[X^k], where X is the share of b bits that are set after t throws. It is the chance that k probes
 * all find a set bit.
 *
 * The mean alone, mu^k with mu = E X, is too small if b is small: by a tenth at b = 512 and k = 20. So two
 * more terms of the expansion around mu are added:
 *
 *     E[X^k] = mu^k (1 + s + s^2/2),   s = k (k - 1) / 2 * variance / mu^2
 *
 * The last term takes X as normal and k as large. The remaining error in blocks is below half a per cent, on
 * the safe side.
 *
 * The variance is that of the occupancy problem. With a = 1 - 1/b and c = 1 - 2/b, the number of empty bits
 * has the variance b(b-1) c^t + b a^t - b^2 a^2t. It is computed as b^2 (c^t - a^2t) + b (a^t - c^t), with
 * c/a^2 = 1 - 1/(b-1)^2, so that nothing cancels at large b.
 */
typedef struct bit_logs {
    double b, log_a, log_c, spread; /* b, and the logarithms of a, c and c / a^2 */
} bit_logs;

static bit_logs bit_logs_of(double b) {
    return (bit_logs){
        .b = b, .log_a = log1p(-1 / b), .log_c = log1p(-2 / b), .spread = log1p(-1 / ((b - 1) * (b - 1)))};
}

static inline double bits_fpr(const bit_logs *l, double t, double k) {
    const double mean = -expm1(t * l->log_a);
    if (!(mean > 0) || l->b < 3)
        return t > 0 ? 1 : 0;
    if (k == 1)
        return mean; /* the formula below gives the same for any variance */
    double a = exp(t * l->log_a), c = exp(t * l->log_c);
    const double variance = a * a * expm1(t * l->spread) + (a - c) / l->b;
    const double spread = variance > 0 ? k * (k - 1) / 2 * variance / (mean * mean) : 0;
    return fmin(pow(mean, k) * (1 + spread + spread * spread / 2), 1);
}

double tamis__bits_fpr(double b, double t, double k) {
    bit_logs logs = bit_logs_of(b);
    return bits_fpr(&logs, t, k);
}

/*
 * A position is a value v mod m, where v is one of `values` equally likely numbers. With values = q m + r, r
 * positions have q + 1 values each, and m - r positions have q:
 *
 *     position   0 .. r-1        r .. m-1
 *     values     q + 1 each      q each
 *
 * A position with more values is set more often and also probed more often. The mean over the values gives
 * the chance that a probe finds its bit set. The rate for even positions, which tamis__bits_fpr() gives for
 * few bits too, is multiplied by (this chance / the chance for even positions)^k.
 */
double tamis__uneven_fpr(double values, double m, double t, double k) {
    double even = tamis__bits_fpr(m, t, k), q = floor(values / m), r = values - q * m;
    if (!(t > 0))
        return even;
    double often = (q + 1) / values, seldom = q / values;
    const double set = r * often * -expm1(t * log1p(-often)) + (m - r) * seldom * -expm1(t * log1p(-seldom));
    return fmin(even * pow(set / fill_after(t, m), k), 1);
}

/* Constants measured by ./dev bench repeats. docs/MATH.md, "Positions that repeat", explains the formula. */
#define REPEATS_SHARE 1.6 /* factor of the sum over keys with few positions */
#define REPEATS_CROWD 0.5 /* adds present keys with the same few positions, if bits are few */

static double odd_part(double m) {
    const uint64_t bits = (uint64_t)m;
    return bits ? (double)(bits >> __builtin_ctzll(bits)) : 1;
}

double tamis__repeats_fpr(double fill, double m, double k, uint32_t positions) {
    if (!(fill > 0) || !(fill < 1) || !(k > 1) || !(m >= 1))
        return 0;
    double all_set = pow(fill, k), once = 1 - 1 / k, empty = 1 - fill;
    double sum = REPEATS_SHARE / positions * once * once * (1 + REPEATS_CROWD * k * k / m) * fill *
                 (1 + fill) / (empty * empty * k);
    /* Let u be the odd part of m and d a power of two. A step that is a multiple of m / (u d) visits at
     * most u d positions, even when the sum wraps at 2^63 or 2^64. */
    double odd = odd_part(m), steps = 1;
    for (double order = odd * positions; order < k; order *= 2) {
        sum += odd * steps * (pow(fill, order) - all_set);
        steps = order / (odd * positions);
    }
    return fmin(sum / m, 1 - all_set);
}

/* Constants measured in the same way: the share of keys with equal steps that visit the same multiples of
 * the step. It is min(0.2, 9 / J^2) for J multiples. */
#define MULTIPLES_SHARE 0.2
#define MULTIPLES_FALL  9.0 /* divided by J^2; applies where it is below MULTIPLES_SHARE */

double tamis__multiples_fpr(double fill, double k) {
    double multiples = floor(k / 2), keys_per_bit = -log1p(-fill) / k;
    if (!(fill > 0) || !(fill < 1) || multiples < 2)
        return 0;
    const double share = fmin(MULTIPLES_SHARE, MULTIPLES_FALL / (multiples * multiples));
    return keys_per_bit * share * pow(fill, k - multiples);
}

/* ---- blocked and counting ---- */

/*
 * A block has `positions` that a probe can select: 512 bits in kind blocked, 128 counters in kind counting.
 * Both take 512 bits of memory.
 *
 * The rate of blocks with k probes as a function of their average load, the number of keys in a block.
 *
 *     rate(load) = sum over i of Poisson(i; load) * rate of a block that holds i keys
 *
 * A block's own rate takes five transcendental functions and does not depend on the average. So it is
 * computed once for each i and cached here: a search for a load evaluates rate(load) many times. This cache,
 * the early end of the sum and the secant search below cut a plan from 1500-3600 to 16-45 microseconds
 * (docs/PERFORMANCE.md, "Tried").
 */
enum { BLOCK_RATES = 1024 }; /* covers loads up to 512 and their random spread */
typedef struct blocked_curve {
    bit_logs logs;
    double k;
    double rates[BLOCK_RATES]; /* rate of a block with i keys; 0: not computed yet */
} blocked_curve;

static void curve_init(blocked_curve *curve, uint32_t positions, double k) {
    *curve = (blocked_curve){.logs = bit_logs_of(positions), .k = k};
}

static double block_rate(blocked_curve *curve, double keys) {
    if (keys >= BLOCK_RATES)
        return bits_fpr(&curve->logs, keys * curve->k, curve->k);
    double *rate = &curve->rates[(size_t)keys];
    if (*rate == 0)
        *rate = bits_fpr(&curve->logs, keys * curve->k, curve->k);
    return *rate;
}

/* Returns the rate at an average of `load` keys per block: the sum over the Poisson distribution. Terms
 * further than 12 standard deviations from the mean are left out. */
static double blocked_fpr_at(blocked_curve *curve, double load) {
    if (load > 128 * curve->logs.b)
        return 1; /* every bit is set */
    double reach = 12 * sqrt(load) + 40, p = 0;
    const double first = floor(load - reach > 0 ? load - reach : 0);
    int sign; /* lgamma() would write to a global variable: a data race */
    double weight = exp(first * log(load) - load - lgamma_r(first + 1, &sign));
    for (double i = first; i <= load + reach; i++) {
        /* A rate is at most 1, and the weights fall from here on. So no further term changes p. */
        if (i > load && weight < p * 0x1p-54)
            break;
        p += weight * block_rate(curve, i);
        weight *= load / (i + 1);
    }
    return p;
}

static double block_fpr(uint32_t positions, double n, double m, double k) {
    if (!(n >= 0) || !(m >= 1) || !(k >= 1))
        return NAN;
    if (n == 0)
        return 0;
    blocked_curve curve;
    curve_init(&curve, positions, k);
    return blocked_fpr_at(&curve, n * BLOCK_BITS / m);
}

double tamis_blocked_fpr(double n, double m, double k) {
    return block_fpr(TAMIS__BLOCK_BITS, n, m, k);
}

double tamis_counting_fpr(double n, double m, double k) {
    return block_fpr(TAMIS__BLOCK_COUNTERS, n, m, k);
}

/* The loads that are searched: 512 bits for each key, to a key for each position. */
#define LOAD_MIN        1.0
#define LOAD_MAX(curve) ((curve)->logs.b)

/* What is known about a rate p: loads up to `keeps` keep it, and loads from `fails` on exceed it. The rate
 * rises with the load except in its last bits, so a rate within SURE of p counts as unknown. */
typedef struct load_range {
    double keeps, fails;
} load_range;

#define SURE 1e-12

/* Computes the rate at `load` and narrows the known range with it. */
static double try_load(blocked_curve *curve, load_range *known, double load, double p) {
    const double rate = blocked_fpr_at(curve, load);
    if (rate <= p * (1 - SURE))
        known->keeps = fmax(known->keeps, load);
    else if (rate >= p * (1 + SURE))
        known->fails = fmin(known->fails, load);
    return rate;
}

/* Finds the load with rate p by the secant method, which is fast because log(rate) is nearly linear in
 * log(load). Returns the range that is then known. */
static load_range find_range(blocked_curve *curve, double p) {
    const double k = curve->k, near = 1e-8;
    load_range known = {0, INFINITY};
    /* The first guess is the load of a filter whose blocks all have the same load. */
    double load = -curve->logs.b / k * log1p(-pow(p, 1 / k)), slope = k;
    double last_load = 0, last_rate = 0, step = 1;
    for (int i = 0; i < 12 && fabs(step) > near; i++) {
        load = fmin(fmax(load, LOAD_MIN), LOAD_MAX(curve));
        if (load == last_load)
            break;
        const double rate = try_load(curve, &known, load, p);
        if (!(rate > 0))
            break;
        if (last_load > 0)
            slope = log(rate / last_rate) / log(load / last_load);
        last_load = load;
        last_rate = rate;
        step = log(p / rate) / slope;
        load *= exp(fmin(fmax(step, -1), 1));
    }
    try_load(curve, &known, load * (1 - 2 * near), p);
    try_load(curve, &known, load * (1 + 2 * near), p);
    return known;
}

static bool keeps_rate(blocked_curve *curve, const load_range *known, double load, double p) {
    if (load <= known->keeps || load >= known->fails)
        return load <= known->keeps;
    return blocked_fpr_at(curve, load) <= p;
}

/*
 * Returns the largest average load at which k probes keep p, or 0 if even the smallest load exceeds p. The
 * result is that of a plain bisection, bit for bit, so that the faster search never changes a plan. The range
 * found before answers most comparisons of the bisection without computing a rate.
 */
static double blocked_load(uint32_t positions, double p, double k) {
    blocked_curve curve;
    curve_init(&curve, positions, k);
    double low = LOAD_MIN, high = LOAD_MAX(&curve);
    if (blocked_fpr_at(&curve, low) > p)
        return 0;
    const load_range known = find_range(&curve, p);
    for (int step = 0; step < 40 && high - low > 1e-6 * low; step++) {
        const double middle = (low + high) / 2;
        if (keeps_rate(&curve, &known, middle, p))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Estimates the best number of probes: log2(1/p), reduced because blocks are filled unevenly. */
static uint32_t probes_near(double p) {
    const double log = fmin(-log2(p), 50);
    return (uint32_t)fmin(fmax(floor(log * (1 - 0.008 * log) + 0.5), 1), TAMIS__BLOCKED_PROBES_MAX);
}

/* Returns the load for k probes if it can reach `best`, else 0. For most k a single rate rules that out. */
static double load_from(uint32_t positions, double p, double k, double best) {
    blocked_curve curve;
    curve_init(&curve, positions, k);
    return blocked_fpr_at(&curve, best) > p * (1 + SURE) ? 0 : blocked_load(positions, p, k);
}

/* Returns the largest load over all k and stores that k. The load has one maximum: with fewer probes the
 * rate is too coarse, with more the block fills up. The smaller of two equal k wins. */
static double best_load(uint32_t positions, double p, uint32_t *k) {
    uint32_t best_probes = probes_near(p);
    double best = blocked_load(positions, p, best_probes), load = 0;
    /* Near the smallest rates only some k reach p at all. */
    for (uint32_t first = 1; best <= 0 && first <= TAMIS__BLOCKED_PROBES_MAX; first++)
        best = blocked_load(positions, p, best_probes = first);
    if (best <= 0)
        return 0;
    while (best_probes < TAMIS__BLOCKED_PROBES_MAX &&
           (load = load_from(positions, p, best_probes + 1, best)) > best) {
        best = load;
        best_probes++;
    }
    while (best_probes > 1 && (load = load_from(positions, p, best_probes - 1, best)) >= best) {
        best = load;
        best_probes--;
    }
    *k = best_probes;
    return best;
}

double tamis__blocked_load(uint32_t positions, double p, uint32_t *k) {
    return *k ? blocked_load(positions, p, *k) : best_load(positions, p, k);
}

bool tamis__blocked_size(uint32_t positions, double n, double p, double *m, uint32_t *k) {
    const double load = tamis__blocked_load(positions, p, k);
    if (load <= 0)
        return false;
    *m = ceil(n / load) * BLOCK_BITS;
    return true;
}

double tamis__blocked_best_fpr(uint32_t positions, double n, double m, uint32_t *k) {
    if (*k)
        return block_fpr(positions, n, m, *k);
    double best = INFINITY;
    for (uint32_t probes = 1; probes <= TAMIS__BLOCKED_PROBES_MAX; probes++) {
        const double rate = block_fpr(positions, n, m, probes);
        if (rate >= best)
            break; /* the rate has one minimum */
        best = rate;
        *k = probes;
    }
    return best;
}
