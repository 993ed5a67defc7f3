#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The glossary: words that the field has another term for. words.py ROOT

Looks for single words in identifiers and file names, and for phrases in comments, messages and documents. Prints one line a
hit, with the term to use; exit status 1 if there is one. words_allowed.txt lists identifiers that use a word in its plain sense.

A word joins the lists when its last use is gone from the sources.
"""
import os
import re
import sys

from sources import line_of, read, walk

HERE = os.path.dirname(os.path.abspath(__file__))

# Part of an identifier or of a file name: the term to use.
WORDS = {
    "about": "metadata; st for struct stat",
    "account": "checkpoint",
    "alike": "equal",
    "aside": "temporary or staged file",
    "ask": "query, look up",
    "asked": "queried; batch",
    "asks": "queries",
    "bare": "without CR",
    "clash": "conflict",
    "doubt": "unconfirmed adds",
    "exchange": "pipelined requests",
    "fate": "outcome",
    "flow": "codec buffer",
    "folder": "directory",
    "foresee": "size hint",
    "foreseen": "size hint",
    "fresh": "absent",
    "front": "prefix",
    "gather": "buffer",
    "gave": "released",
    "guest": "spilled entry",
    "guests": "spilled entries",
    "identity": "file fingerprint",
    "keyless": "no key",
    "lane": "node pipeline",
    "least": "min",
    "lend": "allocate",
    "lent": "allocated",
    "likeness": "match",
    "link": "connection",
    "looks": "candidates",
    "lot": "batch, item",
    "lots": "batches, items",
    "most": "max",
    "origin": "source",
    "overfill": "allow over capacity",
    "packed": "compressed",
    "packer": "compressor",
    "packers": "compressors",
    "packing": "compression",
    "pour": "flush",
    "question": "query",
    "room": "capacity, buffer size",
    "rooms": "capacities",
    "seen": "present",
    "sentence": "message",
    "sentences": "messages",
    "settle": "commit, finish, apply",
    "settled": "committed, finished, applied",
    "spot": "positions",
    "spots": "positions",
    "stale": "changed",
    "stretch": "span",
    "taken": "parsed, validated",
    "told": "parsed, reported",
    "trouble": "error",
    "unite": "union",
    "united": "merged",
    "unpack": "decompress",
    "unpacked": "decompressed",
    "untold": "unspecified",
    "want": "options",
}

# In comments, messages and documents.
PHRASES = [
    (r"\bnothing is to be done\b", "nothing to do"),
    (r"\bas it was told\b", "as given"),
    (r"\bhave it written anew\b", "get the file again"),
    (r"\baccounts? of (a run|runs)\b", "checkpoint"),
    (r"\bis told\b", "is given, is reported"),
    (r"\btold nothing\b", "gave no usable ..."),
    (r"\bstands what is none\b", "unexpected bytes"),
    (r"\b(is|was) packed\b", "compressed"),
    (r"\b[Ff]oresees?n?\b", "size hint; expected"),
    (r"\bfor a look\b", "for a short run"),
    (r"\bin their places\b", "say where"),
    (r"\blies? aside\b", "there is a temporary file"),
    (r"\b(a|the) mended fault\b", "a fixed bug"),
    (r"\bof chance\b", "random"),
    (r"\bwhat (is|was) told\b", "the report, the arguments"),
    (r"\b[Ww]ho (asks|comes|only|reads|waits)\b", "name the caller, the thread, the user"),
]

DIRECTORIES = ("src", "include", "tests", "bench")
CODE = (".c", ".h")
PART = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|^[ \t]*#[ \t]*include[^\n]*', re.S | re.M)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def allowed():
    with open(os.path.join(HERE, "words_allowed.txt"), encoding="utf-8") as file:
        return {line.split()[0] for line in file if line.strip() and not line.startswith("#")}


def words_of(name):
    return name.lower().split("_")


def check_file(path, text, fine):
    name = os.path.splitext(os.path.basename(path))[0]
    for word in words_of(name):
        if word in WORDS and name not in fine:
            yield f"{path}:1: name of the file: say {WORDS[word]}, not {word}"
    code = PART.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    named = set(fine)
    for match in IDENTIFIER.finditer(code):
        found = match.group()
        for word in words_of(found) if found not in named else ():
            if word in WORDS:
                named.add(found)
                yield f"{path}:{line_of(code, match.start())}: {found}: say {WORDS[word]}, not {word}"


def check_phrases(path, text, pieces):
    for start, piece in pieces:
        for pattern, term in PHRASES:
            for match in re.finditer(pattern, piece):
                yield f'{path}:{line_of(text, start + match.start())}: "{match.group()}": say {term}'


def check(root):
    fine = allowed()
    for directory in DIRECTORIES:
        for path in walk(root, directory):
            if path.endswith(CODE):
                text = read(root, path)
                yield from check_file(path, text, fine)
                yield from check_phrases(path, text, ((m.start(), m.group()) for m in PART.finditer(text)))
    for path in walk(root, "docs"):
        if path.endswith((".md", ".txt")):
            text = read(root, path)
            yield from check_phrases(path, text, [(0, text)])


if __name__ == "__main__":
    hits = list(check(sys.argv[1]))
    print("\n".join(hits))
    sys.exit(1 if hits else 0)
