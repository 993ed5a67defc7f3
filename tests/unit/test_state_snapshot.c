/* SPDX-License-Identifier: BSD-2-Clause */

/* Snapshots of a state: when they are made, named and given up. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/system.h"
#include "store/state/state_int.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/states.h"

static size_t descriptors;
static struct tamis__system real;
static const states_make *const growing = &states_makes[STATES_GROWING];

/* Nothing here loses power. */
static int no_sync(int fd) {
    (void)fd;
    return 0;
}

static int set_up(void **state) {
    (void)state;
    real = tamis__sys;
    tamis__sys.sync = no_sync;
    scratch_make_in_memory();
    states_err = (tamis_error)TAMIS_ERROR_INIT;
    descriptors = fault_open_descriptors();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tamis__sys = real;
    if (fault_open_descriptors() != descriptors) {
        fprintf(stderr, "descriptors are left open\n");
        return -1;
    }
    scratch_remove();
    return 0;
}

static void assert_ok(tamis_status status) {
    if (status != TAMIS_OK)
        fail_msg("%s: %s", tamis_status_name(status), states_err.text);
}

static tamis_state *opened(const states_make *make) {
    tamis_state *state = NULL;
    assert_ok(states_open(&state, make, scratch(""), NULL));
    return state;
}

static tamis_state_info told(const tamis_state *state) {
    tamis_state_info info = TAMIS_STATE_INFO_INIT;
    tamis_state_info_get(state, &info);
    return info;
}

/* ---- one that fails ---- */

static int no_thread(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *context) {
    (void)thread;
    (void)how;
    (void)run;
    (void)context;
    return EAGAIN;
}

static int no_room_for_snapshots(const char *path, int flags, mode_t mode) {
    if (strstr(path, "/.snapshot-")) {
        errno = ENOSPC;
        return -1;
    }
    return real.open(path, flags, mode);
}

/* Each try makes a segment, of which a state can have so many, and reads the whole log. */
static void a_snapshot_that_fails_is_tried_seldom(void **unused) {
    (void)unused;
    uint64_t from = 0;
    tamis_state *state = opened(growing);
    state->snapshot_at = 5000;
    tamis__sys.thread = no_thread;
    tamis__sys.open = no_room_for_snapshots;
    for (; from < 10000; from += 50) {
        assert_ok(states_add(state, from, 50));
        assert_ok(states_commit(state, "some"));
    }
    assert_true(state->manifest.segment_count > 3 && state->manifest.segment_count < 10);
    assert_int_equal(tamis_state_settle(state, UINT64_MAX, &states_err), TAMIS_E_IO);
    assert_true(state->manifest.segment_count < 10);
    tamis__sys.open = real.open;
    for (; told(state).snapshot_bytes == 0; from += 50) {
        assert_true(from < 25000);
        assert_ok(states_add(state, from, 50));
        assert_ok(states_commit(state, "some"));
    }
    for (int i = 0; i < 100; i++, from += 50) { /* and then as soon as it is due */
        assert_ok(states_add(state, from, 50));
        assert_ok(states_commit(state, "some"));
        assert_true(told(state).log_bytes < 8000);
    }
    tamis_state_close(state);
    state = opened(growing);
    assert_int_equal(states_keys(state), from);
    tamis_state_close(state);
}

/* ---- a snapshot that takes long: its thread waits until it is let go, or given up ---- */

static pthread_t own;
static tamis_state *watched;
static bool is_held;      /* atomic */
static int reads_in_vain; /* by the thread, once it was given up */

static ssize_t held_read(int fd, void *buffer, size_t size, off_t at) {
    if (pthread_equal(pthread_self(), own))
        return real.pread(fd, buffer, size, at);
    while (__atomic_load_n(&is_held, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&watched->job.given_up, __ATOMIC_RELAXED))
        pause_ms(1);
    reads_in_vain += __atomic_load_n(&watched->job.given_up, __ATOMIC_RELAXED);
    return real.pread(fd, buffer, size, at);
}

/* A state with a snapshot under way, of 1000 keys in 4 segments. */
static tamis_state *opened_with_snapshot(void) {
    tamis_state *state = opened(growing);
    own = pthread_self();
    watched = state;
    __atomic_store_n(&is_held, true, __ATOMIC_RELEASE);
    reads_in_vain = 0;
    tamis__sys.pread = held_read;
    for (uint64_t part = 0; part < 4; part++) {
        state->snapshot_at = part < 3 ? UINT64_MAX : 10000;
        assert_ok(states_add(state, 250 * part, 250));
        assert_ok(states_commit(state, "begun"));
        if (part < 3)
            assert_ok(tamis_state_abort(state, &states_err));
    }
    assert_true(state->job.begun && state->job.threaded);
    return state;
}

static void let_go(void) {
    __atomic_store_n(&is_held, false, __ATOMIC_RELEASE);
}

/* What is logged while a snapshot is made is as much log as any other. */
static void settle_leaves_no_more_than_a_commit(void **unused) {
    (void)unused;
    tamis_state *state = opened_with_snapshot();
    assert_ok(states_add(state, 1000, 1000));
    assert_ok(states_commit(state, "more"));
    assert_true(told(state).log_bytes > 30000);
    let_go();
    assert_ok(tamis_state_settle(state, UINT64_MAX, &states_err));
    assert_true(told(state).log_bytes <= 10000);
    tamis_state_close(state);
    state = opened(growing);
    assert_int_equal(states_keys(state), 2000);
    assert_true(told(state).replayed < 1000);
    tamis_state_close(state);
}

/* Who closes is not to wait for what the next start can do without. */
static void close_gives_a_snapshot_up(void **unused) {
    (void)unused;
    tamis_state *state = opened_with_snapshot();
    tamis_state_close(state);
    assert_int_equal(reads_in_vain, 1);
    state = opened(growing);
    assert_int_equal(states_keys(state), 1000);
    assert_int_equal(told(state).snapshot_bytes, 0);
    assert_int_equal(told(state).replayed, 1000);
    tamis_state_close(state);
}

/* One that is made counts. */
static void close_names_a_snapshot(void **unused) {
    (void)unused;
    tamis_state *state = opened_with_snapshot();
    let_go();
    while (!__atomic_load_n(&state->job.ended, __ATOMIC_ACQUIRE))
        pause_ms(1);
    assert_ok(states_add(state, 1000, 100)); /* not committed */
    tamis_state_close(state);
    assert_int_equal(scratch_entries(), 4); /* lock, manifest, snapshot, log */
    state = opened(growing);
    assert_int_equal(states_keys(state), 1000);
    assert_true(told(state).snapshot_bytes > 0);
    assert_int_equal(told(state).replayed, 0);
    tamis_state_close(state);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_snapshot_that_fails_is_tried_seldom),
        CASE(settle_leaves_no_more_than_a_commit),
        CASE(close_gives_a_snapshot_up),
        CASE(close_names_a_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
