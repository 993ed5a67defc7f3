# SPDX-License-Identifier: BSD-2-Clause
"""The command tamis, with keys of the module's own types: on the server, in its RDB file, and in DUMPs.

A copy is made by DUMP. It answers as the server does, and goes back into it by LOADIMAGE.
"""
import json
import os
import random
import subprocess

from module_server import COUNT, DIRECTORY, MODULE, SEED, chunks_of, is_true, same

TAMIS = os.path.join(os.path.dirname(os.path.dirname(MODULE)), "bin", "tamis")
KINDS = ("blocked", "classic", "fingerprint", "growing", "window")
HOUR = 3600 * 1000


def tamis(*words, lines=(), status=0):
    """Runs the command in the directory of the test. Returns its output; if it has to fail, its message."""
    ended = subprocess.run([TAMIS, *words], input="".join(f"{line}\n" for line in lines).encode(), check=False,
                           capture_output=True, cwd=DIRECTORY, timeout=100)
    same(f"{words}: {ended.stderr!r}: status", ended.returncode, status)
    return ended.stderr.decode() if status == 2 else ended.stdout.decode()


def uri(server, key):
    return f"redis+unix://{server.path.replace('/', '%2F')}/{key}"


def path(name):
    return os.path.join(DIRECTORY, name)


def present(*words, lines):
    """The lines that are in a filter, by tamis check."""
    printed = tamis("check", *words, lines=lines, status=0 if lines else 1)
    return printed.split()


def make_keys(call, items):
    for kind in KINDS:
        if kind == "window":
            call("TW.RESERVE", kind, 0.01, len(items), HOUR, 12)
        else:
            call("BF.RESERVE", kind, 0.01, len(items), "KIND", kind)
        call("TW.MADD" if kind == "window" else "BF.MADD", kind, *items)


def load_back(call, key, name, command):
    with open(path(name), "rb") as file:
        image = file.read()
    for offset in range(0, len(image), 100000):
        same("load", call(command, key, offset, len(image), image[offset:offset + 100000]), b"OK")


def test_copies(server):
    """Of each kind: answers, statistics, files, and the way back."""
    call = server.call
    random.seed(SEED)
    items = random.sample(range(10 ** 6), COUNT)
    queries = items + list(range(2 * 10 ** 6, 2 * 10 ** 6 + 10 * COUNT))
    make_keys(call, items)
    same("save", call("SAVE"), b"OK")
    rdb = os.path.join(server.directory, "dump.rdb")
    for kind in KINDS:
        is_window = kind == "window"
        answers = []
        for start in range(0, len(queries), 1000):
            answers += call("TW.MEXISTS" if is_window else "BF.MEXISTS", kind, *queries[start:start + 1000])
        expected = [str(item) for item, answer in zip(queries, answers) if answer]
        with open(path(kind + ".dump"), "wb") as file:
            file.write(call("DUMP", kind))
        tamis("copy", "-o", kind + ".tamis", uri(server, kind))
        for name in (uri(server, kind), f"{rdb}#{kind}", kind + ".dump", kind + ".tamis"):
            same(f"answers of {name}", present(name, lines=queries), expected)
        for name in (f"{rdb}#{kind}", kind + ".dump", kind + ".tamis"):
            tamis("diff", uri(server, kind), name)
        report = json.loads(tamis("info", "--json", uri(server, kind)))
        same("kind", report["kind"], "fingerprint" if kind == "growing" else kind)
        same("format", (report["format"], report["fpr"], report["capacity"]),
             ("tamis", 0.01, 0 if kind == "growing" else COUNT))
        cardinality = call("TW.INFO", kind)[9] if is_window else call("BF.CARD", kind)
        same("added", report["added"], cardinality)
        same("audit", json.loads(tamis("audit", "--json", "--queries", "20000", uri(server, kind), "-",
                                       lines=items))["missing"], 0)
        same("verify", tamis("verify", kind + ".dump"), f"{kind}.dump: whole\n")
        load_back(call, "again", kind + ".tamis", "TW.LOADIMAGE" if is_window else "BF.LOADIMAGE")
        same("digest", server.digests()[b"again"], server.digests()[kind.encode()])
        call("DEL", "again")


def test_merged_copies(server):
    call = server.call
    for kind in ("blocked", "classic", "fingerprint", "growing"):
        for key, items in (("a", range(300)), ("b", range(200, 500))):
            call("BF.RESERVE", key, 0.01, 600, "KIND", kind)
            call("BF.MADD", key, *items)
        with open(path("a.dump"), "wb") as file:
            file.write(call("DUMP", "a"))
        before = server.digests()
        for first in (uri(server, "a"), "a.dump"):
            tamis("merge", "-o", "merged.tamis", first, uri(server, "b"))
            same("items of both", len(present("merged.tamis", lines=range(500))), 500)
        same("unchanged", server.digests(), before)
        load_back(call, "m", "merged.tamis", "BF.LOADIMAGE")
        same("items of both", set(call("BF.MEXISTS", "m", *range(500))), {1})
        call("DEL", "a", "b", "m")


def test_changes(server):
    """A copy is not changed, since the server would not know of it."""
    call = server.call
    make_keys(call, range(100))
    same("save", call("SAVE"), b"OK")
    before = server.digests()
    for kind in KINDS:
        with open(path(kind + ".dump"), "wb") as file:
            file.write(call("DUMP", kind))
        for name in (uri(server, kind), kind + ".dump", os.path.join(server.directory, "dump.rdb#") + kind):
            for words in (("add", name), ("clear", name), ("clear", "none.tamis", name)):
                message = tamis(*words, lines=range(3), status=2)
                is_true(message, "only looked up and copied here; change it on its server, by BF or TW commands" in message)
        with open(path(kind + ".dump"), "rb") as file:
            same("the file is unchanged", file.read(), call("DUMP", kind))
    same("unchanged", server.digests(), before)
    same("no other keys", sorted(call("KEYS", "*")), sorted(kind.encode() for kind in KINDS))


def test_refused_keys(server):
    """Keys that have no filter yet, or too large a one: a message for each."""
    call = server.call
    call("CONFIG", "SET", "rdbcompression", "no")
    make_keys(call, range(100))
    call("BF.RESERVE", "chain", 0.01, 10)
    call("BF.MADD", "chain", *range(100))
    call("CF.ADD", "cuckoo", 1)
    call("SET", "string", "x")
    call("TOUCH", "none")
    refused = {"string": "no such filter", "none": "no such filter"}
    for key, command, loading in (("chain", "BF", "l-chain"), ("cuckoo", "CF", "l-cuckoo")):
        position, data = chunks_of(call, key, command + ".SCANDUMP")[0]
        same("header", call(command + ".LOADCHUNK", loading, position, data), b"OK")
        refused[loading] = f"chunks of the filter are missing, so it answers nothing yet; load them by {command}.LOADCHUNK"
    for key, command, loading in (("blocked", "BF", "l-blocked"), ("window", "TW", "l-window")):
        dump = call("DUMP", key)
        image = dump[dump.index(b"\x89TAMIS\r\n"):-11]
        same("chunk", call(command + ".LOADIMAGE", loading, 0, len(image), image[:1000]), b"OK")
        refused[loading] = (f"1000 of the {len(image)} bytes of the filter are loaded, so it answers nothing yet; "
                            f"load the others by {command}.LOADIMAGE")
    same("types", [call("TYPE", key) for key in ("l-chain", "l-cuckoo", "l-blocked", "l-window")],
         [b"TAMISload", b"TAMISloCF", b"TAMISflt1", b"TAMISwin1"])
    call("SAVE")
    for key, says in refused.items():
        for words in (("info",), ("check", "-k", "1"), ("copy", "-o", "x.tamis"), ("audit",)):
            message = tamis(*words, uri(server, key), status=2)
            is_true(message, says in message and message.count("\n") == 1)
        message = tamis("info", os.path.join(server.directory, f"dump.rdb#{key}"), status=2)
        is_true(message, {"string": "another type", "none": "no such key"}.get(key, says) in message)
        if says != "no such filter":
            with open(path("loading.dump"), "wb") as file:
                file.write(call("DUMP", key))
            message = tamis("info", "loading.dump", status=2)
            is_true(message, says in message)
    is_true("no file", not os.path.exists(path("x.tamis")))
    call("CONFIG", "SET", "rdbcompression", "yes")
    call("BF.RESERVE", "large", 0.01, 60000000, "KIND", "classic")
    call("BF.MADD", "large", 1, 2, 3)
    message = tamis("info", uri(server, "large"), status=2)
    is_true(message, "too many for a reply; save the database" in message)
    call("SAVE")
    same("from the file", present(os.path.join(server.directory, "dump.rdb#large"), lines=range(10)), ["1", "2", "3"])


TESTS = (test_copies, test_merged_copies, test_changes, test_refused_keys)
