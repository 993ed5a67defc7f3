/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_MURMUR3_H
#define TAMIS_HASH_MURMUR3_H

#include <stddef.h>
#include <stdint.h>

/* MurmurHash3_x64_128 with a 32-bit seed (Austin Appleby, public domain specification: SMHasher
 * MurmurHash3.cpp), byte order little-endian on every machine. digest[0] and digest[1] are h1 and h2. */
void tamis__murmur3_x64_128(const void *data, size_t size, uint32_t seed, uint64_t digest[2]);

#endif
