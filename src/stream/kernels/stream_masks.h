/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The stream kernels over byte masks. Each instruction set's file includes this file once, after it has
 * defined
 *
 *     mask_64(bytes, byte)     byte mask of 64 bytes
 *     count_bits(mask)         number of bits
 *     first_bit(mask)          index of the lowest bit; anything if there is none
 *
 *     64 bytes --mask_64--> mask ..1....1......1 --put_offsets--> 2 7 14
 *
 * Offsets are written four at a time, also if there are fewer. Unused ones are overwritten by the next call.
 * So the number of branches depends on the number of fours, which is easier to predict than the number of
 * offsets. AVX-512 has compress instructions, and finds offsets by itself (HAS_COMPRESS).
 *
 * This file has no include guard: it defines static functions for one set.
 */

static void mask_csv(const unsigned char *from, size_t blocks, unsigned char end, unsigned char delimiter,
                     tamis__csv_masks *masks) {
    for (size_t i = 0; i < blocks; i++, from += TAMIS__BYTE_MASK_SIZE)
        masks[i] = (tamis__csv_masks){mask_64(from, end), mask_64(from, '"'), mask_64(from, delimiter)};
}

static uint64_t count(const unsigned char *from, const unsigned char *to, unsigned char byte) {
    uint64_t found = 0;
    for (; to - from >= TAMIS__BYTE_MASK_SIZE; from += TAMIS__BYTE_MASK_SIZE)
        found += count_bits(mask_64(from, byte));
    return found + count_bits(tamis__byte_mask(from, (size_t)(to - from), byte));
}

#ifndef HAS_COMPRESS

/* Writes four offsets, even if fewer bits are left. */
ALWAYS_INLINE uint64_t put_four(uint64_t masks, uint32_t base, uint32_t *to) {
    for (int i = 0; i < 4; i++, masks &= masks - 1)
        to[i] = base + first_bit(masks);
    return masks;
}

/* Writes the offsets of all bits, in groups of four. */
ALWAYS_INLINE size_t put_offsets(uint64_t masks, uint32_t base, uint32_t *to) {
    const unsigned bits = count_bits(masks);
    masks = put_four(masks, base, to);
    if (bits > 4)
        masks = put_four(masks, base, to + 4);
    for (unsigned i = 8; i < bits; i += 4)
        masks = put_four(masks, base, to + i);
    return bits;
}

static size_t find(const unsigned char **from, const unsigned char *to, unsigned char byte, size_t enough,
                   uint32_t *offsets) {
    const unsigned char *begin = *from, *pos = begin;
    size_t found = 0;
    for (; found < enough && to - pos >= TAMIS__BYTE_MASK_SIZE; pos += TAMIS__BYTE_MASK_SIZE)
        found += put_offsets(mask_64(pos, byte), (uint32_t)(pos - begin), offsets + found);
    if (found < enough && pos < to) {
        const uint64_t masks = tamis__byte_mask(pos, (size_t)(to - pos), byte);
        found += put_offsets(masks, (uint32_t)(pos - begin), offsets + found);
        pos = to;
    }
    *from = pos;
    return found;
}

static size_t offsets(const uint64_t *masks, size_t blocks, uint32_t *to) {
    size_t found = 0;
    for (size_t i = 0; i < blocks; i++)
        found += put_offsets(masks[i], (uint32_t)(i * TAMIS__BYTE_MASK_SIZE), to + found);
    return found;
}

#endif
