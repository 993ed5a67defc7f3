/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Windows, compared with a list of the times at which each key was counted: present if it was counted within
 * the window before, absent if it was not within window and step, late if it is too old. Two filters get
 * the same keys in other batches, one of them saved and opened now and then: all answers are equal.
 */
/* ctest: timeout=900 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tamis/experimental/window.h>

#include "property/filter_model.h"
#include "support/formats.h"

static uint64_t seed;

/* ---- the oracle ---- */

/* The times at which a key was counted, without those that are too old to matter. */
typedef struct key_times {
    int64_t *time;
    size_t count, capacity;
} key_times;

typedef struct window_walk {
    tamis_filter *plain, *saved;
    tamis_plan plan;
    key_times *keys;
    uint64_t n; /* number of different keys */
    uint64_t random;
    int64_t newest;
    uint64_t absent, mistaken, counted;
} window_walk;

static int64_t step_begin(const window_walk *w, int64_t time) {
    return time - time % (int64_t)w->plan.step;
}

/* True if the key was counted at one of the times from `from` to `to`. */
static bool was_counted(const key_times *k, int64_t from, int64_t to) {
    for (size_t i = 0; i < k->count; i++)
        if (k->time[i] >= from && k->time[i] <= to)
            return true;
    return false;
}

/* Remembers a time, and forgets those before `oldest`. */
static void remember(key_times *k, int64_t time, int64_t oldest) {
    size_t left = 0;
    if (k->count == k->capacity) {
        for (size_t i = 0; i < k->count; i++)
            if (k->time[i] >= oldest)
                k->time[left++] = k->time[i];
        k->count = left;
        k->capacity = 2 * left + 2;
        k->time = realloc(k->time, k->capacity * sizeof *k->time);
        assert_non_null(k->time);
    }
    k->time[k->count++] = time;
}

static void check_answer(window_walk *w, uint64_t id, int64_t time, tamis_answer answer) {
    key_times *k = &w->keys[id];
    const int64_t window = (int64_t)w->plan.window, step = (int64_t)w->plan.step;
    if (time > w->newest)
        w->newest = time;
    if (time < w->newest - (int64_t)w->plan.lateness) {
        assert_int_equal(answer, TAMIS_LATE);
        return;
    }
    assert_int_not_equal(answer, TAMIS_LATE);
    const bool must = was_counted(k, time - window, time);
    const bool may = was_counted(k, time - window - step + 1, step_begin(w, time) + step - 1);
    if (must && answer != TAMIS_PRESENT)
        fail_msg("key %" PRIu64 " of time %" PRId64 " was forgotten", id, time);
    w->absent += !may;
    w->mistaken += !may && answer == TAMIS_PRESENT;
    if (answer == TAMIS_ABSENT || w->plan.refresh)
        remember(k, time, w->newest - window - (int64_t)w->plan.lateness - 2 * step);
    w->counted += answer == TAMIS_ABSENT;
}

/* ---- batches ---- */

enum { BATCH_MAX = 500 };

typedef struct window_batch {
    uint64_t id[BATCH_MAX];
    tamis_hash hashes[BATCH_MAX];
    int64_t times[BATCH_MAX];
    size_t count;
} window_batch;

/* The next time: mostly a little later than the newest, sometimes late, too late, or far ahead. */
static int64_t next_time(window_walk *w, int64_t newest) {
    const uint64_t step = w->plan.step, late = w->plan.lateness;
    const uint64_t dice = test_below(&w->random, 1000);
    int64_t time = newest;
    if (dice < 600)
        time += (int64_t)test_below(&w->random, step / 20 + 1);
    else if (dice < 900)
        time -= (int64_t)test_below(&w->random, late + 1);
    else if (dice < 920)
        time -= (int64_t)test_below(&w->random, 3 * late + w->plan.window);
    else if (dice < 925)
        time += (int64_t)test_below(&w->random, 3 * step);
    else if (dice < 926)
        time += (int64_t)test_below(&w->random, 3 * (w->plan.window + late));
    return time < 0 ? 0 : time;
}

static void fill_batch(window_walk *w, window_batch *b) {
    int64_t newest = w->newest;
    b->count = 1 + test_below(&w->random, BATCH_MAX);
    for (size_t i = 0; i < b->count; i++) {
        uint64_t bytes;
        b->times[i] = next_time(w, newest);
        if (b->times[i] > newest)
            newest = b->times[i];
        b->id[i] = test_below(&w->random, test_below(&w->random, 2) ? w->n : w->n / 50 + 1);
        bytes = b->id[i] ^ seed;
        assert_int_equal(tamis_hash_many(tamis_filter_hasher(w->plain), &(tamis_key){&bytes, sizeof bytes}, 1,
                                         &b->hashes[i], NULL),
                         TAMIS_OK);
    }
}

/* Adds the batch to the second filter in pieces, and compares the answers. A lookup before says what the next
 * one is. */
static void add_in_pieces(window_walk *w, const window_batch *b, const tamis_answer *answers) {
    tamis_answer got[BATCH_MAX];
    tamis_error err = TAMIS_ERROR_INIT;
    for (size_t from = 0; from < b->count;) {
        size_t piece = 1 + test_below(&w->random, b->count - from), done = 0;
        tamis_answer next = TAMIS_UNKNOWN;
        assert_int_equal(tamis_window_contains(w->saved,
                                               &(tamis_timed_hashes){b->hashes + from, b->times + from, 1},
                                               &next, NULL),
                         TAMIS_OK);
        assert_int_equal(next, answers[from]);
        if (tamis_window_add(w->saved, &(tamis_timed_hashes){b->hashes + from, b->times + from, piece},
                             got + from, &done, &err))
            fail_msg("%s", err.text);
        assert_int_equal(done, piece);
        from += piece;
    }
    assert_memory_equal(got, answers, b->count * sizeof *got);
}

static void save_and_open(window_walk *w) {
    test_bytes bytes = {NULL, 0, 0};
    encode_filter(w->saved, TAMIS_FORMAT_TAMIS, &bytes);
    tamis_filter_free(w->saved);
    assert_int_equal(tamis_filter_decode(&w->saved, bytes.data, bytes.size, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_window_newest(w->saved), tamis_window_newest(w->plain));
    assert_int_equal(tamis_window_entries(w->saved), tamis_window_entries(w->plain));
    assert_true(tamis_filter_is_equal(w->saved, w->plain) || w->counted > 0);
    bytes_clear(&bytes);
}

static void walk(tamis_plan_options options, uint64_t n, uint64_t batches) {
    window_walk w = {.n = n, .random = seed, .newest = -1};
    window_batch b;
    tamis_answer answers[BATCH_MAX];
    tamis_error err = TAMIS_ERROR_INIT;
    w.keys = calloc(n, sizeof *w.keys);
    assert_non_null(w.keys);
    w.plan = (tamis_plan)TAMIS_PLAN_INIT;
    if (tamis_plan_make(&w.plan, &options, &err) != TAMIS_OK ||
        tamis_filter_create(&w.plain, &w.plan, NULL, &err) != TAMIS_OK ||
        tamis_filter_create(&w.saved, &w.plan, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    for (uint64_t i = 0; i < batches; i++) {
        size_t done = 0;
        fill_batch(&w, &b);
        if (tamis_window_add(w.plain, &(tamis_timed_hashes){b.hashes, b.times, b.count}, answers, &done,
                             &err) != TAMIS_OK)
            fail_msg("%s", err.text);
        assert_int_equal(done, b.count);
        for (size_t k = 0; k < b.count; k++)
            check_answer(&w, b.id[k], b.times[k], answers[k]);
        add_in_pieces(&w, &b, answers);
        if (test_below(&w.random, 50) == 0)
            save_and_open(&w);
    }
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    assert_int_equal(tamis_filter_info_get(w.plain, &info, NULL), TAMIS_OK);
    assert_true(w.plan.refresh ? info.added >= w.counted : info.added == w.counted);
    const double expected = options.fpr * (double)w.absent;
    printf("# window %" PRIu64 " step %" PRIu64 " lateness %" PRIu64 "%s: %" PRIu64 " counted, %" PRIu64
           " of %" PRIu64 " absent answered present\n",
           w.plan.window, w.plan.step, w.plan.lateness, w.plan.refresh ? " refreshed" : "", w.counted,
           w.mistaken, w.absent);
    assert_true((double)w.mistaken <= expected + 5 * sqrt(expected) + 1);
    tamis_filter_free(w.plain);
    tamis_filter_free(w.saved);
    for (uint64_t i = 0; i < n; i++)
        free(w.keys[i].time);
    free(w.keys);
}

static tamis_plan_options window_options(uint64_t window, uint64_t step, uint64_t lateness, bool refresh) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    options.kind = TAMIS_KIND_WINDOW;
    options.fpr = 1e-9;
    options.window = window;
    options.step = step;
    options.lateness = lateness;
    options.refresh = refresh;
    return options;
}

static void answers_are_those_of_the_oracle(void **state) {
    const uint64_t batches = model_scale(3000, 60);
    (void)state;
    for (int refresh = 0; refresh < 2; refresh++) {
        walk(window_options(24000, 1000, 0, refresh), 3000, batches);
        walk(window_options(24000, 1000, 0, refresh), 400000, batches);
        walk(window_options(1800, 300, 600, refresh), 2000, batches);
        walk(window_options(1000, 1000, 4000, refresh), 3000, batches);
        walk(window_options(100000, 50, 100, refresh), 3000, batches);
        walk(window_options(1, 1, 0, refresh), 100, batches);
        walk(window_options(1000, 7, 28, refresh), 100, batches);
    }
}

/* With a rate that can be measured, in each width of slots. */
static void the_rate_holds_for_the_whole_window(void **state) {
    const uint64_t batches = model_scale(3000, 60);
    (void)state;
    for (int i = 0; i < 3; i++) {
        const double rates[] = {1e-3, 1e-5, 1e-7};
        tamis_plan_options options = window_options(24000, 1000, 1000, false);
        options.fpr = rates[i];
        walk(options, 1000000, batches);
    }
}

/* A key that comes in each step, in any order, and others in the same lines. */
static void keys_with_many_entries(void **state) {
    const uint64_t batches = model_scale(3000, 60);
    (void)state;
    walk(window_options(100, 100, 400, true), 3, batches);
    walk(window_options(100, 100, 400, false), 3, batches);
    tamis_plan_options options = window_options(100, 100, 400, true);
    options.expect = 20;
    walk(options, 40, batches);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_oracle),
        cmocka_unit_test(the_rate_holds_for_the_whole_window),
        cmocka_unit_test(keys_with_many_entries),
    };
    seed = model_seed(24);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
