/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * bench_guard KEYS LOOKUPS: tamis_guard_find_many of a guard in this process. Its source is a function that
 * has the rows of KEYS keys, each a text of 16 bytes; a value has 100 bytes.
 *
 *     absent    keys without a row, all different: the filter answers them, but for its false positives
 *     cached    HOT keys at random, whose values are in the cache of the guard
 *     mixed     80 % absent keys and 20 % cached ones, in random order
 *
 * Keys are made before they are timed. An answer is released before the next batch, which is timed too, as
 * each caller has to do it. Two threads use one guard, and each makes half of the lookups.
 *
 * Prints, separated by tabs: kind of keys, keys a batch, threads, ns a key. ns is wall-clock time over the
 * number of all lookups, so two threads that do not wait for each other have half the ns of one. The first
 * line has the rate of false positives. bench/guard.py prints the table of medians.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tamis/experimental/guard.h>
#include <tamis/tamis.h>

enum { KEY_SIZE = 16, VALUE_SIZE = 100, HOT = 100000, BATCH_MAX = 256, THREADS_MAX = 2, ABSENT_PERCENT = 80 };

static const double FPR = 0.001;

static void need(bool good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "bench_guard: %s\n", what);
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

static uint64_t random_number(void) {
    static uint64_t state = 7;
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = (state ^ (state >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- source ---- */

/* Numbers below this one have a row. */
static uint64_t row_count;

static void write_key(char text[KEY_SIZE], uint64_t number) {
    char printed[KEY_SIZE + 1];
    snprintf(printed, sizeof printed, "user:%011" PRIu64, number % UINT64_C(100000000000));
    memcpy(text, printed, KEY_SIZE);
}

static uint64_t number_of(tamis_key key) {
    char text[KEY_SIZE + 1] = {0};
    need(key.size == KEY_SIZE, "a key has another size");
    memcpy(text, key.data, KEY_SIZE);
    return strtoull(text + strlen("user:"), NULL, 10);
}

static tamis_status connect_session(void *context, uint32_t timeout_ms, void **session, tamis_error *err) {
    static char only_session;
    (void)context;
    (void)timeout_ms;
    (void)err;
    *session = &only_session;
    return TAMIS_OK;
}

static void disconnect_session(void *session) {
    (void)session;
}

static tamis_status load_row(void *session, tamis_key key, uint32_t timeout_ms, tamis_guard_row *row,
                             tamis_error *err) {
    char value[VALUE_SIZE];
    (void)session;
    (void)timeout_ms;
    if (number_of(key) >= row_count)
        return TAMIS_OK;
    memset(value, 'v', sizeof value);
    memcpy(value, key.data, key.size);
    return tamis_guard_row_set(row, value, sizeof value, err);
}

static tamis_status scan_rows(void *session, tamis_guard_scan *scan, tamis_error *err) {
    char text[BATCH_MAX][KEY_SIZE];
    tamis_key keys[BATCH_MAX];
    tamis_status status = TAMIS_OK;
    (void)session;
    for (uint64_t number = 0; status == TAMIS_OK && number < row_count;) {
        size_t count = 0;
        for (; count < BATCH_MAX && number < row_count; count++, number++) {
            write_key(text[count], number);
            keys[count] = (tamis_key){text[count], KEY_SIZE};
        }
        status = tamis_guard_scan_add(scan, keys, count, err);
    }
    return status;
}

static tamis_guard *open_guard(void) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_guard_source source = TAMIS_GUARD_SOURCE_INIT;
    tamis_guard_options options = TAMIS_GUARD_OPTIONS_INIT;
    tamis_guard *guard;
    source.connect = connect_session;
    source.disconnect = disconnect_session;
    source.load = load_row;
    source.scan = scan_rows;
    options.source = &source;
    options.fpr = FPR;
    options.cache_bytes = (uint64_t)64 << 20;
    options.cache_life_ms = 3600000;
    succeed(tamis_guard_open(&guard, &options, &err), &err);
    succeed(tamis_guard_wait_for_filter(guard, 60000, &err), &err);
    return guard;
}

/* ---- keys ---- */

enum { ABSENT, CACHED, MIXED, KINDS };

static const char *const kind_names[KINDS] = {"absent", "cached", "mixed"};

/* Keys of one kind, and their texts one after the other. */
typedef struct key_list {
    char (*texts)[KEY_SIZE];
    tamis_key *keys;
    size_t count;
} key_list;

static key_list make_keys(int kind, size_t count) {
    key_list list = {malloc(count * KEY_SIZE), malloc(count * sizeof *list.keys), count};
    need(list.texts && list.keys, "out of memory");
    const uint64_t hot = row_count < HOT ? row_count : HOT;
    for (size_t i = 0; i < count; i++) {
        const bool is_absent = kind == ABSENT || (kind == MIXED && random_number() % 100 < ABSENT_PERCENT);
        write_key(list.texts[i], is_absent ? row_count + i : random_number() % hot);
        list.keys[i] = (tamis_key){list.texts[i], KEY_SIZE};
    }
    return list;
}

static void free_keys(key_list *list) {
    free(list->texts);
    free(list->keys);
}

/* Loads the hot keys, so that the cache has their values. */
static void load_hot_keys(tamis_guard *guard, const key_list *list) {
    tamis_error err = TAMIS_ERROR_INIT;
    static tamis_guard_value values[BATCH_MAX];
    for (size_t i = 0; i < list->count; i += BATCH_MAX) {
        const size_t count = list->count - i < BATCH_MAX ? list->count - i : BATCH_MAX;
        succeed(tamis_guard_get_many(guard, list->keys + i, count, values, &err), &err);
        for (size_t j = 0; j < count; j++) {
            need(values[j].outcome == TAMIS_GUARD_FOUND, "a row is missing: a false negative");
            tamis_guard_value_release(&values[j]);
        }
    }
}

/* ---- lookups ---- */

/* The work of one thread. */
typedef struct share {
    tamis_guard *guard;
    const tamis_key *keys;
    size_t count, batch;
    uint64_t outcomes[TAMIS_GUARD_MISSING + 1]; /* number of answers */
} share;

static void *find_share(void *context) {
    share *s = context;
    tamis_guard_value values[BATCH_MAX];
    tamis_error err = TAMIS_ERROR_INIT;
    for (size_t i = 0; i < s->count; i += s->batch) {
        const size_t count = s->count - i < s->batch ? s->count - i : s->batch;
        succeed(tamis_guard_find_many(s->guard, s->keys + i, count, values, &err), &err);
        for (size_t j = 0; j < count; j++) {
            s->outcomes[values[j].outcome]++;
            tamis_guard_value_release(&values[j]);
        }
    }
    return NULL;
}

/* Returns ns a key. Adds to `outcomes`. */
static double find_keys(tamis_guard *guard, const key_list *list, size_t batch, size_t threads,
                        uint64_t outcomes[TAMIS_GUARD_MISSING + 1]) {
    share shares[THREADS_MAX];
    pthread_t ids[THREADS_MAX];
    const size_t each = list->count / threads;
    const double start = now();
    for (size_t i = 0; i < threads; i++) {
        shares[i] = (share){guard, list->keys + each * i, each, batch, {0}};
        need(threads == 1 || pthread_create(&ids[i], NULL, find_share, &shares[i]) == 0, "no thread");
    }
    if (threads == 1)
        find_share(&shares[0]);
    else
        for (size_t i = 0; i < threads; i++)
            pthread_join(ids[i], NULL);
    const double seconds = now() - start;
    for (size_t i = 0; i < threads; i++)
        for (size_t j = 0; j <= TAMIS_GUARD_MISSING; j++)
            outcomes[j] += shares[i].outcomes[j];
    return seconds / (double)(each * threads) * 1e9;
}

/* Fails if answers are wrong. */
static void check_outcomes(int kind, const uint64_t outcomes[TAMIS_GUARD_MISSING + 1]) {
    const uint64_t pending = outcomes[TAMIS_GUARD_PENDING], found = outcomes[TAMIS_GUARD_FOUND],
                   missing = outcomes[TAMIS_GUARD_MISSING];
    if (kind == ABSENT)
        need(found == 0, "a key without a row is found");
    if (kind == CACHED) {
        need(missing == 0, "a row is missing: a false negative");
        need(found >= 99 * pending, "too few values are in the cache");
    }
    if (kind == MIXED)
        need(missing > found && found > pending, "the mix has wrong answers");
}

static void measure(tamis_guard *guard, int kind, const key_list *list) {
    static const size_t batches[] = {1, 16, BATCH_MAX};
    uint64_t outcomes[TAMIS_GUARD_MISSING + 1] = {0};
    find_keys(guard, list, BATCH_MAX, 1, outcomes); /* so that all memory is there */
    check_outcomes(kind, outcomes);
    if (kind == ABSENT)
        printf("rate\t%g\t%g\n", FPR, (double)outcomes[TAMIS_GUARD_PENDING] / (double)list->count);
    for (size_t threads = 1; threads <= THREADS_MAX; threads++)
        for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) {
            const double ns = find_keys(guard, list, batches[i], threads, outcomes);
            printf("%s\t%zu\t%zu\t%.2f\n", kind_names[kind], batches[i], threads, ns);
            fflush(stdout);
        }
    check_outcomes(kind, outcomes);
}

int main(int count, char **args) {
    need(count == 3, "give numbers of keys and of lookups");
    row_count = strtoull(args[1], NULL, 10);
    const size_t lookups = strtoull(args[2], NULL, 10);
    need(row_count >= 1000 && lookups >= 1000, "give numbers of keys and of lookups from 1000");
    tamis_guard *guard = open_guard();
    for (int kind = 0; kind < KINDS; kind++) {
        key_list list = make_keys(kind, lookups);
        if (kind == CACHED)
            load_hot_keys(guard, &list);
        measure(guard, kind, &list);
        free_keys(&list);
    }
    tamis_guard_close(guard);
    return 0;
}
