/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_EXTRACT_ARENA_H
#define TAMIS_STREAM_EXTRACT_ARENA_H

#include <stddef.h>

#include "base/failure.h"
#include "base/memory.h"

/* An arena: memory that is freed all at once. It holds the keys of a batch that are not views into records.
 * Memory that was handed out does not move until then. */
typedef struct tamis__arena_block tamis__arena_block;

typedef struct tamis__arena {
    tamis_allocator memory;
    tamis__arena_block *blocks; /* newest first; NULL: none yet */
} tamis__arena;

/* Allocates `size` bytes without alignment. NULL: out of memory. */
unsigned char *tamis__arena_alloc(tamis__arena *arena, size_t size);
/* Shrinks the latest allocation, which begins at `last`, to `size` bytes. */
void tamis__arena_trim(tamis__arena *arena, const unsigned char *last, size_t size);
/* Frees all allocations. The largest block of at most 16 MiB is kept for the next batch. */
void tamis__arena_reset(tamis__arena *arena);
void tamis__arena_release(tamis__arena *arena);

#endif
