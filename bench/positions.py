#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tamis dedup --state with positions, compared with the same run without, in one run.

Usage: positions.py TAMIS RUNS

The records are lines of partition, offset and event_id of `tamis gen clicks 4000000 --duplicates 10% --seed 7`, in 16
partitions that change every 500 records. State and output are on the disk of TMPDIR, and new for each run. The table
gives the median wall time of RUNS, the peak resident memory, and the wall time as a multiple of that without positions.
"""
import json
import os
import subprocess
import sys
import tempfile

from timed import in_turns, print_bars, run

RECORDS = 4_000_000
WANTED = 1.2  # at most, times the wall time without positions


def make(tamis, directory):
    path = os.path.join(directory, "consumed")
    with open(path, "w", encoding="utf-8") as out:
        clicks = subprocess.Popen([tamis, "gen", "clicks", str(RECORDS), "--duplicates", "10%", "--seed", "7"],
                                  stdout=subprocess.PIPE)
        for number, line in enumerate(clicks.stdout):
            print(f"p{number // 500 % 16}", number, json.loads(line)["event_id"], sep="\t", file=out)
        clicks.wait()
    return path


def main():
    tamis, runs = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as directory:
        path = make(tamis, directory)
        state, output = os.path.join(directory, "state"), os.path.join(directory, "output")
        common = ["sh", "-c", 'rm -rf "$0" "$1"; shift; exec "$@"', state, output, tamis, "dedup", "--state", state,
                  "-o", output, "-q", "--key", "field:3"]
        positions = ["--source", "field:1", "--position", "field:2"]
        argvs = {"tamis dedup --state": common + [path],
                 "tamis dedup --state --position": common + positions + [path],
                 "tamis dedup --state --position, from a pipe": common + positions}
        with open(os.devnull, "wb") as null:
            results = in_turns(argvs, runs, lambda name: run(argvs[name], path, null))
        first = results["tamis dedup --state"][0][0]
        print(f"{RECORDS} records, {os.path.getsize(path) / 1e6:.0f} MB; median of {runs}\n")
        print(f"{'way':<44}{'seconds':>9}{'peak MB':>9}{'times plain':>13}")
        for name, ((seconds, peak), _) in results.items():
            print(f"{name:<44}{seconds:>9.2f}{peak / 1e6:>9.0f}{seconds / first:>13.2f}")
        print_bars([(f"{name}, times plain", -WANTED, results[name][0][0] / first)
                    for name in argvs if "--position" in name])


if __name__ == "__main__":
    main()
