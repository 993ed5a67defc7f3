#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Filters in files: the command and the library, compared with lower bounds and other programs, in one run.

Usage: files.py TAMIS BENCH_FILES GUAVA_CHECK RUNS SCALE

BENCH_FILES is the program of bench_files.c, GUAVA_CHECK the source GuavaCheck.java. SCALE is 1 for the published
numbers (10 GiB of disk, 6 of memory), or less for a short run. Files are in TMPDIR and in the page cache, except for rows
named cold. Wall times, medians of RUNS; every answer is checked before it is timed.
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from timed import evict, need

MIB, GIB = 1 << 20, 1 << 30
KEYS_A_GIB = 552_555_606  # keys of a blocked filter at a rate of 1e-3: tamis plan --kind blocked --fpr 1e-3 --memory 1GiB
GUAVA = "/usr/share/java/guava.jar"


class Bench:
    def __init__(self, tamis, program, guava_check, runs, scale, directory):
        self.tamis, self.program, self.guava_check = tamis, program, guava_check
        self.runs, self.scale, self.directory = runs, scale, directory

    def path(self, name):
        return os.path.join(self.directory, name)

    def size(self, size):
        """The number of bytes at this scale, in whole MiB."""
        return max(int(size * self.scale) // MIB, 1) * MIB

    def run(self, argv, stdin=os.devnull, stdout=os.devnull, fine=(0,)):
        """Wall seconds, peak resident bytes, and bytes read from the disk. Measured by GNU time: a child of this
        process would count the memory that this process had at the fork."""
        report = self.path("time")
        start = time.monotonic()
        with open(stdin, "rb") as source, open(stdout, "wb") as sink:
            status = subprocess.run(["/usr/bin/time", "-q", "-f", "%M %I", "-o", report] + argv, stdin=source,
                                    stdout=sink, env=dict(os.environ, LC_ALL="C")).returncode
        seconds = time.monotonic() - start
        if status not in fine:
            sys.exit(f"files.py: {' '.join(argv)}: exit status {status}")
        with open(report, encoding="ascii") as lines:
            peak, blocks = lines.read().split()
        return seconds, int(peak) * 1024, int(blocks) * 512

    def median(self, argv, before=None, **more):
        """Seconds. `before` is called before each run and not timed."""
        seconds = []
        for _ in range(self.runs):
            if before:
                before()
            seconds.append(self.run(argv, **more)[0])
        return statistics.median(seconds)

    def output(self, argv, stdin=os.devnull, fine=(0,)):
        self.run(argv, stdin=stdin, stdout=self.path("out"), fine=fine)
        with open(self.path("out"), "rb") as out:
            return out.read()


def make_words(b, count, name, seed=7):
    with open(b.path(name), "wb") as out:
        subprocess.run([b.tamis, "gen", "words", str(count), "--seed", str(seed)], stdout=out, check=True)
    return b.path(name)


def make_misses(b, words, name):
    """The words in capitals, none of which is in the filter."""
    with open(words, "rb") as lines, open(b.path(name), "wb") as out:
        out.write(lines.read().upper())
    return b.path(name)


def make_filter(b, name, size, words=os.devnull):
    expect = str(KEYS_A_GIB * size // GIB)
    b.run([b.tamis, "build", "-q", "--kind", "blocked", "--fpr", "1e-3", "--expect", expect, "-o", b.path(name), words])
    return b.path(name)


# ---- records ----

def records(b):
    """build, check and add, compared with dedup, which reads the same words and adds each to a filter of that size."""
    count = int(10e6 * b.scale)
    words = make_words(b, count, "words")
    misses = make_misses(b, words, "misses")
    kept, empty, filled = b.path("kept.tamis"), b.path("empty.tamis"), b.path("filled.tamis")
    expect = ["--expect", str(count)]
    b.run([b.tamis, "build", "-q", *expect, "-o", kept, words])
    b.run([b.tamis, "build", "-q", *expect, "-o", empty, os.devnull])
    need(b.output([b.tamis, "check", kept, words]) == open(words, "rb").read(), "check does not find every word")
    found = int(b.output([b.tamis, "check", "-c", kept, misses], fine=(0, 1)))
    need(found < 10 + 2e-6 * count, f"check finds {found} of {count} words that are not there")
    unique = int(b.output([b.tamis, "dedup", "--count", *expect, words]).split()[0])
    restore = lambda: shutil.copyfile(empty, filled)
    rows = [
        ("tamis dedup --expect N", [b.tamis, "dedup", *expect, words], {}),
        ("tamis build --expect N", [b.tamis, "build", "-q", *expect, "-o", filled, words], {}),
        ("tamis build (counts first)", [b.tamis, "build", "-q", "-o", filled, words], {}),
        ("tamis add, to an empty filter", [b.tamis, "add", "-q", filled, words], {"before": restore}),
        ("tamis check, all hits, printed", [b.tamis, "check", kept, words], {}),
        ("tamis check -c, all hits", [b.tamis, "check", "-c", kept, words], {}),
        ("tamis check -c, all misses", [b.tamis, "check", "-c", kept, misses], {"fine": (0, 1)}),
        ("wc -l (the floor)", ["wc", "-l", words], {}),
    ]
    print(f"Records: N = {count} words, {unique} of them unique, {os.path.getsize(words) / 1e6:.1f} MB; rate 1e-6\n")
    print(f"{'command':<34}{'seconds':>9}{'M records/s':>13}{'times dedup':>13}")
    first = None
    for name, argv, more in rows:
        seconds = b.median(argv, **more)
        first = first or seconds
        print(f"{name:<34}{seconds:>9.2f}{count / seconds / 1e6:>13.1f}{seconds / first:>13.2f}", flush=True)
    b.run([b.tamis, "add", "-q", filled, words])
    need(int(b.output([b.tamis, "check", "-c", filled, words])) == count, "add did not add every word")
    print()


# ---- lookups ----

def queries(b):
    lines, size = int(1e8 * b.scale), b.size(GIB)
    print(f"Questions through the C API: {lines} cache lines of a mapped file, half of the keys in it; ns a key. first: "
          "each\nblock is verified when it is first used; warm: all are. reads: the same keys made, and as many random "
          "lines of\nthe file read, and nothing else; fetched: each line prefetched long before it is read. ratio: warm "
          "to it\n", flush=True)
    subprocess.run([b.program, "ask", b.directory, str(lines), str(size)], check=True)
    print()


def opening(b):
    sizes = [b.size(64 * MIB), b.size(GIB), b.size(6 * GIB)]
    paths = [make_filter(b, f"open{i}.tamis", size) for i, size in enumerate(sizes)]
    print("Opening a .tamis file, and the first question: microseconds, and what both made resident\n", flush=True)
    subprocess.run([b.program, "open", *paths], check=True)
    for path in paths:
        os.unlink(path)
    print()


# ---- whole files ----

def whole_row(row, moved, seconds, first, cold=None):
    line = f"{row:<26}{moved / 1e9:>7.2f}{seconds:>9.3f}{moved / seconds / 1e9:>8.2f}{seconds / first:>11.2f}"
    if cold:
        line += f"{cold[0]:>9.3f}{moved / cold[0] / 1e9:>8.2f}{cold[1]:>11.3f}"
    print(line, flush=True)


def whole_rows(b, name, argv, paths, written=0):
    """Warm and cold, with the bytes read from the disk for each byte of the files. cat is the fastest way to read
    them. If something is written, cp and sync of one file is the lower bound. The last row is without the time of fsync:
    the time of the command itself."""
    size, copy = sum(os.path.getsize(path) for path in paths), b.path("copy")
    sinks = [("cat FILES", ["cat", *paths])]
    if written:
        sinks.append(("cp FILE, sync", ["sh", "-c", 'cp "$0" "$1" && sync "$1"', paths[0], copy]))
    sinks.append((name, argv))
    first = None
    for row, command in sinks:
        moved = 2 * written if row.startswith("cp") else size + (written if command is argv else 0)
        warm = b.median(command)
        evict(paths)
        cold, _, read = b.run(command)
        whole = os.path.getsize(paths[0]) if row.startswith("cp") else size
        first = first or warm
        whole_row(row, moved, warm, first, (cold, read / whole))
    if not written:
        return
    waiting = b.median(["sync", copy], before=lambda: shutil.copyfile(paths[0], copy))
    whole_row("  fsync of its result", written, waiting, first)
    whole_row("  and all but that", moved, max(warm - waiting, 1e-3), first)
    os.unlink(copy)


def whole(b):
    words = make_words(b, 100_000, "some")
    copied = subprocess.run([b.program, "copy", str(b.size(GIB))], stdout=subprocess.PIPE, check=True).stdout
    print(f"Whole files, GB read and written; memcpy in this run: {float(copied):.2f} GB/s. from disk: bytes read from it"
          " for each byte\nof the files, in the cold run\n")
    print(f"{'command':<26}{'GB':>7}{'warm s':>9}{'GB/s':>8}{'times cat':>11}{'cold s':>9}{'GB/s':>8}{'from disk':>11}")
    single = make_filter(b, "one.tamis", b.size(GIB), words)
    b.output([b.tamis, "verify", single])
    whole_rows(b, "verify", [b.tamis, "verify", "-q", single], [single])
    os.unlink(single)
    parts, size, every = [], b.size(256 * MIB), make_words(b, 0, "every")
    for i in range(8):
        sample = make_words(b, 1000, "some", seed=i)
        with open(sample, "rb") as lines, open(every, "ab") as out:
            out.write(lines.read())
        parts.append(make_filter(b, f"part{i}.tamis", size, sample))
    out = b.path("union.tamis")
    for count in (2, 4, 8):
        argv = [b.tamis, "merge", "-q", "-o", out, *parts[:count]]
        b.run(argv)
        with open(every, "rb") as lines:
            queried = lines.read().splitlines()[:1000 * count]
        with open(b.path("asked"), "wb") as file:
            file.write(b"\n".join(queried) + b"\n")
        found = int(b.output([b.tamis, "check", "-c", out, b.path("asked")]))
        need(found == len(queried), f"the union of {count} has {found} of {len(queried)} words")
        whole_rows(b, f"merge of {count}", argv, parts[:count], os.path.getsize(out))
    for path in [*parts, out]:
        os.unlink(path)
    print()


# ---- files of other programs ----

def mixed(b, count, name):
    """Half of the lines are in the filters: the first words of "words"."""
    with open(b.path("words"), "rb") as hits, open(b.path("misses"), "rb") as misses, open(b.path(name), "wb") as out:
        for _ in range(count // 2):
            out.write(hits.readline())
            out.write(misses.readline())
    return b.path(name)


def foreign_row(name, count, theirs, ours):
    print(f"{name:<34}{count:>10}{theirs:>10.2f}{ours:>10.2f}{theirs / ours:>9.1f}", flush=True)


def dcso(b):
    if not shutil.which("bloom"):
        print("bloom of DCSO is not here\n")
        return
    path, count = b.path("d.bloom"), int(10e6 * b.scale)
    b.run([b.tamis, "build", "-q", "--format", "dcso", "--expect", str(count), "-o", path, b.path("words")])
    for count in (count // 10, count):
        lines = mixed(b, count, "lines")
        theirs, ours = ["bloom", "check", path], [b.tamis, "check", path, lines]
        need(b.output(theirs, stdin=lines) == b.output(ours), "bloom check and tamis check print other lines")
        # One more run of a slow peer is enough.
        slow = b.run(theirs, stdin=lines)[0] if count > 2e6 else b.median(theirs, stdin=lines)
        foreign_row("DCSO: bloom check", count, slow, b.median(ours))


def guava(b):
    if not (shutil.which("javac") and os.path.exists(GUAVA)):
        print("Guava or a JDK is not here\n")
        return
    path, count = b.path("g.guava"), int(10e6 * b.scale)
    b.run([b.tamis, "build", "-q", "--format", "guava", "--scheme", "guava64", "--expect", str(count), "-o", path,
           b.path("words")])
    subprocess.run(["javac", "-cp", GUAVA, "-d", b.directory, b.guava_check], check=True)
    lines = mixed(b, count, "lines")
    theirs = ["java", "-cp", f"{GUAVA}:{b.directory}", "GuavaCheck", path, lines]
    ours = [b.tamis, "check", "-c", path, lines]
    found, inside = b.output(theirs).split()
    need(found == b.output(ours).strip(), "Guava and tamis check -c count other lines")
    foreign_row("Guava: mightContain, whole JVM", count, b.median(theirs), b.median(ours))
    times = [float(b.output(theirs).split()[1]) for _ in range(b.runs)]
    foreign_row("Guava: the loop of questions alone", count, statistics.median(times + [float(inside)]), b.median(ours))


def foreign(b):
    print("Files of other programs, asked by them and by tamis check; seconds, start and reading of the filter"
          " included\n")
    print(f"{'their command':<34}{'lines':>10}{'theirs':>10}{'tamis':>10}{'ratio':>9}")
    dcso(b)
    guava(b)
    print()


def main():
    if len(sys.argv) != 6 or not re.fullmatch("[1-9][0-9]*", sys.argv[4]):
        sys.exit(__doc__)
    try:
        scale = float(sys.argv[5])
    except ValueError:
        sys.exit(__doc__)
    if not 0.001 <= scale <= 1:
        sys.exit("files.py: SCALE is not from 0.001 to 1")
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as directory:
        b = Bench(*sys.argv[1:4], int(sys.argv[4]), scale, directory)
        for part in (records, foreign, queries, opening, whole):
            part(b)


if __name__ == "__main__":
    main()
