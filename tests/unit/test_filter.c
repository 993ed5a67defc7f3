/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/golden_reader.h"
#include "property/filter_model.h"
#include "support/contains.h"

static tamis_filter *filter_with(tamis_kind kind, tamis_scheme scheme, uint64_t expect, double fpr,
                                 const tamis_filter_options *options) {
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    plan_options.kind = kind;
    plan_options.scheme = scheme;
    plan_options.expect = expect;
    plan_options.fpr = fpr;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    if (tamis_plan_make(&plan, &plan_options, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

static tamis_filter *plain_filter(tamis_kind kind, uint64_t expect, double fpr) {
    return filter_with(kind, TAMIS_SCHEME_AUTO, expect, fpr, NULL);
}

static void says(const tamis_error *err, tamis_status status, const char *what) {
    assert_int_equal(err->status, status);
    if (!strstr(err->text, what))
        fail_msg("\"%s\" does not say \"%s\"", err->text, what);
    assert_int_not_equal(err->text[strlen(err->text) - 1], '.');
}

static void a_plan_must_be_made(void **state) {
    (void)state;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    assert_int_equal(tamis_filter_create(&filter, &plan, NULL, &err), TAMIS_E_INVALID);
    says(&err, TAMIS_E_INVALID, "tamis_plan_make");
    plan.kind = (tamis_kind)77;
    assert_int_equal(tamis_filter_create(&filter, &plan, NULL, &err), TAMIS_E_INVALID);
    assert_null(filter);
    tamis_filter_free(NULL);
}

static void options_are_checked(void **state) {
    (void)state;
    filter_case c = {"", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64, false, 0.01};
    tamis_plan plan = case_plan(&c, 100, 0);
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter *filter = NULL;
    options.seed = 3;
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, &err), TAMIS_E_INVALID);
    says(&err, TAMIS_E_INVALID, "seed 3");
    plan.scheme = TAMIS_SCHEME_SIP;
    options.seed = 0;
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, &err), TAMIS_E_INVALID);
    says(&err, TAMIS_E_INVALID, "secret");
    assert_null(filter);
}

static void the_scheme_is_chosen_at_creation(void **state) {
    (void)state;
    tamis_filter_options keyed = TAMIS_FILTER_OPTIONS_INIT;
    keyed.secret = "0123456789abcdef";
    keyed.secret_size = 16;
    tamis_filter *open = plain_filter(TAMIS_KIND_BLOCKED, 10, 0.01);
    tamis_filter *sip = filter_with(TAMIS_KIND_BLOCKED, TAMIS_SCHEME_AUTO, 10, 0.01, &keyed);
    assert_int_equal(tamis_filter_plan(open)->scheme, TAMIS_SCHEME_XXH3);
    assert_int_equal(tamis_filter_plan(sip)->scheme, TAMIS_SCHEME_SIP);
    assert_int_equal(filter_info(sip).scheme, TAMIS_SCHEME_SIP);
    assert_int_equal(tamis_hasher_scheme(tamis_filter_hasher(sip)), TAMIS_SCHEME_SIP);
    tamis_filter_free(open);
    tamis_filter_free(sip);
}

static void info_of_an_empty_filter(void **state) {
    (void)state;
    for (int i = 0; i < FILTER_CASES; i++) {
        tamis_filter *filter = case_filter(&filter_cases[i], 1000);
        tamis_filter_info info = filter_info(filter);
        assert_int_equal(info.struct_size, sizeof info);
        assert_int_equal(info.kind, filter_cases[i].kind);
        assert_int_equal(info.scheme, filter_cases[i].scheme);
        assert_int_equal(info.capacity, filter_cases[i].grows ? 0 : 1000);
        assert_int_equal(info.added, 0);
        assert_true(info.cardinality == 0 && info.fpr_live == 0 && info.false_present == 0);
        assert_true(info.memory > 0 && info.memory_peak == info.memory);
        assert_false(info.saturated);
        tamis_filter_free(filter);
    }
}

static void abilities(void **state) {
    (void)state;
    for (int i = 0; i < FILTER_CASES; i++) {
        tamis_filter *filter = case_filter(&filter_cases[i], 1000);
        assert_true(tamis_filter_can(filter, TAMIS_CAN_UNION) && tamis_filter_can(filter, TAMIS_CAN_ADD));
        assert_int_equal(tamis_filter_can(filter, TAMIS_CAN_GROW), filter_cases[i].grows);
        assert_int_equal(tamis_filter_can(filter, TAMIS_CAN_REMOVE),
                         filter_cases[i].kind == TAMIS_KIND_EXACT ||
                             filter_cases[i].kind == TAMIS_KIND_COUNTING);
        assert_int_equal(tamis_filter_can(filter, TAMIS_CAN_COUNT),
                         filter_cases[i].kind == TAMIS_KIND_COUNTING);
        assert_false(tamis_filter_can(filter, (tamis_ability)99));
        tamis_filter_free(filter);
    }
}

static void any_bytes_are_a_key(void **state) {
    (void)state;
    static const uint8_t zeros[8] = {0};
    for (int i = 0; i < FILTER_CASES; i++) {
        if (!case_has_digest(&filter_cases[i]))
            continue; /* bkdr ignores leading zeros */
        tamis_filter *filter = case_filter(&filter_cases[i], 1000);
        tamis_answer answer = 9;
        assert_false(contains_key(filter, NULL, 0));
        assert_int_equal(tamis_filter_add(filter, NULL, 0, &answer, NULL), TAMIS_OK);
        assert_int_equal(answer, TAMIS_ABSENT);
        assert_true(contains_key(filter, "", 0));             /* the empty key, at any address */
        for (size_t size = 1; size <= sizeof zeros; size++) { /* NULs count */
            assert_int_equal(tamis_filter_add(filter, zeros, size, &answer, NULL), TAMIS_OK);
            assert_int_equal(answer, TAMIS_ABSENT);
        }
        assert_int_equal(tamis_filter_add(filter, zeros, 3, NULL, NULL), TAMIS_OK);
        assert_int_equal(filter_info(filter).added, 1 + sizeof zeros);
        tamis_filter_free(filter);
    }
}

static void an_empty_batch_is_fine(void **state) {
    (void)state;
    for (int i = 0; i < FILTER_CASES; i++) {
        tamis_filter *filter = case_filter(&filter_cases[i], 1000);
        size_t done = 9;
        assert_int_equal(tamis_filter_add_many(filter, NULL, 0, NULL, &done, NULL), TAMIS_OK);
        assert_int_equal(done, 0);
        done = 9;
        assert_int_equal(tamis_filter_add_hashes(filter, NULL, 0, NULL, &done, NULL), TAMIS_OK);
        assert_int_equal(done, 0);
        tamis_filter_contains_many(filter, NULL, 0, NULL, NULL, NULL);
        assert_int_equal(tamis_filter_contains_hashes(filter, NULL, 0, NULL, NULL, NULL), TAMIS_OK);
        tamis_filter_free(filter);
    }
}

static void hashes_of_others_are_refused(void **state) {
    (void)state;
    tamis_filter_options seeded = TAMIS_FILTER_OPTIONS_INIT;
    seeded.seed = 1;
    tamis_filter *mine = plain_filter(TAMIS_KIND_CLASSIC, 100, 0.01);
    tamis_filter *other = filter_with(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_AUTO, 100, 0.01, &seeded);
    tamis_key key = {"key", 3};
    tamis_hash hashes[3];
    for (int i = 0; i < 3; i++)
        tamis_hash_many(tamis_filter_hasher(i == 2 ? other : mine), &key, 1, &hashes[i], NULL);
    tamis_answer answers[3] = {9, 9, 9};
    tamis_error err = TAMIS_ERROR_INIT;
    size_t done = 9;
    assert_int_equal(tamis_filter_add_hashes(mine, hashes, 3, answers, &done, &err), TAMIS_E_MISMATCH);
    says(&err, TAMIS_E_MISMATCH, "hash 2");
    assert_int_equal(done, 0);
    assert_int_equal(filter_info(mine).added, 0);
    assert_int_equal(tamis_filter_contains_hashes(mine, hashes, 3, answers, NULL, &err), TAMIS_E_MISMATCH);
    assert_int_equal(tamis_filter_add_hashes(other, hashes, 3, NULL, NULL, &err), TAMIS_E_MISMATCH);
    says(&err, TAMIS_E_MISMATCH, "hash 0");
    for (int i = 0; i < 3; i++)
        assert_int_equal(answers[i], 9);
    tamis_filter_free(mine);
    tamis_filter_free(other);
}

/* ---- union ---- */

static void refuse_union(tamis_filter *filter, tamis_filter *other, tamis_status status, const char *what) {
    tamis_error err = TAMIS_ERROR_INIT;
    model_add_range(filter, 0, 5, 1, NULL);
    model_add_range(other, 5, 5, 1, NULL);
    assert_int_equal(tamis_filter_union(filter, other, &err), status);
    says(&err, status, what);
    assert_int_equal(tamis_filter_union(other, filter, NULL), status);
    assert_int_equal(filter_info(filter).added, 5);
    tamis_filter_free(filter);
    tamis_filter_free(other);
}

/* The union of two filters below the capacity is accepted, and takes more keys up to the capacity. */
static void union_below_the_capacity_succeeds(void **state) {
    (void)state;
    enum { CAPACITY = 20000, HALF = 9800, LEFT = 300 };
    static const tamis_kind kinds[] = {TAMIS_KIND_CLASSIC, TAMIS_KIND_BLOCKED};
    static const double rates[] = {0.1, 0.01};
    for (int i = 0; i < 4; i++) {
        tamis_filter *filter = plain_filter(kinds[i / 2], CAPACITY, rates[i % 2]);
        tamis_filter *other = plain_filter(kinds[i / 2], CAPACITY, rates[i % 2]);
        for (uint32_t key = 0; key < 2 * HALF; key++)
            assert_int_equal(tamis_filter_add(key % 2 ? filter : other, &key, sizeof key, NULL, NULL),
                             TAMIS_OK);
        assert_int_equal(tamis_filter_union(filter, other, NULL), TAMIS_OK);
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        assert_int_equal(tamis_filter_info_get(filter, &info, NULL), TAMIS_OK);
        assert_false(info.saturated);
        for (uint32_t key = 2 * HALF; key < 2 * HALF + LEFT; key++)
            assert_int_equal(tamis_filter_add(filter, &key, sizeof key, NULL, NULL), TAMIS_OK);
        for (uint32_t key = 0; key < 2 * HALF + LEFT; key++)
            assert_true(contains_key(filter, &key, sizeof key));
        tamis_filter_free(filter);
        tamis_filter_free(other);
    }
}

static void union_names_the_difference(void **state) {
    (void)state;
    const tamis_kind classic = TAMIS_KIND_CLASSIC, blocked = TAMIS_KIND_BLOCKED;
    tamis_filter_options seed = TAMIS_FILTER_OPTIONS_INIT, secret = seed, other_secret = seed;
    seed.seed = 42;
    secret.secret = "0123456789abcdef";
    other_secret.secret = "0123456789abcdeF";
    secret.secret_size = other_secret.secret_size = 16;
    refuse_union(plain_filter(classic, 100, 1e-3), plain_filter(TAMIS_KIND_FINGERPRINT, 100, 1e-3),
                 TAMIS_E_MISMATCH, "fingerprint");
    refuse_union(plain_filter(classic, 100, 0.01), plain_filter(blocked, 100, 0.01), TAMIS_E_MISMATCH,
                 "classic and blocked");
    refuse_union(plain_filter(classic, 1000, 0.01), plain_filter(classic, 3000, 0.01), TAMIS_E_MISMATCH,
                 "bits");
    refuse_union(plain_filter(classic, 1000, 0.01),
                 filter_with(classic, TAMIS_SCHEME_AUTO, 1000, 0.01, &seed), TAMIS_E_MISMATCH,
                 "seeds differ, 0 and 42");
    refuse_union(filter_with(blocked, TAMIS_SCHEME_XXH3, 1000, 0.01, NULL),
                 filter_with(blocked, TAMIS_SCHEME_GUAVA64, 1000, 0.01, NULL), TAMIS_E_MISMATCH,
                 "xxh3 and guava64");
    refuse_union(filter_with(blocked, TAMIS_SCHEME_SIP, 1000, 0.01, &secret),
                 filter_with(blocked, TAMIS_SCHEME_SIP, 1000, 0.01, &other_secret), TAMIS_E_MISMATCH,
                 "secrets");
}

static void union_of_unequal_probes_is_refused(void **state) {
    (void)state;
    filter_case c = {"", TAMIS_KIND_CLASSIC, TAMIS_SCHEME_XXH3, false, 0.01};
    tamis_plan plan = case_plan(&c, 1000, 0), other = plan;
    other.probes++;
    refuse_union(plan_filter(&plan, NULL), plan_filter(&other, NULL), TAMIS_E_MISMATCH,
                 "probes differ, 7 and 8");
}

static void a_union_with_itself_changes_nothing(void **state) {
    (void)state;
    for (int kind = TAMIS_KIND_CLASSIC; kind <= TAMIS_KIND_BLOCKED; kind++) {
        tamis_filter *filter = plain_filter((tamis_kind)kind, 10000, 0.01);
        model_add_range(filter, 0, 9000, 1, NULL);
        tamis_filter_info before = filter_info(filter);
        assert_int_equal(tamis_filter_union(filter, filter, NULL), TAMIS_OK);
        tamis_filter_info after = filter_info(filter);
        assert_true(after.fpr_live == before.fpr_live);
        assert_true(fabs((double)after.added - 9000) < 200);
        tamis_filter_free(filter);
    }
}

/* ---- filters of Guava, bit for bit ---- */

/* Reads bit i by a hash whose positions are all i: h1 = i, h2 = 0. */
static bool guava_bit(const tamis_filter *filter, uint64_t i) {
    tamis_hash hash = {{i, 0}, filter_hasher_id(filter)};
    tamis_answer answer = 9;
    assert_int_equal(tamis_filter_contains_hashes(filter, &hash, 1, &answer, NULL, NULL), TAMIS_OK);
    return answer == TAMIS_PRESENT;
}

/* Compares with Guava's writeTo: strategy, probes, count of longs (big-endian), the longs (big-endian). */
static void check_written(const tamis_filter *filter, const uint8_t *written, size_t size) {
    const tamis_plan *plan = tamis_filter_plan(filter);
    assert_int_equal(size, 6 + plan->bits / 8);
    assert_int_equal(written[0], 1);
    assert_int_equal(written[1], plan->probes);
    for (uint64_t i = 0; i < plan->bits; i++) {
        const uint8_t *word = written + 6 + i / 64 * 8;
        bool expected = word[7 - i % 64 / 8] >> i % 8 & 1;
        assert_int_equal(guava_bit(filter, i), expected);
    }
}

static void put_keys(tamis_filter *filter, const char *funnel, char *keys, int count) {
    static uint8_t bytes[4096];
    for (int i = 0; i < count; i++) {
        const char *text = strsep(&keys, ",");
        assert_non_null(text);
        size_t size = golden_key(funnel, text, bytes);
        assert_int_equal(tamis_filter_add(filter, bytes, size, NULL, NULL), TAMIS_OK);
        assert_true(contains_key(filter, bytes, size));
    }
    assert_null(keys);
}

static void filters_of_guava_bit_for_bit(void **state) {
    (void)state;
    static uint8_t written[65536];
    int filters = 0;
    for (golden g = golden_open("guava-31.1.tsv"); golden_next(&g);) {
        if (strcmp(g.field[0], "filter") != 0)
            continue;
        assert_int_equal(g.fields, 9);
        tamis_filter *filter = filter_with(TAMIS_KIND_CLASSIC, TAMIS_SCHEME_GUAVA64,
                                           strtoull(g.field[2], NULL, 10), strtod(g.field[3], NULL), NULL);
        put_keys(filter, g.field[1], g.field[5], atoi(g.field[4]));
        check_written(filter, written, golden_bytes(g.field[6], written));
        /* Guava computes expectedFpp() and approximateElementCount() from the set bits, as tamis does. */
        tamis_filter_info info = filter_info(filter);
        double fpp = strtod(g.field[7], NULL);
        const tamis_plan *plan = tamis_filter_plan(filter);
        double filled = pow((double)info.ones / (double)plan->bits, plan->probes);
        assert_true(fabs(filled - fpp) <= 1e-12 * fpp);
        assert_true(info.fpr_live > filled); /* includes repeated positions, which Guava ignores */
        assert_int_equal((long long)floor(info.cardinality + 0.5), atoll(g.field[8]));
        tamis_filter_free(filter);
        filters++;
    }
    assert_int_equal(filters, 36);
}

/* ---- errors of the caller ---- */

static void refused_plan(const tamis_plan *plan, const char *field) {
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_filter_options options = plan_options(plan);
    assert_int_equal(tamis_filter_create(&filter, plan, &options, &err), TAMIS_E_INVALID);
    assert_null(filter);
    if (!strstr(err.text, field))
        fail_msg("%s: is not named in: %s", field, err.text);
}

/* Plans are public structs, so a caller may change them. */
static void reg_22_a_tampered_plan_is_refused(void **state) {
    (void)state;
#define REFUSED(name, value)                                                                                 \
    do {                                                                                                     \
        tamis_plan changed = plan;                                                                           \
        changed.name = value;                                                                                \
        refused_plan(&changed, #name);                                                                       \
    } while (0)
    for (int i = 0; i < FILTER_CASES; i++) {
        const tamis_plan plan = case_plan(&filter_cases[i], 1000, 0);
        tamis_plan other = plan;
        for (int kind = -1; kind < 9; kind += kind < 0 || kind > 4 ? 1 : 8) {
            other.kind = (tamis_kind)kind;
            refused_plan(&other, "plan: not made");
        }
        if (case_is_bloom(&filter_cases[i])) {
            REFUSED(bits, 0);
            REFUSED(bits, TAMIS_BITS_MAX + 1);
            REFUSED(bits, UINT64_MAX);
            REFUSED(probes, 0);
            REFUSED(probes, 256);
            if (plan.kind != TAMIS_KIND_CLASSIC)
                REFUSED(bits, 511);
            continue;
        }
        REFUSED(slot_bits, 0);
        REFUSED(slot_bits, 17);
        REFUSED(slot_bits, UINT32_MAX);
        REFUSED(home_bits, 0);
        REFUSED(home_bits, 64);
        if (filter_cases[i].grows)
            continue;
        REFUSED(lines, 0);
        REFUSED(lines, UINT64_MAX);
        REFUSED(partitions, 3);
        REFUSED(partitions, 512);
        REFUSED(partitions, UINT32_MAX);
    }
#undef REFUSED
}

static void reg_22_a_secret_of_null_with_a_size_is_refused(void **state) {
    (void)state;
    for (int scheme = TAMIS_SCHEME_AUTO; scheme <= TAMIS_SCHEME_REDISSON; scheme++) {
        tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
        tamis_hasher *hasher = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        options.scheme = (tamis_scheme)scheme;
        options.secret_size = 32;
        assert_int_equal(tamis_hasher_create(&hasher, &options, &err), TAMIS_E_INVALID);
        assert_null(hasher);
        assert_non_null(strstr(err.text, "secret"));
    }
    tamis_filter_options options = TAMIS_FILTER_OPTIONS_INIT;
    tamis_plan plan = case_plan(&filter_cases[0], 1000, 0);
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    plan.scheme = TAMIS_SCHEME_SIP;
    options.secret_size = 32;
    assert_int_equal(tamis_filter_create(&filter, &plan, &options, &err), TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "secret_size"));
}

/* Messages of the library name fields, not options of the command line. */
static void reg_22_errors_name_fields(void **state) {
    (void)state;
    tamis_plan_options plan_options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_error err = TAMIS_ERROR_INIT;
    plan_options.kind = TAMIS_KIND_BLOCKED;
    assert_int_equal(tamis_plan_make(&plan, &plan_options, &err), TAMIS_E_INVALID);
    assert_null(strstr(err.text, "--"));
    assert_non_null(strstr(err.text, "expect"));
    assert_int_equal(tamis_plan_fit(&plan, &plan_options, &err), TAMIS_E_INVALID);
    assert_null(strstr(err.text, "--"));
    assert_non_null(strstr(err.text, "memory"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_must_be_made),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(the_scheme_is_chosen_at_creation),
        cmocka_unit_test(info_of_an_empty_filter),
        cmocka_unit_test(abilities),
        cmocka_unit_test(any_bytes_are_a_key),
        cmocka_unit_test(an_empty_batch_is_fine),
        cmocka_unit_test(hashes_of_others_are_refused),
        cmocka_unit_test(union_names_the_difference),
        cmocka_unit_test(union_below_the_capacity_succeeds),
        cmocka_unit_test(union_of_unequal_probes_is_refused),
        cmocka_unit_test(a_union_with_itself_changes_nothing),
        cmocka_unit_test(filters_of_guava_bit_for_bit),
        cmocka_unit_test(reg_22_a_tampered_plan_is_refused),
        cmocka_unit_test(reg_22_a_secret_of_null_with_a_size_is_refused),
        cmocka_unit_test(reg_22_errors_name_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
