/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STORE_REDIS_REDIS_DOUBT_H
#define TAMIS_STORE_REDIS_REDIS_DOUBT_H

#include "filter/filter_int.h"

/*
 * Keys that were sent to be added in a call that failed before they were answered. Their bits may be set by nobody else,
 * so who adds them once more is not told that they were seen. A set of 64-bit fingerprints, of at most
 * TAMIS__DOUBTS_MOST; past that, or without memory, it is of every key from then on.
 */
enum { TAMIS__DOUBTS_MOST = 1 << 17 };

typedef struct tamis__doubts {
    uint64_t *slots; /* 0: free */
    size_t room;     /* a power of two, at least twice the count; 0: nothing is allocated */
    size_t count;
    bool every; /* key is one */
} tamis__doubts;

/* Of a key as of its digest, and whatever filter has the name by then. Never 0. */
uint64_t tamis__doubts_print(const tamis_filter *filter, const tamis__key_batch *asked, size_t i);
/* An element of that fingerprint is one from now on. */
void tamis__doubts_keep(tamis__doubts *doubts, uint64_t print, const tamis_allocator *allocator);
/* Whether it is one, or may be; it is no more. */
bool tamis__doubts_take(tamis__doubts *doubts, uint64_t print);
static inline bool tamis__doubts_any(const tamis__doubts *doubts) {
    return doubts->count > 0 || doubts->every;
}
void tamis__doubts_release(tamis__doubts *doubts, const tamis_allocator *allocator);

#endif
