/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind blocked in plain C: the reference for the tests of the other instruction sets, and the code for
 * machines without them.
 *
 * A lookup tests the k bits of a key one after the other and combines them without a branch:
 *
 *     missing |= ~line[position / 64] >> (position % 64)        bit 0 is 1 if that bit is not set
 *
 * After the last probe bit 0 of `missing` is 0 exactly if all bits are set. A branch for each probe would
 * leave the loop early for absent keys, but half of these branches would be mispredicted.
 *
 * Adding tests first and writes only if a bit is missing. A key that is present then leaves its line
 * unchanged, in this and in every other CPU's cache.
 *
 * A union counts the bits of the result while the words are in the cache, 2048 words (16 KiB) at a time.
 *
 * Measured: ./dev bench memory (blocked) with TAMIS_KERNEL=scalar.
 */
#include "filter/kernels/filter_blocked.h"

/* Returns 1 in bit 0 if one of the first `count` positions of the word is not set in the line. */
static inline uint64_t missing_of(const uint64_t *line, uint64_t word, uint32_t count) {
    uint64_t missing = 0;
    for (uint32_t i = 0; i < count; i++, word <<= POSITION_BITS) {
        const uint64_t position = word >> (64 - POSITION_BITS);
        missing |= ~line[position >> 6] >> (position & 63);
    }
    return missing;
}

typedef uint32_t shares; /* number of probes */

static inline shares shares_of(const tamis__blocks *in) {
    return in->probes;
}

/* Tests bit by bit. To build a mask and compare it would be slower: each bit of the mask waits in memory
 * for the one before. */
static inline bool has_all(shares left, const uint64_t *line, const tamis_hash *hash) {
    uint64_t missing = 0;
    uint32_t j = 0;
    for (; left >= POSITIONS_A_WORD; left -= POSITIONS_A_WORD)
        missing |= missing_of(line, position_word(hash->word[0], j++), POSITIONS_A_WORD);
    if (left)
        missing |= missing_of(line, position_word(hash->word[0], j), left);
    return !(missing & 1);
}

static inline bool set_all(shares probes, uint64_t *line, const tamis_hash *hash) {
    const bool present = has_all(probes, line, hash);
    if (!present)
        set_bits(line, hash, probes);
    return present;
}

void tamis__block_positions(const tamis_hash *hash, uint32_t probes, uint64_t *positions) {
    for (uint32_t i = 0; i < probes; i++) {
        uint64_t word = position_word(hash->word[0], i / POSITIONS_A_WORD);
        positions[i] = word << i % POSITIONS_A_WORD * POSITION_BITS >> (64 - POSITION_BITS);
    }
}

#include "filter/kernels/filter_blocked_loops.h"

static void or_words(uint64_t *into, const uint64_t *from, uint64_t count, tamis__line_counts *counts) {
    enum { COUNTED = 2048 }; /* words counted at a time, while they are in the cache */
    for (uint64_t from_word = 0; from_word < count; from_word += COUNTED) {
        const uint64_t chunk = count - from_word < COUNTED ? count - from_word : COUNTED;
        for (uint64_t i = from_word; i < from_word + chunk; i++)
            into[i] |= from[i];
        tamis__count_lines(into + from_word, chunk, counts);
    }
}

const struct tamis__filter_kernels tamis__filter_kernels_scalar = {
    .name = "scalar",
    .blocked_contains = blocked_contains,
    .blocked_add = blocked_add,
    .or_words = or_words,
    .tables = &tamis__table_kernels_scalar,
    .counting = &tamis__counting_kernels_scalar,
};
