/* SPDX-License-Identifier: BSD-2-Clause */

/* Lookups in several filters at once, compared with lookups in each filter alone: kinds, schemes, seeds and
 * secrets, batches in parts by several threads, and a filter that fails in the middle of a batch. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <tamis/experimental/filter_set.h>
#include <tamis/file.h>

#include "support/scratch.h"

enum { KEYS = 5000, FILTERS = 9, THREADS = 4 };

static tamis_error err;
static uint64_t numbers[KEYS];
static tamis_key keys[KEYS];
static tamis_hash hashes[KEYS];
static tamis_answer any[KEYS], rows[FILTERS * KEYS], alone[FILTERS][KEYS];
static tamis_filter *owned[FILTERS];
static const tamis_filter *filters[FILTERS];
static uint64_t expect; /* keys that the filters are planned for */

/* Makes filter i, with a third of the keys, chosen at random. */
static void make(size_t i, tamis_kind kind, tamis_scheme scheme, uint64_t seed, const char *secret) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    uint64_t chance = 1000 + i;
    plan_options.kind = kind;
    plan_options.scheme = scheme;
    plan_options.expect = expect;
    plan_options.fpr = 0.01;
    options.seed = seed;
    options.secret = secret;
    options.secret_size = secret ? strlen(secret) : 0;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_create(&owned[i], &plan, &options, &err), TAMIS_OK);
    for (size_t j = 0; j < KEYS; j++)
        if (test_below(&chance, 3) == 0)
            assert_int_equal(tamis_filter_add(owned[i], keys[j].data, keys[j].size, NULL, &err), TAMIS_OK);
    filters[i] = owned[i];
}

static int set_up(void **state) {
    (void)state;
    uint64_t seed = 1;
    expect = KEYS;
    err = (tamis_error)TAMIS_ERROR_INIT;
    for (size_t i = 0; i < KEYS; i++) {
        numbers[i] = test_random(&seed);
        keys[i] = (tamis_key){&numbers[i], 1 + i % sizeof numbers[i]};
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < FILTERS; i++) {
        tamis_filter_free(owned[i]);
        owned[i] = NULL;
    }
    return 0;
}

/* Filters of one seed, and others that do not share their hashes, in an order that mixes them. */
static tamis_filter_set make_mixed(void) {
    make(0, TAMIS_KIND_BLOCKED, TAMIS_SCHEME_XXH3, 0, NULL);
    make(1, TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR31, 0, NULL);
    make(2, TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 7, NULL);
    make(3, TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, 0, NULL);
    make(4, TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, 0, NULL);
    make(5, TAMIS_KIND_EXACT, TAMIS_SCHEME_SIP, 0, "a secret of 19 bytes");
    make(6, TAMIS_KIND_EXACT, TAMIS_SCHEME_SIP, 0, "another secret, of 29 bytes");
    make(7, TAMIS_KIND_CLASSIC, TAMIS_SCHEME_FNV_DCSO, 0, NULL);
    filters[8] = filters[3]; /* a filter may be in the set twice */
    return (tamis_filter_set){filters, FILTERS};
}

static tamis_filter_set make_equal(size_t count) {
    static const tamis_kind kinds[] = {TAMIS_KIND_BLOCKED, TAMIS_KIND_CLASSIC, TAMIS_KIND_FINGERPRINT};
    for (size_t i = 0; i < count; i++)
        make(i, kinds[i % 3], TAMIS_SCHEME_XXH3, 5, NULL);
    return (tamis_filter_set){filters, count};
}

/* Looks up the keys in each filter alone. Returns the number of keys that all filters answer. */
static size_t query_alone(tamis_filter_set set, size_t count) {
    size_t fewest = count;
    for (size_t i = 0; i < set.count; i++) {
        size_t done;
        (void)tamis_filter_contains_many(set.filters[i], keys, count, alone[i], &done, &err);
        fewest = done < fewest ? done : fewest;
    }
    err = (tamis_error)TAMIS_ERROR_INIT;
    return fewest;
}

/* Compares the first `done` of `count` answers with those of the filters alone. */
static void assert_answers(tamis_filter_set set, size_t count, size_t done, bool has_rows) {
    for (size_t j = 0; j < done; j++) {
        tamis_answer expected = TAMIS_ABSENT;
        for (size_t i = 0; i < set.count; i++) {
            expected = alone[i][j] == TAMIS_PRESENT ? TAMIS_PRESENT : expected;
            assert_true(!has_rows || rows[i * count + j] == alone[i][j]);
        }
        assert_int_equal(any[j], expected);
    }
}

static void assert_like_each_alone(tamis_filter_set set, size_t count) {
    const tamis_hasher *hasher = tamis_filter_set_hasher(&set);
    size_t done = 77;
    assert_int_equal(query_alone(set, count), count);
    for (int has_rows = 0; has_rows < 2; has_rows++) {
        memset(any, 9, sizeof any);
        memset(rows, 9, sizeof rows);
        assert_int_equal(
            tamis_filter_set_contains_many(
                &set, keys, count, &(tamis_filter_set_answers){any, has_rows ? rows : NULL}, &done, &err),
            TAMIS_OK);
        assert_int_equal(done, count);
        assert_answers(set, count, count, has_rows);
        if (!hasher)
            continue;
        memset(any, 9, sizeof any);
        assert_int_equal(tamis_hash_many(hasher, keys, count, hashes, &err), TAMIS_OK);
        assert_int_equal(
            tamis_filter_set_contains_hashes(
                &set, hashes, count, &(tamis_filter_set_answers){any, has_rows ? rows : NULL}, NULL, &err),
            TAMIS_OK);
        assert_answers(set, count, count, has_rows);
    }
}

static void answers_are_those_of_each_filter(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 1023, 1024, 1025, KEYS};
    const tamis_filter_set set = make_mixed();
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_like_each_alone(set, counts[i]);
    assert_null(tamis_filter_set_hasher(&set));
}

static void filters_of_one_hasher_take_its_hashes(void **state) {
    (void)state;
    const tamis_filter_set set = make_equal(5);
    assert_ptr_equal(tamis_filter_set_hasher(&set), tamis_filter_hasher(filters[0]));
    assert_like_each_alone(set, KEYS);
    assert_like_each_alone((tamis_filter_set){filters + 2, 1}, 10);
}

static void other_hashes_are_refused(void **state) {
    (void)state;
    const tamis_filter_set set = make_mixed();
    size_t done = 77;
    assert_int_equal(tamis_hash_many(tamis_filter_hasher(filters[0]), keys, KEYS, hashes, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_set_contains_hashes(&set, hashes, KEYS,
                                                      &(tamis_filter_set_answers){any, rows}, &done, &err),
                     TAMIS_E_MISMATCH);
    assert_int_equal(done, 0);
}

static void a_set_without_filters_has_no_key(void **state) {
    (void)state;
    const tamis_filter_set set = {NULL, 0};
    size_t done = 77;
    memset(any, TAMIS_PRESENT, sizeof any);
    assert_int_equal(tamis_filter_set_contains_many(&set, keys, KEYS, &(tamis_filter_set_answers){.any = any},
                                                    &done, &err),
                     TAMIS_OK);
    assert_int_equal(done, KEYS);
    assert_null(memchr(any, TAMIS_PRESENT, KEYS));
    assert_null(tamis_filter_set_hasher(&set));
}

/* ---- parts ---- */

typedef struct part {
    tamis_filter_set set;
    size_t from, end;
    tamis_status by_key, by_hash;
} part;

static tamis_answer any_by_hash[KEYS];

static void *query_part(void *context) {
    part *own = context;
    const size_t count = own->end - own->from;
    own->by_key = tamis_filter_set_contains_many(
        &own->set, keys + own->from, count, &(tamis_filter_set_answers){.any = any + own->from}, NULL, NULL);
    own->by_hash = tamis_filter_set_contains_hashes(
        &own->set, hashes + own->from, count, &(tamis_filter_set_answers){.any = any_by_hash + own->from},
        NULL, NULL);
    return NULL;
}

static void parts_of_a_batch_by_several_threads(void **state) {
    (void)state;
    const tamis_filter_set set = make_equal(4);
    pthread_t threads[THREADS];
    part parts[THREADS];
    assert_int_equal(query_alone(set, KEYS), KEYS);
    assert_int_equal(tamis_hash_many(tamis_filter_set_hasher(&set), keys, KEYS, hashes, &err), TAMIS_OK);
    for (size_t i = 0; i < THREADS; i++) {
        parts[i] = (part){set, KEYS * i / THREADS, KEYS * (i + 1) / THREADS, TAMIS_E_IO, TAMIS_E_IO};
        assert_int_equal(pthread_create(&threads[i], NULL, query_part, &parts[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(parts[i].by_key, TAMIS_OK);
        assert_int_equal(parts[i].by_hash, TAMIS_OK);
    }
    assert_answers(set, KEYS, KEYS, false);
    assert_memory_equal(any, any_by_hash, sizeof any);
}

/* ---- failures ---- */

/* Puts filter i into a file, of which one byte at `share` of its size is damaged. */
static void damage(size_t i, const char *name, double share) {
    tamis_filter *opened = NULL;
    uint8_t byte;
    assert_int_equal(tamis_filter_save(owned[i], scratch(name), &err), TAMIS_OK);
    int fd = open(scratch(name), O_RDWR);
    off_t position = (off_t)((double)lseek(fd, 0, SEEK_END) * share);
    assert_int_equal(pread(fd, &byte, 1, position), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, position), 1);
    close(fd);
    assert_int_equal(tamis_filter_open(&opened, scratch(name), NULL, &err), TAMIS_OK);
    tamis_filter_free(owned[i]);
    filters[i] = owned[i] = opened;
}

/* A filter with a damaged block answers the keys before the first one in that block. The set answers the
 * keys that all filters answer, and gives the error of the next key. */
static void done_is_that_of_the_first_failure(void **state) {
    (void)state;
    size_t done;
    expect = 1000000; /* a file of many blocks */
    scratch_make();
    for (size_t first = 0; first < 3; first++) {
        const tamis_filter_set set = make_equal(4);
        damage(first, "one", 0.4);
        damage((first + 1) % 4, "other", 0.8);
        const size_t fewest = query_alone(set, KEYS);
        assert_in_range(fewest, 1, KEYS - 1);
        assert_int_equal(tamis_filter_set_contains_many(&set, keys, KEYS,
                                                        &(tamis_filter_set_answers){any, rows}, &done, &err),
                         TAMIS_E_DAMAGED);
        assert_int_equal(done, fewest);
        assert_answers(set, KEYS, done, true);
        const char *failed = NULL;
        for (size_t i = 0; i < 4; i++) {
            size_t own;
            if (tamis_filter_contains_many(filters[i], keys, KEYS, alone[i], &own, NULL) != TAMIS_OK &&
                own == fewest)
                failed = scratch(i == first ? "one" : "other");
        }
        assert_non_null(failed);
        assert_non_null(strstr(err.text, failed));
        tear_down(state);
    }
    scratch_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_are_those_of_each_filter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(filters_of_one_hasher_take_its_hashes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_hashes_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_set_without_filters_has_no_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_of_a_batch_by_several_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(done_is_that_of_the_first_failure, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
