/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_HIGHWAYHASH_H
#define TAMIS_HASH_HIGHWAYHASH_H

#include <stddef.h>
#include <stdint.h>

/* Computes the 128-bit HighwayHash of `data` under a key (J. Alakuijala, B. Cox, J. Wassenberg: Fast keyed
 * hash/pseudo-random function using SIMD multiply and permute, arXiv 1612.06257). Little-endian on every
 * machine. */
void tamis__highwayhash_128(const void *data, size_t size, const uint64_t key[4], uint64_t word[2]);

/* The key that Redisson's Bloom filters use (org.redisson.misc.Hash). */
#define TAMIS__REDISSON_KEY                                                                                  \
    {                                                                                                        \
        UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xf39cc0605cedc834), UINT64_C(0x1082276bf3a27251),            \
            UINT64_C(0xf86c6a11d0c18e95)                                                                     \
    }

#endif
