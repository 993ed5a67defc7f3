/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds fingerprint and exact: a table of hash prefixes that keeps its order, so that it can grow
 * without its keys.
 *
 * Where an entry lies, and what holds of every table: fingerprint_table.h. How it grows: fingerprint_grow.c.
 *
 * Measured by ./dev bench growth: bits a key and rate; by ./dev bench memory: ns a key.
 */
#include "base/system.h"
#include "filter/fingerprint_put.h"

/* Has the table taken what its plan allows? */
static bool spent(const table *t, const tamis_filter *filter) {
    if (t->grows)
        return t->covered > filter->plan.fpr;
    return filter->added >= filter->plan.capacity;
}

/* Adds a key that is not there and finds no room in the table as it is. */
static tamis_status add_fresh(table *t, tamis_filter *filter, const tamis_hash *hash, tamis_error *err) {
    if (spent(t, filter))
        return tamis__filter_full(filter, t->grows ? TAMIS_FULL_RATE : TAMIS_FULL_CAPACITY, err);
    double rate = t->covered;
    for (;;) {
        place at = place_of(t, hash);
        double before = at.in->covered;
        bool done =
            at.in->used < at.in->most && tamis__fingerprint_put(t, at.in, at.line, (entry){at.rest, 128});
        tamis_status status = TAMIS_OK;
        if (!done)
            status = t->grows ? tamis__fingerprint_grow(t, filter, at.in, err)
                              : tamis__filter_full(filter, TAMIS_FULL_CROWDED, err);
        t->covered += (at.in->covered - before) * t->partition_share;
        if (status != TAMIS_OK)
            return status;
        if (done) {
            t->false_fresh += rate;
            return TAMIS_OK;
        }
    }
}

static tamis_status add(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers,
                        size_t *done, tamis_error *err) {
    table *t = filter->body;
    const tamis_plan *plan = &filter->plan;
    for (*done = 0;; ++*done) {
        uint64_t most = t->grows ? UINT64_MAX : plan->capacity;
        uint64_t keys = filter->added < most ? most - filter->added : 0;
        tamis__table_room room = {keys, t->grows ? plan->fpr : 1};
        *done += filter->kernels->tables->add(t, hashes + *done, count - *done, answers + *done, &room);
        filter->added += keys - room.keys;
        if (*done == count)
            return TAMIS_OK;
        tamis_status status = add_fresh(t, filter, &hashes[*done], err);
        if (status != TAMIS_OK)
            return status;
        answers[*done] = TAMIS_FRESH;
        filter->added++;
    }
}

static void contains(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                     tamis_answer *answers) {
    filter->kernels->tables->contains(filter->body, hashes, count, answers);
}

static void estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const table *t = filter->body;
    info->fpr_live = t->covered;
    info->false_fresh = t->false_fresh;
    info->cardinality = (double)filter->added + t->false_fresh;
}

static void release_partitions(tamis_filter *filter, table *t) {
    for (uint32_t i = 0; i < partition_count(t) && !t->borrowed; i++)
        tamis__fingerprint_release(filter, &t->partitions[i]);
}

/* Fills the empty row of partitions with their first lines. */
static tamis_status first_partitions(tamis_filter *filter, table *t, tamis_error *err) {
    for (uint32_t i = 0; i < partition_count(t); i++) {
        uint64_t count = t->grows ? tamis__fingerprint_first_lines(i) : filter->plan.lines;
        if (!tamis__fingerprint_make(t, filter, &t->partitions[i], count))
            return tamis__fail_nomem(err, "filter", count * LINE_BYTES);
    }
    return TAMIS_OK;
}

static void destroy(tamis_filter *filter) {
    table *t = filter->body;
    if (!t)
        return;
    if (t->partitions) {
        release_partitions(filter, t);
        tamis__filter_release(filter, t->partitions, partition_count(t) * sizeof(partition));
    }
    tamis__free(&filter->allocator, t, sizeof *t);
    filter->body = NULL;
}

tamis_status tamis__fingerprint_table(tamis_filter *filter, table **made, tamis_error *err) {
    const tamis_plan *plan = &filter->plan;
    table *t = tamis__alloc(&filter->allocator, sizeof *t, _Alignof(table));
    if (!t)
        return tamis__fail_nomem(err, "filter", sizeof *t);
    filter->body = t;
    t->geometry = line_geometry_of(plan->slot_bits, plan->home_bits);
    t->grows = plan->capacity == 0;
    t->load = tamis__line_shape_of(plan->slot_bits, t->grows)->load;
    t->partition_bits = t->grows ? TAMIS__FINGERPRINT_PARTITION_BITS : 0;
    t->partition_share = 1.0 / partition_count(t);
    /* Invariant 4: a guest in the smallest first partition knows log2(lines) + slot_bits - 1 bits. */
    uint32_t least = TAMIS__FINGERPRINT_FIRST_LOG2 + plan->slot_bits - 1;
    t->position_bits = least < POSITION_MAX ? least : POSITION_MAX;
    /* Those bits reach past the line number to what names bucket and guest line, so that every entry can be
     * found; and lines of so many first bits are of one size, to 2^-12 at the worst. */
    uint32_t limit_log2 = t->position_bits - t->geometry.home_bits - GUEST_BITS;
    t->line_limit = UINT64_C(1) << (limit_log2 < LINES_LOG2_MAX ? limit_log2 : LINES_LOG2_MAX);
    for (uint64_t search = t->geometry.slots; search <= ROOM_SEARCH; search *= t->geometry.slots)
        t->room_depth++;
    t->weight[0] = 1;
    for (int i = 1; i <= 128; i++)
        t->weight[i] = t->weight[i - 1] / 2;
    t->partitions = tamis__filter_alloc(filter, partition_count(t) * sizeof(partition));
    *made = t;
    return t->partitions ? TAMIS_OK
                         : tamis__fail_nomem(err, "filter", partition_count(t) * sizeof(partition));
}

static tamis_status create(tamis_filter *filter, tamis_error *err) {
    table *t = NULL;
    tamis_status status = tamis__fingerprint_table(filter, &t, err);
    if (status == TAMIS_OK)
        status = first_partitions(filter, t, err);
    if (status != TAMIS_OK)
        destroy(filter);
    return status;
}

static void clear(tamis_filter *filter) {
    table *t = filter->body;
    for (uint32_t i = 0; i < partition_count(t); i++) {
        partition *in = &t->partitions[i];
        memset(in->lines, 0, (size_t)in->count * LINE_BYTES);
        in->used = 0;
        in->covered = 0;
    }
    t->covered = 0;
    t->false_fresh = 0;
}

static tamis_status copy(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    table *mine = to->body;
    const table *other = from->body;
    for (uint32_t i = 0; i < partition_count(mine); i++) {
        partition *in = &mine->partitions[i];
        const partition *theirs = &other->partitions[i];
        if (in->count != theirs->count) { /* it has grown */
            tamis__fingerprint_release(to, in);
            if (!tamis__fingerprint_make(mine, to, in, theirs->count))
                return tamis__fail_nomem(err, "filter", theirs->count * LINE_BYTES);
        }
        uint8_t *lines = in->lines;
        tamis__advise_large(lines, (size_t)theirs->count * LINE_BYTES);
        memcpy(lines, theirs->lines, (size_t)theirs->count * LINE_BYTES);
        *in = *theirs;
        in->lines = lines;
    }
    mine->growths = other->growths;
    mine->covered = other->covered;
    mine->false_fresh = other->false_fresh;
    return TAMIS_OK;
}

const struct tamis__filter_ops tamis__fingerprint_ops = {
    .create = create,
    .destroy = destroy,
    .add = add,
    .contains = contains,
    .estimate = estimate,
    .clear = clear,
    .copy = copy,
    .part = tamis__fingerprint_part,
    .restore = tamis__fingerprint_restore,
    .touch = tamis__fingerprint_touch,
    .concurrent = &tamis__fingerprint_concurrent,
};
