/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/fault.h"

static bool is_zero(const unsigned char *block, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (block[i])
            return false;
    return true;
}

static void blocks_are_aligned_and_zero(void **state) {
    (void)state;
    tamis_allocator memory = tamis__allocator_resolve(NULL);
    static const size_t sizes[] = {1,      7, 63, 64, 65, 1000, 4096, TAMIS__MAP_FROM - 1, TAMIS__MAP_FROM,
                                   1000001};
    for (size_t align = 1; align <= TAMIS__LINE; align *= 2) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            for (int again = 0; again < 3; again++) { /* a reused block is zeroed again */
                unsigned char *block = tamis__alloc(&memory, sizes[i], align);
                assert_non_null(block);
                assert_int_equal((uintptr_t)block % align, 0);
                assert_true(is_zero(block, sizes[i]));
                memset(block, 0xff, sizes[i]);
                tamis__free(&memory, block, sizes[i]);
            }
        }
    }
}

static void large_blocks_are_mapped_and_given_back(void **state) {
    (void)state;
    tamis_allocator memory = tamis__allocator_resolve(NULL);
    fault_install();
    fault_arm(FAULT_MAP, 0, 0, false);
    void *small = tamis__alloc(&memory, TAMIS__MAP_FROM - 1, TAMIS__LINE);
    assert_int_equal(fault_calls(FAULT_MAP), 0);
    void *large = tamis__alloc(&memory, TAMIS__MAP_FROM, TAMIS__LINE);
    assert_int_equal(fault_calls(FAULT_MAP), 1);
    assert_true(small && large);
    tamis__free(&memory, small, TAMIS__MAP_FROM - 1);
    assert_int_equal(fault_calls(FAULT_UNMAP), 0);
    tamis__free(&memory, large, TAMIS__MAP_FROM);
    assert_int_equal(fault_calls(FAULT_UNMAP), 1);

    fault_arm(FAULT_MAP, 1, ENOMEM, false);
    assert_null(tamis__alloc(&memory, TAMIS__MAP_FROM, TAMIS__LINE));
    fault_remove();
}

static void sizes_past_reason_are_refused(void **state) {
    (void)state;
    fault_memory counted = {0};
    tamis_allocator memory = tamis__allocator_resolve(NULL), own = fault_memory_allocator(&counted);
    static const size_t sizes[] = {(size_t)PTRDIFF_MAX + 1, SIZE_MAX - 63, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_null(tamis__alloc(&memory, sizes[i], TAMIS__LINE));
        assert_null(tamis__alloc(&own, sizes[i], TAMIS__LINE));
    }
    assert_int_equal(counted.requests, 0);                        /* the caller's allocator never sees them */
    assert_null(tamis__alloc(&memory, PTRDIFF_MAX, TAMIS__LINE)); /* the system refuses this one */
}

static void the_callers_allocator_is_used(void **state) {
    (void)state;
    fault_memory counted = {0};
    tamis_allocator own = fault_memory_allocator(&counted), memory = tamis__allocator_resolve(&own);
    void *block = tamis__alloc(&memory, 1000000, 64);
    assert_non_null(block);
    assert_int_equal(counted.requests, 1);
    assert_int_equal(counted.live_bytes, 1000000);
    tamis__free(&memory, block, 1000000);
    tamis__free(&memory, NULL, 1000000); /* never reaches the allocator, which would abort */
    assert_int_equal(counted.live_blocks, 0);
}

static void an_empty_row_means_the_default(void **state) {
    (void)state;
    tamis_allocator none = {NULL, NULL, NULL}, memory = tamis__allocator_resolve(&none);
    void *block = tamis__alloc(&memory, 10, 8);
    assert_non_null(block);
    tamis__free(&memory, block, 10);
}

static void an_array_grows_and_keeps_its_items(void **state) {
    (void)state;
    fault_memory counted = {0};
    tamis_allocator memory = fault_memory_allocator(&counted);
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (size_t count = 0; count < 1000; count++) {
        uint32_t *grown = tamis__array_reserve(&memory, items, sizeof *items, count + 1, &capacity);
        assert_non_null(grown);
        assert_true(capacity > count);
        assert_int_equal(grown[count], 0);
        items = grown;
        items[count] = (uint32_t)count + 1;
        assert_int_equal(counted.live_bytes, capacity * sizeof *items);
    }
    assert_in_range(counted.requests, 1, 10); /* the array doubles */
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], i + 1);
    assert_ptr_equal(tamis__array_reserve(&memory, items, sizeof *items, capacity, &capacity), items);
    const size_t before = capacity;
    assert_null(tamis__array_reserve(&memory, items, sizeof *items, SIZE_MAX, &capacity));
    assert_null(tamis__array_reserve(&memory, items, sizeof *items, SIZE_MAX / 4 + 2, &capacity));
    counted.fail_at = counted.requests + 1;
    assert_null(tamis__array_reserve(&memory, items, sizeof *items, capacity + 1, &capacity));
    assert_int_equal(capacity, before);
    assert_int_equal(items[999], 1000);
    counted.fail_at = 0;
    items = tamis__array_reserve(&memory, items, sizeof *items, 5 * before, &capacity);
    assert_int_equal(capacity, 5 * before);
    tamis__free(&memory, items, capacity * sizeof *items);
    assert_int_equal(counted.live_blocks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_zero),
        cmocka_unit_test(large_blocks_are_mapped_and_given_back),
        cmocka_unit_test(sizes_past_reason_are_refused),
        cmocka_unit_test(the_callers_allocator_is_used),
        cmocka_unit_test(an_empty_row_means_the_default),
        cmocka_unit_test(an_array_grows_and_keeps_its_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
