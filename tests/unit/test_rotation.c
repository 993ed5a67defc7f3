/* SPDX-License-Identifier: BSD-2-Clause */
/* Which file comes after the one that was read, when a log is rotated. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "stream/io/rotation.h"
#include "support/scratch.h"

/* Makes a file that was written at that time. */
static struct stat file_at(const char *name, int64_t seconds) {
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    struct stat st;
    file_write(scratch(name), name, strlen(name));
    assert_int_equal(utimensat(AT_FDCWD, scratch(name), times, 0), 0);
    assert_int_equal(stat(scratch(name), &st), 0);
    return st;
}

static char compressed[PATH_MAX]; /* what the last search says of it */

/* True if `expected` comes after `last`; "": the file under the name. */
static bool is_next(const struct stat *last, const struct stat *current, const char *expected) {
    tamis__rotation_step rotation;
    char name[PATH_MAX];
    memcpy(name, scratch("log"), strlen(scratch("log")) + 1);
    if (tamis__rotation_next(name, last, current, &rotation, NULL) != TAMIS_OK)
        return false;
    const char *slash = strrchr(rotation.path, '/');
    snprintf(compressed, sizeof compressed, "%s", rotation.compressed);
    return strcmp(slash ? slash + 1 : rotation.path, expected) == 0;
}

static void the_oldest_later_file_is_next(void **state) {
    (void)state;
    const struct stat current = file_at("log", 50), oldest = file_at("log.4", 10),
                      last = file_at("log.3", 20);
    const struct stat second = file_at("log.2", 30), first = file_at("log.1", 40);
    assert_true(is_next(&oldest, &current, "log.3"));
    assert_true(is_next(&last, &current, "log.2"));
    assert_true(is_next(&second, &current, "log.1"));
    assert_true(is_next(&first, &current, ""));
    assert_true(is_next(&first, NULL, ""));
}

static void equal_times_are_ordered_by_name(void **state) {
    (void)state;
    const struct stat current = file_at("log", 10), tenth = file_at("log.10", 10),
                      ninth = file_at("log.9", 10);
    assert_true(is_next(&tenth, &current, "log.9"));
    assert_true(is_next(&ninth, &current, ""));
}

static void later_dates_are_newer(void **state) {
    (void)state;
    const struct stat current = file_at("log", 10), last = file_at("log-20261125", 10);
    const struct stat next = file_at("log-20261126", 10);
    assert_true(is_next(&last, &current, "log-20261126"));
    assert_true(is_next(&next, &current, ""));
}

static void other_files_are_passed_over(void **state) {
    (void)state;
    const struct stat current = file_at("log", 50), last = file_at("log.2", 10);
    (void)file_at("log.3.gz", 10);
    (void)file_at("logs", 20);
    (void)file_at("other.1", 20);
    assert_int_equal(mkdir(scratch("log.d"), 0700), 0);
    assert_true(is_next(&last, &current, ""));
    assert_string_equal(compressed, "");
}

static void a_file_that_was_compressed_before_it_was_read_is_reported(void **state) {
    (void)state;
    const struct stat current = file_at("log", 50), last = file_at("log.3", 10);
    (void)file_at("log.2.gz", 20);
    (void)file_at("log.1", 30);
    (void)file_at("log.1.gz", 60); /* a copy that is being made */
    assert_true(is_next(&last, &current, "log.1"));
    assert_string_equal(compressed, scratch("log.2.gz"));
}

/* Compressors may keep only whole seconds. Then the number in the name says which file is newer. */
static void a_compressed_file_of_the_same_time_is_reported(void **state) {
    (void)state;
    const struct stat current = file_at("log", 50), last = file_at("log.2", 10);
    (void)file_at("log.3.bz2", 10);
    assert_true(is_next(&last, &current, ""));
    assert_string_equal(compressed, "");
    (void)file_at("log.1.bz2", 10);
    assert_true(is_next(&last, &current, ""));
    assert_string_equal(compressed, scratch("log.1.bz2"));
}

/* The last file was removed or moved elsewhere: its time is known. */
static void a_file_that_is_gone_has_a_successor(void **state) {
    (void)state;
    const struct stat current = file_at("log", 50), last = file_at("elsewhere", 10);
    (void)file_at("log.2", 10);
    (void)file_at("log.1", 20);
    assert_true(is_next(&last, &current, "log.1"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_oldest_later_file_is_next, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(equal_times_are_ordered_by_name, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(later_dates_are_newer, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(other_files_are_passed_over, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_was_compressed_before_it_was_read_is_reported,
                                        scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_compressed_file_of_the_same_time_is_reported, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_gone_has_a_successor, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
