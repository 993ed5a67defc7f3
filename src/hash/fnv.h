/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_FNV_H
#define TAMIS_HASH_FNV_H

#include <stddef.h>
#include <stdint.h>

/*
 * 64-bit FNV-1, the hash of DCSO's bloom.
 *
 * Source: G. Fowler, L. C. Noll, K.-P. Vo, draft-eastlake-fnv.
 *
 *     h = basis;  for each byte: h = (h * prime) ^ byte        modulo 2^64
 *
 * FNV-1a, which is more common, xors first and multiplies then. The two give different filters.
 *
 *     ""  cbf29ce484222325   "a"  af63bd4c8601b7be   "b"  af63bd4c8601b7bd   "foobar"  340d8765a4dda9c2
 *
 * Weakness: nothing mixes the last byte, so the digests of "a" and "b" differ in their lowest bits alone.
 * DCSO multiplies the digest before it takes a position (positions.c), which spreads these bits.
 */
#define TAMIS__FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define TAMIS__FNV_PRIME UINT64_C(0x100000001b3)

/* Continues the hash h of the bytes before `from` with the bytes `from` to `size` - 1. */
static inline uint64_t tamis__fnv1_64_on(uint64_t h, const void *data, size_t from, size_t size) {
    const uint8_t *bytes = data;
    for (size_t i = from; i < size; i++)
        h = h * TAMIS__FNV_PRIME ^ bytes[i];
    return h;
}

static inline uint64_t tamis__fnv1_64(const void *data, size_t size) {
    return tamis__fnv1_64_on(TAMIS__FNV_BASIS, data, 0, size);
}

#endif
