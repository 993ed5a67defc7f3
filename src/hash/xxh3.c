/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The constants of XXH3 for one seed, and the call of libxxhash for keys that xxh3.h does not hash itself.
 *
 * XXH3 mixes a key with a default secret of 192 bytes. For keys of up to 128 bytes each formula takes fixed
 * words of the first 128 bytes and combines them with the seed. These words do not depend on the key:
 *
 *     words      used for      combined with the seed
 *     --------   -----------   ------------------------------------------------------------
 *     0, 1       1..3 bytes    the halves of each, xored; then + seed and - seed
 *     2, 3       4..8          xored, + (seed ^ its low half, bytes reversed, as high half)
 *     4 to 7     9..16         xored in pairs, - seed and + seed
 *     8 to 11    0             xored in pairs and with the seed: the digest itself
 *     0 to 15    17..128       + seed and - seed in turn; round i takes words 4 i to 4 i + 3
 *
 * Why the secret is copied here: libxxhash does not export it. tests/kernel compares digests of all sizes
 * with those of the library, so a wrong word would be found.
 *
 * Measured: ./dev bench stages has the stage "hash" of a run, beside the least time (docs/PERFORMANCE.md).
 */
#include "hash/xxh3.h"

#include <xxhash.h>

/* The first 128 bytes of the default secret, as little-endian words. */
static const uint64_t secret[16] = {
    0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de, 0x1f67b3b7a4a44072,
    0x78e5c0cc4ee679cb, 0x2172ffcc7dd05a82, 0x8e2443f7744608b8, 0x4c263a81e69035e0,
    0xcb00c391bb52283c, 0xa32e531b8b65d088, 0x4ef90da297486471, 0xd8acdea946ef1938,
    0x3f349ce33f76faa8, 0x1d4f0bc7c7bbdcf9, 0x3159b4cd4be0518a, 0x647378d9c97e9fc8,
};

/* Returns both halves of a word, xored: the constants for 1..3 bytes have 32 bits. */
static uint64_t folded(uint64_t word) {
    return (uint32_t)word ^ word >> 32;
}

void tamis__xxh3_init(tamis__xxh3 *x, uint64_t seed) {
    *x = (tamis__xxh3){
        .seed = seed,
        .empty = {tamis__xxh64_avalanche(seed ^ secret[8] ^ secret[9]),
                  tamis__xxh64_avalanche(seed ^ secret[10] ^ secret[11])},
        .flip_tiny = {folded(secret[0]) + seed, folded(secret[1]) - seed},
        .flip_narrow = (secret[2] ^ secret[3]) + (seed ^ (uint64_t)__builtin_bswap32((uint32_t)seed) << 32),
        .flip_wide = {(secret[4] ^ secret[5]) - seed, (secret[6] ^ secret[7]) + seed},
    };
    for (int i = 0; i < 16; i++)
        x->words[i] = i % 2 ? secret[i] - seed : secret[i] + seed;
}

void tamis__xxh3_any(const void *bytes, size_t size, uint64_t seed, uint64_t word[2]) {
    XXH128_hash_t digest = XXH3_128bits_withSeed(bytes, size, seed);
    word[0] = digest.low64;
    word[1] = digest.high64;
}
