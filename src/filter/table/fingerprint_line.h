/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_FINGERPRINT_LINE_H
#define TAMIS_FILTER_FINGERPRINT_LINE_H

/*
 * One line of a fingerprint table: 64 bytes, which is one CPU cache line.
 *
 * A line has `slots` slots of `slot_bits` bits each. A slot holds one entry, which is a prefix of a key's
 * hash. The line that a hash selects is the home line of its key. Inside a line, entries are grouped in
 * buckets:
 * - 2^home_bits buckets hold the entries whose home line this is. A few bits of the hash select the bucket.
 * - One more bucket, the last, holds spilled entries: entries whose home line was full.
 *
 * Entries are sorted by bucket, and by value within a bucket.
 *
 *      0                                                                          64
 *     +----------------------------------+-------------------------+-------------+
 *     | heads: 32 (or 16) bits a slot    | tails: the other bits   | ends        |
 *     +----------------------------------+-------------------------+-------------+
 *
 * The line shapes of the plans (plan/plan_kind.c). A line has floor((512 - buckets) / (slot_bits + 1)) slots,
 * since each slot also takes one bit of `ends`:
 *
 *     slot_bits  home_bits  buckets  slots   heads, bytes   tails, bits   ends, bits   unused, bits
 *     16         4          17       29      58             0             46           2
 *     20         4          17       23      46             92            40           12
 *     24         4          17       19      38             152           36           20
 *     32         4          17       15      60             0             32           0
 *     38         2          5        13      52             78            18           0
 *     40         4          17       12      48             96            29           3
 *     48         4          17       10      40             160           27           5
 *     64         4          17       7       28             224           24           40
 *     120        4          17       4       16             352           21           11
 *
 * The bits of a slot lie in two arrays. The head array has the high 32 bits of each slot (the high 16 if
 * slots are narrower than 32 bits). It begins at the start of the line, so vector code compares all heads
 * with one or two loads. The tail array has the remaining low bits.
 *
 * An entry is left-aligned in its slot: its hash bits, then a one that marks the end, then zeros. Entries
 * thus differ in length, up to slot_bits - 1 hash bits. A comparison stops at the end mark.
 *
 *     slot   h h h h h h h h 1 0 0         8 hash bits in a slot of 11
 *            `---- head ----'`tail'
 *
 * Why lengths differ: when a table doubles its lines, one hash bit of each entry becomes part of the line
 * number. No new bit replaces it, since the key is gone. Entries added later have the full length.
 *
 * The bit string `ends` says which slots belong to which bucket. Lowest bit first, it has a zero for each
 * entry and a one after the last entry of each bucket:
 *
 *     bucket      0   1     2  ...                 Bucket j has the slots from one(j-1) - (j-1) up to, but
 *     ends        0 1 1 0 0 1  ...                 not including, one(j) - j. Here one(j) is the position
 *     slot        0     1 2                        of the one number j, counted from 0 at the lowest bit.
 *
 * An example with 2 home buckets (home_bits 1) and the spill bucket. Two entries are in bucket 0, none in
 * bucket 1, one is spilled:
 *
 *     bucket    0     1  2                       ends, lowest bit first: 0 0 1 1 0 1
 *     ends      0 0 1 1  0 1                     ones at 2, 3 and 5: the slots of bucket 0 are 0 and 1, those
 *     slot      0 1      2                       of bucket 1 none, that of the spill bucket 2
 *
 * A line is full if the highest one of `ends` is at its last possible bit, slots + buckets - 1. To insert an
 * entry into bucket j, a zero is inserted into `ends` before the one that ends the bucket. The heads and
 * tails of all later slots move up by one.
 *
 * Invariants:
 * 1. `ends` has exactly 2^home_bits + 1 ones.
 * 2. Every slot in use has its end mark, so no slot in use is 0.
 * 3. Slots are in use from 0 on, without gaps. The contents of unused slots have no meaning.
 * 4. In memory `ends` is xored with its value for an empty line (a one for each bucket). Zeroed memory is
 *    therefore a table of empty lines, and a new table need not be written to.
 *
 * Why buckets: they cost about two bits of memory a slot. Each entry in its home line spares home_bits bits,
 * because its bucket already says them. docs/MATH.md ("Fingerprint table") shows the effect on the rate.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"

enum {
    LINE_BYTES = TAMIS__LINE,
    NARROW_MAX = 60 /* max. slot_bits at which one 64-bit word of the remainder fills a slot */
};

/* The layout of a table's lines. line_geometry_of computes it. */
typedef struct line_geometry {
    uint8_t slot_bits;
    uint8_t home_bits;
    uint8_t spill_bucket; /* number of the bucket of spilled entries: 2^home_bits */
    uint8_t slots;
    uint8_t head_bytes;  /* 2 or 4 */
    uint8_t tail_bits;   /* slot_bits - 8 * head_bytes */
    uint8_t tails_at;    /* byte where the tails begin */
    uint8_t tails_low;   /* bit where the tails begin, counted from byte tails_from */
    uint8_t tails_from;  /* first of the 16 bytes that hold all packed tails */
    uint8_t ends_shift;  /* right shift that moves `ends` to the low bits of the last 8 bytes */
    uint32_t ends_empty; /* `ends` of an empty line */
} line_geometry;

/* Marks functions that must be inlined below WITH_GEOMETRY, where the layout is a constant. */
#define INLINED inline __attribute__((always_inline))

static INLINED bool is_narrow(const line_geometry *g) {
    return g->slot_bits <= NARROW_MAX;
}

/* Computes the layout. slot_bits and home_bits come from a row of the plan's table of line shapes; a test
 * checks that every row fits in a line. */
static inline line_geometry line_geometry_of(uint32_t slot_bits, uint32_t home_bits) {
    line_geometry g;
    const uint32_t buckets = (1u << home_bits) + 1;
    g.slot_bits = (uint8_t)slot_bits;
    g.home_bits = (uint8_t)home_bits;
    g.spill_bucket = (uint8_t)(buckets - 1);
    g.slots = (uint8_t)((8 * LINE_BYTES - buckets) / (slot_bits + 1));
    g.head_bytes = slot_bits < 32 ? 2 : 4;
    g.tail_bits = (uint8_t)(slot_bits - 8u * g.head_bytes);
    g.tails_at = (uint8_t)(g.slots * g.head_bytes);
    g.tails_from = g.tails_at < LINE_BYTES - 16 ? g.tails_at : LINE_BYTES - 16;
    g.tails_low = (uint8_t)(8 * (g.tails_at - g.tails_from));
    g.ends_shift = (uint8_t)(64 - (g.slots + buckets));
    g.ends_empty = (1u << buckets) - 1;
    return g;
}

static inline uint64_t line_ends(const line_geometry *g, const uint8_t *line) {
    return (tamis__load64le(line + 56) >> g->ends_shift) ^ g->ends_empty;
}

static inline void line_set_ends(const line_geometry *g, uint8_t *line, uint64_t ends) {
    const uint64_t keep = tamis__load64le(line + 56) & ((UINT64_C(1) << g->ends_shift) - 1);
    tamis__store64le(line + 56, keep | (ends ^ g->ends_empty) << g->ends_shift);
}

/* Number of entries in a line. The highest one of `ends` has one zero for each entry below it. */
static inline uint32_t ends_count(const line_geometry *g, uint64_t ends) {
    return 63u - (uint32_t)__builtin_clzll(ends) - g->spill_bucket;
}

static inline bool ends_full(const line_geometry *g, uint64_t ends) {
    return ends >> (g->slots + g->spill_bucket) & 1;
}

/* The slots of a bucket: first to last - 1. */
typedef struct slot_range {
    uint32_t first, last;
} slot_range;

/* The slots of the spilled entries. Their bucket lies between the two highest ones of `ends`. */
static INLINED slot_range ends_spilled(const line_geometry *g, uint64_t ends) {
    const uint32_t last = 63u - (uint32_t)__builtin_clzll(ends);
    const uint32_t before = 63u - (uint32_t)__builtin_clzll(ends ^ UINT64_C(1) << last);
    return (slot_range){before - (g->spill_bucket - 1u), last - g->spill_bucket};
}

static inline slot_range ends_bucket(uint64_t ends, uint32_t bucket) {
    uint64_t rest = ends;
    for (uint32_t i = 0; i + 1 < bucket; i++)
        rest &= rest - 1;
    slot_range range = {0, 0};
    if (bucket) {
        range.first = (uint32_t)__builtin_ctzll(rest) - (bucket - 1);
        rest &= rest - 1;
    }
    range.last = (uint32_t)__builtin_ctzll(rest) - bucket;
    return range;
}

static inline uint32_t line_head(const line_geometry *g, const uint8_t *line, uint32_t slot) {
    if (g->head_bytes == 4)
        return tamis__load32le(line + 4 * slot);
    return tamis__load16le(line + 2 * slot);
}

/* True if tails are not whole bytes. They are then packed as bits in the 16 bytes from tails_from on. */
static inline bool tails_packed(const line_geometry *g) {
    return g->tail_bits % 8 != 0;
}

static inline tamis__u128 line_load_tails(const line_geometry *g, const uint8_t *line) {
    const uint8_t *bytes_at = line + g->tails_from;
    return (tamis__u128)tamis__load64le(bytes_at + 8) << 64 | tamis__load64le(bytes_at);
}

static inline void line_store_tails(const line_geometry *g, uint8_t *line, tamis__u128 bits) {
    uint8_t *bytes_at = line + g->tails_from;
    tamis__store64le(bytes_at, (uint64_t)bits);
    tamis__store64le(bytes_at + 8, (uint64_t)(bits >> 64));
}

/* Writes the last 16 bytes of a line, which hold the packed tails and `ends`. Heads in these bytes become
 * zeros: the caller writes them afterwards. */
static INLINED void line_store_last(const line_geometry *g, uint8_t *line, tamis__u128 tails, uint64_t ends) {
    const tamis__u128 all_tails =
        tails << g->tails_low | (tamis__u128)((ends ^ g->ends_empty) << g->ends_shift) << 64;
    tamis__store64le(line + LINE_BYTES - 16, (uint64_t)all_tails);
    tamis__store64le(line + LINE_BYTES - 8, (uint64_t)(all_tails >> 64));
}

/* A mask of `count` ones from bit `from` on. from + count must be below 128. */
static inline tamis__u128 bit_mask(uint32_t from, uint32_t count) {
    return (((tamis__u128)1 << count) - 1) << from;
}

static inline tamis__u128 line_tail(const line_geometry *g, const uint8_t *line, uint32_t slot) {
    if (tails_packed(g))
        return (line_load_tails(g, line) >> (g->tails_low + slot * g->tail_bits)) & bit_mask(0, g->tail_bits);
    const uint32_t bytes = g->tail_bits / 8u;
    const uint8_t *bytes_at = line + g->tails_at + slot * bytes;
    if (bytes > 8) /* two overlapping loads: the shift drops the bytes that both have */
        return (tamis__u128)(tamis__load64le(bytes_at + bytes - 8) >> (8 * (16 - bytes))) << 64 |
               tamis__load64le(bytes_at);
    tamis__u128 tail = 0;
    for (uint32_t i = bytes; i-- > 0;)
        tail = tail << 8 | bytes_at[i];
    return tail;
}

static inline tamis__u128 line_slot(const line_geometry *g, const uint8_t *line, uint32_t slot) {
    if (g->tail_bits == 0)
        return line_head(g, line, slot);
    return (tamis__u128)line_head(g, line, slot) << g->tail_bits | line_tail(g, line, slot);
}

/* True if the entry matches a wanted slot value. Only bits above the entry's end mark are compared. */
static INLINED bool line_slot_matches(const line_geometry *g, const uint8_t *line, uint32_t slot,
                                      tamis__u128 wanted) {
    if (is_narrow(g)) {
        uint64_t entry = (uint64_t)line_slot(g, line, slot);
        return ((entry ^ (uint64_t)wanted) & ~(entry ^ (entry - 1))) == 0;
    }
    tamis__u128 entry = line_slot(g, line, slot);
    return ((entry ^ wanted) & ~(entry ^ (entry - 1))) == 0;
}

static INLINED bool line_find(const line_geometry *g, const uint8_t *line, slot_range range,
                              tamis__u128 wanted) {
    for (uint32_t slot = range.first; slot < range.last; slot++) {
        /* Compare the head first. If the end mark is in the tail, the head has no mark and its lowest one
         * is skipped here; line_slot_matches then compares it. */
        uint32_t head = line_head(g, line, slot), differ = head ^ (uint32_t)(wanted >> g->tail_bits);
        if (!(differ & ~(head ^ (head - 1))) && line_slot_matches(g, line, slot, wanted))
            return true;
    }
    return false;
}

/* Inserts a packed tail at `slot`: moves the tails of this slot and the slots above up by one. */
static INLINED void line_insert_packed(const line_geometry *g, uint8_t *line, uint32_t slot,
                                       tamis__u128 tail) {
    uint32_t low_bit = g->tails_low + slot * g->tail_bits;
    tamis__u128 all_tails = line_load_tails(g, line), below = bit_mask(0, low_bit);
    tamis__u128 tail_mask = bit_mask(g->tails_low, (uint32_t)g->slots * g->tail_bits);
    tamis__u128 moved = ((all_tails & tail_mask & ~below) << g->tail_bits) & tail_mask;
    line_store_tails(g, line, (all_tails & (~tail_mask | below)) | moved | tail << low_bit);
}

/* Removes a packed tail: moves the tails of the slots above `slot` down by one. */
static inline void line_remove_packed(const line_geometry *g, uint8_t *line, uint32_t slot) {
    tamis__u128 all_tails = line_load_tails(g, line), below = bit_mask(0, g->tails_low + slot * g->tail_bits);
    tamis__u128 tail_mask = bit_mask(g->tails_low, (uint32_t)g->slots * g->tail_bits);
    const tamis__u128 moved = ((all_tails & tail_mask) >> g->tail_bits) & ~below & tail_mask;
    line_store_tails(g, line, (all_tails & (~tail_mask | below)) | moved);
}

static INLINED void line_put_head(const line_geometry *g, uint8_t *line, uint32_t slot, uint32_t head) {
    if (g->head_bytes == 4) {
        tamis__store32le(line + 4 * slot, head);
    } else {
        line[2 * slot] = (uint8_t)head;
        line[2 * slot + 1] = (uint8_t)(head >> 8);
    }
}

/* Overwrites the bits of a slot. Does not change `ends`. */
static INLINED void line_put_slot(const line_geometry *g, uint8_t *line, uint32_t slot, tamis__u128 value) {
    line_put_head(g, line, slot, (uint32_t)(value >> g->tail_bits));
    if (tails_packed(g)) {
        const uint32_t low = g->tails_low + slot * g->tail_bits;
        const tamis__u128 others = line_load_tails(g, line) & ~bit_mask(low, g->tail_bits);
        line_store_tails(g, line, others | (value & bit_mask(0, g->tail_bits)) << low);
        return;
    }
    const uint32_t bytes = g->tail_bits / 8u; /* at most 12 */
    uint8_t *bytes_at = line + g->tails_at + slot * bytes;
    if (bytes > 8) { /* two overlapping stores */
        tamis__store64le(bytes_at, (uint64_t)value);
        tamis__store32le(bytes_at + bytes - 4, (uint32_t)(value >> (8 * (bytes - 4))));
        return;
    }
    for (uint32_t i = 0; i < bytes; i++, value >>= 8)
        bytes_at[i] = (uint8_t)value;
}

/* Returns `ends` with one more entry at the end of a bucket. `last` is the bucket's slot_range.last. */
static INLINED uint64_t ends_with(uint64_t ends, uint32_t bucket, uint32_t last) {
    const uint32_t end_bit = last + bucket;
    return (ends & ((UINT64_C(1) << end_bit) - 1)) | (ends >> end_bit) << (end_bit + 1);
}

/* The slot at which a value is inserted in its bucket: after all values that are not larger. */
static INLINED uint32_t line_slot_for(const line_geometry *g, const uint8_t *line, slot_range range,
                                      tamis__u128 value) {
    uint32_t slot = range.last;
    while (slot > range.first && line_slot(g, line, slot - 1) > value)
        slot--;
    return slot;
}

/* Inserts an entry into a bucket, in order of values. `range` has the bucket's slots. The line must not be
 * full. */
static INLINED void line_insert_in(const line_geometry *g, uint8_t *line, uint64_t ends, uint32_t bucket,
                                   slot_range range, tamis__u128 value) {
    uint32_t slot = line_slot_for(g, line, range, value);
    uint32_t after = ends_count(g, ends) - slot;
    uint8_t *head = line + slot * g->head_bytes;
    memmove(head + g->head_bytes, head, (size_t)after * g->head_bytes);
    if (tails_packed(g)) {
        line_put_head(g, line, slot, (uint32_t)(value >> g->tail_bits));
        line_insert_packed(g, line, slot, value & bit_mask(0, g->tail_bits));
    } else {
        uint32_t bytes = g->tail_bits / 8u;
        uint8_t *tail = line + g->tails_at + slot * bytes;
        memmove(tail + bytes, tail, (size_t)after * bytes);
        line_put_slot(g, line, slot, value);
    }
    line_set_ends(g, line, ends_with(ends, bucket, range.last));
}

static inline void line_insert(const line_geometry *g, uint8_t *line, uint32_t bucket, tamis__u128 value) {
    const uint64_t ends = line_ends(g, line);
    line_insert_in(g, line, ends, bucket, ends_bucket(ends, bucket), value);
}

/* Returns `ends` without the entry of a slot. */
static INLINED uint64_t ends_without(uint64_t ends, uint32_t bucket, uint32_t slot) {
    const uint32_t zero = slot + bucket;
    return (ends & ((UINT64_C(1) << zero) - 1)) | (ends >> (zero + 1)) << zero;
}

/* Removes the entry of a slot. The slot after the last entry keeps old bits, which have no meaning. */
static INLINED void line_remove_in(const line_geometry *g, uint8_t *line, uint64_t ends, uint32_t bucket,
                                   uint32_t slot) {
    uint32_t after = ends_count(g, ends) - 1 - slot;
    uint8_t *head = line + slot * g->head_bytes;
    memmove(head, head + g->head_bytes, (size_t)after * g->head_bytes);
    if (tails_packed(g)) {
        line_remove_packed(g, line, slot);
    } else {
        uint32_t bytes = g->tail_bits / 8u;
        uint8_t *tail = line + g->tails_at + slot * bytes;
        memmove(tail, tail + bytes, (size_t)after * bytes);
    }
    line_set_ends(g, line, ends_without(ends, bucket, slot));
}

static inline void line_remove(const line_geometry *g, uint8_t *line, uint32_t bucket, uint32_t slot) {
    line_remove_in(g, line, line_ends(g, line), bucket, slot);
}

#endif
