/* SPDX-License-Identifier: BSD-2-Clause */

/* Values as key bytes: those of Guava's sinks and funnels, and every way in which text can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <iconv.h>

#include <tamis/funnel.h>
#include <tamis/hash.h>

#include "base/bytes.h"
#include "golden/golden_reader.h"
#include "support/fault.h"

/* Stands before the C library's own, so that it can be made to fail. */
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

static tamis_sink *new_sink(void) {
    tamis_sink *sink = NULL;
    assert_int_equal(tamis_sink_create(&sink, NULL, NULL), TAMIS_OK);
    return sink;
}

static size_t take(tamis_sink *sink, const tamis_key **keys) {
    tamis_error err = TAMIS_ERROR_INIT;
    size_t count = 0;
    if (tamis_sink_keys(sink, keys, &count, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return count;
}

/* Ends the key, sees that it is the only one and has these bytes, and clears. */
static void expect(tamis_sink *sink, const char *hex) {
    const tamis_key *keys;
    uint8_t want[256];
    size_t size = golden_bytes(hex, want);
    tamis_sink_end_key(sink);
    assert_int_equal(take(sink, &keys), 1);
    assert_int_equal(keys[0].size, size);
    if (size)
        assert_memory_equal(keys[0].data, want, size);
    tamis_sink_clear(sink);
}

static void integers(void **state) {
    (void)state;
    static const struct {
        int64_t value;
        const char *as16, *as32, *as64;
    } rows[] = {
        {0, "0000", "00000000", "0000000000000000"},
        {1, "0100", "01000000", "0100000000000000"},
        {-1, "ffff", "ffffffff", "ffffffffffffffff"},
        {0x1234, "3412", "34120000", "3412000000000000"},
        {INT16_MAX, "ff7f", "ff7f0000", "ff7f000000000000"},
        {INT16_MIN, "0080", "0080ffff", "0080ffffffffffff"},
        {0x12345678, NULL, "78563412", "7856341200000000"},
        {INT32_MAX, NULL, "ffffff7f", "ffffff7f00000000"},
        {INT32_MIN, NULL, "00000080", "00000080ffffffff"},
        {0x123456789abcdef0, NULL, NULL, "f0debc9a78563412"},
        {INT64_MAX, NULL, NULL, "ffffffffffffff7f"},
        {INT64_MIN, NULL, NULL, "0000000000000080"},
    };
    tamis_sink *sink = new_sink();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].as16) {
            tamis_sink_put_int16(sink, (int16_t)rows[i].value);
            expect(sink, rows[i].as16);
        }
        if (rows[i].as32) {
            tamis_sink_put_int32(sink, (int32_t)rows[i].value);
            expect(sink, rows[i].as32);
        }
        tamis_sink_put_int64(sink, rows[i].value);
        expect(sink, rows[i].as64);
    }
    tamis_sink_put_byte(sink, 0xff);
    tamis_sink_put_bool(sink, true);
    tamis_sink_put_bool(sink, false);
    expect(sink, "ff0100");
    tamis_sink_free(sink);
}

/* IEEE 754: 1, -0, infinity and a NaN with bits of its own, which no normalising may touch. */
static void floats(void **state) {
    (void)state;
    tamis_sink *sink = new_sink();
    float nan32;
    double nan64;
    memcpy(&nan32, &(uint32_t){0x7fc12345}, sizeof nan32);
    memcpy(&nan64, &(uint64_t){0xfff8123456789abc}, sizeof nan64);
    tamis_sink_put_float(sink, 1.0f);
    tamis_sink_put_float(sink, -0.0f);
    tamis_sink_put_float(sink, -1e38f * 10);
    tamis_sink_put_float(sink, nan32);
    expect(sink, "0000803f"
                 "00000080"
                 "000080ff"
                 "4523c17f");
    tamis_sink_put_double(sink, 1.0);
    tamis_sink_put_double(sink, -0.0);
    tamis_sink_put_double(sink, nan64);
    expect(sink, "000000000000f03f"
                 "0000000000000080"
                 "bc9a78563412f8ff");
    tamis_sink_free(sink);
}

static void bytes_of_every_length(void **state) {
    (void)state;
    enum { MOST = 70 };
    uint8_t data[MOST];
    for (size_t i = 0; i < MOST; i++)
        data[i] = (uint8_t)(i * 37 + 200);
    tamis_sink *sink = new_sink();
    const tamis_key *keys;
    for (size_t size = 0; size <= MOST; size++) {
        tamis_sink_put_bytes(sink, data, size / 2);
        tamis_sink_put_bytes(sink, data + size / 2, size - size / 2);
        tamis_sink_end_key(sink);
    }
    assert_int_equal(take(sink, &keys), MOST + 1);
    for (size_t size = 0; size <= MOST; size++) {
        assert_int_equal(keys[size].size, size);
        assert_memory_equal(keys[size].data, data, size);
    }
    tamis_sink_free(sink);
}

static void empty_keys_are_keys(void **state) {
    (void)state;
    tamis_sink *sink = new_sink();
    const tamis_key *keys = NULL;
    assert_int_equal(take(sink, &keys), 0);
    tamis_sink_put_bytes(sink, NULL, 0);
    tamis_sink_end_key(sink);
    tamis_sink_put_utf16(sink, NULL, 0);
    tamis_sink_put_utf8(sink, NULL, 0);
    tamis_sink_put_text(sink, NULL, 0);
    tamis_sink_end_key(sink);
    assert_int_equal(take(sink, &keys), 2);
    assert_true(keys[0].size == 0 && keys[1].size == 0);
    tamis_sink_put_byte(sink, 7);
    assert_int_equal(take(sink, &keys), 2); /* what is not ended is no key yet */
    tamis_sink_end_key(sink);
    tamis_sink_end_key(sink);
    assert_int_equal(take(sink, &keys), 4);
    assert_true(keys[1].size == 0 && keys[2].size == 1 && keys[3].size == 0);
    assert_int_equal(*(const uint8_t *)keys[2].data, 7);
    tamis_sink_free(sink);
    tamis_sink_free(NULL);
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
    tamis_sink *sink = new_sink();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t text[16];
        size_t size = golden_bytes(rows[i].utf8, text);
        tamis_sink_put_text(sink, (const char *)text, size);
        expect(sink, rows[i].utf16);
        tamis_sink_put_utf8(sink, (const char *)text, size);
        expect(sink, rows[i].utf8);
    }
    tamis_sink_free(sink);
}

/* Units go as they are: lone and swapped surrogates, U+FFFF. */
static void utf16_units(void **state) {
    (void)state;
    static const uint16_t odd[] = {0x61, 0xd800, 0xdc00, 0xdfff, 0xd83d, 0xffff, 0};
    tamis_sink *sink = new_sink();
    tamis_sink_put_utf16(sink, odd, sizeof odd / sizeof *odd);
    expect(sink, "610000d800dcffdf3dd8ffff0000");

    /* More than is taken at once. */
    static uint16_t many[1000];
    const tamis_key *keys;
    for (size_t i = 0; i < 1000; i++)
        many[i] = (uint16_t)(i * 67);
    tamis_sink_put_utf16(sink, many, 1000);
    tamis_sink_end_key(sink);
    assert_int_equal(take(sink, &keys), 1);
    assert_int_equal(keys[0].size, 2000);
    const uint8_t *at = keys[0].data;
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(at[2 * i] | at[2 * i + 1] << 8, many[i]);
    tamis_sink_free(sink);
}

typedef void put_text_fn(tamis_sink *sink, const char *text, size_t size);
static put_text_fn *const puts_text[] = {tamis_sink_put_utf8, tamis_sink_put_text};

/* What is wrong with `hex` is told as of byte `offset`, behind a good key and however long what stands before it. */
static void expect_refused(tamis_sink *sink, put_text_fn *put, const char *hex, size_t offset,
                           size_t padding) {
    char text[2048], want[64];
    memset(text, 'x', padding);
    size_t size = padding + golden_bytes(hex, (uint8_t *)text + padding);
    snprintf(want, sizeof want, "at offset %zu (byte 0x%02X);", padding + offset,
             (unsigned)(uint8_t)text[padding + offset]);

    tamis_error err = TAMIS_ERROR_INIT;
    const tamis_key *keys = NULL;
    size_t count = 77;
    put(sink, "good", 4);
    tamis_sink_end_key(sink);
    put(sink, text, size);
    tamis_sink_end_key(sink);
    put(sink, "\xff", 1); /* the first trouble is the one told */
    tamis_sink_put_byte(sink, 1);
    tamis_sink_end_key(sink);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(tamis_sink_keys(sink, &keys, &count, &err), TAMIS_E_INVALID);
        assert_true(keys == NULL && count == 77);
        assert_int_equal(strncmp(err.text, "key 1: ", 7), 0);
        if (!strstr(err.text, want))
            fail_msg("%s: expected '%s' in: %s", hex, want, err.text);
    }
    assert_int_equal(tamis_sink_keys(sink, &keys, &count, NULL), TAMIS_E_INVALID);
    tamis_sink_clear(sink);
    put(sink, "a", 1); /* nothing of it is left, in the decoder neither */
    expect(sink, put == tamis_sink_put_utf8 ? "61" : "6100");
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
    static const size_t paddings[] = {0, 1, 255, 256, 257, 1000}; /* about the characters decoded at once */
    tamis_sink *sink = new_sink();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t j = 0; j < sizeof paddings / sizeof *paddings; j++)
            for (size_t p = 0; p < 2; p++)
                expect_refused(sink, puts_text[p], rows[i].hex, rows[i].offset, paddings[j]);
    tamis_sink_free(sink);
}

/* Every code point there is, and none of the surrogates, with UTF-8 and UTF-16 computed the plain way. */
static void every_code_point(void **state) {
    (void)state;
    tamis_sink *sink = new_sink();
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
        size_t made = take(sink, &keys);
        assert_int_equal(made, 2 * 2048);
        for (size_t i = 0; i < made; i += 2) {
            assert_int_equal(keys[i].size, keys[i + 1].size);
            assert_memory_equal(keys[i].data, keys[i + 1].data, keys[i].size);
        }
        tamis_sink_clear(sink);
    }
    tamis_sink_free(sink);
}

static void a_decoder_that_is_refused(void **state) {
    (void)state;
    static const struct {
        int error;
        tamis_status status;
    } rows[] = {{ENOMEM, TAMIS_E_NOMEM}, {EMFILE, TAMIS_E_SYSTEM}, {EINVAL, TAMIS_E_SYSTEM}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tamis_sink *sink = new_sink();
        tamis_error err = TAMIS_ERROR_INIT;
        const tamis_key *keys;
        size_t count;
        iconv_refusal = rows[i].error;
        tamis_sink_put_int32(sink, 1); /* numbers need none */
        expect(sink, "01000000");
        tamis_sink_put_text(sink, "a", 1);
        assert_int_equal(tamis_sink_keys(sink, &keys, &count, &err), rows[i].status);
        assert_int_equal(err.sys_errno, rows[i].error);
        iconv_refusal = 0;
        tamis_sink_clear(sink);
        tamis_sink_put_text(sink, "a", 1);
        expect(sink, "6100");
        tamis_sink_free(sink);
    }
}

static void many_keys_and_clear(void **state) {
    (void)state;
    enum { KEYS = 100000 };
    tamis_sink *sink = new_sink();
    const tamis_key *keys;
    char text[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KEYS; i++) {
            tamis_sink_put_utf8(sink, text, (size_t)sprintf(text, "%d/%d", round, i));
            tamis_sink_end_key(sink);
        }
        assert_int_equal(take(sink, &keys), KEYS);
        for (int i = 0; i < KEYS; i++) {
            assert_int_equal(keys[i].size, sprintf(text, "%d/%d", round, i));
            assert_memory_equal(keys[i].data, text, keys[i].size);
        }
        tamis_sink_clear(sink);
        assert_int_equal(take(sink, &keys), 0);
    }
    tamis_sink_put_byte(sink, 1); /* what was not ended is forgotten too */
    tamis_sink_clear(sink);
    expect(sink, "");
    tamis_sink_free(sink);
}

/* One longer than any buffer was before. */
static void a_large_key(void **state) {
    (void)state;
    enum { SIZE = 3 << 20 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    for (size_t i = 0; i < SIZE; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    tamis_sink *sink = new_sink();
    const tamis_key *keys;
    tamis_sink_put_text(sink, text, SIZE);
    tamis_sink_end_key(sink);
    tamis_sink_put_utf8(sink, text, SIZE);
    tamis_sink_end_key(sink);
    assert_int_equal(take(sink, &keys), 2);
    assert_int_equal(keys[0].size, SIZE / 3 * 2);
    for (size_t i = 0; i < keys[0].size; i += 2)
        assert_memory_equal((const char *)keys[0].data + i, "\xac\x20", 2);
    assert_int_equal(keys[1].size, SIZE);
    assert_memory_equal(keys[1].data, text, SIZE);
    /* No memory has room for this: it is refused before anything is copied. */
    tamis_error err = TAMIS_ERROR_INIT;
    size_t count;
    tamis_sink_put_bytes(sink, text, SIZE_MAX);
    assert_int_equal(tamis_sink_keys(sink, &keys, &count, &err), TAMIS_E_NOMEM);
    tamis_sink_free(sink);
    free(text);
}

typedef struct click {
    int32_t user;
    const char *url;
} click;

/* A funnel of the caller: an object of two fields; `context` is what the caller gave. */
static void click_funnel(tamis_sink *sink, const void *object, void *context) {
    const click *it = object;
    ++*(int *)context;
    tamis_sink_put_int32(sink, it->user);
    tamis_sink_put_utf8(sink, it->url, strlen(it->url));
}

static void funnels_of_callers(void **state) {
    (void)state;
    static const click clicks[] = {{1, "a"}, {-2, ""}, {3, "\xff"}, {4, "d"}};
    tamis_sink *sink = new_sink();
    const tamis_key *keys;
    int calls = 0;
    tamis_funnel_many(sink, click_funnel, &calls, clicks, sizeof *clicks, 2);
    assert_int_equal(take(sink, &keys), 2);
    assert_int_equal(calls, 2);
    assert_true(keys[0].size == 5 && memcmp(keys[0].data, "\1\0\0\0a", 5) == 0);
    assert_true(keys[1].size == 4 && memcmp(keys[1].data, "\xfe\xff\xff\xff", 4) == 0);

    tamis_error err = TAMIS_ERROR_INIT;
    size_t count;
    tamis_funnel_many(sink, click_funnel, &calls, clicks, sizeof *clicks, 4);
    assert_int_equal(calls, 5); /* nothing would be taken after the third */
    assert_int_equal(tamis_sink_keys(sink, &keys, &count, &err), TAMIS_E_INVALID);
    assert_int_equal(strncmp(err.text, "key 4: ", 7), 0);
    tamis_sink_free(sink);
}

/* ---- against Guava ---- */

static tamis_hasher *guava_hasher(void) {
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    tamis_hasher *hasher = NULL;
    options.scheme = TAMIS_SCHEME_GUAVA64;
    assert_int_equal(tamis_hasher_create(&hasher, &options, NULL), TAMIS_OK);
    return hasher;
}

static void check_digest(const tamis_hasher *hasher, const tamis_key *key, const char *want) {
    tamis_hash hash;
    uint8_t bytes[16], wanted[16];
    assert_int_equal(tamis_hash_many(hasher, key, 1, &hash, NULL), TAMIS_OK);
    tamis__store64le(bytes, hash.word[0]);
    tamis__store64le(bytes + 8, hash.word[1]);
    assert_int_equal(golden_bytes(want, wanted), sizeof wanted);
    assert_memory_equal(bytes, wanted, sizeof wanted);
}

/* In the table a row of utf8 is followed by the same string in utf16: both keys are made of the one text. */
static void every_funnel_of_guava(void **state) {
    (void)state;
    tamis_hasher *hasher = guava_hasher();
    tamis_sink *sink = new_sink();
    static uint8_t text[4096], units[4096];
    size_t text_size = 0;
    int rows[5] = {0};
    for (golden g = golden_open("guava-31.1.tsv"); golden_next(&g);) {
        const tamis_key *keys;
        const char *kind = g.field[0];
        assert_true(strlen(g.field[1]) < 2 * sizeof text || strcmp(kind, "filter") == 0);
        if (strcmp(kind, "int32") == 0) {
            int32_t value = (int32_t)strtol(g.field[1], NULL, 10);
            tamis_funnel_many(sink, tamis_funnel_int32, NULL, &value, sizeof value, 1);
            rows[0]++;
        } else if (strcmp(kind, "int64") == 0) {
            int64_t value = strtoll(g.field[1], NULL, 10);
            tamis_funnel_many(sink, tamis_funnel_int64, NULL, &value, sizeof value, 1);
            rows[1]++;
        } else if (strcmp(kind, "utf8") == 0) {
            text_size = golden_bytes(g.field[1], text);
            tamis_funnel_many(sink, tamis_funnel_utf8, NULL, &(tamis_key){text, text_size}, 1, 1);
            rows[2]++;
        } else if (strcmp(kind, "utf16") == 0) {
            size_t size = golden_bytes(g.field[1], units);
            tamis_funnel_many(sink, tamis_funnel_utf16, NULL, &(tamis_key){text, text_size}, 1, 1);
            assert_int_equal(take(sink, &keys), 1);
            assert_int_equal(keys[0].size, size);
            assert_memory_equal(keys[0].data, units, size);
            rows[3]++;
        } else if (strcmp(kind, "bytes") == 0) {
            size_t size = golden_bytes(g.field[1], text);
            tamis_funnel_many(sink, tamis_funnel_bytes, NULL, &(tamis_key){text, size}, 1, 1);
            rows[4]++;
        } else {
            continue;
        }
        assert_int_equal(take(sink, &keys), 1);
        check_digest(hasher, keys, g.field[2]);
        tamis_sink_clear(sink);
    }
    assert_true(rows[0] == 30 && rows[1] == 30 && rows[2] == 120 && rows[3] == 120 && rows[4] == 40);
    tamis_sink_free(sink);
    tamis_hasher_free(hasher);
}

/* ---- out of memory ---- */

/* Keys of all sorts, enough for both buffers to grow; what tamis_sink_keys says of them. */
static tamis_status fill(tamis_sink *sink, size_t *count) {
    tamis_error err = TAMIS_ERROR_INIT;
    const tamis_key *keys;
    for (int i = 0; i < 1000; i++) {
        tamis_sink_put_int64(sink, i);
        tamis_sink_put_text(sink, "tamis", 5);
        tamis_sink_end_key(sink);
    }
    tamis_status status = tamis_sink_keys(sink, &keys, count, &err);
    if (status != TAMIS_OK)
        assert_non_null(strstr(err.text, "out of memory"));
    return status;
}

static void every_allocation_fails(void **state) {
    (void)state;
    bool reached = true;
    uint64_t n;
    for (n = 1; reached; n++) {
        fault_memory memory = {.fail_at = n};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_sink *sink = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        size_t count = 0;
        if (tamis_sink_create(&sink, &allocator, &err) != TAMIS_OK) {
            assert_int_equal(err.status, TAMIS_E_NOMEM);
            assert_null(sink);
            continue;
        }
        tamis_status status = fill(sink, &count);
        reached = memory.refused > 0;
        assert_int_equal(status, reached ? TAMIS_E_NOMEM : TAMIS_OK);
        assert_int_equal(count, reached ? 0 : 1000);
        tamis_sink_clear(sink); /* once there is memory again it goes on */
        assert_int_equal(fill(sink, &count), TAMIS_OK);
        assert_int_equal(count, 1000);
        tamis_sink_free(sink);
        assert_int_equal(memory.live_blocks, 0);
    }
    assert_true(n > 8); /* the sink, three sizes of the one buffer and three of the other */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(floats),
        cmocka_unit_test(bytes_of_every_length),
        cmocka_unit_test(empty_keys_are_keys),
        cmocka_unit_test(text_as_utf16),
        cmocka_unit_test(utf16_units),
        cmocka_unit_test(invalid_utf8),
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(a_decoder_that_is_refused),
        cmocka_unit_test(many_keys_and_clear),
        cmocka_unit_test(a_large_key),
        cmocka_unit_test(funnels_of_callers),
        cmocka_unit_test(every_funnel_of_guava),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
