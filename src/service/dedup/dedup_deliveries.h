/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_DEDUP_DEDUP_DELIVERIES_H
#define TAMIS_SERVICE_DEDUP_DEDUP_DELIVERIES_H

#include <tamis/dedup.h>

#include "service/dedup/source_positions.h"

/*
 * Positions of a session: tamis_dedup_add_delivered. They are part of its commits:
 *
 *     without positions    checkpoint of the caller
 *     with positions       MAGIC | size of the checkpoint | checkpoint | positions (source_positions.c)
 */

/* Returns the caller's part of a committed checkpoint, and sets *size to its size. *encoded (may be NULL)
 * receives the positions behind it; NULL: there are none. */
const void *tamis__dedup_deliveries_split(const void *committed, size_t *size, tamis_key *encoded);

/* Takes the positions from a committed checkpoint, which may have none. TAMIS_E_FORMAT, TAMIS_E_NOMEM. */
tamis_status tamis__dedup_deliveries_load(tamis__source_positions *positions, const void *committed,
                                          size_t size, tamis_error *err);

/* Encodes the caller's checkpoint and all positions that were queried into *joined, which the caller frees
 * with the allocator of the positions. joined->bytes is NULL if the checkpoint can be stored as it is.
 * TAMIS_E_NOMEM. */
typedef struct tamis__joined_checkpoint {
    unsigned char *bytes;
    size_t size;
} tamis__joined_checkpoint;
tamis_status tamis__dedup_deliveries_join(const tamis__source_positions *positions, const void *checkpoint,
                                          size_t size, tamis__joined_checkpoint *joined, tamis_error *err);
/* Marks all positions that were queried as committed. */
void tamis__dedup_deliveries_committed(tamis__source_positions *positions);

#endif
