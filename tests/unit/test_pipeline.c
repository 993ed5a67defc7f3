/* SPDX-License-Identifier: BSD-2-Clause */
/* Items through the four stages of a pipeline: their order, the threads that work on them, and what an
 * aborted run leaves. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#include "base/system.h"
#include "base/thread.h"
#include "stream/run/pipeline.h"
#include "support/fault.h"
#include "support/scratch.h"

enum { MANY = 7, ITEMS = 64, PARTS = 4 };
static const uint32_t counts[] = {1, 2, 4, MANY};
enum { COUNTS = sizeof counts / sizeof *counts };
static const uint64_t NEVER = UINT64_MAX, PATIENCE_NS = UINT64_C(20000000000);

/* Progress of an item. */
typedef enum progress { FREE, FILLED, KEYED, DIVIDED, QUERIED } progress;

/* Data of the stages, which run concurrently. The stages do not assert: only the main thread may end a
 * test. */
typedef struct work {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t caller;
    progress items[ITEMS];
    uint64_t number[ITEMS]; /* number of the batch in each item */
    unsigned parts[ITEMS];  /* parts still to be queried, one bit each */
    uint64_t read, divided; /* counts of the run */
    uint64_t queried, written;
    uint64_t to_read;                  /* number of batches to read */
    uint64_t query_stops, write_stops; /* batch at which that stage ends the run */
    bool meets; /* true if keys of two items, and parts of an item, wait for each other */
    size_t keying, keyed_at_once;
    size_t parting, parts_at_once;
    size_t querying;
    size_t wrong; /* number of errors */
} work;

static void expect(work *w, bool holds, const char *what) {
    if (!holds && w->wrong++ == 0)
        fprintf(stderr, "%s\n", what);
}

static bool read_one(void *context, size_t item) {
    work *w = context;
    pthread_mutex_lock(&w->lock);
    const bool more = w->read < w->to_read;
    expect(w, pthread_equal(pthread_self(), w->caller), "another thread reads");
    expect(w, item < ITEMS && w->items[item] == FREE, "a lot is read that is in use");
    if (more) {
        w->number[item] = w->read++;
        w->items[item] = FILLED;
    }
    pthread_mutex_unlock(&w->lock);
    return more;
}

/* Counts one more thread in a stage. `meets`: waits until another one comes. */
static void come_in(work *w, bool meets, size_t *at_it, size_t *at_once) {
    const uint64_t deadline = tamis__now_ns() + PATIENCE_NS;
    ++*at_it;
    *at_once = *at_it > *at_once ? *at_it : *at_once;
    pthread_cond_broadcast(&w->changed);
    while (meets && *at_once < 2 && tamis__cond_wait(&w->changed, &w->lock, deadline))
        ;
}

static void key_one(void *context, size_t item) {
    work *w = context;
    pthread_mutex_lock(&w->lock);
    const uint64_t number = w->number[item];
    expect(w, w->items[item] == FILLED, "a lot is keyed that was not read, or twice");
    come_in(w, w->meets && number < 2, &w->keying, &w->keyed_at_once);
    pthread_mutex_unlock(&w->lock);
    for (uint64_t i = 0; i < number % 5; i++)
        sched_yield(); /* lets later items be ready first */
    pthread_mutex_lock(&w->lock);
    w->items[item] = KEYED;
    w->keying--;
    pthread_mutex_unlock(&w->lock);
}

static size_t divide_one(void *context, size_t item) {
    work *w = context;
    pthread_mutex_lock(&w->lock);
    const size_t parts = 1 + w->number[item] % PARTS;
    expect(w, w->items[item] == KEYED, "a lot is divided that was not keyed, or twice");
    expect(w, w->number[item] == w->divided++ && w->number[item] == w->queried,
           "lots are divided out of order");
    w->items[item] = DIVIDED;
    w->parts[item] = parts > 1 ? (1u << parts) - 1 : 0;
    pthread_mutex_unlock(&w->lock);
    return parts;
}

static void query_one_part(void *context, size_t item, size_t part) {
    work *w = context;
    pthread_mutex_lock(&w->lock);
    expect(w, w->items[item] == DIVIDED, "a part is asked of a lot that was not divided");
    expect(w, w->parts[item] >> part & 1, "a part is asked that is none, or twice");
    come_in(w, w->meets, &w->parting, &w->parts_at_once);
    w->parts[item] &= ~(1u << part);
    pthread_mutex_unlock(&w->lock);
    sched_yield();
    pthread_mutex_lock(&w->lock);
    w->parting--;
    pthread_mutex_unlock(&w->lock);
}

static bool query_one(void *context, size_t item) {
    work *w = context;
    pthread_mutex_lock(&w->lock);
    const uint64_t number = w->number[item];
    expect(w, w->items[item] == DIVIDED, "a lot is asked that was not divided, or twice");
    expect(w, w->parts[item] == 0 && w->parting == 0, "a lot is asked before its parts are");
    expect(w, number == w->queried++, "lots are asked out of order");
    expect(w, w->querying++ == 0, "two lots are asked at once");
    pthread_mutex_unlock(&w->lock);
    sched_yield();
    pthread_mutex_lock(&w->lock);
    w->items[item] = QUERIED;
    w->querying--;
    pthread_mutex_unlock(&w->lock);
    return number != w->query_stops;
}

static bool write_one(void *context, size_t item) {
    work *w = context;
    pthread_mutex_lock(&w->lock);
    const uint64_t number = w->number[item];
    expect(w, pthread_equal(pthread_self(), w->caller), "another thread writes");
    expect(w, w->items[item] == QUERIED, "a lot is written that was not asked, or twice");
    expect(w, number == w->written++, "lots are written out of order");
    w->items[item] = FREE;
    pthread_mutex_unlock(&w->lock);
    return number != w->write_stops;
}

static void set_up(work *w) {
    *w = (work){.caller = pthread_self(), .query_stops = NEVER, .write_stops = NEVER};
    pthread_mutex_init(&w->lock, NULL);
    tamis__cond_init(&w->changed);
}

static void tear_down(work *w) {
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}

static tamis__pipeline_stages stages_of(work *w) {
    return (tamis__pipeline_stages){.context = w,
                                    .read = read_one,
                                    .extract = key_one,
                                    .divide = divide_one,
                                    .query_part = query_one_part,
                                    .query = query_one,
                                    .write = write_one};
}

static tamis__pipeline *make_timed(work *w, uint32_t threads, tamis__pipeline_waits *waits) {
    tamis__pipeline_stages stages = stages_of(w);
    const tamis_allocator memory = tamis__allocator_resolve(NULL);
    tamis__pipeline *pipeline = NULL;
    set_up(w);
    assert_in_range(tamis__pipeline_item_count(threads), 1, ITEMS);
    stages.waits = waits;
    assert_int_equal(tamis__pipeline_create(&pipeline, &stages, threads, &memory, NULL), TAMIS_OK);
    return pipeline;
}

static tamis__pipeline *make(work *w, uint32_t threads) {
    return make_timed(w, threads, NULL);
}

/* Runs `items` batches through an empty ring. At the end no thread is working, no item is divided but not
 * queried, and dropped items are not touched again. */
static void run(work *w, tamis__pipeline *pipeline, uint64_t items) {
    w->read = w->divided = w->queried = w->written = 0;
    w->to_read = items;
    for (size_t i = 0; i < ITEMS; i++)
        w->items[i] = FREE;
    tamis__pipeline_run(pipeline);
    assert_int_equal(w->wrong, 0);
    assert_int_equal(w->keying, 0);
    assert_int_equal(w->parting, 0);
    assert_int_equal(w->querying, 0);
    assert_int_equal(w->divided, w->queried);
}

static void check_all_through(const work *w) {
    assert_int_equal(w->read, w->to_read);
    assert_int_equal(w->queried, w->to_read);
    assert_int_equal(w->written, w->to_read);
}

static void no_item_is_lost(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNTS; i++) {
        work w;
        tamis__pipeline *pipeline = make(&w, counts[i]);
        run(&w, pipeline, test_scale(20000, 2000, 5000));
        check_all_through(&w);
        assert_in_range(tamis__pipeline_threads(pipeline), counts[i] > 1 ? 2 : 1, counts[i]);
        tamis__pipeline_free(pipeline);
        tear_down(&w);
    }
}

static void a_pipeline_runs_again(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNTS; i++) {
        work w;
        tamis__pipeline *pipeline = make(&w, counts[i]);
        for (uint64_t items = 0; items < 40; items++) {
            run(&w, pipeline, items);
            check_all_through(&w);
        }
        tamis__pipeline_free(pipeline);
        tear_down(&w);
    }
}

static void extraction_and_parts_run_in_parallel(void **state) {
    (void)state;
    for (size_t i = 1; i < COUNTS; i++) {
        work w;
        tamis__pipeline *pipeline = make(&w, counts[i]);
        w.meets = true;
        run(&w, pipeline, 10);
        check_all_through(&w);
        assert_true(w.keyed_at_once >= 2);
        assert_true(w.parts_at_once >= 2);
        tamis__pipeline_free(pipeline);
        tear_down(&w);
    }
}

/* If a query ends the run, its batch is still written, and no later one is queried. */
static void a_query_can_end_a_run(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNTS; i++) {
        work w;
        tamis__pipeline *pipeline = make(&w, counts[i]);
        for (uint64_t stop = 0; stop < 60; stop += 1 + stop / 4) {
            w.query_stops = stop;
            run(&w, pipeline, 100);
            assert_int_equal(w.queried, stop + 1);
            assert_int_equal(w.written, stop + 1);
            assert_in_range(w.read, stop + 1, stop + tamis__pipeline_item_count(counts[i]));
        }
        w.query_stops = NEVER;
        run(&w, pipeline, 100);
        check_all_through(&w);
        tamis__pipeline_free(pipeline);
        tear_down(&w);
    }
}

static void a_write_can_end_a_run(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNTS; i++) {
        const uint64_t items = tamis__pipeline_item_count(counts[i]);
        work w;
        tamis__pipeline *pipeline = make(&w, counts[i]);
        for (uint64_t stop = 0; stop < 60; stop += 1 + stop / 4) {
            w.write_stops = stop;
            run(&w, pipeline, 100);
            assert_int_equal(w.written, stop + 1);
            assert_in_range(w.queried, stop + 1, stop + items);
            assert_in_range(w.read, w.queried, stop + items);
        }
        w.write_stops = NEVER;
        run(&w, pipeline, 100);
        check_all_through(&w);
        tamis__pipeline_free(pipeline);
        tear_down(&w);
    }
}

static void threads_are_refused(void **state) {
    (void)state;
    for (uint64_t nth = 1; nth < MANY; nth++) {
        work w;
        fault_install();
        fault_arm(FAULT_THREAD, nth, EAGAIN, true);
        tamis__pipeline *pipeline = make(&w, MANY);
        run(&w, pipeline, 2000);
        check_all_through(&w);
        /* The number of requested threads varies. */
        const uint64_t refused = fault_fired();
        assert_in_range(refused, nth == 1, 1);
        assert_in_range(tamis__pipeline_threads(pipeline), refused ? nth : 2, nth);
        run(&w, pipeline, 200);
        check_all_through(&w);
        tamis__pipeline_free(pipeline);
        fault_disarm();
        fault_remove();
        tear_down(&w);
    }
}

static void memory_is_refused(void **state) {
    (void)state;
    fault_memory memory = {.fail_at = 1};
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    const tamis__pipeline_stages stages = stages_of(NULL);
    tamis__pipeline *pipeline = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis__pipeline_create(&pipeline, &stages, 4, &allocator, &err), TAMIS_E_NOMEM);
    assert_null(pipeline);
    assert_true(err.text[0] != '\0');
    assert_int_equal(tamis__pipeline_create(&pipeline, &stages, 4, &allocator, NULL), TAMIS_OK);
    tamis__pipeline_free(pipeline); /* without a run */
    assert_int_equal(memory.live_blocks, 0);
    tamis__pipeline_free(NULL);
}

static void waiting_is_counted(void **state) {
    (void)state;
    tamis__pipeline_waits waits = {0, 0};
    work w;
    tamis__pipeline *pipeline = make_timed(&w, 2, &waits);
    w.meets = true; /* makes a second thread necessary */
    run(&w, pipeline, 100);
    tamis__pipeline_free(pipeline); /* that thread is idle by now */
    assert_true(waits.others > 0);
    tear_down(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_item_is_lost),       cmocka_unit_test(a_pipeline_runs_again),
        cmocka_unit_test(a_query_can_end_a_run), cmocka_unit_test(a_write_can_end_a_run),
        cmocka_unit_test(threads_are_refused),   cmocka_unit_test(extraction_and_parts_run_in_parallel),
        cmocka_unit_test(memory_is_refused),     cmocka_unit_test(waiting_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
