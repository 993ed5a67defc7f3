/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * XXH3 with AVX2: keys are sorted by size class as in the scalar set. The classes of 4..8 and 9..16 bytes are
 * then hashed four at a time, one key in each 64-bit lane.
 *
 *     class 4..8     lane    | b0..b3, last 4 bytes | x 4 keys
 *     class 9..16    first   | b0..b7               | x 4 keys
 *                    last    | last 8 bytes         | x 4 keys
 *
 * The keys that remain of these classes (up to three), and those of all other classes, are hashed one by one.
 *
 * AVX2 multiplies 32-bit words only, with 64-bit results. multiply() builds the 128-bit product of two 64-bit
 * words from four such products. That costs less than the four lanes save. Measured in nanoseconds per key,
 * scalar to AVX2 (docs/PERFORMANCE.md, "Tried"): words 5.2 to 4.0, 8 bytes 2.4 to 1.9, 16 bytes 3.3 to 2.6.
 *
 * MurmurHash3 uses the scalar kernel.
 */
#include "hash/kernels/hash_classes.h"

#ifdef TAMIS__HAVE_AVX2
#include <immintrin.h>

enum { LANES = 4 };

static inline __m256i splat(uint64_t word) {
    return _mm256_set1_epi64x((long long)word);
}

static inline __m256i shift_mix(__m256i x, int by) {
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, by));
}

/*
 * Multiplies 64-bit lanes to 128 bits. With a = aH 2^32 + aL and b = bH 2^32 + bL:
 *
 *     lowest = aL bL
 *     middle = aH bL + high(lowest)
 *     other  = aL bH + low(middle)
 *     result = aH bH + high(middle) + high(other)  |  low(other)  |  low(lowest)
 */
static inline void multiply(__m256i a, __m256i b, __m256i *low, __m256i *high) {
    __m256i a_high = _mm256_srli_epi64(a, 32), b_high = _mm256_srli_epi64(b, 32);
    const __m256i lowest = _mm256_mul_epu32(a, b);
    const __m256i middle = _mm256_add_epi64(_mm256_mul_epu32(a_high, b), _mm256_srli_epi64(lowest, 32));
    const __m256i other =
        _mm256_add_epi64(_mm256_mul_epu32(a, b_high), _mm256_blend_epi32(middle, splat(0), 0xaa));
    *low = _mm256_blend_epi32(lowest, _mm256_slli_epi64(other, 32), 0xaa);
    *high = _mm256_add_epi64(_mm256_mul_epu32(a_high, b_high),
                             _mm256_add_epi64(_mm256_srli_epi64(middle, 32), _mm256_srli_epi64(other, 32)));
}

/* Returns the low 64 bits of each product: aL bL + (aL bH + aH bL) 2^32. */
static inline __m256i multiply_low(__m256i a, uint64_t b) {
    /* The cross products aL bH and aH bL. Only their low 32 bits matter. */
    __m256i cross = _mm256_mullo_epi32(a, splat(b << 32 | b >> 32));
    cross = _mm256_add_epi32(_mm256_slli_epi64(cross, 32), _mm256_blend_epi32(splat(0), cross, 0xaa));
    return _mm256_add_epi64(_mm256_mul_epu32(a, splat(b)), cross);
}

static inline __m256i xxh3_avalanche(__m256i x) {
    return shift_mix(multiply_low(shift_mix(x, 37), TAMIS__XXH_MX1), 32);
}

static inline void store_hash(tamis_hash *hash, __m128i word, uint64_t hasher_id) {
    _mm_storeu_si128((__m128i *)(void *)hash->word, word);
    hash->hasher_id = hasher_id;
}

/*
 * Stores the digests of four keys. `low` and `high` hold one word of each key. A 256-bit unpack works on each
 * half of a register, so even keys go to one register and odd keys to the other:
 *
 *     low    l0 l1 | l2 l3        even   l0 h0 | l2 h2
 *     high   h0 h1 | h2 h3        odd    l1 h1 | l3 h3
 */
static inline void store_four(tamis_hash *const hashes[LANES], __m256i low, __m256i high,
                              uint64_t hasher_id) {
    __m256i even = _mm256_unpacklo_epi64(low, high), odd = _mm256_unpackhi_epi64(low, high);
    store_hash(hashes[0], _mm256_castsi256_si128(even), hasher_id);
    store_hash(hashes[1], _mm256_castsi256_si128(odd), hasher_id);
    store_hash(hashes[2], _mm256_extracti128_si256(even, 1), hasher_id);
    store_hash(hashes[3], _mm256_extracti128_si256(odd, 1), hasher_id);
}

static inline __m256i vector_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return _mm256_set_epi64x((long long)d, (long long)c, (long long)b, (long long)a);
}

static inline __m256i sizes_of(const tamis_key *const keys[LANES]) {
    return vector_of(keys[0]->size, keys[1]->size, keys[2]->size, keys[3]->size);
}

static inline uint64_t first_word(const tamis_key *key) {
    return tamis__load64le(key->data);
}

static inline uint64_t last_word(const tamis_key *key) {
    return tamis__load64le((const uint8_t *)key->data + key->size - 8);
}

/* Returns the first and the last four bytes of a key of 4..8 bytes. */
static inline __m128i both_halves(const tamis_key *key) {
    const uint8_t *data = key->data;
    return _mm_insert_epi32(_mm_cvtsi32_si128((int)tamis__load32le(data)),
                            (int)tamis__load32le(data + key->size - 4), 1);
}

/* Hashes four keys of 4..8 bytes, like tamis__xxh3_narrow. */
static inline void hash_4_to_8(const tamis__xxh3 *x, const tamis_key *const keys[LANES], uint64_t hasher_id,
                               tamis_hash *const hashes[LANES]) {
    __m128i prefix = _mm_unpacklo_epi64(both_halves(keys[0]), both_halves(keys[1]));
    __m128i back = _mm_unpacklo_epi64(both_halves(keys[2]), both_halves(keys[3]));
    __m256i value = _mm256_set_m128i(back, prefix), low, high;
    multiply(_mm256_xor_si256(value, splat(x->flip_narrow)),
             _mm256_add_epi64(splat(TAMIS__XXH_P1), _mm256_slli_epi64(sizes_of(keys), 2)), &low, &high);
    high = _mm256_add_epi64(high, _mm256_add_epi64(low, low));
    low = _mm256_xor_si256(low, _mm256_srli_epi64(high, 3));
    low = shift_mix(multiply_low(shift_mix(low, 35), TAMIS__XXH_MX2), 28);
    store_four(hashes, low, xxh3_avalanche(high), hasher_id);
}

/* Hashes four keys of 9..16 bytes, like tamis__xxh3_wide. */
static inline void hash_9_to_16(const tamis__xxh3 *x, const tamis_key *const keys[LANES], uint64_t hasher_id,
                                tamis_hash *const hashes[LANES]) {
    const __m256i turned =
        _mm256_set_epi64x(0x08090a0b0c0d0e0f, 0x0001020304050607, 0x08090a0b0c0d0e0f, 0x0001020304050607);
    __m256i first =
        vector_of(first_word(keys[0]), first_word(keys[1]), first_word(keys[2]), first_word(keys[3]));
    __m256i last = vector_of(last_word(keys[0]), last_word(keys[1]), last_word(keys[2]), last_word(keys[3]));
    __m256i low, high;
    multiply(_mm256_xor_si256(_mm256_xor_si256(first, last), splat(x->flip_wide[0])), splat(TAMIS__XXH_P1),
             &low, &high);
    last = _mm256_xor_si256(last, splat(x->flip_wide[1]));
    low = _mm256_add_epi64(low, _mm256_slli_epi64(_mm256_sub_epi64(sizes_of(keys), splat(1)), 54));
    high =
        _mm256_add_epi64(_mm256_add_epi64(high, last), _mm256_mul_epu32(last, splat(TAMIS__XXH_P32_2 - 1)));
    low = _mm256_xor_si256(low, _mm256_shuffle_epi8(high, turned));
    __m256i rest = multiply_low(high, TAMIS__XXH_P2);
    multiply(low, splat(TAMIS__XXH_P2), &low, &high);
    store_four(hashes, xxh3_avalanche(low), xxh3_avalanche(_mm256_add_epi64(high, rest)), hasher_id);
}

/* Hashes keys in groups of four. Returns the number of hashed keys; up to three remain. */
static inline __attribute__((always_inline)) size_t fours(const tamis__xxh3 *x, int class, uint64_t hasher_id,
                                                          const tamis_key *keys, const uint8_t *numbers,
                                                          size_t count, tamis_hash *hashes) {
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        const tamis_key *key[LANES];
        tamis_hash *hash[LANES];
        for (size_t j = 0; j < LANES; j++) {
            key[j] = &keys[numbers ? numbers[i + j] : i + j];
            hash[j] = &hashes[numbers ? numbers[i + j] : i + j];
        }
        if (class == NARROW)
            hash_4_to_8(x, key, hasher_id, hash);
        else
            hash_9_to_16(x, key, hasher_id, hash);
    }
    return i;
}

static inline __attribute__((always_inline)) void hash_fours(const tamis__xxh3 *x, unsigned class,
                                                             uint64_t hasher_id, const tamis_key *keys,
                                                             const uint8_t *numbers, size_t count,
                                                             tamis_hash *hashes) {
    size_t done = 0;
    if (class == NARROW)
        done = fours(x, NARROW, hasher_id, keys, numbers, count, hashes);
    else if (class == WIDE)
        done = fours(x, WIDE, hasher_id, keys, numbers, count, hashes);
    if (numbers)
        hash_numbered(x, class, hasher_id, keys, numbers + done, count - done, hashes);
    else
        hash_numbered(x, class, hasher_id, keys + done, NULL, count - done, hashes + done);
}

static void xxh3(const tamis__xxh3 *x, uint64_t hasher_id, const tamis_key *keys, size_t count,
                 tamis_hash *hashes) {
    hash_batch(hash_fours, x, hasher_id, keys, count, hashes);
}

static void murmur3(uint64_t hasher_id, const tamis_key *keys, size_t count, tamis_hash *hashes) {
    tamis__hash_kernels_scalar.murmur3(hasher_id, keys, count, hashes);
}

const struct tamis__hash_kernels tamis__hash_kernels_avx2 = {
    .name = "avx2", .xxh3 = xxh3, .murmur3 = murmur3};
#endif
