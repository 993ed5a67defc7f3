/* SPDX-License-Identifier: BSD-2-Clause */

/* Windows: the edges of window, step and lateness; what they refuse; growth and memory; files. The property
 * test prop_window compares answers with an exact list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tamis/experimental/state.h>
#include <tamis/experimental/window.h>

#include "base/bytes.h"
#include "base/system.h"
#include "format/native.h"
#include "property/filter_model.h"
#include "support/fault.h"
#include "support/formats.h"

enum { HOUR = 3600 * 1000, DAY = 24 * HOUR };

static tamis_plan_options day_options(void) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    options.kind = TAMIS_KIND_WINDOW;
    options.window = DAY;
    return options;
}

static tamis_filter *create_window(const tamis_plan_options *options) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_plan_make(&plan, options, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

static tamis_hash hash_of(const tamis_filter *filter, uint64_t number) {
    tamis_hash hash;
    assert_int_equal(
        tamis_hash_many(tamis_filter_hasher(filter), &(tamis_key){&number, sizeof number}, 1, &hash, NULL),
        TAMIS_OK);
    return hash;
}

static tamis_answer add_number(tamis_filter *filter, uint64_t number, int64_t time) {
    const tamis_hash hash = hash_of(filter, number);
    tamis_answer answer = TAMIS_UNKNOWN;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_window_add(filter, &(tamis_timed_hashes){&hash, &time, 1}, &answer, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return answer;
}

static tamis_answer look_up(const tamis_filter *filter, uint64_t number) {
    const tamis_hash hash = hash_of(filter, number);
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_int_equal(tamis_filter_contains_hashes(filter, &hash, 1, &answer, NULL, NULL), TAMIS_OK);
    return answer;
}

/* ---- answers ---- */

static void a_key_counts_for_the_window_and_up_to_a_step_more(void **state) {
    const tamis_plan_options options = day_options();
    (void)state;
    for (int64_t begin = 0; begin < HOUR; begin += HOUR / 4) {
        tamis_filter *filter = create_window(&options);
        const int64_t time = 100 * (int64_t)DAY + begin;
        assert_int_equal(add_number(filter, 1, time), TAMIS_ABSENT);
        assert_int_equal(add_number(filter, 1, time), TAMIS_PRESENT);
        assert_int_equal(add_number(filter, 1, time + DAY), TAMIS_PRESENT);
        assert_int_equal(add_number(filter, 1, time + DAY + HOUR), TAMIS_ABSENT);
        tamis_filter_free(filter);
    }
}

static void a_refreshed_key_stays_as_long_as_it_comes(void **state) {
    tamis_plan_options options = day_options();
    (void)state;
    for (int refresh = 0; refresh < 2; refresh++) {
        options.refresh = refresh;
        tamis_filter *filter = create_window(&options);
        assert_int_equal(add_number(filter, 1, 0), TAMIS_ABSENT);
        uint64_t absent = 0;
        for (int64_t hour = 1; hour < 100; hour++)
            absent += add_number(filter, 1, hour * HOUR) == TAMIS_ABSENT;
        assert_int_equal(absent, refresh ? 0 : 3); /* in hours 25, 50 and 75 */
        tamis_filter_free(filter);
    }
}

static void late_keys_are_answered_by_their_own_time(void **state) {
    const tamis_plan_options options = day_options();
    tamis_filter *filter = create_window(&options);
    (void)state;
    assert_int_equal(add_number(filter, 1, 10 * HOUR), TAMIS_ABSENT);
    assert_int_equal(add_number(filter, 2, 35 * HOUR), TAMIS_ABSENT);
    assert_int_equal(add_number(filter, 1, 34 * HOUR), TAMIS_PRESENT); /* a window after its time */
    assert_int_equal(add_number(filter, 1, 35 * HOUR), TAMIS_ABSENT);
    assert_int_equal(add_number(filter, 3, 35 * HOUR), TAMIS_ABSENT);
    assert_int_equal(add_number(filter, 3, 34 * HOUR), TAMIS_ABSENT); /* it was counted later only */
    assert_int_equal(add_number(filter, 4, 34 * HOUR - 1), TAMIS_LATE);
    assert_int_equal(add_number(filter, 4, 34 * HOUR), TAMIS_ABSENT); /* a late key was not counted */
    tamis_filter_free(filter);
}

static void lookups_answer_for_the_newest_time(void **state) {
    const tamis_plan_options options = day_options();
    tamis_filter *filter = create_window(&options);
    (void)state;
    assert_int_equal(look_up(filter, 1), TAMIS_ABSENT);
    assert_int_equal(tamis_window_newest(filter), -1);
    add_number(filter, 1, 5 * HOUR);
    assert_int_equal(look_up(filter, 1), TAMIS_PRESENT);
    add_number(filter, 2, 29 * HOUR);
    assert_int_equal(look_up(filter, 1), TAMIS_PRESENT);
    add_number(filter, 2, 30 * HOUR);
    assert_int_equal(look_up(filter, 1), TAMIS_ABSENT);
    assert_int_equal(tamis_window_newest(filter), 30 * HOUR);
    assert_int_equal(tamis_filter_clear(filter, NULL), TAMIS_OK);
    assert_int_equal(tamis_window_newest(filter), -1);
    assert_int_equal(add_number(filter, 2, 0), TAMIS_ABSENT);
    tamis_filter_free(filter);
}

static void a_lookup_for_a_later_time_does_not_move_the_window(void **state) {
    const tamis_plan_options options = day_options();
    tamis_filter *filter = create_window(&options);
    const tamis_hash hashes[] = {hash_of(filter, 1), hash_of(filter, 1), hash_of(filter, 2),
                                 hash_of(filter, 1)};
    const int64_t times[] = {0, 24 * HOUR, 24 * HOUR, 25 * HOUR};
    tamis_answer answers[4];
    (void)state;
    assert_int_equal(tamis_window_contains(filter, &(tamis_timed_hashes){hashes, times, 4}, answers, NULL),
                     TAMIS_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(answers[i], TAMIS_ABSENT);
    add_number(filter, 1, 0);
    assert_int_equal(tamis_window_contains(filter, &(tamis_timed_hashes){hashes, times, 4}, answers, NULL),
                     TAMIS_OK);
    assert_memory_equal(answers, ((tamis_answer[]){TAMIS_PRESENT, TAMIS_PRESENT, TAMIS_ABSENT, TAMIS_ABSENT}),
                        4);
    /* Step codes come again after some time; the entry is of step 0 all the same. */
    for (int64_t hour = 25; hour < 10000; hour++) {
        const int64_t time = hour * HOUR;
        assert_int_equal(
            tamis_window_contains(filter, &(tamis_timed_hashes){hashes, &time, 1}, answers, NULL), TAMIS_OK);
        assert_int_equal(answers[0], TAMIS_ABSENT);
    }
    assert_int_equal(tamis_window_newest(filter), 0);
    add_number(filter, 3, 30 * HOUR);
    assert_int_equal(
        tamis_window_contains(filter, &(tamis_timed_hashes){hashes, times + 1, 1}, answers, NULL), TAMIS_OK);
    assert_int_equal(answers[0], TAMIS_LATE);
    const int64_t early = -1;
    assert_int_equal(tamis_window_contains(filter, &(tamis_timed_hashes){hashes, &early, 1}, answers, NULL),
                     TAMIS_E_RANGE);
    tamis_filter_free(filter);
    const tamis_plan_options other = TAMIS_PLAN_OPTIONS_INIT;
    filter = create_window(&other); /* no window at all */
    assert_int_equal(tamis_window_contains(filter, &(tamis_timed_hashes){hashes, times, 1}, answers, NULL),
                     TAMIS_E_UNSUPPORTED);
    tamis_filter_free(filter);
}

/* An entry that was not overwritten must not come back when its step code is used again. */
static void old_entries_never_come_back(void **state) {
    const tamis_plan_options options = day_options();
    tamis_filter *filter = create_window(&options);
    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(add_number(filter, i, 0), TAMIS_ABSENT);
    for (int64_t hour = 1; hour < 500; hour++) {
        add_number(filter, UINT64_MAX - (uint64_t)hour, hour * HOUR);
        uint64_t present = 0;
        for (uint64_t i = 0; i < 1000; i++)
            present += look_up(filter, i) == TAMIS_PRESENT;
        assert_int_equal(present, hour <= 24 ? 1000 : 0);
    }
    tamis_filter_free(filter);
}

static void the_rate_is_the_computed_one(void **state) {
    const uint64_t n = 100000, queries = model_scale(2000000, 200000);
    tamis_plan_options options = day_options();
    uint64_t hits = 0;
    (void)state;
    options.step = DAY / 2000; /* many steps leave few bits for fingerprints */
    options.fpr = 1e-3;
    options.expect = n;
    tamis_filter *filter = create_window(&options);
    for (uint64_t i = 0; i < n; i++)
        add_number(filter, i, (int64_t)i);
    for (uint64_t i = 0; i < queries; i++)
        hits += look_up(filter, UINT64_MAX - i) == TAMIS_PRESENT;
    const double rate = filter_info(filter).fpr_live, expected = rate * (double)queries;
    printf("# rate %g: %" PRIu64 " of %" PRIu64 ", expected %g\n", rate, hits, queries, expected);
    assert_true(rate > 1e-5 && rate < 1e-3);
    assert_true(fabs((double)hits - expected) <= 5 * sqrt(expected) + 1);
    tamis_filter_free(filter);
}

/* ---- what is refused ---- */

static void refuses_plan(tamis_plan_options options, tamis_status expected, const char *what) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_plan_make(&plan, &options, &err), expected);
    assert_non_null(strstr(err.text, what));
}

static void plans_out_of_range_are_refused(void **state) {
    tamis_plan_options options = day_options();
    (void)state;
    options.window = 0;
    refuses_plan(options, TAMIS_E_INVALID, "window");
    options.window = TAMIS_WINDOW_MAX + 1;
    refuses_plan(options, TAMIS_E_RANGE, "window");
    options = day_options();
    options.step = DAY + 1;
    refuses_plan(options, TAMIS_E_RANGE, "step");
    options.step = 1;
    refuses_plan(options, TAMIS_E_RANGE, "longer step");
    options.step = HOUR;
    options.lateness = 4 * HOUR + 1;
    refuses_plan(options, TAMIS_E_RANGE, "lateness");
    assert_true(tamis_plan_options_max_lateness(&options) == 4 * HOUR);
    options.step = DAY + 1;
    assert_true(tamis_plan_options_max_lateness(&options) == 0);
    options.step = 0;
    assert_true(tamis_plan_options_max_lateness(&options) == 4 * HOUR);
    options.window = TAMIS_WINDOW_MAX + 1;
    assert_true(tamis_plan_options_max_lateness(&options) == 0);
    options = day_options();
    options.fpr = 1e-20;
    refuses_plan(options, TAMIS_E_RANGE, "rate");
    options = day_options();
    options.kind = TAMIS_KIND_FINGERPRINT;
    refuses_plan(options, TAMIS_E_INVALID, "do not expire");
    options.kind = TAMIS_KIND_AUTO;
    refuses_plan(options, TAMIS_E_INVALID, "do not expire");
    options = day_options();
    options.scheme = TAMIS_SCHEME_BKDR63;
    refuses_plan(options, TAMIS_E_UNSUPPORTED, "digest");
}

static void the_default_step_is_a_24th(void **state) {
    tamis_plan_options options = day_options();
    tamis_plan plan = TAMIS_PLAN_INIT;
    (void)state;
    assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_OK);
    assert_int_equal(plan.step, HOUR);
    assert_int_equal(plan.lateness, HOUR);
    options.window = 5;
    assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_OK);
    assert_int_equal(plan.step, 1);
}

static void what_a_window_cannot_do_is_refused(void **state) {
    const tamis_plan_options options = day_options();
    tamis_filter *filter = create_window(&options), *other = create_window(&options), *none = NULL;
    tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
    const tamis_hash hash = hash_of(filter, 1);
    const int64_t time = 1;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_answer answer;
    size_t done = 7;
    (void)state;
    assert_int_equal(tamis_filter_add(filter, "key", 3, &answer, &err), TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "with times"));
    assert_int_equal(tamis_filter_add_hashes(filter, &hash, 1, &answer, &done, &err), TAMIS_E_UNSUPPORTED);
    assert_int_equal(done, 0);
    assert_false(tamis_filter_can(filter, TAMIS_CAN_UNION));
    assert_true(tamis_filter_can(filter, TAMIS_CAN_GROW));
    assert_int_equal(tamis_filter_union(filter, other, &err), TAMIS_E_UNSUPPORTED);
    assert_false(tamis_filter_is_compatible(filter, other));
    filter_options.concurrent = true;
    assert_int_equal(tamis_filter_create(&none, tamis_filter_plan(filter), &filter_options, &err),
                     TAMIS_E_UNSUPPORTED);
    filter_options.concurrent = false;
    filter_options.frozen = true;
    assert_int_equal(tamis_filter_create(&none, tamis_filter_plan(filter), &filter_options, &err),
                     TAMIS_E_INVALID);
    assert_null(none);
    tamis_filter_free(other);

    tamis_plan_options table = TAMIS_PLAN_OPTIONS_INIT;
    table.kind = TAMIS_KIND_FINGERPRINT;
    other = create_window(&table);
    const tamis_hash of_other = hash_of(other, 1);
    assert_int_equal(
        tamis_window_add(other, &(tamis_timed_hashes){&of_other, &time, 1}, &answer, &done, &err),
        TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "not a window"));
    assert_int_equal(tamis_window_newest(other), -1);
    assert_int_equal(tamis_window_newest(NULL), -1);
    assert_int_equal(tamis_filter_union(other, filter, &err), TAMIS_E_MISMATCH);
    tamis_filter_free(other);
    tamis_filter_free(filter);
}

/* ---- in a state ---- */

static int64_t clock_ms;

static int64_t read_clock(void) {
    return clock_ms;
}

static tamis_state *open_window_state(void) {
    const tamis_plan_options options = day_options();
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_state_options state_options = TAMIS_STATE_OPTIONS_INIT;
    tamis_state *state = NULL;
    assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_OK);
    state_options.plan = &plan;
    assert_int_equal(tamis_state_open(&state, scratch(""), &state_options, NULL), TAMIS_OK);
    return state;
}

/* Opens the state, adds a key at the time of the clock, and commits. */
static tamis_answer answer_by_clock(uint64_t key) {
    tamis_state *state = open_window_state();
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_dedup *session = NULL;
    tamis_answer answer = TAMIS_UNKNOWN;
    options.state = state;
    assert_int_equal(tamis_dedup_open(&session, NULL, &options, NULL), TAMIS_OK);
    const tamis_hash hash = hash_of(tamis_state_filter(state), key);
    assert_int_equal(
        tamis_dedup_add_timed(session, &(tamis_timed_hashes){&hash, NULL, 1}, &answer, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_dedup_commit(session, "", 0, NULL), TAMIS_OK);
    tamis_dedup_close(session);
    tamis_state_close(state);
    return answer;
}

/* Thirty simulated days. The clock is set back now and then, which shortens nothing. */
static void a_state_follows_the_clock(void **unused) {
    const int64_t day = 24 * 3600 * 1000, hour = 3600 * 1000;
    const struct tamis__system real = tamis__sys;
    (void)unused;
    scratch_make_in_memory();
    tamis__sys.now_unix_ms = read_clock;
    tamis__sys.sync = fault_no_sync;
    for (int64_t i = 0; i < 30; i++) {
        const int64_t begin = (i * 10 + 20000) * day / 10 * 12; /* each 12 days later */
        clock_ms = begin;
        assert_int_equal(answer_by_clock(1), TAMIS_ABSENT);
        clock_ms = begin + day;
        assert_int_equal(answer_by_clock(1), TAMIS_PRESENT);
        clock_ms = begin + day / 2; /* set back: still a day later for the window */
        assert_int_equal(answer_by_clock(2), TAMIS_ABSENT);
        clock_ms = begin + 2 * day + 2 * hour;
        assert_int_equal(answer_by_clock(1), TAMIS_ABSENT);
        assert_int_equal(answer_by_clock(2), TAMIS_ABSENT);
    }
    tamis__sys = real;
    scratch_remove();
}

/* Only a session knows the times that the log needs. */
static void a_state_logs_a_window_by_a_session_alone(void **unused) {
    const struct tamis__system real = tamis__sys;
    tamis_error err = TAMIS_ERROR_INIT;
    const int64_t time = 1000;
    tamis_answer answer;
    (void)unused;
    scratch_make_in_memory();
    tamis__sys.sync = fault_no_sync;
    tamis_state *state = open_window_state();
    tamis_filter *filter = tamis_state_filter(state);
    const tamis_hash hash = hash_of(filter, 1);
    assert_int_equal(tamis_state_expect(state, 1000, &err), TAMIS_OK);
    assert_int_equal(tamis_filter_clear(filter, &err), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_window_add(filter, &(tamis_timed_hashes){&hash, &time, 1}, &answer, NULL, &err),
                     TAMIS_OK);
    assert_int_equal(tamis_state_log(state, &hash, 1, &err), TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "by a dedup session"));
    assert_int_equal(tamis_state_commit(state, "", 0, &err), TAMIS_E_INVALID);
    assert_int_equal(tamis_state_abort(state, &err), TAMIS_OK);
    assert_int_equal(tamis_window_newest(tamis_state_filter(state)), -1);
    assert_int_equal(tamis_state_commit(state, "", 0, &err), TAMIS_OK);
    tamis_state_close(state);
    tamis__sys = real;
    scratch_remove();
}

static void a_wrong_time_stops_the_batch_before_it(void **state) {
    const tamis_plan_options options = day_options();
    const int64_t wrong[] = {-1, INT64_MIN, TAMIS_TIME_MAX + 1, INT64_MAX};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        tamis_filter *filter = create_window(&options);
        const tamis_hash hashes[] = {hash_of(filter, 1), hash_of(filter, 2), hash_of(filter, 3)};
        const int64_t times[] = {5, wrong[i], 6};
        tamis_answer answers[] = {TAMIS_UNKNOWN, TAMIS_UNKNOWN, TAMIS_UNKNOWN};
        tamis_error err = TAMIS_ERROR_INIT;
        size_t done = 0;
        assert_int_equal(
            tamis_window_add(filter, &(tamis_timed_hashes){hashes, times, 3}, answers, &done, &err),
            TAMIS_E_RANGE);
        assert_non_null(strstr(err.text, "time"));
        assert_int_equal(done, 1);
        assert_int_equal(answers[0], TAMIS_ABSENT);
        assert_int_equal(answers[1], TAMIS_UNKNOWN);
        assert_int_equal(tamis_window_newest(filter), 5);
        assert_int_equal(filter_info(filter).added, 1);
        tamis_filter_free(filter);
    }
}

/* ---- growth and memory ---- */

static void memory_stays_constant(void **state) {
    const tamis_plan_options options = day_options();
    const uint64_t per_day = model_scale(100000, 5000);
    tamis_filter *filter = create_window(&options);
    uint64_t memory = 0, next = 0;
    (void)state;
    for (int64_t day = 0; day < 30; day++) {
        for (uint64_t i = 0; i < per_day; i++)
            assert_int_equal(add_number(filter, next++, day * DAY + (int64_t)(i * DAY / per_day)),
                             TAMIS_ABSENT);
        const tamis_filter_info info = filter_info(filter);
        if (day == 3)
            memory = info.memory;
        if (day > 3)
            assert_int_equal(info.memory, memory);
        assert_true(tamis_window_entries(filter) <= per_day * 27 / 24 + 1);
    }
    assert_int_equal(filter_info(filter).added, 30 * per_day);
    tamis_filter_free(filter);
}

/* Adds three days of keys, all different or each once in `period`, and returns the memory at the end in
 * multiples of the planned memory. */
static double memory_after(const tamis_plan_options *options, uint64_t per_day, uint64_t period) {
    tamis_filter *filter = create_window(options);
    const double planned = (double)tamis_filter_plan(filter)->memory;
    for (uint64_t i = 0; i < 3 * per_day; i++)
        add_number(filter, i % period, (int64_t)(i * DAY / per_day));
    const double memory = (double)filter_info(filter).memory;
    tamis_filter_free(filter);
    return memory / planned;
}

static void the_expected_keys_fit_the_planned_memory(void **state) {
    static const uint64_t steps[] = {HOUR, 5 * 60 * 1000, DAY};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (uint64_t late = 0; late <= 4; late += 4) {
            tamis_plan_options options = day_options();
            options.step = steps[i];
            options.lateness = late * steps[i];
            options.expect = model_scale(200000, 10000);
            assert_true(memory_after(&options, options.expect, UINT64_MAX) == 1);
            if (options.step == DAY)
                continue; /* it takes more days until all its steps have keys */
            /* A third more: a second table of twice the size. */
            const double grown = memory_after(&options, options.expect * 4 / 3, UINT64_MAX);
            assert_true(grown > 1.9 && grown <= 3.01);
        }
}

/* Keys that are renewed once a day, and twelve times. */
static void renewed_keys_fit_the_planned_memory(void **state) {
    tamis_plan_options options = day_options();
    const uint64_t keys = model_scale(100000, 5000);
    (void)state;
    options.refresh = true;
    options.expect = keys;
    assert_true(memory_after(&options, keys, keys) == 1);
    assert_true(memory_after(&options, 12 * keys, keys) == 1);
}

static void an_empty_window_is_small(void **state) {
    const tamis_plan_options options = day_options();
    tamis_filter *filter = create_window(&options);
    (void)state;
    assert_true(filter_info(filter).memory < 64 << 10);
    tamis_filter_free(filter);
}

static void a_memory_limit_is_kept(void **state) {
    tamis_plan_options options = day_options();
    (void)state;
    options.memory = 1 << 20;
    tamis_filter *filter = create_window(&options);
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_answer answer;
    uint64_t number = 0;
    tamis_status status = TAMIS_OK;
    while (status == TAMIS_OK) {
        const tamis_hash hash = hash_of(filter, number);
        status =
            tamis_window_add(filter, &(tamis_timed_hashes){&hash, &(int64_t){1}, 1}, &answer, NULL, &err);
        number += status == TAMIS_OK;
    }
    assert_int_equal(status, TAMIS_E_FULL);
    assert_int_equal(filter_info(filter).full, TAMIS_FULL_MEMORY);
    assert_true(filter_info(filter).memory_peak <= 1 << 20);
    assert_true(number > 50000);
    for (uint64_t i = 0; i < number; i++)
        assert_int_equal(look_up(filter, i), TAMIS_PRESENT);
    /* Two days later there is room again. */
    assert_int_equal(add_number(filter, number, 2 * (int64_t)DAY), TAMIS_ABSENT);
    tamis_filter_free(filter);
}

/* Keys that a window holds after it has grown over days, in one table, fit when they are all added at once: a
 * restore does so. */
static void what_fits_over_days_fits_at_once(void **state) {
    tamis_plan_options options = day_options();
    (void)state;
    options.memory = 24800000;
    tamis_filter *grown = create_window(&options), *restored = create_window(&options);
    uint64_t number = 0;
    const uint64_t counts[] = {1000000, 1500000, 2000000};
    for (int64_t day = 0; day < 3; day++)
        for (uint64_t i = 0; i < counts[day]; i++)
            assert_int_equal(add_number(grown, number++, 3 * day * DAY), TAMIS_ABSENT);
    for (uint64_t i = number - counts[2]; i < number; i++)
        assert_int_equal(add_number(restored, i, 6 * (int64_t)DAY), TAMIS_ABSENT);
    assert_true(filter_info(restored).memory_peak <= options.memory);
    for (uint64_t i = number - counts[2]; i < number; i++)
        assert_int_equal(look_up(restored, i), TAMIS_PRESENT);
    tamis_filter_free(grown);
    tamis_filter_free(restored);
}

/* Fills a window of 1 MiB with keys of time 1 and returns their number. */
static uint64_t fill_window(tamis_dedup *session, const tamis_filter *filter) {
    tamis_answer answer = TAMIS_ABSENT;
    uint64_t number = 0;
    for (; answer == TAMIS_ABSENT; number++) {
        const tamis_hash hash = hash_of(filter, number);
        size_t done;
        assert_int_equal(tamis_dedup_add_timed(session, &(tamis_timed_hashes){&hash, &(int64_t){1}, 1},
                                               &answer, &done, NULL),
                         TAMIS_OK);
    }
    assert_int_equal(answer, TAMIS_UNKNOWN);
    return number - 1;
}

/* A full window cannot renew a key, but a present key is still known. */
static void a_full_window_knows_the_keys_it_cannot_renew(void **state) {
    (void)state;
    tamis_plan_options options = day_options();
    options.memory = 1 << 20;
    options.refresh = true;
    tamis_filter *filter = create_window(&options);
    tamis_dedup_options session_options = TAMIS_DEDUP_OPTIONS_INIT;
    session_options.on_full = TAMIS_ON_FULL_PASS;
    session_options.ahead = DAY;
    tamis_dedup *session = NULL;
    assert_int_equal(tamis_dedup_open(&session, filter, &session_options, NULL), TAMIS_OK);
    const uint64_t count = fill_window(session, filter);
    size_t present = 0, done;
    for (uint64_t i = 0; i < 1000; i++) {
        const tamis_hash hash = hash_of(filter, i * (count / 1000));
        const int64_t time = 2 * HOUR;
        tamis_answer answer;
        assert_int_equal(
            tamis_dedup_add_timed(session, &(tamis_timed_hashes){&hash, &time, 1}, &answer, &done, NULL),
            TAMIS_OK);
        present += answer == TAMIS_PRESENT;
    }
    assert_int_equal(present, 1000);
    const tamis_hash hash = hash_of(filter, 0), other = hash_of(filter, 2 * count);
    tamis_answer answer = TAMIS_ABSENT;
    assert_int_equal(
        tamis_window_add(filter, &(tamis_timed_hashes){&hash, &(int64_t){4 * HOUR}, 1}, &answer, &done, NULL),
        TAMIS_E_FULL);
    assert_int_equal(answer, TAMIS_PRESENT);
    assert_int_equal(tamis_window_add(filter, &(tamis_timed_hashes){&other, &(int64_t){4 * HOUR}, 1}, &answer,
                                      &done, NULL),
                     TAMIS_E_FULL);
    assert_int_equal(answer, TAMIS_UNKNOWN);
    tamis_dedup_close(session);
    tamis_filter_free(filter);
}

/* ---- files ---- */

static tamis_filter *filled_window(uint64_t count) {
    tamis_plan_options options = day_options();
    options.refresh = true;
    tamis_filter *filter = create_window(&options);
    for (uint64_t i = 0; i < count; i++)
        add_number(filter, i, (int64_t)(i * DAY / count));
    return filter;
}

static void a_file_has_all_of_a_window(void **state) {
    test_bytes bytes = {NULL, 0, 0};
    tamis_filter *filter = filled_window(20000), *copy = NULL, *decoded = NULL;
    (void)state;
    encode_filter(filter, TAMIS_FORMAT_TAMIS, &bytes);
    assert_int_equal(tamis_filter_decode(&decoded, bytes.data, bytes.size, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_copy(&copy, filter, NULL), TAMIS_OK);
    assert_true(tamis_filter_is_equal(decoded, filter));
    assert_true(tamis_filter_is_equal(copy, filter));
    assert_encodes_to(decoded, TAMIS_FORMAT_TAMIS, bytes.data, bytes.size);
    assert_encodes_to(copy, TAMIS_FORMAT_TAMIS, bytes.data, bytes.size);
    const tamis_plan *plan = tamis_filter_plan(decoded);
    assert_int_equal(plan->window, DAY);
    assert_int_equal(plan->step, HOUR);
    assert_int_equal(plan->lateness, HOUR);
    assert_true(plan->refresh);
    assert_true(tamis_window_entries(decoded) > 20000 - 1);
    for (uint64_t i = 0; i < 20000; i++)
        assert_int_equal(look_up(decoded, i), TAMIS_PRESENT);
    /* A copy goes its own way. */
    add_number(copy, 1, 3 * (int64_t)DAY);
    assert_false(tamis_filter_is_equal(copy, filter));
    assert_int_equal(look_up(filter, 5), TAMIS_PRESENT);
    tamis_filter_free(copy);
    tamis_filter_free(decoded);
    tamis_filter_free(filter);
    bytes_clear(&bytes);
}

static void an_opened_file_is_looked_up_in_place(void **state) {
    (void)state;
    tamis_filter *filter = filled_window(20000), *opened = NULL;
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    scratch_make();
    assert_int_equal(tamis_filter_save(filter, scratch("seen.tamis"), &err), TAMIS_OK);
    assert_int_equal(tamis_filter_open(&opened, scratch("seen.tamis"), NULL, &err), TAMIS_OK);
    for (uint64_t i = 0; i < 20000; i++)
        assert_int_equal(look_up(opened, i), TAMIS_PRESENT);
    const tamis_hash hash = hash_of(opened, 1);
    assert_int_equal(
        tamis_window_add(opened, &(tamis_timed_hashes){&hash, &(int64_t){DAY}, 1}, NULL, NULL, &err),
        TAMIS_E_UNSUPPORTED);
    tamis_filter_free(opened);
    options.writable = true;
    assert_int_equal(tamis_filter_open(&opened, scratch("seen.tamis"), &options, &err), TAMIS_OK);
    assert_int_equal(add_number(opened, 1, DAY), TAMIS_PRESENT);
    assert_int_equal(add_number(opened, 20000, DAY), TAMIS_ABSENT);
    tamis_filter_free(opened);
    tamis_filter_free(filter);
    scratch_remove();
}

static void damage_is_never_an_answer(void **state) {
    test_bytes bytes = {NULL, 0, 0};
    tamis_filter *filter = filled_window(100);
    uint64_t random = 7;
    (void)state;
    encode_filter(filter, TAMIS_FORMAT_TAMIS, &bytes);
    for (uint64_t i = 0; i < model_scale(4000, 400); i++) {
        tamis_filter *decoded = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        const uint64_t bit = test_below(&random, 8 * bytes.size);
        bytes.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        const tamis_status status = tamis_filter_decode(&decoded, bytes.data, bytes.size, NULL, &err);
        assert_true(status == TAMIS_E_DAMAGED || status == TAMIS_E_FORMAT);
        assert_null(decoded);
        bytes.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    assert_decode_out_of_memory(bytes.data, bytes.size);
    bytes_clear(&bytes);
    tamis_filter_free(filter);
}

/* Returns the first byte of the section "window". */
static unsigned char *window_section(const test_bytes *bytes) {
    const uint64_t header_size = tamis__load32le(bytes->data + 12);
    uint64_t pos = NATIVE_HEADER;
    while (pos < header_size && tamis__load32le(bytes->data + pos) != NATIVE_SECTION_WINDOW)
        pos += 8 + (tamis__load32le(bytes->data + pos + 4) + 7) / 8 * 8;
    assert_true(pos < header_size);
    return bytes->data + pos + 8;
}

/* A forged file has right checksums. Each field out of its range is refused, and none leads to a read outside
 * the file. */
static void forged_times_are_refused(void **state) {
    static const struct {
        int field;
        uint64_t value;
    } rows[] = {
        {NATIVE_WINDOW, 0},
        {NATIVE_WINDOW, TAMIS_WINDOW_MAX + 1},
        {NATIVE_WINDOW, UINT64_MAX},
        {NATIVE_WINDOW, DAY + HOUR}, /* one step more than there are counts */
        {NATIVE_WINDOW_STEP, 0},
        {NATIVE_WINDOW_STEP, UINT64_MAX},
        {NATIVE_WINDOW_STEP, 1},
        {NATIVE_WINDOW_LATENESS, UINT64_MAX},
        {NATIVE_WINDOW_LATENESS, 4 * HOUR + 1},
        {NATIVE_WINDOW_NEWEST, UINT64_MAX - 1},
        {NATIVE_WINDOW_NEWEST, (uint64_t)TAMIS_TIME_MAX + 1},
        {NATIVE_WINDOW_REFRESH, 2},
        {NATIVE_WINDOW_COUNTS, UINT64_MAX},
        {NATIVE_WINDOW_COUNTS + 8, 1u << 20},
        {NATIVE_WINDOW_COUNTS + 16, 0},
    };
    test_bytes bytes = {NULL, 0, 0};
    tamis_filter *filter = filled_window(100), *decoded = NULL;
    (void)state;
    encode_filter(filter, TAMIS_FORMAT_TAMIS, &bytes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        unsigned char *field = window_section(&bytes) + rows[i].field;
        const uint64_t before = tamis__load64le(field);
        tamis__store64le(field, rows[i].value);
        tamis__store64le(bytes.data + 16,
                         native_header_checksum(bytes.data, tamis__load32le(bytes.data + 12)));
        if (tamis_filter_decode(&decoded, bytes.data, bytes.size, NULL, NULL) != TAMIS_E_DAMAGED)
            fail_msg("field at %d: %" PRIu64 " is not refused", rows[i].field, rows[i].value);
        tamis__store64le(field, before);
    }
    tamis_filter_free(filter);
    bytes_clear(&bytes);
}

/* ---- memory that runs out ---- */

static void a_key_without_memory_is_not_counted(void **state) {
    tamis_plan_options options = day_options();
    tamis_plan plan = TAMIS_PLAN_INIT;
    (void)state;
    assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_OK);
    for (uint64_t n = 1;; n++) {
        fault_memory memory = {.fail_at = n};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_filter_options filter_options = TAMIS_FILTER_OPTIONS_INIT;
        tamis_filter *filter = NULL;
        filter_options.allocator = &allocator;
        tamis_status status = tamis_filter_create(&filter, &plan, &filter_options, NULL);
        uint64_t refused = 0;
        for (uint64_t i = 0; i < 30000 && status == TAMIS_OK; i++) {
            const tamis_hash hash = hash_of(filter, i);
            tamis_answer answer = TAMIS_UNKNOWN;
            tamis_status added =
                tamis_window_add(filter, &(tamis_timed_hashes){&hash, &(int64_t){1}, 1}, &answer, NULL, NULL);
            if (added == TAMIS_E_NOMEM) {
                refused++;
                assert_int_equal(look_up(filter, i), TAMIS_ABSENT);
                assert_int_equal(add_number(filter, i, 1), TAMIS_ABSENT);
            }
            assert_int_equal(look_up(filter, i), TAMIS_PRESENT);
        }
        assert_true(status == TAMIS_OK || (status == TAMIS_E_NOMEM && !filter));
        tamis_filter_free(filter);
        assert_int_equal(memory.live_blocks, 0);
        if (memory.refused == 0)
            break;
        assert_true(status == TAMIS_E_NOMEM || refused == 1);
    }
}

/* A restored window does not know when the saved one was purged, so its expired entries may be others. */
static void purged_windows_have_equal_bytes(void **state) {
    const tamis_plan_options options = day_options();
    tamis_filter *filter = create_window(&options);
    (void)state;
    unsigned differed = 0;
    for (int64_t hour = 0; hour < 400; hour++) {
        tamis_filter *restored = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        uint64_t size = 0;
        assert_int_equal(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, NULL), TAMIS_OK);
        uint8_t *image = malloc(size);
        assert_non_null(image);
        assert_int_equal(tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, image, size, NULL), TAMIS_OK);
        if (tamis_filter_decode(&restored, image, size, NULL, &err) != TAMIS_OK)
            fail_msg("%s", err.text);
        free(image);
        for (uint64_t i = 0; i < 20; i++) {
            const uint64_t number = (uint64_t)hour * 17 + i;
            assert_int_equal(add_number(filter, number, hour * HOUR),
                             add_number(restored, number, hour * HOUR));
        }
        differed += !tamis_filter_is_equal(filter, restored);
        if (hour % 3 == 0) {
            tamis_window_purge(filter);
            tamis_window_purge(restored);
            assert_true(tamis_filter_is_equal(filter, restored));
        }
        assert_int_equal(look_up(filter, (uint64_t)hour * 17), TAMIS_PRESENT);
        tamis_filter_free(restored);
    }
    assert_true(differed > 0);
    tamis_filter_free(filter);
    tamis_window_purge(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_counts_for_the_window_and_up_to_a_step_more),
        cmocka_unit_test(a_refreshed_key_stays_as_long_as_it_comes),
        cmocka_unit_test(late_keys_are_answered_by_their_own_time),
        cmocka_unit_test(lookups_answer_for_the_newest_time),
        cmocka_unit_test(a_lookup_for_a_later_time_does_not_move_the_window),
        cmocka_unit_test(old_entries_never_come_back),
        cmocka_unit_test(the_rate_is_the_computed_one),
        cmocka_unit_test(plans_out_of_range_are_refused),
        cmocka_unit_test(the_default_step_is_a_24th),
        cmocka_unit_test(what_a_window_cannot_do_is_refused),
        cmocka_unit_test(a_state_follows_the_clock),
        cmocka_unit_test(a_state_logs_a_window_by_a_session_alone),
        cmocka_unit_test(a_wrong_time_stops_the_batch_before_it),
        cmocka_unit_test(memory_stays_constant),
        cmocka_unit_test(the_expected_keys_fit_the_planned_memory),
        cmocka_unit_test(renewed_keys_fit_the_planned_memory),
        cmocka_unit_test(an_empty_window_is_small),
        cmocka_unit_test(a_memory_limit_is_kept),
        cmocka_unit_test(what_fits_over_days_fits_at_once),
        cmocka_unit_test(a_full_window_knows_the_keys_it_cannot_renew),
        cmocka_unit_test(a_file_has_all_of_a_window),
        cmocka_unit_test(an_opened_file_is_looked_up_in_place),
        cmocka_unit_test(damage_is_never_an_answer),
        cmocka_unit_test(forged_times_are_refused),
        cmocka_unit_test(a_key_without_memory_is_not_counted),
        cmocka_unit_test(purged_windows_have_equal_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
