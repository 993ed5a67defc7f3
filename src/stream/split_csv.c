/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where quotes open and close in turn, the terminators that are not within are the ends of records, 64 bytes at a time.
 * Other blocks are walked through. Of their quotes `opens` are those that stand where a field starts as far as the byte
 * before tells; from where it is, the walk goes to the next byte that means something there:
 *
 *     OUTSIDE     ends, opens    a record ends, a quoted field begins
 *     WITHIN      quotes         the field is closed, or a quote is doubled: what stands behind it tells (AT_QUOTE)
 *     BEHIND      ends           something stands behind a closing quote that may not: nothing is quoted until the end
 *
 * Outside of quotes the byte before an open is a delimiter or terminator that is one, since within quotes opens are not
 * looked at, and a closing quote is neither.
 */
#include "stream/csv_int.h"
#include "stream/kernels/stream_kernels.h"
#include "stream/split_int.h"

enum { AT_START = 0, OUTSIDE, WITHIN, AT_QUOTE, BEHIND };

enum { MARKED = 32 }; /* blocks at a time */

typedef struct block {
    const unsigned char *bytes;
    size_t size;
    tamis__csv_marks marks;
    unsigned char terminator, delimiter;
} block;

static bool cut_all(uint64_t ends, const unsigned char *bytes, tamis__cutting *c) {
    for (; ends; ends &= ends - 1)
        if (!tamis__cut(c, bytes + __builtin_ctzll(ends)))
            return false;
    return true;
}

/* Whether quotes open and close in turn; *ends then are the terminators outside, and *place is moved behind the
 * block. */
static bool look(const block *b, uint8_t *place, uint64_t *ends) {
    tamis__csv_edge edge = {
        .within = *place == WITHIN ? UINT64_MAX : 0,
        .opens = *place == AT_START || *place == AT_QUOTE,
        .closed = *place == AT_QUOTE,
    };
    if (*place == BEHIND)
        return false;
    tamis__csv_block quoted =
        tamis__csv_look(b->marks.quotes, b->marks.ends | b->marks.delimiters, b->size, &edge);
    if (quoted.behind) /* a CR before a terminator may stand there */
        quoted.behind &= ~(tamis__marks_of(b->bytes, b->size, '\r') & b->marks.ends >> 1);
    if (quoted.odd | quoted.behind)
        return false;
    *ends = b->marks.ends & ~quoted.within;
    *place = edge.within ? WITHIN : edge.closed ? AT_QUOTE : edge.opens ? AT_START : OUTSIDE;
    return true;
}

/* The first of these marks from `at` on, which is below 64; `size` if there is none. */
static size_t next_of(uint64_t marks, size_t at, size_t size) {
    marks >>= at;
    return marks ? at + (size_t)__builtin_ctzll(marks) : size;
}

/* Walks through a block; false where cutting stops. */
static bool walk(const block *b, uint8_t *place, tamis__cutting *c) {
    const unsigned char last = b->bytes[b->size - 1];
    const uint64_t opens =
        b->marks.quotes & ((b->marks.ends | b->marks.delimiters) << 1 | (*place == AT_START));
    size_t at = 0;
    while (at < b->size) {
        unsigned char byte = b->bytes[at];
        switch (*place) {
        case WITHIN:
            at = next_of(b->marks.quotes, at, b->size) + 1;
            *place = at <= b->size ? AT_QUOTE : WITHIN;
            break;
        case AT_QUOTE:
            *place = byte == '"' ? WITHIN : byte == b->delimiter || byte == b->terminator ? OUTSIDE : BEHIND;
            at += byte == '"';
            break;
        default:
            at = next_of(*place == BEHIND ? b->marks.ends : b->marks.ends | opens, at, b->size);
            if (at == b->size)
                break;
            if (b->marks.ends >> at & 1 && !tamis__cut(c, b->bytes + at))
                return false;
            *place = b->marks.ends >> at & 1 ? OUTSIDE : WITHIN;
            at++;
        }
    }
    if (*place <= OUTSIDE)
        *place = last == b->delimiter || last == b->terminator ? AT_START : OUTSIDE;
    return true;
}

bool tamis__split_csv_within(uint8_t place) {
    return place == WITHIN;
}

/* Cuts a block; false where cutting stops. */
static bool cut_block(const block *b, uint8_t *place, tamis__cutting *c) {
    uint64_t ends;
    return look(b, place, &ends) ? cut_all(ends, b->bytes, c) : walk(b, place, c);
}

size_t tamis__split_csv(tamis__stretch *stretch, unsigned char delimiter, uint8_t *place, tamis_key *keys,
                        size_t capacity) {
    const struct tamis__stream_kernels *kernels = tamis__stream_kernels();
    const unsigned char *scan = stretch->scan, *end = stretch->end;
    tamis__cutting c = {stretch->start, keys, 0, capacity, stretch->max_record};
    tamis__csv_marks marks[MARKED];
    bool cuts = capacity > 0;
    while (cuts && scan < end) {
        size_t blocks = (size_t)(end - scan) / TAMIS__MARKS;
        blocks = blocks < MARKED ? blocks : MARKED;
        kernels->mark_csv(scan, blocks, stretch->terminator, delimiter, marks);
        if (blocks == 0) {
            const size_t size = (size_t)(end - scan);
            marks[blocks++] =
                (tamis__csv_marks){tamis__marks_of(scan, size, stretch->terminator),
                                   tamis__marks_of(scan, size, '"'), tamis__marks_of(scan, size, delimiter)};
        }
        for (size_t i = 0; cuts && i < blocks; i++) {
            block b = {scan, TAMIS__MARKS, marks[i], stretch->terminator, delimiter};
            b.size = end - scan < TAMIS__MARKS ? (size_t)(end - scan) : TAMIS__MARKS;
            cuts = cut_block(&b, place, &c);
            scan += b.size;
        }
    }
    if (!cuts && capacity > 0) { /* before the end of the block, or of a record that is too long */
        scan = c.start;
        *place = AT_START;
    }
    stretch->start = c.start;
    stretch->scan = scan;
    return c.count;
}
