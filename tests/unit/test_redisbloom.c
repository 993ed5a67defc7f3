/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Numbers and bytes that are not derived here are those of RedisBloom: its tests' listings of BF.DEBUG, and a
 * header and a DUMP from a live server. tests/interop/redis_module.sh has the commands.
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

#include <tamis/compat/redisbloom.h>

#include "hash/hash_functions.h"
#include "support/fault.h"
#include "support/moves.h"

enum { HEADER = 20, RECORD = 53 };

static tamis_redisbloom *made(double rate, uint64_t capacity, uint32_t expansion) {
    tamis_redisbloom_options options = TAMIS_REDISBLOOM_OPTIONS_INIT;
    options.rate = rate;
    options.capacity = capacity;
    options.expansion = expansion;
    tamis_redisbloom *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_redisbloom_create(&filter, &options, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

static tamis_answer added(tamis_redisbloom *filter, const char *text) {
    const tamis_key key = {text, strlen(text)};
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_int_equal(tamis_redisbloom_add_many(filter, &key, 1, &answer, NULL, NULL), TAMIS_OK);
    return answer;
}

static tamis_answer contains(const tamis_redisbloom *filter, const char *text) {
    const tamis_key key = {text, strlen(text)};
    tamis_answer answer = TAMIS_UNKNOWN;
    assert_int_equal(tamis_redisbloom_contains_many(filter, &key, 1, &answer, NULL), TAMIS_OK);
    return answer;
}

/* Adds the numbers below `count` as text, one after the other or as one batch. */
static void add_numbers(tamis_redisbloom *filter, size_t count, bool batched) {
    char(*texts)[8] = calloc(count, sizeof *texts);
    tamis_key *keys = calloc(count, sizeof *keys);
    assert_true(texts && keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = (tamis_key){texts[i], (size_t)snprintf(texts[i], sizeof texts[i], "%zu", i)};
    size_t done = 0;
    for (size_t i = 0; i < count; i += batched ? count : 1)
        assert_int_equal(tamis_redisbloom_add_many(filter, keys + i, batched ? count : 1, NULL, &done, NULL),
                         TAMIS_OK);
    tamis_answer *answers = calloc(count, sizeof *answers);
    assert_non_null(answers);
    assert_int_equal(tamis_redisbloom_contains_many(filter, keys, count, answers, NULL), TAMIS_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(answers[i], TAMIS_PRESENT);
    free(answers);
    free(keys);
    free(texts);
}

static tamis_redisbloom_info info_of(const tamis_redisbloom *filter) {
    tamis_redisbloom_info info = TAMIS_REDISBLOOM_INFO_INIT;
    assert_int_equal(tamis_redisbloom_info_get(filter, &info, NULL), TAMIS_OK);
    return info;
}

static uint8_t *header_of(const tamis_redisbloom *filter, size_t *size) {
    *size = tamis_redisbloom_header_size(filter);
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    tamis_redisbloom_header_write(filter, bytes);
    return bytes;
}

/* Loads all chunks of `from` into `to`. */
static void load_chunks(tamis_redisbloom *to, const tamis_redisbloom *from) {
    const void *bytes;
    size_t size;
    for (uint64_t next = 1; (next = tamis_redisbloom_chunk(from, next, &bytes, &size)) != 0;)
        assert_int_equal(tamis_redisbloom_load_chunk(to, next, bytes, size, NULL), TAMIS_OK);
}

static tamis_redisbloom *loaded_header(const uint8_t *bytes, size_t size) {
    tamis_redisbloom *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    if (tamis_redisbloom_load_header(&filter, bytes, size, NULL, &err) != TAMIS_OK)
        fail_msg("%s", err.text);
    return filter;
}

static void assert_equal_filters(const tamis_redisbloom *a, const tamis_redisbloom *b) {
    size_t size_a, size_b;
    uint8_t *header_a = header_of(a, &size_a), *header_b = header_of(b, &size_b);
    assert_int_equal(size_a, size_b);
    assert_memory_equal(header_a, header_b, size_a);
    free(header_a);
    free(header_b);
    uint64_t next = 1, next_b = 1;
    do {
        const void *bytes_a, *bytes_b;
        next = tamis_redisbloom_chunk(a, next, &bytes_a, &size_a);
        next_b = tamis_redisbloom_chunk(b, next_b, &bytes_b, &size_b);
        assert_int_equal(next, next_b);
        assert_int_equal(size_a, size_b);
        if (size_a)
            assert_memory_equal(bytes_a, bytes_b, size_a);
    } while (next);
}

static size_t unhex(const char *hex, uint8_t *bytes) {
    size_t size = 0;
    for (; *hex; hex++) {
        unsigned byte;
        if (*hex == ' ')
            continue;
        assert_int_equal(sscanf(hex++, "%2x", &byte), 1);
        bytes[size++] = (uint8_t)byte;
    }
    return size;
}

/* ---- sizes and bits of RedisBloom ---- */

/* "foo" in a filter with the defaults: 1152 bits, 8 hashes. */
static void bits_of_a_default_filter(void **state) {
    (void)state;
    static const unsigned positions[] = {269, 847, 145, 723, 21, 599, 25, 475};
    tamis_redisbloom *filter = NULL;
    assert_int_equal(tamis_redisbloom_create(&filter, NULL, NULL), TAMIS_OK);
    assert_int_equal(info_of(filter).size, 240);
    assert_int_equal(added(filter, "foo"), TAMIS_ABSENT);
    assert_int_equal(added(filter, "foo"), TAMIS_PRESENT);
    uint8_t expected[144] = {0};
    for (size_t i = 0; i < 8; i++)
        expected[positions[i] / 8] |= (uint8_t)(1U << positions[i] % 8);
    const void *bytes;
    size_t size;
    assert_int_equal(tamis_redisbloom_chunk(filter, 1, &bytes, &size), 145);
    assert_int_equal(size, sizeof expected);
    assert_memory_equal(bytes, expected, sizeof expected);
    assert_int_equal(tamis_redisbloom_chunk(filter, 145, &bytes, &size), 0);
    assert_int_equal(size, 0);

    uint8_t golden[HEADER + RECORD];
    assert_int_equal(unhex("0100000000000000 01000000 05000000 02000000 "
                           "9000000000000000 8004000000000000 0100000000000000 7b14ae47e17a743f "
                           "e9862fb2350e2640 08000000 6400000000000000 00",
                           golden),
                     sizeof golden);
    uint8_t *header = header_of(filter, &size);
    assert_int_equal(size, sizeof golden);
    assert_memory_equal(header, golden, sizeof golden);
    free(header);
    tamis_redisbloom_free(filter);
}

/* The numbers of sub-filters after 100 numbers, at expansions 1, 2 and 4. */
static void links_after_a_hundred_keys(void **state) {
    (void)state;
    static const unsigned expansions[] = {1, 2, 4}, counts[] = {23, 5, 4};
    for (size_t i = 0; i < 3; i++) {
        tamis_redisbloom *filter = made(0.01, 4, expansions[i]);
        add_numbers(filter, 100, false);
        assert_int_equal(info_of(filter).subfilters, counts[i]);
        assert_int_equal(info_of(filter).expansion, expansions[i]);
        tamis_redisbloom *batched = made(0.01, 4, expansions[i]);
        add_numbers(batched, 100, true);
        assert_equal_filters(filter, batched);
        tamis_redisbloom_free(batched);
        tamis_redisbloom_free(filter);
    }
}

/* The lines of BF.DEBUG. */
static void assert_listing(const tamis_redisbloom *filter, const char *const *lines, size_t count) {
    assert_int_equal(info_of(filter).subfilters, count);
    for (size_t i = 0; i < count; i++) {
        tamis_redisbloom_subfilter sub = TAMIS_REDISBLOOM_SUBFILTER_INIT;
        char line[200];
        assert_int_equal(tamis_redisbloom_subfilter_get(filter, i, &sub, NULL), TAMIS_OK);
        snprintf(line, sizeof line, "bytes:%d bits:%d hashes:%d capacity:%d size:%d ratio:%g", (int)sub.bytes,
                 (int)sub.bits, (int)sub.hashes, (int)sub.capacity, (int)sub.keys, sub.rate);
        assert_string_equal(line, lines[i]);
    }
}

static void listings_of_redisbloom(void **state) {
    (void)state;
    static const char *const of_100[] = {
        "bytes:16 bits:128 hashes:8 capacity:10 size:10 ratio:0.005",
        "bytes:32 bits:256 hashes:9 capacity:20 size:20 ratio:0.0025",
        "bytes:72 bits:576 hashes:10 capacity:40 size:40 ratio:0.00125",
        "bytes:160 bits:1280 hashes:11 capacity:80 size:29 ratio:0.000625",
    };
    static const char *const of_4000[] = {
        "bytes:200 bits:1600 hashes:11 capacity:100 size:100 ratio:0.0005",
        "bytes:432 bits:3456 hashes:12 capacity:200 size:200 ratio:0.00025",
        "bytes:936 bits:7488 hashes:13 capacity:400 size:400 ratio:0.000125",
        "bytes:2016 bits:16128 hashes:14 capacity:800 size:800 ratio:6.25e-05",
        "bytes:4320 bits:34560 hashes:15 capacity:1600 size:1600 ratio:3.125e-05",
        "bytes:9216 bits:73728 hashes:16 capacity:3200 size:897 ratio:1.5625e-05",
    };
    for (int batched = 0; batched < 2; batched++) {
        tamis_redisbloom *filter = made(0.01, 10, 2);
        add_numbers(filter, 100, batched);
        assert_int_equal(info_of(filter).keys, 99);
        assert_listing(filter, of_100, 4);
        tamis_redisbloom_free(filter);
        filter = made(0.001, 100, 2);
        add_numbers(filter, 4000, batched);
        assert_int_equal(info_of(filter).keys, 3997);
        assert_int_equal(info_of(filter).capacity, 6300);
        assert_listing(filter, of_4000, 6);
        tamis_redisbloom_free(filter);
    }
    tamis_redisbloom *large = made(1e-6, 300000000, 2);
    assert_int_equal(info_of(large).size, 1132420232);
    tamis_redisbloom_free(large);
}

static void nonscaling_is_full(void **state) {
    (void)state;
    tamis_redisbloom *filter = made(0.01, 3, 0);
    const tamis_key keys[] = {{"a", 1}, {"b", 1}, {"a", 1}, {"c", 1}, {"a", 1}, {"d", 1}, {"e", 1}};
    tamis_answer answers[7] = {9, 9, 9, 9, 9, 9, 9};
    size_t done = 0;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(tamis_redisbloom_add_many(filter, keys, 7, answers, &done, &err), TAMIS_E_FULL);
    assert_int_equal(done, 5);
    const tamis_answer expected[7] = {
        TAMIS_ABSENT, TAMIS_ABSENT, TAMIS_PRESENT, TAMIS_ABSENT, TAMIS_PRESENT, 9, 9};
    assert_memory_equal(answers, expected, sizeof answers);
    assert_non_null(strstr(err.text, "full with 3 keys"));
    assert_true(info_of(filter).nonscaling);
    assert_int_equal(info_of(filter).expansion, 0);
    assert_int_equal(info_of(filter).size, 104);
    tamis_redisbloom_free(filter);
}

static void refused_options(void **state) {
    (void)state;
    static const struct {
        double rate;
        uint64_t capacity;
    } cases[] = {{0, 1},        {1, 1},    {-0.5, 1},          {NAN, 1},
                 {INFINITY, 1}, {0.01, 0}, {0.01, UINT64_MAX}, {5e-324, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tamis_redisbloom_options options = TAMIS_REDISBLOOM_OPTIONS_INIT;
        options.rate = cases[i].rate;
        options.capacity = cases[i].capacity;
        tamis_redisbloom *filter = NULL;
        assert_int_equal(tamis_redisbloom_create(&filter, &options, NULL), TAMIS_E_RANGE);
        assert_null(filter);
    }
}

/* A chain of the smallest rate ends where half of its rate is 0. */
static void chain_ends_before_rate_zero(void **state) {
    (void)state;
    tamis_redisbloom *filter = made(1e-323, 1, 1);
    assert_int_equal(added(filter, "a"), TAMIS_ABSENT);
    const tamis_key key = {"b", 1};
    assert_int_equal(tamis_redisbloom_add_many(filter, &key, 1, NULL, NULL, NULL), TAMIS_E_FULL);
    tamis_redisbloom_free(filter);
}

/* Makes a filter, lets it grow, copies it and loads a dump of it. The first failure ends the work. */
static tamis_status work(const tamis_allocator *allocator) {
    tamis_redisbloom_options options = TAMIS_REDISBLOOM_OPTIONS_INIT;
    options.capacity = 1;
    options.expansion = 1;
    options.allocator = allocator;
    tamis_redisbloom *filter = NULL, *copy = NULL, *dump = NULL;
    tamis_status status = tamis_redisbloom_create(&filter, &options, NULL);
    static const tamis_key keys[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1},
                                     {"g", 1}, {"h", 1}, {"i", 1}, {"j", 1}, {"k", 1}, {"l", 1}};
    size_t done = 0;
    if (status == TAMIS_OK) {
        status = tamis_redisbloom_add_many(filter, keys, 12, NULL, &done, NULL);
        assert_int_equal(info_of(filter).keys, done);
    }
    if (status == TAMIS_OK)
        status = tamis_redisbloom_copy(&copy, filter, NULL);
    if (status == TAMIS_OK) {
        size_t size;
        uint8_t *header = header_of(filter, &size);
        status = tamis_redisbloom_load_header(&dump, header, size, allocator, NULL);
        free(header);
    }
    const void *bytes;
    size_t size;
    for (uint64_t next = 1;
         status == TAMIS_OK && (next = tamis_redisbloom_chunk(filter, next, &bytes, &size)) != 0;)
        status = tamis_redisbloom_load_chunk(dump, next, bytes, size, NULL);
    tamis_redisbloom_free(filter);
    tamis_redisbloom_free(copy);
    tamis_redisbloom_free(dump);
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

static void round_trip_by_chunks(void **state) {
    (void)state;
    tamis_redisbloom *filter = made(0.001, 100, 2);
    add_numbers(filter, 4000, true);
    size_t size;
    uint8_t *header = header_of(filter, &size);
    tamis_redisbloom *copy = loaded_header(header, size);
    free(header);
    load_chunks(copy, filter);
    assert_equal_filters(copy, filter);
    assert_true(info_of(copy).complete);
    load_chunks(copy, filter); /* once more: accepted, since nothing differs */
    assert_equal_filters(copy, filter);
    assert_int_equal(added(copy, "another"), added(filter, "another"));
    assert_equal_filters(copy, filter);
    tamis_redisbloom_free(copy);
    assert_int_equal(tamis_redisbloom_copy(&copy, filter, NULL), TAMIS_OK);
    assert_equal_filters(copy, filter);
    tamis_redisbloom_free(copy);
    tamis_redisbloom_free(filter);
}

/* Chunks of any size inside a sub-filter, and what is refused between them. */
static void incomplete_filters_refuse_keys(void **state) {
    (void)state;
    tamis_redisbloom *filter = made(0.01, 4, 2);
    add_numbers(filter, 20, true);
    size_t size;
    uint8_t *header = header_of(filter, &size);
    tamis_redisbloom *half = loaded_header(header, size);
    const void *bytes;
    assert_int_equal(tamis_redisbloom_chunk(filter, 1, &bytes, &size), 9);
    const uint8_t *bits = bytes;
    const tamis_key key = {"0", 1};
    tamis_answer answer = 9;
    for (uint64_t i = 0; i < 8; i++) {
        assert_false(info_of(half).complete);
        assert_int_equal(info_of(half).loaded, i);
        assert_int_equal(tamis_redisbloom_contains_many(half, &key, 1, &answer, NULL), TAMIS_E_DAMAGED);
        assert_int_equal(tamis_redisbloom_add_many(half, &key, 1, &answer, NULL, NULL), TAMIS_E_DAMAGED);
        assert_int_equal(answer, 9);
        assert_int_equal(tamis_redisbloom_load_chunk(half, 3 + i, bits + i + 1, 1, NULL), TAMIS_E_DAMAGED);
        assert_int_equal(tamis_redisbloom_load_chunk(half, 2 + i, bits + i, 1, NULL), TAMIS_OK);
    }
    /* A copy of an incomplete filter, and a dump of it, have what is loaded. */
    tamis_redisbloom *copy = NULL;
    assert_int_equal(tamis_redisbloom_copy(&copy, half, NULL), TAMIS_OK);
    assert_equal_filters(copy, half);
    assert_int_equal(info_of(copy).loaded, 8);
    load_chunks(copy, filter);
    assert_equal_filters(copy, filter);
    tamis_redisbloom_free(copy);

    const uint8_t zeros[100] = {0};
    assert_int_equal(tamis_redisbloom_load_chunk(half, 0, zeros, 0, NULL), TAMIS_E_RANGE);
    assert_int_equal(tamis_redisbloom_load_chunk(half, 1, zeros, 1, NULL), TAMIS_E_RANGE);
    assert_int_equal(tamis_redisbloom_load_chunk(half, UINT64_MAX, zeros, 1, NULL), TAMIS_E_RANGE);
    assert_int_equal(tamis_redisbloom_load_chunk(half, 10, zeros, 9, NULL), TAMIS_E_TOO_LONG);
    assert_int_equal(tamis_redisbloom_load_chunk(half, 9, zeros, 8, NULL), TAMIS_E_DAMAGED);
    assert_int_equal(info_of(half).loaded, 8);
    free(header);
    tamis_redisbloom_free(half);
    tamis_redisbloom_free(filter);
}

/* ---- fields of an RDB file ---- */

/* The fields of a DUMP payload: an operation code before each. */
typedef struct payload {
    uint8_t bytes[400];
    size_t size, next;
    uint64_t fields, fail_from; /* fields read; field `fail_from`, from 1, is missing */
} payload;

static bool operation(payload *p, uint8_t code) {
    return ++p->fields != p->fail_from && p->next < p->size && p->bytes[p->next++] == code;
}

static uint64_t load_length(payload *p) {
    const uint8_t first = p->bytes[p->next++];
    if (first < 0x40)
        return first;
    if (first < 0x80)
        return (uint64_t)(first & 0x3f) << 8 | p->bytes[p->next++];
    const unsigned width = first == 0x80 ? 4 : 8;
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value = value << 8 | p->bytes[p->next++];
    return value;
}

static bool load_number(void *context, uint64_t *value) {
    if (!operation(context, 2))
        return false;
    *value = load_length(context);
    return true;
}

static bool load_real(void *context, double *value) {
    payload *p = context;
    if (!operation(p, 4))
        return false;
    memcpy(value, p->bytes + p->next, sizeof *value);
    p->next += sizeof *value;
    return true;
}

static void *load_bytes(void *context, size_t *size) {
    payload *p = context;
    if (!operation(p, 5))
        return NULL;
    *size = (size_t)load_length(p);
    assert_true(*size <= p->size - p->next);
    void *block = calloc(1, *size + 1);
    assert_non_null(block);
    memcpy(block, p->bytes + p->next, *size);
    p->next += *size;
    return block;
}

static void save_length(payload *p, uint64_t value) {
    if (value < 0x40) {
        p->bytes[p->size++] = (uint8_t)value;
    } else if (value < 0x4000) {
        p->bytes[p->size++] = (uint8_t)(0x40 | value >> 8);
        p->bytes[p->size++] = (uint8_t)value;
    } else {
        p->bytes[p->size++] = 0x81;
        for (int shift = 56; shift >= 0; shift -= 8)
            p->bytes[p->size++] = (uint8_t)(value >> shift);
    }
}

static void save_number(void *context, uint64_t value) {
    payload *p = context;
    p->bytes[p->size++] = 2;
    save_length(p, value);
}

static void save_real(void *context, double value) {
    payload *p = context;
    p->bytes[p->size++] = 4;
    memcpy(p->bytes + p->size, &value, sizeof value);
    p->size += sizeof value;
}

static void save_bytes(void *context, const void *bytes, size_t size) {
    payload *p = context;
    p->bytes[p->size++] = 5;
    save_length(p, size);
    memcpy(p->bytes + p->size, bytes, size);
    p->size += size;
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

static tamis_status read_payload(tamis_redisbloom **filter, uint32_t version, payload *p, tamis_error *err) {
    tamis_redisbloom_source source = TAMIS_REDISBLOOM_SOURCE_INIT;
    source.context = p;
    source.number = load_number;
    source.real = load_real;
    source.bytes = load_bytes;
    return tamis_redisbloom_rdb_read(filter, version, &source, &plain, err);
}

static payload written(const tamis_redisbloom *filter) {
    payload p = {.size = 0};
    tamis_redisbloom_sink sink = TAMIS_REDISBLOOM_SINK_INIT;
    sink.context = &p;
    sink.number = save_number;
    sink.real = save_real;
    sink.bytes = save_bytes;
    assert_int_equal(tamis_redisbloom_rdb_write(filter, &sink, NULL), TAMIS_OK);
    return p;
}

/* The DUMP of `BF.RESERVE k 0.01 3 NONSCALING` with the item "a", without the type and the end. */
static payload golden_payload(void) {
    payload p = {.size = 0};
    p.size = unhex("0201 0201 020d 0200 0203 047b14ae47e17a843f 0207 0488168ac58c2b2340 024040 0200 "
                   "0508 0044008800100120 0201",
                   p.bytes);
    return p;
}

static void dump_of_redisbloom(void **state) {
    (void)state;
    payload golden = golden_payload();
    tamis_redisbloom *filter = NULL;
    assert_int_equal(read_payload(&filter, 4, &golden, NULL), TAMIS_OK);
    assert_int_equal(contains(filter, "a"), TAMIS_PRESENT);
    assert_int_equal(contains(filter, "b"), TAMIS_ABSENT);
    payload again = written(filter);
    assert_int_equal(again.size, golden.size);
    assert_memory_equal(again.bytes, golden.bytes, golden.size);
    tamis_redisbloom *ours = made(0.01, 3, 0);
    assert_int_equal(added(ours, "a"), TAMIS_ABSENT);
    assert_equal_filters(ours, filter);
    tamis_redisbloom_free(ours);
    tamis_redisbloom_free(filter);

    /* Version 3 has no expansion: 2. Version 1 has no options, so its hashes have 32 bits. */
    golden = golden_payload();
    memmove(golden.bytes + 6, golden.bytes + 8, golden.size - 8);
    golden.size -= 2;
    assert_int_equal(read_payload(&filter, 3, &golden, NULL), TAMIS_OK);
    assert_equal_filters(filter, filter);
    tamis_redisbloom_free(filter);
    golden = golden_payload();
    assert_int_equal(read_payload(&filter, 1, &golden, NULL), TAMIS_E_UNSUPPORTED);
    assert_int_equal(read_payload(&filter, 5, &golden, NULL), TAMIS_E_UNSUPPORTED);
}

static void missing_fields_are_refused(void **state) {
    (void)state;
    for (uint64_t n = 1; n <= 12; n++) {
        payload cut = golden_payload();
        cut.fail_from = n;
        tamis_redisbloom *filter = NULL;
        assert_int_equal(read_payload(&filter, 4, &cut, NULL), TAMIS_E_DAMAGED);
        assert_null(filter);
    }
}

/* ---- bytes that crash or harm other loaders ---- */

static void refuses_header(size_t offset, uint64_t value, size_t width, tamis_status expected) {
    uint8_t header[HEADER + RECORD];
    unhex("0100000000000000 01000000 05000000 02000000 "
          "9000000000000000 8004000000000000 0100000000000000 7b14ae47e17a743f "
          "e9862fb2350e2640 08000000 6400000000000000 00",
          header);
    for (size_t i = 0; i < width; i++)
        header[offset + i] = (uint8_t)(value >> 8 * i);
    tamis_redisbloom *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    const tamis_status status = tamis_redisbloom_load_header(&filter, header, sizeof header, NULL, &err);
    if (status != expected || filter)
        fail_msg("offset %zu, value %llx: status %d, %s", offset, (unsigned long long)value, (int)status,
                 err.text);
}

static uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

enum { KEYS = 0, COUNT = 8, OPTIONS = 12, GROWTH = 16 };
enum { BYTES = 20, BITS = 28, ITEMS = 36, RATE = 44, PER_KEY = 52, HASHES = 60, CAPACITY = 64, LOG2 = 72 };

/* RESTORE with more bits than its buffer has: positions would lie outside of it. */
static void reg_redisbloom_restore_bits_beyond_buffer(void **state) {
    (void)state;
    refuses_header(BITS, 1153, 8, TAMIS_E_DAMAGED);
    refuses_header(BITS, UINT64_MAX, 8, TAMIS_E_DAMAGED);
    refuses_header(BYTES, 8, 8, TAMIS_E_DAMAGED);
    refuses_header(LOG2, 11, 1, TAMIS_E_DAMAGED);
    refuses_header(LOG2, 64, 1, TAMIS_E_DAMAGED);
    payload large = golden_payload();
    large.bytes[29] = 0x41; /* 320 bits in 8 bytes */
    tamis_redisbloom *filter = NULL;
    tamis_error err = TAMIS_ERROR_INIT;
    assert_int_equal(read_payload(&filter, 4, &large, &err), TAMIS_E_DAMAGED);
    assert_non_null(strstr(err.text, "number of bits"));
}

static void reg_redisbloom_empty_chain(void **state) {
    (void)state;
    const uint8_t header[HEADER] = {[OPTIONS] = 5, [GROWTH] = 2};
    tamis_redisbloom *filter = NULL;
    assert_int_equal(tamis_redisbloom_load_header(&filter, header, sizeof header, NULL, NULL),
                     TAMIS_E_DAMAGED);
    payload empty = {.size = 8, .bytes = {2, 0, 2, 0, 2, 5, 2, 2}};
    assert_int_equal(read_payload(&filter, 4, &empty, NULL), TAMIS_E_DAMAGED);
    assert_null(filter);
}

static void reg_redisbloom_count_of_sub_filters_too_large(void **state) {
    (void)state;
    refuses_header(COUNT, UINT32_MAX, 4, TAMIS_E_DAMAGED);
    refuses_header(COUNT, 2, 4, TAMIS_E_DAMAGED);
    payload large = {.size = 15, .bytes = {2, 1, 2, 0x81, 255, 255, 255, 255, 255, 255, 255, 255, 2, 5, 2}};
    tamis_redisbloom *filter = NULL;
    assert_int_equal(read_payload(&filter, 4, &large, NULL), TAMIS_E_DAMAGED);
    assert_null(filter);
}

static void reg_redisbloom_error_rate_nan_or_infinite(void **state) {
    (void)state;
    static const double rates[] = {NAN, INFINITY, -INFINITY, 0, -0.1, 1, 2};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        refuses_header(RATE, bits_of_double(rates[i]), 8, TAMIS_E_DAMAGED);
    static const double bits_per_key[] = {NAN, INFINITY, 0, -1, 1e9};
    for (size_t i = 0; i < sizeof bits_per_key / sizeof *bits_per_key; i++)
        refuses_header(PER_KEY, bits_of_double(bits_per_key[i]), 8, TAMIS_E_DAMAGED);
}

static void reg_redisbloom_billions_of_hashes(void **state) {
    (void)state;
    refuses_header(HASHES, UINT64_C(1) << 31, 4, TAMIS_E_DAMAGED);
    refuses_header(HASHES, 0, 4, TAMIS_E_DAMAGED);
}

static void other_damaged_headers(void **state) {
    (void)state;
    refuses_header(BYTES, 0, 8, TAMIS_E_DAMAGED);
    refuses_header(BYTES, UINT64_MAX, 8, TAMIS_E_DAMAGED);
    refuses_header(BITS, 0, 8, TAMIS_E_DAMAGED);
    refuses_header(KEYS, 2, 8, TAMIS_E_DAMAGED);
    refuses_header(ITEMS, 101, 8, TAMIS_E_DAMAGED);
    refuses_header(CAPACITY, 0, 8, TAMIS_E_DAMAGED);
    refuses_header(CAPACITY, UINT64_MAX, 8, TAMIS_E_DAMAGED);
    refuses_header(GROWTH, 0, 4, TAMIS_E_DAMAGED);
    refuses_header(OPTIONS, UINT32_MAX, 4, TAMIS_E_UNSUPPORTED);
    refuses_header(OPTIONS, 1, 4, TAMIS_E_UNSUPPORTED);
    const uint8_t bytes[HEADER + RECORD + 1] = {[COUNT] = 1, [OPTIONS] = 5};
    tamis_redisbloom *filter = NULL;
    for (size_t size = 0; size <= sizeof bytes; size++)
        assert_int_equal(tamis_redisbloom_load_header(&filter, bytes, size, NULL, NULL), TAMIS_E_DAMAGED);
    assert_null(filter);
}

/* Guava: 6 bytes make the reader ask for 17 GB. A header promises 2^59 bytes here, and nothing is allocated.
 * */
static void reg_guava_8463_memory_of_a_few_bytes(void **state) {
    (void)state;
    uint8_t header[HEADER + RECORD];
    unhex("0100000000000000 01000000 05000000 02000000 "
          "0000000000000008 0000000000000040 0100000000000000 7b14ae47e17a743f "
          "e9862fb2350e2640 08000000 6400000000000000 00",
          header);
    tamis_redisbloom *filter = loaded_header(header, sizeof header);
    assert_true(info_of(filter).memory < 4096);
    assert_int_equal(tamis_redisbloom_load_chunk(filter, 2, "x", 1, NULL), TAMIS_E_NOMEM);
    assert_int_equal(info_of(filter).loaded, 0);
    tamis_redisbloom_free(filter);
}

/* A header of very many tiny sub-filters: each chunk is found by bisection. A walk from the first one would
 * take minutes here. */
static void reg_26_chunks_of_many_sub_filters(void **state) {
    (void)state;
    enum { MANY = 400000 };
    uint8_t *bytes = calloc(1, HEADER + (size_t)RECORD * MANY);
    assert_non_null(bytes);
    tamis_redisbloom *source = made(0.01, 3, 1), *filter = NULL;
    uint8_t first[HEADER + RECORD], bits[8] = {0};
    assert_int_equal(tamis_redisbloom_header_size(source), sizeof first);
    tamis_redisbloom_header_write(source, first);
    memcpy(bytes, first, HEADER);
    for (size_t i = 0; i < MANY; i++)
        memcpy(bytes + HEADER + RECORD * i, first + HEADER, RECORD);
    for (int i = 0; i < 4; i++)
        bytes[8 + i] = (uint8_t)(MANY >> 8 * i);
    filter = loaded_header(bytes, HEADER + (size_t)RECORD * MANY);
    uint64_t next = 1;
    for (uint64_t i = 0; i < MANY; i++) {
        bits[i % 8] = (uint8_t)i;
        assert_int_equal(tamis_redisbloom_load_chunk(filter, 1 + 8 * (i + 1), bits, 8, NULL), TAMIS_OK);
        const void *chunk;
        size_t size;
        next = tamis_redisbloom_chunk(filter, next, &chunk, &size);
        assert_int_equal(next, 1 + 8 * (i + 1));
        assert_int_equal(size, 8);
        assert_memory_equal(chunk, bits, 8);
    }
    assert_int_equal(tamis_redisbloom_load_chunk(filter, next + 8, bits, 8, NULL), TAMIS_E_RANGE);
    assert_true(info_of(filter).complete);
    tamis_redisbloom_free(source);
    tamis_redisbloom_free(filter);
    free(bytes);
}

/* Dragonfly: a filter of which only the header was loaded makes a snapshot that cannot be loaded. */
static void reg_dragonfly_8104_only_a_header_is_loaded(void **state) {
    (void)state;
    tamis_redisbloom *filter = made(0.01, 100, 2);
    size_t size;
    uint8_t *header = header_of(filter, &size);
    tamis_redisbloom *half = loaded_header(header, size);
    free(header);
    payload p = {.size = 0};
    tamis_redisbloom_sink sink = TAMIS_REDISBLOOM_SINK_INIT;
    sink.context = &p;
    sink.number = save_number;
    sink.real = save_real;
    sink.bytes = save_bytes;
    assert_int_equal(tamis_redisbloom_rdb_write(half, &sink, NULL), TAMIS_E_DAMAGED);
    assert_int_equal(p.size, 0);
    tamis_redisbloom_free(half);
    tamis_redisbloom_free(filter);
}

/* Lookups test the first two positions together. */
static void one_hash_is_enough(void **state) {
    (void)state;
    tamis_redisbloom *filter = made(0.9, 1000, 0);
    tamis_redisbloom_subfilter sub = TAMIS_REDISBLOOM_SUBFILTER_INIT;
    assert_int_equal(tamis_redisbloom_subfilter_get(filter, 0, &sub, NULL), TAMIS_OK);
    assert_int_equal(sub.hashes, 1);
    add_numbers(filter, 500, true);
    tamis_redisbloom_free(filter);
}

/* True if the bits of a filter with one sub-filter say that it has the key. */
static bool has_all_bits(const uint8_t *bits, const tamis_redisbloom_subfilter *sub, const tamis_key *key) {
    uint64_t x = tamis__murmur64a(key->data, key->size, TAMIS__REDISBLOOM_SEED);
    const uint64_t step = tamis__murmur64a(key->data, key->size, x);
    for (uint32_t i = 0; i < sub->hashes; i++, x += step) {
        if (!(bits[x % sub->bits / 8] >> x % sub->bits % 8 & 1))
            return false;
    }
    return true;
}

/* Lookups test positions in stages. Answers are those of the filter's bits, whatever the number of
 * positions is. */
static void every_position_is_tested(void **state) {
    (void)state;
    enum { ADDED = 500, QUERIES = 5000 };
    static char texts[QUERIES][8];
    static tamis_key keys[QUERIES];
    static tamis_answer answers[QUERIES];
    for (size_t i = 0; i < QUERIES; i++)
        keys[i] = (tamis_key){texts[i], (size_t)snprintf(texts[i], sizeof texts[i], "%zu", i)};
    for (uint32_t hashes = 1; hashes <= 16; hashes++) {
        tamis_redisbloom *filter = made(ldexp(0.9, -(int)hashes + 1), 2 * ADDED, 0);
        tamis_redisbloom_subfilter sub = TAMIS_REDISBLOOM_SUBFILTER_INIT;
        const void *bits;
        size_t size;
        assert_int_equal(tamis_redisbloom_subfilter_get(filter, 0, &sub, NULL), TAMIS_OK);
        assert_int_equal(sub.hashes, hashes);
        add_numbers(filter, ADDED, true);
        assert_int_not_equal(tamis_redisbloom_chunk(filter, 1, &bits, &size), 0);
        assert_int_equal(tamis_redisbloom_contains_many(filter, keys, QUERIES, answers, NULL), TAMIS_OK);
        for (size_t i = 0; i < QUERIES; i++)
            assert_int_equal(answers[i] == TAMIS_PRESENT, has_all_bits(bits, &sub, &keys[i]));
        tamis_redisbloom_free(filter);
    }
}

static void a_union_has_the_keys_of_both(void **state) {
    tamis_redisbloom *a = made(0.01, 10, 2), *b = made(0.01, 10, 2);
    tamis_error err = TAMIS_ERROR_INIT;
    (void)state;
    for (int i = 0; i < 4; i++)
        added(a, (const char[]){(char)('a' + i), 0});
    for (int i = 3; i < 9; i++)
        added(b, (const char[]){(char)('a' + i), 0});
    assert_int_equal(tamis_redisbloom_union(a, b, &err), TAMIS_OK);
    for (int i = 0; i < 9; i++)
        assert_int_equal(contains(a, (const char[]){(char)('a' + i), 0}), TAMIS_PRESENT);
    assert_int_equal(info_of(a).keys, 10);
    assert_int_equal(info_of(b).keys, 6);
    assert_int_equal(tamis_redisbloom_union(a, b, &err), TAMIS_E_FULL);
    assert_string_equal(err.text,
                        "union: 10 and 6 keys exceed the capacity of 10; make filters of a larger capacity");
    added(a, "another"); /* grows */
    assert_int_equal(info_of(a).subfilters, 2);
    assert_int_equal(tamis_redisbloom_union(b, a, &err), TAMIS_E_MISMATCH);
    assert_string_equal(err.text,
                        "union: a filter has grown to 2 sub-filters; make filters of a larger capacity");
    tamis_redisbloom *other = made(0.001, 10, 2);
    assert_int_equal(tamis_redisbloom_union(b, other, &err), TAMIS_E_MISMATCH);
    tamis_redisbloom_free(other);
    size_t size;
    uint8_t *header = header_of(b, &size);
    tamis_redisbloom *half = loaded_header(header, size);
    free(header);
    assert_int_equal(tamis_redisbloom_union(b, half, &err), TAMIS_E_DAMAGED);
    assert_int_equal(tamis_redisbloom_union(half, b, &err), TAMIS_E_DAMAGED);
    assert_int_equal(info_of(b).keys, 6);
    tamis_redisbloom_free(half);
    tamis_redisbloom_free(a);
    tamis_redisbloom_free(b);
}

/* ---- moved blocks ---- */

/* Every block moves, or some of them. The filter stays the same, and can be used. */
static void blocks_can_be_moved(void **state) {
    (void)state;
    tamis_redisbloom_options options = TAMIS_REDISBLOOM_OPTIONS_INIT;
    options.allocator = &moves_allocator;
    tamis_redisbloom *filter, *copy, *half;
    assert_int_equal(tamis_redisbloom_create(&filter, &options, NULL), TAMIS_OK);
    add_numbers(filter, 4000, true);
    assert_int_equal(tamis_redisbloom_copy(&copy, filter, NULL), TAMIS_OK);
    size_t size;
    uint8_t *header = header_of(filter, &size);
    assert_int_equal(tamis_redisbloom_load_header(&half, header, size, &moves_allocator, NULL), TAMIS_OK);
    free(header);
    for (size_t kept = 2; kept < 100; kept += 49) {
        moves_count counted = {0, kept};
        tamis_redisbloom_relocate(&filter, moves_block, &counted);
        assert_int_equal(counted.calls, 2 + info_of(filter).subfilters);
        assert_equal_filters(filter, copy);
    }
    moves_count counted = {0, 100};
    tamis_redisbloom_relocate(&half, moves_block, &counted);
    assert_int_equal(counted.calls, 2); /* it has no bits yet */
    load_chunks(half, copy);
    assert_equal_filters(half, copy);
    tamis_redisbloom_free(half);
    tamis_redisbloom_free(copy);
    add_numbers(filter, 9000, true);
    tamis_redisbloom_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_of_a_default_filter),
        cmocka_unit_test(links_after_a_hundred_keys),
        cmocka_unit_test(listings_of_redisbloom),
        cmocka_unit_test(nonscaling_is_full),
        cmocka_unit_test(refused_options),
        cmocka_unit_test(chain_ends_before_rate_zero),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(round_trip_by_chunks),
        cmocka_unit_test(incomplete_filters_refuse_keys),
        cmocka_unit_test(dump_of_redisbloom),
        cmocka_unit_test(missing_fields_are_refused),
        cmocka_unit_test(reg_redisbloom_restore_bits_beyond_buffer),
        cmocka_unit_test(reg_redisbloom_empty_chain),
        cmocka_unit_test(reg_redisbloom_count_of_sub_filters_too_large),
        cmocka_unit_test(reg_redisbloom_error_rate_nan_or_infinite),
        cmocka_unit_test(reg_redisbloom_billions_of_hashes),
        cmocka_unit_test(other_damaged_headers),
        cmocka_unit_test(reg_guava_8463_memory_of_a_few_bytes),
        cmocka_unit_test(reg_26_chunks_of_many_sub_filters),
        cmocka_unit_test(reg_dragonfly_8104_only_a_header_is_loaded),
        cmocka_unit_test(one_hash_is_enough),
        cmocka_unit_test(every_position_is_tested),
        cmocka_unit_test(a_union_has_the_keys_of_both),
        cmocka_unit_test(blocks_can_be_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
