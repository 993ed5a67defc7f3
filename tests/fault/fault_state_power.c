/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: torture */

/*
 * A loss of power at each system call of a state, which is made, commits, aborts, starts and makes snapshots.
 * In every state of the disk that the model of support/outage.h allows,
 * - the state is at the last acknowledged commit, or at the one that was under way;
 * - its filter is, byte for byte, that of an undisturbed run;
 * - the run can be continued from there. The same is tried with a run that ends at a failed sync, for each
 *   sync, and is started again; and with a second loss of power.
 *
 * The model is tested too. It must find a wrong state if a sync that matters is left out, if a failed sync is
 * repeated, or if the reader accepts frames of an older log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/system.h"
#include "store/state/state_int.h"
#include "support/fault.h"
#include "support/outage.h"
#include "support/scratch.h"
#include "support/states.h"

enum { COMMITS = 12, EACH = 40 };

/* A small filter, so that its snapshots are small. */
static const states_make makes[] = {
    {.name = "small", .kind = TAMIS_KIND_FINGERPRINT, .expect = 700, .fpr = 1e-3},
    {.name = "window", .kind = TAMIS_KIND_WINDOW, .expect = 700, .fpr = 1e-3, .window = 3600 * 1000},
};
static const states_make *make = &makes[0];
static test_bytes expected[COMMITS + 1]; /* the filter at each commit */

static const char *checkpoint(int mark) {
    static char text[20];
    snprintf(text, sizeof text, "commit %d", mark);
    return mark ? text : "";
}

static tamis_state *open_state(void) {
    tamis_state *state = NULL;
    return states_open(&state, make, scratch(""), NULL) == TAMIS_OK ? state : NULL;
}

/* ---- the run, which continues from the state's commit ---- */

static int commit_of(const tamis_state *state) {
    for (int i = 0; i <= COMMITS; i++)
        if (states_is_at(state, checkpoint(i)))
            return i;
    return -1;
}

/* Makes one more commit of EACH keys. Marks: 2n - 1, commit n is under way; 2n, it is acknowledged. */
static bool make_commit(tamis_state *state, int mark) {
    if (states_add(state, (uint64_t)(mark - 1) * EACH, EACH) != TAMIS_OK)
        return false;
    if (mark % 5 == 2 && tamis_state_note(state, "note", 4, &states_err) != TAMIS_OK)
        return false;
    outage_mark(2 * mark - 1);
    if (states_commit(state, checkpoint(mark)) != TAMIS_OK)
        return false;
    outage_mark(2 * mark);
    return true;
}

/* Continues by up to `max` commits, to at most COMMITS in all, and uses all operations of a state. False
 * on an error. */
static bool run_some(int max) {
    tamis_state *state = open_state();
    if (!state)
        return false;
    int mark = commit_of(state); /* reported by the start, so it must last */
    const int end = mark + max < COMMITS ? mark + max : COMMITS;
    outage_mark(2 * mark);
    bool fine = true;
    while (fine && mark < end) {
        mark++;
        fine = make_commit(state, mark);
        if (fine && mark % 4 == 1) { /* keys that were logged and not committed are gone */
            fine = states_add(state, 100000, 30) == TAMIS_OK &&
                   tamis_state_abort(state, &states_err) == TAMIS_OK;
        } else if (fine && mark % 4 == 3) {
            fine = tamis_state_snapshot(state, 0, &states_err) == TAMIS_OK;
        } else if (fine && mark % 4 == 0) {
            fine = states_add(state, 200000, 30) == TAMIS_OK;
            tamis_state_close(state);
            state = open_state();
            fine = fine && state && commit_of(state) == mark;
        }
    }
    tamis_state_close(state);
    return fine;
}

static bool run(void) {
    return run_some(COMMITS);
}

/* ---- checks of a state ---- */

typedef struct findings {
    uint64_t acknowledged; /* states at the acknowledged commit */
    uint64_t under_way;    /* states at the commit under way */
    uint64_t wrong;        /* states at neither */
    uint64_t max_wrong;    /* number of wrong states that ends the check */
} findings;

static bool is_whole(const tamis_state *state, int commit) {
    test_bytes got = {0};
    states_encode(state, &got);
    bool same = bytes_equal(&got, &expected[commit]);
    bytes_clear(&got);
    return same && states_keys(state) == (uint64_t)commit * EACH;
}

static const char *look(findings *f, int mark) {
    tamis_state *state = open_state();
    if (!state)
        return "it does not open";
    const int commit = commit_of(state);
    const char *what = NULL;
    if (commit != mark / 2 && commit != (mark + 1) / 2)
        what = "it is at another commit";
    else if (!is_whole(state, commit))
        what = "its filter is another";
    else if (commit < COMMITS && !make_commit(state, commit + 1))
        what = "it does not go on";
    if (!what && commit == mark / 2)
        f->acknowledged++;
    else if (!what)
        f->under_way++;
    tamis_state_close(state);
    return what;
}

static bool check(void *context, int mark) {
    findings *f = context;
    const char *what = look(f, mark);
    if (!what)
        return true;
    if (f->max_wrong == 0)
        printf("%s, at mark %d: %s; %s\n", what, mark, states_err.text, outage_describe());
    return ++f->wrong < f->max_wrong;
}

static uint64_t try_all(findings *f, unsigned max) {
    const uint64_t states = outage_each(0, 1, max, check, f);
    printf("%zu calls, %llu states: %llu at the commit acknowledged, %llu at the one under way, %llu wrong\n",
           outage_changes(), (unsigned long long)states, (unsigned long long)f->acknowledged,
           (unsigned long long)f->under_way, (unsigned long long)f->wrong);
    return states;
}

/* ---- tests ---- */

static void record_from_here(outage_left_out left_out) {
    outage_begin(scratch(""), (outage_model){.left_out = left_out, .whole = true, .older = true});
}

static int set_up(void **unused) {
    (void)unused;
    tamis__sys.sync = fault_no_sync; /* below the recording functions of outage.c */
    scratch_make_in_memory();
    tamis_state *state = open_state();
    for (int i = 0; i <= COMMITS; i++) {
        if (i > 0 && (states_add(state, (uint64_t)(i - 1) * EACH, EACH) != TAMIS_OK ||
                      states_commit(state, checkpoint(i)) != TAMIS_OK))
            return -1;
        states_encode(state, &expected[i]);
    }
    tamis_state_close(state);
    scratch_clear();
    return 0;
}

static int tear_down(void **unused) {
    (void)unused;
    outage_end();
    for (int i = 0; i <= COMMITS; i++)
        bytes_clear(&expected[i]);
    scratch_remove();
    return 0;
}

static void every_loss_leaves_a_commit(void **unused) {
    (void)unused;
    findings f = {0};
    record_from_here(OUTAGE_NOTHING);
    assert_true(run());
    uint64_t states = try_all(&f, (unsigned)test_scale(3, 1, 2));
    assert_int_equal(f.wrong, 0);
    assert_true(states > 500 && f.acknowledged > 0 && f.under_way > 0);
}

/* ---- description (tamis_state_set_metadata) ---- */

static const char *const new_text = "numbers, as they should have been called";

/* Expects the old description at mark 0, the new one at mark 2, and either at mark 1. */
static bool check_description(void *context, int mark) {
    findings *f = context;
    tamis_state *state = open_state();
    const bool is_new = state && strcmp(tamis_state_metadata(state), new_text) == 0;
    const bool is_old = state && strcmp(tamis_state_metadata(state), "numbers") == 0;
    const bool fine = state && states_is_at(state, checkpoint(0)) && (is_new || (is_old && mark < 2)) &&
                      (mark > 0 || is_old) &&
                      tamis_state_set_metadata(state, new_text, &states_err) == TAMIS_OK;
    if (fine && mark == 1)
        f->under_way++;
    f->wrong += !fine;
    tamis_state_close(state);
    return true;
}

static void a_description_is_the_old_or_the_new(void **unused) {
    (void)unused;
    findings f = {0};
    tamis_state *state = open_state();
    assert_non_null(state);
    assert_int_equal(tamis_state_commit(state, NULL, 0, &states_err), TAMIS_OK);
    tamis_state_close(state);
    record_from_here(OUTAGE_NOTHING);
    state = open_state();
    assert_non_null(state);
    outage_mark(1);
    assert_int_equal(tamis_state_set_metadata(state, new_text, &states_err), TAMIS_OK);
    outage_mark(2);
    tamis_state_close(state);
    outage_each(0, 1, 3, check_description, &f);
    assert_int_equal(f.wrong, 0);
    assert_true(f.under_way > 10);
}

/* Makes sync number n fail, alone or with all later changes; then starts the run again and continues it.
 * Power is lost at any time. */
static bool fail_and_lose(uint64_t n, bool onwards) {
    findings f = {0};
    record_from_here(OUTAGE_NOTHING);
    outage_fail_sync("", n, onwards);
    bool done = run();
    bool stopped = outage_sync_failed();
    outage_go_on();
    if (done == stopped)
        fail_msg("sync %d failed, and the run did not tell", (int)n);
    if (stopped && !run())
        fail_msg("after sync %d failed: %s", (int)n, states_err.text);
    if (stopped)
        try_all(&f, 1);
    assert_int_equal(f.wrong, 0);
    outage_end();
    scratch_clear();
    return stopped;
}

static void a_sync_that_failed_is_not_relied_on(void **unused) {
    (void)unused;
    const uint64_t step_wide = test_scale_torture(7, 17, 43, 29);
    for (uint64_t n = 1; fail_and_lose(n, n % 2); n += step_wide)
        ;
}

/* ---- a second loss of power ---- */

typedef struct picked {
    uint64_t next; /* states with a commit under way until the wanted one */
    int mark;
    bool found;
} picked;

/* Stops at the wanted state and leaves the directory as it is. */
static bool pick(void *context, int mark) {
    picked *p = context;
    if (mark % 2 == 0 || --p->next > 0)
        return true;
    p->mark = mark;
    p->found = true;
    return false;
}

/* Loses power in state number n of those with a commit under way, and again in the commits after the next
 * start. */
static bool lose_twice(uint64_t n) {
    enum { MORE = 2 };
    picked p = {.next = n};
    findings f = {0};
    record_from_here(OUTAGE_NOTHING);
    assert_true(run());
    outage_each(0, 1, 1, pick, &p);
    if (p.found) {
        record_from_here(OUTAGE_NOTHING);
        outage_mark(p.mark);
        if (!run_some(MORE))
            fail_msg("after the first loss: %s", states_err.text);
        try_all(&f, 1);
    }
    assert_int_equal(f.wrong, 0);
    outage_end();
    scratch_clear();
    return p.found;
}

static void a_loss_after_a_loss_leaves_a_commit(void **unused) {
    (void)unused;
    const uint64_t step_wide = test_scale_torture(7, 17, 43, 29);
    for (uint64_t n = 1; lose_twice(n); n += step_wide)
        ;
}

/* ---- errors that the model must find ---- */

static int (*recorded_sync)(int fd);

/* Repeats a failed sync, as if that could cover what the first one did not. */
static int sync_again(int fd) {
    return recorded_sync(fd) < 0 ? recorded_sync(fd) : 0;
}

static void a_sync_tried_again_is_found(void **unused) {
    (void)unused;
    bool stopped = true;
    findings f = {.max_wrong = 1};
    for (uint64_t n = 1; stopped && f.wrong == 0; n++) {
        record_from_here(OUTAGE_NOTHING);
        outage_fail_sync("", n, false);
        recorded_sync = tamis__sys.sync;
        tamis__sys.sync = sync_again;
        if (!run())
            fail_msg("the second try fails too: %s", states_err.text);
        stopped = outage_sync_failed();
        outage_go_on();
        try_all(&f, 1);
        outage_end();
        scratch_clear();
    }
    assert_int_equal(f.wrong, 1);
}

/* The linker replaces the check of frames by the wrapper below (tests/CMakeLists.txt). */
static bool takes_any_frame;
uint64_t __real_tamis__state_frame_check(const uint8_t *frame, size_t size, uint64_t before);
uint64_t __wrap_tamis__state_frame_check(const uint8_t *frame, size_t size, uint64_t before);

uint64_t __wrap_tamis__state_frame_check(const uint8_t *frame, size_t size, uint64_t before) {
    return takes_any_frame ? tamis__load64le(frame + 8)
                           : __real_tamis__state_frame_check(frame, size, before);
}

/* If the reader ignores the chain of checks, commits of an older log come back. */
static void an_old_commit_is_found(void **unused) {
    (void)unused;
    findings f = {.max_wrong = 1};
    record_from_here(OUTAGE_NOTHING);
    assert_true(run());
    takes_any_frame = true;
    try_all(&f, 2);
    takes_any_frame = false;
    assert_int_equal(f.wrong, 1);
}

static void a_sync_left_out_is_found(void **unused) {
    (void)unused;
    for (outage_left_out leave = OUTAGE_FILE_SYNCS; leave <= OUTAGE_DIRECTORY_SYNCS; leave++) {
        findings f = {.max_wrong = 1};
        record_from_here(leave);
        assert_true(run());
        try_all(&f, 2);
        assert_int_equal(f.wrong, 1);
        outage_end();
        scratch_clear();
    }
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(every_loss_leaves_a_commit),          CASE(a_sync_that_failed_is_not_relied_on),
        CASE(a_loss_after_a_loss_leaves_a_commit), CASE(a_sync_left_out_is_found),
        CASE(a_sync_tried_again_is_found),         CASE(an_old_commit_is_found),
        CASE(a_description_is_the_old_or_the_new),
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
        make = &makes[i];
        failed += cmocka_run_group_tests_name(make->name, tests, NULL, NULL);
    }
    return failed;
}
