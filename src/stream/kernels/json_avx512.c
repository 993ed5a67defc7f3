/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/kernels/json_kernels.h"

#ifdef TAMIS__HAVE_AVX512
#include <immintrin.h>

typedef __m512i bytes64;

static inline bytes64 load(const unsigned char *at) {
    return _mm512_loadu_si512(at);
}

static inline bytes64 load_some(const unsigned char *at, size_t size) {
    return _mm512_mask_loadu_epi8(_mm512_set1_epi8(' '), UINT64_MAX >> (64 - size), at);
}

static inline uint64_t equal(bytes64 bytes, unsigned char byte) {
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)byte));
}

static inline uint64_t within(bytes64 bytes, unsigned char least, unsigned char most) {
    const __m512i from = _mm512_sub_epi8(bytes, _mm512_set1_epi8((char)least));
    return _mm512_cmple_epu8_mask(from, _mm512_set1_epi8((char)(most - least)));
}

static inline bytes64 lower(bytes64 bytes) {
    return _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
}

#include "stream/kernels/json_blocks.h"

const struct tamis__json_kernels tamis__json_kernels_avx512 = {"avx512", skim};
#endif
