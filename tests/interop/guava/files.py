#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""writeTo() and readFrom() of Guava beside tamis: files.py FILTER_FILE SEED FILTERS RULE CLASSPATH, in an empty directory

For each filter half of the keys are put by one side and half by the other, in either order. Both files have to be the
same, and both sides have to answer alike for them. Exit status 1 and a sentence where something differs.
"""
import os
import random
import subprocess
import sys

TOOL, SEED, FILTERS, RULE, CLASSPATH = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]
HERE = os.path.dirname(os.path.abspath(__file__))
ABSENT = 1000  # keys asked beside those that are in
RNG = random.Random(SEED)


def fail(what):
    print(what)
    sys.exit(1)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def ours(*words, keys, out=None):
    with open(keys, "rb") as given:
        done = subprocess.run([TOOL, *words], stdin=given, capture_output=True)
    if done.returncode:
        fail(f"{' '.join(words)}: {done.stderr.decode()}")
    if out:
        with open(out, "wb") as file:
            file.write(done.stdout)


def theirs(jobs):
    with open("jobs", "w") as file:
        file.writelines(job + "\n" for job in jobs)
    subprocess.run(["java", "-cp", CLASSPATH, os.path.join(HERE, "GuavaFile.java"), "jobs"], check=True)


def put_keys(path, keys):
    with open(path, "w") as file:
        file.writelines(key.hex() + "\n" for key in keys)


class Filter:
    def __init__(self, number):
        self.n = RNG.choice([1, 2, 10, 64, 100, 1000, 5000, RNG.randrange(1, 3000)])
        self.p = RNG.choice([0.5, 0.3, 0.1, 0.03, 0.01, 0.001, 1e-6, 1e-9, 1e-30, 10**-RNG.uniform(0.1, 20)])
        self.strategy = RNG.choice(["guava64", "guava32"])
        self.name = f"f{number}"
        count = RNG.choice([0, 1, self.n // 2, self.n, min(2 * self.n, 4000)])
        keys = sorted({RNG.randbytes(RNG.randrange(40)) for _ in range(count)}, key=lambda _: RNG.random())
        put_keys(f"{self.name}.none", [])
        put_keys(f"{self.name}.first", keys[: len(keys) // 2])
        put_keys(f"{self.name}.second", keys[len(keys) // 2:])
        put_keys(f"{self.name}.asked", keys + [RNG.randbytes(RNG.randrange(40)) for _ in range(ABSENT)])
        self.members = len(keys)

    def __str__(self):
        return f"{self.name}: {self.strategy}, n {self.n}, p {self.p}, {self.members} keys"

    def job(self, verb, *words):
        return " ".join([verb, *(word.replace("F.", self.name + ".") for word in words)])

    def ours(self, *words, keys, out=None):
        words = [word.replace("F.", self.name + ".") for word in words]
        ours(*words, keys=f"{self.name}.{keys}", out=out and f"{self.name}.{out}")

    def same(self, left, right):
        if content(f"{self.name}.{left}") != content(f"{self.name}.{right}"):
            fail(f"{self}: {left} and {right} differ")


def main():
    filters = [Filter(number) for number in range(FILTERS)]
    for f in filters:
        f.ours("make", "guava", f.strategy, RULE, str(f.n), repr(f.p), "/dev/null", "F.ours0", keys="none")
        f.ours("add", "guava", "F.ours0", "F.ours1", keys="first")
    theirs([job for f in filters for job in (
        f.job("write", f.strategy, str(f.n), repr(f.p), "F.none", "F.theirs0"),
        f.job("add", "F.theirs0", "F.first", "F.theirs1"),
        f.job("add", "F.ours1", "F.second", "F.ours2"),
        f.job("ask", "F.ours1", "F.asked", "F.their_answers1"),
        f.job("ask", "F.ours2", "F.asked", "F.their_answers2"))])
    for f in filters:
        f.ours("add", "guava", "F.theirs1", "F.theirs2", keys="second")
        for stage in "012":
            f.same(f"theirs{stage}", f"ours{stage}")
        f.ours("ask", "auto", "F.theirs1", keys="asked", out="our_answers1")
        f.ours("ask", "auto", "F.theirs2", keys="asked", out="our_answers2")
        f.same("their_answers1", "our_answers1")
        f.same("their_answers2", "our_answers2")
        answers = content(f"{f.name}.our_answers2").split()
        if len(answers) != f.members + ABSENT or answers[: f.members] != [b"1"] * f.members:
            fail(f"{f}: a key is lost")

    # A file with one bit less must not pass.
    last = max(filters, key=lambda f: f.members)
    changed = bytearray(content(f"{last.name}.theirs2"))
    position = next(i for i in range(6, len(changed)) if changed[i])
    changed[position] &= changed[position] - 1
    with open(f"{last.name}.changed", "wb") as file:
        file.write(changed)
    last.ours("ask", "guava", "F.changed", keys="asked", out="changed_answers")
    if content(f"{last.name}.changed_answers") == content(f"{last.name}.their_answers2"):
        fail("a mistake is not noticed: one bit less gives the same answers")


if __name__ == "__main__":
    main()
