/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terminators are found for 64 bytes at once, a bit each; records are what lies between the bits. Where 64 bytes have none
 * records are long, and memchr of the C library, which is vectorised, goes on from there.
 */
#include "stream/split.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"

enum { BLOCK = 64 };

/* Bit i: byte i is the one that `pattern` has eight times. */
static uint64_t marks_of(const unsigned char *block, uint64_t pattern) {
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t marks = 0;
    for (int i = 0; i < BLOCK / 8; i++) {
        uint64_t differs = tamis__load64le(block + 8 * i) ^ pattern; /* 0 in bytes that are it */
        uint64_t equal = ~(((differs & low) + low) | differs | low) >> 7;
        marks |= equal * UINT64_C(0x0102040810204080) >> 56 << 8 * i; /* the eight low bits, side by side */
    }
    return marks;
}

typedef struct cutting {
    const unsigned char *start; /* of the record that is looked at */
    tamis_key *keys;
    size_t count, capacity;
    uint64_t max_record;
} cutting;

/* Takes the record that ends at `hit`; false where it is too long or there is no room. */
static inline bool cut(cutting *c, const unsigned char *hit) {
    size_t size = (size_t)(hit - c->start);
    if (c->count == c->capacity || size > c->max_record)
        return false;
    c->keys[c->count++] = (tamis_key){c->start, size};
    c->start = hit + 1;
    return true;
}

size_t tamis__split(tamis__stretch *stretch, tamis_key *keys, size_t capacity) {
    const uint64_t pattern = stretch->terminator * (UINT64_MAX / 255);
    const unsigned char *scan = stretch->scan, *end = stretch->end;
    cutting c = {stretch->start, keys, 0, capacity, stretch->max_record};
    bool cuts = true;
    while (cuts && scan < end) {
        uint64_t marks = end - scan >= BLOCK ? marks_of(scan, pattern) : 0;
        if (!marks) {
            const unsigned char *hit = memchr(scan, stretch->terminator, (size_t)(end - scan));
            cuts = !hit || cut(&c, hit);
            scan = hit ? c.start : end;
            continue;
        }
        for (; marks && cuts; marks &= marks - 1)
            cuts = cut(&c, scan + __builtin_ctzll(marks));
        scan = cuts ? scan + BLOCK : c.start;
    }
    stretch->start = c.start;
    stretch->scan = scan;
    return c.count;
}

uint64_t tamis__count_byte(const unsigned char *from, const unsigned char *to, unsigned char byte) {
    const uint64_t pattern = byte * (UINT64_MAX / 255);
    uint64_t count = 0;
    for (; to - from >= BLOCK; from += BLOCK)
        count += (uint64_t)__builtin_popcountll(marks_of(from, pattern));
    for (; from < to; from++)
        count += *from == byte;
    return count;
}
