/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind blocked with AVX-512. A line of 512 bits is one vector of eight 64-bit words.
 *
 * Lookup: the 7 positions of a word w(j) are tested at once, one in each 64-bit lane. A shift moves position
 * i to the low end of lane i. A permutation fetches word position / 64 of the line, and a rotation moves the
 * position's bit to bit 0.
 *
 *     w(j)       p0 p1 p2 p3 p4 p5 p6 .            7 positions of 9 bits, 1 bit left over
 *     lane i     bits 6 to 8 of p(i) select the word of the line, bits 0 to 5 its bit
 *     found      bit 0 of lane i: p(i) is set      all words of a key are joined by and, and tested once
 *
 * A key with k probes has floor((k - 1) / 7) whole words and a last one with 1 to 7 positions, whose other
 * lanes are masked (shares_of). The last word is tested without a branch: it is never empty.
 *
 * Adding: each position becomes a one in a line of zeros, by a shift that moves the one out of every lane but
 * its own. The line is then written as a whole, with one store, and the old line says whether all bits were
 * set. Together with larger pages this took 13 to 14 ns an add instead of 15 to 20 bit by bit
 * (docs/PERFORMANCE.md, "Tried").
 */
#include "filter/kernels/filter_blocked.h"

#ifdef TAMIS__HAVE_AVX512
#include <immintrin.h>

/* Returns in bit 0 of lane i whether position i of the word is set in the line, for i from 0 to 6. Lane 7
 * has no meaning. Permute and rotate ignore the bits above a position. */
static inline __m512i test_bits(__m512i line, uint64_t word) {
    const __m512i shifts = _mm512_set_epi64(64, 1, 10, 19, 28, 37, 46, 55);
    const __m512i words = _mm512_set_epi64(64, 7, 16, 25, 34, 43, 52, 61);
    const __m512i from = _mm512_set1_epi64((long long)word);
    const __m512i found = _mm512_permutexvar_epi64(_mm512_srlv_epi64(from, words), line);
    return _mm512_rorv_epi64(found, _mm512_srlv_epi64(from, shifts));
}

/* The probes of a key by words: `full` words with all 7 positions, and `left` positions of one more word.
 * `last` has the lanes of that word. */
typedef struct shares {
    uint32_t full, left;
    __mmask8 last;
} shares;

static inline shares shares_of(const tamis__blocks *in) {
    uint32_t full = (in->probes - 1) / POSITIONS_A_WORD, left = in->probes - full * POSITIONS_A_WORD;
    return (shares){full, left, (__mmask8)((1u << left) - 1)};
}

static inline bool has_all(shares by, const uint64_t *line, const tamis_hash *hash) {
    const __m512i ones = _mm512_set1_epi64(1);
    const __mmask8 lanes = (1 << POSITIONS_A_WORD) - 1;
    __m512i words = _mm512_load_si512(line), found = ones;
    for (uint32_t j = 0; j < by.full; j++)
        found = _mm512_and_si512(found, test_bits(words, position_word(hash->word[0], j)));
    const __m512i last = test_bits(words, position_word(hash->word[0], by.full));
    found = _mm512_mask_and_epi64(found, by.last, found, last);
    return _mm512_mask_testn_epi64_mask(lanes, found, ones) == 0;
}

/* Returns a line with the bits of the first `count` positions of a word. A one in every lane is shifted
 * out of all lanes but its own. */
static inline __m512i bits_of(uint64_t word, uint32_t count) {
    const __m512i first = _mm512_set_epi64(448, 384, 320, 256, 192, 128, 64, 0),
                  lane_ones = _mm512_set1_epi64(1);
    __m512i bits = _mm512_setzero_si512();
    for (uint32_t i = 0; i < count; i++, word <<= POSITION_BITS) {
        const __m512i position = _mm512_set1_epi64((long long)(word >> (64 - POSITION_BITS)));
        bits = _mm512_or_si512(bits, _mm512_sllv_epi64(lane_ones, _mm512_sub_epi64(position, first)));
    }
    return bits;
}

static inline bool set_all(shares by, uint64_t *line, const tamis_hash *hash) {
    __m512i bits = bits_of(position_word(hash->word[0], by.full), by.left), words = _mm512_load_si512(line);
    for (uint32_t j = 0; j < by.full; j++)
        bits = _mm512_or_si512(bits, bits_of(position_word(hash->word[0], j), POSITIONS_A_WORD));
    _mm512_store_si512(line, _mm512_or_si512(words, bits));
    return _mm512_test_epi64_mask(_mm512_andnot_si512(words, bits), bits) == 0;
}

#include "filter/kernels/filter_blocked_loops.h"

static void or_words(uint64_t *into, const uint64_t *from, uint64_t count, tamis__line_counts *counts) {
    for (uint64_t left = count; left > 0; into += 8, from += 8) {
        const uint64_t chunk = left < 8 ? left : 8;
        __mmask8 in_range = (__mmask8)(0xff >> (8 - chunk)); /* missing words count as zeros */
        const __m512i line = _mm512_or_si512(_mm512_maskz_loadu_epi64(in_range, into),
                                             _mm512_maskz_loadu_epi64(in_range, from));
        _mm512_mask_storeu_epi64(into, in_range, line);
        counts->lines[_mm512_reduce_add_epi64(_mm512_popcnt_epi64(line))]++;
        left -= chunk;
    }
}

const struct tamis__filter_kernels tamis__filter_kernels_avx512 = {
    .name = "avx512",
    .blocked_contains = blocked_contains,
    .blocked_add = blocked_add,
    .or_words = or_words,
    .tables = &tamis__table_kernels_avx512,
    .counting = &tamis__counting_kernels_avx512,
};
#endif
