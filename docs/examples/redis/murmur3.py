# SPDX-License-Identifier: BSD-2-Clause
"""murmur3_x64_128 with seed 0, the hash of scheme guava64, for a Python without a package that has it."""
import struct

M64 = (1 << 64) - 1


def digest(key):
    """The two words, h1 and h2."""
    def rot(v, by):
        return (v << by | v >> 64 - by) & M64

    def finish(v):
        v = (v ^ v >> 33) * 0xFF51AFD7ED558CCD & M64
        v = (v ^ v >> 33) * 0xC4CEB9FE1A85EC53 & M64
        return v ^ v >> 33
    a = b = 0
    padded = key + bytes(-len(key) % 16)
    for start in range(0, len(padded), 16):
        (k, l), whole = struct.unpack_from("<QQ", padded, start), start + 16 <= len(key)
        a ^= rot(k * 0x87C37B91114253D5 & M64, 31) * 0x4CF5AD432745937F & M64
        a = (rot(a, 27) + b) * 5 + 0x52DCE729 & M64 if whole else a
        b ^= rot(l * 0x4CF5AD432745937F & M64, 33) * 0x87C37B91114253D5 & M64
        b = (rot(b, 31) + a) * 5 + 0x38495AB5 & M64 if whole else b
    a, b = a ^ len(key), b ^ len(key)
    a, b = finish(a + b & M64), finish(a + b + b & M64)
    return a + b & M64, a + b + b & M64
