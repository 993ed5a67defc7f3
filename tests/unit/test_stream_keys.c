/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs with keys from an extractor: records without a key, headers, marks, and the statistics of each
 * input. */
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
#include "support/threads.h"

/* A service that answers TAMIS_PRESENT for keys that begin with 's', and ends the run after one that
 * begins with 'e'. It records its keys with their positions. */
typedef struct queried {
    bool enough;
    const char *input;
    tamis_stream_source source;
    char text_log[400];
} queried;

static void log_source(void *context, const tamis_stream_source *source) {
    queried *noted = context;
    const char *slash = strrchr(source->input, '/');
    noted->input = slash ? slash + 1 : source->input;
    noted->source = *source;
}

static tamis_status query_keys(void *context, const tamis_stream_batch *batch, size_t *done,
                               tamis_error *err) {
    queried *noted = context;
    const tamis_key *keys = batch->keys;
    (void)err;
    for (*done = 0; *done < batch->count; ++*done) {
        const size_t used = strlen(noted->text_log), i = *done;
        const size_t record = noted->source.record_index ? noted->source.record_index[i] : i;
        snprintf(noted->text_log + used, sizeof noted->text_log - used, "%s %llu %.*s;", noted->input,
                 (unsigned long long)(noted->source.first + record), (int)keys[i].size,
                 (const char *)keys[i].data);
        /* The reported record contains the key. */
        assert_true(noted->source.records[record].size >= keys[i].size);
        noted->enough = noted->enough || (keys[i].size > 0 && *(const char *)keys[i].data == 'e');
        batch->answers[i] =
            keys[i].size > 0 && *(const char *)keys[i].data == 's' ? TAMIS_PRESENT : TAMIS_ABSENT;
    }
    return TAMIS_OK;
}

static bool had_enough(void *context) {
    return ((queried *)context)->enough;
}

typedef struct job {
    const char *part;
    const char *texts[3]; /* content of the inputs "one", "two" and "three" */
    tamis_stream_options options;
    queried noted;
    tamis_stream_stats stats, of_input[3];
    tamis_error err;
    size_t read_size; /* 0: a small size */
} job;

static void note_end(void *context, size_t index, const tamis_stream_stats *of_it) {
    job *work = context;
    assert_true(index < 3);
    assert_int_equal(work->of_input[index].records, 0); /* each input is reported once */
    work->of_input[index] = *of_it;
}

#define JOB(part, ...)                                                                                       \
    {                                                                                                        \
        part, {__VA_ARGS__}, TAMIS_STREAM_OPTIONS_INIT, {0}, TAMIS_STREAM_STATS_INIT, {{0}},                 \
            TAMIS_ERROR_INIT, 0                                                                              \
    }

static tamis_status run(job *work, size_t batch) {
    static const char *const names[] = {"one", "two", "three"};
    const char *inputs[3];
    const tamis__stream_buffer_sizes tuning = {work->read_size ? work->read_size : 3, 5, batch};
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_extractor_options how = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_extractor *extractor;
    memset(work->of_input, 0, sizeof work->of_input);
    memset(&work->noted, 0, sizeof work->noted);
    work->stats = (tamis_stream_stats)TAMIS_STREAM_STATS_INIT;
    work->options.input_count = 0;
    for (size_t i = 0; i < 3 && work->texts[i]; i++) {
        inputs[i] = scratch(names[i]);
        file_write(inputs[i], work->texts[i], strlen(work->texts[i]));
        work->options.input_count++;
    }
    how.parts = &work->part;
    how.part_count = 1;
    assert_int_equal(tamis_extractor_create(&extractor, &how, &work->err), TAMIS_OK);
    service.context = &work->noted;
    service.query = query_keys;
    service.set_source = log_source;
    service.enough = had_enough;
    work->options.inputs = inputs;
    work->options.threads = test_threads;
    work->options.extractor = extractor;
    work->options.output = scratch("fresh");
    work->options.input_end = note_end;
    work->options.input_end_context = work;
    if (!work->options.marking)
        work->options.duplicates = scratch("seen");
    const tamis_status status =
        tamis__stream_run_tuned(&service, &work->options, &tuning, &work->stats, NULL, &work->err);
    tamis_extractor_free(extractor);
    return status;
}

#define BOM "\xef\xbb\xbf"

enum { BATCHES = 6 }; /* batches of 1 to 5 records, so that each boundary occurs */

/* ---- records without key ---- */

static void records_without_key_follow_the_policy(void **state) {
    (void)state;
    static const char *const absent[] = {"x\ta\nnone\n\ty\nlast", "x\ta\n\ty\n"};
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("field:2", "x\ta\nnone\nz\tsee\n\ty\nlast");
        for (int policy = TAMIS_STREAM_PASS; policy <= TAMIS_STREAM_DROP; policy++) {
            work.options.missing = (tamis_stream_policy)policy;
            assert_int_equal(run(&work, batch), TAMIS_OK);
            assert_true(file_is(scratch("fresh"), absent[policy]));
            assert_true(file_is(scratch("seen"), "z\tsee\n"));
            assert_string_equal(work.noted.text_log, "one 1 a;one 3 see;one 4 y;");
            assert_int_equal(work.stats.records, 5);
            assert_int_equal(work.stats.unique, 2);
            assert_int_equal(work.stats.duplicates, 1);
            assert_int_equal(work.stats.missing, 2);
        }
    }
}

static void a_record_without_key_may_end_the_run(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("field:2", "x\ta\nz\tsee\nnone\nx\tb\n");
        char expected[256];
        work.options.missing = TAMIS_STREAM_FAIL;
        assert_int_equal(run(&work, batch), TAMIS_E_NO_KEY);
        snprintf(expected, sizeof expected, "%s: line 3, at byte 10: the record has no key", scratch("one"));
        assert_string_equal(work.err.text, expected);
        assert_string_equal(work.noted.text_log, "one 1 a;one 2 see;");
        assert_int_equal(work.stats.records, 2);
        assert_false(file_exists(scratch("fresh")));
    }
}

static void malformed_records_follow_the_policy(void **state) {
    (void)state;
    static const char *const absent[] = {"{\"k\":\"a\"}\n{\"k\":\n{\"k\":7}", "{\"k\":\"a\"}\n{\"k\":7}"};
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("json:/k", "{\"k\":\"a\"}\n{\"k\":\n{\"k\":\"s\"}\n{\"k\":7}");
        char expected[256];
        for (int policy = TAMIS_STREAM_PASS; policy <= TAMIS_STREAM_DROP; policy++) {
            work.options.malformed = (tamis_stream_policy)policy;
            assert_int_equal(run(&work, batch), TAMIS_OK);
            assert_true(file_is(scratch("fresh"), absent[policy]));
            assert_string_equal(work.noted.text_log, "one 1 a;one 3 s;one 4 7;");
            assert_int_equal(work.stats.malformed, 1);
        }
        work.options.malformed = TAMIS_STREAM_FAIL;
        assert_int_equal(run(&work, batch), TAMIS_E_RECORD);
        snprintf(expected, sizeof expected, "%s: line 2, at byte 15: ", scratch("one"));
        assert_memory_equal(work.err.text, expected, strlen(expected));
        assert_int_equal(work.stats.records, 1);
    }
}

/* Records after the one that ends the run are not examined, wherever batches end. */
static void enough_comes_before_what_is_wrong(void **state) {
    (void)state;
    static const char *const inputs[] = {"{\"k\":\"a\"}\n{\"k\":\"e\"}\n{\"k\n{\"k\":7}\n",
                                         "{\"k\":\"a\"}\n{\"k\":\"e\"}\n{}\n"};
    for (size_t batch = 1; batch < BATCHES; batch++) {
        for (int i = 0; i < 2; i++) {
            job work = JOB("json:/k", inputs[i]);
            work.options.missing = TAMIS_STREAM_FAIL;
            work.read_size = 100;
            assert_int_equal(run(&work, batch), TAMIS_OK);
            assert_string_equal(work.err.text, "");
            assert_true(file_is(scratch("fresh"), "{\"k\":\"a\"}\n{\"k\":\"e\"}\n"));
            assert_int_equal(work.stats.records, 2);
            assert_true(work.stats.complete);
        }
        job before = JOB("json:/k", "{\"k\n{\"k\":\"e\"}\n");
        before.read_size = 100;
        assert_int_equal(run(&before, batch), TAMIS_E_RECORD);
    }
}

static void the_first_malformed_record_is_reported(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("json:/k", "{\"k\":\"a\"}\n{\"k\":\n{\"k\":\"s\"}\n[", "]");
        job none = JOB("json:/k", "{\"k\":\"a\"}");
        for (int policy = TAMIS_STREAM_PASS; policy <= TAMIS_STREAM_FAIL; policy++) {
            tamis_error first = TAMIS_ERROR_INIT;
            char expected[256];
            work.options.malformed = none.options.malformed = (tamis_stream_policy)policy;
            work.options.first_malformed = none.options.first_malformed = &first;
            assert_int_equal(run(&none, batch), TAMIS_OK);
            assert_int_equal(first.status, TAMIS_OK);
            assert_int_equal(run(&work, batch), policy == TAMIS_STREAM_FAIL ? TAMIS_E_RECORD : TAMIS_OK);
            assert_int_equal(first.status, policy == TAMIS_STREAM_FAIL ? TAMIS_OK : TAMIS_E_RECORD);
            if (policy == TAMIS_STREAM_FAIL)
                continue;
            snprintf(expected, sizeof expected, "%s: line 2, at byte 15: ", scratch("one"));
            assert_memory_equal(first.text, expected, strlen(expected));
            assert_int_equal(work.stats.malformed, 3);
        }
    }
}

static void an_open_quote_is_reported_with_its_lines(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("csv:1", "a\n\"b\"x\nc,\"d\ne\nf\n", "\"g\nh\n");
        tamis_error first = TAMIS_ERROR_INIT;
        char expected[256];
        work.options.malformed = TAMIS_STREAM_DROP;
        work.options.first_malformed = &first;
        assert_int_equal(run(&work, batch), TAMIS_OK);
        snprintf(expected, sizeof expected,
                 "%s: line 3, at byte 9: a quote is not closed, and the record extends to the end of the "
                 "file, 3 lines",
                 scratch("one"));
        assert_string_equal(first.text, expected);
        job alone = JOB("csv:1", "a\n\"b\n");
        alone.options.malformed = TAMIS_STREAM_FAIL;
        assert_int_equal(run(&alone, batch), TAMIS_E_RECORD);
        snprintf(expected, sizeof expected, "%s: line 2, at byte 2: a quote is not closed", scratch("one"));
        assert_string_equal(alone.err.text, expected);
    }
}

/* ---- headers ---- */

static void a_header_is_read_once(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("csv:id", "\xef\xbb\xbfname,id\r\nx,\"a\nb\"\r\n", "name,id\ny,see\n", "name,id");
        assert_int_equal(run(&work, batch), TAMIS_OK);
        assert_true(file_is(scratch("fresh"), "\xef\xbb\xbfname,id\r\nx,\"a\nb\"\r\n"));
        assert_true(file_is(scratch("seen"), "\xef\xbb\xbfname,id\r\ny,see\n"));
        assert_string_equal(work.noted.text_log, "one 2 a\nb;two 2 see;");
        assert_int_equal(work.stats.records, 2);
        assert_int_equal(work.of_input[0].unique, 1);
        assert_int_equal(work.of_input[1].duplicates, 1);
        assert_int_equal(work.of_input[2].records, 0);
    }
}

static void another_header_ends_the_run(void **state) {
    (void)state;
    job work = JOB("csv:id", "name,id\nx,a\n", "id,name\nb,y\n");
    char expected[400];
    assert_int_equal(run(&work, 3), TAMIS_E_INVALID);
    snprintf(
        expected, sizeof expected,
        "%s: its header is 'id,name', and that of %s is 'name,id'; give inputs with one header, or run them "
        "one by one",
        scratch("two"), scratch("one"));
    assert_string_equal(work.err.text, expected);
}

static void an_unusable_header_is_reported_with_its_position(void **state) {
    (void)state;
    static const struct {
        const char *text, *text_log;
    } cases[] = {
        {"name,Id\nx,a\n", "key 'csv:id': the header has no such column; take one of these: name, Id"},
        {BOM "\r\nx,a\n",
         "key 'csv:id': the header is empty; have the first record name the columns, or ask for "
         "them by number"},
        {BOM "a,\"b\"c\n",
         "header: a closing quote is not the end of its field, at byte 8; correct it, or ask for "
         "columns by number"},
    };
    for (size_t i = 0; i < 3; i++) {
        char expected[400];
        job work = JOB("csv:id", "", cases[i].text);
        assert_int_equal(run(&work, 3), TAMIS_E_INVALID);
        snprintf(expected, sizeof expected, "%s: line 1: %s", scratch("two"), cases[i].text_log);
        assert_string_equal(work.err.text, expected);
    }
    job zero = JOB("csv:id", "a");
    char expected[400];
    zero.options.terminator = '\0';
    assert_int_equal(run(&zero, 3), TAMIS_E_INVALID);
    snprintf(expected, sizeof expected, "%s: record 1: key 'csv:id': ", scratch("one"));
    assert_memory_equal(zero.err.text, expected, strlen(expected));
}

static void a_delimiter_that_ends_records_is_refused(void **state) {
    (void)state;
    job work = JOB("csv:1", "a,b\n");
    work.options.terminator = ',';
    assert_int_equal(run(&work, 3), TAMIS_E_INVALID);
    assert_string_equal(work.err.text,
                        "stream: byte 44 ends records and also separates the columns of CSV; give the "
                        "extractor another delimiter");
    job field = JOB("field:1", "a\tb");
    field.options.terminator = '\t';
    assert_int_equal(run(&field, 3), TAMIS_OK);
}

static void lines_are_counted_within_quotes(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("csv:2", "1,\"a\n\nb\"\n2,c\n3,\"d\"e\n");
        char expected[256];
        assert_int_equal(run(&work, batch), TAMIS_E_RECORD);
        snprintf(expected, sizeof expected, "%s: line 5, at byte ", scratch("one"));
        assert_memory_equal(work.err.text, expected, strlen(expected));
    }
}

static void an_open_quote_is_named_where_a_record_is_too_long(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("csv:1", "1,\"a\n2,b\n3,c\n4,d\n");
        char expected[300];
        work.options.max_record = 7;
        assert_int_equal(run(&work, batch), TAMIS_E_TOO_LONG);
        snprintf(
            expected, sizeof expected,
            "%s: record 1, at byte 0, is longer than 7 bytes, and a quote that opened in it is not closed "
            "by then; close it, or allow longer records",
            scratch("one"));
        assert_string_equal(work.err.text, expected);
        job closed = JOB("csv:1", "1,\"a\",cccccccc\n");
        closed.options.max_record = 7;
        assert_int_equal(run(&closed, batch), TAMIS_E_TOO_LONG);
        snprintf(expected, sizeof expected,
                 "%s: record 1, at byte 0, is longer than 7 bytes; allow longer records, or check which byte "
                 "ends them",
                 scratch("one"));
        assert_string_equal(closed.err.text, expected);
    }
}

/* ---- marks ---- */

static void a_column_says_the_answer(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("csv:id", "name,id\nx,a\nx,see\nshort\ny,b");
        work.options.marking = TAMIS_STREAM_COLUMN;
        assert_int_equal(run(&work, batch), TAMIS_OK);
        assert_true(file_is(scratch("fresh"), "fresh\tname,id\n1\tx,a\n0\tx,see\n-\tshort\n1\ty,b"));
    }
}

static void a_member_says_the_answer(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("json:/k", "{\"k\":\"a\"}\n{\"k\":\"s\" } \r\n{ }\n[1]\n{\"k\n{\"k\":2}");
        work.options.marking = TAMIS_STREAM_MEMBER;
        work.options.malformed = TAMIS_STREAM_PASS;
        work.options.mark_name = "a \"new\" one\n";
        assert_int_equal(run(&work, batch), TAMIS_OK);
        assert_true(file_is(scratch("fresh"), "{\"k\":\"a\",\"a \\\"new\\\" one\\u000a\":true}\n"
                                              "{\"k\":\"s\" ,\"a \\\"new\\\" one\\u000a\":false} \r\n"
                                              "{ \"a \\\"new\\\" one\\u000a\":null}\n"
                                              "[1]\n{\"k\n"
                                              "{\"k\":2,\"a \\\"new\\\" one\\u000a\":true}"));
    }
}

static void records_that_leave_no_space_for_a_mark_are_not_queried(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("json:", " {\"k\":1}\n\"s\"\n7\n");
        char expected[256];
        work.options.marking = TAMIS_STREAM_MEMBER;
        assert_int_equal(run(&work, batch), TAMIS_E_RECORD);
        snprintf(expected, sizeof expected,
                 "%s: line 2, at byte 9: it is not an object, and cannot have a mark", scratch("one"));
        assert_string_equal(work.err.text, expected);
        work.options.malformed = TAMIS_STREAM_PASS;
        assert_int_equal(run(&work, batch), TAMIS_OK);
        assert_true(file_is(scratch("fresh"), " {\"k\":1,\"fresh\":true}\n\"s\"\n7\n"));
        assert_int_equal(work.stats.malformed, 2);
    }
}

static void impossible_marks_are_refused(void **state) {
    (void)state;
    job work = JOB("field:1", "a\n");
    work.options.marking = TAMIS_STREAM_MEMBER;
    assert_int_equal(run(&work, 1), TAMIS_E_INVALID);
    work.options.marking = TAMIS_STREAM_COLUMN;
    work.options.duplicates = scratch("seen");
    assert_int_equal(run(&work, 1), TAMIS_E_INVALID);
}

/* ---- byte order marks ---- */

/* The mark of the first input is written in front of both outputs, wherever its first record goes. Marks
 * of other inputs are not written. */
static void a_byte_order_mark_is_in_no_record(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("json:/k", BOM "{\"k\":\"s\"}\n{\"k\":\"a\"}\n", BOM "\n \n", BOM "{\"k\":\"b\"}");
        assert_int_equal(run(&work, batch), TAMIS_OK);
        assert_true(file_is(scratch("fresh"), BOM "{\"k\":\"a\"}\n\n \n{\"k\":\"b\"}"));
        assert_true(file_is(scratch("seen"), BOM "{\"k\":\"s\"}\n"));
        assert_string_equal(work.noted.text_log, "one 1 s;one 2 a;three 1 b;");
        assert_int_equal(work.stats.missing, 2);
        job later = JOB("json:/k", BOM, "{\"k\":\"a\"}\n", BOM "{\"k\":\"b\"}\n");
        assert_int_equal(run(&later, batch), TAMIS_OK);
        assert_true(file_is(scratch("fresh"), "{\"k\":\"a\"}\n{\"k\":\"b\"}\n"));
        assert_int_equal(later.stats.records, 2);
        job wrong = JOB("json:/k", BOM "{\"k\":\"a\"}\n", BOM "{\"k\"\n");
        char expected[256];
        assert_int_equal(run(&wrong, batch), TAMIS_E_RECORD);
        snprintf(expected, sizeof expected, "%s: line 1, at byte 7: ", scratch("two"));
        assert_memory_equal(wrong.err.text, expected, strlen(expected));
    }
}

/* The mark also precedes the name of a marked column. */
static void a_byte_order_mark_precedes_marks(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job work = JOB("field:1", BOM "id\na\n", BOM "id\nsee\n");
        work.options.header = true;
        work.options.marking = TAMIS_STREAM_COLUMN;
        assert_int_equal(run(&work, batch), TAMIS_OK);
        assert_true(file_is(scratch("fresh"), BOM "fresh\tid\n1\ta\n0\tsee\n"));
    }
}

static void read_text(const char *name, char text[static 200]) {
    test_bytes bytes = {0};
    file_read(name, &bytes);
    assert_true(bytes.size < 200);
    memcpy(text, bytes.data, bytes.size);
    text[bytes.size] = '\0';
    bytes_clear(&bytes);
}

static void a_written_plan_is_parsed_back(void **state) {
    (void)state;
    static const struct {
        const char *part, *text, *second_text, *text_log;
    } cases[] = {
        {"json:/k", BOM "{\"k\":\"a\"}\n", BOM "{\"k\":\"b\"}\n", "one 1 a;one 2 b;"},
        {"json:/k", BOM "{\"k\":\"s\"}\n{\"k\":\"a\"}", BOM "{\"k\":\"b\"}", "one 1 a;one 2 b;"},
        {"csv:1", BOM "\"a\nb\",x\n", BOM "\"b\"", "one 1 a\nb;one 2 b;"},
        {"csv:id", BOM "id,x\r\n\"a\",1", BOM "id,x\r\nb,2", "one 2 a;one 3 b;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        job first = JOB(cases[i].part, cases[i].text, cases[i].second_text);
        assert_int_equal(run(&first, 2), TAMIS_OK);
        read_text(scratch("fresh"), text);
        job again = JOB(cases[i].part, text);
        assert_int_equal(run(&again, 2), TAMIS_OK);
        assert_string_equal(again.noted.text_log, cases[i].text_log);
        assert_true(file_is(scratch("fresh"), text));
    }
}

static void a_byte_order_mark_is_no_part_of_a_key(void **state) {
    (void)state;
    for (size_t batch = 1; batch < BATCHES; batch++) {
        job csv = JOB("csv:1", "\xef\xbb\xbf\"a\nb\",x\nc\n", "\xef\xbb");
        assert_int_equal(run(&csv, batch), TAMIS_OK);
        assert_string_equal(csv.noted.text_log, "one 1 a\nb;one 2 c;two 1 \xef\xbb;");
    }
    job line = JOB("line", "\xef\xbb\xbf"
                           "a\n");
    assert_int_equal(run(&line, 4), TAMIS_OK);
    assert_string_equal(line.noted.text_log, "one 1 \xef\xbb\xbf"
                                             "a;");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_without_key_follow_the_policy, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_record_without_key_may_end_the_run, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(malformed_records_follow_the_policy, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(enough_comes_before_what_is_wrong, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(the_first_malformed_record_is_reported, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(an_open_quote_is_reported_with_its_lines, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_header_is_read_once, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(another_header_ends_the_run, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(an_unusable_header_is_reported_with_its_position, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_delimiter_that_ends_records_is_refused, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(lines_are_counted_within_quotes, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(an_open_quote_is_named_where_a_record_is_too_long, scratch_set_up,
                                        scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_column_says_the_answer, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_member_says_the_answer, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(records_that_leave_no_space_for_a_mark_are_not_queried,
                                        scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(impossible_marks_are_refused, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_byte_order_mark_is_in_no_record, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_byte_order_mark_precedes_marks, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_written_plan_is_parsed_back, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(a_byte_order_mark_is_no_part_of_a_key, scratch_set_up,
                                        scratch_tear_down),
    };
    test_run_with_threads(tests);
}
