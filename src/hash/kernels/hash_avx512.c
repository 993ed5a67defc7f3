/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * XXH3 and MurmurHash3 with AVX-512: eight keys of up to 16 bytes side by side, one key in each 64-bit lane.
 *
 * A masked load reads exactly the bytes of a key and fills the rest with zeros. The keys are then transposed
 * into three registers:
 *
 *     lane     0        1        ...  7
 *     sizes    n0       n1       ...  n7
 *     front    b0..7    b0..7    ...  b0..7
 *     back     b8..15   b8..15   ...  b8..15
 *
 * XXH3: the formulas for 4..8 and for 9..16 bytes end in similar steps. Both are computed for all lanes if
 * both classes occur, and a mask selects the result before the common last steps. Keys of up to 3 bytes are
 * replaced after that. A lane with a longer key holds garbage; the indices of such keys are collected, and
 * these keys are hashed again by class (hash_classes.h).
 *
 * MurmurHash3: a key of up to 15 bytes has no block, only a rest padded with zeros, so all eight take the
 * same path. If one of eight keys is longer, the scalar kernel hashes all eight.
 *
 * If more than an eighth of the first 32 keys of a chunk are longer than 16 bytes, the AVX2 kernel hashes the
 * chunk. It hashes no key twice. Measured in nanoseconds per key (docs/PERFORMANCE.md, "Tried"): words 5.6
 * scalar, 4.1 here. With that rule instead of a limit of four longer keys in each eight: keys of 1 to 40
 * bytes 8.9 to 7.4, keys of 10 to 20 bytes 5.9 to 6.5.
 */
#include "hash/kernels/hash_classes.h"

#ifdef TAMIS__HAVE_AVX512
#include <immintrin.h>

#include "hash/hash_functions.h"

enum { LANES = 8, SAMPLE = 32 };

typedef struct eight {
    __m512i sizes, prefix, back;
} eight;

static inline __m512i splat(uint64_t word) {
    return _mm512_set1_epi64((long long)word);
}

/* Loads a key of up to 16 bytes under a mask of its bytes, padded with zeros. Reads nothing else. */
static inline __m128i load_key(const tamis_key *key) {
    /* bzhi uses the low byte of the size only. */
    const __mmask16 there = (__mmask16)_bzhi_u32(0xffff, (unsigned)key->size);
    return _mm_maskz_loadu_epi8(there, key->data);
}

static inline __m512i join(__m128i a, __m128i b, __m128i c, __m128i d) {
    const __m512i joined = _mm512_inserti64x2(_mm512_castsi128_si512(a), b, 1);
    return _mm512_inserti64x2(_mm512_inserti64x2(joined, c, 2), d, 3);
}

/* Loads the sizes of eight keys. A tamis_key is a pointer and a size, so the sizes are the odd words. */
static inline __m512i load_sizes(const tamis_key *keys) {
    const __m512i seconds = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
    return _mm512_permutex2var_epi64(_mm512_loadu_si512(keys), seconds, _mm512_loadu_si512(keys + 4));
}

/* Loads eight keys and transposes them into one key per lane. */
static inline eight load_eight(__m512i sizes, const tamis_key *keys) {
    const __m512i even = join(load_key(keys), load_key(keys + 2), load_key(keys + 4), load_key(keys + 6));
    const __m512i odd = join(load_key(keys + 1), load_key(keys + 3), load_key(keys + 5), load_key(keys + 7));
    return (eight){sizes, _mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd)};
}

/*
 * Stores eight hashes of three words each: low word l, high word h, hasher_id i.
 *
 *     register 0   l0 h0 i  l1 h1 i  l2 h2
 *     register 1   i  l3 h3 i  l4 h4 i  l5
 *     register 2   h5 i  l6 h6 i  l7 h7 i
 */
static inline void store_eight(tamis_hash *hashes, __m512i low, __m512i high, __m512i hasher_id) {
    /* Index 0..7: a lane of `low`, 8..15: of `high`; the masks below then insert hasher_id. */
    const __m512i first = _mm512_set_epi64(10, 2, 0, 9, 1, 0, 8, 0);
    const __m512i second = _mm512_set_epi64(5, 0, 12, 4, 0, 11, 3, 0);
    const __m512i third = _mm512_set_epi64(0, 15, 7, 0, 14, 6, 0, 13);
    uint64_t *to = hashes->word;
    _mm512_storeu_si512(to,
                        _mm512_mask_mov_epi64(_mm512_permutex2var_epi64(low, first, high), 0x24, hasher_id));
    _mm512_storeu_si512(to + 8,
                        _mm512_mask_mov_epi64(_mm512_permutex2var_epi64(low, second, high), 0x49, hasher_id));
    _mm512_storeu_si512(to + 16,
                        _mm512_mask_mov_epi64(_mm512_permutex2var_epi64(low, third, high), 0x92, hasher_id));
}

/* Multiplies 64-bit lanes to 128 bits, from four products of 32-bit halves (see hash_avx2.c). */
static inline void multiply(__m512i a, __m512i b, __m512i *low, __m512i *high) {
    const __m512i halves = splat(UINT32_MAX);
    __m512i a_high = _mm512_srli_epi64(a, 32), b_high = _mm512_srli_epi64(b, 32);
    const __m512i lowest = _mm512_mul_epu32(a, b);
    const __m512i middle = _mm512_add_epi64(_mm512_mul_epu32(a_high, b), _mm512_srli_epi64(lowest, 32));
    const __m512i other = _mm512_add_epi64(_mm512_mul_epu32(a, b_high), _mm512_and_si512(middle, halves));
    *low = _mm512_mask_mov_epi32(lowest, 0xaaaa, _mm512_slli_epi64(other, 32));
    *high = _mm512_add_epi64(_mm512_mul_epu32(a_high, b_high),
                             _mm512_add_epi64(_mm512_srli_epi64(middle, 32), _mm512_srli_epi64(other, 32)));
}

static inline __m512i shift_mix(__m512i x, int by) {
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, (unsigned)by));
}

/* ---- XXH3 ---- */

static inline __m512i xxh3_avalanche(__m512i x) {
    return shift_mix(_mm512_mullo_epi64(shift_mix(x, 37), splat(TAMIS__XXH_MX1)), 32);
}

static inline __m512i xxh64_avalanche(__m512i x) {
    x = _mm512_mullo_epi64(shift_mix(x, 33), splat(TAMIS__XXH_P2));
    x = _mm512_mullo_epi64(shift_mix(x, 29), splat(TAMIS__XXH_P3));
    return shift_mix(x, 32);
}

/* Hashes keys of 4..8 bytes, except for the last steps on `low` and `high`, which hash_eight() does. */
static inline void hash_4_to_8(const tamis__xxh3 *x, const eight *k, __m512i *low, __m512i *high) {
    const __m512i sizes = k->sizes;
    const __m512i last =
        _mm512_sllv_epi64(k->prefix, _mm512_sub_epi64(splat(64), _mm512_slli_epi64(sizes, 3)));
    const __m512i value = _mm512_mask_mov_epi32(k->prefix, 0xaaaa, last);
    multiply(_mm512_xor_si512(value, splat(x->flip_narrow)),
             _mm512_add_epi64(splat(TAMIS__XXH_P1), _mm512_slli_epi64(sizes, 2)), low, high);
    *high = _mm512_add_epi64(*high, _mm512_slli_epi64(*low, 1));
    *low = _mm512_xor_si512(*low, _mm512_srli_epi64(*high, 3));
}

/* Hashes keys of 0..3 bytes completely, as tamis__xxh3_tiny does. The middle byte is at index n / 2: shift
 * 4 n & 8 bits selects byte 0 for n = 1 and byte 1 for n = 2 and 3. A variable shift by 64 bits or more gives
 * 0 in AVX-512, so lanes with other sizes are harmless. */
static inline void hash_0_to_3(const tamis__xxh3 *x, const eight *k, __m512i *low, __m512i *high) {
    const __m512i byte = splat(0xff), turned = _mm512_broadcast_i32x4(_mm_set_epi64x(0x08090a0b, 0x00010203));
    __m512i bits = _mm512_slli_epi64(k->sizes, 3),
            middle = _mm512_and_si512(_mm512_slli_epi64(k->sizes, 2), splat(8));
    const __m512i last = _mm512_srlv_epi64(k->prefix, _mm512_sub_epi64(bits, splat(8)));
    __m512i value = _mm512_or_si512(last, _mm512_slli_epi64(k->sizes, 8));
    value = _mm512_or_si512(value, _mm512_slli_epi64(_mm512_and_si512(k->prefix, byte), 16));
    middle = _mm512_and_si512(_mm512_srlv_epi64(k->prefix, middle), byte);
    value = _mm512_or_si512(value, _mm512_slli_epi64(middle, 24));
    *low = xxh64_avalanche(_mm512_xor_si512(value, splat(x->flip_tiny[0])));
    value = _mm512_rol_epi32(_mm512_maskz_shuffle_epi8(0x0f0f0f0f0f0f0f0f, value, turned), 13);
    *high = xxh64_avalanche(_mm512_xor_si512(value, splat(x->flip_tiny[1])));
    __mmask8 empty = _mm512_testn_epi64_mask(k->sizes, k->sizes);
    *low = _mm512_mask_mov_epi64(*low, empty, splat(x->empty[0]));
    *high = _mm512_mask_mov_epi64(*high, empty, splat(x->empty[1]));
}

/*
 * Hashes keys of 9..16 bytes, except for the avalanche, which hash_eight() does. The masked load has filled
 * the bytes past the key with zeros. So the last eight bytes, which the formula needs, are shifted together
 * from both words. For a key of n bytes:
 *
 *     prefix   | b0 ... b7 |                 >> 8 (n - 8) bits
 *     back     | b8 ... b(n-1), zeros |      << 8 (16 - n) bits        last = both, ored: b(n-8) ... b(n-1)
 *
 * If n is 8 or less the shifts give garbage, which hash_eight() replaces.
 */
static inline void hash_9_to_16(const tamis__xxh3 *x, const eight *k, __m512i *low, __m512i *high) {
    const __m512i turned = _mm512_broadcast_i32x4(_mm_set_epi64x(0x08090a0b0c0d0e0f, 0x0001020304050607));
    const __m512i bits = _mm512_slli_epi64(k->sizes, 3);
    __m512i last = _mm512_or_si512(_mm512_srlv_epi64(k->prefix, _mm512_sub_epi64(bits, splat(64))),
                                   _mm512_sllv_epi64(k->back, _mm512_sub_epi64(splat(128), bits)));
    const __m512i value = _mm512_xor_si512(_mm512_xor_si512(k->prefix, last), splat(x->flip_wide[0]));
    multiply(value, splat(TAMIS__XXH_P1), low, high);
    last = _mm512_xor_si512(last, splat(x->flip_wide[1]));
    *low = _mm512_add_epi64(*low, _mm512_slli_epi64(_mm512_sub_epi64(k->sizes, splat(1)), 54));
    *high =
        _mm512_add_epi64(_mm512_add_epi64(*high, last), _mm512_mul_epu32(last, splat(TAMIS__XXH_P32_2 - 1)));
    *low = _mm512_xor_si512(*low, _mm512_shuffle_epi8(*high, turned));
    const __m512i rest = _mm512_mullo_epi64(*high, splat(TAMIS__XXH_P2));
    multiply(*low, splat(TAMIS__XXH_P2), low, high);
    *high = _mm512_add_epi64(*high, rest);
}

/* Hashes eight keys of up to 16 bytes. The digest of a longer key is garbage. */
static inline void hash_eight(const tamis__xxh3 *x, __m512i sizes, uint64_t hasher_id, const tamis_key *keys,
                              tamis_hash *hashes) {
    const eight k = load_eight(sizes, keys);
    const __mmask8 are_wide = _mm512_cmpgt_epu64_mask(sizes, splat(8));
    const __mmask8 are_tiny = _mm512_cmplt_epu64_mask(sizes, splat(4));
    /* The last steps on `low` use the same operations for both classes, with these constants. */
    __m512i shift = splat(35), factor = splat(TAMIS__XXH_MX2), last_shift = splat(28);
    __m512i low = splat(0), high = splat(0), other_low, other_high;
    if (are_wide != 0xff)
        hash_4_to_8(x, &k, &low, &high);
    if (are_wide) {
        hash_9_to_16(x, &k, &other_low, &other_high);
        low = _mm512_mask_mov_epi64(low, are_wide, other_low);
        high = _mm512_mask_mov_epi64(high, are_wide, other_high);
        shift = _mm512_mask_mov_epi64(shift, are_wide, splat(37));
        factor = _mm512_mask_mov_epi64(factor, are_wide, splat(TAMIS__XXH_MX1));
        last_shift = _mm512_mask_mov_epi64(last_shift, are_wide, splat(32));
    }
    low = _mm512_mullo_epi64(_mm512_xor_si512(low, _mm512_srlv_epi64(low, shift)), factor);
    low = _mm512_xor_si512(low, _mm512_srlv_epi64(low, last_shift));
    high = xxh3_avalanche(high);
    if (are_tiny) {
        hash_0_to_3(x, &k, &other_low, &other_high);
        low = _mm512_mask_mov_epi64(low, are_tiny, other_low);
        high = _mm512_mask_mov_epi64(high, are_tiny, other_high);
    }
    store_eight(hashes, low, high, splat(hasher_id));
}

/* Writes the indices of the marked lanes to `to`; lane 0 has index `number`. Returns how many. Always
 * writes 8 bytes. */
static inline size_t store_marked(uint8_t *to, size_t number, __mmask8 marked) {
    const __m128i numbers = _mm_add_epi8(_mm_set1_epi8((char)number), _mm_set_epi64x(0, 0x0706050403020100));
    _mm_storel_epi64((__m128i *)(void *)to, _mm_maskz_compress_epi8(marked, numbers));
    return (size_t)_mm_popcnt_u32(marked);
}

/* Hashes `count` keys, a multiple of 8 and at most HASH_CHUNK. */
static inline void xxh3_eights(const tamis__xxh3 *x, uint64_t hasher_id, const tamis_key *keys, size_t count,
                               tamis_hash *hashes) {
    uint8_t longer[HASH_CHUNK + LANES];
    size_t others = 0;
    for (size_t i = 0; i < count; i += LANES) {
        const __m512i sizes = load_sizes(keys + i);
        others += store_marked(longer + others, i, _mm512_cmpgt_epu64_mask(sizes, splat(16)));
        hash_eight(x, sizes, hasher_id, keys + i, hashes + i);
    }
    if (others > 0) {
        classes c;
        memset(c.count, 0, sizeof c.count);
        for (size_t i = 0; i < others; i++)
            classify(&c, keys, longer[i]);
        hash_classes(hash_numbered, x, &c, hasher_id, keys, hashes);
    }
}

/* True if more than an eighth of the first SAMPLE keys are longer than 16 bytes. AVX2 is then faster,
 * because xxh3_eights() hashes longer keys twice. */
static inline bool are_long(const tamis_key *keys, size_t count) {
    const size_t sampled = count < SAMPLE ? count : SAMPLE;
    size_t longer = 0;
    for (size_t i = 0; i < sampled; i += LANES)
        longer += (size_t)_mm_popcnt_u32(_mm512_cmpgt_epu64_mask(load_sizes(keys + i), splat(16)));
    return longer > sampled / 8;
}

static void xxh3(const tamis__xxh3 *x, uint64_t hasher_id, const tamis_key *keys, size_t count,
                 tamis_hash *hashes) {
    for (size_t chunk; count >= LANES; keys += chunk, hashes += chunk, count -= chunk) {
        chunk = count < HASH_CHUNK ? count / LANES * LANES : HASH_CHUNK;
        if (are_long(keys, chunk))
            tamis__hash_kernels_avx2.xxh3(x, hasher_id, keys, chunk, hashes);
        else
            xxh3_eights(x, hasher_id, keys, chunk, hashes);
    }
    tamis__hash_kernels_scalar.xxh3(x, hasher_id, keys, count, hashes);
}

/* ---- MurmurHash3 ---- */

static inline __m512i mix_word(__m512i word, uint64_t by, int rotation, uint64_t then) {
    const __m512i mixed = _mm512_mullo_epi64(word, splat(by));
    return _mm512_mullo_epi64(_mm512_rolv_epi64(mixed, splat((uint64_t)rotation)), splat(then));
}

static inline __m512i finish(__m512i h) {
    h = _mm512_mullo_epi64(shift_mix(h, 33), splat(TAMIS__MURMUR3_F1));
    h = _mm512_mullo_epi64(shift_mix(h, 33), splat(TAMIS__MURMUR3_F2));
    return shift_mix(h, 33);
}

/* Hashes eight keys of up to 15 bytes, which consist of a rest only. */
static inline void murmur3_eight(__m512i sizes, uint64_t hasher_id, const tamis_key *keys,
                                 tamis_hash *hashes) {
    const eight k = load_eight(sizes, keys);
    __m512i h1 = mix_word(k.prefix, TAMIS__MURMUR3_C1, 31, TAMIS__MURMUR3_C2), h2 = splat(0);
    if (_mm512_cmpgt_epu64_mask(sizes, splat(8)))
        h2 = mix_word(k.back, TAMIS__MURMUR3_C2, 33, TAMIS__MURMUR3_C1);
    h2 = _mm512_xor_si512(h2, sizes);
    h1 = _mm512_add_epi64(_mm512_xor_si512(h1, sizes), h2);
    h2 = _mm512_add_epi64(h2, h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = _mm512_add_epi64(h1, h2);
    store_eight(hashes, h1, _mm512_add_epi64(h2, h1), splat(hasher_id));
}

static void murmur3(uint64_t hasher_id, const tamis_key *keys, size_t count, tamis_hash *hashes) {
    for (; count >= LANES; keys += LANES, hashes += LANES, count -= LANES) {
        const __m512i sizes = load_sizes(keys);
        if (_mm512_cmpgt_epu64_mask(sizes, splat(15)))
            tamis__hash_kernels_scalar.murmur3(hasher_id, keys, LANES, hashes);
        else
            murmur3_eight(sizes, hasher_id, keys, hashes);
    }
    tamis__hash_kernels_scalar.murmur3(hasher_id, keys, count, hashes);
}

const struct tamis__hash_kernels tamis__hash_kernels_avx512 = {
    .name = "avx512", .xxh3 = xxh3, .murmur3 = murmur3};
#endif
