/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * State records: what one transaction has answered in one partition.
 *
 *     at   0      4         5       6   8      16   24      28          32            32+D
 *          | TKSR | version | flags | D | from | to | count | partition | description | hashes  | check |
 *            4      1         1       2   8      8    4       4           D             16 each   8 bytes
 *
 * All numbers are little-endian. The hashes are the two words of each new key's digest, in the order in which
 * the keys came. The check is XXH3 with 64 bits over all bytes before it.
 *
 * - Flag 1 marks the first record of a chain. A chain without it has lost its beginning, for example because
 *   somebody has made the topic again.
 * - A record says by itself what its keys are (the description), so a member with other options is refused
 *   whatever part of the chain it reads.
 * - It says which partition it belongs to. A record that a tool copied to another partition is no part of the
 *   chain there.
 * - The brokers have checksums of their own. This one is end to end: it also covers a client or a tool that
 *   damages the bytes before it sends them.
 * - 32,768 hashes make half a MiB, below the limits of 1 MB that clients and brokers have by default. A
 *   transaction with more keys writes several records.
 *
 * docs/KAFKA-PROTOCOL.md is normative.
 */
#include "kafka/kafka_record.h"

#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"

enum { HEADER = 32, HASH = 16, CHECK = 8, VERSION = 1, BEGINS = 1 };
static const char magic[4] = {'T', 'K', 'S', 'R'};

size_t tamis__kafka_record_size(size_t description_size, size_t count) {
    return HEADER + description_size + HASH * count + CHECK;
}

void tamis__kafka_record_encode(uint8_t *bytes, const tamis__kafka_record *record, const tamis_hash *hashes) {
    const size_t size = tamis__kafka_record_size(record->description_size, record->count);
    uint8_t *to = bytes + HEADER;

    memcpy(bytes, magic, sizeof magic);
    tamis__store32le(bytes + 4, VERSION | (record->begins ? BEGINS : 0u) << 8 |
                                    (uint32_t)record->description_size << 16);
    tamis__store64le(bytes + 8, record->from);
    tamis__store64le(bytes + 16, record->to);
    tamis__store32le(bytes + 24, (uint32_t)record->count);
    tamis__store32le(bytes + 28, record->partition);
    memcpy(to, record->description, record->description_size);
    to += record->description_size;
    for (size_t i = 0; i < record->count; i++, to += HASH) {
        tamis__store64le(to, hashes[i].word[0]);
        tamis__store64le(to + 8, hashes[i].word[1]);
    }
    tamis__store64le(to, XXH3_64bits(bytes, size - CHECK));
}

const char *tamis__kafka_record_decode(tamis__kafka_record *record, const void *bytes, size_t size) {
    const uint8_t *head = bytes;

    if (size < HEADER + CHECK || memcmp(head, magic, sizeof magic) != 0)
        return "is none of tamis";
    if (head[4] != VERSION || head[5] > BEGINS)
        return "has a later version of the format";

    const size_t description_size = tamis__load16le(head + 6), count = tamis__load32le(head + 24);
    const uint64_t from = tamis__load64le(head + 8), to = tamis__load64le(head + 16);
    if (description_size > TAMIS__KAFKA_RECORD_DESCRIPTION || count > TAMIS__KAFKA_RECORD_HASHES ||
        size != tamis__kafka_record_size(description_size, count))
        return "has another size than it says";
    if (tamis__load64le(head + size - CHECK) != XXH3_64bits(head, size - CHECK))
        return "is damaged (its checksum is wrong)";
    if (from > to || to > INT64_MAX)
        return "has impossible offsets";

    *record = (tamis__kafka_record){.partition = tamis__load32le(head + 28),
                                    .begins = head[5] == BEGINS,
                                    .from = from,
                                    .to = to,
                                    .description = (const char *)head + HEADER,
                                    .description_size = description_size,
                                    .hashes = head + HEADER + description_size,
                                    .count = count};
    return NULL;
}

void tamis__kafka_record_hashes(const tamis__kafka_record *record, size_t first, size_t count,
                                uint64_t hasher_id, tamis_hash *hashes) {
    const uint8_t *hash = record->hashes + HASH * first;

    for (size_t i = 0; i < count; i++, hash += HASH)
        hashes[i] =
            (tamis_hash){.word = {tamis__load64le(hash), tamis__load64le(hash + 8)}, .hasher_id = hasher_id};
}
