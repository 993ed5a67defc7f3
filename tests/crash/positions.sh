#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ctest: timeout=900
# ctest: disk
# A consumer delivers the records of several partitions into dedup --source --position. Both are killed at
# random. The consumer begins again somewhere in front of the positions that dedup printed as committed, and
# also goes back now and then on its own. At the end each key, and each record without a key, is in the output
# exactly once. 8 kills, 300 by ./dev torture; a million records.
set -u
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
export kills records seed
kills=$(scaled 5 8 300)
records=$(scaled 30000 1000000 1000000)
PATH=$TAMIS_BUILD_DIR/bin:$PATH
cd "$work" || exit 2
exec python3 - << 'PY'
import os, random, signal, subprocess, sys, time

kills, records, seed = (int(os.environ[name]) for name in ("kills", "records", "seed"))
dice = random.Random(seed)
PARTITIONS = 7
names = [f"clicks-{i}" for i in range(PARTITIONS)]
SIZES = [1, 20, 500, records // 30]
# Offsets have gaps. Some records have keys of others, and some have none.
logs = []
for i in range(PARTITIONS):
    offset, log = 0, []
    for n in range(records // PARTITIONS):
        offset += 1 if dice.random() < 0.99 else dice.randrange(2, 50)
        key = n * PARTITIONS + i if dice.random() < 0.8 else dice.randrange(records)
        head = b"%s\t%d" % (names[i].encode(), offset)
        log.append((offset, head + (b"\n" if dice.random() < 0.02 else b"\tkey%d\n" % key)))
    logs.append(log)


def identity(line):
    """The key; the whole record, if it has none."""
    return line.split(b"\t", 2)[2] if line.count(b"\t") == 2 else line


wanted = {identity(line) for log in logs for _, line in log}

COMMAND = ["tamis", "dedup", "--state", "state", "--source", "field:1", "--position", "field:2", "--key", "field:3",
           "--missing", "pass", "-o", "once", "--commit-every", "20ms", "--commits", "acks", "-q", "--exactly-once"]


def acknowledged():
    """The last committed offset of each partition. It must never go back."""
    last = dict.fromkeys(names, -1)
    if os.path.exists("acks"):
        for line in open("acks", encoding="ascii"):
            if line.endswith("\n"):
                name, offset = line.split()
                if int(offset) < last[name]:
                    sys.exit(f"{name}: committed {last[name]}, then {offset}")
                last[name] = int(offset)
    return last


def begin():
    """The index in each log at which a consumer begins: behind the acknowledged record, or before it."""
    last, at = acknowledged(), []
    for name, log in zip(names, logs):
        low, high = 0, len(log)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if log[middle][0] <= last[name] else (low, middle)
        at.append(max(0, low - dice.choice([0, 0, 1, 10, dice.randrange(20000)])))
    return at


def deliver(out, at, batches):
    """Writes so many batches of the partitions in turn; None: all. False: some are left, or dedup ended."""
    while any(a < len(log) for a, log in zip(at, logs)):
        i = dice.randrange(PARTITIONS)
        size = dice.choice(SIZES)
        try:
            out.write(b"".join(line for _, line in logs[i][at[i]:at[i] + size]))
            out.flush()
        except BrokenPipeError:
            return False
        at[i] = min(at[i] + size, len(logs[i]))
        if at[i] < len(logs[i]) and dice.random() < 0.02:  # a rebalance: some records come again
            at[i] = max(0, at[i] - dice.randrange(1000))
        if batches is not None:
            batches -= 1
            time.sleep(0.001)  # so that some commits fall into a run
            if batches < 0:
                return False
    return True


killed = {"dedup": 0, "consumer": 0}
while True:
    left = sum(killed.values()) < kills
    dedup = subprocess.Popen(COMMAND, stdin=subprocess.PIPE)
    done = deliver(dedup.stdin, begin(), dice.randrange(2 * records * len(SIZES) // sum(SIZES) // kills) if left else None)
    if not done and dice.random() < 0.5:
        dedup.send_signal(signal.SIGKILL)
        killed["dedup"] += 1
    elif not done:
        killed["consumer"] += 1  # dedup sees the end of the pipe
    try:
        dedup.stdin.close()
    except BrokenPipeError:
        pass
    status = dedup.wait()
    if status not in (0, -signal.SIGKILL):
        sys.exit(f"dedup ended with {status}")
    if done and status == 0 and not left:
        break

ends = {name: log[-1][0] for name, log in zip(names, logs)}
if acknowledged() != ends:
    sys.exit(f"committed {acknowledged()}, not {ends}")
printed = [identity(line) for line in open("once", "rb")]
if len(printed) != len(set(printed)):
    sys.exit(f"{len(printed) - len(set(printed))} records came twice")
if set(printed) != wanted:
    sys.exit(f"{len(wanted - set(printed))} records were lost")
print(f"{len(printed)} of {sum(len(log) for log in logs)} records, killed: {killed}")
PY
