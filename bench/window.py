#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tamis dedup --window, compared with dedup without it and with a dictionary in Python, in one run.

Usage: window.py TAMIS RUNS

The input is `tamis gen clicks 5000000 --duplicates 10% --seed 7`, whose times are a millisecond apart, as JSON lines and
as lines of time, tab and event_id. Each command reads it from a file in the page cache and writes to /dev/null. A window
of 2 h holds all records; one of 10 min holds an eighth. The table gives the median wall time of RUNS, the peak resident
memory, and the wall time as a multiple of that without --window. A window of 2 h must print what dedup prints without
--window, and so must Python. "durable" is the same with --state, on the disk of TMPDIR: a window of 24 h holds all
records too.
"""
import json
import os
import subprocess
import sys
import tempfile

from keys import digest
from timed import in_turns, need, print_bars, run

RECORDS = 5_000_000
WANTED = 1.5  # at most, times the wall time without --window

PYTHON = """
import sys
window, last = 7_200_000, {}
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    time, key = line.split(b"\\t")
    time = int(time)
    if time - last.get(key, -window - 1) > window:
        last[key] = time
        out.write(line)
"""


def make(tamis, directory):
    lines, pairs = os.path.join(directory, "clicks.jsonl"), os.path.join(directory, "clicks.tsv")
    with open(lines, "wb") as out:
        subprocess.run([tamis, "gen", "clicks", str(RECORDS), "--duplicates", "10%", "--seed", "7"], stdout=out,
                       check=True)
    with open(lines, "rb") as source, open(pairs, "w", encoding="utf-8") as out:
        for line in source:
            click = json.loads(line)
            print(click["ts"], click["event_id"], sep="\t", file=out)
    return lines, pairs


def measure(title, path, rows, runs, out):
    """Rows are (name, argv, prints what the first one prints)."""
    print(f"{title}: {RECORDS} records, {os.path.getsize(path) / 1e6:.0f} MB; median of {runs}\n")
    need(len({digest(argv, path, out) for _, argv, same in rows if same}) <= 1,
         f"{title}: the ways print different records")
    argvs = {name: argv for name, argv, _ in rows}
    with open(os.devnull, "wb") as null:
        results = in_turns(argvs, runs, lambda name: run(argvs[name], path, null))
    first = results[rows[0][0]][0][0]
    print(f"{'way':<44}{'seconds':>9}{'runs':>6}{'peak MB':>9}{'times plain':>13}")
    for name, ((seconds, peak), count) in results.items():
        print(f"{name:<44}{seconds:>9.2f}{count:>6}{peak / 1e6:>9.0f}{seconds / first:>13.2f}")
    print_bars([(f"{title}: {name}, times plain", -WANTED, results[name][0][0] / first)
                for name in argvs if "--window" in name and "threads" not in name])


def durable(tamis, directory, path, options):
    """A command that begins with no state and no output."""
    state, output = os.path.join(directory, "state"), os.path.join(directory, "output")
    return ["sh", "-c", 'rm -rf "$0" "$1"; shift; exec "$@"', state, output, tamis, "dedup", "--state", state, "-o",
            output, "-q", *options, path]


def main():
    tamis, runs = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as directory:
        lines, pairs = make(tamis, directory)
        out = os.path.join(directory, "out")
        for title, path, key, time, more in (
                ("JSON", lines, "json:/event_id", "json:/ts", []),
                ("lines", pairs, "field:2", "field:1", [("python", [sys.executable, "-c", PYTHON], True)])):
            plain = [tamis, "dedup", "--key", key]
            timed = plain + ["--time", time]
            measure(title, path, [("tamis dedup", plain, True),
                                  ("tamis dedup --window 2h", timed + ["--window", "2h"], True),
                                  ("tamis dedup --window 2h --expect 5e6",
                                   timed + ["--window", "2h", "--expect", "5e6"], True),
                                  ("tamis dedup --window 10m", timed + ["--window", "10m"], False),
                                  ("tamis dedup --threads 1", plain + ["--threads", "1"], True),
                                  ("tamis dedup --window 2h --threads 1",
                                   timed + ["--window", "2h", "--threads", "1"], True)] + more, runs, out)
            print()
        measure("durable", lines, [(name, durable(tamis, directory, lines, options), False) for name, options in (
            ("tamis dedup --state", ["--key", "json:/event_id"]),
            ("tamis dedup --state --window 24h",
             ["--key", "json:/event_id", "--time", "json:/ts", "--window", "24h"]),
            ("tamis dedup --state --window 10m",
             ["--key", "json:/event_id", "--time", "json:/ts", "--window", "10m"]))], runs, out)


if __name__ == "__main__":
    main()
