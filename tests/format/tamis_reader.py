#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads .tamis files. Written from docs/FORMAT.md alone, without the library's code, to show that the document is
complete.

    tamis_reader.py [--secret HEX] FILE...              verifies the files; prints a line of JSON about each
    tamis_reader.py [--secret HEX] --lookup FILE <KEYS  reads keys in hexadecimal, or hashes as X:Y in hexadecimal, one
                                                        a line; prints 1 (present) or 0 for each

Prints a line on standard error for each file that is refused, and exits with status 2.
"""

import argparse
import json
import struct
import sys

import tamis_hashes as hashes
from tamis_hashes import U32, U64

MAGIC = b"\x89TAMIS\r\n"
FIELDS = (  # of the header, in order: type and name
    "8s magic I format I header_size Q header_sum Q file_size Q body_offset Q body_size I block_size I features "
    "Q checksums_sum I kind I scheme Q seed Q secret_print Q capacity d fpr Q bits I probes I slot_bits I home_bits "
    "I partitions Q memory_limit Q added d false_present Q flags Q version q created d fpr_predicted d covered"
).split()
LAYOUT = struct.Struct("<" + "".join(FIELDS[0::2]))
NAMES = FIELDS[1::2]
BLOCK = 65536
KINDS = {1: "classic", 2: "blocked", 3: "fingerprint", 4: "exact", 5: "window", 6: "counting", 7: "cuckoo"}
WINDOW_SLOTS = {32: 16, 40: 12, 48: 10, 56: 9, 64: 8}
SCHEMES = {1: "xxh3", 2: "sip", 3: "guava64", 4: "guava32", 5: "bkdr31", 6: "bkdr63", 7: "redisbloom", 8: "fnv-dcso", 9: "redisson"}
FIXED = {(slot_bits, 4) for slot_bits in (16, 20, 24, 32, 40, 48, 64, 120)}  # slot_bits, home_bits
GROWING = {(32, 4), (38, 2), (48, 4), (64, 4), (120, 4)}
LABEL, UNION, DATA, KEYS, FROZEN, PARTITIONS, SPLIT, WINDOW = 1, 2, 3, 4, 5, 0x80000001, 0x80000002, 0x80000003
TABLES = 0x80000004
MIX = 0xFF51AFD7ED558CCD
DCSO_P, DCSO_G = 18446744073709551557, 18446744073709550147


class Refused(Exception):
    """The file is not a .tamis file, is damaged, or uses a feature that this reader does not know."""


def insist(condition, message):
    if not condition:
        raise Refused(message)


def mulhi(a, b):
    return a * b >> 64


def fmix(x):
    return (x ^ x >> 32) * MIX & U64


# ---- checksums ----


def header_sum(data, header_size):
    return hashes.xxh3_64(data[24:header_size], hashes.xxh3_64(data[:16]))


def block_checksums(body):
    return b"".join(struct.pack("<Q", hashes.xxh3_64(body[offset : offset + BLOCK])) for offset in range(0, len(body), BLOCK))


def repair(data):
    """Returns the file with corrected checksums and any other content. For scripts that make bad files."""
    data = bytearray(data)
    header_size, = struct.unpack_from("<I", data, 12)
    body_offset, body_size = struct.unpack_from("<QQ", data, 32)
    if body_offset + body_size <= len(data):
        checksums = block_checksums(bytes(data[body_offset : body_offset + body_size]))
        if body_offset + body_size + len(checksums) <= len(data):
            data[body_offset + body_size : body_offset + body_size + len(checksums)] = checksums
            struct.pack_into("<Q", data, 56, hashes.xxh3_64(checksums))
    struct.pack_into("<Q", data, 16, header_sum(bytes(data), header_size))
    return bytes(data)


# ---- header and sections ----


def read_header(data):
    insist(data[:8] == MAGIC, "not a .tamis file")
    insist(len(data) >= 256, "shorter than a header")
    h = dict(zip(NAMES, LAYOUT.unpack_from(data)))
    size = h["header_size"]
    insist(256 <= size <= 1048576 and size % 8 == 0, f"header_size {size}")
    insist(size <= len(data), "cut short in the header")
    insist(header_sum(data, size) == h["header_sum"], "the header is damaged")
    insist(h["format"] == 1, f"format {h['format']}")
    insist(h["features"] == 0, f"features {h['features']:#x}")
    insist(h["block_size"] == BLOCK, f"block_size {h['block_size']}")
    insist(h["body_offset"] % 4096 == 0 and size <= h["body_offset"] <= 2097152, f"body_offset {h['body_offset']}")
    insist(h["body_size"] % 64 == 0 and h["body_size"] >= 64, f"body_size {h['body_size']}")
    blocks = (h["body_size"] + BLOCK - 1) // BLOCK
    insist(h["file_size"] == h["body_offset"] + h["body_size"] + 8 * blocks, f"file_size {h['file_size']}")
    insist(h["file_size"] == len(data), f"{len(data)} bytes where file_size is {h['file_size']}")
    check_plan(h)
    return h


def check_plan(h):
    cuckoo = h["kind"] == 7
    table = h["kind"] in (3, 4, 5)
    insist(h["kind"] in KINDS, f"kind {h['kind']}")
    insist(h["scheme"] in SCHEMES, f"scheme {h['scheme']}")
    insist(h["kind"] != 7 or h["scheme"] != 7, "RedisBloom's cuckoo filter in a .tamis file")
    insist(h["kind"] == 1 or h["scheme"] not in (5, 6, 8), f"scheme {h['scheme']} of kind {h['kind']}")
    for name, used in {"seed": h["scheme"] == 1, "secret_print": h["scheme"] == 2, "bits": not table,
                       "probes": not table and not cuckoo, "slot_bits": table or cuckoo, "home_bits": table,
                       "partitions": table, "covered": table or cuckoo}.items():
        insist(used or h[name] == 0, f"{name} {h[name]}, and this kind or scheme has none")
    for name, maximum in {"capacity": 10**12, "fpr": 1, "bits": 2**62, "probes": 255, "added": 2**63 - 1, "flags": 3,
                       "false_present": 2**63, "fpr_predicted": 1, "covered": 1}.items():
        insist(0 <= h[name] <= maximum, f"{name} {h[name]}")
    if cuckoo:
        check_cuckoo(h)
    elif h["kind"] == 5:
        insist(h["slot_bits"] in WINDOW_SLOTS and h["home_bits"] == 0, f"slot_bits {h['slot_bits']}")
        insist(1 <= h["partitions"] <= 16, f"{h['partitions']} tables")
    elif table:
        shapes = GROWING if h["capacity"] == 0 else FIXED
        insist((h["slot_bits"], h["home_bits"]) in shapes, f"slot_bits {h['slot_bits']}, home_bits {h['home_bits']}")
        insist(h["kind"] == 3 or h["slot_bits"] == 120, f"slot_bits {h['slot_bits']} of exact")
        insist(h["partitions"] in ([1 << c for c in range(9)] if h["capacity"] else [256]), f"partitions {h['partitions']}")
    else:
        insist(h["bits"] and h["probes"], "bits or probes 0")
        insist(h["kind"] == 1 or h["bits"] % 512 == 0, f"bits {h['bits']}")
        insist(h["body_size"] == (h["bits"] + 511) // 512 * 64, f"bits {h['bits']} in {h['body_size']} bytes")


def check_cuckoo(h):
    f, bits = h["slot_bits"], h["bits"]
    insist(8 <= f <= 57, f"slot_bits {f}")
    if h["capacity"] == bits == 0:
        return
    insist(bits > 0 and bits % (8 * f) == 0, f"bits {bits} with slot_bits {f}")
    insist(1 <= h["capacity"] <= bits // f and h["added"] <= h["capacity"], f"added {h['added']}, capacity {h['capacity']}")
    insist(h["body_size"] == ((bits + 7) // 8 + 8 + 63) // 64 * 64, f"bits {bits} in {h['body_size']} bytes")


def read_sections(data, h):
    h.update(labels={}, union=None, data=None, keys=None, frozen=False, table=[], split=None, window=None)
    offset, end = 256, h["header_size"]
    while offset < end:
        insist(end - offset >= 8, "a section is cut short")
        kind, size = struct.unpack_from("<II", data, offset)
        insist(size <= end - offset - 8, f"section {kind:#x} of {size} bytes passes the header")
        content = data[offset + 8 : offset + 8 + size]
        offset += 8 + (size + 7) // 8 * 8
        if kind == LABEL:
            read_label(content, h["labels"])
        elif kind == UNION:
            insist(size == 16 and not h["union"], f"union of {size} bytes, or twice")
            h["union"] = struct.unpack("<Qd", content)
            insist(h["union"][0] <= h["added"], "added of the union")
            insist(0 <= h["union"][1] <= 2**63, "false_present of the union")
        elif kind == DATA:
            insist(h["data"] is None, "data twice")
            h["data"] = content.hex()
        elif kind == KEYS:
            insist(size == 4 and not h["keys"] and any(content), f"keys of {size} bytes, of type 0, or twice")
            h["keys"] = struct.unpack("<I", content)[0]
        elif kind == FROZEN:
            insist(size == 0 and not h["frozen"], f"frozen of {size} bytes, or twice")
            insist(h["kind"] in (3, 4) and h["capacity"], "frozen, and no table of a given capacity")
            h["frozen"] = True
        elif kind == PARTITIONS:
            insist(not h["table"], "partitions twice")
            insist(size > 0 and size % 24 == 0 and h["partitions"], f"partitions of {size} bytes")
            h["table"] = list(struct.iter_unpack("<QQd", content))
        elif kind == SPLIT:
            insist(size == 32 and h["split"] is None and h["kind"] in (3, 4) and not h["capacity"],
                   f"split of {size} bytes, twice, or of no table that grows")
            h["split"] = content
        elif kind == TABLES:
            insist(h["kind"] == 7 and h["capacity"] == 0 and not h["table"], "tables twice, or of no cuckoo filter that grows")
            insist(size % 16 == 0 and 1 <= size // 16 <= 32, f"tables of {size} bytes")
            h["table"] = list(struct.iter_unpack("<QQ", content))
        elif kind == WINDOW:
            insist(h["kind"] == 5 and size >= 40 and size % 8 == 0 and not h["window"],
                   f"window of {size} bytes, twice, or of another kind")
            h["window"] = read_window(content)
        else:
            insist(not kind >> 31, f"section {kind:#x} is not known")
    if h["kind"] in (3, 4, 5):
        insist(h["table"], "no partitions")
        check_window(h) if h["kind"] == 5 else check_table(h)
    if h["kind"] == 7 and not h["capacity"]:
        insist(h["table"], "no tables")
        check_cuckoo_tables(h)


def read_window(content):
    """The times of a window, and what follows from them."""
    W, S, L, T, refresh = struct.unpack_from("<QQQqQ", content)
    insist(1 <= W <= 2**42 and 1 <= S <= W and L <= 4 * S, f"window of {W} ms, step of {S}, lateness of {L}")
    insist(-1 <= T <= 2**53 and refresh <= 1, f"newest time {T}, refresh {refresh}")
    K = -(-(W + L) // S) + 1
    insist(K <= 2047, f"{K} steps")
    c = next(c for c in range(2, 64) if 2**c - 1 >= 2 * K)
    counts = [count for count, in struct.iter_unpack("<Q", content[40:])]
    return dict(W=W, S=S, T=T, K=K, c=c, M=2**c - 1, counts=counts)


def check_window(h):
    w = h["window"]
    insist(w, "no section window")
    insist(len(h["table"]) == h["partitions"] and len(w["counts"]) == len(h["table"]) * w["K"], "counts of tables or steps")
    for i, (lines, entries, zero) in enumerate(h["table"]):
        counts = w["counts"][i * w["K"] : (i + 1) * w["K"]]
        insist(lines >= 2 and lines % 2 == 0 and zero == 0, f"a table of {lines} lines")
        insist(entries == sum(counts) <= lines * WINDOW_SLOTS[h["slot_bits"]], f"{entries} entries in {lines} lines")
    insist(sum(lines for lines, _, _ in h["table"]) * 64 == h["body_size"], "lines and body_size differ")


def window_has(h, body, x, y):
    w, slot_bits = h["window"], h["slot_bits"]
    c, M, n, tail = w["c"], w["M"], WINDOW_SLOTS[slot_bits], slot_bits // 8 - 4
    F = x >> 64 - (slot_bits - c)
    last = max(w["T"], 0) // w["S"]
    steps = last - max(w["T"] - w["W"], 0) // w["S"]
    start = 0
    for lines, _, _ in h["table"]:
        a = mulhi(y, lines)
        b = (2 * mulhi(F * 0x9E3779B97F4A7C15 & U64, lines // 2) + 1 - a) % lines
        for line in (body[64 * (start + i) : 64 * (start + i) + 64] for i in (a, b)):
            for i in range(n):
                offset = 4 * n + i * tail
                slot = int.from_bytes(line[4 * i : 4 * i + 4] + line[offset : offset + tail], "little")
                code = slot & (1 << c) - 1
                if slot >> c == F and code and (1 + last % M - code) % M <= steps and w["T"] >= 0:
                    return True
        start += lines
    return False


def position_bits(h, split=False):
    """B of a growing table."""
    return min(6 + h["slot_bits"] - 1, 56) - (4 if split else 0)


def is_split(h, p):
    return bool(h["split"] and h["split"][p // 8] >> p % 8 & 1)


def slot_count(slot_bits, home_bits):
    return (512 - (1 << home_bits) - 1) // (slot_bits + 1)


def check_table(h):
    splits = [split for p in range(h["partitions"]) for split in [is_split(h, p)] * (16 if is_split(h, p) else 1)]
    insist(len(splits) == len(h["table"]), f"{len(h['table'])} partitions")
    for split, (lines, entries, covered) in zip(splits, h["table"]):
        maximum = 2**64 if h["capacity"] else 1 << min(position_bits(h, split) - h["home_bits"] - 10, 32)
        insist(64 <= lines <= maximum, f"a partition of {lines} lines")
        insist(entries <= lines * slot_count(h["slot_bits"], h["home_bits"]), f"{entries} entries in {lines} lines")
        insist(0 <= covered <= 1, f"covered {covered} of a partition")
    insist(not h["capacity"] or len({lines for lines, _, _ in h["table"]}) == 1, "partitions of different lines")
    insist(sum(lines for lines, _, _ in h["table"]) * 64 == h["body_size"], "lines and body_size differ")


def read_label(content, labels):
    insist(len(content) >= 2, "a label is cut short")
    size, = struct.unpack_from("<H", content)
    insist(1 <= size <= 255 and size <= len(content) - 2, f"a label's name of {size} bytes")
    insist(len(content) - 2 - size <= 65535, "a label's value is too long")
    try:
        name, value = content[2 : 2 + size].decode(), content[2 + size :].decode()
    except UnicodeDecodeError:
        raise Refused("a label is not UTF-8") from None
    for c in name + value:
        insist(not (ord(c) < 0x20 or 0x7F <= ord(c) <= 0x9F), "a label with control characters")
    insist(name not in labels, f"label {name} twice")
    insist(len(labels) < 4096, "too many labels")
    labels[name] = value


# ---- lookups ----


def digest(h, key, secret_key):
    """The words x and y of the hash."""
    scheme = SCHEMES[h["scheme"]]
    if scheme == "xxh3":
        return hashes.xxh3(key, h["seed"])
    if scheme == "sip":
        return hashes.siphash_2_4_128(key, secret_key)
    if scheme in ("guava64", "guava32"):
        return hashes.murmur3_x64_128(key)
    if scheme == "redisbloom":
        return hashes.redisbloom(key)
    if scheme == "redisson":
        return hashes.redisson(key)
    return hashes.fnv_1(key), 0


def positions_bkdr(h, key):
    bits = 31 if SCHEMES[h["scheme"]] == "bkdr31" else 63
    return (hashes.bkdr(key, i, bits) % h["bits"] for i in range(h["probes"]))


def positions_classic(h, x, y):
    scheme, m, k = SCHEMES[h["scheme"]], h["bits"], h["probes"]
    if scheme in ("xxh3", "sip"):
        y |= 1
        yield from (mulhi(fmix(x + i * y & U64), m) for i in range(k))
    elif scheme == "guava64":
        yield from ((x + i * y & 2**63 - 1) % m for i in range(k))
    elif scheme == "guava32":
        for i in range(1, k + 1):
            c = (x & U32) + i * (x >> 32) & U32
            yield (c ^ U32 if c >> 31 else c) % m
    elif scheme == "redisbloom":
        yield from ((x + i * y & U64) % m for i in range(k))
    elif scheme == "redisson":
        z = x
        for i in range(k):
            yield (z & 2**63 - 1) % m
            z = z + (x if i % 2 else y) & U64
    else:
        x %= DCSO_P
        for _ in range(k):
            x = (x * DCSO_G & U64) % DCSO_P
            yield x % m


def positions_blocked(h, x, y):
    start = 512 * mulhi(y, h["bits"] // 512)
    for i in range(h["probes"]):
        j, index = divmod(i, 7)
        v = fmix(x + j * 0x9E3779B97F4A7C15 & U64)
        w = v ^ v >> 32
        yield start + (w >> 64 - 9 * (index + 1) & 511)


def slot_of_cuckoo(body, f, i):
    first, last = f * i // 8, (f * i + f - 1) // 8
    return int.from_bytes(body[first : last + 1], "little") >> f * i % 8 & (1 << f) - 1


def cuckoo_bytes(h, buckets):
    return ((4 * h["slot_bits"] * buckets + 7) // 8 + 8 + 63) // 64 * 64


def check_cuckoo_tables(h):
    older = 2
    for buckets, entries in h["table"]:
        insist(buckets > 0 and buckets % older == 0, f"a table of {buckets} buckets after one of {older}")
        insist(entries <= 4 * buckets, f"{entries} entries in {buckets} buckets")
        older = buckets
    insist(sum(cuckoo_bytes(h, buckets) for buckets, _ in h["table"]) == h["body_size"], "tables and body_size differ")
    insist(sum(entries for _, entries in h["table"]) == h["added"], "entries of the tables and added differ")


def cuckoo_parts(h, body):
    """The tables: buckets, entries, bytes."""
    offset = 0
    for buckets, entries in h["table"] or [(h["bits"] // (4 * h["slot_bits"]), h["added"])]:
        yield buckets, entries, body[offset : offset + cuckoo_bytes(h, buckets)]
        offset += cuckoo_bytes(h, buckets)


def cuckoo_has(h, body, x, y):
    return any(cuckoo_table_has(h, b, part, x, y) for b, _, part in cuckoo_parts(h, body))


def cuckoo_table_has(h, b, body, x, y):
    f = h["slot_bits"]
    F = 1 + mulhi(x, 2**f - 1)
    first = 2 * mulhi(y, b // 2) if h["table"] else mulhi(y, b)
    s = 2 * mulhi(fmix(F * 0x9E3779B97F4A7C15 & U64), b // 2) + 1
    return any(slot_of_cuckoo(body, f, 4 * bucket + i) == F for bucket in (first, (s - first) % b) for i in range(4))


def verify_cuckoo(h, body):
    f = h["slot_bits"]
    for buckets, stated, part in cuckoo_parts(h, body):
        bits = 4 * f * buckets
        entries = sum(slot_of_cuckoo(part, f, i) != 0 for i in range(bits // f))
        insist(entries == stated, f"{entries} entries, and the file says {stated}")
        insist(int.from_bytes(part[bits // 8 :], "little") >> bits % 8 == 0, "a bit behind the slots is not zero")


class Line:
    """A line of a table: 64 bytes."""

    def __init__(self, data, slot_bits, home_bits):
        self.number = int.from_bytes(data, "little")
        self.slot_bits = slot_bits
        buckets = 1 << home_bits
        slots = slot_count(slot_bits, home_bits)
        self.head_bits = 32 if slot_bits >= 32 else 16
        self.tail_bits = slot_bits - self.head_bits
        self.tails = slots * self.head_bits
        ends = self.number >> 512 - (slots + buckets + 1) ^ (1 << buckets + 1) - 1
        self.ends = [i for i in range(slots + buckets + 1) if ends >> i & 1]
        insist(len(self.ends) == buckets + 1, "a line's ends are damaged")
        self.full = bool(ends >> slots + buckets & 1)
        for slot in range(self.ends[-1] - buckets):
            insist(self.value(slot), "an entry is 0")

    def value(self, slot):
        head = self.number >> slot * self.head_bits & (1 << self.head_bits) - 1
        tail = self.number >> self.tails + slot * self.tail_bits & (1 << self.tail_bits) - 1
        return head << self.tail_bits | tail

    def has(self, bucket, wanted):
        first = self.ends[bucket - 1] - (bucket - 1) if bucket else 0
        for slot in range(first, self.ends[bucket] - bucket):
            value = self.value(slot)
            above = (value & -value).bit_length()  # number of bits up to the lowest 1
            if value >> above == wanted >> above:
                return True
        return False


def home(h, Y):
    """Returns the partition's first line and number of lines, and the key's home line and rest."""
    c = h["partitions"].bit_length() - 1
    p = Y >> 128 - c
    first = p
    if h["split"]:
        p = sum(16 if is_split(h, q) else 1 for q in range(first))
        if is_split(h, first):
            c += 4
            p += Y >> 128 - c & 15
    n = h["table"][p][0]
    start = sum(lines for lines, _, _ in h["table"][:p])
    Z = Y << c & 2**128 - 1
    if h["capacity"]:
        return start, n, Z * n >> 128, Z * n & 2**128 - 1
    B = position_bits(h, is_split(h, first))
    X = Z >> 128 - B
    f = X * n & (1 << B) - 1
    D = B - (n.bit_length() - 1)
    R = (f // n << 128 - D) | (Z << B & 2**128 - 1) >> D
    return start, n, X * n >> B, R


def table_has(h, body, x, y):
    slot_bits, home_bits = h["slot_bits"], h["home_bits"]
    start, n, line_number, R = home(h, y << 64 | x)

    def line_at(i):
        offset = 64 * (start + i)
        return Line(body[offset : offset + 64], slot_bits, home_bits)

    def bits_of_rest(first, count):
        return R >> 128 - first - count & (1 << count) - 1

    line = line_at(line_number)
    if line.has(R >> 128 - home_bits, bits_of_rest(home_bits, slot_bits - 1) << 1 | 1):
        return True
    if not line.full:
        return False
    g = 1 + (bits_of_rest(home_bits, 10) * min(1023, n - 1) >> 10)
    return line_at((line_number + g) % n).has(1 << home_bits, bits_of_rest(0, slot_bits - 1) << 1 | 1)


class Filter:
    """Reads and verifies a file."""

    def __init__(self, data, secret=None):
        self.header = h = read_header(data)
        read_sections(data, h)
        insist(not any(data[h["header_size"] : h["body_offset"]]), "a byte before the body is not zero")
        end = h["body_offset"] + h["body_size"]
        self.body = data[h["body_offset"] : end]
        checksums = data[end:]
        insist(hashes.xxh3_64(checksums) == h["checksums_sum"], "the block checksums are damaged")
        for i, (expected, got) in enumerate(zip(struct.iter_unpack("<Q", checksums),
                                            struct.iter_unpack("<Q", block_checksums(self.body)))):
            insist(expected == got, f"block {i} is damaged")
        self.secret_key = None
        if secret is not None:
            insist(h["scheme"] == 2, "a secret is given to a file without")
            insist(hashes.sip_print(secret) == h["secret_print"], "made with another secret")
            self.secret_key = hashes.sip_key(secret)

    def has(self, key):
        h = self.header
        if h["scheme"] in (5, 6):
            return self.has_bits(positions_bkdr(h, key))
        insist(h["scheme"] != 2 or self.secret_key, "the secret is not given")
        return self.has_hash(*digest(h, key, self.secret_key))

    def has_hash(self, x, y):
        if self.header["kind"] == 7:
            return cuckoo_has(self.header, self.body, x, y)
        if self.header["kind"] == 5:
            return window_has(self.header, self.body, x, y)
        if self.header["kind"] == 6:
            return all(self.body[p // 8] >> (p & 4) & 15 for p in positions_blocked(self.header, x, y))
        if self.header["kind"] >= 3:
            return table_has(self.header, self.body, x, y)
        positions = positions_classic if self.header["kind"] == 1 else positions_blocked
        return self.has_bits(positions(self.header, x, y))

    def has_bits(self, positions):
        return all(self.body[p // 8] >> p % 8 & 1 for p in positions)

    def verify_lines(self):
        if self.header["kind"] == 7:
            verify_cuckoo(self.header, self.body)
        if self.header["kind"] in (3, 4):
            for offset in range(0, len(self.body), 64):
                Line(self.body[offset : offset + 64], self.header["slot_bits"], self.header["home_bits"])

    def says(self):
        h = {name: value for name, value in self.header.items() if name not in ("magic", "table")}
        h.update(kind=KINDS[h["kind"]], scheme=SCHEMES[h["scheme"]], lines=[t[0] for t in self.header["table"]],
                 entries=[t[1] for t in self.header["table"]])
        return h


def print_answers(tamis):
    for line in sys.stdin:
        x, colon, y = line.partition(":")
        print(int(tamis.has_hash(int(x, 16), int(y, 16)) if colon else tamis.has(bytes.fromhex(x))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--secret", type=bytes.fromhex)
    parser.add_argument("--lookup", action="store_true")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    status = 0
    for name in arguments.files:
        try:
            with open(name, "rb") as file:
                tamis = Filter(file.read(), arguments.secret)
            if arguments.lookup:
                print_answers(tamis)
            else:
                tamis.verify_lines()
                print(json.dumps(tamis.says()))
        except Refused as message:
            print(f"{name}: {message}", file=sys.stderr)
            status = 2
    return status


if __name__ == "__main__":
    sys.exit(main())
