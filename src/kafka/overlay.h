/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_KAFKA_OVERLAY_H
#define TAMIS_KAFKA_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/hash.h>
#include <tamis/status.h>

/*
 * The keys of an open transaction, each with its time: an exact set that keeps the order of its entries.
 * overlay.c explains it. All zeros is an empty overlay. One thread at a time.
 */
typedef struct tamis__overlay {
    tamis_hash *hashes;                  /* entries in the order in which they came */
    int64_t *times;                      /* the time of each */
    size_t count;                        /* number of entries */
    size_t hash_capacity, time_capacity; /* entries that the arrays can have */
    uint64_t *slots;                     /* 32 bits of a hash, and the number of its entry plus 1; 0: empty */
    size_t slot_count;                   /* power of two, or 0 */
    tamis_allocator memory;              /* set with the first entry */
} tamis__overlay;

/* Fetches what a lookup of this hash will read first. */
void tamis__overlay_prefetch(const tamis__overlay *overlay, const tamis_hash *hash);
/* True if the hash is an entry with a time from `from` to `to`. */
bool tamis__overlay_has(const tamis__overlay *overlay, const tamis_hash *hash, int64_t from, int64_t to);
/* Adds an entry. TAMIS_E_NOMEM: the overlay is unchanged. */
tamis_status tamis__overlay_add(tamis__overlay *overlay, const tamis_allocator *memory, tamis_hash hash,
                                int64_t time, tamis_error *err);
/* Removes the entry that was added last. */
void tamis__overlay_undo(tamis__overlay *overlay);
/* Removes all entries. Keeps the memory, unless it is large. */
void tamis__overlay_empty(tamis__overlay *overlay);
/* Frees the memory. The overlay is empty then. */
void tamis__overlay_release(tamis__overlay *overlay);

#endif
