/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_SPLIT_CSV_QUOTES_H
#define TAMIS_STREAM_SPLIT_CSV_QUOTES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Quotes of CSV, for 64 bytes at a time, one bit a byte.
 *
 * If all quotes open and close alternately, a byte is within quotes where the number of quotes up to it is
 * odd. A doubled quote closes and opens again, which gives the right result:
 *
 *     bytes    a , " b " " , " , c
 *     within   0 0 1 1 0 1 1 0 0 0
 *
 * The quotes open and close alternately if
 * - each opening quote is at the start of a field, or right after a closing quote, and
 * - each closing quote is followed by a separator or an opening quote.
 * Otherwise an unquoted field contains quotes, or the record is malformed. The callers then take a slower
 * path.
 *
 * The parity of all prefixes is computed by six shifts and exclusive ors (a prefix sum modulo 2).
 */

/* State between two blocks. All zero: in an unquoted field. */
typedef struct tamis__csv_edge {
    uint64_t within; /* all ones: within quotes */
    uint64_t opens;  /* 1: the next byte may be an opening quote */
    uint64_t closed; /* 1: the last byte was a closing quote */
} tamis__csv_edge;

typedef struct tamis__csv_block {
    uint64_t within;      /* bytes within quotes, with the opening and without the closing quote */
    uint64_t odd;         /* quotes that do not open and close alternately */
    uint64_t after_quote; /* bytes after a closing quote that are not allowed there */
} tamis__csv_block;

/* Examines a block of 1 to 64 bytes. *edge is the state before it, and becomes the state after it. */
static inline tamis__csv_block tamis__csv_scan(uint64_t quotes, uint64_t separators, size_t size,
                                               tamis__csv_edge *edge) {
    uint64_t within = quotes;
    within ^= within << 1; /* each bit becomes the parity of the bits up to it */
    within ^= within << 2;
    within ^= within << 4;
    within ^= within << 8;
    within ^= within << 16;
    within ^= within << 32;
    within ^= edge->within;
    uint64_t closing = quotes & ~within;
    /* Separators within quotes are included: a quote after one closes, so it is not tested below. */
    uint64_t opens = separators | closing;
    tamis__csv_block block = {
        .within = within,
        .odd = quotes & within & ~(opens << 1 | edge->opens),
        .after_quote = (closing << 1 | edge->closed) & ~(quotes | separators) & UINT64_MAX >> (64 - size),
    };
    *edge = (tamis__csv_edge){-(within >> 63), opens >> (size - 1) & 1, closing >> (size - 1) & 1};
    return block;
}

#endif
