/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Kind cuckoo: a table of fingerprints from which keys can be removed.
 *
 * A key has a fingerprint of f bits, never 0, and two buckets of four slots. Adding it stores the fingerprint
 * in a slot of either bucket, and removing it sets that slot to 0. A key is present if one of its eight slots
 * has its fingerprint.
 *
 *     bucket a                    bucket b = sum(fingerprint) - a, modulo the number of buckets
 *     | .  F  .  . |              | .  .  .  . |        F: found in either
 *
 * Moving. If both buckets are full, an entry of one of them moves to its own other bucket, and so on. The
 * other bucket follows from the fingerprint and the bucket alone: sum(fingerprint) - bucket leads there and
 * back. So entries move without their keys. `sum` is odd and the number of buckets even: the two buckets of a
 * key have an even and an odd number, and differ. Any even number of buckets is possible, so a table has the
 * size that its keys need. An exclusive or instead of the difference would need a power of two.
 *
 * The search for a free slot goes breadth-first from both buckets: first the buckets that one move reaches,
 * then two, and so on. It changes nothing. Only when it has found a free slot, the entries on the path move,
 * the last one first. So each entry is in one of its buckets all the time. A key that finds no slot changes
 * nothing (TAMIS_E_FULL).
 *
 *     key -> a (full) --move--> c (full) --move--> e (free slot)      first c's entry to e, then a's to c
 *         -> b (full) --move--> d ...
 *
 * Copies. Two keys with equal fingerprints and buckets look alike. If the second one were not stored because
 * the lookup says that it is present, removing the first one would remove both: a false negative. So each add
 * stores a copy, and each removal removes one. A key that was added twice has to be removed twice: its first
 * removal leaves a false positive, which a filter may answer. Adding a key twice by mistake costs memory,
 * never a wrong "absent".
 *
 * At most four copies. A fifth one is not stored, and how many adds there were is not known from then on. So
 * four copies stay for ever: no removal takes one away.
 *
 *     adds, removals of one key      copies      lookup
 *     2, 1                           1           present
 *     4, 5 or more; any              4           present: kept for ever
 *
 * Why not eight, which both buckets hold: such a key would have all slots of its buckets. Two of them that
 * share a bucket would find no slot. 100 keys that came eight times filled a table for 20,000 keys. With
 * four, such a key has half of the slots, and its entries can move. Then 10,000 keys, half of which came
 * eight times, fit a table for 100,000.
 *
 * Growth. A filter that was planned without a number of keys has several tables. When all are full, one more
 * is added, with twice the buckets of the newest, or more with a size hint. A key is added to the newest table
 * that has a slot for it, so slots that removals freed are used again. A lookup asks all tables.
 *
 *     table 0     | 1024 buckets |
 *     table 1     | 2048 buckets             |
 *     table 2     | 4096 buckets                                   |     newest: most adds
 *
 * The filter does not know which table has the entry of a key, so a removal might clear the entry of another
 * key. Two keys are alike in a table if their fingerprints and buckets there are equal. Suppose that A and B
 * are alike in table 0 and not in table 1, A was added to table 0, and B to table 1. A removal of B from table
 * 0 would remove A: a false negative. Three rules prevent that:
 *
 * - Keys that are alike in a table are alike in each older one. All tables have slots of one width, so two
 *   fingerprints are equal in all of them or in none. The first bucket is 2 * floor(hash * buckets / 2), an even
 *   number, and the other one is odd. So keys are alike if fingerprints and first buckets are equal. The number
 *   of buckets is a multiple of that of each older table. So first buckets that are equal are so in each older
 *   table too.
 * - A removal clears a slot of the newest table that has the fingerprint.
 * - Four copies in one table stay for ever. A key with four copies in any table is not stored any more, and not
 *   removed.
 *
 * Why that suffices: think of each add as the owner of an entry, in a table where its key matches. A removal
 * of B clears entry E in table t. Say the add of C owns E, and the removed add of B owned entry F in table s.
 * Table s is t or an older one, by the second rule. B and C match E, so they are alike in t, and by the first
 * rule in s. So C matches F, and may own it. All other adds keep their entries. By the third rule every add has
 * an entry unless four copies of its key, which never go, are in some table.
 *
 * A table that takes no key although it is less than half full is crowded (TAMIS_FULL_CROWDED). The filter does
 * not grow then: keys that were chosen to collide would make it grow without end.
 *
 * Layout: slots of f bits, one after the other without gaps, four a bucket. Slot i has the bits from f i on
 * of the body, where bit n is bit n % 8 of byte n / 8. A slot is read and written as a word of 8 bytes: with
 * f up to 57 it lies within one. The last word may reach past the last slot, so at least 8 zero bytes follow.
 *
 * An example with f = 12: slot 3 of bucket 5 is slot 23 of the table, and begins at bit 276. That is bit 4 of
 * byte 34. The word at byte 34 is shifted by 4 and masked with 0xfff:
 *
 *     byte 34     35          36
 *          ssssxxxx ssssssss  xxxxxxxx ...         s: the slot, x: its neighbours; highest bit on the left
 *
 * A shift of up to 7 and 57 bits of a slot make 64: that is where the limit of 57 comes from.
 *
 * Lookups compare several slots at once. Four slots of up to 14 bits lie in one word, and two of up to 28
 * bits. In x, the word xor the fingerprint in each slot, an equal slot is 0. With `low` all bits of the slots
 * but their highest, (x & low) + low sets the highest bit of a slot whose other bits are not 0. So no carry
 * leaves a slot:
 *
 *     slot of x      (x & low) + low      ((x & low) + low) | x      highest bit
 *     0000           0111                 0111                       0: equal
 *     0010           1001                 1011                       1
 *     1000           0111                 1111                       1
 *
 * With hashing the keys, a lookup takes 0.6 of the time of comparing slot by slot at a rate of 1e-2, and 0.8
 * at 1e-6 (10^7 keys). In a filter of 1 MiB it takes 0.66 and 0.82. ./dev bench memory prints the times of
 * both sizes. Adds and removals need the number of the slot, and computing it from x takes back what is
 * saved.
 *
 * The rate with f = 12, at a load of 0.95: 7.6 entries in both buckets, each equal with a chance of 1 / 4095,
 * is 0.19 %. Every further bit halves it (plan/plan_cuckoo.c).
 *
 * Why not lines as in kind fingerprint: its entries know which bits of a hash they have. So the table can grow
 * without keys, and a lookup reads one table. That takes 3 to 5 bits a key more, and an entry may
 * stand for several keys, so that no key can be removed.
 *
 * Invariants:
 * 1. No false negative: a key whose adds exceed its removals has a copy, if only keys were removed that had
 *    been added.
 * 2. Each entry is in one of its two buckets of its table. So entries with equal fingerprints in one bucket are copies of
 *    keys that cannot be distinguished. The copies of a key can be counted.
 * 3. filter->added is the number of entries, and at most the capacity. The rate is that of the plan or lower.
 *    In a filter that grows, no table has more entries than its capacity, and there are at most 32 tables.
 * 4. A failed add has changed nothing.
 *
 * References: Fan, Andersen, Kaminsky, Mitzenmacher, "Cuckoo Filter: Practically Better Than Bloom" (2014);
 * buckets by a difference: Wang, Zhou, Shi, Qian, "Vacuum Filters" (2019), and filter/window/window.c.
 *
 * Measured: ./dev bench memory has the time to add, look up and remove a key.
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/system.h"
#include "filter/block_verifier.h"
#include "filter/filter_int.h"
#include "plan/plan_int.h"

enum {
    SLOTS = TAMIS__CUCKOO_SLOTS,
    BATCH = 64,            /* queries, each of a key in a table, whose buckets are fetched together */
    SEARCH_MAX = 1000,     /* buckets that a search for a free slot reads */
    HINT_BYTES = 64 << 20, /* memory that a size hint may take at least */
    TABLES_BYTES = TAMIS__CUCKOO_TABLES_MAX * TAMIS__CUCKOO_TABLE_BYTES
};

/* Masks of several slots in a word. */
typedef struct slot_masks {
    uint32_t count; /* slots in a word: 4, 2 or 1 */
    uint64_t ones;  /* lowest bit of each slot */
    uint64_t high;  /* highest bit of each slot */
    uint64_t low;   /* all other bits */
} slot_masks;

typedef struct cuckoo_table {
    uint8_t *slots;
    size_t bytes;       /* size of `slots`: a multiple of 64 */
    uint64_t buckets;   /* an even number */
    uint64_t firsts;    /* number of buckets that can be the first of a key: all, or the even ones */
    uint64_t mask;      /* f ones: largest fingerprint */
    uint32_t slot_bits; /* f */
    uint32_t step;      /* distance of two such buckets: 1 or 2 */
    slot_masks masks;
    uint64_t capacity; /* entries that it takes at most */
    uint64_t entries;
} cuckoo_table;

_Static_assert(sizeof(cuckoo_table) <= TAMIS__CUCKOO_TABLE_BYTES, "as the plan counts them");

typedef struct cuckoo {
    bool borrowed;        /* the slots belong to a file image */
    bool grows;           /* it has several tables */
    uint32_t count;       /* number of tables */
    double false_present; /* expected number of new keys that were answered present */
    cuckoo_table tables[];
} cuckoo;

/* A key in a table: its fingerprint and both buckets. */
typedef struct cuckoo_query {
    uint64_t fingerprint, a, b;
} cuckoo_query;

/* ---- buckets and slots ---- */

static inline uint64_t other_bucket(const cuckoo_table *t, uint64_t bucket, uint64_t fingerprint) {
    const uint64_t u = fingerprint * TAMIS__GOLDEN;
    const uint64_t v = (u ^ u >> 32) * UINT64_C(0xff51afd7ed558ccd);
    const uint64_t sum = 2 * tamis__mulhi(v, t->buckets / 2) + 1;
    return sum >= bucket ? sum - bucket : sum + t->buckets - bucket;
}

static inline cuckoo_query query_of(const cuckoo_table *t, const tamis_hash *hash) {
    cuckoo_query q;
    q.fingerprint = 1 + tamis__mulhi(hash->word[0], t->mask);
    q.a = tamis__mulhi(hash->word[1], t->firsts) * t->step;
    q.b = other_bucket(t, q.a, q.fingerprint);
    return q;
}

static inline uint64_t bit_of(const cuckoo_table *t, uint64_t bucket, uint32_t slot) {
    return (SLOTS * bucket + slot) * t->slot_bits;
}

static inline uint64_t slot_get(const cuckoo_table *t, uint64_t bucket, uint32_t slot) {
    const uint64_t bit = bit_of(t, bucket, slot);
    return tamis__load64le(t->slots + (bit >> 3)) >> (bit & 7) & t->mask;
}

static inline void slot_put(cuckoo_table *t, uint64_t bucket, uint32_t slot, uint64_t value) {
    const uint64_t bit = bit_of(t, bucket, slot);
    uint8_t *word = t->slots + (bit >> 3);
    tamis__store64le(word, (tamis__load64le(word) & ~(t->mask << (bit & 7))) | value << (bit & 7));
}

/* The slots of a bucket that have a value, one bit each. */
static inline uint32_t slots_with(const cuckoo_table *t, uint64_t bucket, uint64_t value) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        found |= (uint32_t)(slot_get(t, bucket, i) == value) << i;
    return found;
}

/* The slots of both buckets that have the fingerprint of the query: those of `b` are bits 4 to 7. */
static inline uint32_t slots_of(const cuckoo_table *t, const cuckoo_query *q) {
    return slots_with(t, q->a, q->fingerprint) | slots_with(t, q->b, q->fingerprint) << SLOTS;
}

/* True if a slot of the bucket has the value. */
static inline bool has_value(const cuckoo_table *t, uint64_t bucket, uint64_t value) {
    const slot_masks *m = &t->masks;
    uint64_t equal = 0; /* highest bits of equal slots */
    for (uint32_t i = 0; i < SLOTS; i += m->count) {
        const uint64_t bit = bit_of(t, bucket, i);
        const uint64_t word = tamis__load64le(t->slots + (bit >> 3)) >> (bit & 7);
        const uint64_t x = (word ^ value * m->ones) & (m->low | m->high);
        equal |= ~(((x & m->low) + m->low) | x) & m->high;
    }
    return equal != 0;
}

/* True if a slot of either bucket has the fingerprint of the query. Both buckets are always compared: which
 * one has it cannot be predicted. */
static inline bool is_present(const cuckoo_table *t, const cuckoo_query *q) {
    if (t->masks.count == 1)
        return slots_of(t, q) != 0;
    const bool in_a = has_value(t, q->a, q->fingerprint), in_b = has_value(t, q->b, q->fingerprint);
    return in_a | in_b;
}

/* True if so many copies are kept for ever. */
static inline bool are_kept(uint32_t copies) {
    return __builtin_popcount(copies) >= TAMIS__CUCKOO_COPIES_MAX;
}

/* The first and the last byte of a bucket. */
static inline const uint8_t *first_byte(const cuckoo_table *t, uint64_t bucket) {
    return t->slots + bit_of(t, bucket, 0) / 8;
}

static inline const uint8_t *last_byte(const cuckoo_table *t, uint64_t bucket) {
    return t->slots + (bit_of(t, bucket, SLOTS) - 1) / 8;
}

/* Returns how many keys prepare() takes at once, and how many of `left` it is to take. */
static inline size_t keys_at_once(const cuckoo *c) {
    return BATCH / c->count;
}

static inline size_t next_keys(const cuckoo *c, size_t left) {
    return left < keys_at_once(c) ? left : keys_at_once(c);
}

/* Makes the queries of up to keys_at_once() keys, one for each table, and fetches their buckets. The prefetches
 * are in place, since gcc 12 removes calls of a function that only prefetches. */
static void prepare(const cuckoo *c, const tamis_hash *hashes, size_t count, cuckoo_query queries[BATCH]) {
    for (size_t i = 0; i < count; i++)
        for (uint32_t n = 0; n < c->count; n++, queries++) {
            const cuckoo_table *t = &c->tables[n];
            *queries = query_of(t, &hashes[i]);
            tamis__prefetch(first_byte(t, queries->a));
            tamis__prefetch(last_byte(t, queries->a));
            tamis__prefetch(first_byte(t, queries->b));
            tamis__prefetch(last_byte(t, queries->b));
        }
}

/* The average number of entries that a lookup compares with its fingerprint. */
static double compared_entries(const cuckoo *c) {
    double compared = 0;
    for (uint32_t i = 0; i < c->count; i++)
        compared += 2 * (double)c->tables[i].entries / (double)c->tables[i].buckets;
    return compared;
}

/* ---- a free slot ---- */

/* A bucket that the search reached. */
typedef struct search_step {
    uint64_t bucket;
    uint16_t from; /* step of the bucket from which an entry would move to this one */
    uint8_t slot;  /* slot of that entry */
} search_step;

/* True if the bucket of a step is on its own path already. An entry on such a path would move twice.
 *
 * Such a path is of no use: what lies behind a bucket is reached from its first visit, by fewer moves. And
 * move_entries relies on slots that nobody has changed since the search read them. Paths are short: 5 moves
 * reach more than SEARCH_MAX buckets (2, 8, 32, 128, 512, 2048), so walking back is cheap. */
static bool repeats(const search_step *steps, uint32_t step) {
    const uint64_t bucket = steps[step].bucket;
    while (step > 1) {
        step = steps[step].from;
        if (steps[step].bucket == bucket)
            return true;
    }
    return false;
}

/* Moves the entries on the path to a step, whose bucket has a free slot. Returns the slot that becomes
 * free in the first bucket of the path, and stores that bucket. */
static uint32_t move_entries(cuckoo_table *t, const search_step *steps, uint32_t step, uint32_t slot,
                             uint64_t *bucket) {
    while (step > 1) {
        const search_step *to = &steps[step];
        slot_put(t, to->bucket, slot, slot_get(t, steps[to->from].bucket, to->slot));
        slot = to->slot;
        step = to->from;
    }
    *bucket = steps[step].bucket;
    return slot;
}

/* Finds a slot for a key, and frees it if need be. The slot still has its old value then. False: there is
 * none, and nothing has changed. */
static bool find_slot(cuckoo_table *t, const cuckoo_query *q, uint64_t *bucket, uint32_t *slot) {
    search_step steps[SEARCH_MAX + 2 * SLOTS];
    uint32_t count = 2;
    steps[0] = (search_step){.bucket = q->a};
    steps[1] = (search_step){.bucket = q->b};
    for (uint32_t i = 0; i < count && i < SEARCH_MAX; i++) {
        const uint64_t from = steps[i].bucket;
        const uint32_t unused = slots_with(t, from, 0);
        if (repeats(steps, i))
            continue;
        if (unused) {
            *slot = move_entries(t, steps, i, (uint32_t)__builtin_ctz(unused), bucket);
            return true;
        }
        for (uint32_t n = 0; n < SLOTS && count < SEARCH_MAX; n++, count++) {
            const uint64_t next = other_bucket(t, from, slot_get(t, from, n));
            steps[count] = (search_step){next, (uint16_t)i, (uint8_t)n};
            tamis__prefetch(first_byte(t, next));
            tamis__prefetch(last_byte(t, next));
        }
    }
    return false;
}

/* ---- tables ---- */

static size_t body_bytes(bool grows) {
    return sizeof(cuckoo) + (grows ? TAMIS__CUCKOO_TABLES_MAX : 1) * sizeof(cuckoo_table);
}

static slot_masks masks_of(uint32_t slot_bits) {
    slot_masks masks = {.count = 4 * slot_bits <= 56 ? 4 : 2 * slot_bits <= 56 ? 2 : 1};
    for (uint32_t i = 0; i < masks.count; i++)
        masks.ones |= UINT64_C(1) << i * slot_bits;
    masks.high = masks.ones << (slot_bits - 1);
    masks.low = masks.high - masks.ones;
    return masks;
}

/* The table of a plan, or, if the filter grows, one with so many buckets. It has no slots yet. */
static cuckoo_table make_table(const tamis_plan *plan, uint64_t buckets) {
    const bool grows = tamis__plan_grows(plan);
    cuckoo_table t = {.buckets = grows ? buckets : tamis__cuckoo_buckets(plan),
                      .slot_bits = plan->slot_bits,
                      .mask = (UINT64_C(1) << plan->slot_bits) - 1,
                      .step = grows ? 2 : 1,
                      .masks = masks_of(plan->slot_bits)};
    t.bytes = (size_t)tamis__cuckoo_bytes(t.buckets * SLOTS * t.slot_bits);
    t.firsts = t.buckets / t.step;
    t.capacity = grows ? tamis__cuckoo_capacity(t.buckets) : plan->capacity;
    return t;
}

/* Adds a table, whose slots are allocated. */
static tamis_status append_table(tamis_filter *filter, uint64_t buckets, tamis_error *err) {
    cuckoo *c = filter->body;
    cuckoo_table t = make_table(&filter->plan, buckets);
    t.slots = tamis__filter_alloc(filter, t.bytes);
    if (!t.slots)
        return tamis__fail_nomem(err, "filter", t.bytes);
    tamis__advise_large(t.slots, t.bytes);
    c->tables[c->count++] = t;
    return TAMIS_OK;
}

static void release_tables(tamis_filter *filter) {
    cuckoo *c = filter->body;
    for (; c->count > 0; c->count--)
        if (!c->borrowed)
            tamis__filter_release(filter, c->tables[c->count - 1].slots, c->tables[c->count - 1].bytes);
}

/* True if another table of so many buckets keeps the memory limit. */
static bool is_allowed(const tamis_filter *filter, uint64_t buckets) {
    const uint64_t bytes = tamis__cuckoo_bytes(buckets * SLOTS * filter->plan.slot_bits);
    const uint64_t limit = filter->plan.memory_limit, memory = filter->tally.memory;
    return limit == 0 || (memory <= limit && bytes <= limit - memory);
}

/* The buckets of the next table: twice those of the newest. More, if the size hint says so, but at most four
 * times the present memory, or 64 MiB. As many as in the newest, if the memory limit does not allow more. */
static uint64_t next_buckets(const tamis_filter *filter) {
    const cuckoo *c = filter->body;
    const uint64_t newest = c->tables[c->count - 1].buckets, memory = 4 * filter->tally.memory;
    const uint64_t more = filter->size_hint > filter->added ? filter->size_hint - filter->added : 0;
    const uint64_t max = memory > HINT_BYTES ? memory : HINT_BYTES;
    uint64_t buckets = 2 * newest;
    while (tamis__cuckoo_capacity(buckets) < more && buckets * filter->plan.slot_bits <= max)
        buckets *= 2; /* four slots of 2 * buckets take buckets * slot_bits bytes */
    while (buckets > newest && !is_allowed(filter, buckets))
        buckets /= 2;
    return buckets;
}

/* Adds a table, if the filter may grow. TAMIS_E_FULL: filter->full says why it may not. */
static tamis_status grow(tamis_filter *filter, tamis_error *err) {
    const cuckoo *c = filter->body;
    const cuckoo_table *newest = &c->tables[c->count - 1];
    if (!c->grows)
        return tamis__filter_full(
            filter, newest->entries < newest->capacity ? TAMIS_FULL_CROWDED : TAMIS_FULL_CAPACITY, err);
    if (newest->entries < newest->capacity / 2)
        return tamis__filter_full(filter, TAMIS_FULL_CROWDED, err);
    if (c->count == TAMIS__CUCKOO_TABLES_MAX)
        return tamis__filter_full(filter, TAMIS_FULL_RATE, err);
    const uint64_t buckets = next_buckets(filter);
    if (!is_allowed(filter, buckets))
        return tamis__filter_full(filter, TAMIS_FULL_MEMORY, err);
    return append_table(filter, buckets, err);
}

/* ---- operations on keys ---- */

/* The copies of a key in all tables. */
typedef struct key_copies {
    bool found;             /* there is a copy */
    bool kept;              /* its copies are kept for ever */
    uint32_t newest, slots; /* newest table with a copy, and its slots with one */
} key_copies;

static inline key_copies find_copies(const cuckoo *c, const cuckoo_query *queries) {
    key_copies copies = {false, false, 0, 0};
    for (uint32_t i = 0; i < c->count; i++) {
        const uint32_t slots = slots_of(&c->tables[i], &queries[i]);
        copies.kept |= are_kept(slots);
        if (slots)
            copies = (key_copies){true, copies.kept, i, slots};
    }
    return copies;
}

/* Stores a copy in the newest table that has a slot for it. False: none has. */
static bool store_copy(cuckoo *c, const cuckoo_query *queries) {
    uint64_t bucket;
    uint32_t slot;
    for (uint32_t i = c->count; i-- > 0;) {
        cuckoo_table *t = &c->tables[i];
        if (t->entries >= t->capacity || !find_slot(t, &queries[i], &bucket, &slot))
            continue;
        slot_put(t, bucket, slot, queries[i].fingerprint);
        t->entries++;
        return true;
    }
    return false;
}

/* Adds a copy of a key, and answers it. False: it does not fit. */
static bool add_copy(tamis_filter *filter, const cuckoo_query *queries, tamis_answer *answer) {
    cuckoo *c = filter->body;
    const key_copies copies = find_copies(c, queries);
    const double compared = copies.found ? 0 : compared_entries(c);
    if (!copies.kept) {
        if (!store_copy(c, queries))
            return false;
        c->false_present += compared / (double)c->tables[0].mask;
        filter->added++;
    }
    *answer = copies.found ? TAMIS_PRESENT : TAMIS_ABSENT;
    return true;
}

static tamis_status add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done, tamis_error *err) {
    const cuckoo *c = filter->body;
    cuckoo_query queries[BATCH];
    tamis_status status = TAMIS_OK;
    for (*done = 0; *done < batch->count && status == TAMIS_OK;) {
        const size_t count = next_keys(c, batch->count - *done);
        const cuckoo_query *q = queries;
        prepare(c, batch->hashes + *done, count, queries);
        for (size_t i = 0; i < count && add_copy(filter, q, &batch->answers[*done]); i++, ++*done)
            q += c->count;
        if (q < queries + count * c->count)
            status = grow(filter, err); /* the next queries have the new table too */
    }
    return status;
}

static void contains(const tamis_filter *filter, const tamis__key_batch *batch) {
    const cuckoo *c = filter->body;
    cuckoo_query queries[BATCH];
    for (size_t from = 0, count; from < batch->count; from += count) {
        const cuckoo_query *q = queries;
        count = next_keys(c, batch->count - from);
        prepare(c, batch->hashes + from, count, queries);
        for (size_t i = 0; i < count; i++) {
            bool present = false;
            for (uint32_t n = 0; n < c->count; n++, q++)
                present |= is_present(&c->tables[n], q);
            batch->answers[from + i] = present ? TAMIS_PRESENT : TAMIS_ABSENT;
        }
    }
}

/* Removes a copy of a key from the newest table that has one, unless its copies are kept for ever. False: the
 * key is absent. */
static bool remove_copy(tamis_filter *filter, const cuckoo_query *queries) {
    cuckoo *c = filter->body;
    const key_copies copies = find_copies(c, queries);
    if (!copies.found || copies.kept)
        return copies.found;
    cuckoo_table *t = &c->tables[copies.newest];
    const cuckoo_query *q = &queries[copies.newest];
    const uint32_t slot = (uint32_t)__builtin_ctz(copies.slots);
    slot_put(t, slot < SLOTS ? q->a : q->b, slot % SLOTS, 0);
    t->entries--;
    filter->added--;
    return true;
}

static void remove_keys(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers) {
    const cuckoo *c = filter->body;
    cuckoo_query queries[BATCH];
    for (size_t from = 0, n; from < count; from += n) {
        n = next_keys(c, count - from);
        prepare(c, hashes + from, n, queries);
        for (size_t i = 0; i < n; i++)
            answers[from + i] = remove_copy(filter, &queries[i * c->count]) ? TAMIS_PRESENT : TAMIS_ABSENT;
    }
}

static uint32_t count_copies(const tamis_filter *filter, const tamis_hash *hash) {
    const cuckoo *c = filter->body;
    uint32_t copies = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        const cuckoo_query q = query_of(&c->tables[i], hash);
        copies += (uint32_t)__builtin_popcount(slots_of(&c->tables[i], &q));
    }
    return copies;
}

/* ---- the handle's operations ---- */

/* Makes the body without tables. The plan is checked. */
static tamis_status create_empty(tamis_filter *filter, cuckoo **created, tamis_error *err) {
    const bool grows = tamis__plan_grows(&filter->plan);
    const size_t size = body_bytes(grows);
    cuckoo *c = tamis__alloc(&filter->allocator, size, _Alignof(cuckoo));
    if (!c)
        return tamis__fail_nomem(err, "filter", size);
    tamis__filter_count_alloc(filter, grows ? TABLES_BYTES : 0);
    filter->body = c;
    c->grows = grows;
    *created = c;
    return TAMIS_OK;
}

static tamis_status init_body(tamis_filter *filter, tamis_error *err) {
    cuckoo *c = NULL;
    const tamis_status status = create_empty(filter, &c, err);
    return status == TAMIS_OK ? append_table(filter, TAMIS__CUCKOO_FIRST_BUCKETS, err) : status;
}

static void release_body(tamis_filter *filter) {
    cuckoo *c = filter->body;
    if (!c)
        return;
    release_tables(filter);
    tamis__filter_count_release(filter, c->grows ? TABLES_BYTES : 0);
    tamis__free(&filter->allocator, c, body_bytes(c->grows));
    filter->body = NULL;
}

static void clear(tamis_filter *filter) {
    cuckoo *c = filter->body;
    for (uint32_t i = 0; i < c->count; i++) {
        memset(c->tables[i].slots, 0, c->tables[i].bytes);
        c->tables[i].entries = 0;
    }
    c->false_present = 0;
}

static uint64_t count_entries(const cuckoo_table *t) {
    uint64_t entries = 0;
    for (uint64_t bucket = 0; bucket < t->buckets; bucket++)
        entries += SLOTS - (unsigned)__builtin_popcount(slots_with(t, bucket, 0));
    return entries;
}

/* A file may say that it has other entries than it has. Adds and removals rely on the number, so it is
 * counted when a file is copied to be changed. */
static tamis_status check_entries(const tamis_filter *filter, tamis_error *err) {
    const cuckoo *c = filter->body;
    for (uint32_t i = 0; c->borrowed && i < c->count; i++) {
        const uint64_t entries = count_entries(&c->tables[i]);
        if (entries != c->tables[i].entries)
            return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                               "%s: added is %" PRIu64 ", but the %s has %" PRIu64
                               " entries; restore the file from a copy, or build it anew",
                               tamis__block_verifier_name(filter->verifier), c->tables[i].entries,
                               c->grows ? "table" : "filter", entries);
    }
    return TAMIS_OK;
}

static tamis_status copy(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    cuckoo *mine = to->body;
    const cuckoo *other = from->body;
    tamis_status status = check_entries(from, err);
    if (mine->grows) /* the copy was made with its first table only */
        release_tables(to);
    for (uint32_t i = mine->count; i < other->count && status == TAMIS_OK; i++)
        status = append_table(to, other->tables[i].buckets, err);
    if (status != TAMIS_OK)
        return status;
    for (uint32_t i = 0; i < mine->count; i++) {
        memcpy(mine->tables[i].slots, other->tables[i].slots, mine->tables[i].bytes);
        mine->tables[i].entries = other->tables[i].entries;
    }
    mine->false_present = other->false_present;
    return TAMIS_OK;
}

static void estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const cuckoo *c = filter->body;
    info->cardinality = (double)filter->added;
    info->fpr_live = tamis__cuckoo_fpr(compared_entries(c) / 2, 1, c->tables[0].slot_bits);
    info->false_present = c->false_present;
    info->subfilters = c->grows ? c->count : 0;
}

/* ---- files ---- */

static bool body_extent(const tamis_filter *filter, size_t i, tamis__body_extent *out) {
    const cuckoo *c = filter->body;
    if (i >= c->count)
        return false;
    const cuckoo_table *t = &c->tables[i];
    *out = (tamis__body_extent){
        .bytes = t->slots, .size = t->bytes, .entries = t->entries, .buckets = c->grows ? t->buckets : 0};
    return true;
}

static tamis_status fail_image(const tamis__image *image, const char *field, uint64_t value,
                               tamis_error *err) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "%s: %s is %" PRIu64
                       ", which no cuckoo filter of its sizes has; restore the file from a copy, or build it "
                       "anew",
                       image->name, field, value);
}

/* Restores the tables of a filter that grows. Their sizes come from the file. Each is bounded by the body
 * before it is used, and the body must be used up. */
static tamis_status restore_tables(tamis_filter *filter, const tamis__image *image, tamis_error *err) {
    const uint64_t bucket_bits = SLOTS * (uint64_t)filter->plan.slot_bits;
    cuckoo *c = filter->body;
    uint64_t offset = 0, entries = 0;
    if (image->extent_count == 0 || image->extent_count > TAMIS__CUCKOO_TABLES_MAX)
        return fail_image(image, "the number of tables", image->extent_count, err);
    for (size_t i = 0; i < image->extent_count; i++) {
        const tamis__body_extent *row = &image->extents[i];
        const uint64_t buckets = row->buckets, older = i > 0 ? c->tables[i - 1].buckets : 2;
        if (buckets == 0 || buckets % older != 0 || buckets > TAMIS_BITS_MAX / bucket_bits)
            return fail_image(image, "buckets", buckets, err);
        cuckoo_table t = make_table(&filter->plan, buckets);
        if (t.bytes > image->body_size - offset)
            return fail_image(image, "buckets", buckets, err);
        if (row->entries > SLOTS * buckets)
            return fail_image(image, "entries", row->entries, err);
        t.slots = (uint8_t *)(uintptr_t)image->body + offset; /* only read: a filter is changed in a copy */
        t.entries = row->entries;
        c->tables[c->count++] = t;
        offset += t.bytes;
        entries += row->entries;
    }
    if (offset != image->body_size)
        return fail_image(image, "body_size", image->body_size, err);
    return filter->added == entries ? TAMIS_OK : fail_image(image, "added", filter->added, err);
}

/* Restores from an image, whose body is the slots and the zeros behind them.
 *
 * No number of a file is trusted that leads to an address. The number of buckets follows from `bits` and
 * `slot_bits`, which must fit the body. `added` is compared with the capacity only: lookups do not need it,
 * and copy counts the entries before a filter is changed. So opening a file reads none of its slots. */
static tamis_status restore(tamis_filter *filter, const tamis__image *image, tamis_error *err) {
    cuckoo *c = NULL;
    uint64_t value;
    const char *field = tamis__plan_check_cuckoo(&filter->plan, &value);
    if (field)
        return fail_image(image, field, value, err);
    const tamis_status status = create_empty(filter, &c, err);
    if (status != TAMIS_OK)
        return status;
    c->borrowed = true;
    c->false_present = image->false_present;
    if (c->grows)
        return restore_tables(filter, image, err);
    if (image->body_size != tamis__cuckoo_bytes(filter->plan.bits))
        return fail_image(image, "body_size", image->body_size, err);
    if (filter->added > filter->plan.capacity)
        return fail_image(image, "added", filter->added, err);
    c->tables[0] = make_table(&filter->plan, 0);
    c->tables[0].slots = (uint8_t *)(uintptr_t)image->body; /* only read */
    c->tables[0].entries = filter->added;
    c->count = 1;
    return TAMIS_OK;
}

static bool has_zeros_behind(const cuckoo_table *t, const uint8_t *from, const uint8_t *to) {
    const uint64_t bits = t->buckets * SLOTS * t->slot_bits;
    const uint8_t *end = t->slots + bits / 8, *pos = from > end ? from : end;
    uint32_t used = pos == end ? (uint32_t)(bits % 8) : 0;
    for (to = to < t->slots + t->bytes ? to : t->slots + t->bytes; pos < to; pos++, used = 0)
        if (*pos >> used)
            return false;
    return true;
}

/* Any slots are valid: they lead to buckets of the table. What follows them must be zero. */
bool tamis__cuckoo_valid(const void *context, const uint8_t *bytes, uint64_t size) {
    const cuckoo *c = context;
    for (uint32_t i = 0; i < c->count; i++)
        if (!has_zeros_behind(&c->tables[i], bytes, bytes + size))
            return false;
    return true;
}

static tamis_status touch_bucket(const tamis_filter *filter, const cuckoo_table *t, uint64_t bucket,
                                 tamis_error *err) {
    const tamis_status status = tamis__block_verifier_check(filter->verifier, first_byte(t, bucket), err);
    return status == TAMIS_OK ? tamis__block_verifier_check(filter->verifier, last_byte(t, bucket), err)
                              : status;
}

static tamis_status touch(const tamis_filter *filter, const tamis__key_batch *batch, tamis_error *err) {
    const cuckoo *c = filter->body;
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < batch->count; i++)
        for (uint32_t n = 0; n < c->count && status == TAMIS_OK; n++) {
            const cuckoo_query q = query_of(&c->tables[n], &batch->hashes[i]);
            status = touch_bucket(filter, &c->tables[n], q.a, err);
            if (status == TAMIS_OK)
                status = touch_bucket(filter, &c->tables[n], q.b, err);
        }
    return status;
}

const struct tamis__filter_ops tamis__cuckoo_ops = {
    .init = init_body,
    .release = release_body,
    .add = add,
    .contains = contains,
    .remove = remove_keys,
    .copies = count_copies,
    .estimate = estimate,
    .clear = clear,
    .copy = copy,
    .body_extent = body_extent,
    .restore = restore,
    .touch = touch,
};
