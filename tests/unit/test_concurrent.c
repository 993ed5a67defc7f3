/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/* Filters made with options.concurrent: many threads add and look up at once. Checks the answers; under
 * TSan also data races. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "filter/filter_int.h"
#include "filter/parts.h"
#include "filter/table/fingerprint_table.h"
#include "property/filter_model.h"
#include "support/scratch.h"

enum { THREADS_MAX = 8, BATCH_MAX = 700 };

static const int thread_counts[] = {1, 2, 4, 8};
enum { THREAD_COUNTS = sizeof thread_counts / sizeof *thread_counts };

static tamis_filter *concurrent_filter(const tamis_plan *plan, bool allow_over_capacity) {
    tamis_filter_options options = plan_options(plan);
    options.allow_over_capacity = allow_over_capacity;
    options.concurrent = true;
    return create_filter(plan, &options);
}

/* ---- threads ---- */

/* Data of all threads of a test. Only the main thread may use cmocka's asserts: a worker returns a text
 * about its error. */
typedef struct shared {
    tamis_filter *filter, *other;
    tamis_hash *hashes;
    size_t count;
    _Atomic uint8_t *absent; /* how often each hash was answered TAMIS_ABSENT */
    _Atomic uint32_t started, ended;
    uint32_t threads;
    pthread_barrier_t together;
} shared;

static void shared_make(shared *s, tamis_filter *filter, size_t count) {
    *s = (shared){.filter = filter, .count = count};
    s->hashes = calloc(count, sizeof *s->hashes);
    s->absent = calloc(count, sizeof *s->absent);
    assert_true(s->hashes && s->absent);
}

/* Makes the hashes of the numbers from `from` on. */
static void hash_numbers(shared *s, uint64_t from) {
    for (size_t i = 0; i < s->count; i++) {
        uint64_t number = from + i;
        tamis_key key = {&number, sizeof number};
        assert_int_equal(tamis_hash_many(tamis_filter_hasher(s->filter), &key, 1, &s->hashes[i], NULL),
                         TAMIS_OK);
    }
}

static void shared_release(shared *s) {
    free(s->hashes);
    free(s->absent);
    tamis_filter_free(s->filter);
}

static void run_together(shared *s, uint32_t threads, void *(*work)(void *)) {
    pthread_t ids[THREADS_MAX];
    s->threads = threads;
    s->started = s->ended = 0;
    assert_int_equal(pthread_barrier_init(&s->together, NULL, threads), 0);
    for (uint32_t i = 0; i < threads; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, work, s), 0);
    const char *wrong = NULL;
    for (uint32_t i = 0; i < threads; i++) {
        void *failure = NULL;
        assert_int_equal(pthread_join(ids[i], &failure), 0);
        wrong = failure ? failure : wrong;
    }
    pthread_barrier_destroy(&s->together);
    if (wrong)
        fail_msg("%u threads: %s", (unsigned)threads, wrong);
}

/* Waits until all threads have started, and returns the number of the calling one. */
static uint32_t begin_thread(shared *s) {
    uint32_t mine = atomic_fetch_add(&s->started, 1);
    pthread_barrier_wait(&s->together);
    return mine;
}

static size_t batch_size(uint64_t *state, size_t left) {
    size_t size = 1 + (size_t)test_below(state, BATCH_MAX);
    return size < left ? size : left;
}

/* ---- each key is absent once ---- */

/* All threads add all keys: the even threads in one order, so that they race for each key, the odd ones
 * from other positions on. Added keys must be present from then on. */
static void *add_all_keys(void *context) {
    shared *s = context;
    uint32_t mine = begin_thread(s);
    uint64_t state = mine;
    tamis_answer answers[BATCH_MAX];
    size_t offset = mine % 2 ? s->count / s->threads * mine : 0;
    for (size_t from = 0, size; from < s->count; from += size) {
        size_t start = (from + offset) % s->count, done = 0;
        size = batch_size(&state, s->count - from);
        size = size < s->count - start ? size : s->count - start;
        if (tamis_filter_add_hashes(s->filter, s->hashes + start, size, answers, &done, NULL) != TAMIS_OK)
            return "add";
        if (done != size)
            return "done";
        for (size_t i = 0; i < size; i++)
            if (answers[i] == TAMIS_ABSENT)
                atomic_fetch_add_explicit(&s->absent[start + i], 1, memory_order_relaxed);
            else if (answers[i] != TAMIS_PRESENT)
                return "neither fresh nor seen";
        if (tamis_filter_contains_hashes(s->filter, s->hashes + start, size, answers, &done, NULL) !=
            TAMIS_OK)
            return "contains";
        for (size_t i = 0; i < size; i++)
            if (answers[i] != TAMIS_PRESENT)
                return "a key just added is not there";
    }
    return NULL;
}

static uint64_t count_absent(const shared *s) {
    uint64_t sum = 0;
    for (size_t i = 0; i < s->count; i++) {
        assert_true(s->absent[i] <= 1);
        sum += s->absent[i];
    }
    return sum;
}

static void assert_all_there(const shared *s) {
    tamis_answer answers[BATCH_MAX];
    for (size_t from = 0, size; from < s->count; from += size) {
        size = s->count - from < BATCH_MAX ? s->count - from : BATCH_MAX;
        assert_int_equal(tamis_filter_contains_hashes(s->filter, s->hashes + from, size, answers, NULL, NULL),
                         TAMIS_OK);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(answers[i], TAMIS_PRESENT);
    }
}

/* Plans a table with so many partitions, and enough lines for an uneven distribution of the keys. */
static tamis_plan divided_plan(const filter_case *c, uint64_t n, int partitions) {
    tamis_plan plan = case_plan(c, n, 0);
    if (case_is_bloom(c) || c->grows)
        return plan;
    plan.lines += plan.lines / 4;
    return plan_in_partitions(plan, (uint32_t)partitions);
}

/* Compares with a filter that one thread has filled. */
static void assert_as_ordinary(const filter_case *c, const tamis_plan *plan, const shared *s,
                               uint64_t absent) {
    tamis_filter *alone = plan_filter(plan, NULL);
    for (uint32_t i = 0; i < s->threads; i++) /* kind counting counts every add */
        assert_int_equal(tamis_filter_add_hashes(alone, s->hashes, s->count, NULL, NULL, NULL), TAMIS_OK);
    tamis_filter_info info = filter_info(s->filter), expected = filter_info(alone);
    assert_int_equal(info.added, absent);
    assert_int_equal(info.ones, expected.ones);
    assert_false(info.saturated);
    assert_true(within_sigmas(info.fpr_live, expected.fpr_live, expected.fpr_live / 10, 1));
    assert_true(within_sigmas(info.cardinality, expected.cardinality, expected.cardinality / 50, 1));
    if (case_is_bloom(c))
        assert_true(tamis_filter_is_equal(s->filter, alone));
    tamis_filter_free(alone);
}

static void each_key_is_absent_once(void **state) {
    (void)state;
    size_t count = test_scale(60000, 5000, 20000);
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        for (int n = 0; n < THREAD_COUNTS && case_has_digest(c); n++) {
            shared s;
            tamis_plan plan = divided_plan(c, count, thread_counts[n]);
            shared_make(&s, concurrent_filter(&plan, false), count);
            hash_numbers(&s, 0);
            run_together(&s, (uint32_t)thread_counts[n], add_all_keys);
            assert_all_there(&s);
            uint64_t absent = count_absent(&s);
            /* The other keys are false positives. */
            assert_true((double)(count - absent) <= max_events(2 * c->fpr * (double)count));
            assert_as_ordinary(c, &plan, &s, absent);
            shared_release(&s);
        }
    }
}

/* ---- tables with full lines at the boundaries of partitions ---- */

/* Makes keys whose home lines are the 600 lines around the boundaries. These lines are full, and entries
 * move between the first and the last lines of a partition. */
static void crowd(shared *s, const tamis_plan *plan, uint64_t seed) {
    const uint64_t line = UINT64_MAX / plan->lines, number = UINT64_MAX / plan->partitions + 1;
    random_hashes(s->hashes, s->count, filter_hasher_id(s->filter), 0, &seed);
    for (size_t i = 0; i < s->count; i++)
        s->hashes[i].word[1] = number * (i % plan->partitions) + test_below(&seed, 600 * line) - 300 * line;
}

static void partitions_meet(void **state) {
    (void)state;
    static const struct {
        tamis_kind kind;
        double fpr;
        uint64_t capacity;
        uint64_t keys;
    } cases[] = {
        {TAMIS_KIND_FINGERPRINT, 1e-4, 2000000, 400000},
        {TAMIS_KIND_FINGERPRINT, 1e-9, 2000000, 400000},
        {TAMIS_KIND_EXACT, 0, 600000, 200000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        filter_case c = {"", cases[i].kind, TAMIS_SCHEME_XXH3, false, cases[i].fpr};
        tamis_plan plan = plan_in_partitions(case_plan(&c, cases[i].capacity, 0), 4);
        shared s;
        shared_make(&s, concurrent_filter(&plan, false), cases[i].keys);
        crowd(&s, &plan, i);
        size_t fitting = 0; /* keys that one thread can add; the order makes some difference */
        tamis_filter *alone = plan_filter(&plan, NULL);
        assert_int_equal(tamis_filter_add_hashes(alone, s.hashes, s.count, NULL, &fitting, NULL),
                         TAMIS_E_FULL);
        assert_int_equal(filter_info(alone).full, TAMIS_FULL_CROWDED);
        tamis_filter_free(alone);
        s.count = fitting / 20 * 19;
        run_together(&s, 4, add_all_keys);
        assert_all_there(&s);
        uint64_t absent = count_absent(&s);
        assert_int_equal(filter_info(s.filter).added, absent);
        assert_true((double)(s.count - absent) <= max_events(50 * c.fpr * (double)s.count));
        shared_release(&s);
    }
}

/* ---- limits ---- */

/* Each thread adds keys of its own until one is refused. Every answered key must be present. */
static void *add_own(void *context) {
    shared *s = context;
    uint32_t mine = begin_thread(s);
    uint64_t state = mine;
    tamis_answer answers[BATCH_MAX];
    size_t own = s->count / s->threads, end = own * (mine + 1);
    for (size_t from = own * mine, size; from < end; from += size) {
        size_t done = 0;
        size = batch_size(&state, end - from);
        tamis_status status =
            tamis_filter_add_hashes(s->filter, s->hashes + from, size, answers, &done, NULL);
        if (status != TAMIS_OK && status != TAMIS_E_FULL && status != TAMIS_E_NOMEM)
            return "add";
        if ((status == TAMIS_OK) != (done == size))
            return "done";
        for (size_t i = 0; i < size; i++) {
            if (i < done && answers[i] == TAMIS_UNKNOWN)
                return "unknown before done";
            if (i == done && answers[i] != TAMIS_UNKNOWN)
                return "answered where it stopped";
            tamis_answer there = TAMIS_UNKNOWN;
            if (tamis_filter_contains_hashes(s->filter, s->hashes + from + i, 1, &there, NULL, NULL) !=
                TAMIS_OK)
                return "contains";
            if (answers[i] != TAMIS_UNKNOWN && there != TAMIS_PRESENT)
                return "a key is lost";
            s->absent[from + i] = answers[i] == TAMIS_ABSENT;
        }
    }
    return NULL;
}

static void full_is_exact(void **state) {
    (void)state;
    enum { CAPACITY = 5000 };
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        for (int n = 0; n < THREAD_COUNTS && case_has_digest(c) && !c->grows; n++) {
            tamis_plan plan = divided_plan(c, CAPACITY, thread_counts[n]);
            shared s;
            shared_make(&s, concurrent_filter(&plan, false), 4 * CAPACITY);
            hash_numbers(&s, 0);
            run_together(&s, (uint32_t)thread_counts[n], add_own);
            tamis_filter *alone = plan_filter(&plan, NULL);
            tamis_error err = TAMIS_ERROR_INIT;
            assert_int_equal(tamis_filter_add_hashes(alone, s.hashes, s.count, NULL, NULL, &err),
                             TAMIS_E_FULL);
            tamis_filter_info info = filter_info(s.filter), expected = filter_info(alone);
            assert_int_equal(info.added, count_absent(&s));
            assert_int_equal(info.added, expected.added);
            assert_int_equal(info.full, TAMIS_FULL_CAPACITY);
            assert_true(info.saturated);
            tamis_filter_free(alone);
            shared_release(&s);
        }
    }
}

/* A growing table that is full by its memory limit, or by its rate. The keys are in an eighth of its
 * partitions, so that these grow early. */
static void full_of_a_growing_table(void **state) {
    (void)state;
    enum { BY_MEMORY, BY_RATE, WAYS };
    filter_case c = {"", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, true, 1e-9};
    for (int way = 0; way < WAYS; way++) {
        tamis_plan plan = case_plan(&c, 0, 0);
        tamis_filter *empty = concurrent_filter(&plan, false);
        if (way == BY_MEMORY)
            plan.memory_limit = filter_info(empty).memory + 200000;
        else
            plan.fpr = 3e-12; /* lower than the rate of its slots */
        tamis_filter_free(empty);
        for (int n = 0; n < THREAD_COUNTS; n++) {
            shared s;
            uint64_t seed = 1;
            shared_make(&s, concurrent_filter(&plan, false), 60000);
            random_hashes(s.hashes, s.count, filter_hasher_id(s.filter), 3, &seed);
            run_together(&s, (uint32_t)thread_counts[n], add_own);
            tamis_filter_info info = filter_info(s.filter);
            assert_int_equal(info.added, count_absent(&s));
            assert_in_range(info.added, 20000, s.count - 1);
            assert_int_equal(info.full, way == BY_MEMORY ? TAMIS_FULL_MEMORY : TAMIS_FULL_RATE);
            assert_true(info.saturated);
            assert_true(way == BY_RATE || info.memory_peak <= plan.memory_limit);
            assert_true(way == BY_MEMORY || within_sigmas(info.fpr_live, plan.fpr, plan.fpr / 100, 1));
            shared_release(&s);
        }
    }
}

/* ---- no memory ---- */

/* Blocks that a table may still allocate for growth. At 0 all requests fail, until it is raised again. */
static _Atomic int64_t blocks_left;

static void *alloc_some(void *context, size_t size, size_t align) {
    (void)context;
    if (atomic_fetch_sub(&blocks_left, 1) <= 0)
        return NULL;
    void *block = aligned_alloc(align, (size + align - 1) / align * align);
    return block ? memset(block, 0, size) : NULL;
}

static void free_some(void *context, void *block, size_t size) {
    (void)context;
    (void)size;
    free(block);
}

static void no_memory_loses_nothing(void **state) {
    (void)state;
    static const int64_t capacities[] = {0, 1, 5, 20, 50};
    filter_case c = {"", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, true, 1e-9};
    tamis_plan plan = case_plan(&c, 0, 0);
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        const tamis_allocator allocator = {alloc_some, free_some, NULL};
        tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
        options.allocator = &allocator;
        options.concurrent = true;
        tamis_filter *filter = NULL;
        blocks_left = INT64_MAX / 2;
        assert_int_equal(tamis_filter_create(&filter, &plan, &options, NULL), TAMIS_OK);
        blocks_left = capacities[i];
        shared s;
        uint64_t seed = 1;
        shared_make(&s, filter, 60000);
        random_hashes(s.hashes, s.count, filter_hasher_id(filter), 3, &seed);
        run_together(&s, 4, add_own);
        assert_int_equal(filter_info(s.filter).added, count_absent(&s));
        assert_int_equal(filter_info(s.filter).full, TAMIS_FULL_NOT);
        uint64_t before = count_absent(&s);
        assert_true(before < s.count);
        blocks_left = INT64_MAX / 2;
        run_together(&s, 4, add_all_keys);
        assert_int_equal(count_absent(&s), s.count); /* present keys were not absent again */
        assert_all_there(&s);
        shared_release(&s);
    }
}

static void over_capacity_by_all(void **state) {
    (void)state;
    filter_case c = {"", TAMIS_KIND_BLOCKED, TAMIS_SCHEME_XXH3, false, 0.01};
    for (c.kind = TAMIS_KIND_CLASSIC; c.kind <= TAMIS_KIND_BLOCKED; c.kind++) {
        tamis_plan plan = case_plan(&c, 1000, 0);
        shared s;
        shared_make(&s, concurrent_filter(&plan, true), 8000);
        hash_numbers(&s, 0);
        run_together(&s, 4, add_all_keys);
        assert_all_there(&s);
        assert_int_equal(filter_info(s.filter).added, count_absent(&s));
        assert_true(filter_info(s.filter).saturated);
        shared_release(&s);
    }
}

/* ---- calls on the whole filter while keys are added ---- */

static const char *check_info(shared *s, uint64_t *min) {
    tamis_filter *filter = s->filter;
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    tamis_filter *copy = NULL;
    tamis_difference difference = TAMIS_DIFFERENCE_INIT;
    if (tamis_filter_info_get(filter, &info, NULL) != TAMIS_OK || info.added < *min)
        return "info";
    *min = info.added;
    if (tamis_filter_copy(&copy, filter, NULL) != TAMIS_OK)
        return "copy";
    const char *wrong = NULL;
    /* Two threads use the opposite order. */
    if (tamis_filter_compare(&difference, *min % 2 ? filter : s->other, *min % 2 ? s->other : filter, NULL) !=
        TAMIS_OK)
        wrong = "compare";
    if (tamis_filter_compare(&difference, filter, filter, NULL) != TAMIS_OK || !difference.same_body)
        wrong = "compare with itself";
    if (tamis_filter_verify(filter, NULL) != TAMIS_OK)
        wrong = "verify";
    uint64_t size = 0;
    if (tamis_filter_encoded_size(copy, TAMIS_FORMAT_TAMIS, &size, NULL) != TAMIS_OK)
        wrong = "size";
    void *bytes = malloc(size ? size : 1);
    tamis_filter *decoded = NULL;
    if (!wrong &&
        (tamis_filter_encode(copy, TAMIS_FORMAT_TAMIS, bytes, size, NULL) != TAMIS_OK ||
         tamis_filter_decode(&decoded, bytes, size, NULL, NULL) != TAMIS_OK ||
         tamis_filter_compare(&difference, copy, decoded, NULL) != TAMIS_OK || !difference.same_body))
        wrong = "encode";
    if (tamis_kind_is_bloom(tamis_filter_plan(filter)->kind) &&
        tamis_filter_union(s->other, filter, NULL) != TAMIS_OK)
        wrong = "union";
    if (filter_info(copy).added < *min)
        wrong = "a copy has less";
    free(bytes);
    tamis_filter_free(decoded);
    tamis_filter_free(copy);
    return wrong;
}

static void *add_or_look(void *context) {
    shared *s = context;
    uint64_t min = 0;
    if (begin_thread(s) < 2) {
        const char *wrong = NULL;
        do
            wrong = check_info(s, &min);
        while (!wrong && atomic_load(&s->ended) < s->threads - 2);
        return (void *)(uintptr_t)wrong;
    }
    tamis_answer answers[100];
    for (size_t from = 0; from < s->count; from += 100)
        if (tamis_filter_add_hashes(s->filter, s->hashes + from, 100, answers, NULL, NULL) != TAMIS_OK ||
            tamis_filter_add_hashes(s->other, s->hashes + from, 100, NULL, NULL, NULL) != TAMIS_OK)
            return "add";
    atomic_fetch_add(&s->ended, 1);
    return NULL;
}

static void calls_on_the_whole_filter_see_whole_batches(void **state) {
    (void)state;
    enum { COUNT = 20000 };
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        if (!case_has_digest(c) || c->scheme == TAMIS_SCHEME_SIP)
            continue;
        tamis_plan plan = case_plan(c, COUNT, 0);
        shared s;
        shared_make(&s, concurrent_filter(&plan, false), COUNT);
        s.other = concurrent_filter(&plan, case_is_bloom(c));
        hash_numbers(&s, 0);
        run_together(&s, 4, add_or_look);
        assert_all_there(&s);
        tamis_filter_free(s.other);
        shared_release(&s);
    }
}

/* ---- answers of a concurrent filter to one thread ---- */

static void keys_in_a_batch_come_in_order(void **state) {
    (void)state;
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        if (!case_has_digest(c))
            continue;
        tamis_plan plan = case_plan(c, 1000, 0);
        tamis_filter *filter = concurrent_filter(&plan, false);
        tamis_key keys[] = {{"a", 1}, {"b", 1}, {"a", 1}, {"", 0}, {"b", 1}, {"", 0}};
        const tamis_answer expected[] = {TAMIS_ABSENT, TAMIS_ABSENT,  TAMIS_PRESENT,
                                         TAMIS_ABSENT, TAMIS_PRESENT, TAMIS_PRESENT};
        tamis_answer got[6] = {0};
        size_t done = 0;
        assert_int_equal(tamis_filter_contains_many(filter, keys, 6, got, &done, NULL), TAMIS_OK);
        for (int k = 0; k < 6; k++)
            assert_int_equal(got[k], TAMIS_ABSENT);
        assert_int_equal(tamis_filter_add_many(filter, keys, 6, got, &done, NULL), TAMIS_OK);
        assert_int_equal(done, 6);
        assert_memory_equal(got, expected, sizeof expected);
        assert_int_equal(tamis_filter_contains_many(filter, keys, 6, got, &done, NULL), TAMIS_OK);
        for (int k = 0; k < 6; k++)
            assert_int_equal(got[k], TAMIS_PRESENT);
        assert_int_equal(filter_info(filter).added, 3);
        assert_int_equal(tamis_filter_clear(filter, NULL), TAMIS_OK);
        assert_int_equal(filter_info(filter).added, 0);
        tamis_answer answer = TAMIS_UNKNOWN;
        assert_int_equal(tamis_filter_add(filter, "a", 1, &answer, NULL), TAMIS_OK);
        assert_int_equal(answer, TAMIS_ABSENT);
        tamis_filter_free(filter);
    }
}

static void schemes_without_digest_are_refused(void **state) {
    (void)state;
    static const char *const said[] = {
        "concurrent: scheme bkdr31 makes no digest of a key to tell which thread may add it; use another "
        "scheme, or one thread",
        "concurrent: scheme bkdr63 makes no digest of a key to tell which thread may add it; use another "
        "scheme, or one thread",
    };
    for (int i = 0; i < 2; i++) {
        filter_case c = {"", TAMIS_KIND_CLASSIC, i ? TAMIS_SCHEME_BKDR63 : TAMIS_SCHEME_BKDR31, false, 0.01};
        tamis_plan plan = case_plan(&c, 1000, 0);
        tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
        options.concurrent = true;
        tamis_filter *filter = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        assert_int_equal(tamis_filter_create(&filter, &plan, &options, &err), TAMIS_E_UNSUPPORTED);
        assert_string_equal(err.text, said[i]);
        assert_null(filter);
    }
}

/* ---- filters from files ---- */

/* Filters opened with options.concurrent, from bytes and from a file. */
static void reg_22_opened_filters_are_concurrent(void **state) {
    (void)state;
    scratch_make();
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        if (!case_has_digest(c))
            continue;
        const size_t count = model_full() ? 30000 : 3000;
        tamis_plan plan = case_plan(c, 2 * count, 0);
        tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
        tamis_error err = TAMIS_ERROR_INIT;
        shared s;
        shared_make(&s, concurrent_filter(&plan, false), count);
        assert_true(filter_info(s.filter).concurrent);
        assert_int_equal(tamis_filter_save(s.filter, scratch("f"), &err), TAMIS_OK);
        const tamis_filter_options made = plan_options(&plan);
        options.secret = made.secret;
        options.secret_size = made.secret_size;
        options.concurrent = true;
        tamis_filter *opened = NULL;
        assert_int_equal(tamis_filter_open(&opened, scratch("f"), &options, &err), TAMIS_OK);
        assert_false(filter_info(opened).concurrent); /* read-only */
        tamis_filter_free(opened);
        options.writable = true;
        assert_int_equal(tamis_filter_open(&opened, scratch("f"), &options, &err), TAMIS_OK);
        assert_true(filter_info(opened).concurrent);
        tamis_filter_free(s.filter);
        s.filter = opened;
        hash_numbers(&s, 0);
        run_together(&s, 4, add_all_keys);
        count_absent(&s);
        assert_all_there(&s);
        assert_as_ordinary(c, &plan, &s, count_absent(&s));
        assert_int_equal(unlink(scratch("f")), 0);
        shared_release(&s);
    }
    scratch_remove();
}

static void a_file_that_cannot_be_concurrent_is_refused(void **state) {
    (void)state;
    filter_case c = {"", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_BKDR31, false, 0.01};
    tamis_plan plan = case_plan(&c, 1000, 0);
    tamis_filter *filter = create_filter(&plan, NULL), *opened = NULL;
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    static uint8_t bytes[65536];
    uint64_t size;
    assert_int_equal(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, NULL), TAMIS_OK);
    assert_true(size <= sizeof bytes);
    assert_int_equal(tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, bytes, size, NULL), TAMIS_OK);
    options.concurrent = true;
    assert_int_equal(tamis_filter_decode(&opened, bytes, size, &options, NULL), TAMIS_E_UNSUPPORTED);
    assert_null(opened);
    tamis_filter_free(filter);
}

/* ---- copied and saved while others add ---- */

/* A copy in pieces, with keys added between the pieces. */
typedef struct copying {
    tamis_filter *from, *to;
    tamis_hash *hashes;
    size_t count, added; /* in order */
} copying;

static void add_some_more(copying *c, size_t count) {
    tamis_answer answers[BATCH_MAX];
    if (count > c->count - c->added)
        count = c->count - c->added;
    assert_int_equal(tamis_filter_add_hashes(c->from, c->hashes + c->added, count, answers, NULL, NULL),
                     TAMIS_OK);
    c->added += count;
}

/* Copies piece by piece, and changes the filter between the pieces. */
static void copy_pieces(copying *c) {
    const tamis__piece_ops *pieces = c->from->ops->pieces;
    uint32_t parts = c->from->ops->parts ? c->from->ops->parts->max_parts(c->from, TAMIS__PARTS_MAX) : 64;
    if (pieces->begin)
        pieces->begin(c->to, c->from);
    for (uint32_t part = 0; part < parts; part++) {
        tamis__copied_part copied = {.part = part, .parts = parts};
        while (copied.pos != TAMIS__COPIED) {
            assert_int_equal(pieces->copy(c->to, c->from, &copied, NULL), TAMIS_OK);
            add_some_more(c, BATCH_MAX);
        }
    }
    pieces->end(c->to, c->from);
}

static void assert_copied(const copying *c, size_t before) {
    tamis_answer answers[BATCH_MAX];
    for (size_t from = 0, size; from < before; from += size) {
        size = before - from < BATCH_MAX ? before - from : BATCH_MAX;
        assert_int_equal(tamis_filter_contains_hashes(c->to, c->hashes + from, size, answers, NULL, NULL),
                         TAMIS_OK);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(answers[i], TAMIS_PRESENT);
    }
}

/* The copy has every key that was present when it began, although entries move and partitions grow
 * meanwhile. */
static void a_copy_in_pieces_misses_nothing(void **state) {
    (void)state;
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        if (!case_has_digest(c))
            continue;
        for (int narrow = 0; narrow < 2; narrow++) {
            if (narrow && c->kind != TAMIS_KIND_FINGERPRINT)
                continue;
            /* a partition of several pieces, or one that is split */
            const size_t count = narrow ? 400000 : 20000, before = count / 8 * 7;
            uint64_t random = 5 + (uint64_t)i;
            tamis_plan plan = case_plan(c, count, 0);
            if (narrow && plan.capacity)
                plan = plan_in_partitions(plan, 1);
            copying work = {.count = count};
            work.from = concurrent_filter(&plan, case_is_bloom(c));
            const tamis_filter_options options = plan_options(&work.from->plan);
            work.to = create_filter(&work.from->plan, &options);
            work.hashes = calloc(count, sizeof *work.hashes);
            assert_non_null(work.hashes);
            random_hashes(work.hashes, count, filter_hasher_id(work.from),
                          narrow && plan.capacity == 0 ? 8 : 0, &random);
            while (work.added < before)
                add_some_more(&work, before - work.added < BATCH_MAX ? before - work.added : BATCH_MAX);
            copy_pieces(&work);
            assert_true(work.added > before);
            assert_copied(&work, before);
            tamis_filter_free(work.from);
            tamis_filter_free(work.to);
            free(work.hashes);
        }
    }
}

/* Some threads add numbers of their own; one thread saves and copies. */
typedef struct savers {
    shared s;
    _Atomic size_t before[2]; /* number of keys added by each thread */
    _Atomic bool stop;
} savers;

static void *add_until_it_stops(void *context) {
    savers *group = context;
    shared *s = &group->s;
    const uint32_t mine = begin_thread(s);
    const size_t share = s->count / 2, from = mine * share;
    uint64_t state = mine;
    if (mine == 2) { /* saves */
        for (int round = 0; round < 4; round++) {
            const size_t before[] = {group->before[0], group->before[1]};
            tamis_filter *copy = NULL;
            tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
            if (round % 2 ? tamis_filter_copy(&copy, s->filter, NULL) != TAMIS_OK
                          : tamis_filter_save(s->filter, scratch("f"), NULL) != TAMIS_OK ||
                                tamis_filter_open(&copy, scratch("f"), &options, NULL) != TAMIS_OK)
                return "save or copy";
            for (int t = 0; t < 2; t++)
                for (size_t i = 0; i < before[t]; i++) {
                    tamis_answer answer = TAMIS_UNKNOWN;
                    if (tamis_filter_contains_hashes(copy, s->hashes + (size_t)t * share + i, 1, &answer,
                                                     NULL, NULL) != TAMIS_OK ||
                        answer != TAMIS_PRESENT)
                        return "a key is not in the copy";
                }
            tamis_filter_free(copy);
        }
        group->stop = true;
        return NULL;
    }
    for (size_t start = 0, size; start < share && !group->stop; start += size) {
        size = batch_size(&state, share - start);
        if (tamis_filter_add_hashes(s->filter, s->hashes + from + start, size, NULL, NULL, NULL) != TAMIS_OK)
            return "add";
        group->before[mine] = start + size;
    }
    return NULL;
}

static void reg_22_saved_while_others_add(void **state) {
    (void)state;
    scratch_make();
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        if (!case_has_digest(c) || c->scheme == TAMIS_SCHEME_SIP)
            continue;
        savers group = {.stop = false};
        const size_t count = model_full() ? 200000 : 20000;
        tamis_plan plan = case_plan(c, count, 0);
        shared_make(&group.s, concurrent_filter(&plan, case_is_bloom(c)), count);
        hash_numbers(&group.s, 0);
        run_together(&group.s, 3, add_until_it_stops);
        assert_int_equal(unlink(scratch("f")), 0);
        shared_release(&group.s);
    }
    scratch_remove();
}

/* ---- tables that grow beyond their number of keys ---- */

/* Makes a filter for a number of keys that may grow beyond it. */
static tamis_filter *extensible_filter(const filter_case *c, uint64_t n, const tamis_allocator *allocator) {
    tamis_plan plan = case_plan(c, n, 0);
    tamis_filter_options options = plan_options(&plan);
    tamis_filter *filter = NULL;
    options.frozen = false;
    options.concurrent = true;
    options.allocator = allocator;
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, NULL), TAMIS_OK);
    return filter;
}

static bool is_made_for_a_number(const filter_case *c) {
    return !case_is_bloom(c) && !c->grows && case_has_digest(c);
}

/* A table with two parts, which has four partitions after growth. */
static const filter_case large_case = {"large", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, false, 1e-6};
enum { LARGE = 150000 };

/* All threads add the same `count` keys: three or twenty times the `n` that the filter was made for. */
static void grow_together(const filter_case *c, uint64_t n, size_t count) {
    shared s;
    shared_make(&s, extensible_filter(c, n, NULL), count);
    hash_numbers(&s, 0);
    run_together(&s, 4, add_all_keys);
    const uint64_t absent = count_absent(&s);
    assert_true(absent > count - count / 50); /* the rates are below 1/50 */
    assert_int_equal(filter_info(s.filter).added, absent);
    assert_true(filter_info(s.filter).capacity >= absent);
    assert_int_equal(filter_info(s.filter).full, TAMIS_FULL_NOT);
    assert_all_there(&s);
    shared_release(&s);
}

static void reg_22_grown_by_many_threads(void **state) {
    (void)state;
    for (int i = 0; i < FILTER_CASES; i++)
        if (is_made_for_a_number(&filter_cases[i]))
            grow_together(&filter_cases[i], 500, 10000);
    grow_together(&large_case, LARGE, 3 * LARGE);
}

/* The filter is copied and saved while it grows. */
static void save_while_it_grows(const filter_case *c, uint64_t n, size_t count) {
    savers group = {.stop = false};
    shared_make(&group.s, extensible_filter(c, n, NULL), count);
    hash_numbers(&group.s, 0);
    run_together(&group.s, 3, add_until_it_stops);
    assert_int_equal(unlink(scratch("f")), 0);
    shared_release(&group.s);
}

static void reg_22_saved_while_it_grows(void **state) {
    (void)state;
    scratch_make();
    for (int i = 0; i < FILTER_CASES; i++)
        if (is_made_for_a_number(&filter_cases[i]))
            save_while_it_grows(&filter_cases[i], 500, model_full() ? 200000 : 20000);
    save_while_it_grows(&large_case, LARGE, 5 * LARGE);
    scratch_remove();
}

/* Adds keys beyond the capacity during a copy, whenever the copy allocates memory for lines. */
typedef struct late_adder {
    tamis_filter *filter;
    tamis_hash *hashes;
    size_t count;
    uint32_t rounds; /* number of further times */
    size_t min;      /* smallest block size that counts as one for lines */
    bool adds;
} late_adder;

static void *alloc_and_add(void *context, size_t size, size_t align) {
    late_adder *late = context;
    void *block = aligned_alloc(align, (size + align - 1) / align * align);
    if (size >= late->min && late->rounds > 0 && !late->adds) {
        size_t count = late->count / 2;
        late->adds = true;
        late->rounds--;
        if (tamis_filter_add_hashes(late->filter, late->hashes, count, NULL, NULL, NULL) != TAMIS_OK)
            abort();
        late->hashes += count;
        late->count -= count;
        late->adds = false;
    }
    return block ? memset(block, 0, size) : NULL;
}

static void reg_22_a_copy_starts_anew_after_growth(void **state) {
    (void)state;
    enum { CAPACITY = 1000, COUNT = 20000, BEFORE = 700 };
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        if (!is_made_for_a_number(c))
            continue;
        shared s;
        late_adder late = {.min = SIZE_MAX};
        const tamis_allocator allocator = {alloc_and_add, free_some, &late};
        tamis_filter *copy = NULL;
        shared_make(&s, extensible_filter(c, CAPACITY, &allocator), COUNT);
        hash_numbers(&s, 0);
        assert_int_equal(tamis_filter_add_hashes(s.filter, s.hashes, BEFORE, NULL, NULL, NULL), TAMIS_OK);
        const uint64_t lines = tamis_filter_plan(s.filter)->lines;
        late = (late_adder){s.filter, s.hashes + BEFORE, COUNT - BEFORE, 2, lines * TAMIS__LINE, false};
        assert_int_equal(tamis_filter_copy(&copy, s.filter, NULL), TAMIS_OK);
        assert_int_equal(late.rounds, 0);
        assert_true(tamis_filter_plan(s.filter)->lines >= 2 * lines);
        assert_true(tamis_filter_is_equal(copy, s.filter));
        assert_int_equal(filter_info(copy).added, filter_info(s.filter).added);
        assert_int_equal(filter_info(copy).capacity, filter_info(s.filter).capacity);
        assert_int_equal(filter_info(copy).memory, filter_info(s.filter).memory);
        late.min = SIZE_MAX;
        tamis_filter_free(s.filter);
        s.filter = copy; /* continues like the original */
        s.count = COUNT - late.count;
        assert_all_there(&s);
        s.count = COUNT;
        run_together(&s, 2, add_all_keys);
        assert_all_there(&s);
        shared_release(&s);
    }
}

/* Partitions without a key have no lines yet, but the memory limit includes these. The copy counts them as
 * its original does. */
static void reg_22_a_copy_of_few_keys_owes_their_lines(void **state) {
    (void)state;
    const filter_case c = {"", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, true, 1e-6};
    tamis_plan plan = case_plan(&c, 0, 0);
    for (int concurrent = 0; concurrent < 2; concurrent++) {
        for (size_t count = 0; count <= 4000; count = count * 3 + 7) {
            tamis_filter_options options = plan_options(&plan);
            options.concurrent = concurrent;
            shared s;
            tamis_filter *copy = NULL;
            shared_make(&s, create_filter(&plan, &options), count);
            hash_numbers(&s, 0);
            assert_int_equal(tamis_filter_add_hashes(s.filter, s.hashes, count, NULL, NULL, NULL), TAMIS_OK);
            assert_int_equal(tamis_filter_copy(&copy, s.filter, NULL), TAMIS_OK);
            const table *mine = copy->body, *other = s.filter->body;
            assert_int_equal(mine->lines_due, other->lines_due);
            assert_int_equal(filter_info(copy).memory, filter_info(s.filter).memory);
            assert_true(tamis_filter_is_equal(copy, s.filter));
            tamis_filter_free(s.filter);
            s.filter = copy;
            assert_all_there(&s);
            shared_release(&s);
        }
    }
}

/* A concurrent table grows by a union beyond its capacity, like any other table. */
static void reg_22_a_concurrent_table_grows_by_union(void **state) {
    (void)state;
    enum { CAPACITY = 5000 };
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        if (!is_made_for_a_number(c))
            continue;
        shared s;
        shared_make(&s, extensible_filter(c, CAPACITY, NULL), 2 * CAPACITY);
        tamis_filter *other = extensible_filter(c, CAPACITY, NULL);
        hash_numbers(&s, 0);
        assert_int_equal(tamis_filter_add_hashes(s.filter, s.hashes, CAPACITY, NULL, NULL, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_add_hashes(other, s.hashes + CAPACITY, CAPACITY, NULL, NULL, NULL),
                         TAMIS_OK);
        assert_int_equal(tamis_filter_union(s.filter, other, NULL), TAMIS_OK);
        assert_all_there(&s);
        assert_true(filter_info(s.filter).added > 2 * CAPACITY - CAPACITY / 50);
        run_together(&s, 4, add_all_keys); /* the parts are unchanged */
        assert_all_there(&s);
        tamis_filter_free(other);
        shared_release(&s);
    }
}

/* ---- checked builds ---- */

/* An allocator that, once armed, lets another thread call the filter that is allocating. */
typedef struct intruder {
    tamis_filter *filter;
    bool armed;
    tamis_status adds, queries, saves;
    tamis_error err;
} intruder;

static void *intrude(void *context) {
    intruder *in = context;
    tamis_answer answer;
    tamis_filter *copy = NULL;
    in->queries = tamis_filter_contains(in->filter, "x", 1, &answer, NULL);
    if (in->queries == TAMIS_OK) /* built without assertions: the next call would do harm */
        return NULL;
    in->adds = tamis_filter_add(in->filter, "x", 1, &answer, &in->err);
    in->saves = tamis_filter_copy(&copy, in->filter, NULL);
    return NULL;
}

static void *alloc_and_let_in(void *context, size_t size, size_t align) {
    intruder *in = context;
    if (in->armed) {
        pthread_t thread;
        in->armed = false;
        if (pthread_create(&thread, NULL, intrude, in) == 0)
            pthread_join(thread, NULL);
    }
    void *block = aligned_alloc(align, (size + align - 1) / align * align);
    return block ? memset(block, 0, size) : NULL;
}

static void free_all(void *context, void *block, size_t size) {
    (void)context;
    (void)size;
    free(block);
}

/* With assertions, a second thread in a filter that is not concurrent is an error. */
static void reg_22_two_threads_in_one_filter(void **state) {
    (void)state;
    filter_case c = {"", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, true, 1e-6};
    tamis_plan plan = case_plan(&c, 0, 0);
    tamis_filter_options options = plan_options(&plan);
    intruder in = {.err = TAMIS_ERROR_INIT};
    const tamis_allocator allocator = {alloc_and_let_in, free_all, &in};
    options.allocator = &allocator;
    in.filter = create_filter(&plan, &options);
    in.armed = true;
    for (uint64_t i = 0; in.armed; i++) /* until it grows */
        assert_int_equal(tamis_filter_add(in.filter, &i, sizeof i, NULL, NULL), TAMIS_OK);
    if (in.queries == TAMIS_OK) {
        tamis_filter_free(in.filter);
        skip();
    }
    assert_int_equal(in.queries, TAMIS_E_INVALID);
    assert_int_equal(in.adds, TAMIS_E_INVALID);
    assert_int_equal(in.saves, TAMIS_E_INVALID);
    assert_non_null(strstr(in.err.text, "two threads are in it at once, and it is not concurrent"));
    assert_int_equal(tamis_filter_add(in.filter, "x", 1, NULL, NULL), TAMIS_OK);
    tamis_filter_free(in.filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_in_a_batch_come_in_order),
        cmocka_unit_test(schemes_without_digest_are_refused),
        cmocka_unit_test(reg_22_opened_filters_are_concurrent),
        cmocka_unit_test(a_file_that_cannot_be_concurrent_is_refused),
        cmocka_unit_test(reg_22_two_threads_in_one_filter),
        cmocka_unit_test(a_copy_in_pieces_misses_nothing),
        cmocka_unit_test(reg_22_grown_by_many_threads),
        cmocka_unit_test(reg_22_a_copy_starts_anew_after_growth),
        cmocka_unit_test(reg_22_saved_while_it_grows),
        cmocka_unit_test(reg_22_a_copy_of_few_keys_owes_their_lines),
        cmocka_unit_test(reg_22_a_concurrent_table_grows_by_union),
        cmocka_unit_test(reg_22_saved_while_others_add),
        cmocka_unit_test(each_key_is_absent_once),
        cmocka_unit_test(partitions_meet),
        cmocka_unit_test(full_is_exact),
        cmocka_unit_test(full_of_a_growing_table),
        cmocka_unit_test(no_memory_loses_nothing),
        cmocka_unit_test(over_capacity_by_all),
        cmocka_unit_test(calls_on_the_whole_filter_see_whole_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
