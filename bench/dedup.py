#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tamis dedup beside what people use today, on one input, in one run.

Usage: dedup.py TAMIS RUNS

Each command reads the 10 million words of `tamis gen words 10000000 --seed 7` from a file in the page cache
and writes to /dev/null. The table gives the median wall time, the peak resident memory, and the wall time as
a multiple of tamis'. Every answer is checked first: the number of unique words, and the order where kept.
"""
import hashlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RECORDS = 10_000_000
PYTHON = """
import sys
seen = set()
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    if line not in seen:
        seen.add(line)
        out.write(line)
"""


def commands(tamis, words):
    """(name, argv, keeps order, reads all) of every way that is here."""
    rows = [
        ("tamis dedup", [tamis, "dedup", words], True),
        ("tamis dedup --expect 1e7 --fpr 1e-6", [tamis, "dedup", "--expect", "1e7", "--fpr", "1e-6", words], True),
        ("tamis dedup --expect 1e7", [tamis, "dedup", "--expect", "1e7", words], True),
        ("tamis dedup --exact", [tamis, "dedup", "--exact", words], True),
        ("sort -u", ["sort", "-u", words], False),
        ("mawk '!s[$0]++'", ["mawk", "!s[$0]++", words], True),
        ("gawk '!s[$0]++'", ["gawk", "!s[$0]++", words], True),
        ("perl -ne 'print if !$s{$_}++'", ["perl", "-ne", "print if !$s{$_}++", words], True),
        ("python set", [sys.executable, "-c", PYTHON], True),
        ("wc -l (the floor)", ["wc", "-l", words], None),
    ]
    return [row for row in rows if shutil.which(row[1][0])]


def run(argv, words, stdout):
    """Wall seconds and peak resident bytes of one run. GNU time does the measuring: a child of this process
    would be charged with the memory this process had at the fork."""
    environment = dict(os.environ, LC_ALL="C")
    report = words + ".time"
    start = time.monotonic()
    with open(words, "rb") as stdin:
        status = subprocess.run(["/usr/bin/time", "-q", "-f", "%M", "-o", report] + argv, stdin=stdin,
                                stdout=stdout, env=environment).returncode
    seconds = time.monotonic() - start
    if status != 0:
        sys.exit(f"dedup.py: {' '.join(argv)}: exit status {status}")
    with open(report, encoding="ascii") as lines:
        return seconds, int(lines.read()) * 1024


def digest(path, in_order):
    """Lines of a file and their digest; of the sorted lines where the command loses the order."""
    with open(path, "rb") as lines:
        content = lines.read().splitlines()
    if not in_order:
        content.sort()
    return len(content), hashlib.sha256(b"\n".join(content)).hexdigest()


def check(rows, words, folder):
    """Every way must print the same words, in the same order where it keeps order."""
    out = os.path.join(folder, "out")
    wanted = {}
    for name, argv, in_order in rows:
        if in_order is None:
            continue
        with open(out, "wb") as stdout:
            run(argv, words, stdout)
        for kept in (False, True) if in_order else (False,):
            answer = digest(out, kept)
            if wanted.setdefault(kept, answer) != answer:
                sys.exit(f"dedup.py: {name}: {answer[0]} lines, another way gave {wanted[kept][0]} or other ones")
    return wanted[False][0]


def main():
    if len(sys.argv) != 3 or not sys.argv[2].isdigit() or int(sys.argv[2]) < 1:
        sys.exit(__doc__)
    tamis, runs = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as folder:
        words = os.path.join(folder, "words")
        with open(words, "wb") as out:
            subprocess.run([tamis, "gen", "words", str(RECORDS), "--seed", "7"], stdout=out, check=True)
        rows = commands(tamis, words)
        unique = check(rows, words, folder)
        print(f"{RECORDS} words, {os.path.getsize(words) / 1e6:.1f} MB, {unique} of them unique; "
              f"every way printed the same; median of {runs}\n")
        print(f"{'way':<38}{'seconds':>9}{'peak MB':>9}{'times tamis':>13}  order")
        first = None
        for name, argv, in_order in rows:
            with open(os.devnull, "wb") as null:
                results = [run(argv, words, null) for _ in range(runs)]
            seconds = statistics.median(result[0] for result in results)
            peak = statistics.median(result[1] for result in results)
            first = first or seconds
            order = {True: "kept", False: "lost", None: "-"}[in_order]
            print(f"{name:<38}{seconds:>9.2f}{peak / 1e6:>9.0f}{seconds / first:>13.2f}  {order}", flush=True)
        print()


if __name__ == "__main__":
    main()
