/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_TEST_MOVES_H
#define TAMIS_TEST_MOVES_H

#include <stddef.h>

#include <tamis/alloc.h>

/* An allocator whose blocks moves_block may move, as one that defragments its memory. */
extern const tamis_allocator moves_allocator;

typedef struct moves_count {
    size_t calls; /* blocks that were passed to moves_block */
    size_t kept;  /* one block in this many stays where it is where it is */
} moves_count;

/* Moves a block, and fills its old bytes with rubbish. Returns its address, or NULL if it stays. `context` is
 * a moves_count. */
void *moves_block(void *context, void *block);

#endif
