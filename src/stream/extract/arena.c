/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * An arena: a list of blocks, each twice as large as the one before it, up to KEPT_MAX.
 *
 *     blocks --> | used       | free   | --> | full  | --> | full |        newest first
 *
 * Allocations of a batch go to the newest block. One that does not fit starts a new block, and the rest of
 * the old one is lost. So memory that was handed out never moves, and keys may point to it. A reset keeps the
 * largest block for the next batch. After a few batches one block holds a whole batch, and the allocator of
 * the system is not called any more. A block for one huge value (more than KEPT_MAX) is not kept.
 */
#include "stream/extract/arena.h"

#include <assert.h>
#include <stdint.h>

enum {
    FIRST_SIZE = 64 << 10, /* first block; each further one is twice as large */
    KEPT_MAX = 16 << 20,   /* largest block; larger ones hold single allocations, and are not kept */
};

struct tamis__arena_block {
    tamis__arena_block *next;
    size_t size; /* bytes of the whole block */
    size_t used; /* bytes of `bytes` in use */
    unsigned char bytes[];
};

static size_t free_space(const tamis__arena_block *block) {
    return block->size - sizeof *block - block->used;
}

static tamis__arena_block *add_block(tamis__arena *arena, size_t wanted) {
    size_t size = arena->blocks ? 2 * arena->blocks->size : FIRST_SIZE;
    if (wanted > PTRDIFF_MAX - sizeof *arena->blocks)
        return NULL;
    if (size > KEPT_MAX)
        size = KEPT_MAX;
    if (size < wanted + sizeof *arena->blocks)
        size = wanted + sizeof *arena->blocks;
    tamis__arena_block *block = tamis__alloc(&arena->memory, size, TAMIS__LINE);
    if (!block)
        return NULL;
    *block = (tamis__arena_block){.next = arena->blocks, .size = size};
    arena->blocks = block;
    return block;
}

unsigned char *tamis__arena_alloc(tamis__arena *arena, size_t size) {
    tamis__arena_block *block = arena->blocks;
    if (!block || free_space(block) < size)
        block = add_block(arena, size);
    if (!block)
        return NULL;
    unsigned char *result = block->bytes + block->used;
    block->used += size;
    return result;
}

void tamis__arena_trim(tamis__arena *arena, const unsigned char *last, size_t size) {
    tamis__arena_block *block = arena->blocks;
    assert(block && last >= block->bytes && size <= (size_t)(block->bytes + block->used - last));
    block->used = (size_t)(last - block->bytes) + size;
}

/* Gives back all blocks but `kept`. */
static void free_blocks(tamis__arena *arena, const tamis__arena_block *kept) {
    for (tamis__arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        if (block != kept)
            tamis__free(&arena->memory, block, block->size);
    }
}

void tamis__arena_reset(tamis__arena *arena) {
    tamis__arena_block *kept = NULL;
    for (tamis__arena_block *block = arena->blocks; block; block = block->next)
        if (block->size <= KEPT_MAX && (!kept || block->size > kept->size))
            kept = block;
    free_blocks(arena, kept);
    arena->blocks = kept;
    if (kept) {
        kept->next = NULL;
        kept->used = 0;
    }
}

void tamis__arena_release(tamis__arena *arena) {
    free_blocks(arena, NULL);
    arena->blocks = NULL;
}
