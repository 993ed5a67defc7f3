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
 *     65536 tables                                  grow                    TAMIS_E_FULL
 *     fewer than 2^32 slots in a table              is_small_enough         TAMIS_E_FULL
 *     65535 moves for an add, and as many back      the checks of options   a further table, or full
 *     none, for a filter with expansion 0           grow                    TAMIS_E_FULL at the first table
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
 */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/versioned.h"
#include "filter/compat/redisbloom_tables.h"
#include "filter/filter_int.h"
#include "hash/hash_functions.h"

enum {
    BATCH = 64, /* keys that are looked up together: their cache misses overlap */
    FINGERPRINTS = 255,
    FILTER_BYTES = 56, /* size of a filter as RedisBloom reports it */
    TABLE_BYTES = 16   /* size of a table likewise, besides its slots */
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

/* ---- tables ---- */

tamis_status tamis__rbc_create_empty(tamis_redisbloom_cuckoo **filter, const tamis_allocator *allocator,
                                     tamis_error *err) {
    const tamis_allocator resolved = tamis__allocator_resolve(allocator);
    tamis_redisbloom_cuckoo *created =
        tamis__alloc(&resolved, sizeof *created, _Alignof(tamis_redisbloom_cuckoo));
    if (!created)
        return tamis__fail_nomem(err, "redisbloom cuckoo", sizeof *created);
    created->allocator = resolved;
    *filter = created;
    return TAMIS_OK;
}

/* Appends a table without slots. */
static tamis_status append(tamis_redisbloom_cuckoo *filter, uint64_t buckets, tamis_error *err) {
    tamis__rbc_table *grown = tamis__array_reserve(&filter->allocator, filter->tables, sizeof *grown,
                                                   filter->count + 1, &filter->allocated);
    if (!grown)
        return tamis__fail_nomem(err, "redisbloom cuckoo", (filter->count + 1) * sizeof *grown);
    filter->tables = grown;
    grown[filter->count++] = (tamis__rbc_table){buckets, NULL};
    filter->bytes += buckets * filter->bucket_size;
    return TAMIS_OK;
}

tamis_status tamis__rbc_allocate_slots(tamis_redisbloom_cuckoo *filter, size_t index, tamis_error *err) {
    const uint64_t bytes = tamis__rbc_table_bytes(filter, index);
    filter->tables[index].slots = tamis__alloc(&filter->allocator, bytes, 1);
    return filter->tables[index].slots ? TAMIS_OK : tamis__fail_nomem(err, "redisbloom cuckoo", bytes);
}

/* Frees the newest table. */
static void drop_newest(tamis_redisbloom_cuckoo *filter) {
    const uint64_t bytes = tamis__rbc_table_bytes(filter, filter->count - 1);
    tamis__free(&filter->allocator, filter->tables[filter->count - 1].slots, bytes);
    filter->count--;
    filter->bytes -= bytes;
}

/* True if a table of `buckets` is below 2^32 slots. */
static bool is_small_enough(const tamis_redisbloom_cuckoo *filter, uint64_t buckets) {
    return buckets <= UINT32_MAX / filter->bucket_size;
}

/* Appends an empty table with this number of buckets. On failure the filter is unchanged. */
static tamis_status append_empty(tamis_redisbloom_cuckoo *filter, uint64_t buckets, tamis_error *err) {
    tamis_status status = append(filter, buckets, err);
    if (status != TAMIS_OK)
        return status;
    status = tamis__rbc_allocate_slots(filter, filter->count - 1, err);
    if (status != TAMIS_OK)
        drop_newest(filter);
    else
        filter->loaded = filter->bytes;
    return status;
}

static tamis_status grow(tamis_redisbloom_cuckoo *filter, tamis_error *err) {
    if (filter->expansion == 0)
        return tamis__fail(err, TAMIS_E_FULL, 0,
                           "redisbloom cuckoo: full with %" PRIu64 " keys; make a larger filter",
                           filter->keys);
    const uint64_t buckets = filter->tables[filter->count - 1].buckets * filter->expansion;
    if (filter->count == TAMIS__RBC_TABLES_MAX || !is_small_enough(filter, buckets))
        return tamis__fail(
            err, TAMIS_E_FULL, 0,
            "redisbloom cuckoo: %zu tables, and no further one is possible; make a larger filter",
            filter->count);
    return append_empty(filter, buckets, err);
}

/* Returns the least power of two that is no less, 0 for 0. */
static uint64_t power_of_two_from(uint64_t number) {
    uint64_t power = number > 0;
    while (power < number)
        power *= 2;
    return power;
}

static bool is_power_of_two(uint64_t number) {
    return number != 0 && (number & (number - 1)) == 0;
}

tamis_status tamis_redisbloom_cuckoo_create(tamis_redisbloom_cuckoo **filter,
                                            const tamis_redisbloom_cuckoo_options *options,
                                            tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_redisbloom_cuckoo_options given = TAMIS_REDISBLOOM_CUCKOO_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&given, sizeof given, options, "TAMIS_REDISBLOOM_CUCKOO_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    if (given.bucket_size < 1 || given.bucket_size > TAMIS__RBC_BUCKET_MAX || given.max_iterations < 1 ||
        given.max_iterations > TAMIS__RBC_ITERATIONS_MAX || given.expansion > TAMIS__RBC_EXPANSION_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "redisbloom cuckoo: an option is out of range; give 1 to 255 slots a bucket, 1 to "
                           "65535 iterations, an expansion up to 32768");
    const uint64_t buckets =
        given.capacity > UINT32_MAX ? UINT64_MAX : power_of_two_from(given.capacity / given.bucket_size);
    tamis_redisbloom_cuckoo *created;
    if (buckets > UINT32_MAX / given.bucket_size)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "redisbloom cuckoo: a capacity of %" PRIu64 " needs 2^32 slots or more; give less",
                           given.capacity);
    status = tamis__rbc_create_empty(&created, given.allocator, err);
    if (status != TAMIS_OK)
        return status;
    created->buckets = buckets ? buckets : 1;
    created->bucket_size = given.bucket_size;
    created->max_iterations = given.max_iterations;
    created->expansion = (uint32_t)power_of_two_from(given.expansion);
    status = append_empty(created, created->buckets, err);
    if (status != TAMIS_OK) {
        tamis_redisbloom_cuckoo_free(created);
        return status;
    }
    *filter = created;
    return TAMIS_OK;
}

void tamis_redisbloom_cuckoo_free(tamis_redisbloom_cuckoo *filter) {
    if (!filter)
        return;
    while (filter->count > 0)
        drop_newest(filter);
    tamis__free(&filter->allocator, filter->tables, filter->allocated * sizeof *filter->tables);
    const tamis_allocator allocator = filter->allocator;
    tamis__free(&allocator, filter, sizeof *filter);
}

/* Copies the tables of `from` to the filter `to`, which has none. */
static tamis_status copy_tables(tamis_redisbloom_cuckoo *to, const tamis_redisbloom_cuckoo *from,
                                tamis_error *err) {
    for (size_t i = 0; i < from->count; i++) {
        tamis_status status = append(to, from->tables[i].buckets, err);
        if (status == TAMIS_OK && from->tables[i].slots)
            status = tamis__rbc_allocate_slots(to, i, err);
        if (status != TAMIS_OK)
            return status;
        if (from->tables[i].slots)
            memcpy(to->tables[i].slots, from->tables[i].slots, tamis__rbc_table_bytes(from, i));
    }
    return TAMIS_OK;
}

tamis_status tamis_redisbloom_cuckoo_copy(tamis_redisbloom_cuckoo **copy,
                                          const tamis_redisbloom_cuckoo *filter, tamis_error *err) {
    TAMIS__NEED(copy, err);
    TAMIS__NEED(filter, err);
    tamis_redisbloom_cuckoo *created;
    tamis_status status = tamis__rbc_create_empty(&created, &filter->allocator, err);
    if (status != TAMIS_OK)
        return status;
    created->keys = filter->keys;
    created->removed = filter->removed;
    created->buckets = filter->buckets;
    created->bucket_size = filter->bucket_size;
    created->max_iterations = filter->max_iterations;
    created->expansion = filter->expansion;
    created->loaded = filter->loaded;
    status = copy_tables(created, filter, err);
    if (status != TAMIS_OK) {
        tamis_redisbloom_cuckoo_free(created);
        return status;
    }
    *copy = created;
    return TAMIS_OK;
}

/* ---- checks of filters from outside ---- */

static tamis_status damaged(tamis_error *err, const char *field) {
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "redisbloom cuckoo: %s is not that of a filter; dump the filter again", field);
}

tamis_status tamis__rbc_append_checked(tamis_redisbloom_cuckoo *filter, uint64_t count, tamis_error *err) {
    if (!is_power_of_two(filter->buckets))
        return damaged(err, "the number of buckets");
    if (filter->bucket_size < 1 || filter->bucket_size > TAMIS__RBC_BUCKET_MAX)
        return damaged(err, "the size of a bucket");
    if (filter->max_iterations < 1 || filter->max_iterations > TAMIS__RBC_ITERATIONS_MAX)
        return damaged(err, "the number of iterations");
    if (filter->expansion > TAMIS__RBC_EXPANSION_MAX ||
        (filter->expansion && !is_power_of_two(filter->expansion)))
        return damaged(err, "the expansion");
    if (count < 1 || count > TAMIS__RBC_TABLES_MAX || (count > 1 && filter->expansion == 0))
        return damaged(err, "the number of filters");
    uint64_t buckets = filter->buckets;
    for (uint64_t i = 0; i < count; i++, buckets *= filter->expansion) {
        if (!is_small_enough(filter, buckets))
            return tamis__fail(
                err, TAMIS_E_UNSUPPORTED, 0,
                "redisbloom cuckoo: a table has 2^32 slots or more; add the items to filters of "
                "fewer items");
        const tamis_status status = append(filter, buckets, err);
        if (status != TAMIS_OK)
            return status;
    }
    if (filter->keys > filter->bytes)
        return damaged(err, "the number of items");
    return filter->removed <= INT64_MAX ? TAMIS_OK : damaged(err, "the number of deleted items");
}

tamis_status tamis__rbc_check_complete(const tamis_redisbloom_cuckoo *filter, tamis_error *err) {
    if (filter->loaded == filter->bytes)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_DAMAGED, 0,
                       "redisbloom cuckoo: only %" PRIu64 " of %" PRIu64
                       " bytes are loaded; load the other chunks",
                       filter->loaded, filter->bytes);
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
        const tamis_status status = grow(filter, err);
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
            drop_newest(filter);
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

/* ---- reports ---- */

tamis_status tamis_redisbloom_cuckoo_info_get(const tamis_redisbloom_cuckoo *filter,
                                              tamis_redisbloom_cuckoo_info *info, tamis_error *err) {
    TAMIS__NEED(filter, err);
    tamis_redisbloom_cuckoo_info created = TAMIS_REDISBLOOM_CUCKOO_INFO_INIT;
    const tamis_status status = tamis__check_struct(info, "TAMIS_REDISBLOOM_CUCKOO_INFO_INIT", err);
    if (status != TAMIS_OK)
        return status;
    created.bucket_size = filter->bucket_size;
    created.max_iterations = filter->max_iterations;
    created.expansion = filter->expansion;
    created.complete = filter->loaded == filter->bytes;
    created.keys = filter->keys;
    created.removed = filter->removed;
    created.buckets = filter->buckets;
    created.tables = filter->count;
    created.bytes = filter->bytes;
    created.loaded = filter->loaded;
    created.size = FILTER_BYTES + TABLE_BYTES * created.tables + filter->bytes;
    created.memory = sizeof *filter + filter->allocated * sizeof *filter->tables;
    for (size_t i = 0; i < filter->count; i++)
        created.memory += filter->tables[i].slots ? tamis__rbc_table_bytes(filter, i) : 0;
    tamis__write_struct(info, &created, sizeof created);
    return TAMIS_OK;
}
