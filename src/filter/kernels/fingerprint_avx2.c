/* SPDX-License-Identifier: BSD-2-Clause */

/* The heads of a line are compared half a line at a time. */
#include "filter/kernels/fingerprint_values.h"

#ifdef TAMIS__HAVE_AVX2
#include "filter/kernels/fingerprint_bmi.h"

/* Ones in each of 32 or 16 bits where the wanted head is the head there, but for its lowest one and what is below. */
static INLINED __m256i same_heads(const line_geometry *g, const uint8_t *line, uint32_t head) {
    const __m256i ones = _mm256_set1_epi8(-1);
    __m256i heads = _mm256_load_si256((const __m256i *)(const void *)line), wanted, low;
    if (g->head_bytes == 4) {
        wanted = _mm256_set1_epi32((int)head);
        low = _mm256_xor_si256(heads, _mm256_add_epi32(heads, ones));
        return _mm256_cmpeq_epi32(_mm256_or_si256(heads, low), _mm256_or_si256(wanted, low));
    }
    wanted = _mm256_set1_epi16((short)head);
    low = _mm256_xor_si256(heads, _mm256_add_epi16(heads, ones));
    return _mm256_cmpeq_epi16(_mm256_or_si256(heads, low), _mm256_or_si256(wanted, low));
}

static INLINED bool set_has(const line_geometry *g, const uint8_t *line, slot_range range,
                            tamis__u128 wanted) {
    uint32_t head = (uint32_t)(wanted >> g->tail_bits), slots;
    __m256i low = same_heads(g, line, head), high = same_heads(g, line + 32, head);
    if (g->head_bytes == 4)
        slots = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(low)) |
                (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(high)) << 8;
    else /* packed within each half of 16 bytes: put back in order */
        slots = (uint32_t)_mm256_movemask_epi8(
            _mm256_permute4x64_epi64(_mm256_packs_epi16(low, high), _MM_SHUFFLE(3, 1, 2, 0)));
    return any_matches(g, line, slots & slots_in(range), wanted);
}

#define set_insert line_insert_in
#define set_remove line_remove_in
#define set_decode values_decode
#define set_take   values_take
#define set_encode values_encode
#include "filter/kernels/fingerprint_loops.h"

const struct tamis__table_kernels tamis__table_kernels_avx2 = {
    .add = add, .contains = contains, .rewrite = rewrite};
#endif
