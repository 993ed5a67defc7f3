/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_ARENA_H
#define TAMIS_STREAM_ARENA_H

#include <stddef.h>

#include "base/failure.h"
#include "base/memory.h"

/* Bytes that all go at once: of the keys of a batch that do not stand in their records. What was given out stays where
 * it is until then. */
typedef struct tamis__arena_block tamis__arena_block;

typedef struct tamis__arena {
    tamis_allocator memory;
    tamis__arena_block *blocks; /* the newest first; NULL: none yet */
} tamis__arena;

/* `size` bytes without alignment, NULL: out of memory. */
unsigned char *tamis__arena_take(tamis__arena *arena, size_t size);
/* Gives back the end of what was taken last, of which only `size` bytes are needed after all. */
void tamis__arena_trim(tamis__arena *arena, const unsigned char *last, size_t size);
/* All is given back; of its memory the largest block stays for the next batch, if that is no more than 16 MiB. */
void tamis__arena_reset(tamis__arena *arena);
void tamis__arena_release(tamis__arena *arena);

#endif
