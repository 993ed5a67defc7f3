#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Keys from fields or bytes of records, compared with Python: piece_keys.py EXTRACT_OPS SEED RECORDS"""
import random
import subprocess
import sys

ROUNDS = 50
DELIMITERS = [None, None, b",", b" ", b"\0", b"\r", b"a", b"\x80", b"\xff"]


def record(chance, delimiter, huge):
    """A record: any bytes with delimiters, blanks, NULs and CRs, or nothing."""
    kind = chance.randrange(10)
    if kind == 0:
        return b""
    if kind == 1:
        return bytes(chance.choices(b" \t\r\v\f\n\0" + delimiter, k=chance.randrange(12)))
    fields = []
    for _ in range(chance.choice([1, 2, 3, 4, 40])):
        alphabet = chance.choice([b"abc", b" \t\v\f\rab", b"\0\r\n\x80\xff,", bytes(range(256))])
        fields.append(bytes(chance.choices(alphabet, k=chance.choice([0, 0, 1, 2, 8, 15, 16, 17, 64, 100]))))
    if huge:
        fields[chance.randrange(len(fields))] = chance.choice([b"x", b" ", b"\0", b"a\r "]) * (1 << 20)
    return delimiter.join(fields) + chance.choice([b"", b"", b"\r", delimiter])


def content(chance, delimiter, terminator, count):
    """The records of a file. The last one is incomplete."""
    at_huge = chance.randrange(count)
    records = [record(chance, delimiter, i == at_huge).replace(terminator, b"x") for i in range(count)]
    text = terminator.join(records + [b"cut short"])
    return text[:-chance.randrange(1, 9)].split(terminator)


def part(chance):
    """The text of a part, and a function that extracts its key in Python, or None."""
    kind = chance.randrange(8)
    if kind == 0:
        return "line", lambda record, delimiter: record
    if kind < 5:
        number = chance.choice([1, 1, 2, 3, 4, 5, 41, 1000])
        return f"field:{number}", lambda record, delimiter: (record.split(delimiter)[number - 1:number] or [None])[0]
    first = chance.choice([1, 1, 2, 3, 8, 16, 64, 1000, 1 << 20])
    last = first + chance.choice([0, 1, 7, 63, 1 << 20])
    if kind == 5:
        return f"bytes:{first}-", lambda record, delimiter: record[first - 1:] if len(record) >= first else None
    return f"bytes:{first}-{last}", lambda record, delimiter: record[first - 1:last] if len(record) >= first else None


def key(parts, delimiter, is_trimmed, record):
    values = [find(record, delimiter) for _, find in parts]
    if None in values:
        return "-"
    if is_trimmed:
        values = [value.strip(b" \t\n\v\f\r") for value in values]
    if len(values) == 1:
        return values[0].hex()
    return b"".join(len(value).to_bytes(8, "little") + value for value in values).hex()


def first_difference(expected, answers):
    """The number of the delimiter, or None."""
    assert len(answers) == len(expected), f"{len(answers)} answers to {len(expected)} records"
    return next((i for i, (a, b) in enumerate(zip(expected, answers)) if a != b), None)


def main():
    program, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(seed)
    total = found = 0
    while total < count:
        delimiter, terminator = chance.choice(DELIMITERS), chance.choice([b"\n", b"\n", b"\0"])
        is_trimmed = chance.random() < 0.5
        parts = [part(chance) for _ in range(chance.choice([1, 1, 1, 2, 3]))]
        words = ["-t"] * is_trimmed + (["-d", str(delimiter[0])] if delimiter else []) + [text for text, _ in parts]
        delimiter = delimiter or b"\t"
        records = content(chance, delimiter, terminator, max(1, count // ROUNDS))
        expected = [key(parts, delimiter, is_trimmed, record) for record in records]
        answers = subprocess.run([program] + words, input="\n".join(record.hex() for record in records) + "\n", check=True,
                                 capture_output=True, text=True).stdout.splitlines()
        index = first_difference(expected, answers)
        if index is not None:
            sys.exit(f"{' '.join(words)} of {records[index][:300]!r}: {answers[index][:300]}, python: {expected[index][:300]}")
        total += len(records)
        found += sum(answer != "-" for answer in answers)
        # One wrong answer must be noticed.
        index = chance.randrange(len(answers))
        answers[index] = "-" if answers[index] != "-" else ""
        assert first_difference(expected, answers) == index
    assert total // 10 < found < total, f"of {total} records {found} have keys"
    print(f"{total} records, {found} of them with a key")


main()
