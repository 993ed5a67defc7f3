#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes hash_vectors.tsv with implementations that are not ours: XXH3 by the Python module xxhash, BLAKE2b
by hashlib, SipHash-2-4-128 by the command openssl (3.0 or later), MurmurHash64A by libstdc++ (std::_Hash_bytes is
it), FNV-1 by Go's hash/fnv, HighwayHash by the reader of tests/format, which is checked against values that its authors
publish. Needs: pip install xxhash; g++; go.

Usage: make_hash_vectors.py > hash_vectors.tsv
"""
import hashlib
import random
import struct
import pathlib
import subprocess
import sys
import tempfile

import xxhash

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "format"))
import tamis_hashes as hashes  # noqa: E402

NUMBER_OF = {"xxh3": 1, "sip": 2, "redisbloom": 7, "fnv-dcso": 8, "redisson": 9}

# Each reads lines of a key in hexadecimal and writes a line of two words in hexadecimal for each.
MURMUR64A = r"""
#include <bits/hash_bytes.h>
#include <cstdio>
#include <iostream>
#include <string>
int main() {
    for (std::string hex; std::getline(std::cin, hex);) {
        std::string key;
        for (std::size_t i = 0; i < hex.size(); i += 2)
            key += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
        std::size_t a = std::_Hash_bytes(key.data(), key.size(), 0xc6a4a7935bd1e995u);
        std::printf("%016zx %016zx\n", a, std::_Hash_bytes(key.data(), key.size(), a));
    }
}
"""
FNV1 = r"""
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"os"
)

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		key, _ := hex.DecodeString(lines.Text())
		h := fnv.New64()
		h.Write(key)
		fmt.Printf("%016x %016x\n", h.Sum64(), 0)
	}
}
"""


def others(scheme, source, name, build, keys):
    """Rows of a scheme by a program in another language."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/{name}", "w") as file:
            file.write(source)
        subprocess.run(build + [f"{folder}/{name}"], cwd=folder, check=True)
        lines = "".join(key.hex() + "\n" for key in keys)
        answers = subprocess.run([f"{folder}/program"], input=lines, text=True, capture_output=True, check=True).stdout
    for key, answer in zip(keys, answers.splitlines(), strict=True):
        low, high = (int(word, 16) for word in answer.split())
        row(scheme, 0, b"", key, low, high)


def words(low, high):
    return f"{low:016x}\t{high:016x}"


def siphash(key, data):
    command = ["openssl", "mac", "-macopt", "hexkey:" + key.hex(), "-macopt", "size:16", "-in", "/dev/stdin", "SIPHASH"]
    return bytes.fromhex(subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode().strip())


def hasher_id(scheme, seed, secret_print):
    return xxhash.xxh3_64_intdigest(struct.pack("<QQQ", NUMBER_OF[scheme], seed, secret_print))


def row(scheme, seed, secret, data, low, high, secret_print=0):
    print(scheme, seed, secret.hex(), data.hex(), words(low, high), f"{hasher_id(scheme, seed, secret_print):016x}", sep="\t")


def xxh3(seed, data):
    digest = xxhash.xxh3_128_intdigest(data, seed)
    row("xxh3", seed, b"", data, digest & (2**64 - 1), digest >> 64)


def sip(secret, data):
    key = hashlib.blake2b(secret, digest_size=16, key=b"tamis: key of SipHash-2-4").digest()
    print_bytes = hashlib.blake2b(secret, digest_size=16, key=b"tamis: fingerprint of a secret").digest()
    low, high = struct.unpack("<QQ", siphash(key, data))
    row("sip", 0, secret, data, low, high, struct.unpack("<QQ", print_bytes)[0])


def redisson(keys):
    # Of the 64-bit values for 0, 1, 2, ... (github.com/google/highwayhash, highwayhash_test.cc), by the last bytes' kind.
    published = {0: 0x907A56DE22C26E53, 3: 0x5C6BEFAB8A463D80, 15: 0x40793F86A449F33B, 16: 0xCFAB3489F97EB832,
                 19: 0x75D9518E2371C504, 31: 0x9FC7007CCF035A68, 32: 0xA0C964D9ECD580FC}
    for size, value in published.items():
        h = hashes.Highway([int.from_bytes(bytes(range(i, i + 8)), "little") for i in range(0, 32, 8)])
        h.absorb(bytes(range(size)))
        h.stir(4)
        assert h.v0[0] + h.v1[0] + h.mul0[0] + h.mul1[0] & 2**64 - 1 == value
    for key in keys:
        row("redisson", 0, b"", key, *hashes.redisson(key))


def main():
    # First and last of the 64 vectors that the authors of SipHash publish (github.com/veorq/SipHash, vectors.h).
    assert siphash(bytes(range(16)), b"").hex() == "a3817f04ba25a8e66df67214c7550293"
    assert siphash(bytes(range(16)), bytes(range(63))).hex() == "5150d1772f50834a503e069a973fbd7c"
    print("# scheme, seed, secret, key, word 0, word 1, hasher_id; made by make_hash_vectors.py, xxhash " + xxhash.VERSION)
    rng = random.Random(3)
    lengths = list(range(0, 36)) + [63, 64, 65, 127, 128, 129, 130, 239, 240, 241, 255, 256, 257, 511, 1023, 1024, 1025, 2000]
    for length in lengths:
        for seed in (0, 1, 0x9E3779B97F4A7C15, 2**64 - 1):
            xxh3(seed, rng.randbytes(length))
        xxh3(0, bytes(128 + rng.randrange(128) for _ in range(length)))
    for secret in (bytes(range(16)), b"\xff" * 17, rng.randbytes(64), rng.randbytes(65), rng.randbytes(4096)):
        for length in list(range(0, 18)) + [31, 32, 33, 63, 64, 100, 257]:
            sip(secret, rng.randbytes(length))
    keys = [rng.randbytes(length) for length in list(range(0, 41)) + [63, 64, 65, 1000]]
    keys += [bytes(128 + rng.randrange(128) for _ in range(length)) for length in range(1, 25)]
    others("redisbloom", MURMUR64A, "murmur.cpp", ["g++", "-o", "program"], keys)
    redisson(keys)
    others("fnv-dcso", FNV1, "fnv.go", ["go", "build", "-o", "program"], keys)


main()
