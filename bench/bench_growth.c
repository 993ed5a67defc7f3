/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Memory and rate of fingerprint tables, from tamis_filter_info; the property tests compare these numbers
 * with counted false positives. First tables made for n keys, then growing ones at each doubling from 2^20
 * to 2^24.
 *
 *   bits/key   bits of memory a key now
 *   worst      max. bits a key at any number of keys above 2^20, including the copy during growth
 *   rate       share of all hashes that the entries cover: the false-positive rate of a lookup
 *
 * Before that, the cost of a filter without keys: microseconds for a plan (largest at rates for which
 * blocked filters are considered) and for an empty growing filter, and the blocks and bytes that it
 * allocates.
 *
 * With a number of keys as its argument it measures the steps of growth instead: a filter of rate 1e-9
 * without a size hint gets so many keys. Prints, at each doubling, milliseconds of processor time of the
 * batches of 64 keys in which a partition grew.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tamis/tamis.h>

enum { BATCH = 1024, FEW = 64, STEPS = 1 << 16 };

static uint64_t added; /* number of the next key: all keys differ */

static tamis_filter *make(tamis_kind kind, double p, uint64_t expect) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_options.kind = kind;
    plan_options.fpr = p;
    plan_options.expect = expect;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter;
    if (tamis_plan_make(&plan, &plan_options, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, NULL, &err) != TAMIS_OK) {
        fprintf(stderr, "bench_growth: %s\n", err.text);
        exit(2);
    }
    return filter;
}

/* Adds keys until the filter has `count`. *worst: max. bits a key above 2^20 keys. */
static void fill_filter(tamis_filter *filter, uint64_t *held, uint64_t count, double *worst) {
    uint64_t numbers[BATCH];
    tamis_key keys[BATCH];
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    while (*held < count) {
        size_t batch = count - *held < BATCH ? (size_t)(count - *held) : BATCH;
        for (size_t i = 0; i < batch; i++) {
            numbers[i] = added++;
            keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
        }
        tamis_error err = TAMIS_ERROR_INIT;
        if (tamis_filter_add_many(filter, keys, batch, NULL, NULL, &err) != TAMIS_OK) {
            fprintf(stderr, "bench_growth: %s\n", err.text);
            exit(2);
        }
        *held += batch;
        tamis_filter_info_get(filter, &info, NULL);
        double bits = 8.0 * (double)info.memory_peak / (double)*held;
        if (*held > 1u << 20 && bits > *worst)
            *worst = bits;
    }
}

static void print_row(const char *name, double p, uint64_t held, const tamis_filter *filter, double worst) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_filter_info_get(filter, &info, NULL);
    printf("%-22s%9.0e%11" PRIu64 "%10.2f%9.2f%12.2e\n", name, p, held,
           8.0 * (double)info.memory / (double)held, worst, info.fpr_live);
    fflush(stdout);
}

static void fixed(tamis_kind kind, double p) {
    const uint64_t keys = 4000000;
    tamis_filter *filter = make(kind, p, keys);
    uint64_t held = 0;
    double worst = 0;
    fill_filter(filter, &held, keys, &worst);
    /* The table has its size from the start, so only the last number is meaningful. */
    worst = 8.0 * (double)tamis_filter_plan(filter)->memory / (double)keys;
    print_row(tamis_kind_name(kind), p, held, filter, worst);
    tamis_filter_free(filter);
}

static void growing(tamis_kind kind, double p) {
    tamis_filter *filter = make(kind, p, 0);
    uint64_t held = 0;
    double worst = 0;
    char name[32];
    snprintf(name, sizeof name, "%s, growing", tamis_kind_name(kind));
    for (int log2 = 20; log2 <= 24; log2++) {
        fill_filter(filter, &held, UINT64_C(1) << log2, &worst);
        print_row(name, p, held, filter, worst);
    }
    tamis_filter_free(filter);
}

/* ---- what an empty filter costs ---- */

static double microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

typedef struct allocated {
    size_t blocks, bytes;
} allocated;

static void *allocate(void *context, size_t size, size_t align) {
    allocated *sum = context;
    void *block = aligned_alloc(align, (size + align - 1) / align * align);
    sum->blocks++;
    sum->bytes += size;
    return block ? memset(block, 0, size) : NULL;
}

static void release(void *context, void *block, size_t size) {
    (void)context;
    (void)size;
    free(block);
}

/* The minimum of several runs, in microseconds. */
static double plan_time(double p, uint64_t expect) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    plan_options.fpr = p;
    plan_options.expect = expect;
    double min = 1e9;
    for (int i = 0; i < 20; i++) {
        const double start = microseconds();
        tamis_plan_make(&plan, &plan_options, NULL);
        const double elapsed = microseconds() - start;
        min = elapsed < min ? elapsed : min;
    }
    return min;
}

static void print_empty(void) {
    static const double rates[] = {0.5, 0.3, 0.1, 1e-2, 1e-3, 1e-6, 1e-9, 1e-20};
    allocated sum = {0, 0};
    const tamis_allocator counting = {allocate, release, &sum};
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    double min = 1e9;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        printf("a plan for 10^7 keys at %g: %.1f us\n", rates[i], plan_time(rates[i], 10000000));
    for (int i = 0; i < 20; i++) {
        tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
        tamis_plan plan = TAMIS_PLAN_INIT;
        tamis_filter *filter = NULL;
        sum = (allocated){0, 0};
        options.allocator = i ? NULL : &counting;
        const double start = microseconds();
        tamis_plan_make(&plan, &plan_options, NULL);
        tamis_filter_create(&filter, &plan, &options, NULL);
        const double elapsed = microseconds() - start;
        min = elapsed < min ? elapsed : min;
        tamis_filter_free(filter);
        if (i == 0)
            printf("an empty filter that grows: %zu blocks, %zu bytes", sum.blocks, sum.bytes);
    }
    printf(", %.1f us with its plan\n\n", min);
}

/* ---- steps of growth ---- */

static double steps[STEPS]; /* seconds */

/* A batch in which a partition grew takes far longer than others, except in the smallest tables. */
static const double grown = 1e-4;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int by_size(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void print_steps(uint64_t held, size_t count) {
    qsort(steps, count, sizeof *steps, by_size);
    if (count)
        printf("%14" PRIu64 "%9zu%9.2f%9.2f%9.2f\n", held, count, 1e3 * steps[count / 2],
               1e3 * steps[count * 99 / 100], 1e3 * steps[count - 1]);
    fflush(stdout);
}

static void time_steps(uint64_t max) {
    tamis_filter *filter = make(TAMIS_KIND_FINGERPRINT, 1e-9, 0);
    uint64_t numbers[FEW];
    tamis_key keys[FEW];
    size_t count = 0;
    printf("%14s%9s%9s%9s%9s\n", "keys", "steps", "median", "99 %", "longest");
    for (uint64_t held = 0, next = 1u << 22; held < max; held += FEW) {
        tamis_error err = TAMIS_ERROR_INIT;
        for (size_t i = 0; i < FEW; i++) {
            numbers[i] = added++;
            keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
        }
        const double start = seconds();
        if (tamis_filter_add_many(filter, keys, FEW, NULL, NULL, &err) != TAMIS_OK) {
            fprintf(stderr, "bench_growth: %s\n", err.text);
            exit(2);
        }
        const double elapsed = seconds() - start;
        if (elapsed > grown && count < STEPS)
            steps[count++] = elapsed;
        if (held + FEW >= next || held + FEW >= max) {
            print_steps(held + FEW, count);
            count = 0;
            next *= 2;
        }
    }
    tamis_filter_free(filter);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        const double keys = strtod(argv[1], NULL);
        if (!(keys >= 1 && keys <= 1e11)) {
            fprintf(stderr, "bench_growth: %s: expected a number of keys from 1 to 1e11\n", argv[1]);
            return 2;
        }
        time_steps((uint64_t)keys);
        return 0;
    }
    print_empty();
    printf("%-22s%9s%11s%10s%9s%12s\n", "kind", "asked", "keys", "bits/key", "worst", "rate");
    static const double rates[] = {1e-4, 1e-5, 1e-6, 1e-9, 1e-11, 1e-13, 1e-18};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        fixed(TAMIS_KIND_FINGERPRINT, rates[i]);
    fixed(TAMIS_KIND_EXACT, 0);
    growing(TAMIS_KIND_FINGERPRINT, 1e-6);
    growing(TAMIS_KIND_FINGERPRINT, 1e-9);
    growing(TAMIS_KIND_FINGERPRINT, 1e-12);
    growing(TAMIS_KIND_FINGERPRINT, 1e-17);
    growing(TAMIS_KIND_EXACT, 0);
    return 0;
}
