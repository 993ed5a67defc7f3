/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Splitting CSV into records: only terminators outside of quotes end a record.
 *
 * Each block of 64 bytes becomes three words of 64 bits: where terminators, quotes and delimiters are.
 *
 *     bytes        a , " b \n c " , d \n
 *     terminators  . . . .  1 . . . .  1
 *     quotes       . . 1 .  . . 1 . .  .
 *     within       . . 1 1  1 1 . . .  .       by csv_int.h
 *     ends         . . . .  . . . . .  1       terminators not within quotes
 *
 * Fast path (look): if the quotes of a block open and close fields alternately, all ends come from a few
 * operations on the words. Slow path (walk): a block with other quotes goes byte by byte from one relevant
 * byte to the next. `opens` are the quotes at the start of a field, judged by the byte before them. The state
 * decides what is relevant:
 *
 *     OUTSIDE     ends, opens    a record ends; a quoted field begins
 *     WITHIN      quotes         the field ends, or a quote is doubled; the next byte decides (AT_QUOTE)
 *     BEHIND      ends           malformed: text after a closing quote; ignores quotes until the end
 *
 * The byte before an open is always a real delimiter or terminator. Within quotes `opens` are ignored, and a
 * closing quote is neither.
 */
#include "stream/csv_int.h"
#include "stream/kernels/stream_kernels.h"
#include "stream/split_int.h"

enum { AT_START = 0, OUTSIDE, WITHIN, AT_QUOTE, BEHIND };

enum { MARKED = 16 }; /* blocks marked at a time */

typedef struct block {
    const unsigned char *bytes;
    size_t size;
    tamis__csv_marks marks;
    unsigned char terminator, delimiter;
} block;

/* Fast path. False if the quotes do not open and close fields alternately. Otherwise sets *ends to the
 * terminators outside quotes, and *place to the state after the block. */
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
    if (quoted.behind) /* a CR before a terminator is allowed there */
        quoted.behind &= ~(tamis__marks_of(b->bytes, b->size, '\r') & b->marks.ends >> 1);
    if (quoted.odd | quoted.behind)
        return false;
    *ends = b->marks.ends & ~quoted.within;
    *place = edge.within ? WITHIN : edge.closed ? AT_QUOTE : edge.opens ? AT_START : OUTSIDE;
    return true;
}

/* Returns the position of the first mark at or after `at` (< 64), or `size` if there is none. */
static size_t next_of(uint64_t marks, size_t at, size_t size) {
    marks >>= at;
    return marks ? at + (size_t)__builtin_ctzll(marks) : size;
}

/* Slow path: walks through a block. False if cutting stops. */
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

typedef struct marked {
    const unsigned char *bytes;
    size_t count, size; /* number of blocks; bytes in the last one */
    tamis__csv_marks marks[MARKED];
} marked;

/* Marks up to MARKED whole blocks, or the last one if it is shorter. */
static void mark(marked *m, const struct tamis__stream_kernels *kernels, const tamis__stretch *stretch,
                 const unsigned char *from, unsigned char delimiter) {
    const size_t left = (size_t)(stretch->end - from), whole = left / TAMIS__MARKS;
    m->bytes = from;
    m->count = whole < MARKED ? whole : MARKED;
    m->size = TAMIS__MARKS;
    kernels->mark_csv(from, m->count, stretch->terminator, delimiter, m->marks);
    if (whole == 0) {
        m->count = 1;
        m->size = left;
        m->marks[0] =
            (tamis__csv_marks){tamis__marks_of(from, left, stretch->terminator),
                               tamis__marks_of(from, left, '"'), tamis__marks_of(from, left, delimiter)};
    }
}

/* Cuts the records that end in consecutive blocks. False if cutting stops. */
static bool cut_ends(tamis__cutting *c, const struct tamis__stream_kernels *kernels,
                     const unsigned char *from, const uint64_t *ends, size_t blocks) {
    uint32_t offsets[MARKED * TAMIS__MARKS + TAMIS__FIND_OVER];
    return tamis__cut_all(c, from, offsets, kernels->offsets(ends, blocks, offsets));
}

/* Cuts the records of all marked blocks. False if cutting stops. */
static bool cut_marked(tamis__cutting *c, const struct tamis__stream_kernels *kernels, const marked *m,
                       const tamis__stretch *stretch, unsigned char delimiter, uint8_t *place) {
    uint64_t ends[MARKED];
    size_t done = 0; /* blocks that are already cut; `ends` of the later ones wait */
    for (size_t i = 0; i < m->count; i++) {
        const unsigned char *bytes = m->bytes + i * TAMIS__MARKS;
        const block b = {bytes, m->size, m->marks[i], stretch->terminator, delimiter};
        if (look(&b, place, &ends[i]))
            continue;
        if (!cut_ends(c, kernels, m->bytes + done * TAMIS__MARKS, ends + done, i - done) ||
            !walk(&b, place, c))
            return false;
        done = i + 1;
    }
    return cut_ends(c, kernels, m->bytes + done * TAMIS__MARKS, ends + done, m->count - done);
}

size_t tamis__split_csv(tamis__stretch *stretch, unsigned char delimiter, uint8_t *place, tamis_key *keys,
                        size_t capacity) {
    const struct tamis__stream_kernels *kernels = tamis__stream_kernels();
    const unsigned char *scan = stretch->scan, *end = stretch->end;
    tamis__cutting c = {stretch->start, keys, 0, capacity, stretch->max_record};
    marked m;
    bool cuts = capacity > 0;
    while (cuts && scan < end) {
        mark(&m, kernels, stretch, scan, delimiter);
        cuts = cut_marked(&c, kernels, &m, stretch, delimiter, place);
        scan += (m.count - 1) * TAMIS__MARKS + m.size;
    }
    if (!cuts && capacity > 0) { /* continue after the last record that was cut */
        scan = c.start;
        *place = AT_START;
    }
    stretch->start = c.start;
    stretch->scan = scan;
    return c.count;
}
