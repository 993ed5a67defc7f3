#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A random run of operations for GuavaOps.java and guava_ops.c: script.py SEED OPERATIONS > SCRIPT

One operation a line, one answer a line from either side:

    create SLOT FUNNEL STRATEGY N P  a new filter in that slot; P "default" or the 64 bits of a double in hex
                                     -> ok BITS K | range (the slot keeps what it has)
    put SLOT OBJECT, has SLOT OBJECT -> true | false
    putall INTO FROM                 -> ok | refused REASON
    copy TO FROM                     -> ok
    equal A B, compatible A B        -> true | false
    hash SLOT                        -> hashCode
    state SLOT                       -> BITS K ONES COUNT|all RATE (hexadecimal floating point)
    size N P                         -> BITS K | range
    written FUNNEL STRATEGY N P OBJECT...   -> hex of what writeTo writes
    digest FUNNEL OBJECT             -> hex of the 128-bit digest

An object is a number (int32, int64), x and hex (bytes; utf8, utf16: of UTF-8 text), or of funnel custom
NUMBER:BYTES:UNITS, where UNITS are UTF-16 code units, big-endian.
"""
import math
import random
import struct
import sys

FUNNELS = ["int32", "int64", "utf8", "utf16", "bytes", "custom"]
STRATEGIES = ["guava64", "guava32"]
SLOTS = 30
# Few, so that filters which go together are met often; 64 bits soon are all set.
SIZES = [(0, 0.5), (1, 0.01), (3, 0.3), (10, 0.01), (10, 0.01), (40, 0.03), (40, 1e-6), (500, 0.03)]
REFUSED = [(-1, 0.03), (-(2**63), 0.03), (10, 0.0), (10, -0.0), (10, 1.0), (10, -1.0), (10, 1.5), (10, math.nan),
           (10, math.inf), (10, -math.inf), (1, 5e-324), (10, 1e-300), (10, 1 - 2**-53), (2, 0.999), (2**63 - 1, 0.03),
           (2**62, 1e-9), (-5, math.nan)]
BOUNDARIES = [0, 1, -1, 127, 128, 255, 256, 2**31 - 1, -(2**31)]


def bits(p):
    return format(struct.unpack(">Q", struct.pack(">d", p))[0], "016x")


def some_bytes(rng, size):
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(size)
    low = 0x80 if kind == 1 else 0
    return bytes(rng.randrange(low, 256) for _ in range(size))


def text(rng, length):
    ranges = [(0x20, 0x7e), (0, 0x7ff), (0x800, 0xd7ff), (0xe000, 0xffff), (0x10000, 0x10ffff)]
    return "".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(length)).encode()


def number(rng, width):
    low, high = -(2**(width - 1)), 2**(width - 1) - 1
    if rng.randrange(4) == 0:
        return max(low, min(high, rng.choice(BOUNDARIES + [low, high])))
    return rng.randint(low, high)


def an_object(rng, funnel, length):
    if funnel in ("int32", "int64"):
        return str(number(rng, int(funnel[3:])))
    if funnel == "bytes":
        return "x" + some_bytes(rng, length).hex()
    if funnel in ("utf8", "utf16"):
        return "x" + text(rng, length).hex()
    units = "".join(format(rng.choice([rng.randrange(0x10000), rng.randrange(0xd800, 0xe000)]), "04x")
                    for _ in range(rng.randrange(5)))  # surrogates without their other half, too
    return f"{number(rng, 64)}:{some_bytes(rng, length % 20).hex()}:{units}"


class Filters:
    """What is in which slot: enough to make operations that mean something."""

    def __init__(self, rng):
        self.rng = rng
        self.made = {}  # slot -> (funnel, strategy, n, p)
        self.pools = {f: [an_object(rng, f, i % 40) for i in range(400)] for f in FUNNELS}

    def create(self, slot):
        funnel, strategy = self.rng.choice(FUNNELS), self.rng.choice(STRATEGIES)
        n, p = self.rng.choice(SIZES)
        self.made[slot] = (funnel, strategy, n, p)
        if p == 0.03 and strategy == "guava64":
            return f"create {slot} {funnel} {strategy} {n} default"
        return f"create {slot} {funnel} {strategy} {n} {bits(p)}"

    def like(self, slot):
        """Most of the time a slot that goes together with this one, or all but does; at times this one."""
        rng, made = self.rng, self.made
        equal = [s for s in made if made[s] == made[slot] and s != slot]
        nearly = [s for s in made if made[s][3] == made[slot][3] and made[s] != made[slot]]
        return rng.choice(rng.choices([equal, nearly, [slot], list(made)], [8, 4, 1, 1])[0] or [slot])

    def one_object(self, slot):
        return self.rng.choice(self.pools[self.made[slot][0]])

    def puts(self, slot):
        """The same into two filters at times, so that some are equal without being copies."""
        count = self.rng.choice([1, 1, 1, 5, 30])
        objects = [self.one_object(slot) for _ in range(count)]
        twins = {slot, self.like(slot)} if self.rng.randrange(2) else {slot}
        for twin in sorted(twins):
            if self.made[twin][0] == self.made[slot][0]:
                self.rng.shuffle(objects)
                yield from (f"put {twin} {o}" for o in objects)

    def step(self):
        rng, slot = self.rng, self.rng.choice(list(self.made))
        what = rng.choices(["put", "has", "two", "figures", "copy", "create", "refused"],
                           [25, 30, 25, 18, 5, 4, 2])[0]
        if what == "put":
            yield from self.puts(slot)
        elif what == "has":
            yield f"has {slot} {self.one_object(slot)}"
        elif what == "two":
            yield f"{rng.choice(['putall', 'equal', 'compatible'])} {slot} {self.like(slot)}"
        elif what == "figures":
            yield f"{rng.choice(['hash', 'state'])} {slot}"
        elif what == "copy":
            to = rng.randrange(SLOTS)
            if to != slot:
                self.made[to] = self.made[slot]
                yield f"copy {to} {slot}"
                yield f"equal {to} {slot}"
        elif what == "create":
            yield self.create(rng.randrange(SLOTS))
        else:
            n, p = rng.choice(REFUSED)
            yield f"create {slot} {rng.choice(FUNNELS)} {rng.choice(STRATEGIES)} {n} {bits(p)}"


def a_rate(rng):
    kind = rng.randrange(7)
    if kind == 6:  # where the newer rule comes to a half
        p = 2.0**-(rng.randrange(1000) + 0.5)
        return rng.choice([p, math.nextafter(p, 0), math.nextafter(p, 1)])
    if kind == 0:
        return rng.choice([0.03, 0.01, 0.001, 1e-6, 1e-9, 0.5, 0.3, 2.0**-rng.randint(1, 300)])
    if kind == 1:
        return 1 - 10**-rng.uniform(0.1, 15.9)
    if kind == 2:
        return rng.choice([rng.uniform(0, 1), 10**-rng.uniform(20, 323)]) or 5e-324
    return 10**-rng.uniform(0, 20)


def a_size(rng):
    p = a_rate(rng)
    kind = rng.randrange(6)
    if kind == 0:
        n = rng.randrange(100)
    elif kind == 1 and -math.log(p) > 1e-12:  # about as many as Java has room for
        n = int(64 * 2**31 * math.log(2)**2 / -math.log(p) * rng.choice([1, rng.uniform(0.99, 1.01)]))
    else:
        n = int(2**rng.uniform(0, 62 if kind == 2 else 36))
    return f"size {min(n, 2**63 - 1)} {bits(p)}"


def main():
    seed, operations = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    filters = Filters(rng)
    lines = [filters.create(slot) for slot in range(SLOTS)]
    while len(lines) < operations:
        lines.extend(filters.step())
    lines.extend(f"state {slot}" for slot in range(SLOTS))
    for length in range(100):
        lines.extend(f"digest {f} {an_object(rng, f, length)}" for f in FUNNELS for _ in range(4))
    for _ in range(operations // 40):
        funnel = rng.choice(FUNNELS)
        n, p = rng.choice(SIZES)
        objects = [an_object(rng, funnel, rng.randrange(70)) for _ in range(rng.randrange(6))]
        lines.append(" ".join(["written", funnel, rng.choice(STRATEGIES), str(n), bits(p)] + objects))
    lines.extend(a_size(rng) for _ in range(operations))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
