/* SPDX-License-Identifier: BSD-2-Clause */
/* The estimated number of keys by which a filter is sized: never too small, and hardly too large. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/tamis.h>

/* The command is not a library, so the tested files are compiled in. */
#include "cli/cmd/build/build_sketch.c"
#include "cli/core/cli_error.c"

#include "support/scratch.h"

enum { AT_ONCE = 1000 };

/* Adds the keys from .. to - 1 of a seed. */
static void add(build_sketch *sketch, uint64_t seed, uint64_t from, uint64_t to) {
    uint64_t words[AT_ONCE][2];
    tamis_key keys[AT_ONCE];
    tamis_answer answers[AT_ONCE];
    while (from < to) {
        size_t count = 0, done = 0;
        for (; count < AT_ONCE && from < to; count++, from++) {
            words[count][0] = seed;
            words[count][1] = from;
            keys[count] = (tamis_key){words[count], sizeof words[count]};
        }
        assert_int_equal(build_sketch_add(sketch, keys, count, answers, &done, NULL), TAMIS_OK);
        assert_int_equal(done, count);
        assert_int_equal(answers[count - 1], TAMIS_ABSENT);
    }
}

static void the_bound_holds_and_is_near(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2, 10, 100, 1000, 10000, 65536, 150000, 330000, 1000000, 4000000};
    uint64_t max = test_scale(4000000, 330000, 330000), seed = test_seed(7);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= max; i++) {
        tamis_error err = TAMIS_ERROR_INIT;
        build_sketch *sketch = NULL;
        assert_int_equal(build_sketch_create(&sketch, NULL, &err), TAMIS_OK);
        add(sketch, seed, 0, sizes[i]);
        uint64_t bound = build_sketch_bound(sketch);
        /* repeated keys count once */
        add(sketch, seed, 0, sizes[i] < 5000 ? sizes[i] : 5000);
        assert_int_equal(build_sketch_bound(sketch), bound);
        if (bound < sizes[i] || (double)bound > 1.0417 * (double)sizes[i] + 2)
            fprintf(stderr, "%llu keys, bound %llu\n", (unsigned long long)sizes[i],
                    (unsigned long long)bound);
        assert_true(bound >= sizes[i] && bound >= 1);
        assert_true((double)bound <= 1.0417 * (double)sizes[i] + 2); /* ten standard errors */
        build_sketch_free(sketch);
    }
}

static void a_secret_makes_other_hashes(void **state) {
    (void)state;
    tamis_error err = TAMIS_ERROR_INIT;
    cli_secret secret = {.size = 32};
    build_sketch *open = NULL, *keyed = NULL;
    assert_int_equal(build_sketch_create(&open, NULL, &err), TAMIS_OK);
    assert_int_equal(build_sketch_create(&keyed, &secret, &err), TAMIS_OK);
    add(open, 1, 0, 1000);
    add(keyed, 1, 0, 1000);
    assert_memory_not_equal(open->registers, keyed->registers, sizeof open->registers);
    build_sketch_free(open);
    build_sketch_free(keyed);
    build_sketch_free(NULL);
    secret.size = 1;
    assert_int_not_equal(build_sketch_create(&keyed, &secret, &err), TAMIS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bound_holds_and_is_near),
        cmocka_unit_test(a_secret_makes_other_hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
