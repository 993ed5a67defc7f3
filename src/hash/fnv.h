/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_FNV_H
#define TAMIS_HASH_FNV_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1 of 64 bits, which multiplies and then xors; FNV-1a does it the other way round
 * (draft-eastlake-fnv). */
static inline uint64_t tamis__fnv1_64(const void *data, size_t size) {
    const uint8_t *bytes = data;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        h = h * UINT64_C(0x100000001b3) ^ bytes[i];
    return h;
}

#endif
