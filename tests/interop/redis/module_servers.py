#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The Redis module on several servers and under load: module_servers.py MODULE DIRECTORY SEED COUNT"""
import logging
import threading

import redis
import redis.cluster

from module_server import (COUNT, Client, Error, Server, end_servers, free_port, info_of, is_true, listen, run, same,
                           used_memory, wait_until)


def replica_of(primary, name):
    """A replica that is in sync."""
    same("delay", primary.call("CONFIG", "SET", "repl-diskless-sync-delay", 0), b"OK")
    replica = Server(name, "--repl-diskless-sync-delay", "0")
    listen(replica)  # it may become the primary
    same("follow", replica.call("REPLICAOF", "127.0.0.1", listen(primary)), b"OK")
    wait_until("sync", lambda: b"master_link_status:up" in replica.call("INFO", "replication"))
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


def check_present(call, answered, what):
    for key in {key for key, _ in answered}:
        items = [item for its_key, item in answered if its_key == key]
        for i in range(0, len(items), 1000):
            batch = items[i:i + 1000]
            answers = call("CF.MEXISTS" if key[0] == "c" else "BF.MEXISTS", key, *batch)
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
            server.call("BGREWRITEAOF")
        server.kill()
        for load in loads:
            answered += load.end()
        server.start()
        check_present(server.call, answered, f"crash {turn + 1}")
    server.kill()


def test_snapshot_under_load():
    """A snapshot that is written while clients add has every item that was answered before it began."""
    server = Server("snapshot")
    loads = [Load(server, i) for i in range(4)]
    wait_until("load", lambda: sum(len(load.answered) for load in loads) > COUNT)
    answered = [item for load in loads for item in list(load.answered)]
    server.call("BGSAVE")
    wait_until("snapshot", lambda: info_of(server.call, "persistence", "rdb_bgsave_in_progress") == 0)
    server.kill()
    for load in loads:
        load.end()
    server.start()
    check_present(server.call, answered, "snapshot")
    before = server.digests()
    same("reload", server.call("DEBUG", "RELOAD"), b"OK")
    same("reload", server.digests(), before)
    server.kill()


# ---- replicas ---------------------------------------------------------------------------------------------

def test_failover():
    """A replica takes over under load: its filters are those of the primary, and have all items that were answered."""
    primary = Server("old")
    replica = replica_of(primary, "new")
    loads = [Load(primary, i) for i in range(4)]
    wait_until("load", lambda: sum(len(load.answered) for load in loads) > COUNT)
    same("failover", primary.call("FAILOVER"), b"OK")
    wait_until("roles", lambda: b"role:master" in replica.call("INFO", "replication"))
    answered = [item for load in loads for item in load.end()]
    for load in loads:
        is_true(f"end of the load: {load.error!r}", load.error is None or load.error.args[0].startswith("READONLY"))
    check_present(replica.call, answered, "failover")
    wait_until("sync", lambda: b"master_link_status:up" in primary.call("INFO", "replication"))
    replica.call("BF.ADD", "after", 1)
    same("wait", replica.call("WAIT", 1, 60000), 1)
    same("digests", primary.digests(), replica.digests())
    primary.kill()
    replica.kill()


def test_eviction():
    """Under allkeys-lru filters are evicted; a replica has the same ones, with the same bits."""
    primary = Server("evicting")
    replica = replica_of(primary, "evicted")
    limit = used_memory(primary.call) + (8 << 20)
    primary.call("CONFIG", "SET", "maxmemory", limit, "maxmemory-policy", "allkeys-lru")
    for i in range(400):
        same("new", primary.call("BF.INSERT", f"b{i}", "CAPACITY", 50000, "ITEMS", i), [1])
        same("new", primary.call("CF.INSERT", f"c{i}", "CAPACITY", 60000, "ITEMS", i), [1])
    is_true("evictions", info_of(primary.call, "stats", "evicted_keys") > 100)
    is_true("memory", used_memory(primary.call) < limit + (1 << 20))
    primary.call("CONFIG", "SET", "maxmemory", 0)  # lookups evict too
    same("wait", primary.call("WAIT", 1, 60000), 1)
    digests = primary.digests()
    is_true("filters are left", len(digests) > 10)
    same("digests", replica.digests(), digests)
    for key in digests:  # what is left has its item
        same("item", primary.call(key[:1].decode().upper() + "F.EXISTS", key, key[1:]), 1)
    same("flush", primary.call("FLUSHALL", "ASYNC"), b"OK")
    same("wait", primary.call("WAIT", 1, 60000), 1)
    same("empty", replica.call("DBSIZE"), 0)
    primary.kill()
    replica.kill()


# ---- cluster ----------------------------------------------------------------------------------------------

def start_node(name):
    """A node, with ports that were free. If another program takes one meanwhile, it does not start."""
    for _ in range(10):
        try:
            port = free_port()
            node = Server(name, "--cluster-enabled", "yes", "--port", str(port), "--cluster-port", str(free_port()),
                          "--cluster-node-timeout", "2000")
            node.port = port
            return node
        except SystemExit as found:
            failure = found
    raise failure


def test_cluster():
    """Redirects, a client that follows them, and filters that move with their slot."""
    nodes = []
    for i in range(3):
        nodes.append(start_node(f"node{i}"))
        nodes[i].id = nodes[i].call("CLUSTER", "MYID")
        same("slots", nodes[i].call("CLUSTER", "ADDSLOTSRANGE", i * 5461, 16383 if i == 2 else i * 5461 + 5460), b"OK")
    bus = [int(node.call("CONFIG", "GET", "cluster-port")[1]) for node in nodes]
    for node, its_bus in zip(nodes[1:], bus[1:]):
        same("meet", nodes[0].call("CLUSTER", "MEET", "127.0.0.1", node.port, its_bus), b"OK")
    wait_until("cluster", lambda: all(b"cluster_state:ok" in node.call("CLUSTER", "INFO") and
                                      b"cluster_known_nodes:3" in node.call("CLUSTER", "INFO") for node in nodes))
    slot = nodes[0].call("CLUSTER", "KEYSLOT", "key")
    owner = nodes[min(slot // 5461, 2)]
    other = nodes[(nodes.index(owner) + 1) % 3]
    for command in ("BF.ADD key a", "BF.MEXISTS key a b", "BF.RESERVE key 0.1 10", "CF.INSERT key ITEMS a", "CF.DEL key a",
                    "BF.SCANDUMP key 0", "CF.LOADCHUNK key 1 x"):
        same(command, other.call(*command.split()), Error(f"MOVED {slot} 127.0.0.1:{owner.port}"))

    logging.getLogger("redis").setLevel(logging.CRITICAL + 1)  # it reports redirects that it follows
    client = redis.cluster.RedisCluster(host="127.0.0.1", port=nodes[0].port)
    for i in range(100):
        same("add", client.execute_command("BF.ADD", f"b{i}", i), 1)
        same("add", client.execute_command("CF.ADD", f"c{i}", i), 1)
    for i in range(100):
        same("lookup", client.execute_command("BF.MEXISTS", f"b{i}", i, "x"), [1, 0])
        same("lookup", client.execute_command("CF.COUNT", f"c{i}", i), 1)
    is_true("every node has keys", all(node.call("DBSIZE") > 20 for node in nodes))

    # The slot moves: what is there stays until it is sent, what is not is asked of the other node.
    owner.call("BF.MADD", "{key}bloom", *range(1000))
    owner.call("CF.INSERT", "{key}cuckoo", "ITEMS", *range(3000))
    before = owner.digests()
    same("import", other.call("CLUSTER", "SETSLOT", slot, "IMPORTING", owner.id), b"OK")
    same("export", owner.call("CLUSTER", "SETSLOT", slot, "MIGRATING", other.id), b"OK")
    same("redirect", owner.call("BF.ADD", "{key}absent", 1), Error(f"ASK {slot} 127.0.0.1:{other.port}"))
    same("asking", [other.call("ASKING"), other.call("BF.ADD", "{key}absent", 1)], [b"OK", 1])
    keys = owner.call("CLUSTER", "GETKEYSINSLOT", slot, 100)
    is_true("keys", {b"{key}bloom", b"{key}cuckoo"} <= set(keys))
    same("migrate", owner.call("MIGRATE", "127.0.0.1", other.port, "", 0, 5000, "KEYS", *keys), b"OK")
    for node in nodes:
        node.call("CLUSTER", "SETSLOT", slot, "NODE", other.id)
    after = other.digests()
    same("digests", {key: after[key] for key in keys}, {key: before[key] for key in keys})
    same("redirect", owner.call("BF.EXISTS", "{key}bloom", 1), Error(f"MOVED {slot} 127.0.0.1:{other.port}"))
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
