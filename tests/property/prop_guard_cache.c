/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * The cache of a guard, compared with an exact map, and with caches of other kinds:
 *
 * - What it finds is the last answer that was put, not expired and not removed.
 * - Its hit rate under a scan is near that without a scan, and far above LRU and FIFO with as many entries.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "service/guard/guard_cache.h"
#include "support/scratch.h"

#define NEVER UINT64_MAX

static guard_hash hash_of(uint64_t number) {
    uint64_t seed = number;
    const uint64_t low = test_random(&seed), high = test_random(&seed);

    return (guard_hash){low, high};
}

static guard_cache *create(uint64_t bytes) {
    guard_cache *cache = NULL;

    assert_int_equal(tamis__guard_cache_create(&cache, bytes, NULL, NULL), TAMIS_OK);
    return cache;
}

/* ---- an exact map ---- */

enum { MODEL_KEYS = 3000 };

typedef struct model_entry {
    uint64_t version; /* 0: none */
    uint64_t expires;
    size_t size;
    bool is_null;
} model_entry;

/* A value repeats the 8 bytes of its version. */
static guard_blob *model_blob(const model_entry *entry) {
    unsigned char data[5000];

    for (size_t i = 0; i < entry->size; i++)
        data[i] = (unsigned char)(entry->version >> i % 8 * 8);
    return tamis__guard_blob_create(NULL, entry->is_null ? NULL : data, entry->size);
}

static void check_found(const guard_blob *blob, const model_entry *entry, uint64_t now) {
    const tamis_key bytes = tamis__guard_blob_bytes(blob);
    const unsigned char *data = bytes.data;

    assert_true(entry->version > 0);
    assert_true(entry->expires > now);
    assert_int_equal(tamis__guard_blob_is_null(blob), entry->is_null);
    assert_int_equal(bytes.size, entry->size);
    for (size_t i = 0; i < bytes.size; i++)
        assert_int_equal(data[i], (unsigned char)(entry->version >> i % 8 * 8));
}

static void put_random(guard_cache *cache, model_entry *model, uint64_t key, uint64_t version,
                       uint64_t *seed) {
    static const size_t sizes[] = {1, 10, 100, 600, 4900};
    const bool is_null = test_below(seed, 3) == 0;
    const size_t size = is_null ? 0 : test_below(seed, sizes[test_below(seed, 5)] + 1);

    model[key] = (model_entry){version, version + 1 + test_below(seed, 20000), size, is_null};
    guard_blob *blob = model_blob(&model[key]);
    tamis__guard_cache_put(cache, hash_of(key), blob, model[key].expires);
    tamis__guard_blob_release(blob);
}

static void test_cache_agrees_with_a_map(void **state) {
    (void)state;
    static model_entry model[MODEL_KEYS];
    uint64_t seed = test_seed(20261);
    const uint64_t steps = test_scale(400000, 60000, 60000);
    uint64_t found = 0, lookups = 0;

    for (uint64_t bytes = 64 << 10; bytes <= 4 << 20; bytes *= 4) {
        guard_cache *cache = create(bytes);
        memset(model, 0, sizeof model);
        for (uint64_t now = 1; now <= steps; now++) {
            /* squares: some keys come far more often */
            const uint64_t part = test_below(&seed, 1000), key = part * part * MODEL_KEYS / 1000000;
            const uint64_t action = test_below(&seed, 20);
            if (action == 0) {
                tamis__guard_cache_remove(cache, hash_of(key));
                model[key] = (model_entry){0};
            } else if (action < 7) {
                put_random(cache, model, key, now, &seed);
            } else {
                guard_blob *blob = tamis__guard_cache_find(cache, hash_of(key), now);
                lookups++;
                found += blob != NULL;
                if (blob)
                    check_found(blob, &model[key], now);
                tamis__guard_blob_release(blob);
            }
        }
        tamis__guard_cache_free(cache);
    }
    assert_true(found * 10 > lookups); /* the cache does find something */
}

/* ---- LRU and FIFO, exact, of a number of entries ---- */

enum { HOT_KEYS = 50000, SCAN_FACTOR = 10 };

/* A queue over all keys of a run, as a doubly linked list of their numbers. */
typedef struct list_cache {
    bool moves_on_hit; /* LRU */
    uint64_t capacity, count;
    uint32_t *newer, *older; /* key 0 is the head of the ring */
    bool *is_in;
} list_cache;

static void list_remove(list_cache *list, uint32_t key) {
    list->newer[list->older[key]] = list->newer[key];
    list->older[list->newer[key]] = list->older[key];
    list->is_in[key] = false;
    list->count--;
}

static void list_push(list_cache *list, uint32_t key) {
    list->older[key] = list->older[0];
    list->newer[key] = 0;
    list->newer[list->older[0]] = key;
    list->older[0] = key;
    list->is_in[key] = true;
    list->count++;
}

/* Looks a key up, and puts it if it is not there. Returns true for a hit. */
static bool list_use(list_cache *list, uint32_t key) {
    const bool is_hit = list->is_in[key];

    if (is_hit && !list->moves_on_hit)
        return true;
    if (is_hit)
        list_remove(list, key);
    list_push(list, key);
    if (list->count > list->capacity)
        list_remove(list, list->newer[0]);
    return is_hit;
}

static list_cache list_create(bool moves_on_hit, uint64_t capacity, size_t keys) {
    const list_cache list = {.moves_on_hit = moves_on_hit,
                             .capacity = capacity,
                             .newer = calloc(keys, sizeof(uint32_t)),
                             .older = calloc(keys, sizeof(uint32_t)),
                             .is_in = calloc(keys, sizeof(bool))};

    assert_true(list.newer && list.older && list.is_in);
    return list;
}

static void list_free(list_cache *list) {
    free(list->newer);
    free(list->older);
    free(list->is_in);
}

/* ---- hit rates ---- */

/* A run: `warm` hot requests, then `counted` ones, each followed by `scanned` keys that come once. */
typedef struct run {
    uint64_t warm, counted, scanned, seed;
    const double *totals; /* of the frequencies of the hot keys */
} run;

/* Hot keys are 1 to HOT_KEYS, with frequencies as 1 / number. */
static uint32_t hot_key(const run *r, uint64_t *seed) {
    const double point = (double)(test_random(seed) >> 11) * 0x1p-53 * r->totals[HOT_KEYS - 1];
    uint32_t low = 0, high = HOT_KEYS - 1;

    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (r->totals[middle] > point)
            high = middle;
        else
            low = middle + 1;
    }
    return low + 1;
}

typedef bool use_key(void *cache, uint32_t key);

/* Returns the share of hits among the counted hot requests. */
static double hit_rate(const run *r, use_key *use, void *cache) {
    uint64_t seed = r->seed, hits = 0;
    uint32_t scanned = HOT_KEYS;

    for (uint64_t i = 0; i < r->warm + r->counted; i++) {
        const bool is_hit = use(cache, hot_key(r, &seed));
        hits += is_hit && i >= r->warm;
        for (uint64_t k = 0; i >= r->warm && k < r->scanned; k++)
            (void)use(cache, ++scanned);
    }
    return (double)hits / (double)r->counted;
}

static bool use_list(void *cache, uint32_t key) {
    return list_use(cache, key);
}

static bool use_guard(void *cache, uint32_t key) {
    static const char value[60];
    guard_blob *blob = tamis__guard_cache_find(cache, hash_of(key), 1);
    const bool is_hit = blob;

    if (!is_hit) {
        blob = tamis__guard_blob_create(NULL, value, sizeof value);
        assert_non_null(blob);
        tamis__guard_cache_put(cache, hash_of(key), blob, NEVER);
    }
    tamis__guard_blob_release(blob);
    return is_hit;
}

static double list_rate(const run *r, bool moves_on_hit, uint64_t capacity) {
    list_cache list = list_create(moves_on_hit, capacity, HOT_KEYS + 1 + r->counted * r->scanned);
    const double rate = hit_rate(r, use_list, &list);

    list_free(&list);
    return rate;
}

static double guard_rate(const run *r, uint64_t bytes, uint64_t *entries) {
    guard_cache *cache = create(bytes);
    const double rate = hit_rate(r, use_guard, cache);
    uint64_t used;

    tamis__guard_cache_count(cache, entries, &used);
    tamis__guard_cache_free(cache);
    return rate;
}

static void test_scan_does_not_drive_out_hot_keys(void **state) {
    (void)state;
    static double totals[HOT_KEYS];
    const uint64_t requests = test_scale(200000, 60000, 60000);
    run quiet = {.warm = requests, .counted = requests, .seed = test_seed(20262), .totals = totals};
    run scan = quiet;

    scan.scanned = SCAN_FACTOR;
    for (size_t i = 0; i < HOT_KEYS; i++)
        totals[i] = (i ? totals[i - 1] : 0) + 1.0 / (double)(i + 1);
    for (uint64_t bytes = 256 << 10; bytes <= 1 << 20; bytes *= 2) {
        uint64_t entries, entries_after;
        const double without = guard_rate(&quiet, bytes, &entries);
        const double with = guard_rate(&scan, bytes, &entries_after);
        const double lru = list_rate(&quiet, true, entries), lru_scan = list_rate(&scan, true, entries);
        const double fifo = list_rate(&quiet, false, entries), fifo_scan = list_rate(&scan, false, entries);
        print_message("%5llu KiB, %5llu entries: hits %.3f, scan %.3f; LRU %.3f, scan %.3f; "
                      "FIFO %.3f, scan %.3f\n",
                      (unsigned long long)bytes >> 10, (unsigned long long)entries, without, with, lru,
                      lru_scan, fifo, fifo_scan);
        assert_true(with > without - 0.05);
        assert_true(with > lru_scan + 0.15);
        assert_true(with > fifo_scan + 0.15);
        assert_true(without > lru && without > fifo);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_agrees_with_a_map),
        cmocka_unit_test(test_scan_does_not_drive_out_hot_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
