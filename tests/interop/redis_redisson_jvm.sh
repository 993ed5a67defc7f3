#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Layout redisson, compared with Redisson in a JVM, which `./dev peers` fetches.
# ctest: peers
set -u
jar=${TAMIS_PEERS_DIR-$TAMIS_SOURCE_DIR/build/peers}/redisson-all.jar
[ -e "$jar" ] || { echo "skipped: no $jar"; exit 77; }
command -v java >/dev/null && command -v javac >/dev/null || { echo "skipped: no JDK"; exit 77; }
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
. "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
redis_start
javac -proc:none -cp "$jar" -d "$work" "$TAMIS_SOURCE_DIR/tests/interop/redis/RedissonPeer.java" || exit 2
peer=(java -cp "$jar:$work" RedissonPeer "$redis_port")
. "$TAMIS_SOURCE_DIR/tests/interop/redis/redisson.bash"
