/* SPDX-License-Identifier: BSD-2-Clause */

/* Text encoded as key bytes, and every kind of invalid text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <iconv.h>

#include <tamis/compat/funnel.h>

#include "golden/golden_reader.h"
#include "support/sinks.h"

/* Replaces the function of the C library, so that it can be made to fail. */
static int iconv_refusal;

iconv_t iconv_open(const char *to, const char *from) {
    void *symbol = dlsym(RTLD_NEXT, "iconv_open");
    iconv_t (*original)(const char *, const char *);

    if (iconv_refusal) {
        errno = iconv_refusal;
        return (iconv_t)-1;
    }
    memcpy(&original, &symbol, sizeof original);
    return original(to, from);
}

static void text_as_utf16(void **state) {
    (void)state;
    static const struct {
        const char *utf8, *utf16;
    } rows[] = {
        {"", ""},
        {"00", "0000"}, /* a zero is a character */
        {"610062", "610000006200"},
        {"7f", "7f00"},
        {"c280", "8000"},
        {"dfbf", "ff07"},
        {"e0a080", "0008"},
        {"ed9fbf", "ffd7"},       /* the last one before the surrogates */
        {"ee8080", "00e0"},       /* the first one after */
        {"efbbbf61", "fffe6100"}, /* a byte order mark is a character like others */
        {"efbfbe", "feff"},       /* and so is what Unicode calls a noncharacter */
        {"efbfbf", "ffff"},
        {"f0908080", "00d800dc"},
        {"f09f9880", "3dd800de"},
        {"f3a08081", "40db01dc"}, /* a language tag, which some converters swallow */
        {"f48fbfbf", "ffdbffdf"},
    };
    tamis_sink *sink = sink_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t text[16];
        size_t size = golden_bytes(rows[i].utf8, text);
        tamis_sink_put_text(sink, (const char *)text, size);
        sink_expect(sink, rows[i].utf16);
        tamis_sink_put_utf8(sink, (const char *)text, size);
        sink_expect(sink, rows[i].utf8);
    }
    tamis_sink_free(sink);
}

/* UTF-16 units are kept as they are: lone and swapped surrogates, U+FFFF. */
static void utf16_units(void **state) {
    (void)state;
    static const uint16_t odd[] = {0x61, 0xd800, 0xdc00, 0xdfff, 0xd83d, 0xffff, 0};
    tamis_sink *sink = sink_new();
    tamis_sink_put_utf16(sink, odd, sizeof odd / sizeof *odd);
    sink_expect(sink, "610000d800dcffdf3dd8ffff0000");

    /* More units than are encoded at once. */
    static uint16_t many[1000];
    const tamis_key *keys;
    for (size_t i = 0; i < 1000; i++)
        many[i] = (uint16_t)(i * 67);
    tamis_sink_put_utf16(sink, many, 1000);
    tamis_sink_end_key(sink);
    assert_int_equal(sink_keys(sink, &keys), 1);
    assert_int_equal(keys[0].size, 2000);
    const uint8_t *data = keys[0].data;
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(data[2 * i] | data[2 * i + 1] << 8, many[i]);
    tamis_sink_free(sink);
}

typedef void put_text_fn(tamis_sink *sink, const char *text, size_t size);
static put_text_fn *const puts_text[] = {tamis_sink_put_utf8, tamis_sink_put_text};

/* Checks that the error in `hex` is reported at byte `offset`, after a good key and `padding` bytes of
 * text. */
static void expect_refused(tamis_sink *sink, put_text_fn *put, const char *hex, size_t offset,
                           size_t padding) {
    char text[2048], expected[64];
    memset(text, 'x', padding);
    size_t size = padding + golden_bytes(hex, (uint8_t *)text + padding);
    snprintf(expected, sizeof expected, "at offset %zu (byte 0x%02X);", padding + offset,
             (unsigned)(uint8_t)text[padding + offset]);

    tamis_error err = TAMIS_ERROR_INIT;
    const tamis_key *keys = NULL;
    size_t count = 77;
    put(sink, "good", 4);
    tamis_sink_end_key(sink);
    put(sink, text, size);
    tamis_sink_end_key(sink);
    put(sink, "\xff", 1); /* the first error is reported */
    tamis_sink_put_byte(sink, 1);
    tamis_sink_end_key(sink);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(tamis_sink_keys(sink, &keys, &count, &err), TAMIS_E_INVALID);
        assert_true(keys == NULL && count == 77);
        assert_int_equal(strncmp(err.text, "key 1: ", 7), 0);
        if (!strstr(err.text, expected))
            fail_msg("%s: expected '%s' in: %s", hex, expected, err.text);
    }
    assert_int_equal(tamis_sink_keys(sink, &keys, &count, NULL), TAMIS_E_INVALID);
    tamis_sink_clear(sink);
    put(sink, "a", 1); /* no trace is left, not even in the decoder */
    sink_expect(sink, put == tamis_sink_put_utf8 ? "61" : "6100");
}

static void invalid_utf8(void **state) {
    (void)state;
    static const struct {
        const char *hex;
        size_t offset;
    } rows[] = {
        {"80", 0},
        {"6180", 1},
        {"61bf62", 1}, /* nothing to continue */
        {"c080", 0},
        {"61c1bf", 1},
        {"e08080", 0}, /* overlong */
        {"e09fbf", 0},
        {"f0808080", 0},
        {"f08fbfbf", 0},
        {"f8808080af", 0},
        {"eda080", 0},
        {"61edbfbf62", 1},
        {"eda0bdedb880", 0}, /* surrogates, a pair too */
        {"f4908080", 0},
        {"61f4908080", 1},
        {"f7bfbfbf", 0},
        {"c3a9f490808061", 2}, /* too large */
        {"f888808080", 0},
        {"fc8480808080", 0},
        {"fe", 0},
        {"ff", 0},
        {"c3", 0},
        {"61c3", 1},
        {"6162e282", 2},
        {"f09f98", 0}, /* cut short */
        {"c328", 0},
        {"e228a1", 0},
        {"e28228", 0},
        {"f0288cbc", 0},
        {"f09f28bc", 0},
        {"f09f9828", 0},
        {"c3c3a9", 0}, /* broken by another byte */
        {"c3a9e282acf09f9880ff", 9},
    };
    static const size_t paddings[] = {0,   1,   255,
                                      256, 257, 1000}; /* near the number of characters decoded at once */
    tamis_sink *sink = sink_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof paddings / sizeof *paddings; j++)
            for (size_t p = 0; p < 2; p++)
                expect_refused(sink, puts_text[p], rows[i].hex, rows[i].offset, paddings[j]);
    tamis_sink_free(sink);
}

/* Every code point except the surrogates, compared with a simple encoder for UTF-8 and UTF-16. */
static void every_code_point(void **state) {
    (void)state;
    tamis_sink *sink = sink_new();
    const tamis_key *keys;
    for (uint32_t point = 0; point <= 0x10ffff; point++) {
        if (point >= 0xd800 && point < 0xe000)
            continue;
        char text[4];
        uint16_t units[2] = {(uint16_t)point};
        size_t size = 0, count = 1;
        if (point < 0x80) {
            text[size++] = (char)point;
        } else if (point < 0x800) {
            text[size++] = (char)(0xc0 | point >> 6);
            text[size++] = (char)(0x80 | (point & 63));
        } else if (point < 0x10000) {
            text[size++] = (char)(0xe0 | point >> 12);
            text[size++] = (char)(0x80 | (point >> 6 & 63));
            text[size++] = (char)(0x80 | (point & 63));
        } else {
            text[size++] = (char)(0xf0 | point >> 18);
            text[size++] = (char)(0x80 | (point >> 12 & 63));
            text[size++] = (char)(0x80 | (point >> 6 & 63));
            text[size++] = (char)(0x80 | (point & 63));
            units[0] = (uint16_t)(0xd7c0 + (point >> 10));
            units[count++] = (uint16_t)(0xdc00 | (point & 0x3ff));
        }
        tamis_sink_put_text(sink, text, size);
        tamis_sink_end_key(sink);
        tamis_sink_put_utf16(sink, units, count);
        tamis_sink_end_key(sink);
        if (point % 2048 != 2047)
            continue;
        size_t made = sink_keys(sink, &keys);
        assert_int_equal(made, 2 * 2048);
        for (size_t i = 0; i < made; i += 2) {
            assert_int_equal(keys[i].size, keys[i + 1].size);
            assert_memory_equal(keys[i].data, keys[i + 1].data, keys[i].size);
        }
        tamis_sink_clear(sink);
    }
    tamis_sink_free(sink);
}

/* The finished keys stay, the unfinished one is dropped. */
static void a_sink_recovers_from_an_error(void **state) {
    (void)state;
    tamis_sink *sink = sink_new();
    tamis_error err = TAMIS_ERROR_INIT;
    const tamis_key *keys;
    tamis_sink_put_byte(sink, 7);
    assert_int_equal(tamis_sink_recover(sink, &err), TAMIS_OK);
    tamis_sink_end_key(sink);
    tamis_sink_put_byte(sink, 8);
    tamis_sink_put_utf8(sink, "\xff", 1);
    tamis_sink_end_key(sink);
    assert_int_equal(tamis_sink_recover(sink, &err), TAMIS_E_INVALID);
    assert_string_equal(err.text, "key 1: not UTF-8 at offset 0 (byte 0xFF); pass UTF-8, or bytes");
    assert_int_equal(tamis_sink_recover(sink, &err), TAMIS_OK);
    tamis_sink_put_byte(sink, 9);
    tamis_sink_end_key(sink);
    assert_int_equal(sink_keys(sink, &keys), 2);
    assert_int_equal(keys[0].size + keys[1].size, 2);
    assert_memory_equal(keys[0].data, "\7\11", 2);
    tamis_sink_free(sink);
}

static void a_decoder_that_is_refused(void **state) {
    (void)state;
    static const struct {
        int error;
        tamis_status status;
    } rows[] = {{ENOMEM, TAMIS_E_NOMEM}, {EMFILE, TAMIS_E_SYSTEM}, {EINVAL, TAMIS_E_SYSTEM}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_sink *sink = sink_new();
        tamis_error err = TAMIS_ERROR_INIT;
        const tamis_key *keys;
        size_t count;
        iconv_refusal = rows[i].error;
        tamis_sink_put_int32(sink, 1); /* numbers need no decoder */
        sink_expect(sink, "01000000");
        tamis_sink_put_text(sink, "a", 1);
        assert_int_equal(tamis_sink_keys(sink, &keys, &count, &err), rows[i].status);
        assert_int_equal(err.sys_errno, rows[i].error);
        iconv_refusal = 0;
        tamis_sink_clear(sink);
        tamis_sink_put_text(sink, "a", 1);
        sink_expect(sink, "6100");
        tamis_sink_free(sink);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_as_utf16),
        cmocka_unit_test(utf16_units),
        cmocka_unit_test(invalid_utf8),
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(a_sink_recovers_from_an_error),
        cmocka_unit_test(a_decoder_that_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
