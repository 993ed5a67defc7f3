/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: timeout=900 */

/*
 * Processes that open a filter, add keys and save it, again and again, are killed at random times: one
 * process at a time, and two that save to the same file. After each kill
 * - the file is a whole filter;
 * - it has all keys of every save that had returned, and all or none of the keys of a save under way;
 * - no process waits for the lock, and the next save removes what was left.
 *
 * The keys are the numbers from 0 on. Each save adds the next group of LOT keys to those in the file. So a
 * gap, a part of a group and a lost save all show. The kind is exact, so that a key that was not added is
 * absent.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/scratch.h"
#include "support/stored.h"

enum { GROUP = 50, GROUPS_MAX = 1000, LONGEST_LOG2 = 17 /* microseconds until a kill */ };

static tamis_error err;
static uint64_t seed;

/* In memory shared with the writers: groups of keys in the file when a save returned. */
static _Atomic uint64_t *saved;

static int set_up(void **state) {
    (void)state;
    scratch_make();
    saved = mmap(NULL, sizeof *saved, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(saved, MAP_FAILED);
    err = (tamis_error)TAMIS_ERROR_INIT;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    munmap(saved, sizeof *saved);
    scratch_remove();
    return 0;
}

/* ---- writers ---- */

static tamis_status add_group(tamis_filter *filter, uint64_t group) {
    uint64_t numbers[GROUP];
    tamis_key keys[GROUP];
    for (uint64_t i = 0; i < GROUP; i++) {
        numbers[i] = group * GROUP + i;
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    return tamis_filter_add_many(filter, keys, GROUP, NULL, NULL, &err);
}

static uint64_t groups_in(const tamis_filter *filter) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    if (tamis_filter_info_get(filter, &info, &err) != TAMIS_OK || info.added % GROUP)
        return UINT64_MAX;
    return info.added / GROUP;
}

static tamis_status open_writable(tamis_filter **filter) {
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.writable = true;
    return tamis_filter_open(filter, scratch("f"), &options, &err);
}

static void note_saved(uint64_t groups) {
    uint64_t reported = atomic_load(saved);
    while (reported < groups && !atomic_compare_exchange_weak(saved, &reported, groups))
        ;
}

/* Opens the filter, adds a group of keys, saves. If another process was faster or holds the lock, the lock
 * or the save fails. */
static tamis_status write_once(bool locked) {
    tamis_filter *filter = NULL;
    tamis_lock *lock = NULL;
    tamis_status status = locked ? tamis_file_lock(&lock, scratch("f"), &err) : TAMIS_OK;
    if (status == TAMIS_OK)
        status = open_writable(&filter);
    uint64_t groups = status == TAMIS_OK ? groups_in(filter) : 0;
    if (status == TAMIS_OK)
        status = groups < GROUPS_MAX ? add_group(filter, groups) : TAMIS_E_FULL;
    if (status == TAMIS_OK)
        status = tamis_filter_save(filter, scratch("f"), &err);
    if (status == TAMIS_OK)
        note_saved(groups + 1);
    tamis_filter_free(filter);
    tamis_file_unlock(lock);
    return status;
}

static pid_t start_writer(bool locked) {
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer > 0)
        return writer;
    tamis_status status;
    do
        status = write_once(locked);
    while (status == TAMIS_OK || status == TAMIS_E_BUSY || status == TAMIS_E_CHANGED);
    fprintf(stderr, "a writer ended: %s\n", err.text);
    _exit(1);
}

/* ---- kills ---- */

static void wait_some(void) {
    uint64_t longest = UINT64_C(1) << test_below(&seed, LONGEST_LOG2 + 1);
    usleep((useconds_t)test_below(&seed, longest));
}

static void kill_writer(pid_t writer) {
    int ended;
    assert_int_equal(kill(writer, SIGKILL), 0);
    assert_int_equal(waitpid(writer, &ended, 0), writer);
    assert_true(WIFSIGNALED(ended));
}

/* Returns the number of groups in the file. Checks that it is whole, and has at most one group per writer
 * more than reported. */
static uint64_t check_file(uint64_t writers) {
    tamis_filter *filter = NULL;
    if (open_writable(&filter) != TAMIS_OK)
        fail_msg("%s", err.text);
    uint64_t groups = groups_in(filter), reported = atomic_load(saved);
    if (groups < reported || groups > reported + writers)
        fail_msg("%" PRIu64 " lots are there, and %" PRIu64 " were saved", groups, reported);
    assert_true(stored_has(filter, 0, groups * GROUP));
    for (uint64_t key = groups * GROUP; key < (groups + 2) * GROUP; key++) {
        tamis_answer answer = TAMIS_UNKNOWN;
        assert_int_equal(tamis_filter_contains(filter, &key, sizeof key, &answer, &err), TAMIS_OK);
        assert_int_equal(answer, TAMIS_ABSENT);
    }
    tamis_filter_free(filter);
    return groups;
}

static void make_file(void) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    plan_options.kind = TAMIS_KIND_EXACT;
    plan_options.expect = GROUP * GROUPS_MAX;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_create(&filter, &plan, NULL, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_save(filter, scratch("f"), &err), TAMIS_OK);
    tamis_filter_free(filter);
    atomic_store(saved, 0);
}

static void kill_many(uint64_t writers) {
    uint64_t kills = test_scale(200, 10, 20), left_over = 0, unspecified = 0, groups = 0;
    make_file();
    for (uint64_t i = 0; i < kills; i++) {
        pid_t writer[2];
        for (uint64_t k = 0; k < writers; k++)
            writer[k] = start_writer(test_below(&seed, 2));
        for (uint64_t k = 0; k < writers; k++) {
            wait_some();
            kill_writer(writer[k]);
        }
        groups = check_file(writers);
        unspecified += groups > atomic_load(saved);
        atomic_store(saved, groups);
        /* A lock that was left does not block, and a save leaves no other file. */
        left_over += scratch_entries() > 1;
        if (write_once(test_below(&seed, 2)) != TAMIS_OK)
            fail_msg("%s", err.text);
        if (scratch_hidden())
            fail_msg("%s is left", scratch_hidden());
        if (groups > GROUPS_MAX / 2)
            make_file();
    }
    printf("%" PRIu64 " kills of %" PRIu64 ": %" PRIu64 " left files, %" PRIu64
           " came between rename and return\n",
           kills, writers, left_over, unspecified);
}

static void one_writer(void **state) {
    (void)state;
    kill_many(1);
}

static void two_writers(void **state) {
    (void)state;
    kill_many(2);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {CASE(one_writer), CASE(two_writers)};
    seed = test_seed(20);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
