/* SPDX-License-Identifier: BSD-2-Clause */
#include "support/moves.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(void *context, size_t size, size_t align) {
    (void)context;
    return align <= _Alignof(max_align_t) ? calloc(1, size) : NULL;
}

static void release(void *context, void *block, size_t size) {
    (void)context;
    (void)size;
    free(block);
}

const tamis_allocator moves_allocator = {allocate, release, NULL};

void *moves_block(void *context, void *block) {
    moves_count *moves = context;
    if (++moves->calls % moves->kept == 0)
        return NULL;
    const size_t size = malloc_usable_size(block);
    void *to = malloc(size);
    if (!to)
        abort();
    memcpy(to, block, size);
    memset(block, 0xa5, size);
    free(block);
    return to;
}
