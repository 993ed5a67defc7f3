# SPDX-License-Identifier: BSD-2-Clause
"""The hashes of docs/FORMAT.md, section Schemes, from their definitions. XXH3 is Debian's python3-xxhash."""

import hashlib
import struct

import xxhash

U32, U64 = 2**32 - 1, 2**64 - 1


def xxh3_64(data, seed=0):
    return xxhash.xxh3_64_intdigest(data, seed)


def xxh3(data, seed):
    digest = xxhash.xxh3_128_intdigest(data, seed)
    return digest & U64, digest >> 64


def rotl(x, n):
    return (x << n | x >> (64 - n)) & U64


def siphash_2_4_128(data, key):
    """Aumasson and Bernstein, with the constants of the variant of 128 bits."""
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(n):
        for _ in range(n):
            v[0] = (v[0] + v[1]) & U64
            v[1] = rotl(v[1], 13) ^ v[0]
            v[0] = rotl(v[0], 32)
            v[2] = (v[2] + v[3]) & U64
            v[3] = rotl(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & U64
            v[3] = rotl(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & U64
            v[1] = rotl(v[1], 17) ^ v[2]
            v[2] = rotl(v[2], 32)

    whole = len(data) // 8 * 8
    last = int.from_bytes(data[whole:], "little") | (len(data) & 255) << 56
    for word in struct.unpack(f"<{whole // 8}Q", data[:whole]) + (last,):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xEE
    rounds(4)
    x = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    rounds(4)
    return x, v[0] ^ v[1] ^ v[2] ^ v[3]


def sip_key(secret):
    return hashlib.blake2b(secret, digest_size=16, key=b"tamis: key of SipHash-2-4").digest()


def sip_print(secret):
    digest = hashlib.blake2b(secret, digest_size=16, key=b"tamis: fingerprint of a secret").digest()
    return int.from_bytes(digest[:8], "little")


def murmur3_x64_128(data):
    """Appleby's MurmurHash3, seed 0."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F

    def mix(k, a, turn, b):
        return rotl(k * a & U64, turn) * b & U64

    def final(k):
        k = (k ^ k >> 33) * 0xFF51AFD7ED558CCD & U64
        k = (k ^ k >> 33) * 0xC4CEB9FE1A85EC53 & U64
        return k ^ k >> 33

    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        k1, k2 = struct.unpack_from("<QQ", data, at)
        h1 = (rotl(h1 ^ mix(k1, c1, 31, c2), 27) + h2) * 5 + 0x52DCE729 & U64
        h2 = (rotl(h2 ^ mix(k2, c2, 33, c1), 31) + h1) * 5 + 0x38495AB5 & U64
    h1 ^= mix(int.from_bytes(data[whole : whole + 8], "little"), c1, 31, c2)
    h2 ^= mix(int.from_bytes(data[whole + 8 :], "little"), c2, 33, c1)
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = h1 + h2 & U64
    h2 = h1 + h2 & U64
    h1, h2 = final(h1), final(h2)
    h1 = h1 + h2 & U64
    return h1, h1 + h2 & U64


def murmur_64a(data, seed):
    """Appleby's MurmurHash64A."""
    m = 0xC6A4A7935BD1E995
    h = seed ^ len(data) * m & U64
    whole = len(data) // 8 * 8
    for k in struct.unpack(f"<{whole // 8}Q", data[:whole]):
        k = k * m & U64
        k = (k ^ k >> 47) * m & U64
        h = (h ^ k) * m & U64
    if len(data) > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & U64
    h = (h ^ h >> 47) * m & U64
    return h ^ h >> 47


def redisbloom(data):
    x = murmur_64a(data, 0xC6A4A7935BD1E995)
    return x, murmur_64a(data, x)


def fnv_1(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = h * 0x100000001B3 & U64 ^ byte
    return h


def bkdr_seed(i):
    """An integer while it is below 2^63, a float from there on."""
    seed = 31 if i == 0 else 0
    for digit in range(i + 2 if i else 0):
        seed = seed * 10 + (3 if digit % 2 else 1)
        if isinstance(seed, int) and seed >= 2**63:
            seed = float(seed // 10) * 10.0 + (seed % 10)
    return seed


def bkdr(data, i, bits):
    seed, mask, h = bkdr_seed(i), 2**bits - 1, 0
    for byte in data:
        product = h * seed if isinstance(seed, int) else 0
        if isinstance(seed, float) or product >= 2**63:
            product = float(h) * float(seed)
        product = float(product)
        whole = int(product) if product - product == 0 else 0  # infinity and NaN are 0
        h = ((whole & mask) + byte) & mask
    return h
