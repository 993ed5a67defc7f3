/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/kernels/stream_kernels.h"

#ifdef TAMIS__HAVE_NEON
#include <arm_neon.h>

/* Computes a byte mask: each equal byte keeps a bit of its own (1 to 128), and three pairwise additions join
 * eight bytes to one. */
ALWAYS_INLINE uint64_t mask_64(const unsigned char *bytes, unsigned char byte) {
    static const uint8_t bits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t bit = vld1q_u8(bits), wanted = vdupq_n_u8(byte);
    uint8x16_t found[4];
    for (int i = 0; i < 4; i++)
        found[i] = vandq_u8(vceqq_u8(vld1q_u8(bytes + 16 * i), wanted), bit);
    const uint8x16_t sum = vpaddq_u8(vpaddq_u8(found[0], found[1]), vpaddq_u8(found[2], found[3]));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sum, sum)), 0);
}

ALWAYS_INLINE unsigned count_bits(uint64_t masks) {
    return (unsigned)__builtin_popcountll(masks);
}

ALWAYS_INLINE uint32_t first_bit(uint64_t masks) {
    return (uint32_t)__builtin_ctzll(masks | UINT64_C(1) << 63);
}

#include "stream/kernels/stream_masks.h"

const struct tamis__stream_kernels tamis__stream_kernels_neon = {
    .name = "neon",
    .find = find,
    .mask_csv = mask_csv,
    .offsets = offsets,
    .count = count,
};
#endif
