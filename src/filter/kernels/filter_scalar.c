/* SPDX-License-Identifier: BSD-2-Clause */

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
#include <string.h>

#include "filter/kernels/filter_kernels.h"
#include "hash/positions.h"

enum {
    BLOCK_WORDS = 8,
    POSITION_BITS = 9, /* of 512 */
    POSITIONS_A_WORD = 7,
    AHEAD =
        24 /* keys whose lines are on their way while one is looked at: 16 and 32 do as well, 8 and 64 cost a fifth */
};

/* w(j) of the picture above, The shift before it matters: without, words of two j
 * differ by a constant, so keys that share 7 positions share the next 7, and the rate is a fifth higher. */
static inline uint64_t position_word(uint64_t from, uint32_t j) {
    uint64_t x = from + j * TAMIS__GOLDEN;
    x = (x ^ x >> 32) * TAMIS__MIX;
    return x ^ x >> 32;
}

/* Bit 0: one of the next `count` positions is not set in the line. */
static inline uint64_t missing_of(const uint64_t *line, uint64_t word, uint32_t count) {
    uint64_t missing = 0;
    for (uint32_t i = 0; i < count; i++, word <<= POSITION_BITS) {
        uint64_t position = word >> (64 - POSITION_BITS);
        missing |= ~line[position >> 6] >> (position & 63);
    }
    return missing;
}

/* Reads bit by bit: a mask to compare would be put together in memory, each bit waiting for the one before. */
static inline bool has_all(const tamis__blocks *in, const uint64_t *line, const tamis_hash *hash) {
    uint64_t missing = 0;
    uint32_t left = in->probes, j = 0;
    for (; left >= POSITIONS_A_WORD; left -= POSITIONS_A_WORD)
        missing |= missing_of(line, position_word(hash->word[0], j++), POSITIONS_A_WORD);
    if (left)
        missing |= missing_of(line, position_word(hash->word[0], j), left);
    return !(missing & 1);
}

static inline void set_all(const tamis__blocks *in, uint64_t *line, const tamis_hash *hash) {
    uint32_t left = in->probes;
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

static void blocked_contains(const tamis__blocks *in, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers) {
    for (size_t i = 0; i < count; i++) {
        answers[i] = has_all(in, tamis__block_of(in, &hashes[i]), &hashes[i]) ? TAMIS_SEEN : TAMIS_FRESH;
    }
}

static size_t blocked_add(const tamis__blocks *in, const tamis_hash *hashes, size_t count, uint64_t *room,
                          tamis_answer *answers) {
    prefetch_first(in, hashes, count);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            tamis__prefetch(tamis__block_of(in, &hashes[i + AHEAD]));
        uint64_t *line = tamis__block_of(in, &hashes[i]);
        if (has_all(in, line, &hashes[i])) {
            answers[i] = TAMIS_SEEN;
            continue;
        }
        if (*room == 0)
            return i; /* its answer stays untouched */
        answers[i] = TAMIS_FRESH;
        set_all(in, line, &hashes[i]);
        --*room;
    }
    return count;
}

const struct tamis__filter_kernels tamis__filter_kernels_scalar = {
    .name = "scalar",
    .blocked_contains = blocked_contains,
    .blocked_add = blocked_add,
};
