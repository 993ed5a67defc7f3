#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Redis module, used by Java clients that `./dev peers` fetches: the typed calls of Jedis, and generic commands of
# Lettuce. Each prints what a list has, with RESP2 and with RESP3.
# ctest: peers
set -u
peers=${TAMIS_PEERS_DIR-$TAMIS_SOURCE_DIR/build/peers}/clients
for jar in jedis lettuce-core; do
    [ -n "$(find "$peers" -name "$jar-*.jar" 2>/dev/null)" ] || { echo "skipped: no $peers/$jar"; exit 77; }
done
command -v java >/dev/null && command -v javac >/dev/null || { echo "skipped: no JDK"; exit 77; }
# shellcheck source=tests/support/redis_module.bash
. "$TAMIS_SOURCE_DIR/tests/support/redis_module.bash"
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
directory=$TAMIS_SOURCE_DIR/tests/interop/redis
redis_start --loadmodule "$module"
javac -cp "$peers/*" -d "$work" "$directory/ModuleJedis.java" "$directory/ModuleLettuce.java" || exit 2

# run CLASS RESP2|RESP3 LIST: compares what a client prints.
run() {
    redis_command flushall >/dev/null
    sed 's/: .*//' "$directory/$3" | java -cp "$peers/*:$work" "$1" "$redis_port" "$2" 2>"$work/stderr" >"$work/got" ||
        { cat "$work/stderr"; exit 1; }
    diff "$directory/$3" "$work/got" || { echo "$1 with $2: replies differ"; exit 1; }
}
for protocol in RESP2 RESP3; do
    run ModuleJedis $protocol module_jedis.txt
    run ModuleLettuce $protocol module_clients.txt
done
