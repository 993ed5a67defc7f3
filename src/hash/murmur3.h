/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_MURMUR3_H
#define TAMIS_HASH_MURMUR3_H

#include <stddef.h>
#include <stdint.h>

/* Constants of MurmurHash3: C1 and C2 mix words, F1 and F2 finish. */
#define TAMIS__MURMUR3_C1 UINT64_C(0x87c37b91114253d5)
#define TAMIS__MURMUR3_C2 UINT64_C(0x4cf5ad432745937f)
#define TAMIS__MURMUR3_F1 UINT64_C(0xff51afd7ed558ccd)
#define TAMIS__MURMUR3_F2 UINT64_C(0xc4ceb9fe1a85ec53)

/* Computes MurmurHash3_x64_128 with a 32-bit seed (Austin Appleby, SMHasher, MurmurHash3.cpp, public
 * domain). digest[0] and digest[1] are h1 and h2. Little-endian on every machine. */
void tamis__murmur3_x64_128(const void *data, size_t size, uint32_t seed, uint64_t digest[2]);

#endif
