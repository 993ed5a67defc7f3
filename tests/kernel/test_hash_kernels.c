/* SPDX-License-Identifier: BSD-2-Clause */

/* Every set of hash kernels, compared with libxxhash and murmur3.c, which hash one key at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "hash/hash_functions.h"
#include "hash/kernels/hash_kernels.h"
#include "support/isa.h"
#include "support/scratch.h"

enum { LONGEST = 300, MAX = 700 };

static const uint64_t HASHER_ID = UINT64_C(0x0123456789abcdef);
static const uint64_t seeds[] = {0, 1, 42, 0x80000000, UINT64_C(0x9e3779b97f4a7c15), UINT64_MAX};
enum { SEEDS = sizeof seeds / sizeof *seeds };

static tamis_hash expected_xxh3(uint64_t seed, tamis_key key) {
    XXH128_hash_t digest = XXH3_128bits_withSeed(key.data, key.size, seed);
    return (tamis_hash){{digest.low64, digest.high64}, HASHER_ID};
}

static tamis_hash expected_murmur3(tamis_key key) {
    tamis_hash hash = {{0, 0}, HASHER_ID};
    tamis__murmur3_x64_128(key.data, key.size, 0, hash.word);
    return hash;
}

/* Checks that a batch has the expected hashes, and that the bytes after it are unchanged. */
static void check_batch(tamis__isa isa, uint64_t seed, const tamis_key *keys, size_t count) {
    static tamis_hash got[MAX + 1];
    const struct tamis__hash_kernels *kernels = tamis__hash_kernels_of(isa);
    const tamis_hash untouched = {{77, 77}, 77};
    tamis__xxh3 x;
    tamis__xxh3_init(&x, seed);
    for (int murmur3 = 0; murmur3 < 2; murmur3++) {
        for (size_t i = 0; i <= count; i++)
            got[i] = untouched;
        if (murmur3)
            kernels->murmur3(HASHER_ID, keys, count, got);
        else
            kernels->xxh3(&x, HASHER_ID, keys, count, got);
        for (size_t i = 0; i < count; i++) {
            tamis_hash expected = murmur3 ? expected_murmur3(keys[i]) : expected_xxh3(seed, keys[i]);
            assert_memory_equal(&got[i], &expected, sizeof expected);
        }
        assert_memory_equal(&got[count], &untouched, sizeof untouched);
    }
}

static unsigned char random_bytes[MAX + LONGEST];

static void fill_bytes(uint64_t *random) {
    for (size_t i = 0; i < sizeof random_bytes; i++)
        random_bytes[i] = (unsigned char)test_random(random);
}

/* Keys of one length, as numbers have. Each ends at another alignment. */
static void every_length(tamis__isa isa) {
    uint64_t random = test_seed(61);
    static tamis_key keys[MAX];
    fill_bytes(&random);
    for (size_t size = 0; size <= LONGEST; size++) {
        for (size_t i = 0; i < MAX; i++)
            keys[i] = (tamis_key){random_bytes + i, size};
        for (size_t i = 0; i < SEEDS; i++)
            check_batch(isa, seeds[i], keys, size % 3 ? 9 : size % 5 ? 40 : MAX);
    }
}

/* Mixtures of key lengths: some take one path through a kernel, others take all paths. */
static size_t random_size(uint64_t *random, uint64_t mixture) {
    static const size_t below[] = {4, 9, 17, 33, 129, 241, LONGEST + 1};
    const size_t max = below[mixture % 7];
    if (mixture / 7 % 3 == 1 && test_below(random, 20) == 0)
        return test_below(random, LONGEST + 1);
    if (mixture / 7 % 3 == 2)
        return max - 1 - test_below(random, max < 5 ? max : 5);
    return test_below(random, max);
}

static void mixed_batches(tamis__isa isa) {
    uint64_t random = test_seed(62);
    static tamis_key keys[MAX];
    fill_bytes(&random);
    for (uint64_t round = 0; round < test_scale(20000, 1000, 3000); round++) {
        const size_t count = round <= 100 ? round : test_below(&random, round % 10 ? 101 : MAX + 1);
        for (size_t i = 0; i < count; i++) {
            keys[i] = (tamis_key){random_bytes + test_below(&random, MAX), random_size(&random, round)};
            if (keys[i].size == 0 && round % 2)
                keys[i].data = NULL;
        }
        check_batch(isa, seeds[round % SEEDS], keys, count);
    }
}

/* Keys at both ends of readable memory: reading a byte before or after them ends the process. */
static void keys_at_the_end_of_memory(tamis__isa isa) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages, page, PROT_NONE), 0);
    assert_int_equal(mprotect(pages + 2 * page, page, PROT_NONE), 0);
    unsigned char *from = pages + page, *to = from + page;
    for (size_t i = 0; i < page; i++)
        from[i] = (unsigned char)(i * 7);
    for (size_t size = 0; size <= LONGEST; size++) {
        tamis_key keys[34];
        for (size_t i = 0; i < 34; i++) {
            const size_t other = i % 3 ? size : (size + i) % 24;
            keys[i] = (tamis_key){i % 2 ? from : to - other, other};
        }
        check_batch(isa, seeds[size % SEEDS], keys, size % 2 ? 34 : 1 + size % 34);
    }
    assert_int_equal(munmap(pages, 3 * page), 0);
}

static void every_length_is_hashed(void **state) {
    (void)state;
    isa_each(every_length);
}

static void mixed_batches_are_hashed(void **state) {
    (void)state;
    isa_each(mixed_batches);
}

static void nothing_beside_a_key_is_read(void **state) {
    (void)state;
    isa_each(keys_at_the_end_of_memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_is_hashed),
        cmocka_unit_test(mixed_batches_are_hashed),
        cmocka_unit_test(nothing_beside_a_key_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
