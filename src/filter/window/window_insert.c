/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Counting a key in a window: finding a slot for its entry, and growing.
 *
 * Inserting. window_table.h has the layout of a line, and the two lines of a key. A new entry goes into a
 * free slot of the line that has more of them. If both are full, a breadth-first search finds a path of
 * entries to a free slot: each moves to its other line. At a load of 0.85 that practically always succeeds.
 * If it fails in a large table that is not half full, the fingerprints are not random, and more lines would
 * not help: TAMIS_FULL_CROWDED.
 *
 * Counting again (count_again, plan.refresh). The key of step s was found with an entry of an earlier step u:
 *
 *     there is an entry of step s too           nothing to do
 *     s is later than `safe`                    a second entry; that of u may still be needed by late records
 *     s is `safe` or earlier                    the entry of u gets step s, in its slot
 *
 * `safe` is the step of the newest time less the lateness: every later record has that step or a later one.
 * The latest of all entries with the same fingerprint and lines in steps up to `safe` suffices, and the
 * slots of the others are reused. So a key has at most as many entries as there are steps in the lateness,
 * plus two. The plan limits that to fewer than the slots of two lines.
 *
 * Invariants:
 * 1. An entry of a kept step is never lost. It is overwritten only by one with the same fingerprint and lines
 *    that answers every later lookup alike (see `safe`).
 * 2. An entry is in one of the two lines that its key has in that table.
 *
 * Measured: ./dev bench window (docs/PERFORMANCE.md).
 */
#include "filter/window/window_find.h"

enum {
    SEARCH_MAX = 200, /* lines that a search for a free slot reads */
    SMALL = 4096,     /* lines of a table that grows even if it is far from full */
    /* bytes of a table below which the next one is 16 times as large, and 4 times; else twice */
    GROWTH_BY_16 = 8 << 20,
    GROWTH_BY_4 = 64 << 20
};

/* ---- a slot ---- */

/* Stores an entry of the query's step in a slot of the last table, which is free or redundant. */
static void store(window *w, const window_query *q, uint8_t *line, uint32_t slot) {
    window_table *t = &w->tables[w->table_count - 1];
    put_slot(w, line, slot, q->slot | code_of(w, q->step));
    ++*count_at(w, t, q->step);
    t->live++;
}

/* Returns the slots of a line that have the key in steps up to `safe`. *latest becomes the latest of these
 * steps, if it was earlier.
 *
 * Why redundant entries are removed only when a new one is stored: both lines are in the cache then. An entry
 * that stays until later costs a slot, and no answer. With refresh, `safe` = step 19 and a new entry of 21:
 *
 *     entries of the key   17  19  20  21       17 goes; 19 is the latest up to `safe`, and later ones stay
 *
 * Entries of other keys with the same fingerprint and lines count as the key's. A lookup cannot
 * distinguish them either, so it gets the same answers without them. */
static uint32_t entries_until(const window *w, const uint8_t *line, const window_query *q, uint64_t safe,
                              uint64_t *latest) {
    uint32_t entries = 0;
    uint32_t found = matching_heads(w, line, q->slot) & ~free_slots(w, line);
    for (; found; found &= found - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(found);
        const uint64_t slot = slot_at(w, line, i);
        const uint32_t code = (uint32_t)slot & w->code_mask;
        const uint64_t step = w->newest_step - age_of(w, w->newest_step, code);
        if (slot - code != q->slot || step > safe)
            continue;
        entries |= UINT32_C(1) << i;
        if (step > *latest)
            *latest = step;
    }
    return entries;
}

/* Removes those entries of a line whose step is before `latest`. */
static void remove_before(window *w, uint8_t *line, uint32_t entries, uint64_t latest) {
    window_table *t = &w->tables[w->table_count - 1];
    for (; entries; entries &= entries - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(entries);
        const uint32_t code = tamis__load32le(line + 4 * i) & w->code_mask;
        const uint64_t step = w->newest_step - age_of(w, w->newest_step, code);
        if (step == latest)
            continue;
        put_slot(w, line, i, 0);
        --*count_at(w, t, step);
        t->live--;
    }
}

/* Removes the redundant entries of the key: of those in steps up to `safe`, the new one included, all but
 * the latest. */
static void remove_redundant(tamis_filter *filter, const window_query *q, uint8_t *a, uint8_t *b) {
    window *w = filter->body;
    if (!any_head_matches(w, a, b, q->slot))
        return;
    const uint64_t safe = safe_step(filter);
    uint64_t latest = q->step <= safe ? q->step : 0;
    const uint32_t in_a = entries_until(w, a, q, safe, &latest);
    const uint32_t in_b = entries_until(w, b, q, safe, &latest);
    remove_before(w, a, in_a, latest);
    remove_before(w, b, in_b, latest);
}

/* A line that a search for a free slot has reached, through a slot of an earlier one. */
typedef struct search_node {
    uint64_t line;
    uint32_t parent, slot; /* index of the earlier line, and its slot whose other line this one is */
} search_node;

/* Frees a slot of line a or b, both full, by moving entries to their other lines. Returns the line whose slot
 * *slot is free, or NULL if the search finds none.
 *
 * A path of two moves, found breadth-first, and the order in which its entries move:
 *
 *     a (full) --entry in slot 3--> c (full) --entry in slot 0--> e (slot 5 free)
 *
 *     first    c[0] to e[5]
 *     then     a[3] to c[0]          and a[3] is the slot for the new entry
 *
 * So each entry is in one of its lines all the time, and a search that fails has changed nothing. It reads at
 * most SEARCH_MAX lines: with 12 slots a line these are two lines, 24 of one move, and the rest of two. */
static uint8_t *free_by_moves(window *w, const window_table *t, line_pair pair, uint32_t *slot) {
    search_node nodes[SEARCH_MAX] = {{.line = pair.a}, {.line = pair.b}};
    uint32_t count = 2, free_in = 0, last = 0;
    for (uint32_t n = 0; n < count && !free_in; n++) {
        const uint8_t *line = line_at(t, nodes[n].line);
        for (uint32_t i = 0; i < w->shape.slots && count < SEARCH_MAX && !free_in; i++) {
            last = count++;
            nodes[last] = (search_node){other_line(w, t, slot_at(w, line, i), nodes[n].line), n, i};
            free_in = free_slots(w, line_at(t, nodes[last].line));
        }
    }
    if (!free_in)
        return NULL;
    /* From the end of the path: each move frees the slot that the one before it needs. */
    *slot = (uint32_t)__builtin_ctz(free_in);
    for (uint32_t n = last; n > 1; n = nodes[n].parent) {
        uint8_t *from = line_at(t, nodes[nodes[n].parent].line);
        put_slot(w, line_at(t, nodes[n].line), *slot, slot_at(w, from, nodes[n].slot));
        *slot = nodes[n].slot;
        last = nodes[n].parent;
    }
    return line_at(t, nodes[last].line);
}

/* Stores a new entry in the last table. False: there is no slot for it. */
static bool insert(tamis_filter *filter, const window_query *q) {
    window *w = filter->body;
    window_table *t = &w->tables[w->table_count - 1];
    const line_pair pair = lines_of(w, t, q);
    uint8_t *a = line_at(t, pair.a), *b = line_at(t, pair.b), *line;
    remove_redundant(filter, q, a, b);
    const uint32_t in_a = free_slots(w, a), in_b = free_slots(w, b);
    const bool uses_b = __builtin_popcount(in_b) > __builtin_popcount(in_a);
    uint32_t slot;
    if (in_a | in_b) {
        line = uses_b ? b : a;
        slot = (uint32_t)__builtin_ctz(uses_b ? in_b : in_a);
    } else {
        line = free_by_moves(w, t, pair, &slot);
    }
    if (line)
        store(w, q, line, slot);
    return line;
}

static uint64_t slots_in(const window *w) {
    return w->tables[w->table_count - 1].line_count * w->shape.slots;
}

/* Memory of all tables. */
static uint64_t table_bytes(const window *w) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < w->table_count; i++)
        bytes += w->tables[i].line_count * LINE_BYTES + counts_bytes(w);
    return bytes;
}

/* Lines of a table that takes what is left of the memory limit. */
static uint64_t lines_left(const tamis_filter *filter) {
    const uint64_t limit = filter->plan.memory_limit;
    const uint64_t used = table_bytes(filter->body) + counts_bytes(filter->body);
    return limit > used ? (limit - used) / LINE_BYTES / 2 * 2 : 0;
}

/* Begins a larger table, or one that takes the rest of the memory limit.
 *
 * - The rest is used to the last line. Keys that once fitted into one table must fit again when a replay adds
 *   them at once, in several tables.
 * - A replay must choose the same size, so the choice depends on plan and tables alone.
 * - The first table for an expected number of keys is about right, so the second one is only twice as large.
 *   If that does not suffice, the number was a wrong guess, and the next tables leap. */
static tamis_status grow(tamis_filter *filter, tamis_error *err) {
    const window *w = filter->body;
    const uint64_t lines = w->tables[w->table_count - 1].line_count, limit = filter->plan.memory_limit;
    const bool may_leap = filter->plan.capacity == 0 || w->table_count > 1;
    uint64_t factor = may_leap && lines * LINE_BYTES < GROWTH_BY_16  ? 16
                      : may_leap && lines * LINE_BYTES < GROWTH_BY_4 ? 4
                                                                     : 2;
    if (w->table_count == TAMIS__WINDOW_TABLES_MAX)
        return tamis__filter_full(filter, TAMIS_FULL_RATE, err);
    while (limit && factor > 1 && table_bytes(w) + factor * lines * LINE_BYTES + counts_bytes(w) > limit)
        factor /= 2;
    const uint64_t wanted = factor > 1 ? factor * lines : lines_left(filter);
    if (wanted == 0)
        return tamis__filter_full(filter, TAMIS_FULL_MEMORY, err);
    if (!tamis__window_add_table(filter, wanted))
        return tamis__fail_nomem(err, "filter", (size_t)(wanted * LINE_BYTES));
    return TAMIS_OK;
}

/* ---- a key ---- */

/* Counts a key at the time of the query. */
static tamis_status count_key(tamis_filter *filter, const window_query *q, tamis_error *err) {
    const window *w = filter->body;
    const bool is_full =
        (double)w->tables[w->table_count - 1].live >= TAMIS__WINDOW_LOAD * (double)slots_in(w);
    if (!is_full && insert(filter, q))
        return TAMIS_OK;
    const window_table *last = &w->tables[w->table_count - 1];
    if (!is_full && last->live < slots_in(w) / 2 && last->line_count >= SMALL)
        return tamis__filter_full(filter, TAMIS_FULL_CROWDED, err);
    const tamis_status status = grow(filter, err);
    if (status == TAMIS_OK)
        insert(filter, q); /* a table without entries has a slot */
    return status;
}

/* Counts a key again that was found, if it was counted in another step. Sets *counted if it was. */
static tamis_status count_again(tamis_filter *filter, const window_query *q, const found_entry *found,
                                bool *counted, tamis_error *err) {
    window *w = filter->body;
    const window_query same_step = {q->slot, q->hash, q->step, 0};
    found_entry other;
    if (find_entry(w, &same_step, &other))
        return TAMIS_OK;
    const uint64_t slot = slot_at(w, found->line, found->slot);
    const uint64_t age = age_of(w, q->step, (uint32_t)slot & w->code_mask);
    if (q->step > safe_step(filter)) {
        const tamis_status status = count_key(filter, q, err);
        *counted = status == TAMIS_OK;
        return status;
    }
    *counted = true;
    put_slot(w, found->line, found->slot, q->slot | code_of(w, q->step));
    --*count_at(w, found->table, q->step - age);
    ++*count_at(w, found->table, q->step);
    return TAMIS_OK;
}

tamis_status tamis__window_add_key(tamis_filter *filter, const window_query *q, tamis_answer *answer,
                                   bool *counted, tamis_error *err) {
    window *w = filter->body;
    found_entry found;
    *counted = false;
    if (find_entry(w, q, &found)) {
        *answer = TAMIS_PRESENT;
        const tamis_status status =
            filter->plan.refresh ? count_again(filter, q, &found, counted, err) : TAMIS_OK;
        filter->added += *counted;
        return status;
    }
    const double rate = rate_of(w);
    *answer = TAMIS_UNKNOWN;
    const tamis_status status = count_key(filter, q, err);
    if (status != TAMIS_OK)
        return status;
    *answer = TAMIS_ABSENT;
    *counted = true;
    w->false_present += rate;
    filter->added++;
    return TAMIS_OK;
}
