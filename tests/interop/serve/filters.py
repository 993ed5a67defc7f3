# SPDX-License-Identifier: BSD-2-Clause
"""filters.py CLIENTS|KILL|FULL PORT ...: named filters of tamis serve by redis-py.

clients PORT PROTOCOL     the commands, typed by bf() if redis-py has it, and 4 clients that add the same keys
kill PORT PID ORACLE      adds until PID is killed by SIGKILL. ORACLE keeps which keys were answered as new: each of
                          them must be there, and is never new again
verify PORT ORACLE        the same check, without a kill
full PORT ORACLE          adds until the disk is full; ORACLE as above
drain PORT PID            adds until PID ends after SIGTERM; prints the number of replies
"""
import inspect
import os
import random
import signal
import sys
import threading
import time

import redis

FILTER = "seen/by all"


def connect(port, protocol=2):
    options = {"protocol": protocol} if "protocol" in inspect.signature(redis.Connection.__init__).parameters else {}
    return redis.Redis(port=port, socket_timeout=30, **options)


def same(got, expected):
    if got != expected:
        sys.exit(f"{got!r} instead of {expected!r}")


def refused(call, *words):
    try:
        got = call()
    except redis.ResponseError as error:
        if all(word in str(error) for word in words):
            return
        sys.exit(f"error {error}, without {words}")
    sys.exit(f"{got!r}, and no error with {words}")


def check_commands(port, protocol):
    client = connect(port, protocol)
    name = f"typed {protocol}"
    if hasattr(client, "bf"):
        bf = client.bf()
        same((getattr(bf, "reserve", None) or bf.create)(name, 0.001, 1000), True)
        same([bool(bf.add(name, "a")), bool(bf.add(name, "a")), bool(bf.exists(name, "a"))], [True, False, True])
        same([bool(new) for new in bf.madd(name, "a", "b", "c", "b")], [False, True, True, False])
        same([bool(got) for got in bf.mexists(name, "a", "z", "c")], [True, False, True])
        info = bf.info(name)
        same((info.capacity, info.filterNum, info.insertedNum, info.expansionRate), (1000, 1, 3, 2))
        if hasattr(bf, "card"):
            same(bf.card(name), 3)
    else:
        print("not run: bf() of redis-py")
        same(client.execute_command("BF.RESERVE", name, 0.001, 1000), b"OK")
        same(bool(client.execute_command("BF.ADD", name, "a")), True)
        same(client.execute_command("BF.MADD", name, "b", "c"), [1, 1])
    same(client.execute_command("BF.CARD", name), 3)
    refused(lambda: client.execute_command("BF.RESERVE", name, 0.001, 1000), "item exists")
    refused(lambda: client.execute_command("BF.RESERVE", "x", "nan", 1000), "bad error rate")
    refused(lambda: client.execute_command("BF.RESERVE", "x", 1, 1000), "error rate must be in the range")
    refused(lambda: client.execute_command("BF.RESERVE", "x", 0.1, 0), "capacity must be in the range")
    refused(lambda: client.execute_command("BF.RESERVE", "x", 0.1, 9, "EXPANSION"), "no expansion")
    refused(lambda: client.execute_command("BF.RESERVE", "x", 0.1, 9, "NONSCALING", "EXPANSION", 2), "Nonscaling")
    refused(lambda: client.execute_command("BF.INFO", "x"), "not found")
    refused(lambda: client.execute_command("BF.ADD", name), "wrong number of arguments")
    refused(lambda: client.execute_command("BF.ADD", "/" * 86, "a"), "255 bytes")
    same(int(client.execute_command("BF.EXISTS", "x", "a")), 0)
    binary = b"\x00\r\n\xff" + bytes([48 + protocol])
    same([int(client.execute_command("BF.ADD", binary, binary)) for _ in range(2)], [1, 0])
    # Commands of one connection come in order, with others between them.
    pipeline = client.pipeline(transaction=False)
    for i in range(500):
        pipeline.execute_command("BF.EXISTS", f"order {protocol}", i)
        pipeline.execute_command("BF.ADD", f"order {protocol}", i)
        pipeline.ping()
        pipeline.execute_command("BF.EXISTS", f"order {protocol}", i)
        pipeline.execute_command("BF.ADD", f"order {protocol}", i)
    got = pipeline.execute()
    false_positives = sum(int(got[5 * i]) for i in range(500))
    if false_positives > 30:
        sys.exit(f"{false_positives} of 500 keys are there before they are added")
    for i in range(500):
        same((int(got[5 * i]) + int(got[5 * i + 1]), got[5 * i + 2], int(got[5 * i + 3]), int(got[5 * i + 4])),
             (1, True, 1, 0))


def check_race(port, protocol):
    """4 clients add the same keys: each key is new for exactly one of them."""
    new, keys = [], 3000

    def run(number):
        client, order = connect(port), list(range(keys))
        random.Random(number).shuffle(order)
        for first in range(0, keys, 50):
            part = order[first:first + 50]
            got = client.execute_command("BF.MADD", f"race {protocol}", *part)
            new.extend(key for key, is_new in zip(part, got) if is_new)

    client = connect(port)
    client.execute_command("BF.RESERVE", f"race {protocol}", 1e-9, keys)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(sorted(new), list(range(keys)))
    same(client.execute_command("BF.CARD", f"race {protocol}"), keys)


def read_oracle(path):
    if not os.path.exists(path):
        return set()
    with open(path, encoding="ascii") as file:
        return {int(line) for line in file}


def check_oracle(client, answered):
    keys = sorted(answered)
    for first in range(0, len(keys), 1000):
        part = keys[first:first + 1000]
        got = client.execute_command("BF.MEXISTS", FILTER, *part)
        missing = [key for key, is_there in zip(part, got) if not is_there]
        if missing:
            sys.exit(f"{len(missing)} keys were answered as new and are gone, as {missing[0]}")
        got = client.execute_command("BF.MADD", FILTER, *part)
        if any(got):
            sys.exit(f"{sum(got)} keys are new a second time")


def add_until(port, answered, failure, number):
    """Adds keys, new ones and those of former runs, until the connection or the command fails."""
    client, chance = connect(port), random.Random(number + len(answered))
    highest = max(answered, default=0)
    try:
        while not failure:
            keys = [chance.randrange(highest + 20000) for _ in range(chance.choice((1, 1, 20)))]
            if len(keys) == 1:
                got = [client.execute_command("BF.ADD", FILTER, keys[0])]
            else:
                got = client.execute_command("BF.MADD", FILTER, *keys)
            for key, is_new in zip(keys, got):
                if is_new and key in answered:
                    failure.append(f"key {key} is new a second time")
                elif is_new:
                    answered.add(key)
    except redis.ConnectionError:
        pass
    except redis.ResponseError as error:
        return str(error)
    return None


def signal_later(answered, seconds, process, number):
    """Sends a signal some seconds after the next key was answered as new."""
    before, limit = len(answered), time.monotonic() + 30
    while len(answered) == before and time.monotonic() < limit:
        time.sleep(0.01)
    time.sleep(seconds)
    os.kill(process, number)


def run_load(port, answered, stop):
    failure = []
    threads = [threading.Thread(target=add_until, args=(port, answered, failure, i)) for i in range(4)]
    for thread in threads:
        thread.start()
    stop()
    for thread in threads:
        thread.join()
    if failure:
        sys.exit("\n".join(failure))


def main():
    action, port = sys.argv[1], int(sys.argv[2])
    if action == "clients":
        check_commands(port, int(sys.argv[3]))
        check_race(port, int(sys.argv[3]))
        return
    if action == "drain":
        answered = set()
        run_load(port, answered, lambda: signal_later(answered, 0.5, int(sys.argv[3]), signal.SIGTERM))
        print(len(answered))
        return
    oracle = sys.argv[-1]
    answered = read_oracle(oracle)
    client = connect(port)
    if not answered:
        client.execute_command("BF.RESERVE", FILTER, 1e-9, 100)
    check_oracle(client, answered)
    before = len(answered)
    if action == "kill":
        run_load(port, answered, lambda: signal_later(answered, 0.3, int(sys.argv[3]), signal.SIGKILL))
    if action == "full":
        error = add_until(port, answered, [], 1)
        if not error or "no space left" not in error:
            sys.exit(f"a full disk has the error {error}")
        check_oracle_reads(client, answered)
    with open(oracle, "w", encoding="ascii") as file:
        file.writelines(f"{key}\n" for key in sorted(answered))
    if action != "verify" and len(answered) == before:
        sys.exit("no key was answered as new")


def check_oracle_reads(client, answered):
    """While the disk is full, a filter has an error or all of its keys."""
    for key in sorted(answered)[:200]:
        try:
            same(client.execute_command("BF.EXISTS", FILTER, key), 1)
        except redis.ResponseError:
            pass


main()
