/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of unknown number, buffered until a filter of the right size is made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/key_buffer.h>
#include <tamis/plan.h>

#include "support/fault.h"

enum { KEYS = 1000, CAPACITY = 1024 };

static const char secret[] = "a secret for tests only, 32 bytes";

/* KEYS different keys of two bytes. */
static const tamis_key *make_keys(void) {
    static uint16_t numbers[KEYS];
    static tamis_key keys[KEYS];

    for (size_t i = 0; i < KEYS; i++) {
        numbers[i] = (uint16_t)i;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    return keys;
}

static tamis_filter *create_filter(tamis_kind kind, const tamis_key_buffer_options *options, uint64_t keys) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;

    plan_options.kind = kind;
    plan_options.scheme = options->scheme;
    plan_options.expect = keys;
    plan_options.fpr = kind == TAMIS_KIND_COUNTING ? 0.001 : 1e-9;
    filter_options.seed = options->seed;
    filter_options.secret = options->secret;
    filter_options.secret_size = options->secret_size;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_create(&filter, &plan, &filter_options, NULL), TAMIS_OK);
    return filter;
}

/* Each key comes twice. The flushed filter has each of them once. */
static void check_repeats(tamis_kind kind, const tamis_key_buffer_options *options) {
    const tamis_key *keys = make_keys();
    tamis_answer answers[KEYS];
    tamis_key_buffer *buffer = NULL;
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    size_t done;

    assert_int_equal(tamis_key_buffer_create(&buffer, options, NULL), TAMIS_OK);
    for (size_t i = 0; i < 2; i++) {
        /* The first time in two calls, so that a batch ends between them. */
        assert_int_equal(tamis_key_buffer_add_many(buffer, keys, 300, answers, &done, NULL), TAMIS_OK);
        assert_int_equal(done, 300);
        assert_int_equal(
            tamis_key_buffer_add_many(buffer, keys + 300, KEYS - 300, answers + 300, &done, NULL), TAMIS_OK);
        assert_int_equal(done, KEYS - 300);
        for (size_t j = 0; j < KEYS; j++)
            assert_int_equal(answers[j], i == 0 ? TAMIS_ABSENT : TAMIS_PRESENT);
    }
    assert_int_equal(tamis_key_buffer_count(buffer), KEYS);
    tamis_filter *filter = create_filter(kind, options, KEYS);
    assert_int_equal(tamis_key_buffer_flush(buffer, filter, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_contains_many(filter, keys, KEYS, answers, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
    assert_int_equal(tamis_filter_info_get(filter, &info, NULL), TAMIS_OK);
    assert_true(info.added + 20 >= KEYS); /* less false positives */
    if (options->keeps_repeats) {         /* a key that was added twice is there after one removal */
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(tamis_filter_remove_many(filter, keys, 1, answers, NULL, NULL), TAMIS_OK);
            assert_int_equal(answers[0], TAMIS_PRESENT);
        }
        assert_int_equal(tamis_filter_contains_many(filter, keys, 1, answers, NULL, NULL), TAMIS_OK);
        assert_int_equal(answers[0], TAMIS_ABSENT);
    }
    tamis_filter_free(filter);
    tamis_key_buffer_free(buffer);
}

static void a_flushed_filter_has_each_key(void **state) {
    (void)state;
    tamis_key_buffer_options options = TAMIS_KEY_BUFFER_OPTIONS_INIT;

    check_repeats(TAMIS_KIND_EXACT, &options);
    options.scheme = TAMIS_SCHEME_GUAVA64;
    check_repeats(TAMIS_KIND_CLASSIC, &options);
    options.scheme = TAMIS_SCHEME_SIP;
    options.secret = secret;
    options.secret_size = sizeof secret - 1;
    check_repeats(TAMIS_KIND_BLOCKED, &options);
}

static void repeats_are_kept_for_filters_that_count(void **state) {
    (void)state;
    tamis_key_buffer_options options = TAMIS_KEY_BUFFER_OPTIONS_INIT;

    options.keeps_repeats = true;
    check_repeats(TAMIS_KIND_COUNTING, &options);
}

static void a_full_buffer_keeps_what_it_has(void **state) {
    (void)state;
    const tamis_key *keys = make_keys();
    tamis_key_buffer_options options = TAMIS_KEY_BUFFER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_answer answers[KEYS];
    tamis_key_buffer *buffer = NULL;
    size_t done;

    options.capacity = 600; /* two batches of 256 fit, and the third one does not */
    assert_int_equal(tamis_key_buffer_create(&buffer, &options, NULL), TAMIS_OK);
    assert_int_equal(tamis_key_buffer_add_many(buffer, keys, KEYS, answers, &done, &err), TAMIS_E_FULL);
    assert_int_equal(done, 512);
    assert_int_equal(tamis_key_buffer_count(buffer), 512);
    assert_int_equal(tamis_key_buffer_add_many(buffer, keys + done, 88, answers, &done, &err), TAMIS_OK);
    assert_int_equal(tamis_key_buffer_add_many(buffer, keys, 1, answers, &done, &err), TAMIS_E_FULL);
    assert_int_equal(done, 0);
    tamis_filter *filter = create_filter(TAMIS_KIND_FINGERPRINT, &options, 600);
    assert_int_equal(tamis_key_buffer_flush(buffer, filter, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_contains_many(filter, keys, 600, answers, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i < 600; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
    tamis_filter_free(filter);
    options.seed = 7;
    filter = create_filter(TAMIS_KIND_FINGERPRINT, &options, 600);
    assert_int_equal(tamis_key_buffer_flush(buffer, filter, &err), TAMIS_E_MISMATCH);
    tamis_filter_free(filter);
    tamis_key_buffer_free(buffer);
    tamis_key_buffer_free(NULL);
}

static void refuses_what_it_cannot_use(void **state) {
    (void)state;
    tamis_key_buffer_options options = TAMIS_KEY_BUFFER_OPTIONS_INIT;
    tamis_key_buffer *buffer = NULL;
    tamis_error err = TAMIS_ERROR_INIT;

    options.capacity = 0;
    assert_int_equal(tamis_key_buffer_create(&buffer, &options, &err), TAMIS_E_RANGE);
    options.capacity = ((size_t)1 << 32) + 1;
    assert_int_equal(tamis_key_buffer_create(&buffer, &options, &err), TAMIS_E_RANGE);
    options.capacity = CAPACITY;
    options.scheme = TAMIS_SCHEME_FNV_DCSO;
    options.secret_size = 40;
    assert_int_equal(tamis_key_buffer_create(&buffer, &options, &err), TAMIS_E_INVALID);
    options = (tamis_key_buffer_options)TAMIS_KEY_BUFFER_OPTIONS_INIT;
    options.scheme = TAMIS_SCHEME_BKDR63;
    assert_int_equal(tamis_key_buffer_create(&buffer, &options, &err), TAMIS_E_UNSUPPORTED);
    assert_string_equal(err.text, "key buffer: scheme bkdr63 has no digest to keep; give another scheme");
    options.struct_size = 0;
    assert_int_equal(tamis_key_buffer_create(&buffer, &options, &err), TAMIS_E_INVALID);
    assert_null(buffer);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    tamis_key_buffer_options options = TAMIS_KEY_BUFFER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    uint64_t n = 0;

    for (tamis_key_buffer *buffer = NULL; !buffer;) {
        fault_memory memory = {.fail_at = ++n};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        options.allocator = &allocator;
        if (tamis_key_buffer_create(&buffer, &options, &err) == TAMIS_OK)
            tamis_key_buffer_free(buffer);
        else
            assert_int_equal(err.status, TAMIS_E_NOMEM);
        assert_int_equal(memory.live_blocks, 0);
    }
    assert_true(n > 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flushed_filter_has_each_key),
        cmocka_unit_test(repeats_are_kept_for_filters_that_count),
        cmocka_unit_test(a_full_buffer_keeps_what_it_has),
        cmocka_unit_test(refuses_what_it_cannot_use),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
