/* SPDX-License-Identifier: BSD-2-Clause */
/* The profile of a run's time. System calls are slowed down to see which ones count as writing. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include <tamis/experimental/stream.h>

#include "base/system.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"
#include "support/threads.h"

enum { PAUSE_MS = 2 };

static struct tamis__system real;
static uint64_t paused; /* number of pauses */
static tamis_error err;

static ssize_t slow_write(int fd, const void *buffer, size_t size) {
    pause_ms(PAUSE_MS);
    paused++;
    return real.write(fd, buffer, size);
}

static int slow_sync(int fd) {
    pause_ms(PAUSE_MS);
    paused++;
    return real.sync(fd);
}

static int set_up(void **state) {
    (void)state;
    scratch_make();
    err = (tamis_error)TAMIS_ERROR_INIT;
    paused = 0;
    real = tamis__sys;
    tamis__sys.write = slow_write;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tamis__sys = real;
    scratch_remove();
    return 0;
}

static tamis_status run(tamis_stream_options *options, const char *input, tamis_stream_profile *profile) {
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    options->inputs = &input;
    options->input_count = 1;
    options->threads = test_threads;
    options->profile = profile;
    const tamis_status status = tamis_stream_dedup(session, options, NULL, NULL, &err);
    session_drop(session);
    return status;
}

static void check_writing(const tamis_stream_profile *profile) {
    assert_true(profile->write >= paused * PAUSE_MS * UINT64_C(1000000));
    assert_true(profile->wall >= profile->write);
}

static void writing_takes_its_time(void **state) {
    (void)state;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_stream_profile profile = TAMIS_STREAM_PROFILE_INIT;
    file_write(scratch("in"), "a\nb\na\n", 6);
    options.output = scratch("once");
    options.duplicates = scratch("again");
    assert_int_equal(run(&options, scratch("in"), &profile), TAMIS_OK);
    assert_int_equal(paused, 2);
    check_writing(&profile);
    assert_int_equal(profile.struct_size, sizeof profile);
}

/* A compressed output is written at its end, and then synced. */
static void the_end_of_compression_counts_as_writing(void **state) {
    (void)state;
    char output[32];
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_stream_profile profile = TAMIS_STREAM_PROFILE_INIT;
    tamis__sys.sync = slow_sync;
    file_write(scratch("in"), "a\nb\na\n", 6);
    const int out = open(scratch("once"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(out >= 0);
    snprintf(output, sizeof output, "/dev/fd/%d", out);
    options.output = output;
    options.compression = TAMIS_COMPRESSION_GZIP;
    options.durable = true;
    assert_int_equal(run(&options, scratch("in"), &profile), TAMIS_OK);
    close(out);
    assert_int_equal(paused, 2);
    check_writing(&profile);
}

/* Called while the run waits for input, after it has flushed. */
static void end_input(void *context, const tamis_stream_stats *now) {
    int *writer = context;
    if (now->records < 3 || *writer < 0)
        return;
    assert_int_equal(close(*writer), 0);
    *writer = -1;
}

static void flushing_while_waiting_takes_time_too(void **state) {
    (void)state;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_stream_profile profile = TAMIS_STREAM_PROFILE_INIT;
    char input[32], output[32];
    int in[2], out = open(scratch("once"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(out >= 0);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(write(in[1], "a\nb\na\n", 6), 6);
    snprintf(input, sizeof input, "/dev/fd/%d", in[0]);
    snprintf(output, sizeof output, "/dev/fd/%d", out);
    options.output = output;
    options.compression = TAMIS_COMPRESSION_GZIP;
    options.progress = end_input;
    options.progress_context = &in[1];
    assert_int_equal(run(&options, input, &profile), TAMIS_OK);
    close(in[0]);
    close(out);
    assert_int_equal(paused, 2);
    check_writing(&profile);
    assert_true(profile.input > 0);
    assert_true(profile.wall >= profile.write + profile.input);
}

static void a_struct_has_its_size(void **state) {
    (void)state;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_stream_profile profile = {.struct_size = 0};
    file_write(scratch("in"), "a\n", 2);
    options.output = scratch("once");
    assert_int_equal(run(&options, scratch("in"), &profile), TAMIS_E_INVALID);
    assert_string_equal(err.text,
                        "stream: profile without struct_size; start from TAMIS_STREAM_PROFILE_INIT");
    assert_false(file_exists(scratch("once")));
    profile = (tamis_stream_profile){.struct_size = offsetof(tamis_stream_profile, wall), .wall = 77};
    assert_int_equal(run(&options, scratch("in"), &profile), TAMIS_OK);
    assert_int_equal(profile.struct_size, offsetof(tamis_stream_profile, wall));
    check_writing(&(tamis_stream_profile){.write = profile.write, .wall = UINT64_MAX});
    assert_int_equal(profile.wall, 77);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(writing_takes_its_time),
        CASE(the_end_of_compression_counts_as_writing),
        CASE(flushing_while_waiting_takes_time_too),
        CASE(a_struct_has_its_size),
    };
    test_run_with_threads(tests);
}
