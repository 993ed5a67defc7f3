/* SPDX-License-Identifier: BSD-2-Clause */

/* Fingerprint tables with every set of kernels: the answers, and the lines bit for bit, are those of the
 * scalar set. Tried with full tables, with partitions that grow repeatedly, and with forged lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The structure of a table is private, so this test includes internal headers. */
#include "filter/kernels/fingerprint_values.h"
#include "filter/table/fingerprint_put.h"
#include "support/isa.h"
#include "support/scratch.h"

enum { KEYS = 12000, LINES = 700 };

static const uint8_t fixed_bits[] = {16, 20, 24, 32, 40, 48, 64, 120};
static const uint8_t growing_bits[] = {32, 38, 48, 64, 120};

static tamis_filter *make(tamis__isa isa, uint32_t slot_bits, bool grows, uint32_t partitions) {
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    plan.kind = TAMIS_KIND_FINGERPRINT;
    plan.scheme = TAMIS_SCHEME_XXH3;
    plan.fpr = 0.5;
    plan.slot_bits = slot_bits;
    plan.home_bits = tamis__line_shape_of(slot_bits, grows)->home_bits;
    plan.lines = LINES;
    plan.partitions = partitions;           /* of a table that does not grow */
    plan.capacity = grows ? 0 : UINT64_MAX; /* as many as find a slot */
    if (tamis_filter_create(&filter, &plan, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    filter->kernels = tamis__filter_kernels_of(isa);
    return filter;
}

/* The same table, made with two sets. */
static void compare(const tamis_filter *got, const tamis_filter *reference) {
    const table *a = got->body, *b = reference->body;
    assert_int_equal(got->added, reference->added);
    assert_int_equal(a->growths, b->growths);
    for (partition_walk w = {.t = a}, v = {.t = b}; next_partition(&w) && next_partition(&v);) {
        const partition *mine = w.in, *theirs = v.in;
        assert_int_equal(mine->count, theirs->count);
        assert_int_equal(mine->used, theirs->used);
        assert_memory_equal(&mine->covered, &theirs->covered, sizeof mine->covered);
        assert_memory_equal(&mine->false_present, &theirs->false_present, sizeof mine->false_present);
        assert_memory_equal(mine->lines, theirs->lines, (size_t)mine->count * LINE_BYTES);
    }
}

/* Every fifth key repeats an earlier one. In growing tables all keys belong to two partitions. */
static void make_hashes(tamis_hash *hashes, uint64_t hasher_id, bool grows, uint64_t seed) {
    for (size_t i = 0; i < KEYS; i++) {
        hashes[i] = (tamis_hash){{test_random(&seed), test_random(&seed) >> (grows ? 7 : 0)}, hasher_id};
        if (i % 5 == 4)
            hashes[i] = hashes[test_below(&seed, i)];
    }
}

static void adding_is_as_by_scalar(tamis__isa isa, uint32_t slot_bits, bool grows, uint32_t partitions) {
    static tamis_hash hashes[KEYS];
    static tamis_answer got[KEYS], reference[KEYS];
    tamis_filter *filter = make(isa, slot_bits, grows, partitions);
    tamis_filter *oracle = make(TAMIS__ISA_SCALAR, slot_bits, grows, partitions);
    make_hashes(hashes, filter->hasher->hasher_id, grows, 81 + slot_bits);
    for (size_t start = 0, size = 1; start < KEYS; start += size, size = size % 300 + 7) {
        size_t count = KEYS - start < size ? KEYS - start : size, done = 0, expected = 0;
        tamis_status status =
            tamis_filter_add_hashes(filter, hashes + start, count, got + start, &done, NULL);
        assert_int_equal(
            tamis_filter_add_hashes(oracle, hashes + start, count, reference + start, &expected, NULL),
            status);
        assert_int_equal(done, expected);
        assert_memory_equal(got + start, reference + start, done);
        if (start / 2000 != (start + size) / 2000)
            compare(filter, oracle);
        if (status != TAMIS_OK)
            break;
    }
    compare(filter, oracle);
    tamis_filter_contains_hashes(filter, hashes, KEYS, got, NULL, NULL);
    tamis_filter_contains_hashes(oracle, hashes, KEYS, reference, NULL, NULL);
    assert_memory_equal(got, reference, KEYS);
    tamis_filter_free(filter);
    tamis_filter_free(oracle);
}

typedef void shape_test(tamis__isa isa, uint32_t slot_bits, bool grows, uint32_t partitions);

static void each_shape(tamis__isa isa, shape_test *test) {
    for (size_t i = 0; i < sizeof fixed_bits; i++)
        for (uint32_t partitions = 1; partitions <= 4; partitions *= 4)
            test(isa, fixed_bits[i], false, partitions);
    for (size_t i = 0; i < sizeof growing_bits; i++)
        test(isa, growing_bits[i], true, 0);
}

static void add_and_query(tamis__isa isa) {
    each_shape(isa, adding_is_as_by_scalar);
}

static void adding_is_the_same_in_every_set(void **state) {
    (void)state;
    isa_each(add_and_query);
}

/* Valid lines with entries that no key made: any value in any bucket, end marks anywhere. */
static uint64_t forge(const line_geometry *g, partition *in, uint64_t seed) {
    uint64_t used = 0;
    for (uint64_t line = 0; line < in->count; line++) {
        uint8_t *bytes = line_at(in, line);
        uint32_t count = (uint32_t)test_below(&seed, g->slots / 2u + 1), left = g->spill_bucket + 1u;
        uint64_t ends = UINT64_C(1) << (count + g->spill_bucket);
        memset(bytes, 0, LINE_BYTES);
        for (left--; left;) { /* ones at any positions below the last */
            uint64_t bit = UINT64_C(1) << test_below(&seed, count + g->spill_bucket);
            left -= !(ends & bit);
            ends |= bit;
        }
        line_set_ends(g, bytes, ends);
        for (uint32_t slot = 0; slot < count; slot++) {
            tamis__u128 value = (tamis__u128)test_random(&seed) << 64 | test_random(&seed);
            value >>= test_below(&seed, 128);
            value = test_below(&seed, 3) ? value << test_below(&seed, 128)
                                         : (tamis__u128)1 << test_below(&seed, 128);
            value &= bit_mask(0, g->slot_bits);
            line_put_slot(g, bytes, slot, value ? value : 1);
        }
        used += count;
    }
    return used;
}

/* Makes partitions with so many lines each, in consecutive memory. */
static void make_row(const table *t, partition *row, uint32_t parts, uint64_t count, uint8_t *lines) {
    const uint32_t hash_bits = parts > 1 ? 12 : 8;
    memset(lines, 0, (size_t)(parts * count) * LINE_BYTES);
    for (uint32_t i = 0; i < parts; i++)
        row[i] = partition_of(t, hash_bits, lines + i * count * LINE_BYTES, count);
}

static void rewriting_is_as_by_scalar(tamis__isa isa, uint32_t slot_bits, uint64_t count, uint32_t parts) {
    tamis_filter *filter = make(isa, slot_bits, true, 0);
    table *t = filter->body;
    uint8_t *lines = aligned_alloc(LINE_BYTES, 10 * count * LINE_BYTES);
    assert_non_null(lines);
    partition from = partition_of(t, 8, lines, count), got[SPLIT], reference[SPLIT];
    for (uint64_t larger = count + count / 4; larger <= 4 * count; larger = larger * 5 / 3) {
        uint64_t used = 0;
        make_row(t, got, parts, larger / parts, lines + count * LINE_BYTES);
        make_row(t, reference, parts, larger / parts, lines + 5 * count * LINE_BYTES);
        from.used = forge(&t->geometry, &from, 91 * count + larger);
        bool has_slot =
            tamis__filter_kernels_of(TAMIS__ISA_SCALAR)->tables->rewrite(t, &from, reference, parts);
        assert_int_equal(tamis__filter_kernels_of(isa)->tables->rewrite(t, &from, got, parts), has_slot);
        for (uint32_t i = 0; i < parts; i++) {
            assert_int_equal(got[i].used, reference[i].used);
            assert_memory_equal(got[i].lines, reference[i].lines, (size_t)(larger / parts) * LINE_BYTES);
            used += got[i].used;
        }
        if (has_slot)
            assert_int_equal(used, from.used);
    }
    free(lines);
    tamis_filter_free(filter);
}

static void rewrite_forged(tamis__isa isa) {
    for (size_t i = 0; i < sizeof growing_bits; i++)
        for (uint64_t count = 64; count <= 400; count += 24) {
            rewriting_is_as_by_scalar(isa, growing_bits[i], count, 1);
            if (count % 96 == 64)
                rewriting_is_as_by_scalar(isa, growing_bits[i], 16 * count, SPLIT);
        }
}

static void forged_lines_are_rewritten_equally(void **state) {
    (void)state;
    isa_each(rewrite_forged);
}

/* Growth shifts an end mark out, which happens to forged entries only: all known bits are zeros. */
static void a_value_without_mark_is_an_entry(void **state) {
    (void)state;
    const line_values none = {.count = 0};
    for (uint32_t slot_bits = 32; slot_bits <= 120; slot_bits += 88) {
        const line_geometry g = line_geometry_of(slot_bits, 0);
        const entry e = values_entry(&g, &none, 0);
        assert_true(e.rest == 0);
        assert_int_equal(e.known, is_narrow(&g) ? 63 : 127);
    }
}

/* Any bits in free slots, as in files of other writers. */
static void fill_free_slots(table *t, uint64_t seed) {
    for (partition_walk w = {.t = t}; next_partition(&w);)
        for (uint64_t line = 0; line < w.in->count && has_own_lines(w.in); line++) {
            uint8_t *bytes = line_at(w.in, line);
            for (uint32_t slot = ends_count(&t->geometry, line_ends(&t->geometry, bytes));
                 slot < t->geometry.slots; slot++) {
                const tamis__u128 any = (tamis__u128)test_random(&seed) << 64 | test_random(&seed);
                line_put_slot(&t->geometry, bytes, slot, any & bit_mask(0, t->geometry.slot_bits));
            }
        }
}

static void adding_beside_noise(tamis__isa isa, uint32_t slot_bits, bool grows, uint32_t partitions) {
    static tamis_hash hashes[KEYS];
    static tamis_answer got[KEYS], reference[KEYS];
    tamis_filter *filter = make(isa, slot_bits, grows, partitions),
                 *oracle = make(TAMIS__ISA_SCALAR, slot_bits, grows, partitions);
    make_hashes(hashes, filter->hasher->hasher_id, grows, 83 + slot_bits);
    const size_t size = 600;
    size_t added = 0, done = size, expected;
    for (; added < KEYS && done == size; added += done) {
        const tamis_status status =
            tamis_filter_add_hashes(filter, hashes + added, size, got + added, &done, NULL);
        assert_int_equal(
            tamis_filter_add_hashes(oracle, hashes + added, size, reference + added, &expected, NULL),
            status);
        assert_int_equal(done, expected);
        assert_memory_equal(got + added, reference + added, done);
        fill_free_slots(filter->body, added);
    }
    tamis_filter_contains_hashes(filter, hashes, added, got, NULL, NULL);
    for (size_t i = 0; i < added; i++)
        assert_int_equal(got[i], TAMIS_PRESENT);
    tamis_filter_free(filter);
    tamis_filter_free(oracle);
}

static void add_beside_noise(tamis__isa isa) {
    each_shape(isa, adding_beside_noise);
}

static void free_slots_may_hold_anything(void **state) {
    (void)state;
    isa_each(add_beside_noise);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adding_is_the_same_in_every_set),
        cmocka_unit_test(forged_lines_are_rewritten_equally),
        cmocka_unit_test(a_value_without_mark_is_an_entry),
        cmocka_unit_test(free_slots_may_hold_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
