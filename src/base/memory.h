/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_MEMORY_H
#define TAMIS_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include <tamis/alloc.h>

#include "base/failure.h"

enum { TAMIS__LINE = 64 }; /* bytes of a cache line: the unit every kind is laid out in */

/*
 * The allocator to keep in a handle: *given, or the default where given or its alloc is NULL.
 * Default: blocks of TAMIS__MAP_FROM bytes and more are mapped and unmapped one by one, so that a
 * table that was outgrown goes back to the system at once and peak memory is what the plan says;
 * smaller ones come from the C library.
 */
#define TAMIS__MAP_FROM ((size_t)32 << 10)
TAMIS_PRIVATE_API tamis_allocator tamis__allocator_resolve(const tamis_allocator *given);
bool tamis__allocator_is_default(const tamis_allocator *allocator);

/* Zeroed memory or NULL; NULL too for sizes past PTRDIFF_MAX. */
TAMIS_PRIVATE_API void *tamis__alloc(const tamis_allocator *from, size_t size, size_t align);
/* NULL is fine. */
TAMIS_PRIVATE_API void tamis__free(const tamis_allocator *to, void *block, size_t size);

#endif
