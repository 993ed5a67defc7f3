#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tamis dedup, compared with the lower bound for its work, on one thread.

Usage: stages.py TAMIS BENCH_STAGES RUNS [W|U ...]

W and U are the words and addresses of dedup.py. BENCH_STAGES does the necessary steps only, one
after the other; its source explains them. Nanoseconds a record, medians of RUNS in turns. The output of
`tamis dedup --profile` for one run follows.
"""
import os
import subprocess
import sys
import tempfile

from dedup import INPUTS
from timed import in_turns, need, run

STEPS = ["read", "split", "hash", "touch", "copy"]
WAYS = [["--expect", "1e7", "--fpr", "1e-6"], ["--expect", "1e7"], []]


def floor(program, path, records):
    """Seconds of the run, of each step, and bytes of the table."""
    out = subprocess.run([program, path, str(records)], stdout=subprocess.PIPE, check=True).stdout.decode()
    report = dict(line.split() for line in out.splitlines())
    need(int(report["records"]) == records, f"{report['records']} of {records} records were read")
    return [float(report[name]) for name in ["all", *STEPS]] + [int(report["bytes"]), int(report["copied"])]


def measure(tamis, program, runs, name, path, records):
    single = ["--threads", "1"]
    ways = {" ".join(["tamis dedup", *options, *single]): [tamis, "dedup", *options, *single, path] for options in WAYS}

    def once(way):
        if way == "floor":
            return floor(program, path, records)
        with open(os.devnull, "wb") as null:
            return run(ways[way], path, null)

    results = in_turns(["floor", *ways], runs, once)
    (total, *steps, size, copied), _ = results.pop("floor")
    bytes_in, ns = os.path.getsize(path), 1e9 / records
    print(f"{name}: {records} records, {bytes_in / 1e6:.1f} MB; the floor copies {copied:.0f} and has a table of "
          f"{size / 1e6:.0f} MB; median of {runs}\n\n{'':<54}{'ns a record':>12}{'times floor':>13}")
    for step, seconds in zip(STEPS, steps):
        print(f"  {step:<52}{seconds * ns:>12.1f}")
    print(f"{'floor, its steps one after the other':<54}{total * ns:>12.1f}{1:>13.2f}")
    for way, ((seconds, _), _) in results.items():
        print(f"{way:<54}{seconds * ns:>12.1f}{seconds / total:>13.2f}")
    print(flush=True)
    for way, argv in ways.items():
        report = subprocess.run([*argv[:2], "--profile", *argv[2:]], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, check=True).stderr.decode()
        print(f"{way} --profile, one run\n{report}", flush=True)


def main():
    if len(sys.argv) < 4 or not sys.argv[3].isdigit() or int(sys.argv[3]) < 1 or set(sys.argv[4:]) - {"W", "U"}:
        sys.exit(__doc__)
    tamis, program, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    for name in dict.fromkeys(sys.argv[4:] or "WU"):
        _, made = INPUTS[name]
        with tempfile.TemporaryDirectory(prefix="tamis-bench-") as directory:
            path = os.path.join(directory, name)
            with open(path, "wb") as out:
                subprocess.run([tamis, "gen", *made, "--seed", "7"], stdout=out, check=True)
            os.sync()
            measure(tamis, program, runs, name, path, int(made[1]))


if __name__ == "__main__":
    main()
