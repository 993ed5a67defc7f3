/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */
/* The service is observed about every second, between its other functions, and after the last key. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <tamis/experimental/stream.h>

#include "stream/run/runner.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"
#include "support/threads.h"

enum { RECORDS = 500, MANY = 20000, PAUSE_MS = 10, PATIENCE_MS = 20000 };

/* A service, and what was seen of it. */
typedef struct watched {
    uint64_t pause_ms; /* time of an answer */
    int reading;       /* the end of a pipe that is the input */
    int inside;        /* functions at work */
    int at_once;       /* largest number of them */
    int keys;          /* keys answered */
    int observed;      /* keys answered when it was last observed */
    int calls;         /* of observe */
} watched;

static void enter(watched *s) {
    const int inside = __atomic_add_fetch(&s->inside, 1, __ATOMIC_SEQ_CST);
    if (inside > __atomic_load_n(&s->at_once, __ATOMIC_SEQ_CST))
        __atomic_store_n(&s->at_once, inside, __ATOMIC_SEQ_CST);
}

static void leave(watched *s) {
    __atomic_sub_fetch(&s->inside, 1, __ATOMIC_SEQ_CST);
}

static tamis_status answer(void *context, const tamis_stream_batch *batch, size_t *done, tamis_error *err) {
    watched *s = context;
    (void)err;
    enter(s);
    if (s->pause_ms > 0)
        pause_ms(s->pause_ms);
    for (size_t i = 0; i < batch->count; i++)
        batch->answers[i] = TAMIS_ABSENT;
    *done = batch->count;
    __atomic_add_fetch(&s->keys, (int)batch->count, __ATOMIC_SEQ_CST);
    leave(s);
    return TAMIS_OK;
}

static void observe(void *context) {
    watched *s = context;
    enter(s);
    pause_ms(PAUSE_MS);
    __atomic_store_n(&s->observed, __atomic_load_n(&s->keys, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&s->calls, 1, __ATOMIC_SEQ_CST);
    leave(s);
}

static void ignore_progress(void *context, const tamis_stream_stats *now) {
    (void)context;
    (void)now;
}

static tamis_status run(watched *s, const char *input, bool with_progress) {
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    const tamis__stream_buffer_sizes sizes = {.read_size = 65536, .batch_size = 4, .write_size = 64};
    const char *part = "regex:a+$"; /* slow, so that other threads have work too */
    tamis_extractor_options parts = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    parts.parts = &part;
    parts.part_count = 1;
    service.context = s;
    service.query = answer;
    options.inputs = &input;
    options.input_count = 1;
    options.stop_fd = -1;
    options.threads = test_threads;
    options.observe = observe;
    options.progress_context = s;
    if (with_progress)
        options.progress = ignore_progress;
    assert_int_equal(tamis_extractor_create(&options.extractor, &parts, &err), TAMIS_OK);
    const tamis_status status = tamis__stream_run_tuned(&service, &options, &sizes, NULL, NULL, &err);
    tamis_extractor_free(options.extractor);
    return status;
}

static void write_records(const char *path, size_t count) {
    static char bytes[64 * MANY];
    memset(bytes, 'a', sizeof bytes);
    for (size_t i = 0; i < count; i++) {
        bytes[64 * i + 61] = 'b';
        bytes[64 * i + 63] = '\n';
    }
    file_write(path, bytes, 64 * count);
}

static void never_during_a_query(void **state) {
    (void)state;
    watched s = {0};
    write_records(scratch("in"), MANY);
    assert_int_equal(run(&s, scratch("in"), true), TAMIS_OK);
    assert_int_equal(s.keys, MANY);
    assert_int_equal(s.at_once, 1);
    assert_true(s.calls > 0);
}

static void once_a_second(void **state) {
    (void)state;
    watched s = {.pause_ms = PAUSE_MS};
    write_records(scratch("in"), RECORDS);
    assert_int_equal(run(&s, scratch("in"), true), TAMIS_OK);
    assert_in_range(s.calls, 2, 20);
}

static void never_without_progress(void **state) {
    (void)state;
    watched s = {0};
    write_records(scratch("in"), RECORDS);
    assert_int_equal(run(&s, scratch("in"), false), TAMIS_OK);
    assert_int_equal(s.calls, 0);
}

static void *run_on_pipe(void *context) {
    char input[32];
    watched *s = context;
    snprintf(input, sizeof input, "/dev/fd/%d", s->reading);
    assert_int_equal(run(s, input, true), TAMIS_OK);
    return NULL;
}

static void after_the_last_key(void **state) {
    (void)state;
    watched s = {0};
    int ends[2];
    pthread_t thread;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    s.reading = ends[0];
    assert_int_equal(pthread_create(&thread, NULL, run_on_pipe, &s), 0);
    assert_int_equal(write(ends[1], "a\na\n", 4), 4);
    pause_ms(300);
    assert_int_equal(write(ends[1], "a\na\n", 4), 4);
    for (int i = 0; i < PATIENCE_MS && __atomic_load_n(&s.observed, __ATOMIC_SEQ_CST) < 4; i++)
        pause_ms(1);
    assert_int_equal(__atomic_load_n(&s.observed, __ATOMIC_SEQ_CST), 4);
    close(ends[1]);
    pthread_join(thread, NULL);
    close(ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(never_during_a_query, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(once_a_second, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(never_without_progress, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(after_the_last_key, scratch_set_up, scratch_tear_down),
    };
    test_run_with_threads(tests);
}
