/* SPDX-License-Identifier: BSD-2-Clause */
/* State records of Kafka: what is encoded comes back; any other bytes are refused. */
#include "kafka/kafka_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char description[] = "from=in\nto=out\nkey=json:/id";

typedef struct encoded {
    uint8_t *bytes;
    size_t size;
} encoded;

static encoded encode(tamis__kafka_record record, const tamis_hash *hashes) {
    encoded made = {.size = tamis__kafka_record_size(record.description_size, record.count)};

    made.bytes = malloc(made.size);
    assert_non_null(made.bytes);
    tamis__kafka_record_encode(made.bytes, &record, hashes);
    return made;
}

static tamis__kafka_record sample(size_t count) {
    return (tamis__kafka_record){.partition = 7,
                                 .from = 1000,
                                 .to = 2000,
                                 .description = description,
                                 .description_size = strlen(description),
                                 .count = count};
}

static const tamis_hash few[] = {{{0, 0}, 5}, {{1, 0}, 5}, {{UINT64_MAX, UINT64_MAX}, 5}, {{0, 1}, 5}};

static void round_trip(void **state) {
    (void)state;
    for (size_t count = 0; count <= 4; count++) {
        tamis__kafka_record record = sample(count);
        record.begins = count % 2;
        const encoded made = encode(record, few);
        tamis_hash hashes[4];
        assert_null(tamis__kafka_record_decode(&record, made.bytes, made.size));
        assert_int_equal(record.partition, 7);
        assert_int_equal(record.begins, count % 2);
        assert_int_equal(record.from, 1000);
        assert_int_equal(record.to, 2000);
        assert_int_equal(record.count, count);
        assert_int_equal(record.description_size, strlen(description));
        assert_memory_equal(record.description, description, strlen(description));
        tamis__kafka_record_hashes(&record, 0, count, 5, hashes);
        assert_memory_equal(hashes, few, count * sizeof *few);
        free(made.bytes);
    }
}

/* The layout of docs/KAFKA-PROTOCOL.md, byte by byte. */
static void layout(void **state) {
    const encoded made = encode(sample(1), few + 1);
    const size_t hashes = 32 + strlen(description);

    (void)state;
    assert_int_equal(made.size, hashes + 16 + 8);
    assert_memory_equal(made.bytes, "TKSR\1\0", 6);
    assert_memory_equal(made.bytes + 8, "\xe8\3\0\0\0\0\0\0\xd0\7\0\0\0\0\0\0\1\0\0\0\7\0\0\0", 24);
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
    const encoded made = encode(sample(TAMIS__KAFKA_RECORD_HASHES), hashes);
    assert_true(made.size < 1000000); /* the limit of clients */
    assert_null(tamis__kafka_record_decode(&record, made.bytes, made.size));
    tamis__kafka_record_hashes(&record, TAMIS__KAFKA_RECORD_HASHES - 1, 1, 0, &last);
    assert_int_equal(last.word[0], TAMIS__KAFKA_RECORD_HASHES - 1);
    free(made.bytes);
    free(hashes);
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
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip), cmocka_unit_test(layout),  cmocka_unit_test(largest),
        cmocka_unit_test(truncated),  cmocka_unit_test(flipped), cmocka_unit_test(impossible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
