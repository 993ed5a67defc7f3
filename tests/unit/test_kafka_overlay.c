/* SPDX-License-Identifier: BSD-2-Clause */
/* The overlay of a transaction: an exact set in order. */
#include "kafka/overlay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"

static bool add(tamis__overlay *overlay, uint64_t first, uint64_t second) {
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    bool added = false;

    assert_int_equal(tamis__overlay_add(overlay, &memory, (tamis_hash){{first, second}, 9}, &added, NULL),
                     TAMIS_OK);
    return added;
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
        cmocka_unit_test(keeps_order_and_clusters),
        cmocka_unit_test(empty_forgets),
        cmocka_unit_test(undo_removes_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
