/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_ZLIB_MEMORY_H
#define TAMIS_STREAM_ZLIB_MEMORY_H

#define ZLIB_CONST /* input is only read */
#include <zlib.h>

#include "base/memory.h"

/* zlib takes memory of ours. It does not say how large what it gives back is, so that stands before each block. */
typedef struct tamis__zlib_memory {
    tamis_allocator from;
    size_t refused; /* bytes of the request that failed last */
} tamis__zlib_memory;

/* Sets the three fields of a zeroed stream; `memory` is borrowed. */
void tamis__zlib_memory_set(z_stream *stream, tamis__zlib_memory *memory);

#endif
