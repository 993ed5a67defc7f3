/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_MARKS_H
#define TAMIS_BASE_MARKS_H

#include <stddef.h>

#include "base/bytes.h"

#if defined __SSE2__ && !defined TAMIS_SCALAR_ONLY
#include <emmintrin.h>
#endif

/* Where a byte stands among up to 64, a bit each: bit i is byte i. For whoever looks for bytes that stand close together;
 * for rare ones memchr is faster. */
enum { TAMIS__MARKS = 64 };

static inline uint64_t tamis__marks_of_8(const unsigned char *bytes, unsigned char byte) {
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t differs = tamis__load64le(bytes) ^ byte * (UINT64_MAX / 255); /* 0 in bytes that are it */
    uint64_t equal = ~(((differs & low) + low) | differs | low) >> 7;
    return equal * UINT64_C(0x0102040810204080) >> 56; /* the eight low bits, side by side */
}

static inline uint64_t tamis__marks_of_16(const unsigned char *bytes, unsigned char byte) {
#if defined __SSE2__ && !defined TAMIS_SCALAR_ONLY
    const __m128i some = _mm_loadu_si128((const __m128i *)(const void *)bytes);
    return (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(some, _mm_set1_epi8((char)byte)));
#else
    return tamis__marks_of_8(bytes, byte) | tamis__marks_of_8(bytes + 8, byte) << 8;
#endif
}

static inline uint64_t tamis__marks_of_64(const unsigned char *bytes, unsigned char byte) {
    return tamis__marks_of_16(bytes, byte) | tamis__marks_of_16(bytes + 16, byte) << 16 |
           tamis__marks_of_16(bytes + 32, byte) << 32 | tamis__marks_of_16(bytes + 48, byte) << 48;
}

/* Of `size` bytes, at most 64. The last of them are looked at again where that saves looking one by one. */
static inline uint64_t tamis__marks_of(const unsigned char *bytes, size_t size, unsigned char byte) {
    uint64_t marks = 0;
    if (size == TAMIS__MARKS)
        return tamis__marks_of_64(bytes, byte);
    if (size >= 16) {
        for (size_t i = 0; i + 16 <= size; i += 16)
            marks |= tamis__marks_of_16(bytes + i, byte) << i;
        return marks | tamis__marks_of_16(bytes + size - 16, byte) << (size - 16);
    }
    if (size >= 8)
        return tamis__marks_of_8(bytes, byte) | tamis__marks_of_8(bytes + size - 8, byte) << (size - 8);
    for (size_t i = 0; i < size; i++)
        marks |= (uint64_t)(bytes[i] == byte) << i;
    return marks;
}

#endif
