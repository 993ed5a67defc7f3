/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_UNCONFIRMED_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_UNCONFIRMED_H

#include "filter/filter_int.h"

/* The set of unconfirmed adds: keys whose add was sent, but not answered before the call failed.
 * redis_unconfirmed.c explains it. */
enum { TAMIS__UNCONFIRMED_ADDS_MAX = 1 << 17 };

typedef struct tamis__unconfirmed_adds {
    uint64_t *slots; /* hash table of fingerprints; 0: free slot */
    size_t capacity; /* a power of two, at least twice the count; 0: nothing is allocated */
    size_t count;
    bool every; /* every key counts as unconfirmed */
} tamis__unconfirmed_adds;

/* The fingerprint of key i, never 0. It is the same for the key and for its hash, and does not depend on the
 * filter's size. */
uint64_t tamis__unconfirmed_adds_fingerprint(const tamis_filter *filter, const tamis__key_batch *key_batch,
                                             size_t i);
/* Adds a fingerprint. */
void tamis__unconfirmed_adds_insert(tamis__unconfirmed_adds *set, uint64_t fingerprint,
                                    const tamis_allocator *allocator);
/* Removes a fingerprint. True if it was in the set, or if every key counts as unconfirmed. */
bool tamis__unconfirmed_adds_remove(tamis__unconfirmed_adds *set, uint64_t fingerprint);
static inline bool tamis__unconfirmed_adds_has_any(const tamis__unconfirmed_adds *set) {
    return set->count > 0 || set->every;
}
void tamis__unconfirmed_adds_release(tamis__unconfirmed_adds *set, const tamis_allocator *allocator);

#endif
