# SPDX-License-Identifier: BSD-2-Clause
"""What the scripts share: a timed run, files that are not in memory, runs of several ways in turns, and how a bar is
told."""
import os
import statistics
import subprocess
import sys
import time

SLOW = 15.0  # seconds: who takes longer is run once


def need(right, what):
    if not right:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {what}")


def run(argv, stdin, stdout):
    """Wall seconds and peak resident bytes of one run; of a pipeline, the peak of its largest. GNU time does the
    measuring: a child of this process would be charged with the memory this process had at the fork."""
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
    """Out of the page cache, as far as the system takes advice."""
    os.sync()
    for path in paths:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def in_turns(ways, runs, once):
    """Medians of what once(way) measures, seconds first, by way, and how many runs they are of. The ways take turns, so
    that a slow minute of the machine hits all; who is slow has one."""
    results = {way: [once(way)] for way in ways}
    for _ in range(runs - 1):
        for way in ways:
            if results[way][0][0] <= SLOW:
                results[way].append(once(way))
    return {way: ([statistics.median(column) for column in zip(*rows)], len(rows)) for way, rows in results.items()}


def print_bars(bars, title="Bars"):
    """Bars are (what, bar, got) or, with what chance may add to it, (what, bar, got, slack): at least `bar` is wanted,
    or below zero at most so much; None has no bar. What was not measured got None."""
    print(f"\n{title}\n\n{'':<64}{'wanted':>10}{'got':>9}")
    for what, bar, got, *slack in bars:
        wanted = "-" if bar is None else f"{'>=' if bar > 0 else '<='} {abs(bar):>5g}"
        if got is None:
            print(f"{what:<64}{wanted:>10}{'-':>9}   not measured")
            continue
        held = bar is None or (got >= bar if bar > 0 else got <= -bar + sum(slack))
        print(f"{what:<64}{wanted:>10}{got:>9.3g}{'' if held else '   missed'}")
    print(flush=True)
