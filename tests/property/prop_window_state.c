/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A window in a state, compared with the same window in memory. Both get the same batches through a dedup
 * session. The state is committed, aborted, closed, opened and shortened to a snapshot at random. After an
 * abort or a start, the batches since the last commit are added again. All answers are those of the window
 * in memory, the first time and each time after that.
 */
/* ctest: timeout=900 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tamis/experimental/state.h>
#include <tamis/experimental/window.h>

#include "property/filter_model.h"
#include "service/dedup/dedup_commits.h"
#include "store/state/state_int.h"
#include "support/scratch.h"
#include "support/states.h"

enum { BATCH_MAX = 300, WAITING_MAX = 12 };

typedef struct window_batch {
    tamis_hash hashes[BATCH_MAX];
    int64_t times[BATCH_MAX];
    tamis_answer answers[BATCH_MAX]; /* of the window in memory */
    size_t count;
} window_batch;

typedef struct walk {
    tamis_plan plan;
    uint64_t keys, random;
    uint64_t pace;        /* records of a step, roughly */
    tamis_filter *filter; /* in memory */
    tamis_dedup *plain;
    tamis_state *state;
    tamis_dedup *kept;
    window_batch batches[WAITING_MAX]; /* since the last commit */
    size_t waiting;
    uint64_t absent, present, late, unknown, starts, snapshots;
} walk;

static uint64_t seed;
static tamis_error err;

static void assert_ok(tamis_status status) {
    if (status != TAMIS_OK)
        fail_msg("%s: %s", tamis_status_name(status), err.text);
}

static tamis_dedup *open_session(tamis_filter *filter, tamis_state *state) {
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_dedup *session = NULL;
    options.state = state;
    options.on_full = TAMIS_ON_FULL_PASS;
    options.ahead = (uint64_t)TAMIS_TIME_MAX;
    assert_ok(tamis_dedup_open(&session, filter, &options, &err));
    return session;
}

static void open_kept(walk *w) {
    tamis_state_options options = TAMIS_STATE_OPTIONS_INIT;
    options.plan = &w->plan;
    assert_ok(tamis_state_open(&w->state, scratch(""), &options, &err));
    w->kept = open_session(NULL, w->state);
}

/* Mostly a little later than the newest time, sometimes late, too late, or far ahead. */
static int64_t next_time(walk *w, int64_t newest) {
    const uint64_t step = w->plan.step, late = w->plan.lateness, dice = test_below(&w->random, 100);
    int64_t time = newest < 0 ? 0 : newest;
    if (test_below(&w->random, 20 * w->pace) == 0)
        time += (int64_t)test_below(&w->random, 3 * step);
    else if (test_below(&w->random, 200 * w->pace) == 0)
        time += (int64_t)test_below(&w->random, 2 * w->plan.window);
    else if (dice < 70)
        time += test_below(&w->random, w->pace) < step
                    ? (int64_t)test_below(&w->random, 2 * step / w->pace + 2)
                    : 0;
    else if (dice < 99)
        time -= (int64_t)test_below(&w->random, late + 1);
    else
        time -= (int64_t)test_below(&w->random, 3 * late + w->plan.window);
    return time < 0 ? 0 : time;
}

static void fill_batch(walk *w, window_batch *b) {
    int64_t newest = tamis_window_newest(w->filter);
    b->count = 1 + test_below(&w->random, BATCH_MAX);
    for (size_t i = 0; i < b->count; i++) {
        const uint64_t number = test_below(&w->random, test_below(&w->random, 2) ? w->keys : 20) ^ seed;
        b->times[i] = next_time(w, newest);
        newest = b->times[i] > newest ? b->times[i] : newest;
        assert_ok(tamis_hash_many(tamis_filter_hasher(w->filter), &(tamis_key){&number, sizeof number}, 1,
                                  &b->hashes[i], &err));
    }
}

/* Adds a batch to the window in the state, in pieces, and compares the answers. */
static void add_to_kept(walk *w, const window_batch *b) {
    tamis_answer got[BATCH_MAX];
    for (size_t from = 0; from < b->count;) {
        const size_t piece = 1 + test_below(&w->random, b->count - from);
        size_t done = 0;
        assert_ok(tamis_dedup_add_timed(w->kept,
                                        &(tamis_timed_hashes){b->hashes + from, b->times + from, piece},
                                        got + from, &done, &err));
        assert_int_equal(done, piece);
        from += piece;
        if (test_below(&w->random, 2)) /* records of some batches are written before the commit */
            assert_ok(tamis__dedup_written(w->kept, 1, &err));
    }
    assert_memory_equal(got, b->answers, b->count * sizeof *got);
}

static void repeat_since_commit(walk *w) {
    for (size_t i = 0; i < w->waiting; i++)
        add_to_kept(w, &w->batches[i]);
}

static void restart(walk *w) {
    tamis_dedup_close(w->kept);
    tamis_state_close(w->state);
    open_kept(w);
    w->starts++;
    repeat_since_commit(w);
}

static void disturb(walk *w) {
    const uint64_t dice = test_below(&w->random, 30);
    if (w->waiting == WAITING_MAX || dice < 5) {
        assert_ok(tamis_dedup_commit(w->kept, "some", 4, &err));
        w->waiting = 0;
        if (dice == 0) {
            assert_ok(tamis_state_snapshot(w->state, 0, &err));
            w->snapshots++;
        }
        assert_int_equal(tamis_window_newest(tamis_state_filter(w->state)), tamis_window_newest(w->filter));
        assert_int_equal(tamis_window_entries(tamis_state_filter(w->state)), tamis_window_entries(w->filter));
    } else if (dice == 5) {
        restart(w);
    } else if (dice == 6) {
        assert_ok(tamis_dedup_abort(w->kept, &err));
        repeat_since_commit(w);
    }
}

static void count(walk *w, const window_batch *b) {
    for (size_t i = 0; i < b->count; i++) {
        w->absent += b->answers[i] == TAMIS_ABSENT;
        w->present += b->answers[i] == TAMIS_PRESENT;
        w->late += b->answers[i] == TAMIS_LATE;
        w->unknown += b->answers[i] == TAMIS_UNKNOWN;
    }
}

static void compare(tamis_plan_options options, uint64_t keys, uint64_t pace, uint64_t batches) {
    static uint64_t walks;
    walk *w = calloc(1, sizeof *w);
    assert_non_null(w);
    *w = (walk){.plan = TAMIS_PLAN_INIT, .keys = keys, .pace = pace, .random = seed + walks++};
    assert_ok(tamis_plan_make(&w->plan, &options, &err));
    assert_ok(tamis_filter_create(&w->filter, &w->plan, NULL, &err));
    w->plain = open_session(w->filter, NULL);
    open_kept(w);
    for (uint64_t i = 0; i < batches; i++) {
        window_batch *b = &w->batches[w->waiting];
        size_t done = 0;
        fill_batch(w, b);
        assert_ok(tamis_dedup_add_timed(w->plain, &(tamis_timed_hashes){b->hashes, b->times, b->count},
                                        b->answers, &done, &err));
        assert_int_equal(done, b->count);
        count(w, b);
        add_to_kept(w, b);
        w->waiting++;
        disturb(w);
    }
    printf("# window %" PRIu64 " step %" PRIu64 " lateness %" PRIu64 "%s: %" PRIu64 " absent, %" PRIu64
           " present, %" PRIu64 " late, %" PRIu64 " unknown; %" PRIu64 " starts, %" PRIu64 " snapshots\n",
           w->plan.window, w->plan.step, w->plan.lateness, w->plan.refresh ? " refreshed" : "", w->absent,
           w->present, w->late, w->unknown, w->starts, w->snapshots);
    assert_true(w->absent > 0 && w->present > 0);
    assert_true(options.memory == 0 || w->unknown > 0);
    tamis_dedup_close(w->kept);
    tamis_state_close(w->state);
    assert_ok(tamis_state_verify(scratch(""), NULL, &err));
    tamis_dedup_close(w->plain);
    tamis_filter_free(w->filter);
    scratch_clear();
    free(w);
}

static tamis_plan_options window_options(uint64_t window, uint64_t step, uint64_t lateness, bool refresh) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    options.kind = TAMIS_KIND_WINDOW;
    options.fpr = 1e-6;
    options.window = window;
    options.step = step;
    options.lateness = lateness;
    options.refresh = refresh;
    return options;
}

static void answers_are_those_of_a_window_in_memory(void **unused) {
    const uint64_t batches = model_scale(3000, 150);
    (void)unused;
    for (int refresh = 0; refresh < 2; refresh++) {
        compare(window_options(24000, 1000, 0, refresh), 3000, 100, batches);
        compare(window_options(24000, 1000, 2500, refresh), 300000, 100, batches);
        compare(window_options(1800, 300, 600, refresh), 2000, 100, batches);
        compare(window_options(1000, 1000, 4000, refresh), 3000, 100, batches);
        compare(window_options(1000, 7, 28, refresh), 100, 100, batches);
        compare(window_options(1, 1, 0, refresh), 100, 100, batches);
    }
}

/* With a limit of memory, the window is full now and then, and grows again when steps have ended. */
static void a_full_window_is_the_same_after_a_start(void **unused) {
    const uint64_t batches = model_scale(3000, 200);
    (void)unused;
    for (int refresh = 0; refresh < 2; refresh++) {
        tamis_plan_options options = window_options(24000, 1000, 1000, refresh);
        options.memory = 40000;
        compare(options, 1000000, 2000, batches);
        options.expect = 50;
        options.memory = 20000;
        compare(options, 1000000, 2000, batches);
    }
}

/* Published defaults of event pipelines: sessions that end after a gap of 300 s, and a window of 1800 s. */
static void a_session_gap_and_a_window_of_half_an_hour(void **unused) {
    const uint64_t batches = model_scale(3000, 150);
    (void)unused;
    compare(window_options(300 * 1000, 0, 0, true), 20000, 100, batches);
    compare(window_options(1800 * 1000, 0, 0, false), 20000, 100, batches);
}

/* Thirty simulated days, with a commit every hour. Once a window is full, neither memory nor disk grow. */
static void memory_and_disk_stay_constant(void **unused) {
    enum { DAYS = 30, HOURS = 24, BATCHES = 2 };
    const int64_t hour = 3600 * 1000;
    walk *w = calloc(1, sizeof *w);
    uint64_t memory_after_two_days = 0, disk = 0, disk_after_two_days = 0, number = seed;
    const tamis_plan_options options = window_options((uint64_t)(24 * hour), (uint64_t)hour, 0, false);
    (void)unused;
    assert_non_null(w);
    *w = (walk){.plan = TAMIS_PLAN_INIT};
    assert_ok(tamis_plan_make(&w->plan, &options, &err));
    open_kept(w);
    w->state->snapshot_at = 100000;
    for (int64_t i = 0; i < DAYS * HOURS * BATCHES; i++) {
        window_batch *b = &w->batches[0];
        for (b->count = 0; b->count < BATCH_MAX; b->count++, number++) {
            b->times[b->count] = i * hour / BATCHES;
            assert_ok(tamis_hash_many(tamis_filter_hasher(tamis_state_filter(w->state)),
                                      &(tamis_key){&number, sizeof number}, 1, &b->hashes[b->count], &err));
        }
        assert_ok(tamis_dedup_add_timed(w->kept, &(tamis_timed_hashes){b->hashes, b->times, b->count},
                                        b->answers, NULL, &err));
        assert_ok(tamis_dedup_commit(w->kept, "hour", 4, &err));
        if (i % (HOURS * BATCHES) == 0)
            assert_ok(tamis_state_snapshot(w->state, 100000, &err));
        const tamis_state_info info = states_info(w->state);
        disk = info.log_bytes + info.snapshot_bytes > disk ? info.log_bytes + info.snapshot_bytes : disk;
        if (i == 2 * HOURS * BATCHES) {
            memory_after_two_days = tamis_state_filter(w->state)->tally.memory;
            disk_after_two_days = disk;
        }
    }
    assert_int_equal(tamis_state_filter(w->state)->tally.memory, memory_after_two_days);
    assert_true(disk <= 2 * disk_after_two_days);
    tamis_dedup_close(w->kept);
    tamis_state_close(w->state);
    scratch_clear();
    free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_are_those_of_a_window_in_memory, states_set_up,
                                        states_tear_down),
        cmocka_unit_test_setup_teardown(a_full_window_is_the_same_after_a_start, states_set_up,
                                        states_tear_down),
        cmocka_unit_test_setup_teardown(a_session_gap_and_a_window_of_half_an_hour, states_set_up,
                                        states_tear_down),
        cmocka_unit_test_setup_teardown(memory_and_disk_stay_constant, states_set_up, states_tear_down),
    };
    seed = model_seed(24);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
