#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Names in comments: comments.py ROOT

A comment of src/ or include/ may name only what the code has:

`name`, *name, a->b    identifiers near the comment: in its file, in the headers that this file includes, in the files that
                       include it, or in a file with the same base name
`name`                 also a word of the command or of a format: a whole string in src/, or in a string of the same file
call()                 identifiers anywhere in src/, include/ or tests/, or methods of Guava
file.c, file.h         files of the tree, or headers that the code includes

Prints one line a name that is missing; exit status 1 if there is one.
"""
import os
import re
import sys

from sources import line_of, read, walk

DIRECTORIES = ("src", "include", "tests")
CODE = (".c", ".h")
GUAVA = {"approximateElementCount", "bitSize", "equals", "expectedFpp", "hashCode", "readFrom", "writeTo"}

COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.M)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
NAME = r"[A-Za-z_]\w*"
NEAR = re.compile(rf"`[*&]?{NAME}(?:(?:->|\.){NAME})*(?:\(\))?`"
                  r"|(?<![\w*/.%])(?<!sizeof )\*[a-z_]\w*"
                  rf"|\b{NAME}(?:->{NAME})+")
WORD = re.compile(rf"`{NAME}`")
CALL = re.compile(rf"\b({NAME})\(\)")
FILE = re.compile(r"(?<![\w/.-])((?:\w+/)*\w+\.[ch])\b")


class Source:
    def __init__(self, text):
        self.parts = [(match.start(), match.group()) for match in COMMENT_OR_STRING.finditer(text)]
        self.included = set(INCLUDE.findall(text))
        self.strings = {part[1:-1] for _, part in self.parts if part[0] == '"'}
        code = INCLUDE.sub("", COMMENT_OR_STRING.sub(" ", text))
        self.names = set(IDENTIFIER.findall(code))


class Tree:
    def __init__(self, root):
        self.root = root
        self.sources = {path: Source(read(root, path)) for directory in DIRECTORIES
                        for path in walk(root, directory) if path.endswith(CODE)}
        self.files = {os.path.basename(path) for path in walk(root)}
        self.includes = {path: {there for name in source.included for directory in DIRECTORIES
                                if (there := f"{directory}/{name}") in self.sources}
                         for path, source in self.sources.items()}
        self.names = set().union(*(source.names for source in self.sources.values()))
        self.strings = set().union(*(source.strings for path, source in self.sources.items() if path.startswith("src")))
        self.headers = set().union(*(source.included for source in self.sources.values()))

    def near(self, path):
        """Identifiers that a comment of this file may name."""
        found, left = set(), [path]
        while left:
            here = left.pop()
            if here not in found:
                found.add(here)
                left += self.includes[here]
        stem = os.path.splitext(os.path.basename(path))[0]
        found |= {other for other in self.sources
                  if path in self.includes[other] or os.path.splitext(os.path.basename(other))[0] == stem}
        return set().union(*(self.sources[other].names for other in found))

    def missing(self, path):
        """(offset, name) of names in the comments of a file."""
        near = self.near(path)
        words = self.strings.union(*map(IDENTIFIER.findall, self.sources[path].strings))
        for start, part in self.sources[path].parts:
            if part[0] == '"':
                continue
            for match in NEAR.finditer(part):
                names = set(IDENTIFIER.findall(match.group()))
                if not names <= near and not (WORD.fullmatch(match.group()) and names <= words):
                    yield start + match.start(), match.group()
            for match in CALL.finditer(part):
                if match.group(1) not in self.names | GUAVA:
                    yield start + match.start(), match.group()
            for match in FILE.finditer(part):
                if os.path.basename(match.group()) not in self.files and match.group() not in self.headers:
                    yield start + match.start(), match.group()


def check(root):
    tree = Tree(root)
    for path in tree.sources:
        if not path.startswith("tests"):
            for offset, name in tree.missing(path):
                yield f"{path}:{line_of(read(root, path), offset)}: {name}: the code near it has no such name"


if __name__ == "__main__":
    hits = list(check(sys.argv[1]))
    print("\n".join(hits))
    sys.exit(1 if hits else 0)
