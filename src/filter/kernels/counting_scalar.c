/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind counting in plain C: the reference for the tests of the other instruction sets, and the code for
 * machines without them.
 *
 * A lookup reads the counters of a key one after the other. counter - 1 has its highest bit set only if the
 * counter is 0, so no branch is needed.
 *
 * Adding and removing use a mask of eight words, as the line has them. It has bit 0 of each counter that a
 * probe selects, so two probes of one counter select it once. The line is then changed word by word.
 *
 * An example: the counters 0 to 3 of a word are 2, 15, 0 and 7, and the probes of a key select 0, 1 and 3.
 *
 *     counters, 3 to 0    7    0    15   2        0x70f2
 *     selected                                    0x1011       bit 0 of counters 3, 1, 0
 *     saturated                                   0x0010       counter 1 is at 15 and is left out
 *     word + 0x1001       8    0    15   3        0x80f3       added: no sum carries into its neighbour
 *     missing                                     0            all selected counters were used: present
 *
 * Why the answer comes from the old word: a key is present if it was before this add. Why a removal looks up
 * first: the subtraction of a counter at 0 would borrow from its neighbour, and change another key.
 *
 * Measured: ./dev bench memory (counting) with TAMIS_KERNEL=scalar.
 */
#include "filter/kernels/filter_blocked.h"

/* The counter at a position. A position has 9 bits, as in kind blocked. Its lowest 2 bits are not used: a
 * counter has 4 bits. */
static inline uint64_t counter_of(const uint64_t *line, uint64_t position) {
    return line[position >> 6] >> (position & 60) & 15;
}

/* Returns 1 in bit 63 if one of the first `count` counters of a position word is 0. */
static inline uint64_t missing_of(const uint64_t *line, uint64_t word, uint32_t count) {
    uint64_t missing = 0;
    for (uint32_t i = 0; i < count; i++, word <<= POSITION_BITS)
        missing |= counter_of(line, word >> (64 - POSITION_BITS)) - 1;
    return missing;
}

uint64_t tamis__counting_smallest(const tamis__blocks *in, const tamis_hash *hash) {
    const uint64_t *line = tamis__block_of(in, hash);
    uint64_t positions[TAMIS_PROBES_MAX], min = 15;
    tamis__block_positions(hash, in->probes, positions);
    for (uint32_t i = 0; i < in->probes; i++) {
        const uint64_t counter = counter_of(line, positions[i]);
        min = counter < min ? counter : min;
    }
    return min;
}

/* Adds bit 0 of each counter of the key to the zeros of a mask. */
static inline void select_counters(const tamis__blocks *in, const tamis_hash *hash, uint64_t mask[8]) {
    uint32_t remaining = in->probes;
    for (uint32_t j = 0; remaining; j++) {
        uint64_t word = position_word(hash->word[0], j);
        const uint32_t chunk = remaining < POSITIONS_A_WORD ? remaining : POSITIONS_A_WORD;
        for (uint32_t i = 0; i < chunk; i++, word <<= POSITION_BITS) {
            const uint64_t position = word >> (64 - POSITION_BITS);
            mask[position >> 6] |= UINT64_C(1) << (position & 60);
        }
        remaining -= chunk;
    }
}

static inline bool has_key(const tamis__blocks *in, const uint64_t *line, const tamis_hash *hash) {
    uint32_t left = in->probes, j = 0;
    uint64_t missing = 0;
    for (; left >= POSITIONS_A_WORD; left -= POSITIONS_A_WORD)
        missing |= missing_of(line, position_word(hash->word[0], j++), POSITIONS_A_WORD);
    if (left)
        missing |= missing_of(line, position_word(hash->word[0], j), left);
    return missing >> 63 == 0;
}

static inline bool count_key(const tamis__blocks *in, uint64_t *line, const tamis_hash *hash) {
    uint64_t mask[8] = {0}, missing = 0;
    select_counters(in, hash, mask);
    for (int i = 0; i < 8; i++) {
        missing |= mask[i] & ~tamis__counters_used(line[i]);
        line[i] += mask[i] & ~tamis__counters_saturated(line[i]);
    }
    return missing == 0;
}

static inline dropped drop_key(const tamis__blocks *in, uint64_t *line, const tamis_hash *hash) {
    uint64_t mask[8] = {0}, missing = 0;
    if (!has_key(in, line, hash))
        return WAS_ABSENT;
    select_counters(in, hash, mask);
    for (int i = 0; i < 8; i++) {
        line[i] -= mask[i] & ~tamis__counters_saturated(line[i]);
        missing |= mask[i] & ~tamis__counters_used(line[i]);
    }
    return missing ? IS_GONE : IS_STILL_PRESENT;
}

#include "filter/kernels/counting_loops.h"

const struct tamis__counting_kernels tamis__counting_kernels_scalar = {
    .contains = counting_contains, .add = counting_add, .remove = counting_remove};
