/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * State records: what one transaction has answered in one partition.
 *
 *     at   0      4         5       6   8      16   24      28          32       40       48            48+D
 *          | TKSR | version | flags | D | from | to | count | partition | newest | needed | description | keys | check |
 *            4      1         1       2   8      8    4       4           8        8        D                    8 bytes
 *
 *          keys   | hash | hash | ... |                    8 bytes each; of whole digests 16
 *                 | hash | hash | ... | time | time ...    with a window: the times behind them, 1 to 8 bytes each
 *
 * All numbers are little-endian. The hashes are in the order in which the keys came. The check is XXH3 with
 * 64 bits over all bytes before it.
 *
 * Why 8 bytes. The state topic has the hash of each key once, and little else, so its size is that of a hash
 * times the number of keys. Two keys of n have equal hashes of 64 bits with a chance of n / 2^64 a lookup:
 * 5e-11 with 10^9 keys. Filters that are exact or promise less than 1e-9 have whole digests instead. Fewer
 * than 64 bits would do for one size of a filter, but then it could not be built again with another size.
 *
 * Times. Keys that come one after the other have times near each other. So a time is written as the
 * difference to the time before it (the first time: to 0), in groups of 7 bits, low ones first. A set top bit
 * says that another group follows. A difference d is written as 2d, or as -2d - 1 if it is negative. So
 * differences of up to 63 ms take one byte.
 *
 * - Flag 1 marks the first record of a chain. A chain without it has lost its beginning, for example because
 *   somebody has made the topic again.
 * - Flag 4 says that hashes have 16 bytes.
 * - Flag 2 says that the keys have times, in milliseconds since 1970. `newest` is the largest time of all
 *   records so far, duplicates included: it decides which keys have expired. All keys of state records below
 *   offset `needed` have expired.
 * - A record says by itself what its keys are (the description), so a member with other options is refused
 *   whatever part of the chain it reads.
 * - It says which partition it belongs to. A record that a tool copied to another partition is no part of the
 *   chain there.
 * - The brokers have checksums of their own. This one is end to end: it also covers a client or a tool that
 *   damages the bytes before it sends them.
 * - 32,768 hashes with times make 0.75 MB at the most, below the limits of 1 MB that clients and brokers have
 *   by default. A transaction with more keys writes several records.
 *
 * docs/KAFKA-PROTOCOL.md specifies the layout, and decides if the two differ.
 */
#include "kafka/kafka_record.h"

#include <string.h>
#include <tamis/experimental/window.h>
#include <xxhash.h>

#include "base/bytes.h"

/* A time has at most 8 groups of 7 bits: TAMIS_TIME_MAX is 2^53, and twice a difference below 2^55. */
enum { HEADER = 48, SHORT_HASH = 8, WHOLE_HASH = 16, TIME_BYTES = 8, CHECK = 8, VERSION = 3 };
enum { BEGINS = 1, TIMED = 2, WHOLE = 4 };
static const char magic[4] = {'T', 'K', 'S', 'R'};

size_t tamis__kafka_record_size_max(size_t description_size, size_t count) {
    return HEADER + description_size + (WHOLE_HASH + TIME_BYTES) * count + CHECK;
}

/* ---- times ---- */

static uint8_t *encode_time(uint8_t *to, int64_t before, int64_t time) {
    uint64_t left = time >= before ? 2 * (uint64_t)(time - before) : 2 * (uint64_t)(before - time) - 1;

    for (; left >= 0x80; left >>= 7)
        *to++ = (uint8_t)(left | 0x80);
    *to++ = (uint8_t)left;
    return to;
}

/* Decodes a time behind `before` and moves *from. Returns -1 if encode_time cannot have written
 * these bytes. */
static int64_t decode_time(const uint8_t **from, const uint8_t *end, int64_t before) {
    uint64_t value = 0;
    unsigned shift = 0;

    for (; *from < end && **from & 0x80 && shift < 7 * (TIME_BYTES - 1); shift += 7)
        value |= (uint64_t)(*(*from)++ & 0x7f) << shift;
    if (*from == end || **from & 0x80 || (**from == 0 && shift > 0))
        return -1;
    value |= (uint64_t) * (*from)++ << shift;
    const int64_t half = (int64_t)(value / 2), time = value % 2 == 0 ? before + half : before - half - 1;
    return time >= 0 && time <= TAMIS_TIME_MAX ? time : -1;
}

/* ---- records ---- */

size_t tamis__kafka_key_size(bool whole, bool timed, uint64_t milliseconds) {
    uint8_t time[TIME_BYTES];
    const size_t hash = whole ? WHOLE_HASH : SHORT_HASH;

    return timed ? hash + (size_t)(encode_time(time, 0, (int64_t)milliseconds) - time) : hash;
}

size_t tamis__kafka_record_encode(uint8_t *bytes, const tamis__kafka_record *record, const tamis_hash *hashes,
                                  const int64_t *times) {
    const uint32_t flags =
        (record->begins ? BEGINS : 0u) | (record->timed ? TIMED : 0u) | (record->whole ? WHOLE : 0u);
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
    for (size_t i = 0; i < record->count; i++, to += record->whole ? WHOLE_HASH : SHORT_HASH) {
        if (record->whole)
            tamis__store64le(to, hashes[i].word[0]);
        tamis__store64le(record->whole ? to + 8 : to, hashes[i].word[1]);
    }
    for (size_t i = 0; record->timed && i < record->count; i++)
        to = encode_time(to, i > 0 ? times[i - 1] : 0, times[i]);
    tamis__store64le(to, XXH3_64bits(bytes, (size_t)(to - bytes)));
    return (size_t)(to - bytes) + CHECK;
}

/* True if all times are valid. In a record that is not the last one of its transaction they may
 * be later than `newest`. */
static bool has_valid_times(const tamis__kafka_record *record) {
    const uint8_t *from = record->times;

    if (!record->timed)
        return record->newest == -1 && record->needed == 0;
    int64_t time = 0;
    for (size_t i = 0; i < record->count && time >= 0; i++)
        time = decode_time(&from, record->end, time);
    return time >= 0 && from == record->end && record->newest >= -1 && record->newest <= TAMIS_TIME_MAX;
}

const char *tamis__kafka_record_decode(tamis__kafka_record *record, const void *bytes, size_t size) {
    const uint8_t *head = bytes;

    if (size < HEADER + CHECK || memcmp(head, magic, sizeof magic) != 0)
        return "was not written by tamis";
    if (head[4] != VERSION || head[5] > (BEGINS | TIMED | WHOLE))
        return "has another version of the format";

    const size_t description_size = tamis__load16le(head + 6), count = tamis__load32le(head + 24);
    const bool timed = head[5] & TIMED, whole = head[5] & WHOLE;
    const size_t without_times =
        HEADER + description_size + (whole ? WHOLE_HASH : SHORT_HASH) * count + CHECK;
    const uint64_t from = tamis__load64le(head + 8), to = tamis__load64le(head + 16);
    if (description_size > TAMIS__KAFKA_RECORD_DESCRIPTION || count > TAMIS__KAFKA_RECORD_HASHES ||
        (timed ? size < without_times : size != without_times))
        return "has another size than it says";
    if (tamis__load64le(head + size - CHECK) != XXH3_64bits(head, size - CHECK))
        return "is damaged (its checksum is wrong)";
    if (from > to || to > INT64_MAX)
        return "has impossible offsets";

    const tamis__kafka_record found = {.partition = tamis__load32le(head + 28),
                                       .begins = head[5] & BEGINS,
                                       .timed = timed,
                                       .whole = whole,
                                       .from = from,
                                       .to = to,
                                       .newest = (int64_t)tamis__load64le(head + 32),
                                       .needed = tamis__load64le(head + 40),
                                       .description = (const char *)head + HEADER,
                                       .description_size = description_size,
                                       .count = count,
                                       .hashes = head + HEADER + description_size,
                                       .times = head + without_times - CHECK,
                                       .end = head + size - CHECK,
                                       .left = count};
    if (!has_valid_times(&found))
        return "has impossible times";
    *record = found;
    return NULL;
}

size_t tamis__kafka_record_read(tamis__kafka_record *record, size_t max, uint64_t hasher_id,
                                tamis_hash *hashes, int64_t *times) {
    const size_t count = record->left < max ? record->left : max;

    for (size_t i = 0; i < count; i++) {
        const uint64_t first = tamis__load64le(record->hashes);
        hashes[i] = record->whole ? (tamis_hash){{first, tamis__load64le(record->hashes + 8)}, hasher_id}
                                  : tamis__kafka_short_hash(first, hasher_id);
        record->hashes += record->whole ? WHOLE_HASH : SHORT_HASH;
        if (record->timed)
            record->time = decode_time(&record->times, record->end, record->time);
        times[i] = record->time;
    }
    record->left -= count;
    return count;
}
