/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KERNELS_STREAM_MARKS_H
#define TAMIS_STREAM_KERNELS_STREAM_MARKS_H

/*
 * The stream kernels, for instruction sets without compress instructions. AVX-512 uses only a part of this
 * file.
 *
 * The including file supplies three functions (byte mask of 64 bytes, number of bits, first bit). They are
 * passed as arguments of always-inline functions, so that the compiler inlines them with that file's
 * instruction set.
 *
 *     64 bytes --marks_of--> mask ..1....1......1 --put_offsets--> 2 7 14
 *
 * Offsets are written four at a time, also if there are fewer. Unused ones are overwritten by the next call.
 * So the number of branches depends on the number of fours, which is easier to predict than the number of
 * offsets.
 */
#include <string.h>

#include "stream/kernels/stream_kernels.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef uint64_t marks_of_64(const unsigned char *bytes, unsigned char byte);
typedef unsigned bits_of(uint64_t marks);
typedef uint32_t first_of(uint64_t marks); /* index of the lowest bit; anything if there is none */

/* Writes four offsets, even if fewer bits are left. */
ALWAYS_INLINE uint64_t put_four(uint64_t marks, uint32_t base, first_of first, uint32_t *to) {
    for (int i = 0; i < 4; i++, marks &= marks - 1)
        to[i] = base + first(marks);
    return marks;
}

/* Writes the offsets of all bits, in groups of four. */
ALWAYS_INLINE size_t put_offsets(uint64_t marks, uint32_t base, bits_of bits, first_of first, uint32_t *to) {
    const unsigned count = bits(marks);
    marks = put_four(marks, base, first, to);
    if (count > 4)
        marks = put_four(marks, base, first, to + 4);
    for (unsigned i = 8; i < count; i += 4)
        marks = put_four(marks, base, first, to + i);
    return count;
}

ALWAYS_INLINE size_t find_offsets(const unsigned char **from, const unsigned char *to, unsigned char byte,
                                  size_t enough, uint32_t *offsets, marks_of_64 marks_of, bits_of bits,
                                  first_of first) {
    const unsigned char *begin = *from, *at = begin;
    size_t count = 0;
    for (; count < enough && to - at >= TAMIS__MARKS; at += TAMIS__MARKS)
        count += put_offsets(marks_of(at, byte), (uint32_t)(at - begin), bits, first, offsets + count);
    if (count < enough && at < to) {
        uint64_t marks = tamis__marks_of(at, (size_t)(to - at), byte);
        count += put_offsets(marks, (uint32_t)(at - begin), bits, first, offsets + count);
        at = to;
    }
    *from = at;
    return count;
}

ALWAYS_INLINE void mark_blocks(const unsigned char *from, size_t blocks, unsigned char end,
                               unsigned char delimiter, tamis__csv_marks *marks, marks_of_64 marks_of) {
    for (size_t i = 0; i < blocks; i++, from += TAMIS__MARKS)
        marks[i] = (tamis__csv_marks){marks_of(from, end), marks_of(from, '"'), marks_of(from, delimiter)};
}

ALWAYS_INLINE size_t offsets_of(const uint64_t *marks, size_t blocks, uint32_t *offsets, bits_of bits,
                                first_of first) {
    size_t count = 0;
    for (size_t i = 0; i < blocks; i++)
        count += put_offsets(marks[i], (uint32_t)(i * TAMIS__MARKS), bits, first, offsets + count);
    return count;
}

ALWAYS_INLINE uint64_t count_bytes(const unsigned char *from, const unsigned char *to, unsigned char byte,
                                   marks_of_64 marks_of, bits_of bits) {
    uint64_t count = 0;
    for (; to - from >= TAMIS__MARKS; from += TAMIS__MARKS)
        count += bits(marks_of(from, byte));
    return count + bits(tamis__marks_of(from, (size_t)(to - from), byte));
}

#endif
