/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_FINGERPRINT_KERNELS_H
#define TAMIS_FILTER_KERNELS_FINGERPRINT_KERNELS_H

#include <stdbool.h>

#include <tamis/hash.h>
#include <tamis/key.h>

#include "base/isa.h"

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

extern const struct tamis__table_kernels tamis__table_kernels_scalar;
#ifdef TAMIS__HAVE_NEON
extern const struct tamis__table_kernels tamis__table_kernels_neon;
#endif
#ifdef TAMIS__HAVE_AVX2
extern const struct tamis__table_kernels tamis__table_kernels_avx2;
#endif
#ifdef TAMIS__HAVE_AVX512
extern const struct tamis__table_kernels tamis__table_kernels_avx512;
#endif

#endif
