#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tamis kafka dedup, compared with a plain loop of librdkafka, SQLite and Kafka Streams; its restart and its delay.

Usage: kafka.py TAMIS BENCH_KAFKA [RUNS [SCALE]]

One broker on this machine, that of ./dev kafka up. Records have a UUID as key and 100 bytes of value, in 4 partitions;
the clients read them to the end, with one transaction a second. All must write the same number of records, but for a
few false positives with --fpr 1e-6. Two rows are ours: with the default rate, and with hashes of 48 bits in the state. The rate
is that of LogAppendTime in the output, from the first record to the last one, so it has no start in it. CPU time is that of the
whole process, and that of the broker meanwhile; state is what a client keeps on disks and in topics of the broker.
Medians of RUNS (default 3) in turns; who takes more than 15 seconds is run once. SCALE below 1 is for a short run.
"""
import contextlib
import glob
import os
import random
import re
import subprocess
import sys
import tempfile
import time

from timed import in_turns, need, print_bars

HERE = os.path.dirname(os.path.abspath(__file__))
DEV = os.path.join(os.path.dirname(HERE), "dev")
BUILD = os.path.join(os.path.dirname(HERE), "build")
JARS = [os.path.join(BUILD, name, "*") for name in ("streams", "peers/kafka")]
RECORDS, RESTORED = 2_000_000, 10_000_000
PARTITIONS, VALUE = 4, 100
SHORT = "the same, --fpr 1e-6 --expect N"  # hashes of 48 bits in the state
APPEND_TIME = "message.timestamp.type=LogAppendTime"
TICK = os.sysconf("SC_CLK_TCK")


class Bench:
    def __init__(self, tamis, program, runs, scale, port, directory):
        self.tamis, self.program, self.runs, self.scale = tamis, program, runs, scale
        self.brokers = f"127.0.0.1:{port}"
        self.broker = os.path.join(BUILD, f"kafka-{port}")
        with open(os.path.join(self.broker, "pid"), encoding="ascii") as file:
            self.pid = file.read().strip()
        self.directory, self.number = directory, 0

    def bar(self, wanted):
        """The targets are for SCALE 1."""
        return wanted if self.scale == 1 else None

    def scaled(self, count):
        return max(int(count * self.scale), 1000)

    def do(self, verb, *words):
        return subprocess.check_output([self.program, verb, self.brokers, *map(str, words)], text=True).split()

    def topics(self):
        """Topics that have data, but those of the broker itself."""
        names = {re.sub(r"-\d+$", "", os.path.basename(path)) for path in glob.glob(f"{self.broker}/data/*-*[0-9]")
                 if not path.endswith("-delete")}
        return {name for name in names if not name.startswith("__")}

    def topic_bytes(self, name):
        return sum(map(os.path.getsize, glob.glob(f"{self.broker}/data/{name}-[0-9]*/*.log")))

    def broker_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def dedup(self, source, target, *options):
        return [self.tamis, "kafka", "dedup", "-q", "--brokers", self.brokers, "--group", target, "--from", source, "--to",
                target, "--key", "kafka:key", *options]


@contextlib.contextmanager
def broker():
    port = random.randrange(10000, 32000)
    environment = dict(os.environ, TAMIS_KAFKA_PORT=str(port))
    subprocess.run([DEV, "kafka", "up"], env=environment, check=True)
    try:
        yield port
    finally:
        subprocess.run([DEV, "kafka", "down"], env=environment, check=True)


def client(argv):
    """Wall seconds, CPU seconds and peak resident bytes of a process."""
    start = time.monotonic()
    process = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    need(status == 0, f"{' '.join(argv)}: exit status {process.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def bytes_below(path):
    return sum(os.path.getsize(os.path.join(directory, name)) for directory, _, names in os.walk(path) for name in names)


# ---- rates ----

def ways_of(b, source):
    """Name of a way: its command, for an output and a directory."""
    count = str(b.scaled(RECORDS))
    short = ["--fpr", "1e-6", "--expect", str(b.scaled(RECORDS) // PARTITIONS)]
    ways = {"tamis kafka dedup": lambda to, _: b.dedup(source, to, "--until-end"),
            SHORT: lambda to, _: b.dedup(source, to, "--until-end", *short)}
    if source == "unique":
        ways["loop of librdkafka, the floor"] = lambda to, _: [b.program, "forward", b.brokers, source, to, count]
    ways["loop, keys in SQLite"] = lambda to, path: [b.program, "sqlite", b.brokers, source, to, count, path + "/keys.db"]
    ways["Kafka Streams, window store"] = lambda to, path: [
        "java", "-XX:-UsePerfData", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp",
        ":".join([b.directory + "/classes", *JARS]), "StreamsDedup", b.brokers, source, to, count, path]
    return ways


def once(b, command, expected):
    """Seconds, CPU seconds of client and broker, peak memory, state."""
    b.number += 1
    target, before = f"out{b.number}", b.topics()
    b.do("create", target, PARTITIONS, APPEND_TIME)
    with tempfile.TemporaryDirectory(dir=b.directory) as path:
        begun = b.broker_seconds()
        argv = command(target, path)
        _, seconds, peak = client(argv)
        broker_seconds = b.broker_seconds() - begun
        found, span = b.do("span", target)
        false_positives = 10 if "--fpr" in argv else 0  # about one comes with 2 million keys
        need(expected - false_positives <= int(found) <= expected, f"{' '.join(argv)}: {found} records instead of {expected}")
        made = b.topics() - before - {target}
        state = bytes_below(path) + sum(map(b.topic_bytes, made))
    for topic in (*made, target):
        b.do("delete", topic)
    return float(span), seconds, broker_seconds, peak, state


def rates(b, source, expected):
    count, ways = b.scaled(RECORDS), ways_of(b, source)
    results = in_turns(ways, b.runs, lambda way: once(b, ways[way], expected))
    print(f"{source}: {count} records, {expected} keys; median of {b.runs}\n\n"
          f"{'way':<32}{'records/s':>11}{'runs':>6}{'CPU us a record':>17}{'broker':>8}{'peak MB':>9}{'state, B a key':>16}")
    for way, ((seconds, cpu, broker_cpu, peak, state), runs) in results.items():
        print(f"{way:<32}{count / seconds:>11.0f}{runs:>6}{cpu / count * 1e6:>17.2f}{broker_cpu / count * 1e6:>8.2f}"
              f"{peak / 1e6:>9.0f}{state / expected:>16.1f}")
    ours, short, floor, sqlite, streams = (
        results.get(way, [None])[0] for way in ("tamis kafka dedup", SHORT, "loop of librdkafka, the floor",
                                                "loop, keys in SQLite", "Kafka Streams, window store"))
    bars = [("rate, to the floor", b.bar(0.8), floor[0] / ours[0])] if floor else []
    for name, other in (("SQLite", sqlite), ("Streams", streams)):
        bars += [(f"rate, to {name}", b.bar(3), other[0] / ours[0]),
                 (f"bytes of state, to {name}", b.bar(-0.1), ours[4] / other[4]),
                 (f"bytes of state with --fpr 1e-6, to {name}", b.bar(-0.1), short[4] / other[4])]
    print_bars([(f"{source}: {what}", *rest) for what, *rest in bars])


# ---- restart and delay ----

def restart(b):
    """A start that reads nothing but the state."""
    count = b.scaled(RESTORED)
    b.do("create", "many", PARTITIONS)
    b.do("create", "many-once", PARTITIONS)
    b.do("produce", "many", count, 0, 0)
    client(b.dedup("many", "many-once", "--until-end"))
    hint = ["--expect", str(count // PARTITIONS)]
    ways = {"--expect": hint, "no size hint": []}
    results = in_turns(ways, b.runs, lambda way: client(b.dedup("many", "many-once", "--until-end", *ways[way])))
    print(f"Restart: {count} keys in the state, from the start of the process to its end; median of {b.runs}\n\n"
          f"{'':<16}{'seconds':>9}{'CPU s':>7}{'peak MB':>9}")
    for way, ((seconds, cpu, peak), _) in results.items():
        print(f"{way:<16}{seconds:>9.2f}{cpu:>7.2f}{peak / 1e6:>9.0f}")
    print_bars([(f"{count:.0e} keys, {way}: seconds of a start", b.bar(-5), results[way][0][0]) for way in ways])
    for topic in ("many", "many-once", "many-once.many.tamis-state"):
        b.do("delete", topic)


def delay(b):
    rate, seconds = 10_000, max(int(20 * b.scale), 2)
    print(f"Delay: {rate} records a second for {seconds} s, from the call that sends a record until a read_committed reader\n"
          f"has it, in ms\n\n{'':<24}{'median':>8}{'99 %':>8}{'99.9 %':>8}{'longest':>9}")
    for period in ("100ms", "1s"):
        b.do("create", f"sent{period}", PARTITIONS)
        b.do("create", f"came{period}", PARTITIONS)
        with subprocess.Popen(b.dedup(f"sent{period}", f"came{period}", "--commit-every", period)) as process:
            try:
                found = b.do("delay", f"sent{period}", f"came{period}", rate, seconds)
            finally:
                process.terminate()
        print(f"{'--commit-every ' + period:<24}{found[0]:>8}{found[1]:>8}{found[2]:>8}{found[3]:>9}", flush=True)
    print()


def wrong(what):
    print(f"kafka.py: {what}; use ./dev bench kafka [RUNS [SCALE]]", file=sys.stderr)
    sys.exit(2)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    given = sys.argv[3:]
    if len(given) > 2:
        wrong(f"'{given[2]}' is one argument too many")
    runs, scale = given + ["3", "1"][len(given):]
    if not re.fullmatch("[1-9][0-9]{0,5}", runs):
        wrong(f"'{runs}': expected a number of runs from 1")
    if not (re.fullmatch(r"[0-9]*\.?[0-9]+", scale) and 0.001 <= float(scale) <= 1):
        wrong(f"'{scale}': expected a scale from 0.001 to 1")
    with tempfile.TemporaryDirectory(prefix="tamis-bench-") as directory, broker() as port:
        subprocess.run(["javac", "-d", directory + "/classes", "-cp", ":".join(JARS), os.path.join(HERE, "StreamsDedup.java")],
                       check=True)
        b = Bench(*sys.argv[1:3], int(runs), float(scale), port, directory)
        for source, repeated in (("unique", 0), ("repeated", 30)):
            b.do("create", source, PARTITIONS)
            rates(b, source, int(b.do("produce", source, b.scaled(RECORDS), repeated, VALUE)[0]))
            b.do("delete", source)
        restart(b)
        delay(b)


if __name__ == "__main__":
    main()
