/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Values of the state topic. The checksum is computed here, so that the rest is reached: the input is a state record
 * without its last 8 bytes. What is decoded is encoded again, and gives the same bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "kafka/kafka_record.h"

enum { CHECK = 8 };

static void check(bool holds) {
    if (!holds)
        abort();
}

static void encode_again(const tamis__kafka_record *record, const uint8_t *bytes, size_t size) {
    const size_t max = tamis__kafka_record_size_max(record->description_size, record->count);
    tamis__kafka_record unread = *record;
    tamis_hash *hashes = calloc(record->count + 1, sizeof *hashes);
    int64_t *times = calloc(record->count + 1, sizeof *times);
    uint8_t *encoded = malloc(max);
    size_t read = 0;

    check(hashes && times && encoded);
    while (unread.left > 0) /* in pieces, as a restore does */
        read += tamis__kafka_record_read(&unread, 1000, 1, hashes + read, times + read);
    check(read == record->count);
    check(tamis__kafka_record_encode(encoded, record, hashes, times) == size && size <= max);
    check(memcmp(encoded, bytes, size) == 0);
    free(hashes);
    free(times);
    free(encoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t *bytes = malloc(size + CHECK); /* exactly its size, for a sanitizer */
    tamis__kafka_record record;

    check(bytes);
    if (size > 0)
        memcpy(bytes, data, size);
    tamis__store64le(bytes + size, XXH3_64bits(bytes, size));
    const char *why = tamis__kafka_record_decode(&record, bytes, size + CHECK);
    if (why)
        check(*why != '\0');
    else
        encode_again(&record, bytes, size + CHECK);
    bytes[size] ^= 1; /* a wrong checksum is always found */
    check(tamis__kafka_record_decode(&record, bytes, size + CHECK));
    free(bytes);
    return 0;
}
