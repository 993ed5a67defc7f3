/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scalar kernels: the reference that every vector kernel must match, bit for bit. XXH3 sorts the keys of a
 * batch by size class (hash_classes.h). MurmurHash3 hashes them in order.
 */
#include "hash/hash_functions.h"
#include "hash/kernels/hash_classes.h"

static void xxh3(const tamis__xxh3 *x, uint64_t hasher_id, const tamis_key *keys, size_t count,
                 tamis_hash *hashes) {
    hash_batch(hash_numbered, x, hasher_id, keys, count, hashes);
}

static void murmur3(uint64_t hasher_id, const tamis_key *keys, size_t count, tamis_hash *hashes) {
    for (size_t i = 0; i < count; i++) {
        tamis__murmur3_x64_128(keys[i].data, keys[i].size, 0, hashes[i].word);
        hashes[i].hasher_id = hasher_id;
    }
}

const struct tamis__hash_kernels tamis__hash_kernels_scalar = {
    .name = "scalar", .xxh3 = xxh3, .murmur3 = murmur3};
