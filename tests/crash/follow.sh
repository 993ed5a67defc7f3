#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: timeout=900
# ctest: disk
# dedup --state --follow-input reads a log that grows and is rotated at random, also while dedup is down. It is killed at random,
# and sometimes stopped; then it may go on with other outputs. At the end the outputs, one after the other, have the first
# occurrences and the duplicates, in their order, byte for byte.
# 8 kills, 300 by ./dev torture; 300,000 records.
set -u
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
export kills records seed
kills=$(scaled 5 8 300)
records=$(scaled 20000 300000 1000000)
PATH=$TAMIS_BUILD_DIR/bin:$PATH
cd "$work" || exit 2
exec python3 - << 'PY'
import os, random, signal, subprocess, sys, time

kills, records, seed = (int(os.environ[name]) for name in ("kills", "records", "seed"))
dice = random.Random(seed)
KEPT = 400  # rotated files; the oldest ones are removed
COMMAND = ["tamis", "dedup", "--state", "state", "--follow-input", "log/app.log", "--commit-every", "20ms", "-q", "--exactly-once"]
STOPPED = (128 + signal.SIGTERM, -signal.SIGTERM)  # the second: before it has a handler

os.mkdir("log")
out = open("log/app.log", "wb", buffering=0)
wanted, again, known, rotations = [], [], set(), 0
begun = []  # first records of the present file


def append(lines):
    """Appends records; a part of the last one may come later."""
    begun.extend(lines[:20 - len(begun)])
    for line in lines:
        (again if line in known else wanted).append(line)
        known.add(line)
    data = b"".join(lines)
    cut = dice.randrange(len(data) + 1)
    out.write(data[:cut])
    if dice.random() < 0.05:
        time.sleep(0.01)
    out.write(data[cut:])


def some(count):
    return [b"key%d\n" % dice.randrange(records) for _ in range(count)]


def rotate():
    """Renames log.N to log.N+1, and begins a new file. The old one may grow until the new one has content."""
    global out, rotations, begun
    rotations += 1
    for n in range(min(rotations, KEPT), 0, -1):
        source = "log/app.log" + (f".{n - 1}" if n > 1 else "")
        if os.path.exists(source):
            os.rename(source, f"log/app.log.{n}")
    if dice.random() < 0.3:
        append(some(dice.randrange(1, 50)))
        time.sleep(dice.choice([0, 0.002]))
    new = open("log/app.log", "wb", buffering=0)
    if dice.random() < 0.3:
        time.sleep(0.002)
        append(some(1))
    out.close()
    out = new
    before, begun = begun, []
    if dice.random() < 0.3:  # it begins as the old one did
        append(before[:dice.randrange(1, len(before) + 1)])


def start():
    return subprocess.Popen(COMMAND + ["-o", f"once{part}", "--duplicates", f"again{part}"], stderr=open("err", "wb"))


def end(sent):
    """Sends the signal. Other outputs are refused, once, while records are behind the last commit of the old ones."""
    global part
    dedup.send_signal(sent)
    status = dedup.wait()
    if status == 2 and part > 0 and not os.path.exists(f"once{part}"):
        part -= 1
        killed["refused"] += 1
    elif status not in (*STOPPED, -sent):
        sys.exit(f"dedup ended with {status}: {open('err').read()}")
    elif status == STOPPED[0] and sent == signal.SIGTERM and dice.random() < 0.5:
        part += 1


killed = {"killed": 0, "stopped": 0, "refused": 0}
part = 0  # number of the outputs
written, dedup = 0, start()
while not os.path.exists("once0"):  # files rotated before the first start are not read
    time.sleep(0.01)
share = records // (kills * 20)
while written < records:
    if dedup is None and dice.random() < 0.5:
        dedup = start()
    size = dice.randrange(1, 2 * share)
    append(some(size))
    written += size
    if dice.random() < 0.2:
        rotate()
    time.sleep(dice.choice([0, 0.001, 0.02]))
    if dedup is not None and dice.random() < 0.1:
        kind = "killed" if dice.random() < 0.8 else "stopped"
        killed[kind] += 1
        end(signal.SIGKILL if kind == "killed" else signal.SIGTERM)
        dedup = None

if dedup is not None:
    end(signal.SIGKILL)
dedup = start()
append([b"the end\n"])  # bytes from before the start may still be cut off
expected = {"once": wanted, "again": again}


def parts(name):
    return [path for path in (f"{name}{n}" for n in range(part + 1)) if os.path.exists(path)]


for _ in range(1200):
    if dedup.poll() == 2 and part > 0 and not os.path.exists(f"once{part}"):
        part -= 1
        dedup = start()
    if dedup.poll() is not None or all(sum(map(os.path.getsize, parts(name))) >= sum(map(len, lines))
                                       for name, lines in expected.items()):
        break
    time.sleep(0.05)
dedup.send_signal(signal.SIGTERM)
status = dedup.wait()
if status not in STOPPED:
    sys.exit(f"dedup ended with {status}: {open('err').read()}")
for name, lines in expected.items():
    printed = b"".join(open(path, "rb").read() for path in parts(name)).splitlines(keepends=True)
    if printed != lines:
        at = next((i for i, (a, b) in enumerate(zip(printed, lines)) if a != b), min(len(printed), len(lines)))
        sys.exit(f"{name}: {len(printed)} records, not {len(lines)}; they differ from record {at + 1} on")
print(f"{len(wanted)} of {written} records, {rotations} rotations, {part + 1} outputs, dedup {killed}")
PY
