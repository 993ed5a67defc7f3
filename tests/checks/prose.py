#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sentences of more than 25 words, lines of more than 110 columns: prose.py ROOT

Looks at documents, at the texts of help and manual pages, and at the comments of src/ and include/. A sentence ends with
a paragraph, an item of a list, a cell of a table, or with a period, question or exclamation mark before a blank.
`Code`, and a link with its address, count as one word each. Examples and pictures are left out: fenced blocks, and lines
that are indented by four blanks or more. Columns are counted in documents, tables and headings left out.

Prints one line a hit; exit status 1 if there is one.
"""
import os
import re
import sys

from sources import line_of, read, walk

LIMIT = 25
COLUMNS = 110
COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*.*?\*/|(?://[^\n]*(?:\n[ \t]*(?=//)|))+', re.S)
ITEM = re.compile(r"([-*] |\d+\. )")
END = re.compile(r"(?<!e\.g)(?<!i\.e)[.!?][)\"'*]*(?=\s|$)")
WORD = re.compile(r"\S*[^\W\d_]\S*")


def blocks_of(lines, indented_is_prose=False):
    """[(number of its first line, text)] of the paragraphs, items and cells of (number, line) pairs."""
    blocks, fenced, item = [], False, 0
    new = True
    for number, line in lines:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if text.startswith("```"):
            fenced, new = not fenced, True
        elif fenced or not text or text.startswith("#") or set(text) <= set("|-: "):
            new = True
        elif text.startswith("|"):
            blocks += [[number, cell] for cell in re.split(r"(?<!\\)\|", text)]
            new = True
        elif indent >= 4 and not indented_is_prose and indent > item + 3:
            new = True
        elif ITEM.match(text):
            blocks.append([number, ITEM.sub("", text, count=1)])
            item, new = indent, False
        elif new or (indented_is_prose and indent != last):
            blocks.append([number, text])
            item = 0 if indent == 0 else item
            new = False
        else:
            blocks[-1][1] += "\n" + text
        last = indent
    return blocks


def comments_of(text):
    """Blocks of the comments of C."""
    for match in COMMENT.finditer(text):
        if match.group().startswith('"'):
            continue
        first = line_of(text, match.start())
        lines = re.sub(r"^/\*+|\*+/$", "", match.group()).split("\n")
        lines = [re.sub(r"^[ \t]*(\*|//)( |$)", "", line) for line in lines]
        yield from blocks_of(enumerate((line.lstrip() if i == 0 else line for i, line in enumerate(lines)), first))


def masked(match):
    return re.sub(r"\s", "_", match.group())


def long_sentences(blocks):
    """(line, number of words, sentence) of each sentence of more than LIMIT words."""
    for number, text in blocks:
        plain = re.sub(r"`[^`]*`|\]\([^)]*\)", masked, text)
        start = 0
        for end in [m.end() for m in END.finditer(plain)] + [len(plain)]:
            words = list(WORD.finditer(plain, start, end))
            if len(words) > LIMIT:
                yield number + text.count("\n", 0, words[0].start()), len(words), " ".join(text[start:end].split())
            start = end


def wide_lines(text):
    """(line, number of columns, line) of each line of a document's prose of more than COLUMNS columns."""
    lines = text.split("\n")
    for first, block in blocks_of(enumerate(lines, 1)):
        for number in range(first, first + block.count("\n") + 1):
            line = lines[number - 1]
            if len(line) > COLUMNS and not line.lstrip().startswith("|"):
                yield number, len(line), line.strip()


def prose_of(root, path):
    text = read(root, path)
    if path.endswith((".c", ".h")):
        return comments_of(text)
    return blocks_of(enumerate(text.split("\n"), 1), path.endswith(".txt"))


def paths_of(root):
    for name in sorted(os.listdir(root)):
        if name.endswith(".md"):
            yield name
    for path in walk(root, "docs"):
        if path.endswith(".md") or path.startswith("docs/man/"):
            yield path
    for directory, endings in (("tests", ".md"), ("bench", ".md"), ("include", (".c", ".h")), ("src", (".c", ".h"))):
        for path in walk(root, directory):
            if path.endswith(endings):
                yield path


def check(root):
    for path in paths_of(root):
        for line, count, sentence in long_sentences(prose_of(root, path)):
            yield f"{path}:{line}: {count} words: {sentence}"
        for line, count, wide in wide_lines(read(root, path)) if path.endswith(".md") else ():
            yield f"{path}:{line}: {count} columns: {wide}"


if __name__ == "__main__":
    hits = list(check(sys.argv[1]))
    print("\n".join(hits))
    sys.exit(1 if hits else 0)
