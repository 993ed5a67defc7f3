/* SPDX-License-Identifier: BSD-2-Clause */

/* Values of JSON records by pointer, case by case: RFC 8259's grammar, RFC 6901's pointers, and what is said of a record
 * that is no JSON. Beside an oracle: test_stream_json_random.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stream/find.h"
#include "support/fault.h"
#include "support/json_oracle.h"
#include "support/scratch.h"

enum { MOST = 16 };

/* What was found in one record, which is gone. */
static tamis_status status;
static tamis__fault fault;
static bool there[MOST];
static test_bytes found[MOST];
static size_t taken; /* bytes that do not stand in the record */

static void forget(void) {
    for (int i = 0; i < MOST; i++) {
        bytes_clear(&found[i]);
        there[i] = false;
    }
    taken = 0;
}

/* Looks in a record of just its size, so that a sanitizer sees a look past its end. */
static void look_all(const char *const *pointers, size_t count, const void *text, size_t size) {
    tamis__json *json = NULL;
    tamis__arena arena = {.memory = tamis__allocator_resolve(NULL)};
    tamis_key values[MOST];
    size_t which;
    unsigned char *record = malloc(size ? size : 1);
    assert_non_null(record);
    if (size)
        memcpy(record, text, size);
    forget();
    fault = (tamis__fault){0};
    assert_int_equal(tamis__json_create(&json, pointers, count, NULL, &which, &fault), TAMIS_OK);
    status = tamis__json_find(json, (tamis_key){size ? record : NULL, size}, values, &arena, &fault);
    assert_true(status == TAMIS_OK || (status == TAMIS_E_DAMAGED && fault.why && fault.at <= size));
    for (size_t i = 0; status == TAMIS_OK && i < count; i++) {
        const unsigned char *data = values[i].data;
        there[i] = data != NULL;
        assert_true(data || values[i].size == 0);
        bytes_add(&found[i], data, values[i].size);
        if (data && !(data >= record && data + values[i].size <= record + size))
            taken += values[i].size;
    }
    tamis__arena_release(&arena);
    tamis__json_free(json);
    free(record);
}

static void look(const char *pointer, const void *text, size_t size) {
    look_all(&pointer, 1, text, size);
}

static void look_in(const char *pointer, const char *text) {
    look(pointer, text, strlen(text));
}

static void expect_bytes(size_t i, const void *want, size_t size) {
    assert_true(there[i]);
    assert_int_equal(found[i].size, size);
    if (size)
        assert_memory_equal(found[i].data, want, size);
}

static void expect(const char *pointer, const char *text, const char *want) {
    look_in(pointer, text);
    assert_int_equal(status, TAMIS_OK);
    if (want)
        expect_bytes(0, want, strlen(want));
    else
        assert_false(there[0]);
}

/* ---- the grammar ---- */

static void every_form_is_taken(void **state) {
    (void)state;
    static const char *const whole[] = {
        "0",
        "-0",
        "-1",
        "10",
        "1234567890123456789012345678901234567890",
        "0.0",
        "-0.00",
        "1.5e3",
        "1E+9",
        "1e-0",
        "0e1",
        "0E+1",
        "1e999",
        "-1e-999999999999999999999",
        "0.12345678901234567890",
        "123.456e78",
        "1e00",
        "true",
        "false",
        "[]",
        "{}",
        "[ ]",
        "{ }",
        "[1]",
        "[[]]",
        "[[], {}, [{}]]",
        "[true,false,null]",
        "{\"\":0}",
        "{\"a\":1,\"a\":2}",
        "{ \"a\" : [ 1 , 2 ] , \"b\" : { } }",
        "[\t1\r,\n2 ]",
        "[\"\\u0000\"]",
        "[\"\x7f\"]",
        "[\"\xc2\x80\",\"\xdf\xbf\",\"\xe0\xa0\x80\",\"\xed\x9f\xbf\"]",
        "[\"\xee\x80\x80\",\"\xef\xbf\xbf\",\"\xf0\x90\x80\x80\",\"\xf4\x8f\xbf\xbf\"]",
        "[\"\xef\xbb\xbf\"]",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\ude00\"]",
        "[\"\xe2\x80\xa8\xe2\x80\xa9\"]",
        "[1,\"2\",[3]]",
    };
    char text[256];
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        expect("", whole[i], whole[i]);
        assert_int_equal(taken, 0); /* a view */
        snprintf(text, sizeof text, " \t\r\n%s\n\r\t ", whole[i]);
        expect("", text, whole[i]);
        expect("/x", whole[i], NULL);
    }
}

static void strings_are_decoded(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"\"\"", ""},
        {"\"a\"", "a"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u007f\\u0080\\u07FF\\u0800\\uFfFf\"", "A\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"},
        {"\"\\ud800\\udc00\\uDBFF\\uDFFF\\uD83d\\ude00\"",
         "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xf0\x9f\x98\x80"},
        {"\"\\ud7ff\\ue000\"", "\xed\x9f\xbf\xee\x80\x80"},
        {"\"a\\u00e9b\xc3\xa9\"", "a\xc3\xa9"
                                  "b\xc3\xa9"},
        {"\"\\\\u0041\"", "\\u0041"},
        {"\"\\\\\"", "\\"},
        {"\"{\\\"a\\\":1}\"", "{\"a\":1}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        expect("", rows[i].text, rows[i].want);
        assert_int_equal(taken, strchr(rows[i].text, '\\') ? strlen(rows[i].want) : 0);
        snprintf(text, sizeof text, "{\"x\": [ %s ]}", rows[i].text);
        expect("/x/0", text, rows[i].want);
    }
    look_in("", "\"a\\u0000b\"");
    expect_bytes(0, "a\0b", 3);
}

static void nothing_is_no_value(void **state) {
    (void)state;
    look("", NULL, 0);
    assert_int_equal(status, TAMIS_OK);
    assert_false(there[0]);
    expect("", " ", NULL);
    expect("", "\t\r\n  ", NULL);
    expect("/a", "\n", NULL);
    expect("", "null", NULL);
    expect("/a", "{\"a\":null}", NULL);
    expect("/a/b", "{\"a\":null}", NULL);
    expect("/a", "{\"b\":1}", NULL);
    expect("/a", "{}", NULL);
    expect("/a", "[1]", NULL);
    expect("/a", "\"a\"", NULL);
    expect("/a/b", "{\"a\":\"b\"}", NULL);
    expect("/0", "{\"a\":\"b\"}", NULL);
    expect("/a", "{\"a\":\"\"}", ""); /* a value, of no bytes */
    expect("/a", "{\"a\":\"null\"}", "null");
}

/* ---- what is no JSON ---- */

#define TEXT(text) text, sizeof text - 1

static const struct {
    const char *text;
    size_t size;
    size_t at;
    const char *why;
} bad[] = {
    {TEXT("{\"a\":1"), 6, "an object is not closed"},
    {TEXT("{\"a\":1,"), 7, "an object is not closed"},
    {TEXT("{"), 1, "an object is not closed"},
    {TEXT("[1"), 2, "an array is not closed"},
    {TEXT("[1,"), 3, "a value is missing"},
    {TEXT("["), 1, "a value is missing"},
    {TEXT("[[]"), 3, "an array is not closed"},
    {TEXT("[1,]"), 3, "a value is missing"},
    {TEXT("[,1]"), 1, "a value is missing"},
    {TEXT("[1,,2]"), 3, "a value is missing"},
    {TEXT("{\"a\":}"), 5, "a value is missing"},
    {TEXT("{\"a\""), 4, "a colon is missing"},
    {TEXT("{\"a\" 1}"), 5, "a colon is missing"},
    {TEXT("{\"a\"}"), 4, "a colon is missing"},
    {TEXT("{\"a\"::1}"), 5, "a value is missing"},
    {TEXT("{\"a\":1,}"), 7, "a name is missing"},
    {TEXT("{,\"a\":1}"), 1, "a name is missing"},
    {TEXT("{a:1}"), 1, "a name is missing"},
    {TEXT("{'a':1}"), 1, "a name is missing"},
    {TEXT("{1:1}"), 1, "a name is missing"},
    {TEXT("{\"a\":1 \"b\":2}"), 7, "neither a comma nor }"},
    {TEXT("{\"a\":1]"), 6, "neither a comma nor }"},
    {TEXT("[1 2]"), 3, "neither a comma nor ]"},
    {TEXT("[1}"), 2, "neither a comma nor ]"},
    {TEXT("[\"a\":1]"), 4, "neither a comma nor ]"},
    {TEXT("[1]]"), 3, "something stands behind the value"},
    {TEXT("{} {}"), 3, "something stands behind the value"},
    {TEXT("1 2"), 2, "something stands behind the value"},
    {TEXT("[1]\0"), 3, "something stands behind the value"},
    {TEXT("[1]\f"), 3, "something stands behind the value"},
    {TEXT("[]//"), 2, "something stands behind the value"},
    {TEXT("]"), 0, "a value is missing"},
    {TEXT(","), 0, "a value is missing"},
    {TEXT("\0"), 0, "a value that JSON does not have"},
    {TEXT("\v1"), 0, "a value that JSON does not have"},
    {TEXT("[\xc2\xa0]"), 1, "a value that JSON does not have"},
    {TEXT("NaN"), 0, "a value that JSON does not have"},
    {TEXT("[Infinity]"), 1, "a value that JSON does not have"},
    {TEXT("nul"), 0, "a value that JSON does not have"},
    {TEXT("[True]"), 1, "a value that JSON does not have"},
    {TEXT("[fals]"), 1, "a value that JSON does not have"},
    {TEXT("truefalse"), 4, "something stands behind the value"},
    {TEXT("'a'"), 0, "a value that JSON does not have"},
    {TEXT("/*a*/1"), 0, "a value that JSON does not have"},
    {TEXT("+1"), 0, "a value that JSON does not have"},
    {TEXT(".5"), 0, "a value that JSON does not have"},
    {TEXT("[-]"), 2, "a digit is missing"},
    {TEXT("-"), 1, "a digit is missing"},
    {TEXT("-Infinity"), 1, "a digit is missing"},
    {TEXT("--1"), 1, "a digit is missing"},
    {TEXT("1."), 2, "a digit is missing"},
    {TEXT("[1.]"), 3, "a digit is missing"},
    {TEXT("1.e1"), 2, "a digit is missing"},
    {TEXT("1e"), 2, "a digit is missing"},
    {TEXT("1e+"), 3, "a digit is missing"},
    {TEXT("[1E-]"), 4, "a digit is missing"},
    {TEXT("01"), 0, "a number begins with 0"},
    {TEXT("-00"), 1, "a number begins with 0"},
    {TEXT("-012.5"), 1, "a number begins with 0"},
    {TEXT("0x10"), 1, "something stands behind the value"},
    {TEXT("1e1.5"), 3, "something stands behind the value"},
    {TEXT("1_000"), 1, "something stands behind the value"},
    {TEXT("\""), 1, "a string is not closed"},
    {TEXT("[\"a]"), 4, "a string is not closed"},
    {TEXT("\"\\"), 2, "a string is not closed"},
    {TEXT("\"\\\""), 3, "a string is not closed"},
    {TEXT("{\"a"), 3, "a string is not closed"},
    {TEXT("\"a\nb\""), 2, "a control character in a string"},
    {TEXT("\"\0\""), 1, "a control character in a string"},
    {TEXT("\"\x1f\""), 1, "a control character in a string"},
    {TEXT("{\"\t\":1}"), 2, "a control character in a string"},
    {TEXT("\"\\x41\""), 1, "an escape that JSON does not have"},
    {TEXT("\"\\'\""), 1, "an escape that JSON does not have"},
    {TEXT("\"\\\0\""), 1, "an escape that JSON does not have"},
    {TEXT("\"a\\U0041\""), 2, "an escape that JSON does not have"},
    {TEXT("\"\\u\""), 1, "\\u without four hexadecimal digits"},
    {TEXT("\"\\u004"), 1, "\\u without four hexadecimal digits"},
    {TEXT("\"\\u004g\""), 1, "\\u without four hexadecimal digits"},
    {TEXT("\"\\u+123\""), 1, "\\u without four hexadecimal digits"},
    {TEXT("\"\\u00@0\""), 1, "\\u without four hexadecimal digits"},
    {TEXT("\"\\ud800\""), 1, "a surrogate without its other half"},
    {TEXT("\"\\udc00\""), 1, "a surrogate without its other half"},
    {TEXT("\"\\ud800\\ud800\""), 1, "a surrogate without its other half"},
    {TEXT("\"\\ud800\\n\""), 1, "a surrogate without its other half"},
    {TEXT("\"\\ud800\\udc0\""), 1, "a surrogate without its other half"},
    {TEXT("\"\\ud800udc00aaaa\""), 1, "a surrogate without its other half"},
    {TEXT("\"\\udc00\\ud800\""), 1, "a surrogate without its other half"},
    {TEXT("{\"\\udfff\":1}"), 2, "a surrogate without its other half"},
    {TEXT("\"\x80\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"a\xbf\""), 2, "bytes that are no UTF-8"},
    {TEXT("\"\xc0\x80\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xc1\xbf\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xc2\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xc2"), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xe0\x9f\xbf\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xe2\x82\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xe2\x28\xa1\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xed\xa0\x80\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xed\xbf\xbf\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xf0\x8f\xbf\xbf\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xf0\x9f\x98\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xf4\x90\x80\x80\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xf5\x80\x80\x80\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xff\""), 1, "bytes that are no UTF-8"},
    {TEXT("\"\xc3\xa9\xc3\xa9\xc3\""), 5, "bytes that are no UTF-8"},
    {TEXT("\xef\xbb\xbf{}"), 0, "a byte order mark"},
    {TEXT(" \xef\xbb\xbf{}"), 1, "a byte order mark"},
    {TEXT("\xef\xbb"), 0, "a value that JSON does not have"},
};

static void what_is_wrong_is_said(void **state) {
    (void)state;
    static const char *const pointers[] = {"", "/a", "/0", "/a/b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        look_all(pointers, 4, bad[i].text, bad[i].size);
        assert_int_equal(status, TAMIS_E_DAMAGED);
        assert_string_equal(fault.why, bad[i].why);
        assert_int_equal(fault.at, bad[i].at);
        assert_null(json_tree_read(bad[i].text, bad[i].size)); /* the oracle does not take it either */
    }
}

/* A fault counts wherever it is: behind the value that is asked for too. */
static void all_of_a_record_is_checked(void **state) {
    (void)state;
    char text[300];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        static const char head[] = "{\"a\":\"found\",\"b\":[", tail[] = "]}";
        size_t size = sizeof head - 1;
        memcpy(text, head, size);
        memcpy(text + size, bad[i].text, bad[i].size);
        size += bad[i].size;
        memcpy(text + size, tail, sizeof tail - 1);
        look("/a", text, size + sizeof tail - 1);
        assert_int_equal(status, TAMIS_E_DAMAGED);
    }
}

/* ---- pointers ---- */

static void examples_of_rfc_6901(void **state) {
    (void)state;
    static const char text[] = "{\"foo\": [\"bar\", \"baz\"], \"\": 0, \"a/b\": 1, \"c%d\": 2, \"e^f\": 3, "
                               "\"g|h\": 4, \"i\\\\j\": 5, "
                               "\"k\\\"l\": 6, \" \": 7, \"m~n\": 8}";
    static const char *const pointers[] = {"",     "/foo", "/foo/0", "/",     "/a~1b", "/c%d",
                                           "/e^f", "/g|h", "/i\\j",  "/k\"l", "/ ",    "/m~0n"};
    static const char *const want[] = {
        text, "[\"bar\", \"baz\"]", "bar", "0", "1", "2", "3", "4", "5", "6", "7", "8"};
    look_all(pointers, 12, text, sizeof text - 1);
    assert_int_equal(status, TAMIS_OK);
    for (size_t i = 0; i < 12; i++) {
        expect_bytes(i, want[i], strlen(want[i]));
    }
    for (size_t i = 0; i < 12; i++) /* and one by one */
        expect(pointers[i], text, want[i]);
}

static void elements_are_counted(void **state) {
    (void)state;
    static const char text[] = "[0,1,[20,21],{\"0\":30,\"01\":31,\"-\":32},\"4\",5,6,7,8,9,10]";
    expect("/0", text, "0");
    expect("/2", text, "[20,21]");
    expect("/2/1", text, "21");
    expect("/2/2", text, NULL);
    expect("/3/0", text, "30");
    expect("/3/01", text, "31");
    expect("/3/-", text, "32");
    expect("/4", text, "4");
    expect("/10", text, "10");
    expect("/11", text, NULL);
    expect("/01", text, NULL);
    expect("/00", text, NULL);
    expect("/-", text, NULL);
    expect("/-1", text, NULL);
    expect("/+1", text, NULL);
    expect("/1 ", text, NULL);
    expect("/", text, NULL);
    expect("/1e0", text, NULL);
    expect("/18446744073709551616", text, NULL); /* 2^64: not 0 */
    expect("/18446744073709551615", text, NULL);
    expect("/10000000000000000000", text, NULL);
}

static void the_last_of_a_name_counts(void **state) {
    (void)state;
    expect("/a", "{\"a\":1,\"a\":2}", "2");
    expect("/a", "{\"a\":1,\"a\":null}", NULL);
    expect("/a", "{\"a\":1,\"\\u0061\":\"\\u0062\"}", "b");
    expect("/a", "{\"\\u0061\":\"\\u0062\",\"a\":\"c\\\\\"}", "c\\");
    expect("/a", "{\"a\":\"\\n\",\"a\":\"n\"}", "n");
    expect("/a", "{\"a\":\"\\n\",\"a\":[\"\\n\"]}", "[\"\\n\"]");
    expect("/a", "{\"a\":\"\\n\",\"a\":12}", "12");
    expect("/a/b", "{\"a\":{\"b\":1},\"a\":{\"c\":2}}", NULL);
    expect("/a/b", "{\"a\":{\"b\":1},\"a\":3}", NULL);
    expect("/a/b", "{\"a\":{\"b\":1},\"a\":[]}", NULL);
    expect("/a/b", "{\"a\":{\"b\":1,\"b\":2},\"c\":{\"b\":3}}", "2");
    expect("/a/b", "{\"a\":{\"b\":1},\"a\":{\"b\":2,\"b\":3}}", "3");
    expect("/a/b/0", "{\"a\":{\"b\":[1]},\"a\":{\"b\":{\"0\":2}}}", "2");
    expect("/a/b/0", "{\"a\":{\"b\":[1],\"b\":[]}}", NULL);
    expect("/a/0/b", "{\"a\":[{\"b\":1,\"b\":2},{\"b\":3}]}", "2");
    static const char text[] = "{\"a\":{\"b\":1,\"c\":{\"d\":4}},\"a\":{\"c\":2}}";
    static const char *const pointers[] = {"/a/b", "/a/c", "/a", "", "/a/c/d"};
    look_all(pointers, 5, text, sizeof text - 1);
    assert_false(there[0]);
    expect_bytes(1, "2", 1);
    expect_bytes(2, "{\"c\":2}", 7);
    expect_bytes(3, text, sizeof text - 1);
    assert_false(there[4]);
}

static void names_are_whole_and_decoded(void **state) {
    (void)state;
    expect("/event_id", "{\"x\":\"\\\"event_id\\\":7\",\"event_idx\":1,\"event_i\":2,\"event_id\":3}", "3");
    expect("/event_id", "{\"x\":\"event_id\",\"y\":{\"event_id\":1},\"z\":[{\"event_id\":2}]}", NULL);
    expect("/event_id", "[{\"event_id\":2}]", NULL);
    expect("/caf\xc3\xa9", "{\"caf\\u00e9\":1}", "1");
    expect("/caf\xc3\xa9", "{\"caf\xc3\xa9\":1}", "1");
    expect("/caf\xc3\xa9", "{\"cafe\xcc\x81\":1}", NULL); /* bytes, not what looks the same */
    expect("/\xf0\x9f\x98\x80", "{\"\\uD83D\\uDE00\":1}", "1");
    expect("/~01", "{\"~1\":1,\"/\":2}", "1");
    expect("/~1", "{\"~1\":1,\"\\/\":2}", "2");
    expect("/a\nb", "{\"a\\nb\":1}", "1");
    expect("/a", "{\"a\\u0000\":1}", NULL);
    expect("/ab", "{\"a\\u0000b\":1,\"a\":2,\"\\u0061\":3,\"abc\":4,\"\\u0061bc\":5}", NULL);
    expect("//a//", "{\"\":{\"a\":{\"\":{\"\":1}}}}", "1");
}

static void many_at_once(void **state) {
    (void)state;
    static const char text[] =
        "{\"b\":{\"x\":1,\"y\":[10,11,{\"z\":\"\\u007a\"}]},\"a!b\":2,\"a\":{\"b\":3},\"c\":null}";
    static const char *const pointers[] = {"/b/y/2/z", "/a!b", "/a", "/b/y/2", "/a/b",     "/b/y/0",
                                           "/b",       "/a/b", "/c", "/b/x",   "/b/y/1/q", "/b/y/2/z"};
    static const char *const want[] = {"z",
                                       "2",
                                       "{\"b\":3}",
                                       "{\"z\":\"\\u007a\"}",
                                       "3",
                                       "10",
                                       "{\"x\":1,\"y\":[10,11,{\"z\":\"\\u007a\"}]}",
                                       "3",
                                       NULL,
                                       "1",
                                       NULL,
                                       "z"};
    look_all(pointers, 12, text, sizeof text - 1);
    assert_int_equal(status, TAMIS_OK);
    for (size_t i = 0; i < 12; i++)
        if (want[i])
            expect_bytes(i, want[i], strlen(want[i]));
        else
            assert_false(there[i]);
    look_all(NULL, 0, text, sizeof text - 1); /* syntax alone */
    assert_int_equal(status, TAMIS_OK);
}

static void pointers_that_are_none(void **state) {
    (void)state;
    static const struct {
        const char *pointer;
        size_t at;
    } rows[] = {{"a", 0},      {"#/a", 0},  {"~0", 0},     {"/~", 1},
                {"/a/~2b", 3}, {"/~~0", 1}, {"/a\xff", 2}, {"/\xed\xa0\x80", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const pointers[] = {"", "/a/b", rows[i].pointer, "x"};
        tamis__json *json = NULL;
        size_t which = 9;
        fault = (tamis__fault){0};
        assert_int_equal(tamis__json_create(&json, pointers, 4, NULL, &which, &fault), TAMIS_E_INVALID);
        assert_null(json);
        assert_int_equal(which, 2);
        assert_int_equal(fault.at, rows[i].at);
        assert_non_null(fault.why);
    }
    tamis__json_free(NULL);
}

/* ---- sizes ---- */

static void depth_has_no_limit(void **state) {
    (void)state;
    const size_t depth = (size_t)test_scale(3000000, 1000000, 1000000);
    char *text = malloc(12 * depth);
    char *at = text;
    assert_non_null(text);
    for (size_t i = 0; i < depth; i++)
        at = i % 3 == 2 ? (char *)memcpy(at, "{\"a\":", 5) + 5 : (char *)memcpy(at, "[", 1) + 1;
    char *middle = at;
    *at++ = '1';
    for (size_t i = depth; i-- > 0;)
        *at++ = i % 3 == 2 ? '}' : ']';
    const size_t size = (size_t)(at - text);
    static const char *const pointers[] = {"", "/0/0/a/0", "/0/0/a/0/0/b"};
    look_all(pointers, 3, text, size);
    assert_int_equal(status, TAMIS_OK);
    expect_bytes(0, text, size);
    expect_bytes(1, text + 8, size - 12);
    assert_false(there[2]);

    look("/0", text, size - 1);
    assert_int_equal(status, TAMIS_E_DAMAGED);
    assert_int_equal(fault.at, size - 1);
    look("/0", text, (size_t)(middle - text));
    assert_int_equal(status, TAMIS_E_DAMAGED);
    at = middle + 1 + depth / 2;
    *at = *at == ']' ? '}' : ']';
    look("", text, size);
    assert_int_equal(status, TAMIS_E_DAMAGED);
    assert_int_equal(fault.at, at - text);
    free(text);
}

static void megabytes_are_values(void **state) {
    (void)state;
    static const char *const pieces[] = {"a", "\xc3\xa9", "\\n", "\\ud83d\\ude00", "0"};
    static const char *const decoded[] = {"a", "\xc3\xa9", "\n", "\xf0\x9f\x98\x80", "0"};
    for (size_t i = 0; i < 5; i++) {
        const char *quote = i == 4 ? "" : "\""; /* a number, that is */
        test_bytes text = {0}, want = {0};
        bytes_add(&text, "{\"k\":", 5);
        bytes_add(&text, quote, strlen(quote));
        bytes_add(&text, "1", 1);
        bytes_add(&want, "1", 1);
        while (text.size < 1 << 20) {
            bytes_add(&text, pieces[i], strlen(pieces[i]));
            bytes_add(&want, decoded[i], strlen(decoded[i]));
        }
        bytes_add(&text, quote, strlen(quote));
        bytes_add(&text, "}", 1);
        look("/k", text.data, text.size);
        assert_int_equal(status, TAMIS_OK);
        expect_bytes(0, want.data, want.size);
        bytes_clear(&text);
        bytes_clear(&want);
    }
}

/* ---- memory ---- */

static void memory_that_runs_out(void **state) {
    (void)state;
    static const char *const pointers[] = {"/a", "/b/0"};
    char deep[2100] = "{\"a\":\"\\u0041\",\"b\":";
    memset(deep + strlen(deep), '[', 2000);
    const size_t size = strlen(deep);
    for (uint64_t n = 1;; n++) {
        fault_memory memory = {.fail_at = n};
        const tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis__arena arena = {.memory = allocator};
        tamis__json *json = NULL;
        tamis_key values[2];
        size_t which;
        status = tamis__json_create(&json, pointers, 2, &allocator, &which, &fault);
        if (status == TAMIS_OK)
            status = tamis__json_find(json, (tamis_key){deep, size}, values, &arena, &fault);
        const bool refused = memory.refused > 0;
        assert_int_equal(status, refused ? TAMIS_E_NOMEM : TAMIS_E_DAMAGED);
        if (json) { /* it goes on being of use */
            memory.fail_at = 0;
            assert_int_equal(
                tamis__json_find(json, (tamis_key){"{\"a\":\"\\u0041\"}", 14}, values, &arena, &fault),
                TAMIS_OK);
            assert_memory_equal(values[0].data, "A", 1);
            assert_null(values[1].data);
        }
        tamis__arena_release(&arena);
        tamis__json_free(json);
        assert_int_equal(memory.live_blocks, 0);
        if (!refused)
            break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_taken),         cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(nothing_is_no_value),         cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(all_of_a_record_is_checked),  cmocka_unit_test(examples_of_rfc_6901),
        cmocka_unit_test(elements_are_counted),        cmocka_unit_test(the_last_of_a_name_counts),
        cmocka_unit_test(names_are_whole_and_decoded), cmocka_unit_test(many_at_once),
        cmocka_unit_test(pointers_that_are_none),      cmocka_unit_test(depth_has_no_limit),
        cmocka_unit_test(megabytes_are_values),        cmocka_unit_test(memory_that_runs_out),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    forget();
    return failed;
}
