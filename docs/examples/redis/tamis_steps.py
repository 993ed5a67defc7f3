# SPDX-License-Identifier: BSD-2-Clause
"""What changes a filter as a whole (docs/REDIS-LAYOUT.md, Steps): make() makes one, and expiry is renewed, for tamis_redis.py
beside this file.

    import tamis_steps
    seen = tamis_steps.make(redis.Redis("localhost", 6379), "seen", bits=19456, probes=2, expect=1000, fpr=0.01)

A call of make() that raises leaves no filter, or a whole one. It may be repeated."""
import os
import time

from tamis_redis import TamisRedis, config_of, keys_of, words_of

STEP = """local at = 2
local function command()
    local last = at + tonumber(ARGV[at])
    local words = {unpack(ARGV, at + 1, last)}
    at = last + 1
    return redis.call(unpack(words))
end
for i = 1, tonumber(ARGV[1]) do
    if tostring(command() or '') ~= ARGV[at] then return 0 end
    at = at + 1
end
while at <= #ARGV do command() end
return 1"""


def step(server, keys, guards, *writes):
    """Carries out the writes if each guard, a command, answers the text expected. Returns 1, or 0: nothing was done."""
    words = [len(guards)]
    for command, expected in guards:
        words += [len(command), *command, expected]
    for command in writes:
        words += [len(command), *command]
    return server.eval(STEP, len(keys), *keys, *words)


def renew(filter_, batch):
    """Gives all Redis keys of the filter its ttl_ms. The partitions come last: they outlive the hash."""
    config, copy, ms = filter_.config, filter_.config + b":plan", filter_.ttl_ms
    step(batch, [config, copy], [(("HGET", config, "plan"), filter_.plan)], ("PEXPIRE", copy, ms), ("PEXPIRE", config, ms))
    for i, key in enumerate(filter_.keys):
        end = filter_.end(i)
        step(batch, [key], [(("GETRANGE", key, end, end + 63), filter_.footer(i))], ("PEXPIRE", key, ms))


def make(server, name, bits, probes, expect, fpr, seed=0, partition=1048575, scheme="xxh3"):
    """Makes an empty filter, unless it exists. Returns the filter that exists then."""
    config = config_of(name)
    plan = (f"layout=2 kind=blocked scheme={scheme} seed={seed} bits={bits} probes={probes} partition={partition} "
            f"expect={expect} fpr={fpr} generation={os.urandom(8).hex()}").encode()
    for _ in range(2400):
        token = os.urandom(8).hex()  # of this SET alone: if it arrives late, it locks for nobody
        if server.set(config + b":push", token, nx=True, px=60000):
            break
        if server.hexists(config, "plan"):
            return TamisRedis(server, name)
        time.sleep(0.05)
    else:
        raise LookupError(f"{name}: somebody makes, replaces or drops it; try again")
    keys = keys_of(config, words_of(plan))
    try:
        make_locked(server, name, token, plan, keys)
    except Exception:
        release(server, config, token)
        if server.hget(config, "plan") != plan:  # nothing can switch to it once the lock is released
            server.delete(*keys)
            step(server, [config], [(("HGET", config, "pushing"), plan)], ("HDEL", config, "pushing"))
        raise
    release(server, config, token)
    return TamisRedis(server, name)


def release(server, config, token):
    lock = config + b":push"
    step(server, [lock], [(("GET", lock), token)], ("DEL", lock))


def make_locked(server, name, token, plan, keys):
    config = config_of(name)
    lock, copy, said = config + b":push", config + b":plan", words_of(plan)
    there, pushing, before = server.hmget(config, "plan", "pushing", "before")
    if there is not None:
        return
    if server.exists(copy):
        raise LookupError(f"{name}: its hash was deleted or evicted: drop it by tamis, and add all keys again")
    held = [(("GET", lock), token), (("HGET", config, "plan"), "")]

    def change(guards, *writes):
        if not step(server, [lock, config, copy], guards, *writes):
            raise LookupError(f"{name}: held up for longer than its lock lasts; make it again")

    change(held, ("HDEL", config, "next", "sending"))  # so the lock was ours when the hash was read
    for key in keys_of(config, words_of(pushing)) if pushing else ():  # a maker was stopped
        server.delete(key)
    for key in keys_of(config, words_of(before)) if before else ():  # a drop was stopped
        server.pexpire(key, 60000)
    change([*held, (("HGET", config, "pushing"), pushing or "")], ("HSET", config, "pushing", plan))
    blocks, each = int(said["bits"]) // 512, int(said["partition"])
    parts = []  # key, its end, mark, footer
    for i, key in enumerate(keys):
        texts = [f"tamis-{what} {said['generation']} {i}" for what in ("filling 2", "footer 1")]
        parts.append((key, min(each, blocks - i * each) * 64, (texts[0] + " 1").encode().ljust(64, b"\0"),
                      texts[1].encode().ljust(64, b"\0")))
    for key, end, mark, _ in parts:
        step(server, [key], [(("EXISTS", key), 0)], ("SETRANGE", key, end, mark), ("PEXPIRE", key, 3600000))
        change(held, ("PEXPIRE", lock, 60000))
    for key, end, mark, footer in parts:
        step(server, [key], [(("GETRANGE", key, end, end + 63), mark)], ("SETRANGE", key, end, footer), ("PERSIST", key))
    if any(server.getrange(key, end, end + 63) != footer for key, end, _, footer in parts):
        raise LookupError(f"{name}: a partition was lost; see that the server has the memory, and make it again")
    change([*held, (("HGET", config, "pushing"), plan)], ("HSET", config, "plan", plan), ("SET", copy, plan),
           ("PERSIST", config), ("HDEL", config, "state", "pushing", "next", "sending"))
