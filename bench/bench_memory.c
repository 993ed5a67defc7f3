/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * bench_memory RATE: filters in memory at that rate, compared with libbloom; with RATE 0 kind exact. Four
 * timed parts:
 *
 *     add     10 million integers of 8 bytes to a new filter
 *     hit     look up the same (all present)
 *     miss    look up 10 million others (all absent)
 *     again   clear the filter and add the first ones again, to memory that the system has already given
 *
 * For kinds that can remove keys, a row "remove" has the time to remove all of them, in column "again". At
 * 0.01 there are also counting and cuckoo filters of 1 MiB, which stay in the cache: a part then goes over as
 * many keys as the filter holds, again and again, with a cleared filter for each add. TAMIS_KERNEL=scalar
 * shows the time without vector code.
 *
 * Keys are made outside the timed parts, added in one batch (by threads in batches of 1024) and looked up
 * in batches of 1024. The lower bound ("floor") changes or reads as many random cache lines of a block as
 * large as the blocked filter, and does nothing else. At 0.01 there are also concurrent filters with 1 and
 * 2 threads, which share the keys equally.
 *
 * Prints, separated by tabs: name, rate, ns a key of add, again, hit and miss, bits a key, and the
 * measured false-positive rate; nan for missing numbers. bench/memory.py runs it and prints the table of
 * medians.
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <tamis/tamis.h>

#ifdef TAMIS_HAVE_LIBBLOOM
#include <bloom.h>
#endif

enum {
    KEYS = 10000000,
    BATCH = 1024,
    LINE = 64,
    WORDS = LINE / 8,
    AHEAD = 64,
    HUGE_PAGE = 2 << 20,
    THREADS_MAX = 2
};
enum { ADD, AGAIN, HIT, MISS, PARTS };

static void need(bool good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "bench_memory: %s\n", what);
    exit(2);
}

static void succeed(tamis_status status, const tamis_error *err) {
    need(status == TAMIS_OK, err->text);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double ns_a_key(double start) {
    return (now() - start) / KEYS * 1e9;
}

/* The integers from..from+KEYS-1, and keys that point to them. */
static tamis_key *make_keys(uint64_t *numbers, uint64_t from) {
    tamis_key *keys = malloc(KEYS * sizeof *keys);
    need(keys != NULL, "out of memory");
    for (size_t i = 0; i < KEYS; i++) {
        numbers[i] = from + i;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    return keys;
}

static void print_row(const char *name, double p, const double ns[PARTS], double bits, double measured) {
    printf("%s\t%g\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3e\n", name, p, ns[ADD], ns[AGAIN], ns[HIT], ns[MISS],
           bits, measured);
    fflush(stdout);
}

/* ---- tamis ---- */

/* The work of one thread. */
typedef struct share {
    tamis_filter *filter;
    const tamis_key *keys;
    size_t count, batch;
    bool queries; /* false: it adds */
    uint64_t present;
} share;

static void *do_share(void *context) {
    share *s = context;
    tamis_answer answers[BATCH];
    tamis_error err = TAMIS_ERROR_INIT;
    for (size_t i = 0; i < s->count; i += s->batch) {
        size_t batch_size = s->count - i < s->batch ? s->count - i : s->batch;
        if (!s->queries) {
            succeed(tamis_filter_add_many(s->filter, s->keys + i, batch_size, NULL, NULL, &err), &err);
            continue;
        }
        succeed(tamis_filter_contains_many(s->filter, s->keys + i, batch_size, answers, NULL, &err), &err);
        for (size_t j = 0; j < batch_size; j++)
            s->present += answers[j] == TAMIS_PRESENT;
    }
    return NULL;
}

/* Threads 0: the caller's thread, which adds all keys in one batch. Returns the number of keys present, for
 * lookups. */
static uint64_t do_shares(tamis_filter *filter, const tamis_key *keys, bool queries, size_t threads,
                          double *ns) {
    share shares[THREADS_MAX], whole = {filter, keys, KEYS, queries ? BATCH : KEYS, queries, 0};
    pthread_t ids[THREADS_MAX];
    double start = now();
    if (threads == 0)
        do_share(&whole);
    for (size_t i = 0; i < threads; i++) {
        shares[i] = (share){filter, keys + KEYS / threads * i, KEYS / threads, BATCH, queries, 0};
        need(pthread_create(&ids[i], NULL, do_share, &shares[i]) == 0, "no thread");
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        whole.present += shares[i].present;
    }
    *ns = ns_a_key(start);
    return whole.present;
}

static void measure_removal(tamis_filter *filter, const char *name, double p, const tamis_key *in) {
    tamis_error err = TAMIS_ERROR_INIT;
    char row[80];
    const double start = now();
    succeed(tamis_filter_remove_many(filter, in, KEYS, NULL, NULL, &err), &err);
    snprintf(row, sizeof row, "%s, remove", name);
    print_row(row, p, (const double[PARTS]){NAN, ns_a_key(start), NAN, NAN}, NAN, NAN);
}

/* Threads 0: an ordinary filter, else a concurrent one. Returns its memory in bytes. */
static uint64_t measure(tamis_kind kind, tamis_scheme scheme, double p, bool grows, size_t threads,
                        const tamis_key *in, const tamis_key *out) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_options.kind = kind;
    plan_options.scheme = scheme;
    plan_options.fpr = p;
    plan_options.expect = grows ? 0 : KEYS;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    options.concurrent = threads > 0;
    tamis_filter *filter;
    succeed(tamis_plan_make(&plan, &plan_options, &err), &err);
    succeed(tamis_filter_create(&filter, &plan, &options, &err), &err);
    double ns[PARTS];
    do_shares(filter, in, false, threads, &ns[ADD]);
    need(do_shares(filter, in, true, threads, &ns[HIT]) == KEYS,
         "a key that was added is not found: a false negative");
    uint64_t wrong = do_shares(filter, out, true, threads, &ns[MISS]);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_filter_info_get(filter, &info, NULL);
    succeed(tamis_filter_clear(filter, &err), &err);
    do_shares(filter, in, false, threads, &ns[AGAIN]);
    char name[64], many[16] = "";
    if (threads)
        snprintf(many, sizeof many, ", %zu threads", threads);
    snprintf(name, sizeof name, "%s%s%s%s", tamis_kind_name(kind),
             scheme == TAMIS_SCHEME_GUAVA64 ? ", guava64" : "", grows ? ", growing" : "", many);
    print_row(name, p, ns, 8.0 * (double)info.memory_peak / KEYS, (double)wrong / KEYS);
    if (tamis_filter_can(filter, TAMIS_CAN_REMOVE))
        measure_removal(filter, name, p, in);
    tamis_filter_free(filter);
    return info.memory_peak;
}

/* ---- filters that stay in the cache ---- */

enum { SMALL_PARTS = PARTS + 1, REMOVE = PARTS };

/* Runs one part over `keys` of a small filter, in batches. */
static double run_small(tamis_filter *filter, int part, const tamis_key *keys, size_t count) {
    tamis_answer answers[BATCH];
    tamis_error err = TAMIS_ERROR_INIT;
    const double start = now();
    for (size_t i = 0; i < count; i += BATCH) {
        const size_t size = count - i < BATCH ? count - i : BATCH;
        succeed(part == ADD      ? tamis_filter_add_many(filter, keys + i, size, NULL, NULL, &err)
                : part == REMOVE ? tamis_filter_remove_many(filter, keys + i, size, NULL, NULL, &err)
                                 : tamis_filter_contains_many(filter, keys + i, size, answers, NULL, &err),
                &err);
    }
    return now() - start;
}

static void measure_small(tamis_kind kind, double p, const tamis_key *in, const tamis_key *out) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_options.kind = kind;
    plan_options.fpr = p;
    plan_options.memory = 1 << 20;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter;
    succeed(tamis_plan_fit(&plan, &plan_options, &err), &err);
    succeed(tamis_filter_create(&filter, &plan, NULL, &err), &err);
    const size_t count = (size_t)plan.capacity;
    double seconds[SMALL_PARTS] = {0};
    size_t keys = 0;
    for (; keys + count <= KEYS; keys += count) {
        succeed(tamis_filter_clear(filter, &err), &err);
        seconds[ADD] += run_small(filter, ADD, in + keys, count);
        seconds[HIT] += run_small(filter, HIT, in + keys, count);
        seconds[MISS] += run_small(filter, MISS, out + keys, count);
        seconds[REMOVE] += run_small(filter, REMOVE, in + keys, count);
    }
    const double scale = 1e9 / (double)keys;
    char name[64];
    snprintf(name, sizeof name, "%s, 1 MiB", tamis_kind_name(kind));
    print_row(name, p,
              (const double[PARTS]){NAN, scale * seconds[ADD], scale * seconds[HIT], scale * seconds[MISS]},
              8.0 * (double)plan.memory / (double)count, NAN);
    snprintf(name, sizeof name, "%s, 1 MiB, remove", tamis_kind_name(kind));
    print_row(name, p, (const double[PARTS]){NAN, scale * seconds[REMOVE], NAN, NAN}, NAN, NAN);
    tamis_filter_free(filter);
}

/* ---- the lower bound ---- */

/* The position of a line is the upper half of a product, which is the cheapest way. */
static uint64_t *line_of(uint64_t *words, uint64_t lines, const tamis_key *key) {
    uint64_t number;
    memcpy(&number, key->data, sizeof number);
    return words + ((number * UINT64_C(0x9e3779b97f4a7c15) >> 32) * lines >> 32) * WORDS;
}

static double change_lines(uint64_t *words, uint64_t lines, const tamis_key *keys) {
    double start = now();
    for (size_t i = 0; i < KEYS; i++) {
        if (i + AHEAD < KEYS)
            __builtin_prefetch(line_of(words, lines, &keys[i + AHEAD]), 0, 2);
        line_of(words, lines, &keys[i])[i % WORDS] |= i;
    }
    return ns_a_key(start);
}

static double read_lines(uint64_t *words, uint64_t lines, const tamis_key *keys) {
    uint64_t sum = 0;
    double start = now();
    for (size_t i = 0; i < KEYS; i++) {
        if (i + AHEAD < KEYS)
            __builtin_prefetch(line_of(words, lines, &keys[i + AHEAD]), 0, 2);
        sum += line_of(words, lines, &keys[i])[i % WORDS];
    }
    double ns = ns_a_key(start);
    volatile uint64_t used = sum; /* so that the compiler keeps every read */
    (void)used;
    return ns;
}

static void measure_floor(double p, uint64_t bytes, const tamis_key *in, const tamis_key *out) {
    size_t size = (size_t)(bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    uint64_t lines = bytes / LINE, *words = aligned_alloc(HUGE_PAGE, size);
    need(words != NULL, "out of memory");
    (void)madvise(words, size, MADV_HUGEPAGE);
    memset(words, 0, size);
    double ns[PARTS] = {NAN, NAN, NAN, NAN};
    ns[AGAIN] = change_lines(words, lines, in);
    ns[HIT] = read_lines(words, lines, in);
    ns[MISS] = read_lines(words, lines, out);
    print_row("floor: one random line", p, ns, 8.0 * (double)bytes / KEYS, NAN);
    free(words);
}

/* ---- libbloom ---- */

#ifdef TAMIS_HAVE_LIBBLOOM
static double add_each(struct bloom *bloom, const tamis_key *keys) {
    double start = now();
    for (size_t i = 0; i < KEYS; i++)
        bloom_add(bloom, keys[i].data, (int)keys[i].size);
    return ns_a_key(start);
}

static uint64_t query_each(struct bloom *bloom, const tamis_key *keys, double *ns) {
    uint64_t present = 0;
    double start = now();
    for (size_t i = 0; i < KEYS; i++)
        present += bloom_check(bloom, keys[i].data, (int)keys[i].size) == 1;
    *ns = ns_a_key(start);
    return present;
}

static void measure_libbloom(double p, const tamis_key *in, const tamis_key *out) {
    struct bloom bloom;
    double ns[PARTS];
    need(bloom_init(&bloom, KEYS, p) == 0, "libbloom makes no filter");
    ns[ADD] = add_each(&bloom, in);
    need(query_each(&bloom, in, &ns[HIT]) == KEYS, "libbloom does not find a key that was added");
    uint64_t wrong = query_each(&bloom, out, &ns[MISS]);
    memset(bloom.bf, 0, (size_t)bloom.bytes);
    ns[AGAIN] = add_each(&bloom, in);
    print_row("libbloom", p, ns, 8.0 * (double)bloom.bytes / KEYS, (double)wrong / KEYS);
    bloom_free(&bloom);
}
#endif

int main(int count, char **args) {
    static uint64_t numbers_in[KEYS], numbers_out[KEYS];
    char *end = NULL;
    double p = count == 2 ? strtod(args[1], &end) : 0;
    need(end && end != args[1] && *end == '\0' && p >= 0 && p < 1, "give a rate");
    tamis_key *in = make_keys(numbers_in, 0), *out = make_keys(numbers_out, KEYS);
    const tamis_scheme xxh3 = TAMIS_SCHEME_XXH3;
    if (p > 0) {
        measure(TAMIS_KIND_CLASSIC, xxh3, p, false, 0, in, out);
        measure(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, p, false, 0, in, out);
        uint64_t bytes = measure(TAMIS_KIND_BLOCKED, xxh3, p, false, 0, in, out);
        measure(TAMIS_KIND_COUNTING, xxh3, p, false, 0, in, out);
        measure(TAMIS_KIND_CUCKOO, xxh3, p, false, 0, in, out);
        for (int small = 0; small < 2 && p == 0.01; small++)
            measure_small(small ? TAMIS_KIND_CUCKOO : TAMIS_KIND_COUNTING, p, in, out);
        measure(TAMIS_KIND_FINGERPRINT, xxh3, p, false, 0, in, out);
        measure(TAMIS_KIND_FINGERPRINT, xxh3, p, true, 0, in, out);
        measure_floor(p, bytes, in, out);
        for (size_t threads = 1; threads <= THREADS_MAX && p == 0.01; threads++) {
            measure(TAMIS_KIND_CLASSIC, xxh3, p, false, threads, in, out);
            measure(TAMIS_KIND_BLOCKED, xxh3, p, false, threads, in, out);
            measure(TAMIS_KIND_FINGERPRINT, xxh3, p, false, threads, in, out);
            measure(TAMIS_KIND_FINGERPRINT, xxh3, p, true, threads, in, out);
        }
#ifdef TAMIS_HAVE_LIBBLOOM
        measure_libbloom(p, in, out);
#endif
    } else {
        measure(TAMIS_KIND_EXACT, xxh3, 0, false, 0, in, out);
        measure(TAMIS_KIND_EXACT, xxh3, 0, true, 0, in, out);
    }
    free(in);
    free(out);
    return 0;
}
