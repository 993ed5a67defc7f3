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
    TAMIS_SCHEME_AUTO = 0, /* xxh3, or sip where a secret is given */
    TAMIS_SCHEME_XXH3 = 1, /* XXH3, 128 bits, 64-bit seed (libxxhash) */
    /* SipHash-2-4 with 128-bit result, keyed by a secret (libsodium): for keys that an adversary chooses */
    TAMIS_SCHEME_SIP = 2,
    /* What follows matches other programs bit for bit, and has no seed to choose. */
    TAMIS_SCHEME_GUAVA64 = 3, /* murmur3_x64_128, seed 0, with the positions of Guava's MURMUR128_MITZ_64 */
    TAMIS_SCHEME_GUAVA32 = 4, /* the same digest, with the positions of MURMUR128_MITZ_32: below 2^31 */
    /* a published PHP class over Redis bitmaps, versions 1 and 2: each probe a hash of 31 bits of its own, in PHP 8's
     * float arithmetic. Poor hashes: the rate that a plan computes is the one claimed, not the one got */
    TAMIS_SCHEME_BKDR31 = 5,
    /* the same, version 3, with 63 bits of which the rounding destroys the low ones */
    TAMIS_SCHEME_BKDR63 = 6,
    /* RedisBloom's BF.*: MurmurHash64A, and again seeded with the first result */
    TAMIS_SCHEME_REDISBLOOM = 7,
    TAMIS_SCHEME_FNV_DCSO = 8, /* DCSO's bloom: FNV-1, 64 bits */
    TAMIS_SCHEME_REDISSON = 9  /* Redisson's RBloomFilter: HighwayHash, 128 bits, with its key */
} tamis_scheme;

/* "xxh3", "sip", "guava64", "guava32", "bkdr31", "bkdr63", "redisbloom", "fnv-dcso", "redisson", "auto"; NULL for a
 * number that is no scheme. Static storage. */
TAMIS_API const char *tamis_scheme_name(tamis_scheme scheme);
/* The scheme of that name. TAMIS_E_INVALID names the ones there are. */
TAMIS_API tamis_status tamis_scheme_parse(const char *name, tamis_scheme *scheme, tamis_error *err);
/* Bits of the digest that tamis_hash_many gives: 128; 64 for fnv-dcso; 0 for bkdr31 and bkdr63, which hash once a
 * probe, and for a number that is no scheme. Kinds other than classic need 128. */
TAMIS_API uint32_t tamis_scheme_digest_bits(tamis_scheme scheme);
/* Whether its hashes are as good as uniformly random ones, which every formula of a rate assumes. Those of bkdr31 and
 * bkdr63 are not: the rate that a plan computes is the one claimed, not the one got. False for a number that is no
 * scheme. */
TAMIS_API bool tamis_scheme_is_uniform(tamis_scheme scheme);

/*
 * A key hashed once: can be asked of every filter of the same scheme, seed and secret, and is refused
 * (TAMIS_E_MISMATCH) by every other. Plain data: copy it, keep it, send it to another thread.
 */
typedef struct tamis_hash {
    /* the digest, as two little-endian words in digest byte order; word[1] is 0 where it has 64 bits */
    uint64_t word[2];
    uint64_t origin; /* fingerprint of scheme, seed and secret: says who may read `word` */
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

/* options NULL: xxh3, seed 0. *hasher is owned by the caller until tamis_hasher_free (NULL is fine there).
 * TAMIS_E_UNSUPPORTED: see tamis_kernel_name. */
TAMIS_API tamis_status tamis_hasher_create(tamis_hasher **hasher, const tamis_hasher_options *options,
                                           tamis_error *err);
TAMIS_API void tamis_hasher_free(tamis_hasher *hasher);

TAMIS_API tamis_scheme tamis_hasher_scheme(const tamis_hasher *hasher);
/* The seed of xxh3; 0 for the others. */
TAMIS_API uint64_t tamis_hasher_seed(const tamis_hasher *hasher);

/* Hashes `count` keys. TAMIS_E_UNSUPPORTED for a scheme without a digest (tamis_scheme_digest_bits 0); hashes is
 * untouched then. O(total key bytes). */
TAMIS_API tamis_status tamis_hash_many(const tamis_hasher *hasher, const tamis_key *keys, size_t count,
                                       tamis_hash *hashes, tamis_error *err);

#define TAMIS_PROBES_MAX 255                 /* most probes of a key (Guava's files keep them in a byte) */
#define TAMIS_BITS_MAX   ((uint64_t)1 << 62) /* most bits of a filter */

/*
 * Where a classic filter of `bits` bits keeps a key: positions[i * probes + j] is that of key i and probe j, below
 * `bits`, in the order in which the scheme makes them; two may be the same. `positions` has room for count * probes.
 * TAMIS_E_RANGE: bits not in 1..TAMIS_BITS_MAX or probes not in 1..TAMIS_PROBES_MAX; positions is untouched then.
 * Any thread. O(total key bytes + count * probes); the bkdr ones O(total key bytes * probes).
 */
TAMIS_API tamis_status tamis_hash_positions(const tamis_hasher *hasher, const tamis_key *keys, size_t count,
                                            uint64_t bits, uint32_t probes, uint64_t *positions,
                                            tamis_error *err);

/*
 * The hashes behind the positions of bkdr31 and bkdr63 (position = value % bits): values[i * probes + j].
 * TAMIS_E_UNSUPPORTED for a scheme with a digest, which says it all; TAMIS_E_RANGE as tamis_hash_positions.
 */
TAMIS_API tamis_status tamis_hash_series(const tamis_hasher *hasher, const tamis_key *keys, size_t count,
                                         uint32_t probes, uint64_t *values, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
