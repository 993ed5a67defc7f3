/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time that a record takes from pipe to pipe, if records arrive one by one at a steady pace. Three faults
 * would show:
 * - a run that holds a record back until the next one arrives needs a step of the slow pace;
 * - a run that writes by a timer needs half of the timer's period at both paces;
 * - a run that collects records as long as they keep arriving is slow at the fast pace.
 *
 * ctest: serial
 * ctest: long
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"
#include "support/threads.h"

enum { RECORDS_MAX = 300, ATTEMPTS = 6 };
static const uint64_t allowed = UINT64_C(10000000); /* ns */

typedef struct pace {
    size_t records;
    uint64_t step; /* ns between two records */
} pace;

/* ---- a run in a thread of its own ---- */

typedef struct paced_run {
    pthread_t thread;
    int theirs[2], in, out; /* the run's ends of the pipes; the test's ends */
    tamis_status status;
    uint64_t sent[RECORDS_MAX], elapsed[RECORDS_MAX];
} paced_run;

static void *paced_main(void *context) {
    paced_run *run = context;
    char names[2][32];
    const char *input = names[0];
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    for (int i = 0; i < 2; i++)
        snprintf(names[i], sizeof names[i], "/dev/fd/%d", run->theirs[i]);
    options.inputs = &input;
    options.input_count = 1;
    options.output = names[1];
    options.threads = test_threads;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    run->status = tamis_stream_dedup(session, &options, NULL, NULL, NULL);
    session_drop(session);
    return NULL;
}

static void begin_run(paced_run *run) {
    int input[2], output[2];
    if (pipe(input) < 0 || pipe(output) < 0)
        abort();
    run->theirs[0] = input[0];
    run->in = input[1];
    run->out = output[0];
    run->theirs[1] = output[1];
    if (pthread_create(&run->thread, NULL, paced_main, run) != 0)
        abort();
}

/* ---- sending and receiving ---- */

enum { RECORD_SIZE = 8 };

static void send_record(paced_run *run, size_t number) {
    char text[RECORD_SIZE + 1];
    snprintf(text, sizeof text, "%07zu\n", number);
    run->sent[number] = tamis__now_ns();
    if (write(run->in, text, RECORD_SIZE) != RECORD_SIZE)
        abort();
}

/* Receives until `due`; if that has passed, receives what is there. */
static void receive_until(paced_run *run, size_t *bytes, uint64_t due) {
    for (;;) {
        const uint64_t now = tamis__now_ns(), left = due > now ? due - now : 0;
        const struct timespec wait = {0, (long)left};
        struct pollfd output = {.fd = run->out, .events = POLLIN};
        char got[RECORD_SIZE * RECORDS_MAX];
        if (ppoll(&output, 1, &wait, NULL) > 0) {
            const size_t whole = *bytes / RECORD_SIZE;
            const ssize_t size = read(run->out, got, sizeof got);
            const uint64_t came = tamis__now_ns();
            *bytes += size > 0 ? (size_t)size : 0;
            for (size_t i = whole; i < *bytes / RECORD_SIZE; i++)
                run->elapsed[i] = came - run->sent[i];
        }
        if (left == 0)
            return;
    }
}

/* Ends the run. Records that are received only now count as received now. */
static void end_run(paced_run *run, size_t *bytes) {
    close(run->in);
    pthread_join(run->thread, NULL);
    receive_until(run, bytes, 0);
    close(run->out);
    close(run->theirs[0]);
    close(run->theirs[1]);
}

static int compare_times(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Returns the median of the times from writing to reading. */
static uint64_t median_at(const pace *pos) {
    static paced_run run;
    size_t bytes = 0;
    begin_run(&run);
    const uint64_t begun = tamis__now_ns();
    for (size_t i = 0; i < pos->records; i++) {
        send_record(&run, i);
        receive_until(&run, &bytes, begun + (i + 1) * pos->step);
    }
    end_run(&run, &bytes);
    assert_int_equal(run.status, TAMIS_OK);
    assert_int_equal(bytes, RECORD_SIZE * pos->records);
    qsort(run.elapsed, pos->records, sizeof run.elapsed[0], compare_times);
    return run.elapsed[pos->records / 2];
}

/* Takes the best of several attempts: other work of the machine only adds to the time. */
static void assert_prompt(const pace *pos) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < ATTEMPTS && best > allowed; i++) {
        const uint64_t median = median_at(pos);
        best = median < best ? median : best;
    }
    printf("%zu records, one each %.0f ms: half take no more than %.3f ms\n", pos->records,
           (double)pos->step / 1e6, (double)best / 1e6);
    assert_true(best <= allowed);
}

static void a_thousand_a_second(void **state) {
    (void)state;
    assert_prompt(&(pace){RECORDS_MAX, UINT64_C(1000000)});
}

static void forty_a_second(void **state) {
    (void)state;
    assert_prompt(&(pace){20, UINT64_C(25000000)});
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_a_second),
        cmocka_unit_test(forty_a_second),
    };
    test_run_with_threads(tests);
}
