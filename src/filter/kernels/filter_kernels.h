/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_FILTER_KERNELS_H
#define TAMIS_FILTER_KERNELS_FILTER_KERNELS_H

#include <tamis/hash.h>
#include <tamis/key.h>

#include "base/bytes.h"
#include "base/failure.h"
#include "base/isa.h"
#include "filter/kernels/fingerprint_kernels.h"
#include "filter/line_count.h"

/* A blocked filter as the kernels see it: `blocks` lines of 8 words each, `probes` bits a key. */
typedef struct tamis__blocks {
    uint64_t *words;
    uint64_t blocks;
    uint32_t probes;
} tamis__blocks;

/* The line of a key. */
static inline uint64_t *tamis__block_of(const tamis__blocks *in, const tamis_hash *hash) {
    return in->words + tamis__mulhi(hash->word[1], in->blocks) * 8;
}

/*
 * The inner loops that exist once for each instruction set, one file a set. All sets give the same bits
 * and answers as scalar, which is the oracle of their tests.
 */
struct tamis__filter_kernels {
    const char *name;
    void (*blocked_contains)(const tamis__blocks *in, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers);
    /* Adds keys in order and lowers *room by one for each fresh one; stops before a fresh key when *room
     * is 0. Returns how many keys it answered. */
    size_t (*blocked_add)(const tamis__blocks *in, const tamis_hash *hashes, size_t count, uint64_t *room,
                          tamis_answer *answers);
    /* Makes `into` hold what either holds, and counts it: `count` words, of which the last line may be short. */
    void (*unite)(uint64_t *into, const uint64_t *from, uint64_t count, tamis__line_counts *counts);
    const struct tamis__table_kernels *tables; /* kinds fingerprint and exact */
};

/* The positions of a key in its line, below 512, in the order in which they are made. For who keeps lines elsewhere. */
TAMIS_PRIVATE_API void tamis__block_positions(const tamis_hash *hash, uint32_t probes, uint64_t *positions);

/* The set of an isa. */
const struct tamis__filter_kernels *tamis__filter_kernels_of(tamis__isa isa);

extern const struct tamis__filter_kernels tamis__filter_kernels_scalar;
#ifdef TAMIS__HAVE_NEON
extern const struct tamis__filter_kernels tamis__filter_kernels_neon;
#endif
#ifdef TAMIS__HAVE_AVX2
extern const struct tamis__filter_kernels tamis__filter_kernels_avx2;
#endif
#ifdef TAMIS__HAVE_AVX512
extern const struct tamis__filter_kernels tamis__filter_kernels_avx512;
#endif

#endif
