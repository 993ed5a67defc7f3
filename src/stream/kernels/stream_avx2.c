/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/kernels/stream_marks.h"

#ifdef TAMIS__HAVE_AVX2
#include <immintrin.h>

ALWAYS_INLINE uint64_t marks_of_32(const unsigned char *bytes, unsigned char byte) {
    const __m256i some = _mm256_loadu_si256((const __m256i *)(const void *)bytes);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(some, _mm256_set1_epi8((char)byte)));
}

ALWAYS_INLINE uint64_t marks_of_all(const unsigned char *bytes, unsigned char byte) {
    return marks_of_32(bytes, byte) | marks_of_32(bytes + 32, byte) << 32;
}

ALWAYS_INLINE unsigned bits_of_marks(uint64_t marks) {
    return (unsigned)__builtin_popcountll(marks);
}

ALWAYS_INLINE uint32_t first_of_marks(uint64_t marks) {
    return (uint32_t)_tzcnt_u64(marks);
}

static size_t find(const unsigned char **from, const unsigned char *to, unsigned char byte, size_t enough,
                   uint32_t *offsets) {
    return find_offsets(from, to, byte, enough, offsets, marks_of_all, bits_of_marks, first_of_marks);
}

static void mark_csv(const unsigned char *from, size_t blocks, unsigned char end, unsigned char delimiter,
                     tamis__csv_marks *marks) {
    mark_blocks(from, blocks, end, delimiter, marks, marks_of_all);
}

static size_t offsets(const uint64_t *marks, size_t blocks, uint32_t *to) {
    return offsets_of(marks, blocks, to, bits_of_marks, first_of_marks);
}

static uint64_t count(const unsigned char *from, const unsigned char *to, unsigned char byte) {
    return count_bytes(from, to, byte, marks_of_all, bits_of_marks);
}

const struct tamis__stream_kernels tamis__stream_kernels_avx2 = {
    .name = "avx2",
    .find = find,
    .mark_csv = mark_csv,
    .offsets = offsets,
    .count = count,
};
#endif
