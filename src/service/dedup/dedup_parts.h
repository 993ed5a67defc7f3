/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_SERVICE_DEDUP_DEDUP_PARTS_H
#define TAMIS_SERVICE_DEDUP_DEDUP_PARTS_H

/* Querying one session from several threads at once, by parts of the filter (filter/parts.h). */
#include <tamis/dedup.h>

#include "base/failure.h"
#include "filter/parts.h"

/* Returns into how many parts a batch of `count` hashes may be divided, at most `max`. If 1, use
 * tamis_dedup_add_hashes. */
TAMIS_PRIVATE_API uint32_t tamis__dedup_parts(const tamis_dedup *session, size_t count, uint32_t max);

/* Answers the keys of one part, as tamis__filter_add_part does. Needs more than 1 part. With
 * TAMIS_ON_FULL_PASS, a key that the full filter refuses is answered TAMIS_UNKNOWN, and the part
 * continues. */
TAMIS_PRIVATE_API tamis_status tamis__dedup_add_part(tamis_dedup *session, const tamis__divided_batch *batch,
                                                     uint32_t part, size_t *done, tamis_error *err);

/* Completes a batch after all its parts have returned. `done` is the smallest *done of the parts, and the
 * first `done` answers are final; `status` and *err are those of that part. For TAMIS_E_FULL, *err becomes
 * the message of tamis_dedup_add_hashes. */
TAMIS_PRIVATE_API void tamis__dedup_finish_parts(tamis_dedup *session, const tamis_answer *answers,
                                                 size_t done, tamis_status status, tamis_error *err);

#endif
