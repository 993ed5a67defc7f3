/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks that share large pages, and partitions in such blocks: the count of their memory, and that
 * nothing else depends on it. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pages.h"
#include "filter/table/fingerprint_table.h"
#include "property/filter_model.h"
#include "support/fault.h"

/* ---- blocks ---- */

enum { BLOCKS = 60, LIVE = 7 };

static size_t size_of(size_t i) {
    return TAMIS__PAGES_BLOCK_MIN + i * 4160;
}

static void expect_zero(const uint8_t *block, size_t size) {
    assert_int_equal(block[0], 0);
    assert_memory_equal(block, block + 1, size - 1);
}

/* Allocates and frees blocks in turn, and checks that no other block changes. */
static void *come_and_go(void *context) {
    uint8_t *blocks[BLOCKS];
    size_t held;
    for (size_t i = 0; i < BLOCKS + LIVE; i++) {
        if (i < BLOCKS) {
            blocks[i] = tamis__pages_cut(context, size_of(i), &held);
            assert_non_null(blocks[i]);
            expect_zero(blocks[i], size_of(i));
            memset(blocks[i], (int)i + 1, size_of(i));
        }
        if (i < LIVE)
            continue;
        uint8_t *oldest = blocks[i - LIVE];
        assert_int_equal(oldest[0], i - LIVE + 1);
        assert_memory_equal(oldest, oldest + 1, size_of(i - LIVE) - 1);
        tamis__pages_unmap(oldest, size_of(i - LIVE));
    }
    return NULL;
}

static void blocks_come_and_go(void **state) {
    (void)state;
    pthread_t threads[3];
    tamis__pages pages;
    tamis__pages_init(&pages);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &pages), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    tamis__pages_release(&pages);
}

static void blocks_follow_each_other(void **state) {
    (void)state;
    const size_t min = TAMIS__PAGES_BLOCK_MIN, large = 100 * TAMIS__PAGE;
    tamis__pages pages;
    size_t held;
    fault_install();
    tamis__pages_init(&pages);
    fault_arm(FAULT_MAP, 1, ENOMEM, false);
    assert_null(
        tamis__pages_cut(&pages, min, &held)); /* the system has no memory now, but may have some later */
    fault_arm(FAULT_MAP, 0, 0, false);
    uint8_t *first = tamis__pages_cut(&pages, min - 64, &held);
    assert_int_equal(held, TAMIS__PAGE);
    assert_int_equal((uintptr_t)first % TAMIS__PAGE, 0);
    uint8_t *second = tamis__pages_cut(&pages, min, &held);
    assert_int_equal(held, 0);
    assert_ptr_equal(second, first + min);
    assert_int_equal(fault_calls(FAULT_MAP), 1);
    assert_int_equal(fault_calls(FAULT_ADVISE), 1);
    uint8_t *three =
        tamis__pages_cut(&pages, large, &held); /* does not fit what is mapped, which is returned */
    assert_int_equal(held, 0);
    assert_int_equal((uintptr_t)three % TAMIS__PAGE, 0);
    assert_int_equal(fault_calls(FAULT_MAP), 2);
    expect_zero(three + large - TAMIS__PAGE, TAMIS__PAGE);

    assert_int_equal(tamis__pages_close(&pages), TAMIS__PAGE);
    assert_int_equal(tamis__pages_close(&pages), 0);
    assert_null(tamis__pages_cut(&pages, min, &held));
    assert_int_equal(held, 0);
    memset(first, 1, min);
    memset(second, 2, min);
    tamis__pages_unmap(first, min);
    tamis__pages_unmap(second, min);
    tamis__pages_unmap(three, large);
    tamis__pages_release(&pages);
    fault_remove();
}

/* ---- partitions ---- */

static const filter_case exact = {"exact", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, true, 0};

enum { BATCH = 500, FIXED = 6 }; /* FIXED: bits; hashes are in four partitions, which become large soon */

/* Adds a batch to two filters, and checks that both behave equally. False when they are full. */
static bool add_to_both(tamis_filter *filter, tamis_filter *other, uint64_t *random) {
    tamis_hash hashes[BATCH];
    size_t done, others;
    tamis_error err = TAMIS_ERROR_INIT, its = TAMIS_ERROR_INIT;
    random_hashes(hashes, BATCH, filter_hasher_id(filter), FIXED, random);
    tamis_status status = tamis_filter_add_hashes(filter, hashes, BATCH, NULL, &done, &err);
    assert_int_equal(tamis_filter_add_hashes(other, hashes, BATCH, NULL, &others, &its), status);
    assert_int_equal(done, others);
    assert_string_equal(err.text, its.text);
    return status == TAMIS_OK;
}

static void same_lines(const tamis_filter *filter, const tamis_filter *other) {
    const table *t = filter->body, *u = other->body;
    for (partition_walk w = {.t = t}, v = {.t = u}; next_partition(&w) && next_partition(&v);) {
        assert_int_equal(w.in->count, v.in->count);
        assert_memory_equal(w.in->lines, v.in->lines, w.in->count * LINE_BYTES);
    }
}

/* A filter with the caller's allocator does not use shared pages, so the difference in memory is what is
 * held in advance. Near a limit nothing is held in advance: both filters are full with the same key, and
 * neither ever exceeds the limit. */
static void pages_count_against_a_limit(void **state) {
    (void)state;
    for (int limited = (int)test_scale(0, 1, 0); limited < 2; limited++) {
        fault_memory counted = {0};
        const tamis_allocator own = fault_memory_allocator(&counted);
        const tamis_plan plan = case_plan(&exact, 0, limited ? 9 << 20 : 0);
        tamis_filter *ordinary = plan_filter(&plan, NULL), *plain = plan_filter(&plan, &own);
        tamis_filter_expect(ordinary, 1); /* without a size hint nothing is held in advance */
        uint64_t random = model_seed(77), beside = 0;
        while (filter_info(plain).memory < (12 << 20) && add_to_both(ordinary, plain, &random)) {
            const uint64_t extra = filter_info(ordinary).memory - filter_info(plain).memory;
            assert_true(extra == 0 || extra == TAMIS__PAGE);
            beside |= extra;
        }
        const tamis_filter_info info = filter_info(ordinary), plains = filter_info(plain);
        assert_int_equal(beside, TAMIS__PAGE);
        assert_int_equal(info.memory, plains.memory + (limited ? 0 : TAMIS__PAGE));
        assert_true(limited ? info.memory_peak <= plan.memory_limit : info.memory_peak >= info.memory);
        assert_int_equal(info.full, limited ? TAMIS_FULL_MEMORY : TAMIS_FULL_NOT);
        same_lines(ordinary, plain);

        tamis_filter *copy = NULL;
        assert_int_equal(tamis_filter_copy(&copy, ordinary, NULL), TAMIS_OK);
        assert_true(!limited || filter_info(copy).memory_peak <= plan.memory_limit);
        const uint64_t more = filter_info(copy).memory - info.memory;
        assert_true(more == 0 || (limited && more == TAMIS__PAGE));
        same_lines(ordinary, copy);
        tamis_filter_free(copy);
        tamis_filter_free(ordinary);
        tamis_filter_free(plain);
        assert_int_equal(counted.live_blocks, 0);
    }
}

/* If the system does not map so much in advance, a partition is mapped alone. */
static void no_pages_are_no_failure(void **state) {
    (void)state;
    tamis_filter *ordinary = case_filter(&exact, 0), *without = case_filter(&exact, 0);
    uint64_t random = model_seed(78);
    tamis_filter_expect(ordinary, 1);
    tamis_filter_expect(without, 1);
    tamis__pages_close(((table *)without->body)->pages);
    while (filter_info(without).memory < (4 << 20))
        assert_true(add_to_both(ordinary, without, &random));
    assert_int_equal(filter_info(ordinary).memory, filter_info(without).memory + TAMIS__PAGE);
    same_lines(ordinary, without);
    tamis_filter_free(ordinary);
    tamis_filter_free(without);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_come_and_go),
        cmocka_unit_test(blocks_follow_each_other),
        cmocka_unit_test(pages_count_against_a_limit),
        cmocka_unit_test(no_pages_are_no_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
