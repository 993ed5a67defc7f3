/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_XXH3_LONG_H
#define TAMIS_HASH_XXH3_LONG_H

#include <stddef.h>
#include <stdint.h>

/* Up to so many bytes XXH3 is inlined (hasher.c), as the call would cost more than the hash of a short key: 11 ns
 * against 3 for 8 bytes. Longer ones are for the library, which knows the machine's vectors. */
enum { TAMIS__XXH3_INLINE_MAX = 240 };

/* XXH3-128 by the library. */
void tamis__xxh3_long(const void *bytes, size_t size, uint64_t seed, uint64_t word[2]);

#endif
