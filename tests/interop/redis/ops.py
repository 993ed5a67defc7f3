# SPDX-License-Identifier: BSD-2-Clause
"""ops.py PORT NAME add|contains [TTL_MS], see redis_clients.sh; ops.py PORT NAME make BITS PROBES SCHEME makes the filter."""
import os
import sys

sys.path.insert(0, os.environ["TAMIS_CLIENTS"])
import redis
import tamis_redis
import tamis_steps

port, name, verb = int(sys.argv[1]), *sys.argv[2:4]
server = redis.Redis("127.0.0.1", port)
try:
    if verb == "make":
        bits, probes, scheme = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6]
        tamis_steps.make(server, name, bits, probes, 20000, 0.01, seed=0, partition=777, scheme=scheme)
        sys.exit()
    filter_ = tamis_redis.TamisRedis(server, name, *map(int, sys.argv[4:]))
    print("open", flush=True)
    keys = [bytes.fromhex(line) for line in sys.stdin]
    for start in range(0, len(keys), 500):
        print("".join(f"{answer:d}\n" for answer in getattr(filter_, verb)(keys[start:start + 500])), end="")
except (LookupError, ValueError) as error:
    print(error)
    sys.exit(2)
