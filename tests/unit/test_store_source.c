/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A save never replaces a file that the filter does not know. A program without locks may put such a file
 * there after the filter was opened, or where no file was.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/stored.h"

enum { KEYS = 100 };
static const uint64_t OURS = 0, ADDED = 1000, THEIRS = 5000;

static tamis_error err;
static struct tamis__system real;
static size_t descriptors;

static int set_up(void **state) {
    (void)state;
    scratch_make();
    err = (tamis_error)TAMIS_ERROR_INIT;
    real = tamis__sys;
    descriptors = fault_open_descriptors();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tamis__sys = real;
    bool closed = fault_open_descriptors() == descriptors;
    bool clean = scratch_hidden() == NULL;
    scratch_remove();
    return closed && clean ? 0 : -1;
}

static void make(const char *name, uint64_t from) {
    tamis_filter *filter = stored_make(TAMIS_KIND_BLOCKED, from, KEYS);
    assert_int_equal(tamis_filter_save(filter, scratch(name), &err), TAMIS_OK);
    tamis_filter_free(filter);
}

/* Puts another filter under that name, by rename, like a program that takes no lock. */
static void put_theirs(const char *name) {
    char temp[300];
    snprintf(temp, sizeof temp, "%s", scratch("theirs"));
    make("theirs", THEIRS);
    assert_int_equal(rename(temp, scratch(name)), 0);
}

static tamis_filter *open_as(const char *name, bool writable) {
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    options.writable = writable;
    assert_int_equal(tamis_filter_open(&filter, scratch(name), &options, &err), TAMIS_OK);
    return filter;
}

static void add(tamis_filter *filter, uint64_t from) {
    for (uint64_t key = from; key < from + KEYS; key++)
        assert_int_equal(tamis_filter_add(filter, &key, sizeof key, &(tamis_answer){0}, &err), TAMIS_OK);
}

static void assert_holds(const char *name, uint64_t from, bool holds) {
    tamis_filter *filter = open_as(name, false);
    assert_int_equal(stored_has(filter, from, KEYS), holds);
    tamis_filter_free(filter);
}

static void assert_refused(tamis_status status, const char *why) {
    char name[300];
    assert_int_equal(status, TAMIS_E_CHANGED);
    snprintf(name, sizeof name, "%s: %s", scratch("f"), why);
    if (strncmp(err.text, name, strlen(name)) != 0 || !strstr(err.text, "; open it"))
        fail_msg("%s", err.text);
    assert_null(scratch_hidden());
}

/* ---- opened, changed, saved ---- */

static void a_file_that_was_replaced(void **state) {
    (void)state;
    make("f", OURS);
    tamis_filter *filter = open_as("f", true);
    add(filter, ADDED);
    put_theirs("f");
    for (int again = 0; again < 2; again++) /* refused again */
        assert_refused(tamis_filter_save(filter, scratch("f"), &err), "was replaced since");
    assert_holds("f", THEIRS, true);
    /* It may be saved under another name, and its answers are unchanged. */
    assert_int_equal(tamis_filter_save(filter, scratch("g"), &err), TAMIS_OK);
    assert_holds("g", ADDED, true);
    assert_refused(tamis_filter_save(filter, scratch("f"), &err), "was replaced since");
    tamis_filter_free(filter);
    /* The remedy. */
    filter = open_as("f", true);
    add(filter, ADDED);
    assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_OK);
    tamis_filter_free(filter);
    assert_holds("f", THEIRS, true);
    assert_holds("f", ADDED, true);
}

static void a_file_that_was_written_in_place(void **state) {
    (void)state;
    make("f", OURS);
    tamis_filter *filter = open_as("f", true);
    int fd = open(scratch("f"), O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    assert_refused(tamis_filter_save(filter, scratch("f"), &err), "was written to since");
    tamis_filter_free(filter);
}

static void after_a_save_its_file_is_known(void **state) {
    (void)state;
    make("f", OURS);
    tamis_filter *filter = open_as("f", true);
    add(filter, ADDED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_OK);
    assert_holds("f", ADDED, true);
    put_theirs("f");
    assert_refused(tamis_filter_save(filter, scratch("f"), &err), "was replaced since");
    tamis_filter_free(filter);
}

/* The directory was not synced, so the save failed. But the file is in place, and the filter knows it. */
static void after_a_save_that_is_not_sure(void **state) {
    (void)state;
    make("f", OURS);
    tamis_filter *filter = open_as("f", true);
    add(filter, ADDED);
    fault_install();
    fault_arm(FAULT_SYNC, 2, EIO, false);
    assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_E_IO);
    fault_remove();
    assert_non_null(strstr(err.text, "is written, but"));
    assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_OK);
    tamis_filter_free(filter);
}

static void a_file_that_is_gone_is_made_again(void **state) {
    (void)state;
    make("f", OURS);
    tamis_filter *filter = open_as("f", true);
    unlink(scratch("f"));
    assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_OK);
    assert_holds("f", OURS, true);
    tamis_filter_free(filter);
}

/* An add to a mapped file fails with "open it writable, or change a copy". */
static void copies_know_it_too(void **state) {
    (void)state;
    make("f", OURS);
    tamis_filter *opened = open_as("f", false), *copy = NULL;
    assert_int_equal(tamis_filter_copy(&copy, opened, &err), TAMIS_OK);
    tamis_filter_free(opened);
    add(copy, ADDED);
    assert_int_equal(tamis_filter_save(copy, scratch("f"), &err), TAMIS_OK);
    put_theirs("f");
    assert_refused(tamis_filter_save(copy, scratch("f"), &err), "was replaced since");
    tamis_filter_free(copy);
}

static void what_was_reloaded_is_known(void **state) {
    (void)state;
    make("f", OURS);
    tamis_filter *opened = open_as("f", false), *copy = NULL;
    bool changed = false;
    put_theirs("f");
    assert_int_equal(tamis_filter_reload(opened, &changed, &err), TAMIS_OK);
    assert_true(changed);
    assert_int_equal(tamis_filter_copy(&copy, opened, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_save(copy, scratch("f"), &err), TAMIS_OK);
    assert_holds("f", THEIRS, true);
    tamis_filter_free(copy);
    tamis_filter_free(opened);
}

static void what_was_made_here_replaces(void **state) {
    (void)state;
    make("f", OURS);
    put_theirs("f");
    make("f", OURS);
    assert_holds("f", OURS, true);
    assert_holds("f", THEIRS, false);
}

/* ---- while it is written ---- */

/* Lets the other program act after everything is written, before the last check. */
static int putting_sync(int fd) {
    tamis__sys = real;
    put_theirs("f");
    return real.sync(fd);
}

static void a_file_that_comes_while_it_is_written(void **state) {
    (void)state;
    make("f", OURS);
    tamis_filter *filter = open_as("f", true);
    tamis__sys.sync = putting_sync;
    assert_refused(tamis_filter_save(filter, scratch("f"), &err), "was replaced since");
    assert_holds("f", THEIRS, true);
    unlink(scratch("f"));
    tamis__sys.sync = putting_sync;
    assert_refused(tamis_filter_save_new(filter, scratch("f"), TAMIS_FORMAT_TAMIS, &err), "is there already");
    assert_holds("f", THEIRS, true);
    tamis_filter_free(filter);
}

/* ---- tamis_filter_save_new ---- */

static int putting_rename_new(const char *from, const char *to) {
    tamis__sys = real;
    put_theirs("f");
    return real.rename_new(from, to);
}

static int unable_rename_new(const char *from, const char *to) {
    (void)from;
    (void)to;
    errno = EINVAL;
    return -1;
}

static void the_first_of_its_name(void **state) {
    (void)state;
    tamis_filter *filter = stored_make(TAMIS_KIND_BLOCKED, OURS, KEYS);
    for (int able = 0; able < 2; able++) {
        if (!able)
            tamis__sys.rename_new = unable_rename_new;
        assert_int_equal(tamis_filter_save_new(filter, scratch("f"), TAMIS_FORMAT_TAMIS, &err), TAMIS_OK);
        assert_holds("f", OURS, true);
        assert_refused(tamis_filter_save_new(filter, scratch("f"), TAMIS_FORMAT_TAMIS, &err),
                       "is there already");
        unlink(scratch("f"));
        tamis__sys = real;
    }
    /* There is no moment in between, unless the file system lacks that rename. */
    tamis__sys.rename_new = putting_rename_new;
    assert_refused(tamis_filter_save_new(filter, scratch("f"), TAMIS_FORMAT_TAMIS, &err), "is there already");
    assert_holds("f", THEIRS, true);
    tamis_filter_free(filter);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_file_that_was_replaced),
        CASE(a_file_that_was_written_in_place),
        CASE(after_a_save_its_file_is_known),
        CASE(after_a_save_that_is_not_sure),
        CASE(a_file_that_is_gone_is_made_again),
        CASE(copies_know_it_too),
        CASE(what_was_reloaded_is_known),
        CASE(what_was_made_here_replaces),
        CASE(a_file_that_comes_while_it_is_written),
        CASE(the_first_of_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
