/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds fingerprint and exact: room for one more entry, in lines that are full or in a partition that is.
 *
 * Growth. A partition that is full to its limit is rewritten into one a quarter larger; the others stay,
 * so no insertion pauses for more than 1/256 of the table, and their first sizes are spread over a quarter
 * so that they take turns. A line number is computed from the first position_bits bits X of y alone,
 * line = floor(X * lines / 2^position_bits), and rest is the distance of X from the least X of that line,
 * then the bits after X. Both can be turned back: line and rest give X, hence the new line and rest, for
 * any number of lines. An entry keeps what it knew, and each doubling turns one bit of rest into position.
 *
 * The rate of a lookup is the share of all y that some entry covers, and is kept exactly (`covered`):
 * an entry that knows b bits of y covers 2^-b. An entry goes on covering what it covered; those that a doubling
 * adds are twice as many as the doubling before added, and each covers half as much, so every doubling adds the
 * same to the rate. The plan leaves the bits for that, and a table that would pass its rate says it is full.
 */
#include "base/system.h"
#include "filter/fingerprint_put.h"

enum { SMALL_LINES = 160 }; /* partitions below double: memory is no matter yet, and rewriting is */

/* ---- making room ---- */

/* The entries of full lines that move one after the other, the last one first, each to its other line, so that
 * the first line has a free slot in the end. */
typedef struct path {
    uint32_t length;
    struct path_step {
        uint64_t line;
        uint32_t slot, bucket;
    } steps[PATH_MOST];
} path;

/* Looks for a path of `more` + 1 moves from a full line on, and changes nothing. */
static bool path_find(const table *t, const partition *in, path *p, uint64_t line, uint32_t more) {
    const line_geometry *g = &t->geometry;
    const uint8_t *bytes = line_at(in, line);
    struct path_step *at = &p->steps[p->length++];
    for (line_walk w = walk_start(g, bytes); walk_next(&w);) {
        *at = (struct path_step){line, w.slot, w.bucket};
        uint64_t target = other_line(g, in, line, line_head(g, bytes, w.slot), w.bucket == g->guest_bucket);
        if (more ? path_find(t, in, p, target, more - 1) : !is_full(g, in, target))
            return true;
    }
    p->length--;
    return false;
}

static void path_walk(const table *t, partition *in, const path *p) {
    const line_geometry *g = &t->geometry;
    for (uint32_t i = p->length; i-- > 0;) {
        const struct path_step *at = &p->steps[i];
        uint8_t *bytes = line_at(in, at->line);
        entry e = slot_entry(g, bytes, at->slot, at->bucket);
        bool is_guest = at->bucket == g->guest_bucket;
        uint64_t target = other_line(g, in, at->line, line_head(g, bytes, at->slot), is_guest);
        line_remove(g, bytes, at->bucket, at->slot);
        in->covered -= share(t, in, e.known);
        if (is_guest)
            put_home(t, g, in, target, e);
        else
            put_guest(t, g, in, target, e);
    }
}

/* A path of the fewest moves comes to no line twice, for what lies between could be left out; so no move changes a line that
 * another was planned in, and every line on the path but the first is full again after the walk: invariant 2. */
bool tamis__fingerprint_make_room(const table *t, partition *in, uint64_t line, uint64_t guest) {
    for (uint32_t more = 0; more <= t->room_depth; more++) {
        path p = {.length = 0};
        if (path_find(t, in, &p, line, more) || path_find(t, in, &p, guest, more)) {
            path_walk(t, in, &p);
            return true;
        }
    }
    return false;
}

bool tamis__fingerprint_put(const table *t, partition *in, uint64_t line, entry e) {
    const line_geometry *g = &t->geometry;
    uint64_t guest = guest_line(g, in, line, e.rest);
    if (is_full(g, in, line) && is_full(g, in, guest) && !tamis__fingerprint_make_room(t, in, line, guest))
        return false;
    if (!is_full(g, in, line))
        put_home(t, g, in, line, e);
    else
        put_guest(t, g, in, guest, e);
    in->used++;
    return true;
}

/* ---- partitions ---- */

bool tamis__fingerprint_make(const table *t, tamis_filter *filter, partition *out, uint64_t count) {
    if (count > SIZE_MAX / LINE_BYTES)
        return false;
    uint8_t *lines = tamis__filter_alloc(filter, (size_t)count * LINE_BYTES);
    if (!lines)
        return false;
    *out = partition_of(t, lines, count);
    return true;
}

void tamis__fingerprint_release(tamis_filter *filter, partition *in) {
    if (in->lines)
        tamis__filter_release(filter, in->lines, (size_t)in->count * LINE_BYTES);
    *in = (partition){0};
}

/* Chance does not leave a key without room among `count` lines that are not half full: keys that crowd were chosen
 * to, or are hashed badly, and lines without end would not part them. */
static bool is_crowded(const table *t, const partition *in, uint64_t count) {
    return (double)in->used < t->load / 2 * (double)(count * t->geometry.slots);
}

tamis_status tamis__fingerprint_grow(table *t, tamis_filter *filter, partition *in, tamis_error *err) {
    uint64_t count = in->count, limit = filter->plan.memory_limit;
    for (;;) {
        if (is_crowded(t, in, count)) /* the lines there are, or those tried last, and found wanting */
            return tamis__filter_full(filter, TAMIS_FULL_CROWDED, err);
        count += count < SMALL_LINES ? count : count / 4;
        if (count > t->line_limit)
            return tamis__filter_full(filter, TAMIS_FULL_LINES, err);
        if (limit && __atomic_load_n(&filter->tally.memory, __ATOMIC_RELAXED) + count * LINE_BYTES > limit)
            return tamis__filter_full(filter, TAMIS_FULL_MEMORY, err);
        partition larger;
        if (!tamis__fingerprint_make(t, filter, &larger, count))
            return tamis__fail_nomem(err, "filter", count * LINE_BYTES);
        tamis__advise_written(larger.lines, (size_t)count * LINE_BYTES);
        if (filter->kernels->tables->rewrite(t, in, &larger)) {
            larger.false_fresh = in->false_fresh;
            tamis__fingerprint_release(filter, in);
            *in = larger;
            __atomic_fetch_add(&t->growths, 1, __ATOMIC_RELAXED); /* of another part too */
            return TAMIS_OK;
        }
        tamis__fingerprint_release(filter, &larger);
    }
}
