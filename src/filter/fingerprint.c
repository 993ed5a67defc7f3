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

enum {
    BATCH = 64, /* keys located and prefetched together */
    AHEAD = 8   /* keys whose guest lines are prefetched before their turn */
};

static INLINED bool find(const line_geometry *g, const place *at) {
    const uint8_t *line = line_at(at->in, at->line);
    uint64_t ends = line_ends(g, line);
    entry wanted = {at->rest, 128};
    if (line_find(g, line, ends_bucket(ends, home_bucket(g, at->rest)), slot_value(g, wanted, g->home_bits)))
        return true;
    if (!ends_full(g, ends))
        return false;
    const uint8_t *guest = line_at(at->in, guest_line(g, at->in, at->line, at->rest));
    uint64_t guest_ends = line_ends(g, guest);
    return line_find(g, guest, ends_bucket(guest_ends, g->guest_bucket), slot_value(g, wanted, 0));
}

/* Has the table taken what its plan allows? */
static bool spent(const table *t, const tamis_filter *filter) {
    if (t->grows)
        return t->covered > filter->plan.fpr;
    return filter->added >= filter->plan.capacity;
}

static bool wants_growth(const table *t, const partition *in) {
    return t->grows && (double)in->used >= t->load * (double)(in->count * t->geometry.slots);
}

/* Adds a key that is not there. */
static tamis_status add_fresh(table *t, tamis_filter *filter, const tamis_hash *hash, tamis_error *err) {
    if (spent(t, filter))
        return tamis__filter_full(filter, t->grows ? TAMIS_FULL_RATE : TAMIS_FULL_CAPACITY, err);
    double rate = t->covered;
    for (;;) {
        place at = place_of(t, hash);
        double before = at.in->covered;
        bool done = !wants_growth(t, at.in);
        if (done)
            WITH_GEOMETRY(t, done = put(t, g, at.in, at.line, (entry){at.rest, 128}));
        tamis_status status = TAMIS_OK;
        if (!done)
            status = t->grows ? tamis__fingerprint_grow(t, filter, at.in, err)
                              : tamis__filter_full(filter, TAMIS_FULL_CROWDED, err);
        t->covered += (at.in->covered - before) / partition_count(t);
        if (status != TAMIS_OK)
            return status;
        if (done) {
            t->false_fresh += rate;
            return TAMIS_OK;
        }
    }
}

static void locate(const table *t, const tamis_hash *hashes, size_t count, place *places) {
    for (size_t i = 0; i < count; i++) {
        places[i] = place_of(t, &hashes[i]);
        tamis__prefetch(line_at(places[i].in, places[i].line));
    }
}

/* Once the home line of a place is in cache it tells whether the guest line will be read. */
static INLINED void prefetch_guest(const line_geometry *g, const place *at) {
    uint64_t guest = guest_line(g, at->in, at->line, at->rest);
    uint64_t full = -(uint64_t)is_full(g, at->in, at->line); /* no branch: it would be guessed */
    tamis__prefetch(line_at(at->in, (guest & full) | (at->line & ~full)));
}

/* Finds the places from..count-1 until one is absent; returns its number, or count. */
static INLINED size_t find_seen(const line_geometry *g, const place *places, size_t from, size_t count) {
    for (size_t i = from; i < count; i++) {
        if (i + AHEAD < count)
            prefetch_guest(g, &places[i + AHEAD]);
        if (!find(g, &places[i]))
            return i;
    }
    return count;
}

/* At most BATCH keys. *done counts from 0. */
static tamis_status add_batch(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                              tamis_answer *answers, size_t *done, tamis_error *err) {
    table *t = filter->body;
    place places[BATCH];
    locate(t, hashes, count, places);
    uint64_t growths = t->growths;
    for (*done = 0; *done < count; ++*done) {
        size_t fresh;
        WITH_GEOMETRY(t, fresh = find_seen(g, places, *done, count));
        memset(answers + *done, TAMIS_SEEN, fresh - *done);
        *done = fresh;
        if (fresh == count)
            break;
        tamis_status status = add_fresh(t, filter, &hashes[fresh], err);
        if (status != TAMIS_OK)
            return status;
        answers[fresh] = TAMIS_FRESH;
        filter->added++;
        if (growths != t->growths) {
            growths = t->growths;
            locate(t, hashes + fresh, count - fresh, places + fresh);
        }
    }
    return TAMIS_OK;
}

static tamis_status add(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers,
                        size_t *done, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    size_t from = 0, in = 0;
    for (; from < count && status == TAMIS_OK; from += in) {
        size_t some = count - from < BATCH ? count - from : BATCH;
        status = add_batch(filter, hashes + from, some, answers + from, &in, err);
    }
    *done = from;
    return status;
}

static INLINED void find_each(const line_geometry *g, const place *places, size_t count,
                              tamis_answer *answers) {
    for (size_t i = 0; i < AHEAD && i < count; i++)
        prefetch_guest(g, &places[i]);
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            prefetch_guest(g, &places[i + AHEAD]);
        answers[i] = find(g, &places[i]) ? TAMIS_SEEN : TAMIS_FRESH;
    }
}

static void contains(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                     tamis_answer *answers) {
    const table *t = filter->body;
    place places[BATCH];
    for (size_t from = 0; from < count; from += BATCH) {
        size_t some = count - from < BATCH ? count - from : BATCH;
        locate(t, hashes + from, some, places);
        WITH_GEOMETRY(t, find_each(g, places, some, answers + from));
    }
}

static void fetch(const tamis_filter *filter, const tamis_hash *hashes, size_t count) {
    const table *t = filter->body;
    for (size_t i = 0; i < count; i++) {
        place at = place_of(t, &hashes[i]);
        tamis__prefetch(line_at(at.in, at.line));
    }
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
    .fetch = fetch,
    .estimate = estimate,
    .clear = clear,
    .copy = copy,
    .part = tamis__fingerprint_part,
    .restore = tamis__fingerprint_restore,
    .touch = tamis__fingerprint_touch,
};
