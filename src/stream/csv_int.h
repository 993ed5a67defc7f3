/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_CSV_INT_H
#define TAMIS_STREAM_CSV_INT_H

#include <stddef.h>
#include <stdint.h>

/*
 * What is quoted among 64 bytes of CSV, a bit each. Were all quotes to open and close in turn, a byte is within where
 * the number of quotes up to it is odd; a doubled quote closes and opens again, which comes to the same:
 *
 *     bytes    a , " b " " , " , c
 *     within   0 0 1 1 0 1 1 0 0 0
 *
 * They do so if each quote that opens stands where a field starts, or behind one that closes, and behind each that
 * closes stands a separator, or one that opens. Where not, quotes may stand in an unquoted field, or the record be
 * malformed: which it is takes a closer look than this.
 */

/* What is known between two blocks. All zero: within an unquoted field. */
typedef struct tamis__csv_edge {
    uint64_t within; /* all ones: within quotes */
    uint64_t opens;  /* 1: the next byte may be a quote that opens */
    uint64_t closed; /* 1: the last byte was a quote that closes */
} tamis__csv_edge;

typedef struct tamis__csv_block {
    uint64_t within; /* with the quote that opens, without the one that closes */
    uint64_t odd;    /* quotes that do not open and close in turn */
    uint64_t behind; /* bytes behind a closing quote that may not stand there */
} tamis__csv_block;

/* Of `size` bytes, at least one; *edge is that before them, then that behind. */
static inline tamis__csv_block tamis__csv_look(uint64_t quotes, uint64_t separators, size_t size,
                                               tamis__csv_edge *edge) {
    uint64_t within = quotes;
    within ^= within << 1; /* each bit becomes the parity of those up to it */
    within ^= within << 2;
    within ^= within << 4;
    within ^= within << 8;
    within ^= within << 16;
    within ^= within << 32;
    within ^= edge->within;
    uint64_t closing = quotes & ~within;
    uint64_t opens = separators | closing; /* of separators within too: a quote behind such a one closes */
    tamis__csv_block block = {
        .within = within,
        .odd = quotes & within & ~(opens << 1 | edge->opens),
        .behind = (closing << 1 | edge->closed) & ~(quotes | separators) & UINT64_MAX >> (64 - size),
    };
    *edge = (tamis__csv_edge){-(within >> 63), opens >> (size - 1) & 1, closing >> (size - 1) & 1};
    return block;
}

#endif
