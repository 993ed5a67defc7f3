/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds fingerprint and exact: room for one more entry, in lines that are full or in a partition that is.
 *
 * Growth. A partition that is full to its limit is rewritten into one a quarter larger, or more where keys are foreseen; the
 * others stay, and their first sizes are spread over a quarter so that they take turns. One that would pass SPLIT_LINES lines
 * is rewritten into SPLIT of them, each of the hashes with some more first bits: no insertion pauses for longer than it
 * takes to rewrite so many lines. A line number is computed from the first position_bits bits X of y alone,
 * line = floor(X * lines / 2^position_bits), and rest is the distance of X from the least X of that line,
 * then the bits after X. Both can be turned back: line and rest give X, hence the new line and rest, for
 * any number of lines. An entry keeps what it knew, and each doubling turns one bit of rest into position.
 * A sixteenth of a partition, of lines that sixteen divides, is a partition of the hashes with four more first bits as it
 * stands: X without those bits has the same distance from the least of the line. But for guests, which are behind their home
 * lines around the end of the whole.
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
    TIMES_MOST = 4,    /* lines of a partition at once, of those it has, however many keys are foreseen, */
    FEW_MIB = 64       /* unless all partitions take no more than that: then all that are */
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
        tamis__fingerprint_moved(t, in, target);
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
    tamis__fingerprint_moved(t, in, line);
    tamis__fingerprint_moved(t, in, guest);
    in->used++;
    return true;
}

/* ---- partitions ---- */

/* Memory in use, plus the first lines that partitions without a key may still take. The memory limit covers both. */
static uint64_t memory_with_due(const tamis_filter *filter) {
    const table *t = filter->body;
    return __atomic_load_n(&filter->tally.memory, __ATOMIC_RELAXED) +
           __atomic_load_n(&t->lines_due, __ATOMIC_RELAXED);
}

/* Whether so many bytes more are within the limit. Near it nothing may be held beside the partitions. */
static bool is_allowed(tamis_filter *filter, uint64_t size) {
    const uint64_t limit = filter->plan.memory_limit;
    const table *t = filter->body;
    if (limit && t->pages && memory_with_due(filter) + size + TAMIS__PAGE > limit)
        tamis__filter_gave(filter, tamis__pages_close(t->pages));
    return !limit || filter->taken_before || memory_with_due(filter) + size <= limit;
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

bool tamis__fingerprint_make(const table *t, tamis_filter *filter, uint32_t hash_bits, partition *out,
                             uint64_t count) {
    if (count > SIZE_MAX / LINE_BYTES)
        return false;
    uint8_t *lines = alloc_lines(filter, (size_t)count * LINE_BYTES);
    if (!lines)
        return false;
    *out = partition_of(t, hash_bits, lines, count);
    return true;
}

void tamis__fingerprint_release(tamis_filter *filter, partition *in) {
    const size_t size = (size_t)in->count * LINE_BYTES;
    const bool owns = in->lines && has_own_lines(in);
    if (owns && shares_pages(filter, size)) {
        tamis__pages_give(in->lines, size);
        tamis__filter_gave(filter, size);
    } else if (owns) {
        tamis__filter_release(filter, in->lines, size);
    }
    *in = (partition){0};
}

/* Chance does not leave a key without room among `count` lines that are not half full: keys that crowd were chosen
 * to, or are hashed badly, and lines without end would not part them. */
static bool is_crowded(const table *t, const partition *in, uint64_t count) {
    return (double)in->used < t->load / 2 * (double)(count * t->geometry.slots);
}

/* What may be split before long is a multiple of SPLIT. */
static uint64_t next_count(uint64_t count) {
    const uint64_t next = count + (count < SMALL_LINES ? count : count / 4);
    return next < SPLIT_LINES / (2 * TIMES_MOST) ? next : next / SPLIT * SPLIT;
}

/* Whether lines for each partition named by so many bits are enough for the keys that are foreseen. */
static bool holds_foreseen(const table *t, const tamis_filter *filter, uint32_t hash_bits, uint64_t count) {
    return ldexp((double)count * t->load * t->geometry.slots, (int)hash_bits) >= (double)filter->foreseen;
}

/* Lines to which partitions may be taken at once under a memory limit: four fifths of what all of them can have. They reach
 * the limit together then, by quarters, and not some of them while others are small. */
static uint64_t limit_count(const table *t, const tamis_filter *filter, uint32_t hash_bits) {
    const uint64_t limit = filter->plan.memory_limit;
    return limit ? (limit / LINE_BYTES >> hash_bits) * 4 / 5 : line_limit_of(t, hash_bits);
}

/* The lines that one of `count` is given. Sizes that foresight leaves out are those that it would have had on the way, so
 * that partitions go on taking turns. */
static uint64_t larger_count(const table *t, const tamis_filter *filter, uint32_t hash_bits, uint64_t count) {
    uint64_t next = next_count(count), most = limit_count(t, filter, hash_bits);
    uint64_t line_limit = line_limit_of(t, hash_bits);
    const uint64_t few = ((uint64_t)FEW_MIB << 20) / LINE_BYTES >> hash_bits;
    const uint64_t times = few > count * TIMES_MOST ? few : count * TIMES_MOST;
    most = most < times ? most : times;
    most = most < line_limit ? most : line_limit;
    while (!holds_foreseen(t, filter, hash_bits, next) && next_count(next) <= most)
        next = next_count(next);
    return next;
}

/* Rewrites a partition into `parts` of `count` lines each. TAMIS_E_NOMEM, and TAMIS_OK with *done false where an entry finds
 * no room: nothing has changed. */
static tamis_status rewrite_into(table *t, tamis_filter *filter, partition *in, partition *to, uint32_t parts,
                                 uint64_t count, bool *done, tamis_error *err) {
    const uint32_t hash_bits = in->hash_bits + (parts > 1 ? TAMIS__FINGERPRINT_SPLIT_BITS : 0u);
    uint32_t made = 0;
    *done = false;
    while (made < parts && tamis__fingerprint_make(t, filter, hash_bits, &to[made], count)) {
        tamis__advise_written(to[made].lines, (size_t)count * LINE_BYTES);
        made++;
    }
    if (made == parts)
        *done = filter->kernels->tables->rewrite(t, in, to, parts);
    for (uint32_t i = 0; i < made && !*done; i++)
        tamis__fingerprint_release(filter, &to[i]);
    return made == parts ? TAMIS_OK : tamis__fail_nomem(err, "filter", count * LINE_BYTES);
}

/* All that is kept of false answers is of the whole: the first part has it. */
static void replace(table *t, tamis_filter *filter, partition *in, partition *to) {
    to->false_fresh = in->false_fresh;
    tamis__fingerprint_release(filter, in);
    __atomic_fetch_add(&t->growths, 1, __ATOMIC_RELAXED); /* of another part too */
}

static bool is_to_be_split(const partition *in, uint64_t count) {
    return in->hash_bits == TAMIS__FINGERPRINT_PARTITION_BITS && count > SPLIT_LINES &&
           in->count % SPLIT == 0;
}

/* Rewrites it into SPLIT of them, `count` lines in all. */
static tamis_status split(table *t, tamis_filter *filter, partition *in, uint64_t count, bool *done,
                          tamis_error *err) {
    stretch parts;
    tamis_status status = tamis__fingerprint_split(filter, &parts, err);
    *done = false;
    if (status != TAMIS_OK)
        return status;
    status = rewrite_into(t, filter, in, parts.first, SPLIT, count / SPLIT, done, err);
    if (*done) {
        t->stretches[in - t->partitions] = parts;
        replace(t, filter, in, parts.first);
    } else {
        tamis__filter_release(filter, parts.first, SPLIT * sizeof(partition));
    }
    return status;
}

static tamis_status enlarge(table *t, tamis_filter *filter, partition *in, uint64_t count, bool *done,
                            tamis_error *err) {
    partition larger;
    tamis_status status = rewrite_into(t, filter, in, &larger, 1, count, done, err);
    if (*done) {
        replace(t, filter, in, &larger);
        *in = larger;
    }
    return status;
}

/* Gives a partition its own lines with its first key, as many as `lines` says. The memory limit already includes them. */
static tamis_status take_first_lines(table *t, tamis_filter *filter, partition *in, tamis_error *err) {
    const uint64_t size = in->count * LINE_BYTES;
    partition made;
    if (!tamis__fingerprint_make(t, filter, in->hash_bits, &made, in->count))
        return tamis__fail_nomem(err, "filter", size);
    __atomic_fetch_sub(&t->lines_due, size, __ATOMIC_RELAXED); /* of another part too */
    made.false_fresh = in->false_fresh;
    *in = made;
    return TAMIS_OK;
}

tamis_status tamis__fingerprint_grow(table *t, tamis_filter *filter, partition *in, tamis_error *err) {
    if (!has_own_lines(in))
        return take_first_lines(t, filter, in, err);
    uint64_t count = in->count;
    for (bool done = false; !done;) {
        if (is_crowded(t, in, count)) /* the lines there are, or those tried last, and found wanting */
            return tamis__filter_full(filter, TAMIS_FULL_CROWDED, err);
        count = larger_count(t, filter, in->hash_bits, count);
        if (count > line_limit_of(t, in->hash_bits))
            return tamis__filter_full(filter, TAMIS_FULL_LINES, err);
        const bool splits = is_to_be_split(in, count);
        if (!is_allowed(filter, count * LINE_BYTES + (splits ? SPLIT * sizeof *in : 0)))
            return tamis__filter_full(filter, TAMIS_FULL_MEMORY, err);
        tamis_status status =
            splits ? split(t, filter, in, count, &done, err) : enlarge(t, filter, in, count, &done, err);
        if (status != TAMIS_OK)
            return status;
    }
    return TAMIS_OK;
}
