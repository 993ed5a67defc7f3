/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_ALLOC_H
#define TAMIS_ALLOC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Where a handle takes its memory. Copied into the handle at creation; `context` must outlive it.
 *
 * alloc: `size` bytes (never 0) all zero, aligned to `align` (a power of two, at most 64), or NULL.
 * free:  gives back what alloc returned, with the same size; never called with NULL.
 *
 * Both may be called from any thread that uses the handle. The default (NULL, or one without alloc or free)
 * maps large blocks from the system and gives them back at once; small ones come from the C library.
 */
typedef struct tamis_allocator {
    void *(*alloc)(void *context, size_t size, size_t align);
    void (*free)(void *context, void *block, size_t size);
    void *context;
} tamis_allocator;

#ifdef __cplusplus
}
#endif
#endif
