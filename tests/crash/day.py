# SPDX-License-Identifier: BSD-2-Clause
"""Writes 24 simulated hours of records for a killed `dedup --window --follow-input`, and checks its output: see day.sh."""
import contextlib
import os
import random
import signal
import subprocess
import sys
import time

kills, per_hour, seed = (int(os.environ[name]) for name in ("kills", "records", "seed"))
dice = random.Random(seed)
HOURS, MINUTE, HOUR = 24, 60, 3600
WINDOW, STEP, LATENESS, AHEAD = HOUR, 5 * MINUTE, 10 * MINUTE, 2 * HOUR
WINDOW_OPTIONS = ["--window", "1h", "--step", "5m", "--lateness", "10m", "--ahead", "2h", "--on-error", "skip",
                  "--time", "json:/t", "--key", "json:/k", "-q"]
COMMAND = ["tamis", "dedup", *WINDOW_OPTIONS, "--state", "state", "--follow-input", "log", "--commit-every", "20ms", "-o", "once"]


class Clock:
    """Times of records: seconds since 1970, which rise by an hour with each hour's records."""

    def __init__(self):
        self.now = 1_700_000_000.0

    def next(self):
        self.now += HOUR / per_hour * dice.uniform(0, 2)
        kind = dice.random()
        if kind < 0.0005:
            self.now += dice.uniform(0, AHEAD / 2)  # a pause
        if kind < 0.05:
            return self.now - dice.uniform(0, LATENESS)
        if kind < 0.06:
            return self.now - dice.uniform(LATENESS, 2 * WINDOW)
        if kind < 0.065:
            return self.now + dice.uniform(2, 10) * AHEAD  # a wrong clock
        return self.now


def start():
    return subprocess.Popen(COMMAND, stderr=open("err", "wb"))


def state_size():
    size = 0
    for name in os.listdir("state"):
        with contextlib.suppress(FileNotFoundError):  # a run renames and removes files meanwhile
            size += os.path.getsize(os.path.join("state", name))
    return size


clock, records, recent, killed, sizes = Clock(), [], [], 0, []
log, dedup = open("log", "wb", buffering=0), None
batch = max(1, HOURS * per_hour // (kills * 30))
for hour in range(HOURS):
    for begin in range(0, per_hour, batch):
        lines = []
        for _ in range(min(batch, per_hour - begin)):
            key = dice.choice(recent) if recent and dice.random() < 0.5 else len(records)
            if len(recent) < per_hour:
                recent.append(key)
            else:
                recent[len(records) % per_hour] = key
            records.append((key, int(clock.next())))
            lines.append(b'{"n":%d,"k":%d,"t":%d}\n' % (len(records) - 1, *records[-1]))
        log.write(b"".join(lines))
        if dedup is None and dice.random() < 0.5:
            dedup = start()
        elif dedup is not None and dice.random() < 0.05:
            dedup.send_signal(signal.SIGKILL)
            if dedup.wait() != -signal.SIGKILL:
                sys.exit(f"dedup ended: {open('err').read()}")
            dedup, killed = None, killed + 1
        time.sleep(dice.choice([0, 0.001, 0.01]))
    if dedup is None:
        dedup = start()
    while not os.path.exists("once") or os.path.getsize("once") == 0:  # files rotated before the first start are not read
        if dedup.poll() is not None:
            sys.exit(f"dedup ended: {open('err').read()}")
        time.sleep(0.01)
    if os.path.exists("state/manifest"):
        sizes.append(state_size())
    if hour < HOURS - 1:
        os.rename("log", f"log.{HOURS - hour}")
        log.close()
        log = open("log", "wb", buffering=0)

names = [f"log.{HOURS - hour}" for hour in range(HOURS - 1)] + ["log"]
with open("all", "wb") as out:
    for name in names:
        out.write(open(name, "rb").read())
subprocess.run(["tamis", "dedup", *WINDOW_OPTIONS, "all", "-o", "undisturbed"], check=True)
wanted = open("undisturbed", "rb").read()
for _ in range(1200):
    if dedup.poll() is not None or os.path.exists("once") and os.path.getsize("once") >= len(wanted):
        break
    time.sleep(0.05)
dedup.send_signal(signal.SIGTERM)
if dedup.wait() not in (128 + signal.SIGTERM, -signal.SIGTERM):
    sys.exit(f"dedup ended: {open('err').read()}")
if open("once", "rb").read() != wanted:
    sys.exit("the output is not that of an undisturbed run")

printed = {int(line[5:line.index(b",")]) for line in wanted.splitlines()}
newest, counted, maybe_counted = records[0][1], {}, {}  # keys, with the time at which each was last counted
for n, (key, moment) in enumerate(records):
    if moment > newest + AHEAD:
        if n in printed:
            sys.exit(f"record {n} is too far ahead, and was printed")
        continue
    newest = max(newest, moment)
    last, maybe_last = counted.get(key), maybe_counted.get(key)
    is_timely = moment >= newest - LATENESS + STEP  # what is late is decided by whole steps
    if is_timely and last is not None and last <= moment <= last + WINDOW and n in printed:
        sys.exit(f"record {n}: key {key} at {moment} was counted at {last}, and was printed")
    if (maybe_last is None or moment > maybe_last + WINDOW + STEP) and n not in printed:
        sys.exit(f"record {n}: key {key} at {moment} was not counted since {maybe_last}, and was not printed")
    if n in printed and is_timely:
        counted[key] = moment
    if n in printed:
        maybe_counted[key] = max(moment, maybe_counted.get(key, moment))
middle = sizes[len(sizes) // 3:]
if per_hour >= 100000 and max(middle) > 3 * min(middle):  # smaller ones never fill a log
    sys.exit(f"the state grows: {sizes}")
print(f"{len(records)} records, {len(printed)} printed, {killed} kills; state {min(middle)} to {max(middle)} bytes")
