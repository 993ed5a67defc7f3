/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/kernels/json_kernels.h"

#ifdef TAMIS__HAVE_AVX2
#include <immintrin.h>

typedef struct bytes64 {
    __m256i low, high;
} bytes64;

static inline bytes64 load(const unsigned char *at) {
    return (bytes64){_mm256_loadu_si256((const __m256i *)(const void *)at),
                     _mm256_loadu_si256((const __m256i *)(const void *)(at + 32))};
}

static inline bytes64 load_some(const unsigned char *at, size_t size) {
    unsigned char some[64];
    memset(some, ' ', sizeof some);
    memcpy(some, at, size);
    return load(some);
}

/* A bit for each byte, of bytes that have all bits or none. */
static inline uint64_t packed(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

static inline uint64_t equal(bytes64 bytes, unsigned char byte) {
    const __m256i same = _mm256_set1_epi8((char)byte);
    return packed(_mm256_cmpeq_epi8(bytes.low, same), _mm256_cmpeq_epi8(bytes.high, same));
}

static inline uint64_t within(bytes64 bytes, unsigned char least, unsigned char most) {
    const __m256i from = _mm256_set1_epi8((char)least), to = _mm256_set1_epi8((char)(most - least));
    const __m256i low = _mm256_sub_epi8(bytes.low, from), high = _mm256_sub_epi8(bytes.high, from);
    return packed(_mm256_cmpeq_epi8(_mm256_min_epu8(low, to), low),
                  _mm256_cmpeq_epi8(_mm256_min_epu8(high, to), high));
}

static inline bytes64 lower(bytes64 bytes) {
    const __m256i bit = _mm256_set1_epi8(0x20);
    return (bytes64){_mm256_or_si256(bytes.low, bit), _mm256_or_si256(bytes.high, bit)};
}

#include "stream/kernels/json_word.h"

#include "stream/kernels/json_blocks.h"

static bool skim(tamis__json *json, const tamis__json_text *text, tamis__json_ahead *ahead) {
    (void)ahead;
    return skim_from(json, text, NULL);
}

const struct tamis__json_kernels tamis__json_kernels_avx2 = {"avx2", NULL, skim};
#endif
