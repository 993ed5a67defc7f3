# SPDX-License-Identifier: BSD-2-Clause
"""Rotates logs that `dedup --follow-input` reads, and kills and stops it if it has a --state: see follow.sh."""
import os
import random
import signal
import subprocess
import sys
import time

kills, records, seed, log_count = (int(os.environ[name]) for name in ("kills", "records", "seed", "logs"))
dice = random.Random(seed)
KEPT = 400  # rotated files of each log; the oldest ones are removed
INPUTS = ["log/app0.log"] if log_count == 1 else ["--files", "log/*.log"]
STATE = ["--state", "state", "--commit-every", "20ms", "--exactly-once"]
HAS_STATE = os.environ["state"] == "yes"
COMMAND = ["tamis", "dedup", "--follow-input", *INPUTS, "-q", *(STATE if HAS_STATE else [])]
STOPPED = (128 + signal.SIGTERM, -signal.SIGTERM)  # the second: before it has a handler
wanted, again, known = [], [], set()


class Log:
    def __init__(self, number):
        self.path = f"log/app{number}.log"
        self.out = open(self.path, "wb", buffering=0)
        self.rotations = 0
        self.begun = []  # first records of the present file
        self.is_known = False
        self.first = b"first of %d\n" % number
        self.append([self.first])

    def may_rotate(self):
        """Files that were rotated before the log was first read are not read."""
        self.is_known = self.is_known or any(self.first in open(path, "rb").read() for path in parts("once"))
        return self.is_known

    def append(self, lines):
        """Appends records; a part of the last one may come later."""
        self.begun.extend(lines[:20 - len(self.begun)])
        for line in lines:
            (again if line in known else wanted).append(line)
            known.add(line)
        data = b"".join(lines)
        cut = dice.randrange(len(data) + 1)
        self.out.write(data[:cut])
        if dice.random() < 0.05:
            time.sleep(0.01)
        self.out.write(data[cut:])

    def rotate(self):
        """Renames log.N to log.N+1, and begins a new file. The old one may still grow when the new one has content."""
        self.rotations += 1
        for n in range(min(self.rotations, KEPT), 0, -1):
            source = self.path + (f".{n - 1}" if n > 1 else "")
            if os.path.exists(source):
                os.rename(source, f"{self.path}.{n}")
        if dice.random() < 0.3:
            self.append(random_records(dice.randrange(1, 50)))
            time.sleep(dice.choice([0, 0.002]))
        new = open(self.path, "wb", buffering=0)
        if dice.random() < 0.3:
            time.sleep(0.002)
            self.append(random_records(1))
        old = self.out
        if log_count > 1 and dice.random() < 0.3:  # another writer has the old file open
            for self.out in (new, old, new):  # the last write to the new file is the later one
                self.append(random_records(1))
                time.sleep(0.005)
        self.out = new
        old.close()
        before, self.begun = self.begun, []
        if dice.random() < 0.3:  # it begins as the old one did
            self.append(before[:dice.randrange(1, len(before) + 1)])


def random_records(count):
    return [b"key%d\n" % dice.randrange(records) for _ in range(count)]


def start():
    err = open("err", "wb")
    if not HAS_STATE:
        return subprocess.Popen(COMMAND, stdout=open("once0", "wb"), stderr=err)
    return subprocess.Popen(COMMAND + ["-o", f"once{part}", "--duplicates", f"again{part}"], stderr=err)


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


def parts(name):
    return [path for path in (f"{name}{n}" for n in range(part + 1)) if os.path.exists(path)]


os.mkdir("log")
killed = {"killed": 0, "stopped": 0, "refused": 0}
part = 0  # number of the outputs
logs = [Log(0)]
written, dedup = 0, start()
while not os.path.exists("once0") or os.path.getsize("once0") == 0:  # files rotated before the first start are not read
    time.sleep(0.01)
share = records // (kills * 20)
while written < records:
    if dedup is None and dice.random() < 0.5:
        dedup = start()
    if len(logs) < log_count and written > records * len(logs) // (2 * log_count):
        logs.append(Log(len(logs)))
    log = dice.choice(logs)
    size = dice.randrange(1, 2 * share)
    log.append(random_records(size))
    written += size
    if dice.random() < 0.2 and log.may_rotate():
        log.rotate()
    time.sleep(dice.choice([0, 0.001, 0.02]))
    if HAS_STATE and dedup is not None and dice.random() < 0.1:
        kind = "killed" if dice.random() < 0.8 else "stopped"
        killed[kind] += 1
        end(signal.SIGKILL if kind == "killed" else signal.SIGTERM)
        dedup = None

if HAS_STATE:
    if dedup is not None:
        end(signal.SIGKILL)
    dedup = start()
logs[0].append([b"the end\n"])  # bytes from before the start may still be cut off
expected = {"once": wanted, "again": again} if HAS_STATE else {"once": wanted}

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
    if log_count > 1:  # the order of records of different logs is open
        printed.sort()
        lines.sort()
    if printed != lines:
        index = next((i for i, (a, b) in enumerate(zip(printed, lines)) if a != b), min(len(printed), len(lines)))
        sys.exit(f"{name}: {len(printed)} records, not {len(lines)}; they differ from record {index + 1} on")
rotations = sum(log.rotations for log in logs)
print(f"{len(logs)} logs, {'state' if HAS_STATE else 'no state'}: {len(wanted)} of {written} records, {rotations} rotations, {part + 1} outputs, dedup {killed}")
