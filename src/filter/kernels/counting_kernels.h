/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_COUNTING_KERNELS_H
#define TAMIS_FILTER_KERNELS_COUNTING_KERNELS_H

/*
 * Kernels of kind counting. The idea is in filter/bloom/counting.c. This header is
 * apart from filter_kernels.h, which includes it, since the arithmetic of counters is for this kind alone.
 *
 *     counting_scalar.c    always built; the oracle of the tests
 *     counting_avx512.c    x86-64 with AVX-512; the other sets take the scalar table
 *     counting_loops.h     the loops over a batch, included by each of them
 *
 * Arithmetic of counters, on 16 of them in a word of 64 bits. A mask has bit 0 of each counter that it
 * selects. Neither an addition nor a subtraction carries over to the next counter. A counter at 15 is left
 * out, and a key is only removed if none of its counters is 0.
 */
#include <stddef.h>
#include <stdint.h>

#include <tamis/hash.h>
#include <tamis/key.h>

struct tamis__blocks;

/* Bit 0 of each of the 16 counters of a word. */
#define TAMIS__COUNTERS_BIT_0 (UINT64_MAX / 15)

/* The mask of the counters that are not 0. */
static inline uint64_t tamis__counters_used(uint64_t word) {
    word |= word >> 2;
    return (word | word >> 1) & TAMIS__COUNTERS_BIT_0;
}

/* The mask of the counters that are 15. */
static inline uint64_t tamis__counters_saturated(uint64_t word) {
    word &= word >> 2;
    return word & word >> 1 & TAMIS__COUNTERS_BIT_0;
}

/* Adds counter by counter. A sum above 15 is 15. */
static inline uint64_t tamis__counters_sum(uint64_t a, uint64_t b) {
    const uint64_t low = UINT64_MAX / 17; /* the lower of the two counters of each byte */
    const uint64_t even = (a & low) + (b & low), odd = (a >> 4 & low) + (b >> 4 & low);
    /* Bit 4 of a byte is set if its sum is above 15: all four bits of that counter become ones. */
    const uint64_t even_over = (even >> 4 & TAMIS__COUNTERS_BIT_0 & low) * 15;
    const uint64_t odd_over = (odd >> 4 & TAMIS__COUNTERS_BIT_0 & low) * 15;
    return ((even | even_over) & low) | ((odd | odd_over) & low) << 4;
}

/* What the removal of a key did: it changed nothing, or the key is absent now. Or the key is still
 * present, since it was added more often or shares its counters. */
typedef enum dropped { WAS_ABSENT, IS_GONE, IS_STILL_PRESENT } dropped;

/* The kernels of one instruction set. */
struct tamis__counting_kernels {
    void (*contains)(const struct tamis__blocks *in, const tamis_hash *hashes, size_t count,
                     tamis_answer *answers);
    /* Counts keys in order and decrements *remaining for each new key. Stops before a new key if *remaining
     * is 0. Returns the number of keys answered. */
    size_t (*add)(const struct tamis__blocks *in, const tamis_hash *hashes, size_t count, uint64_t *remaining,
                  tamis_answer *answers);
    /* Removes each key that is present once, in order. Returns how many of them are absent afterwards. */
    size_t (*remove)(const struct tamis__blocks *in, const tamis_hash *hashes, size_t count,
                     tamis_answer *answers);
};

/* Returns the smallest of the counters of a key: how often it was added, or more. 15: 15 or more. */
uint64_t tamis__counting_smallest(const struct tamis__blocks *in, const tamis_hash *hash);

extern const struct tamis__counting_kernels tamis__counting_kernels_scalar;
#ifdef TAMIS__HAVE_AVX512
extern const struct tamis__counting_kernels tamis__counting_kernels_avx512;
#endif

#endif
