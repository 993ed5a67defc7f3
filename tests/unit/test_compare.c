/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/tamis.h>

enum { KEYS = 500 };

static tamis_filter *filter_of(tamis_kind kind, uint64_t expect, uint64_t seed) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    plan_options.kind = kind;
    plan_options.expect = expect;
    plan_options.fpr = kind == TAMIS_KIND_EXACT ? 0 : 1e-4;
    options.seed = seed;
    if (tamis_plan_make(&plan, &plan_options, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

static void add(tamis_filter *filter, int from, int to) {
    char key[16];
    for (int i = from; i < to; i++)
        assert_int_equal(
            tamis_filter_add(filter, key, (size_t)snprintf(key, sizeof key, "%d", i), NULL, NULL), TAMIS_OK);
}

static tamis_difference compared(const tamis_filter *a, const tamis_filter *b) {
    tamis_difference difference = TAMIS_DIFFERENCE_INIT;
    assert_int_equal(tamis_filter_compare(&difference, a, b, NULL), TAMIS_OK);
    return difference;
}

static uint64_t ones(const tamis_filter *filter) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    assert_int_equal(tamis_filter_info_get(filter, &info, NULL), TAMIS_OK);
    return info.ones;
}

static void counts_the_bits_of_each(void **state) {
    (void)state;
    for (tamis_kind kind = TAMIS_KIND_CLASSIC; kind <= TAMIS_KIND_BLOCKED; kind++) {
        tamis_filter *a = filter_of(kind, 2 * KEYS, 1), *b = filter_of(kind, 2 * KEYS, 1);
        add(a, 0, KEYS);
        add(b, KEYS / 2, KEYS);
        tamis_difference difference = compared(a, b);
        assert_true(difference.same_hash && difference.same_shape && !difference.same_body);
        assert_int_equal(difference.in_both, ones(b)); /* the first filter has all its keys */
        assert_int_equal(difference.only_b, 0);
        assert_int_equal(difference.only_a, ones(a) - ones(b));
        assert_false(tamis_filter_is_equal(a, b));
        add(b, 0, KEYS / 2);
        difference = compared(b, a);
        assert_true(difference.same_body && difference.only_a == 0 && difference.only_b == 0);
        assert_int_equal(difference.in_both, ones(a));
        tamis_filter_free(a);
        tamis_filter_free(b);
    }
}

static void compares_tables_by_their_bytes(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) {
        tamis_kind kind = i < 2 ? TAMIS_KIND_FINGERPRINT : TAMIS_KIND_EXACT;
        uint64_t expect = i % 2 ? 2 * KEYS : 0;
        tamis_filter *a = filter_of(kind, expect, 0), *b = filter_of(kind, expect, 0);
        add(a, 0, KEYS);
        add(b, 0, KEYS);
        tamis_difference difference = compared(a, b);
        assert_true(difference.same_hash && difference.same_shape && difference.same_body);
        assert_true(difference.only_a == 0 && difference.only_b == 0 && difference.in_both == 0);
        add(b, KEYS, KEYS + 1);
        assert_false(compared(a, b).same_body);
        assert_true(compared(a, b).same_shape);
        tamis_filter_free(a);
        tamis_filter_free(b);
    }
}

static void distinguishes_hash_from_shape(void **state) {
    (void)state;
    tamis_filter *classic = filter_of(TAMIS_KIND_CLASSIC, KEYS, 0),
                 *seeded = filter_of(TAMIS_KIND_CLASSIC, KEYS, 9),
                 *larger = filter_of(TAMIS_KIND_CLASSIC, 2 * KEYS, 0),
                 *table = filter_of(TAMIS_KIND_FINGERPRINT, KEYS, 0),
                 *growing = filter_of(TAMIS_KIND_FINGERPRINT, 0, 0),
                 *longer = filter_of(TAMIS_KIND_FINGERPRINT, 20 * KEYS, 0);
    tamis_difference difference = compared(classic, seeded);
    assert_true(!difference.same_hash && difference.same_shape && !difference.same_body);
    difference = compared(classic, larger);
    assert_true(difference.same_hash && !difference.same_shape && !difference.same_body);
    assert_false(compared(classic, table).same_shape);
    assert_false(compared(table, growing).same_shape);
    assert_false(compared(growing, table).same_shape);
    assert_false(compared(table, longer).same_shape);
    tamis_filter_free(classic);
    tamis_filter_free(seeded);
    tamis_filter_free(larger);
    tamis_filter_free(table);
    tamis_filter_free(growing);
    tamis_filter_free(longer);
}

static void refuses_a_struct_without_its_size(void **state) {
    (void)state;
    tamis_filter *filter = filter_of(TAMIS_KIND_CLASSIC, KEYS, 0);
    tamis_difference difference = {0};
    assert_int_equal(tamis_filter_compare(&difference, filter, filter, NULL), TAMIS_E_INVALID);
    tamis_filter_free(filter);
}

static void say_keys(tamis_filter *filter, uint32_t key_type) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    metadata.key_type = key_type;
    assert_int_equal(tamis_filter_metadata_set(filter, &metadata, NULL), TAMIS_OK);
}

static uint32_t keys_of(const tamis_filter *filter) {
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    assert_int_equal(tamis_filter_metadata_get(filter, &metadata, NULL), TAMIS_OK);
    return metadata.key_type;
}

static void union_requires_equal_key_rules(void **state) {
    enum { REFUSED = -1, LATER = 9 };
    static const struct {
        uint32_t into, from;
        int64_t merged;
    } cases[] = {
        {TAMIS_KEYS_UNSPECIFIED, TAMIS_KEYS_UNSPECIFIED, TAMIS_KEYS_UNSPECIFIED},
        {TAMIS_KEYS_UNSPECIFIED, TAMIS_KEYS_INT32 | TAMIS_KEYS_TRIMMED,
         TAMIS_KEYS_INT32 | TAMIS_KEYS_TRIMMED},
        {TAMIS_KEYS_UTF8, TAMIS_KEYS_UTF8, TAMIS_KEYS_UTF8},
        {TAMIS_KEYS_UTF8, TAMIS_KEYS_BYTES, TAMIS_KEYS_BYTES},
        {TAMIS_KEYS_FOLDED, TAMIS_KEYS_UTF16 | TAMIS_KEYS_FOLDED, TAMIS_KEYS_UTF16 | TAMIS_KEYS_FOLDED},
        {TAMIS_KEYS_BYTES | TAMIS_KEYS_NORMALIZED, TAMIS_KEYS_UTF8 | TAMIS_KEYS_NORMALIZED,
         TAMIS_KEYS_BYTES | TAMIS_KEYS_NORMALIZED},
        {LATER, LATER, LATER},
        {LATER, TAMIS_KEYS_UNSPECIFIED, LATER},
        {TAMIS_KEYS_BYTES, TAMIS_KEYS_BYTES | TAMIS_KEYS_FOLDED, REFUSED},
        {TAMIS_KEYS_BYTES | TAMIS_KEYS_TRIMMED, TAMIS_KEYS_BYTES | TAMIS_KEYS_FOLDED, REFUSED},
        {TAMIS_KEYS_FOLDED, TAMIS_KEYS_TRIMMED, REFUSED},
        {TAMIS_KEYS_INT32, TAMIS_KEYS_INT64, REFUSED},
        {TAMIS_KEYS_UTF8, TAMIS_KEYS_UTF16, REFUSED},
        {LATER, TAMIS_KEYS_BYTES, REFUSED},
    };
    (void)state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) { /* and the other way about */
        tamis_filter *into = filter_of(TAMIS_KIND_BLOCKED, KEYS, 0),
                     *from = filter_of(TAMIS_KIND_BLOCKED, KEYS, 0);
        tamis_error err = TAMIS_ERROR_INIT;
        int64_t merged = cases[i / 2].merged;
        uint32_t was = i % 2 ? cases[i / 2].from : cases[i / 2].into;
        say_keys(into, was);
        say_keys(from, i % 2 ? cases[i / 2].into : cases[i / 2].from);
        assert_int_equal(tamis_filter_is_compatible(into, from), merged != REFUSED);
        assert_int_equal(tamis_filter_is_equal(into, from), merged != REFUSED);
        add(from, 0, KEYS);
        assert_int_equal(tamis_filter_union(into, from, &err),
                         merged == REFUSED ? TAMIS_E_MISMATCH : TAMIS_OK);
        assert_int_equal(ones(into), merged == REFUSED ? 0 : ones(from));
        assert_int_equal(keys_of(into), merged == REFUSED ? was : merged);
        if (merged == REFUSED)
            assert_non_null(strstr(err.text, "union: key types differ, 0x"));
        tamis_filter_free(into);
        tamis_filter_free(from);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_the_bits_of_each),        cmocka_unit_test(compares_tables_by_their_bytes),
        cmocka_unit_test(distinguishes_hash_from_shape),  cmocka_unit_test(refuses_a_struct_without_its_size),
        cmocka_unit_test(union_requires_equal_key_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
