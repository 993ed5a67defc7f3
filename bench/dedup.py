#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tamis dedup, compared with common alternatives on the same inputs, in one run.

Usage: dedup.py TAMIS RUNS [W|U|J ...]

    W  tamis gen words 10000000 --seed 7                      words
    U  tamis gen urls 10000000 --duplicates 20% --seed 7      addresses
    J  tamis gen clicks 5000000 --duplicates 10% --seed 7     JSON lines with key event_id, and J.gz, by gzip

Each command reads its input from a file in the page cache and writes to /dev/null. The tables give the median wall
time, of how many runs, the peak resident memory, and the wall time as a multiple of that of the first row. Who takes
more than 15 seconds is run once; the runs of all others are in turns. Every answer is checked first: the records, and
their order where it is kept. A way that accepts a rate may lack as many records as that says.
"""
import hashlib
import math
import os
import shutil
import subprocess
import sys
import tempfile

from timed import in_turns, need, print_bars, run

SET = """
import sys
seen = set()
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    if line not in seen:
        seen.add(line)
        out.write(line)
"""
SQLITE = """
import sqlite3, sys
table = sqlite3.connect(":memory:", isolation_level=None)
table.execute("CREATE TABLE seen (line BLOB PRIMARY KEY) WITHOUT ROWID")
table.execute("BEGIN")
add = table.cursor().execute
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    if add("INSERT OR IGNORE INTO seen VALUES (?)", (line,)).rowcount:
        out.write(line)
"""
JSON = """
import json, sys
seen = set()
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    key = json.loads(line)["event_id"]
    if key not in seen:
        seen.add(key)
        out.write(line)
"""
THREADS = [1, 2]
POINTER = ["--key", "json:/event_id"]
EVENTS = "jq -r .event_id"
CONFIGS = {  # name, options, rate
    "": ([], 1e-9),
    " --expect 1e7 --fpr 1e-6": (["--expect", "1e7", "--fpr", "1e-6"], 1e-6),
    " --expect 1e7": (["--expect", "1e7"], 1e-9),
    " --exact": (["--exact"], 0),
}


class Way:
    """A command. order: "kept", "lost", "keys" (prints keys only), or None (other output); rate: false-positive rate;
    program: the row is left out if it is not installed."""

    def __init__(self, name, argv, order="kept", rate=0.0, program=None):
        self.name, self.argv, self.order, self.rate = name, argv, order, rate
        self.program = program or argv[0]


def ours(tamis, configs, path, more=()):
    """tamis with each configuration and number of threads."""
    found = []
    for config in configs:
        options, rate = CONFIGS[config]
        for count in THREADS:
            argv = [tamis, "dedup", *options, *more, "--threads", str(count), path]
            found.append(Way(f"tamis dedup{config} --threads {count}", argv, rate=rate))
    return found


def line_peers(path):
    return [
        Way("sort -u --parallel=2", ["sort", "-u", "--parallel=2", path], "lost"),
        Way("mawk '!s[$0]++'", ["mawk", "!s[$0]++", path]),
        Way("gawk '!s[$0]++'", ["gawk", "!s[$0]++", path]),
        Way("perl -ne 'print if !$s{$_}++'", ["perl", "-ne", "print if !$s{$_}++", path]),
        Way("python set", [sys.executable, "-c", SET]),
        Way("python sqlite3, INSERT OR IGNORE", [sys.executable, "-c", SQLITE]),
        Way("wc -l (the floor)", ["wc", "-l", path], None),
    ]


def json_peers(path):
    return [
        Way("python json, set", [sys.executable, "-c", JSON]),
        Way("jq -r .event_id | mawk '!s[$0]++'", ["sh", "-c", EVENTS + " \"$0\" | mawk '!s[$0]++'", path], "keys",
            program="jq"),
        Way("wc -l (the floor)", ["wc", "-l", path], None),
    ]


def decompressors(path):
    return [Way(f"{name} alone", [name, "-dc", path], None) for name in ("igzip", "pigz", "gzip")]


# ---- answers ----

def lines_of(path):
    with open(path, "rb") as lines:
        return sum(1 for _ in lines)


def digest(path, through=None):
    """Checksum of a file, or of the output of a command that reads it."""
    if not through:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    with subprocess.Popen(["sh", "-c", through + ' "$0"', path], stdout=subprocess.PIPE,
                          env=dict(os.environ, LC_ALL="C")) as process:
        return hashlib.file_digest(process.stdout, "sha256").hexdigest()


def few_missing(path, wanted, rate, unique):
    """True if the lines are those of `wanted`, except for false positives within the rate."""
    limit = unique * rate + 5 * math.sqrt(unique * rate) + 3
    if not unique - limit <= lines_of(path) <= unique:
        return False
    with open(path, "rb") as found, open(wanted, "rb") as lines:
        return all(line in lines for line in found)  # the search for a line continues after the one before


def check(ways, path, directory):
    """The number of unique records, by the first exact command. All others are checked against it."""
    wanted, out = os.path.join(directory, "wanted"), os.path.join(directory, "out")
    reference = next(way for way in ways if way.order == "kept" and way.rate == 0)
    with open(wanted, "wb") as stdout:
        run(reference.argv, path, stdout)
    unique, digests = lines_of(wanted), {"kept": digest(wanted)}
    through = {"lost": "sort", "keys": EVENTS}
    for way in ways:
        if way.order is None or way is reference:
            continue
        if way.order not in digests:
            digests[way.order] = digest(wanted, through[way.order])
        with open(out, "wb") as stdout:
            run(way.argv, path, stdout)
        same = digest(out) == digests[way.order] or (way.rate and few_missing(out, wanted, way.rate, unique))
        need(same, f"{way.name}: does not print what {reference.name} prints")
    for file in (wanted, out):
        if os.path.exists(file):
            os.unlink(file)
    return unique


# ---- measuring ----

def measure(title, ways, path, runs, directory):
    """Median seconds and peak memory by command."""
    ways = [way for way in ways if shutil.which(way.program)]
    records = "" if path.endswith(".gz") else f"{lines_of(path)} records, "
    unique = check(ways, path, directory)
    os.sync()  # writes the files of the checks to disk before timing
    print(f"{title}: {records}{os.path.getsize(path) / 1e6:.1f} MB, {unique} unique; every way printed the same; "
          f"median of {runs}\n\n"
          f"{'way':<48}{'seconds':>9}{'runs':>6}{'peak MB':>9}{'times tamis':>13}  order", flush=True)
    with open(os.devnull, "wb") as null:
        results = in_turns(ways, runs, lambda way: run(way.argv, path, null))
    first = results[ways[0]][0][0]
    for way, ((seconds, peak), count) in results.items():
        print(f"{way.name:<48}{seconds:>9.3f}{count:>6}{peak / 1e6:>9.0f}{seconds / first:>13.2f}  {way.order or '-'}")
    return ({way.name: result[0][0] for way, result in results.items()},
            {way.name: result[0][1] for way, result in results.items()})


class Measured:
    """Ratios of the measured times, with all threads unless stated otherwise; None if the peer is missing."""

    def __init__(self, seconds, peaks):
        self.seconds, self.peaks = seconds, peaks

    def ours(self, config="", count=THREADS[-1]):
        return self.seconds[f"tamis dedup{config} --threads {count}"]

    def faster(self, peer, config="", count=THREADS[-1]):
        their = self.seconds.get(peer)
        return their / self.ours(config, count) if their else None

    def smaller(self, peer):
        their = self.peaks.get(peer)
        return their / self.peaks[f"tamis dedup --threads {THREADS[-1]}"] if their else None

    def peak(self, config):
        return max(self.peaks[f"tamis dedup{config} --threads {count}"] for count in THREADS) / 1e6


SORT, MAWK, PERL = "sort -u --parallel=2", "mawk '!s[$0]++'", "perl -ne 'print if !$s{$_}++'"
SMALL = " --expect 1e7 --fpr 1e-6"


def measure_words(tamis, runs, path, directory):
    m = Measured(*measure("W", ours(tamis, CONFIGS, path) + line_peers(path), path, runs, directory))
    threads = f"{THREADS[-1]} threads"
    print_bars([
        (f"W, default settings, {threads}: times as fast as sort -u", 9, m.faster(SORT)),
        (f"W, default settings, {threads}: times as fast as mawk", 45, m.faster(MAWK)),
        (f"W, default settings, {threads}: times as fast as perl", 18, m.faster(PERL)),
        (f"W, default settings, {threads}: mawk's memory to ours", 5, m.smaller(MAWK)),
        (f"W,{SMALL}, {threads}: times as fast as sort -u", 13, m.faster(SORT, SMALL)),
        (f"W,{SMALL}: peak MB", -48, m.peak(SMALL)),
        (f"W, --exact, {threads}: times as fast as sort -u", 5, m.faster(SORT, " --exact")),
    ])


def measure_urls(tamis, runs, path, directory):
    m = Measured(*measure("U", ours(tamis, CONFIGS, path) + line_peers(path), path, runs, directory))
    print_bars([
        ("U, default settings, 1 thread: times as fast as sort -u", 12, m.faster(SORT, count=1)),
        ("U, default settings, 2 threads: times as fast as sort -u", 20, m.faster(SORT, count=2)),
        ("U, default settings: mawk's memory to ours", 5, m.smaller(MAWK)),
    ])


def measure_clicks(tamis, runs, path, directory):
    ways = ours(tamis, [""], path, POINTER) + json_peers(path)
    m = Measured(*measure("J, by json:/event_id", ways, path, runs, directory))
    compressed = path + ".gz"
    with open(compressed, "wb") as out:
        subprocess.run(["gzip", "-c", path], stdout=out, check=True)
    print()
    ways = ours(tamis, ["", " --exact"], compressed, POINTER) + decompressors(compressed)
    z = Measured(*measure("J.gz, by json:/event_id", ways, compressed, runs, directory))
    alone = [z.seconds[way.name] for way in decompressors(compressed) if way.name in z.seconds]
    print_bars([
        ("J, 1 thread: times as fast as python's json", 20, m.faster("python json, set", count=1)),
        ("J.gz: our time to that of the fastest decompressor alone", -1.05,
         z.ours() / min(alone) if alone else None),
    ])


INPUTS = {
    "W": (measure_words, ["words", "10000000"]),
    "U": (measure_urls, ["urls", "10000000", "--duplicates", "20%"]),
    "J": (measure_clicks, ["clicks", "5000000", "--duplicates", "10%"]),
}


def main():
    if len(sys.argv) < 3 or not sys.argv[2].isdigit() or int(sys.argv[2]) < 1 or set(sys.argv[3:]) - set(INPUTS):
        sys.exit(__doc__)
    tamis, runs = sys.argv[1], int(sys.argv[2])
    for name in dict.fromkeys(sys.argv[3:] or INPUTS):
        part, made = INPUTS[name]
        with tempfile.TemporaryDirectory(prefix="tamis-bench-") as directory:
            path = os.path.join(directory, name)
            with open(path, "wb") as out:
                subprocess.run([tamis, "gen", *made, "--seed", "7"], stdout=out, check=True)
            part(tamis, runs, path, directory)


if __name__ == "__main__":
    main()
