/* SPDX-License-Identifier: BSD-2-Clause */

/* Unconfirmed adds: keys whose add failed are kept until they are answered.
 * tests/unit/test_redis_connection_lost.c tests them with a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "store/redis/filter/redis_unconfirmed.h"
#include "support/fault.h"
#include "support/scratch.h"

enum { KEPT = 1000, COUNT = 2 * KEPT };

static uint64_t numbers[COUNT];
static tamis_key keys[COUNT];
static tamis_hash hashes[COUNT];
static const tamis__key_batch by_key = {.keys = keys, .count = COUNT},
                              by_hash = {.hashes = hashes, .count = COUNT};
static tamis_filter filter;

static int set_up(void **state) {
    (void)state;
    for (uint64_t i = 0; i < COUNT; i++) {
        numbers[i] = i * UINT64_C(0x9e3779b97f4a7c15);
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    return 0;
}

static void begin_test(tamis_scheme scheme) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    options.scheme = scheme;
    memset(&filter, 0, sizeof filter);
    filter.allocator = tamis__allocator_resolve(NULL);
    filter.plan.scheme = scheme;
    assert_int_equal(tamis_hasher_create(&filter.hasher, &options, NULL), TAMIS_OK);
}

static void keep(tamis__unconfirmed_adds *unconfirmed_adds, const tamis__key_batch *queried, size_t count) {
    for (size_t i = 0; i < count; i++)
        tamis__unconfirmed_adds_insert(
            unconfirmed_adds, tamis__unconfirmed_adds_fingerprint(&filter, queried, i), &filter.allocator);
}

static void answer_one(tamis__unconfirmed_adds *unconfirmed_adds, const tamis__key_batch *queried, size_t i,
                       tamis_answer *answer) {
    if (tamis__unconfirmed_adds_remove(unconfirmed_adds,
                                       tamis__unconfirmed_adds_fingerprint(&filter, queried, i)) &&
        *answer == TAMIS_PRESENT)
        *answer = TAMIS_UNKNOWN;
}

/* Gives all keys the answer `was`. Returns how many of them, beginning with the first, become
 * TAMIS_UNKNOWN. */
static size_t answer_all(tamis__unconfirmed_adds *unconfirmed_adds, const tamis__key_batch *queried,
                         tamis_answer was) {
    tamis_answer answers[COUNT];
    size_t unknown = 0;
    memset(answers, was, sizeof answers);
    for (size_t i = 0; i < COUNT; i++)
        answer_one(unconfirmed_adds, queried, i, &answers[i]);
    while (unknown < COUNT && answers[unknown] == TAMIS_UNKNOWN)
        unknown++;
    for (size_t i = unknown; i < COUNT; i++)
        assert_int_equal(answers[i], was);
    return unknown;
}

static void a_kept_key_is_unknown_once(void **state) {
    (void)state;
    begin_test(TAMIS_SCHEME_XXH3);
    tamis__unconfirmed_adds unconfirmed_adds = {0};
    assert_int_equal(answer_all(&unconfirmed_adds, &by_key, TAMIS_PRESENT), 0);
    for (int round = 0; round < 2; round++) {
        keep(&unconfirmed_adds, &by_key, KEPT);
        keep(&unconfirmed_adds, &by_key, KEPT); /* failed twice */
        assert_int_equal(unconfirmed_adds.count, KEPT);
        assert_int_equal(answer_all(&unconfirmed_adds, &by_key, TAMIS_PRESENT), KEPT);
        assert_int_equal(unconfirmed_adds.count, 0);
        assert_int_equal(answer_all(&unconfirmed_adds, &by_key, TAMIS_PRESENT), 0);
    }
    /* If the answer is TAMIS_ABSENT, the failed add had no effect. */
    keep(&unconfirmed_adds, &by_key, KEPT);
    assert_int_equal(answer_all(&unconfirmed_adds, &by_key, TAMIS_ABSENT), 0);
    assert_int_equal(answer_all(&unconfirmed_adds, &by_key, TAMIS_PRESENT), 0);
    tamis__unconfirmed_adds_release(&unconfirmed_adds, &filter.allocator);
    tamis_hasher_free(filter.hasher);
}

/* Keys are removed in any order; the others are still found. */
static void the_other_keys_are_still_found(void **state) {
    (void)state;
    begin_test(TAMIS_SCHEME_BKDR63);
    uint64_t random = test_seed(11);
    tamis__unconfirmed_adds unconfirmed_adds = {0};
    bool is_kept[COUNT] = {false};
    for (int turn = 0; turn < 40 * COUNT; turn++) {
        const size_t i = test_below(&random, COUNT);
        const tamis__key_batch batch = {.keys = &keys[i], .count = 1};
        tamis_answer answer = TAMIS_PRESENT;
        if (test_below(&random, 2)) {
            tamis__unconfirmed_adds_insert(&unconfirmed_adds,
                                           tamis__unconfirmed_adds_fingerprint(&filter, &batch, 0),
                                           &filter.allocator);
            is_kept[i] = true;
            continue;
        }
        answer_one(&unconfirmed_adds, &batch, 0, &answer);
        assert_int_equal(answer, is_kept[i] ? TAMIS_UNKNOWN : TAMIS_PRESENT);
        is_kept[i] = false;
    }
    tamis__unconfirmed_adds_release(&unconfirmed_adds, &filter.allocator);
    tamis_hasher_free(filter.hasher);
}

static void a_key_is_recognised_by_its_hash(void **state) {
    (void)state;
    static const tamis_scheme schemes[] = {TAMIS_SCHEME_XXH3, TAMIS_SCHEME_GUAVA64, TAMIS_SCHEME_REDISSON};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        begin_test(schemes[i]);
        tamis__unconfirmed_adds unconfirmed_adds = {0};
        assert_int_equal(tamis_hash_many(filter.hasher, keys, COUNT, hashes, NULL), TAMIS_OK);
        keep(&unconfirmed_adds, &by_key, KEPT);
        assert_int_equal(answer_all(&unconfirmed_adds, &by_hash, TAMIS_PRESENT), KEPT);
        tamis__unconfirmed_adds_release(&unconfirmed_adds, &filter.allocator);
        tamis_hasher_free(filter.hasher);
    }
}

/* If there are too many, or no memory for them, no answer is TAMIS_PRESENT any more. */
static void keys_that_cannot_be_kept_make_all_unknown(void **state) {
    (void)state;
    begin_test(TAMIS_SCHEME_XXH3);
    tamis__unconfirmed_adds unconfirmed_adds = {0};
    for (uint64_t i = 0; i <= TAMIS__UNCONFIRMED_ADDS_MAX; i++) {
        const tamis_key key = {&i, sizeof i};
        assert_int_equal(unconfirmed_adds.count, i);
        assert_false(unconfirmed_adds.every);
        tamis__unconfirmed_adds_insert(
            &unconfirmed_adds,
            tamis__unconfirmed_adds_fingerprint(&filter, &(tamis__key_batch){.keys = &key, .count = 1}, 0),
            &filter.allocator);
    }
    assert_int_equal(answer_all(&unconfirmed_adds, &by_key, TAMIS_PRESENT), COUNT);
    assert_int_equal(answer_all(&unconfirmed_adds, &by_key, TAMIS_ABSENT), 0);
    tamis__unconfirmed_adds_release(&unconfirmed_adds, &filter.allocator);

    fault_memory memory = {.fail_at = 1};
    const tamis_allocator own = filter.allocator;
    filter.allocator = fault_memory_allocator(&memory);
    tamis__unconfirmed_adds_insert(
        &unconfirmed_adds, tamis__unconfirmed_adds_fingerprint(&filter, &by_key, 0), &filter.allocator);
    assert_int_equal(answer_all(&unconfirmed_adds, &by_key, TAMIS_PRESENT), COUNT);
    tamis__unconfirmed_adds_release(&unconfirmed_adds, &filter.allocator);
    filter.allocator = own;
    tamis_hasher_free(filter.hasher);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_key_is_unknown_once),
        cmocka_unit_test(the_other_keys_are_still_found),
        cmocka_unit_test(a_key_is_recognised_by_its_hash),
        cmocka_unit_test(keys_that_cannot_be_kept_make_all_unknown),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
