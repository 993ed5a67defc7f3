/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * bench_pauses KEYS DIR: the time of a call that adds 64 keys to a concurrent filter while another thread
 * saves or copies the filter. It has KEYS keys before, and is made for twice as many, or grows.
 *
 * Prints for each kind: MiB of the filter; the longest call in milliseconds alone, during a save to DIR,
 * and during a copy; seconds of the save and of the copy. Each longest call has two numbers, A/B. A is the
 * longest of the calls during which the system did not preempt the thread, so only locks and page faults
 * can have delayed them. B is the longest of all.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <tamis/tamis.h>

enum { BATCH = 64 };

static tamis_error err = TAMIS_ERROR_INIT;

typedef struct adding {
    tamis_filter *filter;
    uint64_t next; /* key */
    _Atomic uint64_t calls;
    _Atomic uint64_t max_ns;               /* longest call */
    _Atomic uint64_t max_uninterrupted_ns; /* longest call without an involuntary context switch */
    _Atomic bool stop;
} adding;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void require(tamis_status status) {
    if (status == TAMIS_OK)
        return;
    fprintf(stderr, "bench_pauses: %s\n", err.text);
    exit(2);
}

static void add_batch(adding *a) {
    uint64_t numbers[BATCH];
    tamis_key keys[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        numbers[i] = a->next++;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    require(tamis_filter_add_many(a->filter, keys, BATCH, NULL, NULL, &err));
}

static long involuntary_switches(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
}

static void *add_on(void *context) {
    adding *a = context;
    while (!a->stop) {
        const long switches = involuntary_switches();
        const uint64_t start = now_ns();
        add_batch(a);
        const uint64_t seconds = now_ns() - start;
        if (seconds > a->max_ns)
            a->max_ns = seconds;
        if (seconds > a->max_uninterrupted_ns && involuntary_switches() == switches)
            a->max_uninterrupted_ns = seconds;
        a->calls++;
    }
    return NULL;
}

typedef struct longest {
    double uninterrupted_ms, ms;
} longest;

/* Returns and resets the longest calls. A call in progress counts too. */
static longest reset_longest(adding *a) {
    const uint64_t start = a->calls;
    while (a->calls < start + 2)
        usleep(100);
    return (longest){(double)atomic_exchange(&a->max_uninterrupted_ns, 0) * 1e-6,
                     (double)atomic_exchange(&a->max_ns, 0) * 1e-6};
}

static void measure(tamis_kind kind, uint64_t keys, bool grows, const char *path) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_filter *copy = NULL;
    adding a = {.filter = NULL};
    pthread_t thread;
    plan_options.kind = kind;
    plan_options.expect = grows ? 0 : 2 * keys;
    plan_options.fpr = kind == TAMIS_KIND_FINGERPRINT ? 1e-6 : 1e-3;
    options.concurrent = true;
    options.allow_over_capacity = kind != TAMIS_KIND_FINGERPRINT;
    require(tamis_plan_make(&plan, &plan_options, &err));
    require(tamis_filter_create(&a.filter, &plan, &options, &err));
    while (a.next < keys)
        add_batch(&a);
    require(tamis_filter_info_get(a.filter, &info, &err));
    if (pthread_create(&thread, NULL, add_on, &a) != 0)
        exit(2);
    sleep(1);
    const longest alone = reset_longest(&a);
    uint64_t start = now_ns();
    require(tamis_filter_save(a.filter, path, &err));
    const double saved = (double)(now_ns() - start) * 1e-9;
    const longest save = reset_longest(&a);
    start = now_ns();
    require(tamis_filter_copy(&copy, a.filter, &err));
    const double copied = (double)(now_ns() - start) * 1e-9;
    const longest copying = reset_longest(&a);
    a.stop = true;
    pthread_join(thread, NULL);
    printf("%-11s %-6s %6.0f %6.2f/%6.2f %6.2f/%6.2f %6.2f/%6.2f %8.2f %8.2f\n", tamis_kind_name(kind),
           grows ? "grows" : "made", (double)info.memory / 1048576, alone.uninterrupted_ms, alone.ms,
           save.uninterrupted_ms, save.ms, copying.uninterrupted_ms, copying.ms, saved, copied);
    fflush(stdout);
    tamis_filter_free(copy);
    tamis_filter_free(a.filter);
    unlink(path);
}

int main(int argc, char **argv) {
    char path[4096];
    if (argc != 3 || strtod(argv[1], NULL) < 1) {
        fprintf(stderr, "bench_pauses: give KEYS and FOLDER\n");
        return 2;
    }
    const uint64_t keys = (uint64_t)strtod(argv[1], NULL);
    snprintf(path, sizeof path, "%s/bench_pauses.tamis", argv[2]);
    printf("kind               MiB      alone ms       save ms       copy ms   save s   copy s\n");
    measure(TAMIS_KIND_FINGERPRINT, keys, true, path);
    measure(TAMIS_KIND_FINGERPRINT, keys, false, path);
    measure(TAMIS_KIND_BLOCKED, keys, false, path);
    measure(TAMIS_KIND_CLASSIC, keys, false, path);
    return 0;
}
