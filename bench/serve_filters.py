#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Named filters of tamis serve, beside the Redis module in a redis-server whose log is synced always or each second.

Usage: serve_filters.py TAMIS MODULE RUNS SCALE

The files of both are in TMPDIR, which should be on a disk: replies wait for it. SCALE is 1 for the published numbers, or
less for a short run. The servers share a core, and redis-benchmark has another. Medians of RUNS; the servers take turns.
Nearly all items are new. Exit status 1: a server has fewer items than it answered.
"""
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile

from guard_serve import Serve, run_benchmark
from redis import Server, end_with_parent
from timed import need, print_bars

RATE, CAPACITY, MADD = 0.001, 1_000_000, 10
# A client waits for each reply; many clients do; many send without waiting. With commands of each, and repetitions of them.
LOADS = ((1, 1, 1000), (50, 1, 20_000), (50, 16, 200_000))
COMMANDS = {"BF.ADD": 1, "BF.MADD": MADD, "BF.EXISTS": 1}
OURS, ALWAYS, EVERYSEC = "tamis serve", "module, always", "module, everysec"


class FilterServe(Serve):
    """A tamis serve with named filters alone."""

    def is_ready(self):
        return "filters:" in self.call("INFO filters")


def redis_options(module, appendfsync):
    return ["--loadmodule", module, "--appendonly", "yes", "--appendfsync", appendfsync, "--auto-aof-rewrite-percentage", "0"]


def answer(server, *words):
    """The reply of redis-cli, which must be no error."""
    done = subprocess.run(["redis-cli", "-p", str(server.port), *map(str, words)], capture_output=True, check=False)
    text = done.stdout.decode().strip()
    need(done.returncode == 0 and not text.startswith("ERR"), f"{' '.join(map(str, words))}: {text}")
    return text


def measure_one(server, core, command, load, scale):
    """Items a second of a new filter, and milliseconds p50 and p99 of a command."""
    clients, pipeline, commands = load
    count = max(int(commands * scale), 10 * clients * pipeline // 8)
    key = f"{command}-{random.randrange(10**12)}"
    answer(server, "BF.RESERVE", key, RATE, CAPACITY)
    items = COMMANDS[command]
    rate, p50, p99, _ = run_benchmark(server, core, (command, key, *["__rand_int__"] * items), 10**9, count, clients, pipeline)
    if command != "BF.EXISTS":
        found = int(answer(server, "BF.CARD", key))
        need(found >= 0.98 * count * items, f"{command}: {found} of {count * items} items")
    return [rate * items, p50, p99]


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    tamis, module = map(os.path.abspath, sys.argv[1:3])
    try:
        runs, scale = int(sys.argv[3]), float(sys.argv[4])
    except ValueError:
        sys.exit(__doc__)
    need(runs >= 1 and 0.001 <= scale <= 1, "RUNS is below 1, or SCALE is not from 0.001 to 1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    end_with_parent(signal.SIGTERM)
    cores = sorted(os.sched_getaffinity(0))
    kind = subprocess.run(["stat", "-fc", "%T", tempfile.gettempdir()], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    servers = {}
    try:
        servers[OURS] = FilterServe(tamis, cores[0], "filters: {directory: filters, max: 10000, memory: 4GiB}")
        servers[ALWAYS] = Server(cores[0], redis_options(module, "always"))
        servers[EVERYSEC] = Server(cores[0], redis_options(module, "everysec"))
        cases = [(command, load) for command in COMMANDS for load in LOADS]
        results = {(case, name): [] for case in cases for name in servers}
        for _ in range(runs):
            for command, load in cases:
                for name, server in servers.items():
                    results[(command, load), name].append(measure_one(server, cores[-1], command, load, scale))
    finally:
        for server in servers.values():
            server.stop()
    medians = {way: [statistics.median(column) for column in zip(*rows)] for way, rows in results.items()}
    print(f"Items a second, and p50 and p99 of a command in ms; files on {kind}; {MADD} items a BF.MADD\n")
    print(f"{'':<12}{'clients':>8}{'in flight':>10}" + "".join(f"{name:>28}" for name in servers))
    for command, load in cases:
        print(f"{command:<12}{load[0]:>8}{load[1]:>10}" + "".join(
            "{:>12.0f}{:>8.2f}{:>8.2f}".format(*medians[(command, load), name]) for name in servers), flush=True)
    print_bars([(f"{command}, {load[0]} clients, {load[1]} in flight, to {name}", None,
                 medians[(command, load), OURS][0] / medians[(command, load), name][0])
                for name in (ALWAYS, EVERYSEC) for command, load in cases])


if __name__ == "__main__":
    main()
