# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the scripts: timed runs, files outside of the page cache, runs of several programs in turns, and targets."""
import os
import statistics
import subprocess
import sys
import time

SLOW = 15.0  # seconds: a program that takes longer is run once


def need(right, what):
    if not right:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {what}")


def run(argv, stdin, stdout):
    """Wall seconds and peak resident bytes of one run; for a pipeline, the largest peak. Measured by GNU
    time: a child of this process would count the memory that this process had at the fork."""
    environment = dict(os.environ, LC_ALL="C")
    report = stdin + ".time"
    start = time.monotonic()
    with open(stdin, "rb") as source:
        status = subprocess.run(["/usr/bin/time", "-q", "-f", "%M", "-o", report] + argv, stdin=source,
                                stdout=stdout, env=environment).returncode
    seconds = time.monotonic() - start
    need(status == 0, f"{' '.join(argv)}: exit status {status}")
    with open(report, encoding="ascii") as lines:
        return seconds, int(lines.read()) * 1024


def evict(paths):
    """Removes files from the page cache, if the system follows the advice."""
    os.sync()
    for path in paths:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def in_turns(ways, runs, once):
    """Medians of the results of once(way), seconds first, and the number of runs. The programs take turns, so that a slow
    minute of the machine affects all of them. A slow program is run once."""
    results = {way: [once(way)] for way in ways}
    for _ in range(runs - 1):
        for way in ways:
            if results[way][0][0] <= SLOW:
                results[way].append(once(way))
    return {way: ([statistics.median(column) for column in zip(*rows)], len(rows)) for way, rows in results.items()}


def print_bars(bars, title="Bars"):
    """Targets are (what, target, got) or, with an allowance for noise, (what, target, got, slack). A positive target is a
    minimum, a negative one a maximum; None: no target. got is None if it was not measured."""
    print(f"\n{title}\n\n{'':<64}{'wanted':>10}{'got':>9}")
    for what, bar, got, *slack in bars:
        wanted = "-" if bar is None else f"{'>=' if bar > 0 else '<='} {abs(bar):>5g}"
        if got is None:
            print(f"{what:<64}{wanted:>10}{'-':>9}   not measured")
            continue
        held = bar is None or (got >= bar if bar > 0 else got <= -bar + sum(slack))
        print(f"{what:<64}{wanted:>10}{got:>9.3g}{'' if held else '   missed'}")
    print(flush=True)
