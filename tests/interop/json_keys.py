#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Pointers into random hostile records, compared with Python's json module and jq: json_keys.py JSON_OPS SEED RECORDS

Python's module is the oracle. It accepts more than RFC 8259, so this script refuses NaN, Infinity and single surrogates.
It does not give the positions of values. So objects and arrays must be a part of the record and mean the same, member
by member; numbers must have the same digits.

jq accepts more than JSON, and rewrites numbers. It must accept every record that tamis accepts, with the same
strings, true and false.
"""
import json
import random
import re
import subprocess
import sys
import threading

POINTERS = ["/event_id", "/a", "/a/b", "/a/0", "/a/b/0", "", "/caf\u00e9", "/x~1y/m~0n", "/0", "/1/a", "/a/b/c/d",
            "/\U0001f600", "/"]
NAMES = ["event_id", "a", "b", "c", "d", "0", "1", "01", "-", "caf\u00e9", "x/y", "m~n", "\U0001f600", "", "event",
         "event_id\0"]
TEXTS = ["", "event_id", "\"event_id\":1", "{\"a\":1}", "a\\b", "tab\there", "nul\0nul", "line\nbreak\r\n",
         "caf\u00e9", "\u20ac\u2028\u2029", "\U0001f600\U0010ffff", "\ufeff", "\x7f\x80\u07ff\u0800\uffff", "null",
         "\x1f\x01\b\f", "/", "'", "plain text, longer than what is looked at at once"]
NUMBERS = ["0", "-0", "1", "-1", "10", "1.0", "1.50", "-0.0", "1e5", "1E+5", "0e-0", "1e999", "-1e-999",
           "9007199254740993", "18446744073709551616", "1" * 60, "0.1234567890123456789012345678901234567890",
           "1" * 400 + ".5e-400"]
WORDS = ["true", "false", "null"]
WRONG = ["NaN", "Infinity", "-Infinity", "01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "1_0", "tru", "True", "nul",
         "'a'", "undefined", "\"\\ud800\"", "\"\\udc00\\ud800\"", "\"\\ud800\\u0041\"", "\"\\x41\"", "\"\\u00g0\"",
         "\"\\u12\"", "\"a", "\"\t\"", "\"\0\"", "//", "/**/1", "{a:1}", "{\"a\" 1}", "{\"a\":1,}", "[1,]", "[,]", "{,}",
         "{\"a\"}", "[1 2]", "{\"a\":1;\"b\":2}", "[1}", "\u00a0", "\ufeff", ""]
BYTES = [b"\x80", b"\xc0\xaf", b"\xc3", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80",
         b"\xff", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf", b"\xe2\x82", b"\0", b"\x1f", b"\x0b", b"\\", b"\"", b"{", b"}",
         b"[", b"]", b",", b":", b"\xef\xbb\xbf"]


# ---- records ----

SHORT = {"\"": "\\\"", "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.wrong = 0.0  # probability that a value is invalid

    def chance(self, share):
        return self.random.random() < share

    def blanks(self):
        return "" if self.chance(0.9) else self.random.choice([" ", "\t", "\n", "\r\n", "  \t"])

    def unit(self, code):
        text = f"\\u{code:04x}"
        return text.upper().replace("\\U", "\\u") if self.chance(0.3) else text

    def character(self, c, escaping):
        code = ord(c)
        has_to = code < 0x20 or c in "\"\\"
        if not has_to and not self.chance(escaping):
            return c
        if c in SHORT and self.chance(0.7):
            return SHORT[c]
        if code > 0xffff:
            return self.unit(0xd800 + (code - 0x10000 >> 10)) + self.unit(0xdc00 + (code - 0x10000 & 0x3ff))
        return self.unit(code)

    def string(self, text):
        escaping = self.random.choice([0, 0, 0.1, 1])
        return "\"" + "".join(self.character(c, escaping) for c in text) + "\""

    def text(self):
        text = "".join(self.random.choice(TEXTS) for _ in range(self.random.choice([1, 1, 1, 2, 5])))
        return text * (20000 if self.chance(0.0001) else 1)

    def member(self, depth):
        name = self.string(self.random.choice(NAMES[:5] if self.chance(0.6) else NAMES))
        return name + self.blanks() + ":" + self.blanks() + self.value(depth + 1)

    def value(self, depth):
        if self.chance(self.wrong):
            return self.random.choice(WRONG)
        what = self.random.random()
        if depth > 5 or what < 0.45:
            kind = self.random.randrange(3)
            return self.string(self.text()) if kind == 0 else self.random.choice(NUMBERS if kind == 1 else WORDS)
        if what < 0.5 and depth < 2 and self.chance(0.05):
            levels = self.random.choice([10, 64, 300, 3000])
            opens = [self.random.choice(["[", "{\"a\":", "{\"b\":"]) for _ in range(levels)]
            return "".join(opens) + "1" + "".join("]" if o == "[" else "}" for o in reversed(opens))
        count = self.random.choice([0, 1, 2, 3, 6])
        if what < 0.7:
            inner = [self.value(depth + 1) for _ in range(count)]
        else:
            inner = [self.member(depth) for _ in range(count)]
        text = (self.blanks() + "," + self.blanks()).join(inner)
        return ("[%s]" if what < 0.7 else "{%s}") % (self.blanks() + text + self.blanks())

    def harmed(self, record):
        cut = self.random.randrange(len(record) + 1)
        what = self.random.randrange(5)
        if what == 0:
            return record[:cut]
        if what == 1:
            return record[:cut] + record[cut + 1:]
        if what == 2:
            return record[:cut] + self.random.choice(BYTES) + record[cut:]
        if what == 3:
            return record[:cut] + bytes([self.random.randrange(256)]) + record[cut + 1:]
        other = self.random.randrange(len(record) + 1)
        return record[:cut] + record[other:]

    def record(self):
        self.wrong = 0.02 if self.chance(0.15) else 0
        if self.chance(0.01):
            return self.random.choice([b"", b" ", b"\r", b"\t \n", b"null", b"\xef\xbb\xbf{}", b"\xef\xbb\xbf"])
        text = self.value(0)
        if self.chance(0.7):
            text = "{%s}" % ",".join([self.string(self.random.choice(NAMES[:2])) + ":" + self.value(1)
                                      for _ in range(self.random.choice([1, 2, 3]))])
        record = (self.blanks() + text + self.blanks()).encode("utf-8")
        while self.chance(0.4):
            record = self.harmed(record)
        return record


# ---- the oracle ----

class Pairs(list):
    """A JSON object: its members in order."""


class Number(str):
    """A JSON number, as written."""


class Wrong(Exception):
    pass


def refuse(text):
    raise Wrong(text)


STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
decoder = json.JSONDecoder(object_pairs_hook=Pairs, parse_int=Number, parse_float=Number, parse_constant=refuse)


def read(record):
    """(is well-formed, the value or None for a blank record)"""
    try:
        text = record.decode("utf-8")
        if not text.strip(" \t\r\n"):
            return True, None
        if text.startswith("\ufeff"):
            return False, None
        value = decoder.decode(text)
        for string in STRING.findall(text):
            if "\\u" in string:
                json.loads(string).encode("utf-8")  # a single surrogate is refused
        return True, value
    except (ValueError, Wrong):
        return False, None


def find(value, pointer):
    for token in pointer.split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Pairs):
            value = dict(value).get(token)
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]*", token, re.A) and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value


def same_value(record, expected, got):
    """True if got, bytes or None, is what the pointer should find."""
    if expected is None or got is None:
        return expected is None and got is None
    if isinstance(expected, str):  # numbers too
        return got == expected.encode("utf-8")
    if isinstance(expected, bool):
        return got == (b"true" if expected else b"false")
    ends = b"{}" if isinstance(expected, Pairs) else b"[]"
    return got in record and got[:1] + got[-1:] == ends and read(got) == (True, expected)


def mistakes(records, readings, answers):
    """Messages about records whose answers differ from Python's."""
    for number, (record, (well, value), answer) in enumerate(zip(records, readings, answers)):
        head, *found = answer.split(" ")
        if (head == "ok") != well:
            yield f"record {number}: {'well' if well else 'malformed'} for python, not for us: {answer[:60]}: {record[:300]!r}"
        if head != "ok":
            if int(found[0]) > len(record):
                yield f"record {number}: byte {found[0]} of {len(record)}"
            continue
        for pointer, given in zip(POINTERS, found) if well else ():
            got = bytes.fromhex(given[1:]) if given[0] == "=" else None
            if not same_value(record, find(value, pointer), got):
                yield f"record {number}: {pointer} is {given[:60]}: {record[:300]!r}"


def ours(program, records):
    framed = b"".join(len(record).to_bytes(8, "little") + record for record in records)
    run = subprocess.run([program] + POINTERS, input=framed, stdout=subprocess.PIPE, check=True)
    return run.stdout.decode("ascii").splitlines()


# ---- jq ----

JQ = """
def step($k): if type == "object" then .[$k]
              elif type == "array" and ($k | test("^(0|[1-9][0-9]*)$")) then .[$k | tonumber] else null end;
try (fromjson as $v
    | [$paths[] | reduce .[] as $k ($v; step($k)) | if type == "string" or type == "boolean" then . else null end])
catch false
"""


def jq_mistakes(records, answers):
    """Runs jq on the records that tamis accepts. jq allows 256 levels and no blank record."""
    chosen = [i for i, answer in enumerate(answers)
             if answer.startswith("ok") and records[i].strip(b" \t\r\n") and max(records[i].count(b"["), records[i].count(b"{")) < 100]
    paths = [[t.replace("~1", "/").replace("~0", "~") for t in pointer.split("/")[1:]] for pointer in POINTERS]
    lines = "".join(json.dumps(records[i].decode("utf-8")) + "\n" for i in chosen)
    run = subprocess.run(["jq", "-c", "--argjson", "paths", json.dumps(paths), JQ], input=lines.encode("utf-8"),
                         stdout=subprocess.PIPE, check=True)
    said = run.stdout.decode("utf-8").split("\n")[:-1]
    if len(said) != len(chosen):
        yield f"jq answers {len(said)} of {len(chosen)}"
    for i, line in zip(chosen, said):
        found = json.loads(line)
        if found is False:
            yield f"record {i}: jq refuses it: {records[i][:300]!r}"
            continue
        for pointer, given, expected in zip(POINTERS, answers[i].split(" ")[1:], found):
            if isinstance(expected, (str, bool)):
                text = expected if isinstance(expected, str) else str(expected).lower()
                if given != "=" + text.encode("utf-8").hex():
                    yield f"record {i}: {pointer} is {given[:60]}, for jq {text[:60]!r}: {records[i][:300]!r}"


# ---- main ----

def planted(answers):
    """Answers with one mistake each. Each must be noticed."""
    def changed(which, change):
        number = next(i for i, answer in enumerate(answers) if which(answer))
        return answers[:number] + [change(answers[number])] + answers[number + 1:]
    yield changed(lambda a: a.startswith("bad"), lambda a: "ok" + " -" * len(POINTERS))
    yield changed(lambda a: a.startswith("ok"), lambda a: "bad 0 x")
    yield changed(lambda a: a.startswith("ok ="), lambda a: a.replace("ok =", "ok =41", 1))
    yield changed(lambda a: a.startswith("ok -"), lambda a: a.replace("ok -", "ok =", 1))


def main():
    program, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    maker = Maker(seed)
    wells = 0
    for done in range(0, count, 20000):
        records = [maker.record() for _ in range(min(20000, count - done))]
        readings = [read(record) for record in records]
        wells += sum(well for well, _ in readings)
        answers = ours(program, records)
        found = list(mistakes(records, readings, answers)) + list(jq_mistakes(records, answers))
        if len(answers) != len(records):
            found.append(f"{len(answers)} answers to {len(records)} records")
        if found:
            sys.exit("\n".join(found[:10]))
        if done == 0 and not all(any(mistakes(records, readings, wrong)) for wrong in planted(answers)):
            sys.exit("a mistake is not noticed")
    print(f"{count} records, {wells} of them well")
    if not count // 4 < wells < count * 3 // 4:
        sys.exit("too few of one kind")


if __name__ == "__main__":
    # The oracle recurses for deep records.
    sys.setrecursionlimit(100000)
    threading.stack_size(512 << 20)
    status = ["it did not come to its end"]

    def run():
        try:
            main()
            status[0] = 0
        except SystemExit as end:
            status[0] = end.code
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    sys.exit(status[0])
