/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_FILTER_KERNELS_H
#define TAMIS_FILTER_KERNELS_FILTER_KERNELS_H

/*
 * Kernels of the filters: inner loops that exist once for each instruction set, one file a set. base/isa.h
 * chooses the set once for a process (TAMIS_KERNEL overrides it).
 *
 *     filter_scalar.c        always built; the oracle of the tests
 *     filter_avx2.c          x86-64 with AVX2, BMI1, BMI2
 *     filter_avx512.c        x86-64 with AVX-512
 *     filter_neon.c          AArch64
 *     filter_blocked.h       positions of a key in its block; filter_blocked_loops.h: the loops over a batch
 *     fingerprint_*.[ch]     the same for fingerprint tables
 *     counting_*.[ch]        the same for counting filters
 *
 * Invariant: all sets give the same bits and the same answers as scalar. A filter can be written by one
 * machine and read by any other.
 */
#include <tamis/hash.h>
#include <tamis/key.h>

#include "base/bytes.h"
#include "base/failure.h"
#include "base/isa.h"
#include "filter/kernels/counting_kernels.h"
#include "filter/line_count.h"

/* A blocked or counting filter: `blocks` lines of 8 words each, and `probes` positions a key. */
typedef struct tamis__blocks {
    uint64_t *words;
    uint64_t blocks;
    uint32_t probes;
} tamis__blocks;

/* The block of a key, which is one cache line. */
static inline uint64_t *tamis__block_of(const tamis__blocks *in, const tamis_hash *hash) {
    return in->words + tamis__mulhi(hash->word[1], in->blocks) * 8;
}

struct table;
struct partition;

/* The kernels of fingerprint tables for one instruction set; fingerprint_loops.h has the loops. All sets
 * give the same answers and the same lines as scalar. */
struct tamis__table_kernels {
    /* Adds keys in order and decrements *remaining for each new key. Stops before a new key if *remaining
     * is 0, or if its partition has no free slot for it and must grow. Returns the number of keys
     * answered. Changes only the partitions of these keys, see filter/parts.h. */
    size_t (*add)(const struct table *t, const tamis_hash *hashes, size_t count, uint64_t *remaining,
                  tamis_answer *answers);
    void (*contains)(const struct table *t, const tamis_hash *hashes, size_t count, tamis_answer *answers);
    /* Copies all entries of a partition into `count` empty partitions of one size, which divide its hashes
     * in order. `count` must divide the lines of `from`, and the new partitions must have more lines in
     * all. False: an entry finds no slot. */
    bool (*rewrite)(const struct table *t, const struct partition *from, struct partition *to,
                    uint32_t count);
};

/* The kernels of one instruction set. */
struct tamis__filter_kernels {
    const char *name;
    void (*blocked_contains)(const tamis__blocks *in, const tamis_hash *hashes, size_t count,
                             tamis_answer *answers);
    /* Adds keys in order and decrements *remaining for each new key. Stops before a new key if *remaining
     * is 0. Returns the number of keys answered. */
    size_t (*blocked_add)(const tamis__blocks *in, const tamis_hash *hashes, size_t count,
                          uint64_t *remaining, tamis_answer *answers);
    /* Merges `count` words of `from` into `into` (bitwise or) and counts the bits of the result. The last
     * line may be shorter than 8 words. */
    void (*or_words)(uint64_t *into, const uint64_t *from, uint64_t count, tamis__line_counts *counts);
    const struct tamis__table_kernels *tables;      /* kinds fingerprint and exact */
    const struct tamis__counting_kernels *counting; /* kind counting */
};

/* The positions of a key in its block, below 512, in the order of its probes. For filters whose blocks are
 * on a server. */
TAMIS_PRIVATE_API void tamis__block_positions(const tamis_hash *hash, uint32_t probes, uint64_t *positions);

/* The kernels of an instruction set. */
const struct tamis__filter_kernels *tamis__filter_kernels_of(tamis__isa isa);

extern const struct tamis__table_kernels tamis__table_kernels_scalar;
extern const struct tamis__filter_kernels tamis__filter_kernels_scalar;
#ifdef TAMIS__HAVE_NEON
extern const struct tamis__table_kernels tamis__table_kernels_neon;
extern const struct tamis__filter_kernels tamis__filter_kernels_neon;
#endif
#ifdef TAMIS__HAVE_AVX2
extern const struct tamis__table_kernels tamis__table_kernels_avx2;
extern const struct tamis__filter_kernels tamis__filter_kernels_avx2;
#endif
#ifdef TAMIS__HAVE_AVX512
extern const struct tamis__table_kernels tamis__table_kernels_avx512;
extern const struct tamis__filter_kernels tamis__filter_kernels_avx512;
#endif

#endif
