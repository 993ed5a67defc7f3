/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The mathematics of Bloom filters, classic and blocked. docs/MATH.md derives each formula under these
 * names: n keys, m bits, k probes, rate p. Terms like (1 - 1/m)^(kn) are computed as exp(kn log1p(-1/m)),
 * which keeps its digits at n = 1e12, where 1 - 1/m is within a few units of 1.
 */
#include <math.h>

#include "plan/plan_int.h"

#define LN2                      0.693147180559945309417
#define BLOCK_BITS               512.0
#define BLOCKED_PROBES_MAX       32
#define BLOCKED_BITS_PER_KEY_MAX 512.0

/* Share of m bits that are set after `throws` throws at random positions. */
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
    /* 1 - (1 - p^(1/k))^(1/(kn)) is the share of one bit in m */
    double log_zero = log1p(-pow(p, 1.0 / k));
    return -1.0 / expm1(log_zero / (k * n));
}

uint32_t tamis_bloom_probes(double n, double m) {
    if (!(n > 0) || !(m > 0))
        return 0;
    double k = floor(m / n * LN2 + 0.5); /* Java's Math.round */
    return k >= 1 ? (k <= UINT32_MAX ? (uint32_t)k : UINT32_MAX) : 1;
}

double tamis_bloom_capacity(double m, double k, double p) {
    if (!(m > 1) || !(k >= 1) || !is_rate(p))
        return NAN;
    return log1p(-pow(p, 1.0 / k)) / (k * log1p(-1.0 / m));
}

double tamis_bloom_cardinality(double ones, double m, double k) {
    if (!(ones >= 0) || !(m >= 1) || !(k >= 1))
        return NAN;
    if (ones >= m)
        return INFINITY;
    return -m / k * log1p(-ones / m);
}

/*
 * Rate of b bits after t throws, for k probes: E[X^k], X the share of set bits. (E X)^k alone is too small where
 * b is small, by a tenth at b = 512 and k = 20, so the second term of the expansion around E X is added. With
 * a = 1 - 1/b and c = 1 - 2/b, the variance of the number of empty bits is b(b-1)c^t + b a^t - b^2 a^2t
 * (occupancy); it is computed as b^2 (c^t - a^2t) + b (a^t - c^t), where c/a^2 = 1 - 1/(b-1)^2, so that nothing
 * cancels at large b.
 */
double tamis__bits_fpr(double b, double t, double k) {
    double a = exp(t * log1p(-1 / b)), mean = fill_after(t, b);
    if (!(mean > 0) || b < 3)
        return t > 0 ? 1 : 0;
    double c = exp(t * log1p(-2 / b));
    double variance = a * a * expm1(t * log1p(-1 / ((b - 1) * (b - 1)))) + (a - c) / b;
    double spread = variance > 0 ? k * (k - 1) / 2 * variance / (mean * mean) : 0;
    return fmin(pow(mean, k) * (1 + spread), 1);
}

/* Sum over the Poisson distributed load i of a block with `load` keys on average. */
static double blocked_fpr_at(double load, double k) {
    double reach = 12 * sqrt(load) + 40, p = 0;
    double first = floor(load - reach > 0 ? load - reach : 0);
    int sign; /* lgamma() would write to a global variable: many threads may ask at once */
    double weight = exp(first * log(load) - load - lgamma_r(first + 1, &sign));
    for (double i = first; i <= load + reach; i++) {
        p += weight * tamis__bits_fpr(BLOCK_BITS, i * k, k);
        weight *= load / (i + 1);
    }
    return p;
}

double tamis_blocked_fpr(double n, double m, double k) {
    if (!(n >= 0) || !(m >= 1) || !(k >= 1))
        return NAN;
    return n > 0 ? blocked_fpr_at(n * BLOCK_BITS / m, k) : 0;
}

/* The largest average load of a block at which k probes keep p; 0 where even the least load does not. */
static double blocked_load(double p, double k) {
    double low = BLOCK_BITS / BLOCKED_BITS_PER_KEY_MAX, high = BLOCK_BITS;
    if (blocked_fpr_at(low, k) > p)
        return 0;
    for (int step = 0; step < 40 && high - low > 1e-6 * low; step++) {
        double middle = (low + high) / 2;
        if (blocked_fpr_at(middle, k) <= p)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool tamis__blocked_size(double n, double p, double *m, uint32_t *k) {
    double best = 0;
    for (uint32_t probes = 1; probes <= BLOCKED_PROBES_MAX; probes++) {
        double load = blocked_load(p, probes);
        if (load > best) {
            best = load;
            *k = probes;
        } else if (best > 0 && load < best) {
            break; /* one maximum: fewer probes are too coarse, more fill the block */
        }
    }
    if (best <= 0)
        return false;
    *m = ceil(n / best) * BLOCK_BITS;
    return true;
}
