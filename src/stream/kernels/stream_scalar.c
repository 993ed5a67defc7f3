/* SPDX-License-Identifier: BSD-2-Clause */

/* Uses only what every machine of the architecture has: SSE2 on x86-64 (base/byte_mask.h). */
#include "stream/kernels/stream_kernels.h"

#define mask_64 tamis__byte_mask_64

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

#include "stream/kernels/stream_masks.h"

const struct tamis__stream_kernels tamis__stream_kernels_scalar = {
    .name = "scalar",
    .find = find,
    .mask_csv = mask_csv,
    .offsets = offsets,
    .count = count,
};
