#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random commands, kills and restarts, compared with a model: redis_module.py MODULE DIRECTORY SEED SECONDS

The model of a key is what every filter promises, whatever its size. Bloom: the items that were added, all of which are
present, and the number of those that were answered as new. Cuckoo: how often each item was added and not removed; it is
counted at least as often. Only items that are in the model are removed.

After a kill the server starts from its AOF, which is flushed with every command. The command that got no answer may
have run or not: its key is deleted.
"""
import os
import random
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../interop/redis"))
# pylint: disable=wrong-import-position
from module_server import (DIRECTORY, SEED, COUNT as SECONDS, Error, Server, chunks_of, end_servers, info_of, is_true,  # noqa: E402
                           same, wait_until)


class Bloom:
    """What is known of a Bloom filter."""

    kind = "BF"

    def __init__(self, nonscaling=False, native=False):
        self.items, self.card, self.nonscaling, self.native = set(), 0, nonscaling, native


class Cuckoo:
    """What is known of a cuckoo filter."""

    kind = "CF"

    def __init__(self):
        self.counts = {}


class Run:
    """A server, and the model of each of its keys."""

    def __init__(self):
        self.server = Server("torture", "--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble",
                             random.choice(("yes", "no")))
        self.models, self.next_item, self.commands = {}, 0, 0

    def call(self, *words):
        self.commands += 1
        return self.server.call(*words)

    # ---- single commands

    def new_items(self, model):
        """Items to add: new ones, and some that are there."""
        count = random.choice((1, 1, 2, 5, 50, 400))
        self.next_item += count
        items = list(range(self.next_item - count, self.next_item))
        known = list(model.items if model.kind == "BF" else model.counts) if model else []
        if known:
            items += random.choices(known, k=random.choice((0, 1, 3)))
        random.shuffle(items)
        return [str(item) for item in items]

    def reserve(self, key):
        if random.random() < 0.5:
            rate, capacity = 10 ** -random.uniform(0.3, 9), int(10 ** random.uniform(0, 4))
            option = random.choice(((), ("NONSCALING",), ("EXPANSION", random.choice((1, 2, 4, 10))),
                                    ("KIND", random.choice(("fast", "fingerprint", "blocked", "classic")))))
            got = self.call("BF.RESERVE", key, rate, capacity, *option)
            if isinstance(got, Error) and "could not create" in got.args[0]:  # a kind without this rate
                return
            model = Bloom(option in (("NONSCALING",), ("KIND", "blocked"), ("KIND", "classic")), option[:1] == ("KIND",))
        else:
            bucket = random.choice((1, 2, 4, 7, 255))
            got = self.call("CF.RESERVE", key, int(10 ** random.uniform(0, 4)) + 2 * bucket, "BUCKETSIZE", bucket,
                           "MAXITERATIONS", random.choice((1, 20, 500)), "EXPANSION", random.choice((0, 1, 2)))
            model = Cuckoo()
        if key in self.models:
            is_true("reserve", isinstance(got, Error))
        else:
            same("reserve", got, b"OK")
            self.models[key] = model

    def add_bloom(self, key):
        model = self.models.get(key)
        items = self.new_items(model)
        command = random.choice(("BF.ADD", "BF.MADD", "BF.INSERT"))
        if command == "BF.ADD":
            got = [self.call(command, key, items[0])]
        elif command == "BF.MADD":
            got = self.call(command, key, *items)
        else:
            got = self.call(command, key, "CAPACITY", random.randrange(1, 1000), "ITEMS", *items)
        if isinstance(got, Error) or (len(got) == 1 and isinstance(got[0], Error) and "WRONGTYPE" in got[0].args[0]):
            return is_true(f"add: {got!r}", isinstance(model, Cuckoo))
        if model is None:
            model = self.models[key] = Bloom()
        for item, answer in zip(items, got):
            if isinstance(answer, Error):
                is_true(f"add: {answer!r}", model.nonscaling)
                break
            is_true(f"{key}: item {item} is answered as new and was added", not (answer and item in model.items))
            model.items.add(item)
            model.card += answer
        return None

    def add_cuckoo(self, key):
        model = self.models.get(key)
        items = self.new_items(model)
        command = random.choice(("CF.ADD", "CF.ADDNX", "CF.INSERT", "CF.INSERTNX"))
        if "INSERT" in command:
            got = self.call(command, key, "ITEMS", *items)
        else:
            got = [self.call(command, key, items[0])]
        if isinstance(got, Error):
            return is_true(f"add: {got!r}", isinstance(model, Bloom) or "Maximum expansions" in got.args[0])
        if isinstance(got[0], Error) and "WRONGTYPE" in got[0].args[0]:
            return is_true(f"add: {got!r}", isinstance(model, Bloom))
        if model is None:
            model = self.models[key] = Cuckoo()
        for item, answer in zip(items, got):
            if "NX" in command:
                is_true(f"{key}: item {item} is answered as new and is there", not (answer == 1 and item in model.counts))
            if answer == 1:
                model.counts[item] = model.counts.get(item, 0) + 1
        return None

    def remove(self, key):
        model = self.models.get(key)
        if not isinstance(model, Cuckoo) or not model.counts:
            return
        for item in random.sample(sorted(model.counts), k=min(len(model.counts), random.choice((1, 1, 3, 100)))):
            same(f"{key}: removal of {item}", self.call("CF.DEL", key, item), 1)
            model.counts[item] -= 1
            if not model.counts[item]:
                del model.counts[item]
        if random.random() < 0.3:
            same("compact", self.call("CF.COMPACT", key), b"OK")

    def check(self, key):
        model = self.models.get(key)
        if isinstance(model, Bloom):
            same(f"{key}: card", self.call("BF.CARD", key), model.card)
            items = list(model.items)
            for i in range(0, len(items), 500):
                same(f"{key}: false negatives", set(self.call("BF.MEXISTS", key, *items[i:i + 500])), {1})
        elif isinstance(model, Cuckoo):
            items = list(model.counts)
            for i in range(0, len(items), 500):
                same(f"{key}: false negatives", set(self.call("CF.MEXISTS", key, *items[i:i + 500])), {1})
            for item in random.sample(items, min(20, len(items))):
                is_true(f"{key}: count of {item}", self.call("CF.COUNT", key, item) >= model.counts[item])
            info = self.call("CF.INFO", key)
            same(f"{key}: items", info[7], sum(model.counts.values()))
            if info[1] > 16 << 20:  # an item that is added often makes many tables
                self.call("DEL", key)
                del self.models[key]
        else:
            same(f"{key}: absent", self.call("EXISTS", key), 0)

    def move(self, key):
        """The key goes by another way to another name, and comes back."""
        model = self.models.get(key)
        if model is None:
            return
        how = random.choice(("COPY", "RENAME", "RESTORE", "LOADCHUNK"))
        if how == "LOADCHUNK" and model.kind == "BF" and model.native:  # it has no chunks
            return
        self.call("DEL", "moved")
        if how == "COPY":
            same(how, self.call("COPY", key, "moved"), 1)
        elif how == "RENAME":
            self.call("RENAME", key, "moved")
        elif how == "RESTORE":
            same(how, self.call("RESTORE", "moved", 0, self.call("DUMP", key)), b"OK")
        else:
            chunks = chunks_of(self.call, key, model.kind + ".SCANDUMP")
            if not chunks:  # an empty cuckoo filter has none
                return
            for chunk in chunks:
                same(how, self.call(model.kind + ".LOADCHUNK", "moved", *chunk), b"OK")
        if how != "RENAME":
            same(how, self.call("DEBUG", "DIGEST-VALUE", "moved"), self.call("DEBUG", "DIGEST-VALUE", key))
        self.call("RENAME", "moved", key)

    def disturb(self, key):
        how = random.choice(("DEL", "UNLINK", "junk", "junk", "BGREWRITEAOF", "BGSAVE", "RELOAD"))
        if how in ("DEL", "UNLINK"):
            self.call(how, key)
            self.models.pop(key, None)
        elif how == "junk":  # bytes that are not a chunk, and dumps that are not dumps
            kind = random.choice(("BF", "CF"))
            self.call("DEL", "junk")
            self.call(kind + ".LOADCHUNK", "junk", random.choice((1, 1, 2, 17, 2 ** 40)), random.randbytes(random.choice((0, 38, 73, 500))))
            dump = self.call("DUMP", key)
            if dump:
                damaged = bytearray(dump)
                damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
                self.call("RESTORE", "junk", 0, bytes(damaged), "REPLACE")
            self.call("DEL", "junk")
        elif how == "RELOAD":
            # It saves, then loads the file. The end of an earlier BGSAVE between both would replace the file.
            wait_until("no BGSAVE", lambda: info_of(self.server.call, "persistence", "rdb_bgsave_in_progress") == 0)
            same(how, self.call("DEBUG", "RELOAD"), b"OK")
        else:
            self.call(how)

    # ---- kills

    def kill(self):
        """Kills the server while a command is under way."""
        key = f"k{random.randrange(8)}"
        words = random.choice((("BF.MADD", key), ("CF.INSERT", key, "ITEMS"))) + tuple(str(10 ** 9 + i) for i in range(300))
        self.server.call.send(*words)
        time.sleep(random.choice((0, 0, 0.0005, 0.003)))
        self.server.kill()
        self.server.start()
        self.call("DEL", key, "moved")
        self.models.pop(key, None)

    def step(self):
        key = f"k{random.randrange(8)}"
        action = random.choices((self.reserve, self.add_bloom, self.add_cuckoo, self.remove, self.check, self.move, self.disturb),
                                (2, 10, 10, 6, 4, 2, 1))[0]
        action(key)


def main():
    random.seed(SEED)
    run = Run()
    end, kills = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        for _ in range(random.randrange(200)):
            run.step()
        run.kill()
        kills += 1
        for i in range(8):
            run.check(f"k{i}")
    run.server.kill()
    print(f"{run.commands} commands, {kills} kills")


if __name__ == "__main__":
    try:
        main()
        with open(os.path.join(DIRECTORY, "torture", "errors"), encoding="utf-8", errors="replace") as file:
            text = file.read()
            is_true(f"the sanitizers have nothing to report: {text[-5000:]}", "ERROR: " not in text and "runtime error: " not in text)
    except ConnectionError:
        with open(os.path.join(DIRECTORY, "torture", "errors"), encoding="utf-8", errors="replace") as file:
            print(file.read()[-5000:])
        raise
    finally:
        end_servers()
