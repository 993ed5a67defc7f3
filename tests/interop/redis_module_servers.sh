#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Redis module on several servers and under load: cluster, failover, eviction, snapshots, crashes
# (tests/interop/redis/module_servers.py).
# ctest: torture
set -u
# shellcheck source=tests/support/random.bash
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
module=$TAMIS_BUILD_DIR/module/tamis.so
[ -e "$module" ] || { echo "skipped: built without the module (TAMIS_MODULE)"; exit 77; }
command -v redis-server >/dev/null || { echo "needs redis-server"; exit 77; }
python=
for one in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! "$one" -c 'import redis' 2>/dev/null || python=$one
done
[ -n "$python" ] || { echo "needs python3-redis"; exit 77; }
"$python" -B "$TAMIS_SOURCE_DIR/tests/interop/redis/module_servers.py" "$module" "$work" "$seed" "$(scaled 300 2000 50000)"
