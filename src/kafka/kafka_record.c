/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * State records: what one transaction has answered in one partition.
 *
 *     at   0      4         5       6   8      16   24      28          32       40       48            48+D
 *          | TKSR | version | flags | D | from | to | count | partition | newest | needed | description | keys | check |
 *            4      1         1       2   8      8    4       4           8        8        D                    8 bytes
 *
 *          keys   | hash | hash | ... |              without a window: 16 bytes each
 *                 | hash | hash | ... | time | time | ... |       with one: 16 and 8 bytes
 *
 * All numbers are little-endian. The hashes are the two words of each new key's digest, in the order in which
 * the keys came. The check is XXH3 with 64 bits over all bytes before it.
 *
 * - Flag 1 marks the first record of a chain. A chain without it has lost its beginning, for example because
 *   somebody has made the topic again.
 * - Flag 2 says that the keys have times, in milliseconds since 1970. `newest` is the largest time of all
 *   records so far, duplicates included: it decides which keys have expired. All keys of state records below
 *   offset `needed` have expired.
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
#include <tamis/experimental/window.h>
#include <xxhash.h>

#include "base/bytes.h"

enum { HEADER = 48, HASH = 16, TIME = 8, CHECK = 8, VERSION = 2, BEGINS = 1, TIMED = 2 };
static const char magic[4] = {'T', 'K', 'S', 'R'};

size_t tamis__kafka_record_size(size_t description_size, size_t count, bool timed) {
    return HEADER + description_size + (HASH + (timed ? TIME : 0u)) * count + CHECK;
}

void tamis__kafka_record_encode(uint8_t *bytes, const tamis__kafka_record *record, const tamis_hash *hashes,
                                const int64_t *times) {
    const size_t size = tamis__kafka_record_size(record->description_size, record->count, record->timed);
    const uint32_t flags = (record->begins ? BEGINS : 0u) | (record->timed ? TIMED : 0u);
    uint8_t *to = bytes + HEADER;

    memcpy(bytes, magic, sizeof magic);
    tamis__store32le(bytes + 4, VERSION | flags << 8 | (uint32_t)record->description_size << 16);
    tamis__store64le(bytes + 8, record->from);
    tamis__store64le(bytes + 16, record->to);
    tamis__store32le(bytes + 24, (uint32_t)record->count);
    tamis__store32le(bytes + 28, record->partition);
    tamis__store64le(bytes + 32, (uint64_t)record->newest);
    tamis__store64le(bytes + 40, record->needed);
    memcpy(to, record->description, record->description_size);
    to += record->description_size;
    for (size_t i = 0; i < record->count; i++, to += HASH) {
        tamis__store64le(to, hashes[i].word[0]);
        tamis__store64le(to + 8, hashes[i].word[1]);
    }
    for (size_t i = 0; record->timed && i < record->count; i++, to += TIME)
        tamis__store64le(to, (uint64_t)times[i]);
    tamis__store64le(to, XXH3_64bits(bytes, size - CHECK));
}

/* True if all times are valid. In a record that is not the last one of its transaction they may be later than
 * `newest`. */
static bool has_valid_times(const tamis__kafka_record *record) {
    const uint8_t *time = record->hashes + HASH * record->count;

    if (!record->timed)
        return record->newest == -1 && record->needed == 0;
    for (size_t i = 0; i < record->count; i++, time += TIME)
        if (tamis__load64le(time) > (uint64_t)TAMIS_TIME_MAX)
            return false;
    return record->newest >= -1 && record->newest <= TAMIS_TIME_MAX;
}

const char *tamis__kafka_record_decode(tamis__kafka_record *record, const void *bytes, size_t size) {
    const uint8_t *head = bytes;

    if (size < HEADER + CHECK || memcmp(head, magic, sizeof magic) != 0)
        return "is none of tamis";
    if (head[4] != VERSION || head[5] > (BEGINS | TIMED))
        return "has another version of the format";

    const size_t description_size = tamis__load16le(head + 6), count = tamis__load32le(head + 24);
    const bool timed = head[5] & TIMED;
    const uint64_t from = tamis__load64le(head + 8), to = tamis__load64le(head + 16);
    if (description_size > TAMIS__KAFKA_RECORD_DESCRIPTION || count > TAMIS__KAFKA_RECORD_HASHES ||
        size != tamis__kafka_record_size(description_size, count, timed))
        return "has another size than it says";
    if (tamis__load64le(head + size - CHECK) != XXH3_64bits(head, size - CHECK))
        return "is damaged (its checksum is wrong)";
    if (from > to || to > INT64_MAX)
        return "has impossible offsets";

    const tamis__kafka_record found = {.partition = tamis__load32le(head + 28),
                                       .begins = head[5] & BEGINS,
                                       .timed = timed,
                                       .from = from,
                                       .to = to,
                                       .newest = (int64_t)tamis__load64le(head + 32),
                                       .needed = tamis__load64le(head + 40),
                                       .description = (const char *)head + HEADER,
                                       .description_size = description_size,
                                       .hashes = head + HEADER + description_size,
                                       .count = count};
    if (!has_valid_times(&found))
        return "has impossible times";
    *record = found;
    return NULL;
}

void tamis__kafka_record_keys(const tamis__kafka_record *record, size_t first, size_t count,
                              uint64_t hasher_id, tamis_hash *hashes, int64_t *times) {
    const uint8_t *hash = record->hashes + HASH * first;
    const uint8_t *time = record->hashes + HASH * record->count + TIME * first;

    for (size_t i = 0; i < count; i++, hash += HASH, time += TIME) {
        hashes[i] =
            (tamis_hash){.word = {tamis__load64le(hash), tamis__load64le(hash + 8)}, .hasher_id = hasher_id};
        times[i] = record->timed ? (int64_t)tamis__load64le(time) : 0;
    }
}
