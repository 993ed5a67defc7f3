#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""guard_scripts.py ROOT: the scripts in docs/GUARD-PROTOCOL.md are those of guard_entries.c and guard_news.c.

Prints a line for each script that differs or is missing on one side. White space does not count.
"""
import pathlib
import re
import sys


def scripts_of_document(text):
    """Returns the words of the Lua block in each section that is named after a script."""
    return {name: body.split() for name, body in re.findall(r"^### (\w+)\n.*?```lua\n(.*?)```", text, re.M | re.S)}


def scripts_of_library(text):
    now = "".join(re.findall(r'"([^"]*)"', re.search(r"#define NOW(.*?)\n\n", text, re.S)[1]))
    found = {}
    for name, body in re.findall(r"static const char script_(\w+)\[\] =(.*?);\n", text, re.S):
        parts = re.findall(r'"([^"]*)"|\b(NOW)\b', body)
        found[name] = "".join(now if macro else part for part, macro in parts).split()
    return found


root = pathlib.Path(sys.argv[1])
document = scripts_of_document((root / "docs/GUARD-PROTOCOL.md").read_text())
library = {}
for name in ("guard_entries.c", "guard_news.c"):
    found = scripts_of_library((root / "src/service/guard" / name).read_text())
    if not found:
        print(f"{name}: no scripts found")
        library = {}
        break
    library.update(found)
wrong = [name for name in sorted(document.keys() | library.keys()) if document.get(name) != library.get(name)]
for name in wrong:
    print(f"docs/GUARD-PROTOCOL.md: script {name} differs from that of the library; make them equal")
sys.exit(bool(wrong) or not library)
