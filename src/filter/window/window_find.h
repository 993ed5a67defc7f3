/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_WINDOW_FIND_H
#define TAMIS_FILTER_WINDOW_FIND_H

/* Finding the entry of a key in the tables of a window: for lookups (window.c) and adds (window_insert.c). */
#include "filter/window/window_table.h"

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
static inline int find_in_line(const window *w, const uint8_t *line, const window_query *q) {
    for (uint32_t found = matching_heads(w, line, q->slot); found; found &= found - 1) {
        const uint32_t i = (uint32_t)__builtin_ctz(found);
        const uint64_t slot = slot_at(w, line, i);
        const uint32_t code = (uint32_t)slot & w->code_mask;
        /* Its age at the step of the query. It wraps around to a huge number if the entry was counted after
         * that step. Ages count from the newest step, where codes are unique. A query may be for a later one.
         */
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

static inline bool find_entry(const window *w, const window_query *q, found_entry *found) {
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

#endif
