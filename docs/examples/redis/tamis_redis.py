# SPDX-License-Identifier: BSD-2-Clause
"""A filter in a Redis, layout `tamis` of docs/REDIS-LAYOUT.md (Debian: python3-redis, python3-xxhash).

    seen = TamisRedis(redis.Redis("localhost", 6379), "seen")   # made by tamis, or by tamis_steps.py
    seen.add([b"alice", b"bob"])          # [True, True]: certainly absent before
    seen.contains([b"alice", b"carol"])   # [True, False]: absent for certain

A call is one round trip: give some hundred keys at once. One that raises may be repeated; an add that is repeated can
find its own bits, and then answers False though nobody else added the key."""
import xxhash

M64 = (1 << 64) - 1


class TamisRedis:
    def __init__(self, server, name, ttl_ms=None):
        self.server, self.config, self.ttl_ms = server, config_of(name), ttl_ms
        self.plan, state = server.hmget(self.config, "plan", "state")
        if self.plan is None:
            raise LookupError(f"{name}: there is no such filter")
        said = words_of(self.plan)
        self.scheme, self.seed, self.generation = said["scheme"], int(said["seed"]), said["generation"]
        self.blocks, rest = divmod(int(said["bits"]), 512)
        self.probes, self.partition = int(said["probes"]), int(said["partition"])
        largest = {"1": 8388607, "2": 8388604}.get(said["layout"], 0)  # blocks of a partition
        if (said["kind"], rest) != ("blocked", 0) or self.scheme not in ("xxh3", "guava64") or \
                not (self.blocks and 1 <= self.probes <= 255 and 1 <= self.partition <= largest):
            raise ValueError(f"{name}: this client cannot read it: {self.plan}")
        if said["layout"] == "1" and state != f"ready {self.generation}".encode():
            raise LookupError(f"{name}: of layout 1 and not ready: wait for its maker, or drop it and make it again")
        self.keys = keys_of(self.config, said)

    def end(self, i):  # bytes of partition i before its footer
        return min(self.partition, self.blocks - i * self.partition) * 64

    def footer(self, i):
        return f"tamis-footer 1 {self.generation} {i}".encode().ljust(64, b"\0")

    def locate(self, key):  # partition, block in it, positions in the block
        if self.scheme == "xxh3":
            y, x = divmod(xxhash.xxh3_128_intdigest(key, self.seed), 1 << 64)
        else:
            import murmur3  # beside this file
            x, y = murmur3.digest(key)
        positions, words = [], 0
        for j in range(self.probes):
            if j % 7 == 0:
                u = x + j // 7 * 0x9E3779B97F4A7C15 & M64
                v = (u ^ u >> 32) * 0xFF51AFD7ED558CCD & M64
                words = v ^ v >> 32
            positions.append(words >> 55 - j % 7 * 9 & 511)
        return *divmod(y * self.blocks >> 64, self.partition), positions

    def run(self, locations, command, adds):
        batch, touched = self.server.pipeline(transaction=False), sorted({location[0] for location in locations})
        for location in locations:
            command(batch, *location)
        for i in touched:
            batch.getrange(self.keys[i], self.end(i), self.end(i) + 63)
        batch.hmget(self.config, "plan", "next")
        if adds and self.ttl_ms:
            import tamis_steps  # beside this file
            tamis_steps.renew(self, batch)
        replies = batch.execute()
        if (now := replies[len(locations) + len(touched)])[0] != self.plan or adds and now[1]:
            raise LookupError("the filter was " + ("dropped" if now[0] is None else "replaced, or is being resized"))
        for i, footer in zip(touched, replies[len(locations):]):
            if footer != self.footer(i):
                raise LookupError(f"the filter is damaged: partition {i} is gone or cut short")
        return replies[:len(locations)]

    def add(self, keys):
        def command(batch, i, block, positions):
            batch.execute_command("BITFIELD", self.keys[i], *(
                word for p in positions for word in ("SET", "u1", block * 512 + p, 1)))
        return [0 in old for old in self.run([self.locate(key) for key in keys], command, True)]

    def contains(self, keys):
        def command(batch, i, block, positions):
            batch.getrange(self.keys[i], block * 64, block * 64 + 63)
        locations = [self.locate(key) for key in keys]
        return [all(bits[p >> 3] & 0x80 >> (p & 7) for p in positions)
                for bits, (_, _, positions) in zip(self.run(locations, command, False), locations)]


def config_of(name):
    if not 1 <= len(name.encode()) <= 512 or "{" in name or "}" in name:
        raise ValueError(f"{name!r}: a name has 1 to 512 bytes and no brace")
    return b"tamis:{%s}" % name.encode()


def words_of(plan):
    return dict(word.split("=", 1) for word in plan.decode().split(" ") if "=" in word)


def keys_of(config, said):  # the partitions of a plan
    count = -(-int(said["bits"]) // 512 // int(said["partition"]))
    return [config[:-1] + b":%s:%d}:bits" % (said["generation"].encode(), i) for i in range(count)]
