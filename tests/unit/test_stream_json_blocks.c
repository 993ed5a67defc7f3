/* SPDX-License-Identifier: BSD-2-Clause */

/* JSON records with every set of kernels, compared with the scalar scanner, which the other tests of JSON
 * compare with an oracle. Values and faults must be the same at every position in a block of 64 bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stream/kernels/json_kernels.h"
#include "support/isa.h"
#include "support/scratch.h"

static const char *const pointers[] = {"/id", "/a/b", "/a", "/\xc3\xa9/x", "", "/~1~0"};
static const char *const one_letter[] = {"/id", "/i"};
static const char *const element[] = {"/a/0", "/id"};
enum { POINTERS = sizeof pointers / sizeof *pointers };

typedef struct reader {
    tamis__json *json;
    size_t count;
    tamis__arena arena;
    tamis_key values[POINTERS];
    tamis__fault fault;
} reader;

static void begin_reader(reader *r, const char *const *queried, size_t count, tamis__isa isa) {
    tamis__pointer_fault wrong;
    *r = (reader){.count = count, .arena = {.memory = tamis__allocator_resolve(NULL)}};
    assert_int_equal(tamis__json_create(&r->json, queried, count, NULL, &wrong), TAMIS_OK);
    r->json->kernels = tamis__json_kernels_of(isa);
}

static void end_reader(reader *r) {
    tamis__json_free(r->json);
    tamis__arena_release(&r->arena);
}

/* The scanner, and one of the other sets. */
static reader plain, blocks;

static void begin_both(const char *const *queried, size_t count, tamis__isa isa) {
    begin_reader(&plain, queried, count, TAMIS__ISA_SCALAR);
    begin_reader(&blocks, queried, count, isa);
}

static void end_both(void) {
    end_reader(&plain);
    end_reader(&blocks);
}

static bool same_values(void) {
    for (size_t i = 0; i < plain.count; i++) {
        const tamis_key *value = &plain.values[i], *other = &blocks.values[i];
        if (!value->data != !other->data || value->size != other->size ||
            (value->size && memcmp(value->data, other->data, value->size) != 0))
            return false;
    }
    return true;
}

/* Checks that both find the same. True if the record is well-formed. */
static bool agrees(const void *text, size_t size) {
    unsigned char *record = malloc(size ? size : 1); /* exact size: a sanitizer sees a read past its end */
    assert_non_null(record);
    memcpy(record, text, size);
    const tamis_key key = {record, size};
    const tamis_status expected = tamis__json_find(plain.json, key, plain.values, &plain.arena, &plain.fault);
    const tamis_status got = tamis__json_find(blocks.json, key, blocks.values, &blocks.arena, &blocks.fault);
    const bool same = got == expected && (expected == TAMIS_OK ? same_values()
                                                               : blocks.fault.why == plain.fault.why &&
                                                                     blocks.fault.pos == plain.fault.pos);
    if (!same)
        print_error("%s is at odds over: %.*s\n", blocks.json->kernels->name, (int)size, (const char *)text);
    assert_true(same);
    tamis__arena_reset(&plain.arena);
    tamis__arena_reset(&blocks.arena);
    free(record);
    return expected == TAMIS_OK;
}

/* True if the set has a kernel that reads blocks. */
static bool skims(tamis__isa isa) {
    return isa == TAMIS__ISA_AVX512;
}

/* True if the kernels handle the record alone, without the scanner, which they may if it has brackets at
 * its ends. */
static bool is_skimmed(const void *text, size_t size) {
    tamis__fault fault;
    const char *signs = text;
    if (!size || !strchr("[{", signs[0]) || !strchr("]}", signs[size - 1]))
        return false;
    unsigned char *record = malloc(size);
    assert_non_null(record);
    memcpy(record, text, size);
    const tamis__json_text as = {record, record + size, &fault};
    const bool sure = blocks.json->kernels->skim(blocks.json, &as, NULL);
    free(record);
    return sure;
}

static const char rich[] =
    "{\"p\":\"\",\"id\":\"e\\u00e9\\ud83d\\ude00\xf0\x9f\x98\x80-"
    "\xc3\xa9\xe0\xa0\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf\\n\","
    " \"a\":{\"b\":-0.5e+10,\"b\":[true,false , null]},\t\"\\u00e9\":{ \"x\" : \"\\\\\\\" or so\"},"
    "\"a\":{\"b\":{\"c\":[[],{}, [ ],0,10]}},\"/~\":10,\"i\\u0064\":\"two\"}";

/* Makes `rich` with a longer first string, which moves everything after it by `shift`. Returns the size. */
static size_t shifted(char *text, size_t shift) {
    const size_t head = strlen("{\"p\":\"");
    memcpy(text, rich, head);
    memset(text + head, 'p', shift);
    memcpy(text + head + shift, rich + head, sizeof rich - head);
    return sizeof rich - 1 + shift;
}

enum { SHIFTS = 64, CAPACITY = sizeof rich + SHIFTS };

static void every_shift(tamis__isa isa) {
    char text[CAPACITY];
    begin_both(pointers, POINTERS, isa);
    for (size_t shift = 0; shift < SHIFTS; shift++) {
        const size_t size = shifted(text, shift);
        assert_true(agrees(text, size));
        assert_int_equal(is_skimmed(text, size), skims(isa));
    }
    end_both();
}

static void every_cut(tamis__isa isa) {
    char text[CAPACITY];
    begin_both(pointers, POINTERS, isa);
    for (size_t shift = 0; shift < SHIFTS; shift += 9) {
        const size_t size = shifted(text, shift);
        for (size_t cut = 0; cut < size; cut++)
            assert_int_equal(agrees(text, cut), cut == 0);
    }
    end_both();
}

static void every_changed_byte(tamis__isa isa) {
    char text[CAPACITY];
    uint64_t well = 0, total = 0;
    const unsigned step = (unsigned)test_scale(1, 11, 7);
    begin_both(pointers, POINTERS, isa);
    for (size_t shift = 0; shift < SHIFTS; shift += 9) {
        const size_t size = shifted(text, shift);
        for (size_t pos = 0; pos < size; pos++) {
            const char kept = text[pos];
            for (unsigned byte = (unsigned)(pos + shift) % step; byte < 256; byte += step, total++) {
                text[pos] = (char)byte;
                well += agrees(text, size);
            }
            text[pos] = kept;
        }
    }
    assert_in_range(well, total / 20, total - total / 20);
    end_both();
}

/* ---- random records ---- */

static uint64_t chance;

static const char *one_of(const char *const *from, size_t count) {
    return from[test_below(&chance, count)];
}
#define ONE_OF(list) one_of(list, sizeof(list) / sizeof *(list))

static void add(test_bytes *to, const char *text) {
    bytes_add(to, text, strlen(text));
}

static void add_blanks(test_bytes *to) {
    static const char *const blanks[] = {" ", "  ", "\t", "\n", "\r\n", "        "};
    if (test_below(&chance, 6) == 0)
        add(to, ONE_OF(blanks));
}

static void add_string(test_bytes *to) {
    static const char *const pieces[] = {"id",
                                         "i",
                                         "a",
                                         "b",
                                         "x",
                                         "\\u00e9",
                                         "\xc3\xa9",
                                         "\\/",
                                         "~",
                                         "\\\\",
                                         "\\\"",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         ":",
                                         ",",
                                         " ",
                                         "\\u0069",
                                         "\xe2\x82\xac",
                                         "\\t",
                                         "\\ud83d\\ude00",
                                         "\xf0\x9f\x98\x80",
                                         "\x7f",
                                         "0123456789"};
    add(to, "\"");
    for (uint64_t i = test_below(&chance, 3) ? 1 : test_below(&chance, 12); i > 0; i--)
        add(to, test_below(&chance, 2) ? pieces[test_below(&chance, 5)] : ONE_OF(pieces));
    add(to, "\"");
}

static void add_value(test_bytes *to, unsigned depth) {
    static const char *const scalars[] = {
        "1", "-0", "0.5", "1e9", "0", "true", "false", "null", "12345678901234567890", "-1.25E-7"};
    const uint64_t what = depth == 0 ? test_below(&chance, 2) : test_below(&chance, depth > 6 ? 2 : 4);
    add_blanks(to);
    if (depth > 0 && what == 0) {
        add(to, ONE_OF(scalars));
    } else if (depth > 0 && what == 1) {
        add_string(to);
    } else {
        add(to, what % 2 ? "{" : "[");
        for (uint64_t i = 0, count = test_below(&chance, 6); i < count; i++) {
            if (i)
                add(to, ",");
            if (what % 2) {
                add_blanks(to);
                add_string(to);
                add_blanks(to);
                add(to, ":");
            }
            add_value(to, depth + 1);
        }
        add_blanks(to);
        add(to, what % 2 ? "}" : "]");
    }
    add_blanks(to);
}

/* Damages the record: inserts, removes or replaces a character or a token at some positions. */
static void harm(test_bytes *text) {
    static const char signs[] = "{}[]\",:\\u0eE+-.tfn \t\n\xc3\xed\xf0\x80\x1f";
    const size_t pos = (size_t)test_below(&chance, text->size);
    const char sign = signs[test_below(&chance, sizeof signs - 1)];
    switch (test_below(&chance, 3)) {
    case 0:
        text->data[pos] = (unsigned char)sign;
        break;
    case 1:
        memmove(text->data + pos, text->data + pos + 1, --text->size - pos);
        break;
    default:
        bytes_add(text, &sign, 1);
        memmove(text->data + pos + 1, text->data + pos, text->size - 1 - pos);
        text->data[pos] = (unsigned char)sign;
        break;
    }
}

static void random_records(tamis__isa isa) {
    const uint64_t rounds = test_scale_torture(300000, 100000, 6000, 30000);
    uint64_t well = 0, whole = 0, skimmed = 0;
    chance = test_seed(9);
    for (int set = 0; set < 3; set++) {
        begin_both(set == 0 ? pointers : set == 1 ? one_letter : element, set == 0 ? POINTERS : 2, isa);
        for (uint64_t i = 0; i < rounds / 3; i++) {
            test_bytes text = {0};
            add_value(&text, 0);
            assert_true(agrees(text.data, text.size));
            whole++;
            skimmed += is_skimmed(text.data, text.size);
            for (uint64_t n = test_below(&chance, 3); n > 0 && text.size; n--)
                harm(&text);
            well += agrees(text.data, text.size);
            bytes_clear(&text);
        }
        end_both();
    }
    assert_in_range(well, rounds / 5, rounds * 4 / 5); /* both kinds are frequent */
    if (!skims(isa))
        assert_int_equal(skimmed, 0);
    else
        assert_in_range(skimmed, whole / 4, whole); /* not with blanks around it, or lookups in an array */
}

/* ---- records that are read ahead ---- */

enum { LIST = 7 };

/* Consecutive records in one buffer, which is reused for the next list, as an extractor reads them. Some
 * records are announced but not looked up. */
static void lists_of_records(tamis__isa isa) {
    unsigned char *capacity = malloc(1 << 16);
    assert_non_null(capacity);
    chance = test_seed(10);
    begin_both(pointers, POINTERS, isa);
    for (uint64_t round = 0, rounds = test_scale(20000, 500, 3000); round < rounds; round++) {
        tamis_key records[LIST];
        size_t used = 0;
        for (size_t i = 0; i < LIST; i++) {
            test_bytes text = {0};
            add_value(&text, 0);
            if (test_below(&chance, 4) == 0)
                harm(&text);
            if (text.size > (1 << 16) / LIST)
                text.size = 0;
            memcpy(capacity + used, text.data, text.size);
            records[i] = (tamis_key){capacity + used, text.size};
            used += text.size;
            bytes_clear(&text);
        }
        tamis__json_expect_none(blocks.json);
        for (size_t i = 0; i < LIST; i++) {
            if (i + 1 < LIST)
                tamis__json_expect(blocks.json, records[i + 1]);
            const tamis_status expected =
                tamis__json_find(plain.json, records[i], plain.values, &plain.arena, &plain.fault);
            const tamis_status got =
                tamis__json_find(blocks.json, records[i], blocks.values, &blocks.arena, &blocks.fault);
            assert_int_equal(got, expected);
            if (expected == TAMIS_OK)
                assert_true(same_values());
            else
                assert_true(blocks.fault.why == plain.fault.why && blocks.fault.pos == plain.fault.pos);
            if (test_below(&chance, 50) == 0)
                break;
        }
        tamis__arena_reset(&plain.arena);
        tamis__arena_reset(&blocks.arena);
    }
    end_both();
    free(capacity);
}

/* ---- depth and length ---- */

static void depth_and_length(tamis__isa isa) {
    enum { DEEPEST = 70, LONG = 3000 };
    char text[LONG + 3 * DEEPEST];
    begin_both(one_letter, 2, isa);
    for (size_t depth = 1; depth < DEEPEST; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_true(agrees(text, 2 * depth));
        assert_int_equal(is_skimmed(text, 2 * depth), skims(isa) && depth <= 64);
        text[2 * depth] = ']';
        assert_false(agrees(text, 2 * depth - 1));
        assert_false(agrees(text, 2 * depth + 1));
        text[2 * depth - 1] = '}';
        assert_false(agrees(text, 2 * depth));
    }
    for (size_t size = 0; size < LONG; size += 1 + size / 7) {
        static const char inner[] = "\"1 ";
        for (size_t i = 0; i < 3; i++) { /* a long string, number, or run of blanks */
            const int made = snprintf(text, sizeof text, "{\"id\":%.*s", i != 2, &inner[i]);
            memset(text + made, i == 0 ? '1' : inner[i], size);
            const int tail = snprintf(text + (size_t)made + size, 8, "%s",
                                      i == 0   ? "\"}"
                                      : i == 1 ? "}"
                                               : "2}");
            assert_true(agrees(text, (size_t)(made + tail) + size));
            assert_int_equal(is_skimmed(text, (size_t)(made + tail) + size), skims(isa));
        }
    }
    end_both();
}

static void tables(tamis__isa isa) {
    assert_string_equal(tamis__json_kernels_of(isa)->name,
                        tamis__isa_name(skims(isa) ? isa : TAMIS__ISA_SCALAR));
}

#define EACH(test)                                                                                           \
    static void each_##test(void **state) {                                                                  \
        (void)state;                                                                                         \
        isa_each(test);                                                                                      \
    }
EACH(tables)
EACH(every_shift)
EACH(every_cut)
EACH(every_changed_byte)
EACH(random_records)
EACH(lists_of_records)
EACH(depth_and_length)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_tables),           cmocka_unit_test(each_every_shift),
        cmocka_unit_test(each_every_cut),        cmocka_unit_test(each_every_changed_byte),
        cmocka_unit_test(each_random_records),   cmocka_unit_test(each_lists_of_records),
        cmocka_unit_test(each_depth_and_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
