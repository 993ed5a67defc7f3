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

static const int64_t few_times[] = {0, 1, TAMIS_TIME_MAX, 7};

static encoded encode(tamis__kafka_record record, const tamis_hash *hashes) {
    encoded made = {.size = tamis__kafka_record_size(record.description_size, record.count, record.timed)};

    made.bytes = malloc(made.size);
    assert_non_null(made.bytes);
    tamis__kafka_record_encode(made.bytes, &record, hashes, few_times);
    return made;
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

static void round_trip(void **state) {
    (void)state;
    for (size_t i = 0; i < 10; i++) {
        const size_t count = i / 2;
        tamis__kafka_record record = sample(count);
        record.begins = count % 2;
        record.timed = i % 2;
        record.newest = record.timed ? TAMIS_TIME_MAX : -1;
        record.needed = record.timed ? 99 : 0;
        const encoded made = encode(record, few);
        tamis_hash hashes[4];
        int64_t times[4];
        assert_null(tamis__kafka_record_decode(&record, made.bytes, made.size));
        assert_int_equal(record.partition, 7);
        assert_int_equal(record.begins, count % 2);
        assert_int_equal(record.timed, i % 2);
        assert_int_equal(record.from, 1000);
        assert_int_equal(record.to, 2000);
        assert_int_equal(record.newest, record.timed ? TAMIS_TIME_MAX : -1);
        assert_int_equal(record.needed, record.timed ? 99 : 0);
        assert_int_equal(record.count, count);
        assert_int_equal(record.description_size, strlen(description));
        assert_memory_equal(record.description, description, strlen(description));
        for (size_t first = 0; first < count; first++) {
            tamis__kafka_record_keys(&record, first, count - first, 5, hashes, times);
            assert_memory_equal(hashes, few + first, (count - first) * sizeof *few);
            for (size_t k = first; k < count; k++)
                assert_int_equal(times[k - first], record.timed ? few_times[k] : 0);
        }
        free(made.bytes);
    }
}

/* The layout of docs/KAFKA-PROTOCOL.md, byte by byte. */
static void layout(void **state) {
    tamis__kafka_record record = sample(1);
    const size_t hashes = 48 + strlen(description);

    (void)state;
    record.timed = true;
    record.newest = 258;
    record.needed = 3;
    const encoded made = encode(record, few + 1);
    assert_int_equal(made.size, hashes + 16 + 8 + 8);
    assert_memory_equal(made.bytes, "TKSR\2\2", 6);
    assert_memory_equal(made.bytes + 8, "\xe8\3\0\0\0\0\0\0\xd0\7\0\0\0\0\0\0\1\0\0\0\7\0\0\0", 24);
    assert_memory_equal(made.bytes + 32, "\2\1\0\0\0\0\0\0\3\0\0\0\0\0\0\0", 16);
    assert_memory_equal(made.bytes + hashes + 16, "\0\0\0\0\0\0\0\0", 8);
    assert_memory_equal(made.bytes + hashes, "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    free(made.bytes);
}

static void largest(void **state) {
    tamis_hash *hashes = calloc(TAMIS__KAFKA_RECORD_HASHES, sizeof *hashes);
    tamis__kafka_record record;
    tamis_hash last;

    (void)state;
    assert_non_null(hashes);
    for (size_t i = 0; i < TAMIS__KAFKA_RECORD_HASHES; i++)
        hashes[i].word[0] = i;
    int64_t *times = calloc(TAMIS__KAFKA_RECORD_HASHES, sizeof *times), last_time;
    assert_non_null(times);
    record = sample(TAMIS__KAFKA_RECORD_HASHES);
    record.timed = true;
    encoded made = {.size = tamis__kafka_record_size(record.description_size, record.count, true)};
    made.bytes = malloc(made.size);
    assert_non_null(made.bytes);
    tamis__kafka_record_encode(made.bytes, &record, hashes, times);
    assert_true(made.size < 1000000); /* the limit of clients */
    assert_null(tamis__kafka_record_decode(&record, made.bytes, made.size));
    tamis__kafka_record_keys(&record, TAMIS__KAFKA_RECORD_HASHES - 1, 1, 0, &last, &last_time);
    assert_int_equal(last.word[0], TAMIS__KAFKA_RECORD_HASHES - 1);
    free(made.bytes);
    free(hashes);
    free(times);
}

static void truncated(void **state) {
    const encoded made = encode(sample(4), few);
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
    const encoded made = encode(sample(2), few);
    tamis__kafka_record record;

    (void)state;
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
    made = encode(record, few);
    assert_string_equal(tamis__kafka_record_decode(&decoded, made.bytes, made.size),
                        "has impossible offsets");
    free(made.bytes);
    record.from = 0;
    record.to = UINT64_MAX;
    made = encode(record, few);
    assert_string_equal(tamis__kafka_record_decode(&decoded, made.bytes, made.size),
                        "has impossible offsets");
    free(made.bytes);
    record = sample(3);
    record.timed = true;
    record.newest = -2;
    made = encode(record, few);
    assert_string_equal(tamis__kafka_record_decode(&decoded, made.bytes, made.size), "has impossible times");
    free(made.bytes);
    record = sample(1);
    record.needed = 1; /* without a window */
    made = encode(record, few);
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
