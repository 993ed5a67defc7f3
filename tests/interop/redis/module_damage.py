# SPDX-License-Identifier: BSD-2-Clause
"""Payloads and chunks that crash other loaders, or make them read or write outside of their memory."""
import os
import random
import subprocess

from module_server import (COUNT, LARGE, SEED, Error, Server, chunks_of, crc64, is_refused, is_true, payload, same,
                           used_memory)


# DUMP of `BF.RESERVE k 0.01 3 EXPANSION 0`, `BF.ADD k a` by RedisBloom.
GOLDEN = bytes.fromhex("07" "813016e5a289bef804" "0201" "0201" "020d" "0200" "0203" "047b14ae47e17a843f" "0207"
                       "0488168ac58c2b2340" "024040" "0200" "0508" "0044008800100120" "0201" "00")


def test_dump_of_redisbloom(server):
    call = server.call
    same("check of the checksum", crc64(b"123456789"), 0xe9c6d914c4b8d9ca)
    same("restore", call("RESTORE", "golden", 0, payload(GOLDEN)), b"OK")
    same("answers", call("BF.MEXISTS", "golden", "a", "b"), [1, 0])
    call("BF.RESERVE", "ours", 0.01, 3, "EXPANSION", 0)
    call("BF.ADD", "ours", "a")
    for key in ("golden", "ours"):
        same("written back", call("DUMP", key), payload(GOLDEN))
    call("BF.RESERVE", "nonscaling", 0.01, 3, "NONSCALING")
    call("BF.ADD", "nonscaling", "a")
    expansion = payload(GOLDEN.replace(bytes.fromhex("020d0200"), bytes.fromhex("020d0202")))
    same("the expansion is stored", call("DUMP", "nonscaling"), expansion)


def test_hostile_cuckoo_dumps(server):
    call = server.call
    call("CF.RESERVE", "source", 8)
    call("CF.INSERT", "source", "ITEMS", "a", "b")
    dump = call("DUMP", "source")[:-10]
    fields = bytes.fromhex("0201" "0204" "0202" "0200" "0202" "0214" "0201" "0204" "0508")
    is_true(f"fields: {dump.hex()}", dump[10:-9] == fields and len(dump[-9:]) == 9)
    # Zeros among them: RedisBloom divided by the number of buckets and by the bucket size.
    changed = {0: "no table", 2: "buckets", 4: "items", 8: "bucket size", 10: "iterations", 14: "buckets of the table"}
    for offset, what in changed.items():
        for number in ("00", "03", "81ffffffffffffffff"):
            data = dump[:10 + offset] + bytes.fromhex("02" + number) + dump[12 + offset:]
            got = call("RESTORE", "hostile", 0, payload(data))
            if not (number == "03" and what in ("items", "iterations")):
                if number == "00" and what == "items":
                    continue
                is_true(f"{what} {number}: {got!r}", isinstance(got, Error) and "Bad data format" in got.args[0])
            call("DEL", "hostile")
    header = chunks_of(call, "source", "CF.SCANDUMP")[0][1]
    random.seed(SEED)
    for i in range(COUNT):  # whatever is accepted works
        data = bytearray(dump if i % 2 else header)
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(10 if i % 2 else 0, len(data))] = random.randrange(256)
        if i % 2:
            call("RESTORE", "random", 0, payload(bytes(data)))
        else:
            call("CF.LOADCHUNK", "random", 1, bytes(data))
            call("CF.LOADCHUNK", "random", random.choice((9, 17, 200)), random.randbytes(random.choice((8, 9, 16))))
        for command in ("CF.INSERT random NOCREATE ITEMS 1 2 3 4 5 6 7 8 9", "CF.DEL random 1", "CF.COMPACT random",
                        "CF.DEBUG random", "CF.SCANDUMP random 1"):
            call(*command.split())
        call("DEL", "random")
    same("alive", call("PING"), b"PONG")


def test_hostile_dumps(server):
    """Payloads that crash other loaders, or make them read or write outside of their memory."""
    call = server.call
    prefix, fields = GOLDEN[:10], GOLDEN[10:]
    nan, infinity = "04000000000000f87f", "04000000000000f07f"
    rate = "047b14ae47e17a843f"
    changed = {
        "RESTORE with more bits than the buffer": fields.replace(bytes.fromhex("024040"), bytes.fromhex("028100000000ffffffff")),
        "RESTORE of an empty chain": bytes.fromhex("0200" "0200" "020d" "0200" "00"),
        "RESTORE of 2^64-1 sub-filters": bytes.fromhex("0201" "0281ffffffffffffffff") + fields[4:],
        "RESTORE of a rate NaN": fields.replace(bytes.fromhex(rate), bytes.fromhex(nan)),
        "RESTORE of a rate infinite": fields.replace(bytes.fromhex(rate), bytes.fromhex(infinity)),
        "RESTORE of 2^31 hashes": fields.replace(bytes.fromhex("0207"), bytes.fromhex("028080000000")),
        "no hashes": fields.replace(bytes.fromhex("0207"), bytes.fromhex("0200")),
        "32-bit hashes": fields.replace(bytes.fromhex("020d"), bytes.fromhex("0209")),
        "no buffer": fields.replace(bytes.fromhex("05080044008800100120"), bytes.fromhex("0500")),
        "huge buffer": fields.replace(bytes.fromhex("0508"), bytes.fromhex("05810fffffffffffffff")),
        "items": bytes.fromhex("0202") + fields[2:],
    }
    for what, data in changed.items():
        is_true(what, data != fields)
        got = call("RESTORE", "hostile", 0, payload(prefix + data))
        is_true(f"{what}: {got!r}", isinstance(got, Error) and "Bad data format" in got.args[0])
    random.seed(SEED)
    for _ in range(COUNT):  # whatever is accepted works
        data = bytearray(GOLDEN)
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(10, len(data))] = random.randrange(256)
        if isinstance(call("RESTORE", "random", 0, payload(bytes(data[:random.choice((len(data), 30))])), "REPLACE"), Error):
            continue
        call("BF.MADD", "random", *range(10))
        call("BF.DEBUG", "random")
        call("DEL", "random")
    call("BF.RESERVE", "source2", 0.01, 10)
    call("BF.MADD", "source2", *range(100))
    header = chunks_of(call, "source2")[0][1]
    for _ in range(COUNT):
        data = bytearray(header)
        data[random.randrange(len(data))] = random.randrange(256)
        call("BF.LOADCHUNK", "random", 1, bytes(data))
        call("BF.LOADCHUNK", "random", random.randrange(2, 400), random.randbytes(random.randrange(300)))
        call("BF.ADD", "random", 1)
        call("DEL", "random")
    same("alive", call("PING"), b"PONG")


# ---- bugs of other loaders, by their names ----------------------------------------------------------------

def reg_cve_2024_25115_chunk_overflow(server):
    """CF.LOADCHUNK with a position from which an offset wraps around wrote outside of the table."""
    call = server.call
    call("CF.RESERVE", "c", 64)
    call("CF.INSERT", "c", "ITEMS", *range(40))
    call("BF.MADD", "b", *range(40))
    before = server.digests()
    numbers = [sign * (2 ** power + offset) for power in (0, 6, 7, 31, 32, 62, 63) for offset in (-2, -1, 0, 1, 2)
               for sign in (-1, 1)]
    for number in numbers:
        for size in (0, 1, 63, 64, 65, 4096):
            for command, key in (("CF.LOADCHUNK", "c"), ("BF.LOADCHUNK", "b")):
                got = call(command, key, number, size * b"\xff")
                if size:  # no bytes are equal to those that are there
                    is_refused(f"{command} {number}, {size} bytes", got)
        call("CF.SCANDUMP", "c", number)
        call("BF.SCANDUMP", "b", number)
    same("unchanged", server.digests(), before)


def reg_cve_2024_25116_reserve_assert(server):
    """CF.RESERVE with extreme sizes ended the server. So did a growth beyond all sizes."""
    call = server.call
    extremes = (0, 1, 2, 255, 256, 32768, 65535, 65536, 2 ** 31, 2 ** 32, 2 ** 62, 2 ** 63 - 1, -1, -2 ** 63)
    for capacity in (2, 1024, 2 ** 62, 2 ** 63 - 1):
        for option in ("BUCKETSIZE", "MAXITERATIONS", "EXPANSION"):
            for number in extremes:
                call("CF.RESERVE", "k", capacity, option, number)
                call("CF.INSERT", "k", "ITEMS", *range(10))
                call("DEL", "k")
    call("CF.RESERVE", "k", 2, "BUCKETSIZE", 1, "MAXITERATIONS", 1, "EXPANSION", 32768)
    for _ in range(5):  # a third table would have 2^31 buckets or more
        call("CF.INSERT", "k", "ITEMS", *(20 * ["a"]))
    is_true("tables", call("CF.INFO", "k")[5] <= 3)
    same("alive", call("PING"), b"PONG")


def reg_cve_2024_55656_and_53993_cms(server):
    """CMS.INITBYDIM and CMS.INITBYPROB overflowed; the module has no CMS commands."""
    for name in ("CMS.INITBYDIM", "CMS.INITBYPROB", "TOPK.RESERVE", "TDIGEST.CREATE"):
        is_true(name, "unknown command" in server.call(name, "k", 1, 1).args[0])


def reg_cve_2026_21864_short_payloads(server):
    """A module that leaves errors of reading to the server ends it: payloads of each length, with a right checksum."""
    call = server.call
    call("BF.RESERVE", "b", 0.01, 10)
    call("BF.MADD", "b", *range(50))
    call("CF.RESERVE", "c", 8)
    call("CF.INSERT", "c", "ITEMS", *range(20))
    for source, kind in (("b", "BF"), ("c", "CF")):
        dump = call("DUMP", source)[:-10]
        for size in range(10, len(dump) - 2):  # the version that follows could stand for two bytes
            is_refused(f"{kind}: {size} bytes", call("RESTORE", "short", 0, payload(dump[:size])))
        for position, data in chunks_of(call, source, kind + ".SCANDUMP")[:-1]:
            call(kind + ".LOADCHUNK", "half", position, data)
        dump = call("DUMP", "half")[:-10]  # a filter of which chunks are missing
        for size in range(10, len(dump) - 2):
            is_refused(f"{kind}: {size} bytes of an incomplete one", call("RESTORE", "short", 0, payload(dump[:size])))
        call("DEL", "half")
    same("alive", call("PING"), b"PONG")


def reg_cve_2026_21864_damaged_file(_):
    """A server does not start with a damaged RDB file, and says why; no signal ends it."""
    server = Server("damaged", "--rdbchecksum", "no")
    server.call("RESTORE", "golden", 0, payload(GOLDEN))
    server.call("SAVE")
    server.kill()
    path = os.path.join(server.directory, "dump.rdb")
    with open(path, "rb") as file:
        data = file.read()
    rate = bytes.fromhex("047b14ae47e17a843f")
    is_true("the file has the filter", data.count(rate) == 1)
    for damaged in (data.replace(rate, bytes.fromhex("04000000000000f87f")), data[:data.index(rate) + 4]):
        with open(path, "wb") as file:
            file.write(damaged)
        status = subprocess.run(server.command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                timeout=60).returncode
        is_true(f"no signal ends it: {status}", status >= 0)
    is_true("the log names the field", "redisbloom: the error rate is not that of a filter" in server.log())


def reg_dragonfly_8104_header_alone(server):
    """A header without chunks is saved, so that the snapshot can be loaded."""
    call = server.call
    call("BF.MADD", "b", *range(500))
    call("CF.RESERVE", "c", 8)
    call("CF.INSERT", "c", "ITEMS", *range(50))
    call("BF.LOADCHUNK", "b2", *chunks_of(call, "b")[0])
    call("CF.LOADCHUNK", "c2", *chunks_of(call, "c", "CF.SCANDUMP")[0])
    before = server.digests()
    same("reload", call("DEBUG", "RELOAD"), b"OK")
    same("after the reload", server.digests(), before)
    for key, kind in (("b", "BF"), ("c", "CF")):
        for chunk in chunks_of(call, key, kind + ".SCANDUMP")[1:]:
            same("chunk", call(kind + ".LOADCHUNK", key + "2", *chunk), b"OK")
        same("dump", call("DUMP", key + "2"), call("DUMP", key))


def reg_guava_8463_few_bytes_ask_for_much(server):
    """A header promises any size, and costs no memory before its chunks come."""
    call = server.call
    call("BF.RESERVE", "b", 0.001, 10000000)
    call("CF.RESERVE", "c", 1 << 29, "EXPANSION", 2)
    call("CF.ADD", "c", 1)
    headers = {"BF": chunks_of(call, "b")[0][1], "CF": call("CF.SCANDUMP", "c", 0)[1]}
    call("DEL", "b", "c")
    before = used_memory(call)
    for i in range(30):
        same("BF", call("BF.LOADCHUNK", f"b{i}", 1, headers["BF"]), b"OK")
        same("CF", call("CF.LOADCHUNK", f"c{i}", 1, headers["CF"]), b"OK")
    is_true("memory", used_memory(call) - before < LARGE // 10)
    tables = bytearray(headers["CF"])
    tables[24:32] = (2 ** 16).to_bytes(8, "little")
    tables[36:38] = (1).to_bytes(2, "little")
    same("65536 tables", call("CF.LOADCHUNK", "tables", 1, bytes(tables)), b"OK")
    is_true("memory", used_memory(call) - before < LARGE)


TESTS = (test_dump_of_redisbloom, test_hostile_dumps, test_hostile_cuckoo_dumps, reg_cve_2024_25115_chunk_overflow,
         reg_cve_2024_25116_reserve_assert, reg_cve_2024_55656_and_53993_cms, reg_cve_2026_21864_short_payloads,
         reg_cve_2026_21864_damaged_file, reg_dragonfly_8104_header_alone, reg_guava_8463_few_bytes_ask_for_much)
