/* SPDX-License-Identifier: BSD-2-Clause */
#include "hash/kernels/hash_classes.h"
#include "hash/murmur3.h"

static bool all_alike(const tamis_key *keys, size_t count) {
    size_t differ = 0;
    for (size_t i = 1; i < count; i++)
        differ |= keys[i].size ^ keys->size;
    return !differ;
}

static void xxh3(const tamis__xxh3 *x, uint64_t origin, const tamis_key *keys, size_t count,
                 tamis_hash *hashes) {
    for (size_t some; count > 0; keys += some, hashes += some, count -= some) {
        some = count < HASH_CHUNK ? count : HASH_CHUNK;
        if (all_alike(keys, some)) { /* as numbers are */
            hash_numbered(x, class_of(keys->size), origin, keys, NULL, some, hashes);
            continue;
        }
        classes c;
        memset(c.count, 0, sizeof c.count);
        for (size_t i = 0; i < some; i++)
            classify(&c, keys, i);
        hash_classes(x, &c, origin, keys, hashes);
    }
}

static void murmur3(uint64_t origin, const tamis_key *keys, size_t count, tamis_hash *hashes) {
    for (size_t i = 0; i < count; i++) {
        tamis__murmur3_x64_128(keys[i].data, keys[i].size, 0, hashes[i].word);
        hashes[i].origin = origin;
    }
}

const struct tamis__hash_kernels tamis__hash_kernels_scalar = {
    .name = "scalar", .xxh3 = xxh3, .murmur3 = murmur3};
