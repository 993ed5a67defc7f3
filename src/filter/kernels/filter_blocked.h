/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_FILTER_BLOCKED_H
#define TAMIS_FILTER_KERNELS_FILTER_BLOCKED_H

/*
 * Kind blocked: where the bits of a key are.
 *
 * The first hash word selects a block, the other one the bits in it:
 *
 *     block = floor(word[1] * blocks / 2^64), a line of 64 bytes = 512 bits
 *
 *     probe     0..6         7..13       ...
 *     word      w(0)         w(1)        ...     w(j) = mix(word[0] + j * 2^64/phi)
 *               9 9 9 ... 1                      7 positions of 9 bits each, from the top; 1 bit is left over
 *
 * Why words w(j): one word of 64 bits has only 7 positions of 9 bits, and k may be larger.
 *
 * Why multiplication and not modulo for the block: it is faster, and it keeps blocks in the order of hashes.
 * So a range of hashes is a range of blocks, which filter/parts.h relies on.
 *
 * This layout is part of the file format (docs/FORMAT.md, "Blocked"): it must not change.
 */
#include <stdbool.h>

#include "base/bytes.h"
#include "filter/kernels/filter_kernels.h"
#include "hash/positions.h"

/* AHEAD: number of keys whose lines are fetched ahead. Lookups take a tenth longer with 32, and 128 are
 * equal; adds do not care. */
enum { POSITION_BITS = 9 /* log2 of 512 */, POSITIONS_A_WORD = 7, AHEAD = 64 };

/* w(j) of the picture above. The first shift matters: without it, the words of two j differ by a constant.
 * Keys that share 7 positions then share the next 7 too, and the rate is a fifth higher. */
static inline uint64_t position_word(uint64_t from, uint32_t j) {
    uint64_t x = from + j * TAMIS__GOLDEN;
    x = (x ^ x >> 32) * TAMIS__MIX;
    return x ^ x >> 32;
}

/* Sets the first `remaining` positions, one by one. */
static inline void set_bits(uint64_t *line, const tamis_hash *hash, uint32_t remaining) {
    for (uint32_t j = 0; remaining; j++) {
        uint64_t word = position_word(hash->word[0], j);
        const uint32_t chunk = remaining < POSITIONS_A_WORD ? remaining : POSITIONS_A_WORD;
        for (uint32_t i = 0; i < chunk; i++, word <<= POSITION_BITS) {
            const uint64_t position = word >> (64 - POSITION_BITS);
            line[position >> 6] |= UINT64_C(1) << (position & 63);
        }
        remaining -= chunk;
    }
}

/* Fetches the lines of the first keys. The loops fetch the others themselves, in place. gcc 12 takes a
 * function that only prefetches, without a loop, for one without effect, and removes the calls. */
static inline void prefetch_first(const tamis__blocks *in, const tamis_hash *hashes, size_t count) {
    for (size_t i = 0; i < AHEAD && i < count; i++)
        tamis__prefetch(tamis__block_of(in, &hashes[i]));
}

#endif
