/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_LENT_MEMORY_H
#define TAMIS_STREAM_LENT_MEMORY_H

#include <stddef.h>

#include "base/memory.h"

/* For libraries that take memory of ours and do not say how large what they give back is: that stands before each block. */
typedef struct tamis__lent {
    tamis_allocator from;
    size_t refused; /* bytes of the request that failed last */
} tamis__lent;

/* NULL: refused. */
void *tamis__lend(tamis__lent *memory, size_t items, size_t size);
void tamis__lend_back(tamis__lent *memory, void *block); /* NULL is fine */

#endif
