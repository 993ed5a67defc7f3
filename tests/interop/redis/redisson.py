#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Filters of Redisson in a Redis, written from its Java source and the definition of HighwayHash
(../../format/tamis_hashes.py): redisson.py SOCKET, see redisson.bash.
"""
import math
import pathlib
import sys

import redis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "format"))
import tamis_hashes as hashes  # noqa: E402

INIT = """
if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hset', KEYS[1], 'size', ARGV[1])
redis.call('hset', KEYS[1], 'hashIterations', ARGV[2])
redis.call('hset', KEYS[1], 'expectedInsertions', ARGV[3])
redis.call('hset', KEYS[1], 'falseProbability', ARGV[4])
return 1
"""
# ARGV: size, hashIterations, then the bits of one key. Returns 1 if all of them were set.
ADD_OR_QUERY = """
local size = redis.call('hget', KEYS[1], 'size')
local iterations = redis.call('hget', KEYS[1], 'hashIterations')
assert(size == ARGV[1] and iterations == ARGV[2], 'Bloom filter config has been changed')
local had = 1
for i = 3, #ARGV do
    local bit
    if VERB == 'add' then bit = redis.call('setbit', KEYS[2], ARGV[i], 1)
    else bit = redis.call('getbit', KEYS[2], ARGV[i]) end
    if bit == 0 then had = 0 end
end
return had
"""


def indexes(key, size, iterations):
    first, second = hashes.redisson(key)
    h, found = first, []
    for i in range(iterations):
        found.append((h & 2**63 - 1) % size)
        h = h + (first if i % 2 else second) & 2**64 - 1
    return found


def answer(server, script, name, verb, words):
    """The answers to one request."""
    config = name + ":config" if "{" in name else "{" + name + "}:config"
    if verb == "init":
        n, p = int(words[0]), float(words[1])
        size = int(-n * math.log(p) / (math.log(2) * math.log(2)))
        iterations = max(1, math.floor(size / n * math.log(2) + 0.5))
        return [server.eval(INIT, 1, config, size, iterations, n, repr(p))]
    if verb == "delete":
        return [int(server.delete(name, config) == 2)]
    size, iterations = (int(server.hget(config, field)) for field in ("size", "hashIterations"))
    keys = [bytes.fromhex(sys.stdin.readline().strip()) for _ in range(int(words[0]))]
    return [script[verb]([config, name], [size, iterations] + indexes(key, size, iterations)) for key in keys]


def main():
    server = redis.Redis(unix_socket_path=sys.argv[1])
    script = {verb: server.register_script(ADD_OR_QUERY.replace("VERB", repr(verb))) for verb in ("add", "ask")}
    while request := sys.stdin.readline():
        name, verb, *words = request.split()
        print("".join(f"{reply}\n" for reply in answer(server, script, name, verb, words)), end="", flush=True)


main()
