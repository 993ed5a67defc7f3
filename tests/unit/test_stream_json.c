/* SPDX-License-Identifier: BSD-2-Clause */

/* JSON records, single cases: the grammar of RFC 8259, and the messages about records that are not JSON.
 * test_stream_json_find.c tests pointers and sizes; test_stream_json_random.c compares with an oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/json_oracle.h"
#include "support/json_probe.h"

/* A text and its size, which may contain NULs. */
#define TEXT(text) text, sizeof text - 1

/* ---- the grammar ---- */

static void every_json_form_is_accepted(void **state) {
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
        assert_int_equal(probed.decoded_bytes, 0); /* a view */
        snprintf(text, sizeof text, " \t\r\n%s\n\r\t ", whole[i]);
        expect("", text, whole[i]);
        expect("/x", whole[i], NULL);
    }
}

static void strings_are_decoded(void **state) {
    (void)state;
    static const struct {
        const char *text, *expected;
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
        expect("", rows[i].text, rows[i].expected);
        assert_int_equal(probed.decoded_bytes, strchr(rows[i].text, '\\') ? strlen(rows[i].expected) : 0);
        snprintf(text, sizeof text, "{\"x\": [ %s ]}", rows[i].text);
        expect("/x/0", text, rows[i].expected);
    }
    probe("", TEXT("\"a\\u0000b\""));
    expect_bytes(0, "a\0b", 3);
}

static void nothing_is_no_value(void **state) {
    (void)state;
    probe("", NULL, 0);
    assert_int_equal(probed.status, TAMIS_OK);
    assert_false(probed.there[0]);
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
    expect("/a", "{\"a\":\"\"}", ""); /* a value without bytes */
    expect("/a", "{\"a\":\"null\"}", "null");
}

/* ---- invalid JSON ---- */

static const struct {
    const char *text;
    size_t size;
    size_t pos;
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
    {TEXT("[1]]"), 3, "unexpected text after the value"},
    {TEXT("{} {}"), 3, "unexpected text after the value"},
    {TEXT("1 2"), 2, "unexpected text after the value"},
    {TEXT("[1]\0"), 3, "unexpected text after the value"},
    {TEXT("[1]\f"), 3, "unexpected text after the value"},
    {TEXT("[]//"), 2, "unexpected text after the value"},
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
    {TEXT("truefalse"), 4, "unexpected text after the value"},
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
    {TEXT("0x10"), 1, "unexpected text after the value"},
    {TEXT("1e1.5"), 3, "unexpected text after the value"},
    {TEXT("1_000"), 1, "unexpected text after the value"},
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
    {TEXT("\"\x80\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"a\xbf\""), 2, "bytes that are not UTF-8"},
    {TEXT("\"\xc0\x80\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xc1\xbf\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xc2\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xc2"), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xe0\x9f\xbf\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xe2\x82\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xe2\x28\xa1\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xed\xa0\x80\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xed\xbf\xbf\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xf0\x8f\xbf\xbf\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xf0\x9f\x98\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xf4\x90\x80\x80\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xf5\x80\x80\x80\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xff\""), 1, "bytes that are not UTF-8"},
    {TEXT("\"\xc3\xa9\xc3\xa9\xc3\""), 5, "bytes that are not UTF-8"},
    {TEXT("\xef\xbb\xbf{}"), 0, "a byte order mark"},
    {TEXT(" \xef\xbb\xbf{}"), 1, "a byte order mark"},
    {TEXT("\xef\xbb"), 0, "a value that JSON does not have"},
};

static void errors_are_explained(void **state) {
    (void)state;
    static const char *const pointers[] = {"", "/a", "/0", "/a/b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        look_all(pointers, 4, bad[i].text, bad[i].size);
        assert_int_equal(probed.status, TAMIS_E_DAMAGED);
        assert_string_equal(probed.fault.why, bad[i].why);
        assert_int_equal(probed.fault.pos, bad[i].pos);
        assert_null(json_tree_read(bad[i].text, bad[i].size)); /* the oracle refuses it too */
    }
}

/* A fault counts at any position, also after the value that is looked up. */
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
        probe("/a", text, size + sizeof tail - 1);
        assert_int_equal(probed.status, TAMIS_E_DAMAGED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_json_form_is_accepted), cmocka_unit_test(strings_are_decoded),
        cmocka_unit_test(nothing_is_no_value),         cmocka_unit_test(errors_are_explained),
        cmocka_unit_test(all_of_a_record_is_checked),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    look_forget();
    return failed;
}
