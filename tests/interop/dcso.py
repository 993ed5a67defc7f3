#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""tamis, compared with DCSO's bloom: dcso.py FILTER_FILE SEED FILTERS, in an empty directory

Both make a file of the same keys, and the files must be equal. Then each queries the other's file and adds to it. bloom
reads lines, and loses everything after a line longer than 64 KiB. So keys are short, without line ends, and only tamis is
tested with a long one. Prints a message and exits with status 1 if something differs.
"""
import gzip
import os
import random
import subprocess
import sys

TOOL, SEED, FILTERS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
ABSENT = 1000  # other keys that are looked up
HEAD, COUNT_AT = 48, 40
TAMIS = os.path.join(os.environ["TAMIS_BUILD_DIR"], "bin", "tamis")
RNG = random.Random(SEED)


def fail(what):
    print(what)
    sys.exit(1)


def run(*words, given=b"", status=0):
    done = subprocess.run(words, input=given, capture_output=True)
    if done.returncode != status:
        fail(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr.decode()}")
    return done.stdout if status == 0 else done.stderr


def content(path):
    with open(path, "rb") as file:
        return file.read()


def put(path, what):
    with open(path, "wb") as file:
        file.write(what)


def keys(count):
    """Different keys without bytes that end a line."""
    bytes_of_a_line = bytes(c for c in range(256) if c not in b"\r\n")
    found = set()
    while len(found) < count:
        found.add(bytes(RNG.choices(bytes_of_a_line, k=RNG.choice([0, 4, 5, 8, 13, 40, 300]))))
    return sorted(found, key=lambda _: RNG.random())


def lines(chosen):
    return b"".join(key + b"\n" for key in chosen)


def in_hex(chosen):
    return b"".join(key.hex().encode() + b"\n" for key in chosen)


def theirs_has(path, chosen):
    return set(run("bloom", "check", path, given=lines(chosen)).split(b"\n")[:-1])


def ours_has(path, chosen, form="auto"):
    answers = run(TOOL, "ask", form, path, given=in_hex(chosen)).split()
    if len(answers) != len(chosen):
        fail(f"{len(answers)} answers to {len(chosen)} keys")
    return {key for key, answer in zip(chosen, answers) if answer == b"1"}


def same_bytes(what, theirs, ours):
    if content(theirs) != content(ours):
        fail(f"{what}: files differ\n{content(theirs)[:200].hex()}\n{content(ours)[:200].hex()}")


def same_answers(what, path, members, others):
    theirs, ours = theirs_has(path, members + others), ours_has(path, members + others)
    if theirs != ours:
        fail(f"{what}: answers differ for {next(iter(theirs ^ ours))!r}")
    if not set(members) <= ours:
        fail(f"{what}: a key is lost")
    return theirs


def make(n, p, path):
    run("bloom", "create", "-n", str(n), "-p", p, path)


def one_filter(number):
    n = RNG.choice([1, 2, 10, 63, 64, 100, 1000, 5000, RNG.randrange(1, 3000)])
    p = RNG.choice(["0.5", "0.3", "0.1", "0.03", "0.01", "0.001", "1e-6", "1e-9", repr(10**-RNG.uniform(0.302, 10))])
    chosen = keys(RNG.choice([0, 1, n // 2, n, min(2 * n, 4000)]))
    half = len(chosen) // 2
    others = keys(ABSENT)
    what = f"filter {number}, n {n}, p {p}, {len(chosen)} keys"

    make(n, p, "theirs")
    run(TOOL, "make", "dcso", "fnv-dcso", "-", str(n), p, "/dev/null", "ours")
    same_bytes(what + ", empty", "theirs", "ours")
    # Each adds half of the keys to its own file and half to the other's. A repeated key is not counted.
    some_twice = chosen[:half] + chosen[: half // 2]
    if some_twice:
        run("bloom", "insert", "theirs", given=lines(some_twice))
    run(TOOL, "add", "dcso", "ours", "ours", given=in_hex(some_twice))
    same_bytes(what + ", half", "theirs", "ours")
    if chosen[half:]:
        run("bloom", "insert", "ours", given=lines(chosen[half:]))
    run(TOOL, "add", "dcso", "theirs", "theirs", given=in_hex(chosen[half:]))
    same_bytes(what + ", full", "theirs", "ours")
    same_answers(what, "ours", chosen, others)


def user_data():
    data = bytes(RNG.choices(range(256), k=RNG.randrange(1, 5000)))
    put("data", data)
    run(TOOL, "make", "dcso", "fnv-dcso", "-", "100", "0.01", "data", "ours")
    if run("bloom", "get-data", "ours").rstrip(b"\n") != data.rstrip(b"\n"):
        fail("data that we wrote is not what bloom reads")
    make(100, "0.01", "with_data")
    run("bloom", "set-data", "with_data", given=b"blocked since Monday\n")
    run(TOOL, "add", "dcso", "with_data", "with_data", given=in_hex([b"foo"]))
    if run(TOOL, "data", "dcso", "with_data") != b"blocked since Monday\n":
        fail("data that bloom wrote is not what we read")
    if run("bloom", "get-data", "with_data").strip() != b"blocked since Monday":
        fail("data is lost when we add a key")


def joined():
    """bloom adds the counts, tamis estimates them. The rest of both files must be equal."""
    halves = [keys(50), keys(50)]
    for i, chosen in enumerate(halves):
        make(100, "0.001", f"part{i}")
        run("bloom", "insert", f"part{i}", given=lines(chosen))
    run(TOOL, "join", "dcso", "part0", "part1", "ours_joined")
    run("bloom", "join", "part0", "part1")
    theirs, ours = content("part0"), content("ours_joined")
    if theirs[:COUNT_AT] + theirs[HEAD:] != ours[:COUNT_AT] + ours[HEAD:]:
        fail("joined files differ")
    same_answers("joined", "part0", halves[0] + halves[1], keys(ABSENT))


def compressed():
    """By the command: libtamis reads only uncompressed files."""
    chosen, others = keys(60), keys(ABSENT)

    def answers(path):
        ours = set(run(TAMIS, "check", path, given=lines(chosen + others)).split(b"\n")[:-1])
        theirs = set(run("bloom", "--gzip", "check", path, given=lines(chosen + others)).split(b"\n")[:-1])
        if ours != theirs:
            fail(f"{path}, compressed: answers differ for {next(iter(theirs ^ ours))!r}")
        return ours

    run("bloom", "--gzip", "create", "-n", "100", "-p", "0.001", "theirs")
    run("bloom", "--gzip", "insert", "theirs", given=lines(chosen[:30]))
    if not set(chosen[:30]) <= answers("theirs"):
        fail("compressed by bloom: a key is lost")
    run(TAMIS, "build", "--gzip", "--format", "dcso", "--expect", "100", "--fpr", "0.001", "-o", "ours",
        given=lines(chosen[:30]))
    run("bloom", "--gzip", "insert", "ours", given=lines(chosen[30:]))
    run(TAMIS, "add", "theirs", given=lines(chosen[30:]))
    for path in ("theirs", "ours"):
        if not set(chosen) <= answers(path):
            fail(f"{path}, compressed: a key is lost")
    if gzip.decompress(content("theirs")) != gzip.decompress(content("ours")):
        fail("compressed files hold something else")
    run("bloom", "--gzip", "set-data", "ours", given=b"of the user\n")
    run(TAMIS, "add", "ours", given=b"one more\n")
    if run("bloom", "--gzip", "get-data", "ours").strip() != b"of the user":
        fail("compressed: data is lost when we add a key")


def lines_of_windows():
    """bloom removes one carriage return at the end of a line, and so does the command."""
    chosen, others = keys(60), keys(ABSENT)
    text = b"".join(key + b"\r\n" for key in chosen[:-2]) + chosen[-2] + b"\r\r\n" + chosen[-1]
    make(100, "0.001", "theirs")
    run("bloom", "insert", "theirs", given=text)
    run(TAMIS, "build", "-q", "--format", "dcso", "--expect", "100", "--fpr", "0.001", "-o", "ours", given=text)
    same_bytes("built of lines of Windows", "theirs", "ours")
    run(TAMIS, "build", "-q", "--format", "dcso", "--expect", "100", "--fpr", "0.001", "-o", "ours", given=b"")
    run(TAMIS, "add", "ours", given=text)
    same_bytes("added lines of Windows", "theirs", "ours")
    queries = text + b"\r\n" + b"".join(key + b"\r\n" for key in others)
    ours = run(TAMIS, "check", "theirs", given=queries).split(b"\n")
    theirs = run("bloom", "check", "theirs", given=queries).split(b"\n")
    if [line[:-1] if line.endswith(b"\r") else line for line in ours] != theirs:
        fail("lines of Windows are answered differently")


def long_keys():
    """tamis adds keys that bloom cannot read; bloom still finds the other keys of that file."""
    long_one, chosen = b"x" * 70000, keys(20)
    run(TOOL, "make", "dcso", "fnv-dcso", "-", "100", "1e-9", "/dev/null", "ours")
    run(TOOL, "add", "dcso", "ours", "ours", given=in_hex(chosen[:10] + [long_one] + chosen[10:]))
    if ours_has("ours", chosen + [long_one, long_one[1:]]) != set(chosen + [long_one]):
        fail("a long key is not found")
    if theirs_has("ours", chosen) != set(chosen):
        fail("bloom does not find keys that stand beside a long one")


def a_mistake_is_found():
    make(1000, "0.01", "theirs")
    chosen = keys(500)
    run("bloom", "insert", "theirs", given=lines(chosen))
    changed = bytearray(content("theirs"))
    position = next(i for i in range(HEAD, len(changed)) if changed[i])
    changed[position] &= changed[position] - 1
    put("changed", changed)
    if ours_has("changed", chosen) == theirs_has("theirs", chosen):
        fail("a mistake is not noticed: one bit less gives the same answers")


def main():
    for number in range(FILTERS):
        one_filter(number)
    for check in (user_data, joined, compressed, lines_of_windows, long_keys, a_mistake_is_found):
        check()


if __name__ == "__main__":
    main()
