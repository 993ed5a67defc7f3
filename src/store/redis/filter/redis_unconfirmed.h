/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_FILTER_REDIS_UNCONFIRMED_H
#define TAMIS_STORE_REDIS_FILTER_REDIS_UNCONFIRMED_H

#include "filter/filter_int.h"

/*
 * Keys that were sent to be added in a call that failed before they were answered. Their bits may be set by nobody else,
 * so who adds them once more is not told that they were seen. A set of 64-bit fingerprints, of at most
 * TAMIS__UNCONFIRMED_ADDS_MAX; past that, or without memory, it is of every key from then on.
 */
enum { TAMIS__UNCONFIRMED_ADDS_MAX = 1 << 17 };

typedef struct tamis__unconfirmed_adds {
    uint64_t *slots; /* 0: free */
    size_t capacity; /* a power of two, at least twice the count; 0: nothing is allocated */
    size_t count;
    bool every; /* key is one */
} tamis__unconfirmed_adds;

/* Of a key as of its digest, and whatever filter has the name by then. Never 0. */
uint64_t tamis__unconfirmed_adds_fingerprint(const tamis_filter *filter, const tamis__key_batch *key_batch,
                                             size_t i);
/* An element of that fingerprint is one from now on. */
void tamis__unconfirmed_adds_insert(tamis__unconfirmed_adds *set, uint64_t fingerprint,
                                    const tamis_allocator *allocator);
/* Whether it is one, or may be; it is no more. */
bool tamis__unconfirmed_adds_remove(tamis__unconfirmed_adds *set, uint64_t fingerprint);
static inline bool tamis__unconfirmed_adds_has_any(const tamis__unconfirmed_adds *set) {
    return set->count > 0 || set->every;
}
void tamis__unconfirmed_adds_release(tamis__unconfirmed_adds *set, const tamis_allocator *allocator);

#endif
