/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_FINGERPRINT_TABLE_H
#define TAMIS_FILTER_FINGERPRINT_TABLE_H

/*
 * A fingerprint table: how a hash selects the positions of its entry.
 *
 * A fingerprint table is a set of hash prefixes, as in a quotient filter. The high bits of the hash select a
 * position and are not stored. The following bits, the remainder, are stored as far as a slot has bits for
 * them.
 *
 * The first bits of the hash select a partition, which is an array of 64-byte lines (fingerprint_line.h):
 * - A sized table, made for a known number of keys, has 1 to 64 partitions of equal size, in one block of
 *   memory.
 * - A growing table starts with 256 partitions, which grow one by one. A large partition is split into 16.
 *   The partitions that share their first 8 hash bits form a group (`partition_group`): one partition, or
 *   16 after the split.
 *
 * The hash bits after the partition bits, read as a binary fraction, are y in [0, 1). With n lines in the
 * partition, the home line is floor(y * n). The fraction of y * n is the remainder (`rest`). Its first
 * home_bits bits select the bucket, and the next slot_bits - 1 bits go into the slot.
 *
 *     y * n =  0000110 . 0111 010110111001011 ...
 *              `-----'   `--' `-------------'
 *             home line bucket      slot             the remainder is all that follows the point
 *
 * Lines, buckets and slots are ordered by y, so the whole table is sorted by hash. This order lets a
 * partition be rewritten with another number of lines in one sequential pass, without the keys.
 *
 * In a growing partition only the first position_bits bits of y are multiplied by n (fingerprint_grow.c,
 * "Growth").
 *
 * If the home line is full, the entry is spilled (`spill`) to its spill line. That is one of the next 1023
 * lines, or fewer in a smaller partition. The 10 remainder bits after the bucket select it, as in a cuckoo
 * filter with partial keys:
 *
 *     line         i (home, full)        ...        i + distance (spill line)
 *                +-----------------------+         +---------------------+-----------+
 *                | home entries, spilled |  - - -> | home entries        | spilled   |
 *                +-----------------------+         +---------------------+-----------+
 *
 * From a spilled entry and its line the home line can be computed, and from a home entry its spill line.
 * Entries can thus be moved to their other line, to free a slot, without their keys.
 *
 * Invariants:
 * 1. An entry is in its home line or, spilled, in its spill line.
 * 2. While a spilled entry exists, its home line is full. So a lookup reads one line if the home line is not
 *    full, else two.
 * 3. A spilled entry stores slot_bits - 1 bits of the remainder, bucket included: home_bits fewer than a home
 *    entry.
 * 4. In a growing table every entry knows at least the first position_bits bits of y.
 *
 * Why this layout (docs/MATH.md, "Fingerprint table"): it takes fewer bits a key than a Bloom filter at small
 * rates. It touches one or two lines, and grows without the keys.
 *
 * A partition of a new growing table has no memory of its own. Its `lines` point to tamis__empty_lines,
 * which all such partitions share and nobody writes to, and its `grow_at` is 0. Lookups need no extra
 * test. The first key finds its partition full, and tamis__fingerprint_grow then allocates the lines.
 */
#include <math.h>

#include "base/pages.h"
#include "filter/filter_int.h"
#include "filter/table/fingerprint_line.h"
#include "plan/plan_int.h"

enum {
    SPILL_BITS = 10,    /* remainder bits that select the spill line */
    SPILL_REACH = 1023, /* max. distance from home line to spill line */
    HASH_BITS = 128,
    LINES_LOG2_MAX = 32, /* max. log2(lines) of a growing partition */
    POSITION_MAX = 56,   /* max. position_bits: keeps products with a number of lines below 2^128 */
    SPLIT = 1 << TAMIS__FINGERPRINT_SPLIT_BITS, /* partitions that replace a split one */
    SPLIT_LINES = 1 << 14                       /* lines above which a partition is split */
};

typedef struct partition {
    _Alignas(LINE_BYTES) uint8_t *lines;
    uint64_t count;        /* number of lines */
    uint64_t inverse;      /* floor((2^64 - 1) / count), to divide by count */
    uint64_t used;         /* entries, home and spilled */
    uint64_t grow_at;      /* number of entries at which the partition grows */
    double covered;        /* share of y that the entries cover: the false-positive rate of a lookup here */
    double false_present;  /* expected number of new keys that were answered present */
    uint16_t reach;        /* max. distance to a spill line: the lesser of SPILL_REACH and count - 1 */
    uint8_t log2;          /* floor(log2(count)) */
    uint8_t line_bits;     /* bits of y that a line number replaces: log2 in a growing table, else 0 */
    uint8_t known_max;     /* max. remainder bits that come from the hash; known bits beyond are padding */
    uint8_t hash_bits;     /* hash bits that select the partition */
    uint8_t position_bits; /* bits of y that determine the line, in a growing table */
} partition;

_Static_assert(sizeof(partition) == TAMIS__FINGERPRINT_PARTITION_BYTES, "the plan counts them");

/* Partitions that share the first 8 hash bits in a growing table, else all partitions. */
typedef struct partition_group {
    partition *first;
    uint32_t bits; /* hash bits that select one of them: 0 or 4 in a growing table */
} partition_group;

_Static_assert(sizeof(partition_group) == TAMIS__FINGERPRINT_GROUP_BYTES, "and these");

typedef struct table {
    line_geometry geometry;
    bool grows_by_partition; /* false: a sized table, which grows as a whole (fingerprint_regrow.c) */
    bool borrowed;           /* lines belong to a file image and are read-only */
    uint32_t partition_bits; /* hash bits that select one of the first partitions */
    uint64_t growths;        /* partitions rewritten so far, for tests */
    double load;             /* share of used slots at which a partition grows */
    uint32_t search_depth;   /* max. extra moves to free a slot; below PATH_LENGTH_MAX */
    bool checks_rate;    /* true if a table with a capacity has grown or was merged: adding checks its rate */
    uint64_t safe_added; /* value of filter->added up to which the rate certainly allows one more key */
    double covered;      /* coverage in the file beyond the sum of the partitions' coverage */
    double false_present; /* expected number of new keys answered present before the partitions' sums began */
    double line_share;  /* share of y of one line: 1 / lines; 1 in a growing table, where line_bits has it */
    double weight[129]; /* 2^-b */
    struct table *copy_to;   /* copy in progress, see tamis__fingerprint_moved; NULL: none */
    tamis__pages *pages;     /* large pages shared by partitions; NULL: none */
    uint64_t lines_due;      /* bytes of lines not yet allocated to partitions without a key */
    partition_group *groups; /* &only if the table does not grow */
    partition_group only;
    partition *partitions; /* the first partitions */
} table;

/* The position of a hash: partition, home line and remainder. */
typedef struct location {
    partition *in;
    uint64_t line;
    tamis__u128 rest; /* left-aligned */
} location;

/* An entry outside the table. The first `known` bits of the remainder are meaningful. */
typedef struct entry {
    tamis__u128 rest;
    uint32_t known;
} entry;

static inline uint8_t *line_at(const partition *in, uint64_t line) {
    return in->lines + line * LINE_BYTES;
}

/* Shared empty lines (zeros): as many as the largest new partition has. */
extern const uint8_t tamis__empty_lines[];

/* False if the partition still shares the empty lines: no key was added since the table was made or
 * copied. */
static inline bool has_own_lines(const partition *in) {
    return in->lines != tamis__empty_lines;
}

static inline uint32_t group_count(const table *t) {
    return t->grows_by_partition ? 1u << TAMIS__FINGERPRINT_PARTITION_BITS : 1;
}

static inline uint32_t partition_count(const partition_group *group) {
    return 1u << group->bits;
}

/*
 * Iterates over the partitions of a table, in hash order:
 *     for (partition_walk w = {.t = t}; next_partition(&w);) ... w.in ...
 */
typedef struct partition_walk {
    const table *t;
    partition *in;
    uint32_t group; /* index of the current group */
    uint32_t next;  /* index of the next partition in the group */
} partition_walk;

static inline bool next_partition(partition_walk *w) {
    if (w->group == group_count(w->t))
        return false;
    const partition_group *group = &w->t->groups[w->group];
    w->in = &group->first[w->next++];
    if (w->next == partition_count(group)) {
        w->group++;
        w->next = 0;
    }
    return true;
}

/* The share of all hashes that the entries of all partitions cover. */
static inline double covered_by(const table *t) {
    double sum = 0;
    for (partition_walk w = {.t = t}; next_partition(&w);)
        sum += w.in->covered * t->weight[w.in->hash_bits];
    return sum;
}

/* The false-positive rate of a lookup: the share of all hashes that entries cover. The sums are rounded, so
 * they may be a little below 0 when keys were removed. */
static inline double covered_rate(const table *t) {
    return fmax(covered_by(t) + t->covered, 0);
}

/* The position_bits of a growing partition that hash_bits select. They must not exceed the bits that every
 * entry knows (invariant 4). The entry with the fewest bits is one that was spilled in the smallest first
 * partition: it knows log2(lines) + slot_bits - 1 bits. */
static inline uint32_t position_bits_of(const table *t, uint32_t hash_bits) {
    const uint32_t min_bits = TAMIS__FINGERPRINT_FIRST_LOG2 + t->geometry.slot_bits - 1u;
    return (min_bits < POSITION_MAX ? min_bits : POSITION_MAX) -
           (hash_bits - TAMIS__FINGERPRINT_PARTITION_BITS);
}

/* Max. lines of such a partition. The position bits beyond the line number must still cover the bucket and
 * the spill distance, so that every entry can be found. They also keep the widths of lines equal to within
 * a factor of 2^-12. */
static inline uint64_t line_limit_of(const table *t, uint32_t hash_bits) {
    const uint32_t log2 = position_bits_of(t, hash_bits) - t->geometry.home_bits - SPILL_BITS;
    return UINT64_C(1) << (log2 < LINES_LOG2_MAX ? log2 : LINES_LOG2_MAX);
}

static inline double line_share_of(const table *t, uint64_t lines) {
    return t->grows_by_partition ? 1 : 1.0 / (double)lines;
}

/* An empty partition over `count` lines, for the hashes that `hash_bits` first bits select. */
static inline partition partition_of(const table *t, uint32_t hash_bits, uint8_t *lines, uint64_t count) {
    uint32_t log2 = 63 - (uint32_t)__builtin_clzll(count);
    partition in = {.lines = lines, .count = count, .inverse = UINT64_MAX / count, .log2 = (uint8_t)log2};
    in.reach = count <= SPILL_REACH ? (uint16_t)(count - 1) : SPILL_REACH;
    in.known_max = (uint8_t)(HASH_BITS - hash_bits - log2);
    in.hash_bits = (uint8_t)hash_bits;
    in.position_bits = t->grows_by_partition ? (uint8_t)position_bits_of(t, hash_bits) : 0;
    in.line_bits = t->grows_by_partition ? in.log2 : 0;
    in.grow_at =
        t->grows_by_partition ? (uint64_t)ceil(t->load * (double)(count * t->geometry.slots)) : UINT64_MAX;
    return in;
}

/* ---- positions ---- */

/* Computes y * lines for a y of 128 bits: the whole part is the line, the fraction the remainder. */
static inline void locate_sized(const partition *in, tamis__u128 y, location *loc) {
    const tamis__u128 low = (tamis__u128)(uint64_t)y * in->count;
    const tamis__u128 high = (y >> 64) * in->count + (low >> 64);
    loc->line = (uint64_t)(high >> 64);
    loc->rest = high << 64 | (uint64_t)low;
}

/* floor(f / count), by multiplication with the inverse. Its quotient is at most 2 too small, since f <
 * 2^64. */
static inline uint64_t divide(const partition *in, uint64_t f) {
    uint64_t quotient = tamis__mulhi(f, in->inverse);
    while ((quotient + 1) * in->count <= f)
        quotient++;
    return quotient;
}

/*
 * Computes the line of X, the first position_bits bits of y, and the distance of X from the least X of that
 * line.
 *
 * With X * count = line * 2^position_bits + f, the least X' of the line has f' < count, and f - f' is a
 * multiple of count. So X - X' = floor(f / count), which is below 2^(position_bits - log2).
 */
static INLINED void locate_first_bits(const partition *in, uint64_t x, uint64_t *line, uint64_t *distance) {
    const uint32_t bits = in->position_bits;
    const tamis__u128 product = (tamis__u128)x * in->count;
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    *line = high << (64 - bits) | low >> bits;
    *distance = divide(in, low & ((UINT64_C(1) << bits) - 1));
}

/* The line and remainder of y in a growing partition. Works on 64-bit words: no shift is by 0 or 64 bits. */
static INLINED void locate_growing(const partition *in, tamis__u128 y, location *loc) {
    uint32_t bits = in->position_bits, distance_bits = bits - in->log2;
    uint64_t distance, high = (uint64_t)(y >> 64), low = (uint64_t)y;
    locate_first_bits(in, high >> (64 - bits), &loc->line, &distance);
    high = high << bits | low >> (64 - bits);
    low <<= bits;
    low = high << (64 - distance_bits) | low >> distance_bits;
    high = distance << (64 - distance_bits) | high >> distance_bits;
    loc->rest = (tamis__u128)high << 64 | low;
}

static INLINED location locate_hash(const table *t, const tamis_hash *hash) {
    const uint64_t high = hash->word[1], low = hash->word[0];
    const partition_group *group = t->groups;
    location loc;
    if (t->grows_by_partition) {
        const uint32_t bits = TAMIS__FINGERPRINT_PARTITION_BITS, more = TAMIS__FINGERPRINT_SPLIT_BITS;
        tamis__u128 y = ((tamis__u128)high << 64 | low) << bits;
        group += high >> (64 - bits);
        loc.in = group->first;
        if (group->bits) {
            loc.in += (uint64_t)(y >> 64) >> (64 - more);
            y <<= more;
        }
        locate_growing(loc.in, y, &loc);
    } else { /* `bits` may be 0; by 64-bit words, for which there are shift instructions */
        const uint32_t bits = group->bits;
        loc.in = &group->first[high >> 1 >> (63 - bits)];
        locate_sized(loc.in, (tamis__u128)(high << bits | low >> 1 >> (63 - bits)) << 64 | low << bits, &loc);
    }
    return loc;
}

static inline uint32_t home_bucket(const line_geometry *g, tamis__u128 rest) {
    return (uint32_t)(rest >> (128 - g->home_bits));
}

/* The distance from home line to spill line, 1 to reach, from the 10 remainder bits after the bucket. */
static inline uint32_t spill_distance(const line_geometry *g, const partition *in, tamis__u128 rest) {
    const uint32_t bits = (uint32_t)((uint64_t)(rest >> 64) << g->home_bits >> (64 - SPILL_BITS));
    return 1 + (bits * in->reach >> SPILL_BITS);
}

static inline uint64_t spill_line(const line_geometry *g, const partition *in, uint64_t line,
                                  tamis__u128 rest) {
    uint64_t spill = line + spill_distance(g, in, rest);
    return spill < in->count ? spill : spill - in->count;
}

/* ---- slot values ---- */

/* The slot value of an entry: the known bits after the first `skip` bits, as many as fit, and the end
 * mark. `skip` is home_bits for a home entry and 0 for a spilled one. */
static INLINED tamis__u128 slot_value(const line_geometry *g, entry e, uint32_t skip) {
    const uint32_t width = g->slot_bits;
    const uint32_t length = e.known - skip < width - 1 ? e.known - skip : width - 1;
    if (is_narrow(g)) {
        uint64_t mark = UINT64_C(1) << (width - 1 - length);
        uint64_t bits = ((uint64_t)(e.rest >> 64) << skip) >> (64 - width);
        return (bits & ~(mark | (mark - 1))) | mark;
    }
    const tamis__u128 mark = (tamis__u128)1 << (width - 1 - length);
    const tamis__u128 bits = (e.rest << skip) >> (128 - width);
    return (bits & ~(mark | (mark - 1))) | mark;
}

static inline uint32_t low_zeros(tamis__u128 value) {
    return (uint64_t)value ? (uint32_t)__builtin_ctzll((uint64_t)value)
                           : 64 + (uint32_t)__builtin_ctzll((uint64_t)(value >> 64));
}

static INLINED entry slot_entry(const line_geometry *g, const uint8_t *line, uint32_t slot, uint32_t bucket) {
    uint32_t width = g->slot_bits, home_bits = bucket == g->spill_bucket ? 0 : g->home_bits;
    const tamis__u128 value = line_slot(g, line, slot);
    entry e = {0, width - 1 - low_zeros(value) + home_bits};
    const tamis__u128 bits = value & (value - 1);
    if (is_narrow(g))
        e.rest = (tamis__u128)((uint64_t)bits << (64 - width) >> home_bits) << 64;
    else
        e.rest = bits << (128 - width) >> home_bits;
    if (home_bits)
        e.rest |= (tamis__u128)((uint64_t)bucket << (64 - home_bits)) << 64;
    return e;
}

/* Remainder bits that an entry knows after it is stored. `skip` as in slot_value. */
static inline uint32_t known_after(const line_geometry *g, uint32_t known, uint32_t skip) {
    const uint32_t limit = g->slot_bits - 1u + skip;
    return known < limit ? known : limit;
}

/* The bucket of a slot: the number of ones of `ends` below the slot's zero. */
static INLINED uint32_t bucket_of(uint64_t ends, uint32_t slot) {
    uint64_t zeros = ~ends;
    for (uint32_t i = 0; i < slot; i++)
        zeros &= zeros - 1;
    return (uint32_t)__builtin_ctzll(zeros) - slot;
}

/* Iterates over the entries of a line. In `ends` a zero is an entry, and a one begins the next bucket. */
typedef struct line_walk {
    uint64_t ends;
    uint32_t slot, bucket, left;
} line_walk;

static INLINED line_walk walk_start(const line_geometry *g, const uint8_t *line) {
    const uint64_t ends = line_ends(g, line);
    return (line_walk){ends, UINT32_MAX, 0, ends_count(g, ends)};
}

static INLINED bool walk_next(line_walk *w) {
    if (w->left == 0)
        return false;
    const uint32_t ones = (uint32_t)__builtin_ctzll(~w->ends);
    w->bucket += ones;
    w->ends >>= ones + 1;
    w->slot++;
    w->left--;
    return true;
}

/* The other line of an entry: the spill line of a home entry, the home line of a spilled one. `head`, the
 * high bits of the slot, contains the 10 bits that select the spill line. */
static INLINED uint64_t other_line(const line_geometry *g, const partition *in, uint64_t line, uint32_t head,
                                   bool is_spilled) {
    uint32_t left_aligned = head << (32 - 8 * g->head_bytes);
    uint32_t bits = (is_spilled ? left_aligned << g->home_bits : left_aligned) >> (32 - SPILL_BITS);
    uint64_t distance = 1 + (bits * in->reach >> SPILL_BITS);
    uint64_t other = is_spilled ? line + in->count - distance : line + distance;
    return other < in->count ? other : other - in->count;
}

/* The width of a line in units of X: quotient and remainder of 2^position_bits / count. */
typedef struct line_width {
    uint64_t floor, excess;
} line_width;

static inline line_width width_of(const partition *in) {
    const uint64_t whole = UINT64_C(1) << in->position_bits;
    return (line_width){whole / in->count, whole % in->count};
}

/* The least X of a line: ceil(line * 2^position_bits / count). Computed in two parts that stay within 64
 * bits, since line < count <= 2^LINES_LOG2_MAX. */
static INLINED uint64_t min_x_of(const partition *in, line_width width, uint64_t line) {
    return line * width.floor + divide(in, line * width.excess + in->count - 1);
}

/* Allocates filter->body and its array of partitions, which have no lines yet. *created is the new body. */
tamis_status tamis__fingerprint_table(tamis_filter *filter, struct table **created, tamis_error *err);

/* Allocates SPLIT partitions without lines for a group. */
tamis_status tamis__fingerprint_split(tamis_filter *filter, partition_group *group, tamis_error *err);

/* fingerprint_image.c: reading and writing file images. */
tamis_status tamis__fingerprint_restore(tamis_filter *filter, const tamis__image *image, tamis_error *err);
bool tamis__fingerprint_body_extent(const tamis_filter *filter, size_t i, tamis__body_extent *extent);
tamis_status tamis__fingerprint_touch(const tamis_filter *filter, const tamis__key_batch *batch,
                                      tamis_error *err);

/* fingerprint_remove.c: tamis__filter_ops.remove of kind exact. */
void tamis__fingerprint_remove_many(tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                    tamis_answer *answers);

/* ---- fingerprint_convert.c ---- */

static inline uint64_t lines_of(const table *t) {
    return t->grows_by_partition ? 0 : t->partitions->count << t->partition_bits;
}

/* The power of two between two numbers of lines; -1 if there is none. */
static inline int doublings_of(uint64_t from, uint64_t to) {
    int doublings = 0;
    for (; from && from < to; from *= 2)
        doublings++;
    return from && from == to ? doublings : -1;
}

/* Stores all entries of `from` in the filter's table, with at most `remaining` new ones. TAMIS_E_FULL with
 * *err untouched: too few slots in a table with a capacity. Other errors are those of
 * tamis__fingerprint_grow. */
tamis_status tamis__fingerprint_put_table(tamis_filter *filter, const table *from, uint64_t remaining,
                                          uint64_t *new_entries, tamis_error *err);
/* The same for all entries, into a table that is empty. */
tamis_status tamis__fingerprint_refill(tamis_filter *filter, const table *from, tamis_error *err);
/* TAMIS_E_MISMATCH: the tables of a union differ too much. */
tamis_status tamis__fingerprint_fail_too_broad(tamis_error *err);

/* ---- fingerprint_double.c ---- */

/* True if tamis__fingerprint_double can fill `to`, with `doublings` as doublings_of returns it. */
bool tamis__fingerprint_can_double(const table *to, const table *from, int doublings);
/* Stores the home entries of `from` in the empty table `to`, each in its home line. An entry is left out if
 * that line is full. False: an entry is too broad for so many lines. */
bool tamis__fingerprint_double(table *to, const table *from, uint32_t doublings);

/* ---- fingerprint_regrow.c ---- */

/*
 * Grows a table with a capacity: to at least twice the lines, and to wider slots if its rate needs them. Both
 * tables are in memory meanwhile. No other thread may use the table.
 *
 * TAMIS_E_FULL: the filter is frozen, growth would exceed the memory limit, or no slots keep the rate.
 * TAMIS_E_NOMEM. On failure the table is unchanged.
 */
tamis_status tamis__fingerprint_regrow(tamis_filter *filter, tamis_error *err);

/* tamis_filter_union of two tables with equal hashers. */
tamis_status tamis__fingerprint_union(tamis_filter *into, const tamis_filter *from, tamis_error *err);

#endif
