/* SPDX-License-Identifier: BSD-2-Clause */
/* ctest: long */

/* The .tamis format: every kind and scheme is written and read again, and every byte of small files is
 * changed or cut off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "filter/block_verifier.h"
#include "format/format.h"
#include "format/native.h"
#include "property/filter_model.h"
#include "support/contains.h"
#include "support/fault.h"

typedef struct encoded {
    uint8_t *bytes; /* beginning at a page, as in a mapping */
    uint64_t size;
} encoded;

static encoded encode(const tamis_filter *filter) {
    encoded e = {NULL, 0};
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &e.size, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    e.bytes = aligned_alloc(4096, (e.size + 4095) / 4096 * 4096);
    assert_non_null(e.bytes);
    memset(e.bytes, 0x77, e.size);
    if (tamis_filter_encode(filter, TAMIS_FORMAT_AUTO, e.bytes, e.size, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return e;
}

static tamis_open_options options_for(tamis_scheme scheme) {
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    if (scheme == TAMIS_SCHEME_SIP) {
        options.secret = "a secret for tests only, 32 bytes";
        options.secret_size = 33;
    }
    return options;
}

/* Opens the bytes in place, like a mapped file. */
static tamis_status open_in_place(tamis_filter **filter, const encoded *e, const tamis_open_options *options,
                                  tamis_error *err) {
    return tamis__format_decode(
        filter, &(tamis__encoded_bytes){e->bytes, e->size, "seen.tamis", true, NULL, NULL}, options, err);
}

static void same_info(const tamis_filter *filter, const tamis_filter *other) {
    tamis_filter_info a = filter_info(filter), b = filter_info(other);
    assert_int_equal(a.added, b.added);
    assert_int_equal(a.saturated, b.saturated);
    assert_int_equal(a.ones, b.ones);
    assert_int_equal(a.capacity, b.capacity);
    assert_true(a.fpr_live == b.fpr_live && a.cardinality == b.cardinality);
    assert_true(fabs(a.false_present - b.false_present) <= 1e-9 * (1 + a.false_present));
}

static void every_kind_comes_back(void **state) {
    (void)state;
    enum { N = 120000 };
    static tamis_answer mine[N], theirs[N];
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        uint64_t n = (case_has_digest(c) ? N : N / 20) / test_scale(1, 8, 8);
        tamis_filter *filter = case_filter(c, n), *mapped = NULL, *own = NULL;
        tamis_open_options options = options_for(c->scheme);
        tamis_error err = TAMIS_ERROR_INIT;
        model_add_range(filter, 0, n / 2, 3, NULL);
        encoded e = encode(filter);
        if (open_in_place(&mapped, &e, &options, &err) != TAMIS_OK)
            fail_msg("%s: %s", c->name, err.text);
        if (tamis_filter_decode(&own, e.bytes, e.size, &options, &err) != TAMIS_OK)
            fail_msg("%s: %s", c->name, err.text);
        assert_int_equal(model_count_present(mapped, 0, n / 2, 3), n / 2);
        assert_int_equal(model_count_present(mapped, n, n, 3), model_count_present(filter, n, n, 3));
        assert_int_equal(model_count_present(own, 0, n / 2, 3), n / 2);
        same_info(filter, own);
        same_info(filter, mapped);
        /* Encodes to the same bytes again, and grows like the original. */
        encoded again = encode(mapped);
        assert_int_equal(again.size, e.size);
        assert_memory_equal(again.bytes, e.bytes, e.size);
        model_add_range(filter, n / 2, n / 2, 3, mine);
        model_add_range(own, n / 2, n / 2, 3, theirs);
        assert_memory_equal(mine, theirs, n / 2);
        same_info(filter, own);
        tamis_answer answer;
        assert_int_equal(tamis_filter_add(mapped, "x", 1, &answer, &err), TAMIS_E_UNSUPPORTED);
        assert_int_equal(tamis_filter_clear(mapped, &err), TAMIS_E_UNSUPPORTED);
        assert_int_equal(tamis_filter_verify(mapped, &err), TAMIS_OK);
        tamis_filter_free(filter);
        tamis_filter_free(mapped);
        tamis_filter_free(own);
        free(e.bytes);
        free(again.bytes);
    }
}

/* A sanitizer build detects unaligned reads of words. */
static void bytes_at_any_address_are_decoded(void **state) {
    (void)state;
    enum { N = 1000 };
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        tamis_filter *filter = case_filter(c, N), *own = NULL;
        tamis_open_options options = options_for(c->scheme);
        tamis_error err = TAMIS_ERROR_INIT;
        model_add_range(filter, 0, N / 2, 3, NULL);
        encoded e = encode(filter);
        uint8_t *odd = malloc(e.size + 1);
        assert_non_null(odd);
        memcpy(odd + 1, e.bytes, e.size);
        if (tamis_filter_decode(&own, odd + 1, e.size, &options, &err) != TAMIS_OK)
            fail_msg("%s: %s", c->name, err.text);
        assert_int_equal(model_count_present(own, 0, N / 2, 3), N / 2);
        tamis_filter_free(own);
        tamis_filter_free(filter);
        free(odd);
        free(e.bytes);
    }
}

static void a_plan_text_is_parsed_back(void **state) {
    (void)state;
    static const tamis_label labels[] = {{"source", "feed \xc3\xa9"}, {"empty", ""}, {"a", "1"}};
    tamis_filter *filter = case_filter(&filter_cases[0], 1000), *back = NULL;
    tamis_metadata metadata = TAMIS_METADATA_INIT, reported = TAMIS_METADATA_INIT;
    metadata.version = 42;
    metadata.created = 1700000000;
    metadata.labels = labels;
    metadata.label_count = 3;
    assert_int_equal(tamis_filter_metadata_set(filter, &metadata, NULL), TAMIS_OK);
    encoded e = encode(filter);
    assert_int_equal(tamis_filter_decode(&back, e.bytes, e.size, NULL, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_metadata_get(back, &reported, NULL), TAMIS_OK);
    assert_int_equal(reported.format, TAMIS_FORMAT_TAMIS);
    assert_int_equal(reported.version, 42);
    assert_int_equal(reported.created, 1700000000);
    assert_int_equal(reported.label_count, 3);
    assert_string_equal(reported.labels[0].name, "a");
    assert_string_equal(reported.labels[1].value, "");
    assert_string_equal(reported.labels[2].value, "feed \xc3\xa9");
    tamis_filter_free(filter);
    tamis_filter_free(back);
    free(e.bytes);
}

static void labels_are_checked(void **state) {
    (void)state;
    char longest[258];
    memset(longest, 'n', 256);
    longest[256] = 0;
    const tamis_label bad[] = {
        {"", "v"},         {longest, "v"},        {"n\n", "v"},      {"n", "\x1b[1m"},          {"n", "\xff"},
        {"n", "\xc0\xaf"}, {"n", "\xed\xa0\x80"}, {"n", "\xc2\x85"}, {"n", "\xf4\x90\x80\x80"}, {NULL, "v"},
        {"n", NULL}};
    tamis_filter *filter = case_filter(&filter_cases[0], 1000);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tamis_metadata metadata = TAMIS_METADATA_INIT, reported = TAMIS_METADATA_INIT;
        tamis_error err = TAMIS_ERROR_INIT;
        metadata.labels = &bad[i];
        metadata.label_count = 1;
        assert_int_equal(tamis_filter_metadata_set(filter, &metadata, &err), TAMIS_E_INVALID);
        tamis_filter_metadata_get(filter, &reported, NULL);
        assert_int_equal(reported.label_count, 0);
    }
    const tamis_label twice[] = {{"n", "1"}, {"m", "2"}, {"n", "3"}};
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    metadata.labels = twice;
    metadata.label_count = 3;
    assert_int_equal(tamis_filter_metadata_set(filter, &metadata, NULL), TAMIS_E_INVALID);
    longest[255] = 0;
    const tamis_label good = {longest, "v"};
    metadata.labels = &good;
    metadata.label_count = 1;
    assert_int_equal(tamis_filter_metadata_set(filter, &metadata, NULL), TAMIS_OK);
    tamis_filter_free(filter);
}

static void a_missing_secret_is_reported(void **state) {
    (void)state;
    tamis_filter *filter = case_filter(&filter_cases[1], 1000), *other = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    model_add_range(filter, 0, 500, 1, NULL);
    encoded e = encode(filter);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.secret = "another secret, of as many bytes.";
    options.secret_size = 33;
    assert_int_equal(open_in_place(&other, &e, &options, &err), TAMIS_E_SECRET);
    assert_null(other);
    assert_int_equal(open_in_place(&other, &e, &(tamis_open_options)TAMIS_OPEN_OPTIONS_INIT, &err), TAMIS_OK);
    tamis_answer answer = 9;
    assert_int_equal(tamis_filter_contains(other, "x", 1, &answer, &err), TAMIS_E_SECRET);
    assert_int_equal(answer, 9);
    assert_true(tamis_filter_is_equal(filter, other));
    /* Hashes made with the secret are accepted. */
    model_batch b = {.count = 0};
    batch_put(&b, 7, 1);
    tamis_hash hash;
    assert_int_equal(tamis_hash_many(tamis_filter_hasher(filter), b.key, 1, &hash, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_contains_hashes(other, &hash, 1, &answer, NULL, NULL), TAMIS_OK);
    assert_int_equal(answer, TAMIS_PRESENT);
    tamis_filter_free(filter);
    tamis_filter_free(other);
    free(e.bytes);
}

/* A filter opened with allow_over_capacity accepts keys beyond its capacity, and this is not stored in its
 * file. A filter made with allow_over_capacity stores it. */
static void over_capacity_is_of_the_handle_or_of_the_file(void **state) {
    (void)state;
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        tamis_open_options options = options_for(c->scheme);
        tamis_filter_options made_options = TAMIS_FILTER_OPTIONS_INIT;
        tamis_filter *filter = case_filter(c, 100), *opened = NULL;
        tamis_error err = TAMIS_ERROR_INIT;
        encoded e = encode(filter);
        options.allow_over_capacity = true;
        tamis_status status = tamis_filter_decode(&opened, e.bytes, e.size, &options, &err);
        tamis_filter_free(filter);
        if (!case_is_bloom(c)) {
            assert_int_equal(status, TAMIS_E_UNSUPPORTED);
            assert_null(opened);
            assert_non_null(strstr(err.text, "keeps its rate"));
        }
        free(e.bytes);
        if (!case_is_bloom(c) || !case_has_digest(c)) {
            tamis_filter_free(opened);
            continue;
        }
        assert_int_equal(status, TAMIS_OK);
        model_add_range(opened, 0, 400, 1, NULL);
        assert_true(filter_info(opened).saturated);
        e = encode(opened);
        tamis_filter_free(opened);
        options.allow_over_capacity = false;
        assert_int_equal(tamis_filter_decode(&opened, e.bytes, e.size, &options, &err), TAMIS_OK);
        for (uint64_t key = 1 << 20; status == TAMIS_OK && key < 1 << 21; key++)
            status = tamis_filter_add(opened, &key, sizeof key, NULL, NULL);
        assert_int_equal(status, TAMIS_E_FULL);
        tamis_filter_free(opened);
        free(e.bytes);
        if (c->scheme == TAMIS_SCHEME_SIP)
            continue;

        tamis_plan plan = case_plan(c, 100, 0);
        made_options.allow_over_capacity = true;
        assert_int_equal(tamis_filter_create(&filter, &plan, &made_options, NULL), TAMIS_OK);
        e = encode(filter);
        assert_int_equal(tamis_filter_decode(&opened, e.bytes, e.size, &options, &err), TAMIS_OK);
        model_add_range(opened, 0, 400, 1, NULL);
        assert_true(filter_info(opened).saturated);
        tamis_filter_free(opened);
        tamis_filter_free(filter);
        free(e.bytes);
    }
}

/* A changed or cut file is refused, or gives the same answers, and never a wrong TAMIS_ABSENT. */
static void answers_or_refuses(const encoded *e, const filter_case *c, uint64_t n, bool must_fail,
                               uint64_t offset) {
    tamis_open_options options = options_for(c->scheme);
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_status status = open_in_place(&filter, e, &options, &err);
    if (status == TAMIS_OK && must_fail)
        status = tamis_filter_verify(filter, &err);
    if (status != TAMIS_OK) {
        assert_true(status == TAMIS_E_DAMAGED || status == TAMIS_E_FORMAT);
        assert_true(strncmp(err.text, "seen.tamis: ", 12) == 0);
    } else if (must_fail) {
        fail_msg("%s: a change at byte %" PRIu64 " is not noticed", c->name, offset);
    } else {
        assert_int_equal(model_count_present(filter, 0, n, 5), n);
    }
    tamis_filter_free(filter);
    assert_int_not_equal(tamis_filter_decode(&filter, e->bytes, e->size, &options, NULL) == TAMIS_OK,
                         must_fail);
    if (!must_fail)
        tamis_filter_free(filter);
}

static void every_byte_changed_is_noticed(void **state) {
    (void)state;
    enum { N = 50 };
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        tamis_filter *filter = case_filter(c, N);
        model_add_range(filter, 0, N, 5, NULL);
        encoded e = encode(filter);
        uint64_t header = tamis__load32le(e.bytes + 12);
        uint64_t step = e.size > 60000 ? test_scale(307, 997, 997) : test_scale(5, 97, 13);
        for (uint64_t offset = 0; offset < e.size; offset += offset < header ? 1 : step) {
            e.bytes[offset] ^= (uint8_t)(1u << offset % 8);
            answers_or_refuses(&e, c, N, true, offset);
            e.bytes[offset] ^= (uint8_t)(1u << offset % 8);
        }
        answers_or_refuses(&e, c, N, false, 0);
        uint64_t whole = e.size;
        for (e.size = 0; e.size < whole; e.size += e.size < header ? 1 : step)
            answers_or_refuses(&e, c, N, true, e.size);
        e.size = whole;
        tamis_filter_free(filter);
        free(e.bytes);
    }
}

/* Makes the checksums right again for a file with wrong fields: made by an attacker, or by a bug. */
static void repair_checksums(encoded *e) {
    uint64_t header = tamis__load32le(e->bytes + 12), body = tamis__load64le(e->bytes + 32);
    uint64_t size = tamis__load64le(e->bytes + 40);
    if (body <= e->size && size <= e->size - body && tamis__block_count(size) * 8 <= e->size - body - size) {
        uint8_t *checksums = e->bytes + body + size;
        for (uint64_t i = 0; i < tamis__block_count(size); i++) {
            uint64_t left = size - i * TAMIS__BLOCK;
            tamis__store64le(checksums + 8 * i,
                             XXH3_64bits(e->bytes + body + i * TAMIS__BLOCK,
                                         (size_t)(left < TAMIS__BLOCK ? left : TAMIS__BLOCK)));
        }
        tamis__store64le(e->bytes + 56, XXH3_64bits(checksums, (size_t)(8 * tamis__block_count(size))));
    }
    if (header >= 256 && header <= e->size)
        tamis__store64le(e->bytes + 16, native_header_checksum(e->bytes, header));
}

static void forged_fields_are_refused_or_harmless(void **state) {
    (void)state;
    uint64_t random = test_seed(77);
    for (int i = 0; i < FILTER_CASES; i++) {
        const filter_case *c = &filter_cases[i];
        tamis_filter *filter = case_filter(c, 50);
        model_add_range(filter, 0, 50, 5, NULL);
        encoded e = encode(filter);
        uint8_t *saved = malloc(e.size);
        memcpy(saved, e.bytes, e.size);
        uint64_t rounds = test_scale(1000, 100, 300) / (e.size > 60000 ? 10 : 1);
        for (uint64_t round = 0; round < rounds; round++) {
            uint64_t changes = 1 + test_below(&random, 3);
            while (changes--) {
                uint64_t offset =
                    test_below(&random, 4) ? test_below(&random, 400) : test_below(&random, e.size);
                e.bytes[offset] =
                    test_below(&random, 2) ? (uint8_t)test_random(&random) : (uint8_t)(e.bytes[offset] + 1);
            }
            repair_checksums(&e);
            tamis_open_options options = options_for(c->scheme);
            tamis_filter *forged = NULL;
            tamis_error err = TAMIS_ERROR_INIT;
            if (open_in_place(&forged, &e, &options, &err) == TAMIS_OK) {
                model_count_present(forged, 0, 100, 5); /* a sanitizer sees reads out of bounds */
                filter_info(forged);
            }
            tamis_filter_free(forged);
            forged = NULL;
            fault_memory memory = {.limit = 4 * e.size + 100000};
            tamis_allocator allocator = fault_memory_allocator(&memory);
            options.allocator = &allocator;
            if (tamis_filter_decode(&forged, e.bytes, e.size, &options, &err) == TAMIS_OK) {
                memory.limit = 0;
                tamis_error full = TAMIS_ERROR_INIT;
                for (uint64_t id = 0; id < 300; id++)
                    tamis_filter_add(forged, &id, sizeof id, NULL, &full);
            }
            tamis_filter_free(forged);
            assert_int_equal(memory.live_blocks, 0);
            memcpy(e.bytes, saved, e.size);
        }
        tamis_filter_free(filter);
        free(saved);
        free(e.bytes);
    }
}

/* Swaps the first two entries of every line of a body. Growth then finds buckets out of order. */
static void a_table_out_of_order_does_no_harm(void **state) {
    (void)state;
    filter_case c = {"growing", TAMIS_KIND_FINGERPRINT, TAMIS_SCHEME_XXH3, true, 1e-9};
    tamis_filter *filter = case_filter(&c, 0), *forged = NULL;
    model_add_range(filter, 0, 150000, 5, NULL);
    encoded e = encode(filter);
    uint64_t body = tamis__load64le(e.bytes + 32), size = tamis__load64le(e.bytes + 40);
    for (uint8_t *line = e.bytes + body; line < e.bytes + body + size; line += 64)
        for (int slot = 0; slot < 12; slot += 2) {
            uint32_t head = tamis__load32le(line + 4 * slot);
            tamis__store32le(line + 4 * slot, tamis__load32le(line + 4 * slot + 4));
            tamis__store32le(line + 4 * slot + 4, head);
        }
    repair_checksums(&e);
    if (tamis_filter_decode(&forged, e.bytes, e.size, NULL, NULL) == TAMIS_OK)
        for (uint64_t id = 0; id < 400000; id++)
            tamis_filter_add(forged, &id, sizeof id, NULL, NULL);
    tamis_filter_free(forged);
    tamis_filter_free(filter);
    free(e.bytes);
}

/* Bits beyond m must be zero. */
static void bits_past_the_last_are_refused(void **state) {
    (void)state;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL, *back = NULL;
    plan.kind = TAMIS_KIND_CLASSIC;
    plan.scheme = TAMIS_SCHEME_GUAVA64;
    plan.capacity = 10;
    plan.fpr = 0.01;
    plan.bits = 95;
    plan.probes = 7;
    assert_int_equal(tamis_filter_create(&filter, &plan, NULL, NULL), TAMIS_OK);
    encoded e = encode(filter);
    for (uint64_t bit = 95; bit < 512; bit += 59) {
        uint8_t *byte = e.bytes + tamis__load64le(e.bytes + 32) + bit / 8;
        *byte ^= (uint8_t)(1u << bit % 8);
        repair_checksums(&e);
        assert_int_equal(tamis_filter_decode(&back, e.bytes, e.size, NULL, NULL), TAMIS_E_DAMAGED);
        *byte ^= (uint8_t)(1u << bit % 8);
    }
    repair_checksums(&e);
    assert_int_equal(tamis_filter_decode(&back, e.bytes, e.size, NULL, NULL), TAMIS_OK);
    tamis_filter_free(back);
    tamis_filter_free(filter);
    free(e.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_out_of_order_does_no_harm),
        cmocka_unit_test(bits_past_the_last_are_refused),
        cmocka_unit_test(every_kind_comes_back),
        cmocka_unit_test(bytes_at_any_address_are_decoded),
        cmocka_unit_test(a_plan_text_is_parsed_back),
        cmocka_unit_test(labels_are_checked),
        cmocka_unit_test(a_missing_secret_is_reported),
        cmocka_unit_test(over_capacity_is_of_the_handle_or_of_the_file),
        cmocka_unit_test(every_byte_changed_is_noticed),
        cmocka_unit_test(forged_fields_are_refused_or_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
