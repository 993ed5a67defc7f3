/* SPDX-License-Identifier: BSD-2-Clause */

/* Keys of a type, made from texts. tests/cli has what the command says about them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/key_maker.h>

#include "support/fault.h"

enum { MANY = 5000 };

typedef struct form {
    tamis_key_type type;
    bool hex, strip_cr;
} form;

static tamis_key_maker *create(form texts, const tamis_allocator *allocator) {
    tamis_key_maker_options options = TAMIS_KEY_MAKER_OPTIONS_INIT;
    tamis_key_maker *maker = NULL;

    options.key_type = texts.type;
    options.hex = texts.hex;
    options.strip_cr = texts.strip_cr;
    options.allocator = allocator;
    tamis_key_maker_create(&maker, &options, NULL);
    return maker;
}

static void expect_key(const tamis_key *key, const char *bytes, size_t size) {
    assert_int_equal(key->size, size);
    assert_true(size == 0 || memcmp(key->data, bytes, size) == 0);
}

static void each_type_makes_its_bytes(void **state) {
    static const struct {
        form form;
        const char *text, *key;
        size_t size;
    } cases[] = {
        {{.type = TAMIS_KEYS_UNSPECIFIED}, "a\xff\r", "a\xff\r", 3},
        {{.type = TAMIS_KEYS_BYTES, .strip_cr = true}, "a\r\r", "a\r", 2},
        {{.type = TAMIS_KEYS_BYTES, .strip_cr = true}, "\r", "", 0},
        {{.type = TAMIS_KEYS_BYTES, .hex = true}, "00fFA5", "\x00\xff\xa5", 3},
        {{.type = TAMIS_KEYS_UNSPECIFIED, .hex = true}, "", "", 0},
        {{.type = TAMIS_KEYS_UTF16, .hex = true}, "c3a9", "\xe9\0", 2},
        {{.type = TAMIS_KEYS_INT32, .hex = true}, "2D32", "\xfe\xff\xff\xff", 4},
        {{.type = TAMIS_KEYS_UTF8}, "\xc3\xa9", "\xc3\xa9", 2},
        {{.type = TAMIS_KEYS_UTF8, .strip_cr = true}, "a\r", "a", 1},
        {{.type = TAMIS_KEYS_UTF8}, "", "", 0},
        {{.type = TAMIS_KEYS_UTF16}, "a\xc3\xa9", "a\0\xe9\0", 4},
        {{.type = TAMIS_KEYS_UTF16}, "\xf0\x9f\x98\x80", "\x3d\xd8\x00\xde", 4},
        {{.type = TAMIS_KEYS_UTF16}, "", "", 0},
        {{.type = TAMIS_KEYS_INT32}, "258", "\2\1\0\0", 4},
        {{.type = TAMIS_KEYS_INT32}, "-2", "\xfe\xff\xff\xff", 4},
        {{.type = TAMIS_KEYS_INT32}, "+007", "\7\0\0\0", 4},
        {{.type = TAMIS_KEYS_INT32}, "-0", "\0\0\0\0", 4},
        {{.type = TAMIS_KEYS_INT32, .strip_cr = true}, "7\r", "\7\0\0\0", 4},
        {{.type = TAMIS_KEYS_INT32}, "2147483647", "\xff\xff\xff\x7f", 4},
        {{.type = TAMIS_KEYS_INT32}, "-2147483648", "\0\0\0\x80", 4},
        {{.type = TAMIS_KEYS_INT64}, "00000000000000000000000000000000000001", "\1\0\0\0\0\0\0\0", 8},
        {{.type = TAMIS_KEYS_INT64}, "9223372036854775807", "\xff\xff\xff\xff\xff\xff\xff\x7f", 8},
        {{.type = TAMIS_KEYS_INT64}, "-9223372036854775808", "\0\0\0\0\0\0\0\x80", 8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_key_maker *maker = create(cases[i].form, NULL);
        const tamis_key text = {cases[i].text, strlen(cases[i].text)}, *keys = NULL;
        size_t made = 77;
        assert_int_equal(tamis_key_maker_make(maker, &text, 1, &keys, &made, NULL), TAMIS_OK);
        assert_int_equal(made, 1);
        expect_key(keys, cases[i].key, cases[i].size);
        assert_int_equal(tamis_key_maker_make(maker, &text, 0, &keys, &made, NULL), TAMIS_OK);
        assert_int_equal(made, 0);
        tamis_key_maker_free(maker);
    }
}

static void texts_of_another_type_are_refused(void **state) {
    static const struct {
        form form;
        const char *text, *message;
    } cases[] = {
        {{.hex = true}, "abc", "key 0: an odd number of hexadecimal digits, 3; give two for each byte"},
        {{.hex = true}, "a", "key 0: an odd number of hexadecimal digits, 1; give two for each byte"},
        {{.hex = true, .strip_cr = true},
         "ab\r",
         "key 0: byte 0x0D at offset 2 is not a hexadecimal digit; give two digits for each byte"},
        {{.hex = true},
         "g0",
         "key 0: byte 0x67 at offset 0 is not a hexadecimal digit; give two digits for each byte"},
        {{.type = TAMIS_KEYS_UTF8},
         "a\xff",
         "key 0: not UTF-8 at offset 1 (byte 0xFF); pass UTF-8, or bytes"},
        {{.type = TAMIS_KEYS_UTF16},
         "\xed\xa0\x80",
         "key 0: not UTF-8 at offset 0 (byte 0xED); pass UTF-8, or bytes"},
        {{.type = TAMIS_KEYS_INT32}, "", "key 0: not a whole number; give one from -2147483648 to "},
        {{.type = TAMIS_KEYS_INT32}, "-", "key 0: not a whole number; give one from -2147483648 to "},
        {{.type = TAMIS_KEYS_INT32}, "1\r", "key 0: not a whole number at offset 1 (byte 0x0D); give one"},
        {{.type = TAMIS_KEYS_INT32}, " 1", "key 0: not a whole number at offset 0 (byte 0x20); give one"},
        {{.type = TAMIS_KEYS_INT32}, "--1", "key 0: not a whole number at offset 1 (byte 0x2D); give one"},
        {{.type = TAMIS_KEYS_INT32}, "99999999999999999999x", "key 0: not a whole number at offset 20"},
        {{.type = TAMIS_KEYS_INT32},
         "2147483648",
         "key 0: out of range; give one from -2147483648 to 2147483647"},
        {{.type = TAMIS_KEYS_INT32}, "-2147483649", "key 0: out of range"},
        {{.type = TAMIS_KEYS_INT64},
         "9223372036854775808",
         "key 0: out of range; give one from -9223372036854775808 to 9223372036854775807, in decimal"},
        {{.type = TAMIS_KEYS_INT64}, "-9223372036854775809", "key 0: out of range"},
        {{.type = TAMIS_KEYS_INT64}, "18446744073709551617", "key 0: out of range"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_key_maker *maker = create(cases[i].form, NULL);
        const tamis_key text = {cases[i].text, strlen(cases[i].text)}, *keys = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        size_t made = 77;
        assert_int_equal(tamis_key_maker_make(maker, &text, 1, &keys, &made, &err), TAMIS_E_INVALID);
        assert_int_equal(made, 0);
        if (strncmp(err.text, cases[i].message, strlen(cases[i].message)) != 0)
            fail_msg("'%s': %s", cases[i].text, err.text);
        tamis_key_maker_free(maker);
    }
}

/* A bad text at any position of a large batch: the keys before it are made. The maker's memory is reused. */
static void keys_before_a_bad_text_are_made(void **state) {
    static const form forms[] = {{.hex = true}, {.type = TAMIS_KEYS_UTF8}, {.type = TAMIS_KEYS_INT64}};
    static const size_t bad[] = {0, 1, 255, 256, 2048, MANY - 1};
    static char texts[MANY][16];
    static tamis_key views[MANY];
    (void)state;
    for (size_t i = 0; i < MANY; i++)
        views[i] = (tamis_key){texts[i], (size_t)snprintf(texts[i], sizeof texts[i], "%08zu", i)};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        tamis_key_maker *maker = create(forms[f], NULL), *reference = create(forms[f], NULL);
        const tamis_key *whole = NULL;
        size_t count = 0;
        assert_int_equal(tamis_key_maker_make(reference, views, MANY, &whole, &count, NULL), TAMIS_OK);
        assert_int_equal(count, MANY);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            tamis_error err = TAMIS_ERROR_INIT;
            const tamis_key *keys = NULL;
            char subject[40];
            size_t made = 77;
            texts[bad[i]][0] = '\xff';
            assert_int_equal(tamis_key_maker_make(maker, views, MANY, &keys, &made, &err), TAMIS_E_INVALID);
            texts[bad[i]][0] = '0';
            assert_int_equal(made, bad[i]);
            assert_memory_equal(err.text, subject,
                                (size_t)snprintf(subject, sizeof subject, "key %zu: ", bad[i]));
            for (size_t k = 0; k < made; k++)
                expect_key(&keys[k], whole[k].data, whole[k].size);
        }
        tamis_key_maker_free(maker);
        tamis_key_maker_free(reference);
    }
}

static void unknown_types_are_refused(void **state) {
    static const form forms[] = {{.type = (tamis_key_type)(TAMIS_KEYS_INT64 + 1)},
                                 {.type = (tamis_key_type)(TAMIS_KEYS_UTF8 | TAMIS_KEYS_TRIMMED)}};
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        assert_null(create(forms[i], NULL));
}

/* Every allocation fails once. A batch that was refused has no keys, and the next one is made. */
static void memory_may_run_out(void **state) {
    static const form forms[] = {
        {.hex = true}, {.type = TAMIS_KEYS_BYTES, .strip_cr = true}, {.type = TAMIS_KEYS_INT32}};
    static const tamis_key texts[] = {{"12", 2}, {"34", 2}};
    (void)state;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        bool reached = true;
        for (uint64_t n = 1; reached; n++) {
            fault_memory memory = {.fail_at = n};
            const tamis_allocator allocator = fault_memory_allocator(&memory);
            tamis_key_maker *maker = create(forms[f], &allocator);
            const tamis_key *keys = NULL;
            size_t made = 77;
            if (maker && tamis_key_maker_make(maker, texts, 2, &keys, &made, NULL) != TAMIS_OK) {
                assert_int_equal(made, 0);
                assert_int_equal(tamis_key_maker_make(maker, texts, 2, &keys, &made, NULL), TAMIS_OK);
                assert_int_equal(made, 2);
            }
            reached = memory.refused > 0;
            tamis_key_maker_free(maker);
            assert_int_equal(memory.live_blocks, 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_makes_its_bytes),
        cmocka_unit_test(texts_of_another_type_are_refused),
        cmocka_unit_test(keys_before_a_bad_text_are_made),
        cmocka_unit_test(unknown_types_are_refused),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
