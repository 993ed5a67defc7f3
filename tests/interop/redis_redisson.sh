#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Layout redisson, compared with an implementation in Python, written from Redisson's Java source and the
# definition of its hash.
set -u
for python in python3 /usr/bin/python3 ''; do
    [ -n "$python" ] && "$python" -c 'import redis, xxhash' 2>/dev/null && break
done
[ -n "$python" ] || { echo "skipped: no python3 with redis and xxhash (python3-redis, python3-xxhash)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
peer=("$python" -u "$TAMIS_SOURCE_DIR/tests/interop/redis/redisson.py" "$redis_socket")
. "$TAMIS_SOURCE_DIR/tests/interop/redis/redisson.bash"
