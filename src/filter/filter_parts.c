/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adding one batch to a filter from several threads, each for its own part of the hashes (parts.h).
 *
 * Each thread goes through the whole batch and picks the hashes of its part. A part is a range of word[1], so
 * a comparison of one number decides. The picked hashes are added in groups of 512, and their answers are
 * stored at their positions in the batch:
 *
 *     batch      h0  h1  h2  h3  h4  h5  ...
 *     part       1   0   1   1   0   0   ...     thread 1 adds h0 h2 h3 ... and stores answers 0 2 3 ...
 *
 * Why each thread reads all hashes: reading is sequential and cheap, and nothing has to be sorted or handed
 * over.
 *
 * Invariants:
 * 1. Keys of one part are added in batch order, so answers do not depend on the order in which threads run.
 * 2. *done is the index of the first key of the part without an answer.
 */
#include "filter/parts.h"

#include "filter/filter_int.h"

/* Keys of a part that are added together: 17 KiB of stack. More keys mean fewer waits for the first cache
 * lines of a kernel. */
enum { GATHERED = 512 };

static const tamis__parts_ops *parts_of(const tamis_filter *filter) {
    return filter->remote || filter->guard || filter->opened || filter->concurrent ? NULL
                                                                                   : filter->ops->parts;
}

uint32_t tamis__filter_parts(const tamis_filter *filter, size_t count, uint32_t most) {
    const tamis__parts_ops *ops = parts_of(filter);
    uint32_t parts = 1;
    while (parts <= most / 2 && parts < TAMIS__PARTS_MOST)
        parts *= 2;
    parts = ops ? ops->most(filter, parts) : 1;
    return parts > 1 && ops->fit(filter, count) ? parts : 1;
}

/* A range of hashes, by word[1]. */
typedef struct stretch {
    uint64_t least, width; /* the range is `least` to least + width */
} stretch;

static stretch stretch_of(const tamis_filter *filter, uint32_t part, uint32_t parts) {
    const tamis__parts_ops *ops = filter->ops->parts;
    uint64_t least = part == 0 ? 0 : ops->from(filter, part, parts);
    uint64_t end = part + 1 == parts ? 0 : ops->from(filter, part + 1, parts); /* 0 stands for 2^64 */
    return (stretch){least, end - least - 1};
}

/* A group of keys of a part, and their indexes in the batch. */
typedef struct gathered {
    size_t count;
    tamis_hash hashes[GATHERED];
    size_t from[GATHERED];
    tamis_answer answers[GATHERED];
} gathered;

/* Gathers keys of a part until the group is full or the hashes end. Returns the number of hashes looked
 * at. No branch for each hash: it would be mispredicted. */
static size_t gather(gathered *g, stretch of, const tamis_hash *hashes, size_t count) {
    size_t looked = 0, some = 0;
    for (; looked < count && some < GATHERED; looked++) {
        g->from[some] = looked;
        some += hashes[looked].word[1] - of.least <= of.width;
    }
    for (size_t i = 0; i < some; i++)
        g->hashes[i] = hashes[g->from[i]];
    g->count = some;
    return looked;
}

tamis_status tamis__filter_add_part(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                    uint32_t part, uint32_t parts, tamis_answer *answers, size_t *done,
                                    tamis_error *err) {
    if (parts == 1)
        return tamis_filter_add_hashes(filter, hashes, count, answers, done, err);
    const stretch of = stretch_of(filter, part, parts);
    tamis_status status = TAMIS_OK;
    uint64_t fresh = 0;
    gathered g; /* not initialized: too large */
    for (*done = 0; *done < count && status == TAMIS_OK;) {
        const size_t at = *done;
        size_t in = 0;
        size_t looked = gather(&g, of, hashes + at, count - at);
        status = filter->ops->parts->add(filter, g.hashes, g.count, g.answers, &in, err);
        for (size_t i = 0; i < in; i++) {
            answers[at + g.from[i]] = g.answers[i];
            fresh += g.answers[i] == TAMIS_FRESH;
        }
        *done = at + (status == TAMIS_OK ? looked : g.from[in]);
    }
    __atomic_add_fetch(&filter->fresh_in_parts, fresh, __ATOMIC_RELAXED);
    return status;
}

void tamis__filter_added_parts(tamis_filter *filter, uint64_t fresh, tamis_status status, tamis_error *err) {
    const tamis__parts_ops *ops = filter->ops->parts;
    ops->added(filter, fresh);
    if (status == TAMIS_E_FULL)
        (void)tamis__filter_tell_full(filter, err);
    ops->added(filter, filter->fresh_in_parts - fresh);
    filter->fresh_in_parts = 0;
}
