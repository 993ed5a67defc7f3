/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_FINGERPRINT_KERNELS_H
#define TAMIS_FILTER_KERNELS_FINGERPRINT_KERNELS_H

#include <stdbool.h>

#include <tamis/hash.h>
#include <tamis/key.h>

#include "base/isa.h"

struct table;
struct partition;

/* How much a table may take. */
typedef struct tamis__table_room {
    uint64_t keys; /* so many fresh ones; lowered by one for each */
    double rate;   /* while its rate is not above this */
} tamis__table_room;

/* The loops over the lines of fingerprint tables, once for each instruction set: fingerprint_loops.h. All sets give the
 * same answers and lines as scalar. */
struct tamis__table_kernels {
    /* Adds keys in order and stops before a fresh one that there is no room for as the table is. Returns how many keys
     * it answered. */
    size_t (*add)(struct table *t, const tamis_hash *hashes, size_t count, tamis_answer *answers,
                  tamis__table_room *room);
    void (*contains)(const struct table *t, const tamis_hash *hashes, size_t count, tamis_answer *answers);
    /* Puts all entries of a partition into an empty one with more lines; false where one finds no room. */
    bool (*rewrite)(const struct table *t, const struct partition *from, struct partition *to);
};

extern const struct tamis__table_kernels tamis__table_kernels_scalar;
#ifdef TAMIS__HAVE_AVX2
extern const struct tamis__table_kernels tamis__table_kernels_avx2;
#endif
#ifdef TAMIS__HAVE_AVX512
extern const struct tamis__table_kernels tamis__table_kernels_avx512;
#endif

#endif
