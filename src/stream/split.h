/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_SPLIT_H
#define TAMIS_STREAM_SPLIT_H

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
 * The same for CSV: a terminator within quotes, of a field that begins with one, is part of its record. *place is what is
 * known at `scan`; the caller sets it to 0 at the start of an input and leaves it alone.
 */
size_t tamis__split_csv(tamis__stretch *stretch, unsigned char delimiter, uint8_t *place, tamis_key *keys,
                        size_t capacity);

/* How often `byte` stands in [from, to). */
uint64_t tamis__count_byte(const unsigned char *from, const unsigned char *to, unsigned char byte);

#endif
