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
 * Why not lines as in kind fingerprint: its entries know which bits of a hash they have, so that the table
 * can grow without keys. That takes 3 to 5 bits a key more, and an entry may stand for several keys. A table
 * that does not grow needs neither.
 *
 * Invariants:
 * 1. No false negative: a key whose adds exceed its removals has a copy, if only keys were removed that had
 *    been added.
 * 2. Each entry is in one of its two buckets. So entries with equal fingerprints in one bucket are copies of
 *    keys that cannot be distinguished. The copies of a key can be counted.
 * 3. filter->added is the number of entries, and at most the capacity. The rate is that of the plan or lower.
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
    BATCH = 64,       /* keys whose buckets are fetched together */
    SEARCH_MAX = 1000 /* buckets that a search for a free slot reads */
};

/* Masks of several slots in a word. */
typedef struct slot_masks {
    uint32_t count; /* slots in a word: 4, 2 or 1 */
    uint64_t ones;  /* lowest bit of each slot */
    uint64_t high;  /* highest bit of each slot */
    uint64_t low;   /* all other bits */
} slot_masks;

typedef struct cuckoo {
    uint8_t *slots;
    size_t bytes;       /* size of `slots`: a multiple of 64 */
    uint64_t buckets;   /* an even number */
    uint32_t slot_bits; /* f */
    uint64_t mask;      /* f ones: largest fingerprint */
    slot_masks masks;
    bool borrowed;        /* the slots belong to a file image */
    double false_present; /* expected number of new keys that were answered present */
} cuckoo;

/* A key: its fingerprint and both buckets. */
typedef struct cuckoo_query {
    uint64_t fingerprint, a, b;
} cuckoo_query;

/* ---- buckets and slots ---- */

static inline uint64_t other_bucket(const cuckoo *c, uint64_t bucket, uint64_t fingerprint) {
    const uint64_t u = fingerprint * TAMIS__GOLDEN;
    const uint64_t v = (u ^ u >> 32) * UINT64_C(0xff51afd7ed558ccd);
    const uint64_t sum = 2 * tamis__mulhi(v, c->buckets / 2) + 1;
    return sum >= bucket ? sum - bucket : sum + c->buckets - bucket;
}

static inline cuckoo_query query_of(const cuckoo *c, const tamis_hash *hash) {
    cuckoo_query q;
    q.fingerprint = 1 + tamis__mulhi(hash->word[0], c->mask);
    q.a = tamis__mulhi(hash->word[1], c->buckets);
    q.b = other_bucket(c, q.a, q.fingerprint);
    return q;
}

static inline uint64_t bit_of(const cuckoo *c, uint64_t bucket, uint32_t slot) {
    return (SLOTS * bucket + slot) * c->slot_bits;
}

static inline uint64_t slot_get(const cuckoo *c, uint64_t bucket, uint32_t slot) {
    const uint64_t bit = bit_of(c, bucket, slot);
    return tamis__load64le(c->slots + (bit >> 3)) >> (bit & 7) & c->mask;
}

static inline void slot_put(cuckoo *c, uint64_t bucket, uint32_t slot, uint64_t value) {
    const uint64_t bit = bit_of(c, bucket, slot);
    uint8_t *word = c->slots + (bit >> 3);
    tamis__store64le(word, (tamis__load64le(word) & ~(c->mask << (bit & 7))) | value << (bit & 7));
}

/* The slots of a bucket that have a value, one bit each. */
static inline uint32_t slots_with(const cuckoo *c, uint64_t bucket, uint64_t value) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < SLOTS; i++)
        found |= (uint32_t)(slot_get(c, bucket, i) == value) << i;
    return found;
}

/* The slots of both buckets that have the fingerprint of the query: those of `b` are bits 4 to 7. */
static inline uint32_t slots_of(const cuckoo *c, const cuckoo_query *q) {
    return slots_with(c, q->a, q->fingerprint) | slots_with(c, q->b, q->fingerprint) << SLOTS;
}

/* True if a slot of the bucket has the value. */
static inline bool has_value(const cuckoo *c, uint64_t bucket, uint64_t value) {
    const slot_masks *m = &c->masks;
    uint64_t equal = 0; /* highest bits of equal slots */
    for (uint32_t i = 0; i < SLOTS; i += m->count) {
        const uint64_t bit = bit_of(c, bucket, i);
        const uint64_t word = tamis__load64le(c->slots + (bit >> 3)) >> (bit & 7);
        const uint64_t x = (word ^ value * m->ones) & (m->low | m->high);
        equal |= ~(((x & m->low) + m->low) | x) & m->high;
    }
    return equal != 0;
}

/* True if a slot of either bucket has the fingerprint of the query. Both buckets are always compared: which
 * one has it cannot be predicted. */
static inline bool is_present(const cuckoo *c, const cuckoo_query *q) {
    if (c->masks.count == 1)
        return slots_of(c, q) != 0;
    const bool in_a = has_value(c, q->a, q->fingerprint), in_b = has_value(c, q->b, q->fingerprint);
    return in_a | in_b;
}

/* True if so many copies are kept for ever. */
static inline bool are_kept(uint32_t copies) {
    return __builtin_popcount(copies) >= TAMIS__CUCKOO_COPIES_MAX;
}

/* The first and the last byte of a bucket. */
static inline const uint8_t *first_byte(const cuckoo *c, uint64_t bucket) {
    return c->slots + bit_of(c, bucket, 0) / 8;
}

static inline const uint8_t *last_byte(const cuckoo *c, uint64_t bucket) {
    return c->slots + (bit_of(c, bucket, SLOTS) - 1) / 8;
}

/* Makes the queries of up to BATCH keys, and fetches their buckets. The prefetches are in place, since gcc 12
 * removes calls of a function that only prefetches. */
static void prepare(const cuckoo *c, const tamis_hash *hashes, size_t count, cuckoo_query queries[BATCH]) {
    for (size_t i = 0; i < count; i++) {
        queries[i] = query_of(c, &hashes[i]);
        tamis__prefetch(first_byte(c, queries[i].a));
        tamis__prefetch(last_byte(c, queries[i].a));
        tamis__prefetch(first_byte(c, queries[i].b));
        tamis__prefetch(last_byte(c, queries[i].b));
    }
}

/* The rate of a lookup now. */
static double rate_of(const tamis_filter *filter) {
    const cuckoo *c = filter->body;
    return tamis__cuckoo_fpr((double)filter->added, (double)c->buckets, c->slot_bits);
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
static uint32_t move_entries(cuckoo *c, const search_step *steps, uint32_t step, uint32_t slot,
                             uint64_t *bucket) {
    while (step > 1) {
        const search_step *to = &steps[step];
        slot_put(c, to->bucket, slot, slot_get(c, steps[to->from].bucket, to->slot));
        slot = to->slot;
        step = to->from;
    }
    *bucket = steps[step].bucket;
    return slot;
}

/* Finds a slot for a key, and frees it if need be. The slot still has its old value then. False: there is
 * none, and nothing has changed. */
static bool find_slot(cuckoo *c, const cuckoo_query *q, uint64_t *bucket, uint32_t *slot) {
    search_step steps[SEARCH_MAX + 2 * SLOTS];
    uint32_t count = 2;
    steps[0] = (search_step){.bucket = q->a};
    steps[1] = (search_step){.bucket = q->b};
    for (uint32_t i = 0; i < count && i < SEARCH_MAX; i++) {
        const uint64_t from = steps[i].bucket;
        const uint32_t unused = slots_with(c, from, 0);
        if (repeats(steps, i))
            continue;
        if (unused) {
            *slot = move_entries(c, steps, i, (uint32_t)__builtin_ctz(unused), bucket);
            return true;
        }
        for (uint32_t n = 0; n < SLOTS && count < SEARCH_MAX; n++, count++) {
            const uint64_t next = other_bucket(c, from, slot_get(c, from, n));
            steps[count] = (search_step){next, (uint16_t)i, (uint8_t)n};
            tamis__prefetch(first_byte(c, next));
            tamis__prefetch(last_byte(c, next));
        }
    }
    return false;
}

/* ---- operations on keys ---- */

/* Adds a copy of a key, and answers it. False: it does not fit. */
static bool add_copy(tamis_filter *filter, const cuckoo_query *q, tamis_answer *answer) {
    cuckoo *c = filter->body;
    const uint32_t copies = slots_of(c, q);
    uint64_t bucket;
    uint32_t slot;
    if (!are_kept(copies)) {
        const bool at_capacity = filter->added >= filter->plan.capacity;
        if (at_capacity || !find_slot(c, q, &bucket, &slot)) {
            filter->full = at_capacity ? TAMIS_FULL_CAPACITY : TAMIS_FULL_CROWDED;
            return false;
        }
        slot_put(c, bucket, slot, q->fingerprint);
        c->false_present += copies ? 0 : 2 * (double)filter->added / (double)c->buckets / (double)c->mask;
        filter->added++;
    }
    *answer = copies ? TAMIS_PRESENT : TAMIS_ABSENT;
    return true;
}

static tamis_status add(tamis_filter *filter, const tamis__key_batch *batch, size_t *done, tamis_error *err) {
    cuckoo_query queries[BATCH];
    for (*done = 0; *done < batch->count; ++*done) {
        const size_t left = batch->count - *done;
        if (*done % BATCH == 0)
            prepare(filter->body, batch->hashes + *done, left < BATCH ? left : BATCH, queries);
        if (!add_copy(filter, &queries[*done % BATCH], &batch->answers[*done]))
            return tamis__filter_full(filter, filter->full, err);
    }
    return TAMIS_OK;
}

static void contains(const tamis_filter *filter, const tamis__key_batch *batch) {
    const cuckoo *c = filter->body;
    cuckoo_query queries[BATCH];
    for (size_t from = 0; from < batch->count; from += BATCH) {
        const size_t left = batch->count - from, size = left < BATCH ? left : BATCH;
        prepare(c, batch->hashes + from, size, queries);
        for (size_t i = 0; i < size; i++)
            batch->answers[from + i] = is_present(c, &queries[i]) ? TAMIS_PRESENT : TAMIS_ABSENT;
    }
}

/* Removes a copy of a key, unless its copies are kept for ever. False: the key is absent. */
static bool remove_copy(tamis_filter *filter, const cuckoo_query *q) {
    cuckoo *c = filter->body;
    const uint32_t copies = slots_of(c, q);
    if (copies == 0 || are_kept(copies))
        return copies != 0;
    const uint32_t slot = (uint32_t)__builtin_ctz(copies);
    slot_put(c, slot < SLOTS ? q->a : q->b, slot % SLOTS, 0);
    filter->added--;
    return true;
}

static void remove_keys(tamis_filter *filter, const tamis_hash *hashes, size_t count, tamis_answer *answers) {
    cuckoo_query queries[BATCH];
    for (size_t i = 0; i < count; i++) {
        if (i % BATCH == 0)
            prepare(filter->body, hashes + i, count - i < BATCH ? count - i : BATCH, queries);
        answers[i] = remove_copy(filter, &queries[i % BATCH]) ? TAMIS_PRESENT : TAMIS_ABSENT;
    }
}

static uint32_t count_copies(const tamis_filter *filter, const tamis_hash *hash) {
    const cuckoo *c = filter->body;
    const cuckoo_query q = query_of(c, hash);
    return (uint32_t)__builtin_popcount(slots_of(c, &q));
}

/* ---- the handle's operations ---- */

static slot_masks masks_of(uint32_t slot_bits) {
    slot_masks masks = {.count = 4 * slot_bits <= 56 ? 4 : 2 * slot_bits <= 56 ? 2 : 1};
    for (uint32_t i = 0; i < masks.count; i++)
        masks.ones |= UINT64_C(1) << i * slot_bits;
    masks.high = masks.ones << (slot_bits - 1);
    masks.low = masks.high - masks.ones;
    return masks;
}

/* Makes the body without its slots. The plan is checked. */
static tamis_status create_empty(tamis_filter *filter, cuckoo **created, tamis_error *err) {
    cuckoo *c = tamis__alloc(&filter->allocator, sizeof *c, _Alignof(cuckoo));
    if (!c)
        return tamis__fail_nomem(err, "filter", sizeof *c);
    filter->body = c;
    c->slot_bits = filter->plan.slot_bits;
    c->mask = (UINT64_C(1) << c->slot_bits) - 1;
    c->masks = masks_of(c->slot_bits);
    c->buckets = tamis__cuckoo_buckets(&filter->plan);
    c->bytes = (size_t)tamis__cuckoo_bytes(filter->plan.bits);
    *created = c;
    return TAMIS_OK;
}

static tamis_status init_body(tamis_filter *filter, tamis_error *err) {
    cuckoo *c = NULL;
    const tamis_status status = create_empty(filter, &c, err);
    if (status != TAMIS_OK)
        return status;
    c->slots = tamis__filter_alloc(filter, c->bytes);
    if (!c->slots)
        return tamis__fail_nomem(err, "filter", c->bytes);
    tamis__advise_large(c->slots, c->bytes);
    return TAMIS_OK;
}

static void release_body(tamis_filter *filter) {
    cuckoo *c = filter->body;
    if (!c)
        return;
    if (c->slots && !c->borrowed)
        tamis__filter_release(filter, c->slots, c->bytes);
    tamis__free(&filter->allocator, c, sizeof *c);
    filter->body = NULL;
}

static void clear(tamis_filter *filter) {
    cuckoo *c = filter->body;
    memset(c->slots, 0, c->bytes);
    c->false_present = 0;
}

static uint64_t count_entries(const cuckoo *c) {
    uint64_t entries = 0;
    for (uint64_t bucket = 0; bucket < c->buckets; bucket++)
        entries += SLOTS - (unsigned)__builtin_popcount(slots_with(c, bucket, 0));
    return entries;
}

/* A file may say that it has other entries than it has. Adds and removals rely on the number, so it is
 * counted when a file is copied to be changed. */
static tamis_status copy(tamis_filter *to, const tamis_filter *from, tamis_error *err) {
    cuckoo *mine = to->body;
    const cuckoo *other = from->body;
    const uint64_t entries = other->borrowed ? count_entries(other) : from->added;
    if (entries != from->added)
        return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                           "%s: added is %" PRIu64 ", but the filter has %" PRIu64
                           " entries; restore the file from a copy, or build it anew",
                           tamis__block_verifier_name(from->verifier), from->added, entries);
    memcpy(mine->slots, other->slots, mine->bytes);
    mine->false_present = other->false_present;
    return TAMIS_OK;
}

static void estimate(const tamis_filter *filter, tamis_filter_info *info) {
    const cuckoo *c = filter->body;
    info->cardinality = (double)filter->added;
    info->fpr_live = rate_of(filter);
    info->false_present = c->false_present;
}

/* ---- files ---- */

static bool body_extent(const tamis_filter *filter, size_t i, tamis__body_extent *out) {
    const cuckoo *c = filter->body;
    if (i > 0)
        return false;
    *out = (tamis__body_extent){.bytes = c->slots, .size = c->bytes, .entries = filter->added};
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
    if (image->body_size != tamis__cuckoo_bytes(filter->plan.bits))
        return fail_image(image, "body_size", image->body_size, err);
    if (filter->added > filter->plan.capacity)
        return fail_image(image, "added", filter->added, err);
    const tamis_status status = create_empty(filter, &c, err);
    if (status != TAMIS_OK)
        return status;
    c->borrowed = true;
    c->slots = (uint8_t *)(uintptr_t)image->body; /* only read: a filter is changed in a copy */
    c->false_present = image->false_present;
    return TAMIS_OK;
}

/* Any slots are valid: they lead to buckets of the table. What follows them must be zero. */
bool tamis__cuckoo_valid(const void *context, const uint8_t *bytes, uint64_t size) {
    const cuckoo *c = context;
    const uint64_t bits = c->buckets * SLOTS * c->slot_bits;
    const uint8_t *end = c->slots + bits / 8;
    const uint8_t *pos = bytes > end ? bytes : end;
    uint32_t used = pos == end ? (uint32_t)(bits % 8) : 0;
    for (; pos < bytes + size; pos++, used = 0)
        if (*pos >> used)
            return false;
    return true;
}

static tamis_status touch_bucket(const tamis_filter *filter, uint64_t bucket, tamis_error *err) {
    const cuckoo *c = filter->body;
    const tamis_status status = tamis__block_verifier_check(filter->verifier, first_byte(c, bucket), err);
    return status == TAMIS_OK ? tamis__block_verifier_check(filter->verifier, last_byte(c, bucket), err)
                              : status;
}

static tamis_status touch(const tamis_filter *filter, const tamis__key_batch *batch, tamis_error *err) {
    tamis_status status = TAMIS_OK;
    for (size_t i = 0; i < batch->count && status == TAMIS_OK; i++) {
        const cuckoo_query q = query_of(filter->body, &batch->hashes[i]);
        status = touch_bucket(filter, q.a, err);
        if (status == TAMIS_OK)
            status = touch_bucket(filter, q.b, err);
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
