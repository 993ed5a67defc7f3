/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_GUARD_GUARD_ADDED_KEYS_H
#define TAMIS_SERVICE_GUARD_GUARD_ADDED_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/filter.h>
#include <tamis/key.h>

#include "base/failure.h"
#include "base/memory.h"
#include "service/guard/guard_cache.h"

/*
 * The keys of puts and of news, for a guard whose filter comes from a file. A file may lack them, so each key
 * stays here until a file has it. Two things show that: the filter of the file answers "present", and it was
 * made `commit_ms` after the key was added, or later. By then the row was there. So a false positive of an
 * earlier file does not count.
 *
 * The caller locks. Two keys with the same hash are the same key.
 */
typedef struct guard_added_keys {
    const tamis_allocator *memory;
    int64_t commit_ms;          /* from the add of a key to the commit of its row, at most */
    struct added_key **buckets; /* NULL: none yet */
    size_t bucket_count;        /* a power of two */
    size_t count;
} guard_added_keys;

/* Adds a key, or notes that it was added again. `now`: milliseconds since 1970 UTC. TAMIS_E_NOMEM. */
tamis_status tamis__guard_added_keys_add(guard_added_keys *added, tamis_key key, guard_hash hash, int64_t now,
                                         tamis_error *err);
/* Calls `visit` for each key. */
void tamis__guard_added_keys_each(const guard_added_keys *added, void (*visit)(void *context, tamis_key key),
                                  void *context);
bool tamis__guard_added_keys_contain(const guard_added_keys *added, guard_hash hash);

/* Adds a key to the filter of a file, unless it answers "present". False: the filter takes no more keys. */
bool tamis__guard_added_keys_fit(tamis_filter *filter, tamis_key key);

/*
 * Looks up all keys in the new filter of a file, which was made at `created` (milliseconds since 1970 UTC).
 * Then adds those that the file lacks. *fits: false if the filter could not take one. Errors of lookups.
 */
tamis_status tamis__guard_added_keys_into(guard_added_keys *added, tamis_filter *filter, int64_t created,
                                          bool *fits, tamis_error *err);
/* Removes the keys that the last call of tamis__guard_added_keys_into found in the file. */
void tamis__guard_added_keys_finish(guard_added_keys *added);
void tamis__guard_added_keys_release(guard_added_keys *added);

#endif
