/* SPDX-License-Identifier: BSD-2-Clause */
/* Random keys that look like given ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/compat/funnel.h>
#include <tamis/experimental/census.h>

#include "support/fault.h"

enum {
    KEPT = 2048, /* bytes kept of a key */
    WIDER = 32   /* times that random keys can be widened */
};

static unsigned char made[TAMIS_KEY_SAMPLER_SIZE_MAX];

static tamis_key_sampler *create(tamis_key_shape shape, uint64_t seed) {
    tamis_key_sampler_options options = TAMIS_KEY_SAMPLER_OPTIONS_INIT;
    tamis_key_sampler *sampler = NULL;
    options.shape = shape;
    options.seed = seed;
    assert_int_equal(tamis_key_sampler_create(&sampler, &options, NULL), TAMIS_OK);
    return sampler;
}

static void add(tamis_key_sampler *sampler, const char *text) {
    tamis_key_sampler_add_many(sampler, &(tamis_key){text, strlen(text)}, 1);
}

static void widen(tamis_key_sampler *sampler, int times) {
    for (int i = 0; i < times; i++)
        assert_true(tamis_key_sampler_widen(sampler));
}

/* Returns the range of a byte: a letter that stands for it, or 0 for a byte that stays. */
static char range_of(unsigned char byte) {
    return byte >= 'a' && byte <= 'z'     ? 'a'
           : byte >= 'A' && byte <= 'Z'   ? 'A'
           : byte >= '0' && byte <= '9'   ? '0'
           : byte >= 0x80 && byte <= 0xbf ? 'u'
                                          : 0;
}

static void keeps_length_and_ranges(void **state) {
    static const char like_this[] = "https://Ab.9/caf\xc3\xa9?x=\x01";
    int changed[sizeof like_this] = {0};
    tamis_key_sampler *sampler = create(TAMIS_KEY_SHAPE_TEXT, 1);
    (void)state;
    add(sampler, like_this);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(tamis_key_sampler_make(sampler, made), sizeof like_this - 1);
        for (size_t pos = 0; pos + 1 < sizeof like_this; pos++) {
            unsigned char was = (unsigned char)like_this[pos];
            assert_int_equal(range_of(made[pos]), range_of(was));
            changed[pos] += made[pos] != was;
            if (range_of(was) == 0)
                assert_int_equal(made[pos], was);
        }
    }
    assert_true(changed[0] > 1800 && changed[8] > 1800 && changed[11] > 1700 && changed[17] > 1800);
    tamis_key_sampler_free(sampler);
}

/* Each of many keys has the same chance to be in the sample. */
static void samples_evenly(void **state) {
    tamis_key_sampler *sampler = create(TAMIS_KEY_SHAPE_TEXT, 2);
    int longer = 0;
    (void)state;
    for (int i = 0; i < 100000; i++)
        add(sampler, i < 50000 ? "abc" : "abcdef");
    for (int i = 0; i < 10000; i++) {
        size_t size = tamis_key_sampler_make(sampler, made);
        assert_true(size == 3 || size == 6);
        longer += size == 6;
    }
    assert_in_range(longer, 4000, 6000); /* 512 of 1024 samples, with a standard deviation of 16 */
    tamis_key_sampler_free(sampler);
}

static void makes_words_of_nothing(void **state) {
    unsigned char first[24];
    tamis_key_sampler *sampler;
    (void)state;
    for (uint64_t seed = 3; seed < 6; seed++) {
        sampler = create(TAMIS_KEY_SHAPE_TEXT, seed == 5 ? 3 : seed);
        assert_int_equal(tamis_key_sampler_make(sampler, made), 24);
        for (int i = 0; i < 24; i++)
            assert_in_range(made[i], 'a', 'z');
        if (seed == 3)
            memcpy(first, made, sizeof first);
        assert_true((memcmp(made, first, sizeof first) == 0) == (seed != 4));
        tamis_key_sampler_free(sampler);
    }
}

static void ends_long_keys_and_widens(void **state) {
    static char text[3 * KEPT];
    tamis_key_sampler *sampler = create(TAMIS_KEY_SHAPE_TEXT, 5);
    (void)state;
    memset(text, '5', sizeof text - 1);
    add(sampler, text);
    assert_int_equal(tamis_key_sampler_make(sampler, made), KEPT);
    widen(sampler, WIDER);
    assert_false(tamis_key_sampler_widen(sampler));
    assert_int_equal(tamis_key_sampler_make(sampler, made), KEPT + WIDER);
    assert_in_range(made[KEPT + WIDER - 1], '0', '9');
    tamis_key_sampler_free(sampler);
    sampler = create(TAMIS_KEY_SHAPE_TEXT, 5);
    tamis_key_sampler_add_many(sampler, &(tamis_key){NULL, 0}, 1);
    assert_int_equal(tamis_key_sampler_make(sampler, made), 0);
    widen(sampler, 2);
    assert_int_equal(tamis_key_sampler_make(sampler, made), 2);
    assert_in_range(made[0], 'a', 'z');
    tamis_key_sampler_free(sampler);
}

/* ---- the same random keys everywhere ---- */

/* Returns a hash (FNV-1a) of 1,000 random keys and their sizes. */
static uint64_t digest(tamis_key_sampler *sampler) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325), prime = UINT64_C(0x100000001b3);
    for (int i = 0; i < 1000; i++) {
        size_t size = tamis_key_sampler_make(sampler, made);
        for (size_t j = 0; j < size; j++)
            hash = (hash ^ made[j]) * prime;
        hash = (hash ^ size) * prime;
    }
    return hash;
}

#define KEY(text)                                                                                            \
    { text, sizeof text - 1 }

/* A seed gives the keys that it gave in the first version: recorded there. */
static void seeds_keep_their_keys(void **state) {
    static const tamis_key texts[] = {KEY("https://shop.example.org/item?id=4711"), KEY("caf\xc3\xa9"),
                                      KEY("\xf0\x9f\x98\x80 A9"), KEY("")},
                           int32s[] = {KEY("\xe8\x03\0\0"), KEY("\xfb\xff\xff\xff"), KEY("\0\0\0\0")},
                           int64s[] = {KEY("\xe8\x03\0\0\0\0\0\0"), KEY("\xfb\xff\xff\xff\xff\xff\xff\xff"),
                                       KEY("\0\0\0\0\0\0\0\0")};
    static const struct {
        tamis_key_shape shape;
        const tamis_key *keys;
        size_t count;
        int wider;
        uint64_t digest;
    } cases[] = {
        {TAMIS_KEY_SHAPE_TEXT, texts, 4, 0, UINT64_C(0x5c110c4290a168b5)},
        {TAMIS_KEY_SHAPE_TEXT, texts, 4, 3, UINT64_C(0x6a3860cd6f0513ed)},
        {TAMIS_KEY_SHAPE_TEXT, texts, 0, 0, UINT64_C(0x6b7875953fb088ba)},
        {TAMIS_KEY_SHAPE_BYTES, texts, 4, 0, UINT64_C(0x71595339b3994dc2)},
        {TAMIS_KEY_SHAPE_INT32, int32s, 3, 1, UINT64_C(0xf9507f5629427024)},
        {TAMIS_KEY_SHAPE_INT64, int64s, 3, 1, UINT64_C(0x1cf087ca55331b60)},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_key_sampler *sampler = create(cases[i].shape, 7);
        for (int times = 0; times < 1000; times++)
            tamis_key_sampler_add_many(sampler, cases[i].keys, cases[i].count);
        widen(sampler, cases[i].wider);
        assert_int_equal(digest(sampler), cases[i].digest);
        tamis_key_sampler_free(sampler);
    }
}

/* ---- text ---- */

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
enum { TEXTS = sizeof texts / sizeof *texts };

/* Fills `text` with `before` letters and then one character again and again. */
static void fill_text(char *text, size_t capacity, size_t before, const char *character) {
    size_t size = before;
    memset(text, 'x', size);
    for (; size + 4 < capacity; size += strlen(character))
        memcpy(text + size, character, strlen(character));
    text[size] = '\0';
}

/* Fails unless the keys in the sink are good. */
static void check_sink(tamis_sink *sink) {
    tamis_error err = TAMIS_ERROR_INIT;
    const tamis_key *keys;
    size_t count;
    if (tamis_sink_keys(sink, &keys, &count, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
}

/* Random text made from UTF-8 is UTF-8, also if it is cut or widened. */
static void utf8_stays_utf8(void **state) {
    static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    static char text[2 * KEPT];
    tamis_key_sampler *sampler = create(TAMIS_KEY_SHAPE_TEXT, 6);
    tamis_sink *sink = NULL;
    (void)state;
    assert_int_equal(tamis_sink_create(&sink, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i < TEXTS; i++)
        add(sampler, texts[i]);
    for (size_t i = 0; i < 3; i++) /* a character across the end of a cut text, at each offset */
        for (size_t before = 0; before < 4; before++) {
            fill_text(text, sizeof text, before, characters[i]);
            add(sampler, text);
        }
    for (int i = 0; i < 20000; i++) {
        if (i % 5000 == 4999)
            widen(sampler, 1);
        tamis_sink_clear(sink);
        tamis_sink_put_text(sink, (const char *)made, tamis_key_sampler_make(sampler, made));
        tamis_sink_end_key(sink);
        check_sink(sink);
    }
    tamis_sink_free(sink);
    tamis_key_sampler_free(sampler);
}

/* Random UTF-16 is the random UTF-8 of the same seed, converted by the funnel. */
static void utf16_is_that_of_utf8(void **state) {
    static char text[2 * KEPT];
    tamis_key_sampler *narrow = create(TAMIS_KEY_SHAPE_TEXT, 8), *wide = create(TAMIS_KEY_SHAPE_UTF16, 8);
    tamis_sink *sink = NULL;
    const tamis_key *keys;
    size_t count;
    (void)state;
    assert_int_equal(tamis_sink_create(&sink, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i <= TEXTS + 3; i++) {
        fill_text(text, sizeof text, i, "\xf0\x9f\x98\x80");
        const char *added = i < TEXTS ? texts[i] : text;
        tamis_sink_clear(sink);
        tamis_sink_put_text(sink, added, strlen(added));
        tamis_sink_end_key(sink);
        assert_int_equal(tamis_sink_keys(sink, &keys, &count, NULL), TAMIS_OK);
        tamis_key_sampler_add_many(wide, keys, 1);
        add(narrow, added);
    }
    for (int i = 0; i < 5000; i++) {
        if (i == 2500) {
            widen(narrow, 3);
            widen(wide, 3);
        }
        tamis_sink_clear(sink);
        tamis_sink_put_text(sink, (const char *)made, tamis_key_sampler_make(narrow, made));
        tamis_sink_end_key(sink);
        assert_int_equal(tamis_sink_keys(sink, &keys, &count, NULL), TAMIS_OK);
        assert_int_equal(tamis_key_sampler_make(wide, made), keys[0].size);
        assert_true(keys[0].size == 0 || memcmp(made, keys[0].data, keys[0].size) == 0);
    }
    tamis_sink_free(sink);
    tamis_key_sampler_free(narrow);
    tamis_key_sampler_free(wide);
}

/* A Java String may have lone surrogates. They stay surrogates; an odd byte at the end is left out. */
static void utf16_may_have_lone_surrogates(void **state) {
    static const unsigned char key[] = {'a', 0, 0x34, 0xd8, 'b', 0, 0x1e, 0xdd, 'c'};
    tamis_key_sampler *sampler = create(TAMIS_KEY_SHAPE_UTF16, 9);
    (void)state;
    tamis_key_sampler_add_many(sampler, &(tamis_key){key, sizeof key}, 1);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(tamis_key_sampler_make(sampler, made), sizeof key - 1);
        assert_in_range(made[0], 'a', 'z');
        assert_in_range(made[3], 0xd8, 0xdb);
        assert_in_range(made[4], 'a', 'z');
        assert_in_range(made[7], 0xdc, 0xdf);
    }
    tamis_key_sampler_free(sampler);
}

/* ---- numbers and bytes ---- */

static int64_t number_of(const unsigned char *bytes, size_t size) {
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    return size == 4 ? (int32_t)value : (int64_t)value;
}

/* Makes 5,000 numbers and finds the smallest and the largest. */
static void make_numbers(tamis_key_sampler *sampler, size_t size, int64_t *min, int64_t *max) {
    *min = INT64_MAX;
    *max = INT64_MIN;
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(tamis_key_sampler_make(sampler, made), size);
        int64_t number = number_of(made, size);
        *min = number < *min ? number : *min;
        *max = number > *max ? number : *max;
    }
}

/* Random numbers have the type, sign and size of a given number, unless there are too few such numbers. */
static void numbers_keep_sign_and_size(void **state) {
    static const struct {
        int64_t number, low32, high32, low64, high64;
    } cases[] = {
        {1000, 0, 1023, 0, 1023},
        {-5, -8, -1, -8, -1},
        {0, 0, 0, 0, 0},
        {-1, -1, -1, -1, -1},
        {INT32_MAX, INT32_MIN, INT32_MAX, 0, INT32_MAX}, /* with 64 bits more numbers have that size */
        {INT32_MIN, INT32_MIN, INT32_MAX, INT32_MIN, -1},
    };
    (void)state;
    for (size_t size = 4; size <= 8; size += 4)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            tamis_key_sampler *sampler = create(size == 4 ? TAMIS_KEY_SHAPE_INT32 : TAMIS_KEY_SHAPE_INT64, 8);
            int64_t low = size == 4 ? cases[i].low32 : cases[i].low64;
            int64_t high = size == 4 ? cases[i].high32 : cases[i].high64, min, max;
            unsigned char bytes[8];
            for (size_t b = 0; b < 8; b++)
                bytes[b] = (unsigned char)((uint64_t)cases[i].number >> 8 * b);
            tamis_key_sampler_add_many(sampler, &(tamis_key){bytes, size}, 1);
            make_numbers(sampler, size, &min, &max);
            assert_true(min >= low && max <= high);
            /* nearly the whole range occurs */
            assert_true((double)min < (double)low + 0.01 * ((double)high - (double)low) + 1);
            assert_true((double)max > (double)high - 0.01 * ((double)high - (double)low) - 1);
            widen(sampler, WIDER); /* any number */
            make_numbers(sampler, size, &min, &max);
            assert_true(min < (size == 4 ? INT32_MIN / 2 : INT64_MIN / 2));
            assert_true(max > (size == 4 ? INT32_MAX / 2 : INT64_MAX / 2));
            tamis_key_sampler_free(sampler);
        }
}

static void without_samples_any_number_comes(void **state) {
    int64_t min, max;
    (void)state;
    for (size_t size = 4; size <= 8; size += 4) {
        tamis_key_sampler *sampler = create(size == 4 ? TAMIS_KEY_SHAPE_INT32 : TAMIS_KEY_SHAPE_INT64, 1);
        make_numbers(sampler, size, &min, &max);
        assert_true(min < (size == 4 ? INT32_MIN / 2 : INT64_MIN / 2));
        assert_true(max > (size == 4 ? INT32_MAX / 2 : INT64_MAX / 2));
        tamis_key_sampler_free(sampler);
    }
}

static void bytes_become_any_bytes(void **state) {
    tamis_key_sampler *sampler = create(TAMIS_KEY_SHAPE_BYTES, 9);
    bool met[256] = {false};
    size_t values = 0;
    (void)state;
    assert_int_equal(tamis_key_sampler_make(sampler, made), 16);
    add(sampler, "aa");
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(tamis_key_sampler_make(sampler, made), 2);
        met[made[1]] = true;
    }
    for (size_t i = 0; i < 256; i++)
        values += met[i];
    assert_int_equal(values, 256);
    widen(sampler, WIDER);
    assert_int_equal(tamis_key_sampler_make(sampler, made), 2 + WIDER);
    tamis_key_sampler_free(sampler);
}

static void refuses_what_it_cannot_use(void **state) {
    tamis_key_sampler_options options = TAMIS_KEY_SAMPLER_OPTIONS_INIT;
    fault_memory memory = {.fail_at = 1};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_key_sampler *sampler = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    (void)state;
    options.allocator = &allocator;
    assert_int_equal(tamis_key_sampler_create(&sampler, &options, &err), TAMIS_E_NOMEM);
    options.shape = (tamis_key_shape)5;
    assert_int_equal(tamis_key_sampler_create(&sampler, &options, &err), TAMIS_E_INVALID);
    assert_null(sampler);
    tamis_key_sampler_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_length_and_ranges),    cmocka_unit_test(samples_evenly),
        cmocka_unit_test(makes_words_of_nothing),     cmocka_unit_test(ends_long_keys_and_widens),
        cmocka_unit_test(seeds_keep_their_keys),      cmocka_unit_test(utf8_stays_utf8),
        cmocka_unit_test(utf16_is_that_of_utf8),      cmocka_unit_test(utf16_may_have_lone_surrogates),
        cmocka_unit_test(numbers_keep_sign_and_size), cmocka_unit_test(without_samples_any_number_comes),
        cmocka_unit_test(bytes_become_any_bytes),     cmocka_unit_test(refuses_what_it_cannot_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
