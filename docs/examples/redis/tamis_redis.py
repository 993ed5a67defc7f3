# SPDX-License-Identifier: BSD-2-Clause
"""A filter in a Redis, layout `tamis` of docs/REDIS-LAYOUT.md (Debian: python3-redis, python3-xxhash).

    seen = TamisRedis(redis.Redis("localhost", 6379), "seen")
    seen.add([b"alice", b"bob"])          # [True, True]: fresh, that is, certainly not there before
    seen.contains([b"alice", b"carol"])   # [True, False]: absent for certain

A call is one round trip: give some hundred keys at once. One that raises may be repeated; an add that is repeated can
find its own bits, and then answers False though nobody else added the key."""
import os

import xxhash

M64 = (1 << 64) - 1


class TamisRedis:
    def __init__(self, server, name, ttl_ms=None):
        self.server, self.config, self.ttl_ms = server, config_of(name), ttl_ms
        self.plan, state = server.hmget(self.config, "plan", "state")
        if self.plan is None:
            raise LookupError(f"{name}: there is no such filter")
        said = dict(word.split("=", 1) for word in self.plan.decode().split(" ") if "=" in word)
        self.scheme, self.seed, self.generation = said["scheme"], int(said["seed"]), said["generation"]
        self.blocks, rest = divmod(int(said["bits"]), 512)
        self.probes, self.partition = int(said["probes"]), int(said["partition"])
        if (said["layout"], said["kind"], rest) != ("1", "blocked", 0) or self.scheme not in ("xxh3", "guava64") or \
                not (self.blocks and 1 <= self.probes <= 255 and 1 <= self.partition < 1 << 23):
            raise ValueError(f"{name}: this client cannot read it: {self.plan}")
        self.keys = [self.config[:-1] + b":%s:%d}:bits" % (self.generation.encode(), i)
                     for i in range(-(-self.blocks // self.partition))]
        if state != f"ready {self.generation}".encode():  # its maker stopped: go on in his place
            for i in range(len(self.keys)):
                server.setrange(self.keys[i], self.end(i), self.footer(i))
            server.hset(self.config, "state", f"ready {self.generation}")

    def end(self, i):  # bytes of partition i before its footer
        return min(self.partition, self.blocks - i * self.partition) * 64

    def footer(self, i):
        return f"tamis-footer 1 {self.generation} {i}".encode().ljust(64, b"\0")

    def place(self, key):  # partition, block in it, positions in the block
        if self.scheme == "xxh3":
            y, x = divmod(xxhash.xxh3_128_intdigest(key, self.seed), 1 << 64)
        else:
            import murmur3  # beside this file
            x, y = murmur3.digest(key)
        at, words = [], 0
        for j in range(self.probes):
            if j % 7 == 0:
                u = x + j // 7 * 0x9E3779B97F4A7C15 & M64
                v = (u ^ u >> 32) * 0xFF51AFD7ED558CCD & M64
                words = v ^ v >> 32
            at.append(words >> 55 - j % 7 * 9 & 511)
        return *divmod(y * self.blocks >> 64, self.partition), at

    def run(self, places, command, renew):
        batch, touched = self.server.pipeline(transaction=False), sorted({place[0] for place in places})
        for place in places:
            command(batch, *place)
        for i in touched:
            batch.getrange(self.keys[i], self.end(i), self.end(i) + 63)
        batch.hmget(self.config, "plan", "next")
        for key in [self.config, *self.keys] if renew and self.ttl_ms else ():
            batch.pexpire(key, self.ttl_ms)
        replies = batch.execute()
        if (now := replies[len(places) + len(touched)])[0] != self.plan or renew and now[1]:
            raise LookupError("the filter was " + ("dropped" if now[0] is None else "replaced, or is being resized"))
        for i, footer in zip(touched, replies[len(places):]):
            if footer != self.footer(i):
                raise LookupError(f"the filter is damaged: partition {i} is gone or cut short")
        return replies[:len(places)]

    def add(self, keys):
        def command(batch, i, block, at):
            batch.execute_command("BITFIELD", self.keys[i], *(
                word for p in at for word in ("SET", "u1", block * 512 + p, 1)))
        return [0 in old for old in self.run([self.place(key) for key in keys], command, True)]

    def contains(self, keys):
        def command(batch, i, block, at):
            batch.getrange(self.keys[i], block * 64, block * 64 + 63)
        places = [self.place(key) for key in keys]
        return [all(bits[p >> 3] & 0x80 >> (p & 7) for p in at)
                for bits, (_, _, at) in zip(self.run(places, command, False), places)]


def config_of(name):
    if not 1 <= len(name.encode()) <= 512 or "{" in name or "}" in name:
        raise ValueError(f"{name!r}: a name has 1 to 512 bytes and no brace")
    return b"tamis:{%s}" % name.encode()


def make(server, name, bits, probes, expect, fpr, seed=0, partition=1048575, scheme="xxh3"):
    """Makes it, unless it is there; then what is there stands."""
    server.hsetnx(config_of(name), "plan", f"layout=1 kind=blocked scheme={scheme} seed={seed} bits={bits} "
                  f"probes={probes} partition={partition} expect={expect} fpr={fpr} generation={os.urandom(8).hex()}")
    return TamisRedis(server, name)
