#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The library, compared with Python's csv: csv_keys.py CSV_OPS SEED RECORDS

Both read the same bytes, some thousands of records at a time. They must find the same records, the same malformed ones,
and the same columns. Intended differences are in Lines and expected. Prints a message and exits with status 1 if
something else differs.
"""
import csv
import random
import subprocess
import sys

OPS, SEED, RECORDS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
RNG = random.Random(SEED)
DELIMITERS = ",,;\t|: a\x01\xff"
if sys.version_info >= (3, 11):
    DELIMITERS += "\0"
# Before 3.11 Python's csv refuses every NUL.
NUL = [b"\0"] if sys.version_info >= (3, 11) else []
csv.field_size_limit(2**31 - 1)


# ---- input ----

def some_bytes(size):
    text = bytes(RNG.getrandbits(8) for _ in range(size))
    return text if NUL else text.replace(b"\0", b"0")


def value(delimiter):
    """The bytes of a field: mostly short, some with characters that need quotes."""
    size = RNG.choice([0, 1, 2, 5, 8, 13, 60, 62, 63, 64, 65, 130]) if RNG.random() < 0.9997 else RNG.choice([9000, 1000000])
    if size > 1000:
        return (some_bytes(97) + b'"\n' + delimiter) * (size // 100)
    kind = RNG.randrange(3)
    if kind == 0:
        return some_bytes(size)
    if kind == 1:
        return bytes(RNG.choices(b"abcdefgh", k=size))
    return b"".join(RNG.choices([b'"', b'""', b"\n", b"\r", b"\r\n", delimiter, b" ", b"x", b"\xef\xbb\xbf"] + NUL, k=size))


def quoted(text):
    return b'"' + text.replace(b'"', b'""') + b'"'


def field(delimiter):
    """A field as programs write it: correct, or with a common mistake."""
    text = value(delimiter)
    kind = RNG.randrange(20)
    if kind == 0:
        return text  # any bytes
    if kind == 1:
        return b'"' + text + b'"'
    if kind == 2:
        return quoted(text) + RNG.choice([b"", b" ", b"x", b'"', b"\r"])
    if kind < 10 or text[:1] == b'"' or any(c in text for c in (delimiter, b"\n", b"\r")):
        return quoted(text)
    return text


def record(delimiter):
    kind = RNG.randrange(20)
    end = RNG.choice([b"\n", b"\n", b"\r\n"])
    if kind == 0:  # special bytes in any order
        return b"".join(RNG.choices([b'"', delimiter, b"\r", b"\n", b"x"] + NUL, k=RNG.randrange(80))) + end
    if kind == 1:
        return RNG.choice([b"", b'"', b'""', delimiter, delimiter + b'"', b"\r", b"\r\r"]) + end
    fields = RNG.randrange(1, 9) if kind > 2 else RNG.randrange(1, 60)
    return delimiter.join(field(delimiter) for _ in range(fields)) + end


def content(delimiter, records):
    text = b"".join(record(delimiter) for _ in range(records))
    if RNG.random() < 0.5:  # the last one is incomplete
        text = text[:-RNG.randrange(1, 40)]
    return RNG.choice([b"", b"", b"\xef\xbb\xbf"]) + text


# ---- python's answer ----

class Lines:
    """The bytes as lines for csv.reader, which requests the next line if a record continues after a terminator.

    Only LF ends a line. In a file opened with newline="", as the manual says, a lone CR would end one too.
    """

    def __init__(self, text):
        self.lines = text.decode("latin-1").split("\n")
        self.lines[:-1] = [line + "\n" for line in self.lines[:-1]]
        if not self.lines[-1]:
            self.lines.pop()
        self.next = 0
        self.plain = False

    def __iter__(self):
        return self

    def __next__(self):
        if self.next == len(self.lines):
            raise StopIteration
        self.next += 1
        line = self.lines[self.next - 1]
        return line.replace("\r", "x") if self.plain else line


def expected(text, delimiter, columns):
    """The expected output of csv_ops."""
    lines = Lines(text)
    rows = csv.reader(lines, delimiter=delimiter.decode("latin-1"), strict=True)
    while lines.next < len(lines.lines):
        first = lines.next
        try:
            row = next(rows)
            # Python accepts any number of CR before LF; the library accepts one, as in RFC 4180.
            malformed = lines.lines[lines.next - 1].removesuffix("\n").endswith("\r\r")
        except csv.Error as error:
            malformed = True
            if "new-line" in str(error):
                # After a misplaced CR, Python ends the record at the next terminator, even within
                # quotes. For the library the CR is a byte that makes the record malformed: replace it by another byte.
                lines.next, lines.plain = first, True
                try:
                    next(rows)
                except csv.Error:
                    pass
                lines.plain = False
        if malformed:
            yield "!"
        else:
            found = [row[c - 1].encode("latin-1").hex() if c <= len(row) else "-" for c in columns]
            yield " ".join([str(len(row))] + found)


# ---- comparison ----

def difference(theirs, ours):
    """A message about a difference, or None."""
    for number, (expected, got) in enumerate(zip(theirs, ours), 1):
        if expected != got:
            return f"record {number} is {expected[:200]} to python, {got[:200]} to us"
    return f"{len(theirs)} records to python, {len(ours)} to us" if len(theirs) != len(ours) else ""


def compare(records):
    """Returns the number of records, and of malformed ones, that Python found."""
    delimiter = RNG.choice(DELIMITERS).encode("latin-1")
    columns = RNG.choices([1, 2, 3, 4, 5, 8, 30, 1000], k=RNG.randrange(1, 5))
    text = content(delimiter, records)
    words = [OPS, str(delimiter[0]), str(RNG.getrandbits(32))] + [str(c) for c in columns]
    done = subprocess.run(words, input=text, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr.decode()}")
    ours = done.stdout.decode().splitlines()
    theirs = list(expected(text, delimiter, columns))
    wrong = difference(theirs, ours)
    if wrong:
        sys.exit(f"delimiter {delimiter}, columns {columns}: {wrong}")
    # A different column and a missing record must be noticed.
    assert not ours or difference(theirs, ours[:-1] + [ours[-1] + "0"]) and difference(theirs, ours[1:])
    return len(theirs), theirs.count("!")


def main():
    total = malformed = 0
    # Most records of a document are well-formed, or most are malformed. So only many documents are a fair mixture.
    while total < RECORDS or (not total / 50 < malformed < total / 2 and total < 20 * RECORDS):
        compared, bad = compare(RNG.choice([3, 30, 3000]))
        total += compared
        malformed += bad
    if not total / 50 < malformed < total / 2:
        sys.exit(f"{malformed} of {total} records are malformed: that tests too little")
    print(f"{total} records, {malformed} of them malformed")


main()
