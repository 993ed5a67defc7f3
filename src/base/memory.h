/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_MEMORY_H
#define TAMIS_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <tamis/alloc.h>

#include "base/failure.h"

enum { TAMIS__LINE = 64 }; /* bytes of a cache line, the layout unit of every kind */

/*
 * Returns the allocator to keep in a handle: *given, or the default if `given` or one of its functions is
 * NULL.
 *
 * The default allocator maps and unmaps each block of TAMIS__MAP_FROM bytes or more on its own. So a table
 * that was replaced by a larger one goes back to the system at once, and peak memory matches the plan.
 * Smaller blocks come from the C library.
 */
#define TAMIS__MAP_FROM ((size_t)32 << 10)
TAMIS_PRIVATE_API tamis_allocator tamis__allocator_resolve(const tamis_allocator *given);
bool tamis__allocator_is_default(const tamis_allocator *allocator);

/* Returns zeroed memory, or NULL if there is none or `size` exceeds PTRDIFF_MAX. */
TAMIS_PRIVATE_API void *tamis__alloc(const tamis_allocator *from, size_t size, size_t align);
/* Does nothing if `block` is NULL. */
TAMIS_PRIVATE_API void tamis__free(const tamis_allocator *to, void *block, size_t size);

/*
 * Grows an array: returns a block for at least `wanted` items of `size` bytes, with the items of `block`
 * first and zeros behind them. *capacity is the number of items that the block holds, before and after; at 0,
 * `block` may be NULL. The array at least doubles, so that appending n items copies O(n).
 *
 * Returns `block` itself if it is large enough, and NULL if memory is short: `block` and *capacity are then
 * unchanged. The caller frees *capacity * size bytes in the end.
 */
TAMIS_PRIVATE_API void *tamis__array_reserve(const tamis_allocator *from, void *block, size_t size,
                                             size_t wanted, size_t *capacity);

/* Returns where a block is after move(context, block), which may leave it where it is and return NULL. `block`
 * may be NULL. */
static inline void *tamis__moved(void *block, void *(*move)(void *context, void *block), void *context) {
    void *to = block ? move(context, block) : NULL;
    return to ? to : block;
}

#endif
