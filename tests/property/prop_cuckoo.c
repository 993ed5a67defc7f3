/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind cuckoo, compared with a model: for each key the number of its adds less its removals. Keys are added and
 * removed at random, often more than once, up to full filters. No key with copies in the model is ever absent,
 * also if it looks like others, in filters that grow too. A filter from which all was removed has only the
 * copies that are kept for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "property/filter_model.h"

enum { KEYS = 4000, SOME_BITS = 100 };

static uint64_t random_state;

typedef struct model {
    tamis_filter *filter;
    tamis_hash hashes[KEYS];
    uint32_t copies[KEYS]; /* adds less removals */
    uint64_t added;        /* their sum */
    uint64_t refused;
    bool grows;
} model;

/* Keys whose positions are few, so that many look alike: only `spread` bits of each word differ. With SOME_BITS
 * there are few fingerprints, and first buckets that are equal in small tables only. */
static void make_hashes(model *m, uint32_t spread) {
    random_hashes(m->hashes, KEYS, filter_hasher_id(m->filter), 0, &random_state);
    for (size_t i = 0; i < KEYS && spread == SOME_BITS; i++) {
        m->hashes[i].word[0] &= UINT64_C(7) << 61;
        m->hashes[i].word[1] &= UINT64_C(0xfff) << 52;
    }
    for (size_t i = 0; i < KEYS && spread < 64; i++)
        for (size_t w = 0; w < 2; w++)
            m->hashes[i].word[w] = m->hashes[i].word[w] >> (64 - spread) << (64 - spread);
}

static void add_key(model *m, size_t key) {
    tamis_answer answer = TAMIS_UNKNOWN;
    const tamis_status status = tamis_filter_add_hashes(m->filter, &m->hashes[key], 1, &answer, NULL, NULL);
    if (status == TAMIS_E_FULL) {
        m->refused++;
        return;
    }
    assert_int_equal(status, TAMIS_OK);
    if (m->copies[key] > 0)
        assert_int_equal(answer, TAMIS_PRESENT);
    m->copies[key]++;
    m->added++;
}

static void remove_key(model *m, size_t key) {
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_int_equal(tamis_filter_remove_hashes(m->filter, &m->hashes[key], 1, &answer, NULL, NULL),
                     TAMIS_OK);
    assert_int_equal(answer, TAMIS_PRESENT);
    m->copies[key]--;
    m->added--;
}

static void check(const model *m) {
    static tamis_answer answers[KEYS];
    assert_int_equal(tamis_filter_contains_hashes(m->filter, m->hashes, KEYS, answers, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i < KEYS; i++)
        if (m->copies[i] > 0 && answers[i] != TAMIS_PRESENT)
            fail_msg("key %zu with %u copies is absent", i, m->copies[i]);
}

/* Adds more than it removes until the filter is full, or has been full and grown, then the other way round, and
 * so on. */
static void run(model *m, size_t rounds) {
    size_t adds = 70;
    for (size_t i = 0; i < rounds; i++) {
        const size_t key = test_below(&random_state, test_below(&random_state, 2) ? KEYS : KEYS / 8);
        const uint64_t refused = m->refused;
        if (test_below(&random_state, 100) < adds)
            add_key(m, key);
        else if (m->copies[key] > 0)
            remove_key(m, key);
        if (m->refused > refused || (m->grows && m->added > 7 * KEYS))
            adds = 30;
        else if (m->added < KEYS / 4)
            adds = 70;
        if (i % 500 == 0)
            check(m);
    }
    check(m);
}

static void no_key_with_copies_is_absent(void **state) {
    (void)state;
    static const struct {
        double fpr;
        uint64_t expect;
        uint32_t spread;
    } cases[] = {{0.05, KEYS, 64}, {0.05, KEYS, 7}, {1e-9, KEYS, 64}, {1e-4, 3 * KEYS, 7}, {1e-4, 20, 64},
                 {0.5, 0, 64},     {0.5, 0, 12},    {1e-9, 0, 64},    {0.5, 0, SOME_BITS}};
    static model m;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool grows = cases[i].expect == 0;
        const filter_case c = {"cuckoo", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_XXH3, grows, cases[i].fpr};
        m = (model){.filter = case_filter(&c, cases[i].expect), .grows = grows};
        make_hashes(&m, cases[i].spread);
        run(&m, (size_t)model_scale(100000, 8000));
        for (size_t key = 0; key < KEYS; key++)
            while (m.copies[key] > 0)
                remove_key(&m, key);
        /* What is left are copies that are kept for ever: there are four of each in one table. */
        const uint64_t kept = filter_info(m.filter).added;
        if (!grows)
            assert_int_equal(kept % 4, 0);
        else
            assert_true(filter_info(m.filter).subfilters > 1);
        printf("%g, %" PRIu64 " keys: refused %" PRIu64 ", kept for ever %" PRIu64 "\n", cases[i].fpr,
               cases[i].expect, m.refused, kept);
        tamis_filter_free(m.filter);
    }
}

/* The measured rate is that of the plan, with all keys and after half of them were removed. */
static void rates_are_those_of_the_plan(void **state) {
    (void)state;
    static const double rates[] = {0.05, 1e-2, 1e-3};
    const uint64_t keys = model_scale(200000, 20000), queries = model_scale(2000000, 200000);
    const uint64_t salt = test_random(&random_state);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const filter_case c = {"cuckoo", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_XXH3, false, rates[i]};
        tamis_filter *filter = case_filter(&c, keys);
        const double predicted = tamis_filter_plan(filter)->fpr_predicted;
        model_add_range(filter, 0, keys, salt, NULL);
        for (int half = 0; half < 2; half++) {
            const double expected = (double)queries * filter_info(filter).fpr_live;
            const uint64_t hits = model_count_present(filter, UINT64_C(1) << 40, queries, salt);
            printf("rate %g: %" PRIu64 " false positives, %.1f expected\n", rates[i], hits, expected);
            assert_true(within_sigmas((double)hits, expected, sqrt(expected), 6));
            assert_true(filter_info(filter).fpr_live <= predicted / (half ? 1.9 : 1) * (1 + 1e-9));
            for (uint64_t key = 0; key < keys && !half; key += 2) {
                model_batch b = {.count = 0};
                batch_put(&b, key, salt);
                assert_int_equal(tamis_filter_remove_many(filter, b.key, 1, NULL, NULL, NULL), TAMIS_OK);
            }
        }
        tamis_filter_free(filter);
    }
}

/* The computed rate of several tables is the measured one, and the promise holds however much the filter grows.
 * Each table takes its capacity: none is added earlier. */
static void growing_filters_keep_the_rate(void **state) {
    (void)state;
    static const double rates[] = {0.2, 1e-2};
    const uint64_t keys = model_scale(1000000, 60000), queries = model_scale(2000000, 200000);
    const uint64_t salt = test_random(&random_state);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const filter_case c = {"cuckoo", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_XXH3, true, rates[i]};
        tamis_filter *filter = case_filter(&c, 0);
        uint64_t tables = 1, capacity = 3800, added = 0;
        for (uint64_t step = keys / 50; added < keys; added += step) {
            model_add_range(filter, added, step, salt, NULL);
            while (added + step > capacity * ((UINT64_C(1) << tables) - 1))
                tables++;
            assert_true(filter_info(filter).subfilters <= tables);
        }
        const tamis_filter_info info = filter_info(filter);
        const double expected = (double)queries * info.fpr_live;
        const uint64_t hits = model_count_present(filter, UINT64_C(1) << 40, queries, salt);
        printf("rate %g: %" PRIu32 " tables, %" PRIu64 " false positives, %.1f expected\n", rates[i],
               info.subfilters, hits, expected);
        assert_true(within_sigmas((double)hits, expected, sqrt(expected), 6));
        assert_true(info.fpr_live < rates[i] * info.subfilters / 32 * 1.01);
        assert_int_equal(info.added, added);
        assert_int_equal(model_count_present(filter, 0, added, salt), added);
        assert_true(info.false_present >= 0 && info.false_present < (double)added * info.fpr_live);
        tamis_filter_free(filter);
    }
}

/* Every plan takes the keys that it was made for. */
static void planned_numbers_of_keys_fit(void **state) {
    (void)state;
    for (uint64_t keys = 1; keys < model_scale(3000, 300); keys += 1 + keys / 16)
        for (int round = 0; round < 4; round++) {
            const filter_case c = {"cuckoo", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_XXH3, false, 1e-3};
            tamis_filter *filter = case_filter(&c, keys);
            model_add_range(filter, 0, keys, test_random(&random_state), NULL);
            tamis_filter_free(filter);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_with_copies_is_absent),
        cmocka_unit_test(rates_are_those_of_the_plan),
        cmocka_unit_test(growing_filters_keep_the_rate),
        cmocka_unit_test(planned_numbers_of_keys_fit),
    };
    random_state = model_seed(26);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
