/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: timeout=900 */

/*
 * A run over a state is disturbed at each of its calls: the call fails, or is cut short; the process is killed
 * at it (of power: fault_commits_power.c). Started again, the run has to end with outputs that are byte for
 * byte those of one that was not disturbed. Filters of high rates are used, so that also one that is
 * another after the restart would show.
 *
 * A kill before a call that changes something on the disk leaves the same as one after the call before
 * that: of those, and in the middle of writes, all are tried, and others would add nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "support/commits.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/tools.h"
#include "support/unpacked.h"

enum { OUTPUTS = 2, INPUTS = 2, RECORDS = 1200, KEYS = 1500 };

typedef struct scenario {
    const char *name;
    int make;
    uint32_t threads;
    tamis_packing packing;
    uint64_t step; /* between two n that are tried */
} scenario;

static const scenario scenarios[] = {
    {"growing", COMMITS_GROWING, 1, TAMIS_PACKING_NONE, 1},
    {"blocked", COMMITS_BLOCKED, 1, TAMIS_PACKING_NONE, 7},
    {"classic", COMMITS_CLASSIC, 1, TAMIS_PACKING_NONE, 7},
    {"exact", COMMITS_EXACT, 1, TAMIS_PACKING_NONE, 7},
    {"fixed", COMMITS_FIXED, 1, TAMIS_PACKING_NONE, 7},
    {"4 threads", COMMITS_GROWING, 4, TAMIS_PACKING_NONE, 7},
    {"gzip", COMMITS_GROWING, 1, TAMIS_PACKING_GZIP, 7},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static const scenario *current;
static test_bytes want[OUTPUTS];
static char names[INPUTS + OUTPUTS][300];
static const char *inputs[INPUTS];
static int descriptors; /* the lowest that is free */
static uint64_t tried, cut_short;

/* One that a run leaves open makes it higher. */
static int lowest_free(void) {
    const int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

/* ---- memory of several threads ---- */

static fault_memory memory;
static tamis_allocator counted, locked;
static bool turn; /* atomic */

static void *locked_allocate(void *context, size_t size, size_t alignment) {
    (void)context;
    while (__atomic_test_and_set(&turn, __ATOMIC_ACQUIRE))
        ;
    void *block = counted.alloc(counted.context, size, alignment);
    __atomic_clear(&turn, __ATOMIC_RELEASE);
    return block;
}

static void locked_release(void *context, void *block, size_t size) {
    (void)context;
    while (__atomic_test_and_set(&turn, __ATOMIC_ACQUIRE))
        ;
    counted.free(counted.context, block, size);
    __atomic_clear(&turn, __ATOMIC_RELEASE);
}

/* ---- runs ---- */

static tamis_status go(commits_run *run, const tamis_allocator *allocator) {
    commits_init(run, &commits_makes[current->make]);
    run->options.inputs = inputs;
    run->options.input_count = INPUTS;
    run->options.output = names[INPUTS];
    run->options.duplicates = names[INPUTS + 1];
    run->options.packing = (int)current->packing;
    run->options.packing_level = current->packing ? 1 : 0;
    run->options.threads = current->threads;
    run->snapshot_at = 12000;
    run->allocator = allocator;
    return commits_go(run);
}

static void forget(void) {
    commits_forget();
    for (int i = 0; i < OUTPUTS; i++)
        unlink(names[INPUTS + i]);
}

static bool output_is_right(int i) {
    test_bytes got = {0};
    if (!file_exists(names[INPUTS + i]))
        return false;
    if (current->packing)
        unpacked_file(current->packing, names[INPUTS + i], &got);
    else
        file_read(names[INPUTS + i], &got);
    const bool right = bytes_check(i ? "duplicates" : "output", &got, &want[i]);
    bytes_clear(&got);
    return right;
}

static bool is_right(void) {
    return output_is_right(0) && output_is_right(1);
}

/* The same command again, and nothing in its way. */
static bool finishes(const char *after) {
    commits_run run;
    go(&run, NULL);
    tried++;
    const bool right = run.status == TAMIS_OK && is_right();
    if (!right)
        fprintf(stderr, "%s: after %s: %s \"%s\"\n", current->name, after, tamis_status_name(run.status),
                run.err.text);
    return right;
}

/* ---- a call fails ---- */

typedef struct way {
    int error_number;
    bool onwards;
    uint64_t step;
} way;

/* What is not asked of the system here, or what its failure means something else than a failure. */
static bool makes_sense(fault_call call, const way *w) {
    const bool moves = call == FAULT_READ || call == FAULT_WRITE || call == FAULT_PREAD;
    if (call >= FAULT_SOCKET && call <= FAULT_RECEIVE)
        return false;
    return w->error_number != FAULT_SHORT || moves;
}

static bool fault_at(fault_call call, const way *w, uint64_t n) {
    commits_run run;
    char after[100];
    forget();
    fault_install();
    fault_arm(call, n, w->error_number, w->onwards);
    go(&run, NULL);
    const bool fired = fault_fired() > 0;
    fault_disarm();
    fault_remove();
    snprintf(after, sizeof after, "%s number %" PRIu64 "%s failed with %d", fault_call_name(call), n,
             w->onwards ? " and all after it" : "", w->error_number);
    if (run.status == TAMIS_OK && !is_right())
        fail_msg("%s: %s: ended well, and wrote something else", current->name, after);
    if (run.status != TAMIS_OK && (!fired || run.err.status != run.status || run.err.text[0] == '\0'))
        fail_msg("%s: %s: %d \"%s\"", current->name, after, run.status, run.err.text);
    cut_short += run.status != TAMIS_OK;
    if (!finishes(after))
        fail_msg("%s: not finished", current->name);
    if (lowest_free() != descriptors)
        fail_msg("%s: %s: descriptors are left", current->name, after);
    return fired;
}

static bool is_torture(void) {
    const char *scale = getenv("TAMIS_TEST_SCALE");
    return scale && strcmp(scale, "torture") == 0;
}

static uint64_t step_of(const scenario *s) {
    return is_torture() ? 1 : s->step * test_scale(1, 17, 43);
}

static void every_call_fails(void **state) {
    static const way ways[] = {{EIO, false, 1}, {FAULT_SHORT, false, 1}, {ENOSPC, true, 5}};
    (void)state;
    const uint64_t step = step_of(current);
    for (fault_call call = 0; call < FAULT_CALL_COUNT; call++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            uint64_t n = 1;
            while (makes_sense(call, &ways[i]) && fault_at(call, &ways[i], n))
                n += is_torture() ? 1 : step * ways[i].step;
        }
    printf("%s: %" PRIu64 " disturbed, %" PRIu64 " of them ended by it\n", current->name, tried, cut_short);
}

static void every_allocation_fails(void **state) {
    (void)state;
    const uint64_t step = step_of(current);
    bool refused = true;
    for (uint64_t n = 1; refused; n += step) {
        commits_run run;
        char after[100];
        forget();
        memset(&memory, 0, sizeof memory);
        memory.fail_at = n;
        go(&run, &locked);
        refused = memory.refused > 0;
        snprintf(after, sizeof after, "allocation %" PRIu64 " failed", n);
        if (memory.live_blocks > 0 || lowest_free() != descriptors)
            fail_msg("%s: %s: %d \"%s\", %zu blocks are left", current->name, after, run.status, run.err.text,
                     memory.live_blocks);
        if (!finishes(after))
            fail_msg("%s: not finished", current->name);
    }
}

/* ---- the process is killed ---- */

static struct tamis__system unharmed;
static uint64_t kill_at, changes;
static bool kill_within;

/* Before the nth change is made; or, within, when half of the nth write is. */
static void count_change(void) {
    if (!kill_within && ++changes == kill_at)
        _exit(9);
}

static int killed_open(const char *path, int flags, mode_t mode) {
    if (flags & O_CREAT && access(path, F_OK) < 0)
        count_change();
    return unharmed.open(path, flags, mode);
}

static ssize_t killed_write(int fd, const void *bytes, size_t size) {
    count_change();
    if (!kill_within || ++changes < kill_at)
        return unharmed.write(fd, bytes, size);
    if (unharmed.write(fd, bytes, size / 2) < 0)
        _exit(8);
    _exit(9);
}

static ssize_t killed_pwrite(int fd, const void *bytes, size_t size, off_t at) {
    count_change();
    return unharmed.pwrite(fd, bytes, size, at);
}

static int killed_truncate(int fd, off_t size) {
    count_change();
    return unharmed.truncate(fd, size);
}

static int killed_rename(const char *from, const char *to) {
    count_change();
    return unharmed.rename(from, to);
}

static int killed_rename_new(const char *from, const char *to) {
    count_change();
    return unharmed.rename_new(from, to);
}

static int killed_unlink(const char *path) {
    count_change();
    return unharmed.unlink(path);
}

static int killed_mkdir(const char *path, mode_t mode) {
    count_change();
    return unharmed.mkdir(path, mode);
}

static int killed_sync(int fd) {
    count_change();
    return unharmed.sync(fd);
}

static void die_at(uint64_t n, bool within) {
    unharmed = tamis__sys;
    kill_at = n;
    kill_within = within;
    changes = 0;
    tamis__sys.open = killed_open;
    tamis__sys.write = killed_write;
    tamis__sys.pwrite = killed_pwrite;
    tamis__sys.truncate = killed_truncate;
    tamis__sys.rename = killed_rename;
    tamis__sys.rename_new = killed_rename_new;
    tamis__sys.unlink = killed_unlink;
    tamis__sys.mkdir = killed_mkdir;
    tamis__sys.sync = killed_sync;
}

/* Runs in a process of its own that is killed at the nth change; false: it makes fewer. */
static bool killed_at(uint64_t n, bool within) {
    int ended;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        commits_run run;
        die_at(n, within);
        _exit(go(&run, NULL) == TAMIS_OK ? 0 : 7);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    if (!WIFEXITED(ended) || (WEXITSTATUS(ended) != 0 && WEXITSTATUS(ended) != 9))
        fail_msg("%s: killed at change %" PRIu64 ": it ended with %d", current->name, n, ended);
    return WEXITSTATUS(ended) == 9;
}

static void every_kill(void **state) {
    (void)state;
    const uint64_t step = step_of(current);
    uint64_t kills = 0;
    for (int within = 0; within < 2; within++)
        for (uint64_t n = 1;; n += step) {
            char after[100];
            snprintf(after, sizeof after, "the kill at change %" PRIu64 "%s", n, within ? ", half made" : "");
            forget();
            const bool killed = killed_at(n, within);
            kills += killed;
            if (!finishes(after))
                fail_msg("%s: not finished", current->name);
            if (!killed)
                break;
        }
    printf("%s: %" PRIu64 " kills\n", current->name, kills);
}

/* Killed, started again, killed again, and so on: each time some changes further on. */
static void kills_in_a_row(void **state) {
    (void)state;
    const uint64_t step = step_of(current);
    for (uint64_t n = 11; n < 200; n += 13 * step) {
        uint64_t starts = 1, most = 3000;
        forget();
        while (killed_at(n + starts, starts % 2) && starts < most)
            starts++;
        if (starts == most || !finishes("many kills"))
            fail_msg("%s: not finished, killed each %" PRIu64 " changes", current->name, n);
    }
}

/* ---- around them ---- */

static int no_sync(int fd) {
    (void)fd;
    return 0;
}

/* So that a snapshot is made by the thread whose calls are counted. */
static int no_thread(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *context) {
    (void)thread;
    (void)how;
    (void)run;
    (void)context;
    return EAGAIN;
}

/* A hint, of which there are many. */
static int no_advice(void *block, size_t size, int advice) {
    (void)block;
    (void)size;
    (void)advice;
    return 0;
}

static struct tamis__system real;

static int set_up(void **state) {
    current = *state;
    scratch_make();
    real = tamis__sys;
    tamis__sys.sync = no_sync; /* of the disk itself nothing is asked here */
    tamis__sys.advise = no_advice;
    if (current->threads == 1)
        tamis__sys.thread = no_thread;
    counted = fault_memory_allocator(&memory);
    locked = (tamis_allocator){locked_allocate, locked_release, NULL};
    static const char *const called[] = {"one", "two.gz", "output", "duplicates"};
    for (int i = 0; i < INPUTS + OUTPUTS; i++)
        snprintf(names[i], sizeof names[i], "%s", scratch(called[i]));
    for (int i = 0; i < INPUTS; i++) {
        test_bytes plain = {0}, packed = {0};
        commits_records(&plain, RECORDS, KEYS, (uint64_t)i + 1);
        if (i == 1)
            tool_run("gzip -c", plain.data, plain.size, &packed);
        file_write(names[i], i ? packed.data : plain.data, i ? packed.size : plain.size);
        bytes_clear(&plain);
        bytes_clear(&packed);
        inputs[i] = names[i];
    }
    return 0;
}

/* What an undisturbed run writes. */
static int set_up_want(void **state) {
    commits_run run;
    set_up(state);
    scenario plain = *current;
    plain.packing = TAMIS_PACKING_NONE;
    current = &plain;
    if (go(&run, NULL) != TAMIS_OK) {
        fprintf(stderr, "undisturbed: %s\n", run.err.text);
        return -1;
    }
    current = *state;
    for (int i = 0; i < OUTPUTS; i++)
        file_read(names[INPUTS + i], &want[i]);
    if (run.stats.records != INPUTS * RECORDS || run.info.commits < 15 || run.info.snapshot_bytes == 0) {
        fprintf(stderr, "%" PRIu64 " records, %" PRIu64 " commits\n", run.stats.records, run.info.commits);
        return -1;
    }
    forget();
    descriptors = lowest_free();
    tried = cut_short = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    forget();
    for (int i = 0; i < OUTPUTS; i++)
        bytes_clear(&want[i]);
    tamis__sys = real;
    scratch_remove();
    return 0;
}

/* Of the scenarios, or of the one that is named. */
int main(int count, char **values) {
    enum { TESTS = 4 };
    static const struct {
        const char *name;
        CMUnitTestFunction test;
    } each[TESTS] = {{"every_call_fails", every_call_fails},
                     {"every_allocation_fails", every_allocation_fails},
                     {"every_kill", every_kill},
                     {"kills_in_a_row", kills_in_a_row}};
    static char texts[SCENARIOS * TESTS][60];
    struct CMUnitTest tests[SCENARIOS * TESTS];
    size_t taken = 0;
    for (int i = 0; i < SCENARIOS * TESTS; i++) {
        const scenario *s = &scenarios[i / TESTS];
        if (count > 1 && strcmp(values[1], s->name) != 0)
            continue;
        snprintf(texts[i], sizeof texts[i], "%s: %s", s->name, each[i % TESTS].name);
        tests[taken++] =
            (struct CMUnitTest){texts[i], each[i % TESTS].test, set_up_want, tear_down, (void *)(uintptr_t)s};
    }
    return _cmocka_run_group_tests("commits", tests, taken, NULL, NULL);
}
