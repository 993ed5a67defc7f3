/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/kernels/stream_kernels.h"

#ifdef TAMIS__HAVE_AVX2
#include <immintrin.h>

ALWAYS_INLINE uint64_t mask_32(const unsigned char *bytes, unsigned char byte) {
    const __m256i vector = _mm256_loadu_si256((const __m256i *)(const void *)bytes);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(vector, _mm256_set1_epi8((char)byte)));
}

ALWAYS_INLINE uint64_t mask_64(const unsigned char *bytes, unsigned char byte) {
    return mask_32(bytes, byte) | mask_32(bytes + 32, byte) << 32;
}

ALWAYS_INLINE unsigned count_bits(uint64_t masks) {
    return (unsigned)__builtin_popcountll(masks);
}

ALWAYS_INLINE uint32_t first_bit(uint64_t masks) {
    return (uint32_t)_tzcnt_u64(masks);
}

#include "stream/kernels/stream_masks.h"

const struct tamis__stream_kernels tamis__stream_kernels_avx2 = {
    .name = "avx2",
    .find = find,
    .mask_csv = mask_csv,
    .offsets = offsets,
    .count = count,
};
#endif
