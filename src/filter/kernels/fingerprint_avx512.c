/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Fingerprint tables with AVX-512. A line is one vector of 64 bytes.
 *
 * Searching: all heads are compared with the wanted head at once. The result is one bit a slot.
 *
 * Inserting and removing: one permutation of the line's bytes moves the heads and the tails of all slots
 * after the gap. Packed tails of at most 8 bits are first spread to one byte each (PDEP), and packed again
 * afterwards (PEXT).
 *
 * Growing: the home entries of a line are two vectors of eight 64-bit values (fingerprint_values.h). One
 * shift and one addition move all of them to another line.
 *
 *     line     heads (16 x 32 bits) + packed tails + ends
 *     decode   -> 2 vectors:  | bucket | head | tail |  for each entry
 *     move     -> compare with the border, shift, add, compress
 *     encode   -> heads, packed tails, ends, coverage
 *
 * Inserting at slot 2 of a line with 32-bit heads and packed tails:
 *
 *     heads    h0 h1 h2 h3 h4 ..     permutation of bytes: lane i takes bytes of slot i - 1 for i > 2
 *              h0 h1 __ h2 h3 ..     then the new head is stored
 *     tails    t0 t1 t2 t3 t4 ..     PDEP: one byte each; expand leaves a gap at 2; PEXT packs them again
 *              t0 t1 new t2 t3 ..
 *     ends     a zero inserted (ends_with)
 *
 * The heads are stored last. Reading a vector right after a part of it was written would stall until the
 * write is complete. So the line is loaded once, and all parts of the result are computed from that.
 *
 * Measured (docs/PERFORMANCE.md, "Tried") with two changes. Entries are moved by one addition each instead of
 * 128-bit arithmetic. A key is found and added in one visit of its line instead of three:
 *
 *     table                              before   after, ns a record
 *     growing, default                   245      83
 *     24 bits, number of keys given      99       32
 *     exact                              483      240
 *
 * This needs narrow slots with heads of 32 bits (has_vectors). Other shapes use the scalar code.
 */
#include "filter/kernels/fingerprint_values.h"

#ifdef TAMIS__HAVE_AVX512
#include "filter/kernels/fingerprint_bmi.h"

/* ---- one line ---- */

/* A bit for each slot of a range whose head matches. As in line_find, heads are compared above their
 * lowest one first. */
static INLINED uint32_t heads_like(const line_geometry *g, const uint8_t *line, slot_range range,
                                   tamis__u128 wanted) {
    const __m512i ones = _mm512_set1_epi8(-1);
    __m512i heads = _mm512_load_si512(line), differ, above;
    uint32_t head = (uint32_t)(wanted >> g->tail_bits), slots;
    if (g->head_bytes == 4) {
        differ = _mm512_xor_si512(heads, _mm512_set1_epi32((int)head));
        above = _mm512_xor_si512(heads, _mm512_add_epi32(heads, ones));
        slots =
            _mm512_mask_testn_epi32_mask((__mmask16)slots_in(range), differ, _mm512_xor_si512(above, ones));
    } else {
        differ = _mm512_xor_si512(heads, _mm512_set1_epi16((short)head));
        above = _mm512_xor_si512(heads, _mm512_add_epi16(heads, ones));
        slots = _mm512_mask_testn_epi16_mask(slots_in(range), differ, _mm512_xor_si512(above, ones));
    }
    return slots;
}

static INLINED bool isa_has(const line_geometry *g, const uint8_t *line, slot_range range,
                            tamis__u128 wanted) {
    return any_matches(g, line, heads_like(g, line, range, wanted), wanted);
}

static INLINED bool isa_finds(const line_geometry *g, const uint8_t *line, slot_range range,
                              tamis__u128 wanted) {
    return any_matches_mixed(g, line, heads_like(g, line, range, wanted), wanted);
}

/* As line_slot_for: the slot at which a value is inserted. */
static INLINED uint32_t slot_for(const line_geometry *g, const uint8_t *line, slot_range range,
                                 tamis__u128 value) {
    __m512i heads = _mm512_load_si512(line);
    uint32_t head = (uint32_t)(value >> g->tail_bits), in = slots_in(range), below, equal;
    if (g->head_bytes == 4) {
        below = _mm512_mask_cmplt_epu32_mask((__mmask16)in, heads, _mm512_set1_epi32((int)head));
        equal = _mm512_mask_cmpeq_epu32_mask((__mmask16)in, heads, _mm512_set1_epi32((int)head));
    } else {
        below = _mm512_mask_cmplt_epu16_mask(in, heads, _mm512_set1_epi16((short)head));
        equal = _mm512_mask_cmpeq_epu16_mask(in, heads, _mm512_set1_epi16((short)head));
    }
    if (equal)
        return line_slot_for(g, line, range, value);
    return range.first + (uint32_t)_mm_popcnt_u32(below);
}

/* A mask of `count` ones from bit `from` on. */
static INLINED uint64_t bytes_from(uint32_t from, uint32_t count) {
    return _bzhi_u64(UINT64_MAX, count) << from;
}

static INLINED __m512i byte_numbers(void) {
    static const uint8_t numbers[LINE_BYTES] __attribute__((aligned(LINE_BYTES))) = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    return _mm512_load_si512(numbers);
}

/* Moves heads, and tails of whole bytes, into the `count` slots from `slot` on. If `up`, they come from
 * the slot below each, else from the slot above. Call it last: to read a vector just after parts of it
 * were written would stall. */
static INLINED void move_slots(const line_geometry *g, uint8_t *line, __m512i bytes, uint32_t slot,
                               uint32_t count, bool up) {
    __m512i from = byte_numbers();
    int sign = up ? 1 : -1;
    uint64_t moved = bytes_from(slot * g->head_bytes, count * g->head_bytes);
    from = _mm512_mask_sub_epi8(from, moved, from, _mm512_set1_epi8((char)(sign * g->head_bytes)));
    if (!tails_packed(g) && g->tail_bits) {
        uint32_t tail_bytes = g->tail_bits / 8u;
        uint64_t tails = bytes_from(g->tails_at + slot * tail_bytes, count * tail_bytes);
        from = _mm512_mask_sub_epi8(from, tails, from, _mm512_set1_epi8((char)(sign * (int)tail_bytes)));
        moved |= tails;
    }
    _mm512_mask_storeu_epi8(line, moved, _mm512_permutexvar_epi8(from, bytes));
}

/* True for shapes with heads of 32 bits and no tails, or packed tails of at most 8 bits in the last 16
 * bytes. */
static INLINED bool has_vectors(const line_geometry *g) {
    return is_narrow(g) && g->head_bytes == 4 &&
           (g->tail_bits == 0 || (tails_packed(g) && g->tail_bits <= 8 && g->tails_from == LINE_BYTES - 16));
}

/* A mask with the bits of a tail in each byte. */
static INLINED uint64_t tail_bytes_mask(const line_geometry *g) {
    return UINT64_MAX / 255 * ((1u << g->tail_bits) - 1);
}

/* The tails of a line that is not full, one byte each. The last slot is free and is set to 0. A file of
 * another writer may have any bits there, which must not be moved beyond the slots. */
static INLINED __m128i tails_load(const line_geometry *g, const uint8_t *line) {
    const tamis__u128 tails = line_load_tails(g, line) >> g->tails_low;
    const uint64_t low = _pdep_u64((uint64_t)tails, tail_bytes_mask(g));
    const uint64_t high = _pdep_u64((uint64_t)(tails >> (8 * g->tail_bits)), tail_bytes_mask(g));
    return _mm_maskz_mov_epi8((__mmask16)((1u << (g->slots - 1)) - 1),
                              _mm_set_epi64x((long long)high, (long long)low));
}

static INLINED void tails_store(const line_geometry *g, uint8_t *line, __m128i tails, uint64_t ends) {
    const uint64_t low = _pext_u64((uint64_t)_mm_cvtsi128_si64(tails), tail_bytes_mask(g));
    const uint64_t high = _pext_u64((uint64_t)_mm_extract_epi64(tails, 1), tail_bytes_mask(g));
    line_store_last(g, line, (tamis__u128)high << (8 * g->tail_bits) | low, ends);
}

static INLINED void isa_insert(const line_geometry *g, uint8_t *line, uint64_t ends, uint32_t bucket,
                               slot_range range, tamis__u128 value) {
    __m512i bytes = _mm512_load_si512(line);
    uint32_t slot = slot_for(g, line, range, value);
    uint64_t new_ends = ends_with(ends, bucket, range.last);
    if (has_vectors(g) && tails_packed(g)) {
        __m128i tail = _mm_set1_epi8((char)(value & bit_mask(0, g->tail_bits)));
        __m128i tails = _mm_mask_expand_epi8(tail, (__mmask16) ~(1u << slot), tails_load(g, line));
        tails_store(g, line, tails, new_ends);
    } else {
        if (tails_packed(g))
            line_insert_packed(g, line, slot, value & bit_mask(0, g->tail_bits));
        line_set_ends(g, line, new_ends);
    }
    move_slots(g, line, bytes, slot + 1, g->slots - slot - 1, true);
    if (tails_packed(g))
        line_put_head(g, line, slot, (uint32_t)(value >> g->tail_bits));
    else
        line_put_slot(g, line, slot, value);
}

static INLINED void isa_remove(const line_geometry *g, uint8_t *line, uint64_t ends, uint32_t bucket,
                               uint32_t slot) {
    __m512i bytes = _mm512_load_si512(line);
    if (tails_packed(g))
        line_remove_packed(g, line, slot);
    line_set_ends(g, line, ends_without(ends, bucket, slot));
    move_slots(g, line, bytes, slot, g->slots - slot - 1, false);
}

/* ---- entries in transit to other lines ---- */

/* Joins heads, tails and buckets of eight entries to values. */
static INLINED __m512i join(const line_geometry *g, __m256i heads, uint64_t tails, __m128i buckets) {
    const __m512i value = _mm512_slli_epi64(_mm512_cvtepu32_epi64(heads), 32u - g->home_bits);
    const __m512i tail =
        _mm512_cvtepu8_epi64(_mm_cvtsi64_si128((long long)_pdep_u64(tails, tail_bytes_mask(g))));
    const __m512i bucket = _mm512_slli_epi64(_mm512_cvtepu8_epi64(buckets), 64u - g->home_bits);
    return _mm512_ternarylogic_epi64(value, _mm512_slli_epi64(tail, 64u - g->home_bits - g->slot_bits),
                                     bucket, 0xfe);
}

static INLINED void isa_decode(const line_geometry *g, const uint8_t *line, line_values *to) {
    if (!has_vectors(g)) {
        values_decode(g, line, to);
        return;
    }
    const __m256i numbers = _mm256_set_epi8(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                            15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const uint64_t ends = line_ends(g, line);
    const tamis__u128 tails = g->tail_bits ? line_load_tails(g, line) >> g->tails_low : 0;
    const __m512i heads = _mm512_load_si512(line);
    /* A zero of `ends` has one place more for each bucket that ended before it. So its position less its
     * slot is its bucket. */
    const __m256i zeros = _mm256_maskz_compress_epi8((__mmask32)~ends, numbers);
    const __m128i buckets = _mm256_castsi256_si128(_mm256_sub_epi8(zeros, numbers));
    _mm512_store_si512(to->narrow, join(g, _mm512_castsi512_si256(heads), (uint64_t)tails, buckets));
    _mm512_store_si512(to->narrow + 8,
                       join(g, _mm512_extracti64x4_epi64(heads, 1), (uint64_t)(tails >> (8 * g->tail_bits)),
                            _mm_unpackhi_epi64(buckets, buckets)));
    to->first = 0;
    to->count = ends_spilled(g, ends).first;
}

static INLINED __mmask8 is_below(__m512i values, const value_move *move) {
    const __m128i shift = _mm_cvtsi32_si128((int)(64 - move->old_bits));
    return _mm512_cmplt_epu64_mask(_mm512_srl_epi64(values, shift),
                                   _mm512_set1_epi64((long long)move->below));
}

static INLINED void isa_move(const line_geometry *g, line_values *from, const value_move *move,
                             line_values *to) {
    if (!has_vectors(g)) {
        values_move(g, from, move, to);
        return;
    }
    __m128i shift = _mm_cvtsi32_si128((int)(move->old_bits - move->new_bits));
    __m512i offset = _mm512_set1_epi64((long long)(move->offset << (64 - move->new_bits)));
    __m512i low = _mm512_load_si512(from->narrow), high = _mm512_load_si512(from->narrow + 8);
    uint32_t below = is_below(low, move) | (uint32_t)is_below(high, move) << 8;
    below &= (1u << from->count) - 1;
    const uint32_t moved = (uint32_t)_tzcnt_u32(~(below >> from->first));
    const uint32_t mask = _bzhi_u32(UINT32_MAX, moved) << from->first;
    low = _mm512_maskz_compress_epi64((__mmask8)mask, _mm512_add_epi64(_mm512_sll_epi64(low, shift), offset));
    high = _mm512_maskz_compress_epi64((__mmask8)(mask >> 8),
                                       _mm512_add_epi64(_mm512_sll_epi64(high, shift), offset));
    _mm512_storeu_si512(to->narrow + to->count, low);
    _mm512_storeu_si512(to->narrow + to->count + _mm_popcnt_u32(mask & 0xff), high);
    from->first += moved;
    to->count += moved;
}

/* The parts of half a line, made from eight values. */
typedef struct half_line {
    __m256i heads;
    uint64_t tails;
    __m512i zeros, end_marks;
} half_line;

/* Splits eight values into heads, tails, zeros of `ends` and end marks. `first` is the slot of the first
 * value. */
static INLINED half_line split(const line_geometry *g, __m512i values, __mmask8 in_use, uint32_t first) {
    const __m512i numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), lane_ones = _mm512_set1_epi64(1);
    half_line half;
    values = _mm512_maskz_mov_epi64(in_use, values);
    __m512i slots = _mm512_srli_epi64(_mm512_slli_epi64(values, g->home_bits), 64u - g->slot_bits);
    slots = _mm512_maskz_max_epu64(in_use, slots, lane_ones); /* no end mark: only in a forged file */
    half.heads = _mm512_cvtepi64_epi32(_mm512_srli_epi64(slots, g->tail_bits));
    half.tails = _pext_u64((uint64_t)_mm_cvtsi128_si64(_mm512_cvtepi64_epi8(slots)), tail_bytes_mask(g));
    const __m512i bit = _mm512_add_epi64(_mm512_srli_epi64(values, 64u - g->home_bits),
                                         _mm512_add_epi64(numbers, _mm512_set1_epi64(first)));
    half.zeros = _mm512_maskz_sllv_epi64(in_use, lane_ones, bit);
    half.end_marks = _mm512_and_si512(values, _mm512_sub_epi64(_mm512_setzero_si512(), values));
    return half;
}

/* True if the first `count` values ascend, as they do in all but forged files. */
static INLINED bool in_order(const line_values *values, uint32_t count) {
    if (count < 2)
        return true;
    __mmask8 low =
        _mm512_cmplt_epu64_mask(_mm512_loadu_si512(values->narrow + 1), _mm512_load_si512(values->narrow));
    __mmask8 high = _mm512_cmplt_epu64_mask(_mm512_loadu_si512(values->narrow + 9),
                                            _mm512_load_si512(values->narrow + 8));
    return ((low | (uint32_t)high << 8) & ((1u << (count - 1)) - 1)) == 0;
}

static INLINED double isa_encode(const table *t, const line_geometry *g, const partition *in, uint8_t *line,
                                 line_values *values, uint32_t count) {
    if (!has_vectors(g))
        return values_encode(t, g, in, line, values, count);
    if (!in_order(values, count))
        values_sort(g, values, count);
    uint32_t in_use = (1u << count) - 1;
    half_line low = split(g, _mm512_load_si512(values->narrow), (__mmask8)in_use, 0);
    half_line high = split(g, _mm512_load_si512(values->narrow + 8), (__mmask8)(in_use >> 8), 8);
    uint64_t zeros = (uint64_t)_mm512_reduce_or_epi64(_mm512_or_si512(low.zeros, high.zeros));
    uint64_t ends = zeros ^ ((UINT64_C(1) << (count + g->spill_bucket + 1)) - 1);
    tamis__u128 tails = (tamis__u128)high.tails << (8 * g->tail_bits) | low.tails;
    __m512i heads = _mm512_inserti64x4(_mm512_castsi256_si512(low.heads), high.heads, 1);
    line_store_last(g, line, tails, ends);
    _mm512_mask_storeu_epi32(line, (__mmask16)((1u << g->slots) - 1), heads);
    return (double)(uint64_t)_mm512_reduce_add_epi64(_mm512_add_epi64(low.end_marks, high.end_marks)) *
           0x1p-63;
}

#include "filter/kernels/fingerprint_loops.h"

const struct tamis__table_kernels tamis__table_kernels_avx512 = {
    .add = add, .contains = contains, .rewrite = rewrite};
#endif
