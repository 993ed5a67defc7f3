/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/kernels/stream_kernels.h"

#ifdef TAMIS__HAVE_AVX512
#include <immintrin.h>

ALWAYS_INLINE uint64_t mask_64(const unsigned char *bytes, unsigned char byte) {
    return _cvtmask64_u64(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(bytes), _mm512_set1_epi8((char)byte)));
}

ALWAYS_INLINE unsigned count_bits(uint64_t masks) {
    return (unsigned)__builtin_popcountll(masks);
}

/* Returns the bytes 0, 1, ... 63. */
ALWAYS_INLINE __m512i numbers(void) {
    const __m512i fours = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_add_epi32(_mm512_mullo_epi32(fours, _mm512_set1_epi32(0x04040404)),
                            _mm512_set1_epi32(0x03020100));
}

/* Writes the offsets of all bits: a compress instruction packs the byte indices. The first 16 are always
 * written, and nearly always that is enough. */
ALWAYS_INLINE size_t put_compressed(__mmask64 masks, __m512i base, uint32_t *to) {
    const __m512i positions = _mm512_maskz_compress_epi8(masks, numbers());
    const unsigned count = count_bits(_cvtmask64_u64(masks));
    _mm512_storeu_si512(to, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(positions))));
    if (__builtin_expect(count > 16, 0)) {
        const __m128i more[3] = {_mm512_extracti32x4_epi32(positions, 1),
                                 _mm512_extracti32x4_epi32(positions, 2),
                                 _mm512_extracti32x4_epi32(positions, 3)};
        for (int i = 0; i < 3; i++)
            _mm512_storeu_si512(to + 16 * (i + 1), _mm512_add_epi32(base, _mm512_cvtepu8_epi32(more[i])));
    }
    return count;
}

static size_t find(const unsigned char **from, const unsigned char *to, unsigned char byte, size_t enough,
                   uint32_t *offsets) {
    const __m512i bytes = _mm512_set1_epi8((char)byte);
    const unsigned char *pos = *from;
    __m512i base = _mm512_setzero_si512();
    size_t count = 0;
    for (; count < enough && to - pos >= TAMIS__BYTE_MASK_SIZE; pos += TAMIS__BYTE_MASK_SIZE) {
        count +=
            put_compressed(_mm512_cmpeq_epi8_mask(_mm512_loadu_si512(pos), bytes), base, offsets + count);
        base = _mm512_add_epi32(base, _mm512_set1_epi32(TAMIS__BYTE_MASK_SIZE));
    }
    if (count < enough && pos < to) {
        const __mmask64 there = _cvtu64_mask64(UINT64_MAX >> (TAMIS__BYTE_MASK_SIZE - (to - pos)));
        const __m512i last = _mm512_maskz_loadu_epi8(there, pos);
        count += put_compressed(_mm512_mask_cmpeq_epi8_mask(there, last, bytes), base, offsets + count);
        pos = to;
    }
    *from = pos;
    return count;
}

static size_t offsets(const uint64_t *masks, size_t blocks, uint32_t *to) {
    __m512i base = _mm512_setzero_si512();
    size_t count = 0;
    for (size_t i = 0; i < blocks; i++) {
        count += put_compressed(_cvtu64_mask64(masks[i]), base, to + count);
        base = _mm512_add_epi32(base, _mm512_set1_epi32(TAMIS__BYTE_MASK_SIZE));
    }
    return count;
}

#define HAS_COMPRESS
#include "stream/kernels/stream_masks.h"

const struct tamis__stream_kernels tamis__stream_kernels_avx512 = {
    .name = "avx512",
    .find = find,
    .mask_csv = mask_csv,
    .offsets = offsets,
    .count = count,
};
#endif
