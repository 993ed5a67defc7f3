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
 * If the window is not a multiple of the step, some times have one step more than others.
 *
 * Adding a key of time t, after the newest time has moved to t if t is later:
 *
 *     t is earlier than the newest time less the lateness?  --yes--> late: not counted
 *       | no
 *     an entry of the steps of its window, in any table?    --yes--> present; with refresh, counted again
 *       | no
 *     insert an entry of the step of t into the last table  -------> absent
 *       | no slot, or the load is 0.85
 *     begin a larger table, insert there  -------------------------> absent; or full, by rate or by memory
 *
 * The files: window_table.h has the layout of a line and the two lines of a key, window_find.h the search in
 * them. window_insert.c counts a key, window_add.c whole batches of keys, and window_time.c lets the tables
 * age. This file has lookups and the operations of the handle.
 *
 * Measured (docs/PERFORMANCE.md, ./dev bench window) with 5 million JSON records and a state. A run with a
 * window of 24 steps takes 1.40 and 1.48 times as long as without. Lines of 50 bytes without a state take
 * 1.86 and 2.13 times as long, or 1.23 and 1.47 if the number of keys is expected. A key has two lines
 * instead of one, and a growing window has several tables.
 *
 * Invariants:
 * 1. No false negative: an entry of a kept step is never lost. It is overwritten only by one with the same
 *    fingerprint and lines that answers every later lookup alike (window_insert.c).
 * 2. Answers depend on the order of keys and times alone: not on batches, on purges, or on saving and
 *    opening. So a state can replay them.
 *
 * References: partial-key moves are those of cuckoo filters (Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo
 * Filter", 2014). ./dev bench window measures it.
 */
#include <inttypes.h>

#include "base/system.h"
#include "filter/window/window_find.h"

enum { BATCH = 256 /* keys that are looked up together */ };

/* ---- checks ---- */

tamis_status tamis__window_check(const tamis_filter *filter, const char *call, tamis_error *err) {
    if (filter->ops == &tamis__window_ops)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "%s: the filter is not a window; plan one with kind window", call);
}

tamis_status tamis__window_check_time(int64_t time, tamis_error *err) {
    if (time >= 0 && time <= TAMIS_TIME_MAX)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_RANGE, 0,
                       "time %" PRId64 " ms: not from 1970 to the year 287396; give milliseconds since 1970",
                       time);
}

/* ---- looking up ---- */

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

tamis_status tamis_window_contains(const tamis_filter *filter, const tamis_timed_hashes *batch,
                                   tamis_answer *answers, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED(batch, err);
    TAMIS__NEED_IF(batch->count, batch->hashes, err);
    TAMIS__NEED_IF(batch->count, batch->times, err);
    TAMIS__NEED_IF(batch->count, answers, err);
    const int64_t *times = batch->times;
    const size_t count = batch->count;
    tamis_status status = tamis__window_check(filter, "tamis_window_contains", err);
    if (status == TAMIS_OK)
        status = tamis__hasher_check(filter->hasher, batch->hashes, count, err);
    if (status == TAMIS_OK) /* a file is only looked up with its checks: tamis_filter_contains_hashes */
        status = tamis__filter_check_writable(filter, "tamis_window_contains", err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        status = tamis__window_check_time(times[i], err);
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

static tamis_status add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done, tamis_error *err) {
    (void)filter, (void)batch;
    *done = 0;
    return tamis__fail(err, TAMIS_E_UNSUPPORTED, 0,
                       "add: the filter is a window, whose keys need times; add them with times");
}

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

static tamis_status init_body(tamis_filter *filter, tamis_error *err) {
    window *w;
    const tamis_status status = tamis__window_create_empty(filter, &w, err);
    if (status != TAMIS_OK || tamis__window_add_table(filter, filter->plan.lines))
        return status;
    return tamis__fail_nomem(err, "filter", (size_t)filter->plan.lines * LINE_BYTES);
}

static void release_body(tamis_filter *filter) {
    window *w = filter->body;
    if (!w)
        return;
    for (size_t i = 0; i < w->table_count; i++)
        tamis__window_release_table(filter, &w->tables[i]);
    tamis__free(&filter->allocator, w, sizeof *w);
    filter->body = NULL;
}

static void clear(tamis_filter *filter) {
    window *w = filter->body;
    tamis__window_remove_all(filter);
    w->newest = -1;
    w->newest_step = w->purged = 0;
    w->false_present = 0;
}

static tamis_status copy(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    window *mine = to->body;
    const window *other = from->body;
    tamis__window_release_table(to, &mine->tables[0]);
    mine->table_count = 0;
    for (size_t i = 0; i < other->table_count; i++) {
        const window_table *theirs = &other->tables[i];
        const size_t bytes = (size_t)theirs->line_count * LINE_BYTES;
        if (!tamis__window_add_table(to, theirs->line_count))
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
    .init = init_body,
    .release = release_body,
    .add = add,
    .contains = contains,
    .estimate = estimate,
    .clear = clear,
    .copy = copy,
    .body_extent = tamis__window_body_extent,
    .restore = tamis__window_restore,
    .touch = tamis__window_touch,
};
