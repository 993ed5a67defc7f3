/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memchr of the C library is vectorised and serves here; a call a record is what it costs. Kernels that
 * find all terminators of a block at once would take this function's place.
 */
#include "stream/split.h"

#include <string.h>

size_t tamis__split(tamis__stretch *stretch, tamis_key *keys, size_t capacity) {
    const unsigned char *start = stretch->start;
    const unsigned char *scan = stretch->scan;
    size_t count = 0;
    while (count < capacity && scan < stretch->end) {
        const unsigned char *hit = memchr(scan, stretch->terminator, (size_t)(stretch->end - scan));
        if (!hit) {
            scan = stretch->end;
            break;
        }
        if ((uint64_t)(hit - start) > stretch->max_record) {
            scan = start;
            break;
        }
        keys[count++] = (tamis_key){start, (size_t)(hit - start)};
        start = scan = hit + 1;
    }
    stretch->start = start;
    stretch->scan = scan;
    return count;
}
