/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "service/guard/guard_cache.h"
#include "support/scratch.h"

enum { NEVER = 1 << 30 };

/* ---- an allocator that counts ---- */

typedef struct counted {
    size_t bytes, max, refused_from; /* refused_from: blocks of this size and more fail; 0: none */
} counted;

static void *counted_alloc(void *context, size_t size, size_t align) {
    counted *self = context;
    void *block = NULL;

    if (self->refused_from && size >= self->refused_from)
        return NULL;
    assert_int_equal(posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size), 0);
    memset(block, 0, size);
    self->bytes += size + 16;
    if (self->bytes > self->max)
        self->max = self->bytes;
    return block;
}

static void counted_free(void *context, void *block, size_t size) {
    counted *self = context;

    self->bytes -= size + 16;
    free(block);
}

static tamis_allocator counted_allocator(counted *self) {
    return (tamis_allocator){counted_alloc, counted_free, self};
}

static guard_cache *create(uint64_t bytes, const tamis_allocator *allocator) {
    guard_cache *cache = NULL;

    assert_int_equal(tamis__guard_cache_create(&cache, bytes, allocator, NULL), TAMIS_OK);
    return cache;
}

/* Hashes of key numbers: any mixing function will do. */
static guard_hash hash_of(uint64_t number) {
    uint64_t seed = number;
    const uint64_t low = test_random(&seed), high = test_random(&seed);

    return (guard_hash){low, high};
}

/* Puts a value of `size` bytes; size -1: a null. */
static void put_value(guard_cache *cache, uint64_t key, int size, int fill, uint64_t expires,
                      const tamis_allocator *allocator) {
    static unsigned char data[1 << 16];

    memset(data, fill, sizeof data);
    guard_blob *blob =
        tamis__guard_blob_create(allocator, size < 0 ? NULL : data, size < 0 ? 0 : (size_t)size);
    assert_non_null(blob);
    tamis__guard_cache_put(cache, hash_of(key), blob, expires);
    tamis__guard_blob_release(blob);
}

static int first_byte(const guard_blob *blob) {
    return *(const unsigned char *)tamis__guard_blob_bytes(blob).data;
}

/* Returns the first byte of the value, -1 for a null, -2 for no entry. */
static int find_value(guard_cache *cache, uint64_t key, uint64_t now) {
    guard_blob *blob = tamis__guard_cache_find(cache, hash_of(key), now);
    const int first = !blob ? -2 : tamis__guard_blob_is_null(blob) ? -1 : first_byte(blob);

    tamis__guard_blob_release(blob);
    return first;
}

static uint64_t count_entries(const guard_cache *cache) {
    uint64_t entries, bytes;

    tamis__guard_cache_count(cache, &entries, &bytes);
    return entries;
}

/* ---- tests ---- */

static void test_entry_expires(void **state) {
    (void)state;
    guard_cache *cache = create(64 << 10, NULL);

    put_value(cache, 1, 10, 'a', 1000, NULL);
    assert_int_equal(find_value(cache, 1, 999), 'a');
    assert_int_equal(find_value(cache, 1, 1000), -2);
    assert_int_equal(count_entries(cache), 0);
    assert_int_equal(find_value(cache, 1, 999), -2);
    tamis__guard_cache_free(cache);
}

static void test_last_put_counts(void **state) {
    (void)state;
    guard_cache *cache = create(64 << 10, NULL);

    put_value(cache, 1, 10, 'a', NEVER, NULL);
    put_value(cache, 1, 20, 'b', NEVER, NULL);
    assert_int_equal(find_value(cache, 1, 1), 'b');
    put_value(cache, 1, -1, 0, NEVER, NULL);
    assert_int_equal(find_value(cache, 1, 1), -1);
    put_value(cache, 1, 30, 'c', 500, NULL);
    assert_int_equal(find_value(cache, 1, 499), 'c');
    assert_int_equal(find_value(cache, 1, 500), -2);
    tamis__guard_cache_free(cache);
}

static void test_removed_key_is_gone(void **state) {
    (void)state;
    guard_cache *cache = create(64 << 10, NULL);

    put_value(cache, 1, 10, 'a', NEVER, NULL);
    put_value(cache, 2, 10, 'b', NEVER, NULL);
    tamis__guard_cache_remove(cache, hash_of(1));
    tamis__guard_cache_remove(cache, hash_of(3));
    assert_int_equal(find_value(cache, 1, 1), -2);
    assert_int_equal(find_value(cache, 2, 1), 'b');
    tamis__guard_cache_free(cache);
}

/* An answer that is too large takes the old one with it: the old one is no longer right. */
static void test_large_answer_is_dropped(void **state) {
    (void)state;
    guard_cache *cache = create(64 << 10, NULL);

    put_value(cache, 1, 7000, 'a', NEVER, NULL);
    assert_int_equal(find_value(cache, 1, 1), 'a');
    put_value(cache, 1, 9000, 'b', NEVER, NULL);
    assert_int_equal(find_value(cache, 1, 1), -2);
    tamis__guard_cache_free(cache);
}

static void test_found_answer_outlives_cache(void **state) {
    (void)state;
    guard_cache *cache = create(64 << 10, NULL);

    put_value(cache, 1, 10, 'a', NEVER, NULL);
    guard_blob *blob = tamis__guard_cache_find(cache, hash_of(1), 1);
    tamis__guard_cache_free(cache);
    assert_int_equal(first_byte(blob), 'a');
    tamis__guard_blob_release(blob);
}

static void test_too_small_a_bound_is_refused(void **state) {
    (void)state;
    guard_cache *cache = NULL;
    tamis_error err;

    assert_int_equal(tamis__guard_cache_create(&cache, (64 << 10) - 1, NULL, &err), TAMIS_E_RANGE);
    assert_null(cache);
}

/* All memory, as the allocator sees it, is within the bound after each step, while tables grow too. A step
 * holds one answer of its own. */
static void test_memory_has_a_bound(void **state) {
    (void)state;
    static const uint64_t bounds[] = {64 << 10, 100 << 10, 1 << 20, 16 << 20};

    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        counted memory = {0};
        const tamis_allocator allocator = counted_allocator(&memory);
        guard_cache *cache = create(bounds[b], &allocator);
        uint64_t seed = 7, largest = 0;
        for (int step = 0; step < 60000; step++) {
            const int size = (int)(test_random(&seed) % 1000) - 1;
            put_value(cache, test_random(&seed) % 40000, size, 'x', NEVER, &allocator);
            (void)find_value(cache, test_random(&seed) % 40000, 1);
            uint64_t entries, bytes;
            tamis__guard_cache_count(cache, &entries, &bytes);
            largest = bytes > largest ? bytes : largest;
            assert_true(bytes <= bounds[b]);
            assert_true(memory.bytes <= bytes);
        }
        assert_true(memory.max <= bounds[b] + 1200);
        assert_true(largest > bounds[b] * 9 / 10);
        tamis__guard_cache_free(cache);
        assert_int_equal(memory.bytes, 0);
    }
}

/* Nulls alone leave three quarters of the memory free. */
static void test_nulls_have_a_quarter(void **state) {
    (void)state;
    counted memory = {0};
    const tamis_allocator allocator = counted_allocator(&memory);
    guard_cache *cache = create(256 << 10, &allocator);

    for (uint64_t key = 0; key < 1000; key++)
        put_value(cache, key, 100, 'v', NEVER, &allocator);
    const uint64_t values = count_entries(cache);
    for (uint64_t key = 10000; key < 20000; key++)
        put_value(cache, key, -1, 0, NEVER, &allocator);
    uint64_t kept = 0, nulls = 0;
    for (uint64_t key = 0; key < 1000; key++)
        kept += find_value(cache, key, 1) == 'v';
    for (uint64_t key = 10000; key < 20000; key++)
        nulls += find_value(cache, key, 1) == -1;
    assert_true(kept * 10 >= values * 6); /* the table has grown too */
    assert_true(nulls > 300);
    assert_true(nulls * (64 + 48 + 32) <= 64 << 10);
    tamis__guard_cache_free(cache);
}

static void test_expired_entries_leave_first(void **state) {
    (void)state;
    guard_cache *cache = create(64 << 10, NULL);

    for (uint64_t key = 0; key < 100; key++) {
        put_value(cache, key, 300, 'o', 1000, NULL);
        for (uint64_t now = 1; now < 4; now++)
            (void)find_value(cache, key, now);
    }
    (void)find_value(cache, 5000, 2000); /* the shard learns the time */
    for (uint64_t key = 1000; key < 1080; key++)
        put_value(cache, key, 300, 'n', NEVER, NULL);
    for (uint64_t key = 1000; key < 1080; key++)
        assert_int_equal(find_value(cache, key, 2000), 'n');
    tamis__guard_cache_free(cache);
}

/* Without memory for entries and larger tables the cache holds less, and stays right. */
static void test_lack_of_memory_is_no_error(void **state) {
    (void)state;
    counted memory = {0};
    const tamis_allocator allocator = counted_allocator(&memory);
    guard_cache *cache = create(1 << 20, &allocator);

    memory.refused_from = 600; /* no larger table */
    for (uint64_t key = 0; key < 5000; key++)
        put_value(cache, key, 10, (int)(key % 100), NEVER, &allocator);
    assert_true(count_entries(cache) > 3000);
    for (uint64_t key = 0; key < 5000; key++) {
        const int found = find_value(cache, key, 1);
        assert_true(found == -2 || found == (int)(key % 100));
    }
    put_value(cache, 1, 10, 'a', NEVER, NULL);
    memory.refused_from = 1; /* no entry */
    put_value(cache, 1, 10, 'b', NEVER, NULL);
    assert_int_equal(find_value(cache, 1, 1), -2);
    tamis__guard_cache_free(cache);
    assert_int_equal(memory.bytes, 0);

    counted none = {.refused_from = 1};
    const tamis_allocator refusing = counted_allocator(&none);
    assert_int_equal(tamis__guard_cache_create(&cache, 1 << 20, &refusing, NULL), TAMIS_E_NOMEM);
    none.refused_from = 400; /* no shards, or no buckets */
    assert_int_equal(tamis__guard_cache_create(&cache, 1 << 20, &refusing, NULL), TAMIS_E_NOMEM);
    none.refused_from = 512;
    assert_int_equal(tamis__guard_cache_create(&cache, 64 << 10, &refusing, NULL), TAMIS_E_NOMEM);
    assert_int_equal(none.bytes, 0);
}

/* ---- threads ---- */

enum { THREADS = 4, THREAD_KEYS = 500, THREAD_STEPS = 20000 };

typedef struct worker {
    guard_cache *cache;
    uint64_t seed;
    int wrong;
} worker;

/* Each value consists of the low byte of its key. */
static void *work(void *context) {
    worker *self = context;

    for (int step = 0; step < THREAD_STEPS; step++) {
        const uint64_t key = test_random(&self->seed) % THREAD_KEYS;
        const unsigned char byte = (unsigned char)key;
        const uint64_t action = test_random(&self->seed) % 10;
        tamis__guard_cache_prefetch(self->cache, hash_of(key));
        if (action == 0) {
            tamis__guard_cache_remove(self->cache, hash_of(key));
        } else if (action < 4) {
            const unsigned char data[3] = {byte, byte, byte};
            guard_blob *blob = tamis__guard_blob_create(NULL, data, sizeof data);
            tamis__guard_cache_put(self->cache, hash_of(key), blob, (uint64_t)step + 1000);
            tamis__guard_blob_release(blob);
        } else {
            guard_blob *blob = tamis__guard_cache_find(self->cache, hash_of(key), (uint64_t)step);
            self->wrong += blob && ((const unsigned char *)tamis__guard_blob_bytes(blob).data)[2] != byte;
            tamis__guard_blob_release(blob);
        }
    }
    return NULL;
}

static void test_threads_share_a_cache(void **state) {
    (void)state;
    guard_cache *cache = create(64 << 10, NULL);
    pthread_t threads[THREADS];
    worker workers[THREADS];

    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){cache, (uint64_t)i + 1, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    assert_true(count_entries(cache) > 0);
    tamis__guard_cache_free(cache);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entry_expires),
        cmocka_unit_test(test_last_put_counts),
        cmocka_unit_test(test_removed_key_is_gone),
        cmocka_unit_test(test_large_answer_is_dropped),
        cmocka_unit_test(test_found_answer_outlives_cache),
        cmocka_unit_test(test_too_small_a_bound_is_refused),
        cmocka_unit_test(test_memory_has_a_bound),
        cmocka_unit_test(test_nulls_have_a_quarter),
        cmocka_unit_test(test_expired_entries_leave_first),
        cmocka_unit_test(test_lack_of_memory_is_no_error),
        cmocka_unit_test(test_threads_share_a_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
