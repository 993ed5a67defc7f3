/* SPDX-License-Identifier: BSD-2-Clause */

/* Runs over a state while another program appends to their outputs. No byte of either is lost: the run ends
 * with an error, and the next start keeps the other program's bytes in OUT.kept-AT. */
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "support/commits.h"
#include "support/decompress.h"
#include "support/scratch.h"

#define LINE "of another program\n"

enum { OUTPUTS = 2, FIRST_BATCH = 1 };

static commits_run run;
static char in[300], outputs[OUTPUTS][300];
static const char *const inputs[] = {in};
static tamis_compression compression;
static test_bytes expected[OUTPUTS];
static uint64_t commit_bytes, batches, append_before;
static const char *appended_to;
static unsigned remarks;

static void append(const char *path) {
    const int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0 && write(fd, LINE, strlen(LINE)) == (ssize_t)strlen(LINE) && close(fd) == 0);
}

static void on_batch(uint64_t batch) {
    batches = batch;
    if (batch == append_before)
        append(appended_to);
}

static void on_remark(void *context, const char *message, bool loss) {
    (void)context;
    remarks += loss && strstr(message, ".kept-");
}

/* Makes a run. Before batch `batch` (0: never), another program appends a line to `path`. */
static void go(uint64_t batch, const char *path) {
    commits_init(&run, &commits_makes[COMMITS_EXACT]);
    run.options.inputs = inputs;
    run.options.input_count = 1;
    run.options.output = outputs[0];
    run.options.duplicates = outputs[1];
    run.options.compression = (int)compression;
    run.commits.bytes = commit_bytes;
    run.commits.remark = on_remark;
    run.before_batch = on_batch;
    append_before = batch;
    appended_to = path;
    remarks = 0;
    commits_go(&run);
}

static void read_output(int i, test_bytes *into) {
    if (compression == TAMIS_COMPRESSION_NONE)
        file_read(outputs[i], into);
    else
        assert_true(decompress_file(compression, outputs[i], into));
}

static bool outputs_are_right(void) {
    bool right = true;
    for (int i = 0; i < OUTPUTS; i++) {
        test_bytes got = {0};
        read_output(i, &got);
        right = bytes_check(outputs[i], &got, &expected[i]) && right;
        bytes_clear(&got);
    }
    return right;
}

/* Returns how many files PATH.kept-AT there are, and how many of them have the line. */
static void count_kept(const char *path, size_t *files, size_t *with_line) {
    char pattern[320];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s.kept-*", path);
    const bool any = glob(pattern, 0, NULL, &found) == 0;
    *files = any ? found.gl_pathc : 0;
    *with_line = 0;
    for (size_t i = 0; i < *files; i++) {
        test_bytes got = {0};
        file_read(found.gl_pathv[i], &got);
        *with_line += memmem(got.data, got.size, LINE, strlen(LINE)) != NULL;
        bytes_clear(&got);
    }
    if (any)
        globfree(&found);
}

static bool is_kept_once(const char *path) {
    size_t files, with_line;
    count_kept(path, &files, &with_line);
    return files == 1 && with_line == 1;
}

static void forget(void) {
    commits_forget();
    scratch_clear();
    commits_write(in, 1000, 1);
}

/* Makes an undisturbed run, whose outputs become `expected`. Returns the number of its batches. */
static uint64_t expect_outputs(void) {
    forget();
    go(0, NULL);
    assert_true(commits_started(&run, TAMIS_STREAM_NEW));
    for (int i = 0; i < OUTPUTS; i++) {
        bytes_clear(&expected[i]);
        read_output(i, &expected[i]);
    }
    return batches;
}

static void append_and_restart(uint64_t batch, const char *path) {
    forget();
    go(batch, path);
    assert_true(commits_came_to(&run, TAMIS_E_CHANGED, "another program wrote 19 bytes"));
    assert_true(strstr(run.err.text, path));
    go(0, NULL);
    assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
    assert_true(outputs_are_right());
    assert_true(is_kept_once(path));
    assert_true(remarks > 0);
    go(0, NULL);
    assert_true(commits_started(&run, TAMIS_STREAM_FINISHED));
}

/* Before the first commit, after some, and before the last batch. */
static void reg_22_appended_bytes_are_kept(void **state) {
    static const tamis_compression compressions[] = {TAMIS_COMPRESSION_NONE, TAMIS_COMPRESSION_GZIP};
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        compression = compressions[c];
        commit_bytes = 1000;
        const uint64_t last = expect_outputs();
        for (int i = 0; i < OUTPUTS; i++) {
            commit_bytes = 6000;
            append_and_restart(6, outputs[i]);
            append_and_restart(FIRST_BATCH, outputs[i]);
            commit_bytes = 1000;
            append_and_restart(12, outputs[i]);
            append_and_restart(last, outputs[i]);
        }
    }
}

/* A start keeps bytes of one output, and then fails because of the other one. It reports what it kept. */
static void reg_22_kept_bytes_of_a_failed_start_are_reported(void **state) {
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        compression = c ? TAMIS_COMPRESSION_GZIP : TAMIS_COMPRESSION_NONE;
        commit_bytes = 6000;
        expect_outputs();
        forget();
        go(6, outputs[0]);
        assert_true(commits_came_to(&run, TAMIS_E_CHANGED, "another program"));
        go(FIRST_BATCH, outputs[1]);
        assert_true(commits_came_to(&run, TAMIS_E_CHANGED, "another program"));
        assert_true(strstr(run.err.text, outputs[1]));
        assert_true(is_kept_once(outputs[0]));
        assert_int_equal(remarks, compression == TAMIS_COMPRESSION_NONE ? 1 : 2);
        go(0, NULL);
        assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
        assert_true(outputs_are_right());
    }
}

/* Bytes that come while a start copies those behind the last commit are not cut off with them. */
static struct tamis__system unharmed;
static bool copied;

static int appending_open(const char *path, int flags, mode_t mode) {
    const int fd = unharmed.open(path, flags, mode);
    if (fd >= 0 && !copied && flags & O_CREAT && (strstr(path, ".tail-") || strstr(path, ".kept-"))) {
        copied = true;
        append(outputs[0]);
    }
    return fd;
}

static void reg_22_bytes_appended_to_a_tail_are_kept(void **state) {
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        compression = c ? TAMIS_COMPRESSION_GZIP : TAMIS_COMPRESSION_NONE;
        expect_outputs();
        forget();
        go(6, outputs[0]);
        assert_true(commits_came_to(&run, TAMIS_E_CHANGED, "another program"));
        unharmed = tamis__sys;
        tamis__sys.open = appending_open;
        copied = false;
        go(0, NULL);
        tamis__sys = unharmed;
        assert_true(copied);
        assert_true(commits_came_to(&run, TAMIS_E_CHANGED, "another program wrote 19 bytes"));
        go(0, NULL);
        assert_true(commits_started(&run, TAMIS_STREAM_RESUMED));
        assert_true(outputs_are_right());
        size_t files, with_line;
        count_kept(outputs[0], &files, &with_line);
        assert_true(with_line > 0);
    }
}

static int set_up(void **state) {
    (void)state;
    scratch_make();
    snprintf(in, sizeof in, "%s", scratch("in"));
    for (int i = 0; i < OUTPUTS; i++)
        snprintf(outputs[i], sizeof outputs[i], "%s", scratch(i ? "again" : "once"));
    commit_bytes = 1000;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int i = 0; i < OUTPUTS; i++)
        bytes_clear(&expected[i]);
    commits_forget();
    scratch_remove();
    return 0;
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(reg_22_appended_bytes_are_kept),
        CASE(reg_22_kept_bytes_of_a_failed_start_are_reported),
        CASE(reg_22_bytes_appended_to_a_tail_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
