/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_SPLIT_SPLIT_H
#define TAMIS_STREAM_SPLIT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/key.h>

/* A span of input to be cut into records. */
typedef struct tamis__split_span {
    const unsigned char *start; /* start of the first record */
    const unsigned char *scan;  /* earlier calls found no terminator before this byte */
    const unsigned char *end;
    uint64_t max_record; /* longest record; cutting stops before a longer one */
    unsigned char terminator;
} tamis__split_span;

/*
 * Cuts complete records from the front of the span, at most `capacity`, and returns their number. A record is
 * complete if its terminator is in the span. records[i] is a view of record i without its terminator. `start`
 * moves past the records, `scan` to where the next call begins. If the result is 0 and scan < end, the first
 * record is too long.
 */
size_t tamis__split(tamis__split_span *span, tamis_key *records, size_t capacity);

/*
 * The same for CSV. A terminator within a quoted field does not end the record; a field is quoted if its
 * first byte is a quote. A record with text after a closing quote is malformed, and ends at the next
 * terminator. *state is the parser's state at span->scan: 0 at the beginning of an input, then as the last
 * call left it. The delimiter is neither a quote nor the terminator.
 */
size_t tamis__split_csv(tamis__split_span *span, unsigned char delimiter, uint8_t *state, tamis_key *records,
                        size_t capacity);

/* True if the parser's state is within quotes. */
bool tamis__split_csv_within(uint8_t state);

/* Counts the occurrences of `byte` in [from, to). */
uint64_t tamis__count_byte(const unsigned char *from, const unsigned char *to, unsigned char byte);

#endif
