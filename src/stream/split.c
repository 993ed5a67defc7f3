/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ends of records are found first, as many as there is room for, and then the records made that lie between them: two
 * loops without a branch on what the input holds, where one that cuts record by record guesses wrongly.
 */
#include "stream/kernels/stream_kernels.h"
#include "stream/split_int.h"

enum { FOUND = 512 }; /* ends at a time, which are in the nearest cache when they are used */

/* A stretch of offsets. */
static const size_t LOOKED = (size_t)1 << 30;

bool tamis__cut_all(tamis__cutting *c, const unsigned char *from, const uint32_t *ends, size_t count) {
    if (count > c->capacity - c->count)
        count = c->capacity - c->count;
    if (count == 0)
        return true;
    tamis_key *keys = c->keys + c->count;
    if ((uint64_t)(from + ends[count - 1] - c->start) > c->max_record) { /* or one of them */
        bool cuts = true;
        for (size_t i = 0; cuts && i < count; i++)
            cuts = tamis__cut(c, from + ends[i]);
        return cuts;
    }
    keys[0] = (tamis_key){c->start, (size_t)(from + ends[0] - c->start)};
    for (size_t i = 1; i < count; i++)
        keys[i] = (tamis_key){from + ends[i - 1] + 1, ends[i] - ends[i - 1] - 1};
    c->start = from + ends[count - 1] + 1;
    c->count += count;
    return c->count < c->capacity;
}

size_t tamis__split(tamis__stretch *stretch, tamis_key *keys, size_t capacity) {
    const struct tamis__stream_kernels *kernels = tamis__stream_kernels();
    const unsigned char *scan = stretch->scan, *end = stretch->end;
    tamis__cutting c = {stretch->start, keys, 0, capacity, stretch->max_record};
    uint32_t ends[FOUND + TAMIS__FIND_OVER];
    bool cuts = capacity > 0;
    while (cuts && scan < end) {
        const unsigned char *from = scan, *to = (size_t)(end - scan) > LOOKED ? scan + LOOKED : end;
        const size_t enough = capacity - c.count < FOUND ? capacity - c.count : FOUND;
        const size_t count = kernels->find(&scan, to, stretch->terminator, enough, ends);
        cuts = tamis__cut_all(&c, from, ends, count);
    }
    if (!cuts && capacity > 0) /* before the last that was found, or of a record that is too long */
        scan = c.start;
    stretch->start = c.start;
    stretch->scan = scan;
    return c.count;
}

uint64_t tamis__count_byte(const unsigned char *from, const unsigned char *to, unsigned char byte) {
    return tamis__stream_kernels()->count(from, to, byte);
}
