#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tamis dedup --state, compared with a run without it, the disk alone, and databases; and the time of its next start.

Usage: state.py TAMIS BENCH_STATE BENCH_KEYS [RUNS [SCALE]]

BENCH_STATE and BENCH_KEYS are the programs of bench_state.c and bench_keys.c; each way is run RUNS (default 5) times;
SCALE is 1 (default) for the published numbers, or less for a short run. Inputs, outputs, states and databases are in one
directory in TMPDIR, which should be on a disk: commits wait for fsync.

    W  tamis gen words 10000000 --seed 7                      words
    U  tamis gen urls 10000000 --duplicates 20% --seed 7      addresses

Each run begins with new files, and only when all that others wrote is on the disk. "the disk" writes as many bytes as
the output has, and 16 for each of its records, as the log has, with fsync of both after each 64 MiB of output, and does
nothing else. The databases do by SQLite (INSERT OR IGNORE; WAL, synchronous=FULL) and by LMDB (MDB_NOOVERWRITE) what
--state does: a commit each 64 MiB of records or second, of the records seen and of the places in input and output,
after fsync of the output; in C, with the whole input mapped. All must print the same bytes. Medians of wall seconds;
who takes more than 15 is run once; the runs of all others are in turns.
"""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from dedup import INPUTS, digest, lines_of
from timed import evict, in_turns, need, print_bars, run

KEYS = [10_000_000, 100_000_000]
LOGGED = 16  # bytes of a record in the log
DISK_BYTES = 6e9  # bytes of disk at SCALE 1: log and snapshot of the larger state, and the log that the snapshot replaces
PLAIN, STATE, DISK = "tamis dedup {X} -o OUT", "tamis dedup --state S {X} -o OUT", "the disk"
DATABASES = {"sqlite": ("SQLite, INSERT OR IGNORE", 20), "lmdb": ("LMDB, MDB_NOOVERWRITE", 10)}


class Bench:
    def __init__(self, tamis, program, keys, runs, scale, directory):
        self.tamis, self.program, self.keys, self.directory = tamis, program, keys, directory
        self.runs, self.scale = runs, scale
        self.databases = subprocess.check_output([program, "databases"], text=True).split()

    def path(self, name):
        return os.path.join(self.directory, name)

    def scaled(self, count):
        return max(int(count * self.scale), 1)

    def bar(self, wanted):
        """The targets are for SCALE 1."""
        return wanted if self.scale == 1 else None

    def new_directory(self):
        """Makes an empty directory for the outputs, and syncs all earlier writes."""
        shutil.rmtree(self.path("new"), ignore_errors=True)
        os.mkdir(self.path("new"))
        os.sync()
        return self.path("new")


class Way:
    """A command that writes into the directory "new"."""

    def __init__(self, name, argv):
        self.name, self.argv = name, argv


def once(b, way, path):
    b.new_directory()
    with open(os.devnull, "wb") as null:
        return run(way.argv, path, null)


# ---- a run with a state ----

def ways_of(b, name, path):
    out, new = b.path("new/out"), b.path("new")
    ways = [Way(PLAIN.format(X=name), [b.tamis, "dedup", "-q", path, "-o", out]),
            Way(STATE.format(X=name), [b.tamis, "dedup", "-q", "--state", os.path.join(new, "S"), path, "-o", out])]
    if name == "W":
        ways += [Way(DATABASES[base][0], [b.program, base, new, path]) for base in b.databases]
    return ways


def check(b, ways, path):
    """Bytes and records of the output, which must be the same for all, and the commits of the state."""
    wanted, found, commits = None, None, 0
    for way in ways:
        once(b, way, path)
        out = b.path("new/out")
        if wanted is None:
            wanted, found = digest(out), (os.path.getsize(out), lines_of(out))
        need(digest(out) == wanted, f"{way.name}: does not print what {ways[0].name} prints")
        if os.path.isdir(b.path("new/S")):
            output = subprocess.check_output([b.tamis, "state", "show", "--json", b.path("new/S")])
            commits = json.loads(output)["commits"]
    return (*found, commits)


def writing(b, name):
    kind, count, *more = INPUTS[name][1]
    path, records = b.path(name), b.scaled(int(count))
    with open(path, "wb") as file:
        subprocess.run([b.tamis, "gen", kind, str(records), *more, "--seed", "7"], stdout=file, check=True)
    ways = ways_of(b, name, path)
    size, unique, commits = check(b, ways, path)
    ways.insert(2, Way(DISK, [b.program, "disk", b.path("new"), str(size), str(LOGGED * unique)]))
    results = in_turns(ways, b.runs, lambda way: once(b, way, path))
    seconds = {way.name: result[0][0] for way, result in results.items()}
    plain, state = seconds[PLAIN.format(X=name)], seconds[STATE.format(X=name)]
    print(f"{name}: {records} records, {os.path.getsize(path) / 1e6:.1f} MB; output {size / 1e6:.1f} MB, "
          f"{unique} records; log {LOGGED * unique / 1e6:.1f} MB in {commits} commits;\n"
          f"every way printed the same; median of {b.runs}\n\n"
          f"{'way':<36}{'seconds':>9}{'runs':>6}{'peak MB':>9}{'M records/s':>13}{'times --state':>15}")
    for way, ((wall, peak), runs) in results.items():
        rate = records / wall / 1e6
        print(f"{way.name:<36}{wall:>9.3f}{runs:>6}{peak / 1e6:>9.0f}{rate:>13.2f}{wall / state:>15.2f}")
    bars = [(f"{name}: rate with --state to that without", b.bar(0.8), plain / state),
            (f"{name}: the disk's rate to that without --state", None, plain / seconds[DISK])]
    if name == "W":
        bars += [(f"{name}, --state: times as fast as {title}", b.bar(bar),
                  seconds[title] / state if title in seconds else None) for title, bar in DATABASES.values()]
    print_bars(bars)
    os.unlink(path)


# ---- starting again ----

def make_logged(b, count):
    """A state that was killed before its first snapshot, so that all of its keys are in the log."""
    state = os.path.join(b.new_directory(), "S")
    subprocess.run([b.program, "log", state, str(count)], check=True)
    return state


def make_hinted(b, count):
    """A state of a run over a file, whose size gave a size hint. With up to some 10^7 keys it has no snapshot."""
    path = os.path.join(b.new_directory(), "keys")
    with open(path, "wb") as file:
        subprocess.run([b.keys, str(count)], stdout=file, check=True)
    state = b.path("new/S")
    subprocess.run([b.tamis, "dedup", "-q", "--state", state, path, "-o", b.path("new/out")], check=True)
    return state


def make_ended(b, count):
    """A state after a run, with a snapshot if one is due. The output of the run is discarded."""
    state = os.path.join(b.new_directory(), "S")
    with subprocess.Popen([b.keys, str(count)], stdout=subprocess.PIPE) as source:
        done = subprocess.run([b.tamis, "dedup", "-q", "--state", state, "-o", os.devnull], stdin=source.stdout,
                              check=False)
        source.stdout.close()
    need(done.returncode == 0, f"tamis dedup --state: exit status {done.returncode}")
    return state


def time_open(b, state):
    """Seconds, keys read from the log, all keys, bytes of log and snapshot."""
    output = subprocess.check_output([b.program, "open", state], text=True).split()
    return [float(output[0]), *map(int, output[1:])]


def time_start(b, state, number):
    """Seconds of a run without input, from start to end."""
    empty = b.path("empty")
    with open(empty, "wb"):
        pass
    begun = time.monotonic()
    subprocess.run([b.tamis, "dedup", "-q", "--state", state, empty, "-o", b.path(f"new/out{number}")], check=True)
    return time.monotonic() - begun


def files_below(directory):
    return [os.path.join(directory, name) for name in sorted(os.listdir(directory))]


def need_keys(found, count):
    need(0 <= count - found <= 3 + 1e-8 * count, f"the state has {found} keys instead of {count}")


def replay(b, count, make, title):
    """Opens the log of a state by the library, without the start of a process."""
    state = make(b, count)
    os.sync()
    rows = [time_open(b, state) for _ in range(b.runs)]
    _, replayed, keys, log, _ = rows[0]
    need_keys(keys, count)
    need(replayed == keys, f"{replayed} of {keys} keys came out of the log, and the others out of a snapshot")
    seconds = statistics.median(row[0] for row in rows)
    print(f"{keys:>11}  {title:<20}{log / 1e6:>8.1f}{seconds:>10.3f}{keys / seconds / 1e6:>13.1f}", flush=True)
    return f"{count:.0e} keys, {title}: million entries of the log a second", b.bar(20), keys / seconds / 1e6


def start(b, count):
    state = make_ended(b, count)
    _, replayed, keys, log, snapshot = time_open(b, state)
    need_keys(keys, count)
    warm, cold = [], []
    for i in range(b.runs):
        os.sync()
        warm.append(time_start(b, state, 2 * i))
        evict(files_below(state))
        cold.append(time_start(b, state, 2 * i + 1))
    print(f"{keys:>11}{log / 1e6:>10.1f}{snapshot / 1e6:>13.1f}{replayed:>11}{statistics.median(warm):>10.3f}"
          f"{statistics.median(cold):>10.3f}", flush=True)
    return statistics.median(warm)


def starting(b):
    counts = [b.scaled(count) for count in KEYS]
    print("Replay: a state without a snapshot, all of whose keys come out of its log, opened: of a run over a file, whose\n"
          f"size is a hint of their number, or killed after the last one, without a hint; median of {b.runs}\n\n"
          f"{'keys':>11}  {'':<20}{'log MB':>8}{'seconds':>10}{'M entries/s':>13}", flush=True)
    bars = [replay(b, counts[0], make_hinted, "size hint")]
    bars += [replay(b, count, make_logged, "no size hint") for count in counts]
    print("\nStart: bench_keys KEYS | tamis dedup --state S -o /dev/null, then tamis dedup --state S EMPTY -o OUT,\n"
          f"from its start to its end, with the files of S in memory (warm) and without (cold); median of {b.runs}\n\n"
          f"{'keys':>11}{'log MB':>10}{'snapshot MB':>13}{'replayed':>11}{'warm s':>10}{'cold s':>10}", flush=True)
    bars += [(f"{count:.0e} keys: seconds of a start", b.bar(-5), start(b, count)) for count in counts]
    print_bars(bars)


def wrong(what):
    print(f"state.py: {what}; use ./dev bench state [RUNS [SCALE]]", file=sys.stderr)
    sys.exit(2)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    given = sys.argv[4:]
    if len(given) > 2:
        wrong(f"'{given[2]}' is one argument too many")
    runs, scale = given + ["5", "1"][len(given):]
    if not re.fullmatch("[1-9][0-9]{0,5}", runs):
        wrong(f"'{runs}': expected a number of runs from 1")
    if not (re.fullmatch(r"[0-9]*\.?[0-9]+", scale) and 0.001 <= float(scale) <= 1):
        wrong(f"'{scale}': expected a scale from 0.001 to 1")
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as directory:
        b = Bench(*sys.argv[1:4], int(runs), float(scale), directory)
        free = shutil.disk_usage(directory).free
        need(free >= DISK_BYTES * b.scale, f"{directory} has {free / 1e9:.1f} GB free, {DISK_BYTES * b.scale / 1e9:.1f} are needed;"
             " name a directory with more in TMPDIR, or give a smaller SCALE")
        mount = subprocess.check_output(["df", "--output=fstype,source", directory], text=True)
        kind, device = mount.splitlines()[-1].split(None, 1)
        nothing = "; fsync costs nothing there: name a directory on a disk in TMPDIR" if kind in ("tmpfs", "ramfs") else ""
        print(f"Everything on {device}, {kind}{nothing}\n", flush=True)
        for name in "WU":
            writing(b, name)
        starting(b)


if __name__ == "__main__":
    main()
