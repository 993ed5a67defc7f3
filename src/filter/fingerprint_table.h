/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_FINGERPRINT_TABLE_H
#define TAMIS_FILTER_FINGERPRINT_TABLE_H

/*
 * Where the entries of a fingerprint table lie.
 *
 * The table is cut into partitions by the first bits of the hash (1 to 64 of one size where the number of keys is
 * given, in one block; 256 where it is not, of which each is split in 16 when it is large), each an array of lines
 * (fingerprint_line.h). What is left of the hash, read as a fraction y in [0, 1), names the place: the home line is
 * floor(y * lines), and the `rest` of y, the bits below, is the entry: home_bits of it name the bucket in the line, the next
 * slot_bits - 1 are kept. Lines, buckets and thus the whole table stay in the order of y.
 *
 *     y * lines = 0000110.0111 010110111001011 ...
 *                 `line-' `--' `- the slot --'
 *                        bucket (of 4 bits here)
 *
 * A partition that grows takes only the first position_bits bits of y times lines (fingerprint_grow.c, "Growth").
 *
 * Invariants:
 *  1. An entry is in its home line, or, as a guest, in the guest line: one of the 1023 lines after home
 *     (fewer in a smaller partition), named by the 10 bits of rest after the bucket.
 *  2. If a guest's home is line i, line i is full, and stays so. A key whose home line is not full is
 *     thus looked up in one line, any other in two.
 *  3. A guest is known to slot_bits - 1 bits of its rest, bucket included: home_bits fewer than at home.
 *  4. Growing tables: every entry knows at least the first position_bits bits of y.
 *
 * A partition of a new growing table has no memory of its own before its first key: its `lines` point to
 * tamis__empty_lines, which all of them share and nobody writes to, and its `most` is 0. Lookups need no extra test, and the
 * first key takes the path of a key that finds its partition full (tamis__fingerprint_grow).
 */
#include <math.h>

#include "base/pages.h"
#include "filter/filter_int.h"
#include "filter/fingerprint_line.h"
#include "plan/plan_int.h"

enum {
    GUEST_BITS = 10,    /* bits of an entry that name its guest line */
    GUEST_REACH = 1023, /* among at most so many */
    HASH_BITS = 128,
    LINES_LOG2_MAX = 32, /* of a growing partition */
    POSITION_MAX = 56,   /* so that a product with a number of lines fits 128 bits with room to spare */
    SPLIT = 1 << TAMIS__FINGERPRINT_SPLIT_BITS, /* partitions that one is split in */
    SPLIT_LINES = 1 << 14 /* which it is rather than have more lines: so that none takes long to grow */
};

typedef struct partition {
    _Alignas(LINE_BYTES) uint8_t *lines;
    uint64_t count;     /* lines */
    uint64_t inverse;   /* floor((2^64 - 1) / count), to divide by count */
    uint64_t used;      /* entries */
    uint64_t most;      /* entries at which it grows */
    double covered;     /* share of this partition's y that entries cover: the rate of a lookup in it */
    double false_fresh; /* the sum of these rates, over the keys that were fresh */
    uint16_t reach;     /* farthest guest line: the lesser of GUEST_REACH and count - 1 */
    uint8_t log2;       /* floor(log2(count)) */
    uint8_t line_bits;  /* bits of y that a line takes: log2 of a table that grows, else 0 */
    uint8_t known_most; /* bits of rest that are bits of the hash: what an entry knows past them is padding */
    uint8_t hash_bits;  /* that name the partition */
    uint8_t position_bits; /* of y that a line is computed from, of a table that grows */
} partition;

_Static_assert(sizeof(partition) == TAMIS__FINGERPRINT_ROW, "the plan counts them");

/* Partitions named by the next bits of a hash. Of a table that grows there are 256, each of one partition or SPLIT; else one. */
typedef struct stretch {
    partition *first;
    uint32_t bits; /* so many */
} stretch;

_Static_assert(sizeof(stretch) == TAMIS__FINGERPRINT_STRETCH, "and these");

typedef struct table {
    line_geometry geometry;
    bool grows;
    bool borrowed;           /* lines are those of an image, and only read */
    uint32_t partition_bits; /* of a hash that name one of the partitions that it began with */
    uint64_t growths;        /* partitions rewritten so far, for tests to count */
    double load;             /* share of its slots at which a partition grows */
    uint32_t room_depth;     /* moves that may follow the first to make room; below PATH_MOST */
    bool watched;            /* made for its keys, and has grown or was united: its rate is no longer as planned */
    uint64_t sure;           /* while filter->added is below this, the rate is known to do for one more */
    double covered;          /* of the file it was read from: what is beyond that of the partitions, */
    double false_fresh;      /* and what comes before their sum */
    double unit;             /* what a line takes where line_bits does not say: 1 / lines, else 1 */
    double weight[129];      /* 2^-b */
    struct table *copy_to;   /* copy of a table made for a number of keys, see tamis__fingerprint_moved; NULL: none */
    tamis__pages *pages;     /* that partitions share; NULL: none */
    uint64_t lines_due;      /* bytes of first lines that partitions without a key have yet to take */
    stretch *stretches;      /* &only, of a table that does not grow */
    stretch only;
    partition *partitions; /* those that it began with */
} table;

/* Where a hash belongs. */
typedef struct place {
    partition *in;
    uint64_t line;
    tamis__u128 rest; /* left-aligned */
} place;

/* An entry read back, or about to be put: rest is known to `known` bits. */
typedef struct entry {
    tamis__u128 rest;
    uint32_t known;
} entry;

static inline uint8_t *line_at(const partition *in, uint64_t line) {
    return in->lines + line * LINE_BYTES;
}

/* Empty lines (zeros), as many as a new partition has at most. */
extern const uint8_t tamis__empty_lines[];

/* False if the partition has had no key since the table was made. */
static inline bool has_own_lines(const partition *in) {
    return in->lines != tamis__empty_lines;
}

static inline uint32_t stretch_count(const table *t) {
    return t->grows ? 1u << TAMIS__FINGERPRINT_PARTITION_BITS : 1;
}

static inline uint32_t partition_count(const stretch *s) {
    return 1u << s->bits;
}

/* Walks the partitions of a table, in the order of hashes:
 *     for (partition_walk w = {.t = t}; next_partition(&w);) ... w.in ... */
typedef struct partition_walk {
    const table *t;
    partition *in;
    uint32_t stretch, next; /* partition of it */
} partition_walk;

static inline bool next_partition(partition_walk *w) {
    if (w->stretch == stretch_count(w->t))
        return false;
    const stretch *s = &w->t->stretches[w->stretch];
    w->in = &s->first[w->next++];
    if (w->next == partition_count(s)) {
        w->stretch++;
        w->next = 0;
    }
    return true;
}

/* The share of all hashes that the entries of its partitions cover. */
static inline double covered_by(const table *t) {
    double sum = 0;
    for (partition_walk w = {.t = t}; next_partition(&w);)
        sum += w.in->covered * t->weight[w.in->hash_bits];
    return sum;
}

/* Bits of y that a line of a growing table's partition is computed from, the first `hash_bits` of a hash naming it. Invariant
 * 4: a guest in the smallest first partition knows log2(lines) + slot_bits - 1 bits. */
static inline uint32_t position_bits_of(const table *t, uint32_t hash_bits) {
    const uint32_t least = TAMIS__FINGERPRINT_FIRST_LOG2 + t->geometry.slot_bits - 1u;
    return (least < POSITION_MAX ? least : POSITION_MAX) - (hash_bits - TAMIS__FINGERPRINT_PARTITION_BITS);
}

/* Most lines of such a partition. Those bits reach past the line number to what names bucket and guest line, so that every
 * entry can be found; and lines of so many first bits are of one size, to 2^-12 at the worst. */
static inline uint64_t line_limit_of(const table *t, uint32_t hash_bits) {
    const uint32_t log2 = position_bits_of(t, hash_bits) - t->geometry.home_bits - GUEST_BITS;
    return UINT64_C(1) << (log2 < LINES_LOG2_MAX ? log2 : LINES_LOG2_MAX);
}

static inline double unit_of(const table *t, uint64_t lines) {
    return t->grows ? 1 : 1.0 / (double)lines;
}

/* An empty partition of these lines, of the hashes with some first bits. */
static inline partition partition_of(const table *t, uint32_t hash_bits, uint8_t *lines, uint64_t count) {
    uint32_t log2 = 63 - (uint32_t)__builtin_clzll(count);
    partition in = {.lines = lines, .count = count, .inverse = UINT64_MAX / count, .log2 = (uint8_t)log2};
    in.reach = count <= GUEST_REACH ? (uint16_t)(count - 1) : GUEST_REACH;
    in.known_most = (uint8_t)(HASH_BITS - hash_bits - log2);
    in.hash_bits = (uint8_t)hash_bits;
    in.position_bits = t->grows ? (uint8_t)position_bits_of(t, hash_bits) : 0;
    in.line_bits = t->grows ? in.log2 : 0;
    in.most = t->grows ? (uint64_t)ceil(t->load * (double)(count * t->geometry.slots)) : UINT64_MAX;
    return in;
}

/* ---- places ---- */

/* y * lines, with y of 128 bits: whole part and fraction. */
static inline void place_fixed(const partition *in, tamis__u128 y, place *at) {
    tamis__u128 low = (tamis__u128)(uint64_t)y * in->count;
    tamis__u128 high = (y >> 64) * in->count + (low >> 64);
    at->line = (uint64_t)(high >> 64);
    at->rest = high << 64 | (uint64_t)low;
}

/* floor(f / count): the product with the inverse is at most 2 too small, since f < 2^64. */
static inline uint64_t divide(const partition *in, uint64_t f) {
    uint64_t quotient = tamis__mulhi(f, in->inverse);
    while ((quotient + 1) * in->count <= f)
        quotient++;
    return quotient;
}

/* X * count = line * 2^position_bits + f; the least X' of the line has f' < count, and f is f' plus a
 * multiple of count, so X - X' = floor(f / count). It is below 2^(position_bits - log2). */
static INLINED void place_first_bits(const partition *in, uint64_t x, uint64_t *line, uint64_t *distance) {
    const uint32_t bits = in->position_bits;
    tamis__u128 product = (tamis__u128)x * in->count;
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    *line = high << (64 - bits) | low >> bits;
    *distance = divide(in, low & ((UINT64_C(1) << bits) - 1));
}

/* Word by word, since no shift is of 0 bits or of 64. */
static INLINED void place_growing(const partition *in, tamis__u128 y, place *at) {
    uint32_t bits = in->position_bits, distance_bits = bits - in->log2;
    uint64_t distance, high = (uint64_t)(y >> 64), low = (uint64_t)y;
    place_first_bits(in, high >> (64 - bits), &at->line, &distance);
    high = high << bits | low >> (64 - bits);
    low <<= bits;
    low = high << (64 - distance_bits) | low >> distance_bits;
    high = distance << (64 - distance_bits) | high >> distance_bits;
    at->rest = (tamis__u128)high << 64 | low;
}

static INLINED place place_of(const table *t, const tamis_hash *hash) {
    const uint64_t high = hash->word[1], low = hash->word[0];
    const stretch *s = t->stretches;
    place at;
    if (t->grows) {
        const uint32_t bits = TAMIS__FINGERPRINT_PARTITION_BITS, more = TAMIS__FINGERPRINT_SPLIT_BITS;
        tamis__u128 y = ((tamis__u128)high << 64 | low) << bits;
        s += high >> (64 - bits);
        at.in = s->first;
        if (s->bits) {
            at.in += (uint64_t)(y >> 64) >> (64 - more);
            y <<= more;
        }
        place_growing(at.in, y, &at);
    } else { /* perhaps 0 bits; word by word, for which there are instructions */
        const uint32_t bits = s->bits;
        at.in = &s->first[high >> 1 >> (63 - bits)];
        place_fixed(at.in, (tamis__u128)(high << bits | low >> 1 >> (63 - bits)) << 64 | low << bits, &at);
    }
    return at;
}

static inline uint32_t home_bucket(const line_geometry *g, tamis__u128 rest) {
    return (uint32_t)(rest >> (128 - g->home_bits));
}

/* 1 to reach, from the 10 bits after the bucket. */
static inline uint32_t guest_distance(const line_geometry *g, const partition *in, tamis__u128 rest) {
    uint32_t bits = (uint32_t)((uint64_t)(rest >> 64) << g->home_bits >> (64 - GUEST_BITS));
    return 1 + (bits * in->reach >> GUEST_BITS);
}

static inline uint64_t guest_line(const line_geometry *g, const partition *in, uint64_t line,
                                  tamis__u128 rest) {
    uint64_t guest = line + guest_distance(g, in, rest);
    return guest < in->count ? guest : guest - in->count;
}

/* ---- slot values ---- */

/* The slot of an entry at home (skip home_bits) or as guest (skip 0): what is known after the skipped
 * bits, as far as it fits, and the end mark. */
static INLINED tamis__u128 slot_value(const line_geometry *g, entry e, uint32_t skip) {
    uint32_t width = g->slot_bits;
    uint32_t length = e.known - skip < width - 1 ? e.known - skip : width - 1;
    if (is_narrow(g)) {
        uint64_t mark = UINT64_C(1) << (width - 1 - length);
        uint64_t bits = ((uint64_t)(e.rest >> 64) << skip) >> (64 - width);
        return (bits & ~(mark | (mark - 1))) | mark;
    }
    tamis__u128 mark = (tamis__u128)1 << (width - 1 - length);
    tamis__u128 bits = (e.rest << skip) >> (128 - width);
    return (bits & ~(mark | (mark - 1))) | mark;
}

static inline uint32_t low_zeros(tamis__u128 value) {
    return (uint64_t)value ? (uint32_t)__builtin_ctzll((uint64_t)value)
                           : 64 + (uint32_t)__builtin_ctzll((uint64_t)(value >> 64));
}

static INLINED entry slot_entry(const line_geometry *g, const uint8_t *line, uint32_t slot, uint32_t bucket) {
    uint32_t width = g->slot_bits, home_bits = bucket == g->guest_bucket ? 0 : g->home_bits;
    tamis__u128 value = line_slot(g, line, slot);
    entry e = {0, width - 1 - low_zeros(value) + home_bits};
    tamis__u128 bits = value & (value - 1);
    if (is_narrow(g))
        e.rest = (tamis__u128)((uint64_t)bits << (64 - width) >> home_bits) << 64;
    else
        e.rest = bits << (128 - width) >> home_bits;
    if (home_bits)
        e.rest |= (tamis__u128)((uint64_t)bucket << (64 - home_bits)) << 64;
    return e;
}

/* Bits of rest an entry knows once it stands at home or as a guest. */
static inline uint32_t known_after(const line_geometry *g, uint32_t known, uint32_t skip) {
    uint32_t most = g->slot_bits - 1u + skip;
    return known < most ? known : most;
}

/* The bucket of a slot: so many ones come before its zero. */
static INLINED uint32_t bucket_of(uint64_t ends, uint32_t slot) {
    uint64_t zeros = ~ends;
    for (uint32_t i = 0; i < slot; i++)
        zeros &= zeros - 1;
    return (uint32_t)__builtin_ctzll(zeros) - slot;
}

/* Walks the entries of a line: the zeros of ends, a one being the next bucket. */
typedef struct line_walk {
    uint64_t ends;
    uint32_t slot, bucket, left;
} line_walk;

static INLINED line_walk walk_start(const line_geometry *g, const uint8_t *line) {
    uint64_t ends = line_ends(g, line);
    return (line_walk){ends, UINT32_MAX, 0, ends_count(g, ends)};
}

static INLINED bool walk_next(line_walk *w) {
    if (w->left == 0)
        return false;
    uint32_t ones = (uint32_t)__builtin_ctzll(~w->ends);
    w->bucket += ones;
    w->ends >>= ones + 1;
    w->slot++;
    w->left--;
    return true;
}

/* The other line of an entry, by its head: the guest line of one at home, the home line of a guest. */
static INLINED uint64_t other_line(const line_geometry *g, const partition *in, uint64_t line, uint32_t head,
                                   bool is_guest) {
    uint32_t left_aligned = head << (32 - 8 * g->head_bytes);
    uint32_t bits = (is_guest ? left_aligned << g->home_bits : left_aligned) >> (32 - GUEST_BITS);
    uint64_t distance = 1 + (bits * in->reach >> GUEST_BITS);
    uint64_t other = is_guest ? line + in->count - distance : line + distance;
    return other < in->count ? other : other - in->count;
}

/* 2^position_bits / count, the width of a line: floor, and what is left over. */
typedef struct line_width {
    uint64_t floor, over;
} line_width;

static inline line_width width_of(const partition *in) {
    uint64_t whole = UINT64_C(1) << in->position_bits;
    return (line_width){whole / in->count, whole % in->count};
}

/* The least X of a line: ceil(line * 2^position_bits / count), in two parts that stay within 64 bits
 * (line < count <= 2^LINES_LOG2_MAX). */
static INLINED uint64_t least_of(const partition *in, line_width width, uint64_t line) {
    return line * width.floor + divide(in, line * width.over + in->count - 1);
}

/* Makes filter->body with an empty row of partitions, whose lines are to come. *made is it. */
tamis_status tamis__fingerprint_table(tamis_filter *filter, struct table **made, tamis_error *err);

/* Fills *s with SPLIT partitions without lines. */
tamis_status tamis__fingerprint_split(tamis_filter *filter, stretch *s, tamis_error *err);

/* fingerprint_image.c: to and from bytes. */
tamis_status tamis__fingerprint_restore(tamis_filter *filter, const tamis__image *image, tamis_error *err);
bool tamis__fingerprint_part(const tamis_filter *filter, size_t i, tamis__part *part);
tamis_status tamis__fingerprint_touch(const tamis_filter *filter, const tamis_hash *hashes, size_t count,
                                      tamis_error *err);

#endif
