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
 *
 * Partitions are smaller than large pages for long, and a tenth of an add and a quarter of a question was waiting for
 * where their pages are: where keys are foreseen they share large ones (pages.h), in which they come and go in turn. Where
 * nothing is foreseen what is held beside them would be too much a key (48 bits, prop_rate.c) for what it gains.
 */
#include "base/system.h"
#include "filter/fingerprint_put.h"

enum {
    SMALL_LINES = 160, /* partitions below double: memory is no matter yet, and rewriting is */
    TIMES_MOST = 4     /* lines of a partition at once, of those it has, however many keys are foreseen */
};

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

static bool comes_to(const path *p, uint64_t line) {
    for (uint32_t i = 0; i < p->length; i++)
        if (p->steps[i].line == line)
            return true;
    return false;
}

/* Looks for a path of `more` + 1 moves from a full line on, and changes nothing. One that came back to a line of its own would
 * have been found without what lies between; and where keys crowd, all of them lead from a line to another and back. */
static bool path_find(const table *t, const partition *in, path *p, uint64_t line, uint32_t more) {
    const line_geometry *g = &t->geometry;
    const uint8_t *bytes = line_at(in, line);
    struct path_step *at = &p->steps[p->length++];
    for (line_walk w = walk_start(g, bytes); walk_next(&w);) {
        *at = (struct path_step){line, w.slot, w.bucket};
        uint64_t target = other_line(g, in, line, line_head(g, bytes, w.slot), w.bucket == g->guest_bucket);
        if (more ? !comes_to(p, target) && path_find(t, in, p, target, more - 1) : !is_full(g, in, target))
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

/* Whether so many bytes more are within the limit. Near it nothing may be held beside the partitions. */
static bool is_allowed(tamis_filter *filter, uint64_t size) {
    const uint64_t limit = filter->plan.memory_limit, *memory = &filter->tally.memory;
    const table *t = filter->body;
    if (limit && t->pages && __atomic_load_n(memory, __ATOMIC_RELAXED) + size + TAMIS__PAGE > limit)
        tamis__filter_gave(filter, tamis__pages_close(t->pages));
    return !limit || __atomic_load_n(memory, __ATOMIC_RELAXED) + size <= limit;
}

/* Whether a block is cut out of shared pages, or as well as if it were. */
static bool shares_pages(const tamis_filter *filter, size_t size) {
    const table *t = filter->body;
    return t->pages && size >= TAMIS__PAGES_LEAST;
}

static uint8_t *alloc_lines(tamis_filter *filter, size_t size) {
    const table *t = filter->body;
    size_t held;
    uint8_t *lines = NULL;
    if (filter->foreseen > 0 && shares_pages(filter, size) && is_allowed(filter, size))
        lines = tamis__pages_cut(t->pages, size, &held);
    if (!lines)
        return tamis__filter_alloc(filter, size);
    tamis__filter_took(filter, size + held);
    return lines;
}

bool tamis__fingerprint_make(const table *t, tamis_filter *filter, partition *out, uint64_t count) {
    if (count > SIZE_MAX / LINE_BYTES)
        return false;
    uint8_t *lines = alloc_lines(filter, (size_t)count * LINE_BYTES);
    if (!lines)
        return false;
    *out = partition_of(t, lines, count);
    return true;
}

void tamis__fingerprint_release(tamis_filter *filter, partition *in) {
    const size_t size = (size_t)in->count * LINE_BYTES;
    if (in->lines && shares_pages(filter, size)) {
        tamis__pages_give(in->lines, size);
        tamis__filter_gave(filter, size);
    } else if (in->lines) {
        tamis__filter_release(filter, in->lines, size);
    }
    *in = (partition){0};
}

/* Chance does not leave a key without room among `count` lines that are not half full: keys that crowd were chosen
 * to, or are hashed badly, and lines without end would not part them. */
static bool is_crowded(const table *t, const partition *in, uint64_t count) {
    return (double)in->used < t->load / 2 * (double)(count * t->geometry.slots);
}

static uint64_t next_count(uint64_t count) {
    return count + (count < SMALL_LINES ? count : count / 4);
}

/* Whether lines for each partition are enough for the keys that are foreseen. */
static bool holds_foreseen(const table *t, const tamis_filter *filter, uint64_t count) {
    return (double)count * t->load * t->geometry.slots * partition_count(t) >= (double)filter->foreseen;
}

/* Lines to which partitions may be taken at once under a memory limit: four fifths of what all of them can have. They reach
 * the limit together then, by quarters, and not some of them while others are small. */
static uint64_t limit_count(const table *t, const tamis_filter *filter) {
    const uint64_t limit = filter->plan.memory_limit;
    return limit ? limit / LINE_BYTES / partition_count(t) * 4 / 5 : t->line_limit;
}

/* The lines that one of `count` is given. Sizes that foresight leaves out are those that it would have had on the way, so
 * that partitions go on taking turns. */
static uint64_t larger_count(const table *t, const tamis_filter *filter, uint64_t count) {
    uint64_t next = next_count(count), most = limit_count(t, filter);
    most = most < count * TIMES_MOST ? most : count * TIMES_MOST;
    most = most < t->line_limit ? most : t->line_limit;
    while (!holds_foreseen(t, filter, next) && next_count(next) <= most)
        next = next_count(next);
    return next;
}

tamis_status tamis__fingerprint_grow(table *t, tamis_filter *filter, partition *in, tamis_error *err) {
    uint64_t count = in->count;
    for (;;) {
        if (is_crowded(t, in, count)) /* the lines there are, or those tried last, and found wanting */
            return tamis__filter_full(filter, TAMIS_FULL_CROWDED, err);
        count = larger_count(t, filter, count);
        if (count > t->line_limit)
            return tamis__filter_full(filter, TAMIS_FULL_LINES, err);
        if (!is_allowed(filter, count * LINE_BYTES))
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
