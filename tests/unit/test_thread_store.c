/* SPDX-License-Identifier: BSD-2-Clause */

/* Threads look up keys in a filter whose file is replaced all the time. Each batch is answered from one
 * file only. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/scratch.h"
#include "support/stored.h"

enum { READERS = 3, KEYS = 500 };

/* Two files: keys 0 to KEYS - 1 in one, KEYS to 2 KEYS - 1 in the other. */
static uint64_t numbers[2 * KEYS];
static tamis_key keys[2 * KEYS];

static tamis_filter *filter;
static char path[300], same_path[300]; /* scratch() works in one thread only */
static atomic_bool over;
static atomic_uint batches;

/* Returns the file, 0 or 1, from which all answers are; -1: from both, or from none. */
static int file_of(const tamis_answer *answers) {
    int present[2] = {0, 0};
    for (int i = 0; i < 2 * KEYS; i++)
        present[i / KEYS] += answers[i] == TAMIS_PRESENT;
    /* a false positive is not a key */
    if (present[0] == KEYS && present[1] < KEYS / 10)
        return 0;
    return present[1] == KEYS && present[0] < KEYS / 10 ? 1 : -1;
}

static int query(void) {
    tamis_answer answers[2 * KEYS];
    size_t done = 0;
    if (tamis_filter_contains_many(filter, keys, 2 * KEYS, answers, &done, NULL) != TAMIS_OK ||
        done != 2 * KEYS)
        return -1;
    return file_of(answers);
}

static void *query_batches(void *context) {
    (void)context;
    while (!atomic_load(&over)) {
        if (query() < 0)
            return "a batch is not of one file";
        atomic_fetch_add(&batches, 1);
    }
    return NULL;
}

/* Hashes made before a replacement are still valid after it: both files have the same scheme and seed. */
static void *query_hashes(void *context) {
    (void)context;
    tamis_hash hashes[2 * KEYS];
    tamis_answer answers[2 * KEYS];
    while (!atomic_load(&over)) {
        if (tamis_hash_many(tamis_filter_hasher(filter), keys, 2 * KEYS, hashes, NULL) != TAMIS_OK)
            return "hash";
        if (tamis_filter_contains_hashes(filter, hashes, 2 * KEYS, answers, NULL, NULL) != TAMIS_OK)
            return "hashes";
        if (file_of(answers) < 0)
            return "a batch of hashes is not of one file";
        atomic_fetch_add(&batches, 1);
    }
    return NULL;
}

/* Long operations: they use one file from beginning to end. */
static void *use_whole(void *context) {
    (void)context;
    while (!atomic_load(&over)) {
        tamis_filter *copy = NULL;
        uint64_t size = 0;
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        tamis_metadata metadata = TAMIS_METADATA_INIT;
        if (tamis_filter_copy(&copy, filter, NULL) != TAMIS_OK)
            return "copy";
        bool first = stored_has(copy, 0, KEYS), second = stored_has(copy, KEYS, KEYS);
        tamis_filter_free(copy);
        if (first == second)
            return "the copy is not of one file";
        if (tamis_filter_info_get(filter, &info, NULL) != TAMIS_OK || info.added != KEYS)
            return "info";
        if (tamis_filter_metadata_get(filter, &metadata, NULL) != TAMIS_OK || metadata.created == 0)
            return "about";
        if (tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, NULL) != TAMIS_OK)
            return "size";
        void *bytes = malloc(size);
        tamis_status status = tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, bytes, size, NULL);
        if (status == TAMIS_OK)
            status = tamis_filter_decode(&copy, bytes, size, NULL, NULL);
        free(bytes);
        if (status != TAMIS_OK)
            return "encode";
        tamis_filter_free(copy);
        if (tamis_filter_verify(filter, NULL) != TAMIS_OK || !tamis_filter_is_equal(filter, filter) ||
            !tamis_filter_can(filter, TAMIS_CAN_UNION))
            return "verify";
    }
    return NULL;
}

static void *reload_too(void *context) {
    (void)context;
    while (!atomic_load(&over))
        if (tamis_filter_reload(filter, NULL, NULL) != TAMIS_OK)
            return "reload";
    return NULL;
}

static void replace(int which) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *made = stored_make(TAMIS_KIND_BLOCKED, which ? KEYS : 0, KEYS);
    if (tamis_filter_save(made, path, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    tamis_filter_free(made);
}

/* Runs these threads, and replaces the file meanwhile. */
static void hammer(void *(*const *work)(void *), size_t count) {
    pthread_t threads[READERS + 1];
    uint64_t rounds = test_scale(100, 15, 15);
    replace(0);
    assert_int_equal(tamis_filter_open(&filter, path, NULL, NULL), TAMIS_OK);
    atomic_store(&over, false);
    atomic_store(&batches, 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work[i], NULL), 0);
    /* With files in memory, all replacements may take less time than the start of a thread. */
    for (int waits = 0; waits < 20000 && atomic_load(&batches) == 0; waits++)
        pause_ms(1);
    int wrong = 0;
    for (uint64_t round = 1; round <= rounds; round++) {
        replace((int)(round & 1));
        wrong += tamis_filter_reload(filter, NULL, NULL) != TAMIS_OK || query() != (int)(round & 1);
    }
    atomic_store(&over, true);
    for (size_t i = 0; i < count; i++) {
        void *failure = NULL;
        assert_int_equal(pthread_join(threads[i], &failure), 0);
        if (failure)
            fail_msg("%s", (const char *)failure);
    }
    assert_int_equal(wrong, 0);
    tamis_filter_free(filter);
    assert_int_equal(scratch_entries(), 1);
}

static void queries(void **state) {
    (void)state;
    static void *(*const work[])(void *) = {query_batches, query_batches, query_hashes};
    hammer(work, 3);
    assert_true(atomic_load(&batches) > 0);
}

static void queries_and_long_calls(void **state) {
    (void)state;
    static void *(*const work[])(void *) = {query_batches, use_whole, use_whole};
    hammer(work, 3);
}

static void several_reload(void **state) {
    (void)state;
    static void *(*const work[])(void *) = {query_batches, reload_too, reload_too};
    hammer(work, 3);
}

/* Two threads save to one name, one after the other or at once. The file is always whole. */
static void *save_again_and_again(void *context) {
    const int which = *(const int *)context;
    for (int i = 0; i < 15; i++) {
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_filter *made = stored_make(TAMIS_KIND_BLOCKED, which ? KEYS : 0, KEYS), *opened = NULL;
        tamis_status status = tamis_filter_save(made, which ? same_path : path, &err);
        tamis_filter_free(made);
        if (status != TAMIS_OK)
            return "save";
        if (tamis_filter_open(&opened, path, NULL, &err) != TAMIS_OK)
            return "open";
        bool first = stored_has(opened, 0, KEYS), second = stored_has(opened, KEYS, KEYS);
        tamis_filter_free(opened);
        if (first == second)
            return "the file is not one of the two";
    }
    return NULL;
}

static void two_threads_save(void **state) {
    (void)state;
    static int which[] = {0, 1};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, save_again_and_again, &which[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *failure = NULL;
        assert_int_equal(pthread_join(threads[i], &failure), 0);
        if (failure)
            fail_msg("%s", (const char *)failure);
    }
    assert_int_equal(scratch_entries(), 1);
}

static int set_up(void **state) {
    (void)state;
    scratch_make();
    snprintf(path, sizeof path, "%s", scratch("f"));
    snprintf(same_path, sizeof same_path, "%s", scratch("./f"));
    for (uint64_t i = 0; i < 2 * KEYS; i++) {
        numbers[i] = i;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    scratch_remove();
    return 0;
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(queries),
        CASE(queries_and_long_calls),
        CASE(several_reload),
        CASE(two_threads_save),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
