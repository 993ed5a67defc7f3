/* SPDX-License-Identifier: BSD-2-Clause */
/* The overlay of a transaction: an exact set in order. */
#include "kafka/overlay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"

static void add_at(tamis__overlay *overlay, tamis_hash hash, int64_t time) {
    const tamis_allocator memory = tamis__allocator_resolve(NULL);

    assert_int_equal(tamis__overlay_add(overlay, &memory, hash, time, NULL), TAMIS_OK);
}

/* Adds a hash that is not a member yet. */
static bool add(tamis__overlay *overlay, uint64_t first, uint64_t second) {
    const tamis_hash hash = {{first, second}, 9};

    if (tamis__overlay_has(overlay, &hash, 0, 0))
        return false;
    add_at(overlay, hash, 0);
    assert_true(tamis__overlay_has(overlay, &hash, 0, 0));
    return true;
}

/* Some keys at several times each: found exactly within ranges that have one of them. */
static void times_count(void **state) {
    tamis__overlay overlay = {0};

    (void)state;
    for (int64_t time = 0; time < 100; time += 10)
        for (uint64_t key = 0; key < 300; key++)
            if ((key + (uint64_t)time / 10) % 3 == 0)
                add_at(&overlay, (tamis_hash){{key % 5, key}, 9}, time);
    for (uint64_t key = 0; key < 300; key++)
        for (int64_t from = 0; from < 100; from += 7)
            for (int64_t to = from; to < 110; to += 9) {
                const tamis_hash hash = {{key % 5, key}, 9};
                bool expected = false;
                for (int64_t time = 0; time < 100; time += 10)
                    expected |= (key + (uint64_t)time / 10) % 3 == 0 && time >= from && time <= to;
                assert_int_equal(tamis__overlay_has(&overlay, &hash, from, to), expected);
            }
    for (size_t i = 1; i < overlay.count; i++)
        assert_true(overlay.times[i - 1] <= overlay.times[i]); /* in the order in which they came */
    tamis__overlay_release(&overlay);
}

static void special_values(void **state) {
    static const uint64_t values[] = {0, 1, UINT64_MAX};
    tamis__overlay overlay = {0};

    (void)state;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < 3; i++)
            for (size_t k = 0; k < 3; k++)
                assert_int_equal(add(&overlay, values[i], values[k]), round == 0);
    assert_int_equal(overlay.count, 9);
    tamis__overlay_release(&overlay);
}

/* 1, 2, ... with all low bits equal: one cluster of slots. */
static void keeps_order_and_clusters(void **state) {
    tamis__overlay overlay = {0};

    (void)state;
    for (uint64_t i = 0; i < 5000; i++)
        assert_true(add(&overlay, i << 40, i));
    for (uint64_t i = 0; i < 5000; i++) {
        assert_false(add(&overlay, i << 40, i));
        assert_int_equal(overlay.hashes[i].word[1], i);
        assert_int_equal(overlay.hashes[i].hasher_id, 9);
    }
    tamis__overlay_release(&overlay);
}

/* One cluster of slots that all have the same half of a hash: the other bits tell the keys apart. */
static void compares_whole_hashes(void **state) {
    tamis__overlay overlay = {0};

    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        assert_true(add(&overlay, i << 20, 7));
        assert_true(add(&overlay, i << 20, 8));
    }
    for (uint64_t i = 0; i < 1000; i++)
        assert_false(add(&overlay, i << 20, 7) || add(&overlay, i << 20, 8));
    assert_int_equal(overlay.count, 2000);
    tamis__overlay_release(&overlay);
}

static void empty_forgets(void **state) {
    tamis__overlay overlay = {0};

    (void)state;
    tamis__overlay_empty(&overlay);
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 100000; i++)
            assert_true(add(&overlay, i * UINT64_C(0x9e3779b97f4a7c15), i));
        tamis__overlay_empty(&overlay);
        assert_int_equal(overlay.count, 0);
    }
    tamis__overlay_release(&overlay);
}

static void undo_removes_the_last(void **state) {
    tamis__overlay overlay = {0};

    (void)state;
    for (uint64_t i = 0; i < 2000; i++) {
        assert_true(add(&overlay, i % 7, i));
        tamis__overlay_undo(&overlay);
        assert_true(add(&overlay, i % 7, i));
    }
    for (uint64_t i = 0; i < 2000; i++)
        assert_false(add(&overlay, i % 7, i));
    assert_int_equal(overlay.count, 2000);
    tamis__overlay_release(&overlay);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_values),
        cmocka_unit_test(times_count),
        cmocka_unit_test(keeps_order_and_clusters),
        cmocka_unit_test(compares_whole_hashes),
        cmocka_unit_test(empty_forgets),
        cmocka_unit_test(undo_removes_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
