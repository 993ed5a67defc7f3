/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind blocked with NEON. A line is a table of 64 bytes, the largest that one instruction (TBL) reads. So
 * the 7 positions of a word w(j) are tested at once: position / 8 selects a byte of the table, position
 * modulo 8 a bit of it.
 *
 *     w(j)       9 bits   9 bits   9 bits   ...       7 positions
 *     TBL        two bytes of w(j) that contain position i -> 16-bit lane i
 *     shift      position i to the low 9 bits of its lane
 *     TBL        byte (position / 8) of the line -> byte i
 *     TST        that byte and 1 << (position modulo 8) -> 0xff or 0 in byte i
 *
 * The results of all words are combined by a bitwise and. A key is present if all bytes are 0xff; bytes
 * that no position uses are set to 0xff first.
 *
 * Adding sets bits one by one, like scalar code (set_bits).
 */
#include "filter/kernels/filter_blocked.h"

#ifdef TAMIS__HAVE_NEON
#include <arm_neon.h>

/* Returns 0xff in byte i if position i of the word is set in the line, for i from 0 to 6. Byte 7 has no
 * meaning. Position i is in the two bytes from byte 6 - i on, 7 - i bits up. */
static inline uint8x8_t test_bits(uint8x16x4_t line, uint64_t word) {
    static const uint8_t two_bytes[16] = {6, 7, 5, 6, 4, 5, 3, 4, 2, 3, 1, 2, 0, 1, 255, 255};
    static const int16_t shifts[8] = {-7, -6, -5, -4, -3, -2, -1, 0};
    uint8x16_t from = vreinterpretq_u8_u64(vdupq_n_u64(word));
    uint16x8_t pairs = vreinterpretq_u16_u8(vqtbl1q_u8(from, vld1q_u8(two_bytes)));
    uint16x8_t position = vshlq_u16(pairs, vld1q_s16(shifts)); /* in the lowest 9 bits */
    uint8x8_t byte = vand_u8(vshrn_n_u16(position, 3), vdup_n_u8(63));
    uint8x8_t up = vand_u8(vmovn_u16(position), vdup_n_u8(7));
    uint8x8_t bit = vshl_u8(vdup_n_u8(1), vreinterpret_s8_u8(up));
    return vtst_u8(vqtbl4_u8(line, byte), bit);
}

static inline uint8x16x4_t load_line(const uint64_t *line) {
    const uint8_t *bytes = (const uint8_t *)line;
    return (uint8x16x4_t){
        {vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32), vld1q_u8(bytes + 48)}};
}

/* The probes of a key by words: `full` words with all 7 positions, and `left` positions of one more word.
 * `beyond` has ones for the positions of that word that are not used. */
typedef struct shares {
    uint32_t full, left;
    uint64_t beyond;
} shares;

static inline shares shares_of(const tamis__blocks *in) {
    uint32_t full = (in->probes - 1) / POSITIONS_A_WORD, left = in->probes - full * POSITIONS_A_WORD;
    return (shares){full, left, UINT64_MAX << 8 * left};
}

static inline bool has_all(shares by, const uint64_t *line, const tamis_hash *hash) {
    uint8x16x4_t bytes = load_line(line);
    uint8x8_t found = test_bits(bytes, position_word(hash->word[0], by.full));
    found = vorr_u8(found, vcreate_u8(by.beyond));
    for (uint32_t j = 0; j < by.full; j++) {
        uint8x8_t found_bits = test_bits(bytes, position_word(hash->word[0], j));
        found = vand_u8(found, vorr_u8(found_bits, vcreate_u8(UINT64_C(0xff) << 56)));
    }
    return vget_lane_u64(vreinterpret_u64_u8(found), 0) == UINT64_MAX;
}

static inline bool set_all(shares by, uint64_t *line, const tamis_hash *hash) {
    const bool present = has_all(by, line, hash);
    if (!present)
        set_bits(line, hash, by.full * POSITIONS_A_WORD + by.left);
    return present;
}

#include "filter/kernels/filter_blocked_loops.h"

/* Merges two words into `into`. Returns the number of bits set in each byte of the result. */
static inline uint8x16_t or_two(uint64_t *into, const uint64_t *from) {
    uint64x2_t words = vorrq_u64(vld1q_u64(into), vld1q_u64(from));
    vst1q_u64(into, words);
    return vcntq_u8(vreinterpretq_u8_u64(words));
}

static void or_words(uint64_t *into, const uint64_t *from, uint64_t count, tamis__line_counts *counts) {
    for (; count >= 8; count -= 8, into += 8, from += 8) {
        uint8x16_t ones = vaddq_u8(or_two(into, from), or_two(into + 2, from + 2));
        uint8x16_t more = vaddq_u8(or_two(into + 4, from + 4), or_two(into + 6, from + 6));
        counts->lines[vaddlvq_u8(vaddq_u8(ones, more))]++;
    }
    for (uint64_t i = 0; i < count; i++)
        into[i] |= from[i];
    tamis__count_lines(into, count, counts);
}

const struct tamis__filter_kernels tamis__filter_kernels_neon = {
    .name = "neon",
    .blocked_contains = blocked_contains,
    .blocked_add = blocked_add,
    .or_words = or_words,
    .tables = &tamis__table_kernels_neon,
    .counting = &tamis__counting_kernels_scalar,
};
#endif
