/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KERNELS_JSON_KERNELS_H
#define TAMIS_STREAM_KERNELS_JSON_KERNELS_H

#include "base/isa.h"
#include "stream/extract/json_int.h"

/*
 * Parsing JSON records in blocks of 64 bytes (json_blocks.h). Only AVX-512 does it, eight blocks at a time.
 * The other instruction sets leave all records to the scanner (json.c). With AVX2 and single blocks, parsing
 * is not faster than the scanner.
 *
 * A block parser may only accept: a record that it accepts is valid, and its values are found. For all other
 * records the scanner decides, and reports what is wrong. So all sets give the same values and errors, if no
 * block parser accepts what the scanner would refuse or read differently.
 */
struct tamis__json_kernels {
    const char *name;
    /* Computes scanned->words for a record that is parsed later; scanned->text is set. NULL: not useful with
     * this set. */
    void (*classify)(const tamis__json *json, tamis__json_scanned *scanned);
    /*
     * Parses a record that begins with an opening and ends with a closing bracket. True if it is valid. Then
     * `found` of each node is its value. If the value's end is not known, its size is 0 and `begun` is set.
     * All nodes are clear before the call; after false they may hold anything. `scanned` is the result of
     * `classify`, or NULL.
     */
    bool (*skim)(tamis__json *json, const tamis__json_text *text, tamis__json_scanned *scanned);
};

/* Returns the kernels for an instruction set. */
const struct tamis__json_kernels *tamis__json_kernels_of(tamis__isa isa);

extern const struct tamis__json_kernels tamis__json_kernels_scalar;
#ifdef TAMIS__HAVE_AVX512
extern const struct tamis__json_kernels tamis__json_kernels_avx512;
/* Constants in memory: each of these bytes 64 times. */
#define TAMIS__JSON_CONSTANTS "\"\\ {}:,0\x5f\x09"
__attribute__((visibility(
    "hidden"))) extern const unsigned char tamis__json_constants[sizeof TAMIS__JSON_CONSTANTS - 1][64];
#endif

#endif
