/* SPDX-License-Identifier: BSD-2-Clause */
#include "hash/xxh3_long.h"

#include <xxhash.h>

void tamis__xxh3_long(const void *bytes, size_t size, uint64_t seed, uint64_t word[2]) {
    XXH128_hash_t digest = XXH3_128bits_withSeed(bytes, size, seed);
    word[0] = digest.low64;
    word[1] = digest.high64;
}
