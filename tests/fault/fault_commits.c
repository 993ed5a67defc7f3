/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: timeout=900 */

/*
 * A run over a state is disturbed at each of its system calls: the call fails, the call is cut short, or the
 * process is killed. (fault_commits_power.c has losses of power.) The run is then started again. Its outputs
 * must be, byte for byte, those of an undisturbed run. The filters have high false-positive rates, so that a
 * filter that differs after the restart shows too.
 *
 * Kills are tried before each call that changes the disk, and in the middle of each write. That is enough: a
 * kill anywhere else leaves the same disk as the kill before the next such call.
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
#include "support/commits_pair.h"
#include "support/fault.h"
#include "support/scratch.h"

enum { RECORDS = 1200, KEYS = 1500, SNAPSHOT_AT = 12000 /* bytes of log */ };

static const pair_scenario scenarios[] = {
    {"growing", COMMITS_GROWING, 1, TAMIS_COMPRESSION_NONE, 1, false, false},
    {"blocked", COMMITS_BLOCKED, 1, TAMIS_COMPRESSION_NONE, 7, false, false},
    {"classic", COMMITS_CLASSIC, 1, TAMIS_COMPRESSION_NONE, 7, false, false},
    {"exact", COMMITS_EXACT, 1, TAMIS_COMPRESSION_NONE, 7, false, false},
    {"fixed", COMMITS_FIXED, 1, TAMIS_COMPRESSION_NONE, 7, false, false},
    {"4 threads", COMMITS_GROWING, 4, TAMIS_COMPRESSION_NONE, 7, false, false},
    {"window", COMMITS_WINDOW, 1, TAMIS_COMPRESSION_NONE, 7, false, false},
    {"gzip", COMMITS_GROWING, 1, TAMIS_COMPRESSION_GZIP, 7, false, false},
    {"partial", COMMITS_GROWING, 1, TAMIS_COMPRESSION_NONE, 7, true, false},
    {"delivered", COMMITS_GROWING, 1, TAMIS_COMPRESSION_NONE, 5, false, true},
    {"delivered, 4 threads", COMMITS_GROWING, 4, TAMIS_COMPRESSION_NONE, 31, false, true},
};
static int descriptors; /* lowest free descriptor */
static uint64_t tried, cut_short;

/* Returns the lowest free descriptor. It is higher after a run that leaked one. */
static int lowest_free(void) {
    const int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

/* ---- memory for several threads ---- */

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

/* Repeats the command undisturbed. */
static bool finishes(const char *after) {
    commits_run run;
    pair_go(&run, NULL);
    tried++;
    const bool right = run.status == TAMIS_OK && pair_is_right(false);
    if (!right)
        fprintf(stderr, "%s: after %s: %s \"%s\"\n", pair_current->name, after, tamis_status_name(run.status),
                run.err.text);
    return right;
}

/* ---- a call fails ---- */

typedef struct way {
    int error_number;
    bool onwards;
    uint64_t step;
} way;

/* False for calls that a run does not make, and for short results of calls that move no bytes. */
static bool makes_sense(fault_call call, const way *w) {
    const bool moves = call == FAULT_READ || call == FAULT_WRITE || call == FAULT_PREAD;
    if (call >= FAULT_SOCKET && call <= FAULT_RECEIVE)
        return false;
    return w->error_number != FAULT_SHORT || moves;
}

static bool fault_at(fault_call call, const way *w, uint64_t n) {
    commits_run run;
    char after[100];
    pair_forget();
    fault_install();
    fault_arm(call, n, w->error_number, w->onwards);
    pair_go(&run, NULL);
    const bool fired = fault_fired() > 0;
    fault_disarm();
    fault_remove();
    snprintf(after, sizeof after, "%s number %" PRIu64 "%s failed with %d", fault_call_name(call), n,
             w->onwards ? " and all after it" : "", w->error_number);
    if (run.status == TAMIS_OK && !pair_is_right(false))
        fail_msg("%s: %s: ended well, and wrote something else", pair_current->name, after);
    if (run.status != TAMIS_OK && (!fired || run.err.status != run.status || run.err.text[0] == '\0'))
        fail_msg("%s: %s: %d \"%s\"", pair_current->name, after, run.status, run.err.text);
    cut_short += run.status != TAMIS_OK;
    if (!finishes(after))
        fail_msg("%s: not finished", pair_current->name);
    if (lowest_free() != descriptors)
        fail_msg("%s: %s: descriptors are left", pair_current->name, after);
    return fired;
}

static void every_call_fails(void **state) {
    static const way ways[] = {{EIO, false, 1}, {FAULT_SHORT, false, 1}, {ENOSPC, true, 5}};
    (void)state;
    const uint64_t step = pair_step(17, 97, 97);
    for (fault_call call = 0; call < FAULT_CALL_COUNT; call++)
        for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
            uint64_t n = 1;
            while (makes_sense(call, &ways[i]) && fault_at(call, &ways[i], n))
                n += test_is_torture() ? 1 : step * ways[i].step;
        }
    printf("%s: %" PRIu64 " disturbed, %" PRIu64 " of them ended by it\n", pair_current->name, tried,
           cut_short);
}

static void every_allocation_fails(void **state) {
    (void)state;
    const uint64_t step = pair_step(17, 97, 97);
    bool refused = true;
    for (uint64_t n = 1; refused; n += step) {
        commits_run run;
        char after[100];
        pair_forget();
        memset(&memory, 0, sizeof memory);
        memory.fail_at = n;
        pair_go(&run, &locked);
        refused = memory.refused > 0;
        snprintf(after, sizeof after, "allocation %" PRIu64 " failed", n);
        if (memory.live_blocks > 0 || lowest_free() != descriptors)
            fail_msg("%s: %s: %d \"%s\", %zu blocks are left", pair_current->name, after, run.status,
                     run.err.text, memory.live_blocks);
        if (!finishes(after))
            fail_msg("%s: not finished", pair_current->name);
    }
}

/* ---- the process is killed ---- */

static struct tamis__system unharmed;
static uint64_t kill_at, changes;
static bool kill_within;

/* Kills the process before change number n, or (kill_within) in the middle of write number n. */
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

static ssize_t killed_pwrite(int fd, const void *bytes, size_t size, off_t offset) {
    count_change();
    return unharmed.pwrite(fd, bytes, size, offset);
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

/* Runs in a child process, which commits after `commit_bytes` bytes (0: the default) and is killed at
 * change number n. False if it makes fewer changes. */
static bool killed_committing(uint64_t n, bool within, uint64_t commit_bytes) {
    int ended;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        commits_run run;
        die_at(n, within);
        const tamis_status status = pair_go_committing(&run, NULL, commit_bytes);
        if (status != TAMIS_OK)
            fprintf(stderr, "%s\n", run.err.text);
        _exit(status == TAMIS_OK ? 0 : 7);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    if (!WIFEXITED(ended) || (WEXITSTATUS(ended) != 0 && WEXITSTATUS(ended) != 9))
        fail_msg("%s: killed at change %" PRIu64 ": it ended with %d", pair_current->name, n, ended);
    return WEXITSTATUS(ended) == 9;
}

static bool killed_at(uint64_t n, bool within) {
    return killed_committing(n, within, 0);
}

/* True for compressed outputs: all bytes behind their last commit are kept. */
static bool keeps_all(void) {
    return pair_current->compression != TAMIS_COMPRESSION_NONE;
}

static void every_kill(void **state) {
    (void)state;
    const uint64_t step = pair_step(17, 97, 97);
    uint64_t kills = 0;
    for (int within = 0; within < 2; within++)
        for (uint64_t n = 1;; n += step) {
            char after[100];
            snprintf(after, sizeof after, "the kill at change %" PRIu64 "%s", n, within ? ", half made" : "");
            pair_forget();
            const bool killed = killed_at(n, within);
            kills += killed;
            if (!finishes(after))
                fail_msg("%s: not finished", pair_current->name);
            if (pair_sweep() > 0 && !keeps_all()) /* only the run wrote to its outputs */
                fail_msg("%s: after %s bytes were kept", pair_current->name, after);
            if (!killed)
                break;
        }
    printf("%s: %" PRIu64 " kills\n", pair_current->name, kills);
}

/* The run is killed, started again, killed again, and so on, each time some changes later. */
static void kills_in_a_row(void **state) {
    (void)state;
    const uint64_t step = pair_step(11, 97, 97);
    for (uint64_t n = 11; n < 200; n += 13 * step) {
        uint64_t starts = 1, max = 3000;
        pair_forget();
        while (killed_at(n + starts, starts % 2) && starts < max)
            starts++;
        if (starts == max || !finishes("many kills"))
            fail_msg("%s: not finished, killed each %" PRIu64 " changes", pair_current->name, n);
        if (pair_sweep() > 0 && !keeps_all())
            fail_msg("%s: killed each %" PRIu64 " changes: bytes were kept", pair_current->name, n);
    }
}

/* Kills processes at random changes. They commit more or less often, so one of them may write more bytes
 * behind its last commit than the next ones write before theirs. */
static void kills_at_random(void **state) {
    (void)state;
    const uint64_t rounds = test_scale_torture(300, 30, 7, 7) / pair_current->step;
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t random = round, starts = 0, max = 3000;
        pair_forget();
        while (starts < max && killed_committing(1 + test_random(&random) % 60, test_random(&random) % 2,
                                                 500 + test_random(&random) % 20000))
            starts++;
        if (starts == max || !finishes("kills at random"))
            fail_msg("%s: round %" PRIu64 ": not finished", pair_current->name, round);
        if (pair_sweep() > 0 && !keeps_all())
            fail_msg("%s: round %" PRIu64 ": bytes were kept", pair_current->name, round);
    }
}

/* ---- set-up and tear-down ---- */

static int set_up(void **state) {
    commits_run run;
    counted = fault_memory_allocator(&memory);
    locked = (tamis_allocator){locked_allocate, locked_release, NULL};
    if (!pair_set_up(*state, RECORDS, KEYS, SNAPSHOT_AT, &run))
        return -1;
    if (run.stats.records != PAIR_INPUTS * RECORDS || run.info.commits < 15 || run.info.snapshot_bytes == 0) {
        fprintf(stderr, "%" PRIu64 " records, %" PRIu64 " commits\n", run.stats.records, run.info.commits);
        return -1;
    }
    descriptors = lowest_free();
    tried = cut_short = 0;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    pair_tear_down();
    return 0;
}

int main(int count, char **values) {
    static const pair_test tests[] = {{"every_call_fails", every_call_fails},
                                      {"every_allocation_fails", every_allocation_fails},
                                      {"every_kill", every_kill},
                                      {"kills_in_a_row", kills_in_a_row},
                                      {"kills_at_random", kills_at_random}};
    return pair_main("commits", scenarios, sizeof scenarios / sizeof *scenarios, tests,
                     sizeof tests / sizeof *tests, set_up, tear_down, count, values);
}
