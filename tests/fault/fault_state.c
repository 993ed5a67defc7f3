/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A sequence of operations on a state, in which every system call and every allocation fails once or is cut
 * short, for every n. The operations are: making the state, commits, a note, an abort, a snapshot, a start.
 * Afterwards, whatever was reported, the state is at the last acknowledged commit or at the one under way,
 * its filter is that of an undisturbed sequence, and a new start completes the sequence.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/system.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/states.h"

enum { COMMITS = 6, EACH = 40 };

static const states_make makes[] = {
    {.name = "small", .kind = TAMIS_KIND_FINGERPRINT, .expect = 400, .fpr = 1e-3},
    {.name = "window", .kind = TAMIS_KIND_WINDOW, .expect = 400, .fpr = 1e-3, .window = 3600 * 1000},
};
static const states_make *make = &makes[0];
static test_bytes expected[COMMITS + 1];
static fault_memory memory;
static size_t descriptors;
static int acknowledged, under_way;
static tamis_status finished;

static const char *checkpoint(int number) {
    static char text[20];
    snprintf(text, sizeof text, "commit %d", number);
    return number ? text : "";
}

static int commit_of(const tamis_state *state) {
    for (int i = 0; i <= COMMITS; i++)
        if (states_is_at(state, checkpoint(i)))
            return i;
    return -1;
}

static tamis_status open_state(tamis_state **state) {
    static tamis_allocator allocator;
    allocator = fault_memory_allocator(&memory);
    return states_open(state, make, scratch(""), &allocator);
}

static tamis_status make_commit(tamis_state *state, int number) {
    tamis_status status = states_add(state, (uint64_t)(number - 1) * EACH, EACH);
    if (status == TAMIS_OK && number == 2)
        status = tamis_state_note(state, "note", 4, &states_err);
    under_way = number;
    if (status == TAMIS_OK)
        status = states_commit(state, checkpoint(number));
    if (status == TAMIS_OK)
        acknowledged = number;
    if (status == TAMIS_OK && number == 3)
        status = states_add(state, 10000, 20);
    if (status == TAMIS_OK && number == 3)
        status = tamis_state_abort(state, &states_err);
    if (status == TAMIS_OK && number == 4) /* a failed snapshot does not harm the state */
        finished = tamis_state_snapshot(state, 0, &states_err);
    return status;
}

/* Continues from the state's commit to the last one, with a start in the middle. */
static tamis_status run(void) {
    tamis_state *state = NULL;
    tamis_status status = TAMIS_OK;
    for (int part = 0; part < 2 && status == TAMIS_OK; part++) {
        status = open_state(&state);
        if (status != TAMIS_OK)
            return status;
        for (int number = commit_of(state); status == TAMIS_OK && number < (part ? COMMITS : 2); number++)
            status = make_commit(state, number + 1);
        if (status != TAMIS_OK) /* a failed state accepts nothing more */
            assert_int_equal(tamis_state_commit(state, "late", 4, NULL), status);
        tamis_state_close(state);
    }
    return status == TAMIS_OK ? finished : status;
}

static void assert_sound(const char *what, uint64_t n) {
    tamis_state *state = NULL;
    test_bytes got = {0};
    if (open_state(&state) != TAMIS_OK)
        fail_msg("%s %" PRIu64 ": %s", what, n, states_err.text);
    int commit = commit_of(state);
    if (commit != acknowledged && commit != under_way)
        fail_msg("%s %" PRIu64 ": at commit %d, acknowledged %d", what, n, commit, acknowledged);
    states_encode(state, &got);
    assert_true(bytes_check(what, &got, &expected[commit]));
    bytes_clear(&got);
    tamis_state_close(state);
}

/* Syncs do nothing: this test has no loss of power. */
static int set_up(void **unused) {
    (void)unused;
    scratch_make_in_memory();
    memset(&memory, 0, sizeof memory);
    tamis_state *state = NULL;
    if (open_state(&state) != TAMIS_OK)
        return -1;
    for (int i = 0; i <= COMMITS; i++) {
        if (i > 0 && (states_add(state, (uint64_t)(i - 1) * EACH, EACH) != TAMIS_OK ||
                      states_commit(state, checkpoint(i)) != TAMIS_OK))
            return -1;
        states_encode(state, &expected[i]);
    }
    tamis_state_close(state);
    scratch_clear();
    descriptors = fault_open_descriptors();
    tamis__sys.sync = fault_no_sync;
    fault_install();
    return 0;
}

static int tear_down(void **unused) {
    (void)unused;
    fault_remove();
    for (int i = 0; i <= COMMITS; i++)
        bytes_clear(&expected[i]);
    scratch_remove();
    return memory.live_blocks > 0 ? -1 : 0;
}

/* Makes the run with a failure armed, then again without. False if the failure was not reached. */
static bool survives(const char *what, uint64_t n, bool must_succeed) {
    acknowledged = under_way = 0;
    finished = TAMIS_OK;
    tamis_status status = run();
    const bool reached = fault_fired() > 0 || memory.refused > 0;
    fault_disarm();
    finished = TAMIS_OK;
    memory.fail_at = memory.refused = memory.requests = 0;
    if (status != TAMIS_OK && (!reached || must_succeed))
        fail_msg("%s %" PRIu64 ": %s", what, n, states_err.text);
    assert_int_equal(fault_open_descriptors(), descriptors);
    assert_int_equal(memory.live_blocks, 0);
    assert_sound(what, n);
    if (run() != TAMIS_OK)
        fail_msg("%s %" PRIu64 ": then %s", what, n, states_err.text);
    acknowledged = under_way = COMMITS;
    assert_sound(what, n);
    scratch_clear();
    return reached;
}

static const struct way {
    fault_call call;
    int error_number;
    bool onwards, must_succeed;
} ways[] = {
    {FAULT_WRITE, ENOSPC, false, false},     {FAULT_WRITE, EIO, true, false},
    {FAULT_WRITE, FAULT_SHORT, false, true}, {FAULT_WRITE, EINTR, false, true},
    {FAULT_SYNC, EIO, false, false},         {FAULT_SYNC, EIO, true, false},
    {FAULT_SYNC, EINTR, false, true},        {FAULT_OPEN, EMFILE, false, false},
    {FAULT_OPEN, EACCES, true, false},       {FAULT_OPEN, EINTR, false, true},
    {FAULT_PREAD, EIO, false, false},        {FAULT_PREAD, FAULT_SHORT, false, true},
    {FAULT_PREAD, EINTR, false, true},       {FAULT_FSTAT, EIO, false, false},
    {FAULT_STAT, EIO, false, false},         {FAULT_RENAME, EIO, false, false},
    {FAULT_UNLINK, EIO, false, false},       {FAULT_UNLINK, EACCES, true, false},
    {FAULT_LIST, EIO, false, false},         {FAULT_LOCK, ENOLCK, false, false},
    {FAULT_RANDOM, EIO, false, false},       {FAULT_PWRITE, ENOSPC, true, true},
    {FAULT_RESERVE, ENOSPC, false, false},   {FAULT_CLOSE, EIO, false, false},
    {FAULT_MKDIR, EROFS, false, false},
};

static void every_call_fails_once(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const struct way *w = &ways[i];
        for (uint64_t n = 1;; n += test_scale(1, 13, 13)) {
            fault_arm(w->call, n, w->error_number, w->onwards);
            if (!survives(fault_call_name(w->call), n, w->must_succeed))
                break;
        }
    }
}

static void every_allocation_fails_once(void **unused) {
    (void)unused;
    for (uint64_t n = 1;; n += test_scale(1, 13, 13)) {
        memory.requests = memory.refused = 0;
        memory.fail_at = n;
        fault_arm(FAULT_UNREAD, 0, 0, false);
        if (!survives("allocation", n, false))
            break;
    }
}

/* ---- description (tamis_state_set_metadata) ---- */

static const char *const old_text = "numbers", *const new_text = "numbers, as they should have been called";

/* Makes a state without keys, but with a commit. */
static void make_empty(void) {
    tamis_state *state = NULL;
    assert_int_equal(open_state(&state), TAMIS_OK);
    assert_int_equal(states_commit(state, "begun"), TAMIS_OK);
    tamis_state_close(state);
}

static tamis_status describe(void) {
    tamis_state *state = NULL;
    tamis_status status = open_state(&state);
    if (status != TAMIS_OK)
        return status;
    status = tamis_state_set_metadata(state, new_text, &states_err);
    if (status == TAMIS_OK)
        assert_string_equal(tamis_state_metadata(state), new_text);
    tamis_state_close(state);
    return status;
}

static void assert_described(const char *what, uint64_t n, bool surely) {
    tamis_state *state = NULL;
    if (open_state(&state) != TAMIS_OK)
        fail_msg("%s %" PRIu64 ": %s", what, n, states_err.text);
    const char *text = tamis_state_metadata(state);
    if (strcmp(text, new_text) != 0 && (surely || strcmp(text, old_text) != 0))
        fail_msg("%s %" PRIu64 ": described as \"%s\"", what, n, text);
    assert_true(states_is_at(state, "begun"));
    tamis_state_close(state);
}

/* Changes the description with a failure armed. False if the failure was not reached. */
static bool describes(const char *what, uint64_t n, bool must_succeed) {
    const tamis_status status = describe();
    const bool reached = fault_fired() > 0 || memory.refused > 0;
    fault_disarm();
    memory.fail_at = memory.refused = memory.requests = 0;
    if (status != TAMIS_OK && (!reached || must_succeed))
        fail_msg("%s %" PRIu64 ": %s", what, n, states_err.text);
    assert_int_equal(fault_open_descriptors(), descriptors);
    assert_int_equal(memory.live_blocks, 0);
    assert_described(what, n, status == TAMIS_OK);
    if (describe() != TAMIS_OK)
        fail_msg("%s %" PRIu64 ": then %s", what, n, states_err.text);
    assert_described(what, n, true);
    scratch_clear();
    return reached;
}

static void a_description_is_the_old_or_the_new(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        bool reached = true;
        for (uint64_t n = 1; reached; n++) {
            make_empty();
            fault_arm(ways[i].call, n, ways[i].error_number, ways[i].onwards);
            reached = describes(fault_call_name(ways[i].call), n, ways[i].must_succeed);
        }
    }
    bool reached = true;
    for (uint64_t n = 1; reached; n++) {
        make_empty();
        memory.requests = memory.refused = 0;
        memory.fail_at = n;
        fault_arm(FAULT_UNREAD, 0, 0, false);
        reached = describes("allocation", n, false);
    }
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(every_call_fails_once),
        CASE(every_allocation_fails_once),
        CASE(a_description_is_the_old_or_the_new),
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
        make = &makes[i];
        failed += cmocka_run_group_tests_name(make->name, tests, NULL, NULL);
    }
    return failed;
}
