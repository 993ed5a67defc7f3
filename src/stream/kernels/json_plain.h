/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_STREAM_KERNELS_JSON_PLAIN_H
#define TAMIS_STREAM_KERNELS_JSON_PLAIN_H

/*
 * Where a JSON string stops being plain: its first byte that is a quote, a backslash, a control character or no ASCII,
 * or `end`. Most strings of most records are shorter than one vector, so that a look at one is a branch that is always
 * taken the same way. What every x86-64 and every arm64 has is used where it is known at compile time; the one in words
 * of 64 bits is always built, and the truth.
 */
#include <stdint.h>

#include "base/bytes.h"

static inline const unsigned char *tamis__json_plain_words(const unsigned char *at,
                                                           const unsigned char *end) {
    const uint64_t ones = UINT64_MAX / 255, high = ones << 7, low = ~high;
    for (; end - at >= 8; at += 8) {
        /* The high bit of a byte: it is not that one. None of the sums carries into the next byte. */
        const uint64_t word = tamis__load64le(at), seven = word & low;
        const uint64_t no_quote = (seven ^ ones * '"') + low, no_backslash = (seven ^ ones * '\\') + low;
        const uint64_t no_control = seven + ones * (0x80 - 0x20);
        const uint64_t stops = (word | ~(no_quote & no_backslash & no_control)) & high;
        if (stops)
            return at + __builtin_ctzll(stops) / 8;
    }
    while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
        at++;
    return at;
}

#if defined __SSE2__ && !defined TAMIS_SCALAR_ONLY
#include <emmintrin.h>
#define TAMIS__JSON_PLAIN_VECTOR "sse2"

static inline const unsigned char *tamis__json_plain(const unsigned char *at, const unsigned char *end) {
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        /* As signed numbers, bytes that are no ASCII are less than a blank too. */
        const __m128i odd = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
        const __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                          _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        const unsigned stops = (unsigned)_mm_movemask_epi8(_mm_or_si128(odd, ends));
        if (stops)
            return at + __builtin_ctz(stops);
    }
    return tamis__json_plain_words(at, end);
}

#elif defined __aarch64__ && defined __ARM_NEON && !defined TAMIS_SCALAR_ONLY
#include <arm_neon.h>
#define TAMIS__JSON_PLAIN_VECTOR "neon"

static inline const unsigned char *tamis__json_plain(const unsigned char *at, const unsigned char *end) {
    for (; end - at >= 16; at += 16) {
        const uint8x16_t bytes = vld1q_u8(at);
        const uint8x16_t odd = vcltq_s8(vreinterpretq_s8_u8(bytes), vdupq_n_s8(0x20));
        const uint8x16_t ends = vorrq_u8(vceqq_u8(bytes, vdupq_n_u8('"')), vceqq_u8(bytes, vdupq_n_u8('\\')));
        /* Four bits of each byte, side by side. */
        const uint8x8_t fours = vshrn_n_u16(vreinterpretq_u16_u8(vorrq_u8(odd, ends)), 4);
        const uint64_t stops = vget_lane_u64(vreinterpret_u64_u8(fours), 0);
        if (stops)
            return at + __builtin_ctzll(stops) / 4;
    }
    return tamis__json_plain_words(at, end);
}

#else
#define TAMIS__JSON_PLAIN_VECTOR "none"

static inline const unsigned char *tamis__json_plain(const unsigned char *at, const unsigned char *end) {
    return tamis__json_plain_words(at, end);
}
#endif

#endif
