/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_FILTER_LINE_COUNT_H
#define TAMIS_FILTER_LINE_COUNT_H

/*
 * Counting bits by lines. In a blocked filter a lookup sees the bits of one line, and the rate is that of the
 * line: (i / 512)^k with i bits. Lines have different numbers of keys, and the fuller ones weigh more. So the
 * mean over all lines is above the rate of the mean line, and the total of all bits does not suffice:
 *
 *     lines with 128 and 384 bits, k = 4     mean of (1/4)^4 and (3/4)^4 = 0.160
 *     two lines with 256 bits                (1/2)^4 = 0.0625
 */
#include <stdint.h>
#include <string.h>

/* A histogram of 64-byte lines: lines[i] is the number of lines with i bits set. A blocked Bloom filter
 * estimates its rate from it. */
typedef struct tamis__line_counts {
    uint64_t lines[512 + 1];
} tamis__line_counts;

/* Number of bits set in a line. Bits are counted within bytes first, then within pairs of bytes, since the
 * sum may exceed 255. Compilers vectorize this on every machine; __builtin_popcount is a library call on a
 * machine without the instruction. */
static inline uint64_t tamis__line_ones(const uint64_t line[8]) {
    const uint64_t by_2 = UINT64_MAX / 3, by_4 = UINT64_MAX / 5, by_8 = UINT64_MAX / 17;
    const uint64_t by_16 = UINT64_MAX / 257, ones = UINT64_MAX / 65535;
    uint64_t sum = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t x = line[i];
        x -= x >> 1 & by_2;
        x = (x & by_4) + (x >> 2 & by_4);
        sum += (x + (x >> 4)) & by_8;
    }
    return ((sum & by_16) + (sum >> 8 & by_16)) * ones >> 48;
}

/* Counts `count` words; the last line may be shorter than 8 words. */
static inline void tamis__count_lines(const uint64_t *words, uint64_t count, tamis__line_counts *counts) {
    for (; count >= 8; count -= 8, words += 8)
        counts->lines[tamis__line_ones(words)]++;
    uint64_t last[8] = {0};
    memcpy(last, words, (size_t)count * sizeof *last);
    counts->lines[tamis__line_ones(last)] += count > 0;
}

#endif
