/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Splitting CSV into records: only terminators outside of quotes end a record.
 *
 * Each block of 64 bytes becomes three words of 64 bits: where terminators, quotes and delimiters are.
 *
 *     bytes        a , " b \n c " , d \n
 *     terminators  . . . .  1 . . . .  1
 *     quotes       . . 1 .  . . 1 . .  .
 *     within       . . 1 1  1 1 . . .  .       by csv_quotes.h
 *     ends         . . . .  . . . . .  1       terminators not within quotes
 *
 * Fast path (scan_block): if the quotes of a block open and close fields alternately, all ends come from a
 * few operations on the words. Slow path (walk_block): a block with other quotes is read from one relevant
 * byte to the next. `opens` are the quotes at the start of a field, judged by the byte before them. The state
 * decides what is relevant:
 *
 *     FIELD_START, UNQUOTED    ends, opens    a record ends; a quoted field begins
 *     QUOTED                   quotes         the field ends, or a quote is doubled
 *     QUOTE_SEEN               every byte     a second quote: back to QUOTED; else the field ended
 *     AFTER_QUOTE              ends           malformed: text after a closing quote; quotes are ignored
 *
 * The byte before an open is always a real delimiter or terminator. Within quotes `opens` are ignored, and a
 * closing quote is neither.
 */
#include "stream/kernels/stream_kernels.h"
#include "stream/split/csv_quotes.h"
#include "stream/split/split_int.h"

enum { FIELD_START = 0, UNQUOTED, QUOTED, QUOTE_SEEN, AFTER_QUOTE };

enum { BLOCKS = 16 }; /* blocks whose masks are computed at a time */

typedef struct block {
    const unsigned char *bytes;
    size_t size;
    tamis__csv_masks masks;
    unsigned char terminator, delimiter;
} block;

/* Fast path. False if the quotes do not open and close fields alternately. Otherwise sets *ends to the
 * terminators outside quotes, and *state to the state after the block. */
static bool scan_block(const block *b, uint8_t *state, uint64_t *ends) {
    tamis__csv_edge edge = {
        .within = *state == QUOTED ? UINT64_MAX : 0,
        .opens = *state == FIELD_START || *state == QUOTE_SEEN,
        .closed = *state == QUOTE_SEEN,
    };
    if (*state == AFTER_QUOTE)
        return false;
    tamis__csv_block quoted =
        tamis__csv_scan(b->masks.quotes, b->masks.ends | b->masks.delimiters, b->size, &edge);
    if (quoted.after_quote) /* a CR before a terminator is allowed there */
        quoted.after_quote &= ~(tamis__byte_mask(b->bytes, b->size, '\r') & b->masks.ends >> 1);
    if (quoted.odd | quoted.after_quote)
        return false;
    *ends = b->masks.ends & ~quoted.within;
    *state = edge.within ? QUOTED : edge.closed ? QUOTE_SEEN : edge.opens ? FIELD_START : UNQUOTED;
    return true;
}

/* Returns the position of the first bit at or after `pos` (< 64), or `size` if there is none. */
static size_t next_bit(uint64_t masks, size_t pos, size_t size) {
    masks >>= pos;
    return masks ? pos + (size_t)__builtin_ctzll(masks) : size;
}

/* Slow path: walks through a block. False if cutting stops. */
static bool walk_block(const block *b, uint8_t *state, tamis__cutting *c) {
    const unsigned char last = b->bytes[b->size - 1];
    const uint64_t opens =
        b->masks.quotes & ((b->masks.ends | b->masks.delimiters) << 1 | (*state == FIELD_START));
    size_t pos = 0;
    while (pos < b->size) {
        const unsigned char byte = b->bytes[pos];
        switch (*state) {
        case QUOTED:
            pos = next_bit(b->masks.quotes, pos, b->size) + 1;
            *state = pos <= b->size ? QUOTE_SEEN : QUOTED;
            break;
        case QUOTE_SEEN:
            *state = byte == '"'                                     ? QUOTED
                     : byte == b->delimiter || byte == b->terminator ? UNQUOTED
                                                                     : AFTER_QUOTE;
            pos += byte == '"';
            break;
        default:
            pos = next_bit(*state == AFTER_QUOTE ? b->masks.ends : b->masks.ends | opens, pos, b->size);
            if (pos == b->size)
                break;
            if (b->masks.ends >> pos & 1 && !tamis__cut(c, b->bytes + pos))
                return false;
            *state = b->masks.ends >> pos & 1 ? UNQUOTED : QUOTED;
            pos++;
        }
    }
    if (*state <= UNQUOTED)
        *state = last == b->delimiter || last == b->terminator ? FIELD_START : UNQUOTED;
    return true;
}

bool tamis__split_csv_within(uint8_t state) {
    return state == QUOTED;
}

typedef struct block_masks {
    const struct tamis__stream_kernels *kernels;
    unsigned char terminator, delimiter;
    const unsigned char *bytes;
    size_t count, size; /* number of blocks; bytes in the last one */
    tamis__csv_masks masks[BLOCKS];
} block_masks;

/* Computes the masks of up to BLOCKS whole blocks from `from` on, or of the last one if it is shorter. */
static void compute_masks(block_masks *m, const unsigned char *from, const unsigned char *end) {
    const size_t left = (size_t)(end - from), whole = left / TAMIS__BYTE_MASK_SIZE;
    m->bytes = from;
    m->count = whole < BLOCKS ? whole : BLOCKS;
    m->size = TAMIS__BYTE_MASK_SIZE;
    m->kernels->mask_csv(from, m->count, m->terminator, m->delimiter, m->masks);
    if (whole == 0) {
        m->count = 1;
        m->size = left;
        m->masks[0] =
            (tamis__csv_masks){tamis__byte_mask(from, left, m->terminator), tamis__byte_mask(from, left, '"'),
                               tamis__byte_mask(from, left, m->delimiter)};
    }
}

/* Cuts the records whose ends are in the blocks `first` to `last - 1`. False if cutting stops. */
static bool cut_ends(tamis__cutting *c, const block_masks *m, const uint64_t *ends, size_t first,
                     size_t last) {
    uint32_t offsets[BLOCKS * TAMIS__BYTE_MASK_SIZE + TAMIS__FIND_SLACK];
    return tamis__cut_all(c, m->bytes + first * TAMIS__BYTE_MASK_SIZE, offsets,
                          m->kernels->offsets(ends + first, last - first, offsets));
}

/* Cuts the records of all blocks with masks. False if cutting stops. */
static bool cut_blocks(tamis__cutting *c, const block_masks *m, uint8_t *state) {
    uint64_t ends[BLOCKS];
    size_t done = 0; /* blocks that are already cut; `ends` of the later ones wait */
    for (size_t i = 0; i < m->count; i++) {
        const unsigned char *bytes = m->bytes + i * TAMIS__BYTE_MASK_SIZE;
        const block b = {.bytes = bytes,
                         .size = m->size,
                         .masks = m->masks[i],
                         .terminator = m->terminator,
                         .delimiter = m->delimiter};
        if (scan_block(&b, state, &ends[i]))
            continue;
        if (!cut_ends(c, m, ends, done, i) || !walk_block(&b, state, c))
            return false;
        done = i + 1;
    }
    return cut_ends(c, m, ends, done, m->count);
}

size_t tamis__split_csv(tamis__split_span *span, unsigned char delimiter, uint8_t *state, tamis_key *records,
                        size_t capacity) {
    const unsigned char *scan = span->scan, *end = span->end;
    tamis__cutting c = {.start = span->start,
                        .records = records,
                        .count = 0,
                        .capacity = capacity,
                        .max_record = span->max_record};
    block_masks m;
    m.kernels = tamis__stream_kernels();
    m.terminator = span->terminator;
    m.delimiter = delimiter;
    bool cuts = capacity > 0;
    while (cuts && scan < end) {
        compute_masks(&m, scan, end);
        cuts = cut_blocks(&c, &m, state);
        scan += (m.count - 1) * TAMIS__BYTE_MASK_SIZE + m.size;
    }
    if (!cuts && capacity > 0) { /* continue after the last record that was cut */
        scan = c.start;
        *state = FIELD_START;
    }
    span->start = c.start;
    span->scan = scan;
    return c.count;
}
