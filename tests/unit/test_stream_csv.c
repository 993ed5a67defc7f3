/* SPDX-License-Identifier: BSD-2-Clause */

/* CSV records and their columns: single cases, then random records, compared with a parser that works byte
 * by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/byte_mask.h"
#include "stream/extract/find.h"
#include "stream/split/split.h"
#include "support/csv_oracle.h"
#include "support/fault.h"
#include "support/scratch.h"

static tamis__arena arena;

/* Copies a record into a block of its own, so that a sanitizer sees a read past its end. */
static tamis_key copy_of(const char *text, size_t size) {
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    return (tamis_key){copy, size};
}

static void drop(tamis_key record) {
    free((void *)(uintptr_t)record.data);
}

/* ---- columns ---- */

typedef struct columns {
    tamis_key record;
    test_bytes text;
    size_t max;
} columns;

/* Appends a column and a |. A ! comes first if the column is not a view into the record. */
static bool add_column(void *context, size_t column, tamis_key value) {
    columns *visited = context;
    const unsigned char *start = visited->record.data, *data = value.data;
    assert_non_null(data);
    if (data < start || data + value.size > start + visited->record.size)
        bytes_add(&visited->text, "!", 1);
    bytes_add(&visited->text, value.data, value.size);
    bytes_add(&visited->text, "|", 1);
    return column < visited->max;
}

typedef struct well {
    char delimiter;
    const char *record;
    size_t size;
    const char *columns;
    size_t columns_size;
} well;

#define TEXT(text) text, sizeof(text) - 1

static const well well_formed[] = {
    {',', TEXT(""), TEXT("")},
    {',', TEXT("\r"), TEXT("")},
    {',', TEXT("a"), TEXT("a|")},
    {',', TEXT("a,bc,d"), TEXT("a|bc|d|")},
    {',', TEXT(","), TEXT("||")},
    {',', TEXT("a,,"), TEXT("a|||")},
    {',', TEXT(" a , b "), TEXT(" a | b |")},
    {',', TEXT("\"\""), TEXT("|")},
    {',', TEXT("\"\"\"\""), TEXT("!\"|")},
    {',', TEXT("\"\"\"a\"\"\""), TEXT("!\"a\"|")},
    {',', TEXT("\"a\"\"\"\"b\",c"), TEXT("!a\"\"b|c|")},
    {',', TEXT("\"a,b\",\"c\nd\",\"e\r\nf\",\"\r\""), TEXT("a,b|c\nd|e\r\nf|\r|")},
    {',', TEXT("a\"b,c\"\",d\""), TEXT("a\"b|c\"\"|d\"|")},
    {',', TEXT(" \"a\",b"), TEXT(" \"a\"|b|")},
    {',', TEXT("a,b\r"), TEXT("a|b|")},
    {',', TEXT("a,\r"), TEXT("a||")},
    {',', TEXT("a,\"b\"\r"), TEXT("a|b|")},
    {',', TEXT("a,\"b\r\""), TEXT("a|b\r|")},
    {',', TEXT("a\nb,\0\x80\xff"), TEXT("a\nb|\0\x80\xff|")},
    {'\t', TEXT("a,b\t\"c\td\"\te"), TEXT("a,b|c\td|e|")},
    {'\0', TEXT("a\0\"b\0c\"\0"), TEXT("a|b\0c||")},
    {'\xff', TEXT("a\xff\x80\xff\"\xff\""), TEXT("a|\x80|\xff|")},
};

static void every_column_is_visited(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof well_formed / sizeof *well_formed; i++) {
        const well *example = &well_formed[i];
        const test_bytes expected = {(unsigned char *)(uintptr_t)example->columns, example->columns_size, 0};
        columns visited = {copy_of(example->record, example->size), {0}, SIZE_MAX};
        tamis__fault fault;
        const tamis__csv_visitor visitor = {add_column, &visited};
        assert_int_equal(
            tamis__csv_each((unsigned char)example->delimiter, visited.record, visitor, &arena, &fault),
            TAMIS_OK);
        assert_true(bytes_check(example->record, &visited.text, &expected));
        bytes_clear(&visited.text);
        drop(visited.record);
    }
}

static void a_visit_can_be_stopped(void **state) {
    (void)state;
    columns visited = {{TEXT("a,b,c,\"")}, {0}, 2};
    tamis__fault fault;
    const tamis__csv_visitor visitor = {add_column, &visited};
    assert_int_equal(tamis__csv_each(',', visited.record, visitor, &arena, &fault), TAMIS_OK);
    assert_true(bytes_check("two columns", &visited.text, &(test_bytes){(unsigned char *)"a|b|", 4, 0}));
    bytes_clear(&visited.text);
}

static void assert_value(tamis_key value, const char *expected) {
    assert_non_null(value.data);
    assert_int_equal(value.size, strlen(expected));
    assert_memory_equal(value.data, expected, value.size);
}

static void columns_are_found_in_any_order(void **state) {
    (void)state;
    const tamis_key record = {TEXT("a,\"b\"\"\",,d")};
    size_t queried[] = {4, 2, 9, 3, 2, 5, 1};
    const tamis__csv_columns selected = {queried, 7, ','};
    tamis_key values[7];
    tamis__fault fault;
    assert_int_equal(tamis__csv_find(&selected, record, values, &arena, &fault), TAMIS_OK);
    assert_value(values[0], "d");
    assert_value(values[1], "b\"");
    assert_null(values[2].data);
    assert_value(values[3], "");
    assert_value(values[4], "b\"");
    assert_null(values[5].data);
    assert_value(values[6], "a");

    assert_int_equal(tamis__csv_find(&selected, (tamis_key){NULL, 0}, values, &arena, &fault), TAMIS_OK);
    for (size_t i = 0; i < 7; i++)
        assert_null(values[i].data);
}

static void malformed_records_are_explained(void **state) {
    (void)state;
    static const struct {
        const char *record;
        size_t size;
        size_t pos;
        const char *why;
    } malformed[] = {
        {TEXT("a,\"b\"c"), 5, "a closing quote is not the end of its field"},
        {TEXT("a,\"b\" ,c"), 5, "a closing quote is not the end of its field"},
        {TEXT("\"b\"\r,c"), 3, "a closing quote is not the end of its field"},
        {TEXT("\"b\"\r\r"), 3, "a closing quote is not the end of its field"},
        {TEXT("\"b\"\nc"), 3, "a closing quote is not the end of its field"},
        {TEXT("a,\""), 2, "a quote is not closed"},
        {TEXT("a,\"b\"\""), 2, "a quote is not closed"},
        {TEXT("a,\"b\r"), 2, "a quote is not closed"},
        {TEXT("a,b\rc"), 3, "an unquoted field contains a carriage return"},
        {TEXT("a,b\r,c"), 3, "an unquoted field contains a carriage return"},
        {TEXT("a,b\r\r"), 3, "an unquoted field contains a carriage return"},
        {TEXT("\r\"b\""), 0, "an unquoted field contains a carriage return"},
        {TEXT("\r\r"), 0, "an unquoted field contains a carriage return"},
    };
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        const tamis_key record = copy_of(malformed[i].record, malformed[i].size);
        const tamis__csv_columns first = {(size_t[]){1}, 1, ','}; /* the bytes after it are examined too */
        tamis_key value;
        tamis__fault fault = {NULL, 0};
        assert_int_equal(tamis__csv_find(&first, record, &value, &arena, &fault), TAMIS_E_DAMAGED);
        assert_string_equal(fault.why, malformed[i].why);
        assert_int_equal(fault.pos, malformed[i].pos);
        drop(record);
    }
}

static void out_of_memory_is_reported(void **state) {
    (void)state;
    fault_memory memory = {.fail_at = 1, .onwards = true};
    tamis__arena none = {.memory = fault_memory_allocator(&memory)};
    const tamis_key record = {TEXT("a,\"b\"\"\"")};
    const tamis__csv_columns plain = {(size_t[]){1}, 1, ','}, decoded = {(size_t[]){2}, 1, ','};
    columns visited = {record, {0}, SIZE_MAX};
    tamis_key value;
    tamis__fault fault;
    assert_int_equal(tamis__csv_find(&plain, record, &value, &none, &fault), TAMIS_OK);
    assert_int_equal(tamis__csv_find(&decoded, record, &value, &none, &fault), TAMIS_E_NOMEM);
    const tamis__csv_visitor visitor = {add_column, &visited};
    assert_int_equal(tamis__csv_each(',', record, visitor, &none, &fault), TAMIS_E_NOMEM);
    tamis__arena_release(&none);
    bytes_clear(&visited.text);
}

/* ---- records ---- */

/* Checks the complete records of `text`; `expected` has a | after each. */
static void assert_cut(unsigned char terminator, const char *text, size_t size, const char *expected,
                       size_t expected_size) {
    const test_bytes whole = {(unsigned char *)(uintptr_t)expected, expected_size, 0};
    for (size_t first = 0; first <= size; first++) { /* bytes that have arrived at the first call */
        const tamis_key copy = copy_of(text, size);
        const unsigned char *bytes = copy.data;
        tamis__split_span span = {bytes, bytes, bytes + first, UINT64_MAX, terminator};
        test_bytes records = {0};
        uint8_t csv_state = 0;
        for (int look = 0; look < 2; look++, span.end = bytes + size) {
            tamis_key keys[16];
            const size_t count = tamis__split_csv(&span, ',', &csv_state, keys, 16);
            assert_true(count < 16 && span.scan == span.end);
            for (size_t i = 0; i < count; i++) {
                bytes_add(&records, keys[i].data, keys[i].size);
                bytes_add(&records, "|", 1);
            }
        }
        assert_true(bytes_check(text, &records, &whole));
        bytes_clear(&records);
        drop(copy);
    }
}

static void records_end_outside_of_quotes(void **state) {
    (void)state;
    assert_cut('\n', TEXT("a\n\nb,c\r\nd"), TEXT("a||b,c\r|"));
    assert_cut('\n', TEXT("\"a\nb\"\n\"\",\"\n\"\nc"), TEXT("\"a\nb\"|\"\",\"\n\"|"));
    assert_cut('\n', TEXT("\"a\"\"\n\"\"\",b\n\"\"\"\n\"\n"), TEXT("\"a\"\"\n\"\"\",b|\"\"\"\n\"|"));
    /* A quote within an unquoted field does not open a quoted one. */
    assert_cut('\n', TEXT("a\"\n\"b,\nc\" ,\"d\"\n"), TEXT("a\"|\"b,\nc\" ,\"d\"|"));
    assert_cut('\n', TEXT("a\",b\"\n \"c\n,\"d\n\"\n"), TEXT("a\",b\"| \"c|,\"d\n\"|"));
    /* Nor does one after an error, up to the end of that record. */
    assert_cut('\n', TEXT("\"a\"b,\"c\n\"\n\"\n"), TEXT("\"a\"b,\"c|\"\n\"|"));
    assert_cut('\n', TEXT("\"a\"\r,\"\n\"b\n\"\n"), TEXT("\"a\"\r,\"|\"b\n\"|"));
    assert_cut('\n', TEXT("\"a\"\r\n\"b\n\"\r\n"), TEXT("\"a\"\r|\"b\n\"\r|"));
    assert_cut('\0', TEXT("a\nb\0\"c\0d\"\0e,\"\0\"\0"), TEXT("a\nb|\"c\0d\"|e,\"\0\"|"));
}

static void the_splitter_stops_before_a_long_record(void **state) {
    (void)state;
    const char *text = "a\n\"b\nc\"\nd\n";
    const unsigned char *bytes = (const unsigned char *)text, *end = bytes + strlen(text);
    tamis_key keys[4];
    for (uint64_t max = 4; max <= 5; max++) {
        tamis__split_span span = {bytes, bytes, end, max, '\n'};
        uint8_t csv_state = 0;
        assert_int_equal(tamis__split_csv(&span, ',', &csv_state, keys, 4), max == 5 ? 3 : 1);
        assert_ptr_equal(span.start, max == 5 ? end : bytes + 2);
        assert_int_equal(tamis__split_csv(&span, ',', &csv_state, keys, 4), 0);
        assert_true(max == 5 ? span.scan == end : span.scan < end);
    }
}

/* ---- random records ---- */

/* Makes mostly well-formed rows, or special bytes in any order, close together or far apart. */
static void fill_rows(test_bytes *text, size_t size, unsigned char delimiter, unsigned char terminator,
                      uint64_t *random) {
    const unsigned char special[] = {'"', delimiter, terminator, '\r', '"', '\n', ' ', 0};
    const uint64_t one_in = 1 + test_below(random, test_below(random, 2) ? 3 : 60);
    const bool in_order = test_below(random, 2);
    text->size = 0;
    while (text->size < size) {
        unsigned char any = (unsigned char)test_random(random);
        if (test_below(random, one_in) == 0)
            any = special[test_below(random, sizeof special)];
        if (!in_order || test_below(random, 4)) {
            bytes_add(text, &any, 1);
            continue;
        }
        bytes_add(text, "\"", 1);
        for (uint64_t left = test_below(random, test_below(random, 8) ? 6 : 200); left > 0; left--)
            bytes_add(text, any == '"' ? "\"\"" : (const char *)&any, any == '"' ? 2 : 1);
        bytes_add(text, test_below(random, 30) ? "\"" : "x", 1);
        bytes_add(text, test_below(random, 4) ? &delimiter : &terminator, 1);
    }
}

static void columns_equal_a_byte_wise_parser(void **state) {
    (void)state;
    static const unsigned char delimiters[] = {',',  ';', '\t',
                                               0xff, '!', '#'}; /* ! and # are next to a quote */
    uint64_t random = test_seed(7);
    test_bytes text = {0};
    for (uint64_t round = 0; round < test_scale(40000, 1000, 4000); round++) {
        const unsigned char delimiter = delimiters[test_below(&random, sizeof delimiters)];
        const unsigned char terminator = test_below(&random, 4) ? '\n' : 0;
        fill_rows(&text, test_below(&random, 600), delimiter, terminator, &random);
        const size_t piece = test_below(&random, 3) ? 1 + test_below(&random, 200) : 1000;
        assert_true(csv_agrees(text.data, text.size, delimiter, terminator, piece, &random));
    }
    bytes_clear(&text);
}

/* Uses bytes that differ from the searched one in one bit, or by one: a faulty bit trick would confuse
 * them. */
static void masks_equal_a_byte_wise_search(void **state) {
    (void)state;
    uint64_t random = test_seed(5);
    for (uint64_t round = 0; round < test_scale(200000, 5000, 20000); round++) {
        const size_t size = test_below(&random, TAMIS__BYTE_MASK_SIZE + 1);
        const unsigned char byte = (unsigned char)test_random(&random);
        unsigned char *bytes = malloc(size + 1);
        uint64_t expected = 0;
        assert_non_null(bytes);
        for (size_t i = 0; i < size; i++) {
            const unsigned char near = (unsigned char)(byte ^ 1u << test_below(&random, 8));
            const unsigned char choices[] = {byte, near, (unsigned char)(byte + 1),
                                             (unsigned char)test_random(&random)};
            bytes[i] = choices[test_below(&random, 4)];
            expected |= (uint64_t)(bytes[i] == byte) << i;
        }
        assert_true(tamis__byte_mask(bytes, size, byte) == expected);
        if (size >= 8) /* also the variant without vectors */
            assert_true(tamis__byte_mask_8(bytes, byte) == (expected & 0xff));
        free(bytes);
    }
}

static int make_arena(void **state) {
    (void)state;
    arena = (tamis__arena){.memory = tamis__allocator_resolve(NULL)};
    return 0;
}

static int drop_arena(void **state) {
    (void)state;
    tamis__arena_release(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_is_visited),
        cmocka_unit_test(a_visit_can_be_stopped),
        cmocka_unit_test(columns_are_found_in_any_order),
        cmocka_unit_test(malformed_records_are_explained),
        cmocka_unit_test(out_of_memory_is_reported),
        cmocka_unit_test(records_end_outside_of_quotes),
        cmocka_unit_test(the_splitter_stops_before_a_long_record),
        cmocka_unit_test(masks_equal_a_byte_wise_search),
        cmocka_unit_test(columns_equal_a_byte_wise_parser),
    };
    return cmocka_run_group_tests(tests, make_arena, drop_arena);
}
