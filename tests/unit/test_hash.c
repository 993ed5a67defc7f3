/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/hash.h>

#include "golden/golden_reader.h"
#include "hash/hash_functions.h"
#include "support/fault.h"

enum { SCHEMES = TAMIS_SCHEME_REDISSON + 1 };

static const char secret[] = "sixteen bytes at the least, and more of them are welcome";

static tamis_hasher *hasher_of(tamis_scheme scheme, uint64_t seed, const void *bytes, size_t size) {
    tamis_hasher *hasher = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_hasher_create(
            &hasher, &(tamis_hasher_options){sizeof(tamis_hasher_options), scheme, seed, bytes, size, NULL},
            &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return hasher;
}

static void schemes_have_names(void **state) {
    (void)state;
    static const char *const names[] = {"auto",   "xxh3",   "sip",        "guava64",  "guava32",
                                        "bkdr31", "bkdr63", "redisbloom", "fnv-dcso", "redisson"};
    static const uint32_t digest_bits[SCHEMES] = {128, 128, 128, 128, 128, 0, 0, 128, 64, 128};
    for (int i = 0; i < SCHEMES; i++) {
        tamis_scheme scheme = (tamis_scheme)99;
        assert_string_equal(tamis_scheme_name((tamis_scheme)i), names[i]);
        assert_int_equal(tamis_scheme_parse(&scheme, names[i], NULL), TAMIS_OK);
        assert_int_equal(scheme, i);
        assert_int_equal(tamis_scheme_digest_bits((tamis_scheme)i), digest_bits[i]);
        assert_int_equal(tamis_scheme_is_uniform((tamis_scheme)i),
                         i != TAMIS_SCHEME_BKDR31 && i != TAMIS_SCHEME_BKDR63);
    }
    assert_false(tamis_scheme_is_uniform((tamis_scheme)SCHEMES));
    assert_false(tamis_scheme_is_uniform((tamis_scheme)-1));
    assert_int_equal(tamis_scheme_digest_bits((tamis_scheme)SCHEMES), 0);
    assert_int_equal(tamis_scheme_digest_bits((tamis_scheme)-1), 0);
    assert_null(tamis_scheme_name((tamis_scheme)SCHEMES));
    assert_null(tamis_scheme_name((tamis_scheme)-1));
}

static void unknown_names_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {"", "xxh", "xxh33", "XXH3", " sip", "siphash", "guava"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tamis_scheme scheme = (tamis_scheme)99;
        tamis_error err = TAMIS_ERROR_INIT;
        assert_int_equal(tamis_scheme_parse(&scheme, names[i], &err), TAMIS_E_INVALID);
        assert_int_equal(scheme, 99);
        for (int known = 0; known < SCHEMES; known++)
            assert_non_null(strstr(err.text, tamis_scheme_name((tamis_scheme)known)));
    }
    char endless[1000];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    tamis_scheme scheme;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_scheme_parse(&scheme, endless, &err), TAMIS_E_INVALID);
    assert_non_null(strstr(err.text, "redisson")); /* the remedy is not cut off */
}

/* Reference values: XXH3 from Python's xxhash, SipHash from OpenSSL, BLAKE2b from Python's hashlib,
 * MurmurHash64A from libstdc++, FNV-1 from Go, HighwayHash from a second implementation in Python that
 * gives the values published by its authors. */
static void digests_of_other_implementations(void **state) {
    (void)state;
    static uint8_t key[8192], secret_bytes[8192];
    int vectors = 0;
    for (golden g = golden_open("hash_vectors.tsv"); golden_next(&g); vectors++) {
        tamis_scheme scheme;
        assert_int_equal(g.fields, 7);
        assert_int_equal(tamis_scheme_parse(&scheme, g.field[0], NULL), TAMIS_OK);
        size_t secret_size = golden_bytes(g.field[2], secret_bytes), size = golden_bytes(g.field[3], key);
        tamis_hasher *hasher = hasher_of(scheme, strtoull(g.field[1], NULL, 10), secret_bytes, secret_size);
        tamis_key view = {key, size};
        tamis_hash hash;
        tamis_hash_many(hasher, &view, 1, &hash, NULL);
        for (int i = 0; i < 2; i++)
            assert_true(hash.word[i] == strtoull(g.field[4 + i], NULL, 16));
        assert_true(hash.hasher_id == strtoull(g.field[6], NULL, 16));
        tamis_hasher_free(hasher);
    }
    assert_true(vectors > 500);
}

static void guava64_is_murmur3(void **state) {
    (void)state;
    static uint8_t key[100000];
    tamis_hasher *hasher = hasher_of(TAMIS_SCHEME_GUAVA64, 0, NULL, 0);
    for (golden g = golden_open("guava-31.1.tsv"); golden_next(&g);) {
        if (strcmp(g.field[0], "filter") == 0)
            continue;
        tamis_key view = {key, golden_key(g.field[0], g.field[1], key)};
        tamis_hash hash;
        uint64_t digest[2];
        tamis_hash_many(hasher, &view, 1, &hash, NULL);
        tamis__murmur3_x64_128(view.data, view.size, 0, digest);
        assert_memory_equal(hash.word, digest, sizeof digest);
    }
    tamis_hasher_free(hasher);
}

static void many_are_hashed_like_one(void **state) {
    (void)state;
    enum { COUNT = 200 };
    static uint8_t bytes[COUNT];
    tamis_key keys[COUNT];
    tamis_hash many[COUNT], single;
    for (int i = 0; i < COUNT; i++) {
        bytes[i] = (uint8_t)(i * 37);
        keys[i] = (tamis_key){i ? bytes : NULL, (size_t)i};
    }
    for (int scheme = TAMIS_SCHEME_XXH3; scheme < SCHEMES; scheme++) {
        if (!tamis_scheme_digest_bits((tamis_scheme)scheme))
            continue;
        bool keyed = scheme == TAMIS_SCHEME_SIP;
        tamis_hasher *hasher = hasher_of((tamis_scheme)scheme, 0, secret, keyed ? sizeof secret : 0);
        assert_int_equal(tamis_hasher_scheme(hasher), scheme);
        tamis_hash_many(hasher, keys, COUNT, many, NULL);
        for (int i = 0; i < COUNT; i++) {
            tamis_hash_many(hasher, &keys[i], 1, &single, NULL);
            assert_memory_equal(&many[i], &single, sizeof single);
            assert_true(i == 0 || memcmp(many[i].word, many[i - 1].word, sizeof single.word) != 0);
        }
        tamis_hash_many(hasher, NULL, 0, NULL, NULL);
        tamis_hasher_free(hasher);
    }
}

static void auto_depends_on_the_secret(void **state) {
    (void)state;
    tamis_hasher *open = hasher_of(TAMIS_SCHEME_AUTO, 5, NULL, 0);
    tamis_hasher *keyed = hasher_of(TAMIS_SCHEME_AUTO, 0, secret, sizeof secret);
    assert_int_equal(tamis_hasher_scheme(open), TAMIS_SCHEME_XXH3);
    assert_int_equal(tamis_hasher_scheme(keyed), TAMIS_SCHEME_SIP);
    assert_int_equal(tamis_hasher_seed(open), 5);
    assert_int_equal(tamis_hasher_seed(keyed), 0);
    tamis_hasher_free(open);
    tamis_hasher_free(keyed);
}

static uint64_t hasher_id_of(tamis_scheme scheme, uint64_t seed, const void *bytes, size_t size) {
    tamis_hasher *hasher = hasher_of(scheme, seed, bytes, size);
    tamis_key key = {"", 0};
    tamis_hash hash;
    tamis_hash_many(hasher, &key, 1, &hash, NULL);
    tamis_hasher_free(hasher);
    return hash.hasher_id;
}

static void hasher_ids_differ_between_hashers(void **state) {
    (void)state;
    uint64_t ids[] = {
        hasher_id_of(TAMIS_SCHEME_XXH3, 0, NULL, 0),          hasher_id_of(TAMIS_SCHEME_XXH3, 1, NULL, 0),
        hasher_id_of(TAMIS_SCHEME_XXH3, UINT64_MAX, NULL, 0), hasher_id_of(TAMIS_SCHEME_GUAVA64, 0, NULL, 0),
        hasher_id_of(TAMIS_SCHEME_SIP, 0, secret, 16),        hasher_id_of(TAMIS_SCHEME_SIP, 0, secret, 17),
        hasher_id_of(TAMIS_SCHEME_SIP, 0, secret + 1, 16),
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(ids[i] != ids[j]);
    assert_true(ids[4] == hasher_id_of(TAMIS_SCHEME_AUTO, 0, secret, 16));
}

static void refused(tamis_scheme scheme, uint64_t seed, size_t secret_size, const char *says) {
    static uint8_t bytes[TAMIS_SECRET_MAX + 1];
    tamis_hasher *hasher = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_hasher_create(&hasher,
                                         &(tamis_hasher_options){sizeof(tamis_hasher_options), scheme, seed,
                                                                 bytes, secret_size, NULL},
                                         &err),
                     TAMIS_E_INVALID);
    assert_null(hasher);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_not_equal(err.text[strlen(err.text) - 1], '.');
}

static void contradictions_are_refused(void **state) {
    (void)state;
    refused(TAMIS_SCHEME_SIP, 0, 0, "0 bytes");
    refused(TAMIS_SCHEME_SIP, 0, TAMIS_SECRET_MIN - 1, "15 bytes");
    refused(TAMIS_SCHEME_SIP, 0, TAMIS_SECRET_MAX + 1, "16 to 4096");
    refused(TAMIS_SCHEME_AUTO, 0, 1, "1 bytes");
    refused(TAMIS_SCHEME_SIP, 1, TAMIS_SECRET_MIN, "takes no seed");
    refused(TAMIS_SCHEME_AUTO, 1, TAMIS_SECRET_MIN, "takes no seed");
    refused(TAMIS_SCHEME_GUAVA64, 7, 0, "seed 7");
    refused(TAMIS_SCHEME_GUAVA64, 0, TAMIS_SECRET_MIN, "secret");
    refused(TAMIS_SCHEME_XXH3, 0, TAMIS_SECRET_MIN, "secret");
    for (int scheme = TAMIS_SCHEME_GUAVA64; scheme < SCHEMES; scheme++) {
        refused((tamis_scheme)scheme, 1, 0, "takes no seed");
        refused((tamis_scheme)scheme, 0, TAMIS_SECRET_MIN, "secret");
    }
    refused((tamis_scheme)SCHEMES, 0, 0, "scheme 10");
    refused((tamis_scheme)-1, 0, 0, "scheme -1");
    tamis_hasher_free(hasher_of(TAMIS_SCHEME_SIP, 0, secret, TAMIS_SECRET_MIN));
    static const uint8_t longest[TAMIS_SECRET_MAX];
    tamis_hasher_free(hasher_of(TAMIS_SCHEME_SIP, 0, longest, TAMIS_SECRET_MAX));
}

static void arguments_of_queries_are_checked(void **state) {
    (void)state;
    tamis_hasher *xxh3 = hasher_of(TAMIS_SCHEME_XXH3, 0, NULL, 0),
                 *bkdr = hasher_of(TAMIS_SCHEME_BKDR31, 0, NULL, 0);
    tamis_key key = {"key", 3};
    tamis_hash hash = {{7, 7}, 7};
    uint64_t positions[TAMIS_PROBES_MAX] = {7};
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_hash_many(bkdr, &key, 1, &hash, &err), TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "bkdr31"));
    assert_int_equal(tamis_hash_series(xxh3, &key, 1, 5, positions, &err), TAMIS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "xxh3"));
    static const struct {
        uint64_t bits;
        uint32_t probes;
        tamis_status status;
    } rows[] = {{0, 1, TAMIS_E_RANGE},  {TAMIS_BITS_MAX + 1, 1, TAMIS_E_RANGE},
                {64, 0, TAMIS_E_RANGE}, {64, TAMIS_PROBES_MAX + 1, TAMIS_E_RANGE},
                {1, 1, TAMIS_OK},       {TAMIS_BITS_MAX, TAMIS_PROBES_MAX, TAMIS_OK}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        positions[0] = 7;
        assert_int_equal(
            tamis_hash_positions(xxh3, &key, 1,
                                 &(tamis_bloom_shape){.bits = rows[i].bits, .probes = rows[i].probes},
                                 positions, &err),
            rows[i].status);
        assert_true(rows[i].status == TAMIS_OK || positions[0] == 7);
        positions[0] = 7;
        assert_int_equal(
            tamis_hash_positions(bkdr, &key, 1,
                                 &(tamis_bloom_shape){.bits = rows[i].bits, .probes = rows[i].probes},
                                 positions, NULL),
            rows[i].status);
        assert_true(rows[i].status == TAMIS_OK || positions[0] == 7);
    }
    assert_int_equal(tamis_hash_series(bkdr, &key, 1, 0, positions, &err), TAMIS_E_RANGE);
    assert_int_equal(tamis_hash_series(bkdr, &key, 1, TAMIS_PROBES_MAX + 1, positions, &err), TAMIS_E_RANGE);
    assert_true(hash.word[0] == 7 && hash.word[1] == 7 && hash.hasher_id == 7);
    tamis_hasher_free(xxh3);
    tamis_hasher_free(bkdr);
}

/* Reference values: RedisBloom's two hashes from its BF.DEBUG; FNV-1 as published by its authors (FNV-1a
 * would give dcb27518fed9d577 for "foo"); Redisson's from Redisson in a JVM. */
static void digests_of_redisbloom_dcso_and_redisson(void **state) {
    (void)state;
    tamis_hasher *redis = hasher_of(TAMIS_SCHEME_REDISBLOOM, 0, NULL, 0),
                 *dcso = hasher_of(TAMIS_SCHEME_FNV_DCSO, 0, NULL, 0),
                 *redisson = hasher_of(TAMIS_SCHEME_REDISSON, 0, NULL, 0);
    tamis_key keys[] = {{"foo", 3}, {"", 0}, {"0123456789abcdef0123456789abcdef", 32}};
    tamis_hash hash[3];
    assert_int_equal(tamis_hash_many(redis, keys, 2, hash, NULL), TAMIS_OK);
    assert_true(hash[0].word[0] == UINT64_C(0x822b4f99b121f10d) &&
                hash[0].word[1] == UINT64_C(0x9d63d52a557f61c2));
    assert_int_equal(tamis_hash_many(dcso, keys, 2, hash, NULL), TAMIS_OK);
    assert_true(hash[0].word[0] == UINT64_C(0xd8cbc7186ba13533) && hash[0].word[1] == 0);
    assert_true(hash[1].word[0] == UINT64_C(0xcbf29ce484222325));
    assert_int_equal(tamis_hash_many(redisson, keys, 3, hash, NULL), TAMIS_OK);
    static const uint64_t expected[3][2] = {{UINT64_C(0x16e1cc3ffa4e326e), UINT64_C(0x61ce1bbd35811d13)},
                                            {UINT64_C(0xb7aad9c226c6a36b), UINT64_C(0xb2d4e4a63557bca6)},
                                            {UINT64_C(0xd3c86bd01f2269fd), UINT64_C(0xcfa12b16012f2c58)}};
    for (int i = 0; i < 3; i++)
        assert_memory_equal(hash[i].word, expected[i], sizeof expected[i]);
    tamis_hasher_free(redis);
    tamis_hasher_free(dcso);
    tamis_hasher_free(redisson);
}

/* An allocator that keeps the content of a freed block for inspection. */
static uint8_t kept[4096];
static size_t kept_size;

static void *keeping_alloc(void *context, size_t size, size_t align) {
    (void)context;
    (void)align;
    memset(kept, 0, sizeof kept);
    kept_size = size;
    return size <= sizeof kept ? kept : NULL;
}

static void keeping_free(void *context, void *block, size_t size) {
    (void)context;
    assert_ptr_equal(block, kept);
    assert_int_equal(size, kept_size);
}

static void no_key_is_left_in_memory(void **state) {
    (void)state;
    tamis_allocator keeping = {keeping_alloc, keeping_free, NULL};
    tamis_hasher *hasher = NULL;
    assert_int_equal(
        tamis_hasher_create(&hasher,
                            &(tamis_hasher_options){sizeof(tamis_hasher_options), TAMIS_SCHEME_SIP, 0, secret,
                                                    sizeof secret, &keeping},
                            NULL),
        TAMIS_OK);
    size_t used = 0;
    for (size_t i = 0; i < kept_size; i++)
        used += kept[i] != 0;
    assert_true(used > 16);
    tamis_hasher_free(hasher);
    for (size_t i = 0; i < kept_size; i++)
        assert_int_equal(kept[i], 0);
    tamis_hasher_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemes_have_names),
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(digests_of_other_implementations),
        cmocka_unit_test(guava64_is_murmur3),
        cmocka_unit_test(many_are_hashed_like_one),
        cmocka_unit_test(auto_depends_on_the_secret),
        cmocka_unit_test(hasher_ids_differ_between_hashers),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(arguments_of_queries_are_checked),
        cmocka_unit_test(digests_of_redisbloom_dcso_and_redisson),
        cmocka_unit_test(no_key_is_left_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
