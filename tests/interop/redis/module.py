#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The Redis module in real servers: module.py MODULE DIRECTORY SEED COUNT

Replies, errors and bytes are those of RedisBloom, with RESP2 and with RESP3. COUNT: how many items the larger
tests add.
"""
import time

import redis

import module_damage
import module_loading
import module_replies
from module_server import (COUNT, LARGE, MODULE, Client, Error, Server, check_config_file, chunks_of, end_servers, fill,
                           info_of, is_true, listen, refused, run, same, used_memory, wait_until)


def test_growth(server):
    """Listings of RedisBloom's own tests: numbers of sub-filters, and BF.DEBUG of 4000 numbers."""
    call = server.call
    for expansion, count in ((1, 23), (2, 5), (4, 4)):
        key = f"expansion{expansion}"
        call("BF.RESERVE", key, 0.01, 4, "EXPANSION", expansion)
        for i in range(100):
            call("BF.ADD", key, i)
        same(key, call("BF.INFO", key, "FILTERS"), [count])
    call("BF.RESERVE", "listing", 0.001, 100)
    call("BF.MADD", "listing", *range(4000))
    lines = call("BF.DEBUG", "listing")
    same("size", lines[0], b"size:3997")
    same("last", lines[6], b"bytes:9216 bits:73728 hashes:16 hashwidth:64 capacity:3200 size:897 ratio:1.5625e-05")
    same("present", set(call("BF.MEXISTS", "listing", *range(4000))), {1})


def test_client(server):
    """redis-py's typed calls."""
    client = redis.Redis(unix_socket_path=server.path)
    bloom = client.bf()
    same("reserve", bloom.create("py", 0.01, 1000), True)
    same("add", bloom.add("py", "a"), 1)
    same("madd", bloom.madd("py", "a", "b"), [0, 1])
    same("insert", bloom.insert("py2", ["a", "b"], capacity=10, error=0.1, expansion=4), [1, 1])
    same("exists", bloom.exists("py", "b"), 1)
    same("mexists", bloom.mexists("py", "b", "c"), [1, 0])
    info = bloom.info("py")
    same("info", (info.capacity, info.insertedNum, info.filterNum), (1000, 2, 1))
    position, data = bloom.scandump("py", 0)
    while position:
        bloom.loadchunk("py3", position, data)
        position, data = bloom.scandump("py", position)
    same("loaded", server.call("DUMP", "py3"), server.call("DUMP", "py"))


def test_cuckoo_client(server):
    """redis-py's typed calls."""
    cuckoo = redis.Redis(unix_socket_path=server.path).cf()
    same("reserve", cuckoo.create("py", 1000, expansion=2, bucket_size=4, max_iterations=10), True)
    same("add", cuckoo.add("py", "a"), 1)
    same("addnx", [cuckoo.addnx("py", "a"), cuckoo.addnx("py", "b")], [0, 1])
    same("insert", cuckoo.insert("py2", ["a", "b"], capacity=10), [1, 1])
    same("insertnx", cuckoo.insertnx("py2", ["a", "c"]), [0, 1])
    same("exists", [cuckoo.exists("py", "b"), cuckoo.exists("py", "c")], [1, 0])
    same("count", cuckoo.count("py", "a"), 1)
    same("del", [cuckoo.delete("py", "a"), cuckoo.delete("py", "a")], [1, 0])
    info = cuckoo.info("py")
    same("info", (info.size, info.bucketNum, info.filterNum, info.insertedNum, info.deletedNum, info.bucketSize,
                  info.expansionRate, info.maxIteration), (56 + 16 + 1024, 256, 1, 1, 1, 4, 2, 10))
    position, data = cuckoo.scandump("py", 0)
    while position:
        cuckoo.loadchunk("py3", position, data)
        position, data = cuckoo.scandump("py", position)
    same("loaded", server.call("DUMP", "py3"), server.call("DUMP", "py"))


# ---- dumps ------------------------------------------------------------------------------------------------

def test_chunks(server):
    call = server.call
    incomplete = "ERR filter is incomplete: BF.LOADCHUNK has loaded %d of %d bytes"
    call("BF.RESERVE", "source", 0.01, 10)
    call("BF.MADD", "source", *range(100))
    chunks = chunks_of(call, "source")
    same("header", (chunks[0][0], len(chunks[0][1])), (1, 20 + 4 * 53))
    same("sizes", [len(data) for _, data in chunks[1:]], [16, 32, 72, 160])
    loaded = 0
    for i, (position, data) in enumerate(chunks):
        for _ in range(2):  # a client may repeat a call
            same("chunk", call("BF.LOADCHUNK", "target", position, data), b"OK")
        loaded += len(data) if i else 0
        if i == 0:
            same("expires", call("PEXPIREAT", "target", 4000000000000), 1)
        if i == len(chunks) - 1:
            break
        # Nothing of a filter is visible before its last chunk.
        for command in ("BF.ADD target 1", "BF.MADD target 1", "BF.INSERT target ITEMS 1", "BF.EXISTS target 1",
                        "BF.MEXISTS target 1 2", "BF.CARD target", "BF.INFO target", "BF.DEBUG target",
                        "BF.SCANDUMP target 0"):
            same(command, call(*command.split()), Error(incomplete % (loaded, 280)))
        same("reserve", call("BF.RESERVE", "target", 0.01, 1), Error("ERR item exists"))
        same("another header", call("BF.LOADCHUNK", "target", 1, b"x"), Error("ERR received bad data"))
        same("type", call("TYPE", "target"), b"TAMISload")
        if i == 2:
            check_incomplete(server, chunks)
    same("type", call("TYPE", "target"), b"MBbloom--")
    same("expires at the same time", call("PEXPIRETIME", "target"), 4000000000000)
    same("persist", call("PERSIST", "target"), 1)  # a digest has it too
    digests = server.digests()
    same("digest", digests[b"target"], digests[b"source"])
    same("dump", call("DUMP", "target"), call("DUMP", "source"))
    check_iterators(call, "BF.SCANDUMP", "source", [data for _, data in chunks[1:]], b"")
    call("BF.RESERVE", "gap", 0.01, 10)
    call("DEL", "gap")
    call("BF.LOADCHUNK", "gap", *chunks[0])
    same("gap", call("BF.LOADCHUNK", "gap", *chunks[2]), Error("ERR received bad data"))
    call("DEL", "gap")


def check_iterators(call, command, key, arrays, nothing):
    """A chunk may begin anywhere: it has what is left of its array. Behind the last byte there is none."""
    begin = 0
    for array in arrays:
        for offset in range(len(array)):
            same(f"{command} {begin + offset + 1}", call(command, key, begin + offset + 1), [begin + len(array) + 1, array[offset:]])
        begin += len(array)
    for iterator in (begin + 1, begin + 2, 2 ** 32, 2 ** 63 - 1):
        same(f"{command} {iterator}", call(command, key, iterator), [0, nothing])


def check_incomplete(server, chunks):
    """An incomplete filter is saved, copied and restored as what it is, and can be completed then."""
    call = server.call
    before = server.digests()
    same("copy", call("COPY", "target", "copy"), 1)
    same("restore", call("RESTORE", "restored", 1000000, call("DUMP", "target")), b"OK")
    same("reload", call("DEBUG", "RELOAD"), b"OK")
    after = server.digests()
    for key in (b"target", b"copy", b"restored"):
        same(key, after[key], before[b"target"])
        if key != b"target":
            for chunk in chunks[3:]:
                same("chunk", call("BF.LOADCHUNK", key, *chunk), b"OK")
            same(key, call("DUMP", key), call("DUMP", "source"))
            call("UNLINK", key)


def test_cuckoo_chunks(server):
    """Nothing of a cuckoo filter is visible before its last chunk."""
    call = server.call
    call("CF.RESERVE", "source", 8, "EXPANSION", 2)
    call("CF.INSERT", "source", "ITEMS", *range(20))
    chunks = chunks_of(call, "source", "CF.SCANDUMP")
    same("sizes", [(position, len(data)) for position, data in chunks], [(1, 38), (9, 8), (25, 16)])
    for i, chunk in enumerate(chunks):
        for _ in range(2):  # a client may repeat a call
            same("chunk", call("CF.LOADCHUNK", "target", *chunk), b"OK")
        if i == 0:
            same("expires", call("PEXPIREAT", "target", 4000000000000), 1)
        if i == 2:
            break
        for command in ("CF.ADD target 1", "CF.ADDNX target 1", "CF.INSERT target ITEMS 1", "CF.INSERTNX target ITEMS 1",
                        "CF.EXISTS target 1", "CF.MEXISTS target 1 2", "CF.COUNT target 1", "CF.DEL target 1",
                        "CF.COMPACT target", "CF.INFO target", "CF.DEBUG target", "CF.SCANDUMP target 0"):
            same(command, call(*command.split()),
                 Error(f"ERR filter is incomplete: CF.LOADCHUNK has loaded {8 * i} of 24 bytes"))
        same("reserve", call("CF.RESERVE", "target", 100), Error("ERR item exists"))
        same("another header", call("CF.LOADCHUNK", "target", 1, 38 * b"x"), Error("ERR item exists"))
        same("gap", call("CF.LOADCHUNK", "target", 25, b"x"), Error("Couldn't load chunk!"))
        same("type", call("TYPE", "target"), b"TAMISloCF")
        before = server.digests()
        same("restore", call("RESTORE", "restored", 1000000, call("DUMP", "target")), b"OK")
        same("copy", call("COPY", "target", "copy"), 1)
        same("reload", call("DEBUG", "RELOAD"), b"OK")
        for key in (b"target", b"copy", b"restored"):
            same(key, server.digests()[key], before[b"target"])
        same("unlink", call("UNLINK", "copy", "restored"), 2)
    same("type", call("TYPE", "target"), b"MBbloomCF")
    same("expires at the same time", call("PEXPIRETIME", "target"), 4000000000000)
    same("dump", call("DUMP", "target"), call("DUMP", "source"))
    same("items", call("CF.MEXISTS", "target", *range(20)), 20 * [1])
    check_iterators(call, "CF.SCANDUMP", "source", [data for _, data in chunks[1:]], None)


# ---- servers ----------------------------------------------------------------------------------------------

def test_files(server):
    call = server.call
    fill(call)
    before = server.digests()
    same("copies are equal", before[b"loaded"], before[b"large"])
    same("copies are equal", before[b"cf-loaded"], before[b"cf-grown"])
    same("reload", call("DEBUG", "RELOAD"), b"OK")
    same("after DEBUG RELOAD", server.digests(), before)
    same("copy", call("COPY", "large", "copied"), 1)
    same("copied", server.digests()[b"copied"], before[b"large"])
    is_true("used_memory has the filters", used_memory(call) > 4 * LARGE)
    is_true("memory usage", 0 <= call("MEMORY", "USAGE", "large") - (32 + 64 + LARGE) < 128)
    # A thread of the server frees large filters.
    call("BF.ADD", "tiny", 1)
    freed = info_of(call, "memory", "lazyfreed_objects")
    same("unlink", call("UNLINK", "copied", "tiny"), 2)
    wait_until("one filter was freed by a thread", lambda: info_of(call, "memory", "lazyfreed_objects") == freed + 1)
    same("flush", call("FLUSHALL", "ASYNC"), b"OK")
    wait_until("memory is returned", lambda: used_memory(call) < LARGE)


def test_replica_and_aof():
    """A replica and a restarted server have other settings, and get equal filters."""
    primary = Server("primary", "--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--appendfsync", "no",
                     "--repl-diskless-sync-delay", "0", arguments=("bf-error-rate", "0.05", "BF-INITIAL-SIZE", "77", "cf-initial-size", "100",
                                                               "cf-max-iterations", "5", "cf-bucket-size", "3"))
    replica = Server("replica", "--replicaof", "127.0.0.1", str(listen(primary)),
                     arguments=("ERROR_RATE", "0.3", "INITIAL_SIZE", "5", "bf-expansion-factor", "1",
                                "cf-initial-size", "64", "cf-expansion-factor", "0", "CF_MAX_EXPANSIONS", "1"))
    end = time.monotonic() + 60
    while b"master_link_status:up" not in replica.call("INFO", "replication") and time.monotonic() < end:
        time.sleep(0.02)
    fill(primary.call)
    same("settings", primary.call("BF.DEBUG", "auto")[1].split()[4:7:2], [b"capacity:77", b"ratio:0.025"])
    before = primary.digests()
    same("wait", primary.call("WAIT", 1, 60000), 1)
    same("of the replica", replica.digests(), before)
    is_true("RedisBloom #1014: chunks are replicated", {b"loaded", b"half", b"cf-loaded", b"cf-half"} <= set(before))
    # A command that changes nothing is not sent.
    offset = primary.call("INFO", "replication").split(b"master_repl_offset:")[1].split()[0]
    primary.call("BF.ADD", "single", 1)
    primary.call("BF.MADD", "single", 1, 2)
    primary.call("BF.ADD", "fixed", "another")
    same("present", primary.call("CF.ADDNX", "cf-single", 1), 0)
    same("present", primary.call("CF.INSERTNX", "cf-single", "ITEMS", 1, 2), [0, 0])
    same("absent", primary.call("CF.DEL", "cf-empty", 1), 0)
    is_true("a replica does not compact", str(replica.call("CF.COMPACT", "cf-auto").args[0]).startswith("READONLY"))
    sent = int(primary.call("INFO", "replication").split(b"master_repl_offset:")[1].split()[0]) - int(offset)
    is_true(f"only pings were sent: {sent}", sent % 14 == 0)
    replica.kill()

    primary.command += ["bf-expansion-factor", "3", "cf-max-expansions", "1"]
    primary.kill()
    primary.start()  # from the commands in the AOF
    same("after the AOF", primary.digests(), before)
    same("limit", primary.call("CF.ADD", "cf-auto", 1), Error("Maximum expansions reached"))
    same("limit", primary.call("CF.ADD", "cf-none", 1), Error("Maximum expansions reached"))
    same("no key", primary.call("EXISTS", "cf-none"), 0)
    primary.call("BGREWRITEAOF")
    end = time.monotonic() + 60
    while b"aof_rewrite_in_progress:0" not in primary.call("INFO", "persistence") and time.monotonic() < end:
        time.sleep(0.02)
    primary.kill()
    primary.start()  # from the chunks of the rewritten AOF
    same("after the rewritten AOF", primary.digests(), before)
    primary.kill()


def test_settings(server):
    """CONFIG SET of settings: they are those of filters that are made from then on."""
    call = server.call
    names = {"bf-error-rate": "0.01", "bf-initial-size": "100", "bf-expansion-factor": "2", "cf-initial-size": "1024",
             "cf-bucket-size": "2", "cf-max-iterations": "20", "cf-expansion-factor": "1", "cf-max-expansions": "32"}
    for name, value in names.items():
        same(name, call("CONFIG", "GET", "bf." + name), [b"bf." + name.encode(), value.encode()])
    same("set", call("CONFIG", "SET", "bf.bf-error-rate", "0.05", "bf.bf-initial-size", 50, "bf.cf-initial-size", 64,
                    "bf.cf-bucket-size", 32, "bf.cf-expansion-factor", 0), b"OK")
    same("rate", call("CONFIG", "GET", "bf.bf-error-rate")[1], b"0.05")
    ranges = {"bf-initial-size": (1, 2 ** 30), "bf-expansion-factor": (0, 32768), "cf-bucket-size": (1, 255),
              "cf-initial-size": (2, 2 ** 30), "cf-max-iterations": (1, 65535), "cf-expansion-factor": (0, 32768),
              "cf-max-expansions": (1, 65536)}
    wrong = [("bf-error-rate", "x", "Invalid value for `bf-error-rate`")]
    wrong += [("bf-error-rate", rate, "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)")
              for rate in ("0", "1", "-0.5", "inf")]
    for name, (smallest, largest) in ranges.items():
        wrong += [(name, value, f"Invalid value for `{name}`") for value in ("x", "1.5", "9223372036854775808")]
        wrong += [(name, value, f"Value for `{name}` must be in the range [{smallest}, {largest}]")
                  for value in (smallest - 1, largest + 1)]
    wrong += [("cf-bucket-size", "33", "cf-initial-size: less than two buckets of cf-bucket-size; give a larger size")]
    before = call("CONFIG", "GET", "bf.*")
    for name, value, message in wrong:
        got = call("CONFIG", "SET", "bf." + name, value)
        same(f"{name} {value}", got.args[0].split(" - ")[1:], [message])
    same("unchanged", call("CONFIG", "GET", "bf.*"), before)
    call("BF.ADD", "b", 1)
    call("CF.ADD", "c", 1)
    same("Bloom", call("BF.DEBUG", "b")[1].split()[4:7:2], [b"capacity:50", b"ratio:0.025"])
    same("cuckoo", call("CF.DEBUG", "c"),
         b"bktsize:32 buckets:2 items:1 deletes:0 filters:1 max_iterations:20 expansion:0")
    same("set", call("CONFIG", "SET", "bf.bf-expansion-factor", 0), b"OK")
    call("BF.ADD", "fixed", 1)
    call("BF.RESERVE", "fixed2", 0.1, 10)
    same("refused", call("BF.RESERVE", "scaling", 0.1, 10, "EXPANSION", 3), Error("Nonscaling filters cannot expand"))
    call("BF.INSERT", "fixed3", "EXPANSION", 3, "ITEMS", 1)
    same("expansion", [call("BF.INFO", key, "EXPANSION") for key in ("fixed", "fixed2", "fixed3")], 3 * [[None]])
    same("capped", [call("CONFIG", "SET", "bf.bf-error-rate", "0.9"), call("CONFIG", "GET", "bf.bf-error-rate")[1]],
         [b"OK", b"0.25"])
    same("set back", call("CONFIG", "SET", *(word for name, value in names.items() for word in ("bf." + name, value))), b"OK")


def test_config_file():
    check_config_file("config", "bf.")


def test_memory_limit(server):
    call = server.call
    call("BF.ADD", "k", "a")
    call("CF.ADD", "c", "a")
    call("CONFIG", "SET", "maxmemory", 1)
    for command in ("BF.ADD k b", "BF.MADD k b", "BF.INSERT k ITEMS b", "BF.RESERVE k2 0.01 100", "BF.LOADCHUNK k 2 x",
                    "CF.ADD c b", "CF.ADDNX c b", "CF.INSERT c ITEMS b", "CF.INSERTNX c ITEMS b", "CF.RESERVE c2 100",
                    "CF.LOADCHUNK c 2 x"):
        got = call(*command.split())
        is_true(f"{command}: {got!r}", isinstance(got, Error) and got.args[0].startswith("OOM "))
    same("lookup", call("BF.EXISTS", "k", "a"), 1)
    same("lookup", call("CF.EXISTS", "c", "a"), 1)
    same("removal", call("CF.DEL", "c", "a"), 1)
    call("CONFIG", "SET", "maxmemory", 0)
    call("CF.RESERVE", "large", 100000000)
    call("CF.ADD", "large", "a")
    headers = {"CF.LOADCHUNK": call("CF.SCANDUMP", "large", 0)[1]}
    call("DEL", "large")
    call("BF.RESERVE", "large", 0.001, 40000000)
    headers["BF.LOADCHUNK"] = call("BF.SCANDUMP", "large", 0)[1]
    call("DEL", "large")
    # A filter that does not fit is not made. The limit has space for three filters of 19 MiB.
    too_large = ("BF.RESERVE x 0.001 40000000", "BF.INSERT x ERROR 0.001 CAPACITY 40000000 ITEMS a", "CF.RESERVE x 100000000",
                 "CF.INSERT x CAPACITY 100000000 ITEMS a")
    call("CONFIG", "SET", "maxmemory", used_memory(call) + 3 * LARGE + LARGE // 2)
    no_memory = Error("ERR Insufficient memory to create filter")
    for command in too_large:
        same(command, call(*command.split()), no_memory)
    for command, header in headers.items():
        same(command, call(command, "x", 1, header), no_memory)
        same("no key", call("EXISTS", "x"), 0)
    same("fit", [call("BF.RESERVE", f"fit{i}", 0.001, 10000000) for i in range(4)], [b"OK", b"OK", b"OK", no_memory])
    same("merge", call("BF.MERGE", "merged", "fit0"), no_memory)
    same("small", call("BF.ADD", "x", "a"), 1)
    same("merge", call("BF.MERGE", "merged", "x"), b"OK")
    # Where keys are evicted, a filter fits that is smaller than the limit.
    call("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    same("fit", [call("BF.RESERVE", f"evict{i}", 0.001, 10000000) for i in range(6)], 6 * [b"OK"])
    call("DEL", "x")
    for command in too_large:
        same(command, call(*command.split()), no_memory)
    call("CONFIG", "SET", "maxmemory", 0, "maxmemory-policy", "noeviction")
    for key, (command, header) in enumerate(headers.items()):
        same(command, call(command, key, 1, header), b"OK")


def test_kill():
    """With appendfsync always, a key that was answered as new is there after a crash."""
    server = Server("killed", "--appendonly", "yes", "--appendfsync", "always")
    answered = 0
    for item in range(COUNT):
        same("new", server.call("BF.ADD", f"k{item % 7}", item) in (0, 1), True)
        answered = item + 1
    server.call.socket.sendall(b"".join(b"*3\r\n$6\r\nBF.ADD\r\n$2\r\nk0\r\n$6\r\n%06d\r\n" % i for i in range(200000, 205000)))
    time.sleep(0.05)
    server.kill()
    late = 0
    try:
        while True:
            server.call.reply()
            late += 1
    except (OSError, ConnectionError, ValueError):
        pass
    server.start()
    for item in range(answered):
        same(f"item {item}", server.call("BF.EXISTS", f"k{item % 7}", item), 1)
    if late:
        same("late", set(server.call("BF.MEXISTS", "k0", *range(200000, 200000 + late))), {1})
    server.kill()


def test_refused_arguments():
    refused("twice", "a module of the name bf is loaded already", "--loadmodule", MODULE, "--loadmodule", MODULE)
    refused("rate", "tamis: bf-error-rate 1: Value for `bf-error-rate` must be in the range (0.000000, 1.000000)", "--loadmodule", MODULE, "bf-error-rate", "1")
    refused("unknown", "tamis: word: unknown argument", "--loadmodule", MODULE, "word", "1")
    refused("range", "tamis: cf-bucket-size 256: Value for `cf-bucket-size` must be in the range [1, 255]", "--loadmodule", MODULE, "cf-bucket-size", "256")
    refused("buckets", "tamis: cf-initial-size: less than two buckets", "--loadmodule", MODULE, "cf-initial-size", "10",
            "cf-bucket-size", "6")
    refused("lonely", "tamis: bf-initial-size: its value is missing", "--loadmodule", MODULE, "bf-initial-size")


def test_refused_memory():
    """The server gives no memory: to make a filter, to let one grow. What was there stays, and the AOF has the same."""
    server = Server("narrow", "--appendonly", "yes", memory=1 << 30)
    for protocol in (2, 3):
        call = Client(server.path, protocol)
        no_memory, full = Error("ERR Insufficient memory to create filter"), -1 if protocol == 2 else False
        for command in ("BF.RESERVE k 0.000000001 1073741824", "BF.INSERT k ERROR 0.000000001 CAPACITY 1073741824 ITEMS a",
                        "CF.RESERVE k 1073741824", "CF.INSERT k CAPACITY 1073741824 ITEMS a"):
            same(command, call(*command.split()), no_memory)
        same("no key", call("EXISTS", "k"), 0)
        call("BF.RESERVE", "b", 1e-300, 2048, "EXPANSION", 32768)
        call("BF.MADD", "b", *range(2047))
        same("card", call("BF.CARD", "b"), 2047)
        problem = Error("ERR problem inserting into filter")
        same("grow", call("BF.MADD", "b", 1, 2047, "x", 2, "y", 1), [0, 1, problem, 0, problem, 0])
        same("grow", call("BF.ADD", "b", "x"), problem)
        same("kept", set(call("BF.MEXISTS", "b", *range(2048))), {1})
        call("CF.RESERVE", "c", 65536, "EXPANSION", 32768, "MAXITERATIONS", 1)
        same("grow", call("CF.INSERT", "c", "ITEMS", *"aaaaab"), [1, 1, 1, 1, full, 1])
        same("grow", call("CF.ADD", "c", "a"), Error("ERR Insufficient memory"))
        same("grow", call("CF.INSERTNX", "c", "ITEMS", "a", "b", "d"), [0, 0, 1])
        same("count", call("CF.COUNT", "c", "a"), 4)
        before = server.digests()
        server.kill()
        server.start()
        same("from the AOF", server.digests(), before)
        server.call("FLUSHALL")
    server.kill()


def main():
    server = Server("plain")
    run(module_replies.TESTS + module_damage.TESTS +
        (test_growth, test_client, test_cuckoo_client, test_chunks, test_cuckoo_chunks, test_files, test_settings,
         test_memory_limit), server)
    server.kill()
    run(module_loading.TESTS + (test_replica_and_aof, test_kill, test_config_file, test_refused_arguments, test_refused_memory))


if __name__ == "__main__":
    try:
        main()
    finally:
        end_servers()
