/* SPDX-License-Identifier: BSD-2-Clause */

/* Operations that many threads may do at once: the first use of the library, and lookups without a writer.
 * Checks the answers; under TSan also data races. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "property/filter_model.h"
#include "support/contains.h"

enum { THREADS = 4 };

static void run_together(void *(*work)(void *), void *context) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, context), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failure = NULL;
        assert_int_equal(pthread_join(threads[i], &failure), 0);
        if (failure)
            fail_msg("%s", (const char *)failure);
    }
}

/* ---- first use: this test has to be the first that runs ---- */

static pthread_barrier_t together;

/* Only the main thread may use cmocka's asserts: a worker returns a text about its error. */
static void *first_use(void *context) {
    const tamis_plan *plan = context;
    static const char secret[] = "0123456789abcdef";
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    options.secret = secret;
    options.secret_size = 16;
    tamis_filter *filter = NULL;
    pthread_barrier_wait(&together);
    if (strcmp(tamis_kernel_name(), "unavailable") == 0)
        return "kernel";
    if (tamis_filter_create(&filter, plan, &options, NULL) != TAMIS_OK)
        return "create";
    tamis_answer answer = 9;
    if (tamis_filter_add(filter, "key", 3, &answer, NULL) != TAMIS_OK || answer != TAMIS_ABSENT)
        return "add";
    bool there = contains_key(filter, "key", 3);
    tamis_filter_free(filter);
    return there ? NULL : "contains";
}

static void first_use_by_many_threads(void **state) {
    (void)state;
    filter_case c = {"", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_SIP, false, 1e-6};
    tamis_plan plan = case_plan(&c, 1000, 0);
    assert_int_equal(pthread_barrier_init(&together, NULL, THREADS), 0);
    run_together(first_use, &plan);
    pthread_barrier_destroy(&together);
}

/* ---- lookups ---- */

enum { KEYS = 20000 };

typedef struct shared {
    const tamis_filter *filter;
    uint64_t far; /* false positives among keys KEYS to 3 KEYS, counted by one thread */
} shared;

static void *query_all(void *context) {
    const shared *s = context;
    for (int round = 0; round < 3; round++) {
        if (model_count_present(s->filter, 0, KEYS, 7) != KEYS)
            return "a key is lost";
        if (model_count_present(s->filter, KEYS, 2 * KEYS, 7) != s->far)
            return "other answers than one thread got";
        tamis_filter_info info = filter_info(s->filter);
        if (info.added == 0 || tamis_filter_plan(s->filter)->kind != info.kind)
            return "info";
        tamis_key key = {"x", 1};
        tamis_hash hash;
        tamis_answer answer;
        tamis_hash_many(tamis_filter_hasher(s->filter), &key, 1, &hash, NULL);
        if (tamis_filter_contains_hashes(s->filter, &hash, 1, &answer, NULL, NULL) != TAMIS_OK)
            return "hashes";
    }
    return NULL;
}

static void queries_from_many_threads(void **state) {
    (void)state;
    for (int i = 0; i < FILTER_CASES; i++) {
        if (!case_has_digest(&filter_cases[i]))
            continue;
        tamis_filter *filter = case_filter(&filter_cases[i], KEYS);
        model_add_range(filter, 0, KEYS, 7, NULL);
        shared s = {filter, model_count_present(filter, KEYS, 2 * KEYS, 7)};
        run_together(query_all, &s);
        tamis_filter_free(filter);
    }
}

/* A filter may move from thread to thread, one after the other. */
static void *add_some(void *context) {
    tamis_filter *filter = context;
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t from;
    for (int round = 0; round < 10; round++) {
        pthread_mutex_lock(&turn);
        model_add_range(filter, from, 1000, 9, NULL);
        from += 1000;
        pthread_mutex_unlock(&turn);
    }
    return NULL;
}

static void writers_take_turns(void **state) {
    (void)state;
    tamis_filter *filter = case_filter(&filter_cases[9], 0);
    run_together(add_some, filter);
    assert_int_equal(filter_info(filter).added, 10000 * THREADS);
    assert_int_equal(model_count_present(filter, 0, 10000 * THREADS, 9), 10000 * THREADS);
    tamis_filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_use_by_many_threads),
        cmocka_unit_test(queries_from_many_threads),
        cmocka_unit_test(writers_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
