/* SPDX-License-Identifier: BSD-2-Clause */
/* The wrapper (cli_typed) that encodes records as typed keys before it calls a service: its queries,
 * answers and errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/tamis.h>

/* The command is not a library, so the tested files are compiled in. */
#include "cli/core/cli_error.c"
#include "cli/core/cli_text.c"
#include "cli/input/cli_key.c"
#include "cli/input/cli_typed.c"

enum { LOG = 1000 };

/* A service that logs its keys in hexadecimal digits, each followed by a blank. It answers `limit` keys,
 * then fails. */
typedef struct logger {
    char log[LOG];
    size_t used, queried, calls, limit;
    const char *input; /* position reported to it */
    uint64_t record;
    bool enough;
} logger;

static logger inner;

static tamis_status log_keys(void *context, const tamis_stream_batch *batch, size_t *done, tamis_error *err) {
    logger *s = context;
    const tamis_key *keys = batch->keys;
    s->calls++;
    assert_true(batch->count > 0);
    for (*done = 0; *done < batch->count; ++*done) {
        const unsigned char *bytes = keys[*done].data;
        if (s->queried == s->limit) {
            cli_fail(err, "filter: full; make it larger");
            return TAMIS_E_FULL;
        }
        for (size_t i = 0; i < keys[*done].size; i++)
            s->used += (size_t)snprintf(s->log + s->used, LOG - s->used, "%02x", bytes[i]);
        s->used += (size_t)snprintf(s->log + s->used, LOG - s->used, " ");
        assert_true(s->used < LOG - 1);
        batch->answers[*done] = s->queried++ % 2 ? TAMIS_PRESENT : TAMIS_ABSENT;
    }
    return TAMIS_OK;
}

static tamis_key mark_number(void *context, size_t i) {
    static char text[20];
    (void)context;
    snprintf(text, sizeof text, "%zu", i);
    return (tamis_key){text, strlen(text)};
}

static bool had_enough(void *context) {
    return ((logger *)context)->enough;
}

static void note_source(void *context, const tamis_stream_source *source) {
    ((logger *)context)->input = source->input;
    ((logger *)context)->record = source->first;
}

/* Sets the position of the next keys, as a run does. */
static void position_at(const cli_typed *typed, const char *input, uint64_t first,
                        const uint32_t *record_index) {
    const tamis_stream_source source = {sizeof source, input, first, NULL, record_index};
    typed->service.set_source(typed->service.context, &source);
}

static void begin_typed(cli_typed *typed, cli_key_form form) {
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    memset(&inner, 0, sizeof inner);
    inner.limit = SIZE_MAX;
    service.context = &inner;
    service.query = log_keys;
    assert_int_equal(cli_typed_begin(typed, form, &service, &err), TAMIS_OK);
}

static tamis_status query_texts(cli_typed *typed, const char *const *texts, size_t count, size_t *done,
                                tamis_error *err) {
    tamis_key keys[16];
    tamis_answer answers[16];
    for (size_t i = 0; i < count; i++)
        keys[i] = (tamis_key){texts[i], strlen(texts[i])};
    tamis_stream_batch batch = TAMIS_STREAM_BATCH_INIT;
    batch.count = count;
    batch.keys = keys;
    batch.answers = answers;
    return typed->service.query(typed->service.context, &batch, done, err);
}

/* Encodes one key. Returns the logged query, or "" with the error. */
static const char *key_of(cli_key_form form, const char *text, tamis_error *err) {
    static char log[LOG];
    cli_typed typed;
    size_t done = 77;
    begin_typed(&typed, form);
    tamis_status status = query_texts(&typed, &text, 1, &done, err);
    assert_int_equal(done, status == TAMIS_OK);
    assert_int_equal(inner.calls, done);
    cli_typed_end(&typed);
    memcpy(log, inner.log, inner.used + 1);
    return log;
}

/* The command adds a subject and a remedy to the library's error about a text. */
static void errors_name_the_options(void **state) {
    static const struct {
        cli_key_form form;
        const char *text, *message;
    } cases[] = {
        {{.type = CLI_KEY_BYTES, .hex = true},
         "abc",
         "record 1 'abc': an odd number of hexadecimal digits, 3; give two for each byte"},
        {{.type = CLI_KEY_BYTES, .hex = true, .strip_cr = true},
         "ab\r",
         "record 1 'ab?': byte 0x0D at offset 2 is not a hexadecimal digit; give two digits for each byte, "
         "or "
         "leave --hex out"},
        {{.type = CLI_KEY_UTF8},
         "a;\xff",
         "record 1 'a;?': not UTF-8 at offset 2 (byte 0xFF); give UTF-8, or --type bytes"},
        {{.type = CLI_KEY_UTF16},
         "\xed\xa0\x80",
         "record 1 '\?\?\?': not UTF-8 at offset 0 (byte 0xED); give UTF-8, or --type bytes"},
        {{.type = CLI_KEY_INT32},
         "2147483648",
         "record 1 '2147483648': out of range; give one from -2147483648 to 2147483647, in decimal"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_error err = TAMIS_ERROR_INIT;
        assert_string_equal(key_of(cases[i].form, cases[i].text, &err), "");
        assert_int_equal(err.status, TAMIS_E_INVALID);
        assert_string_equal(err.text, cases[i].message);
    }
}

/* A quoted text is shortened, and its control characters do not reach a terminal. */
static void a_text_is_quoted_with_care(void **state) {
    char text[200];
    tamis_error err = TAMIS_ERROR_INIT;
    (void)state;
    memset(text, '\x1b', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    key_of((cli_key_form){.type = CLI_KEY_INT64}, text, &err);
    assert_string_equal(err.text,
                        "record 1 '????????????????????????????????????????????????????????????...': "
                        "not a whole number at offset 0 (byte 0x1B); give one from "
                        "-9223372036854775808 to 9223372036854775807, in decimal");
}

/* Keys in front of a bad one are queried once. A repeated call reports the bad one again. */
static void records_before_a_bad_one_are_answered(void **state) {
    static const struct {
        cli_key_form form;
        const char *texts[5], *log, *rest;
    } cases[] = {
        {{.type = CLI_KEY_BYTES, .hex = true}, {"01", "02", "0", "03", "04"}, "01 02 ", "01 02 03 04 "},
        {{.type = CLI_KEY_UTF8}, {"a", "b", "\x80", "c", "d"}, "61 62 ", "61 62 63 64 "},
        {{.type = CLI_KEY_UTF16}, {"a", "b", "\xe2\x82", "c", "d"}, "6100 6200 ", "6100 6200 6300 6400 "},
        {{.type = CLI_KEY_INT32},
         {"1", "2", "x", "3", "4"},
         "01000000 02000000 ",
         "01000000 02000000 03000000 04000000 "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *texts = cases[i].texts;
        tamis_error err = TAMIS_ERROR_INIT, again = TAMIS_ERROR_INIT;
        cli_typed typed;
        size_t done = 77;
        begin_typed(&typed, cases[i].form);
        position_at(&typed, "in", 10, NULL);
        assert_int_equal(query_texts(&typed, texts, 5, &done, &err), TAMIS_E_INVALID);
        assert_int_equal(done, 2);
        assert_string_equal(inner.log, cases[i].log);
        assert_memory_equal(err.text, "in: record 12 '", 15);
        assert_int_equal(query_texts(&typed, texts + 2, 3, &done, &again), TAMIS_E_INVALID);
        assert_int_equal(done, 0);
        assert_string_equal(again.text, err.text);
        assert_int_equal(inner.calls, 1);
        assert_int_equal(query_texts(&typed, texts + 3, 2, &done, &err), TAMIS_OK);
        assert_int_equal(done, 2);
        assert_string_equal(inner.log, cases[i].rest);
        cli_typed_end(&typed);
    }
}

/* If some records have no key, the error has the number of the record, not of the key. */
static void records_without_key_are_counted(void **state) {
    static const uint32_t record_index[] = {0, 3, 4, 9, 12};
    static const char *const texts[] = {"1", "2", "3", "x", "5"};
    tamis_error err = TAMIS_ERROR_INIT;
    cli_typed typed;
    size_t done = 77;
    (void)state;
    begin_typed(&typed, (cli_key_form){.type = CLI_KEY_INT32});
    position_at(&typed, "in", 100, record_index);
    assert_int_equal(query_texts(&typed, texts, 5, &done, &err), TAMIS_E_INVALID);
    assert_int_equal(done, 3);
    assert_memory_equal(err.text, "in: record 109 'x'", 18);
    inner.limit = 2;
    inner.queried = 0;
    position_at(&typed, "in", 100, record_index);
    assert_int_equal(query_texts(&typed, texts, 3, &done, &err), TAMIS_E_FULL);
    assert_int_equal(done, 2);
    inner.limit = SIZE_MAX;
    assert_int_equal(query_texts(&typed, texts + 2, 2, &done, &err), TAMIS_E_INVALID);
    assert_int_equal(done, 1);
    assert_memory_equal(err.text, "in: record 109 'x'", 18);
    cli_typed_end(&typed);
}

/* A service that stops early is called again from there. Its error counts more than that of a later key. */
static void a_service_may_stop_on_the_way(void **state) {
    static const char *const texts[] = {"1", "2", "3", "4", "x"};
    tamis_error err = TAMIS_ERROR_INIT;
    cli_typed typed;
    size_t done = 77;
    (void)state;
    begin_typed(&typed, (cli_key_form){.type = CLI_KEY_INT32});
    inner.limit = 3;
    assert_int_equal(query_texts(&typed, texts, 5, &done, &err), TAMIS_E_FULL);
    assert_int_equal(done, 3);
    assert_string_equal(err.text, "filter: full; make it larger");
    inner.limit = SIZE_MAX;
    assert_int_equal(query_texts(&typed, texts + done, 2, &done, &err), TAMIS_E_INVALID);
    assert_int_equal(done, 1);
    assert_memory_equal(err.text, "record 5 'x'", 12);
    assert_string_equal(inner.log, "01000000 02000000 03000000 04000000 ");
    cli_typed_end(&typed);
}

static void the_rest_of_a_service_is_passed_through(void **state) {
    tamis_stream_service service = TAMIS_STREAM_SERVICE_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    cli_typed typed;
    (void)state;
    begin_typed(&typed, (cli_key_form){.type = CLI_KEY_UTF8});
    assert_null(typed.service.mark);
    assert_null(typed.service.enough);
    cli_typed_end(&typed);
    memset(&inner, 0, sizeof inner);
    service.context = &inner;
    service.query = log_keys;
    service.mark = mark_number;
    service.enough = had_enough;
    service.set_source = note_source;
    assert_int_equal(
        cli_typed_begin(&typed, (cli_key_form){.type = CLI_KEY_BYTES, .hex = true}, &service, &err),
        TAMIS_OK);
    assert_false(typed.service.enough(typed.service.context));
    inner.enough = true;
    assert_true(typed.service.enough(typed.service.context));
    assert_memory_equal(typed.service.mark(typed.service.context, 41).data, "41", 2);
    position_at(&typed, "there", 6, NULL);
    assert_string_equal(inner.input, "there");
    assert_int_equal(inner.record, 6);
    cli_typed_end(&typed);
}

/* Keys without a type go to the service directly. */
static void plain_keys_bypass_the_wrapper(void **state) {
    cli_typed typed;
    (void)state;
    begin_typed(&typed, (cli_key_form){.type = CLI_KEY_BYTES});
    assert_ptr_equal(typed.service.query, log_keys);
    assert_ptr_equal(typed.service.context, &inner);
    assert_null(typed.service.set_source);
    assert_null(typed.maker);
    cli_typed_end(&typed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_the_options),
        cmocka_unit_test(a_text_is_quoted_with_care),
        cmocka_unit_test(records_before_a_bad_one_are_answered),
        cmocka_unit_test(records_without_key_are_counted),
        cmocka_unit_test(a_service_may_stop_on_the_way),
        cmocka_unit_test(the_rest_of_a_service_is_passed_through),
        cmocka_unit_test(plain_keys_bypass_the_wrapper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
