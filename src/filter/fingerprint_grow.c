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

static uint64_t other_line(const line_geometry *g, const partition *in, const struct path_step *at, entry e) {
    return at->bucket == g->guest_bucket ? home_of_guest(g, in, at->line, e.rest)
                                         : guest_line(g, in, at->line, e.rest);
}

/* Looks for a path of `more` + 1 moves from a full line on, and changes nothing. */
static bool path_find(const table *t, const partition *in, path *p, uint64_t line, uint32_t more) {
    const line_geometry *g = &t->geometry;
    const uint8_t *bytes = line_at(in, line);
    struct path_step *at = &p->steps[p->length++];
    for (line_walk w = walk_start(g, bytes); walk_next(&w);) {
        *at = (struct path_step){line, w.slot, w.bucket};
        uint64_t target = other_line(g, in, at, slot_entry(g, bytes, w.slot, w.bucket));
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
        uint64_t target = other_line(g, in, at, e);
        line_remove(g, bytes, at->bucket, at->slot);
        in->covered -= share(t, in, e.known);
        if (at->bucket == g->guest_bucket)
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

/* What an entry of partition `from`, whose home line there has the least X `least`, is in the larger
 * partition `to`, and its home line there. Distances have at most POSITION_MAX bits: one word. */
static INLINED entry rehome(const table *t, const line_geometry *g, const partition *from,
                            const partition *to, uint64_t least, entry e, uint64_t *line) {
    uint32_t old_bits = t->position_bits - from->log2, new_bits = t->position_bits - to->log2;
    uint64_t distance, high = (uint64_t)(e.rest >> 64), x = least + (high >> (64 - old_bits));
    uint64_t last = (UINT64_C(1) << t->position_bits) - 1;
    x = x < last ? x : last; /* past it only in a file that somebody forged */
    place_first_bits(t, to, x, line, &distance);
    if (g->slot_bits <= NARROW_MAX)
        e.rest = (tamis__u128)(distance << (64 - new_bits) | high << old_bits >> new_bits) << 64;
    else
        e.rest = (tamis__u128)distance << (128 - new_bits) | (e.rest << old_bits) >> new_bits;
    e.known -= old_bits - new_bits;
    return e;
}

/*
 * Writes the lines of a new partition from left to right: entries at home arrive in the order of their
 * lines and buckets, so each goes behind the one before it and `ends` is written once a line. A line that
 * has guests already, or overflows, is left to put().
 */
typedef struct line_writer {
    uint8_t *bytes; /* the open line; NULL: none */
    uint64_t line;  /* the line last asked for */
    uint64_t ends;
    uint32_t slots, bucket; /* entries written, bucket of the last */
} line_writer;

static INLINED void writer_close(const line_geometry *g, line_writer *w) {
    if (!w->bytes)
        return;
    uint32_t open = g->guest_bucket + 1u - w->bucket;
    w->ends |= ((UINT64_C(1) << open) - 1) << (w->slots + w->bucket);
    line_set_ends(g, w->bytes, w->ends);
    w->bytes = NULL;
}

static INLINED void writer_open(const line_geometry *g, partition *to, line_writer *w, uint64_t line) {
    writer_close(g, w);
    uint8_t *bytes = line_at(to, line);
    bool empty = line_ends(g, bytes) == g->ends_empty;
    *w = (line_writer){empty ? bytes : NULL, line, 0, 0, 0};
}

static INLINED bool writer_put(const table *t, const line_geometry *g, partition *to, line_writer *w,
                               uint64_t line, entry e) {
    if (line != w->line)
        writer_open(g, to, w, line);
    uint32_t bucket = home_bucket(g, e.rest);
    /* Out of order come entries only of a file that somebody forged. */
    if (w->bytes && (w->slots == g->slots || bucket < w->bucket))
        writer_close(g, w);
    if (!w->bytes)
        return put(t, g, to, line, e);
    w->ends |= ((UINT64_C(1) << (bucket - w->bucket)) - 1) << (w->slots + w->bucket);
    w->bucket = bucket;
    line_put_slot(g, w->bytes, w->slots++, slot_value(g, e, g->home_bits));
    to->covered += share(t, to, known_after(g, e.known, g->home_bits));
    to->used++;
    return true;
}

static INLINED bool rewrite_homes(const table *t, const line_geometry *g, const partition *from,
                                  partition *to) {
    line_writer writer = {NULL, UINT64_MAX, 0, 0, 0};
    bool room = true;
    for (uint64_t line = 0; line < from->count && room; line++) {
        const uint8_t *bytes = line_at(from, line);
        uint64_t least = least_of(t, from, line), new_line;
        for (line_walk w = walk_start(g, bytes); room && walk_next(&w) && w.bucket < g->guest_bucket;) {
            entry e = rehome(t, g, from, to, least, slot_entry(g, bytes, w.slot, w.bucket), &new_line);
            room = writer_put(t, g, to, &writer, new_line, e);
        }
    }
    writer_close(g, &writer);
    return room;
}

static INLINED bool rewrite_guests(const table *t, const line_geometry *g, const partition *from,
                                   partition *to) {
    for (uint64_t line = 0; line < from->count; line++) {
        const uint8_t *bytes = line_at(from, line);
        uint64_t ends = line_ends(g, bytes), new_line;
        slot_range guests = ends_bucket(ends, g->guest_bucket);
        for (uint32_t slot = guests.first; slot < guests.last; slot++) {
            entry e = slot_entry(g, bytes, slot, g->guest_bucket);
            uint64_t home = home_of_guest(g, from, line, e.rest);
            e = rehome(t, g, from, to, least_of(t, from, home), e, &new_line);
            if (!put(t, g, to, new_line, e))
                return false;
        }
    }
    return true;
}

static bool rewrite(const table *t, const partition *from, partition *to) {
    bool room;
    WITH_GEOMETRY(t, room = rewrite_homes(t, g, from, to) && rewrite_guests(t, g, from, to));
    return room;
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
        if (limit && filter->tally.memory + count * LINE_BYTES > limit)
            return tamis__filter_full(filter, TAMIS_FULL_MEMORY, err);
        partition larger;
        if (!tamis__fingerprint_make(t, filter, &larger, count))
            return tamis__fail_nomem(err, "filter", count * LINE_BYTES);
        if (rewrite(t, in, &larger)) {
            tamis__fingerprint_release(filter, in);
            *in = larger;
            t->growths++;
            return TAMIS_OK;
        }
        tamis__fingerprint_release(filter, &larger);
    }
}
