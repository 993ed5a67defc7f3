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

/* A scheme: how key bytes become probe positions, that is, a hash and a way to derive positions from it.
 * The numbers are stored in files and never change. */
typedef enum tamis_scheme {
    TAMIS_SCHEME_AUTO = 0, /* sip if a secret is given, else xxh3 */
    TAMIS_SCHEME_XXH3 = 1, /* XXH3 with 128 bits and a 64-bit seed (libxxhash) */
    /* SipHash-2-4 with 128 bits and a secret (libsodium), for keys that an adversary may choose */
    TAMIS_SCHEME_SIP = 2,
    /* The following schemes match other programs bit for bit. They have no seed. */
    TAMIS_SCHEME_GUAVA64 = 3, /* murmur3_x64_128, seed 0, positions of Guava's MURMUR128_MITZ_64 */
    TAMIS_SCHEME_GUAVA32 = 4, /* the same digest, positions of MURMUR128_MITZ_32, below 2^31 */
    /* a published PHP class over Redis bitmaps, versions 1 and 2: one 31-bit hash for each probe, in PHP
     * 8's float arithmetic. The hashes are poor: the real rate is higher than the one a plan computes */
    TAMIS_SCHEME_BKDR31 = 5,
    /* the same class, version 3, with 63-bit hashes; rounding destroys their low bits */
    TAMIS_SCHEME_BKDR63 = 6,
    /* RedisBloom's BF.* commands: MurmurHash64A, and again seeded with the first result */
    TAMIS_SCHEME_REDISBLOOM = 7,
    TAMIS_SCHEME_FNV_DCSO = 8, /* DCSO bloom: FNV-1, 64 bits */
    TAMIS_SCHEME_REDISSON = 9  /* Redisson's RBloomFilter: HighwayHash, 128 bits, fixed key */
} tamis_scheme;

/* Returns the name of a scheme: "xxh3", "sip", "guava64", "guava32", "bkdr31", "bkdr63", "redisbloom",
 * "fnv-dcso", "redisson" or "auto"; NULL for any other number. The string is static. */
TAMIS_API const char *tamis_scheme_name(tamis_scheme scheme);
/* Finds a scheme by its name. TAMIS_E_INVALID: no such scheme; the message lists all names. */
TAMIS_API tamis_status tamis_scheme_parse(tamis_scheme *scheme, const char *name, tamis_error *err);
/* Returns the bits of a digest from tamis_hash_many: 128, or 64 for fnv-dcso. Returns 0 for bkdr31 and
 * bkdr63, which hash once for each probe, and for unknown numbers. Kinds other than classic need 128 bits. */
TAMIS_API uint32_t tamis_scheme_digest_bits(tamis_scheme scheme);
/* True if the hashes are as good as random ones, which every formula for a rate assumes. False for bkdr31
 * and bkdr63: their real rate is higher than the one a plan computes. False for unknown numbers. */
TAMIS_API bool tamis_scheme_is_uniform(tamis_scheme scheme);

/* A key hashed once. It can be looked up in every filter of the same scheme, seed and secret. Every other
 * filter refuses it (TAMIS_E_MISMATCH). Plain data: copy it, keep it, send it to another thread. */
typedef struct tamis_hash {
    /* the digest as two little-endian words, in digest byte order; word[1] is 0 if it has 64 bits */
    uint64_t word[2];
    uint64_t hasher_id; /* fingerprint of scheme, seed and secret */
} tamis_hash;

/* Hashes with a time each, in milliseconds since 1970-01-01 UTC: a batch for a window
 * (tamis/experimental/window.h). Plain data; the arrays are borrowed for the call. */
typedef struct tamis_timed_hashes {
    const tamis_hash *hashes;
    const int64_t *times;
    size_t count;
} tamis_timed_hashes;

/* A hasher turns keys into hashes. It is opaque and immutable. Any number of threads may use it at once. */
typedef struct tamis_hasher tamis_hasher;

enum {
    TAMIS_SECRET_MIN = 16,  /* minimum size of a secret, in bytes */
    TAMIS_SECRET_MAX = 4096 /* maximum size; BLAKE2b turns it into the 16-byte key of SipHash */
};

typedef struct tamis_hasher_options {
    uint32_t struct_size;
    tamis_scheme scheme;              /* AUTO: sip if a secret is given, else xxh3 */
    uint64_t seed;                    /* for xxh3; must be 0 for all others (TAMIS_E_INVALID) */
    const void *secret;               /* for sip: the secret; only a hash of it is kept */
    size_t secret_size;               /* for sip: TAMIS_SECRET_MIN..TAMIS_SECRET_MAX; 0 for all others */
    const tamis_allocator *allocator; /* NULL: the default */
} tamis_hasher_options;

#define TAMIS_HASHER_OPTIONS_INIT TAMIS__INIT(tamis_hasher_options, )

/*
 * Creates a hasher. The caller owns *hasher until tamis_hasher_free.
 *
 * - options: NULL for xxh3 with seed 0.
 * - TAMIS_E_INVALID: seed or secret do not suit the scheme.
 * - TAMIS_E_UNSUPPORTED: see tamis_kernel_name.
 */
TAMIS_API tamis_status tamis_hasher_create(tamis_hasher **hasher, const tamis_hasher_options *options,
                                           tamis_error *err);
TAMIS_API void tamis_hasher_free(tamis_hasher *hasher);

/* Returns the scheme, never AUTO. */
TAMIS_API tamis_scheme tamis_hasher_scheme(const tamis_hasher *hasher);
/* Returns the seed of xxh3; 0 for all other schemes. */
TAMIS_API uint64_t tamis_hasher_seed(const tamis_hasher *hasher);

/*
 * Hashes `count` keys. Cost: O(total key bytes).
 *
 * TAMIS_E_UNSUPPORTED: the scheme has no digest (tamis_scheme_digest_bits is 0); `hashes` is unchanged.
 */
TAMIS_API tamis_status tamis_hash_many(const tamis_hasher *hasher, const tamis_key *keys, size_t count,
                                       tamis_hash *hashes, tamis_error *err);

#define TAMIS_PROBES_MAX 255                 /* largest number of probes (Guava stores it in a byte) */
#define TAMIS_BITS_MAX   ((uint64_t)1 << 62) /* largest number of bits */

/* Bits and probes of a Bloom filter. */
typedef struct tamis_bloom_shape {
    uint64_t bits;
    uint32_t probes;
} tamis_bloom_shape;

/*
 * Computes the positions of keys in a classic filter of a shape. positions[i * probes + j] is probe j of key
 * i. It is below shape->bits. The order is that of the scheme, and two positions may be equal.
 *
 * - positions: an array of count * probes elements.
 * - TAMIS_E_RANGE: bits is not in 1..TAMIS_BITS_MAX, or probes not in 1..TAMIS_PROBES_MAX; `positions` is
 *   unchanged.
 * - Any thread may call it.
 * - Cost: O(total key bytes + count * probes); for bkdr31 and bkdr63 O(total key bytes * probes).
 */
TAMIS_API tamis_status tamis_hash_positions(const tamis_hasher *hasher, const tamis_key *keys, size_t count,
                                            const tamis_bloom_shape *shape, uint64_t *positions,
                                            tamis_error *err);

/*
 * Computes the hashes from which bkdr31 and bkdr63 derive positions: position = value % bits. values[i *
 * probes + j] is probe j of key i.
 *
 * - TAMIS_E_UNSUPPORTED: the scheme has a digest; use tamis_hash_many.
 * - TAMIS_E_RANGE: as for tamis_hash_positions.
 */
TAMIS_API tamis_status tamis_hash_series(const tamis_hasher *hasher, const tamis_key *keys, size_t count,
                                         uint32_t probes, uint64_t *values, tamis_error *err);

#ifdef __cplusplus
}
#endif
#endif
