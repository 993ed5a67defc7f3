/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_PARTS_H
#define TAMIS_FILTER_PARTS_H

/*
 * Adding to one filter from several threads at once.
 *
 * The body of some kinds can be cut into parts, disjoint stretches of it, so that each hash belongs to one: a table with
 * partitions into rows of them, a blocked filter into stretches of its blocks. Keys of different parts have no line in
 * common, and neither has any that they move. Lines, answers and figures of a batch added by parts are those of the batch
 * added in order, however the parts took turns; but for memory_peak, since partitions may grow at once.
 *
 *     parts = tamis__filter_parts(filter, count, most)
 *     tamis__filter_add_part(..., part, parts, ...)    for each part, from any thread
 *     tamis__filter_added_parts(filter, fresh, ...)    when all have returned
 */
#include <stddef.h>
#include <stdint.h>

#include <tamis/filter.h>
#include <tamis/hash.h>

#include "base/failure.h"

enum { TAMIS__PARTS_MOST = 64 };

/* How many parts a batch of `count` hashes may be added in at once: a power of two up to `most` and TAMIS__PARTS_MOST. 1
 * where the kind has no parts, where the filter is concurrent and sees to it itself, and where so many keys might reach a
 * limit that all parts have in common: the capacity, the memory or the rate of a growing table. */
TAMIS_PRIVATE_API uint32_t tamis__filter_parts(const tamis_filter *filter, size_t count, uint32_t most);

/*
 * Adds those keys of a batch, hashed by the filter's hasher, that are in part `part` of `parts`, in order, and answers
 * them; the answers of others are left alone. Different parts of one batch may be added from different threads at once;
 * nothing else may use the filter meanwhile, and no part of another batch.
 *
 * *done is the number in the batch of the first key of the part that is not answered, or count. TAMIS_E_FULL for a reason
 * that is the part's own (crowded, lines), TAMIS_E_NOMEM: other parts then may have keys behind that one. How many keys
 * the sentence of a full filter tells, tamis__filter_added_parts knows.
 */
TAMIS_PRIVATE_API tamis_status tamis__filter_add_part(tamis_filter *filter, const tamis_hash *hashes,
                                                      size_t count, uint32_t part, uint32_t parts,
                                                      tamis_answer *answers, size_t *done, tamis_error *err);

/* Takes note of all keys that the parts of a batch put in, where there were more than 1; `fresh` of them are in front of the
 * first one that is not answered, to which `status` belongs. Where that is TAMIS_E_FULL, *err becomes what a filter says that
 * has those alone: the sentence of tamis_filter_add_hashes. */
TAMIS_PRIVATE_API void tamis__filter_added_parts(tamis_filter *filter, uint64_t fresh, tamis_status status,
                                                 tamis_error *err);

#endif
