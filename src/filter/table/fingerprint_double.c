/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Doubling: the home entries of a table with a capacity are stored in an empty one of 2, 4, 8 or 16 times the
 * lines. Growth as a whole spends most of its time here (fingerprint_regrow.c).
 *
 * Idea. Both tables are sorted by hash, and each old line becomes 2^d whole new lines. The first d bits of an
 * entry's remainder say which. So one pass reads each old line once and writes each new line once. It needs no
 * search, moves no slot, and computes no position:
 *
 *     old line i       | b = 0... entries | b = 1... entries | spilled |      value of an entry: its remainder,
 *                             |                   |                           bucket first (fingerprint_values.h)
 *                        value << 1          value << 1
 *                             v                   v
 *     new lines        |      2 i         |     2 i + 1      |
 *
 * Three things are left to the caller, who stores entries one by one (fingerprint_convert.c):
 * - Spilled entries. Their home lines are elsewhere.
 * - Entries of a new line that has too few slots. That line is full, so the caller knows where to look.
 * - Tables with slots of more than 60 bits, whose values take two words.
 *
 * An entry must know the bits of its bucket and of its spill line. One that would know fewer is stored as the
 * 2, 4, 8 or 16 entries that cover what it covered (`move_value`).
 *
 * Invariants:
 * 1. Each home entry is in its new home line, or that line is full.
 * 2. What a new line covers is what its old entries covered, except for bits that narrower slots do not hold.
 *
 * Measured outside of a server: a table of rate 1e-3 that grows from 100 to 10^6 keys takes 44 ns a key, of
 * which growth takes 14. Storing each entry one by one took 103, and the longest add 40 ms instead of 12.
 */
#include "filter/kernels/fingerprint_values.h"
#include "filter/table/fingerprint_put.h"

enum {
    DOUBLINGS_MAX = 4,
    SPLIT_MAX = 4, /* max. log2 of the entries that one becomes: doublings of an entry that knows the least */
    VALUE_BITS = 63
};

bool tamis__fingerprint_can_double(const table *to, const table *from, int doublings) {
    return doublings >= 0 && doublings <= DOUBLINGS_MAX && is_narrow(&to->geometry) &&
           is_narrow(&from->geometry);
}

/* Cuts a value to the bits that a slot holds. */
static INLINED uint64_t cut_value(const line_geometry *g, uint64_t value) {
    const uint64_t mark = UINT64_C(1) << (VALUE_BITS - (g->slot_bits - 1u + g->home_bits));
    return value & (mark - 1) ? (value & -(2 * mark)) | mark : value;
}

/* Appends what becomes of a value to those of its new line. False: it is too broad. */
static INLINED bool move_value(const line_geometry *g, uint64_t value, uint32_t doublings, line_values *to) {
    const uint32_t min = g->home_bits + (uint32_t)SPILL_BITS; /* bits that an entry must know */
    const uint64_t mark = UINT64_C(1) << (VALUE_BITS - min);
    value <<= doublings;
    if (value & (2 * mark - 1)) {
        to->narrow[to->count++] = cut_value(g, value);
        return true;
    }
    const uint32_t known = value ? VALUE_BITS - low_zeros(value) : 0;
    const uint32_t split = min - known;
    if (split > SPLIT_MAX)
        return false;
    value &= value - 1;
    for (uint32_t i = 0; i < 1u << split; i++)
        to->narrow[to->count++] = value + (2 * i + 1) * mark;
    return true;
}

/* Moves the values of an old line that belong to its new line `number`, counted from 0, until that is full. */
static INLINED bool move_values(const line_geometry *g, line_values *from, uint64_t number,
                                uint32_t doublings, line_values *to) {
    bool fits = true;
    to->count = 0;
    for (; from->first < from->count; from->first++) {
        const uint64_t value = from->narrow[from->first];
        if (value >> 1 >> (VALUE_BITS - doublings) > number)
            break;
        if (to->count < g->slots)
            fits &= move_value(g, value, doublings, to);
    }
    to->count = to->count < g->slots ? to->count : g->slots;
    return fits;
}

/* The next line of a table that is filled in order. */
typedef struct line_cursor {
    partition *in;
    uint64_t line;
} line_cursor;

static INLINED void write_line(const table *to, const line_geometry *g, line_cursor *next,
                               line_values *values) {
    partition *in = next->in;
    uint8_t *line = line_at(in, next->line++);
    in->covered += to->line_share * values_encode(to, g, in, line, values, values->count);
    in->used += values->count;
    if (next->line == in->count)
        *next = (line_cursor){in + 1, 0};
}

static INLINED bool fill_lines(table *to, const table *from, uint32_t doublings, const line_geometry *old,
                               const line_geometry *g) {
    line_cursor next = {to->partitions, 0};
    line_values values, moved;
    bool fits = true;
    for (partition_walk w = {.t = from}; next_partition(&w);)
        for (uint64_t line = 0; line < w.in->count; line++) {
            values_decode(old, line_at(w.in, line), &values);
            for (uint64_t i = 0; i < 1u << doublings; i++) {
                fits &= move_values(g, &values, i, doublings, &moved);
                write_line(to, g, &next, &moved);
            }
        }
    return fits;
}

bool tamis__fingerprint_double(table *to, const table *from, uint32_t doublings) {
    bool fits;
    if (from->geometry.slot_bits == to->geometry.slot_bits)
        WITH_GEOMETRY(to, fits = fill_lines(to, from, doublings, g, g));
    else
        WITH_GEOMETRY(to, fits = fill_lines(to, from, doublings, &from->geometry, g));
    return fits;
}
