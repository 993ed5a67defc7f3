/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cuckoo filter of RedisBloom, slot for slot.
 *
 * Idea. A list of tables. A key has a fingerprint of 8 bits, never 0, and two buckets in each table:
 *
 *     hash            h = MurmurHash64A, seed 0
 *     fingerprint     f = h % 255 + 1
 *     buckets         h and h ^ (f * 0x5bd1e995), each modulo the number of buckets
 *
 *     table           0              1                     2
 *     buckets         n              n e                   n e^2           e: expansion; all powers of two
 *                   | older        | older               | newest
 *                     <-- slots are searched from the newest table to the oldest
 *
 * Either bucket follows from the other and the fingerprint, so entries move without their keys. A table has
 * no fewer buckets than an older one, so that the bucket of an entry also says its buckets in older tables.
 *
 * Adding. The order is RedisBloom's, so that equal commands make equal bytes:
 *
 * 1. The first free slot: tables from the newest to the oldest; in each the first bucket, then the second.
 * 2. Otherwise moves in the newest table. The key goes into its first bucket, and the entry that was in the
 *    slot goes to its other bucket. If that is full, it replaces the entry in the next slot number there, and
 *    so on: slot numbers go round, 0, 1, 2. After max_iterations moves all are undone, the last one first.
 * 3. Otherwise a further table, unless the expansion is 0.
 *
 * Moves, an example with buckets of 2 slots. K is added to bucket 4, and all buckets but 7 are full:
 *
 *     bucket 4   A B     K replaces A in slot 0, and A goes to its other bucket, 9
 *     bucket 9   C D     full: A replaces D in slot 1, and D goes to its other bucket, 7
 *     bucket 7   E .     D gets the free slot; result: 4 = K B, 9 = C A, 7 = E D
 *
 * Undoing goes the same way back: other_hash leads from either bucket to the other, and the slot numbers
 * count down. Only the low bits of a hash select a bucket, so the bucket's number serves as the hash.
 *
 * Removing. Clears the first equal fingerprint, in the search order of 1. If there are several tables, and
 * the removals since the last compaction exceed a tenth of the keys left, the tables are compacted.
 *
 * Compacting. From the newest table on, each entry moves into the oldest table with a free slot for it. The
 * newest table is freed if all its entries have moved. A removal stops at the first table that keeps an
 * entry.
 *
 * The tenth is that of RedisBloom's CuckooFilter_Delete. A compaction reads whole tables, and these removals
 * pay for it.
 *
 *     before     table 0: a . b c     table 1: d . . .     table 2: e f . .
 *     after      table 0: a e b c     table 1: d f . .     table 2: freed       f had no free slot in table 0
 *
 * Rate. A lookup of an absent key compares its fingerprint with up to 2 * bucket_size entries of each table,
 * and each is equal with a chance of 1 / 255. The rate grows with the number of tables, and a filter has no
 * option that limits it. With buckets of 2 slots:
 *
 *     full tables         1         2         4         32
 *     rate                1.6 %     3.1 %     6.1 %     40 %
 *
 * Cost. Two cache lines a table, for adding, removing and looking up. An expansion of 2 or more keeps the
 * number of tables low; RedisBloom's default is 1, with tables of equal size.
 *
 * Keys that are chosen. The hash has a fixed seed, so anybody can find keys with equal buckets. That needs no
 * search: CF.ADD stores a key again each time. After 2 * bucket_size adds of one key both of its buckets are
 * full of it. All moves fail then, and the next add begins a table. What limits that:
 *
 *     limit                                         by                      then
 *     --------------------------------------------  ----------------------  --------------------------
 *     65536 tables                                  tamis__rbc_grow         TAMIS_E_FULL
 *     fewer than 2^32 slots in a table              is_small_enough         TAMIS_E_FULL
 *     65535 moves for an add, and as many back      the checks of options   a further table, or full
 *     none, for a filter with expansion 0           tamis__rbc_grow         TAMIS_E_FULL at the first table
 *
 * With add_absent (CF.ADDNX) a key that is present is not stored again.
 *
 * A removal of a key that was never added may clear the fingerprint of another key: 1 / 255 for each entry
 * in its buckets. That key is then absent. No filter of fingerprints can avoid it.
 *
 * Invariants:
 * 1. There is at least one table, except while the filter is made.
 * 2. Numbers of buckets are powers of two, and table i has buckets * expansion^i.
 * 3. A table has fewer than 2^32 slots. RedisBloom computes slots in 32 bits: beyond it slots collide.
 * 4. keys <= slots. It is the number of fingerprints, unless a dump from outside has another number.
 * 5. A table with slots that are not loaded is never searched (tamis__rbc_check_complete).
 *
 * Filters from outside are checked for 1 to 4 in tamis__rbc_append_checked, whichever format they come from.
 * Memory, growth and checks of tables are in redisbloom_tables.c.
 */
#include <string.h>

#include "base/bytes.h"
#include "filter/compat/redisbloom_tables.h"
#include "filter/filter_int.h"
#include "hash/hash_functions.h"

enum {
    BATCH = 64, /* keys that are looked up together: their cache misses overlap */
    FINGERPRINTS = 255
};
#define MIX UINT64_C(0x5bd1e995)

/* A fingerprint, and a number whose low bits select its bucket: the key's hash, or the number of a bucket. */
typedef struct entry {
    uint64_t hash;
    uint8_t fingerprint;
} entry;

static entry entry_of(const void *key, size_t size) {
    const uint64_t hash = tamis__murmur64a(key, size, 0);
    return (entry){hash, (uint8_t)(hash % FINGERPRINTS + 1)};
}

static uint64_t other_hash(uint64_t hash, uint8_t fingerprint) {
    return hash ^ (fingerprint * MIX);
}

static uint8_t *bucket_of(const tamis_redisbloom_cuckoo *filter, const tamis__rbc_table *table,
                          uint64_t hash) {
    return table->slots + (hash & (table->buckets - 1)) * filter->bucket_size;
}

/* Finds the first slot with this value in either bucket of an entry. NULL: there is none. */
static uint8_t *find_slot(const tamis_redisbloom_cuckoo *filter, const tamis__rbc_table *table, entry e,
                          uint8_t value) {
    uint8_t *slot = memchr(bucket_of(filter, table, e.hash), value, filter->bucket_size);
    return slot ? slot
                : memchr(bucket_of(filter, table, other_hash(e.hash, e.fingerprint)), value,
                         filter->bucket_size);
}

/* ---- keys ---- */

static bool has(const tamis_redisbloom_cuckoo *filter, entry e) {
    for (size_t i = filter->count; i > 0; i--) {
        if (find_slot(filter, &filter->tables[i - 1], e, e.fingerprint))
            return true;
    }
    return false;
}

/* Stores an entry in the first free slot, newest table first. */
static bool store_in_free_slot(tamis_redisbloom_cuckoo *filter, entry e) {
    for (size_t i = filter->count; i > 0; i--) {
        uint8_t *slot = find_slot(filter, &filter->tables[i - 1], e, 0);
        if (slot) {
            *slot = e.fingerprint;
            return true;
        }
    }
    return false;
}

static void swap(uint8_t *a, uint8_t *b) {
    const uint8_t old = *a;
    *a = *b;
    *b = old;
}

/* Makes a slot free in the newest table by moves. False: none became free, and all moves are undone.
 *
 * `e` is a copy: after a failure the caller still has the whole hash, which a larger table needs. In the last
 * loop the bucket of each step is computed before its swap, the opposite order of the first loop. */
static bool store_by_moves(tamis_redisbloom_cuckoo *filter, entry e) {
    const tamis__rbc_table *newest = &filter->tables[filter->count - 1];
    const uint32_t slots = filter->bucket_size;
    uint32_t number = 0; /* slot in the bucket */
    for (uint32_t i = 0; i < filter->max_iterations; i++) {
        swap(bucket_of(filter, newest, e.hash) + number, &e.fingerprint);
        e.hash = other_hash(e.hash & (newest->buckets - 1), e.fingerprint);
        uint8_t *slot = memchr(bucket_of(filter, newest, e.hash), 0, slots);
        if (slot) {
            *slot = e.fingerprint;
            return true;
        }
        number = (number + 1) % slots;
    }
    for (uint32_t i = 0; i < filter->max_iterations; i++) {
        number = (number + slots - 1) % slots;
        e.hash = other_hash(e.hash & (newest->buckets - 1), e.fingerprint);
        swap(bucket_of(filter, newest, e.hash) + number, &e.fingerprint);
    }
    return false;
}

static tamis_status add(tamis_redisbloom_cuckoo *filter, entry e, tamis_error *err) {
    if (!store_in_free_slot(filter, e) && !store_by_moves(filter, e)) {
        const tamis_status status = tamis__rbc_grow(filter, err);
        if (status != TAMIS_OK)
            return status;
        *bucket_of(filter, &filter->tables[filter->count - 1], e.hash) = e.fingerprint;
    }
    filter->keys += filter->keys < filter->bytes;
    return TAMIS_OK;
}

tamis_status tamis_redisbloom_cuckoo_add(tamis_redisbloom_cuckoo *filter, const void *key, size_t size,
                                         tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, key, err);
    const tamis_status status = tamis__rbc_check_complete(filter, err);
    return status == TAMIS_OK ? add(filter, entry_of(key, size), err) : status;
}

tamis_status tamis_redisbloom_cuckoo_add_absent(tamis_redisbloom_cuckoo *filter, const void *key, size_t size,
                                                tamis_answer *answer, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, key, err);
    tamis_status status = tamis__rbc_check_complete(filter, err);
    if (status != TAMIS_OK)
        return status;
    const entry e = entry_of(key, size);
    const bool is_present = has(filter, e);
    if (!is_present)
        status = add(filter, e, err);
    if (status == TAMIS_OK && answer)
        *answer = is_present ? TAMIS_PRESENT : TAMIS_ABSENT;
    return status;
}

/* Adds at most BATCH keys in order. Their buckets in the newest table are fetched before, so that the cache
 * misses overlap. Without answers, keys that are present are added too. */
static tamis_status add_batch(tamis_redisbloom_cuckoo *filter, const tamis__key_batch *batch, size_t *done,
                              tamis_error *err) {
    entry entries[BATCH];
    const tamis__rbc_table *newest = &filter->tables[filter->count - 1];
    for (size_t i = 0; i < batch->count; i++) {
        entries[i] = entry_of(batch->keys[i].data, batch->keys[i].size);
        tamis__prefetch(bucket_of(filter, newest, entries[i].hash));
        tamis__prefetch(bucket_of(filter, newest, other_hash(entries[i].hash, entries[i].fingerprint)));
    }
    for (*done = 0; *done < batch->count; ++*done) {
        const bool is_present = batch->answers && has(filter, entries[*done]);
        const tamis_status status = is_present ? TAMIS_OK : add(filter, entries[*done], err);
        if (status != TAMIS_OK)
            return status;
        if (batch->answers)
            batch->answers[*done] = is_present ? TAMIS_PRESENT : TAMIS_ABSENT;
    }
    return TAMIS_OK;
}

/* Adds any number of keys. `done` may be NULL. */
static tamis_status add_slices(tamis_redisbloom_cuckoo *filter, const tamis__key_batch *batch, size_t *done,
                               tamis_error *err) {
    size_t added = 0;
    tamis_status status = tamis__rbc_check_complete(filter, err);
    while (status == TAMIS_OK && added < batch->count) {
        const size_t left = batch->count - added;
        const tamis__key_batch slice = tamis__key_batch_slice(batch, added, left < BATCH ? left : BATCH);
        size_t slice_done = 0;
        status = add_batch(filter, &slice, &slice_done, err);
        added += slice_done;
    }
    if (done)
        *done = added;
    return status;
}

tamis_status tamis_redisbloom_cuckoo_add_many(tamis_redisbloom_cuckoo *filter, const tamis_key *keys,
                                              size_t count, size_t *done, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(count, keys, err);
    const tamis__key_batch batch = {.keys = keys, .count = count};
    return add_slices(filter, &batch, done, err);
}

tamis_status tamis_redisbloom_cuckoo_add_absent_many(tamis_redisbloom_cuckoo *filter, const tamis_key *keys,
                                                     size_t count, tamis_answer *answers, size_t *done,
                                                     tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED_IF(count, answers, err);
    const tamis__key_batch batch = {.keys = keys, .count = count, .answers = answers};
    return add_slices(filter, &batch, done, err);
}

/* Looks up at most BATCH keys, table by table. */
static void look_up(const tamis_redisbloom_cuckoo *filter, const tamis_key *keys, size_t count,
                    tamis_answer *answers) {
    entry entries[BATCH];
    for (size_t i = 0; i < count; i++) {
        entries[i] = entry_of(keys[i].data, keys[i].size);
        answers[i] = TAMIS_ABSENT;
    }
    for (size_t t = filter->count; t > 0; t--) {
        const tamis__rbc_table *table = &filter->tables[t - 1];
        for (size_t i = 0; i < count; i++) {
            tamis__prefetch(bucket_of(filter, table, entries[i].hash));
            tamis__prefetch(bucket_of(filter, table, other_hash(entries[i].hash, entries[i].fingerprint)));
        }
        for (size_t i = 0; i < count; i++) {
            if (answers[i] == TAMIS_ABSENT && find_slot(filter, table, entries[i], entries[i].fingerprint))
                answers[i] = TAMIS_PRESENT;
        }
    }
}

tamis_status tamis_redisbloom_cuckoo_contains_many(const tamis_redisbloom_cuckoo *filter,
                                                   const tamis_key *keys, size_t count, tamis_answer *answers,
                                                   tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED_IF(count, answers, err);
    const tamis_status status = tamis__rbc_check_complete(filter, err);
    if (status != TAMIS_OK)
        return status;
    for (size_t i = 0; i < count; i += BATCH)
        look_up(filter, keys + i, count - i < BATCH ? count - i : BATCH, answers + i);
    return TAMIS_OK;
}

static uint64_t count_in_bucket(const tamis_redisbloom_cuckoo *filter, const uint8_t *bucket,
                                uint8_t fingerprint) {
    uint64_t found = 0;
    for (uint32_t i = 0; i < filter->bucket_size; i++)
        found += bucket[i] == fingerprint;
    return found;
}

tamis_status tamis_redisbloom_cuckoo_count(const tamis_redisbloom_cuckoo *filter, const void *key,
                                           size_t size, uint64_t *count, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, key, err);
    TAMIS__NEED(count, err);
    const tamis_status status = tamis__rbc_check_complete(filter, err);
    if (status != TAMIS_OK)
        return status;
    const entry e = entry_of(key, size);
    *count = 0;
    for (size_t i = 0; i < filter->count; i++) {
        const uint8_t *first = bucket_of(filter, &filter->tables[i], e.hash);
        const uint8_t *second = bucket_of(filter, &filter->tables[i], other_hash(e.hash, e.fingerprint));
        *count += count_in_bucket(filter, first, e.fingerprint);
        if (first != second)
            *count += count_in_bucket(filter, second, e.fingerprint);
    }
    return TAMIS_OK;
}

/* ---- removal ---- */

/* Moves the entry in a slot of table `index` into an older table. False: none has a free slot for it. */
static bool move_down(tamis_redisbloom_cuckoo *filter, size_t index, uint64_t bucket, uint8_t *slot) {
    const entry e = {bucket, *slot};
    for (size_t i = 0; i < index; i++) {
        uint8_t *to = find_slot(filter, &filter->tables[i], e, 0);
        if (to) {
            *to = *slot;
            *slot = 0;
            return true;
        }
    }
    return false;
}

/* Moves all entries of table `index` that can move. Returns whether the table is empty then. */
static bool empty_table(tamis_redisbloom_cuckoo *filter, size_t index) {
    const tamis__rbc_table *table = &filter->tables[index];
    bool is_empty = true;
    for (uint64_t bucket = 0; bucket < table->buckets; bucket++) {
        uint8_t *slots = table->slots + bucket * filter->bucket_size;
        for (uint32_t i = 0; i < filter->bucket_size; i++) {
            if (slots[i] && !move_down(filter, index, bucket, &slots[i]))
                is_empty = false;
        }
    }
    return is_empty;
}

/* `whole`: go on below a table that keeps entries.
 *
 * Only the newest table is freed, since an older one in the middle gives its number of buckets to those
 * after it. Table i has buckets * expansion^i, and a dump stores no other sizes. */
static void compact(tamis_redisbloom_cuckoo *filter, bool whole) {
    for (size_t i = filter->count; i > 1; i--) {
        const bool is_empty = empty_table(filter, i - 1);
        if (is_empty && i == filter->count)
            tamis__rbc_drop_newest(filter);
        if (!is_empty && !whole)
            break;
    }
    filter->loaded = filter->bytes;
    filter->removed = 0;
    if (filter->keys > filter->bytes)
        filter->keys = filter->bytes;
}

tamis_status tamis_redisbloom_cuckoo_compact(tamis_redisbloom_cuckoo *filter, tamis_error *err) {
    TAMIS__NEED(filter, err);
    const tamis_status status = tamis__rbc_check_complete(filter, err);
    if (status == TAMIS_OK)
        compact(filter, true);
    return status;
}

/* Frees the slot of an entry. False: there is none. */
static bool remove_entry(tamis_redisbloom_cuckoo *filter, entry e) {
    for (size_t i = filter->count; i > 0; i--) {
        uint8_t *slot = find_slot(filter, &filter->tables[i - 1], e, e.fingerprint);
        if (slot) {
            *slot = 0;
            return true;
        }
    }
    return false;
}

tamis_status tamis_redisbloom_cuckoo_remove(tamis_redisbloom_cuckoo *filter, const void *key, size_t size,
                                            tamis_answer *answer, tamis_error *err) {
    TAMIS__NEED(filter, err);
    TAMIS__NEED_IF(size, key, err);
    const tamis_status status = tamis__rbc_check_complete(filter, err);
    if (status != TAMIS_OK)
        return status;
    const bool is_removed = remove_entry(filter, entry_of(key, size));
    if (is_removed) {
        filter->keys -= filter->keys > 0;
        filter->removed += filter->removed < INT64_MAX;
        if (filter->count > 1 && (double)filter->removed > (double)filter->keys * 0.10)
            compact(filter, false);
    }
    if (answer)
        *answer = is_removed ? TAMIS_PRESENT : TAMIS_ABSENT;
    return TAMIS_OK;
}
