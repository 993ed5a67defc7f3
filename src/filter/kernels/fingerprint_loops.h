/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_KERNELS_FINGERPRINT_LOOPS_H
#define TAMIS_FILTER_KERNELS_FINGERPRINT_LOOPS_H

/*
 * The loops over fingerprint tables: adding a batch, looking up a batch, and rewriting a partition. They are
 * written over a few operations on one line, which each instruction set's file defines before it includes
 * this file:
 *
 *     isa_bucket                           the slots of a bucket: as ends_bucket
 *     isa_has                              search in a bucket, keys are mostly new: as line_find
 *     isa_finds                            search in a bucket, keys may be present or absent: as line_find
 *     isa_insert, isa_remove               as line_insert_in, line_remove_in (fingerprint_line.h)
 *     isa_decode, isa_move, isa_encode     entries in transit (fingerprint_values.h)
 *
 * After it the file defines its table of kernels.
 *
 * Adding is a pipeline with three distances, since the first line read decides which others are needed:
 *
 *     key i + 40   locate: compute the position, fetch the home line                        (AHEAD)
 *     key i + 16   the home line has come: if it is full, fetch the spill line              (SPILL_AHEAD)
 *     key i + 8    both have come: if both are full, fetch lines that entries may move to   (MOVES_AHEAD)
 *     key i        search, insert, answer
 *
 * Looking up works on rows of 16 keys, four rows at a time. One row is located, the spill lines of another
 * are fetched, and the oldest is answered. A key at a time is slower if the table is in pages of 4 KiB
 * (docs/PERFORMANCE.md).
 *
 * Rewriting a partition has two passes:
 * 1. Home entries. Old and new lines are both sorted by X, so this is a merge. It takes entries from the old
 *    line until the next new line begins, then stores the new line. Each new line is written once.
 * 2. Spilled entries. They are few. For each one, compute its home in the old and in the new partition, and
 *    insert it.
 *
 * Adding one key (add_key), with at most two lines read:
 *
 *     home line, bucket of the key: an entry matches?  --yes--> present
 *       | no
 *     home line full?  --no--> insert there: absent
 *       | yes
 *     spill line, spill bucket: an entry matches?      --yes--> present
 *       | no
 *     spill line full? --no--> insert there: absent
 *       | yes
 *     free a slot by moving one entry to its other line, if that has a free slot; else tamis__fingerprint_put
 *
 * Why the distances differ: each step needs the line that the step before it fetched. The home line gets
 * the time of 24 keys to arrive, the spill line that of 8, and the lines of moves the last 8. Other
 * distances, 24 to 56 keys for home lines and 12 to 32 for spill lines, show no trend
 * (docs/PERFORMANCE.md, "Tried").
 *
 * Branches. Keys are random, so a branch on the content of a line is often mispredicted if both outcomes
 * are common. There the code selects by masks (prefetch_spill_line, find). It branches if one outcome is
 * rare.
 *
 * Invariants:
 * 1. A line is written only if the entry fits, and its `ends` and slots always agree.
 * 2. An entry is removed from a line only if the next operation fills that line again (invariant 2 of
 *    fingerprint_table.h).
 * 3. `covered` and `used` of a partition change together with its entries.
 */
#include "filter/kernels/filter_kernels.h"
#include "filter/kernels/fingerprint_values.h"
#include "filter/table/fingerprint_put.h"

/* ---- adding and looking up ---- */

enum {
    RING_SIZE = 64,    /* ring buffer of the positions of the next keys */
    AHEAD = 40,        /* keys ahead whose home lines are fetched */
    SPILL_AHEAD = 16,  /* keys ahead whose spill lines are fetched */
    MOVES_AHEAD = 8,   /* keys ahead for which lines are fetched that entries may move to */
    MOVES_FETCHED = 4, /* such lines for each key */
    ROW = 16,          /* keys of a lookup that are located together */
    ROWS = 4,          /* rows in progress; the oldest is answered next */
    WHOLE_HASH = 128   /* bits that a new entry knows */
};

static INLINED void locate(const table *t, const tamis_hash *hash, location *loc) {
    *loc = locate_hash(t, hash);
    tamis__prefetch(line_at(loc->in, loc->line));
}

/* Fetches the spill line, if the home line is full. The home line must be in the cache by now. */
static INLINED void prefetch_spill_line(const line_geometry *g, const location *loc) {
    const uint64_t spill = spill_line(g, loc->in, loc->line, loc->rest);
    uint64_t full = -(uint64_t)is_full(g, loc->in, loc->line); /* no branch: it would be mispredicted */
    tamis__prefetch(line_at(loc->in, (spill & full) | (loc->line & ~full)));
}

/* Fetches lines to which free_slot may move entries, if both lines are full. Both must be in the cache by
 * now. */
static INLINED void prefetch_moves(const line_geometry *g, const location *loc) {
    if (!is_full(g, loc->in, loc->line) || !is_full(g, loc->in, spill_line(g, loc->in, loc->line, loc->rest)))
        return;
    const uint8_t *line = line_at(loc->in, loc->line);
    /* The first slots have home entries; spilled ones are last. */
    for (uint32_t slot = 0; slot < MOVES_FETCHED; slot++)
        tamis__prefetch(line_at(loc->in, other_line(g, loc->in, loc->line, line_head(g, line, slot), false)));
}

static INLINED bool find(const line_geometry *g, const location *loc) {
    const uint8_t *line = line_at(loc->in, loc->line);
    const uint64_t ends = line_ends(g, line);
    const entry wanted = {loc->rest, WHOLE_HASH};
    slot_range range = isa_bucket(g, ends, home_bucket(g, loc->rest));
    const bool at_home = isa_finds(g, line, range, slot_value(g, wanted, g->home_bits));
    /* One branch for both: for a line that is not full it always goes the same way. */
    if (at_home | !ends_full(g, ends))
        return at_home;
    const uint8_t *spill = line_at(loc->in, spill_line(g, loc->in, loc->line, loc->rest));
    range = ends_spilled(g, line_ends(g, spill));
    return isa_finds(g, spill, range, slot_value(g, wanted, 0));
}

/* Inserts an entry into a line that is not full. `skip` as in slot_value: 0 for the spill line. */
static INLINED void insert_in(const table *t, const line_geometry *g, partition *in, uint8_t *line,
                              uint32_t skip, entry e) {
    const uint64_t ends = line_ends(g, line);
    const uint32_t bucket = skip ? home_bucket(g, e.rest) : g->spill_bucket;
    const slot_range range = skip ? isa_bucket(g, ends, bucket) : ends_spilled(g, ends);
    isa_insert(g, line, ends, bucket, range, slot_value(g, e, skip));
    in->covered += share(t, in, known_after(g, e.known, skip));
}

/* Frees a slot in the home line, if one of its entries has a free slot in its other line. This is the
 * first chain of moves that fingerprint_grow.c tries, and nearly always enough. */
static INLINED bool free_slot(const table *t, const line_geometry *g, partition *in, uint64_t line) {
    uint8_t *bytes = line_at(in, line);
    const uint64_t ends = line_ends(g, bytes);
    const uint32_t spilled = ends_spilled(g, ends).first;
    for (uint32_t slot = 0; slot < g->slots; slot++) {
        const bool is_spilled = slot >= spilled;
        const uint64_t target = other_line(g, in, line, line_head(g, bytes, slot), is_spilled);
        if (is_full(g, in, target))
            continue;
        const uint32_t bucket = bucket_of(ends, slot);
        entry e = slot_entry(g, bytes, slot, bucket);
        isa_remove(g, bytes, ends, bucket, slot);
        in->covered -= share(t, in, e.known);
        insert_in(t, g, in, line_at(in, target), is_spilled ? g->home_bits : 0, e);
        tamis__fingerprint_moved(t, in, target);
        return true;
    }
    return false;
}

/* As tamis__fingerprint_put, with the operations of the instruction set. */
static INLINED bool insert_entry(const table *t, const line_geometry *g, partition *in, uint64_t line,
                                 entry e) {
    uint8_t *bytes = line_at(in, line);
    uint32_t skip = g->home_bits;
    if (is_full(g, in, line)) {
        uint64_t spill = spill_line(g, in, line, e.rest);
        if (!is_full(g, in, spill)) {
            bytes = line_at(in, spill);
            skip = 0;
        } else if (!free_slot(t, g, in, line)) {
            return tamis__fingerprint_put(t, in, line, e);
        }
    }
    insert_in(t, g, in, bytes, skip, e);
    tamis__fingerprint_moved(t, in, line);
    in->used++;
    return true;
}

/* insert_entry for a few entries out of line. It is much code and is rarely needed. */
static __attribute__((noinline)) bool insert_out_of_line(const table *t, partition *in, uint64_t line,
                                                         entry e) {
    bool done;
    WITH_GEOMETRY(t, done = insert_entry(t, g, in, line, e));
    return done;
}

typedef enum add_result { KEY_PRESENT, KEY_ADDED, NO_FREE_SLOT } add_result;

/* Searches for a key and adds it if it is new. `has_capacity`: new keys are allowed. */
static INLINED add_result add_key(const table *t, const line_geometry *g, const location *loc,
                                  bool has_capacity) {
    partition *in = loc->in;
    uint8_t *line = line_at(in, loc->line);
    uint64_t ends = line_ends(g, line);
    entry wanted = {loc->rest, WHOLE_HASH};
    uint32_t bucket = home_bucket(g, loc->rest), skip = g->home_bits;
    slot_range range = isa_bucket(g, ends, bucket);
    tamis__u128 value = slot_value(g, wanted, g->home_bits);
    if (isa_has(g, line, range, value))
        return KEY_PRESENT;
    bool may = has_capacity && in->used < in->grow_at, crowded = false;
    if (ends_full(g, ends)) {
        line = line_at(in, spill_line(g, in, loc->line, loc->rest));
        ends = line_ends(g, line);
        bucket = g->spill_bucket;
        skip = 0;
        range = ends_spilled(g, ends);
        value = slot_value(g, wanted, 0);
        if (isa_has(g, line, range, value))
            return KEY_PRESENT;
        crowded = ends_full(g, ends);
    }
    double rate = in->covered;
    if (!may || (crowded && !insert_out_of_line(t, in, loc->line, wanted)))
        return NO_FREE_SLOT;
    if (!crowded) {
        isa_insert(g, line, ends, bucket, range, value);
        in->covered += share(t, in, known_after(g, WHOLE_HASH, skip));
        in->used++;
    }
    in->false_present += rate;
    return KEY_ADDED;
}

static INLINED size_t add_each(const table *t, const line_geometry *g, const tamis_hash *hashes, size_t count,
                               uint64_t *remaining, tamis_answer *answers) {
    location ring[RING_SIZE];
    for (size_t i = 0; i < AHEAD && i < count; i++)
        locate(t, &hashes[i], &ring[i]);
    for (size_t i = 0; i < SPILL_AHEAD && i < count; i++)
        prefetch_spill_line(g, &ring[i]);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            locate(t, &hashes[i + AHEAD], &ring[(i + AHEAD) % RING_SIZE]);
        if (i + SPILL_AHEAD < count)
            prefetch_spill_line(g, &ring[(i + SPILL_AHEAD) % RING_SIZE]);
        if (i + MOVES_AHEAD < count)
            prefetch_moves(g, &ring[(i + MOVES_AHEAD) % RING_SIZE]);
        add_result result = add_key(t, g, &ring[i % RING_SIZE], *remaining != 0);
        if (result == NO_FREE_SLOT)
            return i;
        *remaining -= result == KEY_ADDED;
        answers[i] = result == KEY_ADDED ? TAMIS_ABSENT : TAMIS_PRESENT;
    }
    return count;
}

static size_t add(const table *t, const tamis_hash *hashes, size_t count, uint64_t *remaining,
                  tamis_answer *answers) {
    size_t done;
    WITH_GEOMETRY(t, done = add_each(t, g, hashes, count, remaining, answers));
    return done;
}

/* The positions of a row of keys. */
typedef struct row {
    location ring[ROW];
    size_t count;
} row;

/* Locates the row that begins with key `from`. Computes all positions first, then fetches all lines:
 * prefetches close together take less time if pages are 4 KiB and not in the TLB (docs/PERFORMANCE.md). */
static INLINED void locate_row(const table *t, const tamis_hash *hashes, size_t count, size_t from,
                               row *out) {
    size_t left = from < count ? count - from : 0;
    out->count = left < ROW ? left : ROW;
    for (size_t i = 0; i < out->count; i++)
        out->ring[i] = locate_hash(t, &hashes[from + i]);
    for (size_t i = 0; i < out->count; i++)
        tamis__prefetch(line_at(out->ring[i].in, out->ring[i].line));
}

static INLINED void prefetch_spill_lines(const line_geometry *g, const row *row_keys) {
    for (size_t i = 0; i < row_keys->count; i++)
        prefetch_spill_line(g, &row_keys->ring[i]);
}

static INLINED void find_each(const table *t, const line_geometry *g, const tamis_hash *hashes, size_t count,
                              tamis_answer *answers) {
    row rows[ROWS];
    for (size_t j = 0; j < ROWS - 1; j++)
        locate_row(t, hashes, count, j * ROW, &rows[j]);
    prefetch_spill_lines(g, &rows[0]);
    for (size_t from = 0, j = 0; from < count; from += ROW, j = (j + 1) % ROWS) {
        locate_row(t, hashes, count, from + (ROWS - 1) * ROW, &rows[(j + ROWS - 1) % ROWS]);
        prefetch_spill_lines(g, &rows[(j + 1) % ROWS]);
        for (size_t i = 0; i < rows[j].count; i++)
            answers[from + i] = find(g, &rows[j].ring[i]) ? TAMIS_PRESENT : TAMIS_ABSENT;
    }
}

static void contains(const table *t, const tamis_hash *hashes, size_t count, tamis_answer *answers) {
    WITH_GEOMETRY(t, find_each(t, g, hashes, count, answers));
}

/* ---- rewriting ---- */

/* Iterates over the lines of a partition, with the least X of each. */
typedef struct edge {
    line_width width;
    uint64_t count;
    uint64_t min_x;  /* least X of the present line */
    uint64_t excess; /* rounding: least is the exact border plus excess / count */
} edge;

static INLINED edge edge_first(const partition *in) {
    return (edge){width_of(in), in->count, 0, 0};
}

static INLINED void edge_next(edge *e) {
    e->min_x += e->width.floor;
    /* The border is rounded up to a whole number. Add one when the rounding is used up. */
    if (e->excess < e->width.excess) {
        e->excess += e->count;
        e->min_x++;
    }
    e->excess -= e->width.excess;
}

/* Stores the home entries of a new line. Entries already in the line are spilled ones that came before;
 * they stay. Home entries that find no slot are spilled. False: an entry finds no slot. */
static INLINED bool fill_line(const table *t, const line_geometry *g, partition *to, uint64_t line,
                              line_values *values) {
    uint8_t *bytes = line_at(to, line);
    tamis__u128 spilled[VALUES_A_LINE];
    const uint32_t spilled_count = ends_count(g, line_ends(g, bytes)), free_slots = g->slots - spilled_count;
    const uint32_t stay = values->count < free_slots ? values->count : free_slots;
    for (uint32_t i = 0; i < spilled_count; i++)
        spilled[i] = line_slot(g, bytes, i);
    to->covered += t->weight[to->log2] * isa_encode(t, g, to, bytes, values, stay);
    to->used += stay;
    for (uint32_t i = 0; i < spilled_count; i++) {
        uint64_t ends = line_ends(g, bytes);
        isa_insert(g, bytes, ends, g->spill_bucket, ends_spilled(g, ends), spilled[i]);
    }
    for (uint32_t i = stay; i < values->count; i++)
        if (!insert_out_of_line(t, to, line, values_entry(g, values, i)))
            return false;
    return true;
}

/* Rewrites the home entries. Old lines, new lines and the entries of each are in the order of X, so one
 * pass suffices. */
static INLINED bool rewrite_homes(const table *t, const line_geometry *g, const partition *from,
                                  partition *to) {
    line_values old, held = {.first = 0}; /* values of the old line; values collected for the new line */
    edge left = edge_first(from), right = edge_first(to), end = right;
    uint64_t new_line = 0;
    edge_next(&end);
    for (uint64_t line = 0; line < from->count; line++, edge_next(&left)) {
        isa_decode(g, line_at(from, line), &old);
        while (old.first < old.count) {
            value_move move = {from->position_bits - from->log2, to->position_bits - to->log2,
                               left.min_x - right.min_x, end.min_x > left.min_x ? end.min_x - left.min_x : 0};
            if (new_line + 1 == to->count)
                move.below = UINT64_MAX;
            isa_move(g, &old, &move, &held);
            if (old.first == old.count)
                break;
            if (held.count && !fill_line(t, g, to, new_line, &held))
                return false;
            held.count = 0;
            new_line++;
            right = end;
            edge_next(&end);
        }
    }
    return !held.count || fill_line(t, g, to, new_line, &held);
}

/* An entry in the new partitions: the number of its partition, and its home line. */
typedef struct new_home {
    uint32_t partition;
    uint64_t line;
    entry e;
} new_home;

/* Converts an entry of partition `from`, whose home line has the least X `min_x`. A distance has at most
 * POSITION_MAX bits, so it fits one word. */
static INLINED new_home rehome(const line_geometry *g, const partition *from, const partition *to,
                               uint64_t min_x, entry e) {
    uint32_t old_bits = from->position_bits - from->log2, new_bits = to->position_bits - to->log2;
    uint64_t distance, high = (uint64_t)(e.rest >> 64), x = min_x + (high >> (64 - old_bits));
    uint64_t last = (UINT64_C(1) << from->position_bits) - 1;
    x = x < last ? x : last; /* larger only in a forged file */
    new_home home = {.partition = (uint32_t)(x >> to->position_bits)};
    x &= (UINT64_C(1) << to->position_bits) - 1;
    locate_first_bits(to, x, &home.line, &distance);
    uint64_t low = (uint64_t)e.rest; /* 64-bit words from here on: no shift is by 0 or 64 */
    high = high << old_bits | low >> (64 - old_bits);
    low <<= old_bits;
    low = high << (64 - new_bits) | low >> new_bits;
    high = distance << (64 - new_bits) | high >> new_bits;
    home.e.rest = (tamis__u128)high << 64 | (is_narrow(g) ? 0 : low);
    home.e.known = e.known - (old_bits - new_bits);
    return home;
}

static INLINED bool rewrite_spilled(const table *t, const line_geometry *g, const partition *from,
                                    partition *to) {
    line_width width = width_of(from);
    for (uint64_t line = 0; line < from->count; line++) {
        const uint8_t *bytes = line_at(from, line);
        slot_range spilled = ends_spilled(g, line_ends(g, bytes));
        for (uint32_t slot = spilled.first; slot < spilled.last; slot++) {
            const uint64_t old_home = other_line(g, from, line, line_head(g, bytes, slot), true);
            const entry old = slot_entry(g, bytes, slot, g->spill_bucket);
            const new_home home = rehome(g, from, to, min_x_of(from, width, old_home), old);
            if (!insert_out_of_line(t, &to[home.partition], home.line, home.e))
                return false;
        }
    }
    return true;
}

/* Part `i` of a partition that is split into `count` equal ranges of lines. But for its spilled entries it
 * is a partition itself. */
static INLINED partition part_of(const table *t, const partition *from, const partition *to, uint32_t count,
                                 uint32_t i) {
    const uint64_t lines = from->count / count;
    return partition_of(t, to->hash_bits, line_at(from, i * lines), lines);
}

static INLINED bool rewrite_all(const table *t, const line_geometry *g, const partition *from, partition *to,
                                uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const partition part = part_of(t, from, to, count, i);
        if (!rewrite_homes(t, g, &part, &to[i]))
            return false;
    }
    return rewrite_spilled(t, g, from, to);
}

static bool rewrite(const table *t, const partition *from, partition *to, uint32_t count) {
    bool fits;
    WITH_GEOMETRY(t, fits = rewrite_all(t, g, from, to, count));
    return fits;
}

#endif
