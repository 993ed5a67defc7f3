/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/*
 * Freeing slots in nearly full tables. The invariants of filter/table/fingerprint_table.h are checked on every line
 * after every few insertions, for every shape, up to the insertion that finds no slot and beyond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The structure of a table is private, so its internal header is included. */
#include "filter/table/fingerprint_put.h"
#include "support/scratch.h"

enum { LINES = 64, STEP = 16 };

static uint64_t random_state;

/* SplitMix64. */
static uint64_t random_word(void) {
    uint64_t x = random_state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static tamis_filter *make(uint32_t slot_bits, bool grows, uint32_t partitions, uint64_t seed) {
    const tamis__line_shape *shape = tamis__line_shape_of(slot_bits, grows);
    tamis_plan plan = TAMIS_PLAN_INIT;
    plan.kind = TAMIS_KIND_FINGERPRINT;
    plan.scheme = TAMIS_SCHEME_XXH3;
    plan.fpr = 0.5;
    plan.slot_bits = slot_bits;
    plan.home_bits = shape->home_bits;
    plan.lines = LINES * partitions;
    plan.partitions = partitions;           /* for tables that do not grow */
    plan.capacity = grows ? 0 : UINT64_MAX; /* no limit but the slots */
    plan.memory_limit = grows ? 3 << 20 : 0;
    tamis_filter *filter = NULL;
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    options.frozen = !grows;
    if (tamis_filter_create(&filter, &plan, &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    random_state = seed;
    return filter;
}

/* Invariant 2: the home line of every spilled entry is full. */
static void check_spilled(const table *t, const partition *in) {
    const line_geometry *g = &t->geometry;
    for (uint64_t line = 0; line < in->count; line++) {
        const uint8_t *bytes = line_at(in, line);
        slot_range spilled = ends_bucket(line_ends(g, bytes), g->spill_bucket);
        for (uint32_t slot = spilled.first; slot < spilled.last; slot++) {
            assert_true(is_full(g, in, other_line(g, in, line, line_head(g, bytes, slot), true)));
        }
    }
}

/* `covered` is the sum over the entries, and `used` is their number. */
static void check_memory(const table *t, const partition *in) {
    const line_geometry *g = &t->geometry;
    double covered = 0;
    uint64_t used = 0;
    for (uint64_t line = 0; line < in->count; line++) {
        const uint8_t *bytes = line_at(in, line);
        for (line_walk w = walk_start(g, bytes); walk_next(&w); used++)
            covered += share(t, in, slot_entry(g, bytes, w.slot, w.bucket).known);
    }
    assert_int_equal(used, in->used);
    assert_true(covered <= in->covered * (1 + 1e-9) && covered >= in->covered * (1 - 1e-9));
}

static void check_table(const tamis_filter *filter) {
    const table *t = filter->body;
    for (partition_walk w = {.t = t}; next_partition(&w);) {
        check_spilled(t, w.in);
        check_memory(t, w.in);
    }
}

/* Adds random hashes until `stops` of them have found no slot. `narrow`: their first bits are those of few
 * lines. */
static void fill_filter(tamis_filter *filter, uint32_t narrow, int stops) {
    enum { MAX = 65536 };
    static tamis_hash hashes[MAX];
    static tamis_answer answers[MAX];
    size_t count = 0, done;
    while (stops > 0 && count < MAX) {
        tamis_hash *hash = &hashes[count];
        *hash = (tamis_hash){{random_word(), random_word() >> narrow}, filter->hasher->hasher_id};
        tamis_status status = tamis_filter_add_hashes(filter, hash, 1, &answers[count], &done, NULL);
        if (status == TAMIS_OK) {
            count++;
        } else {
            assert_int_equal(status, TAMIS_E_FULL);
            stops--;
        }
        if (count % STEP == 0)
            check_table(filter);
    }
    check_table(filter);
    assert_int_equal(tamis_filter_contains_hashes(filter, hashes, count, answers, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
}

static const uint8_t fixed_bits[] = {16, 20, 24, 32, 40, 48, 64, 120};
static const uint8_t growing_bits[] = {32, 38, 48, 64, 120};

static void full_tables_keep_their_invariants(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof fixed_bits; i++)
        for (uint64_t seed = 1; seed <= test_scale(3, 1, 1); seed++) {
            tamis_filter *filter = make(fixed_bits[i], false, 1u << (seed - 1), seed);
            fill_filter(filter, 0, 10);
            tamis_filter_free(filter);
        }
}

/* One line in 2^2 to 2^8 is the home of all keys. Their spilled entries fill the lines around it. */
static void crowded_tables_keep_their_invariants(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof fixed_bits; i++)
        for (uint32_t narrow = 1; narrow <= 8; narrow += (uint32_t)test_scale(2, 4, 4)) {
            tamis_filter *filter = make(fixed_bits[i], false, 1 + narrow % 4, narrow);
            fill_filter(filter, narrow, 5);
            tamis_filter_free(filter);
        }
}

/* The same in one partition of a growing table, which is rewritten again and again up to its memory limit. */
static void growing_tables_keep_their_invariants(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof growing_bits; i++)
        for (uint32_t narrow = 8; narrow <= 10; narrow += (uint32_t)test_scale(1, 2, 2)) {
            tamis_filter *filter = make(growing_bits[i], true, 1, narrow);
            const table *t = filter->body;
            enum { KEYS = 6000 };
            static tamis_hash hashes[KEYS];
            static tamis_answer answers[KEYS];
            size_t done = 0;
            for (size_t j = 0; j < KEYS; j++)
                hashes[j] = (tamis_hash){{random_word(), random_word() >> narrow}, filter->hasher->hasher_id};
            for (size_t from = 0, in; from < KEYS; from = done, done = from) {
                tamis_status status = tamis_filter_add_hashes(
                    filter, hashes + from, KEYS - from < 500 ? KEYS - from : 500, answers, &in, NULL);
                done = from + in;
                check_spilled(t, &t->partitions[0]);
                check_memory(t, &t->partitions[0]);
                if (status != TAMIS_OK)
                    break;
            }
            assert_true(done > 200);
            assert_int_equal(tamis_filter_contains_hashes(filter, hashes, done, answers, NULL, NULL),
                             TAMIS_OK);
            for (size_t j = 0; j < done; j++)
                assert_int_equal(answers[j], TAMIS_PRESENT);
            tamis_filter_free(filter);
        }
}

/* A table with removed keys can be read again. What is covered is never below 0, whatever was rounded. */
static void check_readable(tamis_filter *filter) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *read;
    uint64_t size;
    assert_int_equal(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, &err), TAMIS_OK);
    void *bytes = malloc(size);
    assert_non_null(bytes);
    assert_int_equal(tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, bytes, size, &err), TAMIS_OK);
    if (tamis_filter_decode(&read, bytes, size, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(read->added, filter->added);
    tamis_filter_free(read);
    free(bytes);
}

/* Exact filters for numbers of keys whose shares of a line are not powers of two: all keys or most are
 * removed. */
static void removed_keys_leave_a_readable_file(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 300, 3000, 50000, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t count = 10; count <= 1000; count *= 10) {
            tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
            tamis_plan plan = TAMIS_PLAN_INIT;
            tamis_filter *filter;
            options.kind = TAMIS_KIND_EXACT;
            options.expect = sizes[i];
            assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_OK);
            assert_int_equal(tamis_filter_create(&filter, &plan, NULL, NULL), TAMIS_OK);
            random_state = sizes[i] + count;
            static tamis_hash hashes[1000];
            for (size_t n = 0; n < count; n++)
                hashes[n] = (tamis_hash){{random_word(), random_word()}, filter->hasher->hasher_id};
            assert_int_equal(tamis_filter_add_hashes(filter, hashes, count, NULL, NULL, NULL), TAMIS_OK);
            for (size_t n = 0; n < count; n++) {
                assert_true(tamis__fingerprint_remove(filter, &hashes[n]));
                if (n == count / 2 || n + 3 >= count)
                    check_readable(filter);
            }
            assert_int_equal(filter->added, 0);
            tamis_filter_free(filter);
        }
}

/* Removes keys of a full table and adds them again, at random. `narrow` as in fill_filter. */
static void remove_and_add(tamis_filter *filter, uint32_t narrow) {
    enum { KEYS = 700, ROUNDS = 4000 };
    tamis_hash hashes[KEYS];
    bool present[KEYS] = {false};
    tamis_answer got;
    for (size_t i = 0; i < KEYS; i++)
        hashes[i] = (tamis_hash){{random_word(), random_word() >> narrow}, filter->hasher->hasher_id};
    for (size_t round = 0; round < ROUNDS; round++) {
        const size_t key = random_word() % KEYS;
        const bool is_removed = round > KEYS && random_word() % 2;
        if (is_removed) {
            assert_int_equal(tamis__fingerprint_remove(filter, &hashes[key]), present[key]);
            present[key] = false;
        } else if (tamis_filter_add_hashes(filter, &hashes[key], 1, &got, NULL, NULL) == TAMIS_OK) {
            assert_int_equal(got, present[key] ? TAMIS_PRESENT : TAMIS_ABSENT);
            present[key] = true;
        }
        if (round % STEP != 0)
            continue;
        check_table(filter);
        uint64_t added = 0;
        for (size_t i = 0; i < KEYS; i++) {
            assert_int_equal(tamis_filter_contains_hashes(filter, &hashes[i], 1, &got, NULL, NULL), TAMIS_OK);
            assert_int_equal(got, present[i] ? TAMIS_PRESENT : TAMIS_ABSENT);
            added += present[i];
        }
        assert_int_equal(filter->added, added);
    }
}

static void removed_keys_are_absent_and_no_others(void **state) {
    (void)state;
    for (int grows = 0; grows < 2; grows++)
        for (uint32_t narrow = 0; narrow <= 10; narrow += (uint32_t)test_scale(2, 10, 2)) {
            tamis_filter *filter = make(120, grows, 1, narrow + 1);
            remove_and_add(filter, narrow);
            tamis_filter_free(filter);
        }
}

/* Bytes of a removed hash must not stay in a slot that is free. */
static void nothing_of_a_removed_key_is_left(void **state) {
    (void)state;
    tamis_filter *filter = make(120, false, 1, 9), *empty = make(120, false, 1, 9);
    const table *t = filter->body, *e = empty->body;
    tamis_hash hashes[200];
    tamis_answer got[200];
    size_t done;
    for (size_t i = 0; i < 200; i++)
        hashes[i] = (tamis_hash){{random_word(), random_word()}, filter->hasher->hasher_id};
    (void)tamis_filter_add_hashes(filter, hashes, 200, got, &done, NULL);
    assert_true(done > 100);
    for (size_t i = 0; i < done; i++)
        assert_true(tamis__fingerprint_remove(filter, &hashes[i]));
    assert_memory_equal(t->partitions->lines, e->partitions->lines, t->partitions->count * LINE_BYTES);
    tamis_filter_free(filter);
    tamis_filter_free(empty);
}

/* Keys that fill a line on each side of a boundary between lines, which moves as the table grows, and
 * ordinary keys around them. No number of lines separates these keys. The table must report that before
 * its memory is used up. */
static void crowds_do_not_grow_without_end(void **state) {
    (void)state;
    tamis_filter *filter = make(120, true, 1, 5);
    filter->plan.memory_limit = 0;
    const table *t = filter->body;
    uint32_t bits = t->partitions[0].position_bits;
    uint64_t boundary = min_x_of(&t->partitions[0], width_of(&t->partitions[0]), 21);
    tamis_status status = TAMIS_OK;
    tamis_error err = TAMIS_ERROR_INIT;
    for (int i = 0; i < 5000 && status == TAMIS_OK; i++) {
        uint64_t first = random_word() >> 8;
        if (i < 16)
            first = (boundary - (uint64_t)(i & 1)) << (64 - 8 - bits);
        tamis_hash hash = {{random_word(), first}, filter->hasher->hasher_id};
        status = tamis_filter_add_hashes(filter, &hash, 1, NULL, NULL, &err);
    }
    assert_int_equal(status, TAMIS_E_FULL);
    assert_non_null(strstr(err.text, "crowd"));
    assert_int_equal(filter->full, TAMIS_FULL_CROWDED);
    assert_true(filter->tally.memory_peak < 4 << 20);
    tamis_filter_free(filter);
}

/* ---- partitions that are split ---- */

enum { MANY = 1 << 19 };

static tamis_hash many[MANY];
static tamis_answer answers[MANY];

static void add_in_batches(tamis_filter *filter, size_t from, size_t to) {
    tamis_error err = TAMIS_ERROR_INIT;
    for (size_t size = 4096; from < to; from += size) {
        size = to - from < size ? to - from : size;
        if (tamis_filter_add_hashes(filter, many + from, size, answers + from, NULL, &err) != TAMIS_OK)
            fail_msg("%s", err.text);
    }
}

static void check_all_found(const tamis_filter *filter, size_t count) {
    assert_int_equal(tamis_filter_contains_hashes(filter, many, count, answers, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
}

/* Partitions 0 and 255 have the same size. The partitions that one of them was split into grow
 * independently. */
static void check_split(const tamis_filter *filter, size_t count) {
    const table *t = filter->body;
    uint64_t used = 0;
    uint32_t partitions = 0;
    for (partition_walk w = {.t = t}; next_partition(&w); partitions++) {
        check_spilled(t, w.in);
        check_memory(t, w.in);
        used += w.in->used;
    }
    assert_int_equal(partitions, 256 + 2 * 15);
    for (uint32_t i = 0; i < 256; i++)
        assert_int_equal(t->groups[i].bits, i % 255 ? 0 : 4);
    assert_int_equal(used, filter->added);
    check_all_found(filter, count);
}

/* Encodes and copies the filter. The results must be equal to it, also after more keys are added. */
static void check_as_bytes(tamis_filter *filter, size_t from, size_t count) {
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *copy, *read;
    uint64_t size = 0;
    assert_int_equal(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, &err), TAMIS_OK);
    void *bytes = malloc(size);
    assert_non_null(bytes);
    assert_int_equal(tamis_filter_encode(filter, TAMIS_FORMAT_TAMIS, bytes, size, &err), TAMIS_OK);
    if (tamis_filter_decode(&read, bytes, size, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(tamis_filter_copy(&copy, read, &err), TAMIS_OK);
    tamis_filter_free(read);
    free(bytes);
    check_split(copy, from);
    add_in_batches(copy, from, count);
    add_in_batches(filter, from, count);
    check_split(copy, count);
    const table *t = filter->body, *u = copy->body;
    partition_walk w = {.t = t}, v = {.t = u};
    while (next_partition(&w) && next_partition(&v)) {
        assert_int_equal(w.in->count, v.in->count);
        assert_memory_equal(w.in->lines, v.in->lines, (size_t)w.in->count * LINE_BYTES);
    }
    tamis_filter_free(copy);
}

static void large_partitions_are_split(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof growing_bits; i++)
        for (uint32_t size_hint = 0; size_hint < 2; size_hint++) {
            tamis_filter *filter = make(growing_bits[i], true, 1, i);
            const uint32_t slots = ((const table *)filter->body)->geometry.slots;
            const size_t count = (size_t)MANY / 13 * slots < MANY ? (size_t)MANY / 13 * slots : MANY;
            filter->plan.memory_limit = 0;
            for (size_t j = 0; j < count; j++) {
                const uint64_t last = j % 2 ? UINT64_C(0xff) << 56 : 0;
                many[j] = (tamis_hash){{random_word(), random_word() >> 8 | last}, filter->hasher->hasher_id};
            }
            if (size_hint)
                tamis_filter_expect(filter, count * 128);
            add_in_batches(filter, 0, count / 8 * 7);
            check_split(filter, count / 8 * 7);
            check_as_bytes(filter, count / 8 * 7, count);
            tamis_filter_clear(filter, NULL);
            add_in_batches(filter, 0, count);
            check_split(filter, count);
            tamis_filter_free(filter);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_tables_keep_their_invariants),
        cmocka_unit_test(crowded_tables_keep_their_invariants),
        cmocka_unit_test(growing_tables_keep_their_invariants),
        cmocka_unit_test(removed_keys_are_absent_and_no_others),
        cmocka_unit_test(removed_keys_leave_a_readable_file),
        cmocka_unit_test(nothing_of_a_removed_key_is_left),
        cmocka_unit_test(crowds_do_not_grow_without_end),
        cmocka_unit_test(large_partitions_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
