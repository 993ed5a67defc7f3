/* SPDX-License-Identifier: BSD-2-Clause */
/* Services other than a dedup session: routing, marks, an early end; and inputs that are followed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "stream/run/runner.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/threads.h"

enum { PATIENCE_MS = 20000 }; /* time-out for an event that must happen, on a busy machine */

static const tamis__stream_buffer_sizes shipped = TAMIS__STREAM_BUFFER_SIZES_INIT;

/* A service that answers by the first byte: "s..." is present, and marked with its length; "e..." ends the
 * run; "!..." is an error; the answer to "0x..." is that number. */
typedef struct initials {
    bool enough;
    size_t sizes[64];
} initials;

static tamis_status query_initials(void *context, const tamis_stream_batch *batch, size_t *done,
                                   tamis_error *err) {
    initials *service = context;
    for (*done = 0; *done < batch->count; ++*done) {
        const tamis_key record = batch->keys[*done];
        const char *key = record.data;
        char initial = record.size > 0 ? key[0] : '\0';
        if (initial == '!') {
            snprintf(err->text, sizeof err->text, "key: is forbidden; leave it out");
            return TAMIS_E_INVALID;
        }
        service->enough = service->enough || initial == 'e';
        service->sizes[*done % 64] = record.size;
        batch->answers[*done] = initial == 's'   ? TAMIS_PRESENT
                                : initial == '0' ? (tamis_answer)strtoul(key, NULL, 16)
                                                 : TAMIS_ABSENT;
    }
    return TAMIS_OK;
}

static tamis_key mark_size(void *context, size_t i) {
    static char text[32];
    const initials *service = context;
    snprintf(text, sizeof text, "%zu:", service->sizes[i % 64]);
    return service->sizes[i % 64] == 0 ? (tamis_key){NULL, 0} : (tamis_key){text, strlen(text)};
}

static bool had_enough(void *context) {
    return ((initials *)context)->enough;
}

static tamis_status run(const char *input, bool marked, size_t batch, tamis_stream_stats *stats,
                        tamis_error *err) {
    initials context = {0};
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    tamis__stream_buffer_sizes tuning = {batch < 5 ? 3 : 100, 5,
                                         batch}; /* a batch is less if less of it was read */
    const char *path = scratch("in");
    file_write(path, input, strlen(input));
    service.context = &context;
    service.query = query_initials;
    service.mark = marked ? mark_size : NULL;
    service.enough = had_enough;
    options.inputs = &path;
    options.input_count = 1;
    options.output = scratch("fresh");
    options.duplicates = scratch("seen");
    return tamis__stream_run_tuned(&service, &options, &tuning, stats, NULL, err);
}

static void answers_route_records(void **state) {
    (void)state;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(run("a\nsee\n\nsaw\nb", false, 2, &stats, &err), TAMIS_OK);
    assert_true(file_is(scratch("fresh"), "a\n\nb"));
    assert_true(file_is(scratch("seen"), "see\nsaw\n"));
    assert_int_equal(stats.records, 5);
    assert_int_equal(stats.unique, 3);
    assert_int_equal(stats.duplicates, 2);
}

static void a_mark_stands_before_its_record(void **state) {
    (void)state;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    for (size_t batch = 1; batch < 5; batch++) {
        assert_int_equal(run("a\nsee\n\nsaw\nbb", true, batch, &stats, &err), TAMIS_OK);
        assert_true(file_is(scratch("fresh"), "1:a\n\n2:bb"));
        assert_true(file_is(scratch("seen"), "3:see\n3:saw\n"));
    }
    assert_int_equal(stats.bytes_out, 9 + 12);
}

static void enough_ends_the_run_well(void **state) {
    (void)state;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(run("a\ne\nnot read\n!\n", false, 1, &stats, &err), TAMIS_OK);
    assert_true(file_is(scratch("fresh"), "a\ne\n"));
    assert_int_equal(stats.records, 2);
}

/* Records after the one that ends the run were read ahead, but are not queried, even if they are bad. */
static void enough_ends_the_run_before_what_is_read_ahead(void **state) {
    (void)state;
    enum { RECORDS = 400 };
    for (size_t last = 0; last < RECORDS; last = 2 * last + 1) {
        tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
        tamis_error err = TAMIS_ERROR_INIT;
        char input[2 * RECORDS + 1] = "";
        for (size_t i = 0; i < RECORDS; i++)
            memcpy(input + 2 * i, i < last ? "a\n" : i == last ? "e\n" : "!\n", 3);
        assert_int_equal(run(input, false, 1, &stats, &err), TAMIS_OK);
        assert_int_equal(stats.records, last + 1);
        assert_int_equal(stats.bytes_in, 2 * (last + 1));
        assert_string_equal(err.text, "");
        input[2 * (last + 1)] = '\0';
        assert_true(file_is(scratch("fresh"), input));
    }
}

static void an_answer_that_is_none_ends_the_run(void **state) {
    (void)state;
    static const char *const inputs[] = {"a\ns\n0x3\nb\n", "a\ns\n0xff\nb\n"};
    static const char *const numbers[] = {"3", "255"};
    for (size_t batch = 1; batch < 6; batch++) {
        tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
        tamis_error err = TAMIS_ERROR_INIT;
        for (int i = 0; i < 2; i++) {
            char expected[200];
            snprintf(expected, sizeof expected,
                     "stream: the service answered %s, which is not an answer; have it answer TAMIS_ABSENT, "
                     "TAMIS_PRESENT "
                     "or TAMIS_UNKNOWN",
                     numbers[i]);
            assert_int_equal(run(inputs[i], false, batch, &stats, &err), TAMIS_E_INVALID);
            assert_string_equal(err.text, expected);
            assert_int_equal(stats.records, 2);
            assert_int_equal(stats.unique + stats.duplicates, 2);
        }
    }
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    /* If the service itself fails, its error is reported. */
    assert_int_equal(run("a\ns\n0x3\n!\n", false, 5, &stats, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text, "key: is forbidden; leave it out");
    assert_int_equal(stats.records, 2);
}

/* Log of the queried records, each after its reported position. A batch has one position. */
typedef struct positions {
    const char *input;
    uint64_t record;
    char text_log[200];
} positions;

static void log_source(void *context, const tamis_stream_source *source) {
    positions *noted = context;
    const char *slash = strrchr(source->input, '/');
    noted->input = slash ? slash + 1 : source->input;
    noted->record = source->first;
    assert_null(source->record_index);
}

static tamis_status query_logged(void *context, const tamis_stream_batch *batch, size_t *done,
                                 tamis_error *err) {
    positions *noted = context;
    (void)err;
    for (*done = 0; *done < batch->count; ++*done) {
        const tamis_key key = batch->keys[*done];
        size_t used = strlen(noted->text_log);
        snprintf(noted->text_log + used, sizeof noted->text_log - used, "%s %llu %.*s;", noted->input,
                 (unsigned long long)noted->record++, (int)key.size, (const char *)key.data);
        batch->answers[*done] = TAMIS_ABSENT;
    }
    noted->input = "nowhere"; /* until the next position is reported */
    return TAMIS_OK;
}

static void a_service_gets_the_source_of_its_records(void **state) {
    (void)state;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    const char *inputs[] = {scratch("one"), scratch("none"), scratch("two")};
    file_write(inputs[0], "a\nb\nc", 5);
    file_write(inputs[1], "", 0);
    file_write(inputs[2], "d\n\ne\n", 5);
    service.query = query_logged;
    service.set_source = log_source;
    options.inputs = inputs;
    options.input_count = 3;
    for (size_t batch = 1; batch < 5; batch++) {
        positions noted = {0};
        tamis__stream_buffer_sizes tuning = {3, 5, batch};
        tamis_error err = TAMIS_ERROR_INIT;
        service.context = &noted;
        assert_int_equal(tamis__stream_run_tuned(&service, &options, &tuning, NULL, NULL, &err), TAMIS_OK);
        assert_string_equal(noted.text_log, "one 1 a;one 2 b;one 3 c;two 1 d;two 2 ;two 3 e;");
    }
}

/* Counts of calls: whether a batch is queried whole or in parts, and whether its position was reported
 * first. */
typedef struct halves {
    size_t positions, batches, divided, wrong;
} halves;

static void count_source(void *context, const tamis_stream_source *source) {
    halves *h = context;
    h->wrong += h->positions++ != h->batches || source->first == 0;
}

static uint32_t halve(void *context, size_t count, uint32_t max) {
    (void)context;
    return count > 1 && max > 1 ? 2 : 1;
}

static tamis_status query_half(void *context, const tamis_stream_batch *batch, uint32_t part, size_t *done,
                               tamis_error *err) {
    (void)context;
    (void)err;
    for (size_t i = part; i < batch->count; i += batch->parts)
        batch->answers[i] = TAMIS_ABSENT;
    *done = batch->count;
    return TAMIS_OK;
}

static void finish_halves(void *context, const tamis_stream_batch *batch, size_t done, tamis_status status,
                          tamis_error *err) {
    halves *h = context;
    (void)err;
    h->wrong += batch->parts != 2;
    h->wrong += h->positions != ++h->batches || done == 0 || status != TAMIS_OK;
    h->divided++;
}

static tamis_status query_whole(void *context, const tamis_stream_batch *batch, size_t *done,
                                tamis_error *err) {
    halves *h = context;
    (void)err;
    h->wrong += h->positions != ++h->batches || !batch->hashes || batch->parts != 0;
    memset(batch->answers, TAMIS_ABSENT, batch->count);
    *done = batch->count;
    return TAMIS_OK;
}

static void parts_get_their_source_too(void **state) {
    (void)state;
    enum { RECORDS = 20000 };
    halves context = {0};
    tamis_hasher *hasher = NULL;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    const char *path = scratch("in");
    test_bytes input = {0};
    for (size_t i = 0; i < RECORDS; i++)
        bytes_add(&input, "x\n", 2);
    file_write(path, input.data, input.size);
    bytes_clear(&input);
    assert_int_equal(tamis_hasher_create(&hasher, NULL, NULL), TAMIS_OK);
    service.context = &context;
    service.query = query_whole;
    service.hasher = hasher;
    service.set_source = count_source;
    service.parts = halve;
    service.query_part = query_half;
    service.finish_parts = finish_halves;
    options.inputs = &path;
    options.input_count = 1;
    options.threads = test_threads;
    assert_int_equal(tamis_stream_run(&service, &options, &stats, NULL, NULL), TAMIS_OK);
    tamis_hasher_free(hasher);
    assert_int_equal(stats.unique, RECORDS);
    assert_int_equal(context.wrong, 0);
    assert_int_equal(context.positions, context.batches);
    assert_int_equal(context.divided > 0, test_threads > 1);
}

static void an_error_of_the_service_is_that_of_the_run(void **state) {
    (void)state;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(run("a\ns\n!\nb\n", false, 4, &stats, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text, "key: is forbidden; leave it out");
    assert_int_equal(stats.records, 2);
    assert_false(file_exists(scratch("fresh")));
}

static void a_service_must_answer(void **state) {
    (void)state;
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_stream_run(&service, &options, NULL, NULL, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text, "stream: service without query; give it the function that answers");
    service.struct_size = 0;
    service.query = query_initials;
    assert_int_equal(tamis_stream_run(&service, &options, NULL, NULL, &err), TAMIS_E_INVALID);
    assert_int_equal(tamis_stream_run(NULL, &options, NULL, NULL, &err), TAMIS_E_INVALID);
}

/* ---- following ---- */

/* A run in a thread of its own that follows one or two files and writes to a pipe. */
typedef struct follower {
    pthread_t thread;
    const char *inputs[2];
    size_t input_count;
    char output[32];
    bool header;
    int out[2], stop[2];
    tamis_status status;
    tamis_error err;
} follower;

static void *follow_main(void *context) {
    follower *f = context;
    initials answers = {0};
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    service.context = &answers;
    service.query = query_initials;
    service.enough = had_enough;
    options.inputs = f->inputs;
    options.input_count = f->input_count;
    options.output = f->output;
    options.stop_fd = f->stop[0];
    options.follow = true;
    options.header = f->header;
    f->status = tamis__stream_run_tuned(&service, &options, &shipped, NULL, NULL, &f->err);
    return NULL;
}

/* `second` may be NULL. */
static void follow_start_with(follower *f, const char *input, const char *second, bool header) {
    memset(f, 0, sizeof *f);
    f->header = header;
    f->err = (tamis_error)TAMIS_ERROR_INIT;
    f->inputs[0] = input;
    f->inputs[1] = second;
    f->input_count = second ? 2 : 1;
    if (pipe2(f->out, O_CLOEXEC) < 0 || pipe2(f->stop, O_CLOEXEC) < 0)
        abort();
    snprintf(f->output, sizeof f->output, "/dev/fd/%d", f->out[1]);
    if (pthread_create(&f->thread, NULL, follow_main, f) != 0)
        abort();
}

static void follow_start(follower *f, const char *input) {
    follow_start_with(f, input, NULL, false);
}

static void follow_end(follower *f, bool stop) {
    if (stop && write(f->stop[1], "!", 1) != 1)
        abort();
    pthread_join(f->thread, NULL);
    for (int i = 0; i < 2; i++) {
        close(f->out[i]);
        close(f->stop[i]);
    }
}

static bool receives(const follower *f, const char *text) {
    char got[256];
    size_t size = 0, expected = strlen(text);
    while (size < expected) {
        struct pollfd output = {.fd = f->out[0], .events = POLLIN};
        if (poll(&output, 1, PATIENCE_MS) <= 0)
            break;
        size += (size_t)read(f->out[0], got + size, expected - size);
    }
    if (size == expected && memcmp(got, text, expected) == 0)
        return true;
    fprintf(stderr, "received \"%.*s\" instead of \"%s\"\n", (int)size, got, text);
    return false;
}

static void append(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        abort();
    close(fd);
}

static void a_file_grows(void **state) {
    (void)state;
    const char *log = scratch("log");
    follower f;
    file_write(log, "a\npart", 6);
    follow_start(&f, log);
    assert_true(receives(&f, "a\n"));
    append(log, "ial\nb\n");
    assert_true(receives(&f, "partial\nb\n"));
    append(log, "c\nenough\n");
    assert_true(receives(&f, "c\nenough\n"));
    follow_end(&f, false);
    assert_int_equal(f.status, TAMIS_OK);
}

static int refuse_reports(int fd, const char *directory) {
    (void)fd;
    (void)directory;
    errno = ENOSPC;
    return -1;
}

/* The system reports no changes: the reader polls. */
static void a_file_grows_without_reports(void **state) {
    const struct tamis__system shipped_system = tamis__sys;
    tamis__sys.report_changes = refuse_reports;
    a_file_grows(state);
    tamis__sys = shipped_system;
}

/* Nothing is reported, as on a network file system. */
static int report_nothing(int fd, const char *directory) {
    (void)fd;
    (void)directory;
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static void a_file_grows_unreported(void **state) {
    const struct tamis__system shipped_system = tamis__sys;
    tamis__sys.report_changes = report_nothing;
    a_file_grows(state);
    tamis__sys = shipped_system;
}

/* The file of a rotation that nobody has seen is read before the present one. */
static void a_file_is_replaced_twice(void **state) {
    (void)state;
    const char *log = scratch("log");
    follower f;
    file_write(scratch("log.1"), "b\n", 2);
    const struct timespec later[2] = {{.tv_sec = 4102444800}, {.tv_sec = 4102444800}};
    assert_int_equal(utimensat(AT_FDCWD, scratch("log.1"), later, 0), 0);
    assert_int_equal(rename(scratch("log.1"), scratch("next.1")), 0);
    file_write(scratch("next"), "c\n", 2);
    file_write(log, "a\n", 2);
    follow_start(&f, log);
    assert_true(receives(&f, "a\n"));
    assert_int_equal(rename(log, scratch("log.2")), 0);
    assert_int_equal(rename(scratch("next.1"), scratch("log.1")), 0);
    assert_int_equal(rename(scratch("next"), log), 0);
    assert_true(receives(&f, "b\nc\n"));
    follow_end(&f, true);
    assert_int_equal(f.status, TAMIS_E_INTERRUPTED);
}

static void a_file_is_replaced(void **state) {
    (void)state;
    const char *log = scratch("log");
    follower f;
    file_write(log, "a\n", 2);
    follow_start(&f, log);
    assert_true(receives(&f, "a\n"));
    assert_int_equal(rename(log, scratch("log.1")), 0);
    /* Without its name for a while, the file is still followed. */
    append(scratch("log.1"), "late\n");
    assert_true(receives(&f, "late\n"));
    append(scratch("log.1"), "last");
    append(log, "new\n");
    assert_true(receives(&f, "last\nnew\n"));
    append(log, "newer\n");
    assert_true(receives(&f, "newer\n"));
    follow_end(&f, true);
    assert_int_equal(f.status, TAMIS_E_INTERRUPTED);
}

static struct tamis__system real;
static char old_log[PATH_MAX];
static int late_writes; /* asked so often who can write to the old file; records written to it then */

/* Each question finds a writer that writes once more, and the fourth one finds none. */
static int write_late(int fd) {
    char record[32];
    (void)fd;
    if (++late_writes > 3)
        return 0;
    snprintf(record, sizeof record, "late %d\n", late_writes);
    append(old_log, record);
    return 1;
}

static bool was_reported; /* atomic: a report came */

static bool note_report(int fd) {
    const bool renamed = real.clear_reports(fd);
    __atomic_store_n(&was_reported, true, __ATOMIC_RELEASE);
    return renamed;
}

/* A rotated file is read as long as there are writers, and left when they have closed it. */
static void writers_of_a_rotated_file_are_waited_for(void **state) {
    (void)state;
    const char *log = scratch("log");
    follower f;
    snprintf(old_log, sizeof old_log, "%s", scratch("log.1"));
    late_writes = 0;
    was_reported = false;
    real = tamis__sys;
    tamis__sys.has_writers = write_late;
    tamis__sys.clear_reports = note_report;
    file_write(log, "a\n", 2);
    follow_start(&f, log);
    assert_true(receives(&f, "a\n"));
    while (!__atomic_load_n(&was_reported, __ATOMIC_ACQUIRE)) {
        file_write(scratch("other"), "x", 1); /* in the same directory */
        pause_ms(1);
    }
    append(log, "b\n"); /* read after a report, so the writers are on this machine */
    assert_true(receives(&f, "b\n"));
    assert_int_equal(rename(log, old_log), 0);
    append(log, "c\n");
    assert_true(receives(&f, "late 1\nlate 2\nlate 3\nc\n"));
    follow_end(&f, true);
    tamis__sys = real;
    assert_int_equal(late_writes, 4);
    assert_int_equal(f.status, TAMIS_E_INTERRUPTED);
}

static void the_system_knows_who_can_write(void **state) {
    (void)state;
    const char *log = scratch("log");
    file_write(log, "a\n", 2);
    const int reader = open(log, O_RDONLY | O_CLOEXEC), writer = open(log, O_WRONLY | O_CLOEXEC);
    assert_true(reader >= 0 && writer >= 0);
    const int with_writer = tamis__sys.has_writers(reader);
    close(writer);
    const int without = tamis__sys.has_writers(reader);
    append(log, "b\n"); /* nothing holds a new writer up */
    close(reader);
    if (without < 0)
        skip(); /* a file system without leases */
    assert_int_equal(with_writer, 1);
    assert_int_equal(without, 0);
}

enum { BUSY_MAX = 20000 };
static int busy_records;
static char busy_log[PATH_MAX];

/* The busy file grows before each read. */
static ssize_t read_busy(int fd, void *buffer, size_t size) {
    struct stat st, busy;
    if (fstat(fd, &st) == 0 && stat(busy_log, &busy) == 0 && st.st_ino == busy.st_ino &&
        busy_records < BUSY_MAX) {
        busy_records++;
        append(busy_log, "busy\n");
    }
    return real.read(fd, buffer, size);
}

/* A file that grows as fast as it is read does not keep the others waiting. */
static void followed_files_take_turns(void **state) {
    (void)state;
    const char *log = scratch("log");
    char got[256] = "";
    follower f;
    snprintf(busy_log, sizeof busy_log, "%s", scratch("busy"));
    file_write(busy_log, "busy\n", 5);
    file_write(log, "quiet\n", 6);
    busy_records = 0;
    real = tamis__sys;
    tamis__sys.read = read_busy;
    follow_start_with(&f, busy_log, log, false);
    for (size_t size = 0; !strstr(got, "quiet\n") && size < sizeof got - 1;) {
        const ssize_t more = read(f.out[0], got + size, 1);
        assert_true(more > 0);
        size += (size_t)more;
    }
    assert_non_null(strstr(got, "quiet\n"));
    fcntl(f.out[0], F_SETPIPE_SZ, 2 * 5 * BUSY_MAX); /* the run must not wait for a reader */
    follow_end(&f, true);
    tamis__sys = real;
    assert_int_equal(f.status, TAMIS_E_INTERRUPTED);
}

static void a_file_is_made_shorter(void **state) {
    (void)state;
    const char *log = scratch("log");
    follower f;
    file_write(log, "one\ntwo\n", 8);
    follow_start(&f, log);
    assert_true(receives(&f, "one\ntwo\n"));
    file_write(log, "x\n", 2);
    assert_true(receives(&f, "x\n"));
    append(log, "y\n");
    assert_true(receives(&f, "y\n"));
    follow_end(&f, true);
    assert_int_equal(f.status, TAMIS_E_INTERRUPTED);
}

/* A rotation that copies and truncates a log lets its writer continue without a header. If there is a
 * header anyway, it does not count as a record. A new file with that name has its own header. */
static void a_file_that_is_made_shorter_has_no_header(void **state) {
    (void)state;
    const char *log = scratch("log");
    follower f;
    file_write(log, "head\none\ntwo\n", 13);
    follow_start_with(&f, log, NULL, true);
    assert_true(receives(&f, "head\none\ntwo\n"));
    file_write(log, "x\n", 2);
    assert_true(receives(&f, "x\n"));
    append(log, "y\nlonger\n");
    assert_true(receives(&f, "y\nlonger\n"));
    file_write(log, "head\nz\n", 7);
    assert_true(receives(&f, "z\n"));
    assert_int_equal(rename(log, scratch("log.1")), 0);
    append(log, "other\n");
    follow_end(&f, false);
    assert_int_equal(f.status, TAMIS_E_INVALID);
    assert_non_null(strstr(f.err.text, "/log: its header is 'other', and that of "));
}

static void a_descriptor_is_followed(void **state) {
    (void)state;
    const char *log = scratch("log");
    char name[32];
    follower f;
    file_write(log, "one\n", 4);
    int fd = open(log, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    fault_install();
    fault_arm(FAULT_SEEK, 2, EIO, false);
    follow_start(&f, name);
    assert_true(receives(&f, "one\n"));
    append(log, "two\n");
    assert_true(receives(&f, "two\n"));
    file_write(log, "3\n", 2);
    assert_true(receives(&f, "3\n"));
    assert_int_equal(truncate(log, 1), 0); /* the second seek to the beginning fails */
    follow_end(&f, false);
    fault_disarm();
    fault_remove();
    close(fd);
    assert_int_equal(f.status, TAMIS_E_IO);
    assert_non_null(strstr(f.err.text, name));
}

static void a_pipe_has_an_end(void **state) {
    (void)state;
    char name[32];
    int ends[2];
    follower f;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], "a\nb", 3), 3);
    close(ends[1]);
    follow_start(&f, name);
    follow_end(&f, false);
    close(ends[0]);
    assert_int_equal(f.status, TAMIS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_route_records, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_mark_stands_before_its_record, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(enough_ends_the_run_well, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(enough_ends_the_run_before_what_is_read_ahead, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_service_gets_the_source_of_its_records, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(parts_get_their_source_too, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(an_error_of_the_service_is_that_of_the_run, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(an_answer_that_is_none_ends_the_run, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_service_must_answer, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_file_grows, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_file_grows_without_reports, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_file_grows_unreported, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_file_is_replaced_twice, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_file_is_replaced, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(writers_of_a_rotated_file_are_waited_for, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(the_system_knows_who_can_write, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(followed_files_take_turns, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_file_is_made_shorter, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_made_shorter_has_no_header, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_descriptor_is_followed, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_pipe_has_an_end, scratch_set_up, scratch_tear_down),
    };
    test_run_with_threads(tests);
}
