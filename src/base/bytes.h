/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_BYTES_H
#define TAMIS_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 tamis__u128;

/* Little-endian loads and stores at any address. Compilers make one instruction of each where the
 * machine is little-endian, which is every machine we build for; the swap keeps the rest right. */
static inline uint64_t tamis__load64le(const void *from) {
    uint64_t value;
    memcpy(&value, from, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

static inline void tamis__store64le(void *to, uint64_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    memcpy(to, &value, sizeof value);
}

static inline uint16_t tamis__load16le(const void *from) {
    uint16_t value;
    memcpy(&value, from, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap16(value);
#endif
    return value;
}

static inline uint32_t tamis__load32le(const void *from) {
    uint32_t value;
    memcpy(&value, from, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap32(value);
#endif
    return value;
}

static inline void tamis__store32le(void *to, uint32_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap32(value);
#endif
    memcpy(to, &value, sizeof value);
}

/* Big-endian, for the files of programs that write so. */
static inline uint64_t tamis__load64be(const void *from) {
    return __builtin_bswap64(tamis__load64le(from));
}

static inline void tamis__store64be(void *to, uint64_t value) {
    tamis__store64le(to, __builtin_bswap64(value));
}

static inline uint32_t tamis__load32be(const void *from) {
    return __builtin_bswap32(tamis__load32le(from));
}

static inline void tamis__store32be(void *to, uint32_t value) {
    tamis__store32le(to, __builtin_bswap32(value));
}

/* High word of the 128-bit product: maps x, uniform over 64 bits, to 0..n-1 without a division
 * (multiply-shift). The result is below n because x < 2^64. */
static inline uint64_t tamis__mulhi(uint64_t x, uint64_t n) {
    return (uint64_t)(((tamis__u128)x * n) >> 64);
}

/* Into the second cache, not the first: the cores measured have twice as many lines on their way there at once, and waiting
 * for lines is what asking a large filter takes (docs/PERFORMANCE.md). */
static inline void tamis__prefetch(const void *address) {
    __builtin_prefetch(address, 0, 2);
}

#endif
