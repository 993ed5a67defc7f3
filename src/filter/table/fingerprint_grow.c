/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds fingerprint and exact: making space for one more entry. First in full lines, by moving entries to
 * their other line; then in a full partition, by rewriting it with more lines.
 *
 * Freeing a slot. Every entry has two possible lines, home and spill. If both lines of a new key are full,
 * one of their entries is moved to its own other line, as in a cuckoo filter. If that line is full too, one
 * of its entries is moved first. The search is iterative deepening: it finds a shortest chain of moves, or
 * gives up after about SEARCH_MAX entries.
 *
 *     new key -> line A (full): entry e -> line B (full): entry f -> line C (has a free slot)
 *     The moves are done from the end: f goes to C, then e to B, then the new key to A.
 *
 * Growth. A partition at its load limit is rewritten with a quarter more lines, or more if a size hint says
 * that many keys will come. The other partitions stay. The first sizes are spread over a quarter, so the
 * partitions take turns. A partition that would exceed SPLIT_LINES lines is rewritten into SPLIT partitions,
 * each for four more first bits of the hash. So no insertion waits longer than for one rewrite of so many
 * lines.
 *
 * How a line is computed in a growing partition. X is the first position_bits bits of y:
 *
 *     line = floor(X * lines / 2^position_bits)
 *     remainder = (X - least X of that line), then the bits after X
 *
 *     X   0              least(i)     X     least(i+1)           2^position_bits
 *         |---- line 0 ----| ... |----|----------| ... |---------|
 *                                `--' distance
 *
 * Both can be inverted: line and remainder give X, and X gives the line and remainder for any other number of
 * lines. An entry keeps the bits that it knew, and each doubling turns one bit of the remainder into a bit of
 * the position.
 *
 * Splitting needs no arithmetic for home entries. If SPLIT divides the lines, a sixteenth of the lines is
 * already a partition of the hashes with four more first bits. X without those bits has the same distance
 * from the least X of its line. Spilled entries are the exception, since their spill lines wrap around the
 * end of the whole partition.
 *
 * Rate. The rate of a lookup is the share of all y that some entry covers: an entry that knows b bits of y
 * covers 2^-b. Growth does not change what an entry covers. The entries added after a doubling are twice as
 * many as those added before it, and each covers half as much. So every doubling adds the same amount to the
 * rate. The plan reserves slot bits for that, and a table that would exceed its rate reports that it is full.
 *
 * Memory. Partitions are smaller than a large page for a long time. Address translation then takes a tenth of
 * the time of an add and a quarter of that of a lookup. With a size hint, partitions are therefore cut out of
 * shared large pages (pages.h). Without a size hint the partly used page would cost too much memory a key
 * (the bound is 48 bits, prop_rate.c).
 *
 * Invariants:
 * 1. A failed growth changes nothing.
 * 2. On a chain of moves every line but the first is full again afterwards (invariant 2 of
 *    fingerprint_table.h).
 * 3. Memory in use and all first lines still due together stay within plan.memory_limit.
 *
 * Growing by a quarter rewrites each key four times on average, and 0.25 to 0.4 times with a size hint
 * (docs/MATH.md).
 *
 * Measured: ./dev bench growth (memory a key), ./dev bench steps (the time of a step; docs/PERFORMANCE.md).
 */
#include "base/system.h"
#include "filter/table/fingerprint_put.h"

enum {
    SMALL_LINES = 160, /* partitions with fewer lines double: rewriting costs more than memory */
    TIMES_MAX = 4,     /* max. factor by which a size hint lets a partition grow at once */
    FEW_MIB = 64       /* MiB of all partitions up to which a size hint may exceed that factor */
};

/* ---- freeing a slot ---- */

/* A chain of moves. Each move names an entry that goes to its other line, and that line is the line of
 * the next move. They are done from the last to the first, which frees a slot in the first line. */
typedef struct path {
    uint32_t length;
    struct path_move {
        uint64_t line;
        uint32_t slot, bucket;
    } moves[PATH_LENGTH_MAX];
} path;

static bool comes_to(const path *p, uint64_t line) {
    for (uint32_t i = 0; i < p->length; i++)
        if (p->moves[i].line == line)
            return true;
    return false;
}

/* Searches for a chain of exactly `more` + 1 moves that starts at a full line. Changes nothing. Chains
 * that return to one of their own lines are skipped. A shorter chain does the same, and colliding keys
 * would lead back and forth without end. */
static bool path_find(const table *t, const partition *in, path *p, uint64_t line, uint32_t more) {
    const line_geometry *g = &t->geometry;
    const uint8_t *bytes = line_at(in, line);
    struct path_move *move = &p->moves[p->length++];
    for (line_walk w = walk_start(g, bytes); walk_next(&w);) {
        *move = (struct path_move){line, w.slot, w.bucket};
        const uint64_t target =
            other_line(g, in, line, line_head(g, bytes, w.slot), w.bucket == g->spill_bucket);
        if (more ? !comes_to(p, target) && path_find(t, in, p, target, more - 1) : !is_full(g, in, target))
            return true;
    }
    p->length--;
    return false;
}

static void path_walk(const table *t, partition *in, const path *p) {
    const line_geometry *g = &t->geometry;
    for (uint32_t i = p->length; i-- > 0;) {
        const struct path_move *move = &p->moves[i];
        uint8_t *bytes = line_at(in, move->line);
        entry e = slot_entry(g, bytes, move->slot, move->bucket);
        const bool is_spilled = move->bucket == g->spill_bucket;
        const uint64_t target = other_line(g, in, move->line, line_head(g, bytes, move->slot), is_spilled);
        line_remove(g, bytes, move->bucket, move->slot);
        in->covered -= share(t, in, e.known);
        if (is_spilled)
            insert_home(t, g, in, target, e);
        else
            insert_spilled(t, g, in, target, e);
        tamis__fingerprint_moved(t, in, target);
    }
}

/* Frees a slot in one of the two full lines, by moving as few entries as possible. The caller then fills
 * the slot. False, and nothing has changed, if no short chain of moves exists.
 *
 * Tries chains of 1, 2, ... moves. A shortest chain visits no line twice, so no move changes a line in
 * which another move was planned. Every line of the chain but the first is full again afterwards, which
 * keeps invariant 2 of fingerprint_table.h. */
static bool free_slot(const table *t, partition *in, uint64_t line, uint64_t spill) {
    for (uint32_t more = 0; more <= t->search_depth; more++) {
        path p = {.length = 0};
        if (path_find(t, in, &p, line, more) || path_find(t, in, &p, spill, more)) {
            path_walk(t, in, &p);
            return true;
        }
    }
    return false;
}

bool tamis__fingerprint_put(const table *t, partition *in, uint64_t line, entry e) {
    const line_geometry *g = &t->geometry;
    const uint64_t spill = spill_line(g, in, line, e.rest);
    if (is_full(g, in, line) && is_full(g, in, spill) && !free_slot(t, in, line, spill))
        return false;
    if (!is_full(g, in, line))
        insert_home(t, g, in, line, e);
    else
        insert_spilled(t, g, in, spill, e);
    tamis__fingerprint_moved(t, in, line);
    tamis__fingerprint_moved(t, in, spill);
    in->used++;
    return true;
}

/* ---- partitions ---- */

/* Memory in use, plus the first lines that partitions without a key may still get. The memory limit covers
 * both. */
static uint64_t memory_with_due(const tamis_filter *filter) {
    const table *t = filter->body;
    return __atomic_load_n(&filter->tally.memory, __ATOMIC_RELAXED) +
           __atomic_load_n(&t->lines_due, __ATOMIC_RELAXED);
}

/* True if `size` more bytes are within the memory limit. Near the limit the unused rest of a shared large
 * page is released. */
static bool is_allowed(tamis_filter *filter, uint64_t size) {
    const uint64_t limit = filter->plan.memory_limit;
    const table *t = filter->body;
    if (limit && t->pages && memory_with_due(filter) + size + TAMIS__PAGE > limit)
        tamis__filter_count_release(filter, tamis__pages_close(t->pages));
    return !limit || filter->ignore_memory_limit || memory_with_due(filter) + size <= limit;
}

/* True if blocks of this size come from shared pages, or are released as if they did. */
static bool shares_pages(const tamis_filter *filter, size_t size) {
    const table *t = filter->body;
    return t->pages && size >= TAMIS__PAGES_BLOCK_MIN;
}

static uint8_t *alloc_lines(tamis_filter *filter, size_t size) {
    const table *t = filter->body;
    size_t held;
    uint8_t *lines = NULL;
    if (filter->size_hint > 0 && shares_pages(filter, size) && is_allowed(filter, size))
        lines = tamis__pages_cut(t->pages, size, &held);
    if (!lines)
        return tamis__filter_alloc(filter, size);
    tamis__filter_count_alloc(filter, size + held);
    return lines;
}

bool tamis__fingerprint_create_partition(const table *t, tamis_filter *filter, uint32_t hash_bits,
                                         partition *out, uint64_t count) {
    if (count > SIZE_MAX / LINE_BYTES)
        return false;
    uint8_t *lines = alloc_lines(filter, (size_t)count * LINE_BYTES);
    if (!lines)
        return false;
    *out = partition_of(t, hash_bits, lines, count);
    return true;
}

void tamis__fingerprint_release(tamis_filter *filter, partition *in) {
    const size_t size = (size_t)in->count * LINE_BYTES;
    const bool owns = in->lines && has_own_lines(in);
    if (owns && shares_pages(filter, size)) {
        tamis__pages_unmap(in->lines, size);
        tamis__filter_count_release(filter, size);
    } else if (owns) {
        tamis__filter_release(filter, in->lines, size);
    }
    *in = (partition){0};
}

/* True if a key finds no slot though its partition is less than half full. This does not happen by chance:
 * the keys were chosen to collide, or the hash is bad. More lines would not separate them. */
static bool is_crowded(const table *t, const partition *in, uint64_t count) {
    return (double)in->used < t->load / 2 * (double)(count * t->geometry.slots);
}

/* The next number of lines in the growth sequence. Partitions that may soon be split have a multiple of
 * SPLIT. */
static uint64_t next_count(uint64_t count) {
    const uint64_t next = count + (count < SMALL_LINES ? count : count / 4);
    return next < SPLIT_LINES / (2 * TIMES_MAX) ? next : next / SPLIT * SPLIT;
}

/* True if `count` lines in every partition suffice for the keys of the size hint. */
static bool holds_size_hint(const table *t, const tamis_filter *filter, uint32_t hash_bits, uint64_t count) {
    return ldexp((double)count * t->load * t->geometry.slots, (int)hash_bits) >= (double)filter->size_hint;
}

/* Max. lines that the size hint may give a partition at once under a memory limit: four fifths of its
 * share of the memory. So all partitions approach the limit together, by quarters; otherwise some would
 * use it up while others are small. */
static uint64_t limit_count(const table *t, const tamis_filter *filter, uint32_t hash_bits) {
    const uint64_t limit = filter->plan.memory_limit;
    return limit ? (limit / LINE_BYTES >> hash_bits) * 4 / 5 : line_limit_of(t, hash_bits);
}

/* The number of lines to grow to. The size hint skips sizes of the normal growth sequence only. So
 * partitions still grow at different times. */
static uint64_t larger_count(const table *t, const tamis_filter *filter, uint32_t hash_bits, uint64_t count) {
    uint64_t next = next_count(count), max = limit_count(t, filter, hash_bits);
    const uint64_t line_limit = line_limit_of(t, hash_bits);
    const uint64_t few = ((uint64_t)FEW_MIB << 20) / LINE_BYTES >> hash_bits;
    const uint64_t times = few > count * TIMES_MAX ? few : count * TIMES_MAX;
    max = max < times ? max : times;
    max = max < line_limit ? max : line_limit;
    while (!holds_size_hint(t, filter, hash_bits, next) && next_count(next) <= max)
        next = next_count(next);
    return next;
}

static bool must_split(const partition *in, uint64_t count) {
    return in->hash_bits == TAMIS__FINGERPRINT_PARTITION_BITS && count > SPLIT_LINES &&
           in->count % SPLIT == 0;
}

/* Replaces a partition by one with `count` lines, or by SPLIT partitions with `count` lines in all. On
 * TAMIS_E_NOMEM, and on TAMIS_OK with *done false (an entry found no slot), nothing has changed. */
static tamis_status rewrite(tamis_filter *filter, partition *in, uint64_t count, bool *done,
                            tamis_error *err) {
    table *t = filter->body;
    const bool splits = must_split(in, count);
    const uint32_t parts = splits ? SPLIT : 1;
    const uint32_t hash_bits = in->hash_bits + (splits ? TAMIS__FINGERPRINT_SPLIT_BITS : 0u);
    partition larger;
    partition_group group = {.first = &larger};
    *done = false;
    tamis_status status = splits ? tamis__fingerprint_split(filter, &group, err) : TAMIS_OK;
    if (status != TAMIS_OK)
        return status;

    partition *to = group.first;
    uint32_t created = 0;
    count /= parts;
    while (created < parts &&
           tamis__fingerprint_create_partition(t, filter, hash_bits, &to[created], count)) {
        tamis__advise_written(to[created].lines, (size_t)count * LINE_BYTES);
        created++;
    }
    if (created == parts)
        *done = filter->kernels->tables->rewrite(t, in, to, parts);
    else
        status = tamis__fail_nomem(err, "filter", count * LINE_BYTES);

    if (*done) {
        /* The sum cannot be divided, so the first partition gets all of it. */
        to->false_present = in->false_present;
        tamis__fingerprint_release(filter, in);
        if (splits)
            t->groups[in - t->partitions] = group;
        else
            *in = larger;
        /* Atomic: other threads may grow partitions of other parts. */
        __atomic_fetch_add(&t->growths, 1, __ATOMIC_RELAXED);
        return TAMIS_OK;
    }
    while (created > 0)
        tamis__fingerprint_release(filter, &to[--created]);
    if (splits)
        tamis__filter_release(filter, to, SPLIT * sizeof *to);
    return status;
}

/* Allocates the first lines of a partition, for its first key. The memory limit already includes them. */
static tamis_status alloc_first_lines(table *t, tamis_filter *filter, partition *in, tamis_error *err) {
    const uint64_t size = in->count * LINE_BYTES;
    partition created;
    if (!tamis__fingerprint_create_partition(t, filter, in->hash_bits, &created, in->count))
        return tamis__fail_nomem(err, "filter", size);
    /* Atomic: other threads may grow partitions of other parts. */
    __atomic_fetch_sub(&t->lines_due, size, __ATOMIC_RELAXED);
    created.false_present = in->false_present;
    *in = created;
    return TAMIS_OK;
}

tamis_status tamis__fingerprint_grow(table *t, tamis_filter *filter, partition *in, tamis_error *err) {
    if (!has_own_lines(in))
        return alloc_first_lines(t, filter, in, err);
    uint64_t count = in->count;
    for (bool done = false; !done;) {
        /* `count` is the present number of lines, or the number that was tried last. */
        if (is_crowded(t, in, count))
            return tamis__filter_full(filter, TAMIS_FULL_CROWDED, err);
        count = larger_count(t, filter, in->hash_bits, count);
        if (count > line_limit_of(t, in->hash_bits))
            return tamis__filter_full(filter, TAMIS_FULL_LINES, err);
        if (!is_allowed(filter, count * LINE_BYTES + (must_split(in, count) ? SPLIT * sizeof *in : 0)))
            return tamis__filter_full(filter, TAMIS_FULL_MEMORY, err);
        const tamis_status status = rewrite(filter, in, count, &done, err);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}
