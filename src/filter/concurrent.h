/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_CONCURRENT_H
#define TAMIS_FILTER_CONCURRENT_H

/* Filters that many threads use at once, for adds and lookups (tamis_filter_options.concurrent). The essay
 * is in concurrent.c. */
#include "filter/filter_int.h"
#include "filter/parts.h"

/* What a kind supplies for concurrent use. The division into parts must not change from the first call of
 * parts() until the filter is freed. */
struct tamis__concurrent_ops {
    uint32_t (*parts)(const tamis_filter *filter); /* number of parts, at most TAMIS__PARTS_MAX */
    void (*part_of)(const tamis_filter *filter, const tamis_hash *hashes, size_t count, uint8_t *parts);
    /* Number of new keys, whichever they are, that pass no limit of the whole filter. UINT64_MAX: no
     * limit. */
    uint64_t (*remaining)(const tamis_filter *filter);
    /* Adds keys of locked parts, within the reserved capacity. Answers the keys that found a slot and
     * leaves the answers of the others unchanged. True if all found one. Adds the number of new keys to
     * *added. */
    bool (*add)(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers,
                uint64_t *added);
    /* Adds `added` new keys to the filter's own counts. */
    void (*count_added)(tamis_filter *filter, uint64_t added);
    bool contains_is_lock_free; /* contains() needs no lock on the part while other threads add */
};

/* A callback that gets every new key, in an order in which one thread could have added them all. Keys of a
 * part come in the order in which they were added. The lock of the part, or of the whole filter, is held
 * during the call. Keys of a classic filter have no parts of their own memory, so each batch locks the
 * whole filter. */
typedef struct tamis__listener {
    void (*added)(void *context, const tamis_hash *hashes, const tamis_answer *answers, size_t count);
    void *context;
} tamis__listener;

/* Sets the listener, which is copied. NULL removes it. The listener must not use the filter. */
TAMIS_PRIVATE_API void tamis__concurrent_listen(tamis_filter *filter, const tamis__listener *listener);

/* Makes a filter concurrent. No other thread may use it yet. TAMIS_E_UNSUPPORTED: the scheme has no
 * digest. TAMIS_E_NOMEM, TAMIS_E_SYSTEM. */
tamis_status tamis__concurrent_enable(tamis_filter *filter, tamis_error *err);
/* Frees the locks. Does nothing if the filter is not concurrent. */
void tamis__concurrent_free(tamis_filter *filter);

/* Copies the body by tamis__piece_ops, while other threads add. */
tamis_status tamis__concurrent_copy_body(tamis_filter *to, const tamis_filter *from, tamis_error *err);

/* tamis_filter_add_many and tamis_filter_contains_many of a concurrent filter. */
tamis_status tamis__concurrent_add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done,
                                   tamis_error *err);
tamis_status tamis__concurrent_contains(const tamis_filter *filter, const tamis__key_batch *batch,
                                        size_t *done, tamis_error *err);

#endif
