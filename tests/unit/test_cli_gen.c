/* SPDX-License-Identifier: BSD-2-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* The command is not a library, so the tested file is compiled in. */
#include "cli/cmd/gen/gen_record.c"

enum { RECORDS = 200000 };

static gen_source *source_of(uint64_t seed, double share) {
    gen_source *source = malloc(sizeof *source);

    assert_non_null(source);
    gen_source_init(source, seed, share);
    return source;
}

/* Returns the sum of (seen - expected)^2 / expected over `count` equally likely cells. */
static double chi_square(const uint64_t *present, size_t count) {
    double total = 0, sum = 0;

    for (size_t i = 0; i < count; i++)
        total += (double)present[i];
    for (size_t i = 0; i < count; i++)
        sum += pow((double)present[i] - total / (double)count, 2) / (total / (double)count);
    return sum;
}

/* The mean is count - 1, the standard deviation sqrt(2 (count - 1)); allows five of them. The seed is
 * fixed. */
static void assert_uniform(const uint64_t *present, size_t count) {
    double free_cells = (double)count - 1, found = chi_square(present, count);

    if (found > free_cells + 5 * sqrt(2 * free_cells))
        fail_msg("chi square %g of %zu cells", found, count);
}

static void words_are_uniform(void **state) {
    gen_source *source = source_of(7, 0);
    uint64_t lengths[9] = {0}, letters[12][26] = {{0}};
    char record[GEN_RECORD_MAX];
    (void)state;
    for (uint64_t i = 0; i < RECORDS; i++) {
        size_t size = (size_t)(gen_word(source, i, record) - record) - 1;
        assert_true(size >= 4 && size <= 12);
        assert_int_equal(record[size], '\n');
        lengths[size - 4]++;
        for (size_t pos = 0; pos < size; pos++)
            letters[pos][record[pos] - 'a']++;
    }
    assert_uniform(lengths, 9);
    for (size_t pos = 0; pos < 12; pos++)
        assert_uniform(letters[pos], 26);
    free(source);
}

static void urls_have_their_lengths(void **state) {
    gen_source *source = source_of(7, 0);
    uint64_t lengths[41] = {0};
    char record[GEN_RECORD_MAX];
    (void)state;
    for (uint64_t i = 0; i < RECORDS; i++) {
        size_t size = (size_t)(gen_url(source, i, record) - record) - 1;
        assert_true(size >= 60 && size <= 100);
        lengths[size - 60]++;
        for (size_t pos = 0; pos < size; pos++)
            assert_true(record[pos] > ' ' && record[pos] < 127);
        assert_memory_equal(record, "http", 4);
        assert_memory_equal(record + size - 20, "?id=", 4);
    }
    assert_uniform(lengths, 41);
    free(source);
}

static int compare_words(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

static uint64_t distinct_roots(const gen_source *source, uint64_t count) {
    uint64_t *states = malloc(count * sizeof *states), distinct = 0;

    assert_non_null(states);
    for (uint64_t i = 0; i < count; i++)
        states[i] = state_of(source, root_of(source, i));
    qsort(states, count, sizeof *states, compare_words);
    for (uint64_t i = 0; i < count; i++)
        distinct += i == 0 || states[i] != states[i - 1];
    free(states);
    return distinct;
}

static void shares_are_as_requested(void **state) {
    static const double shares[] = {0, 0.001, 0.2, 0.5, 0.9, 1};
    (void)state;
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        gen_source *source = source_of(11, shares[i]);
        double absent = (RECORDS - 1) * (1 - shares[i]) + 1;
        double spread = sqrt(RECORDS * shares[i] * (1 - shares[i]));
        assert_true(fabs((double)distinct_roots(source, RECORDS) - absent) <= 5 * spread);
        free(source);
    }
}

static void duplicates_come_from_everywhere_before(void **state) {
    gen_source *source = source_of(3, 1);
    uint64_t cells[10] = {0};
    (void)state;
    for (uint64_t i = 1000; i < RECORDS; i++) {
        uint64_t earlier = multiply_high(draw(state_of(source, i), DRAW_EARLIER), i);
        assert_true(earlier < i);
        cells[earlier * 10 / i]++;
    }
    assert_uniform(cells, 10);
    free(source);
}

static void multiplies_high(void **state) {
    (void)state;
    assert_int_equal(multiply_high(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
    assert_int_equal(multiply_high(UINT64_MAX, 1), 0);
    assert_int_equal(multiply_high(UINT64_C(1) << 63, 6), 3);
    assert_int_equal(multiply_high(UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210)),
                     UINT64_C(0x121fa00ad77d7422));
}

static void clicks_repeat_only_their_event(void **state) {
    gen_source *source = source_of(5, 1);
    char first[GEN_RECORD_MAX], again[GEN_RECORD_MAX];
    size_t head = sizeof "{\"event_id\":\"" - 1 + 36;
    (void)state;
    /* Share 1: every record repeats the first one. */
    *gen_click(source, 0, first) = '\0';
    *gen_click(source, 12345, again) = '\0';
    assert_memory_equal(first, again, head);
    assert_string_not_equal(first, again);
    assert_int_equal(first[13 + 14], '4');
    assert_non_null(strchr("89ab", first[13 + 19]));
    assert_non_null(strstr(again, "\"ts\":1704067212345,"));
    free(source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_uniform),       cmocka_unit_test(urls_have_their_lengths),
        cmocka_unit_test(shares_are_as_requested), cmocka_unit_test(duplicates_come_from_everywhere_before),
        cmocka_unit_test(multiplies_high),         cmocka_unit_test(clicks_repeat_only_their_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
