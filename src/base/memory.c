/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

static size_t round_up(size_t size, size_t align) {
    return (size + align - 1) / align * align;
}

static void *default_alloc(void *context, size_t size, size_t align) {
    (void)context;
    if (size >= TAMIS__MAP_FROM)
        return tamis__sys.map(size);
    void *block = aligned_alloc(align, round_up(size, align));
    if (block)
        memset(block, 0, size);
    return block;
}

static void default_free(void *context, void *block, size_t size) {
    (void)context;
    if (size >= TAMIS__MAP_FROM)
        tamis__sys.unmap(block, size);
    else
        free(block);
}

tamis_allocator tamis__allocator_resolve(const tamis_allocator *given) {
    if (given && given->alloc && given->free)
        return *given;
    return (tamis_allocator){default_alloc, default_free, NULL};
}

bool tamis__allocator_is_default(const tamis_allocator *allocator) {
    return allocator->alloc == default_alloc;
}

void *tamis__alloc(const tamis_allocator *from, size_t size, size_t align) {
    if (size > (size_t)PTRDIFF_MAX)
        return NULL;
    return from->alloc(from->context, size, align);
}

void tamis__free(const tamis_allocator *to, void *block, size_t size) {
    if (block)
        to->free(to->context, block, size);
}

void *tamis__array_reserve(const tamis_allocator *from, void *block, size_t size, size_t wanted,
                           size_t *capacity) {
    enum { FIRST = 8 };
    if (block && wanted <= *capacity)
        return block;
    if (wanted > (size_t)PTRDIFF_MAX / 2 / size)
        return NULL;
    size_t grown = 2 * *capacity > FIRST ? 2 * *capacity : FIRST;
    if (grown < wanted)
        grown = wanted;
    void *made = tamis__alloc(from, grown * size, _Alignof(max_align_t));
    if (!made)
        return NULL;
    if (*capacity > 0)
        memcpy(made, block, *capacity * size);
    tamis__free(from, block, *capacity * size);
    *capacity = grown;
    return made;
}
