/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * A cache of answers that a scan cannot empty. It is S3-FIFO, in bytes, with lives, and with a share for
 * nulls. Reference: Yang and others, FIFO queues are all you need for cache eviction, SOSP 2023.
 *
 *     shard            one of 1 to 16, by bits of the hash; each has a mutex and its part of the bytes
 *       buckets        chains of entries; grows with their number
 *       values         pool: two queues of entries
 *       nulls          pool: two queues of entries, at most a quarter of the bytes
 *       ghosts         fingerprints of keys that were evicted recently, in sets of four
 *
 *     a pool:
 *                        looked up twice or more
 *     put ---> small ---------------------------> main ---> evicted, unless looked up since:
 *              a tenth \                            ^  ^       then back to the front, with one use less
 *                       \ evicted                   |   \_____/
 *                        ----> ghosts --------------'
 *                                 put again soon
 *
 * Most keys of a scan come once. They pass through the small queue, and never reach the main queue. A key
 * that comes often is looked up again while it is in the small queue. If not, its fingerprint is still a
 * ghost when it is put the second time.
 *
 * Invariants, under the mutex of the shard:
 *
 * 1. An entry is in one chain and in one queue. The queue belongs to the pool of its blob's type.
 * 2. `bytes` is the memory of the shard: buckets, ghosts, entries and blobs, with what the C library adds to
 *    each block. It is at most `limit`, also while the buckets grow.
 * 3. Nulls have at most `limit` / 4 bytes.
 * 4. An entry has the last blob that was put with its key, and no removal came after it.
 *
 * A blob that a caller still has after its eviction counts for the caller. A ghost has only 32 bits: two keys
 * with one fingerprint cost an admission, never a wrong answer.
 *
 * Expiry: a lookup that finds an expired entry removes it, and leaves a ghost. The caller puts the key again
 * soon, and it belongs into the main queue. Eviction removes expired entries too, however often they were
 * used. It compares with the time of the latest lookup in the shard.
 *
 * Why not LRU: a scan empties it, and a hit writes to three cache lines. A hit here adds to a counter in the
 * entry. Why not W-TinyLFU: it needs a sketch that is aged, and finds no more hits in the published traces.
 *
 * Cost: a hit and a miss are O(1). A put is O(1) on average; one put may walk the main queue three times, if
 * all of it was looked up. Growing moves all entries of a shard at once.
 *
 * Measured on two virtual cores (x86-64, gcc 12, glibc), values of 64 bytes, keys at random, lookups in
 * batches of 16 with tamis__guard_cache_prefetch first, in ns:
 *
 *     entries    bytes an entry    hit    miss    put, with its blob    hit, two threads at once
 *       1,000         236           58     58            171                     210
 *      30,000         226          188     95            886                     460
 *   1,000,000         225          164    293           1301                     860
 *
 * Share of hits, of 50,000 keys with frequencies 1, 1/2, 1/3 ..., alone and with ten keys that come once
 * behind each (tests/property/prop_guard_cache.c; LRU and FIFO have as many entries):
 *
 *     entries     this    with scan     LRU    with scan     FIFO    with scan
 *       1,116    0.643      0.644      0.557     0.294       0.515     0.248
 *       4,464    0.763      0.760      0.707     0.417       0.668     0.367
 */

#include "service/guard/guard_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

enum {
    BYTES_MIN = 64 << 10,
    SHARD_BYTES_MIN = 64 << 10,
    SHARDS_MAX = 16,
    BLOCK_OVERHEAD = 16, /* bytes that the C library adds to a block */
    BUCKETS_FIRST = 64,
    GHOST_WAYS = 4,
    USES_MAX = 3,
    USES_TO_MAIN = 2,     /* lookups in the small queue that lead to the main queue */
    SMALL_PART = 10,      /* the small queue has a tenth of its pool */
    NULL_PART = 4,        /* nulls have at most a quarter of the shard */
    LARGEST_BLOB_PART = 8 /* a blob has at most an eighth of the shard */
};

typedef struct cache_entry cache_entry;

/* The first 48 bytes are all that a lookup reads. */
struct cache_entry {
    guard_hash key;
    cache_entry *chain; /* next in the bucket */
    guard_blob *blob;
    uint64_t expires;
    uint8_t uses; /* lookups, up to USES_MAX */
    bool is_main; /* queue of its pool */
    cache_entry *newer, *older;
};

/* A queue. Entries come in at `newest`, and leave at `oldest`. */
typedef struct cache_queue {
    cache_entry *newest, *oldest;
    size_t bytes;
} cache_queue;

typedef struct cache_pool {
    cache_queue queues[2]; /* small, main */
} cache_pool;

typedef struct cache_ghost {
    uint32_t fingerprint;
    uint32_t time; /* value of `ghost_time` when it came */
} cache_ghost;

typedef struct cache_shard {
    _Alignas(TAMIS__LINE) pthread_mutex_t mutex; /* for all fields below */
    cache_entry **buckets;
    cache_ghost *ghosts; /* as many as buckets */
    size_t mask;         /* number of buckets - 1 */
    /* copies of `buckets` and `mask` for prefetching without the mutex */
    _Atomic(const void *) hint_buckets;
    atomic_size_t hint_mask;
    uint64_t count; /* entries */
    size_t bytes, limit;
    uint64_t now; /* time of the latest lookup */
    uint32_t ghost_time;
    cache_pool pools[2]; /* values, nulls */
} cache_shard;

struct guard_cache {
    tamis_allocator allocator;
    size_t shard_count; /* power of two */
    cache_shard *shards;
};

static cache_shard *find_shard(const guard_cache *cache, guard_hash key) {
    return &cache->shards[(key.high >> 32) & (cache->shard_count - 1)];
}

static cache_pool *find_pool(cache_shard *shard, const guard_blob *blob) {
    return &shard->pools[tamis__guard_blob_is_null(blob)];
}

static size_t pool_bytes(const cache_pool *pool) {
    return pool->queues[false].bytes + pool->queues[true].bytes;
}

/* Memory of an entry with its blob. */
static size_t entry_bytes(const guard_blob *blob) {
    return sizeof(cache_entry) + tamis__guard_blob_memory(blob) + 2 * (size_t)BLOCK_OVERHEAD;
}

/* Memory of that many buckets with their ghosts. */
static size_t table_bytes(size_t buckets) {
    return buckets * (sizeof(cache_entry *) + sizeof(cache_ghost)) + 2 * (size_t)BLOCK_OVERHEAD;
}

/* ---- queues ---- */

static void queue_push(cache_shard *shard, cache_entry *entry) {
    cache_queue *queue = &find_pool(shard, entry->blob)->queues[entry->is_main];

    entry->newer = NULL;
    entry->older = queue->newest;
    if (queue->newest)
        queue->newest->newer = entry;
    else
        queue->oldest = entry;
    queue->newest = entry;
    queue->bytes += entry_bytes(entry->blob);
}

static void queue_remove(cache_shard *shard, cache_entry *entry) {
    cache_queue *queue = &find_pool(shard, entry->blob)->queues[entry->is_main];

    if (entry->newer)
        entry->newer->older = entry->older;
    else
        queue->newest = entry->older;
    if (entry->older)
        entry->older->newer = entry->newer;
    else
        queue->oldest = entry->newer;
    queue->bytes -= entry_bytes(entry->blob);
}

/* ---- ghosts ---- */

static uint32_t fingerprint(guard_hash key) {
    return (uint32_t)key.high;
}

static cache_ghost *ghost_set(cache_ghost *ghosts, size_t mask, uint32_t print) {
    return &ghosts[print & mask & ~(size_t)(GHOST_WAYS - 1)];
}

/* Adds a ghost in place of the oldest one of its set. */
static void ghost_add(cache_ghost *ghosts, size_t mask, cache_ghost ghost, uint32_t now) {
    cache_ghost *set = ghost_set(ghosts, mask, ghost.fingerprint);
    size_t oldest = 0;

    for (size_t i = 1; i < GHOST_WAYS; i++)
        if (now - set[i].time > now - set[oldest].time)
            oldest = i;
    set[oldest] = ghost;
}

static void ghost_note(cache_shard *shard, guard_hash key) {
    const cache_ghost ghost = {fingerprint(key), ++shard->ghost_time};

    ghost_add(shard->ghosts, shard->mask, ghost, shard->ghost_time);
}

/* True if the key was evicted recently: since then, no more keys were evicted than there are entries. */
static bool ghost_is_known(const cache_shard *shard, guard_hash key) {
    const cache_ghost *set = ghost_set(shard->ghosts, shard->mask, fingerprint(key));

    for (size_t i = 0; i < GHOST_WAYS; i++)
        if (set[i].fingerprint == fingerprint(key) && shard->ghost_time - set[i].time < shard->count)
            return true;
    return false;
}

/* ---- chains ---- */

/* Returns the pointer to the entry of the key in its chain; it points to NULL if there is none. */
static cache_entry **find_entry(const cache_shard *shard, guard_hash key) {
    cache_entry **link = &shard->buckets[key.low & shard->mask];

    while (*link && ((*link)->key.low != key.low || (*link)->key.high != key.high))
        link = &(*link)->chain;
    return link;
}

static void entry_free(guard_cache *cache, cache_shard *shard, cache_entry **link) {
    cache_entry *entry = *link;

    *link = entry->chain;
    queue_remove(shard, entry);
    shard->count--;
    shard->bytes -= entry_bytes(entry->blob);
    tamis__guard_blob_release(entry->blob);
    tamis__free(&cache->allocator, entry, sizeof *entry);
}

/* ---- eviction ---- */

static void move_to_main(cache_shard *shard, cache_entry *entry, uint8_t uses) {
    queue_remove(shard, entry);
    entry->is_main = true;
    entry->uses = uses;
    queue_push(shard, entry);
}

/* Evicts the oldest entry of the small queue that is not used, or moves all to the main queue. Returns false
 * if nothing was evicted. */
static bool evict_small(guard_cache *cache, cache_shard *shard, cache_pool *pool) {
    for (cache_entry *entry; (entry = pool->queues[false].oldest);) {
        const bool has_expired = entry->expires <= shard->now;
        if (!has_expired && entry->uses >= USES_TO_MAIN) {
            move_to_main(shard, entry, 0);
            continue;
        }
        if (!has_expired)
            ghost_note(shard, entry->key);
        entry_free(cache, shard, find_entry(shard, entry->key));
        return true;
    }
    return false;
}

static bool evict_main(guard_cache *cache, cache_shard *shard, cache_pool *pool) {
    for (cache_entry *entry; (entry = pool->queues[true].oldest);) {
        if (entry->expires > shard->now && entry->uses > 0) {
            move_to_main(shard, entry, (uint8_t)(entry->uses - 1));
            continue;
        }
        entry_free(cache, shard, find_entry(shard, entry->key));
        return true;
    }
    return false;
}

/* Evicts an entry of the pool. Returns false if there is none. */
static bool evict(guard_cache *cache, cache_shard *shard, cache_pool *pool) {
    if (pool->queues[false].bytes * SMALL_PART >= pool_bytes(pool) && evict_small(cache, shard, pool))
        return true;
    return evict_main(cache, shard, pool) || evict_small(cache, shard, pool);
}

/* Evicts until `bytes` more fit. Returns false if they never do. */
static bool make_space(guard_cache *cache, cache_shard *shard, size_t bytes) {
    cache_pool *values = &shard->pools[false], *nulls = &shard->pools[true];

    if (bytes > shard->limit)
        return false;
    while (shard->bytes > shard->limit - bytes)
        if (!evict(cache, shard, values) && !evict(cache, shard, nulls))
            return false;
    return true;
}

/* Evicts nulls until `bytes` more fit into their share. */
static void make_space_for_null(guard_cache *cache, cache_shard *shard, size_t bytes) {
    cache_pool *nulls = &shard->pools[true];

    while (pool_bytes(nulls) + bytes > shard->limit / NULL_PART && evict(cache, shard, nulls))
        ;
}

/* ---- growth ---- */

static void move_table(cache_shard *shard, cache_entry **buckets, cache_ghost *ghosts, size_t mask) {
    for (size_t i = 0; i <= shard->mask; i++) {
        for (cache_entry *entry = shard->buckets[i], *next; entry; entry = next) {
            next = entry->chain;
            entry->chain = buckets[entry->key.low & mask];
            buckets[entry->key.low & mask] = entry;
        }
        ghost_add(ghosts, mask, shard->ghosts[i], shard->ghost_time);
    }
}

/* Replaces the table by one of `count` buckets. Without the memory for it, the old one stays. */
static bool set_buckets(guard_cache *cache, cache_shard *shard, size_t count) {
    const size_t old_count = shard->buckets ? shard->mask + 1 : 0;

    if (!make_space(cache, shard, table_bytes(count)))
        return false;
    cache_entry **buckets =
        tamis__alloc(&cache->allocator, count * sizeof(cache_entry *), _Alignof(cache_entry *));
    cache_ghost *ghosts = tamis__alloc(&cache->allocator, count * sizeof *ghosts, TAMIS__LINE);
    if (!buckets || !ghosts) {
        tamis__free(&cache->allocator, buckets, count * sizeof(cache_entry *));
        tamis__free(&cache->allocator, ghosts, count * sizeof *ghosts);
        return false;
    }
    if (old_count) {
        move_table(shard, buckets, ghosts, count - 1);
        tamis__free(&cache->allocator, shard->buckets, old_count * sizeof(cache_entry *));
        tamis__free(&cache->allocator, shard->ghosts, old_count * sizeof *ghosts);
        shard->bytes -= table_bytes(old_count);
    }
    shard->buckets = buckets;
    shard->ghosts = ghosts;
    shard->mask = count - 1;
    shard->bytes += table_bytes(count);
    atomic_store_explicit(&shard->hint_buckets, buckets, memory_order_relaxed);
    atomic_store_explicit(&shard->hint_mask, count - 1, memory_order_relaxed);
    return true;
}

/* ---- caches ---- */

static bool open_shard(guard_cache *cache, cache_shard *shard, size_t limit) {
    shard->limit = limit;
    return set_buckets(cache, shard, BUCKETS_FIRST);
}

tamis_status tamis__guard_cache_create(guard_cache **cache, uint64_t bytes, const tamis_allocator *allocator,
                                       tamis_error *err) {
    if (bytes < BYTES_MIN || bytes > PTRDIFF_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0, "cache_bytes %llu: expected 64 KiB or more, or 0",
                           (unsigned long long)bytes);
    const tamis_allocator memory = tamis__allocator_resolve(allocator);
    guard_cache *made = tamis__alloc(&memory, sizeof *made, _Alignof(guard_cache));
    if (!made)
        return tamis__fail_nomem(err, "cache", sizeof *made);
    made->allocator = memory;
    made->shard_count = 1;
    while (made->shard_count < SHARDS_MAX && bytes / (2 * made->shard_count) >= SHARD_BYTES_MIN)
        made->shard_count *= 2;
    made->shards = tamis__alloc(&memory, made->shard_count * sizeof *made->shards, _Alignof(cache_shard));
    const size_t fixed = sizeof *made + made->shard_count * sizeof *made->shards + 2 * BLOCK_OVERHEAD;
    bool is_complete = made->shards;
    for (size_t i = 0; made->shards && i < made->shard_count; i++) {
        pthread_mutex_init(&made->shards[i].mutex, NULL);
        is_complete = is_complete && open_shard(made, &made->shards[i], (bytes - fixed) / made->shard_count);
    }
    if (!is_complete) {
        const size_t refused = fixed + made->shard_count * table_bytes(BUCKETS_FIRST);
        tamis__guard_cache_free(made);
        return tamis__fail_nomem(err, "cache", refused);
    }
    *cache = made;
    return TAMIS_OK;
}

static void close_shard(guard_cache *cache, cache_shard *shard) {
    for (size_t i = 0; shard->buckets && i <= shard->mask; i++)
        while (shard->buckets[i])
            entry_free(cache, shard, &shard->buckets[i]);
    tamis__free(&cache->allocator, shard->buckets, (shard->mask + 1) * sizeof(cache_entry *));
    tamis__free(&cache->allocator, shard->ghosts, (shard->mask + 1) * sizeof(cache_ghost));
    pthread_mutex_destroy(&shard->mutex);
}

void tamis__guard_cache_free(guard_cache *cache) {
    if (!cache)
        return;
    const tamis_allocator memory = cache->allocator;
    for (size_t i = 0; cache->shards && i < cache->shard_count; i++)
        close_shard(cache, &cache->shards[i]);
    tamis__free(&memory, cache->shards, cache->shard_count * sizeof *cache->shards);
    tamis__free(&memory, cache, sizeof *cache);
}

guard_blob *tamis__guard_cache_find(guard_cache *cache, guard_hash key, uint64_t now) {
    cache_shard *shard = find_shard(cache, key);
    guard_blob *found = NULL;

    pthread_mutex_lock(&shard->mutex);
    if (now > shard->now)
        shard->now = now;
    cache_entry **link = find_entry(shard, key);
    cache_entry *entry = *link;
    if (entry && entry->expires <= now) {
        ghost_note(shard, key);
        entry_free(cache, shard, link);
    } else if (entry) {
        entry->uses = (uint8_t)(entry->uses + (entry->uses < USES_MAX));
        found = tamis__guard_blob_share(entry->blob);
    }
    pthread_mutex_unlock(&shard->mutex);
    return found;
}

void tamis__guard_cache_prefetch(const guard_cache *cache, guard_hash key) {
    cache_shard *shard = find_shard(cache, key);
    const uintptr_t buckets = (uintptr_t)atomic_load_explicit(&shard->hint_buckets, memory_order_relaxed);
    const size_t mask = atomic_load_explicit(&shard->hint_mask, memory_order_relaxed);

    /* While the table grows, the address may be that of no bucket: a prefetch has no effect then. */
    __builtin_prefetch((const void *)(buckets + (key.low & mask) * sizeof(cache_entry *)));
}

/* Adds an entry for a key that has none. */
static void insert(guard_cache *cache, cache_shard *shard, guard_hash key, guard_blob *blob,
                   uint64_t expires) {
    const size_t bytes = entry_bytes(blob);

    if (bytes > shard->limit / LARGEST_BLOB_PART)
        return;
    if (shard->count > shard->mask)
        (void)set_buckets(cache, shard, 2 * (shard->mask + 1)); /* longer chains do no harm */
    if (tamis__guard_blob_is_null(blob))
        make_space_for_null(cache, shard, bytes);
    if (!make_space(cache, shard, bytes))
        return;
    cache_entry *entry = tamis__alloc(&cache->allocator, sizeof *entry, _Alignof(cache_entry));
    if (!entry)
        return;
    cache_entry **bucket = &shard->buckets[key.low & shard->mask];
    *entry = (cache_entry){.key = key, .chain = *bucket, .blob = blob, .expires = expires};
    entry->is_main = ghost_is_known(shard, key);
    *bucket = entry;
    tamis__guard_blob_share(blob);
    queue_push(shard, entry);
    shard->count++;
    shard->bytes += bytes;
}

void tamis__guard_cache_put(guard_cache *cache, guard_hash key, guard_blob *blob, uint64_t expires) {
    cache_shard *shard = find_shard(cache, key);

    pthread_mutex_lock(&shard->mutex);
    cache_entry **link = find_entry(shard, key);
    if (*link) {
        if ((*link)->is_main || (*link)->uses > 0)
            ghost_note(shard, key);
        entry_free(cache, shard, link);
    }
    insert(cache, shard, key, blob, expires);
    pthread_mutex_unlock(&shard->mutex);
}

void tamis__guard_cache_remove(guard_cache *cache, guard_hash key) {
    cache_shard *shard = find_shard(cache, key);

    pthread_mutex_lock(&shard->mutex);
    cache_entry **link = find_entry(shard, key);
    if (*link)
        entry_free(cache, shard, link);
    pthread_mutex_unlock(&shard->mutex);
}

void tamis__guard_cache_clear(guard_cache *cache) {
    for (size_t i = 0; i < cache->shard_count; i++) {
        cache_shard *shard = &cache->shards[i];
        pthread_mutex_lock(&shard->mutex);
        for (size_t k = 0; k <= shard->mask; k++)
            while (shard->buckets[k])
                entry_free(cache, shard, &shard->buckets[k]);
        pthread_mutex_unlock(&shard->mutex);
    }
}

void tamis__guard_cache_count(const guard_cache *cache, uint64_t *entries, uint64_t *bytes) {
    *entries = 0;
    *bytes = sizeof *cache + cache->shard_count * sizeof *cache->shards + 2 * BLOCK_OVERHEAD;
    for (size_t i = 0; i < cache->shard_count; i++) {
        cache_shard *shard = &cache->shards[i];
        pthread_mutex_lock(&shard->mutex);
        *entries += shard->count;
        *bytes += shard->bytes;
        pthread_mutex_unlock(&shard->mutex);
    }
}
