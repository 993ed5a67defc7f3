/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind blocked with AVX2. A line of 512 bits is two vectors of eight 32-bit words.
 *
 * Lookup: the 7 positions of a word w(j) are tested at once, one in each 32-bit lane:
 *
 *     shuffle     bring the two bytes of w(j) that contain position i to lane i
 *     permute     fetch word (position / 32) modulo 8 from both halves of the line
 *     blend       take the half that the highest bit of the position says
 *     shift       move the position's bit to bit 0 of the lane
 *
 * Adding: each position becomes a one in a line of zeros, by a shift that moves the one out of every lane but
 * its own.
 *
 * Measured: ./dev bench memory (blocked), also with TAMIS_KERNEL=scalar.
 */
#include "filter/kernels/filter_blocked.h"

#ifdef TAMIS__HAVE_AVX2
#include <immintrin.h>

/* Returns in bit 0 of lane i whether position i of the word is set in the line, for i from 0 to 6. Lane 7
 * has no meaning. Position i is in the two bytes from byte 6 - i on, 7 - i bits up. */
static inline __m256i test_bits(__m256i low, __m256i high, uint64_t word) {
    const __m256i bytes = _mm256_setr_epi8(6, 7, -1, -1, 5, 6, -1, -1, 4, 5, -1, -1, 3, 4, -1, -1, /* */
                                           2, 3, -1, -1, 1, 2, -1, -1, 0, 1, -1, -1, -1, -1, -1, -1);
    /* Moves bits 0..4 of a position to the low end. */
    const __m256i shifts = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    /* Moves bits 5..7 to the low end. */
    const __m256i half_word = _mm256_setr_epi32(12, 11, 10, 9, 8, 7, 6, 5);
    const __m256i half_line = _mm256_setr_epi32(16, 17, 18, 19, 20, 21, 22, 23); /* moves bit 8 to the sign */
    const __m256i from = _mm256_shuffle_epi8(_mm256_set1_epi64x((long long)word), bytes);
    const __m256i which = _mm256_srlv_epi32(from, half_word); /* permute ignores the higher bits */
    __m256 in_low = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(low, which));
    __m256 in_high = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(high, which));
    __m256 is_high = _mm256_castsi256_ps(_mm256_sllv_epi32(from, half_line));
    const __m256i found = _mm256_castps_si256(_mm256_blendv_ps(in_low, in_high, is_high));
    const __m256i up = _mm256_and_si256(_mm256_srlv_epi32(from, shifts), _mm256_set1_epi32(31));
    return _mm256_srlv_epi32(found, up);
}

/* The probes of a key by words: `full` words with all 7 positions, and `left` positions of one more word.
 * `beyond` masks the lanes of that word that are not used. */
typedef struct shares {
    uint32_t full, left;
    __m256i beyond;
} shares;

static inline shares shares_of(const tamis__blocks *in) {
    uint32_t full = (in->probes - 1) / POSITIONS_A_WORD, left = in->probes - full * POSITIONS_A_WORD;
    const __m256i lanes = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
    return (shares){full, left, _mm256_cmpgt_epi32(lanes, _mm256_set1_epi32((int)left))};
}

static inline bool has_all(shares by, const uint64_t *line, const tamis_hash *hash) {
    const __m256i ones = _mm256_setr_epi32(1, 1, 1, 1, 1, 1, 1, 0);
    const __m256i low = _mm256_load_si256((const __m256i *)line);
    const __m256i high = _mm256_load_si256((const __m256i *)(line + 4));
    __m256i found = _mm256_or_si256(test_bits(low, high, position_word(hash->word[0], by.full)), by.beyond);
    for (uint32_t j = 0; j < by.full; j++)
        found = _mm256_and_si256(found, test_bits(low, high, position_word(hash->word[0], j)));
    return _mm256_testc_si256(found, ones);
}

/* Sets the bits of the first `count` positions of a word in `low` and `high`. A one in every lane is
 * shifted out of all lanes but its own. */
static inline void add_bits(uint64_t word, uint32_t count, __m256i *low, __m256i *high) {
    const __m256i first = _mm256_setr_epi64x(0, 64, 128, 192), lane_ones = _mm256_set1_epi64x(1);
    for (uint32_t i = 0; i < count; i++, word <<= POSITION_BITS) {
        __m256i up = _mm256_sub_epi64(_mm256_set1_epi64x((long long)(word >> (64 - POSITION_BITS))), first);
        *low = _mm256_or_si256(*low, _mm256_sllv_epi64(lane_ones, up));
        up = _mm256_sub_epi64(up, _mm256_set1_epi64x(256));
        *high = _mm256_or_si256(*high, _mm256_sllv_epi64(lane_ones, up));
    }
}

static inline bool set_all(shares by, uint64_t *line, const tamis_hash *hash) {
    __m256i *halves = (__m256i *)line, low = _mm256_setzero_si256(), high = low;
    for (uint32_t j = 0; j < by.full; j++)
        add_bits(position_word(hash->word[0], j), POSITIONS_A_WORD, &low, &high);
    add_bits(position_word(hash->word[0], by.full), by.left, &low, &high);
    __m256i old_low = _mm256_load_si256(halves), old_high = _mm256_load_si256(halves + 1);
    _mm256_store_si256(halves, _mm256_or_si256(old_low, low));
    _mm256_store_si256(halves + 1, _mm256_or_si256(old_high, high));
    return _mm256_testc_si256(old_low, low) & _mm256_testc_si256(old_high, high);
}

#include "filter/kernels/filter_blocked_loops.h"

static void or_words(uint64_t *into, const uint64_t *from, uint64_t count, tamis__line_counts *counts) {
    for (uint64_t left = count, chunk; left > 0; left -= chunk, into += chunk, from += chunk) {
        uint64_t ones = 0;
        chunk = left < 8 ? left : 8;
        for (uint64_t i = 0; i < chunk; i++) {
            into[i] |= from[i];
            ones += (uint64_t)_mm_popcnt_u64(into[i]);
        }
        counts->lines[ones]++;
    }
}

const struct tamis__filter_kernels tamis__filter_kernels_avx2 = {
    .name = "avx2",
    .blocked_contains = blocked_contains,
    .blocked_add = blocked_add,
    .or_words = or_words,
    .tables = &tamis__table_kernels_avx2,
    .counting = &tamis__counting_kernels_scalar,
};
#endif
