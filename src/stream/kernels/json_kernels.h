/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KERNELS_JSON_KERNELS_H
#define TAMIS_STREAM_KERNELS_JSON_KERNELS_H

#include "base/isa.h"
#include "stream/json_int.h"

/*
 * Records that are read by blocks of 64 bytes, once for each instruction set, one file a set: json_blocks.h.
 *
 * What such a reader is sure of is well; of all else the scanner (json.c) has the last word, and says what is wrong. So all
 * sets give the same values and the same faults, if none is ever sure of what the scanner refuses or finds elsewhere.
 */
struct tamis__json_kernels {
    const char *name;
    /*
     * Whether a record, which begins with a bracket and ends with no blank, is well for sure. Then `found` of each node that
     * has a value is that: of a container all of it, of others where it begins, with size 0. Nothing is noted before;
     * on false anything may be.
     */
    bool (*skim)(tamis__json *json, const tamis__json_text *text);
};

/* The set of an isa. */
const struct tamis__json_kernels *tamis__json_kernels_of(tamis__isa isa);

extern const struct tamis__json_kernels tamis__json_kernels_scalar;
#ifdef TAMIS__HAVE_NEON
extern const struct tamis__json_kernels tamis__json_kernels_neon;
#endif
#ifdef TAMIS__HAVE_AVX2
extern const struct tamis__json_kernels tamis__json_kernels_avx2;
#endif
#ifdef TAMIS__HAVE_AVX512
extern const struct tamis__json_kernels tamis__json_kernels_avx512;
#endif

#endif
