/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds fingerprint and exact of a given number of keys, from many threads (concurrent.h). One that grows has parts.
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
 * sums of the batch.
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
    while (UINT64_C(1) << shift < reach || in->count >> shift > TAMIS__PARTS_MOST)
        shift++;
    uint32_t count = (uint32_t)(in->count >> shift);
    return count < STRETCHES_LEAST ? (stretches){1, 63} : (stretches){count, shift};
}

static tamis__cut cut(const tamis_filter *filter) {
    uint32_t count = stretches_of(filter->body).count;
    return (tamis__cut){count, count > 1};
}

static void part_of(const tamis_filter *filter, const tamis_hash *hashes, size_t count, uint8_t *parts) {
    const table *t = filter->body;
    const stretches s = stretches_of(t);
    for (size_t i = 0; i < count; i++) {
        uint64_t part = place_of(t, &hashes[i]).line >> s.shift;
        parts[i] = (uint8_t)(part < s.count ? part : s.count - 1);
    }
}

static uint64_t room(const tamis_filter *filter) {
    uint64_t most = filter->plan.capacity;
    return filter->added < most ? most - filter->added : 0;
}

static bool add_stretches(tamis_filter *filter, const tamis__sums *others, tamis__sums *mine,
                          const tamis_hash *hashes, size_t count, tamis_answer *answers) {
    table head = *(const table *)filter->body;
    partition in = head.partitions[0];
    uint64_t left = UINT64_MAX;
    head.partitions = &in;
    in.covered += others->covered + mine->covered;
    in.false_fresh = 0;
    double before = in.covered;
    size_t done = filter->kernels->tables->add(&head, hashes, count, &left, answers);
    mine->added += UINT64_MAX - left;
    mine->covered += in.covered - before;
    mine->false_fresh += in.false_fresh;
    return done == count;
}

static void settle(tamis_filter *filter, const tamis__sums *sums) {
    const table *t = filter->body;
    partition *in = &t->partitions[0];
    filter->added += sums->added;
    in->used += sums->added;
    in->covered += sums->covered;
    in->false_fresh += sums->false_fresh;
}

const struct tamis__concurrent_ops tamis__fingerprint_concurrent = {
    .cut = cut,
    .part_of = part_of,
    .room = room,
    .add = add_stretches,
    .settle = settle,
};
