/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_KERNELS_HASH_CLASSES_H
#define TAMIS_HASH_KERNELS_HASH_CLASSES_H

/*
 * Sorting a batch by the size classes of XXH3.
 *
 * Problem: XXH3 has a separate formula for each class of sizes (hash/xxh3.h). If the sizes are mixed, as in a
 * list of words, a branch on the size is mispredicted for every second or third key.
 *
 *     class   TINY   NARROW   WIDE    ROUNDS_1   ROUNDS_2   ROUNDS_3   ROUNDS_4   LONG
 *     bytes   0..3   4..8     9..16   17..32     33..64     65..96     97..128    129..
 *
 * Idea: sort the indices of up to HASH_CHUNK keys by class first, without a branch, then hash one class after
 * the other:
 *
 *     keys                 "a"  "hello"  "it"  "extraordinary"  "world"
 *     of[TINY]              0             2
 *     of[NARROW]                 1                                 4
 *     of[WIDE]                                      3
 *
 *     for each class: for each index in of[class]: hash keys[index] into hashes[index]
 *
 * Invariants:
 *
 * 1. hash_class() is inlined with a constant class, so its loop has no branch on the class.
 * 2. An index fits a byte, because HASH_CHUNK is at most 256. Eight lists of 128 bytes stay in the
 *    first-level cache.
 * 3. Each hash is written to the position of its key, so sorting is invisible to the caller.
 *
 * If all keys of a chunk have the same size, as integers do, nothing is sorted: the loop runs over the keys
 * directly.
 *
 * Measured for a list of words, in nanoseconds per key (docs/PERFORMANCE.md, "Tried"): a branch for each key
 * 8.5, sorted 5.6. Selects instead of branches took 9.4 (gcc 12 turns them back into branches).
 */
#include "hash/kernels/hash_kernels.h"

enum { HASH_CHUNK = 128 }; /* keys in a chunk */

enum { TINY, NARROW, WIDE, ROUNDS_1, ROUNDS_2, ROUNDS_3, ROUNDS_4, LONG, CLASSES };

/* Indices of keys in a chunk, grouped by class. */
typedef struct classes {
    uint8_t numbers_of[CLASSES][HASH_CHUNK];
    size_t count[CLASSES];
} classes;

static inline unsigned class_of(size_t size) {
/* clang-format off */
#define FOUR(c) c, c, c, c
#define SIXTEEN(c) FOUR(c), FOUR(c), FOUR(c), FOUR(c)
#define THIRTY_TWO(c) SIXTEEN(c), SIXTEEN(c)
    static const uint8_t class_table[TAMIS__XXH3_ROUNDS_MAX + 2] = {
        FOUR(TINY), NARROW, FOUR(NARROW), FOUR(WIDE), FOUR(WIDE), SIXTEEN(ROUNDS_1),
        THIRTY_TWO(ROUNDS_2), THIRTY_TWO(ROUNDS_3), THIRTY_TWO(ROUNDS_4), LONG,
    };
#undef FOUR
#undef SIXTEEN
#undef THIRTY_TWO
    /* clang-format on */
    return class_table[size <= TAMIS__XXH3_ROUNDS_MAX ? size : TAMIS__XXH3_ROUNDS_MAX + 1];
}

/* Hashes keys of one class; `class` is a constant where this is inlined. `numbers` lists the indices of
 * the keys; NULL means the first `count` keys. */
static inline __attribute__((always_inline)) void hash_class(const tamis__xxh3 *x, int class,
                                                             uint64_t hasher_id, const tamis_key *keys,
                                                             const uint8_t *numbers, size_t count,
                                                             tamis_hash *hashes) {
    for (size_t i = 0; i < count; i++) {
        const tamis_key key = keys[numbers ? numbers[i] : i];
        tamis_hash *hash = &hashes[numbers ? numbers[i] : i];
        if (class == TINY && key.size == 0)
            memcpy(hash->word, x->empty, sizeof x->empty);
        else if (class == TINY)
            tamis__xxh3_tiny(x, key.data, key.size, hash->word);
        else if (class == NARROW)
            tamis__xxh3_narrow(x, key.data, key.size, hash->word);
        else if (class == WIDE)
            tamis__xxh3_wide(x, key.data, key.size, hash->word);
        else if (class == LONG)
            tamis__xxh3_any(key.data, key.size, x->seed, hash->word);
        else
            tamis__xxh3_rounds(x, key.data, key.size, class - ROUNDS_1 + 1, hash->word);
        hash->hasher_id = hasher_id;
    }
}

/* Calls hash_class with a constant class. After inlining each class has two loops: with and without
 * indices. */
#define HASH_CASE(c)                                                                                         \
    case c:                                                                                                  \
        hash_class(x, c, hasher_id, keys, numbers, count, hashes);                                           \
        break;
static inline __attribute__((always_inline)) void hash_numbered(const tamis__xxh3 *x, unsigned class,
                                                                uint64_t hasher_id, const tamis_key *keys,
                                                                const uint8_t *numbers, size_t count,
                                                                tamis_hash *hashes) {
    switch (class) {
        HASH_CASE(TINY)
        HASH_CASE(NARROW)
        HASH_CASE(WIDE)
        HASH_CASE(ROUNDS_1)
        HASH_CASE(ROUNDS_2)
        HASH_CASE(ROUNDS_3)
        HASH_CASE(ROUNDS_4)
        HASH_CASE(LONG)
    }
}
#undef HASH_CASE

/* Adds a key to the list of its class. Prefetches the key bytes now, in the order of the batch: the loops
 * over classes read them in another order. */
static inline void classify(classes *c, const tamis_key *keys, size_t number) {
    const tamis_key key = keys[number];
    const unsigned class = class_of(key.size);
    __builtin_prefetch(key.data);
    __builtin_prefetch((const void *)((uintptr_t)key.data + key.size));
    c->numbers_of[class][c->count[class]++] = (uint8_t)number;
}

/* A function that hashes keys of one class: hash_numbered, or a vector version of it. */
typedef void hash_one_class(const tamis__xxh3 *x, unsigned class, uint64_t hasher_id, const tamis_key *keys,
                            const uint8_t *numbers, size_t count, tamis_hash *hashes);

static inline __attribute__((always_inline)) void hash_classes(hash_one_class *hash, const tamis__xxh3 *x,
                                                               const classes *c, uint64_t hasher_id,
                                                               const tamis_key *keys, tamis_hash *hashes) {
    for (unsigned class = 0; class < CLASSES; class ++)
        if (c->count[class] > 0)
            hash(x, class, hasher_id, keys, c->numbers_of[class], c->count[class], hashes);
}

static inline bool are_sizes_equal(const tamis_key *keys, size_t count) {
    size_t differ = 0;
    for (size_t i = 1; i < count; i++)
        differ |= keys[i].size ^ keys->size;
    return !differ;
}

static inline __attribute__((always_inline)) void hash_batch(hash_one_class *hash, const tamis__xxh3 *x,
                                                             uint64_t hasher_id, const tamis_key *keys,
                                                             size_t count, tamis_hash *hashes) {
    for (size_t chunk; count > 0; keys += chunk, hashes += chunk, count -= chunk) {
        chunk = count < HASH_CHUNK ? count : HASH_CHUNK;
        if (are_sizes_equal(keys, chunk)) { /* for example integers */
            hash(x, class_of(keys->size), hasher_id, keys, NULL, chunk, hashes);
            continue;
        }
        classes c;
        memset(c.count, 0, sizeof c.count);
        for (size_t i = 0; i < chunk; i++)
            classify(&c, keys, i);
        hash_classes(hash, x, &c, hasher_id, keys, hashes);
    }
}

#endif
