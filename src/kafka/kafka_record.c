/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * State records: what one transaction has answered in one partition.
 *
 *     at   0      4         5       6   8      16   24      28          32       40       48
 *          | TKSR | version | flags | D | from | to | count | partition | newest | needed | bytes before |
 *            4      1         1       2   8      8    4       4           8        8        8 bytes
 *
 *     at   56            56+D
 *          | description | keys | check |
 *            D                    8 bytes
 *
 *          keys   | first | step | width |                 with a window: 8, 8 and 1 bytes
 *                 | first word | first word | ...          of whole digests: 8 bytes each
 *                 | low bits | low bits | ...              of the words, b - d bits each
 *                 | 1 1 0 1 0 0 1 ... |                    high bits of the words
 *                 | steps | steps | ...                    with a window: `width` bits each
 *
 * All numbers are little-endian; bits are numbered from the lowest one of the first byte. The check is XXH3
 * with 64 bits over all bytes before it.
 *
 * Hashes (the code of Elias and Fano). The state topic has the hash of each key once, and little else. So its
 * size is that of a hash times the number of keys. The order of the keys of a record has no meaning, so it
 * need not be stored: that saves nearly log2(count) bits a key. The keys are sorted by the high d bits of
 * their word, where 2^d is the first power of two that is not below `count`. The other b - d bits of each
 * word follow each other; b is 64, or 48 with flag 8. The high d bits are numbers that never go down, from 0
 * to 2^d - 1. They are in unary: a 1 for each key, and a 0 whenever the number goes up by one. For four keys
 * (d is 2):
 *
 *     high bits     0 0 1 3
 *     written       1 1 0 1 0 0 1          count ones, 2^d - 1 zeros
 *
 * So n keys take b - d + (n + 2^d) / n bits each, at most b + 2 - log2(n), whatever the hashes are. With 64
 * bits that is 51 bits for 32,768 keys, 57 for 512, 65 for one. No code of sorted random numbers takes less
 * than b + 1.44 - log2(n) bits. Golomb-Rice codes take about 0.1 more than that, but then the size depends on
 * the hashes, so it tells a reader nothing. Measured: 4 ns a key to encode, 4 to check and read.
 *
 * Bits of a hash. With n earlier keys, a new one has the hash of one of them with a chance of n / 2^b.
 * Filters that are exact or promise less than 1e-9 have whole digests. The second word is sorted, and the
 * first one is written as it is. Other hashes have 64 bits, which add 5e-11 with 10^9 keys, or 48 if the plan
 * allows it: kafka_plan.c says when. All records of a chain have the same number of bits, because a lookup
 * shortens its hash in the same way.
 *
 * Times. A window compares times by whole steps, so a record has the step of each key. `first` is the time at
 * which the earliest step begins, and each key has the number of steps from there to its own. `width` is the
 * fewest bits that these numbers need; 0 if all keys are of one step. Keys do not come back in the order in
 * which they were written, so a window counts them in any order.
 *
 * - Flag 1 marks the first record of a chain. A chain without it has lost its beginning, for example because
 *   somebody has made the topic again.
 * - Flag 4 says that hashes have 128 bits, flag 8 that they have 48.
 * - Flag 2 says that the keys have times, in milliseconds since 1970. `newest` is the largest time of all
 *   records so far, duplicates included: it decides which keys have expired.
 * - State records below offset `needed` are not needed. With a window all their keys have expired; without
 *   one they are in later records too (kafka_merge.c).
 * - The bytes before are those of all records of the chain that were ever committed. So the first and the
 *   last record of a topic say how many bytes are between them (kafka_status.c).
 * - A record says by itself what its keys are (the description). So a member with other options is refused
 *   whatever part of the chain it reads.
 * - It says which partition it belongs to. A record that a tool copied to another partition is not part of
 *   the chain there.
 * - The brokers have checksums of their own. This one is end to end: it also covers a client or a tool that
 *   damages the bytes before it sends them.
 * - 32,768 hashes with times make 0.7 MB at the most, below the limits of 1 MB that clients and brokers have
 *   by default. A transaction with more keys writes several records.
 *
 * docs/KAFKA-PROTOCOL.md specifies the layout, and decides if the two differ.
 */
#include "kafka/kafka_record.h"

#include <string.h>
#include <tamis/experimental/window.h>
#include <xxhash.h>

#include "base/bytes.h"

enum { HEADER = 56, TIMES = 8 + 8 + 1, WORD = 8, CHECK = 8, VERSION = 5 };
enum { BEGINS = 1, TIMED = 2, WHOLE = 4, SHORT = 8 };
enum { WIDTH_MAX = 54 }; /* TAMIS_TIME_MAX is 2^53, and a step has a millisecond or more */
static const char magic[4] = {'T', 'K', 'S', 'R'};

/* ---- bits ---- */

static uint64_t mask(unsigned width) {
    return width == 0 ? 0 : UINT64_MAX >> (64 - width);
}

/* Writes a number of `width` bits at `bit`. The bits there are 0. 8 bytes follow, which keep their values. */
static void put_bits(uint8_t *bytes, size_t bit, unsigned width, uint64_t value) {
    const unsigned shift = bit % 8;

    bytes += bit / 8;
    tamis__store64le(bytes, tamis__load64le(bytes) | value << shift);
    if (shift + width > 64)
        bytes[8] |= (uint8_t)(value >> (64 - shift));
}

/* Reads a number of `width` bits at `bit`. 8 bytes follow that may be read too. */
static uint64_t get_bits(const uint8_t *bytes, size_t bit, unsigned width) {
    const unsigned shift = bit % 8;

    bytes += bit / 8;
    uint64_t value = tamis__load64le(bytes) >> shift;
    if (shift + width > 64)
        value |= (uint64_t)bytes[8] << (64 - shift);
    return value & mask(width);
}

/* Returns the fewest bits that have the number. */
static unsigned width_of(uint64_t number) {
    return number == 0 ? 0 : 64 - (unsigned)__builtin_clzll(number);
}

/* ---- the parts of a record ---- */

/* Bits of a word by which keys are sorted. */
static unsigned sorted_bits(size_t count) {
    return count < 2 ? 0 : width_of(count - 1);
}

/* The other bits of a word. */
static unsigned low_bits(const tamis__kafka_record *record) {
    return (record->bits < 64 ? record->bits : 64) - sorted_bits(record->count);
}

/* Bits of the high bits of all words. */
static size_t bitmap_bits(size_t count) {
    return count + ((size_t)1 << sorted_bits(count)) - 1;
}

static size_t bytes_of(size_t bits) {
    return (bits + 7) / 8;
}

/* Where the parts of a record begin. */
typedef struct parts {
    size_t times, words, low, high, steps, check;
} parts;

static parts find_parts(const tamis__kafka_record *record) {
    const size_t count = record->count;
    parts start = {.times = HEADER + record->description_size};

    start.words = start.times + (record->timed ? TIMES : 0);
    start.low = start.words + (record->bits == 128 ? WORD * count : 0);
    start.high = start.low + bytes_of(count * low_bits(record));
    start.steps = start.high + bytes_of(bitmap_bits(count));
    start.check = start.steps + bytes_of(count * record->width);
    return start;
}

size_t tamis__kafka_record_size(size_t description_size, size_t count, unsigned bits, int width) {
    const tamis__kafka_record record = {.timed = width >= 0,
                                        .bits = bits,
                                        .description_size = description_size,
                                        .count = count,
                                        .width = width >= 0 ? (unsigned)width : 0};

    return find_parts(&record).check + CHECK;
}

size_t tamis__kafka_record_size_max(size_t description_size, size_t count) {
    return tamis__kafka_record_size(description_size, count, 128, WIDTH_MAX);
}

/* ---- encoding ---- */

/* The first d bits of the word of a key; d is below 64. */
static size_t bucket_of(const tamis_hash *hash, unsigned d) {
    return (size_t)(hash->word[1] >> 1 >> (63 - d));
}

/* Replaces the number of keys of each bucket by the number of keys before it. */
static void sum_up(uint16_t *buckets, size_t count) {
    unsigned before = 0;

    for (size_t i = 0; i < count; i++) {
        const unsigned keys = buckets[i];
        buckets[i] = (uint16_t)before;
        before += keys;
    }
}

/* Sets `first` and `width` of a record with these times. */
static void measure_times(tamis__kafka_record *record, const int64_t *times) {
    const int64_t step = (int64_t)record->step;
    int64_t first = INT64_MAX, last = 0;

    for (size_t i = 0; i < record->count; i++) {
        first = times[i] < first ? times[i] : first;
        last = times[i] > last ? times[i] : last;
    }
    record->first = record->count > 0 ? first / step * step : 0;
    record->width = width_of((uint64_t)(last - record->first) / record->step);
}

size_t tamis__kafka_record_encode(uint8_t *bytes, const tamis__kafka_record *plain, const tamis_hash *hashes,
                                  const int64_t *times) {
    tamis__kafka_record record = *plain;
    const unsigned d = sorted_bits(record.count), low = low_bits(&record), shift = record.bits == 48 ? 16 : 0;
    uint16_t buckets[TAMIS__KAFKA_RECORD_HASHES]; /* a power of two */

    record.width = 0;
    if (record.timed)
        measure_times(&record, times);
    const parts start = find_parts(&record);
    memset(bytes + HEADER, 0, start.check + CHECK - HEADER);
    memcpy(bytes, magic, sizeof magic);
    const uint32_t flags = (record.begins ? BEGINS : 0u) | (record.timed ? TIMED : 0u) |
                           (record.bits == 128 ? WHOLE : 0u) | (record.bits == 48 ? SHORT : 0u);
    tamis__store32le(bytes + 4, VERSION | flags << 8 | (uint32_t)record.description_size << 16);
    tamis__store64le(bytes + 8, record.from);
    tamis__store64le(bytes + 16, record.to);
    tamis__store32le(bytes + 24, (uint32_t)record.count);
    tamis__store32le(bytes + 28, record.partition);
    tamis__store64le(bytes + 32, (uint64_t)record.newest);
    tamis__store64le(bytes + 40, record.needed);
    tamis__store64le(bytes + 48, record.bytes_before);
    memcpy(bytes + HEADER, record.description, record.description_size);
    if (record.timed) {
        tamis__store64le(bytes + start.times, (uint64_t)record.first);
        tamis__store64le(bytes + start.times + 8, record.step);
        bytes[start.times + 16] = (uint8_t)record.width;
    }

    memset(buckets, 0, sizeof *buckets << d);
    for (size_t i = 0; i < record.count; i++)
        buckets[bucket_of(&hashes[i], d)]++;
    sum_up(buckets, (size_t)1 << d);
    for (size_t i = 0; i < record.count; i++) {
        const size_t bucket = bucket_of(&hashes[i], d), n = buckets[bucket]++; /* its number in the record */
        if (record.bits == 128)
            tamis__store64le(bytes + start.words + WORD * n, hashes[i].word[0]);
        put_bits(bytes + start.low, n * low, low, (hashes[i].word[1] >> shift) & mask(low));
        put_bits(bytes + start.high, bucket + n, 1, 1);
        if (record.width > 0)
            put_bits(bytes + start.steps, n * record.width, record.width,
                     (uint64_t)(times[i] - record.first) / record.step);
    }
    tamis__store64le(bytes + start.check, XXH3_64bits(bytes, start.check));
    return start.check + CHECK;
}

/* ---- decoding ---- */

/* True if the bits behind the first `bits` of a part, up to the byte in which they end, are 0. */
static bool has_no_rest(const uint8_t *part, size_t bits) {
    return bits % 8 == 0 || part[bits / 8] >> (bits % 8) == 0;
}

/* True if the part is one that tamis__kafka_record_encode writes. */
static bool has_valid_hashes(const tamis__kafka_record *record) {
    const size_t bits = bitmap_bits(record->count);
    size_t keys = 0;

    for (size_t i = 0; i < bytes_of(bits); i++)
        keys += (size_t)__builtin_popcount(record->high[i]);
    return keys == record->count && has_no_rest(record->high, bits) &&
           has_no_rest(record->low, record->count * low_bits(record));
}

/* True if all times are valid, and written with the fewest bits. In a record that is not the last one of its
 * transaction they may be later than `newest`. */
static bool has_valid_times(const tamis__kafka_record *record) {
    uint64_t lowest = UINT64_MAX, highest = 0;

    if (!record->timed)
        return record->newest == -1;
    if (record->newest < -1 || record->newest > TAMIS_TIME_MAX || record->first < 0 ||
        record->first > TAMIS_TIME_MAX || record->step == 0 || (uint64_t)record->first % record->step != 0)
        return false;
    for (size_t i = 0; i < record->count; i++) {
        const uint64_t steps = get_bits(record->steps, i * record->width, record->width);
        lowest = steps < lowest ? steps : lowest;
        highest = steps > highest ? steps : highest;
    }
    if (record->count == 0)
        return record->first == 0 && record->width == 0;
    return lowest == 0 && width_of(highest) == record->width &&
           highest <= (uint64_t)(TAMIS_TIME_MAX - record->first) / record->step &&
           has_no_rest(record->steps, record->count * record->width);
}

const char *tamis__kafka_record_decode(tamis__kafka_record *record, const void *bytes, size_t size) {
    const uint8_t *head = bytes;

    if (size < HEADER + CHECK || memcmp(head, magic, sizeof magic) != 0)
        return "was not written by tamis";
    if (head[4] != VERSION || head[5] >= (WHOLE | SHORT))
        return "has another version of the format";

    tamis__kafka_record found = {.partition = tamis__load32le(head + 28),
                                 .begins = head[5] & BEGINS,
                                 .timed = head[5] & TIMED,
                                 .bits = head[5] & WHOLE   ? 128
                                         : head[5] & SHORT ? 48
                                                           : 64,
                                 .from = tamis__load64le(head + 8),
                                 .to = tamis__load64le(head + 16),
                                 .newest = (int64_t)tamis__load64le(head + 32),
                                 .needed = tamis__load64le(head + 40),
                                 .bytes_before = tamis__load64le(head + 48),
                                 .size = size,
                                 .description = (const char *)head + HEADER,
                                 .description_size = tamis__load16le(head + 6),
                                 .count = tamis__load32le(head + 24)};
    parts start = find_parts(&found);
    bool has_size = found.description_size <= TAMIS__KAFKA_RECORD_DESCRIPTION &&
                    found.count <= TAMIS__KAFKA_RECORD_HASHES && start.check + CHECK <= size;
    if (has_size && found.timed) {
        found.first = (int64_t)tamis__load64le(head + start.times);
        found.step = tamis__load64le(head + start.times + 8);
        found.width = head[start.times + 16];
        start = find_parts(&found);
    }
    if (!has_size || found.width > WIDTH_MAX || start.check + CHECK != size)
        return "has another size than it says";
    if (tamis__load64le(head + start.check) != XXH3_64bits(head, start.check))
        return "is damaged (its checksum is wrong)";
    if (found.from > found.to || found.to > INT64_MAX)
        return "has impossible offsets";
    found.words = head + start.words;
    found.low = head + start.low;
    found.high = head + start.high;
    found.steps = head + start.steps;
    if (!has_valid_hashes(&found))
        return "has impossible hashes";
    if (!has_valid_times(&found))
        return "has impossible times";
    found.left = found.count;
    *record = found;
    return NULL;
}

/* Returns the position of the first 1 at `bit` or behind it. There is one. */
static size_t next_key(const uint8_t *bitmap, size_t bit) {
    for (;; bit += 64 - bit % 8) {
        const uint64_t bits = tamis__load64le(bitmap + bit / 8) >> (bit % 8);
        if (bits != 0)
            return bit + (size_t)__builtin_ctzll(bits);
    }
}

size_t tamis__kafka_record_read(tamis__kafka_record *record, size_t max, uint64_t hasher_id,
                                tamis_hash *hashes, int64_t *times) {
    const unsigned low = low_bits(record), shift = record->bits == 48 ? 16 : 0;
    const size_t first = record->count - record->left, count = record->left < max ? record->left : max;

    for (size_t i = 0; i < count; i++) {
        const size_t n = first + i, bit = next_key(record->high, record->bit);
        const uint64_t bucket = bit - n; /* the zeros before it */
        const uint64_t word = (get_bits(record->low, n * low, low) | (bucket == 0 ? 0 : bucket << low))
                              << shift;
        const uint64_t steps = get_bits(record->steps, n * record->width, record->width);
        record->bit = bit + 1;
        hashes[i] = record->bits == 128
                        ? (tamis_hash){{tamis__load64le(record->words + WORD * n), word}, hasher_id}
                        : tamis__kafka_short_hash(word, hasher_id);
        times[i] = record->first + (int64_t)(steps * record->step);
    }
    record->left -= count;
    return count;
}
