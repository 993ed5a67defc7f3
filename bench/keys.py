#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tamis dedup by a key of the record, compared with Python's json and csv modules, on one input each, in one run.

Usage: keys.py TAMIS RUNS

The input is `tamis gen clicks 5000000 --duplicates 10% --seed 7`: JSON lines, and the same records as CSV with a
header, some of whose fields have to be quoted; a record is known by its event_id. Each command reads it from a file in
the page cache and writes to /dev/null. The table gives the median wall time, of how many runs (one of who takes more
than 15 seconds), the peak resident memory, and the wall time as a multiple of tamis'. All that keep the records must
print the same bytes; it is looked at first.
"""
import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

from dedup import JSON
from timed import in_turns, need, print_bars, run

RECORDS = 5_000_000
WANTED = 8  # times as fast as Python's modules

CSV = """
import csv, io, sys
seen = set()
lines = csv.reader(io.TextIOWrapper(sys.stdin.buffer, newline="\\n"), strict=True)
out = csv.writer(io.TextIOWrapper(sys.stdout.buffer, newline=""), lineterminator="\\n")
header = next(lines)
out.writerow(header)
column = header.index("event_id")
for row in lines:
    if row[column] not in seen:
        seen.add(row[column])
        out.writerow(row)
"""


def make(tamis, directory):
    """The two inputs. A comma is added to the user agents, as real ones have it."""
    lines, table = os.path.join(directory, "clicks.jsonl"), os.path.join(directory, "clicks.csv")
    with open(lines, "wb") as out:
        subprocess.run([tamis, "gen", "clicks", str(RECORDS), "--duplicates", "10%", "--seed", "7"], stdout=out,
                       check=True)
    with open(lines, "rb") as source, open(table, "w", encoding="utf-8", newline="") as out:
        writer = None
        for line in source:
            click = json.loads(line)
            click["agent"] = click["agent"].replace(" (", ", (")
            if writer is None:
                writer = csv.DictWriter(out, click.keys(), lineterminator="\n")
                writer.writeheader()
            writer.writerow(click)
    return lines, table


def digest(argv, path, out):
    with open(out, "wb") as stdout:
        run(argv, path, stdout)
    with open(out, "rb") as written:
        return hashlib.file_digest(written, "sha256").hexdigest()


def measure(title, path, rows, runs, out):
    """Rows are (name, argv, prints the records)."""
    print(f"{title}: {RECORDS} records, {os.path.getsize(path) / 1e6:.0f} MB; median of {runs}\n")
    kept = {digest(argv, path, out) for name, argv, prints in rows if prints}
    need(len(kept) == 1, f"{title}: the ways print different records")
    print(f"{'way':<52}{'seconds':>9}{'runs':>6}{'peak MB':>9}{'times tamis':>13}")
    argvs = {name: argv for name, argv, _ in rows}
    with open(os.devnull, "wb") as null:
        results = in_turns(argvs, runs, lambda name: run(argvs[name], path, null))
    first = results[rows[0][0]][0][0]
    for name, ((seconds, peak), count) in results.items():
        print(f"{name:<52}{seconds:>9.2f}{count:>6}{peak / 1e6:>9.0f}{seconds / first:>13.2f}")
    print_bars([(f"{title}: times as fast as python", WANTED, results["python"][0][0] / first)])


def main():
    if len(sys.argv) != 3 or not sys.argv[2].isdigit() or int(sys.argv[2]) < 1:
        sys.exit(__doc__)
    tamis, runs = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as directory:
        lines, table = make(tamis, directory)
        out = os.path.join(directory, "out")
        rows = [("tamis dedup --key json:/event_id", [tamis, "dedup", "--key", "json:/event_id", lines], True),
                ("tamis dedup --key regex:...", [tamis, "dedup", "--key", 'regex:"event_id":"([^"]*)"', lines], True),
                ("python", [sys.executable, "-c", JSON], True),
                ("wc -l (the floor)", ["wc", "-l", lines], False)]
        if shutil.which("jq"):
            rows.insert(3, ("jq -r .event_id, keys alone", ["jq", "-r", ".event_id", lines], False))
        measure("JSON", lines, rows, runs, out)
        measure("CSV", table,
                [("tamis dedup --key csv:event_id", [tamis, "dedup", "--key", "csv:event_id", table], True),
                 ("tamis dedup --key field:1 --delimiter ,",
                  [tamis, "dedup", "--key", "field:1", "--delimiter", ",", table], True),
                 ("python", [sys.executable, "-c", CSV], True),
                 ("wc -l (the floor)", ["wc", "-l", table], False)], runs, out)


if __name__ == "__main__":
    main()
