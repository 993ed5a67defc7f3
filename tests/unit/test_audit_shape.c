/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/tamis.h>

/* The command is no library. */
#include "cli/audit_shape.c"

static const cli_key_form plain = {CLI_KEY_BYTES, false};
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

/* Of many keys each is as likely to be in the sample as any other. */
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
    assert_in_range(longer, 4000, 6000); /* of 1024 samples 512, and a standard deviation of 16 */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_length_and_classes),
        cmocka_unit_test(samples_evenly),
        cmocka_unit_test(makes_words_of_nothing),
        cmocka_unit_test(ends_long_keys_and_widens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
