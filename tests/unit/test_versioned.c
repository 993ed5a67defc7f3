/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/tamis.h>

#include "base/versioned.h"

/* A struct of an older header, and the same struct in the library. */
typedef struct older {
    uint32_t struct_size;
    uint32_t first;
} older;

typedef struct newer {
    uint32_t struct_size;
    uint32_t first;
    uint64_t second;
} newer;

static void test_older_given_keeps_defaults(void **state) {
    (void)state;
    older given = {sizeof given, 7};
    newer selected = {sizeof selected, 1, 2};
    assert_int_equal(tamis__read_struct(&selected, sizeof selected, &given, "INIT", NULL), TAMIS_OK);
    assert_int_equal(selected.first, 7);
    assert_int_equal(selected.second, 2);
    assert_int_equal(selected.struct_size, sizeof selected);
}

static void test_newer_given_is_cut(void **state) {
    (void)state;
    newer given = {sizeof given, 7, 0};
    older selected[2] = {{sizeof(older), 1}, {0xabcdef, 0xabcdef}};
    assert_int_equal(tamis__read_struct(&selected[0], sizeof selected[0], &given, "INIT", NULL), TAMIS_OK);
    assert_int_equal(selected[0].first, 7);
    assert_int_equal(selected[0].struct_size, sizeof(older));
    assert_int_equal(selected[1].first, 0xabcdef);
}

static void reg_22_unknown_fields_that_are_set_are_refused(void **state) {
    (void)state;
    newer given = {sizeof given, 7, UINT64_C(1) << 63};
    older selected = {sizeof selected, 1};
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis__read_struct(&selected, sizeof selected, &given, "TAMIS_X_INIT", &err),
                     TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "TAMIS_X_INIT"));
    assert_int_equal(selected.first, 1);
    assert_int_equal(tamis__read_options(&selected, sizeof selected, &given, "INIT", NULL), TAMIS_E_INVALID);
    given.struct_size = UINT32_MAX; /* must not be read that far */
    assert_int_equal(tamis__read_struct(&selected, sizeof selected, &given, "INIT", NULL), TAMIS_E_INVALID);

    struct {
        tamis_filter_options known;
        uint64_t unknown;
    } later = {TAMIS_FILTER_OPTIONS_INIT, 1};
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, NULL), TAMIS_OK);
    later.known.struct_size = sizeof later;
    assert_int_equal(tamis_filter_create(&filter, &plan, &later.known, NULL), TAMIS_E_INVALID);
    later.unknown = 0;
    assert_int_equal(tamis_filter_create(&filter, &plan, &later.known, NULL), TAMIS_OK);
    tamis_filter_free(filter);
}

static void test_without_size_is_refused(void **state) {
    (void)state;
    static const uint32_t sizes[] = {0, 1, 3};
    newer selected = {sizeof selected, 1, 2};
    for (size_t i = 0; i < 3; i++) {
        newer given = {sizes[i], 7, 8};
        tamis_error err = TAMIS_ERROR_INIT;
        assert_int_equal(tamis__read_struct(&selected, sizeof selected, &given, "TAMIS_X_INIT", &err),
                         TAMIS_E_INVALID);
        assert_string_equal(err.text, "x: NULL or without struct_size; start from TAMIS_X_INIT");
    }
    assert_int_equal(tamis__read_struct(&selected, sizeof selected, NULL, "INIT", NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis__read_options(&selected, sizeof selected, NULL, "INIT", NULL), TAMIS_OK);
    assert_int_equal(selected.first, 1);
    assert_int_equal(selected.second, 2);
}

static void test_give_stays_within_the_callers(void **state) {
    (void)state;
    newer made = {sizeof made, 7, 8};
    older caller[2] = {{sizeof(older), 1}, {0xabcdef, 0xabcdef}};
    tamis__write_struct(&caller[0], &made, sizeof made);
    assert_int_equal(caller[0].first, 7);
    assert_int_equal(caller[0].struct_size, sizeof(older));
    assert_int_equal(caller[1].struct_size, 0xabcdef);
    older unsized = {0, 1};
    tamis__write_struct(&unsized, &made, sizeof made);
    assert_int_equal(unsized.first, 1);
    tamis__write_struct(NULL, &made, sizeof made);
}

/* Public functions with a struct argument use tamis__read_options and its relatives. */
static void test_public_calls_refuse_unsized(void **state) {
    (void)state;
    tamis_plan_options plan_options = {0};
    tamis_plan plan = TAMIS_PLAN_INIT, unsized_plan = {0};
    tamis_filter *filter = NULL;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_filter_create(&filter, &unsized_plan, NULL, NULL), TAMIS_E_INVALID);
    tamis_plan_options good = TAMIS_PLAN_OPTIONS_INIT;
    assert_int_equal(tamis_plan_make(&unsized_plan, &good, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_plan_make(&plan, &good, NULL), TAMIS_OK);
    tamis_filter_options options = {0};
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, NULL), TAMIS_E_INVALID);
    assert_null(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_older_given_keeps_defaults),
        cmocka_unit_test(test_newer_given_is_cut),
        cmocka_unit_test(reg_22_unknown_fields_that_are_set_are_refused),
        cmocka_unit_test(test_without_size_is_refused),
        cmocka_unit_test(test_give_stays_within_the_callers),
        cmocka_unit_test(test_public_calls_refuse_unsized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
