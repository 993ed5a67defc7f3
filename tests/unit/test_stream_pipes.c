/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */
/* Slow inputs and outputs: pipes, FIFOs, a request to stop, a reader that has gone. */
#include <errno.h>
#include <fcntl.h>
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "stream/run/runner.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"
#include "support/threads.h"

enum { PATIENCE_MS = 20000 }; /* time-out for an event that must happen, on a busy machine */

/* ---- a run in a thread of its own ---- */

typedef struct live {
    pthread_t thread;
    tamis_stream_options options;
    tamis__stream_buffer_sizes tuning;
    const char *input;
    char names[3][32]; /* names of the descriptors at the thread's ends */
    int in;            /* the test's ends of the pipes */
    int out;
    int again;
    int stop;
    int ends[4]; /* the thread's ends */
    tamis_status status;
    tamis_stream_stats stats;
    tamis_error err;
} live;

static void *live_main(void *context) {
    live *l = context;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    l->status = tamis__stream_dedup_tuned(session, &l->options, &l->tuning, &l->stats, NULL, &l->err);
    session_drop(session);
    return NULL;
}

static void pipe_or_abort(int *reading, int *writing) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        abort();
    *reading = ends[0];
    *writing = ends[1];
}

/* Makes pipes for the input, both outputs and the request to stop. A test may set other names before it
 * starts the run. */
static void live_init(live *l) {
    memset(l, 0, sizeof *l);
    l->options = (tamis_stream_options)TAMIS_STREAM_OPTIONS_INIT;
    l->options.threads = test_threads;
    l->stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    l->err = (tamis_error)TAMIS_ERROR_INIT;
    l->tuning = (tamis__stream_buffer_sizes)TAMIS__STREAM_BUFFER_SIZES_INIT;
    pipe_or_abort(&l->ends[0], &l->in);
    pipe_or_abort(&l->out, &l->ends[1]);
    pipe_or_abort(&l->again, &l->ends[2]);
    pipe_or_abort(&l->ends[3], &l->stop);
    for (int i = 0; i < 3; i++)
        snprintf(l->names[i], sizeof l->names[i], "/dev/fd/%d", l->ends[i]);
    l->input = l->names[0];
    l->options.inputs = &l->input;
    l->options.input_count = 1;
    l->options.output = l->names[1];
    l->options.duplicates = l->names[2];
    l->options.stop_fd = l->ends[3];
}

static void live_start(live *l) {
    if (pthread_create(&l->thread, NULL, live_main, l) != 0)
        abort();
}

static void close_end(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Closes the input and waits for the end of the run. */
static void live_join(live *l) {
    close_end(&l->in);
    pthread_join(l->thread, NULL);
}

static void live_release(live *l) {
    close_end(&l->in);
    close_end(&l->out);
    close_end(&l->again);
    close_end(&l->stop);
    for (int i = 0; i < 4; i++)
        close_end(&l->ends[i]);
}

static void send(int fd, const char *text) {
    size_t size = strlen(text);
    if (write(fd, text, size) != (ssize_t)size)
        abort();
}

/* True if the next bytes of the pipe are exactly these. */
static bool receives(int fd, const char *text) {
    char got[256];
    size_t expected = strlen(text);
    size_t size = 0;
    while (size < expected) {
        struct pollfd input = {.fd = fd, .events = POLLIN};
        if (poll(&input, 1, PATIENCE_MS) <= 0)
            break;
        ssize_t more = read(fd, got + size, expected - size);
        if (more <= 0)
            break;
        size += (size_t)more;
    }
    bool same = size == expected && memcmp(got, text, expected) == 0;
    if (!same)
        fprintf(stderr, "received \"%.*s\" instead of \"%s\"\n", (int)size, got, text);
    return same;
}

static bool is_empty(int fd) {
    struct pollfd input = {.fd = fd, .events = POLLIN};
    return poll(&input, 1, 0) == 0;
}

/* Reads everything that is left in a pipe after its writer is closed. */
static void drain(int fd, test_bytes *into) {
    unsigned char buffer[4096];
    ssize_t size;
    while ((size = read(fd, buffer, sizeof buffer)) > 0)
        bytes_add(into, buffer, (size_t)size);
}

/* ---- fixtures ---- */

static size_t descriptors;

static int set_up(void **state) {
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    scratch_make();
    descriptors = fault_open_descriptors();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    int wrong = fault_open_descriptors() != descriptors || scratch_hidden();
    scratch_remove();
    return wrong;
}

/* ---- records are written as soon as they arrive (test_stream_latency.c measures how soon) ---- */

static void a_record_leaves_before_the_next_arrives(void **state) {
    (void)state;
    live l;
    live_init(&l);
    live_start(&l);
    for (int i = 0; i < 50; i++) {
        char text[32];
        snprintf(text, sizeof text, "record %d\n", i);
        send(l.in, text);
        assert_true(receives(l.out, text));
        send(l.in, text);
        assert_true(receives(l.again, text));
        assert_true(is_empty(l.out));
    }
    live_join(&l);
    assert_int_equal(l.status, TAMIS_OK);
    assert_int_equal(l.stats.records, 100);
    assert_int_equal(l.stats.bytes_total, 0);
    live_release(&l);
}

static void a_record_in_pieces(void **state) {
    (void)state;
    live l;
    live_init(&l);
    l.tuning = (tamis__stream_buffer_sizes){4, 4, 2};
    live_start(&l);
    send(l.in, "first\nsec");
    assert_true(receives(l.out, "first\n"));
    assert_true(is_empty(l.out));
    send(l.in, "ond\nlast");
    assert_true(receives(l.out, "second\n"));
    assert_true(is_empty(l.out));
    live_join(&l);
    close_end(&l.ends[1]);
    test_bytes rest = {0};
    drain(l.out, &rest);
    assert_int_equal(rest.size, 4);
    assert_memory_equal(rest.data, "last", 4);
    bytes_clear(&rest);
    assert_int_equal(l.status, TAMIS_OK);
    live_release(&l);
}

/* The input never blocks, so the run is never idle and does not flush: /dev/zero gives empty records
 * without end, all but one of them duplicates. */
static void a_record_among_endless_others(void **state) {
    (void)state;
    live l;
    live_init(&l);
    const char *inputs[] = {scratch("in"), "/dev/zero"};
    file_write(scratch("in"), "fresh", 6);
    l.options.terminator = 0;
    l.options.inputs = inputs;
    l.options.input_count = 2;
    l.options.duplicates = NULL;
    live_start(&l);
    char got[7] = {1, 1, 1, 1, 1, 1, 1}; /* bytes that differ from the expected ones */
    for (size_t size = 0; size < sizeof got;) {
        struct pollfd output = {.fd = l.out, .events = POLLIN};
        if (poll(&output, 1, PATIENCE_MS) <= 0)
            break;
        size += (size_t)read(l.out, got + size, sizeof got - size);
    }
    send(l.stop, "!");
    live_join(&l);
    assert_memory_equal(got, "fresh\0", 7);
    assert_int_equal(l.status, TAMIS_E_INTERRUPTED);
    assert_int_equal(l.stats.unique, 2);
    live_release(&l);
}

static void answered_records_are_written_before_an_error(void **state) {
    (void)state;
    live l;
    live_init(&l);
    file_write(scratch("in"), "a\nb\na\ntoo long\n", 15);
    l.input = scratch("in");
    l.options.max_record = 3;
    l.tuning.batch_size = 1;
    live_start(&l);
    live_join(&l);
    assert_int_equal(l.status, TAMIS_E_TOO_LONG);
    assert_int_equal(l.stats.bytes_out, 6);
    assert_true(receives(l.out, "a\nb\n"));
    assert_true(receives(l.again, "a\n"));
    live_release(&l);
}

static void a_nonblocking_input(void **state) {
    (void)state;
    live l;
    live_init(&l);
    assert_int_equal(fcntl(l.ends[0], F_SETFL, O_NONBLOCK), 0);
    live_start(&l);
    send(l.in, "a\n");
    assert_true(receives(l.out, "a\n"));
    send(l.in, "b\n");
    assert_true(receives(l.out, "b\n"));
    live_join(&l);
    assert_int_equal(l.status, TAMIS_OK);
    live_release(&l);
}

/* ---- progress ---- */

static void count_call(void *context, const tamis_stream_stats *now) {
    int *calls = context;
    if (now->records == 1)
        __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED);
}

static void progress_while_waiting(void **state) {
    (void)state;
    live l;
    int calls = 0;
    live_init(&l);
    l.options.progress = count_call;
    l.options.progress_context = &calls;
    uint64_t begin = tamis__now_ns();
    live_start(&l);
    send(l.in, "a\n");
    while (__atomic_load_n(&calls, __ATOMIC_RELAXED) < 3 &&
           tamis__now_ns() - begin < (uint64_t)PATIENCE_MS * 1000000)
        usleep(5000);
    uint64_t elapsed = tamis__now_ns() - begin;
    live_join(&l);
    assert_true(calls >= 3);
    assert_true(elapsed >= UINT64_C(280000000));
    live_release(&l);
}

/* ---- stop ---- */

static void stop_while_waiting_for_input(void **state) {
    (void)state;
    live l;
    live_init(&l);
    l.options.duplicates = scratch("again");
    live_start(&l);
    send(l.in, "a\nb\na\npart");
    assert_true(receives(l.out, "a\nb\n"));
    send(l.stop, "!");
    pthread_join(l.thread, NULL);
    assert_int_equal(l.status, TAMIS_E_INTERRUPTED);
    assert_non_null(strstr(l.err.text, "stopped on request after 3 records"));
    assert_int_equal(l.stats.records, 3);
    assert_int_equal(l.stats.bytes_in, 6);
    assert_true(is_empty(l.out));
    assert_int_equal(scratch_entries(), 0);
    live_release(&l);
}

static void stop_in_a_regular_file(void **state) {
    (void)state;
    live l;
    live_init(&l);
    file_write(scratch("in"), "a\nb\nc\n", 6);
    file_write(scratch("once"), "old", 3);
    l.input = scratch("in");
    l.options.output = scratch("once");
    close_end(&l.stop); /* a closed pipe is readable too */
    live_start(&l);
    live_join(&l);
    assert_int_equal(l.status, TAMIS_E_INTERRUPTED);
    assert_int_equal(l.stats.records, 0);
    assert_true(file_is(scratch("once"), "old"));
    live_release(&l);
}

static void a_stop_fd_that_is_not_open(void **state) {
    (void)state;
    live l;
    live_init(&l);
    close_end(&l.ends[3]);
    live_start(&l);
    pthread_join(l.thread, NULL);
    assert_int_equal(l.status, TAMIS_E_INVALID);
    live_release(&l);
}

static int stop_from_handler;

static void on_signal(int number) {
    (void)number;
    ssize_t ignored = write(stop_from_handler, "!", 1);
    (void)ignored;
}

/* The reader of a blocking pipe sleeps, so the signal comes while the run is in write(). */
static void stop_while_the_reader_sleeps(void **state) {
    (void)state;
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    live l;
    live_init(&l);
    test_bytes input = {0};
    for (int i = 0; i < 40000; i++) {
        char text[16];
        bytes_add(&input, text, (size_t)snprintf(text, sizeof text, "%d\n", i));
    }
    file_write(scratch("in"), input.data, input.size);
    l.input = scratch("in");
    stop_from_handler = l.stop;
    sigaction(SIGUSR1, &action, &before);
    live_start(&l);
    struct pollfd arrived = {.fd = l.out, .events = POLLIN};
    assert_int_equal(poll(&arrived, 1, PATIENCE_MS), 1);
    usleep(50000); /* the run fills the pipe and blocks */
    /* Repeated until the run ends: a signal just before it blocks interrupts nothing. */
    struct timespec until;
    do {
        pthread_kill(l.thread, SIGUSR1);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
    } while (pthread_timedjoin_np(l.thread, NULL, &until) != 0);
    sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(l.status, TAMIS_E_INTERRUPTED);
    /* the bytes in the pipe, without a gap */
    close_end(&l.ends[1]);
    test_bytes got = {0};
    drain(l.out, &got);
    assert_in_range(got.size, 4096, 65536);
    assert_int_equal(l.stats.bytes_out, got.size);
    assert_false(l.stats.complete);
    assert_memory_equal(got.data, input.data, got.size);
    bytes_clear(&got);
    bytes_clear(&input);
    live_release(&l);
}

/* ---- guarantees of a stopped run ---- */

/* Stops a durable run with the records "a b a" and "part", after a call of `before` (may be NULL). */
static void wait_complete(live *l, const char *arrives, void (*before)(live *l)) {
    l->options.durable = true;
    live_start(l);
    send(l->in, "a\nb\na\npart");
    if (arrives)
        assert_true(receives(l->out, arrives));
    else
        while (is_empty(l->out)) /* the output arrives and stays in the pipe */
            usleep(1000);
    if (before)
        before(l);
    send(l->stop, "!");
    pthread_join(l->thread, NULL);
    assert_int_equal(l->status, TAMIS_E_INTERRUPTED);
    assert_int_equal(l->stats.records, 3);
}

static void read_again(live *l) {
    assert_true(receives(l->again, "a\n"));
}

static void close_out(live *l) {
    read_again(l);
    close_end(&l->ends[1]); /* the test's copy of the write end, so that readers see the end */
    close_end(&l->out);
}

/* Call before the thread of the run begins, which uses the replaced functions. */
static void fail_every(fault_call call, int error_number) {
    fault_install();
    fault_arm(call, 1, error_number, true);
}

static void complete_when_read(void **state) {
    (void)state;
    live l;
    live_init(&l);
    wait_complete(&l, "a\nb\n", read_again);
    assert_true(l.stats.complete);
    live_release(&l);
}

static void not_complete_while_unread(void **state) {
    (void)state;
    live l;
    live_init(&l);
    wait_complete(&l, NULL, read_again); /* the pipe has the records, its reader has stopped */
    assert_false(l.stats.complete);
    live_release(&l);
    live_init(&l);
    wait_complete(&l, "a\nb\n", NULL); /* the reader of the duplicates has stopped */
    assert_false(l.stats.complete);
    live_release(&l);
    live_init(&l);
    fail_every(FAULT_UNREAD, EINVAL);
    wait_complete(&l, "a\nb\n", read_again);
    fault_remove();
    assert_false(l.stats.complete);
    live_release(&l);
}

static void not_complete_without_a_reader(void **state) {
    (void)state;
    live l;
    live_init(&l);
    wait_complete(&l, "a\nb\n", close_out);
    assert_false(l.stats.complete);
    live_release(&l);
}

static void not_complete_with_a_temporary_file(void **state) {
    (void)state;
    live l;
    live_init(&l);
    l.options.duplicates = scratch("again");
    wait_complete(&l, "a\nb\n", NULL);
    assert_false(l.stats.complete);
    live_release(&l);
}

static void complete_when_synced(void **state) {
    (void)state;
    for (int broken = 0; broken < 2; broken++) {
        char name[32];
        live l;
        live_init(&l);
        int fd = open(scratch("again"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        snprintf(name, sizeof name, "/dev/fd/%d", fd);
        l.options.duplicates = name;
        if (broken)
            fail_every(FAULT_SYNC, EIO);
        wait_complete(&l, "a\nb\n", NULL);
        if (broken)
            fault_remove();
        assert_int_equal(l.stats.complete, !broken);
        assert_int_equal(l.err.sys_errno, broken ? EIO : 0);
        assert_true(file_is(scratch("again"), "a\n"));
        close(fd);
        live_release(&l);
    }
}

/* ---- slow outputs ---- */

static void a_nonblocking_output(void **state) {
    (void)state;
    live l;
    live_init(&l);
    assert_int_equal(fcntl(l.ends[1], F_SETFL, O_NONBLOCK), 0);
    test_bytes input = {0};
    uint64_t records = test_scale(200000, 20000, 40000);
    for (uint64_t i = 0; i < records; i++) {
        char text[32];
        bytes_add(&input, text, (size_t)snprintf(text, sizeof text, "%llu\n", (unsigned long long)i));
    }
    file_write(scratch("in"), input.data, input.size);
    l.input = scratch("in");
    live_start(&l);
    test_bytes output = {0};
    unsigned char piece[5000];
    while (output.size < input.size) {
        ssize_t size = read(l.out, piece, sizeof piece);
        assert_true(size > 0);
        bytes_add(&output, piece, (size_t)size);
    }
    live_join(&l);
    assert_int_equal(l.status, TAMIS_OK);
    assert_true(bytes_check("output", &output, &input));
    assert_int_equal(l.stats.bytes_out, input.size);
    bytes_clear(&input);
    bytes_clear(&output);
    live_release(&l);
}

static void the_reader_has_gone(void **state) {
    (void)state;
    live l;
    live_init(&l);
    l.options.duplicates = scratch("again");
    close_end(&l.out);
    live_start(&l);
    send(l.in, "a\na\n");
    pthread_join(l.thread, NULL);
    assert_int_equal(l.status, TAMIS_E_PIPE);
    assert_int_equal(l.err.sys_errno, EPIPE);
    assert_int_equal(l.stats.records, 2);
    assert_int_equal(scratch_entries(), 0);
    live_release(&l);
}

static void a_fifo_as_output(void **state) {
    (void)state;
    live l;
    live_init(&l);
    l.options.output = scratch("fifo");
    assert_int_equal(mkfifo(scratch("fifo"), 0666), 0);
    live_start(&l);
    send(l.in, "a\nb\na\n");
    usleep(50000); /* the run waits for the reader */
    int fd = open(scratch("fifo"), O_RDONLY | O_CLOEXEC);
    assert_true(receives(fd, "a\nb\n"));
    live_join(&l);
    assert_int_equal(l.status, TAMIS_OK);
    close(fd);
    struct stat st;
    assert_int_equal(stat(scratch("fifo"), &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    live_release(&l);
}

static void stop_while_a_fifo_has_no_reader(void **state) {
    (void)state;
    live l;
    live_init(&l);
    l.options.output = scratch("fifo");
    assert_int_equal(mkfifo(scratch("fifo"), 0666), 0);
    live_start(&l);
    usleep(30000);
    send(l.stop, "!");
    pthread_join(l.thread, NULL);
    assert_int_equal(l.status, TAMIS_E_INTERRUPTED);
    live_release(&l);
}

static void a_fifo_as_input(void **state) {
    (void)state;
    live l;
    live_init(&l);
    l.input = scratch("fifo");
    assert_int_equal(mkfifo(scratch("fifo"), 0666), 0);
    live_start(&l);
    usleep(50000); /* the run waits for a writer: no writer yet is not the end */
    int fd = open(scratch("fifo"), O_WRONLY | O_CLOEXEC);
    send(fd, "a\n");
    assert_true(receives(l.out, "a\n"));
    send(fd, "a\nb\n");
    assert_true(receives(l.out, "b\n"));
    close(fd);
    pthread_join(l.thread, NULL);
    assert_int_equal(l.status, TAMIS_OK);
    assert_int_equal(l.stats.records, 3);
    live_release(&l);
}

static void a_fifo_is_not_opened_early(void **state) {
    (void)state;
    live l;
    live_init(&l);
    const char *inputs[] = {scratch("fifo"), scratch("typo")};
    assert_int_equal(mkfifo(scratch("fifo"), 0666), 0);
    l.options.inputs = inputs;
    l.options.input_count = 2;
    live_start(&l);
    pthread_join(l.thread, NULL);
    assert_int_equal(l.status, TAMIS_E_IO);
    assert_non_null(strstr(l.err.text, "typo"));
    /* with the same FIFO on both sides, the run would wait for itself */
    l.options.input_count = 1;
    l.options.output = scratch("fifo");
    live_start(&l);
    pthread_join(l.thread, NULL);
    assert_int_equal(l.status, TAMIS_E_INVALID);
    live_release(&l);
}

/* ---- standard input and output, in a child process ---- */

/* Runs "-" to "-" in a child process; in or out -1: closed. Returns minus the run's status. */
static int run_standard(int in, int out) {
    pid_t child = fork();
    if (child == 0) {
        if (in < 0)
            close(0);
        else if (dup2(in, 0) < 0)
            _exit(100);
        if (out < 0)
            close(1);
        else if (dup2(out, 1) < 0)
            _exit(100);
        tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
        options.threads = test_threads;
        options.output = "-";
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
        tamis_status status = tamis_stream_dedup(session, &options, NULL, NULL, &err);
        session_drop(session);
        _exit(-(int)status);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

static void standard_input_and_output(void **state) {
    (void)state;
    file_write(scratch("in"), "a\nb\na\n", 6);
    file_write(scratch("out"), "", 0);
    int in = open(scratch("in"), O_RDWR | O_CLOEXEC);
    int out = open(scratch("out"), O_RDWR | O_CLOEXEC);
    int directory = open(scratch("."), O_RDONLY | O_CLOEXEC);
    assert_int_equal(run_standard(in, out), 0);
    assert_true(file_is(scratch("out"), "a\nb\n"));
    assert_int_equal(run_standard(in, in), -TAMIS_E_INVALID);
    assert_int_equal(run_standard(directory, out), -TAMIS_E_IO);
    assert_int_equal(run_standard(-1, out), -TAMIS_E_IO);
    assert_int_equal(run_standard(in, -1), -TAMIS_E_IO);
    close(in);
    close(out);
    close(directory);
}

/* ---- many inputs ---- */

enum { MANY = 3000 };

static void many_inputs_use_few_descriptors(void **state) {
    (void)state;
    char(*names)[64] = calloc(MANY, sizeof *names);
    const char **inputs = calloc(MANY, sizeof *inputs);
    assert_non_null(names);
    assert_non_null(inputs);
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "in%d", i);
        char text[16];
        file_write(scratch(names[i]), text, (size_t)snprintf(text, sizeof text, "%d\n", i % 1000));
        snprintf(names[i], sizeof names[i], "%s", scratch(names[i]));
        inputs[i] = names[i];
    }
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    struct rlimit few = {descriptors + 12, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    options.inputs = inputs;
    options.input_count = MANY;
    options.output = scratch("once");
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    tamis_status status = tamis_stream_dedup(session, &options, &stats, NULL, NULL);
    session_drop(session);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(status, TAMIS_OK);
    assert_int_equal(stats.records, MANY);
    assert_int_equal(stats.unique, 1000);
    assert_int_equal(stats.bytes_in, stats.bytes_total);
    free(names);
    free(inputs);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_record_leaves_before_the_next_arrives),
        CASE(a_record_in_pieces),
        CASE(a_record_among_endless_others),
        CASE(answered_records_are_written_before_an_error),
        CASE(a_nonblocking_input),
        CASE(progress_while_waiting),
        CASE(stop_while_waiting_for_input),
        CASE(stop_in_a_regular_file),
        CASE(a_stop_fd_that_is_not_open),
        CASE(stop_while_the_reader_sleeps),
        CASE(complete_when_read),
        CASE(not_complete_while_unread),
        CASE(not_complete_without_a_reader),
        CASE(not_complete_with_a_temporary_file),
        CASE(complete_when_synced),
        CASE(a_nonblocking_output),
        CASE(the_reader_has_gone),
        CASE(a_fifo_as_output),
        CASE(stop_while_a_fifo_has_no_reader),
        CASE(a_fifo_as_input),
        CASE(a_fifo_is_not_opened_early),
        CASE(standard_input_and_output),
        CASE(many_inputs_use_few_descriptors),
    };
    test_run_with_threads(tests);
}
