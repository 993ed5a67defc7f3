/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/failure.h"

typedef struct row {
    tamis_status status;
    const char *name;
    const char *text;
} row;

static const row rows[] = {
#define ROW(name, value, text) {name, #name, text},
    TAMIS_STATUS_TABLE(ROW)
#undef ROW
};
enum { ROWS = sizeof rows / sizeof *rows };

static void every_status_has_its_own_name_and_text(void **state) {
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        assert_string_equal(tamis_strerror(rows[i].status), rows[i].text);
        assert_string_equal(tamis_status_name(rows[i].status), rows[i].name);
        for (int j = 0; j < i; j++) {
            assert_int_not_equal(rows[i].status, rows[j].status);
            assert_string_not_equal(rows[i].text, rows[j].text);
        }
        assert_true(rows[i].status == TAMIS_OK ? i == 0 : rows[i].status == -i); /* append only */
        assert_int_not_equal(rows[i].text[strlen(rows[i].text) - 1], '.');
    }
    assert_int_equal(ROWS, 23); /* increase this for a new status; an old one may not be removed */
}

static void other_numbers_have_a_text_too(void **state) {
    (void)state;
    static const int numbers[] = {1, 2, -ROWS, -ROWS - 1, -1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_string_equal(tamis_strerror((tamis_status)numbers[i]), "unknown status");
        assert_string_equal(tamis_status_name((tamis_status)numbers[i]), "TAMIS_E_?");
    }
}

static void a_failure_fills_the_error(void **state) {
    (void)state;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(err.struct_size, sizeof err);
    assert_int_equal(tamis__fail(&err, TAMIS_E_IO, EIO, "%s: line %d", "file", 7), TAMIS_E_IO);
    assert_int_equal(err.status, TAMIS_E_IO);
    assert_int_equal(err.sys_errno, EIO);
    assert_string_equal(err.text, "file: line 7");
    assert_int_equal(err.struct_size, sizeof err);
    assert_int_equal(tamis__fail(NULL, TAMIS_E_FULL, 0, "%s", "unheard"), TAMIS_E_FULL);
}

/* A long message is cut at the end of the buffer. The byte behind the buffer must not change. */
static void a_long_message_is_cut(void **state) {
    (void)state;
    struct {
        tamis_error err;
        char canary[64];
    } box = {TAMIS_ERROR_INIT, {0}};
    memset(box.canary, 0x5a, sizeof box.canary);
    char subject[2000];
    for (size_t length = 490; length < sizeof subject - 1; length += length < 510 ? 1 : 300) {
        memset(subject, 'x', length);
        subject[length] = 0;
        tamis__fail(&box.err, TAMIS_E_INVALID, 0, "%s", subject);
        size_t expected = length < sizeof box.err.text ? length : sizeof box.err.text - 1;
        assert_int_equal(strlen(box.err.text), expected);
        for (size_t i = 0; i < sizeof box.canary; i++)
            assert_int_equal(box.canary[i], 0x5a);
    }
}

static void out_of_memory_names_what_and_how_much(void **state) {
    (void)state;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis__fail_nomem(&err, "filter", UINT64_MAX), TAMIS_E_NOMEM);
    assert_int_equal(err.status, TAMIS_E_NOMEM);
    assert_int_equal(err.sys_errno, ENOMEM);
    assert_non_null(strstr(err.text, "filter: out of memory, 18446744073709551615 bytes"));
    assert_int_equal(tamis__fail_nomem(NULL, "filter", 1), TAMIS_E_NOMEM);
}

static void the_version_is_the_headers(void **state) {
    (void)state;
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", TAMIS_VERSION_MAJOR, TAMIS_VERSION_MINOR,
             TAMIS_VERSION_PATCH);
    assert_string_equal(tamis_version(), version);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_own_name_and_text),
        cmocka_unit_test(other_numbers_have_a_text_too),
        cmocka_unit_test(a_failure_fills_the_error),
        cmocka_unit_test(a_long_message_is_cut),
        cmocka_unit_test(out_of_memory_names_what_and_how_much),
        cmocka_unit_test(the_version_is_the_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
