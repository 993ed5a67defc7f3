/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/* Tables that get entries without their keys: tables that grow beyond their number of keys, and unions of
 * all pairs of sizes. Every key is present. The rate is the one that the filter reports and the one that
 * was asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "property/filter_model.h"
#include "support/fault.h"

enum { BATCH = 1 << 12 };

static uint64_t next_key; /* keys are numbers, each used once in a test */

static tamis_plan plan_for(tamis_kind kind, double fpr, uint64_t expect, uint64_t memory) {
    filter_case c = {"table", kind, TAMIS_SCHEME_XXH3, expect == 0, fpr};
    return case_plan(&c, expect, memory);
}

/* Makes a filter that grows, for any plan. */
static tamis_filter *make_planned(const tamis_plan *plan, const tamis_allocator *allocator) {
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    options.allocator = allocator;
    return create_filter(plan, &options);
}

static tamis_filter *make(tamis_kind kind, double fpr, uint64_t expect) {
    tamis_plan plan = plan_for(kind, fpr, expect, 0);
    return make_planned(&plan, NULL);
}

/* Makes the hashes of the keys first .. first + count - 1. */
static void hash_keys(const tamis_filter *filter, uint64_t first, size_t count, tamis_hash *hashes) {
    for (size_t i = 0; i < count; i++) {
        uint64_t number = first + i;
        tamis_key key = {&number, sizeof number};
        assert_int_equal(tamis_hash_many(tamis_filter_hasher(filter), &key, 1, &hashes[i], NULL), TAMIS_OK);
    }
}

static tamis_status add_keys(tamis_filter *filter, uint64_t first, size_t count, size_t *added) {
    static tamis_hash hashes[BATCH];
    tamis_status status = TAMIS_OK;
    size_t done = 0;
    for (*added = 0; *added < count && status == TAMIS_OK; *added += done) {
        size_t size = count - *added < BATCH ? count - *added : BATCH;
        hash_keys(filter, first + *added, size, hashes);
        status = tamis_filter_add_hashes(filter, hashes, size, NULL, &done, NULL);
    }
    return status;
}

static uint64_t add_new(tamis_filter *filter, size_t count) {
    uint64_t first = next_key;
    size_t added;
    next_key += count;
    if (add_keys(filter, first, count, &added) != TAMIS_OK) {
        tamis_filter_info info = filter_info(filter);
        const tamis_plan *plan = tamis_filter_plan(filter);
        fail_msg("full for reason %d at rate %g of %g, %" PRIu64 " keys, slots of %" PRIu32 " bits",
                 info.full, info.fpr_live, plan->fpr, info.added, plan->slot_bits);
    }
    return first;
}

static size_t count_present(const tamis_filter *filter, uint64_t first, size_t count) {
    static tamis_hash hashes[BATCH];
    static tamis_answer answers[BATCH];
    size_t present = 0;
    for (size_t done = 0; done < count; done += BATCH) {
        size_t size = count - done < BATCH ? count - done : BATCH;
        hash_keys(filter, first + done, size, hashes);
        assert_int_equal(tamis_filter_contains_hashes(filter, hashes, size, answers, NULL, NULL), TAMIS_OK);
        for (size_t i = 0; i < size; i++)
            present += answers[i] == TAMIS_PRESENT;
    }
    return present;
}

static void check_all_present(const tamis_filter *filter, uint64_t first, size_t count) {
    assert_int_equal(count_present(filter, first, count), count);
}

/* Checks that the reported rate is that of lookups, within 6 sigma, and at most the promised one. */
static void check_rate(const tamis_filter *filter) {
    const size_t lookups = (size_t)test_scale(1 << 18, 1 << 13, 1 << 17);
    const double stated = filter_info(filter).fpr_live, expected = stated * (double)lookups;
    const double hits = (double)count_present(filter, UINT64_C(1) << 60, lookups);
    if (hits > expected + 6 * sqrt(expected) + 6 || hits < expected - 6 * sqrt(expected) - 6)
        fail_msg("%g of %zu lookups hit, stated %g", hits, lookups, stated);
    if (stated > tamis_filter_plan(filter)->fpr * 1.0001)
        fail_msg("rate %g, promised %g", stated, tamis_filter_plan(filter)->fpr);
}

/* ---- growth ---- */

static const struct growth_case {
    tamis_kind kind;
    double fpr;
} growth_cases[] = {{TAMIS_KIND_FINGERPRINT, 1e-3},   {TAMIS_KIND_FINGERPRINT, 1e-4},
                    {TAMIS_KIND_FINGERPRINT, 9.6e-5}, {TAMIS_KIND_FINGERPRINT, 1.1e-5},
                    {TAMIS_KIND_FINGERPRINT, 1e-6},   {TAMIS_KIND_FINGERPRINT, 1e-9},
                    {TAMIS_KIND_FINGERPRINT, 1e-12},  {TAMIS_KIND_FINGERPRINT, 1e-17},
                    {TAMIS_KIND_FINGERPRINT, 1e-25},  {TAMIS_KIND_EXACT, 0}};
enum { GROWTH_CASES = sizeof growth_cases / sizeof *growth_cases };

/* Far beyond the number of keys that it was made for, a table still keeps the rate that was asked for. */
static void reg_22_a_full_table_grows(void **state) {
    static const uint64_t expected[] = {1, 100, 5000};
    (void)state;
    for (int i = 0; i < GROWTH_CASES * 3; i++) {
        const struct growth_case *c = &growth_cases[i / 3];
        const uint64_t expect = expected[i % 3], keys = 40 * expect + 1000;
        tamis_filter *filter = make(c->kind, c->fpr, expect);
        const double promised = tamis_filter_plan(filter)->fpr;
        assert_true(tamis_filter_can(filter, TAMIS_CAN_GROW));
        uint64_t first = add_new(filter, (size_t)keys);
        tamis_filter_info info = filter_info(filter);
        check_all_present(filter, first, (size_t)keys);
        assert_true(info.capacity >= info.added && !info.saturated);
        if (c->kind != TAMIS_KIND_EXACT)
            assert_true(tamis_filter_plan(filter)->fpr <= promised);
        assert_true(fabs(info.cardinality - (double)keys) <= 1 + 1e-3 * (double)keys);
        check_rate(filter);
        tamis_filter_free(filter);
    }
}

/* Any batches give the same bytes and counts. */
static void growth_does_not_depend_on_batches(void **state) {
    (void)state;
    tamis_filter *filter = make(TAMIS_KIND_FINGERPRINT, 1e-4, 500),
                 *other = make(TAMIS_KIND_FINGERPRINT, 1e-4, 500);
    tamis_difference difference = TAMIS_DIFFERENCE_INIT;
    size_t added;
    assert_int_equal(add_keys(filter, 0, 20000, &added), TAMIS_OK);
    for (uint64_t i = 0; i < 20000; i += 7)
        assert_int_equal(add_keys(other, i, i + 7 <= 20000 ? 7 : (size_t)(20000 - i), &added), TAMIS_OK);
    assert_int_equal(tamis_filter_compare(&difference, filter, other, NULL), TAMIS_OK);
    assert_true(difference.same_body);
    assert_true(tamis_filter_is_equal(filter, other));
    assert_int_equal(filter_info(filter).added, filter_info(other).added);
    tamis_filter_free(filter);
    tamis_filter_free(other);
}

/* Hashes of one line, all in the half that becomes the same new line. Slots get wider, so that line has fewer
 * slots than there are hashes. */
static void a_full_half_of_a_line_loses_nothing(void **state) {
    enum { HASHES = 29, LINE = 5 };
    (void)state;
    tamis_filter *filter = make(TAMIS_KIND_FINGERPRINT, 1e-3, 100);
    const uint64_t lines = tamis_filter_plan(filter)->lines;
    tamis_hash hashes[HASHES];
    tamis_answer answers[HASHES];
    assert_int_equal(tamis_filter_plan(filter)->slot_bits, 16);
    hash_keys(filter, 0, HASHES, hashes);
    for (uint64_t i = 0; i < HASHES; i++)
        hashes[i].word[1] = UINT64_MAX / lines * LINE + UINT64_MAX / lines / 64 * (33 + i);
    assert_int_equal(tamis_filter_add_hashes(filter, hashes, HASHES, NULL, NULL, NULL), TAMIS_OK);
    assert_int_equal(filter_info(filter).added, HASHES);
    while (tamis_filter_plan(filter)->lines == lines)
        (void)add_new(filter, 1);
    assert_int_equal(tamis_filter_plan(filter)->slot_bits, 20);
    assert_int_equal(tamis_filter_contains_hashes(filter, hashes, HASHES, answers, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i < HASHES; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
    tamis_filter_free(filter);
}

static void a_frozen_table_stays_as_it_is(void **state) {
    (void)state;
    tamis_plan plan = plan_for(TAMIS_KIND_FINGERPRINT, 1e-6, 1000, 0);
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    size_t added;
    options.frozen = true;
    tamis_filter *filter = create_filter(&plan, &options), *copy = NULL;
    assert_false(tamis_filter_can(filter, TAMIS_CAN_GROW));
    assert_int_equal(add_keys(filter, 0, 1001, &added), TAMIS_E_FULL);
    assert_int_equal(added, 1000);
    assert_int_equal(filter_info(filter).full, TAMIS_FULL_CAPACITY);
    assert_int_equal(filter_info(filter).memory, plan.memory);
    assert_int_equal(tamis_filter_copy(&copy, filter, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_union(copy, filter, &err), TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "frozen"));
    assert_int_equal(tamis_filter_add(copy, "k", 1, NULL, &err), TAMIS_E_FULL);
    assert_non_null(strstr(err.text, "frozen"));
    tamis_filter_free(copy);
    tamis_filter_free(filter);
    plan = plan_for(TAMIS_KIND_BLOCKED, 1e-3, 1000, 0);
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, &err), TAMIS_E_INVALID);
    plan = plan_for(TAMIS_KIND_FINGERPRINT, 1e-3, 0, 0);
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, &err), TAMIS_E_INVALID);
}

static void memory_is_the_limit(void **state) {
    (void)state;
    tamis_plan plan = plan_for(TAMIS_KIND_FINGERPRINT, 1e-6, 10000, 300000);
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_filter *filter = make_planned(&plan, &allocator);
    tamis_error err = TAMIS_ERROR_INIT;
    size_t added;
    assert_int_equal(add_keys(filter, 0, 100000, &added), TAMIS_E_FULL);
    assert_in_range(added, 19000, 50000);
    assert_int_equal(filter_info(filter).full, TAMIS_FULL_MEMORY);
    assert_true(filter_info(filter).memory_peak <= 300000);
    check_all_present(filter, 0, added);
    uint64_t key = 1000000;
    assert_int_equal(tamis_filter_add(filter, &key, sizeof key, NULL, &err), TAMIS_E_FULL);
    assert_non_null(strstr(err.text, "memory"));
    tamis_filter_free(filter);
    assert_int_equal(memory.live_blocks, 0);
}

/* Allocation n fails: the filter is unchanged, and the call may be repeated. */
static void growth_without_memory_may_be_repeated(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        fault_memory memory = {0};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_plan plan = plan_for(TAMIS_KIND_FINGERPRINT, 1e-6, 2000, 0);
        tamis_filter *filter = make_planned(&plan, &allocator);
        size_t added, more;
        memory.fail_at = memory.requests + n;
        tamis_status status = add_keys(filter, 0, 5000, &added);
        check_all_present(filter, 0, added);
        memory.fail_at = 0;
        assert_int_equal(add_keys(filter, added, 5000 - added, &more), TAMIS_OK);
        check_all_present(filter, 0, 5000);
        tamis_filter_free(filter);
        assert_int_equal(memory.live_blocks, 0);
        if (status == TAMIS_OK)
            break;
        assert_int_equal(status, TAMIS_E_NOMEM);
    }
}

/* ---- files ---- */

static tamis_filter *reopen(tamis_filter *filter) {
    const char *path = scratch("grown.tamis");
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_filter *opened = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_filter_save(filter, path, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    tamis_filter_free(filter);
    options.writable = true;
    if (tamis_filter_open(&opened, path, &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return opened;
}

/* A table that is saved and opened now and then grows like one that stays in memory. */
static void reg_22_an_opened_table_grows(void **state) {
    static const double rates[] = {1e-3, 1e-6, 1e-9};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        tamis_filter *filter = make(TAMIS_KIND_FINGERPRINT, rates[i], 1000);
        tamis_filter *kept = make(TAMIS_KIND_FINGERPRINT, rates[i], 1000);
        tamis_difference difference = TAMIS_DIFFERENCE_INIT;
        uint64_t first = next_key;
        size_t added;
        for (int n = 0; n < 20; n++) {
            assert_int_equal(add_keys(kept, next_key, 1500, &added), TAMIS_OK);
            add_new(filter, 1500);
            filter = reopen(filter);
        }
        check_all_present(filter, first, 30000);
        check_rate(filter);
        assert_int_equal(tamis_filter_compare(&difference, filter, kept, NULL), TAMIS_OK);
        assert_true(difference.same_body);
        tamis_filter_free(filter);
        tamis_filter_free(kept);
    }
}

/* A table that begins small becomes the planned one. If it was copied or saved before, it continues to
 * grow. */
static void reg_22_a_small_start_ends_as_planned(void **state) {
    static const struct {
        tamis_kind kind;
        double fpr;
        uint64_t expect;
    } cases[] = {{TAMIS_KIND_FINGERPRINT, 1e-25, 6000000},
                 {TAMIS_KIND_FINGERPRINT, 1e-9, 15500000},
                 {TAMIS_KIND_EXACT, 0, 5000000}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tamis_plan planned = plan_for(cases[i].kind, cases[i].fpr, cases[i].expect, 0);
        tamis_plan small = planned;
        tamis_plan_start_small(&small);
        tamis_filter *filter = make_planned(&small, NULL), *copy = NULL;
        const uint64_t first = add_new(filter, (size_t)small.capacity);
        assert_true(filter_info(filter).memory <= planned.memory / 15);
        assert_int_equal(tamis_filter_copy(&copy, filter, NULL), TAMIS_OK);
        copy = reopen(copy);
        (void)add_new(filter, 1000);
        const tamis_plan *now = tamis_filter_plan(filter);
        assert_true(now->target == 0 && now->slot_bits == planned.slot_bits &&
                    now->capacity >= planned.capacity);
        assert_in_range(filter_info(filter).memory, planned.memory, planned.memory + (1 << 16));
        check_all_present(filter, first, (size_t)small.capacity + 1000);
        check_rate(filter);
        (void)add_new(copy, 1000);
        check_all_present(copy, first, (size_t)small.capacity);
        assert_true(filter_info(copy).memory < planned.memory / 4);
        check_rate(copy);
        tamis_filter_free(copy);
        tamis_filter_free(filter);
        tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
        options.frozen = true;
        assert_int_equal(tamis_filter_create(&filter, &small, &options, NULL), TAMIS_E_INVALID);
    }
}

static void a_file_says_that_it_is_frozen(void **state) {
    (void)state;
    tamis_plan plan = plan_for(TAMIS_KIND_EXACT, 0, 100, 0);
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    size_t added;
    options.frozen = true;
    tamis_filter *filter = reopen(create_filter(&plan, &options));
    assert_int_equal(add_keys(filter, 0, 101, &added), TAMIS_E_FULL);
    assert_int_equal(added, 100);
    tamis_filter_free(filter);
}

static void reg_22_frozen_tables_are_compared(void **state) {
    (void)state;
    tamis_plan plan = plan_for(TAMIS_KIND_FINGERPRINT, 1e-6, 100, 0);
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    size_t added;
    options.frozen = true;
    tamis_filter *filter = create_filter(&plan, &options), *copy = NULL;
    assert_int_equal(add_keys(filter, 0, 50, &added), TAMIS_OK);
    assert_int_equal(tamis_filter_copy(&copy, filter, NULL), TAMIS_OK);
    assert_true(tamis_filter_is_equal(filter, copy));
    assert_false(tamis_filter_is_compatible(filter, copy)); /* neither accepts hashes of the other */
    assert_int_equal(add_keys(copy, 50, 1, &added), TAMIS_OK);
    assert_false(tamis_filter_is_equal(filter, copy));
    tamis_filter_free(copy);
    tamis_filter_free(filter);
}

/* ---- unions ---- */

static const struct side {
    double fpr;
    uint64_t expect, keys;
} sides[] = {{1e-3, 0, 3000},    {1e-6, 0, 20000}, {1e-9, 0, 3000},      {1e-3, 3000, 3000},
             {1e-3, 5000, 5000}, {1e-6, 4000, 10}, {1e-6, 20000, 20000}, {1e-6, 10, 10000},
             {1e-9, 7000, 7000}, {1e-6, 3000, 0}};
enum { SIDES = sizeof sides / sizeof *sides };

static tamis_filter *make_side(const struct side *side, uint64_t *first) {
    tamis_filter *filter = make(TAMIS_KIND_FINGERPRINT, side->fpr, side->expect);
    *first = add_new(filter, (size_t)side->keys);
    return filter;
}

/* Unions of tables of any sizes, shapes and rates. 100 keys are in both. */
static void reg_22_tables_of_all_sizes_are_merged(void **state) {
    (void)state;
    for (int i = 0; i < SIDES * SIDES; i++) {
        const struct side *a = &sides[i / SIDES], *b = &sides[i % SIDES];
        uint64_t first, second, more;
        size_t added;
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_filter *into = make_side(a, &first), *from = make_side(b, &second);
        assert_int_equal(add_keys(from, first, a->keys < 100 ? (size_t)a->keys : 100, &added), TAMIS_OK);
        double sum = filter_info(into).fpr_live + filter_info(from).fpr_live;
        assert_true(tamis_filter_is_compatible(into, from));
        if (tamis_filter_union(into, from, &err) != TAMIS_OK)
            fail_msg("sides %d and %d: %s", i / SIDES, i % SIDES, err.text);
        tamis_filter_info info = filter_info(into);
        check_all_present(into, first, (size_t)a->keys);
        check_all_present(into, second, (size_t)b->keys);
        const double keys = (double)(a->keys + b->keys);
        if (fabs(info.cardinality - keys) > 3 + 1e-2 * keys)
            fail_msg("sides %d and %d: %g keys of %g", i / SIDES, i % SIDES, info.cardinality, keys);
        if (info.fpr_live > fmax(4 * sum, a->fpr))
            fail_msg("sides %d and %d: rate %g of %g", i / SIDES, i % SIDES, info.fpr_live, sum);
        check_rate(into);
        more = add_new(into, 9000);
        check_all_present(into, first, (size_t)a->keys);
        check_all_present(into, more, 9000);
        check_rate(into);
        tamis_filter_free(into);
        tamis_filter_free(from);
    }
}

/* Unions of tables of one plan, or of growing ones: entries lose no bits, and keys in both take one slot. */
static void unions_of_one_plan_lose_nothing(void **state) {
    static const uint64_t expected[] = {0, 30000};
    (void)state;
    for (int i = 0; i < 2; i++) {
        tamis_filter *into = make(TAMIS_KIND_FINGERPRINT, 1e-6, expected[i]), *whole, *from;
        whole = make(TAMIS_KIND_FINGERPRINT, 1e-6, expected[i]);
        from = make(TAMIS_KIND_FINGERPRINT, 1e-6, expected[i]);
        size_t added;
        assert_int_equal(add_keys(into, 0, 10000, &added), TAMIS_OK);
        assert_int_equal(add_keys(from, 5000, 15000, &added), TAMIS_OK);
        assert_int_equal(add_keys(whole, 0, 20000, &added), TAMIS_OK);
        assert_int_equal(tamis_filter_union(into, from, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_union(into, from, NULL), TAMIS_OK);
        assert_int_equal(filter_info(into).added, filter_info(whole).added);
        assert_true(filter_info(into).fpr_live <= 1.05 * filter_info(whole).fpr_live);
        assert_true(tamis_filter_plan(into)->fpr <= 1e-6);
        check_all_present(into, 0, 20000);
        tamis_filter_free(into);
        tamis_filter_free(from);
        tamis_filter_free(whole);
    }
}

static void unions_of_exact_tables_stay_exact(void **state) {
    static const uint64_t expected[] = {0, 1000, 1700};
    (void)state;
    for (int i = 0; i < 9; i++) {
        tamis_filter *into = make(TAMIS_KIND_EXACT, 0, expected[i / 3]);
        tamis_filter *from = make(TAMIS_KIND_EXACT, 0, expected[i % 3]);
        uint64_t first = add_new(into, 2000), second = add_new(from, 3000);
        assert_int_equal(tamis_filter_union(into, from, NULL), TAMIS_OK);
        check_all_present(into, first, 2000);
        check_all_present(into, second, 3000);
        assert_int_equal(filter_info(into).added, 5000);
        assert_true(filter_info(into).fpr_live <= 1e4 * 0x1p-128);
        assert_int_equal(tamis_filter_plan(into)->kind, TAMIS_KIND_EXACT);
        tamis_filter_free(into);
        tamis_filter_free(from);
    }
}

static void an_impossible_union_says_why(void **state) {
    (void)state;
    tamis_plan plan = plan_for(TAMIS_KIND_FINGERPRINT, 1e-6, 1000, 60000);
    tamis_filter *into = make_planned(&plan, NULL), *from = make(TAMIS_KIND_FINGERPRINT, 1e-6, 50000);
    tamis_filter *blocked = make(TAMIS_KIND_BLOCKED, 1e-3, 1000);
    tamis_error err = TAMIS_ERROR_INIT;
    uint64_t first = add_new(into, 1000);
    add_new(from, 50000);
    assert_int_equal(tamis_filter_union(into, from, &err), TAMIS_E_FULL);
    assert_non_null(strstr(err.text, "memory"));
    check_all_present(into, first, 1000);
    assert_int_equal(tamis_filter_union(into, blocked, &err), TAMIS_E_MISMATCH);
    assert_non_null(strstr(err.text, "kinds fingerprint and blocked differ"));
    assert_int_equal(tamis_filter_union(blocked, into, &err), TAMIS_E_MISMATCH);
    tamis_filter_free(into);
    tamis_filter_free(from);
    tamis_filter_free(blocked);
}

/* A decoded filter has lines for the partitions that have keys, as it had before. */
static void reg_26_a_decoded_filter_shares_empty_lines(void **state) {
    (void)state;
    for (size_t count = 0; count < 2000; count = 5 * count + 8) {
        tamis_filter *filter = make(TAMIS_KIND_FINGERPRINT, 0.01, 0), *decoded = NULL;
        const uint64_t first = add_new(filter, count);
        uint64_t size = 0;
        assert_int_equal(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, NULL), TAMIS_OK);
        uint8_t *bytes = malloc(size);
        assert_non_null(bytes);
        assert_int_equal(tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, bytes, size, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_decode(&decoded, bytes, size, NULL, NULL), TAMIS_OK);
        free(bytes);
        assert_int_equal(filter_info(decoded).memory, filter_info(filter).memory);
        size_t added;
        for (int more = 0; more < 3; more++) {
            const uint64_t next = add_new(filter, 500);
            assert_int_equal(add_keys(decoded, next, 500, &added), TAMIS_OK);
            assert_int_equal(filter_info(decoded).memory, filter_info(filter).memory);
            assert_true(tamis_filter_is_equal(decoded, filter));
            assert_int_equal(count_present(decoded, next, 500), 500);
        }
        assert_int_equal(count_present(decoded, first, count), count);
        tamis_filter_free(filter);
        tamis_filter_free(decoded);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reg_22_a_full_table_grows),
        cmocka_unit_test(growth_does_not_depend_on_batches),
        cmocka_unit_test(a_full_half_of_a_line_loses_nothing),
        cmocka_unit_test(reg_22_a_small_start_ends_as_planned),
        cmocka_unit_test(a_frozen_table_stays_as_it_is),
        cmocka_unit_test(memory_is_the_limit),
        cmocka_unit_test(growth_without_memory_may_be_repeated),
        cmocka_unit_test(reg_22_an_opened_table_grows),
        cmocka_unit_test(a_file_says_that_it_is_frozen),
        cmocka_unit_test(reg_22_frozen_tables_are_compared),
        cmocka_unit_test(reg_26_a_decoded_filter_shares_empty_lines),
        cmocka_unit_test(reg_22_tables_of_all_sizes_are_merged),
        cmocka_unit_test(unions_of_one_plan_lose_nothing),
        cmocka_unit_test(unions_of_exact_tables_stay_exact),
        cmocka_unit_test(an_impossible_union_says_why),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
