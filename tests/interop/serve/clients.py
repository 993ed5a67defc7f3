# SPDX-License-Identifier: BSD-2-Clause
"""clients.py PORT PROTOCOL [VALUE]: the demo of tamis serve by redis-py. VALUE replaces the value of a row that is expected."""
import inspect
import sys

import redis


def same(got, expected):
    if got != expected:
        sys.exit(f"{got!r} instead of {expected!r}")


def main():
    port, protocol = int(sys.argv[1]), int(sys.argv[2])
    value = sys.argv[3].encode() if len(sys.argv) > 3 else b"item number 7"
    options = {"protocol": protocol} if "protocol" in inspect.signature(redis.Connection.__init__).parameters else {}
    client = redis.Redis(port=port, client_name="test", **options)
    same(client.ping(), True)
    same(client.get("item:7"), value)
    same(client.get("item:1001"), None)
    same(client.get(b"item:\xff\x00\r\n"), None)
    same(client.mget("item:1", "item:x", "item:1000"), [b"item number 1", None, b"item number 1000"])
    same(client.exists("item:1", "item:2", "item:0"), 2)
    same(client.strlen("item:7"), 13)
    same((client.ttl("item:1"), client.ttl("item:0")), (-1, -2))
    same(client.client_getname() in ("test", b"test"), True)
    pipeline = client.pipeline(transaction=False)
    for i in range(5000):
        pipeline.get(f"item:{i}")
    for i, got in enumerate(pipeline.execute()):
        same(got, b"item number %d" % i if 1 <= i <= 1000 else None)
    # A transaction, the default of redis-py.
    pipeline = client.pipeline()
    for i in range(3000):
        pipeline.get(f"item:{i}")
    pipeline.delete("item:1", "item:2")
    got = pipeline.execute()
    same(got[:3000], [b"item number %d" % i if 1 <= i <= 1000 else None for i in range(3000)])
    same(got[3000:], [2])
    pipeline.get("user:1").get("item:3")
    failed, row = pipeline.execute(raise_on_error=False)
    same((type(failed), row), (redis.ResponseError, b"item number 3"))
    pipeline.execute_command("FOO").get("item:3")
    try:
        pipeline.execute()
        sys.exit("an unknown command in a transaction is not refused")
    except (redis.ResponseError, redis.exceptions.ExecAbortError):
        pass
    try:
        pipeline.watch("item:3")
        sys.exit("WATCH is not refused")
    except redis.ResponseError:
        pipeline.reset()
    same(client.get("item:3"), b"item number 3")
    # A new row: in the filter after GUARD.ADD, and still without a value, since nobody has written it.
    with client.client() as writer:
        same(writer.execute_command("GUARD.ADD", "item:5000") in (b"OK", "OK", True), True)
        same(writer.get("item:5000"), None)
        same(writer.delete("item:5000"), 1)
    for command in (("GET", "user:1"), ("SET", "item:1", "x"), ("GET",), ("SELECT", "1")):
        try:
            client.execute_command(*command)
            sys.exit(f"{command} is not refused")
        except redis.ResponseError:
            pass
    same(client.info()["redis_mode"], "standalone")
    same(client.command_count(), len(client.command()))
    same(client.command()["get"]["arity"], 2)
    same(client.get("item:7"), value)


main()
