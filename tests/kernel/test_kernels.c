/* SPDX-License-Identifier: BSD-2-Clause */

/* Every set of kernels that this build and machine have, compared with positions that are computed slowly,
 * as the documentation specifies them. TAMIS_KERNEL chooses one set for a process; here each set is called
 * by its number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "filter/kernels/filter_kernels.h"
#include "hash/positions.h"
#include "support/isa.h"
#include "support/scratch.h"

enum { BLOCKS = 37, KEYS = 3000 };

static void tables_are_those_of_their_sets(tamis__isa isa) {
    assert_string_equal(tamis__filter_kernels_of(isa)->name, tamis__isa_name(isa));
}

static void every_set_has_its_table(void **state) {
    (void)state;
    isa_each(tables_are_those_of_their_sets);
}

/* ---- blocked ---- */

/* Position k of a key in its block: 9 bits of the word w(k / 7), see docs/FORMAT.md, "Blocked". */
static uint64_t bit_of(const tamis_hash *hash, uint32_t k) {
    uint64_t x = hash->word[0] + k / 7 * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 32;
    uint64_t block = (uint64_t)(((tamis__u128)hash->word[1] * BLOCKS) >> 64);
    return block * 512 + (x >> (64 - 9 * (k % 7 + 1)) & 511);
}

static bool model_has(const uint8_t *bits, const tamis_hash *hash, uint32_t probes) {
    for (uint32_t k = 0; k < probes; k++)
        if (!bits[bit_of(hash, k)])
            return false;
    return true;
}

static void model_add(uint8_t *bits, const tamis_hash *hash, uint32_t probes) {
    for (uint32_t k = 0; k < probes; k++)
        bits[bit_of(hash, k)] = 1;
}

typedef struct blocked_case {
    uint64_t words[BLOCKS * 8] __attribute__((aligned(64)));
    uint8_t bits[BLOCKS * 512]; /* of the model: one byte a bit */
    tamis_hash hashes[KEYS];
    tamis_answer got[KEYS], expected[KEYS];
} blocked_case;

static void compare_bits(const blocked_case *c) {
    for (uint64_t i = 0; i < BLOCKS * 512; i++)
        assert_int_equal(c->words[i / 64] >> i % 64 & 1, c->bits[i]);
}

static void blocked_add_stops_at_its_capacity(const struct tamis__filter_kernels *kernels, blocked_case *c,
                                              uint32_t probes) {
    tamis__blocks in = {c->words, BLOCKS, probes};
    memset(c->got, 0x77, sizeof c->got);
    uint64_t capacity = KEYS / 10, left = capacity;
    size_t done = kernels->blocked_add(&in, c->hashes, KEYS, &left, c->got), absent = 0, i = 0;
    for (; i < KEYS; i++) {
        bool present = model_has(c->bits, &c->hashes[i], probes);
        if (!present && absent == capacity)
            break;
        absent += !present;
        assert_int_equal(c->got[i], present ? TAMIS_PRESENT : TAMIS_ABSENT);
        model_add(c->bits, &c->hashes[i], probes);
    }
    assert_int_equal(done, i);
    assert_int_equal(left, capacity - absent);
    for (; i < KEYS; i++)
        assert_int_equal(c->got[i], 0x77);
    compare_bits(c);
}

static void blocked_contains_is_the_models(const struct tamis__filter_kernels *kernels, blocked_case *c,
                                           uint32_t probes) {
    tamis__blocks in = {c->words, BLOCKS, probes};
    for (size_t i = 0; i < KEYS; i++)
        c->expected[i] = model_has(c->bits, &c->hashes[i], probes) ? TAMIS_PRESENT : TAMIS_ABSENT;
    for (size_t from = 0, count; from < KEYS; from += count) { /* batches of all sizes */
        count = 1 + from % 130;
        count = KEYS - from < count ? KEYS - from : count;
        kernels->blocked_contains(&in, c->hashes + from, count, c->got + from);
    }
    assert_memory_equal(c->got, c->expected, KEYS);
}

static void blocked_is_the_models(tamis__isa isa) {
    static blocked_case c;
    const struct tamis__filter_kernels *kernels = tamis__filter_kernels_of(isa);
    uint64_t random = test_seed(51);
    for (uint32_t probes = 1; probes <= 32; probes++) {
        memset(&c, 0, sizeof c);
        for (size_t j = 0; j < KEYS; j++)
            c.hashes[j] = (tamis_hash){{test_random(&random), test_random(&random)}, 0};
        for (size_t j = 1; j < KEYS; j += 3)
            c.hashes[j] = c.hashes[j / 2];
        c.hashes[0] = (tamis_hash){{0, 0}, 0};
        c.hashes[2] = (tamis_hash){{UINT64_MAX, UINT64_MAX}, 0};
        blocked_add_stops_at_its_capacity(kernels, &c, probes);
        blocked_contains_is_the_models(kernels, &c, probes);
    }
}

static void blocked_is_the_same_in_every_set(void **state) {
    (void)state;
    isa_each(blocked_is_the_models);
}

/* ---- counting ---- */

/* Counter number i of a key, see docs/FORMAT.md, "Counting". */
static uint64_t counter_of(const tamis_hash *hash, uint32_t i) {
    return bit_of(hash, i) / 4;
}

typedef struct counting_case {
    uint64_t words[BLOCKS * 8] __attribute__((aligned(64)));
    uint8_t counters[BLOCKS * 128]; /* of the model: one byte a counter */
    tamis_hash hashes[KEYS];
    tamis_answer got[KEYS];
} counting_case;

static uint8_t model_smallest(const counting_case *c, const tamis_hash *hash, uint32_t probes) {
    uint8_t min = 15;
    for (uint32_t i = 0; i < probes; i++) {
        const uint8_t counter = c->counters[counter_of(hash, i)];
        min = counter < min ? counter : min;
    }
    return min;
}

/* Changes each counter of the key once, unless it is saturated. */
static void model_change(counting_case *c, const tamis_hash *hash, uint32_t probes, int by) {
    bool changed[BLOCKS * 128] = {0};
    for (uint32_t i = 0; i < probes; i++) {
        const uint64_t counter = counter_of(hash, i);
        if (!changed[counter] && c->counters[counter] < 15)
            c->counters[counter] = (uint8_t)(c->counters[counter] + by);
        changed[counter] = true;
    }
}

static void compare_counters(const counting_case *c) {
    for (uint64_t i = 0; i < BLOCKS * 128; i++)
        assert_int_equal(c->words[i / 16] >> i % 16 * 4 & 15, c->counters[i]);
}

static void counting_add_stops_at_its_capacity(const struct tamis__counting_kernels *kernels,
                                               counting_case *c, uint32_t probes) {
    tamis__blocks in = {c->words, BLOCKS, probes};
    const uint64_t capacity = KEYS / 10;
    uint64_t left = capacity, absent = 0;
    size_t i = 0;
    memset(c->got, 0x77, sizeof c->got);
    const size_t done = kernels->add(&in, c->hashes, KEYS, &left, c->got);
    for (; i < KEYS; i++) {
        const bool present = model_smallest(c, &c->hashes[i], probes) > 0;
        if (!present && absent == capacity)
            break;
        absent += !present;
        assert_int_equal(c->got[i], present ? TAMIS_PRESENT : TAMIS_ABSENT);
        model_change(c, &c->hashes[i], probes, 1);
    }
    assert_int_equal(done, i);
    assert_int_equal(left, capacity - absent);
    for (; i < KEYS; i++)
        assert_int_equal(c->got[i], 0x77);
    compare_counters(c);
}

static void counting_contains_and_counts_as_the_model(const struct tamis__counting_kernels *kernels,
                                                      counting_case *c, uint32_t probes) {
    tamis__blocks in = {c->words, BLOCKS, probes};
    for (size_t from = 0, chunk; from < KEYS; from += chunk) { /* batches of all sizes */
        chunk = 1 + from % 130;
        chunk = KEYS - from < chunk ? KEYS - from : chunk;
        kernels->contains(&in, c->hashes + from, chunk, c->got + from);
    }
    for (size_t i = 0; i < KEYS; i++) {
        const uint8_t smallest = model_smallest(c, &c->hashes[i], probes);
        assert_int_equal(c->got[i], smallest ? TAMIS_PRESENT : TAMIS_ABSENT);
        assert_int_equal(tamis__counting_smallest(&in, &c->hashes[i]), smallest);
    }
}

/* Removes all keys, also those that are absent. Saturated counters stay. */
static void counting_removes_as_the_model(const struct tamis__counting_kernels *kernels, counting_case *c,
                                          uint32_t probes) {
    tamis__blocks in = {c->words, BLOCKS, probes};
    size_t gone = 0;
    const size_t result = kernels->remove(&in, c->hashes, KEYS, c->got);
    for (size_t i = 0; i < KEYS; i++) {
        const bool present = model_smallest(c, &c->hashes[i], probes) > 0;
        assert_int_equal(c->got[i], present ? TAMIS_PRESENT : TAMIS_ABSENT);
        if (present)
            model_change(c, &c->hashes[i], probes, -1);
        gone += present && model_smallest(c, &c->hashes[i], probes) == 0;
    }
    assert_int_equal(result, gone);
    compare_counters(c);
}

static void counting_is_the_models(tamis__isa isa) {
    static counting_case c;
    const struct tamis__counting_kernels *kernels = tamis__filter_kernels_of(isa)->counting;
    uint64_t random = test_seed(53);
    for (uint32_t probes = 1; probes <= 255; probes += probes < 32 ? 1 : 71) {
        memset(&c, 0, sizeof c);
        for (size_t j = 0; j < KEYS; j++)
            c.hashes[j] = (tamis_hash){{test_random(&random), test_random(&random)}, 0};
        for (size_t j = 1; j < KEYS; j += 3)
            c.hashes[j] = c.hashes[j / 2];
        for (size_t j = 100; j < 140; j++) /* one key that saturates its counters */
            c.hashes[j] = c.hashes[99];
        c.hashes[0] = (tamis_hash){{0, 0}, 0};
        c.hashes[2] = (tamis_hash){{UINT64_MAX, UINT64_MAX}, 0};
        counting_add_stops_at_its_capacity(kernels, &c, probes);
        counting_contains_and_counts_as_the_model(kernels, &c, probes);
        counting_removes_as_the_model(kernels, &c, probes);
        counting_contains_and_counts_as_the_model(kernels, &c, probes);
    }
}

static void counting_is_the_same_in_every_set(void **state) {
    (void)state;
    isa_each(counting_is_the_models);
}

/* Each pair of counters, at each position of a word beside other values. */
static void counters_of_words_are_added_and_examined_one_by_one(void **state) {
    (void)state;
    uint64_t random = test_seed(54);
    for (int i = 0; i < 256 * 16; i++) {
        const int shift = i % 16 * 4;
        const uint64_t pair_a = (uint64_t)(i / 16 % 16) << shift, pair_b = (uint64_t)(i / 256) << shift;
        const uint64_t others = ~(UINT64_C(15) << shift);
        const uint64_t a = (test_random(&random) & others) | pair_a;
        const uint64_t b = (test_random(&random) & others) | pair_b;
        const uint64_t sum = tamis__counters_sum(a, b), used = tamis__counters_used(a);
        const uint64_t saturated = tamis__counters_saturated(a);
        for (int j = 0; j < 64; j += 4) {
            const uint64_t counter = a >> j & 15, other = b >> j & 15;
            assert_int_equal(sum >> j & 15, counter + other > 15 ? 15 : counter + other);
            assert_int_equal(used >> j & 15, counter > 0);
            assert_int_equal(saturated >> j & 15, counter == 15);
        }
    }
}

/* ---- unions ---- */

/* Unions of any number of words change no other words. The lines are empty to full. */
static void union_equals_the_model(const struct tamis__filter_kernels *kernels, uint64_t *random,
                                   uint64_t count) {
    enum { MAX = 5000 };
    static uint64_t into[MAX + 1], from[MAX + 1], expected[MAX + 1];
    tamis__line_counts got = {{0}}, counts = {{0}};
    for (uint64_t i = 0, dense = 0; i <= MAX; i++) {
        dense = i % 8 ? dense : test_random(random) % 4;
        into[i] = dense == 0 ? 0 : dense == 1 ? UINT64_MAX : test_random(random);
        from[i] = dense == 0 ? 0 : test_random(random);
        expected[i] = i < count ? into[i] | from[i] : into[i];
    }
    for (uint64_t i = 0; i < count; i += 8) {
        int ones = 0;
        for (uint64_t j = i; j < count && j < i + 8; j++)
            ones += __builtin_popcountll(expected[j]);
        counts.lines[ones]++;
    }
    kernels->or_words(into, from, count, &got);
    assert_memory_equal(into, expected, sizeof expected);
    assert_memory_equal(&got, &counts, sizeof counts);
}

static void union_equals_the_model_of_any_size(tamis__isa isa) {
    const struct tamis__filter_kernels *kernels = tamis__filter_kernels_of(isa);
    uint64_t random = test_seed(52);
    for (uint64_t count = 0; count <= 20; count++)
        union_equals_the_model(kernels, &random, count);
    for (uint64_t count = 2040; count <= 5000; count += 493)
        union_equals_the_model(kernels, &random, count);
}

static void union_is_the_same_in_every_set(void **state) {
    (void)state;
    isa_each(union_equals_the_model_of_any_size);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_has_its_table),
        cmocka_unit_test(blocked_is_the_same_in_every_set),
        cmocka_unit_test(counting_is_the_same_in_every_set),
        cmocka_unit_test(counters_of_words_are_added_and_examined_one_by_one),
        cmocka_unit_test(union_is_the_same_in_every_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
