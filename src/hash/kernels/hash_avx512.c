/* SPDX-License-Identifier: BSD-2-Clause */

/*
 * Eight keys of up to 16 bytes side by side, a lane each. A key is loaded under a mask of its bytes, which reads no
 * other, into two words, zeros behind it:
 *
 *     sizes    n0      n1      ...  n7
 *     front    b0..7   b0..7   ...  b0..7
 *     back     b8..15  b8..15  ...  b8..15
 *
 * Of XXH3, 4..8 and 9..16 bytes are worked out at once where both are there, and share what they have in common; lanes of
 * other keys hold anything, and those keys are hashed by class behind.
 */
#include "hash/kernels/hash_classes.h"

#ifdef TAMIS__HAVE_AVX512
#include <immintrin.h>

#include "hash/murmur3.h"

enum { LANES = 8, SAMPLE = 32 };

typedef struct eight {
    __m512i sizes, front, back;
} eight;

static inline __m512i all(uint64_t word) {
    return _mm512_set1_epi64((long long)word);
}

static inline __m128i load_key(const tamis_key *key) {
    __mmask16 there =
        (__mmask16)_bzhi_u32(0xffff, (unsigned)key->size); /* looks at the low byte of it only */
    return _mm_maskz_loadu_epi8(there, key->data);
}

static inline __m512i join(__m128i a, __m128i b, __m128i c, __m128i d) {
    __m512i joined = _mm512_inserti64x2(_mm512_castsi128_si512(a), b, 1);
    return _mm512_inserti64x2(_mm512_inserti64x2(joined, c, 2), d, 3);
}

static inline __m512i load_sizes(const tamis_key *keys) {
    const __m512i seconds = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
    return _mm512_permutex2var_epi64(_mm512_loadu_si512(keys), seconds, _mm512_loadu_si512(keys + 4));
}

static inline eight load_eight(__m512i sizes, const tamis_key *keys) {
    __m512i even = join(load_key(keys), load_key(keys + 2), load_key(keys + 4), load_key(keys + 6));
    __m512i odd = join(load_key(keys + 1), load_key(keys + 3), load_key(keys + 5), load_key(keys + 7));
    return (eight){sizes, _mm512_unpacklo_epi64(even, odd), _mm512_unpackhi_epi64(even, odd)};
}

/* Eight hashes of three words each. */
static inline void store_eight(tamis_hash *hashes, __m512i low, __m512i high, __m512i origin) {
    const __m512i first =
        _mm512_set_epi64(10, 2, 0, 9, 1, 0, 8, 0); /* 8 and more: of high; third words are put in */
    const __m512i second = _mm512_set_epi64(5, 0, 12, 4, 0, 11, 3, 0);
    const __m512i third = _mm512_set_epi64(0, 15, 7, 0, 14, 6, 0, 13);
    uint64_t *to = hashes->word;
    _mm512_storeu_si512(to, _mm512_mask_mov_epi64(_mm512_permutex2var_epi64(low, first, high), 0x24, origin));
    _mm512_storeu_si512(to + 8,
                        _mm512_mask_mov_epi64(_mm512_permutex2var_epi64(low, second, high), 0x49, origin));
    _mm512_storeu_si512(to + 16,
                        _mm512_mask_mov_epi64(_mm512_permutex2var_epi64(low, third, high), 0x92, origin));
}

/* The 128 bits of each product. */
static inline void multiply(__m512i a, __m512i b, __m512i *low, __m512i *high) {
    const __m512i halves = all(UINT32_MAX);
    __m512i a_high = _mm512_srli_epi64(a, 32), b_high = _mm512_srli_epi64(b, 32);
    __m512i lowest = _mm512_mul_epu32(a, b);
    __m512i middle = _mm512_add_epi64(_mm512_mul_epu32(a_high, b), _mm512_srli_epi64(lowest, 32));
    __m512i other = _mm512_add_epi64(_mm512_mul_epu32(a, b_high), _mm512_and_si512(middle, halves));
    *low = _mm512_mask_mov_epi32(lowest, 0xaaaa, _mm512_slli_epi64(other, 32));
    *high = _mm512_add_epi64(_mm512_mul_epu32(a_high, b_high),
                             _mm512_add_epi64(_mm512_srli_epi64(middle, 32), _mm512_srli_epi64(other, 32)));
}

static inline __m512i shift_mix(__m512i x, int by) {
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, (unsigned)by));
}

/* ---- XXH3 ---- */

static inline __m512i xxh3_avalanche(__m512i x) {
    return shift_mix(_mm512_mullo_epi64(shift_mix(x, 37), all(TAMIS__XXH_MX1)), 32);
}

static inline __m512i xxh64_avalanche(__m512i x) {
    x = _mm512_mullo_epi64(shift_mix(x, 33), all(TAMIS__XXH_P2));
    x = _mm512_mullo_epi64(shift_mix(x, 29), all(TAMIS__XXH_P3));
    return shift_mix(x, 32);
}

/* 4..8 bytes: up to the last steps of low. */
static inline void narrow(const tamis__xxh3 *x, const eight *k, __m512i *low, __m512i *high) {
    __m512i sizes = k->sizes;
    __m512i last = _mm512_sllv_epi64(k->front, _mm512_sub_epi64(all(64), _mm512_slli_epi64(sizes, 3)));
    __m512i value = _mm512_mask_mov_epi32(k->front, 0xaaaa, last);
    multiply(_mm512_xor_si512(value, all(x->flip_narrow)),
             _mm512_add_epi64(all(TAMIS__XXH_P1), _mm512_slli_epi64(sizes, 2)), low, high);
    *high = _mm512_add_epi64(*high, _mm512_slli_epi64(*low, 1));
    *low = _mm512_xor_si512(*low, _mm512_srli_epi64(*high, 3));
}

/* Up to 3 bytes: all of it. */
static inline void tiny(const tamis__xxh3 *x, const eight *k, __m512i *low, __m512i *high) {
    const __m512i byte = all(0xff), turned = _mm512_broadcast_i32x4(_mm_set_epi64x(0x08090a0b, 0x00010203));
    __m512i bits = _mm512_slli_epi64(k->sizes, 3),
            middle = _mm512_and_si512(_mm512_slli_epi64(k->sizes, 2), all(8));
    __m512i last = _mm512_srlv_epi64(k->front, _mm512_sub_epi64(bits, all(8)));
    __m512i value = _mm512_or_si512(last, _mm512_slli_epi64(k->sizes, 8));
    value = _mm512_or_si512(value, _mm512_slli_epi64(_mm512_and_si512(k->front, byte), 16));
    middle = _mm512_and_si512(_mm512_srlv_epi64(k->front, middle), byte);
    value = _mm512_or_si512(value, _mm512_slli_epi64(middle, 24));
    *low = xxh64_avalanche(_mm512_xor_si512(value, all(x->flip_tiny[0])));
    value = _mm512_rol_epi32(_mm512_maskz_shuffle_epi8(0x0f0f0f0f0f0f0f0f, value, turned), 13);
    *high = xxh64_avalanche(_mm512_xor_si512(value, all(x->flip_tiny[1])));
    __mmask8 empty = _mm512_testn_epi64_mask(k->sizes, k->sizes);
    *low = _mm512_mask_mov_epi64(*low, empty, all(x->empty[0]));
    *high = _mm512_mask_mov_epi64(*high, empty, all(x->empty[1]));
}

/* 9..16 bytes: up to the avalanche. */
static inline void wide(const tamis__xxh3 *x, const eight *k, __m512i *low, __m512i *high) {
    const __m512i turned = _mm512_broadcast_i32x4(_mm_set_epi64x(0x08090a0b0c0d0e0f, 0x0001020304050607));
    __m512i bits = _mm512_slli_epi64(k->sizes, 3);
    __m512i last = _mm512_or_si512(_mm512_srlv_epi64(k->front, _mm512_sub_epi64(bits, all(64))),
                                   _mm512_sllv_epi64(k->back, _mm512_sub_epi64(all(128), bits)));
    __m512i value = _mm512_xor_si512(_mm512_xor_si512(k->front, last), all(x->flip_wide[0]));
    multiply(value, all(TAMIS__XXH_P1), low, high);
    last = _mm512_xor_si512(last, all(x->flip_wide[1]));
    *low = _mm512_add_epi64(*low, _mm512_slli_epi64(_mm512_sub_epi64(k->sizes, all(1)), 54));
    *high =
        _mm512_add_epi64(_mm512_add_epi64(*high, last), _mm512_mul_epu32(last, all(TAMIS__XXH_P32_2 - 1)));
    *low = _mm512_xor_si512(*low, _mm512_shuffle_epi8(*high, turned));
    __m512i rest = _mm512_mullo_epi64(*high, all(TAMIS__XXH_P2));
    multiply(*low, all(TAMIS__XXH_P2), low, high);
    *high = _mm512_add_epi64(*high, rest);
}

/* Up to 16 bytes each; longer ones get anything. */
static inline void hash_eight(const tamis__xxh3 *x, __m512i sizes, uint64_t origin, const tamis_key *keys,
                              tamis_hash *hashes) {
    const eight k = load_eight(sizes, keys);
    const __mmask8 are_wide = _mm512_cmpgt_epu64_mask(sizes, all(8));
    const __mmask8 are_tiny = _mm512_cmplt_epu64_mask(sizes, all(4));
    __m512i shift = all(35), factor = all(TAMIS__XXH_MX2), last_shift = all(28);
    __m512i low = all(0), high = all(0), other_low, other_high;
    if (are_wide != 0xff)
        narrow(x, &k, &low, &high);
    if (are_wide) {
        wide(x, &k, &other_low, &other_high);
        low = _mm512_mask_mov_epi64(low, are_wide, other_low);
        high = _mm512_mask_mov_epi64(high, are_wide, other_high);
        shift = _mm512_mask_mov_epi64(shift, are_wide, all(37));
        factor = _mm512_mask_mov_epi64(factor, are_wide, all(TAMIS__XXH_MX1));
        last_shift = _mm512_mask_mov_epi64(last_shift, are_wide, all(32));
    }
    low = _mm512_mullo_epi64(_mm512_xor_si512(low, _mm512_srlv_epi64(low, shift)), factor);
    low = _mm512_xor_si512(low, _mm512_srlv_epi64(low, last_shift));
    high = xxh3_avalanche(high);
    if (are_tiny) {
        tiny(x, &k, &other_low, &other_high);
        low = _mm512_mask_mov_epi64(low, are_tiny, other_low);
        high = _mm512_mask_mov_epi64(high, are_tiny, other_high);
    }
    store_eight(hashes, low, high, all(origin));
}

/* Numbers, from `number`, of the keys that are marked, behind others; returns how many. */
static inline size_t note(uint8_t *to, size_t number, __mmask8 marked) {
    const __m128i numbers = _mm_add_epi8(_mm_set1_epi8((char)number), _mm_set_epi64x(0, 0x0706050403020100));
    _mm_storel_epi64((__m128i *)(void *)to, _mm_maskz_compress_epi8(marked, numbers));
    return (size_t)_mm_popcnt_u32(marked);
}

/* A whole number of eights, at most HASH_CHUNK. */
static inline void xxh3_eights(const tamis__xxh3 *x, uint64_t origin, const tamis_key *keys, size_t count,
                               tamis_hash *hashes) {
    uint8_t longer[HASH_CHUNK + LANES];
    size_t others = 0;
    for (size_t i = 0; i < count; i += LANES) {
        const __m512i sizes = load_sizes(keys + i);
        others += note(longer + others, i, _mm512_cmpgt_epu64_mask(sizes, all(16)));
        hash_eight(x, sizes, origin, keys + i, hashes + i);
    }
    if (others > 0) {
        classes c;
        memset(c.count, 0, sizeof c.count);
        for (size_t i = 0; i < others; i++)
            classify(&c, keys, longer[i]);
        hash_classes(hash_numbered, x, &c, origin, keys, hashes);
    }
}

/* Whether, by the first of them, AVX2 takes less: from an eighth on that are longer, since those are hashed twice here. */
static inline bool are_long(const tamis_key *keys, size_t count) {
    const size_t some = count < SAMPLE ? count : SAMPLE;
    size_t longer = 0;
    for (size_t i = 0; i < some; i += LANES)
        longer += (size_t)_mm_popcnt_u32(_mm512_cmpgt_epu64_mask(load_sizes(keys + i), all(16)));
    return longer > some / 8;
}

static void xxh3(const tamis__xxh3 *x, uint64_t origin, const tamis_key *keys, size_t count,
                 tamis_hash *hashes) {
    for (size_t some; count >= LANES; keys += some, hashes += some, count -= some) {
        some = count < HASH_CHUNK ? count / LANES * LANES : HASH_CHUNK;
        if (are_long(keys, some))
            tamis__hash_kernels_avx2.xxh3(x, origin, keys, some, hashes);
        else
            xxh3_eights(x, origin, keys, some, hashes);
    }
    tamis__hash_kernels_scalar.xxh3(x, origin, keys, count, hashes);
}

/* ---- MurmurHash3 ---- */

static inline __m512i mix_word(__m512i word, uint64_t by, int rotation, uint64_t then) {
    __m512i mixed = _mm512_mullo_epi64(word, all(by));
    return _mm512_mullo_epi64(_mm512_rolv_epi64(mixed, all((uint64_t)rotation)), all(then));
}

static inline __m512i finish(__m512i h) {
    h = _mm512_mullo_epi64(shift_mix(h, 33), all(TAMIS__MURMUR3_F1));
    h = _mm512_mullo_epi64(shift_mix(h, 33), all(TAMIS__MURMUR3_F2));
    return shift_mix(h, 33);
}

/* Eight keys of up to 15 bytes, which are all tail. */
static inline void murmur3_eight(__m512i sizes, uint64_t origin, const tamis_key *keys, tamis_hash *hashes) {
    const eight k = load_eight(sizes, keys);
    __m512i h1 = mix_word(k.front, TAMIS__MURMUR3_C1, 31, TAMIS__MURMUR3_C2), h2 = all(0);
    if (_mm512_cmpgt_epu64_mask(sizes, all(8)))
        h2 = mix_word(k.back, TAMIS__MURMUR3_C2, 33, TAMIS__MURMUR3_C1);
    h2 = _mm512_xor_si512(h2, sizes);
    h1 = _mm512_add_epi64(_mm512_xor_si512(h1, sizes), h2);
    h2 = _mm512_add_epi64(h2, h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = _mm512_add_epi64(h1, h2);
    store_eight(hashes, h1, _mm512_add_epi64(h2, h1), all(origin));
}

static void murmur3(uint64_t origin, const tamis_key *keys, size_t count, tamis_hash *hashes) {
    for (; count >= LANES; keys += LANES, hashes += LANES, count -= LANES) {
        const __m512i sizes = load_sizes(keys);
        if (_mm512_cmpgt_epu64_mask(sizes, all(15)))
            tamis__hash_kernels_scalar.murmur3(origin, keys, LANES, hashes);
        else
            murmur3_eight(sizes, origin, keys, hashes);
    }
    tamis__hash_kernels_scalar.murmur3(origin, keys, count, hashes);
}

const struct tamis__hash_kernels tamis__hash_kernels_avx512 = {
    .name = "avx512", .xxh3 = xxh3, .murmur3 = murmur3};
#endif
