/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Fingerprint tables with AVX2. A line is two vectors of 32 bytes.
 *
 * Searching: all heads of a line are compared with the wanted head at once, half a line at a time. The result
 * is one bit a slot; slots outside the bucket are masked. Only slots with equal heads are compared further
 * (any_matches).
 *
 * Inserting: the arrays of heads and tails each open a gap of one slot. A gap is a blend of the line as it is
 * and the line moved up by one slot:
 *
 *     as it is     h0 h1 h2 h3 h4 ..
 *     moved up        h0 h1 h2 h3 h4
 *     blended      h0 h1 __ h2 h3 ..       for slot 2
 *
 * Why blends and not memmove: the length of a move varies from key to key. A memmove is then a loop or a call
 * whose branches the CPU cannot predict. The two blends are the same instructions for every slot; only their
 * masks differ. Measured for 3 million adds, with the place of an entry counted by a comparison
 * (docs/PERFORMANCE.md, "Tried"):
 *
 *     table       memmove   blends, ns a key
 *     24 bits     40        26
 *     32 bits     33        24
 *     growing     110       91
 *     exact       42        35
 *
 * Entries in transit (growth) use the scalar code.
 */
#include "filter/kernels/fingerprint_values.h"

#ifdef TAMIS__HAVE_AVX2
#include "filter/kernels/fingerprint_bmi.h"

/* The bytes 0..31 and 32..63 of a line, or a result computed from them. */
typedef struct halves {
    __m256i low, high;
} halves;

static INLINED __m256i load_half(const uint8_t *bytes) {
    return _mm256_loadu_si256((const __m256i *)(const void *)bytes);
}

static INLINED halves load_line(const uint8_t *line) {
    return (halves){load_half(line), load_half(line + 32)};
}

/* ---- heads, of 32 or 16 bits each ---- */

static INLINED __m256i all_heads(const line_geometry *g, uint32_t head) {
    return g->head_bytes == 4 ? _mm256_set1_epi32((int)head) : _mm256_set1_epi16((short)head);
}

static INLINED __m256i equal_heads(const line_geometry *g, __m256i a, __m256i b) {
    return g->head_bytes == 4 ? _mm256_cmpeq_epi32(a, b) : _mm256_cmpeq_epi16(a, b);
}

static INLINED __m256i larger_heads(const line_geometry *g, __m256i a, __m256i b) {
    return g->head_bytes == 4 ? _mm256_max_epu32(a, b) : _mm256_max_epu16(a, b);
}

/* All ones in each head that equals the wanted head above the head's lowest one. That one and the bits
 * below it are ignored, as in line_find. */
static INLINED __m256i same_heads(const line_geometry *g, __m256i heads, __m256i wanted) {
    const __m256i ones = _mm256_set1_epi8(-1);
    const __m256i less = g->head_bytes == 4 ? _mm256_add_epi32(heads, ones) : _mm256_add_epi16(heads, ones);
    const __m256i low = _mm256_xor_si256(heads, less);
    return equal_heads(g, _mm256_or_si256(heads, low), _mm256_or_si256(wanted, low));
}

/* Converts heads of all ones or all zeros to one bit a slot. */
static INLINED uint32_t slots_of(const line_geometry *g, halves heads) {
    if (g->head_bytes == 4)
        return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(heads.low)) |
               (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(heads.high)) << 8;
    /* The pack works within halves of 16 bytes, so restore the order. */
    const __m256i packed = _mm256_packs_epi16(heads.low, heads.high);
    return (uint32_t)_mm256_movemask_epi8(_mm256_permute4x64_epi64(packed, _MM_SHUFFLE(3, 1, 2, 0)));
}

static INLINED uint32_t heads_like(const line_geometry *g, const uint8_t *line, slot_range range,
                                   tamis__u128 wanted) {
    const halves heads = load_line(line);
    const __m256i head = all_heads(g, (uint32_t)(wanted >> g->tail_bits));
    halves same = {same_heads(g, heads.low, head), same_heads(g, heads.high, head)};
    return slots_of(g, same) & slots_in(range);
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
static INLINED uint32_t slot_for(const line_geometry *g, const uint8_t *line, halves heads, slot_range range,
                                 tamis__u128 value) {
    const __m256i head = all_heads(g, (uint32_t)(value >> g->tail_bits));
    halves equal = {equal_heads(g, heads.low, head), equal_heads(g, heads.high, head)};
    if (slots_of(g, equal) & slots_in(range))
        return line_slot_for(g, line, range, value);
    halves above = {equal_heads(g, larger_heads(g, heads.low, head), heads.low),
                    equal_heads(g, larger_heads(g, heads.high, head), heads.high)};
    return range.first + (uint32_t)_mm_popcnt_u32(~slots_of(g, above) & slots_in(range));
}

/* ---- inserting ---- */

/* All ones in the bytes whose `numbers` are from..to-1. */
static INLINED __m256i bytes_between(__m256i numbers, uint32_t from, uint32_t to) {
    return _mm256_andnot_si256(_mm256_cmpgt_epi8(numbers, _mm256_set1_epi8((char)(to - 1))),
                               _mm256_cmpgt_epi8(numbers, _mm256_set1_epi8((char)(from - 1))));
}

/* The first half of a line, moved up by 2, 4 or 11 bytes. */
static INLINED __m256i moved_up(__m256i low, uint32_t by) {
    const __m256i below = _mm256_permute2x128_si256(low, low, 0x08);
    return by == 2   ? _mm256_alignr_epi8(low, below, 14)
           : by == 4 ? _mm256_alignr_epi8(low, below, 12)
                     : _mm256_alignr_epi8(low, below, 5);
}

/* The heads or the tails of a line: the first begins at byte `offset`, and each has `size` bytes. */
typedef struct field_array {
    uint32_t offset, size;
} field_array;

/* Moves the fields of slots slot..count-1 up by one slot, from `line` to `bytes`. `from` is the line too. */
static INLINED void move_fields(const uint8_t *line, halves from, halves *bytes, field_array fields,
                                uint32_t slot, uint32_t count) {
    const __m256i numbers = _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
                                             19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    const uint32_t offset = fields.offset, size = fields.size;
    const uint32_t first = offset + size * (slot + 1), end = offset + size * (count + 1);
    if (offset < 32) /* else all fields are in the second half */
        bytes->low =
            _mm256_blendv_epi8(bytes->low, moved_up(from.low, size), bytes_between(numbers, first, end));
    bytes->high =
        _mm256_blendv_epi8(bytes->high, load_half(line + 32 - size),
                           bytes_between(_mm256_add_epi8(numbers, _mm256_set1_epi8(32)), first, end));
}

/* True if the tails are packed, or have a size that move_fields supports. All line shapes of the plan
 * satisfy this. */
static INLINED bool has_vectors(const line_geometry *g) {
    const uint32_t bytes = g->tail_bits / 8u;
    return tails_packed(g) || bytes == 0 || bytes == 2 || bytes == 4 || bytes == 11 || g->tails_at >= 32;
}

/* As line_insert_in. Both halves are read before anything is written: to read a vector just after parts of
 * it were written would stall. */
static INLINED void isa_insert(const line_geometry *g, uint8_t *line, uint64_t ends, uint32_t bucket,
                               slot_range range, tamis__u128 value) {
    if (!has_vectors(g)) {
        line_insert_in(g, line, ends, bucket, range, value);
        return;
    }
    const halves were = load_line(line);
    const uint32_t slot = slot_for(g, line, were, range, value), count = ends_count(g, ends);
    halves bytes = were;
    move_fields(line, were, &bytes, (field_array){0, g->head_bytes}, slot, count);
    if (!tails_packed(g) && g->tail_bits)
        move_fields(line, were, &bytes, (field_array){g->tails_at, g->tail_bits / 8u}, slot, count);
    _mm256_storeu_si256((__m256i *)(void *)line, bytes.low);
    _mm256_storeu_si256((__m256i *)(void *)(line + 32), bytes.high);
    if (tails_packed(g)) {
        line_put_head(g, line, slot, (uint32_t)(value >> g->tail_bits));
        line_insert_packed(g, line, slot, value & bit_mask(0, g->tail_bits));
    } else {
        line_put_slot(g, line, slot, value);
    }
    line_set_ends(g, line, ends_with(ends, bucket, range.last));
}

#define isa_remove line_remove_in
#define isa_decode values_decode
#define isa_move   values_move
#define isa_encode values_encode
#include "filter/kernels/fingerprint_loops.h"

const struct tamis__table_kernels tamis__table_kernels_avx2 = {
    .add = add, .contains = contains, .rewrite = rewrite};
#endif
