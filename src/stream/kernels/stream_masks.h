/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KERNELS_STREAM_MASKS_H
#define TAMIS_STREAM_KERNELS_STREAM_MASKS_H

/*
 * The stream kernels, for instruction sets without compress instructions. AVX-512 uses only a part of this
 * file.
 *
 * The including file supplies three functions (byte mask of 64 bytes, number of bits, first bit). They are
 * passed as arguments of always-inline functions, so that the compiler inlines them with that file's
 * instruction set.
 *
 *     64 bytes --make_mask--> mask ..1....1......1 --put_offsets--> 2 7 14
 *
 * Offsets are written four at a time, also if there are fewer. Unused ones are overwritten by the next call.
 * So the number of branches depends on the number of fours, which is easier to predict than the number of
 * offsets.
 */
#include <string.h>

#include "stream/kernels/stream_kernels.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef uint64_t mask_fn(const unsigned char *bytes, unsigned char byte);
typedef unsigned count_bits_fn(uint64_t masks);
typedef uint32_t first_bit_fn(uint64_t masks); /* index of the lowest bit; anything if there is none */

/* Writes four offsets, even if fewer bits are left. */
ALWAYS_INLINE uint64_t put_four(uint64_t masks, uint32_t base, first_bit_fn first, uint32_t *to) {
    for (int i = 0; i < 4; i++, masks &= masks - 1)
        to[i] = base + first(masks);
    return masks;
}

/* Writes the offsets of all bits, in groups of four. */
ALWAYS_INLINE size_t put_offsets(uint64_t masks, uint32_t base, count_bits_fn bits, first_bit_fn first,
                                 uint32_t *to) {
    const unsigned count = bits(masks);
    masks = put_four(masks, base, first, to);
    if (count > 4)
        masks = put_four(masks, base, first, to + 4);
    for (unsigned i = 8; i < count; i += 4)
        masks = put_four(masks, base, first, to + i);
    return count;
}

ALWAYS_INLINE size_t find_offsets(const unsigned char **from, const unsigned char *to, unsigned char byte,
                                  size_t enough, uint32_t *offsets, mask_fn make_mask, count_bits_fn bits,
                                  first_bit_fn first) {
    const unsigned char *begin = *from, *pos = begin;
    size_t count = 0;
    for (; count < enough && to - pos >= TAMIS__BYTE_MASK_SIZE; pos += TAMIS__BYTE_MASK_SIZE)
        count += put_offsets(make_mask(pos, byte), (uint32_t)(pos - begin), bits, first, offsets + count);
    if (count < enough && pos < to) {
        uint64_t masks = tamis__byte_mask(pos, (size_t)(to - pos), byte);
        count += put_offsets(masks, (uint32_t)(pos - begin), bits, first, offsets + count);
        pos = to;
    }
    *from = pos;
    return count;
}

ALWAYS_INLINE void mask_blocks(const unsigned char *from, size_t blocks, unsigned char end,
                               unsigned char delimiter, tamis__csv_masks *masks, mask_fn make_mask) {
    for (size_t i = 0; i < blocks; i++, from += TAMIS__BYTE_MASK_SIZE)
        masks[i] = (tamis__csv_masks){make_mask(from, end), make_mask(from, '"'), make_mask(from, delimiter)};
}

ALWAYS_INLINE size_t offsets_of(const uint64_t *masks, size_t blocks, uint32_t *offsets, count_bits_fn bits,
                                first_bit_fn first) {
    size_t count = 0;
    for (size_t i = 0; i < blocks; i++)
        count += put_offsets(masks[i], (uint32_t)(i * TAMIS__BYTE_MASK_SIZE), bits, first, offsets + count);
    return count;
}

ALWAYS_INLINE uint64_t count_bytes(const unsigned char *from, const unsigned char *to, unsigned char byte,
                                   mask_fn make_mask, count_bits_fn bits) {
    uint64_t count = 0;
    for (; to - from >= TAMIS__BYTE_MASK_SIZE; from += TAMIS__BYTE_MASK_SIZE)
        count += bits(make_mask(from, byte));
    return count + bits(tamis__byte_mask(from, (size_t)(to - from), byte));
}

#endif
