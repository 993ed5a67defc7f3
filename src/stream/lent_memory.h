/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_LENT_MEMORY_H
#define TAMIS_STREAM_LENT_MEMORY_H

#include <stddef.h>

#include "base/memory.h"

/* For libraries that take memory of ours and do not say how large what they give back is: that stands before each
 * block. */
typedef struct tamis__lent {
    tamis_allocator from;
    size_t refused; /* bytes of the request that failed last */
} tamis__lent;

/* `memory` is a tamis__lent, which libraries carry about as a pointer to anything. NULL: refused. These are functions
 * as liblzma calls them; back to all of them it is the same. */
void *tamis__lend(void *memory, size_t items, size_t size);
void tamis__lend_back(void *memory, void *block); /* NULL is fine */

/* As zlib calls it. */
static inline void *tamis__lend_unsigned(void *memory, unsigned items, unsigned size) {
    return tamis__lend(memory, items, size);
}

/* As libbz2 calls it. */
static inline void *tamis__lend_int(void *memory, int items, int size) {
    return tamis__lend(memory, (size_t)items, (size_t)size);
}

#endif
