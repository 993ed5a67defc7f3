/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The syncs and renames by which the outputs of a run survive a loss of power (option `durable`): their
 * order, and what is left if one of them fails. The trace of a run has one letter for each call that matters:
 *
 *     f  sync of a regular file      r  a file gets its name, by rename or by a successful exchange of names
 *     d  sync of a directory         ?  sync of something else
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"

static const char INPUT[] = "a\nb\na\n";
static const char OUTPUT[] = "a\nb\n";
static const char DUPLICATES[] = "a\n";

static char input[300], output[300], duplicates[300];
static tamis_error err;

static struct tamis__system real;
static char trace[20];
static off_t synced_size; /* size of the regular file synced last */

static void note(char what) {
    size_t used = strlen(trace);
    assert_true(used + 1 < sizeof trace);
    trace[used] = what;
}

static int tracing_sync(int fd) {
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    note(S_ISREG(st.st_mode) ? 'f' : S_ISDIR(st.st_mode) ? 'd' : '?');
    if (S_ISREG(st.st_mode))
        synced_size = st.st_size;
    return real.sync(fd);
}

static int tracing_rename(const char *from, const char *to) {
    note('r');
    return real.rename(from, to);
}

static int tracing_swap_names(const char *a, const char *b) {
    int result = real.swap_names(a, b);
    if (result == 0)
        note('r');
    return result;
}

/* Makes a run in which call number n of `call` fails; n 0: none. */
static tamis_status run(const char *absent, const char *present, bool durable, fault_call call, uint64_t n) {
    const char *inputs[] = {input};
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    size_t descriptors = fault_open_descriptors();
    options.inputs = inputs;
    options.input_count = 1;
    options.output = absent;
    options.duplicates = present;
    options.durable = durable;
    memset(trace, 0, sizeof trace);
    synced_size = -1;
    fault_install();
    real = tamis__sys;
    tamis__sys.sync = tracing_sync;
    tamis__sys.rename = tracing_rename;
    tamis__sys.swap_names = tracing_swap_names;
    fault_arm(call, n, EIO, false);
    tamis_status status = tamis_stream_dedup(session, &options, NULL, NULL, &err);
    assert_int_equal(fault_fired(), n > 0);
    fault_disarm();
    fault_remove();
    session_drop(session);
    assert_int_equal(fault_open_descriptors(), descriptors);
    assert_null(scratch_hidden());
    return status;
}

static bool blames(const char *name) {
    return strncmp(err.text, name, strlen(name)) == 0 && err.text[strlen(name)] == ':';
}

static void make_old_files(void) {
    file_write(output, "old\n", 4);
    file_write(duplicates, "old too\n", 8);
}

static bool old_files_stand(void) {
    return file_is(output, "old\n") && file_is(duplicates, "old too\n");
}

static int set_up(void **state) {
    (void)state;
    scratch_make();
    snprintf(input, sizeof input, "%s", scratch("in"));
    snprintf(output, sizeof output, "%s", scratch("once"));
    snprintf(duplicates, sizeof duplicates, "%s", scratch("again"));
    file_write(input, INPUT, strlen(INPUT));
    err = (tamis_error)TAMIS_ERROR_INIT;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    fault_remove();
    scratch_remove();
    return 0;
}

/* ---- replaced files ---- */

static void a_file_is_synced_before_it_gets_its_name(void **state) {
    (void)state;
    assert_int_equal(run(output, NULL, true, FAULT_SYNC, 0), TAMIS_OK);
    assert_string_equal(trace, "frd");
    assert_int_equal(synced_size, strlen(OUTPUT));
    assert_true(file_is(output, OUTPUT));
}

/* Both files are synced before the first rename. Otherwise one output could have its name while the other
 * has lost bytes. */
static void two_files_are_synced_before_one_gets_its_name(void **state) {
    (void)state;
    make_old_files();
    assert_int_equal(run(output, duplicates, true, FAULT_SYNC, 0), TAMIS_OK);
    assert_string_equal(trace, "ffrrdd");
    assert_true(file_is(output, OUTPUT) && file_is(duplicates, DUPLICATES));
}

static void a_failed_sync_leaves_the_old_files(void **state) {
    (void)state;
    for (uint64_t n = 1; n <= 2; n++) {
        make_old_files();
        assert_int_equal(run(output, duplicates, true, FAULT_SYNC, n), TAMIS_E_IO);
        assert_string_equal(trace, n == 1 ? "f" : "ff");
        assert_true(blames(n == 1 ? output : duplicates));
        assert_int_equal(err.sys_errno, EIO);
        assert_true(old_files_stand());
    }
}

/* The files are in place, but the run reports an error, so that the caller does not save its filter. The
 * other directory is synced anyway. */
static void a_directory_that_cannot_be_synced_is_a_failure(void **state) {
    (void)state;
    for (uint64_t n = 3; n <= 4; n++) {
        unlink(output);
        unlink(duplicates);
        assert_int_equal(run(output, duplicates, true, FAULT_SYNC, n), TAMIS_E_IO);
        assert_string_equal(trace, "ffrrdd");
        assert_true(blames(n == 3 ? output : duplicates));
        assert_non_null(strstr(err.text, ": is written, but a power loss"));
        assert_true(file_is(output, OUTPUT) && file_is(duplicates, DUPLICATES));
    }
}

static void nothing_is_synced_unasked(void **state) {
    (void)state;
    assert_int_equal(run(output, NULL, false, FAULT_SYNC, 0), TAMIS_OK);
    assert_string_equal(trace, "r");
    assert_true(file_is(output, OUTPUT));
}

/* ---- descriptors ---- */

static void an_open_file_is_synced(void **state) {
    (void)state;
    char name[32];
    int fd = open(output, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    assert_int_equal(run(name, NULL, true, FAULT_SYNC, 0), TAMIS_OK);
    assert_string_equal(trace, "f");
    assert_int_equal(synced_size, strlen(OUTPUT));
    assert_int_equal(run(name, NULL, false, FAULT_SYNC, 0), TAMIS_OK);
    assert_string_equal(trace, "");
    assert_int_equal(run(name, NULL, true, FAULT_SYNC, 1), TAMIS_E_IO);
    assert_true(blames(name));
    close(fd);
}

static void pipes_and_devices_are_not_synced(void **state) {
    (void)state;
    char name[32];
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    assert_int_equal(run(name, "/dev/null", true, FAULT_SYNC, 0), TAMIS_OK);
    assert_string_equal(trace, "");
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_file_is_synced_before_it_gets_its_name),
        CASE(two_files_are_synced_before_one_gets_its_name),
        CASE(a_failed_sync_leaves_the_old_files),
        CASE(a_directory_that_cannot_be_synced_is_a_failure),
        CASE(nothing_is_synced_unasked),
        CASE(an_open_file_is_synced),
        CASE(pipes_and_devices_are_not_synced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
