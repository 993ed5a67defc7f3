/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: torture */
/* ctest: timeout=900 */

/*
 * A run over a state follows a log that was rotated twice while the run was down. Each of its system calls
 * and allocations fails once, or the log is rotated again before a call that examines or opens a file, or
 * power is lost after a change on the disk. The run is then started again: its outputs must be, byte for
 * byte, those of one run over all records. The same for two logs that match a pattern; the order of their
 * records is open. (tests/crash/follow.sh kills the command while logs are rotated.)
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
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
#include "support/commits_pair.h"
#include "support/fault.h"
#include "support/outage.h"
#include "support/scratch.h"
#include "support/tools.h"

enum { FILES = 4, SECOND = FILES, OUTPUTS = 2, RECORDS = 300, KEYS = 500, READ_BEFORE = 2 /* batches */ };

static char log_name[300], second_name[300], pattern[300], names[OUTPUTS][300];
static const char *input = log_name;
static bool several;                    /* two logs */
static test_bytes contents[FILES + 1];  /* of the log, and of the second one */
static test_bytes expected[2][OUTPUTS]; /* of all files but the last, and of all */
static struct tamis__system real;

/* ---- the log and the runs ---- */

static void use_names(commits_run *run) {
    commits_init(run, &commits_makes[COMMITS_EXACT]);
    run->options.inputs = &input;
    run->options.input_count = 1;
    run->options.output = names[0];
    run->options.duplicates = names[1];
}

/* A run waits only when it has read everything, or to find a renamed file again. It is stopped then. */
static int stop_at_wait(struct pollfd *fds, nfds_t count, int timeout_ms) {
    if (timeout_ms == 0)
        return real.poll(fds, count, 0);
    for (nfds_t i = 0; i < count; i++)
        fds[i].revents = i + 1 == count ? POLLIN : 0;
    return 1;
}

/* A rotated file is left at once if it was rotated a while ago. */
static int64_t read_late_clock(void) {
    return real.now_unix_ms() + 1000000;
}

static tamis_status follow(commits_run *run, const tamis_allocator *allocator, uint64_t stop_before) {
    use_names(run);
    run->options.follow = true;
    if (several) {
        run->options.files = pattern;
        run->options.input_count = 0;
    }
    run->allocator = allocator;
    run->stop_before = stop_before;
    return commits_go(run);
}

static void write_log(const char *suffix, const test_bytes *bytes) {
    char name[300 + 8];
    snprintf(name, sizeof name, "%s%s", log_name, suffix);
    file_write(name, bytes->data, bytes->size);
}

static void remove_log(int number) {
    char name[300 + 8];
    snprintf(name, sizeof name, "%s.%d", log_name, number);
    unlink(name);
}

static void rename_log(const char *from, const char *to) {
    char source[300 + 8], target[300 + 8];
    snprintf(source, sizeof source, "%s%s", log_name, from);
    snprintf(target, sizeof target, "%s%s", log_name, to);
    assert_int_equal(rename(source, target), 0);
}

/* Removes the state and what runs have written. */
static void forget_runs(void) {
    commits_forget();
    for (int i = 0; i < OUTPUTS; i++)
        unlink(names[i]);
    pair_sweep();
}

static void make_first_logs(void) {
    forget_runs();
    for (int i = 1; i <= FILES; i++)
        remove_log(i);
    write_log("", &contents[0]);
    if (several)
        file_write(second_name, contents[SECOND].data, contents[SECOND].size);
}

/* Reads a part of the first file, and rotates it twice. */
static void read_and_rotate(void) {
    commits_run run;
    follow(&run, NULL, READ_BEFORE + 1);
    assert_true(commits_came_to(&run, TAMIS_E_INTERRUPTED, ""));
    rename_log("", ".2");
    write_log(".1", &contents[1]);
    write_log("", &contents[2]);
}

static void prepare(void) {
    make_first_logs();
    read_and_rotate();
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The order of records of two logs is open. */
static void sort_lines(test_bytes *bytes) {
    enum { LINES = 2 * (FILES + 1) * RECORDS };
    static char *lines[LINES];
    test_bytes sorted = {0};
    size_t count = 0;
    char *text = strndup((const char *)bytes->data, bytes->size), *rest = text, *line;
    assert_non_null(text);
    while ((line = strsep(&rest, "\n")) && rest) {
        assert_true(count < LINES);
        lines[count++] = line;
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    for (size_t i = 0; i < count; i++) {
        bytes_add(&sorted, lines[i], strlen(lines[i]));
        bytes_add(&sorted, "\n", 1);
    }
    free(text);
    bytes_clear(bytes);
    *bytes = sorted;
}

static bool is_right(bool with_last) {
    bool right = true;
    for (int i = 0; i < OUTPUTS; i++) {
        test_bytes got = {0};
        file_read(names[i], &got);
        if (several) {
            sort_lines(&got);
            sort_lines(&expected[with_last][i]);
        }
        right = bytes_check(i ? "duplicates" : "output", &got, &expected[with_last][i]) && right;
        bytes_clear(&got);
    }
    return right;
}

/* Repeats the run undisturbed. */
static void finish(const char *after, bool with_last) {
    commits_run run;
    follow(&run, NULL, 0);
    if (!commits_came_to(&run, TAMIS_E_INTERRUPTED, "") || !is_right(with_last))
        fail_msg("after %s", after);
}

/* ---- the tests ---- */

static void rotated_files_come_in_order(void **state) {
    (void)state;
    prepare();
    finish("nothing", false);
    finish("all was read", false);
}

static bool fault_at(fault_call call, int error_number, uint64_t n) {
    commits_run run;
    char after[100];
    prepare();
    const size_t open_before = fault_open_descriptors();
    fault_install();
    fault_arm(call, n, error_number, false);
    follow(&run, NULL, 0);
    const bool fired = fault_fired() > 0;
    fault_disarm();
    fault_remove();
    snprintf(after, sizeof after, "%s number %" PRIu64 " failed with %d", fault_call_name(call), n,
             error_number);
    if (run.status == TAMIS_OK || run.err.status != run.status || run.err.text[0] == '\0')
        fail_msg("%s: %d \"%s\"", after, run.status, run.err.text);
    if (fault_open_descriptors() != open_before)
        fail_msg("%s: descriptors are left", after);
    finish(after, false);
    return fired;
}

static void every_call_fails(void **state) {
    static const int errors[] = {EIO, ENOENT, EACCES};
    const uint64_t step =
        test_is_torture() ? 1 : test_scale(several ? 17 : 5, several ? 61 : 31, several ? 61 : 31);
    (void)state;
    for (fault_call call = 0; call < FAULT_SOCKET; call++)
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
            uint64_t n = 1;
            while (fault_at(call, errors[i], n))
                n += step;
        }
}

static void every_allocation_fails(void **state) {
    const uint64_t step =
        test_is_torture() ? 1 : test_scale(several ? 17 : 5, several ? 61 : 31, several ? 61 : 31);
    bool refused = true;
    (void)state;
    for (uint64_t n = 1; refused; n += step) {
        fault_memory memory = {.fail_at = n};
        const tamis_allocator counted = fault_memory_allocator(&memory);
        commits_run run;
        char after[100];
        prepare();
        const size_t descriptors = fault_open_descriptors();
        follow(&run, &counted, 0);
        refused = memory.refused > 0;
        snprintf(after, sizeof after, "allocation %" PRIu64 " failed", n);
        if (memory.live_blocks > 0)
            fail_msg("%s: %zu blocks are left", after, memory.live_blocks);
        if (fault_open_descriptors() != descriptors)
            fail_msg("%s: descriptors are left open", after);
        finish(after, false);
    }
}

/* ---- the log is rotated at a call ---- */

static uint64_t calls, rotate_at; /* of stat and open; 0: never */

/* Rotates twice. */
static void rotate_if_due(void) {
    const test_bytes empty = {0};
    if (++calls != rotate_at)
        return;
    rename_log(".2", ".4");
    rename_log(".1", ".3");
    rename_log("", ".2");
    write_log(".1", &contents[FILES - 1]);
    write_log("", &empty);
}

static int rotate_before_stat(const char *path, struct stat *st) {
    rotate_if_due();
    return real.stat(path, st);
}

static int rotate_before_open(const char *path, int flags, mode_t mode) {
    rotate_if_due();
    return real.open(path, flags, mode);
}

static void the_log_is_rotated_at_every_call(void **state) {
    const uint64_t step = test_is_torture() ? 1 : test_scale(1, 7, 7);
    bool fired = true;
    (void)state;
    for (rotate_at = 1; fired; rotate_at += step) {
        commits_run run;
        char after[100];
        prepare();
        calls = 0;
        tamis__sys.stat = rotate_before_stat;
        tamis__sys.open = rotate_before_open;
        follow(&run, NULL, 0);
        tamis__sys.stat = real.stat;
        tamis__sys.open = real.open;
        snprintf(after, sizeof after, "rotation at call %" PRIu64, rotate_at);
        if (!commits_came_to(&run, TAMIS_E_INTERRUPTED, ""))
            fail_msg("%s", after);
        fired = calls >= rotate_at;
        finish(after, fired);
    }
}

/* ---- power is lost ---- */

static bool check_outage(void *context, int mark) {
    commits_run run;
    (void)context;
    if (mark > 0 && !is_right(false))
        fail_msg("what was written is gone: %s", outage_describe());
    follow(&run, NULL, 0);
    if (!commits_came_to(&run, TAMIS_E_INTERRUPTED, "") || !is_right(false))
        fail_msg("after %s", outage_describe());
    forget_runs();
    return true;
}

/* The logs themselves stay: others have written them. */
static void every_loss_of_power(void **state) {
    const uint64_t step = several ? test_scale_torture(1, 23, 61, 61) : test_scale_torture(1, 7, 31, 31);
    commits_run run;
    (void)state;
    make_first_logs();
    outage_begin(scratch(""), (outage_model){.left_out = OUTAGE_NOTHING});
    read_and_rotate();
    const size_t first =
        outage_changes(); /* before, no state may know the log: its rotated file is not read */
    follow(&run, NULL, 0);
    assert_true(commits_came_to(&run, TAMIS_E_INTERRUPTED, ""));
    outage_mark(1);
    outage_pause();
    forget_runs();
    const size_t changes = outage_changes();
    uint64_t states = outage_each(first, step, 3, check_outage, NULL);
    states += outage_each(changes, 1, 3, check_outage, NULL);
    printf("%zu changes, %" PRIu64 " states\n", changes, states);
    assert_true(changes > first + 40 && states > 10);
    outage_end();
}

/* ---- set-up and tear-down ---- */

/* Makes the outputs of one run over all records, which has no state afterwards. */
static bool expect(test_bytes made[OUTPUTS], const test_bytes *records) {
    commits_run run;
    commits_forget();
    write_log("", records);
    use_names(&run); /* of the log alone */
    commits_go(&run);
    for (int i = 0; i < OUTPUTS; i++) {
        file_read(names[i], &made[i]);
        unlink(names[i]);
    }
    return commits_started(&run, TAMIS_STREAM_NEW);
}

static int set_up(void **state) {
    static const char *const called[OUTPUTS] = {"output", "duplicates"};
    test_bytes records = {0};
    bool made = true;
    (void)state;
    scratch_make();
    snprintf(log_name, sizeof log_name, "%s", scratch("a.log"));
    snprintf(second_name, sizeof second_name, "%s", scratch("b.log"));
    snprintf(pattern, sizeof pattern, "%s", scratch("*.log"));
    for (int i = 0; i < OUTPUTS; i++)
        snprintf(names[i], sizeof names[i], "%s", scratch(called[i]));
    real = tamis__sys;
    tamis__sys.sync = fault_no_sync;
    tamis__sys.thread = fault_no_thread;
    tamis__sys.poll = stop_at_wait;
    tamis__sys.now_unix_ms = read_late_clock;
    commits_records(&contents[SECOND], RECORDS, KEYS, SECOND + 1);
    for (int i = 0; i < FILES; i++) {
        if (i == 1 && several) /* it is read when the first file has ended */
            bytes_add(&records, contents[SECOND].data, contents[SECOND].size);
        if (i > 0) /* it begins as the first one, which must not make it the same file */
            bytes_add(&contents[i], contents[0].data, 200);
        if (i > 0)
            bytes_add(&contents[i], "\n", 1);
        commits_records(&contents[i], RECORDS, KEYS, (uint64_t)i + 1);
        bytes_add(&records, contents[i].data, contents[i].size);
        if (i == 0 && several)
            contents[0].size--; /* its last record has no end when it is left */
        if (i >= FILES - 2)
            made = expect(expected[i + 2 - FILES], &records) && made;
    }
    bytes_clear(&records);
    return made ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tamis__sys = real;
    for (int i = 0; i <= FILES; i++)
        bytes_clear(&contents[i]);
    for (int i = 0; i < 2 * OUTPUTS; i++)
        bytes_clear(&expected[i / OUTPUTS][i % OUTPUTS]);
    commits_forget();
    scratch_remove();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotated_files_come_in_order), cmocka_unit_test(every_call_fails),
        cmocka_unit_test(every_allocation_fails), cmocka_unit_test(the_log_is_rotated_at_every_call),
        cmocka_unit_test(every_loss_of_power)};
    int failed = cmocka_run_group_tests_name("one log", tests, set_up, tear_down);
    several = true;
    failed += cmocka_run_group_tests_name("two logs", tests, set_up, tear_down);
    return failed;
}
