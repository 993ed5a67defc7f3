#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the files in bad/ of those in good/. Each has one error; its checksums are right unless they are that error.
bad/messages.tsv has the messages with which the files are refused: written once, read, and kept for ever."""

import math
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "format"))
import tamis_reader as reader  # noqa: E402

PLACES, at = {}, 0
for letter, name in zip(reader.FIELDS[0::2], reader.NAMES):
    PLACES[name] = at, letter
    at += struct.calcsize("<" + letter)


def good(name):
    with open(os.path.join(HERE, "good", name + ".tamis"), "rb") as file:
        return file.read()


def put(data, repair=True, **fields):
    data = bytearray(data)
    for name, value in fields.items():
        place, letter = PLACES[name]
        struct.pack_into("<" + letter, data, place, value)
    return reader.repair(data) if repair else bytes(data)


def section(kind, content):
    return struct.pack("<II", kind, len(content)) + content + bytes(-len(content) % 8)


def label(name, value):
    return section(reader.LABEL, struct.pack("<H", len(name)) + name + value)


def with_sections(data, sections):
    """The file with these sections behind its own, as they are."""
    h = reader.read_header(data)
    header = data[: h["header_size"]] + sections
    offset = (len(header) + 4095) // 4096 * 4096
    rest = data[h["body_offset"] :]
    whole = header + bytes(offset - len(header)) + rest
    return put(whole, header_size=len(header), body_offset=offset, file_size=len(whole))


def flip(data, place):
    data = bytearray(data)
    data[place] ^= 1
    return bytes(data)


CLASSIC, XXH3, BLOCKED = good("classic-guava64"), good("classic-xxh3"), good("blocked-guava64")
TABLE, EXACT, GROWING = good("fingerprint-few"), good("exact-few"), good("fingerprint-growing-few")
FROZEN = good("fingerprint-frozen")
COUNTING = good("counting-removed")
PARTS = good("fingerprint-parts")
PARTS_AT = PARTS.index(struct.pack("<II", reader.PARTITIONS, 4 * 24))
PARTS_ROWS = list(struct.iter_unpack("<QQd", PARTS[PARTS_AT + 8 : PARTS_AT + 8 + 4 * 24]))
PARTITIONS = TABLE.index(struct.pack("<II", reader.PARTITIONS, 24)) + 8
END = reader.read_header(CLASSIC)["body_offset"] + reader.read_header(CLASSIC)["body_size"]


def put_partition(**values):
    row = dict(zip(("lines", "entries", "covered"), struct.unpack_from("<QQd", TABLE, PARTITIONS)))
    row.update(values)
    data = bytearray(TABLE)
    struct.pack_into("<QQd", data, PARTITIONS, *row.values())
    return reader.repair(data)


def put_rows(rows, **values):
    """PARTS with these rows of lines, entries and covered."""
    header = PARTS[:PARTS_AT] + section(reader.PARTITIONS, b"".join(struct.pack("<QQd", *row) for row in rows))
    header += PARTS[PARTS_AT + 8 + 4 * 24 : reader.read_header(PARTS)["header_size"]]
    return put(header + bytes(4096 - len(header)) + PARTS[4096:], header_size=len(header), **values)


def fields(prefix, data, **values):
    """A file for each value of each field."""
    return {f"{prefix}{name}-{value}".replace("_", "-"): put(data, **{name: value})
            for name, those in values.items() for value in those}


def whole_file():
    yield "empty", b""
    yield "magic", b"\x88" + CLASSIC[1:]
    yield "magic-through-text-mode", CLASSIC.replace(b"\r\n", b"\n", 1)
    for size in (7, 8, 255, 256, 4095, 4096, len(CLASSIC) - 8, len(CLASSIC) - 1):
        yield f"cut-at-{size}", CLASSIC[:size]
    yield "appended", CLASSIC + b"\0"
    yield "damaged-header", flip(CLASSIC, 160)
    yield "damaged-reserved", flip(CLASSIC, 250)
    for name, place in (("format", 8), ("features", 52), ("kind", 67), ("scheme", 71)):
        yield f"damaged-{name}", flip(CLASSIC, place)
    header_size = reader.read_header(CLASSIC)["header_size"]
    yield "damaged-first-zero", flip(CLASSIC, header_size)
    yield "damaged-last-zero", flip(CLASSIC, 4095)
    yield "damaged-section", flip(CLASSIC, 260)
    yield "damaged-header-sum", flip(CLASSIC, 16)
    yield "damaged-block", flip(CLASSIC, 4096)
    yield "damaged-block-sum", flip(CLASSIC, END)
    yield "damaged-checksums-sum", put(CLASSIC, repair=False, checksums_sum=1)
    forged = bytearray(put(CLASSIC, checksums_sum=1))
    struct.pack_into("<Q", forged, 56, 1)
    struct.pack_into("<Q", forged, 16, reader.header_sum(bytes(forged), reader.read_header(CLASSIC)["header_size"]))
    yield "forged-checksums-sum", bytes(forged)


def header_fields():
    yield from fields("", CLASSIC, format=[0, 2], header_size=[0, 248, 260, 2**32 - 1], file_size=[0, 2**64 - 1],
                      body_offset=[0, 4097, 8192, 2**64 - 4096], body_size=[0, 32, 72, 128, 2**63, 2**64 - 64],
                      block_size=[0, 4096], features=[2**31], kind=[0, 2, 3, 2**32 - 1], scheme=[0, 2**32 - 1], seed=[1],
                      secret_print=[1], capacity=[10**12 + 1], fpr=[-0.5, 1.5, math.nan],
                      bits=[0, 1, 2**62 + 1, 2**64 - 1], probes=[0, 256], slot_bits=[32], home_bits=[4],
                      partitions=[1], added=[2**63], false_present=[-1.0, math.inf], flags=[2**63],
                      fpr_predicted=[2.0], covered=[0.5]).items()
    yield from fields("blocked-", BLOCKED, bits=[511, 1024], scheme=[5, 8]).items()
    yield from fields("counting-", COUNTING, bits=[0, 511, 39936], probes=[0], scheme=[5], slot_bits=[4], partitions=[1],
                      covered=[0.5]).items()
    yield from fields("table-", TABLE, bits=[1], probes=[1], slot_bits=[0, 17, 136], home_bits=[3, 9],
                      partitions=[0, 256], capacity=[0], covered=[-1.0, math.nan]).items()
    yield from fields("exact-", EXACT, slot_bits=[64]).items()
    long = with_sections(CLASSIC, section(77, bytes(4096)))
    yield "body-offset-in-the-header", put(long, body_offset=4096, file_size=len(long))
    yield "sip-with-a-seed", put(good("classic-sip"), seed=1)


def sections():
    yield "section-past-the-header", with_sections(CLASSIC, struct.pack("<II", 77, 1))
    yield "section-of-4-gib", with_sections(CLASSIC, struct.pack("<II", 77, 2**32 - 1) + bytes(8))
    yield "section-critical", with_sections(CLASSIC, section(0x80000077, b"abc"))
    for size in (0, 1):
        yield f"label-of-{size}", with_sections(CLASSIC, section(reader.LABEL, bytes(size)))
    yield "label-past-its-section", with_sections(CLASSIC, section(reader.LABEL, b"\5\0abc"))
    yield "label-without-name", with_sections(CLASSIC, label(b"", b"x"))
    yield "label-with-long-name", with_sections(CLASSIC, label(b"n" * 256, b"x"))
    yield "label-with-long-value", with_sections(BLOCKED, label(b"n", b"v" * 65536))
    yield "label-not-utf-8", with_sections(CLASSIC, label(b"n", b"\xc0\xaf"))
    yield "label-surrogate", with_sections(CLASSIC, label(b"n", b"\xed\xa0\x80"))
    yield "label-with-nul", with_sections(CLASSIC, label(b"n", b"a\0b"))
    yield "label-with-escape", with_sections(CLASSIC, label(b"n", b"\x1b[1m"))
    yield "label-with-c1", with_sections(CLASSIC, label(b"n", "\x9b1m".encode()))
    yield "label-twice", with_sections(CLASSIC, label(b"n", b"1") + label(b"n", b"2"))
    yield "labels-4097", with_sections(BLOCKED, b"".join(label(b"%d" % i, b"") for i in range(4096)))
    yield "union-twice", with_sections(CLASSIC, 2 * section(reader.UNION, struct.pack("<Qd", 1, 0.5)))
    yield "data-twice", with_sections(CLASSIC, 2 * section(reader.DATA, b"d"))
    yield "union-of-15", with_sections(CLASSIC, section(reader.UNION, bytes(15)))
    yield "union-of-too-many", with_sections(CLASSIC, section(reader.UNION, struct.pack("<Qd", 2**63, 1.0)))
    yield "union-nan", with_sections(CLASSIC, section(reader.UNION, struct.pack("<Qd", 1, math.nan)))
    yield "partitions-in-classic", with_sections(CLASSIC, section(reader.PARTITIONS, bytes(24)))
    yield "partitions-in-classic-none", with_sections(CLASSIC, section(reader.PARTITIONS, b""))
    yield "split-in-classic", with_sections(CLASSIC, section(reader.SPLIT, bytes(32)))
    yield "split-of-a-given-size", with_sections(TABLE, section(reader.SPLIT, bytes(32)))
    yield "partitions-twice", with_sections(TABLE, TABLE[PARTITIONS - 8 : PARTITIONS + 24])
    for size in (1, 4):
        yield f"frozen-of-{size}", with_sections(TABLE, section(reader.FROZEN, b"\1" + bytes(size - 1)))
    yield "frozen-twice", with_sections(FROZEN, section(reader.FROZEN, b""))
    yield "frozen-classic", with_sections(CLASSIC, section(reader.FROZEN, b""))
    yield "frozen-counting", with_sections(COUNTING, section(reader.FROZEN, b""))
    yield "frozen-blocked", with_sections(BLOCKED, section(reader.FROZEN, b""))
    # A growing table has 256 partitions, a megabyte. This one lacks their rows; readers come to the sections first.
    yield "frozen-growing", with_sections(put(TABLE, capacity=0, slot_bits=32, partitions=256), section(reader.FROZEN, b""))
    missing = bytearray(TABLE)
    struct.pack_into("<I", missing, PARTITIONS - 8, 77)
    yield "partitions-missing", reader.repair(missing)


def tables():
    for name, value in (("lines", 0), ("lines", 63), ("lines", 65), ("lines", 2**58), ("lines", 2**64 - 1),
                        ("entries", 1857), ("entries", 2**64 - 1), ("covered", -1.0), ("covered", math.nan)):
        yield f"partition-{name}-{value}", put_partition(**{name: value})
    lines = [row[0] for row in PARTS_ROWS]
    for count in (3, 5):
        yield f"parts-rows-{count}", put_rows((2 * PARTS_ROWS)[:count])
    yield "parts-3", put_rows([(lines[0] * 4 // 3, *row[1:]) for row in PARTS_ROWS[:3]], partitions=3)
    yield "parts-uneven", put_rows([(lines[0] + (1, -1, 0, 0)[i], *row[1:]) for i, row in enumerate(PARTS_ROWS)])
    yield "parts-short", put_rows([(lines[0] - 1, *row[1:]) for row in PARTS_ROWS])
    for name, place, byte in (("line-all-ends", 63, 0xFF), ("line-end-too-many", 60, 1)):
        data = bytearray(TABLE)
        data[4096 + place] = byte
        yield name, reader.repair(data)
    # The first line with an entry gets one that is 0.
    for start in range(4096, 8192, 64):
        if reader.Line(TABLE[start : start + 64], 16, 4).ends[-1] > 16:
            data = bytearray(TABLE)
            data[start : start + 2] = b"\0\0"
            yield "entry-0", reader.repair(data)
            break


def main():
    for make in (whole_file, header_fields, sections, tables):
        for name, data in make():
            with open(os.path.join(HERE, "bad", name + ".tamis"), "wb") as file:
                file.write(data)


if __name__ == "__main__":
    main()
