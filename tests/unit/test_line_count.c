/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "filter/line_count.h"

/* Every number of bits, including whole bytes and pairs of bytes, from both ends. */
static void test_ones(void **state) {
    (void)state;
    uint64_t low[8] = {0}, high[8] = {0};
    for (uint64_t bits = 0; bits <= 512; bits++) {
        assert_int_equal(tamis__line_ones(low), bits);
        assert_int_equal(tamis__line_ones(high), bits);
        if (bits < 512) {
            low[bits / 64] |= UINT64_C(1) << bits % 64;
            high[7 - bits / 64] |= UINT64_C(1) << (63 - bits % 64);
        }
    }
}

static void test_scattered(void **state) {
    (void)state;
    uint64_t x = 7;
    for (int round = 0; round < 1000; round++) {
        uint64_t line[8], ones = 0;
        for (int i = 0; i < 8; i++) {
            x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            line[i] = x ^ x >> 31;
            for (int bit = 0; bit < 64; bit++)
                ones += line[i] >> bit & 1;
        }
        assert_int_equal(tamis__line_ones(line), ones);
    }
}

/* A whole line of 8 words, then a shorter one; no words. */
static void test_lines(void **state) {
    (void)state;
    uint64_t words[11] = {1, 0, 0, 0, 0, 0, 0, 3, UINT64_MAX, 0, 1};
    for (uint64_t count = 0; count <= 11; count++) {
        tamis__line_counts counts = {{0}};
        uint64_t lines = 0, ones = 0;
        tamis__count_lines(words, count, &counts);
        for (uint64_t i = 0; i <= 512; i++) {
            lines += counts.lines[i];
            ones += counts.lines[i] * i;
        }
        assert_int_equal(lines, (count + 7) / 8);
        assert_int_equal(ones, (count > 0) + 2 * (count > 7) + 64 * (count > 8) + (count > 10));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ones),
        cmocka_unit_test(test_scattered),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
