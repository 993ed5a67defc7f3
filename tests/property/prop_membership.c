/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * No false negative, ever: every kind, compared with an exact set of numbers. About 10^8 operations at scale
 * full (TAMIS_TEST_SCALE).
 */
/* ctest: timeout=900 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "property/filter_model.h"
#include "support/contains.h"
#include "support/fault.h"

static uint64_t seed;
static uint64_t operations;

/* ---- a set of numbers ---- */

typedef struct oracle {
    uint64_t *words;
    uint64_t size;
} oracle;

static oracle oracle_of(uint64_t size) {
    oracle set = {calloc(size / 64 + 1, 8), size};
    assert_non_null(set.words);
    return set;
}

static bool oracle_has(const oracle *set, uint64_t id) {
    return id < set->size && (set->words[id / 64] >> id % 64 & 1);
}

static void oracle_put(oracle *set, uint64_t id) {
    set->words[id / 64] |= UINT64_C(1) << id % 64;
}

/* ---- a random walk of adds and lookups ---- */

typedef struct walk {
    tamis_filter *filter;
    oracle in; /* added numbers, of 0 to n-1 */
    uint64_t n;
    uint64_t next; /* the least number not added yet */
    uint64_t random;
    uint64_t salt;
    uint64_t absent_adds; /* adds answered TAMIS_ABSENT */
    uint64_t lost;        /* added keys answered TAMIS_ABSENT: must stay 0 */
    uint64_t absent;      /* answers about keys that were not added */
    uint64_t mistaken;    /* of these, answered TAMIS_PRESENT */
    model_batch batch;
} walk;

static uint64_t walk_add_id(walk *w) {
    const model_batch *b = &w->batch;
    uint64_t dice = test_below(&w->random, 16);
    if (dice == 0 && b->count)
        return b->id[test_below(&w->random, b->count)]; /* repeated in this batch */
    if (dice < 6 || w->next == w->n)
        return test_below(&w->random, w->next ? w->next : 1);
    return w->next++;
}

static size_t walk_batch_size(walk *w) {
    uint64_t bound = test_below(&w->random, 2) ? MODEL_BATCH : 10;
    return 1 + (size_t)test_below(&w->random, bound);
}

/* Compares the answers in order, as if the keys had been added one by one. */
static void walk_judge(walk *w, bool added) {
    const model_batch *b = &w->batch;
    for (size_t i = 0; i < b->count; i++) {
        bool in = oracle_has(&w->in, b->id[i]), found = b->answer[i] == TAMIS_PRESENT;
        w->lost += in && !found;
        w->absent += !in;
        w->mistaken += !in && found;
        w->absent_adds += added && !found;
        if (added)
            oracle_put(&w->in, b->id[i]);
    }
    operations += b->count;
}

static void walk_add(walk *w) {
    model_batch *b = &w->batch;
    size_t size = walk_batch_size(w), done = 0;
    b->count = 0;
    while (b->count < size)
        batch_put(b, walk_add_id(w), w->salt);
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_filter_add_many(w->filter, b->key, size, b->answer, &done, &err) != TAMIS_OK)
        fail_msg("add at %" PRIu64 " of %" PRIu64 ": %s", w->next, w->n, err.text);
    assert_int_equal(done, size);
    walk_judge(w, true);
}

/* Half of the lookups are of keys that are never added, from a range so large that none is repeated. */
static void walk_query(walk *w) {
    model_batch *b = &w->batch;
    size_t size = walk_batch_size(w);
    b->count = 0;
    while (b->count < size)
        batch_put(b,
                  test_below(&w->random, 2) ? test_below(&w->random, w->n)
                                            : w->n + (test_random(&w->random) >> 20),
                  w->salt);
    tamis_filter_contains_many(w->filter, b->key, size, b->answer, NULL, NULL);
    walk_judge(w, false);
}

static void walk_run(walk *w, uint64_t min_operations) {
    uint64_t end = operations + min_operations;
    while (w->next < w->n || operations < end) {
        walk_add(w);
        if (test_below(&w->random, 3) == 0)
            walk_query(w);
    }
}

/* Guava's positions collapse at sizes that are powers of two, which are likely only among small sizes. DCSO's
 * positions are close together for keys that differ in their last byte only. */
static bool rate_is_promised(const filter_case *c, uint64_t n) {
    if (!case_is_of_other_program(c))
        return true;
    return case_has_digest(c) && n >= (c->scheme == TAMIS_SCHEME_FNV_DCSO ? 100000 : 1000);
}

static void membership_of(const filter_case *c, uint64_t n, uint64_t salt) {
    static walk w;
    w = (walk){.filter = case_filter(c, n), .in = oracle_of(n), .n = n, .random = salt, .salt = salt};
    walk_run(&w, n);
    uint64_t present = model_count_present(w.filter, 0, n, salt);
    operations += n;
    tamis_filter_info info = filter_info(w.filter);
    /* With few keys, chance decides how many bits are set. fpr_live is the rate of this filter. */
    double rate = fmax(tamis_filter_plan(w.filter)->fpr_predicted, info.fpr_live);

    if (w.lost || present != n)
        fail_msg("%s, n = %" PRIu64 ": %" PRIu64 " false negatives in the walk, %" PRIu64
                 " keys lost at its end",
                 c->name, n, w.lost, n - present);
    assert_int_equal(info.added, w.absent_adds);
    assert_false(info.saturated);
    if (rate_is_promised(c, n) && (double)w.mistaken > max_events((double)w.absent * rate))
        fail_msg("%s, n = %" PRIu64 ": %" PRIu64 " false positives in %" PRIu64 ", at a rate of %g", c->name,
                 n, w.mistaken, w.absent, rate);
    free(w.in.words);
    tamis_filter_free(w.filter);
}

static void no_key_is_ever_lost(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 2, 3, 7, 10, 64, 100, 511, 1000, 10000, 100000, 300000, 1000000};
    uint64_t max = model_full() ? 300000 : 10000; /* tables grow from about 200000 on */
    if (test_is_torture())
        max = 1000000;
    for (int i = 0; i < FILTER_CASES; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes && sizes[j] <= max; j++)
            for (uint64_t round = 0; round < 1 + 100 / sizes[j]; round++)
                membership_of(&filter_cases[i], sizes[j], seed + round);
}

static void no_key_is_ever_lost_in_large_filters(void **state) {
    (void)state;
    uint64_t rounds = model_scale(1, 0);
    for (uint64_t round = 0; round < rounds; round++)
        for (int i = 0; i < FILTER_CASES; i += model_full() ? 3 : 1)
            membership_of(&filter_cases[i], model_scale(600000, 0), seed + round);
    if (rounds == 0) /* a growing table grows from about 200000 keys on */
        membership_of(&filter_cases[9], 250000, seed);
    printf("%" PRIu64 " operations\n", operations);
}

/* ---- batches ---- */

/* Adds keys 0, 1, ... with repetitions, in batches of `size`. */
static void add_in_batches(tamis_filter *filter, const tamis_key *keys, size_t count, size_t size,
                           tamis_answer *answers) {
    for (size_t start = 0; start < count; start += size) {
        size_t batch = count - start < size ? count - start : size, done = 0;
        assert_int_equal(tamis_filter_add_many(filter, keys + start, batch, answers + start, &done, NULL),
                         TAMIS_OK);
        assert_int_equal(done, batch);
    }
}

enum { CUT_KEYS = 6000 };

typedef struct cut_keys {
    uint64_t id[CUT_KEYS];
    tamis_key key[CUT_KEYS];
} cut_keys;

static void cut_keys_make(cut_keys *k) {
    uint64_t random = seed;
    for (size_t i = 0; i < CUT_KEYS; i++) {
        k->id[i] = test_below(&random, 4000);
        k->key[i] = (tamis_key){&k->id[i], sizeof k->id[i]};
    }
}

static void batches_do_not_change_answers(void **state) {
    (void)state;
    static const size_t sizes[] = {2, 3, 63, 64, 65, 127, 128, 129, 1000, CUT_KEYS};
    static cut_keys k;
    static tamis_answer first[CUT_KEYS], other[CUT_KEYS];
    cut_keys_make(&k);
    for (int i = 0; i < FILTER_CASES; i++) {
        tamis_filter *single = case_filter(&filter_cases[i], 4000);
        for (size_t j = 0; j < CUT_KEYS; j++)
            assert_int_equal(tamis_filter_add(single, k.key[j].data, k.key[j].size, &first[j], NULL),
                             TAMIS_OK);
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            tamis_filter *many = case_filter(&filter_cases[i], 4000);
            add_in_batches(many, k.key, CUT_KEYS, sizes[j], other);
            assert_memory_equal(first, other, CUT_KEYS);
            assert_int_equal(filter_info(single).added, filter_info(many).added);
            assert_true(filter_info(single).fpr_live == filter_info(many).fpr_live);
            tamis_filter_free(many);
        }
        tamis_filter_free(single);
    }
}

static void hashes_are_as_good_as_keys(void **state) {
    (void)state;
    static cut_keys k;
    static tamis_hash hashes[CUT_KEYS];
    static tamis_answer by_key[CUT_KEYS], by_hash[CUT_KEYS];
    cut_keys_make(&k);
    for (int i = 0; i < FILTER_CASES; i++) {
        if (!case_has_digest(&filter_cases[i]))
            continue;
        tamis_filter *keyed = case_filter(&filter_cases[i], 4000),
                     *hashed = case_filter(&filter_cases[i], 4000);
        tamis_filter *mute = case_filter(&filter_cases[i], 4000);
        tamis_hash_many(tamis_filter_hasher(keyed), k.key, CUT_KEYS, hashes, NULL);
        add_in_batches(keyed, k.key, CUT_KEYS, 777, by_key);
        size_t done = 0;
        assert_int_equal(tamis_filter_add_hashes(hashed, hashes, CUT_KEYS, by_hash, &done, NULL), TAMIS_OK);
        assert_int_equal(done, CUT_KEYS);
        assert_memory_equal(by_key, by_hash, CUT_KEYS);
        assert_int_equal(tamis_filter_add_hashes(mute, hashes, CUT_KEYS, NULL, NULL, NULL), TAMIS_OK);
        assert_int_equal(filter_info(mute).added, filter_info(keyed).added);
        for (size_t j = 0; j < CUT_KEYS; j++)
            k.id[j] += 2000; /* half of them added, half not */
        tamis_hash_many(tamis_filter_hasher(keyed), k.key, CUT_KEYS, hashes, NULL);
        tamis_filter_contains_many(keyed, k.key, CUT_KEYS, by_key, NULL, NULL);
        assert_int_equal(tamis_filter_contains_hashes(mute, hashes, CUT_KEYS, by_hash, NULL, NULL), TAMIS_OK);
        assert_memory_equal(by_key, by_hash, CUT_KEYS);
        for (size_t j = 0; j < CUT_KEYS; j++)
            assert_int_equal(contains_key(hashed, k.key[j].data, k.key[j].size), by_key[j] == TAMIS_PRESENT);
        for (size_t j = 0; j < CUT_KEYS; j++)
            k.id[j] -= 2000;
        tamis_filter_free(keyed);
        tamis_filter_free(hashed);
        tamis_filter_free(mute);
    }
}

/* ---- growth: hashes of one partition, which grows as the table would with 256 times the keys ---- */

typedef struct growth_case {
    tamis_kind kind;
    double fpr;
} growth_case;

static const growth_case growth_cases[] = {
    {TAMIS_KIND_FINGERPRINT, 1e-4},  {TAMIS_KIND_FINGERPRINT, 1e-7},  {TAMIS_KIND_FINGERPRINT, 1e-9},
    {TAMIS_KIND_FINGERPRINT, 1e-12}, {TAMIS_KIND_FINGERPRINT, 1e-17}, {TAMIS_KIND_FINGERPRINT, 1e-26},
    {TAMIS_KIND_EXACT, 0},
};
enum { GROWTH_CASES = sizeof growth_cases / sizeof *growth_cases };

static tamis_filter *growing_filter(const growth_case *g, uint64_t memory) {
    filter_case c = {"growing", g->kind, TAMIS_SCHEME_XXH3, true, g->fpr};
    tamis_plan plan = case_plan(&c, 0, memory);
    return plan_filter(&plan, NULL);
}

/* Looks up each stored hash: all are present. No more other hashes, near and far, are present than expected.
 * */
static void check_all_found(const tamis_filter *filter, const tamis_hash *hashes, size_t count) {
    tamis_answer *answers = malloc(count);
    assert_non_null(answers);
    assert_int_equal(tamis_filter_contains_hashes(filter, hashes, count, answers, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i < count; i++)
        if (answers[i] != TAMIS_PRESENT)
            fail_msg("hash %zu of %zu (%016" PRIx64 " %016" PRIx64 ") is lost", i, count, hashes[i].word[1],
                     hashes[i].word[0]);
    free(answers);
}

static void growth_loses_nothing(void **state) {
    (void)state;
    size_t count = (size_t)model_scale(300000, 30000);
    tamis_hash *hashes = malloc(count * sizeof *hashes);
    tamis_answer *answers = malloc(count);
    assert_true(hashes && answers);
    for (int i = 0; i < GROWTH_CASES; i++) {
        uint64_t random = seed + (uint64_t)i;
        tamis_filter *filter = growing_filter(&growth_cases[i], 0);
        random_hashes(hashes, count, filter_hasher_id(filter), 8, &random);
        size_t checked = 1000;
        for (size_t start = 0, batch; start < count; start += batch) {
            batch = 1 + (size_t)test_below(&random, 1000);
            batch = count - start < batch ? count - start : batch;
            size_t done = 0;
            assert_int_equal(
                tamis_filter_add_hashes(filter, hashes + start, batch, answers + start, &done, NULL),
                TAMIS_OK);
            assert_int_equal(done, batch);
            if (start + batch > checked) { /* all of them, at growing sizes */
                check_all_found(filter, hashes, start + batch);
                checked += checked / 2;
            }
        }
        check_all_found(filter, hashes, count);
        uint64_t mistaken = 0;
        for (size_t j = 0; j < count; j++)
            mistaken += answers[j] == TAMIS_PRESENT;
        assert_int_equal(filter_info(filter).added, count - mistaken);
        /* false_present is correct only for hashes spread over all 256 partitions. */
        assert_true((double)mistaken <= max_events(256 * filter_info(filter).false_present));
        tamis_filter_free(filter);
    }
    free(hashes);
    free(answers);
}

/* Growth depends on the order of insertions only: batches of any size leave the same table. */
static void growth_does_not_depend_on_batches(void **state) {
    (void)state;
    enum { COUNT = 40000 };
    static tamis_hash hashes[COUNT], near[COUNT];
    static tamis_answer expected[COUNT], got[COUNT];
    for (int i = 0; i < GROWTH_CASES; i++) {
        uint64_t random = seed;
        tamis_filter *single = growing_filter(&growth_cases[i], 0),
                     *many = growing_filter(&growth_cases[i], 0);
        random_hashes(hashes, COUNT, filter_hasher_id(single), 7, &random);
        for (size_t j = 0; j < COUNT; j++) {
            if (j % 5 == 4)
                hashes[j] = hashes[test_below(&random, j)];
            near[j] = hashes[j];
            near[j].word[test_below(&random, 2)] ^= UINT64_C(1) << test_below(&random, 40);
        }
        for (size_t j = 0; j < COUNT; j++)
            assert_int_equal(tamis_filter_add_hashes(single, &hashes[j], 1, &expected[j], NULL, NULL),
                             TAMIS_OK);
        assert_int_equal(tamis_filter_add_hashes(many, hashes, COUNT, got, NULL, NULL), TAMIS_OK);
        assert_memory_equal(expected, got, COUNT);
        assert_int_equal(filter_info(single).memory_peak, filter_info(many).memory_peak);
        assert_true(filter_info(single).fpr_live == filter_info(many).fpr_live);
        assert_int_equal(tamis_filter_contains_hashes(single, near, COUNT, expected, NULL, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_contains_hashes(many, near, COUNT, got, NULL, NULL), TAMIS_OK);
        assert_memory_equal(expected, got, COUNT);
        tamis_filter_free(single);
        tamis_filter_free(many);
    }
}

/* ---- full ---- */

enum { UNTOUCHED = 0x77 };

/* Adds `count` new keys in one batch to a filter that can take some of them. Returns how many it took. */
static size_t fill_up(tamis_filter *filter, uint64_t from, size_t count, uint64_t salt) {
    static model_batch b;
    b.count = 0;
    while (b.count < count)
        batch_put(&b, from + b.count, salt);
    memset(b.answer, UNTOUCHED, sizeof b.answer);
    tamis_error err = TAMIS_ERROR_INIT;
    size_t done = SIZE_MAX;
    tamis_status status = tamis_filter_add_many(filter, b.key, count, b.answer, &done, &err);
    assert_true(done <= count);
    for (size_t i = 0; i < count; i++)
        assert_true(i < done ? b.answer[i] <= TAMIS_PRESENT : b.answer[i] == UNTOUCHED);
    assert_int_equal(status, done < count ? TAMIS_E_FULL : TAMIS_OK);
    if (done < count) {
        assert_int_equal(err.status, TAMIS_E_FULL);
        assert_non_null(strstr(err.text, "full"));
        assert_true(filter_info(filter).saturated);
        assert_false(contains_key(filter, b.key[done].data, b.key[done].size));
    }
    return done;
}

/* A full filter still finds its keys, and still refuses others with TAMIS_E_FULL. */
static void check_full(tamis_filter *filter, uint64_t in, uint64_t salt) {
    uint64_t added = filter_info(filter).added;
    assert_int_equal(model_count_present(filter, 0, in, salt), in);
    static model_batch b;
    b.count = 0;
    while (b.count < 100 && b.count < in)
        batch_put(&b, in - 1 - b.count, salt);
    size_t present = b.count, done = 0;
    batch_put(&b, in, salt); /* the refused key */
    for (int retry = 0; retry < 3; retry++) {
        assert_int_equal(tamis_filter_add_many(filter, b.key, b.count, b.answer, &done, NULL), TAMIS_E_FULL);
        assert_int_equal(done, present);
        for (size_t i = 0; i < present; i++)
            assert_int_equal(b.answer[i], TAMIS_PRESENT);
    }
    assert_int_equal(filter_info(filter).added, added);
    tamis_answer answer = UNTOUCHED;
    assert_int_equal(tamis_filter_add(filter, b.key[present].data, b.key[present].size, &answer, NULL),
                     TAMIS_E_FULL);
    assert_int_equal(answer, UNTOUCHED);
}

/* Fills the filter. Each false positive on the way lets one more key in. */
static uint64_t fill_to_the_end(tamis_filter *filter, uint64_t salt) {
    for (uint64_t in = 0;;) {
        size_t done = fill_up(filter, in, MODEL_BATCH, salt);
        in += done;
        if (done < MODEL_BATCH)
            return in;
    }
}

static void full_is_a_status_and_loses_nothing(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 2, 3, 5, 10, 63, 100, 999, 5000};
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        /* If positions collapse, keys answered present set no bits: their number is not bounded. */
        if (c->grows || (case_is_of_other_program(c) && c->scheme != TAMIS_SCHEME_GUAVA64))
            continue;
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++) {
            tamis_filter *filter = case_filter(c, sizes[j]);
            uint64_t in = fill_to_the_end(filter, seed);
            /* No key is refused before the capacity is reached, and hardly more keys are taken: the number of
             * false positives varies by five standard deviations, before and after the capacity. */
            double mistaken = (double)sizes[j] * tamis_filter_plan(filter)->fpr;
            assert_true(filter_info(filter).added <= sizes[j]);
            assert_true(in >= sizes[j]);
            assert_true((double)(in - sizes[j]) <= 2 + 12 * sqrt(mistaken));
            check_full(filter, in, seed);
            tamis_filter_clear(filter, NULL);
            assert_false(filter_info(filter).saturated);
            assert_int_equal(fill_to_the_end(filter, seed), in);
            tamis_filter_free(filter);
        }
    }
}

/* A fingerprint table holds its capacity, however the keys are distributed. */
static void every_table_holds_its_capacity(void **state) {
    (void)state;
    static const double rates[] = {1e-4, 1e-5, 1e-6, 1e-8, 1e-11, 1e-13, 1e-17, 0};
    static tamis_hash hashes[3000];
    uint64_t random = seed, rounds = model_scale(60, 3);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        for (uint64_t round = 0; round < rounds; round++) {
            uint64_t n =
                round < 20 ? 1 + test_below(&random, 40 * (round + 1)) : 1 + test_below(&random, 3000);
            filter_case c = {"table", rates[i] > 0 ? TAMIS_KIND_FINGERPRINT : TAMIS_KIND_EXACT,
                             TAMIS_SCHEME_XXH3, false, rates[i]};
            tamis_filter *filter = case_filter(&c, n);
            size_t done = 0;
            random_hashes(hashes, (size_t)n, filter_hasher_id(filter), 0, &random);
            tamis_status status = tamis_filter_add_hashes(filter, hashes, (size_t)n, NULL, &done, NULL);
            if (status != TAMIS_OK)
                fail_msg("p = %g: full after %zu of %" PRIu64 " keys", rates[i], done, n);
            tamis_filter_free(filter);
        }
    }
}

static void growth_keeps_its_memory_limit(void **state) {
    (void)state;
    static const double factors[] = {1, 1.05, 1.3, 2, 2.5};
    size_t count = model_full() ? 5 : 2;
    for (int i = 0; i < FILTER_CASES; i++) {
        for (size_t j = 0; j < count && filter_cases[i].grows; j++) {
            uint64_t starts = case_plan(&filter_cases[i], 0, 0).memory;
            uint64_t limit = (uint64_t)((double)starts * factors[j]);
            fault_memory memory = {0};
            tamis_allocator allocator = fault_memory_allocator(&memory);
            tamis_plan plan = case_plan(&filter_cases[i], 0, limit);
            tamis_filter *filter = plan_filter(&plan, &allocator);
            uint64_t in = fill_to_the_end(filter, seed);
            assert_true(in > 256);
            check_full(filter, in, seed);
            tamis_filter_info info = filter_info(filter);
            assert_true(info.memory_peak <= limit);
            /* The allocator also counts the handle and its hasher. */
            assert_true(memory.peak_bytes <= limit + 2560);
            assert_true(info.memory <= info.memory_peak);
            tamis_filter_free(filter);
            assert_int_equal(memory.live_blocks, 0);
        }
    }
}

/* ---- union and clear ---- */

static void union_holds_what_either_held(void **state) {
    (void)state;
    enum { N = 20000 };
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        if (!case_is_bloom(c))
            continue;
        tamis_filter *target = case_filter(c, N), *other = case_filter(c, N), *whole = case_filter(c, N);
        model_add_range(target, 0, N / 2, seed, NULL);
        model_add_range(other, N / 3, N / 2, seed, NULL); /* a sixth of N is in both */
        model_add_range(whole, 0, N / 3 + N / 2, seed, NULL);
        assert_true(tamis_filter_can(target, TAMIS_CAN_UNION));
        assert_int_equal(tamis_filter_union(target, other, NULL), TAMIS_OK);
        assert_int_equal(model_count_present(target, 0, N / 3 + N / 2, seed), N / 3 + N / 2);
        /* The bits, and so the answers, are those of one filter with all keys. */
        uint64_t probes = 200000;
        assert_int_equal(model_count_present(target, N, probes, seed),
                         model_count_present(whole, N, probes, seed));
        tamis_filter_info merged = filter_info(target), direct = filter_info(whole);
        assert_true(merged.fpr_live == direct.fpr_live);
        assert_true(merged.cardinality == direct.cardinality);
        if (case_has_digest(c))
            assert_true(fabs((double)merged.added - (double)direct.added) < 0.03 * (double)direct.added);
        assert_int_equal(model_count_present(other, N / 3, N / 2, seed), N / 2);
        tamis_filter_free(target);
        tamis_filter_free(other);
        tamis_filter_free(whole);
    }
}

static void clear_makes_a_filter_as_new(void **state) {
    (void)state;
    enum { N = 30000 };
    static tamis_answer before[N], after[N];
    for (int i = 0; i < FILTER_CASES; i++) {
        tamis_filter *filter = case_filter(&filter_cases[i], N);
        model_add_range(filter, 0, N, seed, before);
        uint64_t far = model_count_present(filter, N, 100000, seed);
        uint64_t memory = filter_info(filter).memory;
        tamis_filter_clear(filter, NULL);
        tamis_filter_info info = filter_info(filter);
        assert_int_equal(model_count_present(filter, 0, N, seed), 0);
        assert_int_equal(info.added, 0);
        assert_true(info.cardinality == 0 && info.fpr_live == 0 && info.false_present == 0);
        assert_int_equal(info.memory, memory);
        model_add_range(filter, 0, N, seed, after);
        assert_memory_equal(before, after, N);
        assert_int_equal(model_count_present(filter, N, 100000, seed), far);
        tamis_filter_free(filter);
    }
}

/* ---- copies ---- */

static void a_copy_is_independent(void **state) {
    (void)state;
    enum { N = 300000 }; /* so that growing tables have grown */
    static tamis_answer mine[N], theirs[N];
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        uint64_t n = case_has_digest(c) ? N : N / 10;
        tamis_filter *filter = case_filter(c, n), *copy = NULL;
        model_add_range(filter, 0, n / 2, seed, NULL);
        assert_int_equal(tamis_filter_copy(&copy, filter, NULL), TAMIS_OK);
        tamis_filter_info info = filter_info(filter), other = filter_info(copy);
        info.memory_peak = other.memory_peak; /* the copy never grew */
        assert_memory_equal(&info, &other, sizeof info);
        assert_int_equal(model_count_present(copy, 0, n / 2, seed), n / 2);
        /* Keys added to both get equal answers; keys added to one are not in the other. */
        model_add_range(filter, n / 2, n / 4, seed, mine);
        uint64_t before = model_count_present(copy, n / 2, n / 4, seed);
        assert_true(before < n / 100);
        model_add_range(copy, n / 2, n / 4, seed, theirs);
        assert_memory_equal(mine, theirs, n / 4);
        assert_true(tamis_filter_is_equal(filter, copy));
        tamis_filter_clear(filter, NULL);
        assert_false(tamis_filter_is_equal(filter, copy));
        assert_int_equal(model_count_present(copy, 0, n / 2 + n / 4, seed), n / 2 + n / 4);
        tamis_filter_free(filter);
        tamis_filter_free(copy);
    }
}

/* Beyond the capacity no key is refused or lost, and the filter reports it. */
static void over_capacity_loses_nothing(void **state) {
    (void)state;
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
        options.allow_over_capacity = true;
        if (!case_is_bloom(c) || c->scheme == TAMIS_SCHEME_SIP)
            continue;
        tamis_plan plan = case_plan(c, 1000, 0);
        tamis_filter *filter = NULL;
        assert_int_equal(tamis_filter_create(&filter, &plan, &options, NULL), TAMIS_OK);
        model_add_range(filter, 0, 900, seed, NULL);
        assert_false(filter_info(filter).saturated);
        model_add_range(filter, 900, 9100, seed, NULL);
        assert_true(filter_info(filter).saturated || !case_has_digest(c));
        assert_int_equal(model_count_present(filter, 0, 10000, seed), 10000);
        assert_true(filter_info(filter).fpr_live > 10 * c->fpr || !case_has_digest(c));
        tamis_filter_free(filter);
    }
}

int main(void) {
    seed = model_seed(20240601);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_is_ever_lost),
        cmocka_unit_test(no_key_is_ever_lost_in_large_filters),
        cmocka_unit_test(batches_do_not_change_answers),
        cmocka_unit_test(hashes_are_as_good_as_keys),
        cmocka_unit_test(growth_loses_nothing),
        cmocka_unit_test(growth_does_not_depend_on_batches),
        cmocka_unit_test(full_is_a_status_and_loses_nothing),
        cmocka_unit_test(every_table_holds_its_capacity),
        cmocka_unit_test(growth_keeps_its_memory_limit),
        cmocka_unit_test(union_holds_what_either_held),
        cmocka_unit_test(clear_makes_a_filter_as_new),
        cmocka_unit_test(a_copy_is_independent),
        cmocka_unit_test(over_capacity_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
