/* SPDX-License-Identifier: BSD-2-Clause */

/* Removing keys: what every kind that can do it promises, and what the others refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"
#include "support/stored.h"

enum { KEYS = 3000 };

static tamis_filter *make(tamis_kind kind, uint64_t expect, bool concurrent) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    plan_options.kind = kind;
    plan_options.expect = expect;
    options.concurrent = concurrent;
    if (tamis_plan_make(&plan, &plan_options, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

/* The keys from, from + step, ... below KEYS, as 8 bytes each. */
static size_t keys_of(tamis_key *keys, uint64_t from, uint64_t step) {
    static uint64_t numbers[KEYS];
    size_t count = 0;
    for (uint64_t i = from; i < KEYS; i += step) {
        numbers[i] = i;
        keys[count++] = (tamis_key){&numbers[i], sizeof *numbers};
    }
    return count;
}

static void assert_answers(const tamis_answer *answers, size_t count, tamis_answer expected) {
    for (size_t i = 0; i < count; i++)
        assert_int_equal(answers[i], expected);
}

/* Adds all keys, removes every third one twice, and adds these again. */
static void check_removal(tamis_filter *filter) {
    tamis_key keys[KEYS];
    tamis_answer answers[KEYS];
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    size_t done = 0, count = keys_of(keys, 0, 1);
    assert_true(tamis_filter_can(filter, TAMIS_CAN_REMOVE));
    assert_int_equal(tamis_filter_add_many(filter, keys, count, answers, &done, NULL), TAMIS_OK);
    count = keys_of(keys, 0, 3);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(tamis_filter_remove_many(filter, keys, count, answers, &done, NULL), TAMIS_OK);
        assert_int_equal(done, count);
        assert_answers(answers, count, round == 0 ? TAMIS_PRESENT : TAMIS_ABSENT);
    }
    assert_int_equal(tamis_filter_info_get(filter, &info, NULL), TAMIS_OK);
    assert_int_equal(info.added, KEYS - count);
    assert_int_equal(tamis_filter_contains_many(filter, keys, count, answers, NULL, NULL), TAMIS_OK);
    assert_answers(answers, count, TAMIS_ABSENT);
    for (uint64_t from = 1; from < 3; from++) {
        const size_t others = keys_of(keys, from, 3);
        assert_int_equal(tamis_filter_contains_many(filter, keys, others, answers, NULL, NULL), TAMIS_OK);
        assert_answers(answers, others, TAMIS_PRESENT);
    }
    count = keys_of(keys, 0, 3);
    assert_int_equal(tamis_filter_add_many(filter, keys, count, answers, NULL, NULL), TAMIS_OK);
    assert_answers(answers, count, TAMIS_ABSENT);
    assert_int_equal(tamis_filter_remove_many(filter, keys, count, NULL, NULL, NULL), TAMIS_OK);
}

static void removed_keys_are_absent_and_the_others_stay(void **state) {
    (void)state;
    for (int i = 0; i < 5; i++) {
        tamis_filter *filter =
            i < 4 ? make(TAMIS_KIND_EXACT, i % 2 ? KEYS : 0, i / 2) : make(TAMIS_KIND_CUCKOO, KEYS, false);
        tamis_filter *copy = NULL;
        check_removal(filter);
        assert_int_equal(tamis_filter_copy(&copy, filter, NULL), TAMIS_OK);
        assert_true(tamis_filter_is_equal(copy, filter));
        tamis_filter_free(copy);
        tamis_filter_free(filter);
    }
}

static void hashes_and_single_keys_can_be_removed(void **state) {
    (void)state;
    tamis_filter *filter = make(TAMIS_KIND_EXACT, 100, false);
    tamis_filter *other = make(TAMIS_KIND_CLASSIC, 100, false);
    tamis_hash hash, foreign;
    tamis_answer answer = TAMIS_UNKNOWN;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_hasher *seeded = NULL;
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    size_t done = 7;
    const tamis_key key = {"a", 1};
    options.scheme = TAMIS_SCHEME_XXH3;
    options.seed = 1;
    assert_int_equal(tamis_hasher_create(&seeded, &options, NULL), TAMIS_OK);
    assert_int_equal(tamis_hash_many(seeded, &key, 1, &foreign, NULL), TAMIS_OK);
    assert_int_equal(tamis_hash_many(tamis_filter_hasher(filter), &key, 1, &hash, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_add(filter, "a", 1, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_remove_hashes(filter, &foreign, 1, &answer, &done, NULL), TAMIS_E_MISMATCH);
    assert_int_equal(done, 0);
    assert_int_equal(answer, TAMIS_UNKNOWN);
    assert_int_equal(tamis_filter_remove_hashes(filter, &hash, 1, &answer, &done, NULL), TAMIS_OK);
    assert_int_equal(done, 1);
    assert_int_equal(answer, TAMIS_PRESENT);
    assert_int_equal(tamis_filter_remove(filter, "a", 1, &answer, NULL), TAMIS_OK);
    assert_int_equal(answer, TAMIS_ABSENT);
    assert_int_equal(tamis_filter_remove(filter, "a", 1, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_remove(other, "a", 1, &answer, &err), TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "kind classic cannot remove keys"));
    tamis_hasher_free(seeded);
    tamis_filter_free(filter);
    tamis_filter_free(other);
}

/* A union of exact tables of different sizes has each key once, so that a single removal suffices. */
static void a_key_of_both_filters_of_a_union_is_removed_once(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 100, KEYS, 7 * KEYS};
    for (size_t i = 0; i < 16; i++) {
        tamis_filter *into = make(TAMIS_KIND_EXACT, sizes[i / 4], false);
        tamis_filter *from = make(TAMIS_KIND_EXACT, sizes[i % 4], false);
        tamis_key keys[KEYS];
        tamis_answer answers[KEYS];
        const size_t count = keys_of(keys, 0, 1);
        assert_int_equal(tamis_filter_add_many(into, keys, count, NULL, NULL, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_add_many(from, keys, count, NULL, NULL, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_union(into, from, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_remove_many(into, keys, count, answers, NULL, NULL), TAMIS_OK);
        assert_answers(answers, count, TAMIS_PRESENT);
        assert_int_equal(tamis_filter_contains_many(into, keys, count, answers, NULL, NULL), TAMIS_OK);
        assert_answers(answers, count, TAMIS_ABSENT);
        tamis_filter_free(into);
        tamis_filter_free(from);
    }
}

static void assert_refused(tamis_filter *filter, const char *why) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_answer answer = TAMIS_UNKNOWN;
    uint64_t key = 1;
    size_t done = 7;
    const tamis_key keys = {&key, sizeof key};
    assert_int_equal(tamis_filter_remove_many(filter, &keys, 1, &answer, &done, &err), TAMIS_E_UNSUPPORTED);
    assert_int_equal(done, 0);
    assert_int_equal(answer, TAMIS_UNKNOWN);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

static void who_cannot_remove_says_why(void **state) {
    (void)state;
    static const tamis_kind kinds[] = {TAMIS_KIND_CLASSIC, TAMIS_KIND_BLOCKED, TAMIS_KIND_FINGERPRINT};
    for (size_t i = 0; i < 3; i++) {
        tamis_filter *filter = stored_make(kinds[i], 0, 10);
        assert_false(tamis_filter_can(filter, TAMIS_CAN_REMOVE));
        assert_refused(filter, "cannot remove keys");
        assert_true(stored_has(filter, 0, 10));
        tamis_filter_free(filter);
    }
    scratch_make();
    const char *path = scratch("exact.tamis");
    tamis_filter *filter = stored_make(TAMIS_KIND_EXACT, 0, 10), *opened = NULL;
    assert_int_equal(tamis_filter_save(filter, path, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_open(&opened, path, NULL, NULL), TAMIS_OK);
    assert_true(tamis_filter_can(opened, TAMIS_CAN_REMOVE));
    assert_refused(opened, "opened file");
    tamis_filter_free(opened);
    tamis_filter_free(filter);
    scratch_remove();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removed_keys_are_absent_and_the_others_stay),
        cmocka_unit_test(hashes_and_single_keys_can_be_removed),
        cmocka_unit_test(a_key_of_both_filters_of_a_union_is_removed_once),
        cmocka_unit_test(who_cannot_remove_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
