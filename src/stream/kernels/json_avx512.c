/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The operations that json_blocks.h needs, for eight blocks of 64 bytes at a time.
 *
 *     compare    bytes64, 64 bytes            -> a word, one bit a byte      eight times
 *     combine    bits, eight words            -> bits                        once for 512 bytes
 *
 *     bits       | word 0: bytes 0 to 63 | word 1: 64 to 127 | ... | word 7 |
 *                  a carry goes from the highest bit of a word to the lowest one of the next word
 *
 * A comparison of 64 bytes gives its word directly, in a mask register. The words of eight blocks are then
 * one vector. So an operation of the grammar costs an instruction for 512 bytes.
 *
 * Carries between words have no instruction. `sum` and `from_odd_to_even` compute the eight carries in a byte
 * instead, where a carry that passes through full words is an addition.
 *
 * Why eight blocks: single blocks take a tenth longer (docs/PERFORMANCE.md, "Tried").
 */
#include "stream/kernels/json_kernels.h"

#ifdef TAMIS__HAVE_AVX512
#include <immintrin.h>

typedef __m512i bytes64;

/* Returns a vector of equal bytes. Constants that every block needs are loaded from memory, where the
 * compiler cannot see them. Otherwise it would build each one again at each use, with two instructions. */
static inline __m512i splat(unsigned char byte) {
    static const char kept[] = TAMIS__JSON_CONSTANTS;
    if (__builtin_constant_p(byte))
        for (size_t i = 0; i < sizeof kept - 1; i++)
            if (byte == (unsigned char)kept[i])
                return _mm512_load_si512(tamis__json_constants[i]);
    return _mm512_set1_epi8((char)byte);
}

static inline bytes64 load(const unsigned char *pos) {
    return _mm512_loadu_si512(pos);
}

static inline bytes64 load_some(const unsigned char *pos, size_t size) {
    return _mm512_mask_loadu_epi8(_mm512_set1_epi8(' '), UINT64_MAX >> (64 - size), pos);
}

static inline uint64_t equal(bytes64 bytes, unsigned char byte) {
    return _mm512_cmpeq_epi8_mask(bytes, splat(byte));
}

static inline uint64_t within(bytes64 bytes, unsigned char low, unsigned char high) {
    const __m512i from = _mm512_sub_epi8(bytes, splat(low));
    return _mm512_cmple_epu8_mask(from, splat((unsigned char)(high - low)));
}

static inline bytes64 lower(bytes64 bytes) {
    return _mm512_or_si512(bytes, splat(0x20));
}

/* ---- bits of eight blocks in one vector ---- */

typedef uint64_t bits __attribute__((vector_size(64)));
enum { BLOCKS = 8 };

static inline bits bits_of(const uint64_t words[BLOCKS], size_t count) {
    return (bits)_mm512_maskz_loadu_epi64((__mmask8)(0xff >> (BLOCKS - count)), words);
}

static inline void words_of(bits these, uint64_t words[BLOCKS]) {
    _mm512_storeu_si512(words, (__m512i)these);
}

static inline bool any(bits these) {
    return _mm512_test_epi64_mask((__m512i)these, (__m512i)these) != 0;
}

static inline unsigned filled_of(bits these) {
    return _mm512_test_epi64_mask((__m512i)these, (__m512i)these);
}

static inline bits below(size_t size) {
    const __m512i from = _mm512_set_epi64(448, 384, 320, 256, 192, 128, 64, 0);
    const __m512i left = _mm512_subs_epu16(_mm512_set1_epi64((long long)size), from);
    return ~(bits)_mm512_sllv_epi64(_mm512_set1_epi64(-1), left);
}

static inline bits shift_in(bits these, bits *before) {
    const __m512i last = _mm512_alignr_epi64((__m512i)these, (__m512i)*before, BLOCKS - 1);
    *before = these;
    return (bits)_mm512_shldi_epi64((__m512i)these, last, 1);
}

/* Adds with carry across words. A word of all ones passes a carry on; it cannot have produced one itself. */
static inline bits sum(bits augend, bits addend, unsigned *carry) {
    const bits added = augend + addend;
    const unsigned over = _mm512_cmplt_epu64_mask((__m512i)added, (__m512i)augend);
    const unsigned full = _mm512_cmpeq_epi64_mask((__m512i)added, _mm512_set1_epi64(-1));
    const unsigned carried = (over << 1 | *carry) + full;
    *carry = carried >> BLOCKS;
    return (bits)_mm512_mask_sub_epi64((__m512i)added, (__mmask8)(carried ^ full), (__m512i)added,
                                       _mm512_set1_epi64(-1));
}

static inline bits from_odd_to_even(bits these, unsigned *odd) {
    for (unsigned step = 1; step < 64; step *= 2)
        these ^= these << step;
    unsigned words = _mm512_movepi64_mask((__m512i)these);
    for (unsigned step = 1; step < BLOCKS; step *= 2)
        words ^= words << step;
    const unsigned before = words << 1 ^ (0 - *odd);
    *odd = (words >> (BLOCKS - 1) & 1) ^ *odd;
    return (bits)_mm512_mask_xor_epi64((__m512i)these, (__mmask8)before, (__m512i)these,
                                       _mm512_set1_epi64(-1));
}

#include "stream/kernels/json_blocks.h"

static void classify(const tamis__json *json, tamis__json_scanned *scanned) {
    const blocks b = blocks_at(scanned->text.start, scanned->text.end);
    classify_blocks(&b, json->first_letter, scanned->words);
}

static bool skim(tamis__json *json, const tamis__json_text *text, tamis__json_scanned *scanned) {
    return skim_from(json, text, scanned ? scanned->words : NULL);
}

const struct tamis__json_kernels tamis__json_kernels_avx512 = {"avx512", classify, skim};
#endif
