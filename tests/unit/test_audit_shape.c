/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/compat/funnel.h>
#include <tamis/tamis.h>

/* The command is not a library, so the tested file is compiled in. */
#include "cli/cmd/audit/audit_shape.c"

static const cli_key_form plain = {.type = CLI_KEY_BYTES};
static audit_shape shape;

static void learn(const char *text) {
    tamis_key key = {text, strlen(text)};
    assert_true(audit_shape_learn(&shape, &key));
}

static void keeps_length_and_classes(void **state) {
    static const char like_this[] = "https://Ab.9/caf\xc3\xa9?x=\x01";
    unsigned char made[AUDIT_KEY_MAX];
    int changed[sizeof like_this] = {0};
    (void)state;
    audit_shape_begin(&shape, plain, 1);
    learn(like_this);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(audit_shape_make(&shape, made), sizeof like_this - 1);
        for (size_t at = 0; at + 1 < sizeof like_this; at++) {
            unsigned char was = (unsigned char)like_this[at], first = 0, now_first = 0;
            unsigned size = class_of(was, &first);
            assert_int_equal(class_of(made[at], &now_first), size);
            assert_int_equal(now_first, first);
            changed[at] += made[at] != was;
            if (size == 0)
                assert_int_equal(made[at], was);
        }
    }
    assert_true(changed[0] > 1800 && changed[8] > 1800 && changed[11] > 1700 && changed[17] > 1800);
    audit_shape_release(&shape);
}

/* Each of many keys has the same chance to be in the sample. */
static void samples_evenly(void **state) {
    unsigned char made[AUDIT_KEY_MAX];
    int longer = 0;
    (void)state;
    audit_shape_begin(&shape, plain, 2);
    for (int i = 0; i < 100000; i++)
        learn(i < 50000 ? "abc" : "abcdef");
    for (int i = 0; i < 10000; i++) {
        size_t size = audit_shape_make(&shape, made);
        assert_true(size == 3 || size == 6);
        longer += size == 6;
    }
    assert_in_range(longer, 4000, 6000); /* 512 of 1024 samples, with a standard deviation of 16 */
    audit_shape_release(&shape);
}

static void makes_words_of_nothing(void **state) {
    unsigned char made[AUDIT_KEY_MAX], again[AUDIT_KEY_MAX];
    (void)state;
    audit_shape_begin(&shape, plain, 3);
    assert_int_equal(audit_shape_make(&shape, made), 24);
    for (int i = 0; i < 24; i++)
        assert_in_range(made[i], 'a', 'z');
    audit_shape_begin(&shape, plain, 3);
    audit_shape_make(&shape, again);
    assert_memory_equal(made, again, 24);
    audit_shape_begin(&shape, plain, 4);
    audit_shape_make(&shape, again);
    assert_memory_not_equal(made, again, 24);
}

static void ends_long_keys_and_widens(void **state) {
    static char text[3 * AUDIT_LEARNT];
    unsigned char made[AUDIT_KEY_MAX];
    (void)state;
    memset(text, '5', sizeof text - 1);
    audit_shape_begin(&shape, plain, 5);
    learn(text);
    assert_int_equal(audit_shape_make(&shape, made), AUDIT_LEARNT);
    shape.more = AUDIT_MORE;
    assert_int_equal(audit_shape_make(&shape, made), AUDIT_KEY_MAX);
    assert_in_range(made[AUDIT_KEY_MAX - 1], '0', '9');
    audit_shape_release(&shape);
    audit_shape_begin(&shape, plain, 5);
    learn("");
    assert_int_equal(audit_shape_make(&shape, made), 0);
    shape.more = 2;
    assert_int_equal(audit_shape_make(&shape, made), 2);
    assert_in_range(made[0], 'a', 'z');
    audit_shape_release(&shape);
}

/* Random text made from UTF-8 is UTF-8, also if it is cut or widened, so that the types utf8 and utf16
 * accept it. */
static void utf8_stays_utf8(void **state) {
    static const char *const texts[] = {"\xc3\xa9t\xc3\xa9",
                                        "\xe0\xa0\x80",
                                        "\xe0\xbf\xbf",
                                        "\xed\x80\x80",
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xe2\x82\xac",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf",
                                        "\xf3\xbf\xbf\xbf",
                                        "",
                                        "a\xc2\x80"};
    static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    static char text[2 * AUDIT_LEARNT];
    unsigned char made[AUDIT_KEY_MAX];
    tamis_sink *sink = NULL;
    const tamis_key *keys;
    size_t count;
    tamis_error err = TAMIS_ERROR_INIT;
    (void)state;
    assert_int_equal(tamis_sink_create(&sink, NULL, &err), TAMIS_OK);
    audit_shape_begin(&shape, (cli_key_form){.type = CLI_KEY_UTF16}, 6);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        learn(texts[i]);
    for (size_t i = 0; i < 3; i++) /* a character across the end of a cut text, at each offset */
        for (size_t before = 0; before < 4; before++) {
            size_t size = before;
            memset(text, 'x', size);
            while (size + 4 < sizeof text) {
                memcpy(text + size, characters[i], strlen(characters[i]));
                size += strlen(characters[i]);
            }
            text[size] = '\0';
            learn(text);
        }
    for (int i = 0; i < 20000; i++) {
        shape.more = (size_t)i % 4;
        tamis_sink_clear(sink);
        tamis_sink_put_text(sink, (const char *)made, audit_shape_make(&shape, made));
        tamis_sink_end_key(sink);
        if (tamis_sink_keys(sink, &keys, &count, &err) != TAMIS_OK)
            fail_msg("%s", err.text);
    }
    tamis_sink_free(sink);
    audit_shape_release(&shape);
}

static int64_t number_of(const unsigned char *bytes, size_t size) {
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    return size == 4 ? (int32_t)value : (int64_t)value;
}

/* Random numbers have the type, sign and size of a learnt number, unless there are too few such numbers. */
static void numbers_keep_sign_and_size(void **state) {
    static const cli_key_form forms[] = {{.type = CLI_KEY_INT32}, {.type = CLI_KEY_INT64}};
    static const int64_t learnt[] = {1000, -5, 0, -1, INT32_MAX, INT32_MIN};
    static const int64_t low[] = {0, -8, 0, -1, INT32_MIN, INT32_MIN},
                         high[] = {1023, -1, 0, -1, INT32_MAX, INT32_MAX};
    (void)state;
    for (size_t f = 0; f < 2; f++)
        for (size_t i = 0; i < sizeof learnt / sizeof *learnt; i++) {
            unsigned char bytes[8], made[AUDIT_KEY_MAX];
            size_t size = f == 0 ? 4 : 8;
            int64_t min = INT64_MAX, max = INT64_MIN, from = low[i], to = high[i];
            if (size == 8 && i >= 4) { /* more numbers have that size */
                from = i == 4 ? 0 : INT32_MIN;
                to = i == 4 ? INT32_MAX : -1;
            }
            for (size_t b = 0; b < 8; b++)
                bytes[b] = (unsigned char)((uint64_t)learnt[i] >> 8 * b);
            audit_shape_begin(&shape, forms[f], 8);
            assert_true(audit_shape_learn(&shape, &(tamis_key){bytes, size}));
            for (int n = 0; n < 5000; n++) {
                assert_int_equal(audit_shape_make(&shape, made), size);
                int64_t number = number_of(made, size);
                assert_true(number >= from && number <= to);
                min = number < min ? number : min;
                max = number > max ? number : max;
            }
            /* nearly the whole range occurs */
            assert_true((double)min < (double)from + 0.01 * ((double)to - (double)from) + 1);
            assert_true((double)max > (double)to - 0.01 * ((double)to - (double)from) - 1);
            shape.more = AUDIT_MORE; /* any number */
            min = max = 0;
            for (int n = 0; n < 5000; n++) {
                audit_shape_make(&shape, made);
                int64_t number = number_of(made, size);
                min = number < min ? number : min;
                max = number > max ? number : max;
            }
            assert_true(min < (size == 4 ? INT32_MIN / 2 : INT64_MIN / 2));
            assert_true(max > (size == 4 ? INT32_MAX / 2 : INT64_MAX / 2));
            audit_shape_release(&shape);
        }
    unsigned char made[AUDIT_KEY_MAX];
    audit_shape_begin(&shape, forms[0], 1); /* nothing was learnt */
    assert_int_equal(audit_shape_make(&shape, made), 4);
    audit_shape_begin(&shape, forms[1], 1);
    assert_int_equal(audit_shape_make(&shape, made), 8);
}

static void digits_mean_any_bytes_of_like_length(void **state) {
    unsigned char made[AUDIT_KEY_MAX];
    bool met[256] = {false};
    size_t values = 0;
    (void)state;
    audit_shape_begin(&shape, (cli_key_form){.type = CLI_KEY_BYTES, .hex = true}, 9);
    assert_int_equal(audit_shape_make(&shape, made), 16);
    learn("aa");
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(audit_shape_make(&shape, made), 2);
        met[made[1]] = true;
    }
    for (size_t i = 0; i < 256; i++)
        values += met[i];
    assert_int_equal(values, 256);
    shape.more = AUDIT_MORE;
    assert_int_equal(audit_shape_make(&shape, made), 2 + AUDIT_MORE);
    audit_shape_release(&shape);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_length_and_classes),
        cmocka_unit_test(samples_evenly),
        cmocka_unit_test(makes_words_of_nothing),
        cmocka_unit_test(ends_long_keys_and_widens),
        cmocka_unit_test(utf8_stays_utf8),
        cmocka_unit_test(numbers_keep_sign_and_size),
        cmocka_unit_test(digits_mean_any_bytes_of_like_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
