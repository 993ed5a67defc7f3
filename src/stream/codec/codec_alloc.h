/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_CODEC_CODEC_ALLOC_H
#define TAMIS_STREAM_CODEC_CODEC_ALLOC_H

#include <stddef.h>

#include "base/memory.h"

/* Allocator callbacks for compression libraries. These libraries do not pass the size when they free a block,
 * so the size is stored before each block. */
typedef struct tamis__codec_memory {
    tamis_allocator from;
    size_t refused; /* size of the last request that failed */
} tamis__codec_memory;

/* Allocates items * size bytes; NULL on failure. `memory` is a tamis__codec_memory, passed through the
 * library as an opaque pointer. The signature is that of liblzma. */
void *tamis__codec_alloc(void *memory, size_t items, size_t size);
/* Frees a block, for all libraries; NULL does nothing. */
void tamis__codec_free(void *memory, void *block);

/* The same with the signature of zlib. */
static inline void *tamis__codec_alloc_unsigned(void *memory, unsigned items, unsigned size) {
    return tamis__codec_alloc(memory, items, size);
}

/* The same with the signature of libbz2. */
static inline void *tamis__codec_alloc_int(void *memory, int items, int size) {
    return tamis__codec_alloc(memory, (size_t)items, (size_t)size);
}

#endif
