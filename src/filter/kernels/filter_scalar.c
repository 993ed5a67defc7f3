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
    BATCH = 64 /* keys whose lines are prefetched together */
};

/* w(j) of the picture above, The shift before it matters: without, words of two j
 * differ by a constant, so keys that share 7 positions share the next 7, and the rate is a fifth higher. */
static inline uint64_t position_word(uint64_t from, uint32_t j) {
    uint64_t x = from + j * TAMIS__GOLDEN;
    x = (x ^ x >> 32) * TAMIS__MIX;
    return x ^ x >> 32;
}

/* The key's bits as a mask over the line. */
static inline void mask_of(const tamis__blocks *in, const tamis_hash *hash, uint64_t mask[BLOCK_WORDS]) {
    memset(mask, 0, BLOCK_WORDS * sizeof *mask);
    uint32_t left = in->probes;
    for (uint32_t j = 0; left; j++) {
        uint64_t word = position_word(hash->word[0], j);
        uint32_t some = left < POSITIONS_A_WORD ? left : POSITIONS_A_WORD;
        for (uint32_t i = 0; i < some; i++, word <<= POSITION_BITS) {
            uint64_t position = word >> (64 - POSITION_BITS);
            mask[position >> 6] |= UINT64_C(1) << (position & 63);
        }
        left -= some;
    }
}

void tamis__block_positions(const tamis_hash *hash, uint32_t probes, uint64_t *positions) {
    for (uint32_t i = 0; i < probes; i++) {
        uint64_t word = position_word(hash->word[0], i / POSITIONS_A_WORD);
        positions[i] = word << i % POSITIONS_A_WORD * POSITION_BITS >> (64 - POSITION_BITS);
    }
}

static inline bool has_all(const uint64_t *line, const uint64_t mask[BLOCK_WORDS]) {
    uint64_t missing = 0;
    for (int i = 0; i < BLOCK_WORDS; i++)
        missing |= mask[i] & ~line[i];
    return missing == 0;
}

static inline void prefetch_batch(const tamis__blocks *in, const tamis_hash *hashes, size_t from,
                                  size_t count) {
    for (size_t i = from; i < count && i < from + BATCH; i++)
        tamis__prefetch(tamis__block_of(in, &hashes[i]));
}

static void blocked_contains(const tamis__blocks *in, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers) {
    for (size_t i = 0; i < count; i++) {
        if (i % BATCH == 0)
            prefetch_batch(in, hashes, i, count);
        uint64_t mask[BLOCK_WORDS];
        mask_of(in, &hashes[i], mask);
        answers[i] = has_all(tamis__block_of(in, &hashes[i]), mask) ? TAMIS_SEEN : TAMIS_FRESH;
    }
}

static size_t blocked_add(const tamis__blocks *in, const tamis_hash *hashes, size_t count, uint64_t *room,
                          tamis_answer *answers) {
    for (size_t i = 0; i < count; i++) {
        if (i % BATCH == 0)
            prefetch_batch(in, hashes, i, count);
        uint64_t *line = tamis__block_of(in, &hashes[i]), mask[BLOCK_WORDS];
        mask_of(in, &hashes[i], mask);
        if (has_all(line, mask)) {
            answers[i] = TAMIS_SEEN;
            continue;
        }
        if (*room == 0)
            return i; /* its answer stays untouched */
        answers[i] = TAMIS_FRESH;
        for (int word = 0; word < BLOCK_WORDS; word++)
            line[word] |= mask[word];
        --*room;
    }
    return count;
}

const struct tamis__filter_kernels tamis__filter_kernels_scalar = {
    .name = "scalar",
    .blocked_contains = blocked_contains,
    .blocked_add = blocked_add,
};
