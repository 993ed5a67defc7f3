#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Filters in memory, compared with libbloom, Guava, and the cost of touching their memory.

Usage: memory.py TAMIS BENCH_MEMORY GUAVA_MEMORY PEERS RUNS

BENCH_MEMORY is the program of bench_memory.c, which explains the columns; GUAVA_MEMORY is the source GuavaMemory.java,
PEERS the directory of ./dev peers. Medians of RUNS, ns a key; the programs take turns. The memory of a new filter comes
from the system during `add`; Guava's was zeroed by Java before.
"""
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from timed import print_bars

KEYS = 10_000_000
RATES = ["1e-2", "1e-4", "1e-6", "0"]
ADD, _, HIT, MISS = range(4)
BLOCKED, GUAVA64 = 5.5, 20.0  # ns a key at 1e-2
DEBIAN = "/usr/share/java/guava.jar"


def guava(source, peers, scratch):
    """The command of Guava, or None. Prefers the version of ./dev peers, which is newer than Debian's."""
    jars = [os.path.join(peers, name) for name in ("guava.jar", "failureaccess.jar")]
    jars = jars if all(map(os.path.exists, jars)) else [DEBIAN]
    if not (shutil.which("javac") and os.path.exists(jars[0])):
        return None
    path = ":".join([*jars, scratch])
    subprocess.run(["javac", "-cp", path, "-d", scratch, source], check=True)
    return ["java", "-cp", path, "GuavaMemory", str(KEYS)]


def rows_of(argv):
    """A row is (name, rate) and its numbers."""
    out = subprocess.run(argv, stdout=subprocess.PIPE, check=True).stdout.decode()
    return {(name, float(rate)): list(map(float, values))
            for name, rate, *values in (line.split("\t") for line in out.splitlines())}


def print_row(key, values):
    cells = [f"{value:>9.1f}" if not math.isnan(value) else f"{'-':>9}" for value in values[:-1]]
    measured = f"{values[-1]:>12.2e}" if not math.isnan(values[-1]) else f"{'-':>12}"
    print(f"{key[0]:<34}{key[1]:>7.0e}{''.join(cells)}{measured}")


def main():
    if len(sys.argv) != 6 or not sys.argv[5].isdigit() or int(sys.argv[5]) < 1:
        sys.exit(__doc__)
    tamis, program, source, peers = sys.argv[1:5]
    runs, results = int(sys.argv[5]), {}
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as scratch:
        java = guava(source, peers, scratch)
        for _ in range(runs):
            for rate in RATES:
                rows = rows_of([program, rate])
                if java and rate != "0":
                    rows |= rows_of([*java, rate])
                for key, values in rows.items():
                    results.setdefault(key, []).append(values)
    medians = {key: list(map(statistics.median, zip(*rows))) for key, rows in results.items()}
    version = subprocess.run([tamis, "--version"], stdout=subprocess.PIPE, check=True).stdout.decode()
    kernel = next(line.split()[1] for line in version.splitlines() if line.startswith("kernel"))
    print(f"{KEYS} integers of 8 bytes, added in one batch; kernels {kernel}; ns a key, median of {runs}. add: to fresh "
          "memory, again: to\nthat of a filter that was cleared; floor: as many random lines of memory as large as the "
          "blocked filter's,\nchanged (again) or read (hit, miss); threads: of a concurrent filter\n\n"
          f"{'kind':<34}{'rate':>7}{'add':>9}{'again':>9}{'hit':>9}{'miss':>9}{'bits/key':>9}{'measured':>12}")
    for key, values in medians.items():
        print_row(key, values)
    print_bars([(f"{name}, p = 0.01: ns a key, {part}", -bar, medians[name, 0.01][column])
                for name, bar in (("blocked", BLOCKED), ("classic, guava64", GUAVA64))
                for part, column in (("add", ADD), ("hit", HIT), ("miss", MISS))])


if __name__ == "__main__":
    main()
