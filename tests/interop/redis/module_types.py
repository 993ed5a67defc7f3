#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Native filters and windows of the Redis module in real servers: module_types.py MODULE DIRECTORY SEED COUNT

COUNT: how many items the larger tests add.
"""
import os
import random
import shutil
import subprocess
import time

import module_copies
from module_server import (COUNT, DIRECTORY, MODULE, SEED, WRONGTYPE, Client, Error, F, Server, T, arity, check_table, end_servers,
                           is_refused, is_true, listen, payload, refused, run, same, used_memory, wait_until)

BOUNDED = ("blocked", "classic", "fingerprint")
KINDS = BOUNDED + ("growing",)
FULL = Error("ERR non scaling filter is full")
BAD_KIND = Error("ERR kind must be compatible, fast, fingerprint, growing, blocked or classic")
NO_GROWTH = Error("ERR kinds blocked and classic do not grow; leave out EXPANSION, or choose another kind")
HOUR = 3600 * 1000


# ---- replies ----------------------------------------------------------------------------------------------

TABLE = [
    ("SET string x", b"OK"),
    ("BF.RESERVE k 0.01 100 KIND", BAD_KIND),
    ("BF.RESERVE k 0.01 100 KIND word", BAD_KIND),
    ("BF.RESERVE k 0.01 100 KIND cuckoo", BAD_KIND),
    ("BF.RESERVE k 0.01 100 EXPANSION 2 KIND blocked", NO_GROWTH),
    ("BF.RESERVE k 0.01 100 KIND classic EXPANSION 2", NO_GROWTH),
    ("BF.RESERVE k 0.01 100 NONSCALING EXPANSION 2 KIND", Error("Nonscaling filters cannot expand")),
    ("BF.RESERVE k 0.01 100 EXPANSION 0 NONSCALING x KIND blocked", arity("bf.reserve")),
    ("BF.RESERVE k 0.01 100 EXPANSION 0 NONSCALING KIND word", BAD_KIND),
    ("BF.RESERVE fixed1 0.01 100 EXPANSION 0 NONSCALING KIND classic", b"OK"),
    ("BF.RESERVE fixed2 0.01 100 EXPANSION 0 KIND fingerprint NONSCALING", b"OK"),
    ("BF.INFO fixed2 EXPANSION", {"Expansion rate": None}),
    ("BF.RESERVE k 0.01 100 EXPANSION 2 NONSCALING x", arity("bf.reserve")),
    ("BF.RESERVE string 0.01 100 KIND blocked", Error(WRONGTYPE)),
    ("BF.RESERVE k 1e-40 100 KIND blocked", Error("ERR could not create filter")),
    ("EXISTS k", 0),
    ("BF.RESERVE compatible 0.01 100 KIND compatible", b"OK"),
    ("TYPE compatible", b"MBbloom--"),
    # a filter that refuses
    ("BF.RESERVE b 0.01 3 KIND blocked", b"OK"),
    ("TYPE b", b"TAMISflt1"),
    ("BF.RESERVE b 0.01 100", Error("ERR item exists")),
    ("BF.ADD b a", T),
    ("BF.ADD b a", F),
    ("BF.MADD b a b c d e", [F, T, T, FULL]),
    ("BF.ADD b d", FULL),
    ("BF.ADD b a", F),
    ("BF.MEXISTS b a b c d", [T, T, T, F]),
    ("BF.EXISTS b a", T),
    ("BF.CARD b", 3),
    ("BF.INFO b", {"Capacity": 3, "Size": 64, "Number of filters": 1, "Number of items inserted": 3,
                   "Expansion rate": None}),
    ("BF.INFO b EXPANSION", {"Expansion rate": None}),
    ("BF.INFO b KIND", {"Kind": b"blocked"}),
    ("BF.INFO b SATURATION", {"Saturation": 1}),
    ("BF.INFO b word", Error("Invalid information value")),
    ("BF.SCANDUMP b 0", Error("ERR only a compatible filter has chunks; use DUMP, COPY or MIGRATE")),
    ("BF.LOADCHUNK b 1 data", Error("ERR received bad data")),
    ("BF.LOADCHUNK b 2 data", Error("ERR received bad data")),
    ("BF.LOADCHUNK b 5 data", Error("ERR invalid offset - no link found")),
    ("CF.ADD b a", Error(WRONGTYPE)),
    ("TW.ADD b a", Error(WRONGTYPE)),
    # a filter that grows
    ("BF.RESERVE f 0.01 3 KIND fast", b"OK"),
    ("BF.INFO f KIND", {"Kind": b"fingerprint"}),
    ("BF.INFO f EXPANSION", {"Expansion rate": 2}),
    ("BF.MADD f a b c d e", [T, T, T, T, T]),
    ("BF.INFO f SATURATION", {"Saturation": 0}),
    ("BF.CARD f", 5),
    ("BF.RESERVE spare 0.01 1000 KIND fast", b"OK"),
    ("BF.INFO spare CAPACITY", {"Capacity": 1125}),
    ("BF.INSERT spare2 CAPACITY 1000 KIND fingerprint ITEMS a", [T]),
    ("BF.INFO spare2 CAPACITY", {"Capacity": 1000}),
    # a fingerprint table that does not
    ("BF.RESERVE frozen 0.01 3 NONSCALING KIND fingerprint", b"OK"),
    ("BF.MADD frozen a b c d e", [T, T, T, FULL]),
    # a table without a capacity
    ("BF.RESERVE g 0.01 3 NONSCALING KIND growing", Error("ERR kind growing always grows; choose kind fingerprint")),
    ("BF.RESERVE g 0.01 3 EXPANSION 2 KIND growing", b"OK"),
    ("BF.MADD g a b c d e", [T, T, T, T, T]),
    ("BF.INFO g CAPACITY", {"Capacity": 5}),
    ("BF.INFO g EXPANSION", {"Expansion rate": 2}),
    ("BF.INFO g KIND", {"Kind": b"growing"}),
    # BF.INSERT
    ("BF.INSERT i KIND word ITEMS a", BAD_KIND),
    ("BF.INSERT i KIND blocked EXPANSION 2 ITEMS a", NO_GROWTH),
    ("BF.INSERT i K blocked ITEMS a", Error("Unknown argument received")),
    ("BF.INSERT i CAPACITY 10 KIND classic ITEMS a b a", [T, T, F]),
    ("BF.INFO i KIND", {"Kind": b"classic"}),
    ("BF.INSERT i KIND blocked ITEMS a", [F]),
    # BF.INFO by name, of RedisBloom's format
    ("BF.RESERVE chain 0.125 4 NONSCALING", b"OK"),
    ("BF.INFO chain KIND", {"Kind": b"compatible"}),
    ("BF.INFO chain SATURATION", {"Saturation": 0}),
    ("BF.MADD chain a b c d", [T, T, T, T]),
    ("BF.INFO chain SATURATION", {"Saturation": 1}),
    # BF.LOADIMAGE
    ("BF.LOADIMAGE k 0 10", arity("bf.loadimage")),
    ("BF.LOADIMAGE k x 10 data", Error("ERR offset and size must be numbers of bytes")),
    ("BF.LOADIMAGE k 0 0 data", Error("ERR offset and size must be numbers of bytes")),
    ("BF.LOADIMAGE k 0 3 data", Error("ERR the chunk is empty, or not within the image")),
    ("BF.LOADIMAGE k 9223372036854775806 9223372036854775807 data",
     Error("ERR the chunk is empty, or not within the image")),
    ("BF.LOADIMAGE k 4 10 data", Error("ERR not found")),
    ("BF.LOADIMAGE string 0 10 data", Error(WRONGTYPE)),
    ("BF.LOADIMAGE b 0 10 data", Error("ERR item exists")),
    ("EXISTS k", 0),
    # TW.RESERVE
    ("TW.RESERVE w 0.01 100 1000", arity("tw.reserve")),
    ("TW.RESERVE w rate 100 1000 10", Error("ERR bad error rate")),
    ("TW.RESERVE w 1 100 1000 10", Error("ERR error rate must be in the range (0.000000, 1.000000)")),
    ("TW.RESERVE w 0.01 0 1000 10", Error("ERR capacity must be in the range [1, 1073741824]")),
    ("TW.RESERVE w 0.01 100 0 10", Error("ERR window must be in the range [1, 4398046511104] milliseconds")),
    ("TW.RESERVE w 0.01 100 1000 0",
     Error("ERR steps must be in the range [1, 2000], and at most the milliseconds of the window")),
    ("TW.RESERVE w 0.01 100 10 11",
     Error("ERR steps must be in the range [1, 2000], and at most the milliseconds of the window")),
    ("TW.RESERVE string 0.01 100 1000 10", Error(WRONGTYPE)),
    ("TW.ADD w a", Error("ERR not found")),
    ("TW.EXISTS w a", F),
    ("TW.MEXISTS w a b", [F, F]),
    ("TW.RESERVE w 0.01 100 3600000 24", b"OK"),
    ("TW.RESERVE w 0.01 100 3600000 24", Error("ERR item exists")),
    ("TYPE w", b"TAMISwin1"),
    ("TW.ADD w", arity("tw.add")),
    ("TW.ADD w a b", arity("tw.add")),
    ("TW.MEXISTS w a", [F]),
    ("TW.ADD w a", T),
    ("TW.ADD w a", F),
    ("TW.MADD w a b b", [F, T, F]),
    ("TW.EXISTS w b", T),
    ("TW.MEXISTS w a c", [T, F]),
    ("TW.ADDAT w x a", Error("ERR time must be in the range [0, 2^53] milliseconds")),
    ("TW.ADDAT w 9007199254740993 a", Error("ERR time must be in the range [0, 2^53] milliseconds")),
    ("TW.ADDAT w 1 a c", [F, T]),
    ("TW.ADD string a", Error(WRONGTYPE)),
    ("TW.EXISTS string a", Error(WRONGTYPE)),
    ("TW.EXISTS b a", Error(WRONGTYPE)),
    ("TW.INFO string", Error(WRONGTYPE)),
    ("TW.INFO none", Error("ERR not found")),
    ("BF.ADD w a", Error(WRONGTYPE)),
    ("BF.EXISTS w a", Error(WRONGTYPE)),
    ("BF.MERGE w b", Error(WRONGTYPE)),
]


def test_replies(server):
    check_table(server, TABLE)


def number(call, key, field):
    return float(call("BF.INFO", key, field)[0])


def test_statistics(server):
    """Rate, live rate and fill of all kinds: the live rate reaches the requested one with the capacity."""
    call = server.call
    for kind in KINDS + ("compatible",):
        call("BF.RESERVE", kind, 0.02, 2000, "KIND", kind)
        same("rate", number(call, kind, "RATE"), 0.02)
        same("live rate", number(call, kind, "LIVERATE"), 0)
        call("BF.MADD", kind, *range(1000))
        half = number(call, kind, "LIVERATE")
        call("BF.MADD", kind, *range(1000, 1990))
        rate, fill = number(call, kind, "LIVERATE"), number(call, kind, "FILL")
        is_true(f"{kind}: {half} {rate}", 0 < half < rate < 0.021)
        is_true(f"{kind}: {fill}", 0.95 < fill <= 1)
        present = sum(call("BF.MEXISTS", kind, *range(100000, 110000)))
        is_true(f"{kind}: {present} of 10000 at {rate}", abs(present - 10000 * rate) < 6 * (10000 * rate) ** 0.5 + 10)
    same("a map", Client(server.path, 3)("BF.INFO", "blocked", "SATURATION"), [[b"Saturation", 0]])


def test_growth(server):
    """A filter that grows from 100 items keeps all of them, and its rate."""
    call = server.call
    call("BF.RESERVE", "g", 0.01, 100, "KIND", "fast")
    for start in range(0, 10 * COUNT, 1000):
        call("BF.MADD", "g", *range(start, start + 1000))
    for start in range(0, 10 * COUNT, 1000):
        same("present", set(call("BF.MEXISTS", "g", *range(start, start + 1000))), {1})
    present = sum(call("BF.MEXISTS", "g", *(f"x{i}" for i in range(20000))))
    is_true(f"rate: {present} of 20000", present < 200 + 6 * 200 ** 0.5)
    same("rate", number(call, "g", "RATE"), 0.01)
    is_true("live rate", number(call, "g", "LIVERATE") < 0.0105)


# ---- images -----------------------------------------------------------------------------------------------

def image_of(call, key):
    """The image of a key, from its DUMP: type, number 0, string of up to 64 KiB or more."""
    dump = call("DUMP", key)
    start = dump.index(b"\x89TAMIS\r\n")
    return dump[start:-11]


def load_image(call, key, image, size=60000, command="BF.LOADIMAGE"):
    for offset in range(0, len(image), size):
        got = call(command, key, offset, len(image), image[offset:offset + size])
        if got != b"OK":
            return got
    return b"OK"


def random_filter(call, key, kind, count):
    """A filter whose image the server does not compress."""
    call("BF.RESERVE", key, 0.001, count, "KIND", kind)
    for start in range(0, count - 10, 1000):
        call("BF.MADD", key, *range(start, min(start + 1000, count - 10)))


def test_images(server):
    call = server.call
    call("CONFIG", "SET", "rdbcompression", "no")
    for kind in KINDS:
        random_filter(call, kind, kind, 50000)
        image = image_of(call, kind)
        is_true("large", len(image) > 70000)
        for i, offset in enumerate(range(0, len(image), 30000)):
            if i > 0:  # nothing of a filter is visible before its last chunk
                for command in ("BF.ADD t 1", "BF.MEXISTS t 1 2", "BF.CARD t", "BF.INFO t", "BF.DEBUG t", "BF.MERGE t t",
                                "BF.SCANDUMP t 0", f"BF.MERGE other t"):
                    same(command, call(*command.split()),
                         Error(f"ERR filter is incomplete: BF.LOADIMAGE has loaded {offset} of {len(image)} bytes"))
                same("reserve", call("BF.RESERVE", "t", 0.1, 10), Error("ERR item exists"))
                same("chunk", call("BF.LOADCHUNK", "t", 1, "x"), Error("ERR received bad data"))
                expected = Error(f"ERR {offset} of {len(image)} bytes are loaded; go on there")
                same("gap", call("BF.LOADIMAGE", "t", offset + 1, len(image), b"x"), expected)
                same("size", call("BF.LOADIMAGE", "t", offset, len(image) + 1, b"x"), expected)
                same("again", call("BF.LOADIMAGE", "t", 0, len(image), image[:100]), b"OK")
                same("other bytes", call("BF.LOADIMAGE", "t", 1, len(image), b"xx"),
                     Error("ERR other bytes are loaded already; delete the key, and begin again"))
                before = server.digests()
                same("copy", call("COPY", "t", "copy"), 1)
                same("restore", call("RESTORE", "restored", 0, call("DUMP", "t")), b"OK")
                same("reload", call("DEBUG", "RELOAD"), b"OK")
                after = server.digests()
                for key in (b"t", b"copy", b"restored"):
                    same(key, after[key], before[b"t"])
                call("DEL", "copy", "restored")
            same("chunk", call("BF.LOADIMAGE", "t", offset, len(image), image[offset:offset + 30000]), b"OK")
        same("whole", server.digests()[b"t"], server.digests()[kind.encode()])
        same("whole", call("BF.LOADIMAGE", "t", 0, len(image), image[:10]), Error("ERR item exists"))
        call("DEL", "t")


def test_hostile_images(server):
    call = server.call
    call("CONFIG", "SET", "rdbcompression", "no")
    random.seed(SEED)
    for kind in KINDS + ("window",):
        call("FLUSHALL")
        if kind == "window":
            call("TW.RESERVE", "k", 0.001, 300, HOUR, 24)
            call("TW.MADD", "k", *range(300))
        else:
            random_filter(call, "k", kind, 300)
        dump, image = call("DUMP", "k"), image_of(call, "k")
        load, other = ("BF.LOADIMAGE", "TW.LOADIMAGE") if kind != "window" else ("TW.LOADIMAGE", "BF.LOADIMAGE")
        got = load_image(call, "t", image, command=other)
        is_true(f"other type: {got!r}", isinstance(got, Error) and "does not have it" in got.args[0])
        call("DEL", "t")
        for data in (image[:-1], image[:300], image + b"x", b"x" * 1000):
            got = load_image(call, "t", data, command=load)
            is_true(f"damaged: {got!r}", isinstance(got, Error) and got.args[0].startswith("ERR "))
            call("DEL", "t")
        for _ in range(COUNT // 4):
            data = bytearray(image)
            for _ in range(random.randrange(1, 4)):
                data[random.randrange(len(data))] ^= 1 << random.randrange(8)
            if bytes(data) == image:
                continue
            got = load_image(call, "t", bytes(data), command=load)
            is_true(f"changed: {got!r}", isinstance(got, Error))
            call("DEL", "t")
            data = bytearray(dump[:-8])
            data[random.randrange(10, len(data))] ^= 1 << random.randrange(8)
            call("RESTORE", "t", 0, bytes(data) + dump[-8:], "REPLACE")
            call("DEL", "t")
    same("alive", call("PING"), b"PONG")
    huge = call("BF.LOADIMAGE", "t", 0, 1 << 60, b"x" * 1000)
    same("memory comes with bytes", huge, b"OK")
    is_true("memory comes with bytes", call("MEMORY", "USAGE", "t") < 100000)
    dump = call("DUMP", "t")
    for size, is_valid in ((1 << 60, True), ((1 << 63) - 1, True), (1 << 63, False)):
        data = dump[:-10].replace((1 << 60).to_bytes(8, "big"), size.to_bytes(8, "big"))
        got = call("RESTORE", "sized", 0, payload(data), "REPLACE")
        is_true(f"{size}: {got!r}", (got == b"OK") == is_valid)
    for end in range(10, len(dump) - 12):
        is_refused(f"{end} bytes", call("RESTORE", "short", 0, payload(dump[:end])))


def test_refresh(server):
    """TW.ADD would not refresh items as such a window needs it."""
    tamis = os.path.join(os.path.dirname(os.path.dirname(MODULE)), "bin", "tamis")
    for name, options in (("plain", ()), ("refresh", ("--refresh",))):
        file = os.path.join(DIRECTORY, name + ".tamis")
        subprocess.run([tamis, "dedup", "--window", "1h", "--filter", file, "-o", os.devnull, *options], input=b"a\nb\n", check=True)
        with open(file, "rb") as image:
            got = load_image(server.call, name, image.read(), command="TW.LOADIMAGE")
        same(name, got, Error("ERR filter: a window with refresh; make one without it") if options else b"OK")
    same("present", server.call("TW.MEXISTS", "plain", "a", "b", "c"), [1, 1, 0])


# ---- merging ----------------------------------------------------------------------------------------------

def test_merge(server):
    call = server.call
    for kind in KINDS + ("compatible",):
        call("FLUSHALL")
        for key, items in (("a", range(400)), ("b", range(300, 700)), ("c", range(700, 900))):
            call("BF.RESERVE", key, 0.01, 1100, "KIND", kind)
            call("BF.MADD", key, *items)
        dump = call("DUMP", "a")
        same("none", call("BF.MERGE", "d", "none"), Error("ERR not found"))
        same("none", call("BF.MERGE", "a", "b", "none"), Error("ERR not found"))
        same("unchanged", call("DUMP", "a"), dump)
        same("new", call("BF.MERGE", "d", "a"), b"OK")
        same("copy", server.digests()[b"d"], server.digests()[b"a"])
        call("EXPIRE", "d", 1000)
        same("merge", call("BF.MERGE", "d", "b", "c", "d"), b"OK")
        same("expires", call("TTL", "d") > 900, True)
        same("present", set(call("BF.MEXISTS", "d", *range(900))), {1})
        items = call("BF.CARD", "d")
        is_true(f"{kind}: {items} items", 860 <= items <= 1000)
        same("the rate holds", number(call, "d", "LIVERATE") <= 0.0105, True)
        call("BF.RESERVE", "other", 0.001, 50000, "KIND", kind)
        dump = call("DUMP", "d")
        got = call("BF.MERGE", "d", "other")
        if kind in ("fingerprint", "growing"):
            same("sizes may differ", got, b"OK")
        else:
            is_true(f"{kind}: {got!r}", isinstance(got, Error) and got.args[0].startswith("ERR union: bits"))
            same("unchanged", call("DUMP", "d"), dump)
            for key in ("x", "y"):
                call("BF.RESERVE", key, 0.01, 1100, "KIND", kind)
                call("BF.MADD", key, *(f"{key}{i}" for i in range(1090)))
            dump = call("DUMP", "x")
            got = call("BF.MERGE", "x", "y")
            is_true(f"{kind}: {got!r}", isinstance(got, Error) and got.args[0].startswith("ERR union: "))
            same("unchanged", call("DUMP", "x"), dump)
    for kind in ("blocked", "classic"):  # filters that have refused an item
        call("FLUSHALL")
        for key, items in (("full", range(1200)), ("full2", range(1300)), ("part", range(500)), ("more", range(2000, 2500))):
            call("BF.RESERVE", key, 0.01, 1100, "KIND", kind)
            call("BF.MADD", key, *items)
        same("refused", call("BF.ADD", "full", "x"), FULL)
        for into, source in (("full", "part"), ("part", "full"), ("copy", "full"), ("full", "full2")):
            same(f"{into} {source}", call("BF.MERGE", into, source), b"OK")
            is_true(f"{into} {source}", 1080 <= call("BF.CARD", into) <= 1100)
            same(f"{into} {source}", call("BF.ADD", into, "x"), FULL)
        dump = call("DUMP", "full")
        got = call("BF.MERGE", "full", "more")
        is_true(f"{kind}: {got!r}", isinstance(got, Error) and "more items than the rate allows" in got.args[0])
        same("unchanged", call("DUMP", "full"), dump)
        same("more", call("BF.MERGE", "more", "full"), got)
    call("BF.RESERVE", "compatible", 0.01, 1100)
    same("kinds", call("BF.MERGE", "compatible", "part"), Error("ERR union: kinds differ; make all filters of one kind"))
    for key, capacity in (("a", 100), ("grown", 10)):
        call("BF.RESERVE", key, 0.01, capacity)
        call("BF.MADD", key, *range(100))
    got = call("BF.MERGE", "a", "grown")
    is_true(repr(got), isinstance(got, Error) and "has grown" in got.args[0])
    same("string", call("SET", "string", "x"), b"OK")
    same("string", call("BF.MERGE", "a", "string"), Error(WRONGTYPE))
    same("string", call("BF.MERGE", "string", "a"), Error(WRONGTYPE))
    same("keys", call("COMMAND", "GETKEYS", "BF.MERGE", "a", "b", "c"), [b"a", b"b", b"c"])


# ---- windows ----------------------------------------------------------------------------------------------

def now():
    return int(time.time() * 1000)


def info_of_window(call, key):
    return dict(zip(*2 * [iter(call("TW.INFO", key))]))


def test_windows(server):
    """Items expire. The time is that of the newest item here, which is ahead of the server's."""
    call = server.call
    start = (now() + 100 * HOUR) // 1000 * 1000
    call("TW.RESERVE", "w", 0.001, 1000, 1000, 10)
    same("add", call("TW.ADDAT", "w", start, "a"), [1])
    for passed, present in ((500, 1), (1000, 1), (1101, 0)):
        same("add", call("TW.ADDAT", "w", start + passed, f"x{passed}"), [1])
        same(f"after {passed} ms", call("TW.EXISTS", "w", "a"), present)
    same("absent again", call("TW.ADDAT", "w", start, "a"), [1])  # at the newest time: it never decreases
    same("present", call("TW.MEXISTS", "w", "a", "x1000", "x1101"), [1, 1, 1])
    info = info_of_window(call, "w")
    same("newest", info[b"Newest time"], start + 1101)
    same("info", (info[b"Capacity"], info[b"Window"], info[b"Step"], info[b"Rate"], info[b"Saturation"]),
         (1000, 1000, 100, b"0.001", 0))
    # A lookup and an add of a present item change nothing.
    before, dump = server.digests(), call("DUMP", "w")
    for _ in range(3):
        same("present", call("TW.ADD", "w", "a"), 0)
        call("TW.MEXISTS", "w", *range(100))
    same("unchanged", (server.digests(), call("DUMP", "w")), (before, dump))


def test_window_memory(server):
    """A window uses the same memory for ever, refuses what exceeds it, and accepts items again as others expire."""
    call = server.call
    call("TW.RESERVE", "w", 0.001, 1000, 10 * HOUR, 10)
    size = call("MEMORY", "USAGE", "w")
    start = now() + 1000 * HOUR
    answers = call("TW.ADDAT", "w", start, *range(5000))
    accepted = len(answers) - 1
    same("full", answers[-1], Error("ERR window is full"))
    is_true(f"{accepted} accepted", 1000 <= accepted < 2500)
    same("full", call("TW.ADD", "w", "another"), Error("ERR window is full"))
    same("present", set(call("TW.MEXISTS", "w", *range(accepted))), {1})
    same("saturated", info_of_window(call, "w")[b"Saturation"], 1)
    for hour in range(12, 400, 12):
        answers = call("TW.ADDAT", "w", start + hour * HOUR, *(f"{hour}-{i}" for i in range(1000)))
        is_true(f"{sum(answers)} of 1000", sum(answers) >= 990)
    same("memory", call("MEMORY", "USAGE", "w"), size)


def test_clock(server):
    """TW.ADD has the server's time."""
    call = server.call
    call("TW.RESERVE", "w", 0.001, 1000, 400, 4)
    start = now()
    same("add", call("TW.ADD", "w", "a"), 1)
    newest = info_of_window(call, "w")[b"Newest time"]
    is_true(f"{newest} is now", start - 1 <= newest <= now() + 1)
    if now() - start < 300:
        same("present", call("TW.EXISTS", "w", "a"), 1)
    dump = call("DUMP", "w")
    time.sleep(0.8)
    same("expired", call("TW.EXISTS", "w", "a"), 0)
    same("unchanged", call("DUMP", "w"), dump)
    same("new", call("TW.ADD", "w", "a"), 1)


# ---- settings ---------------------------------------------------------------------------------------------

def test_settings(server):
    call = server.call
    same("kind", call("CONFIG", "GET", "bf.bf-kind"), [b"bf.bf-kind", b"compatible"])
    same("strict", call("CONFIG", "GET", "bf.strict"), [b"bf.strict", b"no"])
    is_true("kind", isinstance(call("CONFIG", "SET", "bf.bf-kind", "word"), Error))
    same("set", call("CONFIG", "SET", "bf.bf-kind", "fast"), b"OK")
    for words, kind in {"BF.ADD a 1": b"fingerprint", "BF.MADD b 1 2": b"fingerprint", "BF.INSERT c ITEMS 1": b"fingerprint",
                        "BF.RESERVE d 0.01 100": b"fingerprint", "BF.RESERVE e 0.01 100 EXPANSION 4": b"fingerprint",
                        "BF.RESERVE f 0.01 100 NONSCALING": b"blocked", "BF.RESERVE g 0.01 100 KIND compatible": b"compatible",
                        "BF.INSERT h KIND classic ITEMS 1": b"classic"}.items():
        is_true(words, not isinstance(call(*words.split()), Error))
        same(words, call("BF.INFO", words.split()[1], "KIND"), [kind])
    same("set", call("CONFIG", "SET", "bf.bf-kind", "compatible"), b"OK")


def test_strict(server):
    """Unknown options, and those that are given twice, are errors, if the setting says so."""
    call = server.call
    option, twice = "ERR unknown option; expected ", "ERR an option is given twice"
    table = {
        "BF.RESERVE k%d 0.01 100 WORD": option + "EXPANSION, NONSCALING or KIND",
        "BF.RESERVE k%d 0.01 100 EXPANSIN 4": option + "EXPANSION, NONSCALING or KIND",
        "BF.INSERT k%d CAP 100 ITEMS a": "Unknown argument received",
        "BF.INSERT k%d CAPACITY 100 NONS ITEMS a": "Unknown argument received",
        "CF.RESERVE k%d 100 BUCKETSIZES 4": option + "BUCKETSIZE, MAXITERATIONS or EXPANSION",
        "CF.INSERT k%d NOCRATE ITEMS a": "Unknown argument received",
        "BF.RESERVE k%d 0.01 100 NONSCALING nonscaling": twice,
        "BF.RESERVE k%d 0.01 100 KIND fast KIND fast": twice,
        "BF.INSERT k%d CAPACITY 10 CAPACITY 20 ITEMS a": twice,
        "CF.RESERVE k%d 100 BUCKETSIZE 4 MAXITERATIONS 7 BUCKETSIZE 4": twice,
        "CF.INSERT k%d CAPACITY 10 CAPACITY 20 ITEMS a": twice,
    }
    right = ("BF.RESERVE k%d 0.01 100 EXPANSION 4 kind fast", "BF.RESERVE k%d 0.01 100 NONSCALING",
             "BF.INSERT k%d ERROR 0.1 CAPACITY 100 EXPANSION 3 KIND fast ITEMS a", "BF.INSERT k%d NONSCALING ITEMS ITEMS ITEMS",
             "CF.RESERVE k%d 100 bucketsize 4 MAXITERATIONS 3 EXPANSION 2", "CF.INSERT k%d CAPACITY 100 ITEMS a")
    for number_of, strict in enumerate(("no", "yes", "no")):
        same("set", call("CONFIG", "SET", "bf.strict", strict), b"OK")
        for i, command in enumerate(right):
            call("DEL", f"k{i}")
            is_true(f"{strict} {command}", not isinstance(call(*(command % i).split()), Error))
        for i, (command, error) in enumerate(table.items()):
            call("DEL", f"k{i}")
            got = call(*(command % i).split())
            if strict == "yes":
                same(command, got, Error(error))
            elif "NOCRATE" in command:  # NOCREATE to RedisBloom
                same(command, got, Error("ERR not found"))
            else:
                is_true(f"{number_of}: {command}: {got!r}", not isinstance(got, Error))


# ---- servers ----------------------------------------------------------------------------------------------

def fill(call, start=0):
    """Filters of each kind, windows, and refusals. Called again with another start, it adds to them."""
    if start == 0:
        for kind in KINDS:
            call("BF.RESERVE", kind, 0.01, 20000, "KIND", kind)
        for kind in BOUNDED:
            call("BF.RESERVE", "full-" + kind, 0.01, 1000, "NONSCALING", "KIND", kind)
        call("BF.INSERT", "few", "KIND", "growing", "ITEMS", *range(8))
        call("BF.INSERT", "growing-too", "KIND", "growing", "ITEMS", *range(100000, 107000))
        call("BF.INSERT", "doubling", "CAPACITY", 10, "KIND", "fast", "ITEMS", "a")
        call("BF.RESERVE", "large", 0.001, 10000000, "KIND", "fast")
        call("TW.RESERVE", "hours", 0.001, 3000, 24 * HOUR, 24)
        call("TW.RESERVE", "short", 0.001, 1000, 50, 2)
        call("TW.RESERVE", "small", 0.001, 100, HOUR, 10)
    for kind in KINDS:
        call("BF.MADD", kind, *range(start, start + 1000))
    if start == 0:
        call("CONFIG", "SET", "rdbcompression", "no")
        image = image_of(call, "classic")
        same("half", call("BF.LOADIMAGE", "half", 0, len(image), image[:len(image) // 2]), b"OK")
    for kind in BOUNDED:
        call("BF.MADD", "full-" + kind, *range(start, start + 700))
        call("BF.ADD", "full-" + kind, "another")
    call("BF.MADD", "auto", *range(start, start + 300))
    call("BF.MADD", "large", *range(start, start + 1000))
    for i in range(start, start + 300):
        call("BF.ADD", "doubling", i)
        call("TW.ADD", "short", i)
    call("BF.MADD", "doubling", *range(start, start + 3000))
    newest = info_of_window(call, "hours")[b"Newest time"]
    for hour in range(1, 100):  # step codes come again, and expired entries are removed
        call("TW.ADDAT", "hours", max(newest, now()) + hour * HOUR, *range(start + 10 * hour, start + 10 * hour + 100))
    call("TW.MADD", "small", *range(start, start + 1000))
    call("BF.MERGE", "merged", "fingerprint", "doubling")
    call("BF.MERGE", "merged-growing", "growing", "growing-too")


def memory_of(call):
    """The memory of each key, but for an incomplete one, which depends on the sizes of its chunks."""
    return {key: call("MEMORY", "USAGE", key) for key in sorted(call("KEYS", "*")) if key != b"half"}


def test_files(server):
    call = server.call
    fill(call)
    is_true("a growing filter of few items is small", call("MEMORY", "USAGE", "few") < 80000)
    for start in (5000, 7000):
        before, memory = server.digests(), memory_of(call)
        same("reload", call("DEBUG", "RELOAD"), b"OK")
        same("after DEBUG RELOAD", server.digests(), before)
        same("memory", memory_of(call), memory)
        for key in before:
            same("copy", call("COPY", key, b"copied"), 1)
            same("restore", call("RESTORE", "restored", 0, call("DUMP", key)), b"OK")
            digests = server.digests()
            same(key, (digests[b"copied"], digests[b"restored"]), (before[key], before[key]))
            same("unlink", call("UNLINK", "copied", "restored"), 2)
        fill(call, start)
    used = used_memory(call)
    large = call("MEMORY", "USAGE", "large")
    is_true(f"used_memory has the filters: {used} {large}", used > large > 10000000)
    same("flush", call("FLUSHALL", "ASYNC"), b"OK")
    wait_until("memory is returned", lambda: used_memory(call) < 10000000)


def test_replica_and_aof():
    """A replica and a restarted server have other settings, and get equal filters; so has a replica after a failover."""
    primary = Server("types-primary", "--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--appendfsync", "no",
                     "--repl-diskless-sync-delay", "0")
    fill(primary.call)
    replica = Server("types-replica", "--replicaof", "127.0.0.1", str(listen(primary)),
                     arguments=("ERROR_RATE", "0.3", "bf-expansion-factor", "0", "bf-kind", "fast", "strict", "yes"))
    wait_until("replica", lambda: b"master_link_status:up" in replica.call("INFO", "replication"))
    fill(primary.call, 5000)  # to a filter that was loaded from an image on one side
    primary.call("BF.ADD", "auto2", 1)
    same("fast", primary.call("CONFIG", "SET", "bf.bf-kind", "fast"), b"OK")
    primary.call("BF.ADD", "auto-fast", 1)
    before = primary.digests()
    same("wait", primary.call("WAIT", 1, 60000), 1)
    same("of the replica", replica.digests(), before)
    same("memory", memory_of(replica.call), memory_of(primary.call))
    for call in (primary.call, replica.call):
        same("kinds", [call("BF.INFO", key, "KIND")[0] for key in ("auto", "auto2", "auto-fast")],
             [b"compatible", b"compatible", b"fingerprint"])
    # What changes nothing is not sent.
    offset = int(primary.call("INFO", "replication").split(b"master_repl_offset:")[1].split()[0])
    primary.call("BF.ADD", "doubling", 1)
    primary.call("BF.MADD", "large", 1, 2)
    primary.call("BF.ADD", "full-blocked", "another one")
    primary.call("TW.MADD", "small", *range(10))
    primary.call("TW.EXISTS", "short", 1)
    sent = int(primary.call("INFO", "replication").split(b"master_repl_offset:")[1].split()[0]) - offset
    is_true(f"only pings were sent: {sent}", sent % 14 == 0)

    primary.command += ["bf-kind", "fast", "bf-expansion-factor", "0"]
    primary.kill()
    primary.start()  # from the commands in the AOF
    same("after the AOF", primary.digests(), before)
    fill(primary.call, 20000)
    before = primary.digests()
    primary.call("BGREWRITEAOF")
    wait_until("rewritten", lambda: b"aof_rewrite_in_progress:0" in primary.call("INFO", "persistence"))
    primary.kill()
    primary.start()  # from the images in the rewritten AOF
    same("after the rewritten AOF", primary.digests(), before)

    # The replica becomes the primary, and the old one its replica.
    same("promoted", replica.call("REPLICAOF", "NO", "ONE"), b"OK")
    port = listen(replica)
    fill(replica.call, 30000)
    same("follow", primary.call("REPLICAOF", "127.0.0.1", port), b"OK")
    wait_until("follows", lambda: b"master_link_status:up" in primary.call("INFO", "replication"))
    fill(replica.call, 40000)
    same("wait", replica.call("WAIT", 1, 60000), 1)
    same("after the failover", primary.digests(), replica.digests())
    # It answers by its own clock, and lookups change nothing.
    time.sleep(0.2)
    same("expired", primary.call("TW.EXISTS", "short", 40000), 0)
    same("unchanged", primary.digests(), replica.digests())
    primary.kill()
    replica.kill()


def test_kill():
    """With appendfsync always, an item that was answered as new is there after a crash."""
    server = Server("types-killed", "--appendonly", "yes", "--appendfsync", "always", arguments=("bf-kind", "fast"))
    server.call("TW.RESERVE", "w", 0.001, COUNT, HOUR, 6)
    for item in range(COUNT):
        server.call("BF.ADD", f"k{item % 3}", item)
        server.call("TW.ADD", "w", item)
    before = server.digests()
    server.kill()
    server.start()
    same("digests", server.digests(), before)
    for item in range(COUNT):
        same(f"item {item}", (server.call("BF.EXISTS", f"k{item % 3}", item), server.call("TW.EXISTS", "w", item)), (1, 1))
    server.kill()


def test_commands():
    """A server with BF commands may get the TW commands alone."""
    second = os.path.join(DIRECTORY, "second.so")
    shutil.copy(MODULE, second)
    advice = "give it `commands tw` for TW commands alone"
    refused("again", advice, "--loadmodule", MODULE, "--loadmodule", second)
    refused("windows", "the server has tw.reserve already", "--loadmodule", MODULE, "--loadmodule", second, "commands", "tw")
    refused("windows twice", "a module of the name tamis is loaded already", "--loadmodule", MODULE, "commands", "tw",
            "--loadmodule", second, "commands", "tw")
    refused("word", "tamis: commands word: Value for `commands` must be one of: all bf tw", "--loadmodule", MODULE, "commands", "word")
    server = Server("both", arguments=("commands", "bf", "--loadmodule", second, "commands", "tw"))
    call = server.call
    same("modules", sorted(dict(zip(*2 * [iter(row)]))[b"name"] for row in call("MODULE", "LIST")), [b"bf", b"tamis"])
    same("families", {name.split(b".")[0] for name in call("COMMAND", "LIST", "FILTERBY", "MODULE", "bf")}, {b"bf", b"cf"})
    same("families", {name.split(b".")[0] for name in call("COMMAND", "LIST", "FILTERBY", "MODULE", "tamis")}, {b"tw"})
    fill(call)
    before = server.digests()
    same("reload", call("DEBUG", "RELOAD"), b"OK")
    same("after DEBUG RELOAD", server.digests(), before)
    server.kill()


def main():
    server = Server("types")
    run((test_replies, test_statistics, test_growth, test_images, test_hostile_images, test_refresh, test_merge,
         test_windows, test_window_memory, test_clock, test_settings, test_strict, test_files) + module_copies.TESTS, server)
    server.kill()
    run((test_replica_and_aof, test_kill, test_commands))


if __name__ == "__main__":
    try:
        main()
    finally:
        end_servers()
