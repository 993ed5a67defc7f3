/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Batches of keys that are added to a window, and the same batches again from a log.
 *
 *     key of a batch     0 1 2 ... 39    40 41 ...
 *     its lines          fetched first   fetched before key 0 is added, 1, ...
 *
 *     time of a key      before newest - lateness     up to newest     later
 *     what happens       TAMIS_LATE                   it is added      the window advances, it is added
 *
 * Keys in any order (tamis__window_batch). State records of Kafka have lost the order of their keys. There a
 * key that is older than the lateness is counted too, unless its step is not kept any more. Later lookups are
 * right all the same: they are for times within the lateness of the newest one. They find
 * the latest of a key's entries in steps up to the safe one (window_insert.c), in whatever order these came.
 *
 * Replaying. What a key did to a window follows from its hash, its step and the newest step at that moment. A
 * state logs these (change_of), and tamis__window_repeat does the same again. It also compares. A key that
 * was absent in the run and is present now shows that log and window do not belong together
 * (docs/DURABILITY.md, "Windows").
 *
 * Invariant: answers depend on the order of keys and times alone, not on batches. So a state can replay them.
 */
#include "filter/window/window_find.h"

enum {
    BATCH = 256, /* keys that are added together */
    AHEAD = 40   /* keys whose lines are fetched before they are needed */
};

/* ---- adding ---- */

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
        if (tamis__window_check_time(time, err) != TAMIS_OK)
            return TAMIS_E_RANGE;
        if (time > w->newest)
            tamis__window_advance(filter, time);
        if (batch->in_any_order ? w->newest_step - queries[*done].step >= w->shape.kept
                                : time < w->newest - (int64_t)filter->plan.lateness) {
            answers[*done] = TAMIS_LATE;
            continue;
        }
        const tamis_status status =
            tamis__window_add_key(filter, &queries[*done], &answers[*done], &counted, err);
        if (status != TAMIS_OK)
            return status;
        if (changes && counted)
            changes[*done] = change_of(filter, &queries[*done], answers[*done] == TAMIS_PRESENT);
    }
    return TAMIS_OK;
}

tamis_status tamis__window_add(tamis_filter *filter, const tamis__window_batch *batch, size_t *done,
                               tamis_error *err) {
    tamis_answer unwanted[BATCH];
    *done = 0;
    tamis_status status = tamis__window_check(filter, "tamis_window_add", err);
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
        const tamis_status status = tamis__window_add_key(filter, &q, &answer, &counted, err);
        if (status != TAMIS_OK)
            return status;
        if (!counted || (answer == TAMIS_PRESENT) != (bool)(change & TAMIS__WINDOW_RENEWED))
            return TAMIS_OK;
    }
    return TAMIS_OK;
}
