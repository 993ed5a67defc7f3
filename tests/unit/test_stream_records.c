/* SPDX-License-Identifier: BSD-2-Clause */
/* Outputs of a run, compared with an oracle, with boundaries of the buffers at every position. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stream/run/runner.h"
#include "support/scratch.h"
#include "support/stream_oracle.h"
#include "support/threads.h"

enum { INPUTS_MAX = 4 };

/* Runs the inputs as files and compares both outputs and the stats with the oracle. */
static bool agrees(const test_bytes *inputs, size_t count, unsigned char terminator,
                   const tamis__stream_buffer_sizes *tuning) {
    const char *paths[INPUTS_MAX];
    char names[INPUTS_MAX][300];
    for (size_t i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "%s%zu", scratch("in"), i);
        file_write(names[i], inputs[i].data, inputs[i].size);
        paths[i] = names[i];
    }
    stream_oracle oracle;
    oracle_make(&oracle, inputs, count, terminator);
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    options.terminator = terminator;
    options.inputs = paths;
    options.input_count = count;
    options.output = scratch("once");
    options.duplicates = scratch("again");
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    tamis_status status = tamis__stream_dedup_tuned(session, &options, tuning, &stats, NULL, &err);
    session_drop(session);
    test_bytes unique = {0};
    test_bytes duplicates = {0};
    bool good = status == TAMIS_OK;
    if (good) {
        file_read(options.output, &unique);
        file_read(options.duplicates, &duplicates);
        good = bytes_check("output", &unique, &oracle.unique) &&
               bytes_check("duplicates", &duplicates, &oracle.duplicates) &&
               stats_check(&stats, &oracle.stats) && stats.complete;
    }
    if (!good)
        fprintf(stderr, "buffers %zu, %zu, %zu: status %d %s\n", tuning->read_size, tuning->write_size,
                tuning->batch_size, status, err.text);
    bytes_clear(&unique);
    bytes_clear(&duplicates);
    oracle_clear(&oracle);
    return good;
}

/* The same with many buffer sizes. */
static void assert_agrees(const test_bytes *inputs, size_t count, unsigned char terminator) {
    static const size_t sizes[] = {1, 2, 3, 7, 64};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (size_t i = 0; i < SIZES; i++)
        for (size_t j = 0; j < SIZES; j++) {
            tamis__stream_buffer_sizes tuning = {sizes[i], sizes[j], sizes[(i + j) % SIZES]};
            assert_true(agrees(inputs, count, terminator, &tuning));
        }
    tamis__stream_buffer_sizes shipped = TAMIS__STREAM_BUFFER_SIZES_INIT;
    assert_true(agrees(inputs, count, terminator, &shipped));
}

static void assert_agrees_texts(const char *first, const char *second, const char *third) {
    const char *texts[] = {first, second, third};
    test_bytes inputs[3] = {{0}, {0}, {0}};
    for (size_t i = 0; i < 3; i++)
        bytes_add(&inputs[i], texts[i], strlen(texts[i]));
    assert_agrees(inputs, 3, '\n');
    for (size_t i = 0; i < 3; i++)
        bytes_clear(&inputs[i]);
}

static void named_cases(void **state) {
    (void)state;
    assert_agrees_texts("", "", "");
    assert_agrees_texts("\n", "\n", "\n\n");
    assert_agrees_texts("a", "", "");
    assert_agrees_texts("a\nb\na\nc\nb\n", "", "");
    assert_agrees_texts("a\nb\na", "", "");
    /* no terminator at the end of a file, and another record after it in the same output, or not */
    assert_agrees_texts("a", "b\n", "");
    assert_agrees_texts("a", "a", "b");
    assert_agrees_texts("a\na", "a", "b");
    assert_agrees_texts("a", "a\n", "");
    assert_agrees_texts("b\na", "b", "\n");
    assert_agrees_texts("a", "", "\n");
    /* CR is part of the record */
    assert_agrees_texts("a\r\na\na\r\n\r\n", "\r", "\r\n");
}

static void every_byte_value(void **state) {
    (void)state;
    test_bytes input = {0};
    for (int round = 0; round < 2; round++)
        for (int value = 0; value < 256; value++) {
            unsigned char bytes[3] = {(unsigned char)value, 'x', '\n'};
            bytes_add(&input, bytes, 3);
        }
    assert_agrees(&input, 1, '\n');
    assert_agrees(&input, 1, 0);
    assert_agrees(&input, 1, 'x');
    assert_agrees(&input, 1, 0xff);
    bytes_clear(&input);
}

static void random_record(test_bytes *input, uint64_t *seed, unsigned char terminator, size_t longest) {
    static const unsigned char letters[] = {'a', 'b', 0, '\n', '\r', 0x80, 0xff};
    uint64_t size = test_below(seed, longest + 1);
    for (uint64_t i = 0; i < size; i++)
        bytes_add(input, &letters[test_below(seed, sizeof letters)], 1);
    bytes_add(input, &terminator, 1);
}

static void random_streams(void **state) {
    (void)state;
    uint64_t seed = test_seed(11);
    uint64_t rounds = test_scale_torture(120, 40, 12, 20);
    for (uint64_t round = 0; round < rounds; round++) {
        unsigned char terminator = test_below(&seed, 2) ? '\n' : 0;
        size_t count = 1 + test_below(&seed, INPUTS_MAX);
        size_t longest = (size_t)1 << test_below(&seed, 6);
        test_bytes inputs[INPUTS_MAX] = {{0}, {0}, {0}, {0}};
        for (size_t i = 0; i < count; i++) {
            for (uint64_t n = test_below(&seed, 20); n > 0; n--)
                random_record(&inputs[i], &seed, terminator, longest);
            if (inputs[i].size > 0 && test_below(&seed, 2))
                inputs[i].size--; /* removes the last terminator */
        }
        assert_agrees(inputs, count, terminator);
        for (size_t i = 0; i < count; i++)
            bytes_clear(&inputs[i]);
    }
}

/* Many records with the default sizes of batches and buffers. */
static void large_stream(void **state) {
    (void)state;
    uint64_t seed = test_seed(12);
    uint64_t records = test_scale(6000, 3000, 3000); /* the oracle is quadratic */
    test_bytes input = {0};
    for (uint64_t i = 0; i < records; i++) {
        char text[400];
        uint64_t number = test_below(&seed, records);
        int width = (int)(1 + number % 390); /* depends on the number only: equal numbers, equal records */
        int size = snprintf(text, sizeof text, "%0*llu\n", width, (unsigned long long)number);
        bytes_add(&input, text, (size_t)size);
    }
    tamis__stream_buffer_sizes shipped = TAMIS__STREAM_BUFFER_SIZES_INIT;
    assert_true(agrees(&input, 1, '\n', &shipped));
    tamis__stream_buffer_sizes odd = {4097, 1000, 333};
    assert_true(agrees(&input, 1, '\n', &odd));
    bytes_clear(&input);
}

/* ---- lengths ---- */

static tamis_status run_limited(const char *text, size_t size, uint64_t max_record, size_t read_size,
                                tamis_stream_stats *stats, tamis_error *err) {
    const char *path = scratch("in");
    file_write(path, text, size);
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    options.inputs = &path;
    options.input_count = 1;
    options.max_record = max_record;
    tamis__stream_buffer_sizes tuning = {read_size, 8, 3};
    tamis_dedup *session = session_make(0, TAMIS_ON_FULL_FAIL);
    tamis_status status = tamis__stream_dedup_tuned(session, &options, &tuning, stats, NULL, err);
    session_drop(session);
    return status;
}

static void a_record_too_long(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 64};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
        tamis_error err = TAMIS_ERROR_INIT;
        assert_int_equal(run_limited("1\n4444\n22\n4444", 14, 4, sizes[i], &stats, &err), TAMIS_OK);
        assert_int_equal(stats.records, 4);
        assert_int_equal(stats.duplicates, 1);
        assert_int_equal(run_limited("1\n22\n55555\n1\n", 13, 4, sizes[i], &stats, &err), TAMIS_E_TOO_LONG);
        assert_int_equal(stats.records, 2);
        assert_int_equal(stats.bytes_in, 5);
        assert_non_null(strstr(err.text, "/in: record 3, at byte 5, is longer than 4 bytes"));
        assert_int_equal(run_limited("1\n22\n55555", 10, 4, sizes[i], &stats, &err), TAMIS_E_TOO_LONG);
        assert_int_equal(stats.records, 2);
    }
}

static void a_record_of_many_buffers(void **state) {
    (void)state;
    size_t size = (size_t)test_scale(10u << 20, 3u << 20, 3u << 20);
    char *text = malloc(2 * size + 2);
    assert_non_null(text);
    memset(text, 'x', 2 * size + 2);
    text[size] = text[2 * size + 1] = '\n';
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(run_limited(text, 2 * size + 2, size, 100, &stats, &err), TAMIS_OK);
    assert_int_equal(stats.records, 2);
    assert_int_equal(stats.duplicates, 1);
    assert_int_equal(run_limited(text, 2 * size + 2, size - 1, 100, &stats, &err), TAMIS_E_TOO_LONG);
    assert_int_equal(stats.records, 0);
    free(text);
}

/* ---- a full filter ---- */

static tamis_status run_full(tamis_on_full on_full, tamis_stream_stats *stats, tamis_error *err) {
    const char *path = scratch("in");
    test_bytes input = {0};
    for (int i = 0; i < 20000; i++) {
        char text[16];
        bytes_add(&input, text, (size_t)snprintf(text, sizeof text, "%d\n", i));
    }
    file_write(path, input.data, input.size);
    bytes_clear(&input);
    tamis_stream_options options = TAMIS_STREAM_OPTIONS_INIT;
    options.threads = test_threads;
    options.inputs = &path;
    options.input_count = 1;
    options.output = scratch("once");
    tamis_dedup *session = session_make(1000, on_full);
    tamis_status status = tamis_stream_dedup(session, &options, stats, NULL, err);
    session_drop(session);
    return status;
}

static void a_full_filter_fails(void **state) {
    (void)state;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(run_full(TAMIS_ON_FULL_FAIL, &stats, &err), TAMIS_E_FULL);
    assert_in_range(stats.records, 1000, 19999);
    assert_int_equal(stats.unique, stats.records);
    assert_int_equal(stats.unknown, 0);
    assert_false(file_exists(scratch("once")));
    assert_null(scratch_hidden());
}

static void a_full_filter_passes(void **state) {
    (void)state;
    tamis_stream_stats stats = TAMIS_STREAM_STATS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(run_full(TAMIS_ON_FULL_PASS, &stats, &err), TAMIS_OK);
    assert_int_equal(stats.records, 20000);
    assert_int_equal(stats.duplicates, 0);
    assert_in_range(stats.unknown, 1, 19000);
    assert_int_equal(stats.unique + stats.unknown, 20000);
    test_bytes in = {0};
    test_bytes out = {0};
    file_read(scratch("in"), &in);
    file_read(scratch("once"), &out);
    assert_true(bytes_check("output", &out, &in));
    bytes_clear(&in);
    bytes_clear(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(named_cases, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(every_byte_value, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(random_streams, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(large_stream, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_record_too_long, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_record_of_many_buffers, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_full_filter_fails, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_full_filter_passes, scratch_set_up, scratch_tear_down),
    };
    test_run_with_threads(tests);
}
