/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/dedup.h>

#include "support/fault.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"

enum { NUMBERS = 20000, BATCH = 500 };

/* The keys are the numbers themselves. */
static uint64_t numbers[NUMBERS];
static tamis_key keys[NUMBERS];
static tamis_answer answers[NUMBERS];
static tamis_error err;

static void make_keys(uint64_t seed, uint64_t distinct) {
    for (size_t i = 0; i < NUMBERS; i++) {
        numbers[i] = test_below(&seed, distinct);
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    memset(answers, 0x77, sizeof answers);
    err = (tamis_error)TAMIS_ERROR_INIT;
}

/* A poor hash for each probe would confuse keys far more often than the promised rate. */
static void schemes_without_a_digest_are_refused(void **state) {
    (void)state;
    static const tamis_scheme schemes[] = {TAMIS_SCHEME_BKDR31, TAMIS_SCHEME_BKDR63};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
        tamis_plan plan = TAMIS_PLAN_INIT;
        tamis_filter *filter = NULL;
        tamis_dedup *session = NULL;
        plan_options.kind = TAMIS_KIND_CLASSIC;
        plan_options.scheme = schemes[i];
        plan_options.expect = 1000;
        plan_options.fpr = 0.01;
        assert_int_equal(tamis_plan_make(&plan, &plan_options, &err), TAMIS_OK);
        assert_int_equal(tamis_filter_create(&filter, &plan, NULL, &err), TAMIS_OK);
        assert_int_equal(tamis_dedup_open(&session, filter, NULL, &err), TAMIS_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, tamis_scheme_name(schemes[i])));
        assert_null(session);
        plan.kind = TAMIS_KIND_FINGERPRINT;
        tamis_filter *other = NULL;
        assert_int_equal(tamis_filter_create(&other, &plan, NULL, &err), TAMIS_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, "digest of 128 bits"));
        assert_null(other);
        tamis_filter_free(filter);
    }
}

/* With n keys and a digest of b bits, no rate below n/2^b is possible. A plan that promises more is
 * refused. */
static void a_digest_must_do_for_the_rate(void **state) {
    (void)state;
    static const double rates[] = {1e-15, 1e-17};
    for (size_t i = 0; i < 2; i++) {
        tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
        tamis_plan plan = TAMIS_PLAN_INIT;
        tamis_filter *filter = NULL;
        tamis_dedup *session = NULL;
        plan_options.kind = TAMIS_KIND_CLASSIC;
        plan_options.scheme = TAMIS_SCHEME_FNV_DCSO;
        plan_options.expect = 1000;
        plan_options.fpr = rates[0];
        assert_int_equal(tamis_plan_make(&plan, &plan_options, &err), TAMIS_OK);
        plan.fpr = rates[i];
        assert_int_equal(tamis_filter_create(&filter, &plan, NULL, &err), TAMIS_OK);
        tamis_status status = tamis_dedup_open(&session, filter, NULL, &err);
        assert_int_equal(status, i == 0 ? TAMIS_OK : TAMIS_E_UNSUPPORTED);
        assert_true(i == 0 || strstr(err.text, "fnv-dcso: its digest has 64 bits") != NULL);
        tamis_dedup_close(session);
        tamis_filter_free(filter);
    }
}

static void a_session_distinguishes_absent_from_present(void **state) {
    (void)state;
    static bool came[NUMBERS];
    memset(came, 0, sizeof came);
    make_keys(test_seed(1), NUMBERS);
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    uint64_t absent = 0;
    for (size_t start = 0; start < NUMBERS; start += BATCH) {
        size_t done = 0;
        assert_int_equal(tamis_dedup_add_many(session, keys + start, BATCH, answers + start, &done, &err),
                         TAMIS_OK);
        assert_int_equal(done, BATCH);
    }
    for (size_t i = 0; i < NUMBERS; i++) {
        assert_int_equal(answers[i], came[numbers[i]] ? TAMIS_PRESENT : TAMIS_ABSENT);
        absent += !came[numbers[i]];
        came[numbers[i]] = true;
    }
    tamis_dedup_counts counts = TAMIS_DEDUP_COUNTS_INIT;
    tamis_dedup_count(session, &counts);
    assert_int_equal(counts.absent, absent);
    assert_int_equal(counts.present, NUMBERS - absent);
    assert_int_equal(counts.unknown, 0);
    assert_int_equal(err.text[0], 0);
    session_drop(session);
}

static void no_keys_are_no_work(void **state) {
    (void)state;
    size_t done = 77;
    tamis_dedup *session = session_make(100, TAMIS_ON_FULL_PASS);
    assert_int_equal(tamis_dedup_add_many(session, NULL, 0, answers, &done, &err), TAMIS_OK);
    assert_int_equal(done, 0);
    session_drop(session);
    tamis_dedup_close(NULL);
}

/* TAMIS_ON_FULL_FAIL: the answers up to `done` are valid, the others untouched, and a repeated call fails
 * at the same key. */
static void full_and_fail(void **state) {
    (void)state;
    make_keys(test_seed(2), NUMBERS);
    tamis_dedup *session = session_make(1000, TAMIS_ON_FULL_FAIL);
    size_t done = 0;
    assert_int_equal(tamis_dedup_add_many(session, keys, NUMBERS, answers, &done, &err), TAMIS_E_FULL);
    assert_int_equal(err.status, TAMIS_E_FULL);
    assert_in_range(done, 1000, NUMBERS - 1);
    assert_int_equal(answers[done + 1], 0x77);
    tamis_dedup_counts counts = TAMIS_DEDUP_COUNTS_INIT;
    tamis_dedup_count(session, &counts);
    assert_int_equal(counts.absent + counts.present, done);
    size_t again = 77;
    assert_int_equal(tamis_dedup_add_many(session, keys + done, NUMBERS - done, answers, &again, &err),
                     TAMIS_E_FULL);
    assert_int_equal(again, 0);
    session_drop(session);
}

/* TAMIS_ON_FULL_PASS: every key is answered. A key that was absent is present from then on; an unknown one
 * stays unknown. */
static void full_and_pass(void **state) {
    (void)state;
    enum { NEW, HELD, REFUSED };
    static unsigned char known[4000];
    memset(known, NEW, sizeof known);
    make_keys(test_seed(3), sizeof known);
    tamis_dedup *session = session_make(1000, TAMIS_ON_FULL_PASS);
    for (size_t start = 0; start < NUMBERS; start += BATCH) {
        size_t done = 0;
        assert_int_equal(tamis_dedup_add_many(session, keys + start, BATCH, answers + start, &done, &err),
                         TAMIS_OK);
        assert_int_equal(done, BATCH);
    }
    uint64_t absent = 0;
    uint64_t unknown = 0;
    for (size_t i = 0; i < NUMBERS; i++) {
        unsigned char *status = &known[numbers[i]];
        if (*status == HELD)
            assert_int_equal(answers[i], TAMIS_PRESENT);
        else
            assert_int_not_equal(answers[i], TAMIS_PRESENT);
        *status = answers[i] == TAMIS_UNKNOWN ? REFUSED : HELD;
        absent += answers[i] == TAMIS_ABSENT;
        unknown += answers[i] == TAMIS_UNKNOWN;
    }
    assert_in_range(absent, 1000, 3000);
    assert_true(unknown > 0);
    tamis_dedup_counts counts = TAMIS_DEDUP_COUNTS_INIT;
    tamis_dedup_count(session, &counts);
    assert_int_equal(counts.absent, absent);
    assert_int_equal(counts.unknown, unknown);
    assert_int_equal(counts.absent + counts.present + counts.unknown, NUMBERS);
    assert_int_equal(err.text[0], 0);
    session_drop(session);
}

static void bad_arguments(void **state) {
    (void)state;
    tamis_dedup *other = session_make(0, TAMIS_ON_FULL_FAIL);
    tamis_filter *filter = (tamis_filter *)(uintptr_t)tamis_dedup_filter(other);
    tamis_dedup *session = NULL;
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    assert_int_equal(tamis_dedup_open(&session, NULL, NULL, &err), TAMIS_E_INVALID);
    options.on_full = (tamis_on_full)7;
    assert_int_equal(tamis_dedup_open(&session, filter, &options, &err), TAMIS_E_INVALID);
    options = (tamis_dedup_options)TAMIS_DEDUP_OPTIONS_INIT;
    options.struct_size = 0;
    assert_int_equal(tamis_dedup_open(&session, filter, &options, &err), TAMIS_E_INVALID);
    assert_null(session);
    session_drop(other);
}

static void out_of_memory(void **state) {
    (void)state;
    tamis_dedup *other = session_make(0, TAMIS_ON_FULL_FAIL);
    tamis_filter *filter = (tamis_filter *)(uintptr_t)tamis_dedup_filter(other);
    fault_memory memory = {.fail_at = 1};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    options.allocator = &allocator;
    tamis_dedup *session = NULL;
    assert_int_equal(tamis_dedup_open(&session, filter, &options, &err), TAMIS_E_NOMEM);
    assert_null(session);
    assert_int_equal(tamis_dedup_open(&session, filter, &options, &err), TAMIS_OK);
    assert_int_equal(memory.live_blocks, 1);
    tamis_dedup_close(session);
    assert_int_equal(memory.live_blocks, 0);
    session_drop(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_distinguishes_absent_from_present),
        cmocka_unit_test(schemes_without_a_digest_are_refused),
        cmocka_unit_test(a_digest_must_do_for_the_rate),
        cmocka_unit_test(no_keys_are_no_work),
        cmocka_unit_test(full_and_fail),
        cmocka_unit_test(full_and_pass),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
