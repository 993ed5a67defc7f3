/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_HASHER_H
#define TAMIS_HASH_HASHER_H

#include <tamis/hash.h>

#include "base/memory.h"
#include "hash/kernels/hash_kernels.h"

struct tamis_hasher {
    tamis_allocator allocator;
    tamis_scheme scheme; /* never AUTO */
    uint64_t seed;       /* 0 for all schemes but xxh3 */
    /* What files may store of the secret: secret_print of docs/FORMAT.md. 0: no secret. */
    uint64_t secret_fingerprint;
    uint64_t hasher_id; /* fingerprint of scheme, seed and secret, see tamis_hash */
    const struct tamis__hash_kernels *kernels;
    tamis__xxh3 xxh3;    /* constants derived from the seed */
    uint8_t sip_key[16]; /* key of SipHash, derived from the secret */
    bool locked;         /* secret unknown: cannot hash, only compare hasher_id */
};

/* Copies a hasher. The caller owns *copy until tamis_hasher_free. */
TAMIS_PRIVATE_API tamis_status tamis__hasher_copy(tamis_hasher **copy, const tamis_hasher *hasher,
                                                  tamis_error *err);

/* Creates a hasher of scheme sip for a secret of which only the fingerprint is known. The caller owns
 * *hasher. */
TAMIS_PRIVATE_API tamis_status tamis__hasher_create_locked(tamis_hasher **hasher, uint64_t secret_fingerprint,
                                                           const tamis_allocator *allocator,
                                                           tamis_error *err);

/* Computes the positions of one key, as tamis_hash_positions does. The caller has checked the ranges of
 * `bits` and `probes`, and that the hasher is not locked. */
TAMIS_PRIVATE_API void tamis__hasher_positions(const tamis_hasher *hasher, const tamis_key *key,
                                               uint64_t bits, uint32_t probes, uint64_t *positions);

/* Returns TAMIS_E_MISMATCH, naming the first such hash, if a hash was made with another scheme, seed or
 * secret. */
tamis_status tamis__hasher_check(const tamis_hasher *hasher, const tamis_hash *hashes, size_t count,
                                 tamis_error *err);

#endif
