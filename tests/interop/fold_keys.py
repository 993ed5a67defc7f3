#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Case folding of keys, compared with Python's str.casefold(): fold_keys.py EXTRACT_OPS SEED TEXTS"""
import random
import subprocess
import sys
import unicodedata


def characters(program):
    """Code points that both sides know: a later Unicode may fold new ones."""
    version, *spans = subprocess.run([program, "--assigned"], check=True, capture_output=True,
                                         text=True).stdout.splitlines()
    ours = set()
    for span in spans:
        first, last = map(int, span.split())
        ours.update(range(first, last + 1))
    theirs = {c for c in range(0x110000) if unicodedata.category(chr(c)) != "Cn"}
    shared = [c for c in sorted(ours & theirs) if not 0xD800 <= c < 0xE000]
    print(f"Unicode {version} here, {unicodedata.unidata_version} in python: {len(shared)} characters, "
          f"{len(ours ^ theirs)} that one alone knows are left out")
    assert len(shared) > 140000
    return shared


def fold(record):
    # Bytes that are not UTF-8 become surrogates, which are not folded, and then the same bytes again.
    return record.decode("utf-8", "surrogateescape").casefold().encode("utf-8", "surrogateescape")


def text(chance, shared, folding):
    chosen = [chance.choice(chance.choice([shared, folding, range(128)])) for _ in range(chance.choice([1, 3, 10, 40]))]
    record = "".join(map(chr, chosen)).encode()
    if chance.random() < 0.5: # cut off, or damaged at one byte
        cut = chance.randrange(len(record))
        record = record[cut:] if chance.random() < 0.5 else record[:cut] + bytes([chance.randrange(256)]) + record[cut + 1:]
    return record


def first_difference(records, answers):
    """The key, or None."""
    assert len(answers) == len(records), f"{len(answers)} answers to {len(records)} records"
    return next((r for r, answer in zip(records, answers) if fold(r).hex() != answer), None)


def main():
    program, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    shared = characters(program)
    folding = [c for c in shared if chr(c).casefold() != chr(c)]
    records = [chr(c).encode() for c in shared] + [text(chance, shared, folding) for _ in range(count)]
    answers = subprocess.run([program, "-i", "line"], input="".join(r.hex() + "\n" for r in records), check=True,
                             capture_output=True, text=True).stdout.splitlines()
    differs = first_difference(records, answers)
    if differs is not None:
        sys.exit(f"{differs!r}: {answers[records.index(differs)]}, python: {fold(differs).hex()}")
    # One wrong answer must be noticed.
    answers[chance.randrange(len(answers))] += "00"
    assert first_difference(records, answers) is not None


main()
