/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_FNV_H
#define TAMIS_HASH_FNV_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1 of 64 bits, which multiplies and then xors; FNV-1a does it the other way round
 * (draft-eastlake-fnv). */
#define TAMIS__FNV_BASIS UINT64_C(0xcbf29ce484222325)
#define TAMIS__FNV_PRIME UINT64_C(0x100000001b3)

/* Goes on with what the bytes before `from` came to. */
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
