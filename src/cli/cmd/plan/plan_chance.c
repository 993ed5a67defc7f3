/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trial of n lookups has x hits. If the rate is p, the number of hits X is binomial. Two questions follow
 * (docs/MATH.md, "Measured rates").
 *
 * Which rates fit the trial? Clopper and Pearson's interval solves
 *
 *     P(X >= x | low) = P(X <= x | high) = (1 - confidence) / 2
 *
 *     0 ---- low ======= x/n ======= high ---- 1
 *
 * The tails are monotonic in p, so bisection between x/n and 0 or 1 finds both ends. A tail begins with its
 * largest term, P(X = x). Each further term is the term before it times a simple ratio. The sum ends when a
 * term no longer changes it, and only P(X = x) needs logarithms.
 *
 * Is the rate above p? Chernoff's bound is a closed formula, and never smaller than the chance of so many
 * hits:
 *
 *     P(X >= x | p) <= exp(-(x ln(x / np) + (n - x) ln((n - x) / (n - np))))
 */
#include "cli/cmd/plan/plan_chance.h"

#include <math.h>

#define LOG_CHANCE 20.723265836946411 /* -ln 1e-9 */

/* Logarithm of the chance of exactly x hits among n lookups at rate p. */
static double log_chance(double x, double n, double p) {
    return lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) + x * log(p) + (n - x) * log1p(-p);
}

/* Chance of x hits or fewer, for p above x/n, or of x hits or more, for p below x/n. */
static double tail(double x, double n, double p, bool fewer) {
    double term = 1, sum = 0, odds = p / (1 - p);

    for (double i = x; term > 1e-16 * sum; i += fewer ? -1 : 1) {
        sum += term;
        term *= fewer ? i / ((n - i + 1) * odds) : (n - i) * odds / (i + 1);
    }
    return sum * exp(log_chance(x, n, p));
}

/* The rate between x/n and `bound` at which the tail has that chance. */
static double solve(double x, double n, double bound, bool fewer, double chance) {
    double near = x / n, far = bound;

    for (int step = 0; step < 200 && fabs(far - near) > 1e-12 * near; step++) {
        double middle = (near + far) / 2;
        if (tail(x, n, middle, fewer) > chance)
            near = middle;
        else
            far = middle;
    }
    return near;
}

void plan_chance_interval(uint64_t hits, uint64_t trials, double confidence, double *low, double *high) {
    double x = (double)hits, n = (double)trials, chance = (1 - confidence) / 2;

    if (hits == 0) {
        *low = 0;
        *high = -expm1(log(1 - confidence) / n);
        return;
    }
    *low = solve(x, n, 0, false, chance);
    *high = hits == trials ? 1 : solve(x, n, 1, true, chance);
}

bool plan_chance_exceeds(uint64_t hits, uint64_t trials, double rate) {
    double x = (double)hits, n = (double)trials, distance;

    if (!(x > n * rate))
        return false;
    distance = x * log(x / (n * rate));
    if (hits < trials)
        distance += (n - x) * log((n - x) / (n - n * rate));
    return distance > LOG_CHANCE;
}
