/* SPDX-License-Identifier: BSD-2-Clause */

/* Looking up values in JSON records by pointer, single cases: RFC 6901, repeated names, records of any
 * size, refused memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stream/extract/find.h"
#include "support/fault.h"
#include "support/json_probe.h"
#include "support/scratch.h"

/* ---- pointers ---- */

static void examples_of_rfc_6901(void **state) {
    (void)state;
    static const char text[] = "{\"foo\": [\"bar\", \"baz\"], \"\": 0, \"a/b\": 1, \"c%d\": 2, \"e^f\": 3, "
                               "\"g|h\": 4, \"i\\\\j\": 5, "
                               "\"k\\\"l\": 6, \" \": 7, \"m~n\": 8}";
    static const char *const pointers[] = {"",     "/foo", "/foo/0", "/",     "/a~1b", "/c%d",
                                           "/e^f", "/g|h", "/i\\j",  "/k\"l", "/ ",    "/m~0n"};
    static const char *const expected[] = {
        text, "[\"bar\", \"baz\"]", "bar", "0", "1", "2", "3", "4", "5", "6", "7", "8"};
    look_all(pointers, 12, text, sizeof text - 1);
    assert_int_equal(probed.status, TAMIS_OK);
    for (size_t i = 0; i < 12; i++) {
        expect_bytes(i, expected[i], strlen(expected[i]));
    }
    for (size_t i = 0; i < 12; i++) /* again, one by one */
        expect(pointers[i], text, expected[i]);
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
    assert_false(probed.there[0]);
    expect_bytes(1, "2", 1);
    expect_bytes(2, "{\"c\":2}", 7);
    expect_bytes(3, text, sizeof text - 1);
    assert_false(probed.there[4]);
}

static void names_are_whole_and_decoded(void **state) {
    (void)state;
    expect("/event_id", "{\"x\":\"\\\"event_id\\\":7\",\"event_idx\":1,\"event_i\":2,\"event_id\":3}", "3");
    expect("/event_id", "{\"x\":\"event_id\",\"y\":{\"event_id\":1},\"z\":[{\"event_id\":2}]}", NULL);
    expect("/event_id", "[{\"event_id\":2}]", NULL);
    expect("/caf\xc3\xa9", "{\"caf\\u00e9\":1}", "1");
    expect("/caf\xc3\xa9", "{\"caf\xc3\xa9\":1}", "1");
    expect("/caf\xc3\xa9", "{\"cafe\xcc\x81\":1}", NULL); /* equal glyphs, but other bytes */
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
    static const char *const expected[] = {"z",
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
    assert_int_equal(probed.status, TAMIS_OK);
    for (size_t i = 0; i < 12; i++)
        if (expected[i])
            expect_bytes(i, expected[i], strlen(expected[i]));
        else
            assert_false(probed.there[i]);
    look_all(NULL, 0, text, sizeof text - 1); /* checks only the syntax */
    assert_int_equal(probed.status, TAMIS_OK);
}

static void invalid_pointers_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *pointer;
        size_t pos;
    } rows[] = {{"a", 0},      {"#/a", 0},  {"~0", 0},     {"/~", 1},
                {"/a/~2b", 3}, {"/~~0", 1}, {"/a\xff", 2}, {"/\xed\xa0\x80", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const pointers[] = {"", "/a/b", rows[i].pointer, "x"};
        tamis__json *json = NULL;
        tamis__pointer_fault wrong = {.index = 9};
        assert_int_equal(tamis__json_create(&json, pointers, 4, NULL, &wrong), TAMIS_E_INVALID);
        assert_null(json);
        assert_int_equal(wrong.index, 2);
        assert_int_equal(wrong.fault.pos, rows[i].pos);
        assert_non_null(wrong.fault.why);
    }
    tamis__json_free(NULL);
}

/* ---- sizes ---- */

static void depth_has_no_limit(void **state) {
    (void)state;
    const size_t depth = (size_t)test_scale(3000000, 1000000, 1000000);
    char *text = malloc(12 * depth);
    char *pos = text;
    assert_non_null(text);
    for (size_t i = 0; i < depth; i++)
        pos = i % 3 == 2 ? (char *)memcpy(pos, "{\"a\":", 5) + 5 : (char *)memcpy(pos, "[", 1) + 1;
    char *middle = pos;
    *pos++ = '1';
    for (size_t i = depth; i-- > 0;)
        *pos++ = i % 3 == 2 ? '}' : ']';
    const size_t size = (size_t)(pos - text);
    static const char *const pointers[] = {"", "/0/0/a/0", "/0/0/a/0/0/b"};
    look_all(pointers, 3, text, size);
    assert_int_equal(probed.status, TAMIS_OK);
    expect_bytes(0, text, size);
    expect_bytes(1, text + 8, size - 12);
    assert_false(probed.there[2]);

    probe("/0", text, size - 1);
    assert_int_equal(probed.status, TAMIS_E_DAMAGED);
    assert_int_equal(probed.fault.pos, size - 1);
    probe("/0", text, (size_t)(middle - text));
    assert_int_equal(probed.status, TAMIS_E_DAMAGED);
    pos = middle + 1 + depth / 2;
    *pos = *pos == ']' ? '}' : ']';
    probe("", text, size);
    assert_int_equal(probed.status, TAMIS_E_DAMAGED);
    assert_int_equal(probed.fault.pos, pos - text);
    free(text);
}

static void megabytes_are_values(void **state) {
    (void)state;
    static const char *const pieces[] = {"a", "\xc3\xa9", "\\n", "\\ud83d\\ude00", "0"};
    static const char *const decoded[] = {"a", "\xc3\xa9", "\n", "\xf0\x9f\x98\x80", "0"};
    for (size_t i = 0; i < 5; i++) {
        const char *quote = i == 4 ? "" : "\""; /* the last one is a number */
        test_bytes text = {0}, expected = {0};
        bytes_add(&text, "{\"k\":", 5);
        bytes_add(&text, quote, strlen(quote));
        bytes_add(&text, "1", 1);
        bytes_add(&expected, "1", 1);
        while (text.size < 1 << 20) {
            bytes_add(&text, pieces[i], strlen(pieces[i]));
            bytes_add(&expected, decoded[i], strlen(decoded[i]));
        }
        bytes_add(&text, quote, strlen(quote));
        bytes_add(&text, "}", 1);
        probe("/k", text.data, text.size);
        assert_int_equal(probed.status, TAMIS_OK);
        expect_bytes(0, expected.data, expected.size);
        bytes_clear(&text);
        bytes_clear(&expected);
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
        tamis__pointer_fault wrong;
        tamis__fault fault;
        tamis_status status = tamis__json_create(&json, pointers, 2, &allocator, &wrong);
        if (status == TAMIS_OK)
            status = tamis__json_find(json, (tamis_key){deep, size}, values, &arena, &fault);
        const bool refused = memory.refused > 0;
        assert_int_equal(status, refused ? TAMIS_E_NOMEM : TAMIS_E_DAMAGED);
        if (json) { /* it still works */
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
        cmocka_unit_test(examples_of_rfc_6901),
        cmocka_unit_test(elements_are_counted),
        cmocka_unit_test(the_last_of_a_name_counts),
        cmocka_unit_test(names_are_whole_and_decoded),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(invalid_pointers_are_refused),
        cmocka_unit_test(depth_has_no_limit),
        cmocka_unit_test(megabytes_are_values),
        cmocka_unit_test(memory_that_runs_out),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    look_forget();
    return failed;
}
