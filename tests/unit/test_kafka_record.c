/* SPDX-License-Identifier: BSD-2-Clause */
/* State records of Kafka: what is encoded comes back; any other bytes are refused. */
#include "kafka/kafka_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <tamis/experimental/window.h>

static const char description[] = "from=in\nto=out\nkey=json:/id";

typedef struct encoded {
    uint8_t *bytes;
    size_t size;
} encoded;

static const int64_t few_times[] = {TAMIS_TIME_MAX, 0, 1, TAMIS_TIME_MAX};

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
                                 .description = description,
                                 .description_size = strlen(description),
                                 .count = count};
}

static const tamis_hash few[] = {{{0, 0}, 5}, {{1, 0}, 5}, {{UINT64_MAX, UINT64_MAX}, 5}, {{0, 1}, 5}};

/* Every combination of flags, and 0 to 4 hashes, read `max` at a time. */
static void round_trip(void **state) {
    (void)state;
    for (unsigned i = 0; i < 8 * 5 * 4; i++) {
        const size_t count = i / 8 % 5, max = i / 40 + 1;
        tamis__kafka_record record = sample(count);
        record.begins = i % 2;
        record.timed = i & 2;
        record.whole = i & 4;
        record.newest = record.timed ? TAMIS_TIME_MAX : -1;
        record.needed = record.timed ? 99 : 0;
        const encoded made = encode(record, few, few_times);
        tamis_hash hashes[4];
        int64_t times[4];
        size_t read = 0;
        assert_null(tamis__kafka_record_decode(&record, made.bytes, made.size));
        assert_int_equal(record.partition, 7);
        assert_int_equal(record.begins, i % 2);
        assert_int_equal(record.timed, (i & 2) != 0);
        assert_int_equal(record.whole, (i & 4) != 0);
        assert_int_equal(record.from, 1000);
        assert_int_equal(record.to, 2000);
        assert_int_equal(record.newest, record.timed ? TAMIS_TIME_MAX : -1);
        assert_int_equal(record.needed, record.timed ? 99 : 0);
        assert_int_equal(record.count, count);
        assert_int_equal(record.description_size, strlen(description));
        assert_memory_equal(record.description, description, strlen(description));
        while (record.left > 0)
            read += tamis__kafka_record_read(&record, max, 5, hashes + read, times + read);
        assert_int_equal(read, count);
        for (size_t k = 0; k < count; k++) {
            const tamis_hash expected = record.whole ? few[k] : tamis__kafka_short_hash(few[k].word[1], 5);
            assert_memory_equal(&hashes[k], &expected, sizeof expected);
            assert_int_equal(times[k], record.timed ? few_times[k] : 0);
        }
        free(made.bytes);
    }
}

/* The layout of docs/KAFKA-PROTOCOL.md, byte by byte. */
static void layout(void **state) {
    static const tamis_hash hashes[] = {{{9, 258}, 5}, {{8, 1}, 5}};
    static const int64_t times[] = {64, 1};
    const size_t keys = 48 + strlen(description);
    tamis__kafka_record record = sample(2);

    (void)state;
    record.timed = true;
    record.newest = 258;
    record.needed = 3;
    encoded made = encode(record, hashes, times);
    assert_int_equal(made.size, keys + 2 * 8 + 3 + 8);
    assert_memory_equal(made.bytes, "TKSR\3\2", 6);
    assert_memory_equal(made.bytes + 8, "\xe8\3\0\0\0\0\0\0\xd0\7\0\0\0\0\0\0\2\0\0\0\7\0\0\0", 24);
    assert_memory_equal(made.bytes + 32, "\2\1\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16);
    assert_memory_equal(made.bytes + keys, "\2\1\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16);
    assert_memory_equal(made.bytes + keys + 16, "\x80\1\x7d", 3); /* 64 more is 128, 63 less is 125 */
    free(made.bytes);
    record = sample(1);
    record.whole = true;
    made = encode(record, hashes, NULL);
    assert_int_equal(made.size, keys + 16 + 8);
    assert_memory_equal(made.bytes, "TKSR\3\4", 6);
    assert_memory_equal(made.bytes + keys, "\x9\0\0\0\0\0\0\0\2\1\0\0\0\0\0\0", 16);
    free(made.bytes);
}

/* The largest times are far apart, so each takes as many bytes as it can. */
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
    record.timed = record.whole = true;
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

/* Valid checksums, and contents that cannot be. */
static void impossible(void **state) {
    tamis__kafka_record record = sample(1), decoded;
    encoded made;

    (void)state;
    record.from = 2001;
    made = encode(record, few, few_times);
    assert_string_equal(tamis__kafka_record_decode(&decoded, made.bytes, made.size),
                        "has impossible offsets");
    free(made.bytes);
    record.from = 0;
    record.to = UINT64_MAX;
    made = encode(record, few, few_times);
    assert_string_equal(tamis__kafka_record_decode(&decoded, made.bytes, made.size),
                        "has impossible offsets");
    free(made.bytes);
    record = sample(3);
    record.timed = true;
    record.newest = -2;
    made = encode(record, few, few_times);
    assert_string_equal(tamis__kafka_record_decode(&decoded, made.bytes, made.size), "has impossible times");
    free(made.bytes);
    record = sample(2);
    record.timed = true;
    made = encode(record, few, (const int64_t[]){5, TAMIS_TIME_MAX + 1});
    assert_string_equal(tamis__kafka_record_decode(&decoded, made.bytes, made.size), "has impossible times");
    free(made.bytes);
    made = encode(record, few, (const int64_t[]){5, -1});
    assert_string_equal(tamis__kafka_record_decode(&decoded, made.bytes, made.size), "has impossible times");
    free(made.bytes);
    record = sample(1);
    record.needed = 1; /* without a window */
    made = encode(record, few, few_times);
    assert_string_equal(tamis__kafka_record_decode(&decoded, made.bytes, made.size), "has impossible times");
    free(made.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip), cmocka_unit_test(layout),  cmocka_unit_test(largest),
        cmocka_unit_test(truncated),  cmocka_unit_test(flipped), cmocka_unit_test(impossible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
