/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_PAGES_H
#define TAMIS_BASE_PAGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Large pages that blocks share.
 *
 * The system gives a large page (TAMIS__PAGE bytes) only where all of it is mapped when it is first written to. So blocks
 * are cut one after the other out of stretches that are mapped ahead, and each goes back to the system alone: the page is
 * then one of small pages, which does no harm where blocks come and go in turn, as partitions that grow do. Beside the
 * blocks the rest of the page is held that the next one is cut from: less than TAMIS__PAGE, and counted as that.
 */
#define TAMIS__PAGE ((size_t)2 << 20)
/* Blocks for which that is worth it. */
#define TAMIS__PAGES_LEAST ((size_t)128 << 10)

typedef struct tamis__pages {
    pthread_mutex_t mutex;
    uint8_t *at, *end; /* what is mapped and not cut off yet */
    size_t held;       /* beside the blocks */
    bool closed;
} tamis__pages;

void tamis__pages_init(tamis__pages *pages);
void tamis__pages_release(tamis__pages *pages); /* blocks stay */

/* A block of TAMIS__PAGES_LEAST bytes or more, zeroed; *held is what is held beside it that was not before. NULL: none to be
 * had. From any thread. */
void *tamis__pages_cut(tamis__pages *pages, size_t size, size_t *held);

/* Gives back a block that was cut, or one of that size that is the default allocator's. From any thread. */
void tamis__pages_give(void *block, size_t size);

/* Gives back what is held beside the blocks; there will be no more of them. Returns how much that was. From any thread. */
size_t tamis__pages_close(tamis__pages *pages);

#endif
