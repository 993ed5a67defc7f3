/* SPDX-License-Identifier: BSD-2-Clause */

/* Each allocation of a Guava filter fails once: nothing leaks, nothing is put, and the call may be
 * repeated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/compat/guava.h>

#include "support/fault.h"

static tamis_status create(tamis_guava **guava, const tamis_allocator *allocator, tamis_error *err) {
    tamis_guava_options options = TAMIS_GUAVA_OPTIONS_INIT;
    options.expected_insertions = 100;
    options.allocator = allocator;
    return tamis_guava_create(guava, &options, err);
}

static void creation_without_memory(void **state) {
    (void)state;
    bool reached = true;
    for (uint64_t n = 1; reached; n++) {
        fault_memory memory = {.fail_at = n};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_guava *guava = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_status status = create(&guava, &allocator, &err);
        reached = memory.refused > 0;
        assert_int_equal(status, reached ? TAMIS_E_NOMEM : TAMIS_OK);
        assert_true(reached == !guava);
        assert_true(reached || n > 4);
        tamis_guava_free(guava);
        assert_int_equal(memory.live_blocks, 0);
    }
}

static void copying_without_memory(void **state) {
    (void)state;
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_guava *guava = NULL, *copy = NULL;
    assert_int_equal(create(&guava, &allocator, NULL), TAMIS_OK);
    size_t blocks = memory.live_blocks;
    bool reached = true;
    for (uint64_t n = 1; reached; n++) {
        memory.fail_at = memory.requests + n;
        memory.refused = 0;
        tamis_status status = tamis_guava_copy(&copy, guava, NULL);
        reached = memory.refused > 0;
        assert_int_equal(status, reached ? TAMIS_E_NOMEM : TAMIS_OK);
        assert_true(reached == !copy);
        assert_true(!reached || memory.live_blocks == blocks);
        assert_true(reached || n > 4);
    }
    assert_true(tamis_guava_equals(guava, copy));
    tamis_guava_free(copy);
    tamis_guava_free(guava);
    assert_int_equal(memory.live_blocks, 0);
}

/* The sink allocates memory as keys are added. */
static void putting_without_memory(void **state) {
    (void)state;
    static const char long_key[100000] = "long";
    const tamis_key key = {long_key, sizeof long_key};
    bool reached = true;
    for (uint64_t n = 1; reached; n++) {
        fault_memory memory = {0};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_guava *guava = NULL;
        bool changed = false;
        assert_int_equal(create(&guava, &allocator, NULL), TAMIS_OK);
        memory.fail_at = memory.requests + n;
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_status status = tamis_guava_put(guava, &key, &changed, &err);
        reached = memory.refused > 0;
        if (reached) {
            assert_int_equal(status, TAMIS_E_NOMEM);
            assert_int_equal(err.status, TAMIS_E_NOMEM);
            assert_int_equal(tamis_guava_bit_count(guava), 0);
            assert_false(changed);
            assert_int_equal(tamis_guava_put(guava, &key, &changed, NULL), TAMIS_OK);
        }
        assert_true(changed && (reached || n > 1));
        tamis_guava_free(guava);
        assert_int_equal(memory.live_blocks, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_without_memory),
        cmocka_unit_test(copying_without_memory),
        cmocka_unit_test(putting_without_memory),
    };
    return cmocka_run_group_tests_name("fault_guava", tests, NULL, NULL);
}
