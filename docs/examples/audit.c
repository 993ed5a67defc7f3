/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A filter of the right size for the lines of a file, and whether it keeps its promise:
 * cc audit.c $(pkg-config --cflags --libs tamis)
 *
 *     audit FILE
 *
 * Counts the distinct lines with a sketch of 64 KiB, makes a filter for them with a rate of 0.1 %, and
 * measures it. Exits with 1 if a line is missing, or if the rate is above the promise beyond chance.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <tamis/experimental/audit.h>
#include <tamis/experimental/census.h>
#include <tamis/tamis.h>

enum { BATCH = 256, LINE = 4096 };

static char lines[BATCH][LINE];
static tamis_key keys[BATCH];

static void need(tamis_status status, const tamis_error *err) {
    if (status == TAMIS_OK)
        return;
    fprintf(stderr, "audit: %s\n", err->text);
    exit(2);
}

/* Reads the next lines. Returns their number, 0 at the end. */
static size_t read_keys(FILE *file) {
    size_t count = 0;

    while (count < BATCH && fgets(lines[count], LINE, file) != NULL) {
        size_t size = 0;
        while (lines[count][size] != '\0' && lines[count][size] != '\n')
            size++;
        keys[count] = (tamis_key){lines[count], size};
        count++;
    }
    return count;
}

/* Counts the keys: the filter becomes some 2 % too large, and hardly ever too small. */
static uint64_t count_keys(FILE *file) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_cardinality *sketch = NULL;
    uint64_t bound;
    size_t count;

    need(tamis_cardinality_create(&sketch, NULL, &err), &err);
    while ((count = read_keys(file)) > 0)
        tamis_cardinality_add_many(sketch, keys, count);
    printf("about %.0f distinct lines\n", tamis_cardinality_estimate(sketch));
    bound = tamis_cardinality_upper_bound(sketch);
    tamis_cardinality_free(sketch);
    return bound;
}

/* Looks up the keys, which must be there, and random keys that look like them, which were never added. */
static tamis_audit_result measure(const tamis_filter *filter, FILE *file) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_audit_result result = TAMIS_AUDIT_RESULT_INIT;
    tamis_answer answers[BATCH];
    tamis_audit *audit = NULL;
    uint64_t queries = tamis_audit_queries(plan, plan->fpr);
    size_t count;

    need(tamis_audit_create(&audit, filter, NULL, &err), &err);
    while ((count = read_keys(file)) > 0)
        need(tamis_audit_check_keys(audit, keys, count, answers, &err), &err);
    for (; result.queries < queries; tamis_audit_result_get(audit, &result))
        need(tamis_audit_query_random(audit, queries - result.queries, &err), &err);
    tamis_audit_free(audit);
    return result;
}

int main(int argc, char **argv) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    tamis_audit_result result;
    double low, high, limit;
    size_t count;
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;

    if (file == NULL) {
        fprintf(stderr, "audit: give a FILE that can be read\n");
        return 2;
    }
    plan_options.expect = count_keys(file);
    plan_options.fpr = 1e-3;
    need(tamis_plan_make(&plan, &plan_options, &err), &err);
    need(tamis_filter_create(&filter, &plan, NULL, &err), &err);
    rewind(file);
    while ((count = read_keys(file)) > 0)
        need(tamis_filter_add_many(filter, keys, count, NULL, NULL, &err), &err);
    rewind(file);
    result = measure(filter, file);
    tamis_rate_interval(&low, &high, result.hits, result.queries, 0.99);
    limit = tamis_audit_max_rate(&plan, plan.fpr, (double)result.distinct);
    printf("%" PRIu64 " of %" PRIu64 " lines missing\n", result.missing, result.keys);
    printf("rate %.2g to %.2g, promised %.2g\n", low, high, plan.fpr);
    tamis_filter_free(filter);
    fclose(file);
    return result.missing > 0 ||
           tamis_rate_p_value(result.hits, result.queries, limit) < TAMIS_RATE_SIGNIFICANCE;
}
