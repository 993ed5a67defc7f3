/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adding one batch to a filter from several threads, each for its own part of the hashes (parts.h).
 *
 * Each thread goes through the whole batch and picks the hashes of its part. A part is a range of word[1], so
 * a comparison of one number decides. The picked hashes are added in chunks of 512, and their answers are
 * stored at their positions in the batch:
 *
 *     batch      h0  h1  h2  h3  h4  h5  ...
 *     part       1   0   1   1   0   0   ...     thread 1 adds h0 h2 h3 ... and stores answers 0 2 3 ...
 *
 * Why each thread reads all hashes: reading is sequential and cheap, and nothing has to be sorted or handed
 * over.
 *
 * Why a chunk and not one key at a time: each call of the kernel begins by waiting for its first cache
 * lines. With chunks this wait occurs once in 512 keys.
 *
 * A picked hash is stored without a branch (collect). The index is always written, and the count grows only
 * if the hash belongs to the part. Hashes are random, so a branch would often be mispredicted.
 *
 * The end of a batch. The parts count their new keys in filter->absent_in_parts, since the counts of the
 * filter must not change while other parts are at work. tamis__filter_added_parts moves them to the filter,
 * first those before the first unanswered key. So the message of a full filter names the number that one
 * thread would have seen.
 *
 * The limits of the whole filter (capacity, rate, memory) are checked before the parts start.
 * tamis__filter_parts returns 1 if so many keys might reach one of them. So a part can fail only for a reason
 * of its own: no slot, no memory.
 *
 * Invariants:
 * 1. Keys of one part are added in batch order, so answers do not depend on the order in which threads run.
 * 2. *done is the index of the first key of the part without an answer.
 */
#include "filter/parts.h"

#include "filter/filter_int.h"

/* Keys of a part that are added together: 17 KiB of stack. More keys mean fewer waits for the first cache
 * lines of a kernel. */
enum { COLLECTED_MAX = 512 };

static const tamis__parts_ops *parts_of(const tamis_filter *filter) {
    return filter->external || tamis__filter_is_read_only(filter) || filter->concurrent ? NULL
                                                                                        : filter->ops->parts;
}

uint32_t tamis__filter_parts(const tamis_filter *filter, size_t count, uint32_t max) {
    const tamis__parts_ops *ops = parts_of(filter);
    uint32_t parts = 1;
    while (parts <= max / 2 && parts < TAMIS__PARTS_MAX)
        parts *= 2;
    parts = ops ? ops->max_parts(filter, parts) : 1;
    return parts > 1 && ops->fit(filter, count) ? parts : 1;
}

/* A range of hashes, by word[1]. */
typedef struct hash_range {
    uint64_t first, width; /* the range is `first` to `first` + width */
} hash_range;

static hash_range part_range(const tamis_filter *filter, uint32_t part, uint32_t parts) {
    const tamis__parts_ops *ops = filter->ops->parts;
    const uint64_t first = part == 0 ? 0 : ops->from(filter, part, parts);
    const uint64_t end = part + 1 == parts ? 0 : ops->from(filter, part + 1, parts); /* 0 stands for 2^64 */
    return (hash_range){first, end - first - 1};
}

/* A chunk of the keys of a part, and their indexes in the batch. */
typedef struct collected {
    size_t count;
    tamis_hash hashes[COLLECTED_MAX];
    size_t from[COLLECTED_MAX];
    tamis_answer answers[COLLECTED_MAX];
} collected;

/* Gathers keys of a part until the chunk is full or the hashes end. Returns the number of hashes looked
 * at. No branch for each hash: it would be mispredicted. */
static size_t collect(collected *chunk, hash_range range, const tamis_hash *hashes, size_t count) {
    size_t scanned = 0, found = 0;
    for (; scanned < count && found < COLLECTED_MAX; scanned++) {
        chunk->from[found] = scanned;
        found += hashes[scanned].word[1] - range.first <= range.width;
    }
    for (size_t i = 0; i < found; i++)
        chunk->hashes[i] = hashes[chunk->from[i]];
    chunk->count = found;
    return scanned;
}

tamis_status tamis__filter_add_part(tamis_filter *filter, const tamis__divided_batch *batch, uint32_t part,
                                    size_t *done, tamis_error *err) {
    if (batch->parts == 1)
        return tamis_filter_add_hashes(filter, batch->hashes, batch->count, batch->answers, done, err);
    const hash_range range = part_range(filter, part, batch->parts);
    tamis_status status = TAMIS_OK;
    uint64_t absent = 0;
    collected chunk; /* not initialized: too large */
    for (*done = 0; *done < batch->count && status == TAMIS_OK;) {
        const size_t base = *done;
        size_t in = 0;
        const size_t scanned = collect(&chunk, range, batch->hashes + base, batch->count - base);
        const tamis__key_batch keys = {
            .hashes = chunk.hashes, .count = chunk.count, .answers = chunk.answers};
        status = filter->ops->parts->add(filter, &keys, &in, err);
        for (size_t i = 0; i < in; i++) {
            batch->answers[base + chunk.from[i]] = chunk.answers[i];
            absent += chunk.answers[i] == TAMIS_ABSENT;
        }
        *done = base + (status == TAMIS_OK ? scanned : chunk.from[in]);
    }
    __atomic_add_fetch(&filter->absent_in_parts, absent, __ATOMIC_RELAXED);
    return status;
}

void tamis__filter_added_parts(tamis_filter *filter, uint64_t absent, tamis_status status, tamis_error *err) {
    const tamis__parts_ops *ops = filter->ops->parts;
    ops->added(filter, absent);
    if (status == TAMIS_E_FULL)
        (void)tamis__filter_fail_full(filter, err);
    ops->added(filter, filter->absent_in_parts - absent);
    filter->absent_in_parts = 0;
}
