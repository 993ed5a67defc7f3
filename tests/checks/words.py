#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The glossary: words that the field has another term for. words.py ROOT

Single words are looked for in identifiers of C, in the functions and variables that scripts define, and in the names
of files; phrases in comments, messages, scripts and documents. Prints one line a hit, with the term to use; exit status 1 if there is one.

words_allowed.txt lists the true uses, one a line: an identifier or the stem of a file name, for all files; a path
and an identifier, or a path and a phrase, for one file. A line that nothing needs is a hit too.
"""
import ast
import functools
import os
import re
import sys

from sources import line_of, read, walk

ALLOWED = "tests/checks/words_allowed.txt"

# Part of an identifier or of a file name: the term to use.
WORDS = {
    "about": "metadata; st for struct stat",
    "account": "checkpoint",
    "alike": "equal",
    "aside": "temporary or staged file",
    "asides": "temporary or staged files",
    "ask": "query, look up",
    "asked": "queried; batch",
    "asking": "querying",
    "asks": "queries",
    "bare": "without CR",
    "clash": "conflict",
    "clashes": "conflicts",
    "doubt": "unconfirmed adds",
    "doubts": "unconfirmed adds",
    "ends": "name what ends; I/O open",
    "exchange": "pipelined requests",
    "fate": "outcome",
    "figures": "statistics",
    "flight": "pipelined requests, requests in flight",
    "flights": "pipelined requests",
    "flow": "codec buffer",
    "flows": "codec buffers",
    "folder": "directory",
    "folders": "directories",
    "foresee": "size hint",
    "foreseen": "size hint",
    "foresees": "size hint",
    "fresh": "absent",
    "front": "prefix",
    "gather": "buffer",
    "gathered": "buffered",
    "gathers": "buffers",
    "gave": "released",
    "guest": "spilled entry",
    "guests": "spilled entries",
    "identities": "file fingerprints",
    "identity": "file fingerprint",
    "keyless": "no key",
    "lane": "node pipeline",
    "least": "min",
    "lend": "allocate",
    "lending": "allocating",
    "lends": "allocates",
    "lent": "allocated",
    "likeness": "match",
    "link": "connection",
    "looks": "candidates",
    "lot": "batch, item",
    "lots": "batches, items",
    "marks": "byte mask",
    "most": "max",
    "origin": "source",
    "origins": "sources",
    "overfill": "allow over capacity",
    "overfilled": "over capacity",
    "overfilling": "over capacity",
    "overfills": "allows over capacity",
    "packed": "compressed",
    "packer": "compressor",
    "packers": "compressors",
    "packing": "compression",
    "place": "position; location, target file",
    "places": "positions; locations, target files",
    "pour": "flush",
    "poured": "flushed",
    "pours": "flushes",
    "question": "query",
    "questions": "queries",
    "room": "capacity, buffer size",
    "rooms": "capacities",
    "seen": "present",
    "sentence": "message",
    "sentences": "messages",
    "settle": "commit, finish, apply",
    "settled": "committed, finished, applied",
    "settles": "commits, finishes, applies",
    "settling": "committing, finishing, applying",
    "spot": "positions",
    "spots": "positions",
    "stale": "changed",
    "stretch": "span",
    "stretches": "spans",
    "sums": "checksums",
    "take": "accept, copy, remove, parse",
    "taken": "parsed, validated",
    "takes": "accepts, copies, removes, parses",
    "taking": "accepting, copying, removing, parsing",
    "tell": "report",
    "telling": "distinguishing, reporting",
    "tells": "reports",
    "told": "parsed, reported",
    "trouble": "error",
    "troubles": "errors",
    "unite": "union",
    "united": "merged",
    "unites": "merges",
    "uniting": "merging",
    "unpack": "decompress",
    "unpacked": "decompressed",
    "untold": "unspecified",
    "want": "options",
    "watch": "poll loop",
    "watches": "poll loops",
}

# Plain terms of the field that have such a word.
TERMS = re.compile(r"(?:^|(?<=_))(?:in_flight)(?=_|$)")

# Words of the glossary that are plain verbs, or nouns, in the sentence that names a test.
PLAIN_IN_TESTS = {"ask", "ends", "marks", "place", "places", "take", "takes"}

# Whole names of variables and fields.
VARIABLES = {"all", "at", "both", "is", "of", "on", "one", "some"}
# Whole names of functions of one file.
FUNCTIONS = {"ask", "begin", "end", "fill", "put", "step", "take"}

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
    (r"(?<!\$)\b[Ww]ho (asks|comes|only|reads|waits)\b", "name the caller, the thread, the user"),
    (r"\b[Aa]new\b", "again, from scratch"),
    (r"(?<!-)\b[Uu]nit(?:es?|ed|ing)\b(?![-*])", "merge, union"),
    (r"\b(?![Tt]here\b)\w+[,;:]? is nothing\b", "name what is missing"),
    (r"\b(?![Tt]here\b)\w+[,;:]? (?:is|are) no (?!longer\b|more\b)\w+", "expected ..., is not ..."),
    (r"\bno place for\b", "full; no position for"),
    (r"\bno room\b", "full; no capacity, no memory"),
    (r"\b[Ff]olders?\b", "directory"),
    (r"\b[Oo]verfill(?:s|ed|ing)?\b", "allow over capacity"),
    (r"\b(?:[Aa]ppend(?:s|ed|ing)?|[Oo]utputs?) in place\b", "appended output"),
    (r"\b[Ll]et(?:s|ting)? (?:(?:it|them) )?go\b", "release, close, remove"),
]
# Messages of damaged filter files are part of format 1 (tests/golden/format-1) and stay.
FIXED = r"restore the file from a copy, or build it anew|is no UTF-8 or"

DIRECTORIES = ("src", "include", "tests", "bench")
CODE_ONLY = ("docs/examples",)
# Scripts for their comments and messages.
DOCUMENTS = (".md", ".txt", ".err", ".sh", ".bash", ".py", ".cmake")
CODE = (".c", ".h")
SHELL, SHELL_NAMED = (".sh", ".bash"), ("dev", "bench/run")
# Names of files that users have: they never change.
FIXED_NAMES = ("tests/golden/",)
# The glossary's own words.
GLOSSARY = ("tests/checks/words", "tests/checks/selftest.py")
PART = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|^[ \t]*#[ \t]*include[^\n]*', re.S | re.M)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
DEFINITION = re.compile(r"^static\b[^;{}=()]*\b(\w+)\(", re.M)
# `name=`, `name+=`, `name[i]=`, `name() {` and `for name in` of a shell, where a command begins.
IN_SHELL = re.compile(r"(?:^|[;&|({]|\b(?:do|then|else|for|local|export|readonly|declare)\b)[ \t]*(?:-\w+[ \t]+)*(?:\w+=\S*[ \t]+)*"
                      r"([A-Za-z_]\w*)(?:(?:\[[^\]\n]*\])?\+?=|[ \t]*\(\)[ \t]*[({]|[ \t]+in\b)", re.M)
# What may lie between two words of a phrase: an end of a line, in a comment or a message too.
GAP = r'[\s"*]+'


def phrase(pattern):
    return re.compile(pattern.replace(" ", GAP))


class Allowed:
    """The true uses, and which of them were met."""

    def __init__(self, root):
        path = os.path.join(root, ALLOWED)
        self.line = {}
        if os.path.exists(path):
            for number, line in enumerate(read(root, ALLOWED).splitlines(), 1):
                if line.strip() and not line.startswith("#"):
                    self.line[line.strip()] = number
        self.met = set()

    def has(self, use):
        if use in self.line:
            self.met.add(use)
        return use in self.line

    def dead(self):
        for use, number in self.line.items():
            if use not in self.met:
                yield f"{ALLOWED}:{number}: {use}: nothing needs this line; remove it"


def words_of(name):
    return re.split(r"[_-]", TERMS.sub("", name.lower()))


@functools.cache
def terms_of(name, is_test):
    words = words_of(name)
    return [f"say {WORDS[word]}, not {word}" for word in words
            if word in WORDS and not (is_test and len(words) > 2 and word in PLAIN_IN_TESTS)]


def check_file_name(path, allowed):
    name = os.path.basename(path).split(".")[0]
    for term in terms_of(name, path.startswith("tests/")):
        if not allowed.has(name):
            yield f"{path}:1: name of the file: {term}"


def check_identifiers(path, text, allowed):
    code = PART.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    is_test = path.startswith("tests/")
    functions = {m.group(1) for m in DEFINITION.finditer(code)}
    named = set()
    for match in IDENTIFIER.finditer(code):
        found = match.group()
        if found in named:
            continue
        terms = list(terms_of(found, is_test))
        if found in VARIABLES:
            terms.append("say the noun")
        if found in FUNCTIONS & functions:
            terms.append("say verb and noun")
        for term in terms:
            named.add(found)
            if not allowed.has(f"{path} {found}") and not allowed.has(found):
                yield f"{path}:{line_of(code, match.start())}: {found}: {term}"


def defined_in_shell(text):
    for match in IN_SHELL.finditer(text):
        yield match.group(1), line_of(text, match.start(1))


def defined_in_python(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno


def check_script(path, definitions, allowed):
    named = set()
    for found, line in sorted(definitions, key=lambda definition: definition[1]):
        terms = list(terms_of(found, path.startswith("tests/"))) + ["say the noun"] * (found in VARIABLES)
        if terms and found not in named and not allowed.has(f"{path} {found}") and not allowed.has(found):
            yield f"{path}:{line}: {found}: {terms[0]}"
        named.add(found)


def prose_of(text):
    """The comments and strings of C, on their lines; adjacent strings are one."""
    prose, end = [], 0
    for match in PART.finditer(text):
        prose += [re.sub(r"\S[^\n]*", "\1", text[end:match.start()]), match.group()]
        end = match.end()
    return "".join(prose)


def check_phrases(path, text, allowed):
    text = phrase(FIXED).sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    for pattern, term in PHRASES:
        for match in phrase(pattern).finditer(text):
            found = re.sub(GAP, " ", match.group())
            if not allowed.has(f"{path} {found}"):
                yield f'{path}:{line_of(text, match.start())}: "{found}": say {term}'


def documents(root):
    for name in sorted(os.listdir(root)):
        if name.endswith(".md") or name == "dev":
            yield name
    for directory in ("docs", "tests", "bench", "cmake"):
        for path in walk(root, directory):
            if path.endswith(DOCUMENTS) and not path.startswith(FIXED_NAMES + GLOSSARY):
                yield path


def scripts(root):
    for directory in ("",) + DIRECTORIES + CODE_ONLY:
        for path in walk(root, directory) if directory else SHELL_NAMED:
            is_script = path.endswith(SHELL + (".py",)) and not path.startswith(FIXED_NAMES + GLOSSARY)
            if is_script or path in SHELL_NAMED and os.path.exists(os.path.join(root, path)):
                yield path


def check(root):
    allowed = Allowed(root)
    for directory in DIRECTORIES + CODE_ONLY:
        for path in walk(root, directory):
            if not path.startswith(FIXED_NAMES):
                yield from check_file_name(path, allowed)
            if path.endswith(CODE):
                text = read(root, path)
                yield from check_identifiers(path, text, allowed)
                yield from check_phrases(path, prose_of(text), allowed)
    for path in scripts(root):
        definitions = defined_in_python if path.endswith(".py") else defined_in_shell
        yield from check_script(path, definitions(read(root, path)), allowed)
    for path in documents(root):
        yield from check_phrases(path, read(root, path), allowed)
    yield from allowed.dead()


if __name__ == "__main__":
    hits = list(check(sys.argv[1]))
    print("\n".join(hits))
    sys.exit(1 if hits else 0)
