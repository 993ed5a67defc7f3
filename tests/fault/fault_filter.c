/* SPDX-License-Identifier: BSD-2-Clause */

/* Each allocation of a filter fails once: nothing leaks, no key is lost, and the call may be repeated. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/pages.h"
#include "property/filter_model.h"
#include "support/fault.h"

static const char secret[] = "a secret for tests only, 32 bytes";

static void check_nomem(tamis_status status, const tamis_error *err) {
    assert_int_equal(status, TAMIS_E_NOMEM);
    assert_int_equal(err->status, TAMIS_E_NOMEM);
    assert_int_equal(err->sys_errno, ENOMEM);
    assert_non_null(strstr(err->text, "out of memory"));
}

/* ---- creation ---- */

static tamis_status try_create(tamis_filter **filter, const tamis_plan *plan, bool concurrent,
                               const tamis_allocator *allocator, tamis_error *err) {
    tamis_filter_options options = plan_options(plan);
    options.allocator = allocator;
    options.concurrent = concurrent;
    return tamis_filter_create(filter, plan, &options, err);
}

static void create_without_memory(const filter_case *c, bool concurrent) {
    tamis_plan plan = case_plan(c, 1000, 0);
    bool reached = true;
    for (uint64_t n = 1; reached; n++) {
        fault_memory memory = {.fail_at = n};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_filter *filter = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_status status = try_create(&filter, &plan, concurrent, &allocator, &err);
        reached = memory.refused > 0;
        if (reached) {
            check_nomem(status, &err);
            assert_null(filter);
        } else {
            assert_int_equal(status, TAMIS_OK);
            assert_true(n > 3);
            tamis_filter_free(filter);
        }
        assert_int_equal(memory.live_blocks, 0);
    }
}

static const filter_case cuckoo = {"cuckoo", TAMIS_KIND_CUCKOO, TAMIS_SCHEME_SIP, false, 1e-4};

static void creation_without_memory(void **state) {
    (void)state;
    for (int i = 0; i < 2 * FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i % FILTER_CASES];
        create_without_memory(c, i >= FILTER_CASES && case_has_digest(c));
    }
    create_without_memory(&cuckoo, false);
}

/* Only copies take memory: adds and removals need none, a full table included. */
static void a_cuckoo_filter_without_memory(void **state) {
    (void)state;
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_plan plan = case_plan(&cuckoo, 1000, 0);
    tamis_filter *filter = plan_filter(&plan, &allocator), *copy = NULL;
    const uint64_t created = memory.requests;
    uint64_t key = 0;
    while (tamis_filter_add(filter, &key, sizeof key, NULL, NULL) == TAMIS_OK)
        key++;
    assert_int_equal(tamis_filter_remove(filter, &key, sizeof key, NULL, NULL), TAMIS_OK);
    assert_int_equal(memory.requests, created);
    for (uint64_t n = 1; !copy; n++) {
        tamis_error err = TAMIS_ERROR_INIT;
        memory.fail_at = memory.requests + n;
        memory.refused = 0;
        if (tamis_filter_copy(&copy, filter, &err) != TAMIS_OK)
            check_nomem(err.status, &err);
    }
    assert_true(tamis_filter_is_equal(copy, filter));
    tamis_filter_free(copy);
    tamis_filter_free(filter);
    assert_int_equal(memory.live_blocks, 0);
}

/* Growth asks for one table. Refused, the filter has lost nothing, and the same add works later. */
static void a_growing_cuckoo_filter_without_memory(void **state) {
    (void)state;
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    filter_case c = cuckoo;
    c.grows = true;
    create_without_memory(&c, false);
    tamis_plan plan = case_plan(&c, 0, 0);
    tamis_filter *filter = plan_filter(&plan, &allocator), *copy = NULL;
    tamis_answer answer;
    uint64_t refused = 0;
    for (uint64_t key = 0; key < 30000; key++) {
        tamis_error err = TAMIS_ERROR_INIT;
        memory.fail_at = memory.requests + 1;
        const tamis_status status = tamis_filter_add(filter, &key, sizeof key, NULL, &err);
        if (status == TAMIS_OK)
            continue;
        check_nomem(status, &err);
        refused++;
        for (uint64_t before = 0; before < key; before += 7) {
            assert_int_equal(tamis_filter_contains(filter, &before, sizeof before, &answer, NULL), TAMIS_OK);
            assert_int_equal(answer, TAMIS_PRESENT);
        }
        memory.fail_at = 0;
        assert_int_equal(tamis_filter_add(filter, &key, sizeof key, NULL, NULL), TAMIS_OK);
    }
    assert_int_equal(refused, 3);
    assert_int_equal(filter_info(filter).subfilters, 4);
    for (uint64_t n = 1; !copy; n++) {
        tamis_error err = TAMIS_ERROR_INIT;
        memory.fail_at = memory.requests + n;
        if (tamis_filter_copy(&copy, filter, &err) != TAMIS_OK)
            check_nomem(err.status, &err);
    }
    assert_true(tamis_filter_is_equal(copy, filter));
    assert_int_equal(filter_info(copy).memory, filter_info(filter).memory);
    tamis_filter_free(copy);
    tamis_filter_free(filter);
    assert_int_equal(memory.live_blocks, 0);
}

static void a_hasher_without_memory(void **state) {
    (void)state;
    fault_memory memory = {.fail_at = 1};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_hasher *hasher = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_status status =
        tamis_hasher_create(&hasher,
                            &(tamis_hasher_options){sizeof(tamis_hasher_options), TAMIS_SCHEME_SIP, 0, secret,
                                                    sizeof secret, &allocator},
                            &err);
    check_nomem(status, &err);
    assert_null(hasher);
    assert_int_equal(
        tamis_hasher_create(&hasher,
                            &(tamis_hasher_options){sizeof(tamis_hasher_options), TAMIS_SCHEME_SIP, 0, secret,
                                                    sizeof secret, &allocator},
                            NULL),
        TAMIS_OK);
    tamis_hasher_free(hasher);
    assert_int_equal(memory.live_blocks, 0);
}

/* ---- growth ---- */

enum { COUNT = 24000, BATCH = 700 };

static tamis_hash hashes[COUNT];
static tamis_answer undisturbed[COUNT];
static uint64_t undisturbed_peak;

static const filter_case *growing(int which) {
    static const filter_case cases[] = {
        {"1e-9", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, true, 1e-9},
        {"1e-4", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, true, 1e-4},
        {"exact", TAMIS_KIND_EXACT, TAMIS_SCHEME_XXH3, true, 0},
    };
    return &cases[which];
}

/* Keys of two partitions only, so that these grow many times. A fifth of the keys are repeated. */
static void make_hashes(const tamis_filter *filter) {
    uint64_t random = model_seed(41);
    random_hashes(hashes, COUNT, filter_hasher_id(filter), 7, &random);
    for (size_t i = 1; i < COUNT; i++)
        if (test_below(&random, 5) == 0)
            hashes[i] = hashes[test_below(&random, i)];
}

static uint64_t run_undisturbed(const tamis_plan *plan) {
    fault_memory memory = {0};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_filter *filter = plan_filter(plan, &allocator);
    uint64_t created = memory.requests;
    make_hashes(filter);
    assert_int_equal(tamis_filter_add_hashes(filter, hashes, COUNT, undisturbed, NULL, NULL), TAMIS_OK);
    uint64_t growths = memory.requests - created;
    undisturbed_peak = filter_info(filter).memory_peak;
    tamis_filter_free(filter);
    assert_int_equal(memory.live_blocks, 0);
    return growths;
}

enum { UNTOUCHED = 0x77 };

/* Checks the filter after a failure at key `done`: it has all keys before that one, and not that one. */
static void check_state(const tamis_filter *filter, size_t done) {
    static tamis_answer answers[COUNT];
    assert_int_equal(tamis_filter_contains_hashes(filter, hashes, done + 1, answers, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i < done; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
    assert_int_equal(answers[done], TAMIS_ABSENT);
}

/* Adds in batches. Repeats a failed batch from where it stopped, after `restore` has given memory back.
 * Returns the number of failures. */
static int add_through_failures(tamis_filter *filter, tamis_answer *answers, void (*restore)(void *),
                                void *context) {
    int failures = 0;
    for (size_t start = 0; start < COUNT;) {
        size_t size = COUNT - start < BATCH ? COUNT - start : BATCH, done = SIZE_MAX;
        tamis_error err = TAMIS_ERROR_INIT;
        tamis_status status =
            tamis_filter_add_hashes(filter, hashes + start, size, answers + start, &done, &err);
        assert_true(done <= size);
        if (status != TAMIS_OK) {
            check_nomem(status, &err);
            for (size_t i = done; i < size; i++)
                assert_int_equal(answers[start + i], UNTOUCHED);
            assert_false(filter_info(filter).saturated);
            check_state(filter, start + done);
            restore(context);
            failures++;
        } else {
            assert_int_equal(done, size);
        }
        start += done;
    }
    return failures;
}

static void check_as_undisturbed(const tamis_filter *filter, const tamis_answer *answers) {
    static tamis_answer again[COUNT];
    assert_memory_equal(answers, undisturbed, COUNT);
    assert_int_equal(tamis_filter_contains_hashes(filter, hashes, COUNT, again, NULL, NULL), TAMIS_OK);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(again[i], TAMIS_PRESENT);
    assert_int_equal(filter_info(filter).memory_peak, undisturbed_peak);
}

static void restore_memory(void *context) {
    ((fault_memory *)context)->onwards = false;
}

static void every_growth_without_memory(void **state) {
    (void)state;
    static tamis_answer answers[COUNT];
    for (int which = 0; which < 3; which++) {
        tamis_plan plan = case_plan(growing(which), 0, 0);
        uint64_t growths = run_undisturbed(&plan);
        assert_true(growths > 6);
        for (uint64_t n = 1; n <= growths + 1; n++) {
            for (int onwards = 0; onwards < 2; onwards++) {
                fault_memory memory = {0};
                tamis_allocator allocator = fault_memory_allocator(&memory);
                tamis_filter *filter = plan_filter(&plan, &allocator);
                memory.fail_at = memory.requests + n;
                memory.onwards = onwards;
                memset(answers, UNTOUCHED, sizeof answers);
                int failures = add_through_failures(filter, answers, restore_memory, &memory);
                assert_int_equal(failures, n <= growths);
                check_as_undisturbed(filter, answers);
                tamis_filter_free(filter);
                assert_int_equal(memory.live_blocks, 0);
            }
        }
    }
}

/* An allocator with a limit: the filter takes as many keys as fit, and fails again and again after that. */
static void memory_that_stays_short(void **state) {
    (void)state;
    tamis_plan plan = case_plan(growing(0), 0, 0);
    run_undisturbed(&plan);
    fault_memory memory = {.limit = (size_t)undisturbed_peak - 50000};
    tamis_allocator allocator = fault_memory_allocator(&memory);
    tamis_filter *filter = plan_filter(&plan, &allocator);
    size_t done = 0;
    assert_int_equal(tamis_filter_add_hashes(filter, hashes, COUNT, NULL, &done, NULL), TAMIS_E_NOMEM);
    assert_true(done > 0 && done < COUNT);
    for (int retry = 0; retry < 10; retry++) {
        size_t in = 9;
        assert_int_equal(tamis_filter_add_hashes(filter, hashes + done, 1, NULL, &in, NULL), TAMIS_E_NOMEM);
        assert_int_equal(in, 0);
        check_state(filter, done);
    }
    assert_true(memory.peak_bytes <= memory.limit);
    tamis_filter_free(filter);
    assert_int_equal(memory.live_blocks, 0);
}

/* ---- mmap: large blocks of the default allocator ---- */

static void restore_map(void *context) {
    (void)context;
    fault_arm(FAULT_MAP, 0, 0, false);
}

static void every_map_that_fails(void **state) {
    (void)state;
    static tamis_answer answers[COUNT];
    fault_install();
    tamis_plan plan = case_plan(growing(2), 0, 0);
    run_undisturbed(&plan);
    undisturbed_peak += TAMIS__PAGE;
    uint64_t maps = 0, spared = 0;
    for (uint64_t n = 0; n <= maps; n++) {
        tamis_filter *filter = plan_filter(&plan, NULL);
        tamis_filter_expect(filter, 1);
        fault_arm(FAULT_MAP, n, ENOMEM, false);
        memset(answers, UNTOUCHED, sizeof answers);
        int failures = add_through_failures(filter, answers, restore_map, NULL);
        check_as_undisturbed(filter, answers);
        assert_true(failures <= 1);
        spared += n > 0 && failures == 0; /* a block mapped in advance: its failure does no harm */
        maps = n > 0 ? maps : fault_calls(FAULT_MAP);
        fault_arm(FAULT_UNMAP, 1, EINVAL, true); /* must be ignored */
        tamis_filter_free(filter);
        fault_disarm();
    }
    assert_true(spared > 0 && spared < maps);
    fault_remove();
}

static void a_copy_without_memory(void **state) {
    (void)state;
    for (int i = 0; i < FILTER_CASES; i++) {
        tamis_plan plan = case_plan(&filter_cases[i], 1000, 0);
        fault_memory memory = {0};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        bool concurrent = i % 2 && case_has_digest(&filter_cases[i]);
        tamis_filter *filter = NULL, *copy = NULL;
        assert_int_equal(try_create(&filter, &plan, concurrent, &allocator, NULL), TAMIS_OK);
        if (filter_cases[i].grows) /* beyond the first size of some partitions */
            model_add_range(filter, 0, 300000, 1, NULL);
        else
            model_add_range(filter, 0, 1000, 1, NULL);
        uint64_t blocks = memory.live_blocks;
        for (bool reached = true; reached;) {
            uint64_t before = memory.refused;
            memory.fail_at = memory.fail_at ? memory.fail_at + 1 : 1;
            memory.requests = 0;
            tamis_error err = TAMIS_ERROR_INIT;
            tamis_status status = tamis_filter_copy(&copy, filter, &err);
            reached = memory.refused > before;
            if (reached) {
                check_nomem(status, &err);
                assert_null(copy);
                assert_int_equal(memory.live_blocks, blocks);
            }
        }
        assert_int_equal(filter_info(copy).added, filter_info(filter).added);
        tamis_filter_free(filter);
        tamis_filter_free(copy);
        assert_int_equal(memory.live_blocks, 0);
    }
}

static void creation_when_map_fails(void **state) {
    (void)state;
    fault_install();
    for (int i = 0; i < FILTER_CASES; i++) {
        if (filter_cases[i].grows)
            continue; /* begins with small blocks, which are not mapped */
        tamis_plan plan = case_plan(&filter_cases[i], 3000000, 0);
        tamis_filter *filter = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        fault_arm(FAULT_MAP, 1, ENOMEM, false);
        check_nomem(try_create(&filter, &plan, false, NULL, &err), &err);
        assert_null(filter);
        assert_int_equal(fault_calls(FAULT_UNMAP), 0);
        assert_int_equal(try_create(&filter, &plan, false, NULL, NULL),
                         TAMIS_OK); /* only the first call fails */
        tamis_filter_free(filter);
        assert_int_equal(fault_calls(FAULT_UNMAP), 1);
    }
    fault_remove();
}

/* Union, clear, lookups, and adds without growth allocate nothing. */
static void calls_that_need_no_memory(void **state) {
    (void)state;
    for (int i = 0; i < FILTER_CASES; i++) {
        if (filter_cases[i].grows)
            continue;
        fault_memory memory = {0};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_plan plan = case_plan(&filter_cases[i], 2000, 0);
        tamis_filter *filter = plan_filter(&plan, &allocator), *other = plan_filter(&plan, &allocator);
        uint64_t requests = memory.requests;
        memory.fail_at = requests + 1;
        memory.onwards = true;
        model_add_range(filter, 0, 1000, 1, NULL);
        model_add_range(other, 500, 1000, 1, NULL);
        assert_int_equal(model_count_present(filter, 0, 1000, 1), 1000);
        if (case_is_bloom(&filter_cases[i]))
            assert_int_equal(tamis_filter_union(filter, other, NULL), TAMIS_OK);
        filter_info(filter);
        tamis_filter_clear(filter, NULL);
        assert_int_equal(memory.requests, requests);
        tamis_filter_free(filter);
        tamis_filter_free(other);
        assert_int_equal(memory.live_blocks, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_without_memory),
        cmocka_unit_test(a_cuckoo_filter_without_memory),
        cmocka_unit_test(a_growing_cuckoo_filter_without_memory),
        cmocka_unit_test(a_hasher_without_memory),
        cmocka_unit_test(a_copy_without_memory),
        cmocka_unit_test(every_growth_without_memory),
        cmocka_unit_test(memory_that_stays_short),
        cmocka_unit_test(every_map_that_fails),
        cmocka_unit_test(creation_when_map_fails),
        cmocka_unit_test(calls_that_need_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
