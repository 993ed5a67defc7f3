/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_CACHE_H
#define TAMIS_SERVICE_GUARD_GUARD_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>
#include <tamis/status.h>

#include "service/guard/guard_value.h"

/*
 * Level 2: answers in this process, bounded in bytes, each with a time when it expires. Any number of threads
 * use a cache at once. A scan of many keys that come once does not drive out keys that come often.
 *
 * The caller hashes keys with a secret: whoever chooses keys cannot choose which entries meet.
 */
typedef struct guard_cache guard_cache;

/* bytes: all memory of the cache, from 64 KiB on (TAMIS_E_RANGE). At most a quarter of it is for nulls. The
 * caller owns *cache until tamis__guard_cache_free. */
tamis_status tamis__guard_cache_create(guard_cache **cache, uint64_t bytes, const tamis_allocator *allocator,
                                       tamis_error *err);
void tamis__guard_cache_free(guard_cache *cache);

/* A key: 128 bits of its hash with a secret (tamis_hash). Keys with equal hashes are taken for equal. */
typedef struct guard_hash {
    uint64_t low, high;
} guard_hash;

/* Returns an answer that has not expired at `now` (tamis__guard_now), with a reference for the caller; else
 * NULL. */
guard_blob *tamis__guard_cache_find(guard_cache *cache, guard_hash key, uint64_t now);
/* Prefetches memory for a later tamis__guard_cache_find of this key. */
void tamis__guard_cache_prefetch(const guard_cache *cache, guard_hash key);

/* Puts an answer until `expires`, and shares it. Replaces the one that is there. It may be dropped at once,
 * for lack of memory or because others are used more. */
void tamis__guard_cache_put(guard_cache *cache, guard_hash key, guard_blob *blob, uint64_t expires);
void tamis__guard_cache_remove(guard_cache *cache, guard_hash key);
/* Removes all entries. */
void tamis__guard_cache_clear(guard_cache *cache);

/* Numbers of entries and bytes now. */
void tamis__guard_cache_count(const guard_cache *cache, uint64_t *entries, uint64_t *bytes);

#endif
