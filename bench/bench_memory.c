/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The in-memory kinds beside libbloom: 10 million integers of 8 bytes are added, asked again (all present)
 * and 10 million others are asked (all absent). Prints ns a key for each, bits a key, and the false-positive
 * rate that was measured beside the one promised. Keys are made outside the timed parts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tamis/tamis.h>

#ifdef TAMIS_HAVE_LIBBLOOM
#include <bloom.h>
#endif

enum { KEYS = 10000000, BATCH = 1024 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const tamis_error *err) {
    fprintf(stderr, "bench_memory: %s\n", err->text);
    exit(2);
}

/* Integers from..from+KEYS-1, as a program would hold them, and the keys that view them. */
static tamis_key *make_keys(uint64_t *numbers, uint64_t from) {
    tamis_key *keys = malloc(KEYS * sizeof *keys);
    if (!keys)
        exit(2);
    for (size_t i = 0; i < KEYS; i++) {
        numbers[i] = from + i;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    return keys;
}

static double ns_a_key(double start) {
    return (now() - start) / KEYS * 1e9;
}

static void print_row(const char *name, double p, const double ns[3], double bits, double measured) {
    printf("%-22s%8.0e%9.1f%9.1f%9.1f%10.1f%12.2e\n", name, p, ns[0], ns[1], ns[2], bits, measured);
    fflush(stdout);
}

static uint64_t ask_all(const tamis_filter *filter, const tamis_key *keys) {
    tamis_answer answers[BATCH];
    uint64_t seen = 0;
    for (size_t i = 0; i < KEYS; i += BATCH) {
        size_t some = KEYS - i < BATCH ? KEYS - i : BATCH;
        tamis_filter_contains_many(filter, keys + i, some, answers, NULL, NULL);
        for (size_t j = 0; j < some; j++)
            seen += answers[j] == TAMIS_SEEN;
    }
    return seen;
}

static void measure(tamis_kind kind, tamis_scheme scheme, double p, bool grows, const tamis_key *in,
                    const tamis_key *out) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_want want = TAMIS_WANT_INIT;
    want.kind = kind;
    want.scheme = scheme;
    want.fpr = p;
    want.expect = grows ? 0 : KEYS;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter;
    if (tamis_plan_make(&plan, &want, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, NULL, &err) != TAMIS_OK)
        die(&err);
    double ns[3], start = now();
    if (tamis_filter_add_many(filter, in, KEYS, NULL, NULL, &err) != TAMIS_OK)
        die(&err);
    ns[0] = ns_a_key(start);
    start = now();
    uint64_t found = ask_all(filter, in);
    ns[1] = ns_a_key(start);
    start = now();
    uint64_t wrong = ask_all(filter, out);
    ns[2] = ns_a_key(start);
    if (found != KEYS) {
        fprintf(stderr, "bench_memory: %" PRIu64 " of %d keys found: a false negative\n", found, KEYS);
        exit(1);
    }
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_filter_info_get(filter, &info, NULL);
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", tamis_kind_name(kind),
             scheme == TAMIS_SCHEME_GUAVA64 ? ", guava64" : "", grows ? ", growing" : "");
    print_row(name, p, ns, 8.0 * (double)info.memory_peak / KEYS, (double)wrong / KEYS);
    tamis_filter_free(filter);
}

#ifdef TAMIS_HAVE_LIBBLOOM
static void measure_libbloom(double p, const tamis_key *in, const tamis_key *out) {
    struct bloom bloom;
    if (bloom_init(&bloom, KEYS, p) != 0)
        exit(2);
    double ns[3], start = now();
    for (size_t i = 0; i < KEYS; i++)
        bloom_add(&bloom, in[i].data, (int)in[i].size);
    ns[0] = ns_a_key(start);
    uint64_t found = 0, wrong = 0;
    start = now();
    for (size_t i = 0; i < KEYS; i++)
        found += bloom_check(&bloom, in[i].data, (int)in[i].size) == 1;
    ns[1] = ns_a_key(start);
    start = now();
    for (size_t i = 0; i < KEYS; i++)
        wrong += bloom_check(&bloom, out[i].data, (int)out[i].size) == 1;
    ns[2] = ns_a_key(start);
    if (found != KEYS)
        exit(1);
    print_row("libbloom", p, ns, 8.0 * (double)bloom.bytes / KEYS, (double)wrong / KEYS);
    bloom_free(&bloom);
}
#endif

int main(void) {
    static uint64_t numbers_in[KEYS], numbers_out[KEYS];
    tamis_key *in = make_keys(numbers_in, 0), *out = make_keys(numbers_out, KEYS);
    printf("%d integers; kernels %s; ns a key\n\n%-22s%8s%9s%9s%9s%10s%12s\n", KEYS, tamis_kernel_name(),
           "kind", "rate", "add", "hit", "miss", "bits/key", "measured");
    static const double rates[] = {1e-2, 1e-4, 1e-6};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        measure(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, rates[i], false, in, out);
        measure(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, rates[i], false, in, out);
        measure(TAMIS_KIND_BLOCKED, TAMIS_SCHEME_XXH3, rates[i], false, in, out);
        measure(TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, rates[i], false, in, out);
        measure(TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, rates[i], true, in, out);
#ifdef TAMIS_HAVE_LIBBLOOM
        measure_libbloom(rates[i], in, out);
#endif
    }
    measure(TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, 0, false, in, out);
    measure(TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, 0, true, in, out);
    printf("\n");
    free(in);
    free(out);
    return 0;
}
