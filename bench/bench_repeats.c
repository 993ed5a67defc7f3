/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Positions of other programs are progressions modulo m, which may repeat. Measures how much that raises
 * the rate of small filters: the constants REPEATS_* in src/plan/bloom_math.c (docs/MATH.md, "Positions
 * that repeat"). Many filters with random keys are filled and queried. `extra` is the measured rate minus
 * that of independent positions, times k m.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tamis/tamis.h>

enum { BATCH = 1024, ADDED = 1000000 };
#define QUERIED 5e6

static uint64_t keys_made; /* number of the next key: all keys differ */

static void die(const tamis_error *err) {
    fprintf(stderr, "bench_repeats: %s\n", err->text);
    exit(2);
}

/* Adds or looks up `count` new keys. Returns the number answered TAMIS_PRESENT. */
static uint64_t run(tamis_filter *filter, uint64_t count, bool add) {
    static uint64_t numbers[BATCH];
    static tamis_key keys[BATCH];
    static tamis_answer answers[BATCH];
    tamis_error err = TAMIS_ERROR_INIT;
    uint64_t present = 0;
    for (uint64_t done = 0, batch; done < count; done += batch) {
        batch = count - done < BATCH ? count - done : BATCH;
        for (size_t i = 0; i < batch; i++) {
            numbers[i] = keys_made++;
            keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
        }
        tamis_status status = add ? tamis_filter_add_many(filter, keys, batch, answers, NULL, &err)
                                  : tamis_filter_contains_many(filter, keys, batch, answers, NULL, &err);
        if (status != TAMIS_OK)
            die(&err);
        for (size_t i = 0; i < batch; i++)
            present += answers[i] == TAMIS_PRESENT;
    }
    return present;
}

static void measure(tamis_scheme scheme, uint64_t n, double p) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter;
    plan_options.kind = TAMIS_KIND_CLASSIC;
    plan_options.scheme = scheme;
    plan_options.expect = n;
    plan_options.fpr = p;
    options.allow_over_capacity = true; /* false positives do not matter here */
    if (tamis_plan_make(&plan, &plan_options, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, &options, &err) != TAMIS_OK)
        die(&err);
    uint64_t filters = n < ADDED / 1000 ? 1000 : ADDED / n, each = (uint64_t)(QUERIED / (double)filters),
             present = 0;
    for (uint64_t i = 0; i < filters; i++) {
        tamis_filter_clear(filter, NULL);
        run(filter, n, true);
        present += run(filter, each, false);
    }
    double m = (double)plan.bits, k = plan.probes, rate = (double)present / ((double)filters * (double)each);
    double extra = (rate - tamis_bloom_fpr((double)n, m, k)) * k * m;
    printf("%-10s%6" PRIu64 "%8.0e%8.0f%5.0f%10.2e%11.2e%8.2f%8.1f\n", tamis_scheme_name(scheme), n, p, m, k,
           rate, plan.fpr_predicted, plan.fpr_predicted / rate, extra);
    fflush(stdout);
    tamis_filter_free(filter);
}

int main(void) {
    static const tamis_scheme schemes[] = {TAMIS_SCHEME_GUAVA64, TAMIS_SCHEME_REDISBLOOM,
                                           TAMIS_SCHEME_GUAVA32, TAMIS_SCHEME_REDISSON};
    static const uint64_t sizes[] = {10, 13, 30, 100, 300, 1000};
    static const double rates[] = {1e-2, 1e-3, 1e-4, 1e-6, 1e-9};
    printf("%-10s%6s%8s%8s%5s%10s%11s%8s%8s\n", "scheme", "keys", "asked", "m", "k", "measured", "predicted",
           "ratio", "extra");
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            for (size_t l = 0; l < sizeof rates / sizeof *rates; l++)
                measure(schemes[i], sizes[j], rates[l]);
    return 0;
}
