/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/*
 * Adding a batch in parts must give the same as adding it in order: the same answers, bytes and statistics,
 * and the same key at which the filter is full. The parts are added in any order, or each in a thread of its
 * own.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Internal headers: the test sets the kernels of a filter, and reads the number of entries of a table. */
#include "filter/filter_int.h"
#include "filter/parts.h"
#include "filter/table/fingerprint_table.h"
#include "format/format.h"
#include "property/filter_model.h"
#include "service/dedup/dedup_parts.h"
#include "support/fault.h"
#include "support/isa.h"

enum { BATCH = 6000, UNTOUCHED = 0x77 };

static tamis_error err;

/* ---- batches ---- */

static tamis_hash hashes[BATCH];
static tamis_answer expected[BATCH], got[BATCH];

/* Makes random hashes. A third are repeated: from this batch or, since they have few values, from an
 * earlier one. */
static void make_batch(size_t count, uint64_t hasher_id, int fixed, uint64_t *random) {
    for (size_t i = 0; i < count; i++) {
        uint64_t chosen = test_below(random, 6), seed = test_below(random, 20000);
        if (chosen == 0)
            random_hashes(&hashes[i], 1, hasher_id, fixed, &seed);
        else if (chosen == 1 && i)
            hashes[i] = hashes[test_below(random, i)];
        else
            random_hashes(&hashes[i], 1, hasher_id, fixed, random);
    }
    memset(expected, UNTOUCHED, sizeof expected);
    memset(got, UNTOUCHED, sizeof got);
}

/* ---- adding in parts ---- */

typedef enum way { IN_ORDER, SHUFFLED, BY_THREADS } way;

typedef struct part_work {
    tamis_filter *filter;
    tamis_dedup *session; /* queried instead of the filter; NULL: none */
    size_t count, done;
    uint32_t part, parts;
    tamis_status status;
    tamis_error err;
} part_work;

static void *add_part(void *context) {
    part_work *w = context;
    w->err = (tamis_error)TAMIS_ERROR_INIT;
    w->done = SIZE_MAX;
    const tamis__divided_batch batch = {hashes, w->count, got, w->parts};
    w->status = w->session ? tamis__dedup_add_part(w->session, &batch, w->part, &w->done, &w->err)
                           : tamis__filter_add_part(w->filter, &batch, w->part, &w->done, &w->err);
    return NULL;
}

/* Adds all parts. Returns the result of the part that got least far. */
static part_work add_parts(const part_work *whole, way how, uint64_t *random) {
    part_work work[TAMIS__PARTS_MAX] = {*whole};
    pthread_t threads[TAMIS__PARTS_MAX];
    uint32_t order[TAMIS__PARTS_MAX] = {0}, parts = whole->parts;
    for (uint32_t i = 0; i < parts; i++) {
        uint32_t pick = how == SHUFFLED ? (uint32_t)test_below(random, i + 1) : i;
        order[i] = order[pick];
        order[pick] = i;
    }
    for (uint32_t i = 0; i < parts; i++) {
        part_work *w = &work[order[i]];
        *w = *whole;
        w->part = order[i];
        if (how == BY_THREADS)
            assert_int_equal(pthread_create(&threads[order[i]], NULL, add_part, w), 0);
        else
            add_part(w);
    }
    for (uint32_t i = 0; i < parts && how == BY_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    part_work min = work[0];
    for (uint32_t i = 0; i < parts; i++) {
        assert_int_equal(work[i].done == whole->count, work[i].status == TAMIS_OK);
        min = work[i].done < min.done ? work[i] : min;
    }
    return min;
}

static void note_absent(tamis_filter *filter, size_t done, tamis_status status, tamis_error *said) {
    uint64_t absent = 0;
    for (size_t i = 0; i < done; i++)
        absent += got[i] == TAMIS_ABSENT;
    tamis__filter_added_parts(filter, absent, status, said);
}

/* Adds the batch to one filter in order, and to the other in up to `max` parts. Returns the number of
 * parts. */
static uint32_t add_both(tamis_filter *ordinary, tamis_filter *divided, size_t count, uint32_t max, way how,
                         tamis_status *status, uint64_t *random) {
    size_t done = SIZE_MAX;
    *status = tamis_filter_add_hashes(ordinary, hashes, count, expected, &done, &err);
    part_work work = {.filter = divided, .count = count, .parts = tamis__filter_parts(divided, count, max)};
    assert_true(work.parts >= 1 && work.parts <= max && (work.parts & (work.parts - 1)) == 0);
    part_work min = add_parts(&work, how, random);
    if (work.parts > 1)
        note_absent(divided, min.done, min.status, &min.err);
    assert_int_equal(min.done, done);
    assert_int_equal(min.status, *status);
    assert_memory_equal(got, expected, work.parts > 1 && *status != TAMIS_OK ? done : count);
    if (*status != TAMIS_OK)
        assert_string_equal(min.err.text, err.text);
    return work.parts;
}

static uint8_t *encode(const tamis_filter *filter, uint64_t *size) {
    assert_int_equal(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, size, &err), TAMIS_OK);
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, bytes, *size, &err), TAMIS_OK);
    return bytes;
}

static void same_bytes(const tamis_filter *filter, const tamis_filter *other) {
    uint64_t size, other_size;
    uint8_t *bytes = encode(filter, &size), *others = encode(other, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(bytes, others, size);
    free(bytes);
    free(others);
}

static void same_filter(const tamis_filter *filter, const tamis_filter *other) {
    tamis_filter_info a = filter_info(filter), b = filter_info(other);
    assert_int_equal(a.added, b.added);
    assert_int_equal(a.memory, b.memory);
    assert_int_equal(a.ones, b.ones);
    assert_int_equal(a.saturated, b.saturated);
    assert_int_equal(a.full, b.full);
    assert_memory_equal(&a.cardinality, &b.cardinality, sizeof a.cardinality);
    assert_memory_equal(&a.fpr_live, &b.fpr_live, sizeof a.fpr_live);
    assert_memory_equal(&a.false_present, &b.false_present, sizeof a.false_present);
    same_bytes(filter, other);
}

/* ---- kinds ---- */

static const filter_case kinds[] = {
    {"growing, 32 bits", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, true, 1e-6},
    {"growing, 38 bits", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, true, 1e-9},
    {"growing, 48 bits", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_SIP, true, 1e-11},
    {"exact, growing", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, true, 0},
    {"blocked", TAMIS_KIND_BLOCKED, TAMIS_SCHEME_XXH3, false, 1e-3},
    {"blocked, more probes", TAMIS_KIND_BLOCKED, TAMIS_SCHEME_XXH3, false, 1e-6},
    {"counting", TAMIS_KIND_COUNTING, TAMIS_SCHEME_XXH3, false, 1e-2},
    {"fingerprint, 24 bits", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_SIP, false, 1e-6},
    {"fingerprint, 32 bits", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, false, 1e-9},
    {"exact", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, false, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static tamis__isa isa;

/* Plans 64 partitions, which a plan would choose only for very many keys. */
static tamis_plan divided_plan(const filter_case *c, uint64_t n) {
    tamis_plan plan = case_plan(c, n, 0);
    return c->grows || case_is_bloom(c) ? plan : plan_in_partitions(plan, 64);
}

static tamis_filter *make(const filter_case *c, uint64_t n) {
    tamis_plan plan = divided_plan(c, n);
    tamis_filter *filter = plan_filter(&plan, NULL);
    filter->kernels = tamis__filter_kernels_of(isa);
    return filter;
}

/* Fills both filters. True if they grew. */
static bool fill_both(const filter_case *c, uint32_t max, way how, uint64_t keys) {
    uint64_t random = model_seed(901 + max), divided_in = 0;
    const uint64_t capacity_planned = 2 * (keys + BATCH);
    tamis_filter *ordinary = make(c, capacity_planned), *divided = make(c, capacity_planned);
    const uint64_t memory = filter_info(divided).memory;
    tamis_status status = TAMIS_OK;
    for (uint64_t start = 0, count; start < keys && status == TAMIS_OK; start += count) {
        count = test_below(&random, start % 3 ? BATCH : 100) + 1;
        make_batch(count, filter_hasher_id(ordinary), 0, &random);
        uint32_t parts = add_both(ordinary, divided, count, max, how, &status, &random);
        assert_int_equal(parts, max);
        divided_in++;
        if (divided_in % 16 == 1)
            same_filter(ordinary, divided);
    }
    assert_int_equal(status, TAMIS_OK);
    same_filter(ordinary, divided);
    const bool grew = filter_info(divided).memory > memory;
    tamis_filter_free(ordinary);
    tamis_filter_free(divided);
    return grew;
}

static void every_kind(tamis__isa which) {
    const uint64_t keys = model_scale(150000, 3000);
    isa = which;
    for (int i = 0; i < KINDS; i++) {
        fill_both(&kinds[i], 2, SHUFFLED, keys);
        fill_both(&kinds[i], 64, SHUFFLED, keys);
        fill_both(&kinds[i], 4, BY_THREADS, keys);
        fill_both(&kinds[i], 8, BY_THREADS, keys);
    }
}

static void parts_are_the_batch(void **state) {
    (void)state;
    isa_each(every_kind);
}

/* With the kind that grows earliest. */
static void threads_grow_their_parts(void **state) {
    (void)state;
    isa = TAMIS__ISA_SCALAR;
    assert_true(fill_both(&kinds[3], 8, BY_THREADS, 70000));
}

/* Four of the first partitions are split, each in a part of its own. */
static void threads_split_partitions(void **state) {
    (void)state;
    uint64_t random = model_seed(914);
    tamis_status status = TAMIS_OK;
    isa = TAMIS__ISA_SCALAR;
    tamis_filter *ordinary = make(&kinds[3], 0), *divided = make(&kinds[3], 0);
    const table *t = divided->body;
    for (int batch = 0; batch < 60; batch++) {
        make_batch(BATCH, filter_hasher_id(ordinary), 0, &random);
        for (size_t i = 0; i < BATCH; i++)
            hashes[i].word[1] = hashes[i].word[1] >> 8 | hashes[i].word[0] % 4 * 0x55 << 56;
        assert_int_equal(add_both(ordinary, divided, BATCH, 8, BY_THREADS, &status, &random), 8);
        assert_int_equal(status, TAMIS_OK);
    }
    for (uint32_t i = 0; i < group_count(t); i++)
        assert_int_equal(t->groups[i].bits, i % 0x55 ? 0 : TAMIS__FINGERPRINT_SPLIT_BITS);
    same_filter(ordinary, divided);
    tamis_filter_free(ordinary);
    tamis_filter_free(divided);
}

/* ---- parts ---- */

static const filter_case undivided[] = {
    {"classic", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, false, 1e-3},
    {"fingerprint", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, false, 1e-6},
    {"exact", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, false, 0},
};

/* These filters have only one part: a table of few keys, for example, or a read-only filter in a file. */
static void some_have_one_part(void **state) {
    (void)state;
    uint64_t random = model_seed(907), size;
    for (size_t i = 0; i < sizeof undivided / sizeof *undivided; i++) {
        tamis_filter *ordinary = case_filter(&undivided[i], BATCH),
                     *divided = case_filter(&undivided[i], BATCH);
        tamis_status status;
        make_batch(BATCH, filter_hasher_id(ordinary), 0, &random);
        assert_int_equal(add_both(ordinary, divided, BATCH, 64, SHUFFLED, &status, &random), 1);
        same_filter(ordinary, divided);
        tamis_filter_free(ordinary);
        tamis_filter_free(divided);
    }
    tamis_filter *filter = case_filter(&kinds[1], 0), *opened = NULL;
    assert_int_equal(tamis__filter_parts(filter, BATCH, 0), 1);
    assert_int_equal(tamis__filter_parts(filter, BATCH, 1), 1);
    assert_int_equal(tamis__filter_parts(filter, BATCH, 3), 2);
    assert_int_equal(tamis__filter_parts(filter, BATCH, 1000), TAMIS__PARTS_MAX);
    uint8_t *bytes = encode(filter, &size);
    const tamis__encoded_bytes file = {bytes, size, "seen.tamis", true, NULL, NULL};
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    assert_int_equal(tamis__format_decode(&opened, &file, &options, &err), TAMIS_OK);
    assert_int_equal(tamis__filter_parts(opened, BATCH, 64), 1);
    tamis_filter_free(opened);
    free(bytes);
    tamis_filter_free(filter);
}

/* A table for many keys has partitions. A file keeps the partitions that it was made with, even if it has
 * only one. */
static void a_table_keeps_its_partitions(void **state) {
    (void)state;
    for (int i = 7; i < KINDS; i++)
        for (uint32_t partitions = 1; partitions <= 128; partitions = partitions == 1 ? 2 : 8 * partitions) {
            uint64_t random = model_seed(909), size;
            tamis_status status;
            tamis_plan plan = case_plan(&kinds[i], 200000, 0);
            assert_true(plan.partitions > 1 && plan.lines % plan.partitions == 0);
            plan = plan_in_partitions(plan, partitions);
            tamis_filter *filter = plan_filter(&plan, NULL), *read = NULL;
            make_batch(BATCH, filter_hasher_id(filter), 0, &random);
            assert_int_equal(tamis_filter_add_hashes(filter, hashes, BATCH, expected, NULL, &err), TAMIS_OK);
            uint8_t *bytes = encode(filter, &size);
            tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
            tamis_filter_options made = plan_options(&plan);
            options.secret = made.secret;
            options.secret_size = made.secret_size;
            assert_int_equal(tamis_filter_decode(&read, bytes, size, &options, &err), TAMIS_OK);
            free(bytes);
            assert_int_equal(tamis_filter_plan(read)->partitions, partitions);
            assert_int_equal(tamis__filter_parts(read, BATCH, 64), partitions < 64 ? partitions : 64);
            same_bytes(filter, read);
            make_batch(BATCH, filter_hasher_id(filter), 0, &random);
            add_both(filter, read, BATCH, 64, SHUFFLED, &status, &random);
            assert_int_equal(status, TAMIS_OK);
            plan = plan_in_partitions(plan, partitions == 1 ? 2 : 1);
            tamis_filter *other = plan_filter(&plan, NULL);
            tamis_difference difference = TAMIS_DIFFERENCE_INIT;
            assert_int_equal(tamis_filter_compare(&difference, filter, other, &err), TAMIS_OK);
            assert_false(difference.same_shape);
            assert_int_equal(tamis_filter_compare(&difference, filter, read, &err), TAMIS_OK);
            assert_true(difference.same_shape && difference.same_body);
            tamis_filter_free(filter);
            tamis_filter_free(read);
            tamis_filter_free(other);
        }
}

/* Every hash is in exactly one part, and so is every block, for any number of blocks. */
static void a_hash_is_in_one_part(void **state) {
    (void)state;
    uint64_t random = model_seed(908);
    for (uint64_t blocks = 1; blocks < 300; blocks += 1 + blocks / (model_full() ? 5 : 2)) {
        uint32_t owner[300];
        tamis_plan plan = case_plan(&kinds[4], 100000, 0);
        plan.bits = 512 * blocks;
        tamis_filter *filter = plan_filter(&plan, NULL);
        filter->allow_over_capacity = true;
        uint32_t parts = tamis__filter_parts(filter, 1, 64);
        assert_true(parts == 64 || (parts <= blocks && 2 * parts > blocks));
        memset(owner, 0xff, sizeof owner);
        for (size_t i = 0; i < 2000; i++) {
            tamis_hash *hash = &hashes[0];
            random_hashes(hash, 1, filter_hasher_id(filter), 0, &random);
            if (i < 600) /* near the beginning of a block */
                hash->word[1] = (uint64_t)(((tamis__u128)(i / 2) % blocks << 64) / blocks) + i % 2;
            uint32_t mine = UINT32_MAX;
            for (uint32_t part = 0; part < parts && parts > 1; part++) {
                const tamis__divided_batch batch = {hash, 1, got, parts};
                size_t done = 9;
                got[0] = UNTOUCHED;
                assert_int_equal(tamis__filter_add_part(filter, &batch, part, &done, &err), TAMIS_OK);
                assert_int_equal(done, 1);
                if (got[0] == UNTOUCHED)
                    continue;
                assert_int_equal(mine, UINT32_MAX);
                mine = part;
            }
            uint64_t block = tamis__mulhi(hash->word[1], blocks); /* tamis__block_of */
            assert_true(parts == 1 || mine != UINT32_MAX);
            assert_true(owner[block] == UINT32_MAX || owner[block] == mine);
            owner[block] = mine;
        }
        tamis_filter_free(filter);
    }
}

/* ---- limits ---- */

/* Adds batches until the filter is full, or `keys` are added. */
static void until_full(tamis_filter *ordinary, tamis_filter *divided, uint64_t keys, int fixed,
                       tamis_full full) {
    uint64_t random = model_seed(911), in_parts = 0, whole = 0, start = 0;
    tamis_status status = TAMIS_OK;
    for (size_t count; start < keys && status == TAMIS_OK; start += count) {
        count = test_below(&random, 2000) + 1;
        make_batch(count, filter_hasher_id(ordinary), fixed, &random);
        uint32_t parts = add_both(ordinary, divided, count, 8, SHUFFLED, &status, &random);
        in_parts += parts > 1;
        whole += parts == 1;
        assert_true(status == TAMIS_OK || parts == 1);
    }
    same_filter(ordinary, divided);
    assert_int_equal(filter_info(divided).full, full);
    assert_true(in_parts > 0 && (whole > 0 || full == TAMIS_FULL_NOT));
    assert_int_equal(status, full == TAMIS_FULL_NOT ? TAMIS_OK : TAMIS_E_FULL);
    tamis_filter_free(ordinary);
    tamis_filter_free(divided);
}

static void a_capacity_is_kept(void **state) {
    (void)state;
    until_full(case_filter(&kinds[4], 30000), case_filter(&kinds[4], 30000), UINT64_MAX, 0,
               TAMIS_FULL_CAPACITY);
    tamis_filter *filters[2];
    for (int i = 0; i < 2; i++) {
        filters[i] = case_filter(&kinds[4], 30000);
        filters[i]->allow_over_capacity = true;
    }
    until_full(filters[0], filters[1], 60000, 0, TAMIS_FULL_NOT);
    for (int i = 7; i < KINDS; i++) {
        tamis_plan plan = plan_in_partitions(case_plan(&kinds[i], 36000, 0), 8); /* lines for more keys */
        plan.capacity = 30000;
        until_full(plan_filter(&plan, NULL), plan_filter(&plan, NULL), UINT64_MAX, 0, TAMIS_FULL_CAPACITY);
    }
}

static void a_memory_limit_is_kept(void **state) {
    (void)state;
    tamis_plan plan = case_plan(&kinds[3], 0, 13 << 20);
    assert_int_equal(plan.memory_limit, 13 << 20);
    if (model_full())
        until_full(plan_filter(&plan, NULL), plan_filter(&plan, NULL), UINT64_MAX, 0, TAMIS_FULL_MEMORY);
    until_full(plan_filter(&plan, NULL), plan_filter(&plan, NULL), UINT64_MAX, 8, TAMIS_FULL_MEMORY);
}

static void a_rate_is_kept(void **state) {
    (void)state;
    tamis_plan plan = case_plan(&kinds[0], 0, 0);
    for (int fixed = 0; fixed <= 4; fixed += 4) {
        plan.fpr = ldexp(model_full() ? 2e-10 : 4e-11, -fixed * 5 / 8);
        until_full(plan_filter(&plan, NULL), plan_filter(&plan, NULL), UINT64_MAX, fixed, TAMIS_FULL_RATE);
    }
}

/* ---- parts that fail ---- */

static uint64_t entries_of(const tamis_filter *filter) {
    const table *t = filter->body;
    uint64_t entries = 0;
    for (partition_walk w = {.t = t}; next_partition(&w);)
        entries += w.in->used;
    return entries;
}

/* Growth without memory: answered keys are present, and the rest can be added later. */
static void memory_that_runs_out_is_reported(void **state) {
    (void)state;
    uint64_t random = model_seed(913);
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_plan plan = case_plan(&kinds[1], 0, 0);
    tamis_filter *filter = plan_filter(&plan, &allocator);
    uint32_t failed = 0;
    for (int round = 0; round < 40; round++) {
        make_batch(BATCH, filter_hasher_id(filter), 4, &random);
        assert_int_equal(tamis__filter_parts(filter, BATCH, 64), 64);
        memory.onwards = true;
        memory.fail_at = memory.requests + 1 + test_below(&random, 8);
        for (uint32_t part = 0; part < 64; part++) {
            const tamis__divided_batch batch = {hashes, BATCH, got, 64};
            size_t done = SIZE_MAX, then = SIZE_MAX;
            const tamis_status status = tamis__filter_add_part(filter, &batch, part, &done, &err);
            if (status == TAMIS_OK) {
                assert_int_equal(done, BATCH);
                continue;
            }
            failed++;
            assert_int_equal(status, TAMIS_E_NOMEM);
            assert_true(done < BATCH && got[done] == UNTOUCHED);
            memory.onwards = false;
            const tamis__divided_batch rest = {hashes + done, BATCH - done, got + done, 64};
            assert_int_equal(tamis__filter_add_part(filter, &rest, part, &then, &err), TAMIS_OK);
            assert_int_equal(then, BATCH - done);
        }
        memory.fail_at = 0;
        note_absent(filter, BATCH, TAMIS_OK, NULL);
        assert_int_equal(filter_info(filter).added, entries_of(filter));
        tamis_filter_contains_hashes(filter, hashes, BATCH, got, NULL, NULL);
        for (int i = 0; i < BATCH; i++)
            assert_int_equal(got[i], TAMIS_PRESENT);
    }
    assert_true(failed > 0);
    tamis_filter_free(filter);
    assert_int_equal(memory.live_blocks, 0);
}

/* ---- sessions ---- */

/* Gives some hashes so many equal first bits that no table has slots for all. A key that finds no slot
 * takes thousands of times as long as another one. */
static void crowd_some(size_t count, uint64_t prefix, int bits, uint64_t *random) {
    const uint64_t one_in = model_full() ? 150 : 300;
    for (size_t i = 0; i < count; i++)
        if (test_below(random, one_in) == 0)
            hashes[i].word[1] = prefix ^ test_random(random) >> bits;
}

static tamis_dedup *session_of(tamis_filter *filter, tamis_on_full on_full) {
    tamis_dedup_options options = TAMIS_DEDUP_OPTIONS_INIT;
    tamis_dedup *session = NULL;
    options.on_full = on_full;
    assert_int_equal(tamis_dedup_open(&session, filter, &options, &err), TAMIS_OK);
    return session;
}

static void same_counts(const tamis_dedup *session, const tamis_dedup *other) {
    tamis_dedup_counts a = TAMIS_DEDUP_COUNTS_INIT, b = TAMIS_DEDUP_COUNTS_INIT;
    tamis_dedup_count(session, &a);
    tamis_dedup_count(other, &b);
    assert_memory_equal(&a, &b, sizeof a);
}

/* Returns the number of keys that are present after the refused one. */
static uint64_t query_both(const filter_case *c, tamis_on_full on_full, way how) {
    uint64_t random = model_seed(917), prefix = test_random(&random), unknown = 0;
    tamis_filter *filter = make(c, 100000), *other = make(c, 100000);
    tamis_dedup *ordinary = session_of(filter, on_full), *divided = session_of(other, on_full);
    tamis_status status = TAMIS_OK;
    const uint64_t enough = model_scale(50, 1), max = model_full() ? BATCH : 1000;
    while (unknown < enough && status == TAMIS_OK) {
        size_t count = test_below(&random, max) + 1, done = SIZE_MAX;
        make_batch(count, filter_hasher_id(filter), 0, &random);
        crowd_some(count, prefix, c->grows ? 40 : 30,
                   &random); /* equal home and spill line, but not all bits of a slot */
        status = tamis_dedup_add_hashes(ordinary, hashes, count, expected, &done, &err);
        part_work work = {.session = divided, .count = count, .parts = tamis__dedup_parts(divided, count, 8)};
        assert_int_equal(work.parts, 8);
        part_work min = add_parts(&work, how, &random);
        tamis__dedup_finish_parts(divided, got, min.done, min.status, &min.err);
        assert_int_equal(min.status, status);
        assert_int_equal(min.done, done);
        assert_memory_equal(got, expected, done);
        same_counts(ordinary, divided);
        assert_int_equal(filter_info(other).added, entries_of(other));
        for (size_t i = 0; i < done; i++)
            unknown += got[i] == TAMIS_UNKNOWN;
        if (status == TAMIS_OK)
            same_filter(filter, other);
        if (status != TAMIS_OK)
            assert_string_equal(min.err.text, err.text);
    }
    assert_int_equal(status, on_full == TAMIS_ON_FULL_PASS ? TAMIS_OK : TAMIS_E_FULL);
    assert_true(unknown > 0 || on_full == TAMIS_ON_FULL_FAIL);
    const uint64_t behind = filter_info(other).added - filter_info(filter).added;
    tamis_dedup_close(ordinary);
    tamis_dedup_close(divided);
    tamis_filter_free(filter);
    tamis_filter_free(other);
    return behind;
}

static void a_session_is_queried_in_parts(void **state) {
    (void)state;
    uint64_t behind = 0;
    isa = TAMIS__ISA_SCALAR;
    for (int i = 1; i < KINDS; i++)
        for (int how = SHUFFLED; how <= BY_THREADS && !case_is_bloom(&kinds[i]); how++) {
            assert_int_equal(query_both(&kinds[i], TAMIS_ON_FULL_PASS, (way)how), 0);
            behind += query_both(&kinds[i], TAMIS_ON_FULL_FAIL, (way)how);
        }
    assert_true(behind > 0); /* all of them are counted */
}

/* ---- repeated work after a refused key ---- */

static size_t handed; /* number of keys passed to the table */

static bool finds_no_slot(const tamis_hash *hash) {
    return hash->word[0] % 3 != 0;
}

static tamis_status add_every_third(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                    tamis_error *reported) {
    (void)filter;
    handed += batch->count;
    for (*done = 0; *done < batch->count; ++*done) {
        if (finds_no_slot(&batch->hashes[*done]))
            return tamis__fail(reported, TAMIS_E_FULL, 0, "filter: full, as this test has it");
        batch->answers[*done] = TAMIS_ABSENT;
    }
    return TAMIS_OK;
}

/* A key without a slot ends the table's call, and the keys after it are passed again. That must not be the
 * whole rest of the batch for each such key. */
static void keys_that_find_no_slot_are_skipped(void **state) {
    (void)state;
    enum { PARTS = 8, GIVEN_AT_FIRST = 512 };
    uint64_t random = model_seed(919);
    tamis_filter *filter = make(&kinds[1], 100000);
    tamis_dedup *session = session_of(filter, TAMIS_ON_FULL_PASS);
    const struct tamis__filter_ops *ops = filter->ops;
    tamis__parts_ops counting = *ops->parts;
    struct tamis__filter_ops counted = *ops;
    counting.add = add_every_third;
    counted.parts = &counting;
    filter->ops = &counted;
    handed = 0;
    make_batch(BATCH, filter_hasher_id(filter), 0, &random);
    part_work work = {.session = session, .count = BATCH, .parts = PARTS};
    part_work min = add_parts(&work, IN_ORDER, &random);
    filter->ops = ops;
    assert_int_equal(min.status, TAMIS_OK);
    assert_int_equal(min.done, BATCH);
    for (size_t i = 0; i < BATCH; i++)
        assert_int_equal(got[i], finds_no_slot(&hashes[i]) ? TAMIS_UNKNOWN : TAMIS_ABSENT);
    assert_in_range(handed, BATCH, 2 * BATCH + PARTS * GIVEN_AT_FIRST);
    tamis_dedup_close(session);
    tamis_filter_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_the_batch),
        cmocka_unit_test(threads_grow_their_parts),
        cmocka_unit_test(threads_split_partitions),
        cmocka_unit_test(some_have_one_part),
        cmocka_unit_test(a_table_keeps_its_partitions),
        cmocka_unit_test(a_hash_is_in_one_part),
        cmocka_unit_test(a_capacity_is_kept),
        cmocka_unit_test(a_memory_limit_is_kept),
        cmocka_unit_test(a_rate_is_kept),
        cmocka_unit_test(memory_that_runs_out_is_reported),
        cmocka_unit_test(a_session_is_queried_in_parts),
        cmocka_unit_test(keys_that_find_no_slot_are_skipped),
    };
    err = (tamis_error)TAMIS_ERROR_INIT;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
