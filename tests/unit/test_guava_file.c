/* SPDX-License-Identifier: BSD-2-Clause */

/* Files of Guava 31.1 from tests/golden. tests/interop/guava_file.sh tests more of them, in both
 * directions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tamis/compat/guava.h>
#include <tamis/tamis.h>

#include "golden/golden_reader.h"
#include "support/contains.h"
#include "support/formats.h"

/* n = 10, p = 0.01, {foo, bar} by stringFunnel(UTF_8), with each strategy */
static const uint8_t mitz_64[] = {1, 7, 0,  0,    0,    2,    0,    0, 0, 0, 0,
                                  0, 8, 16, 0x20, 0x40, 0x81, 0x02, 0, 0, 0, 0x10};
static const uint8_t mitz_32[] = {0,    7, 0, 0,    0, 2,    4, 0x10, 0, 0x41, 2,
                                  0x10, 0, 0, 0x40, 1, 0x0c, 0, 0,    0, 0,    0x84};

static tamis_filter_info info_of(const tamis_filter *filter) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    assert_int_equal(tamis_filter_info_get(filter, &info, NULL), TAMIS_OK);
    return info;
}

/* ---- files written by Guava ---- */

static void check_golden(const golden *g, const uint8_t *file, size_t size) {
    uint8_t key[4096];
    tamis_filter *filter = decode_filter(file, size, TAMIS_FORMAT_AUTO);
    const tamis_plan *plan = tamis_filter_plan(filter);
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    assert_int_equal(tamis_filter_metadata_get(filter, &metadata, NULL), TAMIS_OK);
    assert_int_equal(metadata.format, TAMIS_FORMAT_GUAVA);
    assert_int_equal(plan->kind, TAMIS_KIND_CLASSIC);
    assert_int_equal(plan->scheme, TAMIS_SCHEME_GUAVA64);
    assert_int_equal(plan->bits, 8 * (size - 6));
    assert_int_equal(plan->probes, file[1]);
    assert_int_equal(plan->memory, size - 6);
    assert_true(plan->capacity >= strtoull(g->field[2], NULL, 10));
    assert_true(plan->fpr > 0 && plan->fpr < 1 && plan->fpr == plan->fpr_predicted);

    char *rest = g->field[5];
    for (int i = 0; i < atoi(g->field[4]); i++) {
        size_t length = golden_key(g->field[1], strsep(&rest, ","), key);
        assert_true(contains_key(filter, key, length));
    }
    tamis_filter_info info = info_of(filter);
    double fpp = strtod(g->field[7], NULL);
    double filled = pow((double)info.ones / (double)plan->bits, plan->probes);
    assert_true(fabs(filled - fpp) <= 1e-15 * fpp);
    assert_true(fabs(info.cardinality - strtod(g->field[8], NULL)) <= 0.5);
    assert_true((double)info.added <= fmax(info.cardinality + 0.5, 1)); /* one key may set one bit alone */
    /* Not more keys than the file was planned for. */
    if (atoll(g->field[4]) <= atoll(g->field[2]))
        assert_false(info.saturated);

    assert_encodes_to(filter, TAMIS_FORMAT_GUAVA, file, size);
    assert_converts(filter, TAMIS_FORMAT_GUAVA, file, size);
    tamis_filter_free(filter);
}

static void filters_of_guava(void **state) {
    (void)state;
    static uint8_t file[65536];
    int filters = 0;
    for (golden g = golden_open("guava-31.1.tsv"); golden_next(&g);)
        if (strcmp(g.field[0], "filter") == 0) {
            check_golden(&g, file, golden_bytes(g.field[6], file));
            filters++;
        }
    assert_int_equal(filters, 36);
}

static void either_strategy(void **state) {
    (void)state;
    const uint8_t *const files[] = {mitz_32, mitz_64};
    const tamis_scheme schemes[] = {TAMIS_SCHEME_GUAVA32, TAMIS_SCHEME_GUAVA64};
    for (int i = 0; i < 2; i++) {
        tamis_filter *filter = decode_filter(files[i], sizeof mitz_64, TAMIS_FORMAT_GUAVA);
        assert_int_equal(tamis_filter_plan(filter)->scheme, schemes[i]);
        assert_int_equal(info_of(filter).added, 2 - i); /* "bar" sets two bits of the second */
        assert_true(contains_key(filter, "foo", 3));
        assert_true(contains_key(filter, "bar", 3));
        assert_false(contains_key(filter, "baz", 3));
        tamis_filter_free(filter);
    }
}

/* The same keys give the same bytes, beginning with an empty filter. */
static void files_are_those_of_guava(void **state) {
    (void)state;
    const uint8_t *const files[] = {mitz_32, mitz_64};
    const tamis_scheme schemes[] = {TAMIS_SCHEME_GUAVA32, TAMIS_SCHEME_GUAVA64};
    for (int i = 0; i < 2; i++) {
        tamis_guava_options options = TAMIS_GUAVA_OPTIONS_INIT;
        options.expected_insertions = 10;
        options.fpp = 0.01;
        options.strategy = schemes[i];
        tamis_guava *guava = NULL;
        assert_int_equal(tamis_guava_create(&guava, &options, NULL), TAMIS_OK);
        tamis_filter *filter = tamis_guava_filter(guava);
        assert_int_equal(tamis_filter_add(filter, "foo", 3, NULL, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_add(filter, "bar", 3, NULL, NULL), TAMIS_OK);
        assert_encodes_to(filter, TAMIS_FORMAT_GUAVA, files[i], sizeof mitz_64);
        tamis_guava_free(guava);
    }
}

/* ---- values that the file does not have ---- */

/* The capacity is the largest number of keys for which Guava would choose these bits and hash functions. */
static void capacity(void **state) {
    (void)state;
    static const double rates[] = {0.3, 0.1, 0.03, 0.01, 0.001, 1e-4, 1e-6, 1e-9};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        uint64_t n = 100000, bits = (uint64_t)tamis_bloom_bits((double)n, rates[i]);
        tamis_filter *empty = make_classic(TAMIS_SCHEME_GUAVA64, n, rates[i], (bits + 63) / 64 * 64,
                                           tamis_bloom_probes((double)n, (double)bits));
        test_bytes bytes = {NULL, 0, 0};
        encode_filter(empty, TAMIS_FORMAT_GUAVA, &bytes);
        tamis_filter *filter = decode_filter(bytes.data, bytes.size, TAMIS_FORMAT_AUTO);
        const tamis_plan *plan = tamis_filter_plan(filter);
        assert_true(plan->capacity >= n);
        assert_int_equal(tamis_bloom_probes((double)plan->capacity, (double)plan->bits), plan->probes);
        assert_int_equal(tamis_bloom_probes((double)plan->capacity * 1.001, (double)plan->bits),
                         plan->probes > 1 ? plan->probes - 1 : 1);
        assert_int_equal(info_of(filter).added, 0);
        assert_false(tamis_filter_can(filter, TAMIS_CAN_GROW));
        bytes_clear(&bytes);
        tamis_filter_free(filter);
        tamis_filter_free(empty);
    }
}

/* From some number of keys on, Guava always chooses one hash function. Such a filter promises no rate and
 * is never over its capacity. */
static void one_probe_promises_nothing(void **state) {
    (void)state;
    static const uint8_t file[6 + 16] = {1, 1, 0, 0, 0, 2};
    tamis_filter *filter = decode_filter(file, sizeof file, TAMIS_FORMAT_AUTO);
    assert_true(tamis_filter_plan(filter)->fpr == 1);
    assert_int_equal(tamis_filter_plan(filter)->capacity, TAMIS_EXPECT_MAX);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(tamis_filter_add(filter, &i, sizeof i, NULL, NULL), TAMIS_OK);
    assert_false(info_of(filter).saturated);
    test_bytes bytes = {NULL, 0, 0};
    encode_filter(filter, TAMIS_FORMAT_TAMIS, &bytes);
    tamis_filter *ours = decode_filter(bytes.data, bytes.size, TAMIS_FORMAT_AUTO);
    assert_true(tamis_filter_plan(ours)->fpr == 1);
    for (uint32_t i = 0; i < 20000; i++)
        assert_int_equal(tamis_filter_add(ours, &i, sizeof i, NULL, NULL), TAMIS_OK);
    assert_false(info_of(ours).saturated);
    bytes_clear(&bytes);
    tamis_filter_free(ours);
    tamis_filter_free(filter);
}

static tamis_filter *allow_over_capacity(const uint8_t *bytes, size_t size) {
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    options.allow_over_capacity = true;
    assert_int_equal(tamis_filter_decode(&filter, bytes, size, &options, NULL), TAMIS_OK);
    return filter;
}

/* Adds 0 to 999 and returns how many were accepted. Each key must be present afterwards exactly if its add
 * said so. */
static uint32_t add_thousand(tamis_filter *filter) {
    uint32_t selected = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        tamis_answer answer = TAMIS_UNKNOWN;
        tamis_status status = tamis_filter_add(filter, &i, sizeof i, NULL, NULL);
        assert_true(status == TAMIS_OK || status == TAMIS_E_FULL);
        assert_int_equal(tamis_filter_contains(filter, &i, sizeof i, &answer, NULL), TAMIS_OK);
        assert_int_equal(answer, status == TAMIS_OK ? TAMIS_PRESENT : TAMIS_ABSENT);
        selected += status == TAMIS_OK;
    }
    return selected;
}

static void full_at_its_capacity(void **state) {
    (void)state;
    tamis_filter *filter = decode_filter(mitz_64, sizeof mitz_64, TAMIS_FORMAT_AUTO);
    assert_in_range(add_thousand(filter), 1, 100);
    tamis_filter_info info = info_of(filter);
    assert_int_equal(info.full, TAMIS_FULL_CAPACITY);
    assert_true(info.saturated && info.added <= info.capacity);
    assert_true(info.fpr_live < 5 * tamis_filter_plan(filter)->fpr);
    tamis_filter_free(filter);
}

/* Opened with that option, a filter accepts keys beyond its capacity, as Guava does, and reports it.
 * Opened without, it accepts none. */
static void goes_on_past_its_capacity(void **state) {
    (void)state;
    tamis_filter *filter = allow_over_capacity(mitz_64, sizeof mitz_64), *copy = NULL;
    assert_false(info_of(filter).saturated);
    assert_int_equal(tamis_filter_copy(&copy, filter, NULL), TAMIS_OK);
    uint32_t absent = 0;
    for (; !info_of(copy).saturated; absent++)
        assert_int_equal(tamis_filter_add(copy, &absent, sizeof absent, NULL, NULL), TAMIS_OK);
    assert_true(info_of(copy).added > info_of(copy).capacity);
    test_bytes bytes = {NULL, 0, 0};
    const tamis_format formats[] = {TAMIS_FORMAT_TAMIS, TAMIS_FORMAT_GUAVA};
    for (int i = 0; i < 2; i++) {
        encode_filter(copy, formats[i], &bytes);
        tamis_filter *past = decode_filter(bytes.data, bytes.size, TAMIS_FORMAT_AUTO);
        uint64_t added = info_of(past).added;
        assert_true(info_of(past).saturated);
        assert_in_range(add_thousand(past), absent, 999);
        assert_int_equal(info_of(past).added, added);
        assert_true(tamis_filter_is_equal(past, copy));
        tamis_filter_free(past);
    }
    tamis_filter_free(copy);

    assert_int_equal(add_thousand(filter), 1000);
    assert_true(info_of(filter).saturated);
    encode_filter(filter, TAMIS_FORMAT_GUAVA, &bytes);
    for (size_t i = 6; i < bytes.size; i++)
        assert_int_equal(bytes.data[i], 0xff);
    tamis_filter *full = decode_filter(bytes.data, bytes.size, TAMIS_FORMAT_AUTO);
    tamis_filter_info info = info_of(full);
    assert_true(info.saturated);
    assert_true(info.added > 13 && info.added < 1000);
    bytes_clear(&bytes);
    tamis_filter_free(full);
    tamis_filter_free(filter);
}

/* ---- refused files ---- */

static void fields_out_of_bounds(void **state) {
    (void)state;
    static const struct {
        uint8_t head[6];
        const char *what;
    } cases[] = {
        {{2, 7, 0, 0, 0, 2}, "strategy is 2; Guava files have 0 or 1"},
        {{255, 7, 0, 0, 0, 2}, "strategy is 255"},
        {{1, 0, 0, 0, 0, 2}, "k is 0; Guava files have 1 to 255"},
        {{1, 7, 0, 0, 0, 0}, "number of words is 0; Guava files have 1 to 2147483647"},
        {{1, 7, 0x80, 0, 0, 0}, "number of words is 2147483648"},
        {{1, 7, 255, 255, 255, 255}, "number of words is 4294967295"},
        {{1, 7, 0x7f, 255, 255, 255}, "2147483647, which takes 17179869182 bytes, and there are 22"},
        {{1, 7, 0, 0, 0, 1}, "is 1, which takes 14 bytes, and there are 22"},
        {{1, 7, 0, 0, 0, 3}, "is 3, which takes 30 bytes, and there are 22"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[sizeof mitz_64];
        memcpy(bytes, mitz_64, sizeof bytes);
        memcpy(bytes, cases[i].head, 6);
        assert_decode_fails(bytes, sizeof bytes, TAMIS_FORMAT_GUAVA, TAMIS_E_DAMAGED, cases[i].what);
    }
}

static void every_length(void **state) {
    (void)state;
    uint8_t longer[sizeof mitz_64 + 8] = {0};
    memcpy(longer, mitz_64, sizeof mitz_64);
    for (size_t size = 0; size <= sizeof longer; size++)
        if (size != sizeof mitz_64)
            assert_decode_fails(longer, size, TAMIS_FORMAT_GUAVA, TAMIS_E_DAMAGED, "bytes");
}

/*
 * The format has no checksum. Detected are an unknown strategy, a number of words that is invalid or does not
 * fit the size, and k = 0. Any other change gives another valid file, which is read and written back
 * unchanged.
 */
static void every_bit(void **state) {
    (void)state;
    const uint8_t *const files[] = {mitz_32, mitz_64};
    for (int i = 0; i < 2; i++)
        for (size_t bit = 0; bit < 8 * sizeof mitz_64; bit++) {
            uint8_t bytes[sizeof mitz_64];
            memcpy(bytes, files[i], sizeof bytes);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            bool strategy = bit >= 1 && bit < 8, words = bit >= 16 && bit < 48;
            if (strategy || words) {
                assert_decode_fails(bytes, sizeof bytes, TAMIS_FORMAT_GUAVA, TAMIS_E_DAMAGED,
                                    strategy ? "strategy is" : "number of words is");
                continue;
            }
            tamis_filter *filter = decode_filter(bytes, sizeof bytes, TAMIS_FORMAT_AUTO);
            assert_encodes_to(filter, TAMIS_FORMAT_GUAVA, bytes, sizeof bytes);
            bool set = bit >= 48 && bytes[bit / 8] >> bit % 8 & 1;
            if (set) /* an additional bit hides no key */
                assert_true(contains_key(filter, "foo", 3) && contains_key(filter, "bar", 3));
            tamis_filter_free(filter);
        }
}

static void filters_that_guava_does_not_have(void **state) {
    (void)state;
    tamis_filter *filter = make_classic(TAMIS_SCHEME_GUAVA64, 3000, 0.03, 21895, 5);
    assert_encode_unsupported(filter, TAMIS_FORMAT_GUAVA, "21895 bits are not that");
    tamis_filter_free(filter);
    filter = make_classic(TAMIS_SCHEME_REDISBLOOM, 100, 0.01, 1152, 8);
    assert_encode_unsupported(filter, TAMIS_FORMAT_GUAVA, "this is classic with redisbloom");
    tamis_filter_free(filter);

    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_options.kind = TAMIS_KIND_BLOCKED;
    plan_options.scheme = TAMIS_SCHEME_GUAVA64;
    plan_options.expect = 100;
    tamis_plan plan = TAMIS_PLAN_INIT;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_create(&filter, &plan, NULL, NULL), TAMIS_OK);
    assert_encode_unsupported(filter, TAMIS_FORMAT_GUAVA, "this is blocked with guava64");
    tamis_filter_free(filter);
}

static void no_memory(void **state) {
    (void)state;
    assert_decode_out_of_memory(mitz_64, sizeof mitz_64);
}

/* More words than are written at once. */
static void large(void **state) {
    (void)state;
    const size_t words = 1000;
    uint8_t *bytes = calloc(1, 6 + 8 * words);
    uint64_t random = test_seed(5);
    assert_non_null(bytes);
    bytes[0] = 1;
    bytes[1] = 255;
    bytes[4] = (uint8_t)(words >> 8);
    bytes[5] = (uint8_t)words;
    for (size_t i = 0; i < 8 * words; i++)
        bytes[6 + i] = (uint8_t)test_random(&random);
    tamis_filter *filter = decode_filter(bytes, 6 + 8 * words, TAMIS_FORMAT_AUTO);
    assert_encodes_to(filter, TAMIS_FORMAT_GUAVA, bytes, 6 + 8 * words);
    tamis_filter_free(filter);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_of_guava),
        cmocka_unit_test(either_strategy),
        cmocka_unit_test(files_are_those_of_guava),
        cmocka_unit_test(capacity),
        cmocka_unit_test(one_probe_promises_nothing),
        cmocka_unit_test(full_at_its_capacity),
        cmocka_unit_test(goes_on_past_its_capacity),
        cmocka_unit_test(fields_out_of_bounds),
        cmocka_unit_test(every_length),
        cmocka_unit_test(every_bit),
        cmocka_unit_test(filters_that_guava_does_not_have),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
