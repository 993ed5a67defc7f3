#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The Redis module in real servers: module.py MODULE DIRECTORY SEED COUNT

Replies, errors and bytes are those of RedisBloom, with RESP2 and with RESP3. COUNT: how many items the larger
tests add.
"""
import os
import random
import signal
import socket
import subprocess
import sys
import time

import redis

MODULE, DIRECTORY, SEED, COUNT = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
LARGE = 19775360  # bytes of a filter for 10,000,000 items at 0.001
WRONGTYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


class Error(Exception):
    """An error of the server; equal to another with the same text."""

    def __eq__(self, other):
        return isinstance(other, Error) and self.args == other.args


class Pairs(list):
    """A map of RESP3, in its order."""


class Client:
    """A connection with either version of the protocol. Booleans stay booleans, texts are bytes."""

    def __init__(self, path, protocol=2):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")
        if protocol == 3:
            self("HELLO", 3)

    def __call__(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server is gone")
        kind, text = line[:1], line[1:-2]
        if kind == b"-":
            return Error(text.decode())
        if kind == b"+":
            return text
        if kind == b":":
            return int(text)
        if kind == b"#":
            return text == b"t"
        if kind == b"_":
            return None
        size = int(text)
        if size < 0:
            return None
        if kind == b"$":
            return self.file.read(size + 2)[:-2]
        if kind == b"%":
            return Pairs([self.reply(), self.reply()] for _ in range(size))
        return [self.reply() for _ in range(size)]


servers = []


class Server:
    """A private redis-server with the module."""

    def __init__(self, name, *options, arguments=()):
        self.directory = os.path.join(DIRECTORY, name)
        os.makedirs(self.directory, exist_ok=True)
        self.path = os.path.join(self.directory, "socket")
        self.command = ["redis-server", "--port", "0", "--unixsocket", self.path, "--dir", self.directory, "--save", "",
                        "--logfile", "log", "--enable-debug-command", "yes", *options,
                        "--loadmodule", MODULE, *arguments]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        servers.append(self.process)
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.ask = Client(self.path)
                if self.ask("PING") == b"PONG":
                    return
            except (OSError, ConnectionError):
                pass
            time.sleep(0.01)
        raise SystemExit("redis-server does not start: " + self.log()[-500:])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def log(self):
        with open(os.path.join(self.directory, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def digests(self):
        keys = sorted(self.ask("KEYS", "*"))
        return dict(zip(keys, self.ask("DEBUG", "DIGEST-VALUE", *keys)))


def same(what, got, expected):
    if got != expected or isinstance(got, bool) != isinstance(expected, bool):
        raise SystemExit(f"{what}: got {got!r} instead of {expected!r}")


def is_true(what, holds):
    if not holds:
        raise SystemExit(f"{what}: no")


# ---- replies ----------------------------------------------------------------------------------------------

def arity(name):
    return Error(f"ERR wrong number of arguments for '{name}' command")


# (command, reply); a reply of T or F is a boolean in RESP3 and 1 or 0 in RESP2.
T, F = "T", "F"
TABLE = [
    ("SET string x", b"OK"),
    # BF.RESERVE
    ("BF.RESERVE k 0.01", arity("bf.reserve")),
    ("BF.RESERVE k 0.01 100 EXPANSION 2 NONSCALING x", arity("bf.reserve")),
    ("BF.RESERVE k rate 100", Error("ERR bad error rate")),
    ("BF.RESERVE k nan 100", Error("ERR bad error rate")),
    ("BF.RESERVE k 0 100", Error("ERR error rate must be in the range (0.000000, 1.000000)")),
    ("BF.RESERVE k 1 100", Error("ERR error rate must be in the range (0.000000, 1.000000)")),
    ("BF.RESERVE k inf 100", Error("ERR error rate must be in the range (0.000000, 1.000000)")),
    ("BF.RESERVE k 0.01 many", Error("ERR bad capacity")),
    ("BF.RESERVE k 0.01 0", Error("ERR capacity must be in the range [1, 1073741824]")),
    ("BF.RESERVE k 0.01 1073741825", Error("ERR capacity must be in the range [1, 1073741824]")),
    ("BF.RESERVE k 0.01 100 EXPANSION", Error("ERR no expansion")),
    ("BF.RESERVE k 0.01 100 EXPANSION x", Error("ERR bad expansion")),
    ("BF.RESERVE k 0.01 100 EXPANSION -1", Error("ERR expansion must be in the range [0, 32768]")),
    ("BF.RESERVE k 0.01 100 EXPANSION 32769", Error("ERR expansion must be in the range [0, 32768]")),
    ("BF.RESERVE k 0.01 100 NONSCALING EXPANSION 2", Error("Nonscaling filters cannot expand")),
    ("BF.RESERVE string 0.01 100", Error(WRONGTYPE)),
    ("EXISTS k", 0),
    ("BF.RESERVE k 0.001 100", b"OK"),
    ("BF.RESERVE k 0.01 100", Error("ERR item exists")),
    ("BF.DEBUG k", [b"size:0", b"bytes:200 bits:1600 hashes:11 hashwidth:64 capacity:100 size:0 ratio:0.0005"]),
    ("BF.RESERVE capped 0.99 3 NONSCALING", b"OK"),
    ("BF.DEBUG capped", [b"size:0", b"bytes:8 bits:64 hashes:3 hashwidth:64 capacity:3 size:0 ratio:0.25"]),
    ("BF.RESERVE unknown 0.01 100 WORD x", b"OK"),
    ("BF.RESERVE zero 0.01 100 EXPANSION 0", b"OK"),
    ("BF.INFO zero EXPANSION", {"Expansion rate": None}),
    ("BF.RESERVE EXPANSION 0.01 100", b"OK"),
    ("BF.INFO EXPANSION EXPANSION", {"Expansion rate": 2}),
    # BF.ADD, BF.MADD
    ("BF.ADD k", arity("bf.add")),
    ("BF.ADD k a b", arity("bf.add")),
    ("BF.MADD k", arity("bf.madd")),
    ("BF.ADD k a", T),
    ("BF.ADD k a", F),
    ("BF.MADD k a b b c", [F, T, F, T]),
    ("BF.ADD string a", Error(WRONGTYPE)),
    ("BF.MADD string a", Error(WRONGTYPE)),
    ("BF.RESERVE full 0.01 3 NONSCALING", b"OK"),
    ("BF.MADD full a b c d e", [T, T, T, Error("ERR non scaling filter is full")]),
    ("BF.ADD full d", Error("ERR non scaling filter is full")),
    ("BF.ADD full a", F),
    ("BF.INFO full", {"Capacity": 3, "Size": 104, "Number of filters": 1, "Number of items inserted": 3,
                      "Expansion rate": None}),
    # BF.INSERT
    ("BF.INSERT i ITEMS", arity("bf.insert")),
    ("BF.INSERT i NOCREATE ITEMS", arity("bf.insert")),
    ("BF.INSERT i NOCREATE CAPACITY", arity("bf.insert")),
    ("BF.INSERT i CAPACITY 3 ERROR 0.1", arity("bf.insert")),
    ("BF.INSERT i ERROR big ITEMS a", Error("Bad error rate")),
    ("BF.INSERT i ERROR 2 ITEMS a", Error("Bad error rate")),
    ("BF.INSERT i CAPACITY 0 ITEMS a", Error("Bad capacity")),
    ("BF.INSERT i CAPACITY 0.3 ITEMS a", Error("Bad capacity")),
    ("BF.INSERT i EXPANSION big ITEMS a", Error("Bad expansion")),
    ("BF.INSERT i WORD NOCREATE ITEMS a", Error("Unknown argument received")),
    ("BF.INSERT i NOCREATE ITEMS a", Error("ERR not found")),
    ("BF.INSERT string ITEMS a", Error(WRONGTYPE)),
    ("EXISTS i", 0),
    ("BF.INSERT i ERROR 0.001 CAPACITY 50000 EXPANSION 2 ITEMS foo", [T]),
    ("BF.DEBUG i", [b"size:1", b"bytes:98880 bits:791040 hashes:11 hashwidth:64 capacity:50000 size:1 ratio:0.0005"]),
    ("BF.INSERT i ERROR 0.1 ITEMS foo bar baz", [F, T, T]),
    ("BF.CARD i", 3),
    ("BF.INSERT short CAP 3 ERR .1 EXP 2 NONS I a b c d", [T, T, T, Error("ERR non scaling filter is full")]),
    ("BF.INFO short EXPANSION", {"Expansion rate": None}),
    # BF.EXISTS, BF.MEXISTS, BF.CARD
    ("BF.EXISTS k", arity("bf.exists")),
    ("BF.MEXISTS k", arity("bf.mexists")),
    ("BF.EXISTS k a", T),
    ("BF.EXISTS k other", F),
    ("BF.MEXISTS k other a c", [F, T, T]),
    ("BF.EXISTS none a", F),
    ("BF.MEXISTS none a b", [F, F]),
    ("BF.EXISTS string a", F),
    ("BF.MEXISTS string a b", [F, F]),
    ("BF.CARD", arity("bf.card")),
    ("BF.CARD none", 0),
    ("BF.CARD string", Error(WRONGTYPE)),
    ("BF.CARD k", 3),
    # BF.INFO, BF.DEBUG
    ("BF.INFO", arity("bf.info")),
    ("BF.INFO k CAPACITY SIZE", arity("bf.info")),
    ("BF.INFO none", Error("ERR not found")),
    ("BF.INFO none word", Error("ERR not found")),
    ("BF.INFO string", Error(WRONGTYPE)),
    ("BF.INFO k word", Error("Invalid information value")),
    ("BF.INFO k", {"Capacity": 100, "Size": 296, "Number of filters": 1, "Number of items inserted": 3,
                   "Expansion rate": 2}),
    ("BF.INFO k capacity", {"Capacity": 100}),
    ("BF.INFO k Size", {"Size": 296}),
    ("BF.INFO k FILTERS", {"Number of filters": 1}),
    ("BF.INFO k ITEMS", {"Number of items inserted": 3}),
    ("BF.DEBUG k x", arity("bf.debug")),
    ("BF.DEBUG none", Error("ERR not found")),
    ("BF.DEBUG string", Error(WRONGTYPE)),
    # BF.SCANDUMP, BF.LOADCHUNK
    ("BF.SCANDUMP k", arity("bf.scandump")),
    ("BF.SCANDUMP none 0", Error("ERR not found")),
    ("BF.SCANDUMP string 0", Error(WRONGTYPE)),
    ("BF.SCANDUMP k x", Error("Second argument must be numeric")),
    ("BF.SCANDUMP k 201", [0, b""]),
    ("BF.SCANDUMP k -1", [0, b""]),
    ("BF.SCANDUMP k 9223372036854775807", [0, b""]),
    ("BF.LOADCHUNK k 1", arity("bf.loadchunk")),
    ("BF.LOADCHUNK k x data", Error("ERR Second argument must be numeric")),
    ("BF.LOADCHUNK k 1 data", Error("ERR received bad data")),
    ("BF.LOADCHUNK none 1 data", Error("ERR received bad data")),
    ("BF.LOADCHUNK none 2 data", Error("ERR not found")),
    ("BF.LOADCHUNK string 1 data", Error(WRONGTYPE)),
    ("BF.LOADCHUNK k 3 data", Error("ERR invalid offset - no link found")),
    ("BF.LOADCHUNK k -9223372036854775808 1", Error("ERR invalid offset - no link found")),
    ("BF.LOADCHUNK k 922337203685477588 1", Error("ERR invalid offset - no link found")),
    ("BF.LOADCHUNK k 203 data", Error("ERR invalid chunk - Too big for current filter")),
    ("BF.LOADCHUNK k 5 data", Error("ERR received bad data")),
    ("EXISTS none", 0),
    ("TYPE k", b"MBbloom--"),
    # CF.RESERVE
    ("CF.RESERVE", arity("cf.reserve")),
    ("CF.RESERVE c", arity("cf.reserve")),
    ("CF.RESERVE c 100 BUCKETSIZE", arity("cf.reserve")),
    ("CF.RESERVE c many", Error("Bad capacity")),
    ("CF.RESERVE c 0", Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")),
    ("CF.RESERVE c 7 BUCKETSIZE 4", Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")),
    ("CF.RESERVE c 1073741825", Error("Capacity must be in the range [2 * BUCKETSIZE, 1073741824]")),
    ("CF.RESERVE c 100 BUCKETSIZE x", Error("Couldn't parse BUCKETSIZE")),
    ("CF.RESERVE c 100 MAXITERATIONS x", Error("Couldn't parse MAXITERATIONS")),
    ("CF.RESERVE c 100 EXPANSION x", Error("Couldn't parse EXPANSION")),
    ("CF.RESERVE c 100 BUCKETSIZE 0", Error("BUCKETSIZE: value must be in the range [1, 255]")),
    ("CF.RESERVE c 1000 BUCKETSIZE 256", Error("BUCKETSIZE: value must be in the range [1, 255]")),
    ("CF.RESERVE c 100 MAXITERATIONS 0", Error("MAXITERATIONS: value must be in the range [1, 65535]")),
    ("CF.RESERVE c 100 MAXITERATIONS 65536", Error("MAXITERATIONS: value must be in the range [1, 65535]")),
    ("CF.RESERVE c 100 EXPANSION -1", Error("EXPANSION: value must be in the range [0, 32768]")),
    ("CF.RESERVE c 100 EXPANSION 32769", Error("EXPANSION: value must be in the range [0, 32768]")),
    ("CF.RESERVE string 100", Error(WRONGTYPE)),
    ("CF.RESERVE k 100", Error(WRONGTYPE)),
    ("EXISTS c", 0),
    ("CF.RESERVE c 100 bucketsize 4 EXPANSION 3 MAXITERATIONS 7 WORD x", b"OK"),
    ("CF.RESERVE c 100", Error("ERR item exists")),
    ("CF.INFO c", {"Size": 56 + 16 + 128, "Number of buckets": 32, "Number of filters": 1,
                   "Number of items inserted": 0, "Number of items deleted": 0, "Bucket size": 4,
                   "Expansion rate": 4, "Max iterations": 7}),
    # CF.ADD, CF.ADDNX
    ("CF.ADD c", arity("cf.add")),
    ("CF.ADDNX c a b", arity("cf.addnx")),
    ("CF.ADD c a", T),
    ("CF.ADD c a", T),
    ("CF.ADDNX c a", F),
    ("CF.ADDNX c b", T),
    ("CF.ADD string a", Error(WRONGTYPE)),
    ("CF.ADD k a", Error(WRONGTYPE)),
    ("CF.ADDNX string a", Error(WRONGTYPE)),
    ("CF.RESERVE small 8 BUCKETSIZE 4 EXPANSION 0", b"OK"),
    ("CF.INSERT small ITEMS a a a a a", [T, T, T, T, "full"]),
    ("CF.ADD small a", Error("Filter is full")),
    ("CF.ADDNX small a", F),
    ("CF.INSERTNX small ITEMS a b c f h zz y", [0, -1, 1, 1, 1, 1, -1]),
    ("CF.ADDNX small y", Error("Filter is full")),
    ("CF.COUNT small a", 4),
    # CF.INSERT, CF.INSERTNX
    ("CF.INSERT n ITEMS", arity("cf.insert")),
    ("CF.INSERT n NOCREATE ITEMS", arity("cf.insert")),
    ("CF.INSERT n CAPACITY 30 NOCREATE", arity("cf.insert")),
    ("CF.INSERTNX n NOCREATE CAPACITY", arity("cf.insertnx")),
    ("CF.INSERT n CAPACITY many ITEMS a", Error("Bad capacity")),
    ("CF.INSERT n CAPACITY 3 ITEMS a", Error("Capacity must be in the range [cf-bucket-size * 2, 1073741824]")),
    ("CF.INSERT n WORD ITEMS a", Error("Unknown argument received")),
    ("CF.INSERT n NOCREATE ITEMS a", Error("ERR not found")),
    ("CF.INSERTNX n NOCREATE ITEMS a", Error("ERR not found")),
    ("CF.INSERT string ITEMS a", Error(WRONGTYPE)),
    ("EXISTS n", 0),
    ("CF.INSERT n CAPACITY 5000 ITEMS a b a", [T, T, T]),
    ("CF.INSERTNX n ITEMS a c", [0, 1]),
    ("CF.DEBUG n", b"bktsize:2 buckets:4096 items:4 deletes:0 filters:1 max_iterations:20 expansion:1"),
    # CF.EXISTS, CF.MEXISTS, CF.COUNT
    ("CF.EXISTS n", arity("cf.exists")),
    ("CF.MEXISTS n", arity("cf.mexists")),
    ("CF.COUNT n", arity("cf.count")),
    ("CF.EXISTS n a", T),
    ("CF.EXISTS n other", F),
    ("CF.MEXISTS n a other c", [T, F, T]),
    ("CF.COUNT n a", 2),
    ("CF.COUNT n other", 0),
    ("CF.EXISTS none a", F),
    ("CF.EXISTS string a", F),
    ("CF.MEXISTS none a b", [F, F]),
    ("CF.MEXISTS string a b", [F, F]),
    ("CF.COUNT none a", 0),
    ("CF.COUNT string a", 0),
    # CF.DEL, CF.COMPACT
    ("CF.DEL n", arity("cf.del")),
    ("CF.DEL n a", T),
    ("CF.DEL n other", F),
    ("CF.DEL none a", Error("Not found")),
    ("CF.DEL string a", Error("Not found")),
    ("CF.INFO n", {"Size": 56 + 16 + 8192, "Number of buckets": 4096, "Number of filters": 1,
                   "Number of items inserted": 3, "Number of items deleted": 1, "Bucket size": 2,
                   "Expansion rate": 1, "Max iterations": 20}),
    ("CF.COMPACT n", b"OK"),
    ("CF.DEBUG n", b"bktsize:2 buckets:4096 items:3 deletes:0 filters:1 max_iterations:20 expansion:1"),
    ("CF.COMPACT none", Error("Cuckoo filter was not found")),
    ("CF.COMPACT string", Error("Cuckoo filter was not found")),
    # CF.INFO, CF.DEBUG
    ("CF.INFO", arity("cf.info")),
    ("CF.INFO none", Error("ERR not found")),
    ("CF.INFO string", Error(WRONGTYPE)),
    ("CF.DEBUG none", Error("ERR not found")),
    ("CF.DEBUG k", Error(WRONGTYPE)),
    # CF.SCANDUMP, CF.LOADCHUNK
    ("CF.SCANDUMP n", arity("cf.scandump")),
    ("CF.SCANDUMP n x", Error("Invalid position")),
    ("CF.SCANDUMP n -1", Error("Invalid position")),
    ("CF.SCANDUMP none 0", Error("ERR not found")),
    ("CF.SCANDUMP string 0", Error(WRONGTYPE)),
    ("CF.SCANDUMP n 8193", [0, None]),
    ("CF.SCANDUMP n 9223372036854775807", [0, None]),
    ("CF.RESERVE empty 100", b"OK"),
    ("CF.SCANDUMP empty 0", [0, None]),
    ("CF.LOADCHUNK n 1", arity("cf.loadchunk")),
    ("CF.LOADCHUNK n x data", Error("Invalid position")),
    ("CF.LOADCHUNK n 0 data", Error("Invalid position")),
    ("CF.LOADCHUNK n -1 data", Error("Invalid position")),
    ("CF.LOADCHUNK n 1 data", Error("ERR item exists")),
    ("CF.LOADCHUNK none 1 data", Error("Invalid header")),
    ("CF.LOADCHUNK none 1 " + 38 * "x", Error("Couldn't create filter!")),
    ("CF.LOADCHUNK none 2 data", Error("ERR not found")),
    ("CF.LOADCHUNK string 1 data", Error(WRONGTYPE)),
    ("CF.LOADCHUNK n 2 data", Error("Couldn't load chunk!")),
    ("CF.LOADCHUNK n 9000 data", Error("Couldn't load chunk!")),
    ("CF.LOADCHUNK n 9223372036854775807 data", Error("Couldn't load chunk!")),
    ("EXISTS none", 0),
    ("TYPE n", b"MBbloomCF"),
    ("BF.ADD n a", Error(WRONGTYPE)),
]


def expected_reply(reply, protocol, is_single):
    if reply in (T, F):
        return reply == T if protocol == 3 else int(reply == T)
    if reply == "full":  # of CF.INSERT
        return False if protocol == 3 else -1
    if isinstance(reply, list):
        return [expected_reply(item, protocol, is_single) for item in reply]
    if isinstance(reply, dict):
        pairs = Pairs([label.encode(), value] for label, value in reply.items())
        if protocol == 3:
            return pairs
        return [value for _, value in pairs] if is_single else [word for pair in pairs for word in pair]
    return reply


def test_replies(server):
    for protocol in (2, 3):
        server.ask("FLUSHALL")
        ask = Client(server.path, protocol)
        for command, reply in TABLE:
            words = command.split()
            got = ask(*words)
            is_single = words[0] == "BF.INFO" and len(words) == 3
            same(f"RESP{protocol}: {command}", got, expected_reply(reply, protocol, is_single))


def test_documentation(server):
    """COMMAND INFO and COMMAND DOCS have what the table of commands has."""
    names = server.ask("COMMAND", "LIST", "FILTERBY", "MODULE", "bf")
    expected = ["bf." + name for name in "reserve add madd insert exists mexists card info scandump loadchunk debug".split()]
    expected += ["cf." + name for name in "reserve add addnx insert insertnx exists mexists count del info compact "
                 "scandump loadchunk debug".split()]
    same("commands", sorted(names), sorted(name.encode() for name in expected))
    arity = {name: row[1] for name, row in zip(names, server.ask("COMMAND", "INFO", *names))}
    same("arity", [arity[b"bf." + name] for name in (b"reserve", b"add", b"madd", b"info")], [-4, 3, -3, -2])
    docs = server.ask("COMMAND", "DOCS", *names)
    is_true("summaries", all((b"cuckoo filter" if name.startswith(b"cf.") else b"Bloom filter") in row[row.index(b"summary") + 1]
                             for name, row in zip(docs[::2], docs[1::2])))
    keys = server.ask("COMMAND", "GETKEYS", "BF.MADD", "key", "item")
    same("keys", keys, [b"key"])


def test_growth(server):
    """Listings of RedisBloom's own tests: numbers of sub-filters, and BF.DEBUG of 4000 numbers."""
    ask = server.ask
    for expansion, count in ((1, 23), (2, 5), (4, 4)):
        key = f"expansion{expansion}"
        ask("BF.RESERVE", key, 0.01, 4, "EXPANSION", expansion)
        for i in range(100):
            ask("BF.ADD", key, i)
        same(key, ask("BF.INFO", key, "FILTERS"), [count])
    ask("BF.RESERVE", "listing", 0.001, 100)
    ask("BF.MADD", "listing", *range(4000))
    lines = ask("BF.DEBUG", "listing")
    same("size", lines[0], b"size:3997")
    same("last", lines[6], b"bytes:9216 bits:73728 hashes:16 hashwidth:64 capacity:3200 size:897 ratio:1.5625e-05")
    same("present", set(ask("BF.MEXISTS", "listing", *range(4000))), {1})


def test_client(server):
    """redis-py's typed calls."""
    client = redis.Redis(unix_socket_path=server.path)
    bloom = client.bf()
    same("reserve", bloom.create("py", 0.01, 1000), True)
    same("add", bloom.add("py", "a"), 1)
    same("madd", bloom.madd("py", "a", "b"), [0, 1])
    same("insert", bloom.insert("py2", ["a", "b"], capacity=10, error=0.1, expansion=4), [1, 1])
    same("exists", bloom.exists("py", "b"), 1)
    same("mexists", bloom.mexists("py", "b", "c"), [1, 0])
    info = bloom.info("py")
    same("info", (info.capacity, info.insertedNum, info.filterNum), (1000, 2, 1))
    position, data = bloom.scandump("py", 0)
    while position:
        bloom.loadchunk("py3", position, data)
        position, data = bloom.scandump("py", position)
    same("loaded", server.ask("DUMP", "py3"), server.ask("DUMP", "py"))


def test_cuckoo_client(server):
    """redis-py's typed calls."""
    cuckoo = redis.Redis(unix_socket_path=server.path).cf()
    same("reserve", cuckoo.create("py", 1000, expansion=2, bucket_size=4, max_iterations=10), True)
    same("add", cuckoo.add("py", "a"), 1)
    same("addnx", [cuckoo.addnx("py", "a"), cuckoo.addnx("py", "b")], [0, 1])
    same("insert", cuckoo.insert("py2", ["a", "b"], capacity=10), [1, 1])
    same("insertnx", cuckoo.insertnx("py2", ["a", "c"]), [0, 1])
    same("exists", [cuckoo.exists("py", "b"), cuckoo.exists("py", "c")], [1, 0])
    same("count", cuckoo.count("py", "a"), 1)
    same("del", [cuckoo.delete("py", "a"), cuckoo.delete("py", "a")], [1, 0])
    info = cuckoo.info("py")
    same("info", (info.size, info.bucketNum, info.filterNum, info.insertedNum, info.deletedNum, info.bucketSize,
                  info.expansionRate, info.maxIteration), (56 + 16 + 1024, 256, 1, 1, 1, 4, 2, 10))
    position, data = cuckoo.scandump("py", 0)
    while position:
        cuckoo.loadchunk("py3", position, data)
        position, data = cuckoo.scandump("py", position)
    same("loaded", server.ask("DUMP", "py3"), server.ask("DUMP", "py"))


# ---- dumps ------------------------------------------------------------------------------------------------

def chunks_of(ask, key, command="BF.SCANDUMP"):
    chunks, position = [], 0
    while True:
        position, data = ask(command, key, position)
        if not position:
            return chunks
        chunks.append((position, data))


def test_chunks(server):
    ask = server.ask
    incomplete = "ERR filter is incomplete: BF.LOADCHUNK has loaded %d of %d bytes"
    ask("BF.RESERVE", "source", 0.01, 10)
    ask("BF.MADD", "source", *range(100))
    chunks = chunks_of(ask, "source")
    same("header", (chunks[0][0], len(chunks[0][1])), (1, 20 + 4 * 53))
    same("sizes", [len(data) for _, data in chunks[1:]], [16, 32, 72, 160])
    loaded = 0
    for i, (position, data) in enumerate(chunks):
        for _ in range(2):  # a client may repeat a call
            same("chunk", ask("BF.LOADCHUNK", "target", position, data), b"OK")
        loaded += len(data) if i else 0
        if i == 0:
            same("expires", ask("PEXPIREAT", "target", 4000000000000), 1)
        if i == len(chunks) - 1:
            break
        # Nothing of a filter is visible before its last chunk.
        for command in ("BF.ADD target 1", "BF.MADD target 1", "BF.INSERT target ITEMS 1", "BF.EXISTS target 1",
                        "BF.MEXISTS target 1 2", "BF.CARD target", "BF.INFO target", "BF.DEBUG target",
                        "BF.SCANDUMP target 0"):
            same(command, ask(*command.split()), Error(incomplete % (loaded, 280)))
        same("reserve", ask("BF.RESERVE", "target", 0.01, 1), Error("ERR item exists"))
        same("another header", ask("BF.LOADCHUNK", "target", 1, b"x"), Error("ERR received bad data"))
        same("type", ask("TYPE", "target"), b"TAMISload")
        if i == 2:
            check_incomplete(server, chunks)
    same("type", ask("TYPE", "target"), b"MBbloom--")
    same("expires at the same time", ask("PEXPIRETIME", "target"), 4000000000000)
    same("persist", ask("PERSIST", "target"), 1)  # a digest has it too
    digests = server.digests()
    same("digest", digests[b"target"], digests[b"source"])
    same("dump", ask("DUMP", "target"), ask("DUMP", "source"))
    ask("BF.RESERVE", "gap", 0.01, 10)
    ask("DEL", "gap")
    ask("BF.LOADCHUNK", "gap", *chunks[0])
    same("gap", ask("BF.LOADCHUNK", "gap", *chunks[2]), Error("ERR received bad data"))
    ask("DEL", "gap")


def check_incomplete(server, chunks):
    """An incomplete filter is saved, copied and restored as what it is, and can be completed then."""
    ask = server.ask
    before = server.digests()
    same("copy", ask("COPY", "target", "copy"), 1)
    same("restore", ask("RESTORE", "restored", 1000000, ask("DUMP", "target")), b"OK")
    same("reload", ask("DEBUG", "RELOAD"), b"OK")
    after = server.digests()
    for key in (b"target", b"copy", b"restored"):
        same(key, after[key], before[b"target"])
        if key != b"target":
            for chunk in chunks[3:]:
                same("chunk", ask("BF.LOADCHUNK", key, *chunk), b"OK")
            same(key, ask("DUMP", key), ask("DUMP", "source"))
            ask("UNLINK", key)


def crc64(data):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x95ac9329ac4bc9b5 if crc & 1 else 0)
    return crc


# DUMP of `BF.RESERVE k 0.01 3 NONSCALING`, `BF.ADD k a` by RedisBloom.
GOLDEN = bytes.fromhex("07" "813016e5a289bef804" "0201" "0201" "020d" "0200" "0203" "047b14ae47e17a843f" "0207"
                       "0488168ac58c2b2340" "024040" "0200" "0508" "0044008800100120" "0201" "00")


def payload(data, version=10):
    data += version.to_bytes(2, "little")
    return data + crc64(data).to_bytes(8, "little")


def test_dump_of_redisbloom(server):
    ask = server.ask
    same("check of the checksum", crc64(b"123456789"), 0xe9c6d914c4b8d9ca)
    same("restore", ask("RESTORE", "golden", 0, payload(GOLDEN)), b"OK")
    same("answers", ask("BF.MEXISTS", "golden", "a", "b"), [1, 0])
    ask("BF.RESERVE", "ours", 0.01, 3, "NONSCALING")
    ask("BF.ADD", "ours", "a")
    for key in ("golden", "ours"):
        same("written back", ask("DUMP", key), payload(GOLDEN))


def test_cuckoo_chunks(server):
    """Nothing of a cuckoo filter is visible before its last chunk."""
    ask = server.ask
    ask("CF.RESERVE", "source", 8, "EXPANSION", 2)
    ask("CF.INSERT", "source", "ITEMS", *range(20))
    chunks = chunks_of(ask, "source", "CF.SCANDUMP")
    same("sizes", [(position, len(data)) for position, data in chunks], [(1, 38), (9, 8), (25, 16)])
    for i, chunk in enumerate(chunks):
        for _ in range(2):  # a client may repeat a call
            same("chunk", ask("CF.LOADCHUNK", "target", *chunk), b"OK")
        if i == 0:
            same("expires", ask("PEXPIREAT", "target", 4000000000000), 1)
        if i == 2:
            break
        for command in ("CF.ADD target 1", "CF.ADDNX target 1", "CF.INSERT target ITEMS 1", "CF.INSERTNX target ITEMS 1",
                        "CF.EXISTS target 1", "CF.MEXISTS target 1 2", "CF.COUNT target 1", "CF.DEL target 1",
                        "CF.COMPACT target", "CF.INFO target", "CF.DEBUG target", "CF.SCANDUMP target 0"):
            same(command, ask(*command.split()),
                 Error(f"ERR filter is incomplete: CF.LOADCHUNK has loaded {8 * i} of 24 bytes"))
        same("reserve", ask("CF.RESERVE", "target", 100), Error("ERR item exists"))
        same("another header", ask("CF.LOADCHUNK", "target", 1, 38 * b"x"), Error("ERR item exists"))
        same("gap", ask("CF.LOADCHUNK", "target", 25, b"x"), Error("Couldn't load chunk!"))
        same("type", ask("TYPE", "target"), b"TAMISloCF")
        before = server.digests()
        same("restore", ask("RESTORE", "restored", 1000000, ask("DUMP", "target")), b"OK")
        same("copy", ask("COPY", "target", "copy"), 1)
        same("reload", ask("DEBUG", "RELOAD"), b"OK")
        for key in (b"target", b"copy", b"restored"):
            same(key, server.digests()[key], before[b"target"])
        same("unlink", ask("UNLINK", "copy", "restored"), 2)
    same("type", ask("TYPE", "target"), b"MBbloomCF")
    same("expires at the same time", ask("PEXPIRETIME", "target"), 4000000000000)
    same("dump", ask("DUMP", "target"), ask("DUMP", "source"))
    same("items", ask("CF.MEXISTS", "target", *range(20)), 20 * [1])


def test_hostile_cuckoo_dumps(server):
    ask = server.ask
    ask("CF.RESERVE", "source", 8)
    ask("CF.INSERT", "source", "ITEMS", "a", "b")
    dump = ask("DUMP", "source")[:-10]
    fields = bytes.fromhex("0201" "0204" "0202" "0200" "0202" "0214" "0201" "0204" "0508")
    is_true(f"fields: {dump.hex()}", dump[10:-9] == fields and len(dump[-9:]) == 9)
    changed = {0: "no table", 2: "buckets", 4: "items", 8: "bucket size", 10: "iterations", 14: "buckets of the table"}
    for offset, what in changed.items():
        for number in ("00", "03", "81ffffffffffffffff"):
            data = dump[:10 + offset] + bytes.fromhex("02" + number) + dump[12 + offset:]
            got = ask("RESTORE", "hostile", 0, payload(data))
            if not (number == "03" and what in ("items", "iterations")):
                if number == "00" and what == "items":
                    continue
                is_true(f"{what} {number}: {got!r}", isinstance(got, Error) and "Bad data format" in got.args[0])
            ask("DEL", "hostile")
    header = chunks_of(ask, "source", "CF.SCANDUMP")[0][1]
    random.seed(SEED)
    for i in range(COUNT):  # whatever is accepted works
        data = bytearray(dump if i % 2 else header)
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(10 if i % 2 else 0, len(data))] = random.randrange(256)
        if i % 2:
            ask("RESTORE", "random", 0, payload(bytes(data)))
        else:
            ask("CF.LOADCHUNK", "random", 1, bytes(data))
            ask("CF.LOADCHUNK", "random", random.choice((9, 17, 200)), random.randbytes(random.choice((8, 9, 16))))
        for command in ("CF.INSERT random NOCREATE ITEMS 1 2 3 4 5 6 7 8 9", "CF.DEL random 1", "CF.COMPACT random",
                        "CF.DEBUG random", "CF.SCANDUMP random 1"):
            ask(*command.split())
        ask("DEL", "random")
    same("alive", ask("PING"), b"PONG")


def test_hostile_dumps(server):
    """Payloads that crash other loaders, or make them read or write outside of their memory."""
    ask = server.ask
    prefix, fields = GOLDEN[:10], GOLDEN[10:]
    nan, infinity = "04000000000000f87f", "04000000000000f07f"
    rate = "047b14ae47e17a843f"
    changed = {
        "more bits than the buffer": fields.replace(bytes.fromhex("024040"), bytes.fromhex("028100000000ffffffff")),
        "empty chain": bytes.fromhex("0200" "0200" "020d" "0200" "00"),
        "2^64-1 sub-filters": bytes.fromhex("0201" "0281ffffffffffffffff") + fields[4:],
        "rate NaN": fields.replace(bytes.fromhex(rate), bytes.fromhex(nan)),
        "rate infinite": fields.replace(bytes.fromhex(rate), bytes.fromhex(infinity)),
        "2^31 hashes": fields.replace(bytes.fromhex("0207"), bytes.fromhex("028080000000")),
        "no hashes": fields.replace(bytes.fromhex("0207"), bytes.fromhex("0200")),
        "32-bit hashes": fields.replace(bytes.fromhex("020d"), bytes.fromhex("0209")),
        "no buffer": fields.replace(bytes.fromhex("05080044008800100120"), bytes.fromhex("0500")),
        "huge buffer": fields.replace(bytes.fromhex("0508"), bytes.fromhex("05810fffffffffffffff")),
        "items": bytes.fromhex("0202") + fields[2:],
    }
    for what, data in changed.items():
        is_true(what, data != fields)
        got = ask("RESTORE", "hostile", 0, payload(prefix + data))
        is_true(f"{what}: {got!r}", isinstance(got, Error) and "Bad data format" in got.args[0])
    random.seed(SEED)
    for _ in range(COUNT):  # whatever is accepted works
        data = bytearray(GOLDEN)
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(10, len(data))] = random.randrange(256)
        if isinstance(ask("RESTORE", "random", 0, payload(bytes(data[:random.choice((len(data), 30))])), "REPLACE"), Error):
            continue
        ask("BF.MADD", "random", *range(10))
        ask("BF.DEBUG", "random")
        ask("DEL", "random")
    ask("BF.RESERVE", "source2", 0.01, 10)
    ask("BF.MADD", "source2", *range(100))
    header = chunks_of(ask, "source2")[0][1]
    for _ in range(COUNT):
        data = bytearray(header)
        data[random.randrange(len(data))] = random.randrange(256)
        ask("BF.LOADCHUNK", "random", 1, bytes(data))
        ask("BF.LOADCHUNK", "random", random.randrange(2, 400), random.randbytes(random.randrange(300)))
        ask("BF.ADD", "random", 1)
        ask("DEL", "random")
    same("alive", ask("PING"), b"PONG")


# ---- servers ----------------------------------------------------------------------------------------------

def fill(ask):
    """Filters of each sort."""
    ask("FLUSHALL")
    ask("BF.MADD", "auto", *range(1000))
    ask("BF.RESERVE", "fixed", 0.02, 500, "NONSCALING")
    ask("BF.MADD", "fixed", *range(600))
    ask("BF.INSERT", "inserted", "EXPANSION", 4, "ITEMS", *range(700))
    for i in range(300):
        ask("BF.ADD", "single", i)
    ask("BF.ADD", "single", 1)
    ask("BF.RESERVE", "large", 0.001, 10000000)
    ask("BF.MADD", "large", *range(1000))
    chunks = chunks_of(ask, "large")
    same("chunks of 16 MiB", [len(data) for _, data in chunks[1:]], [16 << 20, LARGE - (16 << 20)])
    ask("BF.LOADCHUNK", "half", *chunks[0])
    ask("BF.LOADCHUNK", "half", *chunks[1])
    for chunk in chunks:
        ask("BF.LOADCHUNK", "loaded", *chunk)
    ask("CF.INSERT", "cf-auto", "ITEMS", *range(3000))
    ask("CF.RESERVE", "cf-grown", 64, "BUCKETSIZE", 4, "EXPANSION", 2)
    ask("CF.INSERTNX", "cf-grown", "ITEMS", *range(2000))
    for i in range(300):
        ask("CF.ADD", "cf-single", i % 100)
        ask("CF.ADDNX", "cf-single", i)
        ask("CF.DEL", "cf-grown", i)
        ask("CF.DEL", "cf-auto", 5 * i)
    ask("CF.COMPACT", "cf-grown")
    ask("CF.RESERVE", "cf-fixed", 64, "BUCKETSIZE", 2, "EXPANSION", 0)
    is_true("full", ask("CF.INSERT", "cf-fixed", "ITEMS", *range(100)).count(-1) >= 36)
    ask("CF.RESERVE", "cf-empty", 64)
    chunks = chunks_of(ask, "cf-grown", "CF.SCANDUMP")
    for chunk in chunks:
        ask("CF.LOADCHUNK", "cf-loaded", *chunk)
    for chunk in chunks[:3]:
        ask("CF.LOADCHUNK", "cf-half", *chunk)


def test_files(server):
    ask = server.ask
    fill(ask)
    before = server.digests()
    same("copies are equal", before[b"loaded"], before[b"large"])
    same("copies are equal", before[b"cf-loaded"], before[b"cf-grown"])
    same("reload", ask("DEBUG", "RELOAD"), b"OK")
    same("after DEBUG RELOAD", server.digests(), before)
    same("copy", ask("COPY", "large", "copied"), 1)
    same("copied", server.digests()[b"copied"], before[b"large"])
    used = int(ask("INFO", "memory").split(b"used_memory:")[1].split()[0])
    is_true("used_memory has the filters", used > 4 * LARGE)
    is_true("memory usage", 0 <= ask("MEMORY", "USAGE", "large") - (32 + 64 + LARGE) < 128)
    same("unlink", ask("UNLINK", "copied"), 1)
    same("flush", ask("FLUSHALL", "ASYNC"), b"OK")
    end = time.monotonic() + 20
    while int(ask("INFO", "memory").split(b"used_memory:")[1].split()[0]) > LARGE and time.monotonic() < end:
        time.sleep(0.02)
    is_true("memory is returned", int(ask("INFO", "memory").split(b"used_memory:")[1].split()[0]) < LARGE)


def test_replica_and_aof():
    """A replica and a restarted server have other settings, and get equal filters."""
    primary = Server("primary", "--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--appendfsync", "no",
                     "--repl-diskless-sync-delay", "0", arguments=("bf-error-rate", "0.05", "BF-INITIAL-SIZE", "77", "cf-initial-size", "100",
                                                               "cf-max-iterations", "5", "cf-bucket-size", "3"))
    port = free_port()
    same("port", primary.ask("CONFIG", "SET", "port", port), b"OK")
    replica = Server("replica", "--replicaof", "127.0.0.1", str(port),
                     arguments=("ERROR_RATE", "0.3", "INITIAL_SIZE", "5", "bf-expansion-factor", "1",
                                "cf-initial-size", "64", "cf-expansion-factor", "0", "CF_MAX_EXPANSIONS", "1"))
    end = time.monotonic() + 60
    while b"master_link_status:up" not in replica.ask("INFO", "replication") and time.monotonic() < end:
        time.sleep(0.02)
    fill(primary.ask)
    same("settings", primary.ask("BF.DEBUG", "auto")[1].split()[4:7:2], [b"capacity:77", b"ratio:0.025"])
    before = primary.digests()
    same("wait", primary.ask("WAIT", 1, 60000), 1)
    same("of the replica", replica.digests(), before)
    # A command that changes nothing is not sent.
    offset = primary.ask("INFO", "replication").split(b"master_repl_offset:")[1].split()[0]
    primary.ask("BF.ADD", "single", 1)
    primary.ask("BF.MADD", "single", 1, 2)
    primary.ask("BF.ADD", "fixed", "another")
    same("present", primary.ask("CF.ADDNX", "cf-single", 1), 0)
    same("present", primary.ask("CF.INSERTNX", "cf-single", "ITEMS", 1, 2), [0, 0])
    same("absent", primary.ask("CF.DEL", "cf-empty", 1), 0)
    is_true("a replica does not compact", str(replica.ask("CF.COMPACT", "cf-auto").args[0]).startswith("READONLY"))
    sent = int(primary.ask("INFO", "replication").split(b"master_repl_offset:")[1].split()[0]) - int(offset)
    is_true(f"only pings were sent: {sent}", sent % 14 == 0)
    replica.kill()

    primary.command += ["bf-expansion-factor", "3", "cf-max-expansions", "1"]
    primary.kill()
    primary.start()  # from the commands in the AOF
    same("after the AOF", primary.digests(), before)
    same("limit", primary.ask("CF.ADD", "cf-auto", 1), Error("Maximum expansions reached"))
    same("limit", primary.ask("CF.ADD", "cf-none", 1), Error("Maximum expansions reached"))
    same("no key", primary.ask("EXISTS", "cf-none"), 0)
    primary.ask("BGREWRITEAOF")
    end = time.monotonic() + 60
    while b"aof_rewrite_in_progress:0" not in primary.ask("INFO", "persistence") and time.monotonic() < end:
        time.sleep(0.02)
    primary.kill()
    primary.start()  # from the chunks of the rewritten AOF
    same("after the rewritten AOF", primary.digests(), before)
    primary.kill()


def test_settings(server):
    """CONFIG SET of settings: they are those of filters that are made from then on."""
    ask = server.ask
    names = {"bf-error-rate": "0.01", "bf-initial-size": "100", "bf-expansion-factor": "2", "cf-initial-size": "1024",
             "cf-bucket-size": "2", "cf-max-iterations": "20", "cf-expansion-factor": "1", "cf-max-expansions": "32"}
    for name, value in names.items():
        same(name, ask("CONFIG", "GET", "bf." + name), [b"bf." + name.encode(), value.encode()])
    same("set", ask("CONFIG", "SET", "bf.bf-error-rate", "0.05", "bf.bf-initial-size", 50, "bf.cf-initial-size", 64,
                    "bf.cf-bucket-size", 32, "bf.cf-expansion-factor", 0), b"OK")
    same("rate", ask("CONFIG", "GET", "bf.bf-error-rate")[1], b"0.05")
    for what, words in {"rate": ("bf-error-rate", "1"), "size": ("bf-initial-size", "0"), "buckets": ("cf-bucket-size", "33")}.items():
        is_true(what, isinstance(ask("CONFIG", "SET", "bf." + words[0], words[1]), Error))
    ask("BF.ADD", "b", 1)
    ask("CF.ADD", "c", 1)
    same("Bloom", ask("BF.DEBUG", "b")[1].split()[4:7:2], [b"capacity:50", b"ratio:0.025"])
    same("cuckoo", ask("CF.DEBUG", "c"),
         b"bktsize:32 buckets:2 items:1 deletes:0 filters:1 max_iterations:20 expansion:0")
    same("set back", ask("CONFIG", "SET", *(word for name, value in names.items() for word in ("bf." + name, value))), b"OK")


def test_memory_limit(server):
    ask = server.ask
    ask("BF.ADD", "k", "a")
    ask("CF.ADD", "c", "a")
    ask("CONFIG", "SET", "maxmemory", 1)
    for command in ("BF.ADD k b", "BF.MADD k b", "BF.INSERT k ITEMS b", "BF.RESERVE k2 0.01 100", "BF.LOADCHUNK k 2 x",
                    "CF.ADD c b", "CF.ADDNX c b", "CF.INSERT c ITEMS b", "CF.INSERTNX c ITEMS b", "CF.RESERVE c2 100",
                    "CF.LOADCHUNK c 2 x"):
        got = ask(*command.split())
        is_true(f"{command}: {got!r}", isinstance(got, Error) and got.args[0].startswith("OOM "))
    same("lookup", ask("BF.EXISTS", "k", "a"), 1)
    same("lookup", ask("CF.EXISTS", "c", "a"), 1)
    same("removal", ask("CF.DEL", "c", "a"), 1)
    ask("CONFIG", "SET", "maxmemory", 0)
    ask("CONFIG", "SET", "appendonly", "no")


def test_kill():
    """With appendfsync always, a key that was answered as new is there after a crash."""
    server = Server("killed", "--appendonly", "yes", "--appendfsync", "always")
    answered = 0
    for item in range(COUNT):
        same("new", server.ask("BF.ADD", f"k{item % 7}", item) in (0, 1), True)
        answered = item + 1
    server.ask.socket.sendall(b"".join(b"*3\r\n$6\r\nBF.ADD\r\n$2\r\nk0\r\n$6\r\n%06d\r\n" % i for i in range(200000, 205000)))
    time.sleep(0.05)
    server.kill()
    late = 0
    try:
        while True:
            server.ask.reply()
            late += 1
    except (OSError, ConnectionError, ValueError):
        pass
    server.start()
    for item in range(answered):
        same(f"item {item}", server.ask("BF.EXISTS", f"k{item % 7}", item), 1)
    if late:
        same("late", set(server.ask("BF.MEXISTS", "k0", *range(200000, 200000 + late))), {1})
    server.kill()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def refused(name, message, *options):
    """A server that does not start, since it refuses a module."""
    directory = os.path.join(DIRECTORY, name)
    os.makedirs(directory)
    status = subprocess.run(["redis-server", "--port", "0", "--unixsocket", os.path.join(directory, "socket"), "--dir", directory, "--logfile", "log", *options],
                            check=False, stdin=subprocess.DEVNULL, timeout=60).returncode
    with open(os.path.join(directory, "log"), encoding="utf-8") as file:
        log = file.read()
    is_true(f"{name}: {log[-300:]}", status != 0 and message in log)


def test_refused_arguments():
    refused("twice", "a module of the name bf is loaded already", "--loadmodule", MODULE, "--loadmodule", MODULE)
    refused("rate", "tamis: bf-error-rate 1: expected a number between 0 and 1", "--loadmodule", MODULE, "bf-error-rate", "1")
    refused("unknown", "tamis: word: unknown argument", "--loadmodule", MODULE, "word", "1")
    refused("range", "tamis: cf-bucket-size 256: expected 1 to 255", "--loadmodule", MODULE, "cf-bucket-size", "256")
    refused("buckets", "tamis: cf-initial-size: less than two buckets", "--loadmodule", MODULE, "cf-initial-size", "10",
            "cf-bucket-size", "6")
    refused("lonely", "tamis: bf-initial-size: its value is missing", "--loadmodule", MODULE, "bf-initial-size")


def main():
    server = Server("plain")
    for test in (test_replies, test_documentation, test_growth, test_client, test_cuckoo_client, test_chunks, test_cuckoo_chunks,
                 test_dump_of_redisbloom, test_hostile_dumps, test_hostile_cuckoo_dumps, test_files, test_settings, test_memory_limit):
        start = time.monotonic()
        server.ask("FLUSHALL")
        test(server)
        print(f"{test.__name__}: {time.monotonic() - start:.1f} s")
    server.kill()
    for test in (test_replica_and_aof, test_kill, test_refused_arguments):
        start = time.monotonic()
        test()
        print(f"{test.__name__}: {time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    try:
        main()
    finally:
        for started in servers:
            if started.poll() is None:
                started.kill()
                started.wait()
