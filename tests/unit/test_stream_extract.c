/* SPDX-License-Identifier: BSD-2-Clause */

/* Extracting keys from records: each kind of part, missing parts, joined parts, headers, case folding,
 * limits of expressions, refused memory. JSON and CSV themselves have tests of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <utf8proc.h>

#include <tamis/experimental/extract.h>

#include "base/bytes.h"
#include "stream/extract/find.h"
#include "support/fault.h"
#include "support/scratch.h"

#define KEY(text)    ((tamis_key){(text), sizeof(text) - 1})
#define COUNT(array) (sizeof(array) / sizeof *(array))
/* Parts are written as "PART PART ...", separated by one blank. */
enum { PARTS = 8, TEXT = 1 << 10 };

static tamis_error err;
static fault_memory memory;

static tamis_status try_make(tamis_extractor **x, const char *parts, tamis_extractor_options options) {
    static char text[TEXT];
    static tamis_allocator allocator;
    const char *list[PARTS];
    err = (tamis_error)TAMIS_ERROR_INIT;
    allocator = fault_memory_allocator(&memory);
    snprintf(text, sizeof text, "%s", parts);
    options.part_count = 0;
    for (char *pos = text; *parts && pos; pos = strchr(pos, ' ')) {
        if (options.part_count > 0)
            *pos++ = '\0';
        list[options.part_count++] = pos;
    }
    options.parts = list;
    options.allocator = &allocator;
    return tamis_extractor_create(x, &options, &err);
}

static tamis_extractor *make_as(const char *parts, tamis_extractor_options options) {
    tamis_extractor *x = NULL;
    if (try_make(&x, parts, options) != TAMIS_OK)
        fail_msg("%s", err.text);
    return x;
}

static tamis_extractor *make(const char *parts) {
    return make_as(parts, (tamis_extractor_options)TAMIS_EXTRACTOR_OPTIONS_INIT);
}

static tamis_extraction extract_key(tamis_extractor *x, tamis_key record) {
    tamis_extraction found = {.outcome = 9};
    if (tamis_extractor_extract(x, &record, 1, &found, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return found;
}

static void key_is(tamis_extractor *x, tamis_key record, tamis_key expected) {
    const tamis_extraction found = extract_key(x, record);
    assert_int_equal(found.outcome, TAMIS_KEY_FOUND);
    assert_int_equal(found.key.size, expected.size);
    if (expected.size > 0)
        assert_memory_equal(found.key.data, expected.data, expected.size);
}

static void outcome_is(tamis_extractor *x, tamis_key record, tamis_extracted expected) {
    const tamis_extraction found = extract_key(x, record);
    assert_int_equal(found.outcome, expected);
    assert_null(found.key.data);
    assert_true((found.why != NULL) == (expected == TAMIS_KEY_MALFORMED));
}

/* Checks the key of one record, with an extractor for these parts. */
static void yields(const char *parts, tamis_key record, tamis_key expected) {
    tamis_extractor *x = make(parts);
    key_is(x, record, expected);
    tamis_extractor_free(x);
}

static void lacks(const char *parts, tamis_key record) {
    tamis_extractor *x = make(parts);
    outcome_is(x, record, TAMIS_KEY_MISSING);
    tamis_extractor_free(x);
}

static void refuses_as(const char *parts, tamis_extractor_options options, const char *message) {
    tamis_extractor *x = NULL;
    assert_int_equal(try_make(&x, parts, options), TAMIS_E_INVALID);
    assert_null(x);
    assert_string_equal(err.text, message);
    assert_int_equal(memory.live_blocks, 0);
}

static void refuses(const char *parts, const char *message) {
    refuses_as(parts, (tamis_extractor_options)TAMIS_EXTRACTOR_OPTIONS_INIT, message);
}

static int set_up(void **state) {
    (void)state;
    memset(&memory, 0, sizeof memory);
    return 0;
}

static int nothing_is_left(void **state) {
    (void)state;
    return memory.live_blocks == 0 ? 0 : -1;
}

/* ---- parts ---- */

static void a_line_is_the_record(void **state) {
    (void)state;
    const tamis_key record = KEY("a\tb\0c\r");
    tamis_extractor *x = NULL;
    assert_int_equal(tamis_extractor_create(&x, NULL, &err), TAMIS_OK);
    assert_ptr_equal(extract_key(x, record).key.data, record.data);
    key_is(x, record, record);
    key_is(x, (tamis_key){NULL, 0}, KEY(""));
    assert_false(tamis_extractor_is_csv(x) || tamis_extractor_is_json(x) || tamis_extractor_wants_header(x));
    assert_false(tamis_extractor_joins(x));
    assert_int_equal(tamis_extractor_header(x, KEY("anything \" at all"), &err), TAMIS_OK);
    tamis_extractor_free(x);
    tamis_extractor_free(NULL);
    yields("line", record, record);
}

static void fields_lie_between_delimiters(void **state) {
    (void)state;
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    yields("field:1", KEY("one\ttwo\t\tfour"), KEY("one"));
    yields("field:2", KEY("one\ttwo\t\tfour"), KEY("two"));
    yields("field:3", KEY("one\ttwo\t\tfour"), KEY(""));
    yields("field:4", KEY("one\ttwo\t\tfour"), KEY("four"));
    lacks("field:5", KEY("one\ttwo\t\tfour"));
    yields("field:2", KEY("one\t"), KEY(""));
    yields("field:1", KEY(""), KEY(""));
    yields("field:1", (tamis_key){NULL, 0}, KEY(""));
    lacks("field:2", KEY(""));
    lacks("field:18446744073709551615", KEY("a\tb"));
    for (int delimiter = 0; delimiter < 256; delimiter += 51) {
        const unsigned char record[] = {'x', (unsigned char)delimiter, '"', (unsigned char)delimiter, 'z'};
        options.delimiter = delimiter;
        tamis_extractor *x = make_as("field:2", options);
        key_is(x, (tamis_key){record, sizeof record}, KEY("\""));
        tamis_extractor_free(x);
    }
}

static void bytes_are_counted_from_one(void **state) {
    (void)state;
    yields("bytes:1-1", KEY("abcdef"), KEY("a"));
    yields("bytes:2-4", KEY("abcdef"), KEY("bcd"));
    yields("bytes:6-6", KEY("abcdef"), KEY("f"));
    yields("bytes:5-9", KEY("abcdef"), KEY("ef"));
    yields("bytes:3-", KEY("ab\0def"), KEY("\0def"));
    yields("bytes:1-18446744073709551615", KEY("abc"), KEY("abc"));
    lacks("bytes:7-9", KEY("abcdef"));
    lacks("bytes:7-", KEY("abcdef"));
    lacks("bytes:1-", KEY(""));
    lacks("bytes:1-4", (tamis_key){NULL, 0});
}

static void expressions_give_match_or_groups(void **state) {
    (void)state;
    yields("regex:[0-9]+", KEY("id 4711 of 12"), KEY("4711"));
    yields("regex:id=([0-9]+)", KEY("x id=12;"), KEY("12"));
    yields("regex:x*", KEY("abc"), KEY(""));
    yields("regex:^$", (tamis_key){NULL, 0}, KEY(""));
    yields("regex:a.c", KEY("xa\0cx"), KEY("a\0c"));
    yields("regex:a\\x00(.)", KEY("xa\0cx"), KEY("c"));
    yields("regex:a\\Kb", KEY("ab"), KEY("b"));
    lacks("regex:[0-9]+", KEY("none"));
    lacks("regex:a(b)?", KEY("a")); /* its only group did not take part */
    /* An expression matches bytes, unless it begins with (*UTF). Invalid UTF-8 matches nothing then. */
    yields("regex:^.", KEY("\xc3\xa9"), KEY("\xc3"));
    yields("regex:(*UTF)^.", KEY("\xc3\xa9"), KEY("\xc3\xa9"));
    yields("regex:(*UTF).", KEY("\xff\xc3\xc3\xa9"), KEY("\xc3\xa9"));
    lacks("regex:(*UTF).", KEY("\xff\xfe"));
    /* Groups are parts, each preceded by its size. The size of a group that did not take part is all ones. */
    yields("regex:(a)|(b)", KEY("b"), KEY("\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\0\0\0\0\0b"));
    yields("regex:(a)|(b)", KEY("a"), KEY("\1\0\0\0\0\0\0\0a\xff\xff\xff\xff\xff\xff\xff\xff"));
    yields("regex:(a)(b*)", KEY("a"), KEY("\1\0\0\0\0\0\0\0a\0\0\0\0\0\0\0\0"));
    lacks("regex:(a)?(b)?c", KEY("c"));
    lacks("regex:(a)(b)", KEY("ac"));
}

static void structured_parts_are_decoded(void **state) {
    (void)state;
    yields("csv:2", KEY("a,\"b,\"\"c\",d"), KEY("b,\"c"));
    yields("csv:3", KEY("a,\"b,\"\"c\",d"), KEY("d"));
    lacks("csv:4", KEY("a,b,c"));
    yields("json:/a/1", KEY("{\"a\":[1,\"\\u00e9\"]}"), KEY("\xc3\xa9"));
    yields("json:/a", KEY("{\"a\": 1.50}"), KEY("1.50"));
    lacks("json:/b", KEY("{\"a\": 1.50}"));
    lacks("json:/a", KEY("{\"a\": null}"));
    lacks("json:", KEY(""));
    lacks("json:/a", KEY(" \t\r\n"));
    tamis_extractor *x = make("json:/a");
    outcome_is(x, KEY("{\"a\":"), TAMIS_KEY_MALFORMED);
    outcome_is(x, KEY("\v"), TAMIS_KEY_MALFORMED);
    key_is(x, KEY("{\"a\":\"b\"}"), KEY("b"));
    assert_true(tamis_extractor_is_json(x) && !tamis_extractor_is_csv(x));
    tamis_extractor_free(x);
    x = make("line json:/a");
    assert_true(tamis_extractor_is_json(x));
    outcome_is(x, KEY("{\"a\":1}]"), TAMIS_KEY_MALFORMED);
    tamis_extractor_free(x);
    x = make("csv:1 line");
    assert_true(tamis_extractor_joins(x));
    assert_true(tamis_extractor_is_csv(x) && !tamis_extractor_wants_header(x));
    outcome_is(x, KEY("\"a"), TAMIS_KEY_MALFORMED);
    tamis_extractor_free(x);
}

/* ---- joining ---- */

static void several_parts_are_joined(void **state) {
    (void)state;
    yields("field:1 field:2", KEY("ab\tc"), KEY("\2\0\0\0\0\0\0\0ab\1\0\0\0\0\0\0\0c"));
    yields("field:2 field:1 bytes:2-2", KEY("ab\t"),
           KEY("\0\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0ab\1\0\0\0\0\0\0\0b"));
    yields("line json:/b regex:(1) json:/a", KEY("{\"a\":1,\"b\":\"x\"}"),
           KEY("\17\0\0\0\0\0\0\0{\"a\":1,\"b\":\"x\"}\1\0\0\0\0\0\0\0x\1\0\0\0\0\0\0\0"
               "1\1\0\0\0\0\0\0\0"
               "1"));
    yields("csv:2 bytes:1-1 csv:1", KEY("a,b"), KEY("\1\0\0\0\0\0\0\0b\1\0\0\0\0\0\0\0a\1\0\0\0\0\0\0\0a"));
    lacks("field:1 field:3", KEY("a\tb"));
    lacks("field:3 field:1", KEY("a\tb"));
    lacks("regex:(x)?(y)? field:1", KEY("a"));
}

/* Decodes a joined key into its values, in the only possible way. */
static size_t read_joined(tamis_key key, tamis_key *values) {
    const unsigned char *pos = key.data, *const end = pos + key.size;
    size_t count = 0;
    while (pos < end) {
        assert_true(end - pos >= 8 && count < PARTS);
        const uint64_t size = tamis__load64le(pos);
        const bool is_none = size == UINT64_MAX;
        pos += 8;
        assert_true(is_none || size <= (uint64_t)(end - pos));
        values[count++] = is_none ? (tamis_key){NULL, 0} : (tamis_key){pos, (size_t)size};
        pos += is_none ? 0 : size;
    }
    return count;
}

enum { SPLITS = 300, SPLIT_FIELDS = 3, SPLIT_SIZE = 4 };

static size_t random_record(uint64_t *chance, unsigned char *record) {
    static const unsigned char bytes[] = {0, 1, 2, 0xff}; /* bytes that occur in sizes */
    size_t size = 0;
    for (int i = 0; i < SPLIT_FIELDS; i++) {
        if (i > 0)
            record[size++] = '\t';
        for (uint64_t n = test_below(chance, SPLIT_SIZE); n > 0; n--)
            record[size++] = bytes[test_below(chance, sizeof bytes)];
    }
    return size;
}

static void parts_do_not_collide(void **state) {
    (void)state;
    static unsigned char records[SPLITS][SPLIT_FIELDS * (SPLIT_SIZE + 1)];
    static tamis_key views[SPLITS];
    static tamis_extraction found[SPLITS];
    uint64_t chance = test_seed(7);
    for (uint64_t round = test_scale(50, 3, 5); round > 0; round--) {
        tamis_extractor *x = make(round % 2 ? "field:1 field:2 field:3" : "regex:^(.*)\t(.*)\t(.*)$");
        for (size_t i = 0; i < SPLITS; i++)
            views[i] = (tamis_key){records[i], random_record(&chance, records[i])};
        assert_int_equal(tamis_extractor_extract(x, views, SPLITS, found, &err), TAMIS_OK);
        for (size_t i = 0; i < SPLITS; i++) {
            tamis_key values[PARTS];
            const unsigned char *pos = records[i];
            assert_int_equal(found[i].outcome, TAMIS_KEY_FOUND);
            assert_int_equal(read_joined(found[i].key, values), SPLIT_FIELDS);
            for (int f = 0; f < SPLIT_FIELDS; pos += values[f++].size + 1)
                assert_memory_equal(values[f].data, pos, values[f].size);
            assert_ptr_equal(pos, records[i] + views[i].size + 1);
            for (size_t j = 0; j < i; j++) {
                const bool same_key = found[i].key.size == found[j].key.size &&
                                      memcmp(found[i].key.data, found[j].key.data, found[i].key.size) == 0;
                const bool same_record =
                    views[i].size == views[j].size && memcmp(records[i], records[j], views[i].size) == 0;
                assert_true(same_key == same_record);
            }
        }
        tamis_extractor_free(x);
    }
}

static void same_value(tamis_key value, tamis_key other) {
    assert_true((value.data == NULL) == (other.data == NULL));
    assert_int_equal(value.size, other.size);
    if (value.size > 0)
        assert_memory_equal(value.data, other.data, value.size);
}

/* The values of a record are those of which its key is made. */
static void values_come_one_by_one(void **state) {
    (void)state;
    enum { RECORDS = 5 };
    static const char *const lists[] = {"line",
                                        "field:2",
                                        "field:2 field:1 field:2",
                                        "csv:2 regex:(B)(C)? csv:1 line",
                                        "json:/b line json:/a",
                                        "regex:b"};
    static const tamis_key records[RECORDS] = {
        {" A \t B ", 7}, {"{\"a\":\"\\u0041\",\"b\":\" 1 \"}", 23}, {"x,B", 3}, {"x", 1}, {"B,\"B", 4}};
    for (size_t i = 0; i < 2 * COUNT(lists); i++) {
        tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
        tamis_extraction joined[RECORDS], found[RECORDS];
        tamis_key values[RECORDS * PARTS], expected[PARTS];
        options.trim = options.ignore_case = i % 2;
        tamis_extractor *x = make_as(lists[i / 2], options), *other = make_as(lists[i / 2], options);
        const size_t count = tamis_extractor_value_count(x);
        assert_true(tamis_extractor_joins(x) == (count > 1));
        assert_int_equal(tamis_extractor_extract(other, records, RECORDS, joined, &err), TAMIS_OK);
        assert_int_equal(tamis_extractor_values(x, records, RECORDS, found, values, &err), TAMIS_OK);
        for (size_t j = 0; j < RECORDS; j++) {
            assert_int_equal(found[j].outcome, joined[j].outcome);
            assert_ptr_equal(found[j].why, joined[j].why);
            assert_int_equal(found[j].pos, joined[j].pos);
            assert_null(found[j].key.data);
            if (found[j].outcome != TAMIS_KEY_FOUND)
                continue;
            expected[0] = joined[j].key;
            if (count > 1)
                assert_int_equal(read_joined(joined[j].key, expected), count);
            for (size_t v = 0; v < count; v++)
                same_value(values[j * count + v], expected[v]);
        }
        tamis_extractor_free(x);
        tamis_extractor_free(other);
    }
}

/* Fields are not copied. */
static void values_point_into_the_record(void **state) {
    (void)state;
    const tamis_key record = KEY("ab\tc\t");
    tamis_extraction found;
    tamis_key values[3];
    tamis_extractor *x = make("field:3 field:1 field:2");
    assert_int_equal(tamis_extractor_values(x, &record, 1, &found, values, &err), TAMIS_OK);
    assert_ptr_equal(values[0].data, (const char *)record.data + 5);
    assert_int_equal(values[0].size, 0);
    assert_ptr_equal(values[1].data, record.data);
    assert_ptr_equal(values[2].data, (const char *)record.data + 3);
    tamis_extractor_free(x);
}

/* A missing value is not replaced by that of the record before. */
static void records_know_nothing_of_each_other(void **state) {
    (void)state;
    static const char *const parts[] = {"regex:(a)", "regex:(a)(a)", "regex:a line",
                                        "field:2",   "csv:2",        "json:/a"};
    static const char *const having[] = {"a", "aa", "a", "x\ta", "x,a", "{\"a\":1}"};
    static const char *const lacking[] = {"b", "ab", "b", "x", "x", "{\"b\":1}"};
    for (size_t i = 0; i < COUNT(parts); i++) {
        const tamis_key good = {having[i], strlen(having[i])}, bad = {lacking[i], strlen(lacking[i])};
        const tamis_key records[] = {good, bad, good, bad};
        tamis_extraction found[4];
        tamis_extractor *x = make(parts[i]);
        assert_int_equal(tamis_extractor_extract(x, records, 4, found, &err), TAMIS_OK);
        for (size_t j = 0; j < 4; j++)
            assert_int_equal(found[j].outcome, j % 2 ? TAMIS_KEY_MISSING : TAMIS_KEY_FOUND);
        tamis_extractor_free(x);
    }
}

/* The memory of one huge key is freed during the run. */
static void huge_blocks_are_given_back(void **state) {
    (void)state;
    tamis__arena arena = {.memory = fault_memory_allocator(&memory)};
    assert_null(tamis__arena_alloc(&arena, SIZE_MAX));
    assert_null(tamis__arena_alloc(&arena, PTRDIFF_MAX));
    assert_non_null(tamis__arena_alloc(&arena, 0));
    const size_t first = memory.live_bytes;
    assert_non_null(tamis__arena_alloc(&arena, (size_t)20 << 20));
    assert_non_null(tamis__arena_alloc(&arena, (size_t)20 << 20));
    tamis__arena_reset(&arena);
    assert_int_equal(memory.live_bytes, first);
    tamis__arena_release(&arena);
}

/* The keys of a batch stay valid until the next batch, however much memory they need. */
static void a_batch_of_any_size_stays(void **state) {
    (void)state;
    enum { RECORDS = 40, MAX = 1 << 20 };
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    static tamis_key views[RECORDS];
    static tamis_extraction found[RECORDS];
    options.ignore_case = true;
    tamis_extractor *x = make_as("line", options);
    unsigned char *bytes = malloc(MAX);
    assert_non_null(bytes);
    memset(bytes, 'A', MAX);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < RECORDS; i++)
            views[i] = (tamis_key){bytes + i, i % 7 ? i * 100 : MAX - i};
        assert_int_equal(tamis_extractor_extract(x, views, RECORDS, found, &err), TAMIS_OK);
        for (size_t i = 0; i < RECORDS; i++) {
            assert_int_equal(found[i].key.size, views[i].size);
            for (size_t j = 0; j < views[i].size; j++)
                if (((const unsigned char *)found[i].key.data)[j] != 'a')
                    fail_msg("record %zu differs at byte %zu", i, j);
        }
        if (round > 0)
            assert_true(memory.live_bytes < (size_t)64 << 20);
    }
    /* A batch like earlier ones allocates nothing. */
    views[0].size = 100;
    assert_int_equal(tamis_extractor_extract(x, views, 1, found, &err), TAMIS_OK);
    const uint64_t requests = memory.requests;
    for (int round = 0; round < 100; round++)
        assert_int_equal(tamis_extractor_extract(x, views, 1, found, &err), TAMIS_OK);
    assert_int_equal(memory.requests, requests);
    free(bytes);
    tamis_extractor_free(x);
}

/* ---- blanks and case ---- */

static void blanks_are_trimmed(void **state) {
    (void)state;
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    options.trim = true;
    tamis_extractor *x = make_as("line", options);
    const tamis_key record = KEY(" \t\n\v\f\ra b\0 \r");
    key_is(x, record, KEY("a b\0"));
    assert_ptr_equal(extract_key(x, record).key.data, (const char *)record.data + 6);
    key_is(x, KEY(" \r\t"), KEY(""));
    key_is(x, KEY(""), KEY(""));
    key_is(x, KEY("\xc2\xa0"), KEY("\xc2\xa0")); /* a Unicode space, which is not trimmed */
    tamis_extractor_free(x);
    x = make_as("field:1 regex:(x)|(y.*)", options);
    key_is(x, KEY(" y \tz "), KEY("\1\0\0\0\0\0\0\0y\xff\xff\xff\xff\xff\xff\xff\xff\4\0\0\0\0\0\0\0y \tz"));
    tamis_extractor_free(x);
}

static void letters_are_folded(void **state) {
    (void)state;
    const struct {
        tamis_key from, to;
    } rows[] = {
        {KEY("Straße"), KEY("strasse")},
        {KEY("ẞ"), KEY("ss")},
        {KEY("ΣΑΣ"), KEY("σασ")},
        {KEY("σας"), KEY("σασ")},
        {KEY("\xc4\xb0I"), KEY("i\xcc\x87i")}, /* the dot becomes a character of its own */
        {KEY("ı"), KEY("ı")},
        {KEY("\xce\x90"), KEY("\xce\xb9\xcc\x88\xcc\x81")}, /* three times as long */
        {KEY("É"), KEY("é")},
        {KEY("E\xcc\x81"), KEY("e\xcc\x81")}, /* not composed */
        {KEY("\xe2\x84\xaa"), KEY("k")},      /* the Kelvin sign */
        {KEY("A\0B"), KEY("a\0b")},
        {KEY("@AZ[`az{"), KEY("@az[`az{")},
        {KEY("\xff\x41\xc3\x41\xc3\x89\xe2\x82"), KEY("\xff\x61\xc3\x61\xc3\xa9\xe2\x82")},
        {KEY("\xed\xa0\x80\xc0\x81\xf4\x90\x80\x80"), KEY("\xed\xa0\x80\xc0\x81\xf4\x90\x80\x80")},
        {KEY("\xf0\x90\x90\x80"), KEY("\xf0\x90\x90\xa8")}, /* of Deseret */
        {KEY(""), KEY("")},
    };
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    options.ignore_case = true;
    tamis_extractor *x = make_as("line", options);
    for (size_t i = 0; i < COUNT(rows); i++) {
        key_is(x, rows[i].from, rows[i].to);
        key_is(x, rows[i].to, rows[i].to);
        assert_ptr_equal(extract_key(x, rows[i].to).key.data,
                         rows[i].to.data); /* folded text is not copied */
    }
    tamis_extractor_free(x);
    options.trim = true;
    x = make_as("field:2", options);
    key_is(x, KEY("A\t B C "), KEY("b c"));
    tamis_extractor_free(x);
}

/* Each byte at each position of a word, among letters, compared with a simple loop. */
static void ascii_is_folded_by_the_word(void **state) {
    (void)state;
    tamis__arena arena = {.memory = fault_memory_allocator(&memory)};
    for (size_t size = 1; size <= 25; size++)
        for (size_t pos = 0; pos < size; pos++)
            for (int byte = 0; byte < 0x80; byte++) {
                char from[25], expected[25];
                memset(from, size % 2 ? 'x' : 'Q', sizeof from);
                memset(expected, size % 2 ? 'x' : 'q', sizeof expected);
                from[pos] = (char)byte;
                expected[pos] = (char)(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
                tamis_key key = {from, size};
                assert_int_equal(tamis__fold_case(&key, &arena), TAMIS_OK);
                assert_int_equal(key.size, size);
                assert_memory_equal(key.data, expected, size);
                tamis__arena_reset(&arena);
            }
    tamis__arena_release(&arena);
}

/* No character grows beyond the allocated memory. Folding twice gives the same as folding once. */
static void folding_has_bounds(void **state) {
    (void)state;
    tamis__arena arena = {.memory = fault_memory_allocator(&memory)};
    for (utf8proc_int32_t c = 0; c < 0x110000; c++) {
        unsigned char text[4];
        if (c >= 0xd800 && c < 0xe000)
            continue;
        const size_t size = (size_t)utf8proc_encode_char(c, text);
        tamis_key once = {text, size};
        assert_int_equal(tamis__fold_case(&once, &arena), TAMIS_OK);
        if (once.size > 3 * size || once.size == 0)
            fail_msg("U+%04X is %zu bytes long", (unsigned)c, once.size);
        tamis_key twice = once;
        assert_int_equal(tamis__fold_case(&twice, &arena), TAMIS_OK);
        assert_ptr_equal(twice.data, once.data);
        if (c % 4096 == 0)
            tamis__arena_reset(&arena);
    }
    tamis__arena_release(&arena);
}

/* ---- headers ---- */

static void say(const char *what) {
    if (!strstr(err.text, what))
        fail_msg("\"%s\" does not say \"%s\"", err.text, what);
}

static void header_fails(const char *parts, tamis_key header, const char *message) {
    tamis_extractor *x = make(parts);
    tamis_extraction found = {.outcome = 9};
    const tamis_key record = KEY("1,2,3");
    assert_int_equal(tamis_extractor_header(x, header, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text, message);
    assert_int_equal(tamis_extractor_extract(x, &record, 1, &found, &err), TAMIS_E_INVALID);
    say("header");
    assert_int_equal(found.outcome, 9);
    tamis_extractor_free(x);
}

static void header_gives(const char *parts, tamis_key header, tamis_key record, tamis_key expected) {
    tamis_extractor *x = make(parts);
    assert_true(tamis_extractor_wants_header(x) && tamis_extractor_is_csv(x));
    if (tamis_extractor_header(x, header, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    key_is(x, record, expected);
    tamis_extractor_free(x);
}

static void names_come_from_the_header(void **state) {
    (void)state;
    header_gives("csv:id", KEY("name,id,x"), KEY("n,\"4\",y"), KEY("4"));
    header_gives("csv:name", KEY("\xef\xbb\xbfname,id"), KEY("n,4"), KEY("n"));
    header_gives("csv:name", KEY("\xef\xbb\xbf\"name\",id"), KEY("n,4"), KEY("n"));
    header_gives("csv:x", KEY("id,x,id"), KEY("1,2,3"), KEY("2"));
    header_gives("csv:\"a,b\"", KEY("x,\"a,b\""), KEY("1,2"), KEY("2"));
    header_gives("csv:\"say\"\"hi\"\"\"", KEY("x,\"say\"\"hi\"\"\""), KEY("1,2"), KEY("2"));
    header_gives("csv:\"2\"", KEY("2,1"), KEY("a,b"), KEY("a"));
    header_gives("csv:\"\"", KEY("x,"), KEY("a,b"), KEY("b"));
    header_gives("csv:2x", KEY("1,2x"), KEY("a,b"), KEY("b"));
    header_gives("csv:b csv:1 csv:b", KEY("a,b"), KEY("x,y"),
                 KEY("\1\0\0\0\0\0\0\0y\1\0\0\0\0\0\0\0x\1\0\0\0\0\0\0\0y"));
    header_fails("csv:id", KEY("a,\"b\nc\",d"),
                 "key 'csv:id': the header has no such column; take one of these: a, b?c, d");
    header_fails("csv:a csv:z", KEY("a,,b"),
                 "key 'csv:z': the header has no such column; take one of these: a, \"\", b");
    header_fails("csv:id", KEY("id,x,id"),
                 "key 'csv:id': the header has several columns of that name; ask for one by number");
    header_fails("csv:id", KEY(""),
                 "key 'csv:id': the header is empty; have the first record name the columns, or ask for them "
                 "by number");
    header_fails(
        "csv:id",
        KEY("\xef\xbb\xbf"
            "a,\"b\"c"),
        "header: a closing quote is not the end of its field, at byte 8; correct it, or ask for columns "
        "by number");
    header_fails("csv:id", KEY(" id,\"a,b\",\"say \"\"x\"\"\",7,7a,\"\n\""),
                 "key 'csv:id': the header has no such column; take one of these: \" id\", \"a,b\", "
                 "\"say \"\"x\"\"\", \"7\", 7a, \"?\"");
    header_fails("csv:id", KEY("id;name"),
                 "key 'csv:id': the header has no such column; take one of these: id;name, or give the "
                 "delimiter of its columns");
    header_fails("csv:Id", KEY("id"), "key 'csv:Id': the header has no such column; take one of these: id");
    tamis_extractor *x = make("csv:id");
    assert_int_equal(tamis_extractor_header(x, KEY("a,\"b"), &err), TAMIS_E_INVALID);
    say("header: ");
    /* The next header counts, and one that fails leaves none. */
    assert_int_equal(tamis_extractor_header(x, KEY("id,x"), &err), TAMIS_OK);
    key_is(x, KEY("1,2"), KEY("1"));
    assert_int_equal(tamis_extractor_header(x, KEY("x,id"), &err), TAMIS_OK);
    key_is(x, KEY("1,2"), KEY("2"));
    assert_int_equal(tamis_extractor_header(x, KEY("x"), &err), TAMIS_E_INVALID);
    assert_int_equal(tamis_extractor_extract(x, NULL, 0, NULL, &err), TAMIS_E_INVALID);
    tamis_extractor_free(x);
}

static void a_long_header_is_not_listed_whole(void **state) {
    (void)state;
    char header[2000] = "";
    for (int i = 0; i < 150; i++)
        snprintf(header + strlen(header), sizeof header - strlen(header), "%scolumn%d", i ? "," : "", i);
    tamis_extractor *x = make("csv:id");
    assert_int_equal(tamis_extractor_header(x, (tamis_key){header, strlen(header)}, &err), TAMIS_E_INVALID);
    say("column0, column1, ");
    assert_true(strlen(err.text) < 300 && strcmp(err.text + strlen(err.text) - 5, ", ...") == 0);
    memset(header, 'x', sizeof header);
    for (size_t size = 190; size < 210; size++)
        assert_int_equal(tamis_extractor_header(x, (tamis_key){header, size}, &err), TAMIS_E_INVALID);
    tamis_extractor_free(x);
}

/* ---- refused options ---- */

static void texts_that_are_no_parts_are_refused(void **state) {
    (void)state;
    static const char *const fields[] = {"field:",   "field:0",  "field:a",
                                         "field:1x", "field:-1", "field:18446744073709551616"};
    static const char *const bytes[] = {
        "bytes:",    "bytes:5",    "bytes:-5",  "bytes:0-5",
        "bytes:1-0", "bytes:1-5x", "bytes:1--", "bytes:1-99999999999999999999"};
    static const char *const names[] = {"csv:a,b", "csv:a\"b", "csv:\ta", "csv:a\t"};
    static const char *const kinds[] = {"fields", "", "line:", "Line", "csv", "xml:/a", ":", "jso:/a"};
    char message[300];
    for (size_t i = 0; i < COUNT(fields); i++) {
        snprintf(message, sizeof message,
                 "key '%s': fields are numbered from 1 to %zu; write field:3 for the third", fields[i],
                 SIZE_MAX);
        refuses(fields[i], message);
    }
    for (size_t i = 0; i < COUNT(bytes); i++) {
        snprintf(message, sizeof message,
                 "key '%s': bytes are from one number to another, counted from 1 to %zu; write bytes:5-8 for "
                 "four of them, bytes:5- for all from the fifth on",
                 bytes[i], SIZE_MAX);
        refuses(bytes[i], message);
    }
    for (size_t i = 0; i < COUNT(names); i++) {
        tamis_extractor *x = NULL;
        assert_int_equal(try_make(&x, names[i], (tamis_extractor_options)TAMIS_EXTRACTOR_OPTIONS_INIT),
                         TAMIS_E_INVALID);
        say("a name with a comma, a quote or blanks at its ends is quoted; write csv:\"NAME\"");
    }
    for (size_t i = 0; i < COUNT(kinds); i++) {
        tamis_extractor *x = NULL;
        tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
        options.parts = &kinds[i];
        options.part_count = 1;
        assert_int_equal(tamis_extractor_create(&x, &options, &err), TAMIS_E_INVALID);
        snprintf(message, sizeof message, "key '%s': not one of the forms; write line, field:N, ", kinds[i]);
        say(message);
    }
    refuses("bytes:5-3", "key 'bytes:5-3': its last byte is before its first; write bytes:3-5");
    refuses("csv:", "key 'csv:': it names no column; write csv:NAME, or csv:N to count from 1");
    snprintf(message, sizeof message,
             "key 'csv:0': columns are numbered from 1 to %zu; quote a name of digits: csv:\"0\"", SIZE_MAX);
    refuses("csv:0", message);
    refuses("csv:\"a",
            "key 'csv:\"a': the name's quotes are not closed; end it with one, and double those in it");
    refuses("csv:\"a\"b",
            "key 'csv:\"a\"b': unexpected text after the closing quote; double quotes that are in the name");
    refuses("regex:", "key 'regex:': it has no expression; write regex:PATTERN");
    refuses("line regex:a(b",
            "key 'regex:a(b': missing closing parenthesis, at byte 3 of the pattern; correct it");
    refuses("line json:/a field:2 csv:1",
            "key 'json:/a': its records are JSON, and those of 'csv:1' CSV; ask for parts of one of them");
    tamis_extractor *x = NULL;
    tamis_extractor_options none = TAMIS_EXTRACTOR_OPTIONS_INIT;
    none.part_count = 2;
    assert_int_equal(tamis_extractor_create(&x, &none, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text, "keys of records: part_count is 2 and parts is NULL; give their texts");
    static const char *const gap[] = {"line", NULL};
    none.parts = gap;
    assert_int_equal(tamis_extractor_create(&x, &none, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text, "keys of records: part 2 is NULL; give its text");
    assert_int_equal(try_make(&x, "json:/a json:b", (tamis_extractor_options)TAMIS_EXTRACTOR_OPTIONS_INIT),
                     TAMIS_E_INVALID);
    say("key 'json:b': ");
}

static void delimiters_are_bytes(void **state) {
    (void)state;
    static const int wrong[] = {-2, 256, '"', '\n', '\r'};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
        tamis_extractor *x = NULL;
        options.delimiter = wrong[i];
        assert_int_equal(try_make(&x, "csv:1", options), TAMIS_E_INVALID);
        say("delimiter: ");
        assert_null(x);
    }
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    options.delimiter = ';';
    tamis_extractor *x = make_as("csv:b field:1", options);
    assert_int_equal(tamis_extractor_header(x, KEY("a;b"), &err), TAMIS_OK);
    key_is(x, KEY("1,2;\"3\""), KEY("\1\0\0\0\0\0\0\0003\3\0\0\0\0\0\0\0001,2"));
    tamis_extractor_free(x);
    options.struct_size = 0;
    assert_int_equal(tamis_extractor_create(&x, &options, &err), TAMIS_E_INVALID);
}

/* ---- limits ---- */

static void no_expression_runs_for_ever(void **state) {
    (void)state;
    char record[2][64];
    memset(record, 'a', sizeof record);
    record[1][63] = 'b';
    const tamis_key records[] = {{record[0], 64}, {record[1], 64}};
    static const char *const patterns[] = {"regex:(a+)+$", "regex:(*NO_JIT)(a+)+$",
                                           "field:1 regex:^(a|aa)+$"};
    for (size_t i = 0; i < COUNT(patterns); i++) {
        tamis_extraction found[2];
        tamis_extractor *x = make(patterns[i]);
        assert_int_equal(tamis_extractor_extract(x, records, 1, found, &err), TAMIS_OK);
        assert_int_equal(tamis_extractor_extract(x, records, 2, found, &err), TAMIS_OK);
        assert_int_equal(found[0].outcome, TAMIS_KEY_FOUND);
        assert_int_equal(found[1].outcome, TAMIS_KEY_MALFORMED);
        assert_string_equal(found[1].why,
                            "matching the expression takes too many steps back, or too much memory");
        assert_int_equal(extract_key(x, KEY("a")).outcome, TAMIS_KEY_FOUND); /* the extractor still works */
        tamis_extractor_free(x);
    }
}

/* A match for which the machine's stack would be too small. */
static void long_records_are_matched(void **state) {
    (void)state;
    enum { SIZE = 200000 };
    char *record = malloc(SIZE);
    assert_non_null(record);
    memset(record, 'a', SIZE);
    for (size_t i = 1; i < SIZE; i += 3)
        record[i] = 'b';
    static const char *const patterns[] = {"regex:^(?:a|ab)*$", "regex:(*NO_JIT)^(?:a|ab)*$"};
    for (size_t i = 0; i < COUNT(patterns); i++) {
        tamis_extractor *x = make(patterns[i]);
        key_is(x, (tamis_key){record, SIZE}, (tamis_key){record, SIZE});
        tamis_extractor_free(x);
    }
    free(record);
}

/* ---- memory ---- */

/* Makes an extractor, uses it and frees it. Returns the first error. */
static tamis_status live(const char *parts, tamis_key header, tamis_key record, tamis_key expected) {
    tamis_extractor_options options = TAMIS_EXTRACTOR_OPTIONS_INIT;
    tamis_extractor *x = NULL;
    tamis_extraction found;
    options.ignore_case = true;
    tamis_status status = try_make(&x, parts, options);
    assert_true((status == TAMIS_OK) == (x != NULL));
    if (status == TAMIS_OK)
        status = tamis_extractor_header(x, header, &err);
    if (status == TAMIS_OK)
        status = tamis_extractor_extract(x, &record, 1, &found, &err);
    if (status == TAMIS_OK) {
        assert_int_equal(found.outcome, TAMIS_KEY_FOUND);
        assert_int_equal(found.key.size, expected.size);
        assert_memory_equal(found.key.data, expected.data, expected.size);
    }
    tamis_extractor_free(x);
    return status;
}

static void refused_memory_leaves_nothing(void **state) {
    (void)state;
    const struct {
        const char *parts;
        tamis_key header, record, expected;
    } rows[] = {
        {"line", KEY(""), KEY("A"), KEY("a")},
        {"csv:x csv:2 regex:(B)(C)?", KEY("y,\"x\""), KEY("A,\"\"\"B\""),
         KEY("\2\0\0\0\0\0\0\0\"b\2\0\0\0\0\0\0\0\"b\1\0\0\0\0\0\0\0b\xff\xff\xff\xff\xff\xff\xff\xff")},
        {"json:/a json:/b field:1 regex:(*UTF)b", KEY(""), KEY("{\"a\":\"\\u0041\",\"b\":1}"),
         KEY("\1\0\0\0\0\0\0\0a\1\0\0\0\0\0\0\0001\24\0\0\0\0\0\0\0{\"a\":\"\\u0041\",\"b\":1}"
             "\1\0\0\0\0\0\0\0b")},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        bool is_counted = !strstr(rows[i].parts, "regex");
        for (uint64_t n = 1;; n++) {
            memset(&memory, 0, sizeof memory);
            memory.fail_at = n;
            tamis_status status = live(rows[i].parts, rows[i].header, rows[i].record, rows[i].expected);
            if (memory.live_blocks > 0)
                fail_msg("%s: request %d of memory leaves something", rows[i].parts, (int)n);
            if (memory.refused == 0) {
                assert_int_equal(status, TAMIS_OK);
                break;
            }
            /* Without memory for machine code, PCRE2 works without it. */
            assert_true(status == TAMIS_E_NOMEM || (status == TAMIS_OK && strstr(rows[i].parts, "regex")));
            if (status == TAMIS_E_NOMEM)
                say("keys of records: out of memory");
            is_counted = is_counted || strstr(err.text, " bytes were refused");
        }
        assert_true(is_counted);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, nothing_is_left)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_line_is_the_record),
        TEST(fields_lie_between_delimiters),
        TEST(bytes_are_counted_from_one),
        TEST(expressions_give_match_or_groups),
        TEST(structured_parts_are_decoded),
        TEST(several_parts_are_joined),
        TEST(parts_do_not_collide),
        TEST(values_come_one_by_one),
        TEST(values_point_into_the_record),
        TEST(records_know_nothing_of_each_other),
        TEST(huge_blocks_are_given_back),
        TEST(a_batch_of_any_size_stays),
        TEST(blanks_are_trimmed),
        TEST(letters_are_folded),
        TEST(ascii_is_folded_by_the_word),
        TEST(folding_has_bounds),
        TEST(names_come_from_the_header),
        TEST(a_long_header_is_not_listed_whole),
        TEST(texts_that_are_no_parts_are_refused),
        TEST(delimiters_are_bytes),
        TEST(no_expression_runs_for_ever),
        TEST(long_records_are_matched),
        TEST(refused_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
