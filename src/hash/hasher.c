/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hashers: a scheme with its seed or secret, which turns keys into digests and digests into positions.
 *
 *     key bytes --- hash of the scheme ---> digest, 128 or 64 bits --- positions.c ---> k positions
 *         |                                                                                 ^
 *         +------ bkdr31, bkdr63: one hash for each probe, no digest ------ value mod m ----+
 *
 * Most callers hash a batch of keys first and use the digests with one or many filters. A digest carries
 * `hasher_id`, a fingerprint of everything that it depends on. A filter compares that fingerprint with its
 * own and so refuses digests of another scheme, seed or secret. Otherwise a lookup with a foreign digest
 * could be a false negative.
 *
 *     secret --- BLAKE2b, key "tamis: key of SipHash-2-4" -------> sip_key             stays in memory
 *            --- BLAKE2b, key "tamis: fingerprint of a secret" --> secret_fingerprint  stored in files
 *
 *     hasher_id = XXH3_64(scheme, seed, secret_fingerprint)
 *
 * The schemes. Two are ours. Each of the others repeats another program bit for bit: two programs share a
 * filter only if both set the same positions for a key.
 *
 *     scheme           hash                       whose filters                use it for
 *     --------------   ------------------------   --------------------------   -----------------------------
 *     xxh3             XXH3-128, seed             ours                         new filters: the default
 *     sip              SipHash-2-4-128, secret    ours                         keys that an attacker chooses
 *     guava64          murmur3_x64_128, seed 0    Guava, MURMUR128_MITZ_64     files of Java programs
 *     guava32          its first 64 bits          Guava, MURMUR128_MITZ_32     the same, older strategy
 *     redisbloom       MurmurHash64A, twice       RedisBloom, BF commands      lookups in its filters
 *     redisson         HighwayHash-128            Redisson, RBloomFilter       filters of Java programs
 *     fnv-dcso         FNV-1, 64 bits             DCSO's bloom                 its files
 *     bkdr31, bkdr63   BKDR, one for each probe   a PHP class over bitmaps     old bitmaps only
 *
 * Why XXH3 for new filters: a short key costs two loads and one or two multiplications, and the result has
 * 128 bits. Equal digests are equal keys to every kind of filter, so n keys leave a rate of n / 2^bits. A
 * billion keys leave 5e-11 with 64 bits, which is too much for small rates, and 3e-30 with 128.
 *
 * Why SipHash for hostile keys: whoever knows the hash can search for keys that share positions. Then a
 * filter answers "present" for a key of choice. A seed does not prevent that, because XXH3 is not designed to
 * hide its seed. SipHash (J.-P. Aumasson, D. Bernstein, 2012) is a pseudo-random function: without the secret
 * its results cannot be predicted. Its price is speed: it has no kernels for several keys at once.
 *
 * Invariants:
 *
 * 1. A hasher never changes after its creation, so any number of threads may use it without a lock.
 * 2. Two hashers with the same scheme, seed and secret have the same hasher_id and give the same digests.
 * 3. secret_fingerprint and sip_key are derived under different keys. So a file that stores the one reveals
 *    nothing about the other, provided that the secret consists of random bytes.
 * 4. A locked hasher knows secret_fingerprint but not the secret. It hashes nothing. It can only tell whether
 *    a digest belongs to its filter.
 *
 * Each scheme has a loop of its own over the batch, so that the scheme is not tested for each key. The loops
 * for xxh3 and murmur3 exist for several instruction sets (kernels/). base/isa.h chooses the set once for the
 * process.
 */
#include "hash/hasher.h"

#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include <xxhash.h>

#include "base/bytes.h"
#include "base/versioned.h"
#include "hash/fnv.h"
#include "hash/hash_functions.h"
#include "hash/positions.h"

_Static_assert(crypto_shorthash_siphashx24_KEYBYTES == 16, "the key of SipHash has 16 bytes");
_Static_assert(crypto_shorthash_siphashx24_BYTES == 16, "its long result has 128 bits");

/* Properties of each scheme, indexed by its number. */
static const struct scheme_row {
    const char *name;
    uint32_t digest_bits; /* 0: a hash for each probe instead of a digest */
    bool seeded;          /* accepts a seed */
    bool keyed;           /* accepts a secret */
    bool uniform;         /* as good as random, see tamis_scheme_is_uniform */
} scheme_rows[] = {
    [TAMIS_SCHEME_AUTO] =
        {.name = "auto", .digest_bits = 128, .seeded = true, .keyed = true, .uniform = true},
    [TAMIS_SCHEME_XXH3] = {.name = "xxh3", .digest_bits = 128, .seeded = true, .uniform = true},
    [TAMIS_SCHEME_SIP] = {.name = "sip", .digest_bits = 128, .keyed = true, .uniform = true},
    [TAMIS_SCHEME_GUAVA64] = {.name = "guava64", .digest_bits = 128, .uniform = true},
    [TAMIS_SCHEME_GUAVA32] = {.name = "guava32", .digest_bits = 128, .uniform = true},
    [TAMIS_SCHEME_BKDR31] = {.name = "bkdr31"},
    [TAMIS_SCHEME_BKDR63] = {.name = "bkdr63"},
    [TAMIS_SCHEME_REDISBLOOM] = {.name = "redisbloom", .digest_bits = 128, .uniform = true},
    [TAMIS_SCHEME_FNV_DCSO] = {.name = "fnv-dcso", .digest_bits = 64, .uniform = true},
    [TAMIS_SCHEME_REDISSON] = {.name = "redisson", .digest_bits = 128, .uniform = true},
};
enum { SCHEME_COUNT = sizeof scheme_rows / sizeof *scheme_rows };

const char *tamis_scheme_name(tamis_scheme scheme) {
    return (unsigned)scheme < SCHEME_COUNT ? scheme_rows[scheme].name : NULL;
}

tamis_status tamis_scheme_parse(tamis_scheme *scheme, const char *name, tamis_error *err) {
    TAMIS__NEED(name, err);
    TAMIS__NEED(scheme, err);
    for (int i = 0; i < SCHEME_COUNT; i++) {
        if (strcmp(name, scheme_rows[i].name) == 0) {
            *scheme = (tamis_scheme)i;
            return TAMIS_OK;
        }
    }
    return tamis__fail(
        err, TAMIS_E_INVALID, 0,
        "%.100s: no such scheme; use auto, xxh3, sip, guava64, guava32, bkdr31, bkdr63, redisbloom, "
        "fnv-dcso or redisson",
        name);
}

uint32_t tamis_scheme_digest_bits(tamis_scheme scheme) {
    return (unsigned)scheme < SCHEME_COUNT ? scheme_rows[scheme].digest_bits : 0;
}

bool tamis_scheme_is_uniform(tamis_scheme scheme) {
    return (unsigned)scheme < SCHEME_COUNT && scheme_rows[scheme].uniform;
}

/* Returns BLAKE2b of the secret, keyed by `name`. Different names give independent results. */
static void digest_secret(uint8_t *out, size_t out_size, const void *secret, size_t size, const char *name) {
    crypto_generichash(out, out_size, secret, size, (const uint8_t *)name, strlen(name));
}

static tamis_status set_secret(tamis_hasher *hasher, const void *secret, size_t size, tamis_error *err) {
    if (sodium_init() < 0)
        return tamis__fail(
            err, TAMIS_E_SYSTEM, 0,
            "libsodium: could not be initialised; check that the system's random source works");
    uint8_t print[crypto_generichash_BYTES_MIN];
    digest_secret(hasher->sip_key, sizeof hasher->sip_key, secret, size, "tamis: key of SipHash-2-4");
    digest_secret(print, sizeof print, secret, size, "tamis: fingerprint of a secret");
    hasher->secret_fingerprint = tamis__load64le(print);
    return TAMIS_OK;
}

/* Checks that the seed and the secret suit the scheme. */
static tamis_status check_secret(tamis_scheme scheme, uint64_t seed, const void *secret, size_t secret_size,
                                 tamis_error *err) {
    const char *name = scheme_rows[scheme].name;
    if (secret_size && !secret)
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "secret: NULL, and secret_size is %zu; give the bytes, or a size of 0",
                           secret_size);
    if (seed && !scheme_rows[scheme].seeded)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "seed %" PRIu64 ": scheme %s takes no seed; leave it out",
                           seed, name);
    if (secret_size && !scheme_rows[scheme].keyed)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "secret: scheme %s takes none; leave it out or use sip",
                           name);
    if (scheme == TAMIS_SCHEME_SIP && (secret_size < TAMIS_SECRET_MIN || secret_size > TAMIS_SECRET_MAX))
        return tamis__fail(err, TAMIS_E_INVALID, 0,
                           "secret: %zu bytes, scheme sip needs %d to %d; give it a secret of random bytes",
                           secret_size, TAMIS_SECRET_MIN, TAMIS_SECRET_MAX);
    return TAMIS_OK;
}

/* Returns the fingerprint of everything that a digest depends on besides the key. */
static uint64_t hasher_id_of(const tamis_hasher *hasher) {
    uint8_t id_bytes[24];
    tamis__store64le(id_bytes, (uint64_t)hasher->scheme);
    tamis__store64le(id_bytes + 8, hasher->seed);
    tamis__store64le(id_bytes + 16, hasher->secret_fingerprint);
    return XXH3_64bits(id_bytes, sizeof id_bytes);
}

tamis_status tamis_hasher_create(tamis_hasher **hasher, const tamis_hasher_options *given, tamis_error *err) {
    TAMIS__NEED(hasher, err);
    tamis_hasher_options options = TAMIS_HASHER_OPTIONS_INIT;
    tamis_status status =
        tamis__read_options(&options, sizeof options, given, "TAMIS_HASHER_OPTIONS_INIT", err);
    if (status != TAMIS_OK)
        return status;
    tamis_scheme scheme = options.scheme;
    if ((unsigned)scheme >= SCHEME_COUNT)
        return tamis__fail(err, TAMIS_E_INVALID, 0, "scheme %d: no such scheme; see tamis/hash.h",
                           (int)scheme);
    if (scheme == TAMIS_SCHEME_AUTO)
        scheme = options.secret_size ? TAMIS_SCHEME_SIP : TAMIS_SCHEME_XXH3;
    status = check_secret(scheme, options.seed, options.secret, options.secret_size, err);
    if (status != TAMIS_OK)
        return status;

    tamis__isa isa;
    status = tamis__isa_get(&isa, err);
    if (status != TAMIS_OK)
        return status;

    tamis_allocator memory = tamis__allocator_resolve(options.allocator);
    tamis_hasher *created = tamis__alloc(&memory, sizeof *created, _Alignof(tamis_hasher));
    if (!created)
        return tamis__fail_nomem(err, "hasher", sizeof *created);
    created->allocator = memory;
    created->scheme = scheme;
    created->seed = options.seed;
    created->kernels = tamis__hash_kernels_of(isa);
    tamis__xxh3_init(&created->xxh3, options.seed);
    if (options.secret_size)
        status = set_secret(created, options.secret, options.secret_size, err);
    if (status != TAMIS_OK) {
        tamis_hasher_free(created);
        return status;
    }
    created->hasher_id = hasher_id_of(created);
    *hasher = created;
    return TAMIS_OK;
}

tamis_status tamis__hasher_create_locked(tamis_hasher **hasher, uint64_t secret_fingerprint,
                                         const tamis_allocator *allocator, tamis_error *err) {
    tamis_allocator memory = tamis__allocator_resolve(allocator);
    tamis_hasher *created = tamis__alloc(&memory, sizeof *created, _Alignof(tamis_hasher));
    if (!created)
        return tamis__fail_nomem(err, "hasher", sizeof *created);
    *created = (tamis_hasher){.allocator = memory,
                              .scheme = TAMIS_SCHEME_SIP,
                              .secret_fingerprint = secret_fingerprint,
                              .locked = true};
    created->hasher_id = hasher_id_of(created);
    *hasher = created;
    return TAMIS_OK;
}

/* Refuses to hash with a locked hasher, whose secret was not given. */
static tamis_status check_locked(const tamis_hasher *hasher, tamis_error *err) {
    if (!hasher->locked)
        return TAMIS_OK;
    return tamis__fail(
        err, TAMIS_E_SECRET, 0,
        "filter: keyed with a secret, which was not given; open it with its secret to look up keys");
}

tamis_status tamis__hasher_copy(tamis_hasher **copy, const tamis_hasher *hasher, tamis_error *err) {
    tamis_hasher *created = tamis__alloc(&hasher->allocator, sizeof *created, _Alignof(tamis_hasher));
    if (!created)
        return tamis__fail_nomem(err, "hasher", sizeof *created);
    *created = *hasher;
    *copy = created;
    return TAMIS_OK;
}

void tamis_hasher_free(tamis_hasher *hasher) {
    if (!hasher)
        return;
    tamis_allocator memory = hasher->allocator;
    sodium_memzero(hasher, sizeof *hasher);
    tamis__free(&memory, hasher, sizeof *hasher);
}

tamis_scheme tamis_hasher_scheme(const tamis_hasher *hasher) {
    return hasher->scheme;
}

uint64_t tamis_hasher_seed(const tamis_hasher *hasher) {
    return hasher->seed;
}

static void hash_sip(const tamis_hasher *hasher, const tamis_key *keys, size_t count, tamis_hash *hashes) {
    for (size_t i = 0; i < count; i++) {
        uint8_t digest[16];
        crypto_shorthash_siphashx24(digest, keys[i].data, keys[i].size, hasher->sip_key);
        hashes[i].word[0] = tamis__load64le(digest);
        hashes[i].word[1] = tamis__load64le(digest + 8);
    }
}

/* The first hash of a key seeds its second. */
static void hash_redisbloom(const tamis_key *keys, size_t count, tamis_hash *hashes) {
    for (size_t i = 0; i < count; i++) {
        uint64_t *word = hashes[i].word;
        word[0] = tamis__murmur64a(keys[i].data, keys[i].size, TAMIS__REDISBLOOM_SEED);
        word[1] = tamis__murmur64a(keys[i].data, keys[i].size, word[0]);
    }
}

/*
 * Hashes four keys side by side, because each step of FNV waits for the multiplication of the step before.
 *
 *     key 0   | a | b | c | d | e | f |
 *     key 1   | a | b | c |
 *     key 2   | a | b | c | d |
 *     key 3   | a | b | c | d | e | f | g | ...
 *               unmasked  | masked    | single: the rest of each key alone
 *                         ^ min       ^ max
 *
 * Up to the shortest size, all four take each step. Then a key that has ended takes further steps whose
 * result is masked out. A branch for each key instead would be mispredicted about every second time. If one
 * key is much longer than the shortest, its rest is hashed alone.
 */
static void hash_fnv_four(const tamis_key keys[4], tamis_hash hashes[4]) {
    enum { MASKED = 32 }; /* maximum of masked steps */
    static const uint8_t none[1];
    const uint8_t *data[4];
    uint64_t h[4];
    size_t min = keys[0].size, max = 0;
    for (int j = 0; j < 4; j++) {
        data[j] = keys[j].size ? keys[j].data : none;
        h[j] = TAMIS__FNV_BASIS;
        min = keys[j].size < min ? keys[j].size : min;
        max = keys[j].size > max ? keys[j].size : max;
    }
    max = max - min > MASKED ? min + MASKED : max;
    for (size_t i = 0; i < min; i++)
        for (int j = 0; j < 4; j++)
            h[j] = h[j] * TAMIS__FNV_PRIME ^ data[j][i];
    for (size_t i = min; i < max; i++) {
        for (int j = 0; j < 4; j++) {
            uint64_t mask = -(uint64_t)(i < keys[j].size);
            const uint64_t next = h[j] * TAMIS__FNV_PRIME ^ data[j][i & mask];
            h[j] ^= (next ^ h[j]) & mask;
        }
    }
    for (int j = 0; j < 4; j++)
        hashes[j].word[0] = tamis__fnv1_64_on(h[j], data[j], max, keys[j].size);
}

/* Hashes groups of four keys, then the rest one by one. The digest has 64 bits, so word[1] is 0. */
static void hash_fnv(const tamis_key *keys, size_t count, tamis_hash *hashes) {
    const size_t fours = count / 4 * 4;
    for (size_t i = 0; i < fours; i += 4)
        hash_fnv_four(keys + i, hashes + i);
    for (size_t i = fours; i < count; i++)
        hashes[i].word[0] = tamis__fnv1_64(keys[i].data, keys[i].size);
    for (size_t i = 0; i < count; i++)
        hashes[i].word[1] = 0;
}

static void hash_redisson(const tamis_key *keys, size_t count, tamis_hash *hashes) {
    static const uint64_t redisson[4] = TAMIS__REDISSON_KEY;
    for (size_t i = 0; i < count; i++)
        tamis__highwayhash_128(keys[i].data, keys[i].size, redisson, hashes[i].word);
}

/* Requires a scheme with a digest and a hasher that is not locked. */
static void digest(const tamis_hasher *hasher, const tamis_key *keys, size_t count, tamis_hash *hashes) {
    switch (hasher->scheme) {
    case TAMIS_SCHEME_SIP:
        hash_sip(hasher, keys, count, hashes);
        break;
    case TAMIS_SCHEME_GUAVA64:
    case TAMIS_SCHEME_GUAVA32:
        hasher->kernels->murmur3(hasher->hasher_id, keys, count, hashes);
        return;
    case TAMIS_SCHEME_REDISBLOOM:
        hash_redisbloom(keys, count, hashes);
        break;
    case TAMIS_SCHEME_FNV_DCSO:
        hash_fnv(keys, count, hashes);
        break;
    case TAMIS_SCHEME_REDISSON:
        hash_redisson(keys, count, hashes);
        break;
    default:
        hasher->kernels->xxh3(&hasher->xxh3, hasher->hasher_id, keys, count, hashes);
        return;
    }
    for (size_t i = 0; i < count; i++)
        hashes[i].hasher_id = hasher->hasher_id;
}

tamis_status tamis_hash_many(const tamis_hasher *hasher, const tamis_key *keys, size_t count,
                             tamis_hash *hashes, tamis_error *err) {
    TAMIS__NEED(hasher, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED_IF(count, hashes, err);
    if (!scheme_rows[hasher->scheme].digest_bits)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "scheme %s: has no digest, it hashes a key once for each probe; use tamis_hash_series()",
            scheme_rows[hasher->scheme].name);
    tamis_status status = check_locked(hasher, err);
    if (status != TAMIS_OK)
        return status;
    digest(hasher, keys, count, hashes);
    return TAMIS_OK;
}

/* ---- positions ---- */

static void bkdr_series(const tamis_hasher *hasher, const tamis_key *key, uint32_t probes, uint64_t *values) {
    const uint64_t mask = hasher->scheme == TAMIS_SCHEME_BKDR31 ? TAMIS__BKDR31_MASK : TAMIS__BKDR63_MASK;
    tamis__bkdr(key->data, key->size, mask, probes, values);
}

static tamis_status check_probes(uint32_t probes, tamis_error *err) {
    if (probes >= 1 && probes <= TAMIS_PROBES_MAX)
        return TAMIS_OK;
    return tamis__fail(err, TAMIS_E_RANGE, 0, "probes %" PRIu32 ": not between 1 and %d; choose one within",
                       probes, TAMIS_PROBES_MAX);
}

tamis_status tamis_hash_series(const tamis_hasher *hasher, const tamis_key *keys, size_t count,
                               uint32_t probes, uint64_t *values, tamis_error *err) {
    TAMIS__NEED(hasher, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED_IF(count, values, err);
    if (scheme_rows[hasher->scheme].digest_bits)
        return tamis__fail(
            err, TAMIS_E_UNSUPPORTED, 0,
            "scheme %s: has a digest and no hash of its own for each probe; use tamis_hash_many()",
            scheme_rows[hasher->scheme].name);
    tamis_status status = check_probes(probes, err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        bkdr_series(hasher, &keys[i], probes, values + i * probes);
    return status;
}

void tamis__hasher_positions(const tamis_hasher *hasher, const tamis_key *key, uint64_t bits, uint32_t probes,
                             uint64_t *positions) {
    if (scheme_rows[hasher->scheme].digest_bits) {
        tamis_hash hash;
        digest(hasher, key, 1, &hash);
        tamis__positions(hasher->scheme, hash.word, bits, probes, positions);
        return;
    }
    bkdr_series(hasher, key, probes, positions);
    for (uint32_t i = 0; i < probes; i++)
        positions[i] %= bits;
}

tamis_status tamis_hash_positions(const tamis_hasher *hasher, const tamis_key *keys, size_t count,
                                  const tamis_bloom_shape *shape, uint64_t *positions, tamis_error *err) {
    TAMIS__NEED(hasher, err);
    TAMIS__NEED_IF(count, keys, err);
    TAMIS__NEED(shape, err);
    TAMIS__NEED_IF(count, positions, err);
    const uint64_t bits = shape->bits;
    const uint32_t probes = shape->probes;
    if (bits < 1 || bits > TAMIS_BITS_MAX)
        return tamis__fail(err, TAMIS_E_RANGE, 0,
                           "bits %" PRIu64 ": not between 1 and %" PRIu64 "; choose a size within", bits,
                           TAMIS_BITS_MAX);
    tamis_status status = check_probes(probes, err);
    if (status == TAMIS_OK)
        status = check_locked(hasher, err);
    for (size_t i = 0; i < count && status == TAMIS_OK; i++)
        tamis__hasher_positions(hasher, &keys[i], bits, probes, positions + i * probes);
    return status;
}

tamis_status tamis__hasher_check(const tamis_hasher *hasher, const tamis_hash *hashes, size_t count,
                                 tamis_error *err) {
    uint64_t differ = 0;
    for (size_t i = 0; i < count; i++)
        differ |= hashes[i].hasher_id ^ hasher->hasher_id;
    if (!differ)
        return TAMIS_OK;
    size_t first = 0;
    while (hashes[first].hasher_id == hasher->hasher_id)
        first++;
    return tamis__fail(err, TAMIS_E_MISMATCH, 0,
                       "hash %zu: made with another scheme, seed or secret than this filter's (%s); hash "
                       "the key with tamis_filter_hasher()",
                       first, tamis_scheme_name(hasher->scheme));
}
