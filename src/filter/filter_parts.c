/* SPDX-License-Identifier: BSD-2-Clause */
#include "filter/parts.h"

#include "filter/filter_int.h"

/* Keys of a part that are added together: 17 KiB of stack. A kernel begins with lines that are waited for, which is to be
 * seldom. */
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

/* Hashes by word[1]. */
typedef struct stretch {
    uint64_t least, width; /* to least + width */
} stretch;

static stretch stretch_of(const tamis_filter *filter, uint32_t part, uint32_t parts) {
    const tamis__parts_ops *ops = filter->ops->parts;
    uint64_t least = part == 0 ? 0 : ops->from(filter, part, parts);
    uint64_t end = part + 1 == parts ? 0 : ops->from(filter, part + 1, parts); /* 2^64 */
    return (stretch){least, end - least - 1};
}

/* Keys of a part on their way, and where in the batch they were. */
typedef struct gathered {
    size_t count;
    tamis_hash hashes[GATHERED];
    size_t from[GATHERED];
    tamis_answer answers[GATHERED];
} gathered;

/* Looks at up to as many hashes as there is room; returns how many. Without a branch, which would be guessed wrong. */
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
    gathered g; /* not to be cleared */
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
