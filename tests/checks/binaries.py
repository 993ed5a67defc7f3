#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the built libraries show and need.

binaries.py symbols LIBRARY.so LIST [--update]   every exported symbol is tamis_*; the public ones are LIST
binaries.py archive LIBRARY.a                    every global symbol is tamis_*
binaries.py needed LIBRARY.so NAME...            the library needs no shared library but these
binaries.py module LIBRARY.so                    a Redis module exports its two functions alone
"""
import re
import subprocess
import sys


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(library, list_file, update=False):
    public = set()
    for line in output_of("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
        fields = line.split()
        kind, (name, _, version) = fields[-2], fields[-1].partition("@")
        version = version.lstrip("@")
        if kind == "A" and name in ("TAMIS_0", "TAMIS_PRIVATE"):
            continue  # the version nodes themselves
        if not name.startswith("tamis_"):
            yield f"{library} exports {name}: only tamis_* may be"
            continue
        wanted = "TAMIS_PRIVATE" if name.startswith("tamis__") else "TAMIS_0"
        if version != wanted:
            yield f"{library} exports {name} under version {version or '(none)'} instead of {wanted}"
        if wanted == "TAMIS_0":
            public.add(name)
    if not public:
        yield f"{library} exports nothing"
    if update:
        with open(list_file, "w", encoding="ascii") as file:
            file.writelines(name + "\n" for name in sorted(public))
        return
    with open(list_file, encoding="ascii") as file:
        listed = set(file.read().split())
    for name in sorted(public - listed):
        yield f"{library} exports {name}, which {list_file} does not list: a new promise? then add it there"
    for name in sorted(listed - public):
        yield f"{library} does not export {name}, which {list_file} lists: programs that use it would break"


def archive(library):
    for line in output_of("nm", "-g", "--defined-only", library).splitlines():
        fields = line.split()
        if len(fields) == 3 and not fields[2].startswith("tamis_"):
            yield f"{library} defines the global symbol {fields[2]}: make it static or tamis__"


def needed(library, *allowed):
    # The dynamic loader is a part of the C library.
    allowed = set(allowed) | {"libc", "ld-linux-x86-64", "ld-linux-aarch64"}
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-dW", library)):
        if name.split(".so")[0] not in allowed:
            yield f"{library} needs {name}: only " + ", ".join(sorted(allowed)) + " are allowed"


def module(library):
    """redis-server exports its symbols too, so that any other name of ours could be taken from there."""
    expected = {"RedisModule_OnLoad", "RedisModule_OnUnload"}
    exported = {line.split()[-1] for line in output_of("nm", "-D", "--defined-only", library).splitlines()}
    for name in sorted(exported - expected):
        yield f"{library} exports {name}: only " + " and ".join(sorted(expected)) + " may be"
    for name in sorted(expected - exported):
        yield f"{library} does not export {name}"


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "symbols":
        findings = symbols(arguments[1], arguments[2], "--update" in arguments[3:])
    elif len(arguments) == 2 and arguments[0] == "archive":
        findings = archive(arguments[1])
    elif len(arguments) == 2 and arguments[0] == "module":
        findings = module(arguments[1])
    elif len(arguments) >= 2 and arguments[0] == "needed":
        findings = needed(*arguments[1:])
    else:
        sys.exit(__doc__)
    status = 0
    for finding in findings:
        print(finding)
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
