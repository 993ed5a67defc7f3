# SPDX-License-Identifier: BSD-2-Clause
"""late.py PORT, see redis_clients.sh: a program that makes a filter is stopped before its nth command, until its lock
has expired. Meanwhile another program makes the filter and adds to it. For every n: no key is lost, and the first program
leaves no Redis key."""
import os
import sys

sys.path.insert(0, os.environ["TAMIS_CLIENTS"])
import redis
import tamis_steps

PLAN = dict(bits=15360, probes=5, expect=1000, fpr=0.01, partition=20)
KEYS = [b"%d" % i for i in range(50)]


class HeldUp(redis.Redis):
    left = -1

    def eval(self, *words):
        self.left -= 1
        if self.left == 0:
            other = redis.Redis("127.0.0.1", int(sys.argv[1]))
            other.delete("tamis:{late}:push")
            tamis_steps.make(other, "late", **PLAN).add(KEYS)
        return super().eval(*words)


server, steps = HeldUp("127.0.0.1", int(sys.argv[1])), 0
for steps in range(1, 100):
    for key in server.keys("tamis:{late*"):
        server.delete(key)
    server.left = steps
    try:
        filter_ = tamis_steps.make(server, "late", **PLAN)
    except LookupError:
        filter_ = tamis_steps.make(server, "late", **PLAN)
    if server.left > 0:  # there are fewer commands
        break
    if not all(filter_.contains(KEYS)):
        sys.exit(f"held up before step {steps}: keys are lost")
    there = sorted(server.keys("tamis:{late*"))
    if there != sorted([b"tamis:{late}", b"tamis:{late}:plan", *filter_.keys]) or server.hlen("tamis:{late}") != 1:
        sys.exit(f"held up before step {steps}: leaves {there}, {server.hgetall('tamis:{late}')}")
print(f"a maker was held up before each of its {steps - 1} steps")
