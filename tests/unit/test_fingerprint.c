/* SPDX-License-Identifier: BSD-2-Clause */

/* Fingerprint tables under stress: lines that overflow, many keys for few lines, rates that are used up.
 * tests/property tests ordinary use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "property/filter_model.h"
#include "support/fault.h"

static const double rates[] = {1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-13, 1e-17, 1e-26};
enum { RATES = sizeof rates / sizeof *rates };

static tamis_plan table_plan(double p, uint64_t expect, uint64_t memory) {
    filter_case c = {"table", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, expect == 0, p};
    return case_plan(&c, expect, memory);
}

static tamis_filter *table(double p, uint64_t expect, uint64_t memory) {
    tamis_plan plan = table_plan(p, expect, memory);
    return plan_filter(&plan, NULL);
}

/* Makes hashes with the same first `same` bits; the others are random. */
static void crowd(tamis_hash *hashes, size_t count, int same, uint64_t hasher_id, uint64_t *random) {
    uint64_t prefix = test_random(random);
    random_hashes(hashes, count, hasher_id, 0, random);
    for (size_t i = 0; i < count; i++)
        hashes[i].word[1] = (prefix & ~(UINT64_MAX >> same)) | (hashes[i].word[1] & (UINT64_MAX >> same));
}

static void check_all_found(const tamis_filter *filter, const tamis_hash *hashes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        tamis_answer answer = TAMIS_ABSENT;
        assert_int_equal(tamis_filter_contains_hashes(filter, &hashes[i], 1, &answer, NULL, NULL), TAMIS_OK);
        if (answer != TAMIS_PRESENT)
            fail_msg("hash %zu of %zu is lost", i, count);
    }
}

enum { CROWD = 4000 };
static tamis_hash hashes[CROWD];

/* Many keys with the same home line are spilled to other lines. When these are full too, the table is full
 * although it has free slots elsewhere. Added keys stay, and other keys can still be added. */
static void many_keys_of_a_line_spill_into_the_next(void **state) {
    (void)state;
    uint64_t random = model_seed(31);
    for (int i = 0; i < RATES; i++) {
        for (int same = 3; same <= 24; same += 3) {
            tamis_filter *filter = table(rates[i], 100000, 0);
            size_t done = 0;
            tamis_error err = TAMIS_ERROR_INIT;
            crowd(hashes, CROWD, same, filter_hasher_id(filter), &random);
            tamis_status status = tamis_filter_add_hashes(filter, hashes, CROWD, NULL, &done, &err);
            assert_int_equal(status, done < CROWD ? TAMIS_E_FULL : TAMIS_OK);
            if (done < CROWD)
                assert_non_null(strstr(err.text, "full"));
            assert_int_equal(filter_info(filter).full, done < CROWD ? TAMIS_FULL_CROWDED : TAMIS_FULL_NOT);
            if (same == 3)
                assert_int_equal(done, CROWD);
            assert_true(done > 20);
            check_all_found(filter, hashes, done);
            tamis_hash others[500];
            random_hashes(others, 500, filter_hasher_id(filter), 0, &random);
            size_t other_done = 0;
            tamis_filter_add_hashes(filter, others, 500, NULL, &other_done, NULL);
            check_all_found(filter, others, other_done);
            check_all_found(filter, hashes, done);
            tamis_filter_free(filter);
        }
    }
}

/* The same in a growing table. It may grow in vain up to its memory limit, and is full then. */
static void many_keys_of_a_line_grow_a_table_to_its_limit(void **state) {
    (void)state;
    uint64_t random = model_seed(32);
    for (int i = 0; i < RATES; i += model_full() ? 1 : 3) {
        for (int same = 16; same <= 28; same += 4) {
            uint64_t limit = 3000000;
            fault_memory memory = {0};
            tamis_allocator allocator = fault_memory_allocator(&memory);
            tamis_plan plan = table_plan(rates[i], 0, limit);
            tamis_filter *filter = plan_filter(&plan, &allocator);
            size_t done = 0;
            crowd(hashes, CROWD, same, filter_hasher_id(filter), &random);
            tamis_status status = tamis_filter_add_hashes(filter, hashes, CROWD, NULL, &done, NULL);
            assert_int_equal(status, done < CROWD ? TAMIS_E_FULL : TAMIS_OK);
            check_all_found(filter, hashes, done);
            assert_true(filter_info(filter).memory_peak <= limit);
            /* Again, one by one: added keys are present, the others are added or refused. */
            for (size_t j = 0; j < done + 20 && j < CROWD; j++) {
                tamis_answer answer = 9;
                status = tamis_filter_add_hashes(filter, &hashes[j], 1, &answer, NULL, NULL);
                if (j < done)
                    assert_true(status == TAMIS_OK && answer == TAMIS_PRESENT);
                if (status != TAMIS_OK)
                    assert_true(status == TAMIS_E_FULL && answer == 9);
            }
            check_all_found(filter, hashes, done);
            /* The memory of failed attempts was freed. */
            assert_in_range(memory.live_bytes, filter_info(filter).memory, filter_info(filter).memory + 3072);
            tamis_filter_free(filter);
            assert_int_equal(memory.live_blocks, 0);
        }
    }
}

/* Hashes at the ends of their range: first and last line, first and last bucket, spilled entries that wrap
 * around. The outermost ones are so many that some find no slot. */
static void hashes_at_the_ends_of_the_range(void **state) {
    (void)state;
    uint64_t random = model_seed(33);
    for (int i = 0; i < 2 * RATES; i++) {
        tamis_filter *filter = table(rates[i / 2], i % 2 ? 0 : 3000, i % 2 ? 3000000 : 0);
        uint64_t hasher_id = filter_hasher_id(filter);
        size_t in = 0;
        for (int j = 0; j < 200; j++) {
            tamis__u128 distance = (tamis__u128)test_random(&random) << 64 | test_random(&random);
            distance >>= 1 + test_below(&random, 127);
            tamis__u128 y = j % 2 ? distance : ~distance;
            hashes[in] = (tamis_hash){{(uint64_t)y, (uint64_t)(y >> 64)}, hasher_id};
            tamis_status status = tamis_filter_add_hashes(filter, &hashes[in], 1, NULL, NULL, NULL);
            assert_true(status == TAMIS_OK || status == TAMIS_E_FULL);
            in += status == TAMIS_OK;
            check_all_found(filter, hashes, in);
        }
        assert_true(in > 20);
        tamis_filter_free(filter);
    }
}

/* An exact filter uses all 128 bits: a hash that differs in one bit is another key. */
static void exact_distinguishes_every_bit(void **state) {
    (void)state;
    uint64_t random = model_seed(34);
    for (int grows = 0; grows < 2; grows++) {
        filter_case c = {"exact", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, grows, 0};
        tamis_filter *filter = case_filter(&c, 1000);
        for (int round = 0; round < 100; round++) {
            tamis_hash hash, near;
            random_hashes(&hash, 1, filter_hasher_id(filter), 0, &random);
            assert_int_equal(tamis_filter_add_hashes(filter, &hash, 1, NULL, NULL, NULL), TAMIS_OK);
            for (int bit = 0; bit < 128; bit++) {
                tamis_answer answer = 9;
                near = hash;
                near.word[bit / 64] ^= UINT64_C(1) << bit % 64;
                assert_int_equal(tamis_filter_contains_hashes(filter, &near, 1, &answer, NULL, NULL),
                                 TAMIS_OK);
                if (answer != TAMIS_ABSENT)
                    fail_msg("grows %d: bit %d does not count", grows, bit);
            }
        }
        tamis_filter_free(filter);
    }
}

/* A growing table that would exceed its rate reports that it is full. (Its plan reserves bits for 2^40
 * keys. The rate is lowered here, so that it is used up earlier.) */
static void a_rate_that_runs_out_is_full(void **state) {
    (void)state;
    uint64_t random = model_seed(35);
    tamis_plan plan = table_plan(1e-4, 0, 0);
    plan.fpr = 1e-10;
    tamis_filter *filter = plan_filter(&plan, NULL);
    tamis_error err = TAMIS_ERROR_INIT;
    size_t done = CROWD, in = 0;
    for (; done == CROWD && in < 10000000; in += done) {
        random_hashes(hashes, CROWD, filter_hasher_id(filter), 0, &random);
        tamis_filter_add_hashes(filter, hashes, CROWD, NULL, &done, &err);
    }
    assert_int_equal(err.status, TAMIS_E_FULL);
    assert_non_null(strstr(err.text, "its rate would pass 1e-10"));
    tamis_filter_info info = filter_info(filter);
    assert_int_equal(info.full, TAMIS_FULL_RATE);
    assert_true(info.saturated && info.fpr_live < 1.001e-10 && info.fpr_live > 0.999e-10);
    check_all_found(filter, hashes, done);
    tamis_filter_free(filter);
}

/* false_present is the sum of the rates of the partitions at the time when each absent key was added. The
 * keys of the growing table are all in one of 256 partitions. */
static void false_present_is_the_sum_of_rates(void **state) {
    (void)state;
    uint64_t random = model_seed(36);
    for (int i = 0; i < 2 * RATES; i++) {
        tamis_filter *filter = table(rates[i / 2], i % 2 ? 0 : CROWD, 0);
        double sum = 0;
        random_hashes(hashes, CROWD, filter_hasher_id(filter), i % 2 ? 8 : 0, &random);
        for (int j = 0; j < CROWD; j++) {
            double rate = filter_info(filter).fpr_live;
            tamis_answer answer = 9;
            assert_int_equal(tamis_filter_add_hashes(filter, &hashes[j], 1, &answer, NULL, NULL), TAMIS_OK);
            sum += answer == TAMIS_ABSENT ? rate * (i % 2 ? 256 : 1) : 0;
        }
        tamis_filter_info info = filter_info(filter);
        assert_true(sum > 0 && fabs(info.false_present - sum) <= 1e-9 * sum);
        assert_true(info.cardinality == (double)info.added + info.false_present);
        tamis_filter_free(filter);
    }
}

/* A table that has grown and is cleared accepts the same keys again without growth. */
static void a_grown_table_is_cleared(void **state) {
    (void)state;
    uint64_t random = model_seed(37);
    for (int i = 0; i < RATES; i++) {
        tamis_filter *filter = table(rates[i], 0, 0);
        random_hashes(hashes, CROWD, filter_hasher_id(filter), 8, &random);
        assert_int_equal(tamis_filter_add_hashes(filter, hashes, CROWD, NULL, NULL, NULL), TAMIS_OK);
        tamis_filter_info before = filter_info(filter);
        for (int round = 0; round < 3; round++) {
            tamis_filter_clear(filter, NULL);
            assert_int_equal(tamis_filter_add_hashes(filter, hashes, CROWD, NULL, NULL, NULL), TAMIS_OK);
            check_all_found(filter, hashes, CROWD);
            assert_int_equal(filter_info(filter).memory, before.memory);
            assert_int_equal(filter_info(filter).memory_peak, before.memory_peak);
        }
        tamis_filter_free(filter);
    }
}

/* The messages of a full filter say what to do. */
static void full_says_what_to_do(void **state) {
    (void)state;
    tamis_error err = TAMIS_ERROR_INIT;
    for (int limited = 0; limited < 2; limited++) {
        uint64_t starts = table_plan(1e-9, 0, 0).memory;
        tamis_filter *filter = limited ? table(1e-9, 0, starts + starts / 8) : table(1e-9, 1000, 0);
        uint64_t random = 1;
        tamis_status status = TAMIS_OK;
        for (int i = 0; i < 200 && status == TAMIS_OK; i++) {
            random_hashes(hashes, CROWD, filter_hasher_id(filter), 0, &random);
            status = tamis_filter_add_hashes(filter, hashes, CROWD, NULL, NULL, &err);
        }
        assert_int_equal(status, TAMIS_E_FULL);
        assert_non_null(strstr(err.text, limited ? "allow more memory" : "1000 keys it was made for"));
        assert_int_equal(filter_info(filter).full, limited ? TAMIS_FULL_MEMORY : TAMIS_FULL_CAPACITY);
        assert_int_equal(tamis_filter_clear(filter, NULL), TAMIS_OK);
        assert_int_equal(filter_info(filter).full, TAMIS_FULL_NOT);
        tamis_filter_free(filter);
    }
}

/* ---- partitions without a key yet ---- */

enum { SMALL_BYTES = 64 << 10, FEW_BLOCKS = 8 };

static void check_small(const tamis_filter *filter, const fault_memory *memory) {
    assert_true(memory->live_bytes < SMALL_BYTES);
    assert_true(memory->live_blocks <= FEW_BLOCKS);
    assert_true(filter_info(filter).memory <= memory->live_bytes);
}

static void reg_22_an_empty_growing_filter_is_small(void **state) {
    (void)state;
    for (int i = 0; i < RATES; i++) {
        fault_memory memory = {0}, other = {0};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_plan plan = table_plan(rates[i], 0, 0);
        tamis_filter *filter = plan_filter(&plan, &allocator), *copy = NULL;
        check_small(filter, &memory);
        assert_int_equal(tamis_filter_clear(filter, NULL), TAMIS_OK);
        tamis_answer answer = TAMIS_PRESENT;
        assert_int_equal(tamis_filter_contains(filter, "k", 1, &answer, NULL), TAMIS_OK);
        assert_int_equal(answer, TAMIS_ABSENT);
        assert_int_equal(tamis_filter_add(filter, "k", 1, &answer, NULL), TAMIS_OK);
        assert_int_equal(answer, TAMIS_ABSENT);
        check_small(filter, &memory);
        memory.requests = 0;
        other = memory;
        assert_int_equal(tamis_filter_copy(&copy, filter, NULL), TAMIS_OK);
        assert_true(memory.requests <= FEW_BLOCKS && memory.live_bytes - other.live_bytes < SMALL_BYTES);
        tamis_filter_free(filter);
        check_small(copy, &memory);
        assert_int_equal(tamis_filter_add(copy, "k", 1, &answer, NULL), TAMIS_OK);
        assert_int_equal(answer, TAMIS_PRESENT);
        tamis_filter_free(copy);
        assert_int_equal(memory.live_blocks, 0);
    }
}

/* A partition full of keys must not grow into the memory that the plan reserves for the others. */
static void lines_that_are_due_count_as_memory(void **state) {
    (void)state;
    uint64_t random = model_seed(22);
    for (int i = 0; i < RATES; i++) {
        const uint64_t limit = table_plan(rates[i], 0, 0).memory;
        tamis_filter *filter = table(rates[i], 0, limit);
        size_t done = 0;
        crowd(hashes, CROWD, 8, filter_hasher_id(filter), &random);
        assert_int_equal(tamis_filter_add_hashes(filter, hashes, CROWD, NULL, &done, NULL), TAMIS_E_FULL);
        assert_in_range(done, 100, CROWD - 1);
        check_all_found(filter, hashes, done);
        const uint64_t full = hashes[0].word[1] >> 56;
        random_hashes(hashes, 256, filter_hasher_id(filter), 0, &random);
        for (uint64_t j = 0; j < 256; j++)
            hashes[j].word[1] = (hashes[j].word[1] >> 8) | (j == full ? j ^ 1 : j) << 56;
        assert_int_equal(tamis_filter_add_hashes(filter, hashes, 256, NULL, &done, NULL), TAMIS_OK);
        check_all_found(filter, hashes, 256);
        assert_true(filter_info(filter).memory_peak <= limit);
        tamis_filter_free(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_keys_of_a_line_spill_into_the_next),
        cmocka_unit_test(many_keys_of_a_line_grow_a_table_to_its_limit),
        cmocka_unit_test(hashes_at_the_ends_of_the_range),
        cmocka_unit_test(exact_distinguishes_every_bit),
        cmocka_unit_test(a_rate_that_runs_out_is_full),
        cmocka_unit_test(false_present_is_the_sum_of_rates),
        cmocka_unit_test(a_grown_table_is_cleared),
        cmocka_unit_test(full_says_what_to_do),
        cmocka_unit_test(reg_22_an_empty_growing_filter_is_small),
        cmocka_unit_test(lines_that_are_due_count_as_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
