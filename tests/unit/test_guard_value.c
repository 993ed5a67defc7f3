/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "service/guard/guard_value.h"

static void test_value_outlives_other_references(void **state) {
    (void)state;
    guard_blob *blob = tamis__guard_blob_create(NULL, "row", 3);
    tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;

    assert_non_null(blob);
    tamis__guard_blob_move(tamis__guard_blob_share(blob), &value);
    tamis__guard_blob_release(blob);
    assert_int_equal(value.outcome, TAMIS_GUARD_FOUND);
    assert_int_equal(value.size, 3);
    assert_memory_equal(value.data, "row", 3);
    tamis_guard_value_release(&value);
    assert_int_equal(value.outcome, TAMIS_GUARD_PENDING);
    tamis_guard_value_release(&value);
}

static void test_null_is_no_value_of_no_bytes(void **state) {
    (void)state;
    guard_blob *null = tamis__guard_blob_create(NULL, NULL, 0),
               *empty = tamis__guard_blob_create(NULL, "", 0);
    tamis_guard_value value = TAMIS_GUARD_VALUE_INIT;

    assert_true(tamis__guard_blob_is_null(null));
    assert_false(tamis__guard_blob_is_null(empty));
    assert_int_equal(tamis__guard_blob_bytes(empty).size, 0);
    tamis__guard_blob_move(null, &value);
    assert_int_equal(value.outcome, TAMIS_GUARD_MISSING);
    tamis_guard_value_release(&value);
    tamis__guard_blob_move(empty, &value);
    assert_int_equal(value.outcome, TAMIS_GUARD_FOUND);
    assert_int_equal(value.size, 0);
    tamis_guard_value_release(&value);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_outlives_other_references),
        cmocka_unit_test(test_null_is_no_value_of_no_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
