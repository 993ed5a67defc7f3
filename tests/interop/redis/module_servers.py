#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The Redis module on several servers and under load: module_servers.py MODULE DIRECTORY SEED COUNT"""
import logging
import threading

import redis
import redis.cluster

from module_server import (COUNT, Client, Error, Server, end_servers, free_port, info_of, is_true, run, same, used_memory,
                           wait_until)


def replica_of(primary, name):
    """A replica that is in sync."""
    port = free_port()
    same("port", primary.ask("CONFIG", "SET", "port", port, "repl-diskless-sync-delay", 0), b"OK")
    replica = Server(name, "--port", str(free_port()), "--repl-diskless-sync-delay", "0",
                     "--replicaof", "127.0.0.1", str(port))
    wait_until("sync", lambda: b"master_link_status:up" in replica.ask("INFO", "replication"))
    return replica


class Load(threading.Thread):
    """A client that adds numbers one after the other, half of them to cuckoo filters, until the server is gone or the
    test ends. `answered`: key and item of each that was answered as new."""

    def __init__(self, server, number):
        super().__init__()
        self.client, self.number = Client(server.path), number
        self.answered, self.is_over, self.error = [], False, None
        self.start()

    def run(self):
        item = self.number * 10 ** 9
        try:
            while not self.is_over:
                item += 1
                key = f"{'cf'[item % 2]}{item // 2 % 5}"
                got = self.client("CF.ADDNX" if key[0] == "c" else "BF.ADD", key, item)
                if isinstance(got, Error):
                    self.error = got
                    return
                if got:
                    self.answered.append((key, item))
        except (OSError, ConnectionError, ValueError):
            pass

    def end(self):
        self.is_over = True
        self.join()
        return self.answered


def check_present(ask, answered, what):
    for key in {key for key, _ in answered}:
        items = [item for its_key, item in answered if its_key == key]
        for i in range(0, len(items), 1000):
            batch = items[i:i + 1000]
            answers = ask("CF.MEXISTS" if key[0] == "c" else "BF.MEXISTS", key, *batch)
            is_true(f"{what}: {key}: {answers.count(0)} of {len(batch)} items are missing", set(answers) == {1})


# ---- crashes and snapshots --------------------------------------------------------------------------------

def test_kill_under_load():
    """With appendfsync always, no answer "new" is given for an item that is gone after a crash."""
    server = Server("crash", "--appendonly", "yes", "--appendfsync", "always")
    answered = []
    for turn in range(3):
        loads = [Load(server, 10 * turn + i) for i in range(4)]
        wait_until("load", lambda: sum(len(load.answered) for load in loads) > COUNT)
        if turn == 1:
            server.ask("BGREWRITEAOF")
        server.kill()
        for load in loads:
            answered += load.end()
        server.start()
        check_present(server.ask, answered, f"crash {turn + 1}")
    server.kill()


def test_snapshot_under_load():
    """A snapshot that is written while clients add has every item that was answered before it began."""
    server = Server("snapshot")
    loads = [Load(server, i) for i in range(4)]
    wait_until("load", lambda: sum(len(load.answered) for load in loads) > COUNT)
    answered = [item for load in loads for item in list(load.answered)]
    server.ask("BGSAVE")
    wait_until("snapshot", lambda: info_of(server.ask, "persistence", "rdb_bgsave_in_progress") == 0)
    server.kill()
    for load in loads:
        load.end()
    server.start()
    check_present(server.ask, answered, "snapshot")
    before = server.digests()
    same("reload", server.ask("DEBUG", "RELOAD"), b"OK")
    same("reload", server.digests(), before)
    server.kill()


# ---- replicas ---------------------------------------------------------------------------------------------

def test_failover():
    """A replica takes over under load: its filters are those of the primary, and have all items that were answered."""
    primary = Server("old")
    replica = replica_of(primary, "new")
    loads = [Load(primary, i) for i in range(4)]
    wait_until("load", lambda: sum(len(load.answered) for load in loads) > COUNT)
    same("failover", primary.ask("FAILOVER"), b"OK")
    wait_until("roles", lambda: b"role:master" in replica.ask("INFO", "replication"))
    answered = [item for load in loads for item in load.end()]
    for load in loads:
        is_true(f"end of the load: {load.error!r}", load.error is None or load.error.args[0].startswith("READONLY"))
    check_present(replica.ask, answered, "failover")
    wait_until("sync", lambda: b"master_link_status:up" in primary.ask("INFO", "replication"))
    replica.ask("BF.ADD", "after", 1)
    same("wait", replica.ask("WAIT", 1, 60000), 1)
    same("digests", primary.digests(), replica.digests())
    primary.kill()
    replica.kill()


def test_eviction():
    """Under allkeys-lru filters are evicted; a replica has the same ones, with the same bits."""
    primary = Server("evicting")
    replica = replica_of(primary, "evicted")
    limit = used_memory(primary.ask) + (8 << 20)
    primary.ask("CONFIG", "SET", "maxmemory", limit, "maxmemory-policy", "allkeys-lru")
    for i in range(400):
        same("new", primary.ask("BF.INSERT", f"b{i}", "CAPACITY", 50000, "ITEMS", i), [1])
        same("new", primary.ask("CF.INSERT", f"c{i}", "CAPACITY", 60000, "ITEMS", i), [1])
    is_true("evictions", info_of(primary.ask, "stats", "evicted_keys") > 100)
    is_true("memory", used_memory(primary.ask) < limit + (1 << 20))
    primary.ask("CONFIG", "SET", "maxmemory", 0)  # lookups evict too
    same("wait", primary.ask("WAIT", 1, 60000), 1)
    digests = primary.digests()
    is_true("filters are left", len(digests) > 10)
    same("digests", replica.digests(), digests)
    for key in digests:  # what is left has its item
        same("item", primary.ask(key[:1].decode().upper() + "F.EXISTS", key, key[1:]), 1)
    same("flush", primary.ask("FLUSHALL", "ASYNC"), b"OK")
    same("wait", primary.ask("WAIT", 1, 60000), 1)
    same("empty", replica.ask("DBSIZE"), 0)
    primary.kill()
    replica.kill()


# ---- cluster ----------------------------------------------------------------------------------------------

def test_cluster():
    """Redirects, a client that follows them, and filters that move with their slot."""
    nodes = []
    for i in range(3):
        port = free_port()
        nodes.append(Server(f"node{i}", "--cluster-enabled", "yes", "--port", str(port), "--cluster-port", str(free_port()),
                            "--cluster-node-timeout", "2000"))
        nodes[i].port = port
        nodes[i].id = nodes[i].ask("CLUSTER", "MYID")
        same("slots", nodes[i].ask("CLUSTER", "ADDSLOTSRANGE", i * 5461, 16383 if i == 2 else i * 5461 + 5460), b"OK")
    bus = [int(node.ask("CONFIG", "GET", "cluster-port")[1]) for node in nodes]
    for node, its_bus in zip(nodes[1:], bus[1:]):
        same("meet", nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port, its_bus), b"OK")
    wait_until("cluster", lambda: all(b"cluster_state:ok" in node.ask("CLUSTER", "INFO") and
                                      b"cluster_known_nodes:3" in node.ask("CLUSTER", "INFO") for node in nodes))
    slot = nodes[0].ask("CLUSTER", "KEYSLOT", "key")
    owner = nodes[min(slot // 5461, 2)]
    other = nodes[(nodes.index(owner) + 1) % 3]
    for command in ("BF.ADD key a", "BF.MEXISTS key a b", "BF.RESERVE key 0.1 10", "CF.INSERT key ITEMS a", "CF.DEL key a",
                    "BF.SCANDUMP key 0", "CF.LOADCHUNK key 1 x"):
        same(command, other.ask(*command.split()), Error(f"MOVED {slot} 127.0.0.1:{owner.port}"))

    logging.getLogger("redis").setLevel(logging.CRITICAL + 1)  # it reports redirects that it follows
    client = redis.cluster.RedisCluster(host="127.0.0.1", port=nodes[0].port)
    for i in range(100):
        same("add", client.execute_command("BF.ADD", f"b{i}", i), 1)
        same("add", client.execute_command("CF.ADD", f"c{i}", i), 1)
    for i in range(100):
        same("lookup", client.execute_command("BF.MEXISTS", f"b{i}", i, "x"), [1, 0])
        same("lookup", client.execute_command("CF.COUNT", f"c{i}", i), 1)
    is_true("every node has keys", all(node.ask("DBSIZE") > 20 for node in nodes))

    # The slot moves: what is there stays until it is sent, what is not is asked of the other node.
    owner.ask("BF.MADD", "{key}bloom", *range(1000))
    owner.ask("CF.INSERT", "{key}cuckoo", "ITEMS", *range(3000))
    before = owner.digests()
    same("import", other.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", owner.id), b"OK")
    same("export", owner.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", other.id), b"OK")
    same("redirect", owner.ask("BF.ADD", "{key}absent", 1), Error(f"ASK {slot} 127.0.0.1:{other.port}"))
    same("asking", [other.ask("ASKING"), other.ask("BF.ADD", "{key}absent", 1)], [b"OK", 1])
    keys = owner.ask("CLUSTER", "GETKEYSINSLOT", slot, 100)
    is_true("keys", {b"{key}bloom", b"{key}cuckoo"} <= set(keys))
    same("migrate", owner.ask("MIGRATE", "127.0.0.1", other.port, "", 0, 5000, "KEYS", *keys), b"OK")
    for node in nodes:
        node.ask("CLUSTER", "SETSLOT", slot, "NODE", other.id)
    after = other.digests()
    same("digests", {key: after[key] for key in keys}, {key: before[key] for key in keys})
    same("redirect", owner.ask("BF.EXISTS", "{key}bloom", 1), Error(f"MOVED {slot} 127.0.0.1:{other.port}"))
    same("lookup", client.execute_command("BF.MEXISTS", "{key}bloom", 1, 999), [1, 1])
    same("lookup", client.execute_command("CF.MEXISTS", "{key}cuckoo", 1, 2999), [1, 1])
    client.close()
    for node in nodes:
        node.kill()


if __name__ == "__main__":
    try:
        run((test_kill_under_load, test_snapshot_under_load, test_failover, test_eviction, test_cluster))
    finally:
        end_servers()
