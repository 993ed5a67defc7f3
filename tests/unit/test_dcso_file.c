/* SPDX-License-Identifier: BSD-2-Clause */

/* Files of DCSO's bloom 0.2.4 from tests/golden. tests/interop/dcso.sh tests more of them, in both
 * directions. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <tamis/tamis.h>

#include "golden/golden_reader.h"
#include "support/contains.h"
#include "support/formats.h"

enum { FLAGS = 0, N = 8, P = 16, K = 24, M = 32, COUNT = 40, WORDS = 48, SIZE = 64 };

/* n = 10, p = 0.01, {foo, bar}: m = 95, k = 7 */
static const uint8_t foo_bar[SIZE] = {
    /* clang-format off */
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x7b, 0x14, 0xae, 0x47, 0xe1, 0x7a, 0x84, 0x3f, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x5f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x81, 0x20, 0x20, 0x10, 0x50, 0x00, 0x40, 0xc4, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00
    /* clang-format on */
};

static void store(uint8_t *bytes, uint64_t value) {
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t load(const uint8_t *bytes) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static tamis_filter_info info_of(const tamis_filter *filter) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    assert_int_equal(tamis_filter_info_get(filter, &info, NULL), TAMIS_OK);
    return info;
}

/* ---- files written by bloom ---- */

/* A filter planned by n and p, with the same keys and data, gives the same file. */
static void check_made_here(const golden *g, const uint8_t *file, size_t size) {
    uint8_t key[64], data[512];
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_options.scheme = TAMIS_SCHEME_FNV_DCSO;
    plan_options.expect = strtoull(g->field[0], NULL, 10);
    plan_options.fpr = strtod(g->field[1], NULL);
    tamis_plan plan = TAMIS_PLAN_INIT;
    if (plan_options.fpr > TAMIS_FPR_MAX || plan_options.fpr < 1e-15)
        return; /* bloom accepts rates for which tamis makes no plan */
    assert_int_equal(tamis_plan_make(&plan, &plan_options, NULL), TAMIS_OK);
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    options.allow_over_capacity = true;
    tamis_filter *filter = NULL;
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, NULL), TAMIS_OK);
    char keys[16384], *rest = keys;
    snprintf(keys, sizeof keys, "%s", g->field[2]);
    for (const char *text = *keys ? strsep(&rest, ",") : NULL; text; text = strsep(&rest, ","))
        assert_int_equal(tamis_filter_add(filter, key, golden_bytes(text, key), NULL, NULL), TAMIS_OK);
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    metadata.data = data;
    metadata.data_size = golden_bytes(g->field[3], data);
    assert_int_equal(tamis_filter_metadata_set(filter, &metadata, NULL), TAMIS_OK);
    assert_encodes_to(filter, TAMIS_FORMAT_DCSO, file, size);
    tamis_filter_free(filter);
}

static void check_golden(const golden *g, const uint8_t *file, size_t size) {
    uint8_t key[64], data[512];
    tamis_filter *filter = decode_filter(file, size, TAMIS_FORMAT_AUTO);
    const tamis_plan *plan = tamis_filter_plan(filter);
    assert_int_equal(plan->kind, TAMIS_KIND_CLASSIC);
    assert_int_equal(plan->scheme, TAMIS_SCHEME_FNV_DCSO);
    assert_int_equal(plan->capacity, strtoull(g->field[0], NULL, 10));
    assert_true(plan->fpr == strtod(g->field[1], NULL));
    assert_int_equal(plan->bits, load(file + M));
    assert_int_equal(plan->probes, load(file + K));

    char keys[16384], *rest = keys;
    snprintf(keys, sizeof keys, "%s", g->field[2]);
    for (const char *text = *keys ? strsep(&rest, ",") : NULL; text; text = strsep(&rest, ","))
        assert_true(contains_key(filter, key, golden_bytes(text, key)));
    tamis_filter_info info = info_of(filter);
    assert_int_equal(info.added, load(file + COUNT));
    if (info.added > plan->capacity)
        assert_true(info.saturated);

    tamis_metadata metadata = TAMIS_METADATA_INIT;
    size_t data_size = golden_bytes(g->field[3], data);
    assert_int_equal(tamis_filter_metadata_get(filter, &metadata, NULL), TAMIS_OK);
    assert_int_equal(metadata.format, TAMIS_FORMAT_DCSO);
    assert_int_equal(metadata.data_size, data_size);
    if (data_size)
        assert_memory_equal(metadata.data, data, data_size);

    assert_encodes_to(filter, TAMIS_FORMAT_DCSO, file, size);
    assert_converts(filter, TAMIS_FORMAT_DCSO, file, size);
    tamis_filter_free(filter);
    check_made_here(g, file, size);
}

static void filters_of_dcso(void **state) {
    (void)state;
    static uint8_t file[8192];
    int filters = 0;
    for (golden g = golden_open("dcso-0.2.4.tsv"); golden_next(&g); filters++)
        check_golden(&g, file, golden_bytes(g.field[4], file));
    assert_int_equal(filters, 13);
}

/* A join of bloom adds the counts. A count beyond the capacity is kept as it is. */
static void counts_past_the_capacity(void **state) {
    (void)state;
    uint8_t bytes[SIZE];
    memcpy(bytes, foo_bar, SIZE);
    static const uint64_t counts[] = {0, 10, 11, INT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        store(bytes + COUNT, counts[i]);
        tamis_filter *filter = decode_filter(bytes, SIZE, TAMIS_FORMAT_AUTO);
        tamis_filter_info info = info_of(filter);
        assert_int_equal(info.added, counts[i]);
        assert_int_equal(info.saturated, counts[i] > 10);
        assert_int_equal(tamis_filter_add(filter, "foo", 3, NULL, NULL), TAMIS_OK);
        bool full = counts[i] >= 10;
        assert_int_equal(tamis_filter_add(filter, "one more", 8, NULL, NULL), full ? TAMIS_E_FULL : TAMIS_OK);
        assert_int_equal(info_of(filter).added, counts[i] + !full);
        assert_int_equal(info_of(filter).saturated, full);
        tamis_filter_free(filter);

        tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
        options.allow_over_capacity = true;
        assert_int_equal(tamis_filter_decode(&filter, bytes, SIZE, &options, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_add(filter, "one more", 8, NULL, NULL), TAMIS_OK);
        assert_int_equal(info_of(filter).added, counts[i] + 1);
        assert_int_equal(info_of(filter).saturated, full);
        tamis_filter_free(filter);
    }
}

/* ---- refused files ---- */

static void fields_out_of_bounds(void **state) {
    (void)state;
    static const struct {
        size_t offset;
        uint64_t value;
        const char *what;
    } cases[] = {
        {FLAGS, 2, "flags are 0x2; DCSO files have 0x1"},
        {FLAGS, 0x101, "flags are 0x101"},
        {N, 0, "n is 0; DCSO files have 1 to 1000000000000"},
        {N, 1000000000001, "n is 1000000000001"},
        {N, UINT64_MAX, "n is 18446744073709551615"},
        {N, 11, "m is 95; DCSO files have 105 for the n of 11"},
        {K, 0, "k is 0; DCSO files have 7 for the n of 10"},
        {K, 900, "k is 900; DCSO files have 7"},
        {K, UINT64_MAX, "k is 18446744073709551615"},
        {M, 0, "m is 0; DCSO files have 1 to"},
        {M, 94, "m is 94; DCSO files have 95 for the n of 10 and the p of 0.01"},
        {M, 96, "m is 96"},
        {M, UINT64_MAX, "m is 18446744073709551615"},
        {M, (uint64_t)1 << 62, "m is 4611686018427387904; DCSO files have 95"},
        {COUNT, (uint64_t)1 << 63, "N is 9223372036854775808; a count is"},
        {WORDS + 8, (uint64_t)1 << 31, "bit 95 is set; its m of 95"},
        {WORDS + 8, (uint64_t)1 << 63, "bit 127 is set"},
    };
    uint8_t bytes[SIZE];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(bytes, foo_bar, SIZE);
        store(bytes + cases[i].offset, cases[i].value);
        assert_decode_fails(bytes, SIZE, TAMIS_FORMAT_DCSO, TAMIS_E_DAMAGED, cases[i].what);
    }
    static const double rates[] = {0, -0.01, 1, 1.5, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        memcpy(bytes, foo_bar, SIZE);
        store(bytes + P, bits_of(rates[i]));
        assert_decode_fails(bytes, SIZE, TAMIS_FORMAT_DCSO, TAMIS_E_DAMAGED,
                            "DCSO files have one above 0 and below 1");
    }
}

/* Valid files with more probes than tamis supports: bloom create -n 1 -p 1e-80, and the lowest rate
 * possible. */
static void more_probes_than_ours(void **state) {
    (void)state;
    static const struct {
        double p;
        uint64_t m, k;
        const char *what;
    } cases[] = {{1e-80, 383, 266, "k is 266; tamis reads up to 255"}, {5e-324, 1549, 1074, "k is 1074"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[WORDS + 8 * 25] = {1, 0, 0, 0, 0, 0, 0, 0, 1};
        store(bytes + P, bits_of(cases[i].p));
        store(bytes + M, cases[i].m);
        store(bytes + K, cases[i].k);
        assert_decode_fails(bytes, sizeof bytes, TAMIS_FORMAT_AUTO, TAMIS_E_UNSUPPORTED, cases[i].what);
    }
}

/* The header claims 10^12 keys, but the file is short: no memory is allocated for them. */
static void more_bits_than_bytes(void **state) {
    (void)state;
    uint8_t bytes[SIZE];
    memcpy(bytes, foo_bar, SIZE);
    store(bytes + N, 1000000000000);
    store(bytes + M, 9585058377367);
    assert_decode_fails(bytes, SIZE, TAMIS_FORMAT_AUTO, TAMIS_E_DAMAGED,
                        "m is 9585058377367, which takes 1198132297176 bytes, and 16 follow the head");
}

static void compressed(void **state) {
    (void)state;
    static const uint8_t gzip[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    assert_decode_fails(gzip, sizeof gzip, TAMIS_FORMAT_DCSO, TAMIS_E_FORMAT,
                        "compressed with gzip, once more");
    assert_decode_fails(gzip, 2, TAMIS_FORMAT_DCSO, TAMIS_E_FORMAT, "compressed with gzip");
}

/* All bytes after the words are user data. A truncated file is noticed at every length. */
static void every_length(void **state) {
    (void)state;
    uint8_t longer[SIZE + 9] = {0};
    memcpy(longer, foo_bar, SIZE);
    for (size_t size = 0; size < SIZE; size++)
        assert_decode_fails(longer, size, TAMIS_FORMAT_DCSO, TAMIS_E_DAMAGED,
                            size < WORDS ? "head of a DCSO file" : "m is 95, which takes 16 bytes");
    for (size_t size = SIZE; size <= sizeof longer; size++) {
        tamis_filter *filter = decode_filter(longer, size, TAMIS_FORMAT_AUTO);
        tamis_metadata metadata = TAMIS_METADATA_INIT;
        assert_int_equal(tamis_filter_metadata_get(filter, &metadata, NULL), TAMIS_OK);
        assert_int_equal(metadata.data_size, size - SIZE);
        assert_encodes_to(filter, TAMIS_FORMAT_DCSO, longer, size);
        tamis_filter_free(filter);
    }
}

/*
 * The format has no checksum. Detected are changes of the flags, n, k and m; of the sign, the exponent and
 * the first digits of p; of the count beyond all possible counts; and of a bit after the last one. Any other
 * change gives another valid file, which is read and written back unchanged. Only a cleared bit of these
 * hides a key.
 */
static void every_bit(void **state) {
    (void)state;
    for (size_t bit = 0; bit < 8 * (size_t)SIZE; bit++) {
        uint8_t bytes[SIZE];
        memcpy(bytes, foo_bar, SIZE);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        size_t byte = bit / 8, in_word = bit % 64;
        bool p = byte >= P && byte < K, found = byte < COUNT && !p;
        found = found || (byte >= COUNT && byte < WORDS && in_word == 63) || bit >= 8 * WORDS + 95;
        if (p && in_word < 48)
            continue; /* the last digits: some changes are detected */
        if (found || p) {
            assert_decode_fails(bytes, SIZE, TAMIS_FORMAT_DCSO, TAMIS_E_DAMAGED, "get the file again");
            continue;
        }
        tamis_filter *filter = decode_filter(bytes, SIZE, TAMIS_FORMAT_AUTO);
        assert_encodes_to(filter, TAMIS_FORMAT_DCSO, bytes, SIZE);
        if (byte < WORDS || bytes[byte] >> bit % 8 & 1)
            assert_true(contains_key(filter, "foo", 3) && contains_key(filter, "bar", 3));
        tamis_filter_free(filter);
    }
}

/* A change in the last digits of p does not change the answers. */
static void last_digits_of_the_rate(void **state) {
    (void)state;
    for (size_t bit = 0; bit < 48; bit++) {
        uint8_t bytes[SIZE];
        memcpy(bytes, foo_bar, SIZE);
        bytes[P + bit / 8] ^= (uint8_t)(1u << bit % 8);
        tamis_filter *filter = NULL;
        tamis_status status = decode_copy(&filter, bytes, SIZE, TAMIS_FORMAT_AUTO, NULL);
        assert_true(status == TAMIS_OK || status == TAMIS_E_DAMAGED);
        if (status == TAMIS_OK)
            assert_true(contains_key(filter, "foo", 3) && contains_key(filter, "bar", 3));
        tamis_filter_free(filter);
    }
}

static void filters_that_dcso_does_not_have(void **state) {
    (void)state;
    static const struct {
        tamis_scheme scheme;
        uint64_t n;
        double p;
        uint64_t m;
        uint32_t k;
        const char *what;
    } cases[] = {
        {TAMIS_SCHEME_GUAVA64, 10, 0.01, 95, 7, "this is classic with guava64"},
        {TAMIS_SCHEME_FNV_DCSO, 10, 0.01, 95, 6, "95 bits and 6 probes are others"},
        {TAMIS_SCHEME_FNV_DCSO, 10, 0.01, 128, 7, "128 bits and 7 probes are others"},
        {TAMIS_SCHEME_FNV_DCSO, 0, 0.01, 95, 7, "to 0 keys"},
        {TAMIS_SCHEME_FNV_DCSO, 10, 0, 95, 7, "a rate of 0"},
        {TAMIS_SCHEME_FNV_DCSO, 10, 1, 95, 7, "a rate of 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_filter *filter = make_classic(cases[i].scheme, cases[i].n, cases[i].p, cases[i].m, cases[i].k);
        assert_encode_unsupported(filter, TAMIS_FORMAT_DCSO, cases[i].what);
        tamis_filter_free(filter);
    }
}

/* Every plan for the scheme can be written and read again. */
static void every_plan(void **state) {
    (void)state;
    uint64_t random = test_seed(5);
    for (int i = 0; i < 2000; i++) {
        tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
        tamis_plan plan = TAMIS_PLAN_INIT;
        plan_options.scheme = TAMIS_SCHEME_FNV_DCSO;
        plan_options.expect = 1 + test_below(&random, (uint64_t)1 << test_below(&random, 12));
        if (i % 2)
            plan_options.memory = 8 + test_below(&random, 4096);
        else
            plan_options.fpr = pow(10, -0.302 - (double)test_below(&random, 1000) / 75);
        if ((i % 2 ? tamis_plan_fit : tamis_plan_make)(&plan, &plan_options, NULL) != TAMIS_OK)
            continue;
        tamis_filter *filter = NULL;
        assert_int_equal(tamis_filter_create(&filter, &plan, NULL, NULL), TAMIS_OK);
        test_bytes bytes = {NULL, 0, 0};
        encode_filter(filter, TAMIS_FORMAT_DCSO, &bytes);
        tamis_filter *again = decode_filter(bytes.data, bytes.size, TAMIS_FORMAT_AUTO);
        assert_true(tamis_filter_is_equal(filter, again));
        assert_int_equal(tamis_filter_plan(again)->capacity, plan.capacity);
        bytes_clear(&bytes);
        tamis_filter_free(again);
        tamis_filter_free(filter);
    }
}

static void no_memory(void **state) {
    (void)state;
    uint8_t bytes[SIZE + 5] = {0};
    memcpy(bytes, foo_bar, SIZE);
    assert_decode_out_of_memory(bytes, sizeof bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_of_dcso),
        cmocka_unit_test(counts_past_the_capacity),
        cmocka_unit_test(fields_out_of_bounds),
        cmocka_unit_test(more_probes_than_ours),
        cmocka_unit_test(more_bits_than_bytes),
        cmocka_unit_test(compressed),
        cmocka_unit_test(every_length),
        cmocka_unit_test(every_bit),
        cmocka_unit_test(last_digits_of_the_rate),
        cmocka_unit_test(filters_that_dcso_does_not_have),
        cmocka_unit_test(every_plan),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
