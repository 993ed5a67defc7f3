#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Guava's funnels beside `tamis --type`: keys.py TAMIS SEED FILTERS CLASSPATH, in an empty directory

For each type one side makes a file and the other asks it, each adds keys to the file of the other, and both have to
answer alike: each key that was put is there. Exit status 1 and a sentence where something differs.
"""
import os
import random
import subprocess
import sys

TAMIS, SEED, FILTERS, CLASSPATH = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
HERE = os.path.dirname(os.path.abspath(__file__))
ABSENT = 1000  # keys asked beside those that are in
RNG = random.Random(SEED)
BITS = {"int32": 32, "int64": 64}


def fail(what):
    print(what)
    sys.exit(1)


def number(bits):
    """As a user may write it: both sides take a sign and zeros."""
    minimum, maximum = -(1 << bits - 1), (1 << bits - 1) - 1
    value = RNG.choice([RNG.randrange(minimum, maximum + 1), RNG.randrange(-1000, 1000), minimum, maximum, 0, -1])
    zeros = "0" * RNG.choice([0, 0, 0, 3])
    sign = "-" if value < 0 else RNG.choice(["", "", "+"])
    return f"{sign}{zeros}{abs(value)}"


def character():
    while True:
        c = chr(RNG.choice([RNG.randrange(0x20, 0x7f), RNG.randrange(0x110000), RNG.randrange(0x10000),
                            0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff]))
        if c not in "\r\n" and not 0xd800 <= ord(c) < 0xe000:
            return c


def key(kind):
    return number(BITS[kind]) if kind in BITS else "".join(character() for _ in range(RNG.randrange(600 // RNG.randrange(1, 300))))


def put(path, keys):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(key + "\n" for key in keys)


def lines(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def tamis(*words, out=None):
    with open(out or os.devnull, "wb") as file:
        done = subprocess.run([TAMIS, *words], stdout=file, stderr=subprocess.PIPE)
    if done.returncode == 2 or done.returncode < 0:
        fail(f"{' '.join(words)}: {done.stderr.decode()}")


def theirs(jobs):
    with open("jobs", "w") as file:
        file.writelines(" ".join(job) + "\n" for job in jobs)
    subprocess.run(["java", "-cp", CLASSPATH, os.path.join(HERE, "GuavaKeys.java"), "jobs"], check=True)


class Filter:
    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.n = RNG.choice([1, 10, 100, 1000, RNG.randrange(1, 3000)])
        self.p = RNG.choice([0.3, 0.1, 0.03, 0.01, 1e-6])
        self.keys = [key(kind) for _ in range(RNG.randrange(1, self.n + 1))]
        half = len(self.keys) // 2
        put(f"{name}.all", self.keys)
        put(f"{name}.first", self.keys[:half])
        put(f"{name}.second", self.keys[half:])
        put(f"{name}.asked", self.keys + [key(kind) for _ in range(ABSENT)])

    def __str__(self):
        return f"{self.name}: {self.kind}, n {self.n}, p {self.p}, {len(self.keys)} keys"

    def path(self, what):
        return f"{self.name}.{what}"

    def compare(self, file):
        """Both sides on all keys that are asked: the same, and each that was put is there."""
        tamis("check", "--type", self.kind, self.path(file), self.path("asked"), out=self.path("found"))
        queries, answers = lines(self.path("asked")), lines(self.path(f"{file}.answers"))
        found = [text for text, answer in zip(queries, answers) if answer == "1"]
        if len(queries) != len(answers) or lines(self.path("found")) != found:
            fail(f"{self}: the two sides answer differently for {file}")
        if answers[:len(self.keys)] != ["1"] * len(self.keys):
            fail(f"{self}: a key of {file} is lost")


def main():
    filters = [Filter(f"{kind}-{i}", kind) for kind in ("int32", "int64", "utf16", "utf8") for i in range(FILTERS)]
    for f in filters:
        make = ["build", "--format", "guava", "--type", f.kind, "--expect", str(f.n), "--fpr", repr(f.p)]
        tamis(*make, "-o", f.path("ours"), f.path("all"))
        tamis(*make, "-o", f.path("ours+theirs"), f.path("first"))
    theirs([job for f in filters for job in (
        ["put", f.kind, str(f.n), repr(f.p), f.path("all"), f.path("theirs")],
        ["put", f.kind, str(f.n), repr(f.p), f.path("first"), f.path("theirs+ours")],
        ["add", f.kind, f.path("ours+theirs"), f.path("second"), f.path("ours+theirs")])])
    for f in filters:
        tamis("add", "--type", f.kind, f.path("theirs+ours"), f.path("second"))
    files = ("ours", "theirs", "ours+theirs", "theirs+ours")
    theirs([["ask", f.kind, f.path(file), f.path("asked"), f.path(f"{file}.answers")] for f in filters for file in files])
    for f in filters:
        for file in files:
            f.compare(file)

    # Of another type the same texts are other keys, which must show.
    put("numbers", [str(i) for i in range(1000)])
    theirs([["put", "int64", "1000", "0.001", "numbers", "longs"]])
    for kind in ("bytes", "int32", "utf16"):
        tamis("check", "--type", kind, "longs", "numbers", out="found")
        if len(lines("found")) > 100:
            fail(f"a mistake is not noticed: longs are found as {kind}")


if __name__ == "__main__":
    main()
