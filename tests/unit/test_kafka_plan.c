/* SPDX-License-Identifier: BSD-2-Clause */

/* The plan of a deduplicated topic: from the plan of the filter, the layout of state records and the horizons. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <tamis/experimental/kafka.h>

#include "kafka/kafka_dedup_int.h"
#include "support/scratch.h"

static const double HOUR = 3600;

static tamis_kafka_plan make(const tamis_plan_options *filter, double rate, uint32_t partitions,
                             uint32_t hosts, tamis_plan *of_partition) {
    tamis_kafka_plan_options options = TAMIS_KAFKA_PLAN_OPTIONS_INIT;
    tamis_kafka_plan plan = TAMIS_KAFKA_PLAN_INIT;

    options.plan = filter;
    options.rate = rate;
    options.partitions = partitions;
    options.hosts = hosts;
    assert_int_equal(tamis_kafka_plan_make(&plan, of_partition, &options, NULL), TAMIS_OK);
    return plan;
}

static void day(tamis_plan_options *options) {
    *options = (tamis_plan_options)TAMIS_PLAN_OPTIONS_INIT;
    options->kind = TAMIS_KIND_WINDOW;
    options->window = 24 * 3600 * 1000;
}

static void test_window(void **state) {
    tamis_plan_options options;
    tamis_plan filter = TAMIS_PLAN_INIT, alone = TAMIS_PLAN_INIT;

    (void)state;
    day(&options);
    const tamis_kafka_plan plan = make(&options, 12000, 64, 5, &filter);
    assert_int_equal(plan.keys, 12000 * 86400);
    assert_int_equal(plan.partition_keys, plan.keys / 64);
    options.expect = plan.partition_keys;
    assert_int_equal(tamis_plan_make(&alone, &options, NULL), TAMIS_OK);
    assert_int_equal(filter.memory, alone.memory);
    assert_int_equal(plan.partition_memory, alone.memory);
    assert_int_equal(plan.host_partitions, 13);
    assert_int_equal(plan.host_memory, 13 * alone.memory);
    /* Window, lateness and step, and an eighth more: 26 and 3.25 hours. */
    const double kept = 12000 * 29.25 * HOUR;
    assert_true(fabs((double)plan.state_keys - kept) <= 64);
    /* A transaction a second in each partition, with its marker. */
    const double transactions = 64 * 29.25 * HOUR; /* of 187.5 keys, up to two steps of an hour apart */
    const double record = ((double)tamis__kafka_record_size(160, 187, 64, 2) +
                           (double)tamis__kafka_record_size(160, 188, 64, 2)) /
                          2;
    assert_true(fabs((double)plan.state_bytes - transactions * (record + 73 + 78)) < 1e6);
    assert_true(record / 187.5 < 9.0);
    assert_int_equal(plan.segment_bytes, 64 * (UINT64_C(64) << 20));
    assert_true(fabs(plan.restore_seconds - kept / 64 * 13 / TAMIS_KAFKA_RESTORE_RATE) < 0.01);
}

/* Fewer records than transactions: each is a transaction of its own. */
static void test_slow(void **state) {
    tamis_plan_options options;

    (void)state;
    day(&options);
    const tamis_kafka_plan plan = make(&options, 0.01, 1, 1, NULL);
    assert_int_equal(plan.keys, 864);
    const double kept = 0.01 * 29.25 * HOUR;
    assert_true(fabs((double)plan.state_keys - kept) <= 1);
    assert_true(fabs((double)plan.state_bytes -
                     kept * (78 + 73 + (double)tamis__kafka_record_size(160, 1, 64, 2))) < 1000);
}

/* Without a window all keys stay; a transaction may need several records. */
/* Keys that come once in many years. */
static void test_few(void **state) {
    tamis_plan_options options;

    (void)state;
    day(&options);
    tamis_kafka_plan plan = make(&options, 1.0 / 86400 / 1000, 64, 1, NULL);
    assert_int_equal(plan.keys, 1);
    options.window *= 36500;
    options.expect = 1;
    plan = make(&options, 0, 1000000, 1, NULL);
    assert_int_equal(plan.keys, 1);
    assert_true(plan.state_bytes < 500000000);
}

static void test_all_keys(void **state) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan filter = TAMIS_PLAN_INIT;

    (void)state;
    options.expect = 100000000;
    options.fpr = 1e-6;
    const tamis_kafka_plan plan = make(&options, 0, 3, 100, &filter);
    assert_int_equal(plan.keys, 100000000);
    assert_int_equal(plan.partition_keys, 33333334);
    assert_int_equal(filter.kind, TAMIS_KIND_FINGERPRINT); /* as a run has it */
    assert_int_equal(filter.capacity, 33333334);
    assert_true(filter.fpr == 1e-6);
    assert_int_equal(plan.host_partitions, 1);
    assert_int_equal(plan.state_keys, 100000000);
    assert_int_equal(plan.segment_bytes, 0);
    const double records = ceil(1e8 / 3 / TAMIS__KAFKA_RECORD_HASHES);
    const size_t record = tamis__kafka_record_size(160, (size_t)(1e8 / 3 / records), 64, -1) + 73;
    assert_true(fabs((double)plan.state_bytes - 3 * records * (double)record) < 3 * records * 10);
    assert_true((double)plan.state_bytes < 6.5e8);
    /* With a rate, also the transactions are known. */
    const tamis_kafka_plan slow = make(&options, 1000, 3, 1, NULL);
    assert_true(slow.state_bytes > plan.state_bytes + 3 * 100000 * UINT64_C(200));
    assert_int_equal(slow.host_partitions, 3);
    assert_int_equal(slow.segment_bytes, 0);
    /* Merges bound the bytes of transactions. */
    const tamis_kafka_plan slower = make(&options, 10, 3, 1, NULL);
    assert_int_equal(slower.state_bytes, 2 * 8 * UINT64_C(100000000));
    assert_int_equal(slower.segment_bytes, 3 * (UINT64_C(64) << 20));
    /* The state of a kind that is not merged grows. */
    options.kind = TAMIS_KIND_CUCKOO;
    const tamis_kafka_plan growing = make(&options, 10, 3, 1, NULL);
    assert_true(growing.state_bytes > 3 * UINT64_C(200) * 10000000); /* 10^7 seconds */
    assert_int_equal(growing.segment_bytes, 0);
}

/* Hashes of 48 bits: only if a rate from 1e-6 and the number of keys are given, and 16 times as many would fit. */
static void test_hash_bits(void **state) {
    const double keys_max = 1e-6 / 16 * 0x1p48; /* equal hashes have a 16th of the rate */
    const uint64_t fit = (uint64_t)(keys_max / 16);
    const struct {
        tamis_kind kind;
        uint64_t expect;
        double fpr;
        unsigned bits;
    } cases[] = {{TAMIS_KIND_AUTO, fit, 1e-6, 48},     {TAMIS_KIND_AUTO, fit + 1, 1e-6, 64},
                 {TAMIS_KIND_AUTO, 1000, 0.9e-6, 64},  {TAMIS_KIND_AUTO, 1000, 0, 64},
                 {TAMIS_KIND_AUTO, 0, 1e-3, 64},       {TAMIS_KIND_AUTO, 1000 * fit, 1e-3, 48},
                 {TAMIS_KIND_WINDOW, fit, 1e-6, 48},   {TAMIS_KIND_EXACT, 1000, 1e-3, 128},
                 {TAMIS_KIND_AUTO, 1000, 0.9e-9, 128}, {TAMIS_KIND_BLOCKED, 1000, 0.1, 48}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
        tamis_plan plan = TAMIS_PLAN_INIT;
        kafka_hash_size hashes;
        options.kind = cases[i].kind;
        options.window = options.kind == TAMIS_KIND_WINDOW ? 1000 : 0;
        options.expect = cases[i].expect;
        options.fpr = cases[i].fpr;
        assert_int_equal(tamis__kafka_plan_filter(&plan, &hashes, &options, NULL), TAMIS_OK);
        assert_int_equal(hashes.bits, cases[i].bits);
        if (hashes.bits != 48) {
            assert_true(hashes.keys_max == UINT64_MAX);
            continue;
        }
        /* The promise, with as many keys as there may be. */
        assert_true((double)hashes.keys_max >= 16 * (double)options.expect);
        assert_true(plan.fpr + (double)hashes.keys_max * 0x1p-48 <= options.fpr * (1 + 1e-12));
    }
}

/* The state has 2 bytes less a key, and the plan shows the whole rate. */
static void test_short_hashes(void **state) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan filter = TAMIS_PLAN_INIT;

    (void)state;
    options.expect = 2000000;
    options.fpr = 1e-6;
    const tamis_kafka_plan plan = make(&options, 0, 4, 1, &filter);
    assert_true(filter.fpr == 1e-6);
    assert_true((double)plan.state_bytes < 4.5 * 2000000);
    options.fpr = 1e-7;
    assert_true(make(&options, 0, 4, 1, NULL).state_bytes - plan.state_bytes >= 2 * 2000000 - 100);
}

static void test_refused(void **state) {
    tamis_kafka_plan_options options = TAMIS_KAFKA_PLAN_OPTIONS_INIT;
    tamis_kafka_plan plan = TAMIS_KAFKA_PLAN_INIT;
    tamis_plan_options filter = TAMIS_PLAN_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;

    (void)state;
    options.plan = &filter;
    filter.expect = 1000;
    assert_int_equal(tamis_kafka_plan_make(&plan, NULL, &options, &err), TAMIS_E_INVALID); /* no partitions */
    assert_int_equal(tamis_kafka_plan_make(&plan, NULL, &options, NULL), TAMIS_E_INVALID);
    options.partitions = 4;
    assert_int_equal(tamis_kafka_plan_make(NULL, NULL, &options, &err), TAMIS_E_INVALID);
    options.rate = -1;
    assert_int_equal(tamis_kafka_plan_make(&plan, NULL, &options, NULL), TAMIS_E_RANGE);
    options.rate = NAN;
    assert_int_equal(tamis_kafka_plan_make(&plan, NULL, &options, &err), TAMIS_E_RANGE);
    options.rate = 1000;
    filter.expect = 0;
    assert_int_equal(tamis_kafka_plan_make(&plan, NULL, &options, &err), TAMIS_E_INVALID);
    day(&filter);
    options.rate = 0;
    assert_int_equal(tamis_kafka_plan_make(&plan, NULL, &options, &err), TAMIS_E_INVALID);
    options.rate = 1000;
    filter.refresh = true;
    assert_int_equal(tamis_kafka_plan_make(&plan, NULL, &options, &err), TAMIS_E_UNSUPPORTED);
    filter.refresh = false;
    filter.fpr = 1e-29;
    assert_int_equal(tamis_kafka_plan_make(&plan, NULL, &options, NULL), TAMIS_E_RANGE);
    assert_int_equal(plan.keys, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_window),    cmocka_unit_test(test_slow),
                                       cmocka_unit_test(test_few),       cmocka_unit_test(test_all_keys),
                                       cmocka_unit_test(test_hash_bits), cmocka_unit_test(test_short_hashes),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
