/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/* Snapshots of a state: when they are made, named in the manifest and given up. A filter at a limit must
 * give the same answers with and without snapshots. */
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

static struct tamis__system real;
static const states_make *const growing = &states_makes[STATES_GROWING];

static int set_up(void **state) {
    real = tamis__sys;
    return states_set_up(state);
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

/* ---- a snapshot that fails ---- */

static int a_full_disk_for_snapshots(const char *path, int flags, mode_t mode) {
    if (strstr(path, "/.snapshot-")) {
        errno = ENOSPC;
        return -1;
    }
    return real.open(path, flags, mode);
}

/* Each try makes a segment, whose number is limited, and reads the whole log. */
static void a_snapshot_that_fails_is_tried_seldom(void **unused) {
    (void)unused;
    uint64_t from = 0;
    tamis_state *state = opened(growing);
    state->snapshot_at = 5000;
    tamis__sys.thread = fault_no_thread;
    tamis__sys.open = a_full_disk_for_snapshots;
    for (; from < 10000; from += 50) {
        assert_ok(states_add(state, from, 50));
        assert_ok(states_commit(state, "some"));
    }
    assert_true(state->manifest.segment_count > 3 && state->manifest.segment_count < 10);
    assert_int_equal(tamis_state_snapshot(state, UINT64_MAX, &states_err), TAMIS_E_IO);
    assert_true(state->manifest.segment_count < 10);
    tamis__sys.open = real.open;
    for (; states_info(state).snapshot_bytes == 0; from += 50) {
        assert_true(from < 25000);
        assert_ok(states_add(state, from, 50));
        assert_ok(states_commit(state, "some"));
    }
    for (int i = 0; i < 100; i++, from += 50) { /* later as soon as one is due */
        assert_ok(states_add(state, from, 50));
        assert_ok(states_commit(state, "some"));
        assert_true(states_info(state).log_bytes < 8000);
    }
    tamis_state_close(state);
    state = opened(growing);
    assert_int_equal(states_keys(state), from);
    tamis_state_close(state);
}

/* ---- a table that begins small ---- */

static void assert_same_at_a_restart(tamis_state **state, const states_make *make) {
    test_bytes before = {0}, after = {0};
    const tamis_plan plan = *tamis_filter_plan(tamis_state_filter(*state));
    states_encode(*state, &before);
    tamis_state_close(*state);
    *state = opened(make);
    states_encode(*state, &after);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, before.size);
    const tamis_plan *now = tamis_filter_plan(tamis_state_filter(*state));
    assert_true(now->target == plan.target && now->lines == plan.lines && now->slot_bits == plan.slot_bits);
    bytes_clear(&before);
    bytes_clear(&after);
}

/* Log and snapshots restore the table before and after a growth step, and it grows to the planned size. */
static void reg_22_a_small_start_comes_back(void **unused) {
    (void)unused;
    static const states_make make = {.name = "small",
                                     .kind = TAMIS_KIND_FINGERPRINT,
                                     .scheme = TAMIS_SCHEME_XXH3,
                                     .expect = 200000000,
                                     .fpr = 1e-12,
                                     .small = true};
    tamis_state *state = opened(&make);
    const tamis_plan *plan = tamis_filter_plan(tamis_state_filter(state));
    const uint64_t first = plan->capacity, lines = plan->lines;
    assert_true(first < make.expect / 200 && plan->target == make.expect);
    for (uint64_t from = 0; from < first + 1000; from += first - 1000) {
        assert_ok(states_add(state, from, first - 1000));
        assert_ok(states_commit(state, "some"));
        assert_same_at_a_restart(&state, &make);
        assert_ok(tamis_state_snapshot(state, UINT64_MAX, &states_err));
        assert_same_at_a_restart(&state, &make);
    }
    assert_int_equal(tamis_filter_plan(tamis_state_filter(state))->lines, 16 * lines);
    assert_int_equal(tamis_filter_plan(tamis_state_filter(state))->target, make.expect);
    assert_int_equal(states_keys(state), 2 * (first - 1000));
    tamis_state_close(state);
}

/* ---- a slow snapshot: its thread waits until the test releases it, or the snapshot is given up ---- */

static pthread_t own;
static tamis_state *watched;
static bool is_held;      /* atomic: true while the thread waits */
static int reads_in_vain; /* reads by the thread after the snapshot was given up */

static ssize_t held_read(int fd, void *buffer, size_t size, off_t offset) {
    if (pthread_equal(pthread_self(), own))
        return real.pread(fd, buffer, size, offset);
    while (__atomic_load_n(&is_held, __ATOMIC_ACQUIRE) &&
           !__atomic_load_n(&watched->job.given_up, __ATOMIC_RELAXED))
        pause_ms(1);
    reads_in_vain += __atomic_load_n(&watched->job.given_up, __ATOMIC_RELAXED);
    return real.pread(fd, buffer, size, offset);
}

/* Opens a state with a snapshot under way, of 1000 keys in 4 segments. */
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
    assert_true(state->job.running && state->job.threaded);
    return state;
}

static void let_go(void) {
    __atomic_store_n(&is_held, false, __ATOMIC_RELEASE);
}

/* Keys logged during a snapshot count as log like any others. */
static void a_finished_state_has_no_more_than_a_commit(void **unused) {
    (void)unused;
    tamis_state *state = opened_with_snapshot();
    assert_ok(states_add(state, 1000, 1000));
    assert_ok(states_commit(state, "more"));
    assert_true(states_info(state).log_bytes > 30000);
    let_go();
    assert_ok(tamis_state_snapshot(state, UINT64_MAX, &states_err));
    assert_true(states_info(state).log_bytes <= 10000);
    tamis_state_close(state);
    state = opened(growing);
    assert_int_equal(states_keys(state), 2000);
    assert_true(states_info(state).replayed < 1000);
    tamis_state_close(state);
}

/* A close does not wait for a snapshot that the next start does not need. */
static void close_gives_a_snapshot_up(void **unused) {
    (void)unused;
    tamis_state *state = opened_with_snapshot();
    tamis_state_close(state);
    assert_int_equal(reads_in_vain, 1);
    state = opened(growing);
    assert_int_equal(states_keys(state), 1000);
    assert_int_equal(states_info(state).snapshot_bytes, 0);
    assert_int_equal(states_info(state).replayed, 1000);
    tamis_state_close(state);
}

static bool is_saving; /* atomic: the thread is about to write */

static ssize_t give_up_before_write(int fd, const void *buffer, size_t size) {
    if (!pthread_equal(pthread_self(), own)) {
        __atomic_store_n(&is_saving, true, __ATOMIC_RELEASE);
        while (!__atomic_load_n(&watched->job.given_up, __ATOMIC_RELAXED))
            pause_ms(1);
    }
    return real.write(fd, buffer, size);
}

/* Nor for one that is being saved. */
static void close_gives_a_snapshot_up_that_is_being_saved(void **unused) {
    (void)unused;
    tamis_state *state = opened_with_snapshot();
    tamis__sys.write = give_up_before_write;
    let_go();
    while (!__atomic_load_n(&is_saving, __ATOMIC_ACQUIRE))
        pause_ms(1);
    tamis_state_close(state);
    tamis__sys.write = real.write;
    state = opened(growing);
    assert_int_equal(states_keys(state), 1000);
    assert_int_equal(states_info(state).snapshot_bytes, 0);
    tamis_state_close(state);
}

/* A close names a finished snapshot in the manifest. */
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
    assert_true(states_info(state).snapshot_bytes > 0);
    assert_int_equal(states_info(state).replayed, 0);
    tamis_state_close(state);
}

/* ---- filters at a limit ---- */

enum { QUERIES = 200 }; /* keys per query */

typedef struct limited {
    states_make make;
    uint64_t keys, hinted; /* number of queried keys; size hint */
} limited;

/* Session and state. */
typedef struct query_session {
    const limited *limits;
    tamis_state *state;
    tamis_dedup *session;
    uint64_t snapshot_at;
} query_session;

static void begin_session(query_session *a) {
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    a->state = opened(&a->limits->make);
    a->state->snapshot_at = a->snapshot_at;
    options.state = a->state;
    options.on_full = TAMIS_ON_FULL_PASS;
    assert_ok(tamis_dedup_open(&a->session, NULL, &options, &states_err));
}

static void end_session(query_session *a) {
    tamis_dedup_close(a->session);
    tamis_state_close(a->state);
}

/* Queries keys, each about twice. */
static void query(query_session *a, uint64_t from, tamis_answer *answers) {
    uint64_t numbers[QUERIES];
    tamis_key keys[QUERIES];
    size_t done;
    for (uint64_t i = 0; i < QUERIES; i++) {
        uint64_t seed = from + i;
        numbers[i] = test_below(&seed, a->limits->keys / 2);
        keys[i] = (tamis_key){&numbers[i], sizeof numbers[i]};
    }
    assert_ok(tamis_dedup_add_many(a->session, keys, QUERIES, answers, &done, &states_err));
    assert_int_equal(done, QUERIES);
}

typedef struct outcome {
    tamis_answer *answers;
    test_bytes filter;
    tamis_full full;
    bool saturated;
} outcome;

static void save_outcome(query_session *a, outcome *result) {
    const tamis_filter *filter = tamis_state_filter(a->state);
    states_encode(a->state, &result->filter);
    result->full = filter->full;
    result->saturated = filter->saturated;
    end_session(a);
}

static void query_undisturbed(const limited *l, outcome *result) {
    query_session a = {.limits = l, .snapshot_at = UINT64_MAX};
    begin_session(&a);
    assert_ok(tamis_state_expect(a.state, l->hinted, &states_err));
    for (uint64_t from = 0; from < l->keys; from += QUERIES)
        query(&a, from, result->answers + from);
    assert_ok(tamis_dedup_commit(a.session, "all", 3, &states_err));
    save_outcome(&a, result);
}

/* Queries with a commit every few batches. Some batches after a commit are undone, by an abort or by a
 * start. */
static uint64_t query_disturbed(const limited *l, outcome *result) {
    enum { SOME = 20 };
    query_session a = {.limits = l, .snapshot_at = 16 * l->keys / 40};
    tamis_answer lost[QUERIES];
    uint64_t snapshots = 0, last = 0;
    begin_session(&a);
    assert_ok(tamis_state_expect(a.state, l->hinted, &states_err));
    for (uint64_t from = 0, n = 1; from < l->keys; from += QUERIES, n++) {
        query(&a, from, result->answers + from);
        if (n % SOME && from + QUERIES < l->keys)
            continue;
        assert_ok(tamis_dedup_commit(a.session, "some", 4, &states_err));
        const uint64_t number = a.state->manifest.snapshot.number;
        snapshots += number != last;
        last = number;
        if (n % (5 * SOME) == 0) {
            query(&a, from + QUERIES, lost);
            assert_ok(tamis_dedup_abort(a.session, &states_err));
        }
        if (n % (11 * SOME) == 0)
            assert_ok(tamis_state_snapshot(a.state, UINT64_MAX, &states_err));
        if (n % (7 * SOME) == 0) {
            query(&a, from + QUERIES, lost);
            end_session(&a);
            begin_session(&a);
        }
    }
    assert_ok(tamis_state_snapshot(a.state, UINT64_MAX, &states_err));
    end_session(&a);
    begin_session(&a);
    save_outcome(&a, result);
    return snapshots;
}

/* The same keys find no slot, and all other answers are the same, as in an undisturbed run. */
static void limits_are_met_as_without_snapshots(void **unused) {
    (void)unused;
    static const limited each[] = {
        {{.name = "capacity", .kind = TAMIS_KIND_FINGERPRINT, .expect = 60000, .fpr = 1e-6}, 300000, 0},
        {{.name = "saturated", .kind = TAMIS_KIND_BLOCKED, .expect = 60000, .fpr = 1e-2}, 300000, 0},
        {{.name = "memory, exact", .kind = TAMIS_KIND_EXACT, .memory = 4000000}, 600000, 0},
        {{.name = "memory", .kind = TAMIS_KIND_FINGERPRINT, .fpr = 1e-6, .memory = 1300000}, 800000, 0},
        {{.name = "memory, size hint", .kind = TAMIS_KIND_FINGERPRINT, .fpr = 1e-6, .memory = 3000000},
         2000000,
         900000},
    };
    const size_t count = (size_t)test_scale(sizeof each / sizeof *each, 3, 5);
    for (size_t i = 0; i < count; i++) {
        const limited *l = &each[i];
        outcome expected = {.answers = malloc(l->keys)}, got = {.answers = malloc(l->keys)};
        uint64_t absent = 0, unknown = 0;
        assert_true(expected.answers && got.answers);
        query_undisturbed(l, &expected);
        scratch_clear();
        const uint64_t snapshots = query_disturbed(l, &got);
        scratch_clear();
        for (uint64_t k = 0; k < l->keys; k++) {
            absent += expected.answers[k] == TAMIS_ABSENT;
            unknown += expected.answers[k] == TAMIS_UNKNOWN;
            if (got.answers[k] != expected.answers[k])
                fail_msg("%s: key %d is answered %d and not %d", l->make.name, (int)k, (int)got.answers[k],
                         (int)expected.answers[k]);
        }
        printf("%s: %d fresh, %d without room, %d snapshots\n", l->make.name, (int)absent, (int)unknown,
               (int)snapshots);
        /* A table that was made for fewer keys has grown. */
        assert_true(absent > 1000 && snapshots > 0);
        assert_true(unknown > 1000 || strcmp(l->make.name, "capacity") == 0);
        assert_true(bytes_check(l->make.name, &got.filter, &expected.filter));
        assert_int_equal(got.full, expected.full);
        assert_int_equal(got.saturated, expected.saturated);
        bytes_clear(&expected.filter);
        bytes_clear(&got.filter);
        free(expected.answers);
        free(got.answers);
    }
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, states_tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_snapshot_that_fails_is_tried_seldom),         CASE(reg_22_a_small_start_comes_back),
        CASE(a_finished_state_has_no_more_than_a_commit),    CASE(close_gives_a_snapshot_up),
        CASE(close_gives_a_snapshot_up_that_is_being_saved), CASE(close_names_a_snapshot),
        CASE(limits_are_met_as_without_snapshots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
