/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_ALLOC_H
#define TAMIS_ALLOC_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The memory allocator of a handle. It is copied into the handle at creation; `context` must outlive the
 * handle.
 *
 * - alloc: returns `size` bytes (never 0), all zero, aligned to `align` (a power of two, at most 64), or
 *   NULL.
 * - free: releases a block from alloc, with the same size. It is never called with NULL.
 *
 * Both may be called from any thread that uses the handle. If the allocator is NULL or lacks a function, the
 * default is used. The default maps large blocks from the system and unmaps them as soon as they are freed;
 * small blocks come from the C library.
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
