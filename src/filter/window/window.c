/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind window: a table of fingerprints, each with the step in which its key was counted.
 *
 * The idea. A lookup for time t looks for an entry with the key's fingerprint whose step lies within the
 * window before t. Time passes without any work: an entry whose step is too old is no longer found, and its
 * slot is free. So the window costs two cache lines a lookup, however many steps it has. (A ring of filters,
 * one for each step, would cost one line or more for each of them.)
 *
 * Terms. A step is a span of time, numbered from 1970 on; the plan says how long it is. The newest step is
 * that of the newest time. An entry is kept while its step is one of the `kept` newest ones, and dead
 * afterwards.
 *
 * A window of 10 minutes in steps of 5, for a key of 12:07. Its time less the window is 11:57, in the step
 * that begins at 11:55. So entries of three steps are found (`steps` of the query is 2):
 *
 *     steps      11:50   11:55   12:00   12:05
 *     entries    no      yes     yes     yes       11:55 to 11:57 is before the window, and found too:
 *                                                  an entry knows its step, and no time within it
 *
 * If the window is no multiple of the step, some times have one step more than others (change_of notes
 * which).
 *
 * Adding a key of time t (add_at), after the newest time has moved to t if t is later:
 *
 *     t is earlier than the newest time less the lateness?  --yes--> late: not counted
 *       | no
 *     an entry of the steps of its window, in any table?    --yes--> present; with refresh, counted again
 *       | no
 *     insert an entry of the step of t into the last table  -------> absent
 *       | no slot, or the load is 0.85
 *     begin a larger table, insert there  -------------------------> absent; or full, by rate or by memory
 *
 * Inserting. window_table.h has the layout of a line, and the two lines of a key. A new entry goes into a
 * free slot of the line that has more of them. If both are full, a breadth-first search finds a path of
 * entries to a free slot: each moves to its other line. At a load of 0.85 that practically always succeeds.
 * If it fails in a large table that is not half full, the fingerprints are not random, and more lines would
 * not help: TAMIS_FULL_CROWDED.
 *
 * Keys in any order (tamis__window_batch). State records of Kafka have lost the order of their keys. There a
 * key that is older than the lateness is counted too, unless its step is not kept any more. Later lookups are
 * right all the same: they are for times within the lateness of the newest one. Of the entries of a key up to
 * `safe` they find the latest, in whatever order these were stored.
 *
 * Growth. The window has several tables, each larger than the one before. New entries go into the last one;
 * lookups search all. A table whose entries are all too old is dropped. So the window grows without its keys,
 * and one window later there is one table again.
 *
 *     tables   | 32 KiB | 512 KiB | 8 MiB | 32 MiB | 128 MiB |  <- new entries
 *                older, only searched               older ones go as their steps end
 *
 * Each table costs a lookup two cache lines and adds to the rate, so the plan allows 16 of them. Small tables
 * are followed by one of 16 times the size, those from 8 MiB on by one of 4 times, those from 64 MiB on by
 * one twice as large. So 16 tables have up to 512 GiB, and a large table does not ask for far more than is
 * needed. Under a memory limit the last table takes what is left.
 *
 * Counting again (count_again, plan.refresh). The key of step s was found with an entry of an earlier step u:
 *
 *     there is an entry of step s too           nothing to do
 *     s is later than `safe`                    a second entry; that of u may still be needed by late records
 *     s is `safe` or earlier                    the entry of u gets step s, in its slot
 *
 * `safe` is the step of the newest time less the lateness: every later record has that step or a later one.
 * Of all entries with the same fingerprint and lines in steps up to `safe`, the latest suffices, and the
 * slots of the others are reused. So a key has at most as many entries as there are steps in the lateness,
 * plus two. The plan limits that to fewer than the slots of two lines.
 *
 * Counts. A table has the number of its entries for each kept step, at step % kept. When a step begins, it
 * takes the place of the one that dies: its count is subtracted from `live`. So the load is known without a
 * look at the lines. With 3 kept steps:
 *
 *     newest step    counts[0]   counts[1]   counts[2]
 *     20             step 18     step 19     step 20
 *     21             step 21     step 19     step 20      step 18 is dead
 *
 * Step codes. A slot stores 1 + step % codes, so a code says how old its entry is only if all entries are of
 * `codes` neighbouring steps. With 3 kept steps a code has 3 bits, and codes is 7:
 *
 *     newest step    code of its entries    age by code 7 6 5 4 3 2 1
 *     20             7                                  0 1 2 3 4 5 6    3 and more: dead, the slot is free
 *     21             1                                  1 2 3 4 5 6 0    an entry of step 14 would seem new
 *
 * Dead entries are therefore set to 0 in time (purge): all entries have steps above purged - kept, so codes
 * are unique while newest_step - purged <= codes - kept. A purge reads all lines, once in `kept` steps or
 * less often. Until then dead entries cost nothing: they are free slots with a value.
 *
 * Replaying. What a key did to a window follows from its hash, its step and the newest step at that moment. A
 * state logs these (change_of), and tamis__window_repeat does the same again. It also compares: a key that
 * was absent in the run and is present now shows that log and window do not belong together
 * (docs/DURABILITY.md, "Windows").
 *
 * Measured (docs/PERFORMANCE.md, ./dev bench window): a run over 5 million JSON records with a state takes
 * 1.40 and 1.48 times as long with a window of 24 steps as without. Lines of 50 bytes without a state take
 * 1.86 and 2.13 times as long, or 1.23 and 1.47 if the number of keys is expected: a key has two lines
 * instead of one, and a growing window has several tables.
 *
 * Invariants:
 * 1. No false negative: an entry of a kept step is never overwritten or lost, except by one with the same
 *    fingerprint and lines that answers every later lookup alike (see `safe`).
 * 2. Answers depend on the order of keys and times alone: not on batches, on purges, or on saving and
 *    opening. So a state can replay them.
 * 3. counts[step % kept] of a table is the number of its entries of that step; `live` is their sum.
 * 4. An entry is in one of the two lines that its key has in that table.
 *
 * References: partial-key moves are those of cuckoo filters (Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo
 * Filter", 2014). ./dev bench window measures it.
 */
#include <inttypes.h>
#include <string.h>

#include "base/system.h"
#include "filter/window/window_table.h"

enum {
    BATCH = 256,      /* keys that are added together */
    AHEAD = 40,       /* keys whose lines are fetched before they are needed */
    SEARCH_MAX = 200, /* lines that a search for a free slot reads */
    SMALL = 4096,     /* lines of a table that grows even if it is far from full */
    /* bytes of a table below which the next one is 16 times as large, and 4 times; else twice */
    GROWTH_BY_16 = 8 << 20,
    GROWTH_BY_4 = 64 << 20
};

/* ---- looking up ---- */

/* Finds an entry of the key in a line, in one of the steps of the query. Returns its slot, or -1.
 *
 * An example with 3 kept steps and 7 codes. The newest step is 21, with code 1. The query is for step 20 and
 * the one before it, so q->steps is 1:
 *
 *     entry of step      21     20     19     18
 *     code                1      7      6      5
 *     age at step 21      0      1      2      3
 *     age at step 20     -1      0      1      2       found: ages 0 and 1; -1 is 2^64 - 1 here
 *
 * One comparison, age <= steps, excludes both entries that are too old and those of later steps. */
static int find_in_line(const window *w, const uint8_t *line, const window_query *q) {
    for (uint32_t found = matching_heads(w, line, q->slot); found; found &= found - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(found);
        const uint64_t slot = slot_at(w, line, i);
        const uint32_t code = (uint32_t)slot & w->code_mask;
        /* Its age at the step of the query. It wraps around to a huge number if the entry was counted after
         * that step. Ages count from the newest step, where codes are unique; a query may be of a later one.
         * */
        const uint64_t age = age_of(w, w->newest_step, code) + q->step - w->newest_step;
        if (slot - code == q->slot && code && age <= q->steps)
            return (int)i;
    }
    return -1;
}

/* An entry that was found. */
typedef struct found_entry {
    window_table *table;
    uint8_t *line;
    uint32_t slot;
} found_entry;

static bool find_entry(const window *w, const window_query *q, found_entry *found) {
    for (size_t i = w->table_count; i-- > 0;) {
        const window_table *t = &w->tables[i];
        const line_pair pair = lines_of(w, t, q);
        uint8_t *line = line_at(t, pair.a), *other = line_at(t, pair.b);
        if (!any_head_matches(w, line, other, q->slot))
            continue;
        int slot = find_in_line(w, line, q);
        if (slot < 0) {
            line = other;
            slot = find_in_line(w, line, q);
        }
        if (slot >= 0) {
            *found = (found_entry){(window_table *)t, line, (uint32_t)slot};
            return true;
        }
    }
    return false;
}

/* Inlined: the compiler takes a function that only fetches for one without effect, and removes its calls. */
static inline __attribute__((always_inline)) void prefetch_lines(const window *w, const window_query *q) {
    for (size_t i = 0; i < w->table_count; i++) {
        const line_pair pair = lines_of(w, &w->tables[i], q);
        tamis__prefetch(line_at(&w->tables[i], pair.a));
        tamis__prefetch(line_at(&w->tables[i], pair.b));
    }
}

/* The answers for the times of the batch, or for the newest one if they are NULL. Nothing is present before
 * the first key. */
static void look_up(const tamis_filter *filter, const tamis_timed_hashes *batch, tamis_answer *answers) {
    const window *w = filter->body;
    const int64_t *times = batch->times;
    window_query queries[BATCH];
    found_entry found;
    for (size_t from = 0; from < batch->count; from += BATCH) {
        const size_t left = batch->count - from, count = left < BATCH ? left : BATCH;
        for (size_t i = 0; i < count; i++) {
            queries[i] = query_of(filter, &batch->hashes[from + i], times ? times[from + i] : w->newest);
            prefetch_lines(w, &queries[i]);
        }
        for (size_t i = 0; i < count; i++)
            answers[from + i] =
                w->newest >= 0 && find_entry(w, &queries[i], &found) ? TAMIS_PRESENT : TAMIS_ABSENT;
    }
}

static void contains(const tamis_filter *filter, const tamis__key_batch *batch) {
    look_up(filter, &(tamis_timed_hashes){.hashes = batch->hashes, .count = batch->count}, batch->answers);
}

/* ---- tables ---- */

/* Adds a table without entries, which becomes the last one. False: out of memory. */
static bool add_table(tamis_filter *filter, uint64_t line_count) {
    window *w = filter->body;
    const size_t bytes = (size_t)line_count * LINE_BYTES;
    window_table *t = &w->tables[w->table_count];
    t->counts = tamis__filter_alloc(filter, counts_bytes(w));
    t->lines = t->counts ? tamis__filter_alloc(filter, bytes) : NULL;
    if (!t->lines) {
        if (t->counts)
            tamis__filter_release(filter, t->counts, counts_bytes(w));
        return false;
    }
    tamis__advise_large(t->lines, bytes);
    t->line_count = line_count;
    t->live = 0;
    w->table_count++;
    return true;
}

static void release_table(tamis_filter *filter, window_table *t) {
    const window *w = filter->body;
    if (!w->borrowed)
        tamis__filter_release(filter, t->lines, (size_t)t->line_count * LINE_BYTES);
    tamis__filter_release(filter, t->counts, counts_bytes(w));
}

/* Releases the tables without entries, but for the last one. */
static void drop_empty_tables(tamis_filter *filter) {
    window *w = filter->body;
    size_t left = 0;
    for (size_t i = 0; i < w->table_count; i++) {
        if (w->tables[i].live == 0 && i + 1 < w->table_count)
            release_table(filter, &w->tables[i]);
        else
            w->tables[left++] = w->tables[i];
    }
    w->table_count = left;
}

/* ---- time ---- */

/* Sets every dead entry of all tables to 0.
 *
 * Call it before the newest step moves. Codes are unique for the old step only: for the new one, an entry
 * that is old enough would have the code of a young one, and be kept. Cost: all lines once. A day in steps of
 * an hour has 26 kept steps and 63 codes, so a purge comes after 63 - 26 steps, every one and a half days. */
static void purge(window *w) {
    for (size_t n = 0; n < w->table_count; n++) {
        const window_table *t = &w->tables[n];
        for (uint64_t i = 0; i < t->line_count; i++) {
            uint8_t *line = line_at(t, i);
            for (uint32_t dead = free_slots(w, line); dead; dead &= dead - 1)
                put_slot(w, line, (uint32_t)__builtin_ctz(dead), 0);
        }
    }
    w->purged = w->newest_step;
}

/* Removes all entries of the last table, and the other tables. */
static void remove_all(tamis_filter *filter) {
    window *w = filter->body;
    for (size_t i = 0; i < w->table_count; i++) {
        w->tables[i].live = 0;
        memset(w->tables[i].counts, 0, counts_bytes(w));
    }
    drop_empty_tables(filter);
    memset(w->tables[0].lines, 0, (size_t)w->tables[0].line_count * LINE_BYTES);
}

/* Moves the newest time to a later one. */
static void advance_time(tamis_filter *filter, int64_t time) {
    window *w = filter->body;
    const uint64_t step = step_of(filter, time), kept = w->shape.kept, from = w->newest_step;
    const bool first = w->newest < 0;
    w->newest = time;
    if (step == from && !first)
        return;
    if (first || step - from >= kept) { /* nothing is young enough */
        w->newest_step = w->purged = step;
        if (!first)
            remove_all(filter);
        return;
    }
    if (step - w->purged > w->shape.codes - kept)
        purge(w);
    w->newest_step = step;
    for (size_t i = 0; i < w->table_count; i++) {
        window_table *t = &w->tables[i];
        for (uint64_t s = from + 1; s <= step; s++) { /* step s takes the count of step s - kept */
            t->live -= *count_at(w, t, s);
            *count_at(w, t, s) = 0;
        }
    }
    drop_empty_tables(filter);
}

/* The latest step that no later record can precede. */
static uint64_t safe_step(const tamis_filter *filter) {
    const window *w = filter->body;
    return step_of(filter, w->newest - (int64_t)filter->plan.lateness);
}

/* ---- adding ---- */

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
 * Entries of other keys with the same fingerprint and lines count as the key's: a lookup cannot tell them
 * apart either, so it gets the same answers without them. */
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
 * - The rest is used to the last line: keys that once fitted into one table must fit again when a replay adds
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
    if (!add_table(filter, wanted))
        return tamis__fail_nomem(err, "filter", (size_t)(wanted * LINE_BYTES));
    return TAMIS_OK;
}

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

/* The false-positive rate of a lookup now.
 *
 * live / line_count is the mean number of entries of a line, and a lookup compares with those of two lines.
 * Each is equal by chance with 2^-fingerprint_bits. Their sum is the rate as long as it is small. */
static double rate_of(const window *w) {
    double rate = 0;
    for (size_t i = 0; i < w->table_count; i++)
        rate += 2 * (double)w->tables[i].live / (double)w->tables[i].line_count;
    return rate / (double)(UINT64_C(1) << w->shape.fingerprint_bits);
}

/* Answers a key and counts it. Sets *counted if an entry was made or changed. */
static tamis_status add_at(tamis_filter *filter, const window_query *q, tamis_answer *answer, bool *counted,
                           tamis_error *err) {
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

/* Steps before its own that belong to the window of every time. Some times have one more. */
static uint64_t whole_steps(const tamis_filter *filter) {
    return filter->plan.window / filter->plan.step;
}

static uint8_t change_of(const tamis_filter *filter, const window_query *q, bool renewed) {
    const window *w = filter->body;
    return (uint8_t)(TAMIS__WINDOW_COUNTED | (renewed ? TAMIS__WINDOW_RENEWED : 0) |
                     (q->steps > whole_steps(filter) ? TAMIS__WINDOW_STEP_MORE : 0) |
                     (w->newest_step - q->step));
}

static tamis_status check_time(int64_t time, tamis_error *err) {
    if (time >= 0 && time <= TAMIS_TIME_MAX)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_RANGE, 0,
                       "time %" PRId64 " ms: not from 1970 to the year 287396; give milliseconds since 1970",
                       time);
}

/* Adds at most BATCH keys, with answers. */
static tamis_status add_batch(tamis_filter *filter, const tamis__window_batch *batch, size_t *done,
                              tamis_error *err) {
    const size_t count = batch->count;
    tamis_answer *answers = batch->answers;
    uint8_t *changes = batch->changes;
    window *w = filter->body;
    window_query queries[BATCH];
    for (size_t i = 0; i < count; i++) {
        queries[i] = query_of(filter, &batch->hashes[i], batch->times[i]);
        if (i < AHEAD)
            prefetch_lines(w, &queries[i]);
    }
    for (*done = 0; *done < count; ++*done) {
        const int64_t time = batch->times[*done];
        bool counted;
        if (changes)
            changes[*done] = 0;
        if (*done + AHEAD < count)
            prefetch_lines(w, &queries[*done + AHEAD]);
        if (check_time(time, err) != TAMIS_OK)
            return TAMIS_E_RANGE;
        if (time > w->newest)
            advance_time(filter, time);
        if (batch->in_any_order ? w->newest_step - queries[*done].step >= w->shape.kept
                                : time < w->newest - (int64_t)filter->plan.lateness) {
            answers[*done] = TAMIS_LATE;
            continue;
        }
        const tamis_status status = add_at(filter, &queries[*done], &answers[*done], &counted, err);
        if (status != TAMIS_OK)
            return status;
        if (changes && counted)
            changes[*done] = change_of(filter, &queries[*done], answers[*done] == TAMIS_PRESENT);
    }
    return TAMIS_OK;
}

/* `call` is the function that was called. */
static tamis_status check_window(const tamis_filter *filter, const char *call, tamis_error *err) {
    if (filter->ops == &tamis__window_ops)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "%s: the filter is not a window; plan one with kind window", call);
}

tamis_status tamis__window_add(tamis_filter *filter, const tamis__window_batch *batch, size_t *done,
                               tamis_error *err) {
    tamis_answer unwanted[BATCH];
    *done = 0;
    tamis_status status = check_window(filter, "tamis_window_add", err);
    if (status == TAMIS_OK)
        status = tamis__hasher_check(filter->hasher, batch->hashes, batch->count, err);
    if (status == TAMIS_OK)
        status = tamis__filter_check_writable(filter, "add", err);
    if (status == TAMIS_OK)
        status = tamis__filter_claim(filter, true, err);
    if (status != TAMIS_OK)
        return status;
    while (*done < batch->count && status == TAMIS_OK) {
        const size_t left = batch->count - *done;
        tamis__window_batch slice = tamis__window_batch_slice(batch, *done, left < BATCH ? left : BATCH);
        size_t added = 0;
        if (!slice.answers)
            slice.answers = unwanted;
        status = add_batch(filter, &slice, &added, err);
        *done += added;
    }
    tamis__filter_unclaim(filter, true);
    return status;
}

tamis_status tamis_window_add(tamis_filter *filter, const tamis_timed_hashes *batch, tamis_answer *answers,
                              size_t *done, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(batch, err);
    TAMIS__NEED_IF(batch->count, batch->hashes, err);
    TAMIS__NEED_IF(batch->count, batch->times, err);
    size_t added = 0;
    const tamis__window_batch keys = {
        .hashes = batch->hashes, .times = batch->times, .count = batch->count, .answers = answers};
    const tamis_status status = tamis__window_add(filter, &keys, &added, err);
    if (done)
        *done = added;
    return status;
}

tamis_status tamis_window_contains(const tamis_filter *filter, const tamis_timed_hashes *batch,
                                   tamis_answer *answers, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(batch, err);
    TAMIS__NEED_IF(batch->count, batch->hashes, err);
    TAMIS__NEED_IF(batch->count, batch->times, err);
    TAMIS__NEED_IF(batch->count, answers, err);
    const int64_t *times = batch->times;
    const size_t count = batch->count;
    tamis_status status = check_window(filter, "tamis_window_contains", err);
    if (status == TAMIS_OK)
        status = tamis__hasher_check(filter->hasher, batch->hashes, count, err);
    if (status == TAMIS_OK) /* a file is only looked up with its checks: tamis_filter_contains_hashes */
        status = tamis__filter_check_writable(filter, "tamis_window_contains", err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        status = check_time(times[i], err);
    if (status == TAMIS_OK)
        status = tamis__filter_claim(filter, false, err);
    if (status != TAMIS_OK)
        return status;
    look_up(filter, batch, answers);
    const int64_t earliest = ((const window *)filter->body)->newest - (int64_t)filter->plan.lateness;
    for (size_t i = 0; i < count; i++)
        if (times[i] < earliest)
            answers[i] = TAMIS_LATE;
    tamis__filter_unclaim(filter, false);
    return TAMIS_OK;
}

/* ---- repeating what a log has ---- */

/* True if a key could get this change now.
 *
 * A log is a file, and its bytes may be anything. So a change is not trusted:
 *
 *     a step before step 0              would wrap around        back <= newest_step
 *     a step that is not kept           an entry that is dead    not before safe_step, which is always kept
 *     renewed, in a plan without it     counts that are wrong    plan.refresh
 *     unknown bits                      a later version          TAMIS__WINDOW_UNUSED
 *
 * The caller sees by *done which change the window refused, and reports the log as damaged. */
static bool is_change(const tamis_filter *filter, uint8_t change) {
    const window *w = filter->body;
    const uint64_t back = change & TAMIS__WINDOW_STEPS_BACK;
    return change & TAMIS__WINDOW_COUNTED && !(change & TAMIS__WINDOW_UNUSED) && w->newest >= 0 &&
           back <= w->newest_step && w->newest_step - back >= safe_step(filter) &&
           (filter->plan.refresh || !(change & TAMIS__WINDOW_RENEWED));
}

static window_query query_of_change(const tamis_filter *filter, const tamis_hash *hash, uint8_t change) {
    const window *w = filter->body;
    return (window_query){fingerprint_of(w, hash) << w->shape.code_bits, hash->word[1],
                          w->newest_step - (change & TAMIS__WINDOW_STEPS_BACK),
                          whole_steps(filter) + (change & TAMIS__WINDOW_STEP_MORE ? 1 : 0)};
}

tamis_status tamis__window_repeat(tamis_filter *filter, const tamis__window_batch *batch, size_t *done,
                                  tamis_error *err) {
    const tamis_hash *hashes = batch->hashes;
    const uint8_t *changes = batch->changes;
    const size_t count = batch->count;
    const window *w = filter->body;
    for (size_t i = 0; i < count && i < AHEAD; i++) {
        const window_query next = query_of_change(filter, &hashes[i], changes[i]);
        prefetch_lines(w, &next);
    }
    for (*done = 0; *done < count; ++*done) {
        const uint8_t change = changes[*done];
        const window_query q = query_of_change(filter, &hashes[*done], change);
        tamis_answer answer;
        bool counted;
        if (*done + AHEAD < count) {
            const window_query next = query_of_change(filter, &hashes[*done + AHEAD], changes[*done + AHEAD]);
            prefetch_lines(w, &next);
        }
        if (!is_change(filter, change))
            return TAMIS_OK;
        const tamis_status status = add_at(filter, &q, &answer, &counted, err);
        if (status != TAMIS_OK)
            return status;
        if (!counted || (answer == TAMIS_PRESENT) != (bool)(change & TAMIS__WINDOW_RENEWED))
            return TAMIS_OK;
    }
    return TAMIS_OK;
}

void tamis__window_set_newest(tamis_filter *filter, int64_t time) {
    if (time > tamis_window_newest(filter))
        advance_time(filter, time);
}

int64_t tamis__window_steps_end(const tamis_filter *filter, int64_t newest) {
    const int64_t step = (int64_t)filter->plan.step, lateness = (int64_t)filter->plan.lateness;
    if (newest < 0)
        return 0;
    const int64_t end = (int64_t)(step_of(filter, newest) + 1) * step;
    const int64_t safe_end = (int64_t)(step_of(filter, newest - lateness) + 1) * step + lateness;
    return end < safe_end ? end : safe_end;
}

static tamis_status add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done, tamis_error *err) {
    (void)filter, (void)batch;
    *done = 0;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "add: the filter is a window, whose keys need times; add them with times");
}

int64_t tamis_window_newest(const tamis_filter *filter) {
    return filter && filter->ops == &tamis__window_ops ? ((const window *)filter->body)->newest : -1;
}

uint64_t tamis_window_entries(const tamis_filter *filter) {
    uint64_t entries = 0;
    if (!filter || filter->ops != &tamis__window_ops)
        return 0;
    const window *w = filter->body;
    for (size_t i = 0; i < w->table_count; i++)
        entries += w->tables[i].live;
    return entries;
}

/* ---- the handle's operations ---- */

tamis_status tamis__window_create_empty(tamis_filter *filter, window **created, tamis_error *err) {
    window *w = tamis__alloc(&filter->allocator, sizeof *w, _Alignof(window));
    if (!w)
        return tamis__fail_nomem(err, "filter", sizeof *w);
    filter->body = w;
    w->shape = tamis__window_shape_of(&filter->plan);
    w->code_mask = (UINT32_C(1) << w->shape.code_bits) - 1;
    w->newest = -1;
    *created = w;
    return TAMIS_OK;
}

static tamis_status create(tamis_filter *filter, tamis_error *err) {
    window *w;
    const tamis_status status = tamis__window_create_empty(filter, &w, err);
    if (status != TAMIS_OK || add_table(filter, filter->plan.lines))
        return status;
    return tamis__fail_nomem(err, "filter", (size_t)filter->plan.lines * LINE_BYTES);
}

static void destroy(tamis_filter *filter) {
    window *w = filter->body;
    if (!w)
        return;
    for (size_t i = 0; i < w->table_count; i++)
        release_table(filter, &w->tables[i]);
    tamis__free(&filter->allocator, w, sizeof *w);
    filter->body = NULL;
}

static void clear(tamis_filter *filter) {
    window *w = filter->body;
    remove_all(filter);
    w->newest = -1;
    w->newest_step = w->purged = 0;
    w->false_present = 0;
}

static tamis_status copy(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    window *mine = to->body;
    const window *other = from->body;
    release_table(to, &mine->tables[0]);
    mine->table_count = 0;
    for (size_t i = 0; i < other->table_count; i++) {
        const window_table *theirs = &other->tables[i];
        const size_t bytes = (size_t)theirs->line_count * LINE_BYTES;
        if (!add_table(to, theirs->line_count))
            return tamis__fail_nomem(err, "filter", bytes);
        memcpy(mine->tables[i].lines, theirs->lines, bytes);
        memcpy(mine->tables[i].counts, theirs->counts, counts_bytes(mine));
        mine->tables[i].live = theirs->live;
    }
    mine->newest = other->newest;
    mine->newest_step = other->newest_step;
    mine->purged = other->purged;
    mine->false_present = other->false_present;
    return TAMIS_OK;
}

static void estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const window *w = filter->body;
    info->fpr_live = rate_of(w);
    info->false_present = w->false_present;
    info->cardinality = (double)tamis_window_entries(filter);
}

const struct tamis__filter_ops tamis__window_ops = {
    .create = create,
    .destroy = destroy,
    .add = add,
    .contains = contains,
    .estimate = estimate,
    .clear = clear,
    .copy = copy,
    .body_extent = tamis__window_body_extent,
    .restore = tamis__window_restore,
    .touch = tamis__window_touch,
};
