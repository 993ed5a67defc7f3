#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Filters in a Redis, compared with plain bitmaps, on private servers, in one run.

Usage: redis.py TAMIS BENCH_REDIS REDIS_BITS_PHP RUNS SCALE

BENCH_REDIS is the program of bench_redis.c. SCALE is 1 for the published numbers (a million elements, a filter of 1 GiB
to push), or less for a short run. Server and client have a core each, if there are two, and TCP over loopback between them.
The masters of the cluster share the other cores. Medians of RUNS; the clients take turns. Every way is asked by another before it is timed, and what it answers while it is timed is looked at: no
element that was added may be missing.
"""
import ctypes
import math
import os
import random
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from timed import need, print_bars

MIB, GIB = 1 << 20, 1 << 30
RATES = (1e-2, 1e-6)
A_CALL = 10_000  # elements a call of tamis, for the targets
BITS_OF_PARTITION = {1e-2: 16, 1e-6: 50}  # bits an element of the cluster's filter, in 12 partitions


# ---- servers ----

class Server:
    """A private redis-server on a free port. It ends with this process."""

    def __init__(self, core, options=()):
        self.directory = tempfile.mkdtemp(prefix="tamis-bench-")
        for _ in range(30):
            self.port = random.randrange(10_000, 32_000)  # below the ports that systems give to clients
            self.process = subprocess.Popen(
                ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--unixsocket", self.path(), "--save",
                 "", "--dir", self.directory, "--logfile", os.path.join(self.directory, "log"), *options],
                stdin=subprocess.DEVNULL, preexec_fn=lambda: (pin(core), end_with_parent()))
            if self.answers():
                return
            self.stop(keep=True)
        need(False, "redis-server does not start")

    def path(self):
        return os.path.join(self.directory, "socket")

    def answers(self):
        for _ in range(500):
            try:
                return self.call("PING") == "PONG" and self.process.poll() is None
            except OSError:
                if self.process.poll() is not None:
                    return False
                time.sleep(0.02)
        return False

    def call(self, command):
        """Runs a command over the server's own socket, which no other server has."""
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(self.path())
            link.sendall(command.encode() + b"\r\n")
            with link.makefile("rb") as replies:
                line = replies.readline().decode()
                need(line and line[0] in "+$", f"{command}: {line.strip()}")
                return line[1:].strip() if line[0] == "+" else replies.read(int(line[1:])).decode()

    def stop(self, keep=False):
        self.process.kill()
        self.process.wait()
        if not keep:
            shutil.rmtree(self.directory, ignore_errors=True)


def pin(core):
    os.sched_setaffinity(0, {core})


def end_with_parent(by=signal.SIGKILL):
    ctypes.CDLL(None).prctl(1, by)  # PR_SET_PDEATHSIG


class Cost:
    """Statistics of the servers: CPU microseconds, bytes received, bytes sent."""

    def __init__(self, servers):
        self.values = [0.0, 0, 0]
        for server in servers:
            info = dict(re.findall(r"(?m)^(\w+):([\d.]+)\r?$", server.call("INFO all")))
            self.values[0] += 1e6 * (float(info["used_cpu_user"]) + float(info["used_cpu_sys"]))
            self.values[1] += int(info["total_net_input_bytes"])
            self.values[2] += int(info["total_net_output_bytes"])

    def since(self, before):
        return [now - then for now, then in zip(self.values, before.values)]


# ---- clients ----

class Sample:
    def __init__(self, count, wall, client, server, sent, received):
        self.rate = count / wall
        self.server, self.client = server / count, 1e6 * client / count
        self.sent, self.received = sent / count, received / count


class Way:
    """A way to add and look up elements. command(what, p, count) is the client; its output is that of bench_redis,
    except for tamis. share: the part of the elements to use, if all would take too long; uri(p): the filter for others."""

    def __init__(self, name, batch, command, uri=None, share=1.0, servers=None):
        self.name, self.batch, self.command, self.uri = name, batch, command, uri
        self.share, self.servers = share, servers


class Bench:
    def __init__(self, tamis, program, php, runs, scale):
        self.tamis, self.program, self.php = tamis, program, php
        self.runs, self.scale = runs, scale
        self.count = max(int(1e6 * scale), 1000)
        cores = sorted(os.sched_getaffinity(0))
        self.core, self.others = cores[-1], cores[:-1] or cores
        self.servers, self.cluster = [], []
        self.directory = tempfile.mkdtemp(prefix="tamis-bench-")
        self.samples, self.found = {}, {}

    def start(self):
        self.servers.append(Server(self.others[0]))
        self.server = self.servers[0]
        for i in range(3):
            self.servers.append(Server(self.others[i % len(self.others)], ["--cluster-enabled", "yes"]))
        self.cluster = self.servers[1:]
        nodes = [f"127.0.0.1:{node.port}" for node in self.cluster]
        self.run(["redis-cli", "--cluster", "create", *nodes, "--cluster-yes"])
        for _ in range(500):
            if all("cluster_state:ok" in node.call("CLUSTER INFO") for node in self.cluster):
                return
            time.sleep(0.05)
        need(False, "the cluster does not come up")

    def stop(self):
        for server in self.servers:
            server.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, argv, fine=(0,)):
        """Output, wall and CPU seconds."""
        used, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              preexec_fn=lambda: (pin(self.core), end_with_parent()), check=False)
        wall, now = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        need(done.returncode in fine, f"{' '.join(argv)}: exit status {done.returncode}")
        return done.stdout.decode(), wall, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime

    def flush(self, servers):
        for server in servers:
            server.call("FLUSHALL")

    def words(self, what, count):
        path = os.path.join(self.directory, f"{what}-{count}")
        if not os.path.exists(path):
            with open(path, "w", encoding="ascii") as out:
                subprocess.run([self.program, "words", what, str(count)], stdout=out, check=True)
        return path

    # ---- URIs and commands ----

    def sizes(self, p):
        """Bits and probes of the published classes."""
        bits = int(-self.count * math.log(p) / math.log(2) ** 2)
        return str(bits), str(max(1, round(bits / self.count * math.log(2))))

    def uri(self, rest):
        return f"redis://127.0.0.1:{self.server.port}/seen?{rest}"

    def java(self, p):
        return self.uri(f"layout=java&expect={self.count}&fpr={p}")

    def php1(self, p):
        return self.uri("layout=php1&bits={}&probes={}".format(*self.sizes(p)))

    def ours(self, p):
        return self.uri(f"expect={self.count}&fpr={p}")

    def spread(self, p):
        partition = max(int(self.count * BITS_OF_PARTITION[p] / 8 / 12), 4096)
        nodes = ",".join(f"127.0.0.1:{node.port}" for node in self.cluster)
        return f"redis+cluster://{nodes}/seen?expect={self.count}&fpr={p}&partition={partition}"

    def command(self, what, p, count):
        """The command tamis. Counts the lines that check prints."""
        verb = ["add", "-q"] if what == "add" else ["check", "-c"]
        return [self.tamis, *verb, self.ours(p), self.words(what, count)]

    def ways(self):
        def raw(program, batch):
            port = str(self.server.port)
            return lambda what, p, count: [*program, port, what, str(count), str(batch), *self.sizes(p)]

        def filters(uri, batch):
            return lambda what, p, count: [self.program, "filter", uri(p), what, str(count), str(batch)]

        bits, fields, php = [self.program, "bits"], [self.program, "bitfield"], ["php", self.php]
        found = [Way("SETBIT, GETBIT, a flush an element (Java)", 1, raw(bits, 1), self.java, 0.05),
                 Way("SETBIT, GETBIT", 100, raw(bits, 100), self.java),
                 Way("SETBIT, GETBIT", 1000, raw(bits, 1000), self.java),
                 Way("BITFIELD of k", 1000, raw(fields, 1000), self.java)]
        if shutil.which("php") and "redis" in self.run(["php", "-m"])[0].split():
            found += [Way("php-redis (PHP)", 5, raw(php, 5), self.php1, 0.1),
                      Way("php-redis (PHP)", 100, raw(php, 100), self.php1, 0.1)]
        found += [Way("ours", batch, filters(self.ours, batch), self.ours) for batch in (1000, A_CALL, 100_000)]
        found += [Way("tamis add, tamis check -c of a file", None, self.command, self.ours),
                  Way("ours, cluster of 3 masters", A_CALL, filters(self.spread, A_CALL), self.spread,
                      servers=self.cluster)]
        return found

    # ---- measuring ----

    def time(self, way, what, p, count):
        servers = way.servers or [self.server]
        argv = way.command(what, p, count)
        before = Cost(servers)
        out, wall, cpu = self.run(argv)
        server, sent, received = Cost(servers).since(before)
        found = 0
        if argv[0] != self.tamis:
            wall, cpu, found = map(float, out.split())
        elif what == "check":
            found = int(out)
        if what == "check":
            need(found >= (count + 1) // 2, f"{way.name}: {found:.0f} of {count} found, half of which were added")
        # The hashes of php1 are not uniform, so its rate is not checked.
        limit = count / 2 * (what == "check") + p * count + 5 * math.sqrt(p * count) + 5
        need(found <= limit or way.uri == self.php1, f"{way.name}: {found:.0f} of {count} found, more than is right")
        return Sample(count, wall, cpu, server, sent, received)

    def elements(self, way):
        return max(int(self.count * way.share), 1000)

    def verify(self, way, p):
        """True if each of two clients finds what the other added."""
        count = max(self.count // 20, 1000)
        self.flush(way.servers or [self.server])
        self.time(way, "add", p, count)
        lookups = [self.program, "filter", way.uri(p), "check", str(count), str(A_CALL)]
        need(float(self.run(lookups)[0].split()[2]) >= (count + 1) // 2, f"{way.name}: ours does not find what it added")
        self.flush(way.servers or [self.server])
        self.run([self.program, "filter", way.uri(p), "add", str(count), str(A_CALL)])
        self.time(way, "check", p, count)

    def measure(self, ways, p):
        for way in ways:
            self.flush(way.servers or [self.server])
            for what in ("add", "check"):
                sample = self.time(way, what, p, self.elements(way))
                self.samples.setdefault((way.name, way.batch, what, p), []).append(sample)
            if way.name == "ours" and way.batch == A_CALL and p not in self.found:
                self.count_absent(p)

    def count_absent(self, p):
        count = int(max(1e6, 10 / p) * self.scale)
        out = self.run([self.program, "filter", self.ours(p), "absent", str(count), str(A_CALL)])[0]
        self.found[p] = (int(out.split()[2]), count)

    def median(self, name, batch, what, p, field):
        return statistics.median(getattr(sample, field) for sample in self.samples[name, batch, what, p])

    def print_tables(self, ways):
        for p in RATES:
            bits, probes = self.sizes(p)
            print(f"\np = {p:g}: {self.count} elements; of Java and PHP m = {bits}, k = {probes}\n")
            print(f"{'way':<43}{'a flush':>8}{'k/s':>8}{'server us':>11}{'client us':>11}{'bytes out':>11}{'in':>7}")
            for what in ("add", "check"):
                print(what)
                for way in ways:
                    def median(field):
                        return self.median(way.name, way.batch, what, p, field)
                    print(f"  {way.name:<41}{way.batch or '':>8}{median('rate') / 1e3:>8.1f}{median('server'):>11.2f}"
                          f"{median('client'):>11.2f}{median('sent'):>11.1f}{median('received'):>7.1f}")
            found, count = self.found[p]
            print(f"of {count} that were never added ours finds {found}: {found / count:.3g}")

    # ---- whole filters ----

    def sets(self, size, each, clients, more):
        """GB a second of redis-benchmark. With enough names it stores as many bytes, else one value."""
        self.flush([self.server])
        out = self.run(["redis-benchmark", "-p", str(self.server.port), "-t", "set", "-d", str(each), "-n",
                        str(max(size // each, 8)), "-c", str(clients), "--csv", *more])[0]
        return float(re.search(r'(?m)^"SET","([\d.]+)"', out).group(1)) * each / 1e9

    def push(self):
        size = max(int(GIB * self.scale) // MIB, 1) * MIB
        ours, kept, written_over = [], {}, {}
        uri = f"redis://127.0.0.1:{self.server.port}/pushed"
        for _ in range(self.runs):
            self.flush([self.server])
            ours.append(size / 1e9 / float(self.run([self.program, "push", uri, str(size)])[0].split()[0]))
            for how in [(each << 10, clients) for each in (64, 128, 256, 1024) for clients in (1, 4)]:
                kept.setdefault(how, []).append(self.sets(size, *how, ["-r", "1000000000"]))
                written_over.setdefault(how, []).append(self.sets(size, *how, []))
        self.flush([self.server])
        rate = statistics.median(ours)
        print(f"\npush of {size / GIB:.3f} GiB: {rate:.2f} GB/s; redis-benchmark -t set, at its best:")
        for label, times in (("many keys, all kept", kept), ("one key, written over", written_over)):
            each, clients = max(times, key=lambda how: statistics.median(times[how]))
            best = statistics.median(times[each, clients])
            print(f"  {label:<24}{best:>6.2f} GB/s   -d {each} -c {clients}{' -r 1000000000' if times is kept else ''}")
        return rate / max(map(statistics.median, kept.values()))

    # ---- bars ----

    def ratio(self, what, p, field, name, batch):
        return self.median("ours", A_CALL, what, p, field) / self.median(name, batch, what, p, field)

    def print_bars(self, pushed):
        java, plain = ("SETBIT, GETBIT, a flush an element (Java)", 1), ("SETBIT, GETBIT", 1000)
        bars = []
        for p, faster, cheaper, checking, published in ((1e-2, 2, 0.6, 4, 25), (1e-6, 3, 0.35, 14, None)):
            rows = [("add to 1000 a flush, elements a second", faster, self.ratio("add", p, "rate", *plain)),
                    ("add to 1000 a flush, server CPU", -cheaper, self.ratio("add", p, "server", *plain)),
                    ("check to 1000 a flush, elements a second", checking, self.ratio("check", p, "rate", *plain)),
                    ("add to the Java way, elements a second", published, self.ratio("add", p, "rate", *java)),
                    ("check to the Java way, elements a second", published, self.ratio("check", p, "rate", *java))]
            bars += [(f"{what}, p = {p:g}", bar, got) for what, bar, got in rows]
            found, count = self.found[p]
            chance = 3 * math.sqrt(p * count) / (p * count)  # of as many elements
            bars.append((f"rate to the one asked for, p = {p:g} (chance: {chance:.2f})", -1, found / count / p, chance))
        bars.append(("push to large SETs that are kept, bytes a second", 0.5, pushed))
        print_bars(bars, f"Bars: ours, {A_CALL} elements a call, to the others")


def measure_all(b):
    b.start()
    ways = b.ways()
    print(f"Server on core {b.others[0]}, client on core {b.core}, masters of the cluster on {b.others}. k/s: thousand "
          "elements a second;\nus: CPU an element; bytes an element to the server (out) and back (in). a flush: "
          "elements before replies are waited\nfor; of ours, elements a call", flush=True)
    for p in RATES:
        for way in ways:
            b.verify(way, p)
    for _ in range(b.runs):
        for p in RATES:
            b.measure(ways, p)
    b.print_tables(ways)
    b.print_bars(b.push())


def main():
    if len(sys.argv) != 6 or not re.fullmatch("[1-9][0-9]*", sys.argv[4]):
        sys.exit(__doc__)
    try:
        scale = float(sys.argv[5])
    except ValueError:
        sys.exit(__doc__)
    if not 0.001 <= scale <= 1:
        sys.exit("redis.py: SCALE is not from 0.001 to 1")
    if not shutil.which("redis-server"):
        print("redis-server is not here")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    end_with_parent(signal.SIGTERM)
    b = Bench(*sys.argv[1:4], int(sys.argv[4]), scale)
    try:
        measure_all(b)
    finally:
        b.stop()


if __name__ == "__main__":
    main()
