/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a measurement says about a false-positive rate. x of n lookups of absent keys are hits. If the
 * rate is p, the number of hits X is binomial. Two questions follow (docs/MATH.md, "Measured rates").
 *
 * Which rates fit the measurement? Clopper and Pearson's interval solves, if x > 0,
 *
 *     P(X >= x | low) = P(X <= x | high) = (1 - confidence) / 2
 *
 *     0 ---- low ======= x/n ======= high ---- 1
 *
 * The tails are monotonic in p, so bisection between x/n and 0 or 1 finds both ends. A tail begins with its
 * largest term, P(X = x). Each further term is the term before it times a simple ratio. The sum ends when a
 * term no longer changes it, and only P(X = x) needs logarithms.
 *
 * If x = 0, `low` is 0 whatever n is, so the whole error is left for `high`, which becomes one-sided:
 *
 *     P(X = 0 | high) = (1 - high)^n = 1 - confidence        high is about 3/n for a confidence of 0.95
 *
 * Is the rate above p? Chernoff's bound is a closed formula, and never smaller than the chance of so many
 * hits:
 *
 *     P(X >= x | p) <= exp(-(x ln(x / np) + (n - x) ln((n - x) / (n - np))))
 *
 * Why not the normal approximation: at a rate of 1e-9 a measurement has few hits or none, and the
 * approximation needs tens of them.
 */
#include <math.h>
#include <stdbool.h>

#include <tamis/plan.h>

/* Returns the logarithm of the chance of exactly x hits among n lookups at rate p. */
static double log_chance(double x, double n, double p) {
    int sign; /* lgamma() would write to a global variable: a data race */
    const double choices = lgamma_r(n + 1, &sign) - lgamma_r(x + 1, &sign) - lgamma_r(n - x + 1, &sign);
    return choices + x * log(p) + (n - x) * log1p(-p);
}

/* Returns the chance of x hits or fewer, for p above x/n, or of x hits or more, for p below x/n. */
static double tail(double x, double n, double p, bool fewer) {
    double term = 1, sum = 0, odds = p / (1 - p);
    for (double i = x; term > 1e-16 * sum; i += fewer ? -1 : 1) {
        sum += term;
        term *= fewer ? i / ((n - i + 1) * odds) : (n - i) * odds / (i + 1);
    }
    return sum * exp(log_chance(x, n, p));
}

/* Returns the rate between x/n and `bound` at which the tail has that chance. */
static double solve(double x, double n, double bound, bool fewer, double chance) {
    double near = x / n, far = bound;
    for (int step = 0; step < 200 && fabs(far - near) > 1e-12 * near; step++) {
        const double middle = (near + far) / 2;
        if (tail(x, n, middle, fewer) > chance)
            near = middle;
        else
            far = middle;
    }
    return near;
}

void tamis_rate_interval(double *low, double *high, uint64_t hits, uint64_t queries, double confidence) {
    double x = (double)hits, n = (double)queries, chance = (1 - confidence) / 2;
    if (hits > queries || !(confidence > 0 && confidence < 1)) {
        *low = *high = NAN;
    } else if (queries == 0) {
        *low = 0;
        *high = 1;
    } else if (hits == 0) {
        *low = 0;
        *high = -expm1(log(1 - confidence) / n);
    } else {
        *low = solve(x, n, 0, false, chance);
        *high = hits == queries ? 1 : solve(x, n, 1, true, chance);
    }
}

double tamis_rate_p_value(uint64_t hits, uint64_t queries, double rate) {
    double x = (double)hits, n = (double)queries;
    if (hits > queries || !(rate >= 0))
        return NAN;
    if (!(x > n * rate))
        return 1;
    double distance = x * log(x / (n * rate));
    if (hits < queries)
        distance += (n - x) * log((n - x) / (n - n * rate));
    return exp(-distance);
}
