/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terminators are found for 64 bytes at once, a bit each; records are what lies between the bits. Where 64 bytes have
 * none records are long, and memchr of the C library, which is vectorised, goes on from there.
 */
#include <string.h>

#include "base/marks.h"
#include "stream/split_int.h"

size_t tamis__split(tamis__stretch *stretch, tamis_key *keys, size_t capacity) {
    const unsigned char *scan = stretch->scan, *end = stretch->end;
    tamis__cutting c = {stretch->start, keys, 0, capacity, stretch->max_record};
    bool cuts = capacity > 0;
    while (cuts && scan < end) {
        uint64_t marks = end - scan >= TAMIS__MARKS ? tamis__marks_of_64(scan, stretch->terminator) : 0;
        if (!marks) {
            const unsigned char *hit = memchr(scan, stretch->terminator, (size_t)(end - scan));
            cuts = !hit || tamis__cut(&c, hit);
            scan = hit ? c.start : end;
            continue;
        }
        for (; marks && cuts; marks &= marks - 1)
            cuts = tamis__cut(&c, scan + __builtin_ctzll(marks));
        scan = cuts ? scan + TAMIS__MARKS : c.start;
    }
    stretch->start = c.start;
    stretch->scan = scan;
    return c.count;
}

uint64_t tamis__count_byte(const unsigned char *from, const unsigned char *to, unsigned char byte) {
    uint64_t count = 0;
    for (; to - from >= TAMIS__MARKS; from += TAMIS__MARKS)
        count += (uint64_t)__builtin_popcountll(tamis__marks_of_64(from, byte));
    for (; from < to; from++)
        count += *from == byte;
    return count;
}
