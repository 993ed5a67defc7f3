/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * DUMPs and RDB files with filters of RedisBloom. The DUMP of BF.RESERVE f 0.01 3 NONSCALING with "a" is that
 * of a live server. RDB files are made here by the rules of Redis' rdb.c, with a value of each type before
 * the filters; tests/cli/redis/redisbloom.sh reads those of a server.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/compat/redisbloom_cuckoo.h>

#include "base/bytes.h"
#include "filter/compat/redisbloom_filter.h"
#include "format/rdb.h"
#include "support/formats.h"
#include "support/rdb_bytes.h"

/* ---- bytes ---- */

/* The filter with "a" as a value of an RDB file, without the type 7. */
#define VALUE                                                                                                \
    "81 3016e5a289bef804 0201 0201 020d 0200 0203 047b14ae47e17a843f 0207 0488168ac58c2b2340 024040 0200 "   \
    "0508 0044008800100120 0201 00"

static test_bytes dump_of_a(void) {
    test_bytes dump = {NULL, 0, 0};
    add_hex(&dump, "07" VALUE "0800");
    add_crc(&dump);
    return dump;
}

static void assert_has_a(const tamis_filter *filter) {
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_int_equal(tamis_filter_contains(filter, "a", 1, &answer, NULL), TAMIS_OK);
    assert_int_equal(answer, TAMIS_PRESENT);
    assert_int_equal(tamis_filter_contains(filter, "b", 1, &answer, NULL), TAMIS_OK);
    assert_int_equal(answer, TAMIS_ABSENT);
}

/* ---- DUMP ---- */

static void checksums_are_those_of_redis(void **state) {
    (void)state;
    uint8_t bytes[100];
    tamis__crc64 crc;
    tamis__crc64_init(&crc);
    tamis__crc64_update(&crc, "123456789", 9);
    assert_true(crc.value == UINT64_C(0xe9c6d914c4b8d9ca)); /* the test value of crc64.c */
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 + 11);
    for (size_t size = 0; size <= sizeof bytes; size++)
        for (size_t first = 0; first <= size; first += 7) {
            tamis__crc64_init(&crc);
            tamis__crc64_update(&crc, bytes, first);
            tamis__crc64_update(&crc, bytes + first, size - first);
            assert_true(crc.value == slow_crc(bytes, size));
        }
}

static void reads_and_writes_a_dump(void **state) {
    (void)state;
    test_bytes dump = dump_of_a();
    tamis_filter *filter = decode_filter(dump.data, dump.size, TAMIS_FORMAT_AUTO);
    tamis_metadata metadata = TAMIS_METADATA_INIT;
    assert_int_equal(tamis_filter_metadata_get(filter, &metadata, NULL), TAMIS_OK);
    assert_int_equal(metadata.format, TAMIS_FORMAT_REDISBLOOM);
    assert_has_a(filter);
    assert_encodes_to(filter, TAMIS_FORMAT_REDISBLOOM, dump.data, dump.size);
    const tamis_plan *plan = tamis_filter_plan(filter);
    assert_int_equal(plan->kind, TAMIS_KIND_CLASSIC);
    assert_int_equal(plan->scheme, TAMIS_SCHEME_REDISBLOOM);
    assert_int_equal(plan->capacity, 3);
    assert_true(plan->fpr == 0.01);
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    assert_int_equal(tamis_filter_info_get(filter, &info, NULL), TAMIS_OK);
    assert_int_equal(info.added, 1);
    assert_int_equal(info.ones, 7);
    assert_true(info.cardinality == 1 && info.fpr_live > 1e-8 && info.fpr_live < 1e-6); /* (7/64)^7 */
    assert_non_null(tamis_redisbloom_of(filter));
    assert_null(tamis_redisbloom_cuckoo_of(filter));
    tamis_filter_free(filter);
    bytes_clear(&dump);
}

/* What cannot be done is refused, and nothing else is touched. */
static void is_only_looked_up(void **state) {
    (void)state;
    test_bytes dump = dump_of_a();
    tamis_filter *filter = decode_filter(dump.data, dump.size, TAMIS_FORMAT_REDISBLOOM), *other = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_answer answer = TAMIS_UNKNOWN;
    tamis_hash hash;
    tamis_difference difference = TAMIS_DIFFERENCE_INIT;
    uint64_t copies;
    assert_int_equal(tamis_filter_add(filter, "b", 1, &answer, &err), TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "BF or CF commands"));
    assert_int_equal(tamis_filter_clear(filter, NULL), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_filter_remove(filter, "a", 1, &answer, NULL), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_filter_count_key(filter, "a", 1, &copies, NULL), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_filter_copy(&other, filter, NULL), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_filter_union(filter, filter, NULL), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_filter_compare(&difference, filter, filter, NULL), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_filter_verify(filter, NULL), TAMIS_OK);
    const tamis_key key = {"a", 1};
    assert_int_equal(tamis_hash_many(tamis_filter_hasher(filter), &key, 1, &hash, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_contains_hashes(filter, &hash, 1, &answer, NULL, NULL),
                     TAMIS_E_UNSUPPORTED);
    assert_int_equal(answer, TAMIS_UNKNOWN);
    assert_encode_unsupported(filter, TAMIS_FORMAT_TAMIS, "RedisBloom");
    assert_encode_unsupported(filter, TAMIS_FORMAT_GUAVA, "RedisBloom");
    for (int ability = TAMIS_CAN_UNION; ability <= TAMIS_CAN_ADD; ability++)
        assert_false(tamis_filter_can(filter, (tamis_ability)ability));
    assert_has_a(filter);
    tamis_filter_free(filter);
    tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
    options.concurrent = true;
    assert_int_equal(tamis_filter_decode(&other, dump.data, dump.size, &options, NULL), TAMIS_E_UNSUPPORTED);
    tamis_filter *classic = make_classic(TAMIS_SCHEME_REDISBLOOM, 3, 0.01, 64, 7);
    assert_encode_unsupported(classic, TAMIS_FORMAT_REDISBLOOM, "filters of RedisBloom");
    tamis_filter_free(classic);
    bytes_clear(&dump);
}

/* A chain that grew, and cuckoo tables: the same bytes again, and the same answers. */
static void dumps_of_all_filters_come_back(void **state) {
    (void)state;
    for (int cuckoo = 0; cuckoo < 2; cuckoo++) {
        tamis_redisbloom *chain = NULL;
        tamis_redisbloom_cuckoo *tables = NULL;
        char text[16];
        if (cuckoo)
            assert_int_equal(tamis_redisbloom_cuckoo_create(&tables, NULL, NULL), TAMIS_OK);
        else
            assert_int_equal(tamis_redisbloom_create(&chain, NULL, NULL), TAMIS_OK);
        for (int i = 0; i < 3000; i++) {
            const tamis_key key = {text, (size_t)snprintf(text, sizeof text, "%d", i)};
            assert_int_equal(cuckoo ? tamis_redisbloom_cuckoo_add(tables, key.data, key.size, NULL)
                                    : tamis_redisbloom_add_many(chain, &key, 1, NULL, NULL, NULL),
                             TAMIS_OK);
        }
        tamis__redisbloom_pair own = {chain, tables};
        tamis_filter *filter = NULL;
        assert_int_equal(tamis__redisbloom_filter_create(&filter, &own, NULL, NULL), TAMIS_OK);
        test_bytes dump = {NULL, 0, 0};
        encode_filter(filter, TAMIS_FORMAT_REDISBLOOM, &dump);
        assert_true(slow_crc(dump.data, dump.size - 8) == tamis__load64le(dump.data + dump.size - 8));
        tamis_filter *again = decode_filter(dump.data, dump.size, TAMIS_FORMAT_AUTO);
        assert_encodes_to(again, TAMIS_FORMAT_REDISBLOOM, dump.data, dump.size);
        size_t wrong = 0;
        for (int i = 0; i < 23000; i++) {
            tamis_answer answer = TAMIS_UNKNOWN;
            const size_t size = (size_t)snprintf(text, sizeof text, "%d", i);
            assert_int_equal(tamis_filter_contains(again, text, size, &answer, NULL), TAMIS_OK);
            assert_true(i >= 3000 || answer == TAMIS_PRESENT);
            wrong += i >= 3000 && answer == TAMIS_PRESENT;
        }
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        assert_int_equal(tamis_filter_info_get(again, &info, NULL), TAMIS_OK);
        const double expected = 20000 * info.fpr_live; /* within five standard deviations */
        if (!((double)wrong > expected - 5 * sqrt(expected) && (double)wrong < expected + 5 * sqrt(expected)))
            fail_msg("%zu wrong answers, %g expected", wrong, expected);
        assert_int_equal(tamis_filter_plan(again)->kind, cuckoo ? TAMIS_KIND_CUCKOO : TAMIS_KIND_CLASSIC);
        assert_true(tamis_filter_plan(again)->fpr == (cuckoo ? 1 : 0.01));
        tamis_filter_free(filter);
        tamis_filter_free(again);
        bytes_clear(&dump);
    }
}

/* Each byte is needed, and a change of any bit is noticed. */
static void damaged_dumps_are_refused(void **state) {
    (void)state;
    test_bytes dump = dump_of_a(), other = {NULL, 0, 0};
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    for (size_t size = 0; size < dump.size; size++)
        assert_int_not_equal(decode_copy(&filter, dump.data, size, TAMIS_FORMAT_REDISBLOOM, &err), TAMIS_OK);
    for (size_t bit = 0; bit < 8 * dump.size; bit++) {
        dump.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_int_not_equal(decode_copy(&filter, dump.data, dump.size, TAMIS_FORMAT_REDISBLOOM, &err),
                             TAMIS_OK);
        dump.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    static const struct {
        const char *hex, *says;
    } forged[] = {
        {"00 05 68656c6c6f 0800", "another type"},                        /* a string */
        {"07 81 3016e5a289bef808 00 0800", "encoding version"},           /* version 8 */
        {"07 81 0000000000000004 00 0800", "not a filter of RedisBloom"}, /* another module */
        {"07 81 3016e5a289bef804 00 0800", "field is missing"},           /* no fields */
        {"07" VALUE "00 0800", "further bytes"},                          /* a byte too many */
        {"07 81 3016e5a289bef804 0201 0201 020d 0200 0203 047b14ae47e17a843f 0207 0488168ac58c2b2340 "
         "024040 0200 05 c3 05 81 0000010000000000 1f1f1f1f1f 0201 00 0800",
         "field is missing"}, /* 2^40 bytes from 5 */
    };
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        add_hex(&other, forged[i].hex);
        add_crc(&other);
        assert_int_not_equal(decode_copy(&filter, other.data, other.size, TAMIS_FORMAT_REDISBLOOM, &err),
                             TAMIS_OK);
        if (!strstr(err.text, forged[i].says))
            fail_msg("%s: not %s", err.text, forged[i].says);
        bytes_clear(&other);
    }
    assert_null(filter);
    bytes_clear(&dump);
}

static void failed_allocations_leave_nothing(void **state) {
    (void)state;
    test_bytes dump = dump_of_a();
    for (size_t n = 1;; n++) {
        fault_memory memory = {.fail_at = n};
        tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_open_options options = TAMIS_OPEN_OPTIONS_INIT;
        options.allocator = &allocator;
        tamis_filter *filter = NULL;
        const tamis_status status = tamis_filter_decode(&filter, dump.data, dump.size, &options, NULL);
        assert_true(status == TAMIS_OK || status == TAMIS_E_NOMEM);
        assert_true((status == TAMIS_OK) == (filter != NULL));
        tamis_filter_free(filter);
        assert_int_equal(memory.live_blocks, 0);
        if (status == TAMIS_OK)
            break;
    }
    bytes_clear(&dump);
}

/* ---- RDB files ---- */

/* Remarks, and a value of each type. */
static const char *const other_values[] = {
    "fa 0972656469732d766572 05372e302e31",                                              /* redis-ver 7.0.1 */
    "fa 0a72656469732d62697473 c040",                                                    /* redis-bits 64 */
    "f5 0461626364",                                                                     /* a function */
    "f7 81 3016e5a289bef800 02 02 05 03616263 03 00000000 04 0000000000000000 01 05 00", /* module */
    "fe 00 fb 05 01",                            /* database 0, sizes */
    "fc 0102030405060708 00 0161 05 68656c6c6f", /* expiry; string */
    "fd 01020304 00 0162 c1 1027",               /* expiry in seconds; 10000 */
    "f8 07 f9 09 01 0163 02 0178 0179",          /* idle, frequency; list */
    "02 0164 01 c0 05",                          /* set */
    "03 0165 02 0178 02312e 0179 fe",            /* sorted set, a score of infinity */
    "04 0166 01 0178 0179",                      /* hash */
    "05 0167 01 0178 000000000000f03f",          /* sorted set, version 2 */
    "0b 0168 0400000000",                        /* set of integers */
    "0e 0169 02 0178 0179",                      /* quicklist */
    "0f 016a 01 0178 0179 01 80 00000005 00 01 0167 05 00 01 00000000000000000000000000000000 "
    "0000000000000000"
    " 01 01 0163 0000000000000000 01 00000000000000000000000000000000", /* stream */
    "15 016b 00 00 00 00 00 00 00 00 00 01 0167 05 00 02 00 01 0163 00000000000000000000000000000000 00",
    "10 016c 0178",                             /* hash as listpack */
    "12 016d 02 01 0178 02 0179",               /* quicklist, version 2 */
    "18 016e 0000000000000000 01 05 0178 0179", /* hash with expiring fields */
    "19 016f 0000000000000000 0178",            /* the same as listpack */
    "07 0170 81 0000000000000004 02 01 00",     /* value of another module */
    "00 c0 07 0178",                            /* key 7 */
    "fe 01 f4 01 02 03",                        /* database 1, slot */
};

static test_bytes rdb_file(const char *filters) {
    test_bytes file = {NULL, 0, 0};
    add_text(&file, "REDIS0011");
    for (size_t i = 0; i < sizeof other_values / sizeof *other_values; i++)
        add_hex(&file, other_values[i]);
    add_hex(&file, filters);
    add_hex(&file, "ff");
    add_crc(&file);
    return file;
}

static void assert_key_has_a(const test_bytes *file, const char *key) {
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    if (decode_key(&filter, file, key, &err) != TAMIS_OK)
        fail_msg("%s: %s", key, err.text);
    assert_has_a(filter);
    tamis_filter_free(filter);
}

/* Names as bytes, as an integer, and compressed: 30 times "k" is a literal k and a copy of 29. */
static void finds_keys_of_a_file(void **state) {
    (void)state;
    test_bytes file = rdb_file("07 04 7365656e" VALUE " 07 c1 3930" VALUE " 07 c3 05 1e 006b e01400" VALUE);
    assert_key_has_a(&file, "seen");
    assert_key_has_a(&file, "12345");
    assert_key_has_a(&file, "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkk");
    assert_key_fails(&file, "none", TAMIS_E_NOT_FOUND, "for example KEY seen");
    assert_key_fails(&file, "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkl", TAMIS_E_NOT_FOUND, "no such key");
    assert_key_fails(&file, "", TAMIS_E_NOT_FOUND, "no such key");
    assert_key_fails(&file, "a", TAMIS_E_FORMAT, "another type");
    assert_key_fails(&file, "7", TAMIS_E_FORMAT, "another type");
    assert_key_fails(&file, "p", TAMIS_E_FORMAT, "another type");
    assert_key_fails(&file, NULL, TAMIS_E_FORMAT, "for example KEY seen");
    bytes_clear(&file);
    file = rdb_file("");
    assert_key_fails(&file, NULL, TAMIS_E_FORMAT, "with a filter of RedisBloom as KEY");
    bytes_clear(&file);
    test_bytes dump = dump_of_a();
    tamis_filter *filter = make_classic(TAMIS_SCHEME_GUAVA64, 10, 0.01, 128, 7);
    encode_filter(filter, TAMIS_FORMAT_TAMIS, &file);
    assert_key_fails(&file, "seen", TAMIS_E_FORMAT, "not an RDB file");
    assert_key_fails(&dump, "seen", TAMIS_E_FORMAT, "not an RDB file");
    tamis_filter_free(filter);
    bytes_clear(&dump);
    bytes_clear(&file);
}

/* A bit array may be compressed: 8 literal bytes. */
static void reads_compressed_bits(void **state) {
    (void)state;
    test_bytes file = rdb_file("07 0173 81 3016e5a289bef804 0201 0201 020d 0200 0203 047b14ae47e17a843f 0207 "
                               "0488168ac58c2b2340 024040 0200 05 c3 09 08 07 0044008800100120 0201 00");
    assert_key_has_a(&file, "s");
    bytes_clear(&file);
}

/* With the checksum and without one (0). */
static void damaged_files_are_refused(void **state) {
    (void)state;
    test_bytes file = rdb_file("07 04 7365656e" VALUE);
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    const size_t whole = file.size;
    for (size_t bit = 0; bit < 8 * whole; bit++) {
        file.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        if (decode_key(&filter, &file, "seen", &err) == TAMIS_OK)
            fail_msg("bit %zu", bit);
        file.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    memset(file.data + whole - 8, 0, 8);
    assert_key_has_a(&file, "seen");
    for (size_t left = whole - 1; left > 0; left--) { /* what is left ends with a checksum of 0 */
        file.size = left;
        if (left > 17)
            memset(file.data + left - 8, 0, 8);
        const tamis_status status = decode_key(&filter, &file, "zzz", &err);
        if (status == TAMIS_OK || status == TAMIS_E_NOT_FOUND)
            fail_msg("%zu bytes: %s", left, err.text);
    }
    file.size = whole;
    bytes_clear(&file);
    file = rdb_file("63 0171 00");
    assert_key_fails(&file, "seen", TAMIS_E_UNSUPPORTED, "type 99");
    bytes_clear(&file);
    file = rdb_file("01 0171 81 ffffffffffffffff"); /* 2^64 - 1 items that are not there */
    assert_key_fails(&file, "seen", TAMIS_E_DAMAGED, "damaged");
    bytes_clear(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_those_of_redis),
        cmocka_unit_test(reads_and_writes_a_dump),
        cmocka_unit_test(is_only_looked_up),
        cmocka_unit_test(dumps_of_all_filters_come_back),
        cmocka_unit_test(damaged_dumps_are_refused),
        cmocka_unit_test(failed_allocations_leave_nothing),
        cmocka_unit_test(finds_keys_of_a_file),
        cmocka_unit_test(reads_compressed_bits),
        cmocka_unit_test(damaged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
