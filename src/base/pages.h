/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_PAGES_H
#define TAMIS_BASE_PAGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system.h"

/*
 * Huge pages shared by blocks.
 *
 * Linux backs memory with a huge page (TAMIS__PAGE bytes) only if the whole page is mapped when it is first
 * written. A partition of a growing table is often smaller than that, so mapping each one alone gives it
 * small pages. Therefore blocks are cut, one after the other, out of regions that are mapped in advance:
 *
 *     region  | block 0 | block 1 | block 2 | not cut yet                  |
 *             ^ multiple of TAMIS__PAGE     ^ next                         ^ end
 *
 * Each block is unmapped on its own. Linux then splits the huge page around it into small pages. That does no
 * harm, because partitions are replaced in turn and their neighbours soon go too.
 *
 * Memory accounting: a part of the huge page at `next` belongs to no block yet. It is less than
 * TAMIS__PAGE and is counted as one TAMIS__PAGE.
 */
/* Smallest block for which sharing huge pages pays. */
#define TAMIS__PAGES_BLOCK_MIN ((size_t)128 << 10)

typedef struct tamis__pages {
    pthread_mutex_t mutex; /* for all fields below */
    uint8_t *next, *end;   /* the part of the region that is mapped and not cut yet */
    size_t held;           /* bytes counted in addition to the blocks: 0 or TAMIS__PAGE */
    bool closed;           /* true: tamis__pages_cut fails */
} tamis__pages;

void tamis__pages_init(tamis__pages *pages);
void tamis__pages_release(tamis__pages *pages); /* blocks stay mapped */

/*
 * Returns a zeroed block of `size` bytes, at least TAMIS__PAGES_BLOCK_MIN. Returns NULL if there is no
 * memory or after tamis__pages_close(). *held is the number of bytes that now count in addition:
 * TAMIS__PAGE for the first block, else 0. Any thread may call it.
 */
void *tamis__pages_cut(tamis__pages *pages, size_t size, size_t *held);

/* Unmaps a block that was cut, or a block of that size from the default allocator. Any thread may call it. */
void tamis__pages_unmap(void *block, size_t size);

/* Unmaps the rest of the region; no more blocks can be cut. Returns the bytes that no longer count in
 * addition to the blocks. Any thread may call it. */
size_t tamis__pages_close(tamis__pages *pages);

#endif
