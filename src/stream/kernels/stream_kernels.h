/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KERNELS_STREAM_KERNELS_H
#define TAMIS_STREAM_KERNELS_STREAM_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/byte_mask.h"
#include "base/isa.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Byte masks for CSV: where each of three bytes occurs in a block of 64 bytes, one bit a byte. */
typedef struct tamis__csv_masks {
    uint64_t ends, quotes, delimiters;
} tamis__csv_masks;

/* Inner loops over input, one file for each instruction set. All sets give the same results as scalar. */
struct tamis__stream_kernels {
    const char *name;
    /* Finds `byte` in [from, to) and stores its offsets in order. Searches blocks of 64 bytes until there are
     * `enough` offsets (at least 1) or no input is left. Moves *from to where it stopped. `offsets` has
     * capacity for enough + TAMIS__FIND_SLACK; to - *from is below 2^32. Returns the number of offsets. */
    size_t (*find)(const unsigned char **from, const unsigned char *to, unsigned char byte, size_t enough,
                   uint32_t *offsets);
    /* Computes the byte masks of `blocks` blocks of 64 bytes. */
    void (*mask_csv)(const unsigned char *from, size_t blocks, unsigned char end, unsigned char delimiter,
                     tamis__csv_masks *masks);
    /* Converts the byte masks of `blocks` blocks to offsets. The capacity includes TAMIS__FIND_SLACK more.
     * Returns the number of offsets. */
    size_t (*offsets)(const uint64_t *masks, size_t blocks, uint32_t *offsets);
    /* Counts the occurrences of `byte` in [from, to). */
    uint64_t (*count)(const unsigned char *from, const unsigned char *to, unsigned char byte);
};

/* Extra elements of `offsets`: those found in the same block beyond `enough`, and unused ones that vector
 * stores write. */
enum { TAMIS__FIND_SLACK = TAMIS__BYTE_MASK_SIZE + 16 };

const struct tamis__stream_kernels *tamis__stream_kernels_of(tamis__isa isa);

/* Returns the kernels of this process. If TAMIS_KERNEL names a missing set, that is scalar; other functions
 * report the error. */
const struct tamis__stream_kernels *tamis__stream_kernels(void);

extern const struct tamis__stream_kernels tamis__stream_kernels_scalar;
#ifdef TAMIS__HAVE_NEON
extern const struct tamis__stream_kernels tamis__stream_kernels_neon;
#endif
#ifdef TAMIS__HAVE_AVX2
extern const struct tamis__stream_kernels tamis__stream_kernels_avx2;
#endif
#ifdef TAMIS__HAVE_AVX512
extern const struct tamis__stream_kernels tamis__stream_kernels_avx512;
#endif

#endif
