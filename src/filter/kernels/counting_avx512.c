/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind counting with AVX-512. A line is one vector of eight 64-bit words, and so is the mask of the counters
 * of a key. A one in every lane is shifted out of all lanes but its own, as in kind blocked.
 *
 * An example: position 140 of a probe is counter 35, bits 12 to 15 of word 2.
 *
 *     lane                0       1      2      3      ...   7
 *     first bit           0       64     128    192    ...   448
 *     140 - first bit     140     76     12     -52    ...   -308
 *     1 shifted           0       0      2^12   0      ...   0
 *
 * The instruction takes counts as unsigned numbers and gives 0 for 64 and more, so neither side needs a test.
 * In C such a shift is undefined: the scalar code has an index instead.
 *
 * Why this beats the scalar code: the mask is made in one register, where the scalar code has an array of 8
 * words. The line is then read and written once (filter/bloom/counting.c has the times).
 *
 * `used` and `saturated` do not clear the bits above bit 0 of a counter, which are combinations with
 * neighbours. They need not: both are only combined with `selected`, where those bits are 0.
 *
 * Measured: ./dev bench memory (counting), also with TAMIS_KERNEL=scalar.
 */
#include "filter/kernels/filter_blocked.h"

#ifdef TAMIS__HAVE_AVX512
#include <immintrin.h>

/* Adds bit 0 of each of the first `count` counters of a position word to the mask. */
static inline __m512i counters_of(__m512i mask, uint64_t word, uint32_t count) {
    const __m512i first = _mm512_set_epi64(448, 384, 320, 256, 192, 128, 64, 0);
    const __m512i lane_ones = _mm512_set1_epi64(1);
    for (uint32_t i = 0; i < count; i++, word <<= POSITION_BITS) {
        const __m512i position = _mm512_set1_epi64((long long)(word >> (64 - POSITION_BITS) & ~UINT64_C(3)));
        mask = _mm512_or_si512(mask, _mm512_sllv_epi64(lane_ones, _mm512_sub_epi64(position, first)));
    }
    return mask;
}

static inline __m512i select_counters(const tamis__blocks *in, const tamis_hash *hash) {
    __m512i mask = _mm512_setzero_si512();
    uint32_t j = 0, remaining = in->probes;
    for (; remaining >= POSITIONS_A_WORD; remaining -= POSITIONS_A_WORD)
        mask = counters_of(mask, position_word(hash->word[0], j++), POSITIONS_A_WORD);
    return counters_of(mask, position_word(hash->word[0], j), remaining);
}

/* Both leave any bits in a counter above its bit 0. */
static inline __m512i used(__m512i line) {
    const __m512i pairs = _mm512_or_si512(line, _mm512_srli_epi64(line, 2));
    return _mm512_or_si512(pairs, _mm512_srli_epi64(pairs, 1));
}

static inline __m512i saturated(__m512i line) {
    const __m512i pairs = _mm512_and_si512(line, _mm512_srli_epi64(line, 2));
    return _mm512_and_si512(pairs, _mm512_srli_epi64(pairs, 1));
}

static inline bool all_used(__m512i line, __m512i selected) {
    const __m512i missing = _mm512_andnot_si512(used(line), selected);
    return _mm512_test_epi64_mask(missing, missing) == 0;
}

static inline bool has_key(const tamis__blocks *in, const uint64_t *line, const tamis_hash *hash) {
    return all_used(_mm512_load_si512(line), select_counters(in, hash));
}

static inline bool count_key(const tamis__blocks *in, uint64_t *line, const tamis_hash *hash) {
    const __m512i selected = select_counters(in, hash), old = _mm512_load_si512(line);
    _mm512_store_si512(line, _mm512_add_epi64(old, _mm512_andnot_si512(saturated(old), selected)));
    return all_used(old, selected);
}

static inline dropped drop_key(const tamis__blocks *in, uint64_t *line, const tamis_hash *hash) {
    const __m512i selected = select_counters(in, hash), old = _mm512_load_si512(line);
    if (!all_used(old, selected))
        return WAS_ABSENT;
    const __m512i now = _mm512_sub_epi64(old, _mm512_andnot_si512(saturated(old), selected));
    _mm512_store_si512(line, now);
    return all_used(now, selected) ? IS_STILL_PRESENT : IS_GONE;
}

#include "filter/kernels/counting_loops.h"

const struct tamis__counting_kernels tamis__counting_kernels_avx512 = {
    .contains = counting_contains, .add = counting_add, .remove = counting_remove};
#endif
