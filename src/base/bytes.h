/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_BASE_BYTES_H
#define TAMIS_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 tamis__u128;

/* Little-endian loads and stores at any address. On a little-endian machine compilers turn each into one
 * instruction. On a big-endian machine the bytes are swapped. */
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

static inline void tamis__store16le(void *to, uint16_t value) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap16(value);
#endif
    memcpy(to, &value, sizeof value);
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

/* Big-endian loads and stores, for file formats of other programs. */
static inline uint64_t tamis__load64be(const void *from) {
    return __builtin_bswap64(tamis__load64le(from));
}

static inline uint32_t tamis__load32be(const void *from) {
    return __builtin_bswap32(tamis__load32le(from));
}

static inline void tamis__store32be(void *to, uint32_t value) {
    tamis__store32le(to, __builtin_bswap32(value));
}

/* The odd number nearest to 2^64 / golden ratio. Its multiples spread evenly over 64 bits. */
#define TAMIS__GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* Returns the high 64 bits of the 128-bit product x * n. If x is uniform over 64 bits, the result is
 * uniform over 0..n-1 and needs no division (multiply-shift). */
static inline uint64_t tamis__mulhi(uint64_t x, uint64_t n) {
    return (uint64_t)(((tamis__u128)x * n) >> 64);
}

/* Prefetches a line into the second-level cache. Lookups in large filters mostly wait for lines. The
 * measured cores keep twice as many lines in flight to that cache as to the first-level cache
 * (docs/PERFORMANCE.md).
 *
 * The empty assembly is a side effect. Without one, gcc 12 takes a function that does nothing but prefetch
 * for one without effect, and drops calls of it that it does not inline. */
static inline void tamis__prefetch(const void *address) {
    __builtin_prefetch(address, 0, 2);
    __asm__ volatile("");
}

#endif
