/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KERNELS_JSON_KERNELS_H
#define TAMIS_STREAM_KERNELS_JSON_KERNELS_H

#include "base/isa.h"
#include "stream/json_int.h"

/*
 * Records that are read by blocks of 64 bytes: json_blocks.h. Sets that have not all it takes to look at eight of them at
 * once use scalar's; by single blocks AVX2 is no faster than the scanner.
 *
 * What such a reader is sure of is well; of all else the scanner (json.c) has the last word, and says what is wrong. So all
 * sets give the same values and the same faults, if none is ever sure of what the scanner refuses or finds elsewhere.
 */
struct tamis__json_kernels {
    const char *name;
    /* Sets the words of a record, whose text is set and which is skimmed later; NULL: there is no use in that. */
    void (*look)(const tamis__json *json, tamis__json_ahead *ahead);
    /*
     * Whether a record, which begins with a bracket and ends with one that closes, is well for sure. Then `found` of each node
     * that has a value is that, or of size 0 where it begins, and `begun` is set. Nothing is noted before; on false anything
     * may be. `ahead` is what was seen of the record, or NULL.
     */
    bool (*skim)(tamis__json *json, const tamis__json_text *text, tamis__json_ahead *ahead);
};

/* The set of an isa. */
const struct tamis__json_kernels *tamis__json_kernels_of(tamis__isa isa);

extern const struct tamis__json_kernels tamis__json_kernels_scalar;
#ifdef TAMIS__HAVE_AVX512
extern const struct tamis__json_kernels tamis__json_kernels_avx512;
/* Each of these bytes 64 times. */
#define TAMIS__JSON_KEPT "\"\\ {}:,0\x5f\x09"
__attribute__((
    visibility("hidden"))) extern const unsigned char tamis__json_kept[sizeof TAMIS__JSON_KEPT - 1][64];
#endif

#endif
