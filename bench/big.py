#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tamis dedup with 10^9 keys.

Usage: big.py TAMIS BENCH_KEYS RUNS COUNT

BENCH_KEYS (bench_keys.c) sends COUNT distinct keys of 16 bytes through a pipe to `tamis dedup --expect COUNT --fpr 1e-9`,
whose output goes to /dev/null. Prints the speed of BENCH_KEYS alone, and the wall time and peak memory of each run. All
keys must be unique, except for false positives within the rate. The targets are for a COUNT of 1e9.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

from timed import need, print_bars

GIB = 1 << 30
RATE = 1e-9
BYTES_A_KEY = 6  # free memory that a run requires


def available():
    with open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def generate(program, count, through=None):
    """Lines a second of the generator, to /dev/null or to a pipe whose reader discards them."""
    start = time.monotonic()
    with subprocess.Popen([program, str(count)], stdout=subprocess.PIPE if through else subprocess.DEVNULL) as source:
        if through:
            subprocess.run(through, stdin=source.stdout, stdout=subprocess.DEVNULL, check=True)
    return count / (time.monotonic() - start)


def once(tamis, program, count, directory):
    """Wall seconds, peak resident bytes, and number of unique lines."""
    report = os.path.join(directory, "time")
    start = time.monotonic()
    with subprocess.Popen([program, str(count)], stdout=subprocess.PIPE) as source:
        done = subprocess.run(["/usr/bin/time", "-q", "-f", "%M", "-o", report, tamis, "dedup", "--json", "--expect",
                               str(count), "--fpr", str(RATE)], stdin=source.stdout, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=False)
        source.stdout.close()
    seconds = time.monotonic() - start
    need(done.returncode == 0, f"tamis: exit status {done.returncode}: {done.stderr.decode().strip()}")
    report = json.loads(done.stderr.decode().splitlines()[-1])
    need(report["records"] == count, f"{report['records']} of {count} records came")
    with open(report, encoding="ascii") as lines:
        return seconds, int(lines.read()) * 1024, report["unique"]


def main():
    try:
        tamis, program, runs, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(float(sys.argv[4]))
    except (IndexError, ValueError):
        sys.exit(__doc__)
    if runs < 1 or not 1000 <= count <= 1e10 or len(sys.argv) != 5:
        sys.exit(__doc__)
    wanted = BYTES_A_KEY * count
    need(available() >= wanted, f"{count} keys take {wanted / GIB:.1f} GiB of free memory, there are "
         f"{available() / GIB:.1f}; end other programs, or give fewer keys: ./dev bench --big RUNS COUNT")
    sample = max(count // 10, 1000)
    print(f"{count} keys of 16 bytes through a pipe, dedup --expect {count} --fpr {RATE:g}\n\nbench_keys alone: "
          f"{generate(program, sample) / 1e6:.0f} M keys/s to /dev/null, "
          f"{generate(program, sample, ['cat']) / 1e6:.0f} M keys/s to cat\n\n"
          f"{'seconds':>9}{'M keys/s':>10}{'peak GiB':>10}{'unique':>14}", flush=True)
    results = []
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as directory:
        for _ in range(runs):
            seconds, peak, unique = once(tamis, program, count, directory)
            print(f"{seconds:>9.1f}{count / seconds / 1e6:>10.1f}{peak / GIB:>10.2f}{unique:>14}", flush=True)
            lost = count - unique
            limit = count * RATE + 5 * math.sqrt(count * RATE) + 3
            need(0 <= lost <= limit, f"{lost} keys were taken for others, {limit:.0f} at the most are right")
            results.append((seconds, peak))
    seconds, peak = (statistics.median(column) for column in zip(*results))
    full = count == 10**9
    print_bars([(f"{count:.0e} keys: seconds", -150 if full else None, seconds),
                (f"{count:.0e} keys: peak GiB", -5 if full else None, peak / GIB)], f"Bars, median of {runs}")


if __name__ == "__main__":
    main()
