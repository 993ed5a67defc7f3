/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds fingerprint and exact from many threads (concurrent.h).
 *
 * A table of a given number of keys is one array of lines, cut into stretches of 2^shift lines, of which the last has what
 * is over:
 *
 *     |  stretch 0  |  stretch 1  |  stretch 2  |    stretch 3      |
 *                        home ...r......r......r                        and as far to the left, and round the end
 *
 * An add looks at lines and changes them no farther from the home line than room_depth + 2 times r, the reach of a guest:
 * one step to the guest line, and room_depth + 1 for entries that move to make room there (fingerprint_grow.c). No stretch
 * is shorter, so that an add stays in its own and the two beside it; a question goes at most one r on.
 *
 * What a table counts beside its lines an add counts on a copy of the table's head, from which the difference goes into the
 * sums of the stretch.
 */
#include "filter/concurrent.h"
#include "filter/fingerprint_table.h"

/* With fewer all adds would meet, so that one lock does. */
enum { STRETCHES_LEAST = 4 };

/* Stretches of 2^shift lines. */
typedef struct stretches {
    uint32_t count, shift;
} stretches;

static stretches stretches_of(const table *t) {
    const partition *in = &t->partitions[0];
    uint64_t reach = (uint64_t)in->reach * (t->room_depth + 2);
    uint32_t shift = 0;
    while (UINT64_C(1) << shift < reach || in->count >> shift > TAMIS__CONCURRENT_PARTS)
        shift++;
    uint32_t count = (uint32_t)(in->count >> shift);
    return !t->grows && count >= STRETCHES_LEAST ? (stretches){count, shift} : (stretches){1, 0};
}

static tamis__cut cut(const tamis_filter *filter) {
    uint32_t count = stretches_of(filter->body).count;
    return (tamis__cut){count, count > 1};
}

static void locate(const tamis_filter *filter, const tamis_hash *hashes, size_t count, uint8_t *parts) {
    const table *t = filter->body;
    stretches s = stretches_of(t);
    if (s.count == 1) {
        memset(parts, 0, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        place at = place_of(t, &hashes[i]);
        uint64_t part = at.line >> s.shift;
        tamis__prefetch(line_at(at.in, at.line));
        parts[i] = (uint8_t)(part < s.count ? part : s.count - 1);
    }
}

static uint64_t room(const tamis_filter *filter) {
    const table *t = filter->body;
    uint64_t most = filter->plan.capacity;
    return t->grows || filter->added > most ? 0 : most - filter->added;
}

static bool add(tamis_filter *filter, tamis__sums *sums, const tamis_hash *hashes, size_t count,
                tamis_answer *answers) {
    table head = *(const table *)filter->body;
    partition in = head.partitions[0];
    tamis__table_room left = {UINT64_MAX, 1};
    /* The sums of a stretch stand for those of all: keys are even. */
    head.covered += sums->covered * stretches_of(&head).count;
    head.false_fresh = 0;
    head.partitions = &in;
    in.covered = 0;
    size_t done = filter->kernels->tables->add(&head, hashes, count, answers, &left);
    sums->added += UINT64_MAX - left.keys;
    sums->covered += in.covered;
    sums->false_fresh += head.false_fresh;
    return done == count;
}

static void settle(tamis_filter *filter, const tamis__sums *sums) {
    table *t = filter->body;
    partition *in = &t->partitions[0];
    if (t->grows)
        return;
    filter->added += sums->added;
    in->used += sums->added;
    in->covered += sums->covered;
    t->covered += sums->covered;
    t->false_fresh += sums->false_fresh;
}

const struct tamis__concurrent_ops tamis__fingerprint_concurrent = {
    .cut = cut,
    .locate = locate,
    .room = room,
    .add = add,
    .settle = settle,
};
