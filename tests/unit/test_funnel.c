/* SPDX-License-Identifier: BSD-2-Clause */

/* Values encoded as key bytes, like Guava's sinks and funnels. test_funnel_text.c has text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/compat/funnel.h>
#include <tamis/hash.h>

#include "base/bytes.h"
#include "golden/golden_reader.h"
#include "support/fault.h"
#include "support/sinks.h"

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
    tamis_sink *sink = sink_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].as16) {
            tamis_sink_put_int16(sink, (int16_t)rows[i].value);
            sink_expect(sink, rows[i].as16);
        }
        if (rows[i].as32) {
            tamis_sink_put_int32(sink, (int32_t)rows[i].value);
            sink_expect(sink, rows[i].as32);
        }
        tamis_sink_put_int64(sink, rows[i].value);
        sink_expect(sink, rows[i].as64);
    }
    tamis_sink_put_byte(sink, 0xff);
    tamis_sink_put_bool(sink, true);
    tamis_sink_put_bool(sink, false);
    sink_expect(sink, "ff0100");
    tamis_sink_free(sink);
}

/* IEEE 754: 1, -0, infinity, and a NaN with a payload. The bits must not be normalised. */
static void floats(void **state) {
    (void)state;
    tamis_sink *sink = sink_new();
    float nan32;
    double nan64;
    memcpy(&nan32, &(uint32_t){0x7fc12345}, sizeof nan32);
    memcpy(&nan64, &(uint64_t){0xfff8123456789abc}, sizeof nan64);
    tamis_sink_put_float(sink, 1.0f);
    tamis_sink_put_float(sink, -0.0f);
    tamis_sink_put_float(sink, -1e38f * 10);
    tamis_sink_put_float(sink, nan32);
    sink_expect(sink, "0000803f"
                      "00000080"
                      "000080ff"
                      "4523c17f");
    tamis_sink_put_double(sink, 1.0);
    tamis_sink_put_double(sink, -0.0);
    tamis_sink_put_double(sink, nan64);
    sink_expect(sink, "000000000000f03f"
                      "0000000000000080"
                      "bc9a78563412f8ff");
    tamis_sink_free(sink);
}

static void bytes_of_every_length(void **state) {
    (void)state;
    enum { MAX = 70 };
    uint8_t data[MAX];
    for (size_t i = 0; i < MAX; i++)
        data[i] = (uint8_t)(i * 37 + 200);
    tamis_sink *sink = sink_new();
    const tamis_key *keys;
    for (size_t size = 0; size <= MAX; size++) {
        tamis_sink_put_bytes(sink, data, size / 2);
        tamis_sink_put_bytes(sink, data + size / 2, size - size / 2);
        tamis_sink_end_key(sink);
    }
    assert_int_equal(sink_keys(sink, &keys), MAX + 1);
    for (size_t size = 0; size <= MAX; size++) {
        assert_int_equal(keys[size].size, size);
        assert_memory_equal(keys[size].data, data, size);
    }
    tamis_sink_free(sink);
}

static void empty_keys_are_keys(void **state) {
    (void)state;
    tamis_sink *sink = sink_new();
    const tamis_key *keys = NULL;
    assert_int_equal(sink_keys(sink, &keys), 0);
    tamis_sink_put_bytes(sink, NULL, 0);
    tamis_sink_end_key(sink);
    tamis_sink_put_utf16(sink, NULL, 0);
    tamis_sink_put_utf8(sink, NULL, 0);
    tamis_sink_put_text(sink, NULL, 0);
    tamis_sink_end_key(sink);
    assert_int_equal(sink_keys(sink, &keys), 2);
    assert_true(keys[0].size == 0 && keys[1].size == 0);
    tamis_sink_put_byte(sink, 7);
    assert_int_equal(sink_keys(sink, &keys), 2); /* bytes after the last ended key are not a key yet */
    tamis_sink_end_key(sink);
    tamis_sink_end_key(sink);
    assert_int_equal(sink_keys(sink, &keys), 4);
    assert_true(keys[1].size == 0 && keys[2].size == 1 && keys[3].size == 0);
    assert_int_equal(*(const uint8_t *)keys[2].data, 7);
    tamis_sink_free(sink);
    tamis_sink_free(NULL);
}

static void many_keys_and_clear(void **state) {
    (void)state;
    enum { KEYS = 100000 };
    tamis_sink *sink = sink_new();
    const tamis_key *keys;
    char text[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KEYS; i++) {
            tamis_sink_put_utf8(sink, text, (size_t)sprintf(text, "%d/%d", round, i));
            tamis_sink_end_key(sink);
        }
        assert_int_equal(sink_keys(sink, &keys), KEYS);
        for (int i = 0; i < KEYS; i++) {
            assert_int_equal(keys[i].size, sprintf(text, "%d/%d", round, i));
            assert_memory_equal(keys[i].data, text, keys[i].size);
        }
        tamis_sink_clear(sink);
        assert_int_equal(sink_keys(sink, &keys), 0);
    }
    tamis_sink_put_byte(sink, 1); /* bytes of an unfinished key are forgotten too */
    tamis_sink_clear(sink);
    sink_expect(sink, "");
    tamis_sink_free(sink);
}

/* A key longer than the buffer so far. */
static void a_large_key(void **state) {
    (void)state;
    enum { SIZE = 3 << 20 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    for (size_t i = 0; i < SIZE; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    tamis_sink *sink = sink_new();
    const tamis_key *keys;
    tamis_sink_put_text(sink, text, SIZE);
    tamis_sink_end_key(sink);
    tamis_sink_put_utf8(sink, text, SIZE);
    tamis_sink_end_key(sink);
    assert_int_equal(sink_keys(sink, &keys), 2);
    assert_int_equal(keys[0].size, SIZE / 3 * 2);
    for (size_t i = 0; i < keys[0].size; i += 2)
        assert_memory_equal((const char *)keys[0].data + i, "\xac\x20", 2);
    assert_int_equal(keys[1].size, SIZE);
    assert_memory_equal(keys[1].data, text, SIZE);
    /* Larger than any memory: refused before anything is copied. */
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

/* A funnel of the caller, for an object with two fields. `context` is the caller's. */
static void click_funnel(tamis_sink *sink, const void *object, void *context) {
    const click *it = object;
    ++*(int *)context;
    tamis_sink_put_int32(sink, it->user);
    tamis_sink_put_utf8(sink, it->url, strlen(it->url));
}

static void funnels_of_callers(void **state) {
    (void)state;
    static const click clicks[] = {{1, "a"}, {-2, ""}, {3, "\xff"}, {4, "d"}};
    tamis_sink *sink = sink_new();
    const tamis_key *keys;
    int calls = 0;
    tamis_funnel_many(sink, click_funnel, &calls, clicks, sizeof *clicks, 2);
    assert_int_equal(sink_keys(sink, &keys), 2);
    assert_int_equal(calls, 2);
    assert_true(keys[0].size == 5 && memcmp(keys[0].data, "\1\0\0\0a", 5) == 0);
    assert_true(keys[1].size == 4 && memcmp(keys[1].data, "\xfe\xff\xff\xff", 4) == 0);

    tamis_error err = TAMIS_ERROR_INIT;
    size_t count;
    tamis_funnel_many(sink, click_funnel, &calls, clicks, sizeof *clicks, 4);
    assert_int_equal(calls, 5); /* nothing would be accepted after the third */
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

static void check_digest(const tamis_hasher *hasher, const tamis_key *key, const char *expected) {
    tamis_hash hash;
    uint8_t bytes[16], expected_bytes[16];
    assert_int_equal(tamis_hash_many(hasher, key, 1, &hash, NULL), TAMIS_OK);
    tamis__store64le(bytes, hash.word[0]);
    tamis__store64le(bytes + 8, hash.word[1]);
    assert_int_equal(golden_bytes(expected, expected_bytes), sizeof expected_bytes);
    assert_memory_equal(bytes, expected_bytes, sizeof expected_bytes);
}

/* In the table, a row of utf8 is followed by the same string in utf16. Both keys are made from the same
 * text. */
static void every_funnel_of_guava(void **state) {
    (void)state;
    tamis_hasher *hasher = guava_hasher();
    tamis_sink *sink = sink_new();
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
            assert_int_equal(sink_keys(sink, &keys), 1);
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
        assert_int_equal(sink_keys(sink, &keys), 1);
        check_digest(hasher, keys, g.field[2]);
        tamis_sink_clear(sink);
    }
    assert_true(rows[0] == 30 && rows[1] == 30 && rows[2] == 120 && rows[3] == 120 && rows[4] == 40);
    tamis_sink_free(sink);
    tamis_hasher_free(hasher);
}

/* ---- out of memory ---- */

/* Puts keys of all types, enough that both buffers grow. Returns the result of tamis_sink_keys. */
static tamis_status fill_sink(tamis_sink *sink, size_t *count) {
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
        tamis_status status = fill_sink(sink, &count);
        reached = memory.refused > 0;
        assert_int_equal(status, reached ? TAMIS_E_NOMEM : TAMIS_OK);
        assert_int_equal(count, reached ? 0 : 1000);
        tamis_sink_clear(sink); /* the sink works again when there is memory */
        assert_int_equal(fill_sink(sink, &count), TAMIS_OK);
        assert_int_equal(count, 1000);
        tamis_sink_free(sink);
        assert_int_equal(memory.live_blocks, 0);
    }
    assert_true(n > 8); /* the sink, and at least three sizes of each buffer */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(floats),
        cmocka_unit_test(bytes_of_every_length),
        cmocka_unit_test(empty_keys_are_keys),
        cmocka_unit_test(many_keys_and_clear),
        cmocka_unit_test(a_large_key),
        cmocka_unit_test(funnels_of_callers),
        cmocka_unit_test(every_funnel_of_guava),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
