/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Runs over a state whose records have positions. With several threads, records are queried while earlier
 * ones are written and committed.
 */
#include <fcntl.h>
#include <pthread.h> /* runs have threads: for the label */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/commits.h"
#include "support/scratch.h"

enum { SOURCES = 50, RECORDS = 4000 };

static commits_run run;
static char in[300], out[300];
static const char *inputs[] = {in};
static tamis_extractor *extractor;
static uint64_t reported[SOURCES];     /* last committed position of each source */
static uint64_t reports, refused_from; /* number of reports; the first one that gets `refusal` */
static tamis_status refusal;           /* what on_position returns */

static tamis_status note_position(void *context, tamis_key source, uint64_t position, tamis_error *err) {
    char name[20] = "";
    (void)context;
    assert_in_range(source.size, 1, sizeof name - 1);
    memcpy(name, source.data, source.size);
    const size_t i = strtoul(name + 1, NULL, 10);
    assert_in_range(i, 0, SOURCES - 1);
    assert_true(position >= reported[i]);
    reported[i] = position;
    reports++;
    if (refusal == TAMIS_OK || reports < refused_from)
        return TAMIS_OK;
    snprintf(err->text, sizeof err->text, "not acknowledged");
    return refusal;
}

static int set_up(void **state) {
    static const char *const key[] = {"field:3"};
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    (void)state;
    scratch_make_in_memory();
    snprintf(in, sizeof in, "%s", scratch("in"));
    snprintf(out, sizeof out, "%s", scratch("out"));
    options.parts = key;
    options.part_count = 1;
    options.source = "field:1";
    options.position = "field:2";
    reports = refused_from = 0;
    refusal = TAMIS_OK;
    memset(reported, 0, sizeof reported);
    return tamis_extractor_create(&extractor, &options, NULL) == TAMIS_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tamis_extractor_free(extractor);
    commits_forget();
    scratch_remove();
    return 0;
}

/* Writes records with the numbers from `from` on to the input. Number n is position n / SOURCES of source n %
 * SOURCES. `repeated` of them come twice, in a block. */
static void write_input(uint64_t from, uint64_t count, uint64_t repeated) {
    FILE *file = fopen(in, "w");
    assert_non_null(file);
    for (uint64_t i = 0; i < count + repeated; i++) {
        const uint64_t n = from + (i < count / 2 + repeated ? i : i - repeated) -
                           (i >= count / 2 && i < count / 2 + repeated ? repeated : 0);
        fprintf(file, "s%d\t%d\tkey%d\n", (int)(n % SOURCES), (int)(n / SOURCES), (int)n);
    }
    assert_int_equal(fclose(file), 0);
}

static void prepare(uint32_t threads) {
    commits_init(&run, &commits_makes[COMMITS_EXACT]);
    run.options.inputs = inputs;
    run.options.input_count = 1;
    run.options.output = out;
    run.options.extractor = extractor;
    run.options.threads = threads;
    run.commits.reread = true;
    run.commits.on_position = note_position;
}

static void go(uint32_t threads) {
    prepare(threads);
    (void)commits_go(&run);
}

/* The same with a pipe that has the bytes of the input. */
static void go_from_pipe(uint32_t threads) {
    static const char *const standard_input[] = {"-"};
    test_bytes records = {0};
    int ends[2];
    const int before = dup(STDIN_FILENO);
    file_read(in, &records);
    assert_true(before >= 0 && pipe2(ends, O_CLOEXEC) == 0);
    assert_true(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) >= (int)records.size);
    assert_int_equal(write(ends[1], records.data, records.size), records.size);
    close(ends[1]);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    prepare(threads);
    run.options.inputs = standard_input;
    (void)commits_go(&run);
    assert_int_equal(dup2(before, STDIN_FILENO), STDIN_FILENO);
    close(before);
    bytes_clear(&records);
}

/* True if the output has each of the numbers up to `count` once, in order. */
static bool has_each_once(uint64_t count) {
    test_bytes got = {0}, expected = {0};
    char line[60];
    for (uint64_t n = 0; n < count; n++) {
        snprintf(line, sizeof line, "s%d\t%d\tkey%d\n", (int)(n % SOURCES), (int)(n / SOURCES), (int)n);
        bytes_add(&expected, line, strlen(line));
    }
    file_read(out, &got);
    const bool same = bytes_check("output", &got, &expected);
    bytes_clear(&got);
    bytes_clear(&expected);
    return same;
}

static void records_that_come_again_are_dropped(void **state) {
    (void)state;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        write_input(0, RECORDS, 700);
        go(threads);
        assert_true(commits_came_to(&run, TAMIS_OK, NULL));
        assert_int_equal(run.stats.redelivered, 700);
        assert_int_equal(run.stats.records, RECORDS + 700);
        assert_int_equal(run.stats.unique, RECORDS);
        assert_true(has_each_once(RECORDS));
        for (int i = 0; i < SOURCES; i++)
            assert_int_equal(reported[i], RECORDS / SOURCES - 1);
        write_input(RECORDS - 1000, 3000, 500); /* another run */
        go(threads);
        assert_true(commits_came_to(&run, TAMIS_OK, NULL));
        assert_int_equal(run.stats.redelivered, 1500);
        assert_true(has_each_once(RECORDS + 2000));
        commits_forget();
        unlink(out);
        memset(reported, 0, sizeof reported);
    }
    assert_true(reports > 200); /* after each commit */
}

/* Each run ends by an error in a commit, when later records are queried already. The next one gets the
 * records from the last reported positions on. */
static void a_pipe_that_is_fed_again_loses_nothing(void **state) {
    (void)state;
    refused_from = 300;
    refusal = TAMIS_E_IO;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        uint64_t starts = 0, from = 0, redelivered = 0;
        do {
            write_input(from * SOURCES, RECORDS - from * SOURCES, 0);
            reports = 0;
            go_from_pipe(threads);
            from = reported[0];
            for (int i = 1; i < SOURCES; i++)
                from = reported[i] < from ? reported[i] : from;
            redelivered += run.stats.redelivered;
        } while (run.status == TAMIS_E_IO && ++starts < RECORDS);
        assert_true(commits_came_to(&run, TAMIS_OK, NULL));
        assert_true(starts > 3 && redelivered > starts);
        assert_true(has_each_once(RECORDS));
        commits_forget();
        unlink(out);
        memset(reported, 0, sizeof reported);
    }
}

static void a_source_created_again_is_refused(void **state) {
    (void)state;
    write_input(100, 1000, 0);
    go(4);
    assert_true(commits_came_to(&run, TAMIS_OK, NULL));
    write_input(99, 100, 0);
    go(4);
    assert_true(commits_came_to(&run, TAMIS_E_CHANGED, "is before the first one"));
    FILE *file = fopen(in, "w");
    assert_non_null(file);
    fputs("s1\t21\tother\n", file);
    assert_int_equal(fclose(file), 0);
    go(4);
    assert_true(commits_came_to(&run, TAMIS_E_CHANGED, "has another key"));
}

static void an_error_of_the_caller_ends_the_run(void **state) {
    (void)state;
    write_input(0, RECORDS, 0);
    refusal = TAMIS_E_IO;
    go(1);
    assert_true(commits_came_to(&run, TAMIS_E_IO, "not acknowledged"));
    refusal = TAMIS_OK;
    go(1);
    assert_true(commits_came_to(&run, TAMIS_OK, NULL));
    assert_true(has_each_once(RECORDS));
}

static void source_and_position_belong_together(void **state) {
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_extractor *none = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    (void)state;
    options.source = "field:1";
    assert_int_equal(tamis_extractor_create(&none, &options, &err), TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "belong together"));
    assert_true(tamis_extractor_has_position(extractor));
}

static void positions_are_digits(void **state) {
    static const struct {
        const char *record;
        tamis_extracted outcome;
        uint64_t position;
    } each[] = {{"a\t0\tk", TAMIS_KEY_FOUND, 0},
                {"a\t007\tk", TAMIS_KEY_FOUND, 7},
                {"a\t9223372036854775807\tk", TAMIS_KEY_FOUND, INT64_MAX},
                {"a\t9223372036854775808\tk", TAMIS_KEY_MALFORMED, 0},
                {"a\t99999999999999999999\tk", TAMIS_KEY_MALFORMED, 0},
                {"a\t\tk", TAMIS_KEY_MALFORMED, 0},
                {"a\t+1\tk", TAMIS_KEY_MALFORMED, 0},
                {"a\t1.0\tk", TAMIS_KEY_MALFORMED, 0},
                {"a", TAMIS_KEY_MALFORMED, 0},
                {"a\t5", TAMIS_KEY_MISSING, 5}};
    (void)state;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        tamis_extraction found;
        const tamis_key record = {each[i].record, strlen(each[i].record)};
        assert_int_equal(tamis_extractor_extract(extractor, &record, 1, &found, NULL), TAMIS_OK);
        assert_int_equal(found.outcome, each[i].outcome);
        if (found.outcome == TAMIS_KEY_MALFORMED)
            continue;
        assert_int_equal(found.position, each[i].position);
        assert_int_equal(found.source.size, 1);
    }
    char longest[TAMIS_SOURCE_MAX + 10];
    memset(longest, 'x', sizeof longest);
    for (int more = 0; more < 2; more++) {
        tamis_extraction found;
        memcpy(longest + TAMIS_SOURCE_MAX + more, "\t1\tk", 4);
        const tamis_key record = {longest, TAMIS_SOURCE_MAX + (size_t)more + 4};
        assert_int_equal(tamis_extractor_extract(extractor, &record, 1, &found, NULL), TAMIS_OK);
        assert_int_equal(found.outcome, more ? TAMIS_KEY_MALFORMED : TAMIS_KEY_FOUND);
        longest[TAMIS_SOURCE_MAX] = 'x';
    }
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(records_that_come_again_are_dropped), CASE(a_pipe_that_is_fed_again_loses_nothing),
        CASE(a_source_created_again_is_refused),   CASE(an_error_of_the_caller_ends_the_run),
        CASE(source_and_position_belong_together), CASE(positions_are_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
