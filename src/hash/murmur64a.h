/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_MURMUR64A_H
#define TAMIS_HASH_MURMUR64A_H

#include <stddef.h>
#include <stdint.h>

/* MurmurHash64A with a 64-bit seed (Austin Appleby, public domain specification: SMHasher MurmurHash2.cpp), byte order
 * little-endian on every machine. */
uint64_t tamis__murmur64a(const void *data, size_t size, uint64_t seed);

/* RedisBloom's seed of the first of its two hashes; the first hash seeds the second (deps/bloom/bloom.c). */
#define TAMIS__REDISBLOOM_SEED UINT64_C(0xc6a4a7935bd1e995)

#endif
