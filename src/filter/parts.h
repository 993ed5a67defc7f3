/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_PARTS_H
#define TAMIS_FILTER_PARTS_H

/*
 * Adding one batch to a filter from several threads at once.
 *
 * The body of some kinds can be divided into parts, so that each hash belongs to exactly one. A table is
 * divided into ranges of partitions, a blocked filter into ranges of blocks. Keys of different parts share no
 * cache line, and neither do entries that they move. The result is that of adding the batch in order: the
 * same lines, answers and statistics, whatever the threads' timing. Only memory_peak may differ, since
 * partitions of several parts may grow at once.
 *
 *     parts = tamis__filter_parts(filter, count, max)
 *     tamis__filter_add_part(filter, batch, part, ...)    for each part, from any thread
 *     tamis__filter_added_parts(filter, absent, ...)      when all have returned
 */
#include <stddef.h>
#include <stdint.h>

#include <tamis/filter.h>
#include <tamis/hash.h>

#include "base/failure.h"

enum { TAMIS__PARTS_MAX = 64 };

/* A batch that is added by parts. All threads share it. */
typedef struct tamis__divided_batch {
    const tamis_hash *hashes; /* of the filter's hasher */
    size_t count;
    tamis_answer *answers; /* for all keys; each part stores those of its own */
    uint32_t parts;        /* number of parts, from tamis__filter_parts */
} tamis__divided_batch;

/*
 * Number of parts in which a batch of `count` hashes may be added at once: a power of two, at most `max` and
 * TAMIS__PARTS_MAX. It is 1 in these cases:
 * - The kind has no parts.
 * - The filter is external, in a file, or can be swapped for a newer file.
 * - The filter is concurrent: it divides batches itself.
 * - So many keys might reach a limit that all parts share: the capacity, the memory, or the rate of a growing
 *   table.
 */
TAMIS_PRIVATE_API uint32_t tamis__filter_parts(const tamis_filter *filter, size_t count, uint32_t max);

/*
 * Adds the keys of a batch that belong to part number `part`, in order, and answers them. The answers of
 * other keys are unchanged.
 *
 * Threads: different parts of one batch may be added at once. Nothing else may use the filter meanwhile, and
 * no other batch.
 *
 * *done is the index in the batch of the first key of the part without an answer, or count. Errors:
 * TAMIS_E_FULL for a reason within the part (keys collide, no more lines possible); TAMIS_E_NOMEM. Other
 * parts may then have added keys behind that one. The message does not know the final number of keys:
 * tamis__filter_added_parts corrects it.
 */
TAMIS_PRIVATE_API tamis_status tamis__filter_add_part(tamis_filter *filter, const tamis__divided_batch *batch,
                                                      uint32_t part, size_t *done, tamis_error *err);

/* Adds the new keys of all parts to the filter's counts. Call it if there was more than 1 part. `absent` is
 * the number of new keys before the first key without an answer, and `status` the error of that key. If
 * that is TAMIS_E_FULL, *err becomes the message that tamis_filter_add_hashes would have made, for so many
 * keys. */
TAMIS_PRIVATE_API void tamis__filter_added_parts(tamis_filter *filter, uint64_t absent, tamis_status status,
                                                 tamis_error *err);

#endif
