/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The vectors come from a model that was written from the description of RedisBloom's filter alone
 * (tests/golden/make_redisbloom_cuckoo.py). tests/interop/redis_module.sh has the commands.
 */
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
#include <tamis/tamis.h>

#include "support/fault.h"
#include "support/moves.h"

enum { HEADER = TAMIS_REDISBLOOM_CUCKOO_HEADER, TEXT = 16 };

static tamis_redisbloom_cuckoo *made(uint64_t capacity, uint32_t bucket_size, uint32_t max_iterations,
                                     uint32_t expansion) {
    tamis_redisbloom_cuckoo_options options = TAMIS_REDISBLOOM_CUCKOO_OPTIONS_INIT;
    options.capacity = capacity;
    options.bucket_size = bucket_size;
    options.max_iterations = max_iterations;
    options.expansion = expansion;
    tamis_redisbloom_cuckoo *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_redisbloom_cuckoo_create(&filter, &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

static tamis_status add(tamis_redisbloom_cuckoo *filter, const char *text) {
    return tamis_redisbloom_cuckoo_add(filter, text, strlen(text), NULL);
}

static bool removed(tamis_redisbloom_cuckoo *filter, const char *text) {
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_int_equal(tamis_redisbloom_cuckoo_remove(filter, text, strlen(text), &answer, NULL), TAMIS_OK);
    return answer == TAMIS_PRESENT;
}

static uint64_t count(const tamis_redisbloom_cuckoo *filter, const char *text) {
    uint64_t copies = 99;
    assert_int_equal(tamis_redisbloom_cuckoo_count(filter, text, strlen(text), &copies, NULL), TAMIS_OK);
    return copies;
}

static tamis_redisbloom_cuckoo_info info_of(const tamis_redisbloom_cuckoo *filter) {
    tamis_redisbloom_cuckoo_info info = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    assert_int_equal(tamis_redisbloom_cuckoo_info_get(filter, &info, NULL), TAMIS_OK);
    return info;
}

static uint64_t fnv_of_slots(const tamis_redisbloom_cuckoo *filter) {
    const void *bytes;
    size_t size;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint64_t next = 1; (next = tamis_redisbloom_cuckoo_chunk(filter, next, &bytes, &size)) != 0;) {
        for (size_t i = 0; i < size; i++)
            hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Loads all chunks of `from` into `to`. */
static void load_chunks(tamis_redisbloom_cuckoo *to, const tamis_redisbloom_cuckoo *from) {
    const void *bytes;
    size_t size;
    for (uint64_t next = 1; (next = tamis_redisbloom_cuckoo_chunk(from, next, &bytes, &size)) != 0;)
        assert_int_equal(tamis_redisbloom_cuckoo_load_chunk(to, next, bytes, size, NULL), TAMIS_OK);
}

static tamis_redisbloom_cuckoo *with_header_of(const tamis_redisbloom_cuckoo *filter) {
    uint8_t header[HEADER];
    tamis_redisbloom_cuckoo *loaded = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    tamis_redisbloom_cuckoo_header_write(filter, header);
    if (tamis_redisbloom_cuckoo_load_header(&loaded, header, HEADER, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return loaded;
}

static void assert_equal_filters(const tamis_redisbloom_cuckoo *a, const tamis_redisbloom_cuckoo *b) {
    uint8_t header_a[HEADER], header_b[HEADER];
    tamis_redisbloom_cuckoo_header_write(a, header_a);
    tamis_redisbloom_cuckoo_header_write(b, header_b);
    assert_memory_equal(header_a, header_b, HEADER);
    assert_int_equal(info_of(a).loaded, info_of(b).loaded);
    assert_int_equal(fnv_of_slots(a), fnv_of_slots(b));
}

/* ---- slots of RedisBloom ---- */

typedef struct expected_state {
    uint64_t keys, removed, tables, slots; /* `slots`: FNV-1a of all slots */
} expected_state;

static const struct {
    uint64_t capacity;
    uint32_t bucket_size, max_iterations, expansion, number;
    expected_state added, left, compacted;
} vectors[] = {
    {1024,
     2,
     20,
     1,
     600,
     {598, 0, 1, UINT64_C(0x2fb10ec7b907ce01)},
     {398, 200, 1, UINT64_C(0xf18d40ec16912e1e)},
     {398, 0, 1, UINT64_C(0xf18d40ec16912e1e)}},
    {1024,
     2,
     20,
     1,
     5000,
     {4954, 0, 6, UINT64_C(0x5d57811828fd5f7b)},
     {3293, 88, 5, UINT64_C(0x981c8c51ac3c8885)},
     {3293, 0, 5, UINT64_C(0x104782fc239617a5)}},
    {8,
     2,
     20,
     1,
     100,
     {98, 0, 13, UINT64_C(0x0ab27e44c36bbc2b)},
     {64, 1, 9, UINT64_C(0x2c95a16d49e3d2c0)},
     {64, 0, 9, UINT64_C(0x00f08607bb64c7e8)}},
    {100,
     3,
     7,
     2,
     3000,
     {2964, 0, 5, UINT64_C(0x51d1739700fb58d2)},
     {1964, 59, 4, UINT64_C(0x874f3456b7c08dec)},
     {1964, 0, 4, UINT64_C(0x1133849ef327f622)}},
    {64,
     4,
     500,
     0,
     90,
     {64, 0, 1, UINT64_C(0xbd741eb8c39735ec)},
     {44, 20, 1, UINT64_C(0x62ac1ea9263f743f)},
     {44, 0, 1, UINT64_C(0x62ac1ea9263f743f)}},
    {16,
     1,
     1,
     3,
     2000,
     {1992, 0, 5, UINT64_C(0x96109e2fd58bcbf7)},
     {1325, 34, 5, UINT64_C(0x112d2021f819372a)},
     {1325, 0, 5, UINT64_C(0x3a3f1c16363a4fe0)}},
    {2,
     1,
     20,
     2,
     300,
     {300, 0, 8, UINT64_C(0x95153f2c63e81256)},
     {200, 3, 8, UINT64_C(0x389d72288b9a0680)},
     {200, 0, 8, UINT64_C(0xbdb2e0cc611521ae)}},
    {1000,
     255,
     3,
     16,
     900,
     {804, 0, 1, UINT64_C(0xe8a01d16697bcc72)},
     {504, 300, 1, UINT64_C(0x7160405b9a04de73)},
     {504, 0, 1, UINT64_C(0x7160405b9a04de73)}},
    {50,
     5,
     50,
     4,
     4000,
     {3925, 0, 4, UINT64_C(0x763b094a49362a0d)},
     {2597, 82, 4, UINT64_C(0xddf22c2f932a646e)},
     {2597, 0, 4, UINT64_C(0x41f56edc677d37ea)}},
};

static void assert_state(const tamis_redisbloom_cuckoo *filter, const expected_state *expected) {
    const tamis_redisbloom_cuckoo_info info = info_of(filter);
    assert_int_equal(info.keys, expected->keys);
    assert_int_equal(info.removed, expected->removed);
    assert_int_equal(info.tables, expected->tables);
    assert_int_equal(fnv_of_slots(filter), expected->slots);
}

/* Adds the numbers, each fifth only if it is absent; removes each third; compacts. */
static void slots_of_redisbloom(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        tamis_redisbloom_cuckoo *filter = made(vectors[i].capacity, vectors[i].bucket_size,
                                               vectors[i].max_iterations, vectors[i].expansion);
        char text[TEXT];
        for (unsigned k = 0; k < vectors[i].number; k++) {
            const size_t size = (size_t)snprintf(text, sizeof text, "%u", k);
            const tamis_status status =
                k % 5 ? add(filter, text)
                      : tamis_redisbloom_cuckoo_add_absent(filter, text, size, NULL, NULL);
            assert_true(status == TAMIS_OK || (status == TAMIS_E_FULL && vectors[i].expansion == 0));
            assert_true(status == TAMIS_E_FULL || count(filter, text) >= 1);
        }
        assert_state(filter, &vectors[i].added);
        for (unsigned k = 0; k < vectors[i].number; k += 3) {
            snprintf(text, sizeof text, "%u", k);
            removed(filter, text);
        }
        assert_state(filter, &vectors[i].left);
        assert_int_equal(tamis_redisbloom_cuckoo_compact(filter, NULL), TAMIS_OK);
        assert_state(filter, &vectors[i].compacted);
        tamis_redisbloom_cuckoo_free(filter);
    }
}

static void copies_of_a_key(void **state) {
    (void)state;
    tamis_redisbloom_cuckoo *filter = NULL;
    assert_int_equal(tamis_redisbloom_cuckoo_create(&filter, NULL, NULL), TAMIS_OK);
    assert_int_equal(info_of(filter).size, 56 + 16 + 1024);
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_int_equal(tamis_redisbloom_cuckoo_add_absent(filter, "a", 1, &answer, NULL), TAMIS_OK);
    assert_int_equal(answer, TAMIS_ABSENT);
    assert_int_equal(tamis_redisbloom_cuckoo_add_absent(filter, "a", 1, &answer, NULL), TAMIS_OK);
    assert_int_equal(answer, TAMIS_PRESENT);
    for (unsigned i = 2; i <= 9; i++) {
        assert_int_equal(add(filter, "a"), TAMIS_OK);
        assert_int_equal(count(filter, "a"), i);
    }
    assert_int_equal(info_of(filter).tables, 3); /* four copies fit a table */
    const tamis_key keys[] = {{"a", 1}, {"b", 1}};
    tamis_answer answers[2];
    assert_int_equal(tamis_redisbloom_cuckoo_contains_many(filter, keys, 2, answers, NULL), TAMIS_OK);
    assert_int_equal(answers[0], TAMIS_PRESENT);
    assert_int_equal(answers[1], TAMIS_ABSENT);
    for (unsigned i = 9; i > 0; i--) {
        assert_int_equal(count(filter, "a"), i);
        assert_true(removed(filter, "a"));
    }
    assert_false(removed(filter, "a"));
    assert_int_equal(count(filter, ""), 0);
    assert_int_equal(info_of(filter).tables, 1); /* compacted on the way */
    assert_int_equal(info_of(filter).keys, 0);
    tamis_redisbloom_cuckoo_free(filter);
}

/* Batches leave the slots, and give the answers, of single adds; a key without a slot ends a batch. */
static void batches_equal_single_adds(void **state) {
    (void)state;
    enum { KEYS = 1000, DISTINCT = 700 };
    static char texts[KEYS][TEXT];
    tamis_key keys[KEYS];
    for (unsigned i = 0; i < KEYS; i++)
        keys[i] = (tamis_key){texts[i], (size_t)snprintf(texts[i], TEXT, "%u", i * 7919 % DISTINCT)};
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        for (int absent = 0; absent < 2; absent++) {
            tamis_redisbloom_cuckoo *single = made(vectors[v].capacity, vectors[v].bucket_size,
                                                   vectors[v].max_iterations, vectors[v].expansion);
            tamis_redisbloom_cuckoo *batch = NULL;
            assert_int_equal(tamis_redisbloom_cuckoo_copy(&batch, single, NULL), TAMIS_OK);
            tamis_answer answers[KEYS], answer = TAMIS_UNKNOWN;
            for (size_t i = 0; i < KEYS;) {
                size_t done = 0;
                const tamis_status ended =
                    absent ? tamis_redisbloom_cuckoo_add_absent_many(batch, keys + i, KEYS - i, answers + i,
                                                                     &done, NULL)
                           : tamis_redisbloom_cuckoo_add_many(batch, keys + i, KEYS - i, &done, NULL);
                for (size_t j = i; j < i + done + (ended != TAMIS_OK); j++) {
                    const tamis_status status =
                        absent ? tamis_redisbloom_cuckoo_add_absent(single, keys[j].data, keys[j].size,
                                                                    &answer, NULL)
                               : tamis_redisbloom_cuckoo_add(single, keys[j].data, keys[j].size, NULL);
                    assert_int_equal(status, j < i + done ? TAMIS_OK : ended);
                    if (absent && j < i + done)
                        assert_int_equal(answers[j], answer);
                }
                assert_true(ended == TAMIS_OK ? i + done == KEYS : ended == TAMIS_E_FULL);
                i += done + (ended != TAMIS_OK);
            }
            assert_int_equal(info_of(batch).keys, info_of(single).keys);
            assert_int_equal(info_of(batch).tables, info_of(single).tables);
            assert_int_equal(fnv_of_slots(batch), fnv_of_slots(single));
            tamis_redisbloom_cuckoo_free(single);
            tamis_redisbloom_cuckoo_free(batch);
        }
    }
}

/* A key that finds no slot changes nothing. */
static void full_is_rolled_back(void **state) {
    (void)state;
    tamis_redisbloom_cuckoo *filter = made(32, 4, 500, 0);
    char text[TEXT];
    unsigned refused = 0;
    for (unsigned i = 0; i < 100; i++) {
        const uint64_t slots = fnv_of_slots(filter);
        snprintf(text, sizeof text, "%u", i);
        const tamis_status status = add(filter, text);
        if (status == TAMIS_OK)
            continue;
        assert_int_equal(status, TAMIS_E_FULL);
        assert_int_equal(fnv_of_slots(filter), slots);
        refused++;
    }
    assert_true(refused >= 68);
    assert_int_equal(info_of(filter).keys, 100 - refused);
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_redisbloom_cuckoo_add(filter, "0", 1, &err), TAMIS_E_FULL);
    assert_non_null(strstr(err.text, "full with"));
    tamis_redisbloom_cuckoo_free(filter);
}

static void refused_options(void **state) {
    (void)state;
    static const struct {
        uint64_t capacity;
        uint32_t bucket_size, max_iterations, expansion;
    } cases[] = {{100, 0, 20, 1},
                 {100, 256, 20, 1},
                 {100, 2, 0, 1},
                 {100, 2, 65536, 1},
                 {100, 2, 20, 32769},
                 {UINT64_MAX, 2, 20, 1},
                 {UINT64_C(1) << 32, 2, 20, 1},
                 {3000000000, 1, 20, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_redisbloom_cuckoo_options options = TAMIS_REDISBLOOM_CUCKOO_OPTIONS_INIT;
        options.capacity = cases[i].capacity;
        options.bucket_size = cases[i].bucket_size;
        options.max_iterations = cases[i].max_iterations;
        options.expansion = cases[i].expansion;
        tamis_redisbloom_cuckoo *filter = NULL;
        assert_int_equal(tamis_redisbloom_cuckoo_create(&filter, &options, NULL), TAMIS_E_RANGE);
        assert_null(filter);
    }
}

/* RedisBloom aborts at a capacity below a bucket: CVE-2024-25116. */
static void reg_cve_2024_25116_capacity_below_a_bucket(void **state) {
    (void)state;
    tamis_redisbloom_cuckoo *filter = made(0, 255, 20, 1);
    assert_int_equal(info_of(filter).buckets, 1);
    assert_int_equal(add(filter, "a"), TAMIS_OK);
    assert_int_equal(count(filter, "a"), 1); /* both buckets are the same one */
    tamis_redisbloom_cuckoo_free(filter);
}

/* Makes a filter, lets it grow, copies it and loads a dump of it. The first failure ends the work. */
static tamis_status work(const tamis_allocator *allocator) {
    tamis_redisbloom_cuckoo_options options = TAMIS_REDISBLOOM_CUCKOO_OPTIONS_INIT;
    options.capacity = 4;
    options.allocator = allocator;
    tamis_redisbloom_cuckoo *filter = NULL, *copy = NULL, *dump = NULL;
    tamis_status status = tamis_redisbloom_cuckoo_create(&filter, &options, NULL);
    for (unsigned i = 0; status == TAMIS_OK && i < 60; i++) {
        char text[TEXT];
        snprintf(text, sizeof text, "%u", i);
        const uint64_t slots = fnv_of_slots(filter);
        status = add(filter, text);
        assert_int_equal(info_of(filter).keys, i + (status == TAMIS_OK));
        if (status != TAMIS_OK)
            assert_int_equal(fnv_of_slots(filter), slots);
    }
    if (status == TAMIS_OK)
        status = tamis_redisbloom_cuckoo_copy(&copy, filter, NULL);
    if (status == TAMIS_OK) {
        uint8_t header[HEADER];
        tamis_redisbloom_cuckoo_header_write(filter, header);
        status = tamis_redisbloom_cuckoo_load_header(&dump, header, HEADER, allocator, NULL);
    }
    const void *bytes;
    size_t size;
    for (uint64_t next = 1;
         status == TAMIS_OK && (next = tamis_redisbloom_cuckoo_chunk(filter, next, &bytes, &size)) != 0;)
        status = tamis_redisbloom_cuckoo_load_chunk(dump, next, bytes, size, NULL);
    tamis_redisbloom_cuckoo_free(filter);
    tamis_redisbloom_cuckoo_free(copy);
    tamis_redisbloom_cuckoo_free(dump);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (uint64_t n = 1;; n++) {
        fault_memory memory = {.fail_at = n};
        const tamis_allocator allocator = fault_memory_allocator(&memory);
        const tamis_status status = work(&allocator);
        assert_int_equal(memory.live_blocks, 0);
        if (!memory.refused) {
            assert_int_equal(status, TAMIS_OK);
            break;
        }
        assert_int_equal(status, TAMIS_E_NOMEM);
    }
}

/* ---- dumps ---- */

static void add_numbers(tamis_redisbloom_cuckoo *filter, unsigned number) {
    char text[TEXT];
    for (unsigned i = 0; i < number; i++) {
        snprintf(text, sizeof text, "%u", i);
        assert_int_equal(add(filter, text), TAMIS_OK);
    }
}

static tamis_redisbloom_cuckoo *with_numbers(unsigned number) {
    tamis_redisbloom_cuckoo *filter = made(64, 2, 20, 2);
    add_numbers(filter, number);
    return filter;
}

static void header_bytes(void **state) {
    (void)state;
    static const uint8_t expected[HEADER] = {
        [0] = 2, [8] = 0, [9] = 2, [16] = 1, [24] = 1, [32] = 2, [34] = 20, [36] = 1};
    tamis_redisbloom_cuckoo *filter = NULL;
    assert_int_equal(tamis_redisbloom_cuckoo_create(&filter, NULL, NULL), TAMIS_OK);
    assert_int_equal(add(filter, "a"), TAMIS_OK);
    assert_int_equal(add(filter, "b"), TAMIS_OK);
    assert_int_equal(add(filter, "c"), TAMIS_OK);
    assert_true(removed(filter, "b"));
    uint8_t header[HEADER];
    tamis_redisbloom_cuckoo_header_write(filter, header);
    assert_memory_equal(header, expected, HEADER);
    tamis_redisbloom_cuckoo_free(filter);
}

static void round_trip_by_chunks(void **state) {
    (void)state;
    tamis_redisbloom_cuckoo *filter = with_numbers(1000);
    assert_true(info_of(filter).tables > 3);
    tamis_redisbloom_cuckoo *copy = with_header_of(filter);
    load_chunks(copy, filter);
    assert_equal_filters(copy, filter);
    assert_true(info_of(copy).complete);
    load_chunks(copy, filter); /* once more: accepted, since nothing differs */
    assert_int_equal(add(copy, "another"), add(filter, "another"));
    assert_equal_filters(copy, filter);
    tamis_redisbloom_cuckoo_free(copy);
    assert_int_equal(tamis_redisbloom_cuckoo_copy(&copy, filter, NULL), TAMIS_OK);
    assert_equal_filters(copy, filter);
    tamis_redisbloom_cuckoo_free(copy);
    tamis_redisbloom_cuckoo_free(filter);
}

/* Tables of equal size are found by division: positions in each of them, and behind the last. */
static void chunks_of_equal_tables(void **state) {
    (void)state;
    tamis_redisbloom_cuckoo *filter = made(4, 2, 20, 1);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(add(filter, "a"), TAMIS_OK);
    assert_int_equal(info_of(filter).tables, 5); /* both buckets of "a" are the same one */
    const void *bytes;
    size_t size;
    for (uint64_t position = 1; position <= 20; position++) {
        assert_int_equal(tamis_redisbloom_cuckoo_chunk(filter, position, &bytes, &size),
                         (position - 1) / 4 * 4 + 5);
        assert_int_equal(size, 4 - (position - 1) % 4);
    }
    assert_int_equal(tamis_redisbloom_cuckoo_chunk(filter, 21, &bytes, &size), 0);
    assert_int_equal(tamis_redisbloom_cuckoo_chunk(filter, UINT64_MAX, &bytes, &size), 0);
    tamis_redisbloom_cuckoo_free(filter);
}

/* Chunks of any size inside a table, and what is refused between them (CVE-2024-25115: a chunk that is
 * written outside of its table). */
static void reg_cve_2024_25115_chunk_outside_of_its_table(void **state) {
    (void)state;
    tamis_redisbloom_cuckoo *filter = with_numbers(100);
    tamis_redisbloom_cuckoo *half = with_header_of(filter);
    const void *bytes;
    size_t size;
    assert_int_equal(tamis_redisbloom_cuckoo_chunk(filter, 1, &bytes, &size), 65);
    const uint8_t *slots = bytes;
    const tamis_key key = {"0", 1};
    tamis_answer answer = 9;
    uint64_t copies;
    for (uint64_t i = 0; i < 8; i++) {
        assert_int_equal(info_of(half).loaded, i);
        assert_false(info_of(half).complete);
        assert_int_equal(tamis_redisbloom_cuckoo_contains_many(half, &key, 1, &answer, NULL),
                         TAMIS_E_DAMAGED);
        assert_int_equal(add(half, "0"), TAMIS_E_DAMAGED);
        assert_int_equal(tamis_redisbloom_cuckoo_add_absent(half, "0", 1, &answer, NULL), TAMIS_E_DAMAGED);
        assert_int_equal(tamis_redisbloom_cuckoo_add_many(half, &(tamis_key){"0", 1}, 1, NULL, NULL),
                         TAMIS_E_DAMAGED);
        assert_int_equal(tamis_redisbloom_cuckoo_remove(half, "0", 1, &answer, NULL), TAMIS_E_DAMAGED);
        assert_int_equal(tamis_redisbloom_cuckoo_count(half, "0", 1, &copies, NULL), TAMIS_E_DAMAGED);
        assert_int_equal(tamis_redisbloom_cuckoo_compact(half, NULL), TAMIS_E_DAMAGED);
        assert_int_equal(answer, 9);
        assert_int_equal(tamis_redisbloom_cuckoo_load_chunk(half, 3 + i, slots + i + 1, 1, NULL),
                         TAMIS_E_DAMAGED);
        assert_int_equal(tamis_redisbloom_cuckoo_load_chunk(half, 2 + i, slots + i, 1, NULL), TAMIS_OK);
    }
    const uint8_t other[100] = {1, 2, 3};
    static const struct {
        uint64_t position;
        size_t size;
        tamis_status status;
    } cases[] = {{0, 0, TAMIS_E_RANGE},          {1, 0, TAMIS_E_RANGE},
                 {5, 0, TAMIS_E_RANGE},          {1, 1, TAMIS_E_RANGE},
                 {UINT64_MAX, 1, TAMIS_E_RANGE}, {(uint64_t)INT64_MAX, 8, TAMIS_E_RANGE},
                 {66, 65, TAMIS_E_TOO_LONG},     {67, 3, TAMIS_E_TOO_LONG},
                 {9, 8, TAMIS_E_DAMAGED},        {50, 10, TAMIS_E_DAMAGED}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(
            tamis_redisbloom_cuckoo_load_chunk(half, cases[i].position, other, cases[i].size, NULL),
            cases[i].status);
    assert_int_equal(info_of(half).loaded, 8);
    tamis_redisbloom_cuckoo *copy = NULL;
    assert_int_equal(tamis_redisbloom_cuckoo_copy(&copy, half, NULL), TAMIS_OK);
    assert_equal_filters(copy, half);
    load_chunks(copy, filter);
    assert_equal_filters(copy, filter);
    tamis_redisbloom_cuckoo_free(copy);
    tamis_redisbloom_cuckoo_free(half);
    tamis_redisbloom_cuckoo_free(filter);
}

/* ---- headers that crash or harm other loaders ---- */

enum { KEYS = 0, BUCKETS = 8, REMOVED = 16, TABLES = 24, SLOTS = 32, ITERATIONS = 34, EXPANSION = 36 };

static tamis_status header_with(size_t offset, uint64_t value, size_t width) {
    uint8_t header[HEADER] = {
        [KEYS] = 2, [BUCKETS + 1] = 2, [TABLES] = 1, [SLOTS] = 2, [ITERATIONS] = 20, [EXPANSION] = 1};
    for (size_t i = 0; i < width; i++)
        header[offset + i] = (uint8_t)(value >> 8 * i);
    tamis_redisbloom_cuckoo *filter = NULL;
    const tamis_status status = tamis_redisbloom_cuckoo_load_header(&filter, header, HEADER, NULL, NULL);
    assert_int_equal(filter != NULL, status == TAMIS_OK);
    tamis_redisbloom_cuckoo_free(filter);
    return status;
}

static void reg_redisbloom_cuckoo_division_by_zero(void **state) {
    (void)state;
    assert_int_equal(header_with(BUCKETS, 0, 8), TAMIS_E_DAMAGED);
    assert_int_equal(header_with(SLOTS, 0, 2), TAMIS_E_DAMAGED);
}

static void reg_redisbloom_cuckoo_no_table(void **state) {
    (void)state;
    assert_int_equal(header_with(TABLES, 0, 8), TAMIS_E_DAMAGED);
}

static void reg_redisbloom_cuckoo_2_64_tables(void **state) {
    (void)state;
    assert_int_equal(header_with(TABLES, UINT64_MAX, 8), TAMIS_E_DAMAGED);
    assert_int_equal(header_with(TABLES, 65537, 8), TAMIS_E_DAMAGED);
    assert_int_equal(header_with(TABLES, 65536, 8), TAMIS_OK);
}

static void other_damaged_headers(void **state) {
    (void)state;
    assert_int_equal(header_with(KEYS, 2, 8), TAMIS_OK);
    assert_int_equal(header_with(KEYS, 1024, 8), TAMIS_OK);
    assert_int_equal(header_with(KEYS, 1025, 8), TAMIS_E_DAMAGED);
    assert_int_equal(header_with(BUCKETS, 513, 8), TAMIS_E_DAMAGED);
    assert_int_equal(header_with(BUCKETS, UINT64_C(1) << 63, 8), TAMIS_E_UNSUPPORTED);
    assert_int_equal(header_with(BUCKETS, UINT64_C(1) << 31, 8), TAMIS_E_UNSUPPORTED);
    assert_int_equal(header_with(BUCKETS, UINT64_C(1) << 30, 8), TAMIS_OK); /* nothing is allocated */
    assert_int_equal(header_with(SLOTS, 256, 2), TAMIS_E_DAMAGED);
    assert_int_equal(header_with(ITERATIONS, 0, 2), TAMIS_E_DAMAGED);
    assert_int_equal(header_with(EXPANSION, 3, 2), TAMIS_E_DAMAGED);
    assert_int_equal(header_with(EXPANSION, 65535, 2), TAMIS_E_DAMAGED);
    assert_int_equal(header_with(EXPANSION, 0, 2), TAMIS_OK);
    assert_int_equal(header_with(REMOVED, UINT64_MAX, 8), TAMIS_E_DAMAGED);
    uint8_t bytes[HEADER + 1] = {0};
    tamis_redisbloom_cuckoo *filter = NULL;
    for (size_t size = 0; size <= sizeof bytes; size++)
        assert_int_equal(tamis_redisbloom_cuckoo_load_header(&filter, bytes, size, NULL, NULL),
                         TAMIS_E_DAMAGED);
    assert_null(filter);
}

/* ---- fields of an RDB file ---- */

/* Fields: numbers, and one table. Field `fail_from`, from 1, is missing. */
typedef struct field_list {
    uint64_t numbers[8]; /* of the header, then buckets */
    uint8_t slots[64];
    size_t size, next, fail_from;
} field_list;

static bool load_number(void *context, uint64_t *value) {
    field_list *fields = context;
    if (fields->next + 1 == fields->fail_from || fields->next >= 8)
        return false;
    *value = fields->numbers[fields->next++];
    return true;
}

static void *load_bytes(void *context, size_t *size) {
    field_list *fields = context;
    if (fields->next + 1 == fields->fail_from)
        return NULL;
    fields->next++;
    void *block = calloc(1, fields->size + 1);
    assert_non_null(block);
    memcpy(block, fields->slots, fields->size);
    *size = fields->size;
    return block;
}

static void save_number(void *context, uint64_t value) {
    field_list *fields = context;
    assert_true(fields->next < 8);
    fields->numbers[fields->next++] = value;
}

static void save_bytes(void *context, const void *bytes, size_t size) {
    field_list *fields = context;
    assert_true(size <= sizeof fields->slots);
    memcpy(fields->slots, bytes, size);
    fields->size = size;
}

static void *plain_alloc(void *context, size_t size, size_t align) {
    (void)context;
    assert_true(align <= 16);
    return calloc(1, size);
}

static void plain_free(void *context, void *block, size_t size) {
    (void)context;
    (void)size;
    free(block);
}

static const tamis_allocator plain = {plain_alloc, plain_free, NULL};

static tamis_status read_fields(tamis_redisbloom_cuckoo **filter, uint32_t version, field_list fields) {
    tamis_redisbloom_source source = TAMIS_REDISBLOOM_SOURCE_INIT;
    source.context = &fields;
    source.number = load_number;
    source.bytes = load_bytes;
    *filter = NULL;
    return tamis_redisbloom_cuckoo_rdb_read(filter, version, &source, &plain, NULL);
}

static tamis_status write_fields(const tamis_redisbloom_cuckoo *filter, field_list *fields) {
    tamis_redisbloom_sink sink = TAMIS_REDISBLOOM_SINK_INIT;
    sink.context = fields;
    sink.number = save_number;
    sink.bytes = save_bytes;
    return tamis_redisbloom_cuckoo_rdb_write(filter, &sink, NULL);
}

static void fields_of_a_filter(void **state) {
    (void)state;
    tamis_redisbloom_cuckoo *filter = made(64, 2, 20, 4), *copy;
    assert_int_equal(add(filter, "a"), TAMIS_OK);
    assert_int_equal(add(filter, "b"), TAMIS_OK);
    assert_true(removed(filter, "b"));
    field_list fields = {.next = 0};
    assert_int_equal(write_fields(filter, &fields), TAMIS_OK);
    static const uint64_t expected[8] = {1, 32, 1, 1, 2, 20, 4, 32};
    assert_memory_equal(fields.numbers, expected, sizeof expected);
    fields.next = 0;
    assert_int_equal(read_fields(&copy, 4, fields), TAMIS_OK);
    assert_equal_filters(copy, filter);
    tamis_redisbloom_cuckoo_free(copy);
    assert_int_equal(read_fields(&copy, 3, fields), TAMIS_E_UNSUPPORTED);
    assert_int_equal(read_fields(&copy, 5, fields), TAMIS_E_UNSUPPORTED);
    for (fields.fail_from = 1; fields.fail_from <= 9; fields.fail_from++)
        assert_int_equal(read_fields(&copy, 4, fields), TAMIS_E_DAMAGED);
    /* RESTORE with fewer slots than the buckets need. */
    field_list changed = fields;
    changed.size = 63;
    assert_int_equal(read_fields(&copy, 4, changed), TAMIS_E_DAMAGED);
    for (size_t i = 0; i < 8; i++) {
        changed = fields;
        changed.numbers[i] = UINT64_MAX;
        assert_int_equal(read_fields(&copy, 4, changed), TAMIS_E_DAMAGED);
    }
    changed = fields;
    changed.numbers[7] = 64;
    assert_int_equal(read_fields(&copy, 4, changed), TAMIS_E_DAMAGED);
    assert_null(copy);
    tamis_redisbloom_cuckoo_free(filter);
}

/* Dragonfly: a filter of which only the header was loaded makes a snapshot that cannot be loaded. */
static void reg_dragonfly_8104_only_a_header_is_loaded(void **state) {
    (void)state;
    tamis_redisbloom_cuckoo *filter = made(64, 2, 20, 1);
    tamis_redisbloom_cuckoo *half = with_header_of(filter);
    field_list fields = {.next = 0};
    assert_int_equal(write_fields(half, &fields), TAMIS_E_DAMAGED);
    assert_int_equal(fields.next, 0);
    tamis_redisbloom_cuckoo_free(half);
    tamis_redisbloom_cuckoo_free(filter);
}

/* ---- the handle of all filters ---- */

static tamis_filter *made_by_plan(uint64_t expect) {
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    options.kind = TAMIS_KIND_CUCKOO;
    options.scheme = TAMIS_SCHEME_REDISBLOOM;
    options.expect = expect;
    if (tamis_plan_make(&plan, &options, &err) != TAMIS_OK ||
        tamis_filter_create(&filter, &plan, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    assert_true(plan.fpr == 1 && plan.fpr_predicted > 0 && plan.fpr_predicted < 0.016);
    return filter;
}

static void same_slots(const tamis_redisbloom_cuckoo *a, const tamis_redisbloom_cuckoo *b) {
    uint8_t of_a[HEADER], of_b[HEADER];
    const void *slots_a, *slots_b;
    size_t size_a, size_b;
    tamis_redisbloom_cuckoo_header_write(a, of_a);
    tamis_redisbloom_cuckoo_header_write(b, of_b);
    assert_memory_equal(of_a, of_b, HEADER);
    for (uint64_t position = 1, next;
         (next = tamis_redisbloom_cuckoo_chunk(a, position, &slots_a, &size_a)) != 0; position = next) {
        assert_int_equal(tamis_redisbloom_cuckoo_chunk(b, position, &slots_b, &size_b), next);
        assert_int_equal(size_a, size_b);
        assert_memory_equal(slots_a, slots_b, size_a);
    }
}

/* A filter of kind cuckoo and scheme redisbloom has the slots of RedisBloom, also after growth, removals and
 * compaction, and in the reply of DUMP. */
static void a_plan_of_the_scheme_makes_redisblooms_filter(void **state) {
    (void)state;
    static const uint64_t sizes[] = {0, 1, 2, 3, 2000, 4097};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
        tamis_redisbloom_cuckoo *other = made(sizes[n] ? (sizes[n] < 2 ? 2 : sizes[n]) : 1024, 2, 20, 1);
        tamis_filter *filter = made_by_plan(sizes[n]), *read = NULL;
        tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
        tamis_answer answer = TAMIS_UNKNOWN;
        uint64_t size, copies = 0;
        char key[TEXT];
        for (int i = 0; i < 3000; i++) {
            const size_t length = (size_t)snprintf(key, sizeof key, "key%d", i % 2900);
            assert_int_equal(tamis_filter_add(filter, key, length, &answer, NULL), TAMIS_OK);
            assert_true(i < 2900 || answer == TAMIS_PRESENT);
            add(other, key);
        }
        same_slots(tamis_redisbloom_cuckoo_of(filter), other);
        assert_int_equal(tamis_filter_count_key(filter, "key7", 4, &copies, NULL), TAMIS_OK);
        assert_int_equal(copies, count(other, "key7"));
        for (int i = 0; i < 1000; i++) {
            const size_t length = (size_t)snprintf(key, sizeof key, "key%d", i);
            assert_int_equal(tamis_filter_remove(filter, key, length, &answer, NULL), TAMIS_OK);
            assert_int_equal(answer, removed(other, key) ? TAMIS_PRESENT : TAMIS_ABSENT);
        }
        same_slots(tamis_redisbloom_cuckoo_of(filter), other);
        assert_int_equal(tamis_filter_info_get(filter, &info, NULL), TAMIS_OK);
        assert_int_equal(info.added, info_of(other).keys);
        assert_int_equal(info.memory, info_of(other).bytes);
        assert_true(tamis_filter_can(filter, TAMIS_CAN_REMOVE) && tamis_filter_can(filter, TAMIS_CAN_ADD));
        assert_int_equal(tamis_filter_encoded_size(filter, TAMIS_FORMAT_REDISBLOOM, &size, NULL), TAMIS_OK);
        uint8_t *bytes = malloc((size_t)size);
        assert_int_equal(tamis_filter_encode(filter, TAMIS_FORMAT_REDISBLOOM, bytes, size, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_decode(&read, bytes, size, NULL, NULL), TAMIS_OK);
        same_slots(tamis_redisbloom_cuckoo_of(read), other);
        assert_false(tamis_filter_can(read, TAMIS_CAN_REMOVE) || tamis_filter_can(read, TAMIS_CAN_ADD));
        assert_int_equal(tamis_filter_remove(read, "key2000", 7, NULL, NULL), TAMIS_E_UNSUPPORTED);
        assert_int_equal(tamis_filter_encoded_size(filter, TAMIS_FORMAT_TAMIS, &size, NULL),
                         TAMIS_E_UNSUPPORTED);
        assert_int_equal(tamis_filter_clear(filter, NULL), TAMIS_OK);
        assert_int_equal(tamis_filter_contains(filter, "key2000", 7, &answer, NULL), TAMIS_OK);
        assert_int_equal(answer, TAMIS_ABSENT);
        free(bytes);
        tamis_filter_free(read);
        tamis_filter_free(filter);
        tamis_redisbloom_cuckoo_free(other);
    }
}

/* What RedisBloom's filter does not have is refused, and nothing is done. */
static void a_plan_of_the_scheme_refuses_what_redisbloom_lacks(void **state) {
    (void)state;
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    tamis_filter_options given = TAMIS_FILTER_OPTIONS_INIT;
    tamis_filter *filter = NULL;
    options.kind = TAMIS_KIND_CUCKOO;
    options.scheme = TAMIS_SCHEME_REDISBLOOM;
    options.fpr = 0.001;
    assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_E_RANGE);
    options.fpr = 0;
    options.memory = 1 << 20;
    assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_E_UNSUPPORTED);
    options.memory = 0;
    options.expect = UINT64_C(1) << 33;
    assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_E_RANGE);
    options.expect = 1000;
    assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_OK);
    given.seed = 1;
    assert_int_equal(tamis_filter_create(&filter, &plan, &given, NULL), TAMIS_E_UNSUPPORTED);
    given.seed = 0;
    given.concurrent = true;
    assert_int_equal(tamis_filter_create(&filter, &plan, &given, NULL), TAMIS_E_UNSUPPORTED);
    plan.bits++;
    assert_int_equal(tamis_filter_create(&filter, &plan, NULL, NULL), TAMIS_E_INVALID);
    assert_null(filter);
    filter = made_by_plan(1000);
    const tamis_key key = {"a", 1};
    tamis_hash hash;
    size_t done = 7;
    assert_int_equal(tamis_hash_many(tamis_filter_hasher(filter), &key, 1, &hash, NULL), TAMIS_OK);
    assert_int_equal(tamis_filter_add_hashes(filter, &hash, 1, NULL, &done, NULL), TAMIS_E_UNSUPPORTED);
    assert_int_equal(done, 0);
    assert_int_equal(tamis_filter_remove_hashes(filter, &hash, 1, NULL, &done, NULL), TAMIS_E_UNSUPPORTED);
    tamis_filter *copy = NULL;
    tamis_dedup *session = NULL;
    assert_int_equal(tamis_filter_copy(&copy, filter, NULL), TAMIS_E_UNSUPPORTED);
    assert_int_equal(tamis_dedup_open(&session, filter, NULL, NULL), TAMIS_E_UNSUPPORTED);
    assert_null(session);
    tamis_filter_free(filter);
}

/* Creation and growth without memory lose nothing. */
static void a_filter_of_the_scheme_without_memory(void **state) {
    (void)state;
    tamis_plan_options options = TAMIS_PLAN_OPTIONS_INIT;
    tamis_plan plan = TAMIS_PLAN_INIT;
    options.kind = TAMIS_KIND_CUCKOO;
    options.scheme = TAMIS_SCHEME_REDISBLOOM;
    options.expect = 64;
    assert_int_equal(tamis_plan_make(&plan, &options, NULL), TAMIS_OK);
    for (uint64_t n = 1; n < 12; n++) {
        fault_memory memory = {.fail_at = n};
        const tamis_allocator allocator = fault_memory_allocator(&memory);
        tamis_filter_options given = TAMIS_FILTER_OPTIONS_INIT;
        tamis_filter *filter = NULL;
        given.allocator = &allocator;
        tamis_status status = tamis_filter_create(&filter, &plan, &given, NULL);
        uint32_t key = 0, refused = 0;
        for (; filter && key < 200; key++) {
            status = tamis_filter_add(filter, &key, sizeof key, NULL, NULL);
            if (status != TAMIS_OK) {
                assert_int_equal(status, TAMIS_E_NOMEM);
                assert_int_equal(tamis_filter_add(filter, &key, sizeof key, NULL, NULL), TAMIS_OK);
                refused++;
            }
        }
        assert_true(filter ? refused <= 1 : status == TAMIS_E_NOMEM);
        for (uint32_t i = 0; i < key; i++) {
            tamis_answer answer = TAMIS_ABSENT;
            assert_int_equal(tamis_filter_contains(filter, &i, sizeof i, &answer, NULL), TAMIS_OK);
            assert_int_equal(answer, TAMIS_PRESENT);
        }
        tamis_filter_free(filter);
        assert_int_equal(memory.live_blocks, 0);
    }
}

/* ---- moved blocks ---- */

/* Every block moves, or some of them. The filter stays the same, and can be used. */
static void blocks_can_be_moved(void **state) {
    (void)state;
    tamis_redisbloom_cuckoo_options options = TAMIS_REDISBLOOM_CUCKOO_OPTIONS_INIT;
    options.allocator = &moves_allocator;
    tamis_redisbloom_cuckoo *filter, *copy, *half;
    uint8_t header[HEADER];
    assert_int_equal(tamis_redisbloom_cuckoo_create(&filter, &options, NULL), TAMIS_OK);
    add_numbers(filter, 3000);
    assert_int_equal(tamis_redisbloom_cuckoo_copy(&copy, filter, NULL), TAMIS_OK);
    tamis_redisbloom_cuckoo_header_write(filter, header);
    assert_int_equal(tamis_redisbloom_cuckoo_load_header(&half, header, HEADER, &moves_allocator, NULL),
                     TAMIS_OK);
    for (size_t kept = 2; kept < 100; kept += 49) {
        moves_count counted = {0, kept};
        tamis_redisbloom_cuckoo_relocate(&filter, moves_block, &counted);
        assert_int_equal(counted.calls, 2 + info_of(filter).tables);
        assert_equal_filters(filter, copy);
    }
    moves_count counted = {0, 100};
    tamis_redisbloom_cuckoo_relocate(&half, moves_block, &counted);
    assert_int_equal(counted.calls, 2); /* it has no slots yet */
    load_chunks(half, copy);
    assert_equal_filters(half, copy);
    tamis_redisbloom_cuckoo_free(half);
    tamis_redisbloom_cuckoo_free(copy);
    add_numbers(filter, 6000);
    tamis_redisbloom_cuckoo_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_of_redisbloom),
        cmocka_unit_test(copies_of_a_key),
        cmocka_unit_test(batches_equal_single_adds),
        cmocka_unit_test(full_is_rolled_back),
        cmocka_unit_test(refused_options),
        cmocka_unit_test(reg_cve_2024_25116_capacity_below_a_bucket),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(header_bytes),
        cmocka_unit_test(round_trip_by_chunks),
        cmocka_unit_test(chunks_of_equal_tables),
        cmocka_unit_test(reg_cve_2024_25115_chunk_outside_of_its_table),
        cmocka_unit_test(reg_redisbloom_cuckoo_division_by_zero),
        cmocka_unit_test(reg_redisbloom_cuckoo_no_table),
        cmocka_unit_test(reg_redisbloom_cuckoo_2_64_tables),
        cmocka_unit_test(other_damaged_headers),
        cmocka_unit_test(fields_of_a_filter),
        cmocka_unit_test(reg_dragonfly_8104_only_a_header_is_loaded),
        cmocka_unit_test(a_plan_of_the_scheme_makes_redisblooms_filter),
        cmocka_unit_test(a_plan_of_the_scheme_refuses_what_redisbloom_lacks),
        cmocka_unit_test(a_filter_of_the_scheme_without_memory),
        cmocka_unit_test(blocks_can_be_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
