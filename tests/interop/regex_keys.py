#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Keys by regular expressions, compared with Python's re: regex_keys.py EXTRACT_OPS SEED RECORDS"""
import random
import re
import subprocess
import sys

PATTERNS = [
    r"[a-c]+", r"[^a-c]+", r"a.b", r"a.*b", r"a.*?b", r"^a", r"b$", r"^$", r"^[^,]*$", r"a{2,3}", r"a{2,3}?b",
    r"\d+", r"\w+", r"\W", r"\s+", r"\bab", r"ab\b", r"a\Bb", r"\x00", r"[\x80-\xff]+", r"[^\x00-\x7f]", r"\\",
    r"(?i)AB+", r"(?s)a.b", r"(?m)^b", r"(?m)a$", r"(?x) a  b # both", r"(?=ab)a", r"a(?!b)", r"(?<=a)b", r"(?<!a)b",
    r"(a)", r"(\d+)-(\d+)", r"^([^,]*),([^,]*)", r"(a)|(b)", r"(a)|(b)|(,)", r"(?:a(b)?)+c", r"(.)\1", r"(.)(.)\2\1",
    r"(?P<one>a+)(?P<two>b*)", r"(a*)(b*)(c*)", r"(a|ab)(c|bcd)?(,*)", r"((a)(b)?)", r"(?:(a)|b)c", r"x?(a)??b",
    r"(?:[a-c]{2},)+", r"(?>a+)b", r"a++b", r"(\s*)$", r"(a)?(?(1)b|c)",
]
NONE = b"\xff" * 8


def record(chance):
    size = chance.choice([0, 1, 2, 5, 20, 60])
    alphabet = chance.choice([b"abc", b"aabbcc,,\n01-", b"aAbB \t\n\v\f\r_,", bytes(range(256)), b"a\x00\xff\x80\\,b"])
    return bytes(chance.choices(alphabet, k=size))


def key(pattern, record):
    match = pattern.search(record)
    if not match:
        return "-"
    groups = match.groups() or (match.group(),)
    if all(group is None for group in groups):
        return "-"
    if len(groups) == 1:
        return groups[0].hex()
    return b"".join(NONE if g is None else len(g).to_bytes(8, "little") + g for g in groups).hex()


def first_difference(pattern, records, answers):
    """The key, or None."""
    assert len(answers) == len(records), f"{len(answers)} answers to {len(records)} records"
    return next((r for r, answer in zip(records, answers) if key(pattern, r) != answer), None)


def main():
    program, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    found = 0
    for text in PATTERNS:
        pattern = re.compile(text.encode())
        records = [record(chance) for _ in range(max(1, count // len(PATTERNS)))]
        answers = subprocess.run([program, f"regex:{text}"], input="".join(r.hex() + "\n" for r in records), check=True,
                                 capture_output=True, text=True).stdout.splitlines()
        differs = first_difference(pattern, records, answers)
        if differs is not None:
            sys.exit(f"regex:{text} of {differs!r}: {answers[records.index(differs)]}, python: {key(pattern, differs)}")
        found += sum(answer != "-" for answer in answers)
        # One wrong answer must be noticed.
        index = chance.randrange(len(answers))
        answers[index] = "-" if answers[index] != "-" else ""
        assert first_difference(pattern, records, answers) == records[index]
    assert found > count // 10, f"of {count} records only {found} have keys"


main()
