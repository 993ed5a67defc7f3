#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tamis serve, used by the clients that programs use: redis-cli, redis-py, phpredis, Jedis and redis-benchmark, those
# that are installed. Then clients that nobody would write: malformed and endless commands, half-open connections,
# readers that do not read, and a stop under load.
# ctest: timeout=600
set -u
# shellcheck source=tests/support/random.bash
. "$TAMIS_SOURCE_DIR/tests/support/random.bash"
guard=$TAMIS_SOURCE_DIR/docs/examples/guard

fail() {
    echo "serve: $*"
    exit 1
}
trap '[ -z "$server" ] || kill -KILL "$server" 2>/dev/null; rm -rf "$work"' EXIT

# shellcheck source=tests/support/serve.bash
. "$TAMIS_SOURCE_DIR/tests/support/serve.bash"
command -v redis-benchmark >/dev/null || { echo "skipped: needs redis-benchmark"; exit 77; }

# start LINE...: serves the rows of the demo, with these lines in the configuration; sets $server and $port.
start() {
    {
        printf '%s\n' "listen: 127.0.0.1:0" "$@"
        sed '/^listen/d; /init:/s|demo.sql|'"$guard/demo.sql|" "$guard/demo.yaml"
    } >"$work/serve.yaml"
    serve_start
}
metrics_address() { sed -n 's|.*\(http://[^ ]*/metrics\).*|\1|p' "$work/log"; } # of the server with `metrics`

# ---- clients -----------------------------------------------------------------------------------------------

start
same "$(redis-cli -p "$port" GET item:17)" "item number 17" "redis-cli"
same "$(redis-cli -3 -p "$port" MGET item:1 item:0)" "item number 1" "redis-cli -3"
same "$(printf 'GET item:%s\n' $(seq 1 1000) | redis-cli -p "$port" | tail -n 1)" "item number 1000" "redis-cli, 1000 commands"
same "$(redis-cli -p "$port" COMMAND DOCS get | head -n 1)" get "COMMAND DOCS"
for protocol in 2 3; do
    "$python" -B "$here/clients.py" "$port" $protocol || fail "redis-py with RESP$protocol"
done
! "$python" -B "$here/clients.py" "$port" 2 "another value" >/dev/null 2>&1 || fail "a wrong value is not noticed"
if php -r 'exit(extension_loaded("redis") ? 0 : 1);' 2>/dev/null; then
    php "$here/clients.php" "$port" || fail "phpredis"
else
    echo "not run: phpredis"
fi
jars=${TAMIS_PEERS_DIR-$TAMIS_SOURCE_DIR/build/peers}/clients
if command -v javac >/dev/null && [ -n "$(find "$jars/" -name 'jedis-*.jar' 2>/dev/null)" ]; then
    javac -cp "$jars/*" -d "$work" "$here/ServeJedis.java" || fail "javac"
    java -XX:TieredStopAtLevel=1 -cp "$jars/*:$work" ServeJedis "$port" 2>"$work/java" || fail "Jedis: $(cat "$work/java")"
else
    echo "not run: Jedis"
fi
count=$(scaled 10000 10000 200000)
redis-benchmark -p "$port" -q -P 16 -n "$count" -r 100000000 GET item:__rand_int__ >"$work/benchmark" 2>&1 ||
    fail "redis-benchmark: $(cat "$work/benchmark")"
! grep -qi error "$work/benchmark" || fail "redis-benchmark: $(cat "$work/benchmark")"
serve_stop

# ---- a Redis that two servers share --------------------------------------------------------------------------

if command -v redis-server >/dev/null; then
    # shellcheck source=tests/support/redis.bash
    . "$TAMIS_SOURCE_DIR/tests/support/redis.bash"
    redis_start
    start "redis: $redis_uri" "metrics: 127.0.0.1:0"
    metrics=$(metrics_address)
    silent() {
        "$python" -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())' \
            "$metrics" | sed -n 's/^tamis_guard_redis_silent{.*} //p'
    }
    until [ "$(silent)" = 0 ]; do sleep 0.05; done
    # changed COMMAND: its reply. It is sent again while it is refused: on a busy machine Redis may be late.
    changed() {
        local reply
        for _ in {1..100}; do
            reply=$(redis-cli -p "$port" "$@")
            [[ $reply = IOERR* ]] || break
            sleep 0.1
        done
        echo "$reply"
    }
    for _ in {1..200}; do # the entry comes after the answer
        same "$(redis-cli -p "$port" GET item:5)" "item number 5" "a row"
        entry=$(redis_command GET 'tamis:item:{5}:entry')
        [ -z "$entry" ] || break
        sleep 0.1
    done
    same "$entry" "Vitem number 5" "the entry of a row in Redis"
    same "$(changed GUARD.ADD item:5)" OK "GUARD.ADD"
    same "$(redis-cli -p "$port" GET item:5)" "item number 5" "a marked row"
    same "$(redis_command KEYS '*:entry')" "" "the entry of a marked row"
    same "$(changed DEL item:5 item:6)" 2 "DEL"
    redis_kill "$redis_pid"
    same "$(redis-cli -p "$port" GET item:7)" "item number 7" "a row without Redis"
    same "$(redis-cli -p "$port" GET item:1001)" "" "no row without Redis"
    [[ $(redis-cli -p "$port" GUARD.ADD item:8) = "IOERR redis "* ]] || fail "GUARD.ADD without Redis"
    until [ "$(silent)" = 1 ]; do sleep 0.05; done
    until grep -q "keyspace 'item:\*': Redis does not answer" "$work/log"; do sleep 0.05; done
    serve_stop
else
    echo "not run: level 3, for want of redis-server"
fi

# ---- hostile clients ---------------------------------------------------------------------------------------

start "write_timeout: 5s" "clients: 500" "metrics: 127.0.0.1:0"
"$python" -B "$here/hostile.py" "$port" "$server" "$seed" "$(scaled 100 100 1000)" || fail "hostile clients: $(tail -n 3 "$work/log")"
same "$(redis-cli -p "$port" GET item:0)" "" "no row" # the share of such keys is there from the first one on
"$python" -B "$here/dashboard.py" "$(metrics_address)" "$guard/grafana.json" ||
    fail "the dashboard: $(cat "$work/log")"
grep -q 'cut: does not read its replies' "$work/log" || fail "no slow reader was cut"
serve_stop

# ---- TLS and a password ------------------------------------------------------------------------------------

if command -v openssl >/dev/null; then
    openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/key.pem" -out "$work/cert.pem" -days 2 -subj /CN=localhost \
        2>/dev/null || fail "openssl req"
    echo 'a password' >"$work/password"
    start "tls: {cert: cert.pem, key: key.pem}" "password_file: password"
    tls() { redis-cli -p "$port" --tls --cacert "$work/cert.pem" --sni localhost "$@" 2>"$work/tls" || cat "$work/tls"; }
    same "$(tls -a 'a password' --no-auth-warning GET item:5)" "item number 5" "redis-cli --tls"
    same "$(tls GET item:5)" "NOAUTH Authentication required." "redis-cli --tls without password"
    same "$(printf 'GET item:%s\n' $(seq 1 1000) | tls -a 'a password' --no-auth-warning | tail -n 1)" "item number 1000" "TLS"
    "$python" -B "$here/tls.py" "$port" "$work/cert.pem" 'a password' || fail "long pipelines with TLS"
    serve_stop
    "$python" -B "$here/tls_sessions.py" "$tamis" "$work" || fail "sessions of TLS"
else
    echo "not run: TLS, for want of openssl"
fi

# ---- two servers share a Redis and a database --------------------------------------------------------------

if command -v redis-server >/dev/null && command -v sqlite3 >/dev/null; then
    redis_start
    sqlite3 "$work/items.db" "PRAGMA journal_mode = WAL" >/dev/null && sqlite3 "$work/items.db" <"$guard/demo.sql" || fail "sqlite3"
    {
        printf '%s\n' "listen: 127.0.0.1:0" "redis: $redis_uri"
        sed '/^listen/d; /init:/d; s|sqlite: memory|sqlite: items.db|' "$guard/demo.yaml"
    } >"$work/two.yaml"
    "$python" -B "$here/two_servers.py" "$tamis" "$work/two.yaml" "$work/items.db" "$redis_pid" || fail "two servers"
else
    echo "not run: two servers, for want of redis-server or sqlite3"
fi

# ---- a stop under load -------------------------------------------------------------------------------------

for run in $(seq "$(scaled 1 1 5)"); do
    start
    "$python" -B "$here/load.py" "$port" "$server" >"$work/answered" || fail "stop under load, run $run"
    wait "$server" || fail "status $? at the end: $(cat "$work/log")"
    server=
    same "$(cat "$work/answered")" "$(sed -n 's/.*stopped; \([0-9]*\) commands/\1/p' "$work/log")" "commands that were answered"
done
echo "serve: ok"
