/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds fingerprint and exact: making a table from the entries of other tables, without the keys. Two
 * operations need this: growth of a table that was made for a known number of keys, and union.
 *
 * Idea. A hash is a number Y of 128 bits. An entry is a prefix of its key's hash, so it stands for a range of
 * numbers. With N lines in all partitions together,
 *
 *     Y * N = G * 2^128 + R          G: home line, counted through the whole table; R: remainder
 *
 * An entry that knows k bits of R stands for a cell: a range of 2^(128-k) numbers in this scale. In a growing
 * table cells are ranges of Y itself, as if N were 1. To convert an entry, compute its range of Y, then cover
 * that range with cells of the other table, and store each cell as an entry:
 *
 *     this table, N lines           |    cell     |             |
 *     other table, 2N lines         |  G'  | same |      |      |   exact: a bit of R is now a bit of G'
 *     other table, 1.3 N lines      |  .  |  x  |  x  |     |   .   range across a border: two cells x
 *
 * Invariants:
 * 1. The stored cells cover the whole range, so no key is lost (no false negatives).
 * 2. If one number of lines is the other times a power of two, the range is one cell. The entry covers no
 *    more than before.
 * 3. Otherwise an entry becomes one or two. They cover twice as much on average and 4 times as much at most
 *    (docs/MATH.md, "Unions of tables"). partition.covered counts their true share, so fpr_live is the true
 *    rate.
 * 4. A key in both tables takes one slot: if one entry covers another, only the wider one is kept.
 * 5. Growth, and a union that needs a new table, change the filter only when the new table is complete. A
 *    union of equal shapes is made in place: if it fails, some keys have been added, and are counted.
 *
 * Growth. A full table with a capacity gets twice its lines. Entries keep their known bits, so the rate c of
 * the old entries stays, and new entries add the rate q of the new line shape. The next size has the
 * narrowest slots with c + q <= p, so the rate p holds after any number of doublings.
 *
 * A table that began small (tamis_plan_start_small) first grows to its planned size. Then slots become
 * narrower; old entries know more than fits, and lose no more than a new entry has not got.
 *
 * An example with 4 lines, 8 bits of hash and an entry that knows 2 bits of its remainder. The home line
 * is 1, so the entry stands for the hashes whose product Y * 4 / 256 is 1.01..., which is Y = 80 to 95:
 *
 *     to 8 lines (doubled)   Y * 8 / 256 = 2.50 to 2.97: line 2, remainder 1...
 *                            one cell, as wide as before
 *     to 5 lines             Y * 5 / 256 = 1.56 to 1.87: line 1, remainder .1001 to .1101
 *                            one cell of 1 bit, .1: it covers Y = 77 to 102
 *
 * The choice of cells (cell_shift). A cell has a size of 2^shift. The smallest size is that of a new entry
 * in the home bucket: a slot has no more bits. Of the sizes that cover the range with one cell or with
 * two, the one with the smaller sum is taken, and one cell if both are equal. Larger cells raise the rate,
 * and more cells take more slots.
 *
 * Keys in both tables (meet_in_lines). Before a cell is stored, its home line and, if that is full, its spill
 * line are searched for an entry that covers it (nothing is stored) or that it covers (that entry is
 * replaced). Entries of different keys meet too, with the probability of a false positive; then the new key
 * is answered by the other's entry, as in any add.
 *
 * Failure. start_replace puts an empty table into the filter and keeps the old one. If an entry finds no
 * slot, undo_replace restores the old table, and the caller tries again with twice the keys (TRIES). If
 * all is stored, finish_replace adds up the statistics, frees the old table and counts `remade`, which
 * restarts copies in progress.
 *
 * Why all at once and not one partition at a time: such a table is one block of memory that was sized for its
 * keys, so growth is the exception. Why ranges and not keys: the keys are gone, and a range loses nothing.
 *
 * Cost: each entry is read once and stored once, and an entry whose lines are full moves others, as in any
 * add. The old and the new table are in memory together; both count against plan.memory_limit
 * (start_replace).
 *
 * Format source: docs/FORMAT.md, "Growth and union". Formulas: docs/MATH.md, "Growth as a whole".
 */
#include "filter/table/fingerprint_put.h"

enum {
    MAX_CELLS = 64, /* max. cells that one entry becomes; only a small table with a large rate needs more */
    MIN_GROWN_SLOT_BITS = 20, /* min. bits of a slot after growth, see plan_next */
    TRIES = 4,                /* sizes tried, each twice the last, if there are more entries than keys */
    MAX_DOUBLINGS = 40        /* 2^40 lines exceed any memory */
};

/* If a union uses more than this share of the promised rate, it promises a larger rate. The rest is for
 * keys added later. */
#define RATE_USED (63.0 / 64)

/* A position in a table: line and remainder, as one number of 192 bits. */
typedef struct position {
    uint64_t line;
    tamis__u128 rest;
} position;

typedef struct hash_range {
    tamis__u128 first, last; /* both included */
} hash_range;

/* A conversion of the entries of `from` into the table of `filter`. */
typedef struct conversion {
    tamis_filter *filter;
    const table *from;
    uint64_t from_lines, to_lines; /* lines of each table; 0: it grows by partitions */
    int doublings;                 /* to_lines = from_lines * 2^doublings; -1: no power of two */
    uint64_t remaining;            /* new entries still allowed */
    uint64_t new_entries;          /* entries of `from` that were new to the table */
} conversion;

/* ---- from an entry to its range of hashes ---- */

static uint64_t lines_of(const table *t) {
    return t->grows_by_partition ? 0 : t->partitions->count << t->partition_bits;
}

/* floor(p / lines), for p below lines * 2^128. */
static tamis__u128 divide_position(position p, uint64_t lines) {
    const tamis__u128 high = (tamis__u128)p.line << 64 | (uint64_t)(p.rest >> 64);
    const tamis__u128 low = (high % lines) << 64 | (uint64_t)p.rest;
    return high / lines << 64 | low / lines;
}

static tamis__u128 low_mask(uint32_t bits) {
    return bits == 0 ? 0 : ~(tamis__u128)0 >> (128 - bits);
}

static hash_range range_of_sized(uint64_t lines, position pos, uint32_t known) {
    hash_range range = {0, divide_position((position){pos.line, pos.rest | low_mask(128 - known)}, lines)};
    if (pos.rest != 0)
        range.first = divide_position((position){pos.line, pos.rest - 1}, lines) + 1;
    else if (pos.line != 0)
        range.first = divide_position((position){pos.line - 1, ~(tamis__u128)0}, lines) + 1;
    return range;
}

/* The range of an entry of a growing table. `prefix` is the partition's number: the first hash_bits bits
 * of its hashes. */
static hash_range range_of_growing(const partition *in, uint64_t prefix, uint64_t line, entry e) {
    const uint32_t distance_bits = in->position_bits - in->log2, bits = in->hash_bits + in->position_bits;
    const uint64_t last = (UINT64_C(1) << in->position_bits) - 1;
    uint64_t x = min_x_of(in, width_of(in), line) + (uint64_t)(e.rest >> (128 - distance_bits));
    x = x < last ? x : last; /* only in a forged file is x larger, where an entry has too few known bits */
    uint32_t known = bits + (e.known > distance_bits ? e.known - distance_bits : 0);
    tamis__u128 first = (tamis__u128)prefix << (128 - in->hash_bits) | (tamis__u128)x << (128 - bits) |
                        e.rest << distance_bits >> bits;
    known = known < HASH_BITS ? known : HASH_BITS;
    first &= ~low_mask(HASH_BITS - known);
    return (hash_range){first, first | low_mask(HASH_BITS - known)};
}

/* ---- from a range of hashes to cells ---- */

static position position_of(uint64_t lines, tamis__u128 hash) {
    const tamis__u128 low = (tamis__u128)(uint64_t)hash * lines;
    const tamis__u128 high = (hash >> 64) * lines + (low >> 64);
    return (position){(uint64_t)(high >> 64), high << 64 | (uint64_t)low};
}

static uint32_t bit_length(tamis__u128 value) {
    const uint64_t high = (uint64_t)(value >> 64), low = (uint64_t)value;
    return high ? 128 - (uint32_t)__builtin_clzll(high) : low ? 64 - (uint32_t)__builtin_clzll(low) : 0;
}

/* The position without its lowest `shift` bits, modulo 2^128. This is enough for small differences. */
static tamis__u128 shifted_position(position p, uint32_t shift) {
    return shift == 0 ? p.rest : p.rest >> shift | (tamis__u128)p.line << (128 - shift);
}

/* Returns the shift for cells of size 2^shift that cover `first` to `last`: one cell, or two if these are
 * smaller together. The result is not below `min`, the size of a new entry's cell, since a slot holds no
 * more bits. */
static uint32_t cell_shift(position first, position last, uint32_t min, uint32_t max) {
    const uint32_t width = bit_length(last.rest - first.rest);
    uint32_t two = width;
    if (width > 0 && shifted_position(last, width - 1) - shifted_position(first, width - 1) <= 1)
        two = width - 1;
    uint32_t shift = two;
    if (first.line == last.line) {
        const uint32_t single = bit_length(first.rest ^ last.rest);
        shift = single <= two + 1 ? single : two;
    }
    shift = shift > min ? shift : min;
    return shift < max ? shift : max;
}

/* ---- putting entries into the table ---- */

static bool covers(entry stored, entry e) {
    return stored.known > 0 && stored.known <= e.known && (stored.rest ^ e.rest) >> (128 - stored.known) == 0;
}

/* Tells if one of an entry's two lines has an entry that covers it, or that it covers. That is probably
 * the same key. */
typedef enum meeting { MEETS_NONE, MEETS_WIDER, MEETS_NARROWER } meeting;

/* A cell as an entry of the table that is being filled. */
typedef struct cell_entry {
    partition *in;
    uint64_t line; /* home line */
    entry e;
} cell_entry;

static cell_entry cell_entry_of(const conversion *c, position pos, uint32_t known) {
    const table *t = c->filter->body;
    if (c->to_lines) {
        const uint64_t lines = t->partitions->count;
        return (cell_entry){&t->partitions[pos.line / lines], pos.line % lines, {pos.rest, known}};
    }
    const tamis_hash words = {.word = {(uint64_t)pos.rest, (uint64_t)(pos.rest >> 64)}};
    const location found = locate_hash(t, &words);
    return (cell_entry){found.in, found.line, {found.rest, known - found.in->hash_bits - found.in->log2}};
}

/* Searches one bucket of a line. With `removes`, a narrower entry is removed. The caller's next entry takes
 * its slot, so a full line stays full. */
static meeting meet_in(const table *t, const cell_entry *cell, uint8_t *line, uint32_t bucket, bool removes) {
    const line_geometry *g = &t->geometry;
    const uint64_t ends = line_ends(g, line);
    const slot_range range = bucket == g->spill_bucket ? ends_spilled(g, ends) : ends_bucket(ends, bucket);
    for (uint32_t slot = range.first; slot < range.last; slot++) {
        const entry stored = slot_entry(g, line, slot, bucket);
        if (covers(stored, cell->e))
            return MEETS_WIDER;
        if (!covers(cell->e, stored))
            continue;
        if (removes) {
            line_remove(g, line, bucket, slot);
            cell->in->covered -= share(t, cell->in, stored.known);
            cell->in->used--;
        }
        return MEETS_NARROWER;
    }
    return MEETS_NONE;
}

static meeting meet_in_lines(const table *t, const cell_entry *cell, bool removes) {
    const line_geometry *g = &t->geometry;
    uint8_t *home = line_at(cell->in, cell->line);
    const bool home_is_full = is_full(g, cell->in, cell->line);
    const meeting at_home = meet_in(t, cell, home, home_bucket(g, cell->e.rest), removes);
    if (at_home != MEETS_NONE || !home_is_full)
        return at_home;
    uint8_t *spill = line_at(cell->in, spill_line(g, cell->in, cell->line, cell->e.rest));
    return meet_in(t, cell, spill, g->spill_bucket, removes);
}

/* Stores one cell in the table. Sets *met if the table had an entry of that key. TAMIS_E_FULL with *err
 * untouched: there is no free slot in a table that does not grow by partitions. */
static tamis_status put_cell(conversion *c, position pos, uint32_t known, bool *met, tamis_error *err) {
    table *t = c->filter->body;
    for (;;) {
        const cell_entry cell = cell_entry_of(c, pos, known);
        const meeting result = meet_in_lines(t, &cell, true);
        *met = *met || result != MEETS_NONE;
        if (result == MEETS_WIDER)
            return TAMIS_OK;
        if (result == MEETS_NONE && c->remaining == 0)
            return TAMIS_E_FULL;
        if (cell.in->used < cell.in->grow_at && tamis__fingerprint_put(t, cell.in, cell.line, cell.e))
            return TAMIS_OK;
        if (!t->grows_by_partition)
            return TAMIS_E_FULL;
        const tamis_status status = tamis__fingerprint_grow(t, c->filter, cell.in, err);
        if (status != TAMIS_OK)
            return status;
    }
}

static bool is_met(const conversion *c, position pos, uint32_t known) {
    const cell_entry cell = cell_entry_of(c, pos, known);
    return meet_in_lines(c->filter->body, &cell, false) != MEETS_NONE;
}

static position next_cell(position pos, uint32_t shift) {
    pos.rest += (tamis__u128)1 << shift;
    pos.line += pos.rest < (tamis__u128)1 << shift; /* carry into the line */
    return pos;
}

/* Cells of size 2^shift that cover a range of hashes. */
typedef struct cell_range {
    position first;
    uint32_t shift;
    uint64_t count;
} cell_range;

/* Stores cells. First searches for entries of the key: the first cell may be spilled and then cover the
 * others. */
static tamis_status put_cells(conversion *c, const cell_range *cells, bool *met, tamis_error *err) {
    const uint32_t known = HASH_BITS - cells->shift;
    bool ignored = false;
    tamis_status status = TAMIS_OK;
    if (cells->count == 1)
        return put_cell(c, cells->first, known, met, err);
    position pos = cells->first;
    for (uint64_t i = 0; i < cells->count; i++, pos = next_cell(pos, cells->shift))
        *met = *met || is_met(c, pos, known);
    pos = cells->first;
    for (uint64_t i = 0; i < cells->count && status == TAMIS_OK; i++, pos = next_cell(pos, cells->shift))
        status = put_cell(c, pos, known, &ignored, err);
    return status;
}

static tamis_status fail_too_broad(tamis_error *err) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "union: one filter is far smaller than the other and its rate is far too large for "
                       "that; build both with one rate, or one filter of all keys");
}

/* Covers a range of hashes with cells and stores them. The smallest cell is limited by the slot width; the
 * largest must still know its bucket and spill line, or its first position bits in a growing table. */
static tamis_status put_range(conversion *c, hash_range range, bool *met, tamis_error *err) {
    const table *t = c->filter->body;
    const bool grows = c->to_lines == 0;
    const uint32_t slot = t->geometry.slot_bits - 1u + t->geometry.home_bits;
    const uint32_t min =
        grows ? TAMIS__FINGERPRINT_PARTITION_BITS + position_bits_of(t, TAMIS__FINGERPRINT_PARTITION_BITS)
              : t->geometry.home_bits + (uint32_t)SPILL_BITS;
    const uint32_t finest = !grows && slot < HASH_BITS ? HASH_BITS - slot : 0;
    const position first = grows ? (position){0, range.first} : position_of(c->to_lines, range.first);
    const position last = grows ? (position){0, range.last} : position_of(c->to_lines, range.last);
    const tamis__u128 lines = (tamis__u128)(last.line - first.line);
    if (range.first > range.last) /* only in a forged file */
        return TAMIS_OK;
    if (lines > 1 || (lines == 1 && last.rest >= first.rest))
        return fail_too_broad(err); /* the range spans 2^128 or more */
    const uint32_t shift = cell_shift(first, last, finest, HASH_BITS - min);
    const tamis__u128 count = shifted_position(last, shift) - shifted_position(first, shift) + 1;
    if (count > MAX_CELLS)
        return fail_too_broad(err);
    const cell_range cells = {{first.line, first.rest & ~low_mask(shift)}, shift, (uint64_t)count};
    return put_cells(c, &cells, met, err);
}

/* Stores an entry after the lines doubled c->doublings times: so many bits of the remainder become bits of
 * the line. */
static tamis_status put_doubled(conversion *c, position pos, uint32_t known, bool *met, tamis_error *err) {
    const uint32_t bits = (uint32_t)c->doublings;
    const line_geometry *g = &((const table *)c->filter->body)->geometry;
    if (known < bits + g->home_bits + SPILL_BITS)
        return put_range(c, range_of_sized(c->from_lines, pos, known), met, err);
    if (bits > 0)
        pos = (position){pos.line << bits | (uint64_t)(pos.rest >> (128 - bits)), pos.rest << bits};
    return put_cell(c, pos, known - bits, met, err);
}

/* The home line of an entry in the table it comes from. */
typedef struct home_line {
    const partition *in;
    uint64_t index; /* number of the partition in its table */
    uint64_t line;
} home_line;

static tamis_status put_entry(conversion *c, const home_line *home, entry e, tamis_error *err) {
    bool met = false;
    tamis_status status;
    if (c->from->grows_by_partition) {
        status = put_range(c, range_of_growing(home->in, home->index, home->line, e), &met, err);
    } else {
        const position pos = {home->index * home->in->count + home->line, e.rest};
        status = c->doublings >= 0 ? put_doubled(c, pos, e.known, &met, err)
                                   : put_range(c, range_of_sized(c->from_lines, pos, e.known), &met, err);
    }
    if (status == TAMIS_OK && !met) {
        c->new_entries++;
        c->remaining -= c->remaining > 0;
    }
    return status;
}

static tamis_status put_partition(conversion *c, const partition *in, uint64_t index, tamis_error *err) {
    const line_geometry *g = &c->from->geometry;
    tamis_status status = TAMIS_OK;
    for (uint64_t line = 0; line < in->count; line++) {
        const uint8_t *bytes = line_at(in, line);
        for (line_walk w = walk_start(g, bytes); walk_next(&w) && status == TAMIS_OK;) {
            const bool is_spilled = w.bucket == g->spill_bucket;
            const home_line home = {
                in, index, is_spilled ? other_line(g, in, line, line_head(g, bytes, w.slot), true) : line};
            status = put_entry(c, &home, slot_entry(g, bytes, w.slot, w.bucket), err);
        }
    }
    return status;
}

/* The power of two between two numbers of lines; -1 if there is none. */
static int doublings_of(uint64_t from, uint64_t to) {
    int doublings = 0;
    for (; from && from < to; from *= 2)
        doublings++;
    return from && from == to ? doublings : -1;
}

/* Stores all entries of `from` in the filter's table. TAMIS_E_FULL with *err untouched: too few slots in a
 * table with a capacity. Other errors are those of tamis__fingerprint_grow. */
static tamis_status put_table(tamis_filter *filter, const table *from, uint64_t remaining,
                              uint64_t *new_entries, tamis_error *err) {
    conversion c = {filter, from, lines_of(from), lines_of(filter->body), -1, remaining, 0};
    tamis_status status = TAMIS_OK;
    c.doublings = c.to_lines ? doublings_of(c.from_lines, c.to_lines) : -1;
    for (uint32_t i = 0; i < group_count(from) && status == TAMIS_OK; i++) {
        const partition_group *group = &from->groups[i];
        for (uint32_t n = 0; n < partition_count(group) && status == TAMIS_OK; n++)
            status =
                put_partition(&c, &group->first[n], from->grows_by_partition ? i << group->bits | n : n, err);
    }
    *new_entries = c.new_entries;
    return status;
}

/* ---- replacing a table ---- */

/* The old table and plan of a filter, until the new table is complete. */
typedef struct old_table {
    tamis_plan plan;
    void *body;
} old_table;

static void destroy_body(tamis_filter *filter, void *body) {
    void *mine = filter->body;
    filter->body = body;
    filter->ops->destroy(filter);
    filter->body = mine;
}

/* Gives the filter an empty table of `plan`. On failure it keeps its table and its plan. */
static tamis_status start_replace(tamis_filter *filter, const tamis_plan *plan, old_table *old,
                                  tamis_error *err) {
    const uint64_t limit = plan->memory_limit;
    *old = (old_table){filter->plan, filter->body};
    if (limit && !filter->ignore_memory_limit && filter->tally.memory + plan->memory > limit)
        return tamis__filter_full(filter, TAMIS_FULL_MEMORY, err);
    filter->plan = *plan;
    filter->body = NULL;
    tamis_status status = filter->ops->create(filter, err);
    if (status == TAMIS_OK)
        return TAMIS_OK;
    filter->plan = old->plan;
    filter->body = old->body;
    return status;
}

static void undo_replace(tamis_filter *filter, const old_table *old) {
    filter->ops->destroy(filter);
    filter->plan = old->plan;
    filter->body = old->body;
}

static void finish_replace(tamis_filter *filter, const old_table *old) {
    table *t = filter->body;
    const table *before = old->body;
    t->false_present = before->false_present;
    for (partition_walk w = {.t = before}; next_partition(&w);)
        t->false_present += w.in->false_present;
    t->growths = before->growths + 1;
    filter->remade++; /* a copy of the old table in progress starts again */
    destroy_body(filter, old->body);
}

/* ---- growth ---- */

/* Gives a plan `lines` lines, doubled until they hold `keys` keys. False: that exceeds any memory. */
static bool double_lines(tamis_plan *plan, const tamis__line_shape *shape, uint64_t lines, uint64_t keys) {
    for (int i = 0; i < MAX_DOUBLINGS && keys <= TAMIS_EXPECT_MAX; i++, lines *= 2) {
        tamis__plan_set_lines(plan, shape, lines);
        if (plan->capacity >= keys)
            return true;
    }
    return false;
}

/*
 * Plans the next size: at least twice the lines, and the narrowest slots that keep the rate until the table
 * is full again. False: no line shape keeps the rate.
 *
 * Slots have at least 20 bits. A cell knows at least home_bits + SPILL_BITS bits. So in a much larger table,
 * old entries that cover a share c of all hashes take c * 2^14 slots of each line. With slots of 16 bits each
 * table has c = 1e-4, and such entries would fill the lines.
 */
static bool plan_next(const tamis_filter *filter, double rate, uint64_t keys, tamis_plan *next) {
    const tamis_plan *now = &filter->plan;
    const uint32_t min = now->slot_bits > MIN_GROWN_SLOT_BITS ? now->slot_bits : MIN_GROWN_SLOT_BITS;
    const tamis__line_shape *shape = tamis__line_shape_from(min);
    for (; shape; shape = tamis__line_shape_wider(shape)) {
        *next = *now;
        next->target = 0;
        if (!double_lines(next, shape, now->lines * 2, keys))
            return false;
        if (now->kind == TAMIS_KIND_EXACT) {
            next->fpr = next->fpr_predicted;
            return true;
        }
        next->fpr_predicted += rate;
        if (next->fpr_predicted <= now->fpr)
            return true;
    }
    return false;
}

/* Lowers the capacity by the slots of extra entries: after a union a key may have several. */
static void update_capacity(tamis_filter *filter) {
    uint64_t used = 0, *capacity = &filter->plan.capacity;
    for (partition_walk w = {.t = filter->body}; next_partition(&w);)
        used += w.in->used;
    const uint64_t more = used > filter->added ? used - filter->added : 0;
    *capacity = *capacity > filter->added + more ? *capacity - more : filter->added;
    *capacity += *capacity == 0; /* 0 would mean a table without a capacity */
}

/* Replaces the table by one of `plan`. If the entries do not fit, *fits is false and nothing has changed. */
static tamis_status regrow_as(tamis_filter *filter, const tamis_plan *plan, bool *fits, tamis_error *err) {
    old_table old;
    uint64_t new_entries;
    tamis_status status = start_replace(filter, plan, &old, err);
    *fits = true;
    if (status != TAMIS_OK)
        return status;
    status = put_table(filter, old.body, UINT64_MAX, &new_entries, err);
    if (status == TAMIS_OK) {
        finish_replace(filter, &old);
        update_capacity(filter);
        return TAMIS_OK;
    }
    undo_replace(filter, &old);
    *fits = status != TAMIS_E_FULL;
    return *fits ? status : TAMIS_OK;
}

tamis_status tamis__fingerprint_regrow(tamis_filter *filter, tamis_error *err) {
    const double rate = covered_rate(filter->body);
    uint64_t keys = filter->added + filter->added / 4 + 1;
    tamis_plan next;
    bool fits;
    if (filter->frozen)
        return tamis__filter_full(filter, TAMIS_FULL_CAPACITY, err);
    if (tamis__plan_next_size(&filter->plan, &next)) {
        tamis_status status = regrow_as(filter, &next, &fits, err);
        if (status != TAMIS_OK || fits)
            return status;
    }
    for (int i = 0; i < TRIES; i++, keys *= 2) {
        if (!plan_next(filter, rate, keys, &next))
            return tamis__filter_full(filter, TAMIS_FULL_RATE, err);
        const tamis_status status = regrow_as(filter, &next, &fits, err);
        if (status != TAMIS_OK || fits)
            return status;
    }
    const bool broad = rate > ldexp(1, -(int)MIN_GROWN_SLOT_BITS);
    return tamis__filter_full(filter, broad ? TAMIS_FULL_LINES : TAMIS_FULL_CROWDED, err);
}

/* ---- union ---- */

static bool is_same_shape(const tamis_filter *into, const tamis_filter *from) {
    const table *mine = into->body, *other = from->body;
    return into->plan.kind == from->plan.kind && into->plan.slot_bits == from->plan.slot_bits &&
           lines_of(mine) == lines_of(other);
}

/* A number of lines for the union, to be multiplied by a power of two. It is that of one of the tables, so
 * that most entries stay exact: the larger table if the ratio is a power of two, else the table with more
 * keys. Entries of growing tables stay exact if the lines are a power of two. */
static uint64_t class_of(const tamis_filter *into, const tamis_filter *from) {
    const uint64_t mine = lines_of(into->body), other = lines_of(from->body);
    const uint64_t min = TAMIS__EXACT_MIN_LINES;
    const bool more = into->added >= from->added;
    if (doublings_of(mine, other) >= 0)
        return other;
    if (doublings_of(other, mine) >= 0)
        return mine;
    return (more ? mine : other) ? (more ? mine : other) : min;
}

/* Raises the promised rate of `into` if the union exceeds it: first to the sum of both promises, and
 * beyond it if need be. */
static void update_rate(tamis_filter *into, const tamis_plan *mine, const tamis_plan *other) {
    tamis_plan *plan = &into->plan;
    const double rate = covered_rate(into->body);
    plan->fpr = mine->fpr;
    if (rate > plan->fpr * RATE_USED)
        plan->fpr += other->fpr;
    if (rate > plan->fpr * RATE_USED)
        plan->fpr = rate * 1.25;
    if (plan->capacity > 0 && plan->kind != TAMIS_KIND_EXACT)
        plan->fpr_predicted = fmin(plan->fpr, rate + plan->fpr_predicted);
    if (plan->kind == TAMIS_KIND_EXACT)
        plan->fpr = plan->fpr_predicted = fmax(plan->fpr_predicted, plan->fpr);
    ((table *)into->body)->watched = plan->capacity > 0 && plan->kind != TAMIS_KIND_EXACT;
}

static void add_counts(tamis_filter *into, const tamis_filter *from, uint64_t new_entries) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    table *t = into->body;
    from->ops->estimate(from, &info);
    t->false_present += info.false_present;
    t->sure = 0;
    into->added += new_entries;
}

/* Replaces the table by one of `plan` with the entries of both. If it needs more lines, *fits is false and
 * nothing has changed. */
static tamis_status union_as(tamis_filter *into, const tamis_filter *from, const tamis_plan *plan, bool *fits,
                             tamis_error *err) {
    old_table old;
    uint64_t new_entries = 0, before;
    tamis_status status = start_replace(into, plan, &old, err);
    *fits = true;
    if (status != TAMIS_OK)
        return status;
    status = put_table(into, old.body, UINT64_MAX, &before, err);
    if (status == TAMIS_OK)
        status = put_table(into, from->body, UINT64_MAX, &new_entries, err);
    if (status != TAMIS_OK) {
        undo_replace(into, &old);
        *fits = status != TAMIS_E_FULL;
        return *fits ? status : TAMIS_OK;
    }
    finish_replace(into, &old);
    add_counts(into, from, new_entries);
    update_capacity(into);
    update_rate(into, &old.plan, &from->plan);
    return TAMIS_OK;
}

/* True if the parts of a concurrent filter stay valid. A part is a range of partitions, and may get more
 * of them. */
static bool keeps_parts(const tamis_plan *now, const tamis_plan *next) {
    return now->capacity > 0 && next->partitions >= now->partitions;
}

/* Makes the union in a new table, larger than both. */
static tamis_status union_as_new(tamis_filter *into, const tamis_filter *from, tamis_error *err) {
    const tamis_plan *into_plan = &into->plan, *from_plan = &from->plan;
    const bool exact = into_plan->kind == TAMIS_KIND_EXACT && from_plan->kind == TAMIS_KIND_EXACT;
    const uint32_t bits =
        into_plan->slot_bits > from_plan->slot_bits ? into_plan->slot_bits : from_plan->slot_bits;
    uint64_t lines = class_of(into, from), keys = into->added + from->added;
    for (int i = 0; i < TRIES; i++, keys *= 2) {
        tamis_plan plan = *into_plan;
        bool fits;
        plan.kind = exact ? TAMIS_KIND_EXACT : TAMIS_KIND_FINGERPRINT;
        plan.target = 0;
        plan.partitions = into_plan->capacity ? into_plan->partitions : 1;
        if (lines % plan.partitions != 0)
            plan.partitions = 1;
        if (!double_lines(&plan, tamis__line_shape_from(bits), lines, keys))
            return tamis__filter_full(into, TAMIS_FULL_CROWDED, err);
        if (into->concurrent && !keeps_parts(into_plan, &plan))
            return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                               "union: a concurrent filter cannot get lines of that shape; use one that "
                               "is not concurrent");
        const tamis_status status = union_as(into, from, &plan, &fits, err);
        if (status != TAMIS_OK || fits)
            return status;
    }
    return fail_too_broad(err);
}

tamis_status tamis__fingerprint_union(tamis_filter *into, const tamis_filter *from, tamis_error *err) {
    const tamis_plan mine = into->plan;
    uint64_t new_entries = 0, remaining = mine.capacity ? 0 : UINT64_MAX;
    if (into == from)
        return TAMIS_OK;
    if (!is_same_shape(into, from))
        return union_as_new(into, from, err);
    if (mine.capacity > into->added)
        remaining = mine.capacity - into->added;
    tamis_status status = put_table(into, from->body, remaining, &new_entries, err);
    if (status == TAMIS_OK) {
        add_counts(into, from, new_entries);
        update_rate(into, &mine, &from->plan);
        return TAMIS_OK;
    }
    into->added += new_entries;
    if (status == TAMIS_E_FULL && mine.capacity)
        status = union_as_new(into, from, err);
    if (status != TAMIS_OK) { /* some keys were added and raise the rate */
        ((table *)into->body)->sure = 0;
        update_rate(into, &mine, &from->plan);
    }
    return status;
}
