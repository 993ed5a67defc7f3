/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_SPLIT_H
#define TAMIS_STREAM_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/key.h>

/* A stretch of input to cut into records. */
typedef struct tamis__stretch {
    const unsigned char *start; /* of the first record */
    const unsigned char *scan;  /* no terminator stands before this: what an earlier look has shown */
    const unsigned char *end;
    uint64_t max_record; /* cutting stops before a record longer than this */
    unsigned char terminator;
} tamis__stretch;

/*
 * Cuts whole records (those whose terminator is in the stretch) off the front, at most `capacity`:
 * keys[i] is the view of record i without its terminator. Moves start past them and scan to where the
 * next look has to begin. Returns how many there are. 0 and scan < end: the first record is too long.
 */
size_t tamis__split(tamis__stretch *stretch, tamis_key *keys, size_t capacity);

/*
 * The same for CSV with this delimiter: a terminator within a quoted field, one whose first byte is a quote, does not
 * end the record. Where such a field goes on behind its closing quote the record is malformed, and ends at the next
 * terminator. *place is what is known of stretch->scan: 0 at the beginning of an input, else what the last look has
 * left. The delimiter is no quote, and not the terminator.
 */
size_t tamis__split_csv(tamis__stretch *stretch, unsigned char delimiter, uint8_t *place, tamis_key *keys,
                        size_t capacity);

/* Whether that place is within quotes. */
bool tamis__split_csv_within(uint8_t place);

/* How often `byte` stands in [from, to). */
uint64_t tamis__count_byte(const unsigned char *from, const unsigned char *to, unsigned char byte);

#endif
