/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind counting, compared with an exact multiset over random adds and removals. Some keys are added so often
 * that their counters are saturated. A key that is in the multiset is never absent, and its count is never
 * too small. After churn the rate is still the promised one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tamis/experimental/audit.h>

#include "filter/bloom/bloom_int.h"
#include "property/filter_model.h"

static uint64_t seed;

/* ---- against a multiset ---- */

enum { IDS = 4000, FREQUENT = 40 };

/* How often each number is in the filter. The first FREQUENT numbers are chosen far more often. */
typedef struct multiset {
    tamis_filter *filter;
    uint32_t count[IDS];
    bool saturated[IDS]; /* was added 15 times at once: its counters stay */
    uint64_t random;
    model_batch batch;
} multiset;

static uint64_t random_id(multiset *m) {
    return test_below(&m->random, test_below(&m->random, 4) ? IDS : FREQUENT);
}

static void add_some(multiset *m) {
    model_batch *b = &m->batch;
    const size_t count = 1 + (size_t)test_below(&m->random, MODEL_BATCH);
    b->count = 0;
    while (b->count < count)
        batch_put(b, random_id(m), seed);
    assert_int_equal(tamis_filter_add_many(m->filter, b->key, count, b->answer, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i < count; i++) {
        if (m->count[b->id[i]] > 0 && b->answer[i] != TAMIS_PRESENT)
            fail_msg("an added key was absent");
        m->count[b->id[i]]++;
        m->saturated[b->id[i]] = m->saturated[b->id[i]] || m->count[b->id[i]] >= 15;
    }
}

/* Removes keys that are in the multiset, equal ones in one batch too. */
static void remove_some(multiset *m) {
    model_batch *b = &m->batch;
    const size_t tries = 1 + (size_t)test_below(&m->random, MODEL_BATCH);
    b->count = 0;
    for (size_t i = 0; i < tries; i++) {
        const uint64_t id = random_id(m);
        if (m->count[id] > 0) {
            m->count[id]--;
            batch_put(b, id, seed);
        }
    }
    size_t done = 0;
    assert_int_equal(tamis_filter_remove_many(m->filter, b->key, b->count, b->answer, &done, NULL), TAMIS_OK);
    assert_int_equal(done, b->count);
    for (size_t i = 0; i < b->count; i++)
        if (b->answer[i] != TAMIS_PRESENT)
            fail_msg("a key of the multiset could not be removed");
}

static uint64_t count_of(const tamis_filter *filter, const tamis_key *key) {
    uint64_t count = UINT64_MAX;
    assert_int_equal(tamis_filter_count_key(filter, key->data, key->size, &count, NULL), TAMIS_OK);
    return count;
}

static void check_every_key(multiset *m) {
    model_batch *b = &m->batch;
    for (uint64_t from = 0; from < IDS; from += b->count) {
        b->count = 0;
        while (b->count < MODEL_BATCH && from + b->count < IDS)
            batch_put(b, from + b->count, seed);
        tamis_filter_contains_many(m->filter, b->key, b->count, b->answer, NULL, NULL);
        for (size_t i = 0; i < b->count; i++) {
            const uint64_t id = b->id[i];
            const uint32_t min = m->saturated[id] || m->count[id] > 15 ? 15 : m->count[id];
            const uint64_t counted = count_of(m->filter, &b->key[i]);
            if (counted < min || (b->answer[i] == TAMIS_PRESENT) != (counted > 0))
                fail_msg("key %" PRIu64 ": count %" PRIu64 ", added %" PRIu32 " times more than removed", id,
                         counted, m->count[id]);
        }
    }
}

/* Removes everything. What is left are saturated counters. */
static void empty(multiset *m) {
    model_batch *b = &m->batch;
    b->count = 0;
    for (uint64_t id = 0; id < IDS; id += m->count[id] == 0) {
        if (m->count[id] > 0) {
            m->count[id]--;
            batch_put(b, id, seed);
        }
        if (b->count == MODEL_BATCH || (id == IDS - 1 && m->count[id] == 0)) {
            assert_int_equal(tamis_filter_remove_many(m->filter, b->key, b->count, NULL, NULL, NULL),
                             TAMIS_OK);
            b->count = 0;
        }
    }
    const tamis_filter_info info = filter_info(m->filter);
    assert_int_equal(info.ones, info.counters_saturated);
}

static void a_multiset_is_never_missed(void **state) {
    (void)state;
    static multiset m;
    static const double rates[] = {0.2, 0.01, 1e-4};
    bool any_saturated = false;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        filter_case c = {"counting", TAMIS_KIND_COUNTING, TAMIS_SCHEME_XXH3, false, rates[i]};
        memset(&m, 0, sizeof m);
        m.filter = case_filter(&c, IDS);
        m.random = seed + i;
        for (uint64_t round = 0; round < model_scale(3000, 300); round++) {
            if (test_below(&m.random, 32) < 16 + (round % 64 < 32))
                add_some(&m);
            else
                remove_some(&m);
            if (round % 10 == 0)
                check_every_key(&m);
        }
        check_every_key(&m);
        any_saturated = any_saturated || filter_info(m.filter).counters_saturated > 0;
        empty(&m);
        check_every_key(&m);
        tamis_filter_free(m.filter);
    }
    assert_true(any_saturated);
}

/* ---- the rate after churn ---- */

/* Replaces every key of a full filter twice over. */
static void the_rate_and_the_count_survive_churn(void **state) {
    (void)state;
    static const double rates[] = {0.1, 0.01, 1e-3, 1e-5};
    static model_batch batch;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const uint64_t n = model_scale(200000, 20000), chunk = n / 50;
        filter_case c = {"counting", TAMIS_KIND_COUNTING, TAMIS_SCHEME_XXH3, false, rates[i]};
        /* Adds and removals of the churn err equally often. */
        const double off = sqrt(2 * 4 * (double)n * rates[i]) + 1;
        const tamis_plan plan = case_plan(&c, n + chunk + (uint64_t)(6 * off), 0);
        tamis_filter *filter = plan_filter(&plan, NULL);
        uint64_t first = 0, end = n;
        model_add_range(filter, 0, n, seed, NULL);
        const uint64_t added = filter_info(filter).added;
        for (; first < 2 * n; end += chunk) {
            model_add_range(filter, end, chunk, seed, NULL);
            for (uint64_t left = chunk; left > 0; left -= batch.count, first += batch.count) {
                batch.count = 0;
                while (batch.count < MODEL_BATCH && batch.count < left)
                    batch_put(&batch, first + batch.count, seed);
                assert_int_equal(
                    tamis_filter_remove_many(filter, batch.key, batch.count, batch.answer, NULL, NULL),
                    TAMIS_OK);
                for (size_t j = 0; j < batch.count; j++)
                    assert_int_equal(batch.answer[j], TAMIS_PRESENT);
            }
        }
        assert_int_equal(model_count_present(filter, first, end - first, seed), end - first);
        const uint64_t queries = model_scale(1000000, 200000);
        const uint64_t hits = model_count_present(filter, end, queries, seed);
        const tamis_filter_info info = filter_info(filter);
        const double max = tamis_audit_max_rate(&plan, plan.fpr, (double)n);
        if (tamis_rate_p_value(hits, queries, max) < TAMIS_RATE_SIGNIFICANCE)
            fail_msg("rate %g: %" PRIu64 " false positives in %" PRIu64, rates[i], hits, queries);
        const double expected = info.fpr_live * (double)queries;
        if (!within_sigmas((double)hits, expected, sqrt(expected) + 1, 5))
            fail_msg("rate %g: %" PRIu64 " false positives, fpr_live says %g", rates[i], hits, info.fpr_live);
        if (!within_sigmas((double)info.added, (double)added, off, 5))
            fail_msg("rate %g: %" PRIu64 " keys, and %" PRIu64 " before the churn", rates[i], info.added,
                     added);
        assert_int_equal(info.counters_saturated, 0);
        tamis_filter_free(filter);
    }
}

int main(void) {
    seed = model_seed(20261128);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_multiset_is_never_missed),
        cmocka_unit_test(the_rate_and_the_count_survive_churn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
