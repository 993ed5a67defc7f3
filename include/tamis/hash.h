/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TAMIS_HASH_H
#define TAMIS_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tamis/alloc.h>
#include <tamis/key.h>
#include <tamis/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A scheme is how key bytes become probe positions: hash and derivation together. The numbers go into
 * files and never change.
 */
typedef enum tamis_scheme {
    TAMIS_SCHEME_AUTO = 0,   /* xxh3, or sip where a secret is given */
    TAMIS_SCHEME_XXH3 = 1,   /* XXH3, 128 bits, 64-bit seed (libxxhash) */
    TAMIS_SCHEME_SIP = 2,    /* SipHash-2-4 with 128-bit result, keyed by a secret (libsodium): for keys that
                                an adversary chooses */
    TAMIS_SCHEME_GUAVA64 = 3 /* murmur3_x64_128, seed 0, with the positions of Guava's
                                MURMUR128_MITZ_64 */
} tamis_scheme;

/* "xxh3", "sip", "guava64", "auto"; NULL for a number that is no scheme. Static storage. */
TAMIS_API const char *tamis_scheme_name(tamis_scheme scheme);
/* The scheme of that name. TAMIS_E_INVALID names the ones there are. */
TAMIS_API tamis_status tamis_scheme_parse(const char *name, tamis_scheme *scheme, tamis_error *err);

/*
 * A key hashed once: can be asked of every filter of the same scheme, seed and secret, and is refused
 * (TAMIS_E_MISMATCH) by every other. Plain data: copy it, keep it, send it to another thread.
 */
typedef struct tamis_hash {
    uint64_t word[2]; /* the digest, as two little-endian words in digest byte order */
    uint64_t origin;  /* fingerprint of scheme, seed and secret: says who may read `word` */
} tamis_hash;

/* What turns keys into hashes: opaque, immutable, usable from any number of threads at once. */
typedef struct tamis_hasher tamis_hasher;

enum {
    TAMIS_SECRET_MIN = 16,  /* bytes a secret has at the least */
    TAMIS_SECRET_MAX = 4096 /* and at the most; it is hashed to the 16-byte key of SipHash (BLAKE2b) */
};

typedef struct tamis_hasher_options {
    uint32_t struct_size;
    tamis_scheme scheme; /* AUTO: sip where a secret is given, else xxh3 */
    uint64_t seed;       /* for xxh3; 0 for the others (TAMIS_E_INVALID) */
    const void *secret;  /* for sip, TAMIS_SECRET_MIN..TAMIS_SECRET_MAX bytes, copied in hashed form only */
    size_t secret_size;  /* 0 for the others */
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_hasher_options;

/* clang-format off */
#define TAMIS_HASHER_OPTIONS_INIT {sizeof(tamis_hasher_options), TAMIS_SCHEME_AUTO, 0, NULL, 0, NULL}
/* clang-format on */

/* options NULL: xxh3, seed 0. *hasher is owned by the caller until tamis_hasher_free (NULL is fine there). */
TAMIS_API tamis_status tamis_hasher_create(tamis_hasher **hasher, const tamis_hasher_options *options,
                                           tamis_error *err);
TAMIS_API void tamis_hasher_free(tamis_hasher *hasher);

TAMIS_API tamis_scheme tamis_hasher_scheme(const tamis_hasher *hasher);

/* Hashes `count` keys. TAMIS_E_UNSUPPORTED for a scheme that has no digest of 128 bits (none of today's); hashes is
 * untouched then. O(total key bytes). */
TAMIS_API tamis_status tamis_hash_many(const tamis_hasher *hasher, const tamis_key *keys, size_t count,
                                       tamis_hash *hashes, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
