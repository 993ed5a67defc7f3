/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_MURMUR64A_H
#define TAMIS_HASH_MURMUR64A_H

#include <stddef.h>
#include <stdint.h>

/* Computes MurmurHash64A with a 64-bit seed (Austin Appleby, SMHasher, MurmurHash2.cpp, public domain).
 * Little-endian on every machine. */
uint64_t tamis__murmur64a(const void *data, size_t size, uint64_t seed);

/* Seed of the first of RedisBloom's two hashes. The first hash seeds the second (deps/bloom/bloom.c). */
#define TAMIS__REDISBLOOM_SEED UINT64_C(0xc6a4a7935bd1e995)

#endif
