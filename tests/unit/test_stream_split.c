/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "stream/split.h"

static tamis__stretch stretch_of(const char *text, size_t size, uint64_t max_record) {
    const unsigned char *data = (const unsigned char *)text;
    return (tamis__stretch){data, data, data + size, max_record, '\n'};
}

static void assert_key(const tamis_key *key, const char *text, size_t size) {
    assert_int_equal(key->size, size);
    assert_memory_equal(key->data, text, size);
}

static void cuts_whole_records(void **state) {
    (void)state;
    tamis_key keys[8];
    tamis__stretch stretch = stretch_of("one\n\nt\0wo\r\nrest", 15, 100);
    assert_int_equal(tamis__split(&stretch, keys, 8), 3);
    assert_key(&keys[0], "one", 3);
    assert_key(&keys[1], "", 0);
    assert_key(&keys[2], "t\0wo\r", 5);
    assert_int_equal(stretch.end - stretch.start, 4);
    assert_ptr_equal(stretch.scan, stretch.end);
}

static void stops_at_capacity(void **state) {
    (void)state;
    tamis_key keys[2];
    tamis__stretch stretch = stretch_of("a\nb\nc\n", 6, 100);
    assert_int_equal(tamis__split(&stretch, keys, 2), 2);
    assert_ptr_equal(stretch.scan, stretch.start);
    assert_int_equal(tamis__split(&stretch, keys, 2), 1);
    assert_key(&keys[0], "c", 1);
    assert_int_equal(tamis__split(&stretch, keys, 2), 0);
    assert_ptr_equal(stretch.scan, stretch.end);
}

static void stops_before_a_long_record(void **state) {
    (void)state;
    tamis_key keys[8];
    tamis__stretch stretch = stretch_of("ab\nabc\nabcd\na\n", 14, 3);
    assert_int_equal(tamis__split(&stretch, keys, 8), 2);
    assert_int_equal(tamis__split(&stretch, keys, 8), 0);
    assert_true(stretch.scan < stretch.end);
}

static void looks_from_scan_on(void **state) {
    (void)state;
    tamis_key keys[8];
    tamis__stretch stretch = stretch_of("abcdef\n", 7, 100);
    stretch.scan += 6;
    assert_int_equal(tamis__split(&stretch, keys, 8), 1);
    assert_key(&keys[0], "abcdef", 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_whole_records),
        cmocka_unit_test(stops_at_capacity),
        cmocka_unit_test(stops_before_a_long_record),
        cmocka_unit_test(looks_from_scan_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
