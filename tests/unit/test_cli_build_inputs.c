/* SPDX-License-Identifier: BSD-2-Clause */

/* Files that a build reads twice. It is an error if the second reading could miss records of the first. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The command is not a library, so the tested files are compiled in. */
#include "cli/cmd/build/build_inputs.c"
#include "cli/core/cli_error.c"
#include "support/scratch.h"

static char path[300], other[300];
static const char *names[] = {path};
static const cli_stream of_one = {.inputs = names, .input_count = 1};
static tamis_error err;

static int after(void (*change)(void)) {
    struct stat *before = NULL;
    int code;

    file_write(path, "1\n2\n3\n", 6);
    file_write(other, "4\n5\n6\n", 6);
    assert_int_equal(build_inputs_note(&before, &of_one, &err), TAMIS_OK);
    change();
    code = build_inputs_check(before, &of_one, &err);
    free(before);
    return code;
}

static void nothing(void) {
}

static void append(void) {
    file_write(path, "1\n2\n3\n4\n", 8);
}

static void cut_short(void) {
    file_write(path, "1\n", 2);
}

static void edit(void) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void replace(void) {
    assert_int_equal(rename(other, path), 0);
}

static void delete_it(void) {
    assert_int_equal(unlink(path), 0);
}

static void reg_22_files_that_changed_are_refused(void **state) {
    void (*const bad[])(void) = {cut_short, edit, replace, delete_it};
    (void)state;
    scratch_make();
    snprintf(path, sizeof path, "%s", scratch("in"));
    snprintf(other, sizeof other, "%s", scratch("other"));
    assert_int_equal(after(nothing), TAMIS_OK);
    assert_int_equal(after(append), TAMIS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_not_equal(after(bad[i]), TAMIS_OK);
        assert_non_null(strstr(err.text, "in: was replaced, cut short or edited while it was read twice"));
    }
    scratch_remove();
}

static void pipes_are_no_files(void **state) {
    (void)state;
    names[0] = "/dev/null";
    assert_false(build_inputs_are_files(&of_one));
    names[0] = "/nowhere";
    assert_false(build_inputs_are_files(&of_one));
    names[0] = path;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reg_22_files_that_changed_are_refused),
        cmocka_unit_test(pipes_are_no_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
