/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds fingerprint and exact: storing the entries of one table in another, without the keys. Two operations
 * need this: growth of a table that was made for a known number of keys, and union (fingerprint_regrow.c).
 *
 * Idea. A hash is a number Y of 128 bits. An entry is a prefix of its key's hash, so it stands for a range of
 * numbers. With N lines in all partitions together,
 *
 *     Y * N = G * 2^128 + R          G: home line, counted through the whole table; R: remainder
 *
 * An entry that knows k bits of R stands for a cell: a range of 2^(128-k) numbers in this scale. In a growing
 * table cells are ranges of Y itself, as if N were 1. To convert an entry, compute its range of Y. Then cover
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
 *
 * An example with 4 lines, 8 bits of hash and an entry that knows 2 bits of its remainder. The home line
 * is 1, so the entry stands for the hashes whose product Y * 4 / 256 is 1.01..., which is Y = 80 to 95:
 *
 *     to 8 lines (doubled)   Y * 8 / 256 = 2.50 to 2.97: line 2, remainder 1...
 *                            one cell, as wide as before
 *     to 5 lines             Y * 5 / 256 = 1.56 to 1.87: line 1, remainder .1001 to .1101
 *                            one cell of 1 bit, .1: it covers Y = 77 to 102
 *
 * The choice of cells (cell_shift). A cell has a size of 2^shift. The smallest size is that of a new entry in
 * the home bucket: a slot has no more bits. Some sizes cover the range with one cell or with two. The one
 * with the smaller sum is taken, and one cell if both are equal. Larger cells raise the rate, and more cells
 * take more slots.
 *
 * Keys in both tables (find_overlap). Before a cell is stored, its home line and, if that is full, its spill
 * line are searched. If an entry covers the cell, nothing is stored. If the cell covers an entry, that entry
 * is replaced. Entries of different keys meet too, with the probability of a false positive. Then the new key
 * is answered by the other's entry, as in any add.
 *
 * Cost: each entry is read once and stored once, and an entry whose lines are full moves others, as in any
 * add. An empty table of 2, 4, 8 or 16 times the lines gets its home entries line by line instead
 * (fingerprint_double.c).
 *
 * Format source: docs/FORMAT.md, "Growth and union". Formulas: docs/MATH.md, "Growth as a whole".
 */
#include "filter/table/fingerprint_put.h"

enum {
    MAX_CELLS = 64 /* max. cells that one entry becomes; only a small table with a large rate needs more */
};

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
    bool has_homes;                /* home entries are stored, except some whose new line is full */
    bool is_spilled;               /* the entry in progress is spilled in `from` */
    uint64_t remaining;            /* new entries still allowed */
    uint64_t new_entries;          /* entries of `from` that were new to the table */
} conversion;

/* ---- from an entry to its range of hashes ---- */

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

/* How a cell overlaps an entry of its two lines, probably one of the same key. WIDER: the entry covers the
 * cell. NARROWER: the cell covers the entry. */
typedef enum overlap { OVERLAP_NONE, OVERLAP_WIDER, OVERLAP_NARROWER } overlap;

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
static overlap find_in_bucket(const table *t, const cell_entry *cell, uint8_t *line, uint32_t bucket,
                              bool removes) {
    const line_geometry *g = &t->geometry;
    const uint64_t ends = line_ends(g, line);
    const slot_range range = bucket == g->spill_bucket ? ends_spilled(g, ends) : ends_bucket(ends, bucket);
    for (uint32_t slot = range.first; slot < range.last; slot++) {
        const entry stored = slot_entry(g, line, slot, bucket);
        if (covers(stored, cell->e))
            return OVERLAP_WIDER;
        if (!covers(cell->e, stored))
            continue;
        if (removes) {
            line_remove(g, line, bucket, slot);
            cell->in->covered -= share(t, cell->in, stored.known);
            cell->in->used--;
        }
        return OVERLAP_NARROWER;
    }
    return OVERLAP_NONE;
}

static overlap find_overlap(const table *t, const cell_entry *cell, bool removes) {
    const line_geometry *g = &t->geometry;
    uint8_t *home = line_at(cell->in, cell->line);
    const bool home_is_full = is_full(g, cell->in, cell->line);
    const overlap at_home = find_in_bucket(t, cell, home, home_bucket(g, cell->e.rest), removes);
    if (at_home != OVERLAP_NONE || !home_is_full)
        return at_home;
    uint8_t *spill = line_at(cell->in, spill_line(g, cell->in, cell->line, cell->e.rest));
    return find_in_bucket(t, cell, spill, g->spill_bucket, removes);
}

/* With has_homes, a home line with a free slot has all its cells but the spilled ones: those are stored there
 * without a search. False: the line is full. */
static bool put_first(const conversion *c, const cell_entry *cell) {
    const table *t = c->filter->body;
    if (!c->has_homes || is_full(&t->geometry, cell->in, cell->line))
        return false;
    if (c->is_spilled) {
        insert_home(t, &t->geometry, cell->in, cell->line, cell->e);
        cell->in->used++;
    }
    return true;
}

/* Stores one cell in the table. Sets *overlaps if the table had an entry of that key. TAMIS_E_FULL with *err
 * untouched: there is no free slot in a table that does not grow by partitions. */
static tamis_status put_cell(conversion *c, position pos, uint32_t known, bool *overlaps, tamis_error *err) {
    table *t = c->filter->body;
    for (;;) {
        const cell_entry cell = cell_entry_of(c, pos, known);
        if (put_first(c, &cell))
            return TAMIS_OK;
        const overlap result = find_overlap(t, &cell, true);
        *overlaps = *overlaps || result != OVERLAP_NONE;
        if (result == OVERLAP_WIDER)
            return TAMIS_OK;
        if (result == OVERLAP_NONE && c->remaining == 0)
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

static bool has_overlap(const conversion *c, position pos, uint32_t known) {
    const cell_entry cell = cell_entry_of(c, pos, known);
    return find_overlap(c->filter->body, &cell, false) != OVERLAP_NONE;
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
static tamis_status put_cells(conversion *c, const cell_range *cells, bool *overlaps, tamis_error *err) {
    const uint32_t known = HASH_BITS - cells->shift;
    bool ignored = false;
    tamis_status status = TAMIS_OK;
    if (cells->count == 1)
        return put_cell(c, cells->first, known, overlaps, err);
    position pos = cells->first;
    for (uint64_t i = 0; i < cells->count; i++, pos = next_cell(pos, cells->shift))
        *overlaps = *overlaps || has_overlap(c, pos, known);
    pos = cells->first;
    for (uint64_t i = 0; i < cells->count && status == TAMIS_OK; i++, pos = next_cell(pos, cells->shift))
        status = put_cell(c, pos, known, &ignored, err);
    return status;
}

tamis_status tamis__fingerprint_fail_too_broad(tamis_error *err) {
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "union: one filter is far smaller than the other and its rate is far too large for "
                       "that; build both with one rate, or one filter of all keys");
}

/* Covers a range of hashes with cells and stores them. The smallest cell is limited by the slot width. The
 * largest must still know its bucket and spill line, or its first position bits in a growing table. */
static tamis_status put_range(conversion *c, hash_range range, bool *overlaps, tamis_error *err) {
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
        return tamis__fingerprint_fail_too_broad(err); /* the range spans 2^128 or more */
    const uint32_t shift = cell_shift(first, last, finest, HASH_BITS - min);
    const tamis__u128 count = shifted_position(last, shift) - shifted_position(first, shift) + 1;
    if (count > MAX_CELLS)
        return tamis__fingerprint_fail_too_broad(err);
    const cell_range cells = {{first.line, first.rest & ~low_mask(shift)}, shift, (uint64_t)count};
    return put_cells(c, &cells, overlaps, err);
}

/* Stores an entry after the lines doubled c->doublings times: so many bits of the remainder become bits of
 * the line. */
static tamis_status put_doubled(conversion *c, position pos, uint32_t known, bool *overlaps,
                                tamis_error *err) {
    const uint32_t bits = (uint32_t)c->doublings;
    const line_geometry *g = &((const table *)c->filter->body)->geometry;
    if (known < bits + g->home_bits + SPILL_BITS)
        return put_range(c, range_of_sized(c->from_lines, pos, known), overlaps, err);
    if (bits > 0)
        pos = (position){pos.line << bits | (uint64_t)(pos.rest >> (128 - bits)), pos.rest << bits};
    return put_cell(c, pos, known - bits, overlaps, err);
}

/* The home line of an entry in the table it comes from. */
typedef struct home_line {
    const partition *in;
    uint64_t index; /* number of the partition in its table */
    uint64_t line;
} home_line;

static tamis_status put_entry(conversion *c, const home_line *home, entry e, tamis_error *err) {
    bool overlaps = false;
    tamis_status status;
    if (c->from->grows_by_partition) {
        status = put_range(c, range_of_growing(home->in, home->index, home->line, e), &overlaps, err);
    } else {
        const position pos = {home->index * home->in->count + home->line, e.rest};
        status = c->doublings >= 0
                     ? put_doubled(c, pos, e.known, &overlaps, err)
                     : put_range(c, range_of_sized(c->from_lines, pos, e.known), &overlaps, err);
    }
    if (status == TAMIS_OK && !overlaps) {
        c->new_entries++;
        c->remaining -= c->remaining > 0;
    }
    return status;
}

/* True if home entries of a line may be missing in the table: all, or some if a new line of it is full. */
static bool lacks_homes(const conversion *c, uint64_t line) {
    const table *t = c->filter->body;
    bool lacks = false;
    if (!c->has_homes)
        return true;
    for (uint64_t i = line << c->doublings; i < (line + 1) << c->doublings; i++)
        lacks |= is_full(&t->geometry, t->partitions, i); /* the partitions are one block of memory */
    return lacks;
}

static tamis_status put_partition(conversion *c, const partition *in, uint64_t index, tamis_error *err) {
    const line_geometry *g = &c->from->geometry;
    tamis_status status = TAMIS_OK;
    for (uint64_t line = 0; line < in->count; line++) {
        const uint8_t *bytes = line_at(in, line);
        const bool with_homes = lacks_homes(c, index * in->count + line);
        for (line_walk w = walk_start(g, bytes); walk_next(&w) && status == TAMIS_OK;) {
            const bool is_spilled = w.bucket == g->spill_bucket;
            if (!is_spilled && !with_homes)
                continue;
            c->is_spilled = is_spilled;
            const home_line home = {
                in, index, is_spilled ? other_line(g, in, line, line_head(g, bytes, w.slot), true) : line};
            status = put_entry(c, &home, slot_entry(g, bytes, w.slot, w.bucket), err);
        }
    }
    return status;
}

static conversion conversion_of(tamis_filter *filter, const table *from) {
    conversion c = {.filter = filter,
                    .from = from,
                    .from_lines = lines_of(from),
                    .to_lines = lines_of(filter->body),
                    .doublings = -1,
                    .remaining = UINT64_MAX};
    if (c.to_lines)
        c.doublings = doublings_of(c.from_lines, c.to_lines);
    return c;
}

static tamis_status put_partitions(conversion *c, tamis_error *err) {
    const table *from = c->from;
    tamis_status status = TAMIS_OK;
    for (uint32_t i = 0; i < group_count(from) && status == TAMIS_OK; i++) {
        const partition_group *group = &from->groups[i];
        for (uint32_t n = 0; n < partition_count(group) && status == TAMIS_OK; n++)
            status =
                put_partition(c, &group->first[n], from->grows_by_partition ? i << group->bits | n : n, err);
    }
    return status;
}

tamis_status tamis__fingerprint_put_table(tamis_filter *filter, const table *from, uint64_t remaining,
                                          uint64_t *new_entries, tamis_error *err) {
    conversion c = conversion_of(filter, from);
    c.remaining = remaining;
    const tamis_status status = put_partitions(&c, err);
    *new_entries = c.new_entries;
    return status;
}

tamis_status tamis__fingerprint_refill(tamis_filter *filter, const table *from, tamis_error *err) {
    conversion c = conversion_of(filter, from);
    table *to = filter->body;
    c.has_homes = tamis__fingerprint_can_double(to, from, c.doublings);
    if (c.has_homes && !tamis__fingerprint_double(to, from, (uint32_t)c.doublings))
        return tamis__fingerprint_fail_too_broad(err);
    return put_partitions(&c, err);
}
