/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_BYTE_MASK_H
#define TAMIS_BASE_BYTE_MASK_H

#include <stddef.h>

#include "base/bytes.h"

#if defined __SSE2__ && !defined TAMIS_SCALAR_ONLY
#include <emmintrin.h>
#endif

/*
 * Byte masks: where a given byte occurs among up to 64 bytes.
 *
 *     bytes   a , b , , c          byte ','
 *     mask    0 1 0 1 1 0          bit i is set if byte i equals the given byte; bit 0 is the lowest
 *
 * One mask answers 64 comparisons, so the caller finds the next occurrence by counting trailing zeros. This
 * is fast for bytes that occur often, such as separators. For rare bytes memchr() is faster.
 */
enum { TAMIS__BYTE_MASK_SIZE = 64 };

static inline uint64_t tamis__byte_mask_8(const unsigned char *bytes, unsigned char byte) {
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    /* 0 in each byte that matches */
    const uint64_t differs = tamis__load64le(bytes) ^ byte * (UINT64_MAX / 255);
    const uint64_t equal = ~(((differs & low) + low) | differs | low) >> 7;
    return equal * UINT64_C(0x0102040810204080) >> 56; /* collects the eight low bits in the top byte */
}

static inline uint64_t tamis__byte_mask_16(const unsigned char *bytes, unsigned char byte) {
#if defined __SSE2__ && !defined TAMIS_SCALAR_ONLY
    const __m128i vector = _mm_loadu_si128((const __m128i *)(const void *)bytes);
    return (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(vector, _mm_set1_epi8((char)byte)));
#else
    return tamis__byte_mask_8(bytes, byte) | tamis__byte_mask_8(bytes + 8, byte) << 8;
#endif
}

static inline uint64_t tamis__byte_mask_64(const unsigned char *bytes, unsigned char byte) {
    return tamis__byte_mask_16(bytes, byte) | tamis__byte_mask_16(bytes + 16, byte) << 16 |
           tamis__byte_mask_16(bytes + 32, byte) << 32 | tamis__byte_mask_16(bytes + 48, byte) << 48;
}

/* Returns the mask of `size` bytes, at most 64. A rest of fewer than 16 or 8 bytes is read together with
 * bytes before it, which is cheaper than a loop over single bytes. Bits that are found twice stay the
 * same. */
static inline uint64_t tamis__byte_mask(const unsigned char *bytes, size_t size, unsigned char byte) {
    uint64_t mask = 0;
    if (size == TAMIS__BYTE_MASK_SIZE)
        return tamis__byte_mask_64(bytes, byte);
    if (size >= 16) {
        for (size_t i = 0; i + 16 <= size; i += 16)
            mask |= tamis__byte_mask_16(bytes + i, byte) << i;
        return mask | tamis__byte_mask_16(bytes + size - 16, byte) << (size - 16);
    }
    if (size >= 8)
        return tamis__byte_mask_8(bytes, byte) | tamis__byte_mask_8(bytes + size - 8, byte) << (size - 8);
    for (size_t i = 0; i < size; i++)
        mask |= (uint64_t)(bytes[i] == byte) << i;
    return mask;
}

#endif
