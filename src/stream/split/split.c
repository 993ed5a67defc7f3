/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Splitting input into records at a terminator byte.
 *
 *     input     a b c \n d e \n f g h i \n ...
 *     ends            3      6          11       offsets of terminators, up to 512 at a time (kernel `find`)
 *     records   |---|    |-|    |-----|          between two ends
 *
 * Two loops do this. The first finds terminators 64 bytes at a time, with vector instructions (kernels/). The
 * second makes a view of each record. Neither loop branches on the data. A loop that searched record by
 * record would mispredict a branch at the end of nearly every short record.
 *
 * `scan` remembers how far the input was searched. A long record that arrives in many reads is thus searched
 * only once.
 */
#include "stream/kernels/stream_kernels.h"
#include "stream/split/split_int.h"

enum { ENDS_AT_ONCE = 512 }; /* ends found at a time; they stay in the L1 cache until they are used */

/* Bytes searched at a time, so that offsets fit into 32 bits. */
static const size_t SCAN_MAX = (size_t)1 << 30;

bool tamis__cut_all(tamis__cutting *c, const unsigned char *from, const uint32_t *ends, size_t count) {
    if (count > c->capacity - c->count)
        count = c->capacity - c->count;
    if (count == 0)
        return true;
    tamis_key *records = c->records + c->count;
    if ((uint64_t)(from + ends[count - 1] - c->start) > c->max_record) { /* or an earlier one */
        bool goes_on = true;
        for (size_t i = 0; goes_on && i < count; i++)
            goes_on = tamis__cut(c, from + ends[i]);
        return goes_on;
    }
    records[0] = (tamis_key){c->start, (size_t)(from + ends[0] - c->start)};
    for (size_t i = 1; i < count; i++)
        records[i] = (tamis_key){from + ends[i - 1] + 1, ends[i] - ends[i - 1] - 1};
    c->start = from + ends[count - 1] + 1;
    c->count += count;
    return c->count < c->capacity;
}

size_t tamis__split(tamis__split_span *span, tamis_key *records, size_t capacity) {
    const struct tamis__stream_kernels *kernels = tamis__stream_kernels();
    const unsigned char *scan = span->scan, *end = span->end;
    tamis__cutting c = {.start = span->start,
                        .records = records,
                        .count = 0,
                        .capacity = capacity,
                        .max_record = span->max_record};
    uint32_t ends[ENDS_AT_ONCE + TAMIS__FIND_SLACK];
    bool goes_on = capacity > 0;
    while (goes_on && scan < end) {
        const unsigned char *from = scan, *to = (size_t)(end - scan) > SCAN_MAX ? scan + SCAN_MAX : end;
        const size_t enough = capacity - c.count < ENDS_AT_ONCE ? capacity - c.count : ENDS_AT_ONCE;
        const size_t count = kernels->find(&scan, to, span->terminator, enough, ends);
        goes_on = tamis__cut_all(&c, from, ends, count);
    }
    if (!goes_on && capacity > 0) /* continue after the last record that was cut */
        scan = c.start;
    span->start = c.start;
    span->scan = scan;
    return c.count;
}

uint64_t tamis__count_byte(const unsigned char *from, const unsigned char *to, unsigned char byte) {
    return tamis__stream_kernels()->count(from, to, byte);
}
