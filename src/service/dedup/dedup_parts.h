/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_DEDUP_DEDUP_PARTS_H
#define TAMIS_SERVICE_DEDUP_DEDUP_PARTS_H

/* Asking a session from several threads at once: see filter/parts.h. */
#include <tamis/dedup.h>

#include "base/failure.h"

/* How many parts a batch of `count` hashes may be asked in: 1 is tamis_dedup_ask_hashes. */
TAMIS_PRIVATE_API uint32_t tamis__dedup_parts(const tamis_dedup *session, size_t count, uint32_t most);

/* Answers the keys of one part, as tamis__filter_add_part; with TAMIS_WHEN_FULL_PASS a key that finds no room is
 * TAMIS_UNKNOWN and the part goes on. `parts` is more than 1. */
TAMIS_PRIVATE_API tamis_status tamis__dedup_ask_part(tamis_dedup *session, const tamis_hash *hashes,
                                                     size_t count, uint32_t part, uint32_t parts,
                                                     tamis_answer *answers, size_t *done, tamis_error *err);

/* Once all parts of a batch have returned: its first `done` answers are final, the least *done of the parts; status and *err
 * are of that part. Where it was refused with TAMIS_E_FULL, *err becomes the sentence of tamis_dedup_ask_hashes. */
TAMIS_PRIVATE_API void tamis__dedup_settle(tamis_dedup *session, const tamis_answer *answers, size_t done,
                                           tamis_status status, tamis_error *err);

#endif
