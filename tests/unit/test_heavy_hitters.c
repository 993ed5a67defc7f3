/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys that come most often, beside the true counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/census.h>
#include <tamis/hash.h>

#include "support/fault.h"
#include "support/scratch.h"

enum { NAMES = 3000 };

static tamis_heavy_hitters *create(uint32_t slots) {
    tamis_heavy_hitters_options options = TAMIS_HEAVY_HITTERS_OPTIONS_INIT;
    tamis_heavy_hitters *hitters = NULL;
    options.slots = slots;
    assert_int_equal(tamis_heavy_hitters_create(&hitters, &options, NULL), TAMIS_OK);
    return hitters;
}

/* Returns the slot of a key: its XXH3 modulo the slots. */
static size_t slot_of(const tamis_hasher *hasher, tamis_key key, size_t slots) {
    tamis_hash hash;
    assert_int_equal(tamis_hash_many(hasher, &key, 1, &hash, NULL), TAMIS_OK);
    return (size_t)(hash.word[0] % slots);
}

/* Adds random names, small numbers more often, and counts them by name and by slot. */
static void add_random(tamis_heavy_hitters *hitters, uint64_t *adds, uint64_t *of_slot, const size_t *slot) {
    uint64_t random = test_seed(11);
    for (int i = 0; i < 200000; i++) {
        uint64_t number = test_below(&random, NAMES);
        for (int times = 0; times < 3; times++)
            number = test_below(&random, number + 1);
        tamis_key key = {&number, sizeof number};
        tamis_heavy_hitters_add_many(hitters, &key, 1);
        adds[number]++;
        of_slot[slot[number]]++;
    }
}

/* With c of the n adds of its slot, a key has at most c votes, and at least 2c - n if that is above 0. */
static void majorities_are_found(void **state) {
    static const uint32_t slot_counts[] = {1, 7, 64, 1024};
    tamis_hasher *hasher = NULL;
    (void)state;
    assert_int_equal(tamis_hasher_create(&hasher, NULL, NULL), TAMIS_OK);
    for (size_t s = 0; s < sizeof slot_counts / sizeof *slot_counts; s++) {
        static tamis_heavy_hitter list[NAMES];
        uint64_t adds[NAMES] = {0}, of_slot[1024] = {0}, votes[NAMES] = {0};
        size_t slot[NAMES], majorities = 0;
        tamis_heavy_hitters *hitters = create(slot_counts[s]);
        for (uint64_t i = 0; i < NAMES; i++)
            slot[i] = slot_of(hasher, (tamis_key){&i, sizeof i}, slot_counts[s]);
        add_random(hitters, adds, of_slot, slot);
        size_t count = tamis_heavy_hitters_list(hitters, list, NAMES);
        assert_true(count <= slot_counts[s]);
        for (size_t i = 0; i < count; i++) {
            uint64_t number;
            assert_int_equal(list[i].key.size, sizeof number);
            memcpy(&number, list[i].key.data, sizeof number);
            votes[number] = list[i].count;
            assert_true(i == 0 || list[i - 1].count >= list[i].count);
        }
        for (size_t i = 0; i < NAMES; i++) {
            assert_true(votes[i] <= adds[i]);
            if (2 * adds[i] > of_slot[slot[i]]) {
                assert_true(votes[i] >= 2 * adds[i] - of_slot[slot[i]]);
                majorities++;
            }
        }
        assert_true(slot_counts[s] < 1024 || majorities > 400);
        tamis_heavy_hitters_free(hitters);
    }
    tamis_hasher_free(hasher);
}

/* Ten keys with 5 % of all adds each, among as many adds of keys that come once. */
static void heavy_hitters_are_found(void **state) {
    tamis_heavy_hitters *hitters = create(0);
    tamis_heavy_hitter list[20];
    uint64_t found = 0;
    (void)state;
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t number = i % 2 == 0 ? i / 2 % 10 : 1000 + i;
        tamis_heavy_hitters_add_many(hitters, &(tamis_key){&number, sizeof number}, 1);
    }
    assert_int_equal(tamis_heavy_hitters_list(hitters, list, 20), 20);
    for (size_t i = 0; i < 10; i++) {
        uint64_t number;
        memcpy(&number, list[i].key.data, sizeof number);
        assert_true(number < 10 && list[i].count > 9000);
        found |= UINT64_C(1) << number;
    }
    assert_int_equal(found, 1023);
    assert_true(list[10].count < 1000);
    tamis_heavy_hitters_free(hitters);
}

static void keys_of_all_sizes(void **state) {
    static char text[TAMIS_HEAVY_HITTER_SIZE_MAX + 1];
    tamis_heavy_hitters *hitters = create(0);
    tamis_heavy_hitter list[3];
    const tamis_key keys[] = {{NULL, 0},           {text, sizeof text}, /* not counted */
                              {text, sizeof text}, {text, sizeof text},     {text, sizeof text - 1},
                              {NULL, 0},           {text, sizeof text - 1}, {text, sizeof text - 1}};
    (void)state;
    assert_int_equal(tamis_heavy_hitters_list(hitters, list, 3), 0);
    memset(text, 'x', sizeof text);
    tamis_heavy_hitters_add_many(hitters, keys, sizeof keys / sizeof *keys);
    assert_int_equal(tamis_heavy_hitters_list(hitters, list, 0), 0);
    assert_int_equal(tamis_heavy_hitters_list(hitters, list, 3), 2);
    assert_int_equal(list[0].key.size, TAMIS_HEAVY_HITTER_SIZE_MAX);
    assert_int_equal(list[0].count, 3);
    assert_memory_equal(list[0].key.data, text, TAMIS_HEAVY_HITTER_SIZE_MAX);
    assert_int_equal(list[1].key.size, 0);
    assert_int_equal(list[1].count, 2);
    tamis_heavy_hitters_free(hitters);
}

static void refuses_what_it_cannot_use(void **state) {
    tamis_heavy_hitters_options options = TAMIS_HEAVY_HITTERS_OPTIONS_INIT;
    fault_memory memory = {.fail_at = 1};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_heavy_hitters *hitters = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    (void)state;
    assert_int_equal(tamis_heavy_hitters_create(NULL, NULL, &err), TAMIS_E_INVALID);
    options.allocator = &allocator;
    assert_int_equal(tamis_heavy_hitters_create(&hitters, &options, &err), TAMIS_E_NOMEM);
    options.struct_size = 0;
    assert_int_equal(tamis_heavy_hitters_create(&hitters, &options, &err), TAMIS_E_INVALID);
    assert_null(hitters);
    tamis_heavy_hitters_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(majorities_are_found),
        cmocka_unit_test(heavy_hitters_are_found),
        cmocka_unit_test(keys_of_all_sizes),
        cmocka_unit_test(refuses_what_it_cannot_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
