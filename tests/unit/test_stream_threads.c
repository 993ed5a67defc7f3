/* SPDX-License-Identifier: BSD-2-Clause */
/* A run on several threads, compared with one on a single thread. Outputs, counts, statistics of each
 * input, errors and their messages are the same, for any records and any end of the run. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system.h"
#include "base/thread.h"
#include "stream/run/pipeline.h"
#include "stream/run/runner.h"
#include "support/fault.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"

enum { INPUTS = 3, LOG_SIZE = 4000 };

/* Input and options of a run. */
typedef struct scenario {
    const char *name;
    const char *parts[2]; /* parts of the key; NULL: none */
    void (*write_record)(test_bytes *input, uint64_t *seed);
    const char *first; /* text of each input in front of its records */
    uint64_t expect;   /* keys of the filter; 0: it grows */
    tamis_on_full on_full;
    tamis_stream_policy missing, malformed;
    tamis_stream_marking marking;
    uint64_t max_record;
    bool header, zero, compressed, cut;
} scenario;

/* ---- records ---- */

static void add_text(test_bytes *to, const char *text) {
    bytes_add(to, text, strlen(text));
}

static void add_number(test_bytes *to, const char *format, uint64_t number) {
    char text[200];
    snprintf(text, sizeof text, format, (unsigned long long)number);
    add_text(to, text);
}

static void a_line(test_bytes *to, uint64_t *seed) {
    const uint64_t number = test_below(seed, 900);
    add_number(to, number % 7 ? "%llu" : "%0120llu", number);
}

static void a_row(test_bytes *to, uint64_t *seed) {
    const uint64_t kind = test_below(seed, 40);
    add_number(to, kind == 0 ? "only one" : "%llu,", test_below(seed, 900));
    if (kind > 0)
        add_number(to, kind < 9 ? "\"a \"\"%llu\"\"\n, b\"" : "x%llu", test_below(seed, 900));
}

static void a_text(test_bytes *to, uint64_t *seed) {
    const uint64_t kind = test_below(seed, 40);
    add_number(to,
               kind == 0   ? "{\"id\": %llu"
               : kind == 1 ? "[%llu]"
               : kind < 8  ? "{\"id\": \"\\u0041%llu\", \"x\": [1, {\"id\": 2}]}"
                           : "{\"x\": {}, \"id\": %llu}",
               test_below(seed, 900));
}

static void a_log_line(test_bytes *to, uint64_t *seed) {
    const uint64_t kind = test_below(seed, 40);
    add_number(to, kind == 0 ? "nothing %llu" : "user=%llu ", test_below(seed, 900));
    add_number(to, kind % 2 ? "ip=%llu GET /" : "POST", test_below(seed, 3));
}

static const scenario scenarios[] = {
    {.name = "lines", .write_record = a_line},
    {.name = "records of NUL", .write_record = a_line, .zero = true},
    {.name = "folded", .parts = {"bytes:2-"}, .write_record = a_line},
    {.name = "CSV", .parts = {"csv:key"}, .write_record = a_row, .first = "n,key"},
    {.name = "CSV by number",
     .parts = {"csv:1", "csv:2"},
     .write_record = a_row,
     .header = true,
     .first = "n"},
    {.name = "CSV drops",
     .parts = {"csv:2"},
     .write_record = a_row,
     .missing = TAMIS_STREAM_DROP,
     .malformed = TAMIS_STREAM_DROP},
    {.name = "CSV fails", .parts = {"csv:2"}, .write_record = a_row, .missing = TAMIS_STREAM_FAIL},
    {.name = "JSON",
     .parts = {"json:/id"},
     .write_record = a_text,
     .malformed = TAMIS_STREAM_PASS,
     .first = "\xEF\xBB\xBF{}"},
    {.name = "JSON marked",
     .parts = {"json:/id"},
     .write_record = a_text,
     .malformed = TAMIS_STREAM_DROP,
     .marking = TAMIS_STREAM_MEMBER},
    {.name = "JSON fails", .parts = {"json:/id"}, .write_record = a_text, .malformed = TAMIS_STREAM_FAIL},
    {.name = "regex", .parts = {"regex:user=(\\d+) (ip)?"}, .write_record = a_log_line},
    {.name = "regex marked",
     .parts = {"regex:(?<=user=)\\d+"},
     .write_record = a_log_line,
     .marking = TAMIS_STREAM_COLUMN},
    {.name = "full", .write_record = a_line, .expect = 300},
    {.name = "full passes", .write_record = a_line, .expect = 300, .on_full = TAMIS_ON_FULL_PASS},
    {.name = "too long", .write_record = a_line, .max_record = 119},
    {.name = "packed", .write_record = a_line, .compressed = true},
    {.name = "packed and cut", .write_record = a_line, .compressed = true, .cut = true},
};

/* ---- inputs ---- */

static void compress_bytes(const char *path) {
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    options.inputs = &path;
    options.input_count = 1;
    options.output = options.duplicates = NULL;
    char compressed[300];
    snprintf(compressed, sizeof compressed, "%s.gz", path);
    options.output = compressed;
    assert_int_equal(tamis_stream_dedup(session, &options, NULL, NULL, NULL), TAMIS_OK);
    session_drop(session);
    assert_int_equal(rename(compressed, path), 0);
}

static void write_input(const scenario *s, const char *path, uint64_t records, uint64_t *seed) {
    const char end = s->zero ? '\0' : '\n';
    test_bytes input = {0};
    if (s->first) {
        add_text(&input, s->first);
        bytes_add(&input, &end, 1);
    }
    for (uint64_t i = 0; i < records; i++) {
        s->write_record(&input, seed);
        if (i + 1 < records)
            bytes_add(&input, &end, 1);
    }
    file_write(path, input.size ? (const char *)input.data : "", input.size);
    bytes_clear(&input);
    if (s->compressed)
        compress_bytes(path);
    if (s->cut) {
        test_bytes whole = {0};
        file_read(path, &whole);
        file_write(path, whole.data, whole.size * 2 / 3);
        bytes_clear(&whole);
    }
}

/* ---- runs ---- */

typedef struct outcome {
    tamis_status status;
    tamis_stream_stats stats;
    tamis_error err, malformed;
    test_bytes unique, duplicates;
    char text_log[LOG_SIZE]; /* statistics of each input */
    size_t divided;          /* number of batches queried in parts */
} outcome;

static void note_input(void *context, size_t index, const tamis_stream_stats *of_it) {
    outcome *o = context;
    const size_t used = strlen(o->text_log);
    snprintf(o->text_log + used, sizeof o->text_log - used, "%zu: %llu %llu %llu %llu %llu %llu %llu\n",
             index, (unsigned long long)of_it->records, (unsigned long long)of_it->unique,
             (unsigned long long)of_it->duplicates, (unsigned long long)of_it->unknown,
             (unsigned long long)of_it->missing, (unsigned long long)of_it->malformed,
             (unsigned long long)of_it->bytes_in);
}

static tamis_extractor *make_extractor(const scenario *s) {
    tamis_extractor_options how = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_extractor *extractor = NULL;
    how.parts = s->parts;
    how.part_count = s->parts[1] ? 2 : 1;
    how.ignore_case = how.trim = strcmp(s->name, "folded") == 0;
    if (s->parts[0])
        assert_int_equal(tamis_extractor_create(&extractor, &how, NULL), TAMIS_OK);
    return extractor;
}

static void run(const scenario *s, const tamis__stream_buffer_sizes *tuning, uint32_t threads, outcome *o) {
    const char *const inputs[INPUTS] = {scratch("one"), scratch("two"), scratch("three")};
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    *o = (outcome){.stats = TAMIS_STREAM_STATS_INIT, .err = TAMIS_ERROR_INIT, .malformed = TAMIS_ERROR_INIT};
    tamis_dedup *session = session_make(s->expect, s->on_full);
    options.inputs = inputs;
    options.input_count = INPUTS;
    options.output = scratch("fresh");
    options.duplicates = s->marking ? NULL : scratch("seen");
    options.terminator = s->zero ? 0 : '\n';
    options.max_record = s->max_record;
    options.extractor = make_extractor(s);
    options.header = s->header;
    options.missing = s->missing;
    options.malformed = s->malformed;
    options.marking = s->marking;
    options.first_malformed = &o->malformed;
    options.input_end = note_input;
    options.input_end_context = o;
    options.threads = threads;
    o->status = session_run(session, &options, tuning, &o->stats, &o->divided, &o->err);
    tamis_extractor_free(options.extractor);
    session_drop(session);
    if (file_exists(options.output))
        file_read(options.output, &o->unique);
    if (options.duplicates && file_exists(options.duplicates))
        file_read(options.duplicates, &o->duplicates);
    unlink(options.output);
    unlink(scratch("seen"));
    assert_null(scratch_hidden());
}

static void outcome_clear(outcome *o) {
    bytes_clear(&o->unique);
    bytes_clear(&o->duplicates);
}

static bool is_same(const outcome *got, const outcome *expected) {
    return got->status == expected->status && strcmp(got->err.text, expected->err.text) == 0 &&
           strcmp(got->malformed.text, expected->malformed.text) == 0 &&
           stats_check(&got->stats, &expected->stats) && got->stats.complete == expected->stats.complete &&
           strcmp(got->text_log, expected->text_log) == 0 &&
           bytes_check("output", &got->unique, &expected->unique) &&
           bytes_check("duplicates", &got->duplicates, &expected->duplicates);
}

/* True if batches must be queried in parts: large batches, and a table that has parts, which one for few
 * keys has not. */
static bool is_divided(const scenario *s, const tamis__stream_buffer_sizes *tuning, const outcome *o) {
    return o->status == TAMIS_OK && tuning->batch_size > 1000 && s->expect == 0;
}

static void compare(const scenario *s, const tamis__stream_buffer_sizes *tuning) {
    static const uint32_t threads[] = {2, 4, 7};
    outcome expected;
    run(s, tuning, 1, &expected);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        outcome got;
        run(s, tuning, threads[i], &got);
        if (!is_same(&got, &expected)) {
            fprintf(stderr, "%s, %u threads, buffers %zu, %zu, %zu: status %d %s\n%sinstead of %d %s\n%s",
                    s->name, (unsigned)threads[i], tuning->read_size, tuning->write_size, tuning->batch_size,
                    got.status, got.err.text, got.text_log, expected.status, expected.err.text,
                    expected.text_log);
            fail();
        }
        assert_in_range(got.stats.threads, 1, threads[i]);
        assert_true(got.divided > 0 || !is_divided(s, tuning, &got));
        outcome_clear(&got);
    }
    outcome_clear(&expected);
}

static void every_kind_of_record(void **state) {
    (void)state;
    static const tamis__stream_buffer_sizes tunings[] = {
        {1, 1, 1}, {7, 5, 3}, {1000, 300, 16}, TAMIS__STREAM_BUFFER_SIZES_INIT};
    uint64_t seed = test_seed(1);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        write_input(&scenarios[i], scratch("one"), test_scale(2000, 1100, 1100), &seed);
        write_input(&scenarios[i], scratch("two"), 0, &seed);
        write_input(&scenarios[i], scratch("three"), test_scale(1000, 200, 300), &seed);
        for (size_t j = 0; j < sizeof tunings / sizeof *tunings; j++)
            compare(&scenarios[i], &tunings[j]);
    }
}

/* Size hints that a service gets. */
typedef struct forecast {
    size_t count;
    uint64_t text_log[LOG_SIZE];
} forecast;

static void note_expected(void *context, uint64_t more) {
    forecast *f = context;
    if (f->count < LOG_SIZE)
        f->text_log[f->count] = more;
    f->count++;
}

static tamis_status answer_absent(void *context, const tamis_stream_batch *batch, size_t *done,
                                  tamis_error *err) {
    (void)context;
    (void)err;
    memset(batch->answers, TAMIS_ABSENT, batch->count);
    *done = batch->count;
    return TAMIS_OK;
}

/* The size of a growing table depends on its size hints, and its false positives depend on its size. So
 * the hints must depend only on the batches, not on how far other threads have read ahead. */
static void size_hints_are_equal_for_any_threads(void **state) {
    (void)state;
    static const uint32_t threads[] = {1, 2, 4, 7};
    static const tamis__stream_buffer_sizes tunings[] = {{7, 5, 3}, {1000, 300, 16}, {5000, 300, 100}};
    static const scenario plain = {.write_record = a_line},
                          compressed = {.write_record = a_line, .compressed = true};
    const char *const inputs[] = {scratch("one"), scratch("two")};
    uint64_t seed = test_seed(5);
    static forecast expected, got;
    write_input(&plain, inputs[0], 2000, &seed);
    write_input(&compressed, inputs[1], 2000, &seed);
    for (size_t i = 0; i < 12; i++) {
        tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
        tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
        got.count = 0;
        service.context = &got;
        service.query = answer_absent;
        service.expect = note_expected;
        options.inputs = inputs;
        options.input_count = 2;
        options.threads = threads[i % 4];
        assert_int_equal(tamis__stream_run_tuned(&service, &options, &tunings[i / 4], NULL, NULL, NULL),
                         TAMIS_OK);
        if (i % 4 == 0)
            expected = got;
        assert_int_equal(got.count, expected.count);
        assert_memory_equal(got.text_log, expected.text_log, got.count * sizeof *got.text_log);
        assert_in_range(got.count, 2, LOG_SIZE);
    }
}

/* ---- refusals of the system ---- */

static void write_lines(uint64_t records) {
    static const scenario lines = {.write_record = a_line};
    uint64_t seed = 3;
    write_input(&lines, scratch("one"), records, &seed);
    write_input(&lines, scratch("two"), 10, &seed);
    write_input(&lines, scratch("three"), 0, &seed);
}

static void threads_are_refused(void **state) {
    (void)state;
    static const scenario lines = {.name = "lines", .write_record = a_line};
    static const tamis__stream_buffer_sizes tuning = {1000, 300, 16};
    outcome expected;
    write_lines(3000);
    run(&lines, &tuning, 1, &expected);
    for (uint64_t nth = 1; nth < 3; nth++) {
        outcome got;
        fault_install();
        fault_arm(FAULT_THREAD, nth, EAGAIN, true);
        run(&lines, &tuning, 4, &got);
        const uint64_t refused = fault_fired();
        fault_disarm();
        fault_remove();
        assert_true(is_same(&got, &expected));
        assert_true(nth > 1 || refused == 1); /* a refused thread is not requested again */
        assert_in_range(got.stats.threads, refused ? nth : 2, nth);
        outcome_clear(&got);
    }
    outcome_clear(&expected);
}

/* The same for each write that fails. Batches that are further ahead by then do not show. */
static void an_output_fails(void **state) {
    (void)state;
    static const uint32_t threads[] = {1, 2, 4, 7};
    static const scenario lines = {.name = "lines", .write_record = a_line};
    static const tamis__stream_buffer_sizes tuning = {1000, 300, 16};
    write_lines(1500);
    for (uint64_t nth = 1; nth < 200; nth += nth) {
        outcome expected = {.status = TAMIS_OK};
        for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
            outcome got;
            fault_install();
            fault_arm(FAULT_WRITE, nth, ENOSPC, true);
            run(&lines, &tuning, threads[i], &got);
            const bool failed = fault_fired() > 0;
            fault_disarm();
            fault_remove();
            assert_int_equal(got.status, failed ? TAMIS_E_IO : TAMIS_OK);
            assert_true(failed || nth > 16);
            assert_int_equal(got.unique.size, failed ? 0 : got.stats.unique ? got.unique.size : 1);
            if (i == 0) {
                expected = got;
                continue;
            }
            assert_true(is_same(&got, &expected));
            outcome_clear(&got);
        }
        outcome_clear(&expected);
    }
}

/* Without memory for several pipeline items, the run uses one. Without memory for one, it fails. */
static void memory_is_refused(void **state) {
    (void)state;
    const char *const path = scratch("one");
    write_lines(500);
    size_t alone = 0, failed = 0;
    for (uint64_t n = 1;; n++) {
        fault_memory memory = {.fail_at = n};
        const tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
        tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
        options.inputs = &path;
        options.input_count = 1;
        options.allocator = &allocator;
        options.threads = 4;
        const tamis_status status = tamis_stream_dedup(session, &options, &stats, NULL, &err);
        session_drop(session);
        assert_true(status == TAMIS_OK ? stats.records == 500 : status == TAMIS_E_NOMEM);
        assert_int_equal(memory.live_blocks, 0);
        assert_true(memory.refused == 0 || stats.threads <= 1);
        alone += status == TAMIS_OK && memory.refused > 0;
        failed += status != TAMIS_OK;
        if (memory.refused == 0)
            break;
    }
    assert_true(alone > 0 && failed > 0);
}

/* ---- memory is bounded ---- */

enum { LONG = 20 << 20 };

/* Records so long that reading ahead without a bound would take half a gigabyte. */
static void long_records_are_not_read_ahead(void **state) {
    (void)state;
    enum { RECORDS = 20 };
    const char *const path = scratch("long");
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    for (off_t i = 1; i <= RECORDS; i++)
        assert_int_equal(pwrite(fd, "\n", 1, i * LONG - 1), 1);
    close(fd);
    fault_memory memory = {0};
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    options.inputs = &path;
    options.input_count = 1;
    options.allocator = &allocator;
    options.threads = 7;
    assert_int_equal(tamis_stream_dedup(session, &options, &stats, NULL, NULL), TAMIS_OK);
    session_drop(session);
    assert_int_equal(stats.records, RECORDS);
    assert_int_equal(stats.unique, 1);
    assert_true(memory.peak_bytes < (size_t)9 * LONG);
    assert_int_equal(memory.live_blocks, 0);
}

/* ---- a large header ---- */

enum { WIDE = 25 << 20 };

static struct tamis__system real;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t at_end;
static size_t end_reads;

/* Lets no read go beyond the header. */
static ssize_t read_and_note(int fd, void *buffer, size_t size) {
    const off_t pos = lseek(fd, 0, SEEK_CUR);
    if (pos < WIDE && size > (size_t)(WIDE - pos))
        size = (size_t)(WIDE - pos);
    const ssize_t got = real.read(fd, buffer, size);
    if (got == 0) {
        pthread_mutex_lock(&lock);
        end_reads++;
        pthread_cond_signal(&at_end);
        pthread_mutex_unlock(&lock);
    }
    return got;
}

/* Answers only when the second input is at its end. */
static tamis_status answer_late(void *context, const tamis_stream_batch *batch, size_t *done,
                                tamis_error *err) {
    const uint64_t deadline = tamis__now_ns() + UINT64_C(20000000000);
    (void)context;
    (void)err;
    pthread_mutex_lock(&lock);
    while (end_reads < 2 && tamis__cond_wait(&at_end, &lock, deadline))
        ;
    pthread_mutex_unlock(&lock);
    memset(batch->answers, TAMIS_ABSENT, batch->count);
    *done = batch->count;
    return TAMIS_OK;
}

static void write_wide(const char *path, const char *record, size_t records) {
    test_bytes input = {0};
    char *header = malloc(WIDE);
    assert_non_null(header);
    memset(header, 'h', WIDE);
    header[WIDE - 1] = '\n';
    bytes_add(&input, header, WIDE);
    for (size_t i = 0; i < records; i++)
        add_text(&input, record);
    file_write(path, input.data, input.size);
    bytes_clear(&input);
    free(header);
}

/* The header of the second input is read into a large buffer. No batch is a view of that buffer when the
 * header is used. The batches in use are views of other buffers, and the following records go into another
 * one. */
static void a_large_header_while_all_batches_are_out(void **state) {
    (void)state;
    enum { READ = 64 };
    static const char record[] = "sixty bytes: 012345678901234567890123456789012345678901234\n";
    const size_t first = tamis__pipeline_item_count(2) - 1;
    const char *const inputs[] = {scratch("one"), scratch("two")};
    const tamis__stream_buffer_sizes tuning = {READ, READ, 1};
    fault_memory memory = {0};
    const tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    write_wide(inputs[0], record, first);
    write_wide(inputs[1], "the last one", 1);
    service.query = answer_late;
    options.inputs = inputs;
    options.input_count = 2;
    options.header = true;
    options.output = scratch("fresh");
    options.allocator = &allocator;
    options.threads = 2;
    end_reads = 0;
    tamis__cond_init(&at_end);
    real = tamis__sys;
    tamis__sys.read = read_and_note;
    const tamis_status status = tamis__stream_run_tuned(&service, &options, &tuning, &stats, NULL, NULL);
    tamis__sys = real;
    assert_int_equal(status, TAMIS_OK);
    assert_int_equal(stats.unique, first + 1);
    assert_int_equal(stats.bytes_out, WIDE + first * (sizeof record - 1) + strlen("the last one"));
    assert_true(end_reads >= 2);
    assert_int_equal(memory.live_blocks, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_kind_of_record, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(size_hints_are_equal_for_any_threads, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(threads_are_refused, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(an_output_fails, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(memory_is_refused, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(long_records_are_not_read_ahead, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_large_header_while_all_batches_are_out, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
