/* SPDX-License-Identifier: BSD-2-Clause */

/* Numbers that are not derived here are from Guava 31.1 (Debian libguava-java) or, for the newer rule,
 * 33.5.0. tests/interop compares tamis with both on random operations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tamis/compat/funnel.h>
#include <tamis/compat/guava.h>
#include <tamis/tamis.h>

#include "golden/golden_reader.h"
#include "support/fault.h"

static tamis_guava_options options_for(int64_t n, double p) {
    tamis_guava_options options = TAMIS_GUAVA_OPTIONS_INIT;
    options.expected_insertions = n;
    options.fpp = p;
    return options;
}

static tamis_guava *made_with(const tamis_guava_options *options) {
    tamis_guava *guava = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_guava_create(&guava, options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return guava;
}

static tamis_guava *made(int64_t n, double p) {
    tamis_guava_options options = options_for(n, p);
    return made_with(&options);
}

static bool put_key(tamis_guava *guava, const void *bytes, size_t size) {
    tamis_key key = {bytes, size};
    bool changed = false;
    assert_int_equal(tamis_guava_put(guava, &key, &changed, NULL), TAMIS_OK);
    return changed;
}

static bool might(tamis_guava *guava, const char *text) {
    tamis_key key = {text, strlen(text)};
    bool contains = false;
    assert_int_equal(tamis_guava_might_contain(guava, &key, &contains, NULL), TAMIS_OK);
    return contains;
}

static void says(const tamis_error *err, tamis_status status, const char *what) {
    assert_int_equal(err->status, status);
    if (!strstr(err->text, what))
        fail_msg("\"%s\" does not say \"%s\"", err->text, what);
    assert_int_not_equal(err->text[strlen(err->text) - 1], '.');
}

/* ---- creation ---- */

static void refused(const tamis_guava_options *options, tamis_status status, const char *what) {
    tamis_guava *guava = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_guava_create(&guava, options, &err), status);
    assert_null(guava);
    says(&err, status, what);
}

static void arguments_that_guava_refuses(void **state) {
    (void)state;
    static const struct {
        int64_t n;
        double p;
        const char *what;
    } cases[] = {
        {-1, 0.03, "-1 expected insertions"},
        {INT64_MIN, 0.03, "below 0"},
        {10, 0, "rate of 0"},
        {10, -1, "rate of -1"},
        {10, 1, "rate of 1"},
        {10, 1.5, "rate of 1.5"},
        {10, NAN, "nan is not between"},
        {10, INFINITY, "inf is not between"},
        {1, 0.99, "no bit at all"},
        {0, 0.99, "no bit at all"},
        {100, 1e-80, "266 hash functions"},
        {100, 5e-324, "1074 hash functions"},
        {INT64_MAX, 0.03, "more than the 137438953408"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_guava_options options = options_for(cases[i].n, cases[i].p);
        refused(&options, TAMIS_E_RANGE, cases[i].what);
    }
}

static void invalid_options(void **state) {
    (void)state;
    tamis_guava_options options = options_for(10, 0.03);
    options.strategy = TAMIS_SCHEME_XXH3;
    refused(&options, TAMIS_E_INVALID, "strategy 1");
    options = options_for(10, 0.03);
    options.funnel = NULL;
    refused(&options, TAMIS_E_INVALID, "no funnel");
    options = options_for(10, 0.03);
    options.rule = (tamis_guava_rule)2;
    refused(&options, TAMIS_E_INVALID, "rule 2");
    options.struct_size = 0;
    refused(&options, TAMIS_E_INVALID, "TAMIS_GUAVA_OPTIONS_INIT");
    refused(NULL, TAMIS_E_INVALID, "TAMIS_GUAVA_OPTIONS_INIT");
    tamis_guava_free(NULL);
}

static void check_sizes(int64_t n, double p, tamis_guava_rule rule, uint64_t bits, uint32_t k) {
    tamis_guava_options options = options_for(n, p);
    options.rule = rule;
    tamis_guava *guava = made_with(&options);
    assert_int_equal(tamis_guava_bit_size(guava), bits);
    assert_int_equal(tamis_guava_hash_functions(guava), k);
    tamis_guava_free(guava);
}

static void sizes_by_either_rule(void **state) {
    (void)state;
    check_sizes(1, 0.01, TAMIS_GUAVA_RULE_SIZE, 64, 6);
    check_sizes(1, 0.01, TAMIS_GUAVA_RULE_FPP, 64, 7);
    check_sizes(1, 1e-6, TAMIS_GUAVA_RULE_SIZE, 64, 19);
    check_sizes(1, 1e-6, TAMIS_GUAVA_RULE_FPP, 64, 20);
    check_sizes(0, 0.01, TAMIS_GUAVA_RULE_SIZE, 64, 6);
    check_sizes(10, 0.01, TAMIS_GUAVA_RULE_SIZE, 128, 7);
    check_sizes(3000, 0.03, TAMIS_GUAVA_RULE_SIZE, 21952, 5); /* m = 21895 */
    check_sizes(10, 0.9, TAMIS_GUAVA_RULE_SIZE, 64, 1);
    check_sizes(1000, ldexp(1, -255), TAMIS_GUAVA_RULE_SIZE, 367936, 255);
    check_sizes(1000, ldexp(1, -255), TAMIS_GUAVA_RULE_FPP, 367936, 255);
}

static void options_of_an_older_program(void **state) {
    (void)state;
    tamis_guava_options options = TAMIS_GUAVA_OPTIONS_INIT;
    options.struct_size = offsetof(tamis_guava_options, fpp);
    options.expected_insertions = 3000;
    options.fpp = 0.5; /* beyond the end of the caller's struct */
    tamis_guava *guava = made_with(&options);
    assert_int_equal(tamis_guava_bit_size(guava), 21952);
    tamis_guava_free(guava);
}

/* The maximum is 2^31 - 1 words. A smaller filter can only fail for lack of memory. */
static void the_largest_size(void **state) {
    (void)state;
    fault_memory memory = {.limit = 1 << 20};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_guava *guava = NULL;
    /* m = n / ln 2 at a rate of 1/2 */
    tamis_guava_options options = options_for((int64_t)(64.0 * INT32_MAX * log(2)), 0.5);
    options.allocator = &allocator;
    assert_int_equal(tamis_guava_create(&guava, &options, &err), TAMIS_E_NOMEM);
    options.expected_insertions += 2;
    assert_int_equal(tamis_guava_create(&guava, &options, &err), TAMIS_E_RANGE);
    says(&err, TAMIS_E_RANGE, "an array in Java can have");
    assert_null(guava);
    assert_int_equal(memory.live_blocks, 0);
}

/* ---- bits ---- */

/* Compares with Guava's writeTo: strategy, k, words, all big-endian. Looks up each bit by a hash with one
 * position. */
static void check_written(tamis_guava *guava, const uint8_t *written, size_t size) {
    const tamis_filter *filter = tamis_guava_filter(guava);
    uint64_t bits = tamis_guava_bit_size(guava), ones = 0;
    tamis_key any = {"", 0};
    tamis_hash hash;
    assert_int_equal(tamis_hash_many(tamis_filter_hasher(filter), &any, 1, &hash, NULL), TAMIS_OK);
    assert_int_equal(size, 6 + bits / 8);
    assert_int_equal(written[0], 1);
    assert_int_equal(written[1], tamis_guava_hash_functions(guava));
    for (uint64_t i = 0; i < bits; i++) {
        bool set = written[6 + i / 64 * 8 + 7 - i % 64 / 8] >> i % 8 & 1;
        tamis_answer answer;
        hash.word[0] = i;
        hash.word[1] = 0;
        assert_int_equal(tamis_filter_contains_hashes(filter, &hash, 1, &answer, NULL, NULL), TAMIS_OK);
        assert_int_equal(answer == TAMIS_PRESENT, set);
        ones += set;
    }
    assert_int_equal(tamis_guava_bit_count(guava), ones);
}

static void filters_of_guava(void **state) {
    (void)state;
    static uint8_t bytes[65536];
    int filters = 0;
    for (golden g = golden_open("guava-31.1.tsv"); golden_next(&g);) {
        if (strcmp(g.field[0], "filter") != 0)
            continue;
        tamis_guava *guava = made(atoll(g.field[2]), strtod(g.field[3], NULL));
        char *rest = g.field[5];
        for (int i = 0; i < atoi(g.field[4]); i++)
            put_key(guava, bytes, golden_key(g.field[1], strsep(&rest, ","), bytes));
        check_written(guava, bytes, golden_bytes(g.field[6], bytes));
        double fpp = strtod(g.field[7], NULL);
        int64_t count = -1;
        assert_true(fabs(tamis_guava_expected_fpp(guava) - fpp) <= 1e-15 * fpp);
        assert_int_equal(tamis_guava_approximate_element_count(guava, &count, NULL), TAMIS_OK);
        assert_int_equal(count, atoll(g.field[8]));
        tamis_guava_free(guava);
        filters++;
    }
    assert_int_equal(filters, 36);
}

/* The hash codes of funnel and strategy are from the JVM that computed the number. */
static void hash_codes_of_guava(void **state) {
    (void)state;
    tamis_guava_options options = options_for(10, 0.01);
    tamis_guava *mitz64 = made_with(&options);
    options.strategy = TAMIS_SCHEME_GUAVA32;
    tamis_guava *mitz32 = made_with(&options);
    tamis_guava *filters[] = {mitz64, mitz32};
    for (int i = 0; i < 2; i++) {
        put_key(filters[i], "foo", 3);
        put_key(filters[i], "bar\0\377", 5);
    }
    assert_int_equal(tamis_guava_hash_code(mitz64, 682910755, 1129944640), 1398267376);
    assert_int_equal(tamis_guava_hash_code(mitz32, 682910755, 1221027335), 1903406237);
    assert_int_equal(tamis_guava_bit_count(mitz64), 14);
    assert_int_equal(tamis_guava_bit_count(mitz32), 13);
    tamis_guava_free(mitz64);
    tamis_guava_free(mitz32);
}

static void put_says_whether_bits_changed(void **state) {
    (void)state;
    tamis_guava *guava = made(2, 0.03);
    assert_false(might(guava, "foo"));
    assert_true(put_key(guava, "foo", 3));
    assert_false(put_key(guava, "foo", 3));
    assert_true(might(guava, "foo"));
    assert_true(put_key(guava, "", 0));
    assert_true(might(guava, ""));
    assert_int_equal(tamis_guava_put(guava, &(tamis_key){"bar", 3}, NULL, NULL), TAMIS_OK);
    assert_true(might(guava, "bar"));
    tamis_guava_free(guava);
}

/* Far beyond its capacity, until all bits are set. */
static void over_capacity(void **state) {
    (void)state;
    tamis_guava *guava = made(1, 0.03);
    int64_t count = 7;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_guava_approximate_element_count(guava, &count, &err), TAMIS_OK);
    assert_int_equal(count, 0);
    for (uint32_t i = 0; i < 5000; i++)
        put_key(guava, &i, sizeof i);
    assert_int_equal(tamis_guava_bit_count(guava), 64);
    assert_true(tamis_guava_expected_fpp(guava) == 1);
    assert_true(might(guava, "never put"));
    assert_int_equal(tamis_guava_approximate_element_count(guava, &count, &err), TAMIS_E_RANGE);
    says(&err, TAMIS_E_RANGE, "all 64 bits are set");
    assert_int_equal(count, 0);
    tamis_guava_free(guava);
}

/* ---- two filters ---- */

static void cannot_put_all(tamis_guava *into, const tamis_guava *from, tamis_status status,
                           const char *what) {
    tamis_error err = TAMIS_ERROR_INIT;
    uint64_t ones = tamis_guava_bit_count(into);
    assert_int_equal(tamis_guava_put_all(into, from, &err), status);
    says(&err, status, what);
    assert_int_equal(tamis_guava_bit_count(into), ones);
    assert_false(tamis_guava_is_compatible(into, from));
}

static void put_all_of_equal_filters_only(void **state) {
    (void)state;
    int here = 0;
    tamis_guava_options options = options_for(10, 0.01);
    tamis_guava *filter = made_with(&options), *equal = made_with(&options);
    options.strategy = TAMIS_SCHEME_GUAVA32;
    tamis_guava *strategy = made_with(&options);
    options.strategy = TAMIS_SCHEME_GUAVA64;
    options.funnel_context = &here;
    tamis_guava *context = made_with(&options);
    options.funnel_context = NULL;
    options.funnel = tamis_funnel_utf8;
    tamis_guava *funnel = made_with(&options);
    tamis_guava *size = made(20, 0.01), *functions = made(12, 0.02);
    assert_int_equal(tamis_guava_bit_size(functions), tamis_guava_bit_size(filter));
    assert_int_equal(tamis_guava_hash_functions(size), tamis_guava_hash_functions(filter));

    tamis_guava *others[] = {equal, strategy, context, funnel, size, functions};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        put_key(others[i], "foo", 3);
    cannot_put_all(filter, filter, TAMIS_E_INVALID, "itself");
    cannot_put_all(filter, functions, TAMIS_E_MISMATCH, "hash functions differ, 7 and 6");
    cannot_put_all(filter, size, TAMIS_E_MISMATCH, "bits differ, 128 and 192");
    cannot_put_all(filter, strategy, TAMIS_E_MISMATCH, "guava64 and guava32 differ");
    cannot_put_all(filter, funnel, TAMIS_E_MISMATCH, "funnels");
    cannot_put_all(filter, context, TAMIS_E_MISMATCH, "contexts");
    assert_true(tamis_guava_is_compatible(filter, equal));
    put_key(filter, "bar", 3);
    assert_int_equal(tamis_guava_put_all(filter, equal, NULL), TAMIS_OK);
    assert_true(might(filter, "foo") && might(filter, "bar"));
    assert_false(might(equal, "bar"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        tamis_guava_free(others[i]);
    tamis_guava_free(filter);
}

static void equality(void **state) {
    (void)state;
    tamis_guava_options options = options_for(10, 0.01);
    tamis_guava *filter = made_with(&options), *other = made_with(&options), *copy = NULL;
    options.funnel = tamis_funnel_utf8;
    tamis_guava *funnel = made_with(&options);
    assert_true(tamis_guava_equals(filter, filter));
    assert_true(tamis_guava_equals(filter, other));
    assert_false(tamis_guava_equals(filter, funnel));
    put_key(filter, "foo", 3);
    assert_false(tamis_guava_equals(filter, other));
    put_key(other, "foo", 3);
    assert_true(tamis_guava_equals(filter, other));

    assert_int_equal(tamis_guava_copy(&copy, filter, NULL), TAMIS_OK);
    assert_true(tamis_guava_equals(filter, copy) && tamis_guava_is_compatible(filter, copy));
    assert_int_equal(tamis_guava_hash_code(filter, 3, 4), tamis_guava_hash_code(copy, 3, 4));
    put_key(copy, "bar", 3);
    assert_true(might(copy, "foo") && might(copy, "bar"));
    assert_false(might(filter, "bar"));
    assert_false(tamis_guava_equals(filter, copy));
    tamis_guava_free(filter);
    assert_true(might(copy, "foo"));
    tamis_guava_free(copy);
    tamis_guava_free(other);
    tamis_guava_free(funnel);
}

/* ---- funnels ---- */

/* A person, of whom the funnel uses only the identifying fields. */
typedef struct person {
    const char *name;
    int32_t year;
    int visits;
} person;

static void person_funnel(tamis_sink *sink, const void *object, void *context) {
    const person *fields = object;
    ++*(int *)context;
    tamis_sink_put_int32(sink, fields->year);
    tamis_sink_put_text(sink, fields->name, strlen(fields->name));
}

static void a_funnel_of_the_callers(void **state) {
    (void)state;
    int calls = 0;
    bool contains = false;
    tamis_guava_options options = options_for(100, 0.001);
    options.funnel = person_funnel;
    options.funnel_context = &calls;
    tamis_guava *guava = made_with(&options);
    person ada = {"Ada", 1815, 1}, again = {"Ada", 1815, 2}, other = {"Ada", 1816, 1};
    assert_int_equal(tamis_guava_put(guava, &ada, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_guava_might_contain(guava, &again, &contains, NULL), TAMIS_OK);
    assert_true(contains);
    assert_int_equal(tamis_guava_might_contain(guava, &other, &contains, NULL), TAMIS_OK);
    assert_false(contains);
    assert_int_equal(calls, 3);
    tamis_guava_free(guava);
}

static void a_refused_value_is_not_put(void **state) {
    (void)state;
    tamis_guava_options options = options_for(10, 0.01);
    options.funnel = tamis_funnel_utf8;
    tamis_guava *guava = made_with(&options);
    tamis_key overlong = {"a\300\200", 3};
    bool answer = true;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_guava_put(guava, &overlong, &answer, &err), TAMIS_E_INVALID);
    assert_int_equal(tamis_guava_might_contain(guava, &overlong, &answer, NULL), TAMIS_E_INVALID);
    assert_true(answer);
    assert_int_equal(tamis_guava_bit_count(guava), 0);
    assert_true(put_key(guava, "\303\251", 2));
    tamis_guava_free(guava);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_that_guava_refuses),
        cmocka_unit_test(invalid_options),
        cmocka_unit_test(sizes_by_either_rule),
        cmocka_unit_test(options_of_an_older_program),
        cmocka_unit_test(the_largest_size),
        cmocka_unit_test(filters_of_guava),
        cmocka_unit_test(hash_codes_of_guava),
        cmocka_unit_test(put_says_whether_bits_changed),
        cmocka_unit_test(over_capacity),
        cmocka_unit_test(put_all_of_equal_filters_only),
        cmocka_unit_test(equality),
        cmocka_unit_test(a_funnel_of_the_callers),
        cmocka_unit_test(a_refused_value_is_not_put),
    };
    return cmocka_run_group_tests_name("guava", tests, NULL, NULL);
}
