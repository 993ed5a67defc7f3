/* SPDX-License-Identifier: BSD-2-Clause */

/* Uses only what every machine of the architecture has: SSE2 on x86-64 (base/byte_mask.h). */
#include "stream/kernels/stream_masks.h"

/* Counts bits without popcnt, which not every machine has: adds bits in pairs, fours and bytes in
 * parallel. */
ALWAYS_INLINE unsigned count_bits(uint64_t masks) {
    masks -= masks >> 1 & UINT64_C(0x5555555555555555);
    masks = (masks & UINT64_C(0x3333333333333333)) + (masks >> 2 & UINT64_C(0x3333333333333333));
    masks = (masks + (masks >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(masks * UINT64_C(0x0101010101010101) >> 56);
}

ALWAYS_INLINE uint32_t first_bit(uint64_t masks) {
    return (uint32_t)__builtin_ctzll(masks | UINT64_C(1) << 63);
}

static size_t find(const unsigned char **from, const unsigned char *to, unsigned char byte, size_t enough,
                   uint32_t *offsets) {
    return find_offsets(from, to, byte, enough, offsets, tamis__byte_mask_64, count_bits, first_bit);
}

static void mask_csv(const unsigned char *from, size_t blocks, unsigned char end, unsigned char delimiter,
                     tamis__csv_masks *masks) {
    mask_blocks(from, blocks, end, delimiter, masks, tamis__byte_mask_64);
}

static size_t offsets(const uint64_t *masks, size_t blocks, uint32_t *to) {
    return offsets_of(masks, blocks, to, count_bits, first_bit);
}

static uint64_t count(const unsigned char *from, const unsigned char *to, unsigned char byte) {
    return count_bytes(from, to, byte, tamis__byte_mask_64, count_bits);
}

const struct tamis__stream_kernels tamis__stream_kernels_scalar = {
    .name = "scalar",
    .find = find,
    .mask_csv = mask_csv,
    .offsets = offsets,
    .count = count,
};
