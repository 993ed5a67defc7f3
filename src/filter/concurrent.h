/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_CONCURRENT_H
#define TAMIS_FILTER_CONCURRENT_H

/*
 * Filters that many threads add to and ask at once (tamis_filter_options.concurrent).
 *
 * The hashes are cut into parts, each with a lock: those of parts.h where the kind has such, its own else. Equal keys are in
 * one part, so that one of them alone is fresh. A batch is sorted by parts and takes them in turn, several at once where
 * they are free and those that another thread has later. All parts share
 *
 *   turn   held together by batches of keys, and alone by whoever looks at the filter as a whole or changes it so: he
 *          sees no key half added.
 *   room   fresh keys that may come before a limit of the whole filter (capacity, rate, memory) could be reached. A batch
 *          takes as many as it has keys, and gives back those that were seen. One that finds too few left is added as to
 *          any other filter, the turn held alone; and so are keys that find no place in their part. What a filter that is
 *          full answers, and which key was the last, is therefore exact.
 *   added  fresh keys that batches have counted. The filter's own figures take them in when the turn is held alone, and
 *          stand still otherwise.
 */
#include "filter/filter_int.h"
#include "filter/parts.h"

/* What a kind does for it. The parts stay what they are from the first call of parts to the end of the filter. */
struct tamis__concurrent_ops {
    uint32_t (*parts)(const tamis_filter *filter); /* at most TAMIS__PARTS_MOST */
    void (*part_of)(const tamis_filter *filter, const tamis_hash *hashes, size_t count, uint8_t *parts);
    /* Fresh keys, no matter which, that pass no limit of the filter as a whole; UINT64_MAX where it has none. */
    uint64_t (*room)(const tamis_filter *filter);
    /* Adds keys of parts that are held, for which there is room; answers those that found a place, and leaves the answers of
     * others alone. Whether all did. *added goes up by those that were fresh. */
    bool (*add)(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers,
                uint64_t *added);
    /* Takes keys that were added into the filter's figures. */
    void (*settle)(tamis_filter *filter, uint64_t added);
    bool asks_freely; /* contains() may run while others add, and needs no part held */
};

/*
 * Gets every fresh key, in an order in which one thread could have added them all: keys of a part in the order in which they
 * were added. The lock of the part, or of the whole filter, is held meanwhile. Keys of a classic filter have no parts of their
 * own, so each batch locks the whole filter.
 */
typedef struct tamis__listener {
    void (*added)(void *context, const tamis_hash *hashes, const tamis_answer *answers, size_t count);
    void *context;
} tamis__listener;

/* Sets the listener, which is copied; NULL: none. It must not use the filter. */
TAMIS_PRIVATE_API void tamis__concurrent_listen(tamis_filter *filter, const tamis__listener *listener);

/* Makes an empty filter, or one that nobody else has yet, concurrent. TAMIS_E_UNSUPPORTED of a scheme without digest. */
tamis_status tamis__concurrent_make(tamis_filter *filter, tamis_error *err);
/* NULL is fine. */
void tamis__concurrent_free(tamis_filter *filter);

/* Copies the body by tamis__piece_ops, while others add. */
tamis_status tamis__concurrent_copy_body(tamis_filter *to, const tamis_filter *from, tamis_error *err);

/* As tamis_filter_add_many and tamis_filter_contains_many. */
tamis_status tamis__concurrent_add(tamis_filter *filter, const tamis__asked *asked, tamis_answer *answers,
                                   size_t *done, tamis_error *err);
tamis_status tamis__concurrent_contains(const tamis_filter *filter, const tamis__asked *asked,
                                        tamis_answer *answers, size_t *done, tamis_error *err);

#endif
