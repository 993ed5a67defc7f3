/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Of 64 bytes at once there are, a bit each, `ends` (terminators), `quotes`, and of these `opens`, which stand where a
 * field starts as far as the byte before tells. From where it is, a walk goes to the next bit that means something there:
 *
 *     OUTSIDE     ends, opens    a record ends, a quoted field begins
 *     WITHIN      quotes         the field is closed, or a quote is doubled: what stands behind it tells (AT_QUOTE)
 *     BEHIND      ends           something stands behind a closing quote that may not: nothing is quoted until the end
 *
 * Outside of quotes the byte before an open is a delimiter or terminator that is one, since within quotes opens are not
 * looked at, and a closing quote is neither. So plain fields cost nothing, nor do quotes in the midst of them, and a
 * quoted field costs two steps whatever is in it.
 */
#include "base/marks.h"
#include "stream/split_int.h"

enum { AT_START = 0, OUTSIDE, WITHIN, AT_QUOTE, BEHIND };

typedef struct block {
    const unsigned char *bytes;
    size_t size;
    uint64_t ends, quotes, opens;
    unsigned char terminator, delimiter;
} block;

static block look(const unsigned char *bytes, size_t size, const tamis__stretch *stretch,
                  unsigned char delimiter, uint8_t place) {
    block b = {bytes, size, 0, 0, 0, stretch->terminator, delimiter};
    b.ends = tamis__marks_of(bytes, size, b.terminator);
    b.quotes = tamis__marks_of(bytes, size, '"');
    if (b.quotes) {
        uint64_t starts = (b.ends | tamis__marks_of(bytes, size, delimiter)) << 1 | (place == AT_START);
        b.opens = b.quotes & starts;
    }
    return b;
}

/* The first of these marks from `at` on, which is below 64; `size` if there is none. */
static inline size_t next_of(uint64_t marks, size_t at, size_t size) {
    marks >>= at;
    return marks ? at + (size_t)__builtin_ctzll(marks) : size;
}

/* Walks through a block; false where cutting ends. */
static bool walk(const block *b, uint8_t *place, tamis__cutting *c) {
    size_t at = 0;
    while (at < b->size) {
        unsigned char byte = b->bytes[at];
        switch (*place) {
        case WITHIN:
            at = next_of(b->quotes, at, b->size) + 1;
            *place = at <= b->size ? AT_QUOTE : WITHIN;
            break;
        case AT_QUOTE:
            *place = byte == '"' ? WITHIN : byte == b->delimiter || byte == b->terminator ? OUTSIDE : BEHIND;
            at += byte == '"';
            break;
        default:
            at = next_of(*place == BEHIND ? b->ends : b->ends | b->opens, at, b->size);
            if (at == b->size)
                break;
            if (b->ends >> at & 1 && !tamis__cut(c, b->bytes + at))
                return false;
            *place = b->ends >> at & 1 ? OUTSIDE : WITHIN;
            at++;
        }
    }
    unsigned char last = b->bytes[b->size - 1];
    if (*place <= OUTSIDE)
        *place = last == b->delimiter || last == b->terminator ? AT_START : OUTSIDE;
    return true;
}

size_t tamis__split_csv(tamis__stretch *stretch, unsigned char delimiter, uint8_t *place, tamis_key *keys,
                        size_t capacity) {
    const unsigned char *scan = stretch->scan, *end = stretch->end;
    tamis__cutting c = {stretch->start, keys, 0, capacity, stretch->max_record};
    bool cuts = capacity > 0;
    while (cuts && scan < end) {
        size_t size = end - scan < TAMIS__MARKS ? (size_t)(end - scan) : TAMIS__MARKS;
        block b = look(scan, size, stretch, delimiter, *place);
        cuts = walk(&b, place, &c);
        scan += size;
    }
    if (!cuts && capacity > 0) { /* before the end of the block, or of a record that is too long */
        scan = c.start;
        *place = AT_START;
    }
    stretch->start = c.start;
    stretch->scan = scan;
    return c.count;
}
