/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The tables of a window, and how they age as its newest time moves.
 *
 * Growth. The window has several tables, each larger than the one before. New entries go into the last one;
 * lookups search all. A table whose entries are all too old is dropped. So the window grows without its keys,
 * and one window later there is one table again.
 *
 *     tables   | 32 KiB | 512 KiB | 8 MiB | 32 MiB | 128 MiB |  <- new entries
 *                older, only searched               older ones go as their steps end
 *
 * Each table costs a lookup two cache lines and adds to the rate, so the plan allows 16 of them. Small tables
 * are followed by one of 16 times the size. Those from 8 MiB on are followed by one of 4 times, those from 64
 * MiB on by one twice as large. So 16 tables have up to 512 GiB, and a large table does not ask for far more
 * than is needed. Under a memory limit the last table takes what is left.
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
 * Invariants:
 * 1. counts[step % kept] of a table is the number of its entries of that step; `live` is their sum.
 * 2. A table without entries is dropped, unless it is the last one.
 */
#include "base/system.h"
#include "filter/window/window_table.h"

/* ---- tables ---- */

bool tamis__window_add_table(tamis_filter *filter, uint64_t line_count) {
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

void tamis__window_release_table(tamis_filter *filter, window_table *t) {
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
            tamis__window_release_table(filter, &w->tables[i]);
        else
            w->tables[left++] = w->tables[i];
    }
    w->table_count = left;
}

/* ---- time ---- */

/* Sets every dead entry of all tables to 0.
 *
 * Call it before the newest step moves. Codes are unique for the old step only. For the new one, an entry
 * that is old enough would have the code of a young one, and be kept. Cost: all lines once. A day in steps
 * of an hour has 26 kept steps and 63 codes, so a purge comes after 63 - 26 steps, every one and a half
 * days. */
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

void tamis_window_purge(tamis_filter *filter) {
    if (filter && filter->ops == &tamis__window_ops && !((const window *)filter->body)->borrowed)
        purge(filter->body);
}

void tamis__window_remove_all(tamis_filter *filter) {
    window *w = filter->body;
    for (size_t i = 0; i < w->table_count; i++) {
        w->tables[i].live = 0;
        memset(w->tables[i].counts, 0, counts_bytes(w));
    }
    drop_empty_tables(filter);
    memset(w->tables[0].lines, 0, (size_t)w->tables[0].line_count * LINE_BYTES);
}

void tamis__window_advance(tamis_filter *filter, int64_t time) {
    window *w = filter->body;
    const uint64_t step = step_of(filter, time), kept = w->shape.kept, from = w->newest_step;
    const bool first = w->newest < 0;
    w->newest = time;
    if (step == from && !first)
        return;
    if (first || step - from >= kept) { /* nothing is young enough */
        w->newest_step = w->purged = step;
        if (!first)
            tamis__window_remove_all(filter);
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

void tamis__window_set_newest(tamis_filter *filter, int64_t time) {
    if (time > tamis_window_newest(filter))
        tamis__window_advance(filter, time);
}

int64_t tamis__window_steps_end(const tamis_filter *filter, int64_t newest) {
    const int64_t step = (int64_t)filter->plan.step, lateness = (int64_t)filter->plan.lateness;
    if (newest < 0)
        return 0;
    const int64_t end = (int64_t)(step_of(filter, newest) + 1) * step;
    const int64_t safe_end = (int64_t)(step_of(filter, newest - lateness) + 1) * step + lateness;
    return end < safe_end ? end : safe_end;
}
