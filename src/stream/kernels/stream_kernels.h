/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KERNELS_STREAM_KERNELS_H
#define TAMIS_STREAM_KERNELS_STREAM_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "base/marks.h"

/* Where three bytes stand among 64, a bit each. */
typedef struct tamis__csv_marks {
    uint64_t ends, quotes, delimiters;
} tamis__csv_marks;

/* The loops over input that exist once for each instruction set, one file a set. All sets give the same as scalar. */
struct tamis__stream_kernels {
    const char *name;
    /* Offsets of `byte` in [from, to), in their order: looks at 64 bytes at a time until there are `enough` (at least 1) or
     * nothing is left, and moves *from to where it looked. `offsets` has room for enough + TAMIS__FIND_OVER, and
     * to - *from is below 2^32. Returns how many there are. */
    size_t (*find)(const unsigned char **from, const unsigned char *to, unsigned char byte, size_t enough,
                   uint32_t *offsets);
    /* Marks of `blocks` times 64 bytes. */
    void (*mark_csv)(const unsigned char *from, size_t blocks, unsigned char end, unsigned char delimiter,
                     tamis__csv_marks *marks);
    /* Offsets of the marks of `blocks` times 64 bytes; with room for TAMIS__FIND_OVER more. Returns how many there are. */
    size_t (*offsets)(const uint64_t *marks, size_t blocks, uint32_t *offsets);
    /* How often `byte` stands in [from, to). */
    uint64_t (*count)(const unsigned char *from, const unsigned char *to, unsigned char byte);
};

/* Of those that are found past `enough`, or written to no end. */
enum { TAMIS__FIND_OVER = TAMIS__MARKS + 16 };

const struct tamis__stream_kernels *tamis__stream_kernels_of(tamis__isa isa);

/* Those of this process; scalar where TAMIS_KERNEL names none that are here, which others refuse. */
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
