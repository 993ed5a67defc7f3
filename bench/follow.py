#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tamis dedup --follow-input beside tail -F: time until a record is in the output, and CPU time while nothing happens.

Usage: follow.py TAMIS RECORDS

RECORDS records are appended to a log one by one, 20 to 40 ms apart, and the log is rotated after each 100. The output is
looked at every 0.2 ms. Then nothing happens for 20 s, in which the CPU time of the process is taken. Log, state and output
are on the file system of TMPDIR.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from timed import print_bars

IDLE = 20
LATENCY_WANTED, CPU_WANTED = 50, 0.001  # at most: ms until the record is in the output; of one CPU while idle


def cpu_ns(pid):
    """CPU time of all threads."""
    tasks = f"/proc/{pid}/task"
    return sum(int(open(f"{tasks}/{task}/schedstat", encoding="utf-8").read().split()[0]) for task in os.listdir(tasks))


def wait_for(path, size):
    while not os.path.exists(path) or os.path.getsize(path) < size:
        time.sleep(0.0002)


def measure(argv, directory, records):
    """Returns the sorted latencies in ms, and the CPU time of an idle second in s."""
    log, output = os.path.join(directory, "log"), os.path.join(directory, "output")
    dice = random.Random(7)
    writer = open(log, "wb", buffering=0)
    writer.write(b"0\n")
    with open(os.path.join(directory, "standard"), "wb") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=subprocess.DEVNULL)
    path = output if output in argv else os.path.join(directory, "standard")
    size, latencies = 2, []
    wait_for(path, size)
    for number in range(1, records + 1):
        if number % 100 == 0:
            os.rename(log, f"{log}.{number // 100}")
            writer = open(log, "wb", buffering=0)
        time.sleep(0.02 + 0.02 * dice.random())
        line = b"%d\n" % number
        begun = time.monotonic()
        writer.write(line)
        size += len(line)
        wait_for(path, size)
        latencies.append(1000 * (time.monotonic() - begun))
    time.sleep(2)  # the last commit
    before = cpu_ns(process.pid)
    time.sleep(IDLE)
    idle = (cpu_ns(process.pid) - before) / 1e9 / IDLE
    process.send_signal(signal.SIGTERM)
    process.wait()
    return sorted(latencies), idle


def main():
    tamis, records = sys.argv[1], int(sys.argv[2])
    ways = {"tail -F": lambda d: ["tail", "-n", "+1", "-F", os.path.join(d, "log")],
            "tamis dedup --follow-input": lambda d: [tamis, "dedup", "--follow-input", os.path.join(d, "log")],
            "the same with --state": lambda d: [tamis, "dedup", "--follow-input", os.path.join(d, "log"), "--state",
                                                os.path.join(d, "state"), "-o", os.path.join(d, "output")]}
    bars = []
    print(f"{records} records, {records // 100} rotations, then {IDLE} s of nothing\n")
    print(f"{'way':<30}{'median ms':>11}{'99 % ms':>11}{'longest ms':>12}{'idle, % of a CPU':>19}")
    for name, argv in ways.items():
        with tempfile.TemporaryDirectory() as directory:
            latencies, idle = measure(argv(directory), directory, records)
        print(f"{name:<30}{latencies[len(latencies) // 2]:>11.2f}{latencies[len(latencies) * 99 // 100]:>11.2f}"
              f"{latencies[-1]:>12.2f}{100 * idle:>19.3f}")
        if name != "tail -F":
            bars += [(f"{name}, 99 %, ms", -LATENCY_WANTED, latencies[len(latencies) * 99 // 100]),
                     (f"{name}, idle, share of a CPU", -CPU_WANTED, idle)]
    print_bars(bars)


if __name__ == "__main__":
    main()
