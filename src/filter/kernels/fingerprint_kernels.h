/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_FINGERPRINT_KERNELS_H
#define TAMIS_FILTER_KERNELS_FINGERPRINT_KERNELS_H

#include <stdbool.h>

#include <tamis/hash.h>
#include <tamis/key.h>

#include "base/isa.h"

struct table;
struct partition;

/* The loops over the lines of fingerprint tables, once for each instruction set: fingerprint_loops.h. All sets give the
 * same answers and lines as scalar. */
struct tamis__table_kernels {
    /* Adds keys in order and lowers *room by one for each fresh one; stops before a fresh key when *room is 0, or when
     * its partition has no place for it as it is. Returns how many keys it answered. What it changes is the
     * partitions of these keys: see filter/parts.h. */
    size_t (*add)(const struct table *t, const tamis_hash *hashes, size_t count, uint64_t *room,
                  tamis_answer *answers);
    void (*contains)(const struct table *t, const tamis_hash *hashes, size_t count, tamis_answer *answers);
    /* Puts all entries of a partition into `count` empty ones, of one size, of the same hashes in order; its lines are a
     * multiple of that, and theirs are more. False where one finds no room. */
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
