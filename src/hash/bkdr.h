/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_BKDR_H
#define TAMIS_HASH_BKDR_H

#include <stddef.h>
#include <stdint.h>

#define TAMIS__BKDR31_MASK UINT64_C(0x7fffffff)
#define TAMIS__BKDR63_MASK UINT64_C(0x7fffffffffffffff)

/*
 * Computes the hashes of a published PHP class over Redis bitmaps, in the arithmetic of 64-bit PHP 7 and 8.
 * For each n below `probes`, values[n] is the hash with seed n. Seed 0 is 31. Seed n has n + 2 digits,
 * alternately 1 and 3: 131, 1313, 13131, ...
 *
 *     h = 0; for each byte c: h = ((int(float(h * seed)) & mask) + c) & mask
 *
 * A product that exceeds 63 bits is computed with floats, and so is every product with a seed of more than 19
 * digits. The rounding to 53 bits is part of the result. Cost: O(probes * size).
 */
void tamis__bkdr(const void *data, size_t size, uint64_t mask, uint32_t probes, uint64_t *values);

#endif
