/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kinds fingerprint and exact: a table of hash prefixes that keeps its order, so that it can grow
 * without its keys.
 *
 * Where an entry lies, and what holds of every table: fingerprint_table.h.
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
 * Measured by ./dev bench growth: bits a key and rate; by ./dev bench memory: ns a key.
 */
#include "base/system.h"
#include "filter/fingerprint_table.h"

enum {
    SMALL_LINES = 160,   /* partitions below double: memory is no matter yet, and rewriting is */
    ROOM_SEARCH = 32768, /* about how many entries may be looked at to make room for one */
    PATH_MOST = 8,       /* entries that may move: 4^8 is past ROOM_SEARCH, and no line has fewer slots */
    BATCH = 64,          /* keys located and prefetched together */
    AHEAD = 8            /* keys whose guest lines are prefetched before their turn */
};

/* ---- putting entries ---- */

/* Share of the partition's y that an entry covers that knows so many bits of rest. */
static INLINED double share(const table *t, const partition *in, uint32_t known) {
    return in->unit * t->weight[known < in->known_most ? known : in->known_most];
}

static INLINED void put_home(const table *t, const line_geometry *g, partition *in, uint64_t line, entry e) {
    line_insert(g, line_at(in, line), home_bucket(g, e.rest), slot_value(g, e, g->home_bits));
    in->covered += share(t, in, known_after(g, e.known, g->home_bits));
}

static INLINED void put_guest(const table *t, const line_geometry *g, partition *in, uint64_t line, entry e) {
    line_insert(g, line_at(in, line), g->guest_bucket, slot_value(g, e, 0));
    in->covered += share(t, in, known_after(g, e.known, 0));
}

static bool is_full(const line_geometry *g, const partition *in, uint64_t line) {
    return ends_full(g, line_ends(g, line_at(in, line)));
}

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

/*
 * Frees a slot in one of two full lines, by the fewest moves; the caller fills it. A path of the fewest moves comes
 * to no line twice, for what lies between could be left out; so no move changes a line that another was planned in,
 * and every line on the path but the first is full again after the walk: invariant 2.
 */
static bool make_room(const table *t, partition *in, uint64_t line, uint64_t guest) {
    for (uint32_t more = 0; more <= t->room_depth; more++) {
        path p = {.length = 0};
        if (path_find(t, in, &p, line, more) || path_find(t, in, &p, guest, more)) {
            path_walk(t, in, &p);
            return true;
        }
    }
    return false;
}

/* Puts an entry that is not there yet. False, and nothing changed, if there is no room. */
static INLINED bool put(const table *t, const line_geometry *g, partition *in, uint64_t line, entry e) {
    uint64_t guest = guest_line(g, in, line, e.rest);
    if (is_full(g, in, line) && is_full(g, in, guest) && !make_room(t, in, line, guest))
        return false;
    if (!is_full(g, in, line))
        put_home(t, g, in, line, e);
    else
        put_guest(t, g, in, guest, e);
    in->used++;
    return true;
}

/* ---- partitions ---- */

static bool partition_make(const table *t, tamis_filter *filter, partition *out, uint64_t count) {
    if (count > SIZE_MAX / LINE_BYTES)
        return false;
    uint8_t *lines = tamis__filter_alloc(filter, (size_t)count * LINE_BYTES);
    if (!lines)
        return false;
    *out = partition_of(t, lines, count);
    return true;
}

static void partition_release(tamis_filter *filter, partition *in) {
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

/*
 * Runs `call` with g pointing at the table's geometry: one that the compiler knows for the shapes that dedup and build
 * use by default, so that their shifts and field places become constants in code inlined below it.
 */
#define WITH_GEOMETRY(t, call)                                                                               \
    do {                                                                                                     \
        const line_geometry fixed = line_geometry_of(32, 4), growing = line_geometry_of(38, 2);              \
        const line_geometry built = line_geometry_of(24, 4), *g;                                             \
        if ((t)->geometry.slot_bits == 32) {                                                                 \
            g = &fixed;                                                                                      \
            call;                                                                                            \
        } else if ((t)->geometry.slot_bits == 38) {                                                          \
            g = &growing;                                                                                    \
            call;                                                                                            \
        } else if ((t)->geometry.slot_bits == 24) {                                                          \
            g = &built;                                                                                      \
            call;                                                                                            \
        } else {                                                                                             \
            g = &(t)->geometry;                                                                              \
            call;                                                                                            \
        }                                                                                                    \
    } while (0)

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

static tamis_status partition_grow(table *t, tamis_filter *filter, partition *in, tamis_error *err) {
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
        if (!partition_make(t, filter, &larger, count))
            return tamis__fail_nomem(err, "filter", count * LINE_BYTES);
        if (rewrite(t, in, &larger)) {
            partition_release(filter, in);
            *in = larger;
            t->growths++;
            return TAMIS_OK;
        }
        partition_release(filter, &larger);
    }
}

/* ---- the operations ---- */

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
            status = t->grows ? partition_grow(t, filter, at.in, err)
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
        partition_release(filter, &t->partitions[i]);
}

/* Fills the empty row of partitions with their first lines. */
static tamis_status first_partitions(tamis_filter *filter, table *t, tamis_error *err) {
    for (uint32_t i = 0; i < partition_count(t); i++) {
        uint64_t count = t->grows ? tamis__fingerprint_first_lines(i) : filter->plan.lines;
        if (!partition_make(t, filter, &t->partitions[i], count))
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
            partition_release(to, in);
            if (!partition_make(mine, to, in, theirs->count))
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
