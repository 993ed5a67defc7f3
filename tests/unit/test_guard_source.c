/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "service/guard/guard_source.h"
#include "support/fault.h"

static void test_last_value_of_a_row_counts(void **state) {
    (void)state;
    fault_memory memory = {0};
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_guard_row row = {.allocator = &allocator};

    assert_int_equal(tamis_guard_row_set(&row, "first", 5, NULL), TAMIS_OK);
    assert_int_equal(tamis_guard_row_set(&row, "second", 6, NULL), TAMIS_OK);
    assert_int_equal(tamis__guard_blob_bytes(row.blob).size, 6);
    assert_memory_equal(tamis__guard_blob_bytes(row.blob).data, "second", 6);
    assert_int_equal(memory.live_blocks, 1);
    assert_int_equal(tamis_guard_row_set(&row, NULL, 0, NULL), TAMIS_OK);
    assert_false(tamis__guard_blob_is_null(row.blob));
    assert_int_equal(tamis__guard_blob_bytes(row.blob).size, 0);
    tamis__guard_blob_release(row.blob);
    assert_int_equal(memory.live_blocks, 0);
}

static void test_failure_keeps_the_value(void **state) {
    (void)state;
    fault_memory memory = {.fail_at = 2, .onwards = true};
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_guard_row row = {.allocator = &allocator};
    tamis_error err = TAMIS_ERROR_INIT;

    assert_int_equal(tamis_guard_row_set(&row, "kept", 4, &err), TAMIS_OK);
    assert_int_equal(tamis_guard_row_set(&row, "other", 5, &err), TAMIS_E_NOMEM);
    assert_int_equal(tamis_guard_row_set(&row, "", TAMIS_GUARD_VALUE_MAX + 1, &err), TAMIS_E_TOO_LONG);
    assert_int_equal(tamis_guard_row_set(&row, NULL, 1, &err), TAMIS_E_INVALID);
    assert_memory_equal(tamis__guard_blob_bytes(row.blob).data, "kept", 4);
    tamis__guard_blob_release(row.blob);
}

typedef struct key_counter {
    size_t count;
    tamis_status status;
} key_counter;

static tamis_status count_keys(void *context, const tamis_key *keys, size_t count, tamis_error *err) {
    key_counter *counter = context;
    (void)keys;
    (void)err;
    counter->count += count;
    return counter->status;
}

static void test_keys_reach_the_scan(void **state) {
    (void)state;
    key_counter counter = {0, TAMIS_OK};
    tamis_guard_scan scan = {count_keys, &counter};
    const tamis_key keys[] = {{"a", 1}, {"b", 1}};

    assert_int_equal(tamis_guard_scan_add(&scan, keys, 2, NULL), TAMIS_OK);
    assert_int_equal(tamis_guard_scan_add(&scan, NULL, 0, NULL), TAMIS_OK);
    assert_int_equal(counter.count, 2);
    counter.status = TAMIS_E_FULL;
    assert_int_equal(tamis_guard_scan_add(&scan, keys, 1, NULL), TAMIS_E_FULL);
    assert_int_equal(tamis_guard_scan_add(&scan, NULL, 1, NULL), TAMIS_E_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_value_of_a_row_counts),
        cmocka_unit_test(test_failure_keeps_the_value),
        cmocka_unit_test(test_keys_reach_the_scan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
