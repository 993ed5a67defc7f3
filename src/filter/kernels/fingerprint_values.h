/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_FINGERPRINT_VALUES_H
#define TAMIS_FILTER_KERNELS_FINGERPRINT_VALUES_H

/*
 * The home entries of a line in transit to the lines of a larger partition.
 *
 * Growth computes a new line and remainder for every home entry of a partition. To do that for each entry by
 * a division would be slow. But lines and entries are sorted, so one pass over old and new lines suffices, as
 * in a merge. Per entry it needs one shift and one addition.
 *
 * The value of an entry is its known remainder bits, then a one that marks the end, then zeros. So it is
 * bucket and slot in one word, left-aligned: one of 64 bits if slots are narrow, else one of 128.
 *
 *     value   d d d d d d d r r r r 1 0 0 0          d: distance of X from the least X of the line
 *                                                    r: further hash bits
 *
 * In another line the distance is larger by the difference of the two least X. If the number of lines has
 * passed a power of two, the distance has one bit less. So the new value is the old value shifted left by the
 * lost bits, plus a constant for the pair of lines.
 *
 *     decode   a line's home entries -> values, in order
 *     move     the values whose distance is below the next new line's -> the same, moved to the new line
 *     encode   the values of a new line -> its slots, and its coverage
 *
 * Invariant: values are in ascending order, in a line and from line to line. Only forged files break it;
 * values_sort repairs it.
 */
#include "filter/table/fingerprint_table.h"

enum {
    VALUES_A_LINE = 16, /* max. slots of a line of a growing table; one or two vectors */
    OLD_LINES_MAX = 4   /* old lines that may reach into a new one: 2, and more only in a forged file */
};

/* Values in ascending order, of lines of a growing table or of one line of another: `narrow` if slot_bits <= NARROW_MAX, else `wide`. */
typedef struct line_values {
    union {
        _Alignas(LINE_BYTES) uint64_t narrow[VALUES_A_LINE * (OLD_LINES_MAX + 1)];
        tamis__u128 wide[VALUES_A_LINE / 2 * (OLD_LINES_MAX + 1)];
    };
    uint32_t first; /* the values before this one were moved */
    uint32_t count;
} line_values;

typedef struct value_move {
    uint32_t old_bits, new_bits; /* bits of a distance, before and after */
    uint64_t offset;             /* increase of the distance, modulo 2^64 */
    uint64_t below;              /* only entries with smaller distances are moved */
} value_move;

/* Entry i, to be stored by itself. Only a forged file has a value without an end mark: the lowest bit then
 * counts as mark. */
static INLINED entry values_entry(const line_geometry *g, const line_values *from, uint32_t i) {
    if (is_narrow(g)) {
        uint64_t value = from->narrow[i] ? from->narrow[i] : 1;
        return (entry){(tamis__u128)(value & (value - 1)) << 64, 63 - low_zeros(value)};
    }
    const tamis__u128 value = from->wide[i] ? from->wide[i] : 1;
    return (entry){value & (value - 1), 127 - low_zeros(value)};
}

/* ---- one value at a time ---- */

/* The loops go over all slots, used or not: a branch on the number of entries of a line would often be
 * mispredicted. Packed tails are read and written once a line, not slot by slot: each slot would wait until
 * the one before it is written. */

/* Converts the home entries of a line to values. */
static INLINED void values_decode(const line_geometry *g, const uint8_t *line, line_values *to) {
    uint64_t ends = line_ends(g, line), zeros = ~ends;
    const tamis__u128 tail_mask = bit_mask(0, g->tail_bits);
    tamis__u128 tails = line_load_tails(g, line) >> g->tails_low;
    for (uint32_t i = 0; i < g->slots; i++, zeros &= zeros - 1, tails >>= g->tail_bits) {
        const tamis__u128 bucket = (uint32_t)__builtin_ctzll(zeros) - i;
        const tamis__u128 slot =
            tails_packed(g) ? (tamis__u128)line_head(g, line, i) << g->tail_bits | (tails & tail_mask)
                            : line_slot(g, line, i);
        const tamis__u128 value = (bucket << g->slot_bits | slot) << (128 - g->slot_bits - g->home_bits);
        if (is_narrow(g))
            to->narrow[i] = (uint64_t)(value >> 64);
        else
            to->wide[i] = value;
    }
    to->first = 0;
    to->count = ends_spilled(g, ends).first;
}

/* Moves the first values, as long as they are below move->below, behind those of `to`. */
static INLINED void values_move(const line_geometry *g, line_values *from, const value_move *move,
                                line_values *to) {
    const uint32_t first = from->first, shift = move->old_bits - move->new_bits;
    const uint64_t offset = move->offset << (64 - move->new_bits);
    uint32_t moved = 0;
    bool below = true;
    for (uint32_t i = first; i < g->slots; i++) {
        const uint64_t high = is_narrow(g) ? from->narrow[i] : (uint64_t)(from->wide[i] >> 64);
        below &= (high >> (64 - move->old_bits) < move->below) & (i < from->count);
        moved += below;
        if (is_narrow(g))
            to->narrow[to->count + i - first] = (high << shift) + offset;
        else
            to->wide[to->count + i - first] = (from->wide[i] << shift) + ((tamis__u128)offset << 64);
    }
    from->first += moved;
    to->count += moved;
}

/* Sorts values. They are in order already, but for those of a forged file. */
static INLINED void values_sort(const line_geometry *g, line_values *values, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t j = i; j > 0; j--) {
            if (is_narrow(g)) {
                uint64_t *pair = values->narrow + j - 1, lower = pair[0];
                if (lower <= pair[1])
                    break;
                pair[0] = pair[1];
                pair[1] = lower;
            } else {
                tamis__u128 *pair = values->wide + j - 1, lower = pair[0];
                if (lower <= pair[1])
                    break;
                pair[0] = pair[1];
                pair[1] = lower;
            }
        }
}

/* The share of a line's remainders that an entry covers. `zeros`: trailing zeros of its value. */
static INLINED double value_share(const table *t, const partition *in, uint32_t zeros) {
    const uint32_t known = 127 - zeros;
    return t->weight[known < in->known_max ? known : in->known_max];
}

/* Overwrites a line with the first `count` values. Returns the share of the line's remainders that they
 * cover. */
static INLINED double values_encode(const table *t, const line_geometry *g, const partition *in,
                                    uint8_t *line, line_values *values, uint32_t count) {
    uint64_t ends = 0;
    double covered = 0;
    tamis__u128 tails = 0;
    values_sort(g, values, count);
    memset(line, 0, LINE_BYTES);
    for (uint32_t i = 0; i < g->slots; i++) {
        bool in_use = i < count;
        tamis__u128 value = is_narrow(g) ? (tamis__u128)values->narrow[i] << 64 : values->wide[i];
        tamis__u128 slot = value << g->home_bits >> (128 - g->slot_bits);
        slot |= slot == 0; /* no end mark: only in a forged file */
        slot = in_use ? slot : 0;
        if (tails_packed(g)) {
            line_put_head(g, line, i, (uint32_t)(slot >> g->tail_bits));
            tails |= (slot & bit_mask(0, g->tail_bits)) << (i * g->tail_bits);
        } else {
            line_put_slot(g, line, i, slot);
        }
        double entry_share = value_share(t, in, value ? low_zeros(value) : 0);
        covered += in_use ? entry_share : 0;
        ends |= (uint64_t)in_use << (i + (uint32_t)(value >> (128 - g->home_bits)));
    }
    if (tails_packed(g))
        line_store_tails(g, line, line_load_tails(g, line) | tails << g->tails_low);
    line_set_ends(g, line, ends ^ ((UINT64_C(1) << (count + g->spill_bucket + 1)) - 1));
    return covered;
}

#endif
