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

/* Element i of what was asked is one from now on. */
void tamis__doubts_keep(tamis__doubts *doubts, const tamis_filter *filter, const tamis__asked *asked,
                        size_t i);
/* The first `count` are answered to the caller, who learns of each that was one, and was SEEN, that it is UNKNOWN. */
void tamis__doubts_settle(tamis__doubts *doubts, const tamis_filter *filter, const tamis__asked *asked,
                          tamis_answer *answers, size_t count);
void tamis__doubts_release(tamis__doubts *doubts, const tamis_allocator *allocator);

#endif
