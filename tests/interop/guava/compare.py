#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Compares the answers of the two sides: compare.py SCRIPT THEIRS OURS

THEIRS begins with the hash codes that GuavaOps.java prints. Every answer must be the same to the letter, but for the
expected rate: pow() of Java and of the C library may differ by a unit in the last place or two, so four are let pass.
Then each kind of answer is altered once, as little as it can be, and the comparison has to find that: one that lets a
mistake pass would say nothing. Exit status 1 and the first difference where there is one.
"""
import math
import sys

ULPS = 4


def same(operation, theirs, ours):
    if operation != "state":
        return theirs == ours
    try:
        *their_statistics, their_rate = theirs.split(" ")
        *our_statistics, our_rate = ours.split(" ")
        their_rate, our_rate = float.fromhex(their_rate), float.fromhex(our_rate)
    except ValueError:
        return False
    return their_statistics == our_statistics and abs(their_rate - our_rate) <= ULPS * math.ulp(their_rate)


def difference(script, theirs, ours):
    """The number of the first line that differs, or None."""
    if not len(script) == len(theirs) == len(ours):
        return min(len(script), len(theirs), len(ours))
    for i, line in enumerate(script):
        if not same(line.split(" ", 1)[0], theirs[i], ours[i]):
            return i
    return None


def altered(answer):
    """The same answer with one small mistake for each of its words, and for the last two digits of a rate."""
    words = answer.split(" ")
    for i, word in enumerate(words):
        if word.startswith("0x"):
            rate = float.fromhex(word)
            wrong = float.hex(rate + (ULPS + 2) * math.ulp(rate))
        elif word in ("true", "false"):
            wrong = "false" if word == "true" else "true"
        else:
            last = word[-1]
            wrong = word[:-1] + (chr(ord(last) ^ 1))
        yield " ".join(words[:i] + [wrong] + words[i + 1:])


def mistakes_missed(script, theirs, ours):
    """Kinds of answer that can be altered without being caught; how many were tried."""
    first, missed, tried = {}, [], 0
    for i, line in enumerate(script):
        first.setdefault((line.split(" ", 1)[0], theirs[i].split(" ", 1)[0].isalpha()), i)
    for i in first.values():
        for wrong in altered(ours[i]):
            tried += 1
            if difference(script, theirs, ours[:i] + [wrong] + ours[i + 1:]) != i:
                missed.append(f"{script[i]}: {wrong} for {theirs[i]}")
    if difference(script, theirs, ours[:-1]) is None:
        missed.append("an answer left out")
    return missed, tried


def main():
    script, theirs, ours = (open(path, encoding="ascii").read().splitlines() for path in sys.argv[1:4])
    theirs = theirs[theirs.index("--") + 1:]
    index = difference(script, theirs, ours)
    if index is not None:
        print(f"operation {index + 1} of {len(script)} ({len(theirs)} and {len(ours)} answers)")
        for name, lines in (("operation", script), ("Guava", theirs), ("tamis", ours)):
            print(f"  {name}: {lines[index][:400] if index < len(lines) else '(none)'}")
        return 1
    missed, tried = mistakes_missed(script, theirs, ours)
    for mistake in missed:
        print(f"the comparison lets pass: {mistake}")
    print(f"{len(script)} answers agree; {tried - len(missed)} of {tried} planted mistakes are caught")
    return 1 if missed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
