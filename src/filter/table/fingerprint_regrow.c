/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Growth of a table with a capacity as a whole, and union. Both put the entries of one or two tables into a
 * table of another shape (fingerprint_convert.c; fingerprint_double.c if that has twice the lines).
 *
 * Growth. A full table with a capacity gets twice its lines. Entries keep their known bits, so the rate c of
 * the old entries stays. New entries add the rate q of the new line shape. The next size has the narrowest
 * slots with c + q <= p, so the rate p holds after any number of doublings.
 *
 * A table that began small (tamis_plan_start_small) first grows to its planned size. Then slots become
 * narrower; old entries know more than fits, and lose no more than a new entry has not got.
 *
 *               start_replace       entries are stored       finish_replace
 *     filter      empty table    -->  new table           -->  new table
 *     old_table   old table           old table, as it was     freed
 *                                         |
 *                                         `-- no slot: undo_replace. The filter has the old table again
 *
 * Failure. start_replace puts an empty table into the filter and keeps the old one. If an entry finds no
 * slot, undo_replace restores the old table, and the caller tries again with twice the keys (TRIES). If
 * all is stored, finish_replace adds up the statistics, frees the old table and counts `remade`, which
 * restarts copies in progress.
 *
 * Why all at once and not one partition at a time: such a table is one block of memory that was sized for its
 * keys. So growth is the exception. Why ranges and not keys: the keys are gone, and a range loses nothing.
 *
 * The old and the new table are in memory together; both count against plan.memory_limit (start_replace).
 *
 * Invariant: growth, and a union that needs a new table, change the filter only when the new table is
 * complete. A union of equal shapes is made in place: if it fails, some keys are added and counted.
 *
 * Format source: docs/FORMAT.md, "Growth and union". Formulas: docs/MATH.md, "Growth as a whole".
 */
#include "filter/table/fingerprint_table.h"

enum {
    MIN_GROWN_SLOT_BITS = 20, /* min. bits of a slot after growth, see plan_next */
    TRIES = 4,                /* sizes tried, each twice the last, if there are more entries than keys */
    MAX_DOUBLINGS = 40        /* 2^40 lines exceed any memory */
};

/* If a union uses more than this share of the promised rate, it promises a larger rate. The rest is for
 * keys added later. */
#define RATE_USED (63.0 / 64)

/* ---- replacing a table ---- */

/* The old table and plan of a filter, until the new table is complete. */
typedef struct old_table {
    tamis_plan plan;
    void *body;
} old_table;

static void destroy_body(tamis_filter *filter, void *body) {
    void *mine = filter->body;
    filter->body = body;
    filter->ops->release(filter);
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
    tamis_status status = filter->ops->init(filter, err);
    if (status == TAMIS_OK)
        return TAMIS_OK;
    filter->plan = old->plan;
    filter->body = old->body;
    return status;
}

static void undo_replace(tamis_filter *filter, const old_table *old) {
    filter->ops->release(filter);
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
    tamis_status status = start_replace(filter, plan, &old, err);
    *fits = true;
    if (status != TAMIS_OK)
        return status;
    status = tamis__fingerprint_refill(filter, old.body, err);
    if (status == TAMIS_OK) {
        finish_replace(filter, &old);
        update_capacity(filter);
        return TAMIS_OK;
    }
    undo_replace(filter, &old);
    if (status == TAMIS_E_MISMATCH) /* an entry is too broad for so many lines */
        return tamis__filter_full(filter, TAMIS_FULL_LINES, err);
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
 * that most entries stay exact. If the ratio is a power of two it is the larger table, else the table with
 * more keys. Entries of growing tables stay exact if the lines are a power of two. */
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
    ((table *)into->body)->checks_rate = plan->capacity > 0 && plan->kind != TAMIS_KIND_EXACT;
}

static void add_counts(tamis_filter *into, const tamis_filter *from, uint64_t new_entries) {
    tamis_filter_info info = TAMIS_FILTER_INFO_INIT;
    table *t = into->body;
    from->ops->estimate(from, &info);
    t->false_present += info.false_present;
    t->safe_added = 0;
    into->added += new_entries;
}

/* Replaces the table by one of `plan` with the entries of both. If it needs more lines, *fits is false and
 * nothing has changed. */
static tamis_status union_as(tamis_filter *into, const tamis_filter *from, const tamis_plan *plan, bool *fits,
                             tamis_error *err) {
    old_table old;
    uint64_t new_entries = 0;
    tamis_status status = start_replace(into, plan, &old, err);
    *fits = true;
    if (status != TAMIS_OK)
        return status;
    status = tamis__fingerprint_refill(into, old.body, err);
    if (status == TAMIS_OK)
        status = tamis__fingerprint_put_table(into, from->body, UINT64_MAX, &new_entries, err);
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
    return tamis__fingerprint_fail_too_broad(err);
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
    tamis_status status = tamis__fingerprint_put_table(into, from->body, remaining, &new_entries, err);
    if (status == TAMIS_OK) {
        add_counts(into, from, new_entries);
        update_rate(into, &mine, &from->plan);
        return TAMIS_OK;
    }
    into->added += new_entries;
    if (status == TAMIS_E_FULL && mine.capacity)
        status = union_as_new(into, from, err);
    if (status != TAMIS_OK) { /* some keys were added and raise the rate */
        ((table *)into->body)->safe_added = 0;
        update_rate(into, &mine, &from->plan);
    }
    return status;
}
