/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: torture */
/* ctest: long */
/* ctest: timeout=900 (it waits for the disk) */

/* Runs over a state that are stopped and started again. Their outputs are those of an undisturbed run. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h> /* runs have threads: for the label */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/commits.h"
#include "support/decompress.h"
#include "support/scratch.h"
#include "support/threads.h"

enum { INPUTS = 3 };

static commits_run run;
static char in[INPUTS][300], output[300], duplicates[300];
static const char *names[INPUTS];
static test_bytes expected[2];
static uint32_t threads;
static bool to_duplicates;
static void (*shape)(void); /* sets more options of a run; NULL: none */
static tamis_extractor *extractor;

/* ---- runs ---- */

static void prepare(const commits_make *make) {
    commits_init(&run, make);
    run.options.inputs = names;
    run.options.input_count = INPUTS;
    run.options.output = output;
    run.options.duplicates = to_duplicates ? duplicates : NULL;
    run.options.threads = threads;
    if (shape)
        shape();
}

/* Makes a run that is stopped before batch `stop`; 0: not stopped. */
static tamis_status run_commits(const commits_make *make, uint64_t stop) {
    prepare(make);
    run.stop_before = stop;
    return commits_go(&run);
}

static void assert_runs(const commits_make *make, tamis_stream_start start) {
    run_commits(make, 0);
    assert_true(commits_started(&run, start));
}

static void forget(void) {
    commits_forget();
    unlink(output);
    unlink(duplicates);
}

static void read_output(const char *path, test_bytes *to) {
    bytes_clear(to);
    if (run.options.compression > 0)
        assert_true(decompress_file((tamis_compression)run.options.compression, path, to));
    else
        file_read(path, to);
}

static void keep_expected(void) {
    read_output(output, &expected[0]);
    bytes_clear(&expected[1]);
    if (to_duplicates)
        read_output(duplicates, &expected[1]);
}

static void assert_expected(void) {
    test_bytes got = {0};
    read_output(output, &got);
    assert_true(bytes_check("output", &got, &expected[0]));
    bytes_clear(&got);
    if (to_duplicates)
        read_output(duplicates, &got);
    assert_true(bytes_check("duplicates", &got, &expected[1]));
    bytes_clear(&got);
}

/* Makes an undisturbed run for comparison. Then, for many batches, makes a run that is stopped there and
 * continued. */
static void stopped_anywhere(const commits_make *make, uint64_t step) {
    forget();
    threads = 1;
    assert_runs(make, TAMIS_STREAM_NEW);
    keep_expected();
    const tamis_stream_stats whole = run.stats;
    threads = test_threads;
    uint64_t stops = 0;
    for (uint64_t stop = 1;; stop += step) {
        forget();
        if (run_commits(make, stop) == TAMIS_OK)
            break;
        assert_true(commits_came_to(&run, TAMIS_E_INTERRUPTED, ""));
        stops++;
        while (run_commits(make, test_scale_torture(3, 9, 9, 9)) == TAMIS_E_INTERRUPTED)
            assert_int_equal(run.result.start, TAMIS_STREAM_RESUMED);
        assert_true(commits_came_to(&run, TAMIS_OK, ""));
        assert_expected();
        assert_int_equal(run.stats.records, whole.records);
        assert_int_equal(run.stats.unique, whole.unique);
        assert_int_equal(run.stats.duplicates, whole.duplicates);
        assert_int_equal(run.stats.missing, whole.missing);
        assert_int_equal(run.stats.malformed, whole.malformed);
        assert_int_equal(run.stats.bytes_in, whole.bytes_in);
        assert_int_equal(run.stats.bytes_read, whole.bytes_read);
    }
    assert_expected();
    assert_true(stops > 1);
}

static void write_text(const char *path, const char *text) {
    file_write(path, text, strlen(text));
}

static void append(const char *path, const char *text) {
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

/* ---- resumed ---- */

static void every_filter_kind_continues(void **state) {
    (void)state;
    for (int i = 0; i < COMMITS_MAKES; i++)
        stopped_anywhere(&commits_makes[i], test_scale_torture(2, 7, 11, 11));
}

static void shape_typed(void) {
    run.typed = true;
}

static void a_service_without_hashes_continues(void **state) {
    (void)state;
    shape = shape_typed;
    stopped_anywhere(&commits_makes[COMMITS_GROWING], test_scale_torture(3, 5, 9, 9));
}

static void shape_marked(void) {
    run.options.marking = TAMIS_STREAM_COLUMN;
    run.options.duplicates = NULL;
}

static void marked_runs_continue(void **state) {
    (void)state;
    to_duplicates = false;
    shape = shape_marked;
    stopped_anywhere(&commits_makes[COMMITS_GROWING], test_scale_torture(3, 5, 9, 9));
}

static tamis_compression compression;

static void shape_compressed(void) {
    run.options.compression = (int)compression;
}

static void compressed_outputs_continue(void **state) {
    static const tamis_compression compressions[] = {TAMIS_COMPRESSION_GZIP, TAMIS_COMPRESSION_ZSTD,
                                                     TAMIS_COMPRESSION_XZ, TAMIS_COMPRESSION_LZ4,
                                                     TAMIS_COMPRESSION_BZIP2};
    (void)state;
    shape = shape_compressed;
    for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++) {
        compression = compressions[i];
        if (tamis_compression_is_built(compression))
            stopped_anywhere(&commits_makes[COMMITS_GROWING], test_scale_torture(11, 23, 23, 23));
    }
}

/* ---- headers and keys ---- */

static void create_extractor(const char *part) {
    tamis_extractor_options how = TAMIS_EXTRACTOR_OPTIONS_INIT;
    how.parts = &part;
    how.part_count = 1;
    assert_int_equal(tamis_extractor_create(&extractor, &how, &run.err), TAMIS_OK);
}

static void shape_extracted(void) {
    run.options.extractor = extractor;
    run.options.malformed = TAMIS_STREAM_PASS;
}

static void make_csv(int i, const char *front, size_t count) {
    test_bytes text = {0};
    uint64_t seed = (uint64_t)i + 5;
    bytes_add(&text, front, strlen(front));
    for (size_t n = 0; n < count; n++) {
        char line[60];
        const uint64_t key = test_below(&seed, 900);
        int size =
            snprintf(line, sizeof line, n % 9 ? "%d,%" PRIu64 "\n" : "%d,\"a\n%" PRIu64 "\"\n", (int)n, key);
        if (n % 50 == 13)
            size = snprintf(line, sizeof line, "one column\n");
        bytes_add(&text, line, (size_t)size);
    }
    file_write(in[i], text.data, text.size);
    bytes_clear(&text);
}

static size_t count_of(const char *path, const char *text) {
    test_bytes got = {0};
    size_t count = 0;
    file_read(path, &got);
    for (size_t pos = 0; pos + strlen(text) <= got.size; pos++)
        count += memcmp(got.data + pos, text, strlen(text)) == 0;
    bytes_clear(&got);
    return count;
}

static void a_header_comes_once(void **state) {
    static const char *const fronts[] = {"number,id\n", "\xEF\xBB\xBFnumber,id\r\n"};
    (void)state;
    shape = shape_extracted;
    create_extractor("csv:id");
    for (int way = 0; way < 4; way++) {
        const char *front = fronts[way % 2];
        make_csv(0, front, way < 2 ? 400 : 0);
        make_csv(1, front, 400);
        make_csv(2, front, way < 2 ? 0 : 300);
        stopped_anywhere(&commits_makes[COMMITS_GROWING], test_scale_torture(3, 5, 9, 9));
        assert_int_equal(count_of(output, "number,id"), 1);
        assert_int_equal(count_of(duplicates, "number,id"), 1);
        assert_runs(&commits_makes[COMMITS_GROWING], TAMIS_STREAM_FINISHED);
    }
}

static void an_input_with_only_a_byte_order_mark_continues(void **state) {
    (void)state;
    shape = shape_extracted;
    create_extractor("csv:id");
    write_text(in[0], "\xEF\xBB\xBF");
    make_csv(1, "number,id\n", 900);
    write_text(in[2], "\xEF\xBB\xBF");
    stopped_anywhere(&commits_makes[COMMITS_GROWING], test_scale_torture(3, 5, 9, 9));
    assert_runs(&commits_makes[COMMITS_GROWING], TAMIS_STREAM_FINISHED);
}

/* The records of the next day follow the header that the output has. */
static void a_header_comes_once_over_runs(void **state) {
    (void)state;
    shape = shape_extracted;
    create_extractor("csv:id");
    for (int i = 0; i < INPUTS; i++)
        make_csv(i, "number,id\n", 200);
    assert_runs(&commits_makes[COMMITS_GROWING], TAMIS_STREAM_NEW);
    for (int i = 0; i < INPUTS; i++) {
        char name[10];
        snprintf(name, sizeof name, "next%d", i);
        snprintf(in[i], sizeof in[i], "%s", scratch(name));
        make_csv(i, "number,id\nnext,day\n", 210);
    }
    assert_runs(&commits_makes[COMMITS_GROWING], TAMIS_STREAM_NEW);
    assert_int_equal(count_of(output, "number,id"), 1);
    assert_int_equal(count_of(duplicates, "number,id"), 1);
}

static tamis_stream_policy policy;

static void shape_policies(void) {
    run.options.extractor = extractor;
    run.options.missing = policy;
    run.options.malformed = policy;
}

static void records_without_key_continue(void **state) {
    (void)state;
    test_bytes text = {0};
    for (int i = 0; i < 700; i++) {
        char line[60];
        int size = snprintf(line, sizeof line,
                            i % 10 == 3   ? "{\"x\":%d}\n"
                            : i % 10 == 7 ? "no JSON %d\n"
                                          : "{\"id\":%d}\n",
                            i % 400);
        bytes_add(&text, line, (size_t)size);
    }
    for (int i = 0; i < INPUTS; i++)
        file_write(in[i], text.data, text.size);
    bytes_clear(&text);
    shape = shape_policies;
    create_extractor("json:/id");
    for (policy = TAMIS_STREAM_PASS; policy <= TAMIS_STREAM_DROP; policy++)
        stopped_anywhere(&commits_makes[COMMITS_GROWING], test_scale_torture(5, 7, 11, 11));
}

static void shape_required(void) {
    run.options.extractor = extractor;
    run.options.require_keys = true;
}

static void write_records(const char *path, const char *member, int count) {
    test_bytes text = {0};
    for (int i = 0; i < count; i++) {
        char line[40];
        int size = snprintf(line, sizeof line, "{\"%s\":1}\n", member);
        bytes_add(&text, line, (size_t)size);
    }
    file_write(path, text.data, text.size);
    bytes_clear(&text);
}

/* A run without any key commits nothing. A run whose first records have no key gives the outputs of an
 * undisturbed one. */
static void reg_22_required_keys(void **state) {
    (void)state;
    const commits_make *make = &commits_makes[COMMITS_GROWING];
    shape = shape_required;
    for (int i = 0; i < INPUTS; i++)
        write_records(in[i], "x", 300);
    create_extractor("json:/id");
    run_commits(make, 0);
    assert_true(commits_came_to(&run, TAMIS_E_NO_KEY, "none of 900 records has a key"));
    assert_true(file_is(output, ""));
    write_records(in[2], "id", 300);
    assert_runs(make, TAMIS_STREAM_RESUMED);
    keep_expected();
    assert_int_equal(expected[0].size, 600 * 8 + 9);
    for (uint64_t stop = 1; stop < 12; stop += 5) {
        forget();
        run_commits(make, stop);
        assert_true(commits_came_to(&run, TAMIS_E_INTERRUPTED, ""));
        assert_runs(make, TAMIS_STREAM_RESUMED);
        assert_expected();
    }
}

/* A bad record ends the run, and ends it again after a restart. If it is corrected behind the last commit,
 * the run continues. */
static void a_failed_run_continues(void **state) {
    (void)state;
    const commits_make *make = &commits_makes[COMMITS_GROWING];
    shape = shape_policies;
    policy = TAMIS_STREAM_FAIL;
    create_extractor("json:/id");
    write_text(in[0], "{\"id\":1}\n{\"id\":2}\n");
    write_text(in[1], "{\"id\":1}\n{\"id\":3}\n{\"x\":4}\n");
    write_text(in[2], "{\"id\":4}\n{\"id\":4}\n");
    for (int i = 0; i < 2; i++) {
        run_commits(make, 0);
        assert_true(commits_came_to(&run, TAMIS_E_NO_KEY, "line 3"));
    }
    write_text(in[1], "{\"id\":1}\n{\"id\":3}\n{\"id\":4}\n");
    assert_runs(make, TAMIS_STREAM_RESUMED);
    assert_true(file_is(output, "{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n{\"id\":4}\n"));
    assert_true(file_is(duplicates, "{\"id\":1}\n{\"id\":4}\n{\"id\":4}\n"));
}

/* ---- ends and growth ---- */

static void a_finished_run_changes_nothing(void **state) {
    (void)state;
    struct stat before, after;
    const commits_make *make = &commits_makes[COMMITS_GROWING];
    assert_runs(make, TAMIS_STREAM_NEW);
    keep_expected();
    const uint64_t commits = run.info.commits, records = run.stats.records;
    assert_int_equal(stat(output, &before), 0);
    for (int i = 0; i < 3; i++) {
        assert_runs(make, TAMIS_STREAM_FINISHED);
        assert_expected();
        assert_int_equal(run.info.commits, commits);
        assert_int_equal(run.stats.records, records);
        assert_int_equal(run.stats.bytes_out, 0);
        assert_true(run.stats.complete);
        assert_int_equal(stat(output, &after), 0);
        assert_true(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    }
}

static void a_last_record_without_terminator(void **state) {
    (void)state;
    const commits_make *make = &commits_makes[COMMITS_EXACT];
    write_text(in[0], "a\nb");
    write_text(in[1], "b\nc\nc");
    write_text(in[2], "d\na\ne");
    assert_runs(make, TAMIS_STREAM_NEW);
    assert_true(file_is(output, "a\nb\nc\nd\ne"));
    assert_true(file_is(duplicates, "b\nc\na\n"));
    assert_runs(make, TAMIS_STREAM_FINISHED);
    append(in[2], "\n");
    assert_runs(make, TAMIS_STREAM_GROWN);
    assert_true(file_is(output, "a\nb\nc\nd\ne"));
    assert_runs(make, TAMIS_STREAM_FINISHED);
    append(in[2], "e\nf\n");
    assert_runs(make, TAMIS_STREAM_GROWN);
    assert_true(file_is(output, "a\nb\nc\nd\ne\nf\n"));
    assert_true(file_is(duplicates, "b\nc\na\ne\n"));
    append(in[2], "g");
    assert_runs(make, TAMIS_STREAM_GROWN);
    append(in[2], "h\n");
    run_commits(make, 0);
    assert_true(commits_came_to(&run, TAMIS_E_CHANGED, "had no end when it was read"));
    assert_true(run.result.was_read);
    assert_true(file_is(output, "a\nb\nc\nd\ne\nf\ng"));
}

static void a_grown_input_is_read_on(void **state) {
    (void)state;
    const commits_make *make = &commits_makes[COMMITS_GROWING];
    threads = 1;
    assert_runs(make, TAMIS_STREAM_NEW);
    for (int i = 0; i < 5; i++) {
        threads = i % 2 ? 1 : test_threads;
        test_bytes more = {0};
        commits_records(&more, 200, 1500, 77 + (uint64_t)i);
        bytes_add(&more, "", 1);
        append(in[2], (const char *)more.data);
        bytes_clear(&more);
        while (run_commits(make, 2) == TAMIS_E_INTERRUPTED)
            ;
        assert_true(commits_came_to(&run, TAMIS_OK, ""));
        assert_runs(make, TAMIS_STREAM_FINISHED);
    }
    assert_int_equal(run.stats.records, INPUTS * 600 + 5 * 200);
    assert_int_equal(count_of(output, "\n") + count_of(duplicates, "\n"), run.stats.records);
    append(in[0], "one more\n"); /* also an input that is not the last one */
    run_commits(make, 0);
    assert_true(commits_came_to(&run, TAMIS_OK, ""));
    assert_int_equal(run.stats.records, INPUTS * 600 + 5 * 200 + 1);
    assert_runs(make, TAMIS_STREAM_FINISHED);
}

static void no_records_at_all(void **state) {
    (void)state;
    for (int i = 0; i < INPUTS; i++)
        write_text(in[i], "");
    for (int way = 0; way < 2; way++) {
        compression = way ? TAMIS_COMPRESSION_GZIP : TAMIS_COMPRESSION_NONE;
        shape = shape_compressed;
        forget();
        assert_runs(&commits_makes[COMMITS_GROWING], TAMIS_STREAM_NEW);
        assert_runs(&commits_makes[COMMITS_GROWING], TAMIS_STREAM_FINISHED);
        keep_expected();
        assert_int_equal(expected[0].size, 0);
    }
}

/* ---- set-up and tear-down ---- */

static int set_up(void **state) {
    (void)state;
    scratch_make();
    snprintf(output, sizeof output, "%s", scratch("output"));
    snprintf(duplicates, sizeof duplicates, "%s", scratch("duplicates"));
    for (int i = 0; i < INPUTS; i++) {
        char name[10];
        test_bytes text = {0};
        snprintf(name, sizeof name, "in%d", i);
        snprintf(in[i], sizeof in[i], "%s", scratch(name));
        names[i] = in[i];
        commits_records(&text, 600, 1000, (uint64_t)i + 1);
        file_write(in[i], text.data, text.size);
        bytes_clear(&text);
    }
    threads = test_threads;
    to_duplicates = true;
    shape = NULL;
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tamis_extractor_free(extractor);
    extractor = NULL;
    bytes_clear(&expected[0]);
    bytes_clear(&expected[1]);
    forget();
    scratch_remove();
    return 0;
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(every_filter_kind_continues),
        CASE(a_service_without_hashes_continues),
        CASE(marked_runs_continue),
        CASE(compressed_outputs_continue),
        CASE(a_header_comes_once),
        CASE(an_input_with_only_a_byte_order_mark_continues),
        CASE(a_header_comes_once_over_runs),
        CASE(records_without_key_continue),
        CASE(reg_22_required_keys),
        CASE(a_failed_run_continues),
        CASE(a_finished_run_changes_nothing),
        CASE(a_last_record_without_terminator),
        CASE(a_grown_input_is_read_on),
        CASE(no_records_at_all),
    };
    test_run_with_threads(tests);
}
