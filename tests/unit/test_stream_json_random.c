/* SPDX-License-Identifier: BSD-2-Clause */

/* JSON records, compared with an oracle that builds the whole tree: a rich record cut at every byte and
 * with every byte changed, and random records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stream/extract/json_int.h"
#include "support/json_oracle.h"
#include "support/scratch.h"

static const char *const pointers[] = {"/id", "/a/0/b", "/a",    "/a/1", "/\xc3\xa9/x",
                                       "",    "/a/0",   "/id/b", "/~1~0"};
enum { POINTERS = sizeof pointers / sizeof *pointers };

static tamis__json *json;
static tamis__arena arena;

static int set_up(void **state) {
    (void)state;
    tamis__pointer_fault wrong;
    arena = (tamis__arena){.memory = tamis__allocator_resolve(NULL)};
    return tamis__json_create(&json, pointers, POINTERS, NULL, &wrong) != TAMIS_OK;
}

static int tear_down(void **state) {
    (void)state;
    tamis__json_free(json);
    tamis__arena_release(&arena);
    return 0;
}

/* Checks that both find the same. True if the record is JSON. */
static bool agrees(const void *text, size_t size) {
    unsigned char *record = malloc(size ? size : 1); /* exact size: a sanitizer sees a read past its end */
    assert_non_null(record);
    memcpy(record, text, size);
    tamis_key values[POINTERS];
    tamis__fault fault = {0};
    json_tree *tree = json_tree_read(record, size);
    const tamis_status status = tamis__json_find(json, (tamis_key){record, size}, values, &arena, &fault);
    bool same = status == (tree ? TAMIS_OK : TAMIS_E_DAMAGED) && (tree || (fault.why && fault.pos <= size));
    for (size_t i = 0; tree && same && i < POINTERS; i++) {
        test_bytes expected = {0};
        const bool there = json_tree_find(tree, pointers[i], &expected);
        same = there == (values[i].data != NULL) && values[i].size == expected.size &&
               (expected.size == 0 || memcmp(values[i].data, expected.data, expected.size) == 0);
        bytes_clear(&expected);
    }
    if (!same)
        print_error("at odds over: %.*s\n", (int)size, (const char *)text);
    assert_true(same);
    json_tree_free(tree);
    tamis__arena_reset(&arena);
    free(record);
    return status == TAMIS_OK;
}

static const char rich[] =
    " {\"id\":\"e\\u00e9\\ud83d\\ude00\xf0\x9f\x98\x80-\xc3\xa9\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf\\n\","
    " \"a\":[{\"b\":-0.5e+10,"
    "\"b\":[true,false , null]},12,\"\"],\t\"\\u00e9\":{ \"x\" : \"plain text of thirty bytes"
    " or so\"},\"a\":[{\"b\":{\"c\":[[],{}]}},\"\\\"\"],\"/~\":10 } ";

static void every_cut(void **state) {
    (void)state;
    assert_true(agrees(rich, sizeof rich - 1));
    for (size_t size = 0; size < sizeof rich - 1; size++)
        assert_int_equal(agrees(rich, size), size <= 1 || size == sizeof rich - 2); /* a blank at each end */
}

static void every_changed_byte(void **state) {
    (void)state;
    char text[sizeof rich];
    uint64_t well = 0;
    const size_t size = sizeof rich - 1, step = (size_t)test_scale(1, 5, 3);
    for (size_t pos = 0; pos < size; pos++)
        for (unsigned byte = (unsigned)(pos % step); byte < 256; byte += (unsigned)step) {
            memcpy(text, rich, size);
            text[pos] = (char)byte;
            well += agrees(text, size);
        }
    assert_in_range(well, 1000, 256 * size); /* most letters of strings may be changed */
}

/* ---- random records ---- */

static uint64_t chance;

static uint64_t below(uint64_t bound) {
    return test_below(&chance, bound);
}

static void add(test_bytes *to, const char *text) {
    bytes_add(to, text, strlen(text));
}

static void add_string(test_bytes *to) {
    static const char *const pieces[] = {"id",
                                         "a",
                                         "b",
                                         "x",
                                         "\\u00e9",
                                         "\xc3\xa9",
                                         "\\u0061",
                                         "\\/",
                                         "/",
                                         "~",
                                         "\\ud83d\\ude00",
                                         "\xe2\x82\xac",
                                         "\\\"",
                                         "\\\\",
                                         "\\u0000",
                                         "0",
                                         "1",
                                         "",
                                         "longer than one vector",
                                         "\x7f"};
    add(to, "\"");
    for (uint64_t i = below(4) ? 1 : below(6); i > 0; i--)
        add(to, pieces[below(4) ? below(8) : below(sizeof pieces / sizeof *pieces)]);
    add(to, "\"");
}

static void add_value(test_bytes *to, unsigned depth) {
    static const char *const scalars[] = {
        "1", "-0", "0.5", "1e9", "true", "false", "null", "12345678901234567890", "-1.25E-7"};
    const uint64_t what = depth > 6 ? 2 + below(2) : below(4);
    if (below(8) == 0)
        add(to, below(2) ? " " : "\t\n\r ");
    if (what == 3)
        add(to, scalars[below(sizeof scalars / sizeof *scalars)]);
    if (what == 2)
        add_string(to);
    if (what < 2) {
        add(to, what ? "[" : "{");
        for (uint64_t i = 0, count = below(5); i < count; i++) {
            if (i)
                add(to, ",");
            if (!what) {
                add_string(to);
                add(to, below(8) ? ":" : " : ");
            }
            add_value(to, depth + 1);
        }
        add(to, what ? "]" : "}");
    }
    if (below(8) == 0)
        add(to, below(2) ? " " : "\n");
}

static void random_records(void **state) {
    (void)state;
    static const char signs[] = "{}[]\",:\\u0eE+-.tfn \t\n\xc3\xed\xf0\x80\x1f";
    uint64_t well = 0;
    const uint64_t rounds = test_scale(200000, 4000, 20000);
    chance = test_seed(7);
    for (uint64_t i = 0; i < rounds; i++) {
        test_bytes text = {0};
        add_value(&text, 0);
        assert_true(agrees(text.data, text.size));
        for (uint64_t harm = below(3); harm > 0 && text.size; harm--) {
            const size_t pos = (size_t)below(text.size);
            if (below(2))
                text.data[pos] = (unsigned char)signs[below(sizeof signs - 1)];
            else
                memmove(text.data + pos, text.data + pos + 1, --text.size - pos);
        }
        well += agrees(text.data, text.size);
        bytes_clear(&text);
    }
    assert_in_range(well, rounds / 4, rounds * 3 / 4); /* both kinds are frequent */
}

/* ---- the end of the plain part of a string ---- */

static void plain_bytes_are_passed(void **state) {
    (void)state;
    chance = test_seed(8);
    for (size_t size = 0; size < 70; size++)
        for (unsigned byte = 0; byte < 256; byte++) {
            unsigned char *text = malloc(size + 1), *end = text + size;
            assert_non_null(text);
            const bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
            const size_t pos = (size_t)below(size + 1);
            memset(text, "a !#[]~\x7f"[below(8)], size); /* neighbours of the bytes that end it */
            if (pos < size)
                text[pos] = (unsigned char)byte;
            const unsigned char *expected = plain || pos == size ? end : text + pos;
            if (expected < end && expected + 1 < end)
                text[pos + 1 + below(size - pos - 1)] = '"'; /* the first one counts */
            assert_ptr_equal(tamis__json_plain(text, end), expected);
            free(text);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cut),
        cmocka_unit_test(every_changed_byte),
        cmocka_unit_test(random_records),
        cmocka_unit_test(plain_bytes_are_passed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
