#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""selftest.py CC CXX: a check that cannot fail checks nothing, so each is shown a tree with one violation."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SPDX = "/* SPDX-License-Identifier: BSD-2-Clause */\n"
CLEAN = {
    "include/tamis/thing.h": SPDX + "#include <stdint.h>\nuint64_t tamis_thing(void);\n",
    "src/base/bytes.h": SPDX,
    "src/filter/filter_int.h": SPDX + '#include "base/bytes.h"\n#include <tamis/thing.h>\n',
    "src/filter/classic.c": SPDX + '#include "filter/filter_int.h"\n/* no FILE * here; printf(1) */\n',
    "src/service/dedup/dedup.c": SPDX + '#include "filter/filter_int.h"\n',
    "src/service/census/census.h": SPDX,
    "src/cli/cli.h": SPDX,
    "src/cli/main.c": SPDX + '#include <tamis/thing.h>\n#include "cli/cli.h"\n',
    "README.md": "# Tamis: the sieve\n[a](docs/guide/a.md#two-words) [b](https://example.org/x.md) [c](#tamis-the-sieve)\n",
    "docs/ARCHITECTURE.md": "`src/base/`, `src/filter/`, `src/cli/`; of `src/service/`: `dedup/`, `census/`\n",
    "docs/guide/a.md": "# A\n## `Two` words\n[up](../../README.md)\n",
}
VIOLATIONS = [
    ("layers", "src/base/up.c", '#include "filter/filter_int.h"\n'),
    ("layers", "src/base/bare.c", '#include "bytes.h"\n'),
    ("layers", "src/base/gone.c", '#include "base/gone.h"\n'),
    ("layers", "src/base/front_end.c", '#include "cli/cli.h"\n'),
    ("layers", "src/base/angle.c", "#include <base/bytes.h>\n"),
    ("layers", "src/service/dedup/sibling.c", '#include "service/census/census.h"\n'),
    ("layers", "src/filter/blocked.c", '#include "filter/classic_int.h"\n'),
    ("layers", "src/filter/file.c", "static void f(FILE *a);\n"),
    ("layers", "src/filter/hiredis.c", "#include <hiredis/hiredis.h>\n"),
    ("layers", "src/filter/module.c", "int a = RedisModule_OnLoad;\n"),
    ("layers", "src/filter/prints.c", 'void f(void) { printf("x"); }\n'),
    ("layers", "src/filter/exits.c", "void f(void) { exit(1); }\n"),
    ("layers", "src/cli/inside.c", '#include "base/bytes.h"\n'),
    ("layers", "src/cli/nothing.c", "#include <tamis/nothing.h>\n"),
    ("layers", "src/odd/odd.c", ""),
    ("layers", "include/tamis/bad.h", "#include <xxhash.h>\n"),
    ("layers", "include/tamis/inner.h", '#include "base/bytes.h"\n'),
    ("names", "src/plan/bytes.h", ""),
    ("names", "src/base/unlisted/x.c", ""),
    ("spdx", "tests/unit/test_x.c", None),
    ("spdx", "dev", None),
    ("links", "docs/file.md", "[a](guide/b.md)\n"),
    ("links", "docs/anchor.md", "[a](guide/a.md#three-words)\n"),
    ("links", "src/base/named.c", "/* docs/GONE.md */\n"),
    ("links", "README.md", "line\n" * 130),
]
# Documents whose examples do not hold, and one whose do.
DOCUMENTS = [
    (True, "```sh\ntrue\n```\n```console\n$ echo a b; echo c >&2\na ...\nc\n$ printf '%s\\n' \\\n> d\nd\n...\n```\n"
     "```text\nnothing\n```\n```c\noptions.writable = true;\n```\n"),
    (False, "```sh\nfalse\ntrue\n```\n"),
    (False, "```sh\nfalse | true\n```\n"),
    (False, "```console\n$ echo a\nb\n```\n"),
    (False, "```console\n$ echo a\n```\n"),
    (False, "```console\n$ exit 0\n```\n"),
    (False, "```console\na\n```\n"),
    (False, "```c\noptions.written = true;\n```\n"),
    (False, "```\nno language\n```\n"),
    (False, "```sh\nno end\n"),
    (False, "```text\ntamis dedup\n```\n"),
    (False, "```elsewhere\nssl.ca.location=\n```\n"),
    (True, "```service\ntrue\ntrap 'exit 143' TERM; printf '2 of 4 partitions are assigned to this process\\n'; "
     "for i in 1 2 3 4 5; do sleep 1; done\n```\n"),
    (False, "```service\nfalse\n```\n"),
    (False, "```service\nprintf '2 of 4 partitions are assigned to this process\\n'; sleep 1\n```\n"),
]
ALLOWED = "tests/checks/words_allowed.txt"
WORDS = [
    ("plain names", True, {"src/plan/plain.c": "int asker; /* told */\n"}),
    ("an allowed name", True, {"src/plan/allowed.c": "int tails_packed;\n", ALLOWED: "# why\ntails_packed\n"}),
    ("a name allowed in its file", True, {"src/plan/a.c": "int at;\n", ALLOWED: "src/plan/a.c at\n"}),
    ("a phrase allowed in its file", True, {"docs/x.md": "made anew\n", ALLOWED: "docs/x.md anew\n"}),
    ("an allowed file name", True, {"src/plan/front.c": "\n", ALLOWED: "front\n"}),
    ("a name allowed in another file", False, {"src/plan/b.c": "int at;\n", ALLOWED: "src/plan/a.c at\n"}),
    ("an allowed name that is gone", False, {ALLOWED: "tails_packed\n"}),
    ("a private name", False, {"src/plan/private.c": "int what_was_told;\n"}),
    ("an inflected name", False, {"src/plan/inflected.c": "bool lends(void);\n"}),
    ("a name in an example", False, {"docs/examples/a.c": "char room[5];\n"}),
    ("a name for a position", False, {"src/plan/place.c": "int place;\n"}),
    ("checksums", False, {"src/plan/checksums.c": "int block_sums;\n"}),
    ("requests in flight", True, {"src/plan/in_flight.c": "int in_flight, tamis__in_flight_count;\n"}),
    ("a flight", False, {"src/plan/requests.c": "int flight;\n"}),
    ("a preposition as variable", False, {"src/plan/variable.c": "int f(int of) { return of; }\n"}),
    ("a preposition as variable of a test", False, {"tests/unit/test_a.c": "int f(int of) { return of; }\n"}),
    ("a bare verb as function", False, {"tests/unit/test_b.c": "static int begin(int a) { return a; }\n"}),
    ("a bare verb as field", True, {"src/plan/field.c": "void f(void) { codec->begin(codec); }\n"}),
    ("a sentence as name of a test", True, {"tests/unit/test_c.c": "static void drop_ends_the_run(void **state);\n"}),
    ("a private file name", False, {"src/plan/lot.c": "\n"}),
    ("a private name of a case", False, {"tests/cli/check/follow_packed.sh": "\n"}),
    ("a name of a golden file", True, {"tests/golden/line-packed.tamis": "\n"}),
    ("a private phrase", False, {"src/plan/phrase.c": "/* finished; nothing is to be done */\n"}),
    ("a phrase over two lines", False, {"src/plan/lines.c": "/* finished; nothing is\n * to be done */\n"}),
    ("a phrase over two strings", False, {"src/plan/strings.c": 'char *a = "no "\n         "room";\n'}),
    ("words on both sides of code", True, {"src/plan/sides.c": 'f("no", "room");\n'}),
    ("a private phrase in a document", False, {"docs/x.md": "nothing is to be done\n"}),
    ("a private phrase in README", False, {"README.md": "The folder of the state.\n"}),
    ("a private phrase in an expected message", False, {"tests/cli/add/a.err": "tamis: a: there is no room\n"}),
    ("a private phrase in a script", False, {"tests/cli/add/a.sh": "# The thread lets go of it.\n"}),
    ("a function of a script", False, {"tests/cli/add/a.sh": "told() { cat; }\n"}),
    ("a variable of a script", False, {"tests/cli/add/b.sh": "[ -e a ] || packed=1\n"}),
    ("a variable of a loop of a script", False, {"tests/cli/add/c.sh": "for at in 1 2; do\n    echo\ndone\n"}),
    ("words, options and settings of a script", True, {"tests/cli/add/d.sh": "a=1 tamis --at=1 at told=2; echo room # at=1\n"}),
    ("a function of Python", False, {"bench/a.py": "def ask():\n    pass\n"}),
    ("an argument of Python", False, {"bench/b.py": "def query(at):\n    pass\n"}),
    ("a variable of Python", False, {"bench/c.py": "for some in []:\n    pass\n"}),
    ("a name and a text of another module", True, {"bench/d.py": "from x import told\ntold('room', at=1)\n"}),
    ("what is nothing", False, {"docs/x.md": "The answer is nothing.\n"}),
    ("there is nothing", True, {"docs/x.md": "There is nothing to do.\n"}),
    ("a thing that is no other", False, {"docs/x.md": "clicks: is no counter\n"}),
    ("there is no other", True, {"docs/x.md": "There is no counter any more; it is no longer one.\n"}),
    ("an option of a private name", False, {"src/plan/option.c": 'char *a = "--overfill";\n'}),
    ("an output in place", False, {"docs/x.md": "Outputs are appended in\nplace.\n"}),
    ("a filter changed in place", True, {"docs/x.md": "The file is changed in place.\n"}),
    ("a merge", False, {"docs/x.md": "The command unites filters.\n"}),
    ("a Redis key", True, {"docs/x.md": "tamis:{NAME:G:I}:unite-R\n"}),
    ("a message of format 1", True, {"src/plan/damaged.c": 'char *a = "restore the file from a copy, or "\n         "build it anew";\n'}),
    ("another message", False, {"src/plan/open.c": 'char *a = "open it anew";\n'}),
]
COMMENTS = [
    ("a name of its file", True, "src/plan/own.c", "int size; /* `size`, *size */\n"),
    ("a name of an included file", True, "src/plan/near.c", '#include "base/name.h"\n/* `there` and `a->there` */\nint a;\n'),
    ("a word of the command", True, "src/plan/word.c", "/* `patience` */\n"),
    ("a call, a file and a header", True, "src/plan/call.c", "#include <math.h>\n/* far_away() of distant.c; math.h */\n"),
    ("a name that is gone", False, "src/plan/gone.c", "int size; /* `room` */\n"),
    ("an output that is gone", False, "include/tamis/output.h", "void f(int *size); /* *room is set */\n"),
    ("a field that is gone", False, "src/plan/field.c", "int size; /* size->room */\n"),
    ("a name of a distant file", False, "src/plan/far.c", "/* `there` */\n"),
    ("a call that is gone", False, "src/plan/settle.c", "/* settle() */\n"),
    ("a file that is gone", False, "src/plan/file.c", "/* see gone.h */\n"),
]
LONG = "Each of these words " + "is one of many " * 6 + "words.\n"
PROSE = [
    ("short sentences", True, "docs/x.md", ("One. " * 15 + "\n") * 2 + "- " + "two " * 20 + "\n- " + "three " * 18 + "\n"),
    ("a command", True, "docs/x.md", "```sh\n" + "a " * 30 + "\n```\n\n    " + "b " * 30 + "\n\n`" + "c " * 30 + "`\n"),
    ("a long sentence", False, "docs/x.md", LONG),
    ("a long item over two lines", False, "docs/x.md", "- " + "word " * 20 + "\n  " + "word " * 6 + "\n"),
    ("a long cell", False, "docs/x.md", "| a | b |\n| --- | --- |\n| " + "word " * 26 + "| b |\n"),
    ("a long sentence of a manual", False, "docs/man/x.txt", "# DESCRIPTION\n\n" + LONG),
    ("a long description in a manual", False, "docs/man/x.txt", "# FILES\n\nNAME\n    " + LONG),
    ("a long comment", False, "src/plan/x.c", "/*\n * " + LONG.replace("many is", "many\n * is", 1) + " */\n"),
    ("a long comment of lines", False, "include/tamis/x.h", "// " + LONG),
    ("a picture in a comment", True, "src/plan/x.c", "/*\n * A picture:\n *\n *     " + "a " * 30 + "\n */\n"),
    ("a wide line", False, "tests/README.md", "One. " * 23 + "\n"),
    ("a wide line of an item", False, "docs/guide/x.md", "- One\n  " + "two. " * 23 + "\n"),
    ("a wide row and a wide command", True, "docs/x.md", "| " + "one. " * 23 + "|\n\n    " + "two. " * 23 + "\n"),
    ("a long string", True, "src/plan/x.c", 'char *a = "' + "a " * 30 + '";\n'),
]
HEADERS = [
    "uint64_t tamis_alone(void);\n",  # misses <stdint.h>
    "int tamis_bad(int class);\n",  # no C++
    "struct tamis_twice { int a; };\n",  # no guard
    "int tamis_a[] = {1, 2,, 3};\n",
]


def write(root, files):
    for path, text in files.items():
        os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def library(root, cc, name, source, *options):
    write(root, {name + ".c": source})
    path = os.path.join(root, name + ".so")
    subprocess.run([cc, "-shared", "-fPIC", "-o", path, os.path.join(root, name + ".c"), *options], check=True)
    return path


def binary_checks(cc):
    """(what, passes, command) of the checks on built libraries."""
    binaries = os.path.join(HERE, "binaries.py")
    with tempfile.TemporaryDirectory() as root:
        script = "TAMIS_0 { global: tamis_[!_]*; local: *; }; TAMIS_PRIVATE { global: tamis__*; };"
        write(root, {"map": script, "list": "tamis_a\n", "long": "tamis_a\ntamis_b\n"})
        versioned = "-Wl,--version-script=" + os.path.join(root, "map")
        both = "int tamis_a(void) { return 1; } int tamis__b(void) { return 2; }"
        good = library(root, cc, "good", both, versioned)
        plain = library(root, cc, "plain", both)
        loose = library(root, cc, "loose", both + " int other(void) { return 3; }")
        math = library(root, cc, "math", "double sin(double); double tamis_a(double x) { return sin(x); }",
                       versioned, "-Wl,--no-as-needed", "-lm")
        entry = "int RedisModule_OnLoad(void) { return 0; } int RedisModule_OnUnload(void) { return 0; }"
        module = library(root, cc, "module", entry)
        wide = library(root, cc, "wide", entry + " int tamis_a(void) { return 1; }")
        listed, longer = os.path.join(root, "list"), os.path.join(root, "long")
        for what, passes, command in [
            ("good symbols", True, ("symbols", good, listed)),
            ("a symbol that went", False, ("symbols", good, longer)),
            ("no versions", False, ("symbols", plain, listed)),
            ("a foreign symbol", False, ("symbols", loose, listed)),
            ("a good library", True, ("needed", math, "libm")),
            ("a library too many", False, ("needed", math, "libxxhash")),
            ("a good module", True, ("module", module)),
            ("a module with another symbol", False, ("module", wide)),
            ("a module without functions", False, ("module", good)),
            ("good globals", True, ("archive", plain)),
            ("a foreign global", False, ("archive", loose)),
        ]:
            yield what, passes, run(sys.executable, binaries, *command)


def main(cc, cxx):
    failures = []

    def expect(what, passes, result):
        # 0 and 1 are answers; anything else is a check that broke.
        if result.returncode != (0 if passes else 1):
            failures.append(f"{what}: status {result.returncode}\n{result.stdout}{result.stderr}")

    sources = os.path.join(HERE, "sources.py")
    with tempfile.TemporaryDirectory() as root:
        write(root, CLEAN)
        for check in ("layers", "names", "spdx", "links"):
            expect(f"{check} of a clean tree", True, run(sys.executable, sources, check, root))
    words = os.path.join(HERE, "words.py")
    for what, passes, files in WORDS:
        with tempfile.TemporaryDirectory() as root:
            write(root, CLEAN)
            write(root, files)
            result = run(sys.executable, words, root)
            expect(f"words with {what}", passes, result)
            if not passes and next(iter(files)) + ":" not in result.stdout:
                failures.append(f"words with {what}: does not name it\n{result.stdout}")
    prose = os.path.join(HERE, "prose.py")
    for what, passes, path, text in PROSE:
        with tempfile.TemporaryDirectory() as root:
            write(root, CLEAN)
            write(root, {path: text})
            result = run(sys.executable, prose, root)
            expect(f"prose with {what}", passes, result)
            if not passes and path + ":" not in result.stdout:
                failures.append(f"prose with {what}: does not name it\n{result.stdout}")
    comments = os.path.join(HERE, "comments.py")
    for what, passes, path, text in COMMENTS:
        with tempfile.TemporaryDirectory() as root:
            write(root, CLEAN)
            write(root, {"src/base/name.h": "int there;\n", "src/stream/distant.c": 'void far_away(void) { f("patience"); }\n',
                         path: text})
            result = run(sys.executable, comments, root)
            expect(f"comments with {what}", passes, result)
            if not passes and path + ":" not in result.stdout:
                failures.append(f"comments with {what}: does not name it\n{result.stdout}")
    for check, path, text in VIOLATIONS:
        with tempfile.TemporaryDirectory() as root:
            write(root, CLEAN)
            write(root, {"src/filter/classic_int.h": SPDX, path: "\n" if text is None else SPDX + text})
            result = run(sys.executable, sources, check, root)
            expect(f"{check} with {path}", False, result)
            if path + ":" not in result.stdout:
                failures.append(f"{check} with {path}: does not name it\n{result.stdout}")
    for text in [None] + HEADERS:
        with tempfile.TemporaryDirectory() as root:
            guarded = "#ifndef A\n#define A\n#include <stdint.h>\n#endif\n"
            write(root, {"tamis/x.h": guarded if text is None else text})
            expect(f"headers with {text}", text is None,
                   run("bash", os.path.join(HERE, "headers.sh"), root, cc, cxx))
    for passes, text in DOCUMENTS:
        with tempfile.TemporaryDirectory() as root:
            write(root, {"document.md": text})
            expect(f"examples of {text}", passes, run(sys.executable, os.path.join(HERE, "../docs/examples.py"),
                                                      os.path.join(root, "document.md"), sys.executable))
    for what, passes, result in binary_checks(cc):
        expect(what, passes, result)

    print("\n".join(failures) or "every check passes what is clean and names what is not")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
