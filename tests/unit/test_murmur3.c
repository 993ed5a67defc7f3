/* SPDX-License-Identifier: BSD-2-Clause */

/* MurmurHash3, compared with all digests that Guava 31.1 computed (tests/golden). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "golden/golden_reader.h"
#include "hash/hash_functions.h"

static void check_digest(const uint8_t *key, size_t size, const char *expected) {
    uint64_t digest[2];
    uint8_t bytes[16], expected_bytes[16];
    tamis__murmur3_x64_128(key, size, 0, digest);
    tamis__store64le(bytes, digest[0]);
    tamis__store64le(bytes + 8, digest[1]);
    assert_int_equal(golden_bytes(expected, expected_bytes), sizeof expected_bytes);
    assert_memory_equal(bytes, expected_bytes, sizeof expected_bytes);
}

static void every_vector_of_guava(void **state) {
    (void)state;
    static uint8_t key[100000];
    bool tails[16] = {false}, high_tails[16] = {false};
    int vectors = 0;
    for (golden g = golden_open("guava-31.1.tsv"); golden_next(&g);) {
        if (strcmp(g.field[0], "filter") == 0)
            continue;
        assert_true(strlen(g.field[1]) < sizeof key);
        size_t size = golden_key(g.field[0], g.field[1], key);
        check_digest(key, size, g.field[2]);
        vectors++;
        tails[size % 16] = true;
        for (size_t i = size - size % 16; i < size; i++)
            high_tails[size % 16] |= key[i] >= 0x80; /* bytes that C's signed char would get wrong */
    }
    assert_int_equal(vectors, 340);
    for (int i = 0; i < 16; i++)
        assert_true(tails[i] && (high_tails[i] || i == 0));
}

static void any_address_will_do(void **state) {
    (void)state;
    static const char text[] = "The quick brown fox jumps over the lazy dog, twice";
    uint8_t capacity[80];
    uint64_t expected[2], got[2];
    tamis__murmur3_x64_128(text, sizeof text, 0, expected);
    for (size_t shift = 0; shift < 16; shift++) {
        memcpy(capacity + shift, text, sizeof text);
        tamis__murmur3_x64_128(capacity + shift, sizeof text, 0, got);
        assert_memory_equal(got, expected, sizeof got);
    }
}

static void an_empty_key_may_be_null(void **state) {
    (void)state;
    uint64_t digest[2] = {1, 1};
    tamis__murmur3_x64_128(NULL, 0, 0, digest);
    assert_true(digest[0] == 0 && digest[1] == 0);
}

/* smhasher: murmur3_x64_128 of "foo" with seed 0 is 6145f501578671e2877dba2be487af7e. Other seeds give
 * other hashes. */
static void the_seed_counts(void **state) {
    (void)state;
    uint64_t unseeded[2], seeded[2];
    check_digest((const uint8_t *)"foo", 3, "6145f501578671e2877dba2be487af7e");
    tamis__murmur3_x64_128("foo", 3, 0, unseeded);
    tamis__murmur3_x64_128("foo", 3, 1, seeded);
    assert_true(unseeded[0] != seeded[0] && unseeded[1] != seeded[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_of_guava),
        cmocka_unit_test(any_address_will_do),
        cmocka_unit_test(an_empty_key_may_be_null),
        cmocka_unit_test(the_seed_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
