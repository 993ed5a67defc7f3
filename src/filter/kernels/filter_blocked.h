/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_FILTER_BLOCKED_H
#define TAMIS_FILTER_KERNELS_FILTER_BLOCKED_H

/*
 * Blocked: the key's block is floor(word[1] * blocks / 2^64), and its positions lie in that one cache line,
 * 9 bits each, cut from the top of words made of word[0]:
 *
 *     probe     0..6         7..13       ...
 *     word      w(0)         w(1)        ...     w(j) = mix(word[0] + j * 2^64/phi)
 *               9 9 9 ... 1
 *
 * so that k is not bound to the 64 bits of one word.
 */
#include <stdbool.h>

#include "filter/kernels/filter_kernels.h"
#include "hash/positions.h"

/* AHEAD: keys whose lines are on their way. Asking takes a tenth longer with 32, and 128 do as well; of adding all do. */
enum { POSITION_BITS = 9 /* of 512 */, POSITIONS_A_WORD = 7, AHEAD = 64 };

/* w(j) of the picture above. The shift before it matters: without, words of two j
 * differ by a constant, so keys that share 7 positions share the next 7, and the rate is a fifth higher. */
static inline uint64_t position_word(uint64_t from, uint32_t j) {
    uint64_t x = from + j * TAMIS__GOLDEN;
    x = (x ^ x >> 32) * TAMIS__MIX;
    return x ^ x >> 32;
}

/* Sets the first `left` positions, one by one. */
static inline void set_bits(uint64_t *line, const tamis_hash *hash, uint32_t left) {
    for (uint32_t j = 0; left; j++) {
        uint64_t word = position_word(hash->word[0], j);
        uint32_t some = left < POSITIONS_A_WORD ? left : POSITIONS_A_WORD;
        for (uint32_t i = 0; i < some; i++, word <<= POSITION_BITS) {
            uint64_t position = word >> (64 - POSITION_BITS);
            line[position >> 6] |= UINT64_C(1) << (position & 63);
        }
        left -= some;
    }
}

/* The loops that follow prefetch the others themselves: a function that does nothing else, and has no loop, gcc 12 takes
 * for one without effect, and leaves its calls out. */
static inline void prefetch_first(const tamis__blocks *in, const tamis_hash *hashes, size_t count) {
    for (size_t i = 0; i < AHEAD && i < count; i++)
        tamis__prefetch(tamis__block_of(in, &hashes[i]));
}

#endif
