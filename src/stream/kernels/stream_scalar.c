/* SPDX-License-Identifier: BSD-2-Clause */

/* Uses only what every machine of the architecture has: SSE2 on x86-64 (base/marks.h). */
#include "stream/kernels/stream_marks.h"

/* Counts bits without popcnt, which not every machine has: adds bits in pairs, fours and bytes in
 * parallel. */
ALWAYS_INLINE unsigned bits_of_marks(uint64_t marks) {
    marks -= marks >> 1 & UINT64_C(0x5555555555555555);
    marks = (marks & UINT64_C(0x3333333333333333)) + (marks >> 2 & UINT64_C(0x3333333333333333));
    marks = (marks + (marks >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(marks * UINT64_C(0x0101010101010101) >> 56);
}

ALWAYS_INLINE uint32_t first_of_marks(uint64_t marks) {
    return (uint32_t)__builtin_ctzll(marks | UINT64_C(1) << 63);
}

static size_t find(const unsigned char **from, const unsigned char *to, unsigned char byte, size_t enough,
                   uint32_t *offsets) {
    return find_offsets(from, to, byte, enough, offsets, tamis__marks_of_64, bits_of_marks, first_of_marks);
}

static void mark_csv(const unsigned char *from, size_t blocks, unsigned char end, unsigned char delimiter,
                     tamis__csv_marks *marks) {
    mark_blocks(from, blocks, end, delimiter, marks, tamis__marks_of_64);
}

static size_t offsets(const uint64_t *marks, size_t blocks, uint32_t *to) {
    return offsets_of(marks, blocks, to, bits_of_marks, first_of_marks);
}

static uint64_t count(const unsigned char *from, const unsigned char *to, unsigned char byte) {
    return count_bytes(from, to, byte, tamis__marks_of_64, bits_of_marks);
}

const struct tamis__stream_kernels tamis__stream_kernels_scalar = {
    .name = "scalar",
    .find = find,
    .mark_csv = mark_csv,
    .offsets = offsets,
    .count = count,
};
