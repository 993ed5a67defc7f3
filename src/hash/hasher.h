/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_HASHER_H
#define TAMIS_HASH_HASHER_H

#include <tamis/hash.h>

#include "base/memory.h"
#include "hash/kernels/hash_kernels.h"

struct tamis_hasher {
    tamis_allocator allocator;
    tamis_scheme scheme;   /* never AUTO */
    uint64_t seed;         /* 0 but for xxh3 */
    uint64_t secret_print; /* fingerprint of the secret, 0 without one: what a file may record */
    uint64_t origin;       /* see tamis_hash */
    const struct tamis__hash_kernels *kernels;
    tamis__xxh3 xxh3;    /* of the seed */
    uint8_t sip_key[16]; /* what the secret was hashed to */
    bool locked;         /* the secret is not known: it hashes nothing, but tells whose hashes fit */
};

/* The same scheme, seed and secret; *copy is the caller's until tamis_hasher_free. */
TAMIS_PRIVATE_API tamis_status tamis__hasher_copy(tamis_hasher **copy, const tamis_hasher *hasher,
                                                  tamis_error *err);

/* Of scheme sip and a secret of that fingerprint, which is not known. */
TAMIS_PRIVATE_API tamis_status tamis__hasher_create_locked(tamis_hasher **hasher, uint64_t secret_print,
                                                           const tamis_allocator *allocator,
                                                           tamis_error *err);

/* Positions of one key, with bits and probes in their ranges; see tamis_hash_positions. */
TAMIS_PRIVATE_API void tamis__hasher_positions(const tamis_hasher *hasher, const tamis_key *key,
                                               uint64_t bits, uint32_t probes, uint64_t *positions);

/* TAMIS_E_MISMATCH names the first hash that another scheme, seed or secret made. */
tamis_status tamis__hasher_check(const tamis_hasher *hasher, const tamis_hash *hashes, size_t count,
                                 tamis_error *err);

#endif
