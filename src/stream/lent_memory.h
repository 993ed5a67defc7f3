/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_LENT_MEMORY_H
#define TAMIS_STREAM_LENT_MEMORY_H

#include <stddef.h>

#include "base/memory.h"

/* Allocator callbacks for compression libraries. These libraries do not pass the size when they free a block,
 * so the size is stored before each block. */
typedef struct tamis__lent {
    tamis_allocator from;
    size_t refused; /* size of the last request that failed */
} tamis__lent;

/* Allocates items * size bytes; NULL on failure. `memory` is a tamis__lent, passed through the library as an
 * opaque pointer. The signature is that of liblzma. */
void *tamis__lend(void *memory, size_t items, size_t size);
/* Frees a block, for all libraries; NULL does nothing. */
void tamis__lend_back(void *memory, void *block);

/* The same with the signature of zlib. */
static inline void *tamis__lend_unsigned(void *memory, unsigned items, unsigned size) {
    return tamis__lend(memory, items, size);
}

/* The same with the signature of libbz2. */
static inline void *tamis__lend_int(void *memory, int items, int size) {
    return tamis__lend(memory, (size_t)items, (size_t)size);
}

#endif
