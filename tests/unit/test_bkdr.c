/* SPDX-License-Identifier: BSD-2-Clause */

/* BKDR hashes, compared with all hashes that PHP 8.2 computed (tests/golden). */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden/golden_reader.h"
#include "hash/hash_functions.h"

enum { MAX = 400 };

/* Column i + 1 of the table has the hashes with seed seeds[i]. */
static void check_table(const char *name, const int *seeds, int count, int rows) {
    static uint8_t key[4096];
    int vectors = 0;
    for (golden g = golden_open(name); golden_next(&g); vectors++) {
        uint64_t narrow[MAX], wide[MAX];
        assert_int_equal(g.fields, 1 + count);
        assert_true(strlen(g.field[0]) <= 2 * sizeof key);
        size_t size = golden_bytes(g.field[0], key);
        tamis__bkdr(key, size, TAMIS__BKDR31_MASK, MAX, narrow);
        tamis__bkdr(key, size, TAMIS__BKDR63_MASK, MAX, wide);
        for (int i = 0; i < count; i++) {
            int n = seeds[i];
            char *comma;
            uint64_t expected = strtoull(g.field[1 + i], &comma, 10);
            if (narrow[n] != expected || wide[n] != strtoull(comma + 1, NULL, 10))
                fail_msg("key %s, seed %d: %" PRIu64 ",%" PRIu64 " instead of %s", g.field[0], n, narrow[n],
                         wide[n], g.field[1 + i]);
        }
    }
    assert_int_equal(vectors, rows);
}

static void every_vector_of_php(void **state) {
    (void)state;
    int seeds[16];
    for (int n = 0; n < 16; n++)
        seeds[n] = n;
    check_table("php8-bkdr.tsv", seeds, 16, 200);
}

/* From seed 18 on, PHP's integers overflow and become floats. */
static void seeds_that_are_floats(void **state) {
    (void)state;
    int seeds[27] = {[25] = 100, [26] = 254};
    for (int n = 16; n <= 40; n++)
        seeds[n - 16] = n;
    check_table("php8-bkdr-late.tsv", seeds, 27, 40);
}

/* Beyond 1.8e308 only the last byte counts, since int(INF) and int(NAN) are 0. */
static void seeds_that_are_infinite(void **state) {
    (void)state;
    uint64_t values[MAX];
    tamis__bkdr("tamis", 5, TAMIS__BKDR63_MASK, MAX, values);
    for (int n = 310; n < MAX; n++)
        assert_int_equal(values[n], 's');
}

static void an_empty_key_may_be_null(void **state) {
    (void)state;
    uint64_t values[2] = {1, 1};
    tamis__bkdr(NULL, 0, TAMIS__BKDR31_MASK, 2, values);
    assert_true(values[0] == 0 && values[1] == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_of_php),
        cmocka_unit_test(seeds_that_are_floats),
        cmocka_unit_test(seeds_that_are_infinite),
        cmocka_unit_test(an_empty_key_may_be_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
