/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/system.h"

#define REGION_SIZE (16 * TAMIS__PAGE)

static size_t round_up(size_t size, size_t unit) {
    return (size + unit - 1) / unit * unit;
}

void tamis__pages_init(tamis__pages *pages) {
    *pages = (tamis__pages){0};
    pthread_mutex_init(&pages->mutex, NULL);
}

/* Linux keeps a huge page in memory while any part of it is mapped, until memory gets short. If a part is
 * marked as free first (MADV_FREE), Linux splits the page at once and can reclaim that part. */
void tamis__pages_unmap(void *block, size_t size) {
#ifdef MADV_FREE
    (void)tamis__sys.advise(block, size, MADV_FREE);
#endif
    tamis__sys.unmap(block, size);
}

static void drop_rest(tamis__pages *pages) {
    if (pages->next < pages->end)
        tamis__pages_unmap(pages->next, (size_t)(pages->end - pages->next));
    pages->next = pages->end = NULL;
}

void tamis__pages_release(tamis__pages *pages) {
    drop_rest(pages);
    pthread_mutex_destroy(&pages->mutex);
}

/* Maps a new region of at least `min_size` bytes that begins at a multiple of TAMIS__PAGE. Unmaps what is
 * left of the region before. */
static bool map_region(tamis__pages *pages, size_t min_size) {
    const size_t size = min_size > REGION_SIZE ? round_up(min_size, TAMIS__PAGE) : REGION_SIZE;
    uint8_t *mapped = tamis__sys.map(size + TAMIS__PAGE);
    if (!mapped)
        return false;
    const size_t before = -(uintptr_t)mapped & (TAMIS__PAGE - 1);
    if (before > 0)
        tamis__sys.unmap(mapped, before);
    tamis__sys.unmap(mapped + before + size, TAMIS__PAGE - before);
    drop_rest(pages);
    pages->next = mapped + before;
    pages->end = pages->next + size;
    tamis__advise_large(pages->next, size);
    return true;
}

void *tamis__pages_cut(tamis__pages *pages, size_t size, size_t *held) {
    const size_t whole = round_up(size, (size_t)sysconf(_SC_PAGESIZE));
    void *block = NULL;
    *held = 0;
    pthread_mutex_lock(&pages->mutex);
    if (!pages->closed && ((size_t)(pages->end - pages->next) >= whole || map_region(pages, whole))) {
        block = pages->next;
        pages->next += whole;
        *held = TAMIS__PAGE - pages->held;
        pages->held = TAMIS__PAGE;
    }
    pthread_mutex_unlock(&pages->mutex);
    return block;
}

size_t tamis__pages_close(tamis__pages *pages) {
    pthread_mutex_lock(&pages->mutex);
    const size_t held = pages->held;
    drop_rest(pages);
    pages->held = 0;
    pages->closed = true;
    pthread_mutex_unlock(&pages->mutex);
    return held;
}
