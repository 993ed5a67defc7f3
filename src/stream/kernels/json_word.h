/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KERNELS_JSON_WORD_H
#define TAMIS_STREAM_KERNELS_JSON_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What json_blocks.h asks for, for one block at once. */

typedef uint64_t bits;
enum { BLOCKS = 1 };

static inline bits bits_of(const uint64_t words[BLOCKS], size_t count) {
    (void)count;
    return words[0];
}

static inline void words_of(bits these, uint64_t words[BLOCKS]) {
    words[0] = these;
}

static inline bool any(bits these) {
    return these != 0;
}

static inline unsigned filled_of(bits these) {
    return these != 0;
}

static inline bits below(size_t size) {
    return size < 64 ? (UINT64_C(1) << size) - 1 : UINT64_MAX;
}

static inline bits shift_in(bits these, bits *before) {
    const bits shifted = these << 1 | *before >> 63;
    *before = these;
    return shifted;
}

static inline bits sum(bits one, bits other, unsigned *carry) {
    bits added;
    const bool over = __builtin_add_overflow(one, other, &added);
    const bool over_too = __builtin_add_overflow(added, *carry, &added);
    *carry = over | over_too;
    return added;
}

static inline bits from_odd_to_even(bits these, unsigned *odd) {
    for (unsigned step = 1; step < 64; step *= 2)
        these ^= these << step;
    these ^= 0 - (bits)*odd;
    *odd = (unsigned)(these >> 63);
    return these;
}

#endif
