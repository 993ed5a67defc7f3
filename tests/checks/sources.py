#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Rules that the sources of tamis keep: sources.py layers|names|spdx|links ROOT

layers  who may include whom, and what a layer may not call
names   no two files under src/ share a name; docs/ARCHITECTURE.md lists each directory there
spdx    each source file begins with its licence line
links   what documents link to, and documents that sources name, are there; README fits on some screens
Prints one line a violation; exit status 1 if there is one.
"""
import os
import re
import sys

LAYERS = ["base", "hash", "plan", "filter", "format", "store", "service", "stream", "kafka", "server"]
FRONT_ENDS = ["cli", "module"]
# Files of one kind do not know another kind; filter_int.h and the like belong to all.
KINDS = {"classic", "blocked", "fingerprint", "exact", "counting", "cuckoo", "fuse", "window"}

C_HEADERS = {"assert.h", "complex.h", "ctype.h", "errno.h", "float.h", "inttypes.h", "limits.h", "math.h",
             "stdarg.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h", "time.h"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.M)
COMMENTS_AND_STRINGS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

CALL = r"(?<![\w.>])(%s)\s*\("
# A library never prints, ends the process or touches its signals.
NOT_IN_A_LIBRARY = [
    (re.compile(CALL % "printf|vprintf|puts|putchar|perror|psignal|fprintf|vfprintf|fputs|fputc"), "prints"),
    (re.compile(CALL % "exit|_exit|_Exit|quick_exit|abort|atexit"), "ends the process"),
    (re.compile(CALL % "signal|sigaction|sigprocmask|pthread_sigmask|raise|kill"), "touches signals"),
    (re.compile(r"\b(stdin|stdout|stderr)\b"), "uses a standard stream"),
]
NOT_BELOW_STORE = [
    (re.compile(r"\b(FILE)\s*\*"), "uses FILE"),
    (re.compile(r"\b(RedisModule_\w+)"), "uses the Redis module interface"),
    (re.compile(r"\b(redis(?:Reader|Context|Command)\w*)"), "uses hiredis"),
]


def walk(root, *below):
    """Source paths relative to root, sorted, without what is built."""
    top = os.path.join(root, *below)
    for directory, subdirectories, files in os.walk(top):
        built = {"build", ".git", "third_party"} if directory == root else {"__pycache__"}
        subdirectories[:] = sorted(d for d in subdirectories if d not in built)
        for name in sorted(files):
            yield os.path.relpath(os.path.join(directory, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def blank(match):
    # Keeps the lines, so that a finding names the right one.
    return re.sub(r"[^\n]", " ", match.group())


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def kind_of(path):
    stem = os.path.splitext(os.path.basename(path))[0]
    first = stem.split("_")[0]
    return first if first in KINDS else None


def quoted_include(path, parts, target):
    """What is wrong with #include "target" in a file of src/, or None."""
    layer = parts[1]
    there = target.split("/")
    if layer in FRONT_ENDS:
        if there[0] != layer:
            return f"a front end includes only <tamis/...> and \"{layer}/...\""
        return None
    if there[0] in FRONT_ENDS:
        return "a library does not know the front ends"
    if there[0] not in LAYERS:
        return "internal headers are included as \"layer/file.h\""
    if LAYERS.index(there[0]) > LAYERS.index(layer):
        return f"{layer} may not use {there[0]}: arrows go " + " <- ".join(LAYERS)
    if layer == "server" and there[0] in ("stream", "kafka"):
        return "server uses the layers up to service"
    if layer == "service" and there[0] == "service" and len(there) > 2 and there[1] != parts[2]:
        return "no service knows another"
    if layer == "filter" and there[0] == "filter":
        mine, theirs = kind_of(path), kind_of(target)
        if mine and theirs and mine != theirs:
            return "no kind of filter knows another"
    return None


def angled_include(root, layer, target):
    first = target.split("/")[0]
    if "/" in target and first in LAYERS + FRONT_ENDS and os.path.exists(os.path.join(root, "src", target)):
        return "internal headers are included with quotes"
    if first == "tamis" and not os.path.exists(os.path.join(root, "include", target)):
        return "there is no such public header"
    if "hiredis" in target and layer in LAYERS[:LAYERS.index("store")]:
        return "no hiredis below store"
    if "librdkafka" in target and layer != "kafka":
        return "only kafka uses librdkafka"
    if layer in FRONT_ENDS and target in ("xxhash.h", "sodium.h", "cmocka.h"):
        return "a front end reaches hashes through the public headers"
    return None


def check_layers(root):
    for path in walk(root, "src"):
        if not path.endswith((".c", ".h")):
            continue
        parts = path.split(os.sep)
        if parts[1] not in LAYERS + FRONT_ENDS or len(parts) < 3:
            yield f"{path}:1: is in no layer; there are " + ", ".join(LAYERS + FRONT_ENDS)
            continue
        text = read(root, path)
        layer = parts[1]
        for match in INCLUDE.finditer(text):
            quoted, angled = match.groups()
            wrong = quoted_include(path, parts, quoted) if quoted else angled_include(root, layer, angled)
            if quoted and not wrong and not os.path.exists(os.path.join(root, "src", quoted)):
                wrong = "there is no such file under src/"
            if wrong:
                yield f"{path}:{line_of(text, match.start())}: includes {quoted or angled}: {wrong}"
        code = COMMENTS_AND_STRINGS.sub(blank, text)
        rules = []
        if layer in LAYERS:
            rules += NOT_IN_A_LIBRARY
            if LAYERS.index(layer) < LAYERS.index("store"):
                rules += NOT_BELOW_STORE
        for pattern, what in rules:
            for match in pattern.finditer(code):
                yield f"{path}:{line_of(code, match.start())}: {what} ({match.group(1)}) in layer {layer}"

    for path in walk(root, "include"):
        text = read(root, path)
        for match in INCLUDE.finditer(text):
            quoted, angled = match.groups()
            if quoted or not (angled.startswith("tamis/") or angled in C_HEADERS):
                yield (f"{path}:{line_of(text, match.start())}: includes {quoted or angled}: "
                       "a public header includes only <tamis/...> and the C library")


def check_names(root):
    paths = {}
    for path in walk(root, "src"):
        name = os.path.basename(path)
        if name in paths:
            yield f"{path}:1: {paths[name]} has the same name"
        paths.setdefault(name, path)
    listed = re.findall(r"`([\w/]+)/`", read(root, "docs/ARCHITECTURE.md"))
    files = {os.path.dirname(path): path for path in walk(root, "src")}
    for directory, path in files.items():
        if directory.startswith("src/cli/cmd/"):  # the name of its verb
            continue
        if not any(("/" + directory).endswith("/" + name) for name in listed):
            yield f"{path}:1: docs/ARCHITECTURE.md does not list {directory}/"


def is_source(path):
    name = os.path.basename(path)
    return (name.endswith((".c", ".h", ".cpp", ".cmake", ".cmake.in", ".pc.in", ".map", ".awk", ".py", ".sh", ".bash", ".zsh"))
            or name == "CMakeLists.txt" or path in ("dev", ".ci/run", "bench/run"))


def check_spdx(root):
    for path in walk(root):
        if is_source(path):
            # The first line, or the one after "#!".
            head = "".join(read(root, path).splitlines(keepends=True)[:2])
            if "SPDX-License-Identifier: BSD-2-Clause" not in head:
                yield f"{path}:1: does not begin with SPDX-License-Identifier: BSD-2-Clause"


REFERENCE = re.compile(r"\]\(([^)\s]+)\)")
NAMED_DOCUMENT = re.compile(r"\bdocs/[\w/-]+\.md\b")
README_LINES = 130


def anchors_of(text):
    """The anchors of a document's headings, as GitHub makes them."""
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        yield re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def check_links(root):
    for path in walk(root):
        if not (path.endswith(".md") or is_source(path)):
            continue
        text = read(root, path)
        for match in NAMED_DOCUMENT.finditer(text):
            if not os.path.exists(os.path.join(root, match.group())) and not path.startswith("tests/checks/"):
                yield f"{path}:{line_of(text, match.start())}: names {match.group()}, which is not there"
        if not path.endswith(".md"):
            continue
        if path == "README.md" and text.count("\n") > README_LINES:
            yield f"{path}:{README_LINES + 1}: has more than {README_LINES} lines; move what is not for everybody to docs/guide"
        for match in REFERENCE.finditer(text):
            target, _, anchor = match.group(1).partition("#")
            there = os.path.normpath(os.path.join(root, os.path.dirname(path), target)) if target else os.path.join(root, path)
            if ":" in target:
                continue
            if not os.path.exists(there):
                yield f"{path}:{line_of(text, match.start())}: links to {target}, which is not there"
            elif anchor and anchor not in anchors_of(read("", there)):
                yield f"{path}:{line_of(text, match.start())}: links to {match.group(1)}, which has no such heading"


def main():
    checks = {"layers": check_layers, "names": check_names, "spdx": check_spdx, "links": check_links}
    if len(sys.argv) != 3 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    findings = list(checks[sys.argv[1]](sys.argv[2]))
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
