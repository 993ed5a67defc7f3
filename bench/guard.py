#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A guard in a process, tamis serve beside redis-server, and an attack on a PostgreSQL with and without it.

Usage: guard.py TAMIS BENCH_GUARD PLOT RUNS SCALE [P|L|A ...]

P is the guard in a process (bench_guard.c), L are GETs over loopback, A is the attack: all, or the named
ones. SCALE is 1 for the published numbers, or less for a short run. Medians of RUNS; the ways take turns.
The attack runs once. The plot of database queries goes to the file PLOT. Exit status 1: the database got more
queries than the filter allows.
"""
import re
import signal
import statistics
import subprocess
import sys

import guard_attack
import guard_serve
from redis import end_with_parent
from timed import need, print_bars

KEYS, LOOKUPS = 1_000_000, 1_000_000


def measure_in_process(program, runs, scale):
    """Bars of lookups in a process."""
    lookups, results, rates = max(int(LOOKUPS * scale), 10_000), {}, []
    for _ in range(runs):
        done = subprocess.run([program, str(max(int(KEYS * scale), 10_000)), str(lookups)], stdout=subprocess.PIPE)
        need(done.returncode == 0, f"bench_guard: exit status {done.returncode}")
        rate, *rows = [line.split("\t") for line in done.stdout.decode().splitlines()]
        rates.append(float(rate[2]))
        for kind, batch, threads, ns in rows:
            results.setdefault((kind, int(batch), int(threads)), []).append(float(ns))
    medians = {way: statistics.median(values) for way, values in results.items()}
    batches = sorted({batch for _, batch, _ in medians})
    print(f"tamis_guard_find_many, ns a key, {KEYS * scale:.0f} rows; false positives: {statistics.median(rates):.2g}\n")
    print(f"{'keys a batch':<24}{'threads':>10}" + "".join(f"{batch:>10}" for batch in batches))
    for kind, threads in dict.fromkeys((kind, threads) for kind, _, threads in medians):
        print(f"{kind:<24}{threads:>10}" + "".join(f"{medians[kind, batch, threads]:>10.1f}" for batch in batches))
    return [(f"absent keys in batches of {batch}, ns a key", -100, medians["absent", batch, 1])
            for batch in batches if batch > 1]


def main():
    if len(sys.argv) < 6 or not re.fullmatch("[1-9][0-9]*", sys.argv[4]) or not set(sys.argv[6:]) <= set("PLA"):
        sys.exit(__doc__)
    tamis, program, plot, runs = *sys.argv[1:4], int(sys.argv[4])
    try:
        scale = float(sys.argv[5])
    except ValueError:
        sys.exit(__doc__)
    need(0.001 <= scale <= 1, "SCALE is not from 0.001 to 1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    end_with_parent(signal.SIGTERM)
    parts, bars, is_kept = sys.argv[6:] or "PLA", [], True
    if "P" in parts:
        bars += measure_in_process(program, runs, scale)
    if "L" in parts:
        bars += guard_serve.measure(tamis, runs, scale)
    if "A" in parts:
        more, is_kept = guard_attack.measure(tamis, scale, plot)
        bars += more
    print_bars(bars)
    need(is_kept, "the database got more queries than first loads and the filter's rate allow")


if __name__ == "__main__":
    main()
