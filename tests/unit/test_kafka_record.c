/* SPDX-License-Identifier: BSD-2-Clause */
/* State records of Kafka: what is encoded comes back; any other bytes are refused. */
#include "kafka/kafka_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/window.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "support/scratch.h"

static const char description[] = "from=in\nto=out\nkey=json:/id";

typedef struct encoded {
    uint8_t *bytes;
    size_t size;
} encoded;

enum { STEP = 10 };
static const int64_t few_times[] = {TAMIS_TIME_MAX, 0, 19, TAMIS_TIME_MAX};

static encoded encode(tamis__kafka_record record, const tamis_hash *hashes, const int64_t *times) {
    const size_t max = tamis__kafka_record_size_max(record.description_size, record.count);
    uint8_t *bytes = malloc(max);

    assert_non_null(bytes);
    const size_t size = tamis__kafka_record_encode(bytes, &record, hashes, times);
    assert_true(size <= max);
    bytes = realloc(bytes, size); /* so that a sanitizer finds a read behind the end */
    assert_non_null(bytes);
    return (encoded){bytes, size};
}

static tamis__kafka_record sample(size_t count) {
    return (tamis__kafka_record){.partition = 7,
                                 .from = 1000,
                                 .to = 2000,
                                 .newest = -1,
                                 .step = STEP,
                                 .bits = 64,
                                 .description = description,
                                 .description_size = strlen(description),
                                 .count = count};
}

static const tamis_hash few[] = {{{0, 0}, 5}, {{1, 0}, 5}, {{UINT64_MAX, UINT64_MAX}, 5}, {{0, 1}, 5}};

typedef struct key {
    tamis_hash hash;
    int64_t time;
} key;

static int compare_keys(const void *a, const void *b) {
    return memcmp(a, b, sizeof(key));
}

/* The bits of a word that a record has. */
static uint64_t kept_bits(unsigned bits, uint64_t word) {
    return bits == 48 ? word & ~UINT64_C(0xffff) : word;
}

/* Fills `keys` with the keys of a record, as a reader gets them, in an order of their own. */
static void sort_keys(key *keys, size_t count, const tamis__kafka_record *record, const tamis_hash *hashes,
                      const int64_t *times) {
    memset(keys, 0, count * sizeof *keys); /* also between the fields */
    for (size_t i = 0; i < count; i++) {
        keys[i].hash = record->bits == 128
                           ? hashes[i]
                           : tamis__kafka_short_hash(kept_bits(record->bits, hashes[i].word[1]), 5);
        keys[i].time = record->timed ? times[i] / STEP * STEP : 0;
    }
    qsort(keys, count, sizeof *keys, compare_keys);
}

/* Reads a decoded record, `max` keys at a time, and compares it with what was encoded. */
static void expect_keys(tamis__kafka_record *record, size_t max, const tamis_hash *hashes,
                        const int64_t *times) {
    const size_t count = record->count;
    tamis_hash *read_hashes = calloc(count + 1, sizeof *read_hashes);
    int64_t *read_times = calloc(count + 1, sizeof *read_times);
    key *expected = calloc(count + 1, sizeof *expected), *found = calloc(count + 1, sizeof *found);
    size_t read = 0;

    assert_true(read_hashes && read_times && expected && found);
    while (record->left > 0)
        read += tamis__kafka_record_read(record, max, 5, read_hashes + read, read_times + read);
    assert_int_equal(read, count);
    assert_int_equal(tamis__kafka_record_read(record, max, 5, read_hashes, read_times), 0);
    sort_keys(expected, count, record, hashes, times);
    sort_keys(found, count, record, read_hashes, read_times);
    for (size_t i = 0; i < count; i++)
        assert_true(record->bits == 128 ||
                    read_hashes[i].word[0] == tamis__kafka_short_hash(read_hashes[i].word[1], 5).word[0]);
    assert_memory_equal(found, expected, count * sizeof *found);
    free(read_hashes);
    free(read_times);
    free(expected);
    free(found);
}

/* Every combination of flags, and 0 to 4 hashes, read `max` at a time. */
static void round_trip(void **state) {
    (void)state;
    for (unsigned i = 0; i < 12 * 5 * 4; i++) {
        const size_t count = i / 12 % 5, max = i / 60 + 1;
        const unsigned bits = (const unsigned[]){48, 64, 128}[i % 12 / 4];
        tamis__kafka_record record = sample(count);
        record.begins = i % 2;
        record.timed = i & 2;
        record.bits = bits;
        record.newest = record.timed ? TAMIS_TIME_MAX : -1;
        record.needed = 99;
        record.bytes_before = UINT64_MAX - 5;
        const encoded made = encode(record, few, few_times);
        assert_null(tamis__kafka_record_decode(&record, made.bytes, made.size));
        assert_int_equal(record.partition, 7);
        assert_int_equal(record.begins, i % 2);
        assert_int_equal(record.timed, (i & 2) != 0);
        assert_int_equal(record.bits, bits);
        assert_int_equal(record.from, 1000);
        assert_int_equal(record.to, 2000);
        assert_int_equal(record.newest, record.timed ? TAMIS_TIME_MAX : -1);
        assert_int_equal(record.needed, 99);
        assert_int_equal(record.bytes_before, UINT64_MAX - 5);
        assert_int_equal(record.size, made.size);
        assert_int_equal(record.count, count);
        assert_int_equal(record.description_size, strlen(description));
        assert_memory_equal(record.description, description, strlen(description));
        expect_keys(&record, max, few, few_times);
        free(made.bytes);
    }
}

/* Random records: all sizes near powers of two; hashes that are random, near each other or equal; times of one
 * step, of many, or far apart. */
static void random_round_trip(void **state) {
    uint64_t random = 29;

    (void)state;
    for (int i = 0; i < 400; i++) {
        const unsigned max_bits = i < 390 ? 10 : 15;
        size_t count = ((size_t)1 << test_below(&random, max_bits + 1)) + test_below(&random, 3);
        count = count > 2 ? count - 2 : 0;
        tamis_hash *hashes = calloc(count + 1, sizeof *hashes);
        int64_t *times = calloc(count + 1, sizeof *times);
        tamis__kafka_record record = sample(count);
        const unsigned bits = (unsigned)test_below(&random, 65),
                       time_bits = (unsigned)test_below(&random, 53);
        assert_true(hashes && times);
        for (size_t k = 0; k < count; k++) {
            hashes[k] = (tamis_hash){{test_random(&random), test_random(&random)}, 5};
            hashes[k].word[1] = bits == 0 ? 0 : hashes[k].word[1] >> (64 - bits);
            times[k] = (int64_t)(test_random(&random) >> (64 - 1 - time_bits));
        }
        record.timed = test_below(&random, 2);
        record.bits = (const unsigned[]){48, 64, 128}[test_below(&random, 3)];
        const encoded made = encode(record, hashes, times);
        assert_null(tamis__kafka_record_decode(&record, made.bytes, made.size));
        assert_int_equal(made.size, tamis__kafka_record_size(record.description_size, count, record.bits,
                                                             record.timed ? (int)record.width : -1));
        expect_keys(&record, 1 + test_below(&random, 2 * count + 1), hashes, times);
        free(made.bytes);
        free(hashes);
        free(times);
    }
}

/* The layout of docs/KAFKA-PROTOCOL.md, byte by byte. */
static void layout(void **state) {
    /* The first bits are 3, 0, 1 and 0. */
    static const tamis_hash hashes[] = {{{9, UINT64_C(3) << 62 | 258}, 5},
                                        {{8, 1}, 5},
                                        {{7, UINT64_C(1) << 62}, 5},
                                        {{6, UINT64_MAX >> 2}, 5}};
    static const int64_t times[] = {45, 19, 20, 23};
    const size_t keys = 56 + strlen(description);
    tamis__kafka_record record = sample(4);

    (void)state;
    record.timed = true;
    record.newest = 258;
    record.needed = 3;
    record.bytes_before = 772;
    encoded made = encode(record, hashes, times);
    assert_int_equal(made.size, keys + 17 + 31 + 1 + 1 + 8);
    assert_memory_equal(made.bytes, "TKSR\5\2", 6);
    assert_memory_equal(made.bytes + 8, "\xe8\3\0\0\0\0\0\0\xd0\7\0\0\0\0\0\0\4\0\0\0\7\0\0\0", 24);
    assert_memory_equal(made.bytes + 32, "\2\1\0\0\0\0\0\0\3\0\0\0\0\0\0\0\4\3\0\0\0\0\0\0", 24);
    assert_memory_equal(made.bytes + keys, "\xa\0\0\0\0\0\0\0\xa\0\0\0\0\0\0\0\2", 17);
    /* 62 bits each: 1; all ones; 0; 258 */
    assert_memory_equal(made.bytes + keys + 17,
                        "\1\0\0\0\0\0\0\xc0\xff\xff\xff\xff\xff\xff\xff\xf\0\0\0\0\0\0\0\x8\4\0\0\0\0\0\0",
                        31);
    assert_int_equal(made.bytes[keys + 17 + 31], 0x4b);     /* 1 1 0 1 0 0 1 */
    assert_int_equal(made.bytes[keys + 17 + 31 + 1], 0xd4); /* 0, 1, 1 and 3 steps */
    free(made.bytes);
    record = sample(1);
    record.bits = 128;
    made = encode(record, hashes, NULL);
    assert_int_equal(made.size, keys + 8 + 8 + 1 + 8);
    assert_memory_equal(made.bytes, "TKSR\5\4", 6);
    assert_memory_equal(made.bytes + keys, "\x9\0\0\0\0\0\0\0\2\1\0\0\0\0\0\xc0\1", 17);
    free(made.bytes);
    record = sample(4);
    record.bits = 48;
    made = encode(record, hashes, NULL);
    assert_int_equal(made.size, keys + 23 + 1 + 8);
    assert_memory_equal(made.bytes, "TKSR\5\x8", 6);
    /* 46 bits each: 0; all ones; 0; 0 */
    assert_memory_equal(made.bytes + keys, "\0\0\0\0\0\xc0\xff\xff\xff\xff\xff\xf\0\0\0\0\0\0\0\0\0\0\0\x4b",
                        24);
    free(made.bytes);
    made = encode(sample(0), NULL, NULL);
    assert_int_equal(made.size, keys + 8);
    free(made.bytes);
}

/* The largest times are far apart, and steps are short, so each number of steps takes as many bits as it can. */
static void largest(void **state) {
    tamis_hash *hashes = calloc(TAMIS__KAFKA_RECORD_HASHES, sizeof *hashes);
    int64_t *times = calloc(TAMIS__KAFKA_RECORD_HASHES, sizeof *times);
    tamis__kafka_record record = sample(TAMIS__KAFKA_RECORD_HASHES);

    (void)state;
    assert_non_null(hashes);
    assert_non_null(times);
    for (size_t i = 0; i < TAMIS__KAFKA_RECORD_HASHES; i++) {
        hashes[i].word[0] = i;
        times[i] = i % 2 == 0 ? TAMIS_TIME_MAX : 0;
    }
    record.timed = true;
    record.bits = 128;
    record.step = 1;
    const encoded made = encode(record, hashes, times);
    assert_int_equal(made.size, tamis__kafka_record_size_max(record.description_size, record.count));
    assert_true(made.size < 1000000); /* the limit of clients */
    assert_null(tamis__kafka_record_decode(&record, made.bytes, made.size));
    assert_int_equal(tamis__kafka_record_read(&record, SIZE_MAX, 0, hashes, times),
                     TAMIS__KAFKA_RECORD_HASHES);
    assert_int_equal(hashes[TAMIS__KAFKA_RECORD_HASHES - 1].word[0], TAMIS__KAFKA_RECORD_HASHES - 1);
    assert_int_equal(times[TAMIS__KAFKA_RECORD_HASHES - 2], TAMIS_TIME_MAX);
    free(made.bytes);
    free(hashes);
    free(times);
}

static void truncated(void **state) {
    const encoded made = encode(sample(4), few, few_times);
    tamis__kafka_record record;

    (void)state;
    for (size_t size = 0; size < made.size; size++) {
        uint8_t *copy = malloc(size + 1); /* so that a sanitizer finds a read behind the end */
        assert_non_null(copy);
        memcpy(copy, made.bytes, size);
        uint8_t *bytes = realloc(copy, size > 0 ? size : 1);
        assert_non_null(bytes);
        assert_non_null(tamis__kafka_record_decode(&record, bytes, size));
        free(bytes);
    }
    free(made.bytes);
}

static void flipped(void **state) {
    tamis__kafka_record record = sample(2);

    (void)state;
    record.timed = true;
    const encoded made = encode(record, few, few_times);
    for (size_t i = 0; i < made.size; i++)
        for (int bit = 0; bit < 8; bit++) {
            made.bytes[i] ^= (uint8_t)(1 << bit);
            assert_non_null(tamis__kafka_record_decode(&record, made.bytes, made.size));
            made.bytes[i] ^= (uint8_t)(1 << bit);
        }
    assert_null(tamis__kafka_record_decode(&record, made.bytes, made.size));
    free(made.bytes);
}

/* Decodes the record with the right checksum, and compares the reason. */
static void expect_refused(encoded made, const char *why) {
    tamis__kafka_record decoded;

    tamis__store64le(made.bytes + made.size - 8, XXH3_64bits(made.bytes, made.size - 8));
    assert_string_equal(tamis__kafka_record_decode(&decoded, made.bytes, made.size), why);
    free(made.bytes);
}

/* Valid checksums, and contents that cannot be. */
static void impossible(void **state) {
    static const char offsets[] = "has impossible offsets", times[] = "has impossible times",
                      hashes[] = "has impossible hashes", size[] = "has another size than it says";
    const size_t keys = 56 + strlen(description), high = keys + 31, steps = keys + 17 + 31 + 1;
    tamis__kafka_record record = sample(1), timed = sample(4);
    encoded made;

    (void)state;
    record.from = 2001;
    expect_refused(encode(record, few, few_times), offsets);
    record.from = 0;
    record.to = UINT64_MAX;
    expect_refused(encode(record, few, few_times), offsets);
    record = sample(1);
    record.newest = 1; /* without a window */
    expect_refused(encode(record, few, few_times), times);

    /* Another version. */
    made = encode(sample(1), few, NULL);
    made.bytes[4] = 4;
    expect_refused(made, "has another version of the format");
    made = encode(sample(1), few, NULL);
    made.bytes[5] = 12; /* 48 and 128 bits */
    expect_refused(made, "has another version of the format");
    made = encode(sample(1), few, NULL);
    made.bytes[5] = 8; /* 64 bits are there */
    expect_refused(made, size);

    /* Numbers of keys that need another size, or too many. */
    for (int count = 0; count < 256; count++)
        if (count != 4) {
            made = encode(sample(4), few, NULL);
            made.bytes[24] = (uint8_t)count;
            expect_refused(made, size);
        }
    made = encode(sample(4), few, NULL);
    memset(made.bytes + 24, 0xff, 4);
    expect_refused(made, size);

    /* The high bits: a key too many or too few; a bit behind them. Then one behind the low bits. */
    for (int bit = 0; bit < 8; bit++) {
        made = encode(sample(4), few, NULL);
        made.bytes[high] ^= (uint8_t)(1 << bit);
        expect_refused(made, hashes);
    }
    made = encode(sample(3), few, NULL);
    made.bytes[keys + 23] |= 0x80; /* 3 keys have 186 bits */
    expect_refused(made, hashes);

    timed.timed = true;
    timed.newest = -2;
    expect_refused(encode(timed, few, few_times), times);
    timed.newest = -1;
    expect_refused(encode(timed, few, (const int64_t[]){5, TAMIS_TIME_MAX + STEP, 5, 5}), times);
    for (int i = 0; i < 7; i++) {
        made = encode(timed, few, (const int64_t[]){10, 20, 30, 40}); /* 2 bits each */
        assert_int_equal(made.bytes[keys + 16], 2);
        if (i == 0)
            tamis__store64le(made.bytes + keys, 11); /* no whole step */
        if (i == 1)
            tamis__store64le(made.bytes + keys, (uint64_t)-10);
        if (i == 2)
            tamis__store64le(made.bytes + keys + 8, 0);
        if (i == 3)
            tamis__store64le(made.bytes + keys + 8, UINT64_MAX); /* the times are too large */
        if (i == 4)
            made.bytes[steps] |= 0x55; /* none is 0 */
        if (i == 5)
            made.bytes[steps] &= 0x55; /* a bit would suffice */
        if (i == 6)
            tamis__store64le(made.bytes + keys, (uint64_t)TAMIS_TIME_MAX / 10 * 10);
        expect_refused(made, times);
    }
    /* Widths. */
    for (int width = 0; width < 256; width++)
        if (width != 1 && width != 2) { /* 4 keys: both take a byte */
            made = encode(timed, few, (const int64_t[]){10, 20, 30, 40});
            made.bytes[keys + 16] = (uint8_t)width;
            expect_refused(made, size);
        }
    made = encode(timed, few, (const int64_t[]){10, 20, 30, 40});
    made.bytes[keys + 16] = 1;
    expect_refused(made, times);
    timed.count = 0;
    made = encode(timed, NULL, NULL);
    tamis__store64le(made.bytes + keys, 10);
    expect_refused(made, times);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip), cmocka_unit_test(random_round_trip), cmocka_unit_test(layout),
        cmocka_unit_test(largest),    cmocka_unit_test(truncated),         cmocka_unit_test(flipped),
        cmocka_unit_test(impossible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
