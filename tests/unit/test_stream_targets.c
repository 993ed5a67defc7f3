/* SPDX-License-Identifier: BSD-2-Clause */
/* Targets of outputs: files that are replaced as a whole, links, permissions, and targets that are
 * refused. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <tamis/experimental/stream.h>

#include "support/fault.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"
#include "support/threads.h"

static size_t descriptors;

static int set_up(void **state) {
    (void)state;
    scratch_make();
    file_write(scratch("in"), "a\nb\na\n", 6);
    descriptors = fault_open_descriptors();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    bool leaked = fault_open_descriptors() != descriptors;
    const char *left = scratch_hidden();
    if (leaked || left)
        fprintf(stderr, "left behind: %s %s\n", leaked ? "a descriptor" : "", left ? left : "");
    int wrong = leaked || left;
    scratch_remove();
    return wrong;
}

static tamis_stream_stats stats;
static tamis_error err;

static tamis_status run_inputs(const char *const *inputs, size_t count, const char *output,
                               const char *duplicates) {
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    options.inputs = inputs;
    options.input_count = count;
    options.output = output;
    options.duplicates = duplicates;
    stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    err = (tamis_error)TAMIS_ERROR_INIT;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    tamis_status status = tamis_stream_dedup(session, &options, &stats, NULL, &err);
    session_drop(session);
    return status;
}

static tamis_status run(const char *input, const char *output, const char *duplicates) {
    return run_inputs(&input, 1, output, duplicates);
}

static bool says(const char *text) {
    if (strstr(err.text, text))
        return true;
    fprintf(stderr, "\"%s\" does not say \"%s\"\n", err.text, text);
    return false;
}

static void assert_says(const char *text) {
    assert_true(says(text));
}

/* ---- outputs ---- */

static void new_files(void **state) {
    (void)state;
    assert_int_equal(run(scratch("in"), scratch("once"), scratch("again")), TAMIS_OK);
    assert_true(file_is(scratch("once"), "a\nb\n"));
    assert_true(file_is(scratch("again"), "a\n"));
    struct stat st;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(scratch("once"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0666 & ~mask);
}

static void no_outputs_only_count(void **state) {
    (void)state;
    assert_int_equal(run(scratch("in"), NULL, NULL), TAMIS_OK);
    assert_int_equal(stats.records, 3);
    assert_int_equal(stats.unique, 2);
    assert_int_equal(stats.bytes_out, 0);
    assert_int_equal(scratch_entries(), 1);
}

static void only_duplicates(void **state) {
    (void)state;
    assert_int_equal(run(scratch("in"), NULL, scratch("again")), TAMIS_OK);
    assert_true(file_is(scratch("again"), "a\n"));
}

static void permissions_are_kept(void **state) {
    (void)state;
    static const mode_t modes[] = {0600, 0640, 0644, 0755, 0666, 0604};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct stat before;
        struct stat after;
        file_write(scratch("once"), "old", 3);
        assert_int_equal(chmod(scratch("once"), modes[i]), 0);
        assert_int_equal(stat(scratch("once"), &before), 0);
        assert_int_equal(run(scratch("in"), scratch("once"), NULL), TAMIS_OK);
        assert_int_equal(stat(scratch("once"), &after), 0);
        assert_int_equal(after.st_mode & 07777, modes[i]);
        assert_int_equal(after.st_uid, before.st_uid);
        assert_int_equal(after.st_gid, before.st_gid);
        assert_true(after.st_ino != before.st_ino);
        assert_true(file_is(scratch("once"), "a\nb\n"));
    }
}

static void owner_is_kept(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    struct stat after;
    file_write(scratch("once"), "old", 3);
    assert_int_equal(chown(scratch("once"), 1234, 5678), 0);
    assert_int_equal(chmod(scratch("once"), 0664), 0);
    assert_int_equal(run(scratch("in"), scratch("once"), NULL), TAMIS_OK);
    assert_int_equal(stat(scratch("once"), &after), 0);
    assert_int_equal(after.st_uid, 1234);
    assert_int_equal(after.st_gid, 5678);
    assert_int_equal(after.st_mode & 07777, 0664);
}

/* Runs `body` in a process without root's rights; true if it returns true. */
static bool as_nobody(bool (*body)(void)) {
    pid_t child = fork();
    if (child == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(3);
        _exit(body() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool a_file_of_another_user_reveals_nothing(void) {
    struct stat after;
    return run(scratch("in"), scratch("once"), NULL) == TAMIS_OK && stat(scratch("once"), &after) == 0 &&
           after.st_uid == 65534 && (after.st_mode & 07777) == 0622;
}

/* A file of another owner in a world-writable directory. The new file belongs to this user, so set-id bits
 * are dropped. Its group cannot be kept, so the new group gets no more rights than others. */
static void what_cannot_be_kept_is_not_given(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    file_write(scratch("once"), "old", 3);
    assert_int_equal(chmod(scratch("once"), 04672), 0);
    assert_int_equal(chmod(scratch("."), 0777), 0);
    assert_true(as_nobody(a_file_of_another_user_reveals_nothing));
}

static bool a_file_of_another_user_keeps_our_group(void) {
    struct stat after;
    return run(scratch("in"), scratch("once"), NULL) == TAMIS_OK && stat(scratch("once"), &after) == 0 &&
           after.st_uid == 65534 && after.st_gid == 65534 && (after.st_mode & 07777) == 0662;
}

static void set_id_bits_go_with_the_owner(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    file_write(scratch("once"), "old", 3);
    assert_int_equal(chown(scratch("once"), 1234, 65534), 0);
    assert_int_equal(chmod(scratch("once"), 06662), 0);
    assert_int_equal(chmod(scratch("."), 0777), 0);
    assert_true(as_nobody(a_file_of_another_user_keeps_our_group));
}

static bool read_only_file_is_refused(void) {
    return run(scratch("in"), scratch("once"), NULL) == TAMIS_E_IO && says("/once: permission denied; check");
}

static void a_file_without_write_permission(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    file_write(scratch("once"), "old", 3);
    assert_int_equal(chmod(scratch("once"), 0444), 0);
    assert_int_equal(chmod(scratch("."), 0777), 0);
    assert_true(as_nobody(read_only_file_is_refused));
    assert_true(file_is(scratch("once"), "old"));
}

static bool closed_directory_is_refused(void) {
    return run(scratch("in"), scratch("once"), NULL) == TAMIS_E_IO &&
           says("/once: cannot create a file beside it: permission denied; check");
}

static void a_directory_without_write_permission(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    file_write(scratch("once"), "old", 3);
    assert_int_equal(chmod(scratch("once"), 0666), 0);
    assert_int_equal(chmod(scratch("."), 0755), 0);
    assert_true(as_nobody(closed_directory_is_refused));
    assert_true(file_is(scratch("once"), "old"));
}

static bool unreadable_input_is_refused(void) {
    const char *inputs[] = {scratch("in"), scratch("secret")};
    return run_inputs(inputs, 2, "-", NULL) == TAMIS_E_IO && stats.records == 0 &&
           says("/secret: permission denied; check");
}

static void an_input_without_read_permission(void **state) {
    (void)state;
    if (geteuid() != 0)
        skip();
    file_write(scratch("secret"), "x\n", 2);
    assert_int_equal(chmod(scratch("secret"), 0600), 0);
    assert_int_equal(chmod(scratch("."), 0755), 0);
    assert_true(as_nobody(unreadable_input_is_refused));
}

static void links_are_followed(void **state) {
    (void)state;
    file_write(scratch("real"), "old", 3);
    assert_int_equal(symlink("real", scratch("link")), 0);
    assert_int_equal(symlink(scratch("link"), scratch("link2")), 0);
    assert_int_equal(run(scratch("in"), scratch("link2"), NULL), TAMIS_OK);
    assert_true(file_is(scratch("real"), "a\nb\n"));
    struct stat st;
    assert_int_equal(lstat(scratch("link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    /* a link to nothing: that file is made */
    assert_int_equal(symlink("fresh", scratch("link3")), 0);
    assert_int_equal(run(scratch("in"), scratch("link3"), NULL), TAMIS_OK);
    assert_true(file_is(scratch("fresh"), "a\nb\n"));
    /* in a circle */
    assert_int_equal(symlink("circle", scratch("circle")), 0);
    assert_int_equal(run(scratch("in"), scratch("circle"), NULL), TAMIS_E_IO);
    assert_says("/circle: too many levels of symbolic links; check where");
}

static void a_symlink_into_another_directory(void **state) {
    (void)state;
    assert_int_equal(mkdir(scratch("directory"), 0777), 0);
    assert_int_equal(symlink("directory/../directory/target", scratch("link")), 0);
    assert_int_equal(run(scratch("in"), scratch("link"), NULL), TAMIS_OK);
    assert_true(file_is(scratch("directory/target"), "a\nb\n"));
    assert_int_equal(unlink(scratch("directory/target")), 0);
}

static void the_longest_name(void **state) {
    (void)state;
    char name[NAME_MAX + 1];
    memset(name, 'n', NAME_MAX);
    name[NAME_MAX] = '\0';
    assert_int_equal(run(scratch("in"), scratch(name), NULL), TAMIS_OK);
    assert_true(file_is(scratch(name), "a\nb\n"));
    char path[PATH_MAX + 10];
    memset(path, 'p', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_int_equal(run(scratch("in"), path, NULL), TAMIS_E_IO);
    assert_says("ppp: file name too long; use a shorter name");
    assert_int_equal(run(path, NULL, NULL), TAMIS_E_IO);
    assert_says("ppp: file name too long; use a shorter name");
}

static void a_name_relative_to_the_working_directory(void **state) {
    (void)state;
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(scratch(".")), 0);
    tamis_status status = run("in", "once", "./again");
    tamis_status same = run("in", "new", "./new");
    assert_int_equal(chdir(before), 0);
    assert_int_equal(status, TAMIS_OK);
    assert_int_equal(same, TAMIS_E_INVALID);
    assert_true(file_is(scratch("once"), "a\nb\n"));
    assert_true(file_is(scratch("again"), "a\n"));
    assert_false(file_exists(scratch("new")));
}

static void descriptors_are_written_directly(void **state) {
    (void)state;
    char name[32];
    int fd = open(scratch("log"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_int_equal(write(fd, "head\n", 5), 5);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    assert_int_equal(run(scratch("in"), name, NULL), TAMIS_OK);
    assert_true(file_is(scratch("log"), "head\na\nb\n"));
    /* through a link, as container images have it */
    assert_int_equal(symlink(name, scratch("link")), 0);
    assert_int_equal(run(scratch("in"), NULL, scratch("link")), TAMIS_OK);
    assert_true(file_is(scratch("log"), "head\na\nb\na\n"));
    /* as input: from the descriptor's position */
    assert_int_equal(lseek(fd, 5, SEEK_SET), 5);
    assert_int_equal(run(name, scratch("once"), NULL), TAMIS_OK);
    assert_true(file_is(scratch("once"), "a\nb\n"));
    close(fd);
    assert_int_equal(run(scratch("in"), name, NULL), TAMIS_E_IO);
    assert_says("bad file descriptor; it is closed");
}

static void devices_are_written_directly(void **state) {
    (void)state;
    assert_int_equal(run(scratch("in"), "/dev/null", "/dev/null"), TAMIS_OK);
    assert_int_equal(stats.printed, 2);
    assert_int_equal(run(scratch("in"), "/dev/full", scratch("again")), TAMIS_E_IO);
    assert_int_equal(stats.unique, 2); /* queried, but not written */
    assert_int_equal(stats.printed, 0);
    assert_string_equal(err.text, "/dev/full: no space left on device; free space there, or write elsewhere");
    assert_int_equal(err.sys_errno, ENOSPC);
    assert_false(file_exists(scratch("again")));
    struct stat st;
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

/* ---- refused before anything happens ---- */

static void assert_refused(tamis_status got, tamis_status expected, const char *text) {
    assert_int_equal(got, expected);
    assert_says(text);
    assert_int_equal(stats.records, 0);
}

static void an_output_that_is_an_input(void **state) {
    (void)state;
    file_write(scratch("in2"), "c\n", 2);
    const char *inputs[] = {scratch("in2"), scratch("in")};
    assert_refused(run_inputs(inputs, 2, scratch("in"), NULL), TAMIS_E_INVALID,
                   "/in: is an input and an output; write to another file");
    assert_refused(run_inputs(inputs, 2, NULL, scratch("in")), TAMIS_E_INVALID, "is an input and an output");
    assert_int_equal(link(scratch("in"), scratch("hard")), 0);
    assert_int_equal(symlink("in", scratch("soft")), 0);
    assert_refused(run_inputs(inputs, 2, scratch("hard"), NULL), TAMIS_E_INVALID,
                   "is an input and an output");
    assert_refused(run_inputs(inputs, 2, scratch("soft"), NULL), TAMIS_E_INVALID,
                   "is an input and an output");
    /* by a descriptor, as from a redirection of the shell */
    char name[32];
    int fd = open(scratch("in"), O_WRONLY | O_APPEND | O_CLOEXEC);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    assert_refused(run_inputs(inputs, 2, name, NULL), TAMIS_E_INVALID, "/in: is an input and an output");
    close(fd);
    assert_true(file_is(scratch("in"), "a\nb\na\n"));
}

static void two_outputs_in_one_file(void **state) {
    (void)state;
    const char *expected = "is the output for first occurrences and for duplicates; give them two files";
    assert_refused(run(scratch("in"), "-", "-"), TAMIS_E_INVALID, expected);
    assert_refused(run(scratch("in"), scratch("new"), scratch("new")), TAMIS_E_INVALID, expected);
    assert_refused(run(scratch("in"), scratch("new"), scratch("./new")), TAMIS_E_INVALID, expected);
    assert_int_equal(symlink("new", scratch("soft")), 0);
    assert_refused(run(scratch("in"), scratch("soft"), scratch("new")), TAMIS_E_INVALID, expected);
    file_write(scratch("old"), "old", 3);
    assert_int_equal(link(scratch("old"), scratch("hard")), 0);
    assert_refused(run(scratch("in"), scratch("old"), scratch("hard")), TAMIS_E_INVALID, expected);
    assert_false(file_exists(scratch("new")));
    assert_true(file_is(scratch("old"), "old"));
}

static void directories(void **state) {
    (void)state;
    const char *inputs[] = {scratch("in"), scratch(".")};
    assert_refused(run_inputs(inputs, 2, scratch("once"), NULL), TAMIS_E_IO, ": is a directory; name a file");
    assert_refused(run(scratch("in"), scratch("."), NULL), TAMIS_E_IO, ": is a directory; name a file");
    assert_refused(run(scratch("in"), scratch("none/once"), NULL), TAMIS_E_IO,
                   ": no such file or directory; check");
    assert_refused(run(scratch("in"), scratch("in/once"), NULL), TAMIS_E_IO, ": not a directory; check");
    assert_refused(run(scratch("in"), scratch("none/"), NULL), TAMIS_E_IO,
                   ": no such file or directory; check");
    assert_refused(run(scratch("in"), "", NULL), TAMIS_E_IO, ": no such file or directory; check");
    assert_false(file_exists(scratch("once")));
}

static void a_missing_input(void **state) {
    (void)state;
    const char *inputs[] = {scratch("in"), scratch("in"), scratch("typo")};
    assert_refused(run_inputs(inputs, 3, scratch("once"), NULL), TAMIS_E_IO,
                   "/typo: no such file or directory; check the name");
    assert_int_equal(err.sys_errno, ENOENT);
    assert_false(file_exists(scratch("once")));
}

static void a_name_with_control_bytes_stays_on_one_line(void **state) {
    (void)state;
    assert_refused(run("no\nsuch\x1b[1mfile", NULL, NULL), TAMIS_E_IO, "no?such?[1mfile: no such file");
    assert_null(strchr(err.text, '\n'));
}

static void bad_options(void **state) {
    (void)state;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    options.input_count = 1;
    assert_int_equal(tamis_stream_dedup(session, &options, NULL, NULL, &err), TAMIS_E_INVALID);
    options.struct_size = 0;
    assert_int_equal(tamis_stream_dedup(session, &options, NULL, NULL, NULL), TAMIS_E_INVALID);
    assert_int_equal(tamis_stream_dedup(session, NULL, NULL, NULL, NULL), TAMIS_E_INVALID);
    options = (tamis_stream_options)TAMIS_STREAM_OPTIONS_INIT;
    tamis_stream_result result = {.struct_size = 0};
    assert_int_equal(tamis_stream_dedup(session, &options, NULL, &result, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text, "stream: result without struct_size; start from TAMIS_STREAM_RESULT_INIT");
    session_drop(session);
}

/* A caller built with an earlier header, whose structs are shorter. */
static void shorter_structs(void **state) {
    (void)state;
    const char *input = scratch("in");
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    options.struct_size = offsetof(tamis_stream_options, output);
    options.inputs = &input;
    options.input_count = 1;
    options.output = "/nowhere/at/all";
    tamis_stream_stats part = {.struct_size = offsetof(tamis_stream_stats, bytes_in), .bytes_in = 77};
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    assert_int_equal(tamis_stream_dedup(session, &options, &part, NULL, &err), TAMIS_OK);
    assert_int_equal(part.struct_size, offsetof(tamis_stream_stats, bytes_in));
    assert_int_equal(part.records, 3);
    assert_int_equal(part.bytes_in, 77);
    session_drop(session);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(new_files),
        CASE(no_outputs_only_count),
        CASE(only_duplicates),
        CASE(permissions_are_kept),
        CASE(owner_is_kept),
        CASE(what_cannot_be_kept_is_not_given),
        CASE(set_id_bits_go_with_the_owner),
        CASE(a_file_without_write_permission),
        CASE(a_directory_without_write_permission),
        CASE(an_input_without_read_permission),
        CASE(links_are_followed),
        CASE(a_symlink_into_another_directory),
        CASE(the_longest_name),
        CASE(a_name_relative_to_the_working_directory),
        CASE(descriptors_are_written_directly),
        CASE(devices_are_written_directly),
        CASE(an_output_that_is_an_input),
        CASE(two_outputs_in_one_file),
        CASE(directories),
        CASE(a_missing_input),
        CASE(a_name_with_control_bytes_stays_on_one_line),
        CASE(bad_options),
        CASE(shorter_structs),
    };
    test_run_with_threads(tests);
}
