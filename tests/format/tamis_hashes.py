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
    for start in range(0, whole, 16):
        k1, k2 = struct.unpack_from("<QQ", data, start)
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


REDISSON_KEY = (0x9E3779B97F4A7C15, 0xF39CC0605CEDC834, 0x1082276BF3A27251, 0xF86C6A11D0C18E95)
HIGHWAY_MUL0 = (0xDBE6D5D5FE4CCE2F, 0xA4093822299F31D0, 0x13198A2E03707344, 0x243F6A8885A308D3)
HIGHWAY_MUL1 = (0x3BD39E10CB0EF593, 0xC0ACF169B5F18A8C, 0xBE5466CF34E90C6C, 0x452821E638D01377)
HIGHWAY_ZIP = (3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7)


class Highway:
    """HighwayHash (arXiv 1612.06257), with its permutation of 16 bytes as a table."""

    def __init__(self, key):
        self.mul0, self.mul1 = list(HIGHWAY_MUL0), list(HIGHWAY_MUL1)
        self.v0 = [a ^ b for a, b in zip(HIGHWAY_MUL0, key)]
        self.v1 = [a ^ (b >> 32 | b << 32 & U64) for a, b in zip(HIGHWAY_MUL1, key)]

    @staticmethod
    def zipped(lanes):
        """The value to add: the bytes of each pair of lanes, permuted."""
        bytes_of = struct.pack("<4Q", *lanes)
        return struct.unpack("<4Q", bytes(bytes_of[half + i] for half in (0, 16) for i in HIGHWAY_ZIP))

    def update(self, packet):
        for i, word in enumerate(packet):
            self.v1[i] = self.v1[i] + self.mul0[i] + word & U64
            self.mul0[i] ^= (self.v1[i] & U32) * (self.v0[i] >> 32)
            self.v0[i] = self.v0[i] + self.mul1[i] & U64
            self.mul1[i] ^= (self.v0[i] & U32) * (self.v1[i] >> 32)
        self.v0 = [a + b & U64 for a, b in zip(self.v0, self.zipped(self.v1))]
        self.v1 = [a + b & U64 for a, b in zip(self.v1, self.zipped(self.v0))]

    def update_rest(self, rest):
        """The last 1 to 31 bytes."""
        size = len(rest)
        self.v0 = [v + (size << 32) + size & U64 for v in self.v0]
        turned = []
        for half in struct.unpack("<8I", struct.pack("<4Q", *self.v1)):
            turned.append((half << size | half >> 32 - size) & U32)
        self.v1 = list(struct.unpack("<4Q", struct.pack("<8I", *turned)))
        odd = size % 4
        packet = bytearray(rest[: size - odd].ljust(32, b"\0"))
        if size >= 16:
            packet[28:] = rest[-4:]
        elif odd:
            last = rest[size - odd :]
            packet[16:19] = bytes((last[0], last[odd // 2], last[odd - 1]))
        self.update(struct.unpack("<4Q", packet))

    def absorb(self, data):
        whole = len(data) // 32 * 32
        for start in range(0, whole, 32):
            self.update(struct.unpack("<4Q", data[start : start + 32]))
        if len(data) > whole:
            self.update_rest(data[whole:])

    def stir(self, rounds):
        for _ in range(rounds):
            self.update([v >> 32 | v << 32 & U64 for v in self.v0[2:] + self.v0[:2]])


def redisson(data):
    h = Highway(REDISSON_KEY)
    h.absorb(data)
    h.stir(6)
    return tuple(h.v0[i] + h.mul0[i] + h.v1[i + 2] + h.mul1[i + 2] & U64 for i in (0, 1))


def bkdr_seed(i):
    """PHP arithmetic: an integer below 2^63, else a float."""
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
